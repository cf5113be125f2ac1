// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many queues on one timer (D6, O8): turns, the end of a run, and the end of a queue. The
 * timer is the test's own, on a clock of the test's own.
 */
#include <kunit/test.h>
#include <linux/kwq.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "queue/queue.h"
#include "queue/timer.h"
#include "tests/form.h"
#include "tests/thread.h"

#define US	((u64)NSEC_PER_USEC)
#define MANY	600

struct member {
	KWQ_TEST_QUEUE;
	struct kwq_item item;
	struct kwq_item *backlog;
	int nr_backlog;
};

struct timer_test {
	struct kwq_timer timer;
	struct kwq_pace pace;
	struct member *member[MANY];
	int nr;
};

static ktime_t test_time;
static u64 step;	/* by which each look at the clock advances it */

static ktime_t test_clock(void)
{
	test_time += step;
	return test_time;
}

static int timer_test_init(struct kunit *test)
{
	struct timer_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	kwq_timer_init(&t->timer, KWQ_CLOCK_MANUAL);
	test_time = 0;
	step = 0;
	test->priv = t;
	return 0;
}

static void timer_test_exit(struct kunit *test)
{
	struct timer_test *t = test->priv;

	while (t && t->nr--) {
		kwq_queue_destroy(&t->member[t->nr]->queue);
		kfree(t->member[t->nr]->backlog);
		kfree(t->member[t->nr]);
	}
}

/* Adds queues to the timer. */
static void add_queues(struct kunit *test, int nr)
{
	struct timer_test *t = test->priv;
	struct member *m;

	while (nr--) {
		m = kzalloc(sizeof(*m), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, m);
		kwq_test_queue_init(&m->queue, "member", KWQ_CLOCK_MANUAL);
		kwq_item_init(&m->item);
		kwq_use_timer(&m->queue, &t->timer);
		t->member[t->nr++] = m;
	}
}

static struct kwq_queue *queue_of(struct kunit *test, int nr)
{
	struct timer_test *t = test->priv;

	return &t->member[nr]->queue;
}

static void add_at(struct kwq_queue *queue, struct kwq_item *item, ktime_t when, u32 flags)
{
	kwq_add_with(queue, item, &(struct kwq_add_options){
		.flags = KWQ_ADD_AT | flags,
		.time = when,
	});
}

static void add_backlog(struct kunit *test, int nr, int size, ktime_t when)
{
	struct timer_test *t = test->priv;
	struct member *m = t->member[nr];
	int i;

	m->backlog = kcalloc(size, sizeof(*m->backlog), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m->backlog);
	for (i = 0; i < size; i++) {
		kwq_item_init(&m->backlog[i]);
		add_at(&m->queue, &m->backlog[i], when, 0);
	}
}

static void set_clocks(struct kunit *test, ktime_t now)
{
	struct timer_test *t = test->priv;
	unsigned long flags;
	int i;

	test_time = now;
	for (i = 0; i < t->nr; i++) {
		spin_lock_irqsave(&t->member[i]->queue.lock, flags);
		t->member[i]->queue.manual_now = now;
		spin_unlock_irqrestore(&t->member[i]->queue.lock, flags);
	}
}

static void run(struct kunit *test, ktime_t now)
{
	struct timer_test *t = test->priv;

	set_clocks(test, now);
	kwq_run_timer(&t->timer, &t->pace, test_clock);
}

/* A run with one turn of a whole hold, since another timer waits for its slot. */
static void run_briefly(struct kunit *test, ktime_t now)
{
	struct timer_test *t = test->priv;

	t->pace.last = now + 1;
	run(test, now);
}

static unsigned long nr_ready(struct kunit *test)
{
	struct timer_test *t = test->priv;
	unsigned long sum = 0;
	int i;

	for (i = 0; i < t->nr; i++)
		sum += kwq_len(&t->member[i]->queue);
	return sum;
}

static void due_queues_take_turns(struct kunit *test)
{
	int round, nr;

	/* D6 O8: each has four holds of work. */
	add_queues(test, 3);
	for (nr = 0; nr < 3; nr++)
		add_backlog(test, nr, 4 * KWQ_ITEMS_PER_HOLD, 10 + nr);
	for (round = 1; round <= 3; round++)
		for (nr = 0; nr < 3; nr++) {
			run_briefly(test, 20 + round);
			KUNIT_EXPECT_EQ(test, kwq_len(queue_of(test, nr)),
					round * KWQ_ITEMS_PER_HOLD);
			KUNIT_EXPECT_EQ(test, nr_ready(test),
					(3 * (round - 1) + nr + 1) * KWQ_ITEMS_PER_HOLD);
		}
}

static void one_item_does_not_wait_for_a_backlog(struct kunit *test)
{
	struct timer_test *t = test->priv;

	/* O8 D6: it becomes due in the middle of the backlog. */
	add_queues(test, 2);
	add_backlog(test, 0, 10 * KWQ_ITEMS_PER_HOLD, 10);
	run_briefly(test, 20);
	add_at(queue_of(test, 1), &t->member[1]->item, 25, 0);
	run_briefly(test, 30);
	KUNIT_EXPECT_EQ(test, kwq_len(queue_of(test, 1)), 0);
	KUNIT_EXPECT_EQ(test, kwq_len(queue_of(test, 0)), 2 * KWQ_ITEMS_PER_HOLD);
	/* Its turn is short, so the other one has the next turn in the same run. */
	run_briefly(test, 30);
	KUNIT_EXPECT_EQ(test, kwq_len(queue_of(test, 1)), 1);
	KUNIT_EXPECT_EQ(test, kwq_len(queue_of(test, 0)), 3 * KWQ_ITEMS_PER_HOLD);
}

/* Leases that end again and again at the same time in the past. */
static bool end_anew(struct kwq_queue *queue, ktime_t now)
{
	kwq_set_lease_end_locked(queue, 5);
	return false;
}

static const u8 *no_key(const struct kwq_item *item, size_t *len)
{
	*len = 0;
	return NULL;
}

static const struct kwq_key_ops ends_anew = { .key_of = no_key, .end_leases = end_anew };

static void queue_that_always_has_work_starves_none(struct kunit *test)
{
	struct timer_test *t = test->priv;
	struct kwq_queue *q;
	unsigned long flags;
	int i;

	/* O8: its time is before all others. */
	add_queues(test, 5);
	q = queue_of(test, 0);
	for (i = 1; i < 5; i++)
		add_at(queue_of(test, i), &t->member[i]->item, 10 + i, 0);
	spin_lock_irqsave(&q->lock, flags);
	kwq_queue_bulk_of(q)->key_ops = &ends_anew;
	kwq_set_lease_end_locked(q, 5);
	spin_unlock_irqrestore(&q->lock, flags);
	/* Arms the timer. */
	kwq_queue_advance(q, 0);
	run(test, 20);
	KUNIT_EXPECT_EQ(test, nr_ready(test), 4);
	spin_lock_irqsave(&q->lock, flags);
	kwq_queue_bulk_of(q)->key_ops = NULL;
	kwq_set_lease_end_locked(q, KTIME_MAX);
	spin_unlock_irqrestore(&q->lock, flags);
	kwq_queue_advance(q, 0);
}

static void run_stops_at_the_pace(struct kunit *test)
{
	struct timer_test *t = test->priv;
	unsigned long ready;
	int i, runs = 0;
	ktime_t begun;

	/* O8: however many queues are due. Each turn takes longer than a whole hold should. */
	add_queues(test, MANY);
	for (i = 0; i < MANY; i++)
		add_at(queue_of(test, i), &t->member[i]->item, 10, 0);
	step = 40 * US;
	begun = 1000 * US;
	run(test, begun);
	KUNIT_EXPECT_LE(test, test_time - begun, KWQ_PACE_DEBT_NS + 2 * step);
	ready = nr_ready(test);
	KUNIT_EXPECT_GE(test, ready, 8);
	KUNIT_EXPECT_GT(test, t->timer.fires_at, test_time);
	/* Another timer in the same softirq could do nothing. */
	t->timer.put_off = 0;
	step = 0;
	run(test, test_time);
	KUNIT_EXPECT_EQ(test, nr_ready(test), ready);
	/* In its slots it comes to all of them. */
	step = 40 * US;
	while (t->timer.fires_at != KTIME_MAX && runs++ < MANY) {
		begun = t->timer.fires_at;
		run(test, begun);
		KUNIT_EXPECT_LE(test, test_time - begun, KWQ_PACE_DEBT_NS + 2 * step);
	}
	KUNIT_EXPECT_EQ(test, nr_ready(test), MANY);
}

static void short_turns_share_a_run(struct kunit *test)
{
	struct timer_test *t = test->priv;
	int i;

	/* O8: even while another timer waits, but not for long */
	add_queues(test, 64);
	for (i = 0; i < 64; i++)
		add_at(queue_of(test, i), &t->member[i]->item, 10, 0);
	step = 3 * US;
	t->pace.last = 2000 * US;
	run(test, 1000 * US);
	KUNIT_EXPECT_EQ(test, nr_ready(test), KWQ_PACE_BRIEF_NS / step);
	/* A coarse clock would show no end. */
	step = 0;
	run(test, 1100 * US);
	KUNIT_EXPECT_EQ(test, nr_ready(test), KWQ_PACE_BRIEF_NS / US / 3 + KWQ_HOLDS_PER_RUN);
}

static void rearmed_earlier_and_later(struct kunit *test)
{
	struct timer_test *t = test->priv;

	/* D6 D2 */
	add_queues(test, 2);
	add_at(queue_of(test, 0), &t->member[0]->item, 100, 0);
	KUNIT_EXPECT_EQ(test, t->timer.fires_at, 100);
	add_at(queue_of(test, 1), &t->member[1]->item, 200, 0);
	KUNIT_EXPECT_EQ(test, t->timer.fires_at, 100);
	add_at(queue_of(test, 1), &t->member[1]->item, 50, KWQ_ADD_REPLACE);
	KUNIT_EXPECT_EQ(test, t->timer.fires_at, 50);
	/* If the first time moves back, the timer comes once in vain. */
	add_at(queue_of(test, 1), &t->member[1]->item, 150, KWQ_ADD_REPLACE);
	KUNIT_EXPECT_EQ(test, t->timer.fires_at, 50);
	run(test, 50);
	KUNIT_EXPECT_EQ(test, nr_ready(test), 0);
	KUNIT_EXPECT_EQ(test, t->timer.fires_at, 100);
	run(test, 100);
	KUNIT_EXPECT_EQ(test, kwq_len(queue_of(test, 0)), 1);
	KUNIT_EXPECT_EQ(test, t->timer.fires_at, 150);
	KUNIT_EXPECT_EQ(test, kwq_remove(queue_of(test, 1), &t->member[1]->item),
			KWQ_WAS_WAITING);
	run(test, 150);
	KUNIT_EXPECT_EQ(test, kwq_len(queue_of(test, 1)), 0);
	KUNIT_EXPECT_EQ(test, t->timer.fires_at, KTIME_MAX);
}

static void two_clocks(struct kunit *test)
{
	static const enum kwq_clock clocks[] = { KWQ_CLOCK_MONOTONIC, KWQ_CLOCK_BOOTTIME };
	struct timer_test *t = test->priv;
	int i;

	/* D8: and neighbours do not share a timer. */
	add_queues(test, 4);
	for (i = 0; i < 4; i++) {
		kwq_queue_destroy(queue_of(test, i));
		kwq_test_queue_init(queue_of(test, i), "member", clocks[i / 2]);
		KUNIT_EXPECT_EQ(test, kwq_timer_of(queue_of(test, i))->clock, clocks[i / 2]);
	}
	KUNIT_EXPECT_PTR_NE(test, kwq_timer_of(queue_of(test, 0)), kwq_timer_of(queue_of(test, 1)));
	KUNIT_EXPECT_PTR_NE(test, kwq_timer_of(queue_of(test, 2)), kwq_timer_of(queue_of(test, 3)));
	/* A manual clock wakes in real time. */
	kwq_queue_destroy(queue_of(test, 0));
	kwq_test_queue_init(queue_of(test, 0), "member", KWQ_CLOCK_MANUAL);
	KUNIT_EXPECT_EQ(test, kwq_timer_of(queue_of(test, 0))->clock, KWQ_CLOCK_MONOTONIC);
	kwq_add_after(queue_of(test, 0), &t->member[0]->item, 10);
	KUNIT_EXPECT_EQ(test, queue_of(test, 0)->armed, 10);
	KUNIT_EXPECT_EQ(test, queue_of(test, 0)->due, KTIME_MAX);
	KUNIT_EXPECT_EQ(test, t->nr, 4);
}

static void destroy_takes_an_armed_queue_out(struct kunit *test)
{
	struct timer_test *t = test->priv;

	/* K3 */
	add_queues(test, 3);
	add_at(queue_of(test, 0), &t->member[0]->item, 10, 0);
	add_at(queue_of(test, 1), &t->member[1]->item, 20, 0);
	add_at(queue_of(test, 2), &t->member[2]->item, 30, 0);
	kwq_queue_destroy(queue_of(test, 1));
	KUNIT_ASSERT_EQ(test, queue_of(test, 1)->due, KTIME_MAX);
	memset(queue_of(test, 1), 0x6b, sizeof(struct kwq_queue));
	kwq_test_queue_init(queue_of(test, 1), "member", KWQ_CLOCK_MANUAL);
	kwq_queue_destroy(queue_of(test, 0));
	kwq_test_queue_init(queue_of(test, 0), "member", KWQ_CLOCK_MANUAL);
	run(test, 30);
	KUNIT_EXPECT_EQ(test, kwq_len(queue_of(test, 2)), 1);
	KUNIT_EXPECT_PTR_EQ(test, rb_first_cached(&t->timer.queues), (struct rb_node *)NULL);
	KUNIT_EXPECT_EQ(test, t->timer.fires_at, KTIME_MAX);
}

struct destroyer {
	struct kwq_test_thread thread;
	struct kwq_queue *queue;
	bool destroyed;
};

static void destroy_queue(void *data)
{
	struct destroyer *d = data;

	kwq_queue_destroy(d->queue);
	WRITE_ONCE(d->destroyed, true);
}

static void set_working_on(struct kwq_timer *timer, struct kwq_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&timer->lock, flags);
	timer->working_on = queue;
	spin_unlock_irqrestore(&timer->lock, flags);
}

static void destroy_waits_for_a_running_turn(struct kunit *test)
{
	struct destroyer *d = kunit_kzalloc(test, sizeof(*d), GFP_KERNEL);
	struct timer_test *t = test->priv;

	/* K3: the callback has released the queue's lock, and not yet looked at the timer. */
	KUNIT_ASSERT_NOT_NULL(test, d);
	add_queues(test, 2);
	d->queue = queue_of(test, 0);
	set_working_on(&t->timer, d->queue);
	kwq_test_thread_start(test, &d->thread, destroy_queue, d);
	kwq_test_wait_until(test, READ_ONCE(t->timer.awaited));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(d->destroyed));
	/* The end of any turn wakes the destroyer. */
	add_at(queue_of(test, 1), &t->member[1]->item, 10, 0);
	run(test, 10);
	kwq_test_wait_until(test, READ_ONCE(d->destroyed));
	kwq_test_thread_join(test, &d->thread);
	kwq_test_queue_init(d->queue, "member", KWQ_CLOCK_MANUAL);
}

static struct kunit_case timer_test_cases[] = {
	KUNIT_CASE(due_queues_take_turns),
	KUNIT_CASE(one_item_does_not_wait_for_a_backlog),
	KUNIT_CASE(queue_that_always_has_work_starves_none),
	KUNIT_CASE(run_stops_at_the_pace),
	KUNIT_CASE(short_turns_share_a_run),
	KUNIT_CASE(rearmed_earlier_and_later),
	KUNIT_CASE(two_clocks),
	KUNIT_CASE(destroy_takes_an_armed_queue_out),
	KUNIT_CASE(destroy_waits_for_a_running_turn),
	{}
};

/* The same without what only a large queue has (K6). */
static struct kunit_case timer_test_small_cases[] = {
	KUNIT_CASE(due_queues_take_turns),
	KUNIT_CASE(one_item_does_not_wait_for_a_backlog),
	KUNIT_CASE(run_stops_at_the_pace),
	KUNIT_CASE(short_turns_share_a_run),
	KUNIT_CASE(rearmed_earlier_and_later),
	KUNIT_CASE(two_clocks),
	KUNIT_CASE(destroy_takes_an_armed_queue_out),
	KUNIT_CASE(destroy_waits_for_a_running_turn),
	{}
};

static struct kunit_suite timer_test_suite = {
	.name = "kwq-timer",
	.suite_init = kwq_test_large,
	.init = timer_test_init,
	.exit = timer_test_exit,
	.test_cases = timer_test_cases,
};

static struct kunit_suite timer_test_small_suite = {
	.name = "kwq-timer-small",
	.suite_init = kwq_test_small,
	.init = timer_test_init,
	.exit = timer_test_exit,
	.test_cases = timer_test_small_cases,
};

kunit_test_suites(&timer_test_suite, &timer_test_small_suite);

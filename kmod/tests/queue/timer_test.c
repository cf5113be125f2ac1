// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each queue's timer, and the work item for what is left (D6, O8). The clock is the kernel's: the
 * turns themselves are tested on a manual one, in queue_test.c.
 */
#include <kunit/test.h>
#include <linux/hrtimer.h>
#include <linux/kwq.h>
#include <linux/slab.h>
#include "queue/queue.h"
#include "tests/form.h"
#include "tests/thread.h"

#define HOUR		(3600 * (u64)NSEC_PER_SEC)
#define NR_BACKLOG	(20 * KWQ_ITEMS_PER_HOLD + 1)

struct timer_test {
	KWQ_TEST_QUEUE;
	struct kwq_item a, b;
};

static int timer_test_init(struct kunit *test)
{
	struct timer_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	kwq_test_queue_init(&t->queue, "test", KWQ_CLOCK_MONOTONIC);
	kwq_item_init(&t->a);
	kwq_item_init(&t->b);
	test->priv = t;
	return 0;
}

static void timer_test_exit(struct kunit *test)
{
	struct timer_test *t = test->priv;

	if (t)
		kwq_queue_destroy(&t->queue);
}

static void add_at(struct kwq_queue *queue, struct kwq_item *item, ktime_t when, u32 flags)
{
	kwq_add_with(queue, item, &(struct kwq_add_options){
		.flags = KWQ_ADD_AT | flags,
		.time = when,
	});
}

static void timer_is_started_once_it_is_needed(struct kunit *test)
{
	struct timer_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* D6 */
	KUNIT_EXPECT_FALSE(test, q->has_timer);
	kwq_add(q, &t->a);
	KUNIT_EXPECT_FALSE(test, q->has_timer);
	kwq_add_after(q, &t->b, HOUR);
	KUNIT_EXPECT_TRUE(test, kwq_test_is_armed(q));
}

static void timer_fires_for_the_earliest(struct kunit *test)
{
	struct timer_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	ktime_t first = kwq_queue_now(q) + HOUR;

	/* D6 D2 */
	add_at(q, &t->a, first + 2, 0);
	KUNIT_EXPECT_EQ(test, hrtimer_get_expires(&q->timer), first + 2);
	add_at(q, &t->b, first + 3, 0);
	KUNIT_EXPECT_EQ(test, hrtimer_get_expires(&q->timer), first + 2);
	add_at(q, &t->b, first, KWQ_ADD_REPLACE);
	KUNIT_EXPECT_EQ(test, hrtimer_get_expires(&q->timer), first);
	/* If the first time moves back, the timer comes once in vain. */
	add_at(q, &t->b, first + 1, KWQ_ADD_REPLACE);
	KUNIT_EXPECT_EQ(test, hrtimer_get_expires(&q->timer), first);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), first + 1);
}

static void timer_that_came_in_vain_is_started_again(struct kunit *test)
{
	struct timer_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	ktime_t now;
	int nr_ready;

	/* D6 D5. The timer is not called meanwhile, but a slow machine may miss the first time. */
	local_bh_disable();
	now = kwq_queue_now(q);
	add_at(q, &t->a, now + NSEC_PER_MSEC, 0);
	add_at(q, &t->a, now + HOUR, KWQ_ADD_REPLACE);
	nr_ready = kwq_len(q);
	local_bh_enable();
	kwq_test_wait_until(test, hrtimer_get_expires(&q->timer) == now + HOUR);
	kwq_test_wait_until(test, kwq_test_is_armed(q));
	KUNIT_EXPECT_EQ(test, kwq_len(q), nr_ready);
}

static void each_clock_has_its_timers(struct kunit *test)
{
	struct timer_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* D8 */
	KUNIT_EXPECT_EQ(test, kwq_timer_clockid(q), CLOCK_MONOTONIC);
	kwq_queue_destroy(q);
	kwq_test_queue_init(q, "test", KWQ_CLOCK_BOOTTIME);
	KUNIT_EXPECT_EQ(test, kwq_timer_clockid(q), CLOCK_BOOTTIME);
	kwq_add_after(q, &t->a, HOUR);
	KUNIT_EXPECT_TRUE(test, kwq_test_is_armed(q));
	kwq_queue_destroy(q);
	kwq_test_queue_init(q, "test", KWQ_CLOCK_MANUAL);
	kwq_item_init(&t->a);
	kwq_add_after(q, &t->a, HOUR);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), HOUR);
	KUNIT_EXPECT_FALSE(test, q->has_timer);
}

static bool is_behind(struct kwq_queue *queue)
{
	unsigned long flags;
	bool is_behind;

	spin_lock_irqsave(&queue->lock, flags);
	is_behind = queue->is_behind;
	spin_unlock_irqrestore(&queue->lock, flags);
	return is_behind;
}

static struct kwq_item *make_backlog(struct kunit *test, struct kwq_queue *queue, ktime_t when)
{
	struct kwq_item *items = kunit_kcalloc(test, NR_BACKLOG, sizeof(*items), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, items);
	for (i = 0; i < NR_BACKLOG; i++) {
		kwq_item_init(&items[i]);
		add_at(queue, &items[i], when, 0);
	}
	return items;
}

static void work_item_does_the_rest(struct kunit *test)
{
	struct timer_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* D6: for two queues at once, and the timer works as before afterwards */
	struct kwq_queue *other = kwq_test_queue_alloc(test);
	ktime_t when = kwq_queue_now(q) + NSEC_PER_MSEC;

	kwq_test_queue_init(other, "other", KWQ_CLOCK_MONOTONIC);
	make_backlog(test, q, when);
	make_backlog(test, other, when);
	kwq_test_wait_until(test, kwq_len(q) == NR_BACKLOG && kwq_len(other) == NR_BACKLOG);
	KUNIT_EXPECT_EQ(test, kwq_queue_destroy(other), 0);
	kwq_test_wait_until(test, !is_behind(q));
	kwq_add_after(q, &t->a, NSEC_PER_MSEC);
	kwq_test_wait_until(test, kwq_len(q) == NR_BACKLOG + 1);
}

static void timer_leaves_a_queue_that_is_behind_alone(struct kunit *test)
{
	struct timer_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	unsigned long flags;

	/* D6: nobody starts the timer meanwhile, and the last turn does. */
	spin_lock_irqsave(&q->lock, flags);
	q->is_behind = true;
	spin_unlock_irqrestore(&q->lock, flags);
	kwq_add_after(q, &t->a, NSEC_PER_MSEC);
	KUNIT_EXPECT_FALSE(test, q->has_timer);
	KUNIT_EXPECT_FALSE(test, kwq_take_turn(q, false));
	KUNIT_EXPECT_TRUE(test, is_behind(q));
	KUNIT_EXPECT_FALSE(test, kwq_take_turn(q, true));
	kwq_test_wait_until(test, kwq_len(q) == 1);
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

static void destroy_waits_for_the_last_turn(struct kunit *test)
{
	struct destroyer *d = kunit_kzalloc(test, sizeof(*d), GFP_KERNEL);
	struct timer_test *t = test->priv;
	unsigned long flags;

	/* K3 O6 */
	KUNIT_ASSERT_NOT_NULL(test, d);
	d->queue = &t->queue;
	spin_lock_irqsave(&t->queue.lock, flags);
	t->queue.is_behind = true;
	spin_unlock_irqrestore(&t->queue.lock, flags);
	kwq_test_thread_start(test, &d->thread, destroy_queue, d);
	kwq_test_wait_until(test, kwq_shutting_down(&t->queue));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(d->destroyed));
	KUNIT_EXPECT_FALSE(test, kwq_take_turn(&t->queue, true));
	kwq_test_wait_until(test, READ_ONCE(d->destroyed));
	kwq_test_thread_join(test, &d->thread);
}

static void last_turn_starts_no_timer(struct kunit *test)
{
	struct destroyer *d = kunit_kzalloc(test, sizeof(*d), GFP_KERNEL);
	struct timer_test *t = test->priv;
	unsigned long flags;

	/* O6 O3: a time at which leases may end stays when they are done. */
	KUNIT_ASSERT_NOT_NULL(test, d);
	d->queue = &t->queue;
	spin_lock_irqsave(&t->queue.lock, flags);
	t->of_queue.lease_end = kwq_now_locked(&t->queue) + HOUR;
	t->queue.is_behind = true;
	spin_unlock_irqrestore(&t->queue.lock, flags);
	kwq_test_thread_start(test, &d->thread, destroy_queue, d);
	kwq_test_wait_until(test, kwq_shutting_down(&t->queue));
	KUNIT_EXPECT_FALSE(test, kwq_take_turn(&t->queue, true));
	kwq_test_wait_until(test, READ_ONCE(d->destroyed));
	kwq_test_thread_join(test, &d->thread);
	KUNIT_EXPECT_FALSE(test, kwq_test_is_armed(&t->queue));
	kwq_leave_timer(&t->queue);
}

static void queue_with_a_backlog_is_destroyed(struct kunit *test)
{
	struct timer_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct kwq_item *items;
	int i;

	/* K3 O6: while the timer fires, and while the work item is at it */
	for (i = 0; i < 10; i++) {
		items = make_backlog(test, q, kwq_queue_now(q) + NSEC_PER_MSEC);
		kwq_test_wait_until(test, kwq_len(q) > i);
		kwq_queue_destroy(q);
		memset(q, 0x6b, sizeof(*q));
		kunit_kfree(test, items);
		kwq_test_queue_init(q, "test", KWQ_CLOCK_MONOTONIC);
	}
}

#define TIMER_TEST_OF_BOTH					\
	KUNIT_CASE(timer_is_started_once_it_is_needed),		\
	KUNIT_CASE(timer_fires_for_the_earliest),		\
	KUNIT_CASE(timer_that_came_in_vain_is_started_again),	\
	KUNIT_CASE(each_clock_has_its_timers),			\
	KUNIT_CASE(work_item_does_the_rest),			\
	KUNIT_CASE(timer_leaves_a_queue_that_is_behind_alone),	\
	KUNIT_CASE(destroy_waits_for_the_last_turn),		\
	KUNIT_CASE(queue_with_a_backlog_is_destroyed)

static struct kunit_case timer_test_cases[] = {
	TIMER_TEST_OF_BOTH,
	KUNIT_CASE(last_turn_starts_no_timer),
	{}
};

/* The same without what only a large queue has (K6). */
static struct kunit_case timer_test_small_cases[] = {
	TIMER_TEST_OF_BOTH,
	{}
};

KWQ_TEST_SUITES(timer_test, "kwq-timer", timer_test_init, timer_test_exit);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pollers are woken in rounds of several holds of the lock (O8): see pollers.c. Each poller
 * learns of events in the middle of a round (Q5). Paying callers: see queue.c.
 */
#include <kunit/test.h>
#include <linux/kwq.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include "queue/pollers.h"
#include "queue/queue.h"
#include "tests/form.h"
#include "tests/thread.h"

#define NR_POLLERS	(3 * KWQ_POLLERS_PER_HOLD + 1)
#define NEVER		(KTIME_MAX / 2)

struct poller {
	struct wait_queue_entry entry;
	struct pollers_test *t;
	int told;
	__poll_t events;
	bool idle;		/* no task sleeps in this epoll */
};

/* The list has the order of @poller. */
struct pollers_test {
	KWQ_TEST_QUEUE;
	struct kwq_item item;
	struct poller poller[NR_POLLERS];
	struct poller late;
	int told;
	int goes_on;		/* so many calls cause another event */
	ktime_t wake_at;	/* at the last call */
};

static int tell_poller(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	struct poller *poller = container_of(entry, struct poller, entry);
	struct pollers_test *t = poller->t;

	poller->told++;
	poller->events |= key_to_poll(key);
	t->wake_at = t->queue.wake_at;
	if (t->goes_on) {
		t->goes_on--;
		t->of_queue.round.to_tell |= KWQ_TELL_ROOM;
	}
	WRITE_ONCE(t->told, t->told + 1);
	return !poller->idle;
}

static void poller_init(struct pollers_test *t, struct poller *poller)
{
	init_waitqueue_func_entry(&poller->entry, tell_poller);
	INIT_LIST_HEAD(&poller->entry.entry);
	poller->t = t;
}

static int pollers_test_init(struct kunit *test)
{
	struct pollers_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	kwq_test_queue_init(&t->queue, "test", KWQ_CLOCK_MANUAL);
	kwq_item_init(&t->item);
	for (i = 0; i < NR_POLLERS; i++)
		poller_init(t, &t->poller[i]);
	poller_init(t, &t->late);
	test->priv = t;
	return 0;
}

/* The ways in which eventpoll, io_uring and poll() leave the list. */
static void leave(struct pollers_test *t, struct poller *poller)
{
	unsigned long flags;

	spin_lock_irqsave(&t->of_queue.pollers.lock, flags);
	list_del_init(&poller->entry.entry);
	spin_unlock_irqrestore(&t->of_queue.pollers.lock, flags);
}

static void all_leave(struct pollers_test *t)
{
	int i;

	for (i = 0; i < NR_POLLERS; i++)
		leave(t, &t->poller[i]);
	leave(t, &t->late);
}

static void pollers_test_exit(struct kunit *test)
{
	struct pollers_test *t = test->priv;

	if (!t)
		return;
	all_leave(t);
	kwq_queue_destroy(&t->queue);
}

/* The last poller to join is the first in the list. */
static void all_come(struct pollers_test *t)
{
	int i = NR_POLLERS;

	while (i--)
		add_wait_queue(&t->of_queue.pollers, &t->poller[i].entry);
}

static void all_come_exclusively(struct pollers_test *t)
{
	int i;

	for (i = 0; i < NR_POLLERS; i++)
		add_wait_queue_exclusive(&t->of_queue.pollers, &t->poller[i].entry);
}

static void tell(struct pollers_test *t, u8 what)
{
	unsigned long flags;

	spin_lock_irqsave(&t->queue.lock, flags);
	kwq_tell_pollers_locked(&t->queue, what);
	spin_unlock_irqrestore(&t->queue.lock, flags);
}

/* Makes items ready without waking anyone. */
static void tell_ready(struct pollers_test *t, u32 nr)
{
	unsigned long flags;

	spin_lock_irqsave(&t->queue.lock, flags);
	t->of_queue.wake_pollers += nr;
	t->of_queue.round.to_tell |= KWQ_TELL_READY;
	spin_unlock_irqrestore(&t->queue.lock, flags);
}

/* Does one hold of the lock. Returns how many pollers it woke. */
static int go_on(struct pollers_test *t)
{
	unsigned long flags;
	int told;

	spin_lock_irqsave(&t->queue.lock, flags);
	told = t->told;
	kwq_tell_some_locked(&t->queue);
	told = t->told - told;
	spin_unlock_irqrestore(&t->queue.lock, flags);
	return told;
}

/* An endless round fails the test, but does not hang it. */
static void go_on_to_the_end(struct kunit *test)
{
	struct pollers_test *t = test->priv;
	int holds = 0;

	while (kwq_owes_pollers_locked(&t->queue) && holds++ < 2 * NR_POLLERS)
		KUNIT_EXPECT_LE(test, go_on(t), KWQ_POLLERS_PER_HOLD);
	KUNIT_EXPECT_FALSE(test, kwq_owes_pollers_locked(&t->queue));
	KUNIT_EXPECT_EQ(test, t->of_queue.wake_pollers, 0);
}

static void hold_tells_a_bounded_number(struct kunit *test)
{
	struct pollers_test *t = test->priv;
	int i;

	/* O8 */
	all_come(t);
	tell(t, KWQ_TELL_ROOM);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, go_on(t), KWQ_POLLERS_PER_HOLD);
		KUNIT_EXPECT_TRUE(test, kwq_owes_pollers_locked(&t->queue));
	}
	KUNIT_EXPECT_EQ(test, go_on(t), 1);
	KUNIT_EXPECT_FALSE(test, kwq_owes_pollers_locked(&t->queue));
	for (i = 0; i < NR_POLLERS; i++) {
		KUNIT_EXPECT_EQ(test, t->poller[i].told, 1);
		KUNIT_EXPECT_TRUE(test, t->poller[i].events == (EPOLLOUT | EPOLLWRNORM));
	}
}

static void nobody_is_told(struct kunit *test)
{
	struct pollers_test *t = test->priv;

	tell(t, KWQ_TELL_ROOM);
	KUNIT_EXPECT_FALSE(test, kwq_owes_pollers_locked(&t->queue));
	tell_ready(t, 3);
	KUNIT_EXPECT_EQ(test, go_on(t), 0);
	KUNIT_EXPECT_FALSE(test, kwq_owes_pollers_locked(&t->queue));
	KUNIT_EXPECT_EQ(test, t->of_queue.wake_pollers, 0);
}

static void pollers_beside_the_bookmark_leave(struct kunit *test)
{
	struct pollers_test *t = test->priv;
	const int next = KWQ_POLLERS_PER_HOLD;
	int i;

	/* Q5 Q19: 0 ... 7 | 8 ... 24; then 7 and 8 close their descriptors */
	all_come(t);
	tell(t, KWQ_TELL_ROOM);
	KUNIT_EXPECT_EQ(test, go_on(t), next);
	leave(t, &t->poller[next - 1]);
	leave(t, &t->poller[next]);
	go_on_to_the_end(test);
	for (i = 0; i < NR_POLLERS; i++)
		KUNIT_EXPECT_EQ(test, t->poller[i].told, i != next);
}

static void poller_comes_in_a_round(struct kunit *test)
{
	struct pollers_test *t = test->priv;

	/* Behind the bookmark it has looked already. Before the bookmark it is woken. */
	all_come(t);
	tell(t, KWQ_TELL_ROOM);
	go_on(t);
	add_wait_queue(&t->of_queue.pollers, &t->late.entry);
	go_on(t);
	leave(t, &t->late);
	add_wait_queue_exclusive(&t->of_queue.pollers, &t->late.entry);
	KUNIT_EXPECT_EQ(test, t->late.told, 0);
	go_on_to_the_end(test);
	KUNIT_EXPECT_EQ(test, t->late.told, 1);
	KUNIT_EXPECT_EQ(test, t->told, NR_POLLERS + 1);
}

static void event_in_a_round_reaches_all(struct kunit *test)
{
	struct pollers_test *t = test->priv;
	int i;

	/* Q5 Q19: 0 ... 15 have been woken for the first event only. */
	all_come(t);
	tell(t, KWQ_TELL_ROOM);
	go_on(t);
	go_on(t);
	tell(t, KWQ_TELL_ROOM);
	for (i = 0; i < NR_POLLERS; i++)
		t->poller[i].told = 0;
	go_on_to_the_end(test);
	for (i = 0; i < NR_POLLERS; i++)
		KUNIT_EXPECT_GE(test, t->poller[i].told, 1);
}

static void rounds_take_turns(struct kunit *test)
{
	struct pollers_test *t = test->priv;
	int i;

	/* Q5 Q19: there is room again and again. */
	all_come(t);
	t->goes_on = 1000;
	tell(t, KWQ_TELL_ROOM);
	go_on(t);
	tell_ready(t, 1);
	for (i = 0; i < 8; i++)
		go_on(t);
	for (i = 0; i < NR_POLLERS; i++)
		KUNIT_EXPECT_TRUE(test, t->poller[i].events ==
				  (EPOLLOUT | EPOLLWRNORM | EPOLLIN | EPOLLRDNORM));
	t->goes_on = 0;
	go_on_to_the_end(test);
}

static void end_is_told_at_once(struct kunit *test)
{
	struct pollers_test *t = test->priv;
	int i;

	/*
	 * Q8: one round tells everything, so no other event is told; it wakes exclusive
	 * pollers, too.
	 */
	all_come_exclusively(t);
	tell_ready(t, NR_POLLERS);
	tell(t, KWQ_TELL_ROOM | KWQ_TELL_END);
	go_on_to_the_end(test);
	for (i = 0; i < NR_POLLERS; i++) {
		KUNIT_EXPECT_EQ(test, t->poller[i].told, 1);
		KUNIT_EXPECT_TRUE(test, !t->poller[i].events);
	}
}

static void each_item_wakes_an_exclusive_poller(struct kunit *test)
{
	struct pollers_test *t = test->priv;
	int i;

	/* Q5 O8: 0, 10 and 20 have a task to wake. */
	all_come_exclusively(t);
	add_wait_queue(&t->of_queue.pollers, &t->late.entry);
	for (i = 0; i < NR_POLLERS; i++)
		t->poller[i].idle = i % 10;
	tell_ready(t, 2);
	go_on_to_the_end(test);
	for (i = 0; i < NR_POLLERS; i++)
		KUNIT_EXPECT_EQ(test, t->poller[i].told, i <= 10);
	KUNIT_EXPECT_EQ(test, t->late.told, 1);

	/* More items than tasks, some of them made ready during a round */
	tell_ready(t, 2);
	go_on(t);
	tell_ready(t, 20);
	go_on_to_the_end(test);
	for (i = 0; i < NR_POLLERS; i++)
		KUNIT_EXPECT_GE(test, t->poller[i].told, 1);
	KUNIT_EXPECT_EQ(test, t->late.told, 3);
}

/* Leaves the list as an aio poll does. Then its memory holds something else. */
static int tell_and_free(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	int woken = tell_poller(entry, mode, flags, key);

	list_del(&entry->entry);
	memset(entry, 0xff, sizeof(*entry));
	return woken;
}

static void poller_is_gone_once_it_is_told(struct kunit *test)
{
	struct pollers_test *t = test->priv;

	/* Q5 O6: the first is not exclusive, so the wake-up goes on to the second. */
	add_wait_queue_exclusive(&t->of_queue.pollers, &t->poller[1].entry);
	t->poller[0].entry.func = tell_and_free;
	add_wait_queue(&t->of_queue.pollers, &t->poller[0].entry);
	tell_ready(t, 1);
	go_on_to_the_end(test);
	INIT_LIST_HEAD(&t->poller[0].entry.entry);
	KUNIT_EXPECT_EQ(test, t->poller[0].told, 1);
	KUNIT_EXPECT_EQ(test, t->poller[1].told, 1);
}

static void queue_ends_in_a_round(struct kunit *test)
{
	struct pollers_test *t = test->priv;

	/* O6: the bookmark does not stay in the list. */
	all_come(t);
	tell(t, KWQ_TELL_ROOM);
	go_on(t);
	KUNIT_EXPECT_FALSE(test, list_empty(&t->of_queue.round.bookmark.entry));
	all_leave(t);
	KUNIT_EXPECT_FALSE(test, list_empty(&t->of_queue.pollers.head));
	KUNIT_EXPECT_EQ(test, kwq_queue_destroy(&t->queue), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&t->of_queue.pollers.head));
	KUNIT_EXPECT_FALSE(test, kwq_owes_pollers_locked(&t->queue));
}

static void others_pass_over_the_bookmark(struct kunit *test)
{
	struct pollers_test *t = test->priv;

	all_come(t);
	tell(t, KWQ_TELL_ROOM);
	go_on(t);
	wake_up_all(&t->of_queue.pollers);
	KUNIT_EXPECT_EQ(test, t->told, NR_POLLERS + KWQ_POLLERS_PER_HOLD);
}

/* ---- Who pays ---- */

static void driver_leaves_pollers_to_the_timer(struct kunit *test)
{
	struct pollers_test *t = test->priv;

	/* K1 Q5 O8: adds may come from contexts that cannot sleep. */
	all_come(t);
	KUNIT_EXPECT_EQ(test, kwq_add(&t->queue, &t->item), KWQ_ADDED);
	kwq_test_wait_until(test, READ_ONCE(t->told) == NR_POLLERS);
	/* The first hold set it, and the timer did the last hold. */
	KUNIT_EXPECT_EQ(test, t->wake_at, 0);
}

/* Timers of other queues use up the time for timers. */
static void put_timer_off(struct pollers_test *t, ktime_t until)
{
	unsigned long flags;

	spin_lock_irqsave(&t->queue.lock, flags);
	t->queue.not_before = until;
	spin_unlock_irqrestore(&t->queue.lock, flags);
}

static void tell_of_room(struct kwq_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	kwq_tell_pollers_locked(queue, KWQ_TELL_ROOM);
	kwq_unlock_and_wake(queue, flags);
}

static void caller_pays_for_its_wake_ups(struct kunit *test)
{
	struct pollers_test *t = test->priv;

	/* O8 Q5: it does not wait for the timer, whose time comes soon, but not now. */
	put_timer_off(t, NEVER);
	all_come(t);
	tell_of_room(&t->queue);
	KUNIT_EXPECT_EQ(test, t->told, NR_POLLERS);
	KUNIT_EXPECT_EQ(test, t->wake_at, KWQ_PAYS_WITHIN_NS);
	KUNIT_EXPECT_EQ(test, t->queue.wake_at, KTIME_MAX);
}

static void caller_does_not_pay_for_all_others(struct kunit *test)
{
	struct pollers_test *t = test->priv;

	/* O8: each wake-up makes room again. */
	put_timer_off(t, NEVER);
	all_come(t);
	t->goes_on = 100 * NR_POLLERS;
	tell_of_room(&t->queue);
	KUNIT_EXPECT_GE(test, t->told, NR_POLLERS);
	KUNIT_EXPECT_LE(test, t->told, 4 * NR_POLLERS);
	KUNIT_EXPECT_TRUE(test, kwq_owes_pollers_locked(&t->queue));
	t->goes_on = 0;
}

static void killed_caller_leaves_waiters_to_the_timer(struct kunit *test)
{
	struct pollers_test *t = test->priv;

	/* O7 O8 */
	put_timer_off(t, NEVER);
	all_come(t);
	allow_signal(SIGKILL);
	send_sig(SIGKILL, current, 1);
	tell_of_room(&t->queue);
	KUNIT_EXPECT_EQ(test, t->told, KWQ_POLLERS_PER_HOLD);
	KUNIT_EXPECT_EQ(test, t->queue.wake_at, 0);
	put_timer_off(t, 0);
	tell_of_room(&t->queue);
	disallow_signal(SIGKILL);
	flush_signals(current);
	kwq_test_wait_until(test, READ_ONCE(t->told) == 2 * NR_POLLERS);
}

static struct kunit_case pollers_test_cases[] = {
	KUNIT_CASE(hold_tells_a_bounded_number),
	KUNIT_CASE(nobody_is_told),
	KUNIT_CASE(pollers_beside_the_bookmark_leave),
	KUNIT_CASE(poller_comes_in_a_round),
	KUNIT_CASE(event_in_a_round_reaches_all),
	KUNIT_CASE(rounds_take_turns),
	KUNIT_CASE(end_is_told_at_once),
	KUNIT_CASE(each_item_wakes_an_exclusive_poller),
	KUNIT_CASE(poller_is_gone_once_it_is_told),
	KUNIT_CASE(queue_ends_in_a_round),
	KUNIT_CASE(others_pass_over_the_bookmark),
	KUNIT_CASE(driver_leaves_pollers_to_the_timer),
	KUNIT_CASE(caller_pays_for_its_wake_ups),
	KUNIT_CASE(caller_does_not_pay_for_all_others),
	KUNIT_CASE(killed_caller_leaves_waiters_to_the_timer),
	{}
};

static struct kunit_suite pollers_test_suite = {
	.name = "kwq-pollers",
	.suite_init = kwq_test_large,
	.init = pollers_test_init,
	.exit = pollers_test_exit,
	.test_cases = pollers_test_cases,
};

kunit_test_suite(pollers_test_suite);

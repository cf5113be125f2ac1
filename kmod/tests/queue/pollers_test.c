// SPDX-License-Identifier: GPL-2.0-only
/* Pollers are woken as those of an eventfd are (Q5, O8). */
#include <kunit/test.h>
#include <linux/kwq.h>
#include <linux/poll.h>
#include "queue/queue.h"
#include "tests/form.h"

#define NR_POLLERS	25
#define READY		((__force __u32)(EPOLLIN | EPOLLRDNORM))
#define ROOM		((__force __u32)(EPOLLOUT | EPOLLWRNORM))

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
	struct kwq_item item[NR_POLLERS];
	struct poller poller[NR_POLLERS];
	int told;
};

static int tell_poller(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	struct poller *poller = container_of(entry, struct poller, entry);

	poller->told++;
	poller->events |= key_to_poll(key);
	poller->t->told++;
	return !poller->idle;
}

static int pollers_test_init(struct kunit *test)
{
	struct pollers_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	kwq_test_queue_init(&t->queue, "test", KWQ_CLOCK_MANUAL);
	for (i = 0; i < NR_POLLERS; i++) {
		kwq_item_init(&t->item[i]);
		init_waitqueue_func_entry(&t->poller[i].entry, tell_poller);
		t->poller[i].t = t;
	}
	test->priv = t;
	return 0;
}

static void pollers_test_exit(struct kunit *test)
{
	struct pollers_test *t = test->priv;

	if (t)
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

static void tell(struct pollers_test *t, __poll_t events)
{
	unsigned long flags;

	spin_lock_irqsave(&t->queue.lock, flags);
	kwq_tell_pollers_locked(&t->queue, events);
	kwq_unlock(&t->queue, flags);
}

static void event_is_told_to_all(struct kunit *test)
{
	struct pollers_test *t = test->priv;
	int i;

	/* Q5 Q19: the exclusive ones, too */
	all_come_exclusively(t);
	tell(t, EPOLLOUT | EPOLLWRNORM);
	for (i = 0; i < NR_POLLERS; i++) {
		KUNIT_EXPECT_EQ(test, t->poller[i].told, 1);
		KUNIT_EXPECT_EQ(test, (__force __u32)t->poller[i].events, ROOM);
	}
}

static void item_is_told_to_all_that_are_not_exclusive(struct kunit *test)
{
	struct pollers_test *t = test->priv;
	int i;

	/* Q5 */
	all_come(t);
	kwq_add(&t->queue, &t->item[0]);
	for (i = 0; i < NR_POLLERS; i++) {
		KUNIT_EXPECT_EQ(test, t->poller[i].told, 1);
		KUNIT_EXPECT_EQ(test, (__force __u32)t->poller[i].events, READY);
	}
	/* A coalesced add is no news. */
	kwq_add(&t->queue, &t->item[0]);
	KUNIT_EXPECT_EQ(test, t->told, NR_POLLERS);
}

static void each_item_wakes_an_exclusive_poller(struct kunit *test)
{
	struct pollers_test *t = test->priv;
	int i;

	/* Q5: 0, 10 and 20 have a task to wake. */
	all_come_exclusively(t);
	for (i = 0; i < NR_POLLERS; i++)
		t->poller[i].idle = i % 10;
	kwq_pause(&t->queue);
	kwq_add(&t->queue, &t->item[0]);
	kwq_add(&t->queue, &t->item[1]);
	KUNIT_EXPECT_EQ(test, t->told, 0);
	kwq_resume(&t->queue);
	for (i = 0; i < NR_POLLERS; i++)
		KUNIT_EXPECT_EQ(test, t->poller[i].told, i <= 10);
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
	kwq_add(&t->queue, &t->item[0]);
	KUNIT_EXPECT_EQ(test, t->poller[0].told, 1);
	KUNIT_EXPECT_EQ(test, t->poller[1].told, 1);
}

static void end_is_told_to_all_whatever_they_wait_for(struct kunit *test)
{
	struct pollers_test *t = test->priv;
	int i;

	/* Q8 */
	all_come_exclusively(t);
	kwq_shut_down(&t->queue);
	for (i = 0; i < NR_POLLERS; i++) {
		KUNIT_EXPECT_GE(test, t->poller[i].told, 1);
		KUNIT_EXPECT_EQ(test, (__force __u32)t->poller[i].events, 0);
	}
}

static void nobody_is_told(struct kunit *test)
{
	struct pollers_test *t = test->priv;

	tell(t, EPOLLPRI);
	kwq_add(&t->queue, &t->item[0]);
	kwq_wake_again(&t->queue);
	KUNIT_EXPECT_FALSE(test, t->queue.is_behind);
}

static void wake_ups_are_repeated_by_the_work_item(struct kunit *test)
{
	struct pollers_test *t = test->priv;

	/* Q5 O7: the first took the wake-up with it. */
	add_wait_queue_exclusive(&t->of_queue.pollers, &t->poller[0].entry);
	kwq_add(&t->queue, &t->item[0]);
	KUNIT_EXPECT_EQ(test, t->told, 1);
	remove_wait_queue(&t->of_queue.pollers, &t->poller[0].entry);
	add_wait_queue_exclusive(&t->of_queue.pollers, &t->poller[1].entry);
	kwq_wake_again(&t->queue);
	/* Waits for the work item. */
	kwq_leave_timer(&t->queue);
	KUNIT_EXPECT_EQ(test, t->poller[1].told, 1);
	/* Without a ready item nobody has lost anything. */
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(&t->queue), &t->item[0]);
	kwq_wake_again(&t->queue);
	KUNIT_EXPECT_FALSE(test, t->queue.is_behind);
}

static void closes_share_a_wake_up(struct kunit *test)
{
	struct pollers_test *t = test->priv;
	unsigned long flags;
	int i;

	/* O6: the work item has the turns, and comes when all have closed. */
	kwq_add(&t->queue, &t->item[0]);
	add_wait_queue(&t->of_queue.pollers, &t->poller[0].entry);
	spin_lock_irqsave(&t->queue.lock, flags);
	t->queue.is_behind = true;
	spin_unlock_irqrestore(&t->queue.lock, flags);
	for (i = 0; i < 10; i++)
		kwq_wake_again(&t->queue);
	KUNIT_EXPECT_EQ(test, t->told, 0);
	KUNIT_EXPECT_FALSE(test, kwq_take_turn(&t->queue, true));
	KUNIT_EXPECT_EQ(test, t->told, 1);
}

static struct kunit_case pollers_test_cases[] = {
	KUNIT_CASE(event_is_told_to_all),
	KUNIT_CASE(item_is_told_to_all_that_are_not_exclusive),
	KUNIT_CASE(each_item_wakes_an_exclusive_poller),
	KUNIT_CASE(poller_is_gone_once_it_is_told),
	KUNIT_CASE(end_is_told_to_all_whatever_they_wait_for),
	KUNIT_CASE(nobody_is_told),
	KUNIT_CASE(wake_ups_are_repeated_by_the_work_item),
	KUNIT_CASE(closes_share_a_wake_up),
	{}
};

static struct kunit_suite pollers_test_suite = {
	.name = "kwq-pollers",
	.suite_init = kwq_test_large,
	.init = pollers_test_init,
	.exit = pollers_test_exit,
	.test_cases = pollers_test_cases,
};

kunit_test_suites(&pollers_test_suite);

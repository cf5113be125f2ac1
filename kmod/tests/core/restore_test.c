// SPDX-License-Identifier: GPL-2.0-only
/* Items that are put back as they were saved (U8): kwq_core_restore(). */
#include <kunit/test.h>
#include <linux/time64.h>
#include <uapi/linux/kwq.h>
#include "core/core.h"
#include "core_check.h"

#define NONE	KWQ_PRIORITY_NONE
#define NOW	1000

struct restore_test {
	struct kwq_bulk bulk;	/* of @core */
	struct kwq_core core;
	struct kwq_holder x;
	struct kwq_item a, b, c, d;
};

static int restore_test_init(struct kunit *test)
{
	struct restore_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	kwq_core_init(&t->core, KWQ_LARGE);
	kwq_holder_init(&t->x);
	kwq_item_init(&t->a);
	kwq_item_init(&t->b);
	kwq_item_init(&t->c);
	kwq_item_init(&t->d);
	test->priv = t;
	return 0;
}

/* Every case ends with a sound core. */
static void restore_test_exit(struct kunit *test)
{
	struct restore_test *t = test->priv;
	struct kwq_holder *const holders[] = { &t->x };

	KUNIT_EXPECT_STREQ(test, "", kwq_core_broken(&t->core, holders, 1) ?: "");
}

#define restore(t, item, ...)							\
	kwq_core_restore(&(t)->core, item,					\
			 &(struct kwq_restored){ __VA_ARGS__ }, NOW)

/* Gets the next item at @now, which must be @item. */
static void expect_next_at(struct kunit *test, struct kwq_item *item, ktime_t now)
{
	struct restore_test *t = test->priv;

	KUNIT_EXPECT_PTR_EQ(test, kwq_test_get(&t->core, &t->x, now), item);
}

static void expect_next(struct kunit *test, struct kwq_item *item)
{
	expect_next_at(test, item, NOW);
}

/* U8, Q1, Q12, O1: by priority, the returned ones first, and then in the order of the restores. */
static void ready_items_keep_their_order(struct kunit *test)
{
	struct restore_test *t = test->priv;
	const u32 readied = t->core.readied;

	KUNIT_EXPECT_EQ(test, restore(t, &t->a, KWQ_IS_READY), KWQ_RESTORED);
	KUNIT_EXPECT_EQ(test, restore(t, &t->b, KWQ_IS_READY), KWQ_RESTORED);
	KUNIT_EXPECT_EQ(test, restore(t, &t->c, KWQ_IS_READY | KWQ_IS_RETURNED,
				      .requeues = 3, .abandoned = 1), KWQ_RESTORED);
	KUNIT_EXPECT_EQ(test, restore(t, &t->d, KWQ_IS_READY, .priority = 5), KWQ_RESTORED);
	KUNIT_EXPECT_EQ(test, t->core.nr_ready, 4);
	/* Each of them wakes a getter. */
	KUNIT_EXPECT_EQ(test, t->core.readied - readied, 4);
	KUNIT_EXPECT_EQ(test, t->bulk.adds, 4);
	expect_next(test, &t->d);
	KUNIT_EXPECT_EQ(test, t->d.priority, 5);
	expect_next(test, &t->c);
	KUNIT_EXPECT_EQ(test, t->c.abandoned, 1);
	KUNIT_EXPECT_EQ(test, kwq_core_num_requeues(&t->core, &t->c, NOW), 3);
	expect_next(test, &t->a);
	expect_next(test, &t->b);
	expect_next(test, NULL);
}

/* U8, M2: ages go on, also those from before the clock began. */
static void ages_go_on(struct kunit *test)
{
	struct restore_test *t = test->priv;
	struct kwq_gauges gauges;

	restore(t, &t->a, KWQ_IS_READY, .dirty_for = NSEC_PER_SEC);
	kwq_core_gauges(&t->core, &gauges, NOW);
	KUNIT_EXPECT_EQ(test, gauges.oldest_ready, NSEC_PER_SEC);
	expect_next_at(test, &t->a, NOW + 1);
	KUNIT_EXPECT_EQ(test, t->bulk.queue_duration.sum, NSEC_PER_SEC + 1);
	restore(t, &t->b, KWQ_IS_WAITING, .due = NOW + 1, .waiting_for = 2 * NOW);
	KUNIT_EXPECT_EQ(test, kwq_core_waiting_since(&t->core, &t->b), -NOW);
	restore(t, &t->c, KWQ_IS_DEAD, .dead_for = 3 * NOW);
	KUNIT_EXPECT_EQ(test, t->c.since, -2 * NOW);
	restore(t, &t->d, KWQ_IS_READY, .dirty_for = KWQ_AGE_UNKNOWN - 1);
	KUNIT_EXPECT_EQ(test, t->d.dirtied, NOW - KTIME_MAX);
}

/* U8, M1: in a core without durations, an age that is not known stays so. */
static void unknown_ages_stay_unknown(struct kunit *test)
{
	struct restore_test *t = test->priv;
	struct kwq_gauges gauges;

	restore(t, &t->a, KWQ_IS_READY, .dirty_for = KWQ_AGE_UNKNOWN);
	KUNIT_EXPECT_EQ(test, t->a.dirtied, KWQ_NO_TIME);
	kwq_core_gauges(&t->core, &gauges, NOW);
	KUNIT_EXPECT_EQ(test, gauges.oldest_ready, 0);
	expect_next_at(test, &t->a, KWQ_NO_TIME);
	KUNIT_EXPECT_EQ(test, t->bulk.queue_duration.sum, 0);
	restore(t, &t->b, KWQ_IS_DEAD, .dead_for = KWQ_AGE_UNKNOWN);
	KUNIT_EXPECT_EQ(test, t->b.since, KWQ_NO_TIME);
}

/* U8, D1, D3, Q12: a waiting item waits on, and may be ready meanwhile. */
static void waiting_items_wait_on(struct kunit *test)
{
	struct restore_test *t = test->priv;
	unsigned int budget = 100;

	KUNIT_EXPECT_EQ(test, restore(t, &t->a, KWQ_IS_WAITING, .wait_priority = 7,
				      .due = NOW + 20, .requeues = 2), KWQ_RESTORED);
	KUNIT_EXPECT_TRUE(test, t->core.changed);
	KUNIT_EXPECT_EQ(test, restore(t, &t->b, KWQ_IS_WAITING | KWQ_IS_READY, .priority = 1,
				      .wait_priority = NONE, .due = NOW + 10), KWQ_RESTORED);
	KUNIT_EXPECT_EQ(test, t->core.nr_ready, 1);
	KUNIT_EXPECT_EQ(test, t->bulk.nr_waiting, 2);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), NOW + 20);
	expect_next(test, &t->b);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_expire(&t->core, NOW + 9, &budget), NULL);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_expire(&t->core, NOW + 10, &budget), &t->b);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_expire(&t->core, NOW + 20, &budget), &t->a);
	expect_next(test, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, 7);
	KUNIT_EXPECT_EQ(test, kwq_core_num_requeues(&t->core, &t->a, NOW), 2);
	/* D2: another add merges with the restored time. */
	restore(t, &t->c, KWQ_IS_WAITING, .wait_priority = NONE, .due = NOW + 30);
	KUNIT_EXPECT_EQ(test, kwq_core_add_at(&t->core, &t->c, NONE, NOW + 40, KWQ_WAIT_EARLIER,
					      NOW), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->c), NOW + 30);
}

/* U8, L11: dead items stay dead, in the order of the restores. */
static void dead_items_stay_dead(struct kunit *test)
{
	struct restore_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, restore(t, &t->b, KWQ_IS_DEAD, .requeues = 9, .priority = 3),
			KWQ_RESTORED);
	KUNIT_EXPECT_EQ(test, restore(t, &t->a, KWQ_IS_DEAD, .abandoned = 2), KWQ_RESTORED);
	KUNIT_EXPECT_EQ(test, t->bulk.nr_dead, 2);
	KUNIT_EXPECT_EQ(test, t->bulk.died, 2);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_first_dead(&t->core), &t->b);
	KUNIT_EXPECT_EQ(test, t->b.death, 1);
	KUNIT_EXPECT_EQ(test, t->a.death, 2);
	KUNIT_EXPECT_EQ(test, t->a.abandoned, 2);
	expect_next(test, NULL);
	KUNIT_EXPECT_EQ(test, kwq_core_add(&t->core, &t->b, NONE, false, NOW), KWQ_ADDED);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_first_dead(&t->core), &t->a);
	KUNIT_EXPECT_EQ(test, kwq_core_num_requeues(&t->core, &t->b, NOW), 0);
	expect_next(test, &t->b);
	KUNIT_EXPECT_EQ(test, t->b.priority, 3);
}

/* U8, L10: an idle item keeps its count. The larger of two counts is kept. */
static void requeues_are_remembered(struct kunit *test)
{
	struct restore_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, restore(t, &t->a, 0, .requeues = 4), KWQ_RESTORED);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	KUNIT_EXPECT_EQ(test, kwq_core_num_requeues(&t->core, &t->a, NOW), 4);
	KUNIT_EXPECT_EQ(test, restore(t, &t->a, 0, .requeues = 3), KWQ_RESTORED);
	KUNIT_EXPECT_EQ(test, kwq_core_num_requeues(&t->core, &t->a, NOW), 4);
	KUNIT_EXPECT_EQ(test, restore(t, &t->a, KWQ_IS_READY, .requeues = 6), KWQ_RESTORED);
	KUNIT_EXPECT_EQ(test, kwq_core_num_requeues(&t->core, &t->a, NOW), 6);
	expect_next(test, &t->a);
}

/* U8: an item that is in use is added, as by an add, and keeps the rest. */
static void item_in_use_is_added(struct kunit *test)
{
	struct restore_test *t = test->priv;

	/* ready */
	kwq_core_add(&t->core, &t->a, NONE, false, NOW);
	KUNIT_EXPECT_EQ(test, restore(t, &t->a, KWQ_IS_READY, .requeues = 5, .priority = 2),
			KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_core_num_requeues(&t->core, &t->a, NOW), 0);
	KUNIT_EXPECT_EQ(test, t->core.nr_ready, 1);
	KUNIT_EXPECT_EQ(test, restore(t, &t->a, KWQ_IS_DEAD), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, restore(t, &t->a, 0, .requeues = 5), KWQ_COALESCED);
	/* processing: it runs once more, not twice */
	expect_next(test, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, 2);
	KUNIT_EXPECT_EQ(test, restore(t, &t->a, KWQ_IS_READY), KWQ_DIRTIED);
	KUNIT_EXPECT_EQ(test, restore(t, &t->a, KWQ_IS_READY), KWQ_DIRTY);
	KUNIT_EXPECT_EQ(test, restore(t, &t->a, KWQ_IS_WAITING, .wait_priority = NONE,
				      .due = NOW + 50), KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, restore(t, &t->a, KWQ_IS_WAITING, .wait_priority = NONE,
				      .due = NOW + 40), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), NOW + 40);
	KUNIT_EXPECT_EQ(test, restore(t, &t->a, KWQ_IS_WAITING | KWQ_IS_READY,
				      .wait_priority = NONE, .due = NOW + 30), KWQ_DIRTY);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), NOW + 30);
	KUNIT_EXPECT_EQ(test, kwq_core_done(&t->core, &t->x, &t->a, NOW),
			KWQ_REQUEUED | KWQ_STILL_WAITING);
	/* dead */
	restore(t, &t->b, KWQ_IS_DEAD, .requeues = 9);
	KUNIT_EXPECT_EQ(test, restore(t, &t->b, KWQ_IS_DEAD), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, restore(t, &t->b, KWQ_IS_READY), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_core_num_requeues(&t->core, &t->b, NOW), 0);
	KUNIT_EXPECT_EQ(test, t->bulk.nr_dead, 0);
}

/* U8, D4: a time that has come meanwhile. */
static void due_items_are_ready(struct kunit *test)
{
	struct restore_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, restore(t, &t->a, KWQ_IS_WAITING, .wait_priority = 3,
				      .due = NOW - 1), KWQ_RESTORED);
	KUNIT_EXPECT_FALSE(test, kwq_core_has_waiting(&t->core));
	expect_next(test, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, 3);
}

/* U8, D9, M1: it has waited since before the clock began, and no span of time wraps. */
static void waits_are_older_than_the_clock(struct kunit *test)
{
	struct restore_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, restore(t, &t->a, KWQ_IS_WAITING, .wait_priority = NONE,
				      .waiting_for = NOW + 5, .due = 2 * NOW), KWQ_RESTORED);
	KUNIT_EXPECT_EQ(test, kwq_core_waiting_since(&t->core, &t->a), -5);
	KUNIT_EXPECT_EQ(test, kwq_core_latest(&t->core, &t->a, 7, NOW), 2);
	KUNIT_EXPECT_EQ(test, kwq_core_latest(&t->core, &t->a, U64_MAX, NOW), KTIME_MAX);
	KUNIT_EXPECT_EQ(test, restore(t, &t->b, KWQ_IS_READY, .dirty_for = NOW + 5), KWQ_RESTORED);
	expect_next_at(test, &t->b, KTIME_MAX);
	KUNIT_EXPECT_EQ(test, t->bulk.queue_duration.sum, (u64)KTIME_MAX + 5);
}

/* U8, O1: the count of a wait alone was reset by the done before it. */
static void waits_were_not_lost(struct kunit *test)
{
	struct restore_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, restore(t, &t->a, KWQ_IS_WAITING, .due = 2 * NOW, .abandoned = 3),
			KWQ_RESTORED);
	KUNIT_EXPECT_EQ(test, t->a.abandoned, 0);
}

/* U8, Q8 */
static void shut_down_refuses(struct kunit *test)
{
	struct restore_test *t = test->priv;

	kwq_core_shut_down(&t->core, true);
	KUNIT_EXPECT_EQ(test, restore(t, &t->a, KWQ_IS_READY), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, restore(t, &t->a, KWQ_IS_DEAD), -ESHUTDOWN);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
}

static struct kunit_case restore_test_cases[] = {
	KUNIT_CASE(ready_items_keep_their_order),
	KUNIT_CASE(ages_go_on),
	KUNIT_CASE(unknown_ages_stay_unknown),
	KUNIT_CASE(waiting_items_wait_on),
	KUNIT_CASE(dead_items_stay_dead),
	KUNIT_CASE(requeues_are_remembered),
	KUNIT_CASE(item_in_use_is_added),
	KUNIT_CASE(due_items_are_ready),
	KUNIT_CASE(waits_are_older_than_the_clock),
	KUNIT_CASE(waits_were_not_lost),
	KUNIT_CASE(shut_down_refuses),
	{}
};

static struct kunit_suite restore_test_suite = {
	.name = "kwq-restore",
	.init = restore_test_init,
	.exit = restore_test_exit,
	.test_cases = restore_test_cases,
};

kunit_test_suite(restore_test_suite);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Items that their holder buries or gives back (L11, O2), in both forms of a core.
 *
 * A picture in a comment shows the items from the next one on: "returned | fresh".
 */
#include <kunit/test.h>
#include <uapi/linux/kwq.h>
#include "core/core.h"
#include "core_check.h"
#include "tests/form.h"

#define NONE	KWQ_PRIORITY_NONE

struct settle_test {
	struct kwq_bulk bulk;	/* of @core, if it is large */
	struct kwq_core core;
	struct kwq_holder x, y;
	struct kwq_item a, b, c;
};

static int settle_test_init(struct kunit *test)
{
	struct settle_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	kwq_core_init(&t->core, kwq_test_form);
	kwq_holder_init(&t->x);
	kwq_holder_init(&t->y);
	kwq_item_init(&t->a);
	kwq_item_init(&t->b);
	kwq_item_init(&t->c);
	test->priv = t;
	return 0;
}

/* Every case ends with a sound core. */
static void settle_test_exit(struct kunit *test)
{
	struct settle_test *t = test->priv;
	struct kwq_holder *const holders[] = { &t->x, &t->y };

	KUNIT_EXPECT_STREQ(test, "", kwq_core_broken(&t->core, holders, 2) ?: "");
}

static int add(struct settle_test *t, struct kwq_item *item, ktime_t now)
{
	return kwq_core_add(&t->core, item, NONE, false, now);
}

static int bury(struct settle_test *t, struct kwq_item *item)
{
	return kwq_test_bury(&t->core, &t->x, item, 5);
}

static int give_back(struct settle_test *t, struct kwq_item *item, ktime_t now)
{
	return kwq_core_give_back(&t->core, &t->x, item, now);
}

/* The next hand-out is @item, or with NULL nothing. */
#define EXPECT_GET(test, t, item, now)					\
	KUNIT_EXPECT_PTR_EQ(test, kwq_test_get(&(t)->core, &(t)->x, now), \
			    (struct kwq_item *)(item))

/* ---- Bury ---- */

static void buried_item_is_dead(struct kunit *test)
{
	struct settle_test *t = test->priv;

	/* L11: without a bound, and however often it was tried or lost */
	add(t, &t->a, 0);
	EXPECT_GET(test, t, &t->a, 0);
	kwq_core_abandon(&t->core, &t->a, 1);
	EXPECT_GET(test, t, &t->a, 1);
	KUNIT_EXPECT_EQ(test, bury(t, &t->a), KWQ_BURIED);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_dead(&t->a));
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_first_dead(&t->core), &t->a);
	KUNIT_EXPECT_EQ(test, t->a.since, 5);
	KUNIT_EXPECT_EQ(test, t->a.abandoned, 0);
	KWQ_EXPECT_METRIC(test, t, died, 1);
	KWQ_EXPECT_METRIC(test, t, dones, 1);
	/* There is nothing to finish any more. */
	KUNIT_EXPECT_EQ(test, bury(t, &t->a), -ENOENT);
	KUNIT_EXPECT_EQ(test, give_back(t, &t->a, 5), -ENOENT);
	KUNIT_EXPECT_EQ(test, add(t, &t->a, 6), KWQ_ADDED);
	EXPECT_GET(test, t, &t->a, 6);
}

static void buried_items_keep_their_order(struct kunit *test)
{
	struct settle_test *t = test->priv;

	add(t, &t->a, 0);
	add(t, &t->b, 0);
	EXPECT_GET(test, t, &t->a, 0);
	EXPECT_GET(test, t, &t->b, 0);
	KUNIT_EXPECT_EQ(test, bury(t, &t->b), KWQ_BURIED);
	KUNIT_EXPECT_EQ(test, bury(t, &t->a), KWQ_BURIED);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_first_dead(&t->core), &t->b);
	KUNIT_EXPECT_EQ(test, kwq_core_remove(&t->core, &t->b), KWQ_WAS_DEAD);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_first_dead(&t->core), &t->a);
}

static void added_item_is_not_buried(struct kunit *test)
{
	struct settle_test *t = test->priv;

	/* L11 Q4: an add, and a time */
	add(t, &t->a, 0);
	EXPECT_GET(test, t, &t->a, 0);
	add(t, &t->a, 1);
	KUNIT_EXPECT_EQ(test, bury(t, &t->a), KWQ_REQUEUED);
	KWQ_EXPECT_METRIC(test, t, coalesced, 1);
	EXPECT_GET(test, t, &t->a, 2);
	kwq_core_add_at(&t->core, &t->a, NONE, 10, KWQ_WAIT_EARLIER, 2);
	KUNIT_EXPECT_EQ(test, bury(t, &t->a), KWQ_STILL_WAITING);
	KUNIT_EXPECT_EQ(test, t->a.state, KWQ_ITEM_WAITING);
	KWQ_EXPECT_METRIC(test, t, died, 0);
}

static void refused_bury_changes_nothing(struct kunit *test)
{
	struct settle_test *t = test->priv;

	/* Q6: the item is not even marked to die. */
	add(t, &t->a, 0);
	KUNIT_EXPECT_EQ(test, bury(t, &t->a), -ENOENT);
	KUNIT_EXPECT_EQ(test, t->a.state, KWQ_ITEM_DIRTY);
	EXPECT_GET(test, t, &t->a, 0);
	KUNIT_EXPECT_EQ(test, kwq_test_bury(&t->core, &t->y, &t->a, 5), -EPERM);
	KUNIT_EXPECT_EQ(test, kwq_core_give_back(&t->core, &t->y, &t->a, 5), -EPERM);
	KUNIT_EXPECT_EQ(test, t->a.state, KWQ_ITEM_PROCESSING);
	KWQ_EXPECT_METRIC(test, t, died, 0);
	KWQ_EXPECT_METRIC(test, t, returned, 0);
}

static void bury_ends_a_flush(struct kunit *test)
{
	struct settle_test *t = test->priv;

	/* K9 */
	add(t, &t->a, 0);
	EXPECT_GET(test, t, &t->a, 0);
	kwq_core_begin_flush(&t->core);
	KUNIT_EXPECT_EQ(test, bury(t, &t->a), KWQ_BURIED);
	KUNIT_EXPECT_EQ(test, t->core.nr_before, 0);
	KUNIT_EXPECT_EQ(test, t->core.flushes, 1);
}

static void bury_of_what_stays_out(struct kunit *test)
{
	struct settle_test *t = test->priv;

	/* K8: disabled. Q10: nothing is kept after a shut down. */
	add(t, &t->a, 0);
	add(t, &t->b, 0);
	EXPECT_GET(test, t, &t->a, 0);
	EXPECT_GET(test, t, &t->b, 0);
	kwq_core_disable(&t->core, &t->a);
	KUNIT_EXPECT_EQ(test, bury(t, &t->a), KWQ_FINISHED);
	KUNIT_EXPECT_TRUE(test, t->core.ended);
	kwq_core_shut_down(&t->core, true);
	KUNIT_EXPECT_EQ(test, bury(t, &t->b), KWQ_FINISHED);
	KUNIT_EXPECT_TRUE(test, kwq_core_is_drained(&t->core));
	KUNIT_EXPECT_NULL(test, kwq_core_first_dead(&t->core));
}

/* ---- Give back ---- */

static void item_given_back_is_first_again(struct kunit *test)
{
	struct settle_test *t = test->priv;

	/* O2: and counts as neither done nor lost */
	add(t, &t->a, 0);
	add(t, &t->b, 0);
	EXPECT_GET(test, t, &t->a, 0);
	t->a.requeues = 3;
	t->a.abandoned = 2;
	add(t, &t->c, 0);
	KUNIT_EXPECT_EQ(test, give_back(t, &t->a, 5), KWQ_RETURNED);
	/* | a b c */
	KUNIT_EXPECT_EQ(test, t->a.requeues, 3);
	KUNIT_EXPECT_EQ(test, t->a.abandoned, 2);
	KUNIT_EXPECT_EQ(test, t->x.nr_held, 0);
	EXPECT_GET(test, t, &t->a, 5);
	EXPECT_GET(test, t, &t->b, 5);
	EXPECT_GET(test, t, &t->c, 5);
	KWQ_EXPECT_METRIC(test, t, gets, 4);
	KWQ_EXPECT_METRIC(test, t, returned, 1);
	KWQ_EXPECT_METRIC(test, t, dones, 0);
	KWQ_EXPECT_METRIC(test, t, abandoned, 0);
}

static void last_one_given_back_comes_first(struct kunit *test)
{
	struct settle_test *t = test->priv;

	add(t, &t->a, 0);
	add(t, &t->b, 0);
	add(t, &t->c, 0);
	EXPECT_GET(test, t, &t->a, 0);
	EXPECT_GET(test, t, &t->b, 0);
	give_back(t, &t->a, 5);
	give_back(t, &t->b, 5);
	/* | b a c */
	EXPECT_GET(test, t, &t->b, 5);
	EXPECT_GET(test, t, &t->a, 5);
	EXPECT_GET(test, t, &t->c, 5);
}

static void lost_items_stay_ahead(struct kunit *test)
{
	struct settle_test *t = test->priv;

	/* O1: a large core has a lane for lost items. */
	add(t, &t->a, 0);
	add(t, &t->b, 0);
	EXPECT_GET(test, t, &t->a, 0);
	EXPECT_GET(test, t, &t->b, 0);
	kwq_core_abandon(&t->core, &t->b, 0);
	give_back(t, &t->a, 5);
	/* b | a */
	EXPECT_GET(test, t, kwq_test_form == KWQ_LARGE ? &t->b : &t->a, 5);
}

static void add_meanwhile_has_the_same_run(struct kunit *test)
{
	struct settle_test *t = test->priv;

	/* Q4: one run serves both. D3: the time stays. */
	add(t, &t->a, 0);
	EXPECT_GET(test, t, &t->a, 0);
	KUNIT_EXPECT_EQ(test, add(t, &t->a, 1), KWQ_DIRTIED);
	KUNIT_EXPECT_EQ(test, give_back(t, &t->a, 5), KWQ_RETURNED);
	KUNIT_EXPECT_EQ(test, t->core.nr_dirty_processing, 0);
	EXPECT_GET(test, t, &t->a, 5);
	EXPECT_GET(test, t, NULL, 5);
	kwq_core_add_at(&t->core, &t->a, NONE, 10, KWQ_WAIT_EARLIER, 5);
	KUNIT_EXPECT_EQ(test, give_back(t, &t->a, 6), KWQ_RETURNED | KWQ_STILL_WAITING);
	KUNIT_EXPECT_EQ(test, t->a.state, KWQ_ITEM_DIRTY | KWQ_ITEM_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 10);
}

static void mark_to_die_ends(struct kunit *test)
{
	struct settle_test *t = test->priv;

	/* L11 */
	add(t, &t->a, 0);
	EXPECT_GET(test, t, &t->a, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_give_up(&t->core, &t->a, 0), KWQ_DEAD);
	KUNIT_EXPECT_EQ(test, give_back(t, &t->a, 5), KWQ_RETURNED);
	KUNIT_EXPECT_EQ(test, t->a.state, KWQ_ITEM_DIRTY);
}

static void give_back_wakes_one(struct kunit *test)
{
	struct settle_test *t = test->priv;
	u32 readied;

	/* Q5, and Q14: after a pause all ready items count. */
	add(t, &t->a, 0);
	EXPECT_GET(test, t, &t->a, 0);
	readied = t->core.readied;
	give_back(t, &t->a, 5);
	KUNIT_EXPECT_EQ(test, t->core.readied - readied, 1);
	kwq_core_pause(&t->core);
	EXPECT_GET(test, t, NULL, 5);
	KUNIT_EXPECT_TRUE(test, kwq_core_resume(&t->core));
	EXPECT_GET(test, t, &t->a, 5);
}

static void flush_waits_for_what_was_given_back(struct kunit *test)
{
	struct settle_test *t = test->priv;

	/* K9: its next run counts in the place of the one that was undone. */
	add(t, &t->a, 0);
	EXPECT_GET(test, t, &t->a, 0);
	kwq_core_begin_flush(&t->core);
	give_back(t, &t->a, 5);
	KUNIT_EXPECT_EQ(test, t->core.nr_before, 1);
	EXPECT_GET(test, t, &t->a, 5);
	kwq_core_done(&t->core, &t->x, &t->a, 5);
	KUNIT_EXPECT_EQ(test, t->core.flushes, 1);
}

static void give_back_ends_an_awaited_run(struct kunit *test)
{
	struct settle_test *t = test->priv;

	/* K9 */
	add(t, &t->a, 0);
	EXPECT_GET(test, t, &t->a, 0);
	t->a.marks |= KWQ_MARK_AWAITED;
	give_back(t, &t->a, 5);
	KUNIT_EXPECT_TRUE(test, t->core.ended);
}

static void give_back_after_a_shut_down(struct kunit *test)
{
	struct settle_test *t = test->priv;

	/* Q8 Q9: it is not drained, and the time does not count any more. */
	add(t, &t->a, 0);
	EXPECT_GET(test, t, &t->a, 0);
	kwq_core_add_at(&t->core, &t->a, NONE, 10, KWQ_WAIT_EARLIER, 0);
	kwq_core_shut_down(&t->core, true);
	KUNIT_EXPECT_EQ(test, give_back(t, &t->a, 5), KWQ_RETURNED);
	KUNIT_EXPECT_FALSE(test, kwq_core_is_drained(&t->core));
	EXPECT_GET(test, t, &t->a, 5);
}

static void give_back_of_what_stays_out(struct kunit *test)
{
	struct settle_test *t = test->priv;

	/* K3 K8: a disabled item, and a cancelled queue */
	add(t, &t->a, 0);
	add(t, &t->b, 0);
	EXPECT_GET(test, t, &t->a, 0);
	EXPECT_GET(test, t, &t->b, 0);
	kwq_core_disable(&t->core, &t->a);
	KUNIT_EXPECT_EQ(test, give_back(t, &t->a, 5), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, t->a.since, 5);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	kwq_core_add_at(&t->core, &t->b, NONE, 10, KWQ_WAIT_EARLIER, 0);
	kwq_core_shut_down(&t->core, true);
	kwq_core_cancel_all(&t->core);
	KUNIT_EXPECT_EQ(test, give_back(t, &t->b, 5), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, t->b.state, KWQ_ITEM_WAITING);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_drop(&t->core), &t->b);
	EXPECT_GET(test, t, NULL, 5);
}

/* ---- Only a large core has priorities and notes ages ---- */

static void higher_priority_of_an_add_counts(struct kunit *test)
{
	struct settle_test *t = test->priv;

	/* Q12: at the tail of that priority */
	add(t, &t->a, 0);
	EXPECT_GET(test, t, &t->a, 0);
	kwq_core_add(&t->core, &t->b, 3, false, 0);
	kwq_core_add(&t->core, &t->a, 3, false, 0);
	give_back(t, &t->a, 5);
	EXPECT_GET(test, t, &t->b, 5);
	EXPECT_GET(test, t, &t->a, 5);
	/* A lower one does not. */
	kwq_core_add(&t->core, &t->c, 3, false, 0);
	kwq_core_add(&t->core, &t->a, -1, false, 0);
	give_back(t, &t->a, 5);
	KUNIT_EXPECT_EQ(test, t->a.priority, 3);
	EXPECT_GET(test, t, &t->a, 5);
}

static void age_counts_from_the_add(struct kunit *test)
{
	struct settle_test *t = test->priv;

	/* Q17 M1 */
	add(t, &t->a, 10);
	EXPECT_GET(test, t, &t->a, 20);
	give_back(t, &t->a, 30);
	KUNIT_EXPECT_EQ(test, t->a.dirtied, 10);
	EXPECT_GET(test, t, &t->a, 40);
	KUNIT_EXPECT_EQ(test, t->bulk.queue_duration.sum, 10 + 30);
	KUNIT_EXPECT_EQ(test, t->bulk.work_duration.sum, 0);
	/* Added meanwhile, waiting, and both: from the hand-out */
	add(t, &t->a, 50);
	give_back(t, &t->a, 60);
	KUNIT_EXPECT_EQ(test, t->a.dirtied, 40);
	EXPECT_GET(test, t, &t->a, 70);
	kwq_core_add_at(&t->core, &t->a, NONE, 1000, KWQ_WAIT_EARLIER, 75);
	give_back(t, &t->a, 80);
	KUNIT_EXPECT_EQ(test, t->a.dirtied, 70);
	KUNIT_EXPECT_EQ(test, kwq_core_waiting_since(&t->core, &t->a), 75);
	EXPECT_GET(test, t, &t->a, 90);
	add(t, &t->a, 95);
	give_back(t, &t->a, 99);
	KUNIT_EXPECT_EQ(test, t->a.dirtied, 90);
	KUNIT_EXPECT_EQ(test, kwq_core_waiting_since(&t->core, &t->a), 75);
}

#define SETTLE_TEST_OF_BOTH					\
	KUNIT_CASE(buried_item_is_dead),			\
	KUNIT_CASE(buried_items_keep_their_order),		\
	KUNIT_CASE(added_item_is_not_buried),			\
	KUNIT_CASE(refused_bury_changes_nothing),		\
	KUNIT_CASE(bury_ends_a_flush),				\
	KUNIT_CASE(bury_of_what_stays_out),			\
	KUNIT_CASE(item_given_back_is_first_again),		\
	KUNIT_CASE(last_one_given_back_comes_first),		\
	KUNIT_CASE(lost_items_stay_ahead),			\
	KUNIT_CASE(add_meanwhile_has_the_same_run),		\
	KUNIT_CASE(mark_to_die_ends),				\
	KUNIT_CASE(give_back_wakes_one),			\
	KUNIT_CASE(flush_waits_for_what_was_given_back),	\
	KUNIT_CASE(give_back_ends_an_awaited_run),		\
	KUNIT_CASE(give_back_after_a_shut_down),		\
	KUNIT_CASE(give_back_of_what_stays_out)

static struct kunit_case settle_test_cases[] = {
	SETTLE_TEST_OF_BOTH,
	KUNIT_CASE(higher_priority_of_an_add_counts),
	KUNIT_CASE(age_counts_from_the_add),
	{}
};

static struct kunit_case settle_test_small_cases[] = {
	SETTLE_TEST_OF_BOTH,
	{}
};

KWQ_TEST_SUITES(settle_test, "kwq-core-settle", settle_test_init, settle_test_exit);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The state machine, rule by rule. Each test chooses its own times. Nothing sleeps, and
 * nothing else runs.
 *
 * A picture in a comment shows the bands from the head on, highest priority first:
 * "returned | fresh".
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/time64.h>
#include <uapi/linux/kwq.h>
#include "core/core.h"
#include "core/limiter.h"
#include "compat.h"
#include "core_check.h"
#include "tests/form.h"

#define NONE		KWQ_PRIORITY_NONE
#define READY		KWQ_ITEM_DIRTY
#define PROCESSING	KWQ_ITEM_PROCESSING
#define DIRTY		KWQ_ITEM_DIRTY
#define WAITING		KWQ_ITEM_WAITING

struct core_test {
	struct kwq_bulk bulk;	/* of @core, if it is large */
	struct kwq_core core;
	struct kwq_holder x, y, z;
	/* An item with what is before it is a struct kwq_grouped_item (Q16). */
	struct kwq_member of_a;
	struct kwq_item a;
	struct kwq_member of_b;
	struct kwq_item b;
	struct kwq_member of_c;
	struct kwq_item c;
	struct kwq_member of_d;
	struct kwq_item d;
	struct kwq_member of_e;
	struct kwq_item e;
	/* for cases that selftests/models/core prints */
	struct kwq_group g, h;
};

static int core_test_init(struct kunit *test)
{
	struct core_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	kwq_core_init(&t->core, kwq_test_form);
	kwq_group_init(&t->g);
	kwq_group_init(&t->h);
	kwq_holder_init(&t->x);
	kwq_holder_init(&t->y);
	kwq_holder_init(&t->z);
	kwq_item_init(&t->a);
	kwq_item_init(&t->b);
	kwq_item_init(&t->c);
	kwq_item_init(&t->d);
	kwq_item_init(&t->e);
	test->priv = t;
	return 0;
}

/* Every case ends with a sound core. */
static void core_test_exit(struct kunit *test)
{
	struct core_test *t = test->priv;
	struct kwq_holder *const holders[] = { &t->x, &t->y, &t->z };

	KUNIT_EXPECT_STREQ(test, "",
			   kwq_core_broken(&t->core, holders, 3) ?: "");
}

/* An add without a priority or other options. */
static int add(struct core_test *t, struct kwq_item *item)
{
	return kwq_core_add(&t->core, item, NONE, false, 0);
}

static int add_prio(struct core_test *t, struct kwq_item *item, int priority)
{
	return kwq_core_add(&t->core, item, priority, false, 0);
}

/* An add for a time, with no time before. */
static int add_at(struct core_test *t, struct kwq_item *item, ktime_t when)
{
	return kwq_core_add_at(&t->core, item, NONE, when, KWQ_WAIT_EARLIER, 0);
}

static int add_at_prio(struct core_test *t, struct kwq_item *item, ktime_t when,
		       int priority)
{
	return kwq_core_add_at(&t->core, item, priority, when, KWQ_WAIT_EARLIER,
			       0);
}

static struct kwq_item *get(struct core_test *t)
{
	return kwq_test_get(&t->core, &t->x, 0);
}

static int done(struct core_test *t, struct kwq_item *item)
{
	return kwq_core_done(&t->core, &t->x, item, 0);
}

static struct kwq_item *expire(struct core_test *t, ktime_t now)
{
	unsigned int budget = UINT_MAX;

	return kwq_core_expire(&t->core, now, &budget);
}

/* The next hand-out is @item, or with NULL nothing. */
#define EXPECT_GET(test, t, item) \
	KUNIT_EXPECT_PTR_EQ(test, get(t), (struct kwq_item *)(item))

static unsigned long nr_waiting(const struct core_test *t)
{
	const struct rb_node *node;
	unsigned long nr = 0;

	if (!kwq_core_is_small(&t->core))
		return t->bulk.nr_waiting;
	for (node = rb_first(&t->core.by_time); node; node = rb_next(node))
		nr++;
	return nr;
}

/* The next item that is due at @now is @item, or with NULL nothing. */
#define EXPECT_EXPIRE(test, t, now, item) \
	KUNIT_EXPECT_PTR_EQ(test, expire(t, now), (struct kwq_item *)(item))

#define EXPECT_NRS(test, t, ready, waiting, processing)			\
do {									\
	KUNIT_EXPECT_EQ(test, (t)->core.nr_ready, ready);		\
	KUNIT_EXPECT_EQ(test, nr_waiting(t), waiting);			\
	KUNIT_EXPECT_EQ(test, (t)->core.nr_processing, processing);	\
} while (0)

/* ---- A new core is empty ---- */

static void core_is_empty_at_first(struct kunit *test)
{
	struct core_test *t = test->priv;

	EXPECT_NRS(test, t, 0, 0, 0);
	KUNIT_EXPECT_NULL(test, kwq_core_peek(&t->core, 0));
	EXPECT_GET(test, t, NULL);
	EXPECT_EXPIRE(test, t, KTIME_MAX, NULL);
	KUNIT_EXPECT_EQ(test, kwq_core_next_time(&t->core), KTIME_MAX);
	KUNIT_EXPECT_FALSE(test, kwq_core_is_drained(&t->core));
}

static void item_is_idle_at_first(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* The memory may contain anything before. */
	memset(&t->a, 0xff, sizeof(t->a));
	kwq_item_init(&t->a);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	KUNIT_EXPECT_EQ(test, add(t, &t->a), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, t->a.priority, 0);
	KUNIT_EXPECT_EQ(test, t->a.abandoned, 0);
	EXPECT_GET(test, t, &t->a);
}

/* ---- Q1: the order ---- */

static void fifo(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q1 */
	add(t, &t->a);
	add(t, &t->b);
	add(t, &t->c);

	/* | a b c */
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->c);
	EXPECT_GET(test, t, NULL);
}

static void fifo_with_adds_between(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q1 */
	add(t, &t->a);
	add(t, &t->b);
	EXPECT_GET(test, t, &t->a);
	done(t, &t->a);
	add(t, &t->a);
	add(t, &t->c);

	/* | b a c */
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->c);
}

static void fifo_of_all_ways_to_get_ready(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q1: the order is that in which they became ready, not that of the adds. */
	add(t, &t->d);
	EXPECT_GET(test, t, &t->d);
	add(t, &t->d);
	add_at(t, &t->b, 10);
	add(t, &t->a);
	expire(t, 10);
	done(t, &t->d);
	add(t, &t->c);

	/* | a b d c: added, expired, requeued, added */
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->d);
	EXPECT_GET(test, t, &t->c);
}

static void peek_changes_nothing(struct kunit *test)
{
	struct core_test *t = test->priv;

	add(t, &t->a);
	add(t, &t->b);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_peek(&t->core, 0), &t->a);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_peek(&t->core, 0), &t->a);
	EXPECT_NRS(test, t, 2, 0, 0);
	EXPECT_GET(test, t, &t->a);
}

/* ---- Q3: one consumer at a time ---- */

static void processing_item_is_not_handed_out(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q3 */
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	add(t, &t->a);
	KUNIT_EXPECT_NULL(test, kwq_core_peek(&t->core, 0));
	KUNIT_EXPECT_NULL(test, kwq_test_get(&t->core, &t->y, 0));
	KUNIT_EXPECT_EQ(test, t->x.nr_held, 1);
	KUNIT_EXPECT_EQ(test, t->y.nr_held, 0);
}

static void two_holders_have_their_own(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q3 */
	add(t, &t->a);
	add(t, &t->b);
	KUNIT_EXPECT_PTR_EQ(test, kwq_test_get(&t->core, &t->x, 0), &t->a);
	KUNIT_EXPECT_PTR_EQ(test, kwq_test_get(&t->core, &t->y, 0), &t->b);
	KUNIT_EXPECT_PTR_EQ(test, t->a.holder, &t->x);
	KUNIT_EXPECT_PTR_EQ(test, t->b.holder, &t->y);
	KUNIT_EXPECT_EQ(test, t->x.nr_held, 1);
	KUNIT_EXPECT_EQ(test, t->y.nr_held, 1);
	EXPECT_NRS(test, t, 0, 0, 2);
}

/* ---- Q4: adds during processing ---- */

static void many_adds_during_processing_come_back_once(struct kunit *test)
{
	struct core_test *t = test->priv;
	int i;

	/* Q4 */
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	KUNIT_EXPECT_EQ(test, add(t, &t->a), KWQ_DIRTIED);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, add(t, &t->a), KWQ_DIRTY);
	KUNIT_EXPECT_EQ(test, done(t, &t->a), KWQ_REQUEUED);
	EXPECT_GET(test, t, &t->a);
	KUNIT_EXPECT_EQ(test, done(t, &t->a), KWQ_FINISHED);
	EXPECT_GET(test, t, NULL);
}

static void requeue_goes_to_the_tail(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q4 */
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	add(t, &t->a);
	add(t, &t->b);
	add(t, &t->c);
	done(t, &t->a);

	/* | b c a, though a was added before b */
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->c);
	EXPECT_GET(test, t, &t->a);
}

/* ---- Q6: a done that is not owed ---- */

static void done_by_a_stranger(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q6 */
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	add(t, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_core_done(&t->core, &t->y, &t->a, 0), -EPERM);
	KUNIT_EXPECT_EQ(test, t->a.state, PROCESSING | DIRTY);
	KUNIT_EXPECT_PTR_EQ(test, t->a.holder, &t->x);
	EXPECT_NRS(test, t, 0, 0, 1);
	KUNIT_EXPECT_EQ(test, done(t, &t->a), KWQ_REQUEUED);
}

/* ---- Q7: the length ---- */

static void length_counts_ready_items(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q7 */
	add(t, &t->a);
	add(t, &t->b);
	add(t, &t->c);
	add_at(t, &t->d, 10);
	add_at(t, &t->c, 10);
	EXPECT_NRS(test, t, 3, 2, 0);
	EXPECT_GET(test, t, &t->a);
	EXPECT_NRS(test, t, 2, 2, 1);
	add(t, &t->a);
	EXPECT_NRS(test, t, 2, 2, 1);
	done(t, &t->a);
	EXPECT_NRS(test, t, 3, 2, 0);
}

/* ---- Q8: shut down ---- */

static void shut_down_hands_out_what_is_ready(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q8 */
	add(t, &t->a);
	add(t, &t->b);
	kwq_core_shut_down(&t->core, true);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, NULL);
}

static void shut_down_drops_what_is_waiting(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q8 */
	add_at(t, &t->a, 20);
	add_at(t, &t->b, 10);
	add(t, &t->c);
	add_at(t, &t->c, 15);
	kwq_core_shut_down(&t->core, true);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_drop(&t->core), &t->b);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_drop(&t->core), &t->c);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_drop(&t->core), &t->a);
	KUNIT_EXPECT_NULL(test, kwq_core_drop(&t->core));
	KWQ_EXPECT_METRIC(test, t, dropped, 3);

	/* Only the times are gone: c is still ready. */
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->b));
	KUNIT_EXPECT_EQ(test, t->c.state, READY);
	EXPECT_NRS(test, t, 1, 0, 0);
}

static void drained_when_all_is_done(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q9 */
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	add(t, &t->a);
	KUNIT_EXPECT_FALSE(test, kwq_core_is_drained(&t->core));
	kwq_core_shut_down(&t->core, true);
	KUNIT_EXPECT_FALSE(test, kwq_core_is_drained(&t->core));
	/* Nothing is processing. Here client-go would leave a in the queue. */
	done(t, &t->a);
	KUNIT_EXPECT_FALSE(test, kwq_core_is_drained(&t->core));
	EXPECT_GET(test, t, &t->a);
	KUNIT_EXPECT_FALSE(test, kwq_core_is_drained(&t->core));
	done(t, &t->a);
	KUNIT_EXPECT_TRUE(test, kwq_core_is_drained(&t->core));
}

/* ---- Q11: remove ---- */

static void removed_item_forgets_that_it_was_abandoned(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q11, O1: an add after the remove means a new item. */
	add_prio(t, &t->a, 4);
	EXPECT_GET(test, t, &t->a);
	kwq_core_abandon(&t->core, &t->a, 0);
	kwq_core_remove(&t->core, &t->a);
	add(t, &t->b);
	add(t, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.abandoned, 0);
	KUNIT_EXPECT_EQ(test, t->a.priority, 0);

	/* | b a */
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->a);
}

/* ---- Q12: priorities ---- */

static void higher_priority_comes_first(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q12 */
	add_prio(t, &t->a, -1);
	add(t, &t->b);
	add_prio(t, &t->c, 1);
	add_prio(t, &t->d, KWQ_PRIORITY_MIN);
	add_prio(t, &t->e, KWQ_PRIORITY_MAX);
	EXPECT_GET(test, t, &t->e);
	EXPECT_GET(test, t, &t->c);
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->d);
}

static void all_64_levels(struct kunit *test)
{
	struct core_test *t = test->priv;
	struct kwq_item *items, *item;
	int i, n;

	/* Q12, Q1: two items per level, added in a mixed order. */
	items = kunit_kcalloc(test, 2 * KWQ_NR_PRIORITIES, sizeof(*items),
			      GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, items);
	for (i = 0; i < 2 * KWQ_NR_PRIORITIES; i++) {
		/* 37 and 64 have no common divisor, so each level occurs. */
		n = i * 37 % KWQ_NR_PRIORITIES;
		kwq_item_init(&items[i]);
		add_prio(t, &items[i], KWQ_PRIORITY_MIN + n);
	}
	KUNIT_EXPECT_EQ(test, t->bulk.occupied[KWQ_LANE_FRESH], ~0ULL);

	for (n = KWQ_PRIORITY_MAX; n >= KWQ_PRIORITY_MIN; n--) {
		for (i = 0; i < 2; i++) {
			item = get(t);
			KUNIT_ASSERT_NOT_NULL(test, item);
			KUNIT_EXPECT_EQ(test, item->priority, n);
			KUNIT_EXPECT_EQ(test, (item - items) /
					KWQ_NR_PRIORITIES, i);
		}
	}
	EXPECT_GET(test, t, NULL);
	KUNIT_EXPECT_EQ(test, t->bulk.occupied[KWQ_LANE_FRESH], 0);
}

static void higher_priority_moves_to_the_tail(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q12 */
	add_prio(t, &t->a, 0);
	add_prio(t, &t->b, 3);
	KUNIT_EXPECT_EQ(test, add_prio(t, &t->a, 3), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, t->a.priority, 3);
	KUNIT_EXPECT_EQ(test, t->core.readied, 2);

	/* | b a */
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->a);
}

static void lower_priority_is_ignored(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q12 */
	add_prio(t, &t->a, 3);
	add_prio(t, &t->b, 3);
	KUNIT_EXPECT_EQ(test, add_prio(t, &t->a, -3), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, t->a.priority, 3);
	EXPECT_GET(test, t, &t->a);
}

static void equal_priority_keeps_the_place(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q12 */
	add_prio(t, &t->a, 3);
	add_prio(t, &t->b, 3);
	add_prio(t, &t->a, 3);
	EXPECT_GET(test, t, &t->a);
}

static void unnamed_priority_keeps_the_ready_items(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q12: the default of 0 would be higher. */
	add_prio(t, &t->a, -3);
	KUNIT_EXPECT_EQ(test, add(t, &t->a), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, t->a.priority, -3);
}

static void priority_is_kept_through_a_requeue(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q12 */
	add_prio(t, &t->a, 7);
	EXPECT_GET(test, t, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, 7);
	add(t, &t->a);
	done(t, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, 7);
	EXPECT_GET(test, t, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, 7);
}

static void requeue_can_name_a_lower_priority(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q12: the new add keeps its priority; that of the run stays the same. */
	add_prio(t, &t->a, 7);
	EXPECT_GET(test, t, &t->a);
	KUNIT_EXPECT_EQ(test, add_prio(t, &t->a, -7), KWQ_DIRTIED);
	KUNIT_EXPECT_EQ(test, t->a.priority, 7);
	done(t, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, -7);
}

static void pending_add_keeps_the_highest(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q12 */
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	add_prio(t, &t->a, 2);
	add_prio(t, &t->a, 5);
	add_prio(t, &t->a, 3);
	add(t, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, 0);
	done(t, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, 5);
}

static void unnamed_pending_add_counts_as_the_runs(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q12 */
	add_prio(t, &t->a, 7);
	EXPECT_GET(test, t, &t->a);
	add(t, &t->a);
	add_prio(t, &t->a, -7);
	done(t, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, 7);
}

static void finished_item_forgets_its_priority(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q12: an add without a priority means 0. */
	add_prio(t, &t->a, 7);
	EXPECT_GET(test, t, &t->a);
	done(t, &t->a);
	add(t, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, 0);
}

static void waits_priority_counts_when_it_is_due(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q12, D3 */
	add_prio(t, &t->a, 1);
	add_prio(t, &t->b, 3);
	add_at_prio(t, &t->a, 10, 5);
	KUNIT_EXPECT_EQ(test, t->a.priority, 1);
	EXPECT_EXPIRE(test, t, 10, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, 5);
	EXPECT_GET(test, t, &t->a);
}

static void waits_priority_can_only_raise(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q12, D3 */
	add_at_prio(t, &t->a, 10, -5);
	add_prio(t, &t->a, 1);
	EXPECT_EXPIRE(test, t, 10, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, 1);
}

static void unnamed_add_takes_the_waits_priority(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q12: the priority of the wait is the only one that the item has. */
	add_at_prio(t, &t->a, 10, 9);
	KUNIT_EXPECT_EQ(test, add(t, &t->a), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, t->a.priority, 9);
}

static void unnamed_wait_takes_the_items_priority(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q12: a retry after a delay has the priority of the run. */
	add_prio(t, &t->a, 9);
	EXPECT_GET(test, t, &t->a);
	add_at(t, &t->a, 10);
	done(t, &t->a);
	EXPECT_EXPIRE(test, t, 10, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, 9);
}

static void unnamed_wait_of_a_new_item_is_0(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q12 */
	add_at(t, &t->a, 10);
	EXPECT_EXPIRE(test, t, 10, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, 0);
}

/* ---- D1: a time ---- */

static void item_is_ready_when_its_time_comes(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D1 */
	KUNIT_EXPECT_EQ(test, add_at(t, &t->a, 10), KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, t->a.state, WAITING);
	KUNIT_EXPECT_EQ(test, kwq_core_next_time(&t->core), 10);
	EXPECT_NRS(test, t, 0, 1, 0);
	EXPECT_GET(test, t, NULL);

	EXPECT_EXPIRE(test, t, 10, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 10);
	KUNIT_EXPECT_EQ(test, t->a.state, READY);
	KUNIT_EXPECT_EQ(test, kwq_core_next_time(&t->core), KTIME_MAX);
	EXPECT_NRS(test, t, 1, 0, 0);
	EXPECT_GET(test, t, &t->a);
}

static void due_item_that_is_processing_is_dirtied(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D1, Q4 */
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	KUNIT_EXPECT_EQ(test, add_at(t, &t->a, 10), KWQ_WAITING);
	EXPECT_EXPIRE(test, t, 10, &t->a);
	KUNIT_EXPECT_EQ(test, t->core.readied, 1);
	KUNIT_EXPECT_EQ(test, t->a.state, PROCESSING | DIRTY);
	KUNIT_EXPECT_EQ(test, done(t, &t->a), KWQ_REQUEUED);
}

/* ---- D9: the start of a wait ---- */

static void expect_waiting_since(struct kunit *test, const struct core_test *t, ktime_t since)
{
	KUNIT_EXPECT_EQ(test, kwq_core_waiting_since(&t->core, &t->a), since);
}

static void start_of_a_wait_stays(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D9, D3: whatever else happens to the item, and when its time changes. */
	kwq_core_add_at(&t->core, &t->a, NONE, 100, KWQ_WAIT_EARLIER, 10);
	expect_waiting_since(test, t, 10);
	kwq_core_add_at(&t->core, &t->a, NONE, 200, KWQ_WAIT_REPLACE, 20);
	expect_waiting_since(test, t, 10);
	kwq_core_add(&t->core, &t->a, NONE, false, 30);
	expect_waiting_since(test, t, 10);
	KUNIT_EXPECT_PTR_EQ(test, kwq_test_get(&t->core, &t->x, 40), &t->a);
	expect_waiting_since(test, t, 10);
	kwq_core_add(&t->core, &t->a, NONE, false, 50);
	expect_waiting_since(test, t, 10);
	KUNIT_EXPECT_EQ(test, kwq_core_done(&t->core, &t->x, &t->a, 60),
			KWQ_REQUEUED | KWQ_STILL_WAITING);
	expect_waiting_since(test, t, 10);
	KUNIT_EXPECT_PTR_EQ(test, kwq_test_get(&t->core, &t->x, 70), &t->a);
	kwq_core_unget(&t->core, &t->a);
	expect_waiting_since(test, t, 10);
	KUNIT_EXPECT_PTR_EQ(test, kwq_test_get(&t->core, &t->x, 80), &t->a);
	kwq_core_abandon(&t->core, &t->a, 90);
	expect_waiting_since(test, t, 10);
	KUNIT_EXPECT_PTR_EQ(test, kwq_test_get(&t->core, &t->x, 95), &t->a);
	KUNIT_EXPECT_EQ(test, kwq_core_done(&t->core, &t->x, &t->a, 99), KWQ_STILL_WAITING);
	expect_waiting_since(test, t, 10);

	/* K3: a cancelled queue drops its times later, after it has lost a holder. */
	kwq_core_add(&t->core, &t->a, NONE, false, 110);
	KUNIT_EXPECT_PTR_EQ(test, kwq_test_get(&t->core, &t->x, 120), &t->a);
	kwq_core_shut_down(&t->core, true);
	kwq_core_cancel_all(&t->core);
	KUNIT_EXPECT_EQ(test, kwq_core_abandon(&t->core, &t->a, 130), KWQ_FINISHED);
	expect_waiting_since(test, t, 10);
}

static void next_wait_starts_anew(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D9: a wait that begins during the processing, and goes on after it. */
	kwq_core_add_at(&t->core, &t->a, NONE, 20, KWQ_WAIT_EARLIER, 10);
	EXPECT_EXPIRE(test, t, 20, &t->a);
	KUNIT_EXPECT_PTR_EQ(test, kwq_test_get(&t->core, &t->x, 30), &t->a);
	kwq_core_add_at(&t->core, &t->a, NONE, 100, KWQ_WAIT_EARLIER, 40);
	/* A small core knows only the time of the hand-out. */
	expect_waiting_since(test, t, kwq_core_is_small(&t->core) ? 30 : 40);
	kwq_core_done(&t->core, &t->x, &t->a, 50);
	expect_waiting_since(test, t, kwq_core_is_small(&t->core) ? 30 : 40);
}

/* Postpones the wait to @after from @now, but not beyond @at_most from its first add. */
static int add_debounced(struct core_test *t, ktime_t now, ktime_t after, u64 at_most)
{
	ktime_t latest = kwq_core_latest(&t->core, &t->a, at_most, now);

	return kwq_core_add_at(&t->core, &t->a, NONE, min(now + after, latest), KWQ_WAIT_REPLACE,
			       now);
}

static void burst_is_one_item(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D9: after the last add, but at most so long after the first one. */
	KUNIT_EXPECT_EQ(test, add_debounced(t, 100, 10, 25), KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 110);
	KUNIT_EXPECT_EQ(test, add_debounced(t, 109, 10, 25), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 119);
	KUNIT_EXPECT_EQ(test, add_debounced(t, 118, 10, 25), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 125);
	KUNIT_EXPECT_EQ(test, add_debounced(t, 124, 10, 25), KWQ_COALESCED);
	EXPECT_EXPIRE(test, t, 124, NULL);
	EXPECT_EXPIRE(test, t, 125, &t->a);
	EXPECT_NRS(test, t, 1, 0, 0);
}

static void quiet_time_ends_a_burst(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D9: the next burst has a bound of its own */
	add_debounced(t, 100, 10, 25);
	EXPECT_EXPIRE(test, t, 110, &t->a);
	KUNIT_EXPECT_EQ(test, add_debounced(t, 120, 10, 25), KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, add_debounced(t, 129, 10, 25), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 139);
}

static void bound_that_has_passed(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D9: of another add, whose wait was longer, or of a shorter bound */
	KUNIT_EXPECT_EQ(test, add_at(t, &t->a, 1000), KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, add_debounced(t, 50, 10, 30), KWQ_ADDED);
	EXPECT_NRS(test, t, 1, 0, 0);
}

static void debounce_of_a_processing_item(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D9 D3: a wait is independent of the processing, and of the dirty mark */
	kwq_core_add(&t->core, &t->a, NONE, false, 0);
	KUNIT_EXPECT_PTR_EQ(test, kwq_test_get(&t->core, &t->x, 0), &t->a);
	KUNIT_EXPECT_EQ(test, add_debounced(t, 0, 10, 15), KWQ_WAITING);
	kwq_core_add(&t->core, &t->a, NONE, false, 5);
	KUNIT_EXPECT_EQ(test, add_debounced(t, 9, 10, 15), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 15);
	/* When the time comes, the item is dirty still, so there is one more run only. */
	EXPECT_EXPIRE(test, t, 15, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_core_done(&t->core, &t->x, &t->a, 20), KWQ_REQUEUED);
	KUNIT_EXPECT_PTR_EQ(test, kwq_test_get(&t->core, &t->x, 20), &t->a);
	KUNIT_EXPECT_EQ(test, kwq_core_done(&t->core, &t->x, &t->a, 20), KWQ_FINISHED);
}

static void debounce_of_a_ready_item(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D9 D3: when the time comes, the item is ready still, so its time coalesces */
	kwq_core_add(&t->core, &t->a, NONE, false, 0);
	KUNIT_EXPECT_EQ(test, add_debounced(t, 0, 10, 15), KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, add_debounced(t, 9, 10, 15), KWQ_COALESCED);
	EXPECT_EXPIRE(test, t, 15, &t->a);
	EXPECT_NRS(test, t, 1, 0, 0);
	KUNIT_EXPECT_PTR_EQ(test, kwq_test_get(&t->core, &t->x, 15), &t->a);
	KUNIT_EXPECT_EQ(test, kwq_core_done(&t->core, &t->x, &t->a, 15), KWQ_FINISHED);
}

static void latest_time_saturates(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D9 D7 */
	KUNIT_EXPECT_EQ(test, kwq_core_latest(&t->core, &t->a, 5, 10), 15);
	KUNIT_EXPECT_EQ(test, kwq_core_latest(&t->core, &t->a, U64_MAX, 0), KTIME_MAX);
	KUNIT_EXPECT_EQ(test, kwq_core_latest(&t->core, &t->a, KTIME_MAX, 1), KTIME_MAX);
	KUNIT_EXPECT_EQ(test, kwq_core_latest(&t->core, &t->a, KTIME_MAX, 0), KTIME_MAX);
	KUNIT_EXPECT_EQ(test, kwq_core_latest(&t->core, &t->a, KTIME_MAX - 2, 1), KTIME_MAX - 1);
	KUNIT_EXPECT_EQ(test, kwq_core_latest(&t->core, &t->a, 1, KTIME_MAX), KTIME_MAX);
}

/* ---- D2: a second time ---- */

static const struct policy_case {
	const char *desc;
	enum kwq_wait_policy policy;
	ktime_t first;
	ktime_t second;
	ktime_t expected;
} policy_cases[] = {
	{ "earlier, then an earlier one", KWQ_WAIT_EARLIER, 20, 10, 10 },
	{ "earlier, then a later one", KWQ_WAIT_EARLIER, 20, 30, 20 },
	{ "earlier, then the same", KWQ_WAIT_EARLIER, 20, 20, 20 },
	{ "replace, then an earlier one", KWQ_WAIT_REPLACE, 20, 10, 10 },
	{ "replace, then a later one", KWQ_WAIT_REPLACE, 20, 30, 30 },
	{ "replace, then the same", KWQ_WAIT_REPLACE, 20, 20, 20 },
	{ "keep, then an earlier one", KWQ_WAIT_KEEP, 20, 10, 20 },
	{ "keep, then a later one", KWQ_WAIT_KEEP, 20, 30, 20 },
	{ "keep, then the same", KWQ_WAIT_KEEP, 20, 20, 20 },
	{ "later, then an earlier one", KWQ_WAIT_LATER, 20, 10, 20 },
	{ "later, then a later one", KWQ_WAIT_LATER, 20, 30, 30 },
	{ "later, then the same", KWQ_WAIT_LATER, 20, 20, 20 },
	{ "earlier, with the end of time", KWQ_WAIT_EARLIER, KTIME_MAX, 5, 5 },
	{ "later, with the end of time", KWQ_WAIT_LATER, 5, KTIME_MAX, KTIME_MAX },
};

KUNIT_ARRAY_PARAM_DESC(policy, policy_cases, desc);

static void second_time(struct kunit *test)
{
	const struct policy_case *p = test->param_value;
	struct core_test *t = test->priv;

	/* D2 */
	KUNIT_EXPECT_EQ(test, add_at(t, &t->a, p->first), KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_core_add_at(&t->core, &t->a, NONE, p->second,
					      p->policy, 0), KWQ_COALESCED);
	EXPECT_NRS(test, t, 0, 1, 0);
	KWQ_EXPECT_METRIC(test, t, coalesced, 1);
	KUNIT_EXPECT_EQ(test, kwq_core_next_time(&t->core), p->expected);

	/* D5: at that time, and not a nanosecond before. */
	EXPECT_EXPIRE(test, t, p->expected - 1, NULL);
	EXPECT_EXPIRE(test, t, p->expected, &t->a);
	EXPECT_EXPIRE(test, t, KTIME_MAX, NULL);
}

static const struct past_case {
	const char *desc;
	enum kwq_wait_policy policy;
	int result;
} past_cases[] = {
	/* The item waits for 20, the time is 10, and an add says 5. */
	{ "earlier: it is due", KWQ_WAIT_EARLIER, KWQ_ADDED },
	{ "replace: it is due", KWQ_WAIT_REPLACE, KWQ_ADDED },
	{ "keep: it waits on", KWQ_WAIT_KEEP, KWQ_COALESCED },
	{ "later: it waits on", KWQ_WAIT_LATER, KWQ_COALESCED },
};

KUNIT_ARRAY_PARAM_DESC(past, past_cases, desc);

static void second_time_has_passed(struct kunit *test)
{
	const struct past_case *p = test->param_value;
	struct core_test *t = test->priv;
	bool due = p->result == KWQ_ADDED;

	/* D2, D1 */
	add_at(t, &t->a, 20);
	KUNIT_EXPECT_EQ(test, kwq_core_add_at(&t->core, &t->a, NONE, 5,
					      p->policy, 10), p->result);
	KUNIT_EXPECT_EQ(test, t->a.state, due ? READY : WAITING);
	EXPECT_NRS(test, t, due, !due, 0);
}

static void replace_can_postpone_what_is_due(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D2: the item was not moved yet, so it is waiting. */
	add_at(t, &t->a, 10);
	KUNIT_EXPECT_EQ(test, kwq_core_add_at(&t->core, &t->a, NONE, 40,
					      KWQ_WAIT_REPLACE, 30),
			KWQ_COALESCED);
	EXPECT_EXPIRE(test, t, 30, NULL);
	EXPECT_EXPIRE(test, t, 40, &t->a);
}

static const struct wait_priority_case {
	const char *desc;
	enum kwq_wait_policy policy;
	int first;
	int second;
	int expected;
} wait_priority_cases[] = {
	{ "earlier, higher", KWQ_WAIT_EARLIER, 1, 5, 5 },
	{ "earlier, lower", KWQ_WAIT_EARLIER, 5, 1, 5 },
	{ "earlier, none", KWQ_WAIT_EARLIER, -5, NONE, -5 },
	{ "earlier, none before", KWQ_WAIT_EARLIER, NONE, 5, 5 },
	{ "earlier, none at all", KWQ_WAIT_EARLIER, NONE, NONE, 0 },
	{ "replace, higher", KWQ_WAIT_REPLACE, 1, 5, 5 },
	{ "replace, lower", KWQ_WAIT_REPLACE, 5, 1, 1 },
	{ "replace, none", KWQ_WAIT_REPLACE, 5, NONE, 5 },
	{ "keep, higher", KWQ_WAIT_KEEP, 1, 5, 5 },
	{ "keep, lower", KWQ_WAIT_KEEP, 5, 1, 5 },
	{ "later, higher", KWQ_WAIT_LATER, 1, 5, 5 },
	{ "later, lower", KWQ_WAIT_LATER, 5, 1, 5 },
};

KUNIT_ARRAY_PARAM_DESC(wait_priority, wait_priority_cases, desc);

static void second_waits_priority(struct kunit *test)
{
	const struct wait_priority_case *p = test->param_value;
	struct core_test *t = test->priv;

	/* D2, Q12 */
	add_at_prio(t, &t->a, 10, p->first);
	kwq_core_add_at(&t->core, &t->a, p->second, 10, p->policy, 0);
	EXPECT_EXPIRE(test, t, 10, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, p->expected);
}

static void unnamed_wait_keeps_what_the_run_has(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D1, Q12: the add has no priority when its time comes, either */
	add_at(t, &t->a, 10);
	add_prio(t, &t->a, 9);
	EXPECT_GET(test, t, &t->a);
	EXPECT_EXPIRE(test, t, 10, &t->a);
	KUNIT_EXPECT_EQ(test, done(t, &t->a), KWQ_REQUEUED);
	KUNIT_EXPECT_EQ(test, t->a.priority, 9);
}

static void unnamed_wait_raises_nothing(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D1, Q12 */
	add_at(t, &t->a, 10);
	add_prio(t, &t->a, -5);
	EXPECT_EXPIRE(test, t, 10, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, -5);
}

static void ended_wait_gives_its_priority(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D3, Q12: the same for a processing item */
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	add_at_prio(t, &t->a, 10, 9);
	KUNIT_EXPECT_EQ(test, kwq_core_add(&t->core, &t->a, NONE, true, 0),
			KWQ_DIRTIED);
	KUNIT_EXPECT_EQ(test, done(t, &t->a), KWQ_REQUEUED);
	KUNIT_EXPECT_EQ(test, t->a.priority, 9);
}

/* ---- D3: waiting is independent ---- */

static void ready_and_waiting(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D3 */
	add_at(t, &t->a, 10);
	KUNIT_EXPECT_EQ(test, add(t, &t->a), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, t->a.state, READY | WAITING);
	EXPECT_GET(test, t, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.state, PROCESSING | WAITING);
	KUNIT_EXPECT_EQ(test, done(t, &t->a), KWQ_STILL_WAITING);
	KUNIT_EXPECT_EQ(test, t->a.state, WAITING);
	EXPECT_EXPIRE(test, t, 10, &t->a);
	EXPECT_GET(test, t, &t->a);
}

static void add_that_ends_a_wait_keeps_its_priority(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D3, Q12 */
	add_at_prio(t, &t->a, 10, 9);
	kwq_core_add(&t->core, &t->a, NONE, true, 0);
	KUNIT_EXPECT_EQ(test, t->a.priority, 9);
}

/* ---- D4: the order of times ---- */

static void times_come_in_order(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D4 */
	add_at(t, &t->a, 30);
	add_at(t, &t->b, 10);
	add_at(t, &t->c, 20);
	KUNIT_EXPECT_EQ(test, kwq_core_next_time(&t->core), 10);
	EXPECT_EXPIRE(test, t, 30, &t->b);
	KUNIT_EXPECT_EQ(test, kwq_core_next_time(&t->core), 20);
	EXPECT_EXPIRE(test, t, 30, &t->c);
	EXPECT_EXPIRE(test, t, 30, &t->a);

	/* | b c a */
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->c);
	EXPECT_GET(test, t, &t->a);
}

static void equal_times_come_in_the_order_of_adds(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D4 */
	add_at(t, &t->b, 10);
	add_at(t, &t->a, 10);
	add_at(t, &t->d, 10);
	add_at(t, &t->c, 10);
	EXPECT_EXPIRE(test, t, 10, &t->b);
	EXPECT_EXPIRE(test, t, 10, &t->a);
	EXPECT_EXPIRE(test, t, 10, &t->d);
	EXPECT_EXPIRE(test, t, 10, &t->c);
}

static void unchanged_time_keeps_its_place(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D4, D2 */
	add_at(t, &t->a, 10);
	add_at(t, &t->b, 10);
	add_at(t, &t->a, 10);
	add_at(t, &t->a, 20);
	EXPECT_EXPIRE(test, t, 10, &t->a);
	EXPECT_EXPIRE(test, t, 10, &t->b);
}

static void changed_time_goes_behind_its_equals(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D4, D2 */
	add_at(t, &t->a, 20);
	add_at(t, &t->b, 10);
	add_at(t, &t->a, 10);
	EXPECT_EXPIRE(test, t, 10, &t->b);
	EXPECT_EXPIRE(test, t, 10, &t->a);
}

static void past_time_goes_behind_overdue_ones(struct kunit *test)
{
	struct core_test *t = test->priv;
	const ktime_t now = 30;

	/* D4: a and b are due, but were not moved yet. */
	add_at(t, &t->a, 10);
	add_at(t, &t->b, 20);
	KUNIT_EXPECT_EQ(test, kwq_core_add_at(&t->core, &t->c, NONE, 15,
					      KWQ_WAIT_EARLIER, now),
			KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_core_add_at(&t->core, &t->d, NONE, 20,
					      KWQ_WAIT_EARLIER, now),
			KWQ_WAITING);
	EXPECT_EXPIRE(test, t, now, &t->a);
	EXPECT_EXPIRE(test, t, now, &t->c);
	EXPECT_EXPIRE(test, t, now, &t->b);
	EXPECT_EXPIRE(test, t, now, &t->d);
}

static void past_time_before_overdue_ones_is_ready(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D4 */
	add_at(t, &t->a, 10);
	KUNIT_EXPECT_EQ(test, kwq_core_add_at(&t->core, &t->b, NONE, 5,
					      KWQ_WAIT_EARLIER, 30),
			KWQ_ADDED);
	EXPECT_EXPIRE(test, t, 30, &t->a);

	/* | b a */
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->a);
}

/* ---- D5: never early ---- */

static const struct time_case {
	const char *desc;
	ktime_t when;
} time_cases[] = {
	{ "1 ns", 1 },
	{ "1 s", NSEC_PER_SEC },
	{ "2^31", 1LL << 31 },
	{ "2^32 - 1", (1LL << 32) - 1 },
	{ "2^32", 1LL << 32 },
	{ "2^62", 1LL << 62 },
	{ "the last but one", KTIME_MAX - 1 },
	{ "the end of time", KTIME_MAX },
};

KUNIT_ARRAY_PARAM_DESC(time, time_cases, desc);

static void not_a_nanosecond_early(struct kunit *test)
{
	const struct time_case *p = test->param_value;
	struct core_test *t = test->priv;

	/* D5 */
	KUNIT_EXPECT_EQ(test, kwq_core_add_at(&t->core, &t->a, NONE, p->when,
					      KWQ_WAIT_EARLIER, p->when - 1),
			KWQ_WAITING);
	EXPECT_EXPIRE(test, t, 0, NULL);
	EXPECT_EXPIRE(test, t, p->when - 1, NULL);
	KUNIT_EXPECT_EQ(test, kwq_core_next_time(&t->core), p->when);
	EXPECT_EXPIRE(test, t, p->when, &t->a);
}

static void only_what_is_due(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D5 */
	add_at(t, &t->a, 10);
	add_at(t, &t->b, 11);
	EXPECT_EXPIRE(test, t, 10, &t->a);
	EXPECT_EXPIRE(test, t, 10, NULL);
	EXPECT_NRS(test, t, 1, 1, 0);
	EXPECT_EXPIRE(test, t, 11, &t->b);
}

/* ---- D7: the end of time ---- */

static void end_of_time_is_a_time(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D7, D4: in order, behind all other times. */
	add_at(t, &t->a, KTIME_MAX);
	add_at(t, &t->b, KTIME_MAX);
	add_at(t, &t->c, KTIME_MAX - 1);
	KUNIT_EXPECT_EQ(test, kwq_core_next_time(&t->core), KTIME_MAX - 1);
	EXPECT_EXPIRE(test, t, KTIME_MAX - 1, &t->c);
	EXPECT_EXPIRE(test, t, KTIME_MAX - 1, NULL);
	EXPECT_EXPIRE(test, t, KTIME_MAX, &t->a);
	EXPECT_EXPIRE(test, t, KTIME_MAX, &t->b);
}

static void end_of_time_can_be_now(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* D7, D1 */
	KUNIT_EXPECT_EQ(test, kwq_core_add_at(&t->core, &t->a, NONE, KTIME_MAX,
					      KWQ_WAIT_EARLIER, KTIME_MAX),
			KWQ_ADDED);
}

/* ---- O1: lost holders ---- */

static void abandoned_item_is_ready_again(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* O1 */
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	kwq_core_abandon(&t->core, &t->a, 0);
	KUNIT_EXPECT_EQ(test, t->a.state, READY);
	KUNIT_EXPECT_EQ(test, t->a.abandoned, 1);
	KWQ_EXPECT_METRIC(test, t, abandoned, 1);
	KUNIT_EXPECT_EQ(test, t->core.readied, 2);
	KUNIT_EXPECT_EQ(test, t->x.nr_held, 0);
	EXPECT_NRS(test, t, 1, 0, 0);
	KUNIT_EXPECT_PTR_EQ(test, kwq_test_get(&t->core, &t->y, 0), &t->a);
	KUNIT_EXPECT_EQ(test, done(t, &t->a), -EPERM);
	KUNIT_EXPECT_EQ(test, kwq_core_done(&t->core, &t->y, &t->a, 0),
			KWQ_FINISHED);
}

static void abandoned_item_is_ahead_of_fresh_ones(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* O1 */
	add(t, &t->a);
	add(t, &t->b);
	EXPECT_GET(test, t, &t->a);
	kwq_core_abandon(&t->core, &t->a, 0);

	/* a | b */
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->b);
}

static void abandoned_items_come_in_the_order_given_back(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* O1 */
	add(t, &t->a);
	add(t, &t->b);
	add(t, &t->c);
	add(t, &t->d);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->c);
	kwq_core_abandon(&t->core, &t->b, 0);
	kwq_core_abandon(&t->core, &t->c, 0);
	kwq_core_abandon(&t->core, &t->a, 0);

	/* b c a | d */
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->c);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->d);
}

static void abandoned_item_is_behind_a_higher_priority(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* O1, Q12: lanes only matter within one priority. */
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	add_prio(t, &t->b, 1);
	add_prio(t, &t->c, -1);
	kwq_core_abandon(&t->core, &t->a, 0);

	/* 1: | b   0: a |   -1: | c */
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->c);
}

static const struct undone_case {
	const char *desc;
	int run;
	int pending;
	int expected;
} undone_cases[] = {
	{ "the pending add's is higher", -2, 3, 3 },
	{ "the run's is higher", 3, -2, 3 },
	{ "both are the same", 3, 3, 3 },
	{ "the pending add named none", 3, NONE, 3 },
	{ "the pending add named none, below 0", -3, NONE, -3 },
};

KUNIT_ARRAY_PARAM_DESC(undone, undone_cases, desc);

static void abandoned_item_has_the_higher_priority(struct kunit *test)
{
	const struct undone_case *p = test->param_value;
	struct core_test *t = test->priv;

	/* O1, Q12 */
	add_prio(t, &t->a, p->run);
	EXPECT_GET(test, t, &t->a);
	add_prio(t, &t->a, p->pending);
	kwq_core_abandon(&t->core, &t->a, 0);
	KUNIT_EXPECT_EQ(test, t->a.priority, p->expected);
}

static void abandoned_item_keeps_its_priority(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* O1, Q12: without a pending add, no old priority counts. */
	add_prio(t, &t->a, 1);
	EXPECT_GET(test, t, &t->a);
	add_prio(t, &t->a, 9);
	done(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	add_prio(t, &t->a, -9);
	done(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	kwq_core_abandon(&t->core, &t->a, 0);
	KUNIT_EXPECT_EQ(test, t->a.priority, -9);
}

static void raised_abandoned_item_stays_returned(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* O1, Q12 */
	add_prio(t, &t->a, 0);
	EXPECT_GET(test, t, &t->a);
	kwq_core_abandon(&t->core, &t->a, 0);
	add_prio(t, &t->b, 5);
	KUNIT_EXPECT_EQ(test, add_prio(t, &t->a, 5), KWQ_COALESCED);

	/* 5: a | b */
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->b);
}

static void abandonments_add_up_until_done(struct kunit *test)
{
	struct core_test *t = test->priv;
	u32 i;

	/* O1 */
	add(t, &t->a);
	for (i = 1; i <= 3; i++) {
		EXPECT_GET(test, t, &t->a);
		kwq_core_abandon(&t->core, &t->a, 0);
		KUNIT_EXPECT_EQ(test, t->a.abandoned, i);
	}
	EXPECT_GET(test, t, &t->a);
	add(t, &t->a);
	KUNIT_EXPECT_EQ(test, done(t, &t->a), KWQ_REQUEUED);
	KUNIT_EXPECT_EQ(test, t->a.abandoned, 0);
	KWQ_EXPECT_METRIC(test, t, abandoned, 3);
}

static void requeued_item_is_fresh(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* O1: a done counts as usual after the item was given back. */
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	kwq_core_abandon(&t->core, &t->a, 0);
	EXPECT_GET(test, t, &t->a);
	add(t, &t->b);
	add(t, &t->a);
	done(t, &t->a);

	/* | b a */
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->a);
}

static void abandonments_do_not_wrap(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* O1 */
	add(t, &t->a);
	t->a.abandoned = U32_MAX - 1;
	EXPECT_GET(test, t, &t->a);
	kwq_core_abandon(&t->core, &t->a, 0);
	KUNIT_EXPECT_EQ(test, t->a.abandoned, U32_MAX);
	EXPECT_GET(test, t, &t->a);
	kwq_core_abandon(&t->core, &t->a, 0);
	KUNIT_EXPECT_EQ(test, t->a.abandoned, U32_MAX);
}

static void abandoned_item_goes_on_waiting(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* O1, D3 */
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	add_at_prio(t, &t->a, 10, 9);
	kwq_core_abandon(&t->core, &t->a, 0);
	KUNIT_EXPECT_EQ(test, t->a.state, READY | WAITING);
	KUNIT_EXPECT_EQ(test, t->a.priority, 0);
	EXPECT_EXPIRE(test, t, 10, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, 9);
}

/* ---- O2: hand-outs undone ---- */

static void undone_item_is_first_again(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* O2 */
	add(t, &t->a);
	add(t, &t->b);
	EXPECT_GET(test, t, &t->a);
	add(t, &t->c);
	kwq_core_unget(&t->core, &t->a);

	/* | a b c */
	KUNIT_EXPECT_EQ(test, t->x.nr_held, 0);
	EXPECT_NRS(test, t, 3, 0, 0);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->c);
}

static void undone_items_are_where_they_were(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* O2: the last first */
	add(t, &t->a);
	add_prio(t, &t->b, 2);
	add(t, &t->c);
	add(t, &t->d);
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->c);
	kwq_core_unget(&t->core, &t->c);
	kwq_core_unget(&t->core, &t->a);
	kwq_core_unget(&t->core, &t->b);

	/* 2: | b   0: | a c d */
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->c);
	EXPECT_GET(test, t, &t->d);
}

static void undone_items_go_back_to_their_lanes(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* O2, O1 */
	add(t, &t->a);
	add(t, &t->b);
	add(t, &t->c);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->b);
	kwq_core_abandon(&t->core, &t->a, 0);
	kwq_core_abandon(&t->core, &t->b, 0);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->c);
	kwq_core_unget(&t->core, &t->c);
	kwq_core_unget(&t->core, &t->b);
	kwq_core_unget(&t->core, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.abandoned, 1);
	KUNIT_EXPECT_EQ(test, t->c.abandoned, 0);

	/* a b | c */
	KUNIT_EXPECT_EQ(test, t->a.lane, KWQ_LANE_RETURNED);
	KUNIT_EXPECT_EQ(test, t->b.lane, KWQ_LANE_RETURNED);
	KUNIT_EXPECT_EQ(test, t->c.lane, KWQ_LANE_FRESH);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->c);
}

static void undone_item_is_no_hand_out(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* O2: neither counted nor abandoned, but a getter has to be woken. */
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	KWQ_EXPECT_METRIC(test, t, gets, 1);
	kwq_core_unget(&t->core, &t->a);
	KWQ_EXPECT_METRIC(test, t, gets, 0);
	KWQ_EXPECT_METRIC(test, t, abandoned, 0);
	KUNIT_EXPECT_EQ(test, t->a.abandoned, 0);
	KUNIT_EXPECT_EQ(test, t->core.readied, 2);
}

static void undone_item_is_merged_with_its_pending_add(struct kunit *test)
{
	const struct undone_case *p = test->param_value;
	struct core_test *t = test->priv;

	/* O2, Q12 */
	add_prio(t, &t->a, p->run);
	EXPECT_GET(test, t, &t->a);
	add_prio(t, &t->a, p->pending);
	kwq_core_unget(&t->core, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.state, READY);
	KUNIT_EXPECT_EQ(test, t->a.priority, p->expected);
	EXPECT_GET(test, t, &t->a);
	KUNIT_EXPECT_EQ(test, done(t, &t->a), KWQ_FINISHED);
}

static void undone_item_that_rose_goes_to_the_tail(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* O2, Q12: [ b 5, a 5 ] */
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	add_prio(t, &t->b, 5);
	add_prio(t, &t->a, 5);
	kwq_core_unget(&t->core, &t->a);
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->a);
}

/* ---- C1 to C10: as client-go, and not as controller-runtime ---- */

static void dirty_key_is_not_in_the_length(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* C1 */
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	add(t, &t->a);
	KUNIT_EXPECT_EQ(test, t->core.nr_ready, 0);
}

static void key_added_again_has_its_place_at_its_done(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* C2 */
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	add(t, &t->a);
	add(t, &t->b);
	done(t, &t->a);
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->a);
}

static void get_after_shut_down_returns_what_is_ready(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* C3 */
	add(t, &t->a);
	kwq_core_shut_down(&t->core, true);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, NULL);
}

static void get_after_shut_down_returns_what_was_added_before(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* C4 */
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	add(t, &t->a);
	kwq_core_shut_down(&t->core, true);
	KUNIT_EXPECT_EQ(test, done(t, &t->a), KWQ_REQUEUED);
	EXPECT_GET(test, t, &t->a);
}

static void drain_waits_for_the_done(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* C5 */
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	kwq_core_shut_down(&t->core, true);
	KUNIT_EXPECT_FALSE(test, kwq_core_is_drained(&t->core));
	done(t, &t->a);
	KUNIT_EXPECT_TRUE(test, kwq_core_is_drained(&t->core));
}

static void add_leaves_a_delay_pending(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* C6 */
	KUNIT_EXPECT_EQ(test, add_at(t, &t->a, 10), KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, add(t, &t->a), KWQ_ADDED);
	EXPECT_GET(test, t, &t->a);
	KUNIT_EXPECT_EQ(test, done(t, &t->a), KWQ_STILL_WAITING);
	EXPECT_GET(test, t, NULL);
	EXPECT_EXPIRE(test, t, 10, &t->a);
	EXPECT_GET(test, t, &t->a);

	/* Unless the add asks to end the wait. */
	add_at(t, &t->b, 10);
	kwq_core_add(&t->core, &t->b, NONE, true, 0);
	EXPECT_GET(test, t, &t->b);
	done(t, &t->b);
	EXPECT_EXPIRE(test, t, 10, NULL);
	EXPECT_GET(test, t, NULL);
}

static void delay_of_a_ready_key_is_kept(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* C7 */
	add(t, &t->a);
	KUNIT_EXPECT_EQ(test, add_at(t, &t->a, 10), KWQ_WAITING);
	EXPECT_GET(test, t, &t->a);
	done(t, &t->a);
	EXPECT_GET(test, t, NULL);
	EXPECT_EXPIRE(test, t, 10, &t->a);
	EXPECT_GET(test, t, &t->a);
}

static void waiting_key_has_no_place(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* C8 */
	add_at(t, &t->a, 10);
	add(t, &t->b);
	add(t, &t->a);
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->a);
}

static void default_limiter_is_of_each_item(struct kunit *test)
{
	struct core_test *t = test->priv;
	struct kwq_item *items;
	int i;

	/* C9 */
	items = kunit_kcalloc(test, 101, sizeof(*items), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, items);
	for (i = 0; i < 101; i++) {
		kwq_item_init(&items[i]);
		kwq_core_add_rate_limited(&t->core, &items[i], NONE, KWQ_WAIT_EARLIER, 0, 0);
		KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &items[i]),
				5 * NSEC_PER_MSEC);
	}
	/* Remove the items before the core is checked. */
	for (i = 0; i < 101; i++)
		kwq_core_remove(&t->core, &items[i]);
}

/* ---- The counters ---- */

static void counters(struct kunit *test)
{
	struct core_test *t = test->priv;
	struct kwq_core *core = &t->core;
	const struct kwq_bulk *bulk = &t->bulk;

	add(t, &t->a);			/* an add */
	add(t, &t->a);			/* coalesced */
	add_at(t, &t->b, 10);		/* none yet */
	add_at(t, &t->b, 10);		/* coalesced */
	expire(t, 10);			/* an add */
	get(t);				/* a: a get */
	add(t, &t->a);			/* an add */
	add(t, &t->a);			/* coalesced */
	done(t, &t->a);			/* a done */
	get(t);				/* b: a get */
	kwq_core_abandon(core, &t->b, 0);	/* abandoned */
	kwq_core_remove(core, &t->b);	/* removed */
	kwq_core_remove(core, &t->c);	/* was not there */
	done(t, &t->c);			/* was not there */
	add_at(t, &t->d, 10);
	kwq_core_shut_down(core, true);
	add(t, &t->e);			/* refused */
	kwq_core_drop(core);	/* dropped */

	KUNIT_EXPECT_EQ(test, bulk->adds, 3);
	KUNIT_EXPECT_EQ(test, bulk->coalesced, 3);
	KUNIT_EXPECT_EQ(test, bulk->gets, 2);
	KUNIT_EXPECT_EQ(test, bulk->dones, 1);
	KUNIT_EXPECT_EQ(test, bulk->abandoned, 1);
	KUNIT_EXPECT_EQ(test, bulk->removed, 1);
	KUNIT_EXPECT_EQ(test, bulk->dropped, 1);
	/* a, b; a at its done, b given back */
	KUNIT_EXPECT_EQ(test, core->readied, 4);
	/* a */
	EXPECT_NRS(test, t, 1, 0, 0);
}

/* ---- One item, flush and pause ---- */

static int get_item(struct core_test *t, struct kwq_item *item, ktime_t now)
{
	return kwq_core_get_item(&t->core, item, &t->y, now);
}

static void item_is_got_from_any_place(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* K9 Q1: | a b c	the others keep their order */
	add(t, &t->a);
	add(t, &t->b);
	add(t, &t->c);
	KUNIT_EXPECT_EQ(test, get_item(t, &t->b, 0), 0);
	KUNIT_EXPECT_PTR_EQ(test, t->b.holder, &t->y);
	KUNIT_EXPECT_EQ(test, get_item(t, &t->b, 0), -EBUSY);
	add(t, &t->b);
	KUNIT_EXPECT_EQ(test, get_item(t, &t->b, 0), -EBUSY);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->c);
	EXPECT_GET(test, t, NULL);
}

static void waiting_item_is_got_at_once(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* K9 M1: it became dirty just now, so it was not queued for any time, and it is not late */
	add_at_prio(t, &t->a, 100, 7);
	KUNIT_EXPECT_EQ(test, get_item(t, &t->a, 50), 0);
	KUNIT_EXPECT_EQ(test, t->a.priority, 7);
	EXPECT_NRS(test, t, 0, 0, 1);
	KUNIT_EXPECT_TRUE(test, t->core.changed);
	KWQ_EXPECT_METRIC(test, t, adds, 1);
	KWQ_EXPECT_METRIC(test, t, gets, 1);
	KUNIT_EXPECT_EQ(test, t->bulk.queue_duration.counts[0], 1);
	KUNIT_EXPECT_EQ(test, t->bulk.queue_duration.sum, 0);
	KUNIT_EXPECT_EQ(test, t->bulk.lateness.counts[0], 0);
	EXPECT_EXPIRE(test, t, 200, NULL);
}

static void ready_item_was_queued_since_its_add(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* K9 M1: it waits, too, and one hand-out serves both */
	add(t, &t->a);
	add_at(t, &t->a, 100);
	KUNIT_EXPECT_EQ(test, get_item(t, &t->a, 50), 0);
	KUNIT_EXPECT_EQ(test, t->bulk.queue_duration.sum, 50);
	KUNIT_EXPECT_EQ(test, kwq_core_done(&t->core, &t->y, &t->a, 60), KWQ_FINISHED);
	EXPECT_NRS(test, t, 0, 0, 0);
}

static void idle_or_dead_item_is_not_got(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* K9 */
	KUNIT_EXPECT_EQ(test, get_item(t, &t->a, 0), -ENOENT);
	kwq_core_give_up(&t->core, &t->a, 0);
	KUNIT_EXPECT_EQ(test, get_item(t, &t->a, 0), -ENOENT);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_dead(&t->a));
}

static void expedited_item_has_the_priority_of_its_add(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* K9 Q12 */
	add(t, &t->b);
	add_at_prio(t, &t->a, 100, 7);
	KUNIT_EXPECT_EQ(test, kwq_core_expedite(&t->core, &t->a, 50), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, t->bulk.lateness.counts[0], 0);
	EXPECT_GET(test, t, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, 7);
	KUNIT_EXPECT_EQ(test, kwq_core_expedite(&t->core, &t->a, 50), -ENOENT);
	EXPECT_EXPIRE(test, t, 200, NULL);
}

static void pending_item_coalesces_as_it_is(struct kunit *test)
{
	struct core_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, kwq_core_coalesce(&t->core, &t->a), 0);
	add_at_prio(t, &t->a, 100, 7);
	KUNIT_EXPECT_EQ(test, kwq_core_coalesce(&t->core, &t->a), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 100);
	add(t, &t->b);
	KUNIT_EXPECT_EQ(test, kwq_core_coalesce(&t->core, &t->b), KWQ_COALESCED);
	EXPECT_GET(test, t, &t->b);
	KUNIT_EXPECT_EQ(test, kwq_core_coalesce(&t->core, &t->b), 0);
	add(t, &t->b);
	KUNIT_EXPECT_EQ(test, kwq_core_coalesce(&t->core, &t->b), KWQ_DIRTY);
	KWQ_EXPECT_METRIC(test, t, coalesced, 3);
	kwq_core_shut_down(&t->core, true);
	KUNIT_EXPECT_EQ(test, kwq_core_coalesce(&t->core, &t->b), -ESHUTDOWN);
}

/* The present flush still waits for @before dirty marks and runs, and @flushes have ended. */
#define EXPECT_FLUSH(test, t, before, ended)				\
do {									\
	KUNIT_EXPECT_EQ(test, (t)->core.nr_before, before);		\
	KUNIT_EXPECT_EQ(test, (t)->core.flushes, ended);		\
} while (0)

static void flush_counts_what_was_queued_before(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* K9: processing and dirty, ready, waiting; later ones do not count */
	kwq_core_begin_flush(&t->core);
	EXPECT_FLUSH(test, t, 0, 1);
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	add(t, &t->a);
	add(t, &t->b);
	add_at(t, &t->c, 10);
	kwq_core_begin_flush(&t->core);
	EXPECT_FLUSH(test, t, 3, 1);
	add(t, &t->d);
	add(t, &t->b);
	EXPECT_EXPIRE(test, t, 10, &t->c);
	done(t, &t->a);
	EXPECT_FLUSH(test, t, 2, 1);
	EXPECT_GET(test, t, &t->b);
	add(t, &t->b);
	done(t, &t->b);
	EXPECT_FLUSH(test, t, 1, 1);
	EXPECT_GET(test, t, &t->d);
	done(t, &t->d);
	EXPECT_GET(test, t, &t->c);
	done(t, &t->c);
	EXPECT_FLUSH(test, t, 1, 1);
	t->core.changed = false;
	EXPECT_GET(test, t, &t->a);
	done(t, &t->a);
	EXPECT_FLUSH(test, t, 0, 2);
	KUNIT_EXPECT_TRUE(test, t->core.changed);
	/* The next flush has the first colour again. */
	kwq_core_begin_flush(&t->core);
	EXPECT_FLUSH(test, t, 1, 2);
	EXPECT_GET(test, t, &t->b);
	done(t, &t->b);
	EXPECT_FLUSH(test, t, 0, 3);
}

static void flush_ends_however_its_items_end(struct kunit *test)
{
	static const struct kwq_limiter_config config = {
		.dead_after_lost = 1,
	};
	struct core_test *t = test->priv;

	/* K9: removed while ready, while dirty; cancelled; given up; lost too often */
	kwq_test_limit(test, &t->core.limiter, &config, 0);
	add(t, &t->b);
	EXPECT_GET(test, t, &t->b);
	add(t, &t->b);
	add(t, &t->c);
	EXPECT_GET(test, t, &t->c);
	add(t, &t->d);
	EXPECT_GET(test, t, &t->d);
	add(t, &t->e);
	EXPECT_GET(test, t, &t->e);
	add(t, &t->a);
	kwq_core_begin_flush(&t->core);
	EXPECT_FLUSH(test, t, 6, 0);
	kwq_core_remove(&t->core, &t->a);
	EXPECT_FLUSH(test, t, 5, 0);
	kwq_core_remove(&t->core, &t->b);
	EXPECT_FLUSH(test, t, 4, 0);
	done(t, &t->b);
	EXPECT_FLUSH(test, t, 3, 0);
	kwq_core_disable(&t->core, &t->c);
	EXPECT_FLUSH(test, t, 3, 0);
	kwq_core_unget(&t->core, &t->c);
	EXPECT_FLUSH(test, t, 2, 0);
	kwq_core_give_up(&t->core, &t->d, 0);
	done(t, &t->d);
	EXPECT_FLUSH(test, t, 1, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_abandon(&t->core, &t->e, 0), KWQ_DEAD);
	EXPECT_FLUSH(test, t, 0, 1);
}

static void flush_ends_when_its_queue_is_cancelled(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* K9 K3 */
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	add(t, &t->a);
	kwq_core_begin_flush(&t->core);
	kwq_core_shut_down(&t->core, true);
	kwq_core_cancel_all(&t->core);
	EXPECT_FLUSH(test, t, 2, 0);
	done(t, &t->a);
	EXPECT_FLUSH(test, t, 0, 1);
}

static void flush_waits_for_items_that_come_back(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* K9 O1 O2: not dirty, added after the flush began, and added before */
	add(t, &t->a);
	add(t, &t->b);
	add(t, &t->c);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->c);
	add(t, &t->c);
	kwq_core_begin_flush(&t->core);
	EXPECT_FLUSH(test, t, 4, 0);
	add(t, &t->b);
	kwq_core_unget(&t->core, &t->a);
	EXPECT_FLUSH(test, t, 4, 0);
	kwq_core_abandon(&t->core, &t->b, 0);
	EXPECT_FLUSH(test, t, 4, 0);
	kwq_core_abandon(&t->core, &t->c, 0);
	EXPECT_FLUSH(test, t, 3, 0);
	EXPECT_GET(test, t, &t->b);
	done(t, &t->b);
	EXPECT_GET(test, t, &t->c);
	done(t, &t->c);
	EXPECT_GET(test, t, &t->a);
	/* A run that began after the flush comes back as one. */
	add(t, &t->d);
	EXPECT_GET(test, t, &t->d);
	kwq_core_unget(&t->core, &t->d);
	EXPECT_FLUSH(test, t, 1, 0);
	done(t, &t->a);
	EXPECT_FLUSH(test, t, 0, 1);
}

static void awaited_run_ends_once(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* K9: whatever ends it, and the next run is another */
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	t->a.marks |= KWQ_MARK_AWAITED;
	t->core.changed = false;
	kwq_core_unget(&t->core, &t->a);
	KUNIT_EXPECT_TRUE(test, t->core.ended);
	KUNIT_EXPECT_TRUE(test, t->core.changed);
	t->core.ended = false;
	EXPECT_GET(test, t, &t->a);
	done(t, &t->a);
	KUNIT_EXPECT_FALSE(test, t->core.ended);
}

static void paused_queue_hands_nothing_out(struct kunit *test)
{
	struct core_test *t = test->priv;

	/* Q14: adds, dones and delays go on */
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	add(t, &t->a);
	kwq_core_pause(&t->core);
	kwq_core_pause(&t->core);
	add_at(t, &t->b, 10);
	KUNIT_EXPECT_EQ(test, done(t, &t->a), KWQ_REQUEUED);
	EXPECT_EXPIRE(test, t, 10, &t->b);
	EXPECT_GET(test, t, NULL);
	KUNIT_EXPECT_FALSE(test, kwq_core_can_get(&t->core));
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_first_ready(&t->core), &t->a);
	KUNIT_EXPECT_EQ(test, get_item(t, &t->b, 0), 0);
	KUNIT_EXPECT_FALSE(test, kwq_core_resume(&t->core));
	EXPECT_GET(test, t, NULL);
	KUNIT_EXPECT_TRUE(test, kwq_core_resume(&t->core));
	KUNIT_EXPECT_TRUE(test, kwq_core_can_get(&t->core));
	EXPECT_GET(test, t, &t->a);
}

/* ---- Q20: the term of a large core ---- */

static void term_is_a_pause_of_its_own(struct kunit *test)
{
	struct core_test *t = test->priv;
	int i;

	/* Q14 Q20: neither ends the other. */
	add(t, &t->a);
	kwq_core_mark_term(&t->core, KWQ_TERM_OVER);
	KUNIT_EXPECT_FALSE(test, kwq_core_can_get(&t->core));
	KUNIT_EXPECT_NULL(test, kwq_core_peek(&t->core, 0));
	kwq_core_pause(&t->core);
	KUNIT_EXPECT_FALSE(test, kwq_core_resume(&t->core));
	kwq_core_mark_term(&t->core, KWQ_TERM_RUNS);
	KUNIT_EXPECT_TRUE(test, kwq_core_can_get(&t->core));
	kwq_core_pause(&t->core);
	kwq_core_mark_term(&t->core, KWQ_TERM_RUNS);
	KUNIT_EXPECT_FALSE(test, kwq_core_can_get(&t->core));
	KUNIT_EXPECT_EQ(test, kwq_core_pauses(&t->core), 1);
	KUNIT_EXPECT_TRUE(test, kwq_core_resume(&t->core));
	kwq_core_mark_term(&t->core, 0);
	KUNIT_EXPECT_EQ(test, t->core.unusual, 0);
	EXPECT_GET(test, t, &t->a);
	/* Too many pauses hold for good, and do not become a term. */
	for (i = 0; i <= KWQ_PAUSES_MAX; i++)
		kwq_core_pause(&t->core);
	KUNIT_EXPECT_EQ(test, t->core.paused, KWQ_PAUSES_MAX);
	for (i = 0; i <= KWQ_PAUSES_MAX; i++)
		KUNIT_EXPECT_FALSE(test, kwq_core_resume(&t->core));
	KUNIT_EXPECT_EQ(test, kwq_core_pauses(&t->core), KWQ_PAUSES_MAX);
}

#define CORE_TEST_OF_BOTH						\
	KUNIT_CASE(core_is_empty_at_first),				\
	KUNIT_CASE(item_is_idle_at_first),				\
	KUNIT_CASE(fifo),						\
	KUNIT_CASE(fifo_with_adds_between),				\
	KUNIT_CASE(fifo_of_all_ways_to_get_ready),			\
	KUNIT_CASE(peek_changes_nothing),				\
	KUNIT_CASE(processing_item_is_not_handed_out),			\
	KUNIT_CASE(two_holders_have_their_own),				\
	KUNIT_CASE(many_adds_during_processing_come_back_once),		\
	KUNIT_CASE(requeue_goes_to_the_tail),				\
	KUNIT_CASE(done_by_a_stranger),					\
	KUNIT_CASE(length_counts_ready_items),				\
	KUNIT_CASE(shut_down_hands_out_what_is_ready),			\
	KUNIT_CASE(drained_when_all_is_done),				\
	KUNIT_CASE(removed_item_forgets_that_it_was_abandoned),		\
	KUNIT_CASE(finished_item_forgets_its_priority),			\
	KUNIT_CASE(unnamed_wait_of_a_new_item_is_0),			\
	KUNIT_CASE(item_is_ready_when_its_time_comes),			\
	KUNIT_CASE(due_item_that_is_processing_is_dirtied),		\
	KUNIT_CASE(start_of_a_wait_stays),				\
	KUNIT_CASE(next_wait_starts_anew),				\
	KUNIT_CASE(burst_is_one_item),					\
	KUNIT_CASE(quiet_time_ends_a_burst),				\
	KUNIT_CASE(bound_that_has_passed),				\
	KUNIT_CASE(debounce_of_a_processing_item),			\
	KUNIT_CASE(debounce_of_a_ready_item),				\
	KUNIT_CASE(latest_time_saturates),				\
	KUNIT_CASE_PARAM(second_time, policy_gen_params),		\
	KUNIT_CASE_PARAM(second_time_has_passed, past_gen_params),	\
	KUNIT_CASE(replace_can_postpone_what_is_due),			\
	KUNIT_CASE(ready_and_waiting),					\
	KUNIT_CASE(times_come_in_order),				\
	KUNIT_CASE(equal_times_come_in_the_order_of_adds),		\
	KUNIT_CASE(unchanged_time_keeps_its_place),			\
	KUNIT_CASE(changed_time_goes_behind_its_equals),		\
	KUNIT_CASE(past_time_goes_behind_overdue_ones),			\
	KUNIT_CASE(past_time_before_overdue_ones_is_ready),		\
	KUNIT_CASE_PARAM(not_a_nanosecond_early, time_gen_params),	\
	KUNIT_CASE(only_what_is_due),					\
	KUNIT_CASE(end_of_time_is_a_time),				\
	KUNIT_CASE(end_of_time_can_be_now),				\
	KUNIT_CASE(abandoned_item_is_ready_again),			\
	KUNIT_CASE(abandoned_item_is_ahead_of_fresh_ones),		\
	KUNIT_CASE(abandonments_add_up_until_done),			\
	KUNIT_CASE(requeued_item_is_fresh),				\
	KUNIT_CASE(abandonments_do_not_wrap),				\
	KUNIT_CASE(undone_item_is_first_again),				\
	KUNIT_CASE(undone_item_is_no_hand_out),				\
	KUNIT_CASE(dirty_key_is_not_in_the_length),			\
	KUNIT_CASE(key_added_again_has_its_place_at_its_done),		\
	KUNIT_CASE(get_after_shut_down_returns_what_is_ready),		\
	KUNIT_CASE(get_after_shut_down_returns_what_was_added_before),	\
	KUNIT_CASE(drain_waits_for_the_done),				\
	KUNIT_CASE(add_leaves_a_delay_pending),				\
	KUNIT_CASE(delay_of_a_ready_key_is_kept),			\
	KUNIT_CASE(waiting_key_has_no_place),				\
	KUNIT_CASE(default_limiter_is_of_each_item),			\
	KUNIT_CASE(item_is_got_from_any_place),				\
	KUNIT_CASE(idle_or_dead_item_is_not_got),			\
	KUNIT_CASE(pending_item_coalesces_as_it_is),			\
	KUNIT_CASE(flush_counts_what_was_queued_before),		\
	KUNIT_CASE(flush_ends_however_its_items_end),			\
	KUNIT_CASE(flush_ends_when_its_queue_is_cancelled),		\
	KUNIT_CASE(awaited_run_ends_once),				\
	KUNIT_CASE(paused_queue_hands_nothing_out)

static struct kunit_case core_test_cases[] = {
	CORE_TEST_OF_BOTH,
	KUNIT_CASE(shut_down_drops_what_is_waiting),
	KUNIT_CASE(higher_priority_comes_first),
	KUNIT_CASE(all_64_levels),
	KUNIT_CASE(higher_priority_moves_to_the_tail),
	KUNIT_CASE(lower_priority_is_ignored),
	KUNIT_CASE(equal_priority_keeps_the_place),
	KUNIT_CASE(unnamed_priority_keeps_the_ready_items),
	KUNIT_CASE(priority_is_kept_through_a_requeue),
	KUNIT_CASE(requeue_can_name_a_lower_priority),
	KUNIT_CASE(pending_add_keeps_the_highest),
	KUNIT_CASE(unnamed_pending_add_counts_as_the_runs),
	KUNIT_CASE(waits_priority_counts_when_it_is_due),
	KUNIT_CASE(waits_priority_can_only_raise),
	KUNIT_CASE(unnamed_add_takes_the_waits_priority),
	KUNIT_CASE(unnamed_wait_takes_the_items_priority),
	KUNIT_CASE_PARAM(second_waits_priority, wait_priority_gen_params),
	KUNIT_CASE(unnamed_wait_keeps_what_the_run_has),
	KUNIT_CASE(unnamed_wait_raises_nothing),
	KUNIT_CASE(ended_wait_gives_its_priority),
	KUNIT_CASE(add_that_ends_a_wait_keeps_its_priority),
	KUNIT_CASE(abandoned_items_come_in_the_order_given_back),
	KUNIT_CASE(abandoned_item_is_behind_a_higher_priority),
	KUNIT_CASE_PARAM(abandoned_item_has_the_higher_priority,
			 undone_gen_params),
	KUNIT_CASE(abandoned_item_keeps_its_priority),
	KUNIT_CASE(raised_abandoned_item_stays_returned),
	KUNIT_CASE(abandoned_item_goes_on_waiting),
	KUNIT_CASE(undone_items_are_where_they_were),
	KUNIT_CASE(undone_items_go_back_to_their_lanes),
	KUNIT_CASE_PARAM(undone_item_is_merged_with_its_pending_add,
			 undone_gen_params),
	KUNIT_CASE(undone_item_that_rose_goes_to_the_tail),
	KUNIT_CASE(counters),
	KUNIT_CASE(waiting_item_is_got_at_once),
	KUNIT_CASE(ready_item_was_queued_since_its_add),
	KUNIT_CASE(expedited_item_has_the_priority_of_its_add),
	KUNIT_CASE(flush_waits_for_items_that_come_back),
	KUNIT_CASE(term_is_a_pause_of_its_own),
	{}
};

/* The same without what only a large queue has (K6). */
static struct kunit_case core_test_small_cases[] = {
	CORE_TEST_OF_BOTH,
	KUNIT_CASE_PARAM(undone_item_is_merged_with_its_pending_add,
			 undone_gen_params),
	{}
};

KWQ_TEST_SUITES(core_test, "kwq-core", core_test_init, core_test_exit);

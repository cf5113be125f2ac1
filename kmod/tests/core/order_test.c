// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups (Q16) and aging (Q17) in the state machine, rule by rule. Each test chooses its own times.
 *
 * A picture in a comment shows a band from the head on: "g h" are two groups in it.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <uapi/linux/kwq.h>
#include "core/core.h"
#include "core/line.h"
#include "core_check.h"

#define NONE		KWQ_PRIORITY_NONE
#define AGING		100
#define MANY		10000

struct order_test {
	struct kwq_bulk bulk;	/* of @core */
	struct kwq_core core;
	struct kwq_holder x;
	struct kwq_holder y;
	struct kwq_group g, h, k;
	struct kwq_grouped_item a, b, c, d, e, f;
};

static int order_test_init(struct kunit *test)
{
	struct order_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	kwq_core_init(&t->core, KWQ_LARGE);
	kwq_holder_init(&t->x);
	kwq_holder_init(&t->y);
	/* The memory may contain anything before. */
	memset(&t->g, 0xff, sizeof(t->g));
	memset(&t->a, 0xff, sizeof(t->a));
	kwq_group_init(&t->g);
	kwq_group_init(&t->h);
	kwq_group_init(&t->k);
	kwq_grouped_item_init(&t->a, &t->g);
	kwq_grouped_item_init(&t->b, &t->g);
	kwq_grouped_item_init(&t->c, &t->g);
	kwq_grouped_item_init(&t->d, &t->h);
	kwq_grouped_item_init(&t->e, &t->h);
	kwq_grouped_item_init(&t->f, NULL);
	test->priv = t;
	return 0;
}

/* Every case ends with a sound core. */
static void order_test_exit(struct kunit *test)
{
	struct order_test *t = test->priv;
	struct kwq_holder *const holders[] = { &t->x, &t->y };

	KUNIT_EXPECT_STREQ(test, "", kwq_core_broken(&t->core, holders, 2) ?: "");
}

static int add(struct order_test *t, struct kwq_grouped_item *item)
{
	return kwq_core_add(&t->core, &item->item, NONE, false, 0);
}

static int add_prio(struct order_test *t, struct kwq_grouped_item *item, int priority)
{
	return kwq_core_add(&t->core, &item->item, priority, false, 0);
}

static int add_when(struct order_test *t, struct kwq_grouped_item *item, int priority, ktime_t now)
{
	return kwq_core_add(&t->core, &item->item, priority, false, now);
}

static struct kwq_item *get_when(struct order_test *t, ktime_t now)
{
	return kwq_test_get(&t->core, &t->x, now);
}

static int done(struct order_test *t, struct kwq_grouped_item *item)
{
	return kwq_core_done(&t->core, &t->x, &item->item, 0);
}

static void move(struct order_test *t, struct kwq_grouped_item *item, struct kwq_group *group)
{
	kwq_core_set_group(&t->core, &item->item, group);
}

/* The next hand-out is @grouped. */
#define EXPECT_GET(test, t, grouped) \
	KUNIT_EXPECT_PTR_EQ(test, get_when(t, 0), &(grouped)->item)

#define EXPECT_GET_WHEN(test, t, now, grouped) \
	KUNIT_EXPECT_PTR_EQ(test, get_when(t, now), &(grouped)->item)

#define EXPECT_NOTHING(test, t) \
	KUNIT_EXPECT_NULL(test, get_when(t, 0))

/* The operation @what makes as many items available as @nr. */
#define EXPECT_READIED(test, t, nr, what)				\
do {									\
	u32 before = (t)->core.readied;					\
									\
	what;								\
	KUNIT_EXPECT_EQ_MSG(test, (t)->core.readied - before, nr, #what); \
} while (0)

/* ---- Q16: turns ---- */

static void groups_take_turns(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 0);
	add(t, &t->a);
	add(t, &t->b);
	add(t, &t->c);
	add(t, &t->d);
	add(t, &t->e);
	add(t, &t->f);
	EXPECT_GET(test, t, &t->a);	/* g h none */
	EXPECT_GET(test, t, &t->d);	/* h none g */
	EXPECT_GET(test, t, &t->f);	/* none g h */
	EXPECT_GET(test, t, &t->b);	/* g h */
	EXPECT_GET(test, t, &t->e);	/* h g */
	EXPECT_GET(test, t, &t->c);	/* g */
	EXPECT_NOTHING(test, t);
}

static void group_that_is_empty_for_a_while_joins_at_the_tail(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 0);
	add(t, &t->a);
	add(t, &t->d);
	add(t, &t->e);
	EXPECT_GET(test, t, &t->a);
	add(t, &t->b);			/* h g */
	add(t, &t->c);
	EXPECT_GET(test, t, &t->d);	/* g h */
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->e);
	EXPECT_GET(test, t, &t->c);
}

/* Q12 */
static void priorities_go_before_turns(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 0);
	add(t, &t->d);
	add(t, &t->a);
	add_prio(t, &t->b, 1);
	add_prio(t, &t->c, 1);
	add_prio(t, &t->e, KWQ_PRIORITY_MIN);
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->c);	/* 0: h g */
	EXPECT_GET(test, t, &t->d);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->e);
}

static void groups_take_turns_within_each_priority(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 0);
	add_prio(t, &t->a, 5);
	add_prio(t, &t->b, 5);
	add_prio(t, &t->d, 5);
	add(t, &t->c);
	add(t, &t->e);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->d);	/* h goes to 0, before g */
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->e);
	EXPECT_GET(test, t, &t->c);
}

/* Q12: an add moves a ready item, and with it its group. */
static void raised_item_moves_its_group(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 0);
	add(t, &t->d);
	add(t, &t->a);
	add(t, &t->b);
	EXPECT_READIED(test, t, 0, add_prio(t, &t->b, 3));
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->d);
	EXPECT_GET(test, t, &t->a);
}

/* O1: an item that lost its holder goes first in its group and priority. */
static void returned_item_goes_first(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 0);
	add(t, &t->a);
	add(t, &t->b);
	add(t, &t->d);
	EXPECT_GET(test, t, &t->a);	/* h g */
	kwq_core_abandon(&t->core, &t->a.item, 0);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->d);
	EXPECT_GET(test, t, &t->b);
}

/* O2 */
static void undone_gets_restore_all_turns(struct kunit *test)
{
	struct order_test *t = test->priv;
	int n;

	kwq_core_group_items(&t->core, 0);
	add(t, &t->a);
	add(t, &t->b);
	add_prio(t, &t->c, -1);
	add(t, &t->d);
	add(t, &t->f);
	for (n = 0; n < 2; n++) {
		EXPECT_GET(test, t, &t->a);
		EXPECT_GET(test, t, &t->d);
		EXPECT_GET(test, t, &t->f);
		EXPECT_GET(test, t, &t->b);
		EXPECT_GET(test, t, &t->c);
		kwq_core_unget(&t->core, &t->c.item);
		kwq_core_unget(&t->core, &t->b.item);
		kwq_core_unget(&t->core, &t->f.item);
		kwq_core_unget(&t->core, &t->d.item);
		kwq_core_unget(&t->core, &t->a.item);
	}
}

static void removed_item_takes_its_group_along(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 0);
	add_prio(t, &t->a, 2);
	add(t, &t->b);
	add(t, &t->d);
	KUNIT_EXPECT_EQ(test, kwq_core_remove(&t->core, &t->a.item), KWQ_WAS_READY);
	/* It joined the band at the tail. */
	EXPECT_GET(test, t, &t->d);
	KUNIT_EXPECT_EQ(test, kwq_core_remove(&t->core, &t->b.item), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, t->bulk.occupied[KWQ_LANE_FRESH], 0);
	EXPECT_NOTHING(test, t);
}

static void middle_items_of_a_level_leave_it(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 0);
	add(t, &t->a);
	add(t, &t->b);
	add(t, &t->c);
	kwq_core_remove(&t->core, &t->b.item);
	add(t, &t->b);
	EXPECT_GET(test, t, &t->a);
	kwq_core_remove(&t->core, &t->c.item);
	EXPECT_GET(test, t, &t->b);
	EXPECT_NOTHING(test, t);
}

/* ---- Q16: limits ---- */

static void limit_blocks_the_group_only(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 1);
	add(t, &t->a);
	add(t, &t->b);
	add(t, &t->d);
	add(t, &t->e);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->d);
	EXPECT_NOTHING(test, t);
	/* Q7: they count as ready. */
	KUNIT_EXPECT_EQ(test, t->core.nr_ready, 2);
	KUNIT_EXPECT_EQ(test, t->bulk.order.nr_blocked, 2);
	KUNIT_EXPECT_FALSE(test, kwq_core_can_get(&t->core));
	KUNIT_EXPECT_NULL(test, kwq_core_peek(&t->core, 0));
	done(t, &t->d);
	EXPECT_GET(test, t, &t->e);
	EXPECT_NOTHING(test, t);
	done(t, &t->a);
	EXPECT_GET(test, t, &t->b);
}

static void limit_counts_runs(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 2);
	add(t, &t->a);
	add(t, &t->b);
	add(t, &t->c);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->b);
	EXPECT_NOTHING(test, t);
	/* Q4: added while it is processing, so it is behind the other one. */
	add(t, &t->b);
	KUNIT_EXPECT_EQ(test, done(t, &t->b), KWQ_REQUEUED);
	EXPECT_GET(test, t, &t->c);
	EXPECT_NOTHING(test, t);
	done(t, &t->a);
	EXPECT_GET(test, t, &t->b);
}

static void items_without_a_group_have_no_limit(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 1);
	move(t, &t->a, NULL);
	move(t, &t->b, NULL);
	add(t, &t->a);
	add(t, &t->b);
	add(t, &t->f);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->f);
}

/* A limit never lets a lower priority of another group wait. */
static void blocked_group_keeps_no_other_waiting(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 1);
	add_prio(t, &t->a, KWQ_PRIORITY_MAX);
	add_prio(t, &t->b, KWQ_PRIORITY_MAX);
	add_prio(t, &t->d, KWQ_PRIORITY_MIN);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->d);
	EXPECT_NOTHING(test, t);
}

/* O2: its place was in the group in which it ran. */
static void item_given_back_to_another_group_is_last(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 0);
	add(t, &t->a);
	EXPECT_GET(test, t, &t->a);
	add(t, &t->d);
	kwq_core_set_group(&t->core, &t->a.item, &t->h);
	kwq_core_give_back(&t->core, &t->x, &t->a.item, 0);
	EXPECT_GET(test, t, &t->d);
	EXPECT_GET(test, t, &t->a);
}

static void every_end_of_a_run_lets_the_group_go(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 1);
	add(t, &t->a);
	add(t, &t->b);
	EXPECT_GET(test, t, &t->a);
	EXPECT_READIED(test, t, 1, done(t, &t->a));
	EXPECT_GET(test, t, &t->b);
	add(t, &t->a);
	/* O1: the returned one goes first. Only one of the two can be handed out. */
	EXPECT_READIED(test, t, 1, kwq_core_abandon(&t->core, &t->b.item, 0));
	EXPECT_GET(test, t, &t->b);
	EXPECT_READIED(test, t, 1, kwq_core_unget(&t->core, &t->b.item));
	EXPECT_GET(test, t, &t->b);
	EXPECT_READIED(test, t, 1, kwq_core_give_back(&t->core, &t->x, &t->b.item, 0));
	EXPECT_GET(test, t, &t->b);
	/* K3 */
	EXPECT_READIED(test, t, 0, kwq_core_disable(&t->core, &t->b.item));
	EXPECT_NOTHING(test, t);
	EXPECT_READIED(test, t, 1, done(t, &t->b));
	EXPECT_GET(test, t, &t->a);
	KUNIT_EXPECT_EQ(test, t->bulk.order.nr_blocked, 0);
}

/* A group that comes back from its limit waits for its turn. */
static void blocked_group_comes_back_at_the_tail(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 1);
	move(t, &t->c, NULL);
	add(t, &t->a);
	add(t, &t->b);
	add(t, &t->f);
	add(t, &t->c);
	add(t, &t->d);
	EXPECT_GET(test, t, &t->a);	/* none h */
	EXPECT_GET(test, t, &t->f);	/* h none */
	done(t, &t->a);			/* h none g */
	EXPECT_GET(test, t, &t->d);
	EXPECT_GET(test, t, &t->c);
	EXPECT_GET(test, t, &t->b);
}

/* K9: who names an item gets it. */
static void named_item_is_taken_beyond_the_limit(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 1);
	add(t, &t->a);
	add(t, &t->b);
	add(t, &t->c);
	EXPECT_GET(test, t, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_core_get_item(&t->core, &t->c.item, &t->x, 0), 0);
	KUNIT_EXPECT_EQ(test, t->bulk.order.nr_blocked, 1);
	EXPECT_READIED(test, t, 0, done(t, &t->a));
	EXPECT_NOTHING(test, t);
	EXPECT_READIED(test, t, 1, done(t, &t->c));
	EXPECT_GET(test, t, &t->b);
}

/* Q5: @readied rises only by items that can be handed out, and by each of them. */
static void readied_counts_what_is_offered(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 2);
	EXPECT_READIED(test, t, 1, add(t, &t->a));
	EXPECT_READIED(test, t, 1, add(t, &t->b));
	EXPECT_READIED(test, t, 0, add(t, &t->c));
	KUNIT_EXPECT_EQ(test, kwq_core_nr_offered(&t->core), 2);
	EXPECT_READIED(test, t, 0, get_when(t, 0));
	KUNIT_EXPECT_EQ(test, kwq_core_nr_offered(&t->core), 1);
	EXPECT_READIED(test, t, 0, kwq_core_remove(&t->core, &t->c.item));
	EXPECT_READIED(test, t, 0, add(t, &t->c));
	EXPECT_READIED(test, t, 1, done(t, &t->a));
	/* A move within the same total wakes nobody. */
	EXPECT_READIED(test, t, 0, move(t, &t->c, NULL));
	EXPECT_READIED(test, t, 1, add(t, &t->a));
	KUNIT_EXPECT_EQ(test, kwq_core_nr_offered(&t->core), 3);
}

/* Q8 Q9: items that cannot be handed out now still have to be. */
static void drain_waits_for_blocked_items(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 1);
	add(t, &t->a);
	add(t, &t->b);
	EXPECT_GET(test, t, &t->a);
	kwq_core_shut_down(&t->core, true);
	done(t, &t->a);
	KUNIT_EXPECT_FALSE(test, kwq_core_is_drained(&t->core));
	EXPECT_GET(test, t, &t->b);
	done(t, &t->b);
	KUNIT_EXPECT_TRUE(test, kwq_core_is_drained(&t->core));
}

/* K3: a cancel of the queue finds them, too. */
static void first_ready_finds_blocked_items(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 1);
	add(t, &t->a);
	add(t, &t->b);
	add(t, &t->c);
	EXPECT_GET(test, t, &t->a);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_first_ready(&t->core), &t->b.item);
	kwq_core_remove(&t->core, &t->b.item);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_first_ready(&t->core), &t->c.item);
	kwq_core_remove(&t->core, &t->c.item);
	KUNIT_EXPECT_NULL(test, kwq_core_first_ready(&t->core));
	KUNIT_EXPECT_EQ(test, t->bulk.order.nr_blocked, 0);
}

/* K9 */
static void flush_waits_for_blocked_items(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 1);
	add(t, &t->a);
	add(t, &t->b);
	EXPECT_GET(test, t, &t->a);
	kwq_core_begin_flush(&t->core);
	done(t, &t->a);
	KUNIT_EXPECT_EQ(test, t->core.flushes, 0);
	EXPECT_GET(test, t, &t->b);
	done(t, &t->b);
	KUNIT_EXPECT_EQ(test, t->core.flushes, 1);
}

/* Q14 */
static void paused_core_hands_out_nothing_of_groups(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 1);
	add(t, &t->a);
	kwq_core_pause(&t->core);
	KUNIT_EXPECT_FALSE(test, kwq_core_can_get(&t->core));
	EXPECT_NOTHING(test, t);
	kwq_core_resume(&t->core);
	KUNIT_EXPECT_TRUE(test, kwq_core_can_get(&t->core));
	EXPECT_GET(test, t, &t->a);
}

/* M2 */
static void oldest_ready_item_may_be_blocked(struct kunit *test)
{
	struct order_test *t = test->priv;
	struct kwq_gauges gauges;

	kwq_core_group_items(&t->core, 1);
	add_when(t, &t->a, NONE, 0);
	add_when(t, &t->b, NONE, 10);
	add_when(t, &t->f, NONE, 40);
	EXPECT_GET_WHEN(test, t, 50, &t->a);
	kwq_core_gauges(&t->core, &gauges, 100);
	KUNIT_EXPECT_EQ(test, gauges.oldest_ready, 90);
	kwq_core_remove(&t->core, &t->b.item);
	kwq_core_gauges(&t->core, &gauges, 100);
	KUNIT_EXPECT_EQ(test, gauges.oldest_ready, 60);
}

/* ---- Q16: moves ---- */

static void ready_item_moves_to_the_tail_of_its_new_group(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 0);
	add(t, &t->a);
	add(t, &t->d);
	add(t, &t->e);
	EXPECT_READIED(test, t, 0, move(t, &t->a, &t->h));
	EXPECT_GET(test, t, &t->d);
	EXPECT_GET(test, t, &t->e);
	EXPECT_GET(test, t, &t->a);
	EXPECT_NOTHING(test, t);
}

static void move_to_the_same_group_changes_nothing(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 0);
	add(t, &t->a);
	add(t, &t->b);
	add(t, &t->d);
	move(t, &t->a, &t->g);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->d);
	EXPECT_GET(test, t, &t->b);
}

static void run_counts_where_it_began(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 1);
	add(t, &t->a);
	add(t, &t->b);
	add(t, &t->d);
	EXPECT_GET(test, t, &t->a);
	move(t, &t->a, &t->h);
	/* It is still g that is at its limit. */
	EXPECT_GET(test, t, &t->d);
	EXPECT_NOTHING(test, t);
	add(t, &t->a);
	EXPECT_READIED(test, t, 1, done(t, &t->a));
	EXPECT_GET(test, t, &t->b);
	EXPECT_NOTHING(test, t);
	EXPECT_READIED(test, t, 1, done(t, &t->d));
	EXPECT_GET(test, t, &t->a);
}

static void waiting_and_idle_items_move_without_effect(struct kunit *test)
{
	struct order_test *t = test->priv;
	unsigned int budget = 1;

	kwq_core_group_items(&t->core, 1);
	kwq_core_add_at(&t->core, &t->a.item, NONE, 10, KWQ_WAIT_EARLIER, 0);
	move(t, &t->a, &t->h);
	move(t, &t->b, NULL);
	add(t, &t->d);
	EXPECT_GET(test, t, &t->d);
	EXPECT_READIED(test, t, 0, kwq_core_expire(&t->core, 10, &budget));
	EXPECT_NOTHING(test, t);
	add(t, &t->b);
	EXPECT_GET(test, t, &t->b);
	done(t, &t->d);
	EXPECT_GET(test, t, &t->a);
}

static void move_may_block_or_free_an_item(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_group_items(&t->core, 1);
	add(t, &t->a);
	add(t, &t->b);
	EXPECT_GET(test, t, &t->a);
	EXPECT_NOTHING(test, t);
	EXPECT_READIED(test, t, 1, move(t, &t->b, NULL));
	EXPECT_READIED(test, t, 0, move(t, &t->b, &t->g));
	EXPECT_NOTHING(test, t);
	EXPECT_READIED(test, t, 1, move(t, &t->b, &t->k));
	EXPECT_GET(test, t, &t->b);
}

/* ---- Q16: many groups ---- */

struct tenant {
	struct kwq_group group;
	struct kwq_grouped_item item[2];
};

static struct tenant *make_tenants(struct kunit *test)
{
	struct tenant *tenants = kvcalloc(MANY, sizeof(*tenants), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, tenants);
	for (i = 0; i < MANY; i++) {
		kwq_group_init(&tenants[i].group);
		kwq_grouped_item_init(&tenants[i].item[0], &tenants[i].group);
		kwq_grouped_item_init(&tenants[i].item[1], &tenants[i].group);
	}
	return tenants;
}

/* A hand-out passes over no group: those at their limits are in no band. */
static void many_blocked_groups_are_out_of_the_way(struct kunit *test)
{
	struct order_test *t = test->priv;
	struct tenant *tenants = make_tenants(test);
	const struct kwq_line *band;
	int i;

	kwq_core_group_items(&t->core, 1);
	for (i = 0; i < MANY; i++) {
		add(t, &tenants[i].item[0]);
		add(t, &tenants[i].item[1]);
	}
	KUNIT_EXPECT_EQ(test, kwq_core_nr_offered(&t->core), MANY);
	for (i = 0; i < MANY; i++)
		if (get_when(t, 0) != &tenants[i].item[0].item)
			break;
	KUNIT_EXPECT_EQ_MSG(test, i, MANY, "the groups do not take turns");
	KUNIT_EXPECT_EQ(test, t->bulk.order.nr_blocked, MANY);
	KUNIT_EXPECT_EQ(test, t->bulk.occupied[KWQ_LANE_FRESH], 0);
	EXPECT_NOTHING(test, t);

	add(t, &t->f);
	band = &t->bulk.bands[KWQ_LANE_FRESH][-KWQ_PRIORITY_MIN];
	KUNIT_EXPECT_FALSE(test, kwq_line_is_empty(band));
	KUNIT_EXPECT_PTR_EQ(test, &band->nodes.first->next, band->end);
	EXPECT_GET(test, t, &t->f);
	done(t, &tenants[77].item[0]);
	EXPECT_GET(test, t, &tenants[77].item[1]);
	EXPECT_NOTHING(test, t);

	for (i = 0; i < MANY; i++)
		if (i != 77)
			done(t, &tenants[i].item[0]);
	for (i = 0; i < MANY; i++)
		kwq_core_remove(&t->core, &tenants[i].item[1].item);
	done(t, &tenants[77].item[1]);
	kvfree(tenants);
}

/* ---- Q17 ---- */

static void item_ages_by_one_priority_at_a_time(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_set_aging(&t->core, AGING);
	add_when(t, &t->a, 0, 0);
	add_when(t, &t->b, 2, AGING);
	/* 2 against 0 and 1 */
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_peek(&t->core, AGING), &t->b.item);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_peek(&t->core, 2 * AGING - 1), &t->b.item);
	/* 2 against 3, as the other one ages, too. */
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_peek(&t->core, 2 * AGING), &t->b.item);
	EXPECT_GET_WHEN(test, t, 2 * AGING, &t->b);
	add_when(t, &t->c, 2, 2 * AGING);
	/* Equal: the one that has been dirty longest. */
	EXPECT_GET_WHEN(test, t, 2 * AGING, &t->a);
	/* M1: an item keeps its own priority. */
	KUNIT_EXPECT_EQ(test, t->a.item.priority, 0);
}

/* O8: the more a get has to look at, the fewer items a hold hands out. */
static void aging_bounds_a_hold(struct kunit *test)
{
	struct order_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, kwq_core_most_gets(&t->core), UINT_MAX);
	kwq_core_set_aging(&t->core, AGING);
	KUNIT_EXPECT_EQ(test, kwq_core_most_gets(&t->core), 1024);
	add_when(t, &t->f, 0, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_most_gets(&t->core), 512);
	kwq_core_remove(&t->core, &t->f.item);
	/* Each group may have items of all levels. */
	kwq_core_group_items(&t->core, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_most_gets(&t->core),
			1024 / (1 + KWQ_NR_LANES * KWQ_NR_PRIORITIES));
}

static void age_counts_from_the_add(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_set_aging(&t->core, AGING);
	add_when(t, &t->a, 0, 0);
	/* A coalesced add does not change that. */
	add_when(t, &t->a, 0, AGING - 1);
	add_when(t, &t->b, 1, AGING - 1);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_peek(&t->core, AGING - 1), &t->b.item);
	EXPECT_GET_WHEN(test, t, AGING, &t->a);
	/* An item that is added while it is processing ages meanwhile. */
	add_when(t, &t->a, 0, AGING);
	kwq_core_done(&t->core, &t->x, &t->a.item, 3 * AGING);
	add_when(t, &t->c, 1, 2 * AGING + 1);
	add_when(t, &t->d, 2, 3 * AGING);
	kwq_core_remove(&t->core, &t->b.item);
	EXPECT_GET_WHEN(test, t, 3 * AGING, &t->a);
}

/* The highest priority is the highest that an item can count as. */
static void age_has_an_end(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_set_aging(&t->core, 1);
	add_when(t, &t->b, KWQ_PRIORITY_MAX, 1);
	add_when(t, &t->a, KWQ_PRIORITY_MIN, 0);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_peek(&t->core, 62), &t->b.item);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_peek(&t->core, 63), &t->a.item);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_peek(&t->core, KTIME_MAX), &t->a.item);
}

/* Of equally old items, the returned one goes first, and then the one of a higher priority. */
static void ties_end_by_lane_and_priority(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_set_aging(&t->core, 1);
	add_when(t, &t->a, 1, 0);
	EXPECT_GET_WHEN(test, t, 0, &t->a);
	kwq_core_abandon(&t->core, &t->a.item, 10);
	add_when(t, &t->b, 3, 10);
	add_when(t, &t->c, 2, 10);
	EXPECT_GET_WHEN(test, t, 100, &t->a);
	EXPECT_GET_WHEN(test, t, 100, &t->b);
	EXPECT_GET_WHEN(test, t, 100, &t->c);
}

/* O2: an item that goes back keeps its age. O1: an abandoned one starts over. */
static void age_of_items_that_go_back(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_set_aging(&t->core, AGING);
	add_when(t, &t->a, 0, 0);
	EXPECT_GET_WHEN(test, t, 0, &t->a);
	kwq_core_unget(&t->core, &t->a.item);
	add_when(t, &t->b, 1, AGING);
	EXPECT_GET_WHEN(test, t, AGING, &t->a);
	kwq_core_abandon(&t->core, &t->a.item, AGING);
	EXPECT_GET_WHEN(test, t, AGING, &t->b);
	kwq_core_unget(&t->core, &t->b.item);
	EXPECT_GET_WHEN(test, t, 2 * AGING - 1, &t->b);
	kwq_core_give_back(&t->core, &t->x, &t->b.item, 2 * AGING - 1);
	KUNIT_EXPECT_EQ(test, t->b.item.dirtied, AGING);
	EXPECT_GET_WHEN(test, t, 2 * AGING - 1, &t->b);
}

/* Nothing starves, however many items of a higher priority come. */
static void lowest_priority_gets_its_turn(struct kunit *test)
{
	struct order_test *t = test->priv;
	int n;

	kwq_core_set_aging(&t->core, AGING);
	add_when(t, &t->a, KWQ_PRIORITY_MIN, 0);
	for (n = 0; n < 1000; n++) {
		add_when(t, &t->b, KWQ_PRIORITY_MAX, n * 10);
		if (get_when(t, n * 10) == &t->a.item)
			break;
		done(t, &t->b);
	}
	KUNIT_EXPECT_EQ(test, n, 63 * AGING / 10);
	kwq_core_remove(&t->core, &t->b.item);
}

static void without_aging_it_starves(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_set_aging(&t->core, AGING);
	kwq_core_set_aging(&t->core, 0);
	KUNIT_EXPECT_EQ(test, t->core.unusual, 0);
	add_when(t, &t->a, 0, 0);
	add_when(t, &t->b, 1, 0);
	EXPECT_GET_WHEN(test, t, 2 * AGING, &t->b);
	/* It may begin at any time. */
	add_when(t, &t->c, 1, 2 * AGING);
	kwq_core_set_aging(&t->core, AGING);
	EXPECT_GET_WHEN(test, t, 2 * AGING, &t->a);
}

/* An item may be older than the time that the caller read. */
static void age_of_an_item_from_the_future(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_set_aging(&t->core, 1);
	add_when(t, &t->a, 0, 1000);
	add_when(t, &t->b, 1, 1000);
	EXPECT_GET_WHEN(test, t, 10, &t->b);
}

static void aging_keeps_turns_and_limits(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_set_aging(&t->core, AGING);
	kwq_core_group_items(&t->core, 1);
	add_when(t, &t->a, 0, 0);
	add_when(t, &t->b, 0, 0);
	add_when(t, &t->d, 0, 0);
	add_when(t, &t->f, 2, 2 * AGING);
	EXPECT_GET_WHEN(test, t, 2 * AGING, &t->a);
	EXPECT_GET_WHEN(test, t, 2 * AGING, &t->d);
	EXPECT_GET_WHEN(test, t, 2 * AGING, &t->f);
	EXPECT_NOTHING(test, t);
	done(t, &t->a);
	EXPECT_GET_WHEN(test, t, 2 * AGING, &t->b);
}

/* An old item does not starve behind younger ones of its own group. */
static void items_of_one_group_age(struct kunit *test)
{
	struct order_test *t = test->priv;

	kwq_core_set_aging(&t->core, AGING);
	kwq_core_group_items(&t->core, 0);
	add_when(t, &t->a, -4, 0);
	add_when(t, &t->b, 3, 6 * AGING);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_peek(&t->core, 6 * AGING), &t->b.item);
	kwq_core_remove(&t->core, &t->b.item);
	add_when(t, &t->b, 3, 7 * AGING);
	KUNIT_ASSERT_PTR_EQ(test, kwq_core_peek(&t->core, 7 * AGING), &t->a.item);
	EXPECT_GET_WHEN(test, t, 7 * AGING, &t->a);
	/* O2: the turn goes back, too. */
	add_when(t, &t->d, 3, 7 * AGING);
	kwq_core_unget(&t->core, &t->a.item);
	EXPECT_GET_WHEN(test, t, 7 * AGING, &t->a);
}

static struct kunit_case order_test_cases[] = {
	KUNIT_CASE(groups_take_turns),
	KUNIT_CASE(group_that_is_empty_for_a_while_joins_at_the_tail),
	KUNIT_CASE(priorities_go_before_turns),
	KUNIT_CASE(groups_take_turns_within_each_priority),
	KUNIT_CASE(raised_item_moves_its_group),
	KUNIT_CASE(returned_item_goes_first),
	KUNIT_CASE(undone_gets_restore_all_turns),
	KUNIT_CASE(removed_item_takes_its_group_along),
	KUNIT_CASE(middle_items_of_a_level_leave_it),
	KUNIT_CASE(limit_blocks_the_group_only),
	KUNIT_CASE(limit_counts_runs),
	KUNIT_CASE(items_without_a_group_have_no_limit),
	KUNIT_CASE(blocked_group_keeps_no_other_waiting),
	KUNIT_CASE(item_given_back_to_another_group_is_last),
	KUNIT_CASE(every_end_of_a_run_lets_the_group_go),
	KUNIT_CASE(blocked_group_comes_back_at_the_tail),
	KUNIT_CASE(named_item_is_taken_beyond_the_limit),
	KUNIT_CASE(readied_counts_what_is_offered),
	KUNIT_CASE(drain_waits_for_blocked_items),
	KUNIT_CASE(first_ready_finds_blocked_items),
	KUNIT_CASE(flush_waits_for_blocked_items),
	KUNIT_CASE(paused_core_hands_out_nothing_of_groups),
	KUNIT_CASE(oldest_ready_item_may_be_blocked),
	KUNIT_CASE(ready_item_moves_to_the_tail_of_its_new_group),
	KUNIT_CASE(move_to_the_same_group_changes_nothing),
	KUNIT_CASE(run_counts_where_it_began),
	KUNIT_CASE(waiting_and_idle_items_move_without_effect),
	KUNIT_CASE(move_may_block_or_free_an_item),
	KUNIT_CASE(many_blocked_groups_are_out_of_the_way),
	KUNIT_CASE(item_ages_by_one_priority_at_a_time),
	KUNIT_CASE(aging_bounds_a_hold),
	KUNIT_CASE(age_counts_from_the_add),
	KUNIT_CASE(age_has_an_end),
	KUNIT_CASE(ties_end_by_lane_and_priority),
	KUNIT_CASE(age_of_items_that_go_back),
	KUNIT_CASE(lowest_priority_gets_its_turn),
	KUNIT_CASE(without_aging_it_starves),
	KUNIT_CASE(age_of_an_item_from_the_future),
	KUNIT_CASE(aging_keeps_turns_and_limits),
	KUNIT_CASE(items_of_one_group_age),
	{}
};

static struct kunit_suite order_test_suite = {
	.name = "kwq-core-order",
	.init = order_test_init,
	.exit = order_test_exit,
	.test_cases = order_test_cases,
};

kunit_test_suite(order_test_suite);

// SPDX-License-Identifier: GPL-2.0-only
/* Holders whose items are in lines of their own, as those of /dev/kwq (O1, M3). */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <uapi/linux/kwq.h>
#include "core/core.h"
#include "core/line.h"
#include "core_check.h"

#define NONE	KWQ_PRIORITY_NONE

#define NR_CROWD	(2 * KWQ_HOLDERS_PER_SEARCH + 1)

struct holders_test {
	struct kwq_large_core large;
	struct kwq_core *core;
	struct kwq_order order;
	struct kwq_group group;
	struct kwq_lined_holder x, y;
	struct kwq_grouped_item a, b, c;
	/* in the tree behind @x and @y */
	struct kwq_lined_holder crowd[NR_CROWD];
};

static int holders_test_init(struct kunit *test)
{
	struct holders_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->core = &t->large.core;
	kwq_core_init(t->core, KWQ_LARGE);
	kwq_core_line_holders(t->core);
	kwq_core_add_holder(t->core, &t->x);
	kwq_core_add_holder(t->core, &t->y);
	kwq_group_init(&t->group);
	kwq_grouped_item_init(&t->a, NULL);
	kwq_grouped_item_init(&t->b, NULL);
	kwq_grouped_item_init(&t->c, NULL);
	test->priv = t;
	return 0;
}

static void expect_sound(struct kunit *test)
{
	struct holders_test *t = test->priv;
	struct kwq_holder *const holders[] = { &t->x.holder, &t->y.holder };

	KUNIT_EXPECT_STREQ(test, "", kwq_core_broken(t->core, holders, 2) ?: "");
}

static void holders_test_exit(struct kunit *test)
{
	expect_sound(test);
}

static void add(struct holders_test *t, struct kwq_grouped_item *item)
{
	kwq_core_add(t->core, &item->item, NONE, false, 0);
}

/* The holder is handed out the item. */
static void take(struct kunit *test, struct kwq_lined_holder *lined,
		 struct kwq_grouped_item *item, ktime_t now)
{
	struct holders_test *t = test->priv;

	KUNIT_EXPECT_PTR_EQ(test, kwq_core_get(t->core, &lined->holder, now), &item->item);
}

static void add_and_take_all(struct kunit *test, struct kwq_lined_holder *lined)
{
	struct holders_test *t = test->priv;

	add(t, &t->a);
	add(t, &t->b);
	add(t, &t->c);
	take(test, lined, &t->a, 1);
	take(test, lined, &t->b, 2);
	take(test, lined, &t->c, 3);
	expect_sound(test);
}

/* The earliest hand-out that a whole search finds. */
static ktime_t first_start(struct holders_test *t, int *nr_calls)
{
	struct kwq_search search = { .first = KTIME_MAX };

	for (*nr_calls = 1; kwq_core_search_longest(t->core, &search); ++*nr_calls)
		;
	return search.first;
}

static void expect_first_start(struct kunit *test, ktime_t first)
{
	int nr_calls;

	KUNIT_EXPECT_EQ(test, first_start(test->priv, &nr_calls), first);
	KUNIT_EXPECT_EQ(test, nr_calls, 1);
}

/* O1: the items of a holder are found, in the order of their hand-outs. */
static void items_of_a_holder_are_in_its_line(struct kunit *test)
{
	struct holders_test *t = test->priv;

	add_and_take_all(test, &t->x);
	KUNIT_EXPECT_PTR_EQ(test, kwq_line_first(&t->x.processing, struct kwq_item, node),
			    &t->a.item);
	KUNIT_EXPECT_TRUE(test, kwq_line_is_empty(&t->y.processing));
	kwq_core_abandon(t->core, &t->a.item, 4);
	take(test, &t->y, &t->a, 5);
	KUNIT_EXPECT_PTR_EQ(test, kwq_line_first(&t->x.processing, struct kwq_item, node),
			    &t->b.item);
	KUNIT_EXPECT_PTR_EQ(test, kwq_line_first(&t->y.processing, struct kwq_item, node),
			    &t->a.item);
}

/* However the run of an item ends, the item leaves the line: the last one, and another one. */
static void item_leaves_its_line(struct kunit *test)
{
	struct holders_test *t = test->priv;

	add_and_take_all(test, &t->x);
	KUNIT_EXPECT_EQ(test, kwq_core_done(t->core, &t->x.holder, &t->c.item, 4), KWQ_FINISHED);
	expect_sound(test);
	KUNIT_EXPECT_EQ(test, kwq_core_bury(t->core, &t->x.holder, &t->a.item, 4), KWQ_BURIED);
	expect_sound(test);
	kwq_core_unget(t->core, &t->b.item);
	expect_sound(test);
	KUNIT_EXPECT_TRUE(test, kwq_line_is_empty(&t->x.processing));
	take(test, &t->y, &t->b, 5);
	kwq_core_give_back(t->core, &t->y.holder, &t->b.item, 6);
	expect_sound(test);
	take(test, &t->y, &t->b, 7);
	kwq_core_abandon(t->core, &t->b.item, 8);
	KUNIT_EXPECT_TRUE(test, kwq_line_is_empty(&t->y.processing));
}

/* Q16: with groups, too. */
static void items_with_groups_are_in_lines(struct kunit *test)
{
	struct holders_test *t = test->priv;

	kwq_core_set_order(t->core, &t->order);
	kwq_core_group_items(t->core, 1);
	kwq_core_set_group(t->core, &t->a.item, &t->group);
	kwq_core_set_group(t->core, &t->b.item, &t->group);
	add(t, &t->a);
	add(t, &t->b);
	add(t, &t->c);
	take(test, &t->x, &t->a, 1);
	take(test, &t->y, &t->c, 2);
	expect_sound(test);
	expect_first_start(test, 1);
	kwq_core_done(t->core, &t->x.holder, &t->a.item, 3);
	take(test, &t->x, &t->b, 4);
	expect_first_start(test, 2);
}

/* M3 */
static void longest_running_is_of_any_holder(struct kunit *test)
{
	struct holders_test *t = test->priv;

	expect_first_start(test, KTIME_MAX);
	add(t, &t->a);
	add(t, &t->b);
	add(t, &t->c);
	take(test, &t->x, &t->a, 10);
	take(test, &t->y, &t->b, 20);
	take(test, &t->x, &t->c, 30);
	expect_first_start(test, 10);
	kwq_core_done(t->core, &t->x.holder, &t->a.item, 40);
	expect_first_start(test, 20);
	kwq_core_done(t->core, &t->y.holder, &t->b.item, 40);
	expect_first_start(test, 30);
	kwq_core_done(t->core, &t->x.holder, &t->c.item, 40);
	expect_first_start(test, KTIME_MAX);
}

static void add_crowd(struct holders_test *t)
{
	int i;

	/* In any order: the tree sorts them. */
	for (i = NR_CROWD; i--; )
		kwq_core_add_holder(t->core, &t->crowd[i]);
}

static void remove_crowd(struct holders_test *t)
{
	int i;

	for (i = 0; i < NR_CROWD; i++)
		kwq_core_remove_holder(t->core, &t->crowd[i]);
}

/* O8: a call looks at so many holders, and the next one goes on behind them. */
static void search_takes_several_calls(struct kunit *test)
{
	struct holders_test *t = test->priv;
	int nr_calls;

	add_crowd(t);
	add(t, &t->a);
	add(t, &t->b);
	take(test, &t->crowd[NR_CROWD - 1], &t->a, 10);
	take(test, &t->x, &t->b, 20);
	KUNIT_EXPECT_EQ(test, first_start(t, &nr_calls), 10);
	KUNIT_EXPECT_EQ(test, nr_calls, 3);
	kwq_core_done(t->core, &t->crowd[NR_CROWD - 1].holder, &t->a.item, 30);
	KUNIT_EXPECT_EQ(test, first_start(t, &nr_calls), 20);
	remove_crowd(t);
	expect_first_start(test, 20);
}

/* Holders come and go between the calls, also the last one that was looked at. */
static void search_goes_on_behind_a_holder_that_is_gone(struct kunit *test)
{
	struct holders_test *t = test->priv;
	struct kwq_search search = { .first = KTIME_MAX };
	int last;

	add_crowd(t);
	add(t, &t->a);
	take(test, &t->crowd[NR_CROWD - 1], &t->a, 10);
	KUNIT_EXPECT_TRUE(test, kwq_core_search_longest(t->core, &search));
	KUNIT_EXPECT_EQ(test, search.first, KTIME_MAX);
	last = search.last - t->crowd;
	KUNIT_ASSERT_EQ(test, last, KWQ_HOLDERS_PER_SEARCH - 3);
	kwq_core_remove_holder(t->core, &t->crowd[last]);
	KUNIT_EXPECT_TRUE(test, kwq_core_search_longest(t->core, &search));
	KUNIT_EXPECT_PTR_EQ(test, search.last, &t->crowd[last + KWQ_HOLDERS_PER_SEARCH]);
	kwq_core_add_holder(t->core, &t->crowd[last]);
	KUNIT_EXPECT_FALSE(test, kwq_core_search_longest(t->core, &search));
	KUNIT_EXPECT_EQ(test, search.first, 10);
	kwq_core_done(t->core, &t->crowd[NR_CROWD - 1].holder, &t->a.item, 30);
	remove_crowd(t);
}

/* The items that are lost at the end of the term, until there is none. Returns their number. */
static int take_lost_back(struct holders_test *t, unsigned int budget)
{
	struct kwq_item *item;
	int nr = 0;

	while ((item = kwq_core_next_lost(t->core, &budget))) {
		kwq_core_abandon(t->core, item, 9);
		nr++;
	}
	return nr;
}

static void term_ends_when_its_time_has_come(struct kunit *test)
{
	struct holders_test *t = test->priv;
	unsigned int budget = 9;

	/* Q20 D5 */
	KUNIT_EXPECT_FALSE(test, kwq_core_end_term(t->core, KTIME_MAX));
	KUNIT_EXPECT_EQ(test, kwq_core_term(t->core), KTIME_MAX);
	KUNIT_EXPECT_TRUE(test, kwq_core_set_term(t->core, 7));
	KUNIT_EXPECT_EQ(test, kwq_core_term(t->core), 7);
	add_and_take_all(test, &t->x);
	KUNIT_EXPECT_FALSE(test, kwq_core_end_term(t->core, 6));
	KUNIT_EXPECT_FALSE(test, kwq_core_is_paused(t->core));
	KUNIT_EXPECT_NULL(test, kwq_core_next_lost(t->core, &budget));
	KUNIT_EXPECT_TRUE(test, kwq_core_end_term(t->core, 7));
	KUNIT_EXPECT_FALSE(test, kwq_core_end_term(t->core, 8));
	KUNIT_EXPECT_EQ(test, kwq_core_term(t->core), KTIME_MAX);
	KUNIT_EXPECT_EQ(test, take_lost_back(t, 9), 3);
	KUNIT_EXPECT_EQ(test, t->core->nr_ready, 3);
	KUNIT_EXPECT_FALSE(test, kwq_core_can_get(t->core));
	KUNIT_EXPECT_NULL(test, kwq_core_peek(t->core, 8));
	KUNIT_EXPECT_TRUE(test, kwq_core_set_term(t->core, KTIME_MAX));
	take(test, &t->x, &t->a, 9);
	KUNIT_EXPECT_EQ(test, t->core->unusual, 0);
}

static void term_is_a_pause_of_its_own(struct kunit *test)
{
	struct holders_test *t = test->priv;
	int i;

	/* Q14 Q20: neither ends the other. */
	kwq_core_set_term(t->core, 0);
	kwq_core_pause(t->core);
	kwq_core_end_term(t->core, 0);
	KUNIT_EXPECT_FALSE(test, kwq_core_resume(t->core));
	KUNIT_EXPECT_TRUE(test, kwq_core_set_term(t->core, 1));
	kwq_core_pause(t->core);
	KUNIT_EXPECT_FALSE(test, kwq_core_set_term(t->core, 2));
	KUNIT_EXPECT_EQ(test, kwq_core_pauses(t->core), 1);
	KUNIT_EXPECT_TRUE(test, kwq_core_resume(t->core));
	/* Too many pauses hold for good, and do not become a term. */
	kwq_core_set_term(t->core, KTIME_MAX);
	for (i = 0; i <= KWQ_PAUSES_MAX; i++)
		kwq_core_pause(t->core);
	KUNIT_EXPECT_FALSE(test, kwq_core_has_term(t->core));
	for (i = 0; i <= KWQ_PAUSES_MAX; i++)
		KUNIT_EXPECT_FALSE(test, kwq_core_resume(t->core));
	KUNIT_EXPECT_EQ(test, kwq_core_pauses(t->core), KWQ_PAUSES_MAX);
}

static void lost_items_are_found_within_a_budget(struct kunit *test)
{
	struct holders_test *t = test->priv;
	struct kwq_lined_holder *last = &t->crowd[NR_CROWD - 1];
	int i;

	/* Q20 O8: an item is a step, and so is a holder without items. */
	for (i = 0; i < NR_CROWD; i++)
		kwq_core_add_holder(t->core, &t->crowd[i]);
	kwq_core_set_term(t->core, 5);
	add_and_take_all(test, &t->x);
	kwq_core_abandon(t->core, &t->c.item, 4);
	KUNIT_EXPECT_PTR_EQ(test, kwq_core_get(t->core, &last->holder, 4), &t->c.item);
	kwq_core_end_term(t->core, 5);
	KUNIT_EXPECT_EQ(test, take_lost_back(t, 1), 1);
	KUNIT_EXPECT_EQ(test, take_lost_back(t, 2), 1);
	/* @y and the crowd before the last one */
	KUNIT_EXPECT_EQ(test, take_lost_back(t, NR_CROWD), 0);
	KUNIT_EXPECT_EQ(test, t->core->nr_processing, 1);
	kwq_core_remove_holder(t->core, &t->crowd[0]);
	KUNIT_EXPECT_EQ(test, take_lost_back(t, 1), 1);
	KUNIT_EXPECT_EQ(test, t->core->nr_processing, 0);
	for (i = 1; i < NR_CROWD; i++)
		kwq_core_remove_holder(t->core, &t->crowd[i]);
}

static struct kunit_case holders_test_cases[] = {
	KUNIT_CASE(items_of_a_holder_are_in_its_line),
	KUNIT_CASE(item_leaves_its_line),
	KUNIT_CASE(items_with_groups_are_in_lines),
	KUNIT_CASE(longest_running_is_of_any_holder),
	KUNIT_CASE(search_takes_several_calls),
	KUNIT_CASE(search_goes_on_behind_a_holder_that_is_gone),
	KUNIT_CASE(term_ends_when_its_time_has_come),
	KUNIT_CASE(term_is_a_pause_of_its_own),
	KUNIT_CASE(lost_items_are_found_within_a_budget),
	{}
};

static struct kunit_suite holders_test_suite = {
	.name = "kwq-holders",
	.init = holders_test_init,
	.exit = holders_test_exit,
	.test_cases = holders_test_cases,
};

kunit_test_suite(holders_test_suite);

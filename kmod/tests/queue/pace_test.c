// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pace of a processor's timers (O8), on a clock of the test's own: by itself, and with
 * many timers that are due at once.
 */
#include <kunit/test.h>
#include <linux/sched.h>
#include "queue/pace.h"

#define US		((u64)NSEC_PER_USEC)
#define MS		((u64)NSEC_PER_MSEC)

static void works_without_a_debt(struct kunit *test)
{
	struct kwq_pace pace = { };

	KUNIT_EXPECT_TRUE(test, kwq_pace_may_work(&pace, 0, 0));
	KUNIT_EXPECT_TRUE(test, kwq_pace_may_work(&pace, 0, MS));
	KUNIT_EXPECT_FALSE(test, kwq_pace_is_shared(&pace, 0));
}

static void work_is_paid_with_time_off(struct kunit *test)
{
	struct kwq_pace pace = { };

	/* O8: at most half of the time */
	kwq_pace_worked(&pace, 10 * MS, 10 * MS + 401 * US);
	KUNIT_EXPECT_FALSE(test, kwq_pace_may_work(&pace, 0, 10 * MS + 401 * US));
	KUNIT_EXPECT_TRUE(test, kwq_pace_may_work(&pace, 0, 10 * MS + 402 * US));
	KUNIT_EXPECT_EQ(test, pace.paid, 10 * MS + 802 * US);
	kwq_pace_worked(&pace, 11 * MS, 11 * MS + 1);
	KUNIT_EXPECT_EQ(test, pace.paid, 11 * MS + 2);
}

static void who_was_put_off_may_work_sooner(struct kunit *test)
{
	struct kwq_pace pace = { .paid = 10 * MS };

	/* O8: more debt is allowed in its slot, and most if that was in vain */
	KUNIT_EXPECT_FALSE(test, kwq_pace_may_work(&pace, 0, 10 * MS - 401 * US));
	KUNIT_EXPECT_TRUE(test, kwq_pace_may_work(&pace, 1, 10 * MS - 700 * US));
	KUNIT_EXPECT_FALSE(test, kwq_pace_may_work(&pace, 1, 10 * MS - 701 * US));
	KUNIT_EXPECT_TRUE(test, kwq_pace_may_work(&pace, 2, 10 * MS - 1000 * US));
	KUNIT_EXPECT_FALSE(test, kwq_pace_may_work(&pace, 2, 10 * MS - 1001 * US));
	KUNIT_EXPECT_FALSE(test, kwq_pace_may_work(&pace, 200, 10 * MS - 1001 * US));
}

static void slots_lie_behind_each_other(struct kunit *test)
{
	struct kwq_pace pace = { .paid = 10 * MS };
	int i;

	for (i = 0; i < 100; i++)
		kwq_pace_learn(&pace, 20 * US);
	KUNIT_EXPECT_GE(test, pace.spacing, 39 * US);
	KUNIT_EXPECT_LE(test, pace.spacing, 40 * US);
	pace.spacing = 40 * US;
	KUNIT_EXPECT_EQ(test, kwq_pace_reserve(&pace, 9 * MS), 10 * MS);
	KUNIT_EXPECT_EQ(test, kwq_pace_reserve(&pace, 9 * MS), 10 * MS + 40 * US);
	KUNIT_EXPECT_TRUE(test, kwq_pace_is_shared(&pace, 10 * MS));
	KUNIT_EXPECT_EQ(test, kwq_pace_reserve(&pace, 10 * MS), 10 * MS + 80 * US);
	/* The timer of the last slot is alone. */
	KUNIT_EXPECT_FALSE(test, kwq_pace_is_shared(&pace, 10 * MS + 80 * US));
	KUNIT_EXPECT_EQ(test, kwq_pace_reserve(&pace, 20 * MS),
			20 * MS + KWQ_PACE_REST_MIN_NS);
}

static void run_is_brief_while_others_wait(struct kunit *test)
{
	struct kwq_pace pace = { };
	u64 now = 10 * MS;

	/* O8: a timer that is alone stops at the pace. */
	KUNIT_EXPECT_TRUE(test, kwq_pace_may_go_on(&pace, now, now + MS, true));
	pace.paid = now + KWQ_PACE_DEBT_NS;
	KUNIT_EXPECT_TRUE(test, kwq_pace_may_go_on(&pace, now, now, true));
	pace.paid++;
	KUNIT_EXPECT_FALSE(test, kwq_pace_may_go_on(&pace, now, now, false));
	/* Another one stops after one whole hold, or after a short time. */
	pace = (struct kwq_pace){ .last = now + 1 };
	KUNIT_EXPECT_FALSE(test, kwq_pace_may_go_on(&pace, now, now, true));
	KUNIT_EXPECT_TRUE(test, kwq_pace_may_go_on(&pace, now, now + KWQ_PACE_BRIEF_NS - 1, false));
	KUNIT_EXPECT_FALSE(test, kwq_pace_may_go_on(&pace, now, now + KWQ_PACE_BRIEF_NS, false));
	pace.last = now;
	KUNIT_EXPECT_TRUE(test, kwq_pace_may_go_on(&pace, now, now + KWQ_PACE_BRIEF_NS, true));
}

static void clock_that_stands_or_jumps(struct kunit *test)
{
	struct kwq_pace pace = { };

	/* O8: a run that was interrupted for a minute does not cost a minute. */
	kwq_pace_worked(&pace, MS, MS);
	KUNIT_EXPECT_EQ(test, pace.paid, MS);
	kwq_pace_worked(&pace, 2 * MS, MS);
	KUNIT_EXPECT_EQ(test, pace.paid, 2 * MS);
	kwq_pace_worked(&pace, 2 * MS, 60000 * MS);
	KUNIT_EXPECT_EQ(test, pace.paid, 2 * MS + 2 * KWQ_PACE_WORK_MAX_NS);
	kwq_pace_learn(&pace, 60000 * MS);
	KUNIT_EXPECT_LE(test, pace.spacing, 2 * KWQ_PACE_WORK_MAX_NS);
	pace.spacing = 0;
	kwq_pace_learn(&pace, 0);
	KUNIT_EXPECT_EQ(test, pace.spacing, KWQ_PACE_SLOT_MIN_NS);
}

/* ---- Many timers that are due at once ---- */

#define PUT_OFF_NS	700	/* cost of putting a timer off */
#define HOLDS_PER_RUN	8

struct due {
	u64 at;			/* when it fires */
	u64 hold;		/* length of one hold */
	bool whole;		/* a hold leaves its queue more to do */
	int left;		/* number of holds left to do, of all its queues */
	u8 put_off;
	u64 worked;		/* when it last worked */
	u64 gap;		/* longest time without a turn */
};

struct crowd {
	struct kwq_pace pace;
	u64 now;
	u64 work;
	u64 row;		/* longest time without a pause */
	int nr;
	struct due due[];
};

static struct crowd *make_crowd(struct kunit *test, int nr, u64 hold, int left)
{
	struct crowd *c = kunit_kzalloc(test, struct_size(c, due, nr), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, c);
	c->now = 1000 * MS;
	c->nr = nr;
	for (i = 0; i < nr; i++)
		c->due[i] = (struct due){
			.at = c->now, .worked = c->now, .hold = hold, .left = left,
			.whole = hold > 10 * US,
		};
	return c;
}

static struct due *first_due(struct crowd *c)
{
	struct due *first = NULL;
	int i;

	for (i = 0; i < c->nr; i++)
		if (c->due[i].left && (!first || c->due[i].at < first->at))
			first = &c->due[i];
	return first;
}

/* Like kwq_run_timer(). */
static void run(struct crowd *c, struct due *due)
{
	bool alone = !kwq_pace_is_shared(&c->pace, c->now);
	u64 begun = c->now, at;
	int holds = 0;

	if (!kwq_pace_may_work(&c->pace, due->put_off, c->now)) {
		c->now += PUT_OFF_NS;
		kwq_pace_worked(&c->pace, begun, c->now);
		due->put_off = min(due->put_off + 1, KWQ_PACE_PUT_OFF_MAX);
		due->at = kwq_pace_reserve(&c->pace, c->now);
		return;
	}
	do {
		at = c->now;
		c->now += due->hold;
		holds++;
		kwq_pace_worked(&c->pace, at, c->now);
	} while (--due->left && holds < HOLDS_PER_RUN &&
		 kwq_pace_may_go_on(&c->pace, begun, c->now, due->whole));
	if (due->put_off)
		kwq_pace_learn(&c->pace, (c->now - begun) / (alone ? holds : 1));
	due->put_off = 1;
	if (due->left)
		due->at = kwq_pace_reserve(&c->pace, c->now);
	due->gap = max(due->gap, c->now - due->worked);
	due->worked = c->now;
	c->work += c->now - begun;
}

/* Like the kernel: runs all timers that were due at the begin. */
static void run_all(struct crowd *c)
{
	struct due *due;
	u64 begun;

	while ((due = first_due(c))) {
		c->now = max(c->now, due->at);
		begun = c->now;
		for (; due && due->at <= begun; due = first_due(c))
			run(c, due);
		c->row = max(c->row, c->now - begun);
		cond_resched();
	}
}

static const struct crowd_case {
	const char *desc;
	int nr;
	int left;
	u64 row;
} crowd_cases[] = {
	{ "1 timer", 1, 300, 400 * US },
	{ "2 timers", 2, 200, 500 * US },
	{ "16 timers", 16, 100, 700 * US },
	/* More than kwq has. */
	{ "64 timers", 64, 50, 1000 * US },
};

KUNIT_ARRAY_PARAM_DESC(crowd, crowd_cases, desc);

static void crowd_keeps_the_pace(struct kunit *test)
{
	const struct crowd_case *p = test->param_value;
	struct crowd *c = make_crowd(test, p->nr, 37 * US, p->left);
	u64 begun = c->now, share = 2 * 37 * US * p->nr, gap = 0;
	int i;

	/* O8: no stall above 2 ms */
	run_all(c);
	KUNIT_EXPECT_LE(test, c->row, p->row);
	/* Tasks have half of the time, and the timers nearly the other half. */
	KUNIT_EXPECT_LE(test, c->work, (c->now - begun) * 11 / 20 + MS);
	KUNIT_EXPECT_GE(test, c->work, (c->now - begun) * 9 / 20 - MS);
	/* No timer waits much longer for its turn than the others. */
	for (i = 0; i < c->nr; i++)
		gap = max(gap, c->due[i].gap);
	KUNIT_EXPECT_LE(test, gap, 3 * share + MS);
}

static void one_item_is_not_late_behind_a_crowd(struct kunit *test)
{
	struct crowd *c = make_crowd(test, 16, 37 * US, 50);
	struct due *last = &c->due[15];

	/* D5 O8: even if its timer is the last of all that are due at once */
	last->left = 1;
	last->hold = 2 * US;
	run_all(c);
	KUNIT_EXPECT_LE(test, last->worked, 1001 * MS + 16 * 2 * 37 * US);
}

static void many_single_items_are_soon_through(struct kunit *test)
{
	struct crowd *c = make_crowd(test, 16, 2 * US, 500);

	/* O8: 8,000 queues with one item each */
	run_all(c);
	KUNIT_EXPECT_LE(test, c->now, 1040 * MS);
	KUNIT_EXPECT_LE(test, c->row, MS);
}

static struct kunit_case pace_test_cases[] = {
	KUNIT_CASE(works_without_a_debt),
	KUNIT_CASE(work_is_paid_with_time_off),
	KUNIT_CASE(who_was_put_off_may_work_sooner),
	KUNIT_CASE(slots_lie_behind_each_other),
	KUNIT_CASE(run_is_brief_while_others_wait),
	KUNIT_CASE(clock_that_stands_or_jumps),
	KUNIT_CASE_PARAM(crowd_keeps_the_pace, crowd_gen_params),
	KUNIT_CASE(one_item_is_not_late_behind_a_crowd),
	KUNIT_CASE(many_single_items_are_soon_through),
	{}
};

static struct kunit_suite pace_test_suite = {
	.name = "kwq-pace",
	.test_cases = pace_test_cases,
};

kunit_test_suite(pace_test_suite);

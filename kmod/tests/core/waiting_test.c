// SPDX-License-Identifier: GPL-2.0-only
/*
 * The set of waiting times, with crowds and small budgets. The core's suites have few
 * items, and enough budget.
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/prandom.h>
#include "core/waiting.h"

#define NR	400

struct waiting_test {
	struct kwq_waiting waiting;
	struct rnd_state chance;
	ktime_t now;
	u64 adds;
	bool untold;			/* an add was the first, but did not return true */
	struct single {
		struct kwq_wait wait;
		u64 place;		/* place of its add; 0 while it does not wait */
	} one[NR];
};

static int waiting_test_init(struct kunit *test)
{
	struct waiting_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	kwq_waiting_init(&t->waiting);
	prandom_seed_state(&t->chance, 1);
	test->priv = t;
	return 0;
}

static u32 below(struct waiting_test *t, u32 bound)
{
	return prandom_u32_state(&t->chance) % bound;
}

static void add(struct waiting_test *t, struct single *one, ktime_t when)
{
	ktime_t next = kwq_waiting_next(&t->waiting);
	bool told;

	one->wait.expires = when;
	one->place = ++t->adds;
	told = kwq_waiting_add(&t->waiting, &one->wait, t->now);
	if (!told && kwq_waiting_next(&t->waiting) != next)
		t->untold = true;
}

static void del(struct waiting_test *t, struct single *one)
{
	kwq_waiting_del(&t->waiting, &one->wait);
	one->place = 0;
}

static struct single *expire(struct waiting_test *t, unsigned int *budget)
{
	struct kwq_wait *wait = kwq_waiting_expire(&t->waiting, t->now, budget);
	struct single *one = wait ? container_of(wait, struct single, wait) : NULL;

	if (one)
		one->place = 0;
	return one;
}

/* Finds the earliest by looking at all. */
static struct single *earliest(struct waiting_test *t)
{
	struct single *one, *first = NULL;

	for (one = t->one; one < t->one + NR; one++) {
		if (!one->place)
			continue;
		if (!first || one->wait.expires < first->wait.expires ||
		    (one->wait.expires == first->wait.expires &&
		     one->place < first->place))
			first = one;
	}
	return first;
}

static void expect_next(struct kunit *test, ktime_t when)
{
	struct waiting_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, kwq_waiting_next(&t->waiting), when);
}

static void is_empty_at_first(struct kunit *test)
{
	struct waiting_test *t = test->priv;
	unsigned int budget = 1;

	t->now = KTIME_MAX;
	expect_next(test, KTIME_MAX);
	KUNIT_EXPECT_PTR_EQ(test, kwq_waiting_take(&t->waiting), NULL);
	KUNIT_EXPECT_PTR_EQ(test, expire(t, &budget), NULL);
	KUNIT_EXPECT_EQ(test, budget, 1);
}

/* D5 D7: the least and the greatest time, and each a ns earlier. */
static void knows_every_time(struct kunit *test)
{
	struct waiting_test *t = test->priv;
	unsigned int budget = UINT_MAX;
	struct single *one = t->one;
	int bit;

	for (bit = 0; bit < 63; bit++, one += 2) {
		add(t, one, BIT_ULL(bit));
		add(t, one + 1, bit == 62 ? KTIME_MAX : BIT_ULL(bit + 1) - 1);
	}
	while ((one = earliest(t))) {
		ktime_t when = one->wait.expires;

		expect_next(test, when);
		t->now = when - 1;
		KUNIT_EXPECT_PTR_EQ(test, expire(t, &budget), NULL);
		t->now = when;
		KUNIT_EXPECT_PTR_EQ(test, expire(t, &budget), one);
		if (one->place)
			return;
	}
	expect_next(test, KTIME_MAX);
}

/* D4: a time added while a slot is half moved stays behind its equals. */
static void equals_keep_their_order(struct kunit *test)
{
	struct waiting_test *t = test->priv;
	unsigned int budget;
	int i;

	add(t, &t->one[0], 1000);
	for (i = 1; i <= 10; i++)
		add(t, &t->one[i], 1001);
	t->now = 1000;
	budget = 3;
	KUNIT_EXPECT_PTR_EQ(test, expire(t, &budget), &t->one[0]);
	KUNIT_EXPECT_EQ(test, budget, 0);
	add(t, &t->one[11], 1001);
	t->now = 1001;
	for (i = 1; i <= 11; i++) {
		budget = UINT_MAX;
		KUNIT_EXPECT_PTR_EQ(test, expire(t, &budget), &t->one[i]);
	}
}

/* D6: a call touches no more items than its budget, however many are due. */
static void does_no_more_than_it_may(struct kunit *test)
{
	struct waiting_test *t = test->priv;
	unsigned int budget, calls = 0, came = 0;
	int i;

	for (i = 0; i < NR; i++)
		add(t, &t->one[i], 1 << 20 | i);
	t->now = KTIME_MAX;
	while (came < NR && ++calls < 10000) {
		budget = 1;
		came += !!expire(t, &budget);
		KUNIT_EXPECT_EQ(test, budget, 0);
	}
	KUNIT_EXPECT_EQ(test, came, NR);
	/* Each item was moved at least once, and at most once for each different digit. */
	KUNIT_EXPECT_GE(test, calls, 2 * NR - 64);
	KUNIT_EXPECT_LE(test, calls, 4 * NR);
}

/* D6: after the earliest time is removed, the next one or a bound is known. */
static void finds_the_first_again(struct kunit *test)
{
	struct waiting_test *t = test->priv;
	unsigned int budget = UINT_MAX;
	int i;

	for (i = 0; i < 10; i++)
		add(t, &t->one[i], 1 << 20 | i);
	del(t, &t->one[0]);
	expect_next(test, 1 << 20 | 1);
	for (i = 10; i < NR; i++)
		add(t, &t->one[i], 1 << 20 | i);
	del(t, &t->one[1]);
	KUNIT_EXPECT_LE(test, kwq_waiting_next(&t->waiting), 1 << 20 | 2);
	/* A lookup costs one step only. */
	t->now = 1 << 20 | 1;
	KUNIT_EXPECT_PTR_EQ(test, expire(t, &budget), NULL);
	expect_next(test, 1 << 20 | 2);
}

static void removes_from_an_opened_slot(struct kunit *test)
{
	struct waiting_test *t = test->priv;
	unsigned int budget = 1;

	add(t, &t->one[0], 1000);
	add(t, &t->one[1], 1000);
	add(t, &t->one[2], 1001);
	t->now = 1000;
	KUNIT_EXPECT_PTR_EQ(test, expire(t, &budget), &t->one[0]);
	expect_next(test, 1000);
	del(t, &t->one[1]);
	expect_next(test, 1001);
	del(t, &t->one[2]);
	expect_next(test, KTIME_MAX);
}

/* Q8: takes each item once, from slots and from an opened one, without looking at others. */
static void takes_all_that_are_there(struct kunit *test)
{
	struct waiting_test *t = test->priv;
	unsigned int budget = 3, taken = 0;
	struct hlist_node *behind;
	struct kwq_wait *wait;
	struct single *one;
	int i;

	for (i = 0; i < NR; i++)
		add(t, &t->one[i], 1 << 20 | i);
	t->now = 1 << 20;
	expire(t, &budget);
	behind = t->waiting.opening.nodes.first->next;
	wait = kwq_waiting_take(&t->waiting);
	/* D6: the others are still there. */
	KUNIT_EXPECT_PTR_EQ(test, t->waiting.opening.nodes.first, behind);
	for (; wait; wait = kwq_waiting_take(&t->waiting)) {
		one = container_of(wait, struct single, wait);
		KUNIT_EXPECT_NE(test, one->place, 0);
		one->place = 0;
		taken++;
	}
	KUNIT_EXPECT_EQ(test, taken, NR - 1);
	KUNIT_EXPECT_PTR_EQ(test, earliest(t), NULL);
	expect_next(test, KTIME_MAX);
}

/* A time: near, isolated, far, or in a far crowd. */
static ktime_t some_time(struct waiting_test *t)
{
	switch (below(t, 4)) {
	case 0:
		return t->now + below(t, 64);
	case 1:
		return t->now - t->now % 1000 + 1000;
	case 2:
		return t->now + ((u64)below(t, 1U << 31) << below(t, 16));
	}
	return t->now - t->now % 100000 + 200000 + below(t, 300);
}

static const char *operate(struct waiting_test *t)
{
	struct single *one = &t->one[below(t, NR)];
	struct single *first = earliest(t), *due;
	unsigned int budget = 1 + below(t, 8);

	if (kwq_waiting_next(&t->waiting) > (first ? first->wait.expires : KTIME_MAX))
		return "what is next is too late";
	switch (below(t, 8)) {
	case 0:
		t->now += below(t, 500);
		break;
	case 1:
		if (one->place)
			del(t, one);
		break;
	case 2:
	case 3:
	case 4:
		if (!one->place)
			add(t, one, some_time(t));
		break;
	default:
		due = expire(t, &budget);
		if (due && (due != first || due->wait.expires > t->now))
			return "another one was due";
		if (!due && budget && first && first->wait.expires <= t->now)
			return "one that is due was forgotten";
	}
	return NULL;
}

static void random_crowds(struct kunit *test)
{
	struct waiting_test *t = test->priv;
	const char *wrong = NULL;
	int n;

	for (n = 0; n < 100000 && !wrong; n++)
		wrong = operate(t);
	KUNIT_EXPECT_STREQ_MSG(test, wrong ?: "", "", "operation %d", n);
	KUNIT_EXPECT_FALSE(test, t->untold);
}

static struct kunit_case waiting_cases[] = {
	KUNIT_CASE(is_empty_at_first),
	KUNIT_CASE(knows_every_time),
	KUNIT_CASE(equals_keep_their_order),
	KUNIT_CASE(does_no_more_than_it_may),
	KUNIT_CASE(finds_the_first_again),
	KUNIT_CASE(removes_from_an_opened_slot),
	KUNIT_CASE(takes_all_that_are_there),
	KUNIT_CASE_SLOW(random_crowds),
	{}
};

static struct kunit_suite waiting_suite = {
	.name = "kwq-waiting",
	.init = waiting_test_init,
	.test_cases = waiting_cases,
};

kunit_test_suite(waiting_suite);

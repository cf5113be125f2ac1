// SPDX-License-Identifier: GPL-2.0-only
/*
 * Retries of the state machine, rule by rule: rate-limited adds, counts of requeues, dead
 * items, and measurements. Each test chooses its own times.
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/time64.h>
#include <uapi/linux/kwq.h>
#include "core/core.h"
#include "core/limiter.h"
#include "core_check.h"
#include "tests/form.h"

#define NONE		KWQ_PRIORITY_NONE
#define READY		KWQ_ITEM_DIRTY
#define DIRTY		KWQ_ITEM_DIRTY
#define PROCESSING	KWQ_ITEM_PROCESSING
#define WAITING		KWQ_ITEM_WAITING
#define DEAD		KWQ_ITEM_DEAD

struct retry_test {
	struct kwq_bulk bulk;	/* of @core, if it is large */
	struct kwq_core core;
	struct kwq_holder x;
	struct kwq_holder y;
	struct kwq_item a, b, c;
	struct kwq_limiter_config config;
};

/* By default, retries come after 10, 20, 40 ... 10240 ns. */
static int retry_test_init(struct kunit *test)
{
	struct retry_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	kwq_core_init(&t->core, kwq_test_form);
	kwq_holder_init(&t->x);
	kwq_holder_init(&t->y);
	kwq_item_init(&t->a);
	kwq_item_init(&t->b);
	kwq_item_init(&t->c);
	t->config.nr = 1;
	t->config.limiters[0].kind = KWQ_LIMITER_EXPONENTIAL;
	t->config.limiters[0].u.exponential.base = 10;
	t->config.limiters[0].u.exponential.max = 10240;
	kwq_test_limit(test, &t->core.limiter, &t->config, 0);
	test->priv = t;
	return 0;
}

/* Every case ends with a sound core. */
static void retry_test_exit(struct kunit *test)
{
	struct retry_test *t = test->priv;
	struct kwq_holder *const holders[] = { &t->x, &t->y };

	KUNIT_EXPECT_STREQ(test, "",
			   kwq_core_broken(&t->core, holders, 2) ?: "");
}

static void configure(struct kunit *test)
{
	struct retry_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, kwq_limiter_config_check(&t->config), 0);
	kwq_test_limit(test, &t->core.limiter, &t->config, 0);
}

static void use_bucket(struct kunit *test, u64 period, u32 burst)
{
	struct retry_test *t = test->priv;

	t->config.limiters[0] = (struct kwq_limiter){
		.kind = KWQ_LIMITER_BUCKET,
		.u.bucket = { .period = period, .events = 1, .burst = burst },
	};
	configure(test);
}

static void die_after(struct kunit *test, u32 requeues)
{
	struct retry_test *t = test->priv;

	t->config.dead_after = requeues;
	configure(test);
}

static int add(struct retry_test *t, struct kwq_item *item, ktime_t now)
{
	return kwq_core_add(&t->core, item, NONE, false, now);
}

static int retry_with(struct retry_test *t, struct kwq_item *item, int priority,
		      enum kwq_wait_policy policy, ktime_t now)
{
	return kwq_core_add_rate_limited(&t->core, item, priority, policy, now, 0);
}

static int retry(struct retry_test *t, struct kwq_item *item, ktime_t now)
{
	return retry_with(t, item, NONE, KWQ_WAIT_EARLIER, now);
}

static struct kwq_item *get(struct retry_test *t, ktime_t now)
{
	return kwq_test_get(&t->core, &t->x, now);
}

static int done(struct retry_test *t, struct kwq_item *item, ktime_t now)
{
	return kwq_core_done(&t->core, &t->x, item, now);
}

static u32 requeues(struct retry_test *t, struct kwq_item *item, ktime_t now)
{
	return kwq_core_num_requeues(&t->core, item, now);
}

static struct kwq_item *expire(struct retry_test *t, ktime_t now)
{
	unsigned int budget = UINT_MAX;

	return kwq_core_expire(&t->core, now, &budget);
}

/* Makes @item dead, from any state in which a retry can do so. */
static void kill(struct kunit *test, struct kwq_item *item, ktime_t now)
{
	struct retry_test *t = test->priv;

	item->requeues = t->config.dead_after;
	KUNIT_ASSERT_EQ(test, retry(t, item, now), KWQ_DEAD);
}

#define EXPECT_ITEM(test, got, item) \
	KUNIT_EXPECT_PTR_EQ(test, got, (struct kwq_item *)(item))

/* ---- L1: the limiters choose the time ---- */

static void retry_waits_for_the_limiters_time(struct kunit *test)
{
	struct retry_test *t = test->priv;
	ktime_t now = 1000;
	int i;

	/* L1 L2 L9 */
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), 0);
	for (i = 0; i < 12; i++) {
		KUNIT_EXPECT_EQ(test, retry(t, &t->a, now), KWQ_WAITING);
		KUNIT_EXPECT_EQ(test, requeues(t, &t->a, now), i + 1);
		KUNIT_EXPECT_EQ(test, kwq_core_next_time(&t->core),
				now + min(10 << i, 10240));
		now = kwq_core_next_time(&t->core);
		EXPECT_ITEM(test, expire(t, now - 1), NULL);
		EXPECT_ITEM(test, expire(t, now), &t->a);
		EXPECT_ITEM(test, get(t, now), &t->a);
		KUNIT_EXPECT_EQ(test, done(t, &t->a, now), KWQ_FINISHED);
	}
	KWQ_EXPECT_METRIC(test, t, rate_limited, 12);
	KWQ_EXPECT_METRIC(test, t, retries, 12);
	KWQ_EXPECT_METRIC(test, t, adds, 12);
}

static void retry_while_processing(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L1 D3: like a controller, before its done. */
	add(t, &t->a, 0);
	get(t, 0);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, t->a.state, PROCESSING | WAITING);
	KUNIT_EXPECT_EQ(test, done(t, &t->a, 0), KWQ_STILL_WAITING);
	EXPECT_ITEM(test, expire(t, 10), &t->a);
	EXPECT_ITEM(test, get(t, 10), &t->a);
}

static void retry_of_what_waits(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L1 D2: the limiter is asked and the count rises, but the earlier time stays. */
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 10);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), 2);
	KWQ_EXPECT_METRIC(test, t, rate_limited, 2);
	KWQ_EXPECT_METRIC(test, t, retries, 2);
	KWQ_EXPECT_METRIC(test, t, coalesced, 1);
	EXPECT_ITEM(test, expire(t, 10), &t->a);
	EXPECT_ITEM(test, expire(t, KTIME_MAX), NULL);
}

static void retry_without_a_delay_leaves_the_wait_alone(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L1 D1 D3: a bucket that has a token gives a delay of zero, which is an add. */
	use_bucket(test, 1000, 3);
	kwq_core_add_at(&t->core, &t->a, NONE, 10, KWQ_WAIT_EARLIER, 0);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, t->a.state, READY | WAITING);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 10);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), 1);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), KWQ_COALESCED);
	EXPECT_ITEM(test, get(t, 0), &t->a);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), KWQ_DIRTIED);
	KUNIT_EXPECT_EQ(test, t->a.state, PROCESSING | DIRTY | WAITING);
	KWQ_EXPECT_METRIC(test, t, rate_limited, 3);
	KWQ_EXPECT_METRIC(test, t, retries, 4);
	KWQ_EXPECT_METRIC(test, t, coalesced, 1);
	KUNIT_EXPECT_EQ(test, done(t, &t->a, 0), KWQ_REQUEUED | KWQ_STILL_WAITING);
	EXPECT_ITEM(test, get(t, 0), &t->a);
	KUNIT_EXPECT_EQ(test, done(t, &t->a, 0), KWQ_STILL_WAITING);
	/* The event of the first add gets its run, too. */
	EXPECT_ITEM(test, expire(t, 10), &t->a);
}

static void retry_without_a_delay_keeps_its_count(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L10: the old count has expired, and the new one has not. */
	t->config.forget_after = 100;
	use_bucket(test, 1, 3);
	retry(t, &t->a, 0);
	get(t, 0);
	done(t, &t->a, 0);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 1000), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 1000), 1);
}

static void retry_without_a_delay_keeps_to_the_policy(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* D2: with a policy, zero is a time like any other. */
	use_bucket(test, 1000, 3);
	kwq_core_add_at(&t->core, &t->a, NONE, 10, KWQ_WAIT_EARLIER, 0);
	KUNIT_EXPECT_EQ(test, retry_with(t, &t->a, NONE, KWQ_WAIT_KEEP, 0), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 10);
	KUNIT_EXPECT_EQ(test, retry_with(t, &t->a, NONE, KWQ_WAIT_REPLACE, 0), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, t->a.state, READY);
}

static void retry_keeps_to_the_policy(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L1 D2 */
	retry(t, &t->a, 0);
	KUNIT_EXPECT_EQ(test, retry_with(t, &t->a, NONE, KWQ_WAIT_KEEP, 0),
			KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 10);
	retry_with(t, &t->a, NONE, KWQ_WAIT_LATER, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 40);
	kwq_core_forget(&t->core, &t->a, 0);
	retry_with(t, &t->a, NONE, KWQ_WAIT_LATER, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 40);
	kwq_core_forget(&t->core, &t->a, 0);
	retry_with(t, &t->a, NONE, KWQ_WAIT_REPLACE, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 10);
}

static void retry_without_delay_is_now(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L1 D1 */
	use_bucket(test, 1000, 3);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), KWQ_COALESCED);
	get(t, 0);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), KWQ_DIRTIED);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), 3);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), KWQ_WAITING);
	KWQ_EXPECT_METRIC(test, t, retries, 4);
}

static void retry_with_a_priority(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L1 Q12 */
	retry_with(t, &t->a, 7, KWQ_WAIT_EARLIER, 0);
	expire(t, 10);
	EXPECT_ITEM(test, get(t, 10), &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, 7);
	retry(t, &t->a, 10);
	done(t, &t->a, 10);
	expire(t, 30);
	EXPECT_ITEM(test, get(t, 30), &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, 7);
}

static void retry_at_the_end_of_time(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* D7 */
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, KTIME_MAX - 5), KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), KTIME_MAX);
}

static void retry_after_a_shut_down(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L1 Q8: refused, and no token is taken. */
	use_bucket(test, 1000, 1);
	kwq_core_shut_down(&t->core, true);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), 0);
	KWQ_EXPECT_METRIC(test, t, rate_limited, 0);
	KWQ_EXPECT_METRIC(test, t, retries, 0);
	KUNIT_EXPECT_EQ(test, kwq_rate_limiter_when(t->core.limiter, 0, 0, 0), 0);
}

static void requeues_do_not_wrap(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L2 L9 */
	t->a.requeues = U32_MAX - 1;
	retry(t, &t->a, 0);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), U32_MAX);
	retry_with(t, &t->a, NONE, KWQ_WAIT_REPLACE, 0);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), U32_MAX);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 10240);
}

static void other_adds_are_not_counted(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L9: in client-go, adds after a delay are retries, too. */
	add(t, &t->a, 0);
	kwq_core_add_at(&t->core, &t->b, NONE, 10, KWQ_WAIT_EARLIER, 0);
	kwq_core_add_at(&t->core, &t->c, NONE, 0, KWQ_WAIT_EARLIER, 0);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), 0);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->b, 0), 0);
	KWQ_EXPECT_METRIC(test, t, retries, 2);
	KWQ_EXPECT_METRIC(test, t, rate_limited, 0);
}

static void each_item_has_its_count(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L2 */
	retry(t, &t->a, 0);
	retry_with(t, &t->a, NONE, KWQ_WAIT_LATER, 0);
	retry(t, &t->b, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 20);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->b), 10);
}

/* ---- L8: forget ---- */

static void forget_changes_nothing_else(struct kunit *test)
{
	struct retry_test *t = test->priv;
	static const u8 states[] = {
		0, READY, PROCESSING, PROCESSING | DIRTY, WAITING,
		READY | WAITING, PROCESSING | WAITING,
		PROCESSING | DIRTY | WAITING, DEAD, PROCESSING | DEAD,
	};
	struct kwq_item before;
	int i;

	/* L8 L9: in each state. */
	die_after(test, 3);
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		u8 state = states[i];

		kwq_core_init(&t->core, kwq_test_form);
		kwq_holder_init(&t->x);
		kwq_item_init(&t->a);
		configure(test);
		if (state & (DIRTY | PROCESSING))
			add(t, &t->a, 0);
		if (state & PROCESSING)
			get(t, 0);
		if ((state & (PROCESSING | DIRTY)) == (PROCESSING | DIRTY))
			add(t, &t->a, 0);
		if (state & DEAD)
			kill(test, &t->a, 0);
		if (state & WAITING)
			retry(t, &t->a, 0);
		t->a.requeues = 3;
		KUNIT_ASSERT_EQ(test, t->a.state, state);

		before = t->a;
		KUNIT_EXPECT_EQ(test, kwq_core_forget(&t->core, &t->a, 0), 3);
		KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), 0);
		before.requeues = 0;
		KUNIT_EXPECT_MEMEQ(test, &t->a, &before, sizeof(before));
		KUNIT_EXPECT_EQ(test, kwq_core_forget(&t->core, &t->a, 0), 0);
		if (state & PROCESSING)
			KUNIT_EXPECT_GE(test, done(t, &t->a, 0), 0);
	}
}

static void forgotten_item_begins_again(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L8 */
	t->a.requeues = 5;
	kwq_core_forget(&t->core, &t->a, 0);
	retry(t, &t->a, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 10);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), 1);
}

static void removed_item_has_no_count(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L8 Q11 */
	retry(t, &t->a, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_remove(&t->core, &t->a), KWQ_WAS_WAITING);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), 0);

	add(t, &t->a, 0);
	get(t, 0);
	retry(t, &t->a, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_remove(&t->core, &t->a),
			KWQ_WAS_WAITING | KWQ_WAS_PROCESSING);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), 0);
	done(t, &t->a, 0);

	/* A remove of nothing changes nothing. */
	t->a.requeues = 4;
	KUNIT_EXPECT_EQ(test, kwq_core_remove(&t->core, &t->a), -ENOENT);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), 4);
}

static void count_outlives_all_else(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L9: done, abandoned, put back, added: only forget forgets. */
	retry(t, &t->a, 0);
	expire(t, 10);
	get(t, 10);
	kwq_core_unget(&t->core, &t->a);
	get(t, 10);
	kwq_core_abandon(&t->core, &t->a, 10);
	get(t, 10);
	add(t, &t->a, 10);
	done(t, &t->a, 10);
	get(t, 10);
	done(t, &t->a, 10);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, KTIME_MAX), 1);
}

/* ---- L10: duplicates are free, counts expire ---- */

static void coalesced_retry_costs_nothing(struct kunit *test)
{
	struct retry_test *t = test->priv;
	int i;

	/* L10: it takes no token, raises no count, and keeps its time. */
	t->config.flags = KWQ_CONFIG_COALESCE;
	use_bucket(test, 1000, 1);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), KWQ_WAITING);
	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ(test, retry_with(t, &t->a, NONE,
						 KWQ_WAIT_REPLACE, 500),
				KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), 2);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 1000);
	KWQ_EXPECT_METRIC(test, t, rate_limited, 2);
	KWQ_EXPECT_METRIC(test, t, retries, 2);
	KWQ_EXPECT_METRIC(test, t, coalesced, 10);
	KUNIT_EXPECT_EQ(test, retry(t, &t->b, 0), KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->b), 2000);
}

static void coalesced_retry_has_a_priority(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L10 Q12 */
	t->config.flags = KWQ_CONFIG_COALESCE;
	configure(test);
	retry_with(t, &t->a, 3, KWQ_WAIT_EARLIER, 0);
	retry_with(t, &t->a, 9, KWQ_WAIT_EARLIER, 0);
	retry_with(t, &t->a, 1, KWQ_WAIT_EARLIER, 0);
	retry(t, &t->a, 0);
	expire(t, 10);
	KUNIT_EXPECT_EQ(test, t->a.priority, 9);
}

static void without_coalescing_each_retry_costs(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L10: like client-go. */
	use_bucket(test, 1000, 1);
	retry(t, &t->a, 0);
	retry(t, &t->a, 0);
	retry(t, &t->a, 0);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), 3);
	retry(t, &t->b, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->b), 3000);
}

static void coalescing_is_of_what_waits(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L10: for ready and processing items the limiters are asked. */
	t->config.flags = KWQ_CONFIG_COALESCE;
	configure(test);
	add(t, &t->a, 0);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), KWQ_WAITING);
	add(t, &t->b, 0);
	get(t, 0);
	get(t, 0);
	KUNIT_EXPECT_EQ(test, retry(t, &t->b, 0), KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->b, 0), 1);
}

static void count_expires(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L10: exactly so many ns after its done. */
	t->config.forget_after = 100;
	configure(test);
	retry(t, &t->a, 0);
	expire(t, 10);
	get(t, 10);
	done(t, &t->a, 1000);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 1000), 1);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 1099), 1);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 1100), 0);
	KUNIT_EXPECT_EQ(test, kwq_core_forget(&t->core, &t->a, 1100), 0);
}

static void retry_just_before_its_count_expires(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L10 */
	t->config.forget_after = 100;
	configure(test);
	t->a.requeues = 2;
	t->a.since = 1000;
	retry(t, &t->a, 1099);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 1099 + 40);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 1099), 3);
}

static void retry_of_an_expired_count_begins_again(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L10 */
	t->config.forget_after = 100;
	configure(test);
	t->a.requeues = 2;
	t->a.since = 1000;
	retry(t, &t->a, 1100);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 1100 + 10);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 1100), 1);
}

static void first_retry_of_an_item_counts(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L9 L10: however long the queue's clock has been running. */
	t->config.forget_after = 100;
	configure(test);
	retry(t, &t->a, 5000);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 5000), 1);
	expire(t, 5010);
	get(t, 5010);
	retry(t, &t->a, 5010);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->a), 5030);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 5010), 2);
}

static void add_notices_that_a_count_expired(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L10: the count stays forgotten when the item comes back. */
	t->config.forget_after = 100;
	configure(test);
	t->a.requeues = 2;
	t->b.requeues = 2;
	add(t, &t->a, 100);
	kwq_core_add_at(&t->core, &t->b, NONE, 200, KWQ_WAIT_EARLIER, 100);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 100), 0);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->b, 100), 0);
}

static void count_of_what_is_touched_does_not_expire(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L10: waiting, ready, processing. */
	t->config.forget_after = 100;
	configure(test);
	retry(t, &t->a, 0);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 5000), 1);
	expire(t, 5000);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 9000), 1);
	get(t, 9000);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 19000), 1);
	done(t, &t->a, 19000);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 19099), 1);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 19100), 0);
}

static void count_never_expires_if_not_asked_for(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L10 */
	t->a.requeues = 2;
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, KTIME_MAX), 2);
	add(t, &t->a, KTIME_MAX);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, KTIME_MAX), 2);
}

static void longest_time_to_forget(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L10 */
	t->config.forget_after = KTIME_MAX;
	configure(test);
	t->a.requeues = 2;
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, KTIME_MAX - 1), 2);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, KTIME_MAX), 0);
}

/* ---- L11: dead items ---- */

static void item_dies_after_its_tries(struct kunit *test)
{
	struct retry_test *t = test->priv;
	int i;

	/* L11: 3 retries are allowed, and the 4th is one too many. */
	die_after(test, 3);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), KWQ_WAITING);
		expire(t, KTIME_MAX);
		get(t, 0);
		done(t, &t->a, 0);
	}
	KWQ_EXPECT_METRIC(test, t, died, 0);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 77), KWQ_DEAD);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_dead(&t->a));
	KUNIT_EXPECT_FALSE(test, kwq_item_is_idle(&t->a));
	KUNIT_EXPECT_EQ(test, t->a.since, 77);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), 3);
	KWQ_EXPECT_METRIC(test, t, died, 1);
	KWQ_EXPECT_METRIC(test, t, nr_dead, 1);
	KWQ_EXPECT_METRIC(test, t, rate_limited, 3);
	KWQ_EXPECT_METRIC(test, t, retries, 3);
	EXPECT_ITEM(test, expire(t, KTIME_MAX), NULL);
	EXPECT_ITEM(test, get(t, 0), NULL);
}

static void dying_takes_no_token(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L11 */
	t->config.dead_after = 1;
	use_bucket(test, 1000, 1);
	kill(test, &t->a, 0);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), KWQ_DEAD);
	KUNIT_EXPECT_EQ(test, retry(t, &t->b, 0), KWQ_ADDED);
}

static void processing_item_dies_at_its_done(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L11 */
	die_after(test, 1);
	add(t, &t->a, 0);
	get(t, 0);
	kill(test, &t->a, 10);
	KUNIT_EXPECT_FALSE(test, kwq_item_is_dead(&t->a));
	KUNIT_EXPECT_EQ(test, t->a.state, PROCESSING | DEAD);
	KWQ_EXPECT_METRIC(test, t, nr_dead, 0);
	KWQ_EXPECT_METRIC(test, t, died, 1);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 11), KWQ_DEAD);
	KWQ_EXPECT_METRIC(test, t, died, 1);
	KUNIT_EXPECT_EQ(test, done(t, &t->a, 20), KWQ_FINISHED);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_dead(&t->a));
	KWQ_EXPECT_METRIC(test, t, nr_dead, 1);
	KUNIT_EXPECT_EQ(test, t->a.since, 20);
}

static void given_up_item_dies_however_seldom_it_was_tried(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L11 K2 */
	t->a.requeues = 1;
	KUNIT_EXPECT_EQ(test, kwq_core_give_up(&t->core, &t->a, 10), KWQ_DEAD);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_dead(&t->a));
	KUNIT_EXPECT_EQ(test, t->a.since, 10);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 10), 1);
	KWQ_EXPECT_METRIC(test, t, nr_dead, 1);
	KWQ_EXPECT_METRIC(test, t, died, 1);
	KWQ_EXPECT_METRIC(test, t, rate_limited, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_give_up(&t->core, &t->a, 11), KWQ_DEAD);
	KWQ_EXPECT_METRIC(test, t, died, 1);
	KUNIT_EXPECT_EQ(test, t->a.since, 10);
}

static void given_up_while_processing_it_dies_at_its_done(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L11 K2 */
	add(t, &t->a, 0);
	get(t, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_give_up(&t->core, &t->a, 10), KWQ_DEAD);
	KUNIT_EXPECT_EQ(test, t->a.state, PROCESSING | DEAD);
	KWQ_EXPECT_METRIC(test, t, nr_dead, 0);
	done(t, &t->a, 20);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_dead(&t->a));
	KUNIT_EXPECT_EQ(test, t->a.since, 20);
}

static void given_up_item_with_a_run_before_it_gets_it(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L11 K2 */
	add(t, &t->a, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_give_up(&t->core, &t->a, 0), KWQ_COALESCED);
	KWQ_EXPECT_METRIC(test, t, died, 0);
	EXPECT_ITEM(test, get(t, 0), &t->a);
}

static void nothing_is_given_up_after_a_shut_down(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* Q10 K2 */
	add(t, &t->a, 0);
	get(t, 0);
	kwq_core_shut_down(&t->core, true);
	KUNIT_EXPECT_EQ(test, kwq_core_give_up(&t->core, &t->a, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, t->a.state, PROCESSING);
	done(t, &t->a, 0);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
}

static void cancelled_item_is_not_tried_again(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* K3 */
	kwq_core_disable(&t->core, &t->a);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, kwq_core_give_up(&t->core, &t->a, 0), -ESHUTDOWN);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	KWQ_EXPECT_METRIC(test, t, rate_limited, 0);
	KWQ_EXPECT_METRIC(test, t, died, 0);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), 0);
}

static void item_is_enabled_as_often_as_it_was_disabled(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* K8 */
	kwq_core_disable(&t->core, &t->a);
	kwq_core_disable(&t->core, &t->a);
	kwq_core_enable(&t->a);
	KUNIT_EXPECT_EQ(test, add(t, &t->a, 0), -ESHUTDOWN);
	kwq_core_enable(&t->a);
	KUNIT_EXPECT_EQ(test, add(t, &t->a, 0), KWQ_ADDED);
}

static void item_that_was_disabled_too_often_stays_disabled(struct kunit *test)
{
	struct retry_test *t = test->priv;
	int i;

	/* K8: the count does not wrap */
	for (i = 0; i < U16_MAX + 1; i++)
		kwq_core_disable(&t->core, &t->a);
	for (i = 0; i < U16_MAX + 1; i++)
		kwq_core_enable(&t->a);
	KUNIT_EXPECT_EQ(test, add(t, &t->a, 0), -ESHUTDOWN);
	kwq_item_init(&t->a);
	KUNIT_EXPECT_EQ(test, add(t, &t->a, 0), KWQ_ADDED);
}

static void cancelled_dead_item_is_dead_no_more(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* K3 L11: dead, and dead at its done */
	die_after(test, 1);
	kill(test, &t->a, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_disable(&t->core, &t->a), KWQ_WAS_DEAD);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	add(t, &t->b, 0);
	get(t, 0);
	kill(test, &t->b, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_disable(&t->core, &t->b),
			KWQ_WAS_DEAD | KWQ_WAS_PROCESSING);
	done(t, &t->b, 0);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->b));
	KWQ_EXPECT_METRIC(test, t, nr_dead, 0);
}

static void item_that_has_a_run_before_it_does_not_die(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L11: ready, waiting or dirty: an earlier add gets its run. */
	die_after(test, 1);
	t->a.requeues = 1;
	add(t, &t->a, 0);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, t->a.state, READY);
	get(t, 0);
	add(t, &t->a, 0);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), KWQ_DIRTY);
	KUNIT_EXPECT_EQ(test, t->a.state, PROCESSING | DIRTY);

	t->b.requeues = 1;
	kwq_core_add_at(&t->core, &t->b, NONE, 10, KWQ_WAIT_EARLIER, 0);
	KUNIT_EXPECT_EQ(test, retry(t, &t->b, 0), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, t->b.state, WAITING);
	KUNIT_EXPECT_EQ(test, kwq_core_due(&t->core, &t->b), 10);

	KWQ_EXPECT_METRIC(test, t, coalesced, 3);
	KWQ_EXPECT_METRIC(test, t, died, 0);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->b, 0), 1);
}

static void add_revives(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L11: with all its tries. */
	die_after(test, 1);
	kill(test, &t->a, 0);
	KUNIT_EXPECT_EQ(test, add(t, &t->a, 0), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, t->a.state, READY);
	KWQ_EXPECT_METRIC(test, t, nr_dead, 0);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), 0);
	KWQ_EXPECT_METRIC(test, t, died, 1);
	EXPECT_ITEM(test, get(t, 0), &t->a);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), KWQ_WAITING);
}

static void timed_add_revives(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L11: at once, not when its time comes. */
	die_after(test, 1);
	kill(test, &t->a, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_add_at(&t->core, &t->a, NONE, 10,
					      KWQ_WAIT_EARLIER, 0),
			KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, t->a.state, WAITING);
	KWQ_EXPECT_METRIC(test, t, nr_dead, 0);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), 0);
}

static void add_saves_what_is_to_die(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L11 Q4: the event came during the processing. */
	die_after(test, 1);
	add(t, &t->a, 0);
	get(t, 0);
	kill(test, &t->a, 0);
	KUNIT_EXPECT_EQ(test, add(t, &t->a, 0), KWQ_DIRTIED);
	KUNIT_EXPECT_EQ(test, t->a.state, PROCESSING | DIRTY);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), 0);
	KUNIT_EXPECT_EQ(test, done(t, &t->a, 0), KWQ_REQUEUED);

	get(t, 0);
	kill(test, &t->a, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_add_at(&t->core, &t->a, NONE, 10,
					      KWQ_WAIT_EARLIER, 0),
			KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, t->a.state, PROCESSING | WAITING);
	KUNIT_EXPECT_EQ(test, done(t, &t->a, 0), KWQ_STILL_WAITING);
	KUNIT_EXPECT_EQ(test, t->a.state, WAITING);
	KWQ_EXPECT_METRIC(test, t, nr_dead, 0);
}

static void who_is_given_back_is_not_dead(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L11 O1 O2: there was no done. It dies in its next run. */
	die_after(test, 1);
	add(t, &t->a, 0);
	get(t, 0);
	kill(test, &t->a, 0);
	kwq_core_abandon(&t->core, &t->a, 0);
	KUNIT_EXPECT_EQ(test, t->a.state, READY);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), 1);
	get(t, 0);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), KWQ_DEAD);
	kwq_core_unget(&t->core, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.state, READY);
	EXPECT_ITEM(test, get(t, 0), &t->a);
	KUNIT_EXPECT_EQ(test, done(t, &t->a, 0), KWQ_FINISHED);
	KWQ_EXPECT_METRIC(test, t, nr_dead, 0);
}

/* ---- L12: lost holders ---- */

static void die_after_lost(struct kunit *test, u32 losses)
{
	struct retry_test *t = test->priv;

	t->config.dead_after_lost = losses;
	configure(test);
}

/* Hands an item out and loses its holder. */
static int lose(struct kunit *test, struct kwq_item *item, ktime_t now)
{
	struct retry_test *t = test->priv;

	KUNIT_ASSERT_PTR_EQ(test, get(t, now), item);
	return kwq_core_abandon(&t->core, item, now);
}

static void second_loss_puts_it_at_the_tail(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/*
	 * L12 O1: at the head after the first loss; later at the tail, because it may kill
	 * its holders
	 */
	add(t, &t->a, 0);
	add(t, &t->b, 0);
	KUNIT_EXPECT_EQ(test, lose(test, &t->a, 0), KWQ_REQUEUED);
	KUNIT_EXPECT_EQ(test, lose(test, &t->a, 0), KWQ_REQUEUED);
	EXPECT_ITEM(test, get(t, 0), &t->b);
	done(t, &t->b, 0);
	add(t, &t->b, 0);
	KUNIT_EXPECT_EQ(test, lose(test, &t->a, 0), KWQ_REQUEUED);
	EXPECT_ITEM(test, get(t, 0), &t->b);
	done(t, &t->b, 0);

	/* A done resets the count. */
	EXPECT_ITEM(test, get(t, 0), &t->a);
	KUNIT_EXPECT_EQ(test, t->a.abandoned, 3);
	done(t, &t->a, 0);
	add(t, &t->a, 0);
	add(t, &t->b, 0);
	KUNIT_EXPECT_EQ(test, lose(test, &t->a, 0), KWQ_REQUEUED);
	EXPECT_ITEM(test, get(t, 0), &t->a);
	KWQ_EXPECT_METRIC(test, t, nr_dead, 0);
}

static void tail_is_that_of_its_priority(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L12 Q12 */
	kwq_core_add(&t->core, &t->a, 1, false, 0);
	add(t, &t->b, 0);
	lose(test, &t->a, 0);
	lose(test, &t->a, 0);
	EXPECT_ITEM(test, get(t, 0), &t->a);
}

static void undone_hand_out_is_no_loss(struct kunit *test)
{
	struct retry_test *t = test->priv;
	int i;

	/* L12 O2 */
	die_after_lost(test, 1);
	add(t, &t->a, 0);
	add(t, &t->b, 0);
	for (i = 0; i < 3; i++) {
		EXPECT_ITEM(test, get(t, 0), &t->a);
		kwq_core_unget(&t->core, &t->a);
	}
	KUNIT_EXPECT_EQ(test, t->a.abandoned, 0);
	EXPECT_ITEM(test, get(t, 0), &t->a);
}

static void lost_too_often_it_is_dead(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L12 */
	die_after_lost(test, 3);
	add(t, &t->a, 0);
	KUNIT_EXPECT_EQ(test, lose(test, &t->a, 1), KWQ_REQUEUED);
	KUNIT_EXPECT_EQ(test, lose(test, &t->a, 2), KWQ_REQUEUED);
	KUNIT_EXPECT_EQ(test, lose(test, &t->a, 3), KWQ_DEAD);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_dead(&t->a));
	KUNIT_EXPECT_EQ(test, t->a.since, 3);
	KWQ_EXPECT_METRIC(test, t, nr_dead, 1);
	KWQ_EXPECT_METRIC(test, t, died, 1);
	KWQ_EXPECT_METRIC(test, t, abandoned, 3);
	EXPECT_ITEM(test, get(t, 3), NULL);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 3), KWQ_DEAD);

	/* L11: an add revives it, with a new count of losses. */
	KUNIT_EXPECT_EQ(test, add(t, &t->a, 4), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, t->a.abandoned, 0);
	KUNIT_EXPECT_EQ(test, lose(test, &t->a, 4), KWQ_REQUEUED);
	KUNIT_EXPECT_EQ(test, lose(test, &t->a, 4), KWQ_REQUEUED);
	KUNIT_EXPECT_EQ(test, lose(test, &t->a, 4), KWQ_DEAD);
	KWQ_EXPECT_METRIC(test, t, died, 2);

	/* After a remove it is a new item. */
	KUNIT_EXPECT_EQ(test, kwq_core_remove(&t->core, &t->a), KWQ_WAS_DEAD);
	add(t, &t->a, 5);
	KUNIT_EXPECT_EQ(test, lose(test, &t->a, 5), KWQ_REQUEUED);
	KUNIT_EXPECT_EQ(test, t->a.abandoned, 1);
}

static void lost_with_another_run_to_come_it_is_not_dead(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L12: it gets another run for an add or a time, and the count goes on */
	die_after_lost(test, 1);
	add(t, &t->a, 0);
	get(t, 0);
	KUNIT_EXPECT_EQ(test, add(t, &t->a, 0), KWQ_DIRTIED);
	KUNIT_EXPECT_EQ(test, kwq_core_abandon(&t->core, &t->a, 0), KWQ_REQUEUED);
	get(t, 0);
	kwq_core_add_at(&t->core, &t->a, NONE, 10, KWQ_WAIT_EARLIER, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_abandon(&t->core, &t->a, 0), KWQ_REQUEUED);
	KUNIT_EXPECT_EQ(test, t->a.state, READY | WAITING);
	KUNIT_EXPECT_EQ(test, t->a.abandoned, 2);
	expire(t, 10);
	KUNIT_EXPECT_EQ(test, lose(test, &t->a, 10), KWQ_DEAD);
	KWQ_EXPECT_METRIC(test, t, died, 1);
}

static void item_that_was_to_die_dies_once(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L11 L12: rate-limited too often, then lost too often in the same run */
	t->config.dead_after = 1;
	die_after_lost(test, 1);
	add(t, &t->a, 0);
	get(t, 0);
	kill(test, &t->a, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_abandon(&t->core, &t->a, 0), KWQ_DEAD);
	KWQ_EXPECT_METRIC(test, t, died, 1);
	KWQ_EXPECT_METRIC(test, t, nr_dead, 1);
}

static void lost_too_often_after_a_shut_down_it_is_dropped(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L12 O1 Q8: after a shut down it is handed out again, then dropped like all dead items */
	die_after_lost(test, 2);
	add(t, &t->a, 0);
	get(t, 0);
	kwq_core_shut_down(&t->core, true);
	KUNIT_EXPECT_EQ(test, kwq_core_abandon(&t->core, &t->a, 0), KWQ_REQUEUED);
	KUNIT_EXPECT_FALSE(test, kwq_core_is_drained(&t->core));
	t->a.requeues = 7;
	KUNIT_EXPECT_EQ(test, lose(test, &t->a, 0), KWQ_DEAD);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	KUNIT_EXPECT_EQ(test, t->a.abandoned, 0);
	KUNIT_EXPECT_EQ(test, t->a.requeues, 0);
	KWQ_EXPECT_METRIC(test, t, died, 1);
	KWQ_EXPECT_METRIC(test, t, dropped, 1);
	KWQ_EXPECT_METRIC(test, t, nr_dead, 0);
	KUNIT_EXPECT_TRUE(test, kwq_core_is_drained(&t->core));
}

static void cancelled_item_that_is_lost_does_not_die(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L12 K3 */
	die_after_lost(test, 1);
	add(t, &t->a, 0);
	get(t, 0);
	kwq_core_disable(&t->core, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_core_abandon(&t->core, &t->a, 0), KWQ_FINISHED);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	KWQ_EXPECT_METRIC(test, t, died, 0);
}

/* ---- K3: a queue that is cancelled ---- */

static void cancelled_queue_brings_nothing_back(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* K3: dirty, or to die, with requeues; finished, abandoned or undone */
	die_after_lost(test, 1);
	add(t, &t->a, 0);
	add(t, &t->b, 0);
	add(t, &t->c, 0);
	EXPECT_ITEM(test, get(t, 0), &t->a);
	EXPECT_ITEM(test, get(t, 0), &t->b);
	EXPECT_ITEM(test, get(t, 0), &t->c);
	add(t, &t->a, 0);
	add(t, &t->b, 0);
	t->a.requeues = 7;
	kwq_core_give_up(&t->core, &t->c, 0);
	kwq_core_shut_down(&t->core, true);
	kwq_core_cancel_all(&t->core);
	KUNIT_EXPECT_EQ(test, done(t, &t->a, 0), KWQ_FINISHED);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	KUNIT_EXPECT_EQ(test, t->a.requeues, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_abandon(&t->core, &t->b, 0), KWQ_FINISHED);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->b));
	kwq_core_unget(&t->core, &t->c);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->c));
	KWQ_EXPECT_METRIC(test, t, removed, 3);
	KUNIT_EXPECT_EQ(test, t->core.nr_dirty_processing, 0);
	KUNIT_EXPECT_TRUE(test, kwq_core_is_drained(&t->core));
}

static void removed_dead_item_was_dead(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L11 Q11 */
	die_after(test, 1);
	kill(test, &t->a, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_remove(&t->core, &t->a), KWQ_WAS_DEAD);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	KWQ_EXPECT_METRIC(test, t, nr_dead, 0);
	KWQ_EXPECT_METRIC(test, t, removed, 1);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 0), 0);

	add(t, &t->a, 0);
	get(t, 0);
	kill(test, &t->a, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_remove(&t->core, &t->a),
			KWQ_WAS_PROCESSING | KWQ_WAS_DEAD);
	KUNIT_EXPECT_EQ(test, t->a.state, PROCESSING);
	KUNIT_EXPECT_EQ(test, done(t, &t->a, 0), KWQ_FINISHED);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
}

static void dead_items_are_in_the_order_of_their_deaths(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L11 */
	die_after(test, 1);
	KUNIT_EXPECT_NULL(test, kwq_core_first_dead(&t->core));
	kill(test, &t->b, 0);
	kill(test, &t->a, 0);
	kill(test, &t->c, 0);
	EXPECT_ITEM(test, kwq_core_first_dead(&t->core), &t->b);

	/* One that is not the first leaves, too. */
	kwq_core_remove(&t->core, &t->a);
	EXPECT_ITEM(test, kwq_core_first_dead(&t->core), &t->b);

	/* An item that is revived and dies again died last. */
	add(t, &t->b, 0);
	EXPECT_ITEM(test, kwq_core_first_dead(&t->core), &t->c);
	kwq_core_remove(&t->core, &t->b);
	kill(test, &t->b, 0);
	EXPECT_ITEM(test, kwq_core_first_dead(&t->core), &t->c);
	kwq_core_remove(&t->core, &t->c);
	EXPECT_ITEM(test, kwq_core_first_dead(&t->core), &t->b);
	kwq_core_remove(&t->core, &t->b);
	EXPECT_ITEM(test, kwq_core_first_dead(&t->core), NULL);
}

static void dead_items_are_dropped_by_a_shut_down(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L11 Q10: after the waiting items, in the order of their deaths. */
	die_after(test, 1);
	kill(test, &t->b, 0);
	kill(test, &t->a, 0);
	KUNIT_EXPECT_EQ(test, retry(t, &t->c, 0), KWQ_WAITING);
	kwq_core_shut_down(&t->core, true);
	EXPECT_ITEM(test, kwq_core_drop(&t->core), &t->c);
	EXPECT_ITEM(test, kwq_core_drop(&t->core), &t->b);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->b));
	KWQ_EXPECT_METRIC(test, t, nr_dead, 1);
	EXPECT_ITEM(test, kwq_core_drop(&t->core), &t->a);
	EXPECT_ITEM(test, kwq_core_drop(&t->core), NULL);
	KWQ_EXPECT_METRIC(test, t, dropped, 3);
	KWQ_EXPECT_METRIC(test, t, nr_dead, 0);
}

static void dropped_items_have_no_count(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* Q8 L10: one waiting and one dead item; c is ready and keeps its count. */
	t->config.forget_after = 100;
	die_after(test, 1);
	retry(t, &t->a, 10);
	kill(test, &t->b, 10);
	retry(t, &t->c, 10);
	add(t, &t->c, 10);
	kwq_core_shut_down(&t->core, true);
	while (kwq_core_drop(&t->core))
		;
	KUNIT_EXPECT_EQ(test, t->a.requeues, 0);
	KUNIT_EXPECT_EQ(test, t->b.requeues, 0);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->c, 10), 1);
}

static void nothing_dies_after_a_shut_down(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L11 Q10: it is dropped at its done. */
	die_after(test, 1);
	add(t, &t->a, 0);
	get(t, 0);
	kill(test, &t->a, 0);
	kwq_core_shut_down(&t->core, true);
	EXPECT_ITEM(test, kwq_core_drop(&t->core), NULL);
	KUNIT_EXPECT_EQ(test, done(t, &t->a, 0), KWQ_FINISHED);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	KWQ_EXPECT_METRIC(test, t, nr_dead, 0);
	KWQ_EXPECT_METRIC(test, t, dropped, 1);
	KUNIT_EXPECT_TRUE(test, kwq_core_is_drained(&t->core));
}

static void dead_items_count_does_not_expire(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L10 L11 */
	t->config.forget_after = 100;
	die_after(test, 1);
	kill(test, &t->a, 0);
	KUNIT_EXPECT_EQ(test, requeues(t, &t->a, 1000), 1);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 1000), KWQ_DEAD);
}

static void expired_count_saves_from_death(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L10 L11 */
	t->config.forget_after = 100;
	die_after(test, 1);
	t->a.requeues = 1;
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 100), KWQ_WAITING);
}

static void forgotten_dead_item_is_dead(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L8 L11 */
	die_after(test, 1);
	kill(test, &t->a, 0);
	KUNIT_EXPECT_EQ(test, kwq_core_forget(&t->core, &t->a, 0), 1);
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), KWQ_DEAD);
	KWQ_EXPECT_METRIC(test, t, nr_dead, 1);
}

static void nothing_dies_if_not_asked_for(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L11 */
	t->a.requeues = U32_MAX;
	KUNIT_EXPECT_EQ(test, retry(t, &t->a, 0), KWQ_WAITING);
}

static void revived_item_keeps_its_priority(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* L11 Q12: a dead item is not idle; for adds now and with a time. */
	die_after(test, 1);
	kwq_core_add(&t->core, &t->a, 9, false, 0);
	get(t, 0);
	kill(test, &t->a, 0);
	done(t, &t->a, 0);
	KUNIT_EXPECT_EQ(test, t->a.priority, 9);
	add(t, &t->a, 0);
	KUNIT_EXPECT_EQ(test, t->a.priority, 9);
	get(t, 0);
	kill(test, &t->a, 0);
	done(t, &t->a, 0);
	kwq_core_add_at(&t->core, &t->a, NONE, 5, KWQ_WAIT_EARLIER, 0);
	KUNIT_EXPECT_PTR_EQ(test, expire(t, 5), &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, 9);
}

/* ---- M1, M2: histograms ---- */

/* The largest duration of each bucket; the last bucket has none. */
static const u64 bounds[KWQ_HISTOGRAM_BUCKETS - 1] = {
	1000ULL, 10000ULL, 100000ULL, 1000000ULL, 10000000ULL, 100000000ULL,
	1000000000ULL, 10000000000ULL, 100000000000ULL, 1000000000000ULL,
};

/* Runs an item that was ready for @queued and processed for @worked. */
static void run(struct retry_test *t, u64 queued, u64 worked)
{
	add(t, &t->a, 5);
	get(t, 5 + queued);
	done(t, &t->a, 5 + queued + worked);
}

static u64 total(const struct kwq_histogram *h)
{
	u64 nr = 0;
	int i;

	for (i = 0; i < KWQ_HISTOGRAM_BUCKETS; i++)
		nr += h->counts[i];
	return nr;
}

static void buckets_end_at_powers_of_ten(struct kunit *test)
{
	struct retry_test *t = test->priv;
	const struct kwq_histogram *q = &t->bulk.queue_duration;
	const struct kwq_histogram *w = &t->bulk.work_duration;
	u64 sum = 0;
	int i;

	/* M1: 1e-6 to 1e3 s; "less or equal", like Prometheus. */
	for (i = 0; i < ARRAY_SIZE(bounds); i++) {
		run(t, bounds[i], bounds[i] + 1);
		KUNIT_EXPECT_EQ(test, q->counts[i], 1);
		KUNIT_EXPECT_EQ(test, w->counts[i], i ? 1 : 0);
		KUNIT_EXPECT_EQ(test, w->counts[i + 1], 1);
		sum += bounds[i];
		KUNIT_EXPECT_EQ(test, q->sum, sum);
		KUNIT_EXPECT_EQ(test, w->sum, sum + i + 1);
		KUNIT_EXPECT_EQ(test, total(q), i + 1);
		KUNIT_EXPECT_EQ(test, total(w), i + 1);
	}
	/* A duration of 0 counts in the first bucket. */
	run(t, 0, 0);
	KUNIT_EXPECT_EQ(test, q->counts[0], 2);
	KUNIT_EXPECT_EQ(test, w->counts[0], 1);
	KUNIT_EXPECT_EQ(test, total(&t->bulk.lateness), 0);
}

static void lateness_is_from_the_time_to_the_expiry(struct kunit *test)
{
	struct retry_test *t = test->priv;
	const struct kwq_histogram *h = &t->bulk.lateness;
	int i;

	/* M2 */
	for (i = 0; i < ARRAY_SIZE(bounds); i++) {
		kwq_core_add_at(&t->core, &t->a, NONE, 10, KWQ_WAIT_EARLIER, 0);
		kwq_core_add_at(&t->core, &t->b, NONE, 10, KWQ_WAIT_EARLIER, 0);
		EXPECT_ITEM(test, expire(t, 10 + bounds[i]), &t->a);
		KUNIT_EXPECT_EQ(test, h->counts[i], i ? 2 : 1);
		EXPECT_ITEM(test, expire(t, 11 + bounds[i]), &t->b);
		KUNIT_EXPECT_EQ(test, h->counts[i + 1], 1);
		kwq_core_remove(&t->core, &t->a);
		kwq_core_remove(&t->core, &t->b);
	}
	KUNIT_EXPECT_EQ(test, h->sum, 2 * 1111111111000ULL + 10);
}

static void a_clock_that_was_read_before_is_no_time(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* M1 */
	add(t, &t->a, 100);
	get(t, 50);
	done(t, &t->a, 20);
	KUNIT_EXPECT_EQ(test, t->bulk.queue_duration.counts[0], 1);
	KUNIT_EXPECT_EQ(test, t->bulk.queue_duration.sum, 0);
	KUNIT_EXPECT_EQ(test, t->bulk.work_duration.counts[0], 1);
	KUNIT_EXPECT_EQ(test, t->bulk.work_duration.sum, 0);
}

static void sum_is_carried(struct kunit *test)
{
	struct retry_test *t = test->priv;
	const struct kwq_histogram *h = &t->bulk.queue_duration;
	int i;

	/* M1: 5 x (2^63 - 1) = 2 x 2^64 + 2^63 - 5 */
	for (i = 0; i < 5; i++) {
		add(t, &t->a, 0);
		get(t, KTIME_MAX);
		done(t, &t->a, KTIME_MAX);
	}
	KUNIT_EXPECT_EQ(test, h->sum_high, 2);
	KUNIT_EXPECT_EQ(test, h->sum, (1ULL << 63) - 5);
	KUNIT_EXPECT_EQ(test, h->counts[KWQ_HISTOGRAM_BUCKETS - 1], 5);
}

static void sum_that_just_fits_is_not_carried(struct kunit *test)
{
	struct retry_test *t = test->priv;
	struct kwq_histogram *h = &t->bulk.queue_duration;

	/* M1 */
	h->sum = U64_MAX - 7;
	run(t, 7, 0);
	KUNIT_EXPECT_EQ(test, h->sum, U64_MAX);
	KUNIT_EXPECT_EQ(test, h->sum_high, 0);
	run(t, 1, 0);
	KUNIT_EXPECT_EQ(test, h->sum, 0);
	KUNIT_EXPECT_EQ(test, h->sum_high, 1);
}

static void queue_duration_begins_with_the_first_add(struct kunit *test)
{
	struct retry_test *t = test->priv;
	const struct kwq_histogram *h = &t->bulk.queue_duration;

	/* M1: like client-go: a coalesced add changes nothing, */
	add(t, &t->a, 100);
	add(t, &t->a, 150);
	get(t, 200);
	KUNIT_EXPECT_EQ(test, h->sum, 100);
	/* an add during processing starts the next duration, */
	add(t, &t->a, 210);
	add(t, &t->a, 215);
	done(t, &t->a, 220);
	get(t, 240);
	KUNIT_EXPECT_EQ(test, h->sum, 100 + 30);
	/* and so does the end of a wait. */
	retry(t, &t->a, 240);
	done(t, &t->a, 245);
	expire(t, 260);
	get(t, 270);
	KUNIT_EXPECT_EQ(test, h->sum, 100 + 30 + 10);
}

static void queue_duration_of_what_is_given_back(struct kunit *test)
{
	struct retry_test *t = test->priv;
	const struct kwq_histogram *h = &t->bulk.queue_duration;

	/* M1 O1 O2: an abandoned item starts anew, an undone hand-out continues. */
	add(t, &t->a, 0);
	get(t, 10);
	kwq_core_abandon(&t->core, &t->a, 100);
	get(t, 107);
	KUNIT_EXPECT_EQ(test, h->sum, 10 + 7);
	kwq_core_unget(&t->core, &t->a);
	get(t, 120);
	KUNIT_EXPECT_EQ(test, h->sum, 10 + 7 + 20);
	/* If it was dirty when abandoned, the duration starts at that add. */
	add(t, &t->a, 130);
	kwq_core_abandon(&t->core, &t->a, 140);
	get(t, 150);
	KUNIT_EXPECT_EQ(test, h->sum, 10 + 7 + 20 + 20);
}

static void only_a_done_ends_work(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* M1 */
	add(t, &t->a, 0);
	get(t, 0);
	kwq_core_abandon(&t->core, &t->a, 50);
	get(t, 50);
	kwq_core_unget(&t->core, &t->a);
	KUNIT_EXPECT_EQ(test, total(&t->bulk.work_duration), 0);
	get(t, 60);
	KUNIT_EXPECT_EQ(test, kwq_core_done(&t->core, &t->y, &t->a, 70), -EPERM);
	KUNIT_EXPECT_EQ(test, total(&t->bulk.work_duration), 0);
	done(t, &t->a, 80);
	KUNIT_EXPECT_EQ(test, t->bulk.work_duration.sum, 20);
}

/* ---- M1, M2, M3: gauges ---- */

static void expect_gauges(struct kunit *test, ktime_t now, u64 oldest_ready,
			  u64 longest_running, u64 unfinished)
{
	struct retry_test *t = test->priv;
	struct kwq_gauges gauges;

	memset(&gauges, 0xff, sizeof(gauges));
	kwq_core_gauges(&t->core, &gauges, now);
	KUNIT_EXPECT_EQ(test, gauges.oldest_ready, oldest_ready);
	KUNIT_EXPECT_EQ(test, gauges.longest_running, longest_running);
	KUNIT_EXPECT_EQ(test, gauges.unfinished, unfinished);
}

static void expect_depth(struct kunit *test, unsigned long ready, unsigned long dirty)
{
	struct retry_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, t->core.nr_ready, ready);
	KUNIT_EXPECT_EQ(test, t->core.nr_dirty_processing, dirty);
}

static void depth_is_of_what_is_dirty(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* M1: like client-go, an item is in the queue from its add to its hand-out. */
	add(t, &t->a, 0);
	expect_depth(test, 1, 0);
	get(t, 0);
	expect_depth(test, 0, 0);
	add(t, &t->a, 0);
	add(t, &t->a, 0);
	expect_depth(test, 0, 1);
	KUNIT_EXPECT_EQ(test, done(t, &t->a, 0), KWQ_REQUEUED);
	expect_depth(test, 1, 0);

	/* All other ends of a run: the holder is lost, the hand-out is undone, a cancel */
	get(t, 0);
	add(t, &t->a, 0);
	kwq_core_abandon(&t->core, &t->a, 0);
	expect_depth(test, 1, 0);
	get(t, 0);
	add(t, &t->a, 0);
	kwq_core_unget(&t->core, &t->a);
	expect_depth(test, 1, 0);
	get(t, 0);
	add(t, &t->a, 0);
	kwq_core_disable(&t->core, &t->a);
	expect_depth(test, 0, 0);
	done(t, &t->a, 0);
	expect_depth(test, 0, 0);

	/* The end of a wait makes an item dirty, and a remove undoes that. */
	add(t, &t->b, 0);
	get(t, 0);
	kwq_core_add_at(&t->core, &t->b, NONE, 10, KWQ_WAIT_EARLIER, 0);
	expect_depth(test, 0, 0);
	expire(t, 10);
	expect_depth(test, 0, 1);
	kwq_core_remove(&t->core, &t->b);
	expect_depth(test, 0, 0);
	done(t, &t->b, 10);
	expect_depth(test, 0, 0);
}

static void gauges_of_an_empty_queue(struct kunit *test)
{
	/* M3 */
	expect_gauges(test, 0, 0, 0, 0);
	expect_gauges(test, KTIME_MAX, 0, 0, 0);
}

static void gauges_of_what_is_processing(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* M1 M3: several holders, finished in another order. */
	add(t, &t->a, 0);
	add(t, &t->b, 0);
	add(t, &t->c, 0);
	kwq_test_get(&t->core, &t->x, 100);
	kwq_test_get(&t->core, &t->y, 200);
	kwq_test_get(&t->core, &t->x, 350);
	expect_gauges(test, 350, 0, 250, 250 + 150 + 0);
	expect_gauges(test, 400, 0, 300, 300 + 200 + 50);
	KUNIT_EXPECT_EQ(test, kwq_core_done(&t->core, &t->y, &t->b, 400),
			KWQ_FINISHED);
	expect_gauges(test, 400, 0, 300, 300 + 50);
	KUNIT_EXPECT_EQ(test, kwq_core_done(&t->core, &t->x, &t->a, 400),
			KWQ_FINISHED);
	expect_gauges(test, 500, 0, 150, 150);
	kwq_core_abandon(&t->core, &t->c, 600);
	expect_gauges(test, 700, 100, 0, 0);
	kwq_test_get(&t->core, &t->x, 700);
	expect_gauges(test, 710, 0, 10, 10);
	kwq_core_unget(&t->core, &t->c);
	expect_gauges(test, 720, 120, 0, 0);
}

static void gauges_near_the_end_of_time(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* M3: the sum of the start times does not fit into 64 bits. */
	add(t, &t->a, KTIME_MAX - 9);
	add(t, &t->b, KTIME_MAX - 9);
	add(t, &t->c, KTIME_MAX - 9);
	get(t, KTIME_MAX - 8);
	get(t, KTIME_MAX - 7);
	get(t, KTIME_MAX - 6);
	expect_gauges(test, KTIME_MAX, 0, 8, 8 + 7 + 6);
}

static void unfinished_work_saturates(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* M3: the ages of two items, from 0 to the end of time, just fit. */
	add(t, &t->a, 0);
	add(t, &t->b, 0);
	get(t, 0);
	get(t, 0);
	expect_gauges(test, KTIME_MAX, 0, KTIME_MAX, 2 * (u64)KTIME_MAX);
	add(t, &t->c, KTIME_MAX - 1);
	get(t, KTIME_MAX - 1);
	expect_gauges(test, KTIME_MAX, 0, KTIME_MAX, U64_MAX);
	done(t, &t->c, KTIME_MAX);
	expect_gauges(test, KTIME_MAX, 0, KTIME_MAX, 2 * (u64)KTIME_MAX);
	add(t, &t->c, KTIME_MAX);
	get(t, KTIME_MAX);
	done(t, &t->a, KTIME_MAX);
	expect_gauges(test, KTIME_MAX, 0, KTIME_MAX, KTIME_MAX);
}

static void unfinished_work_is_exact_where_its_terms_are_not(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* M3: three times the end of time does not fit into 64 bits, but the difference does. */
	add(t, &t->a, 0);
	get(t, 1);
	add(t, &t->b, 1);
	add(t, &t->c, 1);
	get(t, KTIME_MAX);
	get(t, KTIME_MAX);
	expect_gauges(test, KTIME_MAX, 0, KTIME_MAX - 1, KTIME_MAX - 1);
	done(t, &t->a, KTIME_MAX);
	expect_gauges(test, KTIME_MAX, 0, 0, 0);
	add(t, &t->a, KTIME_MAX);
	get(t, KTIME_MAX);
	expect_gauges(test, KTIME_MAX, 0, 0, 0);
	done(t, &t->a, KTIME_MAX);
	expect_gauges(test, KTIME_MAX, 0, 0, 0);
}

static void oldest_ready_is_of_all_priorities_and_lanes(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* M2: the oldest item is not the next one to be handed out. */
	kwq_core_add(&t->core, &t->a, KWQ_PRIORITY_MIN, false, 100);
	kwq_core_add(&t->core, &t->b, KWQ_PRIORITY_MAX, false, 200);
	expect_gauges(test, 250, 150, 0, 0);
	kwq_core_remove(&t->core, &t->a);
	expect_gauges(test, 250, 50, 0, 0);
	/* b: returned; c: fresh, and older */
	kwq_core_add(&t->core, &t->c, KWQ_PRIORITY_MAX, false, 210);
	get(t, 250);
	kwq_core_abandon(&t->core, &t->b, 260);
	expect_gauges(test, 300, 90, 0, 0);
	kwq_core_remove(&t->core, &t->c);
	expect_gauges(test, 300, 40, 0, 0);
	/* Within a band the first item counts. */
	kwq_core_remove(&t->core, &t->b);
	add(t, &t->a, 300);
	add(t, &t->b, 310);
	expect_gauges(test, 320, 20, 0, 0);
	get(t, 320);
	expect_gauges(test, 320, 10, 0, 0);
}

static void oldest_ready_is_not_what_waits(struct kunit *test)
{
	struct retry_test *t = test->priv;

	/* M2 */
	retry(t, &t->a, 0);
	expect_gauges(test, 100, 0, 0, 0);
	expire(t, 100);
	expect_gauges(test, 130, 30, 0, 0);
}

#define RETRY_TEST_OF_BOTH						\
	KUNIT_CASE(retry_waits_for_the_limiters_time),			\
	KUNIT_CASE(retry_while_processing),				\
	KUNIT_CASE(retry_of_what_waits),				\
	KUNIT_CASE(retry_without_a_delay_leaves_the_wait_alone),	\
	KUNIT_CASE(retry_without_a_delay_keeps_its_count),		\
	KUNIT_CASE(retry_without_a_delay_keeps_to_the_policy),		\
	KUNIT_CASE(retry_keeps_to_the_policy),				\
	KUNIT_CASE(retry_without_delay_is_now),				\
	KUNIT_CASE(retry_at_the_end_of_time),				\
	KUNIT_CASE(retry_after_a_shut_down),				\
	KUNIT_CASE(requeues_do_not_wrap),				\
	KUNIT_CASE(other_adds_are_not_counted),				\
	KUNIT_CASE(each_item_has_its_count),				\
	KUNIT_CASE(forget_changes_nothing_else),			\
	KUNIT_CASE(forgotten_item_begins_again),			\
	KUNIT_CASE(removed_item_has_no_count),				\
	KUNIT_CASE(count_outlives_all_else),				\
	KUNIT_CASE(coalesced_retry_costs_nothing),			\
	KUNIT_CASE(without_coalescing_each_retry_costs),		\
	KUNIT_CASE(coalescing_is_of_what_waits),			\
	KUNIT_CASE(count_expires),					\
	KUNIT_CASE(retry_just_before_its_count_expires),		\
	KUNIT_CASE(retry_of_an_expired_count_begins_again),		\
	KUNIT_CASE(first_retry_of_an_item_counts),			\
	KUNIT_CASE(add_notices_that_a_count_expired),			\
	KUNIT_CASE(count_of_what_is_touched_does_not_expire),		\
	KUNIT_CASE(count_never_expires_if_not_asked_for),		\
	KUNIT_CASE(longest_time_to_forget),				\
	KUNIT_CASE(item_dies_after_its_tries),				\
	KUNIT_CASE(dying_takes_no_token),				\
	KUNIT_CASE(processing_item_dies_at_its_done),			\
	KUNIT_CASE(given_up_item_dies_however_seldom_it_was_tried),	\
	KUNIT_CASE(given_up_while_processing_it_dies_at_its_done),	\
	KUNIT_CASE(given_up_item_with_a_run_before_it_gets_it),		\
	KUNIT_CASE(nothing_is_given_up_after_a_shut_down),		\
	KUNIT_CASE(cancelled_item_is_not_tried_again),			\
	KUNIT_CASE(item_is_enabled_as_often_as_it_was_disabled),	\
	KUNIT_CASE(item_that_was_disabled_too_often_stays_disabled),	\
	KUNIT_CASE(cancelled_dead_item_is_dead_no_more),		\
	KUNIT_CASE(item_that_has_a_run_before_it_does_not_die),		\
	KUNIT_CASE(add_revives),					\
	KUNIT_CASE(timed_add_revives),					\
	KUNIT_CASE(add_saves_what_is_to_die),				\
	KUNIT_CASE(who_is_given_back_is_not_dead),			\
	KUNIT_CASE(second_loss_puts_it_at_the_tail),			\
	KUNIT_CASE(undone_hand_out_is_no_loss),				\
	KUNIT_CASE(lost_too_often_it_is_dead),				\
	KUNIT_CASE(lost_with_another_run_to_come_it_is_not_dead),	\
	KUNIT_CASE(item_that_was_to_die_dies_once),			\
	KUNIT_CASE(lost_too_often_after_a_shut_down_it_is_dropped),	\
	KUNIT_CASE(cancelled_item_that_is_lost_does_not_die),		\
	KUNIT_CASE(cancelled_queue_brings_nothing_back),		\
	KUNIT_CASE(removed_dead_item_was_dead),				\
	KUNIT_CASE(dead_items_are_in_the_order_of_their_deaths),	\
	KUNIT_CASE(dead_items_are_dropped_by_a_shut_down),		\
	KUNIT_CASE(dropped_items_have_no_count),			\
	KUNIT_CASE(nothing_dies_after_a_shut_down),			\
	KUNIT_CASE(dead_items_count_does_not_expire),			\
	KUNIT_CASE(expired_count_saves_from_death),			\
	KUNIT_CASE(forgotten_dead_item_is_dead),			\
	KUNIT_CASE(nothing_dies_if_not_asked_for)

static struct kunit_case retry_test_cases[] = {
	RETRY_TEST_OF_BOTH,
	KUNIT_CASE(retry_with_a_priority),
	KUNIT_CASE(coalesced_retry_has_a_priority),
	KUNIT_CASE(tail_is_that_of_its_priority),
	KUNIT_CASE(revived_item_keeps_its_priority),
	KUNIT_CASE(buckets_end_at_powers_of_ten),
	KUNIT_CASE(lateness_is_from_the_time_to_the_expiry),
	KUNIT_CASE(a_clock_that_was_read_before_is_no_time),
	KUNIT_CASE(sum_is_carried),
	KUNIT_CASE(sum_that_just_fits_is_not_carried),
	KUNIT_CASE(queue_duration_begins_with_the_first_add),
	KUNIT_CASE(queue_duration_of_what_is_given_back),
	KUNIT_CASE(only_a_done_ends_work),
	KUNIT_CASE(depth_is_of_what_is_dirty),
	KUNIT_CASE(gauges_of_an_empty_queue),
	KUNIT_CASE(gauges_of_what_is_processing),
	KUNIT_CASE(gauges_near_the_end_of_time),
	KUNIT_CASE(unfinished_work_saturates),
	KUNIT_CASE(unfinished_work_is_exact_where_its_terms_are_not),
	KUNIT_CASE(oldest_ready_is_of_all_priorities_and_lanes),
	KUNIT_CASE(oldest_ready_is_not_what_waits),
	{}
};

/* The same without what only a large queue has (K6). */
static struct kunit_case retry_test_small_cases[] = {
	RETRY_TEST_OF_BOTH,
	{}
};

KWQ_TEST_SUITES(retry_test, "kwq-core-retry", retry_test_init, retry_test_exit);

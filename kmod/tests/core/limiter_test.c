// SPDX-License-Identifier: GPL-2.0-only
/* The limiters by themselves. Each test chooses its own counts and times. */
#include <kunit/test.h>
#include <linux/kwq_backoff.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/overflow.h>
#include <linux/prandom.h>
#include <linux/time64.h>
#include "core/limiter.h"
#include "core_check.h"

#define LONGEST		((u64)KTIME_MAX)
#define MS		((u64)NSEC_PER_MSEC)
#define SEC		((u64)NSEC_PER_SEC)
#define HOUR		(3600 * SEC)

#define EXPONENTIAL(base_, max_) {					\
	.kind = KWQ_LIMITER_EXPONENTIAL,				\
	.u.exponential = { .base = (base_), .max = (max_) },		\
}

#define FAST_SLOW(fast_, slow_, nr_) {					\
	.kind = KWQ_LIMITER_FAST_SLOW,					\
	.u.fast_slow = { .fast = (fast_), .slow = (slow_), .nr_fast = (nr_) }, \
}

#define BUCKET(events_, period_, burst_) {				\
	.kind = KWQ_LIMITER_BUCKET,					\
	.u.bucket = { .events = (events_), .period = (period_),		\
		      .burst = (burst_) },				\
}

#define BACKOFF(...) {							\
	.kind = KWQ_LIMITER_BACKOFF,					\
	.u.backoff = { __VA_ARGS__ },					\
}

struct limiter_test {
	struct kwq_rate_limiter *limiter;
	struct kwq_limiter_config config;
};

static int limiter_test_init(struct kunit *test)
{
	struct limiter_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	test->priv = t;
	kwq_test_limit(test, &t->limiter, &t->config, 0);
	return 0;
}

static void configure(struct kunit *test, ktime_t now)
{
	struct limiter_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, kwq_limiter_config_check(&t->config), 0);
	kwq_test_limit(test, &t->limiter, &t->config, now);
}

/* Makes @one the only limiter, from @now on. */
static void use(struct kunit *test, struct kwq_limiter one, ktime_t now)
{
	struct limiter_test *t = test->priv;

	t->config.nr = 1;
	t->config.limiters[0] = one;
	configure(test, now);
}

static u64 when(struct kunit *test, u32 requeues, ktime_t now)
{
	struct limiter_test *t = test->priv;

	return kwq_rate_limiter_when(t->limiter, requeues, now, 0);
}

/* ---- L2: exponential ---- */

static void exponential_doubles(struct kunit *test)
{
	static const u64 ms[] = { 1, 2, 4, 8, 16 };
	u32 i;

	/* L2: the case of client-go's test. */
	use(test, (struct kwq_limiter)EXPONENTIAL(MS, SEC), 0);
	for (i = 0; i < ARRAY_SIZE(ms); i++)
		KUNIT_EXPECT_EQ(test, when(test, i, 0), ms[i] * MS);
	/* 2^9 = 512 is the last one below a second. */
	KUNIT_EXPECT_EQ(test, when(test, 9, 0), 512 * MS);
	KUNIT_EXPECT_EQ(test, when(test, 10, 0), SEC);
	KUNIT_EXPECT_EQ(test, when(test, 11, 0), SEC);
	/* It has no state. */
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), MS);
}

static void exponential_does_not_overflow(struct kunit *test)
{
	static const u32 many[] = {
		62, 63, 64, 65, 127, 128, 1000, 1U << 31, U32_MAX,
	};
	int i;

	/* L2: client-go: 1,000 failures ("overflow") give the cap. */
	use(test, (struct kwq_limiter)EXPONENTIAL(MS, 1000 * HOUR), 0);
	for (i = 0; i < ARRAY_SIZE(many); i++)
		KUNIT_EXPECT_EQ(test, when(test, many[i], 0), 1000 * HOUR);

	use(test, (struct kwq_limiter)EXPONENTIAL(1, LONGEST), 0);
	KUNIT_EXPECT_EQ(test, when(test, 62, 0), 1ULL << 62);
	for (i = 1; i < ARRAY_SIZE(many); i++)
		KUNIT_EXPECT_EQ(test, when(test, many[i], 0), LONGEST);

	use(test, (struct kwq_limiter)EXPONENTIAL(3, LONGEST), 0);
	KUNIT_EXPECT_EQ(test, when(test, 61, 0), 3ULL << 61);
	KUNIT_EXPECT_EQ(test, when(test, 62, 0), LONGEST);
}

static void exponential_of_one_length(struct kunit *test)
{
	/* L2 */
	use(test, (struct kwq_limiter)EXPONENTIAL(LONGEST, LONGEST), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), LONGEST);
	KUNIT_EXPECT_EQ(test, when(test, 1, 0), LONGEST);
}

/* ---- L3: fast-slow ---- */

static void fast_slow(struct kunit *test)
{
	static const u64 ms[] = { 5, 5, 5, 10000, 10000 };
	u32 i;

	/* L3: the case of client-go's test. */
	use(test, (struct kwq_limiter)FAST_SLOW(5 * MS, 10 * SEC, 3), 0);
	for (i = 0; i < ARRAY_SIZE(ms); i++)
		KUNIT_EXPECT_EQ(test, when(test, i, 0), ms[i] * MS);
	KUNIT_EXPECT_EQ(test, when(test, U32_MAX, 0), 10 * SEC);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), 5 * MS);
}

static void fast_slow_without_fast_ones(struct kunit *test)
{
	use(test, (struct kwq_limiter)FAST_SLOW(5, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), 0);
	use(test, (struct kwq_limiter)FAST_SLOW(0, LONGEST, U32_MAX), 0);
	KUNIT_EXPECT_EQ(test, when(test, U32_MAX - 1, 0), 0);
	KUNIT_EXPECT_EQ(test, when(test, U32_MAX, 0), LONGEST);
}

/* ---- Backoff ---- */

static void backoff(struct kunit *test)
{
	struct limiter_test *t = test->priv;

	/* B4 */
	use(test, (struct kwq_limiter)BACKOFF(.duration = 10,
					      .factor = 2 * KWQ_ONE,
					      .cap = 70, .steps = 9), 0);
	KUNIT_EXPECT_FALSE(test, t->limiter->jitters);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), 10);
	KUNIT_EXPECT_EQ(test, when(test, 1, 0), 20);
	KUNIT_EXPECT_EQ(test, when(test, 2, 0), 40);
	KUNIT_EXPECT_EQ(test, when(test, 3, 0), 70);
	KUNIT_EXPECT_EQ(test, when(test, U32_MAX, 0), 70);
}

static void backoff_with_jitter(struct kunit *test)
{
	struct limiter_test *t = test->priv;

	/* B1 B4 */
	use(test, (struct kwq_limiter)BACKOFF(.duration = 100,
					      .jitter = KWQ_ONE / 2), 0);
	KUNIT_EXPECT_TRUE(test, t->limiter->jitters);
	KUNIT_EXPECT_EQ(test, kwq_rate_limiter_when(t->limiter, 5, 0, 0), 100);
	KUNIT_EXPECT_EQ(test, kwq_rate_limiter_when(t->limiter, 5, 0, 1U << 31), 125);
	KUNIT_EXPECT_EQ(test, kwq_rate_limiter_when(t->limiter, 5, 0, U32_MAX), 149);

	/* No random number is used any more. */
	use(test, (struct kwq_limiter)BACKOFF(.duration = 100), 0);
	KUNIT_EXPECT_FALSE(test, t->limiter->jitters);
}

/* Number of entries in the table of one backoff. */
static u32 nr_pauses(struct kwq_backoff b)
{
	const struct kwq_limiter_config config = {
		.nr = 1,
		.limiters = { { .kind = KWQ_LIMITER_BACKOFF, .u.backoff = b } },
	};

	return (kwq_rate_limiter_size(&config) - sizeof(struct kwq_rate_limiter)) / sizeof(u64);
}

static void table_ends_where_pauses_stay(struct kunit *test)
{
	/* O8: 20, 40, 70; the fourth step changes nothing. */
	KUNIT_EXPECT_EQ(test, nr_pauses((struct kwq_backoff){
		.duration = 10, .factor = 2 * KWQ_ONE, .cap = 70, .steps = 256 }), 3);
	KUNIT_EXPECT_EQ(test, nr_pauses((struct kwq_backoff){
		.duration = 10, .factor = 2 * KWQ_ONE, .steps = 2 }), 2);
	KUNIT_EXPECT_EQ(test, nr_pauses((struct kwq_backoff){
		.duration = 10, .factor = KWQ_ONE, .steps = 256 }), 0);
	/* 5, 2, 1, 0 */
	KUNIT_EXPECT_EQ(test, nr_pauses((struct kwq_backoff){
		.duration = 10, .factor = KWQ_ONE / 2, .steps = 256 }), 4);
	KUNIT_EXPECT_EQ(test, nr_pauses((struct kwq_backoff){
		.duration = 10, .steps = 256 }), 0);
	KUNIT_EXPECT_EQ(test, nr_pauses((struct kwq_backoff){
		.duration = 1000000, .factor = KWQ_ONE + 1000,
		.steps = KWQ_LIMITER_STEPS_MAX }), KWQ_LIMITER_STEPS_MAX);
}

static struct kwq_limiter some_backoff(struct rnd_state *rnd)
{
	struct kwq_limiter limiter = { .kind = KWQ_LIMITER_BACKOFF };
	struct kwq_backoff *b = &limiter.u.backoff;
	u32 more = prandom_u32_state(rnd) >> prandom_u32_state(rnd) % 32;

	b->duration = prandom_u32_state(rnd) >> prandom_u32_state(rnd) % 32;
	if (prandom_u32_state(rnd) % 4)
		b->factor = more % (3 * KWQ_ONE);
	if (prandom_u32_state(rnd) % 2)
		b->jitter = prandom_u32_state(rnd) % (2 * KWQ_ONE);
	b->steps = prandom_u32_state(rnd) % (KWQ_LIMITER_STEPS_MAX + 1);
	if (prandom_u32_state(rnd) % 2)
		b->cap = b->duration + ((u64)prandom_u32_state(rnd) << 8) + 1;
	return limiter;
}

/* Of one count. */
static bool tables_tell_what_steps_do(struct kunit *test, u32 requeues, u32 random)
{
	struct limiter_test *t = test->priv;
	u64 told, longest = 0;
	u32 i;

	for (i = 0; i < t->config.nr; i++)
		longest = max(longest, kwq_backoff_after(&t->config.limiters[i].u.backoff,
							 requeues, random));
	told = kwq_rate_limiter_when(t->limiter, requeues, 0, random);
	if (told != longest)
		KUNIT_FAIL(test, "after %u: %llu, not %llu", requeues, told, longest);
	return told == longest;
}

static void tables_tell_what_steps_do_of_any_count(struct kunit *test)
{
	struct limiter_test *t = test->priv;
	struct rnd_state rnd;
	u32 i, requeues;
	int round;

	/* B4, L5, O8: with jitter, alone and side by side. */
	prandom_seed_state(&rnd, 20261122);
	for (round = 0; round < 100; round++) {
		t->config.nr = round % 2 ? 1 : 1 + prandom_u32_state(&rnd) % KWQ_LIMITERS_MAX;
		for (i = 0; i < t->config.nr; i++)
			t->config.limiters[i] = some_backoff(&rnd);
		configure(test, 0);
		for (requeues = 0; requeues <= KWQ_LIMITER_STEPS_MAX + 1; requeues++)
			if (!tables_tell_what_steps_do(test, requeues,
						       prandom_u32_state(&rnd)))
				return;
		if (!tables_tell_what_steps_do(test, U32_MAX, 0))
			return;
		cond_resched();
	}
}

/* ---- L5, L6, L7: several of them ---- */

/*
 * Computed by hand: fast-slow of 5 ms for the first 3, then 3 s; exponential from 1 ms to
 * 20 s.
 */
static const struct max_of {
	u32 requeues;
	u64 fast_slow_ms;
	u64 exponential_ms;
	u64 longest_ms;
} max_of_table[] = {
	{ 0,	5,	1,	5 },
	{ 1,	5,	2,	5 },
	{ 2,	5,	4,	5 },
	{ 3,	3000,	8,	3000 },
	{ 4,	3000,	16,	3000 },
	{ 5,	3000,	32,	3000 },
	{ 10,	3000,	1024,	3000 },
	{ 11,	3000,	2048,	3000 },
	{ 12,	3000,	4096,	4096 },
	{ 13,	3000,	8192,	8192 },
	{ 14,	3000,	16384,	16384 },
	{ 15,	3000,	20000,	20000 },
	{ 1000,	3000,	20000,	20000 },
};

static void max_of(struct kunit *test)
{
	struct limiter_test *t = test->priv;
	const struct kwq_limiter first = FAST_SLOW(5 * MS, 3 * SEC, 3);
	const struct kwq_limiter second = EXPONENTIAL(MS, 20 * SEC);
	const struct max_of *row;
	int i, turned;

	/* L5: whichever stands first. */
	for (turned = 0; turned < 2; turned++) {
		t->config.nr = 2;
		t->config.limiters[turned] = first;
		t->config.limiters[!turned] = second;
		configure(test, 0);
		for (i = 0; i < ARRAY_SIZE(max_of_table); i++) {
			row = &max_of_table[i];
			KUNIT_EXPECT_EQ(test, row->longest_ms,
					max(row->fast_slow_ms,
					    row->exponential_ms));
			KUNIT_EXPECT_EQ_MSG(test, when(test, row->requeues, 0),
					    row->longest_ms * MS, "%u",
					    row->requeues);
		}
	}
	use(test, first, 0);
	for (i = 0; i < ARRAY_SIZE(max_of_table); i++)
		KUNIT_EXPECT_EQ(test, when(test, max_of_table[i].requeues, 0),
				max_of_table[i].fast_slow_ms * MS);
	use(test, second, 0);
	for (i = 0; i < ARRAY_SIZE(max_of_table); i++)
		KUNIT_EXPECT_EQ(test, when(test, max_of_table[i].requeues, 0),
				max_of_table[i].exponential_ms * MS);
}

static void every_limiter_is_asked(struct kunit *test)
{
	struct limiter_test *t = test->priv;
	int i;

	/* L5: two buckets next to a longer delay lose their tokens, too. */
	t->config.nr = 3;
	t->config.limiters[0] = (struct kwq_limiter)FAST_SLOW(HOUR, 0, 10);
	t->config.limiters[1] = (struct kwq_limiter)BUCKET(1, SEC, 10);
	t->config.limiters[2] = (struct kwq_limiter)BUCKET(1, 3 * SEC, 11);
	configure(test, 0);
	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ(test, when(test, i, 0), HOUR);
	KUNIT_EXPECT_EQ(test, when(test, 10, 0), SEC);
	KUNIT_EXPECT_EQ(test, when(test, 11, 0), 3 * SEC);
	KUNIT_EXPECT_EQ(test, when(test, 12, 0), 6 * SEC);
}

static void as_many_limiters_as_there_can_be(struct kunit *test)
{
	struct limiter_test *t = test->priv;
	u32 i;

	/* L5: the longest is the last one. */
	t->config.nr = KWQ_LIMITERS_MAX;
	for (i = 0; i < KWQ_LIMITERS_MAX; i++)
		t->config.limiters[i] =
			(struct kwq_limiter)FAST_SLOW(i + 1, 0, 1);
	configure(test, 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), KWQ_LIMITERS_MAX);
}

static void max_wait(struct kunit *test)
{
	struct limiter_test *t = test->priv;
	int i;

	/* L6 */
	t->config.max_wait = 50 * MS;
	use(test, (struct kwq_limiter)EXPONENTIAL(20 * MS, HOUR), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), 20 * MS);
	KUNIT_EXPECT_EQ(test, when(test, 1, 0), 40 * MS);
	KUNIT_EXPECT_EQ(test, when(test, 2, 0), 50 * MS);
	KUNIT_EXPECT_EQ(test, when(test, U32_MAX, 0), 50 * MS);

	/* It shortens the wait, not the debt. */
	use(test, (struct kwq_limiter)BUCKET(1, SEC, 1), 0);
	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ(test, when(test, 0, 0), i ? 50 * MS : 0);
	t->config.max_wait = 0;
	configure(test, 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), 10 * SEC);
}

static void max_wait_is_over_the_default_too(struct kunit *test)
{
	struct limiter_test *t = test->priv;

	/* L6 */
	t->config.max_wait = 6 * MS;
	configure(test, 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), 5 * MS);
	KUNIT_EXPECT_EQ(test, when(test, 1, 0), 6 * MS);
}

static void client_gos_default(struct kunit *test)
{
	struct limiter_test *t = test->priv;
	int i;

	t->config = kwq_client_go_limits;
	configure(test, 0);
	/* L7: the longer of the two. 100 items fail at once: */
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, when(test, 0, 0), 5 * MS);
	/* and then 10 a second */
	for (i = 1; i <= 20; i++)
		KUNIT_EXPECT_EQ(test, when(test, 0, 0), i * 100 * MS);
	/* The exponential delay is longer: 5 ms x 2^9 > 2.1 s */
	KUNIT_EXPECT_EQ(test, when(test, 9, 0), 2560 * MS);
	/* The bucket's delay is longer: 2.2 s > 5 ms x 2^8 */
	KUNIT_EXPECT_EQ(test, when(test, 8, 0), 2200 * MS);
}

static void default_delays_of_one_item(struct kunit *test)
{
	static const u64 ms[] = {
		5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240,
		20480, 40960, 81920, 163840, 327680, 655360, 1000000, 1000000,
	};
	ktime_t now = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ms); i++) {
		KUNIT_EXPECT_EQ(test, when(test, i, now), ms[i] * MS);
		KUNIT_EXPECT_EQ(test, kwq_rate_limiter_when(NULL, i, 0, 0), ms[i] * MS);
		now += ms[i] * MS;
	}
	/* However many fail at once. */
	for (i = 0; i < 200; i++)
		KUNIT_EXPECT_EQ(test, when(test, 0, now), 5 * MS);
	KUNIT_EXPECT_EQ(test, when(test, 1000, now), 1000 * SEC);
	KUNIT_EXPECT_EQ(test, when(test, U32_MAX, now), 1000 * SEC);
}

static void no_limiters_is_the_default(struct kunit *test)
{
	struct limiter_test *t = test->priv;
	struct kwq_limiter_config *own;

	/* A read returns the default limiter. */
	use(test, (struct kwq_limiter)EXPONENTIAL(1, 1), 0);
	memset(&t->config, 0, sizeof(t->config));
	configure(test, 0);
	own = &t->limiter->config;
	KUNIT_EXPECT_EQ(test, own->nr, 1);
	KUNIT_EXPECT_EQ(test, own->limiters[0].kind, KWQ_LIMITER_EXPONENTIAL);
	KUNIT_EXPECT_EQ(test, own->limiters[0].u.exponential.base, 5 * MS);
	KUNIT_EXPECT_EQ(test, own->limiters[0].u.exponential.max, 1000 * SEC);
	KUNIT_EXPECT_EQ(test, kwq_limiter_config_check(own), 0);
}

static void what_is_behind_the_limiters_is_not_kept(struct kunit *test)
{
	struct limiter_test *t = test->priv;

	t->config.limiters[3].kind = 77;
	use(test, (struct kwq_limiter)EXPONENTIAL(1, 1), 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(&t->limiter->config.limiters[1], 0,
					   7 * sizeof(struct kwq_limiter)));
}

/* ---- What is refused ---- */

static const struct check_case {
	const char *desc;
	struct kwq_limiter one;
	int err;
} check_cases[] = {
	{ "no kind", { }, -EINVAL },
	{ "unknown kind", { .kind = KWQ_LIMITER_BACKOFF + 1 }, -EINVAL },
	{ "largest kind", { .kind = U32_MAX }, -EINVAL },

	{ "exponential", EXPONENTIAL(1, 1), 0 },
	{ "exponential, longest", EXPONENTIAL(LONGEST, LONGEST), 0 },
	{ "exponential, base 0", EXPONENTIAL(0, 1), -EINVAL },
	{ "exponential, base above max", EXPONENTIAL(2, 1), -EINVAL },
	{ "exponential, max too long", EXPONENTIAL(1, LONGEST + 1), -EINVAL },
	{ "exponential, both too long",
	  EXPONENTIAL(LONGEST + 1, LONGEST + 1), -EINVAL },

	{ "fast-slow", FAST_SLOW(0, 0, 0), 0 },
	{ "fast-slow, longest", FAST_SLOW(LONGEST, LONGEST, U32_MAX), 0 },
	{ "fast-slow, slow before fast", FAST_SLOW(2, 1, 1), 0 },
	{ "fast-slow, fast too long", FAST_SLOW(LONGEST + 1, 0, 0), -EINVAL },
	{ "fast-slow, slow too long", FAST_SLOW(0, LONGEST + 1, 0), -EINVAL },
	{ "fast-slow, padding", { .kind = KWQ_LIMITER_FAST_SLOW,
				  .u.fast_slow.pad = 1 }, -EINVAL },

	{ "bucket", BUCKET(1, 1, 1), 0 },
	{ "bucket, largest", BUCKET(U32_MAX, LONGEST, U32_MAX), 0 },
	{ "bucket, rate 0", BUCKET(0, 1, 1), -EINVAL },
	{ "bucket, period 0", BUCKET(1, 0, 1), -EINVAL },
	{ "bucket, period too long", BUCKET(1, LONGEST + 1, 1), -EINVAL },
	{ "bucket, burst 0", BUCKET(1, 1, 0), -EINVAL },

	{ "backoff", BACKOFF(), 0 },
	{ "backoff, most steps", BACKOFF(.steps = KWQ_LIMITER_STEPS_MAX), 0 },
	{ "backoff, too many steps",
	  BACKOFF(.steps = KWQ_LIMITER_STEPS_MAX + 1), -EINVAL },
	{ "backoff, too long", BACKOFF(.duration = LONGEST + 1), -EINVAL },
	{ "backoff, cap too long", BACKOFF(.cap = LONGEST + 1), -EINVAL },
	{ "backoff, cap of the first", BACKOFF(.duration = 5, .cap = 5), 0 },
	{ "backoff, above the cap", BACKOFF(.duration = 6, .cap = 5), -EINVAL },
	{ "backoff, shrinking", BACKOFF(.factor = KWQ_ONE - 1), 0 },
	{ "backoff, vanishing", BACKOFF(.factor = 1), 0 },
	{ "backoff, padding", BACKOFF(.pad = 1), -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(check, check_cases, desc);

static void check(struct kunit *test)
{
	const struct check_case *p = test->param_value;
	struct limiter_test *t = test->priv;
	u32 at, i;

	/* Wherever it stands. */
	for (at = 0; at < KWQ_LIMITERS_MAX; at += KWQ_LIMITERS_MAX - 1) {
		t->config.nr = at + 1;
		for (i = 0; i < at; i++)
			t->config.limiters[i] =
				(struct kwq_limiter)EXPONENTIAL(1, 1);
		t->config.limiters[at] = p->one;
		KUNIT_EXPECT_EQ(test, kwq_limiter_config_check(&t->config),
				p->err);
	}
	/* Limiters beyond the number are ignored. */
	t->config.nr--;
	KUNIT_EXPECT_EQ(test, kwq_limiter_config_check(&t->config), 0);
}

/* Number of bytes of the union for each kind. */
static const struct member_case {
	const char *desc;
	struct kwq_limiter one;
	size_t size;
} member_cases[] = {
	{ "exponential", EXPONENTIAL(1, 1), 16 },
	{ "fast-slow", FAST_SLOW(1, 1, 1), 24 },
	{ "bucket", BUCKET(1, 1, 1), 16 },
	{ "backoff", BACKOFF(.duration = 1), 32 },
};

KUNIT_ARRAY_PARAM_DESC(member, member_cases, desc);

static void bytes_behind_the_member(struct kunit *test)
{
	const struct member_case *p = test->param_value;
	struct limiter_test *t = test->priv;
	struct kwq_limiter *one = &t->config.limiters[0];
	size_t i;

	t->config.nr = 1;
	for (i = p->size; i < sizeof(one->u); i++) {
		*one = p->one;
		((u8 *)&one->u)[i] = 1;
		KUNIT_EXPECT_EQ_MSG(test, kwq_limiter_config_check(&t->config),
				    -EINVAL, "byte %zu", i);
	}
	*one = p->one;
	KUNIT_EXPECT_EQ(test, kwq_limiter_config_check(&t->config), 0);
	one->pad = 1;
	KUNIT_EXPECT_EQ(test, kwq_limiter_config_check(&t->config), -EINVAL);
}

static void check_of_the_rest(struct kunit *test)
{
	struct kwq_limiter_config *c = &((struct limiter_test *)test->priv)->config;
	u32 bit;

	KUNIT_EXPECT_EQ(test, kwq_limiter_config_check(c), 0);
	for (bit = 0; bit < 32; bit++) {
		c->flags = 1U << bit;
		KUNIT_EXPECT_EQ_MSG(test, kwq_limiter_config_check(c),
				    c->flags == KWQ_CONFIG_COALESCE ? 0 :
				    -EINVAL, "bit %u", bit);
	}
	c->flags = 0;
	c->max_wait = LONGEST;
	c->forget_after = LONGEST;
	c->dead_after = U32_MAX;
	KUNIT_EXPECT_EQ(test, kwq_limiter_config_check(c), 0);
	c->max_wait++;
	KUNIT_EXPECT_EQ(test, kwq_limiter_config_check(c), -EINVAL);
	c->max_wait = 0;
	c->forget_after++;
	KUNIT_EXPECT_EQ(test, kwq_limiter_config_check(c), -EINVAL);
	c->forget_after = 0;
	c->nr = KWQ_LIMITERS_MAX + 1;
	KUNIT_EXPECT_EQ(test, kwq_limiter_config_check(c), -EINVAL);
	c->nr = U32_MAX;
	KUNIT_EXPECT_EQ(test, kwq_limiter_config_check(c), -EINVAL);
}

/* ---- L4: the bucket ---- */

static const struct rate_case {
	const char *desc;
	u32 events;
	u64 period;
	u32 burst;
} rate_cases[] = {
	{ "one an hour", 1, HOUR, 5 },
	{ "one an hour, burst 1", 1, HOUR, 1 },
	{ "one a second", 1, SEC, 10 },
	{ "10 a second", 10, SEC, 100 },
	{ "3 a second", 3, SEC, 7 },
	{ "7 in 1000003 ns", 7, 1000003, 20 },
	{ "999983 in a second", 999983, SEC, 50 },
	{ "10^9 in 10^9 ns", 1000000000, 1000000000, 9 },
	{ "one a ns", 1, 1, 3 },
	{ "3 a ns", 3, 1, 4 },
	{ "17 in 5 ns", 17, 5, 40 },
};

KUNIT_ARRAY_PARAM_DESC(rate, rate_cases, desc);

static void bucket_does_not_drift(struct kunit *test)
{
	const struct rate_case *p = test->param_value;
	int wrong = 0;
	u32 n;

	/* L4: the n-th delay is n x period / events, rounded once. */
	use(test, (struct kwq_limiter)BUCKET(p->events, p->period, p->burst), 0);
	for (n = 0; n < p->burst; n++)
		wrong += when(test, 0, 0) != 0;
	for (n = 1; n <= 1000000; n++)
		wrong += when(test, 0, 0) !=
			 mul_u64_u64_div_u64(n, p->period, p->events);
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

static void bucket_refills_exactly(struct kunit *test)
{
	/* L4: 3 per second: a token takes 333,333,333 1/3 ns. */
	use(test, (struct kwq_limiter)BUCKET(3, SEC, 1), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 333333333), 0);
	/* The last one took a third of a ns on credit: 666,666,666 2/3 */
	KUNIT_EXPECT_EQ(test, when(test, 0, 333333333), 333333333);
	KUNIT_EXPECT_EQ(test, when(test, 0, 999999999), 1);
	KUNIT_EXPECT_EQ(test, when(test, 0, 2 * SEC), 0);
	/* The bucket was full, and not more. */
	KUNIT_EXPECT_EQ(test, when(test, 0, 2 * SEC), 333333333);
}

static void bucket_is_full_at_first(struct kunit *test)
{
	static const ktime_t nows[] = { 0, 1, SEC, KTIME_MAX - 1, KTIME_MAX };
	int i;

	/* L4: whenever that is. */
	for (i = 0; i < ARRAY_SIZE(nows); i++) {
		use(test, (struct kwq_limiter)EXPONENTIAL(1, 1), nows[i]);
		use(test, (struct kwq_limiter)BUCKET(1, SEC, 2), nows[i]);
		KUNIT_EXPECT_EQ(test, when(test, 0, nows[i]), 0);
		KUNIT_EXPECT_EQ(test, when(test, 0, nows[i]), 0);
		KUNIT_EXPECT_EQ(test, when(test, 0, nows[i]),
				min_t(u64, SEC, KTIME_MAX - nows[i]));
	}
}

static void bucket_does_not_wrap_near_the_end_of_time(struct kunit *test)
{
	const ktime_t now = KTIME_MAX - 10;
	int i;

	/* L4 */
	use(test, (struct kwq_limiter)BUCKET(1, 4, 1), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, now), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, now), 4);
	KUNIT_EXPECT_EQ(test, when(test, 0, now), 8);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, when(test, 0, now), 10);
	KUNIT_EXPECT_EQ(test, when(test, 0, KTIME_MAX), 0);
}

static void bucket_of_the_longest_period(struct kunit *test)
{
	/* L4 */
	use(test, (struct kwq_limiter)BUCKET(1, LONGEST, 1), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), LONGEST);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), LONGEST);
	KUNIT_EXPECT_EQ(test, when(test, 0, 5), LONGEST - 5);

	use(test, (struct kwq_limiter)EXPONENTIAL(1, 1), 0);
	use(test, (struct kwq_limiter)BUCKET(2, LONGEST, 2), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), LONGEST / 2);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), LONGEST);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), LONGEST);
}

static void bucket_that_takes_longer_to_fill_than_time_lasts(struct kunit *test)
{
	int i;

	/* L4: it holds the tokens of 2^63 - 1 ns; here that is one. */
	use(test, (struct kwq_limiter)BUCKET(1, LONGEST, U32_MAX), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), 0);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, when(test, 0, 0), LONGEST);
}

static void bucket_of_the_largest_burst(struct kunit *test)
{
	int i, wrong = 0;

	/* L4: the burst lasts for a day. */
	use(test, (struct kwq_limiter)BUCKET(1, SEC, U32_MAX), 0);
	for (i = 0; i < 100000; i++)
		wrong += when(test, 0, 0) != 0;
	KUNIT_EXPECT_EQ(test, wrong, 0);
	use(test, (struct kwq_limiter)BUCKET(U32_MAX, 1, U32_MAX), 0);
	for (i = 0; i < 100000; i++)
		wrong += when(test, 0, 0) != 0;
	KUNIT_EXPECT_EQ(test, wrong, 0);
	/* 2^32 - 1 per ns: the highest rate. */
	use(test, (struct kwq_limiter)EXPONENTIAL(1, 1), 0);
	use(test, (struct kwq_limiter)BUCKET(U32_MAX, 1, 1), 0);
	for (i = 0; i < 100000; i++)
		wrong += when(test, 0, i) != 0;
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

/* ---- L4: another rate ---- */

/* Low and high rates. The wait for 11 tokens saturates. */
static const struct kwq_limiter rates[] = {
	BUCKET(1, HOUR, 10), BUCKET(3, SEC, 10), BUCKET(10, SEC, 10),
	BUCKET(1, 100 * MS, 10), BUCKET(7, 1000003, 10), BUCKET(1, 1, 10),
	BUCKET(1000, 1, 10), BUCKET(U32_MAX, 1, 10), BUCKET(1, LONGEST / 11, 10),
	BUCKET(U32_MAX, LONGEST, 10),
};

/*
 * Changes the rate after @nr of 10 tokens were taken. The next delays are those of as many
 * tokens, rounded up by less than a ns.
 */
static void change_after(struct kunit *test, int from, int to, int nr)
{
	const struct kwq_limiter *new = &rates[to];
	u64 delay, right;
	int i;

	use(test, (struct kwq_limiter)EXPONENTIAL(1, 1), 1000);
	use(test, rates[from], 1000);
	for (i = 0; i < nr; i++)
		when(test, 0, 1000);
	use(test, *new, 1000);
	for (i = nr + 1; i < 20; i++) {
		delay = when(test, 0, 1000);
		right = i <= 10 ? 0 :
			mul_u64_u64_div_u64(i - 10, new->u.bucket.period,
					    new->u.bucket.events);
		KUNIT_EXPECT_GE_MSG(test, delay, right, "%d to %d", from, to);
		KUNIT_EXPECT_LE_MSG(test, delay, right + 1, "%d to %d", from, to);
	}
}

static void change_between_all(struct kunit *test, int nr)
{
	int from, to;

	for (from = 0; from < ARRAY_SIZE(rates); from++)
		for (to = 0; to < ARRAY_SIZE(rates); to++)
			change_after(test, from, to, nr);
}

static void changed_rate_keeps_what_is_there(struct kunit *test)
{
	/* L4: 6 of 10 tokens are left, and still 6 at the other rate. */
	change_between_all(test, 4);
	/* None are left. */
	change_between_all(test, 10);
}

static void changed_rate_keeps_what_is_owed(struct kunit *test)
{
	/* L4: 4 tokens are owed, and still 4 at the other rate. */
	change_between_all(test, 14);
}

static void changed_rate_keeps_parts_of_tokens(struct kunit *test)
{
	/*
	 * L4: 1 ns of "3 a second" is 3 / 10^9 of a token. If a token takes an hour, that
	 * is 10,800 ns.
	 */
	use(test, (struct kwq_limiter)BUCKET(3, SEC, 1), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), 0);
	use(test, (struct kwq_limiter)BUCKET(1, HOUR, 1), 1);
	KUNIT_EXPECT_EQ(test, when(test, 0, 1), HOUR - 10800);

	/* And 1/3 ns, which only the fraction holds: 3,600 ns. */
	use(test, (struct kwq_limiter)EXPONENTIAL(1, 1), 0);
	use(test, (struct kwq_limiter)BUCKET(3, SEC, 1), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 333333333), 0);
	use(test, (struct kwq_limiter)BUCKET(1, HOUR, 1), 333333333);
	KUNIT_EXPECT_EQ(test, when(test, 0, 333333333), HOUR + 3600);
}

static void changed_rate_is_not_in_the_callers_favour(struct kunit *test)
{
	/* L4: 0.999999997 of a token is owed: 6.999999979 ns, so 7, and 7 more. */
	use(test, (struct kwq_limiter)BUCKET(3, SEC, 1), 0);
	when(test, 0, 0);
	when(test, 0, 0);
	use(test, (struct kwq_limiter)BUCKET(1, 7, 1), 1);
	KUNIT_EXPECT_EQ(test, when(test, 0, 1), 14);

	/* 0.000000003 of a token is there: 0.000000021 ns, so none. */
	use(test, (struct kwq_limiter)EXPONENTIAL(1, 1), 0);
	use(test, (struct kwq_limiter)BUCKET(3, SEC, 1), 0);
	when(test, 0, 0);
	use(test, (struct kwq_limiter)BUCKET(1, 7, 1), 1);
	KUNIT_EXPECT_EQ(test, when(test, 0, 1), 7);
}

static void same_rate_is_no_change(struct kunit *test)
{
	int i;

	/* L4: nothing is rounded. */
	use(test, (struct kwq_limiter)BUCKET(3, SEC, 1), 0);
	when(test, 0, 0);
	for (i = 1; i <= 9; i++) {
		use(test, (struct kwq_limiter)BUCKET(3, SEC, 1), 0);
		KUNIT_EXPECT_EQ(test, when(test, 0, 0),
				div_u64(i * SEC, 3));
	}
}

static void changed_burst(struct kunit *test)
{
	/* L4: like SetBurst: a larger bucket does not fill at once, */
	use(test, (struct kwq_limiter)BUCKET(1, SEC, 2), 0);
	use(test, (struct kwq_limiter)BUCKET(1, SEC, 4), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), SEC);
	/* and a smaller one loses tokens. */
	use(test, (struct kwq_limiter)BUCKET(1, SEC, 1), 100 * SEC);
	KUNIT_EXPECT_EQ(test, when(test, 0, 100 * SEC), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 100 * SEC), SEC);
}

static void bucket_in_the_place_of_something_else_is_full(struct kunit *test)
{
	struct limiter_test *t = test->priv;

	/* Tokens belong to the position of the limiter. */
	use(test, (struct kwq_limiter)BUCKET(1, SEC, 1), 0);
	when(test, 0, 0);
	when(test, 0, 0);
	t->config.nr = 2;
	t->config.limiters[1] = t->config.limiters[0];
	t->config.limiters[0] = (struct kwq_limiter)EXPONENTIAL(1, 1);
	configure(test, 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), 1);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), SEC);
}

static void change_does_not_wrap(struct kunit *test)
{
	static const struct kwq_limiter odd[] = {
		BUCKET(1, 1, 1), BUCKET(U32_MAX, 1, U32_MAX),
		BUCKET(1, LONGEST, U32_MAX), BUCKET(U32_MAX, LONGEST, U32_MAX),
		BUCKET(U32_MAX, LONGEST, 1), BUCKET(1, U32_MAX, U32_MAX),
		BUCKET(2, LONGEST - 1, 3), BUCKET(1, HOUR, U32_MAX),
	};
	static const ktime_t nows[] = { 0, 1, HOUR, KTIME_MAX - 1, KTIME_MAX };
	struct rnd_state rnd;
	ktime_t now;
	u64 delay, last;
	int i, n;

	/* L4: while the clock stands still, delays never fall and are never too long. */
	prandom_seed_state(&rnd, 5);
	for (i = 0; i < 20000; i++) {
		now = nows[i * ARRAY_SIZE(nows) / 20000];
		use(test, odd[prandom_u32_state(&rnd) % ARRAY_SIZE(odd)], now);
		last = 0;
		for (n = prandom_u32_state(&rnd) % 8; n; n--) {
			delay = when(test, 0, now);
			if (delay < last || delay > KTIME_MAX - now) {
				KUNIT_FAIL(test, "change %d: %llu after %llu",
					   i, delay, last);
				return;
			}
			last = delay;
		}
	}
}

static void nothing_is_owed_beyond_the_end_of_time(struct kunit *test)
{
	const ktime_t now = KTIME_MAX - 10;
	int i;

	/* L4 D7: a debt of 12.5 ns; 10 fit before the end, which is 4 tokens of 2.5 ns */
	use(test, (struct kwq_limiter)BUCKET(2, 5, 1), now);
	for (i = 0; i < 6; i++)
		when(test, 0, now);
	use(test, (struct kwq_limiter)BUCKET(1, 1, 1), now);
	KUNIT_EXPECT_EQ(test, when(test, 0, now), 5);

	/* The clock ends at whole ns: of 10.5 ns, 10 are left, which is 20/21 of a token */
	use(test, (struct kwq_limiter)EXPONENTIAL(1, 1), now);
	use(test, (struct kwq_limiter)BUCKET(2, 21, 1), now);
	KUNIT_EXPECT_EQ(test, when(test, 0, now), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, now), 10);
	/* or 3 1/3 ns at this rate, and another token takes 3 1/2. */
	use(test, (struct kwq_limiter)BUCKET(6, 21, 1), now);
	KUNIT_EXPECT_EQ(test, when(test, 0, now), 6);

	/* By a change of the rate: 5 tokens take 12.5 ns, 10 of which fit. */
	use(test, (struct kwq_limiter)EXPONENTIAL(1, 1), now);
	use(test, (struct kwq_limiter)BUCKET(1, 1, 1), now);
	for (i = 0; i < 6; i++)
		KUNIT_EXPECT_EQ(test, when(test, 0, now), i);
	use(test, (struct kwq_limiter)BUCKET(2, 5, 1), now);
	use(test, (struct kwq_limiter)BUCKET(1, 1, 1), now);
	KUNIT_EXPECT_EQ(test, when(test, 0, now), 5);
}

static void a_long_debt_is_of_whole_tokens(struct kunit *test)
{
	/* L4 D7: found at random. 3 tokens minus 11 ns are owed; 2 fit. */
	use(test, (struct kwq_limiter)BUCKET(2, LONGEST - 2, 0x3c941), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 1), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 1), 4611686018427387899ULL);
	KUNIT_EXPECT_EQ(test, when(test, 0, 1), 9223372036854775802ULL);
	KUNIT_EXPECT_EQ(test, when(test, 0, 2), LONGEST - 2);
	/* 3 x (LONGEST - 2) / 4 */
	use(test, (struct kwq_limiter)BUCKET(4, LONGEST - 2, 3), 2);
	KUNIT_EXPECT_EQ(test, when(test, 0, 2), 6917529027641081853ULL);
}

static void change_at_a_time_long_before(struct kunit *test)
{
	/* L4 D7: more tokens are owed than fit into 64 bits */
	use(test, (struct kwq_limiter)EXPONENTIAL(1, 1), 0);
	use(test, (struct kwq_limiter)BUCKET(U32_MAX, 1, 1), KTIME_MAX);
	KUNIT_EXPECT_EQ(test, when(test, 0, KTIME_MAX), 0);
	use(test, (struct kwq_limiter)BUCKET(1, 1, 1), 0);
	KUNIT_EXPECT_EQ(test, when(test, 0, 0), LONGEST);
}

/* ---- L4: against golang.org/x/time/rate ---- */

static const struct rate_row {
	u64 now;
	u32 nr;			/* number of reservations at that time; 0: the rate changes */
	u64 first;		/* delay of the first one; or the new period */
	u64 last;		/* delay of the last one; or the new events */
} rate_table[] = {
#include "rate_table.h"
};

/*
 * The original counts tokens in doubles, and rounds down delays that may be slightly more
 * or less than whole ns. So 1 ns of difference is allowed.
 */
static bool is_about(u64 delay, u64 original)
{
	return delay + 1 >= original && delay <= original + 1;
}

static void same_as_the_original(struct kunit *test)
{
	const struct rate_row *row;
	u64 first, last;
	int i;
	u32 n;

	/* L4: a day with bursts, idle times and changed rates. */
	use(test, (struct kwq_limiter)BUCKET(10, SEC, 100), 0);
	for (i = 0; i < ARRAY_SIZE(rate_table); i++) {
		row = &rate_table[i];
		if (!row->nr) {
			use(test, (struct kwq_limiter)BUCKET(row->last,
							     row->first, 100),
			    row->now);
			continue;
		}
		first = when(test, 0, row->now);
		last = first;
		for (n = 1; n < row->nr; n++)
			last = when(test, 0, row->now);
		KUNIT_EXPECT_TRUE_MSG(test,
				      is_about(first, row->first) &&
				      is_about(last, row->last),
				      "row %d: %llu to %llu, not %llu to %llu",
				      i, first, last, row->first, row->last);
	}
}

static struct kunit_case limiter_test_cases[] = {
	KUNIT_CASE(exponential_doubles),
	KUNIT_CASE(exponential_does_not_overflow),
	KUNIT_CASE(exponential_of_one_length),
	KUNIT_CASE(fast_slow),
	KUNIT_CASE(fast_slow_without_fast_ones),
	KUNIT_CASE(backoff),
	KUNIT_CASE(backoff_with_jitter),
	KUNIT_CASE(table_ends_where_pauses_stay),
	KUNIT_CASE(tables_tell_what_steps_do_of_any_count),
	KUNIT_CASE(max_of),
	KUNIT_CASE(every_limiter_is_asked),
	KUNIT_CASE(as_many_limiters_as_there_can_be),
	KUNIT_CASE(max_wait),
	KUNIT_CASE(max_wait_is_over_the_default_too),
	KUNIT_CASE(client_gos_default),
	KUNIT_CASE(default_delays_of_one_item),
	KUNIT_CASE(no_limiters_is_the_default),
	KUNIT_CASE(what_is_behind_the_limiters_is_not_kept),
	KUNIT_CASE_PARAM(check, check_gen_params),
	KUNIT_CASE_PARAM(bytes_behind_the_member, member_gen_params),
	KUNIT_CASE(check_of_the_rest),
	KUNIT_CASE_PARAM(bucket_does_not_drift, rate_gen_params),
	KUNIT_CASE(bucket_refills_exactly),
	KUNIT_CASE(bucket_is_full_at_first),
	KUNIT_CASE(bucket_does_not_wrap_near_the_end_of_time),
	KUNIT_CASE(bucket_of_the_longest_period),
	KUNIT_CASE(bucket_that_takes_longer_to_fill_than_time_lasts),
	KUNIT_CASE(bucket_of_the_largest_burst),
	KUNIT_CASE(changed_rate_keeps_what_is_there),
	KUNIT_CASE(changed_rate_keeps_what_is_owed),
	KUNIT_CASE(changed_rate_keeps_parts_of_tokens),
	KUNIT_CASE(changed_rate_is_not_in_the_callers_favour),
	KUNIT_CASE(same_rate_is_no_change),
	KUNIT_CASE(changed_burst),
	KUNIT_CASE(bucket_in_the_place_of_something_else_is_full),
	KUNIT_CASE(change_does_not_wrap),
	KUNIT_CASE(nothing_is_owed_beyond_the_end_of_time),
	KUNIT_CASE(a_long_debt_is_of_whole_tokens),
	KUNIT_CASE(change_at_a_time_long_before),
	KUNIT_CASE(same_as_the_original),
	{}
};

static struct kunit_suite limiter_test_suite = {
	.name = "kwq-limiter",
	.init = limiter_test_init,
	.test_cases = limiter_test_cases,
};

kunit_test_suite(limiter_test_suite);

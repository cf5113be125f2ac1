// SPDX-License-Identifier: GPL-2.0-only
/*
 * Backoffs: the arithmetic, with times and random numbers of the tests, and backoff-until
 * in threads. On the real clock the tests only check the order of events.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/kwq.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/prandom.h>
#include "tests/thread.h"

#define LONGEST		((u64)S64_MAX)
#define MS		((u64)NSEC_PER_MSEC)

static void expect_steps(struct kunit *test, struct kwq_backoff b,
			 const u64 *pauses, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_EQ_MSG(test, kwq_backoff_step(&b, 0), pauses[i],
				    "step %d", i);
}

/* ---- B1: a step ---- */

static void grows_while_steps_last(struct kunit *test)
{
	/* B1: apimachinery's DefaultBackoff: 10 ms, factor 5, 4 steps. */
	static const u64 pauses[] = {
		10 * MS, 50 * MS, 250 * MS, 1250 * MS, 6250 * MS, 6250 * MS,
	};

	expect_steps(test, (struct kwq_backoff){
		.duration = 10 * MS,
		.factor = 5 * KWQ_ONE,
		.steps = 4,
	}, pauses, ARRAY_SIZE(pauses));
}

static void without_steps_it_does_not_grow(struct kunit *test)
{
	static const u64 pauses[] = { 7, 7, 7 };

	/* B1: a pause is not cut to the cap, either. */
	expect_steps(test, (struct kwq_backoff){
		.duration = 7,
		.factor = 2 * KWQ_ONE,
		.cap = 5,
	}, pauses, ARRAY_SIZE(pauses));
}

static void factor_0_does_not_grow(struct kunit *test)
{
	struct kwq_backoff b = { .duration = 7, .cap = 5, .steps = 3 };
	int i;

	/* B1: the steps are used up all the same. */
	for (i = 0; i < 5; i++) {
		KUNIT_EXPECT_EQ(test, b.steps, max(3 - i, 0));
		KUNIT_EXPECT_EQ(test, kwq_backoff_step(&b, 0), 7);
	}
}

static void factor_1_does_not_grow(struct kunit *test)
{
	static const u64 pauses[] = { 7, 7, 7 };

	expect_steps(test, (struct kwq_backoff){
		.duration = 7,
		.factor = KWQ_ONE,
		.steps = 3,
	}, pauses, ARRAY_SIZE(pauses));
}

static void factor_below_1_shrinks(struct kunit *test)
{
	static const u64 pauses[] = { 100, 50, 25, 12, 6, 6 };
	struct kwq_backoff b = {
		.duration = 100,
		.factor = KWQ_ONE / 2,
		.cap = 1000,
		.steps = 4,
	};
	int i;

	/* B1: like apimachinery's; each pause is rounded down. */
	expect_steps(test, b, pauses, ARRAY_SIZE(pauses));
	for (i = 0; i < ARRAY_SIZE(pauses); i++)
		KUNIT_EXPECT_EQ(test, kwq_backoff_after(&b, i, 0), pauses[i]);
	/* The pauses shrink to 0. */
	b.steps = U32_MAX;
	KUNIT_EXPECT_EQ(test, kwq_backoff_after(&b, U32_MAX, 0), 0);
	b.factor = 1;
	KUNIT_EXPECT_EQ(test, kwq_backoff_after(&b, 1, 0), 0);
}

static void cap_uses_the_steps_up(struct kunit *test)
{
	struct kwq_backoff b = {
		.duration = 10,
		.factor = 2 * KWQ_ONE,
		.cap = 35,
		.steps = 10,
	};

	/* B1 */
	KUNIT_EXPECT_EQ(test, kwq_backoff_step(&b, 0), 10);
	KUNIT_EXPECT_EQ(test, kwq_backoff_step(&b, 0), 20);
	KUNIT_EXPECT_EQ(test, b.duration, 35);
	KUNIT_EXPECT_EQ(test, b.steps, 0);
	KUNIT_EXPECT_EQ(test, kwq_backoff_step(&b, 0), 35);
	KUNIT_EXPECT_EQ(test, kwq_backoff_step(&b, 0), 35);
}

static void exactly_the_cap_keeps_the_steps(struct kunit *test)
{
	struct kwq_backoff b = {
		.duration = 10,
		.factor = 2 * KWQ_ONE,
		.cap = 40,
		.steps = 10,
	};

	/* B1: beyond the cap, not at it. */
	kwq_backoff_step(&b, 0);
	kwq_backoff_step(&b, 0);
	KUNIT_EXPECT_EQ(test, b.duration, 40);
	KUNIT_EXPECT_EQ(test, b.steps, 8);
	KUNIT_EXPECT_EQ(test, kwq_backoff_step(&b, 0), 40);
	KUNIT_EXPECT_EQ(test, b.steps, 0);
	KUNIT_EXPECT_EQ(test, kwq_backoff_step(&b, 0), 40);
}

static void products_are_rounded_down(struct kunit *test)
{
	static const u64 pauses[] = { 3, 4, 6, 9, 13, 19 };

	/* B1: 3 x 1.5 = 4.5, 4 x 1.5 = 6, 9, 13.5, 19.5 */
	expect_steps(test, (struct kwq_backoff){
		.duration = 3,
		.factor = KWQ_ONE + KWQ_ONE / 2,
		.steps = 10,
	}, pauses, ARRAY_SIZE(pauses));
}

/* With whole and fractional parts, so that both products are tested. */
static void products_are_exact(struct kunit *test)
{
	struct kwq_backoff b = {
		.duration = 0x123456789abcULL,
		.factor = 0x1ffff,
		.steps = 1,
	};

	/* B1: 0x123456789abc x 0x1ffff / 0x10000 */
	kwq_backoff_step(&b, 0);
	KUNIT_EXPECT_EQ(test, b.duration, 0x2468acf13578ULL - 0x12345679ULL);
}

/* ---- B1: jitter ---- */

static void jitter_is_a_part_of_the_pause(struct kunit *test)
{
	struct kwq_backoff b = { .duration = 1000 * MS, .jitter = KWQ_ONE / 2 };

	/* B1: from no jitter to almost all of it. */
	KUNIT_EXPECT_EQ(test, kwq_backoff_step(&b, 0), 1000 * MS);
	KUNIT_EXPECT_EQ(test, kwq_backoff_step(&b, 1U << 31), 1250 * MS);
	KUNIT_EXPECT_EQ(test, kwq_backoff_step(&b, 1U << 30), 1125 * MS);
	KUNIT_EXPECT_EQ(test, kwq_backoff_step(&b, U32_MAX), 1500 * MS - 1);
	/* 10 s x random / 2^32: each bit is worth 2.3 ns */
	b.jitter = 10 * KWQ_ONE;
	KUNIT_EXPECT_EQ(test, kwq_backoff_step(&b, U32_MAX), 11000 * MS - 3);
	b.jitter = 0;
	KUNIT_EXPECT_EQ(test, kwq_backoff_step(&b, U32_MAX), 1000 * MS);
}

static void jitter_does_not_grow_the_next_pause(struct kunit *test)
{
	struct kwq_backoff b = {
		.duration = 100,
		.factor = 2 * KWQ_ONE,
		.jitter = KWQ_ONE,
		.steps = 2,
	};

	/* B1 */
	KUNIT_EXPECT_EQ(test, kwq_backoff_step(&b, 1U << 31), 150);
	KUNIT_EXPECT_EQ(test, b.duration, 200);
	KUNIT_EXPECT_EQ(test, kwq_backoff_step(&b, 1U << 31), 300);
}

static void jitter_is_beyond_the_cap(struct kunit *test)
{
	struct kwq_backoff b = {
		.duration = 100,
		.cap = 100,
		.jitter = KWQ_ONE,
	};

	/* B1: like apimachinery's, the cap applies before the jitter. */
	KUNIT_EXPECT_EQ(test, kwq_backoff_step(&b, 1U << 31), 150);
}

/* ---- B1: no wrap ---- */

/* B1: a pause is never shorter than the one before, and never too long. */
static void steps_do_not_wrap(struct kunit *test, struct kwq_backoff b, u32 random)
{
	const struct kwq_backoff initial = b;
	u64 pause, last = b.duration;
	int i;

	for (i = 0; i < 100; i++) {
		pause = kwq_backoff_step(&b, random);
		if (pause < last || pause > LONGEST || b.duration > LONGEST) {
			KUNIT_FAIL(test, "step %d of %llu %u %u by %u: %llu", i,
				   initial.duration, initial.factor,
				   initial.jitter, random, pause);
			return;
		}
		last = pause;
	}
}

static void largest_input_does_not_wrap(struct kunit *test)
{
	static const u64 durations[] = {
		0, 1, U32_MAX, 1ULL << 32, LONGEST / 2, LONGEST - 1, LONGEST,
	};
	static const u32 factors[] = { 0, KWQ_ONE, KWQ_ONE + 1, U32_MAX };
	static const u32 randoms[] = { 0, 1U << 31, U32_MAX };
	int i;

	/* All combinations: i has a digit for each parameter. */
	for (i = 0; i < 7 * 4 * 4 * 3; i++)
		steps_do_not_wrap(test, (struct kwq_backoff){
			.duration = durations[i % 7],
			.factor = factors[i / 7 % 4],
			.jitter = factors[i / 28 % 4],
			.steps = U32_MAX,
		}, randoms[i / 112]);
}

static void what_does_not_fit_is_the_longest(struct kunit *test)
{
	struct kwq_backoff b = {
		.duration = LONGEST / 2 + 1,
		.factor = 2 * KWQ_ONE,
		.steps = 2,
	};

	/* B1 */
	KUNIT_EXPECT_EQ(test, kwq_backoff_step(&b, 0), LONGEST / 2 + 1);
	KUNIT_EXPECT_EQ(test, kwq_backoff_step(&b, 0), LONGEST);
	b.jitter = KWQ_ONE;
	KUNIT_EXPECT_EQ(test, kwq_backoff_step(&b, U32_MAX), LONGEST);
	/* Just fits: 2^62 x (1 + 1/2) */
	b.duration = 1ULL << 62;
	KUNIT_EXPECT_EQ(test, kwq_backoff_step(&b, 1U << 31), 3ULL << 61);
}

/* ---- B1: a checked backoff ---- */

static const struct check_case {
	const char *desc;
	struct kwq_backoff b;
	int err;
} check_cases[] = {
	{ "all zero", { }, 0 },
	{ "longest duration", { .duration = LONGEST }, 0 },
	{ "duration too long", { .duration = LONGEST + 1 }, -EINVAL },
	{ "longest cap", { .cap = LONGEST }, 0 },
	{ "cap too long", { .cap = LONGEST + 1 }, -EINVAL },
	{ "duration beyond the cap", { .duration = 2, .cap = 1 }, 0 },
	{ "smallest factor", { .factor = KWQ_ONE }, 0 },
	{ "factor that shrinks", { .factor = KWQ_ONE - 1 }, 0 },
	{ "smallest factor that shrinks", { .factor = 1 }, 0 },
	{ "largest numbers", { .factor = U32_MAX, .jitter = U32_MAX,
			       .steps = U32_MAX }, 0 },
	{ "padding", { .pad = 1 }, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(check, check_cases, desc);

static void check(struct kunit *test)
{
	const struct check_case *p = test->param_value;

	/* B1 */
	KUNIT_EXPECT_EQ(test, kwq_backoff_check(&p->b), p->err);
}

/* ---- B4: after so many steps ---- */

static void after_is_step_repeated(struct kunit *test)
{
	struct kwq_backoff b, initial;
	struct rnd_state rnd;
	u64 stepped, after;
	u32 random;
	int round, i;

	/* B4: a limiter's pause equals that after as many steps. */
	prandom_seed_state(&rnd, 20261121);
	for (round = 0; round < 2000; round++) {
		initial = (struct kwq_backoff){
			.duration = prandom_u32_state(&rnd) >>
				    prandom_u32_state(&rnd) % 33 % 32,
			.cap = prandom_u32_state(&rnd) % 2 ?
			       (u64)prandom_u32_state(&rnd) << 8 : 0,
			.factor = prandom_u32_state(&rnd) % 4 ?
				  prandom_u32_state(&rnd) % (3 * KWQ_ONE) :
				  0,
			.jitter = prandom_u32_state(&rnd) % (2 * KWQ_ONE),
			.steps = prandom_u32_state(&rnd) % 20,
		};
		b = initial;
		random = prandom_u32_state(&rnd);
		for (i = 0; i < 25; i++) {
			stepped = kwq_backoff_step(&b, random);
			after = kwq_backoff_after(&initial, i, random);
			if (stepped != after) {
				KUNIT_FAIL(test, "round %d, step %d: %llu, not %llu",
					   round, i, after, stepped);
				return;
			}
		}
	}
}

static void after_ends_once_it_does_not_grow(struct kunit *test)
{
	struct kwq_backoff b = {
		.duration = 1,
		.factor = KWQ_ONE,
		.steps = U32_MAX,
	};

	/* B4: it does not make 2^32 steps. */
	KUNIT_EXPECT_EQ(test, kwq_backoff_after(&b, U32_MAX, 0), 1);
	b.factor = 2 * KWQ_ONE;
	KUNIT_EXPECT_EQ(test, kwq_backoff_after(&b, U32_MAX, 0), LONGEST);
	KUNIT_EXPECT_EQ(test, kwq_backoff_after(&b, 10, 0), 1024);
	/* The argument has not changed. */
	KUNIT_EXPECT_EQ(test, b.duration, 1);
	KUNIT_EXPECT_EQ(test, b.steps, U32_MAX);
}

/* ---- B2: the manager ---- */

static const struct kwq_backoff doubling = {
	.duration = 10,
	.factor = 2 * KWQ_ONE,
	.steps = 10,
};

static void manager_starts_over_after_its_reset(struct kunit *test)
{
	struct kwq_backoff_manager m;

	/* B2: it needs more than the reset, counted from the last step. */
	kwq_backoff_manager_init(&m, &doubling, 100, 1000);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 1000, 0), 10);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 1100, 0), 20);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 1200, 0), 40);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 1301, 0), 10);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 1301, 0), 20);
}

static void managers_first_step_counts_from_its_start(struct kunit *test)
{
	struct kwq_backoff_manager m;

	/* B2: to start over from the initial state changes nothing. */
	kwq_backoff_manager_init(&m, &doubling, 100, 1000);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 5000, 0), 10);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 5100, 0), 20);
}

static void manager_with_reset_0_starts_over_each_time(struct kunit *test)
{
	struct kwq_backoff_manager m;

	/* B2: like apimachinery's, for both kinds */
	kwq_backoff_manager_init(&m, &doubling, 0, 0);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 0, 0), 10);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 1, 0), 10);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 1, 0), 10);
	m.from_reset = true;
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 2, 0), 10);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 2, 0), 10);
}

static void manager_that_counts_from_its_reset(struct kunit *test)
{
	struct kwq_backoff_manager m;

	/* B2: like apimachinery's newer kind, however many steps are between */
	kwq_backoff_manager_init(&m, &doubling, 100, 1000);
	m.from_reset = true;
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 1000, 0), 10);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 1060, 0), 20);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 1100, 0), 40);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 1101, 0), 10);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 1190, 0), 20);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 1201, 0), 40);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 1202, 0), 10);
	/* If the clock goes back, it counts from the new time. */
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 10, 0), 20);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 110, 0), 40);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 111, 0), 10);
}

static void manager_without_a_reset_never_starts_over(struct kunit *test)
{
	struct kwq_backoff_manager m;

	/* B2 */
	kwq_backoff_manager_init(&m, &doubling, KWQ_NO_RESET, 0);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 0, 0), 10);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 1, 0), 20);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, U64_MAX, 0), 40);
}

static void manager_on_a_clock_that_goes_back(struct kunit *test)
{
	struct kwq_backoff_manager m;

	/* B2: no time has passed, and it counts from there. */
	kwq_backoff_manager_init(&m, &doubling, 100, 1000);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 1000, 0), 10);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 10, 0), 20);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 110, 0), 40);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 211, 0), 10);
}

static void manager_passes_chance_on(struct kunit *test)
{
	struct kwq_backoff jittered = doubling;
	struct kwq_backoff_manager m;

	/* B2 */
	jittered.jitter = KWQ_ONE;
	kwq_backoff_manager_init(&m, &jittered, 100, 0);
	KUNIT_EXPECT_EQ(test, kwq_backoff_manager_step(&m, 0, 1U << 31), 15);
}

/* ---- B3: backoff-until ---- */

struct until {
	struct kwq_test_thread thread;
	struct kwq_backoff_manager manager;
	struct completion ran;
	bool sliding;
	int runs;		/* how often it returns true */
	int ran_times;
	ktime_t began[4];
	ktime_t ended[4];
};

static bool run_once(void *arg)
{
	struct until *u = arg;
	/* A function that does not pause must not run beyond the arrays. */
	int n = min_t(int, u->ran_times++, ARRAY_SIZE(u->began) - 1);

	u->began[n] = ktime_get();
	/* It takes time, so that its end differs from its start. */
	do {
		u->ended[n] = ktime_get();
	} while (u->ended[n] == u->began[n]);
	complete(&u->ran);
	return u->ran_times < u->runs;
}

static void run_until(void *data)
{
	struct until *u = data;

	kwq_backoff_until(run_once, u, &u->manager, u->sliding);
}

static struct until *make_until(struct kunit *test, int runs,
				const struct kwq_backoff *pauses, bool sliding)
{
	struct until *u = kunit_kzalloc(test, sizeof(*u), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, u);
	init_completion(&u->ran);
	u->runs = runs;
	u->sliding = sliding;
	kwq_backoff_manager_init(&u->manager, pauses, KWQ_NO_RESET, ktime_get());
	kwq_test_thread_start(test, &u->thread, run_until, u);
	return u;
}

static const struct kwq_backoff short_pauses = {
	.duration = MS,
	.factor = 2 * KWQ_ONE,
	.steps = 2,
};

static void until_pauses_between_runs(struct kunit *test)
{
	struct until *u = make_until(test, 4, &short_pauses, false);

	/* B3: 1, 2 and 4 ms, from start to start; never less. */
	kwq_test_thread_join(test, &u->thread);
	KUNIT_EXPECT_EQ(test, u->ran_times, 4);
	KUNIT_EXPECT_GE(test, u->began[3] - u->manager.last, 4 * MS);
	KUNIT_EXPECT_EQ(test, u->manager.backoff.duration, 4 * MS);
	KUNIT_EXPECT_EQ(test, u->manager.backoff.steps, 0);
}

static void until_counts_from_the_start(struct kunit *test)
{
	struct until *u = make_until(test, 2, &short_pauses, false);

	/* B3 */
	kwq_test_thread_join(test, &u->thread);
	KUNIT_EXPECT_EQ(test, u->ran_times, 2);
	KUNIT_EXPECT_LE(test, u->manager.last, u->began[0]);
	KUNIT_EXPECT_GE(test, u->began[1], u->manager.last + MS);
}

static void until_counts_from_the_end_when_sliding(struct kunit *test)
{
	struct until *u = make_until(test, 2, &short_pauses, true);

	/* B3 */
	kwq_test_thread_join(test, &u->thread);
	KUNIT_EXPECT_EQ(test, u->ran_times, 2);
	KUNIT_EXPECT_GE(test, u->manager.last, u->ended[0]);
	KUNIT_EXPECT_GE(test, u->began[1], u->ended[0] + MS);
}

static void until_ends_when_the_function_says_so(struct kunit *test)
{
	static const struct kwq_backoff for_ever = { .duration = LONGEST };
	struct until *u = make_until(test, 1, &for_ever, false);

	/* B3: without a pause after the last run. */
	kwq_test_thread_join(test, &u->thread);
	KUNIT_EXPECT_EQ(test, u->ran_times, 1);
	KUNIT_EXPECT_EQ(test, u->manager.backoff.duration, LONGEST);
}

static bool sleeps(struct task_struct *task)
{
	return READ_ONCE(task->__state) & TASK_NORMAL;
}

static void until_ends_when_the_thread_is_stopped(struct kunit *test)
{
	static const struct kwq_backoff for_ever = { .duration = LONGEST };
	struct until *u = make_until(test, INT_MAX, &for_ever, false);

	/* B3: stopped during a pause that would last 292 years. */
	KUNIT_ASSERT_NOT_NULL(test, u->thread.task);
	wait_for_completion(&u->ran);
	kwq_test_wait_until(test, sleeps(u->thread.task));
	kthread_stop_put(u->thread.task);
	KUNIT_EXPECT_TRUE(test, completion_done(&u->thread.finished));
	KUNIT_EXPECT_EQ(test, u->ran_times, 1);
}

static int until_stopped(void *data)
{
	struct until *u = data;

	complete(&u->ran);
	while (!kthread_should_stop())
		schedule_timeout_uninterruptible(1);
	run_until(u);
	return 0;
}

static void until_does_not_begin_in_a_stopped_thread(struct kunit *test)
{
	struct until *u = kunit_kzalloc(test, sizeof(*u), GFP_KERNEL);
	struct task_struct *task;

	/* B3 */
	KUNIT_ASSERT_NOT_NULL(test, u);
	init_completion(&u->ran);
	task = kthread_run(until_stopped, u, "kwq_test");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	/* A kthread that is stopped before it starts does not start. */
	wait_for_completion(&u->ran);
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, u->ran_times, 0);
}

static struct kunit_case backoff_test_cases[] = {
	KUNIT_CASE(grows_while_steps_last),
	KUNIT_CASE(without_steps_it_does_not_grow),
	KUNIT_CASE(factor_0_does_not_grow),
	KUNIT_CASE(factor_1_does_not_grow),
	KUNIT_CASE(factor_below_1_shrinks),
	KUNIT_CASE(cap_uses_the_steps_up),
	KUNIT_CASE(exactly_the_cap_keeps_the_steps),
	KUNIT_CASE(products_are_rounded_down),
	KUNIT_CASE(products_are_exact),
	KUNIT_CASE(jitter_is_a_part_of_the_pause),
	KUNIT_CASE(jitter_does_not_grow_the_next_pause),
	KUNIT_CASE(jitter_is_beyond_the_cap),
	KUNIT_CASE(largest_input_does_not_wrap),
	KUNIT_CASE(what_does_not_fit_is_the_longest),
	KUNIT_CASE_PARAM(check, check_gen_params),
	KUNIT_CASE(after_is_step_repeated),
	KUNIT_CASE(after_ends_once_it_does_not_grow),
	KUNIT_CASE(manager_starts_over_after_its_reset),
	KUNIT_CASE(managers_first_step_counts_from_its_start),
	KUNIT_CASE(manager_with_reset_0_starts_over_each_time),
	KUNIT_CASE(manager_that_counts_from_its_reset),
	KUNIT_CASE(manager_without_a_reset_never_starts_over),
	KUNIT_CASE(manager_on_a_clock_that_goes_back),
	KUNIT_CASE(manager_passes_chance_on),
	KUNIT_CASE(until_pauses_between_runs),
	KUNIT_CASE(until_counts_from_the_start),
	KUNIT_CASE(until_counts_from_the_end_when_sliding),
	KUNIT_CASE(until_ends_when_the_function_says_so),
	KUNIT_CASE(until_ends_when_the_thread_is_stopped),
	KUNIT_CASE(until_does_not_begin_in_a_stopped_thread),
	{}
};

static struct kunit_suite backoff_test_suite = {
	.name = "kwq-backoff",
	.test_cases = backoff_test_cases,
};

kunit_test_suite(backoff_test_suite);

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U5: limiters as text, in both directions.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "queue/limit_spec.h"
#include "tap.h"

#define EXPONENTIAL(from, to) \
	{ .kind = KWQ_LIMITER_EXPONENTIAL, .u.exponential = { .base = (from), .max = (to) } }
#define FAST_SLOW(first, nr, then) \
	{ .kind = KWQ_LIMITER_FAST_SLOW, \
	  .u.fast_slow = { .fast = (first), .slow = (then), .nr_fast = (nr) } }
#define BUCKET(nr, per, most) \
	{ .kind = KWQ_LIMITER_BUCKET, \
	  .u.bucket = { .period = (per), .events = (nr), .burst = (most) } }
#define BACKOFF(...) \
	{ .kind = KWQ_LIMITER_BACKOFF, .u.backoff = { __VA_ARGS__ } }

/* The input text, its printed form if that differs, and the limiter. */
static const struct {
	const char *text, *printed;
	struct kwq_limiter limiter;
} good[] = {
	{ "exp:5ms..1000s", NULL, EXPONENTIAL(5 * NS_PER_MS, 1000 * NS_PER_S) },
	{ "exp:1ns..9223372036854775807ns", NULL, EXPONENTIAL(1, INT64_MAX) },
	{ "exp:1s..1s", NULL, EXPONENTIAL(NS_PER_S, NS_PER_S) },
	{ "exp:1..60", "exp:1s..1m", EXPONENTIAL(NS_PER_S, 60 * NS_PER_S) },
	{ "exp:1.5s..1m30s", "exp:1500ms..90s",
	  EXPONENTIAL(1500 * NS_PER_MS, 90 * NS_PER_S) },
	{ "exp:.5s...75s", "exp:500ms..750ms",
	  EXPONENTIAL(500 * NS_PER_MS, 750 * NS_PER_MS) },
	{ "fast-slow:5ms*3,10s", NULL, FAST_SLOW(5 * NS_PER_MS, 3, 10 * NS_PER_S) },
	{ "fast-slow:0s*0,0s", NULL, FAST_SLOW(0, 0, 0) },
	{ "fast-slow:10s*4294967295,1ms", NULL,
	  FAST_SLOW(10 * NS_PER_S, UINT32_MAX, NS_PER_MS) },
	{ "bucket:10/s:100", NULL, BUCKET(10, NS_PER_S, 100) },
	{ "bucket:1/h:1", NULL, BUCKET(1, 3600 * NS_PER_S, 1) },
	{ "bucket:7/m:2", NULL, BUCKET(7, 60 * NS_PER_S, 2) },
	{ "bucket:2/d:2", NULL, BUCKET(2, 86400 * NS_PER_S, 2) },
	{ "bucket:1/ns:1", NULL, BUCKET(1, 1, 1) },
	{ "bucket:3/250ms:4", NULL, BUCKET(3, 250 * NS_PER_MS, 4) },
	{ "bucket:3/10s:4", NULL, BUCKET(3, 10 * NS_PER_S, 4) },
	{ "bucket:3/1s:4", "bucket:3/s:4", BUCKET(3, NS_PER_S, 4) },
	{ "bucket:3/.5s:4", "bucket:3/500ms:4", BUCKET(3, 500 * NS_PER_MS, 4) },
	{ "bucket:4294967295/9223372036854775807ns:4294967295", NULL,
	  BUCKET(UINT32_MAX, INT64_MAX, UINT32_MAX) },
	{ "backoff:100ms*2..10s", NULL,
	  BACKOFF(.duration = 100 * NS_PER_MS, .factor = 2 * KWQ_ONE, .cap = 10 * NS_PER_S,
		  .steps = 256) },
	{ "backoff:100ms", NULL, BACKOFF(.duration = 100 * NS_PER_MS, .steps = 256) },
	{ "backoff:1s*1", NULL, BACKOFF(.duration = NS_PER_S, .factor = KWQ_ONE, .steps = 256) },
	{ "backoff:1s*0.5", NULL,
	  BACKOFF(.duration = NS_PER_S, .factor = KWQ_ONE / 2, .steps = 256) },
	{ "backoff:1s*1.5,steps=0", NULL,
	  BACKOFF(.duration = NS_PER_S, .factor = KWQ_ONE * 3 / 2) },
	{ "backoff:10ms*1.25..1s,steps=8,jitter=0.1", NULL,
	  BACKOFF(.duration = 10 * NS_PER_MS, .factor = KWQ_ONE * 5 / 4, .cap = NS_PER_S,
		  .steps = 8, .jitter = 6554) },
	{ "backoff:10ms*2.0..1s,jitter=1.,steps=256", "backoff:10ms*2..1s,jitter=1",
	  BACKOFF(.duration = 10 * NS_PER_MS, .factor = 2 * KWQ_ONE, .cap = NS_PER_S,
		  .steps = 256, .jitter = KWQ_ONE) },
	{ "backoff:0s,jitter=.5", "backoff:0s,jitter=0.5",
	  BACKOFF(.steps = 256, .jitter = KWQ_ONE / 2) },
	{ "backoff:1s*2...5m", "backoff:1s*2..30s",
	  BACKOFF(.duration = NS_PER_S, .factor = 2 * KWQ_ONE, .cap = 30 * NS_PER_S,
		  .steps = 256) },
	/* Rounded to nearest, ties up. */
	{ "backoff:1s,jitter=0.00000762939453124", "backoff:1s", BACKOFF(.duration = NS_PER_S,
		  .steps = 256) },
	{ "backoff:1s,jitter=0.00000762939454", "backoff:1s,jitter=0.00002",
	  BACKOFF(.duration = NS_PER_S, .steps = 256, .jitter = 1) },
	{ "backoff:1s*65535.99998", NULL,
	  BACKOFF(.duration = NS_PER_S, .factor = UINT32_MAX, .steps = 256) },
};

#define NEGATIVE	"a time is negative"
#define TOO_LONG	"a time is too long (more than 292 years)"
#define NO_TIME		"a time is not a duration such as 5ms"
#define NO_COUNT	"a count is not a number from 0 to 4294967295"
#define NO_LIMITER	"no such limiter: must begin with exp:, fast-slow:, bucket: or backoff:"
#define NOT_EXP		"not exp:BASE..MAX, such as exp:5ms..1000s"
#define NOT_FAST_SLOW	"not fast-slow:FAST*N,SLOW, such as fast-slow:5ms*3,10s"
#define NOT_BUCKET	"not bucket:EVENTS/PERIOD:BURST, such as bucket:10/s:100"
#define NOT_BACKOFF	"not backoff:FIRST[*FACTOR][..CAP][,steps=N][,jitter=PART]"
#define NO_FACTOR	"the factor is not a decimal number up to 65535"
#define NO_JITTER	"the jitter is not a decimal number from 0 to 65535"
#define NO_OPTION	"only steps= and jitter= may follow the comma of a backoff"

static const struct {
	const char *text, *why;
} bad[] = {
	{ "", NO_LIMITER },
	{ "exp", NO_LIMITER },
	{ "linear:1s", NO_LIMITER },
	{ "Exp:5ms..1s", NO_LIMITER },
	{ " exp:5ms..1s", NO_LIMITER },
	{ "exp:", NOT_EXP },
	{ "exp:5ms", NOT_EXP },
	{ "exp:5ms-1s", NOT_EXP },
	{ "exp:..1s", NO_TIME },
	{ "exp:5ms..", NO_TIME },
	{ "exp:5ms..1s ", NO_TIME },
	{ "exp:5ms..1s..2s", NO_TIME },
	{ "exp:0..1s", "the base is 0" },
	{ "exp:0..0", "the base is 0" },
	{ "exp:2s..1s", "the base is above the max" },
	{ "exp:1000000001ns..1s", "the base is above the max" },
	{ "exp:-5ms..1s", NEGATIVE },
	{ "exp:5ms..-1s", NEGATIVE },
	{ "exp:5ms..9223372036854775808ns", TOO_LONG },
	{ "exp:5ms..99999999999999999999d", TOO_LONG },
	{ "fast-slow:", NOT_FAST_SLOW },
	{ "fast-slow:5ms,10s", NOT_FAST_SLOW },
	{ "fast-slow:5ms*3", NOT_FAST_SLOW },
	{ "fast-slow:5ms*,10s", NO_COUNT },
	{ "fast-slow:5ms*x,10s", NO_COUNT },
	{ "fast-slow:5ms*-1,10s", NO_COUNT },
	{ "fast-slow:5ms*4294967296,10s", NO_COUNT },
	{ "fast-slow:-5ms*3,10s", NEGATIVE },
	{ "fast-slow:5ms*3,-10s", NEGATIVE },
	{ "fast-slow:5ms*3,", NO_TIME },
	{ "fast-slow:5ms*3,293y", NO_TIME },
	{ "fast-slow:5ms*3,106752d", TOO_LONG },
	{ "bucket:", NOT_BUCKET },
	{ "bucket:10", NOT_BUCKET },
	{ "bucket:10/s", NOT_BUCKET },
	{ "bucket:0/s:100", "the rate is 0" },
	{ "bucket:10/0:100", "the period is 0" },
	{ "bucket:10/0ms:100", "the period is 0" },
	{ "bucket:10/s:0", "the burst is 0" },
	{ "bucket:10/-1s:1", NEGATIVE },
	{ "bucket:-10/s:1", NO_COUNT },
	{ "bucket:10/s:-1", NO_COUNT },
	{ "bucket:1.5/s:1", NO_COUNT },
	{ "bucket:10/s:", NO_COUNT },
	{ "bucket:10/:1", NO_TIME },
	{ "bucket:10/week:1", NO_TIME },
	{ "bucket:10/106752d:1", TOO_LONG },
	{ "bucket:4294967296/s:1", NO_COUNT },
	{ "bucket:1/s:4294967296", NO_COUNT },
	{ "bucket:1/s:1:1", NO_COUNT },
	{ "backoff:", NO_TIME },
	{ "backoff:*2", NO_TIME },
	{ "backoff:-1s", NEGATIVE },
	{ "backoff:1s..-1s", NEGATIVE },
	{ "backoff:106752d", TOO_LONG },
	{ "backoff:1s*2..106752d", TOO_LONG },
	{ "backoff:1s*", NO_FACTOR },
	{ "backoff:1s*x", NO_FACTOR },
	{ "backoff:1s*-2", NO_FACTOR },
	{ "backoff:1s*.", NO_FACTOR },
	{ "backoff:1s*2*2", NO_FACTOR },
	{ "backoff:1s*65536", NO_FACTOR },
	{ "backoff:1s*65535.999999", NO_FACTOR },
	{ "backoff:1s*99999999999999999999999", NO_FACTOR },
	{ "backoff:1s*0", "the factor is 0" },
	{ "backoff:1s*0.000007", "the factor is 0" },
	{ "backoff:1s..0", "the cap is 0" },
	{ "backoff:2s*2..1s", "the first pause is above the cap" },
	{ "backoff:1s..2s*2", NO_TIME },
	{ "backoff:1s,", NO_OPTION },
	{ "backoff:1s,steps", NO_OPTION },
	{ "backoff:1s,cap=2s", NO_OPTION },
	{ "backoff:1s,steps=", NO_COUNT },
	{ "backoff:1s,steps=-1", NO_COUNT },
	{ "backoff:1s,steps=257", "more than 256 steps" },
	{ "backoff:1s,steps=4294967296", NO_COUNT },
	{ "backoff:1s,jitter=", NO_JITTER },
	{ "backoff:1s,jitter=-0.1", NO_JITTER },
	{ "backoff:1s,jitter=10%", NO_JITTER },
	{ "backoff:1s,jitter=65536", NO_JITTER },
	{ "backoff:1s,jitter=0.1,", NO_OPTION },
};

static bool same(const struct kwq_limiter *a, const struct kwq_limiter *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static void test_good(void)
{
	char text[LIMIT_SPEC_SIZE];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		struct kwq_limiter limiter, again;
		const char *why;

		/* Unused members must be zero for the kernel. */
		memset(&limiter, 0xa5, sizeof(limiter));
		why = limit_spec_parse(good[i].text, &limiter);
		if (!ok(!why && same(&limiter, &good[i].limiter), "limiter %s", good[i].text))
			printf("#  %s\n", why ? why : "another limiter");
		limit_spec_print(text, &good[i].limiter);
		is_string(text, good[i].printed ? good[i].printed : good[i].text,
			  "as it is printed");
		ok(!limit_spec_parse(text, &again) && same(&again, &good[i].limiter),
		   "and read again");
	}
}

static void test_bad(void)
{
	static char long_one[5000] = "exp:";
	struct kwq_limiter limiter, untouched;
	const char *why;
	size_t i;

	memset(&untouched, 0xa5, sizeof(untouched));
	limiter = untouched;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		why = limit_spec_parse(bad[i].text, &limiter);
		ok(why && !strcmp(why, bad[i].why) && same(&limiter, &untouched),
		   "refused: \"%s\"", bad[i].text);
		if (!why || strcmp(why, bad[i].why))
			printf("#  %s\n", why ? why : "nothing wrong");
	}
	memset(long_one + 4, '1', 4900);
	memcpy(long_one + 4904, "..2s", sizeof("..2s"));
	ok(limit_spec_parse(long_one, &limiter), "refused: a very long one");
}

/* Any limiter of 32-bit and 64-bit numbers survives printing and parsing. */
static uint64_t some_bits(void)
{
	uint64_t bits = (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ random();

	return bits >> random() % 64;
}

static __u64 some_time(void)
{
	static const uint64_t units[] = { 1, NS_PER_US, NS_PER_MS, NS_PER_S, 60 * NS_PER_S };
	uint64_t unit = units[random() % ARRAY_SIZE(units)];

	return some_bits() % (DURATION_MAX / unit) * unit;
}

static void randomize(struct kwq_limiter *l)
{
	uint64_t a = some_time(), b = some_time();

	memset(l, 0, sizeof(*l));
	l->kind = random() % 4 + 1;
	switch (l->kind) {
	case KWQ_LIMITER_EXPONENTIAL:
		l->u.exponential.base = (a < b ? a : b) + 1;
		l->u.exponential.max = (a < b ? b : a) + 1;
		break;
	case KWQ_LIMITER_FAST_SLOW:
		l->u.fast_slow.fast = a;
		l->u.fast_slow.slow = b;
		l->u.fast_slow.nr_fast = some_bits();
		break;
	case KWQ_LIMITER_BUCKET:
		l->u.bucket.period = a + 1;
		l->u.bucket.events = (__u32)some_bits() | 1;
		l->u.bucket.burst = (__u32)some_bits() | 1;
		break;
	case KWQ_LIMITER_BACKOFF:
		l->u.backoff.duration = a;
		l->u.backoff.cap = random() % 2 && b >= a ? b : 0;
		l->u.backoff.factor = (__u32)some_bits();
		l->u.backoff.jitter = some_bits();
		l->u.backoff.steps = random() % 257;
		break;
	}
}

static void test_round_trip(void)
{
	struct kwq_limiter limiter, again;
	char text[LIMIT_SPEC_SIZE] = "";
	const char *why = NULL;
	int i;

	srandom(1);
	for (i = 0; i < 200000 && !why; i++) {
		randomize(&limiter);
		limit_spec_print(text, &limiter);
		why = limit_spec_parse(text, &again);
		if (!why && !same(&again, &limiter))
			why = "another limiter";
	}
	if (!ok(!why, "any limiter comes back from its text"))
		printf("#  %s: %s\n", text, why);
}

#define NS "18446744073709551615ns"

static void test_limits(void)
{
	struct kwq_limiter longest = BACKOFF(.duration = UINT64_MAX, .cap = UINT64_MAX,
					     .factor = UINT32_MAX, .jitter = UINT32_MAX,
					     .steps = UINT32_MAX);
	struct kwq_limiter unknown = { .kind = 4294967295U };
	char text[LIMIT_SPEC_SIZE];

	is_string(limit_spec_print(text, &longest),
		  "backoff:" NS "*65535.99998.." NS ",steps=4294967295,jitter=65535.99998",
		  "the longest text has room");
	is_string(limit_spec_print(text, &unknown), "kind:4294967295",
		  "a kind of a newer kernel has a text");
}

int main(void)
{
	test_good();
	test_bad();
	test_round_trip();
	test_limits();
	return done_testing();
}

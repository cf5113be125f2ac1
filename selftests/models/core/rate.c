// SPDX-License-Identifier: GPL-2.0-only
#include <linux/limits.h>
#include <string.h>

#include "rate.h"

typedef unsigned __int128 u128;

#define LONGEST	((u128)S64_MAX)

/* Of a driver's queue. */
static const struct kwq_limiter_config by_default = {
	.nr = 1,
	.limiters = {
		{
			.kind = KWQ_LIMITER_EXPONENTIAL,
			.u.exponential = { .base = 5000000, .max = 1000000000000 },
		},
	},
};

static u128 smaller(u128 a, u128 b)
{
	return a < b ? a : b;
}

/* ---- Validation ---- */

static bool is_time(u64 ns)
{
	return ns <= S64_MAX;
}

bool rate_is_valid_backoff(const struct kwq_backoff *b)
{
	return is_time(b->duration) && is_time(b->cap) && !b->pad;
}

/* A backoff that every add can run from its first step on. */
static bool is_valid_as_limiter(const struct kwq_backoff *b)
{
	return rate_is_valid_backoff(b) && (!b->cap || b->cap >= b->duration) &&
	       b->steps <= KWQ_LIMITER_STEPS_MAX;
}

static bool is_valid_limiter(const struct kwq_limiter *limiter)
{
	struct kwq_limiter rest = *limiter;
	unsigned char *bytes = (unsigned char *)&rest.u;
	size_t i;

	if (limiter->pad)
		return false;
	switch (limiter->kind) {
	case KWQ_LIMITER_EXPONENTIAL:
		if (!limiter->u.exponential.base || !is_time(limiter->u.exponential.max) ||
		    limiter->u.exponential.base > limiter->u.exponential.max)
			return false;
		memset(bytes, 0, sizeof(rest.u.exponential));
		break;
	case KWQ_LIMITER_FAST_SLOW:
		if (!is_time(limiter->u.fast_slow.fast) || !is_time(limiter->u.fast_slow.slow) ||
		    limiter->u.fast_slow.pad)
			return false;
		memset(bytes, 0, sizeof(rest.u.fast_slow));
		break;
	case KWQ_LIMITER_BUCKET:
		if (!limiter->u.bucket.period || !is_time(limiter->u.bucket.period) ||
		    !limiter->u.bucket.events || !limiter->u.bucket.burst)
			return false;
		memset(bytes, 0, sizeof(rest.u.bucket));
		break;
	case KWQ_LIMITER_BACKOFF:
		if (!is_valid_as_limiter(&limiter->u.backoff))
			return false;
		memset(bytes, 0, sizeof(rest.u.backoff));
		break;
	default:
		return false;
	}
	for (i = 0; i < sizeof(rest.u); i++)
		if (bytes[i])
			return false;
	return true;
}

bool rate_is_valid(const struct kwq_limiter_config *config)
{
	u32 i;

	if (config->flags & ~KWQ_CONFIG_COALESCE || config->nr > KWQ_LIMITERS_MAX ||
	    !is_time(config->max_wait) || !is_time(config->forget_after))
		return false;
	for (i = 0; i < config->nr; i++)
		if (!is_valid_limiter(&config->limiters[i]))
			return false;
	return true;
}

/* ---- L4: the bucket ---- */

/*
 * A bucket never holds more than its burst, and never more than comes in the clock's
 * whole range.
 */
static __int128 full(const struct kwq_limiter *limiter)
{
	return smaller((u128)limiter->u.bucket.burst * limiter->u.bucket.period,
		       LONGEST * limiter->u.bucket.events);
}

static void bring(struct rate *rate, int i, s64 now)
{
	const struct kwq_limiter *limiter = &rate->config.limiters[i];

	rate->level[i] += (__int128)(now - rate->at[i]) * limiter->u.bucket.events;
	if (rate->level[i] > full(limiter))
		rate->level[i] = full(limiter);
	rate->at[i] = now;
}

static u128 take(struct rate *rate, int i, s64 now)
{
	const struct kwq_limiter *limiter = &rate->config.limiters[i];
	__int128 most = (LONGEST - now) * limiter->u.bucket.events;

	bring(rate, i, now);
	rate->level[i] -= limiter->u.bucket.period;
	/* D7: a wait that exceeds the clock ends at the clock's end. */
	if (rate->level[i] < -most)
		rate->level[i] = -most;
	return rate->level[i] < 0 ? -rate->level[i] / limiter->u.bucket.events : 0;
}

/* a / b, rounded down, also for negative a */
static __int128 divide_down(__int128 a, __int128 b)
{
	return a / b - (a % b < 0);
}

/* Keeps the number of tokens, of which each now has another number of parts. */
static void change_rate(struct rate *rate, int i, const struct kwq_limiter *old, s64 now)
{
	const struct kwq_limiter *new = &rate->config.limiters[i];
	__int128 most = (LONGEST - now) * new->u.bucket.events;
	__int128 whole = divide_down(rate->level[i], old->u.bucket.period);
	__int128 part = rate->level[i] - whole * old->u.bucket.period;
	__int128 level;

	if (__builtin_mul_overflow(whole, (__int128)new->u.bucket.period, &level))
		level = whole < 0 ? -most : full(new);
	else
		level += part * new->u.bucket.period / old->u.bucket.period;
	if (level > full(new))
		level = full(new);
	rate->level[i] = level < -most ? -most : level;
}

/* ---- L2, L3, B1 ---- */

static u128 exponential(const struct kwq_limiter *limiter, u32 requeues)
{
	if (requeues >= 64)
		return limiter->u.exponential.max;
	return smaller((u128)limiter->u.exponential.base << requeues, limiter->u.exponential.max);
}

/* A product is rounded down to a nanosecond, and saturates at 2^63 - 1. */
static u128 product(u128 ns, u32 factor)
{
	return smaller(ns * factor / KWQ_ONE, LONGEST);
}

u64 rate_backoff_step(struct kwq_backoff *b, u32 random)
{
	u128 pause = b->duration;
	u128 next = product(pause, b->factor ? b->factor : KWQ_ONE);

	if (b->steps) {
		b->steps--;
		if (b->factor && b->cap && next > b->cap) {
			next = b->cap;
			b->steps = 0;
		}
		b->duration = next;
	}
	return smaller(pause + product(pause, b->jitter) * random / (1ULL << 32), LONGEST);
}

static u128 backoff(struct kwq_backoff b, u32 requeues, u32 random)
{
	u32 step;

	for (step = 0; step < requeues && b.steps; step++)
		rate_backoff_step(&b, random);
	return rate_backoff_step(&b, random);
}

/* ---- All of them ---- */

void rate_init(struct rate *rate)
{
	memset(rate, 0, sizeof(*rate));
	rate->config = by_default;
	rate->level[1] = full(&rate->config.limiters[1]);
}

void rate_configure(struct rate *rate, const struct kwq_limiter_config *config, s64 now)
{
	const struct rate before = *rate;
	u32 i;

	rate->config = *config;
	if (!config->nr) {
		rate->config.nr = by_default.nr;
		memcpy(rate->config.limiters, by_default.limiters, sizeof(by_default.limiters));
	}
	for (i = 0; i < rate->config.nr; i++) {
		const struct kwq_limiter *old = &before.config.limiters[i];
		struct rate last = before;

		if (rate->config.limiters[i].kind != KWQ_LIMITER_BUCKET)
			continue;
		rate->at[i] = now;
		if (i >= before.config.nr || old->kind != KWQ_LIMITER_BUCKET) {
			rate->level[i] = full(&rate->config.limiters[i]);
			continue;
		}
		bring(&last, i, now);
		rate->level[i] = last.level[i];
		change_rate(rate, i, old, now);
	}
}

/* Whether the delay depends on the random number. */
bool rate_jitters(const struct rate *rate)
{
	u32 i;

	for (i = 0; i < rate->config.nr; i++)
		if (rate->config.limiters[i].kind == KWQ_LIMITER_BACKOFF &&
		    rate->config.limiters[i].u.backoff.jitter)
			return true;
	return false;
}

u64 rate_when(struct rate *rate, u32 requeues, s64 now, u32 random)
{
	u128 longest = 0, delay;
	u32 i;

	for (i = 0; i < rate->config.nr; i++) {
		const struct kwq_limiter *limiter = &rate->config.limiters[i];

		switch (limiter->kind) {
		case KWQ_LIMITER_EXPONENTIAL:
			delay = exponential(limiter, requeues);
			break;
		case KWQ_LIMITER_FAST_SLOW:
			delay = requeues < limiter->u.fast_slow.nr_fast ?
				limiter->u.fast_slow.fast : limiter->u.fast_slow.slow;
			break;
		case KWQ_LIMITER_BUCKET:
			delay = take(rate, i, now);
			break;
		default:
			delay = backoff(limiter->u.backoff, requeues, random);
			break;
		}
		if (delay > longest)
			longest = delay;
	}
	return rate->config.max_wait ? smaller(longest, rate->config.max_wait) : longest;
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The limiters of a queue. limiter.h explains why one count per item is enough. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/kwq_backoff.h>
#include <linux/math64.h>
#include <linux/overflow.h>
#include <linux/string.h>
#include <linux/time64.h>
#include "limiter.h"

#define EACH_ITEM {							\
	.kind = KWQ_LIMITER_EXPONENTIAL,				\
	.u.exponential = {						\
		.base = 5 * NSEC_PER_MSEC,				\
		.max = 1000 * NSEC_PER_SEC,				\
	},								\
}

/* A driver's queue. With a bucket, the last of 200 objects that fail would wait for 10 s. */
const struct kwq_limiter_config kwq_default_limits = {
	.nr = 1,
	.limiters = { EACH_ITEM },
};

/* L7: client-go's DefaultControllerRateLimiter, for queues of keys. */
const struct kwq_limiter_config kwq_client_go_limits = {
	.nr = 2,
	.limiters = {
		EACH_ITEM,
		{
			.kind = KWQ_LIMITER_BUCKET,
			.u.bucket = {
				.period = NSEC_PER_SEC,
				.events = 10,
				.burst = 100,
			},
		},
	},
};

static int check_limiter(const struct kwq_limiter *limiter)
{
	const u64 longest = KTIME_MAX;
	bool fits;
	size_t size;

	switch (limiter->kind) {
	case KWQ_LIMITER_EXPONENTIAL:
		size = sizeof(limiter->u.exponential);
		fits = limiter->u.exponential.base &&
		       limiter->u.exponential.base <= limiter->u.exponential.max &&
		       limiter->u.exponential.max <= longest;
		break;
	case KWQ_LIMITER_FAST_SLOW:
		size = sizeof(limiter->u.fast_slow);
		fits = limiter->u.fast_slow.fast <= longest &&
		       limiter->u.fast_slow.slow <= longest && !limiter->u.fast_slow.pad;
		break;
	case KWQ_LIMITER_BUCKET:
		size = sizeof(limiter->u.bucket);
		fits = limiter->u.bucket.period && limiter->u.bucket.period <= longest &&
		       limiter->u.bucket.events && limiter->u.bucket.burst;
		break;
	case KWQ_LIMITER_BACKOFF:
		size = sizeof(limiter->u.backoff);
		/* The table of pauses has an entry for each step. */
		fits = limiter->u.backoff.steps <= KWQ_LIMITER_STEPS_MAX &&
		       !kwq_backoff_check(&limiter->u.backoff) &&
		       (!limiter->u.backoff.cap ||
			limiter->u.backoff.duration <= limiter->u.backoff.cap);
		break;
	default:
		return -EINVAL;
	}
	/* A newer kernel may give a meaning to the bytes behind the selected member. */
	if (memchr_inv((const u8 *)&limiter->u + size, 0, sizeof(limiter->u) - size))
		return -EINVAL;
	return fits && !limiter->pad ? 0 : -EINVAL;
}

/**
 * kwq_limiter_config_check() - check the form of a configuration
 * @config: the configuration
 *
 * Return: 0, or -EINVAL.
 */
int kwq_limiter_config_check(const struct kwq_limiter_config *config)
{
	u32 i;

	if (config->flags & ~KWQ_CONFIG_COALESCE ||
	    config->max_wait > KTIME_MAX || config->forget_after > KTIME_MAX ||
	    config->nr > KWQ_LIMITERS_MAX)
		return -EINVAL;
	for (i = 0; i < config->nr; i++)
		if (check_limiter(&config->limiters[i]))
			return -EINVAL;
	return 0;
}

/* a x mul / div, rounded down; saturates at U64_MAX. */
static u64 mul_div(u64 a, u64 mul, u64 div)
{
	/* The division must not overflow. */
	if (mul_u64_u64_shr(a, mul, 64) >= div)
		return U64_MAX;
	return mul_u64_u64_div_u64(a, mul, div);
}

/* A duration finer than a ns: @part is the rest in 1/events of a ns, less than 1 ns. */
struct fine {
	s64 ns;
	u32 part;
};

/* The time in which @tokens tokens arrive. */
static struct fine time_of_tokens(const struct kwq_limiter *limiter, u32 tokens)
{
	u32 events = limiter->u.bucket.events;
	u32 rest, part;
	u64 ns = div_u64_rem(limiter->u.bucket.period, events, &rest);
	u64 more = div_u64_rem((u64)rest * tokens, events, &part);

	if (check_mul_overflow(ns, (u64)tokens, &ns) ||
	    check_add_overflow(ns, more, &ns) || ns >= KTIME_MAX)
		return (struct fine){ .ns = KTIME_MAX };
	return (struct fine){ .ns = ns, .part = part };
}

/* A bucket that was unused for long enough is full. Tokens beyond that are lost. */
static void fill_up(struct kwq_bucket *bucket, const struct kwq_limiter *limiter, ktime_t now)
{
	struct fine full = time_of_tokens(limiter, limiter->u.bucket.burst);
	/* Cannot underflow: the duration is at most KTIME_MAX, and the time is not negative. */
	s64 ns = now - full.ns;
	u32 part = 0;

	if (full.part) {
		ns--;
		part = limiter->u.bucket.events - full.part;
	}
	if (bucket->empty < ns || (bucket->empty == ns && bucket->part < part)) {
		bucket->empty = ns;
		bucket->part = part;
	}
}

/* D7: a debt saturates at the end of the clock, without a fraction. */
static void be_empty(struct kwq_bucket *bucket, ktime_t from, struct fine after)
{
	bool ever = from < 0 || after.ns < KTIME_MAX - from;

	bucket->empty = ever ? from + after.ns : KTIME_MAX;
	bucket->part = ever ? after.part : 0;
}

/*
 * L4: takes one token and returns how long to wait for it. This is Reserve().Delay() of
 * golang.org/x/time/rate, which computes in floating point. Here it is the generic cell
 * rate algorithm (ITU-T I.371). The bucket stores only when it was or will be empty. Each
 * token moves that time by exactly period / events, without rounding or drift.
 */
static u64 take_token(struct kwq_bucket *bucket, const struct kwq_limiter *limiter, ktime_t now)
{
	struct fine cost = time_of_tokens(limiter, 1);
	u32 events = limiter->u.bucket.events;
	u64 part;

	fill_up(bucket, limiter, now);
	part = (u64)bucket->part + cost.part;
	if (part >= events) {
		part -= events;
		cost.ns++;
	}
	cost.part = part;
	be_empty(bucket, bucket->empty, cost);
	return bucket->empty > now ? bucket->empty - now : 0;
}

/*
 * The time in which @tokens tokens, and @rest / @old period of another one, arrive at the
 * rate of @new. The unit is 1/events of a ns. Smaller remainders are rounded up if @up,
 * else down.
 */
static struct fine time_of_exactly(const struct kwq_limiter *old, const struct kwq_limiter *new,
				   u64 tokens, u64 rest, bool up)
{
	u64 period = new->u.bucket.period;
	u32 events = new->u.bucket.events;
	u64 ns = mul_div(tokens, period, events);
	/* In 1/events of a ns. Both products may wrap, but their difference is exact. */
	u64 parts = tokens * period - ns * events;
	u64 of_rest = mul_div(rest, period, old->u.bucket.period);
	u32 part;

	if (up && of_rest * old->u.bucket.period != rest * period)
		of_rest++;
	parts = div_u64_rem(parts + of_rest, events, &part);
	if (check_add_overflow(ns, parts, &ns) || ns >= KTIME_MAX)
		return (struct fine){ .ns = KTIME_MAX };
	return (struct fine){ .ns = ns, .part = part };
}

/*
 * Sets another rate and keeps the number of tokens, like SetLimit. Rounding may lose less
 * than the tokens of 1/events of a ns.
 *
 *   has tokens:	empty <--- ns ---> now	ns / period x events tokens arrived
 *   in debt:	now <--- ns ---> empty	as many tokens are owed
 *
 * The new @bucket->empty is at the distance from @now at which as many tokens arrive at the
 * new rate.
 */
static void change_rate(struct kwq_bucket *bucket, const struct kwq_limiter *old,
			const struct kwq_limiter *new, ktime_t now)
{
	u32 events = old->u.bucket.events;
	u64 period = old->u.bucket.period;
	u64 tokens, rest, more, ns;
	struct fine time;
	u32 part;
	bool owes;

	fill_up(bucket, old, now);
	if (period == new->u.bucket.period && events == new->u.bucket.events)
		return;

	owes = bucket->empty >= now;
	if (owes) {
		ns = bucket->empty - now;
		part = bucket->part;
	} else {
		/* Cannot underflow: the bucket was empty before now, at least by the fraction. */
		ns = now - bucket->empty - !!bucket->part;
		part = bucket->part ? events - bucket->part : 0;
	}
	/* In units of 1/events of a ns, a token takes as many units as its period has ns. */
	tokens = mul_div(ns, events, period);
	more = div64_u64_rem(ns * events - tokens * period + part, period, &rest);
	if (check_add_overflow(tokens, more, &tokens))
		tokens = U64_MAX;

	time = time_of_exactly(old, new, tokens, rest, owes);
	if (owes) {
		be_empty(bucket, now, time);
	} else {
		bucket->empty = now - time.ns - !!time.part;
		bucket->part = time.part ? new->u.bucket.events - time.part : 0;
	}
}

/* Lists the pauses after 1, 2, 3, ... steps, until they stay the same. Returns their number. */
static u32 list_pauses(const struct kwq_limiter *limiter, u64 *pauses)
{
	struct kwq_backoff b = limiter->u.backoff;
	u64 before;
	u32 nr = 0;

	if (limiter->kind != KWQ_LIMITER_BACKOFF)
		return 0;
	while (b.steps) {
		before = b.duration;
		kwq_backoff_step(&b, 0);
		if (b.duration == before)
			break;
		if (pauses)
			pauses[nr] = b.duration;
		nr++;
	}
	return nr;
}

/**
 * kwq_rate_limiter_size() - the size of the limiters of a configuration
 * @config: the configuration, checked
 *
 * Return: the number of bytes.
 */
size_t kwq_rate_limiter_size(const struct kwq_limiter_config *config)
{
	const struct kwq_rate_limiter *limiter = NULL;
	u32 i, nr = 0;

	for (i = 0; i < config->nr; i++)
		nr += list_pauses(&config->limiters[i], NULL);
	return struct_size(limiter, pauses, nr);
}

/**
 * kwq_rate_limiter_init() - set up limiters
 * @limiter: the limiters, of kwq_rate_limiter_size() bytes
 * @config: the configuration, checked
 *
 * This computes up to KWQ_LIMITERS_MAX * KWQ_LIMITER_STEPS_MAX steps, which are too many
 * for one hold of a lock.
 */
void kwq_rate_limiter_init(struct kwq_rate_limiter *limiter,
			   const struct kwq_limiter_config *config)
{
	const struct kwq_limiter_config *from = config->nr ? config : &kwq_default_limits;
	struct kwq_limiter *one;
	u32 i;

	BUILD_BUG_ON(KWQ_LIMITERS_MAX * KWQ_LIMITER_STEPS_MAX > U16_MAX);
	memset(limiter, 0, sizeof(*limiter));
	limiter->config = *config;
	limiter->config.nr = from->nr;
	for (i = 0; i < KWQ_LIMITERS_MAX; i++) {
		one = &limiter->config.limiters[i];
		if (i < from->nr)
			*one = from->limiters[i];
		else
			memset(one, 0, sizeof(*one));
		limiter->first[i + 1] = limiter->first[i] +
					list_pauses(one, limiter->pauses + limiter->first[i]);
		if (one->kind == KWQ_LIMITER_BACKOFF && one->u.backoff.jitter)
			limiter->jitters = true;
		/* Empty long ago, so it is full by now. */
		limiter->buckets[i].empty = KTIME_MIN;
	}
}

/**
 * kwq_rate_limiter_replace() - let limiters take over the tokens of those that they replace
 * @limiter: the limiters, just set up
 * @old: the limiters so far; NULL for the default. They are of no use any more
 * @now: current time
 */
void kwq_rate_limiter_replace(struct kwq_rate_limiter *limiter, struct kwq_rate_limiter *old,
			      ktime_t now)
{
	const struct kwq_limiter *from, *to;
	u32 i;

	for (i = 0; old && i < KWQ_LIMITERS_MAX; i++) {
		from = &old->config.limiters[i];
		to = &limiter->config.limiters[i];
		if (from->kind != KWQ_LIMITER_BUCKET || to->kind != KWQ_LIMITER_BUCKET)
			continue;
		change_rate(&old->buckets[i], from, to, now);
		limiter->buckets[i] = old->buckets[i];
	}
}

/* L2: 5 ms, 10 ms, 20 ms, ... */
static u64 exponential(const struct kwq_limiter *limiter, u32 requeues)
{
	u64 base = limiter->u.exponential.base;
	u64 max = limiter->u.exponential.max;

	if (requeues >= 63 || base > max >> requeues)
		return max;
	return base << requeues;
}

/* B4: like kwq_backoff_after(), by the table. */
static u64 backoff_pause(const struct kwq_rate_limiter *limiter, u32 i, u32 requeues, u32 random)
{
	const struct kwq_backoff *settings = &limiter->config.limiters[i].u.backoff;
	struct kwq_backoff b = { .duration = settings->duration, .jitter = settings->jitter };
	u32 step = min_t(u32, requeues, limiter->first[i + 1] - limiter->first[i]);

	if (step)
		b.duration = limiter->pauses[limiter->first[i] + step - 1];
	return kwq_backoff_step(&b, random);
}

static u64 delay_of(struct kwq_rate_limiter *limiter, u32 i, u32 requeues,
		    ktime_t now, u32 random)
{
	const struct kwq_limiter *settings = &limiter->config.limiters[i];

	switch (settings->kind) {
	case KWQ_LIMITER_EXPONENTIAL:
		return exponential(settings, requeues);
	case KWQ_LIMITER_FAST_SLOW:
		return requeues < settings->u.fast_slow.nr_fast ?
		       settings->u.fast_slow.fast : settings->u.fast_slow.slow;
	case KWQ_LIMITER_BUCKET:
		return take_token(&limiter->buckets[i], settings, now);
	case KWQ_LIMITER_BACKOFF:
		return backoff_pause(limiter, i, requeues, random);
	}
	return 0;
}

/**
 * kwq_rate_limiter_when() - compute the delay of a rate-limited add (L1 to L6)
 * @limiter: the limiters; all of them are asked; NULL for the default
 * @requeues: how often the item was rate-limited before
 * @now: current time
 * @random: random number for the jitter, used if @limiter->jitters
 *
 * Return: the delay in ns.
 */
u64 kwq_rate_limiter_when(struct kwq_rate_limiter *limiter, u32 requeues,
			  ktime_t now, u32 random)
{
	u64 longest = 0;
	u32 i;

	if (!limiter)
		return exponential(&kwq_default_limits.limiters[0], requeues);
	for (i = 0; i < limiter->config.nr; i++)
		longest = max(longest, delay_of(limiter, i, requeues, now, random));
	if (limiter->config.max_wait)
		longest = min(longest, limiter->config.max_wait);
	return longest;
}

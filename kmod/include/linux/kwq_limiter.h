/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * How long an item waits for its next try: client-go's rate limiters, in integers.
 *
 * No locking is done by this code, no clock is read and no chance is asked: see
 * <linux/kwq_core.h>, of which it is a part.
 *
 * client-go's limiters each keep a map from items to counts. Here the item has one
 * count, its requeues, and every limiter looks at that. Both are the same:
 *
 * - MaxOfRateLimiter asks all of its limiters each time, so all counts of an item
 *   go up together, and forgets it in all of them at once, so all are zero together.
 *   What it tells as NumRequeues is the largest of equal numbers.
 * - A limiter that was not asked yet knows the item with 0, as it was before.
 * - Exponential: When() takes the count before it is raised as the exponent: here
 *   the requeues before they are raised.
 * - Fast-slow: When() raises the count first and compares it by "<=" with the number
 *   of fast attempts: here the requeues before they are raised, by "<".
 * - The bucket counts nothing by item; its NumRequeues is 0, never the largest but
 *   where it is the only limiter. There client-go tells 0 and kwq how often it was.
 *
 * A rate-limited add asks up to eight limiters under the queue's lock. So the steps of
 * a backoff are not made there: the caller of kwq_rate_limiter_configure() passes a
 * table of all pauses, which kwq_limiter_list_pauses() made outside the lock (O8).
 */
#ifndef _LINUX_KWQ_LIMITER_H
#define _LINUX_KWQ_LIMITER_H

#include <linux/compiler.h>
#include <linux/ktime.h>
#include <linux/types.h>
#include <uapi/linux/kwq.h>

/**
 * struct kwq_limiter_config - how a queue limits retries
 * @flags: KWQ_CONFIG_* bits
 * @dead_after: requeues after which the next rate-limited add makes an item dead;
 *	0 for never
 * @dead_after_lost: losses of its holder, without a done between them, after which an
 *	item is dead; 0 for never
 * @max_wait: no limiter makes an item wait longer, in ns; 0 for no such limit
 * @forget_after: an item idle for so many ns loses its requeues; 0 for never
 * @nr: limiters in @limiters; 0 for the default
 * @limiters: the longest delay of any of them counts
 *
 * &struct kwq_config says it all once more.
 */
struct kwq_limiter_config {
	u32 flags;
	u32 dead_after;
	u64 max_wait;
	u64 forget_after;
	u32 dead_after_lost;
	u32 nr;
	struct kwq_limiter limiters[KWQ_LIMITERS_MAX];
};

/**
 * struct kwq_fine - a length of time
 * @ns: in ns,
 * @part: and 1/events of a ns, less than one
 *
 * Without padding, as the buckets: a queue of keys has to fit into 8 KiB.
 */
struct kwq_fine {
	s64 ns;
	u32 part;
} __packed __aligned(4);

/**
 * struct kwq_bucket - a bucket's tokens
 * @empty: when it was, or will be, empty: the tokens are what came in since, or are
 *	owed until. In ns,
 * @part: and 1/events of a ns, less than one
 * @cost: how long it takes until a token has come in
 * @full: how long it takes until an empty bucket is full
 */
struct kwq_bucket {
	ktime_t empty;
	u32 part;
	struct kwq_fine cost;
	struct kwq_fine full;
} __packed __aligned(4);

/**
 * struct kwq_growth - the pauses of a limiter that is a backoff
 * @first: where in the table the pause after one step is; those after 2, 3, ... steps
 *	follow, all without jitter
 * @nr: how many these are; later pauses equal the last one
 */
struct kwq_growth {
	u16 first;
	u16 nr;
};

/**
 * struct kwq_growths - the pauses of all limiters
 * @table: the pauses of all of @of
 * @of: those of each limiter; without a pause where it is no backoff
 */
struct kwq_growths {
	u64 *table;
	struct kwq_growth of[KWQ_LIMITERS_MAX];
};

/**
 * struct kwq_rate_limiter - a queue's limiters and what they remember
 * @config: how they were configured; never with no limiter
 * @buckets: those of @config.limiters that are buckets
 * @growths: those of @config.limiters that are backoffs; the table is the caller's
 * @jitters: one of them wants a random number
 */
struct kwq_rate_limiter {
	struct kwq_limiter_config config;
	struct kwq_bucket buckets[KWQ_LIMITERS_MAX];
	struct kwq_growths growths;
	bool jitters;
};

int kwq_limiter_config_check(const struct kwq_limiter_config *config);
u32 kwq_limiter_nr_pauses(const struct kwq_limiter_config *config);
void kwq_limiter_list_pauses(const struct kwq_limiter_config *config,
			     struct kwq_growths *growths, u64 *table);
void kwq_rate_limiter_init(struct kwq_rate_limiter *limiter);
void kwq_rate_limiter_configure(struct kwq_rate_limiter *limiter,
				const struct kwq_limiter_config *config,
				const struct kwq_growths *growths,
				ktime_t now);
u64 kwq_rate_limiter_when(struct kwq_rate_limiter *limiter, u32 requeues,
			  ktime_t now, u32 random);

#endif /* _LINUX_KWQ_LIMITER_H */

/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * client-go's rate limiters, in integers: how long an item waits for its next try.
 *
 * This code takes no lock, reads no clock and makes no random number. It is part of
 * <linux/kwq_core.h>.
 *
 * Each limiter of client-go has a map from items to counts. Here an item has one count, its
 * requeues, and all limiters use it. The results are the same:
 *
 * - MaxOfRateLimiter asks all its limiters each time and forgets an item in all of them at
 *   once. So all counts of an item are equal, and NumRequeues is the largest of equal
 *   numbers.
 * - A limiter that was never asked counts the item as 0. So does this code.
 * - Exponential: When() uses the count before it is raised. So does this code, with the
 *   requeues.
 * - Fast-slow: When() raises the count first and tests "<=" against the number of fast
 *   tries. This code tests "<" with the requeues before they are raised.
 * - The bucket counts nothing per item, so its NumRequeues is 0. This matters only if it is
 *   the only limiter. Then client-go returns 0 and kwq returns the number of tries.
 *
 * A rate-limited add asks up to eight limiters under the queue's lock, which is no place to
 * compute the steps of a backoff. So kwq_rate_limiter_configure() gets a table of all
 * pauses, which kwq_limiter_list_pauses() computed before the lock was taken (O8).
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
 * @dead_after: after this many requeues the next rate-limited add makes an item dead; 0 for
 *	never
 * @dead_after_lost: this many losses of its holder without a done between them make an item
 *	dead; 0 for never
 * @max_wait: longest delay of all limiters, in ns; 0 for no limit
 * @forget_after: an item that is idle for this many ns loses its requeues; 0 for never
 * @nr: number of limiters in @limiters; 0 for the default
 * @limiters: the limiters; the longest of their delays counts
 *
 * &struct kwq_config has the details.
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
 * struct kwq_fine - a duration finer than a ns
 * @ns: whole ns
 * @part: the rest in 1/events of a ns, less than 1 ns
 *
 * Like the bucket it has no padding, because a queue of keys has to fit into 8 KiB.
 */
struct kwq_fine {
	s64 ns;
	u32 part;
} __packed __aligned(4);

/**
 * struct kwq_bucket - a bucket's tokens
 * @empty: when the bucket was or will be empty, in ns. Its tokens are those that arrived
 *	since then. If it is in the future, tokens are owed until then
 * @part: the rest of @empty in 1/events of a ns, less than 1 ns
 * @cost: the time in which one token arrives
 * @full: the time in which an empty bucket becomes full
 */
struct kwq_bucket {
	ktime_t empty;
	u32 part;
	struct kwq_fine cost;
	struct kwq_fine full;
} __packed __aligned(4);

/**
 * struct kwq_growth - the pauses of a backoff limiter
 * @first: index in the table of the pause after one step; those after 2, 3, ... steps
 *	follow, all without jitter
 * @nr: number of these pauses; all later ones equal the last
 */
struct kwq_growth {
	u16 first;
	u16 nr;
};

/**
 * struct kwq_growths - the pauses of all limiters
 * @table: all pauses of all limiters
 * @of: for each limiter its pauses; none if it is no backoff
 */
struct kwq_growths {
	u64 *table;
	struct kwq_growth of[KWQ_LIMITERS_MAX];
};

/**
 * struct kwq_rate_limiter - a queue's limiters and their state
 * @config: the configuration; has at least one limiter
 * @buckets: state of the limiters that are buckets
 * @growths: pauses of the limiters that are backoffs; the caller owns the table
 * @jitters: true if a limiter needs a random number
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
u64 *kwq_rate_limiter_take_table(struct kwq_rate_limiter *limiter);
u64 kwq_rate_limiter_when(struct kwq_rate_limiter *limiter, u32 requeues,
			  ktime_t now, u32 random);

#endif /* _LINUX_KWQ_LIMITER_H */

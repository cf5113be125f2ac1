/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * client-go's rate limiters, in integers: how long an item waits for its next try.
 *
 * This code takes no lock, reads no clock and makes no random number.
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
 * compute the steps of a backoff. So kwq_rate_limiter_init() lists all pauses before the lock
 * is taken (O8).
 */
#ifndef KWQ_LIMITER_H
#define KWQ_LIMITER_H

#include <linux/kwq_types.h>

extern const struct kwq_limiter_config kwq_default_limits;
extern const struct kwq_limiter_config kwq_client_go_limits;

int kwq_limiter_config_check(const struct kwq_limiter_config *config);
size_t kwq_rate_limiter_size(const struct kwq_limiter_config *config);
void kwq_rate_limiter_init(struct kwq_rate_limiter *limiter,
			   const struct kwq_limiter_config *config);
void kwq_rate_limiter_replace(struct kwq_rate_limiter *limiter, struct kwq_rate_limiter *old,
			      ktime_t now);
u64 kwq_rate_limiter_when(struct kwq_rate_limiter *limiter, u32 requeues,
			  ktime_t now, u32 random);

#endif /* KWQ_LIMITER_H */

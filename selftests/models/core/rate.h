/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The specification of the limiters (L2 to L7) and of valid configurations. It computes
 * with 128-bit numbers, after kwq(7), and not as limiter.c does.
 */
#ifndef MODEL_RATE_H
#define MODEL_RATE_H

#include "core/limiter.h"

/*
 * A bucket's level counts parts of tokens. A token has as many parts as its period has
 * ns, and each ns adds as many parts as the period has events. So all numbers are
 * integers. A level below 0 is a debt.
 */
struct rate {
	struct kwq_limiter_config config;
	__int128 level[KWQ_LIMITERS_MAX];
	s64 at[KWQ_LIMITERS_MAX];	/* when that was the level */
};

void rate_init(struct rate *rate);
bool rate_is_valid(const struct kwq_limiter_config *config);
void rate_configure(struct rate *rate, const struct kwq_limiter_config *config, s64 now);
bool rate_is_valid_backoff(const struct kwq_backoff *backoff);
u64 rate_backoff_step(struct kwq_backoff *backoff, u32 random);
bool rate_jitters(const struct rate *rate);
u64 rate_when(struct rate *rate, u32 requeues, s64 now, u32 random);

#endif /* MODEL_RATE_H */

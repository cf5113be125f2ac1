/* SPDX-License-Identifier: GPL-2.0-only */
/* For all suites of the core: invariants of every core between two calls, and its limiters. */
#ifndef KWQ_TESTS_CORE_CHECK_H
#define KWQ_TESTS_CORE_CHECK_H

#include <kunit/test.h>
#include "core/core.h"
#include "core/limiter.h"
#include "core_calls.h"

/* Returns the broken invariant, or NULL. @holders are all holders of the core. */
const char *kwq_core_broken(const struct kwq_core *core,
			    struct kwq_holder *const holders[], int nr_holders);

/* Replaces limiters, as kwq_configure() does. The test frees the last ones. */
void kwq_test_limit(struct kunit *test, struct kwq_rate_limiter **limiter,
		    const struct kwq_limiter_config *config, ktime_t now);

#endif /* KWQ_TESTS_CORE_CHECK_H */

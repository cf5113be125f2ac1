/* SPDX-License-Identifier: GPL-2.0-only */
/* Invariants of every core between two calls, for all suites. */
#ifndef KWQ_TESTS_CORE_CHECK_H
#define KWQ_TESTS_CORE_CHECK_H

#include "core/core.h"

/* Returns the broken invariant, or NULL. @holders are all holders of the core. */
const char *kwq_core_broken(const struct kwq_core *core,
			    struct kwq_holder *const holders[], int nr_holders);

#endif /* KWQ_TESTS_CORE_CHECK_H */

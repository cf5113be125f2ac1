/* SPDX-License-Identifier: GPL-2.0-only */
/* What the queue makes of several calls of the core, for suites that have only the core. */
#ifndef KWQ_TESTS_CORE_CALLS_H
#define KWQ_TESTS_CORE_CALLS_H

#include "core/core.h"

/* Hands out the first ready item, as kwq_get_locked() does. */
static inline struct kwq_item *kwq_test_get(struct kwq_core *core, struct kwq_holder *holder,
					    ktime_t now)
{
	struct kwq_item *item = kwq_core_peek(core, now);

	if (item)
		kwq_core_take(core, item, holder, now);
	return item;
}

/* Finishes an item and makes it dead, as kwq_settle_locked() does. */
static inline int kwq_test_bury(struct kwq_core *core, struct kwq_holder *holder,
				struct kwq_item *item, ktime_t now)
{
	int ret = kwq_core_check_holder(holder, item);

	if (ret)
		return ret;
	kwq_core_give_up(core, item, now);
	ret = kwq_core_done(core, holder, item, now);
	return kwq_item_is_dead(item) ? KWQ_BURIED : ret;
}

#endif /* KWQ_TESTS_CORE_CALLS_H */

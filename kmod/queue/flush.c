// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flush: waits until everything is done that was queued before.
 *
 * A queue has one of two colours, and one flush at a time. A flush begins with a change of
 * the colour. An item that becomes dirty takes the colour of its queue, and its run keeps
 * it. The core counts down the items of the other colour, and later adds do not count. So a
 * flush ends however much is added.
 *
 * A caller that finds a flush running cannot use it, because items may have been added since
 * it began. The next one serves all callers that came meanwhile. One of them begins it.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/kwq.h>
#include "queue.h"
#include "workers.h"

/*
 * Are fewer flushes over than @wanted? The numbers wrap. A caller that sleeps through 2^15
 * flushes takes them for missing, and begins one more.
 */
static bool is_flush_missing(const struct kwq_core *core, u16 wanted)
{
	return (s16)(core->flushes - wanted) < 0;
}

int kwq_flush(struct kwq_queue *queue)
{
	struct kwq_core *core = &queue->core;
	unsigned long flags;
	u16 wanted;

	might_sleep();
	if (kwq_in_handler(queue))
		return -EDEADLK;
	kwq_might_wait_for_workers(queue);
	kwq_lock(queue, &flags);
	wanted = core->flushes + (core->nr_before ? 2 : 1);
	while (is_flush_missing(core, wanted)) {
		if (core->nr_before)
			kwq_wait_for_an_end_locked(queue, &flags);
		else
			kwq_core_begin_flush(core);
	}
	kwq_unlock(queue, flags);
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_flush);

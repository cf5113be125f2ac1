// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues that hand items out in another order than that of their priorities alone: with groups
 * that take turns (Q16), and with aging (Q17).
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kwq.h>
#include "queue.h"

static int group_items_locked(struct kwq_queue *queue, u32 limit)
{
	if (kwq_core_is_grouped(&queue->core) || kwq_core_is_used(&queue->core))
		return -EBUSY;
	kwq_core_group_items(&queue->core, limit);
	return 0;
}

int kwq_queue_group_items(struct kwq_queue *queue, u32 limit)
{
	unsigned long flags;
	int err;

	if (kwq_is_small(queue))
		return -EINVAL;
	kwq_lock(queue, &flags);
	err = group_items_locked(queue, limit);
	kwq_unlock(queue, flags);
	return err;
}
EXPORT_SYMBOL_GPL(kwq_queue_group_items);

int kwq_set_group(struct kwq_queue *queue, struct kwq_item *item, struct kwq_group *group)
{
	unsigned long flags;

	if (!kwq_core_is_grouped(&queue->core))
		return -EINVAL;
	kwq_lock(queue, &flags);
	kwq_core_set_group(&queue->core, item, group);
	kwq_unlock(queue, flags);
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_set_group);

int kwq_queue_set_aging(struct kwq_queue *queue, u64 aging)
{
	unsigned long flags;

	if (kwq_is_small(queue) || queue->stamps == KWQ_CLOCK_NONE)
		return -EINVAL;
	kwq_lock(queue, &flags);
	kwq_core_set_aging(&queue->core, aging);
	kwq_unlock(queue, flags);
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_queue_set_aging);

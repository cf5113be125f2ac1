// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues that hand items out in another order than that of their priorities alone: with groups
 * that take turns (Q16), and with aging (Q17).
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kwq.h>
#include "queue.h"

/* Only a driver's queue is a whole struct kwq_large_queue. */
static void set_order_locked(struct kwq_queue *queue)
{
	struct kwq_large_queue *large = kwq_large_of(queue);

	if (!large->of_core.order)
		kwq_core_set_order(&queue->core, &large->of_order);
}

static int group_items_locked(struct kwq_queue *queue, u32 limit)
{
	if (kwq_core_is_grouped(&queue->core) || kwq_core_is_used(&queue->core))
		return -EBUSY;
	set_order_locked(queue);
	kwq_core_group_items(&queue->core, limit);
	return 0;
}

/**
 * kwq_queue_group_items() - let groups of items take turns (Q16)
 * @queue: the queue; large, and none of its items is in use
 * @limit: most items of one group that are processed at once; 0 for no limit
 *
 * Call it once, before the first add. From then on each item of the queue is a &struct
 * kwq_grouped_item. An item may belong to a group, for example to that of its device or user.
 * Within a priority, groups with ready items take turns, one item at a time. Items of one group
 * keep their order, and higher priorities go first, as always. Items without a group are one more
 * group, to which the limit does not apply.
 *
 * A group at its limit is passed over until one of its items is done, or loses its holder.
 * kwq_try_get_item() and kwq_run_sync() name an item, and take it in spite of the limit. A drain, a
 * flush and kwq_len() count the items of such groups as ready. After a shut down, kwq_get() waits
 * for them as for items that others process.
 *
 * Return: 0. With nothing changed: -EINVAL (the queue is small), -EBUSY (an item is in use, or
 * the queue has groups already).
 */
int kwq_queue_group_items(struct kwq_queue *queue, u32 limit)
{
	unsigned long flags;
	int err;

	if (kwq_is_small(queue))
		return -EINVAL;
	spin_lock_irqsave(&queue->lock, flags);
	err = group_items_locked(queue, limit);
	kwq_unlock(queue, flags);
	return err;
}
EXPORT_SYMBOL_GPL(kwq_queue_group_items);

/**
 * kwq_set_group() - move an item to another group (Q16)
 * @queue: the queue; after kwq_queue_group_items()
 * @item: the item, of a &struct kwq_grouped_item
 * @group: its group from now on; NULL for none. It stays valid while items belong to it, and
 *	until the last run that began in it has ended
 *
 * A ready item goes to the tail of its priority in the new group. If the item is being processed,
 * that run stays counted in its old group, and the next one counts in the new group. KWQ_ADD_GROUP
 * of kwq_add_with() does this and adds the item.
 *
 * Return: 0; -EINVAL with nothing changed if the queue has no groups.
 */
int kwq_set_group(struct kwq_queue *queue, struct kwq_item *item, struct kwq_group *group)
{
	unsigned long flags;

	if (!kwq_core_is_grouped(&queue->core))
		return -EINVAL;
	spin_lock_irqsave(&queue->lock, flags);
	kwq_core_set_group(&queue->core, item, group);
	kwq_unlock(queue, flags);
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_set_group);

/**
 * kwq_queue_set_aging() - let ready items age, so that none starves (Q17)
 * @queue: the queue; large
 * @aging: after this time in ns an item counts as one priority higher, and so on up to
 *	KWQ_PRIORITY_MAX; 0 for never, with which every queue starts
 *
 * The time counts from the moment when the item became dirty. An item that loses its holder starts
 * over. Of items that count as equal, the one goes first that has been dirty longest. A hand-out
 * then looks at the first item of each priority in use. The item keeps its own priority.
 *
 * With groups, the item that has its turn next in its band stands for its group. If the turn is
 * a group's, the items of that group are compared in the same way.
 *
 * May be called at any time. If more than 30 priorities are in use, or with groups, a batch
 * handler may get less than its @max_batch at once.
 *
 * Return: 0; -EINVAL with nothing changed if the queue is small, or measures no durations.
 */
int kwq_queue_set_aging(struct kwq_queue *queue, u64 aging)
{
	unsigned long flags;

	if (kwq_is_small(queue) || queue->stamps == KWQ_CLOCK_NONE)
		return -EINVAL;
	spin_lock_irqsave(&queue->lock, flags);
	set_order_locked(queue);
	kwq_core_set_aging(&queue->core, aging);
	kwq_unlock(queue, flags);
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_queue_set_aging);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cancel one item, or all items of a queue, and wait until nobody processes them (K3).
 *
 * The first hold of the lock makes the item or the queue refuse adds. A retry that a handler
 * asks for is refused, too. The rest differs:
 *
 * - kwq_cancel_sync() takes out the item, its dirty mark and its time in the first hold.
 * - kwq_cancel_all_sync() drops all times in the next holds. Then it sets @cancelled of struct
 *   kwq_core: from then on an item becomes idle when its processing ends, even if it is dirty.
 *   At last it removes the ready items.
 *
 * Now nothing makes an item ready again, and at most processing items are left. Processing ends
 * under the lock, and afterwards the holder does not touch the item. The waiter looks under the
 * lock, too. Once it sees that nobody processes the item, nobody ever will.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/kwq.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include "queue.h"
#include "workers.h"

/*
 * Waits until nobody processes @item. Without @item, waits until the queue is drained. The
 * task joins the list of drainers under the lock, so the hold that ends the processing sees
 * it there.
 */
static void wait_for_the_end(struct kwq_queue *queue, const struct kwq_item *item,
			     unsigned long *flags)
	__must_hold(&queue->lock)
{
	DEFINE_WAIT(wait);

	while (item ? item->state & KWQ_ITEM_PROCESSING :
		      !kwq_core_is_drained(&queue->core)) {
		prepare_to_wait_exclusive(&queue->drainers, &wait, TASK_UNINTERRUPTIBLE);
		queue->nr_drainers++;
		kwq_unlock(queue, *flags);
		schedule();
		spin_lock_irqsave(&queue->lock, *flags);
		queue->nr_drainers--;
		finish_wait(&queue->drainers, &wait);
	}
}

/**
 * kwq_cancel_sync() - take an item out for good, and wait until nobody processes it
 * @queue: the queue
 * @item: the item
 *
 * Afterwards the item is idle and stays idle. Nobody processes it, and no time or handler
 * makes it ready again. Adds get -ESHUTDOWN until kwq_item_init() initialises the item again.
 * So the caller may free the object at once. If others may still be about to add the item, the
 * caller first waits for them, for example for an RCU grace period.
 *
 * Several callers may cancel one item at once. Each waits, and looks at the item once more.
 * So the item may be freed or initialised only after the last of them has returned.
 *
 * Context: process; sleeps while a handler or another holder processes the item. The caller
 * must not hold a lock that is taken to process the item. In the item's own handler the call
 * would wait for itself, and returns -EDEADLK with nothing changed.
 * Return: KWQ_WAS_* bits of what it was; 0 if it was idle; -EDEADLK.
 */
int kwq_cancel_sync(struct kwq_queue *queue, struct kwq_item *item)
{
	struct kwq_holder *self = kwq_current_holder(queue);
	unsigned long flags;
	int was;

	might_sleep();
	kwq_might_wait_for_workers(queue);
	spin_lock_irqsave(&queue->lock, flags);
	if (self && item->holder == self) {
		was = -EDEADLK;
	} else {
		was = kwq_core_cancel(&queue->core, item);
		wait_for_the_end(queue, item, &flags);
	}
	kwq_unlock_got(queue, flags);
	return was;
}
EXPORT_SYMBOL_GPL(kwq_cancel_sync);

/* Lets processing items become idle when their processing ends, even if they are dirty. */
static void let_none_come_back(struct kwq_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	kwq_core_cancel_all(&queue->core);
	kwq_unlock(queue, flags);
}

/* Returns true if there may be more ready items. */
static bool remove_some_ready(struct kwq_queue *queue)
{
	struct kwq_item *item = NULL;
	unsigned long flags;
	int n;

	spin_lock_irqsave(&queue->lock, flags);
	for (n = 0; n < KWQ_ITEMS_PER_HOLD; n++) {
		item = kwq_core_peek(&queue->core);
		if (!item)
			break;
		kwq_core_remove(&queue->core, item);
	}
	kwq_unlock_got(queue, flags);
	return item;
}

/**
 * kwq_cancel_all_sync() - shut down, take out all items, and wait until nobody processes
 * them
 * @queue: the queue
 *
 * Afterwards all items are idle and stay idle. They may be freed as after kwq_cancel_sync().
 * Every drain's wait ends.
 *
 * Context: as kwq_cancel_sync(); -EDEADLK in any handler of this queue.
 * Return: 0; -EDEADLK with nothing changed.
 */
int kwq_cancel_all_sync(struct kwq_queue *queue)
{
	unsigned long flags;

	might_sleep();
	if (kwq_current_holder(queue))
		return -EDEADLK;
	kwq_might_wait_for_workers(queue);
	kwq_begin_shut_down(queue);
	kwq_drop_all(queue);
	let_none_come_back(queue);
	while (remove_some_ready(queue))
		cond_resched();
	spin_lock_irqsave(&queue->lock, flags);
	wait_for_the_end(queue, NULL, &flags);
	kwq_unlock(queue, flags);
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_cancel_all_sync);

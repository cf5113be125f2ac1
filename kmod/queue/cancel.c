// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cancel and wait: an item, or all of a queue's, that nobody runs or will (K3).
 *
 * The argument is the same for both. Adds are refused from the first hold of the
 * lock on, and in the same hold whatever would bring the item back - its mark, its
 * time, the handler's wish for another try - is taken away or will be refused. So
 * all that is left is the run that may be under way, and whoever ends it does so
 * under the lock and does not touch the item after it. The waiter looks under the
 * lock, too; when it sees that no run is left, none ever will be.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/kwq.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include "handler.h"
#include "queue.h"

/*
 * Waits until an item is not processing, or with no item until no one is. As in
 * kwq_wait_drained(), whoever holds the lock sees all who wait.
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
		spin_unlock_irqrestore(&queue->lock, *flags);
		schedule();
		spin_lock_irqsave(&queue->lock, *flags);
		queue->nr_drainers--;
		finish_wait(&queue->drainers, &wait);
	}
}

/**
 * kwq_cancel_sync() - take an item out for good, and wait until nobody runs it
 * @queue: the queue
 * @item: the item
 *
 * When it returns, the item is idle and stays so: nobody processes it, no time and
 * no handler brings it back, and an add that still comes gets -ESHUTDOWN, until
 * kwq_item_init() makes it a new one. So the object may be freed at once; where others
 * may be about to add it, once they are gone: after the RCU grace period, say, if they
 * find it under RCU.
 *
 * Several may cancel one item at once; each waits, and looks at the item once more.
 * So it is freed, or initialised, after the last of them has returned.
 *
 * Context: process; sleeps while a handler, or who got the item, is busy with it. No
 * lock may be held that they take. In the item's own handler it would wait for
 * itself: -EDEADLK, with nothing changed.
 * Return: what the item was, as KWQ_WAS_* bits, 0 if it was idle; -EDEADLK.
 */
int kwq_cancel_sync(struct kwq_queue *queue, struct kwq_item *item)
{
	struct kwq_holder *self = kwq_current_worker(queue);
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

/* An item that is being processed is idle after that, however often it was added meanwhile. */
static void let_none_come_back(struct kwq_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	kwq_core_cancel_all(&queue->core);
	kwq_unlock(queue, flags);
}

/* Returns true if there may be more. */
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
 * kwq_cancel_all_sync() - shut down, throw out every item, and wait for those that run
 * @queue: the queue
 *
 * When it returns, all items are idle, stay so, and may be freed as after
 * kwq_cancel_sync(). Every drain's wait ends.
 *
 * Context: as kwq_cancel_sync(); -EDEADLK in any handler of this queue.
 * Return: 0; -EDEADLK with nothing changed.
 */
int kwq_cancel_all_sync(struct kwq_queue *queue)
{
	unsigned long flags;

	might_sleep();
	if (kwq_current_worker(queue))
		return -EDEADLK;
	kwq_might_wait_for_workers(queue);
	kwq_begin_shut_down(queue, false, true);
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

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The workers of a queue with a handler: waking them, and recognising them and other tasks
 * that call the handler.
 */
#include <linux/kconfig.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include "queue.h"
#include "workers.h"

/**
 * kwq_queue_workers_locked() - queue workers for items that were made ready
 * @workers: the queue's workers; the queue's lock held
 * @nr: number of items
 *
 * If fewer workers are idle, they are enough: busy workers look for more items.
 */
void kwq_queue_workers_locked(struct kwq_workers *workers, u64 nr)
{
	struct kwq_worker *worker;

	lockdep_assert_held(&workers->queue->lock);
	while (nr-- && !list_empty(&workers->idle)) {
		worker = list_first_entry(&workers->idle, struct kwq_worker, runner.link);
		list_del(&worker->runner.link);
		queue_work(workers->wq, &worker->work);
	}
}

/**
 * kwq_in_handler_locked() - is the caller in a handler of this queue
 * @queue: the queue; @queue->lock held
 * @item: in the handler of this item; NULL for any
 *
 * Return: true if so, whether a worker or kwq_run_sync() called the handler. The caller cannot wait
 * for the end of that handler.
 */
bool kwq_in_handler_locked(const struct kwq_queue *queue, const struct kwq_item *item)
{
	const struct kwq_runner *runner;

	lockdep_assert_held(&queue->lock);
	if (!queue->workers || (item && !(item->state & KWQ_ITEM_PROCESSING)))
		return false;
	list_for_each_entry(runner, &queue->workers->running, link)
		if (runner->task == current && (!item || item->holder == &runner->holder))
			return true;
	return false;
}

/**
 * kwq_in_handler() - is the caller in a handler of this queue
 * @queue: the queue; @queue->lock not held
 *
 * Return: as kwq_in_handler_locked() for any item.
 */
bool kwq_in_handler(struct kwq_queue *queue)
{
	unsigned long flags;
	bool in_handler;

	spin_lock_irqsave(&queue->lock, flags);
	in_handler = kwq_in_handler_locked(queue, NULL);
	spin_unlock_irqrestore(&queue->lock, flags);
	return in_handler;
}

/**
 * kwq_might_wait_for_handlers() - tell lockdep that the caller may wait for a handler
 * @queue: the queue
 *
 * Lockdep then reports callers that hold a lock which the handler takes, even if no handler
 * happens to run. A handler that waits for another handler of its queue is not reported,
 * because a deadlock depends on their items.
 */
void kwq_might_wait_for_handlers(struct kwq_queue *queue)
{
	struct kwq_workers *workers = READ_ONCE(queue->workers);

	if (!IS_ENABLED(CONFIG_LOCKDEP) || !workers || kwq_in_handler(queue))
		return;
	lock_map_acquire(&workers->handler_map);
	lock_map_release(&workers->handler_map);
}

/**
 * kwq_might_wait_for_workers() - tell lockdep that the caller may wait for all work
 * @queue: the queue
 *
 * As kwq_might_wait_for_handlers(). The caller may also wait for an item that no worker takes
 * before it has dropped references (K5). So lockdep also reports a lock that only a put takes.
 */
void kwq_might_wait_for_workers(struct kwq_queue *queue)
{
	struct kwq_workers *workers = READ_ONCE(queue->workers);

	if (!IS_ENABLED(CONFIG_LOCKDEP) || !workers || kwq_in_handler(queue))
		return;
	lock_map_acquire(&workers->map);
	lock_map_release(&workers->map);
	kwq_might_wait_for_handlers(queue);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The workers of a queue with a handler: waking them, and recognising them and other tasks
 * that call the handler.
 */
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/rbtree.h>
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
		worker = list_first_entry(&workers->idle, struct kwq_worker, idle);
		list_del(&worker->idle);
		queue_work(workers->wq, &worker->work);
	}
}

/*
 * Returns the worker in which the caller runs; NULL if it runs in none of this queue.
 *
 * The caller may run in any other work item, whose function may have freed the work item
 * already (K3). So the address of the current work item is only compared, and never
 * dereferenced. The memory of such a work item may even be reused for the workers. Then the
 * worker at that address is run by another task, or by none.
 */
static struct kwq_worker *current_worker(const struct kwq_queue *queue)
{
	struct kwq_workers *workers = READ_ONCE(queue->workers);
	struct kwq_worker *worker;
	unsigned long offset;

	if (!workers || !in_task())
		return NULL;
	/* The offset of a work item before the array wraps, and is beyond its end, too. */
	offset = (unsigned long)current_work() - (unsigned long)workers->worker;
	if (offset >= workers->nr * sizeof(*worker))
		return NULL;
	worker = &workers->worker[offset / sizeof(*worker)];
	return READ_ONCE(worker->task) == current ? worker : NULL;
}

/* Is the caller in a handler that it calls by kwq_run_sync()? Nobody else changes that. */
static bool is_caller(struct kwq_queue *queue)
{
	struct kwq_workers *workers = READ_ONCE(queue->workers);
	const struct kwq_caller *caller;
	struct rb_node *node;
	unsigned long flags;

	/* Entries of other tasks may come and go, but they do not matter here. */
	if (!workers || data_race(RB_EMPTY_ROOT(&workers->callers)))
		return false;
	spin_lock_irqsave(&queue->lock, flags);
	node = workers->callers.rb_node;
	while (node) {
		caller = rb_entry(node, struct kwq_caller, node);
		if (caller->task == current)
			break;
		node = current < caller->task ? node->rb_left : node->rb_right;
	}
	spin_unlock_irqrestore(&queue->lock, flags);
	return node;
}

/**
 * kwq_in_handler() - is the caller in a handler of this queue
 * @queue: the queue; @queue->lock not held
 *
 * Return: true if so, whether a worker or kwq_run_sync() called the handler.
 */
bool kwq_in_handler(struct kwq_queue *queue)
{
	return current_worker(queue) || is_caller(queue);
}

/**
 * kwq_handles_locked() - is the caller in the handler of this item
 * @queue: the queue; @queue->lock held
 * @item: the item
 *
 * Return: true if so; it cannot wait for the end of the handler.
 */
bool kwq_handles_locked(const struct kwq_queue *queue, const struct kwq_item *item)
{
	const struct kwq_worker *worker;

	if (!(item->state & KWQ_ITEM_PROCESSING))
		return false;
	if (item->marks & KWQ_MARK_HERE)
		return container_of(item->holder, struct kwq_caller, holder)->task == current;
	worker = current_worker(queue);
	return worker && item->holder == &worker->holder;
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

	if (!workers || kwq_in_handler(queue))
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

	if (!workers || kwq_in_handler(queue))
		return;
	lock_map_acquire(&workers->map);
	lock_map_release(&workers->map);
	kwq_might_wait_for_handlers(queue);
}

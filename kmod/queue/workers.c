// SPDX-License-Identifier: GPL-2.0-only
/*
 * The workers of a queue with a handler: waking them, and recognising them.
 */
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
		worker = list_first_entry(&workers->idle, struct kwq_worker, idle);
		list_del(&worker->idle);
		queue_work(workers->wq, &worker->work);
	}
}

/**
 * kwq_current_holder() - find the holder of the worker in which the caller runs
 * @queue: the queue
 *
 * The caller may run in any other work item, whose function may have freed the work item
 * already (K3). So the address of the current work item is only compared, and never
 * dereferenced. The memory of such a work item may even be reused for the workers. Then the
 * worker at that address is run by another task, or by none.
 *
 * Return: the holder of the worker in which the caller runs; NULL if the caller is not in a
 * handler of this queue.
 */
struct kwq_holder *kwq_current_holder(const struct kwq_queue *queue)
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
	return READ_ONCE(worker->task) == current ? &worker->holder : NULL;
}

/**
 * kwq_might_wait_for_workers() - tell lockdep that the caller may wait for a handler
 * @queue: the queue
 *
 * Lockdep then reports callers that hold a lock which the handler takes, even if no handler
 * happens to run. A handler that waits for another handler of its queue is not reported,
 * because a deadlock depends on their items.
 */
void kwq_might_wait_for_workers(const struct kwq_queue *queue)
{
	struct kwq_workers *workers = READ_ONCE(queue->workers);

	if (!workers || kwq_current_holder(queue))
		return;
	lock_map_acquire(&workers->map);
	lock_map_release(&workers->map);
}

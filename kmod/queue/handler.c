// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handlers: a queue calls its driver's function for each item, on the kernel's workqueues
 * (cmwq). kwq has no threads of its own.
 *
 * A queue that may run N handlers at once has N work items, its workers. Each worker is a
 * holder. It gets an item, calls the handler, does what the result asks for, and finishes
 * the item. A worker is idle, queued or running. The queue's lock protects that state.
 *
 * No item stays ready while a worker is idle. Each item that is made ready queues one idle
 * worker in the same hold of the lock. A worker becomes idle only in a hold in which it
 * sees that no item is ready.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/kwq.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "compat.h"
#include "queue.h"
#include "workers.h"

/*
 * The flags that a driver may choose. Others are for bottom halves or for cmwq itself, or
 * need a unique name (WQ_SYSFS).
 */
#define KWQ_WQ_FLAGS	(WQ_UNBOUND | WQ_FREEZABLE | WQ_MEM_RECLAIM | WQ_HIGHPRI | \
			 WQ_CPU_INTENSIVE | WQ_POWER_EFFICIENT | KWQ_WQ_PERCPU)

/*
 * Does what the handler's result asks for. A cancel of the item or a shut down overrides
 * the result.
 */
static void apply_result(struct kwq_queue *queue, struct kwq_worker *worker,
			 struct kwq_item *item, s64 result, ktime_t now)
{
	struct kwq_add_options options = {};

	if (result == KWQ_GIVE_UP) {
		kwq_give_up_locked(queue, item, now);
	} else if (result < 0) {
		options.flags = KWQ_ADD_RATE_LIMITED;
		kwq_add_locked(queue, item, &options, now);
	} else if (result > 0) {
		options.flags = KWQ_ADD_AFTER;
		/*
		 * D7: S64_MAX is the longest time of kwq_again_after() and stands for the
		 * end of time.
		 */
		options.time = result == S64_MAX ? U64_MAX : result & ~KWQ_AGAIN;
		kwq_add_locked(queue, item, &options, now);
	}
	kwq_done_locked(queue, &worker->holder, item,
			result >= 0 ? KWQ_DONE_FORGET : 0, now);
}

/*
 * Calls the handler. A positive result that is not from kwq_again_after() is a mistake, for
 * instance 1 from a function that returns true. It counts as a failure, so the limiters
 * keep the handler from being called again at once for ever.
 */
static s64 call_handler(struct kwq_workers *workers, struct kwq_item *item)
{
	struct kwq_queue *queue = workers->queue;
	s64 result;

	lock_map_acquire(&workers->map);
	result = workers->handler(queue, item);
	lock_map_release(&workers->map);
	if (likely(result <= 0 || result & KWQ_AGAIN))
		return result;
	pr_warn_ratelimited("kwq: the handler of queue %s, %ps, returned %lld, which means nothing: its item is tried again\n",
			    queue->name, workers->handler, result);
	return -EINVAL;
}

/*
 * Handles items until none is ready, or until the next tick. cmwq freezes, balances and
 * accounts work items one by one, so a worker must not run for long.
 */
static __flatten void work_fn(struct work_struct *work)
{
	struct kwq_worker *worker = container_of(work, struct kwq_worker, work);
	struct kwq_workers *workers = worker->workers;
	struct kwq_queue *queue = workers->queue;
	unsigned long begun = jiffies, flags;
	struct kwq_item *item;
	ktime_t now;
	s64 result;

	WRITE_ONCE(worker->task, current);
	spin_lock_irqsave(&queue->lock, flags);
	now = kwq_now_locked(queue);
	while ((item = kwq_get_locked(queue, &worker->holder, now))) {
		kwq_unlock_got(queue, flags);

		result = call_handler(workers, item);

		spin_lock_irqsave(&queue->lock, flags);
		now = kwq_now_locked(queue);
		apply_result(queue, worker, item, result, now);
		if (time_after(jiffies, begun))
			break;
	}
	WRITE_ONCE(worker->task, NULL);
	if (queue->core.nr_ready)
		queue_work(workers->wq, work);
	else
		list_add(&worker->idle, &workers->idle);
	kwq_unlock(queue, flags);
}

static int check_handler(const struct kwq_queue *queue, kwq_handler_fn handler,
			 unsigned int max_active, unsigned int wq_flags)
{
	if (!handler || !max_active || max_active > WQ_MAX_ACTIVE)
		return -EINVAL;
	if (wq_flags & ~KWQ_WQ_FLAGS)
		return -EINVAL;
	return queue->workers ? -EBUSY : 0;
}

static struct kwq_workers *make_workers(struct kwq_queue *queue,
					kwq_handler_fn handler,
					unsigned int max_active, unsigned int wq_flags)
{
	struct kwq_workers *workers;
	struct kwq_worker *worker;
	unsigned int i;

	/* A large number of workers may not fit into contiguous pages. */
	workers = kvzalloc(struct_size(workers, worker, max_active), GFP_KERNEL);
	if (!workers)
		return NULL;
	workers->nr = max_active;
	workers->queue = queue;
	workers->handler = handler;
	INIT_LIST_HEAD(&workers->idle);
	workers->wq = alloc_workqueue("%s", kwq_wq_flags(wq_flags), max_active,
				      queue->name);
	if (!workers->wq) {
		kvfree(workers);
		return NULL;
	}
	lockdep_register_key(&workers->key);
	lockdep_init_map(&workers->map, queue->name, &workers->key, 0);
	for (i = 0; i < max_active; i++) {
		worker = &workers->worker[i];
		INIT_WORK(&worker->work, work_fn);
		worker->workers = workers;
		kwq_holder_init(&worker->holder);
		list_add_tail(&worker->idle, &workers->idle);
	}
	return workers;
}

/**
 * kwq_start_handler() - call a function for each item of a queue (K2)
 * @queue: the queue; without a handler
 * @handler: the function: see &typedef kwq_handler_fn
 * @max_active: how many items the handler may have at once, 1 to WQ_MAX_ACTIVE
 * @wq_flags: flags of the workqueue, as listed below
 *
 * These flags of alloc_workqueue() are allowed:
 * - WQ_UNBOUND: not bound to the processor that added the item
 * - WQ_FREEZABLE: not while the system sleeps
 * - WQ_MEM_RECLAIM: one worker can always run, even when memory is short
 * - WQ_HIGHPRI, WQ_CPU_INTENSIVE, WQ_POWER_EFFICIENT
 * - since 6.17 WQ_PERCPU, the default without WQ_UNBOUND
 *
 * It is also called for items that are ready already. After kwq_shut_down_with_drain() it
 * is called for all remaining items; after kwq_cancel_all_sync() or kwq_queue_destroy() it
 * is not. The driver may call kwq_get() as well. Each item goes to only one of the two.
 *
 * Context: process; may sleep. The caller serialises it with itself and with
 * kwq_queue_destroy().
 * Return: 0. With nothing changed: -EINVAL, -EBUSY (the queue has a handler) or -ENOMEM.
 */
int kwq_start_handler(struct kwq_queue *queue, kwq_handler_fn handler,
		      unsigned int max_active, unsigned int wq_flags)
{
	struct kwq_workers *workers;
	unsigned long flags, nr;
	int err;

	err = check_handler(queue, handler, max_active, wq_flags);
	if (err)
		return err;
	workers = make_workers(queue, handler, max_active, wq_flags);
	if (!workers)
		return -ENOMEM;

	/* From the first hold on, items that become ready queue their workers at unlock. */
	spin_lock_irqsave(&queue->lock, flags);
	WRITE_ONCE(queue->workers, workers);
	nr = min_t(unsigned long, queue->core.nr_ready, max_active);
	for (;;) {
		kwq_queue_workers_locked(workers, min_t(unsigned long, nr, KWQ_ITEMS_PER_HOLD));
		kwq_unlock(queue, flags);
		if (nr <= KWQ_ITEMS_PER_HOLD)
			return 0;
		nr -= KWQ_ITEMS_PER_HOLD;
		spin_lock_irqsave(&queue->lock, flags);
	}
}
EXPORT_SYMBOL_GPL(kwq_start_handler);

/**
 * kwq_stop_handler() - undo kwq_start_handler()
 * @queue: a queue with a handler; all its items are cancelled
 *
 * Context: process; sleeps.
 */
void kwq_stop_handler(struct kwq_queue *queue)
{
	struct kwq_workers *workers = queue->workers;
	unsigned long flags;

	/* Waits also for workers that find nothing to do. */
	destroy_workqueue(workers->wq);
	spin_lock_irqsave(&queue->lock, flags);
	WRITE_ONCE(queue->workers, NULL);
	kwq_unlock(queue, flags);
	lockdep_unregister_key(&workers->key);
	kvfree(workers);
}

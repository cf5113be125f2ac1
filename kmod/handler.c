// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handlers: a queue calls its driver's function for each item, on workqueues of
 * the kernel's (cmwq). No thread is kwq's.
 *
 * A queue that may run N handlers at once has N work items, its workers. Each is a
 * holder like any other: it gets an item, calls the handler, does what that
 * returned, and is done. A worker is idle, or queued, or running; the queue's lock
 * covers which.
 *
 * No item lies ready while a worker is idle: for each item that is made ready one
 * idle worker is queued, in the same hold of the lock; and a worker turns idle in
 * a hold in which it sees that nothing is ready.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/kwq.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "compat.h"
#include "handler.h"
#include "queue.h"

/**
 * struct kwq_worker - one handler that may be running
 * @work: I: what cmwq runs
 * @workers: I: the others
 * @holder: Q: of the item that the handler was called for
 * @idle: Q: in @workers->idle, while it is neither queued nor running
 *
 * Q: the queue's lock. I: set once.
 */
struct kwq_worker {
	struct work_struct work;
	struct kwq_workers *workers;
	struct kwq_holder holder;
	struct list_head idle;
};

/**
 * struct kwq_workers - all of a queue's
 * @queue: I: whose they are
 * @handler: I: what they call
 * @wq: I: where they run
 * @idle: Q: those that are idle; the one that was so last is first, for its cache
 * @key: I: makes @map this queue's own, so that one queue's handler may wait for
 *	another's
 * @map: stands for the running of a handler: see kwq_might_wait_for_workers()
 * @nr: I: how many
 * @worker: each of them
 */
struct kwq_workers {
	struct kwq_queue *queue;
	kwq_handler_fn handler;
	struct workqueue_struct *wq;
	struct list_head idle;
	struct lock_class_key key;
	struct lockdep_map map;
	unsigned int nr;
	struct kwq_worker worker[];
};

/*
 * What a driver may choose. The others are for bottom halves, or for cmwq itself, or
 * want a name that no other workqueue has (WQ_SYSFS).
 */
#define KWQ_WQ_FLAGS	(WQ_UNBOUND | WQ_FREEZABLE | WQ_MEM_RECLAIM | WQ_HIGHPRI | \
			 WQ_CPU_INTENSIVE | WQ_POWER_EFFICIENT | KWQ_WQ_PERCPU)

/**
 * kwq_tell_workers() - see to it that items which were made ready are handled
 * @workers: the queue's; its lock held
 * @nr: how many items
 *
 * Too few idle workers are enough: those that are not idle look for more.
 */
void kwq_tell_workers(struct kwq_workers *workers, u64 nr)
{
	struct kwq_worker *worker;

	lockdep_assert_held(&workers->queue->lock);
	while (nr-- && !list_empty(&workers->idle)) {
		worker = list_first_entry(&workers->idle, struct kwq_worker, idle);
		list_del(&worker->idle);
		queue_work(workers->wq, &worker->work);
	}
}

/* What a handler returned becomes of the item. Its own cancel, or a shut down, wins. */
static void settle(struct kwq_queue *queue, struct kwq_worker *worker,
		   struct kwq_item *item, s64 verdict, ktime_t now)
{
	struct kwq_add_options options = {};

	if (verdict == KWQ_GIVE_UP) {
		kwq_give_up_locked(queue, item, now);
	} else if (verdict < 0) {
		options.flags = KWQ_ADD_RATE_LIMITED;
		kwq_add_locked(queue, item, &options, now);
	} else if (verdict > 0) {
		options.flags = KWQ_ADD_AFTER;
		options.time = verdict;
		kwq_add_locked(queue, item, &options, now);
	}
	kwq_done_locked(queue, &worker->holder, item,
			verdict >= 0 ? KWQ_DONE_FORGET : 0, now);
}

/*
 * Handles items until none is ready, or until the next tick: cmwq freezes, balances
 * and accounts by the work item, so a worker must not stay in one for long.
 */
static __flatten void work_fn(struct work_struct *work)
{
	struct kwq_worker *worker = container_of(work, struct kwq_worker, work);
	struct kwq_workers *workers = worker->workers;
	struct kwq_queue *queue = workers->queue;
	unsigned long begun = jiffies, flags;
	struct kwq_item *item;
	ktime_t now;
	s64 verdict;

	spin_lock_irqsave(&queue->lock, flags);
	now = kwq_now_locked(queue);
	while ((item = kwq_get_locked(queue, &worker->holder, now))) {
		kwq_unlock_got(queue, flags);

		lock_map_acquire(&workers->map);
		verdict = workers->handler(queue, item);
		lock_map_release(&workers->map);

		spin_lock_irqsave(&queue->lock, flags);
		now = kwq_now_locked(queue);
		settle(queue, worker, item, verdict, now);
		if (time_after(jiffies, begun))
			break;
	}
	if (queue->core.nr_ready)
		queue_work(workers->wq, work);
	else
		list_add(&worker->idle, &workers->idle);
	kwq_unlock(queue, flags);
}

/**
 * kwq_current_worker() - as whom does the caller handle an item of this queue
 * @queue: the queue
 *
 * Return: the holder, NULL if the caller is not in this queue's handler.
 */
struct kwq_holder *kwq_current_worker(const struct kwq_queue *queue)
{
	struct work_struct *work = in_task() ? current_work() : NULL;
	struct kwq_worker *worker;

	if (!work || work->func != work_fn)
		return NULL;
	worker = container_of(work, struct kwq_worker, work);
	return worker->workers->queue == queue ? &worker->holder : NULL;
}

/**
 * kwq_might_wait_for_workers() - tell lockdep that a handler may be waited for
 * @queue: the queue
 *
 * So that it reports who waits with a lock held that the handler takes, even when
 * no handler happens to run. A handler that waits for another one of its queue is
 * left out: whether they wait for each other depends on their items.
 */
void kwq_might_wait_for_workers(const struct kwq_queue *queue)
{
	struct kwq_workers *workers = READ_ONCE(queue->workers);

	if (!workers || kwq_current_worker(queue))
		return;
	lock_map_acquire(&workers->map);
	lock_map_release(&workers->map);
}

static int check(const struct kwq_queue *queue, kwq_handler_fn handler,
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
					unsigned int nr, unsigned int wq_flags)
{
	struct kwq_workers *workers;
	struct kwq_worker *worker;
	unsigned int i;

	/* A great many at once are more than there may be in one piece. */
	workers = kvzalloc(struct_size(workers, worker, nr), GFP_KERNEL);
	if (!workers)
		return NULL;
	workers->nr = nr;
	workers->queue = queue;
	workers->handler = handler;
	INIT_LIST_HEAD(&workers->idle);
	workers->wq = alloc_workqueue("%s", kwq_wq_flags(wq_flags), nr,
				      queue->name);
	if (!workers->wq) {
		kvfree(workers);
		return NULL;
	}
	lockdep_register_key(&workers->key);
	lockdep_init_map(&workers->map, queue->name, &workers->key, 0);
	for (i = 0; i < nr; i++) {
		worker = &workers->worker[i];
		INIT_WORK(&worker->work, work_fn);
		worker->workers = workers;
		kwq_holder_init(&worker->holder);
		list_add_tail(&worker->idle, &workers->idle);
	}
	return workers;
}

/**
 * kwq_start_handler() - have a function called for each item (K2)
 * @queue: the queue; of no handler yet
 * @handler: the function: see &typedef kwq_handler_fn
 * @max_active: how many items may be in it at once, 1 to WQ_MAX_ACTIVE
 * @wq_flags: how the kernel's workqueue runs it: of WQ_UNBOUND (not on the processor
 *	that added the item), WQ_HIGHPRI, WQ_CPU_INTENSIVE, WQ_FREEZABLE (not while the
 *	system sleeps), WQ_MEM_RECLAIM (memory may be short because of what it does not
 *	do: one at least goes on), WQ_POWER_EFFICIENT; since 6.17 WQ_PERCPU, which is
 *	understood without WQ_UNBOUND
 *
 * It is called for what is ready now, too. kwq_shut_down_with_drain() lets it go on
 * to the last item; kwq_cancel_all_sync() and kwq_queue_destroy() do not. To get items
 * by kwq_get() as well is allowed: each goes to one or the other.
 *
 * Context: process; may sleep. Serialised with itself and kwq_queue_destroy() by the
 * caller.
 * Return: 0; with nothing changed -EINVAL, -EBUSY (it has a handler), -ENOMEM.
 */
int kwq_start_handler(struct kwq_queue *queue, kwq_handler_fn handler,
		      unsigned int max_active, unsigned int wq_flags)
{
	struct kwq_workers *workers;
	unsigned long flags;
	int err;

	err = check(queue, handler, max_active, wq_flags);
	if (err)
		return err;
	workers = make_workers(queue, handler, max_active, wq_flags);
	if (!workers)
		return -ENOMEM;

	spin_lock_irqsave(&queue->lock, flags);
	WRITE_ONCE(queue->workers, workers);
	kwq_tell_workers(workers, queue->core.nr_ready);
	kwq_unlock(queue, flags);
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_start_handler);

/**
 * kwq_end_workers() - give back what kwq_start_handler() took
 * @queue: a queue with a handler; cancelled
 *
 * Context: process; sleeps.
 */
void kwq_end_workers(struct kwq_queue *queue)
{
	struct kwq_workers *workers = queue->workers;
	unsigned long flags;

	/* Waits for who finds nothing to do, too. */
	destroy_workqueue(workers->wq);
	spin_lock_irqsave(&queue->lock, flags);
	WRITE_ONCE(queue->workers, NULL);
	kwq_unlock(queue, flags);
	lockdep_unregister_key(&workers->key);
	kvfree(workers);
}

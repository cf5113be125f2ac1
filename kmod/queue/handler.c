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
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "compat.h"
#include "handler.h"
#include "queue.h"

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
		/* D7: what kwq_again_after() could not tell is the end of time. */
		options.time = verdict == S64_MAX ? U64_MAX : verdict & ~KWQ_AGAIN;
		kwq_add_locked(queue, item, &options, now);
	}
	kwq_done_locked(queue, &worker->holder, item,
			verdict >= 0 ? KWQ_DONE_FORGET : 0, now);
}

/*
 * Calls the handler. A positive number that is not of kwq_again_after() is a mistake,
 * the 1 of a function that tells true, say. It counts as a failure, so the limiters
 * keep the handler from being called again at once for ever.
 */
static s64 call_handler(struct kwq_workers *workers, struct kwq_item *item)
{
	struct kwq_queue *queue = workers->queue;
	s64 verdict;

	lock_map_acquire(&workers->map);
	verdict = workers->handler(queue, item);
	lock_map_release(&workers->map);
	if (likely(verdict <= 0 || verdict & KWQ_AGAIN))
		return verdict;
	pr_warn_ratelimited("kwq: the handler of queue %s, %ps, returned %lld, which means nothing: its item is tried again\n",
			    queue->name, workers->handler, verdict);
	return -EINVAL;
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

	WRITE_ONCE(worker->task, current);
	spin_lock_irqsave(&queue->lock, flags);
	now = kwq_now_locked(queue);
	while ((item = kwq_get_locked(queue, &worker->holder, now))) {
		kwq_unlock_got(queue, flags);

		verdict = call_handler(workers, item);

		spin_lock_irqsave(&queue->lock, flags);
		now = kwq_now_locked(queue);
		settle(queue, worker, item, verdict, now);
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

/**
 * kwq_current_worker() - as whom does the caller handle an item of this queue
 * @queue: the queue
 *
 * The caller may be any other work item, and a work function may have freed its own
 * work item before it called (K3). So the address of the current work item is compared,
 * and never followed. The workers may even lie where such a work item was; then the
 * worker at that address is run by another task, or by none.
 *
 * Return: the holder, NULL if the caller is not in this queue's handler.
 */
struct kwq_holder *kwq_current_worker(const struct kwq_queue *queue)
{
	struct kwq_workers *workers = READ_ONCE(queue->workers);
	struct kwq_worker *worker;
	unsigned long offset;

	if (!workers || !in_task())
		return NULL;
	/* A work item that lies before the workers has an offset beyond their end. */
	offset = (unsigned long)current_work() - (unsigned long)workers->worker;
	if (offset >= workers->nr * sizeof(*worker))
		return NULL;
	worker = &workers->worker[offset / sizeof(*worker)];
	return READ_ONCE(worker->task) == current ? &worker->holder : NULL;
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
	unsigned long flags, nr;
	int err;

	err = check(queue, handler, max_active, wq_flags);
	if (err)
		return err;
	workers = make_workers(queue, handler, max_active, wq_flags);
	if (!workers)
		return -ENOMEM;

	/* Items that become ready from the first hold on are told by their own unlock. */
	spin_lock_irqsave(&queue->lock, flags);
	WRITE_ONCE(queue->workers, workers);
	nr = min_t(unsigned long, queue->core.nr_ready, max_active);
	for (;;) {
		kwq_tell_workers(workers, min_t(unsigned long, nr, KWQ_ITEMS_PER_HOLD));
		kwq_unlock(queue, flags);
		if (nr <= KWQ_ITEMS_PER_HOLD)
			return 0;
		nr -= KWQ_ITEMS_PER_HOLD;
		spin_lock_irqsave(&queue->lock, flags);
	}
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

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handlers: a queue calls its driver's function for each item, or for several at once, on
 * the kernel's workqueues (cmwq). kwq has no threads of its own.
 *
 * A queue that may run N handlers at once has N work items, its workers. Each worker is a
 * holder. It gets items, calls the handler, does what the results ask for, and finishes
 * the items. A worker is idle, queued or running. The queue's lock protects that state.
 *
 * No item stays ready while a worker is idle. Each item that is made ready queues one idle
 * worker in the same hold of the lock. A worker becomes idle only in a hold in which it
 * sees that no item is ready, or that the queue is paused. The end of a pause queues idle
 * workers.
 *
 * An attempt may go on when its handler has returned (K14). Its item is then handed over from the
 * worker to @later of the workers, which is a holder, too. Nobody else may finish it, and
 * kwq_item_done() does. If that comes before the handler returns, it leaves the done to the worker.
 *
 * The workqueue may be borrowed (K7). Then it has work items of others, too, and kwq waits
 * only for its own.
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
#include <linux/string.h>
#include <linux/workqueue.h>
#include "compat.h"
#include "queue.h"
#include "refs.h"
#include "workers.h"

/*
 * The flags that a driver may choose. Others are for bottom halves or for cmwq itself, or
 * need a unique name (WQ_SYSFS).
 */
#define KWQ_WQ_FLAGS	(WQ_UNBOUND | WQ_FREEZABLE | WQ_MEM_RECLAIM | WQ_HIGHPRI | \
			 WQ_CPU_INTENSIVE | WQ_POWER_EFFICIENT | KWQ_WQ_PERCPU)

/*
 * A result that no constructor makes is a mistake: kwq_result_of(1), for instance from a
 * function that returns true, or a result that a batch handler did not write. It counts as a
 * failure, so the limiters keep the handler from being called again at once for ever.
 */
static bool is_mistake(const struct kwq_result *result)
{
	if (result->kind == KWQ_RESULT_FAILED)
		return result->err >= 0;
	return result->kind == KWQ_RESULT_NONE || result->kind > KWQ_RESULT_LATER;
}

/* Logs without the lock. */
static noinline void log_mistake(const struct kwq_workers *workers,
				 const struct kwq_result *result)
{
	const struct kwq_handler *handler = &workers->handler;
	const void *fn = handler->handle ? (void *)handler->handle :
					   (void *)handler->handle_batch;

	if (result->kind == KWQ_RESULT_FAILED)
		pr_warn_ratelimited("kwq: the handler of queue %s, %ps, returned %d, which is no errno: its item is tried again\n",
				    workers->queue->name, fn, result->err);
	else
		pr_warn_ratelimited("kwq: the handler of queue %s, %ps, returned no result: its item is tried again\n",
				    workers->queue->name, fn);
}

/* Does what comes before the done. Returns the flags of the done. */
static inline u32 begin_end_locked(struct kwq_queue *queue, struct kwq_item *item,
				   const struct kwq_result *result, ktime_t now)
{
	struct kwq_add_options options = {};

	switch (result->kind) {
	case KWQ_RESULT_DONE:
		return KWQ_DONE_FORGET;
	case KWQ_RESULT_DONE_UNFORGOTTEN:
		return 0;
	case KWQ_RESULT_AGAIN:
	case KWQ_RESULT_AGAIN_AT:
		/* A delay of 0 or a past time makes it dirty now, and so ready at its done. */
		options.flags = result->kind == KWQ_RESULT_AGAIN ? KWQ_ADD_AFTER : KWQ_ADD_AT;
		options.time = result->time;
		kwq_add_locked(queue, item, &options, now);
		return KWQ_DONE_FORGET;
	case KWQ_RESULT_GIVE_UP:
		kwq_give_up_locked(queue, item, now);
		return 0;
	default:
		options.flags = KWQ_ADD_RATE_LIMITED;
		kwq_add_locked(queue, item, &options, now);
		return 0;
	}
}

/*
 * The end of an attempt that has two parts: the handler's return, and kwq_item_done(). Either may
 * come first.
 */
static noinline void end_elsewhere_locked(struct kwq_workers *workers, struct kwq_item *item,
					  const struct kwq_result *result, ktime_t now)
{
	struct kwq_queue *queue = workers->queue;
	u32 flags;

	if (item->marks & KWQ_MARK_ENDED) {
		/* kwq_item_done() did what comes before the done. */
		kwq_done_locked(queue, item->holder, item, 0, now);
		return;
	}
	if (result->kind == KWQ_RESULT_LATER) {
		kwq_core_hand_over(item, &workers->later);
		return;
	}
	flags = begin_end_locked(queue, item, result, now);
	if (item->holder == &workers->later) {
		kwq_done_locked(queue, &workers->later, item, flags, now);
		return;
	}
	if (flags & KWQ_DONE_FORGET)
		kwq_core_forget(&queue->core, item, now);
	item->marks |= KWQ_MARK_ENDED;
}

/**
 * kwq_apply_result_locked() - do what the handler's result asks for
 * @workers: the workers of the queue; its lock held
 * @holder: the worker that called the handler
 * @item: the item
 * @result: the result; a cancel of the item or a shut down overrides it, unless the attempt goes on
 * @now: current time
 */
void kwq_apply_result_locked(struct kwq_workers *workers, struct kwq_holder *holder,
			     struct kwq_item *item, const struct kwq_result *result,
			     ktime_t now)
{
	struct kwq_queue *queue = workers->queue;

	if (unlikely(result->kind == KWQ_RESULT_LATER || item->marks & KWQ_MARK_ENDED))
		end_elsewhere_locked(workers, item, result, now);
	else
		kwq_done_locked(queue, holder, item, begin_end_locked(queue, item, result, now),
				now);
}

/* May kwq_item_done() end an item? */
static int check_end(const struct kwq_queue *queue, const struct kwq_item *item)
{
	if (!queue->workers)
		return -EINVAL;
	if (!(item->state & KWQ_ITEM_PROCESSING))
		return -ENOENT;
	if (item->holder == &queue->holder || item->marks & KWQ_MARK_ENDED)
		return -EPERM;
	return 0;
}

int kwq_item_done(struct kwq_queue *queue, struct kwq_item *item, struct kwq_result result)
{
	const struct kwq_ref_ops *refs = NULL;
	unsigned long flags;
	int err;

	if (is_mistake(&result) || result.kind == KWQ_RESULT_LATER)
		return -EINVAL;
	kwq_lock(queue, &flags);
	err = check_end(queue, item);
	if (!err) {
		end_elsewhere_locked(queue->workers, item, &result, kwq_stamp_locked(queue));
		refs = kwq_owed_put_locked(queue, item);
	}
	kwq_unlock(queue, flags);
	kwq_put(refs, item);
	return err;
}
EXPORT_SYMBOL_GPL(kwq_item_done);

/* The end of a work item. If items are left, it queues up again, behind work items of others. */
static inline void leave_worker(struct kwq_workers *workers, struct kwq_worker *worker,
				unsigned long flags)
	__releases(&workers->queue->lock)
{
	struct kwq_queue *queue = workers->queue;

	if (kwq_core_can_get(&queue->core)) {
		list_del(&worker->runner.link);
		queue_work(workers->wq, &worker->work);
	} else {
		list_move(&worker->runner.link, &workers->idle);
	}
	kwq_unlock(queue, flags);
}

/*
 * K5: drops the queue's references to items that this worker finished. The worker counts as
 * running meanwhile, so kwq_in_handler() is true, and a put cannot destroy the queue. Returns the
 * flags of the new hold.
 */
static noinline unsigned long put_without_lock(struct kwq_queue *queue, struct kwq_item **items,
					       unsigned int nr, unsigned long flags)
	__must_hold(&queue->lock)
{
	const struct kwq_ref_ops *refs = queue->refs;
	unsigned int i;

	kwq_unlock(queue, flags);
	for (i = 0; i < nr; i++)
		kwq_put(refs, items[i]);
	kwq_lock(queue, &flags);
	return flags;
}

/*
 * Until the next tick. cmwq freezes, balances and accounts work items one by one, so a
 * worker must not run for long.
 */
static bool has_run_long(unsigned long begun)
{
	return time_after(jiffies, begun);
}

/**
 * kwq_call_handler() - call the handler for items that the caller holds
 * @workers: the queue's workers
 * @items: the items
 * @results: filled in, in the same order
 * @nr: number of items; 1 unless it is a batch handler
 *
 * Context: process; may sleep.
 */
void kwq_call_handler(struct kwq_workers *workers, struct kwq_item **items,
		      struct kwq_result *results, unsigned int nr)
{
	const struct kwq_handler *handler = &workers->handler;
	const struct kwq_result *result;

	if (handler->handle) {
		results[0] = handler->handle(workers->queue, items[0]);
	} else {
		/* Q13: a result that the handler does not write never reads as success. */
		memset(results, 0, nr * sizeof(*results));
		handler->handle_batch(workers->queue, items, results, nr);
	}
	for (result = results; result < results + nr; result++) {
		if (unlikely(is_mistake(result))) {
			log_mistake(workers, result);
			break;
		}
	}
}

/* Gets up to @most items that are ready, in the order of single gets. Returns their number. */
static __always_inline unsigned int get_batch(struct kwq_workers *workers,
					      struct kwq_worker *worker, struct kwq_item **items,
					      unsigned int most, ktime_t now)
{
	struct kwq_queue *queue = workers->queue;
	unsigned int nr = 0;

	/* O8: with aging, each hand-out costs more. */
	if (most > 1 && !kwq_is_small(queue))
		most = min(most, kwq_core_most_gets(&queue->core));
	do {
		items[nr] = kwq_get_locked(queue, &worker->runner.holder, now);
	} while (items[nr] && ++nr < most);
	return nr;
}

/*
 * Handles items until none is ready, or until the worker has run long. A hold ends one batch and
 * gets the next, so it moves at most 2 * KWQ_HANDLER_BATCH_MAX items (O8). There is room for @most
 * items and results. If that is 1, the compiler leaves out the loops over the batch.
 */
static __always_inline void handle_batches(struct kwq_worker *worker, struct kwq_item **items,
					   struct kwq_result *results, unsigned int most)
{
	struct kwq_workers *workers = worker->workers;
	struct kwq_queue *queue = workers->queue;
	unsigned long begun = jiffies, flags;
	unsigned int i, nr, nr_idle;
	ktime_t now;

	static_assert(2 * KWQ_HANDLER_BATCH_MAX <= KWQ_ITEMS_PER_HOLD);
	kwq_lock(queue, &flags);
	kwq_begin_running_locked(workers, &worker->runner);
	now = kwq_stamp_locked(queue);
	while ((nr = get_batch(workers, worker, items, most, now))) {
		kwq_unlock_got(queue, flags);

		lock_map_acquire(&workers->handler_map);
		kwq_call_handler(workers, items, results, nr);
		lock_map_release(&workers->handler_map);

		kwq_lock(queue, &flags);
		now = kwq_stamp_locked(queue);
		for (i = 0, nr_idle = 0; i < nr; i++) {
			kwq_apply_result_locked(workers, &worker->runner.holder, items[i],
						&results[i], now);
			if (unlikely(kwq_owed_put_locked(queue, items[i])))
				items[nr_idle++] = items[i];
		}
		if (unlikely(nr_idle)) {
			flags = put_without_lock(queue, items, nr_idle, flags);
			now = kwq_stamp_locked(queue);
		}
		if (has_run_long(begun))
			break;
	}
	leave_worker(workers, worker, flags);
}

static __flatten void work_fn(struct work_struct *work)
{
	struct kwq_result result;
	struct kwq_item *item;

	handle_batches(container_of(work, struct kwq_worker, work), &item, &result, 1);
}

static __flatten void batch_work_fn(struct work_struct *work)
{
	struct kwq_worker *worker = container_of(work, struct kwq_worker, work);
	struct kwq_result results[KWQ_HANDLER_BATCH_MAX];
	struct kwq_item *items[KWQ_HANDLER_BATCH_MAX];

	handle_batches(worker, items, results, worker->workers->handler.max_batch);
}

static int check_handler(const struct kwq_queue *queue, const struct kwq_handler *handler)
{
	if (!handler->handle == !handler->handle_batch)
		return -EINVAL;
	if (handler->handle ? handler->max_batch :
			      !handler->max_batch || handler->max_batch > KWQ_HANDLER_BATCH_MAX)
		return -EINVAL;
	if (!handler->max_active || handler->max_active > WQ_MAX_ACTIVE)
		return -EINVAL;
	if (handler->wq ? handler->wq_flags : handler->wq_flags & ~KWQ_WQ_FLAGS)
		return -EINVAL;
	return queue->workers ? -EBUSY : 0;
}

static void init_worker(struct kwq_workers *workers, struct kwq_worker *worker)
{
	if (workers->handler.handle)
		INIT_WORK(&worker->work, work_fn);
	else
		INIT_WORK(&worker->work, batch_work_fn);
	/* cmwq holds this map while the worker runs: see kwq_might_wait_for_workers(). */
	lockdep_init_map(&worker->work.lockdep_map, workers->queue->name, &workers->key, 0);
	worker->workers = workers;
	kwq_holder_init(&worker->runner.holder);
	list_add_tail(&worker->runner.link, &workers->idle);
}

static struct kwq_workers *make_workers(struct kwq_queue *queue,
					const struct kwq_handler *handler)
{
	struct kwq_workers *workers;
	unsigned int i;

	/* A large number of workers may not fit into contiguous pages. */
	workers = kvzalloc(struct_size(workers, worker, handler->max_active), GFP_KERNEL);
	if (!workers)
		return NULL;
	workers->nr = handler->max_active;
	workers->queue = queue;
	workers->handler = *handler;
	INIT_LIST_HEAD(&workers->idle);
	INIT_LIST_HEAD(&workers->running);
	kwq_holder_init(&workers->later);
	workers->wq = handler->wq ?:
		alloc_workqueue("%s", kwq_wq_flags(handler->wq_flags), workers->nr, queue->name);
	if (!workers->wq) {
		kvfree(workers);
		return NULL;
	}
	lockdep_register_key(&workers->key);
	lockdep_init_map(&workers->map, queue->name, &workers->key, 0);
	lockdep_register_key(&workers->handler_key);
	lockdep_init_map(&workers->handler_map, queue->name, &workers->handler_key, 0);
	for (i = 0; i < workers->nr; i++)
		init_worker(workers, &workers->worker[i]);
	return workers;
}

int kwq_start_handler(struct kwq_queue *queue, const struct kwq_handler *handler)
{
	struct kwq_workers *workers;
	unsigned long flags;
	int err;

	err = check_handler(queue, handler);
	if (err)
		return err;
	workers = make_workers(queue, handler);
	if (!workers)
		return -ENOMEM;

	/* From this unlock on, the items that are ready queue workers: see queue_some_workers(). */
	kwq_lock(queue, &flags);
	WRITE_ONCE(queue->workers, workers);
	kwq_wake_again_locked(queue);
	kwq_unlock(queue, flags);
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_start_handler);

/**
 * kwq_stop_handler() - undo kwq_start_handler()
 * @queue: a queue with a handler; all its items are cancelled
 *
 * No worker is queued any more. Queued ones may be behind work items of others, or on a
 * workqueue that is frozen. So kwq takes them back, and waits only for those that run, with
 * nothing to do.
 *
 * Context: process; sleeps.
 */
void kwq_stop_handler(struct kwq_queue *queue)
{
	struct kwq_workers *workers = queue->workers;
	unsigned long flags;
	unsigned int i;

	for (i = 0; i < workers->nr; i++)
		cancel_work_sync(&workers->worker[i].work);
	if (!workers->handler.wq)
		destroy_workqueue(workers->wq);
	kwq_lock(queue, &flags);
	WRITE_ONCE(queue->workers, NULL);
	kwq_unlock(queue, flags);
	lockdep_unregister_key(&workers->handler_key);
	lockdep_unregister_key(&workers->key);
	kvfree(workers);
}

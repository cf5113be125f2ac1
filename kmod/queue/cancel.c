// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cancel and wait: for one item, which then can be added again or not (K8), or for all items
 * of a queue (K3).
 *
 * The first hold of the lock makes the item or the queue refuse adds. A retry that a handler
 * asks for is refused, too. The rest differs:
 *
 * - For one item, the first hold takes out the item, its dirty mark and its time.
 * - kwq_cancel_all_sync() drops all times in the next holds. Then it removes the ready items. The
 *   first hold of that sets @cancelled of struct kwq_core: from then on an item becomes idle when
 *   its processing ends, even if it is dirty.
 *
 * Now nothing makes an item ready again, and at most processing items are left. Processing ends
 * under the lock, and afterwards the holder does not touch the item. The waiter looks under the
 * lock, too. Once it sees that nobody processes the item, nobody ever will, until
 * kwq_cancel_sync() lets it be added again.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/kwq.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include "queue.h"
#include "refs.h"
#include "workers.h"

/**
 * kwq_join_drainers_locked() - get ready to sleep as a drainer
 * @queue: the queue; @queue->lock held
 * @drainer: a place for the caller in the list
 * @state: the task's state until it is woken
 *
 * The caller unlocks, sleeps, and locks again. It need not look again before it sleeps,
 * because its waker takes the lock first.
 */
void kwq_join_drainers_locked(struct kwq_queue *queue, struct kwq_drainer *drainer,
			      unsigned int state)
{
	lockdep_assert_held(&queue->lock);
	drainer->task = current;
	hlist_add_head(&drainer->link, &queue->drainers);
	set_current_state(state);
}

/**
 * kwq_leave_drainers_locked() - undo kwq_join_drainers_locked()
 * @queue: the queue; @queue->lock held
 * @drainer: the caller's place
 */
void kwq_leave_drainers_locked(struct kwq_queue *queue, struct kwq_drainer *drainer)
{
	lockdep_assert_held(&queue->lock);
	__set_current_state(TASK_RUNNING);
	hlist_del_init(&drainer->link);
}

/**
 * kwq_sleep_as_drainer_locked() - sleep until drainers are woken
 * @queue: the queue; @queue->lock held, released while sleeping
 * @deadline: when to wake up at the latest, on the queue's clock; KTIME_MAX for never
 * @state: how the task sleeps
 * @flags: as spin_lock_irqsave() stored them
 *
 * The caller looks under the lock whether what it waits for has ended.
 *
 * Context: process; sleeps without the lock.
 */
void kwq_sleep_as_drainer_locked(struct kwq_queue *queue, ktime_t deadline, unsigned int state,
				 unsigned long *flags)
	__must_hold(&queue->lock)
{
	struct kwq_drainer drainer;

	kwq_join_drainers_locked(queue, &drainer, state);
	kwq_unlock(queue, *flags);
	kwq_sleep_until(queue, deadline);
	kwq_lock(queue, flags);
	kwq_leave_drainers_locked(queue, &drainer);
}

/*
 * Waits until nobody processes @item. Without @item, waits until the queue is drained. The
 * task joins the list of drainers under the lock, so the hold that ends the processing sees
 * it there.
 */
static void wait_for_the_end(struct kwq_queue *queue, const struct kwq_item *item,
			     unsigned long *flags)
	__must_hold(&queue->lock)
{
	while (item ? item->state & KWQ_ITEM_PROCESSING :
		      !kwq_core_is_drained(&queue->core))
		kwq_wait_for_an_end_locked(queue, flags);
}

static int disable_and_wait(struct kwq_queue *queue, struct kwq_item *item, bool enable)
{
	const struct kwq_ref_ops *refs = NULL;
	unsigned long flags;
	int was;

	might_sleep();
	kwq_might_wait_for_handlers(queue);
	kwq_lock(queue, &flags);
	if (kwq_in_handler_locked(queue, item)) {
		was = -EDEADLK;
	} else {
		kwq_claim_locked(queue, item, KWQ_POST_HELD);
		was = kwq_core_disable(&queue->core, item);
		kwq_end_hold_locked(queue, item);
		/* The put of an item in processing is owed by its done. */
		if (was)
			refs = kwq_owed_put_locked(queue, item);
		wait_for_the_end(queue, item, &flags);
		if (enable)
			kwq_core_enable(item);
	}
	kwq_unlock_got(queue, flags);
	kwq_put(refs, item);
	return was;
}

int kwq_cancel_sync(struct kwq_queue *queue, struct kwq_item *item)
{
	return disable_and_wait(queue, item, true);
}
EXPORT_SYMBOL_GPL(kwq_cancel_sync);

int kwq_disable_sync(struct kwq_queue *queue, struct kwq_item *item)
{
	return disable_and_wait(queue, item, false);
}
EXPORT_SYMBOL_GPL(kwq_disable_sync);

/* From the first call on, no item comes back when its processing ends, even if it is dirty. */
static struct kwq_item *remove_next_ready(struct kwq_queue *queue)
{
	struct kwq_item *item = kwq_core_first_ready(&queue->core);

	kwq_core_cancel_all(&queue->core);
	if (item)
		kwq_core_remove(&queue->core, item);
	return item;
}

/* Shuts down, and takes out all items except those in processing, which stay out at their end. */
static void take_out_all(struct kwq_queue *queue)
{
	kwq_begin_shut_down(queue, false);
	kwq_drop_all(queue);
	while (kwq_take_out_next(queue, remove_next_ready))
		cond_resched();
}

static struct kwq_item *abandon_next(struct kwq_queue *queue)
{
	struct kwq_item *item = kwq_core_first_processing(&queue->core);

	if (item)
		kwq_abandon_locked(queue, item, kwq_now_locked(queue));
	return item;
}

/**
 * kwq_drop_references() - drop the references of a queue that nobody uses any more (K5)
 * @queue: the queue; no call on it is running, so no item in processing will be finished
 *
 * Context: process; may sleep.
 */
void kwq_drop_references(struct kwq_queue *queue)
{
	take_out_all(queue);
	while (kwq_take_out_next(queue, abandon_next))
		cond_resched();
}

int kwq_cancel_all_sync(struct kwq_queue *queue)
{
	unsigned long flags;

	might_sleep();
	if (kwq_in_handler(queue))
		return -EDEADLK;
	kwq_might_wait_for_handlers(queue);
	take_out_all(queue);
	kwq_lock(queue, &flags);
	/* Q8: while it was paused, getters slept because items were ready. Those are gone. */
	wake_up_all(&queue->getters);
	wait_for_the_end(queue, NULL, &flags);
	kwq_unlock(queue, flags);
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_cancel_all_sync);

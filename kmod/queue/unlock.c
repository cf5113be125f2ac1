// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of each hold of the lock: wakes the waiters and starts the timer.
 *
 * Every operation that changes a queue has the same steps: take the lock, make one or more
 * transitions, and call kwq_unlock(). The unlock reads from the core whom to wake and when
 * the timer has to fire, so no operation can forget either. Some operations also wake waiters
 * themselves, for instance a shut down.
 *
 * Waiters are of three kinds. A getter is a task that sleeps in a get. A drainer is a task
 * that sleeps until the queue is drained, or until a flush, or the processing of a cancelled
 * or awaited item, ends.
 * A poller is an entry of poll(), select(), epoll, aio or io_uring.
 *
 * A hold of the lock lasts from a lock of the queue to its unlock. Each hold moves a bounded
 * number of items (O8). Waiters are woken as the kernel's own wait queues do it: all whom an event
 * concerns, in one hold.
 *
 * Lock order: queue->lock, then a wait list's lock or the timer's base.
 */
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include "queue.h"
#include "workers.h"

/**
 * kwq_wake_drainers_locked() - wake all drainers
 * @queue: the queue; @queue->lock held
 */
void kwq_wake_drainers_locked(struct kwq_queue *queue)
{
	struct kwq_drainer *drainer;
	struct hlist_node *next;

	lockdep_assert_held(&queue->lock);
	hlist_for_each_entry_safe(drainer, next, &queue->drainers, link) {
		/* It leaves its call only under the lock, so its task is still there. */
		hlist_del_init(&drainer->link);
		wake_up_process(drainer->task);
	}
}

/**
 * kwq_wake_all_locked() - wake all getters and drainers
 * @queue: the queue; @queue->lock held
 *
 * Does not wake pollers: see kwq_tell_pollers_locked().
 */
void kwq_wake_all_locked(struct kwq_queue *queue)
{
	lockdep_assert_held(&queue->lock);
	wake_up_all(&queue->getters);
	kwq_wake_drainers_locked(queue);
}

static void tell_pollers(struct kwq_queue *queue, __poll_t events, u32 nr_exclusive)
{
	if (kwq_has_pollers_locked(queue))
		__wake_up(&kwq_queue_bulk_of(queue)->pollers, TASK_NORMAL, nr_exclusive,
			  poll_to_key(events));
}

/**
 * kwq_tell_pollers_locked() - tell all pollers of an event other than a ready item
 * @queue: the queue; @queue->lock held
 * @events: EPOLL* bits; 0 to wake all, whatever they wait for
 */
void kwq_tell_pollers_locked(struct kwq_queue *queue, __poll_t events)
{
	lockdep_assert_held(&queue->lock);
	tell_pollers(queue, events, 0);
}

/*
 * Queues workers for @nr items that were made ready. At the end of a pause these may be too
 * many for one hold (O8). Then the rest counts as newly ready, so the next unlock queues more
 * workers. One follows for certain: each worker that was queued here takes the lock.
 */
static inline void queue_some_workers(struct kwq_queue *queue, u32 nr)
{
	kwq_queue_workers_locked(queue->workers, min_t(u32, nr, KWQ_ITEMS_PER_HOLD));
	if (unlikely(nr > KWQ_ITEMS_PER_HOLD) && !list_empty(&queue->workers->idle))
		queue->woken -= nr - KWQ_ITEMS_PER_HOLD;
}

/* Wakes waiters for @nr items that were made ready. */
static noinline void wake_for(struct kwq_queue *queue, u32 nr)
{
	/*
	 * Wake nobody for an item that was handed out in the same hold, as when a worker gets
	 * back what it requeued; nor for one whose group is at its limit, because the end of a
	 * run wakes for that (Q16); nor while paused, because the end of the pause does.
	 */
	if (unlikely(queue->core.unusual))
		nr = kwq_core_is_paused(&queue->core) ? 0 :
							min(nr, kwq_core_nr_offered(&queue->core));
	else
		nr = min(nr, queue->core.nr_ready);
	if (!nr)
		return;
	if (queue->workers)
		queue_some_workers(queue, nr);
	/* Needs no barrier: getters join the list under the lock. */
	if (waitqueue_active(&queue->getters))
		wake_up_nr(&queue->getters, min_t(u32, nr, INT_MAX));
	tell_pollers(queue, EPOLLIN | EPOLLRDNORM, min_t(u32, nr, INT_MAX));
}

static inline bool is_awaited(struct kwq_queue *queue)
{
	/* Needs no barrier: see wake_for(). */
	if (waitqueue_active(&queue->getters))
		return true;
	if (kwq_has_pollers_locked(queue))
		return true;
	return queue->workers;
}

static inline void wake_for_ready(struct kwq_queue *queue)
{
	u32 nr = queue->core.readied - queue->woken;

	if (!nr)
		return;
	queue->woken += nr;
	if (is_awaited(queue))
		wake_for(queue, nr);
}

/*
 * Handles all changes but new ready items. The shut down and the end of the drain each wake
 * all waiters once. A task that waits for the end of a cancelled or awaited item, or of a
 * flush, is on the list of drainers.
 */
static noinline void follow_changes(struct kwq_queue *queue)
{
	enum kwq_phase phase = kwq_core_phase(&queue->core);

	if (unlikely(queue->paused_until) && kwq_end_pause_if_over_locked(queue))
		wake_for_ready(queue);
	if (queue->core.ended) {
		queue->core.ended = false;
		kwq_wake_drainers_locked(queue);
	}
	if (queue->woken_phase != phase) {
		queue->woken_phase = phase;
		kwq_wake_all_locked(queue);
		kwq_tell_pollers_locked(queue, 0);
	}
	/* Any later hold may be the one that ends the drain or a timed pause. */
	queue->core.changed = phase != KWQ_RUNNING || queue->paused_until;
	kwq_arm_timer_locked(queue);
}

/**
 * kwq_unlock() - wake waiters, start the timer, and unlock
 * @queue: the queue; @queue->lock held
 * @flags: as spin_lock_irqsave() stored them
 *
 * Each item that was made ready wakes one getter, so no item stays ready while a getter
 * sleeps. Items whose group is at its limit count as made ready when the limit lets them go
 * (Q16). No wake-up is lost:
 *
 * A getter joins and leaves the list under the lock, and looks for a ready item in the same
 * hold. So either it sees the item, or it is on the list when the item is made ready. A
 * getter that leaves for another reason (signal, deadline) looks once more. Others may have
 * taken the item by then, and nothing is lost. A getter that cannot take the item passes its
 * wake-up on: see kwq_pass_on_locked().
 *
 * A poller joins its list without the lock, but before it looks, and it looks under the
 * lock:
 *
 *   poller				adder
 *   join the list			lock; item is ready
 *   lock; is an item ready? unlock	is a poller listed? unlock
 *
 * If the poller's hold comes first, the adder sees the poller's entry. If the adder's hold
 * comes first, the poller sees the item. An item wakes all pollers but the exclusive ones, and one
 * of these. That one may die before it uses its wake-up: see kwq_wake_again().
 *
 * All wake-ups happen under the lock, so the unlock is the last access to the queue. A task
 * that sees under the lock that the queue is drained may therefore destroy it.
 *
 * A handler's workers are not waiters. The unlock queues one idle worker for each item that
 * was made ready. If these are too many for one hold, the workers that it queued continue:
 * see queue_some_workers().
 *
 * A timed pause ends in the first unlock at which its time has come. It counts as a change
 * all the while, so every unlock looks. While an item is ready the timer is started for its end.
 */
void kwq_unlock(struct kwq_queue *queue, unsigned long flags)
	__releases(&queue->lock)
{
	if (unlikely(READ_ONCE(queue->posts)))
		kwq_take_posts_locked(queue);
	wake_for_ready(queue);
	if (unlikely(queue->core.changed))
		follow_changes(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
}

/**
 * kwq_unlock_got() - kwq_unlock() after a get, a remove or a cancel
 * @queue: the queue; @queue->lock held
 * @flags: as spin_lock_irqsave() stored them
 *
 * kwq_try_coalesce() may coalesce an add without the lock. The barrier here makes the adder's
 * earlier writes visible to the getter, or to the caller that removed the dirty item. Adds
 * of keys always take the lock. So operations on keys need no barrier.
 */
void kwq_unlock_got(struct kwq_queue *queue, unsigned long flags)
	__releases(&queue->lock)
{
	smp_mb(); /* pairs with smp_mb() in kwq_try_coalesce() */
	kwq_unlock(queue, flags);
}

/**
 * kwq_pass_on_locked() - let a woken getter pass its wake-up to another one
 * @queue: the queue; @queue->lock held
 *
 * The next unlock counts one more item as newly ready, and wakes a waiter for it.
 */
void kwq_pass_on_locked(struct kwq_queue *queue)
{
	lockdep_assert_held(&queue->lock);
	queue->woken--;
}

/**
 * kwq_wake_again_locked() - wake a waiter once more for every ready item that is offered
 * @queue: the queue; @queue->lock held
 *
 * For wake-ups that may have been lost with a poller. The queue does not know which ones, so
 * the next unlock counts all these items as newly ready. Pollers and getters that are awake
 * already are not disturbed.
 */
void kwq_wake_again_locked(struct kwq_queue *queue)
{
	lockdep_assert_held(&queue->lock);
	queue->woken = queue->core.readied - kwq_core_nr_offered(&queue->core);
}

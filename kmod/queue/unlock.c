// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of each hold of the lock: wakes the waiters, tells the pollers and arms the timer.
 *
 * Every operation that changes a queue has the same steps: take the lock, make one or more
 * transitions, and call kwq_unlock(). The unlock reads from the core whom to wake and when
 * the timer has to fire, so no operation can forget either. Some operations also name waiters
 * that the unlock has to wake, for instance a shut down. leave_to_timer() makes no
 * transition: it only arms the timer.
 *
 * Waiters are of three kinds. A getter is a task that sleeps in a get. A drainer is a task
 * that sleeps until the queue is drained, or until a flush, or the processing of a cancelled
 * or awaited item, ends.
 * A poller is an entry of poll(), select(), epoll or io_uring.
 *
 * A hold of the lock lasts from a lock of the queue to its unlock. Each hold does a bounded
 * amount of work (O8), so it may leave waiters that have to be woken. A paying caller wakes
 * them itself in further holds: see kwq_unlock_paying(). For other callers the timer does so.
 *
 * Lock order: queue->lock, then a wait list's lock or the timer's.
 */
#include <linux/bitops.h>
#include <linux/sched/signal.h>
#include "pollers.h"
#include "queue.h"
#include "timer.h"
#include "workers.h"

/* Time of the next due wait or lease, perhaps in the past. */
ktime_t kwq_next_time_locked(const struct kwq_queue *queue)
{
	ktime_t next = kwq_core_next_time(&queue->core);

	return kwq_is_small(queue) ? next : min(next, kwq_queue_bulk_of(queue)->lease_end);
}

/* Are there waiters still to be woken? Later holds wake them. */
bool kwq_owes_wake_ups_locked(const struct kwq_queue *queue)
{
	return queue->wake_getters || queue->wake_drainers || kwq_owes_pollers_locked(queue);
}

/*
 * For a queue with a manual clock the timer is armed only to wake waiters, in real time. An
 * advance of the clock expires due items.
 */
static void arm_manual_timer(struct kwq_queue *queue, ktime_t when, bool anew)
{
	ktime_t real = KTIME_MAX;

	if (kwq_owes_wake_ups_locked(queue))
		real = kwq_later(ktime_get(), max_t(s64, ktime_sub(when, queue->manual_now), 0));
	/* A timer that is armed for an earlier time stays as it is. */
	if (anew || real < queue->due)
		kwq_set_timer_locked(queue, real);
}

/*
 * When the timer has to end a timed pause; KTIME_MAX for never. An empty queue does not need
 * that, nor one that is paused by kwq_pause(), too, or whose term is over. During a timed pause
 * every unlock looks at the clock. So a pace does not wake an idle machine.
 */
static ktime_t end_of_pause(const struct kwq_queue *queue)
{
	if (likely(!queue->paused_until))
		return KTIME_MAX;
	if (!kwq_core_nr_offered(&queue->core) || (queue->core.paused & ~KWQ_TERM_RUNS) != 1)
		return KTIME_MAX;
	return queue->paused_until;
}

/*
 * Arms the timer for the queue's earliest time, unless it is armed for that already. The
 * timer's callback may run at the same time, and wait for @queue->lock.
 */
void kwq_arm_timer_locked(struct kwq_queue *queue)
{
	ktime_t when = min(kwq_next_time_locked(queue), queue->wake_at);
	ktime_t armed = queue->armed;

	when = min(when, end_of_pause(queue));
	/* Not before the last turn, so that other queues that were due then go first. */
	if (when != KTIME_MAX)
		when = max(when, queue->not_before);
	queue->armed = when;
	/* With a manual clock, @armed is only a record. Only a test's timer follows it. */
	if (unlikely(queue->clock == KWQ_CLOCK_MANUAL) &&
	    kwq_timer_of(queue)->clock != KWQ_CLOCK_MANUAL)
		arm_manual_timer(queue, when, armed == KWQ_ARMED_ANEW);
	else if (when != armed)
		kwq_set_timer_locked(queue, when);
}

/**
 * kwq_wake_all_locked() - wake all getters and drainers
 * @queue: the queue; @queue->lock held
 *
 * This unlock and the following ones wake them: see kwq_unlock(). Does not wake
 * pollers: see kwq_tell_pollers_locked().
 */
void kwq_wake_all_locked(struct kwq_queue *queue)
{
	lockdep_assert_held(&queue->lock);
	queue->wake_getters = queue->nr_getters;
	queue->wake_drainers = queue->nr_drainers;
	kwq_look_again_locked(queue);
}

/*
 * Wakes at most KWQ_WAKES_PER_HOLD of @nr waiters, and returns how many are left. A woken
 * waiter leaves the list, so the next call continues behind it.
 */
static u32 wake_some_of(wait_queue_head_t *waiters, u32 nr)
{
	u32 some = min_t(u32, nr, KWQ_WAKES_PER_HOLD);

	/* Needs no barrier: see wake_for(). */
	if (!nr || !waitqueue_active(waiters))
		return 0;
	__wake_up(waiters, TASK_NORMAL, some, NULL);
	return nr - some;
}

/* The same for drainers. They have a plain list, which takes less room than a wait queue. */
static u32 wake_some_drainers(struct kwq_queue *queue, u32 nr)
{
	u32 some = min_t(u32, nr, KWQ_WAKES_PER_HOLD);
	struct kwq_drainer *drainer;

	for (; some && !list_empty(&queue->drainers); some--, nr--) {
		drainer = list_first_entry(&queue->drainers, struct kwq_drainer, link);
		/* It leaves the list under the lock, so its task is still in its call. */
		list_del_init(&drainer->link);
		wake_up_process(drainer->task);
	}
	return list_empty(&queue->drainers) ? 0 : nr;
}

static void wake_some(struct kwq_queue *queue)
{
	queue->wake_getters = wake_some_of(&queue->getters, queue->wake_getters);
	queue->wake_drainers = wake_some_drainers(queue, queue->wake_drainers);
	kwq_tell_some_locked(queue);
}

/* Returns when the timer takes over from a paying caller that is late. */
static ktime_t when_not_paid(const struct kwq_queue *queue)
{
	ktime_t now = kwq_now_locked(queue);

	/* Do not restart the timer in each hold: it is due already, or late enough. */
	if (!queue->wake_at || (queue->wake_at != KTIME_MAX &&
				queue->wake_at >= kwq_later(now, KWQ_PAYS_WITHIN_NS / 2)))
		return queue->wake_at;
	return kwq_later(now, KWQ_PAYS_WITHIN_NS);
}

/*
 * Sets when the timer wakes the waiters that a hold left. A paying caller wakes them itself,
 * and the timer steps in only if that caller is late. A caller that does not pay leaves
 * @fresh wake-ups to the timer, which wakes the waiters at once. Without fresh wake-ups,
 * @wake_at stays as an earlier hold set it. If none did, the timer wakes them at once, too.
 */
static void leave_waiters(struct kwq_queue *queue, bool pays, bool fresh)
{
	if (!kwq_owes_wake_ups_locked(queue))
		queue->wake_at = KTIME_MAX;
	else if (pays)
		queue->wake_at = when_not_paid(queue);
	else if (fresh || queue->wake_at == KTIME_MAX)
		queue->wake_at = 0;
}

/*
 * O8: a hold that made many items ready has done enough work. A paying caller wakes the
 * waiters in its next hold. Other callers may have no next hold, so they wake some in this one.
 */
static bool has_done_enough(u32 nr, bool pays)
{
	return pays && nr > KWQ_WAKES_PER_HOLD;
}

/* The ends for which drainers wait, other than that of the drain. */
static u32 nr_ends(const struct kwq_core *core)
{
	return core->cancelled_runs + core->awaited_runs + core->flushes;
}

/* Limits the wake-ups for a backlog, which may be far larger than the number of waiters. */
static u32 no_more_than(u32 wake_ups, u32 waiters)
{
	return min(wake_ups, max_t(u32, waiters, KWQ_WAKES_PER_HOLD));
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

/* Wakes waiters for @nr items that were made ready. Returns true if waiters are left. */
static noinline bool wake_for(struct kwq_queue *queue, u32 nr, bool pays)
{
	struct kwq_queue_bulk *bulk;
	bool is_waited_for = false;

	/*
	 * No wake-up for items that were handed out in the same hold, as when a worker gets
	 * back the item that it requeued. None for items whose group is at its limit, either:
	 * the end of a run wakes (Q16). For a paused queue, the end of the pause wakes.
	 */
	if (unlikely(queue->core.unusual))
		nr = kwq_core_is_paused(&queue->core) ? 0 :
							min(nr, kwq_core_nr_offered(&queue->core));
	else
		nr = min(nr, queue->core.nr_ready);
	if (!nr)
		return false;
	if (queue->workers)
		queue_some_workers(queue, nr);
	/* Needs no barrier: getters join the list under the lock. */
	if (waitqueue_active(&queue->getters)) {
		is_waited_for = true;
		queue->wake_getters = min_t(u64, (u64)queue->wake_getters + nr, U32_MAX);
		if (queue->wake_getters > KWQ_WAKES_PER_HOLD)
			queue->wake_getters = no_more_than(queue->wake_getters,
							   queue->nr_getters);
	}
	if (kwq_has_pollers_locked(queue)) {
		is_waited_for = true;
		bulk = kwq_queue_bulk_of(queue);
		bulk->wake_pollers = min_t(u64, (u64)bulk->wake_pollers + nr, U32_MAX);
		bulk->round.to_tell |= KWQ_TELL_READY;
	}
	/* After a change, follow_changes() wakes them. */
	if (!is_waited_for || queue->core.changed)
		return false;
	if (!has_done_enough(nr, pays))
		wake_some(queue);
	if (likely(!kwq_owes_wake_ups_locked(queue) && queue->wake_at == KTIME_MAX))
		return false;
	leave_waiters(queue, pays, true);
	kwq_arm_timer_locked(queue);
	return kwq_owes_wake_ups_locked(queue);
}

/* After a timed pause. Returns the number of ready items. */
static noinline u32 wake_for_all_ready(struct kwq_queue *queue, bool pays)
{
	u32 nr = queue->core.readied - queue->woken;

	queue->woken += nr;
	wake_for(queue, nr, pays);
	return nr;
}

/*
 * Handles all changes but new ready items. The shut down and the end of the drain each wake
 * all waiters once. A task that waits for the end of a cancelled or awaited item, or of a
 * flush, is on the list of drainers. Returns true if waiters are left.
 */
static noinline bool follow_changes(struct kwq_queue *queue, bool pays, u32 nr)
{
	enum kwq_phase phase = kwq_core_phase(&queue->core);

	if (unlikely(queue->paused_until) && kwq_end_pause_if_over_locked(queue))
		nr += wake_for_all_ready(queue, pays);
	if (queue->woken_ends != nr_ends(&queue->core)) {
		queue->woken_ends = nr_ends(&queue->core);
		queue->wake_drainers = queue->nr_drainers;
	}
	if (queue->woken_phase != phase) {
		queue->woken_phase = phase;
		kwq_wake_all_locked(queue);
		kwq_tell_pollers_locked(queue, KWQ_TELL_END);
	}
	/* Any later hold may be the one that ends the drain or a timed pause. */
	queue->core.changed = phase != KWQ_RUNNING || queue->paused_until;
	if (!has_done_enough(nr, pays))
		wake_some(queue);
	leave_waiters(queue, pays, nr > 0);
	kwq_arm_timer_locked(queue);
	return kwq_owes_wake_ups_locked(queue);
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

/* Body of kwq_unlock(). Returns true if waiters are left. */
static __always_inline bool unlock(struct kwq_queue *queue, unsigned long flags, bool pays)
	__releases(&queue->lock)
{
	u32 nr = queue->core.readied - queue->woken;
	bool left = false;

	if (nr) {
		queue->woken += nr;
		if (is_awaited(queue))
			left = wake_for(queue, nr, pays);
	}
	if (unlikely(queue->core.changed))
		left = follow_changes(queue, pays, nr);
	spin_unlock_irqrestore(&queue->lock, flags);
	return left;
}

/**
 * kwq_unlock() - wake waiters, arm the timer, and unlock
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
 * comes first, the poller sees the item.
 *
 * A hold wakes a bounded number of waiters, and the queue counts the rest. After
 * kwq_unlock_paying() the caller wakes the rest by kwq_wake_rest(). After kwq_unlock() the
 * timer does so, or another caller that pays. Tasks that were woken have no part in that.
 *
 * Getters and drainers join at the tail of their list, so the count stands for the first
 * ones of the list. Waiters may leave by themselves. Then the count is too high, and a
 * later waiter is woken in vain. Pollers stay in their list when they are woken: see
 * "pollers.c".
 *
 * All wake-ups happen under the lock, so the unlock is the last access to the queue. A task
 * that sees under the lock that the queue is drained may therefore destroy it.
 *
 * A handler's workers are not waiters. The unlock queues one idle worker for each item that
 * was made ready. If these are too many for one hold, the workers that it queued continue:
 * see queue_some_workers().
 *
 * A timed pause ends in the first unlock at which its time has come. It counts as a change
 * all the while, so every unlock looks. While an item is ready the timer is armed, and its
 * turn ends in such an unlock.
 */
void kwq_unlock(struct kwq_queue *queue, unsigned long flags)
	__releases(&queue->lock)
{
	unlock(queue, flags, false);
}

/**
 * kwq_unlock_paying() - kwq_unlock() by a caller that wakes the remaining waiters itself
 * @queue: the queue; @queue->lock held
 * @flags: as spin_lock_irqsave() stored them
 *
 * All timers of a processor share one pace. So wake-ups that are left to a queue's timer may
 * have to wait for other timers with much work. If the caller wakes the rest itself, no other
 * queue's backlog delays the wake-ups.
 *
 * Return: true if the caller must call kwq_wake_rest().
 */
bool kwq_unlock_paying(struct kwq_queue *queue, unsigned long flags)
	__releases(&queue->lock)
{
	return unlock(queue, flags, true);
}

/* A paying caller's debt: the waiters and rounds that were left when it began, no later ones. */
struct bill {
	u32 waiters;
	u32 rounds;
};

static struct bill read_bill(struct kwq_queue *queue)
{
	const struct kwq_round *round;
	struct bill bill = {};
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	bill.waiters = max(queue->wake_getters, queue->wake_drainers);
	if (!kwq_is_small(queue)) {
		round = &kwq_queue_bulk_of(queue)->round;
		bill.rounds = round->nr_ended + !!round->telling + hweight8(round->to_tell);
	}
	spin_unlock_irqrestore(&queue->lock, flags);
	return bill;
}

/* Returns true if the caller has to continue. */
static bool pay_some(struct kwq_queue *queue, struct bill *bill)
{
	unsigned long flags;
	s32 rounds = 0;

	spin_lock_irqsave(&queue->lock, flags);
	if (!kwq_is_small(queue))
		rounds = bill->rounds - kwq_queue_bulk_of(queue)->round.nr_ended;
	kwq_look_again_locked(queue);
	if (!unlock(queue, flags, true))
		return false;
	bill->waiters -= min_t(u32, bill->waiters, KWQ_WAKES_PER_HOLD);
	return bill->waiters || rounds > 0;
}

static void leave_to_timer(struct kwq_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	if (kwq_owes_wake_ups_locked(queue)) {
		queue->wake_at = 0;
		kwq_arm_timer_locked(queue);
	}
	spin_unlock_irqrestore(&queue->lock, flags);
}

/**
 * kwq_wake_rest() - wake the waiters that kwq_unlock_paying() left
 * @queue: the queue
 *
 * Others may add all the while, so the caller wakes only as many waiters as were left when
 * it began. Callers that cause more wake-ups pay for those, or leave them to the timer. A
 * killed caller leaves its rest to the timer.
 *
 * Context: process; may sleep.
 */
noinline void kwq_wake_rest(struct kwq_queue *queue)
{
	struct bill bill = read_bill(queue);

	do {
		cond_resched();
		if (fatal_signal_pending(current)) {
			leave_to_timer(queue);
			return;
		}
	} while (pay_some(queue, &bill));
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

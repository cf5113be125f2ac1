// SPDX-License-Identifier: GPL-2.0-only
/*
 * A queue's turn on its timer: makes due items ready, takes back items whose lease has ended,
 * and wakes waiters that earlier holds left. An advance of a manual clock does the same.
 */
#include <linux/export.h>
#include "queue.h"
#include "trace.h"

static inline void trace_due(struct kwq_queue *queue, struct kwq_item *item, ktime_t now)
{
	ktime_t due = kwq_core_due(&queue->core, item);

	trace_kwq_ready(queue, item, due, ktime_sub(now, due));
}

/* Expires due waits in at most KWQ_ITEMS_PER_HOLD steps (D6). Returns true if there may be more. */
static bool expire_waits(struct kwq_queue *queue, ktime_t now)
{
	unsigned int budget = KWQ_ITEMS_PER_HOLD;
	u32 readied = queue->core.readied;
	const struct kwq_key_ops *ops;
	struct kwq_item *item;

	ops = kwq_is_small(queue) ? NULL : kwq_queue_bulk_of(queue)->key_ops;
	while ((item = kwq_core_expire(&queue->core, now, &budget))) {
		if (queue->core.readied != readied)
			trace_due(queue, item, now);
		readied = queue->core.readied;
		if (ops && ops->waited)
			ops->waited(queue, item);
	}
	return !budget;
}

/* Expires a bounded number of waits and of leases (O3). Returns true if there may be more. */
static bool expire_locked(struct kwq_queue *queue, ktime_t now)
{
	bool more = expire_waits(queue, now);
	struct kwq_queue_bulk *bulk;

	if (kwq_is_small(queue))
		return more;
	bulk = kwq_queue_bulk_of(queue);
	/* A manual clock can reach KTIME_MAX, which also stands for never. */
	if (bulk->key_ops && bulk->lease_end <= now)
		more |= bulk->key_ops->end_leases(queue, now);
	return more;
}

/**
 * kwq_expire_due_locked() - make due items ready for a getter whose deadline has passed
 * @queue: the queue; @queue->lock held
 *
 * An item that is due at the deadline is got (Q5), even if the timer or the advance of a
 * manual clock has not come to it yet.
 *
 * Return: true if items were due; the caller unlocks, and looks again.
 */
bool kwq_expire_due_locked(struct kwq_queue *queue)
{
	ktime_t now = kwq_now_locked(queue);

	lockdep_assert_held(&queue->lock);
	/* A manual clock can reach KTIME_MAX, which also stands for never. */
	if (queue->core.shut_down || !kwq_core_has_waiting(&queue->core) ||
	    kwq_core_next_time(&queue->core) > now)
		return false;
	expire_waits(queue, now);
	return true;
}

/*
 * Must this turn wake waiters that an earlier hold left? With a manual clock it must, because
 * arm_manual_timer() sets the timer only for that.
 */
static bool has_to_wake(const struct kwq_queue *queue, ktime_t now)
{
	return kwq_owes_wake_ups_locked(queue) &&
	       (queue->wake_at <= now || queue->clock == KWQ_CLOCK_MANUAL);
}

/*
 * Expires some due items. The unlock after it wakes some waiters. Returns true if there may
 * be more of either.
 */
static __flatten bool work_some(struct kwq_queue *queue, ktime_t now)
{
	bool more = false;

	if (kwq_next_time_locked(queue) <= now)
		more = expire_locked(queue, now) && kwq_next_time_locked(queue) <= now;
	if (!has_to_wake(queue, now))
		return more;
	kwq_look_again_locked(queue);
	return true;
}

/**
 * kwq_take_turn() - do due work in one hold of the lock
 * @queue: the queue; its timer works on it
 * @now: current time on the timer's clock
 *
 * Return: true if there may be more.
 */
bool kwq_take_turn(struct kwq_queue *queue, ktime_t now)
{
	unsigned long flags;
	bool more;

	spin_lock_irqsave(&queue->lock, flags);
	if (queue->clock == KWQ_CLOCK_MANUAL)
		now = queue->manual_now;
	more = work_some(queue, now);
	/* The unlock arms the timer in any case, behind the queues that are due now. */
	queue->armed = KWQ_ARMED_ANEW;
	queue->not_before = now;
	kwq_look_again_locked(queue);
	kwq_unlock(queue, flags);
	return more;
}

/* Wakes all getters and drainers, so that they check their deadlines. */
static void set_manual_clock(struct kwq_queue *queue, ktime_t now)
{
	if (now == queue->manual_now)
		return;
	queue->manual_now = now;
	kwq_wake_all_locked(queue);
}

/**
 * kwq_advance_some() - advance a manual clock, and expire a bounded number of items
 * @queue: a queue on KWQ_CLOCK_MANUAL
 * @now: the new time; ignored if it is in the past
 *
 * Due items become ready, and waiters check their deadlines.
 *
 * Return: true if there may be more due items, or more waiters to wake.
 */
bool kwq_advance_some(struct kwq_queue *queue, ktime_t now)
{
	unsigned long flags;
	bool more;

	spin_lock_irqsave(&queue->lock, flags);
	set_manual_clock(queue, max(queue->manual_now, now));
	more = expire_locked(queue, queue->manual_now);
	if (kwq_owes_wake_ups_locked(queue)) {
		kwq_look_again_locked(queue);
		more = true;
	}
	kwq_unlock(queue, flags);
	return more;
}

/**
 * kwq_begin_advance_by() - advance a manual clock by some time, without expiring items
 * @queue: a queue on KWQ_CLOCK_MANUAL
 * @ns: by how much; saturates at KTIME_MAX
 *
 * Return: the new time, for kwq_advance_some().
 */
ktime_t kwq_begin_advance_by(struct kwq_queue *queue, u64 ns)
{
	unsigned long flags;
	ktime_t now;

	spin_lock_irqsave(&queue->lock, flags);
	now = kwq_later(queue->manual_now, ns);
	set_manual_clock(queue, now);
	kwq_unlock(queue, flags);
	return now;
}

void kwq_queue_advance(struct kwq_queue *queue, ktime_t now)
{
	while (kwq_advance_some(queue, now))
		cpu_relax();
}
EXPORT_SYMBOL_GPL(kwq_queue_advance);

void kwq_queue_advance_by(struct kwq_queue *queue, u64 ns)
{
	kwq_queue_advance(queue, kwq_begin_advance_by(queue, ns));
}
EXPORT_SYMBOL_GPL(kwq_queue_advance_by);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes items ready whose time has come, and takes back items whose lease has ended.
 * "timer.c" says when; an advance of a manual clock does it, too.
 */
#include <linux/export.h>
#include "queue.h"
#include "trace.h"

static inline void trace_due(struct kwq_queue *queue, struct kwq_item *item, ktime_t now)
{
	ktime_t due = kwq_core_due(&queue->core, item);

	trace_kwq_ready(queue, item, due, ktime_sub(now, due));
}

/* Expires due waits in at most @budget steps (D6). */
static void expire_waits(struct kwq_queue *queue, ktime_t now, unsigned int budget)
{
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
}

/*
 * KTIME_MAX means that nothing waits, but a manual clock can reach it, so has_waiting is asked as
 * well.
 */
static bool has_due(const struct kwq_core *core, ktime_t now)
{
	return !core->shut_down && kwq_core_has_waiting(core) && kwq_core_next_time(core) <= now;
}

/**
 * kwq_expire_some_locked() - expire a bounded number of waits and of leases (O3)
 * @queue: the queue; @queue->lock held
 * @now: current time
 * @in_timer: in the timer's callback, which takes fewer steps, and leaves leases to the work item
 *
 * Return: true if more are due.
 */
bool kwq_expire_some_locked(struct kwq_queue *queue, ktime_t now, bool in_timer)
{
	struct kwq_queue_bulk *bulk;
	bool more;

	lockdep_assert_held(&queue->lock);
	expire_waits(queue, now, in_timer ? KWQ_READY_PER_TIMER : KWQ_READY_PER_HOLD);
	more = has_due(&queue->core, now);
	if (kwq_is_small(queue))
		return more;
	bulk = kwq_queue_bulk_of(queue);
	if (!bulk->key_ops || bulk->lease_end > now)
		return more;
	return in_timer || bulk->key_ops->end_leases(queue, now) || more;
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
	if (!has_due(&queue->core, now))
		return false;
	expire_waits(queue, now, KWQ_READY_PER_HOLD);
	return true;
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
 * @queue: a queue on KWQ_CLOCK_MANUAL; nothing happens to any other
 * @now: the new time; ignored if it is in the past
 *
 * Due items become ready, and waiters check their deadlines.
 *
 * Return: true if more are due.
 */
bool kwq_advance_some(struct kwq_queue *queue, ktime_t now)
{
	unsigned long flags;
	bool more;

	if (queue->clock != KWQ_CLOCK_MANUAL)
		return false;
	kwq_lock(queue, &flags);
	set_manual_clock(queue, max(queue->manual_now, now));
	more = kwq_expire_some_locked(queue, queue->manual_now, false);
	kwq_unlock(queue, flags);
	return more;
}

/**
 * kwq_begin_advance_by() - advance a manual clock by some time, without expiring items
 * @queue: a queue on KWQ_CLOCK_MANUAL; nothing happens to any other
 * @ns: by how much; saturates at KTIME_MAX
 *
 * Return: the new time, for kwq_advance_some().
 */
ktime_t kwq_begin_advance_by(struct kwq_queue *queue, u64 ns)
{
	unsigned long flags;
	ktime_t now;

	if (queue->clock != KWQ_CLOCK_MANUAL)
		return 0;
	kwq_lock(queue, &flags);
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

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The clock of a queue: reading it, and sleeping until a time on it.
 */
#include <linux/hrtimer.h>
#include <linux/sched.h>
#include "queue.h"

/**
 * kwq_timer_clockid() - the kernel's clock for a queue's timer and sleeps
 * @queue: the queue
 *
 * Return: CLOCK_MONOTONIC or CLOCK_BOOTTIME. A queue with a manual clock uses
 * CLOCK_MONOTONIC.
 */
clockid_t kwq_timer_clockid(const struct kwq_queue *queue)
{
	return queue->clock == KWQ_CLOCK_BOOTTIME ? CLOCK_BOOTTIME :
						    CLOCK_MONOTONIC;
}

/**
 * kwq_now_locked() - the time on the queue's clock
 * @queue: the queue; @queue->lock held
 *
 * Return: the time, in ns.
 */
ktime_t kwq_now_locked(const struct kwq_queue *queue)
{
	if (likely(queue->clock == KWQ_CLOCK_MONOTONIC))
		return ktime_get();
	if (queue->clock == KWQ_CLOCK_BOOTTIME)
		return ktime_get_boottime();
	lockdep_assert_held(&queue->lock);
	return queue->manual_now;
}

/**
 * kwq_stamp_locked() - the time for an add without options, a hand-out or a done
 * @queue: the queue; @queue->lock held
 *
 * These note their time only to measure durations. A caller that compares it with another time
 * takes kwq_now_locked().
 *
 * Return: the time, in ns; KWQ_NO_TIME if the queue measures no durations.
 */
ktime_t kwq_stamp_locked(const struct kwq_queue *queue)
{
	if (likely(queue->stamps == KWQ_CLOCK_MONOTONIC))
		return ktime_get();
	return queue->stamps == KWQ_CLOCK_NONE ? KWQ_NO_TIME : kwq_now_locked(queue);
}

int kwq_queue_measure_no_durations(struct kwq_queue *queue)
{
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&queue->lock, flags);
	if (kwq_core_is_used(&queue->core))
		err = -EBUSY;
	else if (kwq_core_limits(&queue->core)->forget_after || kwq_core_ages(&queue->core))
		err = -EINVAL;
	else
		queue->stamps = KWQ_CLOCK_NONE;
	spin_unlock_irqrestore(&queue->lock, flags);
	return err;
}
EXPORT_SYMBOL_GPL(kwq_queue_measure_no_durations);

ktime_t kwq_queue_now(struct kwq_queue *queue)
{
	unsigned long flags;
	ktime_t now;

	spin_lock_irqsave(&queue->lock, flags);
	now = kwq_now_locked(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
	return now;
}
EXPORT_SYMBOL_GPL(kwq_queue_now);

/*
 * Sleeps until @deadline. No timer can wake a sleeper at a time of a manual clock: an advance
 * of that clock wakes all getters and drainers.
 */
void kwq_sleep_until(const struct kwq_queue *queue, ktime_t deadline)
{
	if (queue->clock == KWQ_CLOCK_MANUAL)
		schedule();
	else
		schedule_hrtimeout_range_clock(deadline == KTIME_MAX ? NULL :
					       &deadline, 0, HRTIMER_MODE_ABS,
					       kwq_timer_clockid(queue));
}

bool kwq_is_past_locked(const struct kwq_queue *queue, ktime_t deadline)
{
	return deadline != KTIME_MAX && kwq_now_locked(queue) >= deadline;
}

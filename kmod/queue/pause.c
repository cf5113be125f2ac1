// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pausing a queue: it hands nothing out until it is resumed, or for some time (Q14).
 *
 * To the core, a timed pause is one more pause. The first unlock at which its time has come
 * ends it: see kwq_unlock(). If an item is ready, that is at the latest the unlock of a turn
 * of the timer.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/kwq.h>
#include "queue.h"
#include "trace.h"
#include "workers.h"

void kwq_pause(struct kwq_queue *queue)
{
	unsigned long flags;

	kwq_lock(queue, &flags);
	kwq_core_pause(&queue->core);
	trace_kwq_pause(queue, KTIME_MAX);
	kwq_unlock(queue, flags);
}
EXPORT_SYMBOL_GPL(kwq_pause);

int kwq_pause_sync(struct kwq_queue *queue)
{
	struct kwq_item *item;
	unsigned long flags;
	ktime_t paused_at;

	might_sleep();
	if (kwq_in_handler(queue))
		return -EDEADLK;
	kwq_might_wait_for_handlers(queue);
	kwq_lock(queue, &flags);
	kwq_core_pause(&queue->core);
	trace_kwq_pause(queue, KTIME_MAX);
	paused_at = kwq_now_locked(queue);
	/* The item may be freed as soon as it is done, so look for the first one each time. */
	while ((item = kwq_core_first_processing(&queue->core)) && item->since <= paused_at) {
		item->marks |= KWQ_MARK_AWAITED;
		kwq_wait_for_an_end_locked(queue, &flags);
	}
	kwq_unlock(queue, flags);
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_pause_sync);

int kwq_resume(struct kwq_queue *queue)
{
	unsigned long flags;

	kwq_lock(queue, &flags);
	/* The timed pause is one of them. */
	if (kwq_core_pauses(&queue->core) <= !!queue->paused_until) {
		kwq_unlock(queue, flags);
		return -EINVAL;
	}
	trace_kwq_pause(queue, 0);
	if (kwq_core_resume(&queue->core))
		kwq_wake_again_locked(queue);
	kwq_unlock(queue, flags);
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_resume);

/**
 * kwq_end_timed_pause_locked() - end the timed pause
 * @queue: the queue; its timed pause is running; @queue->lock held
 *
 * The next unlock wakes for all ready items, unless kwq_pause() holds as well.
 */
void kwq_end_timed_pause_locked(struct kwq_queue *queue)
{
	lockdep_assert_held(&queue->lock);
	queue->paused_until = 0;
	trace_kwq_pause(queue, 0);
	if (kwq_core_resume(&queue->core))
		kwq_wake_again_locked(queue);
}

/**
 * kwq_end_pause_if_over_locked() - end the timed pause if its time has come
 * @queue: the queue; its timed pause is running; @queue->lock held
 *
 * Return: true if it has.
 */
bool kwq_end_pause_if_over_locked(struct kwq_queue *queue)
{
	/* Also at the end of time, where a manual clock may be. */
	if (queue->paused_until == KTIME_MAX || kwq_now_locked(queue) < queue->paused_until)
		return false;
	kwq_end_timed_pause_locked(queue);
	return true;
}

/**
 * kwq_pause_left_locked() - how long is a queue still paused by a timed pause
 * @queue: the queue; @queue->lock held
 * @now: current time
 *
 * Return: ns; U64_MAX without an end; 0 if no timed pause is running.
 */
u64 kwq_pause_left_locked(const struct kwq_queue *queue, ktime_t now)
{
	lockdep_assert_held(&queue->lock);
	if (queue->paused_until == KTIME_MAX)
		return U64_MAX;
	/* One whose time has come ends in the next unlock. */
	return max(queue->paused_until, now) - now;
}

void kwq_pause_for(struct kwq_queue *queue, u64 ns)
{
	unsigned long flags;
	ktime_t from;

	if (!ns)
		return;
	kwq_lock(queue, &flags);
	if (!queue->paused_until)
		kwq_core_pause(&queue->core);
	from = max(kwq_now_locked(queue), queue->paused_until);
	queue->paused_until = kwq_later(from, ns);
	trace_kwq_pause(queue, queue->paused_until);
	kwq_look_again_locked(queue);
	kwq_unlock(queue, flags);
}
EXPORT_SYMBOL_GPL(kwq_pause_for);

void kwq_pause_until(struct kwq_queue *queue, ktime_t until)
{
	unsigned long flags;

	kwq_lock(queue, &flags);
	if (until == KTIME_MAX || until > kwq_now_locked(queue)) {
		if (!queue->paused_until)
			kwq_core_pause(&queue->core);
		queue->paused_until = until;
		trace_kwq_pause(queue, until);
		kwq_look_again_locked(queue);
	} else if (queue->paused_until) {
		kwq_end_timed_pause_locked(queue);
	}
	kwq_unlock(queue, flags);
}
EXPORT_SYMBOL_GPL(kwq_pause_until);

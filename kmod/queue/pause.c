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

/**
 * kwq_pause() - hand out nothing until kwq_resume() (Q14)
 * @queue: the queue
 *
 * Adds and dones go on, and delays end. kwq_get() waits, kwq_try_get() returns -EAGAIN, and
 * no handler is called. kwq_try_get_item() and kwq_run_sync() name an item, and take it in
 * spite of the pause. Items that are being processed are not affected.
 *
 * Pauses nest: each needs a kwq_resume(). A queue with 16,383 pauses at once, a timed one
 * included, stays paused for good. A shut down does not end them, so a drain waits for
 * the resume, and so does kwq_get() while items are ready. A cancel and
 * kwq_queue_destroy() of a queue with a handler do not wait for it.
 */
void kwq_pause(struct kwq_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	kwq_core_pause(&queue->core);
	trace_kwq_pause(queue, KTIME_MAX);
	kwq_unlock(queue, flags);
}
EXPORT_SYMBOL_GPL(kwq_pause);

/**
 * kwq_pause_sync() - kwq_pause(), and wait until nothing is processing (Q14)
 * @queue: the queue
 *
 * When it returns, no handler runs, and no item is handed out until kwq_resume(). Adds are
 * kept meanwhile, so a driver may suspend or reset its device. A queue that is shut down is
 * paused like any other.
 *
 * The pause comes first, so at most what is processing then has to end. Items that callers of
 * kwq_get() hold are among that, until their kwq_done(). kwq_run_sync() and kwq_try_get_item()
 * take items in spite of the pause. If such a call of another task comes after the pause, this
 * function does not wait for its item. So it always ends, but the driver has to keep such
 * callers away from its device itself. If the queue owns references, the put of an item may
 * follow a little later (K5).
 *
 * Context: process; sleeps, and signals do not end that. The caller must not hold a lock that
 * is taken to process items. It must not hold an item of this queue itself.
 * Return: 0; -EDEADLK in any handler of this queue, with nothing changed.
 */
int kwq_pause_sync(struct kwq_queue *queue)
{
	struct kwq_item *item;
	unsigned long flags;
	ktime_t paused_at;

	might_sleep();
	if (kwq_in_handler(queue))
		return -EDEADLK;
	kwq_might_wait_for_handlers(queue);
	spin_lock_irqsave(&queue->lock, flags);
	kwq_core_pause(&queue->core);
	trace_kwq_pause(queue, KTIME_MAX);
	paused_at = kwq_now_locked(queue);
	/* The item may be freed as soon as it is done, so look for the first one each time. */
	while ((item = kwq_core_first_processing(&queue->core)) && item->since <= paused_at) {
		item->marks |= KWQ_MARK_AWAITED;
		kwq_wait_for_an_end_locked(queue, &flags);
	}
	kwq_unlock_and_wake(queue, flags);
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_pause_sync);

/**
 * kwq_resume() - undo one kwq_pause() or kwq_pause_sync() (Q14)
 * @queue: the queue
 *
 * The last resume wakes as many waiters as items are ready, and calls the handler for them. If
 * a timed pause is running, its end does so.
 *
 * Return: 0; -EINVAL if the queue is not paused by such a call, with nothing changed.
 */
int kwq_resume(struct kwq_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	if (kwq_core_pauses(&queue->core) == !!queue->paused_until) {
		spin_unlock_irqrestore(&queue->lock, flags);
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

/**
 * kwq_pause_for() - hand out nothing for some time, to keep a pace (Q14)
 * @queue: the queue
 * @ns: for how long, from now; if a timed pause is running, from its end. It saturates at the
 *	end of the clock's range (D7)
 *
 * The pause is as that of kwq_pause(), but ends by itself, and never early (D5). Then the queue
 * wakes as many waiters as items are ready, and calls the handler for them.
 *
 * The pauses of several calls add up, also if several handlers call it at once. So a handler
 * calls it with what its work costs at the wanted rate: with NSEC_PER_SEC / 16 for 64 KiB at
 * 1 MiB/s, or with NSEC_PER_SEC / 100 for at most 100 calls a second. At the begin of a handler
 * the pause covers the handler's own time, and at its end it comes after that. Handlers that run
 * already are not stopped.
 *
 * Timed pauses and those of kwq_pause() do not know of each other. The queue hands items out
 * while neither holds. A shut down does not end a timed pause. A drain and a flush wait for it,
 * but a cancel and kwq_queue_destroy() do not.
 */
void kwq_pause_for(struct kwq_queue *queue, u64 ns)
{
	unsigned long flags;
	ktime_t from;

	if (!ns)
		return;
	spin_lock_irqsave(&queue->lock, flags);
	if (!queue->paused_until)
		kwq_core_pause(&queue->core);
	from = max(kwq_now_locked(queue), queue->paused_until);
	queue->paused_until = kwq_later(from, ns);
	trace_kwq_pause(queue, queue->paused_until);
	kwq_look_again_locked(queue);
	kwq_unlock(queue, flags);
}
EXPORT_SYMBOL_GPL(kwq_pause_for);

/**
 * kwq_pause_until() - hand out nothing until a time (Q14)
 * @queue: the queue
 * @until: on the queue's clock: see kwq_queue_now(); KTIME_MAX for no end
 *
 * As kwq_pause_for(), but pauses do not add up: this one takes the place of a timed pause that
 * is running. If the time has come already, it only ends that pause. Without an end, the pause
 * lasts until kwq_end_timed_pause().
 */
void kwq_pause_until(struct kwq_queue *queue, ktime_t until)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
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

/**
 * kwq_end_timed_pause() - end a pause of kwq_pause_for() or kwq_pause_until() now
 * @queue: the queue
 *
 * For example because its limits changed, or to handle all ready items at once. Without a timed
 * pause it does nothing.
 */
void kwq_end_timed_pause(struct kwq_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	if (queue->paused_until)
		kwq_end_timed_pause_locked(queue);
	kwq_unlock(queue, flags);
}
EXPORT_SYMBOL_GPL(kwq_end_timed_pause);

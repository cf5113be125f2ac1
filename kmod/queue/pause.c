// SPDX-License-Identifier: GPL-2.0-only
/* Pausing a queue: it hands nothing out until it is resumed (Q14). */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kwq.h>
#include "queue.h"
#include "workers.h"

/**
 * kwq_pause() - hand out nothing until kwq_resume() (Q14)
 * @queue: the queue
 *
 * Adds and dones go on, and delays end. kwq_get() waits, kwq_try_get() returns -EAGAIN, and
 * no handler is called. kwq_try_get_item() and kwq_run_sync() name an item, and take it in
 * spite of the pause. Items that are being processed are not affected.
 *
 * Pauses nest: each needs a kwq_resume(). A shut down does not end them, so a drain waits for
 * the resume, and so does kwq_get() while items are ready. A cancel and
 * kwq_queue_destroy() of a queue with a handler do not wait for it.
 */
void kwq_pause(struct kwq_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	kwq_core_pause(&queue->core);
	kwq_unlock(queue, flags);
}
EXPORT_SYMBOL_GPL(kwq_pause);

/* The unlock after the resume queues a bounded number of workers. There may be more. */
static void queue_more_workers(struct kwq_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	if (queue->workers)
		kwq_queue_for_ready(queue, flags);
	else
		spin_unlock_irqrestore(&queue->lock, flags);
}

/**
 * kwq_resume() - undo one kwq_pause() (Q14)
 * @queue: the queue
 *
 * The last resume wakes as many waiters as items are ready, and calls the handler for them.
 *
 * Return: 0; -EINVAL if the queue is not paused, with nothing changed.
 */
int kwq_resume(struct kwq_queue *queue)
{
	unsigned long flags;
	bool last;

	spin_lock_irqsave(&queue->lock, flags);
	if (!queue->core.paused) {
		spin_unlock_irqrestore(&queue->lock, flags);
		return -EINVAL;
	}
	last = kwq_core_resume(&queue->core);
	if (last)
		kwq_wake_again_locked(queue);
	kwq_unlock(queue, flags);
	if (last)
		queue_more_workers(queue);
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_resume);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shutting a queue down, with and without a drain.
 */
#include <linux/export.h>
#include <linux/sched/signal.h>
#include "queue.h"
#include "refs.h"
#include "trace.h"
#include "workers.h"

/**
 * kwq_begin_shut_down() - refuse adds and wake everyone (Q8, Q9)
 * @queue: the queue
 * @drain: whether the waits of drains go on; else they end
 *
 * The caller has to drop the waiting times and the dead items afterwards.
 *
 * Return: the number of shut downs without a drain, for kwq_wait_drained().
 */
u16 kwq_begin_shut_down(struct kwq_queue *queue, bool drain)
{
	unsigned long flags;
	u16 shut_downs;

	kwq_lock(queue, &flags);
	kwq_end_posts_locked(queue);
	kwq_core_shut_down(&queue->core, drain);
	trace_kwq_shut_down(queue, drain);
	shut_downs = queue->core.shut_downs;
	kwq_unlock(queue, flags);
	return shut_downs;
}

/**
 * kwq_wait_drained() - wait until nothing is ready or processing (Q9)
 * @queue: a queue that is shut down
 * @shut_downs: the result of kwq_begin_shut_down()
 * @deadline: when to stop waiting, on the queue's clock; KTIME_MAX for never
 *
 * Context: process; sleeps.
 * Return: 0; -ECANCELED if there was a shut down without a drain since; -ETIMEDOUT;
 * -ERESTARTSYS for a signal. After a signal, the wait may continue with the same
 * @shut_downs and @deadline.
 */
int kwq_wait_drained(struct kwq_queue *queue, u16 shut_downs, ktime_t deadline)
{
	const struct kwq_patience patience = { .deadline = deadline };
	unsigned long flags;
	int ret = 0;

	kwq_lock(queue, &flags);
	while (!kwq_core_is_drained(&queue->core)) {
		ret = queue->core.shut_downs == shut_downs ?
		      kwq_why_not_wait_locked(queue, &patience) : -ECANCELED;
		if (ret)
			break;
		kwq_sleep_as_drainer_locked(queue, deadline, TASK_INTERRUPTIBLE, &flags);
	}
	kwq_unlock(queue, flags);
	return ret;
}

static struct kwq_item *drop_next(struct kwq_queue *queue)
{
	return kwq_core_drop(&queue->core);
}

/**
 * kwq_take_out_next() - take out an item, and drop the reference to it
 * @queue: the queue
 * @take: takes out the next item, or ends its wait, under the lock; NULL if none is left
 *
 * Context: that of the callbacks of &struct kwq_ref_ops.
 * Return: true if there may be more.
 */
bool kwq_take_out_next(struct kwq_queue *queue, struct kwq_item *(*take)(struct kwq_queue *queue))
{
	const struct kwq_ref_ops *refs = NULL;
	struct kwq_item *item;
	unsigned long flags;

	kwq_lock(queue, &flags);
	item = take(queue);
	if (item)
		refs = kwq_owed_put_locked(queue, item);
	kwq_unlock_got(queue, flags);
	kwq_put(refs, item);
	return item;
}

/**
 * kwq_drop_all() - drop all waiting times and dead items (Q8)
 * @queue: a queue that is shut down
 *
 * Context: process; may sleep.
 */
void kwq_drop_all(struct kwq_queue *queue)
{
	while (kwq_take_out_next(queue, drop_next))
		cond_resched();
}

void kwq_shut_down(struct kwq_queue *queue)
{
	kwq_begin_shut_down(queue, false);
	while (kwq_take_out_next(queue, drop_next))
		cpu_relax();
}
EXPORT_SYMBOL_GPL(kwq_shut_down);

int kwq_shut_down_with_drain(struct kwq_queue *queue, ktime_t deadline)
{
	u16 shut_downs;

	if (kwq_in_handler(queue))
		return -EDEADLK;
	kwq_might_wait_for_workers(queue);
	shut_downs = kwq_begin_shut_down(queue, true);
	kwq_drop_all(queue);
	return kwq_wait_drained(queue, shut_downs, deadline);
}
EXPORT_SYMBOL_GPL(kwq_shut_down_with_drain);

bool kwq_shutting_down(struct kwq_queue *queue)
{
	return READ_ONCE(queue->core.shut_down);
}
EXPORT_SYMBOL_GPL(kwq_shutting_down);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs an item in its caller's context.
 *
 * The caller becomes a holder, like a worker. So nobody else gets the item meanwhile, and a
 * cancel waits for the caller.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/kwq.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include "queue.h"
#include "refs.h"
#include "workers.h"

static u8 number_of_run(const struct kwq_item *item)
{
	return item->marks & KWQ_MARK_NUMBER;
}

/* Waits for the end of the present run of an item. The next one may have begun then. */
static void wait_for_run(struct kwq_queue *queue, struct kwq_item *item, unsigned long *flags)
	__must_hold(&queue->lock)
{
	u8 number = number_of_run(item);

	while (item->state & KWQ_ITEM_PROCESSING && number_of_run(item) == number) {
		item->marks |= KWQ_MARK_AWAITED;
		kwq_wait_for_an_end_locked(queue, flags);
	}
}

/*
 * Gets the item, or waits until it is done. It waits for two runs at most: the second began
 * after the call, so it is the run for all adds before.
 */
static int get_or_wait_for_runs(struct kwq_queue *queue, struct kwq_item *item,
				struct kwq_holder *holder, unsigned long *flags)
	__must_hold(&queue->lock)
{
	int err, runs;

	for (runs = 0; ; runs++) {
		err = kwq_get_item_locked(queue, item, holder, kwq_stamp_locked(queue));
		if (err != -EBUSY || runs == 2)
			return err;
		wait_for_run(queue, item, flags);
	}
}

/* Calls the handler for an item that the caller holds. */
static void run_and_unlock(struct kwq_workers *workers, struct kwq_item *item,
			   struct kwq_runner *runner, unsigned long flags)
	__releases(&workers->queue->lock)
{
	struct kwq_queue *queue = workers->queue;
	bool nested = kwq_in_handler_locked(queue, NULL);
	const struct kwq_ref_ops *refs;
	struct kwq_result result;

	kwq_begin_running_locked(workers, runner);
	kwq_unlock_got(queue, flags);

	if (!nested)
		lock_map_acquire(&workers->handler_map);
	kwq_call_handler(workers, &item, &result, 1);
	if (!nested)
		lock_map_release(&workers->handler_map);

	kwq_lock(queue, &flags);
	kwq_apply_result_locked(workers, &runner->holder, item, &result,
				kwq_stamp_locked(queue));
	refs = kwq_owed_put_locked(queue, item);
	list_del(&runner->link);
	/* K14: the run has not ended yet. */
	if (result.kind == KWQ_RESULT_LATER)
		wait_for_run(queue, item, &flags);
	kwq_unlock(queue, flags);
	kwq_put(refs, item);
}

int kwq_run_sync(struct kwq_queue *queue, struct kwq_item *item)
{
	struct kwq_workers *workers = READ_ONCE(queue->workers);
	struct kwq_runner runner;
	unsigned long flags;
	int err;

	might_sleep();
	if (!workers)
		return -EINVAL;
	kwq_might_wait_for_handlers(queue);
	kwq_holder_init(&runner.holder);
	kwq_lock(queue, &flags);
	if (kwq_in_handler_locked(queue, item))
		err = -EDEADLK;
	else
		err = get_or_wait_for_runs(queue, item, &runner.holder, &flags);
	if (err) {
		kwq_unlock_got(queue, flags);
		return err == -EDEADLK ? err : 0;
	}
	run_and_unlock(workers, item, &runner, flags);
	return 1;
}
EXPORT_SYMBOL_GPL(kwq_run_sync);

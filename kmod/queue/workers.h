/* SPDX-License-Identifier: GPL-2.0-only */
/* The workers of a queue with a handler, for code inside kwq. */
#ifndef KWQ_WORKERS_H
#define KWQ_WORKERS_H

#include <linux/kwq.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <linux/workqueue.h>

/**
 * struct kwq_runner - a task that calls the handler: a worker, or a caller of kwq_run_sync()
 * @holder: Q: holder of the items that the handler is processing
 * @task: Q: while it is in @running: the task
 * @link: Q: in @running of struct kwq_workers; of a worker in its @idle while it is neither queued
 *	nor running
 *
 * Q: the queue's lock.
 */
struct kwq_runner {
	struct kwq_holder holder;
	const struct task_struct *task;
	struct list_head link;
};

/**
 * struct kwq_worker - a worker, which runs one handler at a time
 * @work: I: its work item
 * @workers: I: all workers of the queue
 * @runner: what it has in common with callers of kwq_run_sync()
 *
 * I: set once.
 */
struct kwq_worker {
	struct work_struct work;
	struct kwq_workers *workers;
	struct kwq_runner runner;
};

/**
 * struct kwq_workers - all workers of a queue
 * @queue: I: the queue
 * @handler: I: the function that they call; its @wq is NULL if @wq is private
 * @wq: I: the workqueue on which they run
 * @idle: Q: idle workers; the last one that became idle is first, for a warm cache
 * @running: Q: running workers, and the callers of kwq_run_sync() that call the handler. A task may
 *	be there several times, because a handler may run another item
 * @key: I: makes @map this queue's own, so that a worker of one queue may wait for a worker of
 *	another
 * @map: of the class of the workers' maps, which cmwq holds while they run: see
 *	kwq_might_wait_for_workers()
 * @handler_key: I: the same for @handler_map
 * @handler_map: held while a handler runs: see kwq_might_wait_for_handlers()
 * @later: Q: holder of the items whose handlers have returned, and which kwq_item_done() ends
 * @nr: I: number of workers, the @max_active of @handler
 * @worker: the workers
 *
 * The letters are those of struct kwq_runner and struct kwq_worker.
 */
struct kwq_workers {
	struct kwq_queue *queue;
	struct kwq_handler handler;
	struct workqueue_struct *wq;
	struct list_head idle;
	struct list_head running;
	struct lock_class_key key;
	struct lockdep_map map;
	struct lock_class_key handler_key;
	struct lockdep_map handler_map;
	struct kwq_holder later;
	unsigned int nr;
	struct kwq_worker worker[];
};

void kwq_queue_workers_locked(struct kwq_workers *workers, u64 nr);
void kwq_stop_handler(struct kwq_queue *queue);
void kwq_call_handler(struct kwq_workers *workers, struct kwq_item **items,
		      struct kwq_result *results, unsigned int nr);
void kwq_apply_result_locked(struct kwq_workers *workers, struct kwq_holder *holder,
			     struct kwq_item *item, const struct kwq_result *result,
			     ktime_t now);
bool kwq_in_handler(struct kwq_queue *queue);
bool kwq_in_handler_locked(const struct kwq_queue *queue, const struct kwq_item *item);
void kwq_might_wait_for_handlers(struct kwq_queue *queue);
void kwq_might_wait_for_workers(struct kwq_queue *queue);

/**
 * kwq_begin_running_locked() - the caller is going to call the handler
 * @workers: the workers of the queue; its lock held
 * @runner: what stands for the caller; it leaves @running afterwards
 */
static inline void kwq_begin_running_locked(struct kwq_workers *workers,
					    struct kwq_runner *runner)
{
	runner->task = current;
	list_add(&runner->link, &workers->running);
}

#endif /* KWQ_WORKERS_H */

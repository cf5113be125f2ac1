/* SPDX-License-Identifier: GPL-2.0-only */
/* The workers of a queue with a handler, for code inside kwq. */
#ifndef KWQ_WORKERS_H
#define KWQ_WORKERS_H

#include <linux/kwq.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/rbtree_types.h>
#include <linux/types.h>
#include <linux/workqueue.h>

/**
 * struct kwq_worker - a worker, which runs one handler at a time
 * @work: I: its work item
 * @workers: I: all workers of the queue
 * @holder: Q: holder of the items that the handler is processing
 * @task: the task that runs @work, from begin to end; only that task writes it or compares
 *	equal to it
 * @idle: Q: in @workers->idle while it is neither queued nor running
 *
 * Q: the queue's lock. I: set once.
 */
struct kwq_worker {
	struct work_struct work;
	struct kwq_workers *workers;
	struct kwq_holder holder;
	const struct task_struct *task;
	struct list_head idle;
};

/**
 * struct kwq_caller - a task in kwq_run_sync() that calls the handler
 * @holder: Q: holder of the item that the handler is processing
 * @task: the task
 * @node: Q: in @callers of struct kwq_workers
 *
 * It is on the stack of the task. The letters are those of struct kwq_worker.
 */
struct kwq_caller {
	struct kwq_holder holder;
	const struct task_struct *task;
	struct rb_node node;
};

/**
 * struct kwq_workers - all workers of a queue
 * @queue: I: the queue
 * @handler: I: the function that they call; its @wq is NULL if @wq is private, and its @max_batch 1
 *	if the function gets one item
 * @wq: I: the workqueue on which they run
 * @idle: Q: idle workers; the last one that became idle is first, for a warm cache
 * @callers: Q: tasks in kwq_run_sync() that call the handler, by @task
 * @key: I: makes @map this queue's own, so that a worker of one queue may wait for a worker of
 *	another
 * @map: of the class of the workers' maps, which cmwq holds while they run: see
 *	kwq_might_wait_for_workers()
 * @handler_key: I: the same for @handler_map
 * @handler_map: held while a handler runs: see kwq_might_wait_for_handlers()
 * @later: Q: holder of the items whose handlers have returned, and which kwq_item_done() ends
 * @nr: I: number of workers, the @max_active of @handler
 * @worker: the workers
 */
struct kwq_workers {
	struct kwq_queue *queue;
	struct kwq_handler handler;
	struct workqueue_struct *wq;
	struct list_head idle;
	struct rb_root callers;
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
bool kwq_handles_locked(const struct kwq_queue *queue, const struct kwq_item *item);
void kwq_might_wait_for_handlers(struct kwq_queue *queue);
void kwq_might_wait_for_workers(struct kwq_queue *queue);

#endif /* KWQ_WORKERS_H */

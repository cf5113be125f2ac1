/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The workers of a queue with a handler, for those inside kwq.
 */
#ifndef KWQ_HANDLER_H
#define KWQ_HANDLER_H

#include <linux/kwq.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/types.h>
#include <linux/workqueue.h>

/**
 * struct kwq_worker - one handler that may be running
 * @work: I: what cmwq runs
 * @workers: I: the others
 * @holder: Q: of the item that the handler was called for
 * @task: who runs @work, from its beginning to its end; only that task writes it, or
 *	finds itself in it
 * @idle: Q: in @workers->idle, while it is neither queued nor running
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
 * struct kwq_workers - all of a queue's
 * @queue: I: whose they are
 * @handler: I: what they call
 * @wq: I: where they run
 * @idle: Q: those that are idle; the one that was so last is first, for its cache
 * @key: I: makes @map this queue's own, so that one queue's handler may wait for
 *	another's
 * @map: stands for the running of a handler: see kwq_might_wait_for_workers()
 * @nr: I: how many
 * @worker: each of them
 */
struct kwq_workers {
	struct kwq_queue *queue;
	kwq_handler_fn handler;
	struct workqueue_struct *wq;
	struct list_head idle;
	struct lock_class_key key;
	struct lockdep_map map;
	unsigned int nr;
	struct kwq_worker worker[];
};

void kwq_tell_workers(struct kwq_workers *workers, u64 nr);
void kwq_end_workers(struct kwq_queue *queue);
struct kwq_holder *kwq_current_worker(const struct kwq_queue *queue);
void kwq_might_wait_for_workers(const struct kwq_queue *queue);

#endif /* KWQ_HANDLER_H */

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The objects to process, as items of a queue or as plain work items, and how to wait
 * for them.
 */
#include <linux/kwq.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include "bench.h"

struct bench_object bench_objects[BENCH_BURST + 1];
struct kwq_large_queue bench_large;
struct workqueue_struct *bench_wq;

/* The processing of an object, the same for both. */
static noinline void work_on(struct bench_object *object)
{
	object->runs++;
}

static struct kwq_result handle(struct kwq_queue *queue, struct kwq_item *item)
{
	work_on(container_of(item, struct bench_object, item));
	return kwq_result_done();
}

static void handle_batch(struct kwq_queue *queue, struct kwq_item *const *items,
			 struct kwq_result *results, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		work_on(container_of(items[i], struct bench_object, item));
		results[i] = kwq_result_done();
	}
}

static void work_fn(struct work_struct *work)
{
	work_on(container_of(work, struct bench_object, work));
}

static void init_objects(void)
{
	struct bench_object *object;

	for (object = bench_objects; object < bench_objects + ARRAY_SIZE(bench_objects);
	     object++) {
		kwq_item_init(&object->item);
		INIT_WORK(&object->work, work_fn);
		object->runs = 0;
	}
}

/**
 * bench_begin_queue() - create a queue without a handler
 * @bench: the benchmark
 *
 * Return: 0 or an error.
 */
int bench_begin_queue(const struct bench *bench)
{
	init_objects();
	if (bench->small)
		kwq_queue_init(&bench_queue, "kwq_bench", KWQ_CLOCK_MONOTONIC);
	else
		kwq_large_queue_init(&bench_large, "kwq_bench", KWQ_CLOCK_MONOTONIC);
	return bench->no_durations ? kwq_queue_measure_no_durations(&bench_queue) : 0;
}

/**
 * bench_end_queue() - destroy the queue of bench_begin_queue() or bench_begin_handler()
 * @bench: the benchmark
 */
void bench_end_queue(const struct bench *bench)
{
	kwq_queue_destroy(&bench_queue);
}

/**
 * bench_begin_handler() - create a queue with a handler
 * @bench: the benchmark
 *
 * Return: 0 or a negative errno.
 */
int bench_begin_handler(const struct bench *bench)
{
	bench_begin_queue(bench);
	return kwq_start_handler(&bench_queue, &(struct kwq_handler){
		.handle = handle,
		.max_active = bench->max_active,
		.wq_flags = bench->wq_flags,
	});
}

/**
 * bench_begin_work() - create a plain workqueue
 * @bench: the benchmark
 *
 * Return: 0 or a negative errno.
 */
int bench_begin_work(const struct bench *bench)
{
	init_objects();
	bench_wq = alloc_workqueue("kwq_bench_peer", bench->wq_flags, bench->max_active);
	return bench_wq ? 0 : -ENOMEM;
}

/**
 * bench_end_work() - destroy the plain workqueue
 * @bench: the benchmark
 */
void bench_end_work(const struct bench *bench)
{
	destroy_workqueue(bench_wq);
}

/**
 * bench_begin_borrowed() - create a plain workqueue, and a queue whose handler borrows it
 * @bench: the benchmark
 *
 * Return: 0 or a negative errno.
 */
int bench_begin_borrowed(const struct bench *bench)
{
	int err;

	err = bench_begin_work(bench);
	if (err)
		return err;
	bench_begin_queue(bench);
	return kwq_start_handler(&bench_queue, &(struct kwq_handler){
		.handle = bench->max_batch ? NULL : handle,
		.handle_batch = bench->max_batch ? handle_batch : NULL,
		.max_active = 1,
		.max_batch = bench->max_batch,
		.wq = bench_wq,
	});
}

/**
 * bench_end_borrowed() - destroy both
 * @bench: the benchmark
 */
void bench_end_borrowed(const struct bench *bench)
{
	bench_end_queue(bench);
	bench_end_work(bench);
}

/**
 * bench_wait() - wait until an object was processed
 * @object: the last of the queued objects
 * @runs: the number of runs to wait for
 *
 * The caller has the lowest priority (SCHED_IDLE) and runs on the worker's processor. So
 * when it yields, it waits until the worker sleeps, and nobody has to wake it. The wait
 * adds only the two context switches that the worker needs in any case.
 */
void bench_wait(const struct bench_object *object, u64 runs)
{
	do
		schedule();
	while (READ_ONCE(object->runs) != runs);
}

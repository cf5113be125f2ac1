// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of an add for the adder, which may be an interrupt: of an item whose queue
 * has a handler, and of a plain work item. The worker runs after the measurement.
 */
#include <linux/errno.h>
#include <linux/preempt.h>
#include "bench.h"

/* Nothing is queued: the add wakes the worker. */
static __always_inline s64 sample_idle(const struct bench *bench,
				       bool (*add)(struct bench_object *object))
{
	struct bench_object *object = &bench_objects[0];
	unsigned int round, added = 0;
	u64 begun, took = 0;

	for (round = 0; round < bench->rounds; round++) {
		preempt_disable();
		begun = bench_clock();
		added += add(object);
		took += bench_since(begun);
		preempt_enable();
		bench_wait(object, object->runs + 1);
	}
	return added == bench->rounds ? took : -EIO;
}

/* More objects are added while as many are queued as may run at once. */
static __always_inline s64 sample_busy(const struct bench *bench,
				       bool (*add)(struct bench_object *object))
{
	struct bench_object *last = &bench_objects[bench->burst - 1];
	unsigned int i, added;
	u64 begun, took;

	preempt_disable();
	added = add(&bench_objects[BENCH_BURST]);
	begun = bench_clock();
	for (i = 0; i < bench->burst; i++)
		added += add(&bench_objects[i]);
	took = bench_since(begun);
	preempt_enable();
	bench_wait(last, last->runs + 1);
	return added == 1 + bench->burst ? took : -EIO;
}

/* The same object is added again and again. */
static __always_inline s64 sample_queued(const struct bench *bench,
					 bool (*add)(struct bench_object *object))
{
	struct bench_object *object = &bench_objects[0];
	unsigned int i, added;
	u64 begun, took;

	preempt_disable();
	added = add(object);
	begun = bench_clock();
	for (i = 0; i < bench->burst; i++)
		added += add(object);
	took = bench_since(begun);
	preempt_enable();
	bench_wait(object, object->runs + 1);
	return added == 1 ? took : -EIO;
}

static s64 sample_idle_item(const struct bench *bench)
{
	return sample_idle(bench, bench_add_item);
}

static s64 sample_idle_work(const struct bench *bench)
{
	return sample_idle(bench, bench_add_work);
}

static s64 sample_busy_items(const struct bench *bench)
{
	return sample_busy(bench, bench_add_item);
}

static s64 sample_busy_work(const struct bench *bench)
{
	return sample_busy(bench, bench_add_work);
}

static s64 sample_queued_item(const struct bench *bench)
{
	return sample_queued(bench, bench_add_item);
}

static s64 sample_queued_work(const struct bench *bench)
{
	return sample_queued(bench, bench_add_work);
}

const struct bench bench_add_subject[] = {
	{ .name = "add.idle", BENCH_ITEMS(64, 1, 1, 0, sample_idle_item) },
	{ .name = "queue_work.idle", BENCH_WORK(64, 1, 1, 0, sample_idle_work) },
	{ .name = "add.busy", BENCH_ITEMS(1, BENCH_BURST, 1, 0, sample_busy_items) },
	{ .name = "queue_work.busy", BENCH_WORK(1, BENCH_BURST, 1, 0, sample_busy_work) },
	{ .name = "add.coalesced", BENCH_ITEMS(1, 64, 1, 0, sample_queued_item) },
	{ .name = "queue_work.pending", BENCH_WORK(1, 64, 1, 0, sample_queued_work) },
	{}
};

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The whole cost of a piece of work, from the add until the processor is done with it. The
 * work is an item whose queue has a handler (K2, K7, K10), or a plain work item.
 *
 * The figure includes the add, the wake-up of the kernel's worker thread, the switch to
 * the thread, the function, the worker's way back to sleep, and the switch back. In a
 * burst each item gets its share.
 */
#include <linux/errno.h>
#include <linux/preempt.h>
#include "bench.h"

/* No object is processed before all are added. */
static __always_inline s64 sample(const struct bench *bench,
				  bool (*add)(struct bench_object *object))
{
	struct bench_object *last = &bench_objects[bench->burst - 1];
	u64 begun, took, runs = last->runs + bench->rounds;
	unsigned int i, round, added = 0;

	begun = bench_clock();
	for (round = 0; round < bench->rounds; round++) {
		preempt_disable();
		for (i = 0; i < bench->burst; i++)
			added += add(&bench_objects[i]);
		preempt_enable();
		bench_wait(last, last->runs + 1);
	}
	took = bench_since(begun);

	if (added != bench->rounds * bench->burst)
		return -EIO;
	for (i = 0; i < bench->burst; i++)
		if (bench_objects[i].runs != runs)
			return -EIO;
	return took;
}

static s64 sample_items(const struct bench *bench)
{
	return sample(bench, bench_add_item);
}

static s64 sample_work(const struct bench *bench)
{
	return sample(bench, bench_add_work);
}

const struct bench bench_handler_subject[] = {
	{ .name = "handler.one", BENCH_ITEMS(64, 1, 4, 0, sample_items) },
	{ .name = "queue_work.one", BENCH_WORK(64, 1, 4, 0, sample_work) },
	{ .name = "handler.one.unbound", BENCH_ITEMS(64, 1, 4, WQ_UNBOUND, sample_items) },
	{ .name = "queue_work.one.unbound", BENCH_WORK(64, 1, 4, WQ_UNBOUND, sample_work) },
	{ .name = "handler.burst.max1", BENCH_ITEMS(4, BENCH_BURST, 1, 0, sample_items) },
	{ .name = "queue_work.burst.max1", BENCH_WORK(4, BENCH_BURST, 1, 0, sample_work) },
	{ .name = "handler.burst.max4", BENCH_ITEMS(4, BENCH_BURST, 4, 0, sample_items) },
	{ .name = "queue_work.burst.max4", BENCH_WORK(4, BENCH_BURST, 4, 0, sample_work) },
	{ .name = "handler.one.borrowed",
	  BENCH_BORROWED(64, 1, 4, WQ_UNBOUND, 0, sample_items) },
	{ .name = "handler.burst.borrowed",
	  BENCH_BORROWED(4, BENCH_BURST, 4, WQ_UNBOUND, 0, sample_items) },
	{ .name = "handler.burst.batch",
	  BENCH_BORROWED(4, BENCH_BURST, 4, WQ_UNBOUND, KWQ_HANDLER_BATCH_MAX, sample_items) },
	{ .name = "handler.one.small", .small = true,
	  BENCH_BORROWED(64, 1, 4, WQ_UNBOUND, 0, sample_items) },
	{ .name = "handler.burst.small", .small = true,
	  BENCH_BORROWED(4, BENCH_BURST, 4, WQ_UNBOUND, 0, sample_items) },
	{ .name = "handler.batch.small", .small = true,
	  BENCH_BORROWED(4, BENCH_BURST, 4, WQ_UNBOUND, KWQ_HANDLER_BATCH_MAX, sample_items) },
	{ .name = "queue_work.burst.unbound",
	  BENCH_WORK(4, BENCH_BURST, 4, WQ_UNBOUND, sample_work) },
	{}
};

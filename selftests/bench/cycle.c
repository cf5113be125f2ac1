// SPDX-License-Identifier: GPL-2.0-only
/*
 * A queue without a handler. One task adds and gets its items.
 */
#include <linux/errno.h>
#include "bench.h"

static s64 sample_cycle(const struct bench *bench)
{
	struct kwq_item *item, *first = &bench_objects[0].item;
	unsigned int round, cycles = 0;
	u64 begun, took;

	begun = bench_clock();
	for (round = 0; round < bench->rounds; round++) {
		kwq_add(&bench_queue, first);
		item = kwq_get(&bench_queue, KTIME_MAX);
		cycles += kwq_done(&bench_queue, item) == KWQ_FINISHED;
	}
	took = bench_since(begun);
	return cycles == bench->rounds ? took : -EIO;
}

/* The next item is ready already, as for a busy worker. */
static s64 sample_fused(const struct bench *bench)
{
	unsigned int round, cycles = 0;
	struct kwq_item *item, *other;
	u64 begun, took;

	kwq_add(&bench_queue, &bench_objects[0].item);
	item = kwq_get(&bench_queue, KTIME_MAX);
	other = &bench_objects[1].item;
	begun = bench_clock();
	for (round = 0; round < bench->rounds; round++) {
		struct kwq_item *done = item;

		kwq_add(&bench_queue, other);
		item = kwq_done_and_get(&bench_queue, done, KTIME_MAX);
		cycles += item == other;
		other = done;
	}
	took = bench_since(begun);
	kwq_done(&bench_queue, item);
	return cycles == bench->rounds ? took : -EIO;
}

#define BENCH_CYCLE(fn)			\
	.rounds = 64,			\
	.burst = 1,			\
	.begin = bench_begin_queue,	\
	.sample = fn,			\
	.end = bench_end_queue

const struct bench bench_cycle_subject[] = {
	{ .name = "cycle.get_done", BENCH_CYCLE(sample_cycle) },
	{ .name = "cycle.done_and_get", BENCH_CYCLE(sample_fused) },
	{ .name = "cycle.get_done.small", .small = true, BENCH_CYCLE(sample_cycle) },
	{ .name = "cycle.done_and_get.small", .small = true, BENCH_CYCLE(sample_fused) },
	{}
};

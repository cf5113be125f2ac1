// SPDX-License-Identifier: GPL-2.0-only
/*
 * A queue without a handler. One task adds and gets its items.
 */
#include <linux/errno.h>
#include <linux/slab.h>
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

/*
 * Q16: so many groups wait for their turns, each with one item. The item that is handed out is
 * added again.
 */
#define NR_GROUPS	10000

struct job {
	struct kwq_group group;
	struct kwq_grouped_item grouped;
};

static struct job *jobs;

static int begin_groups(const struct bench *bench)
{
	int i, err;

	jobs = kvcalloc(NR_GROUPS, sizeof(*jobs), GFP_KERNEL);
	if (!jobs)
		return -ENOMEM;
	err = bench_begin_queue(bench) ?: kwq_queue_group_items(&bench_queue, 2);
	if (err)
		return err;
	for (i = 0; i < NR_GROUPS; i++) {
		kwq_group_init(&jobs[i].group);
		kwq_grouped_item_init(&jobs[i].grouped, &jobs[i].group);
		kwq_add(&bench_queue, &jobs[i].grouped.item);
	}
	return 0;
}

static s64 sample_groups(const struct bench *bench)
{
	unsigned int round, cycles = 0;
	struct kwq_item *item;
	u64 begun, took;

	begun = bench_clock();
	for (round = 0; round < bench->rounds; round++) {
		item = kwq_get(&bench_queue, KTIME_MAX);
		cycles += kwq_done(&bench_queue, item) == KWQ_FINISHED;
		kwq_add(&bench_queue, item);
	}
	took = bench_since(begun);
	return cycles == bench->rounds ? took : -EIO;
}

static void end_groups(const struct bench *bench)
{
	kwq_cancel_all_sync(&bench_queue);
	bench_end_queue(bench);
	kvfree(jobs);
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
	{ .name = "cycle.groups", .rounds = 64, .burst = 1, .begin = begin_groups,
	  .sample = sample_groups, .end = end_groups },
	{ .name = "cycle.get_done.small", .small = true, BENCH_CYCLE(sample_cycle) },
	{ .name = "cycle.done_and_get.small", .small = true, BENCH_CYCLE(sample_fused) },
	{ .name = "cycle.get_done.no_durations", .no_durations = true,
	  BENCH_CYCLE(sample_cycle) },
	{ .name = "cycle.done_and_get.no_durations", .no_durations = true,
	  BENCH_CYCLE(sample_fused) },
	{ .name = "cycle.get_done.small.no_durations", .small = true, .no_durations = true,
	  BENCH_CYCLE(sample_cycle) },
	{}
};

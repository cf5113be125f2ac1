// SPDX-License-Identifier: GPL-2.0-only
/*
 * A queue without a handler, whose items are got by who adds them.
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

const struct bench bench_cycle_subject[] = {
	{
		.name = "cycle.get_done",
		.rounds = 64,
		.burst = 1,
		.begin = bench_begin_queue,
		.sample = sample_cycle,
		.end = bench_end_queue,
	},
	{}
};

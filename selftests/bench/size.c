// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of an item and of a queue.
 */
#include <linux/stddef.h>
#include <kmod/keyed/keyed.h>
#include "bench.h"

static int measure_sizes(const struct bench *bench)
{
	int err;

	err = bench_report("size.item", sizeof(struct kwq_item), "B");
	if (err)
		return err;
	err = bench_report("size.keyed", offsetof(struct kwq_keyed_item, key), "B");
	if (err)
		return err;
	err = bench_report("size.queue", sizeof(struct kwq_queue), "B");
	if (err)
		return err;
	return bench_report("size.queue.large", sizeof(struct kwq_large_queue), "B");
}

const struct bench bench_size_subject[] = {
	{ .name = "size", .measure = measure_sizes },
	{}
};

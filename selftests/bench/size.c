// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of an item.
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
	return bench_report("size.keyed", offsetof(struct kwq_keyed_item, key), "B");
}

const struct bench bench_size_subject[] = {
	{ .name = "size", .measure = measure_sizes },
	{}
};

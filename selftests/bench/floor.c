// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a cycle is made of, and cannot cost less than.
 */
#include <linux/ktime.h>
#include <linux/spinlock.h>
#include "bench.h"

static s64 sample_lock(const struct bench *bench)
{
	static DEFINE_SPINLOCK(lock);
	unsigned long flags;
	unsigned int round;
	u64 begun;

	begun = bench_clock();
	for (round = 0; round < bench->rounds; round++) {
		spin_lock_irqsave(&lock, flags);
		spin_unlock_irqrestore(&lock, flags);
	}
	return bench_since(begun);
}

static s64 sample_clock(const struct bench *bench)
{
	unsigned int round;
	u64 begun;

	begun = bench_clock();
	for (round = 0; round < bench->rounds; round++)
		ktime_get();
	return bench_since(begun);
}

const struct bench bench_floor_subject[] = {
	{ .name = "floor.lock", .rounds = 64, .burst = 1, .sample = sample_lock },
	{ .name = "floor.clock", .rounds = 64, .burst = 1, .sample = sample_clock },
	{}
};

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The unit of the clock.
 */
#include "bench.h"

#define NOPS	1000

static s64 sample_nops(const struct bench *bench)
{
	u64 begun = bench_clock();

	asm volatile(".rept " __stringify(NOPS) "\n\tnop\n\t.endr");
	return bench_since(begun);
}

const struct bench bench_clock_subject[] = {
	{
		.name = "clock.nop",
		.rounds = 1,
		.burst = NOPS,
		.sample = sample_nops,
	},
	{}
};

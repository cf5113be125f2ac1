// SPDX-License-Identifier: GPL-2.0-only
/*
 * The worst of many adds: does one pay for others, or wait for their clean-up? Each add
 * has a new key and is measured separately.
 *
 * An add does not count if something else got the processor: a tick, which advances the
 * coarse clock, or another thread, which the kernel counts. If a kernel thread works
 * for an add, its work counts as far as the adder waits for it.
 */
#include <stdio.h>
#include <sys/resource.h>

#include "bench.h"

#define NR_ADDS		100000
#define KEY_LEN		8

/* More disturbed samples would mean that real adds were left out. */
#define MAX_DISTURBED	(NR_ADDS / 100)

static int64_t took[NR_ADDS];

struct outside {
	long ticks;
	long switches;
};

static struct outside look_outside(void)
{
	struct timespec coarse;
	struct rusage usage;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &coarse);
	getrusage(RUSAGE_THREAD, &usage);
	return (struct outside){
		.ticks = coarse.tv_nsec,
		.switches = usage.ru_nvcsw + usage.ru_nivcsw,
	};
}

void bench_add(void)
{
	int nr = 0, disturbed = 0;
	struct kwq *q;

	if (!is_wanted("device.add.median"))
		return;
	q = new_queue();
	for (int i = 0; i < NR_ADDS; i++) {
		struct outside before, after;
		char key[KEY_LEN + 1];
		uint64_t begun;
		int64_t one;
		int ret;

		snprintf(key, sizeof(key), "%08d", i);
		before = look_outside();
		begun = bench_clock();
		ret = kwq_add(q, key, KEY_LEN);
		one = bench_since(begun);
		after = look_outside();
		if (must(ret, "kwq_add") != KWQ_ADDED)
			fail("a new key was there already", 0);
		if (before.ticks == after.ticks && before.switches == after.switches)
			took[nr++] = one;
		else
			disturbed++;
	}
	kwq_close(q);
	if (disturbed > MAX_DISTURBED)
		fail("other things than adds went on", 0);
	report("device.add.median", quantile(took, nr, 0.5), "insn");
	report("device.add.worst", took[nr - 1], "insn");
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs the benchmarks before init is started, prints name, value and unit of each
 * between tabs, and halts.
 */
#include <linux/init.h>
#include <linux/math64.h>
#include <linux/printk.h>
#include <linux/reboot.h>
#include <linux/sort.h>
#include "native.h"

#define WARM_UP	32

static s64 samples[BENCH_SAMPLES];
s64 bench_clock_cost;

static int compare(const void *a, const void *b)
{
	s64 x = *(const s64 *)a, y = *(const s64 *)b;

	return x < y ? -1 : x > y;
}

/**
 * bench_median() - compute the median
 * @values: the values; they get sorted
 * @nr: their number
 *
 * Return: the median.
 */
s64 bench_median(s64 *values, unsigned int nr)
{
	sort(values, nr, sizeof(*values), compare, NULL);
	return values[nr / 2];
}

/**
 * bench_report() - print a figure
 * @name: a row of the file rows-native, without the common prefix
 * @hundredths: the figure in hundredths of a ns
 */
void bench_report(const char *name, u64 hundredths)
{
	u64 whole;
	u32 rest;

	whole = div_u64_rem(hundredths, 100, &rest);
	pr_info("kwq_bench: native.%s\t%llu.%02u\tns\n", name, whole, rest);
}

/**
 * bench_sample() - print the median time of an operation
 * @name: as for bench_report()
 * @sample: measures BENCH_ROUNDS operations; returns ns, or a negative errno
 * @data: the argument of @sample
 *
 * Return: 0 or @sample's negative errno.
 */
int bench_sample(const char *name, s64 (*sample)(void *data), void *data)
{
	int i;

	for (i = -WARM_UP; i < BENCH_SAMPLES; i++) {
		s64 took = sample(data);

		if (took < 0)
			return took;
		if (i >= 0)
			samples[i] = took;
	}
	bench_report(name, div_u64(100 * bench_median(samples, BENCH_SAMPLES), BENCH_ROUNDS));
	return 0;
}

/* The rest of two readings of the clock with nothing between them. */
static void measure_clock(void)
{
	int i;

	bench_clock_cost = 0;
	for (i = 0; i < BENCH_SAMPLES; i++)
		samples[i] = bench_since(bench_cpu_ns());
	bench_clock_cost = bench_median(samples, BENCH_SAMPLES);
}

static int __init kwq_bench_init(void)
{
	int (*const subjects[])(void) = {
		bench_cycle, bench_waiting, bench_pop, bench_due, bench_two,
	};
	int i, err = 0;

	measure_clock();
	for (i = 0; i < ARRAY_SIZE(subjects) && !err; i++)
		err = subjects[i]();
	if (err)
		pr_err("kwq_bench: error %d\n", err);
	else
		pr_info("kwq_bench: end\n");
	kernel_halt();
	return 0;
}
late_initcall(kwq_bench_init);

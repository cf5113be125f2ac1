// SPDX-License-Identifier: GPL-2.0-only
/*
 * device [two_by_two | keys | stalls]
 *
 * Prints name, value and unit of each row, between tabs. Nothing is printed before the
 * end: the reader and the port would use the processor.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"

/* A tick or an interrupt hits only a few samples, so the median does not show it. */
#define WARM_UP	32
#define SAMPLES	255

char keys[NR_KEYS][KEY_SIZE_MAX];
uint64_t clock_cost;

void fail(const char *what, int err)
{
	fprintf(stderr, "# %s%s%s\n", what, err ? ": " : "", err ? strerror(err) : "");
	exit(1);
}

long must_call(long ret, const char *what)
{
	if (ret < 0)
		fail(what, errno);
	return ret;
}

bool is_wanted(const char *name)
{
	const char *row = getenv("KWQ_ROW");

	return !row || !strcmp(row, name);
}

void report(const char *name, double value, const char *unit)
{
	printf("%s\t%.2f\t%s\n", name, value, unit);
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

int64_t quantile(int64_t *samples, int nr, double part)
{
	qsort(samples, nr, sizeof(*samples), compare);
	return samples[(int)(nr * part)];
}

void measure(const char *name, int nr, int64_t (*sample)(void))
{
	int64_t samples[SAMPLES];

	if (!is_wanted(name))
		return;
	for (int i = -WARM_UP; i < SAMPLES; i++) {
		int64_t took = sample();

		if (i >= 0)
			samples[i] = took;
	}
	report(name, (double)quantile(samples, SAMPLES, 0.5) / nr, "insn");
}

struct kwq *new_queue(void)
{
	struct kwq *q;

	must(kwq_create(&q, NULL, NULL), "kwq_create");
	return q;
}

void end_queue(struct kwq *q, uint64_t dones)
{
	struct kwq_stat st = { .size = sizeof(st) };

	must(kwq_stat(q, &st), "kwq_stat");
	if (st.items || st.abandoned || st.adds != dones || st.dones != dones)
		fail("the queue has not done what was measured", 0);
	kwq_close(q);
}

static void measure_clock(void)
{
	int64_t samples[SAMPLES];

	for (int i = 0; i < SAMPLES; i++) {
		uint64_t begun = bench_clock();

		samples[i] = bench_since(begun);
	}
	clock_cost = quantile(samples, SAMPLES, 0.5);
}

int main(int argc, char **argv)
{
	static char output[1 << 16];

	setvbuf(stdout, output, _IOFBF, sizeof(output));
	must_call(mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall");
	for (int i = 0; i < NR_KEYS; i++)
		snprintf(keys[i], KEY_SIZE_MAX, "%08d/of/a/key/of/32/bytes", i);

	if (argc == 2 && !strcmp(argv[1], "two_by_two")) {
		bench_two_by_two();
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "stalls")) {
		bench_hold();
		bench_stall();
		bench_death();
		return 0;
	}
	measure_clock();
	if (argc == 2 && !strcmp(argv[1], "keys")) {
		bench_keys();
		return 0;
	}
	bench_floor();
	bench_cycle();
	bench_batch();
	bench_add();
	bench_late();
	bench_ipc();
	/* The last one, because the memory of its queues is freed later. */
	bench_curve();
	return 0;
}

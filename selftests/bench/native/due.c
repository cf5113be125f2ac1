// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many items due at the same time, on the machine's clock and the queue's own timer:
 * how long after that time the last item is ready, and how long others are kept from
 * the processor meanwhile.
 *
 * A task asks the queue repeatedly, under its lock, how many items are ready. If two of
 * its readings of the clock are further apart than one question takes, an interrupt
 * came between them and moved a part of the items. That stretch includes the interrupt,
 * which is a signal of the host, and the host's work for other processors. Both only
 * make a stretch longer. So the shortest of the longest stretches of many runs is the
 * machine's own.
 */
#include <linux/errno.h>
#include <linux/time64.h>
#include "native.h"

/* The time to add all items. */
#define LEAD_NS(nr)	(NSEC_PER_SEC / 2 + 4 * NSEC_PER_USEC * (nr))

/* Longer than a question and a reading of the clock. */
#define STRETCH_NS	(4 * NSEC_PER_USEC)
#define MAX_STRETCHES	32768

static struct kwq_large_queue large;

#define queue	(large.queue)
static s64 stretches[MAX_STRETCHES];
static unsigned int nr_stretches;

static int add_all(unsigned int nr, ktime_t due)
{
	const struct kwq_add_options at = { .flags = KWQ_ADD_AT, .time = due };
	unsigned int i;

	for (i = 0; i < nr; i++) {
		kwq_item_init(&bench_wait_at(i)->item);
		if (kwq_add_with(&queue, &bench_wait_at(i)->item, &at) != KWQ_WAITING)
			return -ETIME;
	}
	return 0;
}

static int await_all(unsigned int nr, ktime_t due, s64 *took)
{
	s64 now, before, begun;

	while (ktime_get() < due)
		;
	begun = bench_cpu_ns();
	before = begun;
	nr_stretches = 0;
	for (;;) {
		bool all = kwq_len(&queue) == nr;

		now = bench_cpu_ns();
		if (now - before > STRETCH_NS) {
			if (nr_stretches == MAX_STRETCHES)
				return -ENOSPC;
			stretches[nr_stretches++] = now - before;
		}
		if (all)
			break;
		before = now;
	}
	*took = now - begun;
	return nr_stretches ? 0 : -EIO;
}

static int run(const char *name, unsigned int nr)
{
	ktime_t due;
	char row[32];
	s64 took, median;
	int err;

	kwq_large_queue_init(&large, "kwq_bench", KWQ_CLOCK_MONOTONIC);
	due = ktime_get() + LEAD_NS(nr);
	err = add_all(nr, due);
	if (!err)
		err = await_all(nr, due, &took);
	kwq_queue_destroy(&queue);
	if (err)
		return err;

	snprintf(row, sizeof(row), "due.%s", name);
	bench_report(row, 100 * took);
	median = bench_median(stretches, nr_stretches);
	snprintf(row, sizeof(row), "due.%s.stretch", name);
	bench_report(row, 100 * median);
	snprintf(row, sizeof(row), "due.%s.stretch.p99", name);
	bench_report(row, 100 * stretches[nr_stretches * 99 / 100]);
	snprintf(row, sizeof(row), "due.%s.stretch.max", name);
	bench_report(row, 100 * stretches[nr_stretches - 1]);
	return 0;
}

/**
 * bench_due() - measure items that are due at the same time
 *
 * Return: 0 or a negative errno.
 */
int bench_due(void)
{
	static const struct bench_size sizes[] = {
		{ "100k", 100 * 1000 },
		{ "1m", 1000 * 1000 },
	};
	int i, err;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		err = bench_alloc_waits(sizes[i].nr);
		if (err)
			return err;
		err = run(sizes[i].name, sizes[i].nr);
		bench_free_waits();
		if (err)
			return err;
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds after a delay.
 */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/time64.h>
#include "bench.h"

/* The times are after the end of the run, and the first one stays the first. */
#define FIRST_NS	(3600ULL * NSEC_PER_SEC)

static struct kwq_item *waiting;
static struct rnd_state chance;

/* The same delays in every run. */
static u64 some_delay(void)
{
	return FIRST_NS + 1 + 1000ULL * prandom_u32_state(&chance);
}

static void end_delay(const struct bench *bench)
{
	bench_end_queue(bench);
	kvfree(waiting);
}

static int begin_delay(const struct bench *bench)
{
	unsigned int i;

	waiting = kvmalloc_array(bench->nr_waiting, sizeof(*waiting), GFP_KERNEL);
	if (!waiting)
		return -ENOMEM;
	bench_begin_queue(bench);
	prandom_seed_state(&chance, 1);
	for (i = 0; i < bench->nr_waiting; i++) {
		kwq_item_init(&waiting[i]);
		kwq_add_after(&bench_queue, &waiting[i], i ? some_delay() : FIRST_NS);
	}
	return 0;
}

static s64 sample_add_after(const struct bench *bench)
{
	u64 begun, took, delays[BENCH_BURST];
	unsigned int i, added = 0;

	for (i = 0; i < bench->burst; i++)
		delays[i] = some_delay();

	begun = bench_clock();
	for (i = 0; i < bench->burst; i++)
		added += kwq_add_after(&bench_queue, &bench_objects[i].item,
				       delays[i]) == KWQ_WAITING;
	took = bench_since(begun);

	for (i = 0; i < bench->burst; i++)
		kwq_remove(&bench_queue, &bench_objects[i].item);
	return added == bench->burst ? took : -EIO;
}

/* With so many items waiting. */
#define BENCH_DELAY(nr)			\
	.rounds = 1,			\
	.burst = BENCH_BURST,		\
	.nr_waiting = nr,		\
	.begin = begin_delay,		\
	.sample = sample_add_after,	\
	.end = end_delay

const struct bench bench_delay_subject[] = {
	{ .name = "delay.add_after.1", BENCH_DELAY(1) },
	{ .name = "delay.add_after.100", BENCH_DELAY(100) },
	{ .name = "delay.add_after.10k", BENCH_DELAY(10 * 1000) },
	{ .name = "delay.add_after.100k", BENCH_DELAY(100 * 1000) },
	{ .name = "delay.add_after.1M", BENCH_DELAY(1000 * 1000) },
	{ .name = "delay.add_after.small.1", .small = true, BENCH_DELAY(1) },
	{ .name = "delay.add_after.small.100", .small = true, BENCH_DELAY(100) },
	{ .name = "delay.add_after.small.10k", .small = true, BENCH_DELAY(10 * 1000) },
	{ .name = "delay.add_after.small.1M", .small = true, BENCH_DELAY(1000 * 1000) },
	{}
};

// SPDX-License-Identifier: GPL-2.0-only
/*
 * A queue whose items one task adds and gets, and the parts that no operation can
 * avoid: a read of the clock, and the lock.
 */
#include <linux/errno.h>
#include <linux/spinlock.h>
#include "native.h"

/* The items take turns, like the keys of the peers. */
#define NR_ITEMS	100

static struct kwq_item items[NR_ITEMS];
static struct kwq_large_queue large;

#define queue	(large.queue)
static unsigned int next;
static DEFINE_SPINLOCK(lock);
static ktime_t seen;

static s64 sample_clock(void *data)
{
	s64 begun = bench_cpu_ns();
	int i;

	for (i = 0; i < BENCH_ROUNDS; i++)
		WRITE_ONCE(seen, ktime_get());
	return bench_since(begun);
}

static s64 sample_lock(void *data)
{
	s64 begun = bench_cpu_ns();
	unsigned long flags;
	int i;

	for (i = 0; i < BENCH_ROUNDS; i++) {
		spin_lock_irqsave(&lock, flags);
		barrier();
		spin_unlock_irqrestore(&lock, flags);
	}
	return bench_since(begun);
}

static s64 sample_cycle(void *data)
{
	struct kwq_item *item;
	int i, finished = 0;
	s64 begun, took;

	begun = bench_cpu_ns();
	for (i = 0; i < BENCH_ROUNDS; i++) {
		kwq_add(&queue, &items[next]);
		item = kwq_get(&queue, KTIME_MAX);
		finished += kwq_done(&queue, item) == KWQ_FINISHED;
		if (++next == NR_ITEMS)
			next = 0;
	}
	took = bench_since(begun);
	return finished == BENCH_ROUNDS ? took : -EIO;
}

static s64 sample_coalesced(void *data)
{
	int i, coalesced = 0;
	s64 begun, took;

	begun = bench_cpu_ns();
	for (i = 0; i < BENCH_ROUNDS; i++)
		coalesced += kwq_add(&queue, &items[0]) == KWQ_COALESCED;
	took = bench_since(begun);
	return coalesced == BENCH_ROUNDS ? took : -EIO;
}

/**
 * bench_cycle() - measure operations without delays
 *
 * Return: 0 or a negative errno.
 */
int bench_cycle(void)
{
	int i, err;

	for (i = 0; i < NR_ITEMS; i++)
		kwq_item_init(&items[i]);
	kwq_large_queue_init(&large, "kwq_bench", KWQ_CLOCK_MONOTONIC);

	err = bench_sample("clock", sample_clock, NULL);
	if (!err)
		err = bench_sample("lock", sample_lock, NULL);
	if (!err)
		err = bench_sample("cycle", sample_cycle, NULL);
	kwq_add(&queue, &items[0]);
	if (!err)
		err = bench_sample("add.coalesced", sample_coalesced, NULL);
	kwq_queue_destroy(&queue);
	return err;
}

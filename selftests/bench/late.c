// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lateness of delayed items, in ns of the queue's clock, on an idle machine.
 */
#include <linux/completion.h>
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/prandom.h>
#include <linux/sort.h>
#include <linux/time64.h>
#include <linux/wait.h>
#include "bench.h"

#define NR_WAITS	2000

/* Long enough to fall asleep, and not in step with the ticks. */
#define MIN_WAIT_NS	(100 * NSEC_PER_USEC)
#define SPREAD_NS	NSEC_PER_MSEC

static s64 lateness[NR_WAITS];

/*
 * A poller is told of a ready item under the queue's lock, so nobody can get the item
 * earlier. A getter's wake-up would be part of the figure.
 */
struct witness {
	struct wait_queue_entry entry;
	ktime_t seen;
	struct completion ready;
};

static int see(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	struct witness *witness = container_of(entry, struct witness, entry);

	witness->seen = ktime_get();
	complete(&witness->ready);
	return 0;
}

static int wait_once(struct witness *witness, ktime_t when)
{
	struct kwq_item *item = &bench_objects[0].item;
	const struct kwq_add_options options = {
		.flags = KWQ_ADD_AT,
		.time = when,
	};

	reinit_completion(&witness->ready);
	if (kwq_add_with(&bench_queue, item, &options) != KWQ_WAITING)
		return -EIO;
	wait_for_completion(&witness->ready);
	if (kwq_try_get(&bench_queue) != item)
		return -EIO;
	if (kwq_done(&bench_queue, item) != KWQ_FINISHED)
		return -EIO;
	/* Early is an error (D5). */
	return witness->seen < when ? -EIO : 0;
}

static int measure_ready(const struct bench *bench)
{
	struct rnd_state chance;
	struct witness witness;
	int i, err = 0;

	prandom_seed_state(&chance, 1);
	init_completion(&witness.ready);
	init_waitqueue_func_entry(&witness.entry, see);
	add_wait_queue(&bench_large.of_queue.pollers, &witness.entry);
	for (i = 0; i < NR_WAITS && !err; i++) {
		u64 wait = MIN_WAIT_NS + prandom_u32_state(&chance) % SPREAD_NS;
		ktime_t when = ktime_add_ns(ktime_get(), wait);

		err = wait_once(&witness, when);
		lateness[i] = ktime_sub(witness.seen, when);
	}
	remove_wait_queue(&bench_large.of_queue.pollers, &witness.entry);
	if (err)
		return err;

	sort(lateness, NR_WAITS, sizeof(*lateness), bench_compare_samples, NULL);
	err = bench_report("late.ready.p50", lateness[NR_WAITS / 2], "ns");
	if (err)
		return err;
	return bench_report("late.ready.p99", lateness[NR_WAITS * 99 / 100], "ns");
}

const struct bench bench_late_subject[] = {
	{
		.name = "late.ready",
		.begin = bench_begin_queue,
		.measure = measure_ready,
		.end = bench_end_queue,
	},
	{}
};

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds with a delay, with many items waiting and none of the adds the earliest. The
 * comparison is a plain tree of all waiting items, the kernel's timerqueue, with the
 * same lock and clock reading around it.
 *
 * An added item was waiting before, and its removal just before the add does not count.
 */
#include <linux/errno.h>
#include <linux/spinlock.h>
#include <linux/time64.h>
#include "native.h"

/* The times are after the end of the run, and the first one stays the first. */
#define FIRST_NS	(60ULL * NSEC_PER_SEC)
#define SPAN_NS		(3600ULL * NSEC_PER_SEC)

/* The distance of items added one after the other: an order without locality in memory. */
#define STRIDE		7919

static struct kwq_large_queue large;

#define queue	(large.queue)
static struct timerqueue_head tree;
static DEFINE_SPINLOCK(tree_lock);
static unsigned int nr_waiting;
static unsigned int last;

/*
 * How many items are out of the queue at once: few beside the thousand of the smallest row,
 * and enough for two readings of the clock.
 */
#define PIECE		128

static struct bench_wait *chosen[PIECE];
static u64 delays[PIECE];

static u64 some_delay(void)
{
	return FIRST_NS + 1 + bench_some_ns(SPAN_NS);
}

/* Picks items other than the first, none twice in a piece. */
static void choose(void)
{
	int i;

	for (i = 0; i < PIECE; i++) {
		last = (last + STRIDE) % (nr_waiting - 1);
		chosen[i] = bench_wait_at(1 + last);
		delays[i] = some_delay();
	}
}

static s64 add_items(void)
{
	int i, added = 0, removed = 0;
	s64 begun, took;

	choose();
	for (i = 0; i < PIECE; i++)
		removed += kwq_remove(&queue, &chosen[i]->item) == KWQ_WAS_WAITING;
	begun = bench_cpu_ns();
	for (i = 0; i < PIECE; i++)
		added += kwq_add_after(&queue, &chosen[i]->item, delays[i]) == KWQ_WAITING;
	took = bench_since(begun);
	return added == PIECE && removed == PIECE ? took : -EIO;
}

static s64 sample_pieces(void *data)
{
	s64 (*add_piece)(void) = data;
	s64 took, sum = 0;
	int i;

	for (i = 0; i < BENCH_ROUNDS / PIECE; i++) {
		took = add_piece();
		if (took < 0)
			return took;
		sum += took;
	}
	return sum;
}

static int run_items(const char *name)
{
	unsigned int i;
	int err;

	kwq_large_queue_init(&large, "kwq_bench", KWQ_CLOCK_MONOTONIC);
	for (i = 0; i < nr_waiting; i++) {
		kwq_item_init(&bench_wait_at(i)->item);
		kwq_add_after(&queue, &bench_wait_at(i)->item, i ? some_delay() : FIRST_NS);
	}
	err = bench_sample(name, sample_pieces, add_items);
	if (!err && kwq_len(&queue))
		err = -ETIME;
	kwq_queue_destroy(&queue);
	return err;
}

static bool add_plain(struct bench_wait *wait, u64 delay)
{
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&tree_lock, flags);
	wait->plain.node.expires = ktime_add_safe(ktime_get(), delay);
	first = timerqueue_add(&tree, &wait->plain.node);
	spin_unlock_irqrestore(&tree_lock, flags);
	return first;
}

static s64 add_plain_items(void)
{
	int i, first = 0;
	s64 begun, took;

	choose();
	for (i = 0; i < PIECE; i++)
		timerqueue_del(&tree, &chosen[i]->plain.node);
	begun = bench_cpu_ns();
	for (i = 0; i < PIECE; i++)
		first += add_plain(chosen[i], delays[i]);
	took = bench_since(begun);
	return first ? -EIO : took;
}

static int run_plain(const char *name)
{
	unsigned int i;

	timerqueue_init_head(&tree);
	for (i = 0; i < nr_waiting; i++) {
		timerqueue_init(&bench_wait_at(i)->plain.node);
		add_plain(bench_wait_at(i), i ? some_delay() : FIRST_NS);
	}
	return bench_sample(name, sample_pieces, add_plain_items);
}

/**
 * bench_waiting() - measure adds after a delay
 *
 * Return: 0 or a negative errno.
 */
int bench_waiting(void)
{
	char name[32];
	int i, err;

	for (i = 0; i < ARRAY_SIZE(bench_sizes); i++) {
		nr_waiting = bench_sizes[i].nr;
		err = bench_alloc_waits(nr_waiting);
		if (err)
			return err;
		bench_seed();
		snprintf(name, sizeof(name), "add_after.%s", bench_sizes[i].name);
		err = run_items(name);
		if (!err) {
			bench_seed();
			snprintf(name, sizeof(name), "timerqueue.add.%s", bench_sizes[i].name);
			err = run_plain(name);
		}
		bench_free_waits();
		if (err)
			return err;
	}
	return 0;
}

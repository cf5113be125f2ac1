// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of making a due item ready, in the order of the times; and the same for a
 * plain tree.
 *
 * The clock is advanced by hand, so the figure includes no interrupt. It is a mean:
 * sorting many items at once, now and then, is part of each item's cost.
 */
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/spinlock.h>
#include <linux/time64.h>
#include <linux/kwq_test.h>
#include "native.h"

#define SPAN_NS		(3600ULL * NSEC_PER_SEC)

/* About this many items become due at once; one lock hold moves more. */
#define AT_ONCE		64

/* Each item is popped at least once, and this many pops happen in all. */
#define MIN_POPS	100000

static struct kwq_large_queue large;

#define queue	(large.queue)
static struct timerqueue_head tree;
static struct list_head ready;
static DEFINE_SPINLOCK(tree_lock);

static int run_items(const char *name, unsigned int nr)
{
	u64 now = 0, step = div_u64(SPAN_NS * AT_ONCE, nr);
	unsigned int i, popped = 0, pops = max(nr, MIN_POPS);
	struct kwq_item *item;
	s64 begun, took = 0;

	kwq_large_queue_init(&large, "kwq_bench", KWQ_CLOCK_MANUAL);
	for (i = 0; i < nr; i++) {
		kwq_item_init(&bench_wait_at(i)->item);
		kwq_add_after(&queue, &bench_wait_at(i)->item, 1 + bench_some_ns(SPAN_NS));
	}
	while (popped < pops) {
		now += step;
		begun = bench_cpu_ns();
		kwq_queue_advance(&queue, now);
		took += bench_since(begun);
		while (!IS_ERR(item = kwq_try_get(&queue))) {
			kwq_done(&queue, item);
			kwq_add_after(&queue, item, SPAN_NS);
			popped++;
		}
	}
	kwq_queue_destroy(&queue);
	bench_report(name, div_u64(100 * took, popped));
	return 0;
}

static void pop_plain(ktime_t now)
{
	struct timerqueue_node *node;
	struct bench_wait *wait;
	unsigned long flags;

	spin_lock_irqsave(&tree_lock, flags);
	while ((node = timerqueue_getnext(&tree)) && node->expires <= now) {
		timerqueue_del(&tree, node);
		wait = container_of(node, struct bench_wait, plain.node);
		list_add_tail(&wait->plain.link, &ready);
	}
	spin_unlock_irqrestore(&tree_lock, flags);
}

static int run_plain(const char *name, unsigned int nr)
{
	u64 now = 0, step = div_u64(SPAN_NS * AT_ONCE, nr);
	unsigned int i, popped = 0, pops = max(nr, MIN_POPS);
	struct bench_wait *wait;
	s64 begun, took = 0;

	timerqueue_init_head(&tree);
	INIT_LIST_HEAD(&ready);
	for (i = 0; i < nr; i++) {
		wait = bench_wait_at(i);
		timerqueue_init(&wait->plain.node);
		wait->plain.node.expires = 1 + bench_some_ns(SPAN_NS);
		timerqueue_add(&tree, &wait->plain.node);
	}
	while (popped < pops) {
		now += step;
		begun = bench_cpu_ns();
		pop_plain(now);
		took += bench_since(begun);
		while ((wait = list_first_entry_or_null(&ready, struct bench_wait,
							plain.link))) {
			list_del(&wait->plain.link);
			wait->plain.node.expires = now + SPAN_NS;
			timerqueue_add(&tree, &wait->plain.node);
			popped++;
		}
	}
	bench_report(name, div_u64(100 * took, popped));
	return 0;
}

/**
 * bench_pop() - measure the expiry of waiting items
 *
 * Return: 0 or a negative errno.
 */
int bench_pop(void)
{
	char name[32];
	int i, err;

	for (i = 0; i < ARRAY_SIZE(bench_sizes); i++) {
		err = bench_alloc_waits(bench_sizes[i].nr);
		if (err)
			return err;
		bench_seed();
		snprintf(name, sizeof(name), "pop.%s", bench_sizes[i].name);
		err = run_items(name, bench_sizes[i].nr);
		if (!err) {
			bench_seed();
			snprintf(name, sizeof(name), "timerqueue.pop.%s", bench_sizes[i].name);
			err = run_plain(name, bench_sizes[i].nr);
		}
		bench_free_waits();
		if (err)
			return err;
	}
	return 0;
}

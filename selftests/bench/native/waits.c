// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ten million waiting objects, in chunks as large as the kernel allocates at once.
 * vmalloc() would make each page a mapping of the host.
 */
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/math64.h>
#include <linux/prandom.h>
#include "native.h"

#define PIECE_SIZE	(PAGE_SIZE << MAX_PAGE_ORDER)
#define PER_PIECE	((unsigned int)(PIECE_SIZE / sizeof(struct bench_wait)))
#define MAX_PIECES	256

const struct bench_size bench_sizes[5] = {
	{ "1k", 1000 },
	{ "10k", 10 * 1000 },
	{ "100k", 100 * 1000 },
	{ "1m", 1000 * 1000 },
	{ "10m", 10 * 1000 * 1000 },
};

static struct bench_wait *pieces[MAX_PIECES];
static unsigned int nr_pieces;
static struct rnd_state chance;

/**
 * bench_free_waits() - free the objects of bench_alloc_waits()
 */
void bench_free_waits(void)
{
	while (nr_pieces)
		free_pages((unsigned long)pieces[--nr_pieces], MAX_PAGE_ORDER);
}

/**
 * bench_alloc_waits() - allocate waiting objects, uninitialised
 * @nr: their number
 *
 * Return: 0 or a negative errno.
 */
int bench_alloc_waits(unsigned int nr)
{
	unsigned int want = DIV_ROUND_UP(nr, PER_PIECE);

	if (want > MAX_PIECES)
		return -ENOMEM;
	while (nr_pieces < want) {
		pieces[nr_pieces] = (void *)__get_free_pages(GFP_KERNEL, MAX_PAGE_ORDER);
		if (!pieces[nr_pieces]) {
			bench_free_waits();
			return -ENOMEM;
		}
		nr_pieces++;
	}
	return 0;
}

/**
 * bench_wait_at() - look an object of bench_alloc_waits() up
 * @i: its index
 *
 * Return: the object.
 */
struct bench_wait *bench_wait_at(unsigned int i)
{
	return &pieces[i / PER_PIECE][i % PER_PIECE];
}

/**
 * bench_seed() - restart the random numbers, which are the same in every run
 */
void bench_seed(void)
{
	prandom_seed_state(&chance, 1);
}

/**
 * bench_some_ns() - choose a random time
 * @span: its upper bound, exclusive
 *
 * Return: the time.
 */
u64 bench_some_ns(u64 span)
{
	u64 random = prandom_u32_state(&chance);

	return mul_u64_u64_shr(random << 32 | prandom_u32_state(&chance), span, 64);
}

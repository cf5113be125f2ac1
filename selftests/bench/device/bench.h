/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the benchmarks of the device share. A subject has a file of its own; main.c runs
 * them. As the module's they are meant for a machine of one processor whose clock counts
 * instructions.
 */
#ifndef KWQ_DEVICE_BENCH_H
#define KWQ_DEVICE_BENCH_H

#include <stdint.h>
#include <time.h>
#include <x86intrin.h>

#include <kwq.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof(*(array)))

/* As many keys as client-go's figure has, and one sample works on each of them once. */
#define NR_KEYS		100
#define KEY_SIZE_MAX	32

extern char keys[NR_KEYS][KEY_SIZE_MAX];

/* What bench_since() costs by itself. */
extern uint64_t clock_cost;

static inline uint64_t bench_clock(void)
{
	return __rdtsc();
}

static inline int64_t bench_since(uint64_t begun)
{
	uint64_t took = bench_clock() - begun;

	return took - (took < clock_cost ? took : clock_cost);
}

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Prints a message, and what the errno @err says, if it is not 0; ends with status 1. */
void __attribute__((noreturn)) fail(const char *what, int err);

/* @ret: zero or positive, or a negative errno. */
static inline int must(int ret, const char *what)
{
	if (ret < 0)
		fail(what, -ret);
	return ret;
}

/* @ret: of a system call. */
long must_call(long ret, const char *what);

void report(const char *name, double value, const char *unit);

/* Sorts; @part: 0.5 for the median. */
int64_t quantile(int64_t *samples, int nr, double part);

/*
 * Reports a row: the median of 255 samples, after a warm-up. @sample measures once, in
 * clock units for @nr operations.
 */
void measure(const char *name, int nr, int64_t (*sample)(void));

struct kwq *new_queue(void);

/* Closes the queue, of which nothing may be left, after @dones hand-outs that were finished. */
void end_queue(struct kwq *q, uint64_t dones);

void bench_floor(void);
void bench_cycle(void);
void bench_batch(void);
void bench_add(void);
void bench_late(void);
void bench_ipc(void);

#endif /* KWQ_DEVICE_BENCH_H */

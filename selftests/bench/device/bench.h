/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the device's benchmarks. Each subject has a file of its own; main.c runs
 * them. Like the module's benchmarks, they need a machine with one processor whose
 * clock counts instructions.
 */
#ifndef KWQ_DEVICE_BENCH_H
#define KWQ_DEVICE_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <x86intrin.h>

#include <kwq.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof(*(array)))

/* The number of keys in client-go's figure. One sample works on each key once. */
#define NR_KEYS		100
#define KEY_SIZE_MAX	32

extern char keys[NR_KEYS][KEY_SIZE_MAX];

/* The cost of bench_since() itself. */
extern uint64_t clock_cost;

/* No-op instructions. `make bench-profile` counts from the first to the second. */
static inline void bench_mark_begin(void)
{
	asm volatile("nopl 0x6b777101(%%rax)" ::: "memory");
}

static inline void bench_mark_end(void)
{
	asm volatile("nopl 0x6b777102(%%rax)" ::: "memory");
}

static inline uint64_t bench_clock(void)
{
	uint64_t now = __rdtsc();

	bench_mark_begin();
	return now;
}

static inline int64_t bench_since(uint64_t begun)
{
	uint64_t took;

	bench_mark_end();
	took = __rdtsc() - begun;
	return took - (took < clock_cost ? took : clock_cost);
}

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Prints @what, and the text of the errno @err unless it is 0. Ends with status 1. */
void __attribute__((noreturn)) fail(const char *what, int err);

/* Returns @ret, or fails if it is a negative errno. */
static inline int must(int ret, const char *what)
{
	if (ret < 0)
		fail(what, -ret);
	return ret;
}

/* Returns the result of a system call, or fails if it is -1. */
long must_call(long ret, const char *what);

/* Whether to measure the row: $KWQ_ROW names it, or is not set. */
bool is_wanted(const char *name);

void report(const char *name, double value, const char *unit);

/* Sorts the samples and returns a quantile; @part is 0.5 for the median. */
int64_t quantile(int64_t *samples, int nr, double part);

/*
 * Reports a row: the median of 255 samples after a warm-up. @sample measures once, in
 * clock units for @nr operations.
 */
void measure(const char *name, int nr, int64_t (*sample)(void));

struct kwq *new_queue(void);

/* Closes the queue, which must be empty, after @dones hand-outs that were finished. */
void end_queue(struct kwq *q, uint64_t dones);

void bench_floor(void);
void bench_cycle(void);
void bench_curve(void);
void bench_batch(void);
void bench_add(void);
void bench_late(void);
void bench_ipc(void);
void bench_two_by_two(void);
void bench_keys(void);
void bench_hold(void);
void bench_stall(void);
void bench_death(void);

#endif /* KWQ_DEVICE_BENCH_H */

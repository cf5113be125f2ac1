/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Benchmarks of kwq that measure time, for a kernel that runs as a program (User-Mode
 * Linux). The host caches and predicts its code and data like those of any program.
 *
 * The kernel has two processors, which are threads of the host. Interrupts are a variable
 * here, see selftests/machine/uml-ipi.patch. Its memory has pages of 4 KiB, while a kernel on bare
 * metal uses larger ones. Its clock, ktime_get(), is a call of the host's vDSO.
 * selftests/bench/host measures what the core alone costs two processors; selftests/bench
 * counts instructions.
 *
 * The benchmarks measure the processor time of this kernel, but two.c the elapsed time. They
 * never sleep, so on an idle host these are the same.
 */
#ifndef KWQ_BENCH_NATIVE_H
#define KWQ_BENCH_NATIVE_H

#include <linux/ktime.h>
#include <linux/kwq.h>
#include <linux/timekeeping.h>
#include <linux/timerqueue.h>
#include <linux/types.h>

/* An interrupt hits only a few samples, so the median does not show it. */
#define BENCH_SAMPLES	255

/* Operations per sample. There are many, because reading the clock is a system call. */
#define BENCH_ROUNDS	1024

int bench_cycle(void);
int bench_waiting(void);
int bench_pop(void);
int bench_due(void);
int bench_two(void);

void bench_report(const char *name, u64 hundredths);
s64 bench_median(s64 *values, unsigned int nr);
int bench_sample(const char *name, s64 (*sample)(void *data), void *data);

/* The cost of bench_since() itself. */
extern s64 bench_clock_cost;

/* In ns. */
long long bench_cpu_ns(void);

static __always_inline s64 bench_since(s64 begun)
{
	return max(bench_cpu_ns() - begun - bench_clock_cost, 0LL);
}

/**
 * struct bench_wait - an object that waits for a time
 * @item: its item, if it waits in a queue
 * @plain: its members, if it waits in a plain tree
 * @plain.node: used while it waits
 * @plain.link: used while it is ready
 *
 * Both kinds have the same size, and so the same distance in memory.
 */
struct bench_wait {
	union {
		struct kwq_item item;
		struct {
			struct timerqueue_node node;
			struct list_head link;
		} plain;
	};
};

int bench_alloc_waits(unsigned int nr);
void bench_free_waits(void);
struct bench_wait *bench_wait_at(unsigned int i);
u64 bench_some_ns(u64 span);
void bench_seed(void);

/* The numbers of waiting items in the benchmarks. */
extern const struct bench_size {
	const char *name;
	unsigned int nr;
} bench_sizes[5];

#endif /* KWQ_BENCH_NATIVE_H */

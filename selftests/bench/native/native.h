/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The benchmarks of kwq that tell time, for a kernel that runs as a program: User-Mode
 * Linux, whose code and data are the host's to cache and to predict as any program's are.
 *
 * It has one processor, so a spinlock is interrupts off and on again, which there is a
 * variable. Its memory is of pages of 4 KiB, where a kernel on bare metal has its own in
 * larger ones. Its clock, ktime_get(), is a call of the host's vDSO. Processors that wait
 * for each other are the business of selftests/bench/host, instructions that of
 * selftests/bench.
 *
 * What is measured is the time that the processor had for this kernel. Nothing here
 * sleeps, so on a host that has nothing else to do that is the time that went by.
 */
#ifndef KWQ_BENCH_NATIVE_H
#define KWQ_BENCH_NATIVE_H

#include <linux/ktime.h>
#include <linux/kwq.h>
#include <linux/timekeeping.h>
#include <linux/timerqueue.h>
#include <linux/types.h>

/* An interrupt falls into few of the samples, and so does not show. */
#define BENCH_SAMPLES	255

/* Operations in a sample: many, since to look at the clock is a system call. */
#define BENCH_ROUNDS	1024

int bench_cycle(void);
int bench_waiting(void);
int bench_pop(void);
int bench_due(void);

void bench_report(const char *name, u64 hundredths);
s64 bench_median(s64 *values, unsigned int nr);
int bench_sample(const char *name, s64 (*sample)(void *data), void *data);

/* What bench_since() costs by itself. */
extern s64 bench_clock_cost;

/* In ns. */
long long bench_cpu_ns(void);

static __always_inline s64 bench_since(s64 begun)
{
	return max(bench_cpu_ns() - begun - bench_clock_cost, 0LL);
}

/**
 * struct bench_wait - what waits for a time
 * @item: in a queue
 * @plain: instead, in a plain tree
 * @plain.node: while it waits
 * @plain.link: while it is ready
 *
 * The two are of one size, and so as far apart in memory.
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

/* What the tests with waiting items are done with. */
extern const struct bench_size {
	const char *name;
	unsigned int nr;
} bench_sizes[3];

#endif /* KWQ_BENCH_NATIVE_H */

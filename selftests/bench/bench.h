/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by kwq's benchmarks.
 *
 * They run on a machine with one processor whose clock counts instructions: see
 * selftests/bench/bench.sh. Such results are the same in every run, so they can be
 * compared. They do not include cache misses and processors that wait for each other.
 *
 * Each subject has a file of its own with an array of benchmarks; main.c runs them.
 */
#ifndef KWQ_BENCH_H
#define KWQ_BENCH_H

#include <linux/kwq.h>
#include <linux/timex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

/* The largest number of items that are added at once. */
#define BENCH_BURST	64

/**
 * struct bench - a benchmark
 * @name: a row of the file `rows`
 * @rounds: how often a sample repeats what is measured
 * @burst: operations in a round
 * @max_active: the concurrency of the handler or workqueue, if there is one
 * @wq_flags: the flags of that workqueue
 * @max_batch: largest batch of the handler; 0 for a handler of single items
 * @nr_waiting: the number of items that wait during the measurement
 * @small: the queue is a small one (K6)
 * @no_durations: the queue measures no durations
 * @begin: prepares the benchmark; returns 0 or a negative errno
 * @sample: measures once; returns clock units for @rounds x @burst operations, or a
 *	negative errno
 * @measure: replaces @sample: measures everything and reports it; returns 0 or a
 *	negative errno
 * @end: frees everything that @begin made
 */
struct bench {
	const char *name;
	unsigned int rounds;
	unsigned int burst;
	unsigned int max_active;
	unsigned int wq_flags;
	unsigned int max_batch;
	unsigned int nr_waiting;
	bool small;
	bool no_durations;
	int (*begin)(const struct bench *bench);
	s64 (*sample)(const struct bench *bench);
	int (*measure)(const struct bench *bench);
	void (*end)(const struct bench *bench);
};

/* Each array ends with an entry without a name. */
extern const struct bench bench_clock_subject[];
extern const struct bench bench_floor_subject[];
extern const struct bench bench_handler_subject[];
extern const struct bench bench_add_subject[];
extern const struct bench bench_cycle_subject[];
extern const struct bench bench_delay_subject[];
extern const struct bench bench_late_subject[];
extern const struct bench bench_size_subject[];

/**
 * struct bench_object - a driver's object
 * @item: used with kwq
 * @work: used with a plain workqueue
 * @runs: how often the object was processed
 */
struct bench_object {
	struct kwq_item item;
	struct work_struct work;
	u64 runs;
};

/* One object more than a burst, to keep a worker busy. */
extern struct bench_object bench_objects[BENCH_BURST + 1];
extern struct kwq_large_queue bench_large;

/* The queue of most benchmarks; a small one stands alone. */
#define bench_queue	(bench_large.queue)
extern struct workqueue_struct *bench_wq;

/* The memory of the program that loads the module. */
extern struct mm_struct *bench_mm;

int bench_begin_handler(const struct bench *bench);
void bench_end_handler(const struct bench *bench);
int bench_begin_borrowed(const struct bench *bench);
void bench_end_borrowed(const struct bench *bench);
int bench_begin_work(const struct bench *bench);
void bench_end_work(const struct bench *bench);
int bench_begin_queue(const struct bench *bench);
void bench_end_queue(const struct bench *bench);

/* The beginning and end of benchmarks of items of a queue with a handler. */
#define BENCH_ITEMS(nr_rounds, nr, max, flags, fn)	\
	.rounds = nr_rounds,				\
	.burst = nr,					\
	.max_active = max,				\
	.wq_flags = flags,				\
	.begin = bench_begin_handler,			\
	.sample = fn,					\
	.end = bench_end_queue

/* The same for plain work items. */
#define BENCH_WORK(nr_rounds, nr, max, flags, fn)	\
	.rounds = nr_rounds,				\
	.burst = nr,					\
	.max_active = max,				\
	.wq_flags = flags,				\
	.begin = bench_begin_work,			\
	.sample = fn,					\
	.end = bench_end_work

/*
 * Items of a queue whose handler borrows a workqueue. One handler runs at a time; @max is the
 * concurrency of the workqueue.
 */
#define BENCH_BORROWED(nr_rounds, nr, max, flags, batch, fn)	\
	.rounds = nr_rounds,					\
	.burst = nr,						\
	.max_active = max,					\
	.wq_flags = flags,					\
	.max_batch = batch,					\
	.begin = bench_begin_borrowed,				\
	.sample = fn,						\
	.end = bench_end_borrowed

/* Both return whether the object was idle and is now queued. */
static __always_inline bool bench_add_item(struct bench_object *object)
{
	return kwq_add(&bench_queue, &object->item) == KWQ_ADDED;
}

static __always_inline bool bench_add_work(struct bench_object *object)
{
	return queue_work(bench_wq, &object->work);
}

void bench_wait(const struct bench_object *object, u64 runs);

int bench_report(const char *name, u64 value, const char *unit);
int bench_compare_samples(const void *a, const void *b);

/* The cost of bench_since() itself. */
extern u64 bench_clock_cost;

/* No-op instructions. `make bench-profile` counts from the first to the second. */
static __always_inline void bench_mark_begin(void)
{
	asm volatile("nopl 0x6b777101(%%rax)" ::: "memory");
}

static __always_inline void bench_mark_end(void)
{
	asm volatile("nopl 0x6b777102(%%rax)" ::: "memory");
}

static __always_inline u64 bench_clock(void)
{
	u64 now = get_cycles();

	bench_mark_begin();
	return now;
}

/* If the clock does not count instructions, the result may be below 0. */
static __always_inline u64 bench_since(u64 begun)
{
	u64 took;

	bench_mark_end();
	took = get_cycles() - begun;
	return took - min(took, bench_clock_cost);
}

#endif /* KWQ_BENCH_H */

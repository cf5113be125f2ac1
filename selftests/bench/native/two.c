// SPDX-License-Identifier: GPL-2.0-only
/*
 * One queue under two processors: each adds the item that it finished last, and finishes the item
 * that it gets. And two that only add, while nobody gets.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include "native.h"

#define CYCLES	20000

static struct kwq_large_queue large;

#define queue	(large.queue)

static struct bench_thread {
	void (*run)(struct bench_thread *thread);
	struct kwq_item *items;
	u64 wrong;
	u64 ended;
	struct completion finished;
} threads[2] ____cacheline_aligned;

static struct kwq_item items[2][CYCLES];
static atomic_t arrived;

static void run_cycles(struct bench_thread *thread)
{
	struct kwq_item *item = thread->items;
	int i;

	for (i = 0; i < CYCLES; i++) {
		thread->wrong += kwq_add(&queue, item) != KWQ_ADDED;
		item = kwq_get(&queue, KTIME_MAX);
		thread->wrong += kwq_done(&queue, item) != KWQ_FINISHED;
	}
}

static void run_adds(struct bench_thread *thread)
{
	int i;

	for (i = 0; i < CYCLES; i++)
		thread->wrong += kwq_add(&queue, &thread->items[i]) != KWQ_ADDED;
}

static int thread_fn(void *data)
{
	struct bench_thread *thread = data;

	atomic_dec(&arrived);
	/* The task that begins the sample needs a processor. */
	while (atomic_read(&arrived))
		cond_resched();
	thread->run(thread);
	thread->ended = ktime_get_ns();
	complete(&thread->finished);
	return 0;
}

/* Returns ns for each of the 2 * CYCLES; a negative errno. */
static s64 sample(void (*run)(struct bench_thread *thread), unsigned int nr)
{
	struct task_struct *task;
	u64 begun, ended = 0;
	unsigned int n, i;
	s64 err = 0;

	for (n = 0; n < 2; n++)
		for (i = 0; i < CYCLES; i++)
			kwq_item_init(&items[n][i]);
	kwq_large_queue_init(&large, "kwq_bench", KWQ_CLOCK_MONOTONIC);
	atomic_set(&arrived, nr + 1);
	for (n = 0; n < nr; n++) {
		threads[n].run = run;
		threads[n].items = items[n];
		threads[n].wrong = 0;
		init_completion(&threads[n].finished);
		task = kthread_create(thread_fn, &threads[n], "kwq_bench/%u", n);
		if (IS_ERR(task))
			return PTR_ERR(task);
		kthread_bind(task, nr - 1 - n);
		wake_up_process(task);
	}
	while (atomic_read(&arrived) > 1)
		schedule_timeout_uninterruptible(1);
	begun = ktime_get_ns();
	atomic_dec(&arrived);
	for (n = 0; n < nr; n++) {
		wait_for_completion(&threads[n].finished);
		ended = max(ended, threads[n].ended);
		if (threads[n].wrong)
			err = -EIO;
	}
	kwq_queue_destroy(&queue);
	return err ?: ended - begun;
}

static int measure(const char *name, void (*run)(struct bench_thread *thread), unsigned int nr)
{
	static s64 samples[BENCH_SAMPLES];
	int i;

	for (i = -4; i < BENCH_SAMPLES; i++) {
		s64 took = sample(run, nr);

		if (took < 0)
			return took;
		if (i >= 0)
			samples[i] = took;
	}
	bench_report(name, div_u64(100 * bench_median(samples, BENCH_SAMPLES), nr * CYCLES));
	return 0;
}

/**
 * bench_two() - measure one queue under two processors, and the same under one
 *
 * Return: 0 or a negative errno.
 */
int bench_two(void)
{
	int err;

	if (num_online_cpus() < 2)
		return -ENODEV;
	err = measure("alone.cycle", run_cycles, 1);
	if (!err)
		err = measure("two.cycle", run_cycles, 2);
	if (!err)
		err = measure("alone.add", run_adds, 1);
	if (!err)
		err = measure("two.add", run_adds, 2);
	return err;
}

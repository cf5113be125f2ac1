// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs the benchmarks when the module is loaded. The file kwq_bench in debugfs shows
 * the results: name, value and unit, between tabs.
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <uapi/linux/sched/types.h>
#include "bench.h"

/* A tick or an interrupt hits only a few samples, so the median does not show it. */
#define WARM_UP	32
#define SAMPLES	255

#define MAX_RESULTS	64

static const struct bench *const subjects[] = {
	bench_clock_subject,
	bench_size_subject,
	bench_floor_subject,
	bench_handler_subject,
	bench_add_subject,
	bench_cycle_subject,
	bench_delay_subject,
	bench_late_subject,
};

static struct bench_result {
	const char *name;
	u64 hundredths;
	const char *unit;
} results[MAX_RESULTS];
static unsigned int nr_results;

static s64 samples[SAMPLES];
static char *only;
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "the one row to be measured");

static struct dentry *file;
u64 bench_clock_cost;
struct mm_struct *bench_mm;

/**
 * bench_compare_samples() - compare two samples for sort()
 * @a: an s64
 * @b: another s64
 *
 * Return: less than 0, 0, or greater than 0, as *@a is less than, equal to, or greater
 * than *@b.
 */
int bench_compare_samples(const void *a, const void *b)
{
	s64 x = *(const s64 *)a, y = *(const s64 *)b;

	return x < y ? -1 : x > y;
}

static int add_result(const char *name, u64 hundredths, const char *unit)
{
	if (nr_results == MAX_RESULTS)
		return -ENOSPC;
	results[nr_results++] = (struct bench_result){ name, hundredths, unit };
	return 0;
}

/**
 * bench_report() - report a figure of a benchmark with a @measure function
 * @name: a row of the file `rows`, a constant
 * @value: the value
 * @unit: its unit, a constant
 *
 * Return: 0 or a negative errno.
 */
int bench_report(const char *name, u64 value, const char *unit)
{
	return add_result(name, 100 * value, unit);
}

static int take_samples(const struct bench *bench)
{
	int i;

	for (i = -WARM_UP; i < SAMPLES; i++) {
		s64 took = bench->sample(bench);

		if (took < 0)
			return took;
		if (i >= 0)
			samples[i] = took;
	}
	sort(samples, SAMPLES, sizeof(*samples), bench_compare_samples, NULL);
	return 0;
}

static int run(const struct bench *bench)
{
	int err;

	if (only && strcmp(only, bench->name))
		return 0;
	err = bench->begin ? bench->begin(bench) : 0;
	if (err)
		return err;
	err = bench->measure ? bench->measure(bench) : take_samples(bench);
	if (bench->end)
		bench->end(bench);
	if (err || bench->measure)
		return err;
	return add_result(bench->name, div_u64(100 * samples[SAMPLES / 2],
					       bench->rounds * bench->burst), "insn");
}

/* The rest of two readings of the clock with nothing between them. */
static void measure_clock(void)
{
	int i;

	bench_clock_cost = 0;
	for (i = 0; i < SAMPLES; i++) {
		u64 begun = bench_clock();

		samples[i] = bench_since(begun);
	}
	sort(samples, SAMPLES, sizeof(*samples), bench_compare_samples, NULL);
	bench_clock_cost = samples[SAMPLES / 2];
}

static int run_all(void)
{
	const struct bench *bench;
	int i, err;

	measure_clock();
	for (i = 0; i < ARRAY_SIZE(subjects); i++) {
		for (bench = subjects[i]; bench->name; bench++) {
			err = run(bench);
			if (err) {
				pr_err("kwq_bench: %s: error %d\n", bench->name, err);
				return err;
			}
		}
	}
	return 0;
}

struct bench_thread {
	struct completion finished;
	int err;
};

/* bench_wait() explains SCHED_IDLE. */
static int thread_fn(void *data)
{
	const struct sched_attr attr = { .sched_policy = SCHED_IDLE };
	struct bench_thread *thread = data;

	thread->err = sched_setattr_nocheck(current, &attr);
	if (!thread->err)
		thread->err = run_all();
	kthread_complete_and_exit(&thread->finished, 0);
	return 0;
}

static int kwq_bench_show(struct seq_file *seq, void *unused)
{
	const struct bench_result *result;
	u64 whole;
	u32 rest;

	for (result = results; result < results + nr_results; result++) {
		whole = div_u64_rem(result->hundredths, 100, &rest);
		seq_printf(seq, "%s\t%llu.%02u\t%s\n", result->name, whole, rest,
			   result->unit);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(kwq_bench);

static int __init kwq_bench_init(void)
{
	struct bench_thread thread;
	struct task_struct *task;

	/* A worker must not run before the adder yields. */
	if (num_online_cpus() != 1) {
		pr_err("kwq_bench: wants a machine of one processor\n");
		return -EINVAL;
	}
	bench_mm = current->mm;
	init_completion(&thread.finished);
	task = kthread_run(thread_fn, &thread, "kwq_bench");
	if (IS_ERR(task))
		return PTR_ERR(task);
	wait_for_completion(&thread.finished);
	if (thread.err)
		return thread.err;
	file = debugfs_create_file("kwq_bench", 0444, NULL, NULL, &kwq_bench_fops);
	return PTR_ERR_OR_ZERO(file);
}
module_init(kwq_bench_init);

static void __exit kwq_bench_exit(void)
{
	debugfs_remove(file);
}
module_exit(kwq_bench_exit);

MODULE_DESCRIPTION("Benchmarks of kwq");
MODULE_LICENSE("GPL");

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The core under two threads of the host on two processors, which share its lock. This
 * measures the cost of memory between processors. A machine with one processor, or a
 * count of instructions, cannot show it. selftests/models/core/Makefile builds it.
 *
 *   contend [PREFIX]
 *
 * prints a line for each figure: name, value and unit between tabs.
 *
 * The lock is a ticket lock: first come, first served, by one atomic addition on the
 * lock's word, on which the second processor spins. The kernel's queued spinlock does
 * the same for two processors; its queue begins with the third. The lock lies beside
 * the core, as in struct kwq_queue. Not modelled: interrupts off, sleepers and the
 * timer.
 *
 * A sample counts only if both threads kept their processors. Other work on the host
 * costs measuring time and caches, but does not separate the two threads.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <x86intrin.h>
#include <uapi/linux/kwq.h>
#include "core/core.h"
#include "tests/core/core_calls.h"

#define CACHE_LINE	64

#define BATCH		32
#define SAMPLES		101
/*
 * Cycles per sample and thread, about 100 us: much less than a time slice of the
 * scheduler.
 */
#define CYCLES		512
/* If no sample is good for this long, the host has no two processors to spare. */
#define MAX_SECONDS	60

struct ticket_lock {
	atomic_ushort next;
	atomic_ushort owner;
};

static struct {
	struct ticket_lock lock;
	struct kwq_bulk bulk;
	struct kwq_core core;
} queue __attribute__((aligned(CACHE_LINE)));

/**
 * struct thread - a thread that works on the queue
 * @items: the items that it adds: those that it got last
 * @holder: the holder of these items
 * @cpu: the processor of the thread
 * @way: the work of the thread
 * @began: the time at which this thread began the sample
 * @ended: the time at which this thread ended the sample
 * @disturbed: the thread lost its processor during the sample
 */
struct thread {
	struct kwq_item *items[BATCH];
	struct kwq_holder holder;
	int cpu;
	const struct way *way;
	int64_t began;
	int64_t ended;
	bool disturbed;
} __attribute__((aligned(CACHE_LINE)));

/**
 * struct way - a way to work
 * @name: a row, without the common prefix
 * @nr_threads: the number of threads
 * @batch: the number of items per operation
 * @run: runs CYCLES cycles of a thread
 */
struct way {
	const char *name;
	int nr_threads;
	int batch;
	void (*run)(struct thread *thread);
};

static struct kwq_item all_items[2][BATCH] __attribute__((aligned(CACHE_LINE)));
static atomic_int arrived;
static const char *prefix = "";

__attribute__((noreturn))
static void die(const char *why)
{
	fprintf(stderr, "contend: %s\n", why);
	exit(1);
}

static void lock_queue(void)
{
	unsigned short ticket = atomic_fetch_add_explicit(&queue.lock.next, 1,
							  memory_order_relaxed);

	while (atomic_load_explicit(&queue.lock.owner, memory_order_acquire) != ticket)
		_mm_pause();
}

static void unlock_queue(void)
{
	unsigned short ticket = atomic_load_explicit(&queue.lock.owner,
						     memory_order_relaxed);

	atomic_store_explicit(&queue.lock.owner, ticket + 1, memory_order_release);
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

static void add_batch(struct thread *thread, int64_t now)
{
	int i;

	for (i = 0; i < thread->way->batch; i++)
		if (kwq_core_add(&queue.core, thread->items[i], KWQ_PRIORITY_NONE, false,
				 now) != KWQ_ADDED)
			die("what was done was not idle");
}

static void get_batch(struct thread *thread, int64_t now)
{
	int i;

	for (i = 0; i < thread->way->batch; i++) {
		thread->items[i] = kwq_test_get(&queue.core, &thread->holder, now);
		if (!thread->items[i])
			die("what was added was not ready");
	}
}

static void done_batch(struct thread *thread, int64_t now)
{
	int i;

	for (i = 0; i < thread->way->batch; i++)
		if (kwq_core_done(&queue.core, &thread->holder, thread->items[i],
				  now) != KWQ_FINISHED)
			die("what was got was not being processed");
}

/* The clock is read once in each hold, so times follow the order of the holds. */
static void run_in_one_hold(struct thread *thread)
{
	int64_t now;
	int i;

	for (i = 0; i < CYCLES / thread->way->batch; i++) {
		lock_queue();
		now = now_ns();
		add_batch(thread, now);
		get_batch(thread, now);
		done_batch(thread, now);
		unlock_queue();
	}
}

/*
 * A thread gets the first item, even if the other thread added it, and adds the same
 * item next. So the two never add the same item, and every get finds an item.
 */
static void run_in_three_holds(struct thread *thread)
{
	int i;

	for (i = 0; i < CYCLES / thread->way->batch; i++) {
		lock_queue();
		add_batch(thread, now_ns());
		unlock_queue();
		lock_queue();
		get_batch(thread, now_ns());
		unlock_queue();
		lock_queue();
		done_batch(thread, now_ns());
		unlock_queue();
	}
}

/* The lock and nothing else: the least that three holds take. */
static void run_in_empty_holds(struct thread *thread)
{
	int i;

	for (i = 0; i < 3 * CYCLES / thread->way->batch; i++) {
		lock_queue();
		unlock_queue();
	}
}

static const struct way ways[] = {
	{ "one.lock", 1, 1, run_in_empty_holds },
	{ "one.calls", 1, 1, run_in_three_holds },
	{ "one.hold", 1, 1, run_in_one_hold },
	{ "one.hold.32", 1, BATCH, run_in_one_hold },
	{ "two.lock", 2, 1, run_in_empty_holds },
	{ "two.calls", 2, 1, run_in_three_holds },
	{ "two.calls.32", 2, BATCH, run_in_three_holds },
	{ "two.hold", 2, 1, run_in_one_hold },
	{ "two.hold.32", 2, BATCH, run_in_one_hold },
};

static long switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static void *thread_fn(void *data)
{
	struct thread *thread = data;
	cpu_set_t cpus;
	long before;

	CPU_ZERO(&cpus);
	CPU_SET(thread->cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		die("a thread cannot have a processor of its own");
	/* Trains the processor, so that the first cycles are not slower. */
	thread->way->run(thread);

	before = switches();
	atomic_fetch_add(&arrived, 1);
	while (atomic_load(&arrived) < thread->way->nr_threads)
		_mm_pause();
	thread->began = now_ns();
	thread->way->run(thread);
	thread->ended = now_ns();
	thread->disturbed = switches() != before;
	return NULL;
}

/* The ns of a sample; less than 0 if the sample is not valid. */
static int64_t sample(const struct way *way, const int *cpus)
{
	static struct thread threads[2];
	int64_t began = INT64_MAX, ended = 0;
	pthread_t ids[2];
	bool good = true;
	int i, k;

	kwq_core_init(&queue.core, KWQ_LARGE);
	atomic_store(&arrived, 0);
	for (i = 0; i < way->nr_threads; i++) {
		kwq_holder_init(&threads[i].holder);
		threads[i].way = way;
		threads[i].cpu = cpus[i];
		for (k = 0; k < BATCH; k++) {
			kwq_item_init(&all_items[i][k]);
			threads[i].items[k] = &all_items[i][k];
		}
	}
	for (i = 0; i < way->nr_threads; i++)
		if (pthread_create(&ids[i], NULL, thread_fn, &threads[i]))
			die("there is no thread to be had");
	for (i = 0; i < way->nr_threads; i++) {
		pthread_join(ids[i], NULL);
		began = threads[i].began < began ? threads[i].began : began;
		ended = threads[i].ended > ended ? threads[i].ended : ended;
		good &= !threads[i].disturbed;
	}
	return good ? ended - began : -1;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void measure(const struct way *way, const int *cpus)
{
	int64_t took[SAMPLES], until = now_ns() + MAX_SECONDS * NSEC_PER_SEC;
	int nr = 0;

	while (nr < SAMPLES) {
		if (now_ns() > until)
			die("the host is too busy for two threads to run at once");
		took[nr] = sample(way, cpus);
		nr += took[nr] >= 0;
	}
	qsort(took, nr, sizeof(*took), compare);
	printf("%s%s\t%.2f\tns\n", prefix, way->name,
	       (double)took[nr / 2] / (way->nr_threads * CYCLES));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	cpu_set_t allowed;
	int cpus[2], nr = 0;
	size_t i;

	if (argc > 1)
		prefix = argv[1];
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		die("there is no telling which processors there are");
	for (i = 0; i < CPU_SETSIZE && nr < 2; i++)
		if (CPU_ISSET(i, &allowed))
			cpus[nr++] = i;
	if (nr < 2)
		die("two threads want two processors");
	for (i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		measure(&ways[i], cpus);
	return 0;
}

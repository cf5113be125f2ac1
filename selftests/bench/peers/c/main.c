// SPDX-License-Identifier: GPL-2.0-only
/*
 * The peer in C.
 *
 *   peer-c [-i] [-p PREFIX] TEST...
 *
 * prints a line for each figure: name, value and unit between tabs. With -i it counts
 * instructions, on a machine whose clock advances by one per instruction.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>
#include "queue.h"

/* A tick or an interrupt hits only a few samples, so the median does not show it. */
#define WARM_UP		32
#define SAMPLES		255

/* The keys take turns, like those of a controller. */
#define SOME_KEYS	100
/* Operations per sample. */
#define ROUNDS		64
/* The least delay of a key that does not become due during a test. */
#define FAR		(3600 * NSEC_PER_SEC)
/* Includes the terminating NUL. */
#define KEY_SIZE	9

static const char *prefix = "";
static bool instructions;
static uint64_t clock_cost;

static void report(const char *name, double value, const char *unit)
{
	printf("%sc.%s\t%.2f\t%s\n", prefix, name, value, unit);
	fflush(stdout);
}

static uint64_t clock_now(void)
{
	return instructions ? __rdtsc() : (uint64_t)now_ns();
}

static uint64_t clock_since(uint64_t begun)
{
	uint64_t took = clock_now() - begun;

	return took - MIN(took, clock_cost);
}

static const char *clock_unit(void)
{
	return instructions ? "insn" : "ns";
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t median(uint64_t *values, int nr)
{
	qsort(values, nr, sizeof(*values), compare);
	return values[nr / 2];
}

/* The rest of two readings with nothing between them. */
static void measure_clock(void)
{
	uint64_t took[SAMPLES];
	int i;

	clock_cost = 0;
	for (i = 0; i < SAMPLES; i++)
		took[i] = clock_since(clock_now());
	clock_cost = median(took, SAMPLES);
}

static double sample_some(int warm_up, int samples, int operations,
			  uint64_t (*fn)(void *data), void *data)
{
	uint64_t took[SAMPLES];
	int i;

	for (i = 0; i < warm_up; i++)
		fn(data);
	for (i = 0; i < samples; i++)
		took[i] = fn(data);
	return (double)median(took, samples) / operations;
}

static char (*make_keys(int nr))[KEY_SIZE]
{
	char (*keys)[KEY_SIZE] = g_malloc_n(nr, sizeof(*keys));
	int i;

	for (i = 0; i < nr; i++)
		snprintf(keys[i], sizeof(keys[i]), "k%07d", i % 10000000);
	return keys;
}

/* The same times in every run. */
static int64_t some_time(void)
{
	static uint64_t chance = 1;

	/* Knuth's linear congruential generator; its upper half is good. */
	chance = chance * 6364136223846793005 + 1442695040888963407;
	return now_ns() + FAR + NSEC_PER_SEC + 838 * (int64_t)(chance >> 32);
}

struct cycle {
	struct queue queue;
	char (*keys)[KEY_SIZE];
	int next;
};

static uint64_t sample_cycle(void *data)
{
	struct cycle *cycle = data;
	uint64_t begun = clock_now();
	int i;

	for (i = 0; i < ROUNDS; i++) {
		queue_add(&cycle->queue, cycle->keys[cycle->next]);
		queue_done(&cycle->queue, queue_get(&cycle->queue));
		if (++cycle->next == SOME_KEYS)
			cycle->next = 0;
	}
	return clock_since(begun);
}

static void test_cycle(const char *name)
{
	struct cycle cycle = { .keys = make_keys(SOME_KEYS) };

	queue_init(&cycle.queue);
	report(name, sample_some(WARM_UP, SAMPLES, ROUNDS, sample_cycle, &cycle),
	       clock_unit());
	queue_destroy(&cycle.queue);
	g_free(cycle.keys);
}

static uint64_t sample_coalesced(void *data)
{
	struct cycle *cycle = data;
	uint64_t begun = clock_now();
	int i;

	for (i = 0; i < ROUNDS; i++)
		queue_add(&cycle->queue, cycle->keys[0]);
	return clock_since(begun);
}

static void test_coalesced(const char *name)
{
	struct cycle cycle = { .keys = make_keys(1) };

	queue_init(&cycle.queue);
	queue_add(&cycle.queue, cycle.keys[0]);
	report(name, sample_some(WARM_UP, SAMPLES, ROUNDS, sample_coalesced, &cycle),
	       clock_unit());
	queue_destroy(&cycle.queue);
	g_free(cycle.keys);
}

struct add_after {
	struct delaying_queue delaying;
	char (*keys)[KEY_SIZE];
	int next;
};

static uint64_t sample_add_after(void *data)
{
	struct add_after *add_after = data;
	int64_t times[ROUNDS];
	uint64_t begun;
	int i;

	for (i = 0; i < ROUNDS; i++)
		times[i] = some_time();
	begun = clock_now();
	for (i = 0; i < ROUNDS; i++)
		delaying_queue_add_at(&add_after->delaying,
				      add_after->keys[add_after->next++], times[i]);
	return clock_since(begun);
}

/* Added keys stay: in the end a few more than @nr are waiting. */
static void test_add_after(const char *name, int nr)
{
	const int more = 2000 / ROUNDS;
	struct add_after *add_after = g_new0(struct add_after, 1);

	add_after->keys = make_keys(nr + (more + 1) * ROUNDS);
	delaying_queue_init(&add_after->delaying);
	delaying_queue_add_at(&add_after->delaying, add_after->keys[0], now_ns() + FAR);
	for (add_after->next = 1; add_after->next < nr; add_after->next++)
		delaying_queue_add_at(&add_after->delaying,
				      add_after->keys[add_after->next], some_time());
	report(name, sample_some(1, more, ROUNDS, sample_add_after, add_after),
	       clock_unit());
	delaying_queue_destroy(&add_after->delaying);
	g_free(add_after->keys);
	g_free(add_after);
}

static void test_add_after_10k(const char *name)
{
	test_add_after(name, 10000);
}

static void test_add_after_100k(const char *name)
{
	test_add_after(name, 100000);
}

static void test_add_after_1m(const char *name)
{
	test_add_after(name, 1000000);
}

static void sleep_until(int64_t when)
{
	struct timespec until = { .tv_sec = when / NSEC_PER_SEC, .tv_nsec = when % NSEC_PER_SEC };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
		;
}

/* The time from the due time of @nr keys until all of them are ready. */
static void test_due(const char *name, int nr)
{
	int64_t due = now_ns() + NSEC_PER_SEC / 10 + nr * 5000LL;
	struct delaying_queue *delaying = g_new0(struct delaying_queue, 1);
	char (*keys)[KEY_SIZE] = make_keys(nr);
	int i;

	delaying_queue_init(delaying);
	for (i = 0; i < nr; i++)
		delaying_queue_add_at(delaying, keys[i], due);
	if (now_ns() >= due)
		g_error("%s: the keys came due before all of them were added", name);
	sleep_until(due);
	while (queue_len(&delaying->queue) != (size_t)nr)
		usleep(100);
	report(name, now_ns() - due, "ns");
	delaying_queue_destroy(delaying);
	g_free(delaying);
	g_free(keys);
}

static void test_due_100k(const char *name)
{
	test_due(name, 100000);
}

static void test_due_1m(const char *name)
{
	test_due(name, 1000000);
}

#define NR_LATE	1000

/* The lateness of a due key at a task that sleeps in a get. */
static void test_late(const char *name)
{
	struct delaying_queue *delaying = g_new0(struct delaying_queue, 1);
	char (*keys)[KEY_SIZE] = make_keys(NR_LATE);
	int64_t now = now_ns();
	int64_t ready_at[NR_LATE];
	uint64_t late[NR_LATE];
	const char *key;
	int i;

	delaying_queue_init(delaying);
	for (i = 0; i < NR_LATE; i++) {
		ready_at[i] = now + NSEC_PER_SEC / 10 + i * 1000000LL + rand() % 1000000;
		delaying_queue_add_at(delaying, keys[i], ready_at[i]);
	}
	for (i = 0; i < NR_LATE; i++) {
		key = queue_get(&delaying->queue);
		late[i] = now_ns() - ready_at[(key - keys[0]) / KEY_SIZE];
		queue_done(&delaying->queue, key);
	}
	report("late.p50", median(late, NR_LATE), "ns");
	report("late.p99", late[NR_LATE * 99 / 100], "ns");
	delaying_queue_destroy(delaying);
	g_free(delaying);
	g_free(keys);
	(void)name;
}

#define TWO_CYCLES	20000

struct two {
	struct queue *queue;
	const char *key;
};

/*
 * Adds the key that it finished last, and finishes the key that it gets. No add is of a
 * key that the other thread has, so no get has to wait.
 */
static void *cycle_fn(void *data)
{
	struct two *two = data;
	int i;

	for (i = 0; i < TWO_CYCLES; i++) {
		queue_add(two->queue, two->key);
		two->key = queue_get(two->queue);
		queue_done(two->queue, two->key);
	}
	return NULL;
}

struct job {
	void *(*fn)(void *data);
	void *data;
};

/* The time until all jobs, which run concurrently, have returned. */
static uint64_t wall_of(const struct job *jobs, int nr)
{
	uint64_t begun = clock_now();
	pthread_t threads[4];
	int i;

	for (i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, jobs[i].fn, jobs[i].data))
			g_error("there is no thread to be had");
	for (i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	return clock_since(begun);
}

static uint64_t sample_two_cycle(void *data)
{
	char (*keys)[KEY_SIZE] = make_keys(2);
	struct two two[] = { { data, keys[0] }, { data, keys[1] } };
	struct job jobs[] = { { cycle_fn, &two[0] }, { cycle_fn, &two[1] } };
	uint64_t took;

	took = wall_of(jobs, G_N_ELEMENTS(jobs));
	g_free(keys);
	return took;
}

static void test_two_cycle(const char *name)
{
	struct queue queue;

	queue_init(&queue);
	report(name, sample_some(2, 15, 2 * TWO_CYCLES, sample_two_cycle, &queue),
	       clock_unit());
	queue_destroy(&queue);
}

#define EACH	50000

struct producer {
	struct queue *queue;
	char (*keys)[KEY_SIZE];
	pthread_barrier_t *end;
};

static void *produce_fn(void *data)
{
	struct producer *producer = data;
	int i;

	for (i = 0; i < EACH; i++)
		queue_add(producer->queue, producer->keys[i]);
	/* Keys that are ready when both have added all are still handed out. */
	pthread_barrier_wait(producer->end);
	queue_shut_down(producer->queue);
	return NULL;
}

static void *consume_fn(void *data)
{
	const char *key;

	while ((key = queue_get(data)))
		queue_done(data, key);
	return NULL;
}

/* Two producers, each with its own keys, and two consumers. */
static uint64_t sample_two_by_two(void *data)
{
	struct queue queue;
	char (*keys)[KEY_SIZE] = data;
	struct producer producers[2];
	const struct job jobs[] = {
		{ produce_fn, &producers[0] },
		{ produce_fn, &producers[1] },
		{ consume_fn, &queue },
		{ consume_fn, &queue },
	};
	pthread_barrier_t end;
	uint64_t took;

	queue_init(&queue);
	pthread_barrier_init(&end, NULL, 2);
	producers[0] = (struct producer){ &queue, keys, &end };
	producers[1] = (struct producer){ &queue, keys + EACH, &end };
	took = wall_of(jobs, G_N_ELEMENTS(jobs));
	pthread_barrier_destroy(&end);
	queue_destroy(&queue);
	return took;
}

static void test_two_by_two(const char *name)
{
	char (*keys)[KEY_SIZE] = make_keys(2 * EACH);

	report(name, sample_some(1, 9, 2 * EACH, sample_two_by_two, keys), clock_unit());
	g_free(keys);
}

static const struct test {
	const char *name;
	void (*fn)(const char *name);
} tests[] = {
	{ "cycle", test_cycle },
	{ "coalesced", test_coalesced },
	{ "add_after.10k", test_add_after_10k },
	{ "add_after.100k", test_add_after_100k },
	{ "add_after.1m", test_add_after_1m },
	{ "due.100k", test_due_100k },
	{ "due.1m", test_due_1m },
	{ "late", test_late },
	{ "two.cycle", test_two_cycle },
	{ "two_by_two", test_two_by_two },
};

static void run(const char *name)
{
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(tests); i++) {
		if (!strcmp(tests[i].name, name)) {
			tests[i].fn(name);
			return;
		}
	}
	fprintf(stderr, "peer-c: there is no test %s\n", name);
	exit(1);
}

int main(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "ip:")) != -1) {
		switch (option) {
		case 'i':
			instructions = true;
			break;
		case 'p':
			prefix = optarg;
			break;
		default:
			return 1;
		}
	}
	measure_clock();
	for (; optind < argc; optind++)
		run(argv[optind]);
	return 0;
}

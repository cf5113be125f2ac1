// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of a cycle as the queue grows: beside other keys, and among handles that wait in a
 * get.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

#define KEY_LEN		8
#define MOST_GETTERS	64
#define STACK		65536

static struct kwq *queue;
static uint64_t cycles;

static int64_t sample_cycle(void)
{
	struct kwq_item item;
	char key[KEY_LEN];
	uint64_t begun;

	begun = bench_clock();
	for (int i = 0; i < NR_KEYS; i++) {
		must(kwq_add(queue, keys[i], KEY_LEN), "kwq_add");
		must(kwq_get(queue, &item, key, sizeof(key), KWQ_NO_DEADLINE), "kwq_get");
		must(kwq_done(queue, item.ticket), "kwq_done");
	}
	cycles += NR_KEYS;
	return bench_since(begun);
}

/* The other keys are ready, too. They have the lowest priority, so that none is handed out. */
static void add_others(unsigned int nr)
{
	const struct kwq_add_options last = {
		.size = sizeof(last),
		.flags = KWQ_ADD_PRIORITY,
		.priority = KWQ_PRIORITY_MIN,
	};
	char key[KEY_LEN + 1];

	for (unsigned int i = 0; i < nr; i++) {
		snprintf(key, sizeof(key), "other%03x", i & 0xfff);
		key[3] = i >> 12;
		key[4] = i >> 20;
		must(kwq_add_with(queue, key, KEY_LEN, &last), "kwq_add_with");
	}
}

/* @nr counts the key of the cycle. */
static void measure_beside(const char *name, unsigned int nr)
{
	struct kwq_stat st = { .size = sizeof(st) };

	if (!is_wanted(name))
		return;
	queue = new_queue();
	cycles = 0;
	add_others(nr - 1);
	measure(name, NR_KEYS, sample_cycle);
	must(kwq_stat(queue, &st), "kwq_stat");
	if (st.items != nr - 1 || st.dones != cycles)
		fail("the queue has not done what was measured", 0);
	kwq_close(queue);
}

/*
 * A worker with a handle of its own. It is a real-time task, so the main thread runs only while
 * all workers wait.
 */
static void *work(void *unused)
{
	const struct sched_param first = { .sched_priority = 1 };
	struct kwq *own;
	struct kwq_item item;
	char key[KEY_LEN];

	(void)unused;
	must_call(sched_setscheduler(0, SCHED_FIFO, &first), "sched_setscheduler");
	must(kwq_reopen(&own, queue, KWQ_RIGHT_READ, O_CLOEXEC), "kwq_reopen");
	while (kwq_get(own, &item, key, sizeof(key), KWQ_NO_DEADLINE) >= 0)
		must(kwq_done(own, item.ticket), "kwq_done");
	kwq_close(own);
	return NULL;
}

/* Each add wakes a worker, which gets the key, finishes it and waits again. */
static int64_t sample_hand_over(void)
{
	uint64_t begun;
	int64_t took;

	begun = bench_clock();
	for (int i = 0; i < NR_KEYS; i++)
		must(kwq_add(queue, keys[i], KEY_LEN), "kwq_add");
	took = bench_since(begun);
	cycles += NR_KEYS;
	if (kwq_len(queue))
		fail("a worker has not run", 0);
	return took;
}

static void measure_blocked(const char *name, int nr)
{
	struct kwq_stat st = { .size = sizeof(st) };
	pthread_t workers[MOST_GETTERS];
	pthread_attr_t attr;

	if (!is_wanted(name))
		return;
	queue = new_queue();
	cycles = 0;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (int i = 0; i < nr; i++)
		must(-pthread_create(&workers[i], &attr, work, NULL), "pthread_create");
	pthread_attr_destroy(&attr);
	/* Until each has its handle. */
	do {
		sched_yield();
		must(kwq_stat(queue, &st), "kwq_stat");
	} while (st.handles != 1U + nr);
	measure(name, NR_KEYS, sample_hand_over);
	must(kwq_stat(queue, &st), "kwq_stat");
	if (st.dones != cycles)
		fail("the queue has not done what was measured", 0);
	must(kwq_shut_down(queue), "kwq_shut_down");
	for (int i = 0; i < nr; i++)
		pthread_join(workers[i], NULL);
	kwq_close(queue);
}

void bench_curve(void)
{
	measure_beside("curve.keys.1", 1);
	measure_beside("curve.keys.1k", 1000);
	measure_beside("curve.keys.100k", 100000);
	measure_blocked("curve.blocked.1", 1);
	measure_blocked("curve.blocked.8", 8);
	measure_blocked("curve.blocked.64", 64);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The longest time that a runnable task waits for the processor while delays end, in
 * all queues together. The task does nothing but read the clock. The longest time
 * between two readings is the time that others took. As many timerfds are measured as well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "bench.h"

#define NR_ITEMS	262144
#define MAX_QUEUES	4096
#define BATCH		64
#define KEY_LEN		8

/* Longer than it takes to add the items. */
#define HEAD_START_NS	1000000000

/*
 * The task asks at this interval how far the queues are; the figure includes one
 * question.
 */
#define LOOK_NS		100000

static struct kwq *queues[MAX_QUEUES];
static char added[BATCH * KEY_LEN + 1];
static struct kwq_add_entry entries[BATCH];
static __s32 results[BATCH];

static void add_items(struct kwq *q, int nr, uint64_t when)
{
	struct kwq_batch batch = {
		.entries = kwq_ptr(entries),
		.keys = kwq_ptr(added),
		.results = kwq_ptr(results),
		.entry_size = sizeof(*entries),
	};

	for (int i = 0; i < nr; i += batch.nr) {
		batch.nr = nr - i < BATCH ? nr - i : BATCH;
		batch.keys_len = batch.nr * KEY_LEN;
		for (__u32 j = 0; j < batch.nr; j++) {
			entries[j] = (struct kwq_add_entry){
				.key_len = KEY_LEN,
				.flags = KWQ_ADD_AT,
				.time = when,
			};
			snprintf(added + j * KEY_LEN, KEY_LEN + 1, "%08d", i + j);
		}
		if (must(kwq_add_batch(q, &batch), "kwq_add_batch") != (int)batch.nr)
			fail("a batch was not taken as a whole", 0);
		for (__u32 j = 0; j < batch.nr; j++)
			if (results[j] != KWQ_WAITING)
				fail("the time had come already", 0);
	}
}

/* Reads the clock until all items are ready. */
static uint64_t longest_gap(int nr_queues, int each)
{
	uint64_t last = now_ns(), longest = 0, look = last + LOOK_NS, now;
	int done = 0;

	while (done < nr_queues) {
		now = now_ns();
		if (now - last > longest)
			longest = now - last;
		last = now;
		if (now < look)
			continue;
		look = now + LOOK_NS;
		done += must(kwq_len(queues[done]), "kwq_len") == each;
	}
	return longest;
}

static void measure_stall(const char *name, int nr_queues, int each)
{
	uint64_t when;

	for (int i = 0; i < nr_queues; i++)
		queues[i] = new_queue();
	when = now_ns() + HEAD_START_NS;
	for (int i = 0; i < nr_queues; i++)
		add_items(queues[i], each, when);
	report(name, longest_gap(nr_queues, each), "ns");
	for (int i = 0; i < nr_queues; i++)
		kwq_close(queues[i]);
}

/* Reads the clock until some time after they are due. */
static void measure_timerfds(void)
{
	static int fds[MAX_QUEUES];
	uint64_t when = now_ns() + HEAD_START_NS, last, now, longest = 0;
	const struct itimerspec due = {
		.it_value = { .tv_sec = when / 1000000000, .tv_nsec = when % 1000000000 },
	};

	for (int i = 0; i < MAX_QUEUES; i++) {
		fds[i] = must_call(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), "timerfd_create");
		must_call(timerfd_settime(fds[i], TFD_TIMER_ABSTIME, &due, NULL), "timerfd_settime");
	}
	for (last = now_ns(); last < when + HEAD_START_NS / 10; last = now) {
		now = now_ns();
		if (now - last > longest)
			longest = now - last;
	}
	report("stall.timerfds", longest, "ns");
	for (int i = 0; i < MAX_QUEUES; i++)
		close(fds[i]);
}

void bench_stall(void)
{
	const struct rlimit files = { 2 * MAX_QUEUES, 2 * MAX_QUEUES };

	must_call(setrlimit(RLIMIT_NOFILE, &files), "setrlimit");
	measure_stall("stall.1", 1, NR_ITEMS);
	measure_stall("stall.16", 16, NR_ITEMS / 16);
	measure_stall("stall.64", 64, NR_ITEMS / 64);
	measure_stall("stall.1000", 1000, NR_ITEMS / 1000);
	measure_stall("stall.4096", MAX_QUEUES, NR_ITEMS / MAX_QUEUES);
	measure_stall("stall.queues", MAX_QUEUES, 1);
	measure_timerfds();
}

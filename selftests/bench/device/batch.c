// SPDX-License-Identifier: GPL-2.0-only
/*
 * Add, get and done of 64 keys at a time, in three calls. The keys take turns, so each
 * key is idle when it is added.
 */
#include <string.h>

#include "bench.h"

#define BATCH	64
#define ROUNDS	4

static struct kwq *queue;
static uint64_t cycles;
static int key_len;
static int next_key;

static struct kwq_add_entry adds[BATCH];
static struct kwq_got gots[BATCH];
static struct kwq_done_entry dones[BATCH];
static __s32 results[BATCH];
static char added[BATCH * KEY_SIZE_MAX];
static char got_keys[BATCH * KEY_SIZE_MAX];

static void must_all(int taken, const char *what)
{
	if (must(taken, what) != BATCH)
		fail("a batch was not taken as a whole", 0);
	for (int i = 0; i < BATCH; i++)
		must(results[i], what);
}

/* The figure includes the program's own work for a batch. */
static void work_on_batch(void)
{
	struct kwq_batch add = {
		.entries = kwq_ptr(adds),
		.keys = kwq_ptr(added),
		.results = kwq_ptr(results),
		.keys_len = BATCH * key_len,
		.nr = BATCH,
		.entry_size = sizeof(*adds),
	};
	struct kwq_batch done = {
		.entries = kwq_ptr(dones),
		.results = kwq_ptr(results),
		.nr = BATCH,
		.entry_size = sizeof(*dones),
	};
	struct kwq_get_args get = {
		.size = sizeof(get),
		.deadline = KWQ_NO_DEADLINE,
		.get = {
			.entries = kwq_ptr(gots),
			.keys = kwq_ptr(got_keys),
			.keys_len = sizeof(got_keys),
			.nr = BATCH,
			.entry_size = sizeof(*gots),
		},
	};

	must_all(kwq_add_batch(queue, &add), "kwq_add_batch");
	if (must(kwq_get_batch(queue, &get), "kwq_get_batch") != BATCH)
		fail("not as many were handed out as were added", 0);
	for (int i = 0; i < BATCH; i++)
		dones[i].ticket = gots[i].ticket;
	must_all(kwq_done_batch(queue, &done), "kwq_done_batch");
}

static int64_t sample_batches(void)
{
	int64_t took = 0;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t begun;

		for (int i = 0; i < BATCH; i++) {
			adds[i].key_len = key_len;
			memcpy(added + i * key_len, keys[next_key], key_len);
			next_key = (next_key + 1) % NR_KEYS;
		}
		begun = bench_clock();
		work_on_batch();
		took += bench_since(begun);
	}
	cycles += ROUNDS * BATCH;
	return took;
}

static void measure_batches(const char *name, int len)
{
	queue = new_queue();
	cycles = 0;
	key_len = len;
	measure(name, ROUNDS * BATCH, sample_batches);
	end_queue(queue, cycles);
}

void bench_batch(void)
{
	measure_batches("device.batch64.key8", 8);
	measure_batches("device.batch64.key32", 32);
}

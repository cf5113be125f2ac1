// SPDX-License-Identifier: GPL-2.0-only
/*
 * Add, get and done of one key after the other, in all numbers of calls that a program
 * may use.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

#define KEY_LEN	8

static struct kwq *queue;
static uint64_t cycles;

/* Three calls, with room for a longer key. */
static inline int64_t sample_with_room(size_t room)
{
	struct kwq_item item;
	char key[room];
	uint64_t begun;

	begun = bench_clock();
	for (int i = 0; i < NR_KEYS; i++) {
		must(kwq_add(queue, keys[i], KEY_LEN), "kwq_add");
		must(kwq_get(queue, &item, key, room, KWQ_NO_DEADLINE), "kwq_get");
		must(kwq_done(queue, item.ticket), "kwq_done");
	}
	cycles += NR_KEYS;
	return bench_since(begun);
}

static int64_t sample_plain(void)
{
	return sample_with_room(KEY_LEN);
}

/* Three calls. The key carries a value of 64 bytes (Q18). */
static int64_t sample_value64(void)
{
	static const char value[64];
	struct kwq_item item;
	char data[KEY_LEN + sizeof(value)];
	uint64_t begun;

	begun = bench_clock();
	for (int i = 0; i < NR_KEYS; i++) {
		must(kwq_add_value(queue, keys[i], KEY_LEN, value, sizeof(value)), "kwq_add_value");
		must(kwq_get_value(queue, &item, data, sizeof(data), KWQ_NO_DEADLINE),
		     "kwq_get_value");
		must(kwq_done(queue, item.ticket), "kwq_done");
	}
	cycles += NR_KEYS;
	return bench_since(begun);
}

static int64_t sample_room64(void)
{
	return sample_with_room(64);
}

static int64_t sample_room4096(void)
{
	return sample_with_room(KWQ_KEY_MAX);
}

/* Two calls: the done comes with the next get. */
static int64_t sample_fused(void)
{
	struct kwq_item item;
	char key[KEY_LEN];
	uint64_t begun;
	int64_t took;

	must(kwq_add(queue, keys[NR_KEYS - 1], KEY_LEN), "kwq_add");
	must(kwq_get(queue, &item, key, sizeof(key), KWQ_NO_DEADLINE), "kwq_get");
	begun = bench_clock();
	for (int i = 0; i < NR_KEYS; i++) {
		must(kwq_add(queue, keys[i], KEY_LEN), "kwq_add");
		must(kwq_next(queue, item.ticket, &item, key, sizeof(key), KWQ_NO_DEADLINE),
		     "kwq_next");
	}
	took = bench_since(begun);
	must(kwq_done(queue, item.ticket), "kwq_done");
	cycles += 1 + NR_KEYS;
	return took;
}

/* One call, which also adds: for a program that adds its own work. */
static int64_t sample_one_call(void)
{
	struct kwq_add_entry add = { .key_len = KEY_LEN };
	struct kwq_done_entry done = { 0 };
	struct kwq_got got;
	char key[KEY_LEN];
	__s32 added, finished;
	struct kwq_get_args get = {
		.size = sizeof(get),
		.deadline = KWQ_NO_DEADLINE,
		.add = {
			.entries = kwq_ptr(&add),
			.results = kwq_ptr(&added),
			.keys_len = KEY_LEN,
			.nr = 1,
			.entry_size = sizeof(add),
		},
		.done = {
			.entries = kwq_ptr(&done),
			.results = kwq_ptr(&finished),
			.nr = 1,
			.entry_size = sizeof(done),
		},
		.get = {
			.entries = kwq_ptr(&got),
			.keys = kwq_ptr(key),
			.keys_len = sizeof(key),
			.nr = 1,
			.entry_size = sizeof(got),
		},
	};
	struct kwq_item item;
	uint64_t begun;
	int64_t took;

	must(kwq_add(queue, keys[NR_KEYS - 1], KEY_LEN), "kwq_add");
	must(kwq_get(queue, &item, key, sizeof(key), KWQ_NO_DEADLINE), "kwq_get");
	got.ticket = item.ticket;
	begun = bench_clock();
	for (int i = 0; i < NR_KEYS; i++) {
		get.add.keys = kwq_ptr(keys[i]);
		get.nr_added = 0;
		get.nr_done = 0;
		done.ticket = got.ticket;
		if (must(kwq_get_batch(queue, &get), "kwq_get_batch") != 1)
			fail("kwq_get_batch: not one item", 0);
		must(added, "add in kwq_get_batch");
		must(finished, "done in kwq_get_batch");
	}
	took = bench_since(begun);
	must(kwq_done(queue, got.ticket), "kwq_done");
	cycles += 1 + NR_KEYS;
	return took;
}

static void measure_cycle(const char *name, int64_t (*sample)(void))
{
	queue = new_queue();
	cycles = 0;
	measure(name, NR_KEYS, sample);
	end_queue(queue, cycles);
}

static void measure_no_durations(void)
{
	const struct kwq_create_options options = {
		.size = sizeof(options),
		.open_flags = O_CLOEXEC,
		.clockid = CLOCK_MONOTONIC,
		.no_durations = true,
	};

	must(kwq_create(&queue, NULL, &options), "kwq_create");
	cycles = 0;
	measure("device.cycle.no_durations", NR_KEYS, sample_plain);
	end_queue(queue, cycles);
}

/* No lease expires. */
static void measure_leased(void)
{
	const struct kwq_create_options options = {
		.size = sizeof(options),
		.open_flags = O_CLOEXEC,
		.clockid = CLOCK_MONOTONIC,
		.lease = 3600000000000,
	};

	must(kwq_create(&queue, NULL, &options), "kwq_create");
	cycles = 0;
	measure("device.cycle.lease", NR_KEYS, sample_plain);
	end_queue(queue, cycles);
}

/*
 * Q16: so many groups wait for their turns. With two keys in each, a group lives on while one of
 * its keys is not in the queue. With one key, each add makes its group anew.
 */
#define NR_GROUPS	10000

static unsigned int next_group;
static char (*names)[KEY_LEN + 1];

static int64_t sample_groups(void)
{
	struct kwq_item item;
	char key[KEY_LEN];
	uint64_t begun;

	begun = bench_clock();
	for (int i = 0; i < NR_KEYS; i++) {
		must(kwq_get(queue, &item, key, sizeof(key), KWQ_NO_DEADLINE), "kwq_get");
		must(kwq_done(queue, item.ticket), "kwq_done");
		must(kwq_add_group(queue, key, KEY_LEN, names[next_group], KEY_LEN),
		     "kwq_add_group");
		next_group = (next_group + 1) % NR_GROUPS;
	}
	cycles += NR_KEYS;
	return bench_since(begun);
}

static void measure_groups(const char *name, unsigned int keys_each)
{
	const struct kwq_create_options options = {
		.size = sizeof(options),
		.open_flags = O_CLOEXEC,
		.clockid = CLOCK_MONOTONIC,
		.groups = true,
		.group_limit = 2,
	};
	char key[KEY_LEN + 1];
	struct kwq_item item;

	if (!is_wanted(name))
		return;
	names = calloc(NR_GROUPS, sizeof(names[0]));
	if (!names)
		fail("calloc", errno);
	must(kwq_create(&queue, NULL, &options), "kwq_create");
	next_group = 0;
	cycles = 0;
	for (unsigned int i = 0; i < keys_each * NR_GROUPS; i++) {
		snprintf(names[i % NR_GROUPS], sizeof(names[0]), "grp%05x", i % NR_GROUPS);
		snprintf(key, sizeof(key), "key%05x", i);
		must(kwq_add_group(queue, key, KEY_LEN, names[i % NR_GROUPS], KEY_LEN),
		     "kwq_add_group");
	}
	measure(name, NR_KEYS, sample_groups);
	for (unsigned int i = 0; i < keys_each * NR_GROUPS; i++) {
		must(kwq_get(queue, &item, key, sizeof(key), KWQ_NO_DEADLINE), "kwq_get");
		must(kwq_done(queue, item.ticket), "kwq_done");
	}
	end_queue(queue, cycles + keys_each * NR_GROUPS);
	free(names);
}

static void measure_values(void)
{
	const struct kwq_create_options options = {
		.size = sizeof(options),
		.open_flags = O_CLOEXEC,
		.clockid = CLOCK_MONOTONIC,
		.values = true,
	};

	must(kwq_create(&queue, NULL, &options), "kwq_create");
	cycles = 0;
	measure("device.cycle.value64", NR_KEYS, sample_value64);
	end_queue(queue, cycles);
}

/* Added again and again while it is ready. */
static int64_t sample_coalesced(void)
{
	uint64_t begun;
	int64_t took;
	int coalesced = 0;

	begun = bench_clock();
	for (int i = 0; i < NR_KEYS; i++)
		coalesced += kwq_add(queue, keys[i], KEY_LEN) == KWQ_COALESCED;
	took = bench_since(begun);
	if (coalesced != NR_KEYS)
		fail("an add was not coalesced", 0);
	return took;
}

/* Answered by the board, except keys that share a slot; or by the kernel. */
static void measure_coalesced(const char *name, bool board)
{
	queue = new_queue();
	must(kwq_use_board(queue, board), "kwq_use_board");
	for (int i = 0; i < NR_KEYS; i++)
		must(kwq_add(queue, keys[i], KEY_LEN), "kwq_add");
	measure(name, NR_KEYS, sample_coalesced);
	kwq_close(queue);
}

void bench_cycle(void)
{
	measure_cycle("device.cycle.plain", sample_plain);
	measure_cycle("device.cycle.fused", sample_fused);
	measure_cycle("device.cycle.one_call", sample_one_call);
	measure_cycle("device.cycle.room64", sample_room64);
	measure_cycle("device.cycle.room4096", sample_room4096);
	measure_no_durations();
	measure_leased();
	measure_values();
	measure_groups("device.cycle.groups", 2);
	measure_groups("device.cycle.groups.new", 1);
	measure_coalesced("device.add.coalesced", true);
	measure_coalesced("device.add.coalesced.call", false);
}

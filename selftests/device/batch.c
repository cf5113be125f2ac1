// SPDX-License-Identifier: GPL-2.0-only
/*
 * Q13, O2: many entries in one call. Each has its own result, and a fault on the way in
 * or out loses nothing.
 */
#include "kwq_test.h"

#include <linux/userfaultfd.h>

QUEUE_FIXTURE(batch, new_queue(self->dev))

static char *numbered(char *key, int i)
{
	snprintf(key, 16, "key%04d", i);
	return key;
}

#define KEY_LEN	7	/* of a numbered key */

static void add_numbered(struct __test_metadata *_metadata, int q, int nr)
{
	struct batch *b = new_batch();
	char key[16];

	for (int i = 0; i < nr; i++)
		batch_add(b, numbered(key, i));
	ASSERT_EQ(nr, batch_run(q, KWQ_IOC_ADD, b));
	for (int i = 0; i < nr; i++)
		EXPECT_EQ(KWQ_ADDED, b->results[i]);
	free(b);
}

/* Q13 */
TEST_F(batch, each_has_its_result)
{
	struct item items[4], other_item;
	struct batch *b = new_batch();
	int other = q_reopen(self->q);

	ASSERT_LE(0, other);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "out"));
	expect_next(self->q, &items[0], "out");
	batch_add(b, "a");
	batch_add(b, "b");
	batch_add(b, "a");
	batch_add(b, "out");
	batch_add(b, "out");
	batch_add_with(b, "w", KWQ_ADD_AFTER, 0, HOUR);
	batch_add_with(b, "w", KWQ_ADD_AFTER, 0, HOUR);
	batch_add_with(b, "c", KWQ_ADD_PRIORITY, 5, 0);
	ASSERT_EQ(8, batch_run(self->q, KWQ_IOC_ADD, b));
	EXPECT_EQ(KWQ_ADDED, b->results[0]);
	EXPECT_EQ(KWQ_ADDED, b->results[1]);
	EXPECT_EQ(KWQ_COALESCED, b->results[2]);
	EXPECT_EQ(KWQ_DIRTIED, b->results[3]);
	EXPECT_EQ(KWQ_DIRTY, b->results[4]);
	EXPECT_EQ(KWQ_WAITING, b->results[5]);
	EXPECT_EQ(KWQ_COALESCED, b->results[6]);
	EXPECT_EQ(KWQ_ADDED, b->results[7]);
	check_stat(self->q, .ready = 3, .waiting = 1, .processing = 1, .items = 5);

	ASSERT_EQ(1, q_try_get(other, &other_item));
	EXPECT_STREQ("c", other_item.key);
	ASSERT_EQ(2, q_get_many(self->q, &items[1], 3, 0, KWQ_NO_DEADLINE));
	EXPECT_STREQ("a", items[1].key);
	EXPECT_STREQ("b", items[2].key);

	memset(b, 0, sizeof(*b));
	batch_done(b, items[1].ticket);
	batch_done(b, items[1].ticket);
	batch_done_key(b, "nothing");
	batch_done_key(b, "c");
	batch_done(b, other_item.ticket);
	batch_done_key(b, "out");
	batch_done_key(b, "w");
	batch_done(b, items[2].ticket);
	ASSERT_EQ(8, batch_run(self->q, KWQ_IOC_DONE, b));
	EXPECT_EQ(KWQ_FINISHED, b->results[0]);
	EXPECT_EQ(-ESTALE, b->results[1]);
	EXPECT_EQ(-ENOENT, b->results[2]);
	EXPECT_EQ(-EPERM, b->results[3]);
	EXPECT_EQ(-ESTALE, b->results[4]);
	EXPECT_EQ(KWQ_REQUEUED, b->results[5]);
	EXPECT_EQ(-ENOENT, b->results[6]);
	EXPECT_EQ(KWQ_FINISHED, b->results[7]);
	check_stat(self->q, .ready = 1, .waiting = 1, .processing = 1, .items = 3);

	memset(b, 0, sizeof(*b));
	batch_remove(b, "a");
	batch_remove(b, "w");
	batch_remove(b, "c");
	batch_remove(b, "out");
	batch_remove(b, "out");
	ASSERT_EQ(5, batch_run(self->q, KWQ_IOC_REMOVE, b));
	EXPECT_EQ(-ENOENT, b->results[0]);
	EXPECT_EQ(KWQ_WAS_WAITING, b->results[1]);
	EXPECT_EQ(KWQ_WAS_PROCESSING, b->results[2]);
	EXPECT_EQ(KWQ_WAS_READY, b->results[3]);
	EXPECT_EQ(-ENOENT, b->results[4]);
	check_stat(self->q, .processing = 1, .items = 1);
	EXPECT_EQ(KWQ_FINISHED, q_done(other, other_item.ticket));
	close(other);
	free(b);
}

/* Q13: an error in the middle does not affect the entries before and after it. */
TEST_F(batch, wrong_entries_between_right_ones)
{
	struct kwq_add_entry entries[] = {
		{ .key_len = 1 },						/* a */
		{ .key_len = 1, .flags = 1U << 31 },				/* b */
		{ .key_len = 1 },						/* c */
		{ .key_len = 0 },
		{ .key_len = 1 },						/* d */
		{ .key_len = 1, .pad = 1 },					/* e */
		{ .key_len = 1, .flags = KWQ_ADD_PRIORITY, .priority = 99 },	/* f */
		{ .key_len = 1 },						/* g */
	};
	static const __s32 want[] = {
		KWQ_ADDED, -EINVAL, KWQ_ADDED, -EINVAL, KWQ_ADDED, -EINVAL, -EINVAL, KWQ_ADDED,
	};
	__s32 results[ARRAY_SIZE(entries)];

	ASSERT_EQ(ARRAY_SIZE(entries),
		  q_op(self->q, KWQ_IOC_ADD, entries, sizeof(entries[0]), ARRAY_SIZE(entries),
		       "abcdefg", 7, results));
	for (int i = 0; i < ARRAY_SIZE(entries); i++) {
		EXPECT_EQ(want[i], results[i]) {
			TH_LOG("entry %d", i);
		}
	}
	expect_take(self->q, "a");
	expect_take(self->q, "c");
	expect_take(self->q, "d");
	expect_take(self->q, "g");
	check_stat(self->q, .items = 0);
}

/* O4, Q13: keys that are too long, and the entries after them. */
TEST_F(batch, key_lengths)
{
	struct kwq_add_entry entries[4] = { };
	__u8 *keys = calloc(1, 3 * KWQ_KEY_MAX);
	__s32 results[4];

	ASSERT_NE(NULL, keys);
	memset(keys, 'x', 3 * KWQ_KEY_MAX);
	entries[0].key_len = 1;
	entries[1].key_len = KWQ_KEY_MAX + 1;
	entries[2].key_len = KWQ_KEY_MAX;
	entries[3].key_len = 1;
	keys[0] = 'a';
	keys[1 + 2 * KWQ_KEY_MAX + 1] = 'z';
	ASSERT_EQ(4, q_op(self->q, KWQ_IOC_ADD, entries, sizeof(entries[0]), 4, keys,
			  3 * KWQ_KEY_MAX, results));
	EXPECT_EQ(KWQ_ADDED, results[0]);
	EXPECT_EQ(-EMSGSIZE, results[1]);
	EXPECT_EQ(KWQ_ADDED, results[2]);
	EXPECT_EQ(KWQ_ADDED, results[3]);
	check_stat(self->q, .ready = 3, .items = 3);
	EXPECT_EQ(KWQ_WAS_READY, q_remove(self->q, "a"));
	EXPECT_EQ(KWQ_WAS_READY, q_remove(self->q, "z"));
	free(keys);
}

/* O6: lengths whose sum exceeds 32 bits must not wrap around. */
TEST_F(batch, key_lengths_that_overflow)
{
	static const __u32 lengths[] = { ~0U, ~0U - 1, 1U << 31, 1U << 16 };

	for (int i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct kwq_add_entry adds[4] = {
			{ .key_len = lengths[i] }, { .key_len = lengths[i] }, { .key_len = 2 },
			{ .key_len = 1 },
		};
		struct kwq_done_entry dones[4] = {
			{ .key_len = lengths[i] }, { .key_len = lengths[i] }, { .key_len = 2 },
			{ .key_len = 1 },
		};
		struct kwq_remove_entry removes[4] = {
			{ .key_len = lengths[i] }, { .key_len = lengths[i] }, { .key_len = 2 },
			{ .key_len = 1 },
		};
		__s32 results[4];

		ASSERT_EQ(4, q_op(self->q, KWQ_IOC_ADD, adds, sizeof(adds[0]), 4, "abcd", 4,
				  results));
		EXPECT_EQ(-EMSGSIZE, results[0]);
		EXPECT_GT(0, results[1]);
		EXPECT_EQ(-EINVAL, results[2]);
		EXPECT_EQ(-EINVAL, results[3]);
		ASSERT_EQ(4, q_op(self->q, KWQ_IOC_DONE, dones, sizeof(dones[0]), 4, "abcd", 4,
				  results));
		EXPECT_EQ(-EMSGSIZE, results[0]);
		EXPECT_EQ(-EINVAL, results[3]);
		ASSERT_EQ(4, q_op(self->q, KWQ_IOC_REMOVE, removes, sizeof(removes[0]), 4, "abcd",
				  4, results));
		EXPECT_EQ(-EMSGSIZE, results[0]);
		EXPECT_EQ(-EINVAL, results[3]);
	}
	check_stat(self->q, .items = 0);
}

/* Q13: entries whose keys exceed keys_len. */
TEST_F(batch, keys_too_short)
{
	struct kwq_done_entry dones[4] = { };
	struct batch *b = new_batch();
	struct item items[3];

	batch_add(b, "aaa");
	batch_add(b, "bbb");
	batch_add(b, "c");
	for (__u32 there = 0; there <= 7; there++) {
		int whole = there < 3 ? 0 : there < 6 ? 1 : there < 7 ? 2 : 3;
		int q = new_queue(self->dev);

		ASSERT_LE(0, q);
		b->keys_len = there;
		ASSERT_EQ(3, batch_run(q, KWQ_IOC_ADD, b));
		for (int i = 0; i < 3; i++) {
			EXPECT_EQ(i < whole ? KWQ_ADDED : -EINVAL, b->results[i]) {
				TH_LOG("entry %d of %u bytes", i, there);
			}
		}
		check_stat(q, .ready = whole, .items = whole);
		close(q);
	}

	/* An entry without a key is not affected by the entries before it. */
	add_numbered(_metadata, self->q, 3);
	ASSERT_EQ(3, q_get_many(self->q, items, 3, 0, KWQ_NO_DEADLINE));
	dones[0].ticket = items[0].ticket;
	dones[1].key_len = KEY_LEN;
	dones[2].key_len = 1;
	dones[3].ticket = items[2].ticket;
	ASSERT_EQ(4, q_op(self->q, KWQ_IOC_DONE, dones, sizeof(dones[0]), 4, items[1].key,
			  KEY_LEN - 1, b->results));
	EXPECT_EQ(KWQ_FINISHED, b->results[0]);
	EXPECT_EQ(-EINVAL, b->results[1]);
	EXPECT_EQ(-EINVAL, b->results[2]);
	EXPECT_EQ(KWQ_FINISHED, b->results[3]);
	check_stat(self->q, .processing = 1, .items = 1);
	free(b);
}

/* Q13: keys_len exceeds the mapped memory, but no entry needs the excess. */
TEST_F(batch, keys_len_beyond_the_keys)
{
	struct kwq_add_entry entry = { .key_len = 1 };
	__u8 *edge = user_edge(1);
	struct kwq_got got;
	struct kwq_get_args get = GET_ARGS(&got, user_ptr(edge - 1), ~0U, 1,
					   .deadline = KWQ_NO_DEADLINE);
	__s32 result;

	edge[-1] = 'k';
	EXPECT_EQ(1, q_op(self->q, KWQ_IOC_ADD, &entry, sizeof(entry), 1, edge - 1, ~0U, &result));
	EXPECT_EQ(KWQ_ADDED, result);
	edge[-1] = 0;
	EXPECT_EQ(1, q_get_raw(self->q, &get));
	EXPECT_EQ('k', edge[-1]);
	user_edge_free(edge, 1);
}

/* Q13, Q1: the largest batch. */
TEST_F(batch, the_longest)
{
	struct item *items = calloc(KWQ_BATCH_MAX, sizeof(*items));
	struct batch *b = new_batch();
	char key[16];

	ASSERT_NE(NULL, items);
	add_numbered(_metadata, self->q, KWQ_BATCH_MAX);
	check_stat(self->q, .ready = KWQ_BATCH_MAX, .items = KWQ_BATCH_MAX);
	ASSERT_EQ(KWQ_BATCH_MAX,
		  q_get_many(self->q, items, KWQ_BATCH_MAX, 0, KWQ_NO_DEADLINE));
	for (int i = 0; i < KWQ_BATCH_MAX; i++) {
		EXPECT_STREQ(numbered(key, i), items[i].key);
		if (i)
			EXPECT_LT(items[i - 1].ticket, items[i].ticket);
		if (i % 2)
			batch_done(b, items[i].ticket);
		else
			batch_done_key(b, items[i].key);
	}
	check_stat(self->q, .processing = KWQ_BATCH_MAX, .items = KWQ_BATCH_MAX);
	ASSERT_EQ(KWQ_BATCH_MAX, batch_run(self->q, KWQ_IOC_DONE, b));
	for (int i = 0; i < KWQ_BATCH_MAX; i++)
		EXPECT_EQ(KWQ_FINISHED, b->results[i]);
	check_stat(self->q, .items = 0);

	add_numbered(_metadata, self->q, KWQ_BATCH_MAX);
	memset(b, 0, sizeof(*b));
	for (int i = 0; i < KWQ_BATCH_MAX; i++)
		batch_remove(b, numbered(key, i));
	ASSERT_EQ(KWQ_BATCH_MAX, batch_run(self->q, KWQ_IOC_REMOVE, b));
	for (int i = 0; i < KWQ_BATCH_MAX; i++)
		EXPECT_EQ(KWQ_WAS_READY, b->results[i]);
	check_stat(self->q, .items = 0);
	free(b);
	free(items);
}

/* Q13: the largest batch with the longest keys, in one call. */
TEST_F(batch, the_longest_with_the_longest_keys)
{
	const size_t size = (size_t)KWQ_BATCH_MAX * KWQ_KEY_MAX;
	struct kwq_add_entry *adds = calloc(KWQ_BATCH_MAX, sizeof(*adds));
	struct kwq_got *got = calloc(KWQ_BATCH_MAX, sizeof(*got));
	__s32 *results = calloc(KWQ_BATCH_MAX, sizeof(*results));
	__u8 *keys = malloc(size), *back = malloc(size + GUARD);
	struct kwq_get_args get = GET_ARGS(got, user_ptr(back), size, KWQ_BATCH_MAX,
					   .deadline = KWQ_NO_DEADLINE);

	ASSERT_TRUE(adds && got && results && keys && back);
	poison(back, size + GUARD);
	for (int i = 0; i < KWQ_BATCH_MAX; i++) {
		adds[i].key_len = KWQ_KEY_MAX;
		memset(keys + (size_t)i * KWQ_KEY_MAX, i, KWQ_KEY_MAX);
		memcpy(keys + (size_t)(i + 1) * KWQ_KEY_MAX - sizeof(i), &i, sizeof(i));
	}
	ASSERT_EQ(KWQ_BATCH_MAX, q_op(self->q, KWQ_IOC_ADD, adds, sizeof(*adds), KWQ_BATCH_MAX,
				      keys, size, results));
	for (int i = 0; i < KWQ_BATCH_MAX; i++)
		EXPECT_EQ(KWQ_ADDED, results[i]);
	ASSERT_EQ(KWQ_BATCH_MAX, q_get_raw(self->q, &get));
	for (int i = 0; i < KWQ_BATCH_MAX; i++)
		EXPECT_EQ(KWQ_KEY_MAX, got[i].key_len);
	EXPECT_EQ(0, memcmp(keys, back, size));
	EXPECT_TRUE(is_poison(back + size, GUARD));
	check_stat(self->q, .processing = KWQ_BATCH_MAX, .items = KWQ_BATCH_MAX);
	free(back);
	free(keys);
	free(results);
	free(got);
	free(adds);
}

/* Q13: a get takes the ready items and does not wait for more. */
TEST_F(batch, get_takes_what_is_there)
{
	struct item items[8];

	add_numbered(_metadata, self->q, 3);
	EXPECT_EQ(3, q_get_many(self->q, items, 8, 0, KWQ_NO_DEADLINE));
	check_stat(self->q, .processing = 3, .items = 3);
}

/* Q13: a get takes as many items as their keys fit; the others keep their places. */
TEST_F(batch, get_as_far_as_the_keys_fit)
{
	struct kwq_got got[4];
	__u8 keys[64];
	struct kwq_get_args get = GET_ARGS(got, user_ptr(keys), 0, 4, .flags = KWQ_GET_NONBLOCK);
	struct kwq_stat before, after;

	add_numbered(_metadata, self->q, 4);
	ASSERT_EQ(0, q_stat(self->q, &before));
	for (__u32 room = 0; room < KEY_LEN; room++) {
		poison(got, sizeof(got));
		poison(keys, sizeof(keys));
		get.get.keys_len = room;
		get.get.keys = room ? user_ptr(keys) : 0;
		EXPECT_EQ(-EMSGSIZE, q_get_raw(self->q, &get));
		get.get.keys = user_ptr(keys);
		EXPECT_TRUE(is_poison(got, sizeof(got)));
		EXPECT_TRUE(is_poison(keys, sizeof(keys)));
	}
	ASSERT_EQ(0, q_stat(self->q, &after));
	EXPECT_TRUE(same_stat(&before, &after));

	get.get.keys_len = 3 * KEY_LEN - 1;
	EXPECT_EQ(2, q_get_raw(self->q, &get));
	EXPECT_TRUE(is_poison(got + 2, 2 * sizeof(got[0])));
	EXPECT_TRUE(is_poison(keys + 2 * KEY_LEN, sizeof(keys) - 2 * KEY_LEN));
	EXPECT_EQ(0, memcmp(keys, "key0000key0001", 2 * KEY_LEN));
	check_stat(self->q, .ready = 2, .processing = 2, .items = 4);
	expect_take(self->q, "key0002");
	expect_take(self->q, "key0003");
}

/* Gets one item into @room poisoned bytes, after a done of @ticket if that is not 0. */
static int get_into_room(int q, __u64 ticket, __u8 *keys, __u32 room, struct kwq_got *got)
{
	const struct kwq_done_entry entry = { .ticket = ticket };
	__s32 result = KWQ_REQUEUED;
	struct kwq_get_args get = GET_ARGS(got, room ? user_ptr(keys) : 0, room, 1,
					   .flags = KWQ_GET_NONBLOCK);
	int ret;

	poison(got, sizeof(*got));
	poison(keys, room + GUARD);
	if (ticket)
		get.done = (struct kwq_batch){
			.entries = user_ptr(&entry),
			.results = user_ptr(&result),
			.nr = 1,
			.entry_size = sizeof(entry),
		};
	ret = q_get_raw(q, &get);
	REQUIRE(get.nr_done == !!ticket);
	REQUIRE(!ticket || result == KWQ_FINISHED);
	return ret;
}

#define ROOM_MAX	(2 * KWQ_KEY_MAX)

/* Q13: one item, for all lengths of its key and of the room. */
TEST_F(batch, get_one_by_its_length)
{
	static const __u32 lens[] = { 1, 2, 63, 64, 65, 127, 128, 129, 4095, KWQ_KEY_MAX };
	__u8 *key = malloc(KWQ_KEY_MAX), *keys = malloc(ROOM_MAX + GUARD);
	struct kwq_got got;
	struct item held;
	__u64 ticket;

	ASSERT_TRUE(key && keys);
	for (int i = 0; i < KWQ_KEY_MAX; i++)
		key[i] = i * 7;
	for (int i = 0; i < ARRAY_SIZE(lens) * 10; i++) {
		const __u32 len = lens[i / 10], rooms[] = { len - 1, len, len + 1, 64, ROOM_MAX };
		const __u32 room = rooms[i % 5];

		ticket = 0;
		if (i / 5 % 2) {
			ASSERT_EQ(KWQ_ADDED, q_add(self->q, "held"));
			expect_next(self->q, &held, "held");
			ticket = held.ticket;
		}
		ASSERT_EQ(KWQ_ADDED, q_add_bytes(self->q, key, len, 0, 0, 0));
		if (room < len) {
			EXPECT_EQ(-EMSGSIZE, get_into_room(self->q, ticket, keys, room, &got));
			EXPECT_TRUE(is_poison(&got, sizeof(got)));
			EXPECT_TRUE(is_poison(keys, room + GUARD));
			check_stat(self->q, .ready = 1, .items = 1);
			ticket = 0;
		}
		EXPECT_EQ(1, get_into_room(self->q, ticket, keys, room < len ? len : room, &got)) {
			TH_LOG("a key of %u bytes, a room of %u", len, room);
		}
		EXPECT_EQ(len, got.key_len);
		EXPECT_EQ(0, memcmp(key, keys, len));
		EXPECT_TRUE(is_poison(keys + len, (room < len ? len : room) - len + GUARD));
		check_stat(self->q, .processing = 1, .items = 1);
		EXPECT_EQ(KWQ_FINISHED, q_done(self->q, got.ticket));
	}
	check_stat(self->q, .items = 0);
	free(keys);
	free(key);
}

/* O2: a long key that cannot be copied to the caller goes back. */
TEST_F(batch, get_one_long_key_to_nowhere)
{
	__u8 *edge = user_edge(1), *key = malloc(KWQ_KEY_MAX);
	struct kwq_got got;
	struct kwq_get_args get = GET_ARGS(&got, 0, KWQ_KEY_MAX, 1, .flags = KWQ_GET_NONBLOCK);

	ASSERT_NE(NULL, key);
	poison(key, KWQ_KEY_MAX);
	ASSERT_EQ(KWQ_ADDED, q_add_bytes(self->q, key, 100, 0, 0, 0));
	for (int there = 0; there < 100; there += 33) {
		get.get.keys = user_ptr(edge - there);
		EXPECT_EQ(-EFAULT, q_get_raw(self->q, &get));
		check_stat(self->q, .ready = 1, .items = 1);
	}
	check_counts(self->q, .adds = 1);
	get.get.keys = user_ptr(edge - 100);
	EXPECT_EQ(1, q_get_raw(self->q, &get));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, got.ticket));
	user_edge_free(edge, 1);
	free(key);
}

/* Q13: one call does first the adds, then the dones, then the get. */
TEST_F(batch, add_done_get)
{
	struct batch *adds = new_batch(), *dones = new_batch();
	struct kwq_got got[4];
	struct item item;
	__u8 keys[64];
	struct kwq_get_args get = GET_ARGS(got, user_ptr(keys), sizeof(keys), 4,
					   .flags = KWQ_GET_NONBLOCK);

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "x"));
	expect_next(self->q, &item, "x");
	batch_add(adds, "x");
	batch_add(adds, "y");
	batch_done(dones, item.ticket);
	batch_done(dones, item.ticket);
	get.add = batch_of(KWQ_IOC_ADD, adds);
	get.done = batch_of(KWQ_IOC_DONE, dones);
	ASSERT_EQ(2, q_get_raw(self->q, &get));
	EXPECT_EQ(2, get.nr_added);
	EXPECT_EQ(2, get.nr_done);
	/* Dirtied and then done, the item went behind the item added meanwhile. */
	EXPECT_EQ(KWQ_DIRTIED, adds->results[0]);
	EXPECT_EQ(KWQ_ADDED, adds->results[1]);
	EXPECT_EQ(KWQ_REQUEUED, dones->results[0]);
	EXPECT_EQ(-ESTALE, dones->results[1]);
	EXPECT_EQ(0, memcmp(keys, "yx", 2));
	check_stat(self->q, .processing = 2, .items = 2);
	free(dones);
	free(adds);
}

/* Q13: each part can be absent. */
TEST_F(batch, parts_may_be_absent)
{
	struct batch *b = new_batch();
	struct kwq_get_args get = { .size = sizeof(get) };
	struct item item;

	batch_add(b, "x");
	get.add = batch_of(KWQ_IOC_ADD, b);
	EXPECT_EQ(0, q_get_raw(self->q, &get));
	EXPECT_EQ(1, get.nr_added);
	EXPECT_EQ(0, get.nr_done);
	EXPECT_EQ(KWQ_ADDED, b->results[0]);

	expect_next(self->q, &item, "x");
	memset(b, 0, sizeof(*b));
	batch_done(b, item.ticket);
	get = (struct kwq_get_args){ .size = sizeof(get) };
	get.done = batch_of(KWQ_IOC_DONE, b);
	EXPECT_EQ(0, q_get_raw(self->q, &get));
	EXPECT_EQ(0, get.nr_added);
	EXPECT_EQ(1, get.nr_done);
	EXPECT_EQ(KWQ_FINISHED, b->results[0]);
	check_stat(self->q, .items = 0);
	free(b);
}

/* Address 0 is an address like any other, for a process that may map it. */
TEST_F(batch, a_result_at_address_zero)
{
	struct batch *dones = new_batch();
	struct kwq_got got;
	struct item item;
	__s32 *result;
	__u8 key[8];
	struct kwq_get_args get = GET_ARGS(&got, user_ptr(key), sizeof(key), 1,
					   .flags = KWQ_GET_NONBLOCK);

	/* A second mapping, because C cannot access address 0. */
	result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, result);
	ASSERT_EQ(NULL, mremap(result, 0, sizeof(*result), MREMAP_MAYMOVE | MREMAP_FIXED, NULL));
	*result = -1;
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "x"));
	expect_next(self->q, &item, "x");
	batch_done(dones, item.ticket);
	get.done = batch_of(KWQ_IOC_DONE, dones);
	get.done.results = 0;
	EXPECT_EQ(-EAGAIN, q_get_raw(self->q, &get));
	EXPECT_EQ(1, get.nr_done);
	EXPECT_EQ(KWQ_FINISHED, *result);
	EXPECT_EQ(-ESTALE, q_done(self->q, item.ticket));
	EXPECT_EQ(0, munmap(NULL, sizeof(*result)));
	EXPECT_EQ(0, munmap(result, sizeof(*result)));
	free(dones);
}

/* Q13: adds and dones stay done and are reported if there is nothing to fetch. */
TEST_F(batch, nothing_to_fetch_after_done)
{
	struct batch *adds = new_batch(), *dones = new_batch();
	struct kwq_got got;
	struct item item;
	__u8 key[8];
	struct kwq_get_args right = GET_ARGS(&got, user_ptr(key), sizeof(key), 1), get;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "x"));
	expect_next(self->q, &item, "x");
	batch_done(dones, item.ticket);
	batch_add_with(adds, "w", KWQ_ADD_AFTER, 0, HOUR);
	right.add = batch_of(KWQ_IOC_ADD, adds);
	right.done = batch_of(KWQ_IOC_DONE, dones);

	get = right;
	get.flags = KWQ_GET_NONBLOCK;
	EXPECT_EQ(-EAGAIN, q_get_raw(self->q, &get));
	EXPECT_EQ(1, get.nr_added);
	EXPECT_EQ(1, get.nr_done);
	EXPECT_EQ(KWQ_WAITING, adds->results[0]);
	EXPECT_EQ(KWQ_FINISHED, dones->results[0]);

	get = right;
	get.deadline = 1;
	EXPECT_EQ(-ETIMEDOUT, q_get_raw(self->q, &get));
	EXPECT_EQ(1, get.nr_added);
	EXPECT_EQ(1, get.nr_done);
	EXPECT_EQ(KWQ_COALESCED, adds->results[0]);
	EXPECT_EQ(-ESTALE, dones->results[0]);

	ASSERT_EQ(0, q_shut_down(self->q));
	get = right;
	EXPECT_EQ(-ESHUTDOWN, q_get_raw(self->q, &get));
	EXPECT_EQ(1, get.nr_added);
	EXPECT_EQ(1, get.nr_done);
	EXPECT_EQ(-ESHUTDOWN, adds->results[0]);
	free(dones);
	free(adds);
}

/*
 * Faults. The buffer under test ends at an edge, behind which nothing is mapped. Its
 * first @whole elements lie before the edge.
 */
#define NR	130	/* more than twice what the kernel takes in one go */

enum buffer { ENTRIES, KEYS, RESULTS };

FIXTURE(fault)
{
	int dev;
	int q;
	__u8 *edge;
	struct batch *b;
	struct item *items;
};

FIXTURE_VARIANT(fault)
{
	unsigned long cmd;
	enum buffer buffer;
	bool by_ticket;
};

typedef FIXTURE_DATA(fault) fault_fixture;
typedef FIXTURE_VARIANT(fault) fault_variant;

FIXTURE_VARIANT_ADD(fault, add_entries) { .cmd = KWQ_IOC_ADD, .buffer = ENTRIES };
FIXTURE_VARIANT_ADD(fault, add_keys) { .cmd = KWQ_IOC_ADD, .buffer = KEYS };
FIXTURE_VARIANT_ADD(fault, add_results) { .cmd = KWQ_IOC_ADD, .buffer = RESULTS };
FIXTURE_VARIANT_ADD(fault, done_entries) { .cmd = KWQ_IOC_DONE, .buffer = ENTRIES };
FIXTURE_VARIANT_ADD(fault, done_keys) { .cmd = KWQ_IOC_DONE, .buffer = KEYS };
FIXTURE_VARIANT_ADD(fault, done_results) { .cmd = KWQ_IOC_DONE, .buffer = RESULTS };
FIXTURE_VARIANT_ADD(fault, done_ticket_entries) {
	.cmd = KWQ_IOC_DONE, .buffer = ENTRIES, .by_ticket = true,
};

FIXTURE_VARIANT_ADD(fault, done_ticket_results) {
	.cmd = KWQ_IOC_DONE, .buffer = RESULTS, .by_ticket = true,
};

FIXTURE_VARIANT_ADD(fault, remove_entries) { .cmd = KWQ_IOC_REMOVE, .buffer = ENTRIES };
FIXTURE_VARIANT_ADD(fault, remove_keys) { .cmd = KWQ_IOC_REMOVE, .buffer = KEYS };
FIXTURE_VARIANT_ADD(fault, remove_results) { .cmd = KWQ_IOC_REMOVE, .buffer = RESULTS };

FIXTURE_SETUP(fault)
{
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = -1;
	self->edge = user_edge(4);
	self->b = new_batch();
	self->items = calloc(NR, sizeof(*self->items));
	ASSERT_NE(NULL, self->items);
}

FIXTURE_TEARDOWN(fault)
{
	free(self->items);
	free(self->b);
	user_edge_free(self->edge, 4);
	close(self->q);
	close(self->dev);
}

/* Puts @nr entries into self->b, on a new queue in which all of them succeed. */
static void prepare(struct __test_metadata *_metadata, fault_fixture *self,
		    const fault_variant *variant, int nr)
{
	char key[16];

	close(self->q);
	self->q = new_queue(self->dev);
	ASSERT_LE(0, self->q);
	memset(self->b, 0, sizeof(*self->b));
	if (variant->cmd != KWQ_IOC_ADD)
		add_numbered(_metadata, self->q, nr);
	if (variant->cmd == KWQ_IOC_DONE)
		ASSERT_EQ(nr, q_get_many(self->q, self->items, nr, 0, KWQ_NO_DEADLINE));
	for (int i = 0; i < nr; i++) {
		numbered(key, i);
		if (variant->cmd == KWQ_IOC_ADD)
			batch_add(self->b, key);
		else if (variant->cmd == KWQ_IOC_REMOVE)
			batch_remove(self->b, key);
		else if (variant->by_ticket)
			batch_done(self->b, self->items[i].ticket);
		else
			batch_done_key(self->b, key);
	}
}

/* Makes @whole elements and @more bytes of the buffer accessible. */
static int run_at_edge(fault_fixture *self, const fault_variant *variant, int whole,
		       int more)
{
	struct kwq_batch_args op = {
		.size = sizeof(op),
		.batch = batch_of(variant->cmd, self->b),
	};
	size_t there;

	switch (variant->buffer) {
	case ENTRIES:
		there = whole * op.batch.entry_size + more;
		memcpy(self->edge - there, self->b->add, there);
		op.batch.entries = user_ptr(self->edge - there);
		break;
	case KEYS:
		there = whole * KEY_LEN + more;
		memcpy(self->edge - there, self->b->keys, there);
		op.batch.keys = user_ptr(self->edge - there);
		break;
	case RESULTS:
		there = whole * sizeof(__s32) + more;
		poison(self->edge - there, there);
		op.batch.results = user_ptr(self->edge - there);
		break;
	}
	return request(self->q, variant->cmd, &op);
}

/* Checks that the first @whole entries were taken, and nothing else happened. */
static void check_taken(struct __test_metadata *_metadata, fault_fixture *self,
			const fault_variant *variant, int nr, int whole, int more)
{
	const __s32 result = variant->cmd == KWQ_IOC_ADD ? KWQ_ADDED :
			     variant->cmd == KWQ_IOC_DONE ? KWQ_FINISHED : KWQ_WAS_READY;
	size_t there = whole * sizeof(__s32) + more;
	__s32 *results = self->b->results;
	int left = nr - whole;
	__s32 copy[NR];
	char key[16];

	if (variant->buffer == RESULTS) {
		memcpy(copy, self->edge - there, there - more);
		results = copy;
	} else {
		EXPECT_TRUE(is_poison(results + whole, (NR - whole) * sizeof(*results)));
	}
	for (int i = 0; i < whole; i++)
		EXPECT_EQ(result, results[i]);

	if (variant->cmd == KWQ_IOC_ADD) {
		check_stat(self->q, .ready = whole, .items = whole);
		for (int i = 0; i < whole; i++)
			expect_take(self->q, numbered(key, i));
	} else if (variant->cmd == KWQ_IOC_REMOVE) {
		check_stat(self->q, .ready = left, .items = left);
		for (int i = whole; i < nr; i++)
			expect_take(self->q, numbered(key, i));
	} else {
		check_stat(self->q, .processing = left, .items = left);
		for (int i = whole; i < nr; i++)
			EXPECT_EQ(KWQ_FINISHED, q_done_key(self->q, numbered(key, i)));
	}
	check_stat(self->q, .items = 0);
}

static void check_fault(struct __test_metadata *_metadata, fault_fixture *self,
			const fault_variant *variant, int nr, int whole, int more)
{
	prepare(_metadata, self, variant, nr);
	EXPECT_EQ(whole ?: -EFAULT, run_at_edge(self, variant, whole, more)) {
		TH_LOG("%d of %d, and %d bytes", whole, nr, more);
	}
	check_taken(_metadata, self, variant, nr, whole, more);
}

/* O6, Q13: a buffer that ends anywhere within the first few entries. */
TEST_F(fault, in_a_short_batch)
{
	/* A single entry has a code path of its own. */
	check_fault(_metadata, self, variant, 1, 0, 0);
	check_fault(_metadata, self, variant, 1, 0, 1);
	check_fault(_metadata, self, variant, 1, 0, 3);
	check_fault(_metadata, self, variant, 1, 1, 0);
	for (int whole = 0; whole < 4; whole++) {
		check_fault(_metadata, self, variant, 4, whole, 0);
		check_fault(_metadata, self, variant, 4, whole, 1);
		check_fault(_metadata, self, variant, 4, whole, 3);
	}
	/* A batch without a fault. */
	check_fault(_metadata, self, variant, 4, 4, 0);
}

/* O6, Q13: a batch that the kernel processes in several chunks. */
TEST_F(fault, in_a_long_batch)
{
	static const int wholes[] = { 31, 32, 33, 64, NR - 1 };

	for (int i = 0; i < ARRAY_SIZE(wholes); i++)
		check_fault(_metadata, self, variant, NR, wholes[i], 1);
}

/* O6: addresses where nothing is mapped. */
TEST_F(fault, nowhere)
{
	static const __u64 nowhere[] = { 0, 1, ~0ULL, 1ULL << 63, 0xffffffff81000000ULL };
	struct kwq_batch_args op;

	for (int i = 0; i < 2 * ARRAY_SIZE(nowhere); i++) {
		__u64 address = nowhere[i / 2];
		int nr = i % 2 ? 4 : 1;

		prepare(_metadata, self, variant, nr);
		op = (struct kwq_batch_args){ .size = sizeof(op) };
		op.batch = batch_of(variant->cmd, self->b);
		if (variant->buffer == ENTRIES)
			op.batch.entries = address;
		else if (variant->buffer == KEYS)
			op.batch.keys = address;
		else
			op.batch.results = address;
		EXPECT_EQ(-EFAULT, request(self->q, variant->cmd, &op)) {
			TH_LOG("address %#llx", address);
		}
		check_taken(_metadata, self, variant, nr, 0, 0);
	}
}

/* O6: results that can be read but not written. */
TEST_F(fault, results_read_only)
{
	size_t page = getpagesize();
	struct kwq_batch_args op = { .size = sizeof(op) };

	prepare(_metadata, self, variant, 4);
	op.batch = batch_of(variant->cmd, self->b);
	ASSERT_EQ(0, mprotect(self->edge - page, page, PROT_READ));
	/* Two results before that page, two in it. */
	op.batch.results = user_ptr(self->edge - page - 2 * sizeof(__s32));
	EXPECT_EQ(2, request(self->q, variant->cmd, &op));
	op.batch.results = user_ptr(self->edge - page);
	EXPECT_EQ(-EFAULT, request(self->q, variant->cmd, &op));
	ASSERT_EQ(0, mprotect(self->edge - page, page, PROT_READ | PROT_WRITE));
	EXPECT_TRUE(is_poison(self->edge - page, page));
	memcpy(self->b->results, self->edge - page - 2 * sizeof(__s32), 2 * sizeof(__s32));
	if (variant->buffer != RESULTS)
		check_taken(_metadata, self, variant, 4, 2, 0);
	else
		check_stat(self->q, .ready = variant->cmd == KWQ_IOC_DONE ? 0 : 2,
			   .processing = variant->cmd == KWQ_IOC_DONE ? 2 : 0, .items = 2);
}

/* Memory that disappears between the announcement of a result and the result itself. */

struct told_late {
	int q;
	unsigned long cmd;
	void *arg;
	int ret;
};

static void *be_told_late(void *arg)
{
	struct told_late *late = arg;

	late->ret = request(late->q, late->cmd, late->arg);
	return NULL;
}

/* Makes the first touch of these pages stop a request. */
static int watch_pages(void *pages, size_t size)
{
	int faults = syscall(__NR_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { user_ptr(pages), size },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	REQUIRE(faults >= 0 && !ioctl(faults, UFFDIO_API, &api));
	REQUIRE(!ioctl(faults, UFFDIO_REGISTER, &range));
	return faults;
}

static void wait_for_touch(int faults, const void *page)
{
	struct uffd_msg fault;

	REQUIRE(read(faults, &fault, sizeof(fault)) == sizeof(fault));
	REQUIRE(fault.event == UFFD_EVENT_PAGEFAULT);
	REQUIRE(fault.arg.pagefault.address / getpagesize() == user_ptr(page) / getpagesize());
}

static void give_page(int faults, const void *page, const void *content)
{
	struct uffdio_copy copy = {
		.dst = user_ptr(page),
		.src = user_ptr(content),
		.len = getpagesize(),
	};

	REQUIRE(!ioctl(faults, UFFDIO_COPY, &copy));
}

#define HALF	16	/* of the results, on each side of the edge between two pages */

/* Q13: a refused entry does not read as taken, even if its result cannot be written. */
TEST_F(batch, refused_and_told_nowhere)
{
	size_t page = getpagesize();
	int q = new_queue_with(self->dev, CLOCK_MONOTONIC, 1, NULL), faults;
	__u8 *pages = user_edge(2) - 2 * page, *content = malloc(page);
	__s32 *results = (__s32 *)(pages + page) - HALF;
	struct batch *adds = new_batch();
	struct kwq_batch_args op = { .size = sizeof(op) };
	struct told_late late = { .q = q, .cmd = KWQ_IOC_ADD, .arg = &op };
	pthread_t thread;
	__s32 untold;
	char key[16];

	ASSERT_LE(0, q);
	ASSERT_EQ(KWQ_ADDED, q_add(q, "full"));
	for (int i = 0; i < 2 * HALF; i++)
		batch_add(adds, numbered(key, i));
	op.batch = batch_of(KWQ_IOC_ADD, adds);
	op.batch.results = user_ptr(results);
	memset(content, POISON, page);
	ASSERT_EQ(0, madvise(pages + page, page, MADV_DONTNEED));
	faults = watch_pages(pages + page, page);

	/* The first half is announced already. It disappears before the results are
	 * written.
	 */
	ASSERT_EQ(0, pthread_create(&thread, NULL, be_told_late, &late));
	wait_for_touch(faults, pages + page);
	ASSERT_EQ(0, mprotect(pages, page, PROT_READ));
	give_page(faults, pages + page, content);
	pthread_join(thread, NULL);
	/*
	 * An entry whose result was not announced is not taken. On s390 an instruction copies to a
	 * program. It writes all or nothing, and starts over once a missing page exists. Other
	 * machines continue at the start of that page.
	 */
	memset(&untold, on_s390() ? POISON : 0, sizeof(untold));
	EXPECT_EQ(untold ? -EFAULT : 2 * HALF, late.ret);
	for (int i = 0; i < 2 * HALF; i++)
		EXPECT_EQ(untold ?: -EFAULT, results[i]);
	EXPECT_TRUE(is_poison(results + 2 * HALF, page - HALF * sizeof(*results)));
	check_stat(q, .ready = 1, .items = 1);
	close(faults);
	close(q);
	user_edge_free(pages + 2 * page, 2);
	free(content);
	free(adds);
}

/* Q13: the same for a done that shares a lock hold with a get. */
TEST_F(batch, refused_done_and_told_nowhere)
{
	size_t page = getpagesize();
	__u8 *pages = user_edge(3) - 3 * page;
	struct kwq_get_args *get = (struct kwq_get_args *)pages, *content = malloc(page);
	struct kwq_done_entry *entry = malloc(page);
	__s32 *result = (__s32 *)(pages + 2 * page);
	struct told_late late = { .q = self->q, .cmd = KWQ_IOC_GET, .arg = get };
	struct kwq_got got;
	pthread_t thread;
	int faults;

	ASSERT_TRUE(content && entry);
	memset(entry, 0, page);
	entry->ticket = 1;
	*get = (struct kwq_get_args){
		.size = sizeof(*get),
		.flags = KWQ_GET_NONBLOCK,
		.done = {
			.entries = user_ptr(pages + page),
			.results = user_ptr(result),
			.nr = 1,
			.entry_size = sizeof(*entry),
		},
		.get = {
			.entries = user_ptr(&got),
			.nr = 1,
			.entry_size = sizeof(got),
		},
	};
	*content = *get;
	ASSERT_EQ(0, madvise(pages + page, page, MADV_DONTNEED));
	faults = watch_pages(pages, 2 * page);

	/* The kernel writes the numbers after the announcement. Then the result's page
	 * disappears.
	 */
	ASSERT_EQ(0, pthread_create(&thread, NULL, be_told_late, &late));
	wait_for_touch(faults, pages + page);
	ASSERT_EQ(0, madvise(pages, page, MADV_DONTNEED));
	give_page(faults, pages + page, entry);
	wait_for_touch(faults, pages);
	EXPECT_EQ(-EFAULT, *result);
	ASSERT_EQ(0, mprotect(result, page, PROT_READ));
	give_page(faults, pages, content);
	pthread_join(thread, NULL);
	EXPECT_EQ(-EAGAIN, late.ret);
	EXPECT_EQ(1, get->nr_done);
	EXPECT_EQ(-EFAULT, *result);
	close(faults);
	user_edge_free(pages + 3 * page, 3);
	free(entry);
	free(content);
}

/* The same for the output of a get. */

struct get_buffers {
	struct kwq_got got[NR];
	__u8 keys[NR * KEY_LEN];
};

/*
 * Gets @nr items. A single item gets so little room that it takes a code path of its
 * own.
 */
static struct kwq_get_args get_into(struct get_buffers *buffers, int nr)
{
	poison(buffers, sizeof(*buffers));
	return (struct kwq_get_args){
		.size = sizeof(struct kwq_get_args),
		.flags = KWQ_GET_NONBLOCK,
		.get = {
			.entries = user_ptr(buffers->got),
			.keys = user_ptr(buffers->keys),
			.keys_len = nr == 1 ? KEY_ROOM : sizeof(buffers->keys),
			.nr = nr,
			.entry_size = sizeof(struct kwq_got),
		},
	};
}

/*
 * O2: @whole of @nr items were fetched. The others are in their places, and no counter
 * counts them.
 */
static void check_fetched(struct __test_metadata *_metadata, int q, int nr, int whole)
{
	char key[16];

	check_stat(q, .ready = nr - whole, .processing = whole, .items = nr);
	check_counts(q, .adds = nr, .gets = whole);
	for (int i = 0; i < whole; i++)
		EXPECT_EQ(KWQ_FINISHED, q_done_key(q, numbered(key, i)));
	for (int i = whole; i < nr; i++) {
		struct item item;

		expect_next(q, &item, numbered(key, i));
		EXPECT_EQ(0, item.abandoned);
		EXPECT_EQ(KWQ_FINISHED, q_done(q, item.ticket));
	}
	check_stat(q, .items = 0);
}

static void check_get_fault(struct __test_metadata *_metadata, int dev, bool keys, int nr,
			    int whole, int more)
{
	struct get_buffers *buffers = malloc(sizeof(*buffers));
	__u8 *edge = user_edge(2);
	struct kwq_get_args get;
	int q = new_queue(dev);

	ASSERT_LE(0, q);
	ASSERT_NE(NULL, buffers);
	add_numbered(_metadata, q, nr);
	get = get_into(buffers, nr);
	if (keys)
		get.get.keys = user_ptr(edge - whole * KEY_LEN - more);
	else
		get.get.entries = user_ptr(edge - whole * sizeof(struct kwq_got) - more);
	EXPECT_EQ(whole ?: -EFAULT, q_get_raw(q, &get)) {
		TH_LOG("%d of %d, and %d bytes", whole, nr, more);
	}
	check_fetched(_metadata, q, nr, whole);
	close(q);
	user_edge_free(edge, 2);
	free(buffers);
}

/* O2 */
TEST_F(batch, get_faults_in_entries)
{
	static const int wholes[] = { 1, 31, 32, 33, 64, 65, NR };

	check_get_fault(_metadata, self->dev, false, 1, 0, 0);
	check_get_fault(_metadata, self->dev, false, 1, 0, 1);
	check_get_fault(_metadata, self->dev, false, 1, 1, 0);
	for (int whole = 0; whole < 4; whole++) {
		check_get_fault(_metadata, self->dev, false, 4, whole, 0);
		check_get_fault(_metadata, self->dev, false, 4, whole, 1);
		check_get_fault(_metadata, self->dev, false, 4, whole, 23);
	}
	for (int i = 0; i < ARRAY_SIZE(wholes); i++)
		check_get_fault(_metadata, self->dev, false, NR, wholes[i], wholes[i] < NR);
}

/* O2 */
TEST_F(batch, get_faults_in_keys)
{
	static const int wholes[] = { 1, 31, 32, 33, 64, 65, NR };

	check_get_fault(_metadata, self->dev, true, 1, 0, 0);
	check_get_fault(_metadata, self->dev, true, 1, 0, 1);
	check_get_fault(_metadata, self->dev, true, 1, 1, 0);
	for (int whole = 0; whole < 4; whole++) {
		check_get_fault(_metadata, self->dev, true, 4, whole, 0);
		check_get_fault(_metadata, self->dev, true, 4, whole, 1);
		check_get_fault(_metadata, self->dev, true, 4, whole, KEY_LEN - 1);
	}
	for (int i = 0; i < ARRAY_SIZE(wholes); i++)
		check_get_fault(_metadata, self->dev, true, NR, wholes[i], wholes[i] < NR);
}

/* O2: longer entries, with a fault in their zeroed tail. */
TEST_F(batch, get_faults_in_a_tail)
{
	__u8 *edge = user_edge(1);
	struct get_buffers *buffers = malloc(sizeof(*buffers));
	struct kwq_get_args get;

	ASSERT_NE(NULL, buffers);
	add_numbered(_metadata, self->q, 3);
	get = get_into(buffers, 3);
	get.get.entry_size = sizeof(struct kwq_got) + 8;
	get.get.entries = user_ptr(edge - 2 * get.get.entry_size + 4);
	EXPECT_EQ(1, q_get_raw(self->q, &get));
	check_fetched(_metadata, self->q, 3, 1);
	free(buffers);
	user_edge_free(edge, 1);
}

/* O2: invalid addresses, also for an item that was abandoned before or has a priority. */
TEST_F(batch, get_to_nowhere)
{
	static const __u64 nowhere[] = { 0, 1, ~0ULL, 1ULL << 63, 0xffffffff81000000ULL };
	struct get_buffers *buffers = malloc(sizeof(*buffers));
	int other = q_reopen(self->q);
	struct item item, items[2];
	struct kwq_get_args get;

	ASSERT_NE(NULL, buffers);
	ASSERT_LE(0, other);
	ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "back", 5));
	ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "back2", 5));
	ASSERT_EQ(2, q_get_many(other, items, 2, 0, KWQ_NO_DEADLINE));
	close(other);
	ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "new", 5));
	ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "new2", 5));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "low"));

	for (int i = 0; i < ARRAY_SIZE(nowhere); i++) {
		for (int nr = 1; nr <= 5; nr++) {
			get = get_into(buffers, nr);
			get.get.entries = nowhere[i];
			EXPECT_EQ(-EFAULT, q_get_raw(self->q, &get));
			get = get_into(buffers, nr);
			get.get.keys = nowhere[i];
			EXPECT_EQ(-EFAULT, q_get_raw(self->q, &get));
		}
	}
	check_stat(self->q, .ready = 5, .items = 5);
	check_counts(self->q, .adds = 5, .gets = 2, .abandoned = 2);
	expect_next(self->q, &item, "back");
	EXPECT_EQ(5, item.priority);
	EXPECT_EQ(1, item.abandoned);
	expect_take(self->q, "back2");
	expect_take(self->q, "new");
	expect_take(self->q, "new2");
	expect_next(self->q, &item, "low");
	EXPECT_EQ(0, item.priority);
	free(buffers);
}

/*
 * O2, Q13: a fault in one part of a get. The parts before it are reported, the parts
 * after it do not happen.
 */
TEST_F(batch, get_faults_in_a_part)
{
	struct batch *adds = new_batch(), *dones = new_batch();
	struct get_buffers *buffers = malloc(sizeof(*buffers));
	__u8 *edge = user_edge(1);
	struct item items[3];
	struct kwq_get_args get;

	ASSERT_NE(NULL, buffers);
	add_numbered(_metadata, self->q, 3);
	ASSERT_EQ(3, q_get_many(self->q, items, 3, 0, KWQ_NO_DEADLINE));
	for (int i = 0; i < 3; i++)
		batch_done(dones, items[i].ticket);
	batch_add(adds, "x");
	batch_add(adds, "y");

	/* The second add is not readable. */
	get = get_into(buffers, 4);
	get.add = batch_of(KWQ_IOC_ADD, adds);
	get.done = batch_of(KWQ_IOC_DONE, dones);
	memcpy(edge - sizeof(struct kwq_add_entry), adds->add, sizeof(struct kwq_add_entry));
	get.add.entries = user_ptr(edge - sizeof(struct kwq_add_entry));
	EXPECT_EQ(-EFAULT, q_get_raw(self->q, &get));
	EXPECT_EQ(1, get.nr_added);
	EXPECT_EQ(0, get.nr_done);
	EXPECT_EQ(KWQ_ADDED, adds->results[0]);
	EXPECT_TRUE(is_poison(dones->results, sizeof(dones->results)));
	check_stat(self->q, .ready = 1, .processing = 3, .items = 4);

	/* The result of the third done is not writable. */
	get = get_into(buffers, 4);
	get.add = batch_of(KWQ_IOC_ADD, adds);
	get.done = batch_of(KWQ_IOC_DONE, dones);
	get.done.results = user_ptr(edge - 2 * sizeof(__s32));
	EXPECT_EQ(-EFAULT, q_get_raw(self->q, &get));
	EXPECT_EQ(2, get.nr_added);
	EXPECT_EQ(2, get.nr_done);
	EXPECT_EQ(KWQ_COALESCED, adds->results[0]);
	EXPECT_EQ(KWQ_ADDED, adds->results[1]);
	check_stat(self->q, .ready = 2, .processing = 1, .items = 3);

	/* The fetched items have no valid destination. */
	get = get_into(buffers, 4);
	get.done = batch_of(KWQ_IOC_DONE, dones);
	get.get.keys = user_ptr(edge);
	EXPECT_EQ(-EFAULT, q_get_raw(self->q, &get));
	EXPECT_EQ(0, get.nr_added);
	EXPECT_EQ(3, get.nr_done);
	EXPECT_EQ(-ESTALE, dones->results[0]);
	EXPECT_EQ(-ESTALE, dones->results[1]);
	EXPECT_EQ(KWQ_FINISHED, dones->results[2]);
	check_stat(self->q, .ready = 2, .items = 2);
	check_counts(self->q, .adds = 5, .coalesced = 1, .gets = 3, .dones = 3);
	expect_take(self->q, "x");
	expect_take(self->q, "y");
	user_edge_free(edge, 1);
	free(buffers);
	free(dones);
	free(adds);
}

/* Q13 O2 O6: one done and one get share a lock hold; each may have an invalid address. */
TEST_F(batch, one_done_and_one_get)
{
	struct get_buffers *buffers = malloc(sizeof(*buffers));
	struct kwq_done_entry entry = {};
	__u8 *edge = user_edge(1);
	struct kwq_get_args right, get;
	struct item item;
	__s32 result;

	ASSERT_NE(NULL, buffers);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "x"));
	expect_next(self->q, &item, "x");
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "y"));
	entry.ticket = item.ticket;
	right = get_into(buffers, 1);
	right.get.keys_len = 4;
	right.done = (struct kwq_batch){
		.entries = user_ptr(&entry),
		.results = user_ptr(&result),
		.nr = 1,
		.entry_size = sizeof(entry),
	};

	/* The done is not readable, or its result not writable: nothing happens. */
	get = right;
	get.done.entries = user_ptr(edge);
	EXPECT_EQ(-EFAULT, q_get_raw(self->q, &get));
	EXPECT_EQ(0, get.nr_done);
	get = right;
	get.done.results = user_ptr(edge);
	EXPECT_EQ(-EFAULT, q_get_raw(self->q, &get));
	EXPECT_EQ(0, get.nr_done);
	EXPECT_TRUE(is_poison(buffers, sizeof(*buffers)));
	check_stat(self->q, .ready = 1, .processing = 1, .items = 2);

	/* The item or its key is not writable: the item goes back, and the done counts. */
	get = right;
	get.get.entries = user_ptr(edge);
	EXPECT_EQ(-EFAULT, q_get_raw(self->q, &get));
	EXPECT_EQ(1, get.nr_done);
	EXPECT_EQ(KWQ_FINISHED, result);
	check_stat(self->q, .ready = 1, .items = 1);
	get = right;
	get.get.keys = user_ptr(edge);
	EXPECT_EQ(-EFAULT, q_get_raw(self->q, &get));
	EXPECT_EQ(1, get.nr_done);
	EXPECT_EQ(-ESTALE, result);
	check_stat(self->q, .ready = 1, .items = 1);

	/* An invalid done is reported, and the get still happens. */
	entry.flags = ~KWQ_DONE_FORGET;
	get = right;
	EXPECT_EQ(1, q_get_raw(self->q, &get));
	EXPECT_EQ(1, get.nr_done);
	EXPECT_EQ(-EINVAL, result);
	item.ticket = buffers->got[0].ticket;
	entry = (struct kwq_done_entry){ .key_len = 1 };
	get = right;
	EXPECT_EQ(-EAGAIN, q_get_raw(self->q, &get));
	EXPECT_EQ(-EINVAL, result);
	entry.key_len = KWQ_KEY_MAX + 1;
	EXPECT_EQ(-EAGAIN, (get = right, q_get_raw(self->q, &get)));
	EXPECT_EQ(-EMSGSIZE, result);
	check_stat(self->q, .processing = 1, .items = 1);

	/* An item with too long a key stays in its place. */
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "longer"));
	entry = (struct kwq_done_entry){ .ticket = item.ticket };
	get = right;
	EXPECT_EQ(-EMSGSIZE, q_get_raw(self->q, &get));
	EXPECT_EQ(1, get.nr_done);
	EXPECT_EQ(KWQ_FINISHED, result);
	check_counts(self->q, .adds = 3, .gets = 2, .dones = 2);
	expect_take(self->q, "longer");
	user_edge_free(edge, 1);
	free(buffers);
}

/* O6: if the counts cannot be written, nothing happens. */
TEST_F(batch, get_told_nowhere)
{
	struct batch *adds = new_batch();
	struct get_buffers *buffers = malloc(sizeof(*buffers));
	size_t page = getpagesize();
	__u8 *edge = user_edge(1);
	struct kwq_get_args *get = (struct kwq_get_args *)(edge - page);

	ASSERT_NE(NULL, buffers);
	batch_add(adds, "x");
	*get = get_into(buffers, 1);
	get->add = batch_of(KWQ_IOC_ADD, adds);
	ASSERT_EQ(0, mprotect(edge - page, page, PROT_READ));
	EXPECT_EQ(-EFAULT, request(self->q, KWQ_IOC_GET, get));
	check_stat(self->q, .items = 0);
	EXPECT_TRUE(is_poison(adds->results, sizeof(adds->results)));
	EXPECT_TRUE(is_poison(buffers, sizeof(*buffers)));
	ASSERT_EQ(0, mprotect(edge - page, page, PROT_READ | PROT_WRITE));
	EXPECT_EQ(1, request(self->q, KWQ_IOC_GET, get));
	user_edge_free(edge, 1);
	free(buffers);
	free(adds);
}

struct told {
	int q;
	struct kwq_get_args *get;
	int ret;
};

static void *get_and_be_told(void *arg)
{
	struct told *told = arg;

	told->ret = request(told->q, KWQ_IOC_GET, told->get);
	return NULL;
}

static void *new_page(void)
{
	void *page = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	REQUIRE(page != MAP_FAILED);
	return page;
}

/*
 * O6: the same if the page of the counts disappears during the call. The kernel waits
 * for a page of the entries meanwhile.
 */
TEST_F(batch, get_told_nowhere_any_more)
{
	struct batch *adds = new_batch();
	struct get_buffers *buffers = malloc(sizeof(*buffers));
	void *entries = new_page(), *source = new_page();
	struct told told = { .q = self->q, .get = new_page() };
	int faults = syscall(__NR_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { user_ptr(entries), getpagesize() },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	struct uffdio_copy copy = {
		.dst = user_ptr(entries),
		.src = user_ptr(source),
		.len = getpagesize(),
	};
	struct uffd_msg fault;
	pthread_t thread;

	ASSERT_NE(NULL, buffers);
	ASSERT_LE(0, faults);
	ASSERT_EQ(0, ioctl(faults, UFFDIO_API, &api));
	ASSERT_EQ(0, ioctl(faults, UFFDIO_REGISTER, &range));
	batch_add(adds, "x");
	memcpy(source, adds->add, sizeof(adds->add[0]));
	*told.get = get_into(buffers, 1);
	told.get->add = batch_of(KWQ_IOC_ADD, adds);
	told.get->add.entries = user_ptr(entries);

	ASSERT_EQ(0, pthread_create(&thread, NULL, get_and_be_told, &told));
	ASSERT_EQ(sizeof(fault), read(faults, &fault, sizeof(fault)));
	EXPECT_EQ(UFFD_EVENT_PAGEFAULT, fault.event);
	ASSERT_EQ(0, munmap(told.get, getpagesize()));
	ASSERT_EQ(0, ioctl(faults, UFFDIO_COPY, &copy));
	pthread_join(thread, NULL);
	EXPECT_EQ(-EFAULT, told.ret);

	/* The add was taken and has its result; nothing was fetched. */
	EXPECT_EQ(KWQ_ADDED, adds->results[0]);
	EXPECT_TRUE(is_poison(buffers, sizeof(*buffers)));
	check_stat(self->q, .ready = 1, .items = 1);
	expect_take(self->q, "x");
	close(faults);
	munmap(entries, getpagesize());
	munmap(source, getpagesize());
	free(buffers);
	free(adds);
}

/* U1, O2: a fault in a list is reported; listing takes nothing away. */
TEST_F(batch, list_faults)
{
	__u8 *edge = user_edge(1);
	struct kwq_list_args list = {
		.size = sizeof(list),
		.nr = 2,
		.entry_size = sizeof(struct kwq_list_entry),
	};
	char names[2][32];

	for (int i = 0; i < 2; i++) {
		int q;

		snprintf(names[i], sizeof(names[i]), "batch.%d.%d", getpid(), i);
		q = q_create(self->dev, names[i], 0, O_CLOEXEC, 0700);
		ASSERT_LE(0, q);
		close(q);
	}
	snprintf((char *)list.after, sizeof(list.after), "batch.%d", getpid());
	list.entries = user_ptr(edge - 2 * sizeof(struct kwq_list_entry));
	EXPECT_EQ(2, request(self->dev, KWQ_IOC_LIST, &list));
	EXPECT_STREQ(names[1], (char *)edge - sizeof(struct kwq_list_entry) +
		     offsetof(struct kwq_list_entry, name));
	for (int there = 0; there < 2 * sizeof(struct kwq_list_entry); there += 15) {
		list.entries = user_ptr(edge - there);
		EXPECT_EQ(-EFAULT, request(self->dev, KWQ_IOC_LIST, &list)) {
			TH_LOG("%d bytes", there);
		}
	}
	EXPECT_EQ(0, q_unlink(self->dev, names[0]));
	EXPECT_EQ(0, q_unlink(self->dev, names[1]));
	user_edge_free(edge, 1);
}

TEST_HARNESS_MAIN

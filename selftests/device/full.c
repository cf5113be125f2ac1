// SPDX-License-Identifier: GPL-2.0-only
/*
 * O4, O6, O1, Q1, Q8, Q10, D4: fills a queue of the greatest size to its limit. Then
 * one operation concerns all items at once. The machine's watchdogs report code that
 * keeps a processor or a lock for too long.
 *
 *	KWQ_ITEMS=N   the number of items, or of KiB for them. 0 means the
 *	              module's maximum, for which MEMORY=8G is enough
 */
#include "kwq_test.h"

#define ITEMS		number_from("KWQ_ITEMS", 8192)
#define ITEM_BYTES	2048

#define TIMEOUT		(ITEMS ? 100 : 3600)

FIXTURE(full)
{
	int dev;
	int q;
	__u64 nr;			/* items that the queue has room for */
	__u64 bytes;			/* of one of them */
	size_t key_len;
	__u8 *keys;
	struct kwq_got *got;
	__u8 *seen;			/* a bit for each key */
	struct kwq_add_entry adds[KWQ_BATCH_MAX];
	struct kwq_done_entry dones[KWQ_BATCH_MAX];
	__s32 results[KWQ_BATCH_MAX];
};

typedef FIXTURE_DATA(full) full_fixture;

FIXTURE_VARIANT(full)
{
	size_t key_len;
};

FIXTURE_VARIANT_ADD(full, long_keys)
{
	.key_len = KWQ_KEY_MAX,
};

FIXTURE_VARIANT_ADD(full, short_keys)
{
	.key_len = sizeof(__u32),
};

static int new_full(full_fixture *self, __s32 clockid)
{
	return new_queue_as(self->dev, .clockid = clockid, .max_items = ITEMS,
			    .max_bytes = ITEMS * ITEM_BYTES);
}

static void set_key(full_fixture *self, int place, __u32 key)
{
	memcpy(self->keys + place * self->key_len, &key, sizeof(key));
}

static __u32 key_at(full_fixture *self, int place)
{
	__u32 key;

	memcpy(&key, self->keys + place * self->key_len, sizeof(key));
	return key;
}

/* Adds @nr keys from @first on; all have the same result. */
static int add_many(full_fixture *self, int q, __u32 first, int nr, __u32 flags, __u64 time)
{
	for (int i = 0; i < nr; i++) {
		set_key(self, i, first + i);
		self->adds[i] = (struct kwq_add_entry){
			.key_len = self->key_len,
			.flags = flags,
			.time = time,
		};
	}
	REQUIRE(q_op(q, KWQ_IOC_ADD, self->adds, sizeof(self->adds[0]), nr, self->keys,
		     nr * self->key_len, self->results) == nr);
	for (int i = 1; i < nr; i++)
		REQUIRE(self->results[i] == self->results[0]);
	return self->results[0];
}

static int at_most(__u64 nr)
{
	return nr < KWQ_BATCH_MAX ? nr : KWQ_BATCH_MAX;
}

FIXTURE_SETUP(full)
{
	struct kwq_stat stat;

	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->key_len = variant->key_len;
	self->keys = calloc(KWQ_BATCH_MAX, self->key_len);
	self->got = calloc(KWQ_BATCH_MAX, sizeof(*self->got));
	ASSERT_TRUE(self->keys && self->got);

	self->q = new_full(self, CLOCK_MONOTONIC);
	ASSERT_LE(0, self->q);
	ASSERT_EQ(KWQ_ADDED, add_many(self, self->q, 0, 1, 0, 0));
	ASSERT_EQ(0, q_stat(self->q, &stat));
	close(self->q);
	self->bytes = stat.bytes;
	self->nr = stat.max_bytes / stat.bytes;
	if (self->nr > stat.max_items)
		self->nr = stat.max_items;
	ASSERT_LT(KWQ_BATCH_MAX, self->nr);
	self->seen = calloc(1, self->nr / 8 + 1);
	ASSERT_NE(NULL, self->seen);
	self->q = new_full(self, CLOCK_MONOTONIC);
	ASSERT_LE(0, self->q);
}

FIXTURE_TEARDOWN(full)
{
	close(self->q);
	close(self->dev);
}

/*
 * O4: fills the queue to its limit. Another key is refused, and an existing key still
 * coalesces.
 */
static void fill(struct __test_metadata *_metadata, full_fixture *self, __u32 flags, __u64 time,
		 int result)
{
	struct kwq_stat stat;
	int n;

	for (__u64 i = 0; i < self->nr; i += n) {
		n = at_most(self->nr - i);
		ASSERT_EQ(result, add_many(self, self->q, i, n, flags, time));
	}
	ASSERT_EQ(-ENOSPC, add_many(self, self->q, self->nr, KWQ_BATCH_MAX, 0, 0));
	ASSERT_EQ(-ENOSPC, add_many(self, self->q, self->nr, 1, KWQ_ADD_AFTER, HOUR));
	ASSERT_EQ(KWQ_COALESCED, add_many(self, self->q, 0, KWQ_BATCH_MAX, flags, time));
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(self->nr, stat.items);
	EXPECT_EQ(self->nr * self->bytes, stat.bytes);
	EXPECT_EQ(self->nr, stat.ready + stat.waiting);
}

static int get_many(full_fixture *self, int q)
{
	struct kwq_get_args get = GET_ARGS(self->got, user_ptr(self->keys),
					   KWQ_BATCH_MAX * self->key_len, KWQ_BATCH_MAX,
					   .flags = KWQ_GET_NONBLOCK);

	return q_get_raw(q, &get);
}

static void finish_many(full_fixture *self, int q, int nr)
{
	for (int i = 0; i < nr; i++)
		self->dones[i] = (struct kwq_done_entry){ .ticket = self->got[i].ticket };
	REQUIRE(q_op(q, KWQ_IOC_DONE, self->dones, sizeof(self->dones[0]), nr, NULL, 0,
		     self->results) == nr);
	for (int i = 0; i < nr; i++)
		REQUIRE(self->results[i] == KWQ_FINISHED);
}

/* Q1, D4: gets all items, in the order of their adds. */
static void get_all_in_order(struct __test_metadata *_metadata, full_fixture *self, int q)
{
	int n;

	for (__u64 i = 0; i < self->nr; i += n) {
		n = get_many(self, q);
		ASSERT_LT(0, n);
		for (int j = 0; j < n; j++)
			ASSERT_EQ(i + j, key_at(self, j));
	}
	EXPECT_EQ(q_shutting_down(q) ? -ESHUTDOWN : -EAGAIN, get_many(self, q));
}

/* Gets and finishes each key once, in any order. */
static void finish_all(struct __test_metadata *_metadata, full_fixture *self, int q)
{
	__u64 finished = 0;
	int n;

	memset(self->seen, 0, self->nr / 8 + 1);
	while ((n = get_many(self, q)) > 0) {
		for (int i = 0; i < n; i++) {
			__u32 key = key_at(self, i);

			ASSERT_GT(self->nr, key);
			ASSERT_FALSE(self->seen[key / 8] & 1 << key % 8);
			self->seen[key / 8] |= 1 << key % 8;
		}
		finish_many(self, q, n);
		finished += n;
	}
	EXPECT_EQ(self->nr, finished);
	check_stat(q, .items = 0, .state = q_shutting_down(q) ? KWQ_STATE_SHUT_DOWN : 0);
}

/* O6: no handle is left. */
TEST_F_TIMEOUT(full, closed, TIMEOUT)
{
	TH_LOG("%llu items, %llu bytes", self->nr, self->nr * self->bytes);
	fill(_metadata, self, 0, 0, KWQ_ADDED);
	EXPECT_EQ(0, close(self->q));
	self->q = new_full(self, CLOCK_MONOTONIC);
	ASSERT_LE(0, self->q);
	EXPECT_EQ(KWQ_ADDED, add_many(self, self->q, 0, KWQ_BATCH_MAX, 0, 0));
}

/* O1: the holder closes its handle and gives all items back. Then the queue is emptied. */
TEST_F_TIMEOUT(full, held_given_back_and_emptied, TIMEOUT)
{
	struct kwq_stat stat;
	int holder;

	fill(_metadata, self, 0, 0, KWQ_ADDED);
	holder = q_reopen(self->q);
	ASSERT_LE(0, holder);
	get_all_in_order(_metadata, self, holder);
	EXPECT_EQ(-ENOSPC, add_many(self, self->q, self->nr, 1, 0, 0));
	close(holder);
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(self->nr, stat.ready);
	EXPECT_EQ(self->nr, stat.abandoned);
	finish_all(_metadata, self, self->q);
	EXPECT_EQ(KWQ_ADDED, add_many(self, self->q, self->nr, 1, 0, 0));
}

/*
 * D4, Q8: all items become due at once, because the clock jumps. A shut down then keeps
 * them.
 */
TEST_F_TIMEOUT(full, due_at_once, TIMEOUT)
{
	struct kwq_stat stat;

	close(self->q);
	self->q = new_full(self, KWQ_CLOCK_ID_MANUAL);
	ASSERT_LE(0, self->q);
	fill(_metadata, self, KWQ_ADD_AT, 1, KWQ_WAITING);
	ASSERT_EQ(0, q_advance(self->q, 1));
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(self->nr, stat.ready);
	ASSERT_EQ(0, q_shut_down(self->q));
	get_all_in_order(_metadata, self, self->q);
	/* The last handle frees the items. */
}

/* Q8, Q9: ready items stay, and a drain waits for them. */
TEST_F_TIMEOUT(full, drained, TIMEOUT)
{
	struct sleeper s;

	fill(_metadata, self, 0, 0, KWQ_ADDED);
	start_drain(&s, self->q);
	finish_all(_metadata, self, self->q);
	EXPECT_EQ(0, sleeper_join(&s));
}

/* Q8, Q10: waiting items are dropped. */
TEST_F_TIMEOUT(full, shut_down, TIMEOUT)
{
	struct kwq_stat stat;

	fill(_metadata, self, KWQ_ADD_AFTER, HOUR, KWQ_WAITING);
	ASSERT_EQ(0, q_shut_down(self->q));
	check_stat(self->q, .items = 0, .state = KWQ_STATE_SHUT_DOWN);
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(self->nr, stat.dropped);
}

TEST_HARNESS_MAIN

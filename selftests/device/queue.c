// SPDX-License-Identifier: GPL-2.0-only
/*
 * Q1 to Q8, Q11, Q12: the life of an item, seen through the device.
 */
#include "kwq_test.h"

TWO_HANDLES_FIXTURE(queue, new_queue(self->dev))

/* Q1 */
TEST_F(queue, first_in_first_out)
{
	char key[16];

	for (int i = 0; i < 500; i++) {
		snprintf(key, sizeof(key), "%d", i);
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, key));
	}
	check_stat(self->q, .ready = 500, .items = 500);
	for (int i = 0; i < 500; i++) {
		snprintf(key, sizeof(key), "%d", i);
		expect_take(self->q, key);
	}
	check_stat(self->q, .items = 0);
	check_counts(self->q, .adds = 500, .gets = 500, .dones = 500);
}

/* Q2, Q4, Q11, Q12: each result of an add and of a remove. KUnit has what they mean. */
TEST_F(queue, results)
{
	struct item item;

	EXPECT_EQ(-ENOENT, q_remove(self->q, "a"));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_ADDED, q_add_priority(self->q, "b", KWQ_PRIORITY_MAX));
	EXPECT_EQ(KWQ_ADDED, q_add_priority(self->q, "c", KWQ_PRIORITY_MIN));
	EXPECT_EQ(KWQ_WAITING, q_add_after(self->q, "w", HOUR));
	EXPECT_EQ(KWQ_COALESCED, q_add(self->other, "a"));
	expect_next(self->q, &item, "b");
	EXPECT_EQ(KWQ_PRIORITY_MAX, item.priority);
	EXPECT_EQ(KWQ_DIRTIED, q_add(self->q, "b"));
	EXPECT_EQ(KWQ_DIRTY, q_add(self->other, "b"));
	EXPECT_EQ(KWQ_REQUEUED, q_done(self->q, item.ticket));
	EXPECT_EQ(KWQ_WAS_READY, q_remove(self->q, "b"));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(0, item.priority);
	EXPECT_EQ(KWQ_DIRTIED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_WAITING, q_add_after(self->q, "a", HOUR));
	EXPECT_EQ(KWQ_WAS_PROCESSING | KWQ_WAS_DIRTY | KWQ_WAS_WAITING, q_remove(self->other, "a"));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	EXPECT_EQ(KWQ_WAS_WAITING, q_remove(self->other, "w"));
	expect_next(self->q, &item, "c");
	EXPECT_EQ(KWQ_PRIORITY_MIN, item.priority);
	EXPECT_EQ(KWQ_WAS_PROCESSING, q_remove(self->q, "c"));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	check_stat(self->q, .items = 0);
}

/* Q2: keys are equal exactly if all their bytes are. */
TEST_F(queue, keys_are_bytes)
{
	static const struct {
		const char *bytes;
		size_t len;
	} keys[] = {
		{ "\0", 1 }, { "\0\0", 2 }, { "a", 1 }, { "a\0", 2 }, { "ab", 2 }, { "a\0b", 3 },
		{ "a\0c", 3 }, { "A", 1 }, { "\xff", 1 }, { "\xff\xff\xff\xff", 4 }, { "/", 1 },
		{ "a/b", 3 }, { " ", 1 }, { "\n", 1 },
	};
	__u8 *a = malloc(KWQ_KEY_MAX), *b = malloc(KWQ_KEY_MAX);
	struct item item;

	for (int i = 0; i < ARRAY_SIZE(keys); i++)
		EXPECT_EQ(KWQ_ADDED, q_add_bytes(self->q, keys[i].bytes, keys[i].len, 0, 0, 0));
	for (int i = 0; i < ARRAY_SIZE(keys); i++)
		EXPECT_EQ(KWQ_COALESCED, q_add_bytes(self->q, keys[i].bytes, keys[i].len, 0, 0, 0));
	for (int i = 0; i < ARRAY_SIZE(keys); i++) {
		ASSERT_EQ(1, q_try_get(self->q, &item));
		EXPECT_EQ(keys[i].len, item.key_len);
		EXPECT_EQ(0, memcmp(item.key, keys[i].bytes, keys[i].len));
		EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	}

	/* The longest keys, which differ in one byte. */
	ASSERT_TRUE(a && b);
	memset(a, 'k', KWQ_KEY_MAX);
	EXPECT_EQ(KWQ_ADDED, q_add_bytes(self->q, a, KWQ_KEY_MAX, 0, 0, 0));
	EXPECT_EQ(KWQ_ADDED, q_add_bytes(self->q, a, KWQ_KEY_MAX - 1, 0, 0, 0));
	for (int at = 0; at < KWQ_KEY_MAX; at += KWQ_KEY_MAX - 1) {
		memset(b, 'k', KWQ_KEY_MAX);
		b[at] ^= 1;
		EXPECT_EQ(KWQ_ADDED, q_add_bytes(self->q, b, KWQ_KEY_MAX, 0, 0, 0));
		EXPECT_EQ(KWQ_COALESCED, q_add_bytes(self->q, b, KWQ_KEY_MAX, 0, 0, 0));
	}
	EXPECT_EQ(KWQ_COALESCED, q_add_bytes(self->q, a, KWQ_KEY_MAX, 0, 0, 0));
	check_stat(self->q, .ready = 4, .items = 4);
	free(a);
	free(b);
}

/* Q3 */
TEST_F(queue, one_holder_at_a_time)
{
	struct item item, second;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(1, q_try_get(self->q, &item));
	EXPECT_EQ(KWQ_DIRTIED, q_add(self->q, "a"));
	EXPECT_EQ(-EAGAIN, q_try_get(self->q, &second));
	EXPECT_EQ(-EAGAIN, q_try_get(self->other, &second));
	EXPECT_EQ(KWQ_REQUEUED, q_done(self->q, item.ticket));
	EXPECT_EQ(1, q_try_get(self->other, &second));
	EXPECT_EQ(-EAGAIN, q_try_get(self->q, &item));
}

static void check_refused(struct __test_metadata *_metadata, int q, int want, int got,
			  const struct kwq_stat *before)
{
	struct kwq_stat after;

	EXPECT_EQ(want, got);
	ASSERT_EQ(0, q_stat(q, &after));
	EXPECT_TRUE(same_stat(before, &after));
}

/* Q6: a done that nobody owes. Afterwards client-go's queue holds the item twice. */
TEST_F(queue, done_that_nobody_owed)
{
	struct kwq_stat before;
	struct item item, second;

	/* A key that does not exist. */
	ASSERT_EQ(0, q_stat(self->q, &before));
	check_refused(_metadata, self->q, -ENOENT, q_done_key(self->q, "a"), &before);
	check_refused(_metadata, self->q, -ESTALE, q_done(self->q, 1), &before);
	check_refused(_metadata, self->q, -ESTALE, q_done(self->q, ~0ULL), &before);

	/* An item that is ready. */
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(0, q_stat(self->q, &before));
	check_refused(_metadata, self->q, -ENOENT, q_done_key(self->q, "a"), &before);

	/* A handle that does not hold the item. */
	expect_next(self->q, &item, "a");
	ASSERT_EQ(0, q_stat(self->q, &before));
	check_refused(_metadata, self->q, -EPERM, q_done_key(self->other, "a"), &before);
	check_refused(_metadata, self->q, -ESTALE, q_done(self->other, item.ticket), &before);
	check_refused(_metadata, self->q, -ESTALE, q_done(self->q, item.ticket + 1), &before);

	/* A second done, also when the item is ready again. */
	EXPECT_EQ(KWQ_DIRTIED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_REQUEUED, q_done(self->q, item.ticket));
	ASSERT_EQ(0, q_stat(self->q, &before));
	check_refused(_metadata, self->q, -ESTALE, q_done(self->q, item.ticket), &before);
	check_refused(_metadata, self->q, -ENOENT, q_done_key(self->q, "a"), &before);

	/* A second done when the item is handed out again: the old ticket is not the
	 * new one.
	 */
	expect_next(self->q, &second, "a");
	EXPECT_NE(item.ticket, second.ticket);
	ASSERT_EQ(0, q_stat(self->q, &before));
	check_refused(_metadata, self->q, -ESTALE, q_done(self->q, item.ticket), &before);
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, second.ticket));
	check_stat(self->q, .items = 0);
	EXPECT_EQ(-EAGAIN, q_try_get(self->q, &item));
}

/* Q6: both ways to identify an item to finish. */
TEST_F(queue, done_by_key_and_by_ticket)
{
	struct item a, b;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	expect_next(self->q, &a, "a");
	expect_next(self->q, &b, "b");
	EXPECT_EQ(KWQ_FINISHED, q_done_key(self->q, "b"));
	EXPECT_EQ(-ESTALE, q_done(self->q, b.ticket));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, a.ticket));
	EXPECT_EQ(-ENOENT, q_done_key(self->q, "a"));
	check_stat(self->q, .items = 0);
}

/* Q7 */
TEST_F(queue, len_counts_the_ready)
{
	struct item item;

	EXPECT_EQ(0, q_len(self->q));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "c", HOUR));
	EXPECT_EQ(2, q_len(self->q));
	EXPECT_EQ(2, q_len(self->other));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(1, q_len(self->q));
	EXPECT_EQ(KWQ_DIRTIED, q_add(self->q, "a"));
	EXPECT_EQ(1, q_len(self->q));
	EXPECT_EQ(KWQ_REQUEUED, q_done(self->q, item.ticket));
	EXPECT_EQ(2, q_len(self->q));
	check_stat(self->q, .ready = 2, .waiting = 1, .items = 3);
}

/* O4: the kernel takes the memory that a queue keeps for keys to come. */
TEST_F(queue, memory_is_dropped)
{
	char key[16];
	int i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < 100; i++) {
			snprintf(key, sizeof(key), "%d", i);
			ASSERT_EQ(KWQ_ADDED, q_add(self->q, key));
		}
		for (i = 0; i < 100; i++) {
			snprintf(key, sizeof(key), "%d", i);
			ASSERT_EQ(KWQ_WAS_READY, q_remove(self->q, key));
		}
		ASSERT_EQ(0, write_text("/proc/sys/vm/drop_caches", "2"));
	}
	check_stat(self->q, .items = 0);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Q1 to Q8, Q11, Q12: the life of an item, seen through the device.
 */
#include "kwq_test.h"

FIXTURE(queue)
{
	int dev;
	int q;
	int other;	/* a second handle of the same queue */
};

FIXTURE_SETUP(queue)
{
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = new_queue(self->dev);
	ASSERT_LE(0, self->q);
	self->other = q_reopen(self->q);
	ASSERT_LE(0, self->other);
}

FIXTURE_TEARDOWN(queue)
{
	close(self->other);
	close(self->q);
	close(self->dev);
}

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

/* Q1: the order holds while items come and go. */
TEST_F(queue, order_goes_on)
{
	char key[16];

	for (int i = 0; i < 3; i++) {
		snprintf(key, sizeof(key), "%d", i);
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, key));
	}
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "%d", i);
		expect_take(self->q, key);
		snprintf(key, sizeof(key), "%d", i + 3);
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, key));
	}
	check_stat(self->q, .ready = 3, .items = 3);
}

/* Q2: the place of the item is that of the first add. */
TEST_F(queue, adds_coalesce)
{
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	EXPECT_EQ(KWQ_COALESCED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_COALESCED, q_add(self->other, "a"));
	EXPECT_EQ(KWQ_COALESCED, q_add(self->q, "b"));
	check_stat(self->q, .ready = 2, .items = 2);
	check_counts(self->q, .adds = 2, .coalesced = 3);
	expect_take(self->q, "a");
	expect_take(self->q, "b");
	check_stat(self->q, .items = 0);

	/* After its done the item starts over. */
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
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

/* Q4 */
TEST_F(queue, added_while_processing)
{
	struct item item;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	expect_next(self->q, &item, "a");
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	EXPECT_EQ(KWQ_DIRTIED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_DIRTY, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_DIRTY, q_add(self->other, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "c"));
	check_stat(self->q, .ready = 2, .processing = 1, .items = 3);

	/* Ready once, at the tail. */
	EXPECT_EQ(KWQ_REQUEUED, q_done(self->q, item.ticket));
	check_stat(self->q, .ready = 3, .items = 3);
	check_counts(self->q, .adds = 4, .coalesced = 2, .gets = 1, .dones = 1);
	expect_take(self->q, "b");
	expect_take(self->q, "c");
	expect_take(self->q, "a");
	check_stat(self->q, .items = 0);
}

/* Q4: no add is lost, run after run. */
TEST_F(queue, added_in_every_run)
{
	struct item item;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	for (int i = 0; i < 50; i++) {
		expect_next(self->q, &item, "a");
		EXPECT_EQ(KWQ_DIRTIED, q_add(self->q, "a"));
		EXPECT_EQ(KWQ_REQUEUED, q_done(self->q, item.ticket));
	}
	expect_take(self->q, "a");
	check_stat(self->q, .items = 0);
	check_counts(self->q, .adds = 51, .gets = 51, .dones = 51);
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

/* Q6: every hand-out has a ticket of its own. */
TEST_F(queue, tickets_differ)
{
	struct item item;
	__u64 last = 0;

	for (int i = 0; i < 200; i++) {
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
		ASSERT_EQ(1, q_try_get(i % 2 ? self->q : self->other, &item));
		EXPECT_LT(last, item.ticket);
		last = item.ticket;
		EXPECT_EQ(KWQ_FINISHED, q_done_key(i % 2 ? self->q : self->other, "a"));
	}
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

/* Q11 */
TEST_F(queue, remove_takes_out)
{
	struct item item;

	EXPECT_EQ(-ENOENT, q_remove(self->q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "c"));
	ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "w", HOUR));
	EXPECT_EQ(KWQ_WAS_READY, q_remove(self->q, "b"));
	EXPECT_EQ(KWQ_WAS_WAITING, q_remove(self->other, "w"));
	EXPECT_EQ(-ENOENT, q_remove(self->q, "b"));
	EXPECT_EQ(-ENOENT, q_remove(self->q, "w"));
	check_stat(self->q, .ready = 2, .items = 2);
	check_counts(self->q, .adds = 3, .removed = 2);
	expect_take(self->q, "a");
	expect_take(self->q, "c");
	EXPECT_EQ(-EAGAIN, q_try_get(self->q, &item));
}

/*
 * Q11: a removed item that is being processed leaves at its done. Nobody gets it
 * meanwhile.
 */
TEST_F(queue, remove_while_processing)
{
	struct item item;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(KWQ_DIRTIED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_WAITING, q_add_after(self->q, "a", HOUR));
	EXPECT_EQ(KWQ_WAS_PROCESSING | KWQ_WAS_DIRTY | KWQ_WAS_WAITING, q_remove(self->other, "a"));
	check_stat(self->q, .processing = 1, .items = 1);
	EXPECT_EQ(KWQ_WAS_PROCESSING, q_remove(self->q, "a"));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	check_stat(self->q, .items = 0);

	/* An add after the remove counts and is not lost. */
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(KWQ_WAS_PROCESSING, q_remove(self->q, "a"));
	EXPECT_EQ(KWQ_DIRTIED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_REQUEUED, q_done(self->q, item.ticket));
	expect_take(self->q, "a");
}

/* Q12: all priorities, added in mixed order. */
TEST_F(queue, priorities)
{
	const int levels = KWQ_PRIORITY_MAX - KWQ_PRIORITY_MIN + 1;
	struct item item;
	char key[16];

	ASSERT_EQ(64, levels);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < levels; i++) {
			/* 37 has no factor in common with 64. */
			int priority = KWQ_PRIORITY_MIN + i * 37 % levels;

			snprintf(key, sizeof(key), "%d.%d", priority, round);
			ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, key, priority));
		}
	}
	for (int priority = KWQ_PRIORITY_MAX; priority >= KWQ_PRIORITY_MIN; priority--) {
		for (int round = 0; round < 2; round++) {
			snprintf(key, sizeof(key), "%d.%d", priority, round);
			expect_next(self->q, &item, key);
			EXPECT_EQ(priority, item.priority);
			EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
		}
	}
	check_stat(self->q, .items = 0);
}

/* Q12: any two priorities, added in either order. */
TEST_F(queue, every_pair_of_priorities)
{
	struct item item;

	for (int high = KWQ_PRIORITY_MIN + 1; high <= KWQ_PRIORITY_MAX; high++) {
		int low = high - 1;

		ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "low", low));
		ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "high", high));
		expect_take(self->q, "high");
		ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "high", high));
		expect_take(self->q, "high");
		expect_next(self->q, &item, "low");
		EXPECT_EQ(low, item.priority);
		EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	}
}

/* Q12: the default priority is 0. */
TEST_F(queue, priority_by_default)
{
	struct item item;

	ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "below", -1));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "none"));
	ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "zero", 0));
	ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "above", 1));
	expect_take(self->q, "above");
	expect_next(self->q, &item, "none");
	EXPECT_EQ(0, item.priority);
	expect_take(self->q, "zero");
	expect_take(self->q, "below");
}

/*
 * Q12: a higher priority moves a ready item to that priority's tail; a lower one does
 * nothing.
 */
TEST_F(queue, priority_rises)
{
	ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "a", 0));
	ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "b", 0));
	ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "c", 0));
	ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "x", 5));
	ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "y", 5));

	EXPECT_EQ(KWQ_COALESCED, q_add_priority(self->q, "b", 5));
	/* The same priority, a lower one, or none: the item keeps its place. */
	EXPECT_EQ(KWQ_COALESCED, q_add_priority(self->q, "x", 5));
	EXPECT_EQ(KWQ_COALESCED, q_add_priority(self->q, "x", 4));
	EXPECT_EQ(KWQ_COALESCED, q_add_priority(self->q, "x", KWQ_PRIORITY_MIN));
	EXPECT_EQ(KWQ_COALESCED, q_add(self->q, "x"));
	check_stat(self->q, .ready = 5, .items = 5);
	check_counts(self->q, .adds = 5, .coalesced = 5);

	expect_take(self->q, "x");
	expect_take(self->q, "y");
	expect_take(self->q, "b");
	expect_take(self->q, "a");
	expect_take(self->q, "c");
}

/* Q12: an item keeps its priority only through a requeue without a priority. */
TEST_F(queue, priority_through_a_requeue)
{
	struct item item;

	ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "a", 7));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(7, item.priority);
	EXPECT_EQ(KWQ_DIRTIED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_REQUEUED, q_done(self->q, item.ticket));

	/* A requeue with a priority uses it, even a lower one; the highest of several
	 * counts.
	 */
	expect_next(self->q, &item, "a");
	EXPECT_EQ(7, item.priority);
	EXPECT_EQ(KWQ_DIRTIED, q_add_priority(self->q, "a", -3));
	EXPECT_EQ(KWQ_REQUEUED, q_done(self->q, item.ticket));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(-3, item.priority);
	EXPECT_EQ(KWQ_DIRTIED, q_add_priority(self->q, "a", 1));
	EXPECT_EQ(KWQ_DIRTY, q_add_priority(self->q, "a", 9));
	EXPECT_EQ(KWQ_DIRTY, q_add_priority(self->q, "a", 4));
	EXPECT_EQ(KWQ_DIRTY, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_REQUEUED, q_done(self->q, item.ticket));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(9, item.priority);

	/* After its done the item has no priority any more. */
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(0, item.priority);
}

/* Q12: a requeued item goes to the tail of its priority, ahead of lower ones. */
TEST_F(queue, requeue_within_its_level)
{
	struct item item;

	ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "a", 3));
	expect_next(self->q, &item, "a");
	ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "same", 3));
	ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "below", 2));
	EXPECT_EQ(KWQ_DIRTIED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_REQUEUED, q_done(self->q, item.ticket));
	expect_take(self->q, "same");
	expect_take(self->q, "a");
	expect_take(self->q, "below");
}

/* Q12: the priority of a removed item is forgotten. */
TEST_F(queue, priority_after_remove)
{
	struct item item;

	ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "a", 9));
	EXPECT_EQ(KWQ_WAS_READY, q_remove(self->q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(0, item.priority);
}

/*
 * Every operation in every state of an item.
 *
 * R ready, W waiting, P processing through the calling handle, O through another
 * handle, D added meanwhile.
 */
enum state {
	NONE, R, W, RW, P, PD, PW, PDW, O, OD, OW, ODW, NR_STATES,
};

static const char * const state_names[NR_STATES] = {
	"none", "R", "W", "RW", "P", "PD", "PW", "PDW", "O", "OD", "OW", "ODW",
};

static const struct {
	bool ready, waiting, processing, dirty, others;
} parts[NR_STATES] = {
	[R] = { .ready = true },
	[W] = { .waiting = true },
	[RW] = { .ready = true, .waiting = true },
	[P] = { .processing = true },
	[PD] = { .processing = true, .dirty = true },
	[PW] = { .processing = true, .waiting = true },
	[PDW] = { .processing = true, .dirty = true, .waiting = true },
	[O] = { .processing = true, .others = true },
	[OD] = { .processing = true, .others = true, .dirty = true },
	[OW] = { .processing = true, .others = true, .waiting = true },
	[ODW] = { .processing = true, .others = true, .dirty = true, .waiting = true },
};

struct subject {
	int q;
	int other;
	__u64 ticket;	/* of its hand-out; one that nobody holds if it is not out */
};

static int do_add(struct subject *s)
{
	return q_add(s->q, "k");
}

static int do_add_priority(struct subject *s)
{
	return q_add_priority(s->q, "k", 1);
}

static int do_add_end_wait(struct subject *s)
{
	return q_add_with(s->q, "k", KWQ_ADD_END_WAIT, 0, 0);
}

static int do_add_after(struct subject *s)
{
	return q_add_after(s->q, "k", HOUR);
}

static int do_add_after_replace(struct subject *s)
{
	return q_add_with(s->q, "k", KWQ_ADD_AFTER | KWQ_ADD_REPLACE, 0, 2 * HOUR);
}

static int do_add_after_zero(struct subject *s)
{
	return q_add_after(s->q, "k", 0);
}

static int do_add_past(struct subject *s)
{
	return q_add_at(s->q, "k", 1);
}

static int do_add_past_replace(struct subject *s)
{
	return q_add_with(s->q, "k", KWQ_ADD_AT | KWQ_ADD_REPLACE, 0, 1);
}

static int do_add_past_keep(struct subject *s)
{
	return q_add_with(s->q, "k", KWQ_ADD_AT | KWQ_ADD_KEEP, 0, 1);
}

static int do_add_past_later(struct subject *s)
{
	return q_add_with(s->q, "k", KWQ_ADD_AT | KWQ_ADD_LATER, 0, 1);
}

static int do_add_zero_replace(struct subject *s)
{
	return q_add_with(s->q, "k", KWQ_ADD_AFTER | KWQ_ADD_REPLACE, 0, 0);
}

static int do_add_zero_keep(struct subject *s)
{
	return q_add_with(s->q, "k", KWQ_ADD_AFTER | KWQ_ADD_KEEP, 0, 0);
}

static int do_get(struct subject *s)
{
	struct item item;

	return q_try_get(s->q, &item);
}

static int do_done_key(struct subject *s)
{
	return q_done_key(s->q, "k");
}

static int do_done_ticket(struct subject *s)
{
	return q_done(s->q, s->ticket);
}

static int do_remove(struct subject *s)
{
	return q_remove(s->q, "k");
}

static int do_shut_down(struct subject *s)
{
	return q_shut_down(s->q);
}

/* The other handle is closed. */
static int do_abandon(struct subject *s)
{
	close(s->other);
	s->other = -1;
	return 0;
}

#define WAS(what)	KWQ_WAS_ ## what

struct outcome {
	int ret;
	enum state to;
};

struct operation {
	const char *name;
	int (*run)(struct subject *s);
	struct outcome of[NR_STATES];
};

/* Q1, Q2, Q4, Q6, Q8, Q11, D1, D2, D3, O1 */
static const struct operation operations[] = {
	{ "add", do_add, {
		[NONE] = { KWQ_ADDED, R },	[R] = { KWQ_COALESCED, R },
		[W] = { KWQ_ADDED, RW },	[RW] = { KWQ_COALESCED, RW },
		[P] = { KWQ_DIRTIED, PD },	[PD] = { KWQ_DIRTY, PD },
		[PW] = { KWQ_DIRTIED, PDW },	[PDW] = { KWQ_DIRTY, PDW },
		[O] = { KWQ_DIRTIED, OD },	[OD] = { KWQ_DIRTY, OD },
		[OW] = { KWQ_DIRTIED, ODW },	[ODW] = { KWQ_DIRTY, ODW },
	} },
	{ "add with a priority", do_add_priority, {
		[NONE] = { KWQ_ADDED, R },	[R] = { KWQ_COALESCED, R },
		[W] = { KWQ_ADDED, RW },	[RW] = { KWQ_COALESCED, RW },
		[P] = { KWQ_DIRTIED, PD },	[PD] = { KWQ_DIRTY, PD },
		[PW] = { KWQ_DIRTIED, PDW },	[PDW] = { KWQ_DIRTY, PDW },
		[O] = { KWQ_DIRTIED, OD },	[OD] = { KWQ_DIRTY, OD },
		[OW] = { KWQ_DIRTIED, ODW },	[ODW] = { KWQ_DIRTY, ODW },
	} },
	{ "add and end the wait", do_add_end_wait, {
		[NONE] = { KWQ_ADDED, R },	[R] = { KWQ_COALESCED, R },
		[W] = { KWQ_ADDED, R },		[RW] = { KWQ_COALESCED, R },
		[P] = { KWQ_DIRTIED, PD },	[PD] = { KWQ_DIRTY, PD },
		[PW] = { KWQ_DIRTIED, PD },	[PDW] = { KWQ_DIRTY, PD },
		[O] = { KWQ_DIRTIED, OD },	[OD] = { KWQ_DIRTY, OD },
		[OW] = { KWQ_DIRTIED, OD },	[ODW] = { KWQ_DIRTY, OD },
	} },
	{ "add after an hour", do_add_after, {
		[NONE] = { KWQ_WAITING, W },	[R] = { KWQ_WAITING, RW },
		[W] = { KWQ_COALESCED, W },	[RW] = { KWQ_COALESCED, RW },
		[P] = { KWQ_WAITING, PW },	[PD] = { KWQ_WAITING, PDW },
		[PW] = { KWQ_COALESCED, PW },	[PDW] = { KWQ_COALESCED, PDW },
		[O] = { KWQ_WAITING, OW },	[OD] = { KWQ_WAITING, ODW },
		[OW] = { KWQ_COALESCED, OW },	[ODW] = { KWQ_COALESCED, ODW },
	} },
	{ "add after two hours, replacing", do_add_after_replace, {
		[NONE] = { KWQ_WAITING, W },	[R] = { KWQ_WAITING, RW },
		[W] = { KWQ_COALESCED, W },	[RW] = { KWQ_COALESCED, RW },
		[P] = { KWQ_WAITING, PW },	[PD] = { KWQ_WAITING, PDW },
		[PW] = { KWQ_COALESCED, PW },	[PDW] = { KWQ_COALESCED, PDW },
		[O] = { KWQ_WAITING, OW },	[OD] = { KWQ_WAITING, ODW },
		[OW] = { KWQ_COALESCED, OW },	[ODW] = { KWQ_COALESCED, ODW },
	} },
	{ "add after nothing", do_add_after_zero, {
		[NONE] = { KWQ_ADDED, R },	[R] = { KWQ_COALESCED, R },
		[W] = { KWQ_ADDED, RW },	[RW] = { KWQ_COALESCED, RW },
		[P] = { KWQ_DIRTIED, PD },	[PD] = { KWQ_DIRTY, PD },
		[PW] = { KWQ_DIRTIED, PDW },	[PDW] = { KWQ_DIRTY, PDW },
		[O] = { KWQ_DIRTIED, OD },	[OD] = { KWQ_DIRTY, OD },
		[OW] = { KWQ_DIRTIED, ODW },	[ODW] = { KWQ_DIRTY, ODW },
	} },
	{ "add at a past time", do_add_past, {
		[NONE] = { KWQ_ADDED, R },	[R] = { KWQ_COALESCED, R },
		[W] = { KWQ_ADDED, R },		[RW] = { KWQ_COALESCED, R },
		[P] = { KWQ_DIRTIED, PD },	[PD] = { KWQ_DIRTY, PD },
		[PW] = { KWQ_DIRTIED, PD },	[PDW] = { KWQ_DIRTY, PD },
		[O] = { KWQ_DIRTIED, OD },	[OD] = { KWQ_DIRTY, OD },
		[OW] = { KWQ_DIRTIED, OD },	[ODW] = { KWQ_DIRTY, OD },
	} },
	{ "add after nothing, replacing", do_add_zero_replace, {
		[NONE] = { KWQ_ADDED, R },	[R] = { KWQ_COALESCED, R },
		[W] = { KWQ_ADDED, R },		[RW] = { KWQ_COALESCED, R },
		[P] = { KWQ_DIRTIED, PD },	[PD] = { KWQ_DIRTY, PD },
		[PW] = { KWQ_DIRTIED, PD },	[PDW] = { KWQ_DIRTY, PD },
		[O] = { KWQ_DIRTIED, OD },	[OD] = { KWQ_DIRTY, OD },
		[OW] = { KWQ_DIRTIED, OD },	[ODW] = { KWQ_DIRTY, OD },
	} },
	{ "add after nothing, keeping", do_add_zero_keep, {
		[NONE] = { KWQ_ADDED, R },	[R] = { KWQ_COALESCED, R },
		[W] = { KWQ_COALESCED, W },	[RW] = { KWQ_COALESCED, RW },
		[P] = { KWQ_DIRTIED, PD },	[PD] = { KWQ_DIRTY, PD },
		[PW] = { KWQ_COALESCED, PW },	[PDW] = { KWQ_COALESCED, PDW },
		[O] = { KWQ_DIRTIED, OD },	[OD] = { KWQ_DIRTY, OD },
		[OW] = { KWQ_COALESCED, OW },	[ODW] = { KWQ_COALESCED, ODW },
	} },
	{ "add at a past time, replacing", do_add_past_replace, {
		[NONE] = { KWQ_ADDED, R },	[R] = { KWQ_COALESCED, R },
		[W] = { KWQ_ADDED, R },		[RW] = { KWQ_COALESCED, R },
		[P] = { KWQ_DIRTIED, PD },	[PD] = { KWQ_DIRTY, PD },
		[PW] = { KWQ_DIRTIED, PD },	[PDW] = { KWQ_DIRTY, PD },
		[O] = { KWQ_DIRTIED, OD },	[OD] = { KWQ_DIRTY, OD },
		[OW] = { KWQ_DIRTIED, OD },	[ODW] = { KWQ_DIRTY, OD },
	} },
	{ "add at a past time, keeping", do_add_past_keep, {
		[NONE] = { KWQ_ADDED, R },	[R] = { KWQ_COALESCED, R },
		[W] = { KWQ_COALESCED, W },	[RW] = { KWQ_COALESCED, RW },
		[P] = { KWQ_DIRTIED, PD },	[PD] = { KWQ_DIRTY, PD },
		[PW] = { KWQ_COALESCED, PW },	[PDW] = { KWQ_COALESCED, PDW },
		[O] = { KWQ_DIRTIED, OD },	[OD] = { KWQ_DIRTY, OD },
		[OW] = { KWQ_COALESCED, OW },	[ODW] = { KWQ_COALESCED, ODW },
	} },
	{ "add at a past time, or later", do_add_past_later, {
		[NONE] = { KWQ_ADDED, R },	[R] = { KWQ_COALESCED, R },
		[W] = { KWQ_COALESCED, W },	[RW] = { KWQ_COALESCED, RW },
		[P] = { KWQ_DIRTIED, PD },	[PD] = { KWQ_DIRTY, PD },
		[PW] = { KWQ_COALESCED, PW },	[PDW] = { KWQ_COALESCED, PDW },
		[O] = { KWQ_DIRTIED, OD },	[OD] = { KWQ_DIRTY, OD },
		[OW] = { KWQ_COALESCED, OW },	[ODW] = { KWQ_COALESCED, ODW },
	} },
	{ "get", do_get, {
		[NONE] = { -EAGAIN, NONE },	[R] = { 1, P },
		[W] = { -EAGAIN, W },		[RW] = { 1, PW },
		[P] = { -EAGAIN, P },		[PD] = { -EAGAIN, PD },
		[PW] = { -EAGAIN, PW },		[PDW] = { -EAGAIN, PDW },
		[O] = { -EAGAIN, O },		[OD] = { -EAGAIN, OD },
		[OW] = { -EAGAIN, OW },		[ODW] = { -EAGAIN, ODW },
	} },
	{ "done by key", do_done_key, {
		[NONE] = { -ENOENT, NONE },	[R] = { -ENOENT, R },
		[W] = { -ENOENT, W },		[RW] = { -ENOENT, RW },
		[P] = { KWQ_FINISHED, NONE },	[PD] = { KWQ_REQUEUED, R },
		[PW] = { KWQ_STILL_WAITING, W },
		[PDW] = { KWQ_REQUEUED | KWQ_STILL_WAITING, RW },
		[O] = { -EPERM, O },		[OD] = { -EPERM, OD },
		[OW] = { -EPERM, OW },		[ODW] = { -EPERM, ODW },
	} },
	{ "done by ticket", do_done_ticket, {
		[NONE] = { -ESTALE, NONE },	[R] = { -ESTALE, R },
		[W] = { -ESTALE, W },		[RW] = { -ESTALE, RW },
		[P] = { KWQ_FINISHED, NONE },	[PD] = { KWQ_REQUEUED, R },
		[PW] = { KWQ_STILL_WAITING, W },
		[PDW] = { KWQ_REQUEUED | KWQ_STILL_WAITING, RW },
		[O] = { -ESTALE, O },		[OD] = { -ESTALE, OD },
		[OW] = { -ESTALE, OW },		[ODW] = { -ESTALE, ODW },
	} },
	{ "remove", do_remove, {
		[NONE] = { -ENOENT, NONE },
		[R] = { WAS(READY), NONE },
		[W] = { WAS(WAITING), NONE },
		[RW] = { WAS(READY) | WAS(WAITING), NONE },
		[P] = { WAS(PROCESSING), P },
		[PD] = { WAS(PROCESSING) | WAS(DIRTY), P },
		[PW] = { WAS(PROCESSING) | WAS(WAITING), P },
		[PDW] = { WAS(PROCESSING) | WAS(DIRTY) | WAS(WAITING), P },
		[O] = { WAS(PROCESSING), O },
		[OD] = { WAS(PROCESSING) | WAS(DIRTY), O },
		[OW] = { WAS(PROCESSING) | WAS(WAITING), O },
		[ODW] = { WAS(PROCESSING) | WAS(DIRTY) | WAS(WAITING), O },
	} },
	{ "shut down", do_shut_down, {
		[NONE] = { 0, NONE },	[R] = { 0, R },
		[W] = { 0, NONE },	[RW] = { 0, R },
		[P] = { 0, P },		[PD] = { 0, PD },
		[PW] = { 0, P },	[PDW] = { 0, PD },
		[O] = { 0, O },		[OD] = { 0, OD },
		[OW] = { 0, O },	[ODW] = { 0, OD },
	} },
	{ "close the other handle", do_abandon, {
		[NONE] = { 0, NONE },	[R] = { 0, R },
		[W] = { 0, W },		[RW] = { 0, RW },
		[P] = { 0, P },		[PD] = { 0, PD },
		[PW] = { 0, PW },	[PDW] = { 0, PDW },
		[O] = { 0, R },		[OD] = { 0, R },
		[OW] = { 0, RW },	[ODW] = { 0, RW },
	} },
};

/* The same for a queue that is shut down. It has no waiting items. */
static const struct operation shut_down_operations[] = {
	{ "add", do_add, {
		[NONE] = { -ESHUTDOWN, NONE },	[R] = { -ESHUTDOWN, R },
		[P] = { -ESHUTDOWN, P },	[PD] = { -ESHUTDOWN, PD },
		[O] = { -ESHUTDOWN, O },	[OD] = { -ESHUTDOWN, OD },
	} },
	{ "add with a priority", do_add_priority, {
		[NONE] = { -ESHUTDOWN, NONE },	[R] = { -ESHUTDOWN, R },
		[P] = { -ESHUTDOWN, P },	[PD] = { -ESHUTDOWN, PD },
		[O] = { -ESHUTDOWN, O },	[OD] = { -ESHUTDOWN, OD },
	} },
	{ "add after an hour", do_add_after, {
		[NONE] = { -ESHUTDOWN, NONE },	[R] = { -ESHUTDOWN, R },
		[P] = { -ESHUTDOWN, P },	[PD] = { -ESHUTDOWN, PD },
		[O] = { -ESHUTDOWN, O },	[OD] = { -ESHUTDOWN, OD },
	} },
	{ "add at a past time", do_add_past, {
		[NONE] = { -ESHUTDOWN, NONE },	[R] = { -ESHUTDOWN, R },
		[P] = { -ESHUTDOWN, P },	[PD] = { -ESHUTDOWN, PD },
		[O] = { -ESHUTDOWN, O },	[OD] = { -ESHUTDOWN, OD },
	} },
	{ "get", do_get, {
		[NONE] = { -ESHUTDOWN, NONE },	[R] = { 1, P },
		/* A handle that holds an item does not wait for itself. */
		[P] = { -ESHUTDOWN, P },	[PD] = { -ESHUTDOWN, PD },
		/* A handle that holds nothing waits for the items of other handles. */
		[O] = { -EAGAIN, O },		[OD] = { -EAGAIN, OD },
	} },
	{ "done by key", do_done_key, {
		[NONE] = { -ENOENT, NONE },	[R] = { -ENOENT, R },
		[P] = { KWQ_FINISHED, NONE },	[PD] = { KWQ_REQUEUED, R },
		[O] = { -EPERM, O },		[OD] = { -EPERM, OD },
	} },
	{ "done by ticket", do_done_ticket, {
		[NONE] = { -ESTALE, NONE },	[R] = { -ESTALE, R },
		[P] = { KWQ_FINISHED, NONE },	[PD] = { KWQ_REQUEUED, R },
		[O] = { -ESTALE, O },		[OD] = { -ESTALE, OD },
	} },
	{ "remove", do_remove, {
		[NONE] = { -ENOENT, NONE },
		[R] = { WAS(READY), NONE },
		[P] = { WAS(PROCESSING), P },
		[PD] = { WAS(PROCESSING) | WAS(DIRTY), P },
		[O] = { WAS(PROCESSING), O },
		[OD] = { WAS(PROCESSING) | WAS(DIRTY), O },
	} },
	{ "shut down", do_shut_down, {
		[NONE] = { 0, NONE },	[R] = { 0, R },
		[P] = { 0, P },		[PD] = { 0, PD },
		[O] = { 0, O },		[OD] = { 0, OD },
	} },
	{ "close the other handle", do_abandon, {
		[NONE] = { 0, NONE },	[R] = { 0, R },
		[P] = { 0, P },		[PD] = { 0, PD },
		[O] = { 0, R },		[OD] = { 0, R },
	} },
};

static void enter_state(struct __test_metadata *_metadata, struct subject *s, enum state in)
{
	struct item item = { .ticket = ~0ULL };
	bool processing = parts[in].processing;

	if (parts[in].ready || processing)
		ASSERT_EQ(KWQ_ADDED, q_add(s->q, "k"));
	if (processing)
		ASSERT_EQ(1, q_try_get(parts[in].others ? s->other : s->q, &item));
	if (parts[in].dirty)
		ASSERT_EQ(KWQ_DIRTIED, q_add(s->q, "k"));
	if (parts[in].waiting)
		ASSERT_EQ(KWQ_WAITING, q_add_after(s->q, "k", HOUR));
	s->ticket = item.ticket;
}

/*
 * Q2, Q4: only the done tells whether an item was added meanwhile, and the done changes
 * the item. So this check comes last.
 */
static void check_state(struct __test_metadata *_metadata, struct subject *s, enum state in,
			bool shut_down)
{
	bool processing = parts[in].processing;
	int holder = parts[in].others ? s->other : s->q;
	int left = (parts[in].dirty ? KWQ_REQUEUED : 0) |
		   (parts[in].waiting ? KWQ_STILL_WAITING : 0);

	check_stat(s->q, .ready = parts[in].ready, .waiting = parts[in].waiting,
		   .processing = processing, .items = in != NONE,
		   .state = shut_down ? KWQ_STATE_SHUT_DOWN : 0);
	if (processing)
		EXPECT_EQ(left, q_done_key(holder, "k"));
	EXPECT_EQ((parts[in].ready || parts[in].dirty) + 0ULL, (__u64)q_len(s->q));
}

static void check_operation(struct __test_metadata *_metadata, int dev,
			    const struct operation *op, enum state from, bool shut_down)
{
	const struct outcome *want = &op->of[from];
	struct subject s = { .q = new_queue(dev) };
	int before = _metadata->exit_code;

	ASSERT_LE(0, s.q);
	s.other = q_reopen(s.q);
	ASSERT_LE(0, s.other);

	_metadata->exit_code = KSFT_PASS;
	enter_state(_metadata, &s, from);
	if (shut_down)
		ASSERT_EQ(0, q_shut_down(s.q));
	EXPECT_EQ(want->ret, op->run(&s));
	check_state(_metadata, &s, want->to, shut_down || op->run == do_shut_down);
	if (_metadata->exit_code != KSFT_PASS)
		TH_LOG("that was: %s%s of an item in state %s, wanted %s",
		       shut_down ? "after shut down, " : "", op->name, state_names[from],
		       state_names[want->to]);
	else
		_metadata->exit_code = before;
	if (s.other >= 0)
		close(s.other);
	close(s.q);
}

/* Q2, Q4, Q6, Q11, D1, D2, D3, O1: the whole table */
TEST_F(queue, every_operation_in_every_state)
{
	for (int i = 0; i < ARRAY_SIZE(operations); i++)
		for (enum state from = 0; from < NR_STATES; from++)
			check_operation(_metadata, self->dev, &operations[i], from, false);
}

/* Q8: the same after a shut down */
TEST_F(queue, every_operation_after_shut_down)
{
	for (int i = 0; i < ARRAY_SIZE(shut_down_operations); i++)
		for (enum state from = 0; from < NR_STATES; from++)
			if (!parts[from].waiting)
				check_operation(_metadata, self->dev, &shut_down_operations[i],
						from, true);
}

/* Q10: a finished item takes no memory. */
TEST_F(queue, finished_items_take_no_memory)
{
	static const char long_key[1000];
	struct kwq_stat stat;
	__u64 bytes;
	char key[16];

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(0, q_stat(self->q, &stat));
	bytes = stat.bytes;
	EXPECT_LE(1, bytes);
	/* A longer key takes more memory. */
	ASSERT_EQ(KWQ_ADDED, q_add_bytes(self->q, long_key, sizeof(long_key), 0, 0, 0));
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_LE(bytes + 1000, stat.bytes);
	ASSERT_EQ(KWQ_WAS_READY, q_remove(self->q, "a"));
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(1, stat.items);
	EXPECT_LE(1000, stat.bytes);

	ASSERT_EQ(0, close(self->q));
	self->q = new_queue(self->dev);
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "%d", i);
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, key));
		if (i % 2)
			ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, key, HOUR));
	}
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "%d", i);
		if (i % 3)
			EXPECT_LT(0, q_remove(self->q, key));
	}
	while (q_len(self->q)) {
		struct item item;

		ASSERT_EQ(1, q_try_get(self->q, &item));
		ASSERT_EQ(atoi(item.key) % 2 ? KWQ_STILL_WAITING : KWQ_FINISHED,
			  q_done(self->q, item.ticket));
	}
	ASSERT_EQ(0, q_shut_down(self->q));
	check_stat(self->q, .items = 0, .state = KWQ_STATE_SHUT_DOWN);
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

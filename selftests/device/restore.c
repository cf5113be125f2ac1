// SPDX-License-Identifier: GPL-2.0-only
/* U8: items that are put back as they were saved. */
#include "kwq_test.h"

FIXTURE(restore)
{
	int dev;
	int q;		/* on a manual clock; the second failure is a death */
};

static int new_limited_queue(int dev, __s32 clockid, __u64 max_items)
{
	static const struct kwq_limiter at_once[] = { FAST_SLOW(0, 0, 0) };
	struct kwq_config config = config_of(at_once);

	config.dead_after = 1;
	return new_queue_with(dev, clockid, max_items, &config);
}

FIXTURE_SETUP(restore)
{
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = new_limited_queue(self->dev, KWQ_CLOCK_ID_MANUAL, 0);
	ASSERT_LE(0, self->q);
	ASSERT_EQ(0, q_advance(self->q, SEC));
}

FIXTURE_TEARDOWN(restore)
{
	close(self->q);
	close(self->dev);
}

/* U8: each member arrives. core/restore_test.c has what it means. */
TEST_F(restore, members)
{
	struct listed_item dead[3];
	struct item item;

	EXPECT_EQ(KWQ_RESTORED, q_restore(self->q, "held", .state = KWQ_IS_PROCESSING));
	EXPECT_EQ(KWQ_RESTORED, q_restore(self->q, "lost", .state = KWQ_IS_READY | KWQ_IS_RETURNED,
					  .priority = -2, .abandoned = 1, .requeues = 7));
	EXPECT_EQ(KWQ_RESTORED, q_restore(self->q, "w", .state = KWQ_IS_WAITING,
					  .wait_priority = 3, .due_in = 10, .requeues = 2));
	EXPECT_EQ(KWQ_RESTORED, q_restore(self->q, "d", .state = KWQ_IS_DEAD, .requeues = 4,
					  .abandoned = 3, .priority = -1, .dead_for = 5 * SEC));
	EXPECT_EQ(KWQ_RESTORED, q_restore(self->q, "r", .state = KWQ_IS_REMEMBERED,
					  .requeues = 1));
	check_stat(self->q, .ready = 2, .waiting = 1, .items = 5);
	expect_take(self->q, "held");
	expect_next(self->q, &item, "lost");
	EXPECT_EQ(-2, item.priority);
	EXPECT_EQ(1, item.abandoned);
	EXPECT_EQ(7, item.requeues);
	ASSERT_EQ(0, q_advance(self->q, 9));
	EXPECT_EQ(0, q_len(self->q));
	ASSERT_EQ(0, q_advance(self->q, 1));
	expect_next(self->q, &item, "w");
	EXPECT_EQ(3, item.priority);
	EXPECT_EQ(2, item.requeues);
	ASSERT_EQ(1, q_dead(self->q, dead, 3));
	EXPECT_EQ(4, dead[0].item.requeues);
	EXPECT_EQ(3, dead[0].item.abandoned);
	EXPECT_EQ(-1, dead[0].item.priority);
	EXPECT_EQ(5 * SEC + 10, dead[0].item.dead_for);
	EXPECT_EQ(1, q_requeues(self->q, "r"));
}

/* U8, Q5: a getter that waits is woken. */
TEST_F(restore, wakes_a_getter)
{
	int q = new_queue(self->dev);
	struct sleeper s;

	start_get(&s, q);
	EXPECT_EQ(KWQ_RESTORED, q_restore(q, "a", .state = KWQ_IS_READY));
	EXPECT_EQ(1, sleeper_join(&s));
	start_get(&s, q);
	EXPECT_EQ(KWQ_RESTORED, q_restore(q, "b", .state = KWQ_IS_WAITING, .due_in = MSEC));
	EXPECT_EQ(1, sleeper_join(&s));
	EXPECT_STREQ("b", s.item.key);
	close(q);
}

/* U8, M2: ages go on. */
TEST_F(restore, ages)
{
	struct kwq_stat stat;
	struct item item;

	EXPECT_EQ(KWQ_RESTORED, q_restore(self->q, "a", .state = KWQ_IS_READY,
					  .dirty_for = 100 * SEC));
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(100 * SEC, stat.oldest_ready);
	ASSERT_EQ(0, q_advance(self->q, SEC));
	expect_next(self->q, &item, "a");
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(101 * SEC, stat.queue_duration.sum);
	EXPECT_EQ(KWQ_RESTORED, q_restore(self->q, "b", .state = KWQ_IS_READY,
					  .dirty_for = KWQ_AGE_UNKNOWN - 1));
	expect_next(self->q, &item, "b");

	/* The oldest dead item need not be the first one. */
	EXPECT_EQ(KWQ_RESTORED, q_restore(self->q, "young", .state = KWQ_IS_DEAD,
					  .dead_for = SEC));
	EXPECT_EQ(KWQ_RESTORED, q_restore(self->q, "old", .state = KWQ_IS_DEAD, .dead_for = HOUR));
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(HOUR, stat.oldest_dead);
	EXPECT_EQ(KWQ_WAS_DEAD, q_drop(self->q, "old"));
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(SEC, stat.oldest_dead);
}

/* U8, M1: an age that the saved queue did not know counts from the restore. */
TEST_F(restore, unknown_ages)
{
	struct kwq_stat stat;
	struct listed_item dead;

	EXPECT_EQ(KWQ_RESTORED, q_restore(self->q, "a", .state = KWQ_IS_READY,
					  .dirty_for = KWQ_AGE_UNKNOWN));
	EXPECT_EQ(KWQ_RESTORED, q_restore(self->q, "b", .state = KWQ_IS_DEAD,
					  .dead_for = KWQ_AGE_UNKNOWN));
	EXPECT_EQ(KWQ_RESTORED, q_restore(self->q, "c", .state = KWQ_IS_WAITING, .due_in = HOUR,
					  .waiting_for = KWQ_AGE_UNKNOWN));
	ASSERT_EQ(0, q_advance(self->q, SEC));
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(SEC, stat.oldest_ready);
	EXPECT_EQ(SEC, stat.oldest_dead);
	EXPECT_EQ(SEC, stat.oldest_waiting);
	ASSERT_EQ(1, q_dead(self->q, &dead, 1));
	EXPECT_EQ(SEC, dead.item.dead_for);
	expect_take(self->q, "a");
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(SEC, stat.queue_duration.sum);
}

/* U8: nothing in the queue is lost, and nothing runs twice. */
TEST_F(restore, keys_in_use)
{
	struct item item;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_COALESCED, q_restore(self->q, "a", .state = KWQ_IS_READY, .priority = 2,
					   .requeues = 9));
	EXPECT_EQ(KWQ_COALESCED, q_restore(self->q, "a", .state = KWQ_IS_DEAD));
	EXPECT_EQ(KWQ_COALESCED, q_restore(self->q, "a", .state = KWQ_IS_REMEMBERED));
	check_stat(self->q, .ready = 1, .items = 1);
	expect_next(self->q, &item, "a");
	EXPECT_EQ(2, item.priority);
	EXPECT_EQ(0, item.requeues);
	EXPECT_EQ(KWQ_DIRTIED, q_restore(self->q, "a", .state = KWQ_IS_PROCESSING));
	EXPECT_EQ(KWQ_DIRTY, q_restore(self->q, "a", .state = KWQ_IS_READY));
	EXPECT_EQ(KWQ_WAITING, q_restore(self->q, "a", .state = KWQ_IS_WAITING, .due_in = HOUR));
	EXPECT_EQ(KWQ_COALESCED, q_restore(self->q, "a", .state = KWQ_IS_WAITING, .due_in = SEC));
	check_stat(self->q, .waiting = 1, .processing = 1, .items = 1);
	EXPECT_EQ(KWQ_REQUEUED | KWQ_STILL_WAITING, q_done(self->q, item.ticket));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(KWQ_STILL_WAITING, q_done(self->q, item.ticket));
	ASSERT_EQ(0, q_advance(self->q, SEC));
	expect_take(self->q, "a");
	check_stat(self->q, .items = 0);
	/* A key that is only remembered is put back. */
	ASSERT_EQ(KWQ_ADDED, q_add_rate_limited(self->q, "b"));
	expect_take(self->q, "b");
	EXPECT_EQ(KWQ_RESTORED, q_restore(self->q, "b", .state = KWQ_IS_READY, .priority = 3));
	expect_next(self->q, &item, "b");
	EXPECT_EQ(3, item.priority);
	EXPECT_EQ(1, item.requeues);
}

/* U8, Q13, O4: a queue that has not enough room takes what fits. */
TEST_F(restore, limits)
{
	int q = new_queue_with(self->dev, CLOCK_MONOTONIC, 2, NULL);
	const struct kwq_restore_entry ready = { .state = KWQ_IS_READY };
	struct batch *b = new_batch();

	batch_restore(b, "a", ready);
	batch_restore(b, "b", ready);
	batch_restore(b, "c", ready);
	batch_restore(b, "a", ready);
	EXPECT_EQ(4, batch_run(q, KWQ_IOC_RESTORE, b));
	EXPECT_EQ(KWQ_RESTORED, b->results[0]);
	EXPECT_EQ(KWQ_RESTORED, b->results[1]);
	EXPECT_EQ(-ENOSPC, b->results[2]);
	EXPECT_EQ(KWQ_COALESCED, b->results[3]);
	ASSERT_EQ(0, q_shut_down(q));
	EXPECT_EQ(-ESHUTDOWN, q_restore(q, "d", .state = KWQ_IS_READY));
	EXPECT_EQ(-ESHUTDOWN, q_restore(q, "a", .state = KWQ_IS_READY));
	close(q);
	free(b);
}

/* U3: states, and members that they do not have. */
TEST_F(restore, arguments)
{
	static const struct kwq_restore_entry bad[] = {
		{ .state = 0 },
		{ .state = 1U << 8 | KWQ_IS_READY },
		{ .state = 1U << 31 },
		{ .state = KWQ_IS_DEAD | KWQ_IS_READY },
		{ .state = KWQ_IS_DEAD | KWQ_IS_WAITING },
		{ .state = KWQ_IS_REMEMBERED | KWQ_IS_WAITING },
		{ .state = KWQ_IS_READY | KWQ_IS_PROCESSING },
		{ .state = KWQ_IS_RETURNED },
		{ .state = KWQ_IS_RETURNED | KWQ_IS_WAITING },
		{ .state = KWQ_IS_DIRTY },
		{ .state = KWQ_IS_DYING | KWQ_IS_WAITING },
		{ .state = KWQ_IS_READY, .flags = KWQ_ADD_VALUE },
		{ .state = KWQ_IS_READY, .flags = KWQ_ADD_PRIORITY },
		{ .state = KWQ_IS_READY, .pad = 1 },
		{ .state = KWQ_IS_READY, .priority = KWQ_PRIORITY_MAX + 1 },
		{ .state = KWQ_IS_READY, .priority = KWQ_PRIORITY_MIN - 1 },
		{ .state = KWQ_IS_READY, .priority = KWQ_PRIORITY_NONE },
		{ .state = KWQ_IS_READY, .wait_priority = 1 },
		{ .state = KWQ_IS_READY, .waiting_for = 1 },
		{ .state = KWQ_IS_READY, .due_in = 1 },
		{ .state = KWQ_IS_READY, .dead_for = 1 },
		{ .state = KWQ_IS_WAITING, .wait_priority = KWQ_PRIORITY_MAX + 1 },
		{ .state = KWQ_IS_WAITING, .wait_priority = KWQ_PRIORITY_NONE + 1 },
		{ .state = KWQ_IS_WAITING, .dirty_for = 1 },
		{ .state = KWQ_IS_DEAD, .dirty_for = 1 },
		{ .state = KWQ_IS_REMEMBERED, .dead_for = 1 },
	};

	for (int i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, q_restore_with(self->q, "a", bad[i])) {
			TH_LOG("%d", i);
		}
	}
	EXPECT_EQ(-EINVAL, q_restore(self->q, "", .state = KWQ_IS_READY));
	check_stat(self->q, .items = 0);
	check_counts(self->q);
}

/* Restores a key with a value. */
static int restore_value(int q, const char *key, __u32 state, const char *value)
{
	const struct kwq_restore_entry entry = {
		.key_len = strlen(key), .flags = KWQ_ADD_VALUE, .state = state,
	};
	const struct kwq_add_extra extra = {
		.value = user_ptr(value), .value_len = strlen(value),
	};
	__s32 result = -EIO;
	const struct kwq_batch_args args = BATCH_ARGS(&entry, key, strlen(key), &result, &extra);
	int ret = request(q, KWQ_IOC_RESTORE, &args);

	return ret == 1 ? result : ret;
}

/* Gets the next item into @room, as its key and its value. Returns its ticket. */
static __u64 get_with_value(int q, char *room, size_t size)
{
	struct kwq_got got;
	struct kwq_got_extra extra;
	struct kwq_get_args args = GET_ARGS(&got, user_ptr(room), size - 1, 1,
					    .flags = KWQ_GET_NONBLOCK, GET_EXTRAS(&extra));

	memset(room, 0, size);
	return q_get_raw(q, &args) == 1 ? got.ticket : 0;
}

/* U8, Q18: values come back, and no live value is replaced. */
TEST_F(restore, values)
{
	int q = new_queue_as(self->dev, .flags = KWQ_CREATE_VALUES);
	char room[64];
	__u64 ticket;

	ASSERT_LE(0, q);
	EXPECT_EQ(-EOPNOTSUPP, restore_value(self->q, "a", KWQ_IS_READY, "1"));
	EXPECT_EQ(KWQ_RESTORED, restore_value(q, "a", KWQ_IS_READY, "old"));
	EXPECT_EQ(KWQ_COALESCED, restore_value(q, "a", KWQ_IS_READY, "older"));
	EXPECT_EQ(KWQ_COALESCED, restore_value(q, "a", KWQ_IS_DEAD, "dead"));
	ticket = get_with_value(q, room, sizeof(room));
	ASSERT_NE(0, ticket);
	EXPECT_STREQ("aold", room);
	EXPECT_EQ(KWQ_DIRTIED, restore_value(q, "a", KWQ_IS_READY, "next"));
	EXPECT_EQ(KWQ_DIRTY, restore_value(q, "a", KWQ_IS_READY, "last"));
	EXPECT_EQ(KWQ_REQUEUED, q_done(q, ticket));
	ticket = get_with_value(q, room, sizeof(room));
	EXPECT_STREQ("anext", room);
	EXPECT_EQ(KWQ_FINISHED, q_done(q, ticket));
	EXPECT_EQ(KWQ_RESTORED, restore_value(q, "d", KWQ_IS_DEAD, "dead"));
	EXPECT_EQ(KWQ_ADDED, restore_value(q, "d", KWQ_IS_READY, "older"));
	ticket = get_with_value(q, room, sizeof(room));
	EXPECT_STREQ("ddead", room);
	EXPECT_EQ(KWQ_FINISHED, q_done(q, ticket));
	check_stat(q, .items = 0);
	close(q);
}

TEST_HARNESS_MAIN

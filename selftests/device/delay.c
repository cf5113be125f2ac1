// SPDX-License-Identifier: GPL-2.0-only
/*
 * D1 to D8: items that wait for a time. A test that an item is not early reads the
 * clock after the item came. How late an item comes is not tested here (D5).
 *
 * A later item or deadline proves that an item does not come.
 */
#include "kwq_test.h"

FIXTURE(delay)
{
	int dev;
	int q;
};

FIXTURE_SETUP(delay)
{
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = new_queue(self->dev);
	ASSERT_LE(0, self->q);
}

FIXTURE_TEARDOWN(delay)
{
	close(self->q);
	close(self->dev);
}

typedef FIXTURE_DATA(delay) delay_fixture;

/*
 * The tests change an item while it waits, so all changes must happen before its time.
 * If the test was too slow, this begins again, on a new queue, with twice the time
 * ahead:
 *
 *	__u64 ahead = 0;
 *
 *	do {
 *		due = begin(self, &ahead);
 *		the changes, with their results kept
 *	} while (now_ns() >= due);
 */
static __u64 begin(delay_fixture *self, __u64 *ahead)
{
	close(self->q);
	self->q = new_queue(self->dev);
	REQUIRE(self->q >= 0);
	*ahead = *ahead ? *ahead * 2 : 5 * MSEC;
	return now_ns() + *ahead;
}

/* Waits for the next item, which must be @key and not come before @due. */
static void expect_at(struct __test_metadata *_metadata, int q, const char *key, __u64 due)
{
	struct item item;

	ASSERT_EQ(1, q_wait_get(q, &item));
	EXPECT_LE(due, now_ns());
	EXPECT_STREQ(key, item.key);
	EXPECT_EQ(KWQ_FINISHED, q_done(q, item.ticket));
}

/* D1, D5 */
TEST_F(delay, after)
{
	static const __u64 delays[] = {
		1, 10, USEC, 10 * USEC, 100 * USEC, MSEC, 3 * MSEC, 20 * MSEC,
	};

	for (int i = 0; i < ARRAY_SIZE(delays); i++) {
		for (int n = 0; n < 5; n++) {
			__u64 due = now_ns() + delays[i];
			int ret = q_add_after(self->q, "a", delays[i]);

			EXPECT_EQ(KWQ_WAITING, ret);
			expect_at(_metadata, self->q, "a", due);
		}
	}
	check_stat(self->q, .items = 0);
}

/* D1, D5: an absolute time. */
TEST_F(delay, at)
{
	for (__u64 ahead = USEC; ahead <= 20 * MSEC; ahead *= 3) {
		__u64 due = now_ns() + ahead;

		EXPECT_LE(0, q_add_at(self->q, "a", due));
		expect_at(_metadata, self->q, "a", due);
	}
	check_stat(self->q, .items = 0);
}

/* D1, D7: a time in the past means now. */
TEST_F(delay, at_a_past_time)
{
	static const __u64 past[] = { 0, 1, SEC / 2 };

	for (int i = 0; i < ARRAY_SIZE(past); i++) {
		EXPECT_EQ(KWQ_ADDED, q_add_at(self->q, "a", past[i]));
		expect_take(self->q, "a");
	}
	EXPECT_EQ(KWQ_ADDED, q_add_at(self->q, "a", now_ns()));
	expect_take(self->q, "a");
	check_stat(self->q, .items = 0);
	check_counts(self->q, .adds = 4, .gets = 4, .dones = 4);
}

/* D1: a delay of 0 is an add now, with the place of such an add. */
TEST_F(delay, after_nothing)
{
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_ADDED, q_add_after(self->q, "b", 0));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "c"));
	EXPECT_EQ(KWQ_COALESCED, q_add_after(self->q, "a", 0));
	expect_take(self->q, "a");
	expect_take(self->q, "b");
	expect_take(self->q, "c");
}

/* D1, Q1: the item's place is determined by the moment when it becomes ready. */
TEST_F(delay, place_in_the_queue)
{
	__u64 ahead = 0, due;

	do {
		due = begin(self, &ahead);
		ASSERT_LE(0, q_add_at(self->q, "late", due));
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, "early"));
	} while (now_ns() >= due);
	while (q_len(self->q) < 2)
		sched_yield();
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "later"));
	expect_take(self->q, "early");
	expect_take(self->q, "late");
	expect_take(self->q, "later");
}

/* D2: the earlier of two times counts. */
TEST_F(delay, keeps_the_earlier)
{
	__u64 ahead = 0, due;
	int ret[3];

	do {
		due = begin(self, &ahead);
		ret[0] = q_add_at(self->q, "a", due);
		ret[1] = q_add_at(self->q, "a", due + HOUR);
		ret[2] = q_add_after(self->q, "a", HOUR);
	} while (now_ns() >= due);
	EXPECT_EQ(KWQ_WAITING, ret[0]);
	EXPECT_EQ(KWQ_COALESCED, ret[1]);
	EXPECT_EQ(KWQ_COALESCED, ret[2]);
	expect_at(_metadata, self->q, "a", due);
	check_stat(self->q, .items = 0);
	check_counts(self->q, .adds = 1, .coalesced = 2, .gets = 1, .dones = 1);

	do {
		due = begin(self, &ahead);
		ret[0] = q_add_after(self->q, "a", HOUR);
		ret[1] = q_add_at(self->q, "a", due);
	} while (now_ns() >= due);
	EXPECT_EQ(KWQ_WAITING, ret[0]);
	EXPECT_EQ(KWQ_COALESCED, ret[1]);
	expect_at(_metadata, self->q, "a", due);
	check_stat(self->q, .items = 0);
	check_counts(self->q, .adds = 1, .coalesced = 1, .gets = 1, .dones = 1);
}

/* The queue's next item comes after @due, and it is not the waiting one. */
static void expect_none_until(struct __test_metadata *_metadata, int q, __u64 due)
{
	struct item item;

	EXPECT_EQ(-ETIMEDOUT, q_get(q, &item, 0, due));
	EXPECT_LE(due, now_ns());
}

/* D2: on request the new time replaces the old one. */
TEST_F(delay, replaces)
{
	const __u32 at = KWQ_ADD_AT | KWQ_ADD_REPLACE;
	__u64 ahead = 0, due;
	int ret[3];

	/* Replaced by a later time: nothing comes at the old time. */
	do {
		due = begin(self, &ahead);
		ret[0] = q_add_at(self->q, "a", due);
		ret[1] = q_add_with(self->q, "a", at, 0, due + HOUR);
	} while (now_ns() >= due);
	EXPECT_EQ(KWQ_WAITING, ret[0]);
	EXPECT_EQ(KWQ_COALESCED, ret[1]);
	expect_none_until(_metadata, self->q, due + 5 * MSEC);
	check_stat(self->q, .waiting = 1, .items = 1);

	/* Replaced by an earlier time, and back again. */
	do {
		due = begin(self, &ahead);
		ret[0] = q_add_with(self->q, "a", KWQ_ADD_AFTER | KWQ_ADD_REPLACE, 0, HOUR);
		ret[1] = q_add_with(self->q, "a", at, 0, due);
		ret[2] = q_add_with(self->q, "a", at, 0, due + 5 * MSEC);
	} while (now_ns() >= due);
	EXPECT_EQ(KWQ_WAITING, ret[0]);
	EXPECT_EQ(KWQ_COALESCED, ret[1]);
	EXPECT_EQ(KWQ_COALESCED, ret[2]);
	expect_at(_metadata, self->q, "a", due + 5 * MSEC);
	check_stat(self->q, .items = 0);
}

/* D2: on request the first time counts. */
TEST_F(delay, keeps_the_first)
{
	const __u32 at = KWQ_ADD_AT | KWQ_ADD_KEEP;
	__u64 ahead = 0, due;
	int ret[4];

	do {
		due = begin(self, &ahead);
		ret[0] = q_add_with(self->q, "a", at, 0, due);
		ret[1] = q_add_with(self->q, "a", at, 0, due - 1);
		ret[2] = q_add_with(self->q, "a", at, 0, due + HOUR);
		ret[3] = q_add_with(self->q, "a", at, 0, 1);
	} while (now_ns() >= due);
	EXPECT_EQ(KWQ_WAITING, ret[0]);
	for (int i = 1; i < 4; i++)
		EXPECT_EQ(KWQ_COALESCED, ret[i]);
	expect_at(_metadata, self->q, "a", due);
	check_stat(self->q, .items = 0);
}

/* D2: on request the later time counts. */
TEST_F(delay, keeps_the_later)
{
	const __u32 at = KWQ_ADD_AT | KWQ_ADD_LATER;
	__u64 ahead = 0, due;
	int ret[4];

	do {
		due = begin(self, &ahead);
		ret[0] = q_add_with(self->q, "a", at, 0, due);
		ret[1] = q_add_with(self->q, "a", at, 0, due + 5 * MSEC);
		ret[2] = q_add_with(self->q, "a", at, 0, due + 1);
		ret[3] = q_add_with(self->q, "a", at, 0, 1);
	} while (now_ns() >= due);
	EXPECT_EQ(KWQ_WAITING, ret[0]);
	for (int i = 1; i < 4; i++)
		EXPECT_EQ(KWQ_COALESCED, ret[i]);
	expect_at(_metadata, self->q, "a", due + 5 * MSEC);
	check_stat(self->q, .items = 0);
}

/* D3: ready now, and again at its time. */
TEST_F(delay, ready_and_waiting)
{
	__u64 ahead = 0, due;
	struct item item;
	int ret[4];

	do {
		due = begin(self, &ahead);
		ret[0] = q_add(self->q, "a");
		ret[1] = q_add_at(self->q, "a", due);
		ret[2] = q_try_get(self->q, &item);
		ret[3] = q_done(self->q, item.ticket);
	} while (now_ns() >= due);
	EXPECT_EQ(KWQ_ADDED, ret[0]);
	EXPECT_EQ(KWQ_WAITING, ret[1]);
	EXPECT_EQ(1, ret[2]);
	EXPECT_EQ(KWQ_STILL_WAITING, ret[3]);
	expect_at(_metadata, self->q, "a", due);
	check_stat(self->q, .items = 0);
	check_counts(self->q, .adds = 2, .gets = 2, .dones = 2);
}

/* D3, Q2: an item that is ready at its time comes once. */
TEST_F(delay, ready_when_its_time_comes)
{
	__u64 ahead = 0, due;

	do {
		due = begin(self, &ahead);
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
		ASSERT_LE(0, q_add_at(self->q, "a", due));
		ASSERT_LE(0, q_add_at(self->q, "b", due + 1));
	} while (now_ns() >= due);
	while (q_len(self->q) < 2)
		sched_yield();
	check_stat(self->q, .ready = 2, .items = 2);
	check_counts(self->q, .adds = 2, .coalesced = 1);
	expect_take(self->q, "a");
	expect_take(self->q, "b");
	check_stat(self->q, .items = 0);
}

/* D3, Q4: an item that is being processed at its time is ready again at its done. */
TEST_F(delay, processing_when_its_time_comes)
{
	__u64 ahead = 0, due;
	struct item item;

	do {
		due = begin(self, &ahead);
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
		expect_next(self->q, &item, "a");
		ASSERT_LE(0, q_add_at(self->q, "a", due));
		ASSERT_LE(0, q_add_at(self->q, "b", due + 1));
	} while (now_ns() >= due);
	expect_at(_metadata, self->q, "b", due + 1);
	check_stat(self->q, .processing = 1, .items = 1);
	EXPECT_EQ(KWQ_DIRTY, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_REQUEUED, q_done(self->q, item.ticket));
	expect_take(self->q, "a");
	check_stat(self->q, .items = 0);
}

/* D3: an item that is done before its time continues to wait. */
TEST_F(delay, done_before_its_time_comes)
{
	__u64 ahead = 0, due;
	struct item item;
	int ret;

	do {
		due = begin(self, &ahead);
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
		expect_next(self->q, &item, "a");
		ASSERT_LE(0, q_add_at(self->q, "a", due));
		ret = q_done(self->q, item.ticket);
	} while (now_ns() >= due);
	EXPECT_EQ(KWQ_STILL_WAITING, ret);
	expect_at(_metadata, self->q, "a", due);
	check_stat(self->q, .items = 0);
}

/* D3: on request an add ends the wait. In client-go the item runs twice. */
TEST_F(delay, add_ends_the_wait)
{
	__u64 ahead = 0, due;
	struct item item;
	int ret[3];

	do {
		due = begin(self, &ahead);
		ret[0] = q_add_at(self->q, "a", due);
		ret[1] = q_add_with(self->q, "a", KWQ_ADD_END_WAIT, 0, 0);
	} while (now_ns() >= due);
	EXPECT_EQ(KWQ_WAITING, ret[0]);
	EXPECT_EQ(KWQ_ADDED, ret[1]);
	expect_take(self->q, "a");
	expect_none_until(_metadata, self->q, due + 5 * MSEC);
	check_stat(self->q, .items = 0);

	/* The same while the item is being processed. */
	do {
		due = begin(self, &ahead);
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
		expect_next(self->q, &item, "a");
		ret[0] = q_add_at(self->q, "a", due);
		ret[1] = q_add_with(self->q, "a", KWQ_ADD_END_WAIT, 0, 0);
		ret[2] = q_done(self->q, item.ticket);
	} while (now_ns() >= due);
	EXPECT_EQ(KWQ_WAITING, ret[0]);
	EXPECT_EQ(KWQ_DIRTIED, ret[1]);
	EXPECT_EQ(KWQ_REQUEUED, ret[2]);
	expect_take(self->q, "a");
	expect_none_until(_metadata, self->q, due + 5 * MSEC);
	check_stat(self->q, .items = 0);
}

/* D3: without that flag the wait goes on. */
TEST_F(delay, add_leaves_the_wait)
{
	__u64 ahead = 0, due;
	struct item item;
	int ret[2];

	do {
		due = begin(self, &ahead);
		ASSERT_LE(0, q_add_at(self->q, "a", due));
		ret[0] = q_add(self->q, "a");
		ASSERT_EQ(1, q_try_get(self->q, &item));
		ASSERT_LE(0, q_done(self->q, item.ticket));
		ret[1] = q_add_after(self->q, "a", 0);
		ASSERT_EQ(1, q_try_get(self->q, &item));
		ASSERT_LE(0, q_done(self->q, item.ticket));
	} while (now_ns() >= due);
	EXPECT_EQ(KWQ_ADDED, ret[0]);
	EXPECT_EQ(KWQ_ADDED, ret[1]);
	expect_at(_metadata, self->q, "a", due);
	check_stat(self->q, .items = 0);
	check_counts(self->q, .adds = 3, .gets = 3, .dones = 3);
}

/* D4: items come in the order of their times, not of their adds. */
TEST_F(delay, order_of_times)
{
	__u64 ahead = 0, base;
	const int nr = 101;
	char key[16];

	do {
		base = begin(self, &ahead);
		for (int i = 0; i < nr; i++) {
			/* 37 has no factor in common with 101. */
			int n = i * 37 % nr;

			snprintf(key, sizeof(key), "%d", n);
			ASSERT_LE(0, q_add_at(self->q, key, base + n));
		}
	} while (now_ns() >= base);
	for (int n = 0; n < nr; n++) {
		snprintf(key, sizeof(key), "%d", n);
		expect_at(_metadata, self->q, key, base + n);
	}
	check_stat(self->q, .items = 0);
}

/* D4, D5: times far apart, each with its own expiry of the timer. */
TEST_F(delay, times_apart)
{
	__u64 ahead = 0, base;
	const int nr = 40;
	char key[16];

	do {
		base = begin(self, &ahead);
		for (int i = 0; i < nr; i++) {
			int n = i * 17 % nr;

			snprintf(key, sizeof(key), "%d", n);
			ASSERT_LE(0, q_add_at(self->q, key, base + n * 500 * USEC));
		}
	} while (now_ns() >= base);
	for (int n = 0; n < nr; n++) {
		snprintf(key, sizeof(key), "%d", n);
		expect_at(_metadata, self->q, key, base + n * 500 * USEC);
	}
}

/*
 * D4: items of equal times come in the order of their adds. Adding the same time again
 * does not change the place.
 */
TEST_F(delay, equal_times)
{
	__u64 ahead = 0, due;
	char key[16];

	do {
		due = begin(self, &ahead);
		for (int i = 0; i < 100; i++) {
			snprintf(key, sizeof(key), "%d", i * 37 % 101);
			ASSERT_LE(0, q_add_at(self->q, key, due));
		}
		ASSERT_LE(0, q_add_at(self->q, "0", due));
		ASSERT_LE(0, q_add_with(self->q, "37", KWQ_ADD_AT | KWQ_ADD_REPLACE, 0, due));
	} while (now_ns() >= due);
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "%d", i * 37 % 101);
		expect_at(_metadata, self->q, key, due);
	}
}

/* D4: the same for times in the past, if other due items were not handed out yet. */
TEST_F(delay, past_times_in_order)
{
	__u64 due = now_ns() + MSEC;

	ASSERT_LE(0, q_add_at(self->q, "a", due));
	while (now_ns() <= due)
		;
	ASSERT_LE(0, q_add_at(self->q, "b", due + 1));
	expect_at(_metadata, self->q, "a", due);
	expect_at(_metadata, self->q, "b", due + 1);
}

/*
 * D4, Q12: the time decides when an item is ready; among ready items the priority
 * decides.
 */
TEST_F(delay, priority)
{
	struct item item;
	__u64 due = now_ns() + 10 * MSEC;

	ASSERT_LE(0, q_add_with(self->q, "low", KWQ_ADD_AT, 0, due));
	ASSERT_LE(0, q_add_with(self->q, "high", KWQ_ADD_AT | KWQ_ADD_PRIORITY, 9, due + 1));
	while (q_len(self->q) < 2)
		sched_yield();
	expect_next(self->q, &item, "high");
	EXPECT_EQ(9, item.priority);
	expect_next(self->q, &item, "low");
	EXPECT_EQ(0, item.priority);
}

/*
 * D2, Q12: the highest of several priorities counts. Replacing the time replaces the
 * priority, too.
 */
TEST_F(delay, priority_of_merged_waits)
{
	const __u32 after = KWQ_ADD_AFTER | KWQ_ADD_PRIORITY;
	struct item item;

	ASSERT_EQ(KWQ_WAITING, q_add_with(self->q, "a", after, 3, HOUR));
	EXPECT_EQ(KWQ_COALESCED, q_add_with(self->q, "a", after, 7, HOUR));
	EXPECT_EQ(KWQ_COALESCED, q_add_with(self->q, "a", after, 5, HOUR));
	EXPECT_EQ(KWQ_COALESCED, q_add_after(self->q, "a", HOUR));
	EXPECT_EQ(KWQ_ADDED, q_add_at(self->q, "a", 1));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(7, item.priority);
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));

	ASSERT_EQ(KWQ_WAITING, q_add_with(self->q, "a", after, 7, HOUR));
	EXPECT_EQ(KWQ_COALESCED, q_add_with(self->q, "a", after | KWQ_ADD_REPLACE, -2, HOUR));
	/* Without a priority the old one stays. */
	EXPECT_EQ(KWQ_ADDED, q_add_with(self->q, "a", KWQ_ADD_AT | KWQ_ADD_REPLACE, 0, 1));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(-2, item.priority);

	/* A wait without a priority has the priority of the run. */
	EXPECT_EQ(KWQ_WAITING, q_add_after(self->q, "a", HOUR));
	EXPECT_EQ(KWQ_STILL_WAITING, q_done(self->q, item.ticket));
	EXPECT_EQ(KWQ_ADDED, q_add_at(self->q, "a", 1));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(-2, item.priority);
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));

	/* An add without a priority has the priority of the wait. */
	ASSERT_EQ(KWQ_WAITING, q_add_with(self->q, "a", after, 4, HOUR));
	EXPECT_EQ(KWQ_ADDED, q_add_with(self->q, "a", KWQ_ADD_END_WAIT, 0, 0));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(4, item.priority);
}

/* D3, Q12: a wait without a priority changes no priority when its time comes. */
TEST_F(delay, priority_of_an_unnamed_wait)
{
	struct item item;

	/* The priority of an add made meanwhile. */
	ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "a", 7));
	expect_next(self->q, &item, "a");
	ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "a", HOUR));
	ASSERT_EQ(KWQ_DIRTIED, q_add_priority(self->q, "a", -3));
	EXPECT_EQ(KWQ_DIRTY, q_add_at(self->q, "a", 1));
	EXPECT_EQ(KWQ_REQUEUED, q_done(self->q, item.ticket));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(-3, item.priority);
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));

	/* The priority of a ready item. */
	ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "a", 2));
	ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "a", HOUR));
	ASSERT_EQ(KWQ_COALESCED, q_add_priority(self->q, "a", 5));
	EXPECT_EQ(KWQ_COALESCED, q_add_at(self->q, "a", 1));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(5, item.priority);
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));

	/* A wait with a priority raises that of a ready item. */
	ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "a", 2));
	ASSERT_EQ(KWQ_WAITING, q_add_with(self->q, "a", KWQ_ADD_AFTER | KWQ_ADD_PRIORITY, 6, HOUR));
	EXPECT_EQ(KWQ_COALESCED, q_add_at(self->q, "a", 1));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(6, item.priority);
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));

	/* The wait's priority also counts for the add that ends the wait. */
	ASSERT_EQ(KWQ_WAITING, q_add_with(self->q, "a", KWQ_ADD_AFTER | KWQ_ADD_PRIORITY, 6, HOUR));
	EXPECT_EQ(KWQ_ADDED, q_add_with(self->q, "a", KWQ_ADD_END_WAIT | KWQ_ADD_PRIORITY, 1, 0));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(6, item.priority);
}

/* D6: the queue's single timer, when the earliest time changes. */
TEST_F(delay, earliest_time_changes)
{
	__u64 due;

	ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "far", HOUR));

	/* An earlier item is added. */
	due = now_ns() + 5 * MSEC;
	ASSERT_LE(0, q_add_at(self->q, "a", due));
	expect_at(_metadata, self->q, "a", due);

	/* The earliest item is removed, and the next one comes at its time. */
	due = now_ns() + 20 * MSEC;
	ASSERT_LE(0, q_add_at(self->q, "b", due));
	ASSERT_LE(0, q_add_at(self->q, "gone", due - 15 * MSEC));
	EXPECT_LE(0, q_remove(self->q, "gone"));
	expect_at(_metadata, self->q, "b", due);

	/* The earliest item is postponed. */
	due = now_ns() + 20 * MSEC;
	ASSERT_LE(0, q_add_at(self->q, "off", due - 15 * MSEC));
	ASSERT_LE(0, q_add_at(self->q, "c", due));
	EXPECT_LE(0, q_add_with(self->q, "off", KWQ_ADD_AFTER | KWQ_ADD_REPLACE, 0, HOUR));
	ASSERT_LE(0, q_remove(self->q, "off"));
	expect_at(_metadata, self->q, "c", due);

	/* The only item is removed, and another one is added. */
	EXPECT_EQ(KWQ_WAS_WAITING, q_remove(self->q, "far"));
	due = now_ns() + 5 * MSEC;
	ASSERT_LE(0, q_add_at(self->q, "d", due));
	expect_at(_metadata, self->q, "d", due);
	check_stat(self->q, .items = 0);
}

/* Q11: a removed item does not come. */
TEST_F(delay, removed)
{
	__u64 ahead = 0, due;
	int ret[2];

	do {
		due = begin(self, &ahead);
		ret[0] = q_add_at(self->q, "a", due);
		ret[1] = q_remove(self->q, "a");
	} while (now_ns() >= due);
	EXPECT_EQ(KWQ_WAITING, ret[0]);
	EXPECT_EQ(KWQ_WAS_WAITING, ret[1]);
	check_stat(self->q, .items = 0);
	expect_none_until(_metadata, self->q, due + 5 * MSEC);
}

/* D7: no number makes an item come early. */
TEST_F(delay, beyond_the_clock)
{
	static const __u64 huge[] = {
		~0ULL, ~0ULL - 1, 1ULL << 63, (1ULL << 63) - 1, (1ULL << 63) + 1,
		(1ULL << 63) - SEC, 1ULL << 62, ~0ULL - SEC, ~0ULL - HOUR,
	};
	struct item item;
	char key[16];

	for (int i = 0; i < ARRAY_SIZE(huge); i++) {
		/* A delay that ends just before, at, or just behind the point where it
		 * would wrap.
		 */
		snprintf(key, sizeof(key), "after%d", i);
		EXPECT_EQ(KWQ_WAITING, q_add_after(self->q, key, huge[i]));
		snprintf(key, sizeof(key), "wrap%d", i);
		EXPECT_EQ(KWQ_WAITING, q_add_after(self->q, key, huge[i] - now_ns()));
		snprintf(key, sizeof(key), "at%d", i);
		EXPECT_EQ(KWQ_WAITING, q_add_at(self->q, key, huge[i]));
	}
	check_stat(self->q, .waiting = 3 * ARRAY_SIZE(huge), .items = 3 * ARRAY_SIZE(huge));
	EXPECT_EQ(-EAGAIN, q_try_get(self->q, &item));
	expect_none_until(_metadata, self->q, now_ns() + 5 * MSEC);
	check_stat(self->q, .waiting = 3 * ARRAY_SIZE(huge), .items = 3 * ARRAY_SIZE(huge));

	/* These items still exist: any other time is earlier. */
	EXPECT_EQ(KWQ_COALESCED, q_add_after(self->q, "after0", 2 * MSEC));
	expect_at(_metadata, self->q, "after0", 0);
	EXPECT_EQ(KWQ_COALESCED, q_add_with(self->q, "at0", KWQ_ADD_AT | KWQ_ADD_LATER, 0, 1));
	EXPECT_EQ(KWQ_ADDED, q_add_at(self->q, "at0", 1));
	expect_take(self->q, "at0");
}

/* D6: many items due at once come in order. The bound per lock hold is not visible here. */
#define MANY	20000
#define FEWER	3000

static void add_many_at(struct __test_metadata *_metadata, int q, int nr, __u64 due)
{
	struct batch *b = new_batch();
	char key[16];

	for (int i = 0; i < nr; i++) {
		snprintf(key, sizeof(key), "%d", i);
		batch_add_with(b, key, KWQ_ADD_AT | KWQ_ADD_REPLACE, 0, due);
		if (b->nr < KWQ_BATCH_MAX && i < nr - 1)
			continue;
		ASSERT_EQ(b->nr, batch_run(q, KWQ_IOC_ADD, b));
		for (int n = 0; n < b->nr; n++)
			ASSERT_LE(0, b->results[n]);
		b->nr = 0;
		b->keys_len = 0;
	}
	free(b);
}

/* Lets @nr items wait for one time, and returns that time. All adds end before it. */
static __u64 many_waiting(struct __test_metadata *_metadata, delay_fixture *self, int nr)
{
	__u64 began = now_ns(), ahead, due;

	/* Measures how long the adds take; begin() doubles the time. */
	add_many_at(_metadata, self->q, FEWER, began + HOUR);
	ahead = (now_ns() - began) * nr / FEWER;
	do {
		due = begin(self, &ahead);
		add_many_at(_metadata, self->q, nr, due);
	} while (now_ns() >= due);
	return due;
}

/* D4, D6 */
TEST_F_TIMEOUT(delay, many_at_once, 60)
{
	struct item *items = calloc(KWQ_BATCH_MAX, sizeof(*items));
	char key[16];
	int n = 0;
	__u64 due;

	ASSERT_NE(NULL, items);
	due = many_waiting(_metadata, self, MANY);
	while (n < MANY) {
		int got = q_get_many(self->q, items, KWQ_BATCH_MAX, 0, KWQ_NO_DEADLINE);

		ASSERT_LE(1, got);
		EXPECT_LE(due, now_ns());
		for (int i = 0; i < got; i++, n++) {
			snprintf(key, sizeof(key), "%d", n);
			ASSERT_STREQ(key, items[i].key);
		}
	}
	check_stat(self->q, .processing = MANY, .items = MANY);
	check_counts(self->q, .adds = MANY, .gets = MANY);
	free(items);
}

static int call_get_all(struct sleeper *s)
{
	struct item items[32];
	int n = 0, got;

	while ((got = q_get_many(s->fd, items, 32, 0, KWQ_NO_DEADLINE)) > 0) {
		REQUIRE(s->deadline <= now_ns());
		n += got;
		for (int i = 0; i < got; i++)
			if (!strcmp(items[i].key, "end"))
				return n;
	}
	return got;
}

/* D6, Q5: many due items while several getters wait. */
TEST_F_TIMEOUT(delay, many_at_once_for_several, 60)
{
	__u64 due = many_waiting(_metadata, self, FEWER);
	struct sleeper s[4];
	int total = 0;

	for (int i = 0; i < 4; i++) {
		s[i] = (struct sleeper){ .call = call_get_all, .fd = self->q, .deadline = due };
		sleeper_start(&s[i]);
	}
	while (total < FEWER) {
		struct kwq_stat stat;

		ASSERT_EQ(0, q_stat(self->q, &stat));
		total = stat.gets;
		sched_yield();
	}
	/* One "end" for each getter; the next one is added only when the last one was
	 * handed out.
	 */
	total = 0;
	for (int i = 0; i < 4; i++) {
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, "end"));
		for (int j = 0; ; j = (j + 1) % 4) {
			if (s[j].fd >= 0 && atomic_load(&s[j].ended)) {
				s[j].fd = -1;
				total += sleeper_join(&s[j]);
				break;
			}
			sched_yield();
		}
		ASSERT_EQ(KWQ_FINISHED, q_done_key(self->q, "end"));
	}
	EXPECT_EQ(FEWER + 4, total);
	check_stat(self->q, .processing = FEWER, .items = FEWER);
}

/* O6: a queue that is closed while its items become due. */
TEST_F(delay, close_while_due)
{
	for (int i = 0; i < 100; i++) {
		int q = new_queue(self->dev);

		ASSERT_LE(0, q);
		ASSERT_LE(0, q_add_after(q, "a", 1 + i * 4 * USEC));
		ASSERT_LE(0, q_add_after(q, "b", 1 + i * 4 * USEC));
		ASSERT_LE(0, q_add_after(q, "c", HOUR));
		if (i % 2)
			q_shut_down(q);
		close(q);
	}
}

/* Q8: a shut down drops all waiting items, however many. */
TEST_F_TIMEOUT(delay, shut_down_drops_the_waiting, 60)
{
	struct item item;

	add_many_at(_metadata, self->q, FEWER, now_ns() + HOUR);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "0"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "ready"));
	check_stat(self->q, .ready = 2, .waiting = FEWER, .items = FEWER + 1);
	ASSERT_EQ(0, q_shut_down(self->q));
	check_stat(self->q, .ready = 2, .items = 2, .state = KWQ_STATE_SHUT_DOWN);
	check_counts(self->q, .adds = 2, .dropped = FEWER);
	expect_take(self->q, "0");
	expect_take(self->q, "ready");
	EXPECT_EQ(-ESHUTDOWN, q_try_get(self->q, &item));
}

/* D8: the supported clocks. */
FIXTURE(clocks)
{
	int dev;
	int q;
};

FIXTURE_VARIANT(clocks)
{
	clockid_t clock;
};

FIXTURE_VARIANT_ADD(clocks, monotonic) { .clock = CLOCK_MONOTONIC };
FIXTURE_VARIANT_ADD(clocks, boottime) { .clock = CLOCK_BOOTTIME };

FIXTURE_SETUP(clocks)
{
	struct kwq_create_args create = {
		.size = sizeof(create),
		.open_flags = O_CLOEXEC,
		.rights = ALL_RIGHTS,
		.clockid = variant->clock,
	};

	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = request(self->dev, KWQ_IOC_CREATE, &create);
	ASSERT_LE(0, self->q);
}

FIXTURE_TEARDOWN(clocks)
{
	close(self->q);
	close(self->dev);
}

/* D8, D5, Q5: delays, times, and the deadlines of a get and of a drain. */
TEST_F(clocks, times)
{
	struct kwq_stat stat;
	struct item item;
	__u64 due;

	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(variant->clock, stat.clockid);

	due = now_on(variant->clock) + 3 * MSEC;
	ASSERT_LE(0, q_add_after(self->q, "a", 3 * MSEC));
	ASSERT_EQ(1, q_wait_get(self->q, &item));
	EXPECT_LE(due, now_on(variant->clock));

	due = now_on(variant->clock) + 3 * MSEC;
	ASSERT_LE(0, q_add_at(self->q, "b", due));
	ASSERT_EQ(1, q_wait_get(self->q, &item));
	EXPECT_LE(due, now_on(variant->clock));

	due = now_on(variant->clock) + 3 * MSEC;
	EXPECT_EQ(-ETIMEDOUT, q_get(self->q, &item, 0, due));
	EXPECT_LE(due, now_on(variant->clock));

	due = now_on(variant->clock) + 3 * MSEC;
	EXPECT_EQ(-ETIMEDOUT, q_drain(self->q, due));
	EXPECT_LE(due, now_on(variant->clock));
}

struct elsewhere {
	clockid_t clock;
	int q;
};

static int peer_elsewhere(struct peer *parent, void *arg)
{
	struct elsewhere *e = arg;
	struct item item;
	__u64 due;

	enter_time_namespace(-1);

	due = now_on(e->clock) + 3 * MSEC;
	say(parent, q_add_at(e->q, "a", due) >= 0);
	say(parent, q_wait_get(e->q, &item));
	say(parent, now_on(e->clock) >= due);

	due = now_on(e->clock) + 3 * MSEC;
	say(parent, q_get(e->q, &item, 0, due));
	say(parent, now_on(e->clock) >= due);

	due = now_on(e->clock) + 3 * MSEC;
	say(parent, q_drain(e->q, due));
	say(parent, now_on(e->clock) >= due);
	return 0;
}

/* D1, D5, Q5, Q9: absolute times are on the clock as the caller reads it. */
TEST_F(clocks, times_in_a_time_namespace)
{
	struct elsewhere e = { .clock = variant->clock, .q = self->q };
	struct peer child;

	start_peer(&child, peer_elsewhere, &e);
	EXPECT_EQ(1, hear(&child));
	EXPECT_EQ(1, hear(&child));
	EXPECT_EQ(1, hear(&child));
	EXPECT_EQ(-ETIMEDOUT, hear(&child));
	EXPECT_EQ(1, hear(&child));
	EXPECT_EQ(-ETIMEDOUT, hear(&child));
	EXPECT_EQ(1, hear(&child));
	EXPECT_EQ(0, end_of_peer(&child));
}

static int peer_ahead(struct peer *parent, void *arg)
{
	struct elsewhere *e = arg;
	struct item item;
	__u64 due;

	enter_time_namespace(1000 * 3600);

	/* This is before the start of the host's clock, because the clock here is
	 * behind.
	 */
	say(parent, q_add_at(e->q, "a", 1));
	due = now_on(e->clock) + 3 * MSEC;
	say(parent, q_add_at(e->q, "b", due) >= 0);
	say(parent, q_wait_get(e->q, &item) == 1 && !strcmp(item.key, "a"));
	say(parent, q_wait_get(e->q, &item) == 1 && !strcmp(item.key, "b"));
	say(parent, now_on(e->clock) >= due);

	due = now_on(e->clock) + 3 * MSEC;
	say(parent, q_get(e->q, &item, 0, due));
	say(parent, now_on(e->clock) >= due);
	return 0;
}

/* D1, D5, Q5 */
TEST_F(clocks, times_in_a_time_namespace_that_is_ahead)
{
	struct elsewhere e = { .clock = variant->clock, .q = self->q };
	struct peer child;

	start_peer(&child, peer_ahead, &e);
	EXPECT_EQ(KWQ_ADDED, hear(&child));
	EXPECT_EQ(1, hear(&child));
	EXPECT_EQ(1, hear(&child));
	EXPECT_EQ(1, hear(&child));
	EXPECT_EQ(1, hear(&child));
	EXPECT_EQ(-ETIMEDOUT, hear(&child));
	EXPECT_EQ(1, hear(&child));
	EXPECT_EQ(0, end_of_peer(&child));
}

TEST_HARNESS_MAIN

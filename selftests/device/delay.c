// SPDX-License-Identifier: GPL-2.0-only
/*
 * D1 to D8: items that wait for a time. A test that an item is not early reads the
 * clock after the item came. How late an item comes is not tested here (D5).
 *
 * A later item or deadline proves that an item does not come.
 */
#include "kwq_test.h"

QUEUE_FIXTURE(delay, new_queue(self->dev))

typedef FIXTURE_DATA(delay) delay_fixture;

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

/* D2, D3: each flag of a second add arrives. core_test.c has what each means. */
TEST_F(delay, second_time)
{
	static const struct {
		__u32 flags;
		__u64 first;
		__u64 second;
		int result;
		__u64 due;
	} adds[] = {
		{ KWQ_ADD_AT, 20, 10, KWQ_COALESCED, 10 },
		{ KWQ_ADD_AT | KWQ_ADD_REPLACE, 10, 20, KWQ_COALESCED, 20 },
		{ KWQ_ADD_AT | KWQ_ADD_KEEP, 20, 10, KWQ_COALESCED, 20 },
		{ KWQ_ADD_AT | KWQ_ADD_LATER, 10, 20, KWQ_COALESCED, 20 },
		{ KWQ_ADD_END_WAIT, 10, 0, KWQ_ADDED, 0 },
	};
	struct item item;
	int q;

	for (int i = 0; i < ARRAY_SIZE(adds); i++) {
		q = new_manual_queue(self->dev, NULL);
		ASSERT_LE(0, q);
		EXPECT_EQ(KWQ_WAITING, q_add_at(q, "a", adds[i].first));
		EXPECT_EQ(adds[i].result, q_add_with(q, "a", adds[i].flags, 0, adds[i].second));
		if (adds[i].due) {
			EXPECT_EQ(0, q_advance_to(q, adds[i].due - 1));
			EXPECT_EQ(-EAGAIN, q_try_get(q, &item));
			EXPECT_EQ(0, q_advance(q, 1));
		}
		expect_take(q, "a");
		EXPECT_EQ(0, q_advance(q, 100));
		EXPECT_EQ(-EAGAIN, q_try_get(q, &item));
		close(q);
	}
}

/* The queue's next item comes after @due, and it is not the waiting one. */
static void expect_none_until(struct __test_metadata *_metadata, int q, __u64 due)
{
	struct item item;

	EXPECT_EQ(-ETIMEDOUT, q_get(q, &item, 0, due));
	EXPECT_LE(due, now_ns());
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

#define MANY	3000

static void add_many_at(struct __test_metadata *_metadata, int q, __u64 due)
{
	struct batch *b = new_batch();
	char key[16];

	for (int i = 0; i < MANY; i++) {
		snprintf(key, sizeof(key), "%d", i);
		batch_add_with(b, key, KWQ_ADD_AT | KWQ_ADD_REPLACE, 0, due);
		if (b->nr < KWQ_BATCH_MAX && i < MANY - 1)
			continue;
		ASSERT_EQ(b->nr, batch_run(q, KWQ_IOC_ADD, b));
		for (int n = 0; n < b->nr; n++)
			ASSERT_LE(0, b->results[n]);
		b->nr = 0;
		b->keys_len = 0;
	}
	free(b);
}

/* Lets many items wait for one time, and returns that time. All adds end before it. */
static __u64 many_waiting(struct __test_metadata *_metadata, delay_fixture *self)
{
	__u64 began = now_ns(), ahead, due;

	add_many_at(_metadata, self->q, began + HOUR);
	/* Adds that took longer than the time ahead get a new queue, and twice the time. */
	for (ahead = now_ns() - began; ; ahead *= 2) {
		close(self->q);
		self->q = new_queue(self->dev);
		REQUIRE(self->q >= 0);
		due = now_ns() + 2 * ahead;
		add_many_at(_metadata, self->q, due);
		if (now_ns() < due)
			break;
	}
	return due;
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
	__u64 due = many_waiting(_metadata, self);
	struct sleeper s[4];
	int total = 0;

	for (int i = 0; i < 4; i++) {
		s[i] = (struct sleeper){ .call = call_get_all, .fd = self->q, .deadline = due };
		sleeper_start(&s[i]);
	}
	while (total < MANY) {
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
	EXPECT_EQ(MANY + 4, total);
	check_stat(self->q, .processing = MANY, .items = MANY);
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
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = new_queue_as(self->dev, .clockid = variant->clock);
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

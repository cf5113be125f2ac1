// SPDX-License-Identifier: GPL-2.0-only
/*
 * M1 to M3: the counters, histograms and gauges of KWQ_IOC_STAT. The clock is manual,
 * so each number is known.
 */
#include "kwq_test.h"

QUEUE_FIXTURE(metrics, new_manual_queue(self->dev, NULL))

static struct kwq_stat stat_of(int q)
{
	struct kwq_stat stat;

	REQUIRE(!q_stat(q, &stat));
	return stat;
}

/* A histogram of these durations. The bounds are 10^i us and belong to the bucket below. */
static struct kwq_histogram histogram_of(const __u64 *durations, int nr)
{
	struct kwq_histogram h = {};

	for (int i = 0; i < nr; i++) {
		int bucket = 0;

		for (__u64 bound = USEC; bucket < 10 && durations[i] > bound; bound *= 10)
			bucket++;
		h.counts[bucket]++;
		h.sum += durations[i];
	}
	return h;
}

static const __u64 durations[] = {
	0, 1, USEC, USEC + 1, 10 * USEC, 10 * USEC + 1, 100 * USEC, 100 * USEC + 1, MSEC, MSEC + 1,
	10 * MSEC, 10 * MSEC + 1, 100 * MSEC, 100 * MSEC + 1, SEC, SEC + 1, 10 * SEC, 10 * SEC + 1,
	100 * SEC, 100 * SEC + 1, 1000 * SEC, 1000 * SEC + 1, HOUR,
};

/* M1, M2: durations on both sides of each bound, in all three histograms. */
TEST_F(metrics, buckets)
{
	const struct kwq_histogram want = histogram_of(durations, ARRAY_SIZE(durations));
	static const __u64 counts[] = { 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2 };
	struct kwq_histogram zeros = {};
	struct kwq_stat stat;
	struct item item;

	EXPECT_EQ(0, memcmp(counts, want.counts, sizeof(counts)));
	for (int i = 0; i < ARRAY_SIZE(durations); i++) {
		ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "a", 1));
		ASSERT_EQ(0, q_advance(self->q, 1 + durations[i]));
		/* The item is late, and it was not ready before. */
		ASSERT_EQ(0, q_advance(self->q, durations[i]));
		expect_next(self->q, &item, "a");
		ASSERT_EQ(0, q_advance(self->q, durations[i]));
		ASSERT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	}
	stat = stat_of(self->q);
	EXPECT_EQ(0, memcmp(&want, &stat.lateness, sizeof(want)));
	EXPECT_EQ(0, memcmp(&want, &stat.queue_duration, sizeof(want)));
	EXPECT_EQ(0, memcmp(&want, &stat.work_duration, sizeof(want)));

	stat = stat_of(new_manual_queue(self->dev, NULL));
	EXPECT_EQ(0, memcmp(&zeros, &stat.lateness, sizeof(zeros)));
	EXPECT_EQ(0, memcmp(&zeros, &stat.queue_duration, sizeof(zeros)));
	EXPECT_EQ(0, memcmp(&zeros, &stat.work_duration, sizeof(zeros)));
}

/* M1 to M3: each counter and gauge has another value. KUnit has what changes which. */
TEST_F(metrics, each_member)
{
	struct kwq_stat stat;
	struct item a, b;
	char key[2] = "";

	for (int i = 0; i < 14; i++) {
		key[0] = 'a' + i;
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, key));
	}
	for (int i = 0; i < 5; i++)
		ASSERT_EQ(KWQ_COALESCED, q_add(self->q, "a"));
	for (int i = 0; i < 9; i++) {
		key[0] = '0' + i % 6;
		ASSERT_EQ(i < 6 ? KWQ_WAITING : KWQ_COALESCED, q_add_after(self->q, key, HOUR));
	}
	ASSERT_EQ(0, q_advance(self->q, 10));
	expect_next(self->q, &a, "a");
	expect_next(self->q, &b, "b");
	expect_take(self->q, "c");
	for (int i = 0; i < 7; i++) {
		key[0] = 'd' + i;
		ASSERT_EQ(KWQ_WAS_READY, q_remove(self->q, key));
	}
	ASSERT_EQ(0, q_advance(self->q, 50));
	check_stat(self->q, .ready = 4, .waiting = 6, .processing = 2, .items = 12);
	check_counts(self->q, .adds = 14, .coalesced = 8, .gets = 3, .dones = 1, .removed = 7);
	stat = stat_of(self->q);
	EXPECT_EQ(9, stat.retries);
	EXPECT_EQ(60, stat.oldest_ready);
	EXPECT_EQ(50, stat.longest_running);
	EXPECT_EQ(100, stat.unfinished);
}

static int create_without(int dev, __u64 lease, __u64 aging, const struct kwq_config *config)
{
	return new_queue_as(dev, .flags = KWQ_CREATE_NO_DURATIONS, .clockid = KWQ_CLOCK_ID_MANUAL,
			    .lease = lease, .aging = aging, .config = (uintptr_t)config);
}

/* U8, M1: an age that is not known stays so. A wait has an age in any case. */
TEST_F(metrics, restore_without_durations)
{
	int q = create_without(self->dev, 0, 0, NULL);
	struct listed_item look, dead[2];
	struct kwq_stat stat;
	struct item a;

	ASSERT_LE(0, q);
	EXPECT_EQ(KWQ_CREATE_NO_DURATIONS, stat_of(q).create_flags);
	ASSERT_EQ(KWQ_RESTORED, q_restore(q, "a", .state = KWQ_IS_READY | KWQ_IS_WAITING,
					  .dirty_for = KWQ_AGE_UNKNOWN,
					  .waiting_for = KWQ_AGE_UNKNOWN, .due_in = HOUR));
	ASSERT_EQ(KWQ_RESTORED, q_restore(q, "b", .state = KWQ_IS_DEAD,
					  .dead_for = KWQ_AGE_UNKNOWN));
	EXPECT_EQ(0, stat_of(q).oldest_dead);
	/* It hides no other one. */
	ASSERT_EQ(KWQ_RESTORED, q_restore(q, "d", .state = KWQ_IS_DEAD, .dead_for = 2 * SEC));
	ASSERT_EQ(KWQ_RESTORED, q_restore(q, "c", .state = KWQ_IS_READY, .dirty_for = 7 * SEC));
	ASSERT_EQ(0, q_advance(q, SEC));
	ASSERT_EQ(1, q_look(q, "a", &look));
	EXPECT_EQ(KWQ_AGE_UNKNOWN, look.item.dirty_for);
	EXPECT_EQ(SEC, look.item.waiting_for);
	EXPECT_EQ(HOUR - SEC, look.item.due_in);
	ASSERT_EQ(2, q_dead(q, dead, 2));
	EXPECT_EQ(KWQ_AGE_UNKNOWN, dead[0].item.dead_for);
	EXPECT_EQ(3 * SEC, dead[1].item.dead_for);
	ASSERT_EQ(1, q_look(q, "c", &look));
	EXPECT_EQ(8 * SEC, look.item.dirty_for);
	stat = stat_of(q);
	EXPECT_EQ(0, stat.oldest_ready);
	EXPECT_EQ(3 * SEC, stat.oldest_dead);
	expect_next(q, &a, "a");
	ASSERT_EQ(KWQ_STILL_WAITING, q_done(q, a.ticket));
	expect_take(q, "c");
	ASSERT_EQ(0, q_advance_to(q, HOUR - 1));
	EXPECT_EQ(-EAGAIN, q_try_get(q, &a));
	ASSERT_EQ(0, q_advance(q, 1));
	expect_take(q, "a");
	EXPECT_EQ(0, stat_of(q).queue_duration.sum);
	close(q);
}

/* M1, O3, Q17, L10: what needs durations is refused without them. */
TEST_F(metrics, no_durations_where_they_are_needed)
{
	const struct kwq_config forgetful = { .size = sizeof(forgetful), .forget_after = SEC };
	int q;

	EXPECT_EQ(-EINVAL, create_without(self->dev, SEC, 0, NULL));
	EXPECT_EQ(-EINVAL, create_without(self->dev, 0, SEC, NULL));
	EXPECT_EQ(-EINVAL, create_without(self->dev, 0, 0, &forgetful));
	q = create_without(self->dev, 0, 0, NULL);
	ASSERT_LE(0, q);
	EXPECT_EQ(-EINVAL, q_configure(q, &forgetful));
	close(q);
}

/* M3: on a real clock the durations refer to the moment of the call. */
TEST_F(metrics, on_a_real_clock)
{
	__u64 added_after, added_before, asked_after, asked_before;
	int q = new_queue(self->dev);
	struct kwq_stat stat;
	struct item item;

	ASSERT_LE(0, q);
	added_after = now_ns();
	ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(q, "b"));
	expect_next(q, &item, "a");
	added_before = now_ns();
	asked_after = now_ns();
	stat = stat_of(q);
	asked_before = now_ns();
	EXPECT_LE(asked_after, stat.now);
	EXPECT_GE(asked_before, stat.now);
	EXPECT_LE(asked_after - added_before, stat.oldest_ready);
	EXPECT_GE(asked_before - added_after, stat.oldest_ready);
	EXPECT_LE(asked_after - added_before, stat.longest_running);
	EXPECT_GE(asked_before - added_after, stat.longest_running);
	EXPECT_EQ(stat.longest_running, stat.unfinished);
	EXPECT_GE(added_before - added_after, stat.queue_duration.sum);
	close(q);
}

TEST_HARNESS_MAIN

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

/* M1: a sum that exceeds 64 bits. */
TEST_F(metrics, a_sum_of_ages)
{
	struct kwq_stat stat;
	struct item items[3];

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "c"));
	ASSERT_EQ(0, q_advance(self->q, ~0ULL));
	ASSERT_EQ(3, q_get_many(self->q, items, 3, KWQ_GET_NONBLOCK, 0));
	stat = stat_of(self->q);
	EXPECT_EQ(1, stat.queue_duration.sum_high);
	EXPECT_EQ(TIME_MAX - 2, stat.queue_duration.sum);
	EXPECT_EQ(3, stat.queue_duration.counts[10]);
}

#define expect_gauges(q, oldest_, longest_, unfinished_)			\
	do {									\
		struct kwq_stat stat_ = stat_of(q);				\
										\
		EXPECT_EQ(oldest_, stat_.oldest_ready);				\
		EXPECT_EQ(longest_, stat_.longest_running);			\
		EXPECT_EQ(unfinished_, stat_.unfinished);			\
	} while (0)

/* M1 to M3: the gauges at the moment of reading. */
TEST_F(metrics, gauges)
{
	struct item a, b;

	expect_gauges(self->q, 0, 0, 0);
	ASSERT_EQ(0, q_advance(self->q, 7 * SEC));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	expect_gauges(self->q, 0, 0, 0);
	ASSERT_EQ(0, q_advance(self->q, SEC));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "w", HOUR));
	ASSERT_EQ(0, q_advance(self->q, 2 * SEC));
	expect_gauges(self->q, 3 * SEC, 0, 0);
	expect_next(self->q, &a, "a");
	expect_gauges(self->q, 2 * SEC, 0, 0);
	ASSERT_EQ(0, q_advance(self->q, 2 * SEC));
	expect_gauges(self->q, 4 * SEC, 2 * SEC, 2 * SEC);
	expect_next(self->q, &b, "b");
	ASSERT_EQ(0, q_advance(self->q, SEC));
	expect_gauges(self->q, 0, 3 * SEC, 4 * SEC);
	ASSERT_EQ(KWQ_FINISHED, q_done(self->q, a.ticket));
	expect_gauges(self->q, 0, SEC, SEC);
	ASSERT_EQ(0, q_advance(self->q, SEC));
	expect_gauges(self->q, 0, 2 * SEC, 2 * SEC);
	/* Dirty while it is processed, the item is not ready; its queue duration
	 * already counts.
	 */
	ASSERT_EQ(KWQ_DIRTIED, q_add(self->q, "b"));
	ASSERT_EQ(0, q_advance(self->q, SEC));
	expect_gauges(self->q, 0, 3 * SEC, 3 * SEC);
	ASSERT_EQ(KWQ_REQUEUED, q_done(self->q, b.ticket));
	expect_gauges(self->q, SEC, 0, 0);
	expect_take(self->q, "b");
	expect_gauges(self->q, 0, 0, 0);
}

#define expect_depth(q, ready_, dirty_)						\
	do {									\
		struct kwq_stat stat_ = stat_of(q);				\
										\
		EXPECT_EQ(ready_, stat_.ready);					\
		EXPECT_EQ(dirty_, stat_.dirty);					\
	} while (0)

/* M1, M2: what each counter counts. client-go counts a retry for each AddAfter. */
TEST_F(metrics, counters)
{
	static const struct kwq_limiter second[] = { FAST_SLOW(SEC, SEC, 0) };
	struct kwq_config config = config_of(second);
	struct kwq_stat stat;
	struct item item;

	config.dead_after = 2;
	config.flags = KWQ_CONFIG_COALESCE;
	ASSERT_EQ(0, q_configure(self->q, &config));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	stat = stat_of(self->q);
	EXPECT_EQ(0, stat.retries);
	ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "b", SEC));
	ASSERT_EQ(KWQ_COALESCED, q_add_at(self->q, "b", 2 * SEC));
	ASSERT_EQ(KWQ_WAITING, q_add_rate_limited(self->q, "c"));
	/* Free of charge with KWQ_CONFIG_COALESCE. */
	ASSERT_EQ(KWQ_COALESCED, q_add_rate_limited(self->q, "c"));
	/* A delay of 0 is a retry, too; a refused add is not. */
	ASSERT_EQ(KWQ_ADDED, q_add_after(self->q, "d", 0));
	EXPECT_EQ(-ENOENT, q_add_with(self->q, "e", KWQ_ADD_AFTER | KWQ_ADD_KICK, 0, 0));
	EXPECT_EQ(-EINVAL, q_add_with(self->q, "d", KWQ_ADD_RATE_LIMITED, 0, 1));
	stat = stat_of(self->q);
	EXPECT_EQ(4, stat.retries);
	EXPECT_EQ(1, stat.rate_limited);
	EXPECT_EQ(2, stat.adds);
	EXPECT_EQ(2, stat.coalesced);
	EXPECT_EQ(2, stat.ready);
	EXPECT_EQ(2, stat.waiting);
	EXPECT_EQ(0, stat.remembered);

	/* An add with a time counts as an add when its time comes. */
	ASSERT_EQ(0, q_advance(self->q, SEC));
	stat = stat_of(self->q);
	EXPECT_EQ(4, stat.adds);
	expect_take(self->q, "a");
	expect_take(self->q, "d");
	expect_take(self->q, "b");
	expect_next(self->q, &item, "c");
	ASSERT_EQ(KWQ_WAITING, q_add_rate_limited(self->q, "c"));
	ASSERT_EQ(0, q_advance(self->q, SEC));
	ASSERT_EQ(KWQ_DIRTY, q_add_rate_limited(self->q, "c"));
	ASSERT_EQ(KWQ_REQUEUED, q_done(self->q, item.ticket));
	expect_take(self->q, "c");
	stat = stat_of(self->q);
	EXPECT_EQ(1, stat.remembered);
	EXPECT_EQ(0, stat.died);
	ASSERT_EQ(KWQ_DEAD, q_add_rate_limited(self->q, "c"));
	stat = stat_of(self->q);
	EXPECT_EQ(0, stat.remembered);
	EXPECT_EQ(1, stat.died);
	EXPECT_EQ(1, stat.dead);
	EXPECT_EQ(5, stat.retries);
	EXPECT_EQ(2, stat.rate_limited);
	ASSERT_EQ(KWQ_WAS_DEAD, q_drop(self->q, "c"));
	stat = stat_of(self->q);
	EXPECT_EQ(1, stat.died);
	EXPECT_EQ(0, stat.dead);
	EXPECT_EQ(1, stat.removed);
}

static int create_without(int dev, __u64 lease, __u64 aging, const struct kwq_config *config)
{
	const struct kwq_create_args create = {
		.size = sizeof(create),
		.flags = KWQ_CREATE_NO_DURATIONS,
		.open_flags = O_CLOEXEC,
		.clockid = KWQ_CLOCK_ID_MANUAL,
		.rights = ALL_RIGHTS,
		.lease = lease,
		.aging = aging,
		.config = (uintptr_t)config,
	};

	return request(dev, KWQ_IOC_CREATE, &create);
}

/* M1: a queue that measures no durations. Its counters, delays and limiters are as ever. */
TEST_F(metrics, no_durations)
{
	const struct kwq_config config = { .size = sizeof(config), .dead_after = 1 };
	static const struct kwq_histogram zeros;
	int q = create_without(self->dev, 0, 0, &config);
	struct listed_item look;
	struct kwq_stat stat;
	struct item a, b;
	struct listed_item dead;

	ASSERT_LE(0, q);
	EXPECT_EQ(KWQ_CREATE_NO_DURATIONS, stat_of(q).create_flags);
	ASSERT_EQ(0, q_advance(q, 7 * SEC));
	ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add_priority(q, "b", -1));
	ASSERT_EQ(KWQ_WAITING, q_add_after(q, "c", 10 * SEC));
	ASSERT_EQ(0, q_advance(q, SEC));
	ASSERT_EQ(1, q_look(q, "a", &look));
	EXPECT_EQ(KWQ_AGE_UNKNOWN, look.item.dirty_for);
	ASSERT_EQ(1, q_look(q, "b", &look));
	EXPECT_EQ(SEC, look.item.dirty_for);
	ASSERT_EQ(1, q_look(q, "c", &look));
	EXPECT_EQ(SEC, look.item.waiting_for);
	EXPECT_EQ(0, look.item.dirty_for);
	expect_next(q, &a, "a");
	expect_next(q, &b, "b");
	ASSERT_EQ(0, q_advance(q, SEC));
	ASSERT_EQ(1, q_look(q, "a", &look));
	EXPECT_EQ(KWQ_IS_PROCESSING, look.item.state);
	EXPECT_EQ(KWQ_AGE_UNKNOWN, look.item.processing_for);
	EXPECT_EQ(0, look.item.dirty_for);
	ASSERT_EQ(KWQ_DIRTIED, q_add(q, "a"));
	expect_gauges(q, 0, 0, 0);
	ASSERT_EQ(KWQ_REQUEUED, q_done(q, a.ticket));
	expect_take(q, "a");

	/* The limiters know the time; a death at a done has none. */
	ASSERT_EQ(KWQ_WAITING, q_add_rate_limited(q, "b"));
	ASSERT_EQ(KWQ_STILL_WAITING, q_done(q, b.ticket));
	ASSERT_EQ(1, q_look(q, "b", &look));
	EXPECT_EQ(5 * MSEC, look.item.due_in);
	ASSERT_EQ(0, q_advance(q, 5 * MSEC));
	expect_next(q, &b, "b");
	ASSERT_EQ(KWQ_DEAD, q_add_rate_limited(q, "b"));
	ASSERT_EQ(KWQ_FINISHED, q_done(q, b.ticket));
	ASSERT_EQ(0, q_advance(q, SEC));
	ASSERT_EQ(1, q_dead(q, &dead, 1));
	EXPECT_EQ(KWQ_AGE_UNKNOWN, dead.item.dead_for);
	ASSERT_EQ(1, q_look(q, "b", &look));
	EXPECT_EQ(KWQ_AGE_UNKNOWN, look.item.dead_for);

	/* D5: not early. A wait has an age. */
	ASSERT_EQ(0, q_advance_to(q, 17 * SEC - 1));
	EXPECT_EQ(-EAGAIN, q_try_get(q, &a));
	stat = stat_of(q);
	EXPECT_EQ(10 * SEC - 1, stat.oldest_waiting);
	EXPECT_EQ(0, stat.oldest_dead);
	ASSERT_EQ(0, q_advance(q, 1));
	expect_take(q, "c");

	stat = stat_of(q);
	/* Two of them at the ends of delays. */
	EXPECT_EQ(5, stat.adds);
	EXPECT_EQ(5, stat.gets);
	EXPECT_EQ(5, stat.dones);
	EXPECT_EQ(0, memcmp(&zeros, &stat.queue_duration, sizeof(zeros)));
	EXPECT_EQ(0, memcmp(&zeros, &stat.work_duration, sizeof(zeros)));
	EXPECT_EQ(2, stat.lateness.counts[0]);
	close(q);
}

/* U8, M1: an age that is not known stays so. A wait has an age in any case. */
TEST_F(metrics, restore_without_durations)
{
	int q = create_without(self->dev, 0, 0, NULL);
	struct listed_item look, dead[2];
	struct kwq_stat stat;
	struct item a;

	ASSERT_LE(0, q);
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

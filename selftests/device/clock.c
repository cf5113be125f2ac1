// SPDX-License-Identifier: GPL-2.0-only
/*
 * K4, D5: a queue on a manual clock. The tests check that sleepers sleep, and that
 * items become due exactly to the nanosecond.
 */
#include "kwq_test.h"

#include <grp.h>

QUEUE_FIXTURE(clock, new_manual_queue(self->dev, NULL))

static __u64 now_of(int q)
{
	struct kwq_stat stat;

	REQUIRE(!q_stat(q, &stat));
	return stat.now;
}

TEST_F(clock, begins_at_0)
{
	struct kwq_stat stat;

	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(KWQ_CLOCK_ID_MANUAL, stat.clockid);
	EXPECT_EQ(0, stat.now);
	EXPECT_EQ(0, q_advance(self->q, SEC));
	EXPECT_EQ(SEC, now_of(self->q));
	EXPECT_EQ(0, q_advance(self->q, 1));
	EXPECT_EQ(SEC + 1, now_of(self->q));
	EXPECT_EQ(0, q_advance(self->q, 0));
	EXPECT_EQ(SEC + 1, now_of(self->q));
	EXPECT_EQ(0, q_advance_to(self->q, HOUR));
	EXPECT_EQ(HOUR, now_of(self->q));
	/* Each queue has its own clock. */
	EXPECT_EQ(0, now_of(new_manual_queue(self->dev, NULL)));
}

/* The clock never goes back, and a refused request changes nothing. */
TEST_F(clock, no_way_back)
{
	EXPECT_EQ(0, q_advance_to(self->q, 0));
	EXPECT_EQ(0, q_advance(self->q, SEC));
	EXPECT_EQ(KWQ_WAITING, q_add_after(self->q, "a", SEC));
	EXPECT_EQ(-EINVAL, q_advance_to(self->q, SEC - 1));
	EXPECT_EQ(-EINVAL, q_advance_to(self->q, 0));
	EXPECT_EQ(0, q_advance_to(self->q, SEC));
	EXPECT_EQ(SEC, now_of(self->q));
	check_stat(self->q, .waiting = 1, .items = 1);
}

/* U2: readable when an item is due. */
TEST_F(clock, poll)
{
	struct pollfd pollfd = { .fd = self->q, .events = POLLIN };
	struct sleeper s;

	EXPECT_EQ(KWQ_WAITING, q_add_after(self->q, "a", SEC));
	EXPECT_EQ(0, poll(&pollfd, 1, 0));
	start_poll(&s, self->q, POLLIN);
	EXPECT_EQ(0, q_advance(self->q, SEC - 1));
	EXPECT_EQ(0, poll(&pollfd, 1, 0));
	EXPECT_FALSE(s.ended);
	EXPECT_EQ(0, q_advance(self->q, 1));
	EXPECT_EQ(POLLIN, sleeper_join(&s));
}

/* A real clock cannot be moved. */
TEST_F(clock, real_clocks)
{
	static const __s32 clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME };

	for (int i = 0; i < ARRAY_SIZE(clocks); i++) {
		int q = new_queue_with(self->dev, clocks[i], 0, NULL);
		struct kwq_stat stat;

		ASSERT_LE(0, q);
		EXPECT_EQ(KWQ_WAITING, q_add_after(q, "a", 1000 * HOUR));
		EXPECT_EQ(-EOPNOTSUPP, q_advance(q, 0));
		EXPECT_EQ(-EOPNOTSUPP, q_advance(q, 2000 * HOUR));
		EXPECT_EQ(-EOPNOTSUPP, q_advance_to(q, 0));
		EXPECT_EQ(-EOPNOTSUPP, q_advance_to(q, ~0ULL));
		check_stat(q, .waiting = 1, .items = 1);
		ASSERT_EQ(0, q_stat(q, &stat));
		EXPECT_EQ(clocks[i], stat.clockid);
		EXPECT_GE(now_on(clocks[i]), stat.now);
		close(q);
	}
}

#define SOMEBODY	10001

struct attempt {
	int q;
	uid_t uid;
};

static int peer_advances_as(struct peer *parent, void *arg)
{
	const struct attempt *attempt = arg;

	REQUIRE(!setgroups(0, NULL));
	REQUIRE(!setresuid(attempt->uid, attempt->uid, attempt->uid));
	say(parent, q_advance(attempt->q, SEC));
	return 0;
}

static int advance_as(uid_t uid, int q)
{
	struct attempt attempt = { q, uid };
	struct peer child;
	int ret;

	start_peer(&child, peer_advances_as, &attempt);
	ret = hear(&child);
	REQUIRE(end_of_peer(&child) == 0);
	return ret;
}

static int peer_creates_as(struct peer *parent, void *arg)
{
	struct kwq_create_args *create = ((void **)arg)[0];
	int *dev = ((void **)arg)[1];

	REQUIRE(!setgroups(0, NULL));
	umask(0);
	REQUIRE(!setresuid(SOMEBODY, SOMEBODY, SOMEBODY));
	say(parent, request(*dev, KWQ_IOC_CREATE, create));
	hear(parent);
	return 0;
}

/* O5: other users of a named queue depend on its clock, so only its owner moves it. */
TEST_F(clock, of_a_named_queue)
{
	struct kwq_create_args create = {
		.size = sizeof(create),
		.open_flags = O_CLOEXEC,
		.rights = ALL_RIGHTS,
		.mode = 0666,
		.clockid = KWQ_CLOCK_ID_MANUAL,
	};
	void *args[] = { &create, &self->dev };
	struct peer child;
	mode_t mask = umask(0);
	char name[32];
	int mine, theirs;

	snprintf(name, sizeof(name), "clock.%d.mine", getpid());
	set_name(create.name, name);
	mine = request(self->dev, KWQ_IOC_CREATE, &create);
	ASSERT_LE(0, mine);
	umask(mask);
	EXPECT_EQ(0, q_advance(mine, SEC));
	EXPECT_EQ(-EPERM, advance_as(SOMEBODY, mine));
	EXPECT_EQ(SEC, now_of(mine));
	/* Unlinking changes nothing about that. */
	EXPECT_EQ(0, q_unlink(self->dev, name));
	EXPECT_EQ(-EPERM, advance_as(SOMEBODY, mine));
	EXPECT_EQ(0, advance_as(0, mine));
	EXPECT_EQ(2 * SEC, now_of(mine));

	snprintf(name, sizeof(name), "clock.%d.theirs", getpid());
	set_name(create.name, name);
	start_peer(&child, peer_creates_as, args);
	EXPECT_LE(0, hear(&child));
	theirs = q_open(self->dev, name, O_CLOEXEC);
	ASSERT_LE(0, theirs);
	/* Root is no exception. */
	EXPECT_EQ(-EPERM, q_advance(theirs, SEC));
	EXPECT_EQ(0, advance_as(SOMEBODY, theirs));
	EXPECT_EQ(SEC, now_of(theirs));
	say(&child, 0);
	EXPECT_EQ(0, end_of_peer(&child));
	EXPECT_EQ(0, q_unlink(self->dev, name));

	/* Everybody who has an unnamed queue may move its clock. */
	EXPECT_EQ(0, advance_as(SOMEBODY, self->q));
	EXPECT_EQ(SEC, now_of(self->q));
	close(theirs);
	close(mine);
}

static int peer_elsewhere(struct peer *parent, void *arg)
{
	int *qs = arg;
	struct item item;
	__u64 before, now, after;

	enter_time_namespace(-1);
	say(parent, q_add_at(qs[0], "a", 2 * SEC));
	say(parent, q_advance_to(qs[0], 2 * SEC - 1));
	say(parent, q_len(qs[0]));
	say(parent, q_advance_to(qs[0], 2 * SEC));
	say(parent, q_wait_get(qs[0], &item));
	say(parent, now_of(qs[0]) == 2 * SEC);
	say(parent, q_get(qs[0], &item, 0, 2 * SEC));
	/* A real clock shows the time of the reader's namespace. */
	for (int i = 0; i < 2; i++) {
		static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME };

		before = now_on(clocks[i]);
		now = now_of(qs[1 + i]);
		after = now_on(clocks[i]);
		say(parent, before <= now && now <= after);
	}
	return 0;
}

/* A manual clock is the same in a time namespace whose other clocks are a second behind. */
TEST_F(clock, in_a_time_namespace)
{
	int qs[] = {
		self->q, new_queue(self->dev), new_queue_with(self->dev, CLOCK_BOOTTIME, 0, NULL),
	};
	struct peer child;

	ASSERT_LE(0, qs[1]);
	ASSERT_LE(0, qs[2]);
	start_peer(&child, peer_elsewhere, qs);
	EXPECT_EQ(KWQ_WAITING, hear(&child));
	EXPECT_EQ(0, hear(&child));
	EXPECT_EQ(0, hear(&child));
	EXPECT_EQ(0, hear(&child));
	EXPECT_EQ(1, hear(&child));
	EXPECT_EQ(1, hear(&child));
	EXPECT_EQ(-ETIMEDOUT, hear(&child));
	EXPECT_EQ(1, hear(&child));
	EXPECT_EQ(1, hear(&child));
	EXPECT_EQ(0, end_of_peer(&child));
	EXPECT_EQ(2 * SEC, now_of(self->q));
}

TEST_HARNESS_MAIN

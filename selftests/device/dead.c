// SPDX-License-Identifier: GPL-2.0-only
/*
 * L11: items that were rate-limited too often. The clock is manual and the limiter has
 * no delay, so only the count decides.
 */
#include "kwq_test.h"

#define LIVES	3	/* requeues; the next one is the end */

static const struct kwq_limiter at_once[] = { FAST_SLOW(0, 0, 0) };

FIXTURE(dead)
{
	int dev;
	int q;
};

FIXTURE_SETUP(dead)
{
	struct kwq_config config = config_of(at_once);

	config.dead_after = LIVES;
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = new_manual_queue(self->dev, &config);
	ASSERT_LE(0, self->q);
}

FIXTURE_TEARDOWN(dead)
{
	close(self->q);
	close(self->dev);
}

/* Makes an item fail as often as it may. It is idle afterwards. */
static void use_up(int q, const char *key)
{
	struct item item;

	for (__u32 n = 1; n <= LIVES; n++) {
		REQUIRE(q_add_rate_limited(q, key) == KWQ_ADDED);
		REQUIRE(q_try_get(q, &item) == 1 && !strcmp(item.key, key));
		REQUIRE(item.requeues == n);
		REQUIRE(q_done(q, item.ticket) == KWQ_FINISHED);
	}
}

static __u64 deaths(int q)
{
	struct kwq_stat stat;

	REQUIRE(!q_stat(q, &stat));
	return stat.died;
}

/* The dead items in the order of their deaths, separated by spaces. */
static const char *the_dead(int q)
{
	static char text[1024];
	struct listed_item dead[16];
	struct kwq_stat stat;
	int nr = q_dead(q, dead, 16);
	size_t len = 0;

	REQUIRE(nr >= 0 && nr < 16);
	REQUIRE(!q_stat(q, &stat) && stat.dead == nr);
	text[0] = '\0';
	for (int i = 0; i < nr; i++)
		len += snprintf(text + len, sizeof(text) - len, i ? " %s" : "%s", dead[i].key);
	return text;
}

/* L11: what is listed of a dead item, and what brings it back or drops it. KUnit has the rules. */
TEST_F(dead, kicked_and_dropped)
{
	struct listed_item dead[3];
	struct item item;

	use_up(self->q, "a");
	EXPECT_EQ(KWQ_ADDED, q_add_priority(self->q, "a", 5));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(KWQ_DEAD, q_add_rate_limited(self->q, "a"));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	use_up(self->q, "b");
	EXPECT_EQ(0, q_advance(self->q, SEC));
	EXPECT_EQ(KWQ_DEAD, q_add_rate_limited(self->q, "b"));
	EXPECT_EQ(0, q_advance(self->q, SEC));
	ASSERT_EQ(2, q_dead(self->q, dead, 3));
	EXPECT_STREQ("a", dead[0].key);
	EXPECT_STREQ("b", dead[1].key);
	EXPECT_EQ(1, dead[0].item.order);
	EXPECT_EQ(2 * SEC, dead[0].item.dead_for);
	EXPECT_EQ(LIVES, dead[0].item.requeues);
	EXPECT_EQ(5, dead[0].item.priority);

	EXPECT_EQ(KWQ_WAS_DEAD, q_drop(self->q, "b"));
	EXPECT_EQ(-ENOENT, q_drop(self->q, "b"));
	EXPECT_EQ(KWQ_WAITING, q_add_with(self->q, "a", KWQ_ADD_KICK | KWQ_ADD_AFTER, 0, SEC));
	EXPECT_EQ(-ENOENT, q_kick(self->q, "a"));
	check_stat(self->q, .waiting = 1, .items = 1);
}

static int peer_gives_up(struct peer *parent, void *arg)
{
	int q = q_reopen(*(int *)arg);
	struct item item;

	REQUIRE(q_try_get(q, &item) == 1);
	say(parent, q_add_rate_limited(q, item.key));
	hear(parent);
	return 0;
}

/* O1: an item whose worker died before the done is tried once more. */
TEST_F(dead, its_worker_is_killed)
{
	struct peer child;
	struct item item;

	use_up(self->q, "a");
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	start_peer(&child, peer_gives_up, &self->q);
	EXPECT_EQ(KWQ_DEAD, hear(&child));
	EXPECT_EQ(-SIGKILL, kill_peer(&child));
	EXPECT_STREQ("", the_dead(self->q));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(1, item.abandoned);
	EXPECT_EQ(LIVES, item.requeues);
	EXPECT_EQ(KWQ_DEAD, q_add_rate_limited(self->q, "a"));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	EXPECT_STREQ("a", the_dead(self->q));
	EXPECT_EQ(2, deaths(self->q));
}

/* Gets one item, reports whether it is the poison item, and waits to be killed. */
static int peer_gets(struct peer *parent, void *arg)
{
	int q = q_reopen(*(int *)arg);
	struct item item;

	REQUIRE(q >= 0);
	REQUIRE(q_try_get(q, &item) == 1);
	if (!strcmp(item.key, "killer")) {
		say(parent, 1);
		hear(parent);
		return 0;
	}
	REQUIRE(q_done(q, item.ticket) == KWQ_FINISHED);
	say(parent, 0);
	return 0;
}

/* Starts a worker for one item. Returns whether the item killed the worker. */
static int one_worker(struct __test_metadata *_metadata, int q)
{
	struct kwq_stat stat;
	struct peer child;
	int killed;

	start_peer(&child, peer_gets, &q);
	killed = hear(&child);
	EXPECT_EQ(killed ? -SIGKILL : 0, killed ? kill_peer(&child) : end_of_peer(&child));
	/* The kernel may close the handle after the process can be waited for. */
	do {
		REQUIRE(!q_stat(q, &stat));
	} while (stat.processing);
	return killed;
}

/* L12: a poison item kills each worker that gets it. Other items run between its runs. */
TEST_F(dead, item_that_kills_its_workers)
{
	struct kwq_config config = default_config();
	int killed = 0, done = 0;
	struct listed_item dead;
	char key[16];

	ASSERT_EQ(0, q_configure(self->q, &config));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "killer"));
	for (int i = 0; i < 25; i++) {
		snprintf(key, sizeof(key), "%d", i);
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, key));
	}
	/* At first it comes ahead of the others once more; then it goes behind them. */
	EXPECT_EQ(1, one_worker(_metadata, self->q));
	EXPECT_EQ(1, one_worker(_metadata, self->q));
	for (int i = 0; i < 25; i++)
		done += !one_worker(_metadata, self->q);
	EXPECT_EQ(25, done);

	/* With a limit the item is dead after that many workers. */
	config.dead_after_lost = 5;
	ASSERT_EQ(0, q_configure(self->q, &config));
	while (q_len(self->q) && killed < 50)
		killed += one_worker(_metadata, self->q);
	EXPECT_EQ(3, killed);
	EXPECT_STREQ("killer", the_dead(self->q));
	EXPECT_EQ(1, deaths(self->q));
	ASSERT_EQ(1, q_dead(self->q, &dead, 1));
	EXPECT_EQ(5, dead.item.abandoned);
	EXPECT_EQ(0, dead.item.requeues);
	check_stat(self->q, .items = 1);

	/* L11: a kick resets the number of losses. */
	ASSERT_EQ(KWQ_ADDED, q_kick(self->q, "killer"));
	for (killed = 0; q_len(self->q) && killed < 50; )
		killed += one_worker(_metadata, self->q);
	EXPECT_EQ(5, killed);
	EXPECT_STREQ("killer", the_dead(self->q));
	EXPECT_EQ(KWQ_WAS_DEAD, q_drop(self->q, "killer"));
	check_stat(self->q, .items = 0);
}

TEST_HARNESS_MAIN

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

static void die(int q, const char *key)
{
	use_up(q, key);
	REQUIRE(q_add_rate_limited(q, key) == KWQ_DEAD);
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

/* L11: an item fails again and again; it is dead at the done of its last run. */
TEST_F(dead, after_its_last_try)
{
	struct item item;

	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	for (__u32 n = 0; n < LIVES; n++) {
		expect_next(self->q, &item, "a");
		EXPECT_EQ(n, item.requeues);
		EXPECT_EQ(KWQ_DIRTIED, q_add_rate_limited(self->q, "a"));
		EXPECT_EQ(KWQ_REQUEUED, q_done(self->q, item.ticket));
	}
	expect_next(self->q, &item, "a");
	EXPECT_EQ(LIVES, item.requeues);
	EXPECT_EQ(KWQ_DEAD, q_add_rate_limited(self->q, "a"));
	/* Not before its done. */
	EXPECT_STREQ("", the_dead(self->q));
	EXPECT_EQ(1, deaths(self->q));
	check_stat(self->q, .processing = 1, .items = 1);
	EXPECT_EQ(KWQ_DEAD, q_add_rate_limited(self->q, "a"));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	EXPECT_STREQ("a", the_dead(self->q));
	check_stat(self->q, .items = 1);
	EXPECT_EQ(-EAGAIN, q_try_get(self->q, &item));
	/* A dead item cannot die again. */
	EXPECT_EQ(KWQ_DEAD, q_add_rate_limited(self->q, "a"));
	EXPECT_EQ(1, deaths(self->q));
	EXPECT_EQ(LIVES, q_requeues(self->q, "a"));
	EXPECT_EQ(-ENOENT, q_done_key(self->q, "a"));
}

/* L11: the listed members of each item. */
TEST_F(dead, listed)
{
	static const char * const keys[] = { "a", "bb", "ccc", "dddd", "eeeee" };
	struct listed_item dead[8];
	struct item item;

	for (int i = 0; i < 5; i++) {
		use_up(self->q, keys[i]);
		EXPECT_EQ(KWQ_ADDED, q_add_priority(self->q, keys[i], i - 2));
		expect_next(self->q, &item, keys[i]);
		EXPECT_EQ(KWQ_DEAD, q_add_rate_limited(self->q, keys[i]));
		EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
		EXPECT_EQ(0, q_advance(self->q, SEC));
	}
	ASSERT_EQ(5, q_dead(self->q, dead, 8));
	for (int i = 0; i < 5; i++) {
		EXPECT_STREQ(keys[i], dead[i].key);
		EXPECT_EQ(i + 1, dead[i].item.order);
		EXPECT_EQ((5 - i) * SEC, dead[i].item.dead_for);
		EXPECT_EQ(LIVES, dead[i].item.requeues);
		EXPECT_EQ(i - 2, dead[i].item.priority);
	}
	EXPECT_EQ(KWQ_WAS_DEAD, q_drop(self->q, "dddd"));
	ASSERT_EQ(4, q_dead(self->q, dead, 8));
	EXPECT_EQ(5, dead[3].item.order);
	check_stat(self->q, .items = 4);
}

/* L11: more than the kernel lists in one hold of the lock. */
TEST_F(dead, many)
{
	struct listed_item *dead = calloc(300, sizeof(*dead));
	char key[16];

	ASSERT_NE(NULL, dead);
	for (int i = 0; i < 200; i++) {
		snprintf(key, sizeof(key), "%d", i);
		die(self->q, key);
	}
	ASSERT_EQ(200, q_dead(self->q, dead, 300));
	for (int i = 0; i < 200; i++)
		EXPECT_EQ(i, atoi(dead[i].key));
	free(dead);
}

/* L11: a kick brings a dead item back as if it had never failed. */
TEST_F(dead, kicked)
{
	struct item item;

	die(self->q, "a");
	EXPECT_EQ(KWQ_ADDED, q_kick(self->q, "a"));
	EXPECT_STREQ("", the_dead(self->q));
	EXPECT_EQ(-ENOENT, q_kick(self->q, "a"));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(0, item.requeues);
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	check_stat(self->q, .items = 0);
	die(self->q, "a");
	EXPECT_EQ(2, deaths(self->q));

	/* A kick with a time and a priority. */
	EXPECT_EQ(KWQ_WAITING, q_add_with(self->q, "a", KWQ_ADD_KICK | KWQ_ADD_AFTER, 0, SEC));
	check_stat(self->q, .waiting = 1, .items = 1);
	EXPECT_EQ(-ENOENT, q_kick(self->q, "a"));
	EXPECT_EQ(0, q_advance(self->q, SEC));
	expect_take(self->q, "a");
	die(self->q, "a");
	EXPECT_EQ(KWQ_WAITING, q_add_with(self->q, "a", KWQ_ADD_KICK | KWQ_ADD_AT, 0, 3 * SEC));
	EXPECT_EQ(0, q_advance(self->q, 2 * SEC));
	expect_take(self->q, "a");
	die(self->q, "a");
	EXPECT_EQ(KWQ_ADDED, q_add_with(self->q, "a", KWQ_ADD_KICK | KWQ_ADD_PRIORITY |
					KWQ_ADD_END_WAIT, 9, 0));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(9, item.priority);
}

/* L11, Q11: dropped for good, together with its count. */
TEST_F(dead, dropped)
{
	struct item item;

	die(self->q, "a");
	die(self->q, "b");
	EXPECT_EQ(KWQ_WAS_DEAD, q_drop(self->q, "a"));
	EXPECT_EQ(-ENOENT, q_drop(self->q, "a"));
	EXPECT_EQ(0, q_requeues(self->q, "a"));
	EXPECT_STREQ("b", the_dead(self->q));
	/* A remove without flags removes a dead item, too. */
	EXPECT_EQ(KWQ_WAS_DEAD, q_remove(self->q, "b"));
	check_stat(self->q, .items = 0);

	/* A drop leaves items alone that are not dead. */
	EXPECT_EQ(-ENOENT, q_drop(self->q, "unknown"));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "c"));
	EXPECT_EQ(-ENOENT, q_drop(self->q, "c"));
	check_stat(self->q, .ready = 1, .items = 1);
	expect_take(self->q, "c");
	check_counts(self->q, .adds = 7, .gets = 7, .dones = 7, .removed = 2);

	/* The item was to die at its done, until an event cancelled that. */
	use_up(self->q, "d");
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "d"));
	expect_next(self->q, &item, "d");
	EXPECT_EQ(KWQ_DEAD, q_add_rate_limited(self->q, "d"));
	EXPECT_EQ(KWQ_WAS_PROCESSING | KWQ_WAS_DEAD, q_remove(self->q, "d"));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	check_stat(self->q, .items = 0);
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

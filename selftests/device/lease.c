// SPDX-License-Identifier: GPL-2.0-only
/*
 * O3: leases and tickets. A manual clock is used where possible; stopped workers need a
 * real one.
 */
#include "kwq_test.h"

#include <sys/epoll.h>

#define LEASE	(5 * MSEC)

FIXTURE(lease)
{
	int dev;
	int q;		/* on a manual clock, with a lease of LEASE */
	int x;		/* another handle of it */
};

FIXTURE_SETUP(lease)
{
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = new_lease_queue(self->dev, KWQ_CLOCK_ID_MANUAL, LEASE);
	ASSERT_LE(0, self->q);
	self->x = q_reopen(self->q);
	ASSERT_LE(0, self->x);
}

FIXTURE_TEARDOWN(lease)
{
	close(self->x);
	close(self->q);
	close(self->dev);
}

static struct kwq_stat stat_of(int q)
{
	struct kwq_stat stat;

	REQUIRE(!q_stat(q, &stat));
	return stat;
}

/* Q13: each entry has its own result. */
TEST_F(lease, extended_in_a_batch)
{
	struct batch *b = new_batch();
	struct item first, second;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	expect_next(self->x, &first, "a");
	expect_next(self->x, &second, "b");
	ASSERT_EQ(0, q_advance(self->q, LEASE - 1));
	batch_extend(b, first.ticket);
	batch_extend(b, second.ticket + 1);
	batch_extend(b, 0);
	ASSERT_EQ(3, batch_run(self->x, KWQ_IOC_EXTEND, b));
	EXPECT_EQ(0, b->results[0]);
	EXPECT_EQ(-ESTALE, b->results[1]);
	EXPECT_EQ(-EINVAL, b->results[2]);
	ASSERT_EQ(0, q_advance(self->q, 1));
	check_stat(self->q, .ready = 1, .processing = 1, .items = 2);
	EXPECT_EQ(LEASE, stat_of(self->q).lease);
	EXPECT_EQ(1, stat_of(self->q).expired);
	EXPECT_EQ(KWQ_FINISHED, q_done(self->x, first.ticket));
	EXPECT_EQ(-ESTALE, q_done(self->x, second.ticket));
	EXPECT_EQ(-ENOENT, q_done_key(self->x, "b"));
	expect_next(self->q, &second, "b");
	EXPECT_EQ(1, second.abandoned);
	EXPECT_EQ(-EPERM, q_extend_key(self->x, "b"));
	EXPECT_EQ(-ESTALE, q_extend(self->x, second.ticket));
	free(b);
}

/* U3 */
TEST_F(lease, bad_extensions)
{
	struct kwq_extend_entry entry;
	struct kwq_stat before;
	struct item item;
	int writer;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	expect_next(self->x, &item, "a");
	before = stat_of(self->q);
	for (int bit = 0; bit < 32; bit++) {
		entry = (struct kwq_extend_entry){ .ticket = item.ticket, .flags = 1U << bit };
		EXPECT_EQ(-EINVAL,
			  q_op_one(self->x, KWQ_IOC_EXTEND, &entry, sizeof(entry), NULL, 0));
	}
	/* No ticket and no key, both, and a key that is too long. */
	entry = (struct kwq_extend_entry){};
	EXPECT_EQ(-EINVAL, q_op_one(self->x, KWQ_IOC_EXTEND, &entry, sizeof(entry), NULL, 0));
	entry = (struct kwq_extend_entry){ .ticket = item.ticket, .key_len = 1 };
	EXPECT_EQ(-EINVAL, q_op_one(self->x, KWQ_IOC_EXTEND, &entry, sizeof(entry), "a", 1));
	entry = (struct kwq_extend_entry){ .key_len = 2 };
	EXPECT_EQ(-EINVAL, q_op_one(self->x, KWQ_IOC_EXTEND, &entry, sizeof(entry), "a", 1));
	entry = (struct kwq_extend_entry){ .key_len = KWQ_KEY_MAX + 1 };
	EXPECT_EQ(-EMSGSIZE, q_op_one(self->x, KWQ_IOC_EXTEND, &entry, sizeof(entry), "a", 1));
	/* As for a done, the handle must be open for reading. */
	writer = q_open_with(self->q, NULL, KWQ_RIGHT_WRITE, O_CLOEXEC);
	ASSERT_LE(0, writer);
	EXPECT_EQ(-EBADF, q_extend(writer, item.ticket));
	close(writer);
	EXPECT_EQ(-ENOENT, q_extend_key(self->x, "b"));
	ASSERT_EQ(0, q_advance(self->q, LEASE - 1));
	before.now = stat_of(self->q).now;
	{
		struct kwq_stat after = stat_of(self->q);

		EXPECT_TRUE(same_stat(&before, &after));
	}
	/* No lease was extended by these. */
	ASSERT_EQ(0, q_advance(self->q, 1));
	check_stat(self->q, .ready = 1, .items = 1);
}

/* O3: a length beyond the clock's range is not a valid lease. */
TEST_F(lease, lengths_of_a_lease)
{
	static const __u64 bad[] = { 1ULL << 63, ~0ULL, (1ULL << 63) + 1 };
	int q, fd = next_fd();

	for (int i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, new_lease_queue(self->dev, CLOCK_MONOTONIC, bad[i]));
	q = new_lease_queue(self->dev, CLOCK_BOOTTIME, TIME_MAX);
	ASSERT_LE(0, q);
	EXPECT_EQ(TIME_MAX, stat_of(q).lease);
	close(q);
	EXPECT_EQ(fd, next_fd());
}

/* A queue without leases does not take items back, and accepts an extension. */
TEST_F(lease, none)
{
	int q = new_manual_queue(self->dev, NULL);
	struct item item;

	ASSERT_LE(0, q);
	ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
	expect_next(q, &item, "a");
	ASSERT_EQ(0, q_advance(q, TIME_MAX));
	EXPECT_EQ(0, q_extend(q, item.ticket));
	EXPECT_EQ(-ESTALE, q_extend(q, item.ticket + 1));
	EXPECT_EQ(KWQ_FINISHED, q_done(q, item.ticket));
	close(q);
}

/* O2 O3: the item is back in its old place, and its lease is gone. */
TEST_F(lease, ends_with_a_fault)
{
	__u8 *edge = user_edge(1);
	struct kwq_got got;
	const struct kwq_get_args get = GET_ARGS(&got, user_ptr(edge), KEY_ROOM, 1,
						 .flags = KWQ_GET_NONBLOCK);

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(-EFAULT, request(self->x, KWQ_IOC_GET, &get));
	ASSERT_EQ(0, q_advance(self->q, LEASE));
	EXPECT_EQ(0, stat_of(self->q).expired);
	expect_take(self->q, "a");
	user_edge_free(edge, 1);
}

/* U2 Q5: an expired lease wakes pollers and getters. */
TEST_F(lease, end_wakes_poll_and_get)
{
	struct sleeper poller, getter;
	struct item late;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	expect_next(self->x, &late, "a");
	start_poll(&poller, self->q, POLLIN);
	ASSERT_EQ(0, q_advance(self->q, LEASE));
	EXPECT_EQ(POLLIN, sleeper_join(&poller));

	expect_next(self->x, &late, "a");
	start_get(&getter, self->q);
	ASSERT_EQ(0, q_advance(self->q, LEASE));
	EXPECT_EQ(1, sleeper_join(&getter));
	EXPECT_STREQ("a", getter.item.key);
	EXPECT_EQ(2, getter.item.abandoned);
	EXPECT_EQ(-ESTALE, q_done(self->x, late.ticket));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, getter.item.ticket));
}

/* Gets an item, reports it, and finishes it too late, on request. */
static int stopped_worker(struct peer *parent, void *arg)
{
	int q = q_reopen(*(int *)arg);
	struct item item;

	REQUIRE(q >= 0);
	REQUIRE(q_get(q, &item, 0, KWQ_NO_DEADLINE) == 1);
	say(parent, 1);
	REQUIRE(hear(parent) == 2);
	say(parent, q_done(q, item.ticket));
	say(parent, q_extend(q, item.ticket));
	say(parent, q_done_key(q, item.key));
	return 0;
}

/*
 * A worker that is stopped loses its item to another worker, who finishes it. Then the
 * first worker continues, and its done changes nothing. Uses the machine's clock.
 */
TEST_F(lease, of_a_worker_that_is_stopped)
{
	int q = new_lease_queue(self->dev, CLOCK_MONOTONIC, LEASE);
	struct kwq_stat before, after;
	struct peer peer;
	struct item item;

	ASSERT_LE(0, q);
	start_peer(&peer, stopped_worker, &q);
	ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
	ASSERT_EQ(1, hear(&peer));
	ASSERT_EQ(0, kill(peer.pid, SIGSTOP));
	say(&peer, 2);

	/* Only the expired lease gives the item back. */
	ASSERT_EQ(1, q_get(q, &item, 0, KWQ_NO_DEADLINE));
	EXPECT_STREQ("a", item.key);
	EXPECT_LE(1, item.abandoned);
	/* In an emulator this may take longer than the lease. Then a new ticket is
	 * needed.
	 */
	while (q_done(q, item.ticket) == -ESTALE)
		ASSERT_EQ(1, q_get(q, &item, 0, KWQ_NO_DEADLINE));
	before = stat_of(q);
	EXPECT_EQ(1, before.dones);
	EXPECT_EQ(before.expired, before.abandoned);

	ASSERT_EQ(0, kill(peer.pid, SIGCONT));
	EXPECT_EQ(-ESTALE, hear(&peer));
	EXPECT_EQ(-ESTALE, hear(&peer));
	EXPECT_EQ(-ENOENT, hear(&peer));
	EXPECT_EQ(0, end_of_peer(&peer));
	after = stat_of(q);
	after.handles = before.handles;
	EXPECT_TRUE(same_stat(&before, &after));
	close(q);
}

/* O1 O3: a worker that is killed and too late loses its item only once. */
TEST_F(lease, of_a_worker_that_is_killed)
{
	struct peer peer;
	struct item item;

	start_peer(&peer, stopped_worker, &self->q);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(1, hear(&peer));
	EXPECT_EQ(-SIGKILL, kill_peer(&peer));
	/* The kernel may close the handle after the process can be waited for. */
	ASSERT_EQ(1, q_get(self->q, &item, 0, KWQ_NO_DEADLINE));
	EXPECT_EQ(1, item.abandoned);
	ASSERT_EQ(0, q_advance(self->q, LEASE - 1));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	ASSERT_EQ(0, q_advance(self->q, LEASE));
	check_counts(self->q, .adds = 1, .gets = 2, .dones = 1, .abandoned = 1);
	EXPECT_EQ(0, stat_of(self->q).expired);
}

/* One worker's items. Their leases expire while it finishes and extends them. */
#define NR_RACES	400
#define RACE_LEASE	(200 * USEC)

struct race {
	_Atomic int held[NR_RACES];	/* by how many at once */
	_Atomic int twice;
	_Atomic int finished;
	_Atomic int stale;
	int q;
};

static void *race_worker(void *arg)
{
	struct race *race = arg;
	int q = q_reopen(race->q);
	struct item item;
	int ret;

	REQUIRE(q >= 0);
	for (;;) {
		ret = q_get(q, &item, 0, KWQ_NO_DEADLINE);
		if (ret == -ESHUTDOWN)
			break;
		REQUIRE(ret == 1);
		/* Every eighth lease is extended repeatedly until it is too late. */
		if (item.ticket % 8 == 1)
			while (!q_extend(q, item.ticket) && item.abandoned < 3 &&
			       !(now_ns() & 0x3000))
				;
		ret = q_done(q, item.ticket);
		REQUIRE(ret == KWQ_FINISHED || ret == -ESTALE);
		if (ret == KWQ_FINISHED) {
			if (atomic_fetch_add(&race->held[atoi(item.key)], 1))
				atomic_fetch_add(&race->twice, 1);
			atomic_fetch_add(&race->finished, 1);
		} else {
			atomic_fetch_add(&race->stale, 1);
		}
	}
	close(q);
	return NULL;
}

/* Q3 O3: a done races with the expiry: for each hand-out exactly one of them wins. */
TEST_F(lease, done_races_with_its_end)
{
	static struct race race;
	pthread_t threads[4];
	struct kwq_stat stat;
	char key[16];

	memset(&race, 0, sizeof(race));
	race.q = new_lease_queue(self->dev, CLOCK_MONOTONIC, RACE_LEASE);
	ASSERT_LE(0, race.q);
	for (int i = 0; i < ARRAY_SIZE(threads); i++)
		REQUIRE(!pthread_create(&threads[i], NULL, race_worker, &race));
	for (int i = 0; i < NR_RACES; i++) {
		snprintf(key, sizeof(key), "%d", i);
		ASSERT_EQ(KWQ_ADDED, q_add(race.q, key));
	}
	ASSERT_EQ(0, q_drain(race.q, KWQ_NO_DEADLINE));
	for (int i = 0; i < ARRAY_SIZE(threads); i++)
		REQUIRE(!pthread_join(threads[i], NULL));

	stat = stat_of(race.q);
	EXPECT_EQ(0, atomic_load(&race.twice));
	EXPECT_EQ(NR_RACES, atomic_load(&race.finished));
	EXPECT_EQ(NR_RACES, stat.dones);
	/* Nobody closed a handle, so each refused done met an expired lease. */
	EXPECT_EQ((__u64)atomic_load(&race.stale), stat.expired);
	EXPECT_EQ(stat.expired, stat.abandoned);
	EXPECT_EQ(0, stat.items);
	close(race.q);
}

TEST_HARNESS_MAIN

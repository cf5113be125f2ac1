// SPDX-License-Identifier: GPL-2.0-only
/*
 * O4, O6: full queues report that and lose nothing. Memory is charged to the cgroup
 * that caused it.
 */
#include "kwq_test.h"

#include <sys/prctl.h>

#include <grp.h>

FIXTURE(limits)
{
	int dev;
	int q;
};

FIXTURE_SETUP(limits)
{
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = -1;
}

FIXTURE_TEARDOWN(limits)
{
	close(self->q);
	close(self->dev);
}

static int queue_with_limits(int dev, __u64 max_items, __u64 max_bytes)
{
	return new_queue_as(dev, .max_items = max_items, .max_bytes = max_bytes);
}

static void check_refused(struct __test_metadata *_metadata, int q, int want, int got,
			  const struct kwq_stat *before)
{
	struct kwq_stat after;

	EXPECT_EQ(want, got);
	ASSERT_EQ(0, q_stat(q, &after));
	EXPECT_TRUE(same_stat(before, &after));
}

/* O4: items count in any state; an existing key may be added again. */
TEST_F(limits, items)
{
	struct kwq_stat before;
	struct item item;

	self->q = queue_with_limits(self->dev, 3, 0);
	ASSERT_LE(0, self->q);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "out"));
	expect_next(self->q, &item, "out");
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "ready"));
	ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "waiting", HOUR));
	ASSERT_EQ(0, q_stat(self->q, &before));
	EXPECT_EQ(3, before.max_items);
	check_refused(_metadata, self->q, -ENOSPC, q_add(self->q, "a"), &before);
	check_refused(_metadata, self->q, -ENOSPC, q_add_after(self->q, "a", HOUR), &before);
	check_refused(_metadata, self->q, -ENOSPC, q_add_at(self->q, "a", 1), &before);
	check_refused(_metadata, self->q, -ENOENT, q_remove(self->q, "a"), &before);

	EXPECT_EQ(KWQ_COALESCED, q_add(self->q, "ready"));
	EXPECT_EQ(KWQ_DIRTIED, q_add(self->q, "out"));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "waiting"));
	EXPECT_EQ(KWQ_WAITING, q_add_after(self->q, "ready", HOUR));
	check_stat(self->q, .ready = 2, .waiting = 2, .processing = 1, .items = 3);

	/* A done and a remove make room for one item each. */
	EXPECT_EQ(KWQ_REQUEUED, q_done(self->q, item.ticket));
	EXPECT_EQ(-ENOSPC, q_add(self->q, "a"));
	EXPECT_LT(0, q_remove(self->q, "ready"));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(-ENOSPC, q_add(self->q, "b"));
	/* The item stays in the queue: it still waits for its time. */
	expect_next(self->q, &item, "waiting");
	EXPECT_EQ(KWQ_STILL_WAITING, q_done(self->q, item.ticket));
	EXPECT_EQ(-ENOSPC, q_add(self->q, "b"));
	expect_take(self->q, "out");
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	expect_take(self->q, "a");
	expect_take(self->q, "b");
	check_stat(self->q, .waiting = 1, .items = 1);
}

/* O4, Q13: a batch takes the entries that fit. */
TEST_F(limits, items_in_a_batch)
{
	struct batch *b = new_batch();

	self->q = queue_with_limits(self->dev, 2, 0);
	ASSERT_LE(0, self->q);
	batch_add(b, "a");
	batch_add(b, "b");
	batch_add(b, "c");
	batch_add(b, "a");
	batch_add(b, "d");
	ASSERT_EQ(5, batch_run(self->q, KWQ_IOC_ADD, b));
	EXPECT_EQ(KWQ_ADDED, b->results[0]);
	EXPECT_EQ(KWQ_ADDED, b->results[1]);
	EXPECT_EQ(-ENOSPC, b->results[2]);
	EXPECT_EQ(KWQ_COALESCED, b->results[3]);
	EXPECT_EQ(-ENOSPC, b->results[4]);
	check_stat(self->q, .ready = 2, .items = 2);
	free(b);
}

/* O4 */
TEST_F(limits, bytes)
{
	const struct kwq_remove_entry entry = { .key_len = KWQ_KEY_MAX };
	static __u8 key[KWQ_KEY_MAX];
	struct kwq_stat before, stat;
	int n = 0, ret;

	self->q = queue_with_limits(self->dev, 0, 40000);
	ASSERT_LE(0, self->q);
	do {
		ASSERT_EQ(0, q_stat(self->q, &before));
		EXPECT_EQ(40000, before.max_bytes);
		EXPECT_LE(n * sizeof(key), before.bytes);
		key[0] = n;
		ret = q_add_bytes(self->q, key, sizeof(key), 0, 0, 0);
	} while (ret == KWQ_ADDED && ++n < 5);
	/* Four keys of 4096 bytes: such an item takes a little more than 8192 bytes. */
	EXPECT_EQ(4, n);
	check_refused(_metadata, self->q, -ENOSPC, ret, &before);
	check_refused(_metadata, self->q, -ENOSPC,
		      q_add_bytes(self->q, key, sizeof(key), KWQ_ADD_AFTER, 0, HOUR), &before);

	/* A smaller item may still fit. */
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "small"));
	EXPECT_EQ(KWQ_WAS_READY, q_remove(self->q, "small"));
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(before.bytes, stat.bytes);

	/* Removing an item makes room for one. */
	key[0] = 1;
	EXPECT_EQ(KWQ_WAS_READY, q_op_one(self->q, KWQ_IOC_REMOVE, &entry, sizeof(entry), key,
					  sizeof(key)));
	key[0] = 77;
	EXPECT_EQ(KWQ_ADDED, q_add_bytes(self->q, key, sizeof(key), 0, 0, 0));
	key[0] = 78;
	EXPECT_EQ(-ENOSPC, q_add_bytes(self->q, key, sizeof(key), 0, 0, 0));
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(4, stat.items);

	/* A limit that is too small for any item. */
	close(self->q);
	self->q = queue_with_limits(self->dev, 0, 1);
	ASSERT_LE(0, self->q);
	EXPECT_EQ(-ENOSPC, q_add(self->q, "a"));
	check_stat(self->q, .items = 0);
}

/* O4: no limit may exceed the module's maximum. */
TEST_F(limits, beyond_the_modules)
{
	struct kwq_info info = { .size = sizeof(info) };
	struct kwq_stat stat;

	ASSERT_EQ(0, request(self->dev, KWQ_IOC_INFO, &info));
	EXPECT_EQ(-EINVAL, queue_with_limits(self->dev, info.max_items + 1, 0));
	EXPECT_EQ(-EINVAL, queue_with_limits(self->dev, 0, info.max_bytes + 1));
	EXPECT_EQ(-EINVAL, queue_with_limits(self->dev, ~0ULL, 0));
	EXPECT_EQ(-EINVAL, queue_with_limits(self->dev, 0, ~0ULL));
	self->q = queue_with_limits(self->dev, info.max_items, info.max_bytes);
	ASSERT_LE(0, self->q);
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(info.max_items, stat.max_items);
	EXPECT_EQ(info.max_bytes, stat.max_bytes);
}

/* O4 */
TEST_F(limits, key_length)
{
	static __u8 key[KWQ_KEY_MAX + 1];
	struct kwq_remove_entry remove = { };
	struct kwq_done_entry done = { };
	struct kwq_stat before;

	self->q = new_queue(self->dev);
	ASSERT_LE(0, self->q);
	ASSERT_EQ(0, q_stat(self->q, &before));
	check_refused(_metadata, self->q, -EINVAL, q_add_bytes(self->q, key, 0, 0, 0, 0), &before);
	check_refused(_metadata, self->q, -EMSGSIZE,
		      q_add_bytes(self->q, key, sizeof(key), 0, 0, 0), &before);
	check_refused(_metadata, self->q, -EINVAL,
		      q_op_one(self->q, KWQ_IOC_REMOVE, &remove, sizeof(remove), key, 0), &before);
	check_refused(_metadata, self->q, -EINVAL,
		      q_op_one(self->q, KWQ_IOC_DONE, &done, sizeof(done), key, 0), &before);
	remove.key_len = sizeof(key);
	done.key_len = sizeof(key);
	check_refused(_metadata, self->q, -EMSGSIZE,
		      q_op_one(self->q, KWQ_IOC_REMOVE, &remove, sizeof(remove), key, sizeof(key)),
		      &before);
	check_refused(_metadata, self->q, -EMSGSIZE,
		      q_op_one(self->q, KWQ_IOC_DONE, &done, sizeof(done), key, sizeof(key)),
		      &before);
	/* A key that is too long for the room for keys, for any room. */
	for (size_t room = 0; room <= 2 * KEY_ROOM; room++) {
		remove.key_len = KWQ_KEY_MAX;
		check_refused(_metadata, self->q, -EINVAL,
			      q_op_one(self->q, KWQ_IOC_REMOVE, &remove, sizeof(remove), key, room),
			      &before);
		remove.key_len = room + 1;
		check_refused(_metadata, self->q, -EINVAL,
			      q_op_one(self->q, KWQ_IOC_REMOVE, &remove, sizeof(remove), key, room),
			      &before);
		remove.key_len = ~0U;
		check_refused(_metadata, self->q, -EMSGSIZE,
			      q_op_one(self->q, KWQ_IOC_REMOVE, &remove, sizeof(remove), key, room),
			      &before);
	}
	EXPECT_EQ(KWQ_ADDED, q_add_bytes(self->q, key, KWQ_KEY_MAX, 0, 0, 0));
	EXPECT_EQ(KWQ_ADDED, q_add_bytes(self->q, key, 1, 0, 0, 0));
}

/* Queues per user */

#define USER		30001
#define MAX_QUEUES	"/sys/module/kwq/parameters/max_queues"
#define MAX_USER_BYTES	"/sys/module/kwq/parameters/max_user_bytes"
#define FEW_QUEUES	20	/* while this is tested */

static void become(uid_t uid)
{
	REQUIRE(!setgroups(0, NULL));
	REQUIRE(!setresgid(uid, uid, uid));
	REQUIRE(!setresuid(uid, uid, uid));
}

struct quota {
	int dev;
	int max;
	const char *name;
};

static int peer_makes_too_many(struct peer *parent, void *arg)
{
	const struct quota *quota = arg;
	int *q = calloc(quota->max, sizeof(*q)), named;

	REQUIRE(q);
	become(USER);
	for (int i = 0; i < quota->max - 1; i++) {
		q[i] = new_queue(quota->dev);
		REQUIRE(q[i] >= 0);
	}
	/* The last queue has a name, and counts until it is unlinked, too. */
	named = q_create(quota->dev, quota->name, 0, O_CLOEXEC, 0700);
	REQUIRE(named >= 0);
	say(parent, new_queue(quota->dev));
	say(parent, q_create(quota->dev, "limits.too.many", 0, O_CLOEXEC, 0700));
	/* Handles do not count as queues. */
	say(parent, q_reopen(q[0]));
	say(parent, q_open(quota->dev, quota->name, O_CLOEXEC));
	/* Reaching the quota does not affect existing queues. */
	say(parent, q_add(q[0], "a"));
	REQUIRE(hear(parent) == 'n');
	close(q[1]);
	q[1] = new_queue(quota->dev);
	say(parent, q[1]);
	say(parent, new_queue(quota->dev));
	hear(parent);
	return 0;
}

static int peer_makes_one(struct peer *parent, void *arg)
{
	const struct quota *quota = arg;

	become(USER + 1);
	say(parent, new_queue(quota->dev));
	return 0;
}

FIXTURE(quota)
{
	int dev;
	char max_queues[16];	/* as it was */
	char max_user_bytes[32];
};

FIXTURE_SETUP(quota)
{
	char few[16];

	snprintf(few, sizeof(few), "%d", FEW_QUEUES);
	ASSERT_LT(0, read_text(MAX_QUEUES, self->max_queues, sizeof(self->max_queues)));
	ASSERT_EQ(0, write_text(MAX_QUEUES, few));
	ASSERT_LT(0, read_text(MAX_USER_BYTES, self->max_user_bytes,
			       sizeof(self->max_user_bytes)));
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
}

FIXTURE_TEARDOWN(quota)
{
	write_text(MAX_QUEUES, self->max_queues);
	write_text(MAX_USER_BYTES, self->max_user_bytes);
	close(self->dev);
}

#define FEW_BYTES	(128 << 10)
#define LONG_KEY	1000

static int add_long(int q, unsigned int number)
{
	char key[LONG_KEY];

	memset(key, 'k', sizeof(key));
	memcpy(key, &number, sizeof(number));
	return q_add_bytes(q, key, sizeof(key), 0, 0, 0);
}

/* Fills two queues in turns until both refuse. Returns the number of items in them. */
static int fill_two(const int q[2])
{
	bool full[2] = {};
	int nr = 0;

	for (unsigned int i = 0; !full[0] || !full[1]; i++) {
		int ret = add_long(q[i & 1], i);

		REQUIRE(ret == KWQ_ADDED || ret == -EDQUOT);
		full[i & 1] = ret == -EDQUOT;
		nr += ret == KWQ_ADDED;
	}
	return nr;
}

/* Returns INFO as the caller sees it. */
static struct kwq_info info_of(int dev)
{
	struct kwq_info info = { .size = sizeof(info) };

	REQUIRE(!request(dev, KWQ_IOC_INFO, &info));
	REQUIRE(info.size == sizeof(info) && !info.pad);
	return info;
}

static int peer_has_too_much(struct peer *parent, void *arg)
{
	const struct quota *quota = arg;
	struct kwq_stat stat[2], after;
	struct kwq_info info;
	int q[2], nr;

	become(USER);
	info = info_of(quota->dev);
	REQUIRE(!info.user_queues && !info.user_bytes);
	REQUIRE(info.max_user_bytes == FEW_BYTES && info.user_bytes_left == FEW_BYTES);
	REQUIRE(info.user_queues_left == info.max_queues);
	for (int i = 0; i < 2; i++) {
		q[i] = new_queue(quota->dev);
		REQUIRE(q[i] >= 0);
	}
	nr = fill_two(q);
	REQUIRE(!q_stat(q[0], &stat[0]) && !q_stat(q[1], &stat[1]));
	say(parent, stat[0].items + stat[1].items == (__u64)nr);
	say(parent, stat[0].bytes + stat[1].bytes <= FEW_BYTES);
	say(parent, stat[0].bytes + stat[1].bytes > FEW_BYTES / 2);
	info = info_of(quota->dev);
	REQUIRE(info.user_queues == 2 && info.user_queues_left == info.max_queues - 2);
	/* The queues' own memory counts, too. */
	REQUIRE(info.user_bytes >= stat[0].bytes + stat[1].bytes + 2 * 4096);
	REQUIRE(info.user_bytes + info.user_bytes_left == FEW_BYTES);
	REQUIRE(info.user_bytes_left < 2 * LONG_KEY + 100);
	/* A refused add changes nothing, and existing items are still usable. */
	REQUIRE(add_long(q[0], 1 << 20) == -EDQUOT && !q_stat(q[0], &after));
	say(parent, same_stat(&stat[0], &after));
	REQUIRE(q_remove(q[0], "nothing") == -ENOENT);

	/* Other users are not affected. Memory counts for the owner, not for the adder. */
	REQUIRE(hear(parent) == 'o');
	/* Closing the other queue frees its share. */
	close(q[0]);
	say(parent, add_long(q[1], 1 << 20) == KWQ_ADDED);
	return 0;
}

static int peer_adds_much(struct peer *parent, void *arg)
{
	const struct quota *quota = arg;
	int q;

	become(USER + 1);
	q = new_queue(quota->dev);
	REQUIRE(q >= 0);
	say(parent, add_long(q, 0));
	return 0;
}

/* O4: the bytes of all queues of a user together. Root is exempt. */
TEST_F(quota, bytes_of_a_user)
{
	struct quota quota = { .dev = self->dev };
	struct peer child, second;
	char few[16];
	int q;

	snprintf(few, sizeof(few), "%d", FEW_BYTES);
	EXPECT_LT(1 << 20, atoll(self->max_user_bytes));
	ASSERT_EQ(0, write_text(MAX_USER_BYTES, few));
	start_peer(&child, peer_has_too_much, &quota);
	for (int i = 0; i < 4; i++) {
		EXPECT_EQ(1, hear(&child)) {
			TH_LOG("answer %d", i);
		}
	}
	start_peer(&second, peer_adds_much, &quota);
	EXPECT_EQ(KWQ_ADDED, hear(&second));
	EXPECT_EQ(0, end_of_peer(&second));
	q = new_queue(self->dev);
	ASSERT_LE(0, q);
	for (unsigned int i = 0; i < 2 * FEW_BYTES / LONG_KEY; i++)
		ASSERT_EQ(KWQ_ADDED, add_long(q, i));
	close(q);
	say(&child, 'o');
	EXPECT_EQ(1, hear(&child));
	EXPECT_EQ(0, end_of_peer(&child));
}

static int call_add_long(struct sleeper *s)
{
	return q_add_wait_bytes(s->fd, s->arg, KWQ_KEY_MAX, 0, KWQ_NO_DEADLINE);
}

static int peer_waits_with_much(struct peer *parent, void *arg)
{
	const struct quota *quota = arg;
	enum { MOST = 128 };
	static struct sleeper waits[MOST];
	static char keys[MOST][KWQ_KEY_MAX];
	int q, nr;

	become(USER);
	/* The test looks at its own threads in /proc. */
	REQUIRE(!prctl(PR_SET_DUMPABLE, 1));
	q = new_queue_with(quota->dev, CLOCK_MONOTONIC, 1, NULL);
	REQUIRE(q >= 0 && q_add(q, "full") == KWQ_ADDED);
	/* At least 1 MiB may wait. Each of these takes some 16 KiB. */
	for (nr = 0; nr < MOST; nr++) {
		memset(keys[nr], 1 + nr, sizeof(keys[nr]));
		if (q_add_wait_bytes(q, keys[nr], KWQ_KEY_MAX, 0, 1) == -EDQUOT)
			break;
		waits[nr] = (struct sleeper){ .call = call_add_long, .fd = q, .arg = keys[nr] };
		sleeper_start(&waits[nr]);
		wait_until_asleep(waits[nr].tid, __NR_ioctl, KWQ_IOC_ADD);
	}
	REQUIRE(nr >= 1024 / 32 && nr <= 1024 / 8);
	REQUIRE(info_of(quota->dev).user_bytes >= (__u64)nr * 8192);
	/* It is no memory of items, of which there may be as many as before. */
	REQUIRE(info_of(quota->dev).user_bytes_left > FEW_BYTES / 2);
	REQUIRE(!q_shut_down(q));
	for (int i = 0; i < nr; i++)
		REQUIRE(sleeper_join(&waits[i]) == -ESHUTDOWN);
	REQUIRE(info_of(quota->dev).user_bytes < FEW_BYTES / 2);
	(void)parent;
	return 0;
}

/* O9: adds that wait have a limit of their own, so that they cannot take the room of items. */
TEST_F(quota, adds_that_wait)
{
	struct quota quota = { .dev = self->dev };
	struct peer child;
	char few[16];

	snprintf(few, sizeof(few), "%d", FEW_BYTES);
	ASSERT_EQ(0, write_text(MAX_USER_BYTES, few));
	start_peer(&child, peer_waits_with_much, &quota);
	EXPECT_EQ(0, end_of_peer(&child));
}

static void take_one(int q)
{
	static __u8 key[KWQ_KEY_MAX];
	struct kwq_got got;
	struct kwq_get_args get = GET_ARGS(&got, user_ptr(key), sizeof(key), 1,
					   .flags = KWQ_GET_NONBLOCK);

	REQUIRE(q_get_raw(q, &get) == 1);
	REQUIRE(q_done(q, got.ticket) == KWQ_FINISHED);
}

/* Adds until neither queue has room for even a short key. */
static void fill_up(const int q[2])
{
	char key[16];

	fill_two(q);
	for (int i = 0; i < 2; i++) {
		int ret, n = 0;

		do {
			snprintf(key, sizeof(key), "%d", n++);
			ret = q_add(q[i], key);
		} while (ret == KWQ_ADDED);
		REQUIRE(ret == -EDQUOT);
	}
}

/* Events that make room for a queue whose poller sleeps. */
enum room {
	ROOM_OF_ITEMS,		/* another queue's items are done */
	ROOM_OF_A_QUEUE,	/* another queue is closed */
	ROOM_OF_A_LIMIT,	/* root raises the limit */
};

struct room_wanted {
	int dev;
	enum room by;
	bool adds;	/* an add waits, not a poll */
};

static int peer_waits_for_room(struct peer *parent, void *arg)
{
	const struct room_wanted *wanted = arg;
	struct sleeper waiter;
	int q[2];

	become(USER);
	/* Lets the process read the state of its own threads in /proc. */
	REQUIRE(!prctl(PR_SET_DUMPABLE, 1));
	for (int i = 0; i < 2; i++) {
		q[i] = new_queue(wanted->dev);
		REQUIRE(q[i] >= 0);
	}
	fill_up(q);
	if (wanted->adds)
		start_add(&waiter, q[1], "new");
	else
		start_poll(&waiter, q[1], POLLOUT);
	say(parent, 'p');
	if (wanted->by == ROOM_OF_ITEMS)
		while (q_len(q[0]))
			take_one(q[0]);
	else if (wanted->by == ROOM_OF_A_QUEUE)
		close(q[0]);
	say(parent, sleeper_join(&waiter));
	say(parent, q_add(q[1], "new"));
	return 0;
}

static void check_told_of_room_as(struct __test_metadata *_metadata, int dev, enum room by,
				  bool adds)
{
	struct room_wanted wanted = { .dev = dev, .by = by, .adds = adds };
	struct peer child;
	char few[16];

	snprintf(few, sizeof(few), "%d", FEW_BYTES);
	ASSERT_EQ(0, write_text(MAX_USER_BYTES, few));
	start_peer(&child, peer_waits_for_room, &wanted);
	ASSERT_EQ('p', hear(&child));
	snprintf(few, sizeof(few), "%d", 2 * FEW_BYTES);
	if (by == ROOM_OF_A_LIMIT)
		ASSERT_EQ(0, write_text(MAX_USER_BYTES, few));
	EXPECT_EQ(adds ? KWQ_ADDED : POLLOUT, hear(&child));
	EXPECT_EQ(adds ? KWQ_COALESCED : KWQ_ADDED, hear(&child));
	EXPECT_EQ(0, end_of_peer(&child));
}

/* A poller and an add that wait. */
static void check_told_of_room(struct __test_metadata *_metadata, int dev, enum room by)
{
	check_told_of_room_as(_metadata, dev, by, false);
	check_told_of_room_as(_metadata, dev, by, true);
}

/* Q19, O4: memory that one queue gives back wakes who waits in its user's other queues. */
TEST_F(quota, room_of_another_queues_items)
{
	check_told_of_room(_metadata, self->dev, ROOM_OF_ITEMS);
}

/* Q19, O4 */
TEST_F(quota, room_of_another_queues_end)
{
	check_told_of_room(_metadata, self->dev, ROOM_OF_A_QUEUE);
}

/* Q19, O4: a limit that is raised makes room. */
TEST_F(quota, room_of_a_raised_limit)
{
	check_told_of_room(_metadata, self->dev, ROOM_OF_A_LIMIT);
}

/* O4: a limit that is lowered takes nothing away, and grants nothing more. */
TEST_F(quota, lowered_limit)
{
	struct kwq_info info;
	char said[32];

	ASSERT_EQ(0, write_text(MAX_USER_BYTES, "1"));
	info = info_of(self->dev);
	EXPECT_EQ(1, info.max_user_bytes);
	EXPECT_EQ(-EINVAL, write_text(MAX_USER_BYTES, "many"));
	EXPECT_EQ(-EINVAL, write_text(MAX_USER_BYTES, "-1"));
	EXPECT_EQ(-ERANGE, write_text(MAX_QUEUES, "4294967296"));
	EXPECT_EQ(1, info_of(self->dev).max_user_bytes);
	/* 0 chooses a part of the memory. */
	EXPECT_EQ(0, write_text(MAX_USER_BYTES, "0"));
	ASSERT_LT(0, read_text(MAX_USER_BYTES, said, sizeof(said)));
	EXPECT_LT(1 << 20, atoll(said));
	EXPECT_EQ((__u64)atoll(said), info_of(self->dev).max_user_bytes);
}

/* A user namespace with a range of uids, and a process in it. */
struct subordinate {
	int dev;
	pid_t owner;	/* a process in the namespace */
	uid_t uid;	/* as the namespace calls it */
};

static int peer_owns_a_namespace(struct peer *parent, void *arg)
{
	(void)arg;
	become(USER);
	/* Lets root write the maps of a process that changed its uid. */
	REQUIRE(!prctl(PR_SET_DUMPABLE, 1));
	REQUIRE(!unshare(CLONE_NEWUSER));
	say(parent, getpid());
	hear(parent);
	return 0;
}

static int peer_is_subordinate(struct peer *parent, void *arg)
{
	const struct subordinate *who = arg;
	struct kwq_stat stat;
	char path[64];
	int q, ns, ret;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", who->owner);
	ns = open(path, O_RDONLY | O_CLOEXEC);
	REQUIRE(ns >= 0 && !setns(ns, CLONE_NEWUSER));
	become(who->uid);
	q = new_queue(who->dev);
	if (q < 0) {
		say(parent, q);
		return 0;
	}
	for (unsigned int i = 0; (ret = add_long(q, i)) == KWQ_ADDED; i++)
		continue;
	REQUIRE(ret == -EDQUOT && !q_stat(q, &stat));
	REQUIRE(info_of(who->dev).user_bytes_left < 2 * LONG_KEY + 100);
	REQUIRE(info_of(who->dev).user_queues == 1);
	say(parent, stat.bytes);
	hear(parent);
	return 0;
}

/* O9: a user with a range of subordinate uids gets no more than one user's quota. */
TEST_F(quota, bytes_of_subordinate_uids)
{
	struct subordinate who[2] = { { .dev = self->dev, .uid = 1 },
				      { .dev = self->dev, .uid = 2 } };
	struct quota quota = { .dev = self->dev };
	struct peer owner, peer[2], other;
	char path[64], few[16];
	int bytes[2];
	pid_t pid;

	snprintf(few, sizeof(few), "%d", FEW_BYTES);
	ASSERT_EQ(0, write_text(MAX_USER_BYTES, few));
	start_peer(&owner, peer_owns_a_namespace, NULL);
	pid = hear(&owner);
	ASSERT_LT(0, pid);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	ASSERT_EQ(0, write_text(path, "0 300000 10"));
	snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	ASSERT_EQ(0, write_text(path, "0 300000 10"));
	for (int i = 0; i < 2; i++) {
		who[i].owner = pid;
		start_peer(&peer[i], peer_is_subordinate, &who[i]);
		bytes[i] = hear(&peer[i]);
	}
	EXPECT_LT(FEW_BYTES / 2, bytes[0]);
	EXPECT_GE(FEW_BYTES, bytes[0] + (bytes[1] > 0 ? bytes[1] : 0));
	EXPECT_GT(4 * LONG_KEY, bytes[1]);
	/* Other users are not affected. */
	start_peer(&other, peer_adds_much, &quota);
	EXPECT_EQ(KWQ_ADDED, hear(&other));
	EXPECT_EQ(0, end_of_peer(&other));
	for (int i = 0; i < 2; i++) {
		if (bytes[i] >= 0)
			say(&peer[i], 0);
		EXPECT_EQ(0, end_of_peer(&peer[i]));
	}
	say(&owner, 0);
	EXPECT_EQ(0, end_of_peer(&owner));
}

/* O4 */
TEST_F(quota, queues_of_a_user)
{
	struct peer child, second;
	struct quota quota = { .dev = self->dev, .max = FEW_QUEUES };
	struct kwq_info info = { .size = sizeof(info) };
	char name[32];
	int q[FEW_QUEUES + 1];

	ASSERT_EQ(0, request(self->dev, KWQ_IOC_INFO, &info));
	EXPECT_EQ(FEW_QUEUES, info.max_queues);
	snprintf(name, sizeof(name), "limits.%d", getpid());
	quota.name = name;
	start_peer(&child, peer_makes_too_many, &quota);
	EXPECT_EQ(-EDQUOT, hear(&child));
	EXPECT_EQ(-EDQUOT, hear(&child));
	EXPECT_LE(0, hear(&child));
	EXPECT_LE(0, hear(&child));
	EXPECT_EQ(KWQ_ADDED, hear(&child));
	EXPECT_EQ(-ENOENT, q_open(self->dev, "limits.too.many", 0));

	/* Another user has a separate quota. */
	start_peer(&second, peer_makes_one, &quota);
	EXPECT_LE(0, hear(&second));
	EXPECT_EQ(0, end_of_peer(&second));

	/* A closed queue does not count; one that still has a name does. */
	say(&child, 'n');
	EXPECT_LE(0, hear(&child));
	EXPECT_EQ(-EDQUOT, hear(&child));
	EXPECT_EQ(-SIGKILL, kill_peer(&child));
	EXPECT_EQ(0, q_unlink(self->dev, name));
	start_peer(&child, peer_makes_too_many, &quota);
	EXPECT_EQ(-EDQUOT, hear(&child));
	EXPECT_EQ(-SIGKILL, kill_peer(&child));
	EXPECT_EQ(0, q_unlink(self->dev, name));

	/* Root may exceed the quota. */
	for (int i = 0; i <= quota.max; i++) {
		q[i] = new_queue(self->dev);
		ASSERT_LE(0, q[i]);
	}
	for (int i = 0; i <= quota.max; i++)
		close(q[i]);
}

#define FILE_MAX	"/proc/sys/fs/file-max"

/* As next_fd(), without opening a file. */
static int next_dup(int of)
{
	int fd = dup(of);

	REQUIRE(fd >= 0 && !close(fd));
	return fd;
}

static int peer_without_files(struct peer *parent, void *arg)
{
	const struct quota *quota = arg;
	int fd;

	become(USER);
	fd = next_dup(quota->dev);
	say(parent, new_queue(quota->dev));
	say(parent, q_create(quota->dev, quota->name, 0, O_CLOEXEC, 0700));
	say(parent, next_dup(quota->dev) - fd);
	hear(parent);
	return 0;
}

/* O4, O6: the system's limit of open files is reached, so no queue is created. */
TEST_F(limits, no_file)
{
	struct quota quota = { .dev = self->dev };
	char before[32], name[32];
	struct peer child;
	int made, named, taken;

	snprintf(name, sizeof(name), "limits.%d", getpid());
	quota.name = name;
	ASSERT_LT(0, read_text(FILE_MAX, before, sizeof(before)));
	ASSERT_EQ(0, write_text(FILE_MAX, "0"));
	start_peer(&child, peer_without_files, &quota);
	made = hear(&child);
	named = hear(&child);
	taken = hear(&child);
	EXPECT_EQ(0, write_text(FILE_MAX, before));
	EXPECT_EQ(0, taken);
	EXPECT_EQ(-ENFILE, made);
	EXPECT_EQ(-ENFILE, named);
	EXPECT_EQ(-SIGKILL, kill_peer(&child));
	EXPECT_EQ(-ENOENT, q_unlink(self->dev, name));
}

/* Memory is charged to the caller's cgroup */

#define CGROUPS	"/sys/fs/cgroup"

FIXTURE(cgroup)
{
	_Atomic int *added;	/* shared with the child */
	_Atomic int *refused;	/* likewise: what came of it; 0 for nothing yet */
	char dir[64];
	int dev;
	int q;
};

typedef FIXTURE_DATA(cgroup) cgroup_fixture;

static void cgroup_path(cgroup_fixture *self, char *path, const char *file)
{
	snprintf(path, 128, "%s/%s", self->dir, file);
}

FIXTURE_SETUP(cgroup)
{
	char path[128];

	write_text(CGROUPS "/cgroup.subtree_control", "+memory");
	snprintf(self->dir, sizeof(self->dir), CGROUPS "/kwq.%d", getpid());
	if (mkdir(self->dir, 0755))
		SKIP(return, "there is no cgroup2 at " CGROUPS);
	cgroup_path(self, path, "memory.current");
	if (access(path, F_OK)) {
		rmdir(self->dir);
		SKIP(return, "there is no memory controller");
	}
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = new_queue(self->dev);
	ASSERT_LE(0, self->q);
	self->added = shared(2 * sizeof(*self->added));
	self->refused = self->added + 1;
}

FIXTURE_TEARDOWN(cgroup)
{
	close(self->q);
	close(self->dev);
	rmdir(self->dir);
}

static void join_cgroup(cgroup_fixture *self)
{
	char path[128], pid[16];

	cgroup_path(self, path, "cgroup.procs");
	snprintf(pid, sizeof(pid), "%d", getpid());
	REQUIRE(!write_text(path, pid));
}

/* Adds up to @nr keys of 4096 bytes, until one is refused. */
static int add_large(cgroup_fixture *self, int nr)
{
	static __u8 key[KWQ_KEY_MAX];
	int ret = 0;

	for (int i = 0; i < nr; i++) {
		memcpy(key, &i, sizeof(i));
		ret = q_add_bytes(self->q, key, sizeof(key), 0, 0, 0);
		if (ret < 0)
			break;
		atomic_store(self->added, i + 1);
	}
	return ret;
}

/* Gets and finishes all keys in their order. Returns their number. */
static int take_large(cgroup_fixture *self)
{
	static __u8 key[KWQ_KEY_MAX], seen[KWQ_KEY_MAX];
	struct kwq_got got;
	struct kwq_get_args get = GET_ARGS(&got, user_ptr(seen), sizeof(seen), 1,
					   .flags = KWQ_GET_NONBLOCK);
	int n;

	for (n = 0; q_get_raw(self->q, &get) == 1; n++) {
		memcpy(key, &n, sizeof(n));
		REQUIRE(got.key_len == sizeof(key) && !memcmp(key, seen, sizeof(key)));
		REQUIRE(q_done(self->q, got.ticket) == KWQ_FINISHED);
	}
	return n;
}

/* The bytes that count in the caller's quota. */
static long long counted(cgroup_fixture *self)
{
	return info_of(self->dev).user_bytes;
}

/*
 * Whether a debug kernel pads each object; padding is charged but does not count in the
 * quota.
 */
static bool objects_are_padded(void)
{
	const char *path = "/sys/kernel/slab/kmalloc-cg-8k/slab_size";

	return !access(path, F_OK) && read_number(path) != 8192;
}

/* Counted and charged bytes differ only by what each processor charges in advance. */
#define CHARGED_AHEAD	(2 << 20)

#define LARGE	1000
#define FEW	100	/* fit into a quarter of what a few hundred fill */

static int peer_adds_in_cgroup(struct peer *parent, void *arg)
{
	cgroup_fixture *self = arg;

	join_cgroup(self);
	say(parent, 0);
	hear(parent);
	say(parent, add_large(self, LARGE));
	hear(parent);
	return 0;
}

/* O4: items are charged. */
TEST_F(cgroup, charged)
{
	long long before, after;
	struct kwq_stat stat;
	struct peer child;
	char path[128];

	cgroup_path(self, path, "memory.current");
	start_peer(&child, peer_adds_in_cgroup, self);
	ASSERT_EQ(0, hear(&child));
	before = read_number(path);
	say(&child, 0);
	ASSERT_EQ(KWQ_ADDED, hear(&child));
	after = read_number(path);
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(LARGE, stat.items);
	EXPECT_LE(LARGE * KWQ_KEY_MAX, stat.bytes);
	EXPECT_LE(LARGE * KWQ_KEY_MAX, after - before) {
		TH_LOG("memory.current was %lld, is %lld", before, after);
	}
	/* O9 */
	if (!objects_are_padded()) {
		EXPECT_GT(CHARGED_AHEAD, llabs(after - before - (long long)stat.bytes)) {
			TH_LOG("memory.current %lld more, %llu counted", after - before,
			       (unsigned long long)stat.bytes);
		}
	}
	say(&child, 0);
	EXPECT_EQ(0, end_of_peer(&child));
}

#define QUEUES	200

/* Opens descriptors on request: of the existing queue, or each of a new queue. */
static int peer_opens_in_cgroup(struct peer *parent, void *arg)
{
	cgroup_fixture *self = arg;
	int q;

	join_cgroup(self);
	say(parent, 0);
	for (int what; (what = hear(parent)) != GONE;) {
		for (int i = 0; i < QUEUES; i++) {
			q = what ? new_queue(self->dev) : q_reopen(self->q);
			if (q < 0) {
				say(parent, q);
				return 1;
			}
		}
		say(parent, 0);
	}
	return 0;
}

/* O4: a queue is charged in addition to its descriptor. */
TEST_F(cgroup, queues_are_charged)
{
	long long first, with_handles, with_queues;
	struct peer child;
	char path[128];

	cgroup_path(self, path, "memory.current");
	start_peer(&child, peer_opens_in_cgroup, self);
	ASSERT_EQ(0, hear(&child));
	first = read_number(path);
	say(&child, 0);
	ASSERT_EQ(0, hear(&child));
	with_handles = read_number(path);
	say(&child, 1);
	ASSERT_EQ(0, hear(&child));
	with_queues = read_number(path);
	/* A queue takes more than 4 kB, and its tables alone take 2 kB. */
	EXPECT_LE(QUEUES * 6144, with_queues - with_handles - (with_handles - first)) {
		TH_LOG("memory.current was %lld, %lld with the descriptors, is %lld", first,
		       with_handles, with_queues);
	}
	EXPECT_EQ(-SIGKILL, kill_peer(&child));
}

#define MANY	150000	/* so that a table takes more than what a processor charges ahead */

/* Adds MANY short keys in as few calls as possible, or gets them. */
struct crowd {
	struct kwq_add_entry add[KWQ_BATCH_MAX];
	struct kwq_got got[KWQ_BATCH_MAX];
	__s32 results[KWQ_BATCH_MAX];
	__u32 keys[KWQ_BATCH_MAX];
};

static int add_crowd(int q, struct crowd *crowd)
{
	struct kwq_batch_args op = {
		.size = sizeof(op),
		.batch = {
			.entries = user_ptr(crowd->add),
			.keys = user_ptr(crowd->keys),
			.results = user_ptr(crowd->results),
			.entry_size = sizeof(crowd->add[0]),
		},
	};
	int n = 0, ret;

	while (n < MANY) {
		op.batch.nr = MANY - n < KWQ_BATCH_MAX ? MANY - n : KWQ_BATCH_MAX;
		op.batch.keys_len = op.batch.nr * sizeof(crowd->keys[0]);
		for (unsigned int i = 0; i < op.batch.nr; i++)
			crowd->keys[i] = n + i;
		ret = request(q, KWQ_IOC_ADD, &op);
		if (ret <= 0)
			break;
		n += ret;
	}
	return n;
}

static int get_crowd(int q, struct crowd *crowd)
{
	struct kwq_get_args get = GET_ARGS(crowd->got, user_ptr(crowd->keys), sizeof(crowd->keys),
					   KWQ_BATCH_MAX, .flags = KWQ_GET_NONBLOCK);
	int n = 0, ret;

	while ((ret = q_get_raw(q, &get)) > 0)
		n += ret;
	return n;
}

/* The peer allocates everything it needs before it joins the cgroup. */
static int peer_crowds_in_cgroup(struct peer *parent, void *arg)
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));
	cgroup_fixture *self = arg;

	REQUIRE(crowd);
	for (int i = 0; i < KWQ_BATCH_MAX; i++)
		crowd->add[i].key_len = sizeof(crowd->keys[0]);
	poison(crowd->got, sizeof(crowd->got));
	poison(crowd->results, sizeof(crowd->results));
	poison(crowd->keys, sizeof(crowd->keys));
	join_cgroup(self);
	say(parent, 0);
	hear(parent);
	say(parent, add_crowd(self->q, crowd));
	hear(parent);
	say(parent, get_crowd(self->q, crowd));
	hear(parent);
	close(self->q);
	say(parent, 0);
	hear(parent);
	return 0;
}

/*
 * O4, O6: many small items and the table that finds them are charged, and freed with
 * the queue.
 */
TEST_F(cgroup, small_items_are_charged_and_go)
{
	long long empty, added, held, closed, few, many;
	__u64 bytes = info_of(self->dev).user_bytes;
	struct peer child;
	char path[128];

	cgroup_path(self, path, "memory.current");
	start_peer(&child, peer_crowds_in_cgroup, self);
	ASSERT_EQ(0, hear(&child));
	empty = read_number(path);
	few = counted(self);
	say(&child, 0);
	ASSERT_EQ(MANY, hear(&child));
	added = read_number(path);
	many = counted(self);
	/* O9: this includes the tables. */
	if (!objects_are_padded()) {
		EXPECT_GT(CHARGED_AHEAD, llabs(added - empty - (many - few))) {
			TH_LOG("memory.current %lld more, %lld counted", added - empty, many - few);
		}
	}
	say(&child, 0);
	ASSERT_EQ(MANY, hear(&child));
	held = read_number(path);
	close(self->q);
	self->q = -1;
	say(&child, 0);
	ASSERT_EQ(0, hear(&child));
	/* O8: a kernel worker frees the queue, whose bytes then no longer count. */
	while (info_of(self->dev).user_bytes >= bytes)
		sched_yield();
	closed = read_number(path);
	/* A hand-out takes no memory. */
	EXPECT_GT(MANY * 4, held - added);
	EXPECT_LE(MANY * 128, added - empty);
	EXPECT_GT(MANY * 4, closed - empty) {
		TH_LOG("memory.current was %lld, %lld with items, %lld with tickets, is %lld",
		       empty, added, held, closed);
	}
	say(&child, 0);
	EXPECT_EQ(0, end_of_peer(&child));
}

/* O4, O6: at the cgroup's limit the adder is refused or killed; items added before stay. */
TEST_F(cgroup, at_its_limit)
{
	struct kwq_stat stat;
	struct peer child;
	char path[128];
	int ret, end, n;

	cgroup_path(self, path, "memory.swap.max");
	write_text(path, "0");
	cgroup_path(self, path, "memory.max");
	ASSERT_EQ(0, write_text(path, "4M"));
	start_peer(&child, peer_adds_in_cgroup, self);
	ASSERT_EQ(0, hear(&child));
	say(&child, 0);
	ret = hear(&child);
	if (ret != GONE) {
		EXPECT_EQ(-ENOMEM, ret);
		say(&child, 0);
	}
	end = end_of_peer(&child);
	EXPECT_EQ(ret == GONE ? -SIGKILL : 0, end);

	/* An adder that was killed may have added one item more than it reported. */
	n = atomic_load(self->added);
	EXPECT_LT(100, n);
	EXPECT_GT(LARGE, n);
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_LE(n, stat.items);
	EXPECT_LE(stat.items, n + (ret == GONE));
	EXPECT_EQ(stat.items, take_large(self));
	check_stat(self->q, .items = 0);
}

/*
 * The peer cannot be OOM-killed, so it is refused. It allocates everything before it
 * joins, and reports in shared memory, because even a pipe may need a page.
 */
static int peer_is_refused(struct peer *parent, void *arg)
{
	cgroup_fixture *self = arg;

	REQUIRE(!write_text("/proc/self/oom_score_adj", "-1000"));
	REQUIRE(!mlockall(MCL_CURRENT));
	join_cgroup(self);
	atomic_store(self->refused, add_large(self, LARGE) ?: INT_MAX);
	hear(parent);
	/* There is room again. */
	return add_large(self, FEW) == KWQ_ADDED ? 0 : 1;
}

/*
 * O4: a lack of memory changes nothing and affects nobody else. Removed items are no
 * longer charged.
 */
TEST_F(cgroup, refused_at_its_limit)
{
	struct kwq_stat before, stat;
	long long full;
	struct peer child;
	char path[128];
	int n;

	cgroup_path(self, path, "memory.swap.max");
	write_text(path, "0");
	cgroup_path(self, path, "memory.max");
	ASSERT_EQ(0, write_text(path, "4M"));
	start_peer(&child, peer_is_refused, self);
	while (!atomic_load(self->refused))
		sched_yield();
	EXPECT_EQ(-ENOMEM, atomic_load(self->refused));
	n = atomic_load(self->added);
	/* With a debug kernel's red zones an item takes 16 kB. */
	EXPECT_LT(2 * FEW, n);
	EXPECT_GT(LARGE, n);
	ASSERT_EQ(0, q_stat(self->q, &before));
	EXPECT_EQ(n, before.items);
	EXPECT_EQ(n, before.adds);
	EXPECT_EQ(n, before.ready);

	/* This process is outside the cgroup. */
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_WAS_READY, q_remove(self->q, "a"));
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(before.bytes, stat.bytes);

	cgroup_path(self, path, "memory.current");
	full = read_number(path);
	EXPECT_LT(n * KWQ_KEY_MAX, full);
	EXPECT_EQ(n, take_large(self));
	check_stat(self->q, .items = 0);
	/* Memory is charged by the page, and each processor keeps some in advance. */
	while (read_number(path) > full / 2)
		sched_yield();

	say(&child, 0);
	EXPECT_EQ(0, end_of_peer(&child));
	EXPECT_EQ(FEW, take_large(self));
}

TEST_HARNESS_MAIN

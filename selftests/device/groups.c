// SPDX-License-Identifier: GPL-2.0-only
/*
 * Q16: groups of keys take turns, and a limited number of keys of each is processed at once. Q17:
 * ready keys age. Across handles, processes and their ends.
 */
#include "kwq_test.h"

#define ROOM	(KWQ_KEY_MAX + KWQ_GROUP_MAX + KWQ_VALUE_MAX)

static int create_with(int dev, __u32 flags, __u32 group_limit, __u64 aging)
{
	return new_queue_as(dev, .flags = flags, .clockid = KWQ_CLOCK_ID_MANUAL,
			    .group_limit = group_limit, .aging = aging);
}

FIXTURE(groups)
{
	int dev;
	int q;		/* at most one of each group */
	char *room;
};

FIXTURE_SETUP(groups)
{
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = create_with(self->dev, KWQ_CREATE_GROUPS, 1, 0);
	ASSERT_LE(0, self->q);
	self->room = malloc(ROOM);
	ASSERT_NE(NULL, self->room);
}

FIXTURE_TEARDOWN(groups)
{
	free(self->room);
	close(self->q);
	close(self->dev);
}

static int add_entry(int q, const struct kwq_add_entry *entry, const char *key,
		     const struct kwq_add_extra *extra)
{
	__s32 result = -EIO;
	const struct kwq_batch_args args = BATCH_ARGS(entry, key, strlen(key), &result, extra);
	int ret = request(q, KWQ_IOC_ADD, (void *)&args);

	return ret == 1 ? result : ret;
}

static int add_with(int q, const char *key, const char *group, struct kwq_add_entry entry)
{
	const struct kwq_add_extra extra = {
		.group = *group ? user_ptr(group) : 0,
		.group_len = strlen(group),
	};

	entry.key_len = strlen(key);
	entry.flags |= KWQ_ADD_GROUP;
	return add_entry(q, &entry, key, &extra);
}

static int add(int q, const char *key, const char *group)
{
	return add_with(q, key, group, (struct kwq_add_entry){});
}

/* Gets one item with its group and value. */
static int get_into(int q, struct kwq_got *got, struct kwq_got_extra *extra, void *room,
		    size_t size)
{
	struct kwq_get_args args = GET_ARGS(got, size ? user_ptr(room) : 0, size, 1,
					    .flags = KWQ_GET_NONBLOCK, GET_EXTRAS(extra));

	return request(q, KWQ_IOC_GET, &args);
}

/* Gets an item, and compares its key and group. Returns the ticket. */
#define EXPECT_GOT(q, key, group) ({							\
	struct kwq_got_extra extra_ = { .value_len = 77, .group_len = 77 };		\
	const char *key_ = (key), *group_ = (group);					\
	struct kwq_got got_ = {};							\
											\
	EXPECT_EQ(1, get_into(q, &got_, &extra_, self->room, ROOM));			\
	EXPECT_EQ(strlen(key_), got_.key_len);						\
	EXPECT_EQ(0, memcmp(key_, self->room, strlen(key_)));				\
	EXPECT_EQ(strlen(group_), extra_.group_len);					\
	EXPECT_EQ(0, memcmp(group_, self->room + strlen(key_), strlen(group_)));	\
	EXPECT_EQ(0, extra_.value_len);							\
	got_.ticket;									\
})

#define EXPECT_NOTHING(q) ({								\
	struct kwq_got_extra extra_;							\
	struct kwq_got got_;								\
											\
	EXPECT_EQ(-EAGAIN, get_into(q, &got_, &extra_, self->room, ROOM));		\
})

#define EXPECT_STAT(q, of_groups, of_blocked, of_ready) ({				\
	struct kwq_stat stat_ = {};							\
											\
	EXPECT_EQ(0, q_stat(q, &stat_));						\
	EXPECT_EQ(of_groups, stat_.groups);						\
	EXPECT_EQ(of_blocked, stat_.blocked);						\
	EXPECT_EQ(of_ready, stat_.ready);						\
})

static bool is_readable(int q)
{
	struct pollfd entry = { .fd = q, .events = POLLIN };

	return poll(&entry, 1, 0) == 1 && entry.revents & POLLIN;
}

/* Q13: one call with a done and a get, as a worker makes it. */
TEST_F(groups, done_and_get)
{
	struct kwq_done_entry done = {};
	struct kwq_got got = {};
	__s32 result = 99;
	char key[8];
	struct kwq_get_args args = GET_ARGS(&got, user_ptr(key), sizeof(key), 1,
					    .flags = KWQ_GET_NONBLOCK, GET_DONE(&done, &result));

	add(self->q, "a1", "a");
	add(self->q, "a2", "a");
	EXPECT_TRUE(is_readable(self->q));
	done.ticket = EXPECT_GOT(self->q, "a1", "a");
	/* Q16: poll tells nobody of a2, though it counts as ready (Q7). */
	EXPECT_FALSE(is_readable(self->q));
	EXPECT_STAT(self->q, 1, 1, 1);
	EXPECT_EQ(1, request(self->q, KWQ_IOC_GET, &args));
	EXPECT_EQ(KWQ_FINISHED, result);
	EXPECT_EQ(0, memcmp(key, "a2", 2));
	done.ticket = got.ticket;
	args.nr_done = 0;
	EXPECT_EQ(-EAGAIN, request(self->q, KWQ_IOC_GET, &args));
	EXPECT_EQ(KWQ_FINISHED, result);
	EXPECT_STAT(self->q, 0, 0, 0);
}

TEST_F(groups, killed_worker_frees_its_place)
{
	int ready[2], status;
	pid_t child;
	char byte;

	ASSERT_EQ(0, pipe(ready));
	add(self->q, "a1", "a");
	add(self->q, "a2", "a");
	child = fork();
	if (!child) {
		struct kwq_got_extra extra;
		struct kwq_got got;
		int own = q_reopen(self->q);

		if (get_into(own, &got, &extra, self->room, ROOM) == 1)
			write(ready[1], "x", 1);
		pause();
		_exit(1);
	}
	ASSERT_LT(0, child);
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	EXPECT_NOTHING(self->q);
	kill(child, SIGKILL);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	/* It is the same one, because it lost its holder (O1). */
	EXPECT_GOT(self->q, "a1", "a");
	EXPECT_NOTHING(self->q);
	close(ready[0]);
	close(ready[1]);
}

/* A worker: gets, notes how many of its group are being processed, and finishes. */
#define NR_WORKERS	6
#define NR_GROUPS	3
#define NR_KEYS		60
#define LIMIT		2

struct shared_counts {
	_Atomic __u64 inside[NR_GROUPS];
	_Atomic __u64 most[NR_GROUPS];
	_Atomic __u64 runs;
};

static void work(int q, struct shared_counts *counts)
{
	struct kwq_got_extra extra;
	struct kwq_got got;
	char room[64];
	struct kwq_get_args args = GET_ARGS(&got, user_ptr(room), sizeof(room), 1,
					    .deadline = KWQ_NO_DEADLINE, GET_EXTRAS(&extra));
	int own = q_reopen(q), group;

	while (request(own, KWQ_IOC_GET, &args) == 1) {
		group = room[got.key_len] - 'a';
		raise_to(&counts->most[group], ++counts->inside[group]);
		usleep(500);
		counts->inside[group]--;
		counts->runs++;
		if (q_done(own, got.ticket) < 0)
			_exit(1);
		memset(&args.resume, 0, sizeof(args.resume));
	}
	_exit(errno == ESHUTDOWN ? 0 : 2);
}

/* Q5 Q9: nobody sleeps while an item can be handed out, and the drain waits for all. */
TEST_F(groups, workers_share_them)
{
	struct shared_counts *counts = shared(sizeof(*counts));
	int q = create_with(self->dev, KWQ_CREATE_GROUPS, LIMIT, 0);
	pid_t workers[NR_WORKERS];
	char key[8], group[2] = "a";
	int status;

	ASSERT_LE(0, q);
	for (int i = 0; i < NR_WORKERS; i++) {
		workers[i] = fork();
		if (!workers[i])
			work(q, counts);
		ASSERT_LT(0, workers[i]);
	}
	for (int i = 0; i < NR_KEYS; i++) {
		sprintf(key, "%d", i);
		group[0] = 'a' + i % NR_GROUPS;
		EXPECT_EQ(KWQ_ADDED, add(q, key, group));
	}
	EXPECT_EQ(0, q_drain(q, KWQ_NO_DEADLINE));
	EXPECT_EQ(NR_KEYS, counts->runs);
	for (int i = 0; i < NR_WORKERS; i++) {
		EXPECT_EQ(workers[i], waitpid(workers[i], &status, 0));
		EXPECT_EQ(0, status);
	}
	for (int i = 0; i < NR_GROUPS; i++)
		EXPECT_LE(counts->most[i], LIMIT);
	EXPECT_STAT(q, 0, 0, 0);
	close(q);
}

/* A group may have any bytes, and comes with a value. */
TEST_F(groups, beside_values)
{
	const struct kwq_add_entry entry = {
		.key_len = 1,
		.flags = KWQ_ADD_GROUP | KWQ_ADD_VALUE,
	};
	int q = create_with(self->dev, KWQ_CREATE_GROUPS | KWQ_CREATE_VALUES, 1, 0);
	struct kwq_got_extra got_extra;
	struct kwq_add_extra extra = {};
	char group[KWQ_GROUP_MAX];
	struct kwq_got got;

	ASSERT_LE(0, q);
	for (int i = 0; i < KWQ_GROUP_MAX; i++)
		group[i] = i;
	extra.group = user_ptr(group);
	extra.group_len = KWQ_GROUP_MAX;
	extra.value = user_ptr("value");
	extra.value_len = 5;
	EXPECT_EQ(KWQ_ADDED, add_entry(q, &entry, "a", &extra));
	EXPECT_EQ(-EMSGSIZE, get_into(q, &got, &got_extra, self->room, KWQ_GROUP_MAX + 5));
	EXPECT_EQ(1, get_into(q, &got, &got_extra, self->room, KWQ_GROUP_MAX + 6));
	EXPECT_EQ(KWQ_GROUP_MAX, got_extra.group_len);
	EXPECT_EQ(5, got_extra.value_len);
	EXPECT_EQ('a', self->room[0]);
	EXPECT_EQ(0, memcmp(self->room + 1, group, KWQ_GROUP_MAX));
	EXPECT_EQ(0, memcmp(self->room + 1 + KWQ_GROUP_MAX, "value", 5));
	/* Others groups differ in one byte. */
	group[KWQ_GROUP_MAX - 1]++;
	EXPECT_EQ(KWQ_ADDED, add_entry(q, &entry, "b", &extra));
	EXPECT_STAT(q, 2, 0, 1);
	close(q);
}

/* U3 */
TEST_F(groups, form_of_an_extra)
{
	const struct kwq_add_entry plain = { .key_len = 1 };
	const struct kwq_add_entry with = { .key_len = 1, .flags = KWQ_ADD_GROUP };
	struct kwq_add_extra extra = { .group = user_ptr("g"), .group_len = 1 };
	int q = create_with(self->dev, 0, 0, 0);

	ASSERT_LE(0, q);
	/* A flag without an extra, and an extra without its flag. */
	EXPECT_EQ(-EINVAL, q_op_one(self->q, KWQ_IOC_ADD, &with, sizeof(with), "a", 1));
	EXPECT_EQ(-EINVAL, add_entry(self->q, &plain, "a", &extra));
	extra.group = 0;
	EXPECT_EQ(-EINVAL, add_entry(self->q, &plain, "a", &extra));
	/* An address without bytes, bytes without an address, and too many bytes. */
	EXPECT_EQ(-EFAULT, add_entry(self->q, &with, "a", &extra));
	extra.group = user_ptr("g");
	extra.group_len = 0;
	EXPECT_EQ(-EINVAL, add_entry(self->q, &with, "a", &extra));
	extra.group_len = KWQ_GROUP_MAX + 1;
	EXPECT_EQ(-EMSGSIZE, add_entry(self->q, &with, "a", &extra));
	extra.group_len = ~0U;
	EXPECT_EQ(-EMSGSIZE, add_entry(self->q, &with, "a", &extra));
	EXPECT_EQ(0, q_len(self->q));
	/* A queue without groups. */
	extra.group_len = 1;
	EXPECT_EQ(-EOPNOTSUPP, add_entry(q, &with, "a", &extra));
	EXPECT_EQ(0, q_len(q));
	close(q);
}

TEST_F(groups, arguments_of_create)
{
	struct kwq_create_args create = {
		.size = sizeof(create),
		.open_flags = O_CLOEXEC,
		.clockid = KWQ_CLOCK_ID_MANUAL,
		.rights = ALL_RIGHTS,
		.group_limit = 1,
	};
	struct kwq_stat stat;
	int q;

	EXPECT_EQ(-EINVAL, request(self->dev, KWQ_IOC_CREATE, &create));
	create.flags = KWQ_CREATE_GROUPS;
	create.outbox = 1;
	EXPECT_EQ(-EINVAL, request(self->dev, KWQ_IOC_CREATE, &create));
	create.outbox = 0;
	create.aging = 1ULL << 63;
	EXPECT_EQ(-EINVAL, request(self->dev, KWQ_IOC_CREATE, &create));
	create.aging = TIME_MAX;
	create.group_limit = ~0U;
	q = request(self->dev, KWQ_IOC_CREATE, &create);
	ASSERT_LE(0, q);
	EXPECT_EQ(0, q_stat(q, &stat));
	EXPECT_EQ(TIME_MAX, stat.aging);
	EXPECT_EQ(~0U, stat.group_limit);
	close(q);
}

/* Q15, Q16, Q18: a list has the group of each key behind the key, and then the value. */
TEST_F(groups, listed)
{
	int q = create_with(self->dev, KWQ_CREATE_GROUPS | KWQ_CREATE_VALUES, 0, 0);
	const struct kwq_add_entry entry = {
		.key_len = 1,
		.flags = KWQ_ADD_GROUP | KWQ_ADD_VALUE,
	};
	const struct kwq_add_extra extra = {
		.value = user_ptr("value"),
		.value_len = 5,
		.group = user_ptr("blue"),
		.group_len = 4,
	};
	struct kwq_listed entries[4];
	struct kwq_list_items_args args = {
		.size = sizeof(args),
		.states = KWQ_IS_READY,
		.batch = {
			.entries = user_ptr(entries),
			.keys = user_ptr(self->room),
			.keys_len = ROOM,
			.nr = 4,
			.entry_size = sizeof(*entries),
		},
	};
	const char *at;

	ASSERT_LE(0, q);
	ASSERT_EQ(KWQ_ADDED, add_entry(q, &entry, "v", &extra));
	ASSERT_EQ(KWQ_ADDED, add(q, "g", "red"));
	ASSERT_EQ(KWQ_ADDED, q_add(q, "n"));
	for (int values = 0; values < 2; values++) {
		args.flags = values ? KWQ_LIST_VALUES : 0;
		ASSERT_EQ(3, request(q, KWQ_IOC_LIST_ITEMS, &args));
		at = self->room;
		for (int i = 0; i < 3; i++) {
			const char *whole = *at == 'n' ? "n" : *at == 'g' ? "gred" :
					    values ? "vbluevalue" : "vblue";

			EXPECT_EQ(*at == 'n' ? 0 : *at == 'g' ? 3 : 4, entries[i].group_len);
			EXPECT_EQ(*at == 'v' ? 5 : 0, entries[i].value_len);
			EXPECT_EQ(0, memcmp(at, whole, strlen(whole)));
			at += strlen(whole);
		}
	}
	/* The group needs room, too. */
	args.flags = KWQ_LIST_KEY;
	args.key = user_ptr("v");
	args.key_len = 1;
	args.batch.keys_len = 4;
	EXPECT_EQ(-EMSGSIZE, request(q, KWQ_IOC_LIST_ITEMS, &args));
	args.batch.keys_len = 5;
	EXPECT_EQ(1, request(q, KWQ_IOC_LIST_ITEMS, &args));
	close(q);
}

TEST_HARNESS_MAIN

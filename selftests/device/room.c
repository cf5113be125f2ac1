// SPDX-License-Identifier: GPL-2.0-only
/* Adds that wait for room (Q19). "wait.c" has polls for room, "limits.c" room in quotas. */
#include "kwq_test.h"

FIXTURE(room)
{
	int dev;
	int q;		/* has room for two items, a and b, which fill it */
	int other;	/* a second handle of the same queue */
};

typedef FIXTURE_DATA(room) room_fixture;

static int new_full_queue(int dev, __s32 clockid)
{
	static const struct kwq_limiter at_once[] = { FAST_SLOW(0, 0, 0) };
	struct kwq_config config = config_of(at_once);
	int q;

	config.dead_after = 1;
	q = new_queue_with(dev, clockid, 2, &config);
	REQUIRE(q >= 0);
	REQUIRE(q_add(q, "a") == KWQ_ADDED);
	REQUIRE(q_add(q, "b") == KWQ_ADDED);
	return q;
}

FIXTURE_SETUP(room)
{
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = new_full_queue(self->dev, CLOCK_MONOTONIC);
	self->other = q_reopen(self->q);
	ASSERT_LE(0, self->other);
}

FIXTURE_TEARDOWN(room)
{
	close(self->other);
	close(self->q);
	close(self->dev);
}

static void make_room_by_done(room_fixture *self)
{
	struct item item;

	REQUIRE(q_try_get(self->other, &item) == 1);
	REQUIRE(q_done(self->other, item.ticket) == KWQ_FINISHED);
}

static void make_room_by_remove(room_fixture *self)
{
	REQUIRE(q_remove(self->other, "a") == KWQ_WAS_READY);
}

/* The item stays for its count, but gives its room up. */
static void make_room_by_a_count(room_fixture *self)
{
	struct item item;

	REQUIRE(q_try_get(self->other, &item) == 1);
	REQUIRE(q_add_rate_limited(self->other, item.key) == KWQ_DIRTIED);
	REQUIRE(q_done(self->other, item.ticket) == KWQ_REQUEUED);
	REQUIRE(q_try_get(self->other, &item) == 1);
	REQUIRE(q_try_get(self->other, &item) == 1);
	REQUIRE(q_done(self->other, item.ticket) == KWQ_FINISHED);
}

static void make_room_by_drop(room_fixture *self)
{
	struct item item;

	REQUIRE(q_try_get(self->other, &item) == 1);
	REQUIRE(q_add_rate_limited(self->other, item.key) == KWQ_DIRTIED);
	REQUIRE(q_add_rate_limited(self->other, item.key) >= 0);
	REQUIRE(q_done(self->other, item.ticket) == KWQ_REQUEUED);
	REQUIRE(q_try_get(self->other, &item) == 1);
	REQUIRE(q_try_get(self->other, &item) == 1);
	REQUIRE(q_add_rate_limited(self->other, item.key) == KWQ_DEAD);
	REQUIRE(q_done(self->other, item.ticket) == KWQ_FINISHED);
	REQUIRE(q_drop(self->other, item.key) == KWQ_WAS_DEAD);
}

FIXTURE(way)
{
	room_fixture room;
};

FIXTURE_VARIANT(way)
{
	void (*make_room)(room_fixture *self);
};

FIXTURE_VARIANT_ADD(way, done) { .make_room = make_room_by_done };
FIXTURE_VARIANT_ADD(way, remove) { .make_room = make_room_by_remove };
FIXTURE_VARIANT_ADD(way, count) { .make_room = make_room_by_a_count };
FIXTURE_VARIANT_ADD(way, drop) { .make_room = make_room_by_drop };

FIXTURE_SETUP(way)
{
	self->room.dev = open_device();
	ASSERT_LE(0, self->room.dev);
	self->room.q = new_full_queue(self->room.dev, CLOCK_MONOTONIC);
	self->room.other = q_reopen(self->room.q);
	ASSERT_LE(0, self->room.other);
}

FIXTURE_TEARDOWN(way)
{
	close(self->room.other);
	close(self->room.q);
	close(self->room.dev);
}

/* Q19: an add to a full queue goes on when there is room. */
TEST_F(way, wakes_an_adder)
{
	struct sleeper s;

	EXPECT_EQ(-ENOSPC, q_add(self->room.q, "new"));
	start_add(&s, self->room.q, "new");
	variant->make_room(&self->room);
	EXPECT_EQ(KWQ_ADDED, sleeper_join(&s));
	EXPECT_EQ(-ENOSPC, q_add(self->room.q, "more"));
}

/* Q19: an add that finds room, and one whose key is in the queue already, do not wait. */
TEST_F(room, is_not_needed)
{
	struct item item;

	EXPECT_EQ(KWQ_COALESCED, q_add_wait(self->q, "a", KWQ_NO_DEADLINE));
	ASSERT_EQ(1, q_try_get(self->q, &item));
	EXPECT_EQ(KWQ_DIRTIED, q_add_wait(self->q, "a", KWQ_NO_DEADLINE));
	EXPECT_EQ(KWQ_DIRTY, q_add_wait(self->q, "a", KWQ_NO_DEADLINE));
	make_room_by_done(self);
	EXPECT_EQ(KWQ_ADDED, q_add_wait(self->q, "new", 0));
}

/* Q19: the deadline ends the wait, and the result still says why. */
TEST_F(room, deadline)
{
	__u64 soon = now_ns() + MSEC;

	EXPECT_EQ(-ETIMEDOUT, q_add_wait(self->q, "new", 0));
	EXPECT_EQ(-ETIMEDOUT, q_add_wait(self->q, "new", soon));
	EXPECT_LE(soon, now_ns());
	soon = now_ns() + MSEC;
	EXPECT_EQ(-ETIMEDOUT, q_add_wait_bytes(self->q, "new", 3, KWQ_ADD_RELATIVE, MSEC));
	EXPECT_LE(soon, now_ns());
	EXPECT_EQ(-ETIMEDOUT, q_add_wait_bytes(self->q, "new", 3, KWQ_ADD_RELATIVE, 0));
	check_stat(self->q, .ready = 2, .items = 2);
	check_counts(self->q, .adds = 2);
}

/* Q19: an advance of a manual clock ends waits, and no other waits. */
TEST_F(room, deadline_on_a_manual_clock)
{
	int q = new_full_queue(self->dev, KWQ_CLOCK_ID_MANUAL);
	struct sleeper s[3];

	for (int i = 0; i < 3; i++) {
		s[i] = (struct sleeper){
			.call = call_add, .fd = q, .arg = "new",
			.deadline = i < 2 ? (i + 1) * SEC : KWQ_NO_DEADLINE,
		};
		sleeper_start(&s[i]);
		wait_until_asleep(s[i].tid, __NR_ioctl, KWQ_IOC_ADD);
	}
	ASSERT_EQ(0, q_advance(q, SEC));
	EXPECT_EQ(-ETIMEDOUT, sleeper_join(&s[0]));
	wait_until_asleep(s[1].tid, __NR_ioctl, KWQ_IOC_ADD);
	ASSERT_EQ(0, q_advance(q, SEC));
	EXPECT_EQ(-ETIMEDOUT, sleeper_join(&s[1]));
	EXPECT_FALSE(s[2].ended);
	ASSERT_EQ(KWQ_WAS_READY, q_remove(q, "a"));
	EXPECT_EQ(KWQ_ADDED, sleeper_join(&s[2]));
	close(q);
}

/* Q19: a descriptor with O_NONBLOCK does not wait, as a pipe's does not. */
TEST_F(room, nonblock)
{
	int q = q_open(self->q, NULL, O_NONBLOCK | O_CLOEXEC);

	ASSERT_LE(0, q);
	EXPECT_EQ(-EAGAIN, q_add_wait(q, "new", KWQ_NO_DEADLINE));
	EXPECT_EQ(KWQ_COALESCED, q_add_wait(q, "a", KWQ_NO_DEADLINE));
	make_room_by_done(self);
	EXPECT_EQ(KWQ_ADDED, q_add_wait(q, "new", KWQ_NO_DEADLINE));
	close(q);
}

static __u64 user_bytes(int dev)
{
	struct kwq_info info = { .size = sizeof(info) };

	REQUIRE(!request(dev, KWQ_IOC_INFO, &info));
	return info.user_bytes;
}

static int add_batch(int q, struct batch *b, __u32 flags, __u64 deadline)
{
	struct kwq_add_args args = {
		.size = sizeof(args),
		.flags = KWQ_ADD_WAIT | flags,
		.batch = batch_of(KWQ_IOC_ADD, b),
		.deadline = deadline,
	};

	return request(q, KWQ_IOC_ADD, &args);
}

static int call_add_batch(struct sleeper *s)
{
	return add_batch(s->fd, s->arg, s->flags, s->deadline);
}

static void start_add_batch(struct sleeper *s, int q, struct batch *b, __u64 deadline)
{
	*s = (struct sleeper){ .call = call_add_batch, .fd = q, .deadline = deadline, .arg = b };
	sleeper_start(s);
	wait_until_asleep(s->tid, __NR_ioctl, KWQ_IOC_ADD);
}

/* Waits for the next item, which must be @want, and finishes it. */
static void take(int q, const char *want)
{
	struct item item;

	REQUIRE(q_wait_get(q, &item) == 1 && !strcmp(item.key, want));
	REQUIRE(q_done(q, item.ticket) == KWQ_FINISHED);
}

/* Q13, Q19: what comes before the entry that waits is done and visible, and all others wait. */
TEST_F(room, batch_goes_on)
{
	struct batch *b = new_batch();
	struct sleeper s;

	make_room_by_done(self);
	batch_add(b, "b");
	batch_add(b, "c");
	batch_add(b, "d");
	batch_add(b, "b");
	batch_add(b, "e");
	start_add_batch(&s, self->q, b, KWQ_NO_DEADLINE);
	check_counts(self->q, .adds = 3, .coalesced = 1, .gets = 1, .dones = 1);
	take(self->other, "b");
	take(self->other, "c");
	take(self->other, "d");
	EXPECT_EQ(5, sleeper_join(&s));
	EXPECT_EQ(KWQ_COALESCED, b->results[0]);
	for (int i = 1; i < 5; i++)
		EXPECT_EQ(KWQ_ADDED, b->results[i]);
	free(b);
}

/* Q13, Q19: a wait that ends reports how many were taken, and the next result says why. */
TEST_F(room, batch_ends)
{
	int q = q_open(self->q, NULL, O_NONBLOCK | O_CLOEXEC);
	struct batch *b = new_batch();
	struct sleeper s;

	ASSERT_LE(0, q);
	batch_add(b, "a");
	batch_add(b, "b");
	batch_add(b, "c");
	batch_add(b, "b");
	for (int i = 0; i < 3; i++) {
		int ret = !i ? add_batch(self->q, b, 0, now_ns() + MSEC) :
			  i == 1 ? add_batch(q, b, 0, KWQ_NO_DEADLINE) :
				   add_batch(self->q, b, KWQ_ADD_RELATIVE, 0);

		EXPECT_EQ(2, ret);
		EXPECT_EQ(KWQ_COALESCED, b->results[0]);
		EXPECT_EQ(KWQ_COALESCED, b->results[1]);
		EXPECT_EQ(-ENOSPC, b->results[2]);
		EXPECT_GT(0, b->results[3]);
	}
	catch_signal(SA_RESTART);
	start_add_batch(&s, self->q, b, KWQ_NO_DEADLINE);
	ASSERT_EQ(0, pthread_kill(s.thread, SIGUSR1));
	EXPECT_EQ(2, sleeper_join(&s));
	EXPECT_EQ(-ENOSPC, b->results[2]);
	check_stat(self->q, .ready = 2, .items = 2);
	close(q);
	free(b);
}

/* Q19: long batches wait as often as it takes. */
TEST_F(room, long_batch)
{
	struct batch *b = new_batch();
	struct sleeper s;
	struct item item;
	char key[16];

	expect_take(self->other, "a");
	expect_take(self->other, "b");
	for (int i = 0; i < 200; i++) {
		snprintf(key, sizeof(key), "%d", i);
		batch_add(b, key);
	}
	start_add_batch(&s, self->q, b, KWQ_NO_DEADLINE);
	for (int i = 0; i < 200; i++) {
		snprintf(key, sizeof(key), "%d", i);
		ASSERT_EQ(1, q_wait_get(self->other, &item));
		EXPECT_STREQ(key, item.key);
		ASSERT_EQ(KWQ_FINISHED, q_done(self->other, item.ticket));
	}
	EXPECT_EQ(200, sleeper_join(&s));
	for (int i = 0; i < 200; i++)
		ASSERT_EQ(KWQ_ADDED, b->results[i]);
	check_stat(self->q, .items = 0);
	free(b);
}

/* O9: the buffer of a batch that waits counts for its user. */
TEST_F(room, waiting_batch_counts)
{
	struct batch *b = new_batch();
	__u64 before;
	struct sleeper s;
	char key[16];

	for (int i = 0; i < 32; i++) {
		snprintf(key, sizeof(key), "%d", i);
		batch_add(b, key);
	}
	before = user_bytes(self->dev);
	start_add_batch(&s, self->q, b, KWQ_NO_DEADLINE);
	EXPECT_LE(before + 32 * sizeof(struct kwq_add_entry), user_bytes(self->dev));
	ASSERT_EQ(0, q_shut_down(self->q));
	EXPECT_EQ(32, sleeper_join(&s));
	EXPECT_GE(before, user_bytes(self->dev));
	free(b);
}

/* Q19, Q5: as a get. */
TEST_F(room, signal_interrupts)
{
	struct sleeper s;

	catch_signal(0);
	start_add(&s, self->q, "new");
	ASSERT_EQ(0, pthread_kill(s.thread, SIGUSR1));
	EXPECT_EQ(-EINTR, sleeper_join(&s));
	EXPECT_EQ(1, signals);
	make_room_by_done(self);
	check_stat(self->q, .ready = 1, .items = 1);
}

static int call_add_raw(struct sleeper *s)
{
	return request(s->fd, KWQ_IOC_ADD, s->arg);
}

/* Q19, Q5: a restarted wait keeps its deadline. */
TEST_F(room, signal_restarts)
{
	int q = new_full_queue(self->dev, KWQ_CLOCK_ID_MANUAL);
	const struct kwq_add_entry entry = { .key_len = 1 };
	__s32 result;
	struct kwq_add_args args = {
		.size = sizeof(args),
		.flags = KWQ_ADD_WAIT | KWQ_ADD_RELATIVE,
		.batch = {
			.entries = user_ptr(&entry),
			.keys = user_ptr("n"),
			.results = user_ptr(&result),
			.keys_len = 1,
			.nr = 1,
			.entry_size = sizeof(entry),
		},
		.deadline = 10 * SEC,
	};
	struct sleeper s;

	ASSERT_EQ(0, q_advance(q, 5 * SEC));
	catch_signal(SA_RESTART);
	for (int round = 0; round < 2; round++) {
		__u64 end = 15 * SEC + round * 10 * SEC;

		atomic_store(&signals, 0);
		s = (struct sleeper){ .call = call_add_raw, .fd = q, .arg = &args };
		sleeper_start(&s);
		wait_until_asleep(s.tid, __NR_ioctl, KWQ_IOC_ADD);
		for (int n = 1; n <= 3; n++) {
			ASSERT_EQ(0, pthread_kill(s.thread, SIGUSR1));
			while (signals < n)
				sched_yield();
			wait_until_asleep(s.tid, __NR_ioctl, KWQ_IOC_ADD);
			EXPECT_EQ(end, args.resume);
			ASSERT_EQ(0, q_advance(q, SEC));
		}
		ASSERT_EQ(0, q_advance_to(q, end - 1));
		EXPECT_FALSE(s.ended);
		ASSERT_EQ(round ? KWQ_WAS_READY : 0,
			  round ? q_remove(q, "a") : q_advance_to(q, end));
		EXPECT_EQ(round ? 1 : -ETIMEDOUT, sleeper_join(&s));
		EXPECT_EQ(round ? KWQ_ADDED : -ENOSPC, result);
		EXPECT_EQ(0, args.resume);
	}
	close(q);
}

/* Q19, Q8: a shut down ends the wait, of one entry and of a batch. */
TEST_F(room, shut_down)
{
	struct batch *b = new_batch();
	struct sleeper one, many;

	batch_add(b, "a");
	batch_add(b, "c");
	batch_add(b, "d");
	start_add(&one, self->q, "new");
	start_add_batch(&many, self->other, b, KWQ_NO_DEADLINE);
	ASSERT_EQ(0, q_shut_down(self->q));
	EXPECT_EQ(-ESHUTDOWN, sleeper_join(&one));
	EXPECT_EQ(3, sleeper_join(&many));
	EXPECT_EQ(KWQ_COALESCED, b->results[0]);
	EXPECT_EQ(-ESHUTDOWN, b->results[1]);
	EXPECT_EQ(-ESHUTDOWN, b->results[2]);
	EXPECT_EQ(-ESHUTDOWN, q_add_wait(self->q, "new", KWQ_NO_DEADLINE));
	free(b);
}

/* Q19, Q9 */
TEST_F(room, drain)
{
	struct sleeper s;

	start_add(&s, self->q, "new");
	EXPECT_EQ(-ETIMEDOUT, q_drain(self->other, 1));
	EXPECT_EQ(-ESHUTDOWN, sleeper_join(&s));
}

static void fill_with_bytes(__u8 *key, size_t len, __u8 byte)
{
	memset(key, byte, len);
}

struct long_add {
	__u8 key[KWQ_KEY_MAX];
	size_t len;
};

static int call_add_long(struct sleeper *s)
{
	const struct long_add *add = s->arg;

	return q_add_wait_bytes(s->fd, add->key, add->len, 0, s->deadline);
}

static void start_add_long(struct sleeper *s, int q, struct long_add *add)
{
	*s = (struct sleeper){
		.call = call_add_long, .fd = q, .deadline = KWQ_NO_DEADLINE, .arg = add,
	};
	sleeper_start(s);
	wait_until_asleep(s->tid, __NR_ioctl, KWQ_IOC_ADD);
}

/* Q19: room for a short key is not left unused while a long one waits. A long one gets it, too. */
TEST_F(room, long_and_short_keys)
{
	static struct long_add big, too_big;
	struct kwq_create_args create = {
		.size = sizeof(create), .open_flags = O_CLOEXEC, .rights = ALL_RIGHTS,
		.clockid = CLOCK_MONOTONIC, .max_bytes = 4096,
	};
	struct sleeper first, second;
	struct kwq_stat stat;
	int q, n = 0;
	char key[16];

	fill_with_bytes(big.key, big.len = 1000, 'l');
	fill_with_bytes(too_big.key, too_big.len = KWQ_KEY_MAX, 't');
	q = request(self->dev, KWQ_IOC_CREATE, &create);
	ASSERT_LE(0, q);
	do {
		snprintf(key, sizeof(key), "%d", n++);
	} while (q_add(q, key) == KWQ_ADDED);
	/* No room can ever be large enough. */
	EXPECT_EQ(-ENOSPC, q_add_wait_bytes(q, too_big.key, too_big.len, 0, KWQ_NO_DEADLINE));
	start_add_long(&first, q, &big);
	start_add(&second, q, "short");
	ASSERT_EQ(KWQ_WAS_READY, q_remove(q, "0"));
	EXPECT_EQ(KWQ_ADDED, sleeper_join(&second));
	wait_until_asleep(first.tid, __NR_ioctl, KWQ_IOC_ADD);
	start_add(&second, q, "later");
	ASSERT_EQ(0, q_stat(q, &stat));
	for (int i = 1; !atomic_load(&first.ended) && i < n - 1; i++) {
		snprintf(key, sizeof(key), "%d", i);
		ASSERT_EQ(KWQ_WAS_READY, q_remove(q, key));
		if (i == 1)
			EXPECT_EQ(KWQ_ADDED, sleeper_join(&second));
	}
	EXPECT_EQ(KWQ_ADDED, sleeper_join(&first));
	close(q);
}

struct value_add {
	const char *key;
	__u32 flags;
	__u32 len;
};

/* Adds a key with a value, and waits for room. */
static int call_add_value(struct sleeper *s)
{
	static const __u8 value[KWQ_VALUE_MAX];
	const struct value_add *add = s->arg;
	const struct kwq_add_entry entry = {
		.key_len = strlen(add->key),
		.flags = add->flags | KWQ_ADD_VALUE,
	};
	const struct kwq_add_extra extra = { .value = user_ptr(value), .value_len = add->len };
	__s32 result = -EIO;
	struct kwq_add_args args = {
		.size = sizeof(args),
		.flags = KWQ_ADD_WAIT,
		.deadline = s->deadline,
		.batch = {
			.entries = user_ptr(&entry),
			.keys = user_ptr(add->key),
			.results = user_ptr(&result),
			.extras = user_ptr(&extra),
			.keys_len = strlen(add->key),
			.nr = 1,
			.entry_size = sizeof(entry),
			.extra_size = sizeof(extra),
		},
	};
	int ret = request(s->fd, KWQ_IOC_ADD, &args);

	if (ret == -ETIMEDOUT)
		REQUIRE(result == -ENOSPC || result == -EDQUOT);
	return ret == 1 ? result : ret;
}

static int add_value_now(int q, const struct value_add *add)
{
	struct sleeper s = { .fd = q, .arg = (void *)add };

	return call_add_value(&s);
}

static void start_add_value(struct sleeper *s, int q, const struct value_add *add)
{
	*s = (struct sleeper){
		.call = call_add_value, .fd = q, .deadline = KWQ_NO_DEADLINE, .arg = (void *)add,
	};
	sleeper_start(s);
	wait_until_asleep(s->tid, __NR_ioctl, KWQ_IOC_ADD);
}

static int new_value_queue(int dev, __u64 max_items, __u64 max_bytes)
{
	const struct kwq_create_args create = {
		.size = sizeof(create), .flags = KWQ_CREATE_VALUES, .open_flags = O_CLOEXEC,
		.rights = ALL_RIGHTS, .clockid = CLOCK_MONOTONIC, .max_items = max_items,
		.max_bytes = max_bytes,
	};

	return request(dev, KWQ_IOC_CREATE, &create);
}

/* Q18, Q19: an add waits for room for its value, too: of a new key, and of one that is there. */
TEST_F(room, for_values)
{
	static const struct value_add big = { "big", 0, 20000 };
	static const struct value_add more = { "a", 0, 20000 };
	static const struct value_add keeps = { "a", KWQ_ADD_KEEP_VALUE, 20000 };
	static const struct value_add too_big = { "big", 0, KWQ_VALUE_MAX };
	int q = new_value_queue(self->dev, 2, 48 << 10);
	struct sleeper s[2];

	ASSERT_LE(0, q);
	EXPECT_EQ(KWQ_ADDED, add_value_now(q, &big));
	EXPECT_EQ(KWQ_ADDED, add_value_now(q, &(struct value_add){ "a", 0, 10 }));
	EXPECT_EQ(-ENOSPC, add_value_now(q, &too_big));
	EXPECT_EQ(-ETIMEDOUT, add_value_now(q, &more));
	EXPECT_EQ(KWQ_COALESCED, add_value_now(q, &keeps));
	/* The item is there, so a queue that has all its items is no obstacle. */
	start_add_value(&s[0], q, &more);
	EXPECT_EQ(KWQ_COALESCED, add_value_now(q, &(struct value_add){ "big", 0, 1 }));
	EXPECT_EQ(KWQ_COALESCED, sleeper_join(&s[0]));
	/* A new key needs an item and its value. */
	start_add_value(&s[0], q, &(struct value_add){ "new", 0, 20000 });
	start_add(&s[1], q, "plain");
	ASSERT_EQ(KWQ_WAS_READY, q_remove(q, "big"));
	EXPECT_EQ(KWQ_ADDED, sleeper_join(&s[1]));
	EXPECT_FALSE(s[0].ended);
	ASSERT_EQ(KWQ_WAS_READY, q_remove(q, "a"));
	EXPECT_EQ(KWQ_ADDED, sleeper_join(&s[0]));
	start_add_value(&s[0], q, &(struct value_add){ "last", 0, 10000 });
	ASSERT_EQ(0, q_shut_down(q));
	EXPECT_EQ(-ESHUTDOWN, sleeper_join(&s[0]));
	close(q);
}

/* U3 */
TEST_F(room, arguments)
{
	static const struct {
		__u32 flags;
		__u64 deadline;
		__u64 resume;
	} bad[] = {
		{ KWQ_ADD_RELATIVE }, { 1U << 2 }, { KWQ_ADD_WAIT | 1U << 31 },
		{ 0, .deadline = 1 }, { 0, .resume = 1 }, { KWQ_ADD_WAIT, .resume = 1 },
		{ KWQ_ADD_RELATIVE, .deadline = 1 },
	};
	int reader = q_open_with(self->q, NULL, KWQ_RIGHT_READ, O_CLOEXEC);
	struct batch *b = new_batch();

	batch_add(b, "a");
	for (int i = 0; i < ARRAY_SIZE(bad); i++) {
		struct kwq_add_args args = {
			.size = sizeof(args), .flags = bad[i].flags, .deadline = bad[i].deadline,
			.resume = bad[i].resume, .batch = batch_of(KWQ_IOC_ADD, b),
		};

		EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_ADD, &args)) {
			TH_LOG("%d", i);
		}
		EXPECT_TRUE(is_poison(b->results, sizeof(b->results)));
	}
	EXPECT_EQ(-EBADF, q_add_wait(reader, "a", 0));
	/* A deadline beyond the clock never comes. */
	EXPECT_EQ(KWQ_COALESCED, q_add_wait(self->q, "a", TIME_MAX));
	b->nr = 0;
	EXPECT_EQ(-EINVAL, add_batch(self->q, b, 0, 0));
	check_counts(self->q, .adds = 2, .coalesced = 1);
	close(reader);
	free(b);
}

/* Q19: the adds of a get do not wait. */
TEST_F(room, get_does_not_wait)
{
	struct batch *b = new_batch();
	struct kwq_get_args get = { .size = sizeof(get) };

	batch_add(b, "new");
	get.add = batch_of(KWQ_IOC_ADD, b);
	EXPECT_EQ(0, q_get_raw(self->q, &get));
	EXPECT_EQ(1, get.nr_added);
	EXPECT_EQ(-ENOSPC, b->results[0]);
	free(b);
}

/* O6: the descriptor is closed while its adder waits. */
TEST_F(room, closed_meanwhile)
{
	int q = q_reopen(self->q);
	struct sleeper s;

	ASSERT_LE(0, q);
	start_add(&s, q, "new");
	close(q);
	make_room_by_done(self);
	EXPECT_EQ(KWQ_ADDED, sleeper_join(&s));
	check_stat(self->q, .ready = 2, .items = 2);
}

static int peer_with_adders(struct peer *parent, void *arg)
{
	static struct sleeper s[4];
	static const char *const keys[] = { "w", "x", "y", "z" };
	int q = q_reopen(*(int *)arg);

	REQUIRE(!prctl(PR_SET_DUMPABLE, 1));
	for (int i = 0; i < 4; i++)
		start_add(&s[i], q, keys[i]);
	say(parent, 0);
	hear(parent);
	return 0;
}

/* Q19, O6, O7: adders that are killed, also in the moment in which they are told, lose no room. */
TEST_F(room, killed_adders)
{
	struct peer child;
	struct sleeper s;

	for (int round = 0; round < 20; round++) {
		char key[16];

		start_peer(&child, peer_with_adders, &self->q);
		ASSERT_EQ(0, hear(&child));
		snprintf(key, sizeof(key), "mine%d", round);
		start_add(&s, self->q, key);
		if (round & 1) {
			make_room_by_done(self);
			kill_peer(&child);
		} else {
			kill_peer(&child);
			make_room_by_done(self);
		}
		/* If a peer's adder was first, this one needs more room. */
		while (!atomic_load(&s.ended)) {
			struct kwq_stat stat;

			ASSERT_EQ(0, q_stat(self->q, &stat));
			if (stat.items == 2)
				make_room_by_done(self);
			sched_yield();
		}
		EXPECT_EQ(KWQ_ADDED, sleeper_join(&s));
		while (q_len(self->q))
			make_room_by_done(self);
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	}
}

static _Atomic bool adders_stop;

static int call_add_much(struct sleeper *s)
{
	unsigned long long n;
	char key[32];
	int ret;

	for (n = 0; !atomic_load(&adders_stop); n++) {
		snprintf(key, sizeof(key), "%u-%llu", s->flags, n % 7);
		ret = q_add_wait(s->fd, key, n % 5 ? KWQ_NO_DEADLINE : now_ns() + n % 100 * USEC);
		if (ret == -ESHUTDOWN)
			break;
		REQUIRE(ret >= 0 || ret == -ETIMEDOUT || ret == -EINTR);
	}
	return 0;
}

/* Q19: no wake-up is lost among adders, workers and signals. */
TEST_F(room, stress)
{
	unsigned int rounds = soak_seconds() ? UINT_MAX : 3000;
	__u64 end = now_ns() + soak_seconds() * SEC;
	struct sleeper s[8];
	struct item item;

	catch_signal(0);
	atomic_store(&adders_stop, false);
	for (int i = 0; i < 8; i++) {
		s[i] = (struct sleeper){
			.call = call_add_much, .fd = i & 1 ? self->q : self->other, .flags = i,
		};
		sleeper_start(&s[i]);
	}
	for (unsigned int n = 0; n < rounds && (!soak_seconds() || now_ns() < end); n++) {
		/* Without room nobody adds, and without adds this waits for ever. */
		ASSERT_EQ(1, q_wait_get(self->q, &item));
		if (n % 10 == 9)
			pthread_kill(s[n / 10 % 8].thread, SIGUSR1);
		ASSERT_LE(0, q_done(self->q, item.ticket));
	}
	atomic_store(&adders_stop, true);
	ASSERT_EQ(0, q_shut_down(self->q));
	for (int i = 0; i < 8; i++)
		EXPECT_EQ(0, sleeper_join(&s[i]));
}

/* ---- Values and groups ---- */

struct full_add {
	const char *key;
	__u32 flags;
	__u32 value_len;
	const char *group;
};

static int q_add_fully(int q, const struct full_add *add, __u64 deadline, bool waits)
{
	static const char bytes[KWQ_VALUE_MAX];
	struct kwq_add_entry entry = { .key_len = strlen(add->key), .flags = add->flags };
	struct kwq_add_extra extra = {};
	__s32 result = -EIO;
	struct kwq_add_args args = {
		.size = sizeof(args), .flags = waits ? KWQ_ADD_WAIT : 0, .deadline = deadline,
		.batch = {
			.entries = user_ptr(&entry), .keys = user_ptr(add->key),
			.results = user_ptr(&result), .extras = user_ptr(&extra),
			.keys_len = strlen(add->key), .nr = 1,
			.entry_size = sizeof(entry), .extra_size = sizeof(extra),
		},
	};
	int ret;

	if (add->flags & KWQ_ADD_VALUE) {
		extra.value = add->value_len ? user_ptr(bytes) : 0;
		extra.value_len = add->value_len;
	}
	if (add->group) {
		entry.flags |= KWQ_ADD_GROUP;
		extra.group = user_ptr(add->group);
		extra.group_len = strlen(add->group);
	}
	ret = request(q, KWQ_IOC_ADD, &args);
	return ret == 1 ? result : ret;
}

#define FULL_ADD(...)	(&(struct full_add){ __VA_ARGS__ })

static int add_fully(int q, const struct full_add *add)
{
	return q_add_fully(q, add, 0, false);
}

static int add_value(int q, const char *key, __u32 len)
{
	return add_fully(q, FULL_ADD(key, KWQ_ADD_VALUE, len));
}

static int call_add_fully(struct sleeper *s)
{
	return q_add_fully(s->fd, s->arg, s->deadline, true);
}

static void start_full_add(struct sleeper *s, int q, const struct full_add *add)
{
	*s = (struct sleeper){
		.call = call_add_fully, .fd = q, .deadline = KWQ_NO_DEADLINE, .arg = (void *)add,
	};
	sleeper_start(s);
	wait_until_asleep(s->tid, __NR_ioctl, KWQ_IOC_ADD);
}

FIXTURE(extras)
{
	int dev;
	int q;
};

static int new_queue_of(int dev, __u64 max_items, __u64 max_bytes)
{
	static const struct kwq_limiter at_once[] = { FAST_SLOW(0, 0, 0) };
	struct kwq_config config = config_of(at_once);
	int q = new_queue_as(dev, .flags = KWQ_CREATE_VALUES | KWQ_CREATE_GROUPS,
			     .max_items = max_items, .max_bytes = max_bytes,
			     .config = user_ptr(&config));

	REQUIRE(q >= 0);
	return q;
}

FIXTURE_SETUP(extras)
{
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = new_queue_of(self->dev, 0, 20000);
}

FIXTURE_TEARDOWN(extras)
{
	close(self->q);
	close(self->dev);
}

static __u64 bytes_of(int q)
{
	struct kwq_stat stat = { .size = sizeof(stat) };

	REQUIRE(!q_stat(q, &stat));
	return stat.bytes;
}

/* How often a thread went to sleep. */
static long sleeps_of(pid_t tid)
{
	char path[64], line[128];
	long nr = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	f = fopen(path, "r");
	REQUIRE(f);
	while (nr < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "voluntary_ctxt_switches: %ld", &nr);
	fclose(f);
	return nr;
}

/* Q19: an add of which one part fits, and all parts never do, fails at once. */
TEST_F(extras, that_never_fit_are_refused)
{
	const struct full_add all = { "k", KWQ_ADD_VALUE, 1000, "group" };
	__u64 some, most;
	int q;

	ASSERT_EQ(KWQ_ADDED, add_value(self->q, "k", 1000));
	some = bytes_of(self->q);
	ASSERT_EQ(KWQ_COALESCED, add_fully(self->q, &all));
	most = bytes_of(self->q);
	ASSERT_LT(some, most);
	q = new_queue_of(self->dev, 0, most - 1);
	EXPECT_EQ(-ENOSPC, q_add_fully(q, &all, KWQ_NO_DEADLINE, true));
	close(q);
}

/* Q19: the same in a queue that is full now. The adder sleeps until all parts find room. */
TEST_F(extras, wait_for_all_their_room)
{
	const struct full_add all = { "k", KWQ_ADD_VALUE, 1000, "group" };
	struct sleeper s;
	__u64 some, most;
	int q;

	ASSERT_EQ(KWQ_ADDED, add_value(self->q, "k", 1000));
	some = bytes_of(self->q);
	ASSERT_EQ(KWQ_COALESCED, add_fully(self->q, &all));
	most = bytes_of(self->q);
	q = new_queue_of(self->dev, 0, some + most - 1);
	ASSERT_EQ(KWQ_ADDED, add_value(q, "f", 1000));
	start_full_add(&s, q, &all);
	EXPECT_EQ(KWQ_WAS_READY, q_remove(q, "f"));
	EXPECT_EQ(KWQ_ADDED, sleeper_join(&s));
	close(q);
}

/* Q19: two adders of one new key, whose values do not fit, do not wake each other. */
TEST_F(extras, adders_of_one_key_sleep)
{
	const struct full_add k = { "k", KWQ_ADD_VALUE, 9000 };
	struct sleeper s[2];
	long before[2];
	int first;

	ASSERT_EQ(KWQ_ADDED, add_value(self->q, "full", 8000));
	for (int i = 0; i < 2; i++)
		start_full_add(&s[i], self->q, &k);
	for (int i = 0; i < 2; i++)
		before[i] = sleeps_of(s[i].tid);
	for (int i = 0; i < 2000; i++)
		sched_yield();
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(before[i], sleeps_of(s[i].tid));
	EXPECT_EQ(KWQ_WAS_READY, q_remove(self->q, "full"));
	first = sleeper_join(&s[0]);
	EXPECT_TRUE(first == KWQ_ADDED || first == KWQ_COALESCED);
	EXPECT_EQ(KWQ_COALESCED - first, sleeper_join(&s[1]));
}

/* Q19: an adder that lacks only bytes gets them, though an older one lacks an item. */
TEST_F(extras, bytes_are_not_kept_from_an_adder)
{
	int q = new_queue_of(self->dev, 2, 40000);
	struct sleeper item, bytes;

	ASSERT_EQ(KWQ_ADDED, add_value(q, "x", 30000));
	ASSERT_EQ(KWQ_ADDED, q_add(q, "y"));
	start_add(&item, q, "new");
	start_full_add(&bytes, q, FULL_ADD("y", KWQ_ADD_VALUE, 20000));
	ASSERT_EQ(KWQ_COALESCED, add_value(q, "x", 0));
	EXPECT_EQ(KWQ_COALESCED, sleeper_join(&bytes));
	EXPECT_EQ(KWQ_WAS_READY, q_remove(q, "x"));
	EXPECT_EQ(KWQ_ADDED, sleeper_join(&item));
	close(q);
}

/* Q19: adders whose key gets a value need less room, or none. Each of them goes on. */
TEST_F(extras, value_of_another_serves_adders)
{
	const struct full_add keeping = { "k", KWQ_ADD_VALUE | KWQ_ADD_KEEP_VALUE, 9000 };
	struct sleeper s[40];

	ASSERT_EQ(KWQ_ADDED, add_value(self->q, "full", 8000));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "k"));
	for (size_t i = 0; i < ARRAY_SIZE(s); i++)
		start_full_add(&s[i], self->q, &keeping);
	ASSERT_EQ(KWQ_COALESCED, add_value(self->q, "k", 10));
	for (size_t i = 0; i < ARRAY_SIZE(s); i++)
		EXPECT_EQ(KWQ_COALESCED, sleeper_join(&s[i]));
}

/* Q19: the same for the group of another add. */
TEST_F(extras, group_of_another_serves_an_adder)
{
	static char name[KWQ_GROUP_MAX + 1];
	struct full_add grouped = { "new", 0, 0, name };
	__u64 item, group;
	struct sleeper s;
	int q;

	memset(name, 'g', KWQ_GROUP_MAX);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "k"));
	item = bytes_of(self->q);
	ASSERT_EQ(KWQ_ADDED, add_fully(self->q, &grouped));
	group = bytes_of(self->q) - 2 * item;
	/* Room for three items and the group, but not for a value as well. */
	q = new_queue_of(self->dev, 0, 3 * item + group);
	ASSERT_EQ(KWQ_ADDED, q_add(q, "k"));
	ASSERT_EQ(KWQ_ADDED, add_value(q, "x", 100));
	start_full_add(&s, q, &grouped);
	ASSERT_EQ(KWQ_COALESCED, add_fully(q, FULL_ADD("k", 0, 0, name)));
	ASSERT_EQ(KWQ_COALESCED, add_value(q, "x", 0));
	EXPECT_EQ(KWQ_ADDED, sleeper_join(&s));
	close(q);
}

/* O9: the memory of an add that waits counts for the owner of the queue. */
TEST_F(extras, adds_that_wait_count)
{
	int q = new_queue_of(self->dev, 1, 0);
	struct full_add large = { "new", KWQ_ADD_VALUE, 60000 };
	__u64 before;
	struct sleeper s;

	ASSERT_EQ(KWQ_ADDED, q_add(q, "k"));
	before = user_bytes(self->dev);
	start_full_add(&s, q, &large);
	EXPECT_LE(before + 60000, user_bytes(self->dev));
	ASSERT_EQ(0, q_shut_down(q));
	EXPECT_EQ(-ESHUTDOWN, sleeper_join(&s));
	EXPECT_GE(before + 20000, user_bytes(self->dev));
	close(q);
}

/* O4, L9: a refused add changes nothing, not even what is remembered. */
TEST_F(extras, refused_add_forgets_nothing)
{
	int q = new_queue_of(self->dev, 2, 20000);
	struct item item;

	ASSERT_LE(0, q_add_rate_limited(q, "r"));
	ASSERT_EQ(1, q_try_get(q, &item));
	ASSERT_EQ(KWQ_FINISHED, q_done(q, item.ticket));
	ASSERT_EQ(KWQ_ADDED, add_value(q, "full", 16000));
	ASSERT_EQ(1, q_requeues(q, "r"));
	EXPECT_EQ(-ENOSPC, add_value(q, "new", 60000));
	EXPECT_EQ(1, q_requeues(q, "r"));
	close(q);
}

TEST_HARNESS_MAIN

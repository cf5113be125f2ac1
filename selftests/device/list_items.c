// SPDX-License-Identifier: GPL-2.0-only
/* Q15: lists of the items of a queue, in pages, while it works. */
#include "kwq_test.h"

#include <pthread.h>

static const struct kwq_limiter at_once[] = { FAST_SLOW(0, 0, 0) };

FIXTURE(list)
{
	int dev;
	int q;
};

/* On a manual clock, with a lease. The third failure or the third loss makes a key dead. */
FIXTURE_SETUP(list)
{
	struct kwq_config config = config_of(at_once);

	config.dead_after = 2;
	config.dead_after_lost = 3;
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = new_queue_as(self->dev, .clockid = KWQ_CLOCK_ID_MANUAL, .lease = HOUR,
			       .config = user_ptr(&config));
	ASSERT_LE(0, self->q);
}

FIXTURE_TEARDOWN(list)
{
	close(self->q);
	close(self->dev);
}

/* Lists all items in pages of @nr entries. Returns their number. */
static unsigned int list_all(int q, struct listed_item *listed, unsigned int room, unsigned int nr,
			     __u32 states)
{
	unsigned int listed_nr = 0;
	__u64 after = 0;
	int ret;

	do {
		REQUIRE(room - listed_nr >= nr);
		ret = q_list_page(q, listed + listed_nr, nr, states, &after);
		REQUIRE(ret >= 0);
		listed_nr += ret;
	} while (after);
	return listed_nr;
}

/* Makes one key be handed out. No other key may be ready. */
static __u64 take(int q, const char *key)
{
	struct item item;

	REQUIRE(q_try_get(q, &item) == 1 && !strcmp(item.key, key));
	return item.ticket;
}

/* Makes a key dead by rate-limited adds. */
static void die(int q, const char *key)
{
	for (int n = 0; n < 2; n++) {
		REQUIRE(q_add_rate_limited(q, key) == KWQ_ADDED);
		REQUIRE(q_done(q, take(q, key)) == KWQ_FINISHED);
	}
	REQUIRE(q_add_rate_limited(q, key) == KWQ_DEAD);
}

static struct kwq_listed look(int q, const char *key)
{
	struct listed_item listed;

	REQUIRE(q_look(q, key, &listed) == 1 && !strcmp(listed.key, key));
	return listed.item;
}

#define expect_listed(item, ...)						\
	do {									\
		const struct kwq_listed want_ = { __VA_ARGS__ };		\
		const struct kwq_listed got_ = (item);				\
										\
		EXPECT_EQ(want_.state, got_.state);				\
		EXPECT_EQ(want_.order_of, got_.order_of);			\
		EXPECT_EQ(want_.dirty_for, got_.dirty_for);			\
		EXPECT_EQ(want_.processing_for, got_.processing_for);		\
		EXPECT_EQ(want_.waiting_for, got_.waiting_for);			\
		EXPECT_EQ(want_.due_in, got_.due_in);				\
		EXPECT_EQ(want_.dead_for, got_.dead_for);			\
		EXPECT_EQ(want_.lease_left, got_.lease_left);			\
		EXPECT_EQ(want_.priority, got_.priority);			\
		EXPECT_EQ(want_.next_priority, got_.next_priority);		\
		EXPECT_EQ(want_.wait_priority, got_.wait_priority);		\
		EXPECT_EQ(want_.requeues, got_.requeues);			\
		EXPECT_EQ(want_.abandoned, got_.abandoned);			\
		EXPECT_EQ(want_.pid, got_.pid);					\
	} while (0)

/* Q15: every member, in every state by itself. */
TEST_F(list, each_state)
{
	const pid_t pid = getpid();
	struct kwq_listed item;
	__u64 ticket;

	ASSERT_EQ(KWQ_ADDED, q_add_priority(self->q, "key", -3));
	ASSERT_EQ(0, q_advance(self->q, SEC));
	item = look(self->q, "key");
	expect_listed(item, .state = KWQ_IS_READY, .order_of = KWQ_IS_READY, .dirty_for = SEC,
		      .priority = -3);

	ticket = take(self->q, "key");
	ASSERT_EQ(0, q_advance(self->q, 2 * SEC));
	item = look(self->q, "key");
	EXPECT_EQ(ticket, item.order);
	expect_listed(item, .state = KWQ_IS_PROCESSING, .order_of = KWQ_IS_PROCESSING,
		      .processing_for = 2 * SEC, .lease_left = HOUR - 2 * SEC, .priority = -3,
		      .pid = pid);
	ASSERT_EQ(0, q_extend(self->q, ticket));
	EXPECT_EQ(HOUR, look(self->q, "key").lease_left);

	ASSERT_EQ(KWQ_DIRTIED, q_add_priority(self->q, "key", 7));
	ASSERT_EQ(0, q_advance(self->q, SEC));
	expect_listed(look(self->q, "key"), .state = KWQ_IS_PROCESSING | KWQ_IS_DIRTY,
		      .order_of = KWQ_IS_PROCESSING, .processing_for = 3 * SEC, .dirty_for = SEC,
		      .lease_left = HOUR - SEC, .priority = -3, .next_priority = 7, .pid = pid);

	ASSERT_EQ(KWQ_REQUEUED, q_done(self->q, ticket));
	ASSERT_EQ(0, q_advance(self->q, SEC));
	expect_listed(look(self->q, "key"), .state = KWQ_IS_READY, .order_of = KWQ_IS_READY,
		      .dirty_for = 2 * SEC, .priority = 7);
	EXPECT_EQ(KWQ_WAS_READY, q_remove(self->q, "key"));

	/* 8 s have passed. */
	ASSERT_EQ(KWQ_WAITING, q_add_with(self->q, "w", KWQ_ADD_AFTER | KWQ_ADD_PRIORITY, 9,
					  10 * SEC));
	ASSERT_EQ(0, q_advance(self->q, 3 * SEC));
	item = look(self->q, "w");
	EXPECT_EQ((5 + 10) * SEC, item.order);
	expect_listed(item, .state = KWQ_IS_WAITING, .order_of = KWQ_IS_WAITING,
		      .waiting_for = 3 * SEC, .due_in = 7 * SEC, .wait_priority = 9);
	/* D2: a second delay moves the time, and the wait goes on. */
	ASSERT_EQ(KWQ_COALESCED, q_add_with(self->q, "w", KWQ_ADD_AFTER | KWQ_ADD_LATER, 0,
					    20 * SEC));
	expect_listed(look(self->q, "w"), .state = KWQ_IS_WAITING, .order_of = KWQ_IS_WAITING,
		      .waiting_for = 3 * SEC, .due_in = 20 * SEC, .wait_priority = 9);
	ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "none", SEC));
	EXPECT_EQ(KWQ_PRIORITY_NONE, look(self->q, "none").wait_priority);
	EXPECT_EQ(KWQ_WAS_WAITING, q_remove(self->q, "none"));
	EXPECT_EQ(KWQ_WAS_WAITING, q_remove(self->q, "w"));

	die(self->q, "d");
	ASSERT_EQ(0, q_advance(self->q, 4 * SEC));
	item = look(self->q, "d");
	EXPECT_EQ(1, item.order);
	expect_listed(item, .state = KWQ_IS_DEAD, .order_of = KWQ_IS_DEAD, .dead_for = 4 * SEC,
		      .requeues = 2);

	ASSERT_EQ(KWQ_ADDED, q_add_rate_limited(self->q, "i"));
	ASSERT_EQ(KWQ_FINISHED, q_done(self->q, take(self->q, "i")));
	item = look(self->q, "i");
	EXPECT_EQ(0, item.order);
	expect_listed(item, .state = KWQ_IS_REMEMBERED, .order_of = KWQ_IS_REMEMBERED,
		      .requeues = 1);
}

/* Q15: states that meet in one item, and what its order then is. */
TEST_F(list, states_together)
{
	const pid_t pid = getpid();
	struct listed_item listed;
	__u64 after = 0, ticket;

	/* Ready and waiting. */
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "rw"));
	ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "rw", HOUR));
	ASSERT_EQ(0, q_advance(self->q, SEC));
	expect_listed(look(self->q, "rw"), .state = KWQ_IS_READY | KWQ_IS_WAITING,
		      .order_of = KWQ_IS_READY, .dirty_for = SEC, .waiting_for = SEC,
		      .due_in = HOUR - SEC, .wait_priority = KWQ_PRIORITY_NONE);
	/* Whoever asks for waiting items gets them by their times. */
	ASSERT_EQ(1, q_list_page(self->q, &listed, 1, KWQ_IS_WAITING, &after));
	EXPECT_EQ(KWQ_IS_WAITING, listed.item.order_of);
	EXPECT_EQ(HOUR, listed.item.order);

	/* Processing and waiting, and then dirty, too. */
	ticket = take(self->q, "rw");
	ASSERT_EQ(0, q_advance(self->q, SEC));
	expect_listed(look(self->q, "rw"), .state = KWQ_IS_PROCESSING | KWQ_IS_WAITING,
		      .order_of = KWQ_IS_PROCESSING, .processing_for = SEC,
		      .waiting_for = 2 * SEC, .due_in = HOUR - 2 * SEC,
		      .lease_left = HOUR - SEC, .wait_priority = KWQ_PRIORITY_NONE, .pid = pid);
	ASSERT_EQ(KWQ_DIRTIED, q_add(self->q, "rw"));
	expect_listed(look(self->q, "rw"),
		      .state = KWQ_IS_PROCESSING | KWQ_IS_WAITING | KWQ_IS_DIRTY,
		      .order_of = KWQ_IS_PROCESSING, .processing_for = SEC, .dirty_for = SEC,
		      .waiting_for = 2 * SEC, .due_in = HOUR - 2 * SEC,
		      .lease_left = HOUR - SEC, .wait_priority = KWQ_PRIORITY_NONE, .pid = pid);
	after = 0;
	ASSERT_EQ(1, q_list_page(self->q, &listed, 1, KWQ_IS_DIRTY | KWQ_IS_WAITING, &after));
	EXPECT_EQ(KWQ_IS_PROCESSING, listed.item.order_of);
	EXPECT_EQ(ticket, listed.item.order);
	ASSERT_EQ(KWQ_REQUEUED | KWQ_STILL_WAITING, q_done(self->q, ticket));
	ASSERT_EQ(KWQ_WAS_READY | KWQ_WAS_WAITING, q_remove(self->q, "rw"));

	/* Processing, and dead at its done. */
	for (int n = 0; n < 2; n++) {
		ASSERT_EQ(KWQ_ADDED, q_add_rate_limited(self->q, "dying"));
		ticket = take(self->q, "dying");
		if (!n)
			ASSERT_EQ(KWQ_FINISHED, q_done(self->q, ticket));
	}
	ASSERT_EQ(KWQ_DEAD, q_add_rate_limited(self->q, "dying"));
	expect_listed(look(self->q, "dying"), .state = KWQ_IS_PROCESSING | KWQ_IS_DYING,
		      .order_of = KWQ_IS_PROCESSING, .lease_left = HOUR, .requeues = 2, .pid = pid);
	after = 0;
	EXPECT_EQ(0, q_list_page(self->q, &listed, 1, KWQ_IS_DEAD, &after));
	EXPECT_EQ(0, after);
	EXPECT_EQ(1, q_list_page(self->q, &listed, 1, KWQ_IS_DYING, &after));
	ASSERT_EQ(KWQ_FINISHED, q_done(self->q, ticket));
	EXPECT_EQ(KWQ_IS_DEAD, look(self->q, "dying").state);
}

/* Q15: only items that have one of the states. */
TEST_F(list, only_these_states)
{
	static const struct {
		__u32 states;
		const char *keys;
	} cases[] = {
		{ KWQ_IS_READY, "r" }, { KWQ_IS_WAITING, "pw" }, { KWQ_IS_PROCESSING, "dp" },
		{ KWQ_IS_DIRTY, "d" }, { KWQ_IS_DEAD, "x" }, { KWQ_IS_REMEMBERED, "i" },
		{ KWQ_IS_RETURNED, "" }, { KWQ_IS_DYING, "" },
		{ KWQ_IS_READY | KWQ_IS_DEAD, "rx" }, { KWQ_IS_DIRTY | KWQ_IS_WAITING, "dpw" },
		{ MAIN_STATES, "diprwx" }, { ALL_STATES, "diprwx" },
	};
	struct listed_item listed[8];

	die(self->q, "x");
	ASSERT_EQ(KWQ_ADDED, q_add_rate_limited(self->q, "i"));
	ASSERT_EQ(KWQ_FINISHED, q_done(self->q, take(self->q, "i")));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "d"));
	take(self->q, "d");
	ASSERT_EQ(KWQ_DIRTIED, q_add(self->q, "d"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "p"));
	take(self->q, "p");
	ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "p", SEC));
	ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "w", SEC));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "r"));

	for (int i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned int nr = list_all(self->q, listed, 8, 1, cases[i].states);

		EXPECT_EQ(strlen(cases[i].keys), nr) {
			TH_LOG("states %#x", cases[i].states);
		}
		for (unsigned int n = 0; n < nr; n++)
			EXPECT_NE(NULL, strchr(cases[i].keys, *listed[n].key));
	}
}

static int by_hand_out(const void *a, const void *b)
{
	const struct listed_item *one = a, *other = b;
	bool returned = one->item.state & KWQ_IS_RETURNED;

	if (one->item.priority != other->item.priority)
		return other->item.priority - one->item.priority;
	if (returned != !!(other->item.state & KWQ_IS_RETURNED))
		return returned ? -1 : 1;
	return one->item.order < other->item.order ? -1 : 1;
}

/* Q1, Q12, Q15, O1, O2: sorted by their order, ready items are as they will be handed out. */
TEST_F(list, order_of_ready_items)
{
	enum { KEYS = 200 };
	struct listed_item *listed = calloc(KEYS, sizeof(*listed));
	struct item items[8];
	__u64 random = 1;
	char key[16];
	int other;

	ASSERT_NE(NULL, listed);
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < KEYS; i++) {
			snprintf(key, sizeof(key), "%d", i);
			ASSERT_LE(0, q_add_priority(self->q, key, next_random(&random) % 4));
		}
		/* Some come back: ahead of their priority, or behind it. */
		other = q_reopen(self->q);
		ASSERT_EQ(8, q_get_many(other, items, 8, 0, KWQ_NO_DEADLINE));
		close(other);
		for (int i = 0; i < 20; i++) {
			snprintf(key, sizeof(key), "%d", (int)(next_random(&random) % KEYS));
			if (q_remove(self->q, key) >= 0)
				ASSERT_EQ(KWQ_ADDED, q_add(self->q, key));
		}
		ASSERT_EQ(KEYS, list_all(self->q, listed, KEYS, 50, KWQ_IS_READY));
		qsort(listed, KEYS, sizeof(*listed), by_hand_out);
		for (int i = 0; i < KEYS; i++)
			ASSERT_EQ(KWQ_FINISHED, q_done(self->q, take(self->q, listed[i].key)));
	}
	free(listed);
}

/* D7, D8: a time in another time namespace, and the end of the clock. */
TEST_F(list, times)
{
	int q = new_queue(self->dev);
	struct kwq_listed item;
	__u64 at;

	ASSERT_LE(0, q);
	at = now_ns() + HOUR;
	ASSERT_EQ(KWQ_WAITING, q_add_at(q, "w", at));
	EXPECT_EQ(at, look(q, "w").order);
	ASSERT_EQ(KWQ_WAITING, q_add_after(q, "end", ~0ULL));
	item = look(q, "end");
	EXPECT_EQ(TIME_MAX, item.order);
	EXPECT_LT(TIME_MAX - at, item.due_in);
	enter_time_namespace(1000);
	EXPECT_EQ(at + 1000 * SEC, look(q, "w").order);
	EXPECT_EQ(TIME_MAX, look(q, "end").order);
	close(q);
}

/* Q15: a page ends where its keys do not fit any more. */
TEST_F(list, room_for_keys)
{
	static const char long_key[] = "a key that is longer than the others";
	struct listed_item listed[4];
	__u64 after = 0, before;
	bool seen_long = false;
	int nr = 0, ret;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, long_key));
	EXPECT_EQ(-EMSGSIZE, q_list_into(self->q, listed, 4, 0, KWQ_IS_READY, NULL, &after));
	EXPECT_EQ(-EMSGSIZE, q_list_into(self->q, listed, 4, sizeof(long_key) - 2, KWQ_IS_READY,
					 NULL, &after));
	EXPECT_EQ(0, after);
	EXPECT_EQ(-EMSGSIZE, q_list_into(self->q, listed, 1, sizeof(long_key) - 2, KWQ_IS_READY,
					 long_key, &after));
	EXPECT_EQ(1, q_list_into(self->q, listed, 1, sizeof(long_key) - 1, KWQ_IS_READY,
				 long_key, &after));
	EXPECT_EQ(1, q_list_into(self->q, listed, 1, sizeof(long_key) - 1, KWQ_IS_READY, NULL,
				 &after));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "c"));

	/* An error leaves the place, and the same call with more room goes on there. */
	after = 0;
	do {
		before = after;
		ret = q_list_into(self->q, listed + nr, 4 - nr, 2, KWQ_IS_READY, NULL, &after);
		if (ret == -EMSGSIZE) {
			EXPECT_EQ(before, after);
			ret = q_list_into(self->q, listed + nr, 1, KEY_ROOM, KWQ_IS_READY, NULL,
					  &after);
			EXPECT_EQ(1, ret);
			EXPECT_STREQ(long_key, listed[nr].key);
			seen_long = true;
		}
		ASSERT_LE(0, ret);
		nr += ret;
	} while (after);
	EXPECT_EQ(3, nr);
	EXPECT_TRUE(seen_long);
}

/* Q15: keys of the greatest length, of which a hold of the lock takes only a few. */
TEST_F(list, longest_keys)
{
	enum { KEYS = 20 };
	static __u8 key[KWQ_KEY_MAX], room[KEYS * KWQ_KEY_MAX];
	struct kwq_listed entries[KEYS];
	struct kwq_list_items_args arg = {
		.size = sizeof(arg),
		.states = KWQ_IS_READY,
		.batch = {
			.entries = user_ptr(entries),
			.keys = user_ptr(room),
			.keys_len = sizeof(room),
			.nr = KEYS,
			.entry_size = sizeof(*entries),
		},
	};
	__u32 seen = 0;

	for (int i = 0; i < KEYS; i++) {
		key[0] = i;
		ASSERT_EQ(KWQ_ADDED, q_add_bytes(self->q, key, sizeof(key), 0, 0, 0));
	}
	ASSERT_EQ(KEYS, request(self->q, KWQ_IOC_LIST_ITEMS, &arg));
	for (int i = 0; i < KEYS; i++) {
		EXPECT_EQ(KWQ_KEY_MAX, entries[i].key_len);
		EXPECT_EQ(0, memcmp(room + i * KWQ_KEY_MAX + 1, key + 1, KWQ_KEY_MAX - 1));
		seen |= 1U << room[i * KWQ_KEY_MAX];
	}
	EXPECT_EQ((1U << KEYS) - 1, seen);
}

/* Q15: the state of one key. */
TEST_F(list, one_key)
{
	struct listed_item listed;
	__u64 after = 0;

	EXPECT_EQ(-ENOENT, q_look(self->q, "key", &listed));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "key"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "kex"));
	EXPECT_EQ(1, q_look(self->q, "key", &listed));
	EXPECT_STREQ("key", listed.key);
	EXPECT_EQ(-ENOENT, q_look(self->q, "ke", &listed));
	EXPECT_EQ(-ENOENT, q_look(self->q, "keyy", &listed));
	/* It is there, but in none of these states. */
	EXPECT_EQ(0, q_list_into(self->q, &listed, 1, KEY_ROOM, KWQ_IS_WAITING, "key", &after));
	EXPECT_EQ(0, after);
	EXPECT_EQ(KWQ_WAS_READY, q_remove(self->q, "key"));
	EXPECT_EQ(-ENOENT, q_look(self->q, "key", &listed));
}

/* U3: each value that the request refuses, and what it writes then. */
TEST_F(list, wrong_values)
{
	static __u8 key[KWQ_KEY_MAX + 1];
	struct kwq_listed entry;
	__u8 room[8];
	const struct kwq_list_items_args right = {
		.size = sizeof(right),
		.states = KWQ_IS_READY,
		.batch = {
			.entries = user_ptr(&entry),
			.keys = user_ptr(room),
			.keys_len = sizeof(room),
			.nr = 1,
			.entry_size = sizeof(entry),
		},
	};
	struct kwq_list_items_args arg;
	__u32 rights[] = { KWQ_RIGHT_WRITE, KWQ_RIGHT_MANAGE };

#define REFUSED(error, ...)							\
	do {									\
		arg = right;							\
		__VA_ARGS__;							\
		EXPECT_EQ(error, request(self->q, KWQ_IOC_LIST_ITEMS, &arg));	\
	} while (0)

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	poison(&entry, sizeof(entry));
	REFUSED(-EINVAL, arg.states = 0);
	for (int bit = 0; bit < 32; bit++) {
		if (!(ALL_STATES & 1U << bit))
			REFUSED(-EINVAL, arg.states |= 1U << bit);
		if (!((KWQ_LIST_KEY | KWQ_LIST_VALUES | KWQ_LIST_NOTES) & 1U << bit))
			REFUSED(-EINVAL, arg.flags = 1U << bit);
		REFUSED(-EINVAL, arg.batch.extra_size = 1U << bit);
	}
	REFUSED(-EINVAL, arg.key = user_ptr(key));
	REFUSED(-EINVAL, arg.key_len = 1);
	REFUSED(-EINVAL, arg.flags = KWQ_LIST_KEY, arg.key = user_ptr(key));
	REFUSED(-EINVAL, arg.flags = KWQ_LIST_KEY, arg.key = user_ptr(key), arg.key_len = 1,
		arg.after = 1);
	REFUSED(-EMSGSIZE, arg.flags = KWQ_LIST_KEY, arg.key = user_ptr(key),
		arg.key_len = KWQ_KEY_MAX + 1);
	REFUSED(-EMSGSIZE, arg.flags = KWQ_LIST_KEY, arg.key = user_ptr(key), arg.key_len = ~0U);
	REFUSED(-ENOENT, arg.flags = KWQ_LIST_KEY, arg.key = user_ptr(key),
		arg.key_len = KWQ_KEY_MAX);
	REFUSED(-EFAULT, arg.flags = KWQ_LIST_KEY, arg.key = 8, arg.key_len = 1);
	REFUSED(-EINVAL, arg.batch.nr = 0);
	REFUSED(-EINVAL, memset(&arg.batch, 0, sizeof(arg.batch)));
	REFUSED(-EMSGSIZE, arg.batch.nr = KWQ_BATCH_MAX + 1);
	REFUSED(-EINVAL, arg.batch.results = user_ptr(room));
	REFUSED(-EINVAL, arg.batch.entry_size--);
	REFUSED(-EINVAL, arg.batch.entry_size = 4097);
	REFUSED(-EINVAL, arg.batch.keys_len = 0);
	REFUSED(-EMSGSIZE, arg.batch.keys_len = 0, arg.batch.keys = 0);
	REFUSED(-EFAULT, arg.batch.keys = 8);
	EXPECT_TRUE(is_poison(&entry.order, 8) || entry.order);
	poison(&entry, sizeof(entry));
	REFUSED(-EFAULT, arg.batch.entries = 8);
	EXPECT_TRUE(is_poison(&entry, sizeof(entry)));
	for (int i = 0; i < ARRAY_SIZE(rights); i++) {
		int q = q_open_with(self->q, NULL, rights[i], O_CLOEXEC);

		arg = right;
		EXPECT_EQ(-EBADF, request(q, KWQ_IOC_LIST_ITEMS, &arg));
		close(q);
	}
	REFUSED(1);
#undef REFUSED
}

/* O6: the kernel takes any place to go on from, and a list ends from everywhere. */
TEST_F(list, any_place)
{
	struct listed_item listed[64];
	__u64 random = 3, after;
	char key[16];
	int ret;

	for (int i = 0; i < 64; i++) {
		snprintf(key, sizeof(key), "%d", i);
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, key));
	}
	for (int i = 0; i < 1000; i++) {
		after = (__u64)next_random(&random) << 33 | next_random(&random);
		do {
			ret = q_list_page(self->q, listed, 64, KWQ_IS_READY, &after);
			ASSERT_LE(0, ret);
			ASSERT_GE(64, ret);
		} while (after);
	}
	after = ~0ULL;
	EXPECT_EQ(0, q_list_page(self->q, listed, 64, KWQ_IS_READY, &after));
	EXPECT_EQ(0, after);
	after = 1;
	EXPECT_EQ(64, q_list_page(self->q, listed, 64, KWQ_IS_READY, &after));
}

/* ---- The holder's process ---- */

/* Gets an item through the handle that it shares or owns, tells its pid, and waits. */
static int get_and_wait(struct peer *parent, void *arg)
{
	struct item item;

	REQUIRE(q_try_get(*(int *)arg, &item) == 1);
	say(parent, getpid());
	hear(parent);
	return 0;
}

/* Q15: the process that got last through the handle; if that is gone, the one that opened it. */
TEST_F(list, pid_of_the_getter)
{
	int other = q_reopen(self->q);
	struct peer p;
	int pid;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	take(self->q, "a");
	start_peer(&p, get_and_wait, &other);
	pid = hear(&p);
	EXPECT_EQ(p.pid, pid);
	EXPECT_EQ(pid, look(self->q, "b").pid);
	EXPECT_EQ(getpid(), look(self->q, "a").pid);
	/* Its process is gone, but this one still has the handle. A shell's worker looks so. */
	say(&p, 0);
	ASSERT_EQ(0, end_of_peer(&p));
	EXPECT_EQ(getpid(), look(self->q, "b").pid);
	EXPECT_EQ(KWQ_IS_PROCESSING, look(self->q, "b").state);
	/* This process gets through that handle, and has its item, too. */
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "c"));
	take(other, "c");
	EXPECT_EQ(getpid(), look(self->q, "b").pid);
	close(other);
	EXPECT_EQ(0, look(self->q, "b").pid);
}

/* Q15: a thread gets for its process. */
static void *get_in_thread(void *q)
{
	take(*(int *)q, "a");
	return NULL;
}

TEST_F(list, pid_of_a_thread)
{
	pthread_t thread;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(0, pthread_create(&thread, NULL, get_in_thread, &self->q));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(getpid(), look(self->q, "a").pid);
}

/* Opens a handle, gets an item through it, tells its descriptor, and waits. */
static int open_and_get(struct peer *parent, void *arg)
{
	int q = q_reopen(*(int *)arg);

	take(q, "a");
	say(parent, q);
	hear(parent);
	return 0;
}

/* Q15: nobody is left to tell of, but whoever has a copy of the handle still holds the item. */
TEST_F(list, pid_of_nobody)
{
	struct peer p;
	int pidfd, copy;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	start_peer(&p, open_and_get, &self->q);
	pidfd = syscall(SYS_pidfd_open, p.pid, 0);
	copy = syscall(SYS_pidfd_getfd, pidfd, hear(&p), 0);
	ASSERT_LE(0, copy);
	EXPECT_EQ(p.pid, look(self->q, "a").pid);
	say(&p, 0);
	ASSERT_EQ(0, end_of_peer(&p));
	EXPECT_EQ(0, look(self->q, "a").pid);
	EXPECT_EQ(KWQ_IS_PROCESSING, look(self->q, "a").state);
	close(copy);
	close(pidfd);
}

/* Lists from a new pid namespace, in which it is the first process. */
static int look_from_inside(struct peer *parent, void *arg)
{
	int q = *(int *)arg;

	REQUIRE(getpid() == 1);
	say(parent, look(q, "outside").pid);
	take(q, "inside");
	say(parent, look(q, "inside").pid);
	hear(parent);
	return 0;
}

/* Q15: process ids are those of the reader's namespace; 0 stands for one outside of it. */
TEST_F(list, pid_namespace)
{
	int inside = q_reopen(self->q);
	struct peer p;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "outside"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "inside"));
	take(self->q, "outside");
	ASSERT_EQ(0, unshare(CLONE_NEWPID));
	start_peer(&p, look_from_inside, &inside);
	EXPECT_EQ(0, hear(&p));
	EXPECT_EQ(1, hear(&p));
	EXPECT_EQ(p.pid, look(self->q, "inside").pid);
	EXPECT_EQ(getpid(), look(self->q, "outside").pid);
	say(&p, 0);
	ASSERT_EQ(0, end_of_peer(&p));
	EXPECT_EQ(getpid(), look(self->q, "inside").pid);
	close(inside);
}

/* ---- Ages ---- */

#define MANY	2000

/* Lists a page of ready items, for ever. */
static void list_for_ever(int q, int told)
{
	static struct kwq_listed entries[KWQ_BATCH_MAX];
	static __u8 keys[KWQ_BATCH_MAX * 16];
	struct kwq_list_items_args args = {
		.size = sizeof(args),
		.states = KWQ_IS_READY,
		.batch = {
			.entries = user_ptr(entries),
			.keys = user_ptr(keys),
			.keys_len = sizeof(keys),
			.nr = KWQ_BATCH_MAX,
			.entry_size = sizeof(entries[0]),
		},
	};

	REQUIRE(request(q, KWQ_IOC_LIST_ITEMS, &args) == KWQ_BATCH_MAX);
	REQUIRE(write(told, "", 1) == 1);
	for (;;) {
		args.after = 0;
		REQUIRE(request(q, KWQ_IOC_LIST_ITEMS, &args) == KWQ_BATCH_MAX);
	}
}

/* O8: a list that takes long ends when its program is killed. The queue works on. */
TEST_F(list, killed)
{
	char key[16], byte;
	int status;

	for (int i = 0; i < MANY; i++) {
		snprintf(key, sizeof(key), "%d", i);
		ASSERT_EQ(KWQ_ADDED, q_add(self->q, key));
	}
	for (int i = 0; i < 30; i++) {
		int told[2];
		pid_t pid;

		ASSERT_EQ(0, pipe(told));
		pid = fork();
		if (!pid)
			list_for_ever(self->q, told[1]);
		close(told[1]);
		ASSERT_EQ(1, read(told[0], &byte, 1));
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		close(told[0]);
	}
	check_stat(self->q, .ready = MANY, .items = MANY);
}

/* ---- While the queue works ---- */

struct work {
	int q;
	atomic_ullong moves;
	atomic_bool stop;
};

/* Adds and removes keys that are not looked for, in waves, so that the table grows and shrinks. */
static int come_and_go(struct peer *parent, void *arg)
{
	struct work *work = arg;
	char key[16];

	(void)parent;
	while (!atomic_load(&work->stop)) {
		for (int i = 0; i < 3000; i++) {
			snprintf(key, sizeof(key), "x%d", i);
			REQUIRE(q_add_after(work->q, key, HOUR) >= 0);
		}
		for (int i = 0; i < 3000; i++) {
			snprintf(key, sizeof(key), "x%d", i);
			REQUIRE(q_remove(work->q, key) == KWQ_WAS_WAITING);
		}
		atomic_fetch_add(&work->moves, 1);
	}
	return 0;
}

/* Gets keys, adds them again and finishes them, so that each is always in the queue. */
static int get_and_add(struct peer *parent, void *arg)
{
	struct work *work = arg;
	int q = q_reopen(work->q);
	struct item item;

	(void)parent;
	REQUIRE(q >= 0);
	while (!atomic_load(&work->stop)) {
		if (q_try_get(q, &item) != 1)
			continue;
		REQUIRE(q_add(q, item.key) >= 0);
		REQUIRE(q_done(q, item.ticket) == KWQ_REQUEUED);
		atomic_fetch_add(&work->moves, 1);
	}
	return 0;
}

/*
 * Q15: items that stay in the queue are listed exactly once in each listing, and the others at
 * most once, while workers take them and others come and go.
 */
static void list_while(struct __test_metadata *_metadata, struct work *work, int keys, int pages,
		       int rounds)
{
	struct listed_item *listed = calloc(pages, sizeof(*listed));
	__u8 *seen = malloc(keys), *seen_other = malloc(3000);
	__u64 after;
	int ret;

	REQUIRE(listed && seen && seen_other);
	for (int round = 0; round < rounds; round++) {
		memset(seen, 0, keys);
		memset(seen_other, 0, 3000);
		after = 0;
		do {
			ret = q_list_page(work->q, listed, pages, ALL_STATES, &after);
			ASSERT_LE(0, ret);
			for (int i = 0; i < ret; i++) {
				bool other = *listed[i].key == 'x';
				__u8 *times = other ? &seen_other[atoi(listed[i].key + 1)] :
						      &seen[atoi(listed[i].key)];

				ASSERT_EQ(0, *times);
				++*times;
			}
		} while (after);
		ASSERT_TRUE(is_filled(seen, 1, keys));
	}
	free(seen_other);
	free(seen);
	free(listed);
}

static void run_while_working(struct __test_metadata *_metadata, int q, int keys, int pages,
			      int rounds)
{
	struct work *work = shared(sizeof(*work));
	struct peer goer, getter;
	struct batch *b = new_batch();
	char key[16];

	work->q = q;
	for (int i = 0; i < keys;) {
		batch_begin(b);
		for (int n = 0; n < 1000 && i < keys; n++, i++) {
			snprintf(key, sizeof(key), "%d", i);
			batch_add(b, key);
		}
		ASSERT_LE(1, batch_run(q, KWQ_IOC_ADD, b));
	}
	free(b);
	start_peer(&goer, come_and_go, work);
	start_peer(&getter, get_and_add, work);
	list_while(_metadata, work, keys, pages, rounds);
	/* At least something has happened meanwhile. */
	while (atomic_load(&work->moves) < 100)
		usleep(1000);
	atomic_store(&work->stop, true);
	EXPECT_EQ(0, end_of_peer(&goer));
	EXPECT_EQ(0, end_of_peer(&getter));
}

TEST_F(list, small_while_it_works)
{
	run_while_working(_metadata, self->q, 500, 7, 20);
}

TEST_F(list, single_entries_while_it_works)
{
	run_while_working(_metadata, self->q, 300, 1, 10);
}

TEST_F(list, large_while_it_works)
{
	int q = new_queue(self->dev);

	ASSERT_LE(0, q);
	run_while_working(_metadata, q, 100000, 1024, 3);
	close(q);
}

/* Q15, Q8: a shut down between two pages drops waiting and dead items, and the list goes on. */
TEST_F(list, shut_down_meanwhile)
{
	struct listed_item listed[8];
	__u64 after = 0;
	int nr;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	take(self->q, "a");
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "c", SEC));
	nr = q_list_page(self->q, listed, 1, ALL_STATES, &after);
	ASSERT_EQ(1, nr);
	ASSERT_EQ(0, q_shut_down(self->q));
	while (after) {
		int ret = q_list_page(self->q, listed + nr, 1, ALL_STATES, &after);

		ASSERT_LE(0, ret);
		nr += ret;
	}
	EXPECT_LE(2, nr);
	EXPECT_EQ(2, list_all(self->q, listed, 8, 8, ALL_STATES));
}

TEST_HARNESS_MAIN

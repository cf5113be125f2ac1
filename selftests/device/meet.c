// SPDX-License-Identifier: GPL-2.0-only
/*
 * What happens where two features meet. kwq(7) says so in "WHERE FEATURES MEET", and the tests
 * are in the order of that section. All times are those of a manual clock.
 */
#include "kwq_test.h"

static int create_with(int dev, __u64 max_items)
{
	const struct kwq_create_args create = {
		.size = sizeof(create),
		.flags = KWQ_CREATE_VALUES | KWQ_CREATE_GROUPS,
		.open_flags = O_CLOEXEC,
		.clockid = KWQ_CLOCK_ID_MANUAL,
		.rights = ALL_RIGHTS,
		.max_items = max_items,
		.group_limit = 1,
		.aging = 100,
	};

	return request(dev, KWQ_IOC_CREATE, (void *)&create);
}

TWO_HANDLES_FIXTURE(meet, create_with(self->dev, 0))

static int add_with(int q, const char *key, const struct kwq_add_entry *options,
		    const struct kwq_add_extra *extra)
{
	struct kwq_add_entry entry = *options;
	__s32 result = -EIO;
	const struct kwq_batch_args args = {
		.size = sizeof(args),
		.batch = {
			.entries = user_ptr(&entry),
			.keys = user_ptr(key),
			.results = user_ptr(&result),
			.extras = user_ptr(extra),
			.keys_len = strlen(key),
			.nr = 1,
			.entry_size = sizeof(entry),
			.extra_size = sizeof(*extra),
		},
	};
	int ret;

	entry.key_len = strlen(key);
	ret = request(q, KWQ_IOC_ADD, (void *)&args);
	return ret == 1 ? result : ret;
}

static int add_to_group(int q, const char *key, const char *group)
{
	const struct kwq_add_entry options = { .flags = KWQ_ADD_GROUP };
	const struct kwq_add_extra extra = {
		.group = user_ptr(group), .group_len = strlen(group),
	};

	return add_with(q, key, &options, &extra);
}

static int add_value(int q, const char *key, const char *value)
{
	const struct kwq_add_entry options = { .flags = KWQ_ADD_VALUE };
	const struct kwq_add_extra extra = {
		.value = user_ptr(value), .value_len = strlen(value),
	};

	return add_with(q, key, &options, &extra);
}

static int debounce(int q, const char *key, __u64 after, __u64 at_most)
{
	const struct kwq_add_entry options = {
		.flags = KWQ_ADD_AFTER | KWQ_ADD_REPLACE | KWQ_ADD_AT_MOST, .time = after,
	};
	const struct kwq_add_extra extra = { .at_most = at_most };

	return add_with(q, key, &options, &extra);
}

/* Gets a key and its value, which are @text when they stand behind each other. */
#define EXPECT_TEXT(q, text) ({							\
	char room_[256] = "";							\
	struct kwq_got got_ = {};						\
	struct kwq_got_extra extra_;						\
	struct kwq_get_args args_ = {						\
		.size = sizeof(args_),						\
		.flags = KWQ_GET_NONBLOCK,					\
		.get = {							\
			.entries = user_ptr(&got_), .extras = user_ptr(&extra_),	\
			.keys = user_ptr(room_), .keys_len = sizeof(room_) - 1,	\
			.nr = 1, .entry_size = sizeof(got_), .extra_size = sizeof(extra_), \
		},								\
	};									\
										\
	EXPECT_EQ(1, request(q, KWQ_IOC_GET, &args_));				\
	EXPECT_STREQ(text, room_);						\
	got_.ticket;								\
})

#define EXPECT_NOTHING(q) ({							\
	struct item item_;							\
										\
	EXPECT_EQ(-EAGAIN, q_try_get(q, &item_));				\
})

/* Q14 Q9 */
TEST_F(meet, paused_queue_is_drained)
{
	struct sleeper drain;

	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(0, q_pause_for(self->q, 10));
	start_drain(&drain, self->q);
	EXPECT_NOTHING(self->other);
	EXPECT_FALSE(atomic_load(&drain.ended));
	EXPECT_EQ(0, q_advance(self->q, 10));
	expect_take(self->other, "a");
	EXPECT_EQ(0, sleeper_join(&drain));
}

/* Q14 Q16: the end of a pause wakes only for items whose group lets them go. */
TEST_F(meet, pause_and_group_at_its_limit)
{
	struct item item;
	struct kwq_stat stat;

	EXPECT_EQ(KWQ_ADDED, add_to_group(self->q, "a1", "a"));
	EXPECT_EQ(KWQ_ADDED, add_to_group(self->q, "a2", "a"));
	EXPECT_EQ(1, q_try_get(self->q, &item));
	EXPECT_EQ(0, q_pause(self->q));
	EXPECT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(1, stat.blocked);
	EXPECT_EQ(0, q_resume(self->q));
	EXPECT_NOTHING(self->other);
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	expect_take(self->other, "a2");
}

/* Q16 Q8 Q9: items of a group at its limit are handed out after a shut down, in their turn. */
TEST_F(meet, group_at_its_limit_and_shut_down)
{
	struct sleeper getter, drain;
	struct item item;

	EXPECT_EQ(KWQ_ADDED, add_to_group(self->q, "a1", "a"));
	EXPECT_EQ(KWQ_ADDED, add_to_group(self->q, "a2", "a"));
	EXPECT_EQ(1, q_try_get(self->q, &item));
	start_drain(&drain, self->q);
	start_get(&getter, self->other);
	EXPECT_FALSE(atomic_load(&getter.ended));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	EXPECT_EQ(1, sleeper_join(&getter));
	EXPECT_FALSE(atomic_load(&drain.ended));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->other, getter.item.ticket));
	EXPECT_EQ(0, sleeper_join(&drain));
	EXPECT_EQ(-ESHUTDOWN, q_try_get(self->q, &item));
}

/* Q18 O1: the newer value counts. */
TEST_F(meet, value_of_a_lost_item)
{
	EXPECT_EQ(KWQ_ADDED, add_value(self->q, "k", "1"));
	EXPECT_TEXT(self->other, "k1");
	EXPECT_EQ(KWQ_DIRTIED, add_value(self->q, "k", "2"));
	close(self->other);
	self->other = q_reopen(self->q);
	ASSERT_LE(0, self->other);
	EXPECT_TEXT(self->q, "k2");
}

/* Q18 D2: a value counts from its add, and not from the time for which the item waits. */
TEST_F(meet, value_of_a_waiting_item)
{
	const struct kwq_add_entry later = { .flags = KWQ_ADD_AFTER | KWQ_ADD_VALUE, .time = 10 };
	const struct kwq_add_extra second = { .value = user_ptr("2"), .value_len = 1 };

	EXPECT_EQ(KWQ_ADDED, add_value(self->q, "k", "1"));
	EXPECT_EQ(KWQ_WAITING, add_with(self->q, "k", &later, &second));
	EXPECT_EQ(KWQ_STILL_WAITING, q_done(self->q, EXPECT_TEXT(self->q, "k2")));
	EXPECT_EQ(0, q_advance(self->q, 10));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, EXPECT_TEXT(self->q, "k2")));
}

/* D9 D3 */
TEST_F(meet, debounce_of_a_dirty_key)
{
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_WAITING, debounce(self->q, "a", 10, 15));
	EXPECT_EQ(0, q_advance(self->q, 9));
	EXPECT_EQ(KWQ_COALESCED, debounce(self->q, "a", 10, 15));
	/* It is still ready, so its time coalesces. */
	EXPECT_EQ(0, q_advance(self->q, 6));
	expect_take(self->q, "a");
	EXPECT_NOTHING(self->q);
	EXPECT_EQ(0, q_advance(self->q, 100));
	EXPECT_NOTHING(self->q);
}

/* Q17 O1: an item that was lost starts over, and O2: one that did not arrive does not. */
TEST_F(meet, aging_of_items_that_go_back)
{
	struct kwq_get_args get = { .size = sizeof(get), .flags = KWQ_GET_NONBLOCK };
	struct item item;
	struct kwq_got got;

	EXPECT_EQ(KWQ_ADDED, q_add_priority(self->q, "old", 0));
	EXPECT_EQ(0, q_advance(self->q, 250));
	EXPECT_EQ(KWQ_ADDED, q_add_priority(self->q, "young", 1));
	/* 250 ns are two priorities. Its hand-out fails, and it stays first. */
	get.get.entries = user_ptr(&got);
	get.get.keys = 1;
	get.get.keys_len = 100;
	get.get.nr = 1;
	get.get.entry_size = sizeof(got);
	EXPECT_EQ(-EFAULT, request(self->q, KWQ_IOC_GET, &get));
	EXPECT_EQ(1, q_try_get(self->other, &item));
	EXPECT_EQ(3, item.key_len);
	/* Its holder is lost. */
	close(self->other);
	self->other = q_reopen(self->q);
	ASSERT_LE(0, self->other);
	expect_take(self->q, "young");
	expect_take(self->q, "old");
}

/* Q19 Q16 Q18: an add that waits for room keeps its group and its value. */
TEST_F(meet, room_for_a_value_and_a_group)
{
	const struct kwq_add_entry entry = {
		.key_len = 1, .flags = KWQ_ADD_VALUE | KWQ_ADD_GROUP,
	};
	const struct kwq_add_extra extra = {
		.value = user_ptr("2"), .value_len = 1, .group = user_ptr("g"), .group_len = 1,
	};
	int q = create_with(self->dev, 1);
	__s32 result = 99;
	const struct kwq_add_args args = {
		.size = sizeof(args),
		.flags = KWQ_ADD_WAIT,
		.deadline = 10,
		.batch = {
			.entries = user_ptr(&entry), .keys = user_ptr("b"),
			.results = user_ptr(&result), .extras = user_ptr(&extra),
			.keys_len = 1, .nr = 1, .entry_size = sizeof(entry),
			.extra_size = sizeof(extra),
		},
	};

	ASSERT_LE(0, q);
	EXPECT_EQ(KWQ_ADDED, q_add(q, "a"));
	EXPECT_EQ(0, q_advance(q, 10));
	/* The deadline has passed. */
	EXPECT_EQ(-ETIMEDOUT, request(q, KWQ_IOC_ADD, (void *)&args));
	expect_take(q, "a");
	EXPECT_EQ(1, request(q, KWQ_IOC_ADD, (void *)&args));
	EXPECT_EQ(KWQ_ADDED, result);
	EXPECT_TEXT(q, "bg2");
	close(q);
}

/* L11 Q16 Q18: a dead item keeps its group and its value. */
TEST_F(meet, dead_item_keeps_what_it_has)
{
	const struct kwq_config config = { .size = sizeof(config), .dead_after_lost = 1 };
	struct kwq_stat stat;

	EXPECT_EQ(0, q_configure(self->q, &config));
	EXPECT_EQ(KWQ_ADDED, add_value(self->q, "k", "1"));
	EXPECT_EQ(KWQ_COALESCED, add_to_group(self->q, "k", "g"));
	EXPECT_TEXT(self->other, "kg1");
	close(self->other);
	self->other = q_reopen(self->q);
	ASSERT_LE(0, self->other);
	EXPECT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(1, stat.dead);
	EXPECT_EQ(1, stat.groups);
	EXPECT_EQ(KWQ_ADDED, q_kick(self->q, "k"));
	EXPECT_TEXT(self->q, "kg1");
}

TEST_HARNESS_MAIN

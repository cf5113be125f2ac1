// SPDX-License-Identifier: GPL-2.0-only
/* Groups of a queue of keys (Q16): their names, their memory, and what handles see of them. */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/kwq.h>
#include <linux/string.h>
#include "keyed/hold.h"
#include "keyed_ops.h"
#include "tests/thread.h"

static const struct kwq_limits grouped = {
	.max_items = 1 << 20,
	.max_bytes = 1 << 30,
	.group_limit = 1,
	.groups = true,
};

struct groups_test {
	KWQ_TEST_HANDLES;
	struct kwq_stat stat;
};

static int groups_test_init(struct kunit *test)
{
	return kwq_test_begin(test, sizeof(struct groups_test), &grouped, KWQ_RIGHT_READ);
}

static int add_with(struct groups_test *t, const char *key, const char *group,
		    const struct kwq_add_options *options)
{
	const struct kwq_key k = key_of(key);
	struct kwq_extras extras = {
		.flags = KWQ_ADD_GROUP,
		.group = key_of(group),
	};

	return kwq_keyed_add_with(t->keyed, &k, options, &extras);
}

static int add(struct groups_test *t, const char *key, const char *group)
{
	return add_with(t, key, group, &(struct kwq_add_options){});
}

static int add_plain(struct groups_test *t, const char *key)
{
	const struct kwq_key k = key_of(key);

	return kwq_keyed_add(t->keyed, &k, &(struct kwq_add_options){});
}

/* The next item of a get: "key/group", or an error. */
struct got {
	char what[80];
	u64 ticket;
};

static int get(struct kwq_handle *handle, struct got *got)
{
	struct kwq_got_more more = { .max_bytes = 64 };
	struct kwq_got item;
	u8 bytes[64];
	struct kwq_got_buffer buffer = {
		.got = &item,
		.more = &more,
		.keys = bytes,
		.max_items = 1,
		.max_key_bytes = sizeof(bytes),
	};
	int ret = kwq_handle_get(handle, &buffer, &at_once);

	if (ret < 0)
		return ret;
	got->ticket = item.ticket;
	snprintf(got->what, sizeof(got->what), "%.*s/%.*s", (int)item.key_len, bytes,
		 (int)more.group_len, bytes + item.key_len);
	return 0;
}

#define EXPECT_GET(test, handle, got, expected)				\
do {									\
	KUNIT_ASSERT_EQ(test, get(handle, got), 0);			\
	KUNIT_EXPECT_STREQ(test, (got)->what, expected);		\
} while (0)

#define EXPECT_NOTHING(test, handle)					\
do {									\
	struct got none;						\
									\
	KUNIT_EXPECT_EQ(test, get(handle, &none), -EAGAIN);		\
} while (0)

static const struct kwq_stat *stat_of(struct groups_test *t)
{
	kwq_keyed_stat(t->keyed, &t->stat);
	return &t->stat;
}

#define EXPECT_GROUPS(test, t, nr_groups, nr_blocked)			\
do {									\
	const struct kwq_stat *stat = stat_of(t);			\
									\
	KUNIT_EXPECT_EQ(test, stat->groups, nr_groups);			\
	KUNIT_EXPECT_EQ(test, stat->blocked, nr_blocked);		\
} while (0)

static int done(struct kwq_handle *handle, const struct got *got)
{
	return kwq_handle_done(handle, got->ticket, 0);
}

static void groups_take_turns(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct got got;

	add(t, "a1", "a");
	add(t, "a2", "a");
	add(t, "b1", "b");
	add_plain(t, "c1");
	add(t, "c2", "");
	EXPECT_GROUPS(test, t, 2, 1);
	EXPECT_GET(test, t->x, &got, "a1/a");
	EXPECT_GET(test, t->y, &got, "b1/b");
	EXPECT_GET(test, t->x, &got, "c1/");
	EXPECT_GET(test, t->x, &got, "c2/");
	EXPECT_NOTHING(test, t->x);
	EXPECT_GROUPS(test, t, 2, 1);
}

static void limit_counts_over_all_handles(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct got got;

	add(t, "a1", "a");
	add(t, "a2", "a");
	EXPECT_GET(test, t->x, &got, "a1/a");
	EXPECT_NOTHING(test, t->y);
	KUNIT_EXPECT_EQ(test, done(t->x, &got), KWQ_FINISHED);
	EXPECT_GET(test, t->y, &got, "a2/a");
	EXPECT_NOTHING(test, t->x);
	done(t->y, &got);
	EXPECT_GROUPS(test, t, 0, 0);
}

/* O1 */
static void closed_handle_frees_its_places(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct got got;

	add(t, "a1", "a");
	add(t, "a2", "a");
	EXPECT_GET(test, t->x, &got, "a1/a");
	kwq_handle_close(t->x);
	t->x = kwq_handle_open(t->keyed, KWQ_RIGHT_READ);
	EXPECT_GET(test, t->y, &got, "a1/a");
	EXPECT_NOTHING(test, t->y);
}

/* O2 */
static void undone_get_frees_its_place(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_got item = {};
	struct got got;

	add(t, "a1", "a");
	add(t, "a2", "a");
	EXPECT_GET(test, t->x, &got, "a1/a");
	item.ticket = got.ticket;
	kwq_handle_unget(t->x, &item, 1);
	EXPECT_GET(test, t->y, &got, "a1/a");
}

/* O3 */
static void lease_frees_its_place(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_limits limits = grouped;
	struct got got;

	limits.lease = 10;
	kwq_test_open_again(test, &limits, KWQ_RIGHT_READ);
	add(t, "a1", "a");
	add(t, "a2", "a");
	EXPECT_GET(test, t->x, &got, "a1/a");
	add(t, "a1", "b");
	kwq_keyed_advance(t->keyed, 10, false);
	KUNIT_EXPECT_EQ(test, done(t->x, &got), -ESTALE);
	EXPECT_GET(test, t->y, &got, "a1/b");
	EXPECT_GET(test, t->y, &got, "a2/a");
}

/* A group is gone with its last item, whatever ends it. */
static void group_lives_as_long_as_its_items(struct kunit *test)
{
	struct groups_test *t = test->priv;
	const struct kwq_key a = key_of("a1"), b = key_of("b1");
	u64 empty = stat_of(t)->bytes;
	struct got got;

	add(t, "a1", "a");
	EXPECT_GROUPS(test, t, 1, 0);
	KUNIT_EXPECT_GT(test, stat_of(t)->bytes, kwq_item_bytes(t->keyed, 2));
	kwq_keyed_remove(t->keyed, &a, 0);
	EXPECT_GROUPS(test, t, 0, 0);
	KUNIT_EXPECT_EQ(test, stat_of(t)->bytes, empty);

	/* A waiting item counts, and one that is being processed. */
	add_with(t, "a1", "a", &(struct kwq_add_options){ .flags = KWQ_ADD_AFTER, .time = 10 });
	add_with(t, "b1", "b", &(struct kwq_add_options){ .flags = KWQ_ADD_AFTER, .time = 10 });
	EXPECT_GROUPS(test, t, 2, 0);
	kwq_keyed_advance(t->keyed, 10, false);
	EXPECT_GET(test, t->x, &got, "a1/a");
	EXPECT_GROUPS(test, t, 2, 0);
	done(t->x, &got);
	EXPECT_GROUPS(test, t, 1, 0);
	kwq_keyed_remove(t->keyed, &b, 0);
	EXPECT_GROUPS(test, t, 0, 0);
	KUNIT_EXPECT_EQ(test, stat_of(t)->bytes, empty);
}

static void moved_item_leaves_its_group(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct got got, other;

	add(t, "a1", "a");
	KUNIT_EXPECT_EQ(test, add(t, "a1", "b"), KWQ_COALESCED);
	EXPECT_GROUPS(test, t, 1, 0);
	/* An add without a group keeps it. */
	KUNIT_EXPECT_EQ(test, add_plain(t, "a1"), KWQ_COALESCED);
	EXPECT_GET(test, t->x, &got, "a1/b");

	/* The run counts in b until it ends. The group lives as long. */
	KUNIT_EXPECT_EQ(test, add(t, "a1", "c"), KWQ_DIRTIED);
	EXPECT_GROUPS(test, t, 2, 0);
	add(t, "b1", "b");
	EXPECT_GROUPS(test, t, 2, 1);
	EXPECT_NOTHING(test, t->y);
	KUNIT_EXPECT_EQ(test, done(t->x, &got), KWQ_REQUEUED);
	EXPECT_GET(test, t->y, &other, "b1/b");
	EXPECT_GET(test, t->x, &got, "a1/c");
	/* Out of any group. */
	KUNIT_EXPECT_EQ(test, add(t, "a1", ""), KWQ_DIRTIED);
	done(t->y, &other);
	EXPECT_GROUPS(test, t, 1, 0);
	done(t->x, &got);
	EXPECT_GROUPS(test, t, 0, 0);
	EXPECT_GET(test, t->x, &got, "a1/");
	done(t->x, &got);
}

/* A name may come back while its former group waits for the unlock that frees it. */
static void group_ends_and_begins_in_one_hold(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_stock stock = {};
	struct kwq_key name = key_of("a"), key = key_of("a2");
	struct kwq_extras extras = { .flags = KWQ_ADD_GROUP };
	struct got got;
	unsigned long flags;

	add(t, "a1", "a");
	EXPECT_GET(test, t->x, &got, "a1/a");
	kwq_key_hash(&name);
	kwq_key_hash(&key);
	extras.group = name;
	stock.wants_item = true;
	stock.wants_group = true;
	KUNIT_ASSERT_EQ(test, kwq_stock_fill(&stock, t->keyed, &key, &extras, 1), 0);
	spin_lock_irqsave(&t->keyed->queue.lock, flags);
	KUNIT_EXPECT_EQ(test, kwq_handle_end_locked(t->x, got.ticket, NULL, 0, 0), KWQ_FINISHED);
	KUNIT_EXPECT_NOT_NULL(test, t->keyed->gone_memory);
	KUNIT_EXPECT_EQ(test, kwq_keyed_add_locked(t->keyed, &key, &(struct kwq_add_options){},
						   &extras, 0, &stock), KWQ_ADDED);
	kwq_keyed_unlock(t->keyed, flags);
	kwq_stock_empty(&stock, t->keyed);
	KUNIT_EXPECT_NULL(test, t->keyed->gone_memory);
	EXPECT_GROUPS(test, t, 1, 0);
	EXPECT_GET(test, t->x, &got, "a2/a");
	done(t->x, &got);
	EXPECT_GROUPS(test, t, 0, 0);
}

/* L10: an idle item has no group, even if it is remembered for its requeues. */
static void remembered_item_has_no_group(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_add_options again = { .flags = KWQ_ADD_RATE_LIMITED };
	struct got got;

	add_with(t, "a1", "a", &again);
	kwq_keyed_advance(t->keyed, NSEC_PER_SEC, false);
	EXPECT_GET(test, t->x, &got, "a1/a");
	done(t->x, &got);
	KUNIT_EXPECT_EQ(test, stat_of(t)->remembered, 1);
	EXPECT_GROUPS(test, t, 0, 0);
	add_plain(t, "a1");
	EXPECT_GET(test, t->x, &got, "a1/");
	done(t->x, &got);
	/* It comes back into a group. */
	add(t, "a1", "b");
	EXPECT_GET(test, t->x, &got, "a1/b");
}

/* L11: a dead item keeps its group. */
static void dead_item_keeps_its_group(struct kunit *test)
{
	struct groups_test *t = test->priv;
	const struct kwq_limiter_config config = { .dead_after = 1 };
	struct kwq_add_options again = { .flags = KWQ_ADD_RATE_LIMITED };
	struct got got;

	kwq_keyed_configure(t->keyed, &config);
	add_with(t, "a1", "a", &again);
	kwq_keyed_advance(t->keyed, NSEC_PER_SEC, false);
	EXPECT_GET(test, t->x, &got, "a1/a");
	KUNIT_EXPECT_EQ(test, add_with(t, "a1", "b", &again), KWQ_DEAD);
	done(t->x, &got);
	EXPECT_GROUPS(test, t, 1, 0);
	KUNIT_EXPECT_EQ(test, add_with(t, "x", "x",
				       &(struct kwq_add_options){ .flags = KWQ_ADD_KICK }),
			-ENOENT);
	EXPECT_GROUPS(test, t, 1, 0);
	add_plain(t, "a1");
	EXPECT_GET(test, t->x, &got, "a1/b");
}

/* O4: without room nothing changes. */
static void group_needs_room(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_limits limits = grouped;
	char name[KWQ_GROUP_MAX + 1];
	struct got got;
	u64 bytes;

	memset(name, 'g', KWQ_GROUP_MAX);
	name[KWQ_GROUP_MAX] = '\0';
	limits.max_bytes = kwq_item_bytes(t->keyed, 2) + 100;
	kwq_test_open_again(test, &limits, KWQ_RIGHT_READ);
	KUNIT_EXPECT_EQ(test, add(t, "a1", name), -ENOSPC);
	KUNIT_EXPECT_EQ(test, stat_of(t)->items, 0);
	EXPECT_GROUPS(test, t, 0, 0);
	KUNIT_EXPECT_EQ(test, add(t, "a1", "a"), KWQ_ADDED);
	bytes = stat_of(t)->bytes;
	KUNIT_EXPECT_EQ(test, add(t, "a1", name), -ENOSPC);
	KUNIT_EXPECT_EQ(test, stat_of(t)->bytes, bytes);
	EXPECT_GET(test, t->x, &got, "a1/a");
	/* Q8 */
	kwq_keyed_shut_down(t->keyed);
	KUNIT_EXPECT_EQ(test, add(t, "a1", name), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, add(t, "a2", "a"), -ESHUTDOWN);
}

/* L10: a group takes no room from remembered items, and an item that is one needs room itself. */
static void group_and_remembered_items(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_add_options again = { .flags = KWQ_ADD_RATE_LIMITED };
	struct kwq_limits limits = grouped;
	struct got got;
	u64 nr;
	int i;

	limits.max_bytes = kwq_item_bytes(t->keyed, 2) + kwq_keyed_group_bytes(1);
	kwq_test_open_again(test, &limits, KWQ_RIGHT_READ);
	for (i = 0; i < 2; i++) {
		add_with(t, i ? "a2" : "a1", "", &again);
		kwq_keyed_advance(t->keyed, NSEC_PER_SEC, false);
		EXPECT_GET(test, t->x, &got, i ? "a2/" : "a1/");
		done(t->x, &got);
	}
	nr = stat_of(t)->remembered;
	KUNIT_EXPECT_GE(test, nr, 1);
	KUNIT_EXPECT_EQ(test, add(t, "a2", "long name"), -ENOSPC);
	KUNIT_EXPECT_EQ(test, stat_of(t)->remembered, nr);
	KUNIT_EXPECT_EQ(test, add(t, "a2", "g"), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, stat_of(t)->remembered, nr - 1);
	KUNIT_EXPECT_EQ(test, add(t, "a3", ""), -ENOSPC);
	EXPECT_GET(test, t->x, &got, "a2/g");
}

/* Keys and values of any length, with leases: the allocation has room for all. */
static void long_keys_have_groups(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_limits limits = grouped;
	char key[60];
	struct got got;
	int len;

	limits.lease = 10;
	limits.values = true;
	limits.group_limit = 0;
	kwq_test_open_again(test, &limits, KWQ_RIGHT_READ);
	for (len = 1; len < sizeof(key); len++) {
		memset(key, 'k', len);
		key[len] = '\0';
		KUNIT_EXPECT_EQ(test, add(t, key, "g"), KWQ_ADDED);
	}
	for (len = 1; len < sizeof(key); len++) {
		KUNIT_ASSERT_EQ(test, get(t->x, &got), 0);
		KUNIT_EXPECT_EQ(test, strlen(got.what), len + 2);
		done(t->x, &got);
	}
	EXPECT_GROUPS(test, t, 0, 0);
}

static void get_needs_room_for_the_group(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_got_more more = { .max_bytes = 6 };
	struct kwq_got item;
	u8 bytes[8];
	struct kwq_got_buffer buffer = {
		.got = &item,
		.more = &more,
		.keys = bytes,
		.max_items = 1,
		.max_key_bytes = 3,
		.longest = 6,
	};

	add(t, "key", "grp");
	/* The caller has more room than this buffer. */
	KUNIT_EXPECT_EQ(test, kwq_handle_get(t->x, &buffer, &at_once), -EMSGSIZE);
	KUNIT_EXPECT_TRUE(test, kwq_wants_more_room(&buffer, -EMSGSIZE));
	/* It has not. */
	more.max_bytes = 5;
	buffer.longest = 5;
	buffer.max_key_bytes = 8;
	KUNIT_EXPECT_EQ(test, kwq_handle_get(t->x, &buffer, &at_once), -EMSGSIZE);
	KUNIT_EXPECT_FALSE(test, kwq_wants_more_room(&buffer, -EMSGSIZE));
	more.max_bytes = 6;
	KUNIT_EXPECT_EQ(test, kwq_handle_get(t->x, &buffer, &at_once), 1);
	KUNIT_EXPECT_EQ(test, memcmp(bytes, "keygrp", 6), 0);
}

static void queue_without_groups_refuses_them(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_limits limits = grouped;
	struct got got;

	limits.groups = false;
	limits.group_limit = 0;
	limits.aging = 10;
	kwq_test_open_again(test, &limits, KWQ_RIGHT_READ);
	KUNIT_EXPECT_EQ(test, add(t, "a1", "a"), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, stat_of(t)->items, 0);
	KUNIT_EXPECT_EQ(test, add_plain(t, "a1"), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, add(t, "a1", ""), -EOPNOTSUPP);
	/* Q17 */
	KUNIT_EXPECT_EQ(test, stat_of(t)->aging, 10);
	kwq_keyed_advance(t->keyed, 10, false);
	kwq_keyed_add(t->keyed, &(struct kwq_key){ .bytes = "b1", .len = 2 },
		      &(struct kwq_add_options){ .flags = KWQ_ADD_PRIORITY, .priority = 1 });
	EXPECT_GET(test, t->x, &got, "a1/");
	EXPECT_GET(test, t->x, &got, "b1/");
}

#define MANY	10000

/* The table of groups grows and shrinks with them, and all their memory is counted (O9). */
static void many_groups_come_and_go(struct kunit *test)
{
	struct groups_test *t = test->priv;
	u64 own = t->keyed->own_bytes;
	char name[16];
	struct got got;
	int i;

	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "%d", i);
		if (add(t, name, name) != KWQ_ADDED)
			break;
	}
	KUNIT_EXPECT_EQ(test, i, MANY);
	EXPECT_GROUPS(test, t, MANY, 0);
	KUNIT_EXPECT_GT(test, t->keyed->groups->table.nr_buckets, MANY / 2);
	for (i = 0; i < MANY; i++)
		if (get(t->x, &got) || done(t->x, &got) != KWQ_FINISHED)
			break;
	KUNIT_EXPECT_EQ(test, i, MANY);
	EXPECT_GROUPS(test, t, 0, 0);
	KUNIT_EXPECT_EQ(test, t->keyed->groups->table.nr_buckets, KWQ_TABLE_MIN);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_bytes, 0);
	KUNIT_EXPECT_EQ(test, t->keyed->own_bytes, own);
}

/* Q10: groups are freed with the queue. */
static void queue_frees_its_groups(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct got got;

	add(t, "a1", "a");
	add(t, "a2", "a");
	add(t, "b1", "b");
	EXPECT_GET(test, t->x, &got, "a1/a");
	kwq_keyed_shut_down(t->keyed);
	EXPECT_GROUPS(test, t, 2, 1);
}

static struct kunit_case groups_test_cases[] = {
	KUNIT_CASE(groups_take_turns),
	KUNIT_CASE(limit_counts_over_all_handles),
	KUNIT_CASE(closed_handle_frees_its_places),
	KUNIT_CASE(undone_get_frees_its_place),
	KUNIT_CASE(lease_frees_its_place),
	KUNIT_CASE(group_lives_as_long_as_its_items),
	KUNIT_CASE(moved_item_leaves_its_group),
	KUNIT_CASE(group_ends_and_begins_in_one_hold),
	KUNIT_CASE(remembered_item_has_no_group),
	KUNIT_CASE(dead_item_keeps_its_group),
	KUNIT_CASE(group_needs_room),
	KUNIT_CASE(group_and_remembered_items),
	KUNIT_CASE(long_keys_have_groups),
	KUNIT_CASE(get_needs_room_for_the_group),
	KUNIT_CASE(queue_without_groups_refuses_them),
	KUNIT_CASE(many_groups_come_and_go),
	KUNIT_CASE(queue_frees_its_groups),
	{}
};

static struct kunit_suite groups_test_suite = {
	.name = "kwq-keyed-groups",
	.init = groups_test_init,
	.exit = kwq_test_close,
	.test_cases = groups_test_cases,
};

kunit_test_suite(groups_test_suite);

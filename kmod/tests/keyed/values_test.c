// SPDX-License-Identifier: GPL-2.0-only
/*
 * Values and notes of a queue of keys (Q18): which one a get or a list returns, their memory, and
 * who frees them.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/kwq.h>
#include <linux/mm.h>
#include <linux/string.h>
#include "keyed/hold.h"
#include "keyed_ops.h"

#define LEASE	1000

static const struct kwq_limits with_values = {
	.max_items = 1 << 20,
	.max_bytes = 1 << 30,
	.lease = LEASE,
	.values = true,
};

struct values_test {
	KWQ_TEST_HANDLES;
};

static int values_test_init(struct kunit *test)
{
	return kwq_test_begin(test, sizeof(struct values_test), &with_values, KWQ_RIGHT_READ);
}

static void make_again(struct kunit *test, const struct kwq_limits *limits)
{
	kwq_test_open_again(test, limits, KWQ_RIGHT_READ);
}

/* Every case ends with a sound core. No unlock left a value to be freed. */
static void values_test_exit(struct kunit *test)
{
	struct values_test *t = test->priv;

	if (t && !IS_ERR_OR_NULL(t->keyed))
		KUNIT_EXPECT_NULL(test, t->keyed->gone_memory);
	kwq_test_close(test);
}

/* Adds a key with @len bytes of a value, or of zeros without @value. */
static int add_bytes(struct values_test *t, const char *key, const char *value, u32 len, u32 flags,
		     const struct kwq_add_options *options)
{
	const struct kwq_key k = key_of(key);
	struct kwq_extras extras = { .flags = flags | KWQ_ADD_VALUE };
	int ret;

	if (len) {
		extras.value = kwq_value_alloc(len);
		if (!extras.value)
			return -ENOMEM;
		memset(extras.value->bytes, 0, len);
		if (value)
			memcpy(extras.value->bytes, value, len);
	}
	ret = kwq_keyed_add_with(t->keyed, &k, options, &extras);
	kvfree(extras.value);
	return ret;
}

static int add_with(struct values_test *t, const char *key, const char *value, u32 flags,
		    const struct kwq_add_options *options)
{
	return add_bytes(t, key, value, strlen(value), flags, options);
}

static int add(struct values_test *t, const char *key, const char *value)
{
	return add_with(t, key, value, 0, &(struct kwq_add_options){});
}

static int add_keeping(struct values_test *t, const char *key, const char *value)
{
	return add_with(t, key, value, KWQ_ADD_KEEP_VALUE, &(struct kwq_add_options){});
}

static int add_plain(struct values_test *t, const char *key, u32 flags)
{
	const struct kwq_key k = key_of(key);

	return kwq_keyed_add(t->keyed, &k, &(struct kwq_add_options){ .flags = flags });
}

static int remove(struct values_test *t, const char *key, u32 flags)
{
	const struct kwq_key k = key_of(key);

	return kwq_keyed_remove(t->keyed, &k, flags);
}

static void advance(struct values_test *t, u64 ns)
{
	kwq_keyed_advance(t->keyed, ns, false);
}

/* The next item of a get, and its value with the reference of the get. */
struct got {
	char what[160];
	u64 ticket;
	struct kwq_value *value;
};

static int get_keeping_up_to(struct kwq_handle *handle, struct got *got, u32 max_bytes)
{
	struct kwq_got_more more = { .max_bytes = max_bytes };
	struct kwq_got item;
	u8 bytes[80];
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
	got->value = more.value;
	snprintf(got->what, sizeof(got->what), "%.*s=%.*s", (int)item.key_len, bytes,
		 more.value ? min_t(int, more.value->len, sizeof(got->what)) : 0,
		 more.value ? (const char *)more.value->bytes : "");
	return 0;
}

static int get_keeping(struct kwq_handle *handle, struct got *got)
{
	return get_keeping_up_to(handle, got, 80);
}

static int get_keeping_long(struct kwq_handle *handle, struct got *got)
{
	return get_keeping_up_to(handle, got, KWQ_KEY_MAX + KWQ_VALUE_MAX);
}

/* As the device does after the copy. */
static void put_value(struct kwq_handle *handle, struct kwq_value *value)
{
	u32 bytes = kwq_value_bytes(value);

	kwq_value_put(value);
	kwq_quota_uncharge(handle->quota, bytes);
}

static int get(struct kwq_handle *handle, struct got *got)
{
	int ret = get_keeping(handle, got);

	if (!ret && got->value)
		put_value(handle, got->value);
	return ret;
}

#define EXPECT_GET(test, handle, got, expected)				\
do {									\
	KUNIT_ASSERT_EQ(test, get(handle, got), 0);			\
	KUNIT_EXPECT_STREQ(test, (got)->what, expected);		\
} while (0)

static int done(struct kwq_handle *handle, const struct got *got)
{
	return kwq_handle_done(handle, got->ticket, 0);
}

static u64 nr_bytes(struct values_test *t)
{
	return t->keyed->nr_bytes;
}

/* The queue counts @nr_values values of @value_len bytes, in @nr_items items of 1 byte. */
static void expect_counts(struct kunit *test, u32 nr_items, u32 nr_values, u32 value_len)
{
	struct values_test *t = test->priv;
	struct kwq_value *value = value_len ? kwq_value_alloc(value_len) : NULL;

	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, nr_items);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_values, nr_values);
	KUNIT_EXPECT_EQ(test, nr_bytes(t), nr_items * kwq_item_bytes(t->keyed, 1) +
			nr_values * kwq_value_bytes(value));
	kvfree(value);
}

static void later_value_wins(struct kunit *test)
{
	struct values_test *t = test->priv;
	struct got got;

	KUNIT_EXPECT_EQ(test, add(t, "a", "one"), KWQ_ADDED);
	expect_counts(test, 1, 1, 3);
	KUNIT_EXPECT_EQ(test, add(t, "a", "two"), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, add_plain(t, "a", 0), KWQ_COALESCED);
	expect_counts(test, 1, 1, 3);
	EXPECT_GET(test, t->x, &got, "a=two");
	KUNIT_EXPECT_EQ(test, done(t->x, &got), KWQ_FINISHED);
	expect_counts(test, 0, 0, 0);

	/* Also of a waiting item. 0 bytes take it away. */
	add_with(t, "a", "one", 0, &(struct kwq_add_options){ .flags = KWQ_ADD_AFTER, .time = 9 });
	add_with(t, "a", "two", 0, &(struct kwq_add_options){ .flags = KWQ_ADD_AFTER, .time = 9 });
	add(t, "b", "one");
	KUNIT_EXPECT_EQ(test, add(t, "b", ""), KWQ_COALESCED);
	expect_counts(test, 2, 1, 3);
	EXPECT_GET(test, t->x, &got, "b=");
	advance(t, 9);
	EXPECT_GET(test, t->x, &got, "a=two");
}

/* The first value of a run is kept on request, and that of an earlier run is not. */
static void first_value_is_kept(struct kunit *test)
{
	static const struct kwq_add_options later = { .flags = KWQ_ADD_AFTER, .time = 9 };
	struct values_test *t = test->priv;
	struct got got;

	add_plain(t, "a", 0);
	KUNIT_EXPECT_EQ(test, add_keeping(t, "a", "1"), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, add_keeping(t, "a", "2"), KWQ_COALESCED);
	EXPECT_GET(test, t->x, &got, "a=1");
	KUNIT_EXPECT_EQ(test, add_keeping(t, "a", "3"), KWQ_DIRTIED);
	KUNIT_EXPECT_EQ(test, add_keeping(t, "a", "4"), KWQ_DIRTY);
	done(t->x, &got);
	EXPECT_GET(test, t->x, &got, "a=3");
	done(t->x, &got);

	add_with(t, "w", "1", KWQ_ADD_KEEP_VALUE, &later);
	add_with(t, "w", "2", KWQ_ADD_KEEP_VALUE, &later);
	expect_counts(test, 1, 1, 1);
	advance(t, 9);
	EXPECT_GET(test, t->x, &got, "w=1");
}

/* O1, O2, O3: an item comes back with its value, or with a newer one. */
static void value_survives_its_holder(struct kunit *test)
{
	struct values_test *t = test->priv;
	struct kwq_got item = {};
	struct got got;

	add(t, "a", "one");
	EXPECT_GET(test, t->x, &got, "a=one");
	item.ticket = got.ticket;
	kwq_handle_unget(t->x, &item, 1);
	EXPECT_GET(test, t->x, &got, "a=one");
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, got.ticket, KWQ_DONE_RETURN), KWQ_RETURNED);
	EXPECT_GET(test, t->x, &got, "a=one");
	advance(t, LEASE);
	EXPECT_GET(test, t->y, &got, "a=one");
	add(t, "a", "two");
	advance(t, LEASE);
	KUNIT_EXPECT_EQ(test, done(t->y, &got), -ESTALE);
	EXPECT_GET(test, t->x, &got, "a=two");
	kwq_handle_close(t->x);
	t->x = kwq_handle_open(t->keyed, KWQ_RIGHT_READ);
	EXPECT_GET(test, t->y, &got, "a=two");
	add(t, "a", "six");
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->y, got.ticket, KWQ_DONE_RETURN), KWQ_RETURNED);
	EXPECT_GET(test, t->y, &got, "a=six");
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->y, got.ticket, KWQ_DONE_DEAD), KWQ_BURIED);
	expect_counts(test, 1, 1, 3);
}

/* A retry keeps the value. An idle item that is remembered has none (L10). */
static void value_ends_when_the_item_is_idle(struct kunit *test)
{
	struct values_test *t = test->priv;
	struct got got;

	add(t, "a", "one");
	EXPECT_GET(test, t->x, &got, "a=one");
	add_plain(t, "a", KWQ_ADD_RATE_LIMITED);
	KUNIT_EXPECT_EQ(test, done(t->x, &got), KWQ_STILL_WAITING);
	expect_counts(test, 1, 1, 3);
	advance(t, NSEC_PER_SEC);
	EXPECT_GET(test, t->x, &got, "a=one");
	KUNIT_EXPECT_EQ(test, done(t->x, &got), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_remembered, 1);
	expect_counts(test, 1, 0, 0);
	/* The first value is that of an earlier run, so the new one is set. */
	KUNIT_EXPECT_EQ(test, add_keeping(t, "a", "two"), KWQ_ADDED);
	EXPECT_GET(test, t->x, &got, "a=two");
}

/* L11, Q11 */
static void dead_item_keeps_its_value(struct kunit *test)
{
	const struct kwq_limiter_config config = { .dead_after = 1 };
	struct values_test *t = test->priv;
	struct got got;

	kwq_keyed_configure(t->keyed, &config);
	add_with(t, "a", "one", 0, &(struct kwq_add_options){ .flags = KWQ_ADD_RATE_LIMITED });
	advance(t, NSEC_PER_SEC);
	EXPECT_GET(test, t->x, &got, "a=one");
	KUNIT_EXPECT_EQ(test, add_plain(t, "a", KWQ_ADD_RATE_LIMITED), KWQ_DEAD);
	done(t->x, &got);
	expect_counts(test, 1, 1, 3);
	/* A kick of another key brings no value, and leaves none behind. */
	KUNIT_EXPECT_EQ(test, add_with(t, "x", "x", 0,
				       &(struct kwq_add_options){ .flags = KWQ_ADD_KICK }),
			-ENOENT);
	expect_counts(test, 1, 1, 3);
	KUNIT_EXPECT_EQ(test, add_plain(t, "a", KWQ_ADD_KICK), KWQ_ADDED);
	EXPECT_GET(test, t->x, &got, "a=one");
	/* A kick has forgotten the requeues, so that the item has one more try. */
	KUNIT_EXPECT_EQ(test, add_plain(t, "a", KWQ_ADD_RATE_LIMITED), KWQ_WAITING);
	done(t->x, &got);
	advance(t, NSEC_PER_SEC);
	EXPECT_GET(test, t->x, &got, "a=one");
	KUNIT_EXPECT_EQ(test, add_plain(t, "a", KWQ_ADD_RATE_LIMITED), KWQ_DEAD);
	done(t->x, &got);
	KUNIT_EXPECT_GE(test, remove(t, "a", KWQ_REMOVE_DEAD), 0);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_values, 0);
}

/* Q8, Q11: a remove and a shut down free values, in more holds than one. */
static void removed_items_free_their_values(struct kunit *test)
{
	const struct kwq_add_options later = { .flags = KWQ_ADD_AFTER, .time = NSEC_PER_SEC };
	struct values_test *t = test->priv;
	const u32 nr = 2 * KWQ_ITEMS_PER_HOLD + 1;
	struct got got;
	char key[8];
	u32 i;

	add(t, "a", "one");
	KUNIT_EXPECT_EQ(test, remove(t, "a", 0), KWQ_WAS_READY);
	expect_counts(test, 0, 0, 0);
	add(t, "h", "held");
	EXPECT_GET(test, t->x, &got, "h=held");
	for (i = 0; i < nr; i++) {
		snprintf(key, sizeof(key), "%u", i);
		add_with(t, key, "waits", 0, &later);
	}
	KUNIT_EXPECT_EQ(test, t->keyed->nr_values, nr + 1);
	kwq_keyed_shut_down(t->keyed);
	expect_counts(test, 1, 1, 4);
	KUNIT_EXPECT_EQ(test, add(t, "h", "new"), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, done(t->x, &got), KWQ_FINISHED);
	expect_counts(test, 0, 0, 0);
}

/* A getter copies its value out without the lock, and gets that one even if the item changes. */
static void getter_has_its_own_value(struct kunit *test)
{
	struct values_test *t = test->priv;
	struct got got;

	add(t, "a", "one");
	KUNIT_ASSERT_EQ(test, get_keeping(t->x, &got), 0);
	KUNIT_ASSERT_NOT_NULL(test, got.value);
	KUNIT_ASSERT_EQ(test, refcount_read(&got.value->refs), 2);
	add(t, "a", "two");
	KUNIT_EXPECT_EQ(test, refcount_read(&got.value->refs), 1);
	KUNIT_EXPECT_EQ(test, memcmp(got.value->bytes, "one", 3), 0);
	/* It counts no more. */
	expect_counts(test, 1, 1, 3);
	put_value(t->x, got.value);
	done(t->x, &got);

	KUNIT_ASSERT_EQ(test, get_keeping(t->x, &got), 0);
	KUNIT_EXPECT_STREQ(test, got.what, "a=two");
	done(t->x, &got);
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, memcmp(got.value->bytes, "two", 3), 0);
	put_value(t->x, got.value);
}

/* O4: a refused add changes nothing, neither the value nor the item. */
static void refused_value_changes_nothing(struct kunit *test)
{
	static const struct kwq_add_options at_once = { .flags = KWQ_ADD_END_WAIT, .priority = 5 };
	struct values_test *t = test->priv;
	struct kwq_limits limits = with_values;
	struct got got;
	u64 bytes;

	limits.max_bytes = 3 * kwq_item_bytes(t->keyed, 1) + PAGE_SIZE;
	make_again(test, &limits);
	add_with(t, "w", "old", 0, &(struct kwq_add_options){ .flags = KWQ_ADD_AFTER, .time = 9 });
	add(t, "a", "old");
	bytes = nr_bytes(t);
	KUNIT_EXPECT_EQ(test, add_bytes(t, "w", NULL, 2 * PAGE_SIZE, 0, &at_once), -ENOSPC);
	KUNIT_EXPECT_EQ(test, add_bytes(t, "a", NULL, 2 * PAGE_SIZE, 0, &at_once), -ENOSPC);
	KUNIT_EXPECT_EQ(test, add_bytes(t, "n", NULL, 2 * PAGE_SIZE, 0, &at_once), -ENOSPC);
	KUNIT_EXPECT_EQ(test, nr_bytes(t), bytes);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 2);
	/* A value that is dropped needs no room. */
	KUNIT_EXPECT_EQ(test, add_bytes(t, "a", NULL, 2 * PAGE_SIZE, KWQ_ADD_KEEP_VALUE,
					&(struct kwq_add_options){}), KWQ_COALESCED);
	EXPECT_GET(test, t->x, &got, "a=old");
	KUNIT_EXPECT_EQ(test, get(t->x, &got), -EAGAIN);
	advance(t, 9);
	EXPECT_GET(test, t->x, &got, "w=old");
}

/* O4: the quota counts values, and may refuse them. */
static void quota_counts_values(struct kunit *test)
{
	struct values_test *t = test->priv;
	struct kwq_keyed *keyed = t->keyed;
	unsigned long before = kwq_max_total_bytes;
	atomic64_t *charged = &keyed->quota->bytes;
	s64 own = atomic64_read(charged);
	struct got got;

	add(t, "a", "old");
	kwq_test_count_as(keyed, KWQ_QUOTA_QUEUES);
	WRITE_ONCE(kwq_max_total_bytes, 0);
	KUNIT_EXPECT_EQ(test, add_bytes(t, "a", NULL, KWQ_VALUE_MAX, 0,
					&(struct kwq_add_options){}), -EDQUOT);
	WRITE_ONCE(kwq_max_total_bytes, before);
	kwq_test_count_as(keyed, KWQ_QUOTA_EXEMPT);
	charged = &keyed->quota->bytes;
	expect_counts(test, 1, 1, 3);
	KUNIT_EXPECT_EQ(test, add_bytes(t, "a", NULL, KWQ_VALUE_MAX, 0,
					&(struct kwq_add_options){}), KWQ_COALESCED);
	KUNIT_EXPECT_GE(test, atomic64_read(charged), KWQ_VALUE_MAX);
	/* What is kept as it was, and what was replaced, counts no more. */
	KUNIT_EXPECT_EQ(test, add_bytes(t, "a", NULL, KWQ_VALUE_MAX, KWQ_ADD_KEEP_VALUE,
					&(struct kwq_add_options){}), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, atomic64_read(charged), own + nr_bytes(t));
	KUNIT_EXPECT_EQ(test, add(t, "a", "new"), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, atomic64_read(charged), own + nr_bytes(t));
	KUNIT_EXPECT_LT(test, nr_bytes(t), KWQ_VALUE_MAX);
	EXPECT_GET(test, t->x, &got, "a=new");
}

/* O9: who copies a value out pays for it meanwhile, whatever becomes of it, up to a limit. */
static void reader_pays_for_a_value(struct kunit *test)
{
	struct values_test *t = test->priv;
	unsigned long before = kwq_max_total_bytes;
	struct kwq_quota *exempt = t->x->quota;
	struct got first, second;
	atomic64_t *paid;
	u32 bytes;

	t->x->quota = kwq_quota_get(exempt->ns, exempt->user, KWQ_QUOTA_CALLS);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->x->quota));
	paid = &t->x->quota->bytes;
	WRITE_ONCE(kwq_max_total_bytes, 0);
	KUNIT_EXPECT_EQ(test, add_bytes(t, "a", NULL, KWQ_VALUE_MAX, 0,
					&(struct kwq_add_options){}), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, add_bytes(t, "b", NULL, KWQ_VALUE_MAX, 0,
					&(struct kwq_add_options){}), KWQ_ADDED);
	KUNIT_ASSERT_EQ(test, get_keeping_long(t->x, &first), 0);
	bytes = kwq_value_bytes(first.value);
	KUNIT_EXPECT_EQ(test, atomic64_read(paid), bytes);
	/* The queue has its room again, but the memory is there. */
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, first.ticket, 0), KWQ_FINISHED);
	expect_counts(test, 1, 1, KWQ_VALUE_MAX);
	KUNIT_EXPECT_EQ(test, atomic64_read(paid), bytes);
	/* Too many values at once. The item stays. */
	KUNIT_ASSERT_TRUE(test, kwq_quota_charge(t->x->quota, KWQ_CALL_BYTES - bytes));
	KUNIT_EXPECT_EQ(test, get_keeping_long(t->x, &second), -EDQUOT);
	KUNIT_EXPECT_EQ(test, kwq_len(&t->keyed->queue), 1);
	put_value(t->x, first.value);
	KUNIT_ASSERT_EQ(test, get_keeping_long(t->x, &second), 0);
	put_value(t->x, second.value);
	kwq_quota_uncharge(t->x->quota, KWQ_CALL_BYTES - bytes);
	KUNIT_EXPECT_EQ(test, atomic64_read(paid), 0);
	WRITE_ONCE(kwq_max_total_bytes, before);
	kwq_quota_put(exempt);
}

/* L10: a value takes no room from remembered items, and an item that is one needs room itself. */
static void value_and_remembered_items(struct kunit *test)
{
	static const struct kwq_add_options again = { .flags = KWQ_ADD_RATE_LIMITED }, plain;
	struct values_test *t = test->priv;
	struct kwq_limits limits = with_values;
	struct got got;
	int i;

	limits.max_bytes = 2 * kwq_item_bytes(t->keyed, 1);
	make_again(test, &limits);
	for (i = 0; i < 2; i++) {
		add_plain(t, i ? "b" : "a", again.flags);
		advance(t, NSEC_PER_SEC);
		KUNIT_ASSERT_EQ(test, get(t->x, &got), 0);
		done(t->x, &got);
	}
	KUNIT_EXPECT_EQ(test, t->keyed->nr_remembered, 2);
	/* The item of "a" is needed beside the value. A refused add forgets no count. */
	KUNIT_EXPECT_EQ(test, add_bytes(t, "a", NULL, limits.max_bytes - 100, 0, &plain), -ENOSPC);
	KUNIT_EXPECT_EQ(test, add_bytes(t, "c", NULL, limits.max_bytes - 100, 0, &plain), -ENOSPC);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_remembered, 2);
	KUNIT_EXPECT_EQ(test, add(t, "a", "v"), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_remembered, 1);
	expect_counts(test, 2, 1, 1);
	EXPECT_GET(test, t->x, &got, "a=v");
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, got.ticket, 0), KWQ_FINISHED);
}

/* Key, lease and value lie behind each other, at any length of the key. */
static void value_lies_behind_key_and_lease(struct kunit *test)
{
	struct kwq_limits limits = with_values;
	struct values_test *t = test->priv;
	char key[60], expected[80];
	struct got got;
	int len, i;

	for (i = 0; i < 4; i++) {
		limits.lease = i & 1 ? LEASE : 0;
		limits.groups = i & 2;
		make_again(test, &limits);
		for (len = 1; len < sizeof(key); len++) {
			memset(key, 'k', len);
			key[len] = '\0';
			snprintf(expected, sizeof(expected), "%s=v%d", key, len);
			add(t, key, expected + len + 1);
			EXPECT_GET(test, t->x, &got, expected);
			if (limits.lease) {
				advance(t, LEASE);
				EXPECT_GET(test, t->x, &got, expected);
			}
			KUNIT_EXPECT_EQ(test, done(t->x, &got), KWQ_FINISHED);
		}
		expect_counts(test, 0, 0, 0);
	}
}

static int add_to_group(struct values_test *t, const char *key, u32 flags, u32 value_len,
			const char *group, struct kwq_stock *stock)
{
	struct kwq_key k = key_of(key);
	struct kwq_extras extras = {
		.flags = flags | KWQ_ADD_VALUE | KWQ_ADD_GROUP,
		.value = kwq_value_alloc(value_len),
		.group = key_of(group),
	};
	unsigned long irqs;
	int ret;

	kwq_key_hash(&k);
	kwq_key_hash(&extras.group);
	/* The stock of an earlier call was emptied, and is used up. */
	*stock = (struct kwq_stock){};
	do {
		spin_lock_irqsave(&t->keyed->queue.lock, irqs);
		ret = kwq_keyed_add_locked(t->keyed, &k, &(struct kwq_add_options){}, &extras, 0,
					   stock);
		kwq_keyed_unlock(t->keyed, irqs);
	} while (ret == -EAGAIN && !kwq_stock_fill(stock, t->keyed, &k, &extras, 1));
	kwq_stock_empty(stock, t->keyed);
	kvfree(extras.value);
	return ret;
}

/*
 * Q16, Q19: the group of an add is refused before its value is looked at. A queue without values
 * has no place for one, and says so first, even if it is full.
 */
static void refused_group_and_value(struct kunit *test)
{
	struct kwq_limits limits = with_values;
	struct values_test *t = test->priv;
	char group[KWQ_GROUP_MAX + 1] = {};
	struct kwq_stock stock;
	u32 item;

	memset(group, 'g', KWQ_GROUP_MAX);
	limits.groups = true;
	make_again(test, &limits);
	item = kwq_item_bytes(t->keyed, 1);

	limits.values = false;
	limits.max_items = 1;
	limits.max_bytes = item + 100;
	make_again(test, &limits);
	KUNIT_EXPECT_EQ(test, add_plain(t, "a", 0), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, add_to_group(t, "a", 0, 8, group, &stock), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, add_to_group(t, "b", 0, 8, group, &stock), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, add(t, "b", "v"), -EOPNOTSUPP);

	/* A value that is dropped lacks no room: the group could fit at another time. */
	limits.values = true;
	limits.max_items = 2;
	limits.max_bytes = 2 * item + 700;
	make_again(test, &limits);
	KUNIT_EXPECT_EQ(test, add(t, "a", "v"), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, add_bytes(t, "b", NULL, 256, 0, &(struct kwq_add_options){}),
			KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, add_to_group(t, "c", 0, 8, group, &stock), -ENOSPC);
	KUNIT_EXPECT_TRUE(test, kwq_keyed_may_find_room(&stock, -ENOSPC));
	KUNIT_EXPECT_EQ(test, add_to_group(t, "a", KWQ_ADD_KEEP_VALUE, PAGE_SIZE, group, &stock),
			-ENOSPC);
	KUNIT_EXPECT_TRUE(test, kwq_keyed_may_find_room(&stock, -ENOSPC));
	/* This one is not dropped, and never fits. */
	KUNIT_EXPECT_EQ(test, add_to_group(t, "a", 0, PAGE_SIZE, group, &stock), -ENOSPC);
	KUNIT_EXPECT_FALSE(test, kwq_keyed_may_find_room(&stock, -ENOSPC));
}

/* U8: puts a key back, whose value is kept if it has one already. */
static int restore(struct values_test *t, const char *name, const struct kwq_restored *restored)
{
	struct kwq_key key = { .bytes = (const u8 *)name, .len = strlen(name) };
	struct kwq_extras extras = {};
	struct kwq_stock stock = {};
	unsigned long flags;
	int ret;

	kwq_key_hash(&key);
	do {
		kwq_test_fill_stock(&stock, t->keyed, &key, 1);
		spin_lock_irqsave(&t->keyed->queue.lock, flags);
		ret = kwq_keyed_restore_locked(t->keyed, &key, restored, &extras,
					       kwq_now_locked(&t->keyed->queue), &stock);
		kwq_keyed_unlock(t->keyed, flags);
	} while (ret == -EAGAIN);
	kwq_stock_empty(&stock, t->keyed);
	return ret;
}

static void keys_are_put_back(struct kunit *test)
{
	const struct kwq_restored both = { .state = KWQ_IS_READY | KWQ_IS_WAITING, .due = 10 };
	const struct kwq_restored dead = { .state = KWQ_IS_DEAD, .requeues = 3 };
	const struct kwq_restored older = { .state = KWQ_IS_DEAD, .dead_for = 5000 };
	struct kwq_stat *stat = kunit_kzalloc(test, sizeof(*stat), GFP_KERNEL);
	struct values_test *t = test->priv;

	/* U8, Q14 */
	KUNIT_EXPECT_EQ(test, restore(t, "a", &both), KWQ_RESTORED);
	KUNIT_EXPECT_EQ(test, restore(t, "d", &dead), KWQ_RESTORED);
	KUNIT_EXPECT_EQ(test, restore(t, "a", &both), KWQ_COALESCED);
	KUNIT_EXPECT_GE(test, restore(t, "d", &both), 0);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 2);
	advance(t, 100);
	/* Behind "d" in the list, and dead for longer. */
	KUNIT_EXPECT_EQ(test, restore(t, "e", &older), KWQ_RESTORED);
	kwq_pause_until(&t->keyed->queue, KTIME_MAX);
	KUNIT_ASSERT_NOT_NULL(test, stat);
	kwq_keyed_stat(t->keyed, stat);
	KUNIT_EXPECT_EQ(test, stat->oldest_dead, 5000);
	KUNIT_EXPECT_EQ(test, stat->state, KWQ_STATE_PAUSED);
	KUNIT_EXPECT_EQ(test, stat->paused_for, U64_MAX);
}

/* Gives a held item a note of @len bytes, of 'n's without @text. */
static int note_bytes(struct kwq_handle *handle, u64 ticket, const char *text, u32 len)
{
	struct kwq_extras extras = { .flags = KWQ_ADD_NOTE };
	int ret;

	if (len) {
		extras.note = kwq_value_alloc(len);
		if (!extras.note)
			return -ENOMEM;
		memset(extras.note->bytes, 'n', len);
		if (text)
			memcpy(extras.note->bytes, text, len);
	}
	ret = kwq_handle_note(handle, ticket, &extras);
	kvfree(extras.note);
	return ret;
}

static int note(struct kwq_handle *handle, const struct got *got, const char *text)
{
	return note_bytes(handle, got->ticket, text, strlen(text));
}

/* What a list shows of a key's value and note: "value/note". */
static const char *listed(struct kunit *test, const char *name)
{
	struct values_test *t = test->priv;
	struct kwq_value *values[KWQ_SLOTS];
	const struct kwq_key key = key_of(name);
	struct kwq_list_request request = { .states = U32_MAX, .slots = U8_MAX };
	char *text = kunit_kzalloc(test, 80, GFP_KERNEL);
	struct kwq_key hashed = key;
	struct kwq_listed entry;
	u8 keys[80];
	struct kwq_list_buffer buffer = {
		.entries = &entry,
		.values = values,
		.keys = keys,
		.max_items = 1,
		.max_key_bytes = sizeof(keys),
		.max_bytes = KWQ_KEY_MAX + KWQ_VALUE_MAX + KWQ_NOTE_MAX,
	};
	int i, at = 0;

	kwq_key_hash(&hashed);
	request.key = &hashed;
	KUNIT_ASSERT_NOT_NULL(test, text);
	if (kwq_keyed_list(t->keyed, &request, &buffer))
		return "none";
	KUNIT_EXPECT_EQ(test, entry.value_len, values[KWQ_VALUE] ? values[KWQ_VALUE]->len : 0);
	KUNIT_EXPECT_EQ(test, entry.note_len, values[KWQ_NOTE] ? values[KWQ_NOTE]->len : 0);
	for (i = 0; i < KWQ_SLOTS; i++) {
		if (values[i]) {
			at += scnprintf(text + at, 80 - at, "%.*s", (int)values[i]->len,
					(const char *)values[i]->bytes);
			kwq_value_put(values[i]);
		}
		if (!i)
			at += scnprintf(text + at, 80 - at, "/");
	}
	return text;
}

/* A worker says why a run failed, and the item keeps that until a run ends well. */
static void note_stays_until_a_run_ends_well(struct kunit *test)
{
	struct values_test *t = test->priv;
	struct got got;

	add(t, "a", "v");
	EXPECT_GET(test, t->x, &got, "a=v");
	KUNIT_EXPECT_STREQ(test, listed(test, "a"), "v/");
	KUNIT_EXPECT_EQ(test, note(t->x, &got, "exit 1"), 0);
	KUNIT_EXPECT_STREQ(test, listed(test, "a"), "v/exit 1");
	add_plain(t, "a", KWQ_ADD_RATE_LIMITED);
	KUNIT_EXPECT_EQ(test, done(t->x, &got), KWQ_STILL_WAITING);
	KUNIT_EXPECT_STREQ(test, listed(test, "a"), "v/exit 1");
	advance(t, NSEC_PER_SEC);
	EXPECT_GET(test, t->y, &got, "a=v");
	KUNIT_EXPECT_STREQ(test, listed(test, "a"), "v/exit 1");
	/* A later note takes its place, and an empty one takes it away. */
	KUNIT_EXPECT_EQ(test, note(t->y, &got, "exit 22"), 0);
	KUNIT_EXPECT_STREQ(test, listed(test, "a"), "v/exit 22");
	KUNIT_EXPECT_EQ(test, note(t->y, &got, ""), 0);
	KUNIT_EXPECT_STREQ(test, listed(test, "a"), "v/");
	KUNIT_EXPECT_EQ(test, note(t->y, &got, "exit 3"), 0);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->y, got.ticket, KWQ_DONE_DEAD), KWQ_BURIED);
	KUNIT_EXPECT_STREQ(test, listed(test, "a"), "v/exit 3");
	KUNIT_EXPECT_EQ(test, add_plain(t, "a", KWQ_ADD_KICK), KWQ_ADDED);
	EXPECT_GET(test, t->x, &got, "a=v");
	KUNIT_EXPECT_STREQ(test, listed(test, "a"), "v/exit 3");

	/* It has been added meanwhile, so it is not idle. */
	add(t, "a", "w");
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, got.ticket, KWQ_DONE_FORGET), KWQ_REQUEUED);
	KUNIT_EXPECT_STREQ(test, listed(test, "a"), "w/");
	expect_counts(test, 1, 1, 1);
}

static void note_ends_with_its_item(struct kunit *test)
{
	struct values_test *t = test->priv;
	const struct kwq_key key = key_of("a");
	struct got got;

	/* L10: an item that is only remembered has no note. */
	add_plain(t, "a", KWQ_ADD_RATE_LIMITED);
	advance(t, NSEC_PER_SEC);
	EXPECT_GET(test, t->x, &got, "a=");
	KUNIT_EXPECT_EQ(test, note(t->x, &got, "n"), 0);
	KUNIT_EXPECT_EQ(test, done(t->x, &got), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_remembered, 1);
	KUNIT_EXPECT_STREQ(test, listed(test, "a"), "/");
	expect_counts(test, 1, 0, 0);
	/* Neither has one whose failures are forgotten (L8). */
	add_plain(t, "a", 0);
	EXPECT_GET(test, t->x, &got, "a=");
	KUNIT_EXPECT_EQ(test, note(t->x, &got, "n"), 0);
	kwq_keyed_forget(t->keyed, &key);
	KUNIT_EXPECT_STREQ(test, listed(test, "a"), "/");
	/* A remove and the end of the queue free it. */
	KUNIT_EXPECT_EQ(test, note(t->x, &got, "n"), 0);
	KUNIT_EXPECT_EQ(test, remove(t, "a", KWQ_REMOVE_REVOKE), KWQ_WAS_PROCESSING);
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, note(t->x, &got, "n"), -ESTALE);
	add(t, "a", "v");
	EXPECT_GET(test, t->x, &got, "a=v");
	KUNIT_EXPECT_EQ(test, note(t->x, &got, "n"), 0);
}

/* O3: a note is an extension, too. */
static void note_extends_the_lease(struct kunit *test)
{
	struct values_test *t = test->priv;
	struct got got;

	add_plain(t, "a", 0);
	EXPECT_GET(test, t->x, &got, "a=");
	advance(t, LEASE - 1);
	KUNIT_EXPECT_EQ(test, note(t->x, &got, "n"), 0);
	advance(t, LEASE - 1);
	KUNIT_EXPECT_EQ(test, note(t->x, &got, "m"), 0);
	advance(t, LEASE);
	KUNIT_EXPECT_EQ(test, note(t->x, &got, "o"), -ESTALE);
	/* The next holder finds what the last one said. */
	KUNIT_EXPECT_STREQ(test, listed(test, "a"), "/m");
	KUNIT_EXPECT_EQ(test, get(t->y, &got), 0);
	KUNIT_EXPECT_EQ(test, note(t->x, &got, "o"), -ESTALE);
}

/* O4: a note counts like a value, and one that is refused changes nothing. */
static void note_needs_room(struct kunit *test)
{
	unsigned long before = kwq_max_total_bytes;
	struct kwq_limits limits = with_values;
	struct values_test *t = test->priv;
	atomic64_t *charged;
	struct got got;
	u64 bytes;
	s64 own;

	limits.max_bytes = kwq_item_bytes(t->keyed, 1) + 600;
	make_again(test, &limits);
	own = atomic64_read(&t->keyed->quota->bytes);
	add_plain(t, "a", 0);
	EXPECT_GET(test, t->x, &got, "a=");
	KUNIT_EXPECT_EQ(test, note_bytes(t->x, got.ticket, NULL, 400), 0);
	bytes = nr_bytes(t);
	KUNIT_EXPECT_GT(test, bytes, kwq_item_bytes(t->keyed, 1) + 400);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_values, 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&t->keyed->quota->bytes), own + bytes);
	advance(t, LEASE - 1);
	KUNIT_EXPECT_EQ(test, note_bytes(t->x, got.ticket, NULL, 700), -ENOSPC);
	KUNIT_EXPECT_EQ(test, nr_bytes(t), bytes);
	/* One that is as long as the note before needs no more room. */
	KUNIT_EXPECT_EQ(test, note_bytes(t->x, got.ticket, NULL, 401), 0);
	KUNIT_EXPECT_EQ(test, nr_bytes(t), bytes);
	KUNIT_EXPECT_EQ(test, atomic64_read(&t->keyed->quota->bytes), own + bytes);
	kwq_test_count_as(t->keyed, KWQ_QUOTA_QUEUES);
	WRITE_ONCE(kwq_max_total_bytes, 0);
	charged = &t->keyed->quota->bytes;
	own = atomic64_read(charged) - bytes;
	KUNIT_EXPECT_EQ(test, note_bytes(t->x, got.ticket, NULL, 402), -EDQUOT);
	WRITE_ONCE(kwq_max_total_bytes, before);
	KUNIT_EXPECT_EQ(test, atomic64_read(charged), own + bytes);
	kwq_test_count_as(t->keyed, KWQ_QUOTA_EXEMPT);
	KUNIT_EXPECT_EQ(test, note_bytes(t->x, got.ticket, NULL, 0), 0);
	expect_counts(test, 1, 0, 0);

	limits.values = false;
	make_again(test, &limits);
	add_plain(t, "a", 0);
	KUNIT_ASSERT_EQ(test, get(t->x, &got), 0);
	KUNIT_EXPECT_EQ(test, note(t->x, &got, "n"), -EOPNOTSUPP);
}

static int restore_with(struct values_test *t, const char *name, u32 state, const char *value,
			const char *note)
{
	const struct kwq_restored restored = { .state = state };
	struct kwq_key key = key_of(name);
	struct kwq_extras extras = { .flags = KWQ_ADD_VALUE | KWQ_ADD_NOTE };
	struct kwq_stock stock = {};
	unsigned long flags;
	int ret;

	extras.value = kwq_value_alloc(strlen(value));
	extras.note = kwq_value_alloc(strlen(note));
	memcpy(extras.value->bytes, value, strlen(value));
	memcpy(extras.note->bytes, note, strlen(note));
	kwq_key_hash(&key);
	do {
		spin_lock_irqsave(&t->keyed->queue.lock, flags);
		ret = kwq_keyed_restore_locked(t->keyed, &key, &restored, &extras,
					       kwq_now_locked(&t->keyed->queue), &stock);
		kwq_keyed_unlock(t->keyed, flags);
		if (ret == -EAGAIN)
			ret = kwq_stock_fill(&stock, t->keyed, &key, &extras, 1) ?: -EAGAIN;
	} while (ret == -EAGAIN);
	kwq_stock_empty(&stock, t->keyed);
	kvfree(extras.value);
	kvfree(extras.note);
	return ret;
}

/* U8: a note comes back with its item. An item that is there keeps its own. */
static void note_is_put_back(struct kunit *test)
{
	struct values_test *t = test->priv;
	struct kwq_limits limits = with_values;
	struct got got;

	KUNIT_EXPECT_EQ(test, restore_with(t, "d", KWQ_IS_DEAD, "v", "why"), KWQ_RESTORED);
	KUNIT_EXPECT_STREQ(test, listed(test, "d"), "v/why");
	KUNIT_EXPECT_EQ(test, restore_with(t, "r", KWQ_IS_READY, "v", "why"), KWQ_RESTORED);
	KUNIT_EXPECT_STREQ(test, listed(test, "r"), "v/why");
	EXPECT_GET(test, t->x, &got, "r=v");
	KUNIT_EXPECT_EQ(test, restore_with(t, "r", KWQ_IS_READY, "w", "else"), KWQ_DIRTIED);
	KUNIT_EXPECT_STREQ(test, listed(test, "r"), "w/why");
	KUNIT_EXPECT_EQ(test, restore_with(t, "d", KWQ_IS_DEAD, "w", "else"), KWQ_COALESCED);
	KUNIT_EXPECT_STREQ(test, listed(test, "d"), "v/why");
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, got.ticket, 0), KWQ_REQUEUED);

	/* There has to be room for both. */
	limits.max_bytes = kwq_item_bytes(t->keyed, 1) + 2 * kwq_bytes_of_kmalloc(32) - 1;
	make_again(test, &limits);
	KUNIT_EXPECT_EQ(test, restore_with(t, "d", KWQ_IS_DEAD, "v", "why"), -ENOSPC);
	KUNIT_EXPECT_EQ(test, nr_bytes(t), 0);
}

static struct kunit_case values_test_cases[] = {
	KUNIT_CASE(later_value_wins),
	KUNIT_CASE(first_value_is_kept),
	KUNIT_CASE(value_survives_its_holder),
	KUNIT_CASE(value_ends_when_the_item_is_idle),
	KUNIT_CASE(dead_item_keeps_its_value),
	KUNIT_CASE(removed_items_free_their_values),
	KUNIT_CASE(getter_has_its_own_value),
	KUNIT_CASE(refused_value_changes_nothing),
	KUNIT_CASE(quota_counts_values),
	KUNIT_CASE(value_and_remembered_items),
	KUNIT_CASE(reader_pays_for_a_value),
	KUNIT_CASE(value_lies_behind_key_and_lease),
	KUNIT_CASE(refused_group_and_value),
	KUNIT_CASE(keys_are_put_back),
	KUNIT_CASE(note_stays_until_a_run_ends_well),
	KUNIT_CASE(note_ends_with_its_item),
	KUNIT_CASE(note_extends_the_lease),
	KUNIT_CASE(note_needs_room),
	KUNIT_CASE(note_is_put_back),
	{}
};

static struct kunit_suite values_test_suite = {
	.name = "kwq-values",
	.init = values_test_init,
	.exit = values_test_exit,
	.test_cases = values_test_cases,
};

kunit_test_suite(values_test_suite);

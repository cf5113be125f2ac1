// SPDX-License-Identifier: GPL-2.0-only
/* Q15: lists of items, below the device, with hashes of the tests' own choice. */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "keyed_ops.h"

#define NR_STAYING	2000
#define NR_ENTRIES	64

/* @seen: how often each key with a number was listed */
struct list_test {
	struct kwq_keyed *keyed;
	struct kwq_handle *handle;
	struct kwq_list_request request;
	struct kwq_list_buffer buffer;
	struct kwq_listed entries[NR_ENTRIES];
	struct kwq_value *values[NR_ENTRIES * KWQ_SLOTS];
	u8 keys[2 * KWQ_KEY_MAX];
	u8 seen[NR_STAYING];
};

#define ALL_STATES (KWQ_IS_READY | KWQ_IS_PROCESSING | KWQ_IS_WAITING | KWQ_IS_DEAD |	\
		    KWQ_IS_REMEMBERED)

/* Adds a key that is a number, with the hash @hash. */
static void add_hashed(struct kunit *test, u32 number, u32 hash)
{
	struct list_test *t = test->priv;
	const struct kwq_key key = { (u8 *)&number, sizeof(number), hash };
	struct kwq_stock stock = {};
	unsigned long flags;
	int ret;

	KUNIT_ASSERT_TRUE(test, kwq_test_fill_stock(&stock, t->keyed, &key, 1));
	spin_lock_irqsave(&t->keyed->queue.lock, flags);
	ret = kwq_keyed_add_locked(t->keyed, &key, &(struct kwq_add_options){}, NULL, 0, &stock);
	kwq_keyed_unlock(t->keyed, flags);
	kwq_stock_empty(&stock, t->keyed);
	KUNIT_ASSERT_EQ(test, ret, KWQ_ADDED);
}

static void remove_hashed(struct kunit *test, u32 number, u32 hash)
{
	struct list_test *t = test->priv;
	const struct kwq_key key = { (u8 *)&number, sizeof(number), hash };
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&t->keyed->queue.lock, flags);
	ret = kwq_keyed_remove_locked(t->keyed, &key, 0, 0, 0);
	kwq_keyed_unlock(t->keyed, flags);
	KUNIT_ASSERT_EQ(test, ret, KWQ_WAS_READY);
}

/* A hash that no test depends on. */
static u32 some_hash(u32 number)
{
	struct kwq_key key = { (u8 *)&number, sizeof(number) };

	kwq_key_hash(&key);
	return key.hash;
}

static void add_number(struct kunit *test, u32 number)
{
	add_hashed(test, number, some_hash(number));
}

static void remove_number(struct kunit *test, u32 number)
{
	remove_hashed(test, number, some_hash(number));
}

static void add_numbers(struct kunit *test, u32 from, u32 to)
{
	for (; from < to; from++)
		add_number(test, from);
}

static void remove_numbers(struct kunit *test, u32 from, u32 to)
{
	for (; from < to; from++)
		remove_number(test, from);
}

static void begin(struct list_test *t, u32 states, u32 max_items)
{
	t->request = (struct kwq_list_request){ .states = states };
	t->buffer = (struct kwq_list_buffer){
		.entries = t->entries,
		.values = t->values,
		.keys = t->keys,
		.max_items = max_items,
		.max_key_bytes = sizeof(t->keys),
		.max_bytes = sizeof(t->keys),
	};
	memset(t->seen, 0, sizeof(t->seen));
}

/* One hold of the lock. Returns false at the end of the list. */
static bool list_some(struct kunit *test)
{
	struct list_test *t = test->priv;
	u32 i, number;

	KUNIT_ASSERT_EQ(test, kwq_keyed_list(t->keyed, &t->request, &t->buffer), 0);
	KUNIT_EXPECT_LE(test, t->buffer.fill.nr, t->buffer.max_items);
	KUNIT_EXPECT_EQ(test, t->buffer.fill.keys_len, t->buffer.fill.nr * sizeof(number));
	for (i = 0; i < t->buffer.fill.nr; i++) {
		memcpy(&number, t->keys + i * sizeof(number), sizeof(number));
		if (number < NR_STAYING)
			t->seen[number]++;
	}
	return t->request.at;
}

/* Checks that each key below @nr was listed once, and no other. */
static void expect_seen(struct kunit *test, u32 nr)
{
	struct list_test *t = test->priv;
	u32 i, wanted;

	for (i = 0; i < NR_STAYING; i++) {
		wanted = i < nr;
		if (t->seen[i] != wanted)
			break;
	}
	KUNIT_EXPECT_EQ_MSG(test, i, NR_STAYING, "key %u was listed %u times", i, t->seen[i]);
}

static void empty_queue(struct kunit *test)
{
	struct list_test *t = test->priv;

	begin(t, ALL_STATES, 1);
	KUNIT_EXPECT_FALSE(test, list_some(test));
	expect_seen(test, 0);
}

/* Q15: whatever the size of the pages. */
static void pages(struct kunit *test)
{
	static const u32 sizes[] = { 1, 2, 7, 63, 64 };
	struct list_test *t = test->priv;
	u32 i;

	add_numbers(test, 0, NR_STAYING);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		begin(t, ALL_STATES, sizes[i]);
		while (list_some(test))
			;
		expect_seen(test, NR_STAYING);
	}
}

#define NR_LISTED	300
/* Changes of the table in a round. Each adds or removes some hundred items. */
#define NR_CHANGES	32

/* Q15: the number of buckets changes between the pages, in both directions, by random amounts. */
static void table_changes(struct kunit *test)
{
	u32 nr = 0, to, round, changes = 0, before, size, left, one_in;
	struct list_test *t = test->priv;
	struct rnd_state random;

	prandom_seed_state(&random, 15);
	add_numbers(test, 0, NR_LISTED);
	for (round = 0; round < 8; round++) {
		size = 1 + prandom_u32_state(&random) % NR_ENTRIES;
		begin(t, ALL_STATES, size);
		left = NR_CHANGES;
		one_in = DIV_ROUND_UP(NR_LISTED, size * NR_CHANGES);
		while (list_some(test)) {
			/* Small pages are many: so the changes are spread over the list. */
			if (!left || prandom_u32_state(&random) % one_in)
				continue;
			left--;
			before = t->keyed->table.nr_buckets;
			to = prandom_u32_state(&random) % 8 ?
			     prandom_u32_state(&random) % 2000 : 0;
			add_numbers(test, NR_STAYING + nr, NR_STAYING + to);
			remove_numbers(test, NR_STAYING + to, NR_STAYING + nr);
			nr = to;
			changes += t->keyed->table.nr_buckets != before;
		}
		expect_seen(test, NR_LISTED);
	}
	/* So the sizes of the table have met many places of the list. */
	KUNIT_EXPECT_GT(test, changes, 20);
}

#define NR_FEW		40
#define NR_GOING	1000

/* Q15: the table has many buckets until the list has come to some place, and few afterwards. */
static void table_gets_small(struct kunit *test)
{
	struct list_test *t = test->priv;
	u32 n, holds;

	add_numbers(test, 0, NR_FEW);
	for (n = 1; n < NR_FEW; n += 3) {
		add_numbers(test, NR_STAYING, NR_STAYING + NR_GOING);
		begin(t, ALL_STATES, 1);
		for (holds = n * NR_GOING / NR_FEW; holds; holds--)
			KUNIT_ASSERT_TRUE(test, list_some(test));
		remove_numbers(test, NR_STAYING, NR_STAYING + NR_GOING);
		while (list_some(test))
			;
		expect_seen(test, NR_FEW);
	}
}

/* The other way round. */
static void table_gets_large(struct kunit *test)
{
	struct list_test *t = test->priv;
	u32 n, holds;

	add_numbers(test, 0, NR_FEW);
	for (n = 1; n < NR_FEW; n += 3) {
		begin(t, ALL_STATES, 1);
		for (holds = n; holds; holds--)
			KUNIT_ASSERT_TRUE(test, list_some(test));
		add_numbers(test, NR_STAYING, NR_STAYING + NR_GOING);
		t->buffer.max_items = NR_ENTRIES;
		while (list_some(test))
			;
		expect_seen(test, NR_FEW);
		remove_numbers(test, NR_STAYING, NR_STAYING + NR_GOING);
	}
}

/* Q15: items change their states all the time. */
static void states_change(struct kunit *test)
{
	struct list_test *t = test->priv;
	struct kwq_got got;
	u8 key[4];
	struct kwq_got_buffer buffer = {
		.got = &got,
		.keys = key,
		.max_items = 1,
		.max_key_bytes = sizeof(key),
	};
	const struct kwq_add_options at_done = {}, later = { .flags = KWQ_ADD_AFTER, .time = 1 };
	const struct kwq_key again = { key, sizeof(key) };
	int ret;

	add_numbers(test, 0, 200);
	begin(t, ALL_STATES, 1);
	do {
		KUNIT_ASSERT_EQ(test, kwq_handle_get(t->handle, &buffer, &at_once), 1);
		/* In turns, it is ready again at its done, or waits. */
		ret = kwq_keyed_add(t->keyed, &again, got.ticket % 2 ? &at_done : &later);
		KUNIT_ASSERT_EQ(test, ret, got.ticket % 2 ? KWQ_DIRTIED : KWQ_WAITING);
		KUNIT_ASSERT_GT(test, kwq_handle_done(t->handle, got.ticket, 0), 0);
		kwq_queue_advance(&t->keyed->queue, 1);
	} while (list_some(test));
	expect_seen(test, 200);
}

/* Q15: keys that share a hash are told apart by another one, even if each page has one entry. */
static void equal_hashes(struct kunit *test)
{
	enum { EQUAL = 20 };
	struct list_test *t = test->priv;
	u32 i, size, other = NR_STAYING;

	for (i = 0; i < EQUAL; i++)
		add_hashed(test, i, 0x1234567);
	for (size = 1; size <= EQUAL + 1; size++) {
		begin(t, ALL_STATES, size);
		/* Others with that hash come and go between the pages. */
		while (list_some(test)) {
			add_hashed(test, other, 0x1234567);
			if (other > NR_STAYING + 5)
				remove_hashed(test, other - 5, 0x1234567);
			other++;
		}
		expect_seen(test, EQUAL);
	}
}

/* The last place of all is listed, too, and the list ends behind it. */
static void first_and_last_place(struct kunit *test)
{
	struct list_test *t = test->priv;
	u32 size;

	add_hashed(test, 0, 0);
	add_hashed(test, 1, 0);
	add_hashed(test, 2, U32_MAX);
	add_hashed(test, 3, U32_MAX);
	for (size = 1; size < 6; size++) {
		begin(t, ALL_STATES, size);
		while (list_some(test))
			;
		expect_seen(test, 4);
	}
}

static u32 same_second_hash(const struct kwq_keyed_item *ki)
{
	return 7;
}

/*
 * Keys that share both hashes are listed together, or not at all. Nobody can make such keys, and
 * in a full queue there are two with a probability of about 1 in 100,000.
 */
static void equal_places(struct kunit *test)
{
	struct list_test *t = test->priv;
	u32 i, size;

	kunit_activate_static_stub(test, kwq_key_second_hash, same_second_hash);
	add_hashed(test, 0, 0x80);
	for (i = 1; i < 4; i++)
		add_hashed(test, i, 0x40);
	for (size = 3; size < 6; size++) {
		begin(t, ALL_STATES, size);
		while (list_some(test))
			;
		expect_seen(test, 4);
	}
	for (size = 1; size < 3; size++) {
		begin(t, ALL_STATES, size);
		while (!kwq_keyed_list(t->keyed, &t->request, &t->buffer) && t->request.at)
			;
		KUNIT_EXPECT_EQ(test, kwq_keyed_list(t->keyed, &t->request, &t->buffer),
				-EMSGSIZE);
		KUNIT_EXPECT_EQ(test, t->buffer.fill.nr, 0);
		KUNIT_EXPECT_EQ(test, t->buffer.fill.keys_len, 0);
	}
	kunit_deactivate_static_stub(test, kwq_key_second_hash);
}

static void *no_page(gfp_t gfp)
{
	return NULL;
}

/* O8: a bucket that is much too long, because there was no memory for more buckets. */
static void crowded_buckets(struct kunit *test)
{
	struct list_test *t = test->priv;
	u32 i, size;

	kunit_activate_static_stub(test, kwq_new_page, no_page);
	for (i = 0; i < 500; i++)
		add_hashed(test, i, (i * 2654435761U) & ~(u32)(KWQ_TABLE_MIN / 8 - 1));
	KUNIT_EXPECT_EQ(test, t->keyed->table.nr_buckets, KWQ_TABLE_MIN);
	for (size = 1; size <= NR_ENTRIES; size += 9) {
		begin(t, ALL_STATES, size);
		while (list_some(test))
			;
		expect_seen(test, 500);
	}
	kunit_deactivate_static_stub(test, kwq_new_page);
}

/* O8: a hold looks at few items, however few of them it finds. */
static void hold_is_bounded(struct kunit *test)
{
	struct list_test *t = test->priv;
	u32 holds = 1;

	add_numbers(test, 0, NR_STAYING);
	begin(t, KWQ_IS_DEAD, NR_ENTRIES);
	for (; list_some(test); holds++)
		KUNIT_EXPECT_EQ(test, t->buffer.fill.nr, 0);
	/* A hold looks at 256 buckets and items, and at the rest of the last bucket. */
	KUNIT_EXPECT_GE(test, holds, 2 * NR_STAYING / (256 + 20));
	KUNIT_EXPECT_LE(test, holds, 3 * NR_STAYING / 256 + 1);
	expect_seen(test, 0);
}

/* Q15: the getter's process. */
static void getter_is_listed(struct kunit *test)
{
	struct list_test *t = test->priv;
	struct kwq_got got;
	u8 key[4];
	struct kwq_got_buffer buffer = {
		.got = &got,
		.keys = key,
		.max_items = 1,
		.max_key_bytes = sizeof(key),
	};

	KUNIT_EXPECT_NULL(test, t->handle->pid);
	add_number(test, 0);
	KUNIT_ASSERT_EQ(test, kwq_handle_get(t->handle, &buffer, &at_once), 1);
	KUNIT_EXPECT_PTR_EQ(test, t->handle->pid, task_tgid(current));
	begin(t, ALL_STATES, 1);
	KUNIT_ASSERT_EQ(test, kwq_keyed_list(t->keyed, &t->request, &t->buffer), 0);
	KUNIT_ASSERT_EQ(test, t->buffer.fill.nr, 1);
	KUNIT_EXPECT_EQ(test, t->entries[0].pid, task_tgid_vnr(current));
	KUNIT_EXPECT_EQ(test, t->entries[0].order, got.ticket);
}

/* M2: the oldest wait of many, and none after a shut down. */
static void oldest_wait(struct kunit *test)
{
	struct list_test *t = test->priv;
	u32 i;

	for (i = 0; i < NR_STAYING; i++) {
		const struct kwq_key key = { (u8 *)&i, sizeof(i) };
		const struct kwq_add_options hour = {
			.flags = KWQ_ADD_AFTER,
			.time = 3600 * NSEC_PER_SEC,
		};

		KUNIT_ASSERT_EQ(test, kwq_keyed_add(t->keyed, &key, &hour), KWQ_WAITING);
		kwq_queue_advance(&t->keyed->queue, 1);
	}
	KUNIT_EXPECT_EQ(test, kwq_keyed_oldest(t->keyed, KWQ_ITEM_WAITING, NR_STAYING), NR_STAYING);
	KUNIT_EXPECT_EQ(test, kwq_keyed_oldest(t->keyed, KWQ_ITEM_WAITING, NR_STAYING + 5),
			NR_STAYING + 5);
	kwq_keyed_shut_down(t->keyed);
	KUNIT_EXPECT_EQ(test, kwq_keyed_oldest(t->keyed, KWQ_ITEM_WAITING, NR_STAYING), 0);
}

static void open_queue(struct kunit *test, bool no_durations)
{
	const struct kwq_limits plenty = {
		.max_items = U32_MAX,
		.max_bytes = U32_MAX,
		.no_durations = no_durations,
	};
	struct list_test *t = test->priv;

	t->keyed = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &plenty);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->keyed));
	t->handle = kwq_handle_open(t->keyed, KWQ_RIGHT_READ | KWQ_RIGHT_WRITE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->handle));
}

static void close_queue(struct list_test *t)
{
	if (!IS_ERR_OR_NULL(t->handle))
		kwq_handle_close(t->handle);
	if (!IS_ERR_OR_NULL(t->keyed))
		kwq_keyed_put(t->keyed);
	t->handle = NULL;
	t->keyed = NULL;
}

/* Lists the only item. */
static const struct kwq_listed *only_item(struct kunit *test)
{
	struct list_test *t = test->priv;

	begin(t, ALL_STATES, NR_ENTRIES);
	KUNIT_ASSERT_EQ(test, kwq_keyed_list(t->keyed, &t->request, &t->buffer), 0);
	KUNIT_ASSERT_EQ(test, t->buffer.fill.nr, 1);
	return t->entries;
}

static int add_one(struct list_test *t, u32 flags, u64 time)
{
	const struct kwq_add_options options = { .flags = flags, .time = time };
	const struct kwq_key key = { "k", 1 };

	return kwq_keyed_add(t->keyed, &key, &options);
}

static u64 get_one(struct kunit *test)
{
	struct list_test *t = test->priv;
	struct kwq_got got;
	u8 key[4];
	struct kwq_got_buffer buffer = {
		.got = &got,
		.keys = key,
		.max_items = 1,
		.max_key_bytes = sizeof(key),
	};

	KUNIT_ASSERT_EQ(test, kwq_handle_get(t->handle, &buffer, &at_once), 1);
	return got.ticket;
}

/* M1, Q15: an age is unknown if it counts from an add without options, a hand-out or a done. */
static void ages_without_durations(struct kunit *test)
{
	struct list_test *t = test->priv;
	const struct kwq_listed *item;
	u64 ticket;

	close_queue(t);
	open_queue(test, true);
	kwq_queue_advance(&t->keyed->queue, 7);
	KUNIT_ASSERT_EQ(test, add_one(t, 0, 0), KWQ_ADDED);
	item = only_item(test);
	KUNIT_EXPECT_EQ(test, item->dirty_for, KWQ_AGE_UNKNOWN);
	KUNIT_EXPECT_EQ(test, item->processing_for, 0);

	ticket = get_one(test);
	item = only_item(test);
	KUNIT_EXPECT_EQ(test, item->processing_for, KWQ_AGE_UNKNOWN);
	KUNIT_EXPECT_EQ(test, item->dirty_for, 0);
	KUNIT_ASSERT_EQ(test, add_one(t, 0, 0), KWQ_DIRTIED);
	KUNIT_EXPECT_EQ(test, only_item(test)->dirty_for, KWQ_AGE_UNKNOWN);

	/* D9: the wait has an age. With it, that of the item is the one of the hand-out. */
	KUNIT_ASSERT_EQ(test, add_one(t, KWQ_ADD_AFTER, 10), KWQ_WAITING);
	kwq_queue_advance(&t->keyed->queue, 10);
	item = only_item(test);
	KUNIT_EXPECT_EQ(test, item->waiting_for, 3);
	KUNIT_EXPECT_EQ(test, item->due_in, 7);
	KUNIT_EXPECT_EQ(test, item->dirty_for, KWQ_AGE_UNKNOWN);
	KUNIT_EXPECT_EQ(test, item->processing_for, KWQ_AGE_UNKNOWN);

	/* O1: the close of a handle reads the clock. */
	kwq_handle_close(t->handle);
	t->handle = kwq_handle_open(t->keyed, KWQ_RIGHT_READ | KWQ_RIGHT_WRITE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->handle));
	ticket = get_one(test);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->handle, ticket, 0), KWQ_STILL_WAITING);
	item = only_item(test);
	KUNIT_EXPECT_EQ(test, item->state, KWQ_IS_WAITING);
	KUNIT_EXPECT_EQ(test, item->waiting_for, 3);

	/* The end of a wait is a time that the queue knows. */
	kwq_queue_advance(&t->keyed->queue, 17);
	kwq_queue_advance(&t->keyed->queue, 19);
	item = only_item(test);
	KUNIT_EXPECT_EQ(test, item->state, KWQ_IS_READY);
	KUNIT_EXPECT_EQ(test, item->dirty_for, 2);

	ticket = get_one(test);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->handle, ticket, KWQ_DONE_DEAD), KWQ_BURIED);
	item = only_item(test);
	KUNIT_EXPECT_EQ(test, item->state, KWQ_IS_DEAD);
	KUNIT_EXPECT_EQ(test, item->dead_for, KWQ_AGE_UNKNOWN);
}

/* M1, L11: the age of a death at a done is unknown. That of one at a rate-limited add is known. */
static void deaths_without_durations(struct kunit *test)
{
	const struct kwq_limiter_config config = { .dead_after = 1 };
	struct list_test *t = test->priv;

	close_queue(t);
	open_queue(test, true);
	KUNIT_ASSERT_EQ(test, kwq_configure(&t->keyed->queue, &config), 0);
	KUNIT_ASSERT_EQ(test, add_one(t, 0, 0), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->handle, get_one(test), KWQ_DONE_DEAD),
			KWQ_BURIED);
	kwq_queue_advance(&t->keyed->queue, 5);
	KUNIT_EXPECT_EQ(test, only_item(test)->dead_for, KWQ_AGE_UNKNOWN);

	KUNIT_ASSERT_EQ(test, add_one(t, KWQ_ADD_KICK, 0), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->handle, get_one(test), 0), KWQ_FINISHED);
	KUNIT_ASSERT_EQ(test, add_one(t, KWQ_ADD_RATE_LIMITED, 0), KWQ_WAITING);
	kwq_queue_advance(&t->keyed->queue, NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->handle, get_one(test), 0), KWQ_FINISHED);
	KUNIT_ASSERT_EQ(test, add_one(t, KWQ_ADD_RATE_LIMITED, 0), KWQ_DEAD);
	kwq_queue_advance(&t->keyed->queue, NSEC_PER_SEC + 5);
	KUNIT_EXPECT_EQ(test, only_item(test)->dead_for, 5);
}

static int list_test_init(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct list_test), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, test->priv);
	open_queue(test, false);
	return 0;
}

static void list_test_exit(struct kunit *test)
{
	if (test->priv)
		close_queue(test->priv);
}

static struct kunit_case list_test_cases[] = {
	KUNIT_CASE(empty_queue),
	KUNIT_CASE(pages),
	KUNIT_CASE(table_changes),
	KUNIT_CASE(table_gets_small),
	KUNIT_CASE(table_gets_large),
	KUNIT_CASE(states_change),
	KUNIT_CASE(equal_hashes),
	KUNIT_CASE(first_and_last_place),
	KUNIT_CASE(equal_places),
	KUNIT_CASE(crowded_buckets),
	KUNIT_CASE(hold_is_bounded),
	KUNIT_CASE(getter_is_listed),
	KUNIT_CASE(oldest_wait),
	KUNIT_CASE(ages_without_durations),
	KUNIT_CASE(deaths_without_durations),
	{}
};

static struct kunit_suite list_test_suite = {
	.name = "kwq-list",
	.init = list_test_init,
	.exit = list_test_exit,
	.test_cases = list_test_cases,
};

kunit_test_suite(list_test_suite);

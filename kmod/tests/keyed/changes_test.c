// SPDX-License-Identifier: GPL-2.0-only
/* The changes of a queue, below the device (N8): changes.c on a manual clock. */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/poll.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "core/core.h"
#include "keyed_ops.h"
#include "tests/thread.h"

#define LEASE	1000
#define NR_READ	(2 * KWQ_ITEMS_PER_HOLD)

static const struct kwq_limits followed = {
	.max_items = 1 << 20,
	.max_bytes = 1 << 30,
	.lease = LEASE,
	.changes = true,
	.sync = true,
};

struct changes_test {
	KWQ_TEST_HANDLES;		/* x follows */
	struct kwq_got got[4];
	u8 got_keys[256];
	u64 after, of_queue;
	/* The result of the last read. */
	struct kwq_listed read[NR_READ];
	struct kwq_value *values[NR_READ * KWQ_SLOTS];
	u8 keys[NR_READ * 8];
};

#define RIGHTS	(KWQ_RIGHT_READ | KWQ_RIGHT_MANAGE)

static int changes_test_init(struct kunit *test)
{
	return kwq_test_begin(test, sizeof(struct changes_test), &followed, RIGHTS);
}

/* The same with a handle that follows. */
static int following_test_init(struct kunit *test)
{
	struct changes_test *t;
	int err = changes_test_init(test);

	if (err)
		return err;
	t = test->priv;
	return kwq_follow(t->x, &t->after);
}

/* Both lists are sorted by numbers, and @last_told is between them. */
static const char *wrong_lists(const struct kwq_changes *changes)
{
	struct kwq_change *change;
	u64 last = 0, nr = 0;

	list_for_each_entry(change, &changes->told, link) {
		if (change->number <= last || change->number > changes->last_told)
			return "@told is not sorted";
		last = change->number;
		nr++;
	}
	last = changes->last_told;
	list_for_each_entry(change, &changes->unread, link) {
		if (change->number <= last || change->number > changes->last)
			return "@unread is not sorted";
		last = change->number;
		nr++;
	}
	return nr == changes->nr_unread ? NULL : "@nr_unread is wrong";
}

static void expect_sound(struct kunit *test)
{
	struct changes_test *t = test->priv;
	const char *wrong;
	unsigned long flags;

	spin_lock_irqsave(&t->keyed->queue.lock, flags);
	wrong = t->keyed->changes ? wrong_lists(t->keyed->changes) : NULL;
	spin_unlock_irqrestore(&t->keyed->queue.lock, flags);
	KUNIT_EXPECT_STREQ(test, "", wrong ?: "");
}

static void end_queue(struct kunit *test)
{
	expect_sound(test);
	kwq_test_close(test);
}

static void make_again(struct kunit *test, const struct kwq_limits *limits)
{
	end_queue(test);
	kwq_test_open(test, KWQ_CLOCK_MANUAL, limits, RIGHTS);
}

static void changes_test_exit(struct kunit *test)
{
	struct changes_test *t = test->priv;

	if (t && !IS_ERR_OR_NULL(t->keyed))
		end_queue(test);
}

static int add_with(struct changes_test *t, const char *key, const struct kwq_add_options *options)
{
	const struct kwq_key k = key_of(key);

	return kwq_keyed_add(t->keyed, &k, options);
}

static int add(struct changes_test *t, const char *key)
{
	return add_with(t, key, &(struct kwq_add_options){});
}

static int add_after(struct changes_test *t, const char *key, u64 delay)
{
	return add_with(t, key, &(struct kwq_add_options){ .flags = KWQ_ADD_AFTER, .time = delay });
}

static int add_limited(struct changes_test *t, const char *key)
{
	return add_with(t, key, &(struct kwq_add_options){ .flags = KWQ_ADD_RATE_LIMITED });
}

static int take_out(struct changes_test *t, const char *key)
{
	const struct kwq_key k = key_of(key);

	return kwq_keyed_remove(t->keyed, &k, 0);
}

static int forget(struct changes_test *t, const char *key)
{
	const struct kwq_key k = key_of(key);

	return kwq_keyed_forget(t->keyed, &k);
}

/* Gets items by the handle @y. Returns their number. */
static int get(struct changes_test *t, u32 nr)
{
	struct kwq_got_buffer buffer = {
		.got = t->got,
		.keys = t->got_keys,
		.max_items = nr,
		.max_key_bytes = sizeof(t->got_keys),
	};

	return kwq_handle_get(t->y, &buffer, &at_once);
}

static int done(struct changes_test *t, u32 i)
{
	return kwq_handle_done(t->y, t->got[i].ticket, 0);
}

static struct kwq_list_buffer buffer_of(struct changes_test *t, u32 items, u32 bytes)
{
	return (struct kwq_list_buffer){
		.entries = t->read,
		.values = t->values,
		.keys = t->keys,
		.max_items = items,
		.max_key_bytes = bytes,
		.max_bytes = bytes,
	};
}

/* CHANGES without its wait. Returns how many items it reads, or an error. */
static int read_after(struct changes_test *t, u64 after, u64 kept, u32 most)
{
	struct kwq_list_request request = { .unread = true };
	struct kwq_list_buffer buffer = { .max_key_bytes = sizeof(t->keys) };
	u32 nr = 0, keys = 0, i;
	int err;

	err = kwq_begin_reading(t->x, after, kept, false);
	if (err)
		return err;
	do {
		buffer.entries = t->read + nr;
		buffer.values = t->values;
		buffer.keys = t->keys + keys;
		buffer.max_items = most - nr;
		buffer.max_key_bytes = sizeof(t->keys) - keys;
		buffer.max_bytes = buffer.max_key_bytes;
		err = kwq_keyed_list(t->keyed, &request, &buffer);
		for (i = 0; i < buffer.fill.nr * KWQ_SLOTS; i++)
			if (buffer.values[i])
				kwq_value_put(buffer.values[i]);
		nr += buffer.fill.nr;
		keys += buffer.fill.keys_len;
	} while (!err && request.at && nr < most);
	t->after = kwq_end_reading(t->x, &t->of_queue);
	return err ?: nr;
}

static int read_all(struct changes_test *t)
{
	return read_after(t, t->after, 0, NR_READ);
}

/* Expects that the next read finds these items, as "key:states key:states ". */
static void expect_read(struct kunit *test, const char *expected)
{
	struct changes_test *t = test->priv;
	static const char letters[] = "RWPDXMAY";	/* in the order of KWQ_IS_* */
	int nr = read_all(t), i, bit;
	const u8 *key = t->keys;
	char found[256];
	int len = 0;

	for (i = 0; i < nr; i++) {
		len += scnprintf(found + len, sizeof(found) - len, "%.*s:", t->read[i].key_len,
				 key);
		for (bit = 0; bit < 8; bit++)
			if (t->read[i].state & BIT(bit))
				found[len++] = letters[bit];
		found[len++] = ' ';
		key += t->read[i].key_len + t->read[i].group_len;
	}
	found[len] = 0;
	KUNIT_EXPECT_STREQ(test, found, expected);
	expect_sound(test);
}

/* ---- What is a change ----------------------------------------------------- */

static void queue_without_changes_has_none(struct kunit *test)
{
	static const struct kwq_limits plain = { .max_items = 10, .max_bytes = 1 << 20 };
	struct changes_test *t = test->priv;
	u64 number;

	make_again(test, &plain);
	KUNIT_EXPECT_EQ(test, add(t, "a"), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_follow(t->x, &number), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, kwq_begin_reading(t->x, 0, 0, false), -EBADF);
	kwq_keyed_pause(t->keyed, KTIME_MAX);
}

static void each_operation_is_a_change(struct kunit *test)
{
	struct changes_test *t = test->priv;

	/* N8 */
	expect_read(test, "");
	add(t, "a");
	expect_read(test, "a:R ");
	KUNIT_EXPECT_EQ(test, t->read[0].order_of, KWQ_IS_READY);
	get(t, 1);
	expect_read(test, "a:P ");
	KUNIT_EXPECT_EQ(test, t->read[0].order_of, KWQ_IS_PROCESSING);
	KUNIT_EXPECT_EQ(test, t->read[0].order, t->got[0].ticket);
	add(t, "a");
	expect_read(test, "a:PD ");
	done(t, 0);
	expect_read(test, "a:R ");
	get(t, 1);
	kwq_handle_unget(t->y, t->got, 1);
	expect_read(test, "a:R ");
	add_after(t, "b", 10);
	expect_read(test, "b:W ");
	add_after(t, "b", 5);
	expect_read(test, "b:W ");
	KUNIT_EXPECT_EQ(test, t->read[0].due_in, 5);
	kwq_queue_advance_by(&t->keyed->queue, 5);
	expect_read(test, "b:R ");
	add_with(t, "b", &(struct kwq_add_options){ .flags = KWQ_ADD_PRIORITY, .priority = 3 });
	expect_read(test, "b:R ");
	KUNIT_EXPECT_EQ(test, t->read[0].priority, 3);
	take_out(t, "b");
	expect_read(test, "b: ");
	get(t, 1);
	kwq_handle_done(t->y, t->got[0].ticket, KWQ_DONE_DEAD);
	expect_read(test, "a:X ");
	add_with(t, "a", &(struct kwq_add_options){ .flags = KWQ_ADD_KICK });
	expect_read(test, "a:R ");
	get(t, 1);
	/* The lease ends. */
	kwq_queue_advance_by(&t->keyed->queue, LEASE);
	expect_read(test, "a:RA ");
	get(t, 1);
	add_limited(t, "a");
	done(t, 0);
	expect_read(test, "a:W ");
	KUNIT_EXPECT_EQ(test, t->read[0].requeues, 1);
	kwq_queue_advance_by(&t->keyed->queue, NSEC_PER_SEC);
	get(t, 1);
	done(t, 0);
	expect_read(test, "a:M ");
	forget(t, "a");
	expect_read(test, "a: ");
	expect_read(test, "");
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 0);
}

static void plain_add_that_coalesces_is_no_change(struct kunit *test)
{
	struct changes_test *t = test->priv;
	u64 last;

	add(t, "a");
	last = t->keyed->changes->last;
	KUNIT_EXPECT_EQ(test, add(t, "a"), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, t->keyed->changes->last, last);
	get(t, 1);
	add(t, "a");
	last = t->keyed->changes->last;
	KUNIT_EXPECT_EQ(test, add(t, "a"), KWQ_DIRTY);
	KUNIT_EXPECT_EQ(test, t->keyed->changes->last, last);
}

static void close_of_a_handle_is_a_change(struct kunit *test)
{
	struct changes_test *t = test->priv;

	/* O1 */
	add(t, "a");
	get(t, 1);
	expect_read(test, "a:P ");
	kwq_handle_close(t->y);
	t->y = NULL;
	expect_read(test, "a:RA ");
	end_queue(test);
}

static void shut_down_is_a_change_of_the_queue(struct kunit *test)
{
	struct changes_test *t = test->priv;
	u64 shut_downs, before;

	add_after(t, "a", 10);
	expect_read(test, "a:W ");
	before = t->of_queue;
	kwq_keyed_pause(t->keyed, KTIME_MAX);
	expect_read(test, "");
	KUNIT_EXPECT_GT(test, t->of_queue, before);
	before = t->of_queue;
	kwq_keyed_resume(t->keyed);
	expect_read(test, "");
	KUNIT_EXPECT_GT(test, t->of_queue, before);
	before = t->of_queue;
	KUNIT_EXPECT_EQ(test, kwq_keyed_configure(t->keyed, NULL), 0);
	expect_read(test, "");
	KUNIT_EXPECT_GT(test, t->of_queue, before);
	before = t->of_queue;
	kwq_keyed_shut_down(t->keyed);
	expect_read(test, "a: ");
	KUNIT_EXPECT_GT(test, t->of_queue, before);
	before = t->of_queue;
	KUNIT_EXPECT_EQ(test, kwq_keyed_drain(t->keyed, 0, 0, &shut_downs), 0);
	expect_read(test, "");
	KUNIT_EXPECT_GT(test, t->of_queue, before);
	/* Q10 */
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 0);
}

/* ---- Reading -------------------------------------------------------------- */

static void unread_item_keeps_its_place(struct kunit *test)
{
	struct changes_test *t = test->priv;

	add(t, "a");
	add(t, "b");
	get(t, 1);
	add(t, "a");
	expect_read(test, "a:PD b:R ");
	KUNIT_EXPECT_EQ(test, t->read[0].change, 1);
	KUNIT_EXPECT_EQ(test, t->read[1].change, 2);
	KUNIT_EXPECT_EQ(test, t->after, 2);
}

static void item_that_changes_after_it_was_read_comes_again(struct kunit *test)
{
	struct changes_test *t = test->priv;

	add(t, "a");
	add(t, "b");
	KUNIT_EXPECT_EQ(test, read_all(t), 2);
	/* The follower has not come back yet. */
	get(t, 1);
	expect_read(test, "a:P ");
	KUNIT_EXPECT_EQ(test, t->read[0].change, 3);
}

static void same_number_reads_the_same_items(struct kunit *test)
{
	struct changes_test *t = test->priv;
	u64 before;

	add(t, "a");
	add(t, "b");
	add(t, "c");
	before = t->after;
	KUNIT_EXPECT_EQ(test, read_after(t, before, 0, 2), 2);
	KUNIT_EXPECT_EQ(test, t->after, 2);
	take_out(t, "a");
	t->after = before;
	expect_read(test, "b:R c:R a: ");
	/* A part of what was read. */
	t->after = 2;
	expect_read(test, "c:R a: ");
	expect_read(test, "");
}

static void call_reads_what_has_changed_before_it(struct kunit *test)
{
	struct kwq_list_request request = { .unread = true };
	struct changes_test *t = test->priv;
	struct kwq_list_buffer buffer = buffer_of(t, 1, 8);

	add(t, "a");
	add(t, "b");
	KUNIT_EXPECT_EQ(test, kwq_begin_reading(t->x, t->after, 0, false), 0);
	KUNIT_EXPECT_EQ(test, kwq_keyed_list(t->keyed, &request, &buffer), 0);
	KUNIT_EXPECT_NE(test, request.at, 0);
	/* So no key comes twice in a call. */
	get(t, 1);
	buffer.max_items = 2;
	KUNIT_EXPECT_EQ(test, kwq_keyed_list(t->keyed, &request, &buffer), 0);
	KUNIT_EXPECT_EQ(test, buffer.fill.nr, 1);
	KUNIT_EXPECT_EQ(test, request.at, 0);
	t->after = kwq_end_reading(t->x, &t->of_queue);
	KUNIT_EXPECT_EQ(test, t->after, 2);
	expect_read(test, "a:P ");
}

static void number_that_was_not_told_is_refused(struct kunit *test)
{
	struct changes_test *t = test->priv;

	add(t, "a");
	KUNIT_EXPECT_EQ(test, read_after(t, 1, 0, 4), -EINVAL);
	KUNIT_EXPECT_EQ(test, read_all(t), 1);
	KUNIT_EXPECT_EQ(test, read_after(t, 2, 0, 4), -EINVAL);
	KUNIT_EXPECT_EQ(test, read_after(t, 1, 0, 4), 0);
	/* The items up to 1 have been forgotten. */
	KUNIT_EXPECT_EQ(test, read_after(t, 0, 0, 4), -EINVAL);
}

static void long_key_does_not_fit(struct kunit *test)
{
	struct kwq_list_request request = { .unread = true };
	struct changes_test *t = test->priv;
	struct kwq_list_buffer buffer = buffer_of(t, 2, 3);

	add(t, "long");
	KUNIT_EXPECT_EQ(test, kwq_begin_reading(t->x, t->after, 0, false), 0);
	KUNIT_EXPECT_EQ(test, kwq_keyed_list(t->keyed, &request, &buffer), -EMSGSIZE);
	t->after = kwq_end_reading(t->x, &t->of_queue);
	expect_read(test, "long:R ");
}

static void reading_takes_several_holds(struct kunit *test)
{
	struct changes_test *t = test->priv;
	char key[8];
	int i;

	/* O8 */
	for (i = 0; i < NR_READ; i++) {
		scnprintf(key, sizeof(key), "%03d", i);
		add(t, key);
	}
	KUNIT_EXPECT_EQ(test, read_all(t), NR_READ);
	KUNIT_EXPECT_EQ(test, t->keyed->changes->nr_unread, NR_READ);
	for (i = 0; i < NR_READ; i++) {
		scnprintf(key, sizeof(key), "%03d", i);
		take_out(t, key);
	}
	KUNIT_EXPECT_EQ(test, read_all(t), NR_READ);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, NR_READ);
	KUNIT_EXPECT_EQ(test, read_all(t), 0);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 0);
	KUNIT_EXPECT_EQ(test, t->keyed->changes->nr_unread, 0);
}

static void one_call_reads_at_a_time(struct kunit *test)
{
	struct changes_test *t = test->priv;
	u64 of_queue;

	KUNIT_EXPECT_EQ(test, kwq_begin_reading(t->y, 0, 0, false), -EBADF);
	KUNIT_EXPECT_EQ(test, kwq_begin_reading(t->x, 0, 0, false), 0);
	KUNIT_EXPECT_EQ(test, kwq_begin_reading(t->x, 0, 0, false), -EBUSY);
	kwq_end_reading(t->x, &of_queue);
	KUNIT_EXPECT_EQ(test, read_after(t, 0, 0, 1), 0);
}

/* ---- Items that are gone -------------------------------------------------- */

static void item_that_is_gone_stays_until_it_is_read(struct kunit *test)
{
	struct changes_test *t = test->priv;
	struct kwq_stat *stat = kunit_kzalloc(test, sizeof(*stat), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, stat);
	add(t, "a");
	take_out(t, "a");
	kwq_keyed_stat(t->keyed, stat);
	KUNIT_EXPECT_EQ(test, stat->items, 1);
	KUNIT_EXPECT_EQ(test, stat->ready, 0);
	KUNIT_EXPECT_EQ(test, stat->unread, 1);
	KUNIT_EXPECT_EQ(test, stat->followers, 1);
	KUNIT_EXPECT_EQ(test, stat->last_change, 1);
	KUNIT_EXPECT_NE(test, stat->id, 0);
	KUNIT_EXPECT_EQ(test, take_out(t, "a"), -ENOENT);
	expect_read(test, "a: ");
	/* It may have to be read again. */
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 1);
	expect_read(test, "");
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 0);
}

static void item_that_is_gone_comes_back(struct kunit *test)
{
	struct changes_test *t = test->priv;

	add(t, "a");
	take_out(t, "a");
	KUNIT_EXPECT_EQ(test, add(t, "a"), KWQ_ADDED);
	expect_read(test, "a:R ");
	take_out(t, "a");
	expect_read(test, "a: ");
	KUNIT_EXPECT_EQ(test, add(t, "a"), KWQ_ADDED);
	expect_read(test, "a:R ");
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 1);
}

static void item_that_is_gone_is_freed_without_a_follower(struct kunit *test)
{
	struct changes_test *t = test->priv;

	add(t, "a");
	take_out(t, "a");
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 0);
	KUNIT_EXPECT_EQ(test, t->keyed->changes->last, 2);
}

static void full_queue_has_room_once_the_follower_reads(struct kunit *test)
{
	static const struct kwq_limits two = {
		.max_items = 2, .max_bytes = 1 << 20, .changes = true,
	};
	struct changes_test *t = test->priv;

	make_again(test, &two);
	KUNIT_ASSERT_EQ(test, kwq_follow(t->x, &t->after), 0);
	add(t, "a");
	add(t, "b");
	take_out(t, "a");
	/* O4 */
	KUNIT_EXPECT_EQ(test, add(t, "c"), -ENOSPC);
	expect_read(test, "a: b:R ");
	KUNIT_EXPECT_EQ(test, add(t, "c"), -ENOSPC);
	expect_read(test, "");
	KUNIT_EXPECT_EQ(test, add(t, "c"), KWQ_ADDED);
}

static void remember(struct kunit *test, const char *key)
{
	struct changes_test *t = test->priv;

	add_limited(t, key);
	kwq_queue_advance_by(&t->keyed->queue, NSEC_PER_SEC);
	KUNIT_ASSERT_EQ(test, get(t, 1), 1);
	KUNIT_EXPECT_EQ(test, done(t, 0), KWQ_FINISHED);
}

/* L10: refused or not, an add in a queue that is followed drops no count. */
static void remembered_item_goes_once_that_is_read(struct kunit *test)
{
	static const struct kwq_limits one = {
		.max_items = 1, .max_bytes = 1 << 20, .changes = true,
	};
	struct changes_test *t = test->priv;

	make_again(test, &one);
	remember(test, "a");
	KUNIT_ASSERT_EQ(test, kwq_follow(t->x, &t->after), 0);
	KUNIT_EXPECT_EQ(test, add(t, "c"), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, add(t, "d"), -ENOSPC);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_remembered, 1);
	take_out(t, "c");
	expect_read(test, "c: ");
	expect_read(test, "");
	/* The next count drops the first one, which stays until that is read. */
	remember(test, "b");
	KUNIT_EXPECT_EQ(test, t->keyed->nr_remembered, 1);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 2);
	KUNIT_EXPECT_EQ(test, add(t, "c"), -ENOSPC);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_remembered, 1);
	expect_read(test, "b:M a: ");
	expect_read(test, "");
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 1);
	KUNIT_EXPECT_EQ(test, add(t, "c"), KWQ_ADDED);
}

/* U8, L10: counts that are restored drop others, which stay until that is read. So it ends. */
static void restored_counts_have_a_limit(struct kunit *test)
{
	static const struct kwq_limits two = {
		.max_items = 2, .max_bytes = 1 << 20, .changes = true,
	};
	static const struct kwq_restored restored = { .requeues = 1 };
	struct changes_test *t = test->priv;
	struct kwq_extras extras = {};
	char name[] = "a";
	int i, ret;

	make_again(test, &two);
	KUNIT_ASSERT_EQ(test, kwq_follow(t->x, &t->after), 0);
	for (i = 0; i < 8; i++) {
		struct kwq_stock stock = {};
		struct kwq_key key;
		unsigned long flags;

		name[0] = 'a' + i;
		key = key_of(name);
		kwq_key_hash(&key);
		kwq_test_fill_stock(&stock, t->keyed, &key, 1);
		spin_lock_irqsave(&t->keyed->queue.lock, flags);
		ret = kwq_keyed_restore_locked(t->keyed, &key, &restored, &extras, 0, &stock);
		kwq_keyed_unlock(t->keyed, flags);
		kwq_stock_empty(&stock, t->keyed);
		KUNIT_EXPECT_EQ(test, ret, i < 4 ? KWQ_RESTORED : -ENOSPC);
	}
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 4);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_remembered, 2);
	/* Items that are gone have places, unless the queue is beyond its limit. */
	KUNIT_EXPECT_EQ(test, add(t, "a"), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, add(t, "b"), KWQ_ADDED);
	remember(test, "a");
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 4);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_remembered, 2);
	expect_read(test, "a:M b:R c: d:M ");
	expect_read(test, "");
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 3);
}

/* L10: while a follower is being closed, an add finds the room that it would find afterwards. */
static void follower_that_goes_leaves_counts_alone(struct kunit *test)
{
	static const struct kwq_limits limits = {
		.max_items = 4, .max_bytes = 1 << 20, .changes = true,
	};
	struct changes_test *t = test->priv;
	const char *const keys[] = { "a", "b", "c", "d" };
	int i;

	make_again(test, &limits);
	KUNIT_ASSERT_EQ(test, kwq_follow(t->x, &t->after), 0);
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		remember(test, keys[i]);
	/* As between two holds of kwq_stop_following(). */
	WRITE_ONCE(t->keyed->changes->follower, NULL);
	KUNIT_EXPECT_EQ(test, add(t, "e"), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_remembered, 4);
	WRITE_ONCE(t->keyed->changes->follower, t->x);
	kwq_handle_close(t->x);
	t->x = NULL;
	KUNIT_EXPECT_EQ(test, t->keyed->nr_remembered, 4);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 5);
}

static void value_of_an_item_that_is_gone_is_freed(struct kunit *test)
{
	static const struct kwq_limits valued = {
		.max_items = 2, .max_bytes = 1 << 20, .values = true, .changes = true,
	};
	struct changes_test *t = test->priv;
	struct kwq_extras extras = { .flags = KWQ_ADD_VALUE };
	const struct kwq_key a = key_of("a");

	make_again(test, &valued);
	KUNIT_ASSERT_EQ(test, kwq_follow(t->x, &t->after), 0);
	extras.value = kwq_value_alloc(5);
	KUNIT_ASSERT_NOT_NULL(test, extras.value);
	KUNIT_EXPECT_EQ(test, kwq_keyed_add_with(t->keyed, &a, &(struct kwq_add_options){},
						 &extras), KWQ_ADDED);
	expect_read(test, "a:R ");
	KUNIT_EXPECT_EQ(test, t->read[0].value_len, 5);
	take_out(t, "a");
	KUNIT_EXPECT_EQ(test, t->keyed->nr_values, 0);
	expect_read(test, "a: ");
	KUNIT_EXPECT_EQ(test, t->read[0].value_len, 0);
}

/* ---- Followers ------------------------------------------------------------ */

static void second_follower_is_refused(struct kunit *test)
{
	struct changes_test *t = test->priv;
	u64 number;

	KUNIT_EXPECT_EQ(test, kwq_follow(t->x, &number), -EBUSY);
	KUNIT_EXPECT_EQ(test, kwq_follow(t->y, &number), -EBUSY);
	kwq_handle_close(t->x);
	t->x = NULL;
	KUNIT_EXPECT_EQ(test, kwq_follow(t->y, &number), 0);
}

static void follower_begins_at_the_last_change(struct kunit *test)
{
	struct changes_test *t = test->priv;

	add(t, "a");
	add(t, "b");
	KUNIT_ASSERT_EQ(test, kwq_follow(t->x, &t->after), 0);
	KUNIT_EXPECT_EQ(test, t->after, 2);
	expect_read(test, "");
	get(t, 1);
	expect_read(test, "a:P ");
}

static void end_of_the_follower_frees_items_that_are_gone(struct kunit *test)
{
	struct changes_test *t = test->priv;
	char key[8];
	u64 number;
	int i;

	for (i = 0; i < NR_READ; i++) {
		scnprintf(key, sizeof(key), "%03d", i);
		add(t, key);
		if (i == NR_READ / 2)
			KUNIT_EXPECT_EQ(test, read_after(t, t->after, 0, 10), 10);
		if (i % 2)
			take_out(t, key);
	}
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, NR_READ);
	kwq_handle_close(t->x);
	t->x = NULL;
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, NR_READ / 2);
	KUNIT_EXPECT_EQ(test, t->keyed->changes->nr_unread, 0);
	KUNIT_EXPECT_EQ(test, kwq_follow(t->y, &number), 0);
}

/* ---- Waiting -------------------------------------------------------------- */

struct reader {
	struct kwq_test_thread thread;
	struct changes_test *t;
	struct kwq_patience patience;
	u64 of_queue;
	int ret;
};

static void wait_for_changes(void *data)
{
	struct reader *r = data;

	r->ret = kwq_wait_for_changes(r->t->x, r->of_queue, &r->patience);
}

static void start_reader(struct kunit *test, struct reader *r, ktime_t deadline)
{
	struct changes_test *t = test->priv;

	*r = (struct reader){ .t = t, .patience.deadline = deadline };
	KUNIT_ASSERT_EQ(test, kwq_begin_reading(t->x, t->after, 0, false), 0);
	kwq_test_thread_start(test, &r->thread, wait_for_changes, r);
	kwq_test_wait_until(test, READ_ONCE(t->keyed->changes->reader));
}

static void end_reader(struct kunit *test, struct reader *r, int ret)
{
	struct changes_test *t = test->priv;

	kwq_test_thread_join(test, &r->thread);
	KUNIT_EXPECT_EQ(test, r->ret, ret);
	KUNIT_EXPECT_NULL(test, t->keyed->changes->reader);
	t->after = kwq_end_reading(t->x, &t->of_queue);
}

static void reader_waits_for_a_change(struct kunit *test)
{
	struct changes_test *t = test->priv;
	struct reader r;

	start_reader(test, &r, KTIME_MAX);
	add(t, "a");
	end_reader(test, &r, 0);
	expect_read(test, "a:R ");
}

static void reader_waits_for_a_change_of_the_queue(struct kunit *test)
{
	struct changes_test *t = test->priv;
	struct reader r;

	start_reader(test, &r, KTIME_MAX);
	kwq_keyed_pause(t->keyed, KTIME_MAX);
	end_reader(test, &r, 0);
	KUNIT_EXPECT_EQ(test, t->of_queue, 1);
}

static void reader_waits_until_its_deadline(struct kunit *test)
{
	struct changes_test *t = test->priv;
	struct reader r;

	start_reader(test, &r, 10);
	kwq_queue_advance(&t->keyed->queue, 10);
	end_reader(test, &r, -ETIMEDOUT);
}

static void reader_is_interrupted(struct kunit *test)
{
	struct reader r;

	start_reader(test, &r, KTIME_MAX);
	kwq_test_thread_signal(&r.thread);
	end_reader(test, &r, -ERESTARTSYS);
}

static void reader_need_not_wait(struct kunit *test)
{
	struct changes_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, kwq_begin_reading(t->x, t->after, 0, false), 0);
	KUNIT_EXPECT_EQ(test, kwq_wait_for_changes(t->x, 0, &at_once), -EAGAIN);
	kwq_keyed_pause(t->keyed, KTIME_MAX);
	KUNIT_EXPECT_EQ(test, kwq_wait_for_changes(t->x, 0, &at_once), 0);
	KUNIT_EXPECT_EQ(test, kwq_wait_for_changes(t->x, 1, &at_once), -EAGAIN);
	add(t, "a");
	KUNIT_EXPECT_EQ(test, kwq_wait_for_changes(t->x, 1, &at_once), 0);
	kwq_end_reading(t->x, &t->of_queue);
}

struct poller {
	wait_queue_entry_t entry;
	int wakes;
};

static int count_wake(wait_queue_entry_t *entry, unsigned int mode, int flags, void *key)
{
	if (key_to_poll(key) & EPOLLPRI)
		container_of(entry, struct poller, entry)->wakes++;
	return 1;
}

static bool poll_changes(struct kwq_handle *handle)
{
	unsigned long flags;
	bool ret;

	spin_lock_irqsave(&handle->keyed->queue.lock, flags);
	ret = kwq_changes_poll_locked(handle);
	spin_unlock_irqrestore(&handle->keyed->queue.lock, flags);
	return ret;
}

static void poller_is_told_once(struct kunit *test)
{
	struct changes_test *t = test->priv;
	struct poller p = {};

	init_waitqueue_func_entry(&p.entry, count_wake);
	add_wait_queue(&t->keyed->of_queue.pollers, &p.entry);
	KUNIT_EXPECT_FALSE(test, poll_changes(t->y));
	KUNIT_EXPECT_FALSE(test, poll_changes(t->x));
	add(t, "a");
	add(t, "b");
	KUNIT_EXPECT_EQ(test, p.wakes, 1);
	KUNIT_EXPECT_TRUE(test, poll_changes(t->x));
	KUNIT_EXPECT_EQ(test, read_all(t), 2);
	/* Nothing is new, although both may have to be read again. */
	KUNIT_EXPECT_FALSE(test, poll_changes(t->x));
	add(t, "c");
	KUNIT_EXPECT_EQ(test, p.wakes, 2);
	KUNIT_EXPECT_EQ(test, read_all(t), 1);
	/* An edge-triggered poller reads until there is nothing, and does not poll. */
	KUNIT_ASSERT_EQ(test, kwq_begin_reading(t->x, t->after, 0, false), 0);
	KUNIT_EXPECT_EQ(test, kwq_wait_for_changes(t->x, t->of_queue, &at_once), -EAGAIN);
	kwq_end_reading(t->x, &t->of_queue);
	kwq_keyed_pause(t->keyed, KTIME_MAX);
	KUNIT_EXPECT_EQ(test, p.wakes, 3);
	KUNIT_EXPECT_TRUE(test, poll_changes(t->x));
	remove_wait_queue(&t->keyed->of_queue.pollers, &p.entry);
}

/* ---- Getters -------------------------------------------------------------- */

static u32 nr_getters(struct kunit *test)
{
	struct changes_test *t = test->priv;
	struct kwq_stat *stat = kunit_kzalloc(test, sizeof(*stat), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, stat);
	kwq_keyed_stat(t->keyed, stat);
	return stat->getters;
}

/* Looks for changes, and asks for those of getters or not. */
static int look(struct kunit *test, bool wants_getters)
{
	struct changes_test *t = test->priv;
	int ret;

	KUNIT_ASSERT_EQ(test, kwq_begin_reading(t->x, t->after, 0, wants_getters), 0);
	ret = kwq_wait_for_changes(t->x, t->of_queue, &at_once);
	t->after = kwq_end_reading(t->x, &t->of_queue);
	return ret;
}

static void getter_that_finds_nothing_is_told(struct kunit *test)
{
	struct changes_test *t = test->priv;
	struct kwq_handle *z;

	/* N6: nobody has asked for it yet. */
	KUNIT_EXPECT_EQ(test, get(t, 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, nr_getters(test), 1);
	KUNIT_EXPECT_EQ(test, look(test, true), -EAGAIN);
	/* The handle counts already. */
	KUNIT_EXPECT_EQ(test, get(t, 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, look(test, true), -EAGAIN);
	add(t, "a");
	KUNIT_EXPECT_EQ(test, get(t, 1), 1);
	KUNIT_EXPECT_EQ(test, nr_getters(test), 0);
	KUNIT_EXPECT_EQ(test, done(t, 0), KWQ_FINISHED);
	expect_read(test, "a: ");
	KUNIT_EXPECT_EQ(test, look(test, true), -EAGAIN);
	KUNIT_EXPECT_EQ(test, get(t, 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, nr_getters(test), 1);
	KUNIT_EXPECT_EQ(test, look(test, true), 0);
	KUNIT_EXPECT_EQ(test, t->of_queue, t->keyed->changes->last);
	KUNIT_EXPECT_EQ(test, look(test, true), -EAGAIN);
	/* A look at its losses does not end it. A close does. */
	kwq_handle_set_has_lost(t->y, false);
	KUNIT_EXPECT_EQ(test, get(t, 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, nr_getters(test), 1);
	z = t->y;
	t->y = kwq_handle_open(t->keyed, KWQ_RIGHT_READ);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->y));
	kwq_handle_close(z);
	KUNIT_EXPECT_EQ(test, nr_getters(test), 0);
	KUNIT_EXPECT_EQ(test, look(test, true), 0);
	/* The close of a handle that was no getter is none. */
	z = t->y;
	t->y = kwq_handle_open(t->keyed, KWQ_RIGHT_READ);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->y));
	kwq_handle_close(z);
	KUNIT_EXPECT_EQ(test, look(test, true), -EAGAIN);
	/* A follower that does not ask is not told, and neither is the next one. */
	KUNIT_EXPECT_EQ(test, look(test, false), -EAGAIN);
	KUNIT_EXPECT_EQ(test, get(t, 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, nr_getters(test), 1);
	KUNIT_EXPECT_EQ(test, look(test, true), -EAGAIN);
	kwq_handle_close(t->x);
	KUNIT_EXPECT_FALSE(test, t->keyed->changes->wants_getters);
	t->x = NULL;
}

struct waiting_getter {
	struct kwq_test_thread thread;
	struct changes_test *t;
	int ret;
};

static void wait_for_item(void *data)
{
	struct waiting_getter *g = data;
	struct kwq_got_buffer buffer = {
		.got = g->t->got,
		.keys = g->t->got_keys,
		.max_items = 1,
		.max_key_bytes = sizeof(g->t->got_keys),
	};

	WRITE_ONCE(g->ret, kwq_handle_get(g->t->y, &buffer, &for_ever));
}

static void getter_that_waits_is_told(struct kunit *test)
{
	struct changes_test *t = test->priv;
	struct waiting_getter g = { .t = t };
	struct reader r = { .t = t, .patience.deadline = KTIME_MAX };

	/* N6 */
	KUNIT_ASSERT_EQ(test, kwq_begin_reading(t->x, t->after, 0, true), 0);
	kwq_test_thread_start(test, &r.thread, wait_for_changes, &r);
	kwq_test_wait_until(test, READ_ONCE(t->keyed->changes->reader));
	kwq_test_thread_start(test, &g.thread, wait_for_item, &g);
	end_reader(test, &r, 0);
	KUNIT_EXPECT_EQ(test, t->of_queue, 1);
	KUNIT_EXPECT_EQ(test, nr_getters(test), 1);
	add(t, "a");
	kwq_test_thread_join(test, &g.thread);
	KUNIT_EXPECT_EQ(test, g.ret, 1);
	KUNIT_EXPECT_EQ(test, nr_getters(test), 0);
}

static void getter_that_goes_is_told(struct kunit *test)
{
	static const struct kwq_patience over = {};
	struct changes_test *t = test->priv;
	struct kwq_got_buffer buffer = {
		.got = t->got,
		.keys = t->got_keys,
		.max_items = 1,
		.max_key_bytes = sizeof(t->got_keys),
	};
	u64 before;

	/* N6: it comes, and it goes. */
	KUNIT_EXPECT_EQ(test, look(test, true), -EAGAIN);
	before = t->keyed->changes->last;
	KUNIT_EXPECT_EQ(test, kwq_handle_get(t->y, &buffer, &over), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, t->keyed->changes->last, before + 2);
	KUNIT_EXPECT_EQ(test, look(test, true), 0);
	KUNIT_EXPECT_EQ(test, look(test, true), -EAGAIN);
	KUNIT_EXPECT_EQ(test, nr_getters(test), 0);
}

static void poller_of_a_handle_that_follows_later_is_told(struct kunit *test)
{
	struct changes_test *t = test->priv;
	struct poller p = {};

	init_waitqueue_func_entry(&p.entry, count_wake);
	add_wait_queue(&t->keyed->of_queue.pollers, &p.entry);
	KUNIT_EXPECT_FALSE(test, poll_changes(t->x));
	KUNIT_ASSERT_EQ(test, kwq_follow(t->x, &t->after), 0);
	KUNIT_EXPECT_EQ(test, p.wakes, 0);
	add(t, "a");
	KUNIT_EXPECT_EQ(test, p.wakes, 1);
	KUNIT_EXPECT_EQ(test, read_all(t), 1);
	kwq_keyed_pause(t->keyed, KTIME_MAX);
	kwq_handle_close(t->x);
	t->x = NULL;
	KUNIT_EXPECT_EQ(test, p.wakes, 1);
	/* It does not know that the queue is paused. */
	KUNIT_ASSERT_EQ(test, kwq_follow(t->y, &t->after), 0);
	KUNIT_EXPECT_EQ(test, p.wakes, 2);
	KUNIT_EXPECT_TRUE(test, poll_changes(t->y));
	remove_wait_queue(&t->keyed->of_queue.pollers, &p.entry);
}

/* ---- Sync ----------------------------------------------------------------- */

#define NR_SYNCERS	17

struct syncer {
	struct kwq_test_thread thread;
	struct kwq_keyed *keyed;
	ktime_t deadline;
	unsigned int state;
	int ret;
};

static void sync_keyed(void *data)
{
	struct syncer *s = data;

	s->ret = kwq_keyed_sync(s->keyed, s->deadline, s->state);
}

static int nr_syncers(struct kwq_keyed *keyed)
{
	struct hlist_node *node;
	unsigned long flags;
	int nr = 0;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	hlist_for_each(node, &keyed->queue.drainers)
		nr++;
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
	return nr;
}

static void start_syncer(struct kunit *test, struct syncer *s, ktime_t deadline,
			 unsigned int state)
{
	struct changes_test *t = test->priv;
	int before = nr_syncers(t->keyed);

	*s = (struct syncer){
		.keyed = t->keyed,
		.deadline = deadline,
		.state = state,
	};
	kwq_test_thread_start(test, &s->thread, sync_keyed, s);
	kwq_test_wait_until(test, nr_syncers(t->keyed) > before);
}

static void end_syncer(struct kunit *test, struct syncer *s, int ret)
{
	kwq_test_thread_join(test, &s->thread);
	KUNIT_EXPECT_EQ(test, s->ret, ret);
}

static void sync_waits_until_its_changes_are_kept(struct kunit *test)
{
	struct changes_test *t = test->priv;
	struct syncer early, late;

	add(t, "a");
	start_syncer(test, &early, KTIME_MAX, TASK_INTERRUPTIBLE);
	add(t, "b");
	start_syncer(test, &late, KTIME_MAX, TASK_INTERRUPTIBLE);
	KUNIT_EXPECT_EQ(test, read_after(t, 0, 0, 4), 2);
	KUNIT_EXPECT_EQ(test, nr_syncers(t->keyed), 2);
	KUNIT_EXPECT_EQ(test, read_after(t, 2, 1, 4), 0);
	end_syncer(test, &early, 0);
	kwq_test_wait_until(test, nr_syncers(t->keyed) == 1);
	KUNIT_EXPECT_EQ(test, read_after(t, 2, 2, 4), 0);
	end_syncer(test, &late, 0);
	/* A lower number changes nothing. */
	KUNIT_EXPECT_EQ(test, read_after(t, 2, 1, 4), 0);
	KUNIT_EXPECT_EQ(test, t->keyed->changes->kept, 2);
}

static void sync_of_kept_changes_returns_at_once(struct kunit *test)
{
	struct changes_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, kwq_keyed_sync(t->keyed, 0, TASK_INTERRUPTIBLE), 0);
	add(t, "a");
	KUNIT_EXPECT_EQ(test, kwq_keyed_sync(t->keyed, 0, TASK_INTERRUPTIBLE), -ETIMEDOUT);
	read_all(t);
	KUNIT_EXPECT_EQ(test, read_after(t, 1, 1, 4), 0);
	KUNIT_EXPECT_EQ(test, kwq_keyed_sync(t->keyed, 0, TASK_INTERRUPTIBLE), 0);
}

static void all_syncers_are_woken(struct kunit *test)
{
	struct changes_test *t = test->priv;
	struct syncer *syncers = kunit_kcalloc(test, NR_SYNCERS, sizeof(*syncers), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, syncers);
	add(t, "a");
	for (i = 0; i < NR_SYNCERS; i++)
		start_syncer(test, &syncers[i], KTIME_MAX, TASK_KILLABLE);
	read_all(t);
	KUNIT_EXPECT_EQ(test, read_after(t, 1, 1, 4), 0);
	for (i = 0; i < NR_SYNCERS; i++)
		end_syncer(test, &syncers[i], 0);
}

static void sync_ends_by_its_deadline_or_a_signal(struct kunit *test)
{
	struct changes_test *t = test->priv;
	struct syncer s, killed;

	add(t, "a");
	start_syncer(test, &s, 10, TASK_INTERRUPTIBLE);
	start_syncer(test, &killed, KTIME_MAX, TASK_KILLABLE);
	kwq_queue_advance(&t->keyed->queue, 10);
	end_syncer(test, &s, -ETIMEDOUT);
	kwq_test_thread_signal(&killed.thread);
	end_syncer(test, &killed, -ERESTARTSYS);
	KUNIT_EXPECT_EQ(test, nr_syncers(t->keyed), 0);
}

static void follower_does_not_wait_for_itself(struct kunit *test)
{
	struct changes_test *t = test->priv;

	add(t, "a");
	kwq_handle_sync(t->x);
	read_all(t);
	KUNIT_EXPECT_EQ(test, read_after(t, 1, 1, 4), 0);
	kwq_handle_sync(t->y);
}

static void sync_handle(void *data)
{
	kwq_handle_sync(data);
}

static void wait_of_an_add_lets_the_machine_suspend(struct kunit *test)
{
	struct changes_test *t = test->priv;
	struct kwq_test_thread thread;

	/* O8: nobody may ever follow. The freezer leaves such a task asleep. */
	add(t, "a");
	kwq_test_thread_start(test, &thread, sync_handle, t->y);
	kwq_test_wait_until(test, nr_syncers(t->keyed));
	kwq_test_wait_until(test, READ_ONCE(thread.task->__state) & TASK_FREEZABLE);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(thread.task->__state) & TASK_WAKEKILL);
	read_all(t);
	KUNIT_EXPECT_EQ(test, read_after(t, 1, 1, 4), 0);
	kwq_test_thread_join(test, &thread);
}

static void queue_with_sync_has_no_board(struct kunit *test)
{
	struct changes_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, kwq_keyed_provide_board(t->keyed), -EOPNOTSUPP);
}

/* ---- At random ------------------------------------------------------------ */

#define NR_KEYS	12

/* The keys as the follower knows them. */
struct mirror {
	struct kwq_listed known[NR_KEYS];
	bool has[NR_KEYS];
};

static int nr_of_key(const u8 *key)
{
	return key[0] - 'a';
}

static bool is_same(const struct kwq_listed *a, const struct kwq_listed *b)
{
	return a->state == b->state && a->priority == b->priority && a->requeues == b->requeues &&
	       a->abandoned == b->abandoned && a->next_priority == b->next_priority &&
	       a->wait_priority == b->wait_priority && a->group_len == b->group_len;
}

static void mirror_read(struct changes_test *t, struct mirror *m, int nr)
{
	const u8 *key = t->keys;
	int i;

	for (i = 0; i < nr; i++) {
		m->known[nr_of_key(key)] = t->read[i];
		m->has[nr_of_key(key)] = t->read[i].state;
		key += t->read[i].key_len + t->read[i].group_len;
	}
}

/* Every item of the queue is as the follower knows it, and there are no others. */
static void expect_mirrored(struct kunit *test, const struct mirror *m)
{
	struct kwq_list_request request = { .states = U32_MAX };
	struct changes_test *t = test->priv;
	struct kwq_list_buffer buffer = buffer_of(t, NR_READ, sizeof(t->keys));
	const u8 *key = t->keys;
	int i, nr = 0, known = 0;

	do {
		KUNIT_ASSERT_EQ(test, kwq_keyed_list(t->keyed, &request, &buffer), 0);
		for (i = 0, key = t->keys; i < buffer.fill.nr; i++, nr++) {
			KUNIT_EXPECT_TRUE(test, m->has[nr_of_key(key)]);
			KUNIT_EXPECT_TRUE(test, is_same(&m->known[nr_of_key(key)], &t->read[i]));
			key += t->read[i].key_len + t->read[i].group_len;
		}
	} while (request.at);
	for (i = 0; i < NR_KEYS; i++)
		known += m->has[i];
	KUNIT_EXPECT_EQ(test, known, nr);
}

static void change_something(struct changes_test *t, struct rnd_state *rnd)
{
	char key[2] = { 'a' + prandom_u32_state(rnd) % NR_KEYS };
	struct kwq_extras extras = { .flags = KWQ_ADD_GROUP };
	const struct kwq_key k = key_of(key);
	u32 n = prandom_u32_state(rnd);
	int nr;

	switch (n % 10) {
	case 0:
	case 1:
		add(t, key);
		break;
	case 2:
		add_after(t, key, n >> 8 & 15);
		break;
	case 3:
		add_limited(t, key);
		break;
	case 4:
		extras.group = (struct kwq_key){ "gh" + (n >> 8 & 1), 1 };
		kwq_keyed_add_with(t->keyed, &k, &(struct kwq_add_options){}, &extras);
		break;
	case 5:
		take_out(t, key);
		break;
	case 6:
		forget(t, key);
		break;
	case 7:
		kwq_queue_advance_by(&t->keyed->queue, n >> 8 & 1023);
		break;
	default:
		nr = get(t, 1);
		if (nr <= 0)
			break;
		if (n & 0x100)
			kwq_handle_done(t->y, t->got[0].ticket,
					n & 0x200 ? KWQ_DONE_DEAD : KWQ_DONE_RETURN);
		else if (n & 0x200)
			done(t, 0);
		else if (n & 0x400)
			kwq_handle_unget(t->y, t->got, 1);
	}
}

static void follower_knows_all(struct kunit *test)
{
	static const struct kwq_limits all = {
		.max_items = 10, .max_bytes = 1 << 20, .lease = LEASE, .values = true,
		.groups = true, .group_limit = 2, .changes = true,
	};
	struct mirror *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct changes_test *t = test->priv;
	struct rnd_state rnd;
	int i, nr;

	KUNIT_ASSERT_NOT_NULL(test, m);
	make_again(test, &all);
	KUNIT_ASSERT_EQ(test, kwq_follow(t->x, &t->after), 0);
	prandom_seed_state(&rnd, 1);
	for (i = 0; i < 4000; i++) {
		change_something(t, &rnd);
		nr = prandom_u32_state(&rnd);
		/* A call of which the follower makes no use. */
		if (nr % 5 == 0) {
			u64 before = t->after;

			read_after(t, t->after, 0, 1 + (nr >> 8) % 4);
			t->after = before;
		} else if (nr % 5 == 1) {
			mirror_read(t, m, read_after(t, t->after, 0, 1 + (nr >> 8) % 4));
		} else if (nr % 5 == 2 && nr & 0x10000) {
			mirror_read(t, m, read_all(t));
			expect_mirrored(test, m);
		}
		expect_sound(test);
	}
}

static struct kunit_case changes_cases[] = {
	KUNIT_CASE(queue_without_changes_has_none),
	KUNIT_CASE(item_that_is_gone_is_freed_without_a_follower),
	KUNIT_CASE(follower_begins_at_the_last_change),
	KUNIT_CASE(poller_of_a_handle_that_follows_later_is_told),
	KUNIT_CASE(queue_with_sync_has_no_board),
	KUNIT_CASE(full_queue_has_room_once_the_follower_reads),
	KUNIT_CASE(remembered_item_goes_once_that_is_read),
	KUNIT_CASE(follower_that_goes_leaves_counts_alone),
	KUNIT_CASE(restored_counts_have_a_limit),
	KUNIT_CASE(value_of_an_item_that_is_gone_is_freed),
	KUNIT_CASE_SLOW(follower_knows_all),
	{}
};

static struct kunit_suite changes_suite = {
	.name = "kwq-changes",
	.init = changes_test_init,
	.exit = changes_test_exit,
	.test_cases = changes_cases,
};

static struct kunit_case following_cases[] = {
	KUNIT_CASE(each_operation_is_a_change),
	KUNIT_CASE(plain_add_that_coalesces_is_no_change),
	KUNIT_CASE(close_of_a_handle_is_a_change),
	KUNIT_CASE(shut_down_is_a_change_of_the_queue),
	KUNIT_CASE(unread_item_keeps_its_place),
	KUNIT_CASE(item_that_changes_after_it_was_read_comes_again),
	KUNIT_CASE(same_number_reads_the_same_items),
	KUNIT_CASE(call_reads_what_has_changed_before_it),
	KUNIT_CASE(number_that_was_not_told_is_refused),
	KUNIT_CASE(long_key_does_not_fit),
	KUNIT_CASE(reading_takes_several_holds),
	KUNIT_CASE(one_call_reads_at_a_time),
	KUNIT_CASE(item_that_is_gone_stays_until_it_is_read),
	KUNIT_CASE(item_that_is_gone_comes_back),
	KUNIT_CASE(second_follower_is_refused),
	KUNIT_CASE(end_of_the_follower_frees_items_that_are_gone),
	KUNIT_CASE(reader_waits_for_a_change),
	KUNIT_CASE(reader_waits_for_a_change_of_the_queue),
	KUNIT_CASE(reader_waits_until_its_deadline),
	KUNIT_CASE(reader_is_interrupted),
	KUNIT_CASE(reader_need_not_wait),
	KUNIT_CASE(poller_is_told_once),
	KUNIT_CASE(getter_that_finds_nothing_is_told),
	KUNIT_CASE(getter_that_waits_is_told),
	KUNIT_CASE(getter_that_goes_is_told),
	KUNIT_CASE(sync_waits_until_its_changes_are_kept),
	KUNIT_CASE(sync_of_kept_changes_returns_at_once),
	KUNIT_CASE(all_syncers_are_woken),
	KUNIT_CASE(sync_ends_by_its_deadline_or_a_signal),
	KUNIT_CASE(follower_does_not_wait_for_itself),
	KUNIT_CASE(wait_of_an_add_lets_the_machine_suspend),
	{}
};

static struct kunit_suite following_suite = {
	.name = "kwq-following",
	.init = following_test_init,
	.exit = changes_test_exit,
	.test_cases = following_cases,
};

kunit_test_suites(&changes_suite, &following_suite);

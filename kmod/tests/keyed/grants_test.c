// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parts for a manager of a queue, below the device (N3): an outbox, tokens, and removes that
 * revoke or that depend on a change.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/poll.h>
#include <linux/string.h>
#include "keyed_ops.h"

#define LEASE	1000

static const struct kwq_limits managed = {
	.max_items = 10,
	.max_bytes = 1 << 20,
	.lease = LEASE,
	.changes = true,
};

static const struct kwq_limits plain = { .max_items = 10, .max_bytes = 1 << 20 };

struct grants_test {
	struct kwq_keyed *keyed;
	struct kwq_handle *x;
	struct kwq_got got;
	struct kwq_got_more more;
	u8 key[64];
};

static int grants_test_init(struct kunit *test)
{
	struct grants_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->keyed = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &managed);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->keyed);
	test->priv = t;
	t->x = kwq_handle_open(t->keyed, KWQ_RIGHT_READ);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->x);
	return 0;
}

static void grants_test_exit(struct kunit *test)
{
	struct grants_test *t = test->priv;

	if (!t)
		return;
	if (!IS_ERR_OR_NULL(t->x))
		kwq_handle_close(t->x);
	kwq_keyed_put(t->keyed);
}

static struct kwq_key hashed_key(const char *bytes)
{
	struct kwq_key key = { bytes, strlen(bytes) };

	kwq_key_hash(&key);
	return key;
}

static int add_to(struct kwq_keyed *keyed, const char *bytes)
{
	const struct kwq_key key = hashed_key(bytes);

	return kwq_keyed_add(keyed, &key, &(struct kwq_add_options){});
}

static int add_limited(struct kwq_keyed *keyed, const char *bytes)
{
	const struct kwq_key key = hashed_key(bytes);

	return kwq_keyed_add(keyed, &key, &(struct kwq_add_options){
				.flags = KWQ_ADD_RATE_LIMITED });
}

/* Puts a key into the queue, as a manager does. */
static int grant(struct kwq_keyed *keyed, const char *bytes, u32 state, u64 token)
{
	const struct kwq_restored restored = { .state = state };
	struct kwq_extras extras = { .flags = KWQ_ADD_TOKEN, .token = token };
	const struct kwq_key key = hashed_key(bytes);
	struct kwq_stock stock = {};
	unsigned long flags;
	int ret;

	kwq_test_fill_stock(&stock, keyed, &key, 1);
	spin_lock_irqsave(&keyed->queue.lock, flags);
	ret = kwq_keyed_restore_locked(keyed, &key, &restored, &extras,
				       kwq_now_locked(&keyed->queue), &stock);
	kwq_keyed_unlock(keyed, flags);
	kwq_stock_empty(&stock, keyed);
	return ret;
}

static int remove_with(struct kwq_keyed *keyed, const char *bytes, u32 remove_flags, u64 change)
{
	const struct kwq_key key = hashed_key(bytes);
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	ret = kwq_keyed_remove_locked(keyed, &key, remove_flags, change,
				      kwq_now_locked(&keyed->queue));
	kwq_keyed_unlock(keyed, flags);
	return ret;
}

static int get(struct grants_test *t)
{
	struct kwq_got_buffer buffer = {
		.got = &t->got,
		.more = &t->more,
		.keys = t->key,
		.max_items = 1,
		.max_key_bytes = sizeof(t->key),
	};

	t->more.max_bytes = sizeof(t->key);
	return kwq_handle_get(t->x, &buffer, &at_once);
}

/* Gets an item, and returns its token. */
static u64 token_of_next(struct kunit *test)
{
	struct grants_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, get(t), 1);
	return t->more.token;
}

/* ---- Outbox --------------------------------------------------------------- */

static void adds_go_to_the_outbox(struct kunit *test)
{
	struct grants_test *t = test->priv;
	struct kwq_keyed *outbox = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &plain);
	struct kwq_handle *handle;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, outbox);
	KUNIT_EXPECT_EQ(test, kwq_keyed_set_outbox(t->keyed, outbox, KWQ_RIGHT_WRITE), 0);
	/* The queue keeps it. */
	kwq_keyed_put(outbox);
	handle = kwq_handle_open(t->keyed, KWQ_RIGHT_READ | KWQ_RIGHT_WRITE | KWQ_RIGHT_MANAGE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, handle);
	KUNIT_EXPECT_PTR_EQ(test, kwq_handle_for_adds(handle)->keyed, outbox);
	/* U9: more rights to this queue give none to the outbox. */
	KUNIT_EXPECT_EQ(test, kwq_handle_for_adds(handle)->rights, KWQ_RIGHT_WRITE);
	KUNIT_EXPECT_EQ(test, outbox->nr_handles, 1);
	KUNIT_EXPECT_EQ(test, kwq_keyed_provide_board(t->keyed), -EOPNOTSUPP);
	/* Q8 */
	kwq_keyed_shut_down(t->keyed);
	KUNIT_EXPECT_PTR_EQ(test, kwq_handle_for_adds(handle), handle);
	kwq_handle_close(handle);
	KUNIT_EXPECT_EQ(test, outbox->nr_handles, 0);
}

static void queue_without_an_outbox_takes_its_adds(struct kunit *test)
{
	struct grants_test *t = test->priv;

	KUNIT_EXPECT_PTR_EQ(test, kwq_handle_for_adds(t->x), t->x);
}

static void unfit_outbox_is_refused(struct kunit *test)
{
	struct grants_test *t = test->priv;
	struct kwq_keyed *outbox = kwq_keyed_create("", KWQ_CLOCK_MONOTONIC, &plain);
	struct kwq_keyed *chain = kwq_keyed_create("", KWQ_CLOCK_MONOTONIC, &plain);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, outbox);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, chain);
	KUNIT_EXPECT_EQ(test, kwq_keyed_set_outbox(t->keyed, outbox, KWQ_RIGHT_WRITE), -EINVAL);
	KUNIT_EXPECT_EQ(test, kwq_keyed_set_outbox(outbox, chain, KWQ_RIGHT_WRITE), 0);
	kwq_keyed_put(chain);
	chain = kwq_keyed_create("", KWQ_CLOCK_MONOTONIC, &plain);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, chain);
	KUNIT_EXPECT_EQ(test, kwq_keyed_set_outbox(chain, outbox, KWQ_RIGHT_WRITE), -EINVAL);
	kwq_keyed_put(chain);
	kwq_keyed_put(outbox);
}

/* ---- Tokens --------------------------------------------------------------- */

static void token_comes_with_the_item(struct kunit *test)
{
	struct grants_test *t = test->priv;

	/* N3 */
	KUNIT_EXPECT_EQ(test, grant(t->keyed, "a", KWQ_IS_READY, U64_MAX), KWQ_RESTORED);
	KUNIT_EXPECT_EQ(test, token_of_next(test), U64_MAX);
	/* It is that of the run until the next hand-out. */
	KUNIT_EXPECT_EQ(test, grant(t->keyed, "a", KWQ_IS_READY, 7), KWQ_DIRTIED);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, t->got.ticket, 0), KWQ_REQUEUED);
	KUNIT_EXPECT_EQ(test, grant(t->keyed, "a", KWQ_IS_READY, 8), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, token_of_next(test), 8);
	/* O1: the next holder has a higher one, so that a store can refuse the former. */
	kwq_handle_close(t->x);
	t->x = kwq_handle_open(t->keyed, KWQ_RIGHT_READ);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->x);
	KUNIT_EXPECT_EQ(test, token_of_next(test), 9);
	/* O2 */
	kwq_handle_done(t->x, t->got.ticket, KWQ_DONE_RETURN);
	KUNIT_EXPECT_EQ(test, token_of_next(test), 10);
}

static void highest_token_stays(struct kunit *test)
{
	struct grants_test *t = test->priv;

	grant(t->keyed, "a", KWQ_IS_READY, U64_MAX);
	token_of_next(test);
	kwq_handle_done(t->x, t->got.ticket, KWQ_DONE_RETURN);
	KUNIT_EXPECT_EQ(test, token_of_next(test), U64_MAX);
	/* N3: a token of the manager is not reached from the one before. */
	kwq_handle_done(t->x, t->got.ticket, 0);
	grant(t->keyed, "a", KWQ_IS_READY, KWQ_TOKEN_HAND_OUTS - 1);
	KUNIT_EXPECT_EQ(test, token_of_next(test), KWQ_TOKEN_HAND_OUTS - 1);
	kwq_handle_done(t->x, t->got.ticket, KWQ_DONE_RETURN);
	KUNIT_EXPECT_EQ(test, token_of_next(test), KWQ_TOKEN_HAND_OUTS);
	kwq_handle_done(t->x, t->got.ticket, KWQ_DONE_RETURN);
	KUNIT_EXPECT_EQ(test, token_of_next(test), KWQ_TOKEN_HAND_OUTS);
	kwq_handle_done(t->x, t->got.ticket, 0);
	/* No token does not become one. */
	add_to(t->keyed, "b");
	KUNIT_EXPECT_EQ(test, token_of_next(test), 0);
	kwq_handle_done(t->x, t->got.ticket, KWQ_DONE_RETURN);
	KUNIT_EXPECT_EQ(test, token_of_next(test), 0);
}

static void token_ends_with_the_item(struct kunit *test)
{
	struct grants_test *t = test->priv;
	u64 number;

	grant(t->keyed, "a", KWQ_IS_READY, 5);
	token_of_next(test);
	kwq_handle_done(t->x, t->got.ticket, 0);
	add_to(t->keyed, "a");
	KUNIT_EXPECT_EQ(test, token_of_next(test), 0);
	kwq_handle_done(t->x, t->got.ticket, 0);
	/* An item that stays in the table, because it is remembered, or has to be read. */
	grant(t->keyed, "b", KWQ_IS_READY, 5);
	token_of_next(test);
	add_limited(t->keyed, "b");
	kwq_queue_advance_by(&t->keyed->queue, 10 * NSEC_PER_MSEC);
	kwq_handle_close(t->x);
	t->x = kwq_handle_open(t->keyed, KWQ_RIGHT_READ | KWQ_RIGHT_MANAGE);
	KUNIT_EXPECT_EQ(test, token_of_next(test), 6);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, t->got.ticket, 0), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_remembered, 1);
	add_to(t->keyed, "b");
	KUNIT_EXPECT_EQ(test, token_of_next(test), 0);
	kwq_handle_done(t->x, t->got.ticket, KWQ_DONE_FORGET);
	KUNIT_EXPECT_EQ(test, kwq_follow(t->x, &number), 0);
	grant(t->keyed, "c", KWQ_IS_READY, 5);
	token_of_next(test);
	kwq_handle_done(t->x, t->got.ticket, 0);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 1);
	KUNIT_EXPECT_EQ(test, grant(t->keyed, "c", KWQ_IS_READY, 6), KWQ_RESTORED);
	KUNIT_EXPECT_EQ(test, token_of_next(test), 6);
}

/* A refused add changes nothing that the follower has yet to read. */
static void refused_add_leaves_the_token(struct kunit *test)
{
	struct grants_test *t = test->priv;
	const struct kwq_key key = hashed_key("a");
	struct kwq_extras extras = {};
	struct kwq_keyed_item *ki;
	unsigned long flags;
	u64 number;

	KUNIT_EXPECT_EQ(test, kwq_follow(t->x, &number), 0);
	grant(t->keyed, "a", KWQ_IS_READY, 5);
	token_of_next(test);
	kwq_handle_done(t->x, t->got.ticket, 0);
	spin_lock_irqsave(&t->keyed->queue.lock, flags);
	ki = kwq_keyed_find(t->keyed, &key);
	spin_unlock_irqrestore(&t->keyed->queue.lock, flags);
	KUNIT_ASSERT_NOT_NULL(test, ki);
	KUNIT_EXPECT_EQ(test, kwq_keyed_add(t->keyed, &key, &(struct kwq_add_options){
						.flags = KWQ_ADD_KICK }), -ENOENT);
	KUNIT_EXPECT_EQ(test, kwq_change_of(t->keyed, ki)->token, 5);
	kwq_keyed_shut_down(t->keyed);
	KUNIT_EXPECT_EQ(test, add_to(t->keyed, "a"), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, kwq_keyed_add_with(t->keyed, &key, &(struct kwq_add_options){},
						 &extras), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, kwq_change_of(t->keyed, ki)->token, 5);
}

static void restore_that_changes_nothing_brings_no_token(struct kunit *test)
{
	struct grants_test *t = test->priv;

	grant(t->keyed, "a", KWQ_IS_READY, 5);
	grant(t->keyed, "a", KWQ_IS_DEAD, 6);
	KUNIT_EXPECT_EQ(test, token_of_next(test), 5);
}

static void token_needs_a_queue_with_changes(struct kunit *test)
{
	struct kwq_keyed *keyed = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &plain);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, keyed);
	KUNIT_EXPECT_EQ(test, grant(keyed, "a", KWQ_IS_READY, 5), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, keyed->nr_items, 0);
	KUNIT_EXPECT_EQ(test, remove_with(keyed, "a", KWQ_REMOVE_UNCHANGED, 5), -EOPNOTSUPP);
	kwq_keyed_put(keyed);
}

/* ---- Removes -------------------------------------------------------------- */

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

static void revoked_item_is_gone(struct kunit *test)
{
	struct grants_test *t = test->priv;
	struct poller p = {};

	init_waitqueue_func_entry(&p.entry, count_wake);
	add_wait_queue(&t->keyed->of_queue.pollers, &p.entry);
	grant(t->keyed, "a", KWQ_IS_READY, 5);
	token_of_next(test);
	add_to(t->keyed, "a");
	KUNIT_EXPECT_EQ(test, remove_with(t->keyed, "a", KWQ_REMOVE_REVOKE, 0),
			KWQ_WAS_PROCESSING | KWQ_WAS_DIRTY);
	KUNIT_EXPECT_EQ(test, p.wakes, 1);
	KUNIT_EXPECT_TRUE(test, t->x->has_lost);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 0);
	/* O3 */
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, t->got.ticket, 0), -ESTALE);
	KUNIT_EXPECT_TRUE(test, kwq_handle_set_has_lost(t->x, false));
	KUNIT_EXPECT_FALSE(test, t->x->has_lost);
	KUNIT_EXPECT_EQ(test, p.wakes, 1);
	/* If the call fails, a poller that looked meanwhile hears of them again. */
	KUNIT_EXPECT_FALSE(test, kwq_handle_set_has_lost(t->x, true));
	KUNIT_EXPECT_TRUE(test, t->x->has_lost);
	KUNIT_EXPECT_EQ(test, p.wakes, 2);
	remove_wait_queue(&t->keyed->of_queue.pollers, &p.entry);
}

static void revokes_of_a_hold_wake_once(struct kunit *test)
{
	static const char *const keys[] = { "a", "b", "c" };
	struct grants_test *t = test->priv;
	struct poller p = {};
	unsigned long flags;
	int i;

	/* O8: each wake-up is of all pollers. */
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		grant(t->keyed, keys[i], KWQ_IS_READY, 5);
		token_of_next(test);
	}
	init_waitqueue_func_entry(&p.entry, count_wake);
	add_wait_queue(&t->keyed->of_queue.pollers, &p.entry);
	spin_lock_irqsave(&t->keyed->queue.lock, flags);
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		struct kwq_key key = { (const u8 *)keys[i], 1 };

		kwq_key_hash(&key);
		kwq_keyed_remove_locked(t->keyed, &key, KWQ_REMOVE_REVOKE, 0,
					kwq_now_locked(&t->keyed->queue));
	}
	kwq_keyed_unlock(t->keyed, flags);
	KUNIT_EXPECT_EQ(test, p.wakes, 1);
	KUNIT_EXPECT_TRUE(test, t->x->has_lost);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 0);
	/* A hold without one wakes nobody. */
	add_to(t->keyed, "d");
	KUNIT_EXPECT_EQ(test, p.wakes, 1);
	remove_wait_queue(&t->keyed->of_queue.pollers, &p.entry);
}

static void revoke_of_any_other_item_is_a_remove(struct kunit *test)
{
	struct grants_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, remove_with(t->keyed, "a", KWQ_REMOVE_REVOKE, 0), -ENOENT);
	add_to(t->keyed, "a");
	KUNIT_EXPECT_EQ(test, remove_with(t->keyed, "a", KWQ_REMOVE_REVOKE, 0), KWQ_WAS_READY);
	add_to(t->keyed, "b");
	token_of_next(test);
	add_limited(t->keyed, "b");
	kwq_handle_done(t->x, t->got.ticket, KWQ_DONE_RETURN);
	KUNIT_EXPECT_EQ(test, get(t), 1);
	KUNIT_EXPECT_EQ(test, remove_with(t->keyed, "b", KWQ_REMOVE_REVOKE, 0),
			KWQ_WAS_PROCESSING | KWQ_WAS_WAITING);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 0);
}

static void revoked_item_that_was_due_to_die_is_gone(struct kunit *test)
{
	struct kwq_limiter_config config = {
		.dead_after = 1,
		.dead_after_lost = 1,
		.nr = 1,
		.limiters = { { .kind = KWQ_LIMITER_EXPONENTIAL,
				.u.exponential = { .base = 1, .max = 1 } } },
	};
	struct grants_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, kwq_keyed_configure(t->keyed, &config), 0);
	grant(t->keyed, "a", KWQ_IS_READY, 5);
	token_of_next(test);
	add_limited(t->keyed, "a");
	kwq_queue_advance_by(&t->keyed->queue, 1);
	kwq_handle_done(t->x, t->got.ticket, 0);
	token_of_next(test);
	KUNIT_EXPECT_EQ(test, add_limited(t->keyed, "a"), KWQ_DEAD);
	KUNIT_EXPECT_EQ(test, remove_with(t->keyed, "a", KWQ_REMOVE_REVOKE, 0),
			KWQ_WAS_PROCESSING | KWQ_WAS_DEAD);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 0);
	/* After a shut down the loss alone ends it. */
	grant(t->keyed, "b", KWQ_IS_READY, 5);
	token_of_next(test);
	kwq_keyed_shut_down(t->keyed);
	KUNIT_EXPECT_EQ(test, remove_with(t->keyed, "b", KWQ_REMOVE_REVOKE, 0),
			KWQ_WAS_PROCESSING);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 0);
}

static void end_of_a_lease_tells_the_holder(struct kunit *test)
{
	struct grants_test *t = test->priv;

	add_to(t->keyed, "a");
	token_of_next(test);
	kwq_queue_advance_by(&t->keyed->queue, LEASE);
	KUNIT_EXPECT_TRUE(test, t->x->has_lost);
}

static void remove_depends_on_the_last_change(struct kunit *test)
{
	struct grants_test *t = test->priv;

	add_to(t->keyed, "a");	/* 1 */
	add_to(t->keyed, "b");	/* 2 */
	KUNIT_EXPECT_EQ(test, remove_with(t->keyed, "b", KWQ_REMOVE_UNCHANGED, 1), -ESTALE);
	KUNIT_EXPECT_EQ(test, remove_with(t->keyed, "b", KWQ_REMOVE_UNCHANGED, 2), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, remove_with(t->keyed, "b", KWQ_REMOVE_UNCHANGED, 9), -ENOENT);
	token_of_next(test);	/* 4 */
	KUNIT_EXPECT_EQ(test, remove_with(t->keyed, "a", KWQ_REMOVE_UNCHANGED, 1), -ESTALE);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, t->got.ticket, 0), KWQ_FINISHED);
}

/* Reads all that has changed. */
static void read_changes(struct kunit *test, u64 *after)
{
	struct grants_test *t = test->priv;
	struct kwq_listed entries[4];
	struct kwq_value *values[4 * KWQ_SLOTS];
	u8 keys[64];
	struct kwq_list_buffer buffer = {
		.entries = entries,
		.values = values,
		.keys = keys,
		.max_items = ARRAY_SIZE(entries),
		.max_key_bytes = sizeof(keys),
		.max_bytes = sizeof(keys),
	};
	struct kwq_list_request request = { .unread = true };
	u64 of_queue;

	KUNIT_ASSERT_EQ(test, kwq_begin_reading(t->x, *after, 0, false), 0);
	KUNIT_ASSERT_EQ(test, kwq_keyed_list(t->keyed, &request, &buffer), 0);
	*after = kwq_end_reading(t->x, &of_queue);
}

static void remove_depends_on_adds_that_coalesced(struct kunit *test)
{
	struct grants_test *t = test->priv;
	u64 after;

	KUNIT_ASSERT_EQ(test, kwq_follow(t->x, &after), 0);
	add_to(t->keyed, "a");	/* 1 */
	/* It is not read yet. */
	KUNIT_EXPECT_EQ(test, remove_with(t->keyed, "a", KWQ_REMOVE_UNCHANGED, 1), -ESTALE);
	KUNIT_EXPECT_EQ(test, add_to(t->keyed, "a"), KWQ_COALESCED);
	read_changes(test, &after);
	KUNIT_EXPECT_EQ(test, after, 1);
	KUNIT_EXPECT_EQ(test, add_to(t->keyed, "a"), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, t->keyed->changes->last, 1);
	KUNIT_EXPECT_EQ(test, remove_with(t->keyed, "a", KWQ_REMOVE_UNCHANGED, 1), -ESTALE);
	/* So it has to be read again. */
	KUNIT_EXPECT_EQ(test, remove_with(t->keyed, "a", KWQ_REMOVE_UNCHANGED, 2), -ESTALE);
	read_changes(test, &after);
	KUNIT_EXPECT_EQ(test, after, 2);
	KUNIT_EXPECT_EQ(test, remove_with(t->keyed, "a", KWQ_REMOVE_UNCHANGED, 2), KWQ_WAS_READY);
	/* It is still in the table, to be read. */
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 1);
	KUNIT_EXPECT_EQ(test, remove_with(t->keyed, "a", KWQ_REMOVE_UNCHANGED, 2), -ENOENT);
	read_changes(test, &after);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 1);
}

/* Q2, U9: the board, which any producer may ask for, answers adds that the queue does not see. */
static void remove_depends_on_adds_that_the_board_may_have_answered(struct kunit *test)
{
	struct grants_test *t = test->priv;
	struct kwq_keyed *keyed = t->keyed;
	u64 after;

	KUNIT_ASSERT_EQ(test, kwq_follow(t->x, &after), 0);
	if (kwq_keyed_provide_board(keyed))
		kunit_skip(test, "this machine has no boards");
	/* A key that is not on the board. */
	add_to(keyed, "a");
	read_changes(test, &after);
	KUNIT_EXPECT_EQ(test, remove_with(keyed, "a", KWQ_REMOVE_UNCHANGED, after), KWQ_WAS_READY);
	/* The follower reads it while it is there. */
	add_to(keyed, "b");
	KUNIT_EXPECT_EQ(test, add_to(keyed, "b"), KWQ_COALESCED);
	read_changes(test, &after);
	KUNIT_EXPECT_EQ(test, remove_with(keyed, "b", KWQ_REMOVE_UNCHANGED, after), -ESTALE);
	/* The refused remove has taken it off, so no more adds can be missed. */
	read_changes(test, &after);
	KUNIT_EXPECT_EQ(test, remove_with(keyed, "b", KWQ_REMOVE_UNCHANGED, after), KWQ_WAS_READY);
}

static void remove_of_a_remembered_item(struct kunit *test)
{
	struct grants_test *t = test->priv;
	u64 after, change;

	KUNIT_ASSERT_EQ(test, kwq_follow(t->x, &after), 0);
	add_limited(t->keyed, "a");
	kwq_queue_advance_by(&t->keyed->queue, 10 * NSEC_PER_MSEC);
	token_of_next(test);
	read_changes(test, &after);
	change = after;
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, t->got.ticket, 0), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_remembered, 1);
	/* L10: the follower has to know that it is idle. */
	KUNIT_EXPECT_EQ(test, remove_with(t->keyed, "a", KWQ_REMOVE_UNCHANGED, change), -ESTALE);
	read_changes(test, &after);
	KUNIT_EXPECT_EQ(test, remove_with(t->keyed, "a", KWQ_REMOVE_UNCHANGED | KWQ_REMOVE_DEAD,
					  after), -ENOENT);
	KUNIT_EXPECT_EQ(test, remove_with(t->keyed, "a", KWQ_REMOVE_UNCHANGED, after),
			KWQ_WAS_REMEMBERED);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_remembered, 0);
	/* N8: that it is gone is a change. It stays until that is read. */
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 1);
	KUNIT_EXPECT_EQ(test, remove_with(t->keyed, "a", 0, 0), -ENOENT);
	change = after;
	read_changes(test, &after);
	KUNIT_EXPECT_EQ(test, after, change + 1);
	read_changes(test, &after);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 0);
}

static struct kunit_case grants_cases[] = {
	KUNIT_CASE(adds_go_to_the_outbox),
	KUNIT_CASE(queue_without_an_outbox_takes_its_adds),
	KUNIT_CASE(unfit_outbox_is_refused),
	KUNIT_CASE(token_comes_with_the_item),
	KUNIT_CASE(highest_token_stays),
	KUNIT_CASE(token_ends_with_the_item),
	KUNIT_CASE(refused_add_leaves_the_token),
	KUNIT_CASE(restore_that_changes_nothing_brings_no_token),
	KUNIT_CASE(token_needs_a_queue_with_changes),
	KUNIT_CASE(revoked_item_is_gone),
	KUNIT_CASE(revokes_of_a_hold_wake_once),
	KUNIT_CASE(revoke_of_any_other_item_is_a_remove),
	KUNIT_CASE(revoked_item_that_was_due_to_die_is_gone),
	KUNIT_CASE(end_of_a_lease_tells_the_holder),
	KUNIT_CASE(remove_depends_on_the_last_change),
	KUNIT_CASE(remove_depends_on_adds_that_coalesced),
	KUNIT_CASE(remove_depends_on_adds_that_the_board_may_have_answered),
	KUNIT_CASE(remove_of_a_remembered_item),
	{}
};

static struct kunit_suite grants_suite = {
	.name = "kwq-grants",
	.init = grants_test_init,
	.exit = grants_test_exit,
	.test_cases = grants_cases,
};

kunit_test_suite(grants_suite);

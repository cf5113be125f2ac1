// SPDX-License-Identifier: GPL-2.0-only
/* Leases (O3): handout.c, and the requests in handle.c that use them, on a manual clock. */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include "keyed_ops.h"
#include "tests/form.h"
#include "tests/thread.h"

#define LEASE		1000
#define NR_MANY		(2 * KWQ_READY_PER_HOLD + 1)

struct lease_test {
	KWQ_TEST_HANDLES;
	struct kwq_got got[NR_MANY];
	u8 keys[NR_MANY * sizeof(u32)];
};

#define RIGHTS	(KWQ_RIGHT_READ | KWQ_RIGHT_WRITE)

static int lease_test_init(struct kunit *test)
{
	static const struct kwq_limits limits = { U32_MAX, U32_MAX, LEASE };

	return kwq_test_begin(test, sizeof(struct lease_test), &limits, RIGHTS);
}

static void make_again(struct kunit *test, enum kwq_clock clock, u64 lease)
{
	const struct kwq_limits limits = { U32_MAX, U32_MAX, lease };

	kwq_test_close(test);
	kwq_test_open(test, clock, &limits, RIGHTS);
}

static int add_with(struct lease_test *t, const struct kwq_key *key, u32 flags,
		    u64 time)
{
	return kwq_keyed_add(t->keyed, key, &(struct kwq_add_options){
		.flags = flags,
		.time = time,
	});
}

static int add(struct lease_test *t, const struct kwq_key *key)
{
	return add_with(t, key, 0, 0);
}

static void advance(struct lease_test *t, u64 ns)
{
	kwq_queue_advance_by(&t->keyed->queue, ns);
}

static int get_some(struct lease_test *t, struct kwq_handle *handle, u32 nr)
{
	struct kwq_got_buffer buffer = {
		.got = t->got,
		.keys = t->keys,
		.max_items = nr,
		.max_key_bytes = sizeof(t->keys),
	};

	return kwq_handle_get(handle, &buffer, &at_once);
}

/* Gets one item. Returns its ticket; 0 if none is ready. */
static u64 get(struct lease_test *t, struct kwq_handle *handle)
{
	return get_some(t, handle, 1) == 1 ? t->got[0].ticket : 0;
}

static bool got(const struct lease_test *t, const struct kwq_key *key)
{
	return t->got[0].key_len == key->len &&
	       !memcmp(t->keys, key->bytes, key->len);
}

static int done(struct kwq_handle *handle, u64 ticket)
{
	return kwq_handle_done(handle, ticket, 0);
}

static void lost_at_the_lease_s_end_and_not_before(struct kunit *test)
{
	struct lease_test *t = test->priv;
	u64 old, new;

	/* O3 D5 */
	add(t, KEY("key"));
	old = get(t, t->x);
	KUNIT_EXPECT_NE(test, old, 0);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(&t->keyed->queue), LEASE);
	advance(t, LEASE - 1);
	KUNIT_EXPECT_EQ(test, get(t, t->y), 0);
	KUNIT_EXPECT_EQ(test, t->x->holder.nr_held, 1);

	advance(t, 1);
	KUNIT_EXPECT_EQ(test, t->x->holder.nr_held, 0);
	KUNIT_EXPECT_EQ(test, kwq_len(&t->keyed->queue), 1);
	new = get(t, t->y);
	KUNIT_EXPECT_GT(test, new, old);
	KUNIT_EXPECT_EQ(test, t->got[0].abandoned, 1);

	/* All later calls of the first holder change nothing. */
	KUNIT_EXPECT_EQ(test, done(t->x, old), -ESTALE);
	KUNIT_EXPECT_EQ(test, kwq_handle_extend(t->x, old), -ESTALE);
	KUNIT_EXPECT_EQ(test, kwq_handle_done_key(t->x, KEY("key"), 0), -EPERM);
	KUNIT_EXPECT_EQ(test, kwq_handle_extend_key(t->x, KEY("key")), -EPERM);
	KUNIT_EXPECT_EQ(test, t->y->holder.nr_held, 1);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(&t->keyed->queue), 2 * LEASE);
	KUNIT_EXPECT_EQ(test, done(t->y, new), KWQ_FINISHED);
	/* Q10 */
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 0);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_bytes, 0);
	/* D6: the timer fires once in vain, and is not armed again. */
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(&t->keyed->queue), 2 * LEASE);
	advance(t, LEASE);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(&t->keyed->queue), KTIME_MAX);
}

static void stale_after_the_same_handle_got_it_again(struct kunit *test)
{
	struct lease_test *t = test->priv;
	u64 old, new;

	/* O3: a ticket belongs to one hand-out, not to a handle. */
	add(t, KEY("key"));
	old = get(t, t->x);
	advance(t, LEASE);
	new = get(t, t->x);
	KUNIT_EXPECT_EQ(test, done(t->x, old), -ESTALE);
	KUNIT_EXPECT_EQ(test, kwq_handle_extend(t->x, old), -ESTALE);
	KUNIT_EXPECT_EQ(test, t->x->holder.nr_held, 1);
	KUNIT_EXPECT_EQ(test, done(t->x, new), KWQ_FINISHED);
}

static void extension_begins_the_lease_again(struct kunit *test)
{
	struct lease_test *t = test->priv;
	u64 ticket;
	int i;

	/* O3 */
	add(t, KEY("key"));
	ticket = get(t, t->x);
	for (i = 0; i < 5; i++) {
		advance(t, LEASE - 1);
		KUNIT_EXPECT_EQ(test, kwq_handle_extend(t->x, ticket), 0);
	}
	for (i = 0; i < 5; i++) {
		advance(t, LEASE - 1);
		KUNIT_EXPECT_EQ(test, kwq_handle_extend_key(t->x, KEY("key")), 0);
	}
	advance(t, LEASE - 1);
	KUNIT_EXPECT_EQ(test, get(t, t->y), 0);
	advance(t, 1);
	KUNIT_EXPECT_NE(test, get(t, t->y), 0);
	KUNIT_EXPECT_EQ(test, t->keyed->expired, 1);
}

static void leases_end_in_the_order_of_their_ends(struct kunit *test)
{
	struct lease_test *t = test->priv;
	u64 a, b;

	add(t, KEY("a"));
	add(t, KEY("b"));
	a = get(t, t->x);
	advance(t, 1);
	b = get(t, t->x);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(&t->keyed->queue), LEASE);
	advance(t, 1);
	KUNIT_EXPECT_EQ(test, kwq_handle_extend(t->x, a), 0);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(&t->keyed->queue), LEASE);
	advance(t, LEASE - 2);
	KUNIT_EXPECT_EQ(test, get(t, t->y), 0);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(&t->keyed->queue), LEASE + 1);
	advance(t, 1);
	KUNIT_EXPECT_NE(test, get(t, t->y), 0);
	KUNIT_EXPECT_TRUE(test, got(t, KEY("b")));
	KUNIT_EXPECT_EQ(test, done(t->x, b), -ESTALE);
	KUNIT_EXPECT_EQ(test, get(t, t->y), 0);
	advance(t, 1);
	KUNIT_EXPECT_NE(test, get(t, t->y), 0);
	KUNIT_EXPECT_TRUE(test, got(t, KEY("a")));
	KUNIT_EXPECT_EQ(test, done(t->x, a), -ESTALE);
}

static void extension_of_what_is_not_held(struct kunit *test)
{
	struct lease_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, kwq_handle_extend(t->x, 1), -ESTALE);
	KUNIT_EXPECT_EQ(test, kwq_handle_extend_key(t->x, KEY("key")), -ENOENT);
	add(t, KEY("key"));
	KUNIT_EXPECT_EQ(test, kwq_handle_extend_key(t->x, KEY("key")), -ENOENT);
	KUNIT_EXPECT_NE(test, get(t, t->x), 0);
	KUNIT_EXPECT_EQ(test, kwq_handle_extend_key(t->y, KEY("key")), -EPERM);
	KUNIT_EXPECT_EQ(test, kwq_handle_extend(t->y, t->got[0].ticket), -ESTALE);
	KUNIT_EXPECT_EQ(test, t->keyed->of_queue.lease_end, LEASE);
}

static void without_leases_nothing_ends(struct kunit *test)
{
	struct lease_test *t = test->priv;
	u64 ticket;

	make_again(test, KWQ_CLOCK_MANUAL, 0);
	add(t, KEY("key"));
	ticket = get(t, t->x);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(&t->keyed->queue), KTIME_MAX);
	KUNIT_EXPECT_EQ(test, kwq_handle_extend(t->x, ticket), 0);
	KUNIT_EXPECT_EQ(test, kwq_handle_extend(t->x, ticket + 1), -ESTALE);
	KUNIT_EXPECT_EQ(test, kwq_handle_extend_key(t->x, KEY("key")), 0);
	KUNIT_EXPECT_EQ(test, kwq_handle_extend_key(t->y, KEY("key")), -EPERM);
	/* A lease of infinite length does not end even at the end of time. */
	advance(t, KTIME_MAX);
	KUNIT_EXPECT_EQ(test, done(t->x, ticket), KWQ_FINISHED);
}

static void end_of_time(struct kunit *test)
{
	struct lease_test *t = test->priv;
	u64 ticket;

	/* D7 */
	make_again(test, KWQ_CLOCK_MANUAL, KTIME_MAX);
	add(t, KEY("key"));
	advance(t, 1);
	ticket = get(t, t->x);
	KUNIT_EXPECT_EQ(test, t->keyed->of_queue.lease_end, KTIME_MAX);
	advance(t, KTIME_MAX - 2);
	KUNIT_EXPECT_EQ(test, kwq_handle_extend(t->x, ticket), 0);
	advance(t, 1);
	KUNIT_EXPECT_EQ(test, done(t->x, ticket), -ESTALE);
	/* No lease is left: only the clock stands still. */
	advance(t, 1);
	KUNIT_EXPECT_EQ(test, t->keyed->expired, 1);
	KUNIT_EXPECT_NE(test, get(t, t->y), 0);
}

static void done_ends_the_lease(struct kunit *test)
{
	struct lease_test *t = test->priv;
	u64 ticket;

	/* D5 Q4: the next hand-out has its own lease. */
	add(t, KEY("key"));
	ticket = get(t, t->x);
	add(t, KEY("key"));
	advance(t, LEASE - 1);
	KUNIT_EXPECT_EQ(test, done(t->x, ticket), KWQ_REQUEUED);
	ticket = get(t, t->x);
	advance(t, LEASE - 1);
	KUNIT_EXPECT_EQ(test, get(t, t->y), 0);
	KUNIT_EXPECT_EQ(test, done(t->x, ticket), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, t->keyed->expired, 0);
}

static void cycles_leave_the_timer_alone(struct kunit *test)
{
	struct lease_test *t = test->priv;
	struct kwq_queue *q = &t->keyed->queue;
	int i, armed = 0;
	ktime_t before;
	u64 ticket;

	/* D6 O3: get, extend and done for the time of 10 leases, in steps of a thousandth */
	add(t, KEY("key"));
	before = kwq_test_next_time(q);
	for (i = 0; i < 10 * LEASE; i++) {
		ticket = get(t, t->x);
		kwq_handle_extend(t->x, ticket);
		add(t, KEY("key"));
		KUNIT_ASSERT_EQ(test, done(t->x, ticket), KWQ_REQUEUED);
		KUNIT_ASSERT_LE(test, kwq_test_next_time(q), q->manual_now + LEASE);
		advance(t, 1);
		armed += kwq_test_next_time(q) != before;
		before = kwq_test_next_time(q);
	}
	/* Once for each lease that might have ended, and for the first one. */
	KUNIT_EXPECT_LE(test, armed, 20);
	KUNIT_EXPECT_EQ(test, t->keyed->expired, 0);
}

static void timer_that_comes_in_vain_finds_the_next_lease(struct kunit *test)
{
	struct lease_test *t = test->priv;
	struct kwq_queue *q = &t->keyed->queue;
	u64 a;

	/* O3: the lease for which the timer was armed is over, but another one is not. */
	add(t, KEY("a"));
	add(t, KEY("b"));
	a = get(t, t->x);
	advance(t, 10);
	KUNIT_EXPECT_NE(test, get(t, t->x), 0);
	KUNIT_EXPECT_EQ(test, done(t->x, a), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), LEASE);
	advance(t, LEASE - 10);
	KUNIT_EXPECT_EQ(test, t->keyed->expired, 0);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), LEASE + 10);
	advance(t, 10);
	KUNIT_EXPECT_EQ(test, t->keyed->expired, 1);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), KTIME_MAX);
}

static void unget_ends_the_lease(struct kunit *test)
{
	struct lease_test *t = test->priv;

	/* O2 */
	add(t, KEY("key"));
	KUNIT_EXPECT_NE(test, get(t, t->x), 0);
	kwq_handle_unget(t->x, t->got, 1);
	advance(t, LEASE);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(&t->keyed->queue), KTIME_MAX);
	KUNIT_EXPECT_EQ(test, t->keyed->expired, 0);
	KUNIT_EXPECT_EQ(test, kwq_len(&t->keyed->queue), 1);

	/* An item that did not reach its reader in time has another holder now. */
	KUNIT_EXPECT_NE(test, get(t, t->x), 0);
	advance(t, LEASE);
	kwq_handle_unget(t->x, t->got, 1);
	KUNIT_EXPECT_EQ(test, kwq_len(&t->keyed->queue), 1);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.abandoned, 1);
}

static void other_ends_of_the_lease(struct kunit *test)
{
	struct lease_test *t = test->priv;
	u64 a, b;

	/* O2 L11: an item that is given back or buried is not taken back later. */
	add(t, KEY("a"));
	add(t, KEY("b"));
	a = get(t, t->x);
	b = get(t, t->x);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, a, KWQ_DONE_RETURN), KWQ_RETURNED);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, b, KWQ_DONE_DEAD), KWQ_BURIED);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, a, KWQ_DONE_RETURN), -ESTALE);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, b, KWQ_DONE_DEAD), -ESTALE);
	advance(t, LEASE);
	KUNIT_EXPECT_EQ(test, t->keyed->expired, 0);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(&t->keyed->queue), KTIME_MAX);

	/* O3: a ticket whose lease is over is of no use. */
	a = get(t, t->x);
	advance(t, LEASE);
	KUNIT_EXPECT_EQ(test, t->keyed->expired, 1);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, a, KWQ_DONE_RETURN), -ESTALE);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, a, KWQ_DONE_DEAD), -ESTALE);
	KUNIT_EXPECT_EQ(test, kwq_len(&t->keyed->queue), 1);
}

/* Q6 L11: by its key, too. A bury can also forget the item's count. */
static void settled_by_key(struct kunit *test)
{
	struct lease_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, kwq_handle_done_key(t->x, KEY("a"), KWQ_DONE_RETURN), -ENOENT);
	add(t, KEY("a"));
	KUNIT_EXPECT_EQ(test, kwq_handle_done_key(t->x, KEY("a"), KWQ_DONE_RETURN), -ENOENT);
	get(t, t->x);
	KUNIT_EXPECT_EQ(test, kwq_handle_done_key(t->x, KEY("a"), KWQ_DONE_RETURN),
			KWQ_RETURNED);
	get(t, t->x);
	KUNIT_EXPECT_EQ(test, kwq_handle_done_key(t->x, KEY("a"),
						  KWQ_DONE_DEAD | KWQ_DONE_FORGET), KWQ_BURIED);
	KUNIT_EXPECT_EQ(test, t->keyed->queue.core.nr_ready, 0);
	KUNIT_EXPECT_EQ(test, kwq_keyed_num_requeues(t->keyed, KEY("a")), 0);
}

static void close_ends_leases(struct kunit *test)
{
	struct lease_test *t = test->priv;

	/* O1: each item is given back once. */
	add(t, KEY("a"));
	add(t, KEY("b"));
	KUNIT_EXPECT_EQ(test, get_some(t, t->x, 2), 2);
	kwq_test_close_handle(&t->x);
	advance(t, LEASE);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(&t->keyed->queue), KTIME_MAX);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.abandoned, 2);
	KUNIT_EXPECT_EQ(test, t->keyed->expired, 0);
}

static int die_after_lost(struct lease_test *t, u32 losses)
{
	return kwq_configure(&t->keyed->queue, &(struct kwq_limiter_config){
		.dead_after_lost = losses,
	});
}

static void lost_too_often_it_is_dead(struct kunit *test)
{
	struct lease_test *t = test->priv;

	/* L12 O3: once by the lease, and once by closing the handle */
	KUNIT_ASSERT_EQ(test, die_after_lost(t, 2), 0);
	add(t, KEY("a"));
	KUNIT_EXPECT_NE(test, get(t, t->y), 0);
	advance(t, LEASE);
	KUNIT_EXPECT_NE(test, get(t, t->y), 0);
	advance(t, LEASE);
	KUNIT_EXPECT_EQ(test, get(t, t->y), 0);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.nr_dead, 1);
	KUNIT_EXPECT_EQ(test, t->keyed->expired, 2);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 1);

	add(t, KEY("b"));
	KUNIT_EXPECT_NE(test, get(t, t->y), 0);
	advance(t, LEASE);
	KUNIT_EXPECT_NE(test, get(t, t->x), 0);
	kwq_test_close_handle(&t->x);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.nr_dead, 2);
	KUNIT_EXPECT_NOT_NULL(test, t->keyed->queue.core.dead);

	/* When it is revived, it is in the queue again. */
	KUNIT_EXPECT_EQ(test, add(t, KEY("a")), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.nr_dead, 1);
	KUNIT_EXPECT_EQ(test, done(t->y, get(t, t->y)), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 1);
}

static void lost_too_often_after_a_shut_down_it_is_gone(struct kunit *test)
{
	struct lease_test *t = test->priv;

	/* L12 Q10: a lease ends in a softirq, which frees nothing; a worker does (O9). */
	KUNIT_ASSERT_EQ(test, die_after_lost(t, 1), 0);
	/* No queue keeps the item of such a key. */
	add(t, KEY("a key that is too long for a small item"));
	add(t, KEY("b"));
	KUNIT_EXPECT_NE(test, get(t, t->y), 0);
	KUNIT_EXPECT_NE(test, get(t, t->x), 0);
	kwq_keyed_shut_down(t->keyed);
	kwq_test_close_handle(&t->x);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 1);
	advance(t, LEASE);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 0);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_bytes, 0);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.dropped, 2);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.died, 2);
	KUNIT_EXPECT_TRUE(test, kwq_core_is_drained(&t->keyed->queue.core));
	kwq_test_wait_until(test, !READ_ONCE(t->keyed->gone));
}

/* O9: in a queue that is followed, the item stays to be read, and only its value goes. */
static void value_lost_too_often_after_a_shut_down_is_freed(struct kunit *test)
{
	const struct kwq_limits limits = {
		.max_items = 9, .max_bytes = 1 << 20, .lease = LEASE, .values = true,
		.changes = true,
	};
	struct kwq_extras extras = { .flags = KWQ_ADD_VALUE };
	struct lease_test *t = test->priv;
	u64 number;

	kwq_test_open_again(test, &limits, RIGHTS);
	KUNIT_ASSERT_EQ(test, die_after_lost(t, 1), 0);
	KUNIT_ASSERT_EQ(test, kwq_follow(t->y, &number), 0);
	extras.value = kwq_value_alloc(100);
	KUNIT_ASSERT_NOT_NULL(test, extras.value);
	KUNIT_EXPECT_EQ(test, kwq_keyed_add_with(t->keyed, KEY("a"), &(struct kwq_add_options){},
						 &extras), KWQ_ADDED);
	KUNIT_EXPECT_NE(test, get(t, t->x), 0);
	kwq_keyed_shut_down(t->keyed);
	advance(t, LEASE);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 1);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_values, 0);
	kwq_test_wait_until(test, !READ_ONCE(t->keyed->gone_memory));
}

struct poller {
	wait_queue_entry_t entry;
	int wakes;
};

static int count_wake_of_losses(wait_queue_entry_t *entry, unsigned int mode, int flags, void *key)
{
	if (key_to_poll(key) & EPOLLPRI)
		container_of(entry, struct poller, entry)->wakes++;
	return 1;
}

static void many_end_in_pieces(struct kunit *test)
{
	struct lease_test *t = test->priv;
	struct kwq_queue *q = &t->keyed->queue;
	struct poller p = {};
	struct kwq_key key;
	u32 i;

	/* D6: no item comes back before all others are served. O8: pollers are told once a hold. */
	init_waitqueue_func_entry(&p.entry, count_wake_of_losses);
	add_wait_queue(&t->keyed->of_queue.pollers, &p.entry);
	key = (struct kwq_key){ (u8 *)&i, sizeof(i) };
	for (i = 0; i < NR_MANY; i++)
		add(t, &key);
	KUNIT_ASSERT_EQ(test, get_some(t, t->x, NR_MANY), NR_MANY);
	KUNIT_EXPECT_TRUE(test, kwq_advance_some(q, LEASE));
	KUNIT_EXPECT_EQ(test, kwq_len(q), KWQ_READY_PER_HOLD);
	KUNIT_EXPECT_EQ(test, p.wakes, 1);
	KUNIT_EXPECT_TRUE(test, kwq_advance_some(q, LEASE));
	KUNIT_EXPECT_EQ(test, kwq_len(q), 2 * KWQ_READY_PER_HOLD);
	KUNIT_EXPECT_FALSE(test, kwq_advance_some(q, LEASE));
	KUNIT_EXPECT_EQ(test, kwq_len(q), NR_MANY);
	KUNIT_EXPECT_EQ(test, p.wakes, 3);
	remove_wait_queue(&t->keyed->of_queue.pollers, &p.entry);
	KUNIT_EXPECT_EQ(test, t->x->holder.nr_held, 0);
}

static void no_lease_ends_the_backlog_of_waits(struct kunit *test)
{
	struct lease_test *t = test->priv;
	struct kwq_key key;
	u32 i;

	/* D6: more waits are due than fit into one hold, but no lease. */
	add(t, KEY("held"));
	KUNIT_EXPECT_NE(test, get(t, t->x), 0);
	key = (struct kwq_key){ (u8 *)&i, sizeof(i) };
	for (i = 0; i < NR_MANY; i++)
		add_with(t, &key, KWQ_ADD_AFTER, LEASE);
	KUNIT_EXPECT_TRUE(test, kwq_advance_some(&t->keyed->queue, LEASE));
	KUNIT_EXPECT_EQ(test, kwq_len(&t->keyed->queue), KWQ_READY_PER_HOLD + 1);
	KUNIT_EXPECT_EQ(test, t->keyed->expired, 1);
	KUNIT_EXPECT_EQ(test, kwq_keyed_advance(t->keyed, 0, false), 0);
	KUNIT_EXPECT_EQ(test, kwq_len(&t->keyed->queue), NR_MANY + 1);
}

static void taken_back_goes_first(struct kunit *test)
{
	struct lease_test *t = test->priv;

	/* O1 O3 */
	add(t, KEY("tried"));
	KUNIT_EXPECT_NE(test, get(t, t->x), 0);
	add(t, KEY("new"));
	/* Q4: the same run serves an add that came meanwhile. */
	KUNIT_EXPECT_EQ(test, add(t, KEY("tried")), KWQ_DIRTIED);
	advance(t, LEASE);
	KUNIT_EXPECT_EQ(test, get_some(t, t->y, NR_MANY), 2);
	KUNIT_EXPECT_TRUE(test, got(t, KEY("tried")));
	KUNIT_EXPECT_EQ(test, done(t->y, t->got[0].ticket), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, done(t->y, t->got[1].ticket), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 0);
}

static void removed_while_held_comes_back(struct kunit *test)
{
	struct lease_test *t = test->priv;

	/* Q11 O3: as when its holder dies: there was no done. */
	add(t, KEY("key"));
	KUNIT_EXPECT_NE(test, get(t, t->x), 0);
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, KEY("key"), 0),
			KWQ_WAS_PROCESSING);
	advance(t, LEASE);
	KUNIT_EXPECT_EQ(test, done(t->y, get(t, t->y)), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 0);
}

static void waits_and_is_held(struct kunit *test)
{
	struct lease_test *t = test->priv;
	struct kwq_queue *q = &t->keyed->queue;

	/* D3 D6: one timer for the earlier of the two */
	add(t, KEY("key"));
	KUNIT_EXPECT_NE(test, get(t, t->x), 0);
	KUNIT_EXPECT_EQ(test, add_with(t, KEY("key"), KWQ_ADD_AFTER, LEASE + 1),
			KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), LEASE);
	KUNIT_EXPECT_EQ(test, add_with(t, KEY("other"), KWQ_ADD_AFTER, LEASE - 1),
			KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), LEASE - 1);
	advance(t, LEASE);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 2);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), LEASE + 1);
	advance(t, 1);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 2);
}

static void taken_back_after_a_shut_down(struct kunit *test)
{
	struct lease_test *t = test->priv;

	/* Q8 Q9 O1 */
	add(t, KEY("key"));
	KUNIT_EXPECT_NE(test, get(t, t->x), 0);
	kwq_keyed_shut_down(t->keyed);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(&t->keyed->queue), LEASE);
	KUNIT_EXPECT_EQ(test, get_some(t, t->y, 1), -EAGAIN);
	advance(t, LEASE);
	KUNIT_EXPECT_EQ(test, done(t->y, get(t, t->y)), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, get_some(t, t->y, 1), -ESHUTDOWN);
	KUNIT_EXPECT_TRUE(test, kwq_core_is_drained(&t->keyed->queue.core));
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 0);
}

static void keys_of_any_length_have_room_for_a_lease(struct kunit *test)
{
	struct lease_test *t = test->priv;
	u8 *bytes = kunit_kzalloc(test, KWQ_KEY_MAX, GFP_KERNEL);
	struct kwq_key key = { bytes };
	struct kwq_keyed_item *ki;
	u64 ticket;

	/*
	 * O4: leases count and are given back; items with short and long keys lie in
	 * different caches
	 */
	KUNIT_ASSERT_NOT_NULL(test, bytes);
	for (key.len = 1; key.len <= 256; key.len++) {
		KUNIT_EXPECT_EQ(test, add(t, &key), KWQ_ADDED);
		KUNIT_EXPECT_GE(test, t->keyed->nr_bytes,
				sizeof(struct kwq_keyed_item) +
				sizeof(struct kwq_lease));
		ticket = get(t, t->x);
		KUNIT_ASSERT_NE(test, ticket, 0);
		KUNIT_EXPECT_TRUE(test, got(t, &key));
		ki = kwq_line_first(&t->x->held, struct kwq_keyed_item, held);
		KUNIT_EXPECT_LE(test, (u8 *)(kwq_lease_of(ki) + 1) - (u8 *)ki, ksize(ki));
		KUNIT_EXPECT_EQ(test, done(t->x, ticket), KWQ_FINISHED);
		KUNIT_EXPECT_EQ(test, t->keyed->nr_bytes, 0);
	}
}

static void stat_of_leases(struct kunit *test)
{
	struct lease_test *t = test->priv;
	struct kwq_stat *stat = kunit_kzalloc(test, sizeof(*stat), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, stat);
	add(t, KEY("a"));
	add(t, KEY("b"));
	KUNIT_EXPECT_EQ(test, get_some(t, t->x, 2), 2);
	advance(t, LEASE);
	KUNIT_EXPECT_EQ(test, get_some(t, t->x, 1), 1);
	kwq_test_close_handle(&t->x);
	kwq_keyed_stat(t->keyed, stat);
	KUNIT_EXPECT_EQ(test, stat->lease, LEASE);
	KUNIT_EXPECT_EQ(test, stat->expired, 2);
	KUNIT_EXPECT_EQ(test, stat->abandoned, 3);
}

/* The items of a thread that waits for ever. */
struct getter {
	struct kwq_handle *handle;
	struct kwq_got got;
	u8 keys[8];
	int ret;
};

static void wait_for_one(void *data)
{
	struct getter *getter = data;
	struct kwq_got_buffer buffer = {
		.got = &getter->got,
		.keys = getter->keys,
		.max_items = 1,
		.max_key_bytes = sizeof(getter->keys),
	};

	getter->ret = kwq_handle_get(getter->handle, &buffer, &for_ever);
}

static void lease_s_end_wakes_a_getter(struct kunit *test)
{
	struct lease_test *t = test->priv;
	struct kwq_test_thread *thread = kunit_kzalloc(test, sizeof(*thread),
						       GFP_KERNEL);
	struct getter getter = {};
	u64 ticket;

	/* Q5 O3: by the timer, on a real clock */
	KUNIT_ASSERT_NOT_NULL(test, thread);
	make_again(test, KWQ_CLOCK_MONOTONIC, 10 * NSEC_PER_MSEC);
	add(t, KEY("key"));
	ticket = get(t, t->x);
	getter.handle = t->y;
	kwq_test_thread_start(test, thread, wait_for_one, &getter);
	kwq_test_thread_join(test, thread);
	KUNIT_EXPECT_EQ(test, getter.ret, 1);
	KUNIT_EXPECT_EQ(test, getter.got.abandoned, 1);
	KUNIT_EXPECT_EQ(test, done(t->x, ticket), -ESTALE);
}

static struct kunit_case lease_test_cases[] = {
	KUNIT_CASE(lost_at_the_lease_s_end_and_not_before),
	KUNIT_CASE(stale_after_the_same_handle_got_it_again),
	KUNIT_CASE(extension_begins_the_lease_again),
	KUNIT_CASE(leases_end_in_the_order_of_their_ends),
	KUNIT_CASE(extension_of_what_is_not_held),
	KUNIT_CASE(without_leases_nothing_ends),
	KUNIT_CASE(end_of_time),
	KUNIT_CASE(done_ends_the_lease),
	KUNIT_CASE(cycles_leave_the_timer_alone),
	KUNIT_CASE(timer_that_comes_in_vain_finds_the_next_lease),
	KUNIT_CASE(unget_ends_the_lease),
	KUNIT_CASE(other_ends_of_the_lease),
	KUNIT_CASE(settled_by_key),
	KUNIT_CASE(close_ends_leases),
	KUNIT_CASE(lost_too_often_it_is_dead),
	KUNIT_CASE(lost_too_often_after_a_shut_down_it_is_gone),
	KUNIT_CASE(value_lost_too_often_after_a_shut_down_is_freed),
	KUNIT_CASE(many_end_in_pieces),
	KUNIT_CASE(no_lease_ends_the_backlog_of_waits),
	KUNIT_CASE(taken_back_goes_first),
	KUNIT_CASE(removed_while_held_comes_back),
	KUNIT_CASE(waits_and_is_held),
	KUNIT_CASE(taken_back_after_a_shut_down),
	KUNIT_CASE(keys_of_any_length_have_room_for_a_lease),
	KUNIT_CASE(stat_of_leases),
	KUNIT_CASE(lease_s_end_wakes_a_getter),
	{}
};

static struct kunit_suite lease_test_suite = {
	.name = "kwq-lease",
	.init = lease_test_init,
	.exit = kwq_test_close,
	.test_cases = lease_test_cases,
};

kunit_test_suite(lease_test_suite);

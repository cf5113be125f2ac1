// SPDX-License-Identifier: GPL-2.0-only
/* Adds that wait for room, below the device (Q19): room.c on a manual clock. */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "keyed_ops.h"
#include "tests/thread.h"

/* More than one hold of the lock tells. */
#define NR_ADDERS	(2 * KWQ_WAKES_PER_HOLD + 1)

/* A thread that adds, and waits for room. */
struct adder {
	struct kwq_test_thread thread;
	struct kwq_keyed *keyed;
	struct kwq_key key;
	struct kwq_key group;
	struct kwq_room_wait wait;
	u8 bytes[1000];
	int ret;
};

struct room_test {
	struct kwq_keyed *keyed;
	struct kwq_handle *handle;
	struct adder adders[NR_ADDERS];
};

static int room_test_init(struct kunit *test)
{
	static const struct kwq_limits one = { 1, U32_MAX };
	struct room_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->keyed = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &one);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->keyed));
	KUNIT_ASSERT_EQ(test, kwq_keyed_provide_adders(t->keyed), 0);
	t->handle = kwq_handle_open(t->keyed, KWQ_RIGHT_WRITE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->handle));
	test->priv = t;
	return 0;
}

static void room_test_exit(struct kunit *test)
{
	struct room_test *t = test->priv;

	if (!t)
		return;
	kwq_handle_close(t->handle);
	kwq_keyed_put(t->keyed);
}

static int add_byte(struct kwq_keyed *keyed, u8 byte)
{
	return kwq_keyed_add(keyed, &(struct kwq_key){ &byte, 1 }, &(struct kwq_add_options){});
}

static int remove_byte(struct kwq_keyed *keyed, u8 byte)
{
	return kwq_keyed_remove(keyed, &(struct kwq_key){ &byte, 1 }, 0);
}

static int add_or_wait_locked(struct adder *a, struct kwq_stock *stock, unsigned long *flags)
{
	static const struct kwq_add_options options = {};
	int ret, err = 0;

	do {
		/* As the device does. */
		if (kwq_front_is_shut_down(a->wait.handle->front))
			return -ESHUTDOWN;
		ret = kwq_keyed_add_locked(a->keyed, &a->key, &options,
					   kwq_now_locked(&a->keyed->queue), stock);
		if (!kwq_keyed_may_find_room(stock, ret))
			return ret;
		err = kwq_keyed_wait_for_room_locked(a->keyed, &a->key, stock, &a->wait, flags);
	} while (!err);
	return err;
}

static void add_or_wait(void *data)
{
	struct adder *a = data;
	struct kwq_stock stock = {};
	unsigned long flags;

	kwq_key_hash(&a->key);
	do {
		kwq_stock_fill(&stock, a->keyed, &a->key, 1);
		kwq_keyed_provide(a->keyed);
		spin_lock_irqsave(&a->keyed->queue.lock, flags);
		a->ret = add_or_wait_locked(a, &stock, &flags);
		kwq_keyed_unlock(a->keyed, flags);
	} while (a->ret == -EAGAIN && !a->wait.patience.nonblock);
	kwq_stock_empty(&stock, a->keyed);
}

static int nr_waiting(struct kwq_keyed *keyed)
{
	unsigned long flags;
	struct list_head *at;
	int nr = 0;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	list_for_each(at, &keyed->adders->list)
		nr++;
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
	return nr;
}

/* Starts an adder that uses this handle of the queue, and returns once it waits. */
static struct adder *start_by(struct kunit *test, struct kwq_handle *handle, int i, u8 byte,
			      u32 len, ktime_t deadline)
{
	struct room_test *t = test->priv;
	struct adder *a = &t->adders[i];
	int before = nr_waiting(t->keyed);

	memset(a, 0, sizeof(*a));
	memset(a->bytes, byte, sizeof(a->bytes));
	a->keyed = t->keyed;
	a->key = (struct kwq_key){ a->bytes, len };
	a->wait.patience.deadline = deadline;
	a->wait.handle = handle;
	a->wait.bytes = 1000;
	kwq_test_thread_start(test, &a->thread, add_or_wait, a);
	kwq_test_wait_until(test, nr_waiting(t->keyed) > before);
	return a;
}

static struct adder *start(struct kunit *test, int i, u8 byte, u32 len, ktime_t deadline)
{
	struct room_test *t = test->priv;

	return start_by(test, t->handle, i, byte, len, deadline);
}

static void expect_end(struct kunit *test, struct adder *a, int ret)
{
	kwq_test_thread_join(test, &a->thread);
	KUNIT_EXPECT_EQ(test, a->ret, ret);
}

static void expect_nobody_waits(struct kunit *test)
{
	struct room_test *t = test->priv;

	const struct kwq_adders *adders = t->keyed->adders;

	KUNIT_EXPECT_TRUE(test, list_empty(&adders->list));
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&adders->by_size[0]));
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&adders->by_size[1]));
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&adders->by_group));
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&adders->by_key));
	KUNIT_EXPECT_FALSE(test, t->keyed->owes & KWQ_OWES_ADDERS);
	KUNIT_EXPECT_EQ(test, adders->items_told, 0);
	KUNIT_EXPECT_EQ(test, adders->bytes_told, 0);
	KUNIT_EXPECT_EQ(test, t->keyed->queue.nr_drainers, 0);
}

/* Q19: each room tells the first adder. */
static void adders_go_on_in_order(struct kunit *test)
{
	struct room_test *t = test->priv;
	struct adder *a[3];
	int i;

	KUNIT_EXPECT_EQ(test, add_byte(t->keyed, 0), KWQ_ADDED);
	for (i = 0; i < 3; i++)
		a[i] = start(test, i, i + 1, 1, KTIME_MAX);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, remove_byte(t->keyed, i), KWQ_WAS_READY);
		expect_end(test, a[i], KWQ_ADDED);
		KUNIT_EXPECT_EQ(test, nr_waiting(t->keyed), 2 - i);
	}
	expect_nobody_waits(test);
}

/* Q19, O8: one hold tells a few, and no more than find room. */
static void hold_tells_a_few(struct kunit *test)
{
	struct room_test *t = test->priv;
	struct kwq_keyed *keyed = t->keyed;
	unsigned long flags;
	int i;

	KUNIT_EXPECT_EQ(test, add_byte(keyed, 0), KWQ_ADDED);
	for (i = 0; i < NR_ADDERS; i++)
		start(test, i, i + 1, 1, KTIME_MAX);
	spin_lock_irqsave(&keyed->queue.lock, flags);
	kwq_tell_adders_locked(keyed);
	KUNIT_EXPECT_EQ(test, keyed->adders->items_told, 0);
	keyed->limits.max_items = 3;
	kwq_tell_adders_locked(keyed);
	KUNIT_EXPECT_EQ(test, keyed->adders->items_told, 2);
	kwq_tell_adders_locked(keyed);
	KUNIT_EXPECT_EQ(test, keyed->adders->items_told, 2);
	keyed->limits.max_items = NR_ADDERS + 1;
	kwq_tell_adders_locked(keyed);
	KUNIT_EXPECT_EQ(test, keyed->adders->items_told, 2 + KWQ_WAKES_PER_HOLD);
	KUNIT_EXPECT_EQ(test, keyed->adders->bytes_told,
			keyed->adders->items_told * kwq_item_bytes(keyed, 1));
	kwq_keyed_unlock(keyed, flags);
	/* Those that were told tell the others. */
	for (i = 0; i < NR_ADDERS; i++)
		expect_end(test, &t->adders[i], KWQ_ADDED);
	expect_nobody_waits(test);
}

/* Q19: a long key does not keep a short one from its room, which goes to the one that fits. */
static void short_key_goes_before_a_long_one(struct kunit *test)
{
	struct room_test *t = test->priv;
	struct kwq_keyed *keyed = t->keyed;
	struct adder *first, *second, *third;
	unsigned long flags;

	keyed->limits.max_items = 100;
	keyed->limits.max_bytes = kwq_item_bytes(keyed, 1000);
	while (add_byte(keyed, keyed->nr_items + 10) == KWQ_ADDED)
		;
	first = start(test, 0, 1, 1000, KTIME_MAX);
	second = start(test, 1, 5, 1, KTIME_MAX);
	third = start(test, 2, 6, 1, KTIME_MAX);
	KUNIT_EXPECT_EQ(test, remove_byte(keyed, 10), KWQ_WAS_READY);
	expect_end(test, second, KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, nr_waiting(keyed), 2);
	KUNIT_EXPECT_EQ(test, remove_byte(keyed, 11), KWQ_WAS_READY);
	expect_end(test, third, KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, nr_waiting(keyed), 1);
	spin_lock_irqsave(&keyed->queue.lock, flags);
	keyed->limits.max_bytes *= 2;
	kwq_keyed_unlock(keyed, flags);
	expect_end(test, first, KWQ_ADDED);
	expect_nobody_waits(test);
}

/* Q19: an add of the key by somebody else ends the wait. */
static void key_comes_another_way(struct kunit *test)
{
	struct room_test *t = test->priv;
	int i;

	KUNIT_EXPECT_EQ(test, add_byte(t->keyed, 0), KWQ_ADDED);
	for (i = 0; i < NR_ADDERS; i++)
		start(test, i, i % 2 + 1, 1, KTIME_MAX);
	KUNIT_EXPECT_EQ(test, remove_byte(t->keyed, 0), KWQ_WAS_READY);
	expect_end(test, &t->adders[0], KWQ_ADDED);
	for (i = 2; i < NR_ADDERS; i += 2)
		expect_end(test, &t->adders[i], KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, nr_waiting(t->keyed), NR_ADDERS / 2);
	KUNIT_EXPECT_EQ(test, remove_byte(t->keyed, 1), KWQ_WAS_READY);
	expect_end(test, &t->adders[1], KWQ_ADDED);
	for (i = 3; i < NR_ADDERS; i += 2)
		expect_end(test, &t->adders[i], KWQ_COALESCED);
	expect_nobody_waits(test);
}

/* As after an add that was refused, with the hashes that the test has chosen. */
static void wait_for_room(void *data)
{
	struct adder *a = data;
	const struct kwq_stock stock = {
		.refused_group = &a->group, .refused_bytes = 1, .refused_item = true,
	};
	unsigned long flags;

	spin_lock_irqsave(&a->keyed->queue.lock, flags);
	a->ret = kwq_keyed_wait_for_room_locked(a->keyed, &a->key, &stock, &a->wait, &flags);
	kwq_keyed_unlock(a->keyed, flags);
}

/* Q19: keys whose hashes are equal, and groups. */
static void names_with_one_hash(struct kunit *test)
{
	static const u8 names[] = { 1, 2, 3, 4 };
	struct room_test *t = test->priv;
	struct kwq_keyed *keyed = t->keyed;
	unsigned long flags;
	int i;

	KUNIT_EXPECT_EQ(test, add_byte(keyed, 0), KWQ_ADDED);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		struct adder *a = &t->adders[i];

		a->keyed = keyed;
		a->key = (struct kwq_key){ &names[i], 1, 7 };
		a->group = (struct kwq_key){ &names[i], 1, i < 2 ? 5 : 3 };
		a->wait.patience.deadline = KTIME_MAX;
		a->wait.handle = t->handle;
		kwq_test_thread_start(test, &a->thread, wait_for_room, a);
		kwq_test_wait_until(test, nr_waiting(keyed) > i);
	}
	spin_lock_irqsave(&keyed->queue.lock, flags);
	kwq_tell_adders_of_key_locked(keyed, &t->adders[2].key);
	kwq_keyed_unlock(keyed, flags);
	expect_end(test, &t->adders[2], 0);
	KUNIT_EXPECT_EQ(test, nr_waiting(keyed), 3);
	spin_lock_irqsave(&keyed->queue.lock, flags);
	kwq_tell_adders_of_group_locked(keyed, &t->adders[1].group);
	kwq_keyed_unlock(keyed, flags);
	expect_end(test, &t->adders[1], 0);
	KUNIT_EXPECT_EQ(test, nr_waiting(keyed), 2);
	kwq_keyed_shut_down(keyed);
	expect_end(test, &t->adders[0], 0);
	expect_end(test, &t->adders[3], 0);
	expect_nobody_waits(test);
}

/* Q19: somebody else's add takes the room for the key in the hold that made it. */
static void key_comes_in_the_same_hold(struct kunit *test)
{
	static const struct kwq_add_options options = {};
	struct room_test *t = test->priv;
	struct kwq_keyed *keyed = t->keyed;
	struct kwq_key old = { (u8 []){ 0 }, 1 };
	struct kwq_stock stock = {};
	unsigned long flags;
	int i;

	KUNIT_EXPECT_EQ(test, add_byte(keyed, 0), KWQ_ADDED);
	for (i = 0; i < NR_ADDERS; i++)
		start(test, i, i ? 2 : 1, 1, KTIME_MAX);
	kwq_key_hash(&old);
	kwq_stock_fill(&stock, keyed, &old, 1);
	spin_lock_irqsave(&keyed->queue.lock, flags);
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove_locked(keyed, &old, 0, 0, 0), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, kwq_keyed_add_locked(keyed, &t->adders[1].key, &options, 0, &stock),
			KWQ_ADDED);
	kwq_keyed_unlock(keyed, flags);
	kwq_stock_empty(&stock, keyed);
	for (i = 1; i < NR_ADDERS; i++)
		expect_end(test, &t->adders[i], KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, nr_waiting(keyed), 1);
	KUNIT_EXPECT_EQ(test, remove_byte(keyed, 2), KWQ_WAS_READY);
	expect_end(test, &t->adders[0], KWQ_ADDED);
	expect_nobody_waits(test);
}

/* Q19: an adder that leaves, told of room or not, leaves the room to the next one. */
static void adder_that_leaves_passes_room_on(struct kunit *test)
{
	struct room_test *t = test->priv;
	struct kwq_keyed *keyed = t->keyed;
	struct adder *late, *killed, *last;

	KUNIT_EXPECT_EQ(test, add_byte(keyed, 0), KWQ_ADDED);
	late = start(test, 0, 1, 1, 10);
	killed = start(test, 1, 2, 1, KTIME_MAX);
	last = start(test, 2, 3, 1, KTIME_MAX);
	kwq_queue_advance(&keyed->queue, 9);
	KUNIT_EXPECT_EQ(test, nr_waiting(keyed), 3);
	kwq_queue_advance(&keyed->queue, 10);
	expect_end(test, late, -ETIMEDOUT);
	kwq_test_thread_signal(&killed->thread);
	expect_end(test, killed, -ERESTARTSYS);
	KUNIT_EXPECT_EQ(test, nr_waiting(keyed), 1);
	KUNIT_EXPECT_EQ(test, remove_byte(keyed, 0), KWQ_WAS_READY);
	expect_end(test, last, KWQ_ADDED);
	expect_nobody_waits(test);
}

/* Q19: an adder that must not wait. */
static void nonblocking_adder_does_not_wait(struct kunit *test)
{
	struct room_test *t = test->priv;
	struct adder *a = &t->adders[0];

	KUNIT_EXPECT_EQ(test, add_byte(t->keyed, 0), KWQ_ADDED);
	a->keyed = t->keyed;
	a->key = (struct kwq_key){ "a", 1 };
	a->wait.patience = (struct kwq_patience){ .deadline = KTIME_MAX, .nonblock = true };
	a->wait.handle = t->handle;
	add_or_wait(a);
	KUNIT_EXPECT_EQ(test, a->ret, -EAGAIN);
	a->wait.patience = (struct kwq_patience){ .deadline = 0 };
	add_or_wait(a);
	KUNIT_EXPECT_EQ(test, a->ret, -ETIMEDOUT);
	expect_nobody_waits(test);
}

/* Q19: which adds are worth a wait. */
static void refusals_are_noted(struct kunit *test)
{
	struct room_test *t = test->priv;
	struct kwq_stock stock = {};

	t->keyed->limits.max_bytes = 99;
	kwq_stock_note_refusal(&stock, t->keyed, &(struct kwq_need){ 1, 7, 9, 99 });
	KUNIT_EXPECT_EQ(test, stock.refused_bytes, 9);
	KUNIT_EXPECT_TRUE(test, stock.refused_item);
	KUNIT_EXPECT_TRUE(test, kwq_keyed_may_find_room(&stock, -ENOSPC));
	KUNIT_EXPECT_TRUE(test, kwq_keyed_may_find_room(&stock, -EDQUOT));
	KUNIT_EXPECT_FALSE(test, kwq_keyed_may_find_room(&stock, KWQ_ADDED));
	KUNIT_EXPECT_FALSE(test, kwq_keyed_may_find_room(&stock, -ESHUTDOWN));
	kwq_stock_note_refusal(&stock, t->keyed, &(struct kwq_need){ 0, 9, 0, 99 });
	KUNIT_EXPECT_EQ(test, stock.refused_bytes, 9);
	kwq_stock_note_refusal(&stock, t->keyed, &(struct kwq_need){ 0, 9, 9, 100 });
	KUNIT_EXPECT_FALSE(test, stock.refused_item);
	KUNIT_EXPECT_FALSE(test, kwq_keyed_may_find_room(&stock, -ENOSPC));
}

/* O9: the memory for adders counts, once. */
static void adders_count(struct kunit *test)
{
	struct room_test *t = test->priv;
	u64 before = t->keyed->own_bytes;

	KUNIT_EXPECT_EQ(test, kwq_keyed_provide_adders(t->keyed), 0);
	KUNIT_EXPECT_EQ(test, t->keyed->own_bytes, before);
	KUNIT_EXPECT_LE(test, kwq_keyed_own_bytes("") + sizeof(struct kwq_adders), before);
}

/* Q19, Q8: a shut down wakes all adders. */
static void shut_down_ends_all_waits(struct kunit *test)
{
	struct room_test *t = test->priv;
	int i;

	KUNIT_EXPECT_EQ(test, add_byte(t->keyed, 0), KWQ_ADDED);
	for (i = 0; i < NR_ADDERS; i++)
		start(test, i, i + 1, 1, KTIME_MAX);
	kwq_keyed_shut_down(t->keyed);
	for (i = 0; i < NR_ADDERS; i++)
		expect_end(test, &t->adders[i], -ESHUTDOWN);
	expect_nobody_waits(test);
}

/* The queue counts for its owner's quota from now on, or no more. */
static void exempt(struct kwq_keyed *keyed, bool is_exempt)
{
	kwq_quota_uncharge(keyed, keyed->reserved + keyed->own_bytes);
	keyed->exempt = is_exempt;
	kwq_quota_charge_anyway(keyed, keyed->reserved + keyed->own_bytes);
}

/* Q19: a quota that has bytes again. */
static void quota_tells_adders(struct kunit *test)
{
	struct room_test *t = test->priv;
	struct kwq_keyed *keyed = t->keyed;
	unsigned long before = kwq_max_total_bytes;
	struct adder *a;

	keyed->limits.max_items = U32_MAX;
	exempt(keyed, false);
	WRITE_ONCE(kwq_max_total_bytes, 0);
	a = start(test, 0, 1, 1, KTIME_MAX);
	WRITE_ONCE(kwq_max_total_bytes, before);
	KUNIT_EXPECT_EQ(test, nr_waiting(keyed), 1);
	kwq_keyed_tell_room(keyed);
	expect_end(test, a, KWQ_ADDED);
	exempt(keyed, true);
	expect_nobody_waits(test);
}

/* A handle of a queue whose adds go to the queue of the test. */
static struct kwq_handle *make_front(struct kunit *test)
{
	static const struct kwq_limits plain = { U32_MAX, U32_MAX };
	struct room_test *t = test->priv;
	struct kwq_keyed *front = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &plain);
	struct kwq_handle *handle;

	KUNIT_ASSERT_FALSE(test, IS_ERR(front));
	KUNIT_ASSERT_EQ(test, kwq_keyed_set_outbox(front, t->keyed, KWQ_RIGHT_WRITE), 0);
	KUNIT_ASSERT_EQ(test, kwq_keyed_provide_adders(front), 0);
	handle = kwq_handle_open(front, KWQ_RIGHT_WRITE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(handle));
	kwq_keyed_put(front);
	return handle;
}

/* Q8, Q9: a shut down and a drain end the waits in the outbox, but only those for their queue. */
static void end_of_a_queue_ends_waits_in_its_outbox(struct kunit *test)
{
	struct room_test *t = test->priv;
	struct kwq_handle *fronts[3];
	u64 shut_downs;
	int i;

	for (i = 0; i < ARRAY_SIZE(fronts); i++)
		fronts[i] = make_front(test);
	KUNIT_EXPECT_EQ(test, add_byte(t->keyed, 0), KWQ_ADDED);
	for (i = 0; i < NR_ADDERS; i++)
		start_by(test, fronts[i % 3]->outbox, i, i + 1, 1, KTIME_MAX);
	kwq_keyed_shut_down(fronts[0]->keyed);
	KUNIT_EXPECT_EQ(test, kwq_keyed_drain(fronts[1]->keyed, KTIME_MAX, 0, &shut_downs), 0);
	for (i = 0; i < NR_ADDERS; i++)
		if (i % 3 < 2)
			expect_end(test, &t->adders[i], -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, nr_waiting(t->keyed), NR_ADDERS / 3);
	kwq_keyed_shut_down(t->keyed);
	for (i = 2; i < NR_ADDERS; i += 3)
		expect_end(test, &t->adders[i], -ESHUTDOWN);
	expect_nobody_waits(test);
	for (i = 0; i < ARRAY_SIZE(fronts); i++)
		kwq_handle_close(fronts[i]);
}

/* The same if the shut down comes after the add was refused. */
static void shut_down_before_a_wait_in_the_outbox(struct kunit *test)
{
	struct room_test *t = test->priv;
	struct kwq_handle *front = make_front(test);
	struct adder *a = &t->adders[0];

	KUNIT_EXPECT_EQ(test, add_byte(t->keyed, 0), KWQ_ADDED);
	kwq_keyed_shut_down(front->keyed);
	a->keyed = t->keyed;
	a->bytes[0] = 1;
	a->key = (struct kwq_key){ a->bytes, 1 };
	a->wait.patience.deadline = KTIME_MAX;
	a->wait.handle = front->outbox;
	kwq_test_thread_start(test, &a->thread, wait_for_room, a);
	expect_end(test, a, 0);
	expect_nobody_waits(test);
	kwq_handle_close(front);
}

/* O9: adds that wait count for who makes them, beside the limit for items, up to a limit. */
static void quota_counts_adds_that_wait(struct kunit *test)
{
	struct room_test *t = test->priv;
	const u32 bytes = 1000 + t->keyed->small_bytes;
	struct kwq_quota *quota = t->handle->quota;
	u64 exempt_bytes = atomic64_read(&quota->exempt_bytes);
	unsigned long before = kwq_max_total_bytes;
	struct adder *a, *b = &t->adders[1];

	KUNIT_EXPECT_EQ(test, add_byte(t->keyed, 0), KWQ_ADDED);
	exempt_bytes = atomic64_read(&quota->exempt_bytes);
	a = start(test, 0, 1, 1, KTIME_MAX);
	KUNIT_EXPECT_EQ(test, atomic64_read(&quota->exempt_bytes), exempt_bytes + bytes);
	KUNIT_EXPECT_EQ(test, remove_byte(t->keyed, 0), KWQ_WAS_READY);
	expect_end(test, a, KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, atomic64_read(&quota->exempt_bytes), exempt_bytes);

	t->handle->exempt = false;
	WRITE_ONCE(kwq_max_total_bytes, 0);
	KUNIT_EXPECT_TRUE(test, kwq_quota_charge_call(t->handle, KWQ_CALL_BYTES - bytes));
	a = start(test, 0, 2, 1, KTIME_MAX);
	KUNIT_EXPECT_EQ(test, atomic64_read(&quota->call_bytes), KWQ_CALL_BYTES);
	KUNIT_EXPECT_FALSE(test, kwq_quota_charge_call(t->handle, 1));
	memset(b, 0, sizeof(*b));
	b->keyed = t->keyed;
	b->key = (struct kwq_key){ b->bytes, 1 };
	b->wait.patience.deadline = KTIME_MAX;
	b->wait.handle = t->handle;
	kwq_test_thread_start(test, &b->thread, add_or_wait, b);
	expect_end(test, b, -EDQUOT);
	KUNIT_EXPECT_EQ(test, nr_waiting(t->keyed), 1);
	kwq_quota_uncharge_call(t->handle, KWQ_CALL_BYTES - bytes);
	WRITE_ONCE(kwq_max_total_bytes, before);
	KUNIT_EXPECT_EQ(test, remove_byte(t->keyed, 1), KWQ_WAS_READY);
	expect_end(test, a, KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, atomic64_read(&quota->call_bytes), 0);
	expect_nobody_waits(test);
}

/* Q19, L10: adders of a key that only had a count hear of it when one of them adds it. */
static void adders_of_a_remembered_key(struct kunit *test)
{
	struct room_test *t = test->priv;
	struct kwq_restored restored = { .requeues = 1 };
	struct kwq_extras extras = {};
	struct kwq_stock stock = {};
	u8 bytes[] = { 1 };
	struct kwq_key key = { bytes, 1 };
	unsigned long flags;
	int i;

	KUNIT_EXPECT_EQ(test, add_byte(t->keyed, 0), KWQ_ADDED);
	kwq_key_hash(&key);
	kwq_stock_fill(&stock, t->keyed, &key, 1);
	spin_lock_irqsave(&t->keyed->queue.lock, flags);
	KUNIT_EXPECT_EQ(test, kwq_keyed_restore_locked(t->keyed, &key, &restored, &extras, 0,
						       &stock), KWQ_RESTORED);
	kwq_keyed_unlock(t->keyed, flags);
	kwq_stock_empty(&stock, t->keyed);
	for (i = 0; i < NR_ADDERS; i++)
		start(test, i, 1, 1, KTIME_MAX);
	KUNIT_EXPECT_EQ(test, remove_byte(t->keyed, 0), KWQ_WAS_READY);
	expect_end(test, &t->adders[0], KWQ_ADDED);
	for (i = 1; i < NR_ADDERS; i++)
		expect_end(test, &t->adders[i], KWQ_COALESCED);
	expect_nobody_waits(test);
}

/* O6: kvfree() may sleep, so a task frees what is left to free before it sets its state. */
static void sleeper_frees_before_it_sleeps(struct kunit *test)
{
	struct room_test *t = test->priv;
	struct kwq_keyed *keyed = t->keyed;
	struct kwq_value *value = vmalloc(sizeof(*value));
	unsigned long flags;
	struct adder *a;

	KUNIT_ASSERT_NOT_NULL(test, value);
	value->next = NULL;
	KUNIT_EXPECT_EQ(test, add_byte(keyed, 0), KWQ_ADDED);
	spin_lock_irqsave(&keyed->queue.lock, flags);
	keyed->gone_values = value;
	keyed->owes |= KWQ_OWES_VALUES;
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
	a = start(test, 0, 1, 1, KTIME_MAX);
	KUNIT_EXPECT_NULL(test, READ_ONCE(keyed->gone_values));
	KUNIT_EXPECT_EQ(test, remove_byte(keyed, 0), KWQ_WAS_READY);
	expect_end(test, a, KWQ_ADDED);
}

static struct kunit_case room_test_cases[] = {
	KUNIT_CASE(adders_go_on_in_order),
	KUNIT_CASE(hold_tells_a_few),
	KUNIT_CASE(short_key_goes_before_a_long_one),
	KUNIT_CASE(key_comes_another_way),
	KUNIT_CASE(names_with_one_hash),
	KUNIT_CASE(key_comes_in_the_same_hold),
	KUNIT_CASE(adder_that_leaves_passes_room_on),
	KUNIT_CASE(nonblocking_adder_does_not_wait),
	KUNIT_CASE(refusals_are_noted),
	KUNIT_CASE(adders_count),
	KUNIT_CASE(shut_down_ends_all_waits),
	KUNIT_CASE(quota_tells_adders),
	KUNIT_CASE(end_of_a_queue_ends_waits_in_its_outbox),
	KUNIT_CASE(shut_down_before_a_wait_in_the_outbox),
	KUNIT_CASE(quota_counts_adds_that_wait),
	KUNIT_CASE(adders_of_a_remembered_key),
	KUNIT_CASE(sleeper_frees_before_it_sleeps),
	{}
};

static struct kunit_suite room_test_suite = {
	.name = "kwq-room",
	.init = room_test_init,
	.exit = room_test_exit,
	.test_cases = room_test_cases,
};

kunit_test_suite(room_test_suite);

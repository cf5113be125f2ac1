// SPDX-License-Identifier: GPL-2.0-only
/* Adds that wait for room, below the device (Q19): room.c on a manual clock. */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "keyed_ops.h"
#include "tests/form.h"
#include "tests/thread.h"

#define NR_ADDERS	17
#define MOST_ADDERS	(KWQ_ITEMS_PER_HOLD + 6)

/* A thread that adds, and waits for room. */
struct adder {
	struct kwq_test_thread thread;
	struct kwq_keyed *keyed;
	struct kwq_key key;
	struct kwq_room_wait wait;
	u8 bytes[1000];
	int ret;
};

struct room_test {
	struct kwq_keyed *keyed;
	struct kwq_handle *handle;
	struct adder adders[MOST_ADDERS];
};

static int room_test_init(struct kunit *test)
{
	static const struct kwq_limits one = { 1, U32_MAX };
	struct room_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->keyed = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &one);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->keyed));
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
		ret = kwq_keyed_add_locked(a->keyed, &a->key, &options, NULL,
					   kwq_now_locked(&a->keyed->queue), stock);
		if (ret == -EAGAIN)
			return ret;
		if (!kwq_keyed_may_find_room(stock, ret)) {
			kwq_leave_room_locked(a->keyed, &a->wait);
			return ret;
		}
		err = kwq_keyed_wait_for_room_locked(a->keyed, &a->key, NULL, stock,
						     &a->wait, flags);
	} while (!err);
	return err;
}

static void add_or_wait(void *data)
{
	struct adder *a = data;
	struct kwq_stock stock = {};
	unsigned long flags;
	bool again;
	int err;

	kwq_key_hash(&a->key);
	do {
		spin_lock_irqsave(&a->keyed->queue.lock, flags);
		a->ret = add_or_wait_locked(a, &stock, &flags);
		kwq_keyed_unlock(a->keyed, flags);
		again = a->ret == -EAGAIN && !a->wait.patience.nonblock;
		if (again) {
			err = kwq_stock_fill_or_wait(&stock, a->keyed, &a->key, NULL, 1, &a->wait);
			if (err)
				a->ret = a->wait.err ?: err;
			again = !err;
		}
	} while (again);
	kwq_stock_empty(&stock, a->keyed);
}

/* How many adders wait there. */
static int nr_sleepers(struct wait_queue_head *head)
{
	wait_queue_entry_t *entry;
	unsigned long flags;
	int nr = 0;

	/* Not the queue itself, which waits in a quota for its pollers. */
	spin_lock_irqsave(&head->lock, flags);
	list_for_each_entry(entry, &head->head, entry)
		nr += !!(entry->flags & WQ_FLAG_EXCLUSIVE);
	spin_unlock_irqrestore(&head->lock, flags);
	return nr;
}

static int nr_waiting(struct kwq_keyed *keyed)
{
	return nr_sleepers(&keyed->adders);
}

static struct adder *prepare(struct kunit *test, struct kwq_handle *handle, int i, u8 byte,
			     u32 len, ktime_t deadline)
{
	struct room_test *t = test->priv;
	struct adder *a = &t->adders[i];

	memset(a, 0, sizeof(*a));
	memset(a->bytes, byte, sizeof(a->bytes));
	a->keyed = t->keyed;
	a->key = (struct kwq_key){ a->bytes, len };
	a->wait.patience.deadline = deadline;
	a->wait.handle = handle;
	return a;
}

/* Starts an adder that uses this handle of the queue, and returns once it waits. */
static struct adder *start_by(struct kunit *test, struct kwq_handle *handle, int i, u8 byte,
			      u32 len, ktime_t deadline)
{
	struct room_test *t = test->priv;
	int before = nr_waiting(t->keyed);
	struct adder *a = prepare(test, handle, i, byte, len, deadline);

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

	KUNIT_EXPECT_EQ(test, nr_waiting(t->keyed), 0);
	KUNIT_EXPECT_FALSE(test, t->keyed->owes & KWQ_OWES_ADDERS);
	KUNIT_EXPECT_EQ(test, kwq_test_nr_drainers(&t->keyed->queue), 0);
}

/* As if an item had gone. */
static void make_room(struct kwq_keyed *keyed)
{
	unsigned long flags;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	keyed->adders_may_fit = true;
	kwq_keyed_unlock(keyed, flags);
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

/* Q19, O8: one hold tells one, and whoever was told tells the next one as long as there is room. */
static void hold_tells_one(struct kunit *test)
{
	struct room_test *t = test->priv;
	struct kwq_keyed *keyed = t->keyed;
	unsigned long flags;
	int i, left;

	KUNIT_EXPECT_EQ(test, add_byte(keyed, 0), KWQ_ADDED);
	for (i = 0; i < NR_ADDERS; i++)
		start(test, i, i + 1, 1, KTIME_MAX);
	spin_lock_irqsave(&keyed->queue.lock, flags);
	keyed->adders_may_fit = true;
	kwq_keyed_unlock(keyed, flags);
	KUNIT_EXPECT_EQ(test, nr_waiting(keyed), NR_ADDERS);
	spin_lock_irqsave(&keyed->queue.lock, flags);
	KUNIT_EXPECT_FALSE(test, keyed->adders_may_fit);
	keyed->limits.max_items = 3;
	wake_up(&keyed->adders);
	left = nr_waiting(keyed);
	kwq_keyed_unlock(keyed, flags);
	KUNIT_EXPECT_EQ(test, left, NR_ADDERS - 1);
	expect_end(test, &t->adders[0], KWQ_ADDED);
	expect_end(test, &t->adders[1], KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, nr_waiting(keyed), NR_ADDERS - 2);
	spin_lock_irqsave(&keyed->queue.lock, flags);
	keyed->limits.max_items = NR_ADDERS + 1;
	keyed->adders_may_fit = true;
	kwq_keyed_unlock(keyed, flags);
	for (i = 2; i < NR_ADDERS; i++)
		expect_end(test, &t->adders[i], KWQ_ADDED);
	expect_nobody_waits(test);
}

/* Q19: a long key does not keep a short one from its room, which goes to the one that fits. */
static void short_key_goes_before_a_long_one(struct kunit *test)
{
	struct room_test *t = test->priv;
	struct kwq_keyed *keyed = t->keyed;
	struct adder *first, *second, *third;

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
	keyed->limits.max_bytes *= 2;
	make_room(keyed);
	expect_end(test, first, KWQ_ADDED);
	expect_nobody_waits(test);
}

/*
 * O8: a hold looks at no more adders than it may, and a worker at the others. The only one that
 * fits is the last one.
 */
static void hold_looks_at_some_adders(struct kunit *test)
{
	struct room_test *t = test->priv;
	struct kwq_keyed *keyed = t->keyed;
	u32 waiting, asked, left;
	unsigned long flags;
	int i;

	keyed->limits.max_items = 100;
	keyed->limits.max_bytes = kwq_item_bytes(keyed, 900);
	while (add_byte(keyed, keyed->nr_items + MOST_ADDERS) == KWQ_ADDED)
		;
	for (i = 0; i < MOST_ADDERS - 1; i++)
		start(test, i, i, 1000, KTIME_MAX);
	start(test, i, i, 1, KTIME_MAX);
	spin_lock_irqsave(&keyed->queue.lock, flags);
	keyed->limits.max_bytes += kwq_item_bytes(keyed, 1);
	keyed->adders_may_fit = true;
	kwq_tell_adders_locked(keyed);
	waiting = keyed->nr_adders;
	asked = keyed->adders_asked;
	left = keyed->adders_to_ask;
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
	KUNIT_EXPECT_EQ(test, waiting, MOST_ADDERS);
	KUNIT_EXPECT_EQ(test, asked, KWQ_ITEMS_PER_HOLD);
	KUNIT_EXPECT_EQ(test, left, MOST_ADDERS - KWQ_ITEMS_PER_HOLD);
	expect_end(test, &t->adders[i], KWQ_ADDED);
	/* It passed on that there may be room, so the others were looked at once more. */
	flush_workqueue(kwq_free_wq);
	KUNIT_EXPECT_EQ(test, READ_ONCE(keyed->nr_adders), MOST_ADDERS - 1);
	KUNIT_EXPECT_EQ(test, READ_ONCE(keyed->adders_to_ask), 0);
	spin_lock_irqsave(&keyed->queue.lock, flags);
	keyed->limits.max_bytes = U32_MAX;
	keyed->adders_may_fit = true;
	kwq_keyed_unlock(keyed, flags);
	while (i--)
		expect_end(test, &t->adders[i], KWQ_ADDED);
	expect_nobody_waits(test);
}

/* Q19: an adder whose key came another way needs no room, and no more adders are woken for it. */
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
	kwq_test_fill_stock(&stock, keyed, &old, 1);
	spin_lock_irqsave(&keyed->queue.lock, flags);
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove_locked(keyed, &old, 0, 0, 0), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, kwq_keyed_add_locked(keyed, &t->adders[1].key, &options, NULL, 0,
						   &stock), KWQ_ADDED);
	kwq_keyed_unlock(keyed, flags);
	kwq_stock_empty(&stock, keyed);
	for (i = 1; i < NR_ADDERS; i++)
		expect_end(test, &t->adders[i], KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, nr_waiting(t->keyed), 1);
	KUNIT_EXPECT_EQ(test, remove_byte(keyed, 2), KWQ_WAS_READY);
	expect_end(test, &t->adders[0], KWQ_ADDED);
	expect_nobody_waits(test);
}

/* As after an add that was refused. */
static void wait_for_room(void *data)
{
	struct kwq_stock stock = {};
	struct adder *a = data;
	unsigned long flags;

	spin_lock_irqsave(&a->keyed->queue.lock, flags);
	a->ret = kwq_keyed_wait_for_room_locked(a->keyed, &a->key, NULL, &stock, &a->wait, &flags);
	kwq_keyed_unlock(a->keyed, flags);
}

/* Q19: an adder that something else has woken just before it is told. */
static void awake_adder_is_told(struct kunit *test)
{
	struct room_test *t = test->priv;
	struct kwq_keyed *keyed = t->keyed;
	struct kwq_key old = { (u8 []){ 0 }, 1 };
	unsigned long flags;
	struct adder *a;

	KUNIT_EXPECT_EQ(test, add_byte(keyed, 0), KWQ_ADDED);
	a = start(test, 0, 1, 1, KTIME_MAX);
	kwq_key_hash(&old);
	spin_lock_irqsave(&keyed->queue.lock, flags);
	wake_up_process(a->thread.task);
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove_locked(keyed, &old, 0, 0, 0), KWQ_WAS_READY);
	kwq_keyed_unlock(keyed, flags);
	expect_end(test, a, KWQ_ADDED);
	expect_nobody_waits(test);
}

/* Q19: others take the room before an adder looks, which waits again behind the others. */
static void room_is_taken(struct kunit *test)
{
	static const struct kwq_add_options options = {};
	struct room_test *t = test->priv;
	struct kwq_keyed *keyed = t->keyed;
	struct kwq_key old = { (u8 []){ 0 }, 1 }, new = { (u8 []){ 99 }, 1 };
	struct kwq_stock stock = {};
	unsigned long flags;
	int i;

	KUNIT_EXPECT_EQ(test, add_byte(keyed, 0), KWQ_ADDED);
	for (i = 0; i < 3; i++)
		start(test, i, i + 1, 1, KTIME_MAX);
	kwq_key_hash(&old);
	kwq_key_hash(&new);
	kwq_test_fill_stock(&stock, keyed, &new, 1);
	spin_lock_irqsave(&keyed->queue.lock, flags);
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove_locked(keyed, &old, 0, 0, 0), KWQ_WAS_READY);
	wake_up(&keyed->adders);
	KUNIT_EXPECT_EQ(test, kwq_keyed_add_locked(keyed, &new, &options, NULL, 0, &stock),
			KWQ_ADDED);
	kwq_keyed_unlock(keyed, flags);
	kwq_stock_empty(&stock, keyed);
	kwq_test_wait_until(test, nr_waiting(keyed) == 3);
	KUNIT_EXPECT_EQ(test, remove_byte(keyed, 99), KWQ_WAS_READY);
	expect_end(test, &t->adders[1], KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, remove_byte(keyed, 2), KWQ_WAS_READY);
	expect_end(test, &t->adders[2], KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, remove_byte(keyed, 3), KWQ_WAS_READY);
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
	unsigned long flags;

	KUNIT_EXPECT_EQ(test, add_byte(t->keyed, 0), KWQ_ADDED);
	spin_lock_irqsave(&t->keyed->queue.lock, flags);
	t->keyed->limits.max_bytes = 99;
	KUNIT_EXPECT_EQ(test, kwq_keyed_find_room(t->keyed, &(struct kwq_need){ 1, 7, 99 },
						  &stock), -ENOSPC);
	KUNIT_EXPECT_TRUE(test, t->keyed->owes & KWQ_OWES_ROOM);
	KUNIT_EXPECT_TRUE(test, kwq_keyed_may_find_room(&stock, -ENOSPC));
	KUNIT_EXPECT_FALSE(test, kwq_keyed_may_find_room(&stock, -EDQUOT));
	KUNIT_EXPECT_FALSE(test, kwq_keyed_may_find_room(&stock, KWQ_ADDED));
	KUNIT_EXPECT_FALSE(test, kwq_keyed_may_find_room(&stock, -ESHUTDOWN));
	KUNIT_EXPECT_EQ(test, kwq_keyed_find_room(t->keyed, &(struct kwq_need){ 0, 9, 100 },
						  &stock), -ENOSPC);
	KUNIT_EXPECT_FALSE(test, kwq_keyed_may_find_room(&stock, -ENOSPC));
	kwq_keyed_unlock(t->keyed, flags);
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

/* A handle of a queue whose adds go to the queue of the test. */
static struct kwq_handle *make_front(struct kunit *test)
{
	static const struct kwq_limits plain = { U32_MAX, U32_MAX };
	struct room_test *t = test->priv;
	struct kwq_keyed *front = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &plain);
	struct kwq_handle *handle;

	KUNIT_ASSERT_FALSE(test, IS_ERR(front));
	KUNIT_ASSERT_EQ(test, kwq_keyed_set_outbox(front, t->keyed, KWQ_RIGHT_WRITE), 0);
	handle = kwq_handle_open(front, KWQ_RIGHT_WRITE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(handle));
	kwq_keyed_put(front);
	return handle;
}

/* Begins to count the queue, and leaves @bytes in its owner's quota. */
static void leave_bytes(struct kwq_keyed *keyed, u32 bytes)
{
	kwq_test_count_as(keyed, KWQ_QUOTA_QUEUES);
	WRITE_ONCE(kwq_max_user_bytes, atomic64_read(&keyed->quota->bytes) + bytes);
}

static struct adder *start_in_quota(struct kunit *test, struct kwq_handle *handle, int i, u8 byte,
				    u32 len, ktime_t deadline)
{
	struct room_test *t = test->priv;
	struct wait_queue_head *room = &t->keyed->quota->room;
	int before = nr_sleepers(room);
	struct adder *a = prepare(test, handle, i, byte, len, deadline);

	kwq_test_thread_start(test, &a->thread, add_or_wait, a);
	kwq_test_wait_until(test, nr_sleepers(room) > before);
	return a;
}

/* Q19: a quota that has bytes again wakes those that wait for it, and each tries again. */
static void quota_tells_adders(struct kunit *test)
{
	struct room_test *t = test->priv;
	struct kwq_keyed *keyed = t->keyed;
	unsigned long before = kwq_max_user_bytes;
	struct adder *large, *late, *killed, *a;
	struct kwq_quota *quota;
	s64 bytes;

	keyed->limits.max_items = U32_MAX;
	KUNIT_EXPECT_EQ(test, add_byte(keyed, 0), KWQ_ADDED);
	leave_bytes(keyed, 0);
	quota = keyed->quota;
	bytes = atomic64_read(&quota->bytes);
	large = start_in_quota(test, t->handle, 0, 1, 1000, KTIME_MAX);
	late = start_in_quota(test, t->handle, 1, 2, 1, 10);
	killed = start_in_quota(test, t->handle, 2, 3, 1, KTIME_MAX);
	a = start_in_quota(test, t->handle, 3, 4, 1, KTIME_MAX);
	/* O9: while they wait, they have nothing that counts. */
	KUNIT_EXPECT_EQ(test, atomic64_read(&quota->bytes), bytes);
	kwq_queue_advance(&keyed->queue, 10);
	expect_end(test, late, -ETIMEDOUT);
	kwq_test_thread_signal(&killed->thread);
	expect_end(test, killed, -ERESTARTSYS);
	KUNIT_EXPECT_EQ(test, remove_byte(keyed, 0), KWQ_WAS_READY);
	expect_end(test, a, KWQ_ADDED);
	kwq_test_wait_until(test, nr_sleepers(&quota->room) == 1);
	KUNIT_EXPECT_EQ(test, atomic64_read(&quota->bytes), bytes);
	WRITE_ONCE(kwq_max_user_bytes, before);
	KUNIT_EXPECT_EQ(test, remove_byte(keyed, 4), KWQ_WAS_READY);
	expect_end(test, large, KWQ_ADDED);
	expect_nobody_waits(test);
	KUNIT_EXPECT_EQ(test, nr_sleepers(&quota->room), 0);
	kwq_test_count_as(keyed, KWQ_QUOTA_EXEMPT);
}

/* Q19: an adder that finds room in its queue, but none in the quota, lets the next one have it. */
static void adder_without_memory_leaves_its_room(struct kunit *test)
{
	struct room_test *t = test->priv;
	struct kwq_keyed *keyed = t->keyed;
	unsigned long before = kwq_max_user_bytes;
	struct adder *large, *small;

	KUNIT_EXPECT_EQ(test, add_byte(keyed, 0), KWQ_ADDED);
	large = start(test, 0, 1, 1000, KTIME_MAX);
	small = start(test, 1, 2, 1, KTIME_MAX);
	leave_bytes(keyed, 0);
	KUNIT_EXPECT_EQ(test, remove_byte(keyed, 0), KWQ_WAS_READY);
	expect_end(test, small, KWQ_ADDED);
	/* The bytes of the removed key may have come late, and the queue is full by then. */
	kwq_test_wait_until(test, nr_sleepers(&keyed->quota->room) + nr_waiting(keyed) == 1);
	WRITE_ONCE(kwq_max_user_bytes, before);
	KUNIT_EXPECT_EQ(test, remove_byte(keyed, 2), KWQ_WAS_READY);
	expect_end(test, large, KWQ_ADDED);
	kwq_test_count_as(keyed, KWQ_QUOTA_EXEMPT);
	expect_nobody_waits(test);
}

/* Q8: a shut down of the queue, or of the one that was asked, ends a wait in a quota. */
static void shut_down_ends_waits_in_a_quota(struct kunit *test)
{
	struct room_test *t = test->priv;
	struct kwq_keyed *keyed = t->keyed;
	unsigned long before = kwq_max_user_bytes;
	struct kwq_handle *front = make_front(test);
	struct adder *away, *here;

	keyed->limits.max_items = U32_MAX;
	leave_bytes(keyed, 0);
	away = start_in_quota(test, front->outbox, 0, 1, 1, KTIME_MAX);
	here = start_in_quota(test, t->handle, 1, 2, 1, KTIME_MAX);
	kwq_keyed_shut_down(front->keyed);
	expect_end(test, away, -ESHUTDOWN);
	kwq_keyed_shut_down(keyed);
	expect_end(test, here, -ESHUTDOWN);
	WRITE_ONCE(kwq_max_user_bytes, before);
	kwq_test_count_as(keyed, KWQ_QUOTA_EXEMPT);
	expect_nobody_waits(test);
	kwq_handle_close(front);
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

static int count_wake(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	++*(int *)entry->private;
	return 0;
}

/* O8: whoever shuts a queue down again and again does not wake others of the outbox's owner. */
static void further_shut_downs_wake_nobody(struct kunit *test)
{
	struct room_test *t = test->priv;
	struct kwq_handle *front = make_front(test);
	struct kwq_quota *quota = t->keyed->quota;
	struct wait_queue_entry entry;
	u64 shut_downs;
	int told = 0;

	init_waitqueue_func_entry(&entry, count_wake);
	entry.private = &told;
	add_wait_queue(&quota->room, &entry);
	kwq_keyed_shut_down(front->keyed);
	KUNIT_EXPECT_EQ(test, told, 1);
	kwq_keyed_shut_down(front->keyed);
	KUNIT_EXPECT_EQ(test, kwq_keyed_drain(front->keyed, KTIME_MAX, 0, &shut_downs), 0);
	KUNIT_EXPECT_EQ(test, told, 1);
	remove_wait_queue(&quota->room, &entry);
	kwq_handle_close(front);
}

/* Q8: a shut down that comes after the add was refused. */
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
	kwq_test_fill_stock(&stock, t->keyed, &key, 1);
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

/* O9: adders of a full quota would wait for each other if they had some of its memory. */
static void sleeper_gives_its_stock_back(struct kunit *test)
{
	struct room_test *t = test->priv;
	struct kwq_room_wait wait = {
		.patience = { .deadline = KTIME_MAX, .nonblock = true }, .handle = t->handle,
	};
	struct kwq_key key = { "a", 1 };
	struct kwq_stock stock = {};
	unsigned long flags;

	KUNIT_ASSERT_TRUE(test, kwq_test_fill_stock(&stock, t->keyed, &key, 1));
	spin_lock_irqsave(&t->keyed->queue.lock, flags);
	/* It has released the lock, so the add may find room. */
	KUNIT_EXPECT_EQ(test, kwq_keyed_wait_for_room_locked(t->keyed, &key, NULL, &stock, &wait,
							     &flags), 0);
	KUNIT_EXPECT_FALSE(test, kwq_stock_has_any(&stock));
	KUNIT_EXPECT_EQ(test, kwq_keyed_wait_for_room_locked(t->keyed, &key, NULL, &stock, &wait,
							     &flags), -EAGAIN);
	kwq_keyed_unlock(t->keyed, flags);
	kwq_stock_empty(&stock, t->keyed);
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
	KUNIT_EXPECT_EQ(test, add_byte(keyed, 0), KWQ_ADDED);
	kwq_quota_charge_anyway(keyed->quota, 1);
	spin_lock_irqsave(&keyed->queue.lock, flags);
	keyed->nr_bytes++;
	kwq_keyed_lose_bytes(keyed, 1);
	kwq_keyed_lose_memory(keyed, &value->gone);
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
	a = start(test, 0, 1, 1, KTIME_MAX);
	KUNIT_EXPECT_NULL(test, READ_ONCE(keyed->gone_memory));
	KUNIT_EXPECT_EQ(test, remove_byte(keyed, 0), KWQ_WAS_READY);
	expect_end(test, a, KWQ_ADDED);
}

static struct kunit_case room_test_cases[] = {
	KUNIT_CASE(adders_go_on_in_order),
	KUNIT_CASE(hold_tells_one),
	KUNIT_CASE(short_key_goes_before_a_long_one),
	KUNIT_CASE(hold_looks_at_some_adders),
	KUNIT_CASE(key_comes_another_way),
	KUNIT_CASE(key_comes_in_the_same_hold),
	KUNIT_CASE(awake_adder_is_told),
	KUNIT_CASE(room_is_taken),
	KUNIT_CASE(adder_that_leaves_passes_room_on),
	KUNIT_CASE(nonblocking_adder_does_not_wait),
	KUNIT_CASE(refusals_are_noted),
	KUNIT_CASE(shut_down_ends_all_waits),
	KUNIT_CASE(quota_tells_adders),
	KUNIT_CASE(adder_without_memory_leaves_its_room),
	KUNIT_CASE(shut_down_ends_waits_in_a_quota),
	KUNIT_CASE(end_of_a_queue_ends_waits_in_its_outbox),
	KUNIT_CASE(further_shut_downs_wake_nobody),
	KUNIT_CASE(shut_down_before_a_wait_in_the_outbox),
	KUNIT_CASE(adders_of_a_remembered_key),
	KUNIT_CASE(sleeper_gives_its_stock_back),
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

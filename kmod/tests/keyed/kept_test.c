// SPDX-License-Identifier: GPL-2.0-only
/* Kept items (O4, O9): who gets them, how many there are, and how the kernel gets them back. */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/err.h>
#include <linux/kwq.h>
#include <linux/shrinker.h>
#include <linux/string.h>
#include "keyed/keyed.h"
#include "keyed_ops.h"

#define LONG	1000

static const struct kwq_limits plain = {
	.max_items = 1 << 20,
	.max_bytes = 1 << 30,
};

static const struct kwq_limits with_all = {
	.max_items = 1 << 20,
	.max_bytes = 1 << 30,
	.values = true,
	.groups = true,
};

struct kept_test {
	struct kwq_keyed *keyed;
	u64 payer;
	u8 bytes[LONG];
};

static u64 payer_of_test(void)
{
	struct kept_test *t = kunit_get_current_test()->priv;

	return t->payer;
}

static struct kwq_keyed *make(struct kunit *test, const struct kwq_limits *limits)
{
	struct kwq_keyed *keyed = kwq_keyed_create("", KWQ_CLOCK_MANUAL, limits);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, keyed);
	return keyed;
}

static int kept_test_init(struct kunit *test)
{
	struct kept_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	test->priv = t;
	t->payer = 1;
	kunit_activate_static_stub(test, kwq_current_payer, payer_of_test);
	t->keyed = make(test, &plain);
	return 0;
}

static void kept_test_exit(struct kunit *test)
{
	struct kept_test *t = test->priv;

	if (t && !IS_ERR_OR_NULL(t->keyed))
		kwq_keyed_put(t->keyed);
}

/* The key number @nr, of @len bytes. */
static struct kwq_key key_of(struct kunit *test, u32 nr, u32 len)
{
	struct kept_test *t = test->priv;

	memset(t->bytes, 0, len);
	memcpy(t->bytes, &nr, min(len, sizeof(nr)));
	return (struct kwq_key){ .bytes = t->bytes, .len = len };
}

static int add_to(struct kunit *test, struct kwq_keyed *keyed, u32 nr, u32 len)
{
	struct kwq_key key = key_of(test, nr, len);

	return kwq_keyed_add(keyed, &key, &(struct kwq_add_options){});
}

static int remove_from(struct kunit *test, struct kwq_keyed *keyed, u32 nr, u32 len)
{
	struct kwq_key key = key_of(test, nr, len);

	return kwq_keyed_remove(keyed, &key, 0);
}

static void add_and_remove(struct kunit *test, struct kwq_keyed *keyed, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		KUNIT_ASSERT_EQ(test, add_to(test, keyed, i, 4), KWQ_ADDED);
	for (i = 0; i < nr; i++)
		KUNIT_ASSERT_EQ(test, remove_from(test, keyed, i, 4), KWQ_WAS_READY);
}

static struct kwq_keyed_item *item_of_key(struct kunit *test, struct kwq_keyed *keyed, u32 nr)
{
	struct kwq_key key = key_of(test, nr, 4);
	struct kwq_keyed_item *ki;
	unsigned long flags;

	kwq_key_hash(&key);
	spin_lock_irqsave(&keyed->queue.lock, flags);
	ki = kwq_keyed_find(keyed, &key);
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
	return ki;
}

/* O9: the quota counts the memory of all items, of the kept ones, too. */
static void expect_counted(struct kunit *test, const struct kwq_keyed *keyed)
{
	const struct kwq_node *node;
	u32 nr = 0;

	for (node = keyed->kept; node; node = node->next)
		nr++;
	KUNIT_EXPECT_EQ(test, nr, keyed->nr_kept);
	KUNIT_EXPECT_LE(test, keyed->nr_bytes + nr * keyed->small_bytes, keyed->reserved);
}

static void next_key_gets_the_memory(struct kunit *test)
{
	struct kept_test *t = test->priv;
	struct kwq_keyed_item *ki;

	KUNIT_ASSERT_EQ(test, add_to(test, t->keyed, 1, 4), KWQ_ADDED);
	ki = item_of_key(test, t->keyed, 1);
	KUNIT_EXPECT_EQ(test, remove_from(test, t->keyed, 1, 4), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_kept, 1);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_bytes, 0);
	KUNIT_EXPECT_EQ(test, add_to(test, t->keyed, 2, 4), KWQ_ADDED);
	KUNIT_EXPECT_PTR_EQ(test, item_of_key(test, t->keyed, 2), ki);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_kept, 0);
	expect_counted(test, t->keyed);
}

static void some_are_kept(struct kunit *test)
{
	struct kept_test *t = test->priv;

	add_and_remove(test, t->keyed, 2 * KWQ_KEPT_MAX);
	KUNIT_EXPECT_LE(test, t->keyed->max_kept, KWQ_KEPT_MAX);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_kept, t->keyed->max_kept);
	expect_counted(test, t->keyed);
	/* Twice, for they come back. */
	add_and_remove(test, t->keyed, 2 * KWQ_KEPT_MAX);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_kept, t->keyed->max_kept);
	expect_counted(test, t->keyed);
}

/* O4: a full queue takes a key for which it has a kept item only if it may have another item. */
static void limit_of_items_holds(struct kunit *test)
{
	static const struct kwq_limits two = { .max_items = 2, .max_bytes = 1 << 30 };
	struct kwq_keyed *keyed = make(test, &two);

	KUNIT_EXPECT_EQ(test, add_to(test, keyed, 1, 4), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, add_to(test, keyed, 2, 4), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, remove_from(test, keyed, 1, 4), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, add_to(test, keyed, 3, LONG), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, keyed->nr_kept, 1);
	KUNIT_EXPECT_EQ(test, add_to(test, keyed, 4, 4), -ENOSPC);
	KUNIT_EXPECT_EQ(test, keyed->nr_kept, 1);
	kwq_keyed_put(keyed);
}

/* O4: kept items take no room from long keys, values and groups. */
static void others_take_their_room(struct kunit *test)
{
	struct kept_test *t = test->priv;
	u32 small = t->keyed->small_bytes, large = kwq_item_bytes(t->keyed, LONG);
	struct kwq_limits limits = { .max_items = 1 << 20, .max_bytes = large };
	struct kwq_keyed *keyed = make(test, &limits);

	add_and_remove(test, keyed, large / small);
	KUNIT_EXPECT_EQ(test, keyed->nr_kept, large / small);
	KUNIT_EXPECT_EQ(test, add_to(test, keyed, 1, LONG), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, keyed->nr_kept, 0);
	expect_counted(test, keyed);
	kwq_keyed_put(keyed);
}

static int add_with_value(struct kunit *test, struct kwq_keyed *keyed, u32 len)
{
	struct kwq_extras extras = { .flags = KWQ_ADD_VALUE, .value = kwq_value_alloc(len) };
	struct kwq_key key = key_of(test, 1, 4);
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, extras.value);
	ret = kwq_keyed_add_with(keyed, &key, &(struct kwq_add_options){}, &extras);
	kvfree(extras.value);
	return ret;
}

static int add_to_group(struct kunit *test, struct kwq_keyed *keyed, const char *name)
{
	struct kwq_extras extras = {
		.flags = KWQ_ADD_GROUP,
		.group = { (const u8 *)name, strlen(name) },
	};
	struct kwq_key key = key_of(test, 1, 4);

	kwq_key_hash(&extras.group);
	return kwq_keyed_add_with(keyed, &key, &(struct kwq_add_options){}, &extras);
}

static void values_and_groups_take_their_room(struct kunit *test)
{
	struct kwq_keyed *keyed = make(test, &with_all);
	struct kwq_limits limits = with_all;
	u32 nr;

	limits.max_bytes = 20 * keyed->small_bytes;
	kwq_keyed_put(keyed);

	keyed = make(test, &limits);
	add_and_remove(test, keyed, 20);
	nr = keyed->nr_kept;
	KUNIT_EXPECT_EQ(test, nr, 20);
	KUNIT_EXPECT_EQ(test, add_with_value(test, keyed, LONG), KWQ_ADDED);
	KUNIT_EXPECT_LT(test, keyed->nr_kept, nr - 1);
	expect_counted(test, keyed);
	kwq_keyed_put(keyed);

	keyed = make(test, &limits);
	add_and_remove(test, keyed, 20);
	KUNIT_EXPECT_EQ(test, add_to_group(test, keyed, "group"), KWQ_ADDED);
	KUNIT_EXPECT_LT(test, keyed->nr_kept, nr - 1);
	expect_counted(test, keyed);
	kwq_keyed_put(keyed);
}

/* O4: the cgroup of the task that adds pays for the item. */
static void one_cgroup_pays(struct kunit *test)
{
	struct kept_test *t = test->priv;

	add_and_remove(test, t->keyed, 3);
	KUNIT_EXPECT_EQ(test, t->keyed->payer, 1);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_kept, 3);

	/* Another one adds to the empty queue, and pays from now on. */
	t->payer = 2;
	KUNIT_EXPECT_EQ(test, add_to(test, t->keyed, 1, 4), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, t->keyed->payer, 2);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_kept, 0);

	/* The queue is not empty, so the items of the first one are not kept. */
	t->payer = 1;
	KUNIT_EXPECT_EQ(test, add_to(test, t->keyed, 2, 4), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, remove_from(test, t->keyed, 2, 4), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_kept, 0);
	KUNIT_EXPECT_EQ(test, t->keyed->payer, 2);

	/* It does not get those of the second one, which does. */
	KUNIT_EXPECT_EQ(test, add_to(test, t->keyed, 2, 4), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, remove_from(test, t->keyed, 1, 4), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_kept, 1);
	KUNIT_EXPECT_EQ(test, add_to(test, t->keyed, 3, 4), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_kept, 0);
	KUNIT_EXPECT_EQ(test, t->keyed->payer, 2);
	t->payer = 2;
	KUNIT_EXPECT_EQ(test, add_to(test, t->keyed, 4, 4), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_kept, 0);
	expect_counted(test, t->keyed);
}

/* O4, O9: kept items do not help another cgroup. So they go when it adds, and leave their room. */
static void another_cgroup_makes_them_go(struct kunit *test)
{
	struct kept_test *t = test->priv;
	struct kwq_limits limits = plain;
	struct kwq_keyed *keyed;
	u32 i;

	limits.max_bytes = 10 * t->keyed->small_bytes;
	keyed = make(test, &limits);
	for (i = 0; i < 10; i++)
		KUNIT_ASSERT_EQ(test, add_to(test, keyed, i, 4), KWQ_ADDED);
	for (i = 0; i < 5; i++)
		KUNIT_ASSERT_EQ(test, remove_from(test, keyed, i, 4), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, keyed->nr_kept, 5);
	t->payer = 2;
	for (i = 0; i < 5; i++) {
		KUNIT_EXPECT_EQ(test, add_to(test, keyed, i, 4), KWQ_ADDED);
		KUNIT_EXPECT_EQ(test, keyed->nr_kept, 0);
		expect_counted(test, keyed);
	}
	t->payer = 1;
	KUNIT_EXPECT_EQ(test, add_to(test, keyed, 10, 4), -ENOSPC);
	kwq_keyed_put(keyed);
}

/* Frees all that is kept. Returns how many were freed. */
static unsigned long shrink_all(void)
{
	unsigned long freed = 0, nr;

	while ((nr = kwq_shrink_kept(KWQ_KEPT_MAX)) != SHRINK_STOP)
		freed += nr;
	return freed;
}

static void kernel_gets_them_back(struct kunit *test)
{
	struct kept_test *t = test->priv;
	struct kwq_keyed *grouped = make(test, &with_all);

	/* Queues of other tests, if there are any. */
	shrink_all();
	add_and_remove(test, t->keyed, 3);
	add_and_remove(test, grouped, 4);
	KUNIT_EXPECT_EQ(test, kwq_shrink_kept(1), 3);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_kept, 0);
	KUNIT_EXPECT_FALSE(test, t->keyed->is_keeper);
	KUNIT_EXPECT_EQ(test, grouped->nr_kept, 4);
	KUNIT_EXPECT_EQ(test, shrink_all(), 4);
	KUNIT_EXPECT_EQ(test, kwq_shrink_kept(1), SHRINK_STOP);

	/* Both keep items again. */
	add_and_remove(test, t->keyed, 1);
	add_and_remove(test, grouped, 2);
	KUNIT_EXPECT_EQ(test, shrink_all(), 3);
	kwq_keyed_put(grouped);
}

/* The shrinker may run while somebody holds the lock of a queue, on another processor. */
static void busy_queue_is_passed_over(struct kunit *test)
{
	struct kept_test *t = test->priv;
	struct kwq_keyed *other;
	unsigned long flags;

	if (!IS_ENABLED(CONFIG_SMP))
		kunit_skip(test, "without SMP no lock is ever held");
	other = make(test, &plain);
	shrink_all();
	add_and_remove(test, t->keyed, 3);
	add_and_remove(test, other, 4);
	spin_lock_irqsave(&t->keyed->queue.lock, flags);
	KUNIT_EXPECT_EQ(test, kwq_shrink_kept(2 * KWQ_KEPT_MAX), 4);
	KUNIT_EXPECT_EQ(test, kwq_shrink_kept(1), SHRINK_STOP);
	spin_unlock_irqrestore(&t->keyed->queue.lock, flags);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_kept, 3);
	KUNIT_EXPECT_EQ(test, shrink_all(), 3);
	kwq_keyed_put(other);
}

/* Q10: no key will come. */
static void ended_queue_keeps_nothing(struct kunit *test)
{
	struct kept_test *t = test->priv;
	struct kwq_keyed *other = make(test, &plain);
	u64 shut_downs;

	add_and_remove(test, t->keyed, 3);
	KUNIT_ASSERT_EQ(test, add_to(test, t->keyed, 1, 4), KWQ_ADDED);
	kwq_keyed_shut_down(t->keyed);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_kept, 0);
	KUNIT_EXPECT_EQ(test, remove_from(test, t->keyed, 1, 4), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_kept, 0);

	add_and_remove(test, other, 3);
	KUNIT_EXPECT_EQ(test, kwq_keyed_drain(other, KTIME_MAX, 0, &shut_downs), 0);
	KUNIT_EXPECT_EQ(test, other->nr_kept, 0);
	kwq_keyed_put(other);
}

/* O4: all keepers together have little, because a cgroup at its limit does not get it back. */
static void keepers_are_few(struct kunit *test)
{
	struct kwq_keyed **all = kunit_kcalloc(test, KWQ_KEEPERS_MAX + 1, sizeof(*all), GFP_KERNEL);
	u32 i, nr = 0;

	KUNIT_ASSERT_NOT_NULL(test, all);
	shrink_all();
	for (i = 0; i <= KWQ_KEEPERS_MAX; i++) {
		all[i] = make(test, &plain);
		add_and_remove(test, all[i], 1);
	}
	KUNIT_EXPECT_FALSE(test, all[0]->is_keeper);
	KUNIT_EXPECT_EQ(test, all[0]->nr_kept, 0);
	for (i = 1; i <= KWQ_KEEPERS_MAX; i++)
		nr += all[i]->is_keeper && all[i]->nr_kept == 1;
	KUNIT_EXPECT_EQ(test, nr, KWQ_KEEPERS_MAX);
	for (i = 0; i <= KWQ_KEEPERS_MAX; i++)
		kwq_keyed_put(all[i]);
}

static void queue_that_is_gone_is_no_keeper(struct kunit *test)
{
	struct kwq_keyed *other = make(test, &plain);

	shrink_all();
	add_and_remove(test, other, 3);
	kwq_keyed_put(other);
	KUNIT_EXPECT_EQ(test, kwq_shrink_kept(1), SHRINK_STOP);
}

static struct kunit_case kept_test_cases[] = {
	KUNIT_CASE(next_key_gets_the_memory),
	KUNIT_CASE(some_are_kept),
	KUNIT_CASE(limit_of_items_holds),
	KUNIT_CASE(others_take_their_room),
	KUNIT_CASE(values_and_groups_take_their_room),
	KUNIT_CASE(one_cgroup_pays),
	KUNIT_CASE(another_cgroup_makes_them_go),
	KUNIT_CASE(kernel_gets_them_back),
	KUNIT_CASE(busy_queue_is_passed_over),
	KUNIT_CASE(ended_queue_keeps_nothing),
	KUNIT_CASE(keepers_are_few),
	KUNIT_CASE(queue_that_is_gone_is_no_keeper),
	{}
};

static struct kunit_suite kept_test_suite = {
	.name = "kwq-kept",
	.init = kept_test_init,
	.exit = kept_test_exit,
	.test_cases = kept_test_cases,
};

kunit_test_suite(kept_test_suite);

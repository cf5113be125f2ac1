// SPDX-License-Identifier: GPL-2.0-only
/*
 * The quotas of users, of the owners of the user namespaces above them, and of the machine
 * (O4, O9): quota.c.
 */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/moduleparam.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>
#include "keyed_ops.h"
#include "tests/thread.h"

#define ALICE	3001
#define BOB	3002
/* Subordinate uids of ALICE. */
#define FIRST	300001
#define SECOND	300002
#define THIRD	300003

static const struct kwq_limits plenty = { U32_MAX, U32_MAX };

/*
 * The limits are restored at the end. @ns is a user namespace that nobody can enter. It is
 * a copy of the initial one, including its reference count, so it is never freed.
 */
struct quota_test {
	struct user_namespace ns;
	unsigned int max_queues;
	unsigned long max_user_bytes;
	unsigned long max_total_bytes;
};

static int quota_test_init(struct kunit *test)
{
	struct quota_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	memcpy(&t->ns, &init_user_ns, sizeof(t->ns));
	t->ns.parent = &init_user_ns;
	t->ns.owner = KUIDT_INIT(ALICE);
	t->ns.level = 1;
	t->max_queues = kwq_max_queues;
	t->max_user_bytes = kwq_max_user_bytes;
	t->max_total_bytes = kwq_max_total_bytes;
	test->priv = t;
	return 0;
}

static void quota_test_exit(struct kunit *test)
{
	struct quota_test *t = test->priv;

	if (!t)
		return;
	/* Queues that are freed elsewhere have a reference to @ns until then. */
	flush_workqueue(kwq_free_wq);
	WRITE_ONCE(kwq_max_queues, t->max_queues);
	WRITE_ONCE(kwq_max_user_bytes, t->max_user_bytes);
	WRITE_ONCE(kwq_max_total_bytes, t->max_total_bytes);
}

static void remove_queue(struct kwq_quota *quota)
{
	kwq_quota_remove_queue(quota);
	kwq_quota_put(quota);
}

/* Makes somebody the owner of a queue. Returns 0 or -EDQUOT. */
static int give_to(struct kwq_keyed *keyed, struct user_namespace *ns, uid_t uid)
{
	struct kwq_quota *quota = kwq_quota_add_queue(ns, KUIDT_INIT(uid), KWQ_QUOTA_QUEUES);

	if (IS_ERR(quota))
		return PTR_ERR(quota);
	kwq_quota_uncharge(keyed->quota, keyed->own_bytes);
	remove_queue(keyed->quota);
	keyed->quota = quota;
	kwq_quota_charge_anyway(keyed->quota, keyed->own_bytes);
	return 0;
}

static struct kwq_keyed *create_for(struct kunit *test, struct user_namespace *ns, uid_t uid)
{
	struct kwq_keyed *keyed = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &plenty);

	KUNIT_ASSERT_FALSE(test, IS_ERR(keyed));
	KUNIT_EXPECT_EQ(test, keyed->quota->kind, KWQ_QUOTA_EXEMPT);
	KUNIT_EXPECT_EQ(test, give_to(keyed, ns, uid), 0);
	return keyed;
}

static int add_number(struct kwq_keyed *keyed, u32 number)
{
	u8 bytes[1024] = {};

	*(u32 *)bytes = number;
	return kwq_keyed_add(keyed, &(struct kwq_key){ bytes, sizeof(bytes) },
			     &(struct kwq_add_options){});
}

/* Adds items until an add is refused. Returns the error. */
static int fill(struct kwq_keyed *keyed)
{
	u32 n = 0;
	int ret;

	do {
		ret = add_number(keyed, n++);
	} while (ret >= 0 && n < 1000);
	return ret;
}

/* Bytes of an item of add_number(). */
static u32 item_bytes(const struct kwq_keyed *keyed)
{
	return kwq_item_bytes(keyed, 1024);
}

static s64 bytes_of(const struct kwq_quota *quota)
{
	return atomic64_read(&quota->bytes);
}

static void owner_of_a_namespace_has_one_quota(struct kunit *test)
{
	struct quota_test *t = test->priv;
	struct kwq_keyed *first = create_for(test, &t->ns, FIRST);
	struct kwq_keyed *second = create_for(test, &t->ns, SECOND);
	struct kwq_keyed *alices = create_for(test, &init_user_ns, ALICE);
	struct kwq_keyed *bobs = create_for(test, &init_user_ns, BOB);
	const u32 item = item_bytes(first);
	s64 above, below;

	/* O9 */
	KUNIT_EXPECT_PTR_NE(test, first->quota, second->quota);
	KUNIT_EXPECT_PTR_EQ(test, first->quota->parent, alices->quota);
	KUNIT_EXPECT_PTR_EQ(test, second->quota->parent, alices->quota);
	KUNIT_EXPECT_EQ(test, alices->quota->nr_queues, 3);
	KUNIT_EXPECT_EQ(test, first->quota->nr_queues, 1);
	KUNIT_EXPECT_EQ(test, bytes_of(alices->quota), 3 * alices->own_bytes);

	WRITE_ONCE(kwq_max_user_bytes, 4 * item + 3 * alices->own_bytes);
	KUNIT_EXPECT_EQ(test, fill(first), -EDQUOT);
	KUNIT_EXPECT_EQ(test, first->nr_items, 4);
	above = bytes_of(alices->quota);
	below = bytes_of(second->quota);
	KUNIT_EXPECT_EQ(test, above, 4 * item + 3 * alices->own_bytes);
	KUNIT_EXPECT_EQ(test, add_number(second, 0), -EDQUOT);
	KUNIT_EXPECT_EQ(test, add_number(alices, 0), -EDQUOT);
	/* Bytes that a quota above refuses are not taken below. */
	KUNIT_EXPECT_EQ(test, bytes_of(alices->quota), above);
	KUNIT_EXPECT_EQ(test, bytes_of(second->quota), below);
	KUNIT_EXPECT_EQ(test, bytes_of(second->quota), second->own_bytes);
	KUNIT_EXPECT_EQ(test, add_number(bobs, 0), KWQ_ADDED);

	kwq_keyed_put(first);
	KUNIT_EXPECT_EQ(test, add_number(second, 0), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, bytes_of(alices->quota), item + 2 * alices->own_bytes);
	KUNIT_EXPECT_EQ(test, alices->quota->nr_queues, 2);
	kwq_keyed_put(bobs);
	kwq_keyed_put(second);
	KUNIT_EXPECT_EQ(test, bytes_of(alices->quota), alices->own_bytes);
	KUNIT_EXPECT_EQ(test, alices->quota->refs, 1);
	kwq_keyed_put(alices);
}

static void queues_count_above(struct kunit *test)
{
	struct quota_test *t = test->priv;
	struct kwq_keyed *first = create_for(test, &t->ns, FIRST);
	struct kwq_keyed *second = create_for(test, &t->ns, SECOND);
	struct kwq_quota *alices = first->quota->parent;
	struct kwq_keyed *third;

	/* O4 O9 */
	WRITE_ONCE(kwq_max_queues, 2);
	third = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &plenty);
	KUNIT_ASSERT_FALSE(test, IS_ERR(third));
	KUNIT_EXPECT_EQ(test, give_to(third, &t->ns, THIRD), -EDQUOT);
	KUNIT_EXPECT_EQ(test, give_to(third, &t->ns, FIRST), -EDQUOT);
	KUNIT_EXPECT_EQ(test, give_to(third, &init_user_ns, ALICE), -EDQUOT);
	KUNIT_EXPECT_EQ(test, alices->refs, 2);
	KUNIT_EXPECT_EQ(test, alices->nr_queues, 2);
	KUNIT_EXPECT_EQ(test, first->quota->nr_queues, 1);
	kwq_keyed_put(first);
	KUNIT_EXPECT_EQ(test, give_to(third, &t->ns, THIRD), 0);
	kwq_keyed_put(third);
	kwq_keyed_put(second);
}

static void machine_has_a_quota(struct kunit *test)
{
	struct kwq_keyed *alices = create_for(test, &init_user_ns, ALICE);
	struct kwq_keyed *bobs = create_for(test, &init_user_ns, BOB);
	struct kwq_keyed *roots = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &plenty);
	s64 total = bytes_of(alices->quota->parent);

	/*
	 * O9: the machine counts all queues that are not exempt, and gets back all that was
	 * taken
	 */
	KUNIT_ASSERT_FALSE(test, IS_ERR(roots));
	KUNIT_EXPECT_PTR_EQ(test, alices->quota->parent, bobs->quota->parent);
	KUNIT_EXPECT_LE(test, 2 * alices->own_bytes, total);
	KUNIT_EXPECT_GE(test, fill(roots), 0);
	KUNIT_EXPECT_EQ(test, bytes_of(alices->quota->parent), total);
	WRITE_ONCE(kwq_max_total_bytes, total + 2 * item_bytes(alices));
	KUNIT_EXPECT_EQ(test, fill(alices), -EDQUOT);
	KUNIT_EXPECT_EQ(test, add_number(bobs, 0), -EDQUOT);
	KUNIT_EXPECT_EQ(test, bytes_of(bobs->quota), bobs->own_bytes);
	KUNIT_EXPECT_EQ(test, add_number(roots, 1000), KWQ_ADDED);
	kwq_keyed_put(roots);
	kwq_keyed_put(alices);
	KUNIT_EXPECT_EQ(test, add_number(bobs, 0), KWQ_ADDED);
	kwq_keyed_put(bobs);
}

/*
 * O4 O9: root owns the user namespaces of the containers that it starts. The exempt queues
 * of root make nobody in these be refused, but are shown.
 */
static void exempt_queue_refuses_nobody(struct kunit *test)
{
	struct quota_test *t = test->priv;
	struct kwq_keyed *contained, *roots, *more;
	struct kwq_info before, after;
	u32 item;

	t->ns.owner = GLOBAL_ROOT_UID;
	contained = create_for(test, &t->ns, FIRST);
	kwq_quota_read(&before);
	roots = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &plenty);
	KUNIT_ASSERT_FALSE(test, IS_ERR(roots));
	KUNIT_EXPECT_EQ(test, roots->quota->kind, KWQ_QUOTA_EXEMPT);
	KUNIT_ASSERT_TRUE(test, uid_eq(contained->quota->parent->user, roots->quota->user));
	item = item_bytes(contained);
	WRITE_ONCE(kwq_max_user_bytes, bytes_of(contained->quota->parent) + 2 * item);
	WRITE_ONCE(kwq_max_queues, contained->quota->parent->nr_queues + 1);
	KUNIT_EXPECT_GE(test, fill(roots), 0);
	KUNIT_EXPECT_LT(test, kwq_max_user_bytes, roots->nr_bytes);
	KUNIT_EXPECT_EQ(test, add_number(contained, 0), KWQ_ADDED);

	kwq_quota_read(&after);
	KUNIT_EXPECT_EQ(test, after.user_queues, before.user_queues + 1);
	KUNIT_EXPECT_EQ(test, after.user_bytes, before.user_bytes + roots->own_bytes +
			roots->nr_bytes + item);

	/* An exempt queue does not count against the limit of queues. */
	more = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &plenty);
	KUNIT_ASSERT_FALSE(test, IS_ERR(more));
	KUNIT_EXPECT_EQ(test, give_to(more, &t->ns, SECOND), 0);
	kwq_keyed_put(more);
	kwq_keyed_put(roots);
	kwq_quota_read(&after);
	KUNIT_EXPECT_EQ(test, after.user_queues, before.user_queues);
	KUNIT_EXPECT_EQ(test, after.user_bytes, before.user_bytes + item);
	kwq_keyed_put(contained);
}

/* O9: the pauses of backoff limiters, of which there can be many. */
static void limiters_count(struct kunit *test)
{
	struct kwq_limiter_config *config = kunit_kzalloc(test, sizeof(*config), GFP_KERNEL);
	struct kwq_keyed *keyed = create_for(test, &init_user_ns, ALICE);
	u64 own = keyed->own_bytes;

	KUNIT_ASSERT_NOT_NULL(test, config);
	config->nr = 1;
	config->limiters[0] = (struct kwq_limiter){
		.kind = KWQ_LIMITER_BACKOFF,
		.u.backoff = { .duration = 1, .factor = 2 * KWQ_ONE, .steps = 256 },
	};
	KUNIT_EXPECT_EQ(test, kwq_keyed_configure(keyed, config), 0);
	KUNIT_EXPECT_LE(test, own + 62 * sizeof(u64), keyed->own_bytes);
	KUNIT_EXPECT_EQ(test, bytes_of(keyed->quota), keyed->own_bytes);
	KUNIT_EXPECT_EQ(test, kwq_keyed_configure(keyed, NULL), 0);
	KUNIT_EXPECT_EQ(test, keyed->own_bytes, own);
	KUNIT_EXPECT_EQ(test, bytes_of(keyed->quota), own);
	config->limiters[0].pad = 1;
	KUNIT_EXPECT_EQ(test, kwq_keyed_configure(keyed, config), -EINVAL);
	kwq_keyed_put(keyed);
}

/* Somebody who polls. */
struct poller {
	struct wait_queue_entry entry;
	atomic_t told;
};

static int tell(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	if (key_to_poll(key) & EPOLLOUT)
		atomic_inc(&container_of(entry, struct poller, entry)->told);
	return 0;
}

static bool has_room(struct kwq_keyed *keyed)
{
	return !kwq_quota_refuser(keyed->quota, keyed->small_bytes);
}

/* Q19: a poller of a queue that has no room because of its owner's quota. */
static void poller_is_told_of_room(struct kunit *test)
{
	struct quota_test *t = test->priv;
	struct kwq_keyed *first = create_for(test, &t->ns, FIRST);
	struct kwq_keyed *second = create_for(test, &t->ns, SECOND);
	struct kwq_keyed *bobs = create_for(test, &init_user_ns, BOB);
	struct kwq_quota *alices = first->quota->parent;
	struct poller poller = { .told = ATOMIC_INIT(0) };

	init_waitqueue_func_entry(&poller.entry, tell);
	add_wait_queue(&alices->room, &poller.entry);
	WRITE_ONCE(kwq_max_user_bytes, 2 * item_bytes(first) + 2 * first->own_bytes);
	KUNIT_EXPECT_EQ(test, fill(first), -EDQUOT);
	KUNIT_EXPECT_PTR_EQ(test, kwq_quota_refuser(second->quota, second->small_bytes), alices);
	KUNIT_EXPECT_TRUE(test, alices->is_wanted);
	/* Bytes of other users wake nobody. */
	KUNIT_EXPECT_TRUE(test, has_room(bobs));
	kwq_keyed_put(bobs);
	KUNIT_EXPECT_EQ(test, atomic_read(&poller.told), 0);
	kwq_keyed_put(first);
	KUNIT_EXPECT_GE(test, atomic_read(&poller.told), 1);
	KUNIT_EXPECT_FALSE(test, alices->is_wanted);
	KUNIT_EXPECT_TRUE(test, has_room(second));
	KUNIT_EXPECT_EQ(test, add_number(second, 0), KWQ_ADDED);
	remove_wait_queue(&alices->room, &poller.entry);
	kwq_keyed_put(second);
}

/* Q19: an add that was refused is told as well, because it may be polled for the next edge. */
static void refused_add_is_told_of_room(struct kunit *test)
{
	struct kwq_keyed *keyed = create_for(test, &init_user_ns, ALICE);
	struct poller poller = { .told = ATOMIC_INIT(0) };
	u8 bytes[1024] = {};

	init_waitqueue_func_entry(&poller.entry, tell);
	add_wait_queue(&keyed->quota->room, &poller.entry);
	WRITE_ONCE(kwq_max_user_bytes, item_bytes(keyed) + keyed->own_bytes);
	KUNIT_EXPECT_EQ(test, add_number(keyed, 0), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, add_number(keyed, 1), -EDQUOT);
	KUNIT_EXPECT_EQ(test, atomic_read(&poller.told), 0);
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(keyed, &(struct kwq_key){ bytes, sizeof(bytes) },
					       0), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, atomic_read(&poller.told), 1);
	/* Nobody has asked since. */
	KUNIT_EXPECT_EQ(test, add_number(keyed, 0), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(keyed, &(struct kwq_key){ bytes, sizeof(bytes) },
					       0), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, atomic_read(&poller.told), 1);
	remove_wait_queue(&keyed->quota->room, &poller.entry);
	kwq_keyed_put(keyed);
}

/* Like a write to the module's parameter. */
static int set(const struct kernel_param_ops *ops, void *limit, unsigned long value)
{
	const struct kernel_param param = { .arg = limit };
	char text[24];

	snprintf(text, sizeof(text), "%lu\n", value);
	return ops->set(text, &param);
}

/* Q19: a poll of a queue without memory, which tells its pollers once. */
static void poll_is_told_of_memory(struct kunit *test)
{
	struct quota_test *t = test->priv;
	struct kwq_keyed *first = create_for(test, &t->ns, FIRST);
	struct kwq_keyed *second = create_for(test, &t->ns, SECOND);
	struct kwq_quota *alices = first->quota->parent;
	struct poller poller = { .told = ATOMIC_INIT(0) };

	init_waitqueue_func_entry(&poller.entry, tell);
	add_wait_queue(&second->of_queue.pollers, &poller.entry);
	KUNIT_EXPECT_TRUE(test, kwq_keyed_has_memory(second));
	WRITE_ONCE(kwq_max_user_bytes, 2 * item_bytes(first) + 2 * first->own_bytes);
	KUNIT_EXPECT_EQ(test, fill(first), -EDQUOT);
	KUNIT_EXPECT_FALSE(test, kwq_keyed_has_memory(second));
	KUNIT_EXPECT_FALSE(test, kwq_keyed_has_memory(second));
	KUNIT_EXPECT_EQ(test, kwq_test_nr_sleepers(&alices->room), 2);
	/* Another quota may refuse next. */
	WRITE_ONCE(kwq_max_user_bytes, second->own_bytes);
	KUNIT_EXPECT_FALSE(test, kwq_keyed_has_memory(second));
	KUNIT_EXPECT_EQ(test, kwq_test_nr_sleepers(&alices->room), 1);
	WRITE_ONCE(kwq_max_user_bytes, 2 * item_bytes(first) + 2 * first->own_bytes);
	KUNIT_EXPECT_FALSE(test, kwq_keyed_has_memory(second));
	KUNIT_EXPECT_EQ(test, atomic_read(&poller.told), 0);
	kwq_keyed_put(first);
	KUNIT_EXPECT_EQ(test, atomic_read(&poller.told), 1);
	KUNIT_EXPECT_EQ(test, kwq_test_nr_sleepers(&alices->room), 0);
	/* An add that is refused is told as well, because an edge-triggered poller waits then. */
	WRITE_ONCE(kwq_max_user_bytes, second->own_bytes);
	KUNIT_EXPECT_EQ(test, add_number(second, 0), -EDQUOT);
	KUNIT_EXPECT_EQ(test, set(&kwq_quota_bytes_ops, &kwq_max_user_bytes, t->max_user_bytes), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&poller.told), 2);
	remove_wait_queue(&second->of_queue.pollers, &poller.entry);
	kwq_keyed_put(second);
}

/* O6: a queue that is freed while it waits in a quota. */
static void watching_queue_goes(struct kunit *test)
{
	struct kwq_keyed *keyed = create_for(test, &init_user_ns, ALICE);
	struct kwq_keyed *other = create_for(test, &init_user_ns, ALICE);

	WRITE_ONCE(kwq_max_user_bytes, 1);
	KUNIT_EXPECT_FALSE(test, kwq_keyed_has_memory(keyed));
	KUNIT_EXPECT_EQ(test, kwq_test_nr_sleepers(&other->quota->room), 1);
	/* As if all had been told, so that the bytes which it gives back tell nobody. */
	WRITE_ONCE(keyed->quota->is_wanted, false);
	kwq_keyed_put(keyed);
	KUNIT_EXPECT_EQ(test, kwq_test_nr_sleepers(&other->quota->room), 0);
	kwq_keyed_put(other);
}

/* Q19: whoever waits has to know which quota refuses. */
static void another_quota_refuses(struct kunit *test)
{
	struct quota_test *t = test->priv;
	struct kwq_keyed *first = create_for(test, &t->ns, FIRST);
	struct kwq_keyed *second = create_for(test, &t->ns, SECOND);
	struct kwq_quota *alices = first->quota->parent;

	WRITE_ONCE(kwq_max_user_bytes, 2 * item_bytes(first) + 2 * first->own_bytes);
	KUNIT_EXPECT_EQ(test, fill(first), -EDQUOT);
	KUNIT_EXPECT_PTR_EQ(test, kwq_quota_refuser(second->quota, 1), alices);
	WRITE_ONCE(kwq_max_user_bytes, t->max_user_bytes);
	WRITE_ONCE(kwq_max_total_bytes, bytes_of(alices->parent));
	KUNIT_EXPECT_PTR_EQ(test, kwq_quota_refuser(second->quota, 1), alices->parent);
	WRITE_ONCE(kwq_max_total_bytes, t->max_total_bytes);
	KUNIT_EXPECT_NULL(test, kwq_quota_refuser(second->quota, 1));
	WRITE_ONCE(kwq_max_user_bytes, second->own_bytes);
	KUNIT_EXPECT_PTR_EQ(test, kwq_quota_refuser(second->quota, 1), second->quota);
	kwq_keyed_put(second);
	kwq_keyed_put(first);
}

/* O9: memory is charged before it is allocated, and nothing is left if it is not used. */
static void unused_stock_is_given_back(struct kunit *test)
{
	static const u8 bytes[1024];
	struct kwq_keyed *keyed = create_for(test, &init_user_ns, ALICE);
	struct kwq_key key = { "a", 1 }, large = { bytes, sizeof(bytes) };
	struct kwq_extras extras = { .flags = KWQ_ADD_VALUE };
	struct kwq_stock stock = {};
	s64 own = bytes_of(keyed->quota);

	KUNIT_ASSERT_TRUE(test, kwq_test_fill_stock(&stock, keyed, &key, 1));
	KUNIT_EXPECT_EQ(test, bytes_of(keyed->quota), own + keyed->small_bytes);
	KUNIT_ASSERT_TRUE(test, kwq_test_fill_stock(&stock, keyed, &large, 1));
	KUNIT_EXPECT_EQ(test, bytes_of(keyed->quota), own + keyed->small_bytes + item_bytes(keyed));
	/* Memory for a key of another length takes its place, and that of all else. */
	large.len--;
	KUNIT_ASSERT_TRUE(test, kwq_test_fill_stock(&stock, keyed, &large, 1));
	KUNIT_EXPECT_EQ(test, bytes_of(keyed->quota), own + kwq_item_bytes(keyed, large.len));
	kwq_stock_empty(&stock, keyed);
	KUNIT_EXPECT_EQ(test, bytes_of(keyed->quota), own);
	KUNIT_EXPECT_FALSE(test, kwq_stock_has_any(&stock));
	KUNIT_ASSERT_TRUE(test, kwq_test_fill_stock(&stock, keyed, &key, 1000));
	KUNIT_EXPECT_EQ(test, bytes_of(keyed->quota), own + kwq_stock_bytes(&stock, keyed));
	kwq_stock_empty(&stock, keyed);
	KUNIT_EXPECT_EQ(test, bytes_of(keyed->quota), own);
	/* A quota that refuses many may have room for one. */
	WRITE_ONCE(kwq_max_user_bytes, own + keyed->small_bytes);
	KUNIT_ASSERT_TRUE(test, kwq_test_fill_stock(&stock, keyed, &key, 2));
	KUNIT_EXPECT_EQ(test, bytes_of(keyed->quota), own + keyed->small_bytes);
	KUNIT_EXPECT_FALSE(test, kwq_test_fill_stock(&stock, keyed, &large, 1));
	KUNIT_EXPECT_EQ(test, stock.lacking, kwq_item_bytes(keyed, large.len));
	kwq_stock_empty(&stock, keyed);
	/* All or nothing: an adder that gave a part back would wake others that wait. */
	extras.value = kwq_value_alloc(1000);
	KUNIT_ASSERT_NOT_NULL(test, extras.value);
	stock.wants_item = true;
	stock.wants_value = true;
	keyed->quota->is_wanted = true;
	KUNIT_EXPECT_EQ(test, kwq_stock_fill(&stock, keyed, &key, &extras, 1), -EDQUOT);
	KUNIT_EXPECT_EQ(test, stock.lacking, keyed->small_bytes + kwq_value_bytes(extras.value));
	KUNIT_EXPECT_FALSE(test, kwq_stock_has_any(&stock));
	KUNIT_EXPECT_TRUE(test, keyed->quota->is_wanted);
	kwq_value_put(extras.value);
	kwq_keyed_put(keyed);
}

/* Calls @fn as a user without capabilities. */
static void do_as(uid_t uid, void (*fn)(void *data), void *data)
{
	struct cred *cred = prepare_creds();
	const struct cred *old;

	if (!cred)
		return;
	cred->fsuid = KUIDT_INIT(uid);
	cap_clear(cred->cap_effective);
	old = override_creds(cred);
	fn(data);
	revert_creds(old);
	put_cred(cred);
}

static void read_quota(void *data)
{
	kwq_quota_read(data);
}

struct call {
	const struct kwq_handle *handle;
	struct kwq_quota *quota;
};

static void begin_call(void *data)
{
	struct call *call = data;

	call->quota = kwq_calls_get(call->handle);
}

/* O9: a descriptor that was passed on has calls of both users, and each pays for his own. */
static void each_user_pays_for_his_calls(struct kunit *test)
{
	static const struct kwq_limits limits = { 10, U32_MAX };
	struct kwq_keyed *keyed = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &limits);
	struct kwq_handle *handle;
	struct call call;

	KUNIT_ASSERT_FALSE(test, IS_ERR(keyed));
	handle = kwq_handle_open(keyed, KWQ_RIGHT_WRITE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(handle));
	call.handle = handle;
	begin_call(&call);
	KUNIT_EXPECT_PTR_EQ(test, call.quota, handle->quota);
	KUNIT_EXPECT_EQ(test, call.quota->kind, KWQ_QUOTA_EXEMPT);
	kwq_calls_put(handle, call.quota);

	/* One who has the descriptor is not exempt by it, even as the same user. */
	do_as(0, begin_call, &call);
	KUNIT_EXPECT_EQ(test, call.quota->kind, KWQ_QUOTA_CALLS);
	KUNIT_EXPECT_TRUE(test, uid_eq(call.quota->user, GLOBAL_ROOT_UID));
	kwq_calls_put(handle, call.quota);
	do_as(BOB, begin_call, &call);
	KUNIT_EXPECT_EQ(test, call.quota->kind, KWQ_QUOTA_CALLS);
	KUNIT_EXPECT_TRUE(test, uid_eq(call.quota->user, KUIDT_INIT(BOB)));
	kwq_calls_put(handle, call.quota);
	kwq_handle_close(handle);
	kwq_keyed_put(keyed);
}

/* O9 */
static void quota_can_be_read(struct kunit *test)
{
	struct quota_test *t = test->priv;
	struct kwq_keyed *first = create_for(test, &t->ns, FIRST);
	struct kwq_quota *alices = first->quota->parent;
	struct kwq_info info = {};

	do_as(ALICE, read_quota, &info);
	KUNIT_EXPECT_EQ(test, info.max_queues, kwq_max_queues);
	KUNIT_EXPECT_EQ(test, info.max_user_bytes, kwq_max_user_bytes);
	KUNIT_EXPECT_EQ(test, info.max_total_bytes, kwq_max_total_bytes);
	KUNIT_EXPECT_EQ(test, info.user_queues, 1);
	KUNIT_EXPECT_EQ(test, info.user_queues_left, kwq_max_queues - 1);
	KUNIT_EXPECT_EQ(test, info.user_bytes, first->own_bytes);
	KUNIT_EXPECT_EQ(test, info.user_bytes_left, kwq_max_user_bytes - first->own_bytes);

	/* The smallest rest in any quota, and never below 0. */
	WRITE_ONCE(kwq_max_total_bytes, bytes_of(alices->parent) + 1000);
	do_as(ALICE, read_quota, &info);
	KUNIT_EXPECT_EQ(test, info.user_bytes_left, 1000);
	WRITE_ONCE(kwq_max_total_bytes, 1);
	WRITE_ONCE(kwq_max_queues, 0);
	do_as(BOB, read_quota, &info);
	KUNIT_EXPECT_EQ(test, info.user_queues, 0);
	KUNIT_EXPECT_EQ(test, info.user_bytes, 0);
	KUNIT_EXPECT_EQ(test, info.user_bytes_left, 0);
	KUNIT_EXPECT_EQ(test, info.user_queues_left, 0);
	kwq_quota_read(&info);
	KUNIT_EXPECT_EQ(test, info.user_bytes_left, U64_MAX);
	KUNIT_EXPECT_EQ(test, info.user_queues_left, U32_MAX);
	kwq_keyed_put(first);
}

/* Replaces kwq_keyed_free_async(), and frees nothing. */
static struct kwq_keyed *handed_over;

static void take_over(struct kwq_keyed *keyed)
{
	handed_over = keyed;
}

/* O8 O9: a worker frees a large queue, whose bytes count until then. */
static void large_queue_is_freed_elsewhere(struct kunit *test)
{
	struct kwq_keyed *keyed = create_for(test, &init_user_ns, ALICE);
	struct kwq_quota *alices;
	u32 n;

	for (n = 0; n <= 1024; n++)
		KUNIT_ASSERT_EQ(test, add_number(keyed, n), KWQ_ADDED);
	handed_over = NULL;
	kunit_activate_static_stub(test, kwq_keyed_free_async, take_over);
	kwq_keyed_put(create_for(test, &init_user_ns, BOB));
	KUNIT_EXPECT_NULL(test, handed_over);
	kwq_keyed_put(keyed);
	kunit_deactivate_static_stub(test, kwq_keyed_free_async);
	KUNIT_ASSERT_PTR_EQ(test, handed_over, keyed);
	alices = keyed->quota;
	KUNIT_EXPECT_EQ(test, alices->nr_queues, 0);
	KUNIT_EXPECT_EQ(test, keyed->nr_bytes + keyed->own_bytes, bytes_of(alices));
	kwq_keyed_free_async(keyed);
}

struct creator {
	struct kwq_keyed *keyed;
};

static void create(void *data)
{
	struct creator *creator = data;

	creator->keyed = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &plenty);
}

static void create_as_alice(void *data)
{
	struct creator *creator = data;

	creator->keyed = ERR_PTR(-ENOMEM);
	do_as(ALICE, create, data);
}

/* O4 O9: a queue is refused if its owner has no memory left for it. */
static void queue_itself_counts(struct kunit *test)
{
	struct creator creator;

	WRITE_ONCE(kwq_max_user_bytes, kwq_test_own_bytes("") - 1);
	create_as_alice(&creator);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(creator.keyed), -EDQUOT);
	WRITE_ONCE(kwq_max_user_bytes, kwq_test_own_bytes(""));
	create_as_alice(&creator);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(creator.keyed), 0);
	if (!IS_ERR(creator.keyed))
		kwq_keyed_put(creator.keyed);
}

/* How many quotas the replacement of kwq_new_quota() allocates. */
static int quotas_left;

static struct kwq_quota *new_quota_of_few(gfp_t gfp)
{
	return quotas_left-- > 0 ? kzalloc(sizeof(struct kwq_quota), gfp) : NULL;
}

/* O4: no memory for the user's quota, or for that of the namespace's owner. */
static void no_memory_for_a_quota(struct kunit *test)
{
	struct quota_test *t = test->priv;
	struct kwq_quota *quota;
	int left;

	kunit_activate_static_stub(test, kwq_new_quota, new_quota_of_few);
	for (left = 0; left < 2; left++) {
		quotas_left = left;
		quota = kwq_quota_add_queue(&t->ns, KUIDT_INIT(FIRST), KWQ_QUOTA_QUEUES);
		KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(quota), -ENOMEM);
		if (!IS_ERR(quota))
			remove_queue(quota);
	}
	quotas_left = left;
	quota = kwq_quota_add_queue(&t->ns, KUIDT_INIT(FIRST), KWQ_QUOTA_QUEUES);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(quota), 0);
	if (!IS_ERR(quota))
		remove_queue(quota);
}

/* The end of a queue begins, but the worker has not started yet. */
static void begin_end(struct kunit *test, struct kwq_keyed *keyed)
{
	kunit_activate_static_stub(test, kwq_keyed_free_async, take_over);
	kwq_keyed_put_async(keyed);
	kunit_deactivate_static_stub(test, kwq_keyed_free_async);
}

/* O4: a queue that is closed is none of its user's any more, even before it is freed. */
static void closed_queue_is_no_queue(struct kunit *test)
{
	struct kwq_keyed *keyed = create_for(test, &init_user_ns, ALICE);
	struct creator creator;

	WRITE_ONCE(kwq_max_queues, 1);
	create_as_alice(&creator);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(creator.keyed), -EDQUOT);
	begin_end(test, keyed);
	create_as_alice(&creator);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(creator.keyed), 0);
	if (!IS_ERR(creator.keyed))
		kwq_keyed_put(creator.keyed);
	kwq_keyed_free_async(keyed);
}

static bool yes(struct kwq_keyed *keyed)
{
	return true;
}

/* O4 O6: another worker frees a queue whose items a worker still drops. */
static void queue_that_is_worked_on_ends_elsewhere(struct kunit *test)
{
	struct kwq_keyed *keyed = create_for(test, &init_user_ns, ALICE);

	handed_over = NULL;
	kunit_activate_static_stub(test, kwq_keyed_is_worked_on, yes);
	kunit_activate_static_stub(test, kwq_keyed_free_async, take_over);
	kwq_keyed_put(keyed);
	kunit_deactivate_static_stub(test, kwq_keyed_free_async);
	kunit_deactivate_static_stub(test, kwq_keyed_is_worked_on);
	KUNIT_ASSERT_PTR_EQ(test, handed_over, keyed);
	kwq_keyed_free_async(keyed);
}

/* Q19: a raised limit makes room, for a user's bytes and for the bytes of all. */
static void raised_limit_is_told(struct kunit *test, unsigned long *limit)
{
	struct kwq_keyed *keyed = create_for(test, &init_user_ns, ALICE);
	struct poller poller = { .told = ATOMIC_INIT(0) };
	struct kwq_quota *refuser;
	unsigned long before = *limit;

	init_waitqueue_func_entry(&poller.entry, tell);
	/* Below present use: nothing more is granted, and nothing is taken away. */
	KUNIT_EXPECT_EQ(test, set(&kwq_quota_bytes_ops, limit, 1), 0);
	refuser = kwq_quota_refuser(keyed->quota, 1);
	KUNIT_ASSERT_NOT_NULL(test, refuser);
	add_wait_queue(&refuser->room, &poller.entry);
	KUNIT_EXPECT_EQ(test, add_number(keyed, 0), -EDQUOT);
	KUNIT_EXPECT_EQ(test, bytes_of(keyed->quota), keyed->own_bytes);
	KUNIT_EXPECT_EQ(test, atomic_read(&poller.told), 0);
	KUNIT_EXPECT_EQ(test, kwq_quota_bytes_ops.set("many", &(struct kernel_param){
		.arg = limit }), -EINVAL);
	KUNIT_EXPECT_EQ(test, *limit, 1);
	KUNIT_EXPECT_EQ(test, set(&kwq_quota_bytes_ops, limit, before), 0);
	kwq_test_wait_until(test, atomic_read(&poller.told));
	KUNIT_EXPECT_TRUE(test, has_room(keyed));
	/* 0 sets the default, a part of the memory. */
	KUNIT_EXPECT_EQ(test, set(&kwq_quota_bytes_ops, limit, 0), 0);
	KUNIT_EXPECT_LT(test, 1 << 20, *limit);
	WRITE_ONCE(*limit, before);
	remove_wait_queue(&refuser->room, &poller.entry);
	kwq_keyed_put(keyed);
}

static void raised_limit_of_a_user_is_told(struct kunit *test)
{
	raised_limit_is_told(test, &kwq_max_user_bytes);
}

static void raised_limit_of_the_machine_is_told(struct kunit *test)
{
	raised_limit_is_told(test, &kwq_max_total_bytes);
}

static struct kunit_case quota_test_cases[] = {
	KUNIT_CASE(owner_of_a_namespace_has_one_quota),
	KUNIT_CASE(queues_count_above),
	KUNIT_CASE(machine_has_a_quota),
	KUNIT_CASE(exempt_queue_refuses_nobody),
	KUNIT_CASE(limiters_count),
	KUNIT_CASE(poller_is_told_of_room),
	KUNIT_CASE(refused_add_is_told_of_room),
	KUNIT_CASE(poll_is_told_of_memory),
	KUNIT_CASE(watching_queue_goes),
	KUNIT_CASE(another_quota_refuses),
	KUNIT_CASE(unused_stock_is_given_back),
	KUNIT_CASE(each_user_pays_for_his_calls),
	KUNIT_CASE(quota_can_be_read),
	KUNIT_CASE(queue_itself_counts),
	KUNIT_CASE(no_memory_for_a_quota),
	KUNIT_CASE(large_queue_is_freed_elsewhere),
	KUNIT_CASE(closed_queue_is_no_queue),
	KUNIT_CASE(queue_that_is_worked_on_ends_elsewhere),
	KUNIT_CASE(raised_limit_of_a_user_is_told),
	KUNIT_CASE(raised_limit_of_the_machine_is_told),
	{}
};

static struct kunit_suite quota_test_suite = {
	.name = "kwq-quota",
	.init = quota_test_init,
	.exit = quota_test_exit,
	.test_cases = quota_test_cases,
};

kunit_test_suite(quota_test_suite);

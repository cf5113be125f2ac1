// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>
#include <linux/errno.h>
#include "keyed_ops.h"
#include "tests/core/core_check.h"

struct handles {
	KWQ_TEST_HANDLES;
};

static struct kwq_key hashed(const struct kwq_key *key)
{
	struct kwq_key copy = *key;

	kwq_key_hash(&copy);
	return copy;
}

/* O1: an item that its handle does not list stays with it for ever. */
const char *kwq_test_broken_handle(const struct kwq_handle *handle)
{
	const struct kwq_keyed_item *ki;
	u32 nr = 0;

	hlist_for_each_entry(ki, &handle->held.nodes, held) {
		if (!(ki->item.state & KWQ_ITEM_PROCESSING))
			return "a handle lists an item that is not processing";
		if (kwq_handle_of(&ki->item) != handle)
			return "a handle lists an item that another one holds";
		nr++;
	}
	return nr == handle->holder.nr_held ? NULL : "a handle does not list all that it holds";
}

/* Makes the structure of a test, and its queue on a manual clock. */
int kwq_test_begin(struct kunit *test, size_t size, const struct kwq_limits *limits, u32 rights)
{
	test->priv = kunit_kzalloc(test, size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, test->priv);
	kwq_test_open(test, KWQ_CLOCK_MANUAL, limits, rights);
	return 0;
}

/* Makes the queue of a test, and two handles with these rights. */
void kwq_test_open(struct kunit *test, enum kwq_clock clock, const struct kwq_limits *limits,
		   u32 rights)
{
	struct handles *t = test->priv;

	t->keyed = kwq_keyed_create("", clock, limits);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->keyed);
	t->x = kwq_handle_open(t->keyed, rights);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->x);
	t->y = kwq_handle_open(t->keyed, rights);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->y);
}

/* Replaces the queue of a test by one with other limits. */
void kwq_test_open_again(struct kunit *test, const struct kwq_limits *limits, u32 rights)
{
	kwq_test_close(test);
	kwq_test_open(test, KWQ_CLOCK_MANUAL, limits, rights);
}

static const char *broken_times(struct kwq_keyed *keyed)
{
	const struct kwq_lease *first;

	first = list_first_entry_or_null(&keyed->leases, struct kwq_lease, link);
	if (first && first->expires < keyed->of_queue.lease_end)
		return "a lease ends before the time that is told";
	if (keyed->queue.core.paused & KWQ_TERM_RUNS && keyed->term < keyed->of_queue.lease_end)
		return "the term ends before the time that is told";
	return NULL;
}

/* The core is sound, and so are the handles that are open. */
void kwq_test_expect_sound(struct kunit *test)
{
	struct handles *t = test->priv;
	struct kwq_holder *holders[2];
	unsigned long flags;
	const char *broken;
	int nr = 0;

	if (t->x)
		holders[nr++] = &t->x->holder;
	if (t->y)
		holders[nr++] = &t->y->holder;
	spin_lock_irqsave(&t->keyed->queue.lock, flags);
	broken = kwq_core_broken(&t->keyed->queue.core, holders, nr);
	broken = broken ?: broken_times(t->keyed);
	while (nr-- && !broken)
		broken = kwq_test_broken_handle(container_of(holders[nr], struct kwq_handle,
							     holder));
	spin_unlock_irqrestore(&t->keyed->queue.lock, flags);
	KUNIT_EXPECT_STREQ(test, "", broken ?: "");
}

void kwq_test_close_handle(struct kwq_handle **handle)
{
	kwq_handle_close(*handle);
	*handle = NULL;
}

/* Ends a sound queue and its handles, if it is there. */
void kwq_test_close(struct kunit *test)
{
	struct handles *t = test->priv;

	if (!t || IS_ERR_OR_NULL(t->keyed))
		return;
	if (IS_ERR(t->x))
		t->x = NULL;
	if (IS_ERR(t->y))
		t->y = NULL;
	kwq_test_expect_sound(test);
	if (t->x)
		kwq_test_close_handle(&t->x);
	if (t->y)
		kwq_test_close_handle(&t->y);
	/* Without a holder there is no lease, and the timer has nothing to wait for. */
	KUNIT_EXPECT_TRUE(test, list_empty(&t->keyed->leases));
	kwq_keyed_put(t->keyed);
	t->keyed = NULL;
}

int kwq_keyed_add(struct kwq_keyed *keyed, const struct kwq_key *key,
		  const struct kwq_add_options *options)
{
	const struct kwq_key copy = hashed(key);
	struct kwq_stock stock = {};
	unsigned long flags;
	ktime_t now;
	int ret;

	kwq_stock_begin(&stock, keyed, &copy, NULL, 1);
	do {
		spin_lock_irqsave(&keyed->queue.lock, flags);
		now = kwq_stamp_locked(&keyed->queue);
		ret = kwq_keyed_add_locked(keyed, &copy, options, NULL, now, &stock);
		kwq_keyed_unlock(keyed, flags);
		if (ret == -EAGAIN)
			ret = kwq_stock_fill(&stock, keyed, &copy, NULL, 1) ?: -EAGAIN;
	} while (ret == -EAGAIN);
	kwq_stock_empty(&stock, keyed);
	return ret;
}

int kwq_keyed_add_with(struct kwq_keyed *keyed, const struct kwq_key *key,
		       const struct kwq_add_options *options, struct kwq_extras *extras)
{
	const struct kwq_key copy = hashed(key);
	struct kwq_stock stock = {};
	unsigned long flags;
	ktime_t now;
	int ret;

	extras->group = hashed(&extras->group);
	kwq_stock_begin(&stock, keyed, &copy, extras, 1);
	do {
		spin_lock_irqsave(&keyed->queue.lock, flags);
		now = kwq_stamp_locked(&keyed->queue);
		ret = kwq_keyed_add_locked(keyed, &copy, options, extras, now, &stock);
		kwq_keyed_unlock(keyed, flags);
		if (ret == -EAGAIN)
			ret = kwq_stock_fill(&stock, keyed, &copy, extras, 1) ?: -EAGAIN;
	} while (ret == -EAGAIN);
	kwq_stock_empty(&stock, keyed);
	return ret;
}

/* Fills a stock with items, as for adds that lacked them. */
bool kwq_test_fill_stock(struct kwq_stock *stock, struct kwq_keyed *keyed,
			 const struct kwq_key *key, u32 nr)
{
	stock->wants_item = true;
	return !kwq_stock_fill(stock, keyed, key, NULL, nr);
}

/* The queue counts in another quota of its owner from now on. */
void kwq_test_count_as(struct kwq_keyed *keyed, enum kwq_quota_kind kind)
{
	struct kwq_quota *before = keyed->quota;
	u64 bytes = keyed->nr_bytes + keyed->own_bytes;

	kwq_quota_unwatch(keyed);
	kwq_quota_uncharge(keyed->quota, bytes);
	keyed->quota = kwq_quota_add_queue(before->ns, before->user, kind);
	kwq_quota_charge_anyway(keyed->quota, bytes);
	kwq_quota_remove_queue(before);
	kwq_quota_put(before);
}

/* Makes one call in a hold of the lock, at the time that the device would take. */
#define LOCKED(keyed, call)					\
({								\
	unsigned long irqs;					\
	ktime_t __maybe_unused now;				\
	int ret;						\
								\
	spin_lock_irqsave(&(keyed)->queue.lock, irqs);		\
	now = kwq_stamp_locked(&(keyed)->queue);		\
	ret = (call);						\
	kwq_keyed_unlock(keyed, irqs);				\
	ret;							\
})

int kwq_keyed_remove(struct kwq_keyed *keyed, const struct kwq_key *key, u32 flags)
{
	const struct kwq_key copy = hashed(key);

	return LOCKED(keyed, kwq_keyed_remove_locked(keyed, &copy, flags, 0, now));
}

int kwq_keyed_forget(struct kwq_keyed *keyed, const struct kwq_key *key)
{
	const struct kwq_key copy = hashed(key);

	return LOCKED(keyed, kwq_keyed_forget_locked(keyed, &copy, now));
}

int kwq_keyed_num_requeues(struct kwq_keyed *keyed, const struct kwq_key *key)
{
	const struct kwq_key copy = hashed(key);

	return LOCKED(keyed, kwq_keyed_num_requeues_locked(keyed, &copy, now));
}

int kwq_handle_done(struct kwq_handle *handle, u64 ticket, u32 done_flags)
{
	return LOCKED(handle->keyed,
		      kwq_handle_end_locked(handle, ticket, NULL, done_flags, now));
}

int kwq_handle_done_key(struct kwq_handle *handle, const struct kwq_key *key,
			u32 done_flags)
{
	const struct kwq_key copy = hashed(key);

	return LOCKED(handle->keyed,
		      kwq_handle_end_locked(handle, 0, &copy, done_flags, now));
}

int kwq_handle_extend(struct kwq_handle *handle, u64 ticket)
{
	return LOCKED(handle->keyed, kwq_handle_extend_locked(handle, ticket, NULL, NULL, now,
							     NULL));
}

int kwq_handle_extend_key(struct kwq_handle *handle, const struct kwq_key *key)
{
	const struct kwq_key copy = hashed(key);

	return LOCKED(handle->keyed, kwq_handle_extend_locked(handle, 0, &copy, NULL, now, NULL));
}

/* Gives a held item a note, or takes it away with a NULL in @extras. */
int kwq_handle_note(struct kwq_handle *handle, u64 ticket, struct kwq_extras *extras)
{
	static const struct kwq_key no_key;
	struct kwq_keyed *keyed = handle->keyed;
	struct kwq_stock stock = {};
	int ret;

	do {
		ret = LOCKED(keyed, kwq_handle_extend_locked(handle, ticket, NULL, extras, now,
							     &stock));
		if (ret == -EAGAIN)
			ret = kwq_stock_fill(&stock, keyed, &no_key, extras, 1) ?: -EAGAIN;
	} while (ret == -EAGAIN);
	kwq_stock_empty(&stock, keyed);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Items by their keys.
 *
 * The table is searched under RCU; what was found is then looked at again under
 * the queue's lock. An item that turns idle is gone in the same hold of the lock,
 * and out of the table right after it: whoever found it just before sees that it is
 * gone, takes it out, searches again, and does not find it a second time. One that
 * has requeues to remember stays; it goes when they are forgotten, or when its room
 * is wanted for another key.
 *
 * The locks of the table's buckets are never taken under queue->lock. Before 6.3
 * they keep softirqs away and no interrupts, and to drop one may run softirqs: among
 * them the queue's timer, which would wait for the lock below it for ever.
 */
#include <linux/cache.h>
#include <linux/init.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <kunit/visibility.h>
#include "keyed.h"

enum {
	KWQ_LIFE_NEW,		/* in the table; not counted yet */
	KWQ_LIFE_ADMITTED,	/* in the table; counted in nr_items, nr_bytes */
	KWQ_LIFE_REMEMBERED,	/* so too; idle, and in kwq_keyed.remembered */
	KWQ_LIFE_BURIED,	/* so too; dead, and in kwq_keyed.dead */
	KWQ_LIFE_GONE,		/* about to leave the table; RCU will free it */
};

/*
 * Nobody outside can choose keys that collide. One secret serves all tables, for
 * rhashtable tells its callbacks no more than the seed of the one it asks for.
 */
static hsiphash_key_t secret __ro_after_init;

/**
 * kwq_keyed_init() - choose the secret
 *
 * Not at its first use by get_random_once(): that would hold the module until a
 * worker has run.
 */
void __init kwq_keyed_init(void)
{
	get_random_bytes(&secret, sizeof(secret));
}

static u32 hash_bytes(const u8 *bytes, u32 len, u32 seed)
{
	hsiphash_key_t key = secret;

	key.key[0] ^= seed;
	return hsiphash(bytes, len, &key);
}

static u32 hash_key(const void *data, u32 len, u32 seed)
{
	const struct kwq_key *key = data;

	return hash_bytes(key->bytes, key->len, seed);
}

static u32 hash_item(const void *data, u32 len, u32 seed)
{
	const struct kwq_keyed_item *ki = data;

	return hash_bytes(ki->key, ki->key_len, seed);
}

static int differs(struct rhashtable_compare_arg *arg, const void *obj)
{
	const struct kwq_key *key = arg->key;
	const struct kwq_keyed_item *ki = obj;

	return ki->key_len != key->len || memcmp(ki->key, key->bytes, key->len);
}

static const struct rhashtable_params items_params = {
	.head_offset = offsetof(struct kwq_keyed_item, node),
	.hashfn = hash_key,
	.obj_hashfn = hash_item,
	.obj_cmpfn = differs,
	.automatic_shrinking = true,
};

static size_t item_size(const struct kwq_keyed *keyed, u32 key_len)
{
	size_t size = struct_size_t(struct kwq_keyed_item, key, key_len);

	if (!keyed->limits.lease)
		return size;
	return ALIGN(size, __alignof__(struct kwq_lease)) + sizeof(struct kwq_lease);
}

/**
 * kwq_keyed_item_alloc() - make an item that is not in the table yet
 * @keyed: the queue that it is for
 * @key: its key
 *
 * Context: process; may sleep.
 * Return: the item, for kwq_keyed_insert() or kfree(); NULL without memory.
 */
struct kwq_keyed_item *kwq_keyed_item_alloc(const struct kwq_keyed *keyed,
					    const struct kwq_key *key)
{
	struct kwq_keyed_item *ki = kmalloc(item_size(keyed, key->len),
					    GFP_KERNEL_ACCOUNT);

	if (!ki)
		return NULL;
	kwq_item_init(&ki->item);
	ki->ticket = 0;
	ki->life = KWQ_LIFE_NEW;
	ki->key_len = key->len;
	memcpy(ki->key, key->bytes, key->len);
	if (keyed->limits.lease)
		kwq_lease_of(ki)->ki = ki;
	return ki;
}

/**
 * kwq_keyed_init_items() - make the table, empty
 * @keyed: the queue
 *
 * Context: process; may sleep.
 * Return: 0 or -ENOMEM.
 */
int kwq_keyed_init_items(struct kwq_keyed *keyed)
{
	INIT_LIST_HEAD(&keyed->remembered);
	keyed->dead = RB_ROOT;
	return rhashtable_init(&keyed->items, &items_params);
}

static void free_item(void *obj, void *unused)
{
	kfree(obj);
}

/**
 * kwq_keyed_destroy_items() - free the table and what is in it
 * @keyed: the queue; nobody uses it any more
 *
 * Context: process; may sleep.
 */
void kwq_keyed_destroy_items(struct kwq_keyed *keyed)
{
	rhashtable_free_and_destroy(&keyed->items, free_item, NULL);
}

/**
 * kwq_keyed_find() - find a key's item
 * @keyed: the queue
 * @key: the key
 *
 * Context: within rcu_read_lock(), which also keeps the item's memory. Whether
 * the item is still alive can be told under the queue's lock only.
 * Return: the item, or NULL.
 */
struct kwq_keyed_item *kwq_keyed_find(struct kwq_keyed *keyed,
				      const struct kwq_key *key)
{
	return rhashtable_lookup(&keyed->items, key, items_params);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_find);

/**
 * kwq_keyed_item_is_gone() - did an item end since it was found
 * @ki: the item; the queue's lock held
 *
 * Return: true if it did; search again.
 */
bool kwq_keyed_item_is_gone(const struct kwq_keyed_item *ki)
{
	return ki->life == KWQ_LIFE_GONE;
}

/**
 * kwq_keyed_insert() - put an item into the table, unless its key has one
 * @keyed: the queue
 * @key: the key
 * @ki: the item
 *
 * Context: within rcu_read_lock(), interrupts on.
 * Return: NULL if it is in the table now; the item that was there before;
 * ERR_PTR of -ENOMEM or -EBUSY (the table is being resized).
 */
struct kwq_keyed_item *kwq_keyed_insert(struct kwq_keyed *keyed,
					const struct kwq_key *key,
					struct kwq_keyed_item *ki)
{
	return rhashtable_lookup_get_insert_key(&keyed->items, key, &ki->node,
						items_params);
}

/* Takes an item off the list, or out of the tree, that its last state put it in. */
static void leave_place(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	if (ki->life == KWQ_LIFE_REMEMBERED) {
		list_del(&ki->remembered);
		keyed->nr_remembered--;
		keyed->bytes_remembered -= item_size(keyed, ki->key_len);
		ki->life = KWQ_LIFE_ADMITTED;
	} else if (ki->life == KWQ_LIFE_BURIED) {
		rb_erase(&ki->by_ticket, &keyed->dead);
		ki->life = KWQ_LIFE_ADMITTED;
	}
}

/* One step stays, for what comes and goes. */
static void give_room_back(struct kwq_keyed *keyed)
{
	if (keyed->room - keyed->nr_bytes < 2 * KWQ_QUOTA_STEP)
		return;
	keyed->room -= KWQ_QUOTA_STEP;
	kwq_quota_give_back(keyed->quota, KWQ_QUOTA_STEP);
}

static void let_go(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	leave_place(keyed, ki);
	if (ki->life == KWQ_LIFE_ADMITTED) {
		keyed->nr_items--;
		keyed->nr_bytes -= item_size(keyed, ki->key_len);
		give_room_back(keyed);
	}
	ki->life = KWQ_LIFE_GONE;
	ki->next_gone = keyed->gone;
	keyed->gone = ki;
}

/**
 * kwq_keyed_take_out() - take an item out of the table
 * @keyed: the queue
 * @ki: an item that is gone
 *
 * To do it twice does no harm: an item is never inserted again.
 *
 * Context: within rcu_read_lock() if it may have been done before; interrupts on.
 */
void kwq_keyed_take_out(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	lockdep_assert_irqs_enabled();
	rhashtable_remove_fast(&keyed->items, &ki->node, items_params);
}

/**
 * kwq_keyed_unlock() - kwq_unlock(), after which what has gone leaves the table
 * @keyed: the queue; its lock held, and no other
 * @flags: as spin_lock_irqsave() stored them, interrupts being on
 *
 * To be called wherever kwq_keyed_settle() may have been.
 *
 * Context: process. The caller keeps the queue.
 */
void kwq_keyed_unlock(struct kwq_keyed *keyed, unsigned long flags)
	__releases(&keyed->queue.lock)
{
	struct kwq_keyed_item *ki = keyed->gone;
	struct kwq_keyed_item *next;

	keyed->gone = NULL;
	kwq_unlock(&keyed->queue, flags);
	for (; ki; ki = next) {
		next = ki->next_gone;
		kwq_keyed_take_out(keyed, ki);
		kfree_rcu(ki, rcu);
	}
}

static struct kwq_keyed_item *first_remembered(struct kwq_keyed *keyed)
{
	return list_first_entry_or_null(&keyed->remembered, struct kwq_keyed_item,
					remembered);
}

/*
 * L10: lets go of items whose requeues are old enough to be forgotten. Two for each
 * one that is remembered anew, so that they cannot pile up.
 */
static void let_old_ones_go(struct kwq_keyed *keyed)
{
	const struct kwq_core *core = &keyed->queue.core;
	ktime_t now = kwq_now_locked(&keyed->queue);
	struct kwq_keyed_item *ki;
	int n;

	for (n = 0; n < 2; n++) {
		ki = first_remembered(keyed);
		if (!ki || kwq_core_num_requeues(core, &ki->item, now))
			break;
		let_go(keyed, ki);
	}
}

static void remember(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	if (ki->life == KWQ_LIFE_REMEMBERED)
		return;
	list_add_tail(&ki->remembered, &keyed->remembered);
	keyed->nr_remembered++;
	keyed->bytes_remembered += item_size(keyed, ki->key_len);
	ki->life = KWQ_LIFE_REMEMBERED;
	let_old_ones_go(keyed);
}

static void bury(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	if (ki->life == KWQ_LIFE_BURIED)
		return;
	/* It may have been idle, and remembered, until now. */
	leave_place(keyed, ki);
	ki->ticket = ++keyed->last_ticket;
	rb_add(&ki->by_ticket, &keyed->dead, kwq_ticket_less);
	ki->life = KWQ_LIFE_BURIED;
}

/* Takes more from the owner's quota if need be, and if the queue's own limit allows. */
static void ask_for_room(struct kwq_keyed *keyed, size_t size)
{
	u64 step = min(KWQ_QUOTA_STEP, keyed->limits.max_bytes - keyed->room);

	BUILD_BUG_ON(sizeof(struct kwq_keyed_item) + KWQ_KEY_MAX +
		     2 * sizeof(struct kwq_lease) > KWQ_QUOTA_STEP);
	if (keyed->room - keyed->nr_bytes >= size || !step)
		return;
	if (kwq_quota_take(keyed->quota, step, keyed->exempt))
		keyed->room += step;
}

static bool has_room(const struct kwq_keyed *keyed, size_t size)
{
	return keyed->nr_items < keyed->limits.max_items &&
	       keyed->room - keyed->nr_bytes >= size;
}

/* Why there would be no room even if nothing were remembered; 0 if there would. */
static int why_no_room(const struct kwq_keyed *keyed, size_t size)
{
	u64 bytes = keyed->nr_bytes - keyed->bytes_remembered + size;

	if (keyed->nr_items - keyed->nr_remembered >= keyed->limits.max_items ||
	    bytes > keyed->limits.max_bytes)
		return -ENOSPC;
	return bytes > keyed->room ? -EDQUOT : 0;
}

/**
 * kwq_keyed_admit() - count an item that may not have been there until now (O4)
 * @keyed: the queue; its lock held
 * @ki: the item
 *
 * A mere count that is remembered gives way to it, the oldest first; unless that
 * would be in vain.
 *
 * Return: 0; -ENOSPC (the queue is full) or -EDQUOT (its owner has too much).
 */
int kwq_keyed_admit(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	size_t size = item_size(keyed, ki->key_len);
	int err;

	if (ki->life != KWQ_LIFE_NEW)
		return 0;
	ask_for_room(keyed, size);
	err = why_no_room(keyed, size);
	if (err)
		return err;
	while (!has_room(keyed, size))
		let_go(keyed, first_remembered(keyed));
	keyed->nr_items++;
	keyed->nr_bytes += size;
	ki->life = KWQ_LIFE_ADMITTED;
	return 0;
}

/**
 * kwq_keyed_settle() - put an item where its state belongs
 * @keyed: the queue; its lock held
 * @ki: an item that was just worked on; not to be touched any more, for if it
 *	turned idle with nothing to remember it is gone
 */
void kwq_keyed_settle(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	lockdep_assert_held(&keyed->queue.lock);
	if (!kwq_item_is_idle(&ki->item)) {
		if (kwq_item_is_dead(&ki->item))
			bury(keyed, ki);
		else
			leave_place(keyed, ki);
	} else if (ki->item.requeues && !keyed->queue.core.shut_down) {
		remember(keyed, ki);
	} else {
		let_go(keyed, ki);
	}
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_settle);

/**
 * kwq_keyed_drop_remembered() - forget a bounded number of counts
 * @keyed: the queue
 *
 * Context: process.
 * Return: true if there may be more.
 */
bool kwq_keyed_drop_remembered(struct kwq_keyed *keyed)
{
	struct kwq_keyed_item *ki = NULL;
	unsigned long flags;
	int n;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	for (n = 0; n < KWQ_ITEMS_PER_HOLD; n++) {
		ki = first_remembered(keyed);
		if (!ki)
			break;
		let_go(keyed, ki);
	}
	kwq_keyed_unlock(keyed, flags);
	return ki;
}

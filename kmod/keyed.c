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
#include <linux/err.h>
#include <linux/init.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <kunit/visibility.h>
#include "keyed.h"
#include "timens.h"

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

static size_t item_size(u32 key_len)
{
	return struct_size_t(struct kwq_keyed_item, key, key_len);
}

static struct kwq_keyed_item *item_alloc(const struct kwq_key *key)
{
	struct kwq_keyed_item *ki = kmalloc(item_size(key->len),
					    GFP_KERNEL_ACCOUNT);

	if (!ki)
		return NULL;
	kwq_item_init(&ki->item);
	ki->ticket = 0;
	ki->life = KWQ_LIFE_NEW;
	ki->key_len = key->len;
	memcpy(ki->key, key->bytes, key->len);
	return ki;
}

static const u8 *key_of(const struct kwq_item *item, size_t *len)
{
	const struct kwq_keyed_item *ki =
		container_of_const(item, struct kwq_keyed_item, item);

	*len = ki->key_len;
	return ki->key;
}

/**
 * kwq_keyed_create() - make a queue of keys
 * @name: its name, checked by kwq_names_check(); empty for none
 * @clock: what its times are measured on
 * @limits: how much it may hold
 *
 * The caller owns it: its quota is charged and the first reference is its.
 *
 * Context: process; may sleep.
 * Return: the queue; ERR_PTR of -ENOMEM or -EDQUOT.
 */
struct kwq_keyed *kwq_keyed_create(const char *name, enum kwq_clock clock,
				   const struct kwq_limits *limits)
{
	struct kwq_keyed *keyed;
	int err;

	keyed = kzalloc(sizeof(*keyed), GFP_KERNEL_ACCOUNT);
	if (!keyed)
		return ERR_PTR(-ENOMEM);
	keyed->owner = current_fsuid();
	keyed->group = current_fsgid();
	err = kwq_quota_charge(keyed->owner);
	if (err)
		goto free_keyed;
	err = rhashtable_init(&keyed->items, &items_params);
	if (err)
		goto uncharge;

	kref_init(&keyed->ref);
	RB_CLEAR_NODE(&keyed->by_name);
	strscpy(keyed->name, name, sizeof(keyed->name));
	keyed->limits = *limits;
	INIT_LIST_HEAD(&keyed->remembered);
	keyed->dead = RB_ROOT;
	kwq_queue_init(&keyed->queue, keyed->name, clock);
	keyed->queue.key_of = key_of;
	return keyed;

uncharge:
	kwq_quota_uncharge(keyed->owner);
free_keyed:
	kfree(keyed);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_create);

static void free_item(void *obj, void *unused)
{
	kfree(obj);
}

static void keyed_release(struct kref *ref)
{
	struct kwq_keyed *keyed = container_of(ref, struct kwq_keyed, ref);

	/* The timer first: it makes items ready. Then nobody else is left. */
	kwq_queue_destroy(&keyed->queue);
	rhashtable_free_and_destroy(&keyed->items, free_item, NULL);
	kwq_quota_uncharge(keyed->owner);
	kfree(keyed);
}

/**
 * kwq_keyed_put() - drop a reference
 * @keyed: the queue; with the last reference its items go too
 *
 * Context: process; may sleep.
 */
void kwq_keyed_put(struct kwq_keyed *keyed)
{
	kref_put(&keyed->ref, keyed_release);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_put);

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

/* Takes an item off the list, or out of the tree, that its last state put it in. */
static void leave_place(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	if (ki->life == KWQ_LIFE_REMEMBERED) {
		list_del(&ki->remembered);
		keyed->nr_remembered--;
		keyed->bytes_remembered -= item_size(ki->key_len);
		ki->life = KWQ_LIFE_ADMITTED;
	} else if (ki->life == KWQ_LIFE_BURIED) {
		rb_erase(&ki->by_ticket, &keyed->dead);
		ki->life = KWQ_LIFE_ADMITTED;
	}
}

static void let_go(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	leave_place(keyed, ki);
	if (ki->life == KWQ_LIFE_ADMITTED) {
		keyed->nr_items--;
		keyed->nr_bytes -= item_size(ki->key_len);
	}
	ki->life = KWQ_LIFE_GONE;
	ki->next_gone = keyed->gone;
	keyed->gone = ki;
}

/* To do it twice does no harm: an item is never inserted again. */
static void take_out(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
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
		take_out(keyed, ki);
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
	keyed->bytes_remembered += item_size(ki->key_len);
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

static bool has_room(const struct kwq_keyed *keyed, size_t size)
{
	return keyed->nr_items < keyed->limits.max_items &&
	       keyed->limits.max_bytes - keyed->nr_bytes >= size;
}

/* Would there be room if nothing were remembered? */
static bool can_have_room(const struct kwq_keyed *keyed, size_t size)
{
	return keyed->nr_items - keyed->nr_remembered < keyed->limits.max_items &&
	       keyed->limits.max_bytes - keyed->nr_bytes +
	       keyed->bytes_remembered >= size;
}

/*
 * O4: an item that was not there until now is to be counted. A mere count that is
 * remembered gives way to it, the oldest first; unless that would be in vain.
 */
static int admit(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	size_t size = item_size(ki->key_len);

	if (ki->life != KWQ_LIFE_NEW)
		return 0;
	if (!can_have_room(keyed, size))
		return -ENOSPC;
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

/*
 * Adds to an item that was found or just inserted. -EAGAIN: it went meanwhile. Who
 * let it go may be kept from taking it out, perhaps by us: a task of a higher
 * priority would find it for ever.
 */
static int add_to_item(struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
		       const struct kwq_add_options *options)
{
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	if (kwq_keyed_item_is_gone(ki)) {
		kwq_keyed_unlock(keyed, flags);
		take_out(keyed, ki);
		return -EAGAIN;
	}
	ret = admit(keyed, ki);
	/* Both can be: a queue that is shut down says so, full or not. */
	if (!ret || keyed->queue.core.shut_down)
		ret = kwq_add_locked(&keyed->queue, &ki->item, options);
	kwq_keyed_settle(keyed, ki);
	kwq_keyed_unlock(keyed, flags);
	return ret;
}

/*
 * Adds to the key's item if there is one. -ENOENT: there is none; -EAGAIN: there
 * was one.
 */
static int add_to_found(struct kwq_keyed *keyed, const struct kwq_key *key,
			const struct kwq_add_options *options)
{
	struct kwq_keyed_item *ki;
	int ret = -ENOENT;

	rcu_read_lock();
	ki = kwq_keyed_find(keyed, key);
	if (ki)
		ret = add_to_item(keyed, ki, options);
	rcu_read_unlock();
	return ret;
}

/*
 * Inserts a new item and adds to it, or to the one that somebody inserted before.
 * *@fresh is NULL afterwards if the table took it.
 */
static int add_to_fresh(struct kwq_keyed *keyed, const struct kwq_key *key,
			struct kwq_keyed_item **fresh,
			const struct kwq_add_options *options)
{
	struct kwq_keyed_item *ki;
	int ret;

	rcu_read_lock();
	ki = rhashtable_lookup_get_insert_key(&keyed->items, key, &(*fresh)->node,
					      items_params);
	if (IS_ERR(ki)) {
		ret = PTR_ERR(ki);
		goto unlock;
	}
	if (!ki) {
		ki = *fresh;
		*fresh = NULL;
	}
	ret = add_to_item(keyed, ki, options);
unlock:
	rcu_read_unlock();
	return ret;
}

/**
 * kwq_keyed_add() - add a key
 * @keyed: the queue
 * @key: the key
 * @options: how; in a combination that &struct kwq_add_entry allows
 *
 * Context: process; may sleep.
 * Return: as kwq_add_with(), and with nothing changed -ENOMEM, -ENOSPC, or
 * -EINTR if a fatal signal came.
 */
int kwq_keyed_add(struct kwq_keyed *keyed, const struct kwq_key *key,
		  const struct kwq_add_options *options)
{
	struct kwq_keyed_item *fresh = NULL;
	int ret;

	for (;;) {
		ret = add_to_found(keyed, key, options);
		if (ret == -ENOENT) {
			if (options->flags & KWQ_ADD_KICK)
				break;
			if (!fresh)
				fresh = item_alloc(key);
			if (!fresh) {
				ret = -ENOMEM;
				break;
			}
			ret = add_to_fresh(keyed, key, &fresh, options);
		}
		if (ret != -EAGAIN && ret != -EBUSY)
			break;
		if (fatal_signal_pending(current)) {
			ret = -EINTR;
			break;
		}
		/* The table is being resized, by a worker that needs to run. */
		if (ret == -EBUSY)
			schedule_timeout_killable(1);
		cond_resched();
	}
	kfree(fresh);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_add);

/*
 * Finds a key's item and works on it. -ENOENT: there is none. One that went since it
 * was found was gone at this moment, which will do.
 */
static int with_item(struct kwq_keyed *keyed, const struct kwq_key *key, u32 arg,
		     int (*work)(struct kwq_queue *queue, struct kwq_item *item,
				 u32 arg))
{
	struct kwq_keyed_item *ki;
	unsigned long flags;
	int ret = -ENOENT;

	rcu_read_lock();
	ki = kwq_keyed_find(keyed, key);
	if (ki) {
		spin_lock_irqsave(&keyed->queue.lock, flags);
		if (!kwq_keyed_item_is_gone(ki)) {
			ret = work(&keyed->queue, &ki->item, arg);
			kwq_keyed_settle(keyed, ki);
		}
		kwq_keyed_unlock(keyed, flags);
	}
	rcu_read_unlock();
	return ret;
}

/**
 * kwq_keyed_remove() - take a key out (Q11)
 * @keyed: the queue
 * @key: the key
 * @flags: KWQ_REMOVE_* bits
 *
 * Return: what it was, as KWQ_WAS_* bits; -ENOENT if the queue has no such key.
 */
int kwq_keyed_remove(struct kwq_keyed *keyed, const struct kwq_key *key, u32 flags)
{
	return with_item(keyed, key, flags, kwq_remove_locked);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_remove);

/* Counts have 32 bits, results one less. */
static int count_result(u32 count)
{
	return min_t(u32, count, INT_MAX);
}

static int forget_locked(struct kwq_queue *queue, struct kwq_item *item, u32 unused)
{
	return count_result(kwq_core_forget(&queue->core, item,
					    kwq_now_locked(queue)));
}

/**
 * kwq_keyed_forget() - begin a key's requeues again at 0 (L8)
 * @keyed: the queue
 * @key: the key
 *
 * Return: how many they were, up to INT_MAX; 0 if the queue has no such key.
 */
int kwq_keyed_forget(struct kwq_keyed *keyed, const struct kwq_key *key)
{
	return max(with_item(keyed, key, 0, forget_locked), 0);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_forget);

static int num_requeues_locked(struct kwq_queue *queue, struct kwq_item *item,
			       u32 unused)
{
	return count_result(kwq_core_num_requeues(&queue->core, item,
						  kwq_now_locked(queue)));
}

/**
 * kwq_keyed_num_requeues() - how often a key was rate-limited (L9)
 * @keyed: the queue
 * @key: the key
 *
 * Return: the number, up to INT_MAX; 0 if the queue has no such key.
 */
int kwq_keyed_num_requeues(struct kwq_keyed *keyed, const struct kwq_key *key)
{
	return max(with_item(keyed, key, 0, num_requeues_locked), 0);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_num_requeues);

/* The item that died first of those after that death. */
static struct rb_node *first_dead_after(const struct kwq_keyed *keyed, u64 after)
{
	struct rb_node *node = keyed->dead.rb_node;
	struct rb_node *found = NULL;

	while (node) {
		if (rb_entry(node, struct kwq_keyed_item, by_ticket)->ticket > after) {
			found = node;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return found;
}

/**
 * kwq_keyed_list_dead() - list dead items, those first that died first (L11)
 * @keyed: the queue
 * @after: only deaths with a higher number
 * @page: filled in, with at most KWQ_ITEMS_PER_HOLD items
 *
 * Return: how many were filled in; -EMSGSIZE if the first one's key does not fit.
 */
int kwq_keyed_list_dead(struct kwq_keyed *keyed, u64 after,
			struct kwq_dead_page *page)
{
	const struct kwq_keyed_item *ki;
	struct rb_node *node;
	unsigned long flags;
	int ret = 0;
	u32 nr = 0;
	ktime_t now;

	page->keys_len = 0;
	spin_lock_irqsave(&keyed->queue.lock, flags);
	now = kwq_now_locked(&keyed->queue);
	for (node = first_dead_after(keyed, after); node && nr < page->max_items;
	     node = rb_next(node), nr++) {
		ki = rb_entry(node, struct kwq_keyed_item, by_ticket);
		if (ki->key_len > page->max_keys - page->keys_len) {
			ret = nr ? 0 : -EMSGSIZE;
			break;
		}
		memcpy(page->keys + page->keys_len, ki->key, ki->key_len);
		page->keys_len += ki->key_len;
		page->entries[nr] = (struct kwq_dead_entry){
			.number = ki->ticket,
			.age = now - ki->item.since,
			.key_len = ki->key_len,
			.priority = ki->item.priority,
			.requeues = ki->item.requeues,
		};
	}
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
	return ret ?: nr;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_list_dead);

/**
 * kwq_keyed_advance() - move a manual clock on
 * @keyed: the queue
 * @time: by so many ns, or
 * @to: to that time
 *
 * Context: process; may sleep.
 * Return: 0; with nothing changed -EOPNOTSUPP (a real clock), -EPERM (a named queue
 * of somebody else's), -EINVAL (back).
 */
int kwq_keyed_advance(struct kwq_keyed *keyed, u64 time, bool to)
{
	struct kwq_queue *queue = &keyed->queue;
	ktime_t now;

	if (queue->clock != KWQ_CLOCK_MANUAL)
		return -EOPNOTSUPP;
	if (*keyed->name && !uid_eq(current_fsuid(), keyed->owner))
		return -EPERM;
	now = min_t(u64, time, KTIME_MAX);
	if (!to)
		now = kwq_begin_advance_by(queue, time);
	else if (now < kwq_queue_now(queue))
		return -EINVAL;
	/* Millions may be due. */
	while (kwq_advance_some(queue, now))
		cond_resched();
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_advance);

static void settle_dropped(struct kwq_queue *queue, struct kwq_item *item)
{
	kwq_keyed_settle(container_of(queue, struct kwq_keyed, queue),
			 kwq_keyed_item_of(item));
}

static bool drop_some(struct kwq_keyed *keyed)
{
	unsigned long flags;
	bool more;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	more = kwq_drop_locked(&keyed->queue, settle_dropped);
	kwq_keyed_unlock(keyed, flags);
	return more;
}

/* Forgets a bounded number of counts. Returns true if there may be more. */
static bool drop_remembered(struct kwq_keyed *keyed)
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

/* Q10: what will never be handed out. */
static void drop_all(struct kwq_keyed *keyed)
{
	while (drop_some(keyed))
		cond_resched();
	while (drop_remembered(keyed))
		cond_resched();
}

/**
 * kwq_keyed_shut_down() - refuse adds, drop what is waiting, wake everyone (Q8)
 * @keyed: the queue
 *
 * Context: process; may sleep.
 */
void kwq_keyed_shut_down(struct kwq_keyed *keyed)
{
	kwq_begin_shut_down(&keyed->queue, false);
	drop_all(keyed);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_shut_down);

/**
 * kwq_keyed_drain() - shut down, and wait until all is done (Q9)
 * @keyed: the queue
 * @deadline: until when, on the queue's clock; KTIME_MAX for ever
 *
 * Context: process; sleeps.
 * Return: as kwq_wait_drained().
 */
int kwq_keyed_drain(struct kwq_keyed *keyed, ktime_t deadline)
{
	u64 shut_downs = kwq_begin_shut_down(&keyed->queue, true);

	drop_all(keyed);
	return kwq_wait_drained(&keyed->queue, shut_downs, deadline);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_drain);

/**
 * kwq_keyed_stat() - read a queue's state and counters
 * @keyed: the queue
 * @stat: filled in, but for @stat->size
 *
 * All numbers are of one moment.
 */
void kwq_keyed_stat(struct kwq_keyed *keyed, struct kwq_stat *stat)
{
	const struct kwq_core *core = &keyed->queue.core;
	struct kwq_gauges gauges;
	unsigned long flags;
	ktime_t now;

	memset(stat, 0, sizeof(*stat));
	stat->max_items = keyed->limits.max_items;
	stat->max_bytes = keyed->limits.max_bytes;
	stat->uid = from_kuid_munged(current_user_ns(), keyed->owner);
	stat->gid = from_kgid_munged(current_user_ns(), keyed->group);
	stat->mode = keyed->mode;
	stat->clockid = keyed->queue.clock == KWQ_CLOCK_MANUAL ?
			KWQ_CLOCK_ID_MANUAL : kwq_queue_clockid(&keyed->queue);
	strscpy(stat->name, keyed->name, sizeof(stat->name));
	if (READ_ONCE(keyed->unlinked))
		stat->state |= KWQ_STATE_UNLINKED;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	if (core->shut_down)
		stat->state |= KWQ_STATE_SHUT_DOWN;
	stat->ready = core->nr_ready;
	stat->waiting = core->nr_waiting;
	stat->processing = core->nr_processing;
	stat->items = keyed->nr_items;
	stat->bytes = keyed->nr_bytes;
	stat->adds = core->adds;
	stat->coalesced = core->coalesced;
	stat->gets = core->gets;
	stat->dones = core->dones;
	stat->abandoned = core->abandoned;
	stat->removed = core->removed;
	stat->dropped = core->dropped;
	stat->handles = keyed->nr_handles;
	stat->retries = core->retries;
	stat->rate_limited = core->rate_limited;
	stat->died = core->died;
	stat->dead = core->nr_dead;
	stat->remembered = keyed->nr_remembered;
	stat->queue_duration = core->queue_duration;
	stat->work_duration = core->work_duration;
	stat->lateness = core->lateness;
	now = kwq_now_locked(&keyed->queue);
	kwq_core_gauges(core, &gauges, now);
	spin_unlock_irqrestore(&keyed->queue.lock, flags);

	stat->now = kwq_caller_time(keyed, now);
	stat->oldest_ready = gauges.oldest_ready;
	stat->longest_running = gauges.longest_running;
	stat->unfinished = gauges.unfinished;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_stat);

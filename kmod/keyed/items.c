// SPDX-License-Identifier: GPL-2.0-only
/*
 * Items of keys: allocated, remembered, freed.
 *
 * All this happens under the queue's lock, except slow work and allocations. Keys are hashed
 * before, new items are charged and allocated before, and old items are freed and uncharged
 * afterwards. So an item keeps its charge wherever it moves meanwhile.
 *
 * An item that becomes idle is removed in the same hold of the lock, unless it has requeues
 * to remember (L10). Such an item does not count towards the queue's limits, because an add must
 * not depend on counts of keys that are not in the queue. Remembered items have limits of their
 * own, which are as large: remembering one more drops the oldest one.
 */
#include <linux/cache.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <kunit/visibility.h>
#include "compat.h"
#include "keyed.h"

/*
 * Most keys are short. Items with room for a short key have one common size, and are
 * allocated and freed in bulk.
 */
#define SMALL_ROOM	40
#define SMALL_SIZE	(sizeof(struct kwq_keyed_item) + SMALL_ROOM)

/* The room also has to hold a lease, or the slots of values, which lie behind the key. */
static_assert(sizeof(struct kwq_lease) < SMALL_ROOM &&
	      KWQ_SLOTS * sizeof(struct kwq_value *) < SMALL_ROOM &&
	      SMALL_ROOM % __alignof__(struct kwq_lease) == 0);

/*
 * The kinds of items, which are bits. GROUPED: the item has a &struct kwq_member. FOLLOWED: it has
 * a &struct kwq_change. An allocation begins with these.
 */
#define GROUPED		BIT(0)
#define FOLLOWED	BIT(1)

static struct {
	const char *name;
	size_t before;
	struct kmem_cache *small_items;
} kinds[] __ro_after_init = {
	[0] = { "kwq_item" },
	[GROUPED] = { "kwq_grouped_item", sizeof(struct kwq_member) },
	[FOLLOWED] = { "kwq_followed_item", sizeof(struct kwq_change) },
	[GROUPED | FOLLOWED] = { "kwq_followed_grouped_item",
				 sizeof(struct kwq_change) + sizeof(struct kwq_member) },
};

/* Secret, so that users cannot choose keys that collide. The second is for equal hashes. */
static hsiphash_key_t secret __ro_after_init;
static hsiphash_key_t second_secret __ro_after_init;

/* Secret and odd. */
u64 kwq_ticket_factors[2] __ro_after_init;

/**
 * kwq_items_register() - create the caches of items, and choose the secrets
 *
 * get_random_once() would choose a secret at its first use, but would hold the module
 * until a worker has run.
 *
 * Return: 0 or -ENOMEM.
 */
int __init kwq_items_register(void)
{
	int kind;

	get_random_bytes(&secret, sizeof(secret));
	get_random_bytes(&second_secret, sizeof(second_secret));
	kwq_ticket_factors[0] = get_random_u64() | 1;
	kwq_ticket_factors[1] = get_random_u64() | 1;
	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		kinds[kind].small_items = kmem_cache_create(kinds[kind].name,
							    kinds[kind].before + SMALL_SIZE, 0,
							    SLAB_ACCOUNT, NULL);
		if (!kinds[kind].small_items) {
			kwq_items_unregister();
			return -ENOMEM;
		}
	}
	return 0;
}

/**
 * kwq_items_unregister() - destroy the caches of items; no queue is left
 */
void kwq_items_unregister(void)
{
	int kind;

	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++)
		kmem_cache_destroy(kinds[kind].small_items);
}

/**
 * kwq_key_hash() - compute the hash of a key
 * @key: the key
 */
void kwq_key_hash(struct kwq_key *key)
{
	key->hash = hsiphash(key->bytes, key->len, &secret);
}

/**
 * kwq_key_second_hash() - compute another hash of an item's key
 * @ki: the item
 *
 * Return: the hash. It tells most keys apart whose first hashes are equal.
 */
u32 kwq_key_second_hash(const struct kwq_keyed_item *ki)
{
	KUNIT_STATIC_STUB_REDIRECT(kwq_key_second_hash, ki);
	return hsiphash(ki->key, ki->key_len, &second_secret);
}

static struct kwq_keyed_item *item_of(struct kwq_node *node)
{
	return container_of(node, struct kwq_keyed_item, by_key);
}

/* Not inlined: the array may be zeroed, which would slow down the free of a single item. */
static noinline void free_many(const struct kwq_keyed *keyed, struct kwq_node *node)
{
	size_t before = keyed->size_before;
	struct kwq_keyed_item *ki;
	void *small[16];
	size_t nr = 0;

	while (node) {
		ki = item_of(node);
		node = node->next;
		if (!kwq_item_is_small(keyed, ki->key_len)) {
			kfree((void *)ki - before);
			/*
			 * O8: leases that expired after a shut down may have left very many
			 * items.
			 */
			cond_resched();
			continue;
		}
		small[nr++] = (void *)ki - before;
		if (nr == ARRAY_SIZE(small)) {
			kmem_cache_free_bulk(keyed->small_items, nr, small);
			cond_resched();
			nr = 0;
		}
	}
	if (nr)
		kmem_cache_free_bulk(keyed->small_items, nr, small);
}

static void free_items(const struct kwq_keyed *keyed, struct kwq_node *node)
{
	if (node && !node->next && kwq_item_is_small(keyed, item_of(node)->key_len))
		kmem_cache_free(keyed->small_items, (void *)item_of(node) - keyed->size_before);
	else if (node)
		free_many(keyed, node);
}

/* The same for items in the table, which still have their values. Nobody uses the queue. */
static void free_in_table(const struct kwq_keyed *keyed, struct kwq_node *nodes)
{
	struct kwq_value **slots;
	struct kwq_node *node;

	if (keyed->limits.values) {
		for (node = nodes; node; node = node->next) {
			slots = kwq_value_slot(keyed, item_of(node));
			kvfree(slots[KWQ_VALUE]);
			kvfree(slots[KWQ_NOTE]);
		}
	}
	free_items(keyed, nodes);
}

static void put_in_stock(struct kwq_stock *stock, const struct kwq_keyed *keyed, void *small)
{
	struct kwq_keyed_item *ki = small + keyed->size_before;

	/* kwq_stock_free() calls kwq_item_is_small() on it. */
	ki->key_len = 0;
	ki->by_key.next = stock->small;
	stock->small = &ki->by_key;
}

/*
 * L10: how many bytes of counts would have to go before a charge. Those of a followed queue stay
 * until they were read, and the machine's bytes may be those of others: then it is U64_MAX.
 */
static u64 bytes_to_drop(const struct kwq_keyed *keyed, u64 bytes)
{
	return keyed->changes ? U64_MAX : kwq_quota_missing(keyed->quota, bytes);
}

/**
 * kwq_keyed_charge() - charge memory that an add is about to allocate
 * @keyed: the queue
 * @bytes: number of bytes
 *
 * L10: if a quota is full, counts of idle keys give up their memory, if they have enough of it.
 *
 * Context: process; may sleep.
 * Return: true; false if a quota refuses. Then the queue's pollers are told once bytes come back.
 */
bool kwq_keyed_charge(struct kwq_keyed *keyed, u64 bytes)
{
	u64 missing;

	while (!kwq_quota_charge(keyed->quota, bytes)) {
		missing = bytes_to_drop(keyed, bytes);
		/* data_race(): only a guess; nothing is dropped but what is there */
		if (missing && missing <= data_race(keyed->bytes_remembered))
			kwq_keyed_drop_remembered(keyed, missing);
		else if (missing && kwq_quota_watch(keyed, bytes))
			return false;
		cond_resched();
	}
	return true;
}

/**
 * kwq_keyed_has_memory() - would kwq_keyed_charge() grant the item of a new, short key (Q19)
 * @keyed: the queue
 *
 * Context: process.
 * Return: true if so; false if the queue's pollers are told later.
 */
bool kwq_keyed_has_memory(struct kwq_keyed *keyed)
{
	u32 bytes = keyed->small_bytes;

	if (!kwq_quota_watch(keyed, bytes))
		return true;
	/* data_race(): remember() keeps no more after a refusal was noted, so this is exact */
	return bytes_to_drop(keyed, bytes) <= data_race(keyed->bytes_remembered);
}

/* The most small items that are allocated for one hold of the lock. */
#define STOCK_MAX	32

/* Not inlined, like free_many(). */
static noinline void fill_with_many(struct kwq_stock *stock, struct kwq_keyed *keyed, u32 nr)
{
	void *small[STOCK_MAX];
	u32 got, i;

	nr = min_t(u32, nr, STOCK_MAX);
	if (!kwq_quota_charge(keyed->quota, nr * keyed->small_bytes))
		return;
	got = kwq_alloc_bulk(keyed->small_items, GFP_KERNEL, nr, small);
	for (i = got; i--;)
		put_in_stock(stock, keyed, small[i]);
	if (got < nr)
		kwq_quota_uncharge(keyed->quota, (nr - got) * keyed->small_bytes);
}

static bool has_item(const struct kwq_keyed *keyed, const struct kwq_stock *stock,
		     u32 key_len)
{
	if (kwq_item_is_small(keyed, key_len))
		return stock->small;
	return stock->large && stock->large_len == key_len;
}

static bool alloc_large(struct kwq_stock *stock, const struct kwq_keyed *keyed, u32 key_len)
{
	stock->large_len = key_len;
	stock->large = kmalloc(kwq_item_size(keyed, key_len), GFP_KERNEL_ACCOUNT);
	return stock->large;
}

static bool alloc_item(struct kwq_stock *stock, const struct kwq_keyed *keyed, u32 key_len)
{
	void *small;

	if (!kwq_item_is_small(keyed, key_len))
		return alloc_large(stock, keyed, key_len);
	small = kmem_cache_alloc(keyed->small_items, GFP_KERNEL);
	if (small)
		put_in_stock(stock, keyed, small);
	return small;
}

/* Allocates what was charged. Without memory for a part, the charge of that part ends. */
static bool alloc_charged(struct kwq_stock *stock, struct kwq_keyed *keyed,
			  const struct kwq_key *key, const struct kwq_extras *extras)
{
	bool ret = true;

	if (stock->wants_item && !alloc_item(stock, keyed, key->len)) {
		kwq_quota_uncharge(keyed->quota, kwq_item_bytes(keyed, key->len));
		ret = false;
	}
	if (stock->wants_group && !kwq_stock_fill_group(stock, &extras->group)) {
		kwq_quota_uncharge(keyed->quota, kwq_keyed_group_bytes(extras->group.len));
		ret = false;
	}
	if (stock->wants_value)
		stock->value_bytes = kwq_extras_bytes(extras);
	return ret;
}

/* All that an add lacked. So adds that take turns in a full quota never hold a part of it. */
static u32 wanted_bytes(const struct kwq_stock *stock, const struct kwq_keyed *keyed,
			const struct kwq_key *key, const struct kwq_extras *extras)
{
	u32 bytes = stock->wants_item ? kwq_item_bytes(keyed, key->len) : 0;

	if (stock->wants_group)
		bytes += kwq_keyed_group_bytes(extras->group.len);
	if (stock->wants_value)
		bytes += kwq_extras_bytes(extras);
	return bytes;
}

/**
 * kwq_stock_fill() - charge and allocate what an add lacked
 * @stock: the stock
 * @keyed: the queue for which it is
 * @key: the next key
 * @extras: what the add brings; NULL if it has none
 * @nr: number of keys still to come, including @key
 *
 * Context: process; may sleep.
 * Return: 0; -ENOMEM; -EDQUOT if a quota refuses. Then @stock->lacking is filled in.
 */
int kwq_stock_fill(struct kwq_stock *stock, struct kwq_keyed *keyed, const struct kwq_key *key,
		   const struct kwq_extras *extras, u32 nr)
{
	u32 bytes;

	/* It was for another key, or for another group. */
	if ((stock->wants_item && stock->large) || (stock->wants_group && stock->group))
		kwq_stock_free(stock, keyed);
	if (stock->wants_item && nr > 1 && kwq_item_is_small(keyed, key->len))
		fill_with_many(stock, keyed, nr);
	if (has_item(keyed, stock, key->len))
		stock->wants_item = false;
	bytes = wanted_bytes(stock, keyed, key, extras);
	if (bytes && !kwq_keyed_charge(keyed, bytes)) {
		stock->lacking = bytes;
		return -EDQUOT;
	}
	if (!alloc_charged(stock, keyed, key, extras))
		return -ENOMEM;
	return 0;
}

/**
 * kwq_stock_bytes() - bytes that are charged for a stock
 * @stock: the stock
 * @keyed: the queue for which it is
 *
 * Return: the number of bytes.
 */
u32 kwq_stock_bytes(const struct kwq_stock *stock, const struct kwq_keyed *keyed)
{
	const struct kwq_node *node;
	u32 bytes = stock->value_bytes;

	/* At most STOCK_MAX. */
	for (node = stock->small; node; node = node->next)
		bytes += keyed->small_bytes;
	if (stock->large)
		bytes += kwq_item_bytes(keyed, stock->large_len);
	if (stock->group)
		bytes += kwq_keyed_group_bytes(stock->group_len);
	return bytes;
}

/**
 * kwq_stock_free() - kwq_stock_empty() of a stock that is not empty
 * @stock: the stock
 * @keyed: the queue for which it was
 */
noinline void kwq_stock_free(struct kwq_stock *stock, struct kwq_keyed *keyed)
{
	u32 bytes = kwq_stock_bytes(stock, keyed);

	free_items(keyed, stock->small);
	kfree(stock->large);
	kfree(stock->group);
	stock->small = NULL;
	stock->large = NULL;
	stock->group = NULL;
	stock->value_bytes = 0;
	kwq_quota_uncharge(keyed->quota, bytes);
}

/**
 * kwq_stock_begin() - fill a stock for keys that are probably new
 * @stock: the stock, zeroed
 * @keyed: the queue for which it is
 * @key: the first key
 * @extras: what the add brings; NULL if it has none
 * @nr: number of keys
 *
 * Context: process; may sleep.
 */
inline void kwq_stock_begin(struct kwq_stock *stock, struct kwq_keyed *keyed,
			    const struct kwq_key *key, const struct kwq_extras *extras, u32 nr)
{
	u32 bytes;

	/* data_race(): only a guess */
	stock->wants_item = data_race(keyed->expects_new);
	stock->wants_value = extras && (extras->value || extras->note);
	if (nr > 1 && stock->wants_item && kwq_item_is_small(keyed, key->len)) {
		fill_with_many(stock, keyed, nr);
		return;
	}
	bytes = wanted_bytes(stock, keyed, key, extras);
	/* Counts are not dropped for a guess. */
	if (bytes && kwq_quota_charge(keyed->quota, bytes))
		alloc_charged(stock, keyed, key, extras);
}

/**
 * kwq_keyed_lacks_item() - does an add of a new key need memory
 * @keyed: the queue; its lock held
 * @stock: memory for a new item
 * @key_len: length of the key
 *
 * Return: true if the caller has to call kwq_stock_fill() and try again.
 */
inline bool kwq_keyed_lacks_item(const struct kwq_keyed *keyed, struct kwq_stock *stock,
				 u32 key_len)
{
	stock->wants_item = !has_item(keyed, stock, key_len);
	return stock->wants_item;
}

static struct kwq_keyed_item *take_item(struct kwq_keyed *keyed,
					struct kwq_stock *stock, u32 key_len)
{
	void *large = stock->large;
	struct kwq_node *node;

	if (unlikely(!kwq_item_is_small(keyed, key_len))) {
		stock->large = NULL;
		return large + keyed->size_before;
	}
	node = stock->small;
	stock->small = node->next;
	return item_of(node);
}

static u32 hash_of_key(const struct kwq_node *node)
{
	return container_of(node, struct kwq_keyed_item, by_key)->hash;
}

static void *new_page_of_keys(struct kwq_table *table)
{
	return kwq_keyed_new_page(container_of(table, struct kwq_keyed, table));
}

static void free_page_of_keys(struct kwq_table *table, void *page)
{
	kwq_keyed_free_page(container_of(table, struct kwq_keyed, table), page);
}

static const struct kwq_table_ops ops_of_keys = {
	.hash = hash_of_key,
	.new_page = new_page_of_keys,
	.drop_page = free_page_of_keys,
};

/**
 * kwq_keyed_init_items() - initialise a queue's items and their table
 * @keyed: the queue
 *
 * Context: process; may sleep.
 * Return: 0 or -ENOMEM.
 */
int kwq_keyed_init_items(struct kwq_keyed *keyed)
{
	int kind = (keyed->limits.groups ? GROUPED : 0) | (keyed->limits.changes ? FOLLOWED : 0);
	/* Allocated apart, so that the queue fits into 8 KiB. */
	struct kwq_table_top *top = kzalloc(sizeof(*top), GFP_KERNEL_ACCOUNT);

	if (!top)
		return -ENOMEM;
	kwq_table_init(&keyed->table, top, &ops_of_keys);
	keyed->items_have_more = keyed->limits.lease || keyed->limits.values ||
				 keyed->limits.groups || keyed->limits.changes;
	keyed->small_items = kinds[kind].small_items;
	keyed->size_before = kinds[kind].before;
	keyed->small_bytes = kwq_bytes_in_slab(ALIGN(SMALL_SIZE + keyed->size_before,
						     ARCH_SLAB_MINALIGN));
	/* With a lease and slots of values there is no room left, and every item is a large one. */
	keyed->small_key_max = max_t(int, 0, SMALL_SIZE + keyed->size_before -
				     kwq_item_size(keyed, 0));
	INIT_LIST_HEAD(&keyed->remembered);
	init_waitqueue_head(&keyed->adders);
	init_waitqueue_func_entry(&keyed->in_quota, kwq_quota_tell_pollers);
	INIT_LIST_HEAD(&keyed->in_quota.entry);
	return 0;
}

/**
 * kwq_keyed_destroy_items() - free the items and their table
 * @keyed: the queue; nobody uses it any more
 *
 * Context: process; may sleep.
 */
void kwq_keyed_destroy_items(struct kwq_keyed *keyed)
{
	/* Items that the timer ended and no worker has freed. */
	free_items(keyed, keyed->gone);
	kwq_memory_free(keyed->gone_memory);
	while (keyed->table.nr_buckets) {
		free_in_table(keyed, kwq_table_empty_last(&keyed->table));
		cond_resched();
	}
	kfree(keyed->changes);
	kfree(keyed->table.top);
	kwq_keyed_destroy_groups(keyed);
}

static noinline void leave_remembered(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	list_del(&ki->remembered);
	keyed->nr_remembered--;
	keyed->bytes_remembered -= kwq_item_bytes(keyed, ki->key_len);
	ki->is_remembered = false;
}

/* An item that is idle has neither a value nor a note nor a group. */
static noinline void drop_extras(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	if (keyed->limits.values) {
		kwq_keyed_drop_slot(keyed, ki, KWQ_VALUE);
		kwq_keyed_drop_slot(keyed, ki, KWQ_NOTE);
	}
	if (keyed->limits.groups)
		kwq_keyed_leave_group(keyed, ki);
}

/*
 * The rest of discard() in a queue with changes. Returns true if the item stays until the follower
 * has read that it is gone. Then it has no requeues to remember, even if they were not forgotten.
 */
static noinline bool has_to_be_read(struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
				    bool was_remembered)
{
	ki->is_added = false;
	if (was_remembered)
		kwq_note_change(keyed, ki);
	if (list_empty(&kwq_change_of(keyed, ki)->link))
		return false;
	kwq_core_forget(&keyed->queue.core, &ki->item, 0);
	return true;
}

static void discard(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	bool was_remembered = ki->is_remembered;

	if (was_remembered)
		leave_remembered(keyed, ki);
	if (unlikely(keyed->items_have_more)) {
		drop_extras(keyed, ki);
		if (keyed->changes && has_to_be_read(keyed, ki, was_remembered))
			return;
	}
	keyed->nr_items--;
	kwq_table_remove(&keyed->table, &ki->by_key, ki->hash);
	kwq_keyed_lose_bytes(keyed, kwq_item_bytes(keyed, ki->key_len));
	ki->by_key.next = keyed->gone;
	keyed->gone = &ki->by_key;
}

static struct kwq_keyed_item *first_remembered(struct kwq_keyed *keyed)
{
	return list_first_entry_or_null(&keyed->remembered, struct kwq_keyed_item,
					remembered);
}

static bool has_too_many_remembered(const struct kwq_keyed *keyed)
{
	return keyed->nr_remembered > keyed->limits.max_items ||
	       keyed->bytes_remembered > keyed->limits.max_bytes;
}

/* L10: has an item to go, because another one was remembered? It is the @n-th. */
static bool has_to_go(const struct kwq_keyed *keyed, const struct kwq_keyed_item *ki, ktime_t now,
		      int n)
{
	if (has_too_many_remembered(keyed))
		return true;
	if (!kwq_core_num_requeues(&keyed->queue.core, &ki->item, now))
		return true;
	/* While memory is short, they become no more. But the new one itself stays. */
	return !n && kwq_quota_is_short(keyed->quota) &&
	       !list_is_last(&ki->remembered, &keyed->remembered);
}

/*
 * L10: an item was remembered, so up to two go: those that are old enough to be forgotten, and
 * others if they are too many or their owner's memory is short. So they cannot pile up, and they
 * cannot take the memory that adds need.
 */
static void discard_old_ones(struct kwq_keyed *keyed, ktime_t now)
{
	struct kwq_keyed_item *ki;
	int n;

	for (n = 0; n < 2; n++) {
		ki = first_remembered(keyed);
		if (!ki || !has_to_go(keyed, ki, now, n))
			return;
		discard(keyed, ki);
	}
	/* Two short keys may not make up for a long one, which is then not remembered itself. */
	if (has_too_many_remembered(keyed))
		discard(keyed, list_last_entry(&keyed->remembered, struct kwq_keyed_item,
					       remembered));
}

static noinline void remember(struct kwq_keyed *keyed, struct kwq_keyed_item *ki, ktime_t now)
{
	/* One that was remembered has some if it was restored with them. */
	drop_extras(keyed, ki);
	if (ki->is_remembered)
		return;
	list_add_tail(&ki->remembered, &keyed->remembered);
	keyed->nr_remembered++;
	keyed->bytes_remembered += kwq_item_bytes(keyed, ki->key_len);
	ki->is_remembered = true;
	smp_mb(); /* pairs with smp_mb() in kwq_quota_refuser(), which has set that it was wanted */
	if (unlikely(!keyed->changes && kwq_quota_is_wanted(keyed->quota)))
		discard(keyed, ki);
	else
		discard_old_ones(keyed, now);
}

/* Would an add of a new, short key find room? */
static bool has_room(const struct kwq_keyed *keyed)
{
	return kwq_keyed_has_room_for(keyed, 1, keyed->small_bytes);
}

/**
 * kwq_keyed_poll_room() - would an add of a new, short key find room, as a poller asks (Q19)
 * @keyed: the queue; its lock held; the caller is on its list of pollers
 *
 * Return: true if there is room; false if the pollers get EPOLLOUT later.
 */
bool kwq_keyed_poll_room(struct kwq_keyed *keyed)
{
	if (has_room(keyed))
		return true;
	keyed->owes |= KWQ_OWES_ROOM;
	return false;
}

/*
 * Q19: an add or a poll found no room before, and now an item may have been removed or
 * become idle. This wakes all pollers that wait for room. A single wake-up could be lost
 * with a poller that dies or has nothing to add. Pollers that wait only for EPOLLIN are not
 * woken, because the wake-up names its event, EPOLLOUT.
 */
static void tell_room(struct kwq_keyed *keyed)
{
	if (!has_room(keyed))
		return;
	keyed->owes &= ~KWQ_OWES_ROOM;
	kwq_tell_pollers_locked(&keyed->queue, EPOLLOUT | EPOLLWRNORM);
}

/* The steps that few queues need. The item has its key, but is not in the table yet. */
static inline void finish_insert(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	if (keyed->limits.lease)
		kwq_lease_of(ki)->ki = ki;
	if (keyed->changes) {
		INIT_LIST_HEAD(&kwq_change_of(keyed, ki)->link);
		kwq_set_token(keyed, ki, 0);
	}
	if (keyed->limits.groups)
		kwq_member_of(ki)->group = NULL;
	if (keyed->limits.values)
		memset(kwq_value_slot(keyed, ki), 0, KWQ_SLOTS * sizeof(struct kwq_value *));
}

/**
 * kwq_keyed_insert() - create the item of a new key
 * @keyed: the queue; its lock held
 * @bucket: the key's bucket in its table
 * @key: the key, with its hash
 * @stock: memory for the item; kwq_keyed_lacks_item() was false in this hold, and room was made
 *
 * Unless it is added to the queue, kwq_keyed_settle() removes it again.
 *
 * Return: the item.
 */
struct kwq_keyed_item *kwq_keyed_insert(struct kwq_keyed *keyed, struct kwq_node **bucket,
					const struct kwq_key *key, struct kwq_stock *stock)
{
	struct kwq_keyed_item *ki;

	lockdep_assert_held(&keyed->queue.lock);
	ki = take_item(keyed, stock, key->len);
	kwq_item_init(&ki->item);
	ki->is_remembered = false;
	ki->is_posted = false;
	ki->is_added = false;
	ki->hash = key->hash;
	ki->key_len = key->len;
	kwq_copy_key(ki->key, key->bytes, key->len);
	if (unlikely(keyed->items_have_more))
		finish_insert(keyed, ki);
	keyed->nr_items++;
	keyed->nr_bytes += kwq_item_bytes(keyed, key->len);
	kwq_table_insert(&keyed->table, &ki->by_key, bucket);
	return ki;
}

/**
 * kwq_keyed_settle_slow() - slow path of kwq_keyed_settle()
 * @keyed: the queue; its lock held
 * @ki: the item
 * @now: current time
 */
void kwq_keyed_settle_slow(struct kwq_keyed *keyed, struct kwq_keyed_item *ki, ktime_t now)
{
	lockdep_assert_held(&keyed->queue.lock);
	if (!kwq_item_is_idle(&ki->item)) {
		if (ki->is_remembered)
			leave_remembered(keyed, ki);
	} else if (ki->item.requeues && !keyed->queue.core.shut_down) {
		remember(keyed, ki, now);
	} else {
		discard(keyed, ki);
	}
}

/**
 * kwq_keyed_drop_remembered() - remove some of the items that are only remembered
 * @keyed: the queue
 * @bytes: as many bytes of them, or a few more
 *
 * A hold removes KWQ_ITEMS_PER_HOLD at most.
 *
 * Context: process; may sleep.
 * Return: bytes of the removed ones; 0 if there are none.
 */
u64 kwq_keyed_drop_remembered(struct kwq_keyed *keyed, u64 bytes)
{
	struct kwq_keyed_item *ki;
	unsigned long flags;
	u64 dropped = 0;
	int n;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	for (n = 0; n < KWQ_ITEMS_PER_HOLD && dropped < bytes; n++) {
		ki = first_remembered(keyed);
		if (!ki)
			break;
		dropped += kwq_item_bytes(keyed, ki->key_len);
		discard(keyed, ki);
	}
	kwq_keyed_unlock(keyed, flags);
	return dropped;
}

static __always_inline void unlock_and_free(struct kwq_keyed *keyed, unsigned long flags)
	__releases(&keyed->queue.lock)
{
	struct kwq_node *gone = keyed->gone;
	u64 bytes = keyed->gone_bytes;

	keyed->gone = NULL;
	keyed->gone_bytes = 0;
	kwq_unlock(&keyed->queue, flags);
	if (gone)
		free_items(keyed, gone);
	if (bytes)
		kwq_quota_uncharge(keyed->quota, bytes);
}

/* unlock_and_free() of a queue that owes something. */
static noinline void pay_and_unlock(struct kwq_keyed *keyed, unsigned long flags)
	__releases(&keyed->queue.lock)
{
	struct kwq_node *memory = keyed->gone_memory;
	u64 bytes;

	if (keyed->owes & KWQ_OWES_ROOM)
		tell_room(keyed);
	/* This wakes the first one that finds room: see room.c. */
	if (kwq_keyed_may_tell_adders(keyed))
		kwq_tell_adders_locked(keyed);
	keyed->gone_memory = NULL;
	if (keyed->owes & KWQ_OWES_LOSSES)
		kwq_tell_pollers_locked(&keyed->queue, EPOLLPRI);
	keyed->owes &= ~(KWQ_OWES_MEMORY | KWQ_OWES_LOSSES);
	/* Not before the memory is free, because somebody waits for it with the bytes. */
	bytes = keyed->gone_bytes;
	keyed->gone_bytes = 0;
	unlock_and_free(keyed, flags);
	kwq_memory_free(memory);
	if (bytes)
		kwq_quota_uncharge(keyed->quota, bytes);
}

/**
 * kwq_keyed_unlock() - kwq_unlock(), then free the items that are gone
 * @keyed: the queue; its lock and no other lock held
 * @flags: as spin_lock_irqsave() stored them
 *
 * Call it after any kwq_keyed_settle(). Sleeps only if kwq_keyed_free_gone_locked() would return
 * true.
 *
 * Context: process. The caller keeps the queue alive.
 */
void kwq_keyed_unlock(struct kwq_keyed *keyed, unsigned long flags)
	__releases(&keyed->queue.lock)
{
	if (unlikely(keyed->owes))
		pay_and_unlock(keyed, flags);
	else
		unlock_and_free(keyed, flags);
}

/**
 * kwq_keyed_free_gone_locked() - free what earlier operations of this hold have left to free
 * @keyed: the queue; its lock and no other lock held
 * @flags: as spin_lock_irqsave() stored them; changed if the lock was released
 *
 * A task that is about to sleep calls this before it sets its state, because kvfree() may sleep,
 * too.
 *
 * Context: process. The caller keeps the queue alive.
 * Return: true if the lock was released meanwhile, so that the caller has to look again.
 */
bool kwq_keyed_free_gone_locked(struct kwq_keyed *keyed, unsigned long *flags)
	__must_hold(&keyed->queue.lock)
{
	lockdep_assert_held(&keyed->queue.lock);
	if (!kwq_keyed_has_gone(keyed))
		return false;
	kwq_keyed_unlock(keyed, *flags);
	spin_lock_irqsave(&keyed->queue.lock, *flags);
	return true;
}

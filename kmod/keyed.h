/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keyed queues: bytes to items. What the device needs and drivers do not.
 *
 * keyed.c	what can be done with a key; the queue's life
 * items.c	items: where they come from, when they go
 * table.c	what finds them by their keys
 * dead.c	the list of dead items
 * handle.c	who holds what; tickets
 * lease.c	for how long he may
 * stat.c	what a queue tells of itself
 * names.c	named queues and who may open them
 * quota.c	how many queues a user has, and how many bytes in them
 */
#ifndef KWQ_KEYED_H
#define KWQ_KEYED_H

#include <linux/atomic.h>
#include <linux/cred.h>
#include <linux/kref.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>
#include "queue.h"
#include "table.h"

/*
 * How many bytes a queue takes from its owner's quota at a time. Two of them may lie
 * idle in each queue.
 */
#define KWQ_QUOTA_STEP		(16 * 1024)

/**
 * struct kwq_quota - what one user of one user namespace has
 * @node: in quotas, in quota.c; covered by quota_lock there
 * @ns: the user namespace, with a reference; constant
 * @user: the user; constant
 * @parent: the quota of the owner of @ns, or the machine's; constant
 * @refs: covered by quota_lock: the queues and the quotas that point here
 * @nr_queues: covered by quota_lock: queues here and in all quotas below that are not
 *	exempt
 * @nr_exempt: covered by quota_lock: those that are
 * @ending: covered by quota_lock: those of @nr_queues that a worker frees, by
 *	&kwq_keyed.end, in the order in which that began; only in a user of the initial
 *	user namespace
 * @bytes: what the queues of @nr_queues have taken
 * @exempt_bytes: what those of @nr_exempt have taken; 0 for the machine
 * @lock: covers @refused, and the list entries there
 * @refused: queues that were refused bytes here, by &kwq_keyed.refused
 * @tell: tells these that bytes came back
 */
struct kwq_quota {
	struct hlist_node node;
	struct user_namespace *ns;
	kuid_t user;
	struct kwq_quota *parent;
	unsigned int refs;
	unsigned int nr_queues;
	unsigned int nr_exempt;
	struct list_head ending;
	atomic64_t bytes;
	atomic64_t exempt_bytes;
	spinlock_t lock;	/* for @refused */
	struct list_head refused;
	struct work_struct tell;
};

/**
 * struct kwq_key - the bytes that identify an item
 * @bytes: the bytes
 * @len: how many, 1 to KWQ_KEY_MAX
 * @hash: for kwq_key_hash() to fill in
 */
struct kwq_key {
	const u8 *bytes;
	u32 len;
	u32 hash;
};

/**
 * struct kwq_keyed_item - an item and its key
 * @item: its state, all of it
 * @by_key: in &kwq_keyed.table; then in &kwq_keyed.gone
 * @hash: of @key; constant
 * @key_len: bytes of @key; constant
 * @life: what the rest is used for
 * @ticket: the present or last hand-out or death, 0 before the first
 * @by_ticket: in &kwq_keyed.tickets, and
 * @held: in &kwq_handle.held, while it is processing
 * @remembered: in &kwq_keyed.remembered, while it is idle
 * @dead: in &kwq_keyed.dead, while it is dead
 * @key: the key; constant
 *
 * All but the constants is covered by the queue's lock.
 *
 * An item is in the table as long as it is not idle or has requeues to remember, and
 * for the moment between its insertion and the add that it was made for.
 */
struct kwq_keyed_item {
	struct kwq_item item;
	struct kwq_node by_key;
	u32 hash;
	u16 key_len;
	u8 life;
	u64 ticket;
	union {
		struct {
			struct kwq_node by_ticket;
			struct hlist_node held;
		};
		struct list_head remembered;
		struct rb_node dead;
	};
	u8 key[] __counted_by(key_len);
};

enum {
	KWQ_LIFE_ADMITTED,	/* counted in nr_items, nr_bytes */
	KWQ_LIFE_REMEMBERED,	/* so too; idle, and in kwq_keyed.remembered */
	KWQ_LIFE_BURIED,	/* so too; dead, and in kwq_keyed.dead */
};

/**
 * struct kwq_lease - an item is held until
 * @link: in &kwq_keyed.leases while it is being processed
 * @expires: when it is to be taken back
 * @ki: the item; constant
 */
struct kwq_lease {
	struct list_head link;
	ktime_t expires;
	struct kwq_keyed_item *ki;
};

/**
 * kwq_lease_of() - where an item of a queue with leases has its own
 * @ki: the item
 *
 * Return: the lease, behind the key: items of other queues have no room for one.
 */
static inline struct kwq_lease *kwq_lease_of(struct kwq_keyed_item *ki)
{
	return PTR_ALIGN((void *)(ki->key + ki->key_len),
			 __alignof__(struct kwq_lease));
}

/**
 * struct kwq_limits - how much a queue may hold, and how long its items may be held
 * @max_items: items
 * @max_bytes: bytes of items and their keys, as the allocator takes them
 * @lease: ns, up to KTIME_MAX, from a hand-out or its extension until it is taken
 *	back; 0 for never
 */
struct kwq_limits {
	u64 max_items;
	u64 max_bytes;
	u64 lease;
};

/**
 * struct kwq_keyed - a queue of keys; with 64 bits it fits into 8 KiB
 * @queue: the queue
 * @limits: constant
 * @small_key_max: the longest key that an item of the common size has room for; constant
 * @table: L: items by key
 * @tickets: L: items that are handed out, by ticket
 * @tops: of the two; constant
 * @ticket_factors: of the hashes of tickets, odd; constant
 * @nr_items: L: items
 * @nr_bytes: L: what they take up
 * @room: L: what they may take up before more is to be taken from @quota
 * @own_bytes: L: what the queue and its tables take up, taken from @quota, too
 * @limiter_bytes: L: what its limiters' pauses take of these
 * @awaits_room: L: an add or a poll found no room; pollers are told once there is some
 * @last_ticket: L: never wraps: 2^64 hand-outs and deaths
 * @remembered: L: idle items that have requeues, in the order of their becoming idle
 * @nr_remembered: L: how many
 * @bytes_remembered: L: what they take up, of @nr_bytes
 * @dead: L: dead items, by the ticket of their death
 * @leases: L: of the items that are held, those first that end first
 * @expired: L: leases that ended
 * @gone: L: items that ended in this hold of the lock, and are to be freed
 * @expects_new: whether the last add was of a new key; a guess, read without the lock
 * @nr_handles: L: open handles
 * @ref: one for each handle, and one for the name
 * @work: frees items that the timer ended, and drops what a killed shut down or drain
 *	has left; has no reference, and is not queued once @ending is set
 * @drops: @work is to drop items; set once, never cleared
 * @ending: L: the last reference is gone; also read without the lock
 * @quota: the owner's, in which it is counted; constant
 * @exempt: made by somebody with CAP_SYS_RESOURCE; constant
 * @refused_by: L: the quota that last refused bytes; or NULL
 * @refused: covered by the lock of @refused_by: on its list, to be told
 * @being_told: how many workers are telling its pollers of room in a quota
 * @owner: who may unlink it; constant
 * @group: constant
 * @mode: permission bits; constant
 * @name: allocated; or empty if it never had one; constant
 * @by_name: in names.c's tree; or, once @ending is set,
 * @end: in &kwq_quota.ending; covered by quota_lock, as
 * @end_number: which end it is of all that a worker takes care of; 0 for none
 * @free: frees the queue
 * @unlinked: had a name; written under names.c's lock
 *
 * L: covered by @queue.lock.
 */
struct kwq_keyed {
	struct kwq_queue queue;
	struct kwq_table table;
	struct kwq_table tickets;
	struct kwq_limits limits;
	struct kwq_table_top *tops;
	u64 ticket_factors[2];
	u64 nr_items;
	u64 nr_bytes;
	u64 room;
	u64 own_bytes;
	u64 limiter_bytes;
	u64 last_ticket;
	struct list_head remembered;
	u64 nr_remembered;
	u64 bytes_remembered;
	struct rb_root dead;
	struct list_head leases;
	u64 expired;
	struct kwq_node *gone;
	u32 small_key_max;
	u32 nr_handles;
	struct kref ref;
	atomic_t being_told;
	kuid_t owner;
	kgid_t group;
	umode_t mode;
	bool exempt;
	bool expects_new;
	bool awaits_room;
	bool drops;
	bool ending;
	bool unlinked;
	struct work_struct work;
	struct kwq_quota *quota;
	struct kwq_quota *refused_by;
	struct list_head refused;
	union {
		struct rb_node by_name;
		struct {
			struct list_head end;
			u64 end_number;
			struct work_struct free;
		};
	};
	const char *name;
};

/**
 * struct kwq_handle - one open file description on a queue
 * @keyed: the queue
 * @holder: what it holds
 * @held: the same items, in the order in which they were handed out
 * @last: the last of them; NULL without any
 * @rights: KWQ_RIGHT_* bits; constant
 *
 * All but @keyed and @rights is covered by the queue's lock.
 */
struct kwq_handle {
	struct kwq_keyed *keyed;
	struct kwq_holder holder;
	struct hlist_head held;
	struct hlist_node *last;
	u32 rights;
};

/**
 * struct kwq_stock - what items are made of in the next hold of the lock
 * @small: items with short keys, each with the next in its @by_key
 * @large: one for a key of @large_len bytes; or NULL
 * @large_len: bytes of that key
 */
struct kwq_stock {
	struct kwq_node *small;
	void *large;
	u32 large_len;
};

/**
 * struct kwq_dead_page - where dead items are listed
 * @entries: room for @max_items
 * @keys: room for @max_keys bytes of packed keys
 * @max_items: most items to list
 * @max_keys: most bytes of keys
 * @keys_len: out: bytes used at @keys
 */
struct kwq_dead_page {
	struct kwq_dead_entry *entries;
	u8 *keys;
	u32 max_items;
	u32 max_keys;
	u32 keys_len;
};

/* items.c */
int kwq_items_register(void);
void kwq_items_unregister(void);
void kwq_key_hash(struct kwq_key *key);
bool kwq_stock_fill(struct kwq_stock *stock, const struct kwq_keyed *keyed,
		    const struct kwq_key *key, u32 nr);
void kwq_stock_free(struct kwq_stock *stock, const struct kwq_keyed *keyed);
u64 kwq_keyed_own_bytes(const char *name);
void kwq_keyed_count_limiters(struct kwq_keyed *keyed);
int kwq_keyed_init_items(struct kwq_keyed *keyed);
void kwq_keyed_destroy_items(struct kwq_keyed *keyed);
bool kwq_keyed_enlarge(struct kwq_keyed *keyed, struct kwq_table *table, int nr);
struct kwq_keyed_item *kwq_keyed_insert(struct kwq_keyed *keyed,
					const struct kwq_key *key,
					struct kwq_stock *stock);
bool kwq_keyed_has_room(struct kwq_keyed *keyed);
bool kwq_keyed_poll_room(struct kwq_keyed *keyed);
void kwq_keyed_move(struct kwq_keyed *keyed, struct kwq_keyed_item *ki, ktime_t now);
void kwq_keyed_unlock(struct kwq_keyed *keyed, unsigned long flags)
	__releases(&keyed->queue.lock);
bool kwq_keyed_drop_remembered(struct kwq_keyed *keyed);

/**
 * kwq_keyed_settle() - put an item where its state belongs
 * @keyed: the queue; its lock held
 * @ki: an item that was just worked on; not to be touched any more, for if it
 *	turned idle with nothing to remember it is gone
 * @now: the time it is
 */
static inline void kwq_keyed_settle(struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
				    ktime_t now)
{
	const u8 lively = KWQ_ITEM_DIRTY | KWQ_ITEM_WAITING | KWQ_ITEM_PROCESSING;

	if (!(ki->item.state & lively) || ki->life != KWQ_LIFE_ADMITTED)
		kwq_keyed_move(keyed, ki, now);
}

/**
 * kwq_stock_empty() - free what is left
 * @stock: the stock
 * @keyed: the queue that it was for
 *
 * Context: any.
 */
static inline void kwq_stock_empty(struct kwq_stock *stock,
				   const struct kwq_keyed *keyed)
{
	if (unlikely(stock->small || stock->large))
		kwq_stock_free(stock, keyed);
}

/**
 * kwq_ticket_hash() - where a ticket is looked for
 * @keyed: the queue
 * @ticket: the ticket
 *
 * They are counted up. But who gets them chooses those that he keeps, and could have
 * all of them in one bucket, to be walked through under the lock. To multiply them by an
 * odd number that nobody knows would scatter any two of them (Dietzfelbinger and others,
 * "A Reliable Randomized Algorithm for the Closest-Pair Problem", 1997), but a series
 * with one distance stays one, and can come to lie in few buckets; so it is broken, and
 * multiplied again.
 *
 * Return: the hash.
 */
static inline u32 kwq_ticket_hash(const struct kwq_keyed *keyed, u64 ticket)
{
	u64 product = ticket * keyed->ticket_factors[0];

	product ^= product >> 32;
	return upper_32_bits(product * keyed->ticket_factors[1]);
}

/**
 * kwq_keyed_find() - find a key's item
 * @keyed: the queue; its lock held
 * @key: the key, with its hash
 *
 * Return: the item, or NULL.
 */
static inline struct kwq_keyed_item *kwq_keyed_find(struct kwq_keyed *keyed,
						    const struct kwq_key *key)
{
	struct kwq_keyed_item *ki;
	struct kwq_node *node;

	lockdep_assert_held(&keyed->queue.lock);
	for (node = *kwq_table_bucket(&keyed->table, key->hash); node;
	     node = node->next) {
		ki = container_of(node, struct kwq_keyed_item, by_key);
		if (ki->hash == key->hash && ki->key_len == key->len &&
		    !memcmp(ki->key, key->bytes, key->len))
			return ki;
	}
	return NULL;
}

/**
 * kwq_keyed_provide() - get the tables what they lack
 * @keyed: the queue
 *
 * To be called after adds and hand-outs.
 *
 * Context: process; may sleep.
 * Return: false if there is no memory for what one of them cannot do without.
 */
static inline bool kwq_keyed_provide(struct kwq_keyed *keyed)
{
	int by_key = READ_ONCE(keyed->table.pages_wanted);
	int by_ticket = READ_ONCE(keyed->tickets.pages_wanted);
	bool ret = true;

	if (unlikely(by_key))
		ret = kwq_keyed_enlarge(keyed, &keyed->table, by_key);
	if (unlikely(by_ticket))
		ret &= kwq_keyed_enlarge(keyed, &keyed->tickets, by_ticket);
	return ret;
}

#if IS_ENABLED(CONFIG_KUNIT)
u32 kwq_item_bytes(const struct kwq_keyed *keyed, u32 key_len);
void *kwq_new_page(gfp_t gfp);
#endif

/* keyed.c */
int kwq_keyed_register(void);
void kwq_keyed_unregister(void);
struct kwq_keyed *kwq_keyed_create(const char *name, enum kwq_clock clock,
				   const struct kwq_limits *limits);
int kwq_keyed_configure(struct kwq_keyed *keyed, const struct kwq_limiter_config *config);
void kwq_keyed_put(struct kwq_keyed *keyed);
void kwq_keyed_free_gone_elsewhere(struct kwq_keyed *keyed);
void kwq_keyed_put_elsewhere(struct kwq_keyed *keyed);
int kwq_keyed_add_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
			 const struct kwq_add_options *options, ktime_t now,
			 struct kwq_stock *stock);
int kwq_keyed_remove_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
			    u32 flags, ktime_t now);
int kwq_keyed_forget_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
			    ktime_t now);
int kwq_keyed_num_requeues_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
				  ktime_t now);
int kwq_keyed_advance(struct kwq_keyed *keyed, u64 time, bool to);
void kwq_keyed_shut_down(struct kwq_keyed *keyed);
int kwq_keyed_drain(struct kwq_keyed *keyed, ktime_t deadline, u64 since, u64 *shut_downs);

#if IS_ENABLED(CONFIG_KUNIT)
void kwq_keyed_drop_elsewhere(struct kwq_keyed *keyed);
void kwq_keyed_free_elsewhere(struct kwq_keyed *keyed);
bool kwq_keyed_is_worked_on(struct kwq_keyed *keyed);
#endif

/* dead.c */
int kwq_keyed_list_dead(struct kwq_keyed *keyed, u64 after,
			struct kwq_dead_page *page);

/* stat.c */
void kwq_keyed_stat(struct kwq_keyed *keyed, struct kwq_stat *stat);

static inline struct kwq_keyed_item *kwq_keyed_item_of(struct kwq_item *item)
{
	return container_of(item, struct kwq_keyed_item, item);
}

/* handle.c */

/**
 * struct kwq_fetch - where fetched items are put
 * @got: room for @max_items
 * @keys: room for @max_keys bytes of packed keys
 * @max_items: most items to fetch
 * @max_keys: most bytes of keys to fetch
 * @longest: the caller comes back with more room for a first key of up to so many
 *	bytes; 0 if it never does
 * @keys_len: out: bytes used at @keys
 * @lacking: out: the length of the first key, where -EMSGSIZE says that it does not fit
 */
struct kwq_fetch {
	struct kwq_got *got;
	u8 *keys;
	u32 max_items;
	u32 max_keys;
	u32 longest;
	u32 keys_len;
	u32 lacking;
};

/**
 * kwq_fetch_wants_room() - does the caller come back with more room
 * @fetch: what it fetched with
 * @ret: what came of that
 *
 * Return: true if @ret is to be followed by another fetch, with room for
 * @fetch->lacking bytes of keys.
 */
static inline bool kwq_fetch_wants_room(const struct kwq_fetch *fetch, int ret)
{
	return ret == -EMSGSIZE && fetch->lacking <= fetch->longest;
}

struct kwq_handle *kwq_handle_open(struct kwq_keyed *keyed, u32 rights);
void kwq_handle_close(struct kwq_handle *handle);
void kwq_handle_flush(struct kwq_handle *handle);
int kwq_handle_fetch(struct kwq_handle *handle, struct kwq_fetch *fetch,
		     const struct kwq_waiter *waiter);
void kwq_handle_unfetch(struct kwq_handle *handle, const struct kwq_got *got,
			u32 nr);
int kwq_handle_done_locked(struct kwq_handle *handle, u64 ticket, u32 done_flags,
			   ktime_t now);
int kwq_handle_done_and_fetch(struct kwq_handle *handle, u64 ticket, u32 done_flags,
			      s32 *result, struct kwq_fetch *fetch);
int kwq_handle_done_key_locked(struct kwq_handle *handle, const struct kwq_key *key,
			       u32 done_flags, ktime_t now);
int kwq_handle_extend_locked(struct kwq_handle *handle, u64 ticket, ktime_t now);
int kwq_handle_extend_key_locked(struct kwq_handle *handle,
				 const struct kwq_key *key, ktime_t now);
void kwq_handle_take_back(struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
			  ktime_t now);

/* lease.c */
void kwq_lease_init(struct kwq_keyed *keyed);
void kwq_lease_begin(struct kwq_keyed *keyed, struct kwq_keyed_item *ki);
void kwq_lease_extend(struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
		      ktime_t now);
void kwq_lease_end(struct kwq_keyed *keyed, struct kwq_keyed_item *ki);

/* names.c */
int kwq_names_register(void);
void kwq_names_unregister(void);
int kwq_names_check(const char *name);
int kwq_names_add(struct kwq_keyed *keyed);
struct kwq_keyed *kwq_names_find(const char *name);
int kwq_names_unlink(const char *name);
u32 kwq_names_list(const char *after, struct kwq_list_entry *entries, u32 nr);
#if IS_ENABLED(CONFIG_KUNIT)
void kwq_names_end(struct net *net);
#endif
int kwq_names_permit(const struct kwq_keyed *keyed, u32 want);

/* quota.c */

/**
 * struct kwq_quota_ends - what somebody who was refused a queue waits for
 * @begun: the last end of a queue that had begun when the wait did
 * @seen: how many ends were over when it was last looked at
 */
struct kwq_quota_ends {
	u64 begun;
	unsigned int seen;
};

int kwq_quota_register(void);
void kwq_quota_unregister(void);
struct kwq_quota *kwq_quota_get(struct user_namespace *ns, kuid_t owner, bool exempt);
void kwq_quota_put(struct kwq_quota *quota, bool exempt);
void kwq_quota_begin_end(struct kwq_keyed *keyed);
void kwq_quota_end(struct kwq_keyed *keyed);
void kwq_quota_begin_wait(struct kwq_quota_ends *ends);
bool kwq_quota_expect_end(struct kwq_quota_ends *ends, const struct user_namespace *ns,
			  kuid_t owner);
int kwq_quota_wait_end(const struct kwq_quota_ends *ends);
bool kwq_quota_try(struct kwq_keyed *keyed, u64 bytes);
bool kwq_quota_take(struct kwq_keyed *keyed, u64 bytes);
void kwq_quota_force(struct kwq_keyed *keyed, u64 bytes);
void kwq_quota_give_back(struct kwq_keyed *keyed, u64 bytes);
void kwq_quota_end_telling(struct kwq_keyed *keyed);
void kwq_quota_read(struct kwq_info *info);
extern unsigned int kwq_max_queues;
extern unsigned long kwq_max_user_bytes;
extern unsigned long kwq_max_total_bytes;
#if IS_ENABLED(CONFIG_KUNIT)
extern wait_queue_head_t kwq_quota_ended;
extern const struct kernel_param_ops kwq_quota_bytes_ops;
extern const struct kernel_param_ops kwq_quota_queues_ops;
#endif

#endif /* KWQ_KEYED_H */

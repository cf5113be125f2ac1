/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keyed queues: keys are bytes. Programs use them through the device; drivers do not.
 *
 * docs/source-tree.md says what each file of this folder does.
 */
#ifndef KWQ_KEYED_H
#define KWQ_KEYED_H

#include <linux/atomic.h>
#include <linux/cred.h>
#include <linux/irq_work.h>
#include <linux/kref.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/kwq_keys.h>
#include "core/line.h"
#include "queue/queue.h"
#include "table.h"

struct file;
struct poll_table_struct;
struct seq_file;

/* Of any quota, calls may have at least so much: some of the largest values. */
#define KWQ_CALL_BYTES		(1024 * 1024)

/* A quota counts queues with their memory, memory of calls, or both of an exempt user. */
enum kwq_quota_kind {
	KWQ_QUOTA_QUEUES,
	KWQ_QUOTA_CALLS,
	KWQ_QUOTA_EXEMPT,
	KWQ_QUOTA_KINDS
};

/**
 * struct kwq_quota - queues or bytes of one user of one user namespace
 * @node: in quotas, in quota.c; protected by quota_lock there
 * @ns: the user namespace, with a reference; constant
 * @user: the user; constant
 * @kind: what it counts; constant
 * @parent: the quota of the same kind of the owner of @ns, or of the machine; constant
 * @refs: number of queues, handles and quotas that point here; protected by quota_lock
 * @nr_queues: queues here and in all quotas below; protected by quota_lock
 * @bytes: bytes charged here and in all quotas below
 * @is_wanted: bytes were refused here, so whoever gives some back wakes @room
 * @room: adds that wait for bytes, and queues whose pollers do
 */
struct kwq_quota {
	struct hlist_node node;
	struct user_namespace *ns;
	kuid_t user;
	enum kwq_quota_kind kind;
	struct kwq_quota *parent;
	unsigned int refs;
	unsigned int nr_queues;
	atomic64_t bytes;
	bool is_wanted;
	wait_queue_head_t room;
};

/**
 * struct kwq_key - the bytes that identify an item
 * @bytes: the bytes
 * @len: number of bytes, 1 to KWQ_KEY_MAX
 * @hash: filled in by kwq_key_hash()
 */
struct kwq_key {
	const u8 *bytes;
	u32 len;
	u32 hash;
};

/* memcpy() of a key. Most keys are a few words, which cost less than the call. */
static inline void kwq_copy_key(u8 *to, const u8 *from, u32 len)
{
	u32 last = len - sizeof(u64), i;

	if (last > 64) {
		memcpy(to, from, len);
		return;
	}
	for (i = 0; i < last; i += sizeof(u64))
		memcpy(to + i, from + i, sizeof(u64));
	memcpy(to + last, from + last, sizeof(u64));
}

/**
 * struct kwq_keyed_item - an item and its key
 * @item: the whole state of the item
 * @by_key: in &kwq_keyed.table; later in &kwq_keyed.gone
 * @hash: hash of @key; constant
 * @key_len: length of @key; constant
 * @is_remembered: the item is idle and in &kwq_keyed.remembered
 * @is_posted: the key is on the board; only while the item is dirty
 * @is_added: in a queue with changes, an add has coalesced, which is no change, since the follower
 *	read the item
 * @has_used_token: in a queue with changes, a hand-out had &kwq_change.token
 * @ticket: of the hand-out, while processing: see kwq_ticket_hash()
 * @held: in &kwq_handle.held while processing
 * @remembered: in &kwq_keyed.remembered while idle
 * @key: the key; constant
 *
 * All members but the constant ones are protected by the queue's lock.
 *
 * An item is in the table while it is not idle or has requeues to remember. It is also
 * there between its insertion and the add that needed it, and until the follower has read that it
 * is gone. In a queue with changes, its allocation begins with a &struct kwq_change. In a queue
 * with groups, the item is in a &struct kwq_grouped_item.
 */
struct kwq_keyed_item {
	struct kwq_item item;
	struct kwq_node by_key;
	u32 hash;
	u16 key_len;
	bool is_remembered : 1;
	bool is_posted : 1;
	bool is_added : 1;
	bool has_used_token : 1;
	union {
		struct {
			u64 ticket;
			struct hlist_node held;
		};
		struct list_head remembered;
	};
	u8 key[] __counted_by(key_len);
};

/**
 * struct kwq_change - the change of an item, in a queue with changes
 * @link: in @unread or @told of &struct kwq_changes, or empty
 * @number: number of the first change that the follower has not read, or of the last one
 * @token: of the last hand-out, or of the next one if the manager has set it since; 0 for none
 *
 * All members are protected by the queue's lock.
 */
struct kwq_change {
	struct list_head link;
	u64 number;
	u64 token;
};

/**
 * struct kwq_lease - how long an item may be held
 * @link: in &kwq_keyed.leases while processing
 * @expires: when the item is taken back
 * @ki: the item; constant
 */
struct kwq_lease {
	struct list_head link;
	ktime_t expires;
	struct kwq_keyed_item *ki;
};

/**
 * kwq_lease_of() - the lease of an item
 * @ki: the item; in a queue with leases
 *
 * Return: the lease. It is stored behind the key, and only in queues with leases.
 */
static inline struct kwq_lease *kwq_lease_of(struct kwq_keyed_item *ki)
{
	return PTR_ALIGN((void *)(ki->key + ki->key_len),
			 __alignof__(struct kwq_lease));
}

/**
 * struct kwq_value - the value or the note of a key (Q18)
 * @gone: in &kwq_keyed.gone_memory
 * @refs: references: that of the item, and one for each call that copies it out
 * @len: number of bytes, 1 to KWQ_VALUE_MAX; constant
 * @size: bytes that the allocator uses for the value; constant
 * @bytes: the bytes; constant
 */
struct kwq_value {
	struct kwq_node gone;
	refcount_t refs;
	u32 len;
	u32 size;
	u8 bytes[] __counted_by(len);
};

/**
 * struct kwq_keyed_group - a group and its name (Q16)
 * @by_name: in the table of &struct kwq_keyed_groups; later in &kwq_keyed.gone_memory
 * @group: the group; its users are the items that belong to it, and the runs that count in it
 * @hash: hash of @name; constant
 * @len: length of @name; constant
 * @name: the name; constant
 */
struct kwq_keyed_group {
	struct kwq_node by_name;
	struct kwq_group group;
	u32 hash;
	u8 len;
	u8 name[] __counted_by(len);
};

/**
 * struct kwq_keyed_groups - the groups of a queue
 * @keyed: the queue; constant
 * @table: groups by name
 * @top: top level of the table
 *
 * Protected by the queue's lock.
 */
struct kwq_keyed_groups {
	struct kwq_keyed *keyed;
	struct kwq_table table;
	struct kwq_table_top top;
};

/**
 * struct kwq_limits - limits of a queue
 * @max_items: most items, and most remembered ones beside them
 * @max_bytes: most bytes of items and their keys, as rounded up by the allocator, and most bytes of
 *	remembered ones beside them
 * @lease: how long an item may be held after a hand-out or an extension, in ns up to
 *	KTIME_MAX; 0 for ever
 * @aging: after this time in ns a ready item counts as one priority higher, and so on; 0 for never
 * @group_limit: most items of one group that are processing at once; 0 for no limit
 * @values: keys may carry values and notes
 * @groups: keys may belong to groups
 * @no_durations: the queue measures none; neither @lease nor @aging then
 * @changes: a handle may follow the changes
 * @sync: with @changes: calls return once their changes are kept
 */
struct kwq_limits {
	u64 max_items;
	u64 max_bytes;
	u64 lease;
	u64 aging;
	u32 group_limit;
	bool values;
	bool groups;
	bool no_durations : 1;
	bool changes : 1;
	bool sync : 1;
};

/*
 * Duties of the next unlock, besides the usual ones. ROOM: an add or a poll found no room, so
 * pollers have to be told of room. MEMORY: @gone_memory has to be freed. ADDERS: adds wait for
 * room, and have to be told of it. LOSSES: items were revoked, and pollers of their holders have to
 * be told.
 */
#define KWQ_OWES_ROOM	BIT(0)
#define KWQ_OWES_MEMORY	BIT(1)
#define KWQ_OWES_ADDERS	BIT(2)
#define KWQ_OWES_LOSSES	BIT(3)

/**
 * struct kwq_changes - the changes of a queue: see changes.c
 * @id: a random number that identifies the queue; constant
 * @last: number of the last change
 * @last_told: the highest number that the follower was told
 * @read_to: the follower has read all changes up to here
 * @kept: all changes up to here are kept
 * @of_queue: number of the last change of the queue itself
 * @of_queue_told: the last such number that the follower was told
 * @unread: items that have changed and were not read since, by &kwq_change.number
 * @told: items that were read, and may be read again, by &kwq_change.number
 * @nr_unread: number of items in both lists
 * @follower: the handle that follows, or NULL
 * @reader: the task that waits for changes, or NULL
 * @syncers: tasks that wait until changes are kept
 * @is_reading: a call of the follower is under way
 * @is_polled: a poller has to be told of the next change
 * @wants_getters: the follower has to be told of getters that wait
 * @nr_seeking: handles with @has_found_nothing
 *
 * All members but @id are protected by the queue's lock.
 */
struct kwq_changes {
	u64 id;
	u64 last;
	u64 last_told;
	u64 read_to;
	u64 kept;
	u64 of_queue;
	u64 of_queue_told;
	struct list_head unread;
	struct list_head told;
	u64 nr_unread;
	struct kwq_handle *follower;
	struct task_struct *reader;
	wait_queue_head_t syncers;
	bool is_reading;
	bool is_polled;
	bool wants_getters;
	u32 nr_seeking;
};

/**
 * struct kwq_keyed - a queue of keys; fits into 8 KiB on 64-bit machines
 * @of_queue: the members of @queue that only a large queue has
 * @of_core: the same for its core
 * @queue: the queue. Its name is allocated; "" for an unnamed queue
 * @limits: constant
 * @small_items: the cache of items of the common size; constant
 * @small_bytes: bytes that the allocator uses for such an item; constant
 * @small_key_max: the longest key for which such an item has room; constant
 * @size_before: bytes of an allocation before the item; constant
 * @items_have_more: items have a lease, a value, a group or a change; constant
 * @table: L: items by key
 * @nr_items: L: number of items, remembered ones included
 * @nr_bytes: L: bytes of these items and their values
 * @nr_values: L: number of items with a value
 * @own_bytes: L: bytes of the queue and its tables
 * @gone_bytes: L: bytes of what left the queue in this hold. After the unlock has freed that, it
 *	gives them back to @quota
 * @limiter_bytes: L: the part of @own_bytes for the limiters' pauses
 * @gone_memory: L: values and groups that nobody uses any more, to be freed after this hold. The
 *	core may still use the groups in it
 * @has_older_dead: L: a restored dead item may be older than those before it (U8)
 * @owes: L: KWQ_OWES_* bits, for the next unlock
 * @adders: adds that wait for room, each of them exclusive; used with the lock held
 * @nr_adders: L: number of @adders
 * @adders_to_ask: L: how many of @adders, the first ones, may fit since there was room
 * @adders_asked: L: how many of these this hold has looked at
 * @adders_may_fit: L: any of @adders may find room now
 * @refused: adds of drivers that were refused (K12). An NMI may count one, so it is no atomic64_t,
 *	which is a spinlock on some machines
 * @board: L: the board; NULL before a program asks for it; constant after that, and then also read
 *	without the lock
 * @changes: what is known of changes; NULL in a queue without them; constant
 * @groups: its groups; NULL in a queue without them; constant
 * @outbox: the queue that adds go to, with a reference; NULL for this queue; constant
 * @outbox_rights: KWQ_RIGHT_* bits of the descriptor that gave @outbox; constant
 * @board_is_closed: L: a shut down has begun
 * @hand_outs: L: number of hand-outs, above the bits of a ticket that find its item
 * @remembered: L: idle items with requeues, in the order in which they became idle
 * @nr_remembered: L: number of these items
 * @bytes_remembered: L: bytes of these items, part of @nr_bytes
 * @leases: L: leases of held items, earliest end first
 * @term: L: when all hand-outs end; KTIME_MAX for never
 * @expired: L: number of leases that expired
 * @gone: L: items that ended in this hold of the lock, to be freed
 * @expects_new: the last add was of a new key; a hint, read without the lock
 * @nr_handles: L: number of open handles
 * @ref: one reference for each handle and one for the name
 * @work: frees items that the timer ended, and drops items that a killed shut down or drain
 *	left; has no reference, and is not queued once @ending is set
 * @drops: @work has to drop items; set once, never cleared
 * @ending: L: the last reference was dropped; also read without the lock
 * @quota: quota of the owner, which counts this queue; constant
 * @in_quota: in @room of a quota while pollers have to be told of bytes there; protected by the
 *	lock there. Its @private is that quota, or the last one; L
 * @owner: user who may unlink the queue; constant
 * @group: group of the queue; constant
 * @mode: permission bits; constant
 * @by_name: in the tree of names.c; unused once @ending is set
 * @posted: L: adds that programs told that the board answered; unused once @ending is set
 * @free: work that frees the queue, once @ending is set
 * @unlinked: the name was removed; written under the lock of names.c
 *
 * L: protected by @queue.lock.
 */
struct kwq_keyed {
	/* These three are a struct kwq_large_queue. */
	struct kwq_queue_bulk of_queue;
	struct kwq_bulk of_core;
	struct kwq_queue queue;
	struct kwq_table table;
	struct kwq_limits limits;
	struct kmem_cache *small_items;
	u64 nr_bytes;
	u64 gone_bytes;
	u64 own_bytes;
	u64 hand_outs;
	struct list_head remembered;
	u64 bytes_remembered;
	struct list_head leases;
	ktime_t term;
	wait_queue_head_t adders;
	u32 nr_adders;
	u32 adders_to_ask;
	u32 adders_asked;
	atomic_long_t refused;
	struct kwq_keyed_board *board;
	struct kwq_changes *changes;
	struct kwq_keyed_groups *groups;
	struct kwq_keyed *outbox;
	u64 expired;
	struct kwq_node *gone;
	struct kwq_node *gone_memory;
	u32 nr_items;
	u32 nr_values;
	u32 nr_remembered;
	u16 small_bytes;
	u16 small_key_max;
	u16 size_before;
	u32 limiter_bytes;
	u32 nr_handles;
	struct kref ref;
	kuid_t owner;
	kgid_t group;
	umode_t mode;
	/* They share a byte, because none of them changes. */
	u8 outbox_rights : 3;
	bool items_have_more : 1;
	bool expects_new;
	bool has_older_dead;
	u8 owes;
	bool adders_may_fit;
	bool drops;
	bool board_is_closed;
	bool ending;
	bool unlinked;
	struct work_struct work;
	struct kwq_quota *quota;
	struct wait_queue_entry in_quota;
	union {
		struct {
			struct rb_node by_name;
			u64 posted;
		};
		struct work_struct free;
	};
};

/**
 * struct kwq_handle - one open file description of a queue
 * @keyed: the queue
 * @holder: counts the items that it holds
 * @held: these items, in the order of their hand-outs
 * @pid: the process that last called get, with a reference; NULL before the first get. Also
 *	read without the lock
 * @opener: the process that opened it, with a reference; constant
 * @outbox: a handle of the queue's outbox, with the rights of the descriptor that gave it; NULL
 *	without an outbox; constant
 * @front: if this is a handle of an outbox, the queue whose adds go through it; else NULL; constant
 * @quota: quota of who opened it, which pays for the memory of his calls: see kwq_calls_get(); with
 *	a reference; constant
 * @bpf: the token for BPF programs; NULL before a program asks for it; constant after that
 * @rights: KWQ_RIGHT_* bits; constant
 * @has_lost: an item was taken from the handle, and it has not extended its leases since
 * @has_found_nothing: its last get or poll found nothing and did not wait; only with changes
 *
 * All members but the constant ones and @keyed are protected by the queue's lock.
 */
struct kwq_handle {
	struct kwq_keyed *keyed;
	struct kwq_keyed *front;
	struct kwq_quota *quota;
	struct kwq_holder holder;
	struct kwq_line held;
	struct pid *pid;
	struct pid *opener;
	struct kwq_handle *outbox;
	struct kwq_bpf *bpf;
	u32 rights;
	bool has_lost;
	bool has_found_nothing;
};

/**
 * kwq_change_of() - the change of an item
 * @keyed: its queue, with changes
 * @ki: the item
 *
 * Return: the change.
 */
static inline struct kwq_change *kwq_change_of(const struct kwq_keyed *keyed,
					       struct kwq_keyed_item *ki)
{
	return (void *)ki - keyed->size_before;
}

/* The bits of a token that count hand-outs. */
#define KWQ_TOKEN_HAND_OUTS	((1ULL << 14) - 1)

/**
 * kwq_next_token() - the token that the next hand-out of an item has
 * @keyed: its queue, with changes; its lock held
 * @ki: the item
 *
 * A holder that has lost an item may still write to a store. So a further hand-out has a token of
 * its own, which is higher, even if the manager has set none since. The lowest bits count, and stay
 * when all are set: a carry would reach the tokens of the manager's next grants.
 *
 * Return: the token; 0 for none.
 */
static inline u64 kwq_next_token(const struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	u64 token = kwq_change_of(keyed, ki)->token;

	if (!token || (token & KWQ_TOKEN_HAND_OUTS) == KWQ_TOKEN_HAND_OUTS)
		return token;
	return token + ki->has_used_token;
}

/**
 * kwq_set_token() - set the token that the next hand-out of an item has
 * @keyed: its queue, with changes; its lock held
 * @ki: the item
 * @token: the token; 0 for none
 */
static inline void kwq_set_token(const struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
				 u64 token)
{
	kwq_change_of(keyed, ki)->token = token;
	ki->has_used_token = false;
}

/**
 * kwq_item_of_change() - the item that has changed
 * @keyed: its queue
 * @change: the change
 *
 * Return: the item.
 */
static inline struct kwq_keyed_item *kwq_item_of_change(const struct kwq_keyed *keyed,
							struct kwq_change *change)
{
	return (void *)change + keyed->size_before;
}

/* An item of a queue with values has two slots, each with a value or NULL. */
#define KWQ_VALUE	0
#define KWQ_NOTE	1
#define KWQ_SLOTS	2

/**
 * kwq_value_slot() - where an item keeps its value, and then its note
 * @keyed: its queue; it has values
 * @ki: the item
 *
 * Return: the first of KWQ_SLOTS slots. They are stored behind the key and the lease, and only in
 * queues with values.
 */
static inline struct kwq_value **kwq_value_slot(const struct kwq_keyed *keyed,
						struct kwq_keyed_item *ki)
{
	void *end = PTR_ALIGN((void *)(ki->key + ki->key_len), __alignof__(struct kwq_lease));

	return keyed->limits.lease ? end + sizeof(struct kwq_lease) : end;
}

/**
 * struct kwq_extras - what else an add may bring
 * @flags: KWQ_ADD_* bits of the extras, and KWQ_SET_JOINS
 * @value: with KWQ_ADD_VALUE, the value, or NULL to take the value away. The add takes it over
 *	and sets this to NULL, unless it refuses or drops it
 * @note: the same with KWQ_ADD_NOTE
 * @at_most: with KWQ_ADD_AT_MOST, the longest wait in ns from its first add; else 0
 * @group: with KWQ_ADD_GROUP, the name of the group, with its hash; empty to take the item out of
 *	its group
 * @found: that group, as found in this hold of the lock; NULL if it is new
 * @token: with KWQ_ADD_TOKEN, the item's token; else 0
 */
struct kwq_extras {
	u32 flags;
	u64 at_most;
	u64 token;
	struct kwq_value *value;
	struct kwq_value *note;
	struct kwq_key group;
	struct kwq_keyed_group *found;
};

/**
 * struct kwq_stock - memory for new items, allocated and charged before the lock is taken
 * @small: items for short keys, linked by @by_key
 * @large: an item for a key of @large_len bytes, or NULL
 * @large_len: length of that key
 * @group: a group, or NULL
 * @group_len: length of the name that @group has room for
 * @value_bytes: bytes that are charged for the value and the note of the entry
 * @wants_item: an add lacked an item
 * @wants_value: an entry lacked that charge
 * @wants_group: an add lacked a group
 * @lacking: out: after -EDQUOT of kwq_stock_fill(), how many bytes were refused
 * @never_fits: out: after -ENOSPC, the queue can never have enough room
 */
struct kwq_stock {
	struct kwq_node *small;
	void *large;
	struct kwq_keyed_group *group;
	u32 large_len;
	u32 value_bytes;
	u32 lacking;
	u8 group_len;
	bool wants_item;
	bool wants_value;
	bool wants_group;
	bool never_fits;
};

/**
 * struct kwq_need - what an add needs of a queue's limits
 * @items: 1 if one more item counts towards them, else 0
 * @bytes: how many more bytes count towards them
 * @all: bytes of the item, its value and its group after the add
 */
struct kwq_need {
	u32 items;
	u32 bytes;
	u32 all;
};

/**
 * struct kwq_list_request - which items of a queue to list (Q15)
 * @states: KWQ_IS_* bits; items that have none of them are left out
 * @at: the list begins with the item of this place; 0 is the first one. It is 0 again at the
 *	end of the list
 * @slots: list what is in these slots, too: bits of KWQ_VALUE and KWQ_NOTE
 * @unread: list the items that have changed and were not read since, and mark them as read. @states
 *	and @at do not count, but @at is 0 if none is left
 * @until: with @unread: the highest number of a change to list; 0 for all so far. It is filled in
 *	then
 * @key: list only this one; NULL for all
 */
struct kwq_list_request {
	u64 at;
	u64 until;
	u32 states;
	u8 slots;
	bool unread;
	const struct kwq_key *key;
};

/**
 * struct kwq_list_fill - how far a buffer for a list of items is filled
 * @nr: number of items
 * @keys_len: bytes of their keys
 * @bytes: bytes of their keys, and of the values and the notes that are listed
 */
struct kwq_list_fill {
	u32 nr;
	u32 keys_len;
	u32 bytes;
};

/**
 * struct kwq_list_buffer - buffer for a list of items
 * @entries: room for @max_items
 * @values: room for KWQ_SLOTS for each of @max_items; out: a reference to each value and note
 *	that is listed, or NULL
 * @keys: room for @max_key_bytes bytes of packed keys
 * @max_items: most items to list
 * @max_key_bytes: most bytes of keys
 * @max_bytes: most bytes of keys, and of the values and the notes that are listed
 * @fill: out: how far it is filled
 */
struct kwq_list_buffer {
	struct kwq_listed *entries;
	struct kwq_value **values;
	u8 *keys;
	u32 max_items;
	u32 max_key_bytes;
	u32 max_bytes;
	struct kwq_list_fill fill;
};

/* values.c */
struct kwq_value *kwq_value_alloc(u32 len);
void kwq_value_put(struct kwq_value *value);
void kwq_memory_free(struct kwq_node *gone);
void kwq_keyed_drop_slot(struct kwq_keyed *keyed, struct kwq_keyed_item *ki, int slot);
bool kwq_keyed_keeps_value(const struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
			   const struct kwq_extras *extras);
void kwq_keyed_need_slot(const struct kwq_keyed *keyed, struct kwq_keyed_item *ki, int slot,
			 const struct kwq_value *value, struct kwq_need *need);
bool kwq_keyed_has_set(const struct kwq_keyed *keyed, struct kwq_keyed_item *ki, const u8 *set,
		       u32 len);
void kwq_keyed_join_sets(const struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
			 struct kwq_value *value);
void kwq_keyed_set_values(struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
			  struct kwq_extras *extras, struct kwq_stock *stock);
int kwq_keyed_note_locked(struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
			  struct kwq_extras *extras, struct kwq_stock *stock);

/* memory.c */
u32 kwq_bytes_of_kmalloc(size_t size);
u32 kwq_bytes_in_slab(size_t size);
u64 kwq_keyed_own_bytes(const char *name, const struct kwq_limits *limits);
void kwq_keyed_count_limiters(struct kwq_keyed *keyed);
size_t kwq_item_size(const struct kwq_keyed *keyed, u32 key_len);
u32 kwq_item_bytes(const struct kwq_keyed *keyed, u32 key_len);
void *kwq_keyed_new_page(struct kwq_keyed *keyed);
void kwq_keyed_free_page(struct kwq_keyed *keyed, void *page);
bool kwq_keyed_has_room_for(const struct kwq_keyed *keyed, u32 nr, u64 bytes);
int kwq_keyed_find_room(struct kwq_keyed *keyed, const struct kwq_need *need,
			struct kwq_stock *stock);
#if IS_ENABLED(CONFIG_KUNIT)
void *kwq_new_page(gfp_t gfp);
#endif

/* Bytes that the allocator uses for a value or a note; NULL for none. */
static inline u32 kwq_value_bytes(const struct kwq_value *value)
{
	return value ? value->size : 0;
}

/* The same for both that an entry brings. */
static inline u32 kwq_extras_bytes(const struct kwq_extras *extras)
{
	return kwq_value_bytes(extras->value) + kwq_value_bytes(extras->note);
}

/**
 * kwq_item_is_small() - has an item the common size
 * @keyed: its queue
 * @key_len: length of its key
 *
 * Return: true if so.
 */
static inline bool kwq_item_is_small(const struct kwq_keyed *keyed, u32 key_len)
{
	return key_len <= keyed->small_key_max;
}

/* items.c */
int kwq_items_register(void);
void kwq_items_unregister(void);
void kwq_key_hash(struct kwq_key *key);
u32 kwq_key_second_hash(const struct kwq_keyed_item *ki);
int kwq_stock_fill(struct kwq_stock *stock, struct kwq_keyed *keyed, const struct kwq_key *key,
		   const struct kwq_extras *extras, u32 nr);
void kwq_stock_begin(struct kwq_stock *stock, struct kwq_keyed *keyed, const struct kwq_key *key,
		     const struct kwq_extras *extras, u32 nr);
u32 kwq_stock_bytes(const struct kwq_stock *stock, const struct kwq_keyed *keyed);
void kwq_stock_free(struct kwq_stock *stock, struct kwq_keyed *keyed);
bool kwq_keyed_charge(struct kwq_keyed *keyed, u64 bytes);
bool kwq_keyed_has_memory(struct kwq_keyed *keyed);
int kwq_keyed_init_items(struct kwq_keyed *keyed);
void kwq_keyed_destroy_items(struct kwq_keyed *keyed);
bool kwq_keyed_lacks_item(const struct kwq_keyed *keyed, struct kwq_stock *stock, u32 key_len);
struct kwq_keyed_item *kwq_keyed_insert(struct kwq_keyed *keyed, struct kwq_node **bucket,
					const struct kwq_key *key, struct kwq_stock *stock);
bool kwq_keyed_poll_room(struct kwq_keyed *keyed);
void kwq_keyed_settle_slow(struct kwq_keyed *keyed, struct kwq_keyed_item *ki, ktime_t now);
void kwq_keyed_unlock(struct kwq_keyed *keyed, unsigned long flags)
	__releases(&keyed->queue.lock);
bool kwq_keyed_free_gone_locked(struct kwq_keyed *keyed, unsigned long *flags)
	__must_hold(&keyed->queue.lock);
u64 kwq_keyed_drop_remembered(struct kwq_keyed *keyed, u64 bytes);

/**
 * kwq_listed_age() - an age as a list shows it (M1)
 * @since: since when; KWQ_NO_TIME if that is not known
 * @now: current time
 *
 * Return: ns; KWQ_AGE_UNKNOWN if it is not known.
 */
static inline u64 kwq_listed_age(ktime_t since, ktime_t now)
{
	return since == KWQ_NO_TIME ? KWQ_AGE_UNKNOWN : kwq_span(since, now);
}

/* changes.c */
int kwq_keyed_init_changes(struct kwq_keyed *keyed);
void kwq_note_change(struct kwq_keyed *keyed, struct kwq_keyed_item *ki);
bool kwq_change_is_unread(struct kwq_keyed *keyed, struct kwq_keyed_item *ki);
void kwq_keyed_note_change(struct kwq_keyed *keyed);
void kwq_note_getter(struct kwq_keyed *keyed);
void kwq_note_found_nothing(struct kwq_handle *handle);
void kwq_forget_found_nothing(struct kwq_handle *handle);
void kwq_tell_follower(struct kwq_keyed *keyed);

/* follow.c */
bool kwq_changes_poll_locked(struct kwq_handle *handle);
int kwq_follow(struct kwq_handle *handle, u64 *number);
void kwq_stop_following(struct kwq_handle *handle);
int kwq_keyed_sync(struct kwq_keyed *keyed, ktime_t deadline, unsigned int state);
void kwq_handle_sync(struct kwq_handle *handle);
int kwq_begin_reading(struct kwq_handle *handle, u64 after, u64 kept, bool wants_getters);
int kwq_wait_for_changes(struct kwq_handle *handle, u64 of_queue,
			 const struct kwq_patience *patience);
u64 kwq_end_reading(struct kwq_handle *handle, u64 *of_queue);

/**
 * kwq_keyed_lose_memory() - let the unlock free a value or a group
 * @keyed: the queue; its lock held
 * @gone: its node, which is its first member
 */
static inline void kwq_keyed_lose_memory(struct kwq_keyed *keyed, struct kwq_node *gone)
{
	keyed->owes |= KWQ_OWES_MEMORY;
	gone->next = keyed->gone_memory;
	keyed->gone_memory = gone;
}

/**
 * kwq_keyed_lose_bytes() - stop counting memory that the unlock is to free
 * @keyed: the queue; its lock held
 * @bytes: number of bytes
 */
static inline void kwq_keyed_lose_bytes(struct kwq_keyed *keyed, u32 bytes)
{
	keyed->nr_bytes -= bytes;
	keyed->gone_bytes += bytes;
	keyed->adders_may_fit = true;
}

/* Makes a stock empty. One assignment would be a loop over its bytes. */
static inline void kwq_stock_init(struct kwq_stock *stock)
{
	stock->small = NULL;
	stock->large = NULL;
	stock->group = NULL;
	stock->value_bytes = 0;
	stock->wants_item = false;
	stock->wants_value = false;
	stock->wants_group = false;
}

/**
 * kwq_stock_has_any() - is anything in a stock
 * @stock: the stock
 *
 * Return: true if so.
 */
static inline bool kwq_stock_has_any(const struct kwq_stock *stock)
{
	return stock->small || stock->large || stock->group || stock->value_bytes;
}

extern u64 kwq_ticket_factors[2];

/*
 * A ticket is the number of a hand-out, and below it the KWQ_TABLE_BITS bits of the key's hash that
 * choose a bucket of the table. So the table of keys finds tickets, too. The number has 40 bits:
 * tickets go up for 2^40 hand-outs, and then start over.
 *
 * The bits of the hash are masked by the number, multiplied by secret odd numbers, because programs
 * store tickets and show them to others, who must not see which keys share a bucket. Somebody with
 * very many tickets might work out the secrets. But whoever may get items may also list them, and
 * the place in the list already tells these bits (Q15). And whoever knows them can make no bucket
 * longer than KWQ_TABLE_CHAIN.
 */
#define KWQ_TICKET_STEP		BIT_ULL(KWQ_TABLE_BITS)

static inline u32 kwq_ticket_mask(u64 ticket)
{
	u64 product = (ticket >> KWQ_TABLE_BITS) * kwq_ticket_factors[0];

	product ^= product >> 32;
	return upper_32_bits(product * kwq_ticket_factors[1]);
}

/**
 * kwq_ticket_hash() - find the bucket of a ticket
 * @ticket: the ticket; any number
 *
 * Return: a hash for kwq_table_bucket(). Its lowest KWQ_TABLE_BITS bits are those of the key's.
 */
static inline u32 kwq_ticket_hash(u64 ticket)
{
	return lower_32_bits(ticket) ^ kwq_ticket_mask(ticket);
}

/**
 * kwq_next_ticket() - make the ticket of a hand-out (O3)
 * @keyed: the queue; its lock held
 * @hash: the hash of the item's key
 *
 * Return: the ticket, which is not 0.
 */
static inline u64 kwq_next_ticket(struct kwq_keyed *keyed, u32 hash)
{
	keyed->hand_outs = (keyed->hand_outs + KWQ_TICKET_STEP) ?: KWQ_TICKET_STEP;
	return keyed->hand_outs |
	       ((hash ^ kwq_ticket_mask(keyed->hand_outs)) & (KWQ_TICKET_STEP - 1));
}

/**
 * kwq_keyed_find_in() - find the item of a key
 * @node: the first node of the key's bucket in &kwq_keyed.table; the queue's lock held
 * @key: the key, with its hash
 *
 * Return: the item, or NULL.
 */
static inline struct kwq_keyed_item *kwq_keyed_find_in(struct kwq_node *node,
						       const struct kwq_key *key)
{
	struct kwq_keyed_item *ki;

	for (; node; node = node->next) {
		ki = container_of(node, struct kwq_keyed_item, by_key);
		if (ki->hash == key->hash && ki->key_len == key->len &&
		    !memcmp(ki->key, key->bytes, key->len))
			return ki;
	}
	return NULL;
}

/* The same in the whole table. */
static inline struct kwq_keyed_item *kwq_keyed_find(struct kwq_keyed *keyed,
						    const struct kwq_key *key)
{
	lockdep_assert_held(&keyed->queue.lock);
	return kwq_keyed_find_in(*kwq_table_bucket(&keyed->table, key->hash), key);
}

/* room.c */

/**
 * struct kwq_room_wait - how adds wait for room
 * @patience: how long to wait
 * @handle: the handle of the adds
 * @was_told: the current add was told of room, which it has not used or left to others yet
 * @err: out: why an add gave up; 0 if none did
 */
struct kwq_room_wait {
	struct kwq_patience patience;
	struct kwq_handle *handle;
	bool was_told;
	int err;
};

bool kwq_keyed_may_find_room(const struct kwq_stock *stock, int result);
int kwq_keyed_wait_for_room_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
				   struct kwq_extras *extras, struct kwq_stock *stock,
				   struct kwq_room_wait *wait, unsigned long *flags)
	__must_hold(&keyed->queue.lock);
int kwq_stock_fill_or_wait(struct kwq_stock *stock, struct kwq_keyed *keyed,
			   const struct kwq_key *key, const struct kwq_extras *extras, u32 nr,
			   struct kwq_room_wait *wait);
void kwq_keyed_end_away(struct kwq_keyed *keyed);
void kwq_leave_room_locked(struct kwq_keyed *keyed, struct kwq_room_wait *wait);
void kwq_tell_adders_locked(struct kwq_keyed *keyed);

/* board.c */

/* The slots and the head of a board fit into 64 KiB, and a struct kwq_keyed_board into 8. */
#define KWQ_BOARD_SLOTS		1022
#define KWQ_BOARD_BYTES		PAGE_ALIGN(sizeof(struct kwq_board) +			\
					   KWQ_BOARD_SLOTS * sizeof(struct kwq_board_slot))

/**
 * struct kwq_keyed_board - the board of a queue
 * @map: what programs map: a &struct kwq_board and its slots; constant
 * @nr_slots: number of slots; constant
 * @items: L: the item whose key a slot has, or NULL
 *
 * L: protected by the queue's lock.
 */
struct kwq_keyed_board {
	struct kwq_board *map;
	u32 nr_slots;
	struct kwq_keyed_item *items[KWQ_BOARD_SLOTS];
};

int kwq_keyed_provide_board(struct kwq_keyed *keyed);
void kwq_board_post(struct kwq_keyed *keyed, struct kwq_keyed_item *ki, int result);
void kwq_board_take_off(struct kwq_keyed *keyed, struct kwq_keyed_item *ki);
void kwq_keyed_close_board(struct kwq_keyed *keyed);
void kwq_keyed_tell(struct kwq_keyed *keyed, u64 adds);
void kwq_board_free(struct kwq_keyed_board *board);

/* life.c */
int kwq_keyed_register(void);
void kwq_keyed_unregister(void);
struct kwq_keyed *kwq_keyed_create(const char *name, enum kwq_clock clock,
				   const struct kwq_limits *limits);
int kwq_keyed_set_outbox(struct kwq_keyed *keyed, struct kwq_keyed *outbox, u32 rights);
int kwq_keyed_configure(struct kwq_keyed *keyed, const struct kwq_limiter_config *config);
void kwq_keyed_pause(struct kwq_keyed *keyed, ktime_t until);
void kwq_keyed_work_async(struct kwq_keyed *keyed);
void kwq_keyed_put(struct kwq_keyed *keyed);
void kwq_keyed_put_async(struct kwq_keyed *keyed);
void kwq_keyed_shut_down(struct kwq_keyed *keyed);
int kwq_keyed_drain(struct kwq_keyed *keyed, ktime_t deadline, u64 since, u64 *shut_downs);

/* term.c */
int kwq_keyed_set_term(struct kwq_keyed *keyed, ktime_t term);
void kwq_term_end_locked(struct kwq_keyed *keyed, ktime_t now);
bool kwq_term_look_locked(struct kwq_keyed *keyed);
bool kwq_handouts_expire(struct kwq_keyed *keyed, ktime_t now);

#if IS_ENABLED(CONFIG_KUNIT)
extern struct workqueue_struct *kwq_free_wq;
void kwq_keyed_drop_async(struct kwq_keyed *keyed);
void kwq_keyed_free_async(struct kwq_keyed *keyed);
bool kwq_keyed_is_worked_on(struct kwq_keyed *keyed);
#endif

/* keyed.c */
int kwq_keyed_add_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
			 const struct kwq_add_options *options, struct kwq_extras *extras,
			 ktime_t now, struct kwq_stock *stock);
bool kwq_keyed_fits_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
			   struct kwq_extras *extras);
int kwq_keyed_restore_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
			     const struct kwq_restored *restored, struct kwq_extras *extras,
			     ktime_t now, struct kwq_stock *stock);
int kwq_keyed_remove_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
			    u32 flags, u64 change, ktime_t now);
int kwq_keyed_forget_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
			    ktime_t now);
int kwq_keyed_num_requeues_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
				  ktime_t now);
int kwq_keyed_advance(struct kwq_keyed *keyed, u64 time, bool to);

/* list.c */
int kwq_keyed_list(struct kwq_keyed *keyed, struct kwq_list_request *request,
		   struct kwq_list_buffer *buffer);
u64 kwq_keyed_oldest(struct kwq_keyed *keyed, u8 state, ktime_t now);

/* group_names.c */
int kwq_keyed_init_order(struct kwq_keyed *keyed);
void kwq_keyed_destroy_groups(struct kwq_keyed *keyed);
bool kwq_keyed_lacks_group(struct kwq_keyed *keyed, const struct kwq_extras *extras,
			   struct kwq_stock *stock);
void kwq_keyed_find_group(struct kwq_keyed *keyed, struct kwq_extras *extras);
u32 kwq_keyed_group_bytes(u32 len);
struct kwq_group *kwq_keyed_get_group(struct kwq_keyed *keyed, const struct kwq_extras *extras,
				      struct kwq_stock *stock);
void kwq_keyed_put_group(struct kwq_keyed *keyed, struct kwq_group *group);
void kwq_keyed_begin_run(struct kwq_keyed *keyed, struct kwq_keyed_item *ki);
void kwq_keyed_end_run(struct kwq_keyed *keyed, struct kwq_keyed_item *ki);
void kwq_keyed_leave_group(struct kwq_keyed *keyed, struct kwq_keyed_item *ki);
bool kwq_stock_fill_group(struct kwq_stock *stock, const struct kwq_key *name);
const struct kwq_keyed_group *kwq_keyed_group_of(const struct kwq_keyed *keyed,
						 struct kwq_keyed_item *ki);

/**
 * kwq_keyed_has_gone() - has a queue anything that is left to free
 * @keyed: the queue; its lock held
 *
 * Return: true if so, because all that is gone has bytes.
 */
static inline bool kwq_keyed_has_gone(const struct kwq_keyed *keyed)
{
	return keyed->gone_bytes;
}

/**
 * kwq_keyed_may_tell_adders() - may adds that wait have found room
 * @keyed: the queue; its lock held
 *
 * Return: true if the next unlock has to look.
 */
static inline bool kwq_keyed_may_tell_adders(const struct kwq_keyed *keyed)
{
	return keyed->owes & KWQ_OWES_ADDERS && (keyed->adders_may_fit || keyed->adders_to_ask);
}

/**
 * kwq_member_of() - what an item has in a queue with groups
 * @ki: the item
 *
 * Return: that.
 */
static inline struct kwq_member *kwq_member_of(struct kwq_keyed_item *ki)
{
	return &container_of(&ki->item, struct kwq_grouped_item, item)->member;
}

/* stat.c */

void kwq_keyed_stat(struct kwq_keyed *keyed, struct kwq_stat *stat);
void kwq_handle_show(struct kwq_handle *handle, struct seq_file *seq);

/* poll.c */
__poll_t kwq_handle_poll(struct kwq_handle *handle, struct file *file,
			 struct poll_table_struct *table);

static inline struct kwq_keyed_item *kwq_keyed_item_of(struct kwq_item *item)
{
	return container_of(item, struct kwq_keyed_item, item);
}

/* handle.c */

/**
 * struct kwq_got_more - what else comes with an item that was got
 * @max_bytes: most bytes of the key, its group's name and its value together
 * @group_len: out: length of the group's name, which is behind the key in @keys of the buffer
 * @value: out: the value, with a reference; NULL for none
 * @token: out: the token; 0 for none
 * @lacking: out: the bytes of all of these of the first key, also after -EMSGSIZE
 * @calls: the quota that pays for @value while it is copied: see kwq_calls_get()
 */
struct kwq_got_more {
	struct kwq_quota *calls;
	u32 max_bytes;
	u32 group_len;
	struct kwq_value *value;
	u64 token;
	u32 lacking;
};

/**
 * struct kwq_got_buffer - buffer for items that were got
 * @got: room for @max_items
 * @keys: room for @max_key_bytes bytes of packed keys
 * @max_items: most items to get
 * @max_key_bytes: most bytes of keys to get
 * @longest: the caller can provide room for a first key of up to this length; 0 if it
 *	cannot provide more
 * @keys_len: out: bytes used in @keys
 * @lacking: out: after -EMSGSIZE, the length of the first key
 * @more: for what else comes with the item, if @max_items is 1; NULL if nothing is wanted
 */
struct kwq_got_buffer {
	struct kwq_got *got;
	struct kwq_got_more *more;
	u8 *keys;
	u32 max_items;
	u32 max_key_bytes;
	u32 longest;
	u32 keys_len;
	u32 lacking;
};

/**
 * kwq_wants_more_room() - can the caller provide the room that was lacking
 * @buffer: the buffer
 * @ret: result of the get
 *
 * Return: true if the caller should get again, with room for @buffer->lacking bytes of
 * keys.
 */
static inline bool kwq_wants_more_room(const struct kwq_got_buffer *buffer, int ret)
{
	return ret == -EMSGSIZE && buffer->lacking <= buffer->longest;
}

struct kwq_handle *kwq_handle_open(struct kwq_keyed *keyed, u32 rights);
void kwq_handle_close(struct kwq_handle *handle);
void kwq_handle_flush(struct kwq_handle *handle);
struct kwq_quota *kwq_calls_get(const struct kwq_handle *handle);
void kwq_calls_put(const struct kwq_handle *handle, struct kwq_quota *quota);
struct kwq_handle *kwq_handle_for_adds(struct kwq_handle *handle);

/**
 * kwq_front_is_shut_down() - was the queue shut down whose adds go to this outbox (Q8)
 * @front: that queue; NULL if this is no outbox
 *
 * Return: true if so. Then no add of that queue may come here any more.
 */
static inline bool kwq_front_is_shut_down(struct kwq_keyed *front)
{
	return unlikely(front) && kwq_shutting_down(&front->queue);
}

bool kwq_handle_set_has_lost(struct kwq_handle *handle, bool has_lost);
int kwq_handle_get(struct kwq_handle *handle, struct kwq_got_buffer *buffer,
		   const struct kwq_patience *patience);
void kwq_handle_unget(struct kwq_handle *handle, const struct kwq_got *got,
		      u32 nr);
int kwq_handle_end_locked(struct kwq_handle *handle, u64 ticket, const struct kwq_key *key,
			  u32 done_flags, ktime_t now);
int kwq_handle_done_and_get(struct kwq_handle *handle, u64 ticket, u32 done_flags,
			    s32 *result, struct kwq_got_buffer *buffer);
int kwq_handle_extend_locked(struct kwq_handle *handle, u64 ticket, const struct kwq_key *key,
			     struct kwq_extras *extras, ktime_t now, struct kwq_stock *stock);

/**
 * kwq_handle_of() - the handle that holds an item
 * @item: the item; processing
 *
 * Return: the handle.
 */
static inline struct kwq_handle *kwq_handle_of(const struct kwq_item *item)
{
	return container_of(item->holder, struct kwq_handle, holder);
}

/* handout.c */
struct kwq_keyed_item *kwq_find_held(struct kwq_handle *handle, u64 ticket);
void kwq_handout_begin(struct kwq_handle *handle, struct kwq_keyed_item *ki);
void kwq_handout_end(struct kwq_handle *handle, struct kwq_keyed_item *ki);
void kwq_handout_abandon(struct kwq_keyed *keyed, struct kwq_keyed_item *ki, ktime_t now);
void kwq_handout_lose(struct kwq_keyed *keyed, struct kwq_keyed_item *ki, ktime_t now);
void kwq_handout_revoke(struct kwq_keyed *keyed, struct kwq_keyed_item *ki, ktime_t now);
void kwq_handout_extend(struct kwq_keyed *keyed, struct kwq_keyed_item *ki, ktime_t now);

/* producer.c */

/* With keys of 16 bytes that is room for 2,730 adds. */
#define KWQ_RING_BYTES		SZ_64K

/**
 * struct kwq_record - an add that is posted, in the ring of a &struct kwq_key_queue
 * @size: bytes of the record, a multiple of 8, and bits of its state; 0 until it is ready
 * @key_len: length of the key
 * @has_options: it has options. They are behind the key, and behind them the name of the group and
 *	the value
 * @bytes: the key
 */
struct kwq_record {
	u32 size;
	u16 key_len;
	bool has_options;
	u8 bytes[];
};

/* A bit of @size of a record that only fills the ring. */
#define KWQ_RECORD_IS_PADDING	BIT(1)

/**
 * struct kwq_key_queue - the queue of a program, held by a driver
 * @handle: with the rights and the quotas of who gave it; not among &kwq_keyed.nr_handles
 * @memcg: the memory cgroup of who gave it; NULL for none
 * @ring: KWQ_RING_BYTES of records
 * @head: bytes that were reserved so far
 * @tail: bytes that were taken so far; written by the worker
 * @is_called: the worker will look at all that is ready now
 * @call: queues @work, from a context that may not do so itself
 * @work: carries out what is posted
 */
struct kwq_key_queue {
	struct kwq_handle *handle;
	struct mem_cgroup *memcg;
	void *ring;
	unsigned long head;
	unsigned long tail;
	bool is_called;
	struct irq_work call;
	struct work_struct work;
};

struct kwq_key_queue *kwq_key_queue_open(struct kwq_keyed *keyed, u32 rights);
#if IS_ENABLED(CONFIG_KUNIT)
struct kwq_record *kwq_record_reserve(struct kwq_key_queue *keys, u32 size);
void kwq_record_commit(struct kwq_key_queue *keys, struct kwq_record *record, u32 size);
#endif

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

void kwq_quota_register(void);
struct kwq_quota *kwq_quota_add_queue(struct user_namespace *ns, kuid_t owner,
				      enum kwq_quota_kind kind);
void kwq_quota_remove_queue(struct kwq_quota *quota);
struct kwq_quota *kwq_quota_refuser(struct kwq_quota *quota, u64 bytes);
bool kwq_quota_charge(struct kwq_quota *quota, u64 bytes);
void kwq_quota_charge_anyway(struct kwq_quota *quota, u64 bytes);
void kwq_quota_uncharge(struct kwq_quota *quota, u64 bytes);
bool kwq_quota_is_short(const struct kwq_quota *quota);
bool kwq_quota_is_wanted(const struct kwq_quota *quota);
struct kwq_quota *kwq_quota_get(struct user_namespace *ns, kuid_t user, enum kwq_quota_kind kind);
enum kwq_quota_kind kwq_quota_kind_for(enum kwq_quota_kind kind);
void kwq_quota_put(struct kwq_quota *quota);
void kwq_quota_tell(struct kwq_quota *quota);
int kwq_quota_tell_pollers(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key);
void kwq_quota_unwatch(struct kwq_keyed *keyed);
bool kwq_quota_watch(struct kwq_keyed *keyed, u64 bytes);
u64 kwq_quota_missing(const struct kwq_quota *quota, u64 bytes);
void kwq_quota_read(struct kwq_info *info);
extern unsigned int kwq_max_queues;
extern unsigned long kwq_max_user_bytes;
extern unsigned long kwq_max_total_bytes;
#if IS_ENABLED(CONFIG_KUNIT)
struct kwq_quota *kwq_new_quota(gfp_t gfp);
extern const struct kernel_param_ops kwq_quota_bytes_ops;
#endif

#endif /* KWQ_KEYED_H */

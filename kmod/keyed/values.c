// SPDX-License-Identifier: GPL-2.0-only
/*
 * Values and notes of keys (Q18).
 *
 * A value is an object of its own, allocated and filled before the lock is taken. An item
 * points to its value, and a later value takes its place. A get takes a reference under the
 * lock, and copies the bytes to the program without it. The owner of the queue pays for a value
 * as long as an item points to it. A reader pays for it as for memory of its own call, because a
 * slow one may keep the value long after it has left the item (O9).
 *
 * A note is a second value: what a worker says of the item, for whoever lists the queue.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "keyed.h"

/**
 * kwq_value_alloc() - allocate a value
 * @len: number of bytes, 1 to KWQ_VALUE_MAX
 *
 * The caller fills in the bytes.
 *
 * Context: process; may sleep.
 * Return: the value, with one reference; NULL without memory.
 */
struct kwq_value *kwq_value_alloc(u32 len)
{
	size_t size = struct_size_t(struct kwq_value, bytes, len);
	struct kwq_value *value = kvmalloc(size, GFP_KERNEL_ACCOUNT);

	if (!value)
		return NULL;
	refcount_set(&value->refs, 1);
	value->len = len;
	/* Here alone, because it takes long to compute, and a value is counted several times. */
	value->size = kwq_bytes_of_kmalloc(size);
	return value;
}

/**
 * kwq_value_put() - drop a reference to a value
 * @value: the value
 *
 * Context: process; may sleep.
 */
void kwq_value_put(struct kwq_value *value)
{
	if (refcount_dec_and_test(&value->refs))
		kvfree(value);
}

/**
 * kwq_memory_free() - free values and groups that nobody uses any more
 * @gone: the node of the first of them, with which its memory begins
 *
 * Context: process; may sleep.
 */
void kwq_memory_free(struct kwq_node *gone)
{
	struct kwq_node *next;

	static_assert(!offsetof(struct kwq_value, gone) &&
		      !offsetof(struct kwq_keyed_group, by_name));
	for (; gone; gone = next) {
		next = gone->next;
		kvfree(gone);
		cond_resched();
	}
}

/* The item does not point to this value any more. The next unlock frees it. */
static void leave_value(struct kwq_keyed *keyed, struct kwq_value *value)
{
	kwq_keyed_lose_bytes(keyed, kwq_value_bytes(value));
	/* Otherwise a call that is copying the value out frees it. */
	if (refcount_dec_and_test(&value->refs))
		kwq_keyed_lose_memory(keyed, &value->gone);
}

/* Puts @value, whose bytes are charged, into a slot. The value that it takes the place of goes. */
static void set_slot(struct kwq_keyed *keyed, struct kwq_keyed_item *ki, int slot,
		     struct kwq_value *value)
{
	struct kwq_value **at = &kwq_value_slot(keyed, ki)[slot];

	if (slot == KWQ_VALUE)
		keyed->nr_values += !!value - !!*at;
	if (*at)
		leave_value(keyed, *at);
	*at = value;
	keyed->nr_bytes += kwq_value_bytes(value);
}

/**
 * kwq_keyed_drop_slot() - take the value or the note of an item away
 * @keyed: the queue; it has values; its lock held
 * @ki: the item
 * @slot: KWQ_VALUE or KWQ_NOTE
 */
void kwq_keyed_drop_slot(struct kwq_keyed *keyed, struct kwq_keyed_item *ki, int slot)
{
	lockdep_assert_held(&keyed->queue.lock);
	if (kwq_value_slot(keyed, ki)[slot])
		set_slot(keyed, ki, slot, NULL);
}

/**
 * kwq_keyed_keeps_value() - does an item keep its value when an add brings one
 * @keyed: the queue; it has values; its lock held
 * @ki: the item
 * @extras: what the add brings, with a value
 *
 * Return: true if the new value is dropped.
 */
bool kwq_keyed_keeps_value(const struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
			   const struct kwq_extras *extras)
{
	return extras->flags & KWQ_ADD_KEEP_VALUE && *kwq_value_slot(keyed, ki) &&
	       ki->item.state & (KWQ_ITEM_DIRTY | KWQ_ITEM_WAITING);
}

/**
 * kwq_keyed_need_slot() - count what a value or a note needs of the queue's limits
 * @keyed: the queue; its lock held
 * @ki: its item; NULL for a new key
 * @slot: KWQ_VALUE or KWQ_NOTE
 * @value: what goes into the slot, or NULL
 * @need: in and out: what the entry needs
 */
void kwq_keyed_need_slot(const struct kwq_keyed *keyed, struct kwq_keyed_item *ki, int slot,
			 const struct kwq_value *value, struct kwq_need *need)
{
	u32 bytes = kwq_value_bytes(value);

	need->all += bytes;
	if (ki)
		bytes -= min(bytes, kwq_value_bytes(kwq_value_slot(keyed, ki)[slot]));
	need->bytes += bytes;
}

/* The bytes of the value are charged for @stock, and are the item's from now on. */
static void move_to_slot(struct kwq_keyed *keyed, struct kwq_keyed_item *ki, int slot,
			 struct kwq_value **value, struct kwq_stock *stock)
{
	stock->value_bytes -= kwq_value_bytes(*value);
	set_slot(keyed, ki, slot, *value);
	*value = NULL;
}

/**
 * kwq_keyed_set_values() - give an item the value and the note that an entry brings
 * @keyed: the queue; its lock held
 * @ki: the item; there is room
 * @extras: what the entry brings
 * @stock: has the charge of both
 */
void kwq_keyed_set_values(struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
			  struct kwq_extras *extras, struct kwq_stock *stock)
{
	lockdep_assert_held(&keyed->queue.lock);
	if (extras->flags & KWQ_ADD_VALUE)
		move_to_slot(keyed, ki, KWQ_VALUE, &extras->value, stock);
	if (extras->flags & KWQ_ADD_NOTE)
		move_to_slot(keyed, ki, KWQ_NOTE, &extras->note, stock);
}

/**
 * kwq_keyed_has_set() - does the value of an item have all bits of a set
 * @keyed: the queue; it has values; its lock held
 * @ki: the item
 * @set: the set
 * @len: its bytes
 *
 * Return: true if the value is a set of this length that has them.
 */
bool kwq_keyed_has_set(const struct kwq_keyed *keyed, struct kwq_keyed_item *ki, const u8 *set,
		       u32 len)
{
	const struct kwq_value *value = kwq_value_slot(keyed, ki)[KWQ_VALUE];
	u32 i;

	if (!value || value->len != len)
		return false;
	for (i = 0; i < len; i++)
		if (set[i] & ~value->bytes[i])
			return false;
	return true;
}

/**
 * kwq_keyed_join_sets() - add the bits that an item has to a new set
 * @keyed: the queue; it has values; its lock held
 * @ki: the item, which was not idle before the add
 * @value: the new value; the item does not have it yet
 *
 * They may be those of a run that will fail, so they stay until the item is done.
 */
void kwq_keyed_join_sets(const struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
			 struct kwq_value *value)
{
	const struct kwq_value *old = kwq_value_slot(keyed, ki)[KWQ_VALUE];
	u32 i;

	if (!old || old->len != value->len)
		return;
	for (i = 0; i < value->len; i++)
		value->bytes[i] |= old->bytes[i];
}

/**
 * kwq_keyed_note_locked() - give an item a note alone
 * @keyed: the queue; its lock held
 * @ki: the item
 * @extras: brings the note, and nothing else
 * @stock: has the charge of the note, or will get it
 *
 * Return: 0, or an error with nothing changed: -EAGAIN (call kwq_stock_fill() and try again),
 * -ENOSPC, -EOPNOTSUPP.
 */
int kwq_keyed_note_locked(struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
			  struct kwq_extras *extras, struct kwq_stock *stock)
{
	struct kwq_need need = { .all = kwq_item_bytes(keyed, ki->key_len) };
	int ret;

	if (!keyed->limits.values)
		return -EOPNOTSUPP;
	kwq_keyed_need_slot(keyed, ki, KWQ_NOTE, extras->note, &need);
	ret = kwq_keyed_find_room(keyed, &need, stock);
	if (ret)
		return ret;
	stock->wants_value = extras->note && !stock->value_bytes;
	if (stock->wants_value)
		return -EAGAIN;
	kwq_keyed_set_values(keyed, ki, extras, stock);
	return 0;
}

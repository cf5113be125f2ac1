// SPDX-License-Identifier: GPL-2.0-only
/*
 * Values of keys (Q18).
 *
 * A value is an object of its own, allocated and filled before the lock is taken. An item
 * points to its value, and a later value takes its place. A get takes a reference under the
 * lock, and copies the bytes to the program without it. The owner of the queue pays for a value
 * as long as an item points to it. A reader pays for it as for memory of its own call, because a
 * slow one may keep the value long after it has left the item (O9).
 */
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
	struct kwq_value *value = kvmalloc(struct_size(value, bytes, len), GFP_KERNEL_ACCOUNT);

	if (!value)
		return NULL;
	refcount_set(&value->refs, 1);
	value->next = NULL;
	value->len = len;
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
 * kwq_values_free() - free values that nobody uses any more
 * @gone: the first of them
 *
 * Context: process; may sleep.
 */
void kwq_values_free(struct kwq_value *gone)
{
	struct kwq_value *next;

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
	keyed->owes |= KWQ_OWES_MEMORY;
	keyed->nr_values--;
	/* A call that is copying the value out frees it. */
	if (!refcount_dec_and_test(&value->refs))
		return;
	value->next = keyed->gone_values;
	keyed->gone_values = value;
}

/**
 * kwq_keyed_drop_value() - take the value of an item away
 * @keyed: the queue; it has values; its lock held
 * @ki: the item
 */
void kwq_keyed_drop_value(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	struct kwq_value **slot = kwq_value_slot(keyed, ki);

	lockdep_assert_held(&keyed->queue.lock);
	if (!*slot)
		return;
	leave_value(keyed, *slot);
	*slot = NULL;
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
 * kwq_keyed_set_value() - give an item the value that an add brings
 * @keyed: the queue; its lock held
 * @ki: the item; there is room
 * @extras: what the add brings
 * @stock: has the charge of the value
 */
void kwq_keyed_set_value(struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
			 struct kwq_extras *extras, struct kwq_stock *stock)
{
	struct kwq_value **slot;

	lockdep_assert_held(&keyed->queue.lock);
	if (!(extras->flags & KWQ_ADD_VALUE))
		return;
	slot = kwq_value_slot(keyed, ki);
	if (*slot)
		leave_value(keyed, *slot);
	*slot = extras->value;
	extras->value = NULL;
	if (*slot) {
		keyed->nr_bytes += stock->value_bytes;
		stock->value_bytes = 0;
		keyed->nr_values++;
	}
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of a queue: how much each part of it takes, the pages of its tables, and its limits
 * (O4, O9).
 */
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <kunit/visibility.h>
#include "keyed.h"

/* For each charged object the kernel stores which cgroup it is charged to. */
#define CHARGE_SIZE	(IS_ENABLED(CONFIG_MEMCG) * sizeof(void *) *	\
			 (1 + IS_ENABLED(CONFIG_MEM_ALLOC_PROFILING)))

/**
 * kwq_bytes_in_slab() - bytes that a slab cache uses for an object
 * @size: size of the object
 *
 * Its share of a page, and of the array with the cgroups of that page's objects. Caches with
 * several pages per slab waste no more than this. The red zones of a debugging kernel are not
 * counted.
 *
 * Return: the number of bytes.
 */
u32 kwq_bytes_in_slab(size_t size)
{
	size_t nr = PAGE_SIZE / size;

	return DIV_ROUND_UP(PAGE_SIZE + kmalloc_size_roundup(nr * CHARGE_SIZE), nr);
}

/**
 * kwq_bytes_of_kmalloc() - bytes that kmalloc() uses
 * @size: size of the request
 *
 * Return: the number of bytes.
 */
u32 kwq_bytes_of_kmalloc(size_t size)
{
	size_t bytes = kmalloc_size_roundup(size);

	/* Only objects whose size is a power of two fill a page without waste. */
	if (!is_power_of_2(bytes) && bytes < PAGE_SIZE)
		bytes = DIV_ROUND_UP(PAGE_SIZE, PAGE_SIZE / bytes);
	return bytes + CHARGE_SIZE;
}

/**
 * kwq_keyed_own_bytes() - memory of a queue without items
 * @name: the queue's name
 * @limits: its limits
 *
 * Return: the number of bytes.
 */
u64 kwq_keyed_own_bytes(const char *name, const struct kwq_limits *limits)
{
	return kwq_bytes_of_kmalloc(sizeof(struct kwq_keyed)) +
	       kwq_bytes_of_kmalloc(sizeof(struct kwq_table_top)) +
	       kwq_bytes_of_kmalloc(sizeof(struct kwq_rate_limiter)) +
	       (*name ? kwq_bytes_of_kmalloc(strlen(name) + 1) : 0) +
	       (limits->groups ? kwq_bytes_of_kmalloc(sizeof(struct kwq_keyed_groups)) : 0) +
	       (limits->changes ? kwq_bytes_of_kmalloc(sizeof(struct kwq_changes)) : 0);
}

/**
 * kwq_keyed_count_limiters() - count the memory of the limiters' pauses
 * @keyed: the queue; it was just configured
 *
 * The quota cannot refuse these bytes. They are few compared with the queue itself.
 */
void kwq_keyed_count_limiters(struct kwq_keyed *keyed)
{
	const struct kwq_rate_limiter *limiter;
	unsigned long flags;
	u32 bytes, before;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	limiter = keyed->queue.core.limiter;
	bytes = kwq_bytes_of_kmalloc(struct_size(limiter, pauses,
						 limiter->first[KWQ_LIMITERS_MAX])) -
		kwq_bytes_of_kmalloc(sizeof(*limiter));
	before = keyed->limiter_bytes;
	keyed->limiter_bytes = bytes;
	keyed->own_bytes += bytes;
	keyed->own_bytes -= before;
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
	kwq_quota_charge_anyway(keyed->quota, bytes);
	kwq_quota_uncharge(keyed->quota, before);
}

/**
 * kwq_item_size() - bytes of an item that is allocated by itself
 * @keyed: its queue
 * @key_len: length of its key
 *
 * Return: the number, with what is before the item and behind its key.
 */
size_t kwq_item_size(const struct kwq_keyed *keyed, u32 key_len)
{
	size_t size = keyed->size_before + struct_size_t(struct kwq_keyed_item, key, key_len);

	if (!keyed->limits.lease && !keyed->limits.values)
		return size;
	size = ALIGN(size, __alignof__(struct kwq_lease));
	if (keyed->limits.lease)
		size += sizeof(struct kwq_lease);
	if (keyed->limits.values)
		size += KWQ_SLOTS * sizeof(struct kwq_value *);
	return size;
}

/**
 * kwq_item_bytes() - bytes that the allocator uses for an item
 * @keyed: its queue
 * @key_len: length of its key
 *
 * Return: the number, without its value and its note.
 */
u32 kwq_item_bytes(const struct kwq_keyed *keyed, u32 key_len)
{
	if (kwq_item_is_small(keyed, key_len))
		return keyed->small_bytes;
	return kwq_bytes_of_kmalloc(kwq_item_size(keyed, key_len));
}

VISIBLE_IF_KUNIT void *kwq_new_page(gfp_t gfp)
{
	KUNIT_STATIC_STUB_REDIRECT(kwq_new_page, gfp);
	return (void *)get_zeroed_page(gfp);
}

/**
 * kwq_keyed_new_page() - get a page for a table of a queue
 * @keyed: the queue; its lock held
 *
 * A quota does not refuse it, because with fewer buckets every walk under the lock would be longer.
 *
 * Return: the page; NULL without memory.
 */
void *kwq_keyed_new_page(struct kwq_keyed *keyed)
{
	void *page = kwq_new_page(GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN);

	if (page) {
		keyed->own_bytes += PAGE_SIZE;
		kwq_quota_charge_anyway(keyed->quota, PAGE_SIZE);
	}
	return page;
}

/**
 * kwq_keyed_free_page() - take a page back from a table of a queue
 * @keyed: the queue; its lock held, or nobody else uses it
 * @page: the page. The unlock gives its bytes back
 */
void kwq_keyed_free_page(struct kwq_keyed *keyed, void *page)
{
	free_page((unsigned long)page);
	keyed->own_bytes -= PAGE_SIZE;
	keyed->gone_bytes += PAGE_SIZE;
}

/**
 * kwq_keyed_has_room_for() - do the limits of a queue allow more
 * @keyed: the queue; its lock held
 * @nr: number of items
 * @bytes: bytes of these items, as the allocator rounds them up
 *
 * Return: true if so.
 */
bool kwq_keyed_has_room_for(const struct kwq_keyed *keyed, u32 nr, u64 bytes)
{
	lockdep_assert_held(&keyed->queue.lock);
	return (!nr || keyed->nr_items - keyed->nr_remembered + (u64)nr <=
		keyed->limits.max_items) &&
	       (!bytes || keyed->nr_bytes - keyed->bytes_remembered + bytes <=
		keyed->limits.max_bytes);
}

/**
 * kwq_keyed_find_room() - is there room for all that an add needs (O4)
 * @keyed: the queue; its lock held
 * @need: what it needs
 * @stock: out: what was refused
 *
 * Return: 0; -ENOSPC: the queue is full.
 */
int kwq_keyed_find_room(struct kwq_keyed *keyed, const struct kwq_need *need,
			struct kwq_stock *stock)
{
	if (likely(kwq_keyed_has_room_for(keyed, need->items, need->bytes)))
		return 0;
	stock->never_fits = need->all > keyed->limits.max_bytes;
	/* An edge-triggered poller was refused, and expects the next edge. */
	keyed->owes |= KWQ_OWES_ROOM;
	return -ENOSPC;
}

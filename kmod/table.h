/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A table of items by the hashes of their keys, which grows and shrinks by one bucket
 * at a time.
 *
 * For: keyed queues, whose lock covers it: a look-up is part of the hold in which the
 * item is worked on anyway, so nobody finds what is going, or waits for a resize.
 * Not for: readers without that lock. rhashtable is for those, and pays for it: with
 * a walk of its own, under a lock of its own, to insert and to remove, items that wait
 * for RCU before they are freed, and a worker that copies all of a table.
 *
 * No locking is done by this code, and nothing is allocated. What it lacks or has no
 * use for any more is said in the table, for who drops the lock.
 */
#ifndef KWQ_TABLE_H
#define KWQ_TABLE_H

#include <linux/mm_types.h>
#include <linux/types.h>

struct kwq_key;
struct kwq_keyed_item;

/* A table's own buckets, which it always has. */
#define KWQ_TABLE_MIN		64

/* Pages of buckets, and pages of pointers to these: 16 million buckets with 4 KiB each. */
#define KWQ_TABLE_FANOUT	((u32)(PAGE_SIZE / sizeof(void *)))
#define KWQ_TABLE_SPANS		64

/**
 * struct kwq_chain - a bucket: items whose hashes have their lowest bits in common
 * @first: the first, which has the others in its @next
 */
struct kwq_chain {
	struct kwq_keyed_item *first;
};

/**
 * struct kwq_table - items by the hashes of their keys
 * @nr_items: items
 * @nr_buckets: buckets
 * @low: the power of two that is at most that, and more than half of it
 * @pages_wanted: with so many pages, 1 or 2, it would have more buckets
 * @unused: pages that it has no use for, each with the next in its first bucket
 * @own: the first buckets
 * @spans: the other ones, in pages
 */
struct kwq_table {
	unsigned long nr_items;
	u32 nr_buckets;
	u32 low;
	int pages_wanted;
	void *unused;
	struct kwq_chain own[KWQ_TABLE_MIN];
	struct kwq_chain **spans[KWQ_TABLE_SPANS];
};

void kwq_table_init(struct kwq_table *table);
struct kwq_keyed_item *kwq_table_find(struct kwq_table *table,
				      const struct kwq_key *key);
void kwq_table_insert(struct kwq_table *table, struct kwq_keyed_item *ki);
void kwq_table_remove(struct kwq_table *table, struct kwq_keyed_item *ki);
void kwq_table_give_pages(struct kwq_table *table, void *pages[2]);
struct kwq_keyed_item *kwq_table_empty_last(struct kwq_table *table);

#endif /* KWQ_TABLE_H */

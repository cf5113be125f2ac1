/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A hash table that grows and shrinks by one bucket at a time.
 *
 * The table is for keyed queues, and protected by their lock. A lookup happens in the hold of
 * the lock in which the item is worked on. So nobody finds an item that is being removed, and
 * nobody waits for a resize. The table is not for readers without that lock. They need
 * rhashtable, which costs more. An insert or remove there walks a bucket under another lock.
 * Removed nodes have to wait for RCU before they are freed, and a worker copies the whole
 * table when its size changes.
 *
 * The table gets its pages, one at a time, in the hold in which it needs them. So they have to come
 * without sleeping. If one cannot be had, the buckets get longer, and the next insert asks again.
 */
#ifndef KWQ_TABLE_H
#define KWQ_TABLE_H

#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/swab.h>
#include <linux/types.h>

/* Number of buckets that a table always has. */
#define KWQ_TABLE_MIN		64

/* The most bits of a hash that choose a bucket, so a table has 16 million buckets at most. */
#define KWQ_TABLE_BITS		24

/*
 * Number of buckets in a page, and of pointers to such pages in a page. With pages of 4 KiB a
 * table has room for as many buckets as it may have. The square of KWQ_TABLE_FANOUT has to fit
 * into 32 bits. So on 32-bit machines with pages of 256 KiB only half of each page is used.
 */
#define KWQ_TABLE_FANOUT	min_t(u32, PAGE_SIZE / sizeof(void *), SZ_32K)
#define KWQ_TABLE_SPANS		64

/**
 * struct kwq_node - entry of a node in the table
 * @next: the next node in its bucket
 */
struct kwq_node {
	struct kwq_node *next;
};

/**
 * struct kwq_table_top - top level of a table, which never moves; the owner allocates it
 * @own: the first buckets; each points to its first node
 * @spans: the other buckets, in pages
 */
struct kwq_table_top {
	struct kwq_node *own[KWQ_TABLE_MIN];
	struct kwq_node ***spans[KWQ_TABLE_SPANS];
};

struct kwq_table;

/**
 * struct kwq_table_ops - what a table asks of its owner; called under the owner's lock
 * @hash: returns the hash of a node
 * @new_page: returns a zeroed page; NULL if there is none now
 * @drop_page: takes a page back
 */
struct kwq_table_ops {
	u32 (*hash)(const struct kwq_node *node);
	void *(*new_page)(struct kwq_table *table);
	void (*drop_page)(struct kwq_table *table, void *page);
};

/**
 * struct kwq_table - a hash table
 * @nr_nodes: number of nodes
 * @nr_buckets: number of buckets
 * @low: the largest power of two that is at most @nr_buckets
 * @ops: the owner's functions; constant
 * @top: the top level; constant
 */
struct kwq_table {
	unsigned long nr_nodes;
	u32 nr_buckets;
	u32 low;
	const struct kwq_table_ops *ops;
	struct kwq_table_top *top;
};

void kwq_table_init(struct kwq_table *table, struct kwq_table_top *top,
		    const struct kwq_table_ops *ops);
void kwq_table_grow(struct kwq_table *table);
void kwq_table_shrink(struct kwq_table *table);
struct kwq_node *kwq_table_empty_last(struct kwq_table *table);

static inline struct kwq_node **kwq_table_bucket_at(struct kwq_table *table, u32 nr)
{
	const u32 fanout = KWQ_TABLE_FANOUT;

	if (likely(nr < KWQ_TABLE_MIN))
		return &table->top->own[nr];
	return &table->top->spans[nr / fanout / fanout][nr / fanout % fanout]
				 [nr % fanout];
}

/**
 * kwq_table_bucket() - find the bucket of a hash
 * @table: the table
 * @hash: the hash
 *
 * Return: the bucket, which points to its first node. Nodes are linked by @next, and some
 * may have another hash.
 */
static inline struct kwq_node **kwq_table_bucket(struct kwq_table *table, u32 hash)
{
	u32 nr = hash & (2 * table->low - 1);

	if (nr >= table->nr_buckets)
		nr -= table->low;
	return kwq_table_bucket_at(table, nr);
}

/**
 * kwq_table_insert() - insert a node
 * @table: the table
 * @node: the node
 * @bucket: the bucket of its hash, as kwq_table_bucket() found it in this hold of the lock
 */
static inline void kwq_table_insert(struct kwq_table *table, struct kwq_node *node,
				    struct kwq_node **bucket)
{
	node->next = *bucket;
	*bucket = node;
	if (unlikely(++table->nr_nodes > table->nr_buckets))
		kwq_table_grow(table);
}

/**
 * kwq_table_place() - the place of a hash in a walk
 * @hash: the hash
 *
 * It is the hash with its bits in reverse order. A bucket is chosen by the lowest bits of the
 * hash. So however many buckets there are, the places of a bucket's nodes are all those between
 * a first and a last one, and a bucket that is split or merged changes these two only.
 *
 * Return: the place. kwq_table_place() of the place is the hash again.
 */
static inline u32 kwq_table_place(u32 hash)
{
	u32 bits = swab32(hash);

	bits = (bits & 0x0f0f0f0f) << 4 | (bits >> 4 & 0x0f0f0f0f);
	bits = (bits & 0x33333333) << 2 | (bits >> 2 & 0x33333333);
	return (bits & 0x55555555) << 1 | (bits >> 1 & 0x55555555);
}

/**
 * kwq_table_at() - find the bucket of a place
 * @table: the table
 * @place: the place
 * @last: out: the last place of that bucket
 *
 * A walk goes from one bucket to that of the place behind @last. The caller may release the
 * lock in between. As long as a node stays in the table, it is not missed and not met twice,
 * even if the number of buckets changes: its place stays the same.
 *
 * Return: the first node of the bucket, in no order; NULL if it is empty. Places of nodes may
 * be before @place.
 */
static inline struct kwq_node *kwq_table_at(struct kwq_table *table, u32 place, u32 *last)
{
	u32 hash = kwq_table_place(place), mask = 2 * table->low - 1;

	/* The bucket of the first half of these places has not been split yet. */
	if ((hash & (table->low - 1)) + table->low >= table->nr_buckets)
		mask = table->low - 1;
	*last = place | kwq_table_place(~mask);
	return *kwq_table_bucket_at(table, hash & mask);
}

/*
 * A table has at least as many buckets as nodes, or fewer if a page could not be allocated. It
 * has at most about KWQ_TABLE_SPARSE times as many buckets as nodes, or KWQ_TABLE_MIN. In
 * between the number of buckets does not change, so nodes that come and go do not make the
 * table grow and shrink again and again.
 */
#define KWQ_TABLE_SPARSE	4

static inline bool kwq_table_is_sparse(const struct kwq_table *table)
{
	return table->nr_buckets > KWQ_TABLE_MIN &&
	       table->nr_buckets / KWQ_TABLE_SPARSE > table->nr_nodes;
}

/*
 * The most nodes in a bucket. No bucket comes near that by chance, unless the table lacks pages for
 * more buckets, which a user can cause by using up the memory. And whoever may add keys and list
 * them learns their hashes little by little, and could choose keys of one bucket. Each walk under
 * the lock would be long then.
 */
#define KWQ_TABLE_CHAIN		128

/**
 * kwq_table_chain() - count nodes
 * @node: the first one, or NULL
 *
 * Return: the number of nodes, up to KWQ_TABLE_CHAIN.
 */
static inline int kwq_table_chain(const struct kwq_node *node)
{
	int nr;

	for (nr = 0; node && nr < KWQ_TABLE_CHAIN; nr++)
		node = node->next;
	return nr;
}

/**
 * kwq_table_is_full() - may no node be added to a bucket
 * @bucket: the bucket
 *
 * Return: true if it has as many as it may have.
 */
static inline bool kwq_table_is_full(struct kwq_node **bucket)
{
	return unlikely(kwq_table_chain(*bucket) == KWQ_TABLE_CHAIN);
}

/**
 * kwq_table_remove() - remove a node
 * @table: the table
 * @node: a node in the table
 * @hash: its hash
 */
static inline void kwq_table_remove(struct kwq_table *table, struct kwq_node *node,
				    u32 hash)
{
	struct kwq_node **link = kwq_table_bucket(table, hash);

	while (*link != node)
		link = &(*link)->next;
	*link = node->next;
	table->nr_nodes--;
	if (unlikely(kwq_table_is_sparse(table)))
		kwq_table_shrink(table);
}

#endif /* KWQ_TABLE_H */

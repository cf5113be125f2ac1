/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A table of nodes by their hashes, which grows and shrinks by one bucket at a time.
 *
 * For: keyed queues, whose lock covers it: a look-up is part of the hold in which the
 * item is worked on anyway, so nobody finds what is going, or waits for a resize.
 * Not for: readers without that lock. rhashtable is for those, and pays for it: with
 * a walk under a lock of its own to insert and to remove, with nodes that wait for RCU
 * before they are freed, and with a worker that copies all of a table.
 *
 * No locking is done by this code, and nothing is allocated. What it lacks or has no
 * use for any more is said in the table, for who drops the lock.
 */
#ifndef KWQ_TABLE_H
#define KWQ_TABLE_H

#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/types.h>

/* The buckets that a table always has. */
#define KWQ_TABLE_MIN		64

/*
 * Pages of buckets, and pages of pointers to these: 16 million buckets with 4 KiB each.
 * Half of a page of 256 KiB is enough on 32 bits, for they have to count its square.
 */
#define KWQ_TABLE_FANOUT	min_t(u32, PAGE_SIZE / sizeof(void *), SZ_32K)
#define KWQ_TABLE_SPANS		64

/**
 * struct kwq_node - of what is in a table
 * @next: the next one in its bucket
 */
struct kwq_node {
	struct kwq_node *next;
};

/**
 * struct kwq_table_top - the part of a table that never moves, for who makes the table
 * @own: the first buckets: in each the first node
 * @spans: the other ones, in pages
 */
struct kwq_table_top {
	struct kwq_node *own[KWQ_TABLE_MIN];
	struct kwq_node ***spans[KWQ_TABLE_SPANS];
};

/**
 * struct kwq_table - nodes by their hashes
 * @nr_nodes: nodes
 * @nr_buckets: buckets
 * @low: the power of two that is at most that, and more than half of it
 * @hash: what a node's hash is; constant
 * @pages_wanted: with so many pages, 1 or 2, it would have more buckets
 * @nr_unused: how many pages there are in
 * @unused: pages that it has no use for, each of which begins with the next; for who
 *	takes them to set both to 0
 * @top: the buckets; constant
 */
struct kwq_table {
	unsigned long nr_nodes;
	u32 nr_buckets;
	u32 low;
	u32 (*hash)(const struct kwq_table *table, const struct kwq_node *node);
	int pages_wanted;
	u32 nr_unused;
	void *unused;
	struct kwq_table_top *top;
};

void kwq_table_init(struct kwq_table *table, struct kwq_table_top *top,
		    u32 (*hash)(const struct kwq_table *table,
				const struct kwq_node *node));
void kwq_table_grow(struct kwq_table *table);
void kwq_table_shrink(struct kwq_table *table);
void kwq_table_give_pages(struct kwq_table *table, void *pages[2]);
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
 * kwq_table_bucket() - where a hash is looked for
 * @table: the table
 * @hash: the hash
 *
 * Return: the bucket: its first node has the others in its @next. There are some of
 * other hashes among them.
 */
static inline struct kwq_node **kwq_table_bucket(struct kwq_table *table, u32 hash)
{
	u32 nr = hash & (2 * table->low - 1);

	if (nr >= table->nr_buckets)
		nr -= table->low;
	return kwq_table_bucket_at(table, nr);
}

/**
 * kwq_table_insert() - put a node into the table
 * @table: the table
 * @node: the node
 * @hash: its hash
 *
 * @table->pages_wanted are to be given to it when convenient.
 */
static inline void kwq_table_insert(struct kwq_table *table, struct kwq_node *node,
				    u32 hash)
{
	struct kwq_node **bucket = kwq_table_bucket(table, hash);

	node->next = *bucket;
	*bucket = node;
	if (unlikely(++table->nr_nodes > table->nr_buckets))
		kwq_table_grow(table);
}

/*
 * There are at least as many buckets as nodes, but for what is refused a page, and at
 * most this many times as many. In between nothing moves: neither is done and undone
 * by nodes that come and go.
 */
#define KWQ_TABLE_SPARSE	4

static inline bool kwq_table_is_sparse(const struct kwq_table *table)
{
	return table->nr_buckets > KWQ_TABLE_MIN &&
	       table->nr_buckets / KWQ_TABLE_SPARSE > table->nr_nodes;
}

/*
 * What is refused a page is walked through under the lock, and whoever uses up the
 * memory can have it so. So there is an end: this many nodes a bucket.
 */
#define KWQ_TABLE_CROWDED	16

/**
 * kwq_table_is_crowded() - is nothing to be put into the table
 * @table: the table
 *
 * Return: true if it needs @table->pages_wanted before.
 */
static inline bool kwq_table_is_crowded(const struct kwq_table *table)
{
	return unlikely(table->pages_wanted) &&
	       table->nr_nodes / KWQ_TABLE_CROWDED >= table->nr_buckets;
}

/**
 * kwq_table_remove() - take a node out of the table
 * @table: the table
 * @node: a node that is in it
 * @hash: its hash
 *
 * Pages in @table->unused are to be freed when convenient.
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

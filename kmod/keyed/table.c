// SPDX-License-Identifier: GPL-2.0-only
/*
 * Linear hashing. The table has 2^n + m buckets. The buckets below m, and those from 2^n
 * on, are selected by n + 1 bits of the hash, the others by n bits. A new bucket takes its
 * nodes from exactly one other bucket. The last bucket merges back into that one. So each
 * call changes only a few buckets, however large the table is, and the table's memory
 * follows the number of nodes.
 */
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/minmax.h>
#include "table.h"

#define SPAN		(KWQ_TABLE_FANOUT * KWQ_TABLE_FANOUT)
#define MAX_BUCKETS	min_t(u64, (u64)KWQ_TABLE_SPANS * SPAN, BIT(KWQ_TABLE_BITS))

static bool is_own(u32 nr)
{
	return nr < KWQ_TABLE_MIN;
}

static struct kwq_node ***page_of(struct kwq_table *table, u32 nr)
{
	return &table->top->spans[nr / SPAN][nr / KWQ_TABLE_FANOUT % KWQ_TABLE_FANOUT];
}

/**
 * kwq_table_init() - initialise an empty table
 * @table: the table; all zeroes
 * @top: its top level; all zeroes
 * @ops: its owner's functions
 */
void kwq_table_init(struct kwq_table *table, struct kwq_table_top *top,
		    const struct kwq_table_ops *ops)
{
	table->nr_buckets = KWQ_TABLE_MIN;
	table->low = KWQ_TABLE_MIN;
	table->ops = ops;
	table->top = top;
}

/* The first bucket in the page or span of bucket @nr. Buckets below KWQ_TABLE_MIN have no page. */
static u32 first_in(u32 nr, u32 size)
{
	return max_t(u32, rounddown(nr, size), KWQ_TABLE_MIN);
}

static void free_page_of_table(struct kwq_table *table, void **page)
{
	if (*page)
		table->ops->drop_page(table, *page);
	*page = NULL;
}

/* Frees the page of bucket @nr, which is gone or could not be made, if it was the page's first. */
static void free_place(struct kwq_table *table, u32 nr)
{
	if (nr == first_in(nr, KWQ_TABLE_FANOUT))
		free_page_of_table(table, (void **)page_of(table, nr));
	if (nr == first_in(nr, SPAN))
		free_page_of_table(table, (void **)&table->top->spans[nr / SPAN]);
}

/* Gets a page unless it is there. Returns false if there is none now. */
static bool provide(struct kwq_table *table, void **page)
{
	if (!*page)
		*page = table->ops->new_page(table);
	return *page;
}

/* Makes the place of bucket @nr. */
static bool make_place(struct kwq_table *table, u32 nr)
{
	if (is_own(nr))
		return true;
	if (!provide(table, (void **)&table->top->spans[nr / SPAN]))
		return false;
	if (provide(table, (void **)page_of(table, nr)))
		return true;
	free_place(table, nr);
	return false;
}

static void add_bucket(struct kwq_table *table)
{
	u32 nr = table->nr_buckets;
	struct kwq_node **link = kwq_table_bucket_at(table, nr - table->low);
	struct kwq_node **to = kwq_table_bucket_at(table, nr);
	struct kwq_node *node;

	while ((node = *link)) {
		if (table->ops->hash(node) & table->low) {
			*link = node->next;
			node->next = *to;
			*to = node;
		} else {
			link = &node->next;
		}
	}
	table->nr_buckets++;
	if (table->nr_buckets == 2 * table->low)
		table->low = table->nr_buckets;
}

/**
 * kwq_table_grow() - add buckets until there are as many as nodes
 * @table: the table
 *
 * Adds at most two buckets per call, so that a table catches up after a page came late.
 */
noinline void kwq_table_grow(struct kwq_table *table)
{
	int n;

	for (n = 0; n < 2; n++) {
		if (table->nr_nodes <= table->nr_buckets ||
		    table->nr_buckets == MAX_BUCKETS)
			return;
		if (!make_place(table, table->nr_buckets))
			return;
		add_bucket(table);
	}
}

static void remove_bucket(struct kwq_table *table)
{
	struct kwq_node **link, **last;
	u32 nr = --table->nr_buckets;

	if (nr < table->low)
		table->low /= 2;
	last = kwq_table_bucket_at(table, nr);
	link = kwq_table_bucket_at(table, nr - table->low);
	while (*link)
		link = &(*link)->next;
	*link = *last;
	*last = NULL;
	if (!is_own(nr))
		free_place(table, nr);
}

/* A bucket that merges into another one must not make that too long. */
static bool may_remove_bucket(struct kwq_table *table)
{
	u32 nr = table->nr_buckets - 1;
	u32 low = nr < table->low ? table->low / 2 : table->low;

	return kwq_table_chain(*kwq_table_bucket_at(table, nr)) +
	       kwq_table_chain(*kwq_table_bucket_at(table, nr - low)) <= KWQ_TABLE_CHAIN;
}

/**
 * kwq_table_shrink() - remove buckets if there are too many for the nodes
 * @table: the table
 *
 * Removes as many buckets per call as one node justifies, so that an empty table keeps no
 * extra ones.
 */
noinline void kwq_table_shrink(struct kwq_table *table)
{
	int n;

	for (n = 0; n < KWQ_TABLE_SPARSE && kwq_table_is_sparse(table) &&
	     may_remove_bucket(table); n++)
		remove_bucket(table);
}

/**
 * kwq_table_empty_last() - take a table apart
 * @table: the table; used for nothing else any more
 *
 * Call it until @table->nr_buckets is 0. Each call removes one bucket.
 *
 * Return: the nodes of that bucket, linked by @next; NULL if there are none.
 */
struct kwq_node *kwq_table_empty_last(struct kwq_table *table)
{
	u32 nr = --table->nr_buckets;
	struct kwq_node *first = *kwq_table_bucket_at(table, nr);

	if (!is_own(nr))
		free_place(table, nr);
	return first;
}

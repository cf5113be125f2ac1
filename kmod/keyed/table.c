// SPDX-License-Identifier: GPL-2.0-only
/*
 * Linear hashing. The table has 2^n + m buckets. The buckets below m, and those from 2^n
 * on, are selected by n + 1 bits of the hash, the others by n bits. A new bucket takes its
 * nodes from exactly one other bucket. The last bucket merges back into that one. So each
 * call changes only a few buckets, however large the table is, and the table's memory
 * follows the number of nodes.
 */
#include <linux/compiler.h>
#include <linux/minmax.h>
#include "table.h"

#define SPAN		(KWQ_TABLE_FANOUT * KWQ_TABLE_FANOUT)
#define MAX_BUCKETS	min_t(u64, (u64)KWQ_TABLE_SPANS * SPAN, 1U << 31)

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
 * @hash: returns the hash of a node
 */
void kwq_table_init(struct kwq_table *table, struct kwq_table_top *top,
		    u32 (*hash)(const struct kwq_table *table,
				const struct kwq_node *node))
{
	table->nr_buckets = KWQ_TABLE_MIN;
	table->low = KWQ_TABLE_MIN;
	table->hash = hash;
	table->top = top;
}

/* Returns how many pages bucket @nr still needs. */
static int pages_for(struct kwq_table *table, u32 nr)
{
	if (is_own(nr))
		return 0;
	if (!table->top->spans[nr / SPAN])
		return 2;
	return *page_of(table, nr) ? 0 : 1;
}

static void add_bucket(struct kwq_table *table)
{
	u32 nr = table->nr_buckets;
	struct kwq_node **link = kwq_table_bucket_at(table, nr - table->low);
	struct kwq_node **to = kwq_table_bucket_at(table, nr);
	struct kwq_node *node;

	while ((node = *link)) {
		if (table->hash(table, node) & table->low) {
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
		WRITE_ONCE(table->pages_wanted, pages_for(table, table->nr_buckets));
		if (table->pages_wanted)
			return;
		add_bucket(table);
	}
}

/**
 * kwq_table_give_pages() - give a table pages for more buckets
 * @table: the table
 * @pages: up to two zeroed pages, as many as @table->pages_wanted asked for, then NULL;
 *	pages that are taken are NULL afterwards
 */
void kwq_table_give_pages(struct kwq_table *table, void *pages[2])
{
	u32 nr = table->nr_buckets;
	int i = 0;

	/* Nodes were removed meanwhile, so it needs no more buckets. */
	if (table->nr_nodes <= nr)
		WRITE_ONCE(table->pages_wanted, 0);
	if (!table->pages_wanted || !pages[table->pages_wanted - 1])
		return;
	if (table->pages_wanted == 2)
		table->top->spans[nr / SPAN] = pages[i++];
	*page_of(table, nr) = pages[i++];
	while (i--)
		pages[i] = NULL;
	/* So each page in the table has a bucket. */
	kwq_table_grow(table);
}

static void put_aside(struct kwq_table *table, void *page)
{
	*(void **)page = table->unused;
	table->unused = page;
	table->nr_unused++;
}

/* The first bucket in the page or span of bucket @nr. Buckets below KWQ_TABLE_MIN have no page. */
static u32 first_in(u32 nr, u32 size)
{
	return max_t(u32, rounddown(nr, size), KWQ_TABLE_MIN);
}

/* After the removal of bucket @nr: unlinks its page if that was its last bucket. */
static void put_pages_aside(struct kwq_table *table, u32 nr)
{
	struct kwq_node ****span = &table->top->spans[nr / SPAN];

	if (nr == first_in(nr, KWQ_TABLE_FANOUT)) {
		put_aside(table, *page_of(table, nr));
		*page_of(table, nr) = NULL;
	}
	if (nr == first_in(nr, SPAN)) {
		put_aside(table, *span);
		*span = NULL;
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
		put_pages_aside(table, nr);
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

	WRITE_ONCE(table->pages_wanted, 0);
	for (n = 0; n < KWQ_TABLE_SPARSE && kwq_table_is_sparse(table) &&
	     may_remove_bucket(table); n++)
		remove_bucket(table);
}

/**
 * kwq_table_empty_last() - take a table apart
 * @table: the table; used for nothing else any more
 *
 * Call it until @table->nr_buckets is 0. Each call removes one bucket, and may put pages
 * into @table->unused.
 *
 * Return: the nodes of that bucket, linked by @next; NULL if there are none.
 */
struct kwq_node *kwq_table_empty_last(struct kwq_table *table)
{
	u32 nr = --table->nr_buckets;
	struct kwq_node *first = *kwq_table_bucket_at(table, nr);

	if (!is_own(nr))
		put_pages_aside(table, nr);
	return first;
}

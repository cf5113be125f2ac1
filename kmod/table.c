// SPDX-License-Identifier: GPL-2.0-only
/*
 * Linear hashing: of 2^n + m buckets those below m and those from 2^n on are told
 * apart by n + 1 bits of the hash, the others by n. One more bucket takes from one
 * other what belongs there; the last one goes back to where it came from. So no add
 * and no done pays for more than a few buckets, however many there are, and what the
 * table takes up follows from what is in it.
 */
#include <linux/minmax.h>
#include <linux/string.h>
#include "keyed.h"
#include "table.h"

#define SPAN		(KWQ_TABLE_FANOUT * KWQ_TABLE_FANOUT)
#define MAX_BUCKETS	min_t(u64, (u64)KWQ_TABLE_SPANS * SPAN, 1U << 31)

/*
 * There are at least as many buckets as items, but for what is refused a page, and at
 * most this many times as many. In between nothing moves: neither is done and undone
 * by items that come and go.
 */
#define SPARSE		4

static bool is_own(u32 nr)
{
	return nr < KWQ_TABLE_MIN;
}

static struct kwq_chain **page_of(struct kwq_table *table, u32 nr)
{
	return &table->spans[nr / SPAN][nr / KWQ_TABLE_FANOUT % KWQ_TABLE_FANOUT];
}

static struct kwq_chain *bucket_at(struct kwq_table *table, u32 nr)
{
	if (is_own(nr))
		return &table->own[nr];
	return &(*page_of(table, nr))[nr % KWQ_TABLE_FANOUT];
}

static struct kwq_chain *bucket_of(struct kwq_table *table, u32 hash)
{
	u32 nr = hash & (2 * table->low - 1);

	return bucket_at(table, nr < table->nr_buckets ? nr : nr - table->low);
}

/**
 * kwq_table_init() - make a table, empty
 * @table: the table; all zeroes
 */
void kwq_table_init(struct kwq_table *table)
{
	table->nr_buckets = KWQ_TABLE_MIN;
	table->low = KWQ_TABLE_MIN;
}

/**
 * kwq_table_find() - find a key's item
 * @table: the table
 * @key: the key, with its hash
 *
 * Return: the item, or NULL.
 */
struct kwq_keyed_item *kwq_table_find(struct kwq_table *table,
				      const struct kwq_key *key)
{
	struct kwq_keyed_item *ki = bucket_of(table, key->hash)->first;

	for (; ki; ki = ki->next)
		if (ki->hash == key->hash && ki->key_len == key->len &&
		    !memcmp(ki->key, key->bytes, key->len))
			break;
	return ki;
}

/* How many pages one more bucket takes. */
static int pages_for(struct kwq_table *table, u32 nr)
{
	if (is_own(nr))
		return 0;
	if (!table->spans[nr / SPAN])
		return 2;
	return *page_of(table, nr) ? 0 : 1;
}

static void add_bucket(struct kwq_table *table)
{
	u32 nr = table->nr_buckets;
	struct kwq_keyed_item **link = &bucket_at(table, nr - table->low)->first;
	struct kwq_keyed_item **to = &bucket_at(table, nr)->first;
	struct kwq_keyed_item *ki;

	while ((ki = *link)) {
		if (ki->hash & table->low) {
			*link = ki->next;
			ki->next = *to;
			*to = ki;
		} else {
			link = &ki->next;
		}
	}
	table->nr_buckets++;
	if (table->nr_buckets == 2 * table->low)
		table->low = table->nr_buckets;
}

/* Two at a time: where a page came late they catch up. */
static void grow(struct kwq_table *table)
{
	int n;

	for (n = 0; n < 2; n++) {
		if (table->nr_items <= table->nr_buckets ||
		    table->nr_buckets == MAX_BUCKETS)
			return;
		table->pages_wanted = pages_for(table, table->nr_buckets);
		if (table->pages_wanted)
			return;
		add_bucket(table);
	}
}

/**
 * kwq_table_insert() - put an item into the table
 * @table: the table, which has no item of that key
 * @ki: the item
 *
 * @table->pages_wanted are to be given to it when convenient.
 */
void kwq_table_insert(struct kwq_table *table, struct kwq_keyed_item *ki)
{
	struct kwq_chain *bucket = bucket_of(table, ki->hash);

	ki->next = bucket->first;
	bucket->first = ki;
	table->nr_items++;
	if (table->nr_items > table->nr_buckets)
		grow(table);
}

/**
 * kwq_table_give_pages() - provide for more buckets
 * @table: the table
 * @pages: up to as many pages of zeroes as @table->pages_wanted once was, then NULL;
 *	those that are taken are NULL afterwards
 */
void kwq_table_give_pages(struct kwq_table *table, void *pages[2])
{
	u32 nr = table->nr_buckets;
	int i = 0;

	if (!table->pages_wanted || table->nr_items <= nr ||
	    !pages[table->pages_wanted - 1])
		return;
	if (table->pages_wanted == 2)
		table->spans[nr / SPAN] = pages[i++];
	*page_of(table, nr) = pages[i++];
	while (i--)
		pages[i] = NULL;
	/* So none is without a bucket. */
	grow(table);
}

static void put_aside(struct kwq_table *table, void *page)
{
	*(void **)page = table->unused;
	table->unused = page;
}

/* The first bucket that its page, or its span, has of its own. */
static u32 first_in(u32 nr, u32 size)
{
	return max_t(u32, rounddown(nr, size), KWQ_TABLE_MIN);
}

static void put_pages_aside(struct kwq_table *table, u32 nr)
{
	struct kwq_chain ***span = &table->spans[nr / SPAN];

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
	struct kwq_keyed_item **link;
	struct kwq_chain *last;
	u32 nr;

	nr = --table->nr_buckets;
	if (nr < table->low)
		table->low /= 2;
	last = bucket_at(table, nr);
	link = &bucket_at(table, nr - table->low)->first;
	while (*link)
		link = &(*link)->next;
	*link = last->first;
	last->first = NULL;
	if (!is_own(nr))
		put_pages_aside(table, nr);
}

/* As many at a time as one item is worth: of an empty table none is left. */
static void shrink(struct kwq_table *table)
{
	int n;

	table->pages_wanted = 0;
	for (n = 0; n < SPARSE; n++) {
		if (table->nr_buckets == KWQ_TABLE_MIN ||
		    table->nr_buckets / SPARSE <= table->nr_items)
			return;
		remove_bucket(table);
	}
}

/**
 * kwq_table_remove() - take an item out of the table
 * @table: the table
 * @ki: an item that is in it
 *
 * Pages in @table->unused are to be freed when convenient.
 */
void kwq_table_remove(struct kwq_table *table, struct kwq_keyed_item *ki)
{
	struct kwq_keyed_item **link = &bucket_of(table, ki->hash)->first;

	while (*link != ki)
		link = &(*link)->next;
	*link = ki->next;
	table->nr_items--;
	if (table->nr_buckets > KWQ_TABLE_MIN &&
	    table->nr_buckets / SPARSE > table->nr_items)
		shrink(table);
}

/**
 * kwq_table_empty_last() - take a table apart
 * @table: the table, of which nothing but this is asked any more
 *
 * To be called until @table->nr_buckets is 0; each time one bucket goes, and perhaps a
 * page of them is in @table->unused.
 *
 * Return: the items of that bucket, each with the next in its @next; NULL for none.
 */
struct kwq_keyed_item *kwq_table_empty_last(struct kwq_table *table)
{
	u32 nr = --table->nr_buckets;
	struct kwq_chain *last = bucket_at(table, nr);
	struct kwq_keyed_item *ki = last->first;

	if (!is_own(nr))
		put_pages_aside(table, nr);
	return ki;
}

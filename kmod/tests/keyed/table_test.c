// SPDX-License-Identifier: GPL-2.0-only
/* The table by itself: it finds nodes, grows and shrinks, with and without pages. */
#include <kunit/test.h>
#include <linux/minmax.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include "keyed/table.h"

/* More than one page of pointers to pages can hold, with pages of 4 KiB. */
#define NR_NODES	300000U

struct node {
	struct kwq_node link;
	u32 hash;
};

/* @pages: number of pages that the table has; @most_pages: number that it may have */
struct table_test {
	struct kwq_table table;
	struct kwq_table_top top;
	struct node *nodes;
	int pages;
	int most_pages;
};

static u32 hash_of(const struct kwq_node *link)
{
	return container_of(link, struct node, link)->hash;
}

static void *new_page(struct kwq_table *table)
{
	struct table_test *t = container_of(table, struct table_test, table);
	void *page = t->pages < t->most_pages ? kzalloc(PAGE_SIZE, GFP_KERNEL) : NULL;

	t->pages += !!page;
	return page;
}

static void free_page_of_test(struct kwq_table *table, void *page)
{
	container_of(table, struct table_test, table)->pages--;
	kfree(page);
}

static const struct kwq_table_ops ops = {
	.hash = hash_of,
	.new_page = new_page,
	.drop_page = free_page_of_test,
};

static void insert(struct table_test *t, u32 from, u32 to)
{
	u32 i;

	for (i = from; i < to; i++)
		kwq_table_insert(&t->table, &t->nodes[i].link,
				 kwq_table_bucket(&t->table, t->nodes[i].hash));
}

static void remove(struct table_test *t, u32 from, u32 to)
{
	u32 i;

	for (i = from; i < to; i++)
		kwq_table_remove(&t->table, &t->nodes[i].link, t->nodes[i].hash);
}

/* Returns how many nodes cannot be found. */
static int count_lost(struct table_test *t, u32 from, u32 to)
{
	const struct kwq_node *link;
	int lost = 0;
	u32 i;

	for (i = from; i < to; i++) {
		link = *kwq_table_bucket(&t->table, t->nodes[i].hash);
		while (link && link != &t->nodes[i].link)
			link = link->next;
		lost += !link;
	}
	return lost;
}

static void expect_empty(struct kunit *test)
{
	struct table_test *t = test->priv;
	int i, used = 0;

	KUNIT_EXPECT_EQ(test, t->table.nr_nodes, 0);
	KUNIT_EXPECT_EQ(test, t->table.nr_buckets, KWQ_TABLE_MIN);
	for (i = 0; i < KWQ_TABLE_MIN; i++)
		used += !!t->table.top->own[i];
	for (i = 0; i < KWQ_TABLE_SPANS; i++)
		used += !!t->table.top->spans[i];
	KUNIT_EXPECT_EQ(test, used, 0);
	KUNIT_EXPECT_EQ(test, t->pages, 0);
}

/* One bucket per node, and none when the nodes are removed, in any order. */
static void grows_and_shrinks(struct kunit *test)
{
	struct table_test *t = test->priv;
	const u32 part = NR_NODES / 8;
	u32 nr, to, most;

	for (nr = 0; nr < NR_NODES; nr = to) {
		to = min(nr + part, NR_NODES);
		insert(t, nr, to);
		KUNIT_EXPECT_EQ(test, t->table.nr_buckets, t->table.nr_nodes);
		KUNIT_ASSERT_EQ(test, count_lost(t, 0, to), 0);
	}
	KUNIT_EXPECT_EQ(test, t->table.nr_nodes, NR_NODES);
	for (nr = 0; nr < NR_NODES; nr = to) {
		KUNIT_ASSERT_EQ(test, count_lost(t, nr, NR_NODES), 0);
		to = min(nr + part, NR_NODES);
		remove(t, nr, to);
		most = max_t(u32, t->table.nr_nodes, KWQ_TABLE_MIN / KWQ_TABLE_SPARSE);
		KUNIT_EXPECT_LE(test, t->table.nr_buckets / KWQ_TABLE_SPARSE, most);
	}
	expect_empty(test);
}

static void grows_and_shrinks_again(struct kunit *test)
{
	struct table_test *t = test->priv;
	u32 n, nr = 5 * KWQ_TABLE_FANOUT;
	int round;

	for (round = 0; round < 3; round++) {
		insert(t, 0, nr);
		/* Small steps, down to where pages are freed, and up to where they are wanted. */
		for (n = 0; n + 8 < nr; n += 8) {
			remove(t, n, n + 8);
			insert(t, n, n + 4);
			remove(t, n, n + 4);
		}
		KUNIT_ASSERT_EQ(test, count_lost(t, n, nr), 0);
		remove(t, n, nr);
		expect_empty(test);
	}
}

static int longest_chain(struct table_test *t)
{
	const struct kwq_node *node;
	int longest = 0, nr;
	u32 i;

	for (i = 0; i < t->table.nr_buckets; i++) {
		nr = 0;
		for (node = *kwq_table_bucket_at(&t->table, i); node; node = node->next)
			nr++;
		longest = max(longest, nr);
	}
	return longest;
}

/*
 * O8: nodes that lie in many buckets of a large table, and would lie in one of a small table. It
 * stays large until they are fewer.
 */
static void merged_buckets_stay_short(struct kunit *test)
{
	enum { NR = 1 << 18, NR_CHOSEN = 2 * KWQ_TABLE_CHAIN, STEP = 2 * NR / NR_CHOSEN };
	struct table_test *t = test->priv;
	u32 i;

	for (i = 0; i < NR; i++)
		t->nodes[i].hash = i;
	/* Their lowest bits are equal, also in a table as large as they alone need. */
	for (i = 0; i < NR_CHOSEN / 2; i++)
		swap(t->nodes[i].hash, t->nodes[i * STEP].hash);
	for (; i < NR_CHOSEN; i++)
		t->nodes[i].hash = i * STEP;
	insert(t, 0, NR);
	KUNIT_EXPECT_LE(test, longest_chain(t), 2);
	KUNIT_EXPECT_FALSE(test, kwq_table_is_full(kwq_table_bucket(&t->table, 0)));
	remove(t, NR_CHOSEN, NR);
	KUNIT_EXPECT_EQ(test, longest_chain(t), KWQ_TABLE_CHAIN);
	KUNIT_EXPECT_TRUE(test, kwq_table_is_full(kwq_table_bucket(&t->table, 0)));
	KUNIT_EXPECT_FALSE(test, kwq_table_is_full(kwq_table_bucket(&t->table, 1)));
	remove(t, 0, NR_CHOSEN);
	/* It has to catch up. */
	while (kwq_table_is_sparse(&t->table))
		kwq_table_shrink(&t->table);
	expect_empty(test);
}

/* O4: without pages the buckets get longer, and it catches up later. */
static void pages_that_come_late(struct kunit *test)
{
	struct table_test *t = test->priv;
	const u32 crowd = KWQ_TABLE_MIN * 16;
	int most;

	/* A page of pages alone is of no use, and given back. */
	for (most = 0; most < 2; most++) {
		t->most_pages = most;
		insert(t, 0, crowd);
		KUNIT_EXPECT_EQ(test, t->table.nr_buckets, KWQ_TABLE_MIN);
		KUNIT_EXPECT_EQ(test, t->pages, 0);
		KUNIT_ASSERT_EQ(test, count_lost(t, 0, crowd), 0);

		/* Two buckets per node. */
		t->most_pages = INT_MAX;
		insert(t, crowd, 2 * crowd);
		KUNIT_EXPECT_EQ(test, t->table.nr_buckets, t->table.nr_nodes);
		KUNIT_ASSERT_EQ(test, count_lost(t, 0, 2 * crowd), 0);
		remove(t, 0, 2 * crowd);
		expect_empty(test);
	}
}

static void taken_apart(struct kunit *test)
{
	struct table_test *t = test->priv;
	const struct kwq_node *link;
	u32 nr = 0;

	insert(t, 0, NR_NODES);
	while (t->table.nr_buckets)
		for (link = kwq_table_empty_last(&t->table); link; link = link->next)
			nr++;
	KUNIT_EXPECT_EQ(test, nr, NR_NODES);
	KUNIT_EXPECT_EQ(test, t->pages, 0);
}

/* Q15: the buckets of a walk have all places once, and each has those of its nodes. */
static void expect_walk(struct kunit *test)
{
	struct table_test *t = test->priv;
	const struct kwq_node *link;
	u32 last, buckets = 0, nodes = 0, wrong = 0, node_place;
	u64 place = 0;

	while (place <= U32_MAX) {
		link = kwq_table_at(&t->table, place, &last);
		KUNIT_ASSERT_GE(test, last, place);
		buckets++;
		for (; link; link = link->next, nodes++) {
			node_place = kwq_table_place(hash_of(link));
			wrong += node_place < place || node_place > last;
		}
		place = (u64)last + 1;
	}
	KUNIT_EXPECT_EQ(test, buckets, t->table.nr_buckets);
	KUNIT_EXPECT_EQ(test, nodes, t->table.nr_nodes);
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

static void walked_in_any_size(struct kunit *test)
{
	struct table_test *t = test->priv;
	u32 nr;

	expect_walk(test);
	for (nr = 0; nr < 600; nr++) {
		insert(t, nr, nr + 1);
		expect_walk(test);
	}
	insert(t, nr, 10000);
	expect_walk(test);
	remove(t, nr, 10000);
	while (nr--) {
		remove(t, nr, nr + 1);
		expect_walk(test);
	}
	expect_empty(test);
}

static void places_are_hashes_reversed(struct kunit *test)
{
	struct table_test *t = test->priv;
	u32 bit, i;

	for (bit = 0; bit < 32; bit++)
		KUNIT_EXPECT_EQ(test, kwq_table_place(BIT(bit)), BIT(31 - bit));
	for (i = 0; i < 1000; i++)
		KUNIT_EXPECT_EQ(test, kwq_table_place(kwq_table_place(t->nodes[i].hash)),
				t->nodes[i].hash);
}

static int table_test_init(struct kunit *test)
{
	struct table_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct rnd_state random;
	u32 i;

	if (!t)
		return -ENOMEM;
	t->nodes = kvmalloc_array(NR_NODES, sizeof(*t->nodes), GFP_KERNEL);
	if (!t->nodes)
		return -ENOMEM;
	test->priv = t;
	prandom_seed_state(&random, 1);
	for (i = 0; i < NR_NODES; i++)
		t->nodes[i].hash = prandom_u32_state(&random);
	t->most_pages = INT_MAX;
	kwq_table_init(&t->table, &t->top, &ops);
	return 0;
}

static void table_test_exit(struct kunit *test)
{
	struct table_test *t = test->priv;

	if (!t)
		return;
	while (t->table.nr_buckets)
		kwq_table_empty_last(&t->table);
	kvfree(t->nodes);
}

static struct kunit_case table_test_cases[] = {
	KUNIT_CASE(grows_and_shrinks),
	KUNIT_CASE(grows_and_shrinks_again),
	KUNIT_CASE(merged_buckets_stay_short),
	KUNIT_CASE(pages_that_come_late),
	KUNIT_CASE(taken_apart),
	KUNIT_CASE(walked_in_any_size),
	KUNIT_CASE(places_are_hashes_reversed),
	{}
};

static struct kunit_suite table_test_suite = {
	.name = "kwq-table",
	.init = table_test_init,
	.exit = table_test_exit,
	.test_cases = table_test_cases,
};

kunit_test_suite(table_test_suite);

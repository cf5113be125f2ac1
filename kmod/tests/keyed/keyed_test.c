// SPDX-License-Identifier: GPL-2.0-only
/* Keys and handles, below the device: keyed.c and handle.c on a manual clock. */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/prandom.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include "tests/core/core_check.h"
#include "keyed_ops.h"
#include "tests/thread.h"
#include "queue/trace.h"

#define NR_GOT		64
#define NR_KEYS		(2 * KWQ_KEY_MAX)

struct keyed_test {
	KWQ_TEST_HANDLES;
	struct kwq_got_buffer buffer;
	struct kwq_got got[NR_GOT];
	u8 keys[NR_KEYS];
	char text[32];
	int nr_got;
};

#define NOTHING		"nothing is ready"
#define SHUT_DOWN	"shut down and empty"

static const struct kwq_limits plenty = { U32_MAX, U32_MAX };
#define RIGHTS		(KWQ_RIGHT_READ | KWQ_RIGHT_WRITE)

static int keyed_test_init(struct kunit *test)
{
	return kwq_test_begin(test, sizeof(struct keyed_test), &plenty, RIGHTS);
}

static int add(struct keyed_test *t, const struct kwq_key *key)
{
	return kwq_keyed_add(t->keyed, key, &(struct kwq_add_options){});
}

static int add_after(struct keyed_test *t, const struct kwq_key *key, u64 delay)
{
	return kwq_keyed_add(t->keyed, key, &(struct kwq_add_options){
		.flags = KWQ_ADD_AFTER,
		.time = delay,
	});
}

/* Gets up to @nr ready items into @t->got. */
static int get_some(struct keyed_test *t, struct kwq_handle *handle, u32 nr)
{
	t->buffer = (struct kwq_got_buffer){
		.got = t->got,
		.keys = t->keys,
		.max_items = nr,
		.max_key_bytes = sizeof(t->keys),
	};
	return kwq_handle_get(handle, &t->buffer, &at_once);
}

/* Gets one item. Returns its key, or the error as a string. */
static const char *get_one(struct keyed_test *t, struct kwq_handle *handle)
{
	switch (get_some(t, handle, 1)) {
	case 1:
		snprintf(t->text, sizeof(t->text), "%.*s",
			 (int)t->got[0].key_len, t->keys);
		return t->text;
	case -EAGAIN:
		return NOTHING;
	case -ESHUTDOWN:
		return SHUT_DOWN;
	}
	return "another error";
}

#define EXPECT_FETCH(test, t, handle, key) \
	KUNIT_EXPECT_STREQ(test, get_one(t, handle), key)

static int done(struct keyed_test *t, struct kwq_handle *handle)
{
	return kwq_handle_done(handle, t->got[0].ticket, 0);
}

/* A key that does not fit into an item of the common size. */
#define LONG_KEY KEY("0123456789012345678901234567890123456789.")

static u32 size_of(struct keyed_test *t, u32 key_len)
{
	return kwq_item_bytes(t->keyed, key_len);
}

/* Checks the number of items, in every counter. */
#define EXPECT_ITEMS(test, t, nr)					\
do {									\
	KUNIT_EXPECT_EQ(test, (t)->keyed->nr_items, nr);		\
	KUNIT_EXPECT_EQ(test, (t)->keyed->table.nr_nodes, nr); \
} while (0)

static void expect_no_pages(struct kunit *test, const struct kwq_table *table)
{
	KUNIT_EXPECT_EQ(test, table->nr_nodes, 0);
	KUNIT_EXPECT_EQ(test, table->nr_buckets, KWQ_TABLE_MIN);
	KUNIT_EXPECT_PTR_EQ(test, table->top->spans[0], NULL);
}

/* Checks that there is no item and no memory of one (Q10). */
static void expect_empty(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	EXPECT_ITEMS(test, t, 0);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_bytes, 0);
	expect_no_pages(test, &t->keyed->table);
}

/* ---- Keys ---- */

static void equal_keys_are_one_item(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	char other[] = "key";

	/* Q2 */
	KUNIT_EXPECT_EQ(test, add(t, KEY("key")), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, add(t, KEY("key")), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, add(t, KEY(other)), KWQ_COALESCED);
	EXPECT_ITEMS(test, t, 1);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_bytes, size_of(t, 3));

	/* The item has its own copy of the bytes. */
	memset(other, 'x', sizeof(other));
	EXPECT_FETCH(test, t, t->x, "key");
	EXPECT_FETCH(test, t, t->x, NOTHING);
}

static const struct key_case {
	const char *desc;
	struct kwq_key a;
	struct kwq_key b;
} key_cases[] = {
#define BYTES(literal) { (const u8 *)(literal), sizeof(literal) - 1 }
	{ "in their last byte", BYTES("key1"), BYTES("key2") },
	{ "in their first byte", BYTES("1key"), BYTES("2key") },
	{ "in their length", BYTES("key"), BYTES("key1") },
	{ "by a NUL", BYTES("key"), BYTES("key\0") },
	{ "behind a NUL", BYTES("a\0b"), BYTES("a\0c") },
	{ "in NULs only", BYTES("\0"), BYTES("\0\0") },
	{ "in one byte", BYTES("\0"), BYTES("\xff") },
	{ "in their case", BYTES("key"), BYTES("KEY") },
};

KUNIT_ARRAY_PARAM_DESC(key, key_cases, desc);

static void keys_that_differ(struct kunit *test)
{
	const struct key_case *p = test->param_value;
	struct keyed_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, add(t, &p->a), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, add(t, &p->b), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, add(t, &p->a), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, add(t, &p->b), KWQ_COALESCED);
	EXPECT_ITEMS(test, t, 2);

	/* They come out in order, with their keys packed. */
	KUNIT_EXPECT_EQ(test, get_some(t, t->x, 2), 2);
	KUNIT_EXPECT_EQ(test, t->got[0].key_len, p->a.len);
	KUNIT_EXPECT_EQ(test, t->got[1].key_len, p->b.len);
	KUNIT_EXPECT_EQ(test, t->buffer.keys_len, p->a.len + p->b.len);
	KUNIT_EXPECT_MEMEQ(test, t->keys, p->a.bytes, p->a.len);
	KUNIT_EXPECT_MEMEQ(test, t->keys + p->a.len, p->b.bytes, p->b.len);
}

static void longest_keys(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	u8 *bytes = kunit_kmalloc(test, KWQ_KEY_MAX, GFP_KERNEL);
	struct kwq_key key = { bytes, KWQ_KEY_MAX };

	KUNIT_ASSERT_NOT_NULL(test, bytes);
	memset(bytes, 'k', KWQ_KEY_MAX);
	KUNIT_EXPECT_EQ(test, add(t, &key), KWQ_ADDED);
	bytes[KWQ_KEY_MAX - 1] = 'l';
	KUNIT_EXPECT_EQ(test, add(t, &key), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, add(t, &key), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_bytes, 2 * size_of(t, KWQ_KEY_MAX));

	KUNIT_EXPECT_EQ(test, get_some(t, t->x, 1), 1);
	KUNIT_EXPECT_EQ(test, done(t, t->x), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, get_some(t, t->x, 1), 1);
	KUNIT_EXPECT_EQ(test, t->got[0].key_len, KWQ_KEY_MAX);
	KUNIT_EXPECT_MEMEQ(test, t->keys, bytes, KWQ_KEY_MAX);
	KUNIT_EXPECT_EQ(test, kwq_handle_done_key(t->x, &key, 0), KWQ_FINISHED);
	expect_empty(test);
}

#define NR_MANY		1500

static void many_keys(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	__be32 bytes;
	struct kwq_key key = { (u8 *)&bytes, sizeof(bytes) };
	int i, n, wrong = 0;

	/* Q1 Q2: while the table grows, with NULs in the keys */
	for (i = 0; i < NR_MANY; i++) {
		bytes = cpu_to_be32(i);
		wrong += add(t, &key) != KWQ_ADDED;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	for (i = 0; i < NR_MANY; i++) {
		bytes = cpu_to_be32(i);
		wrong += add(t, &key) != KWQ_COALESCED;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	EXPECT_ITEMS(test, t, NR_MANY);
	for (i = 0; i < NR_MANY; i += NR_GOT) {
		int nr = min(NR_GOT, NR_MANY - i);

		KUNIT_ASSERT_EQ(test, get_some(t, t->x, NR_GOT), nr);
		for (n = 0; n < nr; n++) {
			bytes = cpu_to_be32(i + n);
			wrong += !!memcmp(t->keys + n * sizeof(bytes), &bytes,
					  sizeof(bytes));
			wrong += kwq_handle_done(t->x, t->got[n].ticket, 0) !=
				 KWQ_FINISHED;
		}
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	expect_empty(test);
}

/* More than there are buckets: a common bucket does not make keys equal. */
#define NR_LENGTHS	600

static void keys_of_many_lengths(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	u8 *bytes = kunit_kzalloc(test, NR_LENGTHS, GFP_KERNEL);
	struct kwq_key key = { bytes };
	int wrong = 0;

	KUNIT_ASSERT_NOT_NULL(test, bytes);
	for (key.len = 1; key.len <= NR_LENGTHS; key.len++)
		wrong += add(t, &key) != KWQ_ADDED;
	KUNIT_EXPECT_EQ(test, wrong, 0);
	EXPECT_ITEMS(test, t, NR_LENGTHS);
	for (key.len = NR_LENGTHS; key.len; key.len--)
		wrong += kwq_keyed_remove(t->keyed, &key, 0) != KWQ_WAS_READY;
	KUNIT_EXPECT_EQ(test, wrong, 0);
	expect_empty(test);
}

static int add_with_hash(struct keyed_test *t, const struct kwq_key *key, struct kwq_stock *stock)
{
	unsigned long flags;
	int ret;

	if (!kwq_test_fill_stock(stock, t->keyed, key, 1))
		return -EIO;
	spin_lock_irqsave(&t->keyed->queue.lock, flags);
	ret = kwq_keyed_add_locked(t->keyed, key, &(struct kwq_add_options){}, NULL, 0, stock);
	kwq_keyed_unlock(t->keyed, flags);
	return ret;
}

/*
 * Keys with equal hashes are distinguished by their bytes. O8: a bucket has so many at most,
 * whoever chose them.
 */
static void keys_of_one_hash(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	struct kwq_keyed *keyed = t->keyed;
	struct kwq_stock stock = {};
	struct kwq_key key = { .bytes = t->keys, .hash = 7 };
	unsigned long flags;
	int n, wrong = 0;

	memset(t->keys, 'k', NR_LENGTHS);
	for (n = 0; n < 2 * KWQ_TABLE_CHAIN; n++) {
		key.len = n % KWQ_TABLE_CHAIN + 1;
		wrong += add_with_hash(t, &key, &stock) !=
			 (n < KWQ_TABLE_CHAIN ? KWQ_ADDED : KWQ_COALESCED);
	}
	key.len = KWQ_TABLE_CHAIN + 1;
	KUNIT_EXPECT_EQ(test, add_with_hash(t, &key, &stock), -ENOMEM);
	EXPECT_ITEMS(test, t, KWQ_TABLE_CHAIN);
	key.hash = 8;
	KUNIT_EXPECT_EQ(test, add_with_hash(t, &key, &stock), KWQ_ADDED);
	for (; key.len; key.len--) {
		spin_lock_irqsave(&keyed->queue.lock, flags);
		wrong += kwq_keyed_remove_locked(keyed, &key, 0, 0, 0) != KWQ_WAS_READY;
		kwq_keyed_unlock(keyed, flags);
		key.hash = 7;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	kwq_stock_empty(&stock, keyed);
	expect_empty(test);
}

/* A hold of the lock makes as many items as were allocated for it, and no more. */
static void many_items_in_one_hold(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	struct kwq_keyed *keyed = t->keyed;
	struct kwq_stock stock = {};
	const struct kwq_node *node;
	__be32 bytes;
	struct kwq_key key = { (u8 *)&bytes, sizeof(bytes) };
	int i, nr = 0, ret = KWQ_ADDED;
	unsigned long flags;

	KUNIT_ASSERT_TRUE(test, kwq_test_fill_stock(&stock, keyed, &key, NR_MANY));
	for (node = stock.small; node; node = node->next)
		nr++;
	KUNIT_EXPECT_GT(test, nr, 1);
	spin_lock_irqsave(&keyed->queue.lock, flags);
	for (i = 0; i <= nr && ret == KWQ_ADDED; i++) {
		bytes = cpu_to_be32(i);
		kwq_key_hash(&key);
		ret = kwq_keyed_add_locked(keyed, &key, &(struct kwq_add_options){}, NULL, 0,
					   &stock);
	}
	kwq_keyed_unlock(keyed, flags);
	KUNIT_EXPECT_EQ(test, ret, -EAGAIN);
	KUNIT_EXPECT_PTR_EQ(test, stock.small, NULL);
	EXPECT_ITEMS(test, t, nr);

	/* Unused items are freed. */
	KUNIT_ASSERT_TRUE(test, kwq_test_fill_stock(&stock, keyed, &key, NR_MANY));
	kwq_stock_empty(&stock, keyed);
	for (i = 0; i < nr; i++) {
		bytes = cpu_to_be32(i);
		ret = kwq_keyed_remove(keyed, &key, 0);
		KUNIT_EXPECT_EQ(test, ret, KWQ_WAS_READY);
	}
	expect_empty(test);
}

/* Finished in reverse order; the other handle cannot finish them. */
static void many_tickets_in_any_order(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	u64 *tickets = kunit_kcalloc(test, NR_MANY, sizeof(*tickets), GFP_KERNEL);
	__be32 bytes;
	struct kwq_key key = { (u8 *)&bytes, sizeof(bytes) };
	int i, wrong = 0;

	KUNIT_ASSERT_NOT_NULL(test, tickets);
	for (i = 0; i < NR_MANY; i++) {
		bytes = cpu_to_be32(i);
		add(t, &key);
		wrong += get_some(t, t->x, 1) != 1;
		tickets[i] = t->got[0].ticket;
		wrong += tickets[i] / KWQ_TICKET_STEP != i + 1;
	}
	for (i = NR_MANY; i--;) {
		wrong += kwq_handle_done(t->y, tickets[i], 0) != -ESTALE;
		wrong += kwq_handle_done(t->x, tickets[i] ^ 1, 0) != -ESTALE;
		wrong += kwq_handle_done(t->x, tickets[i] ^ BIT(23), 0) != -ESTALE;
		wrong += kwq_handle_done(t->x, tickets[i] ^ BIT_ULL(63), 0) != -ESTALE;
		wrong += kwq_handle_done(t->x, tickets[i], 0) != KWQ_FINISHED;
		wrong += kwq_handle_done(t->x, tickets[i], 0) != -ESTALE;
	}
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, U64_MAX, 0), -ESTALE);
	KUNIT_EXPECT_EQ(test, wrong, 0);
	expect_empty(test);
}

static void tickets_start_over(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	u64 last;

	/* O3: after 2^40 hand-outs, and never with 0 */
	t->keyed->hand_outs = -2 * KWQ_TICKET_STEP;
	add(t, KEY("a"));
	add(t, KEY("b"));
	EXPECT_FETCH(test, t, t->x, "a");
	last = t->got[0].ticket;
	KUNIT_EXPECT_EQ(test, last / KWQ_TICKET_STEP, BIT_ULL(40) - 1);
	EXPECT_FETCH(test, t, t->x, "b");
	KUNIT_EXPECT_EQ(test, t->got[0].ticket / KWQ_TICKET_STEP, 1);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, last, 0), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, done(t, t->x), KWQ_FINISHED);
}

/* Replaces kwq_new_page(). */
static void *no_page(gfp_t gfp)
{
	return NULL;
}

/* O4, O8: without memory for more buckets they fill up to a limit. */
static void no_more_keys_than_can_be_found(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	struct kwq_keyed *keyed = t->keyed;
	__be32 bytes;
	struct kwq_key key = { (u8 *)&bytes, sizeof(bytes) };
	u32 i = 0, nr;
	int ret;

	kunit_activate_static_stub(test, kwq_new_page, no_page);
	do {
		bytes = cpu_to_be32(i++);
		ret = add(t, &key);
	} while (ret == KWQ_ADDED);
	kunit_deactivate_static_stub(test, kwq_new_page);
	KUNIT_EXPECT_EQ(test, ret, -ENOMEM);
	nr = i - 1;
	KUNIT_EXPECT_LE(test, KWQ_TABLE_CHAIN, nr);
	KUNIT_EXPECT_LE(test, nr, KWQ_TABLE_MIN * KWQ_TABLE_CHAIN);
	EXPECT_ITEMS(test, t, nr);
	KUNIT_EXPECT_EQ(test, keyed->table.nr_buckets, KWQ_TABLE_MIN);

	/* An add of another bucket lets the table catch up. */
	do {
		bytes = cpu_to_be32(i++);
	} while (add(t, &key) != KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, keyed->table.nr_buckets, KWQ_TABLE_MIN + 2);
	while (i--) {
		bytes = cpu_to_be32(i);
		kwq_keyed_remove(keyed, &key, 0);
	}
	expect_empty(test);
}

static void trace_shows_the_keys_beginning(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	struct kwq_queue *q = &t->keyed->queue;
	char buf[KWQ_TRACE_TEXT];

	/* M5: bytes that could forge a field or a line become dots. */
	add(t, KEY("a\0b\n\x7f\xff =\\"));
	memset(buf, '#', sizeof(buf));
	kwq_trace_key(q, kwq_core_peek(&q->core, 0), buf);
	KUNIT_EXPECT_STREQ(test, buf, "a.b....=\\");
	get_some(t, t->x, 1);
	add(t, KEY("1234567890123456789012345678901234567890"));
	kwq_trace_key(q, kwq_core_peek(&q->core, 0), buf);
	KUNIT_EXPECT_STREQ(test, buf, "1234567890123456789012345678901");
	kwq_trace_name(q, buf);
	KUNIT_EXPECT_STREQ(test, buf, "");
}

/* ---- When an item is there ---- */

static void item_is_there_until_it_is_idle(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* Q10: while ready, processing and waiting */
	add(t, KEY("a"));
	EXPECT_ITEMS(test, t, 1);
	EXPECT_FETCH(test, t, t->x, "a");
	EXPECT_ITEMS(test, t, 1);
	add_after(t, KEY("a"), 10);
	KUNIT_EXPECT_EQ(test, done(t, t->x), KWQ_STILL_WAITING);
	EXPECT_ITEMS(test, t, 1);
	kwq_queue_advance(&t->keyed->queue, 10);
	EXPECT_FETCH(test, t, t->x, "a");
	KUNIT_EXPECT_EQ(test, done(t, t->x), KWQ_FINISHED);
	expect_empty(test);
}

static void removed_item_is_gone(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* Q11 Q10 */
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, KEY("a"), 0), -ENOENT);
	add(t, KEY("a"));
	add_after(t, KEY("a"), 10);
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, KEY("a"), 0),
			KWQ_WAS_READY | KWQ_WAS_WAITING);
	expect_empty(test);
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, KEY("a"), 0), -ENOENT);
}

static void removed_item_stays_while_processing(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* Q11 */
	add(t, KEY("a"));
	EXPECT_FETCH(test, t, t->x, "a");
	add(t, KEY("a"));
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, KEY("a"), 0),
			KWQ_WAS_PROCESSING | KWQ_WAS_DIRTY);
	EXPECT_ITEMS(test, t, 1);
	KUNIT_EXPECT_EQ(test, add(t, KEY("a")), KWQ_DIRTIED);
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, KEY("a"), 0),
			KWQ_WAS_PROCESSING | KWQ_WAS_DIRTY);
	KUNIT_EXPECT_EQ(test, done(t, t->x), KWQ_FINISHED);
	expect_empty(test);
}

static int drain_until(struct kwq_keyed *keyed, ktime_t deadline)
{
	u64 shut_downs;

	return kwq_keyed_drain(keyed, deadline, 0, &shut_downs);
}

static void shut_down_and_empty_holds_nothing(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* Q10 Q8 */
	add(t, KEY("a"));
	add(t, KEY("b"));
	add_after(t, KEY("b"), 10);
	add_after(t, KEY("c"), 10);
	add_after(t, KEY("d"), 10);
	EXPECT_FETCH(test, t, t->x, "a");
	add(t, KEY("a"));
	kwq_keyed_shut_down(t->keyed);
	EXPECT_ITEMS(test, t, 2);
	KUNIT_EXPECT_EQ(test, add(t, KEY("b")), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, add(t, KEY("e")), -ESHUTDOWN);
	EXPECT_ITEMS(test, t, 2);

	/* a becomes ready at its done and is got after b. */
	KUNIT_EXPECT_EQ(test, done(t, t->x), KWQ_REQUEUED);
	EXPECT_FETCH(test, t, t->x, "b");
	KUNIT_EXPECT_EQ(test, done(t, t->x), KWQ_FINISHED);
	EXPECT_FETCH(test, t, t->x, "a");
	KUNIT_EXPECT_EQ(test, done(t, t->x), KWQ_FINISHED);
	EXPECT_FETCH(test, t, t->x, SHUT_DOWN);
	expect_empty(test);
	KUNIT_EXPECT_EQ(test, drain_until(t->keyed, KTIME_MAX), 0);
}

static int nr_left_behind;

/* Replaces kwq_keyed_drop_async(), and drops nothing. */
static void leave_behind(struct kwq_keyed *keyed)
{
	nr_left_behind++;
}

/* More items than one hold drops. */
#define MANY_HOLDS	(4 * KWQ_ITEMS_PER_HOLD)

static void add_waiting(struct kunit *test, u32 nr)
{
	struct keyed_test *t = test->priv;
	char text[16];
	u32 i;

	for (i = 0; i < nr; i++) {
		struct kwq_key key = { text, snprintf(text, sizeof(text), "w%u", i) };

		KUNIT_ASSERT_EQ(test, add_after(t, &key, 10), KWQ_WAITING);
	}
}

/* Calls @fn in a thread that was killed. */
static void call_killed(struct kunit *test, void (*fn)(struct kwq_keyed *keyed))
{
	struct keyed_test *t = test->priv;

	nr_left_behind = 0;
	kunit_activate_static_stub(test, kwq_keyed_drop_async, leave_behind);
	allow_signal(SIGKILL);
	send_sig(SIGKILL, current, 1);
	fn(t->keyed);
	flush_signals(current);
	disallow_signal(SIGKILL);
	kunit_deactivate_static_stub(test, kwq_keyed_drop_async);
}

static void drain(struct kwq_keyed *keyed)
{
	drain_until(keyed, KTIME_MAX);
}

static u64 nr_items(struct kwq_keyed *keyed)
{
	unsigned long flags;
	u64 nr;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	nr = keyed->nr_items;
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
	return nr;
}

static void killed_call_drops_no_more_than_one_hold(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	unsigned long flags;
	int n;

	/* Q9: also if the signal is pending before the call. */
	add_waiting(test, MANY_HOLDS);
	call_killed(test, kwq_keyed_shut_down);
	KUNIT_EXPECT_EQ(test, nr_left_behind, 1);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, MANY_HOLDS - KWQ_ITEMS_PER_HOLD);
	call_killed(test, drain);
	KUNIT_EXPECT_EQ(test, nr_left_behind, 1);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, MANY_HOLDS - 2 * KWQ_ITEMS_PER_HOLD);

	/* Q10: the rest is dropped all the same. At most one work runs, and one is pending. */
	spin_lock_irqsave(&t->keyed->queue.lock, flags);
	for (n = 0; n < 3; n++)
		kwq_keyed_drop_async(t->keyed);
	spin_unlock_irqrestore(&t->keyed->queue.lock, flags);
	kwq_test_wait_until(test, !nr_items(t->keyed));
	expect_empty(test);
}

static void closed_queue_is_dropped_and_freed(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* O6 Q10: the work that drops the rest keeps the queue until it is freed. */
	add_waiting(test, MANY_HOLDS);
	call_killed(test, kwq_keyed_shut_down);
	kwq_keyed_drop_async(t->keyed);
	kwq_test_close(test);
}

/* ---- Limits ---- */

static void limit_of_items(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* O4 */
	kwq_test_open_again(test, &(struct kwq_limits){ 2, U32_MAX }, RIGHTS);
	KUNIT_EXPECT_EQ(test, add(t, KEY("a")), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, add_after(t, KEY("b"), 10), KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, add(t, KEY("c")), -ENOSPC);
	KUNIT_EXPECT_EQ(test, add_after(t, KEY("c"), 10), -ENOSPC);
	EXPECT_ITEMS(test, t, 2);

	/* Existing keys can still be added, */
	KUNIT_EXPECT_EQ(test, add(t, KEY("a")), KWQ_COALESCED);
	EXPECT_FETCH(test, t, t->x, "a");
	KUNIT_EXPECT_EQ(test, add(t, KEY("a")), KWQ_DIRTIED);
	KUNIT_EXPECT_EQ(test, add(t, KEY("c")), -ENOSPC);

	/* and room comes back: by a remove, */
	kwq_keyed_remove(t->keyed, KEY("b"), 0);
	KUNIT_EXPECT_EQ(test, add(t, KEY("c")), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, add(t, KEY("d")), -ENOSPC);
	/* not by a done of a dirty item, */
	KUNIT_EXPECT_EQ(test, done(t, t->x), KWQ_REQUEUED);
	KUNIT_EXPECT_EQ(test, add(t, KEY("d")), -ENOSPC);
	/* but by a done that finishes an item. */
	EXPECT_FETCH(test, t, t->x, "c");
	KUNIT_EXPECT_EQ(test, done(t, t->x), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, add(t, KEY("d")), KWQ_ADDED);
}

static void limit_of_bytes(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	struct kwq_limits limits = { U32_MAX, 2 * size_of(t, 1) };

	/* O4 O9: to the byte */
	kwq_test_open_again(test, &limits, RIGHTS);
	KUNIT_EXPECT_EQ(test, add(t, KEY("a")), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, add(t, LONG_KEY), -ENOSPC);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_bytes, size_of(t, 1));
	KUNIT_EXPECT_EQ(test, add(t, KEY("123")), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_bytes, limits.max_bytes);
	KUNIT_EXPECT_EQ(test, add(t, KEY("b")), -ENOSPC);
	kwq_keyed_remove(t->keyed, KEY("123"), 0);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_bytes, size_of(t, 1));
	KUNIT_EXPECT_EQ(test, add(t, KEY("b")), KWQ_ADDED);
	kwq_keyed_remove(t->keyed, KEY("a"), 0);
	kwq_keyed_remove(t->keyed, KEY("b"), 0);
	expect_empty(test);
}

/* O9: an item counts what the allocator uses, not what was requested. */
static void item_counts_what_it_takes(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	u32 len, bytes;

	for (len = 1; len <= KWQ_KEY_MAX; len++) {
		bytes = sizeof(struct kwq_keyed_item) + len;
		if (len > t->keyed->small_key_max)
			bytes = kmalloc_size_roundup(bytes);
		KUNIT_ASSERT_LE(test, bytes, size_of(t, len));
		KUNIT_ASSERT_GE(test, bytes + bytes / 16 + 64, size_of(t, len));
	}
	KUNIT_EXPECT_EQ(test, size_of(t, 1), size_of(t, t->keyed->small_key_max));
}

/* O9: a table's pages count while it has them. */
static void tables_count(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	u64 own = t->keyed->own_bytes;
	u32 nr = KWQ_TABLE_MIN + 1, i;
	char text[8];

	KUNIT_EXPECT_GE(test, own, sizeof(struct kwq_keyed));
	for (i = 0; i < nr; i++) {
		struct kwq_key key = { text, snprintf(text, sizeof(text), "%u", i) };

		KUNIT_EXPECT_EQ(test, add(t, &key), KWQ_ADDED);
	}
	/* One page of buckets, and one of pointers to such pages. */
	KUNIT_EXPECT_EQ(test, t->keyed->own_bytes, own + 2 * PAGE_SIZE);
	for (i = 0; i < nr; i++) {
		struct kwq_key key = { text, snprintf(text, sizeof(text), "%u", i) };

		KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, &key, 0), KWQ_WAS_READY);
	}
	KUNIT_EXPECT_EQ(test, t->keyed->own_bytes, own);
	expect_empty(test);
}

static void no_room_at_all(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* O4 */
	kwq_test_open_again(test, &(struct kwq_limits){ U32_MAX, 1 }, RIGHTS);
	KUNIT_EXPECT_EQ(test, add(t, KEY("a")), -ENOSPC);
	expect_empty(test);
}

static void full_queue_that_is_shut_down_says_so(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* O4 Q8 */
	kwq_test_open_again(test, &(struct kwq_limits){ 1, U32_MAX }, RIGHTS);
	add(t, KEY("a"));
	kwq_keyed_shut_down(t->keyed);
	KUNIT_EXPECT_EQ(test, add(t, KEY("b")), -ESHUTDOWN);
	EXPECT_ITEMS(test, t, 1);
}

static void dropped_items_make_room(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	u8 byte;
	struct kwq_key key = { &byte, 1 };
	int i;

	/* Q8 Q10 O4: more items than one hold drops */
	for (i = 0; i < 256; i++) {
		byte = i;
		add_after(t, &key, 10);
	}
	EXPECT_ITEMS(test, t, 256);
	kwq_keyed_shut_down(t->keyed);
	expect_empty(test);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.dropped, 256);
}

/* ---- Tickets and dones ---- */

static void tickets_are_never_used_again(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	u64 last = 0;
	int i;

	/* O3: not for other items, and not for other handles */
	add(t, KEY("b"));
	for (i = 0; i < 10; i++) {
		add(t, KEY("a"));
		KUNIT_EXPECT_EQ(test, get_some(t, i & 1 ? t->x : t->y, 1), 1);
		KUNIT_EXPECT_GT(test, t->got[0].ticket, last);
		last = t->got[0].ticket;
		kwq_handle_done(i & 1 ? t->x : t->y, last, 0);
	}
}

static void old_tickets_are_stale(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	u64 old;

	/* O3 Q6 */
	add(t, KEY("a"));
	EXPECT_FETCH(test, t, t->x, "a");
	old = t->got[0].ticket;
	add(t, KEY("a"));
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, old, 0), KWQ_REQUEUED);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, old, 0), -ESTALE);
	EXPECT_FETCH(test, t, t->x, "a");
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, old, 0), -ESTALE);
	KUNIT_EXPECT_EQ(test, done(t, t->x), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, done(t, t->x), -ESTALE);
}

static void tickets_of_another_handle_are_stale(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* O3 Q6 */
	add(t, KEY("a"));
	EXPECT_FETCH(test, t, t->x, "a");
	KUNIT_EXPECT_EQ(test, done(t, t->y), -ESTALE);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, U64_MAX, 0), -ESTALE);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, U64_MAX, 0), -ESTALE);
	KUNIT_EXPECT_EQ(test, done(t, t->x), KWQ_FINISHED);
}

static void tickets_in_any_order(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	u8 byte;
	struct kwq_key key = { &byte, 1 };
	int i;

	for (i = 0; i < NR_GOT; i++) {
		byte = i;
		add(t, &key);
	}
	KUNIT_EXPECT_EQ(test, get_some(t, t->x, NR_GOT), NR_GOT);
	/* 37 and 64 have no common divisor. */
	for (i = 0; i < NR_GOT; i++)
		KUNIT_EXPECT_EQ(test,
				kwq_handle_done(t->x,
						t->got[i * 37 % NR_GOT].ticket, 0),
				KWQ_FINISHED);
	expect_empty(test);
}

static void done_by_key(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* Q6 */
	KUNIT_EXPECT_EQ(test, kwq_handle_done_key(t->x, KEY("a"), 0), -ENOENT);
	add_after(t, KEY("a"), 10);
	KUNIT_EXPECT_EQ(test, kwq_handle_done_key(t->x, KEY("a"), 0), -ENOENT);
	add(t, KEY("a"));
	KUNIT_EXPECT_EQ(test, kwq_handle_done_key(t->x, KEY("a"), 0), -ENOENT);
	EXPECT_FETCH(test, t, t->x, "a");
	KUNIT_EXPECT_EQ(test, kwq_handle_done_key(t->y, KEY("a"), 0), -EPERM);
	KUNIT_EXPECT_EQ(test, kwq_handle_done_key(t->x, KEY("b"), 0), -ENOENT);
	add(t, KEY("a"));
	KUNIT_EXPECT_EQ(test, kwq_handle_done_key(t->x, KEY("a"), 0),
			KWQ_REQUEUED | KWQ_STILL_WAITING);
	EXPECT_FETCH(test, t, t->x, "a");
	KUNIT_EXPECT_EQ(test, kwq_handle_done_key(t->x, KEY("a"), 0), KWQ_STILL_WAITING);
	/* Its ticket is stale. */
	KUNIT_EXPECT_EQ(test, done(t, t->x), -ESTALE);
}

/* ---- Fetching ---- */

static void get_takes_what_fits(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* Q13 */
	add(t, KEY("ab"));
	add(t, KEY("cde"));
	add(t, KEY("f"));
	t->buffer = (struct kwq_got_buffer){
		.got = t->got, .keys = t->keys, .max_items = 8, .max_key_bytes = 4,
	};
	memset(t->keys, '#', 8);
	KUNIT_EXPECT_EQ(test, kwq_handle_get(t->x, &t->buffer, &at_once), 1);
	KUNIT_EXPECT_EQ(test, t->buffer.keys_len, 2);
	KUNIT_EXPECT_MEMEQ(test, t->keys, "ab##", 4);

	/* f would fit, but the one before it does not. */
	t->buffer.max_key_bytes = 3;
	KUNIT_EXPECT_EQ(test, kwq_handle_get(t->x, &t->buffer, &at_once), 1);
	KUNIT_EXPECT_MEMEQ(test, t->keys, "cde#", 4);
	KUNIT_EXPECT_EQ(test, kwq_handle_get(t->x, &t->buffer, &at_once), 1);
	KUNIT_EXPECT_MEMEQ(test, t->keys, "f", 1);
	KUNIT_EXPECT_EQ(test, kwq_handle_get(t->x, &t->buffer, &at_once),
			-EAGAIN);
}

static void get_tells_about_the_item(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* Q12 */
	kwq_keyed_add(t->keyed, KEY("a"), &(struct kwq_add_options){
		.flags = KWQ_ADD_PRIORITY,
		.priority = -9,
	});
	memset(t->got, 0xff, sizeof(t->got));
	EXPECT_FETCH(test, t, t->x, "a");
	KUNIT_EXPECT_EQ(test, t->got[0].priority, -9);
	KUNIT_EXPECT_EQ(test, t->got[0].abandoned, 0);
	KUNIT_EXPECT_EQ(test, t->got[0].requeues, 0);
	KUNIT_EXPECT_NE(test, t->got[0].ticket, 0);
}

/* A waiter that only counts its wake-ups. */
struct sleeper {
	struct wait_queue_entry entry;
	int wakes;
};

static int wake_sleeper(struct wait_queue_entry *entry, unsigned int mode,
			int sync, void *key)
{
	container_of(entry, struct sleeper, entry)->wakes++;
	return 1;
}

static void get_that_cannot_take_it_wakes_another(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	wait_queue_head_t *getters = &t->keyed->queue.getters;
	struct sleeper s = {};

	/* Q5: it may have consumed the wake-up. */
	add(t, KEY("key"));
	init_waitqueue_func_entry(&s.entry, wake_sleeper);
	add_wait_queue_exclusive(getters, &s.entry);
	t->buffer = (struct kwq_got_buffer){
		.got = t->got, .keys = t->keys, .max_items = 1, .max_key_bytes = 2,
	};
	KUNIT_EXPECT_EQ(test, kwq_handle_get(t->x, &t->buffer, &at_once),
			-EMSGSIZE);
	KUNIT_EXPECT_EQ(test, s.wakes, 1);
	KUNIT_EXPECT_EQ(test, kwq_handle_get(t->x, &t->buffer, &for_ever),
			-EMSGSIZE);
	KUNIT_EXPECT_EQ(test, s.wakes, 2);
	/* A getter that takes the item wakes nobody. */
	EXPECT_FETCH(test, t, t->x, "key");
	KUNIT_EXPECT_EQ(test, s.wakes, 2);
	remove_wait_queue(getters, &s.entry);
}

static void get_that_comes_back_keeps_its_wake_up(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	wait_queue_head_t *getters = &t->keyed->queue.getters;
	struct sleeper s = {};

	/* Q5: with more room it can take the item; another getter would be woken in vain. */
	add(t, KEY("key"));
	init_waitqueue_func_entry(&s.entry, wake_sleeper);
	add_wait_queue_exclusive(getters, &s.entry);
	t->buffer = (struct kwq_got_buffer){
		.got = t->got, .keys = t->keys, .max_items = 1, .max_key_bytes = 2, .longest = 3,
	};
	KUNIT_EXPECT_EQ(test, kwq_handle_get(t->x, &t->buffer, &for_ever), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, t->buffer.lacking, 3);
	KUNIT_EXPECT_TRUE(test, kwq_wants_more_room(&t->buffer, -EMSGSIZE));
	KUNIT_EXPECT_FALSE(test, kwq_wants_more_room(&t->buffer, -EAGAIN));
	KUNIT_EXPECT_EQ(test, s.wakes, 0);

	/* Without memory for that room it passes the wake-up on. */
	t->buffer.longest = 0;
	KUNIT_EXPECT_EQ(test, kwq_handle_get(t->x, &t->buffer, &for_ever), -EMSGSIZE);
	KUNIT_EXPECT_FALSE(test, kwq_wants_more_room(&t->buffer, -EMSGSIZE));
	KUNIT_EXPECT_EQ(test, s.wakes, 1);

	/* A key that is still too long is left to another getter, too. */
	t->buffer.longest = 2;
	KUNIT_EXPECT_EQ(test, kwq_handle_get(t->x, &t->buffer, &for_ever), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, s.wakes, 2);
	remove_wait_queue(getters, &s.entry);
	EXPECT_FETCH(test, t, t->x, "key");
}

static int done_and_get(struct keyed_test *t, u64 ticket, u32 max_key_bytes)
{
	s32 result;

	t->buffer = (struct kwq_got_buffer){
		.got = t->got, .keys = t->keys, .max_items = 1, .max_key_bytes = max_key_bytes,
	};
	t->nr_got = kwq_handle_done_and_get(t->x, ticket, 0, &result, &t->buffer);
	return result;
}

static void done_and_get_is_one_hold(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	wait_queue_head_t *getters = &t->keyed->queue.getters;
	struct sleeper s = {};
	u64 ticket, again;

	/* Q4 Q5: no wake-up for an item that is got again in the hold that requeued it. */
	add(t, KEY("a"));
	EXPECT_FETCH(test, t, t->x, "a");
	add(t, KEY("a"));
	init_waitqueue_func_entry(&s.entry, wake_sleeper);
	add_wait_queue_exclusive(getters, &s.entry);
	ticket = t->got[0].ticket;
	KUNIT_EXPECT_EQ(test, done_and_get(t, ticket, 8), KWQ_REQUEUED);
	KUNIT_EXPECT_EQ(test, t->nr_got, 1);
	again = t->got[0].ticket;
	KUNIT_EXPECT_GT(test, again, ticket);
	KUNIT_EXPECT_EQ(test, s.wakes, 0);

	/* A failed done does not prevent the get of ready items. */
	add(t, KEY("b"));
	KUNIT_EXPECT_EQ(test, s.wakes, 1);
	KUNIT_EXPECT_EQ(test, done_and_get(t, ticket, 8), -ESTALE);
	KUNIT_EXPECT_EQ(test, t->nr_got, 1);
	KUNIT_EXPECT_EQ(test, t->x->holder.nr_held, 2);

	/* If nothing is ready, or nothing fits, only a get can report it. */
	KUNIT_EXPECT_EQ(test, done_and_get(t, t->got[0].ticket, 8), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, t->nr_got, 0);
	add(t, KEY("long"));
	KUNIT_EXPECT_EQ(test, done_and_get(t, again, 3), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, t->nr_got, 0);
	remove_wait_queue(getters, &s.entry);
	EXPECT_ITEMS(test, t, 1);
	EXPECT_FETCH(test, t, t->x, "long");
	KUNIT_EXPECT_EQ(test, done(t, t->x), KWQ_FINISHED);
	expect_empty(test);
}

/* ---- Handles that close ---- */

/* Waits until the work item has woken again. The clock is manual, so there is no timer to stop. */
static void let_wake_again(struct keyed_test *t)
{
	kwq_leave_timer(&t->keyed->queue);
}

static void closing_wakes_for_all_that_is_ready(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	wait_queue_head_t *pollers = &t->keyed->of_queue.pollers;
	struct sleeper s = {};

	/* O7 Q5: a closing handle may have been woken for any of them, and got none. */
	init_waitqueue_func_entry(&s.entry, wake_sleeper);
	add_wait_queue_exclusive(pollers, &s.entry);
	kwq_handle_flush(t->x);
	let_wake_again(t);
	KUNIT_EXPECT_EQ(test, s.wakes, 0);
	add(t, KEY("a"));
	add(t, KEY("b"));
	KUNIT_EXPECT_EQ(test, s.wakes, 2);
	kwq_handle_flush(t->x);
	let_wake_again(t);
	KUNIT_EXPECT_EQ(test, s.wakes, 3);
	/* Processing and waiting items wake nobody, and nothing counts twice. */
	EXPECT_FETCH(test, t, t->y, "a");
	EXPECT_FETCH(test, t, t->y, "b");
	add_after(t, KEY("c"), 10);
	kwq_handle_flush(t->x);
	let_wake_again(t);
	KUNIT_EXPECT_EQ(test, s.wakes, 3);
	add(t, KEY("d"));
	KUNIT_EXPECT_EQ(test, s.wakes, 4);
	kwq_test_close_handle(&t->x);
	let_wake_again(t);
	KUNIT_EXPECT_EQ(test, s.wakes, 5);
	remove_wait_queue(pollers, &s.entry);
}

static void closed_handle_gives_back(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* O1 */
	add(t, KEY("a"));
	add(t, KEY("b"));
	add(t, KEY("c"));
	add(t, KEY("d"));
	KUNIT_EXPECT_EQ(test, get_some(t, t->x, 3), 3);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, t->got[1].ticket, 0),
			KWQ_FINISHED);
	kwq_test_close_handle(&t->x);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_handles, 1);

	/* a c | d */
	EXPECT_FETCH(test, t, t->y, "a");
	KUNIT_EXPECT_EQ(test, t->got[0].abandoned, 1);
	EXPECT_FETCH(test, t, t->y, "c");
	KUNIT_EXPECT_EQ(test, t->got[0].abandoned, 1);
	EXPECT_FETCH(test, t, t->y, "d");
	KUNIT_EXPECT_EQ(test, t->got[0].abandoned, 0);
	EXPECT_FETCH(test, t, t->y, NOTHING);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.abandoned, 2);
}

static void closed_handles_tickets_are_stale(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	u64 old;

	/* O1 O3 */
	add(t, KEY("a"));
	EXPECT_FETCH(test, t, t->x, "a");
	old = t->got[0].ticket;
	kwq_test_close_handle(&t->x);
	EXPECT_FETCH(test, t, t->y, "a");
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->y, old, 0), -ESTALE);
	KUNIT_EXPECT_EQ(test, done(t, t->y), KWQ_FINISHED);
}

static bool poll_room(struct kwq_keyed *keyed)
{
	unsigned long flags;
	bool ret;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	ret = kwq_keyed_poll_room(keyed);
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
	return ret;
}

static void poller_is_told_of_room(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	struct sleeper s = {};

	/* Q19: one wake-up, when the full queue removes an item */
	KUNIT_EXPECT_TRUE(test, poll_room(t->keyed));
	t->keyed->limits.max_items = 1;
	add(t, KEY("a"));
	init_waitqueue_func_entry(&s.entry, wake_sleeper);
	add_wait_queue(&t->keyed->of_queue.pollers, &s.entry);
	KUNIT_EXPECT_FALSE(test, poll_room(t->keyed));
	KUNIT_EXPECT_EQ(test, s.wakes, 0);
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, KEY("a"), 0), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, s.wakes, 1);
	KUNIT_EXPECT_TRUE(test, poll_room(t->keyed));
	remove_wait_queue(&t->keyed->of_queue.pollers, &s.entry);
}

static void drain_that_goes_on_sees_a_shut_down(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	u64 shut_downs, again;

	/* Q9: a shut down between the two calls ends the wait of the second. */
	add(t, KEY("a"));
	KUNIT_EXPECT_EQ(test, kwq_keyed_drain(t->keyed, 0, 0, &shut_downs), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, kwq_keyed_drain(t->keyed, 0, shut_downs, &again), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, again, shut_downs);
	kwq_keyed_shut_down(t->keyed);
	KUNIT_EXPECT_EQ(test, kwq_keyed_drain(t->keyed, 0, shut_downs, &again), -ECANCELED);
}

static void closed_handle_gives_back_in_pieces(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	wait_queue_head_t *pollers = &t->keyed->of_queue.pollers;
	struct sleeper s = {};
	u8 byte;
	struct kwq_key key = { &byte, 1 };
	int i;

	/* O1 D6: one wake-up for each hold of the lock; O7: one more for all by the work item */
	for (i = 0; i < 256; i++) {
		byte = i;
		add(t, &key);
	}
	for (i = 0; i < 256; i += NR_GOT)
		KUNIT_EXPECT_EQ(test, get_some(t, t->x, NR_GOT), NR_GOT);
	init_waitqueue_func_entry(&s.entry, wake_sleeper);
	add_wait_queue(pollers, &s.entry);
	kwq_test_close_handle(&t->x);
	let_wake_again(t);
	remove_wait_queue(pollers, &s.entry);
	KUNIT_EXPECT_EQ(test, s.wakes, 256 / KWQ_READY_PER_HOLD + 1);
	for (i = 0; i < 256; i++) {
		KUNIT_ASSERT_EQ(test, get_some(t, t->y, 1), 1);
		KUNIT_EXPECT_EQ(test, t->keys[0], i);
		done(t, t->y);
	}
	expect_empty(test);
}

static void come_to_poll(struct keyed_test *t, struct sleeper *pollers, int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		init_waitqueue_func_entry(&pollers[i].entry, wake_sleeper);
		add_wait_queue(&t->keyed->of_queue.pollers, &pollers[i].entry);
	}
}

static int nr_woken(const struct sleeper *pollers, int nr)
{
	int i, woken = 0;

	for (i = 0; i < nr; i++)
		woken += !!READ_ONCE(pollers[i].wakes);
	return woken;
}

static void close_wakes_all_pollers_again(struct kunit *test)
{
	enum { NR = 25 };
	struct keyed_test *t = test->priv;
	struct sleeper *pollers = kunit_kcalloc(test, NR, sizeof(*pollers), GFP_KERNEL);
	int i;

	/* O7: by a flush, and by the close of the handle; both leave that to the work item */
	KUNIT_ASSERT_NOT_NULL(test, pollers);
	add(t, KEY("a"));
	come_to_poll(t, pollers, NR);
	kwq_handle_flush(t->x);
	let_wake_again(t);
	KUNIT_EXPECT_EQ(test, nr_woken(pollers, NR), NR);
	for (i = 0; i < NR; i++)
		pollers[i].wakes = 0;
	kwq_test_close_handle(&t->x);
	let_wake_again(t);
	KUNIT_EXPECT_EQ(test, nr_woken(pollers, NR), NR);
	for (i = 0; i < NR; i++)
		remove_wait_queue(&t->keyed->of_queue.pollers, &pollers[i].entry);
}

static void closed_handle_gives_back_what_was_removed(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* O1 Q11 */
	add(t, KEY("a"));
	EXPECT_FETCH(test, t, t->x, "a");
	kwq_keyed_remove(t->keyed, KEY("a"), 0);
	kwq_test_close_handle(&t->x);
	EXPECT_FETCH(test, t, t->y, "a");
}

static void last_handle_takes_all_with_it(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* kmemleak, KASAN and debug objects check this. */
	kwq_test_close(test);
	kwq_test_open(test, KWQ_CLOCK_MONOTONIC, &plenty, RIGHTS);
	add(t, KEY("ready"));
	add(t, KEY("processing"));
	KUNIT_EXPECT_EQ(test, get_some(t, t->x, 2), 2);
	add(t, KEY("ready"));
	add_after(t, KEY("soon"), NSEC_PER_MSEC);
	add_after(t, KEY("later"), NSEC_PER_SEC);
	kwq_test_close(test);
}

/* ---- Hand-outs undone ---- */

static void returned_items_are_where_they_were(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	u64 old;

	/* O2 */
	add(t, KEY("a"));
	add(t, KEY("b"));
	add(t, KEY("c"));
	KUNIT_EXPECT_EQ(test, get_some(t, t->x, 2), 2);
	old = t->got[1].ticket;
	kwq_handle_unget(t->x, t->got, 2);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.gets, 0);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, old, 0), -ESTALE);

	/* | a b c */
	EXPECT_FETCH(test, t, t->y, "a");
	KUNIT_EXPECT_GT(test, t->got[0].ticket, old);
	KUNIT_EXPECT_EQ(test, t->got[0].abandoned, 0);
	EXPECT_FETCH(test, t, t->y, "b");
	EXPECT_FETCH(test, t, t->y, "c");
}

static void returned_items_go_back_to_their_lanes(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* O2 O1 */
	add(t, KEY("a"));
	EXPECT_FETCH(test, t, t->x, "a");
	kwq_test_close_handle(&t->x);
	add(t, KEY("b"));
	KUNIT_EXPECT_EQ(test, get_some(t, t->y, 2), 2);
	add(t, KEY("c"));
	kwq_handle_unget(t->y, t->got, 2);

	/* a | b c */
	EXPECT_FETCH(test, t, t->y, "a");
	KUNIT_EXPECT_EQ(test, t->got[0].abandoned, 1);
	EXPECT_FETCH(test, t, t->y, "b");
	EXPECT_FETCH(test, t, t->y, "c");
}

static void unget_leaves_finished_items_alone(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* O2: another thread with the same handle finished b. */
	add(t, KEY("a"));
	add(t, KEY("b"));
	add(t, KEY("c"));
	KUNIT_EXPECT_EQ(test, get_some(t, t->x, 3), 3);
	KUNIT_EXPECT_EQ(test, kwq_handle_done_key(t->x, KEY("b"), 0), KWQ_FINISHED);
	kwq_handle_unget(t->x, t->got, 3);
	EXPECT_ITEMS(test, t, 2);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.dones, 1);
	EXPECT_FETCH(test, t, t->y, "a");
	EXPECT_FETCH(test, t, t->y, "c");
	EXPECT_FETCH(test, t, t->y, NOTHING);
}

static void unget_leaves_later_hand_outs_alone(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	struct kwq_got old;

	/* O2 Q3: finished, added and got again through the same handle */
	add(t, KEY("a"));
	EXPECT_FETCH(test, t, t->x, "a");
	old = t->got[0];
	kwq_handle_done_key(t->x, KEY("a"), 0);
	add(t, KEY("a"));
	EXPECT_FETCH(test, t, t->x, "a");
	kwq_handle_unget(t->x, &old, 1);
	EXPECT_FETCH(test, t, t->y, NOTHING);
	KUNIT_EXPECT_EQ(test, kwq_handle_done_key(t->x, KEY("a"), 0), KWQ_FINISHED);
}

static void returned_item_wakes_a_getter(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	wait_queue_head_t *getters = &t->keyed->queue.getters;
	struct sleeper s = {};

	/* O2 Q5 */
	add(t, KEY("a"));
	EXPECT_FETCH(test, t, t->x, "a");
	init_waitqueue_func_entry(&s.entry, wake_sleeper);
	add_wait_queue_exclusive(getters, &s.entry);
	kwq_handle_unget(t->x, t->got, 1);
	KUNIT_EXPECT_EQ(test, s.wakes, 1);
	remove_wait_queue(getters, &s.entry);
}

/* ---- Shut down and empty, for several handles ---- */

static void holder_of_nothing_waits_for_the_others(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* Q5 Q8: x may give its items back. */
	add(t, KEY("a"));
	EXPECT_FETCH(test, t, t->x, "a");
	kwq_keyed_shut_down(t->keyed);
	EXPECT_FETCH(test, t, t->y, NOTHING);
	/* x would wait for itself. */
	EXPECT_FETCH(test, t, t->x, SHUT_DOWN);
	kwq_test_close_handle(&t->x);
	EXPECT_FETCH(test, t, t->y, "a");
	EXPECT_FETCH(test, t, t->y, SHUT_DOWN);
}

struct getter {
	struct kwq_test_thread thread;
	struct kwq_handle *handle;
	struct kwq_got_buffer buffer;
	struct kwq_got got;
	u8 keys[8];
	int result;
};

static void get_once(void *data)
{
	struct getter *f = data;

	f->buffer = (struct kwq_got_buffer){
		.got = &f->got,
		.keys = f->keys,
		.max_items = 1,
		.max_key_bytes = sizeof(f->keys),
	};
	f->result = kwq_handle_get(f->handle, &f->buffer, &for_ever);
}

/* Starts a get, and waits until it sleeps. */
static struct getter *start_getter(struct kunit *test,
				   struct kwq_handle *handle)
{
	struct getter *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	wait_queue_head_t *getters = &handle->keyed->queue.getters;

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->handle = handle;
	kwq_test_thread_start(test, &f->thread, get_once, f);
	kwq_test_wait_until(test, kwq_test_nr_sleepers(getters) == 1);
	return f;
}

static void blocked_get_gets_what_is_given_back(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	struct getter *f;

	/* O1 Q8 */
	add(t, KEY("a"));
	EXPECT_FETCH(test, t, t->x, "a");
	kwq_keyed_shut_down(t->keyed);
	f = start_getter(test, t->y);
	kwq_test_close_handle(&t->x);
	kwq_test_thread_join(test, &f->thread);
	KUNIT_EXPECT_EQ(test, f->result, 1);
	KUNIT_EXPECT_EQ(test, f->keys[0], 'a');
	KUNIT_EXPECT_EQ(test, f->got.abandoned, 1);
}

static void blocked_get_ends_when_nothing_can_come(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	struct getter *f;

	/* Q5 Q8 */
	add(t, KEY("a"));
	EXPECT_FETCH(test, t, t->x, "a");
	kwq_keyed_shut_down(t->keyed);
	f = start_getter(test, t->y);
	KUNIT_EXPECT_EQ(test, done(t, t->x), KWQ_FINISHED);
	kwq_test_thread_join(test, &f->thread);
	KUNIT_EXPECT_EQ(test, f->result, -ESHUTDOWN);
}

static void too_long_key_goes_to_another_get(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	struct getter *f = start_getter(test, t->x);

	/* Q5: the sleeping getter has no room, either, and reports it. */
	add(t, KEY("123456789"));
	kwq_test_thread_join(test, &f->thread);
	KUNIT_EXPECT_EQ(test, f->result, -EMSGSIZE);
	EXPECT_FETCH(test, t, t->y, "123456789");
}

/* ---- The numbers ---- */

static void stat(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	struct kwq_stat *s = kunit_kmalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	memset(s, 0xff, sizeof(*s));
	add(t, KEY("a"));
	add(t, KEY("a"));
	add(t, KEY("bb"));
	add(t, KEY("cc"));
	add_after(t, KEY("d"), 10);
	EXPECT_FETCH(test, t, t->x, "a");
	KUNIT_EXPECT_EQ(test, done(t, t->x), KWQ_FINISHED);
	EXPECT_FETCH(test, t, t->x, "bb");
	kwq_keyed_remove(t->keyed, KEY("cc"), 0);
	kwq_keyed_stat(t->keyed, s);

	KUNIT_EXPECT_EQ(test, s->state, 0);
	KUNIT_EXPECT_EQ(test, s->ready, 0);
	KUNIT_EXPECT_EQ(test, s->waiting, 1);
	KUNIT_EXPECT_EQ(test, s->processing, 1);
	KUNIT_EXPECT_EQ(test, s->items, 2);
	KUNIT_EXPECT_EQ(test, s->bytes, size_of(t, 2) + size_of(t, 1));
	KUNIT_EXPECT_EQ(test, s->max_items, plenty.max_items);
	KUNIT_EXPECT_EQ(test, s->max_bytes, plenty.max_bytes);
	KUNIT_EXPECT_EQ(test, s->adds, 3);
	KUNIT_EXPECT_EQ(test, s->coalesced, 1);
	KUNIT_EXPECT_EQ(test, s->gets, 2);
	KUNIT_EXPECT_EQ(test, s->dones, 1);
	KUNIT_EXPECT_EQ(test, s->removed, 1);
	KUNIT_EXPECT_EQ(test, s->handles, 2);
	KUNIT_EXPECT_EQ(test, s->create_flags, 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(s->name, 0, sizeof(s->name)));

	kwq_test_close_handle(&t->x);
	kwq_keyed_shut_down(t->keyed);
	kwq_keyed_stat(t->keyed, s);
	KUNIT_EXPECT_EQ(test, s->state, KWQ_STATE_SHUT_DOWN);
	KUNIT_EXPECT_EQ(test, s->ready, 1);
	KUNIT_EXPECT_EQ(test, s->items, 1);
	KUNIT_EXPECT_EQ(test, s->abandoned, 1);
	KUNIT_EXPECT_EQ(test, s->dropped, 1);
	KUNIT_EXPECT_EQ(test, s->handles, 1);
}

/* ---- Counts that are remembered, and dead items ---- */

/* Retries come at once, so nothing has to wait; the 4th is one too many. */
static const struct kwq_limiter_config retry_config = {
	.dead_after = 3,
	.nr = 1,
	.limiters = { { .kind = KWQ_LIMITER_FAST_SLOW } },
};

static void configure(struct kunit *test, u64 forget_after)
{
	struct keyed_test *t = test->priv;
	struct kwq_limiter_config config = retry_config;

	config.forget_after = forget_after;
	KUNIT_ASSERT_EQ(test, kwq_configure(&t->keyed->queue, &config), 0);
}

static int add_flags(struct keyed_test *t, const struct kwq_key *key, u32 flags)
{
	return kwq_keyed_add(t->keyed, key, &(struct kwq_add_options){
		.flags = flags,
	});
}

static int retry(struct keyed_test *t, const struct kwq_key *key)
{
	return add_flags(t, key, KWQ_ADD_RATE_LIMITED);
}

/* Retries a key and finishes it, so that only its count is left. */
static void remember(struct kunit *test, const struct kwq_key *key)
{
	struct keyed_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, retry(t, key), KWQ_ADDED);
	KUNIT_ASSERT_EQ(test, get_some(t, t->x, 1), 1);
	KUNIT_ASSERT_EQ(test, done(t, t->x), KWQ_FINISHED);
}

static void kill(struct kunit *test, const struct kwq_key *key)
{
	struct keyed_test *t = test->priv;
	int i;

	for (i = 0; i < 3; i++)
		remember(test, key);
	KUNIT_ASSERT_EQ(test, retry(t, key), KWQ_DEAD);
}

#define EXPECT_REQUEUES(test, t, key, nr) \
	KUNIT_EXPECT_EQ(test, kwq_keyed_num_requeues((t)->keyed, KEY(key)), nr)

#define EXPECT_REMEMBERED(test, t, nr) \
	KUNIT_EXPECT_EQ(test, (t)->keyed->nr_remembered, nr)

/* Makes another queue for the test, with these limits. */
static void make_again(struct kunit *test, const struct kwq_limits *limits)
{
	kwq_test_open_again(test, limits, RIGHTS);
	configure(test, 0);
}

static void count_outlives_idleness(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* L8 L9 */
	configure(test, 0);
	remember(test, KEY("a"));
	EXPECT_ITEMS(test, t, 1);
	EXPECT_REMEMBERED(test, t, 1);
	EXPECT_REQUEUES(test, t, "a", 1);
	EXPECT_REMEMBERED(test, t, 1);
	remember(test, KEY("a"));
	EXPECT_REQUEUES(test, t, "a", 2);
	EXPECT_REMEMBERED(test, t, 1);

	KUNIT_EXPECT_EQ(test, add(t, KEY("a")), KWQ_ADDED);
	EXPECT_REMEMBERED(test, t, 0);
	EXPECT_FETCH(test, t, t->x, "a");
	KUNIT_EXPECT_EQ(test, t->got[0].requeues, 2);
	done(t, t->x);

	KUNIT_EXPECT_EQ(test, kwq_keyed_forget(t->keyed, KEY("a")), 2);
	KUNIT_EXPECT_EQ(test, kwq_keyed_forget(t->keyed, KEY("a")), 0);
	EXPECT_REQUEUES(test, t, "a", 0);
	EXPECT_REMEMBERED(test, t, 0);
	expect_empty(test);
}

static void forget_leaves_the_rest(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* L8: Done is still owed. */
	configure(test, 0);
	retry(t, KEY("a"));
	EXPECT_FETCH(test, t, t->x, "a");
	KUNIT_EXPECT_EQ(test, kwq_keyed_forget(t->keyed, KEY("a")), 1);
	EXPECT_ITEMS(test, t, 1);
	KUNIT_EXPECT_EQ(test, done(t, t->x), KWQ_FINISHED);
	expect_empty(test);
}

static void remembered_item_is_removed(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* Q11: whatever else a remove of it asks for, but not if it has to be dead */
	configure(test, 0);
	remember(test, KEY("a"));
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, KEY("a"), KWQ_REMOVE_DEAD), -ENOENT);
	EXPECT_REQUEUES(test, t, "a", 1);
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, KEY("a"), 0), KWQ_WAS_REMEMBERED);
	EXPECT_REMEMBERED(test, t, 0);
	expect_empty(test);
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, KEY("a"), 0), -ENOENT);
	remember(test, KEY("a"));
	EXPECT_REQUEUES(test, t, "a", 1);
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, KEY("a"), KWQ_REMOVE_REVOKE),
			KWQ_WAS_REMEMBERED);
	expect_empty(test);
	/* It was done before, and so was not removed. */
	KUNIT_EXPECT_EQ(test, kwq_bulk_of(&t->keyed->queue.core)->removed, 0);
}

static void forgotten_item_is_not_removed(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* L10: it is in the table until it is looked at, but not remembered */
	configure(test, 100);
	remember(test, KEY("a"));
	kwq_queue_advance_by(&t->keyed->queue, 99);
	remember(test, KEY("b"));
	kwq_queue_advance_by(&t->keyed->queue, 99);
	EXPECT_REMEMBERED(test, t, 2);
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, KEY("a"), 0), -ENOENT);
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, KEY("b"), 0), KWQ_WAS_REMEMBERED);
	EXPECT_REMEMBERED(test, t, 1);
}

static void done_can_forget(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* L8 */
	configure(test, 0);
	retry(t, KEY("a"));
	EXPECT_FETCH(test, t, t->x, "a");
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, t->got[0].ticket,
					      KWQ_DONE_FORGET), KWQ_FINISHED);
	expect_empty(test);
	retry(t, KEY("a"));
	EXPECT_FETCH(test, t, t->x, "a");
	KUNIT_EXPECT_EQ(test, kwq_handle_done_key(t->x, KEY("a"),
						  KWQ_DONE_FORGET), KWQ_FINISHED);
	expect_empty(test);

	/* A refused add is not remembered. */
	retry(t, KEY("a"));
	EXPECT_FETCH(test, t, t->x, "a");
	KUNIT_EXPECT_EQ(test, kwq_handle_done_key(t->y, KEY("a"),
						  KWQ_DONE_FORGET), -EPERM);
	EXPECT_REQUEUES(test, t, "a", 1);
}

static void count_of_an_unknown_key(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* L8 L9: like client-go: no error, and no item. */
	EXPECT_REQUEUES(test, t, "a", 0);
	KUNIT_EXPECT_EQ(test, kwq_keyed_forget(t->keyed, KEY("a")), 0);
	expect_empty(test);
}

static void largest_count(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* L9: results have one bit less. */
	configure(test, 0);
	add(t, KEY("a"));
	kwq_core_peek(&t->keyed->queue.core, 0)->requeues = U32_MAX;
	EXPECT_REQUEUES(test, t, "a", INT_MAX);
	KUNIT_EXPECT_EQ(test, kwq_keyed_forget(t->keyed, KEY("a")), INT_MAX);
}

static void remembered_key_is_not_in_the_queue(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* Q11 */
	configure(test, 0);
	remember(test, KEY("a"));
	KUNIT_EXPECT_EQ(test, kwq_handle_done_key(t->x, KEY("a"), 0), -ENOENT);
	KUNIT_EXPECT_EQ(test, add_flags(t, KEY("a"), KWQ_ADD_KICK), -ENOENT);
	EXPECT_REQUEUES(test, t, "a", 1);
	EXPECT_FETCH(test, t, t->x, NOTHING);

	/* After a remove it has no count. */
	retry(t, KEY("a"));
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, KEY("a"), 0),
			KWQ_WAS_READY);
	EXPECT_REQUEUES(test, t, "a", 0);
	expect_empty(test);
}

static void counts_take_no_room(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* L10 O4: they have a limit of their own, so no add is refused, or drops one, for room. */
	make_again(test, &(struct kwq_limits){ 2, U32_MAX });
	remember(test, KEY("b"));
	remember(test, KEY("a"));
	remember(test, KEY("b"));
	KUNIT_EXPECT_EQ(test, add(t, KEY("c")), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, add(t, KEY("d")), KWQ_ADDED);
	EXPECT_ITEMS(test, t, 4);
	/* A key with a count needs room as a new one does, and keeps its count without. */
	KUNIT_EXPECT_EQ(test, retry(t, KEY("e")), -ENOSPC);
	KUNIT_EXPECT_EQ(test, retry(t, KEY("b")), -ENOSPC);
	KUNIT_EXPECT_EQ(test, add(t, KEY("a")), -ENOSPC);
	KUNIT_EXPECT_EQ(test, add_flags(t, KEY("a"), KWQ_ADD_KICK), -ENOENT);
	EXPECT_REQUEUES(test, t, "a", 1);
	EXPECT_REQUEUES(test, t, "b", 2);
	EXPECT_REMEMBERED(test, t, 2);
	EXPECT_FETCH(test, t, t->x, "c");
	KUNIT_EXPECT_EQ(test, done(t, t->x), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, add(t, KEY("a")), KWQ_ADDED);
	EXPECT_REMEMBERED(test, t, 1);
	KUNIT_EXPECT_EQ(test, add(t, KEY("b")), -ENOSPC);
	kwq_keyed_shut_down(t->keyed);
	KUNIT_EXPECT_EQ(test, add(t, KEY("b")), -ESHUTDOWN);
}

static void oldest_count_goes(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* L10: a goes before b, because b was used after a. */
	make_again(test, &(struct kwq_limits){ 2, U32_MAX });
	remember(test, KEY("b"));
	remember(test, KEY("a"));
	remember(test, KEY("b"));
	remember(test, KEY("c"));
	EXPECT_ITEMS(test, t, 2);
	EXPECT_REQUEUES(test, t, "a", 0);
	EXPECT_REQUEUES(test, t, "b", 2);
	EXPECT_REQUEUES(test, t, "c", 1);
}

static void counts_of_long_keys(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	struct kwq_key longer = { t->keys, 3 * sizeof(struct kwq_keyed_item) };
	u32 size;

	/* L10: by bytes: two go at most. */
	make_again(test, &(struct kwq_limits){ U32_MAX, 4 * size_of(t, 1) });
	remember(test, KEY("a"));
	remember(test, KEY("b"));
	remember(test, KEY("c"));
	remember(test, KEY("d"));
	KUNIT_EXPECT_EQ(test, add(t, LONG_KEY), KWQ_ADDED);
	EXPECT_REMEMBERED(test, t, 4);
	KUNIT_EXPECT_EQ(test, get_some(t, t->x, 1), 1);
	KUNIT_EXPECT_EQ(test, done(t, t->x), KWQ_FINISHED);
	remember(test, LONG_KEY);
	EXPECT_REQUEUES(test, t, "a", 0);
	EXPECT_REQUEUES(test, t, "b", 0);
	EXPECT_REQUEUES(test, t, "c", 1);
	EXPECT_REQUEUES(test, t, "d", 1);
	KUNIT_EXPECT_EQ(test, kwq_keyed_num_requeues(t->keyed, LONG_KEY), 1);
	KUNIT_EXPECT_EQ(test, t->keyed->bytes_remembered,
			size_of(t, LONG_KEY->len) + 2 * size_of(t, 1));

	/* If the two do not make up for it, it is not remembered itself. */
	size = size_of(t, longer.len);
	KUNIT_ASSERT_GT(test, size, 2 * size_of(t, 1));
	make_again(test, &(struct kwq_limits){ U32_MAX, 2 * size_of(t, 1) + size - 1 });
	remember(test, KEY("a"));
	remember(test, KEY("b"));
	remember(test, KEY("c"));
	remember(test, KEY("d"));
	memset(t->keys, 'l', longer.len);
	remember(test, &longer);
	KUNIT_EXPECT_EQ(test, t->keyed->bytes_remembered, 2 * size_of(t, 1));
	EXPECT_REQUEUES(test, t, "d", 1);
}

static void counts_stay_where_they_do_not_make_room(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	struct kwq_key key = { t->keys, 3 * sizeof(struct kwq_keyed_item) };

	/* O4: a refused add changes nothing. */
	make_again(test, &(struct kwq_limits){ U32_MAX, 3 * size_of(t, 1) });
	remember(test, KEY("a"));
	remember(test, KEY("b"));
	KUNIT_EXPECT_EQ(test, add(t, KEY("c")), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, add(t, &key), -ENOSPC);
	EXPECT_REQUEUES(test, t, "a", 1);
	EXPECT_REQUEUES(test, t, "b", 1);
	EXPECT_REMEMBERED(test, t, 2);
	EXPECT_ITEMS(test, t, 3);
}

static void old_counts_are_let_go(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* L10: for each newly remembered item, two old ones go. */
	configure(test, 100);
	remember(test, KEY("a"));
	remember(test, KEY("b"));
	remember(test, KEY("c"));
	kwq_queue_advance(&t->keyed->queue, 99);
	EXPECT_REQUEUES(test, t, "a", 1);
	remember(test, KEY("d"));
	EXPECT_ITEMS(test, t, 4);
	kwq_queue_advance(&t->keyed->queue, 100);
	EXPECT_REQUEUES(test, t, "a", 0);
	EXPECT_REQUEUES(test, t, "d", 1);
	remember(test, KEY("e"));
	EXPECT_ITEMS(test, t, 3);
	remember(test, KEY("f"));
	EXPECT_ITEMS(test, t, 3);
	EXPECT_REMEMBERED(test, t, 3);
	EXPECT_REQUEUES(test, t, "d", 1);
	KUNIT_EXPECT_EQ(test, kwq_keyed_forget(t->keyed, KEY("c")), 0);

	/* A retry of an expired item counts as the first. */
	kwq_queue_advance(&t->keyed->queue, 1000);
	remember(test, KEY("d"));
	EXPECT_REQUEUES(test, t, "d", 1);
}

/* Limits the pages that the replacement of kwq_new_page() allocates. */
static int pages_left;

static void *new_page_of_few(gfp_t gfp)
{
	return pages_left-- > 0 ? (void *)get_zeroed_page(gfp) : NULL;
}

static void leave_pages(struct kunit *test, int nr)
{
	pages_left = nr;
	kunit_activate_static_stub(test, kwq_new_page, new_page_of_few);
}

static void leave_all_pages(struct kunit *test)
{
	kunit_deactivate_static_stub(test, kwq_new_page);
}

static int add_numbered(struct keyed_test *t, u32 number)
{
	__be32 bytes = cpu_to_be32(number);

	return add(t, &(struct kwq_key){ (u8 *)&bytes, sizeof(bytes) });
}

static void no_memory_for_a_larger_table(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	int i, nr, wrong = 0;

	/* O4: the table wants two pages, and is slower without them. */
	for (nr = 0; nr < 2; nr++) {
		leave_pages(test, nr);
		for (i = 0; i <= KWQ_TABLE_MIN; i++)
			wrong += add_numbered(t, i) != KWQ_ADDED;
		KUNIT_EXPECT_EQ(test, t->keyed->table.nr_buckets, KWQ_TABLE_MIN);
		EXPECT_ITEMS(test, t, KWQ_TABLE_MIN + 1);

		/* It catches up later. */
		leave_all_pages(test);
		for (i = 0; i < 3 * KWQ_TABLE_MIN; i++)
			wrong += add_numbered(t, i) < 0;
		EXPECT_ITEMS(test, t, 3 * KWQ_TABLE_MIN);
		KUNIT_EXPECT_EQ(test, t->keyed->table.nr_buckets, 3 * KWQ_TABLE_MIN);
		kwq_test_open_again(test, &plenty, RIGHTS);
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

/* O3: a hand-out needs no page. Even with only its first buckets, the table finds each ticket. */
static void tickets_in_one_bucket(struct kunit *test)
{
	const u32 low = KWQ_TABLE_MIN - 1;
	struct keyed_test *t = test->priv;
	u64 tickets[KWQ_TABLE_MIN + 1], old;
	int i, j = 0;

	leave_pages(test, 0);
	for (i = 0; i <= KWQ_TABLE_MIN; i++) {
		KUNIT_ASSERT_EQ(test, add_numbered(t, i), KWQ_ADDED);
		KUNIT_ASSERT_EQ(test, get_some(t, t->x, 1), 1);
		tickets[i] = t->got[0].ticket;
	}
	KUNIT_EXPECT_EQ(test, t->keyed->table.nr_buckets, KWQ_TABLE_MIN);
	/* At least two of them share a bucket. */
	for (i = 1; i <= KWQ_TABLE_MIN; i++) {
		for (j = 0; j < i; j++)
			if (!((kwq_ticket_hash(tickets[i]) ^ kwq_ticket_hash(tickets[j])) & low))
				break;
		if (j < i)
			break;
	}
	KUNIT_ASSERT_LE(test, i, KWQ_TABLE_MIN);

	/* The number of one for the key of the other, and a ticket that is done. */
	old = tickets[j] - tickets[j] % KWQ_TICKET_STEP;
	old |= (kwq_ticket_hash(tickets[i]) ^ kwq_ticket_mask(old)) % KWQ_TICKET_STEP;
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, old, 0), -ESTALE);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, tickets[i], 0), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, tickets[i], 0), -ESTALE);
	KUNIT_EXPECT_EQ(test, t->x->holder.nr_held, KWQ_TABLE_MIN);
	/* Old tickets of a key that waits, is ready, and is handed out again. */
	old = tickets[j];
	add_after(t, &(struct kwq_key){ (u8 *)&(__be32){ cpu_to_be32(j) }, 4 }, 10);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, old, 0), KWQ_STILL_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, old, 0), -ESTALE);
	KUNIT_EXPECT_EQ(test, add_numbered(t, j), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, old, 0), -ESTALE);
	KUNIT_EXPECT_EQ(test, get_some(t, t->x, 1), 1);
	KUNIT_EXPECT_GT(test, t->got[0].ticket, tickets[KWQ_TABLE_MIN]);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, old, 0), -ESTALE);
	KUNIT_EXPECT_EQ(test, kwq_handle_done(t->x, t->got[0].ticket, 0), KWQ_STILL_WAITING);
	leave_all_pages(test);
}

#ifdef CONFIG_FAILSLAB
static void no_memory_for_an_item(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* O4: short, and long */
	current->fail_nth = 1;
	KUNIT_EXPECT_EQ(test, add_numbered(t, 1), -ENOMEM);
	/* An add that expects a new key tries a second time. */
	t->keyed->expects_new = false;
	current->fail_nth = 1;
	KUNIT_EXPECT_EQ(test, add(t, &(struct kwq_key){ t->keys, 100 }), -ENOMEM);
	current->fail_nth = 0;
	EXPECT_ITEMS(test, t, 0);
	KUNIT_EXPECT_EQ(test, add_numbered(t, 1), KWQ_ADDED);
}

/*
 * Lets the @nth allocation fail; returns whether there was one. Debugging allocates as well, and
 * counts: for a new slab, a pool that runs low. So that is done for another queue before.
 */
static bool create_without_memory(struct kunit *test, int nth, int *refused)
{
	struct kwq_keyed *keyed;
	bool injected;

	keyed = kwq_keyed_create("name", KWQ_CLOCK_MANUAL, &plenty);
	KUNIT_ASSERT_FALSE(test, IS_ERR(keyed));
	kwq_keyed_put(keyed);
	current->fail_nth = nth;
	keyed = kwq_keyed_create("name", KWQ_CLOCK_MANUAL, &plenty);
	injected = !current->fail_nth;
	current->fail_nth = 0;
	if (!IS_ERR(keyed)) {
		kwq_keyed_put(keyed);
		return injected;
	}
	KUNIT_EXPECT_EQ(test, PTR_ERR(keyed), -ENOMEM);
	++*refused;
	return injected;
}

static void no_memory_for_a_queue(struct kunit *test)
{
	int nth, refused = 0;

	/*
	 * O4: those of its tables and its name, and of the queue unless debugging makes it
	 * larger than slabs.
	 */
	for (nth = 1; create_without_memory(test, nth, &refused); nth++)
		;
	KUNIT_EXPECT_GE(test, refused, 2);
}
#endif

static void shut_down_forgets(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	__be32 bytes;
	struct kwq_key key = { (u8 *)&bytes, sizeof(bytes) };
	int i;

	/* Q10: more items than one hold drops. */
	configure(test, 0);
	for (i = 0; i < 2 * KWQ_ITEMS_PER_HOLD + 1; i++) {
		bytes = cpu_to_be32(i);
		remember(test, &key);
	}
	retry(t, KEY("a"));
	EXPECT_FETCH(test, t, t->x, "a");
	kwq_keyed_shut_down(t->keyed);
	EXPECT_ITEMS(test, t, 1);
	KUNIT_EXPECT_EQ(test, done(t, t->x), KWQ_FINISHED);
	EXPECT_REMEMBERED(test, t, 0);
	expect_empty(test);
}

static void dead_item_stays_until_it_is_kicked_or_removed(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* L11 */
	configure(test, 0);
	kill(test, KEY("a"));
	kill(test, KEY("b"));
	EXPECT_ITEMS(test, t, 2);
	EXPECT_REMEMBERED(test, t, 0);
	KUNIT_EXPECT_EQ(test, retry(t, KEY("a")), KWQ_DEAD);
	EXPECT_REQUEUES(test, t, "a", 3);
	EXPECT_FETCH(test, t, t->x, NOTHING);

	KUNIT_EXPECT_EQ(test, add_flags(t, KEY("a"), KWQ_ADD_KICK), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, add_flags(t, KEY("a"), KWQ_ADD_KICK), -ENOENT);
	EXPECT_REQUEUES(test, t, "a", 0);
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, KEY("a"),
					       KWQ_REMOVE_DEAD), -ENOENT);
	EXPECT_FETCH(test, t, t->x, "a");
	KUNIT_EXPECT_EQ(test, done(t, t->x), KWQ_FINISHED);

	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, KEY("b"),
					       KWQ_REMOVE_DEAD), KWQ_WAS_DEAD);
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, KEY("b"),
					       KWQ_REMOVE_DEAD), -ENOENT);
	expect_empty(test);
}

static void remembered_item_dies(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* L11: an idle item with a full count, between others that are remembered. */
	configure(test, 0);
	remember(test, KEY("a"));
	remember(test, KEY("b"));
	remember(test, KEY("b"));
	remember(test, KEY("b"));
	remember(test, KEY("c"));
	EXPECT_REMEMBERED(test, t, 3);
	KUNIT_EXPECT_EQ(test, retry(t, KEY("b")), KWQ_DEAD);
	EXPECT_REMEMBERED(test, t, 2);
	KUNIT_EXPECT_EQ(test, kwq_keyed_forget(t->keyed, KEY("a")), 1);
	KUNIT_EXPECT_EQ(test, kwq_keyed_forget(t->keyed, KEY("c")), 1);
	KUNIT_EXPECT_EQ(test, kwq_keyed_forget(t->keyed, KEY("b")), 3);
	EXPECT_ITEMS(test, t, 1);
	KUNIT_EXPECT_EQ(test, add_flags(t, KEY("b"), KWQ_ADD_KICK), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, KEY("b"), 0),
			KWQ_WAS_READY);
	EXPECT_REMEMBERED(test, t, 0);
	KUNIT_EXPECT_EQ(test, t->keyed->bytes_remembered, 0);
	expect_empty(test);
}

static void kick_of_an_unknown_key(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* L11: makes no item. */
	KUNIT_EXPECT_EQ(test, add_flags(t, KEY("a"), KWQ_ADD_KICK), -ENOENT);
	expect_empty(test);
}

/* Lists up to @max dead items, whose keys are at @keys of the test then. Returns how many. */
static u32 dead_items(struct kunit *test, struct kwq_listed *entries, u32 max)
{
	struct keyed_test *t = test->priv;
	struct kwq_list_request request = { .states = KWQ_IS_DEAD };
	struct kwq_value *values[3 * KWQ_SLOTS];
	struct kwq_list_buffer buffer = {
		.entries = entries,
		.values = values,
		.keys = t->keys,
		.max_items = max,
		.max_key_bytes = NR_KEYS,
		.max_bytes = NR_KEYS,
	};

	KUNIT_ASSERT_LE(test, max * KWQ_SLOTS, ARRAY_SIZE(values));
	KUNIT_EXPECT_EQ(test, kwq_keyed_list(t->keyed, &request, &buffer), 0);
	KUNIT_EXPECT_EQ(test, request.at, 0);
	return buffer.fill.nr;
}

static void item_dies_when_its_holder_says_done(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	struct kwq_listed entry;

	/* L11 O1: not when its holder is lost. */
	configure(test, 0);
	add(t, KEY("a"));
	kwq_core_peek(&t->keyed->queue.core, 0)->requeues = 3;
	EXPECT_FETCH(test, t, t->x, "a");
	KUNIT_EXPECT_EQ(test, retry(t, KEY("a")), KWQ_DEAD);
	KUNIT_EXPECT_EQ(test, dead_items(test, &entry, 1), 0);
	kwq_test_close_handle(&t->x);
	EXPECT_FETCH(test, t, t->y, "a");
	KUNIT_EXPECT_EQ(test, retry(t, KEY("a")), KWQ_DEAD);
	KUNIT_EXPECT_EQ(test, done(t, t->y), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, dead_items(test, &entry, 1), 1);
	EXPECT_ITEMS(test, t, 1);
}

/* L12: the list shows how often an item lost its holder, until it is revived. */
static void losses_of_the_dead_are_listed(struct kunit *test)
{
	struct kwq_limiter_config config = { .dead_after_lost = 2 };
	struct keyed_test *t = test->priv;
	struct kwq_listed entry;

	KUNIT_ASSERT_EQ(test, kwq_keyed_configure(t->keyed, &config), 0);
	add(t, KEY("a"));
	EXPECT_FETCH(test, t, t->x, "a");
	kwq_test_close_handle(&t->x);
	KUNIT_EXPECT_EQ(test, dead_items(test, &entry, 1), 0);
	t->x = kwq_handle_open(t->keyed, KWQ_RIGHT_READ);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->x));
	EXPECT_FETCH(test, t, t->x, "a");
	kwq_test_close_handle(&t->x);
	KUNIT_EXPECT_EQ(test, dead_items(test, &entry, 1), 1);
	KUNIT_EXPECT_EQ(test, entry.abandoned, 2);
	KUNIT_EXPECT_EQ(test, entry.requeues, 0);
	KUNIT_EXPECT_EQ(test, add(t, KEY("a")), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, dead_items(test, &entry, 1), 0);
}

static void dead_items_do_not_make_room(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* L11 O4 */
	make_again(test, &(struct kwq_limits){ 1, U32_MAX });
	kill(test, KEY("a"));
	KUNIT_EXPECT_EQ(test, add(t, KEY("b")), -ENOSPC);
	EXPECT_REQUEUES(test, t, "a", 3);
	EXPECT_ITEMS(test, t, 1);
}

static void shut_down_drops_the_dead(struct kunit *test)
{
	struct keyed_test *t = test->priv;

	/* L11 Q10 */
	configure(test, 0);
	kill(test, KEY("a"));
	kill(test, KEY("b"));
	kwq_keyed_shut_down(t->keyed);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.dropped, 2);
	KUNIT_EXPECT_NULL(test, kwq_core_first_dead(&t->keyed->queue.core));
	expect_empty(test);
}

static void expect_listed_dead(struct kunit *test, const struct kwq_listed *entry, u64 number,
			       u64 age)
{
	KUNIT_EXPECT_EQ(test, entry->state, KWQ_IS_DEAD);
	KUNIT_EXPECT_EQ(test, entry->order_of, KWQ_IS_DEAD);
	KUNIT_EXPECT_EQ(test, entry->order, number);
	KUNIT_EXPECT_EQ(test, entry->dead_for, age);
	KUNIT_EXPECT_EQ(test, entry->requeues, 3);
	KUNIT_EXPECT_EQ(test, entry->priority, 0);
	KUNIT_EXPECT_EQ(test, entry->abandoned, 0);
}

/* L11 Q15: with the numbers of their deaths, by which a caller sorts them. */
static void dead_items_are_listed_with_their_deaths(struct kunit *test)
{
	static const u64 ages[] = { 0, 25, 15, 15 };
	struct keyed_test *t = test->priv;
	struct kwq_listed e[3] = {};
	u32 i;

	configure(test, 0);
	KUNIT_EXPECT_EQ(test, dead_items(test, e, 3), 0);
	kill(test, KEY("ccc"));
	kwq_queue_advance(&t->keyed->queue, 10);
	kill(test, KEY("a"));
	kill(test, KEY("bb"));
	add_after(t, KEY("waits"), 100);
	kwq_queue_advance(&t->keyed->queue, 25);
	KUNIT_ASSERT_EQ(test, dead_items(test, e, 3), 3);
	for (i = 0; i < 3; i++) {
		u64 number = e[i].key_len == 3 ? 1 : e[i].key_len + 1;

		expect_listed_dead(test, &e[i], number, ages[number]);
	}

	/* One that is revived and dies again died last. */
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, KEY("a"), 0), KWQ_WAS_DEAD);
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, KEY("bb"), 0), KWQ_WAS_DEAD);
	KUNIT_EXPECT_EQ(test, kwq_keyed_remove(t->keyed, KEY("ccc"), 0), KWQ_WAS_DEAD);
	kill(test, KEY("ccc"));
	KUNIT_ASSERT_EQ(test, dead_items(test, e, 3), 1);
	expect_listed_dead(test, &e[0], 4, 0);
	KUNIT_EXPECT_MEMEQ(test, t->keys, "ccc", 3);
}

static void manual_clock_is_advanced(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	struct kwq_keyed *keyed = t->keyed;
	struct kwq_queue *q = &keyed->queue;

	/* K4: by a time span, or to a time. */
	KUNIT_EXPECT_EQ(test, add_after(t, KEY("a"), 10), KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_keyed_advance(keyed, 9, false), 0);
	EXPECT_FETCH(test, t, t->x, NOTHING);
	KUNIT_EXPECT_EQ(test, kwq_keyed_advance(keyed, 10, true), 0);
	EXPECT_FETCH(test, t, t->x, "a");
	KUNIT_EXPECT_EQ(test, kwq_keyed_advance(keyed, 9, true), -EINVAL);
	KUNIT_EXPECT_EQ(test, kwq_keyed_advance(keyed, 0, true), -EINVAL);
	KUNIT_EXPECT_EQ(test, kwq_queue_now(q), 10);
	KUNIT_EXPECT_EQ(test, kwq_keyed_advance(keyed, 10, true), 0);
	KUNIT_EXPECT_EQ(test, kwq_keyed_advance(keyed, 0, false), 0);
	KUNIT_EXPECT_EQ(test, kwq_queue_now(q), 10);
	KUNIT_EXPECT_EQ(test, kwq_keyed_advance(keyed, U64_MAX, false), 0);
	KUNIT_EXPECT_EQ(test, kwq_queue_now(q), KTIME_MAX);
	KUNIT_EXPECT_EQ(test, kwq_keyed_advance(keyed, U64_MAX, true), 0);
	KUNIT_EXPECT_EQ(test, kwq_queue_now(q), KTIME_MAX);
}

static void real_clock_is_not_advanced(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	static const enum kwq_clock clocks[] = {
		KWQ_CLOCK_MONOTONIC, KWQ_CLOCK_BOOTTIME,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		kwq_test_close(test);
		kwq_test_open(test, clocks[i], &plenty, RIGHTS);
		KUNIT_EXPECT_EQ(test, kwq_keyed_advance(t->keyed, 0, false),
				-EOPNOTSUPP);
		KUNIT_EXPECT_EQ(test, kwq_keyed_advance(t->keyed, U64_MAX, true),
				-EOPNOTSUPP);
	}
}

static void named_queue_is_advanced_by_its_owner(struct kunit *test)
{
	struct kwq_keyed *keyed = kwq_keyed_create("somebodys", KWQ_CLOCK_MANUAL,
						   &plenty);
	const char *name;
	kuid_t owner;

	KUNIT_ASSERT_FALSE(test, IS_ERR(keyed));
	owner = keyed->owner;
	name = keyed->queue.name;
	KUNIT_EXPECT_EQ(test, kwq_keyed_advance(keyed, 5, true), 0);
	keyed->owner = KUIDT_INIT(4711);
	KUNIT_EXPECT_EQ(test, kwq_keyed_advance(keyed, 6, true), -EPERM);
	KUNIT_EXPECT_EQ(test, kwq_keyed_advance(keyed, 1, false), -EPERM);
	KUNIT_EXPECT_EQ(test, kwq_queue_now(&keyed->queue), 5);
	/* Anyone with its descriptor may advance an unnamed queue. */
	keyed->queue.name = "";
	KUNIT_EXPECT_EQ(test, kwq_keyed_advance(keyed, 6, true), 0);
	keyed->queue.name = name;
	/* The owner's quota counts it. */
	keyed->owner = owner;
	kwq_keyed_put(keyed);
}

/* Locks are larger in other configurations. */
#define LOCKS_ARE_SMALL	(IS_ENABLED(CONFIG_64BIT) && !IS_ENABLED(CONFIG_PREEMPT_RT) &&	\
			 !IS_ENABLED(CONFIG_DEBUG_SPINLOCK) &&				\
			 !IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC))

static void queue_without_durations(struct kunit *test)
{
	struct kwq_stat *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	struct kwq_limits limits = plenty;
	struct kwq_add_options none = {};
	struct kwq_handle *handle;
	struct kwq_got_buffer buffer;
	struct kwq_got got[1];
	struct kwq_keyed *keyed;
	u8 keys[8];

	/* M1 */
	KUNIT_ASSERT_NOT_NULL(test, s);
	limits.no_durations = true;
	keyed = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &limits);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, keyed);
	KUNIT_EXPECT_EQ(test, keyed->queue.stamps, KWQ_CLOCK_NONE);
	handle = kwq_handle_open(keyed, KWQ_RIGHT_READ | KWQ_RIGHT_WRITE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, handle);
	KUNIT_EXPECT_EQ(test, kwq_keyed_add(keyed, KEY("a"), &none), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_keyed_add(keyed, KEY("b"), &none), KWQ_ADDED);
	buffer = (struct kwq_got_buffer){
		.got = got,
		.keys = keys,
		.max_items = 1,
		.max_key_bytes = sizeof(keys),
	};
	KUNIT_EXPECT_EQ(test, kwq_handle_get(handle, &buffer, &at_once), 1);
	kwq_queue_advance(&keyed->queue, 10);
	kwq_keyed_stat(keyed, s);
	KUNIT_EXPECT_EQ(test, s->create_flags, KWQ_CREATE_NO_DURATIONS);
	KUNIT_EXPECT_EQ(test, s->oldest_ready, 0);
	KUNIT_EXPECT_EQ(test, s->longest_running, 0);
	KUNIT_EXPECT_EQ(test, s->unfinished, 0);
	kwq_handle_close(handle);
	kwq_keyed_put(keyed);
}

#if LOCKS_ARE_SMALL
/*
 * O9: 8 KiB, and 2 KiB for the smallest table and the limiters, each with the cgroup that
 * it is charged to.
 */
static void queue_takes_little(struct kunit *test)
{
	KUNIT_EXPECT_LE(test, sizeof(struct kwq_keyed), SZ_8K);
	KUNIT_EXPECT_LE(test, kwq_keyed_own_bytes(""), SZ_8K + SZ_2K + 64);
}
#endif

/* O9: a name is a separate allocation. */
static void name_counts(struct kunit *test)
{
	u64 without = kwq_keyed_own_bytes("");

	KUNIT_EXPECT_LE(test, without + sizeof("name"), kwq_keyed_own_bytes("name"));
	KUNIT_EXPECT_LT(test, kwq_keyed_own_bytes("name"), without + 64);
}

static void stat_of_retries(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	struct kwq_stat *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	/* M1 M2 M3 */
	KUNIT_ASSERT_NOT_NULL(test, s);
	configure(test, 0);
	kill(test, KEY("dead"));
	remember(test, KEY("idle"));
	add_after(t, KEY("late"), 10);
	kwq_queue_advance(&t->keyed->queue, 20);
	add_after(t, KEY("later"), 5);
	kwq_queue_advance(&t->keyed->queue, 2030);
	EXPECT_FETCH(test, t, t->x, "late");
	kwq_queue_advance(&t->keyed->queue, 2100);
	kwq_keyed_stat(t->keyed, s);
	KUNIT_EXPECT_EQ(test, s->now, 2100);
	KUNIT_EXPECT_EQ(test, s->clockid, KWQ_CLOCK_ID_MANUAL);
	KUNIT_EXPECT_EQ(test, s->retries, 6);
	KUNIT_EXPECT_EQ(test, s->rate_limited, 4);
	KUNIT_EXPECT_EQ(test, s->died, 1);
	KUNIT_EXPECT_EQ(test, s->dead, 1);
	KUNIT_EXPECT_EQ(test, s->remembered, 1);
	KUNIT_EXPECT_EQ(test, s->items, 4);
	KUNIT_EXPECT_EQ(test, s->oldest_ready, 2100 - 2030);
	KUNIT_EXPECT_EQ(test, s->longest_running, 70);
	KUNIT_EXPECT_EQ(test, s->unfinished, 70);
	KUNIT_EXPECT_EQ(test, s->lateness.sum, 10 + 2005);
	KUNIT_EXPECT_EQ(test, s->lateness.counts[0], 1);
	KUNIT_EXPECT_EQ(test, s->lateness.counts[1], 1);
	KUNIT_EXPECT_EQ(test, s->queue_duration.sum, 2010);
	KUNIT_EXPECT_EQ(test, s->queue_duration.counts[0], 4);
	KUNIT_EXPECT_EQ(test, s->queue_duration.counts[1], 1);
	KUNIT_EXPECT_EQ(test, s->work_duration.counts[0], 4);
	done(t, t->x);
	kwq_keyed_stat(t->keyed, s);
	KUNIT_EXPECT_EQ(test, s->work_duration.sum, 70);
	KUNIT_EXPECT_EQ(test, s->work_duration.counts[0], 5);
	KUNIT_EXPECT_EQ(test, s->unfinished, 0);
}

static void longest_running_is_of_any_handle(struct kunit *test)
{
	struct keyed_test *t = test->priv;
	struct kwq_stat *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	/* M3: the one that was handed out first of those that are left */
	KUNIT_ASSERT_NOT_NULL(test, s);
	add(t, KEY("a"));
	add(t, KEY("b"));
	add(t, KEY("c"));
	EXPECT_FETCH(test, t, t->y, "a");
	kwq_queue_advance(&t->keyed->queue, 10);
	EXPECT_FETCH(test, t, t->x, "b");
	kwq_queue_advance(&t->keyed->queue, 20);
	EXPECT_FETCH(test, t, t->y, "c");
	kwq_queue_advance(&t->keyed->queue, 50);
	kwq_keyed_stat(t->keyed, s);
	KUNIT_EXPECT_EQ(test, s->longest_running, 50);
	KUNIT_EXPECT_EQ(test, kwq_handle_done_key(t->y, KEY("a"), 0), KWQ_FINISHED);
	kwq_keyed_stat(t->keyed, s);
	KUNIT_EXPECT_EQ(test, s->longest_running, 40);
	kwq_test_close_handle(&t->x);
	kwq_keyed_stat(t->keyed, s);
	KUNIT_EXPECT_EQ(test, s->longest_running, 30);
}

/* ---- All at once ---- */

#define NR_CROWD_KEYS	5
#define NR_WORKERS	4
#define NR_ADDERS	2
#define NR_ADDS		1200

struct crowd {
	struct kwq_keyed *keyed;
	struct kwq_handle *shared;	/* used by all workers but the last */
	struct kwq_test_thread worker[NR_WORKERS];
	struct kwq_test_thread adder[NR_ADDERS];
	atomic_t running[NR_CROWD_KEYS];
	atomic_t wanted[NR_CROWD_KEYS];	/* number of adds */
	int seen[NR_CROWD_KEYS];	/* value of @wanted when it was last finished */
	atomic_t seed;
	atomic_t twice;			/* hand-outs of items that were processing already */
	atomic_t failed;
};

struct crowd_get {
	struct kwq_got_buffer buffer;
	struct kwq_got got[2];
	u8 keys[2];
};

static int get_in_crowd(struct kwq_handle *handle, struct crowd_get *f)
{
	f->buffer = (struct kwq_got_buffer){
		.got = f->got,
		.keys = f->keys,
		.max_items = 2,
		.max_key_bytes = 2,
	};
	return kwq_handle_get(handle, &f->buffer, &for_ever);
}

static void begin_work(struct crowd *crowd, u8 key)
{
	if (atomic_xchg(&crowd->running[key], 1))
		atomic_inc(&crowd->twice);
}

static void end_work(struct crowd *crowd, u8 key)
{
	atomic_set(&crowd->running[key], 0);
}

static void work_in_crowd(void *data)
{
	struct crowd *crowd = data;
	struct crowd_get f;
	struct rnd_state rnd;
	int i, nr, seen;

	prandom_seed_state(&rnd, atomic_inc_return(&crowd->seed));
	while ((nr = get_in_crowd(crowd->shared, &f)) > 0) {
		/* As after a fault (O2). */
		if (prandom_u32_state(&rnd) % 8 == 0) {
			kwq_handle_unget(crowd->shared, f.got, nr);
			continue;
		}
		for (i = 0; i < nr; i++) {
			begin_work(crowd, f.keys[i]);
			seen = atomic_read(&crowd->wanted[f.keys[i]]);
			cond_resched();
			crowd->seen[f.keys[i]] = seen;
			end_work(crowd, f.keys[i]);
			if (kwq_handle_done(crowd->shared, f.got[i].ticket, 0) < 0)
				atomic_inc(&crowd->failed);
		}
	}
	if (nr != -ESHUTDOWN)
		atomic_inc(&crowd->failed);
}

/* Dies again and again while it holds items (O1). */
static void die_in_crowd(void *data)
{
	struct crowd *crowd = data;
	struct kwq_handle *handle;
	struct crowd_get f;
	int i, nr;

	do {
		handle = kwq_handle_open(crowd->keyed, KWQ_RIGHT_READ | KWQ_RIGHT_WRITE);
		if (IS_ERR(handle)) {
			atomic_inc(&crowd->failed);
			return;
		}
		nr = get_in_crowd(handle, &f);
		for (i = 0; i < nr; i++)
			begin_work(crowd, f.keys[i]);
		cond_resched();
		for (i = 0; i < nr; i++)
			end_work(crowd, f.keys[i]);
		/* Leaves the items of a queue that is shut down to the others. */
		kwq_handle_close(handle);
	} while (nr > 0 && !kwq_shutting_down(&crowd->keyed->queue));
}

static void add_in_crowd(void *data)
{
	struct crowd *crowd = data;
	struct kwq_add_options options = {};
	struct rnd_state rnd;
	u8 key;
	int i;

	prandom_seed_state(&rnd, atomic_inc_return(&crowd->seed));
	for (i = 0; i < NR_ADDS; i++) {
		key = prandom_u32_state(&rnd) % NR_CROWD_KEYS;
		options.flags = KWQ_ADD_PRIORITY;
		options.priority = prandom_u32_state(&rnd) % 3;
		if (prandom_u32_state(&rnd) & 1) {
			options.flags |= KWQ_ADD_AFTER;
			options.time = prandom_u32_state(&rnd) %
				       (20 * NSEC_PER_USEC);
		}
		atomic_inc(&crowd->wanted[key]);
		if (kwq_keyed_add(crowd->keyed, &(struct kwq_key){ &key, 1 },
				  &options) < 0)
			atomic_inc(&crowd->failed);
		cond_resched();
	}
}

static void nothing_is_lost_and_nothing_runs_twice(struct kunit *test)
{
	struct crowd *crowd = kunit_kzalloc(test, sizeof(*crowd), GFP_KERNEL);
	struct keyed_test *t = test->priv;
	ktime_t deadline;
	int i;

	/* Q3 Q4 Q5 Q10 O1 O2: items are created and freed all the time. */
	KUNIT_ASSERT_NOT_NULL(test, crowd);
	kwq_test_close(test);
	kwq_test_open(test, KWQ_CLOCK_MONOTONIC, &plenty, RIGHTS);
	crowd->keyed = t->keyed;
	crowd->shared = t->x;
	for (i = 0; i < NR_WORKERS; i++)
		kwq_test_thread_start(test, &crowd->worker[i],
				      i < NR_WORKERS - 1 ? work_in_crowd :
				      die_in_crowd, crowd);
	for (i = 0; i < NR_ADDERS; i++)
		kwq_test_thread_start(test, &crowd->adder[i], add_in_crowd,
				      crowd);
	for (i = 0; i < NR_ADDERS; i++)
		kwq_test_thread_join(test, &crowd->adder[i]);
	/* A shut down would drop waiting items. */
	kwq_test_wait_until(test,
			    !READ_ONCE(t->keyed->of_core.nr_waiting));
	deadline = kwq_queue_now(&t->keyed->queue) +
		   KWQ_TEST_HANGS_SECONDS * NSEC_PER_SEC;
	KUNIT_EXPECT_EQ(test, drain_until(t->keyed, deadline), 0);
	for (i = 0; i < NR_WORKERS; i++)
		kwq_test_thread_join(test, &crowd->worker[i]);

	KUNIT_EXPECT_EQ(test, atomic_read(&crowd->twice), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&crowd->failed), 0);
	for (i = 0; i < NR_CROWD_KEYS; i++)
		KUNIT_EXPECT_EQ(test, crowd->seen[i],
				atomic_read(&crowd->wanted[i]));
	expect_empty(test);
}

static struct kunit_case keyed_test_cases[] = {
	KUNIT_CASE(equal_keys_are_one_item),
	KUNIT_CASE_PARAM(keys_that_differ, key_gen_params),
	KUNIT_CASE(longest_keys),
	KUNIT_CASE(many_keys),
	KUNIT_CASE(keys_of_many_lengths),
	KUNIT_CASE(keys_of_one_hash),
	KUNIT_CASE(many_items_in_one_hold),
	KUNIT_CASE(many_tickets_in_any_order),
	KUNIT_CASE(tickets_start_over),
	KUNIT_CASE(tickets_in_one_bucket),
	KUNIT_CASE(no_more_keys_than_can_be_found),
	KUNIT_CASE(trace_shows_the_keys_beginning),
	KUNIT_CASE(item_is_there_until_it_is_idle),
	KUNIT_CASE(removed_item_is_gone),
	KUNIT_CASE(removed_item_stays_while_processing),
	KUNIT_CASE(shut_down_and_empty_holds_nothing),
	KUNIT_CASE(killed_call_drops_no_more_than_one_hold),
	KUNIT_CASE(closed_queue_is_dropped_and_freed),
	KUNIT_CASE(limit_of_items),
	KUNIT_CASE(limit_of_bytes),
	KUNIT_CASE(item_counts_what_it_takes),
	KUNIT_CASE(tables_count),
	KUNIT_CASE(no_room_at_all),
	KUNIT_CASE(full_queue_that_is_shut_down_says_so),
	KUNIT_CASE(dropped_items_make_room),
	KUNIT_CASE(tickets_are_never_used_again),
	KUNIT_CASE(old_tickets_are_stale),
	KUNIT_CASE(tickets_of_another_handle_are_stale),
	KUNIT_CASE(tickets_in_any_order),
	KUNIT_CASE(done_by_key),
	KUNIT_CASE(get_takes_what_fits),
	KUNIT_CASE(get_tells_about_the_item),
	KUNIT_CASE(get_that_cannot_take_it_wakes_another),
	KUNIT_CASE(get_that_comes_back_keeps_its_wake_up),
	KUNIT_CASE(done_and_get_is_one_hold),
	KUNIT_CASE(closing_wakes_for_all_that_is_ready),
	KUNIT_CASE(closed_handle_gives_back),
	KUNIT_CASE(closed_handles_tickets_are_stale),
	KUNIT_CASE(poller_is_told_of_room),
	KUNIT_CASE(drain_that_goes_on_sees_a_shut_down),
	KUNIT_CASE(closed_handle_gives_back_in_pieces),
	KUNIT_CASE(close_wakes_all_pollers_again),
	KUNIT_CASE(closed_handle_gives_back_what_was_removed),
	KUNIT_CASE(last_handle_takes_all_with_it),
	KUNIT_CASE(returned_items_are_where_they_were),
	KUNIT_CASE(returned_items_go_back_to_their_lanes),
	KUNIT_CASE(unget_leaves_finished_items_alone),
	KUNIT_CASE(unget_leaves_later_hand_outs_alone),
	KUNIT_CASE(returned_item_wakes_a_getter),
	KUNIT_CASE(holder_of_nothing_waits_for_the_others),
	KUNIT_CASE(blocked_get_gets_what_is_given_back),
	KUNIT_CASE(blocked_get_ends_when_nothing_can_come),
	KUNIT_CASE(too_long_key_goes_to_another_get),
	KUNIT_CASE(stat),
	KUNIT_CASE(count_outlives_idleness),
	KUNIT_CASE(forget_leaves_the_rest),
	KUNIT_CASE(remembered_item_is_removed),
	KUNIT_CASE(forgotten_item_is_not_removed),
	KUNIT_CASE(done_can_forget),
	KUNIT_CASE(count_of_an_unknown_key),
	KUNIT_CASE(largest_count),
	KUNIT_CASE(remembered_key_is_not_in_the_queue),
	KUNIT_CASE(counts_take_no_room),
	KUNIT_CASE(oldest_count_goes),
	KUNIT_CASE(counts_of_long_keys),
	KUNIT_CASE(counts_stay_where_they_do_not_make_room),
	KUNIT_CASE(old_counts_are_let_go),
	KUNIT_CASE(no_memory_for_a_larger_table),
#ifdef CONFIG_FAILSLAB
	KUNIT_CASE(no_memory_for_an_item),
	KUNIT_CASE(no_memory_for_a_queue),
#endif
	KUNIT_CASE(shut_down_forgets),
	KUNIT_CASE(dead_item_stays_until_it_is_kicked_or_removed),
	KUNIT_CASE(remembered_item_dies),
	KUNIT_CASE(kick_of_an_unknown_key),
	KUNIT_CASE(item_dies_when_its_holder_says_done),
	KUNIT_CASE(losses_of_the_dead_are_listed),
	KUNIT_CASE(dead_items_do_not_make_room),
	KUNIT_CASE(shut_down_drops_the_dead),
	KUNIT_CASE(dead_items_are_listed_with_their_deaths),
	KUNIT_CASE(manual_clock_is_advanced),
	KUNIT_CASE(real_clock_is_not_advanced),
	KUNIT_CASE(named_queue_is_advanced_by_its_owner),
	KUNIT_CASE(queue_without_durations),
#if LOCKS_ARE_SMALL
	KUNIT_CASE(queue_takes_little),
#endif
	KUNIT_CASE(name_counts),
	KUNIT_CASE(stat_of_retries),
	KUNIT_CASE(longest_running_is_of_any_handle),
	KUNIT_CASE_SLOW(nothing_is_lost_and_nothing_runs_twice),
	{}
};

static struct kunit_suite keyed_test_suite = {
	.name = "kwq-keyed",
	.init = keyed_test_init,
	.exit = kwq_test_close,
	.test_cases = keyed_test_cases,
};

kunit_test_suite(keyed_test_suite);

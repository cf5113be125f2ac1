// SPDX-License-Identifier: GPL-2.0-only
/* Drivers that add keys (K12): producer.c on a manual clock. */
#include <kunit/test.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/irq_work.h>
#include <linux/string.h>
#include <linux/user_namespace.h>
#include "keyed_ops.h"
#include "tests/thread.h"

#define ALICE		3001
#define NR_THREADS	4
#define NR_ADDS		2000
#define NR_KEYS		50

static const struct kwq_limits roomy = {
	.max_items = U32_MAX,
	.max_bytes = U32_MAX,
	.values = true,
	.groups = true,
};

/* What a get returns. */
struct producer_test {
	struct kwq_keyed *keyed;
	struct kwq_handle *handle;
	struct kwq_key_queue *keys;
	struct kwq_got got;
	struct kwq_got_more more;
	u8 key[KWQ_KEY_MAX + KWQ_GROUP_MAX];
};

static void unmake(struct producer_test *t)
{
	if (!IS_ERR_OR_NULL(t->keys))
		kwq_key_queue_put(t->keys);
	if (!IS_ERR_OR_NULL(t->handle))
		kwq_handle_close(t->handle);
	if (!IS_ERR_OR_NULL(t->keyed))
		kwq_keyed_put(t->keyed);
	memset(t, 0, sizeof(*t));
}

static void make(struct kunit *test, const struct kwq_limits *limits)
{
	struct producer_test *t = test->priv;

	unmake(t);
	t->keyed = kwq_keyed_create("", KWQ_CLOCK_MANUAL, limits);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->keyed);
	t->handle = kwq_handle_open(t->keyed, KWQ_RIGHT_READ);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->handle);
	t->keys = kwq_key_queue_open(t->keyed, KWQ_RIGHT_READ | KWQ_RIGHT_WRITE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->keys);
}

static int producer_test_init(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct producer_test), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, test->priv);
	make(test, &roomy);
	return 0;
}

static void producer_test_exit(struct kunit *test)
{
	if (test->priv)
		unmake(test->priv);
}

/* The worker has carried out all that it can. */
static void settle(struct kwq_key_queue *keys)
{
	irq_work_sync(&keys->call);
	flush_work(&keys->work);
}

static int add(struct producer_test *t, const char *key, const struct kwq_key_options *options)
{
	return kwq_add_key(t->keys, key, strlen(key), options);
}

/* Adds while somebody holds the queue's lock. */
static int add_in_hold(struct producer_test *t, const char *key)
{
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&t->keyed->queue.lock, flags);
	ret = add(t, key, NULL);
	spin_unlock_irqrestore(&t->keyed->queue.lock, flags);
	return ret;
}

static int get(struct producer_test *t)
{
	struct kwq_got_buffer buffer = {
		.got = &t->got,
		.more = &t->more,
		.keys = t->key,
		.max_items = 1,
		.max_key_bytes = sizeof(t->key),
	};

	memset(t->key, 0, sizeof(t->key));
	t->more = (struct kwq_got_more){ .max_bytes = U32_MAX };
	return kwq_handle_get(t->handle, &buffer, &at_once);
}

static void drop_value(struct producer_test *t)
{
	if (!t->more.value)
		return;
	kwq_quota_uncharge(t->handle->quota, kwq_value_bytes(t->more.value));
	kwq_value_put(t->more.value);
	t->more.value = NULL;
}

/* Gets the next item. Its key, and a value of at most 8 bytes, are these strings. */
static void expect_next(struct kunit *test, const char *key, const char *value)
{
	struct producer_test *t = test->priv;
	u8 bytes[8] = {};

	KUNIT_ASSERT_EQ(test, get(t), 1);
	KUNIT_EXPECT_EQ(test, t->got.key_len, (u32)strlen(key));
	KUNIT_EXPECT_MEMEQ(test, t->key, key, strlen(key));
	KUNIT_EXPECT_EQ(test, t->more.value ? t->more.value->len : 0, (u32)strlen(value));
	if (t->more.value && t->more.value->len <= sizeof(bytes))
		memcpy(bytes, t->more.value->bytes, t->more.value->len);
	KUNIT_EXPECT_MEMEQ(test, bytes, value, strlen(value));
	drop_value(t);
}

static void done(struct kunit *test)
{
	struct producer_test *t = test->priv;

	KUNIT_EXPECT_GE(test, kwq_handle_done(t->handle, t->got.ticket, 0), 0);
}

static void expect_nothing(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, get(test->priv), -EAGAIN);
}

static void expect_refused(struct kunit *test, long nr)
{
	struct producer_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, atomic_long_read(&t->keyed->refused), nr);
}

/*
 * A writer that is interrupted between its reservation and the end of its record. All that comes
 * after it has to wait.
 */
static struct kwq_record *interrupt_writer(struct kunit *test)
{
	struct producer_test *t = test->priv;
	struct kwq_record *record = kwq_record_reserve(t->keys, 16);

	KUNIT_ASSERT_NOT_NULL(test, record);
	return record;
}

static void continue_writer(struct producer_test *t, struct kwq_record *record)
{
	kwq_record_commit(t->keys, record, 16 | KWQ_RECORD_IS_PADDING);
	settle(t->keys);
}

/* ---- Results -------------------------------------------------------------- */

static void new_key_is_posted(struct kunit *test)
{
	struct producer_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, add(t, "a", NULL), KWQ_POSTED);
	KUNIT_EXPECT_EQ(test, add(t, "bb", NULL), KWQ_POSTED);
	settle(t->keys);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.adds, 2);
	expect_next(test, "a", "");
	expect_next(test, "bb", "");
	expect_nothing(test);
	expect_refused(test, 0);
}

static void dirty_key_coalesces_at_once(struct kunit *test)
{
	struct producer_test *t = test->priv;

	add(t, "a", NULL);
	settle(t->keys);
	KUNIT_EXPECT_EQ(test, add(t, "a", NULL), KWQ_COALESCED);
	expect_next(test, "a", "");
	/* Processing and clean. */
	KUNIT_EXPECT_EQ(test, add(t, "a", NULL), KWQ_POSTED);
	settle(t->keys);
	KUNIT_EXPECT_EQ(test, add(t, "a", NULL), KWQ_DIRTY);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.coalesced, 2);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.adds, 2);
	done(test);
	expect_next(test, "a", "");
	expect_nothing(test);
}

static void add_under_the_lock_is_posted(struct kunit *test)
{
	struct producer_test *t = test->priv;

	add(t, "a", NULL);
	settle(t->keys);
	KUNIT_EXPECT_EQ(test, add_in_hold(t, "a"), KWQ_POSTED);
	KUNIT_EXPECT_EQ(test, add_in_hold(t, "b"), KWQ_POSTED);
	settle(t->keys);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.coalesced, 1);
	expect_next(test, "a", "");
	expect_next(test, "b", "");
}

static void add_of_a_waiting_key_is_no_coalescing(struct kunit *test)
{
	struct producer_test *t = test->priv;

	add(t, "a", &(struct kwq_key_options){ .flags = KWQ_ADD_AFTER, .time = 100 });
	settle(t->keys);
	expect_nothing(test);
	KUNIT_EXPECT_EQ(test, add(t, "a", NULL), KWQ_POSTED);
	settle(t->keys);
	expect_next(test, "a", "");
}

static void sleeper_learns_the_result(struct kunit *test)
{
	static const struct kwq_key_options now = { .may_sleep = true };
	static const struct kwq_key_options later = {
		.flags = KWQ_ADD_AFTER,
		.time = 100,
		.may_sleep = true,
	};
	struct producer_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, add(t, "a", &now), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, add(t, "a", &now), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, add(t, "b", &later), KWQ_WAITING);
	expect_next(test, "a", "");
	KUNIT_EXPECT_EQ(test, add(t, "a", &now), KWQ_DIRTIED);
	KUNIT_EXPECT_EQ(test, t->keys->head, 0);
	expect_refused(test, 0);
}

static void follower_learns_of_an_add_that_coalesced(struct kunit *test)
{
	static const struct kwq_limits followed = {
		.max_items = 10,
		.max_bytes = U32_MAX,
		.changes = true,
	};
	struct kwq_key key = { "a", 1 };
	struct producer_test *t = test->priv;
	struct kwq_keyed_item *ki;
	unsigned long flags;

	make(test, &followed);
	add(t, "a", NULL);
	settle(t->keys);
	kwq_key_hash(&key);
	spin_lock_irqsave(&t->keyed->queue.lock, flags);
	ki = kwq_keyed_find(t->keyed, &key);
	spin_unlock_irqrestore(&t->keyed->queue.lock, flags);
	KUNIT_ASSERT_NOT_NULL(test, ki);
	KUNIT_EXPECT_FALSE(test, ki->is_added);
	KUNIT_EXPECT_EQ(test, add(t, "a", NULL), KWQ_COALESCED);
	KUNIT_EXPECT_TRUE(test, ki->is_added);
}

/* ---- Options -------------------------------------------------------------- */

static void options_are_found_behind_keys_of_any_length(struct kunit *test)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	struct kwq_key_options options = {
		.flags = KWQ_ADD_PRIORITY | KWQ_ADD_VALUE | KWQ_ADD_GROUP,
		.priority = -7,
		.value = "value",
		.value_len = 5,
		.group = letters,
	};
	struct producer_test *t = test->priv;
	char key[sizeof(letters)] = {};
	int len;

	for (len = 1; len < sizeof(letters) - 1; len++) {
		memcpy(key, letters, len);
		options.group_len = len + 1;
		KUNIT_ASSERT_EQ(test, add(t, key, &options), KWQ_POSTED);
		settle(t->keys);
		expect_next(test, key, "value");
		KUNIT_EXPECT_EQ(test, t->got.priority, -7);
		KUNIT_EXPECT_EQ(test, t->more.group_len, options.group_len);
		KUNIT_EXPECT_MEMEQ(test, t->key + len, letters, len + 1);
		done(test);
	}
	expect_refused(test, 0);
}

static void delay_and_priority_of_an_add(struct kunit *test)
{
	struct producer_test *t = test->priv;

	add(t, "low", &(struct kwq_key_options){ .flags = KWQ_ADD_PRIORITY, .priority = -1 });
	add(t, "high", &(struct kwq_key_options){ .flags = KWQ_ADD_PRIORITY, .priority = 1 });
	add(t, "after", &(struct kwq_key_options){ .flags = KWQ_ADD_AFTER, .time = 100 });
	add(t, "at", &(struct kwq_key_options){ .flags = KWQ_ADD_AT, .time = 50 });
	/* D9 */
	add(t, "calm", &(struct kwq_key_options){
		.flags = KWQ_ADD_AFTER | KWQ_ADD_REPLACE | KWQ_ADD_AT_MOST,
		.time = 200,
		.at_most = 150,
	});
	settle(t->keys);
	expect_next(test, "high", "");
	expect_next(test, "low", "");
	expect_nothing(test);
	kwq_keyed_advance(t->keyed, 99, true);
	expect_next(test, "at", "");
	expect_nothing(test);
	kwq_keyed_advance(t->keyed, 150, true);
	expect_next(test, "after", "");
	expect_next(test, "calm", "");
	expect_refused(test, 0);
}

static struct kwq_key_options set_of(const char *bits)
{
	return (struct kwq_key_options){
		.flags = KWQ_ADD_VALUE,
		.value = bits,
		.value_len = strlen(bits),
		.is_set = true,
	};
}

static void add_set(struct producer_test *t, const char *key, const char *bits, bool may_sleep)
{
	struct kwq_key_options options = set_of(bits);

	options.may_sleep = may_sleep;
	add(t, key, &options);
	settle(t->keys);
}

static void bits_accumulate_until_the_key_is_done(struct kunit *test)
{
	struct producer_test *t = test->priv;
	int may_sleep;

	for (may_sleep = 0; may_sleep < 2; may_sleep++) {
		add_set(t, "a", "\x01\x10", may_sleep);
		add_set(t, "a", "\x02\x10", may_sleep);
		expect_next(test, "a", "\x03\x10");
		/* The run that has begun may fail. */
		add_set(t, "a", "\x04\x20", may_sleep);
		done(test);
		expect_next(test, "a", "\x07\x30");
		done(test);
		add_set(t, "a", "\x08\x40", may_sleep);
		expect_next(test, "a", "\x08\x40");
		/* A set of another length takes its place. */
		add_set(t, "a", "\x01", may_sleep);
		done(test);
		expect_next(test, "a", "\x01");
		done(test);
	}
	expect_nothing(test);
	expect_refused(test, 0);
}

static void value_that_is_no_set_is_replaced(struct kunit *test)
{
	struct kwq_key_options first = set_of("\x01"), second = set_of("\x02");
	struct producer_test *t = test->priv;

	first.is_set = false;
	second.is_set = false;
	add(t, "a", &first);
	add(t, "a", &second);
	first.flags |= KWQ_ADD_KEEP_VALUE;
	add(t, "a", &first);
	settle(t->keys);
	expect_next(test, "a", "\x02");
}

struct bad {
	struct kwq_key_options options;
	size_t len;
	int err;
};

static void wrong_arguments_are_refused(struct kunit *test)
{
	static const char bytes[KWQ_KEY_MAX];
	static const struct bad bads[] = {
		{ {}, 0, -EINVAL },
		{ {}, KWQ_KEY_MAX + 1, -EMSGSIZE },
		{ {}, SIZE_MAX, -EMSGSIZE },
		{ { .flags = KWQ_ADD_NOTE }, 1, -EINVAL },
		{ { .flags = KWQ_ADD_TOKEN }, 1, -EINVAL },
		{ { .flags = BIT(31) }, 1, -EINVAL },
		{ { .time = 1 }, 1, -EINVAL },
		{ { .priority = 1 }, 1, -EINVAL },
		{ { .flags = KWQ_ADD_PRIORITY, .priority = 32 }, 1, -EINVAL },
		{ { .at_most = 1 }, 1, -EINVAL },
		{ { .group = bytes, .group_len = 1 }, 1, -EINVAL },
		{ { .value = bytes, .value_len = 1 }, 1, -EINVAL },
		{ { .flags = KWQ_ADD_KEEP_VALUE }, 1, -EINVAL },
		{ { .is_set = true }, 1, -EINVAL },
		{ { .flags = KWQ_ADD_VALUE, .is_set = true }, 1, -EINVAL },
		{ { .flags = KWQ_ADD_VALUE | KWQ_ADD_KEEP_VALUE, .value = bytes, .value_len = 1,
		    .is_set = true }, 1, -EINVAL },
		{ { .flags = KWQ_ADD_VALUE, .value = bytes, .value_len = KWQ_SET_MAX + 1,
		    .is_set = true }, 1, -EMSGSIZE },
		{ { .flags = KWQ_ADD_VALUE, .value = bytes, .value_len = KWQ_VALUE_MAX + 1 },
		  1, -EMSGSIZE },
		/* Such a value needs a caller that may sleep. */
		{ { .flags = KWQ_ADD_VALUE, .value = bytes, .value_len = KWQ_POSTED_BYTES_MAX },
		  1, -EMSGSIZE },
	};
	struct producer_test *t = test->priv;
	int i;

	for (i = 0; i < ARRAY_SIZE(bads); i++)
		KUNIT_EXPECT_EQ_MSG(test, bads[i].err,
				    kwq_add_key(t->keys, bytes, bads[i].len, &bads[i].options),
				    "arguments %d", i);
	KUNIT_EXPECT_EQ(test, t->keys->head, 0);
	expect_refused(test, ARRAY_SIZE(bads));
	expect_nothing(test);
}

/* ---- The ring ------------------------------------------------------------- */

static void full_ring_refuses(struct kunit *test)
{
	struct producer_test *t = test->priv;
	struct kwq_record *record = interrupt_writer(test);
	long nr = 0;
	char key[8];
	int ret;

	do {
		snprintf(key, sizeof(key), "%ld", nr++);
		ret = add(t, key, NULL);
	} while (ret == KWQ_POSTED && nr < 10000);
	nr--;
	KUNIT_EXPECT_EQ(test, ret, -ENOBUFS);
	KUNIT_EXPECT_GT(test, nr, 2000);
	KUNIT_EXPECT_LE(test, t->keys->head - t->keys->tail, KWQ_RING_BYTES);
	expect_refused(test, 1);
	settle(t->keys);
	expect_nothing(test);
	/* Whoever may sleep needs no place. */
	KUNIT_EXPECT_EQ(test, add(t, "s", &(struct kwq_key_options){ .may_sleep = true }), 0);

	continue_writer(t, record);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.adds, nr + 1);
	KUNIT_EXPECT_EQ(test, t->keys->head, t->keys->tail);
	expect_next(test, "s", "");
	expect_next(test, "0", "");
	KUNIT_EXPECT_EQ(test, add(t, "again", NULL), KWQ_POSTED);
	settle(t->keys);
	expect_refused(test, 1);
}

/* Fills the ring with keys of one length, from any place in it, and empties it again. */
static void fill_and_empty(struct kunit *test, u32 len)
{
	struct producer_test *t = test->priv;
	struct kwq_record *record = interrupt_writer(test);
	static u8 key[KWQ_KEY_MAX];
	u32 nr = 0, i;
	int ret;

	for (;;) {
		memset(key, nr + 1, len);
		ret = kwq_add_key(t->keys, key, len, NULL);
		if (ret != KWQ_POSTED)
			break;
		nr++;
	}
	KUNIT_EXPECT_EQ(test, ret, -ENOBUFS);
	continue_writer(t, record);
	KUNIT_EXPECT_EQ(test, t->keys->head, t->keys->tail);
	KUNIT_EXPECT_NULL(test, memchr_inv(t->keys->ring, 0, KWQ_RING_BYTES));
	for (i = 0; i < nr; i++) {
		KUNIT_ASSERT_EQ(test, get(t), 1);
		KUNIT_ASSERT_EQ(test, t->got.key_len, len);
		KUNIT_ASSERT_EQ(test, t->key[0], (u8)(i + 1));
		KUNIT_ASSERT_EQ(test, t->key[len - 1], (u8)(i + 1));
		done(test);
	}
	expect_nothing(test);
}

static void records_go_round_the_ring(struct kunit *test)
{
	static const u32 lens[] = { 4096, 1001, 4091, 300, 2050, 3333, 500 };
	int i;

	for (i = 0; i < 5 * ARRAY_SIZE(lens); i++)
		fill_and_empty(test, lens[i % ARRAY_SIZE(lens)] - i / ARRAY_SIZE(lens));
}

static void counters_of_the_ring_wrap(struct kunit *test)
{
	struct producer_test *t = test->priv;

	t->keys->head = -(unsigned long)(KWQ_RING_BYTES / 2);
	t->keys->tail = t->keys->head;
	fill_and_empty(test, 1000);
	KUNIT_EXPECT_LT(test, t->keys->head, KWQ_RING_BYTES);
}

static void interrupted_writer_delays_later_ones(struct kunit *test)
{
	struct producer_test *t = test->priv;
	struct kwq_record *record;

	add(t, "a", NULL);
	record = interrupt_writer(test);
	KUNIT_EXPECT_EQ(test, add(t, "b", NULL), KWQ_POSTED);
	settle(t->keys);
	expect_next(test, "a", "");
	expect_nothing(test);
	continue_writer(t, record);
	expect_next(test, "b", "");
	expect_nothing(test);
}

static void worker_is_called_once(struct kunit *test)
{
	struct producer_test *t = test->priv;

	KUNIT_EXPECT_FALSE(test, t->keys->is_called);
	add(t, "a", NULL);
	settle(t->keys);
	/* The worker has cleared it, so the next writer calls again. */
	KUNIT_EXPECT_FALSE(test, t->keys->is_called);
	add(t, "b", NULL);
	settle(t->keys);
	expect_next(test, "a", "");
	expect_next(test, "b", "");
}

static void put_carries_out_what_is_posted(struct kunit *test)
{
	struct producer_test *t = test->priv;

	add(t, "a", NULL);
	add(t, "b", NULL);
	kwq_key_queue_put(t->keys);
	t->keys = NULL;
	expect_next(test, "a", "");
	expect_next(test, "b", "");
	expect_nothing(test);
	expect_refused(test, 0);
}

/* ---- Contexts and threads ------------------------------------------------- */

struct visit {
	struct irq_work work;
	struct producer_test *t;
	int first;
	int second;
};

static void add_in_interrupt(struct irq_work *work)
{
	struct visit *visit = container_of(work, struct visit, work);
	unsigned long flags;

	visit->first = add(visit->t, "a", NULL);
	raw_local_irq_save(flags);
	visit->second = add(visit->t, "b", &(struct kwq_key_options){ .flags = KWQ_ADD_VALUE });
	raw_local_irq_restore(flags);
}

static void interrupt_adds(struct kunit *test)
{
	struct producer_test *t = test->priv;
	struct visit visit = { .t = t };

	visit.work = IRQ_WORK_INIT_HARD(add_in_interrupt);
	irq_work_queue(&visit.work);
	irq_work_sync(&visit.work);
	KUNIT_EXPECT_EQ(test, visit.first, KWQ_POSTED);
	KUNIT_EXPECT_EQ(test, visit.second, KWQ_POSTED);
	settle(t->keys);
	expect_next(test, "a", "");
	expect_next(test, "b", "");
}

/* A thread that adds, with what its adds returned. */
struct adder {
	struct kwq_test_thread thread;
	struct producer_test *t;
	u32 seed;
	u64 nr;
	u64 refused;
};

static void add_many(void *data)
{
	struct adder *a = data;
	struct kwq_key_options options;
	char key[200] = {};
	u32 n, x = a->seed;

	for (n = 0; n < NR_ADDS; n++) {
		x = x * 1664525 + 1013904223;
		options = (struct kwq_key_options){ .may_sleep = x >> 28 == 1 };
		if (x >> 30 == 1) {
			options.flags = KWQ_ADD_VALUE;
			options.value = key;
			options.value_len = x >> 24 & 31;
		}
		snprintf(key, sizeof(key), "%0*u", (int)(x >> 21 & 127) + 1, (x >> 8) % NR_KEYS);
		a->refused += kwq_add_key(a->t->keys, key, strlen(key),
					  x >> 31 ? NULL : &options) < 0;
		a->nr++;
		if (!(x >> 16 & 63))
			cond_resched();
	}
}

static void every_add_is_counted_once(struct kunit *test)
{
	struct producer_test *t = test->priv;
	struct adder *adders = kunit_kcalloc(test, NR_THREADS, sizeof(*adders), GFP_KERNEL);
	u64 nr = 0, refused = 0;
	int i, n;

	KUNIT_ASSERT_NOT_NULL(test, adders);
	for (i = 0; i < NR_THREADS; i++) {
		adders[i].t = t;
		adders[i].seed = i + 1;
		kwq_test_thread_start(test, &adders[i].thread, add_many, &adders[i]);
	}
	/* Some keys are processing, and some are new again. */
	for (n = 0; n < NR_ADDS; n++) {
		if (get(t) == 1) {
			drop_value(t);
			if (n % 4)
				done(test);
		}
		cond_resched();
	}
	for (i = 0; i < NR_THREADS; i++) {
		kwq_test_thread_join(test, &adders[i].thread);
		nr += adders[i].nr;
		refused += adders[i].refused;
	}
	settle(t->keys);
	KUNIT_EXPECT_EQ(test, nr, NR_THREADS * NR_ADDS);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.adds + t->keyed->of_core.coalesced + refused, nr);
	expect_refused(test, refused);
	KUNIT_EXPECT_EQ(test, t->keys->head, t->keys->tail);
	KUNIT_EXPECT_NULL(test, memchr_inv(t->keys->ring, 0, KWQ_RING_BYTES));
}

/* ---- Queues that end ------------------------------------------------------ */

static void hold_is_no_handle(struct kunit *test)
{
	struct producer_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, t->keyed->nr_handles, 1);
	kwq_key_queue_put(t->keys);
	t->keys = NULL;
	KUNIT_EXPECT_EQ(test, t->keyed->nr_handles, 1);
}

static void queue_without_handles_is_gone(struct kunit *test)
{
	static const struct kwq_key_options now = { .may_sleep = true };
	struct producer_test *t = test->priv;
	struct kwq_record *record = interrupt_writer(test);

	KUNIT_EXPECT_EQ(test, add(t, "a", NULL), KWQ_POSTED);
	kwq_handle_close(t->handle);
	t->handle = NULL;
	KUNIT_EXPECT_EQ(test, add(t, "b", NULL), -ENOENT);
	KUNIT_EXPECT_EQ(test, add(t, "b", &now), -ENOENT);
	/* Nobody would get it. */
	continue_writer(t, record);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 0);
	expect_refused(test, 3);
	t->handle = kwq_handle_open(t->keyed, KWQ_RIGHT_READ);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->handle);
	KUNIT_EXPECT_EQ(test, add(t, "b", NULL), KWQ_POSTED);
}

/* Becomes a user without capabilities. Ends by undo_user(). */
static const struct cred *become_alice(struct kunit *test, struct cred **cred)
{
	*cred = prepare_creds();
	KUNIT_ASSERT_NOT_NULL(test, *cred);
	(*cred)->fsuid = KUIDT_INIT(ALICE);
	(*cred)->cap_effective = CAP_EMPTY_SET;
	return override_creds(*cred);
}

static void undo_user(const struct cred *old, struct cred *cred)
{
	revert_creds(old);
	put_cred(cred);
}

static void mode_of_a_queue_decides(struct kunit *test)
{
	static const char name[] = "kwq-producer-test";
	struct kwq_keyed *keyed = kwq_keyed_create(name, KWQ_CLOCK_MANUAL, &roomy);
	struct kwq_key_queue *keys;
	const struct cred *old;
	struct cred *cred;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, keyed);
	keyed->mode = 0640;
	KUNIT_EXPECT_EQ(test, kwq_names_add(keyed), 0);
	old = become_alice(test, &cred);
	KUNIT_EXPECT_EQ(test, PTR_ERR(kwq_key_queue_get_by_name(name)), -EACCES);
	keyed->mode = 0620;
	keys = kwq_key_queue_get_by_name(name);
	undo_user(old, cred);
	KUNIT_EXPECT_FALSE(test, IS_ERR(keys));
	if (!IS_ERR(keys))
		kwq_key_queue_put(keys);
	KUNIT_EXPECT_EQ(test, kwq_names_unlink(name), 0);
	kwq_keyed_put(keyed);
}

static void queue_with_a_name_stays(struct kunit *test)
{
	static const char name[] = "kwq-producer-test";
	struct producer_test *t = test->priv;
	struct kwq_key_queue *keys;
	struct kwq_keyed *keyed;

	KUNIT_EXPECT_EQ(test, PTR_ERR(kwq_key_queue_get_by_name(name)), -ENOENT);
	KUNIT_EXPECT_EQ(test, PTR_ERR(kwq_key_queue_get_by_name("")), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(kwq_key_queue_get_by_name("a/b")), -EINVAL);
	keyed = kwq_keyed_create(name, KWQ_CLOCK_MANUAL, &roomy);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, keyed);
	keyed->mode = 0600;
	KUNIT_EXPECT_EQ(test, kwq_names_add(keyed), 0);
	kwq_key_queue_put(t->keys);
	keys = kwq_key_queue_get_by_name(name);
	t->keys = NULL;
	if (IS_ERR(keys)) {
		KUNIT_FAIL(test, "no queue: %ld", PTR_ERR(keys));
	} else {
		KUNIT_EXPECT_EQ(test, kwq_add_key(keys, "a", 1, NULL), KWQ_POSTED);
		settle(keys);
		KUNIT_EXPECT_EQ(test, keyed->nr_items, 1);
		KUNIT_EXPECT_EQ(test, kwq_names_unlink(name), 0);
		KUNIT_EXPECT_EQ(test, kwq_add_key(keys, "b", 1, NULL), -ENOENT);
		kwq_key_queue_put(keys);
	}
	kwq_keyed_put(keyed);
}

static void shut_down_refuses(struct kunit *test)
{
	struct producer_test *t = test->priv;
	struct kwq_record *record;

	add(t, "a", NULL);
	settle(t->keys);
	record = interrupt_writer(test);
	KUNIT_EXPECT_EQ(test, add(t, "b", NULL), KWQ_POSTED);
	kwq_keyed_shut_down(t->keyed);
	KUNIT_EXPECT_EQ(test, add(t, "a", NULL), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, add(t, "c", &(struct kwq_key_options){ .may_sleep = true }),
			-ESHUTDOWN);
	continue_writer(t, record);
	expect_refused(test, 3);
	expect_next(test, "a", "");
	done(test);
	KUNIT_EXPECT_EQ(test, get(t), -ESHUTDOWN);
}

/* ---- Rights, limits and quotas -------------------------------------------- */

static void outbox_gets_the_adds(struct kunit *test)
{
	struct producer_test *t = test->priv;
	struct kwq_keyed *front = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &roomy);
	struct kwq_record *record;
	struct kwq_handle *handle;
	struct kwq_key_queue *keys;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, front);
	KUNIT_EXPECT_EQ(test, kwq_keyed_set_outbox(front, t->keyed, KWQ_RIGHT_WRITE), 0);
	handle = kwq_handle_open(front, KWQ_RIGHT_READ);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, handle);
	kwq_key_queue_put(t->keys);
	keys = kwq_key_queue_open(front, KWQ_RIGHT_WRITE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, keys);
	t->keys = keys;
	/* That of @t and that of @handle. */
	KUNIT_EXPECT_EQ(test, t->keyed->nr_handles, 2);

	KUNIT_EXPECT_EQ(test, add(t, "a", NULL), KWQ_POSTED);
	settle(keys);
	KUNIT_EXPECT_EQ(test, add(t, "a", NULL), KWQ_COALESCED);
	expect_next(test, "a", "");
	KUNIT_EXPECT_EQ(test, front->nr_items, 0);
	/* Q8 */
	record = interrupt_writer(test);
	KUNIT_EXPECT_EQ(test, add(t, "b", NULL), KWQ_POSTED);
	kwq_keyed_shut_down(front);
	KUNIT_EXPECT_EQ(test, add(t, "b", NULL), -ESHUTDOWN);
	continue_writer(t, record);
	expect_nothing(test);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&front->refused), 2);
	kwq_handle_close(handle);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_handles, 1);
	KUNIT_EXPECT_EQ(test, add(t, "b", NULL), -ENOENT);
	kwq_key_queue_put(keys);
	t->keys = NULL;
	KUNIT_EXPECT_EQ(test, t->keyed->nr_handles, 1);
	kwq_keyed_put(front);
}

static void rights_do_not_widen(struct kunit *test)
{
	struct producer_test *t = test->priv;
	struct kwq_keyed *front;
	struct kwq_handle *handle;

	KUNIT_EXPECT_EQ(test, PTR_ERR(kwq_key_queue_open(t->keyed, KWQ_RIGHT_READ)), -EBADF);
	KUNIT_EXPECT_EQ(test, PTR_ERR(kwq_key_queue_open(t->keyed, KWQ_RIGHT_MANAGE)), -EBADF);
	KUNIT_EXPECT_EQ(test, PTR_ERR(kwq_key_queue_get(-1)), -EBADF);

	/* A queue whose outbox others may write to. */
	front = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &roomy);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, front);
	KUNIT_EXPECT_EQ(test, kwq_keyed_set_outbox(front, t->keyed, KWQ_RIGHT_WRITE), 0);
	KUNIT_EXPECT_EQ(test, PTR_ERR(kwq_key_queue_open(front, KWQ_RIGHT_READ)), -EBADF);
	kwq_keyed_put(front);

	/* One whose outbox its maker may only read. */
	front = kwq_keyed_create("", KWQ_CLOCK_MANUAL, &roomy);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, front);
	KUNIT_EXPECT_EQ(test, kwq_keyed_set_outbox(front, t->keyed, KWQ_RIGHT_READ), 0);
	KUNIT_EXPECT_EQ(test, PTR_ERR(kwq_key_queue_open(front, KWQ_RIGHT_WRITE)), -EBADF);
	/* Refused ones have left nothing. */
	KUNIT_EXPECT_EQ(test, t->keyed->nr_handles, 1);
	KUNIT_EXPECT_EQ(test, front->nr_handles, 0);
	handle = kwq_handle_open(front, KWQ_RIGHT_WRITE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, handle);
	kwq_handle_close(handle);
	kwq_keyed_put(front);
}

static void limits_of_the_queue_refuse(struct kunit *test)
{
	static const struct kwq_limits narrow = { .max_items = 1, .max_bytes = U32_MAX };
	static const struct kwq_key_options value = { .flags = KWQ_ADD_VALUE };
	struct kwq_key_options group = { .flags = KWQ_ADD_GROUP, .may_sleep = true };
	struct producer_test *t = test->priv;

	make(test, &narrow);
	KUNIT_EXPECT_EQ(test, add(t, "a", NULL), KWQ_POSTED);
	KUNIT_EXPECT_EQ(test, add(t, "b", NULL), KWQ_POSTED);
	settle(t->keys);
	expect_refused(test, 1);
	KUNIT_EXPECT_EQ(test, add(t, "b", &(struct kwq_key_options){ .may_sleep = true }),
			-ENOSPC);
	/* The queue has neither values nor groups. */
	KUNIT_EXPECT_EQ(test, add(t, "a", &value), KWQ_POSTED);
	KUNIT_EXPECT_EQ(test, add(t, "a", &group), -EOPNOTSUPP);
	settle(t->keys);
	expect_refused(test, 4);
	expect_next(test, "a", "");
	expect_nothing(test);
}

static void quota_of_the_owner_refuses(struct kunit *test)
{
	const unsigned long before = kwq_max_user_bytes;
	struct producer_test *t = test->priv;
	struct kwq_quota *quota;

	kwq_test_count_as(t->keyed, KWQ_QUOTA_QUEUES);
	quota = t->keyed->quota;
	add(t, "a", NULL);
	settle(t->keys);
	WRITE_ONCE(kwq_max_user_bytes, atomic64_read(&quota->bytes));
	KUNIT_EXPECT_EQ(test, add(t, "b", NULL), KWQ_POSTED);
	KUNIT_EXPECT_EQ(test, add(t, "c", &(struct kwq_key_options){ .may_sleep = true }),
			-EDQUOT);
	settle(t->keys);
	expect_refused(test, 2);
	WRITE_ONCE(kwq_max_user_bytes, before);
	KUNIT_EXPECT_EQ(test, add(t, "b", NULL), KWQ_POSTED);
	settle(t->keys);
	expect_refused(test, 2);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 2);
}

/* O9: the ring counts for who asked for it, until it is free. */
static void ring_counts_in_a_quota(struct kunit *test)
{
	struct producer_test *t = test->priv;
	struct kwq_key_options value = {
		.flags = KWQ_ADD_VALUE,
		.value = "value",
		.value_len = 5,
	};
	struct kwq_key_queue *keys[20];
	const struct cred *old;
	struct kwq_quota *quota;
	struct cred *cred;
	s64 bytes;
	int nr;

	old = become_alice(test, &cred);
	quota = kwq_quota_get(current_user_ns(), current_fsuid(), KWQ_QUOTA_CALLS);
	bytes = atomic64_read(&quota->bytes);
	for (nr = 0; nr < ARRAY_SIZE(keys); nr++) {
		keys[nr] = kwq_key_queue_open(t->keyed, KWQ_RIGHT_WRITE);
		if (IS_ERR(keys[nr]))
			break;
	}
	undo_user(old, cred);

	KUNIT_EXPECT_GT(test, nr, 1);
	KUNIT_EXPECT_EQ(test, atomic64_read(&quota->bytes), bytes + nr * KWQ_RING_BYTES);
	while (nr--) {
		/* Its value counts there, too, until the put has carried it out. */
		if (!nr)
			kwq_add_key(keys[0], "a", 1, &value);
		kwq_key_queue_put(keys[nr]);
		KUNIT_EXPECT_EQ(test, atomic64_read(&quota->bytes), bytes + nr * KWQ_RING_BYTES);
	}
	kwq_quota_put(quota);
	expect_next(test, "a", "value");
}

static struct kunit_case producer_cases[] = {
	KUNIT_CASE(new_key_is_posted),
	KUNIT_CASE(dirty_key_coalesces_at_once),
	KUNIT_CASE(add_under_the_lock_is_posted),
	KUNIT_CASE(add_of_a_waiting_key_is_no_coalescing),
	KUNIT_CASE(sleeper_learns_the_result),
	KUNIT_CASE(follower_learns_of_an_add_that_coalesced),
	KUNIT_CASE(options_are_found_behind_keys_of_any_length),
	KUNIT_CASE(delay_and_priority_of_an_add),
	KUNIT_CASE(bits_accumulate_until_the_key_is_done),
	KUNIT_CASE(value_that_is_no_set_is_replaced),
	KUNIT_CASE(wrong_arguments_are_refused),
	KUNIT_CASE(full_ring_refuses),
	KUNIT_CASE(records_go_round_the_ring),
	KUNIT_CASE(counters_of_the_ring_wrap),
	KUNIT_CASE(interrupted_writer_delays_later_ones),
	KUNIT_CASE(worker_is_called_once),
	KUNIT_CASE(put_carries_out_what_is_posted),
	KUNIT_CASE(interrupt_adds),
	KUNIT_CASE_SLOW(every_add_is_counted_once),
	KUNIT_CASE(hold_is_no_handle),
	KUNIT_CASE(queue_without_handles_is_gone),
	KUNIT_CASE(mode_of_a_queue_decides),
	KUNIT_CASE(queue_with_a_name_stays),
	KUNIT_CASE(shut_down_refuses),
	KUNIT_CASE(outbox_gets_the_adds),
	KUNIT_CASE(rights_do_not_widen),
	KUNIT_CASE(limits_of_the_queue_refuse),
	KUNIT_CASE(quota_of_the_owner_refuses),
	KUNIT_CASE(ring_counts_in_a_quota),
	{}
};

static struct kunit_suite producer_suite = {
	.name = "kwq-keyed-producer",
	.init = producer_test_init,
	.exit = producer_test_exit,
	.test_cases = producer_cases,
};

kunit_test_suite(producer_suite);

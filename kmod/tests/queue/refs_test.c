// SPDX-License-Identifier: GPL-2.0-only
/*
 * References that a queue owns (K5): one for each item that is not idle, whatever the way
 * out of idle and back. The memory of an object is poisoned at its last put, so that a later
 * access shows, with KASAN even a read.
 */
#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/container_of.h>
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/kwq.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/prandom.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include "queue/queue.h"
#include "queue/workers.h"
#include "tests/form.h"
#include "tests/thread.h"

#define POISON	0x6b
#define NR_KEPT	64

/*
 * A queue that owns references
 * @gets: number of calls of get
 * @puts: number of calls of put
 * @live: objects that are not freed
 * @wrong: calls of get and put that were wrong: twice, or with a lock, or without it
 * @in_put: called by put before it drops the reference; may be NULL
 * @found: result of @in_put
 * @crowded: several threads use the items
 * @destroyed: the case has destroyed the queue
 * @kept: freed objects, without KASAN, to see that nobody writes to them
 * @verdict: the handler's result
 * @object: the object of this case
 */
struct refs_test {
	KWQ_TEST_QUEUE;
	atomic_t gets;
	atomic_t puts;
	atomic_t live;
	atomic_t wrong;
	void (*in_put)(struct refs_test *t, struct kwq_item *item);
	int found;
	bool crowded;
	bool destroyed;
	void *kept[NR_KEPT];
	atomic_t nr_kept;
	struct kwq_result verdict;
	struct completion entered;
	struct completion leave;
	struct kwq_test_thread thread;
	struct object *object;
	int result;
};

/*
 * @refs: references of all owners
 * @owned: references of the queue: 0 or 1. With several threads, one more per put that comes
 *	after the next get
 */
struct object {
	struct kwq_item item;
	struct refs_test *t;
	refcount_t refs;
	atomic_t owned;
	u32 runs;
};

static struct object *object_of(struct kwq_item *item)
{
	return container_of(item, struct object, item);
}

static void drop(struct object *object)
{
	struct refs_test *t = object->t;
	int n;

	if (!refcount_dec_and_test(&object->refs))
		return;
	if (atomic_read(&object->owned))
		atomic_inc(&t->wrong);
	memset(object, POISON, sizeof(*object));
	atomic_dec(&t->live);
	n = IS_ENABLED(CONFIG_KASAN) ? NR_KEPT : atomic_inc_return(&t->nr_kept) - 1;
	if (n < NR_KEPT)
		t->kept[n] = object;
	else
		kfree(object);
}

/* Interrupts are off under the lock, except on PREEMPT_RT. There only lockdep sees a mistake. */
static bool holds_a_lock(void)
{
	return irqs_disabled();
}

static void get_object(struct kwq_item *item)
{
	struct object *object = object_of(item);
	struct refs_test *t = object->t;

	lockdep_assert_held(&t->queue.lock);
	if (atomic_inc_return(&object->owned) != 1 && !t->crowded)
		atomic_inc(&t->wrong);
	if (!IS_ENABLED(CONFIG_PREEMPT_RT) && !holds_a_lock())
		atomic_inc(&t->wrong);
	atomic_inc(&t->gets);
	refcount_inc(&object->refs);
}

static void put_object(struct kwq_item *item)
{
	struct object *object = object_of(item);
	struct refs_test *t = object->t;
	int left;

	if (holds_a_lock())
		atomic_inc(&t->wrong);
	else
		kwq_len(&t->queue);	/* takes the lock */
	left = atomic_dec_return(&object->owned);
	if (left < 0 || (left && !t->crowded))
		atomic_inc(&t->wrong);
	atomic_inc(&t->puts);
	if (t->in_put)
		t->in_put(t, item);
	drop(object);
}

static const struct kwq_ref_ops ref_ops = { .get = get_object, .put = put_object };

/* A new object has one reference, of the test. */
static struct object *make(struct refs_test *t)
{
	struct object *object = kzalloc(sizeof(*object), GFP_KERNEL);

	if (!object)
		return NULL;
	kwq_item_init(&object->item);
	object->t = t;
	refcount_set(&object->refs, 1);
	atomic_inc(&t->live);
	return object;
}

static int refs_test_init(struct kunit *test)
{
	struct refs_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	kwq_test_queue_init(&t->queue, "test", KWQ_CLOCK_MANUAL);
	init_completion(&t->entered);
	init_completion(&t->leave);
	test->priv = t;
	KUNIT_ASSERT_EQ(test, kwq_queue_own_references(&t->queue, &ref_ops), 0);
	t->object = make(t);
	KUNIT_ASSERT_NOT_NULL(test, t->object);
	return 0;
}

static void refs_test_exit(struct kunit *test)
{
	struct refs_test *t = test->priv;
	int i;

	if (!t)
		return;
	complete_all(&t->leave);
	if (!t->destroyed)
		kwq_queue_destroy(&t->queue);
	for (i = 0; i < NR_KEPT && t->kept[i]; i++) {
		KUNIT_EXPECT_NULL(test, memchr_inv(t->kept[i], POISON, sizeof(struct object)));
		kfree(t->kept[i]);
	}
}

static void expect_counts(struct kunit *test, int gets, int puts)
{
	struct refs_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, atomic_read(&t->gets), gets);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->puts), puts);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->wrong), 0);
}

static void destroy(struct kunit *test)
{
	struct refs_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, kwq_queue_destroy(&t->queue), 0);
	t->destroyed = true;
}

/* Every object is freed, and nothing is owed. */
static void expect_end(struct kunit *test)
{
	struct refs_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, atomic_read(&t->gets), atomic_read(&t->puts));
	KUNIT_EXPECT_EQ(test, atomic_read(&t->wrong), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->live), 0);
}

/* ---- The setting ---- */

static void references_are_owned_from_the_start(struct kunit *test)
{
	static const struct kwq_ref_ops no_get = { .put = put_object };
	static const struct kwq_ref_ops no_put = { .get = get_object };
	struct refs_test *t = test->priv;
	struct kwq_queue *other = kwq_test_queue_alloc(test);
	struct kwq_item item;

	KUNIT_ASSERT_NOT_NULL(test, other);
	/* K5: once, and only while no item is in use */
	KUNIT_EXPECT_EQ(test, kwq_queue_own_references(&t->queue, &ref_ops), -EBUSY);
	kwq_test_queue_init(other, "other", KWQ_CLOCK_MANUAL);
	KUNIT_EXPECT_EQ(test, kwq_queue_own_references(other, &no_get), -EINVAL);
	KUNIT_EXPECT_EQ(test, kwq_queue_own_references(other, &no_put), -EINVAL);
	kwq_item_init(&item);
	kwq_add(other, &item);
	KUNIT_EXPECT_EQ(test, kwq_queue_own_references(other, &ref_ops), -EBUSY);
	kwq_try_get(other);
	KUNIT_EXPECT_EQ(test, kwq_queue_own_references(other, &ref_ops), -EBUSY);
	kwq_done(other, &item);
	kwq_add_after(other, &item, 10);
	KUNIT_EXPECT_EQ(test, kwq_queue_own_references(other, &ref_ops), -EBUSY);
	kwq_remove(other, &item);
	item.requeues = 1;
	kwq_configure(other, &(struct kwq_limiter_config){ .dead_after = 1 });
	KUNIT_EXPECT_EQ(test, kwq_add_rate_limited(other, &item), KWQ_DEAD);
	KUNIT_EXPECT_EQ(test, kwq_queue_own_references(other, &ref_ops), -EBUSY);
	kwq_remove(other, &item);
	KUNIT_EXPECT_EQ(test, kwq_queue_own_references(other, &ref_ops), 0);
	kwq_queue_destroy(other);
	drop(t->object);
	expect_end(test);
}

/* ---- Ways out of idle ---- */

static int add_at_once(struct refs_test *t, struct kwq_item *item)
{
	return kwq_add(&t->queue, item);
}

static int add_after(struct refs_test *t, struct kwq_item *item)
{
	return kwq_add_after(&t->queue, item, 10);
}

static int add_after_nothing(struct refs_test *t, struct kwq_item *item)
{
	return kwq_add_after(&t->queue, item, 0);
}

static int add_with_priority(struct refs_test *t, struct kwq_item *item)
{
	return kwq_add_with(&t->queue, item, &(struct kwq_add_options){
		.flags = KWQ_ADD_PRIORITY,
		.priority = kwq_test_form == KWQ_LARGE ? 3 : 0,
	});
}

static int add_at_a_time(struct refs_test *t, struct kwq_item *item)
{
	return kwq_add_with(&t->queue, item, &(struct kwq_add_options){
		.flags = KWQ_ADD_AT | KWQ_ADD_REPLACE, .time = 10 });
}

static int add_rate_limited(struct refs_test *t, struct kwq_item *item)
{
	return kwq_add_rate_limited(&t->queue, item);
}

static int add_to_death(struct refs_test *t, struct kwq_item *item)
{
	item->requeues = 1;
	kwq_configure(&t->queue, &(struct kwq_limiter_config){ .dead_after = 1 });
	return kwq_add_rate_limited(&t->queue, item);
}

struct use {
	const char *name;
	int (*add)(struct refs_test *t, struct kwq_item *item);
	int ret;
};

static const struct use uses[] = {
	{ "add",		add_at_once,		KWQ_ADDED },
	{ "add after",		add_after,		KWQ_WAITING },
	{ "add after 0",	add_after_nothing,	KWQ_ADDED },
	{ "priority",		add_with_priority,	KWQ_ADDED },
	{ "time",		add_at_a_time,		KWQ_WAITING },
	{ "rate limited",	add_rate_limited,	KWQ_WAITING },
	{ "dead",		add_to_death,		KWQ_DEAD },
};

KUNIT_ARRAY_PARAM_DESC(use, uses, name);

static void item_in_use_has_one_reference(struct kunit *test)
{
	const struct use *use = test->param_value;
	struct refs_test *t = test->priv;
	struct kwq_item *item = &t->object->item;
	int i;

	/* K5: the first add takes a reference; adds of an item in use take none */
	KUNIT_EXPECT_EQ(test, use->add(t, item), use->ret);
	expect_counts(test, 1, 0);
	KUNIT_EXPECT_EQ(test, refcount_read(&t->object->refs), 2);
	for (i = 0; i < ARRAY_SIZE(uses); i++) {
		uses[i].add(t, item);
		expect_counts(test, 1, 0);
	}
	kwq_queue_advance(&t->queue, NSEC_PER_SEC);
	expect_counts(test, 1, 0);
	KUNIT_EXPECT_LT(test, 0, kwq_remove(&t->queue, item));
	expect_counts(test, 1, 1);
	KUNIT_EXPECT_EQ(test, kwq_remove(&t->queue, item), -ENOENT);
	KUNIT_EXPECT_EQ(test, kwq_done(&t->queue, item), -ENOENT);
	expect_counts(test, 1, 1);
	drop(t->object);
	expect_end(test);
}

static void refused_add_takes_no_reference(struct kunit *test)
{
	struct refs_test *t = test->priv;
	struct kwq_item *item = &t->object->item;
	int i;

	KUNIT_EXPECT_EQ(test, kwq_add_with(&t->queue, item, &(struct kwq_add_options){
				.flags = KWQ_ADD_KICK }), -ENOENT);
	KUNIT_EXPECT_EQ(test, kwq_disable_sync(&t->queue, item), 0);
	for (i = 0; i < ARRAY_SIZE(uses); i++)
		KUNIT_EXPECT_EQ(test, uses[i].add(t, item), -ESHUTDOWN);
	kwq_item_init(item);
	kwq_shut_down(&t->queue);
	for (i = 0; i < ARRAY_SIZE(uses); i++)
		KUNIT_EXPECT_EQ(test, uses[i].add(t, item), -ESHUTDOWN);
	expect_counts(test, 0, 0);
	drop(t->object);
	expect_end(test);
}

/* ---- Ways back to idle ---- */

/* From here on only the queue has a reference, so its put frees the object. */
static void add_last(struct kunit *test, struct refs_test *t,
		     int (*add)(struct refs_test *t, struct kwq_item *item))
{
	KUNIT_ASSERT_LE(test, 0, add(t, &t->object->item));
	drop(t->object);
	expect_counts(test, 1, 0);
	KUNIT_ASSERT_EQ(test, atomic_read(&t->live), 1);
}

static void get_it(struct kunit *test, struct refs_test *t)
{
	KUNIT_ASSERT_PTR_EQ(test, kwq_try_get(&t->queue), &t->object->item);
	expect_counts(test, 1, 0);
}

static void end_by_done(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_at_once);
	get_it(test, t);
	KUNIT_EXPECT_EQ(test, kwq_done(&t->queue, &t->object->item), KWQ_FINISHED);
}

static void end_by_second_done(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_at_once);
	get_it(test, t);
	kwq_add(&t->queue, &t->object->item);
	KUNIT_EXPECT_EQ(test, kwq_done(&t->queue, &t->object->item), KWQ_REQUEUED);
	expect_counts(test, 1, 0);
	get_it(test, t);
	KUNIT_EXPECT_EQ(test, kwq_done(&t->queue, &t->object->item), KWQ_FINISHED);
}

static void end_by_done_of_awaited(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_at_once);
	get_it(test, t);
	kwq_add_after(&t->queue, &t->object->item, 10);
	KUNIT_EXPECT_EQ(test, kwq_done(&t->queue, &t->object->item), KWQ_STILL_WAITING);
	expect_counts(test, 1, 0);
	kwq_queue_advance(&t->queue, 10);
	get_it(test, t);
	KUNIT_EXPECT_EQ(test, kwq_done(&t->queue, &t->object->item), KWQ_FINISHED);
}

static void end_by_done_and_get(struct kunit *test, struct refs_test *t)
{
	struct kwq_item *item;

	add_last(test, t, add_at_once);
	get_it(test, t);
	item = kwq_done_and_get(&t->queue, &t->object->item, 0);
	KUNIT_EXPECT_PTR_EQ(test, item, (struct kwq_item *)ERR_PTR(-ETIMEDOUT));
}

/* L11: the queue keeps its reference to a dead item. */
static void end_by_remove_of_buried(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_at_once);
	get_it(test, t);
	KUNIT_EXPECT_EQ(test, kwq_bury(&t->queue, &t->object->item), KWQ_BURIED);
	expect_counts(test, 1, 0);
	KUNIT_EXPECT_EQ(test, kwq_remove(&t->queue, &t->object->item), KWQ_WAS_DEAD);
}

static void end_by_bury_after_shut_down(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_at_once);
	get_it(test, t);
	kwq_shut_down(&t->queue);
	KUNIT_EXPECT_EQ(test, kwq_bury(&t->queue, &t->object->item), KWQ_FINISHED);
}

/* O2: it needs its reference for the next run. */
static void end_after_give_back(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_at_once);
	get_it(test, t);
	KUNIT_EXPECT_EQ(test, kwq_give_back(&t->queue, &t->object->item), KWQ_RETURNED);
	expect_counts(test, 1, 0);
	get_it(test, t);
	KUNIT_EXPECT_EQ(test, kwq_done(&t->queue, &t->object->item), KWQ_FINISHED);
}

static void end_by_remove(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_at_once);
	KUNIT_EXPECT_EQ(test, kwq_remove(&t->queue, &t->object->item), KWQ_WAS_READY);
}

static void end_by_remove_of_waiting(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_after);
	KUNIT_EXPECT_EQ(test, kwq_remove(&t->queue, &t->object->item), KWQ_WAS_WAITING);
}

static void end_by_remove_of_dead(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_to_death);
	KUNIT_EXPECT_EQ(test, kwq_remove(&t->queue, &t->object->item), KWQ_WAS_DEAD);
}

static void end_by_revival(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_to_death);
	KUNIT_EXPECT_EQ(test, kwq_add(&t->queue, &t->object->item), KWQ_ADDED);
	get_it(test, t);
	KUNIT_EXPECT_EQ(test, kwq_done(&t->queue, &t->object->item), KWQ_FINISHED);
}

static void end_by_done_after_remove(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_at_once);
	get_it(test, t);
	kwq_add(&t->queue, &t->object->item);
	KUNIT_EXPECT_EQ(test, kwq_remove(&t->queue, &t->object->item),
			KWQ_WAS_PROCESSING | KWQ_WAS_DIRTY);
	expect_counts(test, 1, 0);
	KUNIT_EXPECT_EQ(test, kwq_done(&t->queue, &t->object->item), KWQ_FINISHED);
}

static void end_by_shut_down(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_after);
	kwq_shut_down(&t->queue);
}

static void end_by_shut_down_of_dead(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_to_death);
	kwq_shut_down(&t->queue);
}

static void end_by_done_after_shut_down(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_at_once);
	get_it(test, t);
	kwq_add_after(&t->queue, &t->object->item, 10);
	kwq_shut_down(&t->queue);
	expect_counts(test, 1, 0);
	KUNIT_EXPECT_EQ(test, kwq_done(&t->queue, &t->object->item), KWQ_FINISHED);
}

static void end_by_done_of_dying(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_at_once);
	get_it(test, t);
	KUNIT_EXPECT_EQ(test, add_to_death(t, &t->object->item), KWQ_DEAD);
	kwq_shut_down(&t->queue);
	expect_counts(test, 1, 0);
	KUNIT_EXPECT_EQ(test, kwq_done(&t->queue, &t->object->item), KWQ_FINISHED);
}

static void end_by_drain(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_after);
	KUNIT_EXPECT_EQ(test, kwq_shut_down_with_drain(&t->queue, KTIME_MAX), 0);
}

static void end_by_cancel_all(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_at_once);
	KUNIT_EXPECT_EQ(test, kwq_cancel_all_sync(&t->queue), 0);
}

static void end_by_cancel_all_of_waiting(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_after);
	KUNIT_EXPECT_EQ(test, kwq_cancel_all_sync(&t->queue), 0);
}

static void end_by_cancel_all_of_dead(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_to_death);
	KUNIT_EXPECT_EQ(test, kwq_cancel_all_sync(&t->queue), 0);
}

static void end_by_destroy(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_at_once);
	destroy(test);
}

static void end_by_destroy_of_waiting(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_after);
	destroy(test);
}

static void end_by_destroy_of_dead(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_to_death);
	destroy(test);
}

static void end_by_destroy_of_got(struct kunit *test, struct refs_test *t)
{
	add_last(test, t, add_at_once);
	get_it(test, t);
	kwq_add(&t->queue, &t->object->item);
	kwq_add_after(&t->queue, &t->object->item, 10);
	destroy(test);
}

struct end {
	const char *name;
	void (*end)(struct kunit *test, struct refs_test *t);
};

static const struct end ends[] = {
	{ "done",			end_by_done },
	{ "second done",		end_by_second_done },
	{ "done of awaited",		end_by_done_of_awaited },
	{ "done and get",		end_by_done_and_get },
	{ "remove of buried",		end_by_remove_of_buried },
	{ "bury after shut down",	end_by_bury_after_shut_down },
	{ "done after give back",	end_after_give_back },
	{ "remove",			end_by_remove },
	{ "remove of waiting",		end_by_remove_of_waiting },
	{ "remove of dead",		end_by_remove_of_dead },
	{ "revival",			end_by_revival },
	{ "done after remove",		end_by_done_after_remove },
	{ "shut down",			end_by_shut_down },
	{ "shut down of dead",		end_by_shut_down_of_dead },
	{ "done after shut down",	end_by_done_after_shut_down },
	{ "done of dying",		end_by_done_of_dying },
	{ "drain",			end_by_drain },
	{ "cancel all",			end_by_cancel_all },
	{ "cancel all of waiting",	end_by_cancel_all_of_waiting },
	{ "cancel all of dead",		end_by_cancel_all_of_dead },
	{ "destroy",			end_by_destroy },
	{ "destroy of waiting",		end_by_destroy_of_waiting },
	{ "destroy of dead",		end_by_destroy_of_dead },
	{ "destroy of got",		end_by_destroy_of_got },
};

KUNIT_ARRAY_PARAM_DESC(end, ends, name);

static void last_reference_is_dropped(struct kunit *test)
{
	const struct end *end = test->param_value;
	struct refs_test *t = test->priv;

	/* K5: whatever the way to idle, the queue's put frees the object */
	end->end(test, t);
	expect_counts(test, 1, 1);
	expect_end(test);
}

static void done_and_get_hands_out_the_next(struct kunit *test)
{
	struct refs_test *t = test->priv;
	struct object *next;

	add_last(test, t, add_at_once);
	get_it(test, t);
	next = make(t);
	KUNIT_ASSERT_NOT_NULL(test, next);
	kwq_add(&t->queue, &next->item);
	KUNIT_EXPECT_PTR_EQ(test, kwq_done_and_get(&t->queue, &t->object->item, 0), &next->item);
	expect_counts(test, 2, 1);
	KUNIT_EXPECT_EQ(test, kwq_done(&t->queue, &next->item), KWQ_FINISHED);
	drop(next);
	expect_end(test);
}

static void get_next_in_thread(void *data)
{
	struct refs_test *t = data;

	t->result = PTR_ERR(kwq_done_and_get(&t->queue, &t->object->item, KTIME_MAX));
}

static void no_reference_is_kept_asleep(struct kunit *test)
{
	struct refs_test *t = test->priv;

	/* K5: the put comes before the wait for the next item */
	add_last(test, t, add_at_once);
	get_it(test, t);
	kwq_test_thread_start(test, &t->thread, get_next_in_thread, t);
	kwq_test_wait_until(test, kwq_test_nr_sleepers(&t->queue.getters) == 1);
	expect_counts(test, 1, 1);
	kwq_shut_down(&t->queue);
	kwq_test_thread_join(test, &t->thread);
	KUNIT_EXPECT_EQ(test, t->result, -ESHUTDOWN);
	expect_end(test);
}

/* ---- Cancel ---- */

typedef int (*cancel_fn)(struct kwq_queue *queue, struct kwq_item *item);

static const struct cancel_kind {
	const char *name;
	cancel_fn cancel;
} cancel_kinds[] = {
	{ "cancel", kwq_cancel_sync },
	{ "disable", kwq_disable_sync },
};

KUNIT_ARRAY_PARAM_DESC(cancel_kind, cancel_kinds, name);

static void cancel_drops_the_reference(struct kunit *test)
{
	static const int order[] = { 0, 1, 6 };
	const struct cancel_kind *kind = test->param_value;
	struct refs_test *t = test->priv;
	struct kwq_item *item = &t->object->item;
	int i;

	/* K5 K8: ready, waiting, dead */
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		kwq_item_init(item);
		KUNIT_EXPECT_EQ(test, uses[order[i]].add(t, item), uses[order[i]].ret);
		expect_counts(test, i + 1, i);
		KUNIT_EXPECT_LT(test, 0, kind->cancel(&t->queue, item));
		expect_counts(test, i + 1, i + 1);
		KUNIT_EXPECT_EQ(test, kind->cancel(&t->queue, item), 0);
		expect_counts(test, i + 1, i + 1);
	}
	drop(t->object);
	expect_end(test);
}

static void cancel_in_thread(void *data)
{
	struct refs_test *t = data;

	t->result = kwq_cancel_sync(&t->queue, &t->object->item);
}

static void disable_in_thread(void *data)
{
	struct refs_test *t = data;

	t->result = kwq_disable_sync(&t->queue, &t->object->item);
}

static void cancelled_processing_keeps_its_reference(struct kunit *test)
{
	const struct cancel_kind *kind = test->param_value;
	struct refs_test *t = test->priv;
	struct kwq_item *item = &t->object->item;

	/* K5: not the cancel but the done makes it idle */
	kwq_add(&t->queue, item);
	get_it(test, t);
	kwq_add(&t->queue, item);
	kwq_test_thread_start(test, &t->thread,
			      kind->cancel == kwq_cancel_sync ? cancel_in_thread :
								disable_in_thread, t);
	kwq_test_wait_until(test, kwq_test_nr_drainers(&t->queue) == 1);
	expect_counts(test, 1, 0);
	KUNIT_EXPECT_EQ(test, kwq_done(&t->queue, item), KWQ_FINISHED);
	expect_counts(test, 1, 1);
	kwq_test_thread_join(test, &t->thread);
	KUNIT_EXPECT_EQ(test, t->result, KWQ_WAS_PROCESSING | KWQ_WAS_DIRTY);
	expect_counts(test, 1, 1);
	drop(t->object);
	expect_end(test);
}

/* ---- The put ---- */

static void add_again(struct refs_test *t, struct kwq_item *item)
{
	t->in_put = NULL;
	t->found = kwq_add(&t->queue, item);
}

static void put_may_add_the_item_again(struct kunit *test)
{
	struct refs_test *t = test->priv;

	/* K5: the queue takes a new reference before the old one is dropped */
	t->in_put = add_again;
	add_last(test, t, add_at_once);
	get_it(test, t);
	KUNIT_EXPECT_EQ(test, kwq_done(&t->queue, &t->object->item), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, t->found, KWQ_ADDED);
	expect_counts(test, 2, 1);
	KUNIT_ASSERT_EQ(test, atomic_read(&t->live), 1);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(&t->queue), &t->object->item);
	kwq_done(&t->queue, &t->object->item);
	expect_counts(test, 2, 2);
	expect_end(test);
}

static void cancel_it(struct refs_test *t, struct kwq_item *item)
{
	t->in_put = NULL;
	t->found = kwq_cancel_sync(&t->queue, item);
}

static void put_may_cancel_the_item(struct kunit *test)
{
	struct refs_test *t = test->priv;

	t->in_put = cancel_it;
	t->found = -1;
	add_last(test, t, add_after);
	KUNIT_EXPECT_EQ(test, kwq_remove(&t->queue, &t->object->item), KWQ_WAS_WAITING);
	KUNIT_EXPECT_EQ(test, t->found, 0);
	expect_counts(test, 1, 1);
	expect_end(test);
}

static void add_and_cancel_it(struct refs_test *t, struct kwq_item *item)
{
	t->in_put = NULL;
	kwq_add(&t->queue, item);
	t->found = kwq_cancel_sync(&t->queue, item);
}

static void put_within_a_put(struct kunit *test)
{
	struct refs_test *t = test->priv;

	/* The cancel drops the new reference, and the outer put the old one. */
	t->in_put = add_and_cancel_it;
	add_last(test, t, add_at_once);
	KUNIT_EXPECT_EQ(test, kwq_remove(&t->queue, &t->object->item), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, t->found, KWQ_WAS_READY);
	expect_counts(test, 2, 2);
	expect_end(test);
}

/* ---- Handlers ---- */

static struct kwq_result handle(struct kwq_queue *queue, struct kwq_item *item)
{
	struct refs_test *t = container_of(queue, struct refs_test, queue);

	complete(&t->entered);
	wait_for_completion(&t->leave);
	return t->verdict;
}

static void handle_batch(struct kwq_queue *queue, struct kwq_item *const *items,
			 struct kwq_result *results, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		results[i] = handle(queue, items[i]);
}

static void enter_handler(struct kunit *test, struct refs_test *t, struct kwq_result verdict,
			  bool batch)
{
	const struct kwq_handler handler = {
		.handle = batch ? NULL : handle,
		.handle_batch = batch ? handle_batch : NULL,
		.max_batch = batch ? 8 : 0,
		.max_active = 1,
	};

	t->verdict = verdict;
	KUNIT_ASSERT_EQ(test, kwq_start_handler(&t->queue, &handler), 0);
	add_last(test, t, add_at_once);
	KUNIT_ASSERT_NE(test, 0, wait_for_completion_timeout(&t->entered,
							     KWQ_TEST_HANGS_SECONDS * HZ));
	expect_counts(test, 1, 0);
}

static struct kwq_result fail(void)
{
	return kwq_result_of(-EIO);
}

static struct kwq_result again_after_a_delay(void)
{
	return kwq_result_again_after(1000000);
}

static struct kwq_result mistake(void)
{
	return (struct kwq_result){};
}

struct verdict {
	const char *name;
	struct kwq_result (*verdict)(void);
	bool batch;
	bool idle;	/* the item is idle after it */
};

static const struct verdict verdicts[] = {
	{ "done",			kwq_result_done,	false,	true },
	{ "failed",			fail,			false,	false },
	{ "again after",		again_after_a_delay,	false,	false },
	{ "give up",			kwq_result_give_up,	false,	false },
	{ "mistake",			mistake,		false,	false },
	{ "done, in a batch",		kwq_result_done,	true,	true },
	{ "failed, in a batch",		fail,			true,	false },
	{ "give up, in a batch",	kwq_result_give_up,	true,	false },
};

KUNIT_ARRAY_PARAM_DESC(verdict, verdicts, name);

static bool is_processing(struct refs_test *t)
{
	unsigned long flags;
	bool is;

	spin_lock_irqsave(&t->queue.lock, flags);
	is = t->queue.core.nr_processing;
	spin_unlock_irqrestore(&t->queue.lock, flags);
	return is;
}

static void handled_item_is_freed_by_the_queue(struct kunit *test)
{
	const struct verdict *v = test->param_value;
	struct refs_test *t = test->priv;

	/* K5: the driver has no reference while the handler runs */
	enter_handler(test, t, v->verdict(), v->batch);
	complete_all(&t->leave);
	kwq_test_wait_until(test, !is_processing(t));
	if (!v->idle) {
		expect_counts(test, 1, 0);
		KUNIT_EXPECT_LT(test, 0, kwq_remove(&t->queue, &t->object->item));
	}
	/* The worker may not have come to its put yet. */
	destroy(test);
	expect_counts(test, 1, 1);
	expect_end(test);
}

static void handled_item_of_a_queue_that_ends(struct kunit *test)
{
	const struct verdict *v = test->param_value;
	struct refs_test *t = test->priv;

	/* K5: after a shut down each result makes the item idle */
	enter_handler(test, t, v->verdict(), v->batch);
	kwq_add(&t->queue, &t->object->item);
	KUNIT_EXPECT_LT(test, 0, kwq_remove(&t->queue, &t->object->item));
	kwq_shut_down(&t->queue);
	expect_counts(test, 1, 0);
	complete_all(&t->leave);
	destroy(test);
	expect_counts(test, 1, 1);
	expect_end(test);
}

static void end_batch(struct kwq_queue *queue, struct kwq_item *const *items,
		      struct kwq_result *results, unsigned int nr)
{
	struct refs_test *t = container_of(queue, struct refs_test, queue);
	unsigned int i;

	for (i = 0; i < nr; i++)
		results[i] = i % 2 ? kwq_result_give_up() : kwq_result_done();
	t->found = max_t(int, t->found, nr);
	complete(&t->entered);
}

static void run_drops_the_reference(struct kunit *test)
{
	struct refs_test *t = test->priv;
	struct kwq_item *item = &t->object->item;

	/* K5 K9: ready, then waiting; the put runs in the caller's context */
	t->verdict = kwq_result_done();
	complete_all(&t->leave);
	KUNIT_ASSERT_EQ(test, kwq_start_handler(&t->queue, &(struct kwq_handler){
		.handle = handle, .max_active = 1 }), 0);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(&t->queue, item), 0);
	expect_counts(test, 0, 0);
	kwq_add_after(&t->queue, item, 10);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(&t->queue, item), 1);
	expect_counts(test, 1, 1);
	kwq_add_after(&t->queue, item, 10);
	KUNIT_EXPECT_EQ(test, kwq_expedite(&t->queue, item), KWQ_ADDED);
	kwq_run_sync(&t->queue, item);
	destroy(test);
	expect_counts(test, 2, 2);
	drop(t->object);
	expect_end(test);
}

static void item_is_got_with_its_reference(struct kunit *test)
{
	struct refs_test *t = test->priv;

	/* K5 K9 */
	KUNIT_EXPECT_EQ(test, kwq_try_get_item(&t->queue, &t->object->item), -ENOENT);
	expect_counts(test, 0, 0);
	add_last(test, t, add_after);
	KUNIT_EXPECT_EQ(test, kwq_try_get_item(&t->queue, &t->object->item), 0);
	expect_counts(test, 1, 0);
	KUNIT_EXPECT_EQ(test, kwq_done(&t->queue, &t->object->item), KWQ_FINISHED);
	expect_counts(test, 1, 1);
	expect_end(test);
}

#define NR_BATCH	6

static void batch_drops_the_references_of_its_idle_items(struct kunit *test)
{
	struct refs_test *t = test->priv;
	struct object *object;
	int i;

	/* K5 K10: half of them are dead, and keep theirs until the end of the queue */
	drop(t->object);
	for (i = 0; i < NR_BATCH; i++) {
		object = make(t);
		KUNIT_ASSERT_NOT_NULL(test, object);
		kwq_add(&t->queue, &object->item);
		drop(object);
	}
	KUNIT_ASSERT_EQ(test, kwq_start_handler(&t->queue, &(struct kwq_handler){
		.handle_batch = end_batch, .max_batch = NR_BATCH, .max_active = 1 }), 0);
	kwq_test_wait_until(test, atomic_read(&t->puts) == NR_BATCH / 2);
	KUNIT_EXPECT_EQ(test, t->found, NR_BATCH);
	expect_counts(test, NR_BATCH, NR_BATCH / 2);
	destroy(test);
	expect_counts(test, NR_BATCH, NR_BATCH);
	expect_end(test);
}

static void destroy_queue(struct refs_test *t, struct kwq_item *item)
{
	t->in_put = NULL;
	t->found = kwq_queue_destroy(&t->queue);
}

static void put_of_a_handler_does_not_wait_for_itself(struct kunit *test)
{
	struct refs_test *t = test->priv;

	/* K3 K5: destroy waits for the handlers' puts */
	t->in_put = destroy_queue;
	enter_handler(test, t, kwq_result_done(), false);
	complete_all(&t->leave);
	kwq_test_wait_until(test, atomic_read(&t->live) == 0);
	KUNIT_EXPECT_EQ(test, t->found, -EDEADLK);
	expect_end(test);
}

static DEFINE_MUTEX(table);

static void put_under_a_mutex(struct refs_test *t, struct kwq_item *item)
{
	mutex_lock(&table);
	t->found++;
	mutex_unlock(&table);
}

static void handler_is_awaited_under_the_lock_of_a_put(struct kunit *test)
{
	struct refs_test *t = test->priv;
	struct object *object;
	struct kwq_item *item;

	/* K5: these calls wait for handlers, but not for puts. Lockdep reports nothing. */
	t->in_put = put_under_a_mutex;
	enter_handler(test, t, kwq_result_done(), false);
	complete_all(&t->leave);
	kwq_test_wait_until(test, atomic_read(&t->live) == 0);
	object = make(t);
	KUNIT_ASSERT_NOT_NULL(test, object);
	item = &object->item;
	mutex_lock(&table);
	KUNIT_EXPECT_EQ(test, t->found, 1);
	KUNIT_EXPECT_EQ(test, kwq_cancel_sync(&t->queue, item), 0);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(&t->queue, item), 0);
	KUNIT_EXPECT_EQ(test, kwq_pause_sync(&t->queue), 0);
	KUNIT_EXPECT_EQ(test, kwq_resume(&t->queue), 0);
	KUNIT_EXPECT_EQ(test, kwq_disable_sync(&t->queue, item), 0);
	mutex_unlock(&table);
	drop(object);
	destroy(test);
	expect_end(test);
}

/* ---- Many ---- */

#define NR_MANY	1000

static void add_many(struct kunit *test, struct refs_test *t)
{
	struct object *object;
	int i;

	kwq_configure(&t->queue, &(struct kwq_limiter_config){ .dead_after = 1 });
	for (i = 0; i < NR_MANY; i++) {
		object = make(t);
		KUNIT_ASSERT_NOT_NULL(test, object);
		if (i % 3 == 0) {
			kwq_add(&t->queue, &object->item);
		} else if (i % 3 == 1) {
			kwq_add_after(&t->queue, &object->item, 10 + i);
		} else {
			object->item.requeues = 1;
			kwq_add_rate_limited(&t->queue, &object->item);
		}
		drop(object);
	}
	drop(t->object);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->live), NR_MANY);
	expect_counts(test, NR_MANY, 0);
}

static void shut_down_drops_many_references(struct kunit *test)
{
	struct refs_test *t = test->priv;

	/* K5 */
	add_many(test, t);
	kwq_shut_down(&t->queue);
	expect_counts(test, NR_MANY, NR_MANY - DIV_ROUND_UP(NR_MANY, 3));
	KUNIT_EXPECT_EQ(test, kwq_cancel_all_sync(&t->queue), 0);
	expect_counts(test, NR_MANY, NR_MANY);
	expect_end(test);
}

static void destroy_drops_many(struct kunit *test)
{
	struct refs_test *t = test->priv;
	int i;

	/* K5: also items that were got and never finished */
	add_many(test, t);
	for (i = 0; i < 3 * KWQ_ITEMS_PER_HOLD; i++)
		KUNIT_EXPECT_FALSE(test, IS_ERR(kwq_try_get(&t->queue)));
	destroy(test);
	expect_counts(test, NR_MANY, NR_MANY);
	expect_end(test);
}

/* ---- A random sequence ---- */

#define NR_OBJECTS	6
#define NR_STEPS	4000

struct walk {
	struct object *object[NR_OBJECTS];
	struct rnd_state rnd;
};

static void step(struct refs_test *t, struct walk *w)
{
	struct kwq_queue *q = &t->queue;
	struct kwq_item *item = &w->object[prandom_u32_state(&w->rnd) % NR_OBJECTS]->item;
	struct kwq_add_options options = {};

	switch (prandom_u32_state(&w->rnd) % 12) {
	case 0:
		kwq_add(q, item);
		break;
	case 1:
		kwq_add_after(q, item, prandom_u32_state(&w->rnd) % 20);
		break;
	case 2:
	case 3:
		kwq_add_rate_limited(q, item);
		break;
	case 4:
		options.flags = KWQ_ADD_END_WAIT | KWQ_ADD_PRIORITY;
		options.priority = kwq_test_form == KWQ_LARGE ?
			prandom_u32_state(&w->rnd) % 4 : 0;
		kwq_add_with(q, item, &options);
		break;
	case 5:
		kwq_try_get(q);
		break;
	case 6:
	case 7:
		kwq_done(q, item);
		break;
	case 8:
		kwq_done_and_get(q, item, 0);
		break;
	case 9:
		kwq_remove(q, item);
		break;
	case 10:
		/* It would wait for the end of the processing. */
		if (!(item->state & KWQ_ITEM_PROCESSING))
			kwq_cancel_sync(q, item);
		break;
	case 11:
		kwq_queue_advance_by(q, prandom_u32_state(&w->rnd) % 10);
		break;
	}
}

/* Returns the number of items in use; negative if the references do not match. */
static int nr_in_use(struct walk *w)
{
	int i, in_use, nr = 0;

	for (i = 0; i < NR_OBJECTS; i++) {
		in_use = !kwq_item_is_idle(&w->object[i]->item);
		if (atomic_read(&w->object[i]->owned) != in_use ||
		    refcount_read(&w->object[i]->refs) != 1 + in_use)
			return -1;
		nr += in_use;
	}
	return nr;
}

static void references_match_at_every_step(struct kunit *test)
{
	struct refs_test *t = test->priv;
	struct walk *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	int i, n;

	/* K5: a reference exactly while the item is not idle */
	KUNIT_ASSERT_NOT_NULL(test, w);
	prandom_seed_state(&w->rnd, 18);
	kwq_configure(&t->queue, &(struct kwq_limiter_config){
		.dead_after = 3, .nr = 1,
		.limiters = { { .kind = KWQ_LIMITER_EXPONENTIAL,
				.u.exponential = { .base = 2, .max = 9 } } } });
	for (i = 0; i < NR_OBJECTS; i++) {
		w->object[i] = make(t);
		KUNIT_ASSERT_NOT_NULL(test, w->object[i]);
	}
	for (n = 0; n < NR_STEPS; n++) {
		step(t, w);
		KUNIT_ASSERT_LE_MSG(test, 0, nr_in_use(w), "step %d", n);
	}
	kwq_shut_down(&t->queue);
	KUNIT_EXPECT_LE(test, 0, nr_in_use(w));
	destroy(test);
	KUNIT_EXPECT_EQ(test, nr_in_use(w), 0);
	KUNIT_EXPECT_LT(test, 100, atomic_read(&t->gets));
	for (i = 0; i < NR_OBJECTS; i++)
		drop(w->object[i]);
	drop(t->object);
	expect_end(test);
}

/* ---- All at once ---- */

#define NR_SLOTS	6
#define NR_ROUNDS	3000
#define NR_THREADS	3

/*
 * @slot: a thread takes a reference to an object under @lock
 */
struct crowd {
	struct refs_test t;
	spinlock_t lock;	/* protects @slot */
	struct object *slot[NR_SLOTS];
	struct kwq_test_thread thread[NR_THREADS];
	atomic_t seed;
	bool over;
};

static struct kwq_result handle_in_a_crowd(struct kwq_queue *queue, struct kwq_item *item)
{
	switch (object_of(item)->runs++ % 5) {
	case 1:
		return kwq_result_of(-EAGAIN);
	case 2:
		return kwq_result_again_after(1000);
	case 4:
		return kwq_result_give_up();
	default:
		return kwq_result_done();
	}
}

/* Puts @new into a random slot, and returns the object that was there with its reference. */
static struct object *exchange(struct crowd *c, struct rnd_state *rnd, struct object *new)
{
	struct object **slot = &c->slot[prandom_u32_state(rnd) % NR_SLOTS], *old;

	spin_lock(&c->lock);
	old = *slot;
	*slot = new;
	spin_unlock(&c->lock);
	return old;
}

static struct object *find(struct crowd *c, struct rnd_state *rnd)
{
	struct object *object;

	spin_lock(&c->lock);
	object = c->slot[prandom_u32_state(rnd) % NR_SLOTS];
	if (object)
		refcount_inc(&object->refs);
	spin_unlock(&c->lock);
	return object;
}

static void join_the_crowd(void *data)
{
	struct crowd *c = data;
	struct kwq_queue *q = &c->t.queue;
	struct object *object;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, atomic_inc_return(&c->seed));
	while (!READ_ONCE(c->over)) {
		object = find(c, &rnd);
		if (object) {
			switch (prandom_u32_state(&rnd) % 8) {
			case 0:
				kwq_remove(q, &object->item);
				break;
			case 1:
				kwq_cancel_sync(q, &object->item);
				break;
			case 2:
				kwq_add_rate_limited(q, &object->item);
				break;
			case 3:
				kwq_add_after(q, &object->item, prandom_u32_state(&rnd) % 4000);
				break;
			default:
				kwq_add(q, &object->item);
			}
			drop(object);
		}
		cond_resched();
	}
}

static const struct kwq_limiter_config quick_config = {
	.nr = 1,
	.limiters = { {
		.kind = KWQ_LIMITER_EXPONENTIAL,
		.u.exponential = { .base = 500, .max = 5000 },
	} },
};

static void crowd_is_balanced(struct kunit *test)
{
	struct crowd *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	struct refs_test *own = test->priv, *t;
	struct object *object;
	struct rnd_state rnd;
	int i;

	/* K5: adds, removes, cancels, the timer and two handlers; objects come and go */
	KUNIT_ASSERT_NOT_NULL(test, c);
	t = &c->t;
	t->crowded = true;
	atomic_set(&t->nr_kept, NR_KEPT);
	spin_lock_init(&c->lock);
	prandom_seed_state(&rnd, 5);
	kwq_test_queue_init(&t->queue, "crowd", KWQ_CLOCK_MONOTONIC);
	kwq_configure(&t->queue, &quick_config);
	KUNIT_EXPECT_EQ(test, kwq_queue_own_references(&t->queue, &ref_ops), 0);
	KUNIT_ASSERT_EQ(test, kwq_start_handler(&t->queue, &(struct kwq_handler){
		.handle = handle_in_a_crowd, .max_active = 2, .wq_flags = WQ_UNBOUND }), 0);
	for (i = 0; i < NR_THREADS; i++)
		kwq_test_thread_start(test, &c->thread[i], join_the_crowd, c);
	for (i = 0; i < NR_ROUNDS; i++) {
		object = make(t);
		if (!object)
			break;
		kwq_add(&t->queue, &object->item);
		object = exchange(c, &rnd, object);
		if (object)
			drop(object);
		cond_resched();
	}
	KUNIT_EXPECT_EQ(test, i, NR_ROUNDS);
	WRITE_ONCE(c->over, true);
	for (i = 0; i < NR_THREADS; i++)
		kwq_test_thread_join(test, &c->thread[i]);
	for (i = 0; i < NR_SLOTS; i++)
		if (c->slot[i])
			drop(c->slot[i]);
	/* Some items wait or are dead, and only the queue knows them. */
	KUNIT_EXPECT_EQ(test, kwq_queue_destroy(&t->queue), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->gets), atomic_read(&t->puts));
	KUNIT_EXPECT_EQ(test, atomic_read(&t->wrong), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->live), 0);
	drop(own->object);
}

#define REFS_TEST_OF_BOTH									\
	KUNIT_CASE(references_are_owned_from_the_start),					\
	KUNIT_CASE_PARAM(item_in_use_has_one_reference, use_gen_params),			\
	KUNIT_CASE(refused_add_takes_no_reference),						\
	KUNIT_CASE_PARAM(last_reference_is_dropped, end_gen_params),				\
	KUNIT_CASE(done_and_get_hands_out_the_next),						\
	KUNIT_CASE(no_reference_is_kept_asleep),						\
	KUNIT_CASE_PARAM(cancel_drops_the_reference, cancel_kind_gen_params),			\
	KUNIT_CASE_PARAM(cancelled_processing_keeps_its_reference, cancel_kind_gen_params),	\
	KUNIT_CASE(put_may_add_the_item_again),							\
	KUNIT_CASE(put_may_cancel_the_item),							\
	KUNIT_CASE(put_within_a_put),								\
	KUNIT_CASE_PARAM(handled_item_is_freed_by_the_queue, verdict_gen_params),		\
	KUNIT_CASE_PARAM(handled_item_of_a_queue_that_ends, verdict_gen_params),		\
	KUNIT_CASE(run_drops_the_reference),							\
	KUNIT_CASE(item_is_got_with_its_reference),						\
	KUNIT_CASE(batch_drops_the_references_of_its_idle_items),				\
	KUNIT_CASE(put_of_a_handler_does_not_wait_for_itself),					\
	KUNIT_CASE(handler_is_awaited_under_the_lock_of_a_put),					\
	KUNIT_CASE(shut_down_drops_many_references),						\
	KUNIT_CASE(destroy_drops_many),								\
	KUNIT_CASE(references_match_at_every_step),						\
	KUNIT_CASE_SLOW(crowd_is_balanced)

static struct kunit_case refs_test_cases[] = {
	REFS_TEST_OF_BOTH,
	{}
};

/* The same without what only a large queue has (K6). */
static struct kunit_case refs_test_small_cases[] = {
	REFS_TEST_OF_BOTH,
	{}
};

KWQ_TEST_SUITES(refs_test, "kwq-refs", refs_test_init, refs_test_exit);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds without the lock (K13, K1). The test is the holder and the adders in turn, so each order of
 * their steps is the same in each run. Only the last case has adders in parallel.
 */
#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/kref.h>
#include <linux/kwq.h>
#include <linux/sched.h>
#include "queue/queue.h"
#include "queue/trace.h"
#include "tests/form.h"
#include "tests/thread.h"

#define HOUR	(3600 * (u64)NSEC_PER_SEC)

struct post_test {
	KWQ_TEST_QUEUE;
	struct kwq_item a, b, c;
	unsigned long flags;
};

static int post_test_init(struct kunit *test)
{
	struct post_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	kwq_test_queue_init(&t->queue, "test", KWQ_CLOCK_MONOTONIC);
	kwq_item_init(&t->a);
	kwq_item_init(&t->b);
	kwq_item_init(&t->c);
	test->priv = t;
	return 0;
}

static void post_test_exit(struct kunit *test)
{
	struct post_test *t = test->priv;

	if (t)
		kwq_queue_destroy(&t->queue);
}

/* From here on this is the holder that had to wait for the lock. */
static void begin_hold(struct post_test *t)
	__acquires(&t->queue.lock)
{
	spin_lock_irqsave(&t->queue.lock, t->flags);
	kwq_open_posts_locked(&t->queue);
}

static void end_hold(struct post_test *t)
	__releases(&t->queue.lock)
{
	kwq_unlock(&t->queue, t->flags);
}

#define EXPECT_GET(test, t, item)						\
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(&(t)->queue), item)

#define EXPECT_NOTHING(test, t)							\
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(&(t)->queue), ERR_PTR(-EAGAIN))

static void posts_are_added_in_their_order(struct kunit *test)
{
	struct post_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K13 Q1 */
	begin_hold(t);
	KUNIT_EXPECT_FALSE(test, kwq_item_pending(&t->b));
	KUNIT_EXPECT_TRUE(test, kwq_post(q, &t->b));
	KUNIT_EXPECT_TRUE(test, kwq_post(q, &t->a));
	KUNIT_EXPECT_TRUE(test, kwq_post(q, &t->c));
	KUNIT_EXPECT_TRUE(test, kwq_item_pending(&t->b));
	KUNIT_EXPECT_EQ(test, q->core.nr_ready, 0);
	end_hold(t);
	KUNIT_EXPECT_TRUE(test, kwq_item_pending(&t->b));
	KUNIT_EXPECT_EQ(test, kwq_len(q), 3);
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, adds, 3);
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->c);
	/* The claims have ended. */
	begin_hold(t);
	KUNIT_EXPECT_EQ(test, kwq_done_locked(q, &q->holder, &t->a, 0, kwq_stamp_locked(q)),
			KWQ_FINISHED);
	KUNIT_EXPECT_TRUE(test, kwq_post(q, &t->a));
	end_hold(t);
	EXPECT_GET(test, t, &t->a);
}

static int nr_unclaimed;

static void count_unclaimed(void *data, const struct kwq_queue *queue, const struct kwq_item *item,
			    int result)
{
	const struct post_test *t = data;

	if (item == &t->a)
		nr_unclaimed += !t->b.post + !t->c.post;
	if (item == &t->b)
		nr_unclaimed += !t->c.post;
}

static void posts_stay_claimed_until_they_are_added(struct kunit *test)
{
	struct post_test *t = test->priv;

	/* K13: another adder would put it into two lists at once. */
	nr_unclaimed = 0;
	KUNIT_ASSERT_EQ(test, register_trace_kwq_add(count_unclaimed, t), 0);
	begin_hold(t);
	KUNIT_EXPECT_TRUE(test, kwq_post(&t->queue, &t->a));
	KUNIT_EXPECT_TRUE(test, kwq_post(&t->queue, &t->b));
	KUNIT_EXPECT_TRUE(test, kwq_post(&t->queue, &t->c));
	end_hold(t);
	unregister_trace_kwq_add(count_unclaimed, t);
	tracepoint_synchronize_unregister();
	KUNIT_EXPECT_EQ(test, nr_unclaimed, 0);
}

static void item_is_posted_once(struct kunit *test)
{
	struct post_test *t = test->priv;

	/* Q1 Q2: the second adder waits for the lock, and then finds the item dirty. */
	begin_hold(t);
	KUNIT_EXPECT_TRUE(test, kwq_post(&t->queue, &t->a));
	KUNIT_EXPECT_FALSE(test, kwq_post(&t->queue, &t->a));
	end_hold(t);
	KUNIT_EXPECT_EQ(test, kwq_add(&t->queue, &t->a), KWQ_COALESCED);
	EXPECT_GET(test, t, &t->a);
	EXPECT_NOTHING(test, t);
}

static void nothing_is_posted_unless_a_holder_takes_it(struct kunit *test)
{
	struct post_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	KUNIT_EXPECT_FALSE(test, kwq_post(q, &t->a));
	begin_hold(t);
	end_hold(t);
	KUNIT_EXPECT_FALSE(test, kwq_post(q, &t->a));
	/* A holder that did not wait for the lock does not expect others to. */
	kwq_lock(q, &t->flags);
	KUNIT_EXPECT_FALSE(test, kwq_post(q, &t->a));
	end_hold(t);
	t->flags = kwq_lock_contended(q);
	KUNIT_EXPECT_TRUE(test, kwq_post(q, &t->a));
	end_hold(t);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 1);
}

static void only_idle_items_are_posted(struct kunit *test)
{
	struct post_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	kwq_add(q, &t->a);
	EXPECT_GET(test, t, &t->a);
	kwq_add_after(q, &t->b, HOUR);
	kwq_disable_sync(q, &t->c);
	begin_hold(t);
	KUNIT_EXPECT_FALSE(test, kwq_post(q, &t->a));
	KUNIT_EXPECT_FALSE(test, kwq_post(q, &t->b));
	KUNIT_EXPECT_FALSE(test, kwq_post(q, &t->c));
	KUNIT_EXPECT_NULL(test, t->a.post);
	KUNIT_EXPECT_NULL(test, t->b.post);
	KUNIT_EXPECT_NULL(test, t->c.post);
	end_hold(t);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 0);
}

static void holder_adds_what_is_posted_first(struct kunit *test)
{
	struct post_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	static const struct kwq_add_options now;

	/* Q2: one of the two adds was first, and the results tell which one. */
	begin_hold(t);
	KUNIT_EXPECT_TRUE(test, kwq_post(q, &t->a));
	kwq_claim_locked(q, &t->a, KWQ_POST_ADDING);
	KUNIT_EXPECT_EQ(test, kwq_add_locked(q, &t->a, &now, kwq_stamp_locked(q)), KWQ_COALESCED);
	kwq_end_claim(&t->a);
	end_hold(t);

	begin_hold(t);
	kwq_claim_locked(q, &t->b, KWQ_POST_ADDING);
	KUNIT_EXPECT_FALSE(test, kwq_post(q, &t->b));
	KUNIT_EXPECT_EQ(test, kwq_add_locked(q, &t->b, &now, kwq_stamp_locked(q)), KWQ_ADDED);
	kwq_end_claim(&t->b);
	KUNIT_EXPECT_FALSE(test, kwq_post(q, &t->b));
	end_hold(t);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 2);
}

static void refused_add_leaves_the_claims_of_others(struct kunit *test)
{
	struct post_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/*
	 * K13: another adder has claimed the item, and looks at its state soon. If its claim ended
	 * now, and the item took adds again by then, a third adder could post the item as well.
	 */
	KUNIT_EXPECT_EQ(test, kwq_disable_sync(q, &t->a), 0);
	WRITE_ONCE(t->a.post, KWQ_POST_ADDING);
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a), -ESHUTDOWN);
	KUNIT_EXPECT_PTR_EQ(test, t->a.post, KWQ_POST_ADDING);
	KUNIT_EXPECT_EQ(test, kwq_add_after(q, &t->a, HOUR), -ESHUTDOWN);
	KUNIT_EXPECT_PTR_EQ(test, t->a.post, KWQ_POST_ADDING);
	kwq_end_claim(&t->a);
}

static struct kref refs;

static void get_ref(struct kwq_item *item)
{
	kref_get(&refs);
}

static void free_nothing(struct kref *kref)
{
}

static void put_ref(struct kwq_item *item)
{
	kref_put(&refs, free_nothing);
}

static void queue_that_owns_references_takes_no_posts(struct kunit *test)
{
	static const struct kwq_ref_ops ops = { .get = get_ref, .put = put_ref };
	struct post_test *t = test->priv;

	/* K5: the adder may drop its own reference when kwq_add() has returned. */
	kref_init(&refs);
	KUNIT_ASSERT_EQ(test, kwq_queue_own_references(&t->queue, &ops), 0);
	begin_hold(t);
	KUNIT_EXPECT_FALSE(test, kwq_post(&t->queue, &t->a));
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(&t->queue, &t->a), -EOPNOTSUPP);
	end_hold(t);
	KUNIT_EXPECT_EQ(test, kref_read(&refs), 1);
	kwq_add(&t->queue, &t->a);
	KUNIT_EXPECT_EQ(test, kref_read(&refs), 2);
}

static struct kwq_item *claim;

static void get_and_look(struct kwq_item *item)
{
	claim = item->post;
}

static void every_add_claims_its_item(struct kunit *test)
{
	static const struct kwq_ref_ops ops = { .get = get_and_look, .put = get_and_look };
	struct post_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K13: otherwise another adder could post the item in the same hold. */
	KUNIT_ASSERT_EQ(test, kwq_queue_own_references(q, &ops), 0);
	kwq_add(q, &t->a);
	KUNIT_EXPECT_PTR_EQ(test, claim, KWQ_POST_ADDING);
	kwq_remove(q, &t->a);
	KUNIT_EXPECT_NULL(test, claim);
	kwq_add_after(q, &t->a, HOUR);
	KUNIT_EXPECT_PTR_EQ(test, claim, KWQ_POST_HELD);
	kwq_remove(q, &t->a);
	KUNIT_EXPECT_NULL(test, claim);
	kwq_add_unless_pending(q, &t->a, 0);
	KUNIT_EXPECT_PTR_EQ(test, claim, KWQ_POST_HELD);
	kwq_remove(q, &t->a);
	kwq_add_with(q, &t->a, &(struct kwq_add_options){});
	KUNIT_EXPECT_PTR_EQ(test, claim, KWQ_POST_HELD);
	kwq_remove(q, &t->a);
	KUNIT_EXPECT_NULL(test, claim);
}

static void shut_down_takes_what_was_accepted(struct kunit *test)
{
	struct post_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q8 */
	begin_hold(t);
	KUNIT_EXPECT_TRUE(test, kwq_post(q, &t->a));
	kwq_end_posts_locked(q);
	KUNIT_EXPECT_FALSE(test, kwq_post(q, &t->b));
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->b), -ESHUTDOWN);
	kwq_core_shut_down(&q->core, true);
	KUNIT_EXPECT_FALSE(test, kwq_post(q, &t->b));
	end_hold(t);
	t->flags = kwq_lock_contended(q);
	KUNIT_EXPECT_FALSE(test, kwq_post(q, &t->b));
	end_hold(t);
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->b), -ESHUTDOWN);
	KUNIT_EXPECT_NULL(test, t->b.post);
	EXPECT_GET(test, t, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), KWQ_FINISHED);
	KUNIT_EXPECT_TRUE(test, kwq_core_is_drained(&q->core));
}

static void every_shut_down_ends_posts(struct kunit *test)
{
	struct post_test *t = test->priv;

	/* Q8 Q9 */
	kwq_shut_down(&t->queue);
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(&t->queue, &t->a), -ESHUTDOWN);
	kwq_queue_destroy(&t->queue);
	kwq_test_queue_init(&t->queue, "test", KWQ_CLOCK_MONOTONIC);
	KUNIT_EXPECT_EQ(test, kwq_shut_down_with_drain(&t->queue, KTIME_MAX), 0);
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(&t->queue, &t->a), -ESHUTDOWN);
}

struct getter {
	struct kwq_test_thread thread;
	struct kwq_queue *queue;
	struct kwq_item *item;
};

static void get_once(void *data)
{
	struct getter *getter = data;

	getter->item = kwq_get(getter->queue, KTIME_MAX);
}

static void post_wakes_a_getter(struct kunit *test)
{
	struct getter *getter = kunit_kzalloc(test, sizeof(*getter), GFP_KERNEL);
	struct post_test *t = test->priv;

	/* Q5 */
	KUNIT_ASSERT_NOT_NULL(test, getter);
	getter->queue = &t->queue;
	kwq_test_thread_start(test, &getter->thread, get_once, getter);
	kwq_test_wait_until(test, kwq_test_nr_sleepers(&t->queue.getters) == 1);
	begin_hold(t);
	KUNIT_EXPECT_TRUE(test, kwq_post(&t->queue, &t->a));
	end_hold(t);
	kwq_test_thread_join(test, &getter->thread);
	KUNIT_EXPECT_PTR_EQ(test, getter->item, &t->a);
}

static void nmi_under_the_lock_adds(struct kunit *test)
{
	struct post_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K1: the holder's own processor was interrupted. Nobody calls the queue afterwards. */
	spin_lock_irqsave(&q->lock, t->flags);
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->a), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->a), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->b), KWQ_ADDED);
	KUNIT_EXPECT_TRUE(test, kwq_item_pending(&t->a));
	spin_unlock_irqrestore(&q->lock, t->flags);
	kwq_test_wait_until(test, kwq_len(q) == 2);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->b);
}

static void nmi_is_seen_by_the_next_call(struct kunit *test)
{
	struct post_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q11 K3: whoever removes or cancels an item may free it. The work item is kept away. */
	q->is_behind = true;
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->a), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_remove(q, &t->a), KWQ_WAS_READY);
	KUNIT_EXPECT_NULL(test, t->a.post);
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->a), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_cancel_sync(q, &t->a), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->a), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->b), KWQ_ADDED);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->b);
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->c), KWQ_ADDED);
	kwq_shut_down(q);
	EXPECT_GET(test, t, &t->c);
	q->is_behind = false;
}

static void nmi_comes_before_later_adds(struct kunit *test)
{
	struct post_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q1: also before what becomes due later. The work item is kept away. */
	q->is_behind = true;
	kwq_add_after(q, &t->c, NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->b), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a), KWQ_ADDED);
	EXPECT_GET(test, t, &t->b);
	EXPECT_GET(test, t, &t->a);
	kwq_done(q, &t->a);
	kwq_test_wait_until(test, kwq_queue_now(q) >= kwq_test_due(q, &t->c));
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->a), KWQ_ADDED);
	KUNIT_EXPECT_FALSE(test, kwq_take_turn(q, true));
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->c);
}

static void refused_adds_claim_nothing(struct kunit *test)
{
	struct post_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K8: otherwise an NMI that meets the claim would take it for an add to come. */
	kwq_disable_sync(q, &t->a);
	kwq_lock(q, &t->flags);
	kwq_claim_locked(q, &t->a, KWQ_POST_HELD);
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->a), -ESHUTDOWN);
	kwq_end_hold_locked(q, &t->a);
	end_hold(t);
	kwq_shut_down(q);
	kwq_lock(q, &t->flags);
	kwq_claim_locked(q, &t->b, KWQ_POST_HELD);
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->b), -ESHUTDOWN);
	kwq_end_hold_locked(q, &t->b);
	end_hold(t);
	KUNIT_EXPECT_NULL(test, t->b.post);
}

static void see_done(void *data, const struct kwq_queue *queue, const struct kwq_item *item,
		     int result)
{
	claim = item->post;
}

static void returned_item_is_claimed(struct kunit *test)
{
	struct post_test *t = test->priv;

	/* O2 K13: for a moment it is idle, and an adder could post it. */
	kwq_add(&t->queue, &t->a);
	EXPECT_GET(test, t, &t->a);
	KUNIT_ASSERT_EQ(test, register_trace_kwq_done(see_done, NULL), 0);
	KUNIT_EXPECT_EQ(test, kwq_give_back(&t->queue, &t->a), KWQ_RETURNED);
	unregister_trace_kwq_done(see_done, NULL);
	tracepoint_synchronize_unregister();
	KUNIT_EXPECT_PTR_EQ(test, claim, KWQ_POST_HELD);
	KUNIT_EXPECT_NULL(test, t->a.post);
}

static void nmi_adds_an_item_in_any_state(struct kunit *test)
{
	struct post_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q4: processing */
	kwq_add(q, &t->a);
	EXPECT_GET(test, t, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->a), KWQ_DIRTIED);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), KWQ_REQUEUED);
	EXPECT_GET(test, t, &t->a);
	/* D3: waiting; its wait goes on */
	kwq_add_after(q, &t->b, HOUR);
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->b), KWQ_ADDED);
	EXPECT_GET(test, t, &t->b);
	KUNIT_EXPECT_EQ(test, kwq_remove(q, &t->b), KWQ_WAS_WAITING | KWQ_WAS_PROCESSING);
	/* L11: dead */
	KUNIT_EXPECT_EQ(test, kwq_bury(q, &t->a), KWQ_BURIED);
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->a), KWQ_ADDED);
	EXPECT_GET(test, t, &t->a);
	/* K8: disabled */
	kwq_disable_sync(q, &t->c);
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->c), -ESHUTDOWN);
	KUNIT_EXPECT_NULL(test, t->c.post);
}

static void nmi_during_another_operation_is_not_lost(struct kunit *test)
{
	struct post_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	const struct kwq_add_options later = { .flags = KWQ_ADD_AFTER, .time = HOUR };

	/* K1: the holder makes the item wait, or removes it, and was interrupted. */
	kwq_lock(q, &t->flags);
	kwq_claim_locked(q, &t->a, KWQ_POST_HELD);
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->a), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->a), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_add_locked(q, &t->a, &later, kwq_stamp_locked(q)), KWQ_WAITING);
	kwq_end_hold_locked(q, &t->a);
	end_hold(t);
	KUNIT_EXPECT_NULL(test, t->a.post);
	EXPECT_GET(test, t, &t->a);
	/* Without one, nothing is added. */
	kwq_lock(q, &t->flags);
	kwq_claim_locked(q, &t->b, KWQ_POST_HELD);
	KUNIT_EXPECT_FALSE(test, kwq_item_pending(&t->b));
	kwq_end_hold_locked(q, &t->b);
	end_hold(t);
	KUNIT_EXPECT_NULL(test, t->b.post);
	EXPECT_NOTHING(test, t);
}

static void nmi_keeps_an_open_list_open(struct kunit *test)
{
	struct post_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	begin_hold(t);
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->a), KWQ_ADDED);
	KUNIT_EXPECT_TRUE(test, kwq_post(q, &t->b));
	KUNIT_EXPECT_FALSE(test, q->is_behind);
	end_hold(t);
	EXPECT_GET(test, t, &t->a);
	EXPECT_GET(test, t, &t->b);
}

static void destroy_waits_for_the_turn_of_an_nmi(struct kunit *test)
{
	struct post_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* O6: otherwise the work item would touch a queue that is gone. */
	KUNIT_EXPECT_EQ(test, kwq_post_from_nmi(q, &t->a), KWQ_ADDED);
	kwq_queue_destroy(q);
	KUNIT_EXPECT_FALSE(test, q->is_behind);
	kwq_test_queue_init(q, "test", KWQ_CLOCK_MONOTONIC);
	kwq_item_init(&t->a);
}

/* ---- In parallel ---- */

#define NR_ADDERS	3
#define NR_ITEMS	4
#define NR_ROUNDS	20000

struct adder {
	struct kwq_test_thread thread;
	struct kwq_queue *queue;
	struct kwq_item *items;
	unsigned long runs;
	unsigned long wrong;
};

static void add_often(void *data)
{
	struct adder *adder = data;
	int i, ret;

	for (i = 0; i < NR_ROUNDS; i++) {
		ret = kwq_add(adder->queue, &adder->items[i % NR_ITEMS]);
		/* Each of these two results is one run of the item. */
		if (ret == KWQ_ADDED || ret == KWQ_DIRTIED)
			adder->runs++;
		else if (ret != KWQ_COALESCED && ret != KWQ_DIRTY)
			adder->wrong++;
		if (!(i % 64))
			cond_resched();
	}
}

static void results_tell_the_number_of_runs(struct kunit *test)
{
	struct adder *adders = kunit_kcalloc(test, NR_ADDERS, sizeof(*adders), GFP_KERNEL);
	struct kwq_item *items = kunit_kcalloc(test, NR_ITEMS, sizeof(*items), GFP_KERNEL);
	struct post_test *t = test->priv;
	unsigned long runs = 0, gets = 0, wrong = 0;
	struct kwq_item *item;
	int i;

	/* Q1 Q2 Q3 K13: none is lost, and none is counted twice. */
	KUNIT_ASSERT_NOT_NULL(test, adders);
	KUNIT_ASSERT_NOT_NULL(test, items);
	for (i = 0; i < NR_ITEMS; i++)
		kwq_item_init(&items[i]);
	for (i = 0; i < NR_ADDERS; i++) {
		adders[i].queue = &t->queue;
		adders[i].items = items;
		kwq_test_thread_start(test, &adders[i].thread, add_often, &adders[i]);
	}
	/* The drain ends when the adders have, and all that they added is done. */
	for (i = 0; i < NR_ADDERS;) {
		item = kwq_try_get(&t->queue);
		if (!IS_ERR(item)) {
			gets++;
			kwq_done(&t->queue, item);
		} else if (completion_done(&adders[i].thread.finished)) {
			kwq_test_thread_join(test, &adders[i++].thread);
		}
		cond_resched();
	}
	while (!IS_ERR(item = kwq_try_get(&t->queue))) {
		gets++;
		kwq_done(&t->queue, item);
	}
	for (i = 0; i < NR_ADDERS; i++) {
		runs += adders[i].runs;
		wrong += adders[i].wrong;
	}
	KUNIT_EXPECT_EQ(test, runs, gets);
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, adds, gets);
}

#define POST_TEST_OF_BOTH					\
	KUNIT_CASE(posts_are_added_in_their_order),		\
	KUNIT_CASE(posts_stay_claimed_until_they_are_added),	\
	KUNIT_CASE(item_is_posted_once),			\
	KUNIT_CASE(nothing_is_posted_unless_a_holder_takes_it),	\
	KUNIT_CASE(only_idle_items_are_posted),			\
	KUNIT_CASE(holder_adds_what_is_posted_first),		\
	KUNIT_CASE(refused_add_leaves_the_claims_of_others),	\
	KUNIT_CASE(queue_that_owns_references_takes_no_posts),	\
	KUNIT_CASE(every_add_claims_its_item),			\
	KUNIT_CASE(shut_down_takes_what_was_accepted),		\
	KUNIT_CASE(every_shut_down_ends_posts),			\
	KUNIT_CASE(post_wakes_a_getter),			\
	KUNIT_CASE(nmi_under_the_lock_adds),			\
	KUNIT_CASE(nmi_is_seen_by_the_next_call),		\
	KUNIT_CASE(nmi_comes_before_later_adds),		\
	KUNIT_CASE(refused_adds_claim_nothing),			\
	KUNIT_CASE(returned_item_is_claimed),			\
	KUNIT_CASE(nmi_adds_an_item_in_any_state),		\
	KUNIT_CASE(nmi_during_another_operation_is_not_lost),	\
	KUNIT_CASE(nmi_keeps_an_open_list_open),		\
	KUNIT_CASE(destroy_waits_for_the_turn_of_an_nmi),	\
	KUNIT_CASE(results_tell_the_number_of_runs)

static struct kunit_case post_test_cases[] = {
	POST_TEST_OF_BOTH,
	{}
};

/* The same for a small queue (K6). */
static struct kunit_case post_test_small_cases[] = {
	POST_TEST_OF_BOTH,
	{}
};

KWQ_TEST_SUITES(post_test, "kwq-post", post_test_init, post_test_exit);

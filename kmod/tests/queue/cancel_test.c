// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cancel and wait (K3): the state after it, and for whom it waits. The object may be freed
 * at once, whoever adds and handles it meanwhile.
 */
#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kwq.h>
#include <linux/prandom.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include "queue/queue.h"
#include "tests/form.h"
#include "tests/thread.h"

/*
 * A queue, and a task that waits for a cancel
 * @verdict: the handler's result
 * @runs: number of calls of the handler
 * @entered: the handler has begun
 * @leave: the handler may return
 * @cancel: call for @canceller; NULL for a cancel of all items
 * @victim: its item
 * @result: result of the cancel
 * @all_result: result of the cancel of all items after it
 */
struct cancel_test {
	KWQ_TEST_QUEUE;
	struct kwq_item a, b, c, d;
	struct kwq_result verdict;
	atomic_t runs;
	struct completion entered;
	struct completion leave;
	struct kwq_test_thread canceller;
	int (*cancel)(struct kwq_queue *queue, struct kwq_item *item);
	struct kwq_item *victim;
	int result;
	int all_result;
};

static int cancel_test_init(struct kunit *test)
{
	struct cancel_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	kwq_test_queue_init(&t->queue, "test", KWQ_CLOCK_MANUAL);
	kwq_item_init(&t->a);
	kwq_item_init(&t->b);
	kwq_item_init(&t->c);
	kwq_item_init(&t->d);
	init_completion(&t->entered);
	init_completion(&t->leave);
	test->priv = t;
	return 0;
}

static void cancel_test_exit(struct kunit *test)
{
	struct cancel_test *t = test->priv;

	if (!t)
		return;
	complete_all(&t->leave);
	kwq_queue_destroy(&t->queue);
}

static int nr_waiters(struct cancel_test *t)
{
	return kwq_test_nr_drainers(&t->queue);
}

static void cancel_in_thread(void *data)
{
	struct cancel_test *t = data;

	t->result = t->cancel ? t->cancel(&t->queue, t->victim) :
				kwq_cancel_all_sync(&t->queue);
}

/* Starts a thread that cancels, and waits until it sleeps. Without @cancel it cancels all. */
static void start(struct kunit *test, struct kwq_item *victim,
		  int (*cancel)(struct kwq_queue *queue, struct kwq_item *item))
{
	struct cancel_test *t = test->priv;

	t->cancel = cancel;
	t->victim = victim;
	t->result = -1;
	kwq_test_thread_start(test, &t->canceller, cancel_in_thread, t);
	kwq_test_wait_until(test, nr_waiters(t) == 1);
}

static void start_disable(struct kunit *test, struct kwq_item *victim)
{
	start(test, victim, kwq_disable_sync);
}

static void start_cancel_all(struct kunit *test)
{
	start(test, NULL, NULL);
}

static int start_handler(struct kwq_queue *queue, kwq_handle_fn handle,
			 unsigned int max_active, unsigned int wq_flags)
{
	return kwq_start_handler(queue, &(struct kwq_handler){
		.handle = handle,
		.max_active = max_active,
		.wq_flags = wq_flags,
	});
}

static struct kwq_result block(struct kwq_queue *queue, struct kwq_item *item)
{
	struct cancel_test *t = container_of(queue, struct cancel_test, queue);

	atomic_inc(&t->runs);
	complete(&t->entered);
	wait_for_completion(&t->leave);
	return t->verdict;
}

static void enter_handler(struct kunit *test, struct kwq_item *item)
{
	struct cancel_test *t = test->priv;

	if (!t->queue.workers)
		KUNIT_ASSERT_EQ(test, start_handler(&t->queue, block, 1, 0), 0);
	kwq_add(&t->queue, item);
	KUNIT_ASSERT_NE(test, 0,
			wait_for_completion_timeout(&t->entered,
						    KWQ_TEST_HANGS_SECONDS * HZ));
}

static void expect_refused(struct kunit *test, struct kwq_item *item)
{
	struct cancel_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, kwq_add(&t->queue, item), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, kwq_add_after(&t->queue, item, 10), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, kwq_add_rate_limited(&t->queue, item), -ESHUTDOWN);
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, nr_waiting, 0);
}

/* ---- One item ---- */

static void disabled_item_is_idle_for_good(struct kunit *test)
{
	struct cancel_test *t = test->priv;

	/* K3 */
	KUNIT_EXPECT_EQ(test, kwq_disable_sync(&t->queue, &t->a), 0);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	expect_refused(test, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_disable_sync(&t->queue, &t->a), 0);
	KUNIT_EXPECT_EQ(test, kwq_remove(&t->queue, &t->a), -ENOENT);
	KUNIT_EXPECT_EQ(test, kwq_done(&t->queue, &t->a), -ENOENT);

	/* The others have not changed. */
	KUNIT_EXPECT_EQ(test, kwq_add(&t->queue, &t->b), KWQ_ADDED);
}

static void cancelled_item_can_be_added_again(struct kunit *test)
{
	struct cancel_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K8 */
	KUNIT_EXPECT_EQ(test, kwq_cancel_sync(q, &t->a), 0);
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_cancel_sync(q, &t->a), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, kwq_add_after(q, &t->a, 10), KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_cancel_sync(q, &t->a), KWQ_WAS_WAITING);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	kwq_queue_advance(q, 100);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 0);
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a), KWQ_ADDED);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), &t->a);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), KWQ_FINISHED);
}

static void cancel_enables_no_disabled_item(struct kunit *test)
{
	struct cancel_test *t = test->priv;

	/* K8 */
	kwq_disable_sync(&t->queue, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_cancel_sync(&t->queue, &t->a), 0);
	expect_refused(test, &t->a);
}

static void initialised_it_is_a_new_one(struct kunit *test)
{
	struct cancel_test *t = test->priv;

	/* K3 */
	kwq_disable_sync(&t->queue, &t->a);
	kwq_item_init(&t->a);
	KUNIT_EXPECT_EQ(test, kwq_add(&t->queue, &t->a), KWQ_ADDED);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(&t->queue), &t->a);
	kwq_done(&t->queue, &t->a);
}

static void cancel_tells_what_was(struct kunit *test)
{
	static const struct kwq_limiter_config config = {
		.dead_after = 1,
		.nr = 1,
		.limiters = { {
			.kind = KWQ_LIMITER_EXPONENTIAL,
			.u.exponential = { .base = 10, .max = 10 },
		} },
	};
	struct cancel_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K3 Q11: and the timer has nothing left to do */
	kwq_add(q, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_disable_sync(q, &t->a), KWQ_WAS_READY);
	kwq_add_after(q, &t->b, 10);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 10);
	KUNIT_EXPECT_EQ(test, kwq_disable_sync(q, &t->b), KWQ_WAS_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), KTIME_MAX);
	kwq_add(q, &t->c);
	kwq_add_after(q, &t->c, 10);
	KUNIT_EXPECT_EQ(test, kwq_disable_sync(q, &t->c),
			KWQ_WAS_READY | KWQ_WAS_WAITING);
	kwq_configure(q, &config);
	t->d.requeues = 1;
	KUNIT_EXPECT_EQ(test, kwq_add_rate_limited(q, &t->d), KWQ_DEAD);
	KUNIT_EXPECT_EQ(test, kwq_disable_sync(q, &t->d), KWQ_WAS_DEAD);
	KUNIT_EXPECT_PTR_EQ(test, kwq_first_dead(q), NULL);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 0);
	kwq_queue_advance(q, 100);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 0);
}

static void cancel_waits_for_who_got_it(struct kunit *test)
{
	struct cancel_test *t = test->priv;

	/* K3 */
	kwq_add(&t->queue, &t->a);
	kwq_add(&t->queue, &t->b);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(&t->queue), &t->a);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(&t->queue), &t->b);
	kwq_add(&t->queue, &t->a);
	start_disable(test, &t->a);
	expect_refused(test, &t->a);

	/* It does not wait for another item. */
	kwq_done(&t->queue, &t->b);
	KUNIT_EXPECT_EQ(test, t->result, -1);
	KUNIT_EXPECT_EQ(test, kwq_done(&t->queue, &t->a), KWQ_FINISHED);
	kwq_test_thread_join(test, &t->canceller);
	KUNIT_EXPECT_EQ(test, t->result, KWQ_WAS_PROCESSING | KWQ_WAS_DIRTY);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	KUNIT_EXPECT_EQ(test, kwq_len(&t->queue), 0);
}

static const struct verdict_case {
	const char *desc;
	struct kwq_result verdict;
} verdict_cases[] = {
	{ "that succeeds", { KWQ_RESULT_DONE } },
	{ "that wants another try", { KWQ_RESULT_FAILED, -EAGAIN } },
	{ "that wants it again", { KWQ_RESULT_AGAIN, 0, 1000 } },
	{ "that wants it again at once", { KWQ_RESULT_AGAIN } },
	{ "that returns a mistake", { KWQ_RESULT_FAILED, 1 } },
	{ "that gives up", { KWQ_RESULT_GIVE_UP } },
};

KUNIT_ARRAY_PARAM_DESC(verdict, verdict_cases, desc);

static void cancel_waits_for_a_handler(struct kunit *test)
{
	const struct verdict_case *p = test->param_value;
	struct cancel_test *t = test->priv;

	/* K3 K2: and the handler does not bring it back */
	t->verdict = p->verdict;
	enter_handler(test, &t->a);
	kwq_add(&t->queue, &t->a);
	start_disable(test, &t->a);
	expect_refused(test, &t->a);
	complete(&t->leave);
	kwq_test_thread_join(test, &t->canceller);
	KUNIT_EXPECT_EQ(test, t->result, KWQ_WAS_PROCESSING | KWQ_WAS_DIRTY);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	KUNIT_EXPECT_EQ(test, atomic_read(&t->runs), 1);
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, nr_waiting, 0);
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, nr_dead, 0);
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, died, 0);
}

static void item_is_usable_after_a_cancel_of_its_handler(struct kunit *test)
{
	const struct verdict_case *p = test->param_value;
	struct cancel_test *t = test->priv;

	/* K8 K2: the result of the cancelled run brings nothing back, but a later add does */
	t->verdict = p->verdict;
	enter_handler(test, &t->a);
	kwq_add(&t->queue, &t->a);
	start(test, &t->a, kwq_cancel_sync);
	expect_refused(test, &t->a);
	complete(&t->leave);
	kwq_test_thread_join(test, &t->canceller);
	KUNIT_EXPECT_EQ(test, t->result, KWQ_WAS_PROCESSING | KWQ_WAS_DIRTY);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	KUNIT_EXPECT_EQ(test, atomic_read(&t->runs), 1);
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, nr_waiting, 0);
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, nr_dead, 0);
	enter_handler(test, &t->a);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->runs), 2);
}

static void item_is_usable_after_its_last_cancel(struct kunit *test)
{
	struct cancel_test *t = test->priv;
	struct cancel_test *u = kunit_kzalloc(test, sizeof(*u), GFP_KERNEL);

	/* K8: until the last cancel has returned, adds are refused */
	KUNIT_ASSERT_NOT_NULL(test, u);
	kwq_add(&t->queue, &t->a);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(&t->queue), &t->a);
	start(test, &t->a, kwq_cancel_sync);
	kwq_test_thread_start(test, &u->canceller, cancel_in_thread, t);
	kwq_test_wait_until(test, nr_waiters(t) == 2);
	KUNIT_EXPECT_EQ(test, t->a.disabled, 2);
	expect_refused(test, &t->a);
	kwq_done(&t->queue, &t->a);
	kwq_test_thread_join(test, &t->canceller);
	kwq_test_thread_join(test, &u->canceller);
	KUNIT_EXPECT_EQ(test, t->a.disabled, 0);
	KUNIT_EXPECT_EQ(test, kwq_add(&t->queue, &t->a), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_cancel_sync(&t->queue, &t->a), KWQ_WAS_READY);
}

static void each_who_cancels_waits(struct kunit *test)
{
	struct cancel_test *t = test->priv;
	struct cancel_test *u = kunit_kzalloc(test, sizeof(*u), GFP_KERNEL);

	/* K3: the second cancel finds it cancelled and processing */
	KUNIT_ASSERT_NOT_NULL(test, u);
	kwq_add(&t->queue, &t->a);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(&t->queue), &t->a);
	start_disable(test, &t->a);
	kwq_test_thread_start(test, &u->canceller, cancel_in_thread, t);
	kwq_test_wait_until(test, nr_waiters(t) == 2);
	kwq_done(&t->queue, &t->a);
	kwq_test_thread_join(test, &t->canceller);
	kwq_test_thread_join(test, &u->canceller);
	KUNIT_EXPECT_EQ(test, t->result, KWQ_WAS_PROCESSING);
}

static void cancel_another(void *data)
{
	struct cancel_test *t = data;

	t->all_result = kwq_disable_sync(&t->queue, &t->b);
}

static void cancel_waits_on_when_another_ends(struct kunit *test)
{
	struct cancel_test *t = test->priv;
	struct kwq_test_thread *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);

	/* K3: the end of a cancelled item wakes all waiters, but only one has to return */
	KUNIT_ASSERT_NOT_NULL(test, other);
	kwq_add(&t->queue, &t->a);
	kwq_add(&t->queue, &t->b);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(&t->queue), &t->a);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(&t->queue), &t->b);
	start_disable(test, &t->a);
	kwq_test_thread_start(test, other, cancel_another, t);
	kwq_test_wait_until(test, nr_waiters(t) == 2);
	kwq_done(&t->queue, &t->b);
	kwq_test_thread_join(test, other);
	KUNIT_EXPECT_EQ(test, t->all_result, KWQ_WAS_PROCESSING);
	/* The wake-up took it off the list; it returns to the list. */
	kwq_test_wait_until(test, nr_waiters(t) == 1);
	KUNIT_EXPECT_EQ(test, t->result, -1);
	kwq_done(&t->queue, &t->a);
	kwq_test_thread_join(test, &t->canceller);
	KUNIT_EXPECT_EQ(test, t->result, KWQ_WAS_PROCESSING);
}

static void cancel_ends_when_the_holder_vanishes(struct kunit *test)
{
	struct cancel_test *t = test->priv;
	unsigned long flags;

	/* K3 O1: it is not handed to another holder */
	kwq_add(&t->queue, &t->a);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(&t->queue), &t->a);
	start_disable(test, &t->a);
	spin_lock_irqsave(&t->queue.lock, flags);
	kwq_core_abandon(&t->queue.core, &t->a, 0);
	spin_unlock_irqrestore(&t->queue.lock, flags);
	/* The next unlock does the wake-ups. */
	kwq_forget(&t->queue, &t->b);
	kwq_test_thread_join(test, &t->canceller);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	KUNIT_EXPECT_EQ(test, kwq_len(&t->queue), 0);
}

static int cancel_in_handler_result[6];

static struct kwq_result cancel_in_handler(struct kwq_queue *queue, struct kwq_item *item)
{
	struct cancel_test *t = container_of(queue, struct cancel_test, queue);

	cancel_in_handler_result[0] = kwq_disable_sync(queue, &t->a);
	cancel_in_handler_result[5] = kwq_cancel_sync(queue, &t->a);
	cancel_in_handler_result[1] = kwq_cancel_all_sync(queue);
	cancel_in_handler_result[2] = kwq_disable_sync(queue, &t->b);
	cancel_in_handler_result[3] = kwq_shut_down_with_drain(queue, KTIME_MAX);
	cancel_in_handler_result[4] = kwq_queue_destroy(queue);
	complete(&t->entered);
	return kwq_result_done();
}

static void handler_does_not_wait_for_itself(struct kunit *test)
{
	struct cancel_test *t = test->priv;

	/* K3: an error that changes nothing; it may cancel another item. */
	KUNIT_ASSERT_EQ(test, start_handler(&t->queue, cancel_in_handler, 1, 0), 0);
	kwq_add_after(&t->queue, &t->b, 10);
	kwq_add(&t->queue, &t->a);
	KUNIT_ASSERT_NE(test, 0,
			wait_for_completion_timeout(&t->entered,
						    KWQ_TEST_HANGS_SECONDS * HZ));
	KUNIT_EXPECT_EQ(test, cancel_in_handler_result[0], -EDEADLK);
	KUNIT_EXPECT_EQ(test, cancel_in_handler_result[1], -EDEADLK);
	KUNIT_EXPECT_EQ(test, cancel_in_handler_result[2], KWQ_WAS_WAITING);
	KUNIT_EXPECT_EQ(test, cancel_in_handler_result[3], -EDEADLK);
	KUNIT_EXPECT_EQ(test, cancel_in_handler_result[4], -EDEADLK);
	KUNIT_EXPECT_EQ(test, cancel_in_handler_result[5], -EDEADLK);
	KUNIT_EXPECT_FALSE(test, kwq_shutting_down(&t->queue));
	KUNIT_EXPECT_GE(test, kwq_add(&t->queue, &t->a), 0);
}

static struct kwq_result cancel_elsewhere(struct kwq_queue *queue, struct kwq_item *item)
{
	struct cancel_test *t = container_of(item, struct cancel_test, b);

	t->result = kwq_disable_sync(&t->queue, &t->a);
	t->all_result = kwq_cancel_all_sync(&t->queue);
	complete(&t->entered);
	return kwq_result_done();
}

static void handler_of_another_queue_may_wait(struct kunit *test)
{
	struct cancel_test *t = test->priv;
	struct kwq_queue *other = kwq_test_queue_alloc(test);

	/* K3: lockdep distinguishes the handlers of two queues. */
	KUNIT_ASSERT_NOT_NULL(test, other);
	t->all_result = -1;
	kwq_test_queue_init(other, "other", KWQ_CLOCK_MANUAL);
	KUNIT_ASSERT_EQ(test, start_handler(other, cancel_elsewhere, 1, 0), 0);
	enter_handler(test, &t->a);
	reinit_completion(&t->entered);
	kwq_add(other, &t->b);
	kwq_test_wait_until(test, nr_waiters(t) == 1);
	complete(&t->leave);
	KUNIT_ASSERT_NE(test, 0,
			wait_for_completion_timeout(&t->entered,
						    KWQ_TEST_HANGS_SECONDS * HZ));
	KUNIT_EXPECT_EQ(test, t->result, KWQ_WAS_PROCESSING);
	KUNIT_EXPECT_EQ(test, t->all_result, 0);
	kwq_queue_destroy(other);
}

/* ---- In any work item ---- */

/* A work item in pages of its own */
struct stray {
	struct work_struct work;
	struct cancel_test *t;
};

static void free_itself_and_cancel(struct work_struct *work)
{
	struct stray *stray = container_of(work, struct stray, work);
	struct cancel_test *t = stray->t;

	vfree(stray);
	/* From here on the page is unmapped: an access to the work item is an oops. */
	vm_unmap_aliases();
	t->result = kwq_disable_sync(&t->queue, &t->a);
	t->all_result = kwq_shut_down_with_drain(&t->queue, KTIME_MAX);
	if (!t->all_result)
		t->all_result = kwq_cancel_all_sync(&t->queue);
	complete(&t->entered);
}

static void cancel_in_a_freed_work_item(struct kunit *test)
{
	struct cancel_test *t = test->priv;
	struct stray *stray = vmalloc(sizeof(*stray));

	KUNIT_ASSERT_NOT_NULL(test, stray);
	INIT_WORK(&stray->work, free_itself_and_cancel);
	stray->t = t;
	t->result = -1;
	t->all_result = -1;
	kwq_add_after(&t->queue, &t->a, 10);
	schedule_work(&stray->work);
	KUNIT_ASSERT_NE(test, 0,
			wait_for_completion_timeout(&t->entered,
						    KWQ_TEST_HANGS_SECONDS * HZ));
	KUNIT_EXPECT_EQ(test, t->result, KWQ_WAS_WAITING);
	KUNIT_EXPECT_EQ(test, t->all_result, 0);
}

static void freed_work_item_may_cancel(struct kunit *test)
{
	/* K3 */
	cancel_in_a_freed_work_item(test);
}

static struct kwq_result succeed(struct kwq_queue *queue, struct kwq_item *item)
{
	return kwq_result_done();
}

static void freed_work_item_may_cancel_what_is_handled(struct kunit *test)
{
	struct cancel_test *t = test->priv;

	/* K3: the queue's own work items have other addresses */
	KUNIT_ASSERT_EQ(test, start_handler(&t->queue, succeed, 4, 0), 0);
	cancel_in_a_freed_work_item(test);
}

/* ---- A queue ---- */

static void cancelled_queue_has_no_items(struct kunit *test)
{
	struct cancel_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K3: dirty in the handler, ready, waiting, dead: none is handled again */
	kwq_add_after(q, &t->c, 10);
	t->d.requeues = U32_MAX;
	enter_handler(test, &t->a);
	kwq_configure(q, &(struct kwq_limiter_config){ .dead_after = 1 });
	KUNIT_EXPECT_EQ(test, kwq_add_rate_limited(q, &t->d), KWQ_DEAD);
	kwq_add(q, &t->a);
	kwq_add(q, &t->b);
	start_cancel_all(test);
	KUNIT_EXPECT_TRUE(test, kwq_shutting_down(q));
	KUNIT_EXPECT_EQ(test, kwq_len(q), 0);
	expect_refused(test, &t->b);
	complete(&t->leave);
	kwq_test_thread_join(test, &t->canceller);
	KUNIT_EXPECT_EQ(test, t->result, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->runs), 1);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->b));
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->c));
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->d));
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q),
			    (struct kwq_item *)ERR_PTR(-ESHUTDOWN));
	KUNIT_EXPECT_EQ(test, kwq_cancel_all_sync(q), 0);
}

#define NR_MANY	(2 * KWQ_ITEMS_PER_HOLD + 44)

static void many_items_are_cancelled(struct kunit *test)
{
	struct cancel_test *t = test->priv;
	struct kwq_item *items = kunit_kcalloc(test, NR_MANY, sizeof(*items),
					       GFP_KERNEL);
	int i;

	/* K3: more items than one hold of the lock takes out */
	KUNIT_ASSERT_NOT_NULL(test, items);
	for (i = 0; i < NR_MANY; i++) {
		kwq_item_init(&items[i]);
		kwq_add(&t->queue, &items[i]);
	}
	KUNIT_EXPECT_EQ(test, kwq_cancel_all_sync(&t->queue), 0);
	for (i = 0; i < NR_MANY; i++)
		KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&items[i]));
}

struct paused_getter {
	struct kwq_test_thread thread;
	struct kwq_queue *queue;
	struct kwq_item *item;
};

/* It holds an item, and finishes that after it has learnt that there is nothing more to get. */
static void get_and_finish(void *data)
{
	struct paused_getter *getter = data;
	struct kwq_item *held = kwq_get(getter->queue, KTIME_MAX);

	kwq_pause(getter->queue);
	getter->item = kwq_get(getter->queue, KTIME_MAX);
	kwq_done(getter->queue, held);
}

static void cancel_ends_the_get_of_a_paused_queue(struct kunit *test)
{
	struct cancel_test *t = test->priv;
	struct paused_getter getter = { .queue = &t->queue };

	/* K3 Q8: the getter sleeps for the ready item, and the cancel waits for the getter. */
	kwq_add(&t->queue, &t->a);
	kwq_add(&t->queue, &t->b);
	kwq_test_thread_start(test, &getter.thread, get_and_finish, &getter);
	kwq_test_wait_until(test, kwq_test_nr_sleepers(&t->queue.getters) == 1);
	/* The shut down wakes it, and it sleeps again because the item is still ready. */
	kwq_begin_shut_down(&t->queue, false);
	kwq_test_wait_until(test, kwq_test_nr_sleepers(&t->queue.getters) == 1);
	KUNIT_EXPECT_EQ(test, kwq_cancel_all_sync(&t->queue), 0);
	kwq_test_thread_join(test, &getter.thread);
	KUNIT_EXPECT_PTR_EQ(test, getter.item, (struct kwq_item *)ERR_PTR(-ESHUTDOWN));
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->b));
}

static void drain_in_thread(void *data)
{
	struct cancel_test *t = data;

	t->result = kwq_shut_down_with_drain(&t->queue, KTIME_MAX);
}

static void cancel_ends_a_drain(struct kunit *test)
{
	struct cancel_test *t = test->priv;

	/* K3 Q9 */
	kwq_add(&t->queue, &t->a);
	kwq_test_thread_start(test, &t->canceller, drain_in_thread, t);
	kwq_test_wait_until(test, nr_waiters(t) == 1);
	KUNIT_EXPECT_EQ(test, kwq_cancel_all_sync(&t->queue), 0);
	kwq_test_thread_join(test, &t->canceller);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
}

/* ---- Freed at once ---- */

#define NR_SLOTS	8
#define NR_VICTIMS	1500
#define NR_ADDERS	2

/*
 * An object that is about to be freed
 * @cancelled: it was cancelled, and nobody may touch it any more
 */
struct victim {
	struct kwq_item item;
	bool cancelled;
	u32 runs;
};

struct hunt {
	KWQ_TEST_QUEUE;
	struct victim __rcu *slot[NR_SLOTS];
	struct kwq_test_thread adder[NR_ADDERS];
	atomic_t seed;
	atomic_t too_late;
	bool over;
};

static struct kwq_result handle_victim(struct kwq_queue *queue, struct kwq_item *item)
{
	struct hunt *hunt = container_of(queue, struct hunt, queue);
	struct victim *victim = container_of(item, struct victim, item);

	if (READ_ONCE(victim->cancelled))
		atomic_inc(&hunt->too_late);
	switch (++victim->runs % 4) {
	case 1:
		return kwq_result_of(-EAGAIN);
	case 2:
		return kwq_result_again_after(1000);
	case 3:
		return kwq_result_again_after(0);
	default:
		return kwq_result_done();
	}
}

static void add_victims(void *data)
{
	struct hunt *hunt = data;
	struct victim *victim;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, atomic_inc_return(&hunt->seed));
	while (!READ_ONCE(hunt->over)) {
		rcu_read_lock();
		victim = rcu_dereference(hunt->slot[prandom_u32_state(&rnd) % NR_SLOTS]);
		if (victim)
			kwq_add_after(&hunt->queue, &victim->item,
				      prandom_u32_state(&rnd) % 4 * 1000);
		rcu_read_unlock();
		cond_resched();
	}
}

static struct victim *make_victim(struct hunt *hunt)
{
	struct victim *victim = kzalloc(sizeof(*victim), GFP_KERNEL);

	if (victim) {
		kwq_item_init(&victim->item);
		kwq_add(&hunt->queue, &victim->item);
	}
	return victim;
}

/*
 * An object found under RCU is freed after a grace period; adds after its cancel must have
 * failed. An object that only the queue, its timer and its handler know is freed at once.
 */
static void free_victim(struct hunt *hunt, struct victim *victim, bool published)
{
	kwq_disable_sync(&hunt->queue, &victim->item);
	WRITE_ONCE(victim->cancelled, true);
	if (published)
		synchronize_rcu_expedited();
	memset(victim, 0x6b, sizeof(*victim));
	kfree(victim);
}

static const struct kwq_limiter_config quick_config = {
	.nr = 1,
	.limiters = { {
		.kind = KWQ_LIMITER_EXPONENTIAL,
		.u.exponential = { .base = 500, .max = 5000 },
	} },
};

static void cancelled_object_can_be_freed(struct kunit *test)
{
	struct hunt *hunt = kunit_kzalloc(test, sizeof(*hunt), GFP_KERNEL);
	struct victim *victim;
	int i, slot;

	/* K3: against adds, the timer and the handler, under KASAN */
	KUNIT_ASSERT_NOT_NULL(test, hunt);
	kwq_test_queue_init(&hunt->queue, "hunt", KWQ_CLOCK_MONOTONIC);
	kwq_configure(&hunt->queue, &quick_config);
	KUNIT_ASSERT_EQ(test, start_handler(&hunt->queue, handle_victim, 2, WQ_UNBOUND), 0);
	for (i = 0; i < NR_ADDERS; i++)
		kwq_test_thread_start(test, &hunt->adder[i], add_victims, hunt);
	for (i = 0; i < NR_VICTIMS; i++) {
		victim = make_victim(hunt);
		if (!victim)
			break;
		if (i % 4) {
			ndelay(i % 64 * 50);
			free_victim(hunt, victim, false);
			continue;
		}
		slot = i / 4 % NR_SLOTS;
		victim = rcu_replace_pointer(hunt->slot[slot], victim, true);
		if (victim)
			free_victim(hunt, victim, true);
		cond_resched();
	}
	KUNIT_EXPECT_EQ(test, i, NR_VICTIMS);
	WRITE_ONCE(hunt->over, true);
	for (i = 0; i < NR_ADDERS; i++)
		kwq_test_thread_join(test, &hunt->adder[i]);
	/* A cancel of the whole queue has the same effect. */
	KUNIT_EXPECT_EQ(test, kwq_cancel_all_sync(&hunt->queue), 0);
	for (slot = 0; slot < NR_SLOTS; slot++)
		kfree(rcu_dereference_protected(hunt->slot[slot], true));
	KUNIT_EXPECT_EQ(test, atomic_read(&hunt->too_late), 0);
	KUNIT_EXPECT_FALSE(test, kwq_core_has_waiting(&hunt->queue.core));
	kwq_queue_destroy(&hunt->queue);
}

#define CANCEL_TEST_OF_BOTH									\
	KUNIT_CASE(disabled_item_is_idle_for_good),						\
	KUNIT_CASE(cancelled_item_can_be_added_again),						\
	KUNIT_CASE(cancel_enables_no_disabled_item),						\
	KUNIT_CASE(initialised_it_is_a_new_one),						\
	KUNIT_CASE(cancel_tells_what_was),							\
	KUNIT_CASE(cancel_waits_for_who_got_it),						\
	KUNIT_CASE_PARAM(cancel_waits_for_a_handler, verdict_gen_params),			\
	KUNIT_CASE_PARAM(item_is_usable_after_a_cancel_of_its_handler, verdict_gen_params),	\
	KUNIT_CASE(item_is_usable_after_its_last_cancel),					\
	KUNIT_CASE(each_who_cancels_waits),							\
	KUNIT_CASE(cancel_waits_on_when_another_ends),						\
	KUNIT_CASE(cancel_ends_when_the_holder_vanishes),					\
	KUNIT_CASE(handler_does_not_wait_for_itself),						\
	KUNIT_CASE(handler_of_another_queue_may_wait),						\
	KUNIT_CASE(freed_work_item_may_cancel),							\
	KUNIT_CASE(freed_work_item_may_cancel_what_is_handled),					\
	KUNIT_CASE(cancelled_queue_has_no_items),						\
	KUNIT_CASE(many_items_are_cancelled),							\
	KUNIT_CASE(cancel_ends_the_get_of_a_paused_queue),					\
	KUNIT_CASE(cancel_ends_a_drain),							\
	KUNIT_CASE_SLOW(cancelled_object_can_be_freed)

static struct kunit_case cancel_test_cases[] = {
	CANCEL_TEST_OF_BOTH,
	{}
};

/* The same without what only a large queue has (K6). */
static struct kunit_case cancel_test_small_cases[] = {
	CANCEL_TEST_OF_BOTH,
	{}
};

KWQ_TEST_SUITES(cancel_test, "kwq-cancel", cancel_test_init, cancel_test_exit);

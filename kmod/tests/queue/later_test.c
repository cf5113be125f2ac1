// SPDX-License-Identifier: GPL-2.0-only
/* Attempts that end later, in another context than the handler's (K14). The clock is manual. */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kwq.h>
#include <linux/workqueue.h>
#include "queue/queue.h"
#include "queue/workers.h"
#include "tests/form.h"
#include "tests/thread.h"

/*
 * An object of a driver
 * @item: in the queue
 * @verdict: the handler's result for it
 * @runs: number of calls
 * @blocks: the handler completes @entered, and waits for @leave
 * @cancels: the handler ends its attempt, and then calls kwq_cancel_sync()
 * @cancelled: the result of that
 */
struct thing {
	struct kwq_item item;
	struct kwq_result verdict;
	atomic_t runs;
	bool blocks;
	bool cancels;
	int cancelled;
	struct completion entered;
	struct completion leave;
};

struct later_test {
	KWQ_TEST_QUEUE;
	struct thing a, b;
	struct kwq_test_thread thread;
	int (*call)(struct kwq_queue *queue, struct kwq_item *item);
	int result;
	int gets, puts;
};

static struct kwq_result handle(struct kwq_queue *queue, struct kwq_item *item)
{
	struct thing *thing = container_of(item, struct thing, item);

	atomic_inc(&thing->runs);
	if (thing->blocks) {
		complete(&thing->entered);
		wait_for_completion(&thing->leave);
	}
	if (thing->cancels) {
		kwq_item_done(queue, item, kwq_result_done());
		thing->cancelled = kwq_cancel_sync(queue, item);
	}
	return thing->verdict;
}

static void handle_batch(struct kwq_queue *queue, struct kwq_item *const *items,
			 struct kwq_result *results, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		results[i] = handle(queue, items[i]);
}

static void thing_init(struct thing *thing)
{
	kwq_item_init(&thing->item);
	thing->verdict = kwq_result_later();
	init_completion(&thing->entered);
	init_completion(&thing->leave);
}

static int later_test_init(struct kunit *test)
{
	struct later_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	kwq_test_queue_init(&t->queue, "test", KWQ_CLOCK_MANUAL);
	thing_init(&t->a);
	thing_init(&t->b);
	test->priv = t;
	return 0;
}

static void later_test_exit(struct kunit *test)
{
	struct later_test *t = test->priv;

	if (!t)
		return;
	complete_all(&t->a.leave);
	complete_all(&t->b.leave);
	kwq_item_done(&t->queue, &t->a.item, kwq_result_done());
	kwq_item_done(&t->queue, &t->b.item, kwq_result_done());
	kwq_queue_destroy(&t->queue);
	KUNIT_EXPECT_EQ(test, t->puts, t->gets);
}

static void start(struct kunit *test)
{
	static const struct kwq_handler handler = {
		.handle = handle,
		.max_active = 1,
		.wq_flags = WQ_UNBOUND,
	};
	struct later_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, kwq_start_handler(&t->queue, &handler), 0);
}

/* The number of attempts whose handlers have returned. */
static u32 nr_later(struct kwq_queue *queue)
{
	unsigned long flags;
	u32 nr;

	spin_lock_irqsave(&queue->lock, flags);
	nr = queue->workers->later.nr_held;
	spin_unlock_irqrestore(&queue->lock, flags);
	return nr;
}

static bool is_processing(const struct thing *thing)
{
	return READ_ONCE(thing->item.state) & KWQ_ITEM_PROCESSING;
}

/* Adds an item, and waits until its handler has returned. */
static void begin(struct kunit *test, struct thing *thing)
{
	struct later_test *t = test->priv;
	u32 before = nr_later(&t->queue);

	kwq_add(&t->queue, &thing->item);
	kwq_test_wait_until(test, nr_later(&t->queue) > before);
}

/* Adds an item, and waits until its handler blocks. */
static void enter(struct kunit *test, struct thing *thing)
{
	struct later_test *t = test->priv;

	thing->blocks = true;
	kwq_add(&t->queue, &thing->item);
	KUNIT_ASSERT_NE(test, 0,
			wait_for_completion_timeout(&thing->entered,
						    KWQ_TEST_HANGS_SECONDS * HZ));
}

static void leave(struct thing *thing)
{
	thing->blocks = false;
	complete(&thing->leave);
}

static void call(void *data)
{
	struct later_test *t = data;

	t->result = t->call(&t->queue, &t->a.item);
}

/* Calls a function that waits, and waits until it does. */
static void begin_call(struct kunit *test, int (*fn)(struct kwq_queue *queue,
						     struct kwq_item *item))
{
	struct later_test *t = test->priv;

	t->call = fn;
	t->result = -1;
	kwq_test_thread_start(test, &t->thread, call, t);
	kwq_test_wait_until(test, kwq_test_nr_drainers(&t->queue) == 1);
}

static void attempt_ends_later(struct kunit *test)
{
	struct later_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K14: nobody else has it meanwhile, and what is added meanwhile is for the next run. */
	start(test);
	begin(test, &t->a);
	KUNIT_EXPECT_TRUE(test, is_processing(&t->a));
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a.item), KWQ_DIRTIED);
	KUNIT_EXPECT_EQ(test, kwq_try_get_item(q, &t->a.item), -EBUSY);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a.item), -EPERM);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->a.runs), 1);
	t->a.verdict = kwq_result_done();
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_done()), 0);
	kwq_test_wait_until(test, atomic_read(&t->a.runs) == 2);
	kwq_flush(q);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a.item));
}

static void worker_goes_on(struct kunit *test)
{
	struct later_test *t = test->priv;

	/* K14: @max_active is 1. */
	start(test);
	begin(test, &t->a);
	begin(test, &t->b);
	KUNIT_EXPECT_TRUE(test, is_processing(&t->a) && is_processing(&t->b));
	KUNIT_EXPECT_EQ(test, kwq_item_done(&t->queue, &t->a.item, kwq_result_done()), 0);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a.item));
	KUNIT_EXPECT_TRUE(test, is_processing(&t->b));
}

static void each_result_counts(struct kunit *test)
{
	struct later_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K14 K2: requeues and delays are as if the handler had returned now. */
	start(test);
	begin(test, &t->a);
	kwq_queue_advance(q, 100);
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_of(-EIO)), 0);
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(q, &t->a.item), 1);
	KUNIT_EXPECT_EQ(test, kwq_test_nr_waiting(q), 1);
	begin(test, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_done_without_forget()), 0);
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(q, &t->a.item), 1);
	kwq_remove(q, &t->a.item);
	begin(test, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_again_after(7)), 0);
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(q, &t->a.item), 0);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 107);
	kwq_remove(q, &t->a.item);
	begin(test, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_give_up()), 0);
	KUNIT_EXPECT_PTR_EQ(test, kwq_first_dead(q), &t->a.item);
}

static void end_that_comes_first(struct kunit *test)
{
	struct later_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K14: an interrupt may come before the handler returns. */
	start(test);
	enter(test, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_of(-EIO)), 0);
	KUNIT_EXPECT_TRUE(test, is_processing(&t->a));
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_of(-EIO)), -EPERM);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a.item), -EPERM);
	leave(&t->a);
	kwq_test_wait_until(test, !is_processing(&t->a));
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(q, &t->a.item), 1);
	KUNIT_EXPECT_EQ(test, kwq_test_nr_waiting(q), 1);

	/* The same with a result that forgets, and a handler that returns another one. */
	t->a.verdict = kwq_result_give_up();
	enter(test, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_done()), 0);
	leave(&t->a);
	kwq_test_wait_until(test, !is_processing(&t->a));
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(q, &t->a.item), 0);
	KUNIT_EXPECT_NULL(test, kwq_first_dead(q));
}

static void handler_does_not_wait_for_itself(struct kunit *test)
{
	struct later_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K14 K3: in a worker, and in a caller of kwq_run_sync() */
	t->a.cancels = true;
	start(test);
	kwq_add(q, &t->a.item);
	kwq_flush(q);
	KUNIT_EXPECT_EQ(test, t->a.cancelled, -EDEADLK);
	t->a.cancelled = 0;
	kwq_pause(q);
	kwq_add(q, &t->a.item);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(q, &t->a.item), 1);
	KUNIT_EXPECT_EQ(test, t->a.cancelled, -EDEADLK);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a.item));
}

static void end_is_refused(struct kunit *test)
{
	struct later_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K1 */
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_done()), -EINVAL);
	kwq_pause(q);
	start(test);
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_done()), -ENOENT);
	kwq_add(q, &t->a.item);
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_done()), -ENOENT);
	KUNIT_EXPECT_EQ(test, kwq_try_get_item(q, &t->a.item), 0);
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_done()), -EPERM);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a.item), KWQ_FINISHED);
	kwq_resume(q);
	begin(test, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_later()), -EINVAL);
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_of(1)), -EINVAL);
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, (struct kwq_result){}), -EINVAL);
	KUNIT_EXPECT_TRUE(test, is_processing(&t->a));
}

static int flush(struct kwq_queue *queue, struct kwq_item *item)
{
	return kwq_flush(queue);
}

static int pause_sync(struct kwq_queue *queue, struct kwq_item *item)
{
	return kwq_pause_sync(queue);
}

static int drain(struct kwq_queue *queue, struct kwq_item *item)
{
	return kwq_shut_down_with_drain(queue, KTIME_MAX);
}

static void others_wait_for_the_end(struct kunit *test)
{
	struct later_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K14 K3 K8 K9 Q14: a cancel also takes a retry that the end asks for. */
	start(test);
	begin(test, &t->a);
	begin_call(test, kwq_cancel_sync);
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_of(-EIO)), 0);
	kwq_test_thread_join(test, &t->thread);
	KUNIT_EXPECT_EQ(test, t->result, KWQ_WAS_PROCESSING);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a.item));

	begin(test, &t->a);
	begin_call(test, flush);
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_done()), 0);
	kwq_test_thread_join(test, &t->thread);

	begin(test, &t->a);
	begin_call(test, pause_sync);
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_done()), 0);
	kwq_test_thread_join(test, &t->thread);
	kwq_resume(q);

	begin(test, &t->a);
	begin_call(test, drain);
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_again_after(1)), 0);
	kwq_test_thread_join(test, &t->thread);
	KUNIT_EXPECT_EQ(test, t->result, 0);
}

static int destroy(struct kwq_queue *queue, struct kwq_item *item)
{
	return kwq_queue_destroy(queue);
}

static void destroy_waits_for_the_end(struct kunit *test)
{
	struct later_test *t = test->priv;

	/* K14 K3 */
	start(test);
	begin(test, &t->a);
	begin_call(test, destroy);
	KUNIT_EXPECT_EQ(test, kwq_item_done(&t->queue, &t->a.item, kwq_result_done()), 0);
	kwq_test_thread_join(test, &t->thread);
	KUNIT_EXPECT_EQ(test, t->result, 0);
	kwq_test_queue_init(&t->queue, "test", KWQ_CLOCK_MANUAL);
}

static void run_in_a_caller_ends_later(struct kunit *test)
{
	struct later_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K14 K9: the call returns when all adds before it have been handled. */
	kwq_pause(q);
	start(test);
	kwq_add(q, &t->a.item);
	begin_call(test, kwq_run_sync);
	KUNIT_EXPECT_TRUE(test, is_processing(&t->a));
	KUNIT_EXPECT_EQ(test, nr_later(q), 1);
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_done()), 0);
	kwq_test_thread_join(test, &t->thread);
	KUNIT_EXPECT_EQ(test, t->result, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->a.runs), 1);
}

static void batch_ends_in_parts(struct kunit *test)
{
	static const struct kwq_handler handler = {
		.handle_batch = handle_batch,
		.max_active = 1,
		.max_batch = 2,
		.wq_flags = WQ_UNBOUND,
	};
	struct later_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K14 K10 */
	kwq_pause(q);
	KUNIT_ASSERT_EQ(test, kwq_start_handler(q, &handler), 0);
	t->b.verdict = kwq_result_done();
	kwq_add(q, &t->a.item);
	kwq_add(q, &t->b.item);
	kwq_resume(q);
	kwq_test_wait_until(test, nr_later(q) == 1);
	KUNIT_EXPECT_TRUE(test, is_processing(&t->a));
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->b.item));
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_done()), 0);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a.item));
}

static void get_reference(struct kwq_item *item)
{
	container_of(item, struct later_test, a.item)->gets++;
}

static void put_reference(struct kwq_item *item)
{
	container_of(item, struct later_test, a.item)->puts++;
}

static void reference_is_dropped_at_the_end(struct kunit *test)
{
	static const struct kwq_ref_ops refs = { .get = get_reference, .put = put_reference };
	struct later_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K14 K5: by whoever comes last, the end or the handler */
	KUNIT_ASSERT_EQ(test, kwq_queue_own_references(q, &refs), 0);
	start(test);
	begin(test, &t->a);
	KUNIT_EXPECT_EQ(test, t->gets, 1);
	KUNIT_EXPECT_EQ(test, t->puts, 0);
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_done()), 0);
	KUNIT_EXPECT_EQ(test, t->puts, 1);
	enter(test, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_item_done(q, &t->a.item, kwq_result_done()), 0);
	KUNIT_EXPECT_EQ(test, t->puts, 1);
	leave(&t->a);
	kwq_test_wait_until(test, READ_ONCE(t->puts) == 2);
}

#define LATER_TEST_OF_BOTH				\
	KUNIT_CASE(attempt_ends_later),			\
	KUNIT_CASE(worker_goes_on),			\
	KUNIT_CASE(each_result_counts),			\
	KUNIT_CASE(end_that_comes_first),		\
	KUNIT_CASE(handler_does_not_wait_for_itself),	\
	KUNIT_CASE(end_is_refused),			\
	KUNIT_CASE(others_wait_for_the_end),		\
	KUNIT_CASE(destroy_waits_for_the_end),		\
	KUNIT_CASE(run_in_a_caller_ends_later),		\
	KUNIT_CASE(batch_ends_in_parts),		\
	KUNIT_CASE(reference_is_dropped_at_the_end)

static struct kunit_case later_test_cases[] = {
	LATER_TEST_OF_BOTH,
	{}
};

static struct kunit_case later_test_small_cases[] = {
	LATER_TEST_OF_BOTH,
	{}
};

KWQ_TEST_SUITES(later_test, "kwq-later", later_test_init, later_test_exit);

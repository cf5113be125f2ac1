// SPDX-License-Identifier: GPL-2.0-only
/*
 * One item here and now, flushes and pauses (K9, Q14). The clock is manual but in the
 * storms.
 */
#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kwq.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/slab.h>
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
 * @inside: number of calls that are running
 * @twice: two calls were running at once
 * @ran_in: task of the last call
 * @blocks: the handler completes @entered, and waits for @leave
 * @within: called by the handler, if set
 */
struct thing {
	struct kwq_item item;
	struct kwq_result verdict;
	atomic_t runs;
	atomic_t inside;
	bool twice;
	const struct task_struct *ran_in;
	bool blocks;
	struct completion entered;
	struct completion leave;
	void (*within)(struct kwq_queue *queue);
};

/* A task, and its call of a function on @item. */
struct caller {
	struct kwq_test_thread thread;
	struct kunit *test;
	struct kwq_item *item;
	int (*call)(struct kwq_queue *queue, struct kwq_item *item);
	int result;
};

struct sync_test {
	KWQ_TEST_QUEUE;
	struct thing a, b, c;
	struct caller caller[3];
};

static struct kwq_result handle(struct kwq_queue *queue, struct kwq_item *item)
{
	struct thing *thing = container_of(item, struct thing, item);

	if (atomic_inc_return(&thing->inside) > 1)
		thing->twice = true;
	atomic_inc(&thing->runs);
	thing->ran_in = current;
	if (thing->within)
		thing->within(queue);
	if (thing->blocks) {
		complete(&thing->entered);
		wait_for_completion(&thing->leave);
	}
	atomic_dec(&thing->inside);
	return thing->verdict;
}

static void thing_init(struct thing *thing)
{
	kwq_item_init(&thing->item);
	thing->verdict = kwq_result_done();
	init_completion(&thing->entered);
	init_completion(&thing->leave);
}

static int sync_test_init(struct kunit *test)
{
	struct sync_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	kwq_test_queue_init(&t->queue, "test", KWQ_CLOCK_MANUAL);
	thing_init(&t->a);
	thing_init(&t->b);
	thing_init(&t->c);
	test->priv = t;
	return 0;
}

static void sync_test_exit(struct kunit *test)
{
	struct sync_test *t = test->priv;

	if (!t)
		return;
	complete_all(&t->a.leave);
	complete_all(&t->b.leave);
	complete_all(&t->c.leave);
	kwq_queue_destroy(&t->queue);
	KUNIT_EXPECT_FALSE(test, t->a.twice || t->b.twice || t->c.twice);
	KUNIT_EXPECT_EQ(test, t->queue.core.nr_before, 0);
}

static int nr_drainers(struct sync_test *t)
{
	return kwq_test_nr_drainers(&t->queue);
}

static int nr_getters(struct sync_test *t)
{
	return kwq_test_nr_sleepers(&t->queue.getters);
}

static void start_workers(struct kunit *test, unsigned int max_active)
{
	struct sync_test *t = test->priv;

	const struct kwq_handler handler = {
		.handle = handle,
		.max_active = max_active,
		.wq_flags = WQ_UNBOUND,
	};

	KUNIT_ASSERT_EQ(test, kwq_start_handler(&t->queue, &handler), 0);
}

/* The handler runs only in callers of kwq_run_sync(). */
static void start_without_workers(struct kunit *test)
{
	struct sync_test *t = test->priv;

	kwq_pause(&t->queue);
	start_workers(test, 1);
}

static void wait_for_entry(struct kunit *test, struct thing *thing)
{
	KUNIT_ASSERT_NE(test, 0,
			wait_for_completion_timeout(&thing->entered,
						    KWQ_TEST_HANGS_SECONDS * HZ));
}

/* Adds an item, and waits until its handler blocks in a worker. */
static void enter(struct kunit *test, struct thing *thing)
{
	struct sync_test *t = test->priv;

	thing->blocks = true;
	kwq_add(&t->queue, &thing->item);
	wait_for_entry(test, thing);
}

static void leave(struct thing *thing)
{
	thing->blocks = false;
	complete(&thing->leave);
}

static void call(void *data)
{
	struct caller *caller = data;
	struct sync_test *t = caller->test->priv;

	caller->result = caller->call(&t->queue, caller->item);
}

static void begin(struct kunit *test, int i, struct kwq_item *item,
		  int (*fn)(struct kwq_queue *queue, struct kwq_item *item))
{
	struct sync_test *t = test->priv;
	struct caller *caller = &t->caller[i];

	caller->test = test;
	caller->item = item;
	caller->call = fn;
	caller->result = -1;
	kwq_test_thread_start(test, &caller->thread, call, caller);
}

static void expect_end(struct kunit *test, int i, int result)
{
	struct sync_test *t = test->priv;

	kwq_test_thread_join(test, &t->caller[i].thread);
	KUNIT_EXPECT_EQ(test, t->caller[i].result, result);
}

static int flush(struct kwq_queue *queue, struct kwq_item *item)
{
	return kwq_flush(queue);
}

static int drain(struct kwq_queue *queue, struct kwq_item *item)
{
	return kwq_shut_down_with_drain(queue, KTIME_MAX);
}

/* Gets any item, and finishes it. */
static int get_and_finish(struct kwq_queue *queue, struct kwq_item *unused)
{
	struct kwq_item *item = kwq_get(queue, KTIME_MAX);

	return IS_ERR(item) ? PTR_ERR(item) : kwq_done(queue, item);
}

/* ---- Get this item ---- */

static void item_is_got_and_finished(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K9 */
	KUNIT_EXPECT_EQ(test, kwq_try_get_item(q, &t->b.item), -ENOENT);
	kwq_add(q, &t->a.item);
	kwq_add(q, &t->b.item);
	KUNIT_EXPECT_EQ(test, kwq_try_get_item(q, &t->b.item), 0);
	KUNIT_EXPECT_EQ(test, kwq_try_get_item(q, &t->b.item), -EBUSY);
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->b.item), KWQ_DIRTIED);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->b.item), KWQ_REQUEUED);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), &t->a.item);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), &t->b.item);
}

static void waiting_item_is_got_before_its_time(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K9 D6: and the timer has nothing left to do */
	kwq_add_after(q, &t->a.item, 100);
	KUNIT_EXPECT_EQ(test, kwq_try_get_item(q, &t->a.item), 0);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), KTIME_MAX);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a.item), KWQ_FINISHED);
}

/* ---- Run this item ---- */

static void queue_without_handler_runs_nothing(struct kunit *test)
{
	struct sync_test *t = test->priv;

	/* K9 */
	kwq_add(&t->queue, &t->a.item);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(&t->queue, &t->a.item), -EINVAL);
	KUNIT_EXPECT_EQ(test, kwq_len(&t->queue), 1);
}

static void item_runs_in_its_caller(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K9: ready, waiting, both */
	start_without_workers(test);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(q, &t->a.item), 0);
	kwq_add(q, &t->a.item);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(q, &t->a.item), 1);
	KUNIT_EXPECT_PTR_EQ(test, t->a.ran_in, current);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a.item));
	kwq_add_after(q, &t->a.item, 100);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(q, &t->a.item), 1);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), KTIME_MAX);
	kwq_add(q, &t->a.item);
	kwq_add_after(q, &t->a.item, 100);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(q, &t->a.item), 1);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(q, &t->a.item), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->a.runs), 3);
}

static void result_counts_in_its_caller(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K9 K2: a failure, a mistake, another time, death */
	start_without_workers(test);
	t->a.verdict = kwq_result_of(-EIO);
	kwq_add(q, &t->a.item);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(q, &t->a.item), 1);
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(q, &t->a.item), 1);
	KUNIT_EXPECT_EQ(test, kwq_test_nr_waiting(q), 1);
	t->a.verdict = kwq_result_of(1);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(q, &t->a.item), 1);
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(q, &t->a.item), 2);
	t->a.verdict = kwq_result_again_after(7);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(q, &t->a.item), 1);
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(q, &t->a.item), 0);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 7);
	kwq_queue_advance(q, 10);
	t->a.verdict = kwq_result_again_at(15);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(q, &t->a.item), 1);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 15);
	t->a.verdict = kwq_result_again_at(-1);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(q, &t->a.item), 1);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 1);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), KTIME_MAX);
	t->a.verdict = kwq_result_again_at(9);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(q, &t->a.item), 1);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 1);
	t->a.verdict = kwq_result_give_up();
	KUNIT_EXPECT_EQ(test, kwq_run_sync(q, &t->a.item), 1);
	KUNIT_EXPECT_PTR_EQ(test, kwq_first_dead(q), &t->a.item);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(q, &t->a.item), 0);
}

static void handle_alone(struct kwq_queue *queue, struct kwq_item *const *items,
			 struct kwq_result *results, unsigned int nr)
{
	struct sync_test *t = container_of(queue, struct sync_test, queue);

	t->caller[0].result = nr;
	results[0] = handle(queue, items[0]);
}

static void batch_handler_gets_one_item(struct kunit *test)
{
	static const struct kwq_handler handler = {
		.handle_batch = handle_alone,
		.max_active = 1,
		.max_batch = 4,
		.wq_flags = WQ_UNBOUND,
	};
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K9 K10 */
	kwq_pause(q);
	KUNIT_ASSERT_EQ(test, kwq_start_handler(q, &handler), 0);
	kwq_add(q, &t->a.item);
	kwq_add(q, &t->b.item);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(q, &t->b.item), 1);
	KUNIT_EXPECT_EQ(test, t->caller[0].result, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->b.runs), 1);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->b.item));
}

static void run_waits_for_a_worker(struct kunit *test)
{
	struct sync_test *t = test->priv;

	/* K9: nothing is left to do after it */
	start_workers(test, 1);
	enter(test, &t->a);
	begin(test, 0, &t->a.item, kwq_run_sync);
	kwq_test_wait_until(test, nr_drainers(t) == 1);
	leave(&t->a);
	expect_end(test, 0, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->a.runs), 1);
}

static void run_looks_again_after_a_worker(struct kunit *test)
{
	struct sync_test *t = test->priv;

	/* K9: only the caller can take it, as the queue is paused */
	start_workers(test, 1);
	enter(test, &t->a);
	kwq_pause(&t->queue);
	kwq_add(&t->queue, &t->a.item);
	begin(test, 0, &t->a.item, kwq_run_sync);
	kwq_test_wait_until(test, nr_drainers(t) == 1);
	leave(&t->a);
	expect_end(test, 0, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->a.runs), 2);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a.item));
}

/* So often adds an item during its run, ends the run, and begins the next one, all in one hold. */
static void begin_next_runs(struct kwq_queue *queue, struct kwq_item *item, int nr)
{
	static const struct kwq_add_options now = {};
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	while (nr--) {
		kwq_add_locked(queue, item, &now, 0);
		kwq_done_locked(queue, &queue->holder, item, 0, 0);
		kwq_get_item_locked(queue, item, &queue->holder, 0);
	}
	kwq_unlock(queue, flags);
}

static void begin_next_run(struct kwq_queue *queue, struct kwq_item *item)
{
	begin_next_runs(queue, item, 1);
}

static void run_waits_for_two_runs_at_most(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K9: the second run began after the call, so the third is not for adds before */
	start_without_workers(test);
	kwq_add(q, &t->a.item);
	KUNIT_ASSERT_EQ(test, kwq_try_get_item(q, &t->a.item), 0);
	begin(test, 0, &t->a.item, kwq_run_sync);
	kwq_test_wait_until(test, nr_drainers(t) == 1);
	begin_next_run(q, &t->a.item);
	kwq_test_wait_until(test, nr_drainers(t) == 1);
	KUNIT_EXPECT_EQ(test, t->caller[0].result, -1);
	begin_next_run(q, &t->a.item);
	expect_end(test, 0, 0);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a.item), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->a.runs), 0);
}

static void run_is_told_from_later_ones(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	int nr;

	/* K9: although up to 15 runs began before the caller could look */
	start_without_workers(test);
	for (nr = 1; nr < 16; nr++) {
		kwq_add(q, &t->a.item);
		KUNIT_ASSERT_EQ(test, kwq_try_get_item(q, &t->a.item), 0);
		begin(test, 0, &t->a.item, kwq_run_sync);
		kwq_test_wait_until(test, nr_drainers(t) == 1);
		begin_next_runs(q, &t->a.item, nr);
		kwq_test_wait_until(test, nr_drainers(t) == 1);
		begin_next_run(q, &t->a.item);
		expect_end(test, 0, 0);
		KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a.item), KWQ_FINISHED);
	}
}

static void run_in_a_caller_is_awaited(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K9 K8 Q3: by a cancel, a flush and another caller; nobody else can get or end it */
	start_without_workers(test);
	t->a.blocks = true;
	kwq_add(q, &t->a.item);
	begin(test, 0, &t->a.item, kwq_run_sync);
	wait_for_entry(test, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_try_get_item(q, &t->a.item), -EBUSY);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a.item), -EPERM);
	begin(test, 1, NULL, flush);
	kwq_test_wait_until(test, nr_drainers(t) == 1);
	begin(test, 2, &t->a.item, kwq_run_sync);
	kwq_test_wait_until(test, nr_drainers(t) == 2);
	leave(&t->a);
	expect_end(test, 0, 1);
	expect_end(test, 1, 0);
	expect_end(test, 2, 0);

	t->a.blocks = true;
	kwq_add(q, &t->a.item);
	begin(test, 0, &t->a.item, kwq_run_sync);
	wait_for_entry(test, &t->a);
	begin(test, 1, &t->a.item, kwq_cancel_sync);
	kwq_test_wait_until(test, nr_drainers(t) == 1);
	leave(&t->a);
	expect_end(test, 0, 1);
	expect_end(test, 1, KWQ_WAS_PROCESSING);
}

static void run_another(struct kwq_queue *queue)
{
	struct sync_test *t = container_of(queue, struct sync_test, queue);

	t->caller[0].result = kwq_run_sync(queue, &t->b.item);
}

static void deadlocks(struct kwq_queue *queue)
{
	struct sync_test *t = container_of(queue, struct sync_test, queue);

	t->caller[0].result = kwq_run_sync(queue, &t->a.item) == -EDEADLK &&
			      kwq_cancel_sync(queue, &t->a.item) == -EDEADLK &&
			      kwq_disable_sync(queue, &t->a.item) == -EDEADLK &&
			      kwq_flush(queue) == -EDEADLK &&
			      kwq_cancel_all_sync(queue) == -EDEADLK &&
			      kwq_pause_sync(queue) == -EDEADLK &&
			      kwq_shut_down_with_drain(queue, KTIME_MAX) == -EDEADLK;
}

static void handler_runs_another_item(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K9: in its caller, and in a worker */
	start_without_workers(test);
	t->a.within = run_another;
	kwq_add(q, &t->a.item);
	kwq_add(q, &t->b.item);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(q, &t->a.item), 1);
	KUNIT_EXPECT_EQ(test, t->caller[0].result, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->b.runs), 1);
	t->caller[0].result = -1;
	kwq_add(q, &t->a.item);
	kwq_add(q, &t->b.item);
	kwq_resume(q);
	KUNIT_EXPECT_EQ(test, kwq_flush(q), 0);
	KUNIT_EXPECT_EQ(test, t->caller[0].result, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->b.runs), 2);
}

static void handler_does_not_wait_for_itself(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K9 K3: in its caller, in the handler of an item that it runs, and in a worker */
	start_without_workers(test);
	t->a.within = deadlocks;
	kwq_add(q, &t->a.item);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(q, &t->a.item), 1);
	KUNIT_EXPECT_EQ(test, t->caller[0].result, 1);
	t->a.within = NULL;
	t->caller[0].result = -1;
	kwq_add(q, &t->a.item);
	kwq_add(q, &t->b.item);
	t->a.within = run_another;
	t->b.within = deadlocks;
	KUNIT_EXPECT_EQ(test, kwq_run_sync(q, &t->a.item), 1);
	KUNIT_EXPECT_EQ(test, t->caller[0].result, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->b.runs), 1);
	t->a.within = deadlocks;
	t->caller[0].result = -1;
	kwq_add(q, &t->a.item);
	kwq_resume(q);
	KUNIT_EXPECT_EQ(test, kwq_flush(q), 0);
	KUNIT_EXPECT_EQ(test, t->caller[0].result, 1);
	KUNIT_EXPECT_FALSE(test, kwq_shutting_down(q));
}

/* ---- Flush ---- */

static void flush_of_nothing_ends_at_once(struct kunit *test)
{
	struct sync_test *t = test->priv;

	/* K9: waiting items do not count */
	KUNIT_EXPECT_EQ(test, kwq_flush(&t->queue), 0);
	kwq_add_after(&t->queue, &t->a.item, 100);
	KUNIT_EXPECT_EQ(test, kwq_flush(&t->queue), 0);
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, nr_waiting, 1);
}

static void flush_waits_for_what_was_queued(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K9: processing and ready, but not a later add */
	kwq_add(q, &t->a.item);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), &t->a.item);
	kwq_add(q, &t->b.item);
	begin(test, 0, NULL, flush);
	kwq_test_wait_until(test, nr_drainers(t) == 1);
	kwq_add(q, &t->a.item);
	kwq_add(q, &t->c.item);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a.item), KWQ_REQUEUED);
	KUNIT_EXPECT_EQ(test, nr_drainers(t), 1);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), &t->b.item);
	KUNIT_EXPECT_EQ(test, nr_drainers(t), 1);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->b.item), KWQ_FINISHED);
	expect_end(test, 0, 0);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 2);
}

static void later_flushes_share_one(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K9: an item that was added after the first flush began */
	kwq_add(q, &t->a.item);
	begin(test, 0, NULL, flush);
	kwq_test_wait_until(test, nr_drainers(t) == 1);
	kwq_add(q, &t->b.item);
	begin(test, 1, NULL, flush);
	kwq_test_wait_until(test, nr_drainers(t) == 2);
	begin(test, 2, NULL, flush);
	kwq_test_wait_until(test, nr_drainers(t) == 3);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), &t->a.item);
	kwq_done(q, &t->a.item);
	expect_end(test, 0, 0);
	kwq_test_wait_until(test, nr_drainers(t) == 2);
	KUNIT_EXPECT_EQ(test, q->core.flushes, 1);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), &t->b.item);
	kwq_done(q, &t->b.item);
	expect_end(test, 1, 0);
	expect_end(test, 2, 0);
	KUNIT_EXPECT_EQ(test, q->core.flushes, 2);
}

static void flush_ends_with_its_items(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K9: one is removed, one cancelled, one is dead */
	start_without_workers(test);
	kwq_add(q, &t->a.item);
	kwq_add(q, &t->b.item);
	kwq_add(q, &t->c.item);
	t->c.verdict = kwq_result_give_up();
	begin(test, 0, NULL, flush);
	kwq_test_wait_until(test, nr_drainers(t) == 1);
	KUNIT_EXPECT_EQ(test, kwq_remove(q, &t->a.item), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, kwq_cancel_sync(q, &t->b.item), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, nr_drainers(t), 1);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(q, &t->c.item), 1);
	expect_end(test, 0, 0);
	KUNIT_EXPECT_PTR_EQ(test, kwq_first_dead(q), &t->c.item);
}

static void flush_ends_with_its_queue(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K9 K3 */
	kwq_add(q, &t->a.item);
	begin(test, 0, NULL, flush);
	kwq_test_wait_until(test, nr_drainers(t) == 1);
	kwq_shut_down(q);
	KUNIT_EXPECT_EQ(test, q->core.nr_before, 1);
	KUNIT_EXPECT_EQ(test, kwq_cancel_all_sync(q), 0);
	expect_end(test, 0, 0);
	KUNIT_EXPECT_EQ(test, kwq_flush(q), 0);
}

/* ---- Expedite, pending ---- */

static void waiting_item_is_expedited(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K9: a getter wakes up */
	KUNIT_EXPECT_EQ(test, kwq_expedite(q, &t->a.item), -ENOENT);
	kwq_add_after(q, &t->a.item, 100);
	begin(test, 0, NULL, get_and_finish);
	kwq_test_wait_until(test, nr_getters(t) == 1);
	KUNIT_EXPECT_EQ(test, kwq_expedite(q, &t->a.item), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), KTIME_MAX);
	expect_end(test, 0, KWQ_FINISHED);
	kwq_shut_down(q);
	KUNIT_EXPECT_EQ(test, kwq_expedite(q, &t->a.item), -ESHUTDOWN);
}

static void pending_item_is_not_added(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct kwq_item *item = &t->a.item;

	KUNIT_EXPECT_FALSE(test, kwq_item_pending(item));
	KUNIT_EXPECT_EQ(test, kwq_add_unless_pending(q, item, 100), KWQ_WAITING);
	KUNIT_EXPECT_TRUE(test, kwq_item_pending(item));
	KUNIT_EXPECT_EQ(test, kwq_add_unless_pending(q, item, 50), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_add_unless_pending(q, item, 0), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 100);
	kwq_queue_advance(q, 100);
	KUNIT_EXPECT_TRUE(test, kwq_item_pending(item));
	KUNIT_EXPECT_EQ(test, kwq_add_unless_pending(q, item, 50), KWQ_COALESCED);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), item);
	KUNIT_EXPECT_FALSE(test, kwq_item_pending(item));
	KUNIT_EXPECT_EQ(test, kwq_add_unless_pending(q, item, 0), KWQ_DIRTIED);
	KUNIT_EXPECT_TRUE(test, kwq_item_pending(item));
	KUNIT_EXPECT_EQ(test, kwq_add_unless_pending(q, item, 50), KWQ_DIRTY);
	KUNIT_EXPECT_EQ(test, kwq_done(q, item), KWQ_REQUEUED);
	kwq_remove(q, item);
	KUNIT_EXPECT_EQ(test, kwq_add_unless_pending(q, item, 0), KWQ_ADDED);
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, coalesced, 2);
	kwq_shut_down(q);
	KUNIT_EXPECT_EQ(test, kwq_add_unless_pending(q, item, 0), -ESHUTDOWN);
}

/* Returns how often the item was not pending, until the queue is shut down. */
static int look_whether_pending(struct kwq_queue *queue, struct kwq_item *item)
{
	int nr_idle = 0;

	while (!kwq_shutting_down(queue)) {
		if (!kwq_item_pending(item) && !kwq_shutting_down(queue))
			nr_idle++;
		cond_resched();
	}
	return nr_idle;
}

#define NR_MOVES 20000

static void moving_item_stays_pending(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct kwq_item *item = &t->a.item;
	struct kwq_add_options replace = { .flags = KWQ_ADD_AFTER | KWQ_ADD_REPLACE };
	int i;

	/* D2 D3 K9: the item always waits or is ready. The looks of another processor see so. */
	kwq_add_after(q, item, 1);
	begin(test, 0, item, look_whether_pending);
	for (i = 0; i < NR_MOVES; i++) {
		replace.time = 2 + i;
		kwq_add_with(q, item, &replace);
		if (i & 1)
			kwq_queue_advance(q, replace.time);
		else
			kwq_expedite(q, item);
		kwq_add_after(q, item, NR_MOVES);
		kwq_try_get(q);
		kwq_done(q, item);
		cond_resched();
	}
	kwq_shut_down(q);
	expect_end(test, 0, 0);
}

/* ---- Pause ---- */

static void sleepers_get_items_after_a_resume(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q14: one waiter for each item */
	begin(test, 0, NULL, get_and_finish);
	begin(test, 1, NULL, get_and_finish);
	begin(test, 2, NULL, get_and_finish);
	kwq_test_wait_until(test, nr_getters(t) == 3);
	kwq_pause(q);
	kwq_pause(q);
	kwq_add(q, &t->a.item);
	kwq_add_after(q, &t->b.item, 10);
	kwq_queue_advance(q, 10);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 2);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), ERR_PTR(-EAGAIN));
	/* The advance woke them to look at their deadlines. */
	kwq_test_wait_until(test, nr_getters(t) == 3);
	KUNIT_EXPECT_EQ(test, kwq_resume(q), 0);
	KUNIT_EXPECT_EQ(test, nr_getters(t), 3);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 2);
	KUNIT_EXPECT_EQ(test, kwq_resume(q), 0);
	KUNIT_EXPECT_EQ(test, nr_getters(t), 1);
	KUNIT_EXPECT_EQ(test, kwq_flush(q), 0);
	KUNIT_EXPECT_EQ(test, kwq_resume(q), -EINVAL);
	kwq_add(q, &t->c.item);
	kwq_test_thread_join(test, &t->caller[0].thread);
	kwq_test_thread_join(test, &t->caller[1].thread);
	kwq_test_thread_join(test, &t->caller[2].thread);
}

static bool are_all_idle(struct kwq_queue *queue)
{
	struct kwq_workers *workers = queue->workers;
	unsigned long flags;
	size_t nr;

	spin_lock_irqsave(&queue->lock, flags);
	nr = list_count_nodes(&workers->idle);
	spin_unlock_irqrestore(&queue->lock, flags);
	return nr == workers->nr;
}

static void paused_handler_is_not_called(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q14 K2: for items that were ready before it started, and for later ones */
	kwq_pause(q);
	kwq_add(q, &t->a.item);
	start_workers(test, 2);
	kwq_add(q, &t->b.item);
	KUNIT_EXPECT_TRUE(test, are_all_idle(q));
	KUNIT_EXPECT_EQ(test, kwq_resume(q), 0);
	KUNIT_EXPECT_EQ(test, kwq_flush(q), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->a.runs), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->b.runs), 1);
}

static void worker_stops_at_a_pause(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q14 K2 */
	start_workers(test, 1);
	enter(test, &t->a);
	kwq_add(q, &t->b.item);
	kwq_pause(q);
	leave(&t->a);
	kwq_test_wait_until(test, are_all_idle(q));
	KUNIT_EXPECT_EQ(test, kwq_len(q), 1);
	KUNIT_EXPECT_EQ(test, kwq_resume(q), 0);
	KUNIT_EXPECT_EQ(test, kwq_flush(q), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->b.runs), 1);
}

#define NR_CROWD	(3 * KWQ_ITEMS_PER_HOLD)

struct crowd {
	KWQ_TEST_QUEUE;
	struct kwq_item item[NR_CROWD];
	atomic_t inside;
	struct completion leave;
};

static struct kwq_result join_crowd(struct kwq_queue *queue, struct kwq_item *item)
{
	struct crowd *crowd = container_of(queue, struct crowd, queue);

	atomic_inc(&crowd->inside);
	wait_for_completion(&crowd->leave);
	return kwq_result_done();
}

/* Makes a crowd of items ready in a paused queue, and ends the pause. */
static void expect_crowd(struct kunit *test, void (*pause)(struct kwq_queue *queue),
			 void (*resume)(struct kwq_queue *queue))
{
	static const struct kwq_handler handler = {
		.handle = join_crowd,
		.max_active = NR_CROWD,
		.wq_flags = WQ_UNBOUND,
	};
	struct crowd *crowd = kunit_kzalloc(test, sizeof(*crowd), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, crowd);
	init_completion(&crowd->leave);
	kwq_test_queue_init(&crowd->queue, "crowd", KWQ_CLOCK_MANUAL);
	KUNIT_ASSERT_EQ(test, kwq_start_handler(&crowd->queue, &handler), 0);
	pause(&crowd->queue);
	for (i = 0; i < NR_CROWD; i++) {
		kwq_item_init(&crowd->item[i]);
		kwq_add(&crowd->queue, &crowd->item[i]);
	}
	KUNIT_EXPECT_TRUE(test, are_all_idle(&crowd->queue));
	resume(&crowd->queue);
	kwq_test_wait_until(test, atomic_read(&crowd->inside) == NR_CROWD);
	complete_all(&crowd->leave);
	kwq_queue_destroy(&crowd->queue);
}

static void resume(struct kwq_queue *queue)
{
	kwq_resume(queue);
}

static void pause_for_10(struct kwq_queue *queue)
{
	kwq_pause_for(queue, 10);
}

static void advance_to_10(struct kwq_queue *queue)
{
	kwq_queue_advance(queue, 10);
}

static void resume_calls_a_crowd_of_workers(struct kunit *test)
{
	/* Q14 K2 O8: as many as items are ready, in several holds of the lock */
	expect_crowd(test, kwq_pause, resume);
}

static void timer_calls_a_crowd_of_workers(struct kunit *test)
{
	/* Q14 K2 O8 */
	expect_crowd(test, pause_for_10, advance_to_10);
}

static void drain_waits_for_a_resume(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q14 Q9: and so do a get, and a flush */
	kwq_pause(q);
	kwq_add(q, &t->a.item);
	begin(test, 0, NULL, drain);
	kwq_test_wait_until(test, nr_drainers(t) == 1);
	begin(test, 1, NULL, get_and_finish);
	kwq_test_wait_until(test, nr_getters(t) == 1);
	begin(test, 2, NULL, flush);
	kwq_test_wait_until(test, nr_drainers(t) == 2);
	KUNIT_EXPECT_EQ(test, kwq_resume(q), 0);
	expect_end(test, 0, 0);
	expect_end(test, 1, KWQ_FINISHED);
	expect_end(test, 2, 0);
}

static void paused_queue_is_destroyed(struct kunit *test)
{
	struct sync_test *t = test->priv;

	/* Q14 K3: sync_test_exit() does it */
	start_without_workers(test);
	kwq_add(&t->queue, &t->a.item);
	kwq_add_after(&t->queue, &t->b.item, 10);
}

/* ---- Timed pauses ---- */

static void timed_pause_ends_by_itself(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q14 D5 */
	kwq_pause_for(q, 10);
	kwq_add(q, &t->a.item);
	kwq_add(q, &t->b.item);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 10);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), ERR_PTR(-EAGAIN));
	kwq_queue_advance(q, 9);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), ERR_PTR(-EAGAIN));
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 10);
	kwq_queue_advance(q, 10);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), KTIME_MAX);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), &t->a.item);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), &t->b.item);
}

static void timed_pauses_add_up(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q14 D7: from the end of the one that is running, else from now */
	kwq_add(q, &t->a.item);
	kwq_pause_for(q, 0);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), KTIME_MAX);
	kwq_pause_for(q, 10);
	kwq_pause_for(q, 5);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 15);
	kwq_queue_advance(q, 3);
	kwq_pause_for(q, 7);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 22);
	KUNIT_EXPECT_EQ(test, kwq_remove(q, &t->a.item), KWQ_WAS_READY);
	kwq_queue_advance(q, 30);
	kwq_add(q, &t->a.item);
	kwq_pause_for(q, 4);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 34);
	kwq_pause_for(q, U64_MAX);
	KUNIT_EXPECT_EQ(test, q->paused_until, KTIME_MAX);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), KTIME_MAX);
	kwq_pause_for(q, 1);
	KUNIT_EXPECT_EQ(test, q->paused_until, KTIME_MAX);
	kwq_queue_advance(q, KTIME_MAX - 1);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), ERR_PTR(-EAGAIN));
	kwq_pause_until(q, 0);
	kwq_pause_until(q, 0);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), &t->a.item);
}

static void later_pause_takes_the_place(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q14: of the one before, whether it ends earlier or later */
	kwq_add(q, &t->a.item);
	kwq_pause_until(q, 10);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 10);
	kwq_pause_until(q, 30);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 30);
	kwq_queue_advance(q, 10);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), ERR_PTR(-EAGAIN));
	kwq_pause_until(q, 20);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 20);
	kwq_queue_advance(q, 19);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), ERR_PTR(-EAGAIN));
	kwq_queue_advance(q, 20);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), &t->a.item);
	KUNIT_EXPECT_EQ(test, kwq_resume(q), -EINVAL);

	/* A time that has passed ends a pause, and does not begin one. */
	kwq_add(q, &t->b.item);
	kwq_pause_until(q, 30);
	kwq_pause_until(q, 20);
	KUNIT_EXPECT_EQ(test, q->core.paused, 0);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), &t->b.item);
	kwq_pause_until(q, 0);
	KUNIT_EXPECT_EQ(test, q->core.paused, 0);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), KTIME_MAX);
}

static void pause_without_an_end(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q14: not even at the end of time, and it is one pause only */
	kwq_add(q, &t->a.item);
	kwq_pause_until(q, 10);
	kwq_pause_until(q, KTIME_MAX);
	kwq_pause_until(q, KTIME_MAX);
	KUNIT_EXPECT_EQ(test, q->core.paused, 1);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), KTIME_MAX);
	kwq_queue_advance(q, KTIME_MAX);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), ERR_PTR(-EAGAIN));
	kwq_pause_until(q, 0);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), &t->a.item);
}

static void end_of_a_pause_wakes_one_for_each(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q14 Q5: when a pause is replaced by one that is over, too */
	begin(test, 0, NULL, get_and_finish);
	begin(test, 1, NULL, get_and_finish);
	begin(test, 2, NULL, get_and_finish);
	kwq_test_wait_until(test, nr_getters(t) == 3);
	kwq_pause_until(q, KTIME_MAX);
	kwq_add(q, &t->a.item);
	kwq_add(q, &t->b.item);
	KUNIT_EXPECT_EQ(test, nr_getters(t), 3);
	kwq_pause_until(q, 0);
	KUNIT_EXPECT_EQ(test, nr_getters(t), 1);
	kwq_add(q, &t->c.item);
	kwq_test_thread_join(test, &t->caller[0].thread);
	kwq_test_thread_join(test, &t->caller[1].thread);
	kwq_test_thread_join(test, &t->caller[2].thread);
}

static void pace_of_an_empty_queue_needs_no_timer(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q14 D6: and a pause that is over while nothing happens delays nothing */
	kwq_pause_for(q, 10);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), KTIME_MAX);
	kwq_add(q, &t->a.item);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 10);
	KUNIT_EXPECT_EQ(test, kwq_remove(q, &t->a.item), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), KTIME_MAX);
	q->manual_now = 10;
	kwq_add(q, &t->a.item);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), KTIME_MAX);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), &t->a.item);

	kwq_add(q, &t->b.item);
	kwq_pause_for(q, 10);
	q->manual_now = 20;
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), &t->b.item);
	kwq_pause_for(q, 10);
	q->manual_now = 30;
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), ERR_PTR(-EAGAIN));
}

static void pauses_are_independent(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q14 */
	kwq_add(q, &t->a.item);
	kwq_pause(q);
	kwq_pause_for(q, 10);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), KTIME_MAX);
	KUNIT_EXPECT_EQ(test, kwq_resume(q), 0);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 10);
	KUNIT_EXPECT_EQ(test, kwq_resume(q), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), ERR_PTR(-EAGAIN));
	kwq_pause(q);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), KTIME_MAX);
	kwq_queue_advance(q, 10);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), ERR_PTR(-EAGAIN));
	kwq_pause_for(q, 10);
	kwq_pause_until(q, 0);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), ERR_PTR(-EAGAIN));
	KUNIT_EXPECT_EQ(test, kwq_resume(q), 0);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), &t->a.item);
	KUNIT_EXPECT_EQ(test, kwq_resume(q), -EINVAL);
}

static void item_overtakes_a_pace(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q14 K9 */
	kwq_pause_for(q, 10);
	start_workers(test, 1);
	kwq_add(q, &t->a.item);
	kwq_add(q, &t->b.item);
	kwq_add(q, &t->c.item);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(q, &t->b.item), 1);
	KUNIT_EXPECT_EQ(test, kwq_try_get_item(q, &t->c.item), 0);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->c.item), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->a.runs), 0);
	kwq_queue_advance(q, 10);
	KUNIT_EXPECT_EQ(test, kwq_flush(q), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->a.runs), 1);
}

static void handler_keeps_a_pace(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q14 K2: one run in 10 ns; nothing is left for the timer after the last one */
	t->a.within = pause_for_10;
	t->b.within = pause_for_10;
	t->c.within = pause_for_10;
	start_workers(test, 1);
	kwq_add(q, &t->a.item);
	kwq_test_wait_until(test, atomic_read(&t->a.runs) == 1 && are_all_idle(q));
	kwq_add(q, &t->b.item);
	kwq_add(q, &t->c.item);
	kwq_queue_advance(q, 9);
	KUNIT_EXPECT_TRUE(test, are_all_idle(q));
	kwq_queue_advance(q, 10);
	kwq_test_wait_until(test, atomic_read(&t->b.runs) == 1 && are_all_idle(q));
	KUNIT_EXPECT_EQ(test, atomic_read(&t->c.runs), 0);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 20);
	kwq_queue_advance(q, 20);
	kwq_test_wait_until(test, atomic_read(&t->c.runs) == 1 && are_all_idle(q));
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), KTIME_MAX);
}

static void handle_and_pause(struct kwq_queue *queue, struct kwq_item *const *items,
			     struct kwq_result *results, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		results[i] = handle(queue, items[i]);
	kwq_pause_for(queue, 10 * nr);
}

static void batch_handler_keeps_a_pace(struct kunit *test)
{
	static const struct kwq_handler handler = {
		.handle_batch = handle_and_pause,
		.max_active = 1,
		.max_batch = 2,
		.wq_flags = WQ_UNBOUND,
	};
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q14 K10: a batch pays for each of its items */
	kwq_add(q, &t->a.item);
	kwq_add(q, &t->b.item);
	kwq_add(q, &t->c.item);
	KUNIT_ASSERT_EQ(test, kwq_start_handler(q, &handler), 0);
	kwq_test_wait_until(test, atomic_read(&t->b.runs) == 1 && are_all_idle(q));
	KUNIT_EXPECT_EQ(test, kwq_len(q), 1);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 20);
	kwq_queue_advance(q, 20);
	kwq_test_wait_until(test, atomic_read(&t->c.runs) == 1 && are_all_idle(q));
	KUNIT_EXPECT_EQ(test, q->paused_until, 30);
}

static void drain_waits_for_a_timed_pause(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q14 Q9: and so do a get and a flush; a shut down leaves the timer armed for it */
	kwq_add(q, &t->a.item);
	kwq_pause_for(q, 10);
	begin(test, 0, NULL, drain);
	kwq_test_wait_until(test, nr_drainers(t) == 1);
	begin(test, 1, NULL, get_and_finish);
	kwq_test_wait_until(test, nr_getters(t) == 1);
	begin(test, 2, NULL, flush);
	kwq_test_wait_until(test, nr_drainers(t) == 2);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 10);
	kwq_queue_advance(q, 10);
	expect_end(test, 0, 0);
	expect_end(test, 1, KWQ_FINISHED);
	expect_end(test, 2, 0);
}

static void cancels_do_not_wait_for_a_pace(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q14 K8 K3: sync_test_exit() destroys the queue */
	start_workers(test, 1);
	kwq_pause_for(q, U64_MAX);
	kwq_add(q, &t->a.item);
	kwq_add(q, &t->b.item);
	KUNIT_EXPECT_EQ(test, kwq_cancel_sync(q, &t->a.item), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->a.runs), 0);
}

static void pace_on_a_clock(struct kunit *test, enum kwq_clock clock)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	ktime_t end;

	kwq_queue_destroy(q);
	kwq_queue_init(q, "paced", clock);
	kwq_item_init(&t->b.item);
	begin(test, 0, NULL, get_and_finish);
	kwq_test_wait_until(test, nr_getters(t) == 1);
	end = ktime_add(kwq_queue_now(q), 20 * NSEC_PER_MSEC);
	kwq_pause_for(q, 20 * NSEC_PER_MSEC);
	kwq_add(q, &t->a.item);
	expect_end(test, 0, KWQ_FINISHED);
	KUNIT_EXPECT_GE(test, kwq_queue_now(q), end);

	/* The timer is armed, and the queue is destroyed all the same. */
	kwq_pause_for(q, U64_MAX / 4);
	kwq_add(q, &t->b.item);
}

static void timer_ends_a_pace(struct kunit *test)
{
	/* Q14 D5 D8: a sleeping getter wakes up, and not early */
	pace_on_a_clock(test, KWQ_CLOCK_MONOTONIC);
	pace_on_a_clock(test, KWQ_CLOCK_BOOTTIME);
}

/* ---- Pause and wait ---- */

static int pause_sync(struct kwq_queue *queue, struct kwq_item *item)
{
	return kwq_pause_sync(queue);
}

static unsigned long nr_processing(struct kwq_queue *queue)
{
	unsigned long flags, nr;

	spin_lock_irqsave(&queue->lock, flags);
	nr = queue->core.nr_processing;
	spin_unlock_irqrestore(&queue->lock, flags);
	return nr;
}

static void pause_waits_for_all_handlers(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q14: adds meanwhile are kept */
	start_workers(test, 2);
	enter(test, &t->a);
	enter(test, &t->b);
	begin(test, 0, NULL, pause_sync);
	kwq_test_wait_until(test, nr_drainers(t) == 1);
	kwq_add(q, &t->a.item);
	kwq_add(q, &t->c.item);
	leave(&t->a);
	kwq_test_wait_until(test, nr_processing(q) == 1);
	kwq_test_wait_until(test, nr_drainers(t) == 1);
	leave(&t->b);
	expect_end(test, 0, 0);
	KUNIT_EXPECT_EQ(test, nr_processing(q), 0);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 2);
	KUNIT_EXPECT_EQ(test, kwq_pause_sync(q), 0);
	KUNIT_EXPECT_EQ(test, kwq_resume(q), 0);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 2);
	KUNIT_EXPECT_EQ(test, kwq_resume(q), 0);
	KUNIT_EXPECT_EQ(test, kwq_flush(q), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->a.runs), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->c.runs), 1);
}

static void pause_waits_for_got_items(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q14 Q8: also after a shut down */
	kwq_add(q, &t->a.item);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(q), &t->a.item);
	kwq_shut_down(q);
	begin(test, 0, NULL, pause_sync);
	kwq_test_wait_until(test, nr_drainers(t) == 1);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a.item), KWQ_FINISHED);
	expect_end(test, 0, 0);
}

static void pause_waits_for_no_later_run(struct kunit *test)
{
	struct sync_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q14: other tasks that run items in spite of the pause cannot starve it */
	start_workers(test, 1);
	enter(test, &t->a);
	begin(test, 0, NULL, pause_sync);
	kwq_test_wait_until(test, nr_drainers(t) == 1);
	kwq_queue_advance(q, 1);
	kwq_test_wait_until(test, nr_drainers(t) == 1);
	t->b.blocks = true;
	kwq_add(q, &t->b.item);
	begin(test, 1, &t->b.item, kwq_run_sync);
	wait_for_entry(test, &t->b);
	leave(&t->a);
	kwq_test_wait_until(test, completion_done(&t->caller[0].thread.finished));
	KUNIT_EXPECT_EQ(test, nr_processing(q), 1);
	leave(&t->b);
	expect_end(test, 0, 0);
	expect_end(test, 1, 1);
}

/* ---- Storms ---- */

#define NR_BUSY		3
#define NR_STORMERS	4
#define NR_CALLS	500

/*
 * An object that many tasks change
 * @wanted: its state
 * @seen: the state when its last run began
 */
struct busy {
	struct kwq_item item;
	atomic_t wanted;
	int seen;
	atomic_t inside;
};

struct storm {
	KWQ_TEST_QUEUE;
	struct busy busy[NR_BUSY];
	struct kwq_test_thread thread[NR_STORMERS];
	atomic_t twice;
	atomic_t too_early;
	atomic_t ran;
	bool over;
};

static struct kwq_result handle_busy(struct kwq_queue *queue, struct kwq_item *item)
{
	struct storm *storm = container_of(queue, struct storm, queue);
	struct busy *busy = container_of(item, struct busy, item);

	if (atomic_inc_return(&busy->inside) > 1)
		atomic_inc(&storm->twice);
	WRITE_ONCE(busy->seen, atomic_read(&busy->wanted));
	cond_resched();
	atomic_dec(&busy->inside);
	return kwq_result_done();
}

static struct storm *start_storm(struct kunit *test, void (*fn)(void *data))
{
	static const struct kwq_handler handler = {
		.handle = handle_busy,
		.max_active = 2,
		.wq_flags = WQ_UNBOUND,
	};
	struct storm *storm = kunit_kzalloc(test, sizeof(*storm), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, storm);
	kwq_test_queue_init(&storm->queue, "storm", KWQ_CLOCK_MONOTONIC);
	for (i = 0; i < NR_BUSY; i++)
		kwq_item_init(&storm->busy[i].item);
	KUNIT_ASSERT_EQ(test, kwq_start_handler(&storm->queue, &handler), 0);
	for (i = 0; i < NR_STORMERS; i++)
		kwq_test_thread_start(test, &storm->thread[i], fn, storm);
	return storm;
}

static void end_storm(struct kunit *test, struct storm *storm)
{
	int i;

	for (i = 0; i < NR_STORMERS; i++)
		kwq_test_thread_join(test, &storm->thread[i]);
	KUNIT_EXPECT_EQ(test, kwq_flush(&storm->queue), 0);
	for (i = 0; i < NR_BUSY; i++)
		KUNIT_EXPECT_EQ(test, storm->busy[i].seen, atomic_read(&storm->busy[i].wanted));
	KUNIT_EXPECT_EQ(test, atomic_read(&storm->twice), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&storm->too_early), 0);
	KUNIT_EXPECT_EQ(test, storm->queue.core.nr_before, 0);
	kwq_queue_destroy(&storm->queue);
}

/* After the call, the change has been seen. */
static void add_and_run(void *data)
{
	struct storm *storm = data;
	struct busy *busy;
	int i, mine;

	for (i = 0; i < NR_CALLS; i++) {
		busy = &storm->busy[i % NR_BUSY];
		mine = atomic_inc_return(&busy->wanted);
		if (i % 4)
			kwq_add(&storm->queue, &busy->item);
		else
			kwq_add_after(&storm->queue, &busy->item, 1000);
		atomic_add(kwq_run_sync(&storm->queue, &busy->item), &storm->ran);
		if (READ_ONCE(busy->seen) < mine)
			atomic_inc(&storm->too_early);
		cond_resched();
	}
}

static void callers_and_workers_run_nothing_twice(struct kunit *test)
{
	struct storm *storm = start_storm(test, add_and_run);

	/* K9 Q3 Q4 */
	end_storm(test, storm);
	KUNIT_EXPECT_GT(test, atomic_read(&storm->ran), 0);
}

static void add_until_over(void *data)
{
	struct storm *storm = data;
	unsigned int i;

	for (i = 0; !READ_ONCE(storm->over); i++) {
		struct busy *busy = &storm->busy[i % NR_BUSY];

		atomic_inc(&busy->wanted);
		kwq_add(&storm->queue, &busy->item);
		cond_resched();
	}
}

static void flush_ends_in_a_storm_of_adds(struct kunit *test)
{
	struct storm *storm = start_storm(test, add_until_over);
	int i, n, wanted[NR_BUSY];

	/* K9: and whatever was added before has been seen */
	for (n = 0; n < 200; n++) {
		for (i = 0; i < NR_BUSY; i++) {
			wanted[i] = atomic_inc_return(&storm->busy[i].wanted);
			kwq_add(&storm->queue, &storm->busy[i].item);
		}
		KUNIT_EXPECT_EQ(test, kwq_flush(&storm->queue), 0);
		for (i = 0; i < NR_BUSY; i++)
			if (READ_ONCE(storm->busy[i].seen) < wanted[i])
				atomic_inc(&storm->too_early);
	}
	WRITE_ONCE(storm->over, true);
	end_storm(test, storm);
}

#define PACE_NS		1000

static void add_and_pause(void *data)
{
	struct storm *storm = data;
	struct busy *busy;
	int i;

	for (i = 0; i < NR_CALLS; i++) {
		busy = &storm->busy[i % NR_BUSY];
		atomic_inc(&busy->wanted);
		kwq_add(&storm->queue, &busy->item);
		kwq_pause_for(&storm->queue, PACE_NS);
		cond_resched();
	}
}

static void pauses_of_many_tasks_add_up(struct kunit *test)
{
	ktime_t began = ktime_get();
	struct storm *storm = start_storm(test, add_and_pause);
	int i;

	/* Q14 D5: the last item is handled after the sum of all pauses */
	for (i = 0; i < NR_STORMERS; i++)
		kwq_test_thread_join(test, &storm->thread[i]);
	kwq_add(&storm->queue, &storm->busy[0].item);
	KUNIT_EXPECT_EQ(test, kwq_flush(&storm->queue), 0);
	KUNIT_EXPECT_GE(test, ktime_get(),
			ktime_add(began, NR_STORMERS * NR_CALLS * PACE_NS));
	end_storm(test, storm);
}

#define SYNC_TEST_OF_BOTH					\
	KUNIT_CASE(item_is_got_and_finished),			\
	KUNIT_CASE(waiting_item_is_got_before_its_time),	\
	KUNIT_CASE(queue_without_handler_runs_nothing),		\
	KUNIT_CASE(item_runs_in_its_caller),			\
	KUNIT_CASE(result_counts_in_its_caller),		\
	KUNIT_CASE(batch_handler_gets_one_item),		\
	KUNIT_CASE(run_waits_for_a_worker),			\
	KUNIT_CASE(run_looks_again_after_a_worker),		\
	KUNIT_CASE(run_waits_for_two_runs_at_most),		\
	KUNIT_CASE(run_is_told_from_later_ones),		\
	KUNIT_CASE(run_in_a_caller_is_awaited),			\
	KUNIT_CASE(handler_runs_another_item),			\
	KUNIT_CASE(handler_does_not_wait_for_itself),		\
	KUNIT_CASE(flush_of_nothing_ends_at_once),		\
	KUNIT_CASE(flush_waits_for_what_was_queued),		\
	KUNIT_CASE(later_flushes_share_one),			\
	KUNIT_CASE(flush_ends_with_its_items),			\
	KUNIT_CASE(flush_ends_with_its_queue),			\
	KUNIT_CASE(waiting_item_is_expedited),			\
	KUNIT_CASE(pending_item_is_not_added),			\
	KUNIT_CASE(moving_item_stays_pending),			\
	KUNIT_CASE(sleepers_get_items_after_a_resume),		\
	KUNIT_CASE(paused_handler_is_not_called),		\
	KUNIT_CASE(worker_stops_at_a_pause),			\
	KUNIT_CASE(resume_calls_a_crowd_of_workers),		\
	KUNIT_CASE(drain_waits_for_a_resume),			\
	KUNIT_CASE(paused_queue_is_destroyed),			\
	KUNIT_CASE_SLOW(callers_and_workers_run_nothing_twice),	\
	KUNIT_CASE_SLOW(flush_ends_in_a_storm_of_adds)

static struct kunit_case sync_test_cases[] = {
	SYNC_TEST_OF_BOTH,
	KUNIT_CASE(timer_calls_a_crowd_of_workers),
	KUNIT_CASE(timed_pause_ends_by_itself),
	KUNIT_CASE(timed_pauses_add_up),
	KUNIT_CASE(later_pause_takes_the_place),
	KUNIT_CASE(pause_without_an_end),
	KUNIT_CASE(end_of_a_pause_wakes_one_for_each),
	KUNIT_CASE(pace_of_an_empty_queue_needs_no_timer),
	KUNIT_CASE(pauses_are_independent),
	KUNIT_CASE(item_overtakes_a_pace),
	KUNIT_CASE(handler_keeps_a_pace),
	KUNIT_CASE(batch_handler_keeps_a_pace),
	KUNIT_CASE(drain_waits_for_a_timed_pause),
	KUNIT_CASE(cancels_do_not_wait_for_a_pace),
	KUNIT_CASE(timer_ends_a_pace),
	KUNIT_CASE(pause_waits_for_all_handlers),
	KUNIT_CASE(pause_waits_for_got_items),
	KUNIT_CASE(pause_waits_for_no_later_run),
	KUNIT_CASE_SLOW(pauses_of_many_tasks_add_up),
	{}
};

/* The same without what only a large queue has (K6). */
static struct kunit_case sync_test_small_cases[] = {
	SYNC_TEST_OF_BOTH,
	{}
};

KWQ_TEST_SUITES(sync_test, "kwq-sync", sync_test_init, sync_test_exit);

// SPDX-License-Identifier: GPL-2.0-only
/* Queues with a batch handler (K10). For delays the clock is manual. */
#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/kwq.h>
#include <linux/prandom.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include "queue/queue.h"
#include "tests/form.h"
#include "tests/thread.h"

#define NR_THINGS	8

/*
 * An object of a driver
 * @verdict: the handler's result for it, unless @unwritten
 * @runs: number of calls that had it
 * @twice: two calls had it at once
 */
struct thing {
	struct kwq_item item;
	struct kwq_result verdict;
	bool unwritten;
	atomic_t runs;
	atomic_t inside;
	bool twice;
};

/*
 * @calls: number of calls of the handler
 * @nr: number of items of the first calls
 * @order: numbers of the items, in the order of the first calls
 * @seen: number of entries in @order
 * @blocks: the next call completes @entered, and waits for @leave
 * @within: called by the handler, if set
 * @results: of calls in @within
 * @canceller: cancels @victim
 */
struct batch_test {
	KWQ_TEST_QUEUE;
	struct thing thing[NR_THINGS];
	atomic_t calls;
	unsigned int nr[NR_THINGS];
	int order[2 * NR_THINGS];
	int seen;
	bool blocks;
	struct completion entered;
	struct completion leave;
	void (*within)(struct batch_test *t);
	int results[4];
	struct kwq_test_thread canceller;
	struct kwq_item *victim;
	int result;
};

static struct thing *thing_of(struct kwq_item *item)
{
	return container_of(item, struct thing, item);
}

static void note_batch(struct batch_test *t, struct kwq_item *const *items, unsigned int nr)
{
	unsigned int i, call = atomic_inc_return(&t->calls) - 1;

	if (call < NR_THINGS)
		t->nr[call] = nr;
	for (i = 0; i < nr; i++) {
		struct thing *thing = thing_of(items[i]);

		if (atomic_inc_return(&thing->inside) > 1)
			thing->twice = true;
		atomic_inc(&thing->runs);
		if (t->seen < ARRAY_SIZE(t->order))
			t->order[t->seen++] = thing - t->thing;
	}
}

static void handle_batch(struct kwq_queue *queue, struct kwq_item *const *items,
			 struct kwq_result *results, unsigned int nr)
{
	struct batch_test *t = container_of(queue, struct batch_test, queue);
	unsigned int i;

	note_batch(t, items, nr);
	if (t->within)
		t->within(t);
	if (t->blocks) {
		t->blocks = false;
		complete(&t->entered);
		wait_for_completion(&t->leave);
	}
	for (i = 0; i < nr; i++) {
		struct thing *thing = thing_of(items[i]);

		atomic_dec(&thing->inside);
		if (!thing->unwritten)
			results[i] = thing->verdict;
	}
}

static int batch_test_init(struct kunit *test)
{
	struct batch_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	kwq_test_queue_init(&t->queue, "test", KWQ_CLOCK_MANUAL);
	init_completion(&t->entered);
	init_completion(&t->leave);
	for (i = 0; i < NR_THINGS; i++) {
		kwq_item_init(&t->thing[i].item);
		t->thing[i].verdict = kwq_result_done();
	}
	test->priv = t;
	return 0;
}

static void batch_test_exit(struct kunit *test)
{
	struct batch_test *t = test->priv;
	int i;

	if (!t)
		return;
	complete_all(&t->leave);
	kwq_queue_destroy(&t->queue);
	for (i = 0; i < NR_THINGS; i++) {
		KUNIT_EXPECT_EQ(test, atomic_read(&t->thing[i].inside), 0);
		KUNIT_EXPECT_FALSE(test, t->thing[i].twice);
	}
}

static int start_batches(struct kwq_queue *queue, kwq_handle_batch_fn fn,
			 unsigned int max_active, unsigned int max_batch)
{
	return kwq_start_handler(queue, &(struct kwq_handler){
		.handle_batch = fn,
		.max_active = max_active,
		.max_batch = max_batch,
		.wq_flags = WQ_UNBOUND,
	});
}

static void start(struct kunit *test, unsigned int max_batch)
{
	struct batch_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, start_batches(&t->queue, handle_batch, 1, max_batch), 0);
}

static bool is_quiet(struct kwq_queue *queue)
{
	unsigned long flags;
	bool quiet;

	spin_lock_irqsave(&queue->lock, flags);
	quiet = !queue->core.nr_ready && !queue->core.nr_processing;
	spin_unlock_irqrestore(&queue->lock, flags);
	return quiet;
}

static void settle(struct kunit *test)
{
	struct batch_test *t = test->priv;

	kwq_test_wait_until(test, is_quiet(&t->queue));
}

/* Adds items, so that the handler takes as many of them as it may, and waits until it has. */
static void enter(struct kunit *test, int first, int nr, unsigned int max_batch)
{
	struct batch_test *t = test->priv;
	int i;

	for (i = first; i < first + nr; i++)
		kwq_add(&t->queue, &t->thing[i].item);
	t->blocks = true;
	start(test, max_batch);
	KUNIT_ASSERT_NE(test, 0,
			wait_for_completion_timeout(&t->entered,
						    KWQ_TEST_HANGS_SECONDS * HZ));
}

static void leave(struct kunit *test)
{
	struct batch_test *t = test->priv;

	complete(&t->leave);
	settle(test);
}

#define EXPECT_RUNS(test, thing, nr) \
	KUNIT_EXPECT_EQ(test, atomic_read(&(thing)->runs), nr)

/* ---- What is in a batch ---- */

static void batch_has_what_is_ready(struct kunit *test)
{
	struct batch_test *t = test->priv;
	int i;

	/* K10 Q1: in the order of the adds, and no more than allowed */
	for (i = 0; i < NR_THINGS; i++)
		kwq_add(&t->queue, &t->thing[i].item);
	start(test, 3);
	settle(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->calls), 3);
	KUNIT_EXPECT_EQ(test, t->nr[0], 3);
	KUNIT_EXPECT_EQ(test, t->nr[1], 3);
	KUNIT_EXPECT_EQ(test, t->nr[2], 2);
	for (i = 0; i < NR_THINGS; i++) {
		KUNIT_EXPECT_EQ(test, t->order[i], i);
		EXPECT_RUNS(test, &t->thing[i], 1);
		KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->thing[i].item));
	}
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, dones, NR_THINGS);

	/* It does not wait for more. */
	kwq_add(&t->queue, &t->thing[0].item);
	settle(test);
	KUNIT_EXPECT_EQ(test, t->nr[3], 1);
}

static void batch_begins_with_higher_priorities(struct kunit *test)
{
	struct kwq_add_options options = { .flags = KWQ_ADD_PRIORITY };
	struct batch_test *t = test->priv;
	int i;

	/* K10 Q12 */
	for (i = 0; i < NR_THINGS; i++) {
		options.priority = i;
		kwq_add_with(&t->queue, &t->thing[i].item, &options);
	}
	start(test, KWQ_HANDLER_BATCH_MAX);
	settle(test);
	KUNIT_EXPECT_EQ(test, t->nr[0], NR_THINGS);
	for (i = 0; i < NR_THINGS; i++)
		KUNIT_EXPECT_EQ(test, t->order[i], NR_THINGS - 1 - i);
}

static void batch_of_one(struct kunit *test)
{
	struct batch_test *t = test->priv;

	/* K10 */
	kwq_add(&t->queue, &t->thing[0].item);
	kwq_add(&t->queue, &t->thing[1].item);
	start(test, 1);
	settle(test);
	KUNIT_EXPECT_EQ(test, t->nr[0], 1);
	KUNIT_EXPECT_EQ(test, t->nr[1], 1);
}

static void added_while_in_a_batch(struct kunit *test)
{
	struct batch_test *t = test->priv;

	/* K10 Q4 Q6: once more, in the next batch; nobody else may finish it */
	enter(test, 0, 3, 4);
	KUNIT_EXPECT_EQ(test, kwq_add(&t->queue, &t->thing[1].item), KWQ_DIRTIED);
	KUNIT_EXPECT_EQ(test, kwq_add(&t->queue, &t->thing[3].item), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_done(&t->queue, &t->thing[1].item), -EPERM);
	leave(test);
	KUNIT_EXPECT_EQ(test, t->nr[0], 3);
	KUNIT_EXPECT_EQ(test, t->nr[1], 2);
	KUNIT_EXPECT_EQ(test, t->order[3], 3);
	KUNIT_EXPECT_EQ(test, t->order[4], 1);
}

/* ---- Its results ---- */

static const struct kwq_limiter_config retry_config = {
	.nr = 1,
	.limiters = { {
		.kind = KWQ_LIMITER_EXPONENTIAL,
		.u.exponential = { .base = 10, .max = 1000 },
	} },
};

static void each_item_has_its_result(struct kunit *test)
{
	struct batch_test *t = test->priv;
	struct thing *thing = t->thing;
	int i;

	/* K10 Q13 */
	kwq_configure(&t->queue, &retry_config);
	thing[1].verdict = kwq_result_of(-EIO);
	thing[2].verdict = kwq_result_again_after(100);
	thing[3].verdict = kwq_result_give_up();
	thing[4].verdict = kwq_result_of(1);
	thing[5].verdict = kwq_result_of(0);
	for (i = 0; i < 6; i++)
		thing[i].item.requeues = 2;
	enter(test, 0, 6, 6);
	leave(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->calls), 1);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&thing[0].item));
	KUNIT_EXPECT_EQ(test, thing[1].item.state, KWQ_ITEM_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_test_due(&t->queue, &thing[1].item), 40);
	KUNIT_EXPECT_EQ(test, thing[2].item.state, KWQ_ITEM_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_test_due(&t->queue, &thing[2].item), 100);
	KUNIT_EXPECT_PTR_EQ(test, kwq_first_dead(&t->queue), &thing[3].item);
	KUNIT_EXPECT_EQ(test, thing[4].item.state, KWQ_ITEM_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_test_due(&t->queue, &thing[4].item), 40);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&thing[5].item));
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(&t->queue, &thing[0].item), 0);
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(&t->queue, &thing[1].item), 3);
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(&t->queue, &thing[2].item), 0);
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(&t->queue, &thing[5].item), 0);
}

static void unwritten_result_is_a_failure(struct kunit *test)
{
	struct batch_test *t = test->priv;
	struct thing *thing = t->thing;
	int i;

	/* K10 Q13: even if the batch before, of the same work item, had a result in its place */
	kwq_configure(&t->queue, &retry_config);
	thing[2].unwritten = true;
	for (i = 0; i < 3; i++)
		kwq_add(&t->queue, &thing[i].item);
	start(test, 2);
	settle(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->calls), 2);
	KUNIT_EXPECT_EQ(test, thing[2].item.state, KWQ_ITEM_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_test_due(&t->queue, &thing[2].item), 10);
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(&t->queue, &thing[2].item), 1);
	thing[2].unwritten = false;
	kwq_queue_advance(&t->queue, 10);
	settle(test);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&thing[2].item));
	EXPECT_RUNS(test, &thing[2], 2);
}

static void be_done_next_time(struct batch_test *t)
{
	if (atomic_read(&t->calls) > 1)
		t->thing[0].verdict = kwq_result_done();
}

static void again_at_once_is_behind_others(struct kunit *test)
{
	struct batch_test *t = test->priv;

	/* K10 Q1: behind those that were not in the batch */
	t->thing[0].verdict = kwq_result_again_after(0);
	t->within = be_done_next_time;
	enter(test, 0, 4, 2);
	leave(test);
	KUNIT_EXPECT_EQ(test, t->nr[0], 2);
	KUNIT_EXPECT_EQ(test, t->nr[1], 2);
	KUNIT_EXPECT_EQ(test, t->nr[2], 1);
	KUNIT_EXPECT_EQ(test, t->order[4], 0);
	EXPECT_RUNS(test, &t->thing[0], 2);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->thing[0].item));
}

/* ---- Its end ---- */

static void cancel_in_thread(void *data)
{
	struct batch_test *t = data;

	t->result = t->victim ? kwq_cancel_sync(&t->queue, t->victim) :
				kwq_cancel_all_sync(&t->queue);
}

static void start_cancel(struct kunit *test, struct kwq_item *victim)
{
	struct batch_test *t = test->priv;

	t->victim = victim;
	t->result = -1;
	kwq_test_thread_start(test, &t->canceller, cancel_in_thread, t);
	kwq_test_wait_until(test, kwq_test_nr_drainers(&t->queue) == 1);
}

static void cancel_waits_for_the_batch(struct kunit *test)
{
	struct batch_test *t = test->priv;
	struct thing *thing = t->thing;

	/* K10 K8: and only that item loses its result */
	kwq_configure(&t->queue, &retry_config);
	thing[0].verdict = kwq_result_of(-EIO);
	thing[1].verdict = kwq_result_of(-EIO);
	enter(test, 0, 3, 3);
	start_cancel(test, &thing[1].item);
	/* An item outside of the batch is not waited for. */
	kwq_add(&t->queue, &thing[4].item);
	KUNIT_EXPECT_EQ(test, kwq_cancel_sync(&t->queue, &thing[4].item), KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, t->result, -1);
	leave(test);
	kwq_test_thread_join(test, &t->canceller);
	KUNIT_EXPECT_EQ(test, t->result, KWQ_WAS_PROCESSING);
	KUNIT_EXPECT_EQ(test, thing[0].item.state, KWQ_ITEM_WAITING);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&thing[1].item));
	KUNIT_EXPECT_EQ(test, kwq_add(&t->queue, &thing[1].item), KWQ_ADDED);
	settle(test);
	EXPECT_RUNS(test, &thing[1], 2);
	EXPECT_RUNS(test, &thing[4], 0);
}

static void cancel_within(struct batch_test *t)
{
	struct kwq_queue *q = &t->queue;

	t->within = NULL;
	t->results[0] = kwq_cancel_sync(q, &t->thing[0].item);
	t->results[1] = kwq_disable_sync(q, &t->thing[2].item);
	t->results[2] = kwq_cancel_all_sync(q);
	t->results[3] = kwq_cancel_sync(q, &t->thing[3].item);
}

static void batch_does_not_wait_for_itself(struct kunit *test)
{
	struct batch_test *t = test->priv;

	/* K3 K10: any item of its own batch, with nothing changed; another one is cancelled */
	t->within = cancel_within;
	enter(test, 0, 4, 3);
	KUNIT_EXPECT_EQ(test, t->results[0], -EDEADLK);
	KUNIT_EXPECT_EQ(test, t->results[1], -EDEADLK);
	KUNIT_EXPECT_EQ(test, t->results[2], -EDEADLK);
	KUNIT_EXPECT_EQ(test, t->results[3], KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, kwq_add(&t->queue, &t->thing[2].item), KWQ_DIRTIED);
	leave(test);
	EXPECT_RUNS(test, &t->thing[2], 2);
	EXPECT_RUNS(test, &t->thing[3], 0);
}

static void shut_down_within_a_batch(struct kunit *test)
{
	struct batch_test *t = test->priv;
	int i;

	/* K10 Q8: what is ready is still handled; whatever the result, it is done */
	t->thing[0].verdict = kwq_result_again_after(0);
	t->thing[1].verdict = kwq_result_of(-EIO);
	t->thing[2].unwritten = true;
	enter(test, 0, 5, 3);
	kwq_shut_down(&t->queue);
	leave(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->calls), 2);
	for (i = 0; i < 5; i++) {
		EXPECT_RUNS(test, &t->thing[i], 1);
		KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->thing[i].item));
	}
}

static void drain_in_thread(void *data)
{
	struct batch_test *t = data;

	t->result = kwq_shut_down_with_drain(&t->queue, KTIME_MAX);
}

static void drain_waits_for_the_last_batch(struct kunit *test)
{
	struct batch_test *t = test->priv;
	int i;

	/* K10 Q9 */
	t->thing[0].verdict = kwq_result_again_after(0);
	enter(test, 0, 5, 3);
	t->result = -1;
	kwq_test_thread_start(test, &t->canceller, drain_in_thread, t);
	kwq_test_wait_until(test, kwq_test_nr_drainers(&t->queue) == 1);
	KUNIT_EXPECT_EQ(test, t->result, -1);
	leave(test);
	kwq_test_thread_join(test, &t->canceller);
	KUNIT_EXPECT_EQ(test, t->result, 0);
	for (i = 0; i < 5; i++)
		EXPECT_RUNS(test, &t->thing[i], 1);
}

static void cancel_of_all_waits_for_the_batch(struct kunit *test)
{
	struct batch_test *t = test->priv;
	int i;

	/* K10 K3 */
	t->thing[0].verdict = kwq_result_again_after(0);
	enter(test, 0, 5, 3);
	kwq_add(&t->queue, &t->thing[1].item);
	start_cancel(test, NULL);
	leave(test);
	kwq_test_thread_join(test, &t->canceller);
	KUNIT_EXPECT_EQ(test, t->result, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->calls), 1);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->thing[i].item));
}

/* ---- Many at once ---- */

#define NR_BUSY		128
#define NR_ADDS		4000
#define NR_ADDERS	2
#define NR_WORKERS	4

/*
 * An object that is added and handled all the time
 * @wanted: number of adds so far
 * @seen: @wanted, as the last successful handler saw it
 */
struct busy {
	struct kwq_item item;
	atomic_t wanted;
	atomic_t inside;
	int seen;
	u32 runs;
};

/*
 * @twice: how often an item was in two batches at once
 * @wrong: how often a batch had a wrong number of items
 */
struct storm {
	KWQ_TEST_QUEUE;
	struct busy busy[NR_BUSY];
	struct kwq_test_thread adder[NR_ADDERS];
	atomic_t seed;
	atomic_t twice;
	atomic_t wrong;
};

static struct kwq_result work_on(struct busy *busy)
{
	int wanted = atomic_read(&busy->wanted);

	busy->runs++;
	if (busy->runs % 5 == 0)
		return kwq_result_of(-EAGAIN);
	busy->seen = wanted;
	return busy->runs % 7 ? kwq_result_done() : kwq_result_again_after(busy->runs % 2 * 1000);
}

static void handle_busy(struct kwq_queue *queue, struct kwq_item *const *items,
			struct kwq_result *results, unsigned int nr)
{
	struct storm *storm = container_of(queue, struct storm, queue);
	struct busy *busy;
	unsigned int i;

	if (!nr || nr > 8)
		atomic_inc(&storm->wrong);
	for (i = 0; i < nr; i++) {
		busy = container_of(items[i], struct busy, item);
		if (atomic_inc_return(&busy->inside) > 1)
			atomic_inc(&storm->twice);
	}
	for (i = 0; i < nr; i++)
		results[i] = work_on(container_of(items[i], struct busy, item));
	cond_resched();
	for (i = 0; i < nr; i++)
		atomic_dec(&container_of(items[i], struct busy, item)->inside);
}

static void add_busily(void *data)
{
	struct storm *storm = data;
	struct rnd_state rnd;
	struct busy *busy;
	int n;

	prandom_seed_state(&rnd, atomic_inc_return(&storm->seed));
	for (n = 0; n < NR_ADDS; n++) {
		busy = &storm->busy[prandom_u32_state(&rnd) % NR_BUSY];
		atomic_inc(&busy->wanted);
		kwq_add_after(&storm->queue, &busy->item, prandom_u32_state(&rnd) % 4 * 500);
		if (n % 16 == 0)
			cond_resched();
	}
}

static bool is_empty(struct kwq_queue *queue)
{
	unsigned long flags;
	bool empty;

	spin_lock_irqsave(&queue->lock, flags);
	empty = !queue->core.nr_ready && !queue->core.nr_processing &&
		!kwq_core_has_waiting(&queue->core);
	spin_unlock_irqrestore(&queue->lock, flags);
	return empty;
}

static const struct kwq_limiter_config quick_config = {
	.nr = 1,
	.limiters = { {
		.kind = KWQ_LIMITER_EXPONENTIAL,
		.u.exponential = { .base = 1000, .max = 100000 },
	} },
};

static void workers_share_no_item(struct kunit *test)
{
	struct storm *storm = kunit_kzalloc(test, sizeof(*storm), GFP_KERNEL);
	int i;

	/* K10 Q3 Q4: and nothing is lost */
	KUNIT_ASSERT_NOT_NULL(test, storm);
	kwq_test_queue_init(&storm->queue, "storm", KWQ_CLOCK_MONOTONIC);
	kwq_configure(&storm->queue, &quick_config);
	for (i = 0; i < NR_BUSY; i++)
		kwq_item_init(&storm->busy[i].item);
	KUNIT_ASSERT_EQ(test, start_batches(&storm->queue, handle_busy, NR_WORKERS, 8), 0);
	for (i = 0; i < NR_ADDERS; i++)
		kwq_test_thread_start(test, &storm->adder[i], add_busily, storm);
	for (i = 0; i < NR_ADDERS; i++)
		kwq_test_thread_join(test, &storm->adder[i]);
	kwq_test_wait_until(test, is_empty(&storm->queue));
	KUNIT_EXPECT_EQ(test, atomic_read(&storm->twice), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&storm->wrong), 0);
	for (i = 0; i < NR_BUSY; i++)
		KUNIT_EXPECT_EQ(test, storm->busy[i].seen,
				atomic_read(&storm->busy[i].wanted));
	kwq_queue_destroy(&storm->queue);
}

static void handle_nothing(struct kwq_queue *queue, struct kwq_item *const *items,
			   struct kwq_result *results, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		results[i] = kwq_result_done();
}

static void most_workers_with_the_largest_batches(struct kunit *test)
{
	struct batch_test *t = test->priv;
	int i;

	/* K10 */
	KUNIT_ASSERT_EQ(test, start_batches(&t->queue, handle_nothing, WQ_MAX_ACTIVE,
					    KWQ_HANDLER_BATCH_MAX), 0);
	for (i = 0; i < NR_THINGS; i++)
		kwq_add(&t->queue, &t->thing[i].item);
	settle(test);
	for (i = 0; i < NR_THINGS; i++)
		KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->thing[i].item));
}

#define BATCH_TEST_OF_BOTH					\
	KUNIT_CASE(batch_has_what_is_ready),			\
	KUNIT_CASE(batch_of_one),				\
	KUNIT_CASE(added_while_in_a_batch),			\
	KUNIT_CASE(each_item_has_its_result),			\
	KUNIT_CASE(unwritten_result_is_a_failure),		\
	KUNIT_CASE(again_at_once_is_behind_others),		\
	KUNIT_CASE(cancel_waits_for_the_batch),			\
	KUNIT_CASE(batch_does_not_wait_for_itself),		\
	KUNIT_CASE(shut_down_within_a_batch),			\
	KUNIT_CASE(drain_waits_for_the_last_batch),		\
	KUNIT_CASE(cancel_of_all_waits_for_the_batch),		\
	KUNIT_CASE_SLOW(workers_share_no_item),			\
	KUNIT_CASE(most_workers_with_the_largest_batches)

static struct kunit_case batch_test_cases[] = {
	BATCH_TEST_OF_BOTH,
	KUNIT_CASE(batch_begins_with_higher_priorities),
	{}
};

/* The same without what only a large queue has (K6). */
static struct kunit_case batch_test_small_cases[] = {
	BATCH_TEST_OF_BOTH,
	{}
};

KWQ_TEST_SUITES(batch_test, "kwq-batch", batch_test_init, batch_test_exit);

// SPDX-License-Identifier: GPL-2.0-only
/* Queues with a handler (K2, K7), on real workqueues. For delays the clock is manual. */
#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
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
 * @item: in the queue
 * @verdict: the handler's result for it
 * @runs: number of calls
 * @inside: number of calls that are running
 * @twice: two calls were running at once
 * @blocks: the handler completes @entered, and waits for @leave
 * @within: called by the handler, if set
 */
struct thing {
	struct kwq_item item;
	struct kwq_result verdict;
	atomic_t runs;
	atomic_t inside;
	bool twice;
	bool blocks;
	struct completion entered;
	struct completion leave;
	void (*within)(struct kwq_queue *queue, struct thing *thing);
	int result;
};

struct handler_test {
	KWQ_TEST_QUEUE;
	struct thing thing[NR_THINGS];
};

static struct kwq_result handle(struct kwq_queue *queue, struct kwq_item *item)
{
	struct thing *thing = container_of(item, struct thing, item);

	if (atomic_inc_return(&thing->inside) > 1)
		thing->twice = true;
	atomic_inc(&thing->runs);
	if (thing->within)
		thing->within(queue, thing);
	if (thing->blocks) {
		complete(&thing->entered);
		wait_for_completion(&thing->leave);
	}
	atomic_dec(&thing->inside);
	return thing->verdict;
}

static int handler_test_init(struct kunit *test)
{
	struct handler_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	kwq_test_queue_init(&t->queue, "test", KWQ_CLOCK_MANUAL);
	for (i = 0; i < NR_THINGS; i++) {
		kwq_item_init(&t->thing[i].item);
		init_completion(&t->thing[i].entered);
		init_completion(&t->thing[i].leave);
		t->thing[i].verdict = kwq_result_done();
	}
	test->priv = t;
	return 0;
}

/* At the end of each case no handler is running, and none ever ran twice at once for an item. */
static void handler_test_exit(struct kunit *test)
{
	struct handler_test *t = test->priv;
	int i;

	if (!t)
		return;
	for (i = 0; i < NR_THINGS; i++)
		complete_all(&t->thing[i].leave);
	kwq_queue_destroy(&t->queue);
	for (i = 0; i < NR_THINGS; i++) {
		KUNIT_EXPECT_EQ(test, atomic_read(&t->thing[i].inside), 0);
		KUNIT_EXPECT_FALSE(test, t->thing[i].twice);
	}
}

static int start_handler(struct kwq_queue *queue, kwq_handle_fn fn,
			 unsigned int max_active, unsigned int wq_flags)
{
	return kwq_start_handler(queue, &(struct kwq_handler){
		.handle = fn,
		.max_active = max_active,
		.wq_flags = wq_flags,
	});
}

static void start(struct kunit *test, unsigned int max_active)
{
	struct handler_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, start_handler(&t->queue, handle, max_active, WQ_UNBOUND), 0);
}

/* With a workqueue that the test has. */
static void start_on(struct kunit *test, struct workqueue_struct *wq, unsigned int max_active)
{
	struct handler_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, kwq_start_handler(&t->queue, &(struct kwq_handler){
		.handle = handle,
		.max_active = max_active,
		.wq = wq,
	}), 0);
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

/* Waits until all added items are handled. */
static void settle(struct kunit *test)
{
	struct handler_test *t = test->priv;

	kwq_test_wait_until(test, is_quiet(&t->queue));
}

/* Adds an item, and waits until its handler blocks. */
static void enter(struct kunit *test, struct thing *thing)
{
	struct handler_test *t = test->priv;

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

#define EXPECT_RUNS(test, thing, nr) \
	KUNIT_EXPECT_EQ(test, atomic_read(&(thing)->runs), nr)

/* ---- What is handled, and when ---- */

static void each_item_is_handled(struct kunit *test)
{
	struct handler_test *t = test->priv;
	int i;

	/* K2 */
	start(test, 2);
	for (i = 0; i < NR_THINGS; i++)
		KUNIT_EXPECT_EQ(test, kwq_add(&t->queue, &t->thing[i].item),
				KWQ_ADDED);
	settle(test);
	for (i = 0; i < NR_THINGS; i++) {
		EXPECT_RUNS(test, &t->thing[i], 1);
		KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->thing[i].item));
	}
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, dones, NR_THINGS);

	/* And again, after all workers became idle. */
	kwq_add(&t->queue, &t->thing[0].item);
	settle(test);
	EXPECT_RUNS(test, &t->thing[0], 2);
}

static void what_is_ready_is_handled_from_the_start(struct kunit *test)
{
	struct handler_test *t = test->priv;

	/* K2 */
	kwq_add(&t->queue, &t->thing[0].item);
	kwq_add(&t->queue, &t->thing[1].item);
	start(test, 1);
	settle(test);
	EXPECT_RUNS(test, &t->thing[0], 1);
	EXPECT_RUNS(test, &t->thing[1], 1);
}

static void what_comes_due_is_handled(struct kunit *test)
{
	struct handler_test *t = test->priv;

	/* K2 D1 */
	start(test, 1);
	kwq_add_after(&t->queue, &t->thing[0].item, 10);
	kwq_queue_advance(&t->queue, 9);
	settle(test);
	EXPECT_RUNS(test, &t->thing[0], 0);
	kwq_queue_advance(&t->queue, 10);
	settle(test);
	EXPECT_RUNS(test, &t->thing[0], 1);
}

static void added_while_it_is_handled_it_is_handled_again(struct kunit *test)
{
	struct handler_test *t = test->priv;
	struct thing *thing = &t->thing[0];

	/* Q4 K2: with idle workers left */
	start(test, 4);
	enter(test, thing);
	/* Q6, L11: it is not even marked to die. */
	KUNIT_EXPECT_EQ(test, kwq_bury(&t->queue, &thing->item), -EPERM);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(thing->item.state) & KWQ_ITEM_DEAD);
	KUNIT_EXPECT_EQ(test, kwq_add(&t->queue, &thing->item), KWQ_DIRTIED);
	KUNIT_EXPECT_EQ(test, kwq_add(&t->queue, &thing->item), KWQ_DIRTY);
	/* Q6: nobody else may finish it. */
	KUNIT_EXPECT_EQ(test, kwq_done(&t->queue, &thing->item), -EPERM);
	KUNIT_EXPECT_EQ(test, kwq_bury(&t->queue, &thing->item), -EPERM);
	KUNIT_EXPECT_EQ(test, kwq_give_back(&t->queue, &thing->item), -EPERM);
	EXPECT_RUNS(test, thing, 1);
	leave(thing);
	settle(test);
	EXPECT_RUNS(test, thing, 2);
}

static bool enters(struct thing *thing)
{
	return wait_for_completion_timeout(&thing->entered, KWQ_TEST_HANGS_SECONDS * HZ);
}

/* All items became ready in one hold of the lock, with a worker for each. */
static void expect_all_inside(struct kunit *test)
{
	struct handler_test *t = test->priv;
	int i;

	for (i = 0; i < NR_THINGS; i++)
		KUNIT_EXPECT_TRUE(test, enters(&t->thing[i]));
}

static void what_is_ready_at_the_start_is_handled_at_once(struct kunit *test)
{
	struct handler_test *t = test->priv;
	int i;

	/* K2 */
	for (i = 0; i < NR_THINGS; i++) {
		t->thing[i].blocks = true;
		kwq_add(&t->queue, &t->thing[i].item);
	}
	start(test, NR_THINGS);
	expect_all_inside(test);
}

static void what_comes_due_together_is_handled_at_once(struct kunit *test)
{
	struct handler_test *t = test->priv;
	int i;

	/* K2 */
	start(test, NR_THINGS);
	for (i = 0; i < NR_THINGS; i++) {
		t->thing[i].blocks = true;
		kwq_add_after(&t->queue, &t->thing[i].item, 10);
	}
	kwq_queue_advance(&t->queue, 10);
	expect_all_inside(test);
}

static void spin_for_a_tick(struct kwq_queue *queue, struct thing *thing)
{
	unsigned long begun = jiffies;

	while (!time_after(jiffies, begun))
		cpu_relax();
}

/* Runs on the processor of a bound handler, which keeps other work from running. */
static struct work_struct other_work;
static bool other_ran;

static void let_other_run(struct work_struct *work)
{
	WRITE_ONCE(other_ran, true);
}

static void queue_other_and_spin(struct kwq_queue *queue, struct thing *thing)
{
	schedule_work_on(raw_smp_processor_id(), &other_work);
	spin_for_a_tick(queue, thing);
}

/* Has its turn come? Another worker of the kernel may have taken it, and be about to run it. */
static void see_whether_other_was_taken(struct kwq_queue *queue, struct thing *thing)
{
	thing->result = !work_pending(&other_work);
}

static void worker_that_took_long_lets_others_run(struct kunit *test)
{
	struct handler_test *t = test->priv;

	/* K2: it leaves its work item, and queues up behind those that came meanwhile */
	INIT_WORK(&other_work, let_other_run);
	other_ran = false;
	t->thing[0].within = queue_other_and_spin;
	t->thing[1].within = see_whether_other_was_taken;
	kwq_add(&t->queue, &t->thing[0].item);
	kwq_add(&t->queue, &t->thing[1].item);
	KUNIT_ASSERT_EQ(test, start_handler(&t->queue, handle, 1, 0), 0);
	settle(test);
	flush_work(&other_work);
	KUNIT_EXPECT_TRUE(test, other_ran);
	KUNIT_EXPECT_TRUE(test, t->thing[1].result);
}

static void worker_that_took_long_comes_back(struct kunit *test)
{
	struct handler_test *t = test->priv;
	int i;

	/* K2 */
	for (i = 0; i < NR_THINGS; i++) {
		t->thing[i].within = spin_for_a_tick;
		kwq_add(&t->queue, &t->thing[i].item);
	}
	start(test, 1);
	settle(test);
	for (i = 0; i < NR_THINGS; i++)
		EXPECT_RUNS(test, &t->thing[i], 1);
}

static void higher_priority_is_handled_first(struct kunit *test)
{
	struct handler_test *t = test->priv;
	struct kwq_add_options urgent = { .flags = KWQ_ADD_PRIORITY, .priority = 1 };

	/* Q12 K2 */
	start(test, 1);
	enter(test, &t->thing[0]);
	kwq_add(&t->queue, &t->thing[1].item);
	kwq_add_with(&t->queue, &t->thing[2].item, &urgent);
	t->thing[2].blocks = true;
	leave(&t->thing[0]);
	wait_for_completion(&t->thing[2].entered);
	EXPECT_RUNS(test, &t->thing[1], 0);
	leave(&t->thing[2]);
	settle(test);
	EXPECT_RUNS(test, &t->thing[1], 1);
}

static const unsigned int active_params[] = { 1, 2, 5 };

static void describe_active(const unsigned int *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u at once", *p);
}

KUNIT_ARRAY_PARAM(active, active_params, describe_active);

static unsigned int nr_inside(struct handler_test *t)
{
	unsigned int i, nr = 0;

	for (i = 0; i < NR_THINGS; i++)
		nr += atomic_read(&t->thing[i].inside);
	return nr;
}

static void no_more_are_handled_at_once(struct kunit *test)
{
	const unsigned int max = *(const unsigned int *)test->param_value;
	struct handler_test *t = test->priv;
	unsigned int i;

	/* K2: as many as allowed, and each that ends lets one more in. */
	start(test, max);
	for (i = 0; i < NR_THINGS; i++)
		t->thing[i].blocks = true;
	for (i = 0; i < NR_THINGS; i++)
		kwq_add(&t->queue, &t->thing[i].item);
	for (i = 0; i < NR_THINGS; i++) {
		KUNIT_ASSERT_TRUE(test, enters(&t->thing[i]));
		if (i < max - 1)
			continue;
		KUNIT_EXPECT_EQ(test, nr_inside(t), max);
		KUNIT_EXPECT_EQ(test, kwq_len(&t->queue), NR_THINGS - 1 - i);
		complete(&t->thing[i - (max - 1)].leave);
	}
}

/* ---- What a handler returns ---- */

static const struct kwq_limiter_config retry_config = {
	.nr = 1,
	.limiters = { {
		.kind = KWQ_LIMITER_EXPONENTIAL,
		.u.exponential = { .base = 10, .max = 1000 },
	} },
};

static void failed_item_is_tried_again(struct kunit *test)
{
	struct handler_test *t = test->priv;
	struct thing *thing = &t->thing[0];

	/* K2 L1 L2: success forgets earlier failures */
	kwq_configure(&t->queue, &retry_config);
	start(test, 1);
	thing->verdict = kwq_result_of(-EIO);
	kwq_add(&t->queue, &thing->item);
	settle(test);
	KUNIT_EXPECT_EQ(test, thing->item.state, KWQ_ITEM_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_test_due(&t->queue, &thing->item), 10);
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(&t->queue, &thing->item), 1);
	kwq_queue_advance(&t->queue, 10);
	settle(test);
	EXPECT_RUNS(test, thing, 2);
	KUNIT_EXPECT_EQ(test, kwq_test_due(&t->queue, &thing->item), 30);
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(&t->queue, &thing->item), 2);
	thing->verdict = kwq_result_done();
	kwq_queue_advance(&t->queue, 30);
	settle(test);
	EXPECT_RUNS(test, thing, 3);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&thing->item));
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(&t->queue, &thing->item), 0);
}

static void default_limiter_begins_with_5_ms(struct kunit *test)
{
	struct handler_test *t = test->priv;

	/* K2 */
	start(test, 1);
	t->thing[0].verdict = kwq_result_of(-EAGAIN);
	kwq_add(&t->queue, &t->thing[0].item);
	settle(test);
	KUNIT_EXPECT_EQ(test, kwq_test_due(&t->queue, &t->thing[0].item), 5 * NSEC_PER_MSEC);
}

static const struct again_case {
	const char *desc;
	u64 delay;
	ktime_t expected;
} again_cases[] = {
	{ "in 1 ns", 1, 1 },
	{ "in 1000 ns", 1000, 1000 },
	{ "after the longest delay", KTIME_MAX - 1, KTIME_MAX - 1 },
	{ "after the end of time", (u64)KTIME_MAX + 1, KTIME_MAX },
	{ "after the highest number", U64_MAX, KTIME_MAX },
};

KUNIT_ARRAY_PARAM_DESC(again, again_cases, desc);

static void handled_again_after(struct kunit *test)
{
	const struct again_case *p = test->param_value;
	struct handler_test *t = test->priv;
	struct thing *thing = &t->thing[0];

	/* K2 D1 D7: it did not fail, so earlier failures are forgotten. */
	start(test, 1);
	thing->item.requeues = 3;
	thing->verdict = kwq_result_again_after(p->delay);
	kwq_add(&t->queue, &thing->item);
	settle(test);
	KUNIT_EXPECT_EQ(test, thing->item.state, KWQ_ITEM_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_test_due(&t->queue, &thing->item), p->expected);
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(&t->queue, &thing->item), 0);
	thing->verdict = kwq_result_done();
	kwq_queue_advance(&t->queue, p->expected);
	settle(test);
	EXPECT_RUNS(test, thing, 2);
}

static void again_once(struct kwq_queue *queue, struct thing *thing)
{
	thing->verdict = atomic_read(&thing->runs) == 1 ? kwq_result_again_after(0) :
							  kwq_result_done();
}

/* Notes how often the first item has run. */
static void see_runs_of_first(struct kwq_queue *queue, struct thing *thing)
{
	struct handler_test *t = container_of(queue, struct handler_test, queue);

	thing->result = atomic_read(&t->thing[0].runs);
}

static void handled_again_at_once(struct kunit *test)
{
	struct handler_test *t = test->priv;
	struct thing *thing = &t->thing[0];

	/* K2 L8: the clock stands still, and the timer has nothing to do */
	start(test, 1);
	thing->item.requeues = 3;
	thing->within = again_once;
	kwq_add(&t->queue, &thing->item);
	settle(test);
	EXPECT_RUNS(test, thing, 2);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&thing->item));
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(&t->queue, &thing->item), 0);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(&t->queue), KTIME_MAX);
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, lateness.counts[0], 0);
	/* M1: as a delayed add */
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, retries, 1);
}

static void handled_again_behind_others(struct kunit *test)
{
	struct kwq_add_options urgent = { .flags = KWQ_ADD_PRIORITY, .priority = 1 };
	struct handler_test *t = test->priv;
	struct thing *thing = &t->thing[0];

	/* K2 Q1 Q12: behind those of its priority, which it keeps, and before lower ones */
	start(test, 1);
	thing->within = again_once;
	t->thing[1].within = see_runs_of_first;
	t->thing[2].within = see_runs_of_first;
	enter(test, &t->thing[3]);
	kwq_add_with(&t->queue, &thing->item, &urgent);
	kwq_add_with(&t->queue, &t->thing[1].item, &urgent);
	kwq_add(&t->queue, &t->thing[2].item);
	leave(&t->thing[3]);
	settle(test);
	KUNIT_EXPECT_EQ(test, t->thing[1].result, 1);
	KUNIT_EXPECT_EQ(test, t->thing[2].result, 2);
}

static void handled_again_at_once_and_at_its_time(struct kunit *test)
{
	struct handler_test *t = test->priv;
	struct thing *thing = &t->thing[0];

	/* K2 D3: as an add, it leaves the waiting */
	start(test, 1);
	thing->within = again_once;
	enter(test, thing);
	kwq_add_after(&t->queue, &thing->item, 10);
	leave(thing);
	settle(test);
	EXPECT_RUNS(test, thing, 2);
	KUNIT_EXPECT_EQ(test, thing->item.state, KWQ_ITEM_WAITING);
	kwq_queue_advance(&t->queue, 10);
	settle(test);
	EXPECT_RUNS(test, thing, 3);
}

static const struct mistake_case {
	const char *desc;
	struct kwq_result verdict;
} mistake_cases[] = {
	{ "true", { KWQ_RESULT_FAILED, 1 } },
	{ "a positive errno", { KWQ_RESULT_FAILED, EIO } },
	{ "the highest number", { KWQ_RESULT_FAILED, INT_MAX } },
	{ "failed without an errno", { KWQ_RESULT_FAILED } },
	{ "no result", { KWQ_RESULT_NONE } },
	{ "garbage", { U32_MAX, 0, U64_MAX } },
};

KUNIT_ARRAY_PARAM_DESC(mistake, mistake_cases, desc);

static void mistake_is_a_failure(struct kunit *test)
{
	const struct mistake_case *p = test->param_value;
	struct handler_test *t = test->priv;
	struct thing *thing = &t->thing[0];

	/* K2: the limiters delay it, so it is not called at once for ever */
	start(test, 1);
	thing->verdict = p->verdict;
	kwq_add(&t->queue, &thing->item);
	settle(test);
	EXPECT_RUNS(test, thing, 1);
	KUNIT_EXPECT_EQ(test, thing->item.state, KWQ_ITEM_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_test_due(&t->queue, &thing->item), 5 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(&t->queue, &thing->item), 1);
}

static void given_up_item_is_dead(struct kunit *test)
{
	struct handler_test *t = test->priv;
	struct thing *thing = &t->thing[0];

	/* K2 L11 */
	start(test, 1);
	thing->verdict = kwq_result_give_up();
	kwq_add(&t->queue, &thing->item);
	settle(test);
	KUNIT_EXPECT_PTR_EQ(test, kwq_first_dead(&t->queue), &thing->item);
	thing->verdict = kwq_result_done();
	KUNIT_EXPECT_EQ(test, kwq_add(&t->queue, &thing->item), KWQ_ADDED);
	settle(test);
	EXPECT_RUNS(test, thing, 2);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&thing->item));
}

static void add_meanwhile_counts_whatever_it_returns(struct kunit *test)
{
	const struct kwq_result verdicts[] = {
		kwq_result_done(), kwq_result_of(-EIO), kwq_result_again_after(1000),
		kwq_result_again_after(0), kwq_result_of(1), kwq_result_give_up(),
	};
	struct handler_test *t = test->priv;
	int i;

	/* K2 Q4 */
	start(test, 1);
	for (i = 0; i < ARRAY_SIZE(verdicts); i++) {
		struct thing *thing = &t->thing[i];

		enter(test, thing);
		kwq_add(&t->queue, &thing->item);
		thing->verdict = verdicts[i];
		if (thing->verdict.kind == KWQ_RESULT_AGAIN && !thing->verdict.time)
			thing->within = again_once;
		leave(thing);
		kwq_test_wait_until(test, atomic_read(&thing->runs) == 2);
		settle(test);
		EXPECT_RUNS(test, thing, 2);
	}
}

/* ---- Its end ---- */

static void shut_down_within(struct kwq_queue *queue, struct thing *thing)
{
	kwq_shut_down(queue);
}

static void drain_goes_to_the_last_item(struct kunit *test)
{
	struct handler_test *t = test->priv;
	int i;

	/* K2 Q9: failed items are not tried again */
	start(test, 2);
	enter(test, &t->thing[0]);
	t->thing[1].verdict = kwq_result_of(-EIO);
	t->thing[2].verdict = kwq_result_again_after(1000);
	t->thing[3].verdict = kwq_result_give_up();
	t->thing[4].verdict = kwq_result_again_after(0);
	for (i = 1; i < NR_THINGS - 1; i++)
		kwq_add(&t->queue, &t->thing[i].item);
	kwq_add_after(&t->queue, &t->thing[NR_THINGS - 1].item, 10);
	leave(&t->thing[0]);
	KUNIT_EXPECT_EQ(test, kwq_shut_down_with_drain(&t->queue, KTIME_MAX), 0);
	for (i = 0; i < NR_THINGS - 1; i++)
		KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->thing[i].item));
	for (i = 5; i < NR_THINGS - 1; i++)
		EXPECT_RUNS(test, &t->thing[i], 1);
	EXPECT_RUNS(test, &t->thing[NR_THINGS - 1], 0);
	KUNIT_EXPECT_EQ(test, kwq_add(&t->queue, &t->thing[0].item), -ESHUTDOWN);
}

static void shut_down_by_its_handler(struct kunit *test)
{
	struct handler_test *t = test->priv;

	/* K2 Q8: ready items are still handled */
	start(test, 1);
	enter(test, &t->thing[0]);
	t->thing[1].within = shut_down_within;
	kwq_add(&t->queue, &t->thing[1].item);
	kwq_add(&t->queue, &t->thing[2].item);
	leave(&t->thing[0]);
	settle(test);
	EXPECT_RUNS(test, &t->thing[2], 1);
	KUNIT_EXPECT_TRUE(test, kwq_shutting_down(&t->queue));
}

static void destroyed_it_calls_nobody(struct kunit *test)
{
	struct handler_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	int i;

	/* K3: ready, waiting and dead items; then no handler is called */
	KUNIT_ASSERT_NOT_NULL(test, t);
	kwq_test_queue_init(&t->queue, "test", KWQ_CLOCK_MANUAL);
	for (i = 0; i < NR_THINGS; i++)
		kwq_item_init(&t->thing[i].item);
	KUNIT_ASSERT_EQ(test, start_handler(&t->queue, handle, 2, 0), 0);
	for (i = 0; i < NR_THINGS; i++)
		t->thing[i].verdict = kwq_result_done();
	t->thing[0].verdict = kwq_result_give_up();
	t->thing[1].verdict = kwq_result_of(-EIO);
	t->thing[2].verdict = kwq_result_again_after(0);
	for (i = 0; i < NR_THINGS; i++)
		kwq_add(&t->queue, &t->thing[i].item);
	kwq_queue_destroy(&t->queue);
	for (i = 0; i < NR_THINGS; i++) {
		KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->thing[i].item));
		KUNIT_EXPECT_EQ(test, atomic_read(&t->thing[i].inside), 0);
	}
	KUNIT_EXPECT_PTR_EQ(test, t->queue.workers, NULL);
}

/* ---- A borrowed workqueue ---- */

/*
 * A work item of the test's own
 * @fn: what it does
 * @entered: it has begun
 * @leave: it may return, if it blocks
 */
struct other_work {
	struct work_struct work;
	struct handler_test *t;
	void (*fn)(struct handler_test *t);
	struct completion entered;
	struct completion leave;
};

static void do_other_work(struct work_struct *work)
{
	struct other_work *other = container_of(work, struct other_work, work);

	complete(&other->entered);
	if (other->fn)
		other->fn(other->t);
	else
		wait_for_completion(&other->leave);
}

/* Queues a work item. Without @fn it blocks its workqueue. */
static struct other_work *queue_other(struct kunit *test, struct workqueue_struct *wq,
				      void (*fn)(struct handler_test *t))
{
	struct other_work *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, other);
	INIT_WORK(&other->work, do_other_work);
	other->t = test->priv;
	other->fn = fn;
	init_completion(&other->entered);
	init_completion(&other->leave);
	queue_work(wq, &other->work);
	return other;
}

static struct workqueue_struct *ordered(struct kunit *test)
{
	struct workqueue_struct *wq = alloc_ordered_workqueue("kwq_test", 0);

	KUNIT_ASSERT_NOT_NULL(test, wq);
	return wq;
}

static void destroyed_with_workers_that_were_never_run(struct kunit *test)
{
	/* K7: the end of the test destroys the queue. */
	start_on(test, system_long_wq, 4);
}

static void system_workqueue_is_borrowed(struct kunit *test)
{
	struct handler_test *t = test->priv;
	int i;

	/* K7: after the end of the queue it still runs work items */
	start_on(test, system_long_wq, 3);
	for (i = 0; i < NR_THINGS; i++)
		kwq_add(&t->queue, &t->thing[i].item);
	settle(test);
	for (i = 0; i < NR_THINGS; i++)
		EXPECT_RUNS(test, &t->thing[i], 1);
	KUNIT_EXPECT_EQ(test, kwq_queue_destroy(&t->queue), 0);
	KUNIT_EXPECT_PTR_EQ(test, t->queue.workers, NULL);
	INIT_WORK(&other_work, let_other_run);
	other_ran = false;
	queue_work(system_long_wq, &other_work);
	flush_work(&other_work);
	KUNIT_EXPECT_TRUE(test, other_ran);
	kwq_test_queue_init(&t->queue, "test", KWQ_CLOCK_MANUAL);
}

static void two_queues_share_a_workqueue(struct kunit *test)
{
	struct kwq_queue *q = kwq_test_queue_alloc(test);
	struct workqueue_struct *wq = ordered(test);
	struct handler_test *t = test->priv;
	struct kwq_handler handler = { .handle = handle, .max_active = 2, .wq = wq };

	/* K7: the workqueue's own limit counts, too; one queue ends, the other does not */
	KUNIT_ASSERT_NOT_NULL(test, q);
	kwq_test_queue_init(q, "other", KWQ_CLOCK_MANUAL);
	KUNIT_EXPECT_EQ(test, kwq_start_handler(q, &handler), 0);
	start_on(test, wq, 2);
	enter(test, &t->thing[0]);
	kwq_add(&t->queue, &t->thing[1].item);
	kwq_add(q, &t->thing[2].item);
	EXPECT_RUNS(test, &t->thing[1], 0);
	EXPECT_RUNS(test, &t->thing[2], 0);
	leave(&t->thing[0]);
	settle(test);
	kwq_test_wait_until(test, is_quiet(q));
	EXPECT_RUNS(test, &t->thing[1], 1);
	EXPECT_RUNS(test, &t->thing[2], 1);
	KUNIT_EXPECT_EQ(test, kwq_queue_destroy(q), 0);
	kwq_add(&t->queue, &t->thing[1].item);
	settle(test);
	EXPECT_RUNS(test, &t->thing[1], 2);
	KUNIT_EXPECT_EQ(test, kwq_queue_destroy(&t->queue), 0);
	destroy_workqueue(wq);
	kwq_test_queue_init(&t->queue, "test", KWQ_CLOCK_MANUAL);
}

static void destroyed_while_its_workqueue_is_busy(struct kunit *test)
{
	struct workqueue_struct *wq = ordered(test);
	struct other_work *other = queue_other(test, wq, NULL);
	struct handler_test *t = test->priv;
	int i;

	/* K7: its workers are queued, and will not run before the queue is gone */
	start_on(test, wq, 3);
	for (i = 0; i < NR_THINGS; i++)
		kwq_add(&t->queue, &t->thing[i].item);
	KUNIT_EXPECT_EQ(test, kwq_queue_destroy(&t->queue), 0);
	memset(&t->queue, 0x6b, sizeof(t->queue));
	complete(&other->leave);
	destroy_workqueue(wq);
	for (i = 0; i < NR_THINGS; i++) {
		EXPECT_RUNS(test, &t->thing[i], 0);
		KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->thing[i].item));
	}
	kwq_test_queue_init(&t->queue, "test", KWQ_CLOCK_MANUAL);
}

static void destroy_in_thread(void *data)
{
	struct handler_test *t = data;

	t->thing[0].result = kwq_queue_destroy(&t->queue);
}

static void destroyed_while_handlers_run(struct kunit *test)
{
	struct kwq_test_thread *thread = kunit_kzalloc(test, sizeof(*thread), GFP_KERNEL);
	struct handler_test *t = test->priv;
	int i;

	/* K3 K7: it waits for both, and for no other */
	KUNIT_ASSERT_NOT_NULL(test, thread);
	start_on(test, system_long_wq, 2);
	enter(test, &t->thing[0]);
	enter(test, &t->thing[1]);
	for (i = 2; i < NR_THINGS; i++)
		kwq_add(&t->queue, &t->thing[i].item);
	t->thing[0].verdict = kwq_result_again_after(0);
	t->thing[0].result = -1;
	kwq_test_thread_start(test, thread, destroy_in_thread, t);
	kwq_test_wait_until(test, kwq_test_nr_drainers(&t->queue) == 1);
	leave(&t->thing[0]);
	/* One wake-up for the end of the handler is not the end of both. */
	KUNIT_EXPECT_EQ(test, t->thing[0].result, -1);
	leave(&t->thing[1]);
	kwq_test_thread_join(test, thread);
	KUNIT_EXPECT_EQ(test, t->thing[0].result, 0);
	EXPECT_RUNS(test, &t->thing[0], 1);
	for (i = 2; i < NR_THINGS; i++)
		EXPECT_RUNS(test, &t->thing[i], 0);
	kwq_test_queue_init(&t->queue, "test", KWQ_CLOCK_MANUAL);
}

static void destroy_here(struct handler_test *t)
{
	t->thing[1].result = kwq_queue_destroy(&t->queue);
}

static void destroyed_in_a_work_item_of_its_workqueue(struct kunit *test)
{
	struct workqueue_struct *wq = ordered(test);
	struct other_work *first = queue_other(test, wq, NULL);
	struct handler_test *t = test->priv;
	struct other_work *second;

	/* K3 K7: its worker is queued behind the work item that destroys the queue */
	start_on(test, wq, 1);
	second = queue_other(test, wq, destroy_here);
	kwq_add(&t->queue, &t->thing[0].item);
	t->thing[1].result = -1;
	complete(&first->leave);
	flush_work(&second->work);
	KUNIT_EXPECT_EQ(test, t->thing[1].result, 0);
	EXPECT_RUNS(test, &t->thing[0], 0);
	destroy_workqueue(wq);
	kwq_test_queue_init(&t->queue, "test", KWQ_CLOCK_MANUAL);
}

static void cancel_first(struct handler_test *t)
{
	t->thing[1].result = kwq_cancel_sync(&t->queue, &t->thing[0].item);
	t->thing[2].result = kwq_disable_sync(&t->queue, &t->thing[0].item);
}

static void cancelled_in_a_work_item_of_its_workqueue(struct kunit *test)
{
	struct workqueue_struct *wq = ordered(test);
	struct other_work *first = queue_other(test, wq, NULL);
	struct handler_test *t = test->priv;
	struct other_work *second;

	/* K3 K7: a cancel waits for no handler that has yet to begin */
	start_on(test, wq, 1);
	second = queue_other(test, wq, cancel_first);
	kwq_add(&t->queue, &t->thing[0].item);
	kwq_add(&t->queue, &t->thing[3].item);
	complete(&first->leave);
	flush_work(&second->work);
	KUNIT_EXPECT_EQ(test, t->thing[1].result, KWQ_WAS_READY);
	KUNIT_EXPECT_EQ(test, t->thing[2].result, 0);
	settle(test);
	EXPECT_RUNS(test, &t->thing[0], 0);
	EXPECT_RUNS(test, &t->thing[3], 1);
	KUNIT_EXPECT_EQ(test, kwq_queue_destroy(&t->queue), 0);
	destroy_workqueue(wq);
	kwq_test_queue_init(&t->queue, "test", KWQ_CLOCK_MANUAL);
}

static void waits_for_a_handler_in_a_work_item_of_its_workqueue(struct kunit *test)
{
	struct workqueue_struct *wq = alloc_workqueue("kwq_test", WQ_UNBOUND, 2);
	struct handler_test *t = test->priv;
	struct other_work *other;

	/* K3 K7: and lockdep has nothing to report */
	KUNIT_ASSERT_NOT_NULL(test, wq);
	start_on(test, wq, 1);
	enter(test, &t->thing[0]);
	other = queue_other(test, wq, cancel_first);
	kwq_test_wait_until(test, kwq_test_nr_drainers(&t->queue) == 1);
	leave(&t->thing[0]);
	flush_work(&other->work);
	KUNIT_EXPECT_EQ(test, t->thing[1].result, KWQ_WAS_PROCESSING);
	KUNIT_EXPECT_EQ(test, t->thing[2].result, 0);
	KUNIT_EXPECT_EQ(test, kwq_queue_destroy(&t->queue), 0);
	destroy_workqueue(wq);
	kwq_test_queue_init(&t->queue, "test", KWQ_CLOCK_MANUAL);
}

/* ---- What it is given ---- */

static const struct flags_case {
	const char *desc;
	unsigned int flags;
} flags_cases[] = {
	{ "bound", 0 },
	{ "unbound", WQ_UNBOUND },
	{ "high priority", WQ_HIGHPRI },
	{ "unbound, high priority", WQ_UNBOUND | WQ_HIGHPRI },
	{ "freezable", WQ_FREEZABLE },
	{ "memory reclaim", WQ_MEM_RECLAIM },
	{ "cpu intensive", WQ_CPU_INTENSIVE },
	{ "power efficient", WQ_POWER_EFFICIENT },
	{ "all that unbound may be",
	  WQ_UNBOUND | WQ_FREEZABLE | WQ_MEM_RECLAIM | WQ_HIGHPRI },
};

KUNIT_ARRAY_PARAM_DESC(flags, flags_cases, desc);

static void workqueue_is_the_drivers_choice(struct kunit *test)
{
	const struct flags_case *p = test->param_value;
	struct handler_test *t = test->priv;
	int i;

	/* K2 */
	KUNIT_ASSERT_EQ(test, start_handler(&t->queue, handle, 3, p->flags), 0);
	for (i = 0; i < NR_THINGS; i++)
		kwq_add(&t->queue, &t->thing[i].item);
	settle(test);
	for (i = 0; i < NR_THINGS; i++)
		EXPECT_RUNS(test, &t->thing[i], 1);
}

static void note_the_processor(struct kwq_queue *queue, struct thing *thing)
{
	thing->result = raw_smp_processor_id();
}

static void bound_handler_runs_where_the_add_was(struct kunit *test)
{
	struct handler_test *t = test->priv;
	struct kwq_queue *q = kwq_test_queue_alloc(test);
	int cpu;

	/*
	 * K2. A queue for each flag. cmwq prefers the processor where a work item still
	 * runs, and a worker may still be returning when all is quiet.
	 */
	KUNIT_ASSERT_NOT_NULL(test, q);
	t->thing[0].within = note_the_processor;
	for_each_online_cpu(cpu) {
		set_cpus_allowed_ptr(current, cpumask_of(cpu));
		kwq_test_queue_init(q, "bound", KWQ_CLOCK_MANUAL);
		KUNIT_EXPECT_EQ(test, start_handler(q, handle, 1, 0), 0);
		kwq_add(q, &t->thing[0].item);
		kwq_test_wait_until(test, is_quiet(q));
		KUNIT_EXPECT_EQ(test, t->thing[0].result, cpu);
		kwq_queue_destroy(q);
	}
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

static void handle_no_batch(struct kwq_queue *queue, struct kwq_item *const *items,
			    struct kwq_result *results, unsigned int nr)
{
}

static const struct bad_case {
	const char *desc;
	struct kwq_handler handler;
} bad_cases[] = {
	{ "no function", { .max_active = 1 } },
	{ "two functions", { handle, handle_no_batch, .max_active = 1, .max_batch = 1 } },
	{ "none at once", { handle } },
	{ "too many at once", { handle, .max_active = WQ_MAX_ACTIVE + 1 } },
	{ "more than any number at once", { handle, .max_active = UINT_MAX } },
	{ "in softirqs", { handle, .max_active = 1, .wq_flags = WQ_BH } },
	{ "in sysfs", { handle, .max_active = 1, .wq_flags = WQ_SYSFS } },
	{ "a flag of cmwq's own", { handle, .max_active = 1, .wq_flags = __WQ_ORDERED } },
	{ "an unknown flag", { handle, .max_active = 1, .wq_flags = 1U << 31 } },
	{ "one item with a batch", { handle, .max_active = 1, .max_batch = 1 } },
	{ "a batch of none", { .handle_batch = handle_no_batch, .max_active = 1 } },
	{ "a batch of too many",
	  { .handle_batch = handle_no_batch, .max_active = 1,
	    .max_batch = KWQ_HANDLER_BATCH_MAX + 1 } },
	{ "a batch of more than any number",
	  { .handle_batch = handle_no_batch, .max_active = 1, .max_batch = UINT_MAX } },
};

KUNIT_ARRAY_PARAM_DESC(bad, bad_cases, desc);

static void bad_handler_is_refused(struct kunit *test)
{
	const struct bad_case *p = test->param_value;
	struct handler_test *t = test->priv;

	/* K2 K10 */
	KUNIT_EXPECT_EQ(test, kwq_start_handler(&t->queue, &p->handler), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, t->queue.workers, NULL);
	start(test, 1);
}

static void borrowed_workqueue_has_its_own_flags(struct kunit *test)
{
	struct handler_test *t = test->priv;

	/* K7 */
	KUNIT_EXPECT_EQ(test, kwq_start_handler(&t->queue, &(struct kwq_handler){
		.handle = handle,
		.max_active = 1,
		.wq = system_long_wq,
		.wq_flags = WQ_UNBOUND,
	}), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, t->queue.workers, NULL);
}

static void most_at_once(struct kunit *test)
{
	struct handler_test *t = test->priv;

	/* K2 */
	start(test, WQ_MAX_ACTIVE);
	kwq_add(&t->queue, &t->thing[0].item);
	settle(test);
	EXPECT_RUNS(test, &t->thing[0], 1);
}

static struct kwq_result another(struct kwq_queue *queue, struct kwq_item *item)
{
	return kwq_result_give_up();
}

static void second_handler_is_refused(struct kunit *test)
{
	struct handler_test *t = test->priv;

	/* K2 */
	start(test, 1);
	KUNIT_EXPECT_EQ(test, start_handler(&t->queue, another, 1, 0), -EBUSY);
	kwq_add(&t->queue, &t->thing[0].item);
	settle(test);
	EXPECT_RUNS(test, &t->thing[0], 1);
	KUNIT_EXPECT_PTR_EQ(test, kwq_first_dead(&t->queue), NULL);
}

#define NR_CROWD	(2 * KWQ_ITEMS_PER_HOLD + 1)

static atomic_t nr_counted;

static struct kwq_result count_item(struct kwq_queue *queue, struct kwq_item *item)
{
	atomic_inc(&nr_counted);
	return kwq_result_done();
}

static void start_tells_a_crowd_of_workers(struct kunit *test)
{
	struct handler_test *t = test->priv;
	struct kwq_item *items;
	int i;

	/* K2 O8: in several holds */
	items = kunit_kcalloc(test, NR_CROWD, sizeof(*items), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, items);
	atomic_set(&nr_counted, 0);
	for (i = 0; i < NR_CROWD; i++) {
		kwq_item_init(&items[i]);
		kwq_add(&t->queue, &items[i]);
	}
	KUNIT_ASSERT_EQ(test, start_handler(&t->queue, count_item, NR_CROWD, 0), 0);
	KUNIT_EXPECT_EQ(test, kwq_shut_down_with_drain(&t->queue, KTIME_MAX), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&nr_counted), NR_CROWD);
}

#ifdef CONFIG_FAILSLAB
/* Lets the @nth allocation fail; returns whether there was one. */
static bool start_without_memory(struct kunit *test, struct kwq_queue *q, int nth,
				 int *refused)
{
	struct handler_test *t = test->priv;
	bool injected;
	int err;

	kwq_test_queue_init(q, "test", KWQ_CLOCK_MANUAL);
	kwq_add(q, &t->thing[0].item);
	current->fail_nth = nth;
	err = start_handler(q, handle, 2, WQ_UNBOUND);
	injected = !current->fail_nth;
	current->fail_nth = 0;
	/* cmwq can do without some allocations. */
	if (err) {
		KUNIT_EXPECT_EQ(test, err, -ENOMEM);
		KUNIT_EXPECT_PTR_EQ(test, q->workers, NULL);
		KUNIT_EXPECT_EQ(test, kwq_len(q), 1);
		kwq_remove(q, &t->thing[0].item);
		++*refused;
	}
	kwq_queue_destroy(q);
	return injected;
}

static void no_memory_for_a_handler(struct kunit *test)
{
	struct kwq_queue *q = kwq_test_queue_alloc(test);
	int nth, refused = 0;

	/* K2: lets each allocation fail in turn, until none does; that of the workers is kwq's */
	KUNIT_ASSERT_NOT_NULL(test, q);
	for (nth = 1; start_without_memory(test, q, nth, &refused); nth++)
		if (nth == 1)
			KUNIT_EXPECT_EQ(test, refused, 1);
	KUNIT_EXPECT_GT(test, nth, 3);
	KUNIT_EXPECT_GE(test, refused, 2);
}
#endif

/* ---- Many at once ---- */

#define NR_BUSY		16
#define NR_ADDS		4000
#define NR_ADDERS	2

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

struct storm {
	KWQ_TEST_QUEUE;
	struct busy busy[NR_BUSY];
	struct kwq_test_thread adder[NR_ADDERS];
	atomic_t seed;
	atomic_t twice;
};

static struct kwq_result handle_busy(struct kwq_queue *queue, struct kwq_item *item)
{
	struct storm *storm = container_of(queue, struct storm, queue);
	struct busy *busy = container_of(item, struct busy, item);
	int wanted;

	if (atomic_inc_return(&busy->inside) > 1)
		atomic_inc(&storm->twice);
	wanted = atomic_read(&busy->wanted);
	/* A failed call leaves the rest of the work to the next try. */
	busy->runs++;
	if (busy->runs % 5)
		busy->seen = wanted;
	if (busy->runs % 64 == 0)
		fsleep(50);
	atomic_dec(&busy->inside);
	if (busy->runs % 5 == 0)
		return kwq_result_of(-EAGAIN);
	return busy->runs % 7 ? kwq_result_done() :
				kwq_result_again_after(busy->runs % 2 * 1000);
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
		kwq_add_after(&storm->queue, &busy->item,
			      prandom_u32_state(&rnd) % 4 * 500);
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

static void storm_loses_nothing_and_runs_nothing_twice(struct kunit *test)
{
	struct storm *storm = kunit_kzalloc(test, sizeof(*storm), GFP_KERNEL);
	int i;

	/* K2 Q3 Q4 */
	KUNIT_ASSERT_NOT_NULL(test, storm);
	kwq_test_queue_init(&storm->queue, "storm", KWQ_CLOCK_MONOTONIC);
	kwq_configure(&storm->queue, &quick_config);
	for (i = 0; i < NR_BUSY; i++)
		kwq_item_init(&storm->busy[i].item);
	KUNIT_ASSERT_EQ(test, start_handler(&storm->queue, handle_busy, 4, WQ_UNBOUND), 0);
	for (i = 0; i < NR_ADDERS; i++)
		kwq_test_thread_start(test, &storm->adder[i], add_busily, storm);
	for (i = 0; i < NR_ADDERS; i++)
		kwq_test_thread_join(test, &storm->adder[i]);
	kwq_test_wait_until(test, is_empty(&storm->queue));
	KUNIT_EXPECT_EQ(test, atomic_read(&storm->twice), 0);
	for (i = 0; i < NR_BUSY; i++)
		KUNIT_EXPECT_EQ(test, storm->busy[i].seen,
				atomic_read(&storm->busy[i].wanted));
	kwq_queue_destroy(&storm->queue);
}

#define HANDLER_TEST_OF_BOTH							\
	KUNIT_CASE(each_item_is_handled),					\
	KUNIT_CASE(what_is_ready_is_handled_from_the_start),			\
	KUNIT_CASE(what_comes_due_is_handled),					\
	KUNIT_CASE(added_while_it_is_handled_it_is_handled_again),		\
	KUNIT_CASE(what_is_ready_at_the_start_is_handled_at_once),		\
	KUNIT_CASE(what_comes_due_together_is_handled_at_once),			\
	KUNIT_CASE(worker_that_took_long_lets_others_run),			\
	KUNIT_CASE(worker_that_took_long_comes_back),				\
	KUNIT_CASE_PARAM(no_more_are_handled_at_once, active_gen_params),	\
	KUNIT_CASE(failed_item_is_tried_again),					\
	KUNIT_CASE(default_limiter_begins_with_5_ms),				\
	KUNIT_CASE_PARAM(handled_again_after, again_gen_params),		\
	KUNIT_CASE(handled_again_at_once),					\
	KUNIT_CASE(handled_again_at_once_and_at_its_time),			\
	KUNIT_CASE_PARAM(mistake_is_a_failure, mistake_gen_params),		\
	KUNIT_CASE(given_up_item_is_dead),					\
	KUNIT_CASE(add_meanwhile_counts_whatever_it_returns),			\
	KUNIT_CASE(drain_goes_to_the_last_item),				\
	KUNIT_CASE(shut_down_by_its_handler),					\
	KUNIT_CASE(destroyed_it_calls_nobody),					\
	KUNIT_CASE(destroyed_with_workers_that_were_never_run),			\
	KUNIT_CASE_PARAM(workqueue_is_the_drivers_choice, flags_gen_params),	\
	KUNIT_CASE(system_workqueue_is_borrowed),				\
	KUNIT_CASE(two_queues_share_a_workqueue),				\
	KUNIT_CASE(destroyed_while_its_workqueue_is_busy),			\
	KUNIT_CASE(destroyed_while_handlers_run),				\
	KUNIT_CASE(destroyed_in_a_work_item_of_its_workqueue),			\
	KUNIT_CASE(cancelled_in_a_work_item_of_its_workqueue),			\
	KUNIT_CASE(waits_for_a_handler_in_a_work_item_of_its_workqueue),	\
	KUNIT_CASE(bound_handler_runs_where_the_add_was),			\
	KUNIT_CASE_PARAM(bad_handler_is_refused, bad_gen_params),		\
	KUNIT_CASE(borrowed_workqueue_has_its_own_flags),			\
	KUNIT_CASE(most_at_once),						\
	KUNIT_CASE(second_handler_is_refused),					\
	KUNIT_CASE(start_tells_a_crowd_of_workers),				\
	KUNIT_CASE_SLOW(storm_loses_nothing_and_runs_nothing_twice)

static struct kunit_case handler_test_cases[] = {
	HANDLER_TEST_OF_BOTH,
	KUNIT_CASE(higher_priority_is_handled_first),
	KUNIT_CASE(handled_again_behind_others),
#ifdef CONFIG_FAILSLAB
	KUNIT_CASE(no_memory_for_a_handler),
#endif
	{}
};

/* The same without what only a large queue has (K6). */
static struct kunit_case handler_test_small_cases[] = {
	HANDLER_TEST_OF_BOTH,
#ifdef CONFIG_FAILSLAB
	KUNIT_CASE(no_memory_for_a_handler),
#endif
	{}
};

KWQ_TEST_SUITES(handler_test, "kwq-handler", handler_test_init, handler_test_exit);

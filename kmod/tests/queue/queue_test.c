// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue as drivers use it: <linux/kwq.h> on a manual clock, and tests of the hrtimer on
 * a real clock.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kwq.h>
#include <linux/poll.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include "compat.h"
#include "core/limiter.h"
#include "tests/core/core_check.h"
#include "queue/queue.h"
#include "tests/form.h"
#include "tests/thread.h"

#define HOUR	(3600 * (u64)NSEC_PER_SEC)

struct queue_test {
	KWQ_TEST_QUEUE;
	struct kwq_item a, b, c, d;
};

static struct queue_test *make(struct kunit *test, enum kwq_clock clock)
{
	struct queue_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	kwq_test_queue_init(&t->queue, "test", clock);
	kwq_item_init(&t->a);
	kwq_item_init(&t->b);
	kwq_item_init(&t->c);
	kwq_item_init(&t->d);
	test->priv = t;
	return t;
}

static int queue_test_init(struct kunit *test)
{
	make(test, KWQ_CLOCK_MANUAL);
	return 0;
}

/* Every case ends with a sound core. */
static void expect_sound(struct kunit *test, struct kwq_queue *queue)
{
	struct kwq_holder *const holders[] = { &queue->holder };
	unsigned long flags;
	const char *broken;

	spin_lock_irqsave(&queue->lock, flags);
	broken = kwq_core_broken(&queue->core, holders, 1);
	spin_unlock_irqrestore(&queue->lock, flags);
	KUNIT_EXPECT_STREQ(test, "", broken ?: "");
}

static void queue_test_exit(struct kunit *test)
{
	struct queue_test *t = test->priv;

	if (!t)
		return;
	expect_sound(test, &t->queue);
	kwq_queue_destroy(&t->queue);
}

static struct kwq_item *make_items(struct kunit *test, int nr)
{
	struct kwq_item *items = kunit_kcalloc(test, nr, sizeof(*items),
					       GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, items);
	for (i = 0; i < nr; i++)
		kwq_item_init(&items[i]);
	return items;
}

static int add_at(struct kwq_queue *queue, struct kwq_item *item, ktime_t when)
{
	return kwq_add_with(queue, item, &(struct kwq_add_options){
		.flags = KWQ_ADD_AT,
		.time = when,
	});
}

/* The next hand-out is @item, which may be an error pointer. */
#define EXPECT_GET(test, queue, item) \
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(queue), (struct kwq_item *)(item))

#define NOTHING		ERR_PTR(-EAGAIN)
#define SHUT_DOWN	ERR_PTR(-ESHUTDOWN)
#define TIMED_OUT	ERR_PTR(-ETIMEDOUT)

/* ---- The operations ---- */

static void add_get_done(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q1 Q2 Q4 Q5 Q7 */
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->b), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 2);
	KUNIT_EXPECT_PTR_EQ(test, kwq_get(q, KTIME_MAX), &t->a);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 1);
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a), KWQ_DIRTIED);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 1);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), KWQ_REQUEUED);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 2);
	EXPECT_GET(test, q, &t->b);
	EXPECT_GET(test, q, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->b), KWQ_FINISHED);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->b));
}

/* Q2: the test holds the lock, for which the add would wait. */
static void coalesced_add_takes_no_lock(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	unsigned long flags;

	kwq_add(q, &t->a);
	kwq_add(q, &t->b);
	EXPECT_GET(test, q, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a), KWQ_DIRTIED);

	spin_lock_irqsave(&q->lock, flags);
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a), KWQ_DIRTY);
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->b), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, 0, kwq_try_coalesce(q, &t->c));
	spin_unlock_irqrestore(&q->lock, flags);

	/* Q4 */
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), KWQ_REQUEUED);
	EXPECT_GET(test, q, &t->b);
	EXPECT_GET(test, q, &t->a);
	kwq_done(q, &t->a);
	KUNIT_EXPECT_EQ(test, 0, kwq_try_coalesce(q, &t->a));
	/* Q8: ready or not. */
	kwq_add(q, &t->a);
	kwq_shut_down(q);
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a), -ESHUTDOWN);
	EXPECT_GET(test, q, &t->a);
	kwq_done(q, &t->a);
	kwq_done(q, &t->b);
}

/* Q14: nor does a pause, which the next hand-out waits for. */
static void coalesced_add_of_a_paused_queue_takes_no_lock(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	unsigned long flags;

	kwq_pause(q);
	kwq_add(q, &t->a);
	spin_lock_irqsave(&q->lock, flags);
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a), KWQ_COALESCED);
	spin_unlock_irqrestore(&q->lock, flags);
	KUNIT_EXPECT_EQ(test, kwq_resume(q), 0);
	EXPECT_GET(test, q, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), KWQ_FINISHED);
}

static void done_that_nobody_owes(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q6 */
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), -ENOENT);
	kwq_add(q, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), -ENOENT);
	EXPECT_GET(test, q, &t->a);
	EXPECT_GET(test, q, NOTHING);
}

static void try_get_does_not_wait(struct kunit *test)
{
	struct queue_test *t = test->priv;

	/* Q5 */
	EXPECT_GET(test, &t->queue, NOTHING);
	kwq_add(&t->queue, &t->a);
	EXPECT_GET(test, &t->queue, &t->a);
	EXPECT_GET(test, &t->queue, NOTHING);
}

static void done_and_get_does_both(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	kwq_add(q, &t->a);
	kwq_add(q, &t->b);
	EXPECT_GET(test, q, &t->a);
	KUNIT_EXPECT_PTR_EQ(test, kwq_done_and_get(q, &t->a, KTIME_MAX), &t->b);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));

	/* Q6: a call that fails hands nothing out. */
	kwq_add(q, &t->c);
	KUNIT_EXPECT_PTR_EQ(test, kwq_done_and_get(q, &t->a, KTIME_MAX),
			    ERR_PTR(-ENOENT));
	KUNIT_EXPECT_EQ(test, kwq_len(q), 1);

	/* Q4: the same again. */
	EXPECT_GET(test, q, &t->c);
	kwq_add(q, &t->b);
	KUNIT_EXPECT_PTR_EQ(test, kwq_done_and_get(q, &t->b, KTIME_MAX), &t->b);

	/* It is finished even if there is nothing to get, and drainers learn of it. */
	KUNIT_EXPECT_PTR_EQ(test, kwq_done_and_get(q, &t->b, 0), TIMED_OUT);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->b));
	kwq_shut_down(q);
	KUNIT_EXPECT_TRUE(test, q->woken_phase == KWQ_SHUT_DOWN);
	KUNIT_EXPECT_PTR_EQ(test, kwq_done_and_get(q, &t->c, KTIME_MAX), SHUT_DOWN);
	KUNIT_EXPECT_TRUE(test, q->woken_phase == KWQ_DRAINED);
}

static void get_looks_before_it_looks_at_the_clock(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q5 */
	kwq_queue_advance(q, 10);
	KUNIT_EXPECT_PTR_EQ(test, kwq_get(q, 10), (struct kwq_item *)TIMED_OUT);
	KUNIT_EXPECT_PTR_EQ(test, kwq_get(q, 0), (struct kwq_item *)TIMED_OUT);
	kwq_add(q, &t->a);
	KUNIT_EXPECT_PTR_EQ(test, kwq_get(q, 10), &t->a);
}

static void remove_tells_what_was(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q11 */
	KUNIT_EXPECT_EQ(test, kwq_remove(q, &t->a), -ENOENT);
	kwq_add(q, &t->a);
	kwq_add_after(q, &t->a, 10);
	KUNIT_EXPECT_EQ(test, kwq_remove(q, &t->a),
			KWQ_WAS_READY | KWQ_WAS_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 0);
	kwq_queue_advance(q, 10);
	EXPECT_GET(test, q, NOTHING);

	kwq_add(q, &t->a);
	EXPECT_GET(test, q, &t->a);
	kwq_add(q, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_remove(q, &t->a),
			KWQ_WAS_PROCESSING | KWQ_WAS_DIRTY);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), KWQ_FINISHED);
}

static void priorities(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct kwq_add_options options = { .flags = KWQ_ADD_PRIORITY };

	/* Q12 */
	options.priority = KWQ_PRIORITY_MIN;
	kwq_add_with(q, &t->a, &options);
	kwq_add(q, &t->b);
	options.priority = KWQ_PRIORITY_MAX;
	kwq_add_with(q, &t->c, &options);
	EXPECT_GET(test, q, &t->c);
	EXPECT_GET(test, q, &t->b);
	EXPECT_GET(test, q, &t->a);
}

static const struct refused_case {
	const char *desc;
	struct kwq_add_options options;
} refused_cases[] = {
	{ "an unknown flag", { .flags = KWQ_ADD_KICK << 1 } },
	{ "the highest unknown flag", { .flags = 1U << 31 } },
	{ "a priority above the highest",
	  { .flags = KWQ_ADD_PRIORITY, .priority = KWQ_PRIORITY_MAX + 1 } },
	{ "a priority below the lowest",
	  { .flags = KWQ_ADD_PRIORITY, .priority = KWQ_PRIORITY_MIN - 1 } },
	{ "a priority of 1000", { .flags = KWQ_ADD_PRIORITY, .priority = 1000 } },
	{ "the highest number as a priority",
	  { .flags = KWQ_ADD_PRIORITY, .priority = S32_MAX } },
	{ "the lowest number as a priority",
	  { .flags = KWQ_ADD_PRIORITY, .priority = S32_MIN } },
	{ "a priority without its flag", { .priority = 7 } },
	{ "a time without a flag", { .time = 7 } },
	{ "a delay and a time",
	  { .flags = KWQ_ADD_AFTER | KWQ_ADD_AT, .time = 7 } },
	{ "a delay and the limiters'",
	  { .flags = KWQ_ADD_AFTER | KWQ_ADD_RATE_LIMITED } },
	{ "a time and the limiters'",
	  { .flags = KWQ_ADD_RATE_LIMITED, .time = 7 } },
	{ "two policies",
	  { .flags = KWQ_ADD_AFTER | KWQ_ADD_KEEP | KWQ_ADD_LATER, .time = 7 } },
	{ "a policy without a time", { .flags = KWQ_ADD_REPLACE } },
	{ "an end of the wait with a delay",
	  { .flags = KWQ_ADD_AFTER | KWQ_ADD_END_WAIT, .time = 7 } },
	{ "a kick by the limiters",
	  { .flags = KWQ_ADD_RATE_LIMITED | KWQ_ADD_KICK } },
	{ "a bound without its flag",
	  { .flags = KWQ_ADD_AFTER | KWQ_ADD_REPLACE, .time = 7, .at_most = 7 } },
	{ "a bound of an add without options", { .at_most = 7 } },
	{ "the flag of a bound of 0",
	  { .flags = KWQ_ADD_AFTER | KWQ_ADD_REPLACE | KWQ_ADD_AT_MOST, .time = 7 } },
	{ "a bound for an add now", { .flags = KWQ_ADD_AT_MOST, .at_most = 7 } },
	{ "a bound for a time",
	  { .flags = KWQ_ADD_AT | KWQ_ADD_REPLACE | KWQ_ADD_AT_MOST, .time = 7, .at_most = 7 } },
	{ "a bound for the limiters",
	  { .flags = KWQ_ADD_RATE_LIMITED | KWQ_ADD_REPLACE | KWQ_ADD_AT_MOST, .at_most = 7 } },
	{ "a bound for the earlier of two times",
	  { .flags = KWQ_ADD_AFTER | KWQ_ADD_AT_MOST, .time = 7, .at_most = 7 } },
	{ "a bound for the later of two times",
	  { .flags = KWQ_ADD_AFTER | KWQ_ADD_LATER | KWQ_ADD_AT_MOST, .time = 7, .at_most = 7 } },
};

KUNIT_ARRAY_PARAM_DESC(refused, refused_cases, desc);

static void wrong_options_are_refused(struct kunit *test)
{
	const struct refused_case *p = test->param_value;
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K1: nothing changes, whether the item is idle or processing or the queue shut down */
	KUNIT_EXPECT_EQ(test, kwq_add_with(q, &t->a, &p->options), -EINVAL);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	kwq_add(q, &t->a);
	EXPECT_GET(test, q, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_add_with(q, &t->a, &p->options), -EINVAL);
	KUNIT_EXPECT_EQ(test, t->a.state, KWQ_ITEM_PROCESSING);
	KUNIT_EXPECT_EQ(test, t->a.priority, 0);
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, adds, 1);
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, retries, 0);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), KWQ_FINISHED);
	kwq_shut_down(q);
	KUNIT_EXPECT_EQ(test, kwq_add_with(q, &t->a, &p->options), -EINVAL);
}

/* ---- Small queues (K6) ---- */

static void small_queue_has_one_priority(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct kwq_add_options options = { .flags = KWQ_ADD_PRIORITY, .priority = 1 };

	/* K1: a refused add changes nothing. */
	KUNIT_EXPECT_EQ(test, kwq_add_with(q, &t->a, &options), -EINVAL);
	options.priority = -1;
	KUNIT_EXPECT_EQ(test, kwq_add_with(q, &t->a, &options), -EINVAL);
	options.flags |= KWQ_ADD_AFTER;
	options.time = 7;
	KUNIT_EXPECT_EQ(test, kwq_add_with(q, &t->a, &options), -EINVAL);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));

	/* The priority that it has may be named. */
	options.priority = 0;
	KUNIT_EXPECT_EQ(test, kwq_add_with(q, &t->a, &options), KWQ_WAITING);
	kwq_queue_advance(q, 7);
	EXPECT_GET(test, q, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), KWQ_FINISHED);

	/* As in a large queue, options are checked before the shut down. */
	options.priority = 1;
	kwq_shut_down(q);
	KUNIT_EXPECT_EQ(test, kwq_add_with(q, &t->a, &options), -EINVAL);
}

static DEFINE_KWQ_QUEUE(defined);
static DECLARE_COMPLETION(defined_handled);

static struct kwq_result handle_defined(struct kwq_queue *queue, struct kwq_item *item)
{
	complete(&defined_handled);
	return kwq_result_done();
}

static void defined_queue_needs_no_set_up(struct kunit *test)
{
	static const struct kwq_handler handler = { .handle = handle_defined, .max_active = 1 };
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &defined;

	/* K6: adds, delays and gets work before anybody has set up anything. */
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_add_after(q, &t->b, HOUR), KWQ_WAITING);
	EXPECT_GET(test, q, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, kwq_cancel_sync(q, &t->b), KWQ_WAS_WAITING);

	/* The handler is called for what was added before it began. */
	reinit_completion(&defined_handled);
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_start_handler(q, &handler), 0);
	wait_for_completion(&defined_handled);
	KUNIT_EXPECT_EQ(test, kwq_queue_destroy(q), 0);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	/* KUnit may run this case again. */
	kwq_queue_init(q, "defined", KWQ_CLOCK_MONOTONIC);
}

/* ---- A queue without durations ---- */

static void expect_no_durations(struct kunit *test, struct queue_test *t)
{
	int i;

	if (kwq_test_form != KWQ_LARGE)
		return;
	for (i = 0; i < KWQ_HISTOGRAM_BUCKETS; i++) {
		KUNIT_EXPECT_EQ(test, t->of_core.queue_duration.counts[i], 0);
		KUNIT_EXPECT_EQ(test, t->of_core.work_duration.counts[i], 0);
	}
	KUNIT_EXPECT_EQ(test, t->of_core.queue_duration.sum, 0);
	KUNIT_EXPECT_EQ(test, t->of_core.work_duration.sum, 0);
}

/* M1: adds, hand-outs and dones of each function have no time, and count as ever. */
static void durations_are_off(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	KUNIT_ASSERT_EQ(test, kwq_queue_measure_no_durations(q), 0);
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_add_unless_pending(q, &t->b, 0), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a), KWQ_COALESCED);
	kwq_queue_advance(q, 5);
	expect_no_durations(test, t);
	KUNIT_EXPECT_PTR_EQ(test, kwq_get(q, KTIME_MAX), &t->a);
	KUNIT_EXPECT_EQ(test, t->a.since, KWQ_NO_TIME);
	kwq_queue_advance(q, 10);
	expect_no_durations(test, t);
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a), KWQ_DIRTIED);
	KUNIT_EXPECT_PTR_EQ(test, kwq_done_and_get(q, &t->a, KTIME_MAX), &t->b);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->b), KWQ_FINISHED);
	EXPECT_GET(test, q, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_give_back(q, &t->a), KWQ_RETURNED);
	KUNIT_EXPECT_EQ(test, kwq_try_get_item(q, &t->a), 0);
	KUNIT_EXPECT_EQ(test, kwq_bury(q, &t->a), KWQ_BURIED);
	expect_no_durations(test, t);
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, adds, 3);
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, gets, 4);
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, dones, 3);
	KUNIT_EXPECT_EQ(test, kwq_remove(q, &t->a), KWQ_WAS_DEAD);
}

/* D1 D5 D9 L1: what needs the time has it. */
static void delays_without_durations(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	KUNIT_ASSERT_EQ(test, kwq_queue_measure_no_durations(q), 0);
	kwq_queue_advance(q, 100);
	KUNIT_EXPECT_EQ(test, kwq_add_after(q, &t->a, 10), KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, add_at(q, &t->b, 110), KWQ_WAITING);
	kwq_queue_advance(q, 109);
	EXPECT_GET(test, q, NOTHING);
	kwq_queue_advance(q, 110);
	EXPECT_GET(test, q, &t->a);
	EXPECT_GET(test, q, &t->b);

	/* The bound of a wait that begins during the processing, or before, or goes on after it. */
	KUNIT_EXPECT_EQ(test, kwq_add_debounced(q, &t->a, 30, 50), KWQ_WAITING);
	kwq_queue_advance(q, 130);
	KUNIT_EXPECT_EQ(test, kwq_add_debounced(q, &t->a, 30, 50), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_test_due(q, &t->a), 160);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), KWQ_STILL_WAITING);
	kwq_queue_advance(q, 150);
	KUNIT_EXPECT_EQ(test, kwq_add_debounced(q, &t->a, 30, 50), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_test_due(q, &t->a), 160);
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a), KWQ_ADDED);
	EXPECT_GET(test, q, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_add_debounced(q, &t->a, 30, 50), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_test_due(q, &t->a), 160);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), KWQ_STILL_WAITING);

	/* The default limiter begins with 5 ms. */
	KUNIT_EXPECT_EQ(test, kwq_add_rate_limited(q, &t->b), KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_test_due(q, &t->b), 150 + 5 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->b), KWQ_STILL_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(q, &t->b), 1);
	expect_no_durations(test, t);
	kwq_queue_advance(q, HOUR);
	EXPECT_GET(test, q, &t->a);
	EXPECT_GET(test, q, &t->b);
	expect_no_durations(test, t);
}

/* L10 Q17: what cannot be without durations is refused, whichever comes first. */
static void durations_that_are_needed(struct kunit *test)
{
	const struct kwq_limiter_config forgetful = { .forget_after = HOUR };
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	KUNIT_EXPECT_EQ(test, kwq_configure(q, &forgetful), 0);
	KUNIT_EXPECT_EQ(test, kwq_queue_measure_no_durations(q), -EINVAL);
	KUNIT_EXPECT_EQ(test, kwq_configure(q, NULL), 0);
	if (kwq_test_form == KWQ_LARGE) {
		KUNIT_EXPECT_EQ(test, kwq_queue_set_aging(q, HOUR), 0);
		KUNIT_EXPECT_EQ(test, kwq_queue_measure_no_durations(q), -EINVAL);
		KUNIT_EXPECT_EQ(test, kwq_queue_set_aging(q, 0), 0);
	}
	kwq_add(q, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_queue_measure_no_durations(q), -EBUSY);
	kwq_remove(q, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_queue_measure_no_durations(q), 0);
	KUNIT_EXPECT_EQ(test, kwq_queue_measure_no_durations(q), 0);
	KUNIT_EXPECT_EQ(test, kwq_configure(q, &forgetful), -EINVAL);
	KUNIT_EXPECT_EQ(test, kwq_queue_set_aging(q, HOUR), -EINVAL);
	KUNIT_EXPECT_EQ(test, kwq_configure(q, NULL), 0);
}

/* ---- Times, on a manual clock ---- */

static void manual_clock_starts_at_0_and_goes_on(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* K4 */
	KUNIT_EXPECT_EQ(test, kwq_queue_now(q), 0);
	kwq_queue_advance(q, 10);
	KUNIT_EXPECT_EQ(test, kwq_queue_now(q), 10);
	kwq_queue_advance(q, 5);
	KUNIT_EXPECT_EQ(test, kwq_queue_now(q), 10);
}

static void delay_counts_from_now(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* D1 D5 */
	kwq_queue_advance(q, 100);
	KUNIT_EXPECT_EQ(test, kwq_add_after(q, &t->a, 10), KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_add_after(q, &t->a, 10), KWQ_COALESCED);
	kwq_queue_advance(q, 109);
	EXPECT_GET(test, q, NOTHING);
	kwq_queue_advance(q, 110);
	EXPECT_GET(test, q, &t->a);
}

static void no_delay_is_an_add(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* D1 D3: it does not change the waiting. */
	kwq_add_after(q, &t->a, 10);
	KUNIT_EXPECT_EQ(test, kwq_add_after(q, &t->a, 0), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_test_due(&t->queue, &t->a), 10);
	KUNIT_EXPECT_EQ(test, kwq_add_after(q, &t->a, 0), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_remove(q, &t->a),
			KWQ_WAS_READY | KWQ_WAS_WAITING);
}

static void delay_of_nothing_is_a_retry(struct kunit *test)
{
	struct queue_test *t = test->priv;

	/* C10 M1 */
	KUNIT_EXPECT_EQ(test, kwq_add_after(&t->queue, &t->a, 0), KWQ_ADDED);
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, retries, 1);
	kwq_add(&t->queue, &t->b);
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, retries, 1);
}

static void absolute_time(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* D1 */
	kwq_queue_advance(q, 100);
	KUNIT_EXPECT_EQ(test, add_at(q, &t->a, 110), KWQ_WAITING);
	KUNIT_EXPECT_EQ(test, add_at(q, &t->b, 100), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, add_at(q, &t->c, 0), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 2);
	kwq_queue_advance(q, 110);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 3);
}

static const struct policy_case {
	const char *desc;
	u32 flags;
	u64 first;
	u64 second;
	ktime_t expected;
} policy_cases[] = {
	{ "after: the earlier", KWQ_ADD_AFTER, 20, 10, 110 },
	{ "after: not the later", KWQ_ADD_AFTER, 20, 30, 120 },
	{ "after, replace", KWQ_ADD_AFTER | KWQ_ADD_REPLACE, 20, 30, 130 },
	{ "after, keep", KWQ_ADD_AFTER | KWQ_ADD_KEEP, 20, 10, 120 },
	{ "after, later", KWQ_ADD_AFTER | KWQ_ADD_LATER, 20, 30, 130 },
	{ "after, not earlier", KWQ_ADD_AFTER | KWQ_ADD_LATER, 20, 10, 120 },
	{ "at: the earlier", KWQ_ADD_AT, 120, 110, 110 },
	{ "at, replace", KWQ_ADD_AT | KWQ_ADD_REPLACE, 120, 130, 130 },
	{ "at, keep", KWQ_ADD_AT | KWQ_ADD_KEEP, 120, 110, 120 },
	{ "at, later", KWQ_ADD_AT | KWQ_ADD_LATER, 120, 130, 130 },
};

KUNIT_ARRAY_PARAM_DESC(policy, policy_cases, desc);

static void second_time(struct kunit *test)
{
	const struct policy_case *p = test->param_value;
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct kwq_add_options options = { .flags = p->flags };

	/* D2 */
	kwq_queue_advance(q, 100);
	options.time = p->first;
	KUNIT_EXPECT_EQ(test, kwq_add_with(q, &t->a, &options), KWQ_WAITING);
	options.time = p->second;
	KUNIT_EXPECT_EQ(test, kwq_add_with(q, &t->a, &options), KWQ_COALESCED);
	kwq_queue_advance(q, p->expected - 1);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 0);
	kwq_queue_advance(q, p->expected);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 1);
}

static void debounced_adds_are_one(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* D9 */
	kwq_queue_advance(q, 100);
	KUNIT_EXPECT_EQ(test, kwq_add_debounced(q, &t->a, 10, 25), KWQ_WAITING);
	kwq_queue_advance(q, 109);
	KUNIT_EXPECT_EQ(test, kwq_add_debounced(q, &t->a, 10, 25), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_test_due(q, &t->a), 119);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 119);
	kwq_queue_advance(q, 118);
	KUNIT_EXPECT_EQ(test, kwq_add_debounced(q, &t->a, 10, 25), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 125);
	kwq_queue_advance(q, 124);
	KUNIT_EXPECT_EQ(test, kwq_add_debounced(q, &t->a, 10, 25), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 0);
	kwq_queue_advance(q, 125);
	EXPECT_GET(test, q, &t->a);
	EXPECT_GET(test, q, NOTHING);
}

static void add_can_end_the_wait(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* D3 */
	kwq_add_after(q, &t->a, 10);
	KUNIT_EXPECT_EQ(test, kwq_add_with(q, &t->a, &(struct kwq_add_options){
					.flags = KWQ_ADD_END_WAIT,
			}), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_remove(q, &t->a), KWQ_WAS_READY);
}

#define NR_BACKLOG	(2 * KWQ_ITEMS_PER_HOLD + 44)

static void timer_makes_nothing_ready_early(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* D5: an interrupt for one item does not expire the next one, too. */
	add_at(q, &t->a, 100);
	add_at(q, &t->b, 101);
	q->manual_now = 99;
	KUNIT_EXPECT_FALSE(test, kwq_take_turn(q, q->is_behind));
	KUNIT_EXPECT_EQ(test, kwq_len(q), 0);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 100);
	q->manual_now = 100;
	KUNIT_EXPECT_FALSE(test, kwq_take_turn(q, q->is_behind));
	KUNIT_EXPECT_EQ(test, kwq_len(q), 1);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 101);
}

#define NR_OF_TURNS	(KWQ_READY_PER_TIMER + KWQ_READY_PER_HOLD + 20)

static void backlog_takes_several_turns(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct kwq_item *items = make_items(test, NR_OF_TURNS);
	int i;

	/* D6 O8 */
	for (i = 0; i < NR_OF_TURNS; i++)
		add_at(q, &items[i], 10);
	q->manual_now = 20;
	KUNIT_EXPECT_TRUE(test, kwq_take_turn(q, q->is_behind));
	KUNIT_EXPECT_TRUE(test, q->is_behind);
	KUNIT_EXPECT_EQ(test, kwq_len(q), KWQ_READY_PER_TIMER);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 10);
	KUNIT_EXPECT_TRUE(test, kwq_take_turn(q, q->is_behind));
	KUNIT_EXPECT_EQ(test, kwq_len(q), KWQ_READY_PER_TIMER + KWQ_READY_PER_HOLD);
	KUNIT_EXPECT_FALSE(test, kwq_take_turn(q, q->is_behind));
	KUNIT_EXPECT_EQ(test, kwq_len(q), NR_OF_TURNS);
	KUNIT_EXPECT_FALSE(test, q->is_behind);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), KTIME_MAX);
}

static void whole_hold_of_due_items_is_no_backlog(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct kwq_item *items = make_items(test, KWQ_READY_PER_TIMER);
	int i;

	/* D6: the next item is not due yet. */
	for (i = 0; i < KWQ_READY_PER_TIMER; i++)
		add_at(q, &items[i], 10);
	add_at(q, &t->a, 30);
	q->manual_now = 20;
	KUNIT_EXPECT_FALSE(test, kwq_take_turn(q, q->is_behind));
	KUNIT_EXPECT_EQ(test, kwq_len(q), KWQ_READY_PER_TIMER);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), 30);
}

/* ---- Who is woken ---- */

/* A waiter that only counts its wake-ups. */
struct sleeper {
	struct wait_queue_entry entry;
	struct kwq_core *core;
	int wakes;
	__poll_t events;
	u64 readied;		/* at the last wake-up */
	u64 most;		/* most items moved in one hold of the lock */
	int holds;		/* that moved something */
};

static int wake_sleeper(struct wait_queue_entry *entry, unsigned int mode,
			int sync, void *key)
{
	struct sleeper *s = container_of(entry, struct sleeper, entry);
	u64 moved = s->core->readied - s->readied;

	s->wakes++;
	s->events |= key_to_poll(key);
	s->readied = s->core->readied;
	s->most = max(s->most, moved);
	if (moved)
		s->holds++;
	/* A getter would leave the list; a poller would stay. */
	if (entry->flags & WQ_FLAG_EXCLUSIVE)
		list_del_init(&entry->entry);
	return 1;
}

static void sleeper_init(struct sleeper *s, struct kwq_queue *queue)
{
	memset(s, 0, sizeof(*s));
	init_waitqueue_func_entry(&s->entry, wake_sleeper);
	INIT_LIST_HEAD(&s->entry.entry);
	s->core = &queue->core;
	s->readied = queue->core.readied;
}

static void others_come_in_between_two_turns(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct kwq_item *items = make_items(test, NR_OF_TURNS);
	struct sleeper poller;
	int i;

	/* D6 */
	for (i = 0; i < NR_OF_TURNS; i++)
		add_at(q, &items[i], 10);
	sleeper_init(&poller, q);
	add_wait_queue(&kwq_queue_bulk_of(q)->pollers, &poller.entry);
	q->manual_now = 20;
	while (kwq_take_turn(q, q->is_behind))
		;
	remove_wait_queue(&kwq_queue_bulk_of(q)->pollers, &poller.entry);
	KUNIT_EXPECT_EQ(test, poller.holds, 3);
	KUNIT_EXPECT_EQ(test, poller.most, KWQ_READY_PER_HOLD);
}

static void make_ready_in_one_hold(struct kunit *test, struct kwq_item *items, int nr)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	unsigned long flags;
	int i;

	for (i = 0; i < nr; i++)
		add_at(q, &items[i], 10);
	spin_lock_irqsave(&q->lock, flags);
	q->manual_now = 20;
	q->is_behind = true;
	spin_unlock_irqrestore(&q->lock, flags);
	KUNIT_EXPECT_FALSE(test, kwq_take_turn(q, true));
}

static int total_wakes(const struct sleeper *sleepers, int nr)
{
	int sum = 0;

	while (nr--)
		sum += sleepers[nr].wakes;
	return sum;
}

static void each_ready_item_wakes_one_getter(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct sleeper s[6];
	int i;

	/* Q5: ready by */
	for (i = 0; i < ARRAY_SIZE(s); i++) {
		sleeper_init(&s[i], q);
		add_wait_queue_exclusive(&q->getters, &s[i].entry);
	}
	/* an add, */
	kwq_add(q, &t->a);
	KUNIT_EXPECT_EQ(test, total_wakes(s, 6), 1);
	/* (coalesced: nobody) */
	kwq_add(q, &t->a);
	KUNIT_EXPECT_EQ(test, total_wakes(s, 6), 1);
	kwq_add(q, &t->b);
	KUNIT_EXPECT_EQ(test, total_wakes(s, 6), 2);
	/* (dirty: nobody) */
	EXPECT_GET(test, q, &t->a);
	kwq_add(q, &t->a);
	KUNIT_EXPECT_EQ(test, total_wakes(s, 6), 2);
	/* a done, */
	kwq_done(q, &t->a);
	KUNIT_EXPECT_EQ(test, total_wakes(s, 6), 3);
	/* (done with: nobody) */
	EXPECT_GET(test, q, &t->b);
	kwq_done(q, &t->b);
	KUNIT_EXPECT_EQ(test, total_wakes(s, 6), 3);
	/* an add for a time that has come (waiting: none) */
	kwq_add_after(q, &t->b, 10);
	KUNIT_EXPECT_EQ(test, total_wakes(s, 6), 3);
	add_at(q, &t->c, 0);
	KUNIT_EXPECT_EQ(test, total_wakes(s, 6), 4);
	/* (removed: nobody) */
	kwq_remove(q, &t->c);
	KUNIT_EXPECT_EQ(test, total_wakes(s, 6), 4);
	KUNIT_EXPECT_EQ(test, kwq_test_nr_sleepers(&q->getters), 2);
	/* A shut down wakes all that are left (Q8). */
	kwq_shut_down(q);
	KUNIT_EXPECT_EQ(test, total_wakes(s, 6), 6);
}

static void what_is_got_in_the_same_hold_wakes_nobody(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct sleeper getter, poller;

	kwq_add(q, &t->a);
	EXPECT_GET(test, q, &t->a);
	kwq_add(q, &t->a);
	sleeper_init(&getter, q);
	add_wait_queue_exclusive(&q->getters, &getter.entry);
	sleeper_init(&poller, q);
	add_wait_queue(&kwq_queue_bulk_of(q)->pollers, &poller.entry);
	KUNIT_EXPECT_PTR_EQ(test, kwq_done_and_get(q, &t->a, KTIME_MAX), &t->a);
	KUNIT_EXPECT_EQ(test, getter.wakes + poller.wakes, 0);
	remove_wait_queue(&q->getters, &getter.entry);
	remove_wait_queue(&kwq_queue_bulk_of(q)->pollers, &poller.entry);
	kwq_done(q, &t->a);
}

static void pollers_are_told_that_it_is_readable(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct sleeper s;

	/* U2 */
	sleeper_init(&s, q);
	add_wait_queue(&kwq_queue_bulk_of(q)->pollers, &s.entry);
	kwq_add(q, &t->a);
	KUNIT_EXPECT_EQ(test, s.wakes, 1);
	KUNIT_EXPECT_TRUE(test, s.events == (EPOLLIN | EPOLLRDNORM));
	kwq_add(q, &t->a);
	KUNIT_EXPECT_EQ(test, s.wakes, 1);
	kwq_shut_down(q);
	KUNIT_EXPECT_GT(test, s.wakes, 1);
	remove_wait_queue(&kwq_queue_bulk_of(q)->pollers, &s.entry);
}

static void expiry_is_bounded_in_each_hold(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct kwq_item *items = make_items(test, NR_BACKLOG);
	struct sleeper s;
	int i;

	/* D6 */
	for (i = 0; i < NR_BACKLOG; i++)
		add_at(q, &items[i], 10);
	sleeper_init(&s, q);
	add_wait_queue(&q->getters, &s.entry);
	kwq_queue_advance(q, 10);
	remove_wait_queue(&q->getters, &s.entry);
	KUNIT_EXPECT_EQ(test, kwq_len(q), NR_BACKLOG);
	KUNIT_EXPECT_EQ(test, s.most, KWQ_READY_PER_HOLD);
	KUNIT_EXPECT_EQ(test, s.holds, DIV_ROUND_UP(NR_BACKLOG, KWQ_READY_PER_HOLD));
}

static void shut_down_drops_many(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct kwq_item *items = make_items(test, NR_BACKLOG);
	int i;

	/* Q8 */
	for (i = 0; i < NR_BACKLOG; i++)
		add_at(q, &items[i], 10);
	kwq_shut_down(q);
	for (i = 0; i < NR_BACKLOG; i++)
		KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&items[i]));
}

static void shut_down_drops_all_that_waits(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct kwq_item *items = make_items(test, NR_BACKLOG);
	int i;

	/* Q8 Q10: more items than one hold drops */
	for (i = 0; i < NR_BACKLOG; i++)
		add_at(q, &items[i], 10);
	kwq_shut_down(q);
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, dropped, NR_BACKLOG);
	for (i = 0; i < NR_BACKLOG; i++)
		KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&items[i]));
}

static void shut_down_queue_wakes_only_for_a_reason(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct sleeper s;
	int i;

	/* Q5, Q8: each of these woke everyone once */
	kwq_add(q, &t->a);
	kwq_add(q, &t->b);
	kwq_try_get(q);
	kwq_try_get(q);
	kwq_shut_down(q);
	sleeper_init(&s, q);
	add_wait_queue(&q->getters, &s.entry);
	for (i = 0; i < 10; i++) {
		KUNIT_EXPECT_EQ(test, kwq_add(q, &t->c), -ESHUTDOWN);
		KUNIT_EXPECT_EQ(test, kwq_remove(q, &t->c), -ENOENT);
		KUNIT_EXPECT_EQ(test, PTR_ERR(kwq_try_get(q)), -ESHUTDOWN);
	}
	kwq_done(q, &t->a);
	KUNIT_EXPECT_EQ(test, s.wakes, 0);
	/* This is one. */
	kwq_done(q, &t->b);
	KUNIT_EXPECT_EQ(test, s.wakes, 1);
	remove_wait_queue(&q->getters, &s.entry);
}

/* ---- Threads that get ---- */

struct getter {
	struct kwq_test_thread thread;
	struct kwq_queue *queue;
	ktime_t deadline;
	struct kwq_item *item;
};

static void get_once(void *data)
{
	struct getter *getter = data;

	getter->item = kwq_get(getter->queue, getter->deadline);
}

/* Starts @nr getters, and waits until they sleep. */
static void start_getters(struct kunit *test, struct kwq_queue *queue,
			  struct getter *getters, int nr, ktime_t deadline)
{
	int i;

	for (i = 0; i < nr; i++) {
		getters[i].queue = queue;
		getters[i].deadline = deadline;
		getters[i].item = NULL;
		kwq_test_thread_start(test, &getters[i].thread, get_once,
				      &getters[i]);
	}
	kwq_test_wait_until(test, kwq_test_nr_sleepers(&queue->getters) == nr);
}

static void join_getters(struct kunit *test, struct getter *getters, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		kwq_test_thread_join(test, &getters[i].thread);
}

static int nr_that_got(const struct getter *getters, int nr,
		       const struct kwq_item *item)
{
	int sum = 0;

	while (nr--)
		sum += getters[nr].item == item;
	return sum;
}

static void blocked_getters_share_the_items(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct getter *g = kunit_kcalloc(test, 4, sizeof(*g), GFP_KERNEL);

	/* Q5 Q3 */
	KUNIT_ASSERT_NOT_NULL(test, g);
	start_getters(test, q, g, 4, KTIME_MAX);
	kwq_add(q, &t->a);
	kwq_add(q, &t->b);
	kwq_add(q, &t->a);
	kwq_add(q, &t->c);
	kwq_add(q, &t->d);
	/* If a was handed out before its second add, it is ready again. */
	join_getters(test, g, 4);
	KUNIT_EXPECT_EQ(test, nr_that_got(g, 4, &t->a), 1);
	KUNIT_EXPECT_EQ(test, nr_that_got(g, 4, &t->b), 1);
	KUNIT_EXPECT_EQ(test, nr_that_got(g, 4, &t->c), 1);
	KUNIT_EXPECT_EQ(test, nr_that_got(g, 4, &t->d), 1);
}

static void blocked_getters_share_what_is_due(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct getter *g = kunit_kcalloc(test, 2, sizeof(*g), GFP_KERNEL);

	/* Q5 D1 */
	KUNIT_ASSERT_NOT_NULL(test, g);
	start_getters(test, q, g, 2, KTIME_MAX);
	kwq_add_after(q, &t->a, 10);
	kwq_add_after(q, &t->b, 10);
	kwq_queue_advance(q, 10);
	join_getters(test, g, 2);
	KUNIT_EXPECT_EQ(test, nr_that_got(g, 2, &t->a), 1);
	KUNIT_EXPECT_EQ(test, nr_that_got(g, 2, &t->b), 1);
}

static void blocked_getter_gets_a_requeued_item(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct getter *g = kunit_kzalloc(test, sizeof(*g), GFP_KERNEL);

	/* Q5 Q4 */
	KUNIT_ASSERT_NOT_NULL(test, g);
	kwq_add(q, &t->a);
	EXPECT_GET(test, q, &t->a);
	start_getters(test, q, g, 1, KTIME_MAX);
	kwq_add(q, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_test_nr_sleepers(&q->getters), 1);
	kwq_done(q, &t->a);
	join_getters(test, g, 1);
	KUNIT_EXPECT_PTR_EQ(test, g->item, &t->a);
}

static void shut_down_wakes_all_getters(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct getter *g = kunit_kcalloc(test, 3, sizeof(*g), GFP_KERNEL);

	/* Q8 */
	KUNIT_ASSERT_NOT_NULL(test, g);
	start_getters(test, q, g, 3, KTIME_MAX);
	kwq_add_after(q, &t->a, 10);
	kwq_shut_down(q);
	join_getters(test, g, 3);
	KUNIT_EXPECT_EQ(test, nr_that_got(g, 3, SHUT_DOWN), 3);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
}

#define NR_CROWD	25

static void shut_down_wakes_a_crowd(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct getter *g = kunit_kcalloc(test, NR_CROWD, sizeof(*g), GFP_KERNEL);

	/* Q8 */
	KUNIT_ASSERT_NOT_NULL(test, g);
	start_getters(test, q, g, NR_CROWD, KTIME_MAX);
	kwq_shut_down(q);
	join_getters(test, g, NR_CROWD);
	KUNIT_EXPECT_EQ(test, nr_that_got(g, NR_CROWD, SHUT_DOWN), NR_CROWD);
}

static void deadlines_of_a_crowd_come(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct getter *g = kunit_kcalloc(test, NR_CROWD, sizeof(*g), GFP_KERNEL);

	/* Q5 O8 */
	KUNIT_ASSERT_NOT_NULL(test, g);
	start_getters(test, q, g, NR_CROWD, 100);
	kwq_queue_advance(q, 100);
	join_getters(test, g, NR_CROWD);
	KUNIT_EXPECT_EQ(test, nr_that_got(g, NR_CROWD, TIMED_OUT), NR_CROWD);
}

static void crowd_shares_the_items_of_one_hold(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct kwq_item *items = make_items(test, NR_CROWD);
	struct getter *g = kunit_kcalloc(test, NR_CROWD, sizeof(*g), GFP_KERNEL);
	int i;

	/* Q5 O8: each getter gets an item, though a single hold makes all of them ready. */
	KUNIT_ASSERT_NOT_NULL(test, g);
	start_getters(test, q, g, NR_CROWD, KTIME_MAX);
	make_ready_in_one_hold(test, items, NR_CROWD);
	join_getters(test, g, NR_CROWD);
	for (i = 0; i < NR_CROWD; i++)
		KUNIT_EXPECT_EQ(test, nr_that_got(g, NR_CROWD, &items[i]), 1);
}

static void drain_drops_a_backlog(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct kwq_item *items = make_items(test, NR_BACKLOG);
	int i;

	/* Q9 O8: in several holds */
	for (i = 0; i < NR_BACKLOG; i++)
		kwq_add_after(q, &items[i], 10);
	KUNIT_EXPECT_EQ(test, kwq_shut_down_with_drain(q, KTIME_MAX), 0);
	KWQ_EXPECT_METRIC_OF_QUEUE(test, t, dropped, NR_BACKLOG);
}

static void getters_deadline_comes(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct getter *g = kunit_kzalloc(test, sizeof(*g), GFP_KERNEL);

	/* Q5 */
	KUNIT_ASSERT_NOT_NULL(test, g);
	start_getters(test, q, g, 1, 100);
	kwq_queue_advance(q, 99);
	/* When it sleeps again, it has read the clock. */
	kwq_test_wait_until(test, kwq_test_nr_sleepers(&q->getters) == 1);
	kwq_queue_advance(q, 100);
	join_getters(test, g, 1);
	KUNIT_EXPECT_PTR_EQ(test, g->item, (struct kwq_item *)TIMED_OUT);
}

static void item_that_is_due_at_the_deadline_is_got(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q5: the clock has advanced, and the advance has not come to the item yet. */
	kwq_add_after(q, &t->a, 100);
	kwq_begin_advance_by(q, 100);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 0);
	KUNIT_EXPECT_PTR_EQ(test, kwq_get(q, 100), &t->a);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), KWQ_FINISHED);
	KUNIT_EXPECT_PTR_EQ(test, kwq_get(q, 100), (struct kwq_item *)TIMED_OUT);

	/* An item that waits for ever is not due. */
	kwq_queue_advance(q, KTIME_MAX - 1);
	kwq_add_after(q, &t->a, U64_MAX);
	KUNIT_EXPECT_PTR_EQ(test, kwq_get(q, 100), (struct kwq_item *)TIMED_OUT);
}

static void signal_ends_the_wait(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct getter *g = kunit_kzalloc(test, sizeof(*g), GFP_KERNEL);

	/* Q5 */
	KUNIT_ASSERT_NOT_NULL(test, g);
	start_getters(test, q, g, 1, KTIME_MAX);
	kwq_test_thread_signal(&g->thread);
	join_getters(test, g, 1);
	KUNIT_EXPECT_PTR_EQ(test, g->item,
			    (struct kwq_item *)ERR_PTR(-ERESTARTSYS));
	KUNIT_EXPECT_EQ(test, kwq_test_nr_sleepers(&q->getters), 0);
}

#define NR_SIGNALS	10

static void signal_takes_no_item_with_it(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct getter *g = kunit_kcalloc(test, 2, sizeof(*g), GFP_KERNEL);
	int i, got;

	/* Q5: one getter gets the item, perhaps the one that was about to leave. */
	KUNIT_ASSERT_NOT_NULL(test, g);
	for (i = 0; i < NR_SIGNALS; i++) {
		start_getters(test, q, g, 2, KTIME_MAX);
		kwq_test_thread_signal(&g[0].thread);
		kwq_add(q, &t->a);
		kwq_test_thread_join(test, &g[0].thread);
		kwq_test_wait_until(test, !kwq_len(q));
		kwq_test_thread_signal(&g[1].thread);
		kwq_test_thread_join(test, &g[1].thread);
		got = nr_that_got(g, 2, &t->a);
		KUNIT_EXPECT_EQ(test, got, 1);
		if (got != 1 || kwq_done(q, &t->a) != KWQ_FINISHED)
			break;
	}
}

/* ---- Shut down and drain ---- */

static void shut_down_refuses_and_drops(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q8 */
	KUNIT_EXPECT_FALSE(test, kwq_shutting_down(q));
	kwq_add(q, &t->a);
	kwq_add_after(q, &t->b, 10);
	kwq_add_after(q, &t->a, 10);
	kwq_shut_down(q);
	KUNIT_EXPECT_TRUE(test, kwq_shutting_down(q));
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->c), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, kwq_add_after(q, &t->c, 10), -ESHUTDOWN);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->b));
	kwq_queue_advance(q, 10);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 1);
	EXPECT_GET(test, q, &t->a);
	EXPECT_GET(test, q, SHUT_DOWN);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), KWQ_FINISHED);
	KUNIT_EXPECT_PTR_EQ(test, kwq_get(q, KTIME_MAX),
			    (struct kwq_item *)SHUT_DOWN);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
}

static void drain_of_an_empty_queue(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* Q9 Q8 */
	kwq_add_after(q, &t->a, 10);
	KUNIT_EXPECT_EQ(test, kwq_shut_down_with_drain(q, KTIME_MAX), 0);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, kwq_shut_down_with_drain(q, 0), 0);
}

struct drainer {
	struct kwq_test_thread thread;
	struct kwq_queue *queue;
	ktime_t deadline;
	int result;
};

static void drain_once(void *data)
{
	struct drainer *drainer = data;

	drainer->result = kwq_shut_down_with_drain(drainer->queue,
						   drainer->deadline);
}

/* Starts @nr drains, and waits until they sleep. */
static struct drainer *start_drainers(struct kunit *test,
				      struct kwq_queue *queue, int nr,
				      ktime_t deadline)
{
	struct drainer *drainers = kunit_kcalloc(test, nr, sizeof(*drainers),
						 GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, drainers);
	for (i = 0; i < nr; i++) {
		drainers[i].queue = queue;
		drainers[i].deadline = deadline;
		drainers[i].result = 1;
		kwq_test_thread_start(test, &drainers[i].thread, drain_once,
				      &drainers[i]);
	}
	kwq_test_wait_until(test, kwq_test_nr_drainers(queue) == nr);
	return drainers;
}

static void expect_drained(struct kunit *test, struct drainer *drainers, int nr,
			   int result)
{
	int i;

	for (i = 0; i < nr; i++) {
		kwq_test_thread_join(test, &drainers[i].thread);
		KUNIT_EXPECT_EQ(test, drainers[i].result, result);
	}
}

static void drains_wait_until_all_is_done(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct drainer *d;

	/* Q9: while a is ready, processing, ready again and processing again */
	kwq_add(q, &t->a);
	d = start_drainers(test, q, 3, KTIME_MAX);
	EXPECT_GET(test, q, &t->a);
	kwq_test_wait_until(test, kwq_test_nr_drainers(q) == 3);
	expect_sound(test, q);
	KUNIT_EXPECT_EQ(test, kwq_add(q, &t->a), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), KWQ_FINISHED);
	expect_drained(test, d, 3, 0);
}

static void drain_waits_for_what_turns_ready(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct drainer *d;

	/* Q9: client-go's drain can return while the item is in the queue. */
	kwq_add(q, &t->a);
	EXPECT_GET(test, q, &t->a);
	kwq_add(q, &t->a);
	d = start_drainers(test, q, 1, KTIME_MAX);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), KWQ_REQUEUED);
	kwq_test_wait_until(test, kwq_test_nr_drainers(q) == 1);
	EXPECT_GET(test, q, &t->a);
	kwq_test_wait_until(test, kwq_test_nr_drainers(q) == 1);
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), KWQ_FINISHED);
	expect_drained(test, d, 1, 0);
}

static void drain_ends_by_a_remove(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct drainer *d;

	/* Q9 Q11 */
	kwq_add(q, &t->a);
	d = start_drainers(test, q, 1, KTIME_MAX);
	kwq_remove(q, &t->a);
	expect_drained(test, d, 1, 0);
}

static void shut_down_ends_every_drain(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct drainer *d;

	/* Q9 */
	kwq_add(q, &t->a);
	d = start_drainers(test, q, 2, KTIME_MAX);
	kwq_shut_down(q);
	expect_drained(test, d, 2, -ECANCELED);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 1);
}

static void drain_after_a_shut_down_waits(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct drainer *d;

	/* Q9: only a later shut down ends it. */
	kwq_add(q, &t->a);
	kwq_shut_down(q);
	d = start_drainers(test, q, 1, KTIME_MAX);
	EXPECT_GET(test, q, &t->a);
	kwq_done(q, &t->a);
	expect_drained(test, d, 1, 0);
}

static void drains_deadline_comes(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct drainer *d;

	/* Q9 */
	kwq_add(q, &t->a);
	d = start_drainers(test, q, 1, 100);
	kwq_queue_advance(q, 99);
	kwq_test_wait_until(test, kwq_test_nr_drainers(q) == 1);
	kwq_queue_advance(q, 100);
	expect_drained(test, d, 1, -ETIMEDOUT);
	KUNIT_EXPECT_TRUE(test, kwq_shutting_down(q));
	KUNIT_EXPECT_EQ(test, kwq_shut_down_with_drain(q, 100), -ETIMEDOUT);
}

static void signal_ends_a_drain(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct drainer *d;

	/* Q9 */
	kwq_add(q, &t->a);
	d = start_drainers(test, q, 1, KTIME_MAX);
	kwq_test_thread_signal(&d->thread);
	expect_drained(test, d, 1, -ERESTARTSYS);
	KUNIT_EXPECT_TRUE(test, kwq_shutting_down(q));
}

#define NR_DESTROYS	200

/* Finishes items one after the other, each of a queue that may be destroyed at once. */
struct finisher {
	struct kwq_test_thread thread;
	struct completion go;
	struct queue_test *victim;
};

static void finish_items(void *data)
{
	struct finisher *f = data;
	struct queue_test *victim;

	for (;;) {
		if (wait_for_completion_killable(&f->go))
			return;
		victim = READ_ONCE(f->victim);
		if (!victim)
			return;
		kwq_done(&victim->queue, &victim->a);
	}
}

static void destroy_right_after_a_drain(struct kunit *test)
{
	struct finisher *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	struct queue_test *victim;
	int i, err = 0;

	/*
	 * Q9: the drain is woken under the lock. So the done that woke it is over once
	 * destroy has taken the lock. Otherwise KASAN would report it.
	 */
	KUNIT_ASSERT_NOT_NULL(test, f);
	init_completion(&f->go);
	kwq_test_thread_start(test, &f->thread, finish_items, f);
	for (i = 0; i < NR_DESTROYS && !err; i++) {
		victim = kzalloc(sizeof(*victim), GFP_KERNEL);
		if (!victim) {
			err = -ENOMEM;
			break;
		}
		kwq_test_queue_init(&victim->queue, "victim", KWQ_CLOCK_MONOTONIC);
		kwq_item_init(&victim->a);
		kwq_add(&victim->queue, &victim->a);
		kwq_try_get(&victim->queue);
		WRITE_ONCE(f->victim, victim);
		complete(&f->go);
		err = kwq_shut_down_with_drain(&victim->queue, KTIME_MAX);
		kwq_queue_destroy(&victim->queue);
		memset(victim, 0x6b, sizeof(*victim));
		kfree(victim);
	}
	KUNIT_EXPECT_EQ(test, err, 0);
	WRITE_ONCE(f->victim, NULL);
	complete(&f->go);
	kwq_test_thread_join(test, &f->thread);
}

/* ---- Retries ---- */

static const struct kwq_limiter_config retry_config = {
	.dead_after = 2,
	.nr = 1,
	.limiters = { {
		.kind = KWQ_LIMITER_EXPONENTIAL,
		.u.exponential = { .base = 10, .max = 1000 },
	} },
};

static int kick(struct kwq_queue *queue, struct kwq_item *item)
{
	return kwq_add_with(queue, item, &(struct kwq_add_options){
		.flags = KWQ_ADD_KICK,
	});
}

static void retries_by_the_default(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	u64 delay = 5 * NSEC_PER_MSEC;
	int i;

	/* L1 L8 L9 */
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(q, &t->a), 0);
	for (i = 1; i <= 5; i++, delay *= 2) {
		KUNIT_EXPECT_EQ(test, kwq_add_rate_limited(q, &t->a),
				KWQ_WAITING);
		KUNIT_EXPECT_EQ(test, kwq_num_requeues(q, &t->a), i);
		kwq_queue_advance_by(q, delay - 1);
		EXPECT_GET(test, q, NOTHING);
		kwq_queue_advance_by(q, 1);
		EXPECT_GET(test, q, &t->a);
		KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), KWQ_FINISHED);
	}
	KUNIT_EXPECT_EQ(test, kwq_forget(q, &t->a), 5);
	KUNIT_EXPECT_EQ(test, kwq_forget(q, &t->a), 0);
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(q, &t->a), 0);
}

static void configuration_can_be_read_back(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_limiter_config *config = kunit_kzalloc(test, sizeof(*config),
							  GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, config);
	kwq_read_config(&t->queue, config);
	KUNIT_EXPECT_EQ(test, config->nr, 1);
	KUNIT_EXPECT_EQ(test, config->dead_after, 0);

	KUNIT_EXPECT_EQ(test, kwq_configure(&t->queue, &retry_config), 0);
	kwq_read_config(&t->queue, config);
	KUNIT_EXPECT_MEMEQ(test, config, &retry_config, sizeof(*config));

	/* A refused configuration changes nothing. */
	config->dead_after = 77;
	config->limiters[0].u.exponential.base = 0;
	KUNIT_EXPECT_EQ(test, kwq_configure(&t->queue, config), -EINVAL);
	kwq_read_config(&t->queue, config);
	KUNIT_EXPECT_MEMEQ(test, config, &retry_config, sizeof(*config));

	KUNIT_EXPECT_EQ(test, kwq_configure(&t->queue, NULL), 0);
	kwq_read_config(&t->queue, config);
	KUNIT_EXPECT_EQ(test, config->nr, 1);
	KUNIT_EXPECT_EQ(test, config->dead_after, 0);
}

static void kick_is_for_the_dead(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* L11: no item is dead while idle, waiting, ready, processing or about to die. */
	kwq_configure(q, &retry_config);
	KUNIT_EXPECT_EQ(test, kick(q, &t->a), -ENOENT);
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	kwq_add_rate_limited(q, &t->a);
	KUNIT_EXPECT_EQ(test, kick(q, &t->a), -ENOENT);
	kwq_queue_advance_by(q, 10);
	KUNIT_EXPECT_EQ(test, kick(q, &t->a), -ENOENT);
	EXPECT_GET(test, q, &t->a);
	KUNIT_EXPECT_EQ(test, kick(q, &t->a), -ENOENT);
	kwq_add_rate_limited(q, &t->a);
	kwq_queue_advance_by(q, 20);
	kwq_done(q, &t->a);
	EXPECT_GET(test, q, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_add_rate_limited(q, &t->a), KWQ_DEAD);
	KUNIT_EXPECT_EQ(test, kick(q, &t->a), -ENOENT);
	KUNIT_EXPECT_NULL(test, kwq_first_dead(q));
	kwq_done(q, &t->a);
	KUNIT_EXPECT_PTR_EQ(test, kwq_first_dead(q), &t->a);
	EXPECT_GET(test, q, NOTHING);

	KUNIT_EXPECT_EQ(test, kick(q, &t->a), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_num_requeues(q, &t->a), 0);
	KUNIT_EXPECT_EQ(test, kick(q, &t->a), -ENOENT);
	KUNIT_EXPECT_NULL(test, kwq_first_dead(q));
	EXPECT_GET(test, q, &t->a);
}

static void kick_with_a_delay_and_a_priority(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* L11 */
	kwq_configure(q, &retry_config);
	t->a.requeues = 2;
	KUNIT_EXPECT_EQ(test, kwq_add_rate_limited(q, &t->a), KWQ_DEAD);
	KUNIT_EXPECT_EQ(test, kwq_add_with(q, &t->a, &(struct kwq_add_options){
					.flags = KWQ_ADD_KICK | KWQ_ADD_AFTER |
						 KWQ_ADD_PRIORITY,
					.priority = 5,
					.time = 100,
			}), KWQ_WAITING);
	KUNIT_EXPECT_NULL(test, kwq_first_dead(q));
	kwq_queue_advance_by(q, 100);
	EXPECT_GET(test, q, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.priority, 5);
}

static void first_dead_died_first(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* L11 */
	kwq_configure(q, &retry_config);
	t->a.requeues = 2;
	t->b.requeues = 2;
	kwq_add_rate_limited(q, &t->b);
	kwq_add_rate_limited(q, &t->a);
	KUNIT_EXPECT_PTR_EQ(test, kwq_first_dead(q), &t->b);
	KUNIT_EXPECT_EQ(test, kwq_remove(q, &t->b), KWQ_WAS_DEAD);
	KUNIT_EXPECT_PTR_EQ(test, kwq_first_dead(q), &t->a);
	kwq_shut_down(q);
	KUNIT_EXPECT_NULL(test, kwq_first_dead(q));
	KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(&t->a));
	KUNIT_EXPECT_EQ(test, kick(q, &t->a), -ENOENT);
	KUNIT_EXPECT_EQ(test, kwq_add_rate_limited(q, &t->a), -ESHUTDOWN);
}

static void real_clocks_jitter_is_by_chance(struct kunit *test)
{
	struct kwq_queue *q = kwq_test_queue_alloc(test);
	struct kwq_item *items = make_items(test, 16);
	struct kwq_limiter_config config = {
		.nr = 1,
		.limiters = { {
			.kind = KWQ_LIMITER_BACKOFF,
			.u.backoff = { .duration = HOUR, .jitter = KWQ_ONE },
		} },
	};
	ktime_t begun, longest = 0, shortest = KTIME_MAX;
	int i;

	/* B1 L1 */
	kwq_test_queue_init(q, "chance", KWQ_CLOCK_MONOTONIC);
	KUNIT_EXPECT_EQ(test, kwq_configure(q, &config), 0);
	begun = kwq_queue_now(q);
	for (i = 0; i < 16; i++) {
		KUNIT_EXPECT_EQ(test, kwq_add_rate_limited(q, &items[i]), KWQ_WAITING);
		longest = max(longest, kwq_test_due(q, &items[i]));
		shortest = min(shortest, kwq_test_due(q, &items[i]));
	}
	KUNIT_EXPECT_GE(test, shortest, begun + HOUR);
	KUNIT_EXPECT_LT(test, longest, kwq_queue_now(q) + 2 * HOUR);
	/* 16 random numbers of 32 bits are never all equal by chance. */
	KUNIT_EXPECT_GT(test, longest - shortest, kwq_queue_now(q) - begun);
	kwq_shut_down(q);
	kwq_queue_destroy(q);
}

static void manual_clocks_jitter_is_repeatable(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *again = kwq_test_queue_alloc(test);
	struct kwq_item *items = make_items(test, 32);
	struct kwq_limiter_config config = {
		.nr = 1,
		.limiters = { {
			.kind = KWQ_LIMITER_BACKOFF,
			.u.backoff = { .duration = 1000, .jitter = KWQ_ONE },
		} },
	};
	int i, different = 0;

	/* B1 K4 */
	kwq_test_queue_init(again, "again", KWQ_CLOCK_MANUAL);
	KUNIT_EXPECT_EQ(test, kwq_configure(&t->queue, &config), 0);
	KUNIT_EXPECT_EQ(test, kwq_configure(again, &config), 0);
	for (i = 0; i < 16; i++) {
		ktime_t one, other;

		kwq_add_rate_limited(&t->queue, &items[i]);
		kwq_add_rate_limited(again, &items[i + 16]);
		one = kwq_test_due(&t->queue, &items[i]);
		other = kwq_test_due(&t->queue, &items[i + 16]);
		KUNIT_EXPECT_EQ(test, one, other);
		KUNIT_EXPECT_GE(test, one, 1000);
		KUNIT_EXPECT_LT(test, one, 2000);
		different += one != kwq_test_due(&t->queue, &items[0]);
	}
	KUNIT_EXPECT_GT(test, different, 0);
	kwq_shut_down(again);
	kwq_queue_destroy(again);
	kwq_shut_down(&t->queue);
}

static void limiters_keep_what_was_taken(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_item *items = make_items(test, 102);
	int i;

	/* L4: 100 tokens are free, and each further one takes 100 ms to arrive. */
	KUNIT_EXPECT_EQ(test, kwq_configure(&t->queue, &kwq_client_go_limits), 0);
	for (i = 0; i < 101; i++)
		kwq_add_rate_limited(&t->queue, &items[i]);
	KUNIT_EXPECT_EQ(test, kwq_test_due(&t->queue, &items[99]), 5 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, kwq_test_due(&t->queue, &items[100]), 100 * NSEC_PER_MSEC);
	/* The limiters stay the same. */
	KUNIT_EXPECT_EQ(test, kwq_configure(&t->queue, &kwq_client_go_limits), 0);
	kwq_add_rate_limited(&t->queue, &items[101]);
	KUNIT_EXPECT_EQ(test, kwq_test_due(&t->queue, &items[101]), 200 * NSEC_PER_MSEC);
	kwq_shut_down(&t->queue);
}

#ifdef CONFIG_FAILSLAB
/* Lets the @nth allocation fail; returns whether there was one. */
static bool configure_without_memory(struct kunit *test, int nth, int *refused)
{
	struct queue_test *t = test->priv;
	const struct kwq_limiter_config config = {
		.nr = 1,
		.limiters = { {
			.kind = KWQ_LIMITER_BACKOFF,
			.u.backoff = { .duration = 1000, .factor = 2 * KWQ_ONE, .steps = 9 },
		} },
	};
	struct kwq_limiter_config now;
	bool injected;
	int err;

	current->fail_nth = nth;
	err = kwq_configure(&t->queue, &config);
	injected = !current->fail_nth;
	current->fail_nth = 0;
	kwq_read_config(&t->queue, &now);
	/* A debugging allocator can do without some of its own allocations. */
	if (err) {
		KUNIT_EXPECT_EQ(test, err, -ENOMEM);
		KUNIT_EXPECT_TRUE(test, injected);
		KUNIT_EXPECT_EQ(test, now.nr, 1);
		++*refused;
	} else {
		KUNIT_EXPECT_EQ(test, now.nr, 1);
		KUNIT_EXPECT_EQ(test, kwq_configure(&t->queue, NULL), 0);
	}
	return injected;
}

static void no_memory_for_limiters(struct kunit *test)
{
	const struct kwq_limiter_config without_table = {};
	struct queue_test *t = test->priv;
	int nth, refused = 0;

	/*
	 * O4: nothing changes. The table needs memory. A debugging allocator can take the
	 * later failures for itself, so the number of refusals differs.
	 */
	for (nth = 1; configure_without_memory(test, nth, &refused); nth++)
		if (nth == 1)
			KUNIT_EXPECT_EQ(test, refused, 1);
	if (kwq_test_form == KWQ_SMALL) {
		/* K6: so do a small queue's limiters. */
		current->fail_nth = 1;
		KUNIT_EXPECT_EQ(test, kwq_configure(&t->queue, &without_table), -ENOMEM);
		current->fail_nth = 0;
	}
	kwq_shut_down(&t->queue);
}
#endif

static void advance_by_saturates(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;

	/* D7 */
	kwq_queue_advance_by(q, 0);
	KUNIT_EXPECT_EQ(test, kwq_queue_now(q), 0);
	kwq_queue_advance_by(q, 7);
	kwq_queue_advance_by(q, 3);
	KUNIT_EXPECT_EQ(test, kwq_queue_now(q), 10);
	add_at(q, &t->a, KTIME_MAX);
	kwq_queue_advance_by(q, (u64)KTIME_MAX - 11);
	KUNIT_EXPECT_EQ(test, kwq_queue_now(q), KTIME_MAX - 1);
	EXPECT_GET(test, q, NOTHING);
	kwq_queue_advance_by(q, U64_MAX);
	KUNIT_EXPECT_EQ(test, kwq_queue_now(q), KTIME_MAX);
	EXPECT_GET(test, q, &t->a);
	kwq_queue_advance_by(q, 1ULL << 63);
	KUNIT_EXPECT_EQ(test, kwq_queue_now(q), KTIME_MAX);
}

#define QUEUE_TEST_OF_BOTH							\
	KUNIT_CASE(add_get_done),						\
	KUNIT_CASE(coalesced_add_takes_no_lock),				\
	KUNIT_CASE(coalesced_add_of_a_paused_queue_takes_no_lock),		\
	KUNIT_CASE(done_that_nobody_owes),					\
	KUNIT_CASE(try_get_does_not_wait),					\
	KUNIT_CASE(done_and_get_does_both),					\
	KUNIT_CASE(get_looks_before_it_looks_at_the_clock),			\
	KUNIT_CASE(remove_tells_what_was),					\
	KUNIT_CASE_PARAM(wrong_options_are_refused, refused_gen_params),	\
	KUNIT_CASE(durations_are_off),						\
	KUNIT_CASE(delays_without_durations),					\
	KUNIT_CASE(durations_that_are_needed),					\
	KUNIT_CASE(manual_clock_starts_at_0_and_goes_on),			\
	KUNIT_CASE(delay_counts_from_now),					\
	KUNIT_CASE(no_delay_is_an_add),						\
	KUNIT_CASE(delay_of_nothing_is_a_retry),				\
	KUNIT_CASE(absolute_time),						\
	KUNIT_CASE_PARAM(second_time, policy_gen_params),			\
	KUNIT_CASE(debounced_adds_are_one),					\
	KUNIT_CASE(add_can_end_the_wait),					\
	KUNIT_CASE(timer_makes_nothing_ready_early),				\
	KUNIT_CASE(backlog_takes_several_turns),				\
	KUNIT_CASE(whole_hold_of_due_items_is_no_backlog),			\
	KUNIT_CASE(each_ready_item_wakes_one_getter),				\
	KUNIT_CASE(expiry_is_bounded_in_each_hold),				\
	KUNIT_CASE(shut_down_drops_many),					\
	KUNIT_CASE(shut_down_drops_all_that_waits),				\
	KUNIT_CASE(blocked_getters_share_the_items),				\
	KUNIT_CASE(blocked_getters_share_what_is_due),				\
	KUNIT_CASE(blocked_getter_gets_a_requeued_item),			\
	KUNIT_CASE(shut_down_wakes_all_getters),				\
	KUNIT_CASE(shut_down_wakes_a_crowd),					\
	KUNIT_CASE(deadlines_of_a_crowd_come),					\
	KUNIT_CASE(crowd_shares_the_items_of_one_hold),				\
	KUNIT_CASE(drain_drops_a_backlog),					\
	KUNIT_CASE(getters_deadline_comes),					\
	KUNIT_CASE(item_that_is_due_at_the_deadline_is_got),			\
	KUNIT_CASE(signal_ends_the_wait),					\
	KUNIT_CASE(signal_takes_no_item_with_it),				\
	KUNIT_CASE(shut_down_refuses_and_drops),				\
	KUNIT_CASE(drain_of_an_empty_queue),					\
	KUNIT_CASE(drains_wait_until_all_is_done),				\
	KUNIT_CASE(drain_waits_for_what_turns_ready),				\
	KUNIT_CASE(drain_ends_by_a_remove),					\
	KUNIT_CASE(shut_down_ends_every_drain),					\
	KUNIT_CASE(drain_after_a_shut_down_waits),				\
	KUNIT_CASE(drains_deadline_comes),					\
	KUNIT_CASE(signal_ends_a_drain),					\
	KUNIT_CASE_SLOW(destroy_right_after_a_drain),				\
	KUNIT_CASE(retries_by_the_default),					\
	KUNIT_CASE(configuration_can_be_read_back),				\
	KUNIT_CASE(kick_is_for_the_dead),					\
	KUNIT_CASE(first_dead_died_first),					\
	KUNIT_CASE(real_clocks_jitter_is_by_chance),				\
	KUNIT_CASE(manual_clocks_jitter_is_repeatable),				\
	KUNIT_CASE(limiters_keep_what_was_taken),				\
	KUNIT_CASE(advance_by_saturates)

static struct kunit_case queue_test_cases[] = {
	QUEUE_TEST_OF_BOTH,
	KUNIT_CASE(priorities),
	KUNIT_CASE(others_come_in_between_two_turns),
	KUNIT_CASE(what_is_got_in_the_same_hold_wakes_nobody),
	KUNIT_CASE(pollers_are_told_that_it_is_readable),
	KUNIT_CASE(shut_down_queue_wakes_only_for_a_reason),
	KUNIT_CASE(kick_with_a_delay_and_a_priority),
#ifdef CONFIG_FAILSLAB
	KUNIT_CASE(no_memory_for_limiters),
#endif
	{}
};

/* The same without what only a large queue has (K6). */
static struct kunit_case queue_test_small_cases[] = {
	QUEUE_TEST_OF_BOTH,
	KUNIT_CASE(small_queue_has_one_priority),
	KUNIT_CASE(defined_queue_needs_no_set_up),
#ifdef CONFIG_FAILSLAB
	KUNIT_CASE(no_memory_for_limiters),
#endif
	{}
};

KWQ_TEST_SUITES(queue_test, "kwq-queue", queue_test_init, queue_test_exit);

/* ---- A real clock ---- */

/* Long enough that -ETIMEDOUT means that an item hangs. */
static ktime_t soon(struct kwq_queue *queue)
{
	return kwq_queue_now(queue) + KWQ_TEST_HANGS_SECONDS * NSEC_PER_SEC;
}

static int queue_clock_test_init(struct kunit *test)
{
	make(test, KWQ_CLOCK_MONOTONIC);
	return 0;
}

static const struct clock_case {
	const char *desc;
	enum kwq_clock clock;
} clock_cases[] = {
	{ "CLOCK_MONOTONIC", KWQ_CLOCK_MONOTONIC },
	{ "CLOCK_BOOTTIME", KWQ_CLOCK_BOOTTIME },
};

KUNIT_ARRAY_PARAM_DESC(clock, clock_cases, desc);

static void clock_is_the_kernels(struct kunit *test)
{
	const struct clock_case *p = test->param_value;
	struct kwq_queue *q;
	ktime_t before, now, after;

	/* D8 */
	kwq_queue_destroy(&((struct queue_test *)test->priv)->queue);
	q = &make(test, p->clock)->queue;
	if (p->clock == KWQ_CLOCK_BOOTTIME) {
		before = ktime_get_boottime();
		now = kwq_queue_now(q);
		after = ktime_get_boottime();
	} else {
		before = ktime_get();
		now = kwq_queue_now(q);
		after = ktime_get();
	}
	KUNIT_EXPECT_LE(test, before, now);
	KUNIT_EXPECT_LE(test, now, after);
}

static void delayed_item_is_not_early(struct kunit *test)
{
	static const u64 delays[] = { 1, NSEC_PER_USEC, 50 * NSEC_PER_USEC,
				      NSEC_PER_MSEC, 3 * NSEC_PER_MSEC };
	const struct clock_case *p = test->param_value;
	struct queue_test *t;
	ktime_t due;
	int i;

	/* D5 D8 */
	kwq_queue_destroy(&((struct queue_test *)test->priv)->queue);
	t = make(test, p->clock);
	for (i = 0; i < ARRAY_SIZE(delays); i++) {
		due = kwq_queue_now(&t->queue) + delays[i];
		kwq_add_after(&t->queue, &t->a, delays[i]);
		KUNIT_ASSERT_PTR_EQ(test, kwq_get(&t->queue, soon(&t->queue)),
				    &t->a);
		KUNIT_EXPECT_GE(test, kwq_queue_now(&t->queue), due);
		kwq_done(&t->queue, &t->a);
	}
}

static void timer_is_armed_for_the_earliest(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	ktime_t due;

	/* D6 */
	kwq_add_after(q, &t->a, HOUR);
	due = kwq_queue_now(q) + NSEC_PER_MSEC;
	add_at(q, &t->b, due);
	KUNIT_EXPECT_PTR_EQ(test, kwq_get(q, soon(q)), &t->b);
	KUNIT_EXPECT_GE(test, kwq_queue_now(q), due);
	KUNIT_EXPECT_TRUE(test, kwq_test_is_armed(q));
	KUNIT_EXPECT_EQ(test, kwq_remove(q, &t->a), KWQ_WAS_WAITING);
}

static void timer_is_armed_anew_by_a_remove(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	ktime_t due = kwq_queue_now(q) + 2 * NSEC_PER_MSEC;

	/* D6 Q11 */
	add_at(q, &t->a, due - NSEC_PER_MSEC);
	add_at(q, &t->b, due);
	if (kwq_remove(q, &t->a) & KWQ_WAS_WAITING) {
		KUNIT_EXPECT_PTR_EQ(test, kwq_get(q, soon(q)), &t->b);
		KUNIT_EXPECT_GE(test, kwq_queue_now(q), due);
	}
}

static void timer_is_armed_anew_by_a_postponement(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	ktime_t due;

	/* D6 D2 */
	kwq_add_after(q, &t->a, HOUR);
	due = kwq_queue_now(q) + NSEC_PER_MSEC;
	kwq_add_with(q, &t->a, &(struct kwq_add_options){
		.flags = KWQ_ADD_AT | KWQ_ADD_REPLACE,
		.time = due,
	});
	KUNIT_EXPECT_PTR_EQ(test, kwq_get(q, soon(q)), &t->a);
	KUNIT_EXPECT_GE(test, kwq_queue_now(q), due);

	kwq_add_after(q, &t->a, HOUR);
	KUNIT_EXPECT_TRUE(test, kwq_test_is_armed(q));
	kwq_add_with(q, &t->a, &(struct kwq_add_options){
		.flags = KWQ_ADD_AFTER | KWQ_ADD_REPLACE,
		.time = U64_MAX,
	});
	/* D7: nothing is ever due at that time. */
	KUNIT_EXPECT_EQ(test, kwq_done(q, &t->a), KWQ_STILL_WAITING);
	KUNIT_EXPECT_EQ(test, t->a.state, KWQ_ITEM_WAITING);
	KUNIT_EXPECT_EQ(test, kwq_test_due(&t->queue, &t->a), KTIME_MAX);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), KTIME_MAX);
}

static void get_times_out_by_itself(struct kunit *test)
{
	const struct clock_case *p = test->param_value;
	struct kwq_queue *q;
	ktime_t deadline;

	/* Q5 */
	kwq_queue_destroy(&((struct queue_test *)test->priv)->queue);
	q = &make(test, p->clock)->queue;
	deadline = kwq_queue_now(q) + NSEC_PER_MSEC;
	KUNIT_EXPECT_PTR_EQ(test, kwq_get(q, deadline),
			    (struct kwq_item *)TIMED_OUT);
	KUNIT_EXPECT_GE(test, kwq_queue_now(q), deadline);
}

static void drain_times_out_by_itself(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	ktime_t deadline = kwq_queue_now(q) + NSEC_PER_MSEC;

	/* Q9 */
	kwq_add(q, &t->a);
	KUNIT_EXPECT_EQ(test, kwq_shut_down_with_drain(q, deadline), -ETIMEDOUT);
	KUNIT_EXPECT_GE(test, kwq_queue_now(q), deadline);
}

/* Returns whether all items got a time in the future. */
static bool add_all(struct kwq_queue *queue, struct kwq_item *items,
		    const ktime_t *due, int nr)
{
	bool ok = true;
	int i;

	for (i = 0; i < nr; i++)
		ok &= add_at(queue, &items[i], due[i]) == KWQ_WAITING;
	return ok && kwq_queue_now(queue) < due[0];
}

#define NR_TIMES	200

static void many_times_come_in_order(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct kwq_item *items = make_items(test, NR_TIMES);
	ktime_t *due = kunit_kcalloc(test, NR_TIMES, sizeof(*due), GFP_KERNEL);
	ktime_t last = 0, start;
	u64 lead = 10 * NSEC_PER_MSEC;
	struct kwq_item *item;
	struct rnd_state rnd;
	int i;

	/* D4 D5: on a slow machine it tries again with more time. */
	KUNIT_ASSERT_NOT_NULL(test, due);
	prandom_seed_state(&rnd, 5);
	for (;;) {
		start = kwq_queue_now(q) + lead;
		due[0] = start;
		for (i = 1; i < NR_TIMES; i++)
			due[i] = start + prandom_u32_state(&rnd) %
					 (10 * NSEC_PER_MSEC);
		if (add_all(q, items, due, NR_TIMES))
			break;
		lead *= 2;
		for (i = 0; i < NR_TIMES; i++)
			kwq_remove(q, &items[i]);
	}
	for (i = 0; i < NR_TIMES; i++) {
		item = kwq_get(q, soon(q));
		KUNIT_ASSERT_FALSE(test, IS_ERR(item));
		KUNIT_EXPECT_GE(test, kwq_queue_now(q), due[item - items]);
		KUNIT_EXPECT_GE(test, due[item - items], last);
		last = due[item - items];
	}
}

#define NR_DUE	1000

static void large_backlog(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct kwq_item *items = make_items(test, NR_DUE);
	struct sleeper *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	ktime_t due = kwq_queue_now(q) + 50 * NSEC_PER_MSEC;
	struct kwq_item *item;
	int i;

	/* D4 D6: if an item is due before all are added, the order is the same. */
	KUNIT_ASSERT_NOT_NULL(test, s);
	sleeper_init(s, q);
	add_wait_queue(&q->getters, &s->entry);
	for (i = 0; i < NR_DUE; i++)
		add_at(q, &items[i], due);
	for (i = 0; i < NR_DUE; i++) {
		item = kwq_get(q, soon(q));
		if (item != &items[i]) {
			KUNIT_FAIL(test, "%d is not in its place", i);
			break;
		}
	}
	KUNIT_EXPECT_GE(test, kwq_queue_now(q), due);
	remove_wait_queue(&q->getters, &s->entry);
	KUNIT_EXPECT_LE(test, s->most, KWQ_READY_PER_HOLD);
	KUNIT_EXPECT_GE(test, s->holds, NR_DUE / KWQ_READY_PER_HOLD);
}

static void each_due_item_wakes_a_getter(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct getter *g = kunit_kcalloc(test, 3, sizeof(*g), GFP_KERNEL);
	ktime_t due;

	/* Q5 D6: one expiry makes all three items ready. */
	KUNIT_ASSERT_NOT_NULL(test, g);
	start_getters(test, q, g, 3, KTIME_MAX);
	due = kwq_queue_now(q) + 10 * NSEC_PER_MSEC;
	add_at(q, &t->a, due);
	add_at(q, &t->b, due);
	add_at(q, &t->c, due);
	join_getters(test, g, 3);
	KUNIT_EXPECT_EQ(test, nr_that_got(g, 3, &t->a), 1);
	KUNIT_EXPECT_EQ(test, nr_that_got(g, 3, &t->b), 1);
	KUNIT_EXPECT_EQ(test, nr_that_got(g, 3, &t->c), 1);
}

static void item_given_back_wakes_a_getter(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kwq_queue *q = &t->queue;
	struct getter *g = kunit_kcalloc(test, 1, sizeof(*g), GFP_KERNEL);

	/* Q5 O2 */
	KUNIT_ASSERT_NOT_NULL(test, g);
	kwq_add(q, &t->a);
	EXPECT_GET(test, q, &t->a);
	start_getters(test, q, g, 1, KTIME_MAX);
	KUNIT_EXPECT_EQ(test, kwq_give_back(q, &t->a), KWQ_RETURNED);
	join_getters(test, g, 1);
	KUNIT_EXPECT_EQ(test, nr_that_got(g, 1, &t->a), 1);
	KUNIT_EXPECT_EQ(test, kwq_bury(q, &t->a), KWQ_BURIED);
	KUNIT_EXPECT_PTR_EQ(test, kwq_first_dead(q), &t->a);
}

#define NR_TIMERS	300

/*
 * Adds with a short delay on another processor. The timer fires on the processor where it
 * was armed, which should not be the one where the queue is destroyed.
 */
struct armer {
	struct kwq_test_thread thread;
	struct queue_test *victim;	/* NULL once it is armed */
	bool stop;
};

static void arm_timers(void *data)
{
	struct armer *armer = data;
	struct queue_test *victim;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 7);
	set_cpus_allowed_ptr(current, cpumask_of(cpumask_last(cpu_online_mask)));
	while (!READ_ONCE(armer->stop) && !signal_pending(current)) {
		/* Initialised by the task that handed it over. */
		victim = smp_load_acquire(&armer->victim);
		if (victim) {
			kwq_add_after(&victim->queue, &victim->a,
				      prandom_u32_state(&rnd) %
				      (100 * NSEC_PER_USEC));
			/* Does not touch it any more. */
			smp_store_release(&armer->victim, NULL);
		}
		cond_resched();
	}
}

static void destroy_with_the_timer_about_to_fire(struct kunit *test)
{
	struct armer *armer = kunit_kzalloc(test, sizeof(*armer), GFP_KERNEL);
	struct queue_test *victim;
	int i;

	/* KASAN and debug objects report a timer that outlives its queue. */
	if (num_online_cpus() == 1)
		kunit_skip(test, "needs two processors");
	KUNIT_ASSERT_NOT_NULL(test, armer);
	set_cpus_allowed_ptr(current,
			     cpumask_of(cpumask_first(cpu_online_mask)));
	kwq_test_thread_start(test, &armer->thread, arm_timers, armer);
	for (i = 0; i < NR_TIMERS; i++) {
		victim = kzalloc(sizeof(*victim), GFP_KERNEL);
		if (!victim)
			break;
		kwq_test_queue_init(&victim->queue, "victim", KWQ_CLOCK_MONOTONIC);
		kwq_item_init(&victim->a);
		kwq_item_init(&victim->b);
		kwq_add_after(&victim->queue, &victim->b, HOUR);
		/* Pairs with the load in arm_timers(). */
		smp_store_release(&armer->victim, victim);
		/* Pairs with the store in arm_timers(). */
		while (smp_load_acquire(&armer->victim))
			cond_resched();
		/* About the time at which it fires. */
		ndelay(i % 100 * NSEC_PER_USEC);
		kwq_queue_destroy(&victim->queue);
		memset(victim, 0x6b, sizeof(*victim));
		kfree(victim);
	}
	KUNIT_EXPECT_EQ(test, i, NR_TIMERS);
	WRITE_ONCE(armer->stop, true);
	kwq_test_thread_join(test, &armer->thread);
}

/* ---- All at once ---- */

#define NR_ITEMS	8
#define NR_WORKERS	3
#define NR_ADDERS	2
#define NR_ADDS		1500

struct work {
	struct kwq_item item;
	atomic_t running;
	atomic_t wanted;	/* number of adds */
	int seen;		/* value of @wanted when it was last processed */
};

struct crowd {
	KWQ_TEST_QUEUE;
	struct work work[NR_ITEMS];
	struct kwq_test_thread worker[NR_WORKERS];
	struct kwq_test_thread adder[NR_ADDERS];
	atomic_t seed;
	atomic_t twice;		/* hand-outs of items that were processing already */
	atomic_t failed;
};

static void work_in_crowd(void *data)
{
	struct crowd *crowd = data;
	struct kwq_item *item;
	struct work *work;

	while (!IS_ERR(item = kwq_get(&crowd->queue, KTIME_MAX))) {
		work = container_of(item, struct work, item);
		if (atomic_xchg(&work->running, 1))
			atomic_inc(&crowd->twice);
		work->seen = atomic_read(&work->wanted);
		cond_resched();
		atomic_set(&work->running, 0);
		if (kwq_done(&crowd->queue, item) < 0)
			atomic_inc(&crowd->failed);
	}
}

static void add_in_crowd(void *data)
{
	struct crowd *crowd = data;
	struct rnd_state rnd;
	struct work *work;
	int i, ret;
	u64 delay;

	prandom_seed_state(&rnd, atomic_inc_return(&crowd->seed));
	for (i = 0; i < NR_ADDS; i++) {
		work = &crowd->work[prandom_u32_state(&rnd) % NR_ITEMS];
		delay = prandom_u32_state(&rnd) % (20 * NSEC_PER_USEC);
		if (delay & 1)
			delay = 0;
		atomic_inc(&work->wanted);
		ret = kwq_add_after(&crowd->queue, &work->item, delay);
		if (ret < 0)
			atomic_inc(&crowd->failed);
		cond_resched();
	}
}

#define NR_PINGS	2000

struct pong {
	struct kwq_test_thread thread;
	struct kwq_queue *queue;
	atomic_t nr;
};

static void get_and_count(void *data)
{
	struct pong *pong = data;
	struct kwq_item *item;

	while (!IS_ERR(item = kwq_get(pong->queue, KTIME_MAX))) {
		kwq_done(pong->queue, item);
		atomic_inc(&pong->nr);
	}
}

static void add_while_the_getter_goes_to_sleep(struct kunit *test)
{
	struct pong *pong = kunit_kzalloc(test, sizeof(*pong), GFP_KERNEL);
	struct queue_test *t = test->priv;
	unsigned long end;
	int i;

	/* Q5: there is only one getter, so no other one hides a lost wake-up. */
	KUNIT_ASSERT_NOT_NULL(test, pong);
	pong->queue = &t->queue;
	kwq_test_thread_start(test, &pong->thread, get_and_count, pong);
	for (i = 0; i < NR_PINGS; i++) {
		KUNIT_EXPECT_EQ(test, kwq_add(&t->queue, &t->a), KWQ_ADDED);
		end = jiffies + KWQ_TEST_HANGS_SECONDS * HZ;
		while (atomic_read(&pong->nr) == i &&
		       time_before(jiffies, end))
			cond_resched();
		if (atomic_read(&pong->nr) == i) {
			KUNIT_FAIL(test, "item %d lies ready", i);
			break;
		}
		/* Varies the time of the add. */
		ndelay(i % 64 * 100);
	}
	kwq_shut_down(&t->queue);
	kwq_test_thread_join(test, &pong->thread);
}

static void nothing_is_lost_and_nothing_runs_twice(struct kunit *test)
{
	struct crowd *crowd = kunit_kzalloc(test, sizeof(*crowd), GFP_KERNEL);
	int i;

	/* Q3 Q4 Q5 D1 */
	KUNIT_ASSERT_NOT_NULL(test, crowd);
	kwq_test_queue_init(&crowd->queue, "crowd", KWQ_CLOCK_MONOTONIC);
	for (i = 0; i < NR_ITEMS; i++)
		kwq_item_init(&crowd->work[i].item);
	for (i = 0; i < NR_WORKERS; i++)
		kwq_test_thread_start(test, &crowd->worker[i], work_in_crowd,
				      crowd);
	for (i = 0; i < NR_ADDERS; i++)
		kwq_test_thread_start(test, &crowd->adder[i], add_in_crowd,
				      crowd);
	for (i = 0; i < NR_ADDERS; i++)
		kwq_test_thread_join(test, &crowd->adder[i]);
	/* A shut down would drop waiting items. */
	kwq_test_wait_until(test, !kwq_test_nr_waiting(&crowd->queue));
	KUNIT_EXPECT_EQ(test, kwq_shut_down_with_drain(&crowd->queue,
						       soon(&crowd->queue)),
			0);
	for (i = 0; i < NR_WORKERS; i++)
		kwq_test_thread_join(test, &crowd->worker[i]);

	KUNIT_EXPECT_EQ(test, atomic_read(&crowd->twice), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&crowd->failed), 0);
	for (i = 0; i < NR_ITEMS; i++) {
		KUNIT_EXPECT_EQ(test, crowd->work[i].seen,
				atomic_read(&crowd->work[i].wanted));
		KUNIT_EXPECT_TRUE(test,
				  kwq_item_is_idle(&crowd->work[i].item));
	}
	expect_sound(test, &crowd->queue);
	kwq_queue_destroy(&crowd->queue);
}

#define NR_CHANGES	4000

struct changes {
	KWQ_TEST_QUEUE;
	struct kwq_item item;
	struct kwq_test_thread thread;
	unsigned int changed;
	unsigned int seen;
};

static void see_changes(void *data)
{
	struct changes *c = data;
	struct kwq_item *item;

	while (!IS_ERR(item = kwq_get(&c->queue, KTIME_MAX))) {
		c->seen = READ_ONCE(c->changed);
		kwq_done(&c->queue, item);
	}
}

/* Q4: only the add orders the change before the look, and most adds coalesce. */
static void change_before_an_add_is_seen(struct kunit *test)
{
	struct changes *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	unsigned int n;

	KUNIT_ASSERT_NOT_NULL(test, c);
	kwq_test_queue_init(&c->queue, "changes", KWQ_CLOCK_MONOTONIC);
	kwq_item_init(&c->item);
	kwq_test_thread_start(test, &c->thread, see_changes, c);
	for (n = 1; n <= NR_CHANGES; n++) {
		WRITE_ONCE(c->changed, n);
		kwq_add(&c->queue, &c->item);
		/* Lets each item in turn be the last one. */
		if (n % 8 == 0) {
			kwq_test_wait_until(test, READ_ONCE(c->seen) == n);
			if (READ_ONCE(c->seen) != n)
				break;
		}
	}
	kwq_shut_down_with_drain(&c->queue, KTIME_MAX);
	kwq_test_thread_join(test, &c->thread);
	kwq_queue_destroy(&c->queue);
}

#define QUEUE_CLOCK_TEST_OF_BOTH					\
	KUNIT_CASE_PARAM(clock_is_the_kernels, clock_gen_params),	\
	KUNIT_CASE_PARAM(delayed_item_is_not_early, clock_gen_params),	\
	KUNIT_CASE(timer_is_armed_for_the_earliest),			\
	KUNIT_CASE(timer_is_armed_anew_by_a_remove),			\
	KUNIT_CASE(timer_is_armed_anew_by_a_postponement),		\
	KUNIT_CASE_PARAM(get_times_out_by_itself, clock_gen_params),	\
	KUNIT_CASE(drain_times_out_by_itself),				\
	KUNIT_CASE(many_times_come_in_order),				\
	KUNIT_CASE(large_backlog),					\
	KUNIT_CASE(each_due_item_wakes_a_getter),			\
	KUNIT_CASE(item_given_back_wakes_a_getter),			\
	KUNIT_CASE_SLOW(destroy_with_the_timer_about_to_fire),		\
	KUNIT_CASE_SLOW(add_while_the_getter_goes_to_sleep),		\
	KUNIT_CASE_SLOW(change_before_an_add_is_seen),			\
	KUNIT_CASE_SLOW(nothing_is_lost_and_nothing_runs_twice)

static struct kunit_case queue_clock_test_cases[] = {
	QUEUE_CLOCK_TEST_OF_BOTH,
	{}
};

/* The same without what only a large queue has (K6). */
static struct kunit_case queue_clock_test_small_cases[] = {
	QUEUE_CLOCK_TEST_OF_BOTH,
	{}
};

KWQ_TEST_SUITES(queue_clock_test, "kwq-queue-clock", queue_clock_test_init, queue_test_exit);

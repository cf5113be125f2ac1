// SPDX-License-Identifier: GPL-2.0-only
/* Groups (Q16) and aging (Q17) as drivers use them: who is woken, handlers, and ends. */
#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kwq.h>
#include <linux/wait.h>
#include "queue/queue.h"
#include "tests/core/core_check.h"
#include "tests/thread.h"

#define NR_HOSTS	3
#define NR_JOBS		24
#define LIMIT		2

/*
 * A group
 * @group: in the queue
 * @inside: number of handlers that are running for its items
 * @most: the most that were
 */
struct host {
	struct kwq_group group;
	atomic_t inside;
	atomic_t most;
};

struct job {
	struct kwq_grouped_item grouped;
	struct host *host;
	atomic_t runs;
};

struct groups_test {
	struct kwq_large_queue large;
	struct host host[NR_HOSTS];
	struct job job[NR_JOBS];
	struct completion may_leave;
	bool blocks;
};

static struct kwq_item *item_of(struct groups_test *t, int nr)
{
	return &t->job[nr].grouped.item;
}

static int groups_test_init(struct kunit *test)
{
	struct groups_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	kwq_large_queue_init(&t->large, "test", KWQ_CLOCK_MANUAL);
	init_completion(&t->may_leave);
	for (i = 0; i < NR_HOSTS; i++)
		kwq_group_init(&t->host[i].group);
	for (i = 0; i < NR_JOBS; i++) {
		t->job[i].host = &t->host[i % NR_HOSTS];
		kwq_grouped_item_init(&t->job[i].grouped, &t->job[i].host->group);
	}
	test->priv = t;
	return 0;
}

static void groups_test_exit(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_queue *q;
	unsigned long flags;

	if (!t)
		return;
	q = &t->large.queue;
	complete_all(&t->may_leave);
	if (!q->workers) {
		struct kwq_holder *const holders[] = { &q->holder };
		const char *broken;

		spin_lock_irqsave(&q->lock, flags);
		broken = kwq_core_broken(&q->core, holders, 1);
		spin_unlock_irqrestore(&q->lock, flags);
		KUNIT_EXPECT_STREQ(test, "", broken ?: "");
	}
	kwq_queue_destroy(q);
}

#define EXPECT_GET(test, t, nr) \
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(&(t)->large.queue), item_of(t, nr))

#define EXPECT_GET_ERROR(test, t, error) \
	KUNIT_EXPECT_EQ(test, PTR_ERR(kwq_try_get(&(t)->large.queue)), error)

/* ---- Arguments ---- */

/* K6: a small queue has one priority, and neither groups nor aging. */
static void small_queue_is_refused(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_queue small;
	struct kwq_item item;

	kwq_queue_init(&small, "small", KWQ_CLOCK_MANUAL);
	kwq_item_init(&item);
	KUNIT_EXPECT_EQ(test, kwq_queue_group_items(&small, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, kwq_queue_set_aging(&small, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, kwq_set_group(&small, &item, &t->host[0].group), -EINVAL);
	KUNIT_EXPECT_EQ(test, kwq_add(&small, &item), KWQ_ADDED);
	KUNIT_EXPECT_PTR_EQ(test, kwq_try_get(&small), &item);
	KUNIT_EXPECT_EQ(test, kwq_done(&small, &item), KWQ_FINISHED);
	kwq_queue_destroy(&small);
}

static void groups_come_before_the_first_add(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_queue *q = &t->large.queue;

	kwq_add_after(q, item_of(t, 0), 1);
	KUNIT_EXPECT_EQ(test, kwq_queue_group_items(q, 1), -EBUSY);
	kwq_remove(q, item_of(t, 0));
	KUNIT_EXPECT_EQ(test, kwq_queue_group_items(q, 1), 0);
	KUNIT_EXPECT_EQ(test, kwq_queue_group_items(q, 2), -EBUSY);
}

static void add_names_a_group(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_queue *q = &t->large.queue;
	struct kwq_add_options options = {
		.flags = KWQ_ADD_GROUP,
		.group = &t->host[1].group,
	};

	KUNIT_EXPECT_EQ(test, kwq_add_with(q, item_of(t, 0), &options), -EINVAL);
	KUNIT_EXPECT_EQ(test, kwq_set_group(q, item_of(t, 0), NULL), -EINVAL);
	kwq_queue_group_items(q, 1);
	options.flags = 0;
	KUNIT_EXPECT_EQ(test, kwq_add_with(q, item_of(t, 0), &options), -EINVAL);
	options.flags = KWQ_ADD_GROUP | KWQ_ADD_KICK;
	KUNIT_EXPECT_EQ(test, kwq_add_with(q, item_of(t, 0), &options), -ENOENT);
	KUNIT_EXPECT_PTR_EQ(test, t->job[0].grouped.member.group, &t->host[0].group);

	options.flags = KWQ_ADD_GROUP;
	KUNIT_EXPECT_EQ(test, kwq_add_with(q, item_of(t, 0), &options), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, kwq_add_with(q, item_of(t, 3), &options), KWQ_ADDED);
	EXPECT_GET(test, t, 0);
	EXPECT_GET_ERROR(test, t, -EAGAIN);
	/* An add of a ready item moves it. */
	options.group = NULL;
	KUNIT_EXPECT_EQ(test, kwq_add_with(q, item_of(t, 3), &options), KWQ_COALESCED);
	EXPECT_GET(test, t, 3);
	kwq_done(q, item_of(t, 0));
	kwq_done(q, item_of(t, 3));

	/* Q8: a refused add changes nothing. */
	kwq_shut_down(q);
	options.group = &t->host[2].group;
	KUNIT_EXPECT_EQ(test, kwq_add_with(q, item_of(t, 0), &options), -ESHUTDOWN);
	KUNIT_EXPECT_PTR_EQ(test, t->job[0].grouped.member.group, &t->host[1].group);
}

static void delayed_add_names_a_group(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_queue *q = &t->large.queue;

	kwq_queue_group_items(q, 1);
	kwq_add(q, item_of(t, 1));
	EXPECT_GET(test, t, 1);
	kwq_add_with(q, item_of(t, 0), &(struct kwq_add_options){
		.flags = KWQ_ADD_GROUP | KWQ_ADD_AFTER,
		.time = 10,
		.group = &t->host[1].group,
	});
	kwq_queue_advance_by(q, 10);
	KUNIT_EXPECT_EQ(test, kwq_len(q), 1);
	EXPECT_GET_ERROR(test, t, -EAGAIN);
	kwq_done(q, item_of(t, 1));
	EXPECT_GET(test, t, 0);
}

/* ---- Q5 Q16: who is woken ---- */

/* A waiter that only counts its wake-ups. */
struct sleeper {
	struct wait_queue_entry entry;
	int wakes;
};

static int wake_sleeper(struct wait_queue_entry *entry, unsigned int mode, int sync, void *key)
{
	struct sleeper *s = container_of(entry, struct sleeper, entry);

	s->wakes++;
	list_del_init(&entry->entry);
	return 1;
}

static void sleep_in(struct kwq_queue *queue, struct sleeper *sleepers, int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		memset(&sleepers[i], 0, sizeof(sleepers[i]));
		init_waitqueue_func_entry(&sleepers[i].entry, wake_sleeper);
		add_wait_queue_exclusive(&queue->getters, &sleepers[i].entry);
	}
}

static int total_wakes(const struct sleeper *sleepers, int nr)
{
	int sum = 0;

	while (nr--)
		sum += sleepers[nr].wakes;
	return sum;
}

static void each_offered_item_wakes_one_getter(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_queue *q = &t->large.queue;
	struct sleeper s[8];

	kwq_queue_group_items(q, 1);
	sleep_in(q, s, ARRAY_SIZE(s));
	kwq_add(q, item_of(t, 0));
	KUNIT_EXPECT_EQ(test, total_wakes(s, 8), 1);
	/* The same group: it would find nothing. */
	kwq_add(q, item_of(t, 3));
	kwq_add(q, item_of(t, 6));
	KUNIT_EXPECT_EQ(test, total_wakes(s, 8), 1);
	kwq_add(q, item_of(t, 1));
	KUNIT_EXPECT_EQ(test, total_wakes(s, 8), 2);
	EXPECT_GET(test, t, 0);
	EXPECT_GET(test, t, 1);
	/* Q14: the end of a pause counts the same. */
	kwq_pause(q);
	kwq_resume(q);
	KUNIT_EXPECT_EQ(test, total_wakes(s, 8), 2);
	/* A done lets one go. */
	kwq_done(q, item_of(t, 0));
	KUNIT_EXPECT_EQ(test, total_wakes(s, 8), 3);
	kwq_pause(q);
	kwq_resume(q);
	KUNIT_EXPECT_EQ(test, total_wakes(s, 8), 4);
	/* A move may, too. */
	KUNIT_EXPECT_EQ(test, kwq_set_group(q, item_of(t, 6), NULL), 0);
	KUNIT_EXPECT_EQ(test, total_wakes(s, 8), 5);
	/* A done of the last one does not. */
	kwq_done(q, item_of(t, 1));
	KUNIT_EXPECT_EQ(test, total_wakes(s, 8), 5);
	KUNIT_EXPECT_EQ(test, kwq_test_nr_sleepers(&q->getters), 3);
	kwq_shut_down(q);
	KUNIT_EXPECT_EQ(test, total_wakes(s, 8), 8);
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

static void getter_sleeps_while_all_groups_are_at_their_limits(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_queue *q = &t->large.queue;
	struct getter getter = { .queue = q };

	kwq_queue_group_items(q, 1);
	kwq_add(q, item_of(t, 0));
	EXPECT_GET(test, t, 0);
	kwq_add(q, item_of(t, 3));
	kwq_test_thread_start(test, &getter.thread, get_once, &getter);
	kwq_test_wait_until(test, kwq_test_nr_sleepers(&q->getters) == 1);
	kwq_done(q, item_of(t, 0));
	kwq_test_thread_join(test, &getter.thread);
	KUNIT_EXPECT_PTR_EQ(test, getter.item, item_of(t, 3));
	kwq_done(q, item_of(t, 3));
}

/* Q8: items at the limit are as those that others process. Nobody waits for itself. */
static void shut_down_queue_hands_out_blocked_items(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_queue *q = &t->large.queue;
	struct kwq_holder other;
	unsigned long flags;

	kwq_queue_group_items(q, 1);
	kwq_add(q, item_of(t, 0));
	kwq_add(q, item_of(t, 3));
	EXPECT_GET(test, t, 0);
	kwq_shut_down(q);
	EXPECT_GET_ERROR(test, t, -ESHUTDOWN);
	kwq_holder_init(&other);
	spin_lock_irqsave(&q->lock, flags);
	KUNIT_EXPECT_TRUE(test, kwq_get_would_wait_locked(q, &other));
	KUNIT_EXPECT_FALSE(test, kwq_get_would_wait_locked(q, &q->holder));
	spin_unlock_irqrestore(&q->lock, flags);
	kwq_done(q, item_of(t, 0));
	EXPECT_GET(test, t, 3);
	kwq_done(q, item_of(t, 3));
	EXPECT_GET_ERROR(test, t, -ESHUTDOWN);
}

static void done_and_get_stays_within_the_limit(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_queue *q = &t->large.queue;

	kwq_queue_group_items(q, 1);
	kwq_add(q, item_of(t, 0));
	kwq_add(q, item_of(t, 3));
	EXPECT_GET(test, t, 0);
	KUNIT_EXPECT_PTR_EQ(test, kwq_done_and_get(q, item_of(t, 0), KTIME_MAX), item_of(t, 3));
	EXPECT_GET_ERROR(test, t, -EAGAIN);
	KUNIT_EXPECT_EQ(test, kwq_try_get_item(q, item_of(t, 0)), -ENOENT);
	kwq_add(q, item_of(t, 0));
	/* K9 */
	KUNIT_EXPECT_EQ(test, kwq_try_get_item(q, item_of(t, 0)), 0);
	kwq_done(q, item_of(t, 0));
	kwq_done(q, item_of(t, 3));
}

/* ---- K2: handlers ---- */

static struct kwq_result handle(struct kwq_queue *queue, struct kwq_item *item)
{
	struct groups_test *t = container_of(queue, struct groups_test, large.queue);
	struct job *job = container_of(item, struct job, grouped.item);
	int inside = atomic_inc_return(&job->host->inside);

	if (inside > atomic_read(&job->host->most))
		atomic_set(&job->host->most, inside);
	if (t->blocks)
		wait_for_completion(&t->may_leave);
	else
		usleep_range(100, 300);
	atomic_inc(&job->runs);
	atomic_dec(&job->host->inside);
	return kwq_result_done();
}

static void start(struct kunit *test, unsigned int max_active)
{
	struct groups_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, kwq_start_handler(&t->large.queue, &(struct kwq_handler){
		.handle = handle,
		.max_active = max_active,
		.wq_flags = WQ_UNBOUND,
	}), 0);
}

static int nr_inside(struct groups_test *t)
{
	int i, nr = 0;

	for (i = 0; i < NR_HOSTS; i++)
		nr += atomic_read(&t->host[i].inside);
	return nr;
}

static void handlers_keep_the_limit(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_queue *q = &t->large.queue;
	int i, n;

	kwq_queue_group_items(q, LIMIT);
	start(test, 8);
	for (n = 0; n < 20; n++) {
		for (i = 0; i < NR_JOBS; i++)
			kwq_add(q, item_of(t, i));
		KUNIT_EXPECT_EQ(test, kwq_flush(q), 0);
	}
	for (i = 0; i < NR_JOBS; i++)
		KUNIT_EXPECT_EQ(test, atomic_read(&t->job[i].runs), 20);
	for (i = 0; i < NR_HOSTS; i++)
		KUNIT_EXPECT_LE(test, atomic_read(&t->host[i].most), LIMIT);
}

/* A start of the handler, too, queues workers only for what can be handed out. */
static void handlers_use_all_of_the_limit(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_queue *q = &t->large.queue;
	int i;

	t->blocks = true;
	kwq_queue_group_items(q, LIMIT);
	for (i = 0; i < NR_JOBS / 2; i++)
		kwq_add(q, item_of(t, i));
	start(test, NR_JOBS);
	for (; i < NR_JOBS; i++)
		kwq_add(q, item_of(t, i));
	kwq_test_wait_until(test, nr_inside(t) == NR_HOSTS * LIMIT);
	KUNIT_EXPECT_EQ(test, kwq_len(q), NR_JOBS - NR_HOSTS * LIMIT);
	complete_all(&t->may_leave);
	/* Q9: the drain waits for those at the limit. */
	KUNIT_EXPECT_EQ(test, kwq_shut_down_with_drain(q, KTIME_MAX), 0);
	for (i = 0; i < NR_JOBS; i++)
		KUNIT_EXPECT_EQ(test, atomic_read(&t->job[i].runs), 1);
	for (i = 0; i < NR_HOSTS; i++)
		KUNIT_EXPECT_EQ(test, atomic_read(&t->host[i].most), LIMIT);
}

/* K3 */
static void cancel_takes_out_blocked_items(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_queue *q = &t->large.queue;
	int i;

	kwq_queue_group_items(q, 1);
	start(test, 1);
	t->blocks = true;
	for (i = 0; i < NR_JOBS; i++)
		kwq_add(q, item_of(t, i));
	kwq_test_wait_until(test, nr_inside(t) == 1);
	complete_all(&t->may_leave);
	KUNIT_EXPECT_EQ(test, kwq_cancel_all_sync(q), 0);
	for (i = 0; i < NR_JOBS; i++)
		KUNIT_EXPECT_TRUE(test, kwq_item_is_idle(item_of(t, i)));
	KUNIT_EXPECT_EQ(test, kwq_len(q), 0);
}

/* K9 */
static void run_sync_goes_beyond_the_limit(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_queue *q = &t->large.queue;

	kwq_queue_group_items(q, 1);
	kwq_pause(q);
	start(test, 1);
	kwq_add(q, item_of(t, 0));
	kwq_add(q, item_of(t, 3));
	KUNIT_EXPECT_EQ(test, kwq_try_get_item(q, item_of(t, 0)), 0);
	KUNIT_EXPECT_EQ(test, kwq_run_sync(q, item_of(t, 3)), 1);
	KUNIT_EXPECT_EQ(test, kwq_done(q, item_of(t, 0)), KWQ_FINISHED);
	kwq_resume(q);
}

/* ---- Q17 ---- */

static void queue_lets_items_age(struct kunit *test)
{
	struct groups_test *t = test->priv;
	struct kwq_queue *q = &t->large.queue;
	struct kwq_add_options above = { .flags = KWQ_ADD_PRIORITY, .priority = 1 };

	KUNIT_EXPECT_EQ(test, kwq_queue_set_aging(q, 100), 0);
	kwq_add(q, item_of(t, 0));
	kwq_add_with(q, item_of(t, 1), &above);
	EXPECT_GET(test, t, 1);
	kwq_queue_advance_by(q, 100);
	kwq_add_with(q, item_of(t, 2), &above);
	EXPECT_GET(test, t, 0);
	/* Q2: a second add of a ready item takes the lock, and does not make it younger. */
	kwq_queue_advance_by(q, 100);
	KUNIT_EXPECT_EQ(test, kwq_add(q, item_of(t, 2)), KWQ_COALESCED);
	kwq_add_with(q, item_of(t, 3), &(struct kwq_add_options){
		.flags = KWQ_ADD_PRIORITY,
		.priority = 2,
	});
	EXPECT_GET(test, t, 2);
	KUNIT_EXPECT_EQ(test, kwq_queue_set_aging(q, 0), 0);
	EXPECT_GET(test, t, 3);
}

static struct kunit_case groups_test_cases[] = {
	KUNIT_CASE(small_queue_is_refused),
	KUNIT_CASE(groups_come_before_the_first_add),
	KUNIT_CASE(add_names_a_group),
	KUNIT_CASE(delayed_add_names_a_group),
	KUNIT_CASE(each_offered_item_wakes_one_getter),
	KUNIT_CASE(getter_sleeps_while_all_groups_are_at_their_limits),
	KUNIT_CASE(shut_down_queue_hands_out_blocked_items),
	KUNIT_CASE(done_and_get_stays_within_the_limit),
	KUNIT_CASE(handlers_keep_the_limit),
	KUNIT_CASE(handlers_use_all_of_the_limit),
	KUNIT_CASE(cancel_takes_out_blocked_items),
	KUNIT_CASE(run_sync_goes_beyond_the_limit),
	KUNIT_CASE(queue_lets_items_age),
	{}
};

static struct kunit_suite groups_test_suite = {
	.name = "kwq-groups",
	.init = groups_test_init,
	.exit = groups_test_exit,
	.test_cases = groups_test_cases,
};

kunit_test_suite(groups_test_suite);

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Suites that run over both forms of a queue (K6). Each has the cases of both forms in a
 * macro, and two lists of cases, because KUnit writes into a case: NAME_cases and
 * NAME_small_cases. KWQ_TEST_SUITES makes the two suites.
 */
#ifndef KWQ_TESTS_FORM_H
#define KWQ_TESTS_FORM_H

#include <kunit/test.h>
#include <linux/kwq_test.h>

/* The form of the present suite's queues: set by @suite_init. */
extern enum kwq_form kwq_test_form;

int kwq_test_large(struct kunit_suite *suite);
int kwq_test_small(struct kunit_suite *suite);

#define KWQ_TEST_SUITES(prefix, suite_name, init_fn, exit_fn)			\
static struct kunit_suite prefix##_suite = {					\
	.name = suite_name,							\
	.suite_init = kwq_test_large,						\
	.init = init_fn,							\
	.exit = exit_fn,							\
	.test_cases = prefix##_cases,						\
};										\
										\
static struct kunit_suite prefix##_small_suite = {				\
	.name = suite_name "-small",						\
	.suite_init = kwq_test_small,						\
	.init = init_fn,							\
	.exit = exit_fn,							\
	.test_cases = prefix##_small_cases,					\
};										\
										\
kunit_test_suites(&prefix##_suite, &prefix##_small_suite)

/* Members for a queue of either form. The first two are unused by a small one. */
#define KWQ_TEST_QUEUE				\
	struct kwq_queue_bulk of_queue;		\
	struct kwq_bulk of_core;		\
	struct kwq_queue queue

/*
 * Only a large core has metrics (M1). @t has the members @bulk and @core, or those of
 * KWQ_TEST_QUEUE.
 */
#define KWQ_EXPECT_METRIC(test, t, metric, expected)			\
do {									\
	if (kwq_test_form == KWQ_LARGE)					\
		KUNIT_EXPECT_EQ(test, (t)->bulk.metric, expected);	\
} while (0)

#define KWQ_EXPECT_METRIC_OF_QUEUE(test, t, metric, expected)		\
do {									\
	if (kwq_test_form == KWQ_LARGE)					\
		KUNIT_EXPECT_EQ(test, (t)->of_core.metric, expected);	\
} while (0)

void kwq_test_queue_init(struct kwq_queue *queue, const char *name, enum kwq_clock clock);
struct kwq_queue *kwq_test_queue_alloc(struct kunit *test);

/* The number of waiting items. */
unsigned long kwq_test_nr_waiting(struct kwq_queue *queue);

/* When the timer has to fire next; KTIME_MAX for never. */
ktime_t kwq_test_next_time(struct kwq_queue *queue);

/* Was the timer started? Not after it has fired. */
bool kwq_test_is_armed(struct kwq_queue *queue);

/* The number of drainers that sleep. */
int kwq_test_nr_drainers(struct kwq_queue *queue);

/* The time of a waiting item. */
ktime_t kwq_test_due(struct kwq_queue *queue, const struct kwq_item *item);

#endif /* KWQ_TESTS_FORM_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads for tests. No test checks how long something takes. The only time limit detects
 * threads that hang.
 */
#ifndef KWQ_TESTS_THREAD_H
#define KWQ_TESTS_THREAD_H

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/wait.h>

/*
 * A longer wait counts as hanging. A machine with emulated processors may get a quarter of
 * the host's time. KUnit itself ends a case after 300 s.
 */
#define KWQ_TEST_HANGS_SECONDS	(IS_ENABLED(CONFIG_UML) ? 20 : 100)

/*
 * The thread ends when @fn returns. After a SIGKILL, the calls of @fn fail, and it returns
 * soon.
 */
struct kwq_test_thread {
	void (*fn)(void *data);
	void *data;
	struct task_struct *task;
	struct completion finished;
};

void kwq_test_thread_start(struct kunit *test, struct kwq_test_thread *thread,
			   void (*fn)(void *data), void *data);
void kwq_test_thread_join(struct kunit *test, struct kwq_test_thread *thread);
void kwq_test_thread_signal(struct kwq_test_thread *thread);

int kwq_test_nr_sleepers(wait_queue_head_t *list);

/* Waits for an event that is certain to happen at some time. */
#define kwq_test_wait_until(test, condition)				\
do {									\
	unsigned long end = jiffies + KWQ_TEST_HANGS_SECONDS * HZ;	\
									\
	while (!(condition) && time_before(jiffies, end))		\
		schedule_timeout_uninterruptible(1);			\
	KUNIT_EXPECT_TRUE_MSG(test, condition, "still not, by far");	\
} while (0)

#endif /* KWQ_TESTS_THREAD_H */

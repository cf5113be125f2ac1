// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include "thread.h"

static int run(void *data)
{
	struct kwq_test_thread *thread = data;

	allow_signal(SIGKILL);
	thread->fn(thread->data);
	complete(&thread->finished);
	return 0;
}

void kwq_test_thread_start(struct kunit *test, struct kwq_test_thread *thread,
			   void (*fn)(void *data), void *data)
{
	struct task_struct *task;

	thread->fn = fn;
	thread->data = data;
	thread->task = NULL;
	init_completion(&thread->finished);

	task = kthread_create(run, thread, "kwq_test");
	if (IS_ERR(task)) {
		KUNIT_FAIL(test, "no thread: %ld", PTR_ERR(task));
		return;
	}
	/* Keeps the task valid after the thread has ended. */
	get_task_struct(task);
	thread->task = task;
	wake_up_process(task);
}

void kwq_test_thread_signal(struct kwq_test_thread *thread)
{
	if (thread->task)
		send_sig(SIGKILL, thread->task, 1);
}

/*
 * First waits for the thread's own end. kthread_stop() would wake it, which would hide a
 * missed wake-up. In a case that has failed already, other threads may hang as well. Those get a
 * second each, so that the case ends.
 */
void kwq_test_thread_join(struct kunit *test, struct kwq_test_thread *thread)
{
	unsigned long patience = KWQ_TEST_HANGS_SECONDS * HZ;

	if (!thread->task)
		return;
	if (READ_ONCE(test->status) == KUNIT_FAILURE)
		patience = HZ;
	if (!wait_for_completion_timeout(&thread->finished, patience)) {
		KUNIT_FAIL(test, "a thread hangs");
		kwq_test_thread_signal(thread);
	}
	kthread_stop_put(thread->task);
	thread->task = NULL;
}

int kwq_test_nr_sleepers(wait_queue_head_t *list)
{
	struct wait_queue_entry *entry;
	unsigned long flags;
	int nr = 0;

	spin_lock_irqsave(&list->lock, flags);
	list_for_each_entry(entry, &list->head, entry)
		nr++;
	spin_unlock_irqrestore(&list->lock, flags);
	return nr;
}

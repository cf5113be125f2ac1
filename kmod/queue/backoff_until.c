// SPDX-License-Identifier: GPL-2.0-only
/* Backoff-until: repeat a function with growing pauses. */
#include <linux/export.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/kwq.h>
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/sched.h>

static bool must_stop(void)
{
	return current->flags & PF_KTHREAD && kthread_should_stop();
}

/*
 * Sleeps until @when, or until the thread is told to stop. Not interruptible, because a
 * signal that the thread has allowed would stay pending and keep it awake.
 */
static void pause_until(ktime_t when)
{
	for (;;) {
		set_current_state(TASK_IDLE);
		if (must_stop() || ktime_get() >= when)
			break;
		schedule_hrtimeout_range(&when, 0, HRTIMER_MODE_ABS);
	}
	__set_current_state(TASK_RUNNING);
}

void kwq_backoff_until(bool (*fn)(void *arg), void *arg,
		       struct kwq_backoff_manager *manager, bool sliding)
{
	ktime_t from;

	while (!must_stop()) {
		from = ktime_get();
		if (!fn(arg))
			break;
		if (sliding)
			from = ktime_get();
		pause_until(ktime_add_safe(from,
					   kwq_backoff_manager_step(manager, from,
								    get_random_u32())));
	}
}
EXPORT_SYMBOL_GPL(kwq_backoff_until);

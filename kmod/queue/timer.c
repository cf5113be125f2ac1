// SPDX-License-Identifier: GPL-2.0-only
/*
 * A queue's timer: makes due items ready, and takes back items whose lease has ended (D6).
 *
 * The timer's callback makes a few items ready, in softirq context. If more is due, or a lease
 * has ended, the queue is behind: it joins a list, and a work item does the rest, hold by hold,
 * where the scheduler can interrupt it. All queues share the work item, because a small queue has
 * no room for one of its own (K6), and so that many queues with a backlog cost the machine one
 * busy task (O8).
 *
 * An hrtimer may fire before the queue's next time, if that has moved to a later one. It fires
 * once in vain then, which is cheaper than to start it anew for each change.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/llist.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include <kunit/visibility.h>
#include "compat.h"
#include "queue.h"

/* How long the work item works without a pause, and how long it pauses at least. */
#define WORKS_NS	(500 * NSEC_PER_USEC)
#define RESTS_US	50

static void catch_up(struct work_struct *work);

/* Initialised by the compiler: a built-in driver may use a queue before kwq_init() runs. */
static LLIST_HEAD(queues_behind);
static DECLARE_WORK(catch_up_work, catch_up);
static struct workqueue_struct *catch_up_wq;

static void call_work_item(struct irq_work *work)
{
	queue_work(READ_ONCE(catch_up_wq) ?: kwq_unbound_wq(), &catch_up_work);
}

static DEFINE_IRQ_WORK(call_from_nmi, call_work_item);

/* The last access to a queue that is behind, until its next turn. */
static void leave_to_work_item(struct kwq_queue *queue)
{
	llist_add(&queue->behind, &queues_behind);
	if (in_nmi())
		irq_work_queue(&call_from_nmi);
	else
		call_work_item(NULL);
}

/**
 * kwq_call_work_item() - let the work item take the lock of a queue soon
 * @queue: the queue; something was posted to it
 *
 * Context: any, even an NMI. The caller keeps the queue alive.
 */
void kwq_call_work_item(struct kwq_queue *queue)
{
	if (!xchg(&queue->is_behind, true))
		leave_to_work_item(queue);
}

/*
 * Does due work in one hold of the lock. @was_behind is true for the work item, which has all turns
 * of a queue that is behind. Returns true if the work item has to do more.
 */
VISIBLE_IF_KUNIT bool kwq_take_turn(struct kwq_queue *queue, bool was_behind)
{
	unsigned long flags;
	bool more;

	spin_lock_irqsave(&queue->lock, flags);
	kwq_take_posts_locked(queue);
	more = kwq_expire_some_locked(queue, kwq_now_locked(queue), !was_behind);
	if (!was_behind) {
		more = more && !xchg(&queue->is_behind, true);
	} else if (!more) {
		/* An NMI that still finds it set has posted before, so the unlock takes that. */
		smp_store_mb(queue->is_behind, false);
		/* Needs no barrier: who waits has joined before it looks under the lock. */
		wake_up_var(&queue->behind);
	}
	kwq_look_again_locked(queue);
	kwq_unlock(queue, flags);
	return more;
}

static void take_turn_and_go_on(struct kwq_queue *queue, bool was_behind)
{
	if (kwq_take_turn(queue, was_behind))
		leave_to_work_item(queue);
}

/**
 * kwq_rest_if_due() - let other tasks run, in a work item that may go on for long
 * @begun: in and out: when it began to work without a rest
 *
 * A task that works for long would keep the processor for a slice of the scheduler's, which is
 * longer than other tasks should wait (O8). So it sleeps in between.
 *
 * Context: process; may sleep.
 */
void kwq_rest_if_due(ktime_t *begun)
{
	cond_resched();
	if (ktime_get() - *begun < WORKS_NS)
		return;
	usleep_range(RESTS_US, 2 * RESTS_US);
	*begun = ktime_get();
}

/* The queues that are behind take turns, until none is. */
static void catch_up(struct work_struct *work)
{
	struct kwq_queue *queue, *next;
	ktime_t begun = ktime_get();
	struct llist_node *first;

	while ((first = llist_del_all(&queues_behind))) {
		llist_for_each_entry_safe(queue, next, llist_reverse_order(first), behind) {
			take_turn_and_go_on(queue, true);
			kwq_rest_if_due(&begun);
		}
	}
}

static enum hrtimer_restart timer_fn(struct hrtimer *timer)
{
	take_turn_and_go_on(container_of(timer, struct kwq_queue, timer), false);
	return HRTIMER_NORESTART;
}

/* Not when the queue is initialised: DEFINE_KWQ_QUEUE() leaves that to the compiler. */
static noinline void set_up(struct kwq_queue *queue)
{
	hrtimer_setup(&queue->timer, timer_fn, kwq_timer_clockid(queue), HRTIMER_MODE_ABS_SOFT);
	queue->has_timer = true;
}

/**
 * kwq_next_time_locked() - when a queue has something to do next
 * @queue: the queue; @queue->lock held
 *
 * A timed pause is such a time only while items are ready, and nothing else keeps them: neither
 * kwq_pause() nor the end of the term. Every unlock looks at the clock during a timed pause, so a
 * pace does not wake an idle machine.
 *
 * Return: the time, perhaps in the past; KTIME_MAX for never.
 */
ktime_t kwq_next_time_locked(const struct kwq_queue *queue)
{
	ktime_t next = kwq_core_next_time(&queue->core);

	if (!kwq_is_small(queue))
		next = min(next, kwq_queue_bulk_of(queue)->lease_end);
	if (unlikely(queue->paused_until) && kwq_core_nr_offered(&queue->core) &&
	    kwq_core_pauses(&queue->core) == 1 && !kwq_core_term_is_over(&queue->core))
		next = min(next, queue->paused_until);
	return next;
}

/**
 * kwq_arm_timer_locked() - start the timer for the queue's next time, unless it fires by then
 * @queue: the queue; @queue->lock held
 *
 * The callback may have begun already, and wait for @queue->lock. Then it sees what changed.
 */
void kwq_arm_timer_locked(struct kwq_queue *queue)
{
	ktime_t when = kwq_next_time_locked(queue);

	lockdep_assert_held(&queue->lock);
	/* The work item looks by itself, and so does an advance of a manual clock. */
	if (when == KTIME_MAX || READ_ONCE(queue->is_behind) || queue->clock == KWQ_CLOCK_MANUAL)
		return;
	if (unlikely(!queue->has_timer))
		set_up(queue);
	else if (hrtimer_is_queued(&queue->timer) && hrtimer_get_expires(&queue->timer) <= when)
		return;
	hrtimer_start(&queue->timer, when, HRTIMER_MODE_ABS_SOFT);
}

/**
 * kwq_wake_again() - let the work item wake a waiter once more for each item that is offered
 * @queue: the queue
 *
 * Its caller may be one of very many at once, and each would wake all pollers. The work item wakes
 * them once for all of these callers.
 *
 * Context: any. The caller keeps the queue alive.
 */
void kwq_wake_again(struct kwq_queue *queue)
{
	unsigned long flags;
	bool is_new = false;

	spin_lock_irqsave(&queue->lock, flags);
	if (kwq_has_pollers_locked(queue) && kwq_core_nr_offered(&queue->core)) {
		kwq_wake_again_locked(queue);
		is_new = !xchg(&queue->is_behind, true);
	}
	spin_unlock_irqrestore(&queue->lock, flags);
	if (is_new)
		leave_to_work_item(queue);
}

static bool is_behind(struct kwq_queue *queue)
{
	unsigned long flags;
	bool is_behind;

	spin_lock_irqsave(&queue->lock, flags);
	is_behind = READ_ONCE(queue->is_behind);
	spin_unlock_irqrestore(&queue->lock, flags);
	return is_behind;
}

/**
 * kwq_leave_timer() - stop a queue's timer, and wait until its last turn is over
 * @queue: the queue; nothing arms its timer any more
 *
 * Context: process; may sleep.
 */
void kwq_leave_timer(struct kwq_queue *queue)
{
	unsigned long flags;
	bool has_timer;

	spin_lock_irqsave(&queue->lock, flags);
	has_timer = queue->has_timer;
	spin_unlock_irqrestore(&queue->lock, flags);
	if (has_timer)
		hrtimer_cancel(&queue->timer);
	wait_var_event(&queue->behind, !is_behind(queue));
}

/**
 * kwq_timers_begin() - give the work item a workqueue that memory which is short cannot stop
 *
 * Return: 0 or -ENOMEM.
 */
int __init kwq_timers_begin(void)
{
	struct workqueue_struct *wq = alloc_workqueue("kwq", WQ_UNBOUND | WQ_MEM_RECLAIM, 1);

	WRITE_ONCE(catch_up_wq, wq);
	return wq ? 0 : -ENOMEM;
}

/** kwq_timers_end() - wait for the end of the work item; no queue is left */
void kwq_timers_end(void)
{
	irq_work_sync(&call_from_nmi);
	cancel_work_sync(&catch_up_work);
	destroy_workqueue(catch_up_wq);
}

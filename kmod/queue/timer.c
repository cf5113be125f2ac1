// SPDX-License-Identifier: GPL-2.0-only
/*
 * The timer of a queue: due items become ready, and leases that are over end. A manual clock
 * has no timer; its advances do the same.
 */
#include <linux/export.h>
#include <linux/kcov.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <kunit/visibility.h>
#include "pace.h"
#include "queue.h"
#include "trace.h"

/* Expires due waits in at most KWQ_ITEMS_PER_HOLD steps (D6). Returns true if there may be more. */
static bool expire_waits(struct kwq_queue *queue, ktime_t now)
{
	unsigned int budget = KWQ_ITEMS_PER_HOLD;
	u64 readied = queue->core.readied;
	struct kwq_item *item;

	while ((item = kwq_core_expire(&queue->core, now, &budget))) {
		if (queue->core.readied != readied)
			trace_kwq_ready(queue, item, item->wait.expires,
					ktime_sub(now, item->wait.expires));
		readied = queue->core.readied;
	}
	return !budget;
}

/* Expires a bounded number of waits and of leases (O3). Returns true if there may be more. */
static bool expire_locked(struct kwq_queue *queue, ktime_t now)
{
	bool more = expire_waits(queue, now);

	/* A manual clock can reach KTIME_MAX, which also stands for never. */
	if (queue->end_leases && queue->lease_end <= now)
		more |= queue->end_leases(queue, now);
	return more;
}

/* Does the timer have to wake them? For a manual clock arm_manual_timer() decides. */
static bool has_to_wake(const struct kwq_queue *queue, ktime_t now)
{
	return kwq_owes_wake_ups(queue) &&
	       (queue->wake_at <= now || queue->clock == KWQ_CLOCK_MANUAL);
}

static bool has_work(const struct kwq_queue *queue, ktime_t now)
{
	return has_to_wake(queue, now) || kwq_next_time(queue) <= now;
}

/*
 * Expires some due items. The unlock after it wakes some waiters. Returns true if there may
 * be more of either.
 */
static bool work_some(struct kwq_queue *queue, ktime_t now)
{
	bool more = false;

	if (kwq_next_time(queue) <= now)
		more = expire_locked(queue, now) && kwq_next_time(queue) <= now;
	if (!has_to_wake(queue, now))
		return more;
	/* Makes kwq_unlock() look for waiters. */
	queue->core.changed = true;
	return true;
}

/* Leaves all work, wake-ups included, to the timer's slot. */
static void put_off_and_unlock(struct kwq_queue *queue, unsigned long flags)
	__releases(&queue->lock)
{
	kwq_arm_timer_locked(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
}

/* Ends a run of the timer at time @at of @clock. Then the timer may be armed for the next event. */
static void end_run(struct kwq_queue *queue, struct kwq_pace *pace, ktime_t at, bool more)
{
	ktime_t slot;

	/* The timer has fired, so it must be started again for any time. */
	queue->armed = KTIME_MAX;
	queue->core.changed = true;
	queue->resume = 0;
	if (!more)
		return;
	slot = kwq_pace_reserve(pace, at);
	queue->resume = ktime_add(kwq_now_locked(queue), ktime_sub(slot, at));
}

/**
 * kwq_run_timer() - do due work, as far as time allows (D6, O8)
 * @queue: the queue
 * @pace: pace of this processor, in exclusive use
 * @clock: measures the work; independent of the queue's clock
 *
 * A queue that is alone on the processor may take the lock several times in a run. While
 * timers of other queues wait for their slots it takes the lock once. Between two holds
 * others can take the lock. Between two runs tasks can have the processor.
 */
VISIBLE_IF_KUNIT void kwq_run_timer(struct kwq_queue *queue, struct kwq_pace *pace,
				    ktime_t (*clock)(void))
{
	ktime_t begun = clock(), at = begun, then, now;
	bool may_work = kwq_pace_may_work(pace, queue->put_off, begun);
	bool alone = !kwq_pace_is_shared(pace, begun);
	bool in_slot = queue->put_off;
	bool more, expiring;
	unsigned long flags;
	int holds = 0;

	do {
		spin_lock_irqsave(&queue->lock, flags);
		now = kwq_now_locked(queue);
		more = has_work(queue, now);
		if (more && may_work)
			more = work_some(queue, now);
		holds++;
		if (more) {
			then = clock();
			kwq_pace_worked(pace, at, then);
			at = then;
		}
		expiring = more && may_work && alone && holds < KWQ_HOLDS_PER_RUN &&
			   kwq_pace_may_work(pace, 0, at);
		queue->expiring = expiring;
		if (!expiring)
			end_run(queue, pace, at, more);
		if (more && !may_work)
			put_off_and_unlock(queue, flags);
		else
			kwq_unlock(queue, flags);
	} while (expiring);

	/* Only the timer's callback uses it, so it needs no lock. */
	if (!more)
		queue->put_off = 0;
	else if (may_work)
		queue->put_off = 1;
	else if (queue->put_off < KWQ_PACE_PUT_OFF_MAX)
		queue->put_off++;
	then = clock();
	kwq_pace_worked(pace, at, then);
	if (in_slot && may_work)
		kwq_pace_learn(pace, div_u64(ktime_sub(then, begun), holds));
}
EXPORT_SYMBOL_IF_KUNIT(kwq_run_timer);

/*
 * The pace of each processor. Only the timers' callbacks use it. Callbacks of one processor
 * run one after the other and do not migrate, so the pace needs no lock. This also holds on
 * PREEMPT_RT. There, disabled bottom halves keep the task on its processor, and hrtimers
 * serialise their callbacks with a lock.
 */
static DEFINE_PER_CPU(struct kwq_pace, pace_of_processor);

enum hrtimer_restart kwq_timer_fn(struct hrtimer *timer)
{
	struct kwq_queue *queue = container_of(timer, struct kwq_queue, timer);

	/* Attributes the coverage to the fuzzer's program that made the queue. */
	kcov_remote_start_common(queue->kcov_handle);
	kwq_run_timer(queue, this_cpu_ptr(&pace_of_processor), ktime_get);
	kcov_remote_stop();
	return HRTIMER_NORESTART;
}

/* Wakes all waiters, so that they check their deadlines. */
static void set_manual_clock(struct kwq_queue *queue, ktime_t now)
{
	if (now == queue->manual_now)
		return;
	queue->manual_now = now;
	kwq_wake_all_locked(queue);
}

/**
 * kwq_advance_some() - advance a manual clock, and expire a bounded number of items
 * @queue: a queue on KWQ_CLOCK_MANUAL
 * @now: the new time; ignored if it is in the past
 *
 * Due items become ready, and waiters check their deadlines.
 *
 * Return: true if there may be more due items, or more waiters to wake.
 */
bool kwq_advance_some(struct kwq_queue *queue, ktime_t now)
{
	unsigned long flags;
	bool more;

	spin_lock_irqsave(&queue->lock, flags);
	set_manual_clock(queue, max(queue->manual_now, now));
	more = expire_locked(queue, queue->manual_now);
	if (kwq_owes_wake_ups(queue)) {
		queue->core.changed = true;
		more = true;
	}
	kwq_unlock(queue, flags);
	return more;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_advance_some);

/**
 * kwq_begin_advance_by() - advance a manual clock by some time, without expiring items
 * @queue: a queue on KWQ_CLOCK_MANUAL
 * @ns: by how much; saturates at KTIME_MAX
 *
 * Return: the new time, for kwq_advance_some().
 */
ktime_t kwq_begin_advance_by(struct kwq_queue *queue, u64 ns)
{
	unsigned long flags;
	ktime_t now;

	spin_lock_irqsave(&queue->lock, flags);
	now = kwq_later(queue->manual_now, ns);
	set_manual_clock(queue, now);
	kwq_unlock(queue, flags);
	return now;
}

/**
 * kwq_queue_advance() - advance a manual clock
 * @queue: a queue on KWQ_CLOCK_MANUAL
 * @now: the new time; ignored if it is in the past
 *
 * Due items become ready, and waiters check their deadlines.
 *
 * Context: any. Takes time in proportion to the number of due items.
 */
void kwq_queue_advance(struct kwq_queue *queue, ktime_t now)
{
	while (kwq_advance_some(queue, now))
		cpu_relax();
}
EXPORT_SYMBOL_GPL(kwq_queue_advance);

/**
 * kwq_queue_advance_by() - advance a manual clock by some time
 * @queue: a queue on KWQ_CLOCK_MANUAL
 * @ns: by how much; saturates at KTIME_MAX
 *
 * Context: as kwq_queue_advance().
 */
void kwq_queue_advance_by(struct kwq_queue *queue, u64 ns)
{
	kwq_queue_advance(queue, kwq_begin_advance_by(queue, ns));
}
EXPORT_SYMBOL_GPL(kwq_queue_advance_by);

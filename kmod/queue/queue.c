// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue: a spinlock, sleepers, one hrtimer and the shut down around the state machine
 * of core.c. Kernel code enters here.
 *
 * Every operation has the same steps: take the lock, make one or more transitions, call
 * kwq_unlock(). Only kwq_unlock() reads from the core whom to wake and when the timer must
 * fire, so no transition can forget it.
 *
 * Waiters are of three kinds. A getter is a task that sleeps in a get. A drainer is a task
 * that sleeps until the queue is drained, or until the processing of a cancelled item ends.
 * A poller is an entry of poll(), select(), epoll or io_uring.
 *
 * A hold is the time from a lock of the queue to its unlock. Each hold does a bounded
 * amount of work (O8), so it may leave waiters that have to be woken. A caller that may
 * sleep pays for them: it wakes them in further holds. For other callers the timer does so.
 *
 * Lock order: queue->lock, then a wait list's lock or the hrtimer's base.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kcov.h>
#include <linux/math64.h>
#include <linux/nospec.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <kunit/visibility.h>
#include "compat.h"
#include "handler.h"
#include "pace.h"
#include "pollers.h"
#include "queue.h"
#include "trace.h"

/**
 * kwq_queue_clockid() - the clock id of a queue, for userspace
 * @queue: the queue
 *
 * Return: CLOCK_MONOTONIC or CLOCK_BOOTTIME. A manual clock has CLOCK_MONOTONIC.
 */
clockid_t kwq_queue_clockid(const struct kwq_queue *queue)
{
	return queue->clock == KWQ_CLOCK_BOOTTIME ? CLOCK_BOOTTIME :
						    CLOCK_MONOTONIC;
}

/* D7: times beyond the clock's range saturate. */
static ktime_t saturated(u64 ns)
{
	return min_t(u64, ns, KTIME_MAX);
}

/* Cannot overflow: both summands fit into 63 bits. */
static ktime_t later(ktime_t now, u64 delay)
{
	return saturated(now + saturated(delay));
}

/**
 * kwq_now_locked() - the time on the queue's clock
 * @queue: the queue; @queue->lock held
 *
 * Return: the time, in ns.
 */
ktime_t kwq_now_locked(const struct kwq_queue *queue)
{
	if (likely(queue->clock == KWQ_CLOCK_MONOTONIC))
		return ktime_get();
	if (queue->clock == KWQ_CLOCK_BOOTTIME)
		return ktime_get_boottime();
	lockdep_assert_held(&queue->lock);
	return queue->manual_now;
}

/**
 * kwq_queue_now() - the time on the queue's clock
 * @queue: the queue
 *
 * Return: the time, in ns.
 */
ktime_t kwq_queue_now(struct kwq_queue *queue)
{
	unsigned long flags;
	ktime_t now;

	spin_lock_irqsave(&queue->lock, flags);
	now = kwq_now_locked(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
	return now;
}
EXPORT_SYMBOL_GPL(kwq_queue_now);

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

/* Time of the next due wait or lease, perhaps in the past. */
static ktime_t next_time(const struct kwq_queue *queue)
{
	return min(kwq_core_next(&queue->core), queue->lease_end);
}

/* Are waiters left that an earlier hold should have woken? A later hold wakes each of them. */
static bool owes_wake_ups(const struct kwq_queue *queue)
{
	return queue->wake_getters || queue->wake_drainers || kwq_owes_pollers(queue);
}

/* Does the timer have to wake them? For a manual clock arm_manual_timer() decides. */
static bool has_to_wake(const struct kwq_queue *queue, ktime_t now)
{
	return owes_wake_ups(queue) &&
	       (queue->wake_at <= now || queue->clock == KWQ_CLOCK_MANUAL);
}

static bool has_work(const struct kwq_queue *queue, ktime_t now)
{
	return has_to_wake(queue, now) || next_time(queue) <= now;
}

/*
 * Expires some due items. The unlock after it wakes some waiters. Returns true if there may
 * be more of either.
 */
static bool work_some(struct kwq_queue *queue, ktime_t now)
{
	bool more = false;

	if (next_time(queue) <= now)
		more = expire_locked(queue, now) && next_time(queue) <= now;
	if (!has_to_wake(queue, now))
		return more;
	/* Makes kwq_unlock() look for waiters. */
	queue->core.changed = true;
	return true;
}

static void arm_timer_locked(struct kwq_queue *queue);

/* Leaves all work, wake-ups included, to the timer's slot. */
static void put_off_and_unlock(struct kwq_queue *queue, unsigned long flags)
	__releases(&queue->lock)
{
	arm_timer_locked(queue);
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

static enum hrtimer_restart timer_fn(struct hrtimer *timer)
{
	struct kwq_queue *queue = container_of(timer, struct kwq_queue, timer);

	/* Attributes the coverage to the fuzzer's program that made the queue. */
	kcov_remote_start_common(queue->kcov_handle);
	kwq_run_timer(queue, this_cpu_ptr(&pace_of_processor), ktime_get);
	kcov_remote_stop();
	return HRTIMER_NORESTART;
}

/*
 * A manual clock stands still, but waiters are woken in real time. ADVANCE expires due
 * items.
 */
static void arm_manual_timer(struct kwq_queue *queue, ktime_t when)
{
	s64 wait = max_t(s64, ktime_sub(when, queue->manual_now), 0);

	/* A timer that is queued for an earlier time fires soon enough. */
	if (owes_wake_ups(queue) &&
	    (when < queue->armed || !hrtimer_is_queued(&queue->timer)))
		hrtimer_start(&queue->timer, ktime_add_ns(ktime_get(), wait),
			      HRTIMER_MODE_ABS_SOFT);
}

/*
 * Keeps the timer armed for the earliest time, or for the next run through a backlog. It
 * expires in softirq context. So interrupts are off for one hold of one queue at a time,
 * even if many queues have due work. The processor's pace bounds all their runs together.
 *
 * The timer is started and stopped under the lock only. Its callback may be waiting for the
 * lock meanwhile. It then finds nothing due. hrtimer_cancel() would wait for that callback
 * and deadlock.
 */
static void arm_timer_locked(struct kwq_queue *queue)
{
	ktime_t when = min(next_time(queue), queue->wake_at);

	if (queue->expiring)
		return;
	if (when != KTIME_MAX)
		when = max(when, queue->resume);
	/* With a manual clock, @armed is only a record. The timer does not follow it. */
	if (queue->clock == KWQ_CLOCK_MANUAL)
		arm_manual_timer(queue, when);
	if (when == queue->armed)
		return;
	queue->armed = when;
	if (queue->clock == KWQ_CLOCK_MANUAL)
		return;
	if (when == KTIME_MAX)
		hrtimer_try_to_cancel(&queue->timer);
	else
		hrtimer_start(&queue->timer, when, HRTIMER_MODE_ABS_SOFT);
}

/**
 * kwq_wake_all_locked() - wake all getters and drainers
 * @queue: the queue; @queue->lock held
 *
 * This unlock and the following ones wake them: see kwq_unlock().
 */
void kwq_wake_all_locked(struct kwq_queue *queue)
{
	lockdep_assert_held(&queue->lock);
	queue->wake_getters = queue->nr_getters;
	queue->wake_drainers = queue->nr_drainers;
	queue->core.changed = true;
}

/*
 * Wakes at most KWQ_WAKES_PER_HOLD of @nr waiters, and returns how many are left. A woken
 * waiter leaves the list, so the next call continues behind it.
 */
static u32 wake_some_of(wait_queue_head_t *waiters, u32 nr)
{
	u32 some = min_t(u32, nr, KWQ_WAKES_PER_HOLD);

	/* Needs no barrier: see wake_for(). */
	if (!nr || !waitqueue_active(waiters))
		return 0;
	__wake_up(waiters, TASK_NORMAL, some, NULL);
	return nr - some;
}

static void wake_some(struct kwq_queue *queue)
{
	queue->wake_getters = wake_some_of(&queue->getters, queue->wake_getters);
	queue->wake_drainers = wake_some_of(&queue->drainers, queue->wake_drainers);
	kwq_tell_some_locked(queue);
}

/*
 * When the timer takes over from a caller that wakes the rest by itself, in case the caller
 * is late.
 */
static ktime_t when_not_paid(const struct kwq_queue *queue)
{
	ktime_t now = kwq_now_locked(queue);

	/* The timer is due already, or armed for long enough: do not restart it in each hold. */
	if (!queue->wake_at || (queue->wake_at != KTIME_MAX &&
				queue->wake_at >= later(now, KWQ_PAYS_WITHIN_NS / 2)))
		return queue->wake_at;
	return later(now, KWQ_PAYS_WITHIN_NS);
}

/*
 * Sets when the timer wakes the waiters that a hold left. A paying caller wakes them
 * itself, and the timer only steps in if it is late. If the caller does not pay, the timer
 * wakes @fresh waiters at once. Waiters of earlier holds are left to the caller that pays
 * for them.
 */
static void leave_waiters(struct kwq_queue *queue, bool pays, bool fresh)
{
	if (!owes_wake_ups(queue))
		queue->wake_at = KTIME_MAX;
	else if (pays)
		queue->wake_at = when_not_paid(queue);
	else if (fresh || queue->wake_at == KTIME_MAX)
		queue->wake_at = 0;
}

/*
 * O8: a hold that made many items ready has done enough work. A paying caller wakes in its
 * next hold. Drivers and the timer do not pay. They make few items ready in a hold, or at
 * little cost.
 */
static bool has_done_enough(u64 nr, bool pays)
{
	return pays && nr > KWQ_WAKES_PER_HOLD;
}

/*
 * Handles all changes but new ready items. A shut down and the end of its drain each wake
 * all waiters once, so every hold after a shut down comes here. A task that waits for the
 * end of a cancelled item is on the list of drainers. Returns true if waiters are left.
 */
static noinline bool follow_changes(struct kwq_queue *queue, bool pays, u64 nr)
{
	bool shut_down = queue->core.shut_down;
	bool drained = kwq_core_is_drained(&queue->core);

	if (queue->core.let_go != queue->told_let_go) {
		queue->told_let_go = queue->core.let_go;
		queue->wake_drainers = queue->nr_drainers;
	}
	if (shut_down != queue->told_shut_down || drained != queue->told_drained) {
		queue->told_shut_down = shut_down;
		queue->told_drained = drained;
		kwq_wake_all_locked(queue);
		kwq_tell_locked(queue, KWQ_TELL_END);
	}
	queue->core.changed = shut_down;
	if (!has_done_enough(nr, pays))
		wake_some(queue);
	leave_waiters(queue, pays, nr);
	arm_timer_locked(queue);
	return owes_wake_ups(queue);
}

/* A backlog may be far larger than the number of waiters. */
static u32 no_more_than(u32 wake_ups, u32 waiters)
{
	return min(wake_ups, max_t(u32, waiters, KWQ_WAKES_PER_HOLD));
}

/* Wakes waiters for @nr items that were made ready. Returns true if waiters are left. */
static noinline bool wake_for(struct kwq_queue *queue, u64 nr, bool pays)
{
	bool is_waited_for = false;

	/*
	 * No wake-up for items that were handed out in the same hold, as when a worker gets
	 * back the item that it requeued.
	 */
	nr = min_t(u64, nr, queue->core.nr_ready);
	if (!nr)
		return false;
	if (queue->workers)
		kwq_tell_workers(queue->workers, nr);
	/* Needs no barrier: getters join the list under the lock. */
	if (waitqueue_active(&queue->getters)) {
		is_waited_for = true;
		queue->wake_getters = min_t(u64, queue->wake_getters + nr, U32_MAX);
		if (queue->wake_getters > KWQ_WAKES_PER_HOLD)
			queue->wake_getters = no_more_than(queue->wake_getters,
							   queue->nr_getters);
	}
	/* Needs no barrier: see kwq_unlock(). */
	if (waitqueue_active(&queue->pollers)) {
		is_waited_for = true;
		queue->wake_pollers = min_t(u64, queue->wake_pollers + nr, U32_MAX);
		queue->round.to_tell |= KWQ_TELL_READY;
	}
	/* After a change, follow_changes() wakes them. */
	if (!is_waited_for || queue->core.changed)
		return false;
	if (!has_done_enough(nr, pays))
		wake_some(queue);
	if (likely(!owes_wake_ups(queue) && queue->wake_at == KTIME_MAX))
		return false;
	leave_waiters(queue, pays, true);
	arm_timer_locked(queue);
	return owes_wake_ups(queue);
}

static inline bool is_awaited(struct kwq_queue *queue)
{
	/* Needs no barrier: see wake_for(). */
	if (waitqueue_active(&queue->getters))
		return true;
	/* Needs no barrier: see kwq_unlock(). */
	if (waitqueue_active(&queue->pollers))
		return true;
	return queue->workers;
}

/* Body of kwq_unlock(). Returns true if waiters are left. */
static __always_inline bool unlock(struct kwq_queue *queue, unsigned long flags, bool pays)
	__releases(&queue->lock)
{
	u64 nr = queue->core.readied - queue->woken;
	bool left = false;

	if (nr) {
		queue->woken += nr;
		if (is_awaited(queue))
			left = wake_for(queue, nr, pays);
	}
	if (unlikely(queue->core.changed))
		left = follow_changes(queue, pays, nr);
	spin_unlock_irqrestore(&queue->lock, flags);
	return left;
}

/**
 * kwq_unlock() - wake waiters, arm the timer, and unlock
 * @queue: the queue; @queue->lock held
 * @flags: as spin_lock_irqsave() stored them
 *
 * Each item that was made ready wakes one getter, so no item stays ready while a getter
 * sleeps. No wake-up is lost:
 *
 * A getter joins and leaves the list under the lock, and looks for a ready item in the same
 * hold. So either it sees the item, or it is on the list when the item is made ready. A
 * getter that leaves for another reason (signal, deadline) looks once more. Others may have
 * taken the item by then, and nothing is lost.
 *
 * A poller joins its list without the lock, but before it looks, and it looks under the
 * lock:
 *
 *   poller				adder
 *   join the list			lock; item is ready
 *   lock; is an item ready? unlock	is a poller listed? unlock
 *
 * If the poller's hold comes first, the adder sees the poller's entry. If it comes second,
 * the poller sees the item.
 *
 * A hold wakes a bounded number of waiters, and the queue counts the rest. A caller that
 * may sleep wakes them in further holds, by kwq_unlock_paying(). For other callers the
 * timer does so at once. No wake-up depends on what a woken task does.
 *
 * Getters and drainers join at the tail of their list, so the count stands for the first
 * ones of the list. Waiters may leave by themselves. Then the count is too high, and a
 * later waiter is woken in vain. Pollers stay in their list when they are woken: see
 * "pollers.c".
 *
 * All wake-ups happen under the lock, so the unlock is the last access to the queue. A task
 * that learned from the queue that it is drained may therefore destroy it.
 *
 * The workers of a handler are woken in the same way: see kwq_tell_workers().
 */
void kwq_unlock(struct kwq_queue *queue, unsigned long flags)
	__releases(&queue->lock)
{
	unlock(queue, flags, false);
}

/**
 * kwq_unlock_paying() - kwq_unlock() by a caller that wakes the remaining waiters itself
 * @queue: the queue; @queue->lock held
 * @flags: as spin_lock_irqsave() stored them
 *
 * All timers of a processor share one pace. Wake-ups that are left to a queue's timer have
 * to wait for other timers with much work. Callers that may sleep therefore wake the rest
 * themselves, and no other queue's backlog delays them.
 *
 * Return: true if the caller must call kwq_wake_rest().
 */
bool kwq_unlock_paying(struct kwq_queue *queue, unsigned long flags)
	__releases(&queue->lock)
{
	return unlock(queue, flags, true);
}

/* The waiters and rounds that were left when a caller began to pay. It pays for no others. */
struct bill {
	u32 waiters;
	u32 rounds;
};

static struct bill read_bill(struct kwq_queue *queue)
{
	const struct kwq_round *round = &queue->round;
	unsigned long flags;
	struct bill bill;

	spin_lock_irqsave(&queue->lock, flags);
	bill.waiters = max(queue->wake_getters, queue->wake_drainers);
	bill.rounds = round->nr_ended + !!round->telling + hweight8(round->to_tell);
	spin_unlock_irqrestore(&queue->lock, flags);
	return bill;
}

/* Returns true if the caller has to continue. */
static bool pay_some(struct kwq_queue *queue, struct bill *bill)
{
	unsigned long flags;
	s32 rounds;

	spin_lock_irqsave(&queue->lock, flags);
	rounds = bill->rounds - queue->round.nr_ended;
	/* Makes unlock() look for waiters. */
	queue->core.changed = true;
	if (!unlock(queue, flags, true))
		return false;
	bill->waiters -= min_t(u32, bill->waiters, KWQ_WAKES_PER_HOLD);
	return bill->waiters || rounds > 0;
}

static void leave_to_timer(struct kwq_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	if (owes_wake_ups(queue)) {
		queue->wake_at = 0;
		arm_timer_locked(queue);
	}
	spin_unlock_irqrestore(&queue->lock, flags);
}

/**
 * kwq_wake_rest() - wake the waiters that kwq_unlock_paying() left
 * @queue: the queue
 *
 * Others may add all the while, so the caller wakes only as many waiters as were left when
 * it began. Callers that cause more wake-ups pay for those. A killed caller leaves its rest
 * to the timer.
 *
 * Context: process; may sleep.
 */
noinline void kwq_wake_rest(struct kwq_queue *queue)
{
	struct bill bill = read_bill(queue);

	do {
		cond_resched();
		if (fatal_signal_pending(current)) {
			leave_to_timer(queue);
			return;
		}
	} while (pay_some(queue, &bill));
}

/**
 * kwq_unlock_got() - kwq_unlock() after a get or a remove
 * @queue: the queue; @queue->lock held
 * @flags: as spin_lock_irqsave() stored them
 *
 * kwq_coalesces() may coalesce an add without the lock. The barrier here makes the adder's
 * earlier writes visible to the getter, or to the caller that removed the ready item. Adds
 * of keys always take the lock. So kwq_keyed_unlock() and kwq_unlock() are enough for
 * programs.
 */
void kwq_unlock_got(struct kwq_queue *queue, unsigned long flags)
	__releases(&queue->lock)
{
	smp_mb(); /* pairs with smp_mb() in kwq_coalesces() */
	kwq_unlock(queue, flags);
}

/**
 * kwq_queue_init() - initialise a queue
 * @queue: the queue
 * @name: name for traces; must outlive the queue
 * @clock: the clock of all its times
 *
 * Context: any.
 */
void kwq_queue_init(struct kwq_queue *queue, const char *name,
		    enum kwq_clock clock)
{
	static atomic64_t last_id;

	spin_lock_init(&queue->lock);
	kwq_core_init(&queue->core);
	kwq_holder_init(&queue->holder);
	queue->woken = 0;
	queue->shut_downs = 0;
	queue->told_shut_down = false;
	queue->told_drained = false;
	queue->told_let_go = 0;
	queue->nr_getters = 0;
	queue->nr_drainers = 0;
	queue->wake_getters = 0;
	queue->wake_drainers = 0;
	queue->wake_at = KTIME_MAX;
	atomic64_set(&queue->coalesced, 0);
	queue->armed = KTIME_MAX;
	queue->resume = 0;
	queue->put_off = 0;
	queue->expiring = false;
	queue->lease_end = KTIME_MAX;
	queue->end_leases = NULL;
	queue->manual_now = 0;
	prandom_seed_state(&queue->manual_random, 0);
	queue->clock = clock;
	queue->id = atomic64_inc_return(&last_id);
	queue->name = name;
	queue->key_of = NULL;
	queue->workers = NULL;
	queue->kcov_handle = kcov_common_handle();
	hrtimer_setup(&queue->timer, timer_fn, kwq_queue_clockid(queue),
		      HRTIMER_MODE_ABS_SOFT);
	init_waitqueue_head(&queue->getters);
	init_waitqueue_head(&queue->drainers);
	kwq_pollers_init(queue);
}
EXPORT_SYMBOL_GPL(kwq_queue_init);

/**
 * kwq_queue_destroy() - destroy a queue
 * @queue: the queue
 *
 * A queue with a handler is cancelled first, as by kwq_cancel_all_sync(). Without a handler
 * the queue forgets its items and does not touch them.
 *
 * The caller makes sure that no call on this queue is running or will follow. One exception
 * is allowed: the kwq_done() whose effect ended the caller's drain may still be on its way
 * out.
 *
 * Context: process; may sleep.
 * Return: 0; -EDEADLK in any handler of this queue, with nothing changed.
 */
int kwq_queue_destroy(struct kwq_queue *queue)
{
	unsigned long flags;
	int err;

	if (queue->workers) {
		err = kwq_cancel_all_sync(queue);
		if (err)
			return err;
		kwq_end_workers(queue);
	}
	/* Waits for the last unlock. After the shut down nothing arms the timer. */
	spin_lock_irqsave(&queue->lock, flags);
	kwq_core_shut_down(&queue->core);
	kwq_unlock(queue, flags);
	hrtimer_cancel(&queue->timer);
	kfree(queue->core.limiter.growths.table);
	queue->core.limiter.growths.table = NULL;
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_queue_destroy);

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
	if (owes_wake_ups(queue)) {
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
	now = later(queue->manual_now, ns);
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

#define KWQ_ADD_TIMED		(KWQ_ADD_AFTER | KWQ_ADD_AT | KWQ_ADD_RATE_LIMITED)
#define KWQ_ADD_POLICIES	(KWQ_ADD_REPLACE | KWQ_ADD_KEEP | KWQ_ADD_LATER)
#define KWQ_ADD_FLAGS		(KWQ_ADD_PRIORITY | KWQ_ADD_TIMED | \
				 KWQ_ADD_POLICIES | KWQ_ADD_END_WAIT | \
				 KWQ_ADD_KICK)

static int check_priority(struct kwq_add_options *options)
{
	unsigned int level = options->priority - KWQ_PRIORITY_MIN;

	if (!(options->flags & KWQ_ADD_PRIORITY))
		return options->priority ? -EINVAL : 0;
	if (level >= KWQ_NR_PRIORITIES)
		return -EINVAL;
	level = array_index_nospec(level, KWQ_NR_PRIORITIES);
	options->priority = (int)level + KWQ_PRIORITY_MIN;
	return 0;
}

/**
 * kwq_check_asked() - kwq_check_add() for an add with options
 * @options: the options
 *
 * Drivers and programs get the same checks.
 *
 * Return: 0; -EINVAL.
 */
int kwq_check_asked(struct kwq_add_options *options)
{
	u32 timed = options->flags & KWQ_ADD_TIMED;
	u32 policies = options->flags & KWQ_ADD_POLICIES;

	if (options->flags & ~KWQ_ADD_FLAGS)
		return -EINVAL;
	if (hweight32(timed) > 1 || hweight32(policies) > 1)
		return -EINVAL;
	if (timed ? options->flags & KWQ_ADD_END_WAIT : policies || options->time)
		return -EINVAL;
	if (timed == KWQ_ADD_RATE_LIMITED &&
	    (options->time || options->flags & KWQ_ADD_KICK))
		return -EINVAL;
	return check_priority(options);
}

static enum kwq_wait_policy policy_of(u32 flags)
{
	if (flags & KWQ_ADD_REPLACE)
		return KWQ_WAIT_REPLACE;
	if (flags & KWQ_ADD_KEEP)
		return KWQ_WAIT_KEEP;
	if (flags & KWQ_ADD_LATER)
		return KWQ_WAIT_LATER;
	return KWQ_WAIT_EARLIER;
}

/* A manual clock has the same random numbers in each run. */
static u32 random_locked(struct kwq_queue *queue)
{
	if (!queue->core.limiter.jitters)
		return 0;
	if (queue->clock == KWQ_CLOCK_MANUAL)
		return prandom_u32_state(&queue->manual_random);
	return get_random_u32();
}

/* D1: a delay of 0 is an immediate add, unless a policy has to merge it with a waiting time. */
static bool is_timed(const struct kwq_add_options *options)
{
	if (options->flags & KWQ_ADD_AFTER)
		return options->time || policy_of(options->flags);
	return options->flags & KWQ_ADD_AT;
}

static __always_inline void trace_added(struct kwq_queue *queue,
					struct kwq_item *item, int ret)
{
	/* Each of the two tracepoints ignores the other's results. */
	trace_kwq_coalesce(queue, item, ret);
	trace_kwq_add(queue, item, ret);
	if (ret == KWQ_ADDED)
		trace_kwq_ready(queue, item, 0, 0);
}

/* An add without options. */
static inline int add_now(struct kwq_queue *queue, struct kwq_item *item, ktime_t now)
{
	int ret = kwq_core_add(&queue->core, item, KWQ_PRIORITY_NONE, false, now);

	trace_added(queue, item, ret);
	return ret;
}

/* An add with options. */
static noinline int add_as_asked(struct kwq_queue *queue, struct kwq_item *item,
				 const struct kwq_add_options *options, ktime_t now)
{
	int priority = options->flags & KWQ_ADD_PRIORITY ? options->priority :
							   KWQ_PRIORITY_NONE;
	enum kwq_wait_policy policy = policy_of(options->flags);
	u64 rate_limited = queue->core.rate_limited;
	ktime_t when;
	int ret;

	if (options->flags & KWQ_ADD_KICK && !kwq_item_is_dead(item))
		return -ENOENT;
	if (options->flags & KWQ_ADD_RATE_LIMITED) {
		ret = kwq_core_add_rate_limited(&queue->core, item, priority,
						policy, now, random_locked(queue));
		if (ret == KWQ_DEAD || queue->core.rate_limited != rate_limited)
			trace_kwq_requeue(queue, item, ret);
	} else if (is_timed(options)) {
		when = options->flags & KWQ_ADD_AFTER ? later(now, options->time) :
							saturated(options->time);
		ret = kwq_core_add_at(&queue->core, item, priority, when, policy,
				      now);
	} else {
		ret = kwq_core_add(&queue->core, item, priority,
				   options->flags & KWQ_ADD_END_WAIT, now);
		/* M1: client-go counts an AddAfter of 0 as a retry, too. */
		if (ret >= 0 && options->flags & KWQ_ADD_AFTER)
			queue->core.retries++;
	}

	trace_added(queue, item, ret);
	return ret;
}

/**
 * kwq_add_locked() - add an item now, after a delay or at a time
 * @queue: the queue; @queue->lock held
 * @item: the item
 * @options: the options, checked by kwq_check_add()
 * @now: current time
 *
 * Return: as kwq_add_with(), without -EINVAL.
 */
int kwq_add_locked(struct kwq_queue *queue, struct kwq_item *item,
		   const struct kwq_add_options *options, ktime_t now)
{
	lockdep_assert_held(&queue->lock);
	if (options->flags)
		return add_as_asked(queue, item, options, now);
	return add_now(queue, item, now);
}

/**
 * kwq_coalesces() - coalesce an add without the lock if the item is dirty (Q2)
 * @queue: the queue
 * @item: the item; its memory must stay valid
 *
 * For adds without options. Such an add changes nothing but a count. It needs no lock,
 * because the consumer of a dirty item has not seen the object yet:
 *
 *   adder			getter, or caller of remove
 *   change the object		lock; the item is no longer dirty
 *   smp_mb()			smp_mb(); unlock
 *   is the item dirty?		look at the object
 *
 * If the adder finds the item dirty, the getter sees the changed object. Otherwise the add
 * takes the lock. The state is read once, so the result was true at one moment.
 *
 * Return: KWQ_COALESCED or KWQ_DIRTY if the add coalesced; 0 if the add has to take the
 * lock.
 */
VISIBLE_IF_KUNIT int kwq_coalesces(struct kwq_queue *queue, struct kwq_item *item)
{
	int ret;
	u8 state;

	smp_mb(); /* pairs with smp_mb() in kwq_unlock_got() */
	state = READ_ONCE(item->state);
	if (!(state & KWQ_ITEM_DIRTY))
		return 0;
	smp_rmb(); /* reads the state before shut_down */
	if (READ_ONCE(queue->core.shut_down))
		return 0;
	atomic64_inc(&queue->coalesced);
	ret = kwq_is_dirty_again(state) ? KWQ_DIRTY : KWQ_COALESCED;
	trace_kwq_coalesce(queue, item, ret);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_coalesces);

/**
 * kwq_add_with() - add an item with options
 * @queue: the queue
 * @item: the item; it belongs to the queue until it is idle again
 * @options: the options
 *
 * Return:
 * - KWQ_ADDED: the item is ready now.
 * - KWQ_COALESCED: it was ready already. For a delayed add: it was waiting already.
 * - KWQ_DIRTIED: it is processing, and will be ready again at its done.
 * - KWQ_DIRTY: as KWQ_DIRTIED, but it had been added during the processing before.
 * - KWQ_WAITING: it waits for its time from now on.
 * - KWQ_DEAD: it was rate-limited too often, and is dead now or at its done.
 * - -ESHUTDOWN: the queue is shut down or the item cancelled. Nothing has changed.
 * - -ENOENT: KWQ_ADD_KICK, but the item is not dead. Nothing has changed.
 * - -EINVAL: the options have an unknown flag, flags that exclude each other, or a priority
 *   out of range. Nothing has changed.
 */
int kwq_add_with(struct kwq_queue *queue, struct kwq_item *item,
		 const struct kwq_add_options *options)
{
	struct kwq_add_options checked = *options;
	unsigned long flags;
	int ret;

	ret = kwq_check_add(&checked);
	if (ret)
		return ret;
	spin_lock_irqsave(&queue->lock, flags);
	ret = kwq_add_locked(queue, item, &checked, kwq_now_locked(queue));
	kwq_unlock(queue, flags);
	return ret;
}
EXPORT_SYMBOL_GPL(kwq_add_with);

/* Not inlined, so that the fast path of kwq_add() saves no registers for it. */
static noinline __flatten int lock_and_add(struct kwq_queue *queue, struct kwq_item *item)
{
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&queue->lock, flags);
	ret = add_now(queue, item, kwq_now_locked(queue));
	kwq_unlock(queue, flags);
	return ret;
}

/**
 * kwq_add() - mark an item for processing
 * @queue: the queue
 * @item: the item
 *
 * Takes no lock if the item is dirty already.
 *
 * Return: KWQ_ADDED, KWQ_COALESCED, KWQ_DIRTIED or KWQ_DIRTY; -ESHUTDOWN.
 */
int kwq_add(struct kwq_queue *queue, struct kwq_item *item)
{
	return kwq_coalesces(queue, item) ?: lock_and_add(queue, item);
}
EXPORT_SYMBOL_GPL(kwq_add);

/**
 * kwq_add_after() - add an item after a delay
 * @queue: the queue
 * @item: the item
 * @delay: in ns; 0 is kwq_add(); saturates at the end of the clock's range
 *
 * A waiting item keeps the earlier of the two times.
 *
 * Return: KWQ_WAITING, KWQ_COALESCED (was waiting already), or as kwq_add().
 */
__flatten int kwq_add_after(struct kwq_queue *queue, struct kwq_item *item, u64 delay)
{
	static const struct kwq_add_options at_once = { .flags = KWQ_ADD_AFTER };
	unsigned long flags;
	ktime_t now;
	int ret;

	if (!delay)
		return kwq_add_with(queue, item, &at_once);
	spin_lock_irqsave(&queue->lock, flags);
	now = kwq_now_locked(queue);
	ret = kwq_core_add_at(&queue->core, item, KWQ_PRIORITY_NONE, later(now, delay),
			      KWQ_WAIT_EARLIER, now);
	trace_added(queue, item, ret);
	kwq_unlock(queue, flags);
	return ret;
}
EXPORT_SYMBOL_GPL(kwq_add_after);

/**
 * kwq_take_locked() - hand out the first ready item
 * @queue: the queue; @queue->lock held
 * @item: the result of kwq_core_peek()
 * @holder: its new holder
 * @now: current time
 */
void kwq_take_locked(struct kwq_queue *queue, struct kwq_item *item,
		     struct kwq_holder *holder, ktime_t now)
{
	lockdep_assert_held(&queue->lock);
	kwq_core_take(&queue->core, item, holder, now);
	trace_kwq_get(queue, item, item->abandoned);
	/* Q8: tasks that wait with this holder must look again, see kwq_get_would_wait(). */
	if (unlikely(queue->core.shut_down) && holder->nr_held == 1) {
		queue->wake_getters = queue->nr_getters;
		kwq_tell_locked(queue, KWQ_TELL_END);
	}
}

/**
 * kwq_get_locked() - hand out the first ready item, if there is one
 * @queue: the queue; @queue->lock held
 * @holder: its new holder
 * @now: current time
 *
 * Return: the item; NULL if none is ready.
 */
struct kwq_item *kwq_get_locked(struct kwq_queue *queue,
				struct kwq_holder *holder, ktime_t now)
{
	struct kwq_item *item = kwq_core_peek(&queue->core);

	if (item)
		kwq_take_locked(queue, item, holder, now);
	return item;
}

/**
 * kwq_unget_locked() - undo a hand-out (O2)
 * @queue: the queue; @queue->lock held
 * @item: the item that was handed out last
 */
void kwq_unget_locked(struct kwq_queue *queue, struct kwq_item *item)
{
	lockdep_assert_held(&queue->lock);
	kwq_core_unget(&queue->core, item);
	trace_kwq_ready(queue, item, 0, 0);
}

/**
 * kwq_abandon_locked() - take an item back from a lost holder (O1, L12)
 * @queue: the queue; @queue->lock held
 * @item: a processing item
 * @now: current time
 */
void kwq_abandon_locked(struct kwq_queue *queue, struct kwq_item *item,
			ktime_t now)
{
	int ret;

	lockdep_assert_held(&queue->lock);
	ret = kwq_core_abandon(&queue->core, item, now);
	if (ret == KWQ_REQUEUED)
		trace_kwq_ready(queue, item, 0, 0);
	else if (ret == KWQ_DEAD)
		trace_kwq_requeue(queue, item, ret);
}

/**
 * kwq_done_locked() - finish an item
 * @queue: the queue; @queue->lock held
 * @holder: the caller
 * @item: the item
 * @flags: KWQ_DONE_* bits
 * @now: current time
 *
 * Return: as kwq_core_done().
 */
int kwq_done_locked(struct kwq_queue *queue, struct kwq_holder *holder,
		    struct kwq_item *item, u32 flags, ktime_t now)
{
	int ret;

	lockdep_assert_held(&queue->lock);
	ret = kwq_core_done(&queue->core, holder, item, now);
	if (ret < 0)
		return ret;
	if (flags & KWQ_DONE_FORGET)
		kwq_core_forget(&queue->core, item, now);
	trace_kwq_done(queue, item, ret);
	if (ret & KWQ_REQUEUED)
		trace_kwq_ready(queue, item, 0, 0);
	return ret;
}

/**
 * kwq_remove_locked() - take an item out
 * @queue: the queue; @queue->lock held
 * @item: the item
 * @flags: KWQ_REMOVE_* bits
 *
 * Return: as kwq_core_remove().
 */
int kwq_remove_locked(struct kwq_queue *queue, struct kwq_item *item, u32 flags)
{
	int ret;

	lockdep_assert_held(&queue->lock);
	if (flags & KWQ_REMOVE_DEAD && !kwq_item_is_dead(item))
		return -ENOENT;
	ret = kwq_core_remove(&queue->core, item);
	smp_mb(); /* as in kwq_unlock_got() */
	return ret;
}

/**
 * kwq_give_up_locked() - make a processing item dead (L11)
 * @queue: the queue; @queue->lock held
 * @item: the item
 * @now: current time
 */
void kwq_give_up_locked(struct kwq_queue *queue, struct kwq_item *item,
			ktime_t now)
{
	int ret;

	lockdep_assert_held(&queue->lock);
	ret = kwq_core_give_up(&queue->core, item, now);
	if (ret == KWQ_DEAD)
		trace_kwq_requeue(queue, item, ret);
}

/**
 * kwq_get_would_wait() - would a get have to wait
 * @queue: the queue; @queue->lock held
 * @holder: the holder that wants to get
 *
 * After a shut down, a holder of nothing waits while others are processing. It has to take
 * their items if they abandon them, or if the items were added meanwhile. A holder of
 * something does not wait, because it might wait for itself (Q5, Q8).
 *
 * Return: false if an item is ready, or none will ever be.
 */
bool kwq_get_would_wait(struct kwq_queue *queue, struct kwq_holder *holder)
{
	struct kwq_core *core = &queue->core;

	lockdep_assert_held(&queue->lock);
	if (core->nr_ready)
		return false;
	if (!core->shut_down)
		return true;
	return core->nr_processing && !holder->nr_held;
}

/*
 * Sleeps until @deadline. With a manual clock there is no timer: an advance of the clock
 * wakes all waiters.
 */
static void sleep_until(const struct kwq_queue *queue, ktime_t deadline)
{
	if (queue->clock == KWQ_CLOCK_MANUAL)
		schedule();
	else
		schedule_hrtimeout_range_clock(deadline == KTIME_MAX ? NULL :
					       &deadline, 0, HRTIMER_MODE_ABS,
					       kwq_queue_clockid(queue));
}

static bool is_past(const struct kwq_queue *queue, ktime_t deadline)
{
	return deadline != KTIME_MAX && kwq_now_locked(queue) >= deadline;
}

/**
 * kwq_wait_locked() - wait for a ready item
 * @queue: the queue; @queue->lock held, released while sleeping
 * @holder: the holder that wants to get
 * @waiter: how long to wait
 * @flags: as spin_lock_irqsave() stored them
 *
 * Call it in a loop while no item is ready. A return value of 0 does not promise an item.
 *
 * Context: process; sleeps without the lock.
 * Return: 0; -ESHUTDOWN, -EAGAIN, -ETIMEDOUT or -ERESTARTSYS.
 */
noinline int kwq_wait_locked(struct kwq_queue *queue, struct kwq_holder *holder,
			     const struct kwq_waiter *waiter, unsigned long *flags)
	__must_hold(&queue->lock)
{
	DEFINE_WAIT(wait);

	lockdep_assert_held(&queue->lock);
	if (!kwq_get_would_wait(queue, holder))
		return -ESHUTDOWN;
	if (waiter->nonblock)
		return -EAGAIN;
	if (is_past(queue, waiter->deadline))
		return -ETIMEDOUT;
	if (signal_pending(current))
		return -ERESTARTSYS;

	prepare_to_wait_exclusive(&queue->getters, &wait, TASK_INTERRUPTIBLE);
	queue->nr_getters++;
	kwq_unlock(queue, *flags);
	sleep_until(queue, waiter->deadline);
	spin_lock_irqsave(&queue->lock, *flags);
	queue->nr_getters--;
	finish_wait(&queue->getters, &wait);
	return 0;
}

/**
 * kwq_pass_on_locked() - let a woken getter pass its wake-up to another one
 * @queue: the queue; @queue->lock held
 */
void kwq_pass_on_locked(struct kwq_queue *queue)
{
	lockdep_assert_held(&queue->lock);
	queue->woken--;
}

/**
 * kwq_wake_again_locked() - wake a waiter for every ready item once more
 * @queue: the queue; @queue->lock held
 *
 * For wake-ups that may have been lost with a poller. It is not known which ones. Pollers
 * and getters that are awake already are not disturbed.
 */
void kwq_wake_again_locked(struct kwq_queue *queue)
{
	lockdep_assert_held(&queue->lock);
	queue->woken = queue->core.readied - queue->core.nr_ready;
}

/**
 * kwq_tell_room() - tell all pollers that the queue has room (Q19)
 * @queue: the queue
 *
 * Context: process; may sleep.
 */
void kwq_tell_room(struct kwq_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	kwq_tell_locked(queue, KWQ_TELL_ROOM);
	kwq_unlock_and_wake(queue, flags);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_tell_room);

/* Slow path of get: no item is ready. */
static noinline struct kwq_item *wait_and_unlock(struct kwq_queue *queue,
						 const struct kwq_waiter *waiter,
						 unsigned long flags)
	__releases(&queue->lock)
{
	struct kwq_item *item;
	int err;

	do {
		err = kwq_wait_locked(queue, &queue->holder, waiter, &flags);
		item = err ? ERR_PTR(err) :
			     kwq_get_locked(queue, &queue->holder, kwq_now_locked(queue));
	} while (!item);
	kwq_unlock_got(queue, flags);
	return item;
}

static noinline struct kwq_item *wait_until_and_unlock(struct kwq_queue *queue,
						       ktime_t deadline,
						       unsigned long flags)
	__releases(&queue->lock)
{
	return wait_and_unlock(queue, &(struct kwq_waiter){ .deadline = deadline }, flags);
}

static inline struct kwq_item *get_and_unlock(struct kwq_queue *queue,
					      ktime_t deadline, ktime_t now,
					      unsigned long flags)
	__releases(&queue->lock)
{
	struct kwq_item *item = kwq_get_locked(queue, &queue->holder, now);

	if (unlikely(!item))
		return wait_until_and_unlock(queue, deadline, flags);
	kwq_unlock_got(queue, flags);
	return item;
}

/**
 * kwq_get() - get the first ready item, and wait for one if necessary
 * @queue: the queue
 * @deadline: when to stop waiting, on the queue's clock; KTIME_MAX for never
 *
 * The item is processing until kwq_done(). Nobody else gets it meanwhile.
 *
 * All kernel users of a queue share one holder. So after a shut down, kwq_get() does not
 * wait for an item that another user is still processing. A user that called kwq_done()
 * therefore gets again, and finds items that became ready at that done.
 *
 * Context: process; sleeps.
 * Return: the item, or an ERR_PTR(): -ESHUTDOWN (shut down and nothing is ready),
 * -ETIMEDOUT, or -ERESTARTSYS (a signal).
 */
__flatten struct kwq_item *kwq_get(struct kwq_queue *queue, ktime_t deadline)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	return get_and_unlock(queue, deadline, kwq_now_locked(queue), flags);
}
EXPORT_SYMBOL_GPL(kwq_get);

/**
 * kwq_try_get() - get the first ready item without waiting
 * @queue: the queue
 *
 * Return: the item, or an ERR_PTR(): -EAGAIN or -ESHUTDOWN.
 */
__flatten struct kwq_item *kwq_try_get(struct kwq_queue *queue)
{
	static const struct kwq_waiter at_once = { .nonblock = true };
	struct kwq_item *item;
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	item = kwq_get_locked(queue, &queue->holder, kwq_now_locked(queue));
	if (!item)
		return wait_and_unlock(queue, &at_once, flags);
	kwq_unlock_got(queue, flags);
	return item;
}
EXPORT_SYMBOL_GPL(kwq_try_get);

/**
 * kwq_done() - finish an item
 * @queue: the queue
 * @item: an item from kwq_get() or kwq_try_get()
 *
 * Return: KWQ_FINISHED, or one or both of these bits: KWQ_REQUEUED if it was added
 * meanwhile and is ready again, KWQ_STILL_WAITING if it is waiting for a time. With nothing
 * changed: -ENOENT if it is not being processed, -EPERM if a handler processes it.
 */
__flatten int kwq_done(struct kwq_queue *queue, struct kwq_item *item)
{
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&queue->lock, flags);
	ret = kwq_done_locked(queue, &queue->holder, item, 0, kwq_now_locked(queue));
	kwq_unlock(queue, flags);
	return ret;
}
EXPORT_SYMBOL_GPL(kwq_done);

/**
 * kwq_done_and_get() - finish an item and get the next one
 * @queue: the queue
 * @done: an item from kwq_get(), kwq_try_get() or this function
 * @deadline: as for kwq_get()
 *
 * Does the same as kwq_done() and then kwq_get(), at little more than the cost of one.
 *
 * Context: process; sleeps.
 * Return: the next item, or an ERR_PTR(). -ENOENT and -EPERM are those of kwq_done(), with
 * nothing changed. Other errors are those of kwq_get(), with @done finished.
 */
__flatten struct kwq_item *kwq_done_and_get(struct kwq_queue *queue,
					    struct kwq_item *done, ktime_t deadline)
{
	unsigned long flags;
	ktime_t now;
	int ret;

	spin_lock_irqsave(&queue->lock, flags);
	now = kwq_now_locked(queue);
	ret = kwq_done_locked(queue, &queue->holder, done, 0, now);
	if (ret < 0) {
		kwq_unlock(queue, flags);
		return ERR_PTR(ret);
	}
	return get_and_unlock(queue, deadline, now, flags);
}
EXPORT_SYMBOL_GPL(kwq_done_and_get);

/**
 * kwq_remove() - take an item out
 * @queue: the queue
 * @item: the item
 *
 * A ready, waiting or dead item is idle afterwards. A processing item loses its dirty mark
 * and its time, and kwq_done() makes it idle. Its requeues are reset.
 *
 * Return: KWQ_WAS_* bits of what it was; -ENOENT if it was idle.
 */
int kwq_remove(struct kwq_queue *queue, struct kwq_item *item)
{
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&queue->lock, flags);
	ret = kwq_remove_locked(queue, item, 0);
	kwq_unlock(queue, flags);
	return ret;
}
EXPORT_SYMBOL_GPL(kwq_remove);

/**
 * kwq_forget() - reset an item's requeues to 0 (L8)
 * @queue: the queue
 * @item: the item
 *
 * Return: the number of requeues before.
 */
u32 kwq_forget(struct kwq_queue *queue, struct kwq_item *item)
{
	unsigned long flags;
	u32 requeues;

	spin_lock_irqsave(&queue->lock, flags);
	requeues = kwq_core_forget(&queue->core, item, kwq_now_locked(queue));
	kwq_unlock(queue, flags);
	return requeues;
}
EXPORT_SYMBOL_GPL(kwq_forget);

/**
 * kwq_num_requeues() - how often an item was rate-limited (L9)
 * @queue: the queue
 * @item: the item
 *
 * Return: the number since it was last forgotten.
 */
u32 kwq_num_requeues(struct kwq_queue *queue, const struct kwq_item *item)
{
	unsigned long flags;
	u32 requeues;

	spin_lock_irqsave(&queue->lock, flags);
	requeues = kwq_core_num_requeues(&queue->core, item,
					 kwq_now_locked(queue));
	spin_unlock_irqrestore(&queue->lock, flags);
	return requeues;
}
EXPORT_SYMBOL_GPL(kwq_num_requeues);

/**
 * kwq_first_dead() - the item that has been dead longest (L11)
 * @queue: the queue
 *
 * The item stays dead until an add revives it or kwq_remove() takes it out.
 *
 * Return: the item; NULL if none is dead. The caller makes sure that nobody frees it
 * meanwhile.
 */
struct kwq_item *kwq_first_dead(struct kwq_queue *queue)
{
	struct kwq_item *item;
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	item = list_first_entry_or_null(&queue->core.dead, struct kwq_item, link);
	spin_unlock_irqrestore(&queue->lock, flags);
	return item;
}
EXPORT_SYMBOL_GPL(kwq_first_dead);

static int list_pauses_of(const struct kwq_limiter_config *config,
			  struct kwq_growths *growths)
{
	u32 nr = kwq_limiter_nr_pauses(config);
	u64 *table = NULL;

	if (nr) {
		table = kmalloc_array(nr, sizeof(*table), GFP_KERNEL_ACCOUNT);
		if (!table)
			return -ENOMEM;
	}
	kwq_limiter_list_pauses(config, growths, table);
	return 0;
}

/**
 * kwq_configure() - configure how a queue limits retries
 * @queue: the queue
 * @config: the configuration; NULL for the default, with which every queue starts
 *
 * The pauses of backoff limiters are computed into a table before the lock is taken, so
 * that no add has to compute them (O8).
 *
 * Context: process; may sleep.
 * Return: 0; -EINVAL or -ENOMEM with nothing changed.
 */
int kwq_configure(struct kwq_queue *queue, const struct kwq_limiter_config *config)
{
	static const struct kwq_limiter_config standard;
	struct kwq_growths growths;
	unsigned long flags;
	u64 *table;
	int err;

	might_sleep();
	if (!config)
		config = &standard;
	err = kwq_limiter_config_check(config);
	if (!err)
		err = list_pauses_of(config, &growths);
	if (err)
		return err;
	spin_lock_irqsave(&queue->lock, flags);
	table = queue->core.limiter.growths.table;
	kwq_rate_limiter_configure(&queue->core.limiter, config, &growths,
				   kwq_now_locked(queue));
	kwq_unlock(queue, flags);
	kfree(table);
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_configure);

/**
 * kwq_read_config() - read how a queue limits retries
 * @queue: the queue
 * @config: filled in
 */
void kwq_read_config(struct kwq_queue *queue, struct kwq_limiter_config *config)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	*config = queue->core.limiter.config;
	spin_unlock_irqrestore(&queue->lock, flags);
}
EXPORT_SYMBOL_GPL(kwq_read_config);

/**
 * kwq_len() - the number of ready items (Q7)
 * @queue: the queue
 *
 * Return: the number, without waiting and processing items.
 */
unsigned long kwq_len(struct kwq_queue *queue)
{
	unsigned long flags, nr;

	spin_lock_irqsave(&queue->lock, flags);
	nr = queue->core.nr_ready;
	spin_unlock_irqrestore(&queue->lock, flags);
	return nr;
}
EXPORT_SYMBOL_GPL(kwq_len);

/**
 * kwq_begin_shut_down() - refuse adds and wake everyone (Q8)
 * @queue: the queue
 * @drain: if false, end every drain's wait (Q9)
 * @pays: the caller may sleep and wakes everyone itself
 *
 * The caller has to drop the waiting items afterwards.
 *
 * Return: the number of shut downs without a drain, for kwq_wait_drained().
 */
u64 kwq_begin_shut_down(struct kwq_queue *queue, bool drain, bool pays)
{
	unsigned long flags;
	u64 shut_downs;

	spin_lock_irqsave(&queue->lock, flags);
	kwq_core_shut_down(&queue->core);
	if (!drain) {
		queue->shut_downs++;
		queue->wake_drainers = queue->nr_drainers;
	}
	shut_downs = queue->shut_downs;
	trace_kwq_shut_down(queue, drain);
	if (pays)
		kwq_unlock_and_wake(queue, flags);
	else
		kwq_unlock(queue, flags);
	return shut_downs;
}

/**
 * kwq_wait_drained() - wait until nothing is ready or processing (Q9)
 * @queue: a queue that is shut down
 * @shut_downs: the result of kwq_begin_shut_down()
 * @deadline: when to stop waiting, on the queue's clock; KTIME_MAX for never
 *
 * Context: process; sleeps.
 * Return: 0; -ECANCELED if there was a shut down without a drain since; -ETIMEDOUT;
 * -ERESTARTSYS for a signal. After a signal, the wait may continue with the same
 * @shut_downs and @deadline.
 */
int kwq_wait_drained(struct kwq_queue *queue, u64 shut_downs, ktime_t deadline)
{
	DEFINE_WAIT(wait);
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&queue->lock, flags);
	for (;;) {
		ret = 0;
		if (kwq_core_is_drained(&queue->core))
			break;
		ret = -ECANCELED;
		if (queue->shut_downs != shut_downs)
			break;
		ret = -ETIMEDOUT;
		if (is_past(queue, deadline))
			break;
		ret = -ERESTARTSYS;
		if (signal_pending(current))
			break;
		prepare_to_wait_exclusive(&queue->drainers, &wait, TASK_INTERRUPTIBLE);
		queue->nr_drainers++;
		spin_unlock_irqrestore(&queue->lock, flags);
		sleep_until(queue, deadline);
		spin_lock_irqsave(&queue->lock, flags);
		queue->nr_drainers--;
		finish_wait(&queue->drainers, &wait);
	}
	spin_unlock_irqrestore(&queue->lock, flags);
	return ret;
}

/**
 * kwq_drop_locked() - drop a bounded number of waiting or dead items (Q8)
 * @queue: a queue that is shut down; @queue->lock held
 * @dropped: called for each item; may be NULL
 *
 * Return: true if there may be more.
 */
bool kwq_drop_locked(struct kwq_queue *queue,
		     void (*dropped)(struct kwq_queue *queue,
				     struct kwq_item *item))
{
	struct kwq_item *item = NULL;
	int n;

	lockdep_assert_held(&queue->lock);
	for (n = 0; n < KWQ_ITEMS_PER_HOLD; n++) {
		item = kwq_core_drop(&queue->core);
		if (!item)
			break;
		if (dropped)
			dropped(queue, item);
	}
	return item;
}

VISIBLE_IF_KUNIT bool kwq_drop(struct kwq_queue *queue)
{
	unsigned long flags;
	bool more;

	spin_lock_irqsave(&queue->lock, flags);
	more = kwq_drop_locked(queue, NULL);
	kwq_unlock(queue, flags);
	return more;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_drop);

/**
 * kwq_drop_all() - drop all waiting and dead items (Q8)
 * @queue: a queue that is shut down
 *
 * Context: process; may sleep.
 */
void kwq_drop_all(struct kwq_queue *queue)
{
	while (kwq_drop(queue))
		cond_resched();
}

/**
 * kwq_shut_down() - refuse adds, drop waiting items, wake everyone
 * @queue: the queue
 *
 * Get continues to hand out ready items, and items that become ready at a done. Every
 * drain's wait ends.
 *
 * Context: any. Takes time in proportion to the number of waiting items.
 */
void kwq_shut_down(struct kwq_queue *queue)
{
	kwq_begin_shut_down(queue, false, false);
	while (kwq_drop(queue))
		cpu_relax();
}
EXPORT_SYMBOL_GPL(kwq_shut_down);

/**
 * kwq_shut_down_with_drain() - shut down, and wait until all work is done
 * @queue: the queue
 * @deadline: when to stop waiting, on the queue's clock; KTIME_MAX for never
 *
 * Context: process; sleeps. The caller must not hold a lock that is taken to process items.
 * In the queue's own handler the call would wait for itself.
 * Return: The queue is shut down except after -EDEADLK.
 * - 0: nothing is ready, and nothing is being processed.
 * - -ECANCELED: somebody called kwq_shut_down().
 * - -ETIMEDOUT: the deadline passed.
 * - -ERESTARTSYS: a signal. A call that continues the wait must use the same deadline.
 * - -EDEADLK: called in a handler of this queue. Nothing has changed.
 */
int kwq_shut_down_with_drain(struct kwq_queue *queue, ktime_t deadline)
{
	u64 shut_downs;

	if (kwq_current_worker(queue))
		return -EDEADLK;
	kwq_might_wait_for_workers(queue);
	shut_downs = kwq_begin_shut_down(queue, true, true);
	kwq_drop_all(queue);
	return kwq_wait_drained(queue, shut_downs, deadline);
}
EXPORT_SYMBOL_GPL(kwq_shut_down_with_drain);

/**
 * kwq_shutting_down() - was the queue shut down
 * @queue: the queue
 *
 * Return: true since the first shut down.
 */
bool kwq_shutting_down(struct kwq_queue *queue)
{
	return READ_ONCE(queue->core.shut_down);
}
EXPORT_SYMBOL_GPL(kwq_shutting_down);

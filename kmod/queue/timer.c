// SPDX-License-Identifier: GPL-2.0-only
/*
 * The timers: when each queue has its turn. "expire.c" says what a queue does in its turn,
 * and "timer.h" why queues share timers.
 *
 * A queue has a place in its timer's tree, at the time @due. The place changes under the
 * queue's lock and the timer's. So a holder of either lock may read @due.
 *
 * The hrtimer may fire before the first place is due. If that place moves to a later time, the
 * hrtimer fires once in vain, which is cheaper than a restart for each change.
 */
#include <linux/atomic.h>
#include <linux/export.h>
#include <linux/kcov.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/rbtree.h>
#include <linux/wait_bit.h>
#include <kunit/visibility.h>
#include "compat.h"
#include "timer.h"

#define TIMER_INIT(of_clock) {						\
	.lock = __SPIN_LOCK_UNLOCKED(kwq_timer.lock),			\
	.clock = (of_clock),						\
	.queues = RB_ROOT_CACHED,					\
	.fires_at = KTIME_MAX,						\
}

/* Initialised by the compiler: a built-in driver may use a queue before kwq_init() runs. */
static struct kwq_timer timers[][KWQ_NR_TIMERS] = {
	[KWQ_CLOCK_MONOTONIC] = { [0 ... KWQ_NR_TIMERS - 1] = TIMER_INIT(KWQ_CLOCK_MONOTONIC) },
	[KWQ_CLOCK_BOOTTIME] = { [0 ... KWQ_NR_TIMERS - 1] = TIMER_INIT(KWQ_CLOCK_BOOTTIME) },
};

#if IS_ENABLED(CONFIG_KUNIT)
static struct kwq_timer *test_timers[KWQ_NR_TEST_TIMERS];
#endif

static enum hrtimer_restart timer_fn(struct hrtimer *hrtimer);

static struct kwq_timer *timer_of_number(u8 clock, u8 nr)
{
#if IS_ENABLED(CONFIG_KUNIT)
	if (unlikely(nr >= KWQ_NR_TIMERS))
		return test_timers[nr - KWQ_NR_TIMERS];
#endif
	return &timers[clock == KWQ_CLOCK_BOOTTIME][nr];
}

/**
 * kwq_timer_of() - the timer of a queue
 * @queue: the queue
 *
 * A queue has only the number of its timer, which takes less room than its address.
 *
 * Return: the timer.
 */
struct kwq_timer *kwq_timer_of(const struct kwq_queue *queue)
{
	return timer_of_number(queue->clock, queue->timer);
}

static bool is_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct kwq_queue, place)->due <
	       rb_entry(b, struct kwq_queue, place)->due;
}

static struct kwq_queue *first_of(const struct kwq_timer *timer)
{
	return rb_entry_safe(rb_first_cached(&timer->queues), struct kwq_queue, place);
}

static void leave_place(struct kwq_timer *timer, struct kwq_queue *queue)
{
	lockdep_assert_held(&queue->lock);
	lockdep_assert_held(&timer->lock);
	if (queue->due == KTIME_MAX)
		return;
	rb_erase_cached(&queue->place, &timer->queues);
	queue->due = KTIME_MAX;
}

/* Called at the first start, because a built-in driver may arm a queue before kwq_init() runs. */
static noinline void set_up(struct kwq_timer *timer)
{
	hrtimer_setup(&timer->hrtimer, timer_fn,
		      timer->clock == KWQ_CLOCK_BOOTTIME ? CLOCK_BOOTTIME : CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
	timer->is_set_up = true;
}

/*
 * The hrtimer's callback runs in softirq context. So interrupts are off only while the callback
 * holds a lock. The callback may be running now, and wait for @timer->lock: see restart().
 */
static void start(struct kwq_timer *timer, ktime_t when)
{
	timer->fires_at = when;
	if (timer->clock == KWQ_CLOCK_MANUAL)
		return;
	if (unlikely(!timer->is_set_up))
		set_up(timer);
	hrtimer_start(&timer->hrtimer, when, HRTIMER_MODE_ABS_SOFT);
}

/**
 * kwq_set_timer_locked() - set when a queue has its next turn
 * @queue: the queue; @queue->lock held
 * @when: the time on the timer's clock, perhaps in the past; KTIME_MAX for never
 *
 * Queues with equal times have their turns in the order of these calls.
 */
void kwq_set_timer_locked(struct kwq_queue *queue, ktime_t when)
{
	struct kwq_timer *timer = kwq_timer_of(queue);

	/* Interrupts are off already. */
	spin_lock(&timer->lock);
	leave_place(timer, queue);
	queue->due = when;
	if (when != KTIME_MAX && rb_add_cached(&queue->place, &timer->queues, is_before)) {
		when = max(when, timer->resume);
		if (when < timer->fires_at && !timer->running)
			start(timer, when);
	}
	spin_unlock(&timer->lock);
}

/**
 * kwq_join_timer() - give a new queue its timer
 * @queue: the queue
 */
void kwq_join_timer(struct kwq_queue *queue)
{
	static atomic_t nr_queues;

	queue->timer = (unsigned int)atomic_inc_return(&nr_queues) % KWQ_NR_TIMERS;
	queue->due = KTIME_MAX;
}

static bool has_left(struct kwq_queue *queue)
{
	struct kwq_timer *timer = kwq_timer_of(queue);
	unsigned long flags;
	bool left;

	spin_lock_irqsave(&queue->lock, flags);
	spin_lock(&timer->lock);
	leave_place(timer, queue);
	left = timer->working_on != queue;
	if (!left)
		timer->awaited = true;
	spin_unlock(&timer->lock);
	spin_unlock_irqrestore(&queue->lock, flags);
	return left;
}

/**
 * kwq_leave_timer() - take a queue off its timer, and wait until its turn is over
 * @queue: the queue; only its turn may still arm the timer
 *
 * Context: process; may sleep.
 */
void kwq_leave_timer(struct kwq_queue *queue)
{
	/* The last turn may set a new place. A later call of has_left() removes that place. */
	wait_var_event(&kwq_timer_of(queue)->working_on, has_left(queue));
}

/* The present time on the timer's clock. @at is the same on the @clock of kwq_run_timer(). */
static ktime_t time_of(const struct kwq_timer *timer, ktime_t at)
{
	return timer->clock == KWQ_CLOCK_BOOTTIME ? ktime_get_boottime() : at;
}

static struct kwq_queue *first_due(const struct kwq_timer *timer, ktime_t now)
{
	struct kwq_queue *first = first_of(timer);

	return first && first->due <= now ? first : NULL;
}

/* A queue stays in its place during its turn. At the end it has another place, or none. */
static bool take_turn(struct kwq_timer *timer, struct kwq_queue *queue, ktime_t now,
		      unsigned long *flags)
{
	bool small = kwq_is_small(queue), more;

	timer->working_on = queue;
	spin_unlock_irqrestore(&timer->lock, *flags);
	/* Attributes the coverage to the fuzzer's program that made the queue. */
	if (!small)
		kcov_remote_start_common(kwq_queue_bulk_of(queue)->kcov_handle);
	more = kwq_take_turn(queue, now);
	if (!small)
		kcov_remote_stop();
	spin_lock_irqsave(&timer->lock, *flags);
	timer->working_on = NULL;
	if (unlikely(timer->awaited)) {
		timer->awaited = false;
		/* Needs no barrier: a sleeper was listed before it set @awaited under the lock. */
		wake_up_var(&timer->working_on);
	}
	return more;
}

/*
 * Ends a run. The hrtimer is queued already if a holder of @timer->lock started it after it had
 * fired, but before the run began.
 */
static enum hrtimer_restart restart(struct kwq_timer *timer)
{
	struct kwq_queue *first = first_of(timer);
	enum hrtimer_restart ret = HRTIMER_NORESTART;

	timer->running = false;
	timer->fires_at = first ? max(first->due, timer->resume) : KTIME_MAX;
	if (first && timer->clock != KWQ_CLOCK_MANUAL) {
		if (hrtimer_is_queued(&timer->hrtimer)) {
			start(timer, timer->fires_at);
		} else {
			hrtimer_set_expires(&timer->hrtimer, timer->fires_at);
			ret = HRTIMER_RESTART;
		}
	}
	return ret;
}

/**
 * kwq_run_timer() - let due queues have their turns, as far as time allows (D6, O8)
 * @timer: the timer
 * @pace: pace of this processor, in exclusive use
 * @clock: measures the work; for a timer on KWQ_CLOCK_MONOTONIC, that clock
 *
 * A run has at most KWQ_HOLDS_PER_RUN turns, and ends earlier if the pace says so. While other
 * timers wait for their slots, a run is brief. Between two turns others can take the locks.
 * Between two runs tasks can have the processor.
 *
 * Return: HRTIMER_RESTART if the caller has to start the hrtimer.
 */
VISIBLE_IF_KUNIT enum hrtimer_restart kwq_run_timer(struct kwq_timer *timer,
						    struct kwq_pace *pace,
						    ktime_t (*clock)(void))
{
	ktime_t begun = clock(), at = begun, now = time_of(timer, at), then;
	bool may_work = kwq_pace_may_work(pace, timer->put_off, begun);
	bool shared = kwq_pace_is_shared(pace, begun);
	bool in_slot = timer->put_off;
	bool goes_on = may_work, more;
	enum hrtimer_restart ret;
	struct kwq_queue *queue;
	unsigned long flags;
	int holds = 0;

	spin_lock_irqsave(&timer->lock, flags);
	timer->running = true;
	while ((queue = first_due(timer, now)) && goes_on) {
		more = take_turn(timer, queue, now, &flags);
		then = clock();
		kwq_pace_worked(pace, at, then);
		at = then;
		now = time_of(timer, at);
		goes_on = ++holds < KWQ_HOLDS_PER_RUN &&
			  kwq_pace_may_go_on(pace, begun, at, more);
	}
	if (!holds)
		kwq_pace_worked(pace, at, clock());
	if (!queue)
		timer->put_off = 0;
	else if (may_work)
		timer->put_off = 1;
	else if (timer->put_off < KWQ_PACE_PUT_OFF_MAX)
		timer->put_off++;
	timer->resume = queue ? ktime_add(now, ktime_sub(kwq_pace_reserve(pace, at), at)) : 0;
	ret = restart(timer);
	spin_unlock_irqrestore(&timer->lock, flags);
	if (in_slot && holds)
		kwq_pace_learn(pace, div_u64(ktime_sub(at, begun), shared ? 1 : holds));
	return ret;
}

/*
 * The pace of each processor. Only the timers' callbacks use it. Callbacks of one processor
 * run one after the other and do not migrate, so the pace needs no lock. This also holds on
 * PREEMPT_RT. There, disabled bottom halves keep the task on its processor, and hrtimers
 * serialise their callbacks with a lock.
 */
static DEFINE_PER_CPU(struct kwq_pace, pace_of_processor);

static enum hrtimer_restart timer_fn(struct hrtimer *hrtimer)
{
	struct kwq_timer *timer = container_of(hrtimer, struct kwq_timer, hrtimer);

	return kwq_run_timer(timer, this_cpu_ptr(&pace_of_processor), ktime_get);
}

/**
 * kwq_timers_stop() - stop the timers; no queue is left
 *
 * The hrtimer of a timer without queues may still be started, to fire in vain.
 */
void kwq_timers_stop(void)
{
	struct kwq_timer *timer;

	for (timer = timers[0]; timer < timers[ARRAY_SIZE(timers)]; timer++)
		if (timer->is_set_up)
			hrtimer_cancel(&timer->hrtimer);
}

#if IS_ENABLED(CONFIG_KUNIT)
/* A timer of a test. On a manual clock it runs only when the test calls kwq_run_timer(). */
void kwq_timer_init(struct kwq_timer *timer, enum kwq_clock clock)
{
	static unsigned int next_slot;

	*timer = (struct kwq_timer)TIMER_INIT(clock);
	spin_lock_init(&timer->lock);
	test_timers[next_slot++ % KWQ_NR_TEST_TIMERS] = timer;
}

/* Moves a queue to a timer of a test, or back. */
void kwq_use_timer(struct kwq_queue *queue, struct kwq_timer *timer)
{
	unsigned long flags;
	u8 nr = 0;

	while (timer_of_number(queue->clock, nr) != timer)
		nr++;
	kwq_leave_timer(queue);
	spin_lock_irqsave(&queue->lock, flags);
	queue->timer = nr;
	queue->armed = KWQ_ARMED_ANEW;
	kwq_arm_timer_locked(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
}
#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timers, which all queues share (D6, O8).
 *
 * The kernel runs all due hrtimers of a processor in one go. If each queue had an hrtimer,
 * such a go would take longer the more queues there are, even if each callback only looked at
 * the pace. So the number of timers is fixed. Each timer has one hrtimer and the queues that
 * are armed on it, ordered by their times. A queue keeps its timer for life.
 *
 * The callback works on due queues in turn, for one hold of the queue's lock each. A queue
 * with more work takes its place behind the other due queues. If the pace says so, the
 * callback leaves the rest for its slot: see "pace.h".
 *
 * Lock order: queue->lock, then timer->lock, then the hrtimer's base.
 */
#ifndef KWQ_TIMER_H
#define KWQ_TIMER_H

#include <linux/cache.h>
#include <linux/hrtimer.h>
#include <linux/rbtree_types.h>
#include "pace.h"
#include "queue.h"

/* The tests have timers, too, and up to this number of them at once. */
#define KWQ_NR_TEST_TIMERS	4

/* The most holds of queues' locks in one run of a timer; see also "pace.h". */
#define KWQ_HOLDS_PER_RUN	16

/**
 * struct kwq_timer - a timer of many queues
 *
 * The letters say what protects a member:
 *
 * I: constant.
 * T: @lock, taken under a queue's lock.
 */
struct kwq_timer {
	/* private: */
	spinlock_t lock;
	enum kwq_clock clock;		/* I: KWQ_CLOCK_MANUAL only in tests, without @hrtimer */
	struct rb_root_cached queues;	/* T: the armed queues, by @due */
	struct kwq_queue *working_on;	/* T: the queue that the callback touches without @lock */
	ktime_t fires_at;		/* T: when @hrtimer fires; KTIME_MAX for never */
	ktime_t resume;			/* T: slot of the next run; in the past without a slot */
	bool running;			/* T: the callback runs, and starts @hrtimer at its end */
	bool awaited;			/* T: a task waits until @working_on is another queue */
	bool is_set_up;			/* T: hrtimer_setup() was called */
	u8 put_off;			/* how often the callback was put off; only it uses this */
	struct hrtimer hrtimer;		/* T: started under @lock */
} ____cacheline_aligned_in_smp;

struct kwq_timer *kwq_timer_of(const struct kwq_queue *queue);
void kwq_join_timer(struct kwq_queue *queue);
void kwq_leave_timer(struct kwq_queue *queue);
void kwq_set_timer_locked(struct kwq_queue *queue, ktime_t when);
void kwq_timers_stop(void);

#if IS_ENABLED(CONFIG_KUNIT)
void kwq_timer_init(struct kwq_timer *timer, enum kwq_clock clock);
void kwq_use_timer(struct kwq_queue *queue, struct kwq_timer *timer);
enum hrtimer_restart kwq_run_timer(struct kwq_timer *timer, struct kwq_pace *pace,
				   ktime_t (*clock)(void));
#endif

#endif /* KWQ_TIMER_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The queue, for code inside kwq that takes its lock itself. A function whose name ends in
 * _locked needs @queue->lock held. After a change to the queue, release the lock by
 * kwq_unlock() or one of its variants.
 */
#ifndef KWQ_QUEUE_H
#define KWQ_QUEUE_H

#include <linux/kwq_test.h>
#include "core/core.h"

/*
 * A hold of the lock keeps interrupts off, so it moves, drops or gives back at most this many items
 * (O8). It wakes all waiters that it has to, as the kernel's own wait queues do.
 */
#define KWQ_ITEMS_PER_HOLD	64

/*
 * The most that a hold makes ready, because each may wake a task; and the most for a timer's
 * callback. The timers of very many queues may fire at one moment, and the kernel runs their
 * callbacks in one go.
 */
#define KWQ_READY_PER_HOLD	32
#define KWQ_READY_PER_TIMER	8

/* Pollers are descriptors of the device. Without it the compiler leaves out what serves them. */
#define KWQ_MAY_HAVE_POLLERS	(IS_ENABLED(CONFIG_KWQ_DEV) || IS_ENABLED(CONFIG_KUNIT))

/**
 * struct kwq_patience - how long a call may wait
 * @deadline: when to stop waiting, on the queue's clock; KTIME_MAX for never
 * @nonblock: do not wait at all
 */
struct kwq_patience {
	ktime_t deadline;
	bool nonblock;
};

/* D7: times beyond the clock's range saturate. */
static inline ktime_t kwq_saturated(u64 ns)
{
	return min_t(u64, ns, KTIME_MAX);
}

/*
 * Both summands are less than 2^63. So their sum fits into the u64 that kwq_saturated() takes,
 * even if the signed sum wraps.
 */
static inline ktime_t kwq_later(ktime_t now, u64 delay)
{
	return kwq_saturated(now + kwq_saturated(delay));
}

/**
 * kwq_is_small() - is a queue small (K6)
 * @queue: the queue
 *
 * Return: true if so.
 */
static inline bool kwq_is_small(const struct kwq_queue *queue)
{
	return kwq_core_is_small(&queue->core);
}

/**
 * kwq_large_of() - the large queue that a queue is part of
 * @queue: the queue; not small
 *
 * Return: the large queue.
 */
static inline struct kwq_large_queue *kwq_large_of(const struct kwq_queue *queue)
{
	return container_of(queue, struct kwq_large_queue, queue);
}

/**
 * kwq_queue_bulk_of() - the members that only a large queue has
 * @queue: the queue; not small
 *
 * Return: the members.
 */
static inline struct kwq_queue_bulk *kwq_queue_bulk_of(const struct kwq_queue *queue)
{
	return &kwq_large_of(queue)->of_queue;
}

/**
 * struct kwq_drainer - a task that waits in @drainers of a queue
 * @link: in that list; unhashed once it was woken
 * @task: the task
 */
struct kwq_drainer {
	struct hlist_node link;
	struct task_struct *task;
};

/* post.c */
bool kwq_post(struct kwq_queue *queue, struct kwq_item *item);
int kwq_post_from_nmi(struct kwq_queue *queue, struct kwq_item *item);
void kwq_take_posts_locked(struct kwq_queue *queue);
void kwq_open_posts_locked(struct kwq_queue *queue);
void kwq_end_posts_locked(struct kwq_queue *queue);
unsigned long kwq_lock_contended(struct kwq_queue *queue)
	__acquires(&queue->lock);
void kwq_claim_locked(struct kwq_queue *queue, struct kwq_item *item, struct kwq_item *claim);
void kwq_end_hold_locked(struct kwq_queue *queue, struct kwq_item *item);

/**
 * kwq_end_claim() - end the claim of an adder, or of a holder that adds
 * @item: the item; not touched afterwards
 */
static inline void kwq_end_claim(struct kwq_item *item)
{
	/* Pairs with kwq_item_pending(). */
	smp_store_release(&item->post, NULL);
}

/**
 * kwq_try_lock() - take the lock of a driver's queue if it is free, and add what an NMI has posted
 * @queue: the queue
 * @flags: as for spin_lock_irqsave()
 *
 * Return: true if the caller has the lock.
 */
static __always_inline bool kwq_try_lock(struct kwq_queue *queue, unsigned long *flags)
{
	/* To lockdep a trylock waits for nobody, but the caller does if it fails. */
	if (IS_ENABLED(CONFIG_PROVE_LOCKING)) {
		spin_lock_irqsave(&queue->lock, *flags);
		spin_unlock_irqrestore(&queue->lock, *flags);
	}
	if (unlikely(!spin_trylock_irqsave(&queue->lock, *flags)))
		return false;
	if (unlikely(READ_ONCE(queue->posts)))
		kwq_take_posts_locked(queue);
	return true;
}

/**
 * kwq_lock() - take the lock of a driver's queue, and add what is posted
 * @queue: the queue
 * @flags: as for spin_lock_irqsave()
 *
 * Nobody posts keys, so operations on keys take the lock itself. Calls that only read a number do
 * so, too, because they may come before an NMI's post as well as after it.
 */
static __always_inline void kwq_lock(struct kwq_queue *queue, unsigned long *flags)
	__acquires(&queue->lock)
{
	if (unlikely(!kwq_try_lock(queue, flags)))
		*flags = kwq_lock_contended(queue);
}

/* clock.c */
clockid_t kwq_timer_clockid(const struct kwq_queue *queue);
ktime_t kwq_now_locked(const struct kwq_queue *queue);
ktime_t kwq_stamp_locked(const struct kwq_queue *queue);
bool kwq_is_past_locked(const struct kwq_queue *queue, ktime_t deadline);
void kwq_sleep_until(const struct kwq_queue *queue, ktime_t deadline);

/* unlock.c */
void kwq_unlock(struct kwq_queue *queue, unsigned long flags)
	__releases(&queue->lock);
void kwq_unlock_got(struct kwq_queue *queue, unsigned long flags)
	__releases(&queue->lock);
void kwq_wake_drainers_locked(struct kwq_queue *queue);
void kwq_wake_all_locked(struct kwq_queue *queue);
void kwq_tell_pollers_locked(struct kwq_queue *queue, __poll_t events);
void kwq_pass_on_locked(struct kwq_queue *queue);
void kwq_wake_again_locked(struct kwq_queue *queue);

/* timer.c */
ktime_t kwq_next_time_locked(const struct kwq_queue *queue);
void kwq_arm_timer_locked(struct kwq_queue *queue);
void kwq_call_work_item(struct kwq_queue *queue);
void kwq_wake_again(struct kwq_queue *queue);
void kwq_leave_timer(struct kwq_queue *queue);
int kwq_timers_begin(void);
void kwq_rest_if_due(ktime_t *begun);
void kwq_timers_end(void);

/**
 * kwq_has_pollers_locked() - is a poller listed
 * @queue: the queue; @queue->lock held
 *
 * Return: true if so.
 */
static inline bool kwq_has_pollers_locked(struct kwq_queue *queue)
{
	if (!KWQ_MAY_HAVE_POLLERS || kwq_is_small(queue))
		return false;
	/* Needs no barrier: see kwq_unlock(). */
	return waitqueue_active(&kwq_queue_bulk_of(queue)->pollers);
}

/**
 * kwq_look_again_locked() - let the next unlock look for waiters and for the next time
 * @queue: the queue; @queue->lock held
 *
 * For changes that the core does not see. They use the core's flag, so that each unlock
 * tests only one.
 */
static inline void kwq_look_again_locked(struct kwq_queue *queue)
{
	queue->core.changed = true;
}

/* expire.c */
bool kwq_expire_due_locked(struct kwq_queue *queue);
bool kwq_expire_some_locked(struct kwq_queue *queue, ktime_t now, bool in_timer);
ktime_t kwq_begin_advance_by(struct kwq_queue *queue, u64 ns);
bool kwq_advance_some(struct kwq_queue *queue, ktime_t now);

/**
 * kwq_set_lease_end_locked() - set when to call end_leases() of @key_ops next
 * @queue: the queue; not small; @queue->lock held
 * @when: the time; KTIME_MAX for never
 */
static inline void kwq_set_lease_end_locked(struct kwq_queue *queue, ktime_t when)
{
	kwq_queue_bulk_of(queue)->lease_end = when;
	kwq_look_again_locked(queue);
}

/*
 * A flag of struct kwq_add_options for kwq_add_locked(): puts the item back as it was saved (U8).
 * No caller from outside may pass it.
 */
#define KWQ_ADD_RESTORED	BIT(31)

/* add.c */
int kwq_check_asked(struct kwq_add_options *options);
int kwq_add_locked(struct kwq_queue *queue, struct kwq_item *item,
		   const struct kwq_add_options *options, ktime_t now);

/**
 * kwq_check_add() - check the options of an add
 * @options: the options; a valid priority is made safe as an index under speculation
 *
 * Return: 0; -EINVAL.
 */
static inline int kwq_check_add(struct kwq_add_options *options)
{
	if (likely(!(options->flags | options->priority | options->time | options->at_most)))
		return 0;
	return kwq_check_asked(options);
}

/* get.c */
void kwq_take_locked(struct kwq_queue *queue, struct kwq_item *item,
		     struct kwq_holder *holder, ktime_t now);
struct kwq_item *kwq_get_locked(struct kwq_queue *queue,
				struct kwq_holder *holder, ktime_t now);
void kwq_unget_locked(struct kwq_queue *queue, struct kwq_item *item);
void kwq_abandon_locked(struct kwq_queue *queue, struct kwq_item *item,
			ktime_t now);
int kwq_done_locked(struct kwq_queue *queue, struct kwq_holder *holder,
		    struct kwq_item *item, u32 flags, ktime_t now);
int kwq_settle_locked(struct kwq_queue *queue, struct kwq_holder *holder,
		      struct kwq_item *item, u32 flags, ktime_t now);
int kwq_get_item_locked(struct kwq_queue *queue, struct kwq_item *item,
			struct kwq_holder *holder, ktime_t now);
void kwq_give_up_locked(struct kwq_queue *queue, struct kwq_item *item,
			ktime_t now);
int kwq_why_not_wait_locked(const struct kwq_queue *queue, const struct kwq_patience *patience);
bool kwq_get_would_wait_locked(struct kwq_queue *queue, struct kwq_holder *holder);
int kwq_wait_locked(struct kwq_queue *queue, struct kwq_holder *holder,
		    const struct kwq_patience *patience, unsigned long *flags);

/* pause.c */
void kwq_end_timed_pause_locked(struct kwq_queue *queue);
bool kwq_end_pause_if_over_locked(struct kwq_queue *queue);
u64 kwq_pause_left_locked(const struct kwq_queue *queue, ktime_t now);

/* cancel.c */
void kwq_join_drainers_locked(struct kwq_queue *queue, struct kwq_drainer *drainer,
			      unsigned int state);
void kwq_leave_drainers_locked(struct kwq_queue *queue, struct kwq_drainer *drainer);
void kwq_sleep_as_drainer_locked(struct kwq_queue *queue, ktime_t deadline, unsigned int state,
				 unsigned long *flags);

/* Waits until something has ended that drainers wait for. */
static inline void kwq_wait_for_an_end_locked(struct kwq_queue *queue, unsigned long *flags)
{
	kwq_sleep_as_drainer_locked(queue, KTIME_MAX, TASK_UNINTERRUPTIBLE, flags);
}

void kwq_drop_references(struct kwq_queue *queue);

/* shut_down.c */
u16 kwq_begin_shut_down(struct kwq_queue *queue, bool drain);
bool kwq_take_out_next(struct kwq_queue *queue, struct kwq_item *(*take)(struct kwq_queue *queue));
void kwq_drop_all(struct kwq_queue *queue);
int kwq_wait_drained(struct kwq_queue *queue, u16 shut_downs, ktime_t deadline);

#if IS_ENABLED(CONFIG_KUNIT)
int kwq_try_coalesce(struct kwq_queue *queue, struct kwq_item *item);
bool kwq_take_turn(struct kwq_queue *queue, bool was_behind);
#endif

#endif /* KWQ_QUEUE_H */

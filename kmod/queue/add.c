// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adding items.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/export.h>
#include <linux/hash.h>
#include <linux/nospec.h>
#include <linux/preempt.h>
#include <linux/random.h>
#include <kunit/visibility.h>
#include "queue.h"
#include "refs.h"
#include "trace.h"

#define KWQ_ADD_TIMED		(KWQ_ADD_AFTER | KWQ_ADD_AT | KWQ_ADD_RATE_LIMITED)
#define KWQ_ADD_POLICIES	(KWQ_ADD_REPLACE | KWQ_ADD_KEEP | KWQ_ADD_LATER)
#define KWQ_ADD_FLAGS		(KWQ_ADD_PRIORITY | KWQ_ADD_TIMED | \
				 KWQ_ADD_POLICIES | KWQ_ADD_END_WAIT | \
				 KWQ_ADD_KICK | KWQ_ADD_AT_MOST)

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
 * Drivers and programs get the same checks. But they say different things of the item's group, so
 * the caller checks KWQ_ADD_GROUP, and sets the flag afterwards.
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
	/* D9: the bound is for a wait that each add postpones. */
	if (!(options->flags & KWQ_ADD_AT_MOST) != !options->at_most)
		return -EINVAL;
	if (options->at_most && (timed != KWQ_ADD_AFTER || policies != KWQ_ADD_REPLACE))
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

/* K4: a manual clock has the same numbers in each run. They spread evenly. */
static u32 random_locked(struct kwq_queue *queue)
{
	struct kwq_rate_limiter *limiter = queue->core.limiter;

	if (!limiter || !limiter->jitters)
		return 0;
	if (queue->clock == KWQ_CLOCK_MANUAL)
		return limiter->manual_random += GOLDEN_RATIO_32;
	return get_random_u32();
}

/* D1: a delay of 0 is an immediate add, unless a policy has to merge it with a waiting time. */
static bool is_timed(const struct kwq_add_options *options)
{
	if (options->flags & KWQ_ADD_AFTER)
		return options->time || policy_of(options->flags);
	return options->flags & KWQ_ADD_AT;
}

/* The end of each add. A coalesced add finds the item in use, and takes no reference. */
static __always_inline void note_added(struct kwq_queue *queue, struct kwq_item *item,
				       bool was_idle, int ret)
{
	kwq_note_use_locked(queue, item, was_idle);
	/* Each of the two tracepoints ignores the other's results. */
	trace_kwq_coalesce(queue, item, ret);
	trace_kwq_add(queue, item, ret);
	if (ret == KWQ_ADDED)
		trace_kwq_ready(queue, item, 0, 0);
}

/* An add without options. */
static inline int add_now(struct kwq_queue *queue, struct kwq_item *item, ktime_t now)
{
	bool was_idle;
	int ret;

	if (likely(kwq_core_adds_plainly(&queue->core, item))) {
		ret = kwq_core_add(&queue->core, item, KWQ_PRIORITY_NONE, false, now);
		note_added(queue, item, true, KWQ_ADDED);
		return ret;
	}
	was_idle = kwq_item_is_idle(item);
	ret = kwq_core_add(&queue->core, item, KWQ_PRIORITY_NONE, false, now);
	note_added(queue, item, was_idle, ret);
	return ret;
}

/* U8: an item is put back as it was saved. */
static int restore(struct kwq_queue *queue, struct kwq_item *item,
		   const struct kwq_restored *restored, ktime_t now)
{
	int ret = kwq_core_restore(&queue->core, item, restored, now);

	if (ret != KWQ_RESTORED)
		return ret;
	if (restored->state & KWQ_IS_READY) {
		trace_kwq_add(queue, item, KWQ_ADDED);
		trace_kwq_ready(queue, item, 0, 0);
	}
	if (restored->state & KWQ_IS_WAITING)
		trace_kwq_add(queue, item, KWQ_WAITING);
	if (restored->state & KWQ_IS_DEAD)
		trace_kwq_requeue(queue, item, KWQ_DEAD);
	return ret;
}

/* An add with options. */
static noinline int add_as_asked(struct kwq_queue *queue, struct kwq_item *item,
				 const struct kwq_add_options *options, ktime_t now)
{
	int priority = options->flags & KWQ_ADD_PRIORITY ? options->priority :
							   KWQ_PRIORITY_NONE;
	enum kwq_wait_policy policy = policy_of(options->flags);
	u32 requeues;
	bool was_idle = kwq_item_is_idle(item);
	ktime_t when;
	int ret;

	if (options->flags & KWQ_ADD_KICK && !kwq_item_is_dead(item))
		return -ENOENT;
	/* Delays and limiters need the time, even in a queue without durations. */
	if (now == KWQ_NO_TIME)
		now = kwq_now_locked(queue);
	/* Before the add, so that the item becomes ready in its new group. */
	if (options->flags & KWQ_ADD_GROUP && !kwq_core_refuses(&queue->core, item))
		kwq_core_set_group(&queue->core, item, options->group);
	if (options->flags & KWQ_ADD_RESTORED) {
		ret = restore(queue, item, options->restored, now);
	} else if (options->flags & KWQ_ADD_RATE_LIMITED) {
		requeues = kwq_core_num_requeues(&queue->core, item, now);
		ret = kwq_core_add_rate_limited(&queue->core, item, priority,
						policy, now, random_locked(queue));
		if (ret == KWQ_DEAD || item->requeues != requeues)
			trace_kwq_requeue(queue, item, ret);
	} else if (is_timed(options)) {
		when = options->flags & KWQ_ADD_AFTER ? kwq_later(now, options->time) :
							kwq_saturated(options->time);
		if (options->at_most)
			when = min(when, kwq_core_latest(&queue->core, item, options->at_most,
							 now));
		ret = kwq_core_add_at(&queue->core, item, priority, when, policy,
				      now);
	} else {
		ret = kwq_core_add(&queue->core, item, priority,
				   options->flags & KWQ_ADD_END_WAIT, now);
		/* M1: client-go counts an AddAfter of 0 as a retry, too. */
		if (ret >= 0 && options->flags & KWQ_ADD_AFTER && !kwq_is_small(queue))
			kwq_large_of(queue)->of_core.retries++;
	}

	note_added(queue, item, was_idle, ret);
	return ret;
}

/**
 * kwq_add_locked() - add an item now, after a delay or at a time
 * @queue: the queue; @queue->lock held
 * @item: the item
 * @options: the options, checked by kwq_check_add(); KWQ_ADD_GROUP only if the queue has groups
 * @now: kwq_stamp_locked()
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
 * kwq_try_coalesce() - coalesce an add without the lock if the item is dirty (Q2)
 * @queue: the queue
 * @item: the item; its memory must stay valid
 *
 * For adds without options. Such an add changes nothing, and is not counted. It needs no lock,
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
VISIBLE_IF_KUNIT int kwq_try_coalesce(struct kwq_queue *queue, struct kwq_item *item)
{
	int ret;
	u8 state;

	smp_mb(); /* pairs with smp_mb() in kwq_unlock_got() */
	state = READ_ONCE(item->state);
	if (!(state & KWQ_ITEM_DIRTY))
		return 0;
	smp_rmb(); /* reads the state before shut_down */
	if (unlikely(READ_ONCE(queue->core.shut_down)))
		return 0;
	ret = kwq_is_dirty_again(state) ? KWQ_DIRTY : KWQ_COALESCED;
	trace_kwq_coalesce(queue, item, ret);
	return ret;
}

/* Not inlined, not even into kwq_add_after(), which seldom calls it. */
noinline int kwq_add_with(struct kwq_queue *queue, struct kwq_item *item,
			  const struct kwq_add_options *options)
{
	struct kwq_add_options checked = *options;
	u32 moves = checked.flags & KWQ_ADD_GROUP;
	unsigned long flags;
	int ret;

	checked.flags ^= moves;
	ret = kwq_check_add(&checked);
	if (ret)
		return ret;
	if (checked.priority && kwq_is_small(queue))
		return -EINVAL;
	if (unlikely(moves || checked.group) && !(moves && kwq_core_is_grouped(&queue->core)))
		return -EINVAL;
	checked.flags ^= moves;
	kwq_lock(queue, &flags);
	kwq_claim_locked(queue, item, KWQ_POST_HELD);
	ret = kwq_add_locked(queue, item, &checked, kwq_stamp_locked(queue));
	kwq_end_hold_locked(queue, item);
	kwq_unlock(queue, flags);
	return ret;
}
EXPORT_SYMBOL_GPL(kwq_add_with);

int kwq_add_unless_pending(struct kwq_queue *queue, struct kwq_item *item, u64 delay)
{
	const struct kwq_add_options options = {
		.flags = delay ? KWQ_ADD_AFTER : 0,
		.time = delay,
	};
	unsigned long flags;
	int ret;

	ret = kwq_try_coalesce(queue, item);
	if (ret)
		return ret;
	kwq_lock(queue, &flags);
	kwq_claim_locked(queue, item, KWQ_POST_HELD);
	ret = kwq_core_coalesce(&queue->core, item);
	if (ret)
		trace_kwq_coalesce(queue, item, ret);
	else
		ret = kwq_add_locked(queue, item, &options, kwq_stamp_locked(queue));
	kwq_end_hold_locked(queue, item);
	kwq_unlock(queue, flags);
	return ret;
}
EXPORT_SYMBOL_GPL(kwq_add_unless_pending);

int kwq_add_debounced(struct kwq_queue *queue, struct kwq_item *item, u64 after, u64 at_most)
{
	return kwq_add_with(queue, item, &(struct kwq_add_options){
		.flags = KWQ_ADD_AFTER | KWQ_ADD_REPLACE | KWQ_ADD_AT_MOST,
		.time = after,
		.at_most = at_most,
	});
}
EXPORT_SYMBOL_GPL(kwq_add_debounced);

int kwq_expedite(struct kwq_queue *queue, struct kwq_item *item)
{
	unsigned long flags;
	int ret;

	kwq_lock(queue, &flags);
	ret = kwq_core_expedite(&queue->core, item, kwq_now_locked(queue));
	/* A waiting item is in use already. */
	note_added(queue, item, false, ret);
	kwq_unlock(queue, flags);
	return ret;
}
EXPORT_SYMBOL_GPL(kwq_expedite);

/* Not inlined, so that the fast path of kwq_add() saves no registers for it. */
static noinline __flatten int lock_and_add(struct kwq_queue *queue, struct kwq_item *item)
{
	unsigned long flags;
	int ret;

	if (unlikely(!kwq_try_lock(queue, &flags))) {
		if (kwq_post(queue, item))
			return KWQ_ADDED;
		flags = kwq_lock_contended(queue);
	}
	kwq_claim_locked(queue, item, KWQ_POST_ADDING);
	ret = add_now(queue, item, kwq_stamp_locked(queue));
	/* An item that refuses adds was not claimed, so the claim may be that of another adder. */
	if (likely(ret >= 0))
		kwq_end_claim(item);
	kwq_unlock(queue, flags);
	return ret;
}

int kwq_add(struct kwq_queue *queue, struct kwq_item *item)
{
	int ret = kwq_try_coalesce(queue, item);

	if (ret)
		return ret;
	return unlikely(in_nmi()) ? kwq_post_from_nmi(queue, item) : lock_and_add(queue, item);
}
EXPORT_SYMBOL_GPL(kwq_add);

__flatten int kwq_add_after(struct kwq_queue *queue, struct kwq_item *item, u64 delay)
{
	static const struct kwq_add_options at_once = { .flags = KWQ_ADD_AFTER };
	unsigned long flags;
	bool was_idle;
	ktime_t now;
	int ret;

	if (!delay)
		return kwq_add_with(queue, item, &at_once);
	kwq_lock(queue, &flags);
	kwq_claim_locked(queue, item, KWQ_POST_HELD);
	was_idle = kwq_item_is_idle(item);
	now = kwq_now_locked(queue);
	ret = kwq_core_add_at(&queue->core, item, KWQ_PRIORITY_NONE, kwq_later(now, delay),
			      KWQ_WAIT_EARLIER, now);
	note_added(queue, item, was_idle, ret);
	kwq_end_hold_locked(queue, item);
	kwq_unlock(queue, flags);
	return ret;
}
EXPORT_SYMBOL_GPL(kwq_add_after);

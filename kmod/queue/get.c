// SPDX-License-Identifier: GPL-2.0-only
/*
 * Getting items, finishing them, and taking them out; their requeues.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/sched/signal.h>
#include "queue.h"
#include "refs.h"
#include "trace.h"

/* Follows up on a hand-out by the core. */
static inline void took_locked(struct kwq_queue *queue, struct kwq_item *item,
			       struct kwq_holder *holder)
{
	trace_kwq_get(queue, item, item->abandoned);
	/* Q8: tasks that wait with this holder must look again, see kwq_get_would_wait_locked(). */
	if (unlikely(queue->core.shut_down) && holder->nr_held == 1) {
		wake_up_all(&queue->getters);
		kwq_tell_pollers_locked(queue, 0);
	}
}

/**
 * kwq_take_locked() - hand out a ready item
 * @queue: the queue; @queue->lock held
 * @item: the item
 * @holder: its new holder
 * @now: current time
 */
void kwq_take_locked(struct kwq_queue *queue, struct kwq_item *item,
		     struct kwq_holder *holder, ktime_t now)
{
	lockdep_assert_held(&queue->lock);
	kwq_core_take(&queue->core, item, holder, now);
	took_locked(queue, item, holder);
}

/**
 * kwq_get_item_locked() - hand out this item, if it is ready or waiting (K9)
 * @queue: the queue; @queue->lock held
 * @item: the item
 * @holder: its new holder
 * @now: current time
 *
 * Return: as kwq_core_get_item().
 */
int kwq_get_item_locked(struct kwq_queue *queue, struct kwq_item *item,
			struct kwq_holder *holder, ktime_t now)
{
	int err;

	lockdep_assert_held(&queue->lock);
	err = kwq_core_get_item(&queue->core, item, holder, now);
	if (!err)
		took_locked(queue, item, holder);
	return err;
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
	struct kwq_item *item = kwq_core_peek(&queue->core, now);

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
 * kwq_abandon_locked() - take a lost item back from its holder (O1, L12)
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
 * @flags: 0 or KWQ_DONE_FORGET
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

/* Finishes an item, and makes it dead unless an add or a time that came meanwhile saves it. */
static int bury_locked(struct kwq_queue *queue, struct kwq_holder *holder,
		       struct kwq_item *item, u32 flags, ktime_t now)
{
	int ret = kwq_core_check_holder(holder, item);

	if (ret)
		return ret;
	kwq_give_up_locked(queue, item, now);
	ret = kwq_core_done(&queue->core, holder, item, now);
	if (flags & KWQ_DONE_FORGET)
		kwq_core_forget(&queue->core, item, now);
	return kwq_item_is_dead(item) ? KWQ_BURIED : ret;
}

/**
 * kwq_settle_locked() - finish an item in another way than by a plain done
 * @queue: the queue; @queue->lock held
 * @holder: the caller
 * @item: the item
 * @flags: KWQ_DONE_DEAD, perhaps with KWQ_DONE_FORGET; or KWQ_DONE_RETURN
 * @now: current time
 *
 * Return: KWQ_BURIED if it is dead; KWQ_RETURNED, perhaps with KWQ_STILL_WAITING, if it was given
 * back; else as kwq_core_done(), whose errors it has, too.
 */
noinline int kwq_settle_locked(struct kwq_queue *queue, struct kwq_holder *holder,
			       struct kwq_item *item, u32 flags, ktime_t now)
{
	int ret;

	lockdep_assert_held(&queue->lock);
	if (flags & KWQ_DONE_RETURN)
		ret = kwq_core_give_back(&queue->core, holder, item, now);
	else
		ret = bury_locked(queue, holder, item, flags, now);
	if (ret < 0)
		return ret;
	trace_kwq_done(queue, item, ret);
	if (ret & (KWQ_REQUEUED | KWQ_RETURNED))
		trace_kwq_ready(queue, item, 0, 0);
	return ret;
}

/**
 * kwq_give_up_locked() - make a processing item dead (L11)
 * @queue: the queue; @queue->lock held
 * @item: the item
 * @now: current time
 *
 * Its death has an event, unless an add that found it due to die had one.
 */
void kwq_give_up_locked(struct kwq_queue *queue, struct kwq_item *item,
			ktime_t now)
{
	bool was_due = item->state & KWQ_ITEM_DEAD;

	lockdep_assert_held(&queue->lock);
	if (kwq_core_give_up(&queue->core, item, now) == KWQ_DEAD && !was_due)
		trace_kwq_requeue(queue, item, KWQ_DEAD);
}

/**
 * kwq_why_not_wait_locked() - may a call wait any longer
 * @queue: the queue; @queue->lock held
 * @patience: how long it may wait
 *
 * Return: 0 if it may; -EAGAIN, -ETIMEDOUT or -ERESTARTSYS.
 */
int kwq_why_not_wait_locked(const struct kwq_queue *queue, const struct kwq_patience *patience)
{
	lockdep_assert_held(&queue->lock);
	if (patience->nonblock)
		return -EAGAIN;
	if (kwq_is_past_locked(queue, patience->deadline))
		return -ETIMEDOUT;
	return signal_pending(current) ? -ERESTARTSYS : 0;
}

/**
 * kwq_get_would_wait_locked() - would a get have to wait
 * @queue: the queue; @queue->lock held
 * @holder: the holder that wants to get
 *
 * After a shut down, a holder without items waits while others process items. These become
 * ready again if their holders abandon them, or if they were added meanwhile. A holder with
 * items does not wait, because it might wait for itself (Q5, Q8). Ready items whose group is at
 * its limit are as good as those that others process (Q16). Everybody waits while items are
 * ready but the queue is paused (Q14), or its term is over (Q20).
 *
 * Return: false if an item can be handed out, or if the get has to return -ESHUTDOWN.
 */
bool kwq_get_would_wait_locked(struct kwq_queue *queue, struct kwq_holder *holder)
{
	struct kwq_core *core = &queue->core;

	lockdep_assert_held(&queue->lock);
	if (core->nr_ready && kwq_core_is_paused(core))
		return true;
	if (kwq_core_can_get(core))
		return false;
	if (!core->shut_down)
		return true;
	return core->nr_processing && !holder->nr_held;
}

static void count_getter(struct kwq_queue *queue, int nr)
{
	if (!kwq_is_small(queue))
		kwq_queue_bulk_of(queue)->nr_getters += nr;
}

/**
 * kwq_wait_locked() - wait for a ready item
 * @queue: the queue; @queue->lock held, released while sleeping
 * @holder: the holder that wants to get
 * @patience: how long to wait
 * @flags: as spin_lock_irqsave() stored them
 *
 * Call it in a loop while no item is ready. A return value of 0 does not promise an item.
 *
 * Context: process; sleeps without the lock.
 * Return: 0; -ESHUTDOWN, -EAGAIN, -ETIMEDOUT or -ERESTARTSYS.
 */
noinline int kwq_wait_locked(struct kwq_queue *queue, struct kwq_holder *holder,
			     const struct kwq_patience *patience, unsigned long *flags)
	__must_hold(&queue->lock)
{
	DEFINE_WAIT(wait);

	lockdep_assert_held(&queue->lock);
	if (unlikely(queue->paused_until) && kwq_end_pause_if_over_locked(queue))
		return 0;
	if (!kwq_get_would_wait_locked(queue, holder))
		return -ESHUTDOWN;
	if (patience->nonblock)
		return -EAGAIN;
	/* There may be a great many due items. */
	if (fatal_signal_pending(current))
		return -ERESTARTSYS;
	if (kwq_is_past_locked(queue, patience->deadline)) {
		if (!kwq_expire_due_locked(queue))
			return -ETIMEDOUT;
		kwq_unlock(queue, *flags);
		cond_resched();
		kwq_lock(queue, flags);
		return 0;
	}
	if (signal_pending(current))
		return -ERESTARTSYS;

	prepare_to_wait_exclusive(&queue->getters, &wait, TASK_INTERRUPTIBLE);
	count_getter(queue, 1);
	kwq_unlock(queue, *flags);
	kwq_sleep_until(queue, patience->deadline);
	kwq_lock(queue, flags);
	count_getter(queue, -1);
	finish_wait(&queue->getters, &wait);
	return 0;
}

/* Slow path of get: no item is ready. */
static noinline struct kwq_item *wait_and_unlock(struct kwq_queue *queue, ktime_t deadline,
						 bool nonblock, unsigned long flags)
	__releases(&queue->lock)
{
	const struct kwq_patience patience = { .deadline = deadline, .nonblock = nonblock };
	struct kwq_item *item;
	int err;

	do {
		err = kwq_wait_locked(queue, &queue->holder, &patience, &flags);
		item = err ? ERR_PTR(err) :
			     kwq_get_locked(queue, &queue->holder, kwq_stamp_locked(queue));
	} while (!item);
	kwq_unlock_got(queue, flags);
	return item;
}

static inline struct kwq_item *get_and_unlock(struct kwq_queue *queue, ktime_t deadline,
					      bool nonblock, ktime_t now, unsigned long flags)
	__releases(&queue->lock)
{
	struct kwq_item *item = kwq_get_locked(queue, &queue->holder, now);

	if (unlikely(!item))
		return wait_and_unlock(queue, deadline, nonblock, flags);
	kwq_unlock_got(queue, flags);
	return item;
}

__flatten struct kwq_item *kwq_get(struct kwq_queue *queue, ktime_t deadline)
{
	unsigned long flags;

	kwq_lock(queue, &flags);
	return get_and_unlock(queue, deadline, false, kwq_stamp_locked(queue), flags);
}
EXPORT_SYMBOL_GPL(kwq_get);

struct kwq_item *kwq_try_get(struct kwq_queue *queue)
{
	unsigned long flags;

	kwq_lock(queue, &flags);
	return get_and_unlock(queue, 0, true, kwq_stamp_locked(queue), flags);
}
EXPORT_SYMBOL_GPL(kwq_try_get);

int kwq_try_get_item(struct kwq_queue *queue, struct kwq_item *item)
{
	unsigned long flags;
	int err;

	kwq_lock(queue, &flags);
	err = kwq_get_item_locked(queue, item, &queue->holder, kwq_stamp_locked(queue));
	kwq_unlock_got(queue, flags);
	return err;
}
EXPORT_SYMBOL_GPL(kwq_try_get_item);

__flatten int kwq_done(struct kwq_queue *queue, struct kwq_item *item)
{
	const struct kwq_ref_ops *refs = NULL;
	unsigned long flags;
	int ret;

	kwq_lock(queue, &flags);
	ret = kwq_done_locked(queue, &queue->holder, item, 0, kwq_stamp_locked(queue));
	if (ret >= 0)
		refs = kwq_owed_put_locked(queue, item);
	kwq_unlock(queue, flags);
	kwq_put(refs, item);
	return ret;
}
EXPORT_SYMBOL_GPL(kwq_done);

/* Finishes an item that the queue's own holder has, otherwise than by a plain done. */
static int settle(struct kwq_queue *queue, struct kwq_item *item, u32 flags)
{
	const struct kwq_ref_ops *refs = NULL;
	unsigned long irq_flags;
	int ret;

	kwq_lock(queue, &irq_flags);
	/* A returned item is idle for a moment. */
	kwq_claim_locked(queue, item, KWQ_POST_HELD);
	ret = kwq_settle_locked(queue, &queue->holder, item, flags, kwq_stamp_locked(queue));
	kwq_end_hold_locked(queue, item);
	if (ret >= 0)
		refs = kwq_owed_put_locked(queue, item);
	kwq_unlock(queue, irq_flags);
	kwq_put(refs, item);
	return ret;
}

int kwq_bury(struct kwq_queue *queue, struct kwq_item *item)
{
	return settle(queue, item, KWQ_DONE_DEAD);
}
EXPORT_SYMBOL_GPL(kwq_bury);

int kwq_give_back(struct kwq_queue *queue, struct kwq_item *item)
{
	return settle(queue, item, KWQ_DONE_RETURN);
}
EXPORT_SYMBOL_GPL(kwq_give_back);

/* K5: the caller may sleep for long in the get, so the put comes before it. */
static noinline struct kwq_item *put_and_get(struct kwq_queue *queue,
					     const struct kwq_ref_ops *refs,
					     struct kwq_item *done, ktime_t deadline,
					     unsigned long flags)
	__releases(&queue->lock)
{
	kwq_unlock(queue, flags);
	kwq_put(refs, done);
	return kwq_get(queue, deadline);
}

__flatten struct kwq_item *kwq_done_and_get(struct kwq_queue *queue,
					    struct kwq_item *done, ktime_t deadline)
{
	const struct kwq_ref_ops *refs;
	unsigned long flags;
	ktime_t now;
	int ret;

	kwq_lock(queue, &flags);
	now = kwq_stamp_locked(queue);
	ret = kwq_done_locked(queue, &queue->holder, done, 0, now);
	if (ret < 0) {
		kwq_unlock(queue, flags);
		return ERR_PTR(ret);
	}
	refs = kwq_owed_put_locked(queue, done);
	if (unlikely(refs))
		return put_and_get(queue, refs, done, deadline, flags);
	return get_and_unlock(queue, deadline, false, now, flags);
}
EXPORT_SYMBOL_GPL(kwq_done_and_get);

int kwq_remove(struct kwq_queue *queue, struct kwq_item *item)
{
	const struct kwq_ref_ops *refs = NULL;
	unsigned long flags;
	int ret;

	kwq_lock(queue, &flags);
	ret = kwq_core_remove(&queue->core, item);
	trace_kwq_remove(queue, item, ret);
	if (ret >= 0)
		refs = kwq_owed_put_locked(queue, item);
	kwq_unlock_got(queue, flags);
	kwq_put(refs, item);
	return ret;
}
EXPORT_SYMBOL_GPL(kwq_remove);

u32 kwq_forget(struct kwq_queue *queue, struct kwq_item *item)
{
	unsigned long flags;
	u32 requeues;

	kwq_lock(queue, &flags);
	requeues = kwq_core_forget(&queue->core, item, kwq_now_locked(queue));
	kwq_unlock(queue, flags);
	return requeues;
}
EXPORT_SYMBOL_GPL(kwq_forget);

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

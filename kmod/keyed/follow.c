// SPDX-License-Identifier: GPL-2.0-only
/*
 * The handle that follows the changes of a queue, and the calls that wait until it has kept them
 * (N8). changes.c says what it follows.
 */
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/wait.h>
#include "hold.h"

static bool has_news(const struct kwq_changes *changes, u64 of_queue)
{
	return !list_empty(&changes->unread) || changes->of_queue != of_queue;
}

/**
 * kwq_changes_poll_locked() - would CHANGES return at once
 * @handle: the handle that asks; its queue's lock held; the caller is on the list of pollers
 *
 * Return: true if so; false if not, and then the pollers are told later, or if the handle does not
 * follow.
 */
bool kwq_changes_poll_locked(struct kwq_handle *handle)
{
	struct kwq_changes *changes = handle->keyed->changes;

	if (!changes || changes->follower != handle)
		return false;
	if (has_news(changes, changes->of_queue_told))
		return true;
	changes->is_polled = true;
	return false;
}

/**
 * kwq_follow() - let a handle follow the changes of its queue
 * @handle: the handle
 * @number: out: number of the last change
 *
 * Return: 0, -EBUSY or -EOPNOTSUPP.
 */
int kwq_follow(struct kwq_handle *handle, u64 *number)
{
	struct kwq_changes *changes = handle->keyed->changes;
	unsigned long flags;
	int err = 0;

	if (!changes)
		return -EOPNOTSUPP;
	spin_lock_irqsave(&handle->keyed->queue.lock, flags);
	if (changes->follower || changes->nr_unread) {
		err = -EBUSY;
	} else {
		WRITE_ONCE(changes->follower, handle);
		changes->last_told = changes->last;
		changes->read_to = changes->last;
		changes->of_queue_told = 0;
		*number = changes->last;
		/* It may be polled already, and there may be something to read. */
		changes->is_polled = true;
		if (has_news(changes, 0))
			kwq_tell_follower(handle->keyed);
	}
	kwq_keyed_unlock(handle->keyed, flags);
	return err;
}

/* Takes an item out of its list, and ends it if it is gone. */
static void forget_change(struct kwq_keyed *keyed, struct kwq_change *change)
{
	struct kwq_keyed_item *ki = kwq_item_of_change(keyed, change);

	list_del_init(&change->link);
	keyed->changes->nr_unread--;
	/* Needs no time: an item with requeues to remember is remembered already. */
	if (kwq_item_is_idle(&ki->item))
		kwq_keyed_settle_slow(keyed, ki, 0);
}

/* Lets items go that were read. Returns true if there may be more. */
static bool forget_read_locked(struct kwq_keyed *keyed, u64 after)
{
	struct kwq_changes *changes = keyed->changes;
	struct kwq_change *change;
	int n;

	for (n = 0; n < KWQ_ITEMS_PER_HOLD; n++) {
		change = list_first_entry_or_null(&changes->told, struct kwq_change, link);
		if (!change || change->number > after)
			return false;
		forget_change(keyed, change);
	}
	return true;
}

/**
 * kwq_stop_following() - a handle is closed, which may follow
 * @handle: the handle; its queue has changes; no call uses it any more
 *
 * Until this returns, nobody else can follow.
 *
 * Context: process; may sleep.
 */
void kwq_stop_following(struct kwq_handle *handle)
{
	struct kwq_keyed *keyed = handle->keyed;
	struct kwq_changes *changes = keyed->changes;
	unsigned long flags;
	bool more;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	if (changes->follower != handle) {
		spin_unlock_irqrestore(&keyed->queue.lock, flags);
		return;
	}
	/* Changes join no list from now on. */
	WRITE_ONCE(changes->follower, NULL);
	changes->is_polled = false;
	changes->wants_getters = false;
	list_splice_tail_init(&changes->unread, &changes->told);
	for (;;) {
		more = forget_read_locked(keyed, U64_MAX);
		kwq_keyed_unlock(keyed, flags);
		if (!more)
			return;
		cond_resched();
		spin_lock_irqsave(&keyed->queue.lock, flags);
	}
}

static int why_not_sync(const struct kwq_queue *queue, ktime_t deadline, unsigned int state)
{
	if (kwq_is_past_locked(queue, deadline))
		return -ETIMEDOUT;
	return signal_pending_state(state, current) ? -ERESTARTSYS : 0;
}

/**
 * kwq_keyed_sync() - wait until all changes so far are kept
 * @keyed: the queue, with changes
 * @deadline: when to stop waiting, on the queue's clock; KTIME_MAX for never
 * @state: how the task sleeps: TASK_INTERRUPTIBLE, or TASK_KILLABLE with TASK_FREEZABLE
 *
 * Context: process; sleeps.
 * Return: 0, -ETIMEDOUT or -ERESTARTSYS.
 */
noinline int kwq_keyed_sync(struct kwq_keyed *keyed, ktime_t deadline, unsigned int state)
{
	struct kwq_changes *changes = keyed->changes;
	struct kwq_queue *queue = &keyed->queue;
	unsigned long flags;
	DEFINE_WAIT(entry);
	int err = 0;
	u64 number;

	spin_lock_irqsave(&queue->lock, flags);
	number = changes->last;
	while (!err && changes->kept < number) {
		err = why_not_sync(queue, deadline, state);
		if (err)
			break;
		if (kwq_keyed_free_gone_locked(keyed, &flags))
			continue;
		/* A drainer as well, for the advances of a manual clock. */
		prepare_to_wait(&changes->syncers, &entry, state);
		kwq_sleep_as_drainer_locked(queue, deadline, state, &flags);
		finish_wait(&changes->syncers, &entry);
	}
	kwq_keyed_unlock(keyed, flags);
	return err;
}

/**
 * kwq_handle_sync() - wait until all changes so far are kept, as a queue with KWQ_CREATE_SYNC
 *	promises
 * @handle: the handle; its queue has changes. If it follows, it would wait for itself, and does not
 *
 * Context: process; sleeps until then, or until the caller is killed.
 */
noinline void kwq_handle_sync(struct kwq_handle *handle)
{
	/*
	 * Only calls on this handle could make the answer change. The wait may be long, and must
	 * not keep the machine from suspending.
	 */
	if (READ_ONCE(handle->keyed->changes->follower) != handle)
		kwq_keyed_sync(handle->keyed, KTIME_MAX, TASK_KILLABLE | TASK_FREEZABLE);
}

static int begin_reading_locked(struct kwq_handle *handle, u64 after)
{
	struct kwq_changes *changes = handle->keyed->changes;

	if (!changes || changes->follower != handle)
		return -EBADF;
	if (changes->is_reading)
		return -EBUSY;
	if (after < changes->read_to || after > changes->last_told)
		return -EINVAL;
	changes->is_reading = true;
	changes->read_to = after;
	return 0;
}

/**
 * kwq_begin_reading() - begin a call that reads changes
 * @handle: the handle
 * @after: the caller has read all changes up to this number
 * @kept: all changes up to this number are kept; at most @after
 * @wants_getters: from now on a getter that waits is a change of the queue
 *
 * If it succeeds, call kwq_end_reading() later.
 *
 * Context: process; may sleep.
 * Return: 0, -EBADF, -EBUSY or -EINVAL.
 */
int kwq_begin_reading(struct kwq_handle *handle, u64 after, u64 kept, bool wants_getters)
{
	struct kwq_keyed *keyed = handle->keyed;
	struct kwq_changes *changes = keyed->changes;
	unsigned long flags;
	bool more = true;
	int err;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	err = begin_reading_locked(handle, after);
	if (err) {
		spin_unlock_irqrestore(&keyed->queue.lock, flags);
		return err;
	}
	changes->wants_getters = wants_getters;
	if (kept > changes->kept) {
		changes->kept = kept;
		wake_up_all(&changes->syncers);
	}
	for (;;) {
		more = forget_read_locked(keyed, after);
		if (!more) {
			list_splice_init(&changes->told, &changes->unread);
			changes->last_told = after;
		}
		kwq_keyed_unlock(keyed, flags);
		if (!more)
			return 0;
		cond_resched();
		spin_lock_irqsave(&keyed->queue.lock, flags);
	}
}

/**
 * kwq_wait_for_changes() - wait until there is something to read
 * @handle: the handle, between kwq_begin_reading() and kwq_end_reading()
 * @of_queue: the last change of the queue itself that the caller knows
 * @patience: how long to wait
 *
 * Context: process; sleeps.
 * Return: 0, -EAGAIN, -ETIMEDOUT or -ERESTARTSYS.
 */
int kwq_wait_for_changes(struct kwq_handle *handle, u64 of_queue,
			 const struct kwq_patience *patience)
{
	struct kwq_keyed *keyed = handle->keyed;
	struct kwq_changes *changes = keyed->changes;
	struct kwq_queue *queue = &keyed->queue;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&queue->lock, flags);
	while (!has_news(changes, of_queue)) {
		/* An edge-triggered poller does not poll again before it waits. */
		changes->of_queue_told = of_queue;
		changes->is_polled = true;
		err = kwq_why_not_wait_locked(queue, patience);
		if (err)
			break;
		if (kwq_keyed_free_gone_locked(keyed, &flags))
			continue;
		changes->reader = current;
		kwq_sleep_as_drainer_locked(queue, patience->deadline, TASK_INTERRUPTIBLE, &flags);
		changes->reader = NULL;
	}
	kwq_keyed_unlock(keyed, flags);
	return err;
}

/**
 * kwq_end_reading() - end a call that reads changes
 * @handle: the handle
 * @of_queue: out: number of the last change of the queue itself
 *
 * Return: the number up to which the caller has read when it has used what it got.
 */
u64 kwq_end_reading(struct kwq_handle *handle, u64 *of_queue)
{
	struct kwq_changes *changes = handle->keyed->changes;
	unsigned long flags;
	u64 after;

	spin_lock_irqsave(&handle->keyed->queue.lock, flags);
	if (list_empty(&changes->unread))
		changes->last_told = changes->last;
	after = changes->last_told;
	changes->of_queue_told = changes->of_queue;
	*of_queue = changes->of_queue;
	changes->is_reading = false;
	spin_unlock_irqrestore(&handle->keyed->queue.lock, flags);
	return after;
}

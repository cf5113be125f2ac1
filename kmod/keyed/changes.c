// SPDX-License-Identifier: GPL-2.0-only
/*
 * The changes of a queue, and the handle that follows them (N8).
 *
 * A queue of items that have changed, in the queue of items: each of them is there once, however
 * often it changes. The link and the number are a part of the item's memory. So a change never
 * allocates, and a follower that does not read costs nothing but the memory of items.
 *
 * An item is in one of two lists, or in none:
 *
 *   unread	the follower has not read it since it changed. Its number is that of its first
 *		change since then, and it keeps its place. So no item waits for ever, however
 *		often it changes.
 *   told	the follower has read it, and may have to read it again: the call may have failed,
 *		or the follower may have crashed before it used what it read. A change moves it
 *		back to the end of @unread, with a new number.
 *
 * The numbers of @told are at most @last_told, and all numbers of @unread are greater. Both lists
 * are sorted by numbers. The follower's next call says up to which number it has read. The items
 * up to there leave @told. The others go back to the head of @unread, as a whole.
 *
 * Four numbers say how far the follower is, each at most the next one:
 *
 *   @kept		syncs of changes up to here return
 *   @read_to		the follower has used what it read up to here, so it has left @told
 *   @last_told		the follower has read up to here, and the rest is in @unread
 *   @last		the last change of all
 *
 *			@kept		@read_to	@last_told	@last
 *   a change									grows
 *   a call begins	as it says	as it says	= @read_to
 *   it reads items					grows
 *
 * @of_queue and @of_queue_told are the same as @last and @last_told for the queue itself.
 *
 * So if all changes up to a number are kept, then for each item that had changed by then, a state
 * is kept that is not older. A sync that began then returns. No change up to it can be missed:
 * either it gave its item a number, or the item was unread, with a smaller number.
 *
 * An item that is idle has to go. While it is in a list, it stays in the table all the same, and
 * counts as an item. The follower's call frees it, or the end of the follower.
 */
#include <linux/list.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "keyed.h"

/**
 * kwq_keyed_changes_bytes() - memory that a queue takes for its changes
 * @limits: limits of the queue
 *
 * Return: the number of bytes, without those in each item.
 */
u64 kwq_keyed_changes_bytes(const struct kwq_limits *limits)
{
	return limits->changes ? kwq_bytes_of_kmalloc(sizeof(struct kwq_changes)) : 0;
}

/**
 * kwq_keyed_init_changes() - begin to number the changes of a queue, if it asks for that
 * @keyed: the queue
 *
 * Context: process; may sleep.
 * Return: 0 or -ENOMEM.
 */
int kwq_keyed_init_changes(struct kwq_keyed *keyed)
{
	struct kwq_changes *changes;

	if (!keyed->limits.changes)
		return 0;
	changes = kzalloc(sizeof(*changes), GFP_KERNEL_ACCOUNT);
	if (!changes)
		return -ENOMEM;
	do {
		changes->id = get_random_u64();
	} while (!changes->id);
	INIT_LIST_HEAD(&changes->unread);
	INIT_LIST_HEAD(&changes->told);
	keyed->changes = changes;
	return 0;
}

/* The reader takes the lock before it returns, so its task is still in its call. */
static void tell_follower(struct kwq_keyed *keyed)
{
	struct kwq_changes *changes = keyed->changes;

	if (changes->reader) {
		wake_up_process(changes->reader);
		changes->reader = NULL;
	}
	if (changes->is_polled) {
		changes->is_polled = false;
		kwq_tell_pollers_locked(&keyed->queue, EPOLLPRI);
	}
}

/**
 * kwq_change_is_unread() - has an item changed since the follower read it
 * @keyed: the queue, with changes; its lock held
 * @ki: the item
 *
 * Return: true if so; false also if nobody follows.
 */
bool kwq_change_is_unread(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	const struct kwq_change *change = kwq_change_of(keyed, ki);

	lockdep_assert_held(&keyed->queue.lock);
	return !list_empty(&change->link) && change->number > keyed->changes->last_told;
}

/**
 * kwq_note_change() - note that an item has changed
 * @keyed: the queue, with changes; its lock held
 * @ki: the item
 *
 * Context: any.
 */
noinline void kwq_note_change(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	struct kwq_change *change = kwq_change_of(keyed, ki);
	struct kwq_changes *changes = keyed->changes;

	if (kwq_change_is_unread(keyed, ki))
		return;
	change->number = ++changes->last;
	if (!changes->follower)
		return;
	if (list_empty(&change->link))
		changes->nr_unread++;
	list_move_tail(&change->link, &changes->unread);
	tell_follower(keyed);
}

/**
 * kwq_keyed_note_change() - note that the queue itself has changed
 * @keyed: the queue
 */
void kwq_keyed_note_change(struct kwq_keyed *keyed)
{
	struct kwq_changes *changes = keyed->changes;
	unsigned long flags;

	if (!changes)
		return;
	spin_lock_irqsave(&keyed->queue.lock, flags);
	changes->of_queue = ++changes->last;
	if (changes->follower)
		tell_follower(keyed);
	kwq_keyed_unlock(keyed, flags);
}

/**
 * kwq_note_getter() - note that a getter waits, has found nothing, or goes without an item
 * @keyed: the queue, with changes; its lock held until the getter is counted, or not any more
 *
 * A manager that grants keys has to hear of it, though no item changes. Otherwise it would go on to
 * ask for keys for a worker that is gone.
 */
void kwq_note_getter(struct kwq_keyed *keyed)
{
	struct kwq_changes *changes = keyed->changes;

	lockdep_assert_held(&keyed->queue.lock);
	if (!changes->wants_getters)
		return;
	changes->of_queue = ++changes->last;
	tell_follower(keyed);
}

/**
 * kwq_note_found_nothing() - note that a getter, or a poller for it, has found nothing
 * @handle: the getter's handle; its queue has changes; the queue's lock held
 */
void kwq_note_found_nothing(struct kwq_handle *handle)
{
	if (handle->has_found_nothing)
		return;
	handle->has_found_nothing = true;
	handle->keyed->changes->nr_seeking++;
	kwq_note_getter(handle->keyed);
}

/**
 * kwq_forget_found_nothing() - a handle has got an item, or is closed
 * @handle: the handle; its queue has changes; the queue's lock held
 */
void kwq_forget_found_nothing(struct kwq_handle *handle)
{
	if (!handle->has_found_nothing)
		return;
	handle->has_found_nothing = false;
	handle->keyed->changes->nr_seeking--;
}

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
			tell_follower(handle->keyed);
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

/* The same for all items, whether they were read or not. */
static bool forget_all_locked(struct kwq_keyed *keyed)
{
	struct kwq_changes *changes = keyed->changes;
	struct kwq_change *change;
	int n;

	list_splice_tail_init(&changes->told, &changes->unread);
	for (n = 0; n < KWQ_ITEMS_PER_HOLD && !list_empty(&changes->unread); n++) {
		change = list_first_entry(&changes->unread, struct kwq_change, link);
		forget_change(keyed, change);
	}
	return !list_empty(&changes->unread);
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
	for (;;) {
		more = forget_all_locked(keyed);
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
	struct kwq_drainer drainer;
	unsigned long flags;
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
		kwq_join_drainers_locked(queue, &drainer, state);
		kwq_keyed_unlock(keyed, flags);
		kwq_sleep_until(queue, deadline);
		spin_lock_irqsave(&queue->lock, flags);
		kwq_leave_drainers_locked(queue, &drainer);
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
		kwq_wake_drainers_locked(&keyed->queue);
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
	struct kwq_drainer drainer;
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
		kwq_join_drainers_locked(queue, &drainer, TASK_INTERRUPTIBLE);
		kwq_keyed_unlock(keyed, flags);
		kwq_sleep_until(queue, patience->deadline);
		spin_lock_irqsave(&queue->lock, flags);
		kwq_leave_drainers_locked(queue, &drainer);
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

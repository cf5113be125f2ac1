// SPDX-License-Identifier: GPL-2.0-only
/*
 * The changes of a queue (N8); follow.c has the calls of the handle that follows them.
 *
 * The items that have changed form a queue of their own, in which each is once, however often it
 * changes. Since link and number are a part of the item, a change never allocates, and a follower
 * that does not read costs only the items' memory.
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
 * Both lists are sorted by number, and all of @told (up to @last_told) are below all of @unread.
 * The follower's next call says up to which number it has read: those items leave @told, and the
 * rest go back to the head of @unread.
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
#include <linux/slab.h>
#include "keyed.h"

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
	init_waitqueue_head(&changes->syncers);
	keyed->changes = changes;
	return 0;
}

/**
 * kwq_tell_follower() - wake the follower, if it waits or polls
 * @keyed: the queue, with changes; its lock held
 *
 * The reader takes the lock before it returns, so its task is still in its call.
 */
void kwq_tell_follower(struct kwq_keyed *keyed)
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
	kwq_tell_follower(keyed);
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
		kwq_tell_follower(keyed);
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
	kwq_tell_follower(keyed);
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

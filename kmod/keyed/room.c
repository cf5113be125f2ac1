// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds that wait for room (Q19). An adder is a task that sleeps because its add was refused: with
 * -ENOSPC by its queue, or with -EDQUOT by a quota.
 *
 * Adders of a full queue are on a wait queue, exclusively. Whoever makes room, or brings the key,
 * the value or the group that an adder lacks, calls kwq_keyed_unlock(). That wakes the first adder
 * that fits, which leaves the wait queue thereby. Once it has used its room, or has found that it
 * does not need it or that others took it, its own unlock wakes the next one that fits. So each
 * hold wakes at most one adder, and no room is left while an adder sleeps that would fit:
 *
 *   - An adder joins in the hold in which it was refused. So the hold that makes room sees it.
 *   - A woken adder may have nothing to add any more, because of a signal or its deadline. It takes
 *     the lock in any case, and so the next one is woken.
 *   - If it needs memory first, the room stays its own until it has tried: see @was_told.
 *
 * An add that does not wait may take that room first. The woken adder then waits again, behind the
 * others.
 *
 * A quota wakes all of its adders, and each tries again.
 *
 * While it waits, an adder has nothing that counts for the owner of the queue: otherwise adders
 * could fill a quota, and wait for each other. Its copies count as memory of its call.
 *
 * Adders are drainers as well. So a shut down wakes them, and so does an advance of a manual
 * clock.
 */
#include <linux/errno.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/wait.h>
#include "hold.h"

/**
 * struct kwq_adder - a task that waits for room in a queue
 * @entry: in &kwq_keyed.adders until it is woken because of room
 * @drainer: its place among the drainers
 * @keyed: the queue
 * @key: the key that it adds
 * @extras: what the add brings; NULL if it has none
 * @front: the queue that it asked, if @keyed is the outbox of that; else NULL
 */
struct kwq_adder {
	struct wait_queue_entry entry;
	struct kwq_drainer drainer;
	struct kwq_keyed *keyed;
	const struct kwq_key *key;
	struct kwq_extras *extras;
	struct kwq_keyed *front;
};

/**
 * kwq_keyed_may_find_room() - is it worth waiting in the queue after an add
 * @stock: the stock of the add
 * @result: its result
 *
 * Return: false if the add was not refused for lack of room, or if the queue can never have so
 * much room.
 */
bool kwq_keyed_may_find_room(const struct kwq_stock *stock, int result)
{
	return result == -ENOSPC && !stock->never_fits;
}

/*
 * Called under the lock of the queue. @key is NULL for room, or a queue that was shut down and
 * whose outbox this is.
 */
static int wake_adder(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	struct kwq_adder *adder = container_of(entry, struct kwq_adder, entry);

	if (key ? key != adder->front :
	    !kwq_keyed_fits_locked(adder->keyed, adder->key, adder->extras))
		return 0;
	/* Also if something else has woken its task already, which looks whether it was told. */
	list_del_init(&entry->entry);
	default_wake_function(entry, mode, flags, key);
	return 1;
}

/**
 * kwq_leave_room_locked() - leave the room of which an adder was told to others
 * @keyed: the queue; its lock held
 * @wait: how the adder waits
 */
void kwq_leave_room_locked(struct kwq_keyed *keyed, struct kwq_room_wait *wait)
{
	if (wait->was_told)
		keyed->adders_may_fit = true;
	wait->was_told = false;
}

/**
 * kwq_keyed_end_away() - end the waits of adds to a queue in its outbox
 * @keyed: the queue, shut down
 *
 * An adder joins those that wait for room or for memory before it looks for the shut down. So it
 * is either found here, or it has seen the shut down. This wakes all who wait in the quotas of the
 * outbox, so it is called for the first shut down only.
 *
 * Context: process.
 */
void kwq_keyed_end_away(struct kwq_keyed *keyed)
{
	struct kwq_keyed *outbox = keyed->outbox;
	unsigned long flags;

	if (!outbox)
		return;
	spin_lock_irqsave(&outbox->queue.lock, flags);
	__wake_up(&outbox->adders, TASK_NORMAL, 0, keyed);
	spin_unlock_irqrestore(&outbox->queue.lock, flags);
	kwq_quota_tell(outbox->quota);
}

/**
 * kwq_keyed_wait_for_room_locked() - wait until a refused add is worth another try (Q19)
 * @keyed: the queue; its lock held, released while sleeping
 * @key: the key, with its hash
 * @extras: what the add brings; NULL if it has none
 * @stock: the stock of the add, which was refused with -ENOSPC
 * @wait: how long to wait
 * @flags: as spin_lock_irqsave() stored them
 *
 * Call it in the hold in which the add was refused, and try again in the hold in which it
 * returns. A return value of 0 does not promise room.
 *
 * Context: process; sleeps without the lock.
 * Return: 0; -EAGAIN, -ETIMEDOUT or -ERESTARTSYS.
 */
int kwq_keyed_wait_for_room_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
				   struct kwq_extras *extras, struct kwq_stock *stock,
				   struct kwq_room_wait *wait, unsigned long *flags)
	__must_hold(&keyed->queue.lock)
{
	struct kwq_adder adder = {
		.keyed = keyed,
		.key = key,
		.extras = extras,
		.front = wait->handle->front,
	};
	struct kwq_queue *queue = &keyed->queue;
	int err;

	lockdep_assert_held(&queue->lock);
	kwq_leave_room_locked(keyed, wait);
	/* There may be room afterwards. */
	if (kwq_stock_has_any(stock)) {
		kwq_keyed_unlock(keyed, *flags);
		kwq_stock_free(stock, keyed);
		spin_lock_irqsave(&queue->lock, *flags);
		return 0;
	}
	if (kwq_keyed_free_gone_locked(keyed, flags))
		return 0;
	init_wait(&adder.entry);
	adder.entry.func = wake_adder;
	prepare_to_wait_exclusive(&keyed->adders, &adder.entry, TASK_INTERRUPTIBLE);
	keyed->owes |= KWQ_OWES_ADDERS;
	do {
		err = kwq_why_not_wait_locked(queue, &wait->patience);
		if (err || kwq_front_is_shut_down(adder.front))
			break;
		kwq_join_drainers_locked(queue, &adder.drainer, TASK_INTERRUPTIBLE);
		kwq_keyed_unlock(keyed, *flags);
		kwq_sleep_until(queue, wait->patience.deadline);
		spin_lock_irqsave(&queue->lock, *flags);
		kwq_leave_drainers_locked(queue, &adder.drainer);
	} while (!list_empty(&adder.entry.entry) && !queue->core.shut_down);

	wait->was_told = list_empty(&adder.entry.entry);
	finish_wait(&keyed->adders, &adder.entry);
	/* Needs no barrier: adders join under the queue's lock. */
	if (!waitqueue_active(&keyed->adders))
		keyed->owes &= ~KWQ_OWES_ADDERS;
	if (err)
		kwq_leave_room_locked(keyed, wait);
	return err;
}

/* Others may fit into the room of which an adder was told. */
static void leave_room(struct kwq_keyed *keyed, struct kwq_room_wait *wait)
{
	unsigned long flags;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	kwq_leave_room_locked(keyed, wait);
	kwq_keyed_unlock(keyed, flags);
}

/* Waits in the quota that refuses the bytes. Returns 0 at once if none does. */
static int wait_for_memory(struct kwq_keyed *keyed, u32 bytes, struct kwq_room_wait *wait)
{
	struct kwq_queue *queue = &keyed->queue;
	struct kwq_quota *quota = kwq_quota_refuser(keyed->quota, bytes);
	struct kwq_drainer drainer;
	unsigned long flags;
	DEFINE_WAIT(entry);
	int err;

	leave_room(keyed, wait);
	if (!quota)
		return 0;
	spin_lock_irqsave(&queue->lock, flags);
	/* Exclusive only for its place in the queue: all are woken, the oldest first. */
	prepare_to_wait_exclusive(&quota->room, &entry, TASK_INTERRUPTIBLE);
	err = kwq_why_not_wait_locked(queue, &wait->patience);
	if (!err && !queue->core.shut_down && !kwq_front_is_shut_down(wait->handle->front)) {
		kwq_join_drainers_locked(queue, &drainer, TASK_INTERRUPTIBLE);
		spin_unlock_irqrestore(&queue->lock, flags);
		if (kwq_quota_refuser(keyed->quota, bytes) == quota)
			kwq_sleep_until(queue, wait->patience.deadline);
		spin_lock_irqsave(&queue->lock, flags);
		kwq_leave_drainers_locked(queue, &drainer);
	}
	finish_wait(&quota->room, &entry);
	spin_unlock_irqrestore(&queue->lock, flags);
	return err;
}

/**
 * kwq_stock_fill_or_wait() - kwq_stock_fill() for an add that may wait
 * @stock: the stock
 * @keyed: the queue for which it is
 * @key: the next key
 * @extras: what the add brings; NULL if it has none
 * @nr: number of keys still to come, including @key
 * @wait: how long to wait while a quota refuses; NULL for not at all
 *
 * Context: process; may sleep.
 * Return: 0: try the add again; -ENOMEM or -EDQUOT.
 */
int kwq_stock_fill_or_wait(struct kwq_stock *stock, struct kwq_keyed *keyed,
			   const struct kwq_key *key, const struct kwq_extras *extras, u32 nr,
			   struct kwq_room_wait *wait)
{
	int err = kwq_stock_fill(stock, keyed, key, extras, nr);

	if (!err || !wait)
		return err;
	if (err != -EDQUOT) {
		leave_room(keyed, wait);
		return err;
	}
	/* If there was more in the stock, the next try charges that, too. */
	kwq_stock_empty(stock, keyed);
	wait->err = wait_for_memory(keyed, stock->lacking, wait);
	return wait->err ? err : 0;
}

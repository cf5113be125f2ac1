// SPDX-License-Identifier: GPL-2.0-only
/*
 * poll(), select(), epoll and io_uring on a handle.
 *
 * A poller joins the wait queue first, and then looks at the queue under its lock. So the hold that
 * changes what it has seen finds it there.
 */
#include <linux/poll.h>
#include "hold.h"

#define POLL_READY	(EPOLLIN | EPOLLRDNORM)
#define POLL_ROOM	(EPOLLOUT | EPOLLWRNORM)

/* There is no room without memory for a short key. */
static __poll_t mask_of_memory(struct kwq_keyed *keyed, __poll_t mask)
{
	return mask & POLL_ROOM && !kwq_keyed_has_memory(keyed) ? mask & ~POLL_ROOM : mask;
}

/*
 * EPOLLOUT of a queue with an outbox. A descriptor joins the pollers of the outbox even if it does
 * not ask for EPOLLOUT: epoll_ctl() may ask for that later, and nothing can join then. But it
 * cannot with EPOLLEXCLUSIVE, and such a poller would take the wake-ups for ready items of the
 * outbox.
 */
static noinline __poll_t poll_outbox(struct file *file, struct kwq_keyed *outbox,
				     struct poll_table_struct *table, bool wants_room)
{
	unsigned long flags;
	__poll_t mask = 0;

	if (wants_room || !(poll_requested_events(table) & EPOLLEXCLUSIVE))
		poll_wait(file, &outbox->of_queue.pollers, table);
	if (!wants_room)
		return 0;
	spin_lock_irqsave(&outbox->queue.lock, flags);
	if (outbox->queue.core.shut_down)
		mask = EPOLLERR;
	else if (kwq_keyed_poll_room(outbox))
		mask = POLL_ROOM;
	spin_unlock_irqrestore(&outbox->queue.lock, flags);
	return mask_of_memory(outbox, mask);
}

/* Returns EPOLLIN if a GET would not wait. Otherwise a poller that waits for that is a getter. */
static __poll_t poll_ready_locked(struct kwq_handle *handle, struct poll_table_struct *table)
{
	struct kwq_keyed *keyed = handle->keyed;

	/* The wake-up of this poller may have come before the end of the term. */
	kwq_term_is_over_locked(keyed);
	if (!kwq_get_would_wait_locked(&keyed->queue, &handle->holder))
		return POLL_READY;
	if (keyed->changes && poll_requested_events(table) & POLL_READY)
		kwq_note_found_nothing(handle);
	return 0;
}

/**
 * kwq_handle_poll() - tell which events a handle has, and wait for others (Q5, Q19)
 * @handle: the handle
 * @file: its file
 * @table: as for the poll() of &struct file_operations
 *
 * Context: process.
 * Return: EPOLL* bits. EPOLLERR if EPOLLEXCLUSIVE cannot be had.
 */
__poll_t kwq_handle_poll(struct kwq_handle *handle, struct file *file,
			 struct poll_table_struct *table)
{
	struct kwq_queue *queue = &handle->keyed->queue;
	struct kwq_keyed *outbox = handle->keyed->outbox;
	const bool may_get = handle->rights & KWQ_RIGHT_READ;
	const bool may_add = handle->rights & KWQ_RIGHT_WRITE;
	__poll_t wants = poll_requested_events(table);
	const bool wants_room = may_add && wants & POLL_ROOM;
	unsigned long flags;
	__poll_t mask = 0;

	/*
	 * Q5: a wake-up for a ready item ends at such a poller. It must not end at one that cannot
	 * get the item: without the right, or because it is an item of the outbox.
	 */
	if (table && wants & EPOLLEXCLUSIVE && wants & POLL_READY &&
	    (!may_get || (outbox && wants_room)))
		return EPOLLERR;
	poll_wait(file, &handle->keyed->of_queue.pollers, table);
	spin_lock_irqsave(&queue->lock, flags);
	if (may_get)
		mask |= poll_ready_locked(handle, table);
	if (queue->core.shut_down)
		mask |= wants_room ? EPOLLRDHUP | EPOLLERR : EPOLLRDHUP;
	else if (wants_room && !outbox && kwq_keyed_poll_room(handle->keyed))
		mask |= POLL_ROOM;
	if (handle->has_lost || kwq_changes_poll_locked(handle))
		mask |= EPOLLPRI;
	/* There may be news for a follower. */
	kwq_unlock(queue, flags);
	mask = mask_of_memory(handle->keyed, mask);
	if (unlikely(outbox) && may_add && !(mask & EPOLLRDHUP))
		mask |= poll_outbox(file, outbox, table, wants_room);
	return mask;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wakes pollers, a bounded number in one hold of the queue's lock (O8). A program may have
 * any number of epolls watch a queue, so pollers.c walks the list of pollers in several
 * holds.
 *
 * Getters and drainers do not need this: they leave their lists when they are woken.
 */
#ifndef KWQ_POLLERS_H
#define KWQ_POLLERS_H

#include <linux/kwq.h>
#include <linux/wait.h>
#include "queue.h"

/* Pollers are descriptors of the device. Without it the compiler leaves out what serves them. */
#define KWQ_MAY_HAVE_POLLERS	(IS_ENABLED(CONFIG_KWQ_DEV) || IS_ENABLED(CONFIG_KUNIT))

/* The most pollers that one hold of the lock wakes. Each may be an epoll or a task. */
#define KWQ_POLLERS_PER_HOLD	8

/*
 * Events for pollers, one in each round. READY: an item is ready. It wakes all pollers that
 * are not exclusive, and one exclusive poller for each item. ROOM: the queue has room. It
 * wakes all. CHANGES: a follower has something to read. It wakes all. END: the queue was shut
 * down, or something that follows from it happened. It wakes all, whatever they wait for.
 */
#define KWQ_TELL_READY	BIT(0)
#define KWQ_TELL_ROOM	BIT(1)
#define KWQ_TELL_END	BIT(2)
#define KWQ_TELL_CHANGES BIT(3)

void kwq_pollers_init(struct kwq_queue_bulk *bulk);
void kwq_tell_pollers_locked(struct kwq_queue *queue, u8 what);
void kwq_tell_some_locked(struct kwq_queue *queue);

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
 * kwq_owes_pollers_locked() - are there pollers still to be woken
 * @queue: the queue; @queue->lock held
 *
 * Return: true if so.
 */
static inline bool kwq_owes_pollers_locked(const struct kwq_queue *queue)
{
	const struct kwq_round *round = &kwq_queue_bulk_of(queue)->round;

	return KWQ_MAY_HAVE_POLLERS && !kwq_is_small(queue) && (round->telling | round->to_tell);
}

#endif /* KWQ_POLLERS_H */

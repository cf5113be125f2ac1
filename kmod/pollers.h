/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Telling pollers what has happened, some of them in one hold of the queue's lock (O8).
 * A program can have as many epolls watch a queue as it likes, so pollers.c goes round
 * its list of pollers in several holds.
 *
 * Not for getters and drainers: they leave their lists when they are woken.
 */
#ifndef KWQ_POLLERS_H
#define KWQ_POLLERS_H

#include <linux/kwq.h>

/*
 * The most pollers that one hold of the lock tells. Each of them may be an epoll, or a
 * task, that has to be woken for it.
 */
#define KWQ_POLLERS_PER_HOLD	8

/*
 * Pollers are told of these, one in each round. An item is ready: to all pollers but
 * exclusive ones, and to one of those for each item. There is room: to all. The queue is
 * shut down, or something follows from that: to all, whatever they wait for.
 */
#define KWQ_TELL_READY	BIT(0)
#define KWQ_TELL_ROOM	BIT(1)
#define KWQ_TELL_END	BIT(2)

void kwq_pollers_init(struct kwq_queue *queue);
void kwq_tell_locked(struct kwq_queue *queue, u8 what);
void kwq_tell_some_locked(struct kwq_queue *queue);

/**
 * kwq_owes_pollers() - are there pollers that are still to be told something
 * @queue: the queue; @queue->lock held
 *
 * Return: true if so.
 */
static inline bool kwq_owes_pollers(const struct kwq_queue *queue)
{
	return queue->round.telling | queue->round.to_tell;
}

#endif /* KWQ_POLLERS_H */

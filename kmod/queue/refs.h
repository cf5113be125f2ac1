/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * References of a queue to its items (K5), for code inside kwq.
 *
 * The queue has one reference to each item that is not idle. kwq_note_use_locked() takes it
 * in the hold in which the item stops being idle. In the hold that makes the item idle,
 * kwq_owed_put_locked() tells that a put is owed. The caller drops the reference by
 * kwq_put() after the unlock, as its last access to the item. The queue may be destroyed by
 * then, so kwq_put() needs only the callbacks.
 *
 * Only an add makes an item not idle. These make items idle: done, the end of a handler or of
 * a run in the caller's context, remove, cancel, the drops of a shut down, and the end of a
 * queue. The timer makes waiting items ready, so it neither takes nor drops references. Only
 * drivers' queues own references, so keyed operations do not either.
 */
#ifndef KWQ_REFS_H
#define KWQ_REFS_H

#include <linux/kwq.h>
#include <linux/lockdep.h>
#include "queue.h"

/**
 * kwq_note_use_locked() - take the queue's reference to an item that stops being idle
 * @queue: the queue; @queue->lock held
 * @item: the item
 * @was_idle: whether it was idle before in this hold
 */
static inline void kwq_note_use_locked(struct kwq_queue *queue, struct kwq_item *item,
				       bool was_idle)
{
	if (unlikely(queue->refs) && was_idle && !kwq_item_is_idle(item))
		queue->refs->get(item);
}

/**
 * kwq_owed_put_locked() - does the queue owe a put, now that an item may have become idle
 * @queue: the queue; @queue->lock held
 * @item: an item that was not idle before in this hold
 *
 * Return: the first argument of kwq_put(), to be called after the unlock.
 */
static inline const struct kwq_ref_ops *kwq_owed_put_locked(const struct kwq_queue *queue,
							    const struct kwq_item *item)
{
	if (likely(!queue->refs))
		return NULL;
	return kwq_item_is_idle(item) ? queue->refs : NULL;
}

/**
 * kwq_put() - drop the queue's reference to an item that became idle
 * @refs: the result of kwq_owed_put_locked(); NULL if no put is owed
 * @item: the item; do not touch it afterwards
 *
 * Context: that of the caller, without any lock of kwq.
 */
static inline void kwq_put(const struct kwq_ref_ops *refs, struct kwq_item *item)
{
	if (unlikely(refs))
		refs->put(item);
}

#endif /* KWQ_REFS_H */

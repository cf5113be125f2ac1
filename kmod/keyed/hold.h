/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What calls do in a hold of a queue's lock, where it is so frequent that it is inlined. The slow
 * parts are functions of the files above keyed.h.
 */
#ifndef KWQ_HOLD_H
#define KWQ_HOLD_H

#include "keyed.h"

/**
 * kwq_keyed_begin() - take the lock of a queue
 * @keyed: the queue
 * @flags: out: for kwq_keyed_unlock()
 *
 * Context: process.
 * Return: current time, as kwq_stamp_locked().
 */
static inline ktime_t kwq_keyed_begin(struct kwq_keyed *keyed, unsigned long *flags)
	__acquires(&keyed->queue.lock)
{
	spin_lock_irqsave(&keyed->queue.lock, *flags);
	return kwq_stamp_locked(&keyed->queue);
}

/**
 * kwq_keyed_settle() - move an item to the list that its state asks for
 * @keyed: the queue; its lock held
 * @ki: an item whose state may have changed. Do not touch it any more: if it is idle and
 *	has nothing to remember, it is gone.
 * @now: current time
 */
static inline void kwq_keyed_settle(struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
				    ktime_t now)
{
	keyed->adders_may_fit = true;
	if (unlikely(keyed->changes))
		kwq_note_change(keyed, ki);
	if (kwq_item_is_idle(&ki->item) || ki->is_remembered)
		kwq_keyed_settle_slow(keyed, ki, now);
}

/**
 * kwq_board_forget() - take the key of an item off the board, if it is there
 * @keyed: the queue; its lock held
 * @ki: the item; an add of its key may not coalesce any more, or has another result
 */
static inline void kwq_board_forget(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	if (unlikely(ki->is_posted))
		kwq_board_take_off(keyed, ki);
}

/**
 * kwq_term_is_over_locked() - have all hand-outs of a queue ended (Q20)
 * @keyed: the queue; its lock held
 *
 * A call that hands out, finishes or extends asks this in the same hold.
 *
 * Return: true if so.
 */
static inline bool kwq_term_is_over_locked(struct kwq_keyed *keyed)
{
	const struct kwq_core *core = &keyed->queue.core;

	/* The first test is one that each get makes anyway. */
	return unlikely(core->unusual) && core->paused & (KWQ_TERM_RUNS | KWQ_TERM_OVER) &&
	       kwq_term_look_locked(keyed);
}

/**
 * kwq_stock_empty() - free unused memory of a stock
 * @stock: the stock
 * @keyed: the queue that it was for
 *
 * Context: any.
 */
static inline void kwq_stock_empty(struct kwq_stock *stock, struct kwq_keyed *keyed)
{
	if (unlikely(kwq_stock_has_any(stock)))
		kwq_stock_free(stock, keyed);
}

#endif /* KWQ_HOLD_H */

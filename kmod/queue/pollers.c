// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pollers are woken in rounds. A round tells one event to the pollers of a queue, from the
 * first in the list to the last. "pollers.h" says why a round takes several holds of the
 * queue's lock.
 *
 * Between two holds a bookmark stands in the list, before the next poller. It is an entry
 * like any other, so pollers may join and leave next to it. A poller joins the list before
 * it looks at the queue. If it joins before the bookmark, it has seen the event of this
 * round.
 *
 * Another event may happen during a round. Pollers before the bookmark would miss it, so
 * another round follows. The present round first goes on to its end. If each event
 * restarted the round, it might never reach the end of the list.
 *
 * Exclusive pollers are at the end of the list. A round for ready items wakes one of them
 * for each item. If the wake function of an exclusive poller returns 0, it had nobody to
 * wake. Then the wake-up goes to the next poller.
 *
 * A round goes on whatever the woken pollers do, even if they die or leave the list. But an
 * exclusive poller may die before it uses its wake-up, which was the only one for an item.
 * kwq_wake_again_locked() repeats such wake-ups.
 */
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include "pollers.h"
#include "queue.h"

/* Only walks by others find the bookmark. A round takes it out of the list first. */
static int pass_over_bookmark(wait_queue_entry_t *bookmark, unsigned int mode, int flags,
			      void *key)
{
	return 0;
}

/**
 * kwq_pollers_init() - initialise a queue's list of pollers
 * @bulk: the members of a large queue
 */
void kwq_pollers_init(struct kwq_queue_bulk *bulk)
{
	init_waitqueue_head(&bulk->pollers);
	init_waitqueue_func_entry(&bulk->round.bookmark, pass_over_bookmark);
	INIT_LIST_HEAD(&bulk->round.bookmark.entry);
	bulk->round.telling = 0;
	bulk->round.to_tell = 0;
	bulk->round.nr_ended = 0;
	bulk->wake_pollers = 0;
}

/**
 * kwq_tell_pollers_locked() - tell the pollers of an event
 * @queue: the queue; @queue->lock held
 * @what: KWQ_TELL_* bits
 *
 * This unlock and the following ones do it: see kwq_unlock().
 */
void kwq_tell_pollers_locked(struct kwq_queue *queue, u8 what)
{
	lockdep_assert_held(&queue->lock);
	if (!kwq_has_pollers_locked(queue))
		return;
	kwq_queue_bulk_of(queue)->round.to_tell |= what;
	kwq_look_again_locked(queue);
}

/* Begins the next round, with another event than the last one if there is one. */
static void begin_round(struct kwq_queue_bulk *bulk, u8 last)
{
	struct kwq_round *round = &bulk->round;
	u8 next = round->to_tell & ~last ?: round->to_tell;

	if (next & KWQ_TELL_END) {
		/* This round tells each poller of everything. */
		round->to_tell = 0;
		bulk->wake_pollers = 0;
		next = KWQ_TELL_END;
	}
	round->telling = next & -next;
	round->to_tell &= ~round->telling;
}

static void end_round(struct kwq_queue_bulk *bulk)
{
	struct kwq_round *round = &bulk->round;

	/* All exclusive pollers were asked, and nobody is left to wake. */
	if (round->telling == KWQ_TELL_READY && !(round->to_tell & KWQ_TELL_READY))
		bulk->wake_pollers = 0;
	round->nr_ended++;
	begin_round(bulk, round->telling);
}

static void *key_of_round(const struct kwq_round *round)
{
	switch (round->telling) {
	case KWQ_TELL_READY:
		return poll_to_key(EPOLLIN | EPOLLRDNORM);
	case KWQ_TELL_ROOM:
		return poll_to_key(EPOLLOUT | EPOLLWRNORM);
	case KWQ_TELL_CHANGES:
		return poll_to_key(EPOLLPRI);
	}
	return NULL;
}

static bool is_exclusive(const wait_queue_entry_t *poller)
{
	return poller->flags & WQ_FLAG_EXCLUSIVE;
}

static void tell_poller(struct kwq_queue_bulk *bulk, wait_queue_entry_t *poller)
{
	bool exclusive = is_exclusive(poller);
	/* An aio poll frees its entry when it is told. */
	int woken = poller->func(poller, TASK_NORMAL, 0, key_of_round(&bulk->round));

	if (woken > 0 && exclusive && bulk->round.telling == KWQ_TELL_READY)
		bulk->wake_pollers--;
}

/* Removes the bookmark from the list. Returns the entry with which the round continues. */
static struct list_head *take_bookmark(struct kwq_queue_bulk *bulk)
{
	struct list_head *bookmark = &bulk->round.bookmark.entry;
	struct list_head *next = bulk->pollers.head.next;

	if (!list_empty(bookmark)) {
		next = bookmark->next;
		list_del_init(bookmark);
	}
	return next;
}

static bool is_at_end(const struct kwq_queue_bulk *bulk, const struct list_head *place)
{
	return place == &bulk->pollers.head ||
	       (bulk->round.telling == KWQ_TELL_READY && !bulk->wake_pollers &&
		is_exclusive(list_entry(place, wait_queue_entry_t, entry)));
}

/* Continues a round. Returns how many more pollers this hold may wake. */
static unsigned int go_on(struct kwq_queue_bulk *bulk, unsigned int budget)
{
	struct list_head *place = take_bookmark(bulk), *next;

	for (; !is_at_end(bulk, place); place = next) {
		if (!budget) {
			list_add_tail(&bulk->round.bookmark.entry, place);
			return 0;
		}
		/* A poller may leave the list when it is woken. */
		next = place->next;
		tell_poller(bulk, list_entry(place, wait_queue_entry_t, entry));
		budget--;
	}
	end_round(bulk);
	return budget;
}

/**
 * kwq_tell_some_locked() - continue with the rounds
 * @queue: the queue; @queue->lock held
 *
 * Wakes at most KWQ_POLLERS_PER_HOLD pollers. If more are left, kwq_owes_pollers_locked()
 * is true.
 */
void kwq_tell_some_locked(struct kwq_queue *queue)
{
	struct kwq_queue_bulk *bulk;
	unsigned int budget = KWQ_POLLERS_PER_HOLD;

	lockdep_assert_held(&queue->lock);
	if (!kwq_owes_pollers_locked(queue))
		return;
	bulk = kwq_queue_bulk_of(queue);
	/* Interrupts are off already. */
	spin_lock(&bulk->pollers.lock);
	if (!bulk->round.telling)
		begin_round(bulk, 0);
	do {
		budget = go_on(bulk, budget);
	} while (budget && bulk->round.telling);
	spin_unlock(&bulk->pollers.lock);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rounds: each tells the pollers of a queue one thing, from the first poller in the list
 * to the last. "pollers.h" says why a round takes several holds of the queue's lock.
 *
 * Between two holds a bookmark stands in the list, before the next poller. It is an
 * entry like any other, so pollers may come and go beside it. A poller enters the list
 * before it looks at the queue; one that enters behind the bookmark's back has seen what
 * this round tells.
 *
 * Something may happen in the middle of a round. Pollers before the bookmark would miss
 * it, so another round follows. The round goes on to its end before that, for a round
 * that begins anew each time might never come to the end of the list.
 *
 * Exclusive pollers are at the end of the list. A round that tells of ready items wakes
 * one of them for each item. An exclusive poller whose wake function returns 0 has
 * nobody to wake: it takes none of the wake-ups, and the next poller is asked.
 *
 * Rounds do not depend on what a poller does with a wake-up. So a poller that dies, or
 * leaves the list, takes no other poller's wake-up with it.
 */
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include <kunit/visibility.h>
#include "pollers.h"

/* Only others' walks come here: a round takes its bookmark out of the list first. */
static int pass_over_bookmark(wait_queue_entry_t *bookmark, unsigned int mode, int flags,
			      void *key)
{
	return 0;
}

/**
 * kwq_pollers_init() - begin without pollers
 * @queue: the queue
 */
void kwq_pollers_init(struct kwq_queue *queue)
{
	init_waitqueue_head(&queue->pollers);
	init_waitqueue_func_entry(&queue->round.bookmark, pass_over_bookmark);
	INIT_LIST_HEAD(&queue->round.bookmark.entry);
	queue->round.telling = 0;
	queue->round.to_tell = 0;
	queue->round.nr_ended = 0;
	queue->wake_pollers = 0;
}

/**
 * kwq_tell_locked() - have a round tell the pollers something
 * @queue: the queue; @queue->lock held
 * @what: KWQ_TELL_* bits
 *
 * The unlocks from this one on do it: see kwq_unlock().
 */
void kwq_tell_locked(struct kwq_queue *queue, u8 what)
{
	lockdep_assert_held(&queue->lock);
	/* No barrier is missing: see kwq_unlock(). */
	if (!waitqueue_active(&queue->pollers))
		return;
	queue->round.to_tell |= what;
	queue->core.changed = true;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_tell_locked);

/* The next round tells something else than the last one, if there is anything else. */
static void begin_round(struct kwq_queue *queue, u8 last)
{
	struct kwq_round *round = &queue->round;
	u8 next = round->to_tell & ~last ?: round->to_tell;

	if (next & KWQ_TELL_END) {
		/* It tells each poller everything. */
		round->to_tell = 0;
		queue->wake_pollers = 0;
		next = KWQ_TELL_END;
	}
	round->telling = next & -next;
	round->to_tell &= ~round->telling;
}

static void end_round(struct kwq_queue *queue)
{
	struct kwq_round *round = &queue->round;

	/* Each exclusive poller was asked, and nobody is left to be woken. */
	if (round->telling == KWQ_TELL_READY && !(round->to_tell & KWQ_TELL_READY))
		queue->wake_pollers = 0;
	round->nr_ended++;
	begin_round(queue, round->telling);
}

static void *key_of_round(const struct kwq_round *round)
{
	switch (round->telling) {
	case KWQ_TELL_READY:
		return poll_to_key(EPOLLIN | EPOLLRDNORM);
	case KWQ_TELL_ROOM:
		return poll_to_key(EPOLLOUT | EPOLLWRNORM);
	}
	return NULL;
}

static bool is_exclusive(const wait_queue_entry_t *poller)
{
	return poller->flags & WQ_FLAG_EXCLUSIVE;
}

static void tell(struct kwq_queue *queue, wait_queue_entry_t *poller)
{
	int woken = poller->func(poller, TASK_NORMAL, 0, key_of_round(&queue->round));

	if (woken > 0 && is_exclusive(poller) && queue->round.telling == KWQ_TELL_READY)
		queue->wake_pollers--;
}

/* Where the round goes on; the bookmark is out of the list afterwards. */
static struct list_head *take_bookmark(struct kwq_queue *queue)
{
	struct list_head *bookmark = &queue->round.bookmark.entry;
	struct list_head *next = queue->pollers.head.next;

	if (!list_empty(bookmark)) {
		next = bookmark->next;
		list_del_init(bookmark);
	}
	return next;
}

static bool is_at_end(const struct kwq_queue *queue, const struct list_head *place)
{
	return place == &queue->pollers.head ||
	       (queue->round.telling == KWQ_TELL_READY && !queue->wake_pollers &&
		is_exclusive(list_entry(place, wait_queue_entry_t, entry)));
}

/* Goes on with a round, and returns how many more pollers this hold may tell. */
static unsigned int go_on(struct kwq_queue *queue, unsigned int budget)
{
	struct list_head *place = take_bookmark(queue), *next;

	for (; !is_at_end(queue, place); place = next) {
		if (!budget) {
			list_add_tail(&queue->round.bookmark.entry, place);
			return 0;
		}
		/* A poller may take itself off when it is told. */
		next = place->next;
		tell(queue, list_entry(place, wait_queue_entry_t, entry));
		budget--;
	}
	end_round(queue);
	return budget;
}

/**
 * kwq_tell_some_locked() - go on with the rounds
 * @queue: the queue; @queue->lock held
 *
 * Tells at most KWQ_POLLERS_PER_HOLD pollers. See kwq_owes_pollers() for the others.
 */
void kwq_tell_some_locked(struct kwq_queue *queue)
{
	struct kwq_round *round = &queue->round;
	unsigned int budget = KWQ_POLLERS_PER_HOLD;

	lockdep_assert_held(&queue->lock);
	if (!kwq_owes_pollers(queue))
		return;
	/* Interrupts are off. */
	spin_lock(&queue->pollers.lock);
	if (!round->telling)
		begin_round(queue, 0);
	do {
		budget = go_on(queue, budget);
	} while (budget && round->telling);
	spin_unlock(&queue->pollers.lock);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_tell_some_locked);

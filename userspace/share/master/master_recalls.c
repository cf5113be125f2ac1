// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Recalls of keys that no worker has taken: for workers that sleep elsewhere, and for adds that
 * came meanwhile.
 */
#include <stdlib.h>

#include "master_state.h"

enum { MOST_DOUBLINGS = 7, MOST_LOOKED_AT = 64 };

void recall_forget(struct master *master, struct master_key *key)
{
	if (!key->is_recalled)
		return;
	DL_DELETE2(master->recalled, key, recall_prev, recall_next);
	key->is_recalled = false;
	master->nr_recalled--;
}

static void forget_old_recalls(struct master *master)
{
	while (master->recalled &&
	       master->recalled->recalled_at + master->options.recall <= master->now.boot)
		recall_forget(master, master->recalled);
}

/*
 * A booking that may be recalled: the youngest, and those that were recalled before come last. Keys
 * that a worker has taken pause for longer and longer. The search is short, because it is made
 * often.
 */
static struct master_key *recallable(const struct master *master, const struct peer *peer)
{
	struct master_key *key = peer->bookings ? peer->bookings->booking.prev : NULL;
	size_t i;

	for (i = 0; i < peer->nr_bookings && i < MOST_LOOKED_AT; i++, key = key->booking.prev)
		if (key->booking.recall_at <= master->now.boot)
			return key;
	return NULL;
}

/*
 * A machine with untaken keys comes before any without, which may have some that the master does
 * not know of.
 */
static struct master_key *pick_recall(const struct master *master)
{
	struct master_key *best = NULL, *key;
	const struct peer *peer, *from = NULL;

	for (peer = master->peers; peer; peer = peer->hh.next) {
		if (peer->hungry || peer->is_dead)
			continue;
		if (from &&
		    (peer->untaken < from->untaken ||
		     (peer->untaken == from->untaken && peer->nr_bookings <= from->nr_bookings)))
			continue;
		key = recallable(master, peer);
		if (key) {
			best = key;
			from = peer;
		}
	}
	return best;
}

/* Keys may have come back from workers, so recalls are not in vain any more. */
static void begin_anew(struct peer *peer)
{
	struct master_key *key;

	DL_FOREACH2(peer->bookings, key, booking.next) {
		key->booking.recall_at = 0;
		key->booking.recalls = 0;
	}
}

void recalls_untaken(struct peer *peer, uint32_t untaken)
{
	if (untaken > peer->untaken)
		begin_anew(peer);
	peer->untaken = untaken;
}

void send_recall(struct master *master, const struct master_key *key, bool revokes)
{
	const struct peer *holder = key->booking.holder;
	struct message message = {
		.kind = MESSAGE_RECALL,
		.epoch = master->options.epoch,
		.machine = holder->name,
		.hash = key->hash,
		.token = key->booking.token,
		.revokes = revokes,
	};

	master->ops->send(master->arg, holder->name, &message);
}

/*
 * A key that a worker has taken is recalled in vain. So the pause doubles, and others come first.
 */
static void recall(struct master *master, struct master_key *key)
{
	struct peer *holder = key->booking.holder;
	unsigned int doublings = key->booking.recalls;

	if (doublings > MOST_DOUBLINGS)
		doublings = MOST_DOUBLINGS;
	key->booking.recalls++;
	key->booking.recall_at = master->now.boot + (master->options.recall << doublings);
	DL_DELETE2(holder->bookings, key, booking.prev, booking.next);
	DL_PREPEND2(holder->bookings, key, booking.prev, booking.next);
	recall_forget(master, key);
	key->is_recalled = true;
	key->recalled_at = master->now.boot;
	DL_APPEND2(master->recalled, key, recall_prev, recall_next);
	master->nr_recalled++;
	send_recall(master, key, false);
}

void recall_for_the_hungry(struct master *master)
{
	struct master_key *key;

	forget_old_recalls(master);
	while (master->nr_recalled < master->nr_hungry && (key = pick_recall(master)))
		recall(master, key);
}

void stay_forget(struct master *master, struct master_key *key)
{
	if (!key->stays)
		return;
	DL_DELETE2(master->staying[key->stay], key, stay_prev, stay_next);
	key->stays = false;
	key->is_added_again = false;
}

/* Q12: an add with a higher priority than all before waits for no pause. */
static bool raise_priority(struct master *master, struct master_key *key)
{
	struct versions covered = key_covered(master, key);
	int priority = key_work(key, &covered).priority;

	if (priority <= key->booking.priority)
		return false;
	key->booking.priority = priority;
	return true;
}

/*
 * A key that comes back goes to the end of its machine's line. If it is added again and again, it
 * would never come out. So it stays for a pause after a recall, and is recalled at the end if it
 * was added meanwhile. The pause doubles until the key has run, because a line may be long.
 */
void recall_to_coalesce(struct master *master, struct master_key *key)
{
	const struct booking *booking = &key->booking;
	bool is_raised;

	if (!booking->holder || booking->stage != STAGE_NONE)
		return;
	is_raised = raise_priority(master, key);
	if (key->stays) {
		key->is_added_again = true;
		if (is_raised)
			send_recall(master, key, false);
		return;
	}
	key->stays = true;
	key->stay = key->next_stay;
	key->stays_until = master->now.boot + (master->options.recall << key->stay);
	DL_APPEND2(master->staying[key->stay], key, stay_prev, stay_next);
	if (key->next_stay < STAYS - 1)
		key->next_stay++;
	send_recall(master, key, false);
}

/* Each list is in the order of the times, because all its pauses are equally long. */
void recalls_tick(struct master *master)
{
	struct master_key *key;
	bool again;
	int i;

	for (i = 0; i < STAYS; i++) {
		while ((key = master->staying[i]) && key->stays_until <= master->now.boot) {
			again = key->is_added_again;
			stay_forget(master, key);
			if (again)
				key_settle(master, key);
		}
	}
}

static uint64_t recall_due(const struct master *master, const struct peer *peer)
{
	const struct master_key *key = peer->bookings ? peer->bookings->booking.prev : NULL;
	uint64_t next = NEVER;
	size_t i;

	for (i = 0; i < peer->nr_bookings && i < MOST_LOOKED_AT; i++, key = key->booking.prev)
		if (key->booking.recall_at > master->now.boot && key->booking.recall_at < next)
			next = key->booking.recall_at;
	return next;
}

/* While workers sleep, there may also be something to recall after each of their pauses. */
uint64_t recalls_next_due(const struct master *master)
{
	const struct peer *peer;
	uint64_t next = NEVER;
	int i;

	for (i = 0; i < STAYS; i++)
		if (master->staying[i] && master->staying[i]->stays_until < next)
			next = master->staying[i]->stays_until;
	if (!master->is_serving || !master->nr_hungry || order_first(&master->order))
		return next;
	if (master->recalled && master->recalled->recalled_at + master->options.recall < next)
		next = master->recalled->recalled_at + master->options.recall;
	for (peer = master->peers; peer; peer = peer->hh.next) {
		uint64_t due = peer->hungry ? NEVER : recall_due(master, peer);

		if (due < next)
			next = due;
	}
	return next;
}

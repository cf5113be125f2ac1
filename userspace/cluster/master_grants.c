// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Asks, grants and recalls.
 */
#include <stdlib.h>
#include <string.h>

#include "master_state.h"

/* A machine repeats an ask that waits. One that is silent for so many repeats gets nothing. */
enum { SILENT_REPEATS = 3, MOST_DOUBLINGS = 7, MOST_LOOKED_AT = 64 };

static void leave_line(struct master *master, struct ask *ask)
{
	if (!ask->is_waiting)
		return;
	ask->is_waiting = false;
	if (ask->is_hungry) {
		DL_DELETE(master->hungry, ask);
		master->nr_hungry--;
		ask->peer->hungry--;
	} else {
		DL_DELETE(master->others, ask);
	}
}

static void enter_line(struct master *master, struct ask *ask)
{
	ask->is_waiting = true;
	if (ask->is_hungry) {
		DL_APPEND(master->hungry, ask);
		master->nr_hungry++;
		ask->peer->hungry++;
	} else {
		DL_APPEND(master->others, ask);
	}
}

void asks_free(struct master *master, struct peer *peer)
{
	struct ask *ask, *next;

	HASH_ITER(hh, peer->asks, ask, next) {
		leave_line(master, ask);
		HASH_DEL(peer->asks, ask);
		free(ask);
	}
}

static struct ask *ask_get(struct master *master, struct peer *peer, uint32_t slot)
{
	struct ask *ask;

	HASH_FIND(hh, peer->asks, &slot, sizeof(slot), ask);
	if (ask)
		return ask;
	ask = calloc(1, sizeof(*ask));
	if (!ask) {
		master_fail(master);
		return NULL;
	}
	ask->peer = peer;
	ask->slot = slot;
	HASH_ADD(hh, peer->asks, slot, sizeof(ask->slot), ask);
	if (HASH_HAS(ask))
		return ask;
	free(ask);
	master_fail(master);
	return NULL;
}

static void send_grant(struct master *master, const struct ask *ask, const struct master_key *key)
{
	struct message message = {
		.kind = MESSAGE_GRANT,
		.epoch = master->options.epoch,
		.machine = ask->peer->name,
		.slot = ask->slot,
		.number = ask->number,
		.hash = key->hash,
		.token = key->booking.token,
		.versions = key->booking.versions,
		.work = key_work(key, &key->booking.versions),
	};

	master->ops->send(master->arg, ask->peer->name, &message);
}

/* A repeated ask gets the same grant again, unless its done has come already. */
static void repeat_answer(struct master *master, const struct ask *ask)
{
	struct master_key *key = key_find(master, &ask->answered);

	if (key && key->is_booked && same_token(key->booking.token, ask->token))
		send_grant(master, ask, key);
}

static void take_ask(struct master *master, struct ask *ask, const struct message *message)
{
	bool is_new = message->number > ask->number;

	ask->heard_at = master->now.boot;
	if (!is_new && !ask->is_waiting && ask->token.epoch) {
		repeat_answer(master, ask);
		return;
	}
	if (!is_new && ask->is_waiting && ask->is_hungry == message->is_hungry)
		return;
	leave_line(master, ask);
	if (is_new)
		ask->token = (struct token){ 0 };
	ask->number = message->number;
	ask->is_hungry = message->is_hungry;
	enter_line(master, ask);
}

/* A machine that has not joined, as far as this master knows, could not be buried. */
void ask_message(struct master *master, const struct message *message)
{
	struct peer *peer = peer_find(master, message->machine);
	struct ask *ask;

	if (!peer || !peer->join || peer->is_dead)
		return;
	ask = ask_get(master, peer, message->slot);
	if (!ask || message->number < ask->number)
		return;
	peer->untaken = message->untaken;
	take_ask(master, ask, message);
}

static bool is_silent(const struct master *master, const struct ask *ask)
{
	return master->now.boot - ask->heard_at > SILENT_REPEATS * master->options.repeat;
}

static void drop_the_silent(struct master *master, struct ask *line)
{
	struct ask *ask, *next;

	DL_FOREACH_SAFE(line, ask, next)
		if (is_silent(master, ask))
			leave_line(master, ask);
}

static struct ask *first_ask(struct master *master)
{
	struct ask *ask;

	while ((ask = master->hungry ? master->hungry : master->others) && is_silent(master, ask))
		leave_line(master, ask);
	return ask;
}

static bool may_number(struct master *master)
{
	if (master->last_number < master->options.numbers)
		return true;
	if (!master->is_used_up)
		master->ops->renew(master->arg);
	master->is_used_up = true;
	return false;
}

static void grant(struct master *master, struct master_key *key, struct ask *ask)
{
	struct versions covered = key_covered(master, key);
	struct token token = { .epoch = master->options.epoch };

	if (!covered.add && !covered.timed && !covered.retry) {
		key_settle(master, key);
		return;
	}
	token.number = ++master->last_number;
	leave_line(master, ask);
	ask->answered = key->hash;
	ask->token = token;
	ask->peer->untaken++;
	order_take(&master->order, &key->order);
	key_book(master, key, ask->peer, token, &covered);
	send_grant(master, ask, key);
}

static struct master_key *owner_of(struct order_item *item)
{
	if (!item)
		return NULL;
	return (struct master_key *)((char *)item - offsetof(struct master_key, order));
}

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
	size_t most = peer->untaken ? MOST_LOOKED_AT : 1, i;

	if (most > peer->nr_bookings)
		most = peer->nr_bookings;
	for (i = 0; i < most; i++, key = key->booking.prev)
		if (key->booking.stage == STAGE_NONE && key->booking.recall_at <= master->now.boot)
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

/* A key that a worker has taken is recalled in vain. So the pause doubles. */
static void send_recall(struct master *master, struct master_key *key)
{
	const struct peer *holder = key->booking.holder;
	unsigned int doublings = key->booking.recalls;
	struct message message = {
		.kind = MESSAGE_RECALL,
		.epoch = master->options.epoch,
		.machine = holder->name,
		.hash = key->hash,
		.token = key->booking.token,
	};

	if (doublings > MOST_DOUBLINGS)
		doublings = MOST_DOUBLINGS;
	key->booking.recalls++;
	key->booking.recall_at = master->now.boot + (master->options.recall << doublings);
	master->ops->send(master->arg, holder->name, &message);
}

/* Others come before this key from now on. */
static void recall(struct master *master, struct master_key *key)
{
	struct peer *holder = key->booking.holder;

	DL_DELETE2(holder->bookings, key, booking.prev, booking.next);
	DL_PREPEND2(holder->bookings, key, booking.prev, booking.next);
	recall_forget(master, key);
	key->is_recalled = true;
	key->recalled_at = master->now.boot;
	DL_APPEND2(master->recalled, key, recall_prev, recall_next);
	master->nr_recalled++;
	send_recall(master, key);
}

/* N6: nobody sleeps while another machine has keys that wait for a worker. */
static void recall_for_the_hungry(struct master *master)
{
	struct master_key *key;

	forget_old_recalls(master);
	drop_the_silent(master, master->hungry);
	while (master->nr_recalled < master->nr_hungry && (key = pick_recall(master)))
		recall(master, key);
}

void recall_to_coalesce(struct master *master, struct master_key *key)
{
	const struct booking *booking = &key->booking;

	if (booking->holder && booking->stage == STAGE_NONE &&
	    booking->recall_at <= master->now.boot)
		send_recall(master, key);
}

void serve(struct master *master)
{
	struct master_key *key;
	struct ask *ask;

	if (!master->is_serving)
		return;
	while (!master->has_failed && (key = owner_of(order_first(&master->order))) &&
	       (ask = first_ask(master)) && may_number(master))
		grant(master, key, ask);
	if (!master->has_failed && !order_first(&master->order))
		recall_for_the_hungry(master);
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

/* While workers sleep, there may be something to recall after each pause. */
uint64_t recalls_next_due(const struct master *master)
{
	const struct peer *peer;
	uint64_t next = NEVER;

	if (!master->is_serving || !master->nr_hungry || order_first(&master->order))
		return NEVER;
	if (master->recalled)
		next = master->recalled->recalled_at + master->options.recall;
	for (peer = master->peers; peer; peer = peer->hh.next) {
		uint64_t due = peer->hungry ? NEVER : recall_due(master, peer);

		if (due < next)
			next = due;
	}
	return next;
}

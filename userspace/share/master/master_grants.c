// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Asks and grants.
 */
#include <stdlib.h>
#include <string.h>

#include "master_state.h"

/* A machine repeats an ask that waits. One that is silent for so many repeats gets nothing. */
enum { SILENT_REPEATS = 3, LOOKS_PER_REPEAT = 8 };

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

	if (!peer || !peer->join || peer->is_dead || message->slot >= HELD_MAX)
		return;
	ask = ask_get(master, peer, message->slot);
	if (!ask || message->number < ask->number)
		return;
	recalls_untaken(peer, message->untaken);
	take_ask(master, ask, message);
}

static bool is_silent(const struct master *master, const struct ask *ask)
{
	return master->now.boot - ask->heard_at > SILENT_REPEATS * master->options.repeat;
}

/* There may be many asks, so they are not looked at for each event. */
static void drop_the_silent(struct master *master)
{
	struct ask *ask, *next;

	if (master->now.boot < master->drop_at)
		return;
	master->drop_at = master->now.boot + master->options.repeat / LOOKS_PER_REPEAT;
	DL_FOREACH_SAFE(master->hungry, ask, next)
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

/* A master that has used up its numbers grants no more in this epoch. */
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

void serve(struct master *master)
{
	struct master_key *key;
	struct ask *ask;

	if (!master->is_serving)
		return;
	while (!master->has_failed && (key = owner_of(order_first(&master->order))) &&
	       (ask = first_ask(master)) && may_number(master))
		grant(master, key, ask);
	if (master->has_failed || order_first(&master->order))
		return;
	drop_the_silent(master);
	recall_for_the_hungry(master);
}

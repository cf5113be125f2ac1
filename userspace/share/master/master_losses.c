// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Losses: a worker, or a whole machine, has died with a key. A loss is a record, as a retry is. So
 * a key that ends one master after the other is counted, and dies at last. A key with losses rests
 * before it is granted again.
 */
#include <stdlib.h>
#include <string.h>

#include "master_state.h"

uint32_t key_losses(const struct master_key *key)
{
	const struct record *retry = key->records[RECORD_RETRY];

	return retry ? retry->work.abandoned : 0;
}

/* The last record of the key's state stays as it is, but for the losses. */
static void change_retry(const struct master_key *key, const struct record *retry,
			 struct record *result)
{
	*result = *retry;
	result->valued = value_version(retry);
	result->noted = note_version(retry);
	/* An add has revived it, so it is dead no more. */
	if (retry->state == RETRY_DEAD && retry->seq <= key->booking.versions.retry) {
		result->state = RETRY_REMEMBERED;
		result->work.requeues = 0;
	}
}

/* Returns false if the stream has nothing of the key, which may have been done meanwhile. */
static bool make_loss(const struct master_key *key, uint32_t losses, struct record *result)
{
	const struct record *retry = key->records[RECORD_RETRY];
	static const struct versions none;

	*result = (struct record){
		.kind = RECORD_RETRY,
		.hash = key->hash,
		.state = RETRY_REMEMBERED,
		.work.key = key_work(key, &none).key,
	};
	if (retry)
		change_retry(key, retry, result);
	result->work.abandoned = losses;
	return result->work.key.len;
}

/* From the second loss on, a key goes to the tail (L12). */
static void come_back(struct master *master, struct master_key *key)
{
	struct token token = key->booking.token;
	struct peer *holder = key->booking.holder;
	struct key_hash hash = key->hash;

	key_take_back(master, key, key_losses(key) < 2);
	if (holder && !holder->is_dead)
		done_confirm(master, holder->name, &hash, token);
}

void loss_begin(struct master *master, struct master_key *key, uint32_t losses)
{
	struct record result;

	if (losses <= key_losses(key) || !make_loss(key, losses, &result)) {
		come_back(master, key);
		return;
	}
	key_begin_end(key);
	key->booking.is_loss = true;
	key->booking.noted = 0;
	done_publish(master, key, &result);
}

/* As the backoff of client-go, which is that of retries. */
static uint64_t rest_of(const struct master *master, uint32_t losses)
{
	uint64_t rest = master->options.rest;

	while (--losses && rest < master->options.longest_rest)
		rest *= 2;
	return rest < master->options.longest_rest ? rest : master->options.longest_rest;
}

static void set_rest(struct master *master, struct master_key *key, uint64_t until)
{
	if (due_set(&master->resting, &key->rest, until, 0))
		master_fail(master);
}

void rest_end(struct master *master, struct master_key *key)
{
	set_rest(master, key, NEVER);
}

void loss_is_stored(struct master *master, struct master_key *key)
{
	uint32_t losses = key_losses(key);

	/* Somebody else's record is in its place. */
	if (losses)
		set_rest(master, key, master->now.boot + rest_of(master, losses));
	come_back(master, key);
}

void rests_tick(struct master *master)
{
	struct due_item *rest;
	unsigned int left = MASTER_DUE_MAX;

	while (left-- && !master->has_failed && (rest = due_first(&master->resting)) &&
	       rest->time <= master->now.boot) {
		rest_end(master, rest->owner);
		key_settle(master, rest->owner);
	}
}

/* ---- What a machine worked on for an older master -------------------------- */

void working_forget(struct peer *peer)
{
	free(peer->working);
	peer->working = NULL;
	peer->nr_working = 0;
}

/* A heartbeat lists what workers had of the master that it obeys. */
void working_heard(struct master *master, struct peer *peer, const struct record *record)
{
	size_t i;

	working_forget(peer);
	if (!record->nr_held || record->epoch >= master->options.epoch)
		return;
	peer->working = calloc(record->nr_held, sizeof(*peer->working));
	if (!peer->working) {
		master_fail(master);
		return;
	}
	for (i = 0; i < record->nr_held; i++)
		if (record->held[i].token.epoch == record->epoch)
			peer->working[peer->nr_working++] = record->held[i];
}

/* Whether a version of the grant is still there: the run has not ended. */
static bool is_unfinished(const struct master_key *key, struct versions versions)
{
	int i;

	for (i = 0; i < KEY_RECORDS; i++) {
		const struct record *record = key->records[i];

		if (record && record->seq == *version_of(&versions, i))
			return true;
	}
	return false;
}

void working_book(struct master *master, struct peer *peer)
{
	size_t i;

	for (i = 0; i < peer->nr_working && !master->has_failed; i++) {
		const struct held *held = &peer->working[i];
		struct master_key *key = key_find(master, &held->hash);

		if (key && !key->is_booked && is_unfinished(key, held->versions))
			key_book_former(master, key, peer, held);
	}
	working_forget(peer);
}

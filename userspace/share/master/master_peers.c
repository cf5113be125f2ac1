// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The machines: who takes part, what they promise, and who is dead.
 */
#include <stdlib.h>
#include <string.h>

#include "master_state.h"

struct peer *peer_find(struct master *master, const char *name)
{
	struct peer *peer;

	HASH_FIND_STR(master->peers, name, peer);
	return peer;
}

static struct peer *peer_get(struct master *master, const char *name)
{
	struct peer *peer = peer_find(master, name);
	size_t size = strlen(name) + 1;

	if (peer)
		return peer;
	peer = calloc(1, sizeof(*peer) + size);
	if (!peer) {
		master_fail(master);
		return NULL;
	}
	memcpy(peer->name, name, size);
	peer->clean_at = NEVER;
	peer->stored = NEVER;
	peer->op.peer = peer;
	HASH_ADD_STR(master->peers, name, peer);
	if (HASH_HAS(peer))
		return peer;
	free(peer);
	master_fail(master);
	return NULL;
}

void peer_free(struct master *master, struct peer *peer)
{
	op_forget(master, &peer->op);
	asks_free(master, peer);
	requests_free(master, peer);
	working_forget(peer);
	HASH_DEL(master->peers, peer);
	free(peer);
}

void master_heard(struct master *master, const char *machine, uint64_t seq, uint64_t boot)
{
	struct peer *peer = peer_get(master, machine);

	if (!peer)
		return;
	peer->early_beat = seq;
	peer->early_at = boot;
}

/* A machine that joined before the election may obey an older master, until it promises. */
static bool is_missing(const struct master *master, const struct peer *peer)
{
	return peer->join && peer->join < master->options.elected && !peer->has_promised &&
	       !peer->is_dead;
}

size_t peers_missing(const struct master *master)
{
	const struct peer *peer;
	size_t nr = 0;

	for (peer = master->peers; peer; peer = peer->hh.next)
		nr += is_missing(master, peer);
	return nr;
}

static void look_for_promises(struct master *master)
{
	if (!master->is_serving && master->knows_members)
		master->is_serving = !peers_missing(master);
}

void epoch_record(struct master *master, const struct record *record)
{
	if (record->epoch > master->options.epoch) {
		master->is_deposed = true;
		master->ops->deposed(master->arg);
	} else if (record->epoch == master->options.epoch) {
		master->knows_members = true;
		look_for_promises(master);
	}
}

/* Workers take the highest priority first, and then the oldest grant. */
static int by_turn(const void *a, const void *b)
{
	const struct booking *left = &(*(struct master_key *const *)a)->booking;
	const struct booking *right = &(*(struct master_key *const *)b)->booking;

	if (left->priority != right->priority)
		return left->priority < right->priority ? 1 : -1;
	return token_less(left->token, right->token) ? -1 : 1;
}

/*
 * Keys that no worker had taken come back as they went. The master knows how many they are, but
 * not which. @keys: those of @peer
 */
static void take_back(struct master *master, const struct peer *peer, struct master_key **keys,
		      size_t nr)
{
	size_t taken = nr > peer->untaken ? nr - peer->untaken : 0, i;

	qsort(keys, nr, sizeof(*keys), by_turn);
	for (i = 0; i < nr; i++)
		loss_begin(master, keys[i], key_losses(keys[i]) + (i < taken));
}

static void take_back_all(struct master *master, struct peer *peer)
{
	struct master_key **keys = calloc(peer->nr_bookings + 1, sizeof(*keys)), *key, *next;
	size_t nr = 0;

	if (!keys) {
		master_fail(master);
		return;
	}
	DL_FOREACH2(peer->bookings, key, booking.next)
		keys[nr++] = key;
	take_back(master, peer, keys, nr);
	free(keys);
	DL_FOREACH_SAFE2(peer->ending, key, next, booking.next) {
		DL_DELETE2(peer->ending, key, booking.prev, booking.next);
		key->booking.holder = NULL;
	}
}

static void die(struct master *master, struct peer *peer)
{
	if (peer->is_dead)
		return;
	peer->is_dead = true;
	peer->clean_at = master->now.boot + master->options.clean;
	asks_free(master, peer);
	requests_free(master, peer);
	working_book(master, peer);
	take_back_all(master, peer);
	look_for_promises(master);
}

void key_book_former(struct master *master, struct master_key *key, struct peer *peer,
		     const struct held *held)
{
	struct work work = key_work(key, &held->versions);

	if (order_is_ready(&key->order))
		order_remove(&master->order, &key->order);
	if (order_book(&master->order, &key->order, &work.group))
		master_fail(master);
	else
		key_book(master, key, peer, held->token, &held->versions);
}

/*
 * Books the keys that a machine holds of older masters. Two machines may list one key: the lower
 * token's done was processed, and its confirmation was lost.
 */
static void book_promised(struct master *master, struct peer *peer, const struct held *held)
{
	struct master_key *key;

	if (held->token.epoch >= master->options.epoch)
		return;
	key = key_get(master, &held->hash);
	if (!key)
		return;
	if (key->is_booked) {
		if (!token_less(key->booking.token, held->token))
			return;
		key_unbook(master, key);
	}
	key_book_former(master, key, peer, held);
}

/* A name without a join was cleaned up after its death. Its list counts no more. */
static void hear_promise(struct master *master, struct peer *peer, const struct record *record)
{
	size_t i;

	if (!peer->join || peer->has_promised || record->epoch != master->options.epoch)
		return;
	peer->has_promised = true;
	for (i = 0; i < record->nr_held && !master->has_failed; i++)
		book_promised(master, peer, &record->held[i]);
	look_for_promises(master);
}

static void hear(struct master *master, struct peer *peer, const struct record *record)
{
	peer->beat = record->seq;
	peer->stored = NEVER;
	peer->heard_at = peer->early_beat == record->seq ? peer->early_at : master->now.boot;
	if (record->is_dead) {
		die(master, peer);
	} else if (!peer->is_dead) {
		working_heard(master, peer, record);
		hear_promise(master, peer, record);
	}
}

void peer_record(struct master *master, const struct record *record)
{
	struct peer *peer = peer_get(master, record->machine);

	if (!peer)
		return;
	if (record->kind == RECORD_BEAT) {
		if (record->seq > peer->beat)
			hear(master, peer, record);
	} else if (!peer->join) {
		peer->join = record->seq;
		peer->ttl = record->ttl;
		peer->heard_at = master->now.boot;
	}
	/* The name was cleaned up, but a heartbeat was on its way. */
	if (!peer->join && peer->clean_at == NEVER)
		peer->clean_at = master->now.boot + master->options.clean;
}

static uint64_t bury_at(const struct master *master, const struct peer *peer)
{
	uint64_t at = peer->heard_at + peer->ttl + master->options.margin;

	if (!peer->join || peer->is_dead || !master->knows_members)
		return NEVER;
	return at < peer->bury_at ? peer->bury_at : at;
}

/*
 * Compare and set: it fails if there is a heartbeat that this master has not received, or if
 * somebody has removed the last one, of which no tail tells. So what was read counts as received.
 */
static void publish_burial(struct master *master, struct op *op)
{
	const struct peer *peer = op->peer;
	struct record record = {
		.kind = RECORD_BEAT,
		.machine = peer->name,
		.is_dead = true,
		.epoch = master->options.epoch,
	};

	if (op_register(master, op))
		master->ops->publish(master->arg, op->id, &record,
				     peer->stored == NEVER ? peer->beat : peer->stored);
}

static void read_beat(struct master *master, struct op *op)
{
	if (op_register(master, op))
		master->ops->read_beat(master->arg, op->id, op->peer->name);
}

static void beat_was_read(struct master *master, struct op *op, enum op_result result,
			  uint64_t seq, const struct record *record)
{
	struct peer *peer = op->peer;

	(void)record;
	peer->heard_at = master->now.boot;
	/* The tail may have delivered it meanwhile, or a newer one. */
	if (result != OP_UNKNOWN && (!seq || seq > peer->beat))
		peer->stored = seq;
}

static void burial_was_published(struct master *master, struct op *op, enum op_result result,
				 uint64_t seq, const struct record *record)
{
	struct peer *peer = op->peer;

	(void)record;
	if (result == OP_OK) {
		if (seq > peer->beat)
			peer->beat = seq;
		die(master, peer);
	} else if (result == OP_WRONG_SEQUENCE) {
		/* A heartbeat is on its way to this master: count anew. */
		peer->heard_at = master->now.boot;
		op->start = read_beat;
		op->finish = beat_was_read;
		op_order(master, op);
	} else {
		/* Not the same again: a heartbeat that comes meanwhile counts. */
		peer->bury_at = master->now.boot + master->options.repeat;
	}
}

/*
 * The join first: without it the name is no member of any later master, whatever heartbeat is left.
 */
static void erase_join(struct master *master, struct op *op)
{
	if (op_register(master, op))
		master->ops->erase(master->arg, op->id, op->peer->join);
}

static void erase_beat(struct master *master, struct op *op)
{
	if (op_register(master, op))
		master->ops->erase(master->arg, op->id, op->peer->beat);
}

static void beat_was_erased(struct master *master, struct op *op, enum op_result result,
			    uint64_t seq, const struct record *record)
{
	(void)seq;
	(void)record;
	if (result == OP_UNKNOWN)
		op_order_later(master, op);
	else
		peer_free(master, op->peer);
}

static void clean_beat(struct master *master, struct op *op)
{
	op->start = erase_beat;
	op->finish = beat_was_erased;
	if (op->peer->beat)
		op_order(master, op);
	else
		peer_free(master, op->peer);
}

static void join_was_erased(struct master *master, struct op *op, enum op_result result,
			    uint64_t seq, const struct record *record)
{
	(void)seq;
	(void)record;
	if (result == OP_UNKNOWN)
		op_order_later(master, op);
	else
		clean_beat(master, op);
}

static void clean(struct master *master, struct peer *peer)
{
	peer->clean_at = NEVER;
	if (!peer->join) {
		clean_beat(master, &peer->op);
		return;
	}
	peer->op.start = erase_join;
	peer->op.finish = join_was_erased;
	op_order(master, &peer->op);
}

static bool is_busy(const struct peer *peer)
{
	return peer->op.id || peer->op.is_late;
}

void peers_tick(struct master *master)
{
	struct peer *peer, *next;

	HASH_ITER(hh, master->peers, peer, next) {
		if (is_busy(peer) || master->has_failed)
			continue;
		if (bury_at(master, peer) <= master->now.boot) {
			peer->op.start = publish_burial;
			peer->op.finish = burial_was_published;
			op_order(master, &peer->op);
		} else if (peer->clean_at <= master->now.boot) {
			clean(master, peer);
		}
	}
}

uint64_t peers_next_due(const struct master *master)
{
	const struct peer *peer;
	uint64_t next = NEVER;

	for (peer = master->peers; peer; peer = peer->hh.next) {
		uint64_t bury = bury_at(master, peer);
		uint64_t due = bury < peer->clean_at ? bury : peer->clean_at;

		if (!is_busy(peer) && due < next)
			next = due;
	}
	return next;
}

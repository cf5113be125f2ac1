// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Requests: a person wants a key to be gone, or to be ready, and has asked any machine.
 *
 * A key that a machine has is revoked there, so that its job ends. A key that nobody has is booked
 * for the request, so it is not granted meanwhile. Then its records are read from the stream, since
 * an add that the person has made just before may not have come to this master yet. The versions
 * that were read are erased by their numbers, or replaced by compare and set. So of an add and a
 * remove that race, the one counts that the stream has later.
 *
 * Nothing of a request is in the stream, but what it has erased is not there for any later master.
 * If the master dies, the machine repeats the request to the next one.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/kwq.h>

#include "master_state.h"

static void reply(struct master *master, const struct request *request)
{
	const struct peer *peer = request->peer;
	struct message message = {
		.kind = MESSAGE_REPLY,
		.epoch = master->options.epoch,
		.machine = peer->name,
		.slot = request - peer->requests,
		.number = request->number,
		.was = request->was,
	};

	master->ops->send(master->arg, peer->name, &message);
}

static void let_go(struct request *request)
{
	struct master_key *key = request->key;

	DL_DELETE(key->requests, request);
	if (key->served == request)
		key->served = NULL;
	request->key = NULL;
}

void requests_forget(struct master_key *key)
{
	while (key->requests)
		let_go(key->requests);
}

void requests_free(struct master *master, struct peer *peer)
{
	struct master_key *key;
	int i;

	for (i = 0; peer->requests && i < REQUESTS_MAX; i++) {
		key = peer->requests[i].key;
		if (!key)
			continue;
		let_go(&peer->requests[i]);
		key_settle(master, key);
	}
	free(peer->requests);
	peer->requests = NULL;
}

void requests_job_ended(struct master_key *key)
{
	struct request *request;

	DL_FOREACH(key->requests, request)
		request->was |= KWQ_WAS_PROCESSING;
}

/* The request that was served is answered, if somebody still waits for it. */
static void finish(struct master *master, struct master_key *key)
{
	struct request *request = key->served;
	uint32_t was = key->booking.was;

	key_unbook(master, key);
	if (request) {
		request->was |= was;
		let_go(request);
		reply(master, request);
	}
	key_settle(master, key);
}

/* ---- Steps of a request ---------------------------------------------------- */

/* Whether there is another record of the key to look at. */
static bool has_kind(const struct booking *booking)
{
	return booking->kind <= RECORD_RETRY;
}

static bool wants(const struct master_key *key, enum request_kind what)
{
	return key->served && key->served->what == what;
}

/* The record of a kind as it was read, or NULL if it is another one by now. */
static const struct record *as_read(struct master_key *key, enum record_kind kind)
{
	const struct record *record = key->records[kind];

	return record && record->seq == *version_of(&key->booking.versions, kind) ? record : NULL;
}

static uint32_t at_time(const struct master *master, uint64_t time)
{
	if (time == NEVER)
		return 0;
	return time <= master->now.wall ? KWQ_WAS_READY : KWQ_WAS_WAITING;
}

/* The states of its key that follow from the record, KWQ_WAS_* bits. */
static uint32_t state_of(const struct master *master, const struct record *record)
{
	if (record->kind == RECORD_ADD)
		return KWQ_WAS_READY;
	if (record->kind == RECORD_TIMED)
		return at_time(master, timed_owed(record, 0)) |
		       at_time(master, timed_next(record, 0));
	if (record->state == RETRY_WAITING)
		return at_time(master, record->due);
	return record->state == RETRY_DEAD ? KWQ_WAS_DEAD : KWQ_WAS_REMEMBERED;
}

/* An add has revived a dead key, and is one more run of a key that is at work. */
static uint32_t state_of_all(const struct request *served, uint32_t was)
{
	if (was & KWQ_WAS_READY)
		was &= ~KWQ_WAS_DEAD;
	if (was & KWQ_WAS_READY && served && served->was & KWQ_WAS_PROCESSING)
		was ^= KWQ_WAS_READY | KWQ_WAS_DIRTY;
	return was;
}

static void erase_next(struct master *master, struct master_key *key);
static void kick_next(struct master *master, struct master_key *key);
static void read_next(struct master *master, struct master_key *key);

/* A record that was replaced is an add that came later. */
static void version_was_erased(struct master *master, struct op *op, enum op_result result,
			       uint64_t seq, const struct record *record)
{
	struct master_key *key = op->key;
	enum record_kind kind = key->booking.kind;

	(void)seq;
	(void)record;
	if (result == OP_UNKNOWN) {
		op_order_later(master, op);
		return;
	}
	if (as_read(key, kind)) {
		free(key->records[kind]);
		key->records[kind] = NULL;
	}
	key->booking.kind++;
	erase_next(master, key);
}

/*
 * A master that is elected before the erasure may have read what was erased, and would grant it
 * later. So the person is told only if no newer election is there after the erasure. The machine
 * repeats its request to the newer master.
 */
static void election_was_read(struct master *master, struct op *op, enum op_result result,
			      uint64_t seq, const struct record *record)
{
	struct master_key *key = op->key;

	(void)seq;
	if (result == OP_UNKNOWN) {
		op_order_later(master, op);
		return;
	}
	if (result == OP_OK && record->epoch > master->options.epoch)
		epoch_record(master, record);
	else
		finish(master, key);
}

static void read_election(struct master *master, struct op *op)
{
	static const struct key_hash none;

	if (op_register(master, op))
		master->ops->read(master->arg, op->id, RECORD_EPOCH, &none);
}

static void erase_version(struct master *master, struct op *op)
{
	struct booking *booking = &op->key->booking;

	if (op_register(master, op))
		master->ops->erase(master->arg, op->id,
				   *version_of(&booking->versions, booking->kind));
}

static void erase_next(struct master *master, struct master_key *key)
{
	struct booking *booking = &key->booking;

	while (has_kind(booking) && !*version_of(&booking->versions, booking->kind))
		booking->kind++;
	if (has_kind(booking))
		key_order(master, key, erase_version, version_was_erased);
	else
		key_order(master, key, read_election, election_was_read);
}

/*
 * Fills in the record that makes its key ready: a dead one with a count of 0, as an add does (L11).
 * Returns false if this record does not make it wait.
 */
static bool make_ready(const struct master *master, struct master_key *key, struct record *result)
{
	const struct record *record = as_read(key, key->booking.kind);
	bool is_dead = record && record->kind == RECORD_RETRY && record->state == RETRY_DEAD;

	if (!record || is_dead != wants(key, REQUEST_KICK))
		return false;
	if (!is_dead && !(state_of(master, record) & KWQ_WAS_WAITING))
		return false;
	*result = *record;
	result->state = RETRY_WAITING;
	result->due = master->now.wall;
	result->valued = value_version(record);
	result->noted = note_version(record);
	if (is_dead) {
		result->work.requeues = 0;
		result->work.abandoned = 0;
	}
	return true;
}

static void publish_result(struct master *master, struct op *op)
{
	const struct booking *booking = &op->key->booking;

	if (op_register(master, op))
		master->ops->publish(master->arg, op->id, booking->result, booking->expected);
}

/* Somebody else has written it, or this master: its answer was lost. */
static void begin_again(struct master *master, struct master_key *key)
{
	struct booking *booking = &key->booking;

	free(booking->result);
	booking->result = NULL;
	booking->kind = RECORD_ADD;
	booking->versions = (struct versions){ 0 };
	read_next(master, key);
}

static void result_was_published(struct master *master, struct op *op, enum op_result result,
				 uint64_t seq, const struct record *record)
{
	struct master_key *key = op->key;

	(void)record;
	if (result == OP_UNKNOWN) {
		op_order_later(master, op);
	} else if (result == OP_OK) {
		key->booking.written = seq;
		done_record_received(master, key);
	} else {
		begin_again(master, key);
	}
}

static void kick_next(struct master *master, struct master_key *key)
{
	struct booking *booking = &key->booking;
	struct record result;

	free(booking->result);
	booking->result = NULL;
	for (; has_kind(booking); booking->kind++) {
		if (booking->kind == RECORD_ADD || !make_ready(master, key, &result))
			continue;
		booking->was |= wants(key, REQUEST_KICK) ? KWQ_WAS_DEAD : KWQ_WAS_WAITING;
		booking->expected = result.seq;
		booking->result = record_copy(&result);
		if (booking->result)
			key_order(master, key, publish_result, result_was_published);
		else
			master_fail(master);
		return;
	}
	finish(master, key);
}

/* All records were read. A key that is only remembered is not in the queue, and stays so. */
static void decide(struct master *master, struct master_key *key)
{
	struct booking *booking = &key->booking;
	uint32_t was = 0;
	int kind;

	for (kind = 0; kind < KEY_RECORDS; kind++)
		if (as_read(key, kind))
			was |= state_of(master, as_read(key, kind));
	was = state_of_all(key->served, was);
	booking->kind = RECORD_ADD;
	if (wants(key, REQUEST_DROP) && !(was & KWQ_WAS_DEAD))
		was = 0;
	if (!wants(key, REQUEST_REMOVE) && !wants(key, REQUEST_DROP)) {
		/* A key that is ready already is kicked by nobody. */
		if (was & KWQ_WAS_READY || !key->served)
			finish(master, key);
		else
			kick_next(master, key);
		return;
	}
	was &= ~KWQ_WAS_REMEMBERED;
	if (was) {
		booking->was |= was;
		erase_next(master, key);
	} else {
		key_order(master, key, read_election, election_was_read);
	}
}

static uint64_t version_in_memory(const struct master_key *key)
{
	const struct record *record = key->records[key->booking.kind];

	return record ? record->seq : 0;
}

/*
 * The tail has to deliver what was read, so that it does not make the key dirty later. An older
 * master may erase it before, so it is read again after a while. A tail does not tell that a record
 * was erased, so what it has delivered is forgotten if the stream has it no more.
 */
static void record_was_read(struct master *master, struct op *op, enum op_result result,
			    uint64_t seq, const struct record *record)
{
	struct master_key *key = op->key;
	struct booking *booking = &key->booking;

	(void)record;
	booking->written = 0;
	if (result == OP_UNKNOWN) {
		op_order_later(master, op);
		return;
	}
	/* The tail has delivered one meanwhile. */
	if (version_in_memory(key) != booking->known && version_in_memory(key) != seq) {
		read_next(master, key);
		return;
	}
	*version_of(&booking->versions, booking->kind) = result == OP_NOT_FOUND ? 0 : seq;
	if (result == OP_OK) {
		booking->written = seq;
		op_order_later(master, op);
		done_record_received(master, key);
		return;
	}
	free(key->records[booking->kind]);
	key->records[booking->kind] = NULL;
	booking->kind++;
	read_next(master, key);
}

static void read_record(struct master *master, struct op *op)
{
	op->key->booking.known = version_in_memory(op->key);
	if (op_register(master, op))
		master->ops->read(master->arg, op->id, op->key->booking.kind, &op->key->hash);
}

static void read_next(struct master *master, struct master_key *key)
{
	if (has_kind(&key->booking))
		key_order(master, key, read_record, record_was_read);
	else
		decide(master, key);
}

void request_record_received(struct master *master, struct master_key *key)
{
	struct booking *booking = &key->booking;

	op_forget(master, &key->op);
	booking->kind++;
	if (booking->result)
		kick_next(master, key);
	else
		read_next(master, key);
}

void request_begin(struct master *master, struct master_key *key)
{
	if (order_is_ready(&key->order))
		order_remove(&master->order, &key->order);
	rest_end(master, key);
	key->booking = (struct booking){ .stage = STAGE_REQUEST };
	key->is_booked = true;
	key->served = key->requests;
	read_next(master, key);
}

/* ---- Messages -------------------------------------------------------------- */

/* Returns the slot of a request that is new or repeated, or NULL. */
static struct request *slot_of(struct master *master, struct peer *peer,
			       const struct message *message)
{
	if (message->slot >= REQUESTS_MAX)
		return NULL;
	if (!peer->requests)
		peer->requests = calloc(REQUESTS_MAX, sizeof(*peer->requests));
	if (!peer->requests) {
		master_fail(master);
		return NULL;
	}
	return &peer->requests[message->slot];
}

static void begin(struct master *master, struct peer *peer, struct request *request,
		  const struct message *message)
{
	struct master_key *key = key_get(master, &message->hash), *former = request->key;

	if (!key)
		return;
	/* The machine has given up the one that it had in this slot. */
	if (former)
		let_go(request);
	*request = (struct request){ .key = key, .peer = peer, .number = message->number,
				     .what = message->request };
	DL_APPEND(key->requests, request);
	if (former && former != key)
		key_settle(master, former);
	key_settle(master, key);
}

void request_message(struct master *master, const struct message *message)
{
	struct peer *peer = peer_find(master, message->machine);
	struct request *request;
	struct master_key *key;

	if (!master->is_serving || !peer || !peer->join || peer->is_dead)
		return;
	request = slot_of(master, peer, message);
	if (!request || message->number < request->number)
		return;
	if (message->number > request->number)
		begin(master, peer, request, message);
	key = request->key;
	if (key && key->booking.holder && request->what == REQUEST_REMOVE) {
		send_recall(master, key, true);
		return;
	}
	/* A key at work is neither dead, nor does it wait. */
	if (key && key->booking.holder)
		let_go(request);
	if (!request->key)
		reply(master, request);
}

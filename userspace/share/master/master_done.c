// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The effects of a done: a retry is written before the granted versions are erased, so that a
 * master that dies between costs a run, and never loses one.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/kwq.h>

#include "master_state.h"

static void advance(struct master *master, struct master_key *key);

void done_confirm(struct master *master, const char *machine, const struct key_hash *hash,
		  struct token token)
{
	struct message message = {
		.kind = MESSAGE_CONFIRM,
		.epoch = master->options.epoch,
		.machine = machine,
		.hash = *hash,
		.token = token,
	};

	master->ops->send(master->arg, machine, &message);
}

/* A retry that waits beside the run, or was written for this done by an older master. */
static const struct record *waiting_retry(const struct master_key *key)
{
	const struct record *retry = key->records[RECORD_RETRY];

	if (!retry || retry->state != RETRY_WAITING || retry->seq <= key->booking.versions.retry)
		return NULL;
	return retry;
}

/* The retry that waits stays, with the newest value. */
static void keep_waiting(struct record *result, const struct master_key *key,
			 const struct record *waiting)
{
	static const struct versions none;
	uint32_t requeues = result->work.requeues;

	result->state = RETRY_WAITING;
	result->due = waiting->due;
	result->work = key_work(key, &none);
	result->work.priority = waiting->work.priority;
	result->work.requeues = requeues;
	result->work.abandoned = 0;
	result->valued = key_value_version(key);
	result->noted = key_note_version(key);
}

/*
 * Fills in the retry that @message, a done of @key, leaves. Returns false if there is none, or it
 * is in the stream already. Its bytes are those of the message or of the key.
 */
static bool make_retry(const struct master_key *key, const struct message *message,
		       struct record *result)
{
	const struct record *waiting = waiting_retry(key);
	static const struct versions none;
	uint32_t requeues = message->outcome == OUTCOME_DONE ? 0 : message->work.requeues;

	*result = (struct record){
		.kind = RECORD_RETRY,
		.hash = key->hash,
		.work = message->work,
		.valued = key->booking.valued,
	};
	result->work.requeues = requeues;
	result->work.abandoned = 0;
	if (!result->work.note.len) {
		result->work.note = key_work(key, &none).note;
		result->noted = key_note_version(key);
	}
	if (message->outcome == OUTCOME_RETRY) {
		result->state = RETRY_WAITING;
		result->due = waiting && waiting->due < message->due ? waiting->due : message->due;
		return true;
	}
	if (message->outcome == OUTCOME_DEAD) {
		result->state = RETRY_DEAD;
		return true;
	}
	if (waiting) {
		keep_waiting(result, key, waiting);
		return waiting->work.requeues != requeues || waiting->work.abandoned ||
		       waiting->valued < result->valued || note_version(waiting) != result->noted;
	}
	result->state = RETRY_REMEMBERED;
	result->work.has_value = false;
	result->work.has_group = false;
	result->work.value.len = 0;
	result->work.group.len = 0;
	result->work.note.len = 0;
	result->noted = 0;
	return requeues != 0;
}

/* The record of a kind, if the run was granted that version. */
static const struct record *granted_record(const struct master_key *key, enum record_kind kind)
{
	struct versions versions = key->booking.versions;
	const struct record *record = key->records[kind];

	return record && record->seq == *version_of(&versions, kind) ? record : NULL;
}

/* Whether @granted has a group that @beside lacks, or a newer value or note. */
static bool has_more(const struct master_key *key, const struct record *granted,
		     const struct record *beside)
{
	if (granted->work.has_group && !beside->work.has_group)
		return true;
	if (note_version(granted) > note_version(beside) && !key_ends_note(key, granted))
		return true;
	return granted->work.has_value &&
	       (!beside->work.has_value || value_version(granted) > value_version(beside));
}

/*
 * The granted records will be erased. An add or a timed add beside the run takes their value, group
 * and note, unless it has newer ones. An adder without a value may have merged with something
 * older. A worker's retry is a timed add that names neither value nor group.
 */
static bool takes_from_run(const struct master_key *key, const struct record *beside)
{
	int i;

	for (i = 0; i < KEY_RECORDS; i++) {
		const struct record *granted = granted_record(key, i);

		if (granted && has_more(key, granted, beside))
			return true;
	}
	return false;
}

/* Its debt was granted. Another master would not know. */
static bool has_paid(const struct master_key *key, const struct record *timed)
{
	return timed->through && timed->through <= key->granted.timed;
}

/* The priority of the run, by the records that it was granted for. */
static int run_priority(const struct master_key *key)
{
	int i, priority = KWQ_PRIORITY_NONE;

	for (i = 0; i < KEY_RECORDS; i++) {
		const struct record *granted = granted_record(key, i);

		if (granted && granted->work.priority > priority)
			priority = granted->work.priority;
	}
	return priority == KWQ_PRIORITY_NONE ? 0 : priority;
}

/*
 * Fills in what becomes of an add or a timed add that came beside the run. If it names no priority,
 * it keeps that of the run. Returns false if it stays as it is.
 */
static bool make_beside(const struct master_key *key, enum record_kind kind,
			struct record *result)
{
	struct versions versions = key->booking.versions;
	const struct record *beside = key->records[kind];
	static const struct versions none;
	int priority = run_priority(key);
	bool is_paid, keeps, has_old_note;

	if (!beside || beside->seq <= *version_of(&versions, kind))
		return false;
	is_paid = kind == RECORD_TIMED && has_paid(key, beside);
	keeps = beside->work.priority == KWQ_PRIORITY_NONE && priority;
	/* Its adder has merged with what the run was granted. */
	has_old_note = beside->work.note.len && key_ends_note(key, beside);
	if (!is_paid && !keeps && !has_old_note && !takes_from_run(key, beside))
		return false;
	*result = *beside;
	result->work = key_work(key, &none);
	result->work.priority = keeps ? priority : beside->work.priority;
	result->work.requeues = beside->work.requeues;
	result->valued = key_value_version(key);
	result->noted = key_note_version(key);
	if (is_paid) {
		result->past = NEVER;
		result->through = 0;
	}
	return true;
}

static void publish_result(struct master *master, struct op *op)
{
	const struct booking *booking = &op->key->booking;

	if (op_register(master, op))
		master->ops->publish(master->arg, op->id, booking->result, booking->expected);
}

static void read_again(struct master *master, struct op *op)
{
	if (op_register(master, op))
		master->ops->read(master->arg, op->id, op->key->booking.kind, &op->key->hash);
}

/* The tail has to deliver this, or something newer. */
static void is_written(struct master *master, struct master_key *key, uint64_t seq)
{
	key->booking.written = seq;
	done_record_received(master, key);
}

/* The stream has it no more. */
static void forget_record(struct master_key *key, enum record_kind kind)
{
	free(key->records[kind]);
	key->records[kind] = NULL;
}

static void result_was_published(struct master *master, struct op *op, enum op_result result,
				 uint64_t seq, const struct record *record);

/*
 * Whether a newer record than the one that was there will do. A newer add is an adder's, and is
 * looked at when the tail has it. A newer retry is of this done, or of an earlier one: a publish
 * that was given up may be stored late, after its record was erased. The late one is replaced. So
 * is a damaged one, while a damaged add is left to its adder: no tail delivers them.
 */
static bool will_do(const struct booking *booking, const struct record *there)
{
	const struct record *wanted = booking->result;

	if (booking->stage != STAGE_RETRY)
		return true;
	return there->state == wanted->state && there->due == wanted->due &&
	       there->valued == wanted->valued && there->noted == wanted->noted &&
	       there->work.abandoned == wanted->work.abandoned &&
	       same_work(&there->work, &wanted->work);
}

static void result_was_read(struct master *master, struct op *op, enum op_result result,
			    uint64_t seq, const struct record *record)
{
	struct booking *booking = &op->key->booking;

	if (result == OP_OK && seq > booking->base && will_do(booking, record)) {
		is_written(master, op->key, seq);
	} else if (result == OP_UNKNOWN) {
		op_order_later(master, op);
	} else if (booking->stage != STAGE_RETRY && seq != booking->expected) {
		forget_record(op->key, booking->kind);
		advance(master, op->key);
	} else {
		booking->expected = seq;
		key_order(master, op->key, publish_result, result_was_published);
	}
}

static void result_was_published(struct master *master, struct op *op, enum op_result result,
				 uint64_t seq, const struct record *record)
{
	(void)record;
	if (result == OP_OK)
		is_written(master, op->key, seq);
	else if (result == OP_UNKNOWN)
		op_order_later(master, op);
	else
		key_order(master, op->key, read_again, result_was_read);
}

/* A version that the tail has seen replaced is not in the stream any more. */
static uint64_t version_to_erase(struct master_key *key, enum record_kind kind)
{
	uint64_t version = *version_of(&key->booking.versions, kind);

	if (key->booking.erased & 1U << kind)
		return 0;
	return key->records[kind] && key->records[kind]->seq > version ? 0 : version;
}

static void erase_next(struct master *master, struct master_key *key);

/* From the stage of what came beside the run on. */
static void write_beside(struct master *master, struct master_key *key)
{
	key->booking.stage = STAGE_RETRY;
	advance(master, key);
}

static void is_erased(struct master *master, struct master_key *key)
{
	enum record_kind kind = key->booking.kind;

	if (version_to_erase(key, kind))
		forget_record(key, kind);
	key->booking.erased |= 1U << kind;
	erase_next(master, key);
}

static void erase_version(struct master *master, struct op *op)
{
	uint64_t version = version_to_erase(op->key, op->key->booking.kind);

	/* The tail has seen it replaced since this was ordered. */
	if (!version)
		is_erased(master, op->key);
	else if (op_register(master, op))
		master->ops->erase(master->arg, op->id, version);
}

/* An adder has replaced it, or it was erased before. */
static void erased_was_read(struct master *master, struct op *op, enum op_result result,
			    uint64_t seq, const struct record *record)
{
	struct master_key *key = op->key;

	(void)record;
	if (result == OP_UNKNOWN)
		op_order_later(master, op);
	else if (result == OP_OK && seq > *version_of(&key->booking.versions, key->booking.kind))
		is_written(master, key, seq);
	else
		is_erased(master, key);
}

static void version_was_erased(struct master *master, struct op *op, enum op_result result,
			       uint64_t seq, const struct record *record)
{
	(void)seq;
	(void)record;
	if (result == OP_UNKNOWN)
		op_order_later(master, op);
	else if (result == OP_NOT_FOUND && version_to_erase(op->key, op->key->booking.kind))
		key_order(master, op->key, read_again, erased_was_read);
	else
		is_erased(master, op->key);
}

static void end_done(struct master *master, struct master_key *key)
{
	struct token token = key->booking.token;
	struct key_hash hash = key->hash;
	struct peer *holder = key->booking.holder;

	key_unbook(master, key);
	stay_forget(master, key);
	key->next_stay = 0;
	key_settle(master, key);
	if (holder)
		done_confirm(master, holder->name, &hash, token);
}

/*
 * The newest value is erased last. So an adder who merged with an older one is met before, and
 * gets it.
 */
static void erase_next(struct master *master, struct master_key *key)
{
	struct booking *booking = &key->booking;
	uint64_t lowest = UINT64_MAX;
	struct record result;
	int i;

	if (make_beside(key, RECORD_TIMED, &result) || make_beside(key, RECORD_ADD, &result)) {
		write_beside(master, key);
		return;
	}
	for (i = 0; i < KEY_RECORDS; i++) {
		const struct record *record = key->records[i];
		uint64_t version = record ? value_version(record) : 0;

		if (!version_to_erase(key, i) || version >= lowest)
			continue;
		lowest = version;
		booking->kind = i;
	}
	if (lowest != UINT64_MAX)
		key_order(master, key, erase_version, version_was_erased);
	else
		end_done(master, key);
}

static void publish_over(struct master *master, struct master_key *key, const struct record *result)
{
	struct booking *booking = &key->booking;

	booking->result = record_copy(result);
	if (!booking->result) {
		master_fail(master);
		return;
	}
	booking->kind = result->kind;
	booking->base = result->seq;
	booking->expected = result->seq;
	key_order(master, key, publish_result, result_was_published);
}

/* Writes what the stage writes, if that is not in the stream yet. */
static void do_stage(struct master *master, struct master_key *key)
{
	struct booking *booking = &key->booking;
	struct record result;

	free(booking->result);
	booking->result = NULL;
	if (booking->stage == STAGE_ERASE)
		erase_next(master, key);
	else if (make_beside(key, booking->stage == STAGE_TIMED ? RECORD_TIMED : RECORD_ADD,
			     &result))
		publish_over(master, key, &result);
	else
		advance(master, key);
}

static void advance(struct master *master, struct master_key *key)
{
	key->booking.stage++;
	do_stage(master, key);
}

/*
 * The booking lasts until the tail has delivered what was written. So a key whose retry was erased
 * is not taken for dirty when the tail delivers it late. An adder's record in its place is treated
 * like all that comes beside the run.
 */
void done_record_received(struct master *master, struct master_key *key)
{
	struct booking *booking = &key->booking;
	const struct record *record = key->records[booking->kind];

	if (!record || record->seq < booking->written)
		return;
	booking->written = 0;
	if (booking->stage == STAGE_REQUEST)
		request_record_received(master, key);
	else if (booking->is_loss)
		loss_is_stored(master, key);
	else if (booking->stage == STAGE_RETRY || booking->stage == STAGE_ERASE)
		write_beside(master, key);
	else
		do_stage(master, key);
}

/* The record has the sequence number of the one that it replaces. */
void done_publish(struct master *master, struct master_key *key, struct record *result)
{
	const struct record *old = key->records[RECORD_RETRY];

	result->seq = old ? old->seq : key->booking.versions.retry;
	publish_over(master, key, result);
}

static void begin(struct master *master, struct master_key *key, const struct message *message)
{
	struct booking *booking = &key->booking;
	struct record result;

	key_begin_end(key);
	/* Only a run that ends well ends the note of an earlier failure. */
	if (message->outcome != OUTCOME_DONE)
		booking->noted = 0;
	if (!make_retry(key, message, &result)) {
		advance(master, key);
		return;
	}
	done_publish(master, key, &result);
}

void done_message(struct master *master, const struct message *message)
{
	struct master_key *key = key_find(master, &message->hash);
	struct peer *peer = peer_find(master, message->machine);

	if (!master->is_serving)
		return;
	if (peer)
		recalls_untaken(peer, message->untaken);
	if (!key || !key->is_booked || !same_token(key->booking.token, message->token)) {
		done_confirm(master, message->machine, &message->hash, message->token);
		return;
	}
	if (key->booking.stage != STAGE_NONE)
		return;
	if (message->outcome != OUTCOME_RETURNED)
		requests_job_ended(key);
	if (message->outcome == OUTCOME_RETURNED)
		loss_begin(master, key, message->work.abandoned);
	else
		begin(master, key, message);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Events of the engine and of the local queues go to the cores.
 */
#include "machine_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "base/read_clock.h"

#define DAMAGE_PAUSE (60 * NS_PER_S)

/* ---- Events of the engine ------------------------------------------------- */

/* There may be many. One is told of in a minute. */
static void complain_fault(struct machine *m, const struct engine_event *event, const char *fault)
{
	uint64_t now = machine_clock();
	char shown[SUBJECT_MAX];

	if (m->damage_told_at && now - m->damage_told_at < DAMAGE_PAUSE)
		return;
	m->damage_told_at = now;
	message("%s: record %llu %s", subject_shown(shown, event->subject),
		(unsigned long long)event->seq, fault);
}

/*
 * Decodes a record. Returns false for one that nobody can read, after a message. One of a newer
 * version counts as damaged. It is a stray one: a newer program writes it only if all machines can
 * read it.
 */
static bool decode(struct machine *m, struct record *record, const struct engine_event *event)
{
	int err = record_decode(record, &m->memory, m->options.names, event->subject, event->seq,
				event->data);
	const char *fault = record_fault(err);

	if (!err)
		return true;
	if (fault)
		complain_fault(m, event, fault);
	else
		machine_fail(m, err);
	return false;
}

static void on_ended(struct machine *m, const struct engine_event *event)
{
	enum op_result result;
	struct record record;
	struct errand *errand;
	int64_t id = event->id;

	HASH_FIND(hh, m->errands, &id, sizeof(id), errand);
	if (!errand)
		return;
	HASH_DEL(m->errands, errand);
	result = convert_result(event->result);
	if (result != OP_UNKNOWN)
		m->answered_at = machine_clock();
	if (event->result == RESULT_FULL || event->result == RESULT_REFUSED) {
		machine_complain(m, event->text);
		machine_note_no_room(m);
	}
	if (errand->is_read && result == OP_OK && !decode(m, &record, event)) {
		result = OP_DAMAGED;
		record = (struct record){ .seq = event->seq };
	}
	m->lacks_join = errand->owner == OWNER_MEMBER && errand->op == m->join_op &&
			result == OP_NOT_FOUND;
	if (!m->has_failed)
		errand_answer(m, errand, result, event->seq, &record);
	m->lacks_join = false;
	free(errand);
}

static void on_entry(struct machine *m, const struct engine_event *event)
{
	int64_t tail = event->id;
	struct record record;

	m->answered_at = machine_clock();
	if (list_entry(m, event))
		return;
	/* A master that buries a machine has to know its last heartbeat, damaged or not. */
	if (!decode(m, &record, event) &&
	    (m->has_failed || record_damaged_beat(&record, &m->memory, m->options.names,
						  event->subject, event->seq)))
		return;
	if (tail == m->member_tail)
		member_record(m->member, m->tail, &record, machine_now(m));
	else if (m->master && tail == m->master_tail)
		master_record(m->master, &record, machine_now(m));
}

/* A message that cannot be read is as one that is lost. */
static void on_message(struct machine *m, const struct engine_event *event)
{
	int64_t listener = event->id;
	struct message message;

	if (message_decode(&message, &m->memory, event->data))
		return;
	if (listener == m->own)
		member_message(m->member, &message, machine_now(m));
	else if (m->master && listener == m->asks)
		master_message(m->master, &message, machine_now(m));
}

void on_engine(struct machine *m, const struct engine_event *event)
{
	switch (event->kind) {
	case EVENT_UP:
		m->answered_at = machine_clock();
		complaints_set(&m->complaints, COMPLAINTS_GOOD);
		m->is_up = true;
		if (!engine_has_made_stream(m->engine))
			member_expect_others(m->member);
		break;
	case EVENT_DOWN:
	case EVENT_REFUSED:
		m->is_up = false;
		complaints_set(&m->complaints, event->text);
		break;
	case EVENT_WARNING:
		machine_complain(m, event->text);
		break;
	case EVENT_ENDED:
		on_ended(m, event);
		break;
	case EVENT_ENTRY:
		on_entry(m, event);
		break;
	case EVENT_MESSAGE:
		on_message(m, event);
		break;
	case EVENT_CAUGHT_UP:
		list_caught_up(m, event);
		break;
	}
}

/* ---- Events of the local queues -------------------------------------------- */

/* The local queues go by the wall clock of this machine. */
static int64_t clock_shift(const struct machine *m)
{
	return engine_wall(m->engine) - read_clock(CLOCK_REALTIME);
}

/* @id tells the records of an add apart. */
static void add_record(struct machine *m, uint64_t id, const struct local_event *event, bool waits)
{
	const struct member_add add = convert_add(event, waits, clock_shift(m));

	member_add(m->member, id, &add, machine_now(m));
}

static void on_add(struct machine *m, const struct local_event *event)
{
	struct add *add = calloc(1, sizeof(*add));
	uint64_t id = (uintptr_t)add;

	if (!add) {
		machine_fail(m, -ENOMEM);
		return;
	}
	add->local = event->id;
	add->left = event->is_ready + event->is_waiting;
	DL_APPEND(m->adds, add);
	if (event->is_ready)
		add_record(m, id, event, false);
	if (event->is_waiting)
		add_record(m, id | 1, event, true);
}

static void on_local_end(struct machine *m, const struct local_event *event)
{
	struct ended *ended = calloc(1, sizeof(*ended));
	const struct member_end end = convert_end(event, clock_shift(m));

	if (ended) {
		ended->hash = event->hash;
		ended->id = event->id;
		HASH_ADD(hh, m->ended, hash, sizeof(ended->hash), ended);
	}
	if (!ended || !HASH_HAS(ended)) {
		free(ended);
		machine_fail(m, -ENOMEM);
		return;
	}
	member_ended(m->member, &event->hash, event->token, &end, machine_now(m));
}

void on_local(struct machine *m, const struct local_event *event)
{
	switch (event->kind) {
	case LOCAL_ADD:
		on_add(m, event);
		break;
	case LOCAL_TAKEN:
	case LOCAL_UNTAKEN:
		member_taken(m->member, &event->hash, event->token, event->kind == LOCAL_TAKEN,
			     machine_now(m));
		break;
	case LOCAL_ENDED:
		on_local_end(m, event);
		break;
	case LOCAL_QUEUE:
		break;
	}
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Errands: what the engine has to do for the cores, and its answers.
 */
#include "machine_internal.h"

#include <errno.h>
#include <stdlib.h>

void errand_note(struct machine *m, enum owner by, uint64_t op, bool is_read, int64_t id)
{
	struct errand *errand = calloc(1, sizeof(*errand));

	if (!errand) {
		machine_fail(m, -ENOMEM);
		return;
	}
	*errand = (struct errand){
		.id = id, .owner = by, .op = op, .epoch = m->epoch, .is_read = is_read,
	};
	if (id < 0) {
		DL_APPEND(m->refused, errand);
		return;
	}
	HASH_ADD(hh, m->errands, id, sizeof(errand->id), errand);
	if (HASH_HAS(errand))
		return;
	free(errand);
	machine_fail(m, -ENOMEM);
}

static struct bytes encoded(const struct machine *m)
{
	return (struct bytes){ m->buffer.bytes, m->buffer.len };
}

void errand_publish(struct machine *m, enum owner by, uint64_t op, const struct record *record,
		    uint64_t expected)
{
	char subject[SUBJECT_MAX];
	int err = record_subject(subject, m->options.names, record);

	if (!err)
		err = record_encode(&m->buffer, record);
	if (err) {
		machine_fail(m, err);
		return;
	}
	errand_note(m, by, op, false,
		    engine_publish(m->engine, subject, encoded(m),
				   expected == EXPECT_ANY ? ENGINE_ANY : expected));
}

void errand_read(struct machine *m, enum owner by, uint64_t op, const struct record *like)
{
	char subject[SUBJECT_MAX];

	if (record_subject(subject, m->options.names, like))
		machine_fail(m, -EINVAL);
	else
		errand_note(m, by, op, true, engine_read(m->engine, subject));
}

void errand_say(struct machine *m, const char *subject, const struct message *message)
{
	if (message_encode(&m->buffer, message))
		machine_fail(m, -ENOMEM);
	else
		engine_say(m->engine, subject, encoded(m));
}

void errand_answer(struct machine *m, const struct errand *errand, enum op_result result,
		   uint64_t seq, const struct record *record)
{
	if (errand->owner == OWNER_MEMBER && errand->is_read)
		member_read(m->member, errand->op, result, record, machine_now(m));
	else if (errand->owner == OWNER_MEMBER)
		member_result(m->member, errand->op, result, seq, machine_now(m));
	else if (!m->master || errand->epoch != m->epoch)
		return;
	else if (errand->is_read)
		master_read(m->master, errand->op, result, record, machine_now(m));
	else
		master_result(m->master, errand->op, result, seq, machine_now(m));
}

void errands_answer_refused(struct machine *m)
{
	struct errand *errand, *list = m->refused;

	m->refused = NULL;
	while (list) {
		errand = list;
		DL_DELETE(list, errand);
		errand_answer(m, errand, OP_UNKNOWN, 0, NULL);
		free(errand);
	}
}

void errands_free(struct machine *m)
{
	struct errand *errand, *next;

	HASH_ITER(hh, m->errands, errand, next) {
		HASH_DEL(m->errands, errand);
		free(errand);
	}
	DL_FOREACH_SAFE(m->refused, errand, next)
		free(errand);
}

/* An add is repeated after a time, so the next refusal comes soon if there is still no room. */
static bool is_no_room_over(const struct machine *m, uint64_t now)
{
	return now - m->no_room_at > m->options.ttl / 2;
}

void machine_note_no_room(struct machine *m)
{
	uint64_t now = machine_clock();

	if (!m->no_room_at || is_no_room_over(m, now))
		m->no_room_since = now;
	m->no_room_at = now;
}

bool machine_lacks_room(const struct machine *m)
{
	uint64_t now = machine_clock();

	return m->no_room_at && !is_no_room_over(m, now) &&
	       now - m->no_room_since >= m->options.ttl / BEATS_PER_TTL;
}

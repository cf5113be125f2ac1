// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Orders of the cores to the engine, and its answers.
 */
#include "machine_internal.h"

#include <errno.h>
#include <stdlib.h>

void order_note(struct machine *m, enum owner by, uint64_t op, bool is_read, int64_t id)
{
	struct order *order = calloc(1, sizeof(*order));

	if (!order) {
		machine_fail(m, -ENOMEM);
		return;
	}
	*order = (struct order){
		.id = id, .owner = by, .op = op, .epoch = m->epoch, .is_read = is_read,
	};
	if (id < 0) {
		DL_APPEND(m->refused, order);
		return;
	}
	HASH_ADD(hh, m->orders, id, sizeof(order->id), order);
	if (HASH_HAS(order))
		return;
	free(order);
	machine_fail(m, -ENOMEM);
}

static struct bytes encoded(const struct machine *m)
{
	return (struct bytes){ m->buffer.bytes, m->buffer.len };
}

void order_publish(struct machine *m, enum owner by, uint64_t op, const struct record *record,
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
	order_note(m, by, op, false,
		   engine_publish(m->engine, subject, encoded(m),
				  expected == EXPECT_ANY ? ENGINE_ANY : expected));
}

void order_read(struct machine *m, enum owner by, uint64_t op, const struct record *like)
{
	char subject[SUBJECT_MAX];

	if (record_subject(subject, m->options.names, like))
		machine_fail(m, -EINVAL);
	else
		order_note(m, by, op, true, engine_read(m->engine, subject));
}

void order_say(struct machine *m, const char *subject, const struct message *message)
{
	if (message_encode(&m->buffer, message))
		machine_fail(m, -ENOMEM);
	else
		engine_say(m->engine, subject, encoded(m));
}

void order_answer(struct machine *m, const struct order *order, enum op_result result,
		  uint64_t seq, const struct record *record)
{
	if (order->owner == OWNER_MEMBER && order->is_read)
		member_read(m->member, order->op, result, record, machine_now(m));
	else if (order->owner == OWNER_MEMBER)
		member_result(m->member, order->op, result, seq, machine_now(m));
	else if (!m->master || order->epoch != m->epoch)
		return;
	else if (order->is_read)
		master_read(m->master, order->op, result, record, machine_now(m));
	else
		master_result(m->master, order->op, result, seq, machine_now(m));
}

void orders_answer_refused(struct machine *m)
{
	struct order *order, *list = m->refused;

	m->refused = NULL;
	while (list) {
		order = list;
		DL_DELETE(list, order);
		order_answer(m, order, OP_UNKNOWN, 0, NULL);
		free(order);
	}
}

void orders_free(struct machine *m)
{
	struct order *order, *next;

	HASH_ITER(hh, m->orders, order, next) {
		HASH_DEL(m->orders, order);
		free(order);
	}
	DL_FOREACH_SAFE(m->refused, order, next)
		free(order);
}

/* An add is repeated after a time, so the next refusal comes soon if there is still no room. */
static bool is_no_room_over(const struct machine *m, uint64_t now)
{
	return now - m->no_room_at > m->options.ttl / 2;
}

void note_no_room(struct machine *m)
{
	uint64_t now = machine_clock();

	if (!m->no_room_at || is_no_room_over(m, now))
		m->no_room_since = now;
	m->no_room_at = now;
}

bool lacks_room(const struct machine *m)
{
	uint64_t now = machine_clock();

	return m->no_room_at && !is_no_room_over(m, now) &&
	       now - m->no_room_since >= m->options.ttl / BEATS_PER_TTL;
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "convert.h"

#include <linux/kwq.h>

struct member_add convert_add(const struct local_event *event, bool waits)
{
	struct member_add add = { .hash = event->hash, .work = event->work };

	if (!waits)
		return add;
	add.due = event->due;
	add.work.priority = event->wait_priority;
	return add;
}

struct member_end convert_end(const struct local_event *event)
{
	return (struct member_end){
		.outcome = event->outcome,
		.due = event->due,
		.requeues = event->work.requeues,
		.abandoned = event->work.abandoned,
		.priority = event->work.priority,
		.note = event->work.note,
	};
}

enum op_result convert_result(enum engine_result result)
{
	switch (result) {
	case RESULT_OK:
		return OP_OK;
	case RESULT_WRONG_SEQUENCE:
		return OP_WRONG_SEQUENCE;
	case RESULT_GONE:
	case RESULT_NONE:
		return OP_NOT_FOUND;
	/* Not done, and so done later: the cores repeat what is unknown. */
	default:
		return OP_UNKNOWN;
	}
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "convert.h"

#include <linux/kwq.h>

/* 0 is none. A time that cannot be shifted is the first or the last one. */
static uint64_t shifted(uint64_t due, int64_t shift)
{
	uint64_t by = shift < 0 ? -(uint64_t)shift : (uint64_t)shift;

	if (!due)
		return 0;
	if (shift < 0)
		return due > by ? due - by : 1;
	return due < UINT64_MAX - by ? due + by : UINT64_MAX;
}

struct member_add convert_add(const struct local_event *event, bool waits, int64_t shift)
{
	struct member_add add = { .hash = event->hash, .work = event->work };

	if (!waits)
		return add;
	add.due = shifted(event->due, shift);
	add.work.priority = event->wait_priority;
	return add;
}

struct member_end convert_end(const struct local_event *event, int64_t shift)
{
	return (struct member_end){
		.outcome = event->outcome,
		.due = shifted(event->due, shift),
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

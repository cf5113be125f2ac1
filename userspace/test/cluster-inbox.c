// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The order in which the engine's caller gets what threads of libnats have put. */
#include <poll.h>
#include <stdlib.h>

#include "engine_internal.h"
#include "tap.h"

enum { RECORDS = 1000 };

static struct inbox *inbox;
static bool are_sorted = true;

static void put(enum raw_kind kind, uint64_t id)
{
	struct raw *raw = raw_new(kind, "");

	if (raw)
		raw->id = id;
	inbox_put(inbox, raw);
}

static void put_records(unsigned int nr)
{
	static uint64_t id;

	while (nr--)
		put(RAW_TAIL, id++);
}

/* Takes records, in their order, until something else comes. Returns how many. */
static unsigned int take_records(enum raw_kind *other)
{
	static uint64_t wanted;
	unsigned int nr = 0;
	struct raw *raw;

	*other = RAW_TAIL;
	while (*other == RAW_TAIL && (raw = inbox_next(inbox))) {
		*other = raw->kind;
		if (raw->kind == RAW_TAIL) {
			are_sorted &= raw->id == wanted++;
			nr++;
		}
		raw_free(raw);
	}
	return nr;
}

static void put_answers(unsigned int nr)
{
	while (nr--)
		put(RAW_REPLY, 0);
}

static unsigned int answers_before_a_record(void)
{
	enum raw_kind other = RAW_REPLY;
	unsigned int nr = 0;

	while (!take_records(&other) && other == RAW_REPLY)
		nr++;
	return nr;
}

/* Returns false at the end. */
static bool take_answers_and_records(void)
{
	enum raw_kind other;

	return take_records(&other) || other == RAW_REPLY;
}

static bool is_readable(void)
{
	struct pollfd fd = { .fd = inbox->fd, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

int main(void)
{
	enum raw_kind other;

	inbox = inbox_new();
	ok(inbox && inbox_is_empty(inbox) && !is_readable(), "an inbox");
	put_records(RECORDS);
	ok(is_readable(), "has records");
	put(RAW_REPLY, 0);
	ok(take_records(&other) <= RAWS_AT_ONCE && other == RAW_REPLY,
	   "an answer does not wait behind them");
	ok(!inbox_is_empty(inbox), "the records are there");
	put(RAW_REPLY, 0);
	ok(take_records(&other) <= RAWS_AT_ONCE && other == RAW_REPLY,
	   "one that comes meanwhile waits for few");
	put_answers(RECORDS);
	ok(answers_before_a_record() <= RAWS_AT_ONCE, "records do not wait behind answers");
	while (take_answers_and_records())
		;
	put_records(10);
	take_records(&other);
	ok(are_sorted && other == RAW_TAIL && inbox_is_empty(inbox) && !is_readable(), "all records come, in their order");
	put_records(1);
	ok(is_readable(), "the next one wakes");
	inbox_retire(inbox);
	return done_testing();
}

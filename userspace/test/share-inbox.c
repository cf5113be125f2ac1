// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The order in which the engine's caller gets what threads of libnats have put. */
#include "share-server.h"
#include "share/engine/engine_internal.h"

static struct inbox *inbox;

static void put(enum raw_kind kind, uint64_t id)
{
	struct raw *raw = raw_new(kind, "");

	if (raw)
		raw->id = id;
	inbox_put(inbox, raw);
}

static void put_records(uint64_t first, uint64_t last)
{
	for (uint64_t id = first; id <= last; id++)
		put(RAW_TAIL, id);
}

static uint64_t take_urgent(void)
{
	struct raw *raw = inbox_take_urgent(inbox);
	uint64_t id = raw ? raw->id : 0;

	if (raw)
		raw_free(raw);
	return id;
}

/* Takes all entries. Returns whether their numbers are first to last. */
static bool take_all(uint64_t first, uint64_t last)
{
	struct raw *raw, *next;
	bool are_right = true;

	for (raw = inbox_take(inbox); raw; raw = next) {
		next = raw->next;
		are_right &= raw->id == first++;
		raw_free(raw);
	}
	return are_right && first == last + 1;
}

static bool is_readable(void)
{
	struct pollfd fd = { .fd = inbox->fd, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

static void test_lists(void)
{
	inbox = inbox_new();
	ok(inbox && !is_readable() && !take_urgent() && take_all(1, 0), "an inbox is empty");
	put_records(1, 1000);
	ok(is_readable(), "records wake");
	put(RAW_URGENT, 2000);
	put(RAW_URGENT, 2001);
	ok(take_urgent() == 2000 && take_urgent() == 2001, "urgent answers overtake the records");
	ok(!take_urgent() && is_readable() && take_all(1, 1000), "all records come, in their order");
	ok(!is_readable(), "then nothing wakes");
	put(RAW_URGENT, 1);
	ok(is_readable(), "an urgent answer wakes");
	put_records(2, 4);
	ok(take_all(1, 4) && !is_readable(), "it comes with all others, as the first");
	put(RAW_URGENT, 5);
	ok(is_readable() && take_urgent() == 5 && take_all(1, 0) && !is_readable(),
	   "after the last entry nothing wakes");
	put(RAW_URGENT, 6);
	put_records(7, 9);
	inbox_retire(inbox);
}

static unsigned int count_answers(struct inbox *of)
{
	unsigned int nr = 0;

	pthread_mutex_lock(&of->lock);
	for (const struct raw *raw = of->urgent.first; raw; raw = raw->next)
		nr++;
	for (const struct raw *raw = of->others.first; raw; raw = raw->next)
		nr += raw->kind == RAW_REPLY || raw->kind == RAW_URGENT;
	pthread_mutex_unlock(&of->lock);
	return nr;
}

static bool await_answers(const struct client *c, unsigned int nr)
{
	uint64_t until = now_ns() + LIMIT * UINT64_C(1000000000);

	while (count_answers(c->engine->inbox) < nr) {
		if (now_ns() > until)
			return false;
		poll(NULL, 0, 1);
	}
	return true;
}

static void test_heartbeat(void)
{
	struct engine_event event = { .kind = EVENT_WARNING };
	const struct bytes data = { "x", 1 };
	char subject[SUBJECT_MAX];
	struct client c;
	int64_t beat;

	open_client(&c, (struct engine_options){ 0 }, "urgent", 1);
	wait_up(&c);
	snprintf(subject, sizeof(subject), "%s.c.m.x", c.names.root);
	while (engine_next(c.engine, &event))
		;
	engine_publish(c.engine, subject_of(&c, 1), data, ENGINE_ANY);
	ok(await_answers(&c, 1), "an answer waits");
	beat = engine_publish(c.engine, subject, data, ENGINE_ANY);
	ok(await_answers(&c, 2), "the answer to a heartbeat comes after it");
	ok(engine_next(c.engine, &event) && event.kind == EVENT_ENDED && event.id == (uint64_t)beat,
	   "the answer to a heartbeat overtakes it");
	ok(engine_next(c.engine, &event) && event.kind == EVENT_ENDED, "the other one follows");
	close_client(&c);
}

int main(void)
{
	test_lists();
	prepare();
	need_server();
	start_one(JETSTREAM, "");
	test_heartbeat();
	return done_testing();
}

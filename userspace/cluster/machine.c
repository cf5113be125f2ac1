// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "../kwq/cmd.h"
#include "../kwq/duration.h"
#include "complaints.h"
#include "convert.h"
#include "hash.h"
#include "master.h"

/* Parts of the lease. */
enum { BEATS_PER_TTL = 4, REPEATS_PER_TTL = 12, MARGINS_PER_TTL = 20, TTLS_UNTIL_CLEAN = 4 };

/* Clocks of machines may differ so much in speed within one lease (N5: moved within 2 s). */
#define MARGIN_MAX NS_PER_S

/* A key that was recalled from a machine is not recalled again before. */
#define RECALL_PAUSE (NS_PER_S / 10)

enum { EVENTS_PER_STEP = 256 };

/* A queue that has no room is asked again after this time. */
#define FULL_PAUSE NS_PER_S

enum owner { OWNER_MEMBER, OWNER_MASTER };

/*
 * An operation of a core that the engine carries out.
 *
 * @id: of the engine
 * @op: of the core
 * @epoch: of the master that ordered it
 */
struct order {
	UT_hash_handle hh;
	struct order *prev, *next;
	int64_t id;
	enum owner owner;
	uint64_t op, epoch;
	bool is_read;
};

/* A key whose end was told by the local queue, and is not yet confirmed. */
struct ended {
	UT_hash_handle hh;
	struct key_hash hash;
	uint64_t id;
};

/* A grant that the local queue did not take. */
struct returned {
	struct returned *prev, *next;
	struct key_hash hash;
	struct token token;
	struct member_end end;
};

/*
 * An add of the local queue. One that is ready and waits for a time is two records. The member
 * knows the first by the address, and the second by the address and 1.
 *
 * @local: its number in the local queue
 * @left: records that are not yet in the stream
 */
struct add {
	struct add *prev, *next;
	uint64_t local;
	unsigned int left;
};

/* Work for outside of the callbacks of the cores. */
enum {
	SHALL_JOIN = 1 << 0,
	SHALL_DEPOSE = 1 << 1,
	SHALL_ELECT = 1 << 2,
	SHALL_SERVE = 1 << 3,
};

/*
 * @orders: under way, by @id
 * @refused: orders that the engine did not take; their result is unknown
 * @returned: grants that the local queue did not take, and that go back after the step
 * @full_until: until when nothing is asked for, because the local queue is full
 * @member_tail, @tail: the tail of the engine, and its number for the member
 * @own, @asks: listeners for messages to this machine, and to its master
 * @shall: SHALL_* bits
 * @elected, @elected_by: the epoch of the master that SHALL_SERVE means, and its record
 * @answered_at: when the engine answered or delivered something
 * @getters: workers that wait for a key here, as the last step saw it
 * @has_workers: there are some, who wait or work
 * @is_open: the local queue hands keys out
 * @is_over: it was shut down or removed
 * @is_leaving: machine_leave() was called
 * @given_back: keys that no worker had taken when it left
 * @complaints: what was printed of the engine, so that it is not repeated
 */
struct machine {
	struct machine_options options;
	struct engine *engine;
	struct local *local;
	struct member *member;
	struct master *master;
	uint64_t epoch, elected, elected_by;
	struct order *orders, *refused;
	struct ended *ended;
	struct returned *returned;
	struct add *adds;
	int64_t member_tail, master_tail, own, asks;
	uint64_t tail, answered_at, full_until;
	unsigned int shall;
	uint32_t group_limit, getters;
	bool has_left, has_failed, has_lease, has_workers, has_more;
	bool is_up, is_open, is_over, is_leaving;
	char name[MACHINE_MAX];
	size_t given_back;
	struct complaints complaints;
	struct buffer buffer;
	struct record_memory memory;
};

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static struct instant now(void)
{
	return (struct instant){
		.boot = read_clock(CLOCK_BOOTTIME),
		.wall = read_clock(CLOCK_REALTIME),
	};
}

static void fail(struct machine *m, int err)
{
	if (!m->has_failed)
		message("%s", meaning(err));
	m->has_failed = true;
}

/* A message about the engine, unless it was printed within the last minute. */
static void complain_engine(struct machine *m, const char *text)
{
	if (complaints_may_say(&m->complaints, text, read_clock(CLOCK_BOOTTIME)))
		message("%s", text);
}

/* ---- Orders of the cores to the engine ------------------------------------ */

/* @id is what the engine answered. */
static void note_order(struct machine *m, enum owner by, uint64_t op, bool is_read, int64_t id)
{
	struct order *order = calloc(1, sizeof(*order));

	if (!order) {
		fail(m, -ENOMEM);
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
	fail(m, -ENOMEM);
}

static struct bytes encoded(const struct machine *m)
{
	return (struct bytes){ m->buffer.bytes, m->buffer.len };
}

static void publish(struct machine *m, enum owner by, uint64_t op, const struct record *record,
		    uint64_t expected)
{
	char subject[SUBJECT_MAX];
	int err = record_subject(subject, m->options.names, record);

	if (!err)
		err = record_encode(&m->buffer, record);
	if (err) {
		fail(m, err);
		return;
	}
	note_order(m, by, op, false,
		   engine_publish(m->engine, subject, encoded(m),
				  expected == EXPECT_ANY ? ENGINE_ANY : expected));
}

static void read_last(struct machine *m, enum owner by, uint64_t op, enum record_kind kind,
		      const struct key_hash *hash)
{
	const struct record record = { .kind = kind, .hash = *hash };
	char subject[SUBJECT_MAX];

	if (record_subject(subject, m->options.names, &record))
		fail(m, -EINVAL);
	else
		note_order(m, by, op, true, engine_read(m->engine, subject));
}

/* Messages may be lost. The cores repeat them. */
static void say(struct machine *m, const char *subject, const struct message *message)
{
	if (message_encode(&m->buffer, message))
		fail(m, -ENOMEM);
	else
		engine_say(m->engine, subject, encoded(m));
}

/* ---- Orders of the member --------------------------------------------- */

static void member_send(void *arg, const struct message *message)
{
	struct machine *m = arg;
	char subject[SUBJECT_MAX];

	master_subject(subject, m->options.names, message->epoch);
	say(m, subject, message);
}

/* Adds leave room for heartbeats. The core repeats one that was not taken. */
static bool has_room(struct machine *m, const struct record *record)
{
	size_t bytes = record->work.key.len + record->work.group.len + record->work.value.len;

	if (record->kind != RECORD_ADD && record->kind != RECORD_TIMED)
		return true;
	if (engine_has_room(m->engine, bytes))
		return true;
	complain_engine(m, "the stream is nearly full: adds wait here; raise its max_bytes");
	return false;
}

static void member_publish(void *arg, uint64_t op, const struct record *record, uint64_t expected)
{
	struct machine *m = arg;

	if (has_room(m, record))
		publish(m, OWNER_MEMBER, op, record, expected);
	else
		note_order(m, OWNER_MEMBER, op, false, -ENOSPC);
}

static void member_read_last(void *arg, uint64_t op, enum record_kind kind,
			     const struct key_hash *hash)
{
	read_last(arg, OWNER_MEMBER, op, kind, hash);
}

static void member_follow(void *arg, uint64_t tail)
{
	struct machine *m = arg;

	if (m->member_tail)
		engine_unfollow(m->engine, m->member_tail);
	m->tail = tail;
	m->member_tail = engine_follow(m->engine, m->options.names->control, 1);
	if (m->member_tail < 0)
		fail(m, m->member_tail);
}

static void member_lease_until(void *arg, uint64_t boot)
{
	struct machine *m = arg;
	int err = local_set_term(m->local, boot);

	m->has_lease = true;
	if (err)
		fail(m, err);
}

static void forget_ended(struct machine *m, struct ended *ended)
{
	local_confirmed(m->local, ended->id);
	HASH_DEL(m->ended, ended);
	free(ended);
}

static void member_lease_lost(void *arg)
{
	struct machine *m = arg;
	struct ended *ended, *next;
	int err = local_set_term(m->local, 0);

	if (!err)
		err = local_revoke_all(m->local);
	if (err)
		fail(m, err);
	/* They run again elsewhere. */
	HASH_ITER(hh, m->ended, ended, next)
		forget_ended(m, ended);
	if (m->is_leaving)
		message("workers have lost their keys: these run again on other machines");
	else if (m->has_lease)
		message("the lease is over: the keys of this machine are taken back, and run again on one that reaches the engine");
	m->has_lease = false;
	m->shall |= SHALL_JOIN;
}

/* The local queue did not take a key. It goes back to the master after this step. */
static void note_returned(struct machine *m, const struct key_hash *hash, const struct work *work,
			  struct token token, int err)
{
	struct returned *returned = calloc(1, sizeof(*returned));

	if (!returned) {
		fail(m, -ENOMEM);
		return;
	}
	*returned = (struct returned){
		.hash = *hash,
		.token = token,
		.end = {
			.outcome = OUTCOME_RETURNED,
			.requeues = work->requeues,
			.priority = work->priority,
		},
	};
	DL_APPEND(m->returned, returned);
	m->full_until = read_clock(CLOCK_BOOTTIME) + FULL_PAUSE;
	complain_engine(m, err == -EEXIST ?
			"somebody has put a key into the queue itself: keys go into its outbox" :
			"the queue or its outbox is full: keys go back to other machines");
}

static void member_start(void *arg, const struct key_hash *hash, const struct work *work,
			 struct token token)
{
	struct machine *m = arg;
	int err = local_start(m->local, hash, work, token);

	if (err == -ENOSPC || err == -EDQUOT || err == -EEXIST)
		note_returned(m, hash, work, token, err);
	else if (err)
		fail(m, err);
}

static void member_take_back(void *arg, const struct key_hash *hash, struct token token)
{
	struct machine *m = arg;
	int err = local_take_back(m->local, hash, token);

	if (m->is_leaving && !err)
		m->given_back++;
	/* A worker has it, or will tell. */
	if (err && err != -EBUSY && err != -ENOENT)
		fail(m, err);
}

static void free_add(struct machine *m, struct add *add)
{
	DL_DELETE(m->adds, add);
	free(add);
}

static void member_added(void *arg, uint64_t id)
{
	struct add *add = (struct add *)(uintptr_t)(id & ~1ULL);
	struct machine *m = arg;
	int err;

	if (--add->left)
		return;
	err = local_stored(m->local, add->local);
	free_add(m, add);
	if (err)
		fail(m, err);
}

/* The end is in the stream, and local_event.id of it is of no more use. */
static void member_confirmed(void *arg, const struct key_hash *hash)
{
	struct machine *m = arg;
	struct ended *ended;

	HASH_FIND(hh, m->ended, hash, sizeof(*hash), ended);
	if (ended)
		forget_ended(m, ended);
}

static void member_elected(void *arg, uint64_t epoch, uint64_t seq)
{
	struct machine *m = arg;

	m->elected = epoch;
	m->elected_by = seq;
	m->shall |= SHALL_SERVE;
}

static void member_left(void *arg)
{
	struct machine *m = arg;

	m->has_left = true;
}

static const struct member_ops member_functions = {
	.send = member_send,
	.publish = member_publish,
	.read = member_read_last,
	.follow = member_follow,
	.lease_until = member_lease_until,
	.lease_lost = member_lease_lost,
	.start = member_start,
	.take_back = member_take_back,
	.confirmed = member_confirmed,
	.added = member_added,
	.elected = member_elected,
	.left = member_left,
};

/* ---- Orders of the master --------------------------------------------- */

static void master_send(void *arg, const char *name, const struct message *message)
{
	struct machine *m = arg;
	char subject[SUBJECT_MAX];

	if (!machine_subject(subject, m->options.names, name))
		say(m, subject, message);
}

static void master_publish(void *arg, uint64_t op, const struct record *record, uint64_t expected)
{
	publish(arg, OWNER_MASTER, op, record, expected);
}

static void master_erase(void *arg, uint64_t op, uint64_t seq)
{
	struct machine *m = arg;

	note_order(m, OWNER_MASTER, op, false, engine_erase(m->engine, seq));
}

static void master_read_last(void *arg, uint64_t op, enum record_kind kind,
			     const struct key_hash *hash)
{
	read_last(arg, OWNER_MASTER, op, kind, hash);
}

static void master_deposed(void *arg)
{
	struct machine *m = arg;

	m->shall |= SHALL_DEPOSE;
}

static void master_renew(void *arg)
{
	struct machine *m = arg;

	m->shall |= SHALL_ELECT;
}

static const struct master_ops master_functions = {
	.send = master_send,
	.publish = master_publish,
	.erase = master_erase,
	.read = master_read_last,
	.deposed = master_deposed,
	.renew = master_renew,
};

static void end_master(struct machine *m)
{
	if (!m->master)
		return;
	engine_unfollow(m->engine, m->master_tail);
	engine_unlisten(m->engine, m->asks);
	master_free(m->master);
	m->master = NULL;
	m->epoch = 0;
}

static void tell_heard(void *arg, const char *machine, uint64_t seq, uint64_t boot)
{
	struct machine *m = arg;

	master_heard(m->master, machine, seq, boot);
}

/* This machine was elected. */
static void begin_master(struct machine *m)
{
	const struct master_options options = {
		.epoch = m->elected,
		.elected = m->elected_by,
		.margin = earlier(m->options.ttl / MARGINS_PER_TTL, MARGIN_MAX),
		.repeat = m->options.ttl / REPEATS_PER_TTL,
		.recall = RECALL_PAUSE,
		.clean = m->options.ttl * TTLS_UNTIL_CLEAN,
		.group_limit = m->group_limit,
		.numbers = LOCAL_NUMBER_MAX,
	};
	char subject[SUBJECT_MAX];

	end_master(m);
	m->epoch = m->elected;
	m->master = master_new(&options, &master_functions, m);
	if (!m->master) {
		fail(m, -ENOMEM);
		return;
	}
	member_each_heard(m->member, tell_heard, m);
	master_subject(subject, m->options.names, m->epoch);
	m->asks = engine_listen(m->engine, subject);
	m->master_tail = engine_follow(m->engine, m->options.names->subjects, 1);
	if (m->asks < 0 || m->master_tail < 0)
		fail(m, -ENOMEM);
}

/* ---- The member's name ---------------------------------------------------- */

/* A name lives once. */
static int make_name(struct machine *m)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	snprintf(m->name, sizeof(m->name), "%.*s-%016llx", MACHINE_MAX - 18, m->options.host,
		 (unsigned long long)number);
	return 0;
}

static void join(struct machine *m)
{
	char subject[SUBJECT_MAX];
	int err = make_name(m);

	if (!err)
		err = machine_subject(subject, m->options.names, m->name);
	if (err) {
		fail(m, err);
		return;
	}
	if (m->own > 0)
		engine_unlisten(m->engine, m->own);
	m->own = engine_listen(m->engine, subject);
	if (m->own < 0)
		fail(m, m->own);
	else
		member_join(m->member, m->name, now());
}

/* ---- Events of the engine ------------------------------------------------- */

/* An answer of the engine goes to the core that ordered it. */
static void answer(struct machine *m, const struct order *order, enum op_result result,
		   uint64_t seq, const struct record *record)
{
	if (order->owner == OWNER_MEMBER && order->is_read)
		member_read(m->member, order->op, result, record, now());
	else if (order->owner == OWNER_MEMBER)
		member_result(m->member, order->op, result, seq, now());
	else if (!m->master || order->epoch != m->epoch)
		return;
	else if (order->is_read)
		master_read(m->master, order->op, result, record, now());
	else
		master_result(m->master, order->op, result, seq, now());
}

/*
 * Decodes a record. Returns false for one that is damaged, after a message: nobody can tell what it
 * was. A record of a newer version has to be obeyed, and this program cannot.
 */
static bool decode(struct machine *m, struct record *record, const struct engine_event *event)
{
	int err = record_decode(record, &m->memory, m->options.names, event->subject, event->seq,
				event->data);

	if (!err)
		return true;
	if (err == -EBADMSG) {
		message("%s: record %llu is damaged and left alone", event->subject,
			(unsigned long long)event->seq);
	} else if (err == -EPROTONOSUPPORT) {
		message("%s: a newer kwq share takes part in this queue: install that one here, too",
			event->subject);
		m->has_failed = true;
	} else {
		fail(m, err);
	}
	return false;
}

static void on_ended(struct machine *m, const struct engine_event *event)
{
	enum op_result result;
	struct record record;
	struct order *order;
	int64_t id = event->id;

	HASH_FIND(hh, m->orders, &id, sizeof(id), order);
	if (!order)
		return;
	HASH_DEL(m->orders, order);
	result = convert_result(event->result);
	if (result != OP_UNKNOWN)
		m->answered_at = read_clock(CLOCK_BOOTTIME);
	if (event->result == RESULT_FULL || event->result == RESULT_REFUSED)
		complain_engine(m, event->text);
	if (order->is_read && result == OP_OK && !decode(m, &record, event))
		result = OP_UNKNOWN;
	answer(m, order, result, event->seq, &record);
	free(order);
}

static void on_entry(struct machine *m, const struct engine_event *event)
{
	int64_t tail = event->id;
	struct record record;

	m->answered_at = read_clock(CLOCK_BOOTTIME);
	if (!decode(m, &record, event))
		return;
	if (tail == m->member_tail)
		member_record(m->member, m->tail, &record, now());
	else if (m->master && tail == m->master_tail)
		master_record(m->master, &record, now());
}

/* A message that cannot be read is as one that is lost. */
static void on_message(struct machine *m, const struct engine_event *event)
{
	int64_t listener = event->id;
	struct message message;

	if (message_decode(&message, &m->memory, event->data))
		return;
	if (listener == m->own)
		member_message(m->member, &message, now());
	else if (m->master && listener == m->asks)
		master_message(m->master, &message, now());
}

static void on_engine(struct machine *m, const struct engine_event *event)
{
	switch (event->kind) {
	case EVENT_UP:
		m->answered_at = read_clock(CLOCK_BOOTTIME);
		complaints_set(&m->complaints, COMPLAINTS_GOOD);
		m->is_up = true;
		break;
	case EVENT_DOWN:
	case EVENT_REFUSED:
		m->is_up = false;
		complaints_set(&m->complaints, event->text);
		break;
	case EVENT_WARNING:
		complain_engine(m, event->text);
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
		break;
	}
}

/* ---- Events of the local queues -------------------------------------------- */

/* @id tells the records of an add apart. */
static void add_record(struct machine *m, uint64_t id, const struct local_event *event,
		       const struct key_hash *hash, bool waits)
{
	const struct member_add add = convert_add(event, hash, waits);

	member_add(m->member, id, &add, now());
}

static void on_add(struct machine *m, const struct local_event *event)
{
	struct add *add = calloc(1, sizeof(*add));
	struct key_hash hash;
	uint64_t id = (uintptr_t)add;
	int err = add ? key_hash_of(&hash, event->work.key) : -ENOMEM;

	if (err) {
		free(add);
		fail(m, err);
		return;
	}
	add->local = event->id;
	add->left = event->is_ready + event->is_waiting;
	DL_APPEND(m->adds, add);
	if (event->is_ready)
		add_record(m, id, event, &hash, false);
	if (event->is_waiting)
		add_record(m, id | 1, event, &hash, true);
}

static void on_taken(struct machine *m, const struct local_event *event)
{
	struct key_hash hash;
	int err = key_hash_of(&hash, event->work.key);

	if (err)
		fail(m, err);
	else
		member_taken(m->member, &hash, event->token, event->kind == LOCAL_TAKEN, now());
}

static void on_local_end(struct machine *m, const struct local_event *event)
{
	struct ended *ended = calloc(1, sizeof(*ended));
	const struct member_end end = convert_end(event);
	int err = ended ? key_hash_of(&ended->hash, event->work.key) : -ENOMEM;

	if (!err)
		HASH_ADD(hh, m->ended, hash, sizeof(ended->hash), ended);
	if (err || !HASH_HAS(ended)) {
		free(ended);
		fail(m, err ? err : -ENOMEM);
		return;
	}
	ended->id = event->id;
	member_ended(m->member, &ended->hash, event->token, &end, now());
}

/* Whether the queue is paused, shut down or removed, and how many workers wait. */
static void look_at_queue(struct machine *m)
{
	struct local_state state;
	int err = local_state(m->local, &state);

	if (err) {
		fail(m, err);
		return;
	}
	m->group_limit = state.group_limit;
	m->getters = state.getters;
	m->has_workers = state.getters || state.processing;
	m->is_open = !state.is_paused && !state.is_shut_down && !state.is_unlinked;
	if (state.is_shut_down || state.is_unlinked)
		m->is_over = true;
}

static void on_local(struct machine *m, const struct local_event *event)
{
	switch (event->kind) {
	case LOCAL_ADD:
		on_add(m, event);
		break;
	case LOCAL_TAKEN:
	case LOCAL_UNTAKEN:
		on_taken(m, event);
		break;
	case LOCAL_ENDED:
		on_local_end(m, event);
		break;
	case LOCAL_QUEUE:
		break;
	}
}

/* ---- Steps ---------------------------------------------------------------- */

static void give_returned_back(struct machine *m)
{
	struct returned *returned, *next;

	DL_FOREACH_SAFE(m->returned, returned, next) {
		DL_DELETE(m->returned, returned);
		member_ended(m->member, &returned->hash, returned->token, &returned->end, now());
		free(returned);
	}
}

/* Orders that a core gave while it was called. */
static void do_shall(struct machine *m)
{
	while (m->shall && !m->has_failed) {
		unsigned int shall = m->shall;

		m->shall = 0;
		if (shall & SHALL_DEPOSE)
			end_master(m);
		if (shall & SHALL_SERVE)
			begin_master(m);
		if (shall & SHALL_ELECT)
			member_elect(m->member, now());
		if (shall & SHALL_JOIN && !m->has_left)
			join(m);
	}
}

/* The engine did not take these orders. The cores repeat them later. */
static void answer_refused(struct machine *m)
{
	struct order *order, *list = m->refused;

	m->refused = NULL;
	while (list) {
		order = list;
		DL_DELETE(list, order);
		answer(m, order, OP_UNKNOWN, 0, NULL);
		free(order);
	}
}

/*
 * A new master reads the whole stream. So a step takes a bounded number of events: heartbeats go
 * out meanwhile, and workers are served.
 */
static void take_engine_events(struct machine *m)
{
	struct engine_event event;
	unsigned int left = EVENTS_PER_STEP;
	const char *text;

	while (!m->has_failed && left && engine_next(m->engine, &event)) {
		on_engine(m, &event);
		text = complaints_due(&m->complaints, read_clock(CLOCK_BOOTTIME));
		if (text)
			message("%s", text);
		do_shall(m);
		left--;
	}
	text = complaints_due(&m->complaints, read_clock(CLOCK_BOOTTIME));
	if (text)
		message("%s", text);
	m->has_more = !left;
}

static void take_local_events(struct machine *m)
{
	struct local_event event;
	bool has_changed = false;
	int ret = 0;

	local_limit_adds(m->local, member_status(m->member).window);
	while (!m->has_failed && (ret = local_next(m->local, &event)) > 0) {
		on_local(m, &event);
		do_shall(m);
		has_changed = true;
	}
	/* A worker that has begun with a key does not wait any more. */
	if (has_changed)
		look_at_queue(m);
	if (ret < 0 && ret != -EINTR)
		fail(m, ret);
}

/* Keys are asked for as long as the queue hands them out, and there are workers. */
static void set_slots(struct machine *m)
{
	bool is_full = m->full_until && read_clock(CLOCK_BOOTTIME) < m->full_until;
	unsigned int slots = m->is_open && m->has_workers && !is_full ? m->options.slots : 0;

	if (!is_full)
		m->full_until = 0;
	member_set_slots(m->member, slots, slots ? m->getters : 0, now());
}

enum machine_step machine_step(struct machine *m)
{
	take_engine_events(m);
	take_local_events(m);
	answer_refused(m);
	give_returned_back(m);
	if (m->is_over && !m->is_leaving) {
		message("the queue was shut down or removed: this machine leaves");
		machine_leave(m, NEVER);
	}
	set_slots(m);
	member_tick(m->member, now());
	if (m->master)
		master_tick(m->master, now());
	do_shall(m);
	if (member_has_failed(m->member) || (m->master && master_has_failed(m->master)))
		fail(m, -ENOMEM);
	if (m->has_failed)
		return MACHINE_FAILED;
	return m->has_left ? MACHINE_LEFT : MACHINE_GOES_ON;
}

uint64_t machine_due(const struct machine *m)
{
	uint64_t due = earlier(member_next_due(m->member), m->full_until ?: NEVER), wall;
	struct instant of_master, at = now();

	if (m->refused || m->shall || m->returned || m->has_more)
		return 0;
	if (!m->master)
		return due;
	of_master = master_next_due(m->master);
	due = earlier(due, of_master.boot);
	if (of_master.wall == NEVER)
		return due;
	wall = of_master.wall > at.wall ? of_master.wall - at.wall : 0;
	return earlier(due, at.boot + wall);
}

/*
 * A master serves until its machine has left: others cannot work without it, and elect nobody
 * while its machine lives. The end of the name tells them.
 */
void machine_leave(struct machine *m, uint64_t deadline)
{
	m->is_leaving = true;
	member_leave(m->member, deadline, now());
}

/* A machine asks the engine something at least four times in a lease. */
static bool is_silent(const struct machine *m)
{
	return read_clock(CLOCK_BOOTTIME) - m->answered_at > m->options.ttl / 2;
}

/* Why the engine is away. "" if it is there, or if this is the first attempt to connect. */
static const char *cause(const struct machine *m)
{
	if (!m->is_up)
		return m->complaints.state;
	return is_silent(m) ? "it does not answer" : "";
}

void machine_state(const struct machine *m, struct machine_state *state)
{
	struct member_status member = member_status(m->member);
	struct master_status master = { 0 };

	if (m->master)
		master = master_status(m->master);
	*state = (struct machine_state){
		.is_up = m->is_up && !is_silent(m),
		.has_lease = m->has_lease,
		.is_master = m->master,
		.is_serving = master.is_serving,
		.is_over = m->is_over,
		.is_leaving = m->is_leaving,
		.cause = cause(m),
		.given_back = m->given_back,
		.epoch = member.epoch,
		.held = member.held,
		.adds = member.adds,
		.queue = {
			.ready = master.ready,
			.waiting = master.waiting,
			.booked = master.booked,
			.dead = master.dead,
			.machines = master.machines,
		},
	};
}

/* ---- Begin and end -------------------------------------------------------- */

struct machine *machine_new(const struct machine_options *options, struct engine *engine,
			    struct local *local)
{
	const struct member_options of_member = {
		.ttl = options->ttl,
		.beat = options->ttl / BEATS_PER_TTL,
		.repeat = options->ttl / REPEATS_PER_TTL,
		.is_candidate = options->is_candidate,
	};
	struct machine *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->options = *options;
	m->engine = engine;
	m->local = local;
	m->shall = SHALL_JOIN;
	m->member = member_new(&of_member, &member_functions, m);
	if (!m->member) {
		free(m);
		return NULL;
	}
	look_at_queue(m);
	return m;
}

static void free_orders(struct machine *m)
{
	struct order *order, *next;

	HASH_ITER(hh, m->orders, order, next) {
		HASH_DEL(m->orders, order);
		free(order);
	}
	DL_FOREACH_SAFE(m->refused, order, next)
		free(order);
}

void machine_free(struct machine *m)
{
	struct ended *ended, *next_ended;
	struct add *add, *next_add;
	struct returned *returned, *next_returned;

	if (!m)
		return;
	end_master(m);
	member_free(m->member);
	free_orders(m);
	HASH_ITER(hh, m->ended, ended, next_ended)
		forget_ended(m, ended);
	DL_FOREACH_SAFE(m->adds, add, next_add)
		free(add);
	DL_FOREACH_SAFE(m->returned, returned, next_returned)
		free(returned);
	free(m->buffer.bytes);
	record_memory_free(&m->memory);
	free(m);
}

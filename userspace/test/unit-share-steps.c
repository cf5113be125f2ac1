// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The cores of kwq share, step by step. The simulation of unit-share meets these sequences of
 * events rarely or never. All times and results are given. docs/share-protocol.md has the rules.
 */
#include <stdlib.h>

#include <linux/kwq.h>

#include "share/core/copy.h"
#include "share/master/master.h"
#include "share/member/member.h"
#include "tap.h"
#include "share/core/window.h"

#define SECOND	UINT64_C(1000000000)
#define TTL	(12 * SECOND)
#define MARGIN	SECOND
#define REPEAT	(SECOND / 2)
#define WALL	(1000000 * SECOND)
#define REST	(SECOND / 200)
#define LONGEST_REST	(4 * REST)

enum { MOST_SAID = 200, MOST_HELD = 4, TEXT = 32 };

/* ---- What a core orders ---------------------------------------------------- */

enum what {
	SEND, PUBLISH, ERASE, READ, READ_JOIN, DEPOSED, RENEW,
	FOLLOW, LEASE, LOST, START, BACK, REVOKE, CONFIRMED, REPLIED, ADDED, ELECTED, LEFT,
};

/*
 * @number: PUBLISH: what is expected; ERASE: the sequence number; LEASE: its end; ADDED: the add;
 *	REPLIED: what the key was
 * @op: REPLIED: whether that is sure
 * @to, @value, @note: of the record or the message
 */
struct said {
	enum what what;
	uint64_t op, number;
	char to[TEXT], value[TEXT], note[TEXT];
	struct record record;
	struct message message;
	struct held held[MOST_HELD];
};

static struct said said[MOST_SAID];
static int nr_said;
static const struct key_hash key = { { 1 } };
static struct instant now;

static struct said *say(enum what what)
{
	struct said *one = &said[nr_said++];

	if (nr_said == MOST_SAID)
		abort();
	*one = (struct said){ .what = what };
	return one;
}

static void copy_text(char *to, const void *from, size_t len)
{
	if (len >= TEXT)
		abort();
	memcpy(to, from, len);
}

/* The last one, or NULL. */
static struct said *last(enum what what)
{
	int i;

	for (i = nr_said - 1; i >= 0; i--)
		if (said[i].what == what)
			return &said[i];
	return NULL;
}

static int count(enum what what)
{
	int i, nr = 0;

	for (i = 0; i < nr_said; i++)
		nr += said[i].what == what;
	return nr;
}

static int count_messages(enum message_kind kind)
{
	int i, nr = 0;

	for (i = 0; i < nr_said; i++)
		nr += said[i].what == SEND && said[i].message.kind == kind;
	return nr;
}

static const struct said *last_message(enum message_kind kind, const char *to)
{
	int i;

	for (i = nr_said - 1; i >= 0; i--)
		if (said[i].what == SEND && said[i].message.kind == kind &&
		    (!to || !strcmp(said[i].to, to)))
			return &said[i];
	return NULL;
}

static const struct said *last_record(enum record_kind kind)
{
	int i;

	for (i = nr_said - 1; i >= 0; i--)
		if (said[i].what == PUBLISH && said[i].record.kind == kind)
			return &said[i];
	return NULL;
}

static void forget(void)
{
	nr_said = 0;
}

static void say_message(const char *to, const struct message *message)
{
	struct said *one = say(SEND);

	one->message = *message;
	copy_text(one->to, to, strlen(to));
	copy_text(one->value, message->work.value.at ?: "", message->work.value.len);
	copy_text(one->note, message->work.note.at ?: "", message->work.note.len);
}

static void say_publish(void *arg, uint64_t op, const struct record *record, uint64_t expected)
{
	struct said *one = say(PUBLISH);

	(void)arg;
	one->op = op;
	one->number = expected;
	one->record = *record;
	if (record->machine)
		copy_text(one->to, record->machine, strlen(record->machine));
	copy_text(one->value, record->work.value.at ?: "", record->work.value.len);
	copy_text(one->note, record->work.note.at ?: "", record->work.note.len);
	if (record->nr_held > MOST_HELD)
		abort();
	if (record->nr_held)
		memcpy(one->held, record->held, record->nr_held * sizeof(*record->held));
}

static void say_read(void *arg, uint64_t op, enum record_kind kind, const struct key_hash *hash)
{
	struct said *one = say(READ);

	(void)arg;
	one->op = op;
	one->record = (struct record){ .kind = kind, .hash = *hash };
}

/* ---- A master -------------------------------------------------------------- */

static struct master *master;

static void master_send(void *arg, const char *to, const struct message *message)
{
	(void)arg;
	say_message(to, message);
}

static void master_erases(void *arg, uint64_t op, uint64_t seq)
{
	struct said *one = say(ERASE);

	(void)arg;
	one->op = op;
	one->number = seq;
}

static void master_reads_beat(void *arg, uint64_t op, const char *machine)
{
	struct said *one = say(READ);

	(void)arg;
	one->op = op;
	one->record = (struct record){ .kind = RECORD_BEAT };
	copy_text(one->to, machine, strlen(machine));
}

static void master_deposed(void *arg)
{
	(void)arg;
	say(DEPOSED);
}

static void master_renew(void *arg)
{
	(void)arg;
	say(RENEW);
}

static const struct master_ops master_ops = {
	.send = master_send,
	.publish = say_publish,
	.erase = master_erases,
	.read = say_read,
	.read_beat = master_reads_beat,
	.deposed = master_deposed,
	.renew = master_renew,
};

static void begin_master_with(uint64_t epoch, uint64_t elected, struct window window)
{
	const struct master_options options = {
		.epoch = epoch, .elected = elected, .margin = MARGIN,
		.repeat = REPEAT, .recall = SECOND / 10, .clean = 2 * TTL, .numbers = UINT32_MAX,
		.rest = REST, .longest_rest = LONGEST_REST, .window = window,
	};

	now = (struct instant){ .boot = SECOND, .wall = WALL };
	master = master_new(&options, &master_ops, NULL);
	forget();
}

static void begin_master(uint64_t epoch, uint64_t elected)
{
	begin_master_with(epoch, elected, window_for(TTL));
}

static void end_master(void)
{
	master_free(master);
	master = NULL;
}

static void tick(uint64_t later)
{
	now.boot += later;
	now.wall += later;
	master_tick(master, now);
}

static void joins(const char *machine, uint64_t seq)
{
	const struct record record = {
		.kind = RECORD_JOIN, .seq = seq, .machine = machine, .ttl = TTL,
	};

	master_record(master, &record, now);
}

static void elects(const char *machine, uint64_t epoch, uint64_t seq)
{
	const struct record record = {
		.kind = RECORD_EPOCH, .seq = seq, .machine = machine, .epoch = epoch,
	};

	master_record(master, &record, now);
}

static void is_dead(const char *machine, uint64_t seq)
{
	const struct record record = {
		.kind = RECORD_BEAT, .seq = seq, .machine = machine, .is_dead = true,
	};

	master_record(master, &record, now);
}

static void promises(const char *machine, uint64_t epoch, uint64_t seq, const struct held *held)
{
	const struct record record = {
		.kind = RECORD_BEAT, .seq = seq, .machine = machine, .epoch = epoch,
		.held = held, .nr_held = held ? 1 : 0,
	};

	master_record(master, &record, now);
}

static struct work work_with(const char *value)
{
	return (struct work){
		.key = { "key", 3 },
		.value = { value, value ? strlen(value) : 0 },
		.has_value = value,
	};
}

/* @valued: the version of the add whose value it has, 0 if that is its own */
static void has(enum record_kind kind, uint64_t seq, const char *value, uint64_t valued,
		uint64_t due)
{
	const struct record record = {
		.kind = kind, .seq = seq, .hash = key, .work = work_with(value), .valued = valued,
		.due = due, .past = NEVER,
	};

	master_record(master, &record, now);
}

static void has_add(uint64_t seq, const char *value)
{
	has(RECORD_ADD, seq, value, 0, 0);
}

static void asks(const char *machine, uint32_t slot)
{
	const struct message message = {
		.kind = MESSAGE_ASK, .epoch = master_status(master).epoch, .machine = machine,
		.slot = slot, .number = 1,
	};

	master_message(master, &message, now);
}

static struct message done_of(const char *machine, struct token token, enum outcome outcome)
{
	return (struct message){
		.kind = MESSAGE_DONE, .epoch = master_status(master).epoch, .machine = machine,
		.hash = key, .token = token, .outcome = outcome,
	};
}

static void ends(const char *machine, struct token token)
{
	const struct message message = done_of(machine, token, OUTCOME_DONE);

	master_message(master, &message, now);
}

static void is_retried(const char *machine, struct token token, uint64_t due, const char *value)
{
	struct message message = done_of(machine, token, OUTCOME_RETRY);

	message.due = due;
	message.work = work_with(value);
	message.work.requeues = 1;
	master_message(master, &message, now);
}

/* The result of the last order of this kind. */
static void gets(enum what what, enum op_result result, uint64_t seq)
{
	master_result(master, last(what)->op, result, seq, now);
}

static struct token granted(const char *to)
{
	const struct said *grant = last_message(MESSAGE_GRANT, to);

	return grant ? grant->message.token : (struct token){ 0 };
}

/* Two machines, and a master whose machines have promised. */
static void begin_serving_with(struct window window)
{
	begin_master_with(1, 3, window);
	joins("a", 1);
	joins("b", 2);
	elects("a", 1, 3);
	promises("a", 1, 4, NULL);
	promises("b", 1, 5, NULL);
}

static void begin_serving(void)
{
	begin_serving_with(window_for(TTL));
}

/*
 * Machine a ended the run of token 1.1, and its confirmation was lost. Machine b has the next one.
 */
static void two_tokens(bool higher_first)
{
	const struct held lower = { key, { 1, 1 }, { .add = 4 } };
	const struct held higher = { key, { 1, 2 }, { .add = 5 } };

	begin_master(2, 10);
	joins("a", 1);
	joins("b", 2);
	has_add(5, "x");
	elects("c", 2, 10);
	promises(higher_first ? "b" : "a", 2, 11, higher_first ? &higher : &lower);
	promises(higher_first ? "a" : "b", 2, 12, higher_first ? &lower : &higher);
	ok(master_status(master).is_serving && master_status(master).booked == 1,
	   "two machines list a key: it is booked once");
	ends("a", lower.token);
	ok(last_message(MESSAGE_CONFIRM, "a") && !count(ERASE),
	   "the done of the lower token is only confirmed");
	asks("a", 0);
	ok(!last_message(MESSAGE_GRANT, NULL), "and the key is granted to nobody");
	ends("b", higher.token);
	ok(count(ERASE) == 1 && last(ERASE)->number == 5, "the done of the higher one counts");
	gets(ERASE, OP_OK, 0);
	ok(last_message(MESSAGE_CONFIRM, "b"), "and is confirmed");
	end_master();
}

static void test_two_tokens(void)
{
	two_tokens(true);
	two_tokens(false);
}

static void test_the_dead_return(void)
{
	const struct held held = { key, { 1, 1 }, { .add = 5 } };

	begin_master(2, 10);
	joins("a", 1);
	joins("b", 2);
	has_add(5, "x");
	elects("c", 2, 10);
	is_dead("a", 11);
	promises("a", 2, 12, &held);
	ok(!master_status(master).booked, "a heartbeat behind a burial promises nothing");
	promises("b", 2, 13, NULL);
	asks("b", 0);
	ok(last_message(MESSAGE_GRANT, "b"), "the key of the dead machine goes to another");
	asks("a", 0);
	ends("a", held.token);
	ok(!last_message(MESSAGE_GRANT, "a") && !count(ERASE),
	   "the dead machine gets nothing, and ends nothing");
	end_master();
}

/* The master reads the last heartbeat of the machine in the stream. */
static void beat_is_read(const char *machine, enum op_result result, uint64_t seq)
{
	const struct record beat = { .kind = RECORD_BEAT, .seq = seq, .machine = machine };
	const struct said *read = last(READ);

	if (ok(read && read->record.kind == RECORD_BEAT && !strcmp(read->to, machine),
	       "the last heartbeat of %s is read", machine))
		master_read(master, read->op, result, result == OP_OK ? &beat : NULL, now);
}

/* The stream has a heartbeat that waits in the tail of the master. */
static void test_burial(void)
{
	enum { WAITS = 9 };
	const struct said *burial;

	begin_serving();
	has_add(6, "x");
	asks("a", 0);
	ok(granted("a").number, "machine a has the key");
	now.boot += TTL + MARGIN - 1;
	promises("b", 1, 7, NULL);
	tick(0);
	ok(!count(PUBLISH), "no machine is buried before its lease and the margin");
	tick(1);
	burial = last_record(RECORD_BEAT);
	ok(count(PUBLISH) == 1 && burial->record.is_dead && !strcmp(burial->to, "a"),
	   "a silent machine is buried");
	is_number(burial->number, 4, "if its last heartbeat is the one that was received");
	gets(PUBLISH, burial->number == WAITS || burial->number == EXPECT_ANY ?
	     OP_OK : OP_WRONG_SEQUENCE, 10);
	beat_is_read("a", OP_OK, WAITS);
	asks("b", 0);
	ok(!last_message(MESSAGE_GRANT, "b"), "a heartbeat that waits saves its keys");
	tick(TTL);
	is_number(count(PUBLISH), 1, "its silence is counted anew");
	promises("a", 1, WAITS, NULL);
	promises("b", 1, 11, NULL);
	tick(TTL);
	is_number(count(PUBLISH), 1, "and anew when the heartbeat comes");
	tick(MARGIN);
	is_number(count(PUBLISH), 3, "then both machines are buried");
	end_master();
}

/*
 * A burial of machine a fails. The stream has the heartbeat @stored, and the tail delivers
 * @received or 0 for none. Returns what the next burial expects.
 */
static uint64_t next_burial(enum op_result result, uint64_t stored, uint64_t received)
{
	static uint64_t of_b = 100;

	gets(PUBLISH, OP_WRONG_SEQUENCE, 0);
	beat_is_read("a", result, stored);
	if (received)
		promises("a", 1, received, NULL);
	promises("b", 1, of_b++, NULL);
	forget();
	tick(TTL + MARGIN - 1);
	ok(!last_record(RECORD_BEAT), "its silence is counted anew");
	promises("b", 1, of_b++, NULL);
	tick(1);
	ok(last_record(RECORD_BEAT) && !strcmp(last_record(RECORD_BEAT)->to, "a"),
	   "the burial is tried again");
	return last_record(RECORD_BEAT) ? last_record(RECORD_BEAT)->number : 0;
}

/* N5: a server with a damaged copy never delivers the last heartbeat of a machine. */
static void test_lost_beat(void)
{
	begin_serving();
	now.boot += TTL + MARGIN - 1;
	promises("b", 1, 7, NULL);
	tick(1);
	is_number(next_burial(OP_UNKNOWN, 0, 0), 4, "it expects what was received last");
	is_number(next_burial(OP_OK, 9, 0), 9, "or what the stream has");
	is_number(next_burial(OP_NOT_FOUND, 0, 0), 0, "or none");
	is_number(next_burial(OP_OK, 9, 12), 12, "or what was received since");
	is_number(next_burial(OP_OK, 11, 0), 12, "but no older one that is read late");
	gets(PUBLISH, OP_OK, 13);
	is_number(master_status(master).machines, 1, "then the machine is dead");
	end_master();
}

/* N3: each machine counts its lease by its own options. */
static void test_longer_lease(void)
{
	const struct record join = {
		.kind = RECORD_JOIN, .seq = 20, .machine = "c", .ttl = 2 * TTL,
	};
	const struct said *burial;

	begin_serving();
	master_record(master, &join, now);
	promises("c", 1, 21, NULL);
	tick(2 * TTL + MARGIN - 1);
	is_number(count(PUBLISH), 2, "two machines are buried");
	forget();
	tick(1);
	burial = last_record(RECORD_BEAT);
	ok(count(PUBLISH) == 1 && burial->record.is_dead && !strcmp(burial->to, "c"),
	   "and one with a longer lease after that");
	end_master();
}

static void test_retry(void)
{
	const uint64_t due = WALL + 60 * SECOND;
	struct record retry = {
		.kind = RECORD_RETRY, .seq = 7, .hash = key, .work = work_with("x"), .due = due,
		.valued = 6,
	};

	begin_serving();
	has_add(6, "x");
	asks("a", 0);
	is_retried("a", granted("a"), due, "x");
	ok(count(PUBLISH) == 1 && !last(PUBLISH)->number && !count(ERASE),
	   "a retry is published before the add is erased");
	ok(last(PUBLISH)->record.due == due && last(PUBLISH)->record.work.requeues == 1,
	   "with its time and its count");
	gets(PUBLISH, OP_UNKNOWN, 0);
	tick(REPEAT - 1);
	ok(count(PUBLISH) == 1 && !count(ERASE), "without an answer nothing is erased");
	tick(1);
	is_number(count(PUBLISH), 2, "and the retry is published again");
	gets(PUBLISH, OP_WRONG_SEQUENCE, 0);
	is_number(count(READ), 1, "if there is one, it is read");
	retry.work.requeues = 1;
	master_read(master, last(READ)->op, OP_OK, &retry, now);
	ok(count(PUBLISH) == 2 && !count(ERASE), "it counts as written, once the tail has it");
	master_record(master, &retry, now);
	ok(count(ERASE) == 1 && last(ERASE)->number == 6, "then the add is erased");
	ok(!last_message(MESSAGE_CONFIRM, "a"), "and before the confirmation");
	gets(ERASE, OP_NOT_FOUND, 0);
	master_read(master, last(READ)->op, OP_NOT_FOUND, NULL, now);
	ok(last_message(MESSAGE_CONFIRM, "a"), "an add that is not there was erased before");
	asks("b", 0);
	ok(!last_message(MESSAGE_GRANT, "b"), "the retry waits for its time");
	tick(due - now.wall);
	asks("b", 0);
	ok(last_message(MESSAGE_GRANT, "b") &&
	   last_message(MESSAGE_GRANT, "b")->message.work.requeues == 1,
	   "and is granted with its count");
	end_master();
}

/* A publish of an earlier run was given up, and is stored when its record is erased already. */
static void test_late_retry(void)
{
	const uint64_t due = WALL + 60 * SECOND;
	struct record late = {
		.kind = RECORD_RETRY, .seq = 7, .hash = key, .work = work_with("old"),
		.state = RETRY_DEAD,
	};

	begin_serving();
	has_add(6, "x");
	asks("a", 0);
	is_retried("a", granted("a"), due, "x");
	gets(PUBLISH, OP_WRONG_SEQUENCE, 0);
	master_read(master, last(READ)->op, OP_OK, &late, now);
	ok(count(PUBLISH) == 2 && last(PUBLISH)->number == 7 && last(PUBLISH)->record.due == due,
	   "N4: a retry of an earlier run does not replace that of this one");
	gets(PUBLISH, OP_UNKNOWN, 0);
	tick(REPEAT);
	is_number(last(PUBLISH)->number, 7, "it is replaced until that is known");
	gets(PUBLISH, OP_OK, 8);
	master_record(master, &late, now);
	ok(!count(ERASE), "the late one does not count when the tail has it");
	late = last(PUBLISH)->record;
	late.seq = 8;
	master_record(master, &late, now);
	ok(count(ERASE) == 1 && last(ERASE)->number == 6, "the add is erased after the right one");
	end_master();
}

/* Dead letters of two runs differ in the value only. */
static void test_late_dead_letter(void)
{
	const struct record late = {
		.kind = RECORD_RETRY, .seq = 7, .hash = key, .work = work_with("old"), .valued = 6,
		.state = RETRY_DEAD,
	};
	struct message message;

	begin_serving();
	has_add(6, "new");
	asks("a", 0);
	message = done_of("a", granted("a"), OUTCOME_DEAD);
	message.work = work_with("new");
	master_message(master, &message, now);
	gets(PUBLISH, OP_WRONG_SEQUENCE, 0);
	master_read(master, last(READ)->op, OP_OK, &late, now);
	ok(count(PUBLISH) == 2 && last(PUBLISH)->number == 7 &&
	   !strcmp(last(PUBLISH)->value, "new"),
	   "N4: a late dead letter does not replace the value of this run");
	end_master();
}

/* An engine whose leader changes refuses what is right, once. */
static void test_refused_in_vain(void)
{
	const struct record there = {
		.kind = RECORD_TIMED, .seq = 6, .hash = key, .work = work_with("old"),
		.due = WALL + 60 * SECOND, .past = NEVER,
	};

	begin_serving();
	master_record(master, &there, now);
	has_add(7, "new");
	asks("a", 0);
	ends("a", granted("a"));
	gets(PUBLISH, OP_WRONG_SEQUENCE, 0);
	master_read(master, last(READ)->op, OP_OK, &there, now);
	ok(!count(ERASE) && count(PUBLISH) == 2 && last(PUBLISH)->number == 6,
	   "a record that is still there is written over, and not forgotten");
	end_master();
}

/* A damaged retry is replaced: no tail delivers it. */
static void test_damaged_retry(void)
{
	const struct record damaged = { .seq = 9 };
	struct token token;

	begin_serving();
	has_add(6, "x");
	asks("a", 0);
	is_retried("a", granted("a"), WALL + SECOND, "x");
	gets(PUBLISH, OP_WRONG_SEQUENCE, 0);
	master_read(master, last(READ)->op, OP_DAMAGED, &damaged, now);
	ok(count(PUBLISH) == 2 && last(PUBLISH)->number == 9, "a retry replaces a damaged one");
	end_master();

	begin_serving();
	has_add(6, "x");
	asks("a", 0);
	token = granted("a");
	ends("a", token);
	gets(ERASE, OP_NOT_FOUND, 0);
	master_read(master, last(READ)->op, OP_DAMAGED, &damaged, now);
	ok(last_message(MESSAGE_CONFIRM, "a") && count(ERASE) == 1,
	   "a done does not wait for a damaged add");
	end_master();

	begin_serving();
	has(RECORD_TIMED, 6, "old", 0, WALL + SECOND);
	has_add(7, "new");
	asks("a", 0);
	ends("a", granted("a"));
	gets(PUBLISH, OP_WRONG_SEQUENCE, 0);
	master_read(master, last(READ)->op, OP_DAMAGED, &damaged, now);
	ok(last(ERASE) && last(ERASE)->number == 7, "nor for a damaged timed add");
	end_master();
}

/* The last grant to this machine has the value. */
static bool is_granted(const char *to, const char *value)
{
	const struct said *grant = last_message(MESSAGE_GRANT, to);

	return grant && !strcmp(grant->value, value);
}

/* The last publish is of this kind, over this version, with this value, which is of another add. */
static bool writes(enum record_kind kind, uint64_t over, const char *value, uint64_t valued)
{
	const struct said *one = last(PUBLISH);

	return one && one->record.kind == kind && one->number == over &&
	       !strcmp(one->value, value) && one->record.valued == valued;
}

/* An adder without a value replaces a timed add, while the master gives it the newest value. */
static void test_value_of_a_timed_add(void)
{
	const uint64_t due = WALL + 60 * SECOND;
	const struct record theirs = {
		.kind = RECORD_TIMED, .seq = 9, .hash = key, .work = work_with("old"), .valued = 6,
		.due = due - SECOND, .past = NEVER,
	};

	begin_serving();
	has(RECORD_TIMED, 6, "old", 0, due);
	has_add(7, "new");
	asks("a", 0);
	ends("a", granted("a"));
	ok(writes(RECORD_TIMED, 6, "new", 7), "a timed add gets the value of a later add");
	gets(PUBLISH, OP_WRONG_SEQUENCE, 0);
	ok(!count(ERASE), "that add stays until the timed add has it");
	master_read(master, last(READ)->op, OP_OK, &theirs, now);
	master_record(master, &theirs, now);
	ok(writes(RECORD_TIMED, 9, "new", 7) && last(PUBLISH)->record.due == theirs.due,
	   "also the timed add of an adder who came between");
	gets(PUBLISH, OP_OK, 10);
	has(RECORD_TIMED, 10, "new", 7, theirs.due);
	is_number(last(ERASE)->number, 7, "then the add is erased");
	gets(ERASE, OP_OK, 0);
	ok(last_message(MESSAGE_CONFIRM, "a"), "and its done is confirmed");
	tick(theirs.due - now.wall);
	asks("b", 0);
	ok(is_granted("b", "new"), "the next run has the last value");
	end_master();
}

/* N4: a worker's retry is a timed add that names no value, no group and no priority. */
static void test_retry_of_a_worker(void)
{
	const uint64_t due = WALL + 60 * SECOND;
	struct record add = {
		.kind = RECORD_ADD, .seq = 6, .hash = key, .work = work_with("x"), .past = NEVER,
	};
	struct record retry = {
		.kind = RECORD_TIMED, .seq = 7, .hash = key, .work = work_with(NULL), .due = due,
		.past = NEVER,
	};
	const struct work *work;

	add.work.priority = 5;
	add.work.group = (struct bytes){ "team", 4 };
	add.work.has_group = true;
	retry.work.priority = KWQ_PRIORITY_NONE;
	retry.work.requeues = 1;
	begin_serving();
	master_record(master, &add, now);
	asks("a", 0);
	ok(is_granted("a", "x"), "a machine has the key");
	master_record(master, &retry, now);
	ends("a", granted("a"));
	ok(writes(RECORD_TIMED, 7, "x", 7), "N4: a retry gets the value of its run");
	ok(last(PUBLISH)->record.work.priority == 5 && last(PUBLISH)->record.work.has_group,
	   "N4: and its priority and group");
	gets(PUBLISH, OP_OK, 8);
	retry = (struct record){
		.kind = RECORD_TIMED, .seq = 8, .hash = key, .work = add.work, .valued = 7,
		.due = due, .past = NEVER,
	};
	retry.work.requeues = 1;
	master_record(master, &retry, now);
	is_number(last(ERASE)->number, 6, "then the add is erased");
	gets(ERASE, OP_OK, 0);
	tick(due - now.wall);
	asks("b", 0);
	work = &last_message(MESSAGE_GRANT, "b")->message.work;
	ok(is_granted("b", "x") && work->priority == 5 && work->has_group && work->requeues == 1,
	   "N4: and is granted with all");
	end_master();
}

/* The timed add is gone: another master has done the same. */
static void test_timed_add_is_gone(void)
{
	begin_serving();
	has(RECORD_TIMED, 6, "old", 0, WALL + 60 * SECOND);
	has_add(7, "new");
	asks("a", 0);
	ends("a", granted("a"));
	gets(PUBLISH, OP_WRONG_SEQUENCE, 0);
	master_read(master, last(READ)->op, OP_UNKNOWN, NULL, now);
	tick(REPEAT);
	is_number(count(READ), 2, "a read without an answer is repeated");
	master_read(master, last(READ)->op, OP_NOT_FOUND, NULL, now);
	ok(count(PUBLISH) == 1 && last(ERASE)->number == 7,
	   "a timed add that is gone needs no value");
	end_master();
}

/* A run has an add and a newer timed add. An add without a value merges with the older one. */
static void test_value_of_an_add(void)
{
	begin_serving();
	has_add(6, "old");
	has(RECORD_TIMED, 7, "new", 0, WALL);
	asks("a", 0);
	ok(is_granted("a", "new"), "the later value is granted");
	has(RECORD_ADD, 8, "old", 6, 0);
	ends("a", granted("a"));
	ok(writes(RECORD_ADD, 8, "new", 7), "an add beside the run gets its newer value");
	gets(PUBLISH, OP_OK, 9);
	has(RECORD_ADD, 9, "new", 7, 0);
	is_number(last(ERASE)->number, 7, "then the timed add is erased");
	gets(ERASE, OP_OK, 0);
	asks("b", 0);
	ok(is_granted("b", "new"), "an older value never comes back");
	end_master();
}

/* The same, but the master hears of it from the deletion that finds nothing. */
static void test_value_behind_an_erase(void)
{
	const struct record theirs = {
		.kind = RECORD_ADD, .seq = 8, .hash = key, .work = work_with("old"), .valued = 6,
	};

	begin_serving();
	has_add(6, "old");
	has(RECORD_TIMED, 7, "new", 0, WALL);
	asks("a", 0);
	ends("a", granted("a"));
	ok(count(ERASE) == 1 && last(ERASE)->number == 6, "the oldest value is erased first");
	gets(ERASE, OP_NOT_FOUND, 0);
	ok(count(READ) == 1 && count(ERASE) == 1, "if it is not there, the master looks why");
	master_read(master, last(READ)->op, OP_OK, &theirs, now);
	is_number(count(ERASE), 1, "and waits until the tail has what replaced it");
	master_record(master, &theirs, now);
	ok(writes(RECORD_ADD, 8, "new", 7), "that gets the newest value, too");
	gets(PUBLISH, OP_OK, 9);
	has(RECORD_ADD, 9, "new", 7, 0);
	gets(ERASE, OP_OK, 0);
	ok(last(ERASE)->number == 7 && last_message(MESSAGE_CONFIRM, "a"),
	   "and the newest value is erased last");
	end_master();
}

/* The value of the run came from a retry. The add that brought it is erased. */
static void test_value_of_a_promise(void)
{
	const struct held held = { key, { 1, 1 }, { .retry = 7 } };

	begin_master(2, 10);
	joins("a", 1);
	joins("b", 2);
	has(RECORD_TIMED, 3, "old", 0, WALL + 90 * SECOND);
	has(RECORD_RETRY, 7, "new", 5, WALL);
	elects("c", 2, 10);
	promises("a", 2, 11, &held);
	promises("b", 2, 12, NULL);
	is_retried("a", held.token, WALL + 60 * SECOND, "new");
	ok(writes(RECORD_RETRY, 7, "new", 5),
	   "a new master knows how old the value of a retry is");
	gets(PUBLISH, OP_OK, 13);
	has(RECORD_RETRY, 13, "new", last_record(RECORD_RETRY)->record.valued, WALL + 60 * SECOND);
	gets(PUBLISH, OP_OK, 14);
	has(RECORD_TIMED, 14, "new", 5, WALL + 90 * SECOND);
	tick(60 * SECOND);
	asks("b", 0);
	ok(is_granted("b", "new"), "so an older timed add does not win");
	end_master();
}

/* @noted: the version of the record that brought the note, 0 if that is its own */
static void has_note(enum record_kind kind, uint64_t seq, const char *note, uint64_t noted,
		     uint64_t due)
{
	struct record record = {
		.kind = kind, .seq = seq, .hash = key, .work = work_with("x"), .noted = noted,
		.due = due, .past = NEVER, .valued = kind == RECORD_RETRY ? seq - 1 : 0,
	};

	record.work.note = (struct bytes){ note, strlen(note) };
	master_record(master, &record, now);
}

static void fails(const char *machine, enum outcome outcome, const char *note)
{
	struct message message = done_of(machine, granted(machine), outcome);

	message.due = outcome == OUTCOME_RETRY ? WALL + 60 * SECOND : 0;
	message.work = work_with("x");
	message.work.requeues = 1;
	message.work.note = (struct bytes){ note, strlen(note) };
	master_message(master, &message, now);
}

/* The last publish is of this kind, with this note, which is of this version. */
static bool notes(enum record_kind kind, const char *note, uint64_t noted)
{
	const struct said *one = last(PUBLISH);

	return one && one->record.kind == kind && !strcmp(one->note, note) &&
	       one->record.noted == noted;
}

static bool is_granted_note(const char *to, const char *note)
{
	const struct said *grant = last_message(MESSAGE_GRANT, to);

	return grant && !strcmp(grant->note, note);
}

/* Q18: why the last run failed. A worker's retry is a timed add. */
static void test_note_of_a_retry(void)
{
	const uint64_t due = WALL + 60 * SECOND;

	begin_serving();
	has_note(RECORD_ADD, 6, "", 0, 0);
	asks("a", 0);
	has_note(RECORD_TIMED, 7, "why", 0, due);
	fails("a", OUTCOME_REMEMBERED, "");
	ok(last_record(RECORD_RETRY) && !strcmp(last_record(RECORD_RETRY)->note, ""),
	   "Q18: a count that is remembered has no note");
	gets(PUBLISH, OP_OK, 8);
	has_note(RECORD_RETRY, 8, "", 0, 0);
	gets(ERASE, OP_OK, 0);
	tick(due - now.wall);
	asks("b", 0);
	ok(is_granted_note("b", "why"), "Q18: the note of a retry comes to the next machine");
	fails("b", OUTCOME_RETRY, "worse");
	ok(notes(RECORD_RETRY, "worse", 0), "Q18: the note of its end takes its place");
	end_master();
}

/* The letter of a death has the last note, from wherever. */
static void dies_with(const char *note, const char *wanted, uint64_t noted, const char *what)
{
	begin_serving();
	has_note(RECORD_ADD, 6, "old", 0, 0);
	asks("a", 0);
	ok(is_granted_note("a", "old"), "a key with a note");
	has_note(RECORD_TIMED, 7, "newer", 0, WALL + 60 * SECOND);
	asks("a", 0);
	ok(is_granted_note("a", "newer"), "a grant that is repeated has the last one");
	fails("a", OUTCOME_DEAD, note);
	ok(notes(RECORD_RETRY, wanted, noted), "Q18: %s", what);
	end_master();
}

static void test_note_of_a_death(void)
{
	struct record late = {
		.kind = RECORD_RETRY, .seq = 7, .hash = key, .work = work_with("x"), .valued = 6,
		.state = RETRY_DEAD,
	};

	dies_with("why", "why", 0, "a dead key tells why");
	dies_with("", "newer", 7, "a dead key that tells nothing has the last note");
	begin_serving();
	has_add(6, "x");
	asks("a", 0);
	fails("a", OUTCOME_DEAD, "why");
	gets(PUBLISH, OP_WRONG_SEQUENCE, 0);
	late.work.requeues = 1;
	master_read(master, last(READ)->op, OP_OK, &late, now);
	ok(count(PUBLISH) == 2 && notes(RECORD_RETRY, "why", 0),
	   "Q18: a late dead letter does not replace the note of this run");
	end_master();
}

/* An adder without a note has merged with the add of the run. */
static void test_note_of_a_merged_add(void)
{
	begin_serving();
	has_note(RECORD_ADD, 6, "old", 0, 0);
	asks("a", 0);
	has_note(RECORD_ADD, 8, "old", 6, 0);
	ends("a", granted("a"));
	ok(notes(RECORD_ADD, "", 0), "Q18: a run that ends well ends the note of its add");
	gets(PUBLISH, OP_OK, 9);
	has_note(RECORD_ADD, 9, "", 0, 0);
	asks("b", 0);
	ok(is_granted_note("b", ""), "so the next run has none");
	end_master();

	begin_serving();
	has_note(RECORD_ADD, 6, "old", 0, 0);
	asks("a", 0);
	has_note(RECORD_ADD, 8, "why", 0, 0);
	ends("a", granted("a"));
	ok(!count(PUBLISH), "Q18: a later note stays");
	end_master();

	begin_serving();
	has_note(RECORD_ADD, 6, "old", 0, 0);
	asks("a", 0);
	has_note(RECORD_TIMED, 8, "", 0, WALL + 60 * SECOND);
	fails("a", OUTCOME_REMEMBERED, "");
	gets(PUBLISH, OP_OK, 9);
	has_note(RECORD_RETRY, 9, "", 0, 0);
	ok(notes(RECORD_TIMED, "old", 6), "Q18: a retry without a note keeps that of its run");
	end_master();
}

/* A retry that waits beside the run has the note that the run was granted. */
static void test_note_of_a_waiting_retry(void)
{
	begin_serving();
	has_note(RECORD_ADD, 6, "", 0, 0);
	has_note(RECORD_RETRY, 7, "old", 0, WALL + 60 * SECOND);
	asks("a", 0);
	ok(is_granted_note("a", "old"), "an add before the retry has its note");
	ends("a", granted("a"));
	ok(notes(RECORD_RETRY, "", 0), "Q18: and if that run ends well, the retry has none");
	end_master();
}

/* The grant was an older master's. */
static void test_note_of_a_promise(void)
{
	const struct held held = { key, { 1, 1 }, { .add = 6 } };

	begin_master(2, 10);
	joins("a", 1);
	has_note(RECORD_ADD, 8, "old", 6, 0);
	elects("c", 2, 10);
	promises("a", 2, 11, &held);
	ends("a", held.token);
	ok(notes(RECORD_ADD, "", 0), "Q18: a new master knows that this note was granted");
	end_master();
}

/* A worker has taken all keys of the machine. */
static void is_at_work(const char *machine, uint32_t slot)
{
	const struct message message = {
		.kind = MESSAGE_ASK, .epoch = master_status(master).epoch, .machine = machine,
		.slot = slot, .number = 1,
	};

	master_message(master, &message, now);
}

/* The losses that the last grant to a machine tells of. */
static uint32_t granted_losses(const char *to)
{
	const struct said *grant = last_message(MESSAGE_GRANT, to);

	return grant ? grant->message.work.abandoned : UINT32_MAX;
}

/* The engine stores what the master has published last, and the tail delivers it. */
static void is_stored(uint64_t seq)
{
	const struct said *published = last(PUBLISH);
	struct record record;

	if (!published)
		return;
	record = published->record;
	record.seq = seq;
	record.work.key = (struct bytes){ "key", 3 };
	record.work.value = (struct bytes){ published->value, strlen(published->value) };
	gets(PUBLISH, OP_OK, seq);
	master_record(master, &record, now);
}

/* N4: what a machine had when it died. */
static void test_death(void)
{
	struct record retry = {
		.kind = RECORD_RETRY, .seq = 6, .hash = key, .work = work_with("x"), .due = WALL,
	};
	const struct said *grant;

	retry.work.priority = 7;
	retry.work.requeues = 3;
	retry.work.has_group = true;
	retry.work.group = (struct bytes){ "g", 1 };
	begin_serving();
	master_record(master, &retry, now);
	asks("a", 0);
	is_at_work("a", 1);
	is_dead("a", 7);
	asks("b", 0);
	ok(!last_message(MESSAGE_GRANT, "b") && count(PUBLISH) && last(PUBLISH)->number == 6 &&
	   last(PUBLISH)->record.kind == RECORD_RETRY && last(PUBLISH)->record.due == WALL,
	   "a key that was at work on a dead machine is granted when this loss is stored");
	is_stored(8);
	ok(!last_message(MESSAGE_GRANT, "b") && master_next_due(master).boot == now.boot + REST,
	   "and after a rest");
	tick(REST);
	grant = last_message(MESSAGE_GRANT, "b");
	ok(grant && !strcmp(grant->value, "x") && grant->message.work.priority == 7 &&
	   grant->message.work.requeues == 3 && grant->message.work.group.len == 1,
	   "it keeps its value, priority, group and count");
	ok(grant->message.work.abandoned == 1, "and counts as abandoned");
	forget();
	ends("a", (struct token){ 1, 1 });
	ok(last_message(MESSAGE_CONFIRM, "a") && !count(ERASE), "the dead machine's done is void");
	ends("b", (struct token){ 1, 2 });
	ok(count(ERASE) && last(ERASE)->number == 8, "an end erases the losses, too");
	end_master();
}

static const struct record other = {
	.kind = RECORD_ADD, .seq = 7, .hash = { { 2 } }, .work = { .key = { "other", 5 } },
};

static void test_untaken_at_death(void)
{
	begin_serving();
	has_add(6, "x");
	asks("a", 0);
	is_at_work("a", 1);
	master_record(master, &other, now);
	ok(last_message(MESSAGE_GRANT, "a")->message.slot == 1, "a machine has two keys");
	is_dead("a", 8);
	ok(count(PUBLISH) == 1 && last(PUBLISH)->record.hash.bytes[0] == 1,
	   "only the one that a worker had counts as lost");
	asks("b", 0);
	ok(last_message(MESSAGE_GRANT, "b") &&
	   last_message(MESSAGE_GRANT, "b")->message.hash.bytes[0] == 2,
	   "the other one is granted at once");
	is_number(granted_losses("b"), 0, "without a loss");
	end_master();
}

/* A worker of a machine that lives has died with the key, and it comes back. */
static void returns(const char *machine, uint32_t losses)
{
	struct message returned = done_of(machine, granted(machine), OUTCOME_RETURNED);

	returned.work.abandoned = losses;
	master_message(master, &returned, now);
}

/* L12 */
static void test_losses_on_machines(void)
{
	uint32_t losses;

	for (losses = 0; losses < 5; losses++) {
		begin_serving();
		has_add(6, "x");
		asks("a", 0);
		master_record(master, &other, now);
		returns("a", losses);
		if (losses) {
			ok(!last_message(MESSAGE_CONFIRM, "a"), "a loss is not stored yet");
			is_stored(8);
			tick(losses < 3 ? losses * REST : LONGEST_REST);
		}
		ok(last_message(MESSAGE_CONFIRM, "a"), "and is confirmed after that");
		asks("b", 0);
		ok(is_granted("b", losses < 2 ? "x" : ""), "%u losses: it goes %s", losses,
		   losses < 2 ? "ahead" : "to the tail");
		asks("b", 1);
		ok(!losses || granted_losses("b") == (losses < 2 ? 0 : losses),
		   "the next machine knows of them");
		end_master();
	}
}

/* As locally: an add of a key that waits for its backoff makes it ready. */
static void test_add_ends_rest(void)
{
	begin_serving();
	has_add(6, "x");
	asks("a", 0);
	returns("a", 1);
	is_stored(8);
	asks("b", 0);
	ok(!last_message(MESSAGE_GRANT, "b"), "a key rests after a loss");
	has_add(9, "y");
	ok(is_granted("b", "y"), "until it is added");
	end_master();
}

/* A retry with losses waits beside a run that ends well. */
static void test_end_of_losses(void)
{
	struct record retry = {
		.kind = RECORD_RETRY, .seq = 6, .hash = key, .due = WALL + 60 * SECOND,
		.work = { .key = { "key", 3 }, .abandoned = 2 },
	};

	begin_serving();
	master_record(master, &retry, now);
	has_add(7, "x");
	asks("a", 0);
	is_number(granted_losses("a"), 2, "losses go with a grant");
	ends("a", granted("a"));
	ok(count(PUBLISH) && last(PUBLISH)->number == 6 && !last(PUBLISH)->record.work.abandoned,
	   "a run that ends well ends them");
	end_master();
}

/* A key that ends the master's machine: only its last heartbeat tells. */
static void test_death_of_a_master(void)
{
	const struct held held = { key, { 1, 1 }, { .add = 6 } };
	const struct held done = { other.hash, { 1, 2 }, { .add = 5 } };

	begin_master(2, 10);
	joins("a", 1);
	joins("b", 2);
	has_add(6, "x");
	master_record(master, &other, now);
	promises("a", 1, 8, &held);
	elects("b", 2, 10);
	promises("b", 2, 11, NULL);
	is_dead("a", 12);
	asks("b", 0);
	ok(count(PUBLISH) == 1 && last(PUBLISH)->record.work.abandoned == 1 &&
	   last(PUBLISH)->record.hash.bytes[0] == 1,
	   "a key that ended the machine of an older master has a loss");
	is_stored(13);
	tick(REST);
	asks("b", 1);
	is_number(granted_losses("b"), 1, "and it goes with the next grant");
	end_master();

	begin_master(2, 10);
	joins("a", 1);
	joins("b", 2);
	master_record(master, &other, now);
	promises("a", 1, 8, &done);
	elects("b", 2, 10);
	promises("b", 2, 11, NULL);
	is_dead("a", 12);
	ok(!count(PUBLISH), "but not one that has run since, and was added again");
	end_master();
}

/* Each repeated message has an answer, so that nobody repeats it for ever. */
static void test_repeats(void)
{
	struct message returned;
	struct token token;

	begin_serving();
	has_add(6, "x");
	asks("a", 0);
	token = granted("a");
	forget();
	asks("a", 0);
	ok(same_token(granted("a"), token), "a repeated ask gets the same grant");
	returned = done_of("a", token, OUTCOME_RETURNED);
	master_message(master, &returned, now);
	forget();
	master_message(master, &returned, now);
	ok(last_message(MESSAGE_CONFIRM, "a") && !count(ERASE) && master_status(master).ready == 1,
	   "a key that comes back twice is ready once");
	tick(4 * REPEAT);
	asks("b", 0);
	token = granted("b");
	ok(token.number == 2, "it goes to the next who asks");
	ends("b", token);
	forget();
	ends("b", token);
	ok(!nr_said, "a repeated done waits for the first");
	end_master();
}

/* N2: an add of a key that no worker has taken is no second run. */
static void test_adds_of_a_granted_key(void)
{
	struct message returned;
	const struct said *sent;
	struct token token;

	begin_serving();
	has_add(6, "x");
	asks("a", 0);
	token = granted("a");
	asks("b", 0);
	forget();
	has_add(7, "y");
	sent = last_message(MESSAGE_RECALL, "a");
	ok(sent && same_token(sent->message.token, token),
	   "an add of a granted key: the master recalls it");
	forget();
	has_add(8, "z");
	ok(!nr_said, "once, if more adds come at once");
	returned = done_of("a", token, OUTCOME_RETURNED);
	master_message(master, &returned, now);
	sent = last_message(MESSAGE_GRANT, "b");
	ok(sent && sent->message.versions.add == 8 && !strcmp(sent->value, "z"),
	   "no worker had it: one grant has all adds");
	token = granted("b");
	forget();
	has_add(9, "v");
	ok(!nr_said, "and stays there for a while, although it is added again");
	is_number(master_next_due(master).boot - now.boot, SECOND / 10, "for 100 ms");
	tick(SECOND / 10);
	ok(last_message(MESSAGE_RECALL, "b"), "and then comes back for that add");
	returned = done_of("b", token, OUTCOME_RETURNED);
	master_message(master, &returned, now);
	asks("a", 1);
	token = granted("a");
	forget();
	has(RECORD_TIMED, 10, NULL, 0, now.wall + SECOND);
	tick(SECOND / 2);
	ok(!nr_said, "an add for later recalls nothing");
	tick(SECOND / 2);
	ok(last_message(MESSAGE_RECALL, "a"), "before its time comes");
	ends("a", token);
	forget();
	has_add(11, "w");
	ok(!last_message(MESSAGE_RECALL, NULL), "a key whose work has ended is not recalled");
	end_master();
}

/* As asks(), with the number of the ask, and of the keys that no worker has taken. */
static void asks_again(const char *machine, uint64_t number, bool is_hungry, uint32_t untaken)
{
	const struct message message = {
		.kind = MESSAGE_ASK, .epoch = master_status(master).epoch, .machine = machine,
		.number = number, .is_hungry = is_hungry, .untaken = untaken,
	};

	master_message(master, &message, now);
}

/* A key that comes back goes to the end of its machine's line, so it has to stay for a while. */
static void test_key_that_is_added_all_the_time(void)
{
	enum { ADDS = 1000 };
	struct message returned;
	int i, recalls = 0;

	begin_serving();
	has_add(6, "x");
	asks_again("a", 1, false, 0);
	for (i = 0; i < ADDS; i++) {
		struct token token = granted("a");

		forget();
		tick(SECOND / 10);
		has_add(7 + i, "y");
		if (!last_message(MESSAGE_RECALL, "a"))
			continue;
		returned = done_of("a", token, OUTCOME_RETURNED);
		master_message(master, &returned, now);
		asks_again("a", ++recalls + 1, false, 0);
	}
	is_number(recalls, 10, "an add each 100 ms: its machine has the key for longer and longer");
	end_master();
}

static void is_erased(void)
{
	uint64_t op;

	while (last(ERASE)) {
		op = last(ERASE)->op;
		forget();
		master_result(master, op, OP_OK, 0, now);
	}
}

/* N2: the pauses of a run do not outlast it. */
static void test_long_run(void)
{
	uint64_t seq = 7;
	int i;

	begin_serving();
	has_add(6, "x");
	asks_again("a", 1, false, 0);
	for (i = 0; i < 3600; i++) {
		tick(SECOND);
		has_add(seq++, "y");
		if (i % 100)
			forget();
	}
	ends("a", (struct token){ 1, 1 });
	is_erased();
	asks_again("a", 2, false, 0);
	is_number(granted("a").number, 2, "a key that was added through an hour runs again");
	forget();
	has_add(seq, "z");
	ok(last_message(MESSAGE_RECALL, "a"), "N2: its next add recalls it at once");
	end_master();
}

/* Q12: a higher priority waits for no pause. */
static void test_urgent_add(void)
{
	struct record record = {
		.kind = RECORD_ADD, .seq = 8, .hash = key, .work = work_with("y"), .past = NEVER,
	};
	int i;

	begin_serving();
	has_add(6, "x");
	asks_again("a", 1, false, 0);
	has_add(7, "x");
	for (i = 0; i < 3; i++) {
		forget();
		record.work.priority = 31;
		record.seq++;
		master_record(master, &record, now);
		ok(count_messages(MESSAGE_RECALL) == !i, "Q12: an urgent add %d", i + 1);
	}
	end_master();
}

/* N6: a done tells that a key came back, before the next ask does. */
static void test_done_tells_more(void)
{
	struct message done;
	int i;

	begin_serving();
	has_add(6, "x");
	asks_again("a", 1, false, 0);
	for (i = 0; i < 300; i++) {
		forget();
		asks_again("b", 1, true, 0);
		asks_again("a", 2, false, 0);
		tick(SECOND / 5);
	}
	forget();
	done = done_of("a", (struct token){ 1, 99 }, OUTCOME_DONE);
	done.hash.bytes[0] = 77;
	done.untaken = 1;
	master_message(master, &done, now);
	ok(last_message(MESSAGE_RECALL, "a"), "N6: a key that came back is recalled at once");
	end_master();
}

/* N6: recalls for adds do not put off those for a worker that sleeps. */
static void test_recalls_for_the_hungry(void)
{
	begin_serving();
	has_add(6, "x");
	asks_again("a", 1, false, 0);
	has_add(7, "y");
	ok(last_message(MESSAGE_RECALL, "a"), "a key is recalled for an add");
	forget();
	asks_again("b", 1, true, 0);
	ok(last_message(MESSAGE_RECALL, "a"), "and at once for a worker that sleeps");
	while (last_message(MESSAGE_RECALL, "a")) {
		forget();
		asks_again("b", 1, true, 0);
		tick(SECOND / 5);
	}
	asks_again("a", 2, false, 0);
	ok(!last_message(MESSAGE_RECALL, "a"), "with pauses, while a worker has it");
	asks_again("a", 3, false, 1);
	ok(last_message(MESSAGE_RECALL, "a"), "and at once when it came back from that worker");
	forget();
	asks_again("a", 4, false, 1);
	ok(!last_message(MESSAGE_RECALL, "a"), "and not for each ask");
	end_master();
}

/* The memory for asks has a bound, whatever a machine sends. */
static void test_slots(void)
{
	begin_serving();
	has_add(6, "x");
	asks("a", HELD_MAX);
	ok(!last_message(MESSAGE_GRANT, "a"), "an ask of a slot that no machine has");
	asks("a", HELD_MAX - 1);
	ok(last_message(MESSAGE_GRANT, "a"), "the last one");
	end_master();
}

/* N5: very many keys with one due time do not keep the machine from its heartbeats. */
static void test_many_due(void)
{
	struct record record = {
		.kind = RECORD_TIMED, .work = work_with(NULL), .due = WALL + SECOND, .past = NEVER,
	};
	unsigned int i;

	begin_serving();
	for (i = 0; i < MASTER_DUE_MAX + 10; i++) {
		record.seq = 6 + i;
		memcpy(record.hash.bytes, &i, sizeof(i));
		master_record(master, &record, now);
	}
	is_number(master_status(master).waiting, MASTER_DUE_MAX + 10, "many keys wait");
	tick(SECOND);
	is_number(master_status(master).ready, MASTER_DUE_MAX, "a bounded number becomes ready");
	ok(master_next_due(master).wall <= now.wall, "the rest at once");
	tick(0);
	is_number(master_status(master).ready, MASTER_DUE_MAX + 10, "all of them");
	ok(master_next_due(master).wall == NEVER, "none is left");
	end_master();
}

/* ---- A machine ------------------------------------------------------------- */

static struct member *member;

static void member_sends(void *arg, const struct message *message)
{
	(void)arg;
	say_message("", message);
}

static void member_reads_join(void *arg, uint64_t op)
{
	(void)arg;
	say(READ_JOIN)->op = op;
}

static void member_follows(void *arg, uint64_t tail)
{
	(void)arg;
	say(FOLLOW)->number = tail;
}

static void member_has_lease(void *arg, uint64_t boot)
{
	(void)arg;
	say(LEASE)->number = boot;
}

static void member_loses_lease(void *arg)
{
	(void)arg;
	say(LOST);
}

static void member_starts(void *arg, const struct key_hash *hash, const struct work *work,
			  struct token token)
{
	struct said *one = say(START);

	(void)arg;
	one->record.hash = *hash;
	one->message.token = token;
	copy_text(one->value, work->value.at ?: "", work->value.len);
	copy_text(one->note, work->note.at ?: "", work->note.len);
}

static void member_takes_back(void *arg, const struct key_hash *hash, struct token token)
{
	struct said *one = say(BACK);

	(void)arg;
	one->record.hash = *hash;
	one->message.token = token;
}

static void member_revokes(void *arg, const struct key_hash *hash, struct token token)
{
	(void)arg;
	(void)hash;
	(void)token;
	say(REVOKE);
}

static void member_has_reply(void *arg, uint64_t request, uint32_t was, bool is_sure)
{
	struct said *one = say(REPLIED);

	(void)arg;
	(void)request;
	one->number = was;
	one->op = is_sure;
}

static void member_is_confirmed(void *arg, const struct key_hash *hash)
{
	(void)arg;
	say(CONFIRMED)->record.hash = *hash;
}

static void member_has_added(void *arg, uint64_t add)
{
	(void)arg;
	say(ADDED)->number = add;
}

static void member_is_elected(void *arg, uint64_t epoch, uint64_t seq)
{
	(void)arg;
	(void)seq;
	say(ELECTED)->number = epoch;
}

static void member_has_left(void *arg)
{
	(void)arg;
	say(LEFT);
}

static const struct member_ops member_ops = {
	.send = member_sends,
	.publish = say_publish,
	.read = say_read,
	.read_join = member_reads_join,
	.follow = member_follows,
	.lease_until = member_has_lease,
	.lease_lost = member_loses_lease,
	.start = member_starts,
	.take_back = member_takes_back,
	.revoke = member_revokes,
	.replied = member_has_reply,
	.confirmed = member_is_confirmed,
	.added = member_has_added,
	.elected = member_is_elected,
	.left = member_has_left,
};

/* Machine a, whose join is published. */
static void begin_member(void)
{
	static const struct member_options options = {
		.ttl = TTL, .beat = 3 * SECOND, .repeat = REPEAT,
	};

	now = (struct instant){ .boot = SECOND, .wall = WALL };
	member = member_new(&options, &member_ops, NULL);
	forget();
	member_set_slots(member, 1, 1, now);
	member_join(member, "a", now);
}

static void end_member(void)
{
	member_free(member);
	member = NULL;
}

static void member_gets(enum what what, enum op_result result, uint64_t seq)
{
	member_result(member, last(what)->op, result, seq, now);
}

static void reads(enum record_kind kind, const char *machine, uint64_t epoch, uint64_t seq)
{
	const struct record record = {
		.kind = kind, .seq = seq, .machine = machine, .epoch = epoch,
	};

	member_record(member, 1, &record, now);
}

static void passes(uint64_t time)
{
	now.boot += time;
	now.wall += time;
	member_tick(member, now);
}

/* Machine a obeys epoch 1, and has a lease from now on. */
static void begin_working(void)
{
	begin_member();
	member_gets(PUBLISH, OP_OK, 2);
	reads(RECORD_EPOCH, "m", 1, 1);
	reads(RECORD_JOIN, "a", 0, 2);
	member_gets(PUBLISH, OP_OK, 3);
}

static void test_lease(void)
{
	uint64_t sent;

	begin_member();
	member_gets(PUBLISH, OP_OK, 2);
	reads(RECORD_JOIN, "a", 0, 2);
	ok(last_record(RECORD_BEAT) && !last_record(RECORD_BEAT)->number,
	   "the first heartbeat expects none");
	sent = now.boot;
	passes(5 * SECOND);
	member_gets(PUBLISH, OP_OK, 3);
	ok(last(LEASE) && last(LEASE)->number == sent + TTL,
	   "the lease counts from the sending of the heartbeat");
	forget();
	passes(3 * SECOND);
	sent = now.boot;
	is_number(count(PUBLISH), 1, "the next heartbeat");
	passes(2 * SECOND);
	member_gets(PUBLISH, OP_OK, 4);
	ok(last(LEASE)->number == sent + TTL && member_status(member).lease_until == sent + TTL,
	   "moves the lease to its own sending");
	passes(SECOND);
	is_number(last(PUBLISH)->number, EXPECT_ANY, "a heartbeat is blind");
	now.boot = sent + TTL - 1;
	member_tick(member, now);
	is_number(count(LOST), 0, "a lease lasts to its end");
	passes(1);
	is_number(count(LOST), 1, "and not longer");
	end_member();
}

/* Another machine's join, and an older epoch, are read before the own join. */
static void test_join(void)
{
	begin_member();
	ok(count(PUBLISH) == 1 && !count(FOLLOW), "a machine publishes its join first");
	passes(REPEAT);
	ok(!count(FOLLOW), "and follows nothing before that is acknowledged");
	member_gets(PUBLISH, OP_OK, 20);
	is_number(count(FOLLOW), 1, "then it reads from the beginning");
	forget();
	reads(RECORD_EPOCH, "m", 1, 1);
	reads(RECORD_JOIN, "b", 0, 2);
	passes(REPEAT);
	ok(!nr_said && !member_status(member).epoch, "it obeys nobody before it reads its own join");
	reads(RECORD_EPOCH, "n", 2, 10);
	reads(RECORD_JOIN, "a", 0, 20);
	ok(count(PUBLISH) == 1 && last_record(RECORD_BEAT)->record.epoch == 2,
	   "then it promises the newest epoch");
	member_gets(PUBLISH, OP_OK, 21);
	ok(last_message(MESSAGE_ASK, NULL) && last_message(MESSAGE_ASK, NULL)->message.epoch == 2,
	   "and asks that master alone");
	end_member();
}

/* Without the engine a burial is not stored. A second signal ends it at once. */
static void test_end_of_leaving(void)
{
	begin_working();
	member_leave(member, now.boot + 100 * SECOND, now);
	ok(last_record(RECORD_BEAT) && last_record(RECORD_BEAT)->record.is_dead && !count(LEFT),
	   "a machine without keys buries its name");
	passes(TTL - SECOND);
	ok(!count(LEFT), "and waits until that is stored");
	passes(2 * SECOND);
	is_number(count(LEFT), 1, "or until its lease is over anyway");
	end_member();
	begin_working();
	member_leave(member, now.boot + 100 * SECOND, now);
	member_leave(member, 0, now);
	is_number(count(LEFT), 1, "a second order to leave ends the wait");
	end_member();
}

/* Machine a, which is a candidate in a stream that was there before. */
static void begin_candidate(void)
{
	static const struct member_options candidate = {
		.ttl = TTL, .beat = 3 * SECOND, .repeat = REPEAT, .is_candidate = true,
	};

	now = (struct instant){ .boot = SECOND, .wall = WALL };
	member = member_new(&candidate, &member_ops, NULL);
	member_expect_others(member);
	forget();
	member_join(member, "a", now);
	member_gets(PUBLISH, OP_OK, 20);
}

/* N3: the record of the election is gone or damaged. Epochs grow all the same. */
static void test_lost_election(void)
{
	const struct record damaged = { .seq = 15 };
	uint64_t op;

	begin_candidate();
	reads(RECORD_BEAT, "b", epoch_of(7, 3), 10);
	reads(RECORD_JOIN, "a", 0, 20);
	member_gets(PUBLISH, OP_OK, 21);
	passes(TTL - SECOND);
	ok(!last_record(RECORD_EPOCH), "without an election a machine waits for a lease of others");
	op = last(PUBLISH)->op;
	member_result(member, op, OP_OK, 22, now);
	passes(SECOND);
	ok(last_record(RECORD_EPOCH) && last_record(RECORD_EPOCH)->record.epoch == epoch_of(8, 0),
	   "and counts on from the epoch of their heartbeats");
	op = last_record(RECORD_EPOCH)->op;
	forget();
	member_result(member, op, OP_WRONG_SEQUENCE, 0, now);
	ok(last(READ) && last(READ)->record.kind == RECORD_EPOCH,
	   "if it is refused, it reads the election");
	member_read(member, last(READ)->op, OP_DAMAGED, &damaged, now);
	passes(REPEAT);
	ok(last_record(RECORD_EPOCH) && last_record(RECORD_EPOCH)->number == 15,
	   "it replaces a damaged one");
	op = last_record(RECORD_EPOCH)->op;
	forget();
	member_result(member, op, OP_WRONG_SEQUENCE, 0, now);
	member_read(member, last(READ)->op, OP_NOT_FOUND, NULL, now);
	passes(REPEAT);
	ok(last_record(RECORD_EPOCH) && !last_record(RECORD_EPOCH)->number,
	   "and expects none if there is none");
	end_member();
}

/* N3: no later master knows a machine whose join is damaged. */
static void test_damaged_join(void)
{
	const struct record damaged = { .seq = 2 };

	begin_working();
	passes(TTL / 2);
	member_gets(PUBLISH, OP_OK, 4);
	passes(TTL / 2);
	member_read(member, last(READ_JOIN)->op, OP_DAMAGED, &damaged, now);
	is_number(count(LOST), 1, "a machine whose join is damaged gives up its keys and its name");
	end_member();
}

/* N2: an add of a key whose record is damaged replaces it. */
static void test_damaged_add(void)
{
	struct member_add add = { .hash = key, .work = { .key = { "k", 1 } } };
	const struct record damaged = { .seq = 7 };

	begin_member();
	forget();
	member_add(member, 1, &add, now);
	member_gets(PUBLISH, OP_WRONG_SEQUENCE, 0);
	member_read(member, last(READ)->op, OP_DAMAGED, &damaged, now);
	ok(count(PUBLISH) == 2 && last(PUBLISH)->number == 7, "an add replaces a damaged record");
	member_gets(PUBLISH, OP_OK, 8);
	is_number(count(ADDED), 1, "and is stored");
	end_member();
}

/* Somebody purges the stream: later masters do not know this machine, nor the election. */
/* Which count the first election of a stream has at this time. */
static uint64_t first_count(uint64_t wall)
{
	uint64_t counted;

	begin_candidate();
	reads(RECORD_JOIN, "a", 0, 20);
	member_gets(PUBLISH, OP_OK, 21);
	now.wall = wall;
	passes(TTL - SECOND);
	member_result(member, last(PUBLISH)->op, OP_OK, 22, now);
	passes(SECOND);
	counted = epoch_count(last_record(RECORD_EPOCH)->record.epoch);
	end_member();
	return counted;
}

/* A stream that was made anew. Stores keep the tokens of the one before. */
static void test_first_election(void)
{
	const uint64_t hour = 3600 * SECOND, start_of_2026 = 490896 * hour;

	is_number(first_count(start_of_2026 + 8000 * hour), 8000,
		  "N3: elections of a new stream are counted from the hours since 2026 on");
	is_number(first_count(WALL), 1, "or from 1, if the clock shows an earlier time");
	is_number(first_count(start_of_2026 + 2000000 * hour), 1, "or one that cannot be");
}

static void test_purge(void)
{
	static const struct member_options candidate = {
		.ttl = TTL, .beat = 3 * SECOND, .repeat = REPEAT, .is_candidate = true,
	};
	const struct record join = {
		.kind = RECORD_JOIN, .seq = 20, .machine = "b", .ttl = TTL,
	};
	uint64_t op;

	now = (struct instant){ .boot = SECOND, .wall = WALL };
	member = member_new(&candidate, &member_ops, NULL);
	forget();
	member_join(member, "a", now);
	member_gets(PUBLISH, OP_OK, 2);
	reads(RECORD_EPOCH, "m", epoch_of(4, 1), 1);
	reads(RECORD_JOIN, "a", 0, 2);
	member_gets(PUBLISH, OP_OK, 3);
	passes(TTL / 2);
	member_gets(PUBLISH, OP_OK, 4);
	reads(RECORD_BEAT, "m", epoch_of(4, 1), 5);
	ok(!count(READ_JOIN), "a machine does not look for its join all the time");
	passes(TTL / 2);
	is_number(count(READ_JOIN), 1, "but once in a lease");
	member_gets(PUBLISH, OP_OK, 6);
	reads(RECORD_BEAT, "m", epoch_of(4, 1), 7);
	op = last(READ_JOIN)->op;
	passes(REPEAT);
	is_number(count(READ_JOIN), 1, "one look at a time");
	member_read(member, op, OP_UNKNOWN, NULL, now);
	passes(TTL / 2);
	member_gets(PUBLISH, OP_OK, 8);
	reads(RECORD_BEAT, "m", epoch_of(4, 1), 9);
	passes(TTL / 2);
	ok(count(READ_JOIN) == 2 && !count(LOST), "a look without an answer is as one that finds it");
	member_read(member, last(READ_JOIN)->op, OP_NOT_FOUND, NULL, now);
	ok(count(LOST) == 1 && last_record(RECORD_BEAT)->record.is_dead,
	   "without its join a machine gives up what it has, and its name");
	forget();
	member_join(member, "b", now);
	member_gets(PUBLISH, OP_OK, 20);
	member_record(member, 2, &join, now);
	member_gets(PUBLISH, OP_OK, 21);
	passes(TTL / 2);
	ok(!last_record(RECORD_EPOCH), "others may be at work: it elects nobody at once");
	member_gets(PUBLISH, OP_OK, 22);
	passes(TTL / 2);
	ok(last_record(RECORD_EPOCH) && !last_record(RECORD_EPOCH)->number &&
	   last_record(RECORD_EPOCH)->record.epoch == epoch_of(5, 0),
	   "then it elects itself by a record that is new, with an epoch that grows");
	end_member();
}

/* A master's machine may have a longer lease than the candidate. */
static void test_election(void)
{
	static const struct member_options candidate = {
		.ttl = TTL, .beat = 3 * SECOND, .repeat = REPEAT, .is_candidate = true,
	};
	const struct record join = {
		.kind = RECORD_JOIN, .seq = 1, .machine = "m", .ttl = 3 * TTL,
	};
	uint64_t passed;

	now = (struct instant){ .boot = SECOND, .wall = WALL };
	member = member_new(&candidate, &member_ops, NULL);
	forget();
	member_join(member, "a", now);
	member_gets(PUBLISH, OP_OK, 20);
	member_record(member, 1, &join, now);
	reads(RECORD_EPOCH, "m", 1, 2);
	reads(RECORD_JOIN, "a", 0, 20);
	member_gets(PUBLISH, OP_OK, 21);
	for (passed = 0; passed < 3 * TTL - SECOND; passed += SECOND) {
		passes(SECOND);
		if (last(PUBLISH) && last(PUBLISH)->record.kind == RECORD_BEAT)
			member_gets(PUBLISH, OP_OK, 30 + passed / SECOND);
		if (last_record(RECORD_EPOCH))
			break;
		forget();
	}
	ok(!last_record(RECORD_EPOCH), "a master is not deposed before its own lease ends");
	passes(2 * SECOND);
	ok(last_record(RECORD_EPOCH) && last_record(RECORD_EPOCH)->number == 2,
	   "but then a candidate elects itself");
	end_member();
}

/* A candidate is elected, and its tail does not tell of that. */
static void test_elected_without_notice(void)
{
	static const struct member_options candidate = {
		.ttl = TTL, .beat = 3 * SECOND, .repeat = REPEAT, .is_candidate = true,
	};
	const struct record elected = {
		.kind = RECORD_EPOCH, .seq = 31, .machine = "a", .epoch = 2,
	};

	now = (struct instant){ .boot = SECOND, .wall = WALL };
	member = member_new(&candidate, &member_ops, NULL);
	forget();
	member_join(member, "a", now);
	member_gets(PUBLISH, OP_OK, 20);
	reads(RECORD_EPOCH, "m", 1, 2);
	reads(RECORD_JOIN, "a", 0, 20);
	member_gets(PUBLISH, OP_OK, 21);
	while (!last_record(RECORD_EPOCH)) {
		forget();
		passes(SECOND);
		if (last_record(RECORD_BEAT))
			member_result(member, last_record(RECORD_BEAT)->op, OP_OK, 22, now);
	}
	member_result(member, last_record(RECORD_EPOCH)->op, OP_WRONG_SEQUENCE, 0, now);
	ok(!count(ELECTED), "an election that was refused");
	member_read(member, last(READ)->op, OP_OK, &elected, now);
	is_number(count(ELECTED), 1, "it is this machine's own, so it is the master");
	end_member();
}

/* N9: a person wants something of the key. */
static void wants(const char *machine, uint64_t number, enum request_kind what)
{
	const struct message message = {
		.kind = MESSAGE_REQUEST, .epoch = master_status(master).epoch, .machine = machine,
		.number = number, .hash = key, .request = what,
	};

	master_message(master, &message, now);
}

/* The record of this kind was read: version @seq, or none if that is 0. */
static void is_read(enum record_kind kind, uint64_t seq, enum retry_state state, uint64_t due)
{
	const struct record record = {
		.kind = kind, .seq = seq, .hash = key, .work = work_with("x"), .due = due,
		.past = NEVER, .state = state,
	};

	master_read(master, last(READ)->op, seq ? OP_OK : OP_NOT_FOUND, &record, now);
}

/* The election was read, and is the one of this count. */
static void election_is(uint64_t epoch)
{
	const struct record record = {
		.kind = RECORD_EPOCH, .seq = 3, .machine = "a", .epoch = epoch,
	};

	master_read(master, last(READ)->op, OP_OK, &record, now);
}

static void test_remove(void)
{
	begin_serving();
	has_add(6, "x");
	wants("b", 1, REQUEST_REMOVE);
	asks("a", 0);
	ok(!last_message(MESSAGE_GRANT, "a"), "N9: a key that is being removed is granted to nobody");
	is_read(RECORD_ADD, 8, 0, 0);
	is_number(count(READ), 1, "a record that the tail has not delivered yet is waited for");
	has_add(8, "y");
	is_read(RECORD_TIMED, 0, 0, 0);
	is_read(RECORD_RETRY, 0, 0, 0);
	is_number(last(ERASE)->number, 8, "N9: what the stream has is erased, and not what the tail had");
	ok(!last_message(MESSAGE_REPLY, "b"), "and nobody is told before");
	gets(ERASE, OP_OK, 0);
	election_is(1);
	ok(last_message(MESSAGE_REPLY, "b")->message.was == KWQ_WAS_READY, "then it is: it was ready");
	asks("a", 1);
	ok(!last_message(MESSAGE_GRANT, "a"), "N9: it is gone");
	forget();
	wants("b", 1, REQUEST_REMOVE);
	ok(last_message(MESSAGE_REPLY, "b")->message.was == KWQ_WAS_READY && !count(READ),
	   "a repeated request has the same reply");
	wants("b", 2, REQUEST_REMOVE);
	is_read(RECORD_ADD, 0, 0, 0);
	is_read(RECORD_TIMED, 0, 0, 0);
	is_read(RECORD_RETRY, 0, 0, 0);
	election_is(1);
	is_number(last_message(MESSAGE_REPLY, "b")->message.was, 0, "another one finds nothing");
	end_master();
}

/* A master that was elected meanwhile may have read what is erased. */
static void test_remove_of_a_former_master(void)
{
	begin_serving();
	has_add(6, "x");
	wants("b", 1, REQUEST_REMOVE);
	is_read(RECORD_ADD, 6, 0, 0);
	is_read(RECORD_TIMED, 0, 0, 0);
	is_read(RECORD_RETRY, 0, 0, 0);
	gets(ERASE, OP_OK, 0);
	election_is(2);
	ok(!last_message(MESSAGE_REPLY, "b") && count(DEPOSED) == 1,
	   "N9: a master that is none any more does not reply");
	end_master();
}

/* An older master has erased what this one has read. */
static void test_remove_of_what_was_erased(void)
{
	begin_serving();
	has_add(6, "x");
	wants("b", 1, REQUEST_REMOVE);
	is_read(RECORD_ADD, 0, 0, 0);
	is_read(RECORD_TIMED, 0, 0, 0);
	is_read(RECORD_RETRY, 0, 0, 0);
	election_is(1);
	is_number(last_message(MESSAGE_REPLY, "b")->message.was, 0, "N9: the stream has it no more");
	asks("a", 0);
	ok(!last_message(MESSAGE_GRANT, "a"), "so the master forgets what its tail had");
	end_master();
}

static void test_remove_at_work(void)
{
	struct token token;

	begin_serving();
	has_add(6, "x");
	asks("a", 0);
	token = last_message(MESSAGE_GRANT, "a")->message.token;
	wants("b", 1, REQUEST_REMOVE);
	ok(last_message(MESSAGE_RECALL, "a") && last_message(MESSAGE_RECALL, "a")->message.revokes,
	   "N9: a key at work is revoked");
	wants("b", 1, REQUEST_REMOVE);
	is_number(count_messages(MESSAGE_RECALL), 2, "whenever the request comes");
	ok(!count(READ), "and nothing else is done to it");
	wants("a", 1, REQUEST_KICK);
	is_number(last_message(MESSAGE_REPLY, "a")->message.was, 0, "it is not dead");
	ends("a", token);
	gets(ERASE, OP_OK, 0);
	is_read(RECORD_ADD, 0, 0, 0);
	is_read(RECORD_TIMED, 0, 0, 0);
	is_read(RECORD_RETRY, 0, 0, 0);
	election_is(1);
	is_number(last_message(MESSAGE_REPLY, "b")->message.was, KWQ_WAS_PROCESSING,
		  "N9: it was at work");
	end_master();
}

static void test_kick(void)
{
	struct record dead = {
		.kind = RECORD_RETRY, .seq = 6, .hash = key, .work = work_with("x"),
		.state = RETRY_DEAD,
	};

	begin_serving();
	dead.work.requeues = 25;
	dead.work.abandoned = 3;
	master_record(master, &dead, now);
	wants("b", 1, REQUEST_KICK);
	is_read(RECORD_ADD, 0, 0, 0);
	is_read(RECORD_TIMED, 0, 0, 0);
	is_read(RECORD_RETRY, 6, RETRY_DEAD, 0);
	ok(last(PUBLISH)->number == 6 && last(PUBLISH)->record.state == RETRY_WAITING &&
	   last(PUBLISH)->record.due == now.wall && !last(PUBLISH)->record.work.requeues &&
	   !last(PUBLISH)->record.work.abandoned, "N9, L11: a dead key is due, and counts from 0");
	gets(PUBLISH, OP_OK, 7);
	dead = last(PUBLISH)->record;
	dead.seq = 7;
	dead.hash = key;
	dead.work = work_with("x");
	master_record(master, &dead, now);
	is_number(last_message(MESSAGE_REPLY, "b")->message.was, KWQ_WAS_DEAD, "it was dead");
	asks("a", 0);
	ok(last_message(MESSAGE_GRANT, "a"), "and is granted");
	end_master();
}

static void test_request_of_a_machine(void)
{
	struct message message = {
		.kind = MESSAGE_REPLY, .epoch = 1, .number = 1, .was = KWQ_WAS_WAITING,
	};

	begin_working();
	forget();
	ok(member_request(member, 7, REQUEST_REMOVE, &key, now), "a request");
	is_number(count_messages(MESSAGE_REQUEST), 1, "is sent to the master");
	passes(REPEAT);
	is_number(count_messages(MESSAGE_REQUEST), 2, "and repeated");
	member_message(member, &message, now);
	ok(last(REPLIED)->number == KWQ_WAS_WAITING && last(REPLIED)->op, "until it is answered");
	forget();
	member_message(member, &message, now);
	passes(REPEAT);
	ok(!count(REPLIED) && !count_messages(MESSAGE_REQUEST), "once");
	member_request(member, 8, REQUEST_REMOVE, &key, now);
	reads(RECORD_EPOCH, "n", 2, 30);
	is_number(last_message(MESSAGE_REQUEST, NULL)->message.epoch, 2,
		  "N9: it is repeated to a newer master");
	message.epoch = 2;
	message.number = 2;
	message.was = 0;
	member_message(member, &message, now);
	ok(last(REPLIED) && !last(REPLIED)->op, "which does not know what the older one has done");
	end_member();
}

/* N6: a machine that wants no keys does not go on to ask for them. */
static void test_pause(void)
{
	begin_member();
	member_gets(PUBLISH, OP_OK, 2);
	reads(RECORD_EPOCH, "m", 1, 1);
	reads(RECORD_JOIN, "a", 0, 2);
	member_gets(PUBLISH, OP_OK, 3);
	ok(last_message(MESSAGE_ASK, NULL), "a machine asks");
	forget();
	passes(REPEAT);
	ok(last_message(MESSAGE_ASK, NULL), "again and again");
	forget();
	member_set_slots(member, 0, 0, now);
	ok(count(SEND) == 1 && !last_message(MESSAGE_ASK, NULL)->message.is_hungry,
	   "when its last worker has gone, it says so");
	forget();
	passes(REPEAT);
	passes(REPEAT);
	ok(!last_message(MESSAGE_ASK, NULL), "and stops when it wants none");
	member_set_slots(member, 1, 0, now);
	ok(last_message(MESSAGE_ASK, NULL) && !last_message(MESSAGE_ASK, NULL)->message.is_hungry &&
	   last_message(MESSAGE_ASK, NULL)->message.number == 1,
	   "then the same ask goes on: its grant may have been on its way");
	end_member();
}

enum { MS = 1000000, FAST = 125 * MS, SLOW = 500 * MS };

/* Each answer takes so long. Returns the window after them. */
static size_t window_after(struct window *window, int nr, size_t under_way, uint64_t each)
{
	for (; nr; nr--) {
		now.boot += each;
		window_answer(window, under_way, now.boot - each, now.boot, true);
	}
	return window->size;
}

static void test_window(void)
{
	struct window window = window_for(TTL), of_short_lease = window_for(2 * SECOND);

	is_number(window_after(&window, 10, 64, FAST - 1), 74, "the window grows by fast answers");
	is_number(window_after(&window, 10, 30, FAST - 1), 74, "not if it is not used");
	is_number(window_after(&window, 10, 74, FAST), 74, "stays by others");
	is_number(window_after(&window, 10, 74, SLOW - 1), 74, "also just before they are slow");
	is_number(window_after(&window, 1, 74, SLOW), 56, "and shrinks by slow ones");
	window_answer(&window, 56, now.boot - SLOW - 1, now.boot, true);
	is_number(window.size, 56, "once for all that were under way");
	window_answer(&window, 56, now.boot, now.boot, false);
	is_number(window.size, 42, "an unknown result is a slow one");
	is_number(window_after(&window, 50, 50, SLOW), 16, "not below a minimum");
	is_number(window_after(&window, 500, 64, SLOW - 1), 64, "it recovers before answers are fast");
	is_number(window_after(&window, 5000, 4096, MS), 4096, "and does not pass a maximum");
	is_number(of_short_lease.fast, 50 * MS, "short leases do not make answers slow");
}

/* The member gets answers to all adds that it has published, after this time. */
static size_t answer_adds(uint64_t time, enum op_result result)
{
	int i, nr = nr_said;

	now.boot += time;
	for (i = 0; i < nr; i++)
		if (said[i].what == PUBLISH)
			member_result(member, said[i].op, result, i + 1, now);
	forget();
	return member_status(member).window;
}

/* N7: fewer adds are under way while the engine is slow. */
static void test_window_of_adds(void)
{
	const struct member_add add = { .hash = key, .work = { .key = { "k", 1 } } };
	uint64_t id = 0;
	size_t window;

	begin_member();
	forget();
	window = member_status(member).window;
	member_add(member, ++id, &add, now);
	is_number(answer_adds(MS, OP_OK), window, "one add does not need a wider window");
	while (id <= window)
		member_add(member, ++id, &add, now);
	ok(answer_adds(MS, OP_OK) > window, "many adds do");
	window = member_status(member).window;
	member_add(member, ++id, &add, now);
	ok(answer_adds(SLOW, OP_OK) < window, "a slow answer makes it narrower");
	window = member_status(member).window;
	member_add(member, ++id, &add, now);
	ok(answer_adds(MS, OP_UNKNOWN) < window, "so does an unknown result");
	end_member();
}

static struct key_hash numbered(int i)
{
	return (struct key_hash){ { 2, i / 256, i % 256 } };
}

enum { NR_ENDS = 70, FIRST_SEQ = 100 };

/* Machine a has so many keys, and ends them all. */
static void end_many(void)
{
	struct message ask = { .kind = MESSAGE_ASK, .epoch = 1, .machine = "a", .number = 1 };
	struct message dones[NR_ENDS];
	struct record record = { .kind = RECORD_ADD };
	int i;

	for (i = 0; i < NR_ENDS; i++) {
		record.seq = FIRST_SEQ + i;
		record.hash = numbered(i);
		master_record(master, &record, now);
		ask.slot = i;
		master_message(master, &ask, now);
		dones[i] = done_of("a", granted("a"), OUTCOME_DONE);
		dones[i].hash = record.hash;
		forget();
	}
	for (i = 0; i < NR_ENDS; i++)
		master_message(master, &dones[i], now);
}

/* The results of all deletions so far. With OP_OK also those of the deletions that follow. */
static void answer_erases(enum op_result result)
{
	int i, nr = result == OP_OK ? MOST_SAID : nr_said;

	now.boot += MS;
	for (i = 0; i < nr_said && i < nr; i++)
		if (said[i].what == ERASE)
			master_result(master, said[i].op, result, 0, now);
}

/* N7: heartbeats wait behind the deletions in the engine. */
static void test_window_of_ends(void)
{
	struct record again = { .kind = RECORD_ADD, .seq = 900, .hash = numbered(NR_ENDS - 1) };

	begin_serving();
	end_many();
	is_number(count(ERASE), 64, "a master deletes so many records at once");
	now.boot += SLOW - 1;
	gets(ERASE, OP_OK, 0);
	is_number(count(ERASE), 65, "the next one when an answer has come");
	now.boot += FAST - 1;
	gets(ERASE, OP_OK, 0);
	is_number(count(ERASE), 67, "two after a fast answer");
	now.boot += SLOW;
	gets(ERASE, OP_OK, 0);
	is_number(count(ERASE), 67, "and none after a slow one");
	master_record(master, &again, now);
	tick(TTL + MARGIN);
	ok(last_record(RECORD_BEAT) && last_record(RECORD_BEAT)->record.is_dead,
	   "burials do not wait for them");
	now.boot += SLOW;
	gets(PUBLISH, OP_OK, 901);
	is_number(master_status(master).window, 49, "and tell nothing of their speed");
	answer_erases(OP_OK);
	ok(count(ERASE) == NR_ENDS - 1 && master_status(master).ready == 1,
	   "a record that was replaced meanwhile is not deleted");
	end_master();
}

/* Operations with an unknown result are repeated within the window. */
static void test_window_of_repeats(void)
{
	size_t window;

	begin_serving();
	end_many();
	answer_erases(OP_UNKNOWN);
	is_number(master_status(master).window, 48,
		  "unknown results make the window of a master narrower, once");
	answer_erases(OP_UNKNOWN);
	window = master_status(master).window;
	forget();
	tick(REPEAT);
	is_number(count(ERASE), window, "so many deletions are repeated at once");
	answer_erases(OP_OK);
	ok(master_status(master).window > window, "their time counts from the repeat");
	is_number(count_messages(MESSAGE_CONFIRM), NR_ENDS, "in the end all are confirmed");
	end_master();
}

/* One deletion at a time. The one that waits is of a record that is replaced meanwhile. */
static void test_held_deletion(void)
{
	const struct window one = { .size = 1, .least = 1, .usual = 1, .most = 1 };
	struct record add = { .kind = RECORD_ADD, .seq = 6, .hash = numbered(0) };
	struct record timed = { .kind = RECORD_TIMED, .seq = 8, .due = 1, .past = NEVER };
	struct message done;

	begin_serving_with(one);
	master_record(master, &add, now);
	asks("a", 0);
	done = done_of("a", granted("a"), OUTCOME_DONE);
	done.hash = add.hash;
	master_message(master, &done, now);
	add.hash = numbered(1);
	timed.hash = add.hash;
	add.seq = 7;
	master_record(master, &add, now);
	master_record(master, &timed, now);
	asks("a", 1);
	done.hash = add.hash;
	done.token = granted("a");
	master_message(master, &done, now);
	ok(count(ERASE) == 1 && last(ERASE)->number == 6, "the deletions of a key wait");
	add.seq = 20;
	master_record(master, &add, now);
	gets(ERASE, OP_OK, 0);
	ok(count(ERASE) == 2 && last(ERASE)->number == 8,
	   "one is needed no more, and the other one follows");
	end_master();
}

/* N6: keys whose end is processed hide none that could go to a worker that sleeps. */
static void test_recall_behind_ends(void)
{
	const struct said *recall;

	begin_serving();
	has_add(6, "x");
	asks("a", 100);
	end_many();
	forget();
	asks_again("b", 1, true, 0);
	recall = last_message(MESSAGE_RECALL, "a");
	ok(recall && !memcmp(&recall->message.hash, &key, sizeof(key)),
	   "a key is recalled although many younger ones are ending");
	end_master();
}

/* Machine a gets a key for its first slot, and a worker takes it. */
static void takes(int i)
{
	const struct message grant = {
		.kind = MESSAGE_GRANT, .epoch = 1, .number = i + 1, .hash = numbered(i),
		.token = { 1, i + 1 }, .versions = { .add = i + 10 }, .work = work_with(NULL),
	};

	forget();
	member_message(member, &grant, now);
	member_taken(member, &grant.hash, grant.token, true, now);
}

static void takes_and_ends(int i)
{
	const struct member_end done = { .outcome = OUTCOME_DONE };
	const struct key_hash hash = numbered(i);

	takes(i);
	member_ended(member, &hash, (struct token){ 1, i + 1 }, &done, now);
}

/* The last ask is for no worker that sleeps, and nothing follows. */
static void asks_no_more(const char *what)
{
	bool is_hungry = last_message(MESSAGE_ASK, NULL)->message.is_hungry;

	forget();
	member_tick(member, now);
	ok(!is_hungry && !count_messages(MESSAGE_ASK), "%s", what);
}

/* Workers are faster than the engine. */
static void test_many_unconfirmed(void)
{
	const struct message confirm = {
		.kind = MESSAGE_CONFIRM, .epoch = 1, .hash = numbered(0), .token = { 1, 1 },
	};
	int i;

	begin_working();
	member_set_slots(member, 2, 2, now);
	for (i = 0; i < 999; i++)
		takes_and_ends(i);
	ok(last_message(MESSAGE_ASK, NULL)->message.slot == 1 &&
	   !last_message(MESSAGE_ASK, NULL)->message.is_hungry,
	   "with nearly too many ends without confirmation a machine asks for one key");
	takes_and_ends(i);
	is_number(member_status(member).unconfirmed, 1000, "then they are too many");
	asks_no_more("and it asks for nothing, and lets no machine give up keys for it");
	forget();
	member_message(member, &confirm, now);
	ok(last_message(MESSAGE_ASK, NULL) && last_message(MESSAGE_ASK, NULL)->message.is_hungry,
	   "a confirmation lets it ask again");
	end_member();
}

/* A promise lists them all. */
static void test_many_held(void)
{
	int i;

	begin_working();
	for (i = 0; i < HELD_MAX - 1; i++)
		takes(i);
	ok(last_message(MESSAGE_ASK, NULL), "a machine asks for a last key");
	takes(i);
	is_number(member_status(member).held, HELD_MAX, "a machine has as many keys as it may");
	ok(!last_message(MESSAGE_ASK, NULL), "then it asks for no more");
	end_member();
}

/* N1: adds so far are stored first. Later ones stay in the outbox. */
static void test_leave_with_adds(void)
{
	struct member_add add = { .hash = key, .work = { .key = { "k", 1 } } };

	begin_member();
	member_gets(PUBLISH, OP_OK, 2);
	reads(RECORD_JOIN, "a", 0, 2);
	member_gets(PUBLISH, OP_OK, 3);
	member_add(member, 1, &add, now);
	forget();
	member_leave(member, now.boot + TTL, now);
	ok(!count(PUBLISH) && !count(LEFT), "a machine does not leave before its add is stored");
	add.hash.bytes[0] = 2;
	member_add(member, 2, &add, now);
	is_number(count(PUBLISH), 1, "another add comes");
	/* The first add has the operation before that. */
	member_result(member, last(PUBLISH)->op - 1, OP_OK, 4, now);
	is_number(count(ADDED), 1, "the first one is stored");
	passes(0);
	ok(last_record(RECORD_BEAT) && last_record(RECORD_BEAT)->record.is_dead,
	   "and the machine gives its name up");
	member_gets(PUBLISH, OP_OK, 5);
	is_number(count(LEFT), 1, "and leaves");
	end_member();
}

/* A heartbeat of the older epoch is stored behind the promise, and replaces it. */
static void replaced_promise(bool tail_first)
{
	begin_working();
	forget();
	reads(RECORD_EPOCH, "n", 2, 4);
	is_number(last_record(RECORD_BEAT)->record.epoch, 2, "a machine promises a new epoch");
	if (tail_first)
		reads(RECORD_BEAT, "a", 1, 6);
	member_gets(PUBLISH, OP_OK, 5);
	if (!tail_first)
		reads(RECORD_BEAT, "a", 1, 6);
	ok(count(PUBLISH) == 2 && last_record(RECORD_BEAT)->record.epoch == 2,
	   "and once more if the promise was replaced");
	member_gets(PUBLISH, OP_OK, 7);
	reads(RECORD_BEAT, "a", 2, 7);
	reads(RECORD_BEAT, "b", 1, 8);
	is_number(count(PUBLISH), 2, "and that is all");
	end_member();
}

static void test_replaced_promise(void)
{
	replaced_promise(false);
	replaced_promise(true);
}

static void test_leave(void)
{
	begin_working();
	now.boot += TTL;
	forget();
	member_leave(member, now.boot + SECOND, now);
	ok(count(LOST) == 1 && last_record(RECORD_BEAT)->record.is_dead && count(LEFT) == 1,
	   "a machine that leaves after its lease kills its jobs, and buries its name");
	end_member();
	begin_member();
	forget();
	member_leave(member, now.boot + SECOND, now);
	ok(count(PUBLISH) == 1 && last_record(RECORD_BEAT)->record.is_dead && count(LEFT) == 1,
	   "so does one that is still joining: no master waits for it");
	end_member();
}

/* Grants that a machine must not take. */
static void test_grants(void)
{
	struct message grant = {
		.kind = MESSAGE_GRANT, .epoch = 1, .number = 1, .hash = key, .token = { 1, 1 },
		.versions = { .add = 9 }, .work = work_with("x"),
	};
	const struct member_end done = { .outcome = OUTCOME_DONE };

	begin_working();
	grant.epoch = 2;
	member_message(member, &grant, now);
	grant.epoch = 1;
	grant.number = 2;
	member_message(member, &grant, now);
	ok(!count(START), "a grant of another epoch or ask is none");
	grant.number = 1;
	member_message(member, &grant, now);
	member_message(member, &grant, now);
	is_number(count(START), 1, "one that comes twice counts once");
	member_taken(member, &key, grant.token, true, now);
	member_ended(member, &key, grant.token, &done, now);
	ok(last_message(MESSAGE_DONE, NULL), "the end is sent");
	reads(RECORD_EPOCH, "n", 2, 5);
	ok(last_record(RECORD_BEAT)->record.nr_held == 1 &&
	   same_token(last_record(RECORD_BEAT)->held[0].token, grant.token) &&
	   last_record(RECORD_BEAT)->held[0].versions.add == 9,
	   "a promise lists the key whose end is not confirmed");
	forget();
	now.boot += TTL;
	member_message(member, &grant, now);
	ok(count(LOST) == 1 && !count(START), "nothing is taken after the lease");
	end_member();
}

static void comes_granted(uint64_t timed)
{
	const struct message grant = {
		.kind = MESSAGE_GRANT, .epoch = 1, .number = 1, .hash = key, .token = { 1, 1 },
		.versions = { .timed = timed }, .work = work_with("x"),
	};

	member_message(member, &grant, now);
}

/* N6: nobody else can have a key while its grant is lost. */
static void test_lost_grant(void)
{
	struct message recall = {
		.kind = MESSAGE_RECALL, .epoch = 1, .hash = key, .token = { 1, 1 },
	};

	begin_working();
	member_set_slots(member, 0, 0, now);
	passes(REPEAT / 2);
	forget();
	member_message(member, &recall, now);
	ok(last_message(MESSAGE_ASK, NULL), "a recall of a key that never came: the ask is repeated");
	comes_granted(6);
	ok(!count(START) && last_message(MESSAGE_DONE, NULL) &&
	   last_message(MESSAGE_DONE, NULL)->message.outcome == OUTCOME_RETURNED,
	   "the grant comes, and the key goes back, because no worker is here");
	end_member();
}

/* A reconnection loses many grants at once. */
static void test_many_lost_grants(void)
{
	enum { NR_LOST = 12 };
	struct message recall = { .kind = MESSAGE_RECALL, .epoch = 1, .token = { 1, 1 } };
	int i;

	begin_working();
	member_set_slots(member, NR_LOST, NR_LOST, now);
	passes(REPEAT / 2);
	forget();
	for (i = 0; i < NR_LOST; i++) {
		recall.hash.bytes[0] = 100 + i;
		member_message(member, &recall, now);
	}
	is_number(count_messages(MESSAGE_ASK), NR_LOST, "each open ask is repeated once");
	end_member();
}

/* N6: a worker dies, and its key does not wait here for another one. */
static void test_worker_dies(void)
{
	const struct member_end back = { .outcome = OUTCOME_RETURNED, .abandoned = 2 };
	const struct token token = { 1, 1 };

	begin_working();
	comes_granted(6);
	member_set_slots(member, 0, 0, now);
	ok(!count(BACK), "a key that no worker had stays for the next one");
	member_taken(member, &key, token, true, now);
	member_set_slots(member, 0, 0, now);
	ok(!count(BACK), "so does one at work");
	member_taken(member, &key, token, false, now);
	member_set_slots(member, 1, 1, now);
	ok(!count(BACK), "and one that came back, if another worker sleeps here");
	member_set_slots(member, 1, 0, now);
	is_number(count(BACK), 1, "else it goes back to the master, because one may sleep elsewhere");
	member_ended(member, &key, token, &back, now);
	is_number(last_message(MESSAGE_DONE, NULL)->message.work.abandoned, 2,
		  "L12: with the number of workers that it lost");
	end_member();
}

/* D2: the job that a timed add began adds its key for later. Its clock is behind the master's. */
static void test_timed_add_of_a_job(void)
{
	const struct record there = {
		.kind = RECORD_TIMED, .seq = 6, .hash = key, .work = work_with("x"),
		.due = now.wall + 5000000, .past = NEVER,
	};
	struct member_add add = {
		.hash = key, .work = work_with(NULL), .due = now.wall + 3600 * SECOND,
	};
	bool is_here;

	for (is_here = true; ; is_here = false) {
		begin_working();
		if (is_here)
			comes_granted(6);
		member_add(member, 1, &add, now);
		member_gets(PUBLISH, OP_WRONG_SEQUENCE, 0);
		member_read(member, last(READ)->op, OP_OK, &there, now);
		if (!is_here)
			break;
		ok(last_record(RECORD_TIMED)->record.due == add.due &&
		   last_record(RECORD_TIMED)->record.through == 6,
		   "a job adds its own key for later: that time stays");
		end_member();
	}
	ok(last_record(RECORD_TIMED)->record.due == there.due, "of others the earlier time stays");
	end_member();
}

/* Returns the done of an end, whose note is gone after the call. */
static const struct said *ends_with(enum outcome outcome, const char *note)
{
	struct message grant = {
		.kind = MESSAGE_GRANT, .epoch = 1, .number = 1, .hash = key, .token = { 1, 1 },
		.versions = { .add = 9 }, .work = work_with("x"),
	};
	char bytes[TEXT] = "";
	struct member_end how = { .outcome = outcome, .requeues = 1 };

	grant.work.note = (struct bytes){ "old", 3 };
	begin_working();
	member_message(member, &grant, now);
	ok(!strcmp(last(START)->note, "old"), "Q18: a worker gets the note of the key");
	member_taken(member, &key, grant.token, true, now);
	copy_text(bytes, note, strlen(note));
	how.note = (struct bytes){ bytes, strlen(note) };
	member_ended(member, &key, grant.token, &how, now);
	memset(bytes, '?', sizeof(bytes));
	forget();
	passes(REPEAT);
	end_member();
	return last_message(MESSAGE_DONE, NULL);
}

static void test_note_of_an_end(void)
{
	ok(!strcmp(ends_with(OUTCOME_DEAD, "why")->note, "why"),
	   "Q18: the end tells why the run has failed, each time");
	ok(!strcmp(ends_with(OUTCOME_DEAD, "old")->note, ""),
	   "Q18: and nothing that the master knows");
	ok(!strcmp(ends_with(OUTCOME_RETRY, "")->note, ""), "Q18: nor what nobody said");
}

int main(void)
{
	test_two_tokens();
	test_the_dead_return();
	test_burial();
	test_lost_beat();
	test_longer_lease();
	test_retry();
	test_late_retry();
	test_late_dead_letter();
	test_refused_in_vain();
	test_damaged_retry();
	test_value_of_a_timed_add();
	test_retry_of_a_worker();
	test_timed_add_is_gone();
	test_value_of_an_add();
	test_value_behind_an_erase();
	test_value_of_a_promise();
	test_note_of_a_retry();
	test_note_of_a_death();
	test_note_of_a_merged_add();
	test_note_of_a_waiting_retry();
	test_note_of_a_promise();
	test_death();
	test_losses_on_machines();
	test_untaken_at_death();
	test_add_ends_rest();
	test_end_of_losses();
	test_death_of_a_master();
	test_repeats();
	test_adds_of_a_granted_key();
	test_key_that_is_added_all_the_time();
	test_long_run();
	test_urgent_add();
	test_done_tells_more();
	test_recalls_for_the_hungry();
	test_slots();
	test_many_due();
	test_lease();
	test_join();
	test_end_of_leaving();
	test_election();
	test_lost_election();
	test_first_election();
	test_damaged_join();
	test_damaged_add();
	test_purge();
	test_elected_without_notice();
	test_remove();
	test_remove_of_a_former_master();
	test_remove_of_what_was_erased();
	test_remove_at_work();
	test_kick();
	test_request_of_a_machine();
	test_pause();
	test_window();
	test_window_of_adds();
	test_window_of_ends();
	test_window_of_repeats();
	test_held_deletion();
	test_recall_behind_ends();
	test_many_unconfirmed();
	test_many_held();
	test_leave_with_adds();
	test_replaced_promise();
	test_leave();
	test_grants();
	test_lost_grant();
	test_worker_dies();
	test_many_lost_grants();
	test_timed_add_of_a_job();
	test_note_of_an_end();
	return done_testing();
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Records and messages: encoding, decoding, hostile bytes, subjects, the answers of servers, and
 * NKeys. Compiled with sanitizers. Each payload that is decoded lies in memory of just its length.
 */
#include <errno.h>
#include <stdlib.h>

#include <linux/kwq.h>

#include "share/engine/json.h"
#include "share/engine/nkey.h"
#include "share/wire/record.h"
#include "tap.h"
#include "share/wire/wire.h"

#define BYTES(text) ((struct bytes){ text, sizeof(text) - 1 })

static struct names names;
static struct record_memory memory;
static struct buffer buffer;

/* Pseudo-random, the same in each run. */
static uint32_t random_state = 1;

static uint32_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state;
}

/* ---- There and back ------------------------------------------------------- */

static bool same_bytes(struct bytes a, struct bytes b)
{
	return a.len == b.len && (!a.len || !memcmp(a.at, b.at, a.len));
}

static bool same_work(const struct work *a, const struct work *b)
{
	return same_bytes(a->key, b->key) && same_bytes(a->value, b->value) &&
	       same_bytes(a->group, b->group) && same_bytes(a->note, b->note) &&
	       a->has_value == b->has_value &&
	       a->has_group == b->has_group && a->priority == b->priority &&
	       a->requeues == b->requeues && a->abandoned == b->abandoned;
}

static bool same_versions(struct versions a, struct versions b)
{
	return a.add == b.add && a.timed == b.timed && a.retry == b.retry;
}

static bool same_token(struct token a, struct token b)
{
	return a.epoch == b.epoch && a.number == b.number;
}

static bool same_machine(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same_held(const struct record *a, const struct record *b)
{
	if (a->nr_held != b->nr_held)
		return false;
	for (size_t i = 0; i < a->nr_held; i++)
		if (memcmp(&a->held[i].hash, &b->held[i].hash, HASH_LEN) ||
		    !same_token(a->held[i].token, b->held[i].token) ||
		    !same_versions(a->held[i].versions, b->held[i].versions))
			return false;
	return true;
}

static bool same_record(const struct record *a, const struct record *b)
{
	return a->kind == b->kind && !memcmp(&a->hash, &b->hash, HASH_LEN) &&
	       same_work(&a->work, &b->work) && a->due == b->due && a->past == b->past &&
	       a->through == b->through && a->valued == b->valued && a->noted == b->noted &&
	       a->state == b->state &&
	       same_machine(a->machine, b->machine) && a->is_dead == b->is_dead &&
	       a->epoch == b->epoch && same_held(a, b);
}

static bool same_message(const struct message *a, const struct message *b)
{
	return a->kind == b->kind && a->epoch == b->epoch && same_machine(a->machine, b->machine) &&
	       a->slot == b->slot && a->number == b->number && a->is_hungry == b->is_hungry &&
	       a->untaken == b->untaken && !memcmp(&a->hash, &b->hash, HASH_LEN) &&
	       same_token(a->token, b->token) && same_versions(a->versions, b->versions) &&
	       same_work(&a->work, &b->work) && a->outcome == b->outcome && a->due == b->due &&
	       a->revokes == b->revokes && a->request == b->request && a->was == b->was;
}

/* The payload in memory of just its length, so that a sanitizer sees each byte too many. */
static void *exact(const void *from, size_t len)
{
	void *copy = malloc(len ? len : 1);

	if (len)
		memcpy(copy, from, len);
	return len ? copy : realloc(copy, 0) ?: malloc(1);
}

static int decode_record(const char *subject, const void *payload, size_t len,
			 struct record *record)
{
	return record_decode(record, &memory, &names, subject, 7, (struct bytes){ payload, len });
}

static void round_trip(const char *what, struct record record)
{
	char subject[SUBJECT_MAX];
	struct record got;
	void *payload;
	int err;

	if (record.work.key.len)
		key_hash_of(&record.hash, record.work.key);
	err = record_encode(&buffer, &record) ?: record_subject(subject, &names, &record);
	payload = exact(buffer.bytes, buffer.len);
	err = err ?: decode_record(subject, payload, buffer.len, &got);
	ok(!err && got.seq == 7 && same_record(&record, &got), "%s: %s, %zu bytes (%d)", what,
	   err ? "" : subject, buffer.len, err);
	free(payload);
}

static void message_trip(const char *what, struct message message)
{
	struct message got;
	void *payload;
	int err;

	if (message.work.key.len)
		key_hash_of(&message.hash, message.work.key);
	err = message_encode(&buffer, &message);
	payload = exact(buffer.bytes, buffer.len);
	err = err ?: message_decode(&got, &memory, (struct bytes){ payload, buffer.len });
	ok(!err && same_message(&message, &got), "%s: %zu bytes (%d)", what, buffer.len, err);
	free(payload);
}

static const struct work full = {
	.key = { "key\0\xff", 5 }, .value = { "value", 5 }, .group = { "group", 5 },
	.note = { "no\0te\xff", 6 },
	.has_value = true, .has_group = true, .priority = KWQ_PRIORITY_MIN,
	.requeues = UINT32_MAX, .abandoned = 3,
};

static void test_records(void)
{
	static char key[KWQ_KEY_MAX], value[KWQ_VALUE_MAX], group[KWQ_GROUP_MAX];
	static char note[KWQ_NOTE_MAX];
	const struct work shortest = { .key = BYTES("k") };
	const struct work longest = {
		.key = { key, sizeof(key) },
		.value = { value, sizeof(value) },
		.group = { group, sizeof(group) },
		.note = { note, sizeof(note) },
		.has_value = true,
		.has_group = true,
		.priority = KWQ_PRIORITY_MAX,
	};
	const struct work empty = {
		.key = BYTES("k"), .value = BYTES(""), .group = BYTES(""),
		.has_value = true, .has_group = true,
	};
	const struct {
		const char *what;
		struct record record;
	} cases[] = {
		{ "an add", { .kind = RECORD_ADD, .work = shortest } },
		{ "an add with all", { .kind = RECORD_ADD, .work = full } },
		{ "an add with an empty value and group", { .kind = RECORD_ADD, .work = empty } },
		{ "the longest add", { .kind = RECORD_ADD, .work = longest } },
		{ "a timed add", {
			.kind = RECORD_TIMED, .work = full,
			.due = UINT64_MAX, .past = 1, .through = 6,
		} },
		{ "an add with the value of another", {
			.kind = RECORD_ADD, .work = full, .valued = 6,
		} },
		{ "a timed add with the value of another", {
			.kind = RECORD_TIMED, .work = full, .due = 5, .valued = 6,
		} },
		{ "a retry", {
			.kind = RECORD_RETRY, .work = full,
			.due = 5, .state = RETRY_REMEMBERED, .valued = 6,
		} },
		{ "an add with the note of another", {
			.kind = RECORD_ADD, .work = full, .noted = 6,
		} },
		{ "a timed add with the note of another", {
			.kind = RECORD_TIMED, .work = full, .due = 5, .noted = 6,
		} },
		{ "a dead key with the note of another", {
			.kind = RECORD_RETRY, .work = full, .state = RETRY_DEAD, .noted = 6,
		} },
		{ "an epoch", {
			.kind = RECORD_EPOCH, .machine = "host.example-0123",
			.epoch = epoch_of(RECORD_ELECTIONS_MAX, 7),
		} },
		{ "a join", { .kind = RECORD_JOIN, .machine = "host *>.", .ttl = 12 } },
		{ "a burial", {
			.kind = RECORD_BEAT, .machine = "m", .is_dead = true,
			.epoch = epoch_of(RECORD_ELECTIONS_MAX, 6),
		} },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		round_trip(cases[i].what, cases[i].record);
}

/* A record cannot name one that came later. A master would grant such a key for ever. */
static void test_later_versions(void)
{
	const struct record cases[] = {
		{ .kind = RECORD_TIMED, .work = full, .due = 5, .past = 1, .through = 7 },
		{ .kind = RECORD_ADD, .work = full, .valued = 7 },
		{ .kind = RECORD_ADD, .work = full, .noted = 7 },
		{ .kind = RECORD_RETRY, .work = full, .valued = UINT64_MAX },
	};
	char subject[SUBJECT_MAX];
	struct record got, record;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		record = cases[i];
		key_hash_of(&record.hash, record.work.key);
		record_subject(subject, &names, &record);
		record_encode(&buffer, &record);
		is_number(decode_record(subject, buffer.bytes, buffer.len, &got), -EBADMSG,
			  "the record 7 names a later one, or itself");
	}
}

static void test_shown_subject(void)
{
	char shown[SUBJECT_MAX], subject[2 * SUBJECT_MAX];

	subject_shown(shown, "kwq.q.a.\x1b[31m\xff=2e");
	ok(!strcmp(shown, "kwq.q.a.?[31m?=2e"), "a subject for a message: %s", shown);
	memset(subject, 'x', sizeof(subject) - 1);
	subject[sizeof(subject) - 1] = '\0';
	is_number(strlen(subject_shown(shown, subject)), SUBJECT_MAX - 1, "a long one is cut");
}

static void test_beat(void)
{
	static struct held held[15000];
	struct record beat = { .kind = RECORD_BEAT, .epoch = 1, .held = held };
	char longest[MACHINE_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(held); i++) {
		held[i].token = (struct token){ UINT32_MAX, UINT32_MAX };
		held[i].versions = (struct versions){ UINT32_MAX, i, UINT32_MAX };
		memset(&held[i].hash, (int)i, HASH_LEN);
	}
	memset(longest, '.', sizeof(longest) - 1);
	longest[MACHINE_MAX - 1] = '\0';
	beat.machine = longest;
	beat.nr_held = 1;
	round_trip("a heartbeat", beat);
	beat.machine = "m";
	beat.nr_held = ARRAY_SIZE(held);
	round_trip("one with 15,000 keys", beat);
	ok(buffer.len < 1000000, "which fits into a message");
	round_trip("one without any", (struct record){ .kind = RECORD_BEAT, .machine = "m" });
}

static void test_messages(void)
{
	const struct key_hash hash = { "0123456789abcde" };
	const struct token token = { UINT32_MAX, UINT64_MAX };
	const struct versions versions = { 1, 0, UINT64_MAX };
	const struct {
		const char *what;
		struct message message;
	} cases[] = {
		{ "an ask", {
			.kind = MESSAGE_ASK, .epoch = 1, .machine = "m",
			.slot = UINT32_MAX, .number = 2, .is_hungry = true, .untaken = 7,
		} },
		{ "a grant", {
			.kind = MESSAGE_GRANT, .epoch = 1, .slot = 1, .number = 2,
			.token = token, .versions = versions, .work = full,
		} },
		{ "a done by hash", {
			.kind = MESSAGE_DONE, .epoch = 1, .machine = "m", .hash = hash,
			.token = token, .versions = versions,
			.outcome = OUTCOME_RETURNED, .untaken = UINT32_MAX,
		} },
		{ "a done of a key with losses", {
			.kind = MESSAGE_DONE, .epoch = 1, .machine = "m", .hash = hash,
			.token = token, .versions = versions,
			.outcome = OUTCOME_RETURNED, .work.abandoned = 3,
		} },
		{ "a done by key", {
			.kind = MESSAGE_DONE, .epoch = 1, .machine = "m", .work = full,
			.token = token, .versions = versions,
			.outcome = OUTCOME_RETRY, .due = 4,
		} },
		{ "a confirmation", {
			.kind = MESSAGE_CONFIRM, .epoch = 1, .hash = hash, .token = token,
		} },
		{ "a recall", {
			.kind = MESSAGE_RECALL, .epoch = 1, .hash = hash, .token = token,
		} },
		{ "a recall from a worker", {
			.kind = MESSAGE_RECALL, .epoch = 1, .hash = hash, .token = token,
			.revokes = true,
		} },
		{ "a request", {
			.kind = MESSAGE_REQUEST, .epoch = 1, .machine = "m",
			.slot = REQUESTS_MAX - 1, .number = 2, .hash = hash,
			.request = REQUEST_END_WAIT,
		} },
		{ "a reply", {
			.kind = MESSAGE_REPLY, .epoch = 1, .slot = 1, .number = 2,
			.was = KWQ_WAS_DEAD,
		} },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		message_trip(cases[i].what, cases[i].message);
}

/* Copies @buffer without its member @nr. Returns the letter of that, or 0 if there is none. */
static char leave_out(size_t nr, struct buffer *to)
{
	struct bytes from = { buffer.bytes, buffer.len };
	struct wire_item map, name;
	const uint8_t *first;
	char left_out = 0;

	wire_read(&from, &map);
	if (nr >= map.number)
		return 0;
	to->len = 0;
	wire_map(to, map.number - 1);
	for (size_t i = 0; i < map.number; i++) {
		first = from.at;
		wire_read(&from, &name);
		wire_skip(&from);
		if (i == nr) {
			left_out = *(const char *)name.bytes.at;
			continue;
		}
		/* One byte more, whatever wire_number() would write there. */
		for (; first < (const uint8_t *)from.at; first++) {
			wire_number(to, 0);
			to->bytes[to->len - 1] = *first;
		}
	}
	return left_out;
}

/* Letters of the members of @buffer without which it is refused. @subject: of a record, or NULL */
static void is_needed(const char *what, const char *subject, const char *wanted)
{
	struct buffer shorter = { 0 };
	struct message message;
	struct record record;
	char got[32] = "", letter;
	int err;

	for (size_t nr = 0; (letter = leave_out(nr, &shorter)); nr++) {
		struct bytes bytes = { shorter.bytes, shorter.len };

		if (subject)
			err = decode_record(subject, bytes.at, bytes.len, &record);
		else
			err = message_decode(&message, &memory, bytes);
		if (err == -EBADMSG)
			got[strlen(got)] = letter;
	}
	free(shorter.bytes);
	ok(!strcmp(got, wanted), "%s needs the members %s (%s)", what, wanted, got);
}

/* The letters are those of the shapes in record.c. */
/* A done that leaves a record has to bring the key. */
static void test_done_without_key(void)
{
	struct message message = {
		.kind = MESSAGE_DONE, .epoch = 1, .machine = "m", .hash = { { 1 } },
		.token = { 1, 2 }, .versions = { .add = 3 },
	}, got;
	const enum outcome refused[] = { OUTCOME_REMEMBERED, OUTCOME_RETRY, OUTCOME_DEAD };

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		message.outcome = refused[i];
		message_encode(&buffer, &message);
		is_number(message_decode(&got, &memory,
					 (struct bytes){ buffer.bytes, buffer.len }),
			  -EBADMSG, "a retry, a death or a count without its key");
	}
	message.outcome = OUTCOME_DONE;
	message_encode(&buffer, &message);
	is_number(message_decode(&got, &memory, (struct bytes){ buffer.bytes, buffer.len }), 0,
		  "a plain done needs only the hash");
}

static void test_missing(void)
{
	struct held held = { .token = { 1, 2 } };
	const struct {
		const char *needs;
		struct record record;
	} records[] = {
		{ "vk", { .kind = RECORD_ADD, .work = full, .valued = 6, .noted = 6 } },
		{ "vktbw", { .kind = RECORD_TIMED, .work = full, .valued = 6 } },
		{ "vkts", { .kind = RECORD_RETRY, .work = full, .valued = 6 } },
		{ "vme", { .kind = RECORD_EPOCH, .machine = "m" } },
		{ "vmr", { .kind = RECORD_JOIN, .machine = "m", .ttl = 1 } },
		{ "vme", { .kind = RECORD_BEAT, .machine = "m", .is_dead = true,
			   .held = &held, .nr_held = 1 } },
	};
	const struct {
		const char *needs;
		struct message message;
	} messages[] = {
		{ "vmeion", { .kind = MESSAGE_ASK, .machine = "m", .is_hungry = true,
			      .untaken = 1 } },
		{ "vkeioncu", { .kind = MESSAGE_GRANT, .work = full } },
		{ "vktmeicuz", { .kind = MESSAGE_DONE, .machine = "m", .work = full,
				 .untaken = 1 } },
		{ "veihc", { .kind = MESSAGE_CONFIRM } },
		{ "veihc", { .kind = MESSAGE_RECALL, .revokes = true } },
		{ "vmeionhr", { .kind = MESSAGE_REQUEST, .machine = "m" } },
		{ "veionw", { .kind = MESSAGE_REPLY } },
	};
	char subject[SUBJECT_MAX], what[32];

	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		struct record record = records[i].record;

		key_hash_of(&record.hash, full.key);
		record_subject(subject, &names, &record);
		record_encode(&buffer, &record);
		snprintf(what, sizeof(what), "record %d", record.kind);
		is_needed(what, subject, records[i].needs);
	}
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
		message_encode(&buffer, &messages[i].message);
		snprintf(what, sizeof(what), "message %d", messages[i].message.kind);
		is_needed(what, NULL, messages[i].needs);
	}
}

static void test_limits(void)
{
	static char longer[KWQ_VALUE_MAX + 1];
	char machine[MACHINE_MAX + 1];
	struct work work = { .key = BYTES("k") };
	struct record record = { .kind = RECORD_ADD };
	char subject[SUBJECT_MAX];

	is_number(record_encode(&buffer, &record), -EINVAL, "no key is refused");
	record.work.key = (struct bytes){ longer, KWQ_KEY_MAX + 1 };
	is_number(record_encode(&buffer, &record), -EINVAL, "and one that is too long");
	record.work = work;
	record.work.has_value = true;
	record.work.value = (struct bytes){ longer, sizeof(longer) };
	is_number(record_encode(&buffer, &record), -EINVAL, "and such a value");
	record.work = work;
	record.work.has_group = true;
	record.work.group = (struct bytes){ longer, KWQ_GROUP_MAX + 1 };
	is_number(record_encode(&buffer, &record), -EINVAL, "and such a group");
	record.work = work;
	record.work.note = (struct bytes){ longer, KWQ_NOTE_MAX + 1 };
	is_number(record_encode(&buffer, &record), -EINVAL, "and such a note");
	record.work = work;
	record.work.priority = KWQ_PRIORITY_MAX + 1;
	is_number(record_encode(&buffer, &record), -EINVAL, "and such a priority");
	record = (struct record){ .kind = RECORD_JOIN };
	is_number(record_encode(&buffer, &record), -EINVAL, "and no machine");
	is_number(record_subject(subject, &names, &record), -EINVAL, "also for a subject");
	memset(machine, 'm', MACHINE_MAX);
	machine[MACHINE_MAX] = '\0';
	record.machine = machine;
	is_number(record_encode(&buffer, &record), -EINVAL, "and one that is too long");
	is_number(record_subject(subject, &names, &record), -EINVAL, "also for a subject");
	is_number(machine_subject(subject, &names, machine), -EINVAL, "of either kind");
}

/* ---- Payloads of others --------------------------------------------------- */

static const char add_subject[] = "kwq.q.a.8254c329a92850f6d539dd376f4816ee";

static uint8_t hex_digit(char digit)
{
	return digit <= '9' ? digit - '0' : digit - 'a' + 10;
}

/* Decodes hexadecimal bytes as the add of key "k". */
static int decode_hex(const char *hex, struct record *record)
{
	size_t len = strlen(hex) / 2;
	uint8_t bytes[256];
	void *payload;
	int err;

	for (size_t i = 0; i < len; i++)
		bytes[i] = hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]);
	payload = exact(bytes, len);
	err = decode_record(add_subject, payload, len, record);
	free(payload);
	return err;
}

/* 61 is text of one byte; 41 are bytes of one byte. k is 6b, v 76, p 70. */
static void test_hostile(void)
{
	static const struct {
		const char *hex;
		int err;
		const char *what;
	} cases[] = {
		{ "a2617601616b416b", 0, "an add" },
		{ "a2616b416b617601", 0, "in another order" },
		{ "a3617601616b416b617a01", 0, "with a member of another kind" },
		{ "a3617601616b416b627a7a8301820203a10405", 0,
		  "with an unknown member that has parts" },
		{ "a3617601616b416b627a7ac1f97e00", 0, "with an unknown member with a tag" },
		{ "a3617601616b416b617020", 0, "with priority -1" },
		{ "a3617601616b416b61703820", -EBADMSG, "with priority -33" },
		{ "a3617601616b416b61701820", -EBADMSG, "with priority 32" },
		{ "a3617601616b416b61701bffffffffffffffff", -EBADMSG, "with priority 2^64 - 1" },
		{ "a3617601616b416b61703bffffffffffffffff", -EBADMSG, "with priority -2^64" },
		{ "a3617601616b416b61706131", -EBADMSG, "with a priority that is text" },
		{ "a3617601616b416b61711b0000000100000000", -EBADMSG, "with 2^32 requeues" },
		{ "a3617601616b416b617120", -EBADMSG, "with -1 requeues" },
		{ "a3617601616b416b626e7441ff", 0, "with a note" },
		{ "a3617601616b416b626e7440", -EBADMSG, "with an empty note" },
		{ "a3617601616b416b626e74616e", -EBADMSG, "with a note that is text" },
		{ "a2617602616b416b", -EPROTONOSUPPORT, "of version 2" },
		{ "a2617602616bff", -EPROTONOSUPPORT, "of version 2, whatever follows" },
		{ "a2617600616b416b", -EBADMSG, "of version 0" },
		{ "a1616b416b", -EBADMSG, "without a version" },
		{ "a1617601", -EBADMSG, "without a key" },
		{ "a2617601616b40", -EBADMSG, "with an empty key" },
		{ "a2617601616b416a", -EBADMSG, "with the key of another subject" },
		{ "a2617601616b616b", -EBADMSG, "with a key that is text" },
		{ "a3617601616b416b616b416b", -EBADMSG, "with two keys" },
		{ "a2617601616b416b00", -EBADMSG, "with a byte behind it" },
		{ "a3617601616b416b", -EBADMSG, "with a member too few" },
		{ "bf617601616b416bff", -EBADMSG, "of unknown length" },
		{ "a2617601616b5f416bff", -EBADMSG, "with a key of unknown length" },
		{ "a3617601616b416b627a7a9fff", -EBADMSG,
		  "with an unknown member of unknown length" },
		{ "bbffffffffffffffff617601616b416b", -EBADMSG, "of 2^64 - 1 members" },
		{ "a3617601616b416b627a7a9bffffffffffffffff", -EBADMSG, "with 2^64 - 1 parts" },
		{ "a3617601616b416b627a7abbffffffffffffffff", -EBADMSG, "with 2^64 - 1 pairs" },
		{ "a3617601616b416b627a7abb8000000000000001", -EBADMSG, "with 2^63 + 1 pairs" },
		{ "a2617601616b5bffffffffffffffff", -EBADMSG, "with a key of 2^64 - 1 bytes" },
		{ "a2617601616b5a7fffffff", -EBADMSG, "with a key of 2^31 - 1 bytes" },
		{ "a20101616b416b", -EBADMSG, "with a member whose name is a number" },
		{ "80", -EBADMSG, "an array" },
		{ "01", -EBADMSG, "a number" },
		{ "1c", -EBADMSG, "a reserved byte" },
		{ "ff", -EBADMSG, "a break" },
		{ "", -EBADMSG, "nothing" },
	};
	struct record record;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		is_number(decode_hex(cases[i].hex, &record), cases[i].err, cases[i].what);
	decode_hex("a3617601616b416b617020", &record);
	is_number(record.work.priority, -1, "the priority is -1");
	decode_hex("a4617601616b416b617405616505", &record);
	ok(!record.due && !record.epoch, "members of other kinds have no effect");
}

/* Programs that know no notes write and read the same bytes. */
static void test_without_note(void)
{
	static const uint8_t bytes[] = { 0xa2, 0x61, 'v', 1, 0x61, 'k', 0x41, 'k' };
	struct record record = { .kind = RECORD_ADD, .work = { .key = BYTES("k") } };

	ok(!record_encode(&buffer, &record) && buffer.len == sizeof(bytes) &&
	   !memcmp(buffer.bytes, bytes, sizeof(bytes)),
	   "an add without a note has no member for it");
	ok(!decode_hex("a2617601616b416b", &record) && !record.work.note.len && !record.noted,
	   "an add of an older program has no note");
}

/* Nested as deeply as a message can be. */
static void test_depth(void)
{
	/* An add with one more member, "J", which no version has. */
	static const uint8_t head[] = { 0xa3, 0x61, 'v', 1, 0x61, 'k', 0x41, 'k', 0x61, 'J' };
	static uint8_t deep[1000000];
	size_t nested = sizeof(deep) - sizeof(head) - 1;
	struct record record;
	void *payload;

	memcpy(deep, head, sizeof(head));
	memset(deep + sizeof(head), 0x81, nested);
	payload = exact(deep, sizeof(deep));
	is_number(decode_record(add_subject, payload, sizeof(deep), &record), 0,
		  "a million arrays within another");
	is_number(decode_record(add_subject, payload, sizeof(deep) - 1, &record), -EBADMSG,
		  "without the innermost");
	memset(deep + sizeof(head), 0xc1, nested);
	memcpy(payload, deep, sizeof(deep));
	is_number(decode_record(add_subject, payload, sizeof(deep), &record), 0, "a million tags");
	free(payload);
}

static void test_subjects(void)
{
	static const char *const subjects[] = {
		"",
		"kwq",
		"kwq.q",
		"kwq.q.",
		"kwq.q.a",
		"kwq.q.a.",
		"kwq.q.x.8254c329a92850f6d539dd376f4816ee",
		"kwq.q2.a.8254c329a92850f6d539dd376f4816ee",
		"kwq.q.a.8254c329a92850f6d539dd376f4816e",
		"kwq.q.a.8254C329A92850F6D539DD376F4816EE",
		"kwq.q.a.8254c329a92850f6d539dd376f4816ee.x",
		"kwq.q.c.",
		"kwq.q.c.j.",
		"kwq.q.c.e.x",
	};
	static const uint8_t add[] = { 0xa2, 0x61, 'v', 1, 0x61, 'k', 0x41, 'k' };
	uint8_t join[] = { 0xa3, 0x61, 'v', 1, 0x61, 'r', 1, 0x61, 'm', 0x61, 'n' };
	uint8_t *machine = &join[sizeof(join) - 1];
	const char *subject = "kwq.q.c.j.m";
	struct record record;

	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++)
		ok(decode_record(subjects[i], add, sizeof(add), &record) == -EBADMSG,
		   "no record has the subject \"%s\"", subjects[i]);
	is_number(decode_record(add_subject, add, sizeof(add), &record), 0, "the right one has");
	is_number(decode_record(subject, join, sizeof(join), &record), -EBADMSG,
		  "another machine's join is refused");
	*machine = 'm';
	is_number(decode_record(subject, join, sizeof(join), &record), 0, "its own is not");
	*machine = '\0';
	is_number(decode_record(subject, join, sizeof(join), &record), -EBADMSG,
		  "a name with a NUL is");
}

/* Decodes each beginning of a payload, and copies with changed bytes. Reads nothing beyond. */
static void mangle(const char *subject, size_t rounds)
{
	struct message message;
	struct record record;
	uint8_t *copy;
	size_t len;
	int good = 0;

	for (len = 0; len < buffer.len && len < 400; len++) {
		copy = exact(buffer.bytes, len);
		good += !decode_record(subject, copy, len, &record);
		good += !message_decode(&message, &memory, (struct bytes){ copy, len });
		free(copy);
	}
	is_number(good, 0, "no beginning of a payload is one");
	for (size_t i = 0; i < rounds; i++) {
		copy = exact(buffer.bytes, buffer.len);
		for (uint32_t n = next_random() % 4 + 1; n; n--)
			copy[next_random() % buffer.len] = next_random();
		len = next_random() % 4 ? buffer.len : next_random() % buffer.len;
		decode_record(subject, copy, len, &record);
		message_decode(&message, &memory, (struct bytes){ copy, len });
		free(copy);
	}
	ok(true, "%zu mangled payloads", rounds);
}

static void test_mangled(void)
{
	struct held held[3] = { { .token = { 1, 2 } }, { .token = { 3, 4 } } };
	struct record record = { .kind = RECORD_TIMED, .work = full, .due = UINT64_MAX };
	const struct message message = { .kind = MESSAGE_GRANT, .work = full };
	char subject[SUBJECT_MAX];

	key_hash_of(&record.hash, full.key);
	record_subject(subject, &names, &record);
	record_encode(&buffer, &record);
	mangle(subject, 100000);
	record = (struct record){ .kind = RECORD_BEAT, .machine = "m", .held = held, .nr_held = 3 };
	record_subject(subject, &names, &record);
	record_encode(&buffer, &record);
	mangle(subject, 100000);
	message_encode(&buffer, &message);
	mangle(subject, 100000);
}

static void test_noise(void)
{
	uint8_t bytes[64], *copy;
	struct message message;
	struct record record;
	size_t len;
	char text[8];

	for (int i = 0; i < 300000; i++) {
		len = next_random() % sizeof(bytes);
		for (size_t at = 0; at < len; at++)
			bytes[at] = next_random();
		if (len && i % 2)
			bytes[0] = 0xa0 | (bytes[0] & 15);
		copy = exact(bytes, len);
		decode_record(add_subject, copy, len, &record);
		decode_record("kwq.q.c.m.m", copy, len, &record);
		message_decode(&message, &memory, (struct bytes){ copy, len });
		json_text((struct bytes){ copy, len }, "a.b", text, sizeof(text));
		free(copy);
	}
	ok(true, "300,000 payloads of noise");
}

/* ---- Names ---------------------------------------------------------------- */

static bool is_token(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text > '~' || strchr(".*>/\\", *text))
			return false;
	return true;
}

static int compare_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Stream names of queues whose names are of a few bytes of all kinds. */
static void test_names(void)
{
	static char streams[20000][STREAM_MAX];
	static const char bytes[] = {
		'a', '=', '-', '_', '.', '*', '>', ' ', '\x01', '\xff', '0', 'D', '2',
	};
	size_t nr = 0, twice = 0, bad = 0, n = sizeof(bytes);
	char queue[4] = "";
	struct names got;

	for (size_t i = 0; i < n * n * n; i++) {
		queue[0] = bytes[i % n];
		queue[1] = bytes[i / n % n];
		queue[2] = bytes[i / n / n];
		names_init(&got, queue);
		bad += !is_token(got.stream);
		memcpy(streams[nr++], got.stream, sizeof(streams[0]));
	}
	qsort(streams, nr, sizeof(streams[0]), compare_text);
	for (size_t i = 1; i < nr; i++)
		twice += !strcmp(streams[i - 1], streams[i]);
	is_number(twice, 0, "two queues never have one stream");
	is_number(bad, 0, "streams have no bytes that NATS forbids");
}

static void test_long_names(void)
{
	char a[KWQ_NAME_MAX + 2], b[KWQ_NAME_MAX + 2], subject[SUBJECT_MAX];
	struct names got, other;

	memset(a, '.', sizeof(a));
	a[KWQ_NAME_MAX + 1] = '\0';
	is_number(names_init(&got, a), -EINVAL, "a name that is too long is refused");
	a[KWQ_NAME_MAX] = '\0';
	is_number(names_init(&got, a), 0, "the longest is not");
	ok(strlen(got.stream) < 255 && is_token(got.stream), "its stream's name is short enough");
	memcpy(b, a, sizeof(b));
	b[KWQ_NAME_MAX - 1] = ',';
	names_init(&other, b);
	ok(strcmp(got.stream, other.stream), "names that differ in the last byte have two streams");
	is_number(names_init(&got, ""), -EINVAL, "no name is refused");
	is_number(names_init(&got, "a/b"), -EINVAL, "and one with a slash");
	names_init(&got, "a.b");
	is_string(got.stream, "kwq-a=2eb", "a stream");
	is_string(got.subjects, "kwq.a=2eb.>", "its subjects");
	is_string(got.control, "kwq.a=2eb.c.>", "those of machines");
	master_subject(subject, &got, UINT64_MAX);
	is_string(subject, "kwq-to.a=2eb.master.18446744073709551615", "a master");
}

/* ---- JSON and NKeys ------------------------------------------------------- */

static void test_json(void)
{
	static const char all[] =
		"{ \"a\" : {\"b\":[1,{\"c\":\"]}\"}],\"n\":42,\"s\":\"x\\\"\\u003e\\n\\u20ac\"}, "
		"\"t\":true,\"big\":18446744073709551616,\"neg\":-1,"
		"\"list\":[\"k.\\u003e\"],\"e\":\"\",\"null\":null}";
	const struct bytes json = BYTES(all);
	char text[8];

	is_number(json_number(json, "a.n", 0), 42, "a number within an object");
	is_number(json_number(json, "a.x", 7), 7, "none");
	is_number(json_number(json, "x.n", 7), 7, "an object that is not there");
	is_number(json_number(json, "a", 7), 7, "no number");
	is_number(json_number(json, "big", 7), 7, "one above 2^64 - 1");
	is_number(json_number(json, "neg", 7), 7, "one below 0");
	is_string(json_text(json, "a.s", text, sizeof(text)), "x\">\n?", "a text with escapes");
	is_string(json_text(json, "a.s", text, 3), "x\"", "as far as it fits");
	is_string(json_text(json, "a.n", text, sizeof(text)), "", "no text");
	ok(json_is_true(json, "t") && !json_is_true(json, "a.n"), "true");
	ok(json_is_list_of(json, "list", "k.>") && !json_is_list_of(json, "list", "k.") &&
	   !json_is_list_of(json, "a.b", "1"), "a list of one text");
	for (size_t len = 0; len < json.len; len++) {
		char *copy = exact(json.at, len);
		struct bytes value;

		json_find((struct bytes){ copy, len }, "null", &value);
		json_text((struct bytes){ copy, len }, "a.s", text, sizeof(text));
		json_is_list_of((struct bytes){ copy, len }, "list", "k.>");
		free(copy);
	}
	ok(true, "all beginnings");
}

static void test_nkey(void)
{
	char seed[] = "SUAP6PWKTJD5L274GIXPRJH2PUBHOVYJ44DJDABDBMCCWZP2FR6KINQGG4";
	char key[NKEY_MAX];

	ok(nkey_public(seed, key), "a seed");
	is_string(key, "UCR64P4AJPHLM4ZDFIQAD5HJVLJ4LJEIGMEWD7U7QSJI36KFPFWS2JOH",
		  "its public key");
	seed[20] = seed[20] == 'A' ? 'B' : 'A';
	ok(!nkey_public(seed, key), "a wrong letter");
	ok(!nkey_public("", key) && !nkey_public("SU", key) && !nkey_public("su", key),
	   "too short");
	ok(!nkey_public("UCR64P4AJPHLM4ZDFIQAD5HJVLJ4LJEIGMEWD7U7QSJI36KFPFWS2JOH", key),
	   "a public key is no seed");
	ok(!nkey_public("SUAP6PWKTJD5L274GIXPRJH2PUBHOVYJ44DJDABDBMCCWZP2FR6KINQGG4A", key),
	   "too long");
}

int main(void)
{
	names_init(&names, "q");
	test_records();
	test_later_versions();
	test_shown_subject();
	test_beat();
	test_messages();
	test_missing();
	test_done_without_key();
	test_limits();
	test_hostile();
	test_without_note();
	test_depth();
	test_subjects();
	test_mangled();
	test_noise();
	test_names();
	test_long_names();
	test_json();
	test_nkey();
	record_memory_free(&memory);
	free(buffer.bytes);
	return done_testing();
}

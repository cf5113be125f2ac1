// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Requests and their answers. Each answer comes to a subject of its own, whose last part is the
 * number of the operation. Answers to operations that have ended are dropped.
 */
#include "engine_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "json.h"

/*
 * How long the engine's own requests wait; and the pause before an operation that nobody took ends.
 */
#define OWN_TIMEOUT (2 * SECOND)
#define PAUSE (250 * MS)

enum { API_MAX = STREAM_MAX + 64 };

/* Numbers of nats-server's errors. */
enum {
	ERROR_NO_ROOM_ACCOUNT = 10002,
	ERROR_UNAVAILABLE = 10008,
	ERROR_NOT_LEADER = 10009,
	ERROR_NO_ROOM_SERVER = 10023,
	ERROR_MEMORY_EXCEEDED = 10028,
	ERROR_NO_MESSAGE = 10037,
	ERROR_NO_SEQUENCE = 10043,
	ERROR_STORAGE_EXCEEDED = 10047,
	ERROR_MESSAGE_TOO_LONG = 10054,
	ERROR_DELETE_FAILED = 10057,
	ERROR_WRONG_SEQUENCE = 10071,
	ERROR_STORE_FAILED = 10077,
	ERROR_WRONG_SEQUENCE_LATER = 10164,
};

unsigned int reply_error(const struct reply *reply)
{
	struct bytes error;

	if (!json_find(reply->data, "error", &error))
		return 0;
	/* Servers of old versions had codes of HTTP only. */
	return json_number(error, "err_code", json_number(error, "code", 500));
}

char *reply_text(const struct reply *reply, char to[TEXT_MAX])
{
	json_text(reply->data, "error.description", to, TEXT_MAX);
	if (!*to)
		snprintf(to, TEXT_MAX, "%s", reply->text);
	return to;
}

/* ---- Operations ----------------------------------------------------------- */

static uint64_t wait_of(const struct engine *engine, enum op_list list)
{
	switch (list) {
	case LIST_USERS: return engine->options.timeout_ms * MS;
	case LIST_OWN: return OWN_TIMEOUT;
	default: return PAUSE;
	}
}

static void op_enlist(struct engine *engine, struct op *op, enum op_list list)
{
	op->list = list;
	op->until = engine_now() + wait_of(engine, list);
	DL_APPEND(engine->lists[list], op);
	engine_arm(engine, op->until);
}

static struct op *op_new(struct engine *engine, const char *subject, enum op_list list,
			 op_ended ended)
{
	size_t size = strlen(subject) + 1;
	struct op *op = calloc(1, sizeof(*op) + size);

	if (!op)
		return NULL;
	memcpy(op->subject, subject, size);
	op->id = ++engine->last_id;
	op->ended = ended;
	op->sent_at = engine_now();
	op->pause_kind = REPLY_TIMEOUT;
	op->pause_text = "no answer in time";
	HASH_ADD(hh, engine->ops, id, sizeof(op->id), op);
	engine->nr_users_ops += list == LIST_USERS;
	op_enlist(engine, op, list);
	return op;
}

static struct op *op_find(struct engine *engine, uint64_t id)
{
	struct op *op;

	HASH_FIND(hh, engine->ops, &id, sizeof(id), op);
	return op;
}

static void op_remove(struct engine *engine, struct op *op)
{
	DL_DELETE(engine->lists[op->list], op);
	HASH_DEL(engine->ops, op);
	engine->nr_users_ops -= op->list != LIST_OWN;
	engine->nr_writes -= op->is_write;
}

static void op_finish(struct engine *engine, struct op *op, const struct reply *reply)
{
	op_remove(engine, op);
	op->ended(engine, op, reply);
	free(op);
}

void op_cancel(struct engine *engine, uint64_t id)
{
	struct op *op = op_find(engine, id);

	if (op) {
		op_remove(engine, op);
		free(op);
	}
}

/* Lets an operation end in this way after a pause. */
static void op_pause(struct engine *engine, struct op *op, enum reply_kind kind, const char *text)
{
	op->pause_kind = kind;
	op->pause_text = text;
	DL_DELETE(engine->lists[op->list], op);
	/* The count of the users' operations goes by the list. */
	engine->nr_users_ops += op->list == LIST_OWN;
	op_enlist(engine, op, LIST_PAUSED);
}

/* Whether nothing has happened because the stream has no leader now. */
static const char *why_nobody(const struct reply *reply)
{
	if (reply->kind == REPLY_NOBODY)
		return "the stream has no leader now";
	if (reply->kind != REPLY_DATA)
		return NULL;
	switch (reply_error(reply)) {
	case ERROR_UNAVAILABLE:
	case ERROR_NOT_LEADER:
		return "the engine elects a leader";
	default:
		return NULL;
	}
}

/*
 * Such an answer comes at once. If it were passed on at once, a caller that repeats would keep a
 * processor busy until there is a leader.
 */
static void op_answer(struct engine *engine, struct op *op, const struct reply *reply)
{
	const char *nobody = op->list == LIST_USERS ? why_nobody(reply) : NULL;

	if (!nobody) {
		op_finish(engine, op, reply);
		return;
	}
	op_pause(engine, op, REPLY_TIMEOUT, nobody);
	stream_check(engine);
}

/* Heartbeats and elections, which are few. A lease must not end because there is much else. */
static bool is_control(const struct engine *engine, const char *subject)
{
	const char *control = engine->options.names->control;

	return !strncmp(subject, control, strlen(control) - 1);
}

static natsMsg *message_new(struct engine *engine, const struct op *op, struct bytes data,
			    uint64_t expected)
{
	char reply[sizeof(engine->reply_prefix) + sizeof(URGENT) + 24], number[24];
	natsMsg *msg = NULL;

	snprintf(reply, sizeof(reply), "%s.%s%" PRIx64, engine->reply_prefix,
		 is_control(engine, op->subject) ? URGENT : "", op->id);
	snprintf(number, sizeof(number), "%" PRIu64, expected);
	if (natsMsg_Create(&msg, op->subject, reply, data.at, (int)data.len) != NATS_OK)
		return NULL;
	if (expected != ENGINE_ANY &&
	    natsMsgHeader_Set(msg, "Nats-Expected-Last-Subject-Sequence", number) != NATS_OK) {
		natsMsg_Destroy(msg);
		return NULL;
	}
	return msg;
}

/*
 * Other failures than these leave it open whether it was sent: the operation waits for its answer.
 */
static const char *why_unsendable(natsStatus status)
{
	switch (status) {
	case NATS_MAX_PAYLOAD: return "it is longer than the server's max_payload";
	case NATS_INVALID_SUBJECT: return "that is no subject";
	case NATS_NO_MEMORY: return "no memory";
	default: return NULL;
	}
}

static struct op *op_send(struct engine *engine, const char *subject, struct bytes data,
			  uint64_t expected, enum op_list list, op_ended ended)
{
	struct op *op = op_new(engine, subject, list, ended);
	natsMsg *msg = op ? message_new(engine, op, data, expected) : NULL;
	const char *unsendable;

	if (!msg) {
		if (op)
			op_cancel(engine, op->id);
		return NULL;
	}
	unsendable = why_unsendable(natsConnection_PublishMsg(engine->nc, msg));
	natsMsg_Destroy(msg);
	/* It ends later, since the caller does not know its number yet. */
	if (unsendable)
		op_pause(engine, op, REPLY_REFUSED, unsendable);
	return op;
}

struct op *op_begin(struct engine *engine, const char *subject, struct bytes data,
		    enum op_list list, op_ended ended)
{
	return engine->nc ? op_send(engine, subject, data, ENGINE_ANY, list, ended) : NULL;
}

struct op *op_ask(struct engine *engine, op_ended ended, const char *subject, const char *json)
{
	return op_begin(engine, subject, (struct bytes){ json, strlen(json) }, LIST_OWN, ended);
}

void ops_on_reply(struct engine *engine, natsMsg *msg)
{
	const char *dot = strrchr(natsMsg_GetSubject(msg), '.');
	uint64_t id = dot ? strtoull(dot + 1, NULL, 16) : 0;
	struct reply reply = { .kind = REPLY_DATA, .text = "" };
	struct op *op = op_find(engine, id);

	subscriptions_on_reply(engine, id);
	if (!op || op->list == LIST_PAUSED)
		return;
	if (natsMsg_IsNoResponders(msg)) {
		reply.kind = REPLY_NOBODY;
		reply.text = "nobody answers there";
	}
	reply.data = (struct bytes){ natsMsg_GetData(msg), natsMsg_GetDataLength(msg) };
	op_answer(engine, op, &reply);
}

bool ops_on_permission(struct engine *engine, const char *subject, const char *text)
{
	struct reply reply = { .kind = REPLY_REFUSED, .text = text };
	struct op *op;

	/* The server refuses in the order of the requests, so the first one is meant. */
	for (enum op_list list = LIST_USERS; list <= LIST_OWN; list++) {
		DL_FOREACH(engine->lists[list], op) {
			if (strcmp(op->subject, subject))
				continue;
			op_finish(engine, op, &reply);
			return true;
		}
	}
	return false;
}

void ops_end_all(struct engine *engine, const char *text)
{
	struct reply reply = { .kind = REPLY_LOST, .text = text };

	for (enum op_list list = 0; list < LISTS; list++)
		while (engine->lists[list])
			op_finish(engine, engine->lists[list], &reply);
}

void ops_check_time(struct engine *engine, uint64_t now)
{
	struct reply reply;
	struct op *op;

	for (enum op_list list = 0; list < LISTS; list++) {
		while ((op = engine->lists[list]) && op->until <= now) {
			reply = (struct reply){ .kind = op->pause_kind, .text = op->pause_text };
			op_finish(engine, op, &reply);
		}
		if (op)
			engine_arm(engine, op->until);
	}
}

/* ---- Operations of the users ---------------------------------------------- */

/*
 * A server that is cut off cannot store anything. But it may still say that a record is another one
 * than was expected, or is gone.
 */
static bool is_of_majority(enum engine_result result)
{
	return result == RESULT_OK || result == RESULT_FULL || result == RESULT_REFUSED;
}

static void tell_end(struct engine *engine, const struct op *op, enum engine_result result,
		     const char *text)
{
	struct engine_event event = {
		.kind = EVENT_ENDED, .id = op->id, .result = result, .seq = op->seq, .text = text,
	};

	if (op->is_write && is_of_majority(result))
		silence_ends(engine);
	engine_tell(engine, &event, NULL, NULL);
}

/* Ends an operation that has no answer of the stream. Returns whether it was one. */
static bool end_without_answer(struct engine *engine, const struct op *op,
			       const struct reply *reply)
{
	if (reply->kind == REPLY_DATA)
		return false;
	tell_end(engine, op, reply->kind == REPLY_REFUSED ? RESULT_REFUSED : RESULT_UNKNOWN,
		 reply->text);
	return true;
}

static enum engine_result publish_result(unsigned int error, const char *text)
{
	switch (error) {
	case ERROR_WRONG_SEQUENCE:
	case ERROR_WRONG_SEQUENCE_LATER:
		return RESULT_WRONG_SEQUENCE;
	case ERROR_NO_ROOM_ACCOUNT:
	case ERROR_NO_ROOM_SERVER:
	case ERROR_MEMORY_EXCEEDED:
	case ERROR_STORAGE_EXCEEDED:
		return RESULT_FULL;
	case ERROR_STORE_FAILED:
		if (strstr(text, "maximum") || strstr(text, "no space"))
			return RESULT_FULL;
		return RESULT_UNKNOWN;
	case ERROR_MESSAGE_TOO_LONG:
		return RESULT_REFUSED;
	default:
		return RESULT_UNKNOWN;
	}
}

/* The texts of the server name neither its limits nor their cure. */
static const char *cure(unsigned int error, const char *text)
{
	switch (error) {
	case ERROR_NO_ROOM_SERVER:
	case ERROR_STORAGE_EXCEEDED:
		return "the servers have no more storage for JetStream: let workers make room, "
		       "or raise max_file_store";
	case ERROR_NO_ROOM_ACCOUNT:
		return "the account has no more storage: let workers make room, or raise its limit";
	case ERROR_STORE_FAILED:
		if (strstr(text, "no space"))
			return "the disk of the server is full: make room there, "
			       "and restart nats-server";
		if (strstr(text, "maximum bytes"))
			return "the stream is full: let workers make room, or raise its max_bytes";
		return NULL;
	default:
		return NULL;
	}
}

static void publish_ended(struct engine *engine, struct op *op, const struct reply *reply)
{
	char said[TEXT_MAX], text[TEXT_MAX + 128];
	enum engine_result result;
	unsigned int error;

	if (end_without_answer(engine, op, reply))
		return;
	error = reply_error(reply);
	op->seq = json_number(reply->data, "seq", 0);
	engine_note_seq(engine, op->seq);
	reply_text(reply, said);
	result = publish_result(error, said);
	if (error && cure(error, said))
		snprintf(text, sizeof(text), "%s (%s)", cure(error, said), said);
	else
		snprintf(text, sizeof(text), "%s", said);
	if (error)
		tell_end(engine, op, result, text);
	else if (op->seq)
		tell_end(engine, op, RESULT_OK, "");
	else
		tell_end(engine, op, RESULT_UNKNOWN, "the answer has no sequence number");
}

static void erase_ended(struct engine *engine, struct op *op, const struct reply *reply)
{
	enum engine_result result = RESULT_UNKNOWN;
	char text[TEXT_MAX];

	if (end_without_answer(engine, op, reply))
		return;
	reply_text(reply, text);
	switch (reply_error(reply)) {
	case 0:
		if (json_is_true(reply->data, "success"))
			result = RESULT_OK;
		break;
	case ERROR_NO_MESSAGE:
	case ERROR_NO_SEQUENCE:
		result = RESULT_GONE;
		break;
	case ERROR_DELETE_FAILED:
		if (strstr(text, "not found") || strstr(text, "no message") ||
		    strstr(text, "EOF"))
			result = RESULT_GONE;
		break;
	}
	tell_end(engine, op, result, text);
}

/* Decodes the base 64 of a record's bytes. Returns NULL without memory, or if it is none. */
static uint8_t *decode_data(struct bytes json, size_t *len)
{
	struct bytes text = { NULL, 0 };
	const char *at;
	uint8_t *data;
	int got;

	/* A record without bytes has no member "data". */
	if (!json_find(json, "message.data", &text) || text.len < 2) {
		*len = 0;
		return malloc(1);
	}
	at = (const char *)text.at + 1;
	text.len -= 2;
	data = malloc(text.len / 4 * 3 + 4);
	if (!data)
		return NULL;
	got = EVP_DecodeBlock(data, (const unsigned char *)at, (int)text.len);
	if (got < 0) {
		free(data);
		return NULL;
	}
	for (size_t i = 1; i <= 2 && i <= text.len && at[text.len - i] == '='; i++)
		got--;
	*len = got;
	return data;
}

static void tell_record(struct engine *engine, const struct op *op, const struct reply *reply)
{
	struct engine_event event = {
		.kind = EVENT_ENDED, .id = op->id, .result = RESULT_OK, .text = "",
		.seq = json_number(reply->data, "message.seq", 0),
	};
	uint8_t *data = decode_data(reply->data, &event.data.len);
	char subject[SUBJECT_MAX];

	if (!data || !event.seq) {
		free(data);
		tell_end(engine, op, RESULT_UNKNOWN, "the answer is no record");
		return;
	}
	event.data.at = data;
	event.subject = json_text(reply->data, "message.subject", subject, sizeof(subject));
	engine_tell(engine, &event, NULL, data);
}

static void read_ended(struct engine *engine, struct op *op, const struct reply *reply)
{
	char text[TEXT_MAX];

	if (end_without_answer(engine, op, reply))
		return;
	switch (reply_error(reply)) {
	case 0:
		tell_record(engine, op, reply);
		break;
	case ERROR_NO_MESSAGE:
		tell_end(engine, op, RESULT_NONE, reply_text(reply, text));
		break;
	default:
		tell_end(engine, op, RESULT_UNKNOWN, reply_text(reply, text));
	}
}

static int64_t begin(struct engine *engine, const char *subject, struct bytes data,
		     uint64_t expected, op_ended ended)
{
	struct op *op;

	if (!*subject)
		return -EINVAL;
	if (engine->phase != PHASE_UP)
		return -ENOTCONN;
	if (engine->nr_users_ops >= engine->options.max_in_flight && !is_control(engine, subject))
		return -EAGAIN;
	op = op_send(engine, subject, data, expected, LIST_USERS, ended);
	return op ? (int64_t)op->id : -ENOMEM;
}

static int64_t begin_write(struct engine *engine, const char *subject, struct bytes data,
			   uint64_t expected, op_ended ended)
{
	int64_t id = begin(engine, subject, data, expected, ended);

	if (id > 0) {
		op_find(engine, id)->is_write = true;
		silence_writes(engine);
	}
	return id;
}

int64_t engine_publish(struct engine *engine, const char *subject, struct bytes data,
		       uint64_t expected)
{
	return begin_write(engine, subject, data, expected, publish_ended);
}

static void api_subject(const struct engine *engine, char subject[API_MAX], const char *api)
{
	snprintf(subject, API_MAX, "$JS.API.STREAM.MSG.%s.%s", api, engine->options.names->stream);
}

int64_t engine_erase(struct engine *engine, uint64_t seq)
{
	char subject[API_MAX], json[64];
	int64_t id;
	struct op *op;

	snprintf(json, sizeof(json), "{\"seq\":%" PRIu64 ",\"no_erase\":true}", seq);
	api_subject(engine, subject, "DELETE");
	id = begin_write(engine, subject, (struct bytes){ json, strlen(json) }, ENGINE_ANY,
			 erase_ended);
	op = id > 0 ? op_find(engine, id) : NULL;
	if (op)
		op->seq = seq;
	return id;
}

int64_t engine_read(struct engine *engine, const char *subject)
{
	char api[API_MAX], json[SUBJECT_MAX + 32];

	api_subject(engine, api, "GET");
	snprintf(json, sizeof(json), "{\"last_by_subj\":\"%s\"}", subject);
	return begin(engine, api, (struct bytes){ json, strlen(json) }, ENGINE_ANY, read_ended);
}

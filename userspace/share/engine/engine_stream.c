// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The stream is created if there is none, and otherwise checked. An engine that has seen it once
 * does not make another one: sequence numbers would begin anew, and records would be lost silently.
 */
#include "engine_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

/* Until the next attempt, if the engine is away, and if somebody has to change something. */
#define RETRY_AWAY SECOND
#define RETRY_REFUSED (5 * SECOND)
/*
 * A server that has just begun to lead the others may not know the stream yet. After this time
 * without it, the stream is gone.
 */
#define MISSING_FOR (5 * SECOND)
/* Between two looks at a stream that is in use. */
#define CHECK_PAUSE SECOND

/*
 * An add may not use this part of a stream with a limit. A record takes so many bytes besides its
 * data.
 */
enum { RESERVED_PART = 8, RECORD_OVERHEAD = 128 };
/* A stream is not made smaller than that by itself. */
#define SHRUNK_MIN (16 << 20)
/* Between the requests of machines that create a stream together, at most. */
#define CREATED_TOGETHER (60 * SECOND)

/* Numbers of nats-server's errors. */
enum {
	ERROR_NO_PEERS = 10005,
	ERROR_UNAVAILABLE = 10008,
	ERROR_NOT_LEADER = 10009,
	ERROR_MOST_STREAMS = 10027,
	ERROR_NOT_ENABLED_FOR_ACCOUNT = 10039,
	ERROR_STORAGE_EXCEEDED = 10047,
	ERROR_NAME_IN_USE = 10058,
	ERROR_NOT_FOUND = 10059,
	ERROR_SUBJECTS_OVERLAP = 10065,
	ERROR_REPLICAS_NOT_SUPPORTED = 10074,
	ERROR_NOT_ENABLED = 10076,
	ERROR_WANTS_MAX_BYTES = 10113,
	ERROR_MAX_BYTES_EXCEEDED = 10122,
};

static void info_ended(struct engine *engine, struct op *op, const struct reply *reply);
static void create_ended(struct engine *engine, struct op *op, const struct reply *reply);

static const char *stream_name(const struct engine *engine)
{
	return engine->options.names->stream;
}

static void open_later(struct engine *engine, uint64_t pause)
{
	engine->open_at = engine_now() + pause;
	engine_arm(engine, engine->open_at);
}

/* The connection is there, and the stream cannot be used. */
static void away(struct engine *engine, const char *text)
{
	engine_not_up(engine, text);
	engine_tell_state(engine, EVENT_DOWN, "%s: %s", engine->url, text);
	open_later(engine, RETRY_AWAY);
}

static void refuse(struct engine *engine, const char *text)
{
	silence_ends(engine);
	engine_not_up(engine, text);
	engine_tell_state(engine, EVENT_REFUSED, "%s: %s", engine->url, text);
	open_later(engine, RETRY_REFUSED);
}

void stream_refuse(struct engine *engine, const char *text)
{
	refuse(engine, text);
}

static void ask(struct engine *engine, const char *api, const char *json, op_ended ended)
{
	char subject[STREAM_MAX + 64];

	snprintf(subject, sizeof(subject), "$JS.API.STREAM.%s.%s", api, stream_name(engine));
	if (!op_ask(engine, ended, subject, json))
		open_later(engine, RETRY_AWAY);
}

void engine_stream_open(struct engine *engine)
{
	engine->open_at = NEVER;
	silence_opens(engine);
	ask(engine, "INFO", "", info_ended);
}

static void create(struct engine *engine)
{
	const struct engine_options *options = &engine->options;
	char json[1024], limit[24] = "-1";

	if (options->max_bytes)
		snprintf(limit, sizeof(limit), "%" PRIu64, options->max_bytes);
	/*
	 * Only the newest record of a subject is kept. Limits refuse what is new, and delete
	 * nothing. The server reserves what max_bytes says, so no other stream takes it.
	 */
	snprintf(json, sizeof(json),
		 "{\"name\":\"%s\",\"subjects\":[\"%s\"],\"retention\":\"limits\","
		 "\"storage\":\"file\",\"num_replicas\":%u,\"max_msgs_per_subject\":1,"
		 "\"discard\":\"new\",\"max_bytes\":%s,\"max_msgs\":-1,\"max_age\":0,"
		 "\"max_msg_size\":-1,\"max_consumers\":-1,\"allow_direct\":true}",
		 stream_name(engine), options->names->subjects, options->replicas, limit);
	ask(engine, "CREATE", json, create_ended);
}

/* ---- Checking ------------------------------------------------------------- */

/* Absent, 0 and -1 each mean that there is no limit. */
static bool is_limited(struct bytes config, const char *name)
{
	struct bytes value;

	return json_find(config, name, &value) && *(const char *)value.at != '-' &&
	       json_number(config, name, 1) > 0;
}

/* Returns NULL, or what a setting has to be. */
static const char *wrong_setting(const struct engine *engine, struct bytes config)
{
	static const char *const forbidden[] = { "mirror", "sources", "subject_transform" };
	struct bytes value;

	if (!json_is_list_of(config, "subjects", engine->options.names->subjects))
		return "its subjects are others than those of the queue";
	if (json_number(config, "max_msgs_per_subject", 0) != 1)
		return "max_msgs_per_subject has to be 1";
	if (!json_equals(config, "retention", "limits"))
		return "retention has to be limits";
	if (!json_equals(config, "storage", "file"))
		return "storage has to be file";
	if (is_limited(config, "max_age"))
		return "max_age has to be 0: records would be lost";
	if (is_limited(config, "max_msgs"))
		return "max_msgs has to be -1: a full stream would have no room for retries";
	if (is_limited(config, "max_msg_size"))
		return "max_msg_size has to be -1: long records would be refused";
	if (is_limited(config, "max_bytes") && !json_equals(config, "discard", "new"))
		return "discard has to be new, because it has limits: records would be lost";
	if (json_is_true(config, "discard_new_per_subject"))
		return "discard_new_per_subject has to be false";
	if (json_is_true(config, "no_ack"))
		return "no_ack has to be false";
	if (json_is_true(config, "sealed") || json_is_true(config, "deny_delete"))
		return "sealed and deny_delete have to be false: records could not be deleted";
	for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++)
		if (json_find(config, forbidden[i], &value) && memcmp(value.at, "null", 4))
			return "it may have no mirror, source or transform";
	return NULL;
}

/* Returns whether the stream is as the protocol needs it. Otherwise refuses it. */
static bool check_settings(struct engine *engine, struct bytes config)
{
	uint64_t replicas = json_number(config, "num_replicas", 1);
	const char *wrong = wrong_setting(engine, config);
	char text[TEXT_MAX];

	if (wrong) {
		snprintf(text, sizeof(text), "the stream %s has wrong settings: %s",
			 stream_name(engine), wrong);
		refuse(engine, text);
		return false;
	}
	if (replicas < engine->options.replicas) {
		snprintf(text, sizeof(text),
			 "the stream %s has %" PRIu64 " replica%s, and --replicas asks for %u: ask for fewer, or do \"nats stream edit %s --replicas %u\"",
			 stream_name(engine), replicas, replicas == 1 ? "" : "s",
			 engine->options.replicas, stream_name(engine), engine->options.replicas);
		refuse(engine, text);
		return false;
	}
	return true;
}

/*
 * Machines that start together create the stream together. NATS 2.10 then notes each request's time
 * as that of the one stream. It tells the first until it is started again, and then the last. So
 * times that are close are those of one stream, unless its sequence went back.
 */
static bool is_same_stream(const struct engine *engine, const char *created, uint64_t last_seq)
{
	uint64_t one = clock_parse(engine->created), other = clock_parse(created);

	if (!strcmp(engine->created, created))
		return true;
	return one && other && (one > other ? one - other : other - one) <= CREATED_TOGETHER &&
	       last_seq >= engine->last_seq;
}

/* @known: the highest sequence number that was known when the stream was asked for */
static bool check_identity(struct engine *engine, const struct reply *reply, uint64_t known)
{
	char created[sizeof(engine->created)], text[TEXT_MAX];
	uint64_t last_seq = json_number(reply->data, "state.last_seq", 0);

	json_text(reply->data, "created", created, sizeof(created));
	if (!engine->created[0])
		memcpy(engine->created, created, sizeof(created));
	if (!is_same_stream(engine, created, last_seq)) {
		snprintf(text, sizeof(text),
			 "the stream was deleted and made anew at %s (it was of %s): restart kwq share on all machines",
			 created, engine->created);
		refuse(engine, text);
		return false;
	}
	if (last_seq < known) {
		snprintf(text, sizeof(text),
			 "the stream went back from record %" PRIu64 " to %" PRIu64 ": its server is behind, or a disk was lost. If this does not end, restart that nats-server. If that does not help, records are lost: restart kwq share on all machines",
			 known, last_seq);
		refuse(engine, text);
		return false;
	}
	engine_note_seq(engine, last_seq);
	engine->missing_since = 0;
	return true;
}

/* From 2.10 on, an answer about the stream has the time. */
static void note_time(struct engine *engine, const struct op *op, const struct reply *reply)
{
	char time[64];

	json_text(reply->data, "ts", time, sizeof(time));
	clock_learn(engine, clock_parse(time), op->sent_at);
}

/* An answer of INFO tells how full the stream is. */
static void note_room(struct engine *engine, const struct reply *reply)
{
	struct bytes config;

	if (!json_find(reply->data, "config", &config))
		return;
	engine->limit = is_limited(config, "max_bytes") ? json_number(config, "max_bytes", 0) : 0;
	engine->bytes = json_number(reply->data, "state.bytes", 0);
	engine->sent -= engine->sent_before;
	engine->sent_before = 0;
}

static void use(struct engine *engine, const struct reply *reply)
{
	struct bytes config;

	if (!json_find(reply->data, "config", &config)) {
		away(engine, "the engine says nothing of the stream");
		return;
	}
	if (!check_settings(engine, config) || !check_identity(engine, reply, engine->last_seq))
		return;
	note_room(engine, reply);
	engine_up(engine);
}

/* ---- Answers -------------------------------------------------------------- */

/* Whether a stream that was there before has been missing for some time. */
static bool is_gone(struct engine *engine)
{
	uint64_t now = engine_now();

	if (!engine->missing_since)
		engine->missing_since = now;
	return now - engine->missing_since >= MISSING_FOR;
}

static void missing(struct engine *engine)
{
	if (engine->created[0] && !is_gone(engine))
		away(engine, "the stream is not there");
	else if (engine->created[0])
		refuse(engine,
		       "somebody has deleted the stream: restart kwq share on all machines");
	else
		create(engine);
}

static const char *no_jetstream(const struct engine *engine)
{
	if (engine->server.has_jetstream)
		return "this account has no JetStream: enable it in the server's configuration";
	if (engine->created[0])
		return "the server has shut JetStream down, as it does when its disk is full: "
		       "make room there, and restart nats-server";
	return "the server has no JetStream: start it with -js, or configure \"jetstream {}\"";
}

/* Explains an error of INFO or CREATE. */
static void explain(struct engine *engine, const struct reply *reply)
{
	char said[TEXT_MAX], text[2 * TEXT_MAX];

	reply_text(reply, said);
	switch (reply_error(reply)) {
	case ERROR_UNAVAILABLE:
	case ERROR_NOT_LEADER:
		away(engine, "JetStream has no leader: is a majority of the servers up?");
		return;
	case ERROR_NOT_ENABLED:
	case ERROR_NOT_ENABLED_FOR_ACCOUNT:
		refuse(engine, no_jetstream(engine));
		return;
	case ERROR_NO_PEERS:
		/* Servers that were started at once may not know one of them. */
		snprintf(text, sizeof(text),
			 "there are not enough servers with JetStream and room for --replicas %u (%s): start the missing ones; if all are up, restart the one that has not joined, or ask for no more replicas than there are servers",
			 engine->options.replicas, said);
		break;
	case ERROR_REPLICAS_NOT_SUPPORTED:
		snprintf(text, sizeof(text),
			 "this server is no part of a cluster, and --replicas asks for %u (%s): configure \"cluster {}\" in the servers, or ask for one replica",
			 engine->options.replicas, said);
		break;
	case ERROR_MAX_BYTES_EXCEEDED:
		snprintf(text, sizeof(text),
			 "the account does not allow a stream of this length (%s): give a smaller --stream-bytes, or raise the limit",
			 said);
		break;
	case ERROR_WANTS_MAX_BYTES:
		snprintf(text, sizeof(text),
			 "the account limits how long a stream may be (%s): give --stream-bytes",
			 said);
		break;
	case ERROR_MOST_STREAMS:
	case ERROR_STORAGE_EXCEEDED:
		snprintf(text, sizeof(text),
			 "a limit of the account or the server forbids the stream: %s", said);
		break;
	case ERROR_SUBJECTS_OVERLAP:
		snprintf(text, sizeof(text), "another stream has the subjects %s: %s",
			 engine->options.names->subjects, said);
		break;
	default:
		snprintf(text, sizeof(text), "the stream %s: %s", stream_name(engine), said);
	}
	refuse(engine, text);
}

/* Handles what is no answer of JetStream. Returns whether it was that. */
static bool without_answer(struct engine *engine, const struct reply *reply)
{
	char text[TEXT_MAX];

	switch (reply->kind) {
	case REPLY_DATA:
		return false;
	case REPLY_NOBODY:
		/* It was there before: its servers are starting, or their disks are full. */
		if (engine->created[0] && engine->server.has_jetstream)
			away(engine, "JetStream is away");
		else
			refuse(engine, no_jetstream(engine));
		break;
	case REPLY_REFUSED:
		snprintf(text, sizeof(text), "this user may not use JetStream: %s", reply->text);
		refuse(engine, text);
		break;
	case REPLY_TIMEOUT:
		away(engine, "JetStream does not answer: is a majority of the servers up?");
		break;
	case REPLY_LOST:
		break;
	}
	return true;
}

static void info_ended(struct engine *engine, struct op *op, const struct reply *reply)
{
	if (without_answer(engine, reply))
		return;
	note_time(engine, op, reply);
	if (reply_error(reply) == ERROR_NOT_FOUND)
		missing(engine);
	else if (reply_error(reply))
		explain(engine, reply);
	else
		use(engine, reply);
}

/* Several servers look safe, but one of them has the stream. */
static void warn_of_one_copy(struct engine *engine)
{
	struct engine_event event = { .kind = EVENT_WARNING };
	char text[URL_MAX + STREAM_MAX + 160];

	if (engine->options.replicas > 1 || !engine->options.urls[1])
		return;
	snprintf(text, sizeof(text),
		 "%s: the new stream %s has one copy of each key: if its server dies, the queue stops; --replicas 3 keeps three",
		 engine->url, stream_name(engine));
	event.text = text;
	engine_tell(engine, &event, NULL, NULL);
}

static void use_new(struct engine *engine, const struct reply *reply)
{
	engine->has_made = true;
	warn_of_one_copy(engine);
	use(engine, reply);
}

/* Whether a smaller stream may fit. Servers that can take none say so as if there were too few. */
static bool is_too_large(const struct reply *reply)
{
	char said[TEXT_MAX];

	switch (reply_error(reply)) {
	case ERROR_MAX_BYTES_EXCEEDED:
	case ERROR_STORAGE_EXCEEDED:
		return true;
	case ERROR_NO_PEERS:
		return strstr(reply_text(reply, said), "storage");
	default:
		return false;
	}
}

/* Returns whether a smaller stream is being created. */
static bool shrink(struct engine *engine, const struct reply *reply)
{
	struct engine_options *options = &engine->options;

	if (!options->may_shrink || options->max_bytes / 2 < SHRUNK_MIN || !is_too_large(reply))
		return false;
	options->max_bytes /= 2;
	create(engine);
	return true;
}

static void create_ended(struct engine *engine, struct op *op, const struct reply *reply)
{
	if (without_answer(engine, reply))
		return;
	note_time(engine, op, reply);
	/* Another machine has made it meanwhile. */
	if (reply_error(reply) == ERROR_NAME_IN_USE)
		engine_stream_open(engine);
	else if (reply_error(reply) && !shrink(engine, reply))
		explain(engine, reply);
	else if (!reply_error(reply))
		use_new(engine, reply);
}

/* ---- A stream that is in use ---------------------------------------------- */

static void check_ended(struct engine *engine, struct op *op, const struct reply *reply)
{
	struct bytes config;

	engine->is_checking = false;
	engine->check_at = engine_now() + CHECK_PAUSE;
	/* A leader that is missing for some time is no reason to stop. */
	if (engine->phase != PHASE_UP || reply->kind != REPLY_DATA)
		return;
	note_time(engine, op, reply);
	if (reply_error(reply) == ERROR_NOT_FOUND)
		missing(engine);
	else if (!reply_error(reply) && json_find(reply->data, "config", &config) &&
		 check_settings(engine, config) &&
		 check_identity(engine, reply, engine->asked_at_seq))
		note_room(engine, reply);
}

void stream_check(struct engine *engine)
{
	char subject[STREAM_MAX + 64];

	if (engine->phase != PHASE_UP || engine->is_checking || engine_now() < engine->check_at)
		return;
	snprintf(subject, sizeof(subject), "$JS.API.STREAM.INFO.%s", stream_name(engine));
	engine->is_checking = op_ask(engine, check_ended, subject, "");
	if (!engine->is_checking)
		return;
	engine->sent_before = engine->sent;
	engine->asked_at_seq = engine->last_seq;
}

bool engine_has_room(struct engine *engine, size_t bytes)
{
	if (!engine->limit)
		return true;
	stream_check(engine);
	return engine->bytes + engine->sent + bytes + RECORD_OVERHEAD <=
	       engine->limit - engine->limit / RESERVED_PART;
}

void engine_take_room(struct engine *engine, size_t bytes)
{
	engine->sent += bytes + RECORD_OVERHEAD;
}

/* Others may change the settings of the stream, or put an old disk back. */
static void look_at_stream(struct engine *engine, uint64_t now)
{
	if (engine->routine_at <= now) {
		stream_check(engine);
		engine->routine_at = now + engine->options.check_ms * MS;
	}
	engine_arm(engine, engine->routine_at);
}

void stream_on_time(struct engine *engine, uint64_t now)
{
	if (engine->phase == PHASE_UP)
		look_at_stream(engine, now);
	if (engine->phase != PHASE_OPENING || engine->open_at == NEVER)
		return;
	if (engine->open_at <= now)
		engine_stream_open(engine);
	else
		engine_arm(engine, engine->open_at);
}

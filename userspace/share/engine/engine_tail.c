// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Tails. A tail is an ordered consumer: the server pushes records without acknowledgements, each
 * with the consumer's own number, which grows by 1. Something is missing if a number is skipped, if
 * a heartbeat names a higher one, or if no heartbeat comes. Then a new consumer begins behind the
 * last record that came. So nothing is lost and nothing comes twice, whatever happens to a
 * consumer.
 *
 * CAUGHT_UP: the stream's leader says which sequence number is the last one when the tail begins
 * (the target). The tail has passed it if a record at or behind it comes. But the record with that
 * number may be replaced or deleted, and no later one of these subjects may exist. So if nothing is
 * pending, the leader is asked for the next record: if there is none, or one behind the target, the
 * target is passed. The consumer itself cannot say so. It may be on a server that lags behind.
 *
 * Such a server may lag for ever, while its consumer sends heartbeats. So a tail that is quiet asks
 * the leader, too. If there is a record that does not come, a new consumer begins, perhaps on
 * another server.
 */
#include "engine_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

#define HEARTBEAT (500 * MS)
#define SILENCE (3 * HEARTBEAT)
#define RETRY (250 * MS)
#define RETRY_MAX (8 * SECOND)
/* A tail that is quiet for so long asks whether it misses something. */
#define QUIET (5 * SECOND)

enum {
	ERROR_MOST_CONSUMERS = 10026,
	ERROR_NO_MESSAGE = 10037,
	ERROR_NOT_FOUND = 10059,
	ERROR_MOST_CONSUMERS_OF_STREAM = 10161,
};

enum tail_state {
	TAIL_IDLE,	/* waits for @retry_at, or for EVENT_UP */
	TAIL_TARGET,	/* asks for the target */
	TAIL_CREATING,	/* waits for the consumer, whose records may come already */
	TAIL_RUNNING,
};

/*
 * @next_seq: the first sequence number that has not come
 * @number: the consumer's number of the last record
 * @generation: of the consumer; what older ones send is dropped
 * @op: the request that is under way, or 0
 * @heard_at: when the consumer was heard of last
 * @pause: before the next consumer, after one that was not heard of
 * @asked_at: when a record came last, or the leader was asked for one
 * @missed: what the leader has, and the consumer has not sent; 0 for nothing
 */
struct tail {
	uint64_t id;
	enum tail_state state;
	uint64_t next_seq, target;
	bool has_target, is_caught_up;
	uint64_t number, generation, op;
	uint64_t heard_at, retry_at, pause, asked_at, missed;
	struct subscription *sub;
	struct tail *prev, *next;
	char filter[];
};

static struct tail *find(struct engine *engine, uint64_t id)
{
	struct tail *tail;

	DL_FOREACH(engine->tails, tail)
		if (tail->id == id)
			return tail;
	return NULL;
}

static void stop(struct engine *engine, struct tail *tail)
{
	op_cancel(engine, tail->op);
	tail->op = 0;
	/* The server removes a consumer that nobody listens to. */
	subscription_end(engine, tail->sub);
	tail->sub = NULL;
	tail->generation++;
	tail->state = TAIL_IDLE;
	tail->retry_at = NEVER;
}

static void again_later(struct engine *engine, struct tail *tail)
{
	stop(engine, tail);
	tail->retry_at = engine_now() + tail->pause;
	engine_arm(engine, tail->retry_at);
	tail->pause = tail->pause < RETRY_MAX / 2 ? tail->pause * 2 : RETRY_MAX;
}

/* The consumer is there. */
static void is_heard(struct tail *tail)
{
	tail->heard_at = engine_now();
	tail->pause = RETRY;
}

/* Sends a request of a tail. */
static void ask(struct engine *engine, struct tail *tail, const char *api, const char *json,
		op_ended ended)
{
	char subject[STREAM_MAX + 64];
	struct op *op;

	snprintf(subject, sizeof(subject), "$JS.API.%s.%s", api, engine->options.names->stream);
	op = op_ask(engine, ended, subject, json);
	if (!op) {
		again_later(engine, tail);
		return;
	}
	op->tail = tail->id;
	tail->op = op->id;
}

/* Returns the tail of a request that has ended, or NULL. */
static struct tail *answered(struct engine *engine, const struct op *op)
{
	struct tail *tail = find(engine, op->tail);

	if (tail)
		tail->op = 0;
	return tail;
}

/* ---- Caught up ------------------------------------------------------------ */

static void caught_up(struct engine *engine, struct tail *tail)
{
	struct engine_event event = { .kind = EVENT_CAUGHT_UP, .id = tail->id };

	if (tail->is_caught_up)
		return;
	tail->is_caught_up = true;
	engine_tell(engine, &event, NULL, NULL);
}

static void next_ended(struct engine *engine, struct op *op, const struct reply *reply)
{
	struct tail *tail = answered(engine, op);

	if (!tail || reply->kind != REPLY_DATA)
		return;
	if (reply_error(reply) == ERROR_NO_MESSAGE)
		caught_up(engine, tail);
	else if (!reply_error(reply) && json_number(reply->data, "message.seq", 0) > tail->target)
		caught_up(engine, tail);
	/* Otherwise a record is on its way; or the next heartbeat asks again. */
}

/* Asks the stream's leader for the next record of the tail. */
static void ask_for_next(struct engine *engine, struct tail *tail, op_ended ended)
{
	char json[SUBJECT_MAX + 64];

	snprintf(json, sizeof(json), "{\"seq\":%" PRIu64 ",\"next_by_subj\":\"%s\"}",
		 tail->next_seq, tail->filter);
	ask(engine, tail, "STREAM.MSG.GET", json, ended);
}

/* Nothing is pending, as the consumer says. */
static void nothing_pending(struct engine *engine, struct tail *tail)
{
	if (tail->is_caught_up || tail->op)
		return;
	if (tail->next_seq > tail->target) {
		caught_up(engine, tail);
		return;
	}
	ask_for_next(engine, tail, next_ended);
}

/* ---- Lagging -------------------------------------------------------------- */

static void missed_ended(struct engine *engine, struct op *op, const struct reply *reply)
{
	struct tail *tail = answered(engine, op);

	if (!tail || reply->kind != REPLY_DATA || reply_error(reply))
		return;
	tail->missed = json_number(reply->data, "message.seq", 0);
	/* It may be on its way. */
	tail->asked_at = engine_now() - QUIET + SILENCE;
	engine_arm(engine, tail->asked_at + QUIET);
}

/* The consumer is heard of, and has sent no record for a while. */
static void quiet(struct engine *engine, struct tail *tail, uint64_t now)
{
	tail->asked_at = now;
	if (tail->missed >= tail->next_seq)
		again_later(engine, tail);
	else if (!tail->op)
		ask_for_next(engine, tail, missed_ended);
}

/* ---- Starting ------------------------------------------------------------- */

static bool are_too_many(const struct reply *reply)
{
	unsigned int error = reply->kind == REPLY_DATA ? reply_error(reply) : 0;

	return error == ERROR_MOST_CONSUMERS || error == ERROR_MOST_CONSUMERS_OF_STREAM;
}

/* Without a tail nothing works, so somebody has to hear of it. Returns whether it is refused. */
static bool consumer_is_refused(struct engine *engine, const struct reply *reply)
{
	char text[STREAM_MAX + 384], said[256];

	if (reply->kind == REPLY_REFUSED)
		snprintf(said, sizeof(said), "%s", reply->text);
	else if (are_too_many(reply))
		json_text(reply->data, "error.description", said, sizeof(said));
	else
		return false;
	snprintf(text, sizeof(text), "the stream %s cannot be read: a consumer is refused (%s)",
		 engine->options.names->stream, said);
	stream_refuse(engine, text);
	return true;
}

static void consumer_ended(struct engine *engine, struct op *op, const struct reply *reply)
{
	struct tail *tail = answered(engine, op);

	if (!tail || consumer_is_refused(engine, reply))
		return;
	if (reply->kind != REPLY_DATA || reply_error(reply)) {
		if (reply->kind == REPLY_DATA && reply_error(reply) == ERROR_NOT_FOUND)
			stream_check(engine);
		again_later(engine, tail);
		return;
	}
	tail->state = TAIL_RUNNING;
	/* A busy server may take longer to answer than a consumer may be silent. */
	tail->heard_at = engine_now();
	if (!json_number(reply->data, "num_pending", 1))
		nothing_pending(engine, tail);
}

static void create_consumer(struct engine *engine, struct tail *tail)
{
	const char *stream = engine->options.names->stream;
	char deliver[96], json[SUBJECT_MAX + 768], start[64];

	snprintf(deliver, sizeof(deliver), "%s.tail.%" PRIu64 ".%" PRIu64, engine->reply_prefix,
		 tail->id, tail->generation);
	snprintf(start, sizeof(start), "\"by_start_sequence\",\"opt_start_seq\":%" PRIu64,
		 tail->next_seq);
	snprintf(json, sizeof(json),
		 "{\"stream_name\":\"%s\",\"config\":{\"deliver_subject\":\"%s\","
		 "\"deliver_policy\":%s,\"ack_policy\":\"none\",\"max_deliver\":1,"
		 "\"replay_policy\":\"instant\",\"filter_subject\":\"%s\",\"flow_control\":true,"
		 "\"idle_heartbeat\":%" PRIu64 ",\"mem_storage\":true,\"num_replicas\":1}}",
		 stream, deliver, tail->next_seq > 1 ? start : "\"all\"", tail->filter,
		 (uint64_t)HEARTBEAT);
	tail->sub = subscription_new(engine, deliver, RAW_TAIL, tail->id, tail->generation);
	if (!tail->sub) {
		again_later(engine, tail);
		return;
	}
	tail->state = TAIL_CREATING;
	tail->number = 0;
	tail->missed = 0;
	tail->heard_at = engine_now();
	tail->asked_at = tail->heard_at;
	ask(engine, tail, "CONSUMER.CREATE", json, consumer_ended);
}

static void target_ended(struct engine *engine, struct op *op, const struct reply *reply)
{
	struct tail *tail = answered(engine, op);

	if (!tail)
		return;
	if (reply->kind != REPLY_DATA || reply_error(reply)) {
		again_later(engine, tail);
		return;
	}
	if (!tail->has_target)
		tail->target = json_number(reply->data, "state.last_seq", 0);
	tail->has_target = true;
	create_consumer(engine, tail);
}

static void start(struct engine *engine, struct tail *tail)
{
	tail->retry_at = NEVER;
	tail->state = TAIL_TARGET;
	ask(engine, tail, "STREAM.INFO", "", target_ended);
}

/* ---- Messages of a consumer ----------------------------------------------- */

/*
 * Reads the numbers of a record from its reply subject: $JS.ACK.STREAM.CONSUMER.DELIVERED.SEQ.
 * NUMBER.TIME.PENDING, or $JS.ACK.DOMAIN.ACCOUNT.STREAM... with one more part at the end.
 */
struct numbers {
	uint64_t seq, number, time, pending;
};

static bool read_numbers(const char *subject, struct numbers *n)
{
	unsigned int dots = 0, skip;
	int nr;

	if (!subject || strncmp(subject, "$JS.ACK.", 8))
		return false;
	for (const char *at = subject; *at; at++)
		dots += *at == '.';
	if (dots < 8)
		return false;
	for (skip = dots == 8 ? 5 : 7; skip; skip--)
		subject = strchr(subject, '.') + 1;
	nr = sscanf(subject, "%" SCNu64 ".%" SCNu64 ".%" SCNu64 ".%" SCNu64, &n->seq, &n->number,
		    &n->time, &n->pending);
	return nr == 4;
}

static uint64_t header_number(natsMsg *msg, const char *name, uint64_t missing)
{
	const char *value;

	if (natsMsgHeader_Get(msg, name, &value) != NATS_OK)
		return missing;
	return strtoull(value, NULL, 10);
}

/* The server waits for this before it sends more. */
static void answer_flow_control(struct engine *engine, const char *subject)
{
	if (subject && *subject)
		natsConnection_Publish(engine->nc, subject, NULL, 0);
}

/* Handles a heartbeat, or a request of flow control. Returns whether the message is one. */
static bool is_status(struct engine *engine, struct tail *tail, natsMsg *msg)
{
	const char *reply = natsMsg_GetReply(msg), *value;

	/* A record may have such a header, too. */
	if ((reply && !strncmp(reply, "$JS.ACK.", 8)) || natsMsg_GetDataLength(msg) ||
	    natsMsgHeader_Get(msg, "Status", &value) != NATS_OK)
		return false;
	answer_flow_control(engine, reply);
	if (natsMsgHeader_Get(msg, "Nats-Consumer-Stalled", &value) == NATS_OK)
		answer_flow_control(engine, value);
	else if (header_number(msg, "Nats-Last-Consumer", tail->number) != tail->number)
		again_later(engine, tail);
	else if (!reply && tail->state == TAIL_RUNNING)
		nothing_pending(engine, tail);
	return true;
}

/* Owns @msg. */
static void tell_entry(struct engine *engine, struct tail *tail, const struct numbers *n,
		       natsMsg *msg)
{
	struct engine_event event = {
		.kind = EVENT_ENTRY, .id = tail->id, .seq = n->seq, .time = n->time,
		.subject = natsMsg_GetSubject(msg),
		.data = { natsMsg_GetData(msg), natsMsg_GetDataLength(msg) },
	};

	engine_note_seq(engine, n->seq);
	engine_tell(engine, &event, msg, NULL);
}

/* Owns @msg. */
static void take(struct engine *engine, struct tail *tail, natsMsg *msg)
{
	struct numbers n;

	is_heard(tail);
	if (is_status(engine, tail, msg)) {
		natsMsg_Destroy(msg);
		return;
	}
	if (!read_numbers(natsMsg_GetReply(msg), &n) || n.number != tail->number + 1 ||
	    n.seq < tail->next_seq) {
		natsMsg_Destroy(msg);
		again_later(engine, tail);
		return;
	}
	tail->number = n.number;
	tail->next_seq = n.seq + 1;
	tail->asked_at = tail->heard_at;
	tell_entry(engine, tail, &n, msg);
	if (n.seq >= tail->target)
		caught_up(engine, tail);
	else if (!n.pending)
		nothing_pending(engine, tail);
}

void tails_on_message(struct engine *engine, uint64_t id, uint64_t generation, natsMsg *msg)
{
	struct tail *tail = find(engine, id);

	if (!tail || tail->generation != generation || tail->state < TAIL_CREATING)
		natsMsg_Destroy(msg);
	else
		take(engine, tail, msg);
}

/* ---- Life ----------------------------------------------------------------- */

void tails_on_up(struct engine *engine)
{
	struct tail *tail;

	DL_FOREACH(engine->tails, tail)
		if (tail->state == TAIL_IDLE)
			start(engine, tail);
}

void tails_on_down(struct engine *engine)
{
	struct tail *tail;

	DL_FOREACH(engine->tails, tail)
		stop(engine, tail);
}

static void check_time(struct engine *engine, struct tail *tail, uint64_t now)
{
	if (tail->state == TAIL_RUNNING && tail->heard_at + SILENCE <= now)
		again_later(engine, tail);
	if (tail->state == TAIL_RUNNING && tail->asked_at + QUIET <= now)
		quiet(engine, tail, now);
	if (tail->state == TAIL_IDLE && tail->retry_at <= now)
		start(engine, tail);
	if (tail->state == TAIL_RUNNING) {
		engine_arm(engine, tail->heard_at + SILENCE);
		engine_arm(engine, tail->asked_at + QUIET);
	} else if (tail->state == TAIL_IDLE && tail->retry_at != NEVER) {
		engine_arm(engine, tail->retry_at);
	}
}

void tails_check_time(struct engine *engine, uint64_t now)
{
	struct tail *tail;

	if (engine->phase != PHASE_UP)
		return;
	DL_FOREACH(engine->tails, tail)
		check_time(engine, tail, now);
}

void tails_free(struct engine *engine)
{
	struct tail *tail, *next;

	DL_FOREACH_SAFE(engine->tails, tail, next) {
		stop(engine, tail);
		free(tail);
	}
	engine->tails = NULL;
}

int64_t engine_follow(struct engine *engine, const char *filter, uint64_t first)
{
	size_t size = strlen(filter) + 1;
	struct tail *tail = calloc(1, sizeof(*tail) + size);

	if (!tail)
		return -ENOMEM;
	memcpy(tail->filter, filter, size);
	tail->id = ++engine->last_id;
	tail->next_seq = first ? first : 1;
	tail->retry_at = NEVER;
	tail->pause = RETRY;
	DL_APPEND(engine->tails, tail);
	if (engine->phase == PHASE_UP)
		start(engine, tail);
	return tail->id;
}

void engine_unfollow(struct engine *engine, int64_t id)
{
	struct tail *tail = find(engine, id);

	if (!tail)
		return;
	stop(engine, tail);
	DL_DELETE(engine->tails, tail);
	free(tail);
	engine_forget_events(engine, id);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A server that lags behind: its consumer sends heartbeats, and no records. A filter of libnats
 * takes the records away, and counts none in the heartbeats.
 */
#include <stdatomic.h>

#include "share-server.h"
#include "share/engine/engine_internal.h"

/* From now on the first consumer lags. It has sent one record. */
static atomic_bool lags;
static atomic_uint nr_lost;
/* $JS.ACK.STREAM.CONSUMER. */
static char first[256];

static bool is_record(const char *reply)
{
	return reply && !strncmp(reply, "$JS.ACK.", 8);
}

/* Fills in @first: four words of the first record's reply subject. */
static void note_first(const char *reply)
{
	const char *end = reply;

	for (unsigned int dots = 4; dots; dots--)
		end = strchr(end, '.') + 1;
	snprintf(first, sizeof(first), "%.*s", (int)(end - reply), reply);
}

static void lag(natsConnection *nc, natsMsg **msg, void *closure)
{
	const char *reply = natsMsg_GetReply(*msg), *value;

	(void)nc;
	(void)closure;
	if (is_record(reply) && !*first)
		note_first(reply);
	if (!lags)
		return;
	if (is_record(reply) && !strncmp(reply, first, strlen(first))) {
		natsMsg_Destroy(*msg);
		*msg = NULL;
		nr_lost++;
	} else if (natsMsgHeader_Get(*msg, "Nats-Last-Consumer", &value) == NATS_OK &&
		   !strcmp(strrchr(natsMsg_GetSubject(*msg), '.'), ".0")) {
		/* A heartbeat goes to the subject of the tail's first consumer. */
		natsMsgHeader_Set(*msg, "Nats-Last-Consumer", "1");
	}
}

/* Not in libnats' header. */
void natsConn_setFilterWithClosure(natsConnection *nc, __typeof__(lag) *filter, void *closure);

int main(void)
{
	struct client c;
	uint64_t seq;

	prepare();
	need_server();
	start_one(JETSTREAM, "");
	open_client(&c, (struct engine_options){ 0 }, "lag", 1);
	wait_up(&c);
	natsConn_setFilterWithClosure(c.engine->nc, lag, NULL);
	engine_follow(c.engine, c.names.subjects, 0);
	publish(&c, subject_of(&c, 0), "x", 0);
	ok(WAIT(&c, c.nr_entries == 1), "a tail gets a record");
	lags = true;
	publish(&c, subject_of(&c, 1), "x", 0);
	seq = publish(&c, subject_of(&c, 2), "x", 0)->seq;
	ok(WAIT(&c, c.nr_entries == 3), "a tail leaves a consumer that lags behind");
	ok(nr_lost && c.entries[1].seq == seq - 1 && c.entries[2].seq == seq,
	   "nothing is missing, and nothing comes twice");
	close_client(&c);
	return done_testing();
}

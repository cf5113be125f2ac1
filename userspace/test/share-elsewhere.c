// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Consumers on other servers than the stream's leader, whose copies of the stream may lack records.
 * A filter of libnats writes the names of servers into the answers of a single one.
 */
#include <stdatomic.h>

#include "share-server.h"
#include "share/engine/engine_internal.h"

/* Where each new consumer is said to be; the last one for all that follow. */
static const char *const *servers_of_consumers;
static atomic_uint nr_consumers;

/* Whether the account has no room for more consumers than the first. */
static atomic_bool is_used_up;

/* Replaces the type of the answer, which nobody reads, by the name of a server. */
static bool name_server(natsMsg *msg, const char *type, const char *server)
{
	char old[128], new[128], *data = (char *)natsMsg_GetData(msg), *at;
	int len;

	snprintf(old, sizeof(old), "\"type\":\"io.nats.jetstream.api.v1.%s_response\"", type);
	at = memmem(data, natsMsg_GetDataLength(msg), old, strlen(old));
	if (!at || memmem(data, natsMsg_GetDataLength(msg), "\"error\"", 7))
		return false;
	len = snprintf(new, sizeof(new), "\"cluster\":{\"leader\":\"%s\"}", server);
	memset(at, ' ', strlen(old));
	memcpy(at, new, len);
	return true;
}

/* Puts a refusal of the server into its answer, which is longer. */
static void refuse(natsMsg *msg)
{
	static const char text[] = "{\"error\":{\"code\":400,\"err_code\":10026,"
				   "\"description\":\"maximum consumers\"}}";
	char *data = (char *)natsMsg_GetData(msg);

	memset(data, ' ', natsMsg_GetDataLength(msg));
	memcpy(data, text, strlen(text));
}

static void filter(natsConnection *nc, natsMsg **msg, void *closure)
{
	const char *reply = natsMsg_GetReply(*msg);

	(void)nc;
	(void)closure;
	if (reply && !strncmp(reply, "$JS.ACK.", 8)) {
		/* Records of older consumers have come before. */
		if (strcmp(*servers_of_consumers, "s1"))
			*(char *)natsMsg_GetData(*msg) = '-';
		return;
	}
	if (name_server(*msg, "stream_info", "s1") ||
	    !name_server(*msg, "consumer_create", *servers_of_consumers))
		return;
	if (nr_consumers++ && is_used_up)
		refuse(*msg);
	if (servers_of_consumers[1])
		servers_of_consumers++;
}

/* Not in libnats' header. */
void natsConn_setFilterWithClosure(natsConnection *nc, __typeof__(filter) *filter, void *closure);

static void follow(struct client *c, const char *const names[], unsigned int wanted, char data)
{
	servers_of_consumers = names;
	nr_consumers = 0;
	c->nr_entries = 0;
	c->seen[EVENT_CAUGHT_UP] = 0;
	engine_follow_leader(c->engine, c->names.subjects, 0);
	ok(WAIT(c, c->seen[EVENT_CAUGHT_UP]), "a tail catches up");
	is_number(nr_consumers, wanted, "so many consumers were made");
	ok(c->nr_entries == 2 && c->entries[0].seq < c->entries[1].seq,
	   "each record comes once, and in order");
	ok(*c->entries[0].data == data && *c->entries[1].data == data, "from the last consumer");
}

/* A client with a stream of two records. */
static void begin(struct client *c, const char *queue, const char *const names[])
{
	open_client(c, (struct engine_options){ 0 }, queue, 1);
	wait_up(c);
	publish(c, subject_of(c, 0), "x", 0);
	publish(c, subject_of(c, 1), "x", 0);
	servers_of_consumers = names;
	natsConn_setFilterWithClosure(c->engine->nc, filter, NULL);
}

static const char *const never[] = { "s2", NULL };

/* The consumer that was left is gone after some seconds, and there is no room still. */
static void test_used_up(void)
{
	struct client c;

	begin(&c, "used-up", never);
	is_used_up = true;
	nr_consumers = 0;
	engine_follow_leader(c.engine, c.names.subjects, 0);
	ok(WAIT(&c, c.seen[EVENT_REFUSED]), "others use up the account's consumers: that is told");
	ok(strstr(c.text[EVENT_REFUSED], "a consumer is refused (maximum consumers)"),
	   "with the server's words");
	is_number(nr_consumers, 7, "after six tries more, in 8 seconds");
	ok(!c.nr_entries, "nothing is taken from the consumer on the other server");
	is_used_up = false;
	close_client(&c);
}

/* A server removes a consumer that nobody listens to, after some seconds. */
static void test_few_consumers(void)
{
	struct client c;

	stop_server(&servers[0], SIGTERM);
	start_one(JETSTREAM,
		  "accounts { A { jetstream { max_consumers: 1 },\n"
		  "               users: [ { user: a, password: a } ] } }\n"
		  "no_auth_user: a\n");
	begin(&c, "few", never);
	follow(&c, never, 2, '-');
	ok(!c.seen[EVENT_REFUSED], "an account with few consumers: the next one is taken");
	close_client(&c);
}

int main(void)
{
	static const char *const at_once[] = { "s1", NULL };
	static const char *const third[] = { "s2", "s3", "s1", NULL };
	struct client c;

	prepare();
	need_server();
	start_one(JETSTREAM, "");
	begin(&c, "elsewhere", at_once);
	follow(&c, at_once, 1, 'x');
	follow(&c, third, 3, 'x');
	/* The leader may change all the time. */
	follow(&c, never, 13, '-');
	close_client(&c);
	test_used_up();
	test_few_consumers();
	return done_testing();
}

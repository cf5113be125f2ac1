// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A server that answers its clients, and is cut off from the other two. And one that does not
 * answer at all.
 */
#include "share-server.h"
#include "share/engine/engine_internal.h"

/* Far less than libnats needs to find out, whose timer goes by the wall clock. */
enum { SILENT_MS = 1000, PINGS_MS = 4000 };

static const struct engine_options impatient = { .replicas = 3, .silent_ms = SILENT_MS };

static int64_t beat(struct client *c)
{
	char subject[SUBJECT_MAX];

	snprintf(subject, sizeof(subject), "%s.c.m.x", c->names.root);
	return engine_publish(c->engine, subject, (struct bytes){ "x", 1 }, ENGINE_ANY);
}

/* Waits until @condition, and publishes as a machine does. */
#define BEAT_UNTIL(engine_of, condition) ({					\
	struct client *beating_ = (engine_of);						\
											\
	WAIT(beating_, ({								\
		poll(NULL, 0, 20);							\
		beat(beating_);								\
		condition;								\
	}));										\
})

/* A client of the first server, which knows all. */
static void open_at_first(struct client *c)
{
	for (;;) {
		open_client(c, impatient, "cut", 3);
		if (!wait_up(c) || !strcmp(c->text[EVENT_UP], servers[0].url))
			return;
		close_client(c);
	}
}

/* Kills the others, and starts them so that they and the first one do not know of each other. */
static void cut_first_off(void)
{
	for (int i = 1; i < 3; i++)
		stop_server(&servers[i], SIGKILL);
	for (int i = 0; i < 3; i++)
		servers[i].route_port = free_port();
	for (int i = 1; i < 3; i++) {
		configure(&servers[i], JETSTREAM, "", true);
		start_server(&servers[i]);
	}
}

static bool is_elsewhere(const struct client *c)
{
	return engine_is_up(c->engine) && strcmp(c->text[EVENT_UP], servers[0].url);
}

/* One that is left for another one comes last. */
static void test_next(struct client *c)
{
	char url[sizeof(c->text[EVENT_UP])];
	int rounds = 15, good = 0;

	for (int i = 0; i < rounds; i++) {
		COPY(url, c->text[EVENT_UP]);
		engine_reconnect(c->engine, "test");
		WAIT(c, engine_is_up(c->engine));
		good += strcmp(url, c->text[EVENT_UP]) != 0;
	}
	is_number(good, rounds, "the next server is always another one");
}

static void test_cut(void)
{
	unsigned int down;
	struct client c;
	uint64_t since;

	for (int i = 0; i < 3; i++)
		configure(&servers[i], JETSTREAM, "", true);
	for (int i = 0; i < 3; i++)
		start_server(&servers[i]);
	open_at_first(&c);
	ok(BEAT_UNTIL(&c, c.nr_ok), "one of three servers stores");
	down = c.seen[EVENT_DOWN];
	poll(NULL, 0, 3 * SILENT_MS);
	ok(BEAT_UNTIL(&c, c.nr_ok > 3) && c.seen[EVENT_DOWN] == down,
	   "a pause between two writes is no reason to leave it");
	test_next(&c);
	close_client(&c);
	open_at_first(&c);
	cut_first_off();
	since = now_ns();
	ok(BEAT_UNTIL(&c, is_elsewhere(&c)), "a server that is cut off is left for another one");
	ok(strstr(c.text[EVENT_DOWN], "cut off"), "the text says so: %s", c.text[EVENT_DOWN]);
	c.nr_ok = 0;
	ok(BEAT_UNTIL(&c, c.nr_ok), "which stores");
	printf("# after %.1f s\n", (now_ns() - since) / 1e9);
	close_client(&c);
	for (int i = 0; i < 3; i++)
		stop_server(&servers[i], SIGKILL);
}

/* The wall clock may be set back by hours. Then no ping of libnats ends a connection. */
static bool test_dead(void)
{
	uint64_t begin;
	bool good;
	struct client c;

	start_one(JETSTREAM, "");
	open_client(&c, (struct engine_options){ .silent_ms = SILENT_MS }, "dead", 1);
	ok(wait_up(&c) && BEAT_UNTIL(&c, c.nr_ok), "a server stores");
	kill(servers[0].pid, SIGSTOP);
	begin = now_ns();
	ok(BEAT_UNTIL(&c, c.seen[EVENT_DOWN]), "it is stopped: %s", c.text[EVENT_DOWN]);
	good = ok(now_ns() - begin < PINGS_MS * UINT64_C(1000000),
		  "which is noticed without pings");
	kill(servers[0].pid, SIGCONT);
	ok(wait_up(&c), "when it goes on, it is used again");
	close_client(&c);
	stop_server(&servers[0], SIGKILL);
	return good;
}

int main(void)
{
	need_server();
	prepare();
	/* An engine that leaves no server would wait for the cut to end. */
	if (!test_dead())
		return done_testing();
	/* Old ones are refused with replicas. */
	if (!is_old_server())
		test_cut();
	return done_testing();
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The engine with one server: operations, tails, messages, and a server that goes away. */
#include "share-server.h"

static void test_publish(struct client *c)
{
	const struct ended *end;
	uint64_t first, second;

	end = publish(c, subject_of(c, 1), "one", 0);
	is_result(end, RESULT_OK, "a publish that expects no record succeeds");
	first = end->seq;
	end = publish(c, subject_of(c, 1), "two", 0);
	is_result(end, RESULT_WRONG_SEQUENCE, "the second one does not");
	end = publish(c, subject_of(c, 1), "two", first + 1);
	is_result(end, RESULT_WRONG_SEQUENCE, "nor with a sequence number that is not there yet");
	end = publish(c, subject_of(c, 1), "two", first);
	is_result(end, RESULT_OK, "with the right one it does");
	second = end->seq;
	ok(second > first, "sequence numbers grow");
	end = publish(c, subject_of(c, 1), "three", first);
	is_result(end, RESULT_WRONG_SEQUENCE, "a stale one is refused");
	end = publish(c, subject_of(c, 1), "four", ENGINE_ANY);
	is_result(end, RESULT_OK, "without expectation it always succeeds");
	end = publish(c, subject_of(c, 1), "four", ENGINE_ANY);
	is_result(end, RESULT_OK, "also if it is the same again");
}

static void test_erase(struct client *c)
{
	uint64_t old = publish(c, subject_of(c, 2), "old", ENGINE_ANY)->seq;
	uint64_t new = publish(c, subject_of(c, 2), "new", ENGINE_ANY)->seq;
	const struct ended *end;

	end = wait_end(c, engine_erase(c->engine, old));
	is_result(end, RESULT_GONE, "a replaced record cannot be erased");
	end = wait_end(c, engine_read(c->engine, subject_of(c, 2)));
	is_result(end, RESULT_OK, "the new one is still there");
	is_number(end->seq, new, "with its sequence number");
	is_string(end->data, "new", "and its bytes");
	is_string(end->subject, subject_of(c, 2), "and its subject");
	end = wait_end(c, engine_erase(c->engine, new));
	is_result(end, RESULT_OK, "the last one can be erased");
	is_number(end->seq, new, "the end names it");
	end = wait_end(c, engine_erase(c->engine, new));
	is_result(end, RESULT_GONE, "once");
	end = wait_end(c, engine_erase(c->engine, 1000000000));
	is_result(end, RESULT_GONE, "a sequence number to come cannot be erased");
	end = wait_end(c, engine_read(c->engine, subject_of(c, 2)));
	is_result(end, RESULT_NONE, "then the subject has no record");
	end = publish(c, subject_of(c, 2), "anew", new);
	is_result(end, RESULT_WRONG_SEQUENCE, "a publish that expects what was erased fails");
	end = publish(c, subject_of(c, 2), "anew", 0);
	is_result(end, RESULT_OK, "one that expects nothing succeeds");
}

static void test_bytes(struct client *c)
{
	const struct ended *end;
	uint8_t bytes[60];
	struct bytes much = { .len = 2000000 };
	char *long_text = malloc(much.len);

	for (size_t len = 0; len < sizeof(bytes); len++)
		bytes[len] = 255 - 4 * len;
	for (size_t len = sizeof(bytes) - 4; len <= sizeof(bytes); len++) {
		wait_end(c, engine_publish(c->engine, subject_of(c, 3),
					   (struct bytes){ bytes, len }, ENGINE_ANY));
		end = wait_end(c, engine_read(c->engine, subject_of(c, 3)));
		ok(end->len == len && !memcmp(end->data, bytes, len),
		   "%zu bytes of any kind come back", len);
	}
	end = publish(c, subject_of(c, 3), "", ENGINE_ANY);
	end = wait_end(c, engine_read(c->engine, subject_of(c, 3)));
	ok(end->result == RESULT_OK && !end->len, "a record without bytes can be read");
	memset(long_text, 'x', much.len);
	much.at = long_text;
	end = wait_end(c, engine_publish(c->engine, subject_of(c, 3), much, ENGINE_ANY));
	is_result(end, RESULT_REFUSED, "a record above max_payload is refused");
	ok(strstr(end->text, "max_payload"), "with a reason: %s", end->text);
	is_number(engine_say(c->engine, "kwq-test", much), -EMSGSIZE, "and such a message");
	free(long_text);
	is_number(engine_publish(c->engine, "", (struct bytes){ "x", 1 }, ENGINE_ANY), -EINVAL,
		  "no subject is refused");
}

static void test_in_flight(void)
{
	char subject[SUBJECT_MAX];
	struct client c;
	int64_t ids[9];

	open_client(&c, (struct engine_options){ .max_in_flight = 8 }, "bounded", 1);
	is_number(engine_publish(c.engine, "x", (struct bytes){ "", 0 }, 0), -ENOTCONN,
		  "not yet connected");
	wait_up(&c);
	for (int i = 0; i < 9; i++)
		ids[i] = engine_publish(c.engine, subject_of(&c, i), (struct bytes){ "", 0 }, 0);
	ok(ids[7] > 0, "as many operations as allowed");
	is_number(ids[8], -EAGAIN, "and no more");
	snprintf(subject, sizeof(subject), "%s.c.m.x", c.names.root);
	ids[8] = engine_publish(c.engine, subject, (struct bytes){ "", 0 }, ENGINE_ANY);
	is_result(wait_end(&c, ids[8]), RESULT_OK, "but for a heartbeat");
	is_result(wait_end(&c, ids[7]), RESULT_OK, "they succeed");
	ok(engine_publish(c.engine, subject_of(&c, 9), (struct bytes){ "", 0 }, 0) > 0,
	   "then there is room");
	close_client(&c);
}

static bool is_ordered(const struct client *c)
{
	for (size_t i = 1; i < c->nr_entries; i++)
		if (c->entries[i].seq <= c->entries[i - 1].seq)
			return false;
	return true;
}

static void test_tail(void)
{
	struct client c;
	int64_t tail;
	uint64_t seq;
	size_t nr;

	open_client(&c, (struct engine_options){ 0 }, "tail", 1);
	wait_up(&c);
	tail = engine_follow(c.engine, c.names.subjects, 0);
	ok(WAIT(&c, c.seen[EVENT_CAUGHT_UP] == 1), "a tail of an empty stream has caught up");
	is_number(c.nr_entries, 0, "without an entry");
	for (int i = 0; i < 10; i++)
		publish(&c, subject_of(&c, i % 5), "x", ENGINE_ANY);
	ok(WAIT(&c, c.nr_entries == 10), "it gets all that comes");
	ok(is_ordered(&c) && c.entries[9].tail == tail, "in order");
	engine_unfollow(c.engine, tail);
	c.nr_entries = 0;
	seq = publish(&c, subject_of(&c, 3), "last", ENGINE_ANY)->seq;
	engine_follow(c.engine, c.names.subjects, 0);
	ok(WAIT(&c, c.seen[EVENT_CAUGHT_UP] == 2), "a later one catches up");
	nr = c.nr_entries;
	is_number(nr, 5, "with the last record of each subject");
	ok(is_ordered(&c) && c.entries[4].seq == seq, "in order");
	is_string(c.entries[4].data, "last", "with their bytes");
	is_string(c.entries[4].subject, subject_of(&c, 3), "and subjects");
	close_client(&c);
}

static void test_tail_from(void)
{
	char only[SUBJECT_MAX];
	struct client c;
	uint64_t seq = 0;

	open_client(&c, (struct engine_options){ 0 }, "tail from", 1);
	wait_up(&c);
	for (int i = 0; i < 10; i++)
		seq = publish(&c, subject_of(&c, i), "x", 0)->seq;
	engine_follow(c.engine, c.names.subjects, seq - 2);
	ok(WAIT(&c, c.seen[EVENT_CAUGHT_UP] == 1), "a tail from a sequence number catches up");
	ok(c.nr_entries == 3 && c.entries[0].seq == seq - 2, "with the records from there on");
	c.nr_entries = 0;
	/* The last record of the stream is not of this subject. */
	COPY(only, subject_of(&c, 4));
	engine_follow(c.engine, only, 0);
	ok(WAIT(&c, c.seen[EVENT_CAUGHT_UP] == 2), "a tail of one subject catches up");
	ok(c.nr_entries == 1 && !strcmp(c.entries[0].subject, only), "with its only record");
	c.nr_entries = 0;
	engine_follow(c.engine, c.names.control, 0);
	ok(WAIT(&c, c.seen[EVENT_CAUGHT_UP] == 3), "a tail of subjects without records catches up");
	engine_follow(c.engine, c.names.subjects, seq + 10);
	ok(WAIT(&c, c.seen[EVENT_CAUGHT_UP] == 4), "and one that begins behind the last record");
	is_number(c.nr_entries, 0, "without entries");
	close_client(&c);
}

/* A record that looks like a heartbeat. */
static void test_hostile_records(void)
{
	static const char headers[] = "NATS/1.0 100\r\nNats-Last-Consumer: 999999\r\n\r\n";
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(servers[0].port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct client c;
	char payload[2000];
	ssize_t got;
	int fd;

	open_client(&c, (struct engine_options){ 0 }, "hostile", 1);
	wait_up(&c);
	engine_follow(c.engine, c.names.subjects, 0);
	WAIT(&c, c.seen[EVENT_CAUGHT_UP]);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fd, (void *)&address, sizeof(address)))
		die("connect");
	snprintf(payload, sizeof(payload),
		 "CONNECT {\"verbose\":false,\"headers\":true}\r\n"
		 "HPUB kwq.hostile.a.x %zu %zu\r\n%s\r\nPING\r\n",
		 strlen(headers), strlen(headers), headers);
	got = write(fd, payload, strlen(payload));
	ok(got == (ssize_t)strlen(payload) && WAIT(&c, c.nr_entries == 1),
	   "a record that looks like a heartbeat is a record");
	publish(&c, subject_of(&c, 1), "x", 0);
	ok(WAIT(&c, c.nr_entries == 2) && is_ordered(&c), "and the tail goes on");
	close(fd);
	close_client(&c);
}

static void test_messages(void)
{
	struct client a, b;
	char subject[SUBJECT_MAX];
	int64_t listener;

	open_client(&a, (struct engine_options){ 0 }, "messages", 1);
	open_client(&b, (struct engine_options){ 0 }, "messages", 1);
	is_number(engine_say(a.engine, "x", (struct bytes){ "", 0 }), -ENOTCONN,
		  "nothing is said before UP");
	machine_subject(subject, &a.names, "host.example:1");
	listener = engine_listen(a.engine, subject);
	wait_up(&a);
	wait_up(&b);
	/* Core messages may be lost, as long as the server does not know the listener. */
	ok(WAIT(&b, !engine_say(b.engine, subject, (struct bytes){ "hello", 5 }) &&
		(step(&a, now_ns() + 10000000), a.nr_messages)), "a message comes");
	is_string(a.messages[0].data, "hello", "with its bytes");
	is_string(a.messages[0].subject, subject, "and its subject");
	ok(a.messages[0].tail == listener, "for its listener");
	engine_say(a.engine, subject, (struct bytes){ "me", 2 });
	ok(WAIT(&a, !strcmp(a.messages[a.nr_messages - 1].data, "me")),
	   "one's own messages come, too");
	engine_unlisten(a.engine, listener);
	a.nr_messages = 0;
	engine_say(b.engine, subject, (struct bytes){ "late", 4 });
	publish(&a, subject_of(&a, 1), "x", ENGINE_ANY);
	is_number(a.nr_messages, 0, "no message after the end of listening");
	close_client(&a);
	close_client(&b);
}

/* Two engines write one subject, each expecting what it saw last. */
static void test_race(void)
{
	const struct bytes x = { "x", 1 };
	struct client c[2];
	uint64_t last = 0;
	int rounds = 200, good = 0;

	for (int i = 0; i < 2; i++)
		open_client(&c[i], (struct engine_options){ 0 }, "race", 1);
	for (int i = 0; i < 2; i++)
		wait_up(&c[i]);
	for (int round = 0; round < rounds; round++) {
		const struct ended *ends[2];
		int64_t ids[2];

		for (int i = 0; i < 2; i++)
			ids[i] = engine_publish(c[i].engine, subject_of(&c[i], 1), x, last);
		for (int i = 0; i < 2; i++)
			ends[i] = wait_end(&c[i], ids[i]);
		for (int i = 0; i < 2; i++) {
			if (ends[i]->result == RESULT_OK &&
			    ends[!i]->result == RESULT_WRONG_SEQUENCE) {
				last = ends[i]->seq;
				good++;
			}
		}
	}
	is_number(good, rounds, "exactly one of two wins each round");
	for (int i = 0; i < 2; i++)
		close_client(&c[i]);
}

static void test_restart(void)
{
	unsigned int up, down;
	const struct ended *end;
	struct client c;
	int64_t id;
	size_t nr;

	open_client(&c, (struct engine_options){ 0 }, "restart", 1);
	wait_up(&c);
	engine_follow(c.engine, c.names.subjects, 0);
	for (int i = 0; i < 1000; i++)
		publish(&c, subject_of(&c, i), "x", 0);
	/* SIGSTOP: the publish is under way when the connection ends. */
	kill(servers[0].pid, SIGSTOP);
	id = engine_publish(c.engine, subject_of(&c, 5000), (struct bytes){ "x", 1 }, 0);
	up = c.seen[EVENT_UP];
	down = c.seen[EVENT_DOWN];
	stop_server(&servers[0], SIGKILL);
	end = wait_end(&c, id);
	is_result(end, RESULT_UNKNOWN, "a publish that has no answer is unknown");
	ok(WAIT(&c, c.seen[EVENT_DOWN] > down), "the engine is down: %s", c.text[EVENT_DOWN]);
	is_number(engine_publish(c.engine, "x", (struct bytes){ "", 0 }, 0), -ENOTCONN,
		  "and accepts nothing");
	start_server(&servers[0]);
	ok(WAIT(&c, c.seen[EVENT_UP] > up), "it comes back");
	end = wait_end(&c, engine_read(c.engine, subject_of(&c, 5000)));
	nr = 1000 + (end->result == RESULT_OK);
	for (int i = 0; i < 1000; i++)
		publish(&c, subject_of(&c, 6000 + i), "x", 0);
	ok(WAIT(&c, c.nr_entries >= nr + 1000), "the tail has all records");
	is_number(c.nr_entries, nr + 1000, "each once");
	ok(is_ordered(&c), "in order");
	is_number(c.seen[EVENT_CAUGHT_UP], 1, "and has caught up once");
	close_client(&c);
}

/* Publishes as much as may be under way. Returns the number of all that were ever begun. */
static int publish_more(struct client *c, int begun, int wanted)
{
	const struct bytes x = { "x", 1 };

	while (begun < wanted && engine_publish(c->engine, subject_of(c, begun), x, 0) > 0)
		begun++;
	return begun;
}

/* Many operations under way, and a tail that begins with many records. */
static void test_backlog(void)
{
	int begun = 0, wanted = 100000;
	uint64_t started;
	struct client c;

	open_client(&c, (struct engine_options){ 0 }, "backlog", 1);
	wait_up(&c);
	c.counts_only = true;
	started = now_ns();
	WAIT(&c, ({
		begun = publish_more(&c, begun, wanted);
		c.seen[EVENT_ENDED] == (unsigned int)wanted;
	}));
	is_number(c.nr_ok, wanted, "100,000 publishes under way together");
	printf("# %.0f publishes a second\n", wanted / ((now_ns() - started) / 1e9));
	started = now_ns();
	engine_follow(c.engine, c.names.subjects, 0);
	ok(WAIT(&c, c.seen[EVENT_CAUGHT_UP]), "a tail of all of them catches up");
	is_number(c.nr_entries, wanted, "with all");
	ok(is_ordered(&c), "in order");
	printf("# %.0f entries a second\n", wanted / ((now_ns() - started) / 1e9));
	close_client(&c);
}

/* The stream goes while it is in use. */
static void test_deleted_stream(void)
{
	const struct bytes x = { "x", 1 };
	struct client a, b;
	int64_t id;

	open_client(&a, (struct engine_options){ 0 }, "deleted", 1);
	wait_up(&a);
	publish(&a, subject_of(&a, 1), "x", 0);
	/* The other client's stream is another one; it only sends the request. */
	open_client(&b, (struct engine_options){ 0 }, "deleter", 1);
	wait_up(&b);
	ok(WAIT(&a, ({
		engine_say(b.engine, "$JS.API.STREAM.DELETE.kwq-deleted", (struct bytes){ "", 0 });
		id = engine_publish(a.engine, subject_of(&a, 1), x, ENGINE_ANY);
		if (id > 0)
			wait_end(&a, id);
		a.seen[EVENT_REFUSED];
	})), "a stream that was deleted is not made anew: %s", a.text[EVENT_REFUSED]);
	ok(strstr(a.text[EVENT_REFUSED], "deleted the stream"), "the text says so");
	ok(strstr(a.text[EVENT_DOWN], "the stream is not there"),
	   "but not at once, because a new leader may not know it yet");
	is_number(engine_publish(a.engine, "x", (struct bytes){ "", 0 }, 0), -ENOTCONN,
		  "nothing is accepted");
	close_client(&a);
	open_client(&a, (struct engine_options){ 0 }, "deleted", 1);
	ok(wait_up(&a), "a new engine makes it");
	close_client(&a);
	close_client(&b);
}

static void test_names(void)
{
	static const char *const queues[] = {
		"a.b", "a*b", "a>b", ">", "*", ".", "a b", "a\tb", "a\nb", "\x01\x7f",
		"\xc3\xa4\xff", "=2e", "$JS", "..", "a\\b", "con", "A", "a",
	};
	struct client c;
	char longest[256];
	bool good = true;

	for (size_t i = 0; i < ARRAY_SIZE(queues) && good; i++) {
		open_client(&c, (struct engine_options){ 0 }, queues[i], 1);
		good = wait_up(&c) && publish(&c, subject_of(&c, 1), "x", 0)->result == RESULT_OK;
		close_client(&c);
	}
	ok(good, "queues of all kinds of names have streams of their own");
	memset(longest, '.', 255);
	longest[255] = '\0';
	open_client(&c, (struct engine_options){ 0 }, longest, 1);
	ok(wait_up(&c) && publish(&c, subject_of(&c, 1), "x", 0)->result == RESULT_OK,
	   "the longest name, too");
	close_client(&c);
}

int main(void)
{
	struct client c;

	need_server();
	prepare();
	start_one(JETSTREAM, "");
	open_client(&c, (struct engine_options){ 0 }, "first", 1);
	if (!ok(wait_up(&c), "a new stream can be used"))
		return done_testing();
	test_publish(&c);
	test_erase(&c);
	test_bytes(&c);
	close_client(&c);
	test_in_flight();
	test_tail();
	test_tail_from();
	test_hostile_records();
	test_messages();
	test_race();
	test_backlog();
	test_deleted_stream();
	test_names();
	test_restart();
	return done_testing();
}

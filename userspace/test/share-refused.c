// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The engine's words if it may not, cannot, or does not get in; and it gets in later. */
#include "share-server.h"
#include "share/engine/engine_internal.h"

#include <limits.h>
#include <sys/mman.h>

/* A user's NKey, made for this test. */
#define SEED "SUAP6PWKTJD5L274GIXPRJH2PUBHOVYJ44DJDABDBMCCWZP2FR6KINQGG4"
#define PUBLIC "UCR64P4AJPHLM4ZDFIQAD5HJVLJ4LJEIGMEWD7U7QSJI36KFPFWS2JOH"
#define OTHER_SEED "SUAJ7PIEWR2EYYZITXPIQEAYW4WGLINF6UFSOET2OY5ND35IORYSR4N37I"

static char path[8][256];

/* Its stream is not there before a test that is accepted. */
static const char *queue = "refused";

/* The path of a file in the work folder. */
static const char *file(const char *name)
{
	static int next;
	char *to = path[next++ % 8];

	snprintf(to, sizeof(path[0]), "%s/%s", work, name);
	return to;
}

/* Whether the engine refuses with this text. It may have said other states before. */
static bool is_refused(struct client *c, const char *text)
{
	return WAIT(c, c->seen[EVENT_REFUSED]) && strstr(c->text[EVENT_REFUSED], text);
}

/* Whether the first state that is said is REFUSED with this text. */
static void refused(const char *what, struct engine_options options, const char *text)
{
	const char *said;
	struct client c;

	open_client(&c, options, queue, 1);
	said = c.text[EVENT_REFUSED];
	WAIT(&c, c.seen[EVENT_REFUSED] || c.seen[EVENT_UP] || c.seen[EVENT_DOWN]);
	if (!ok(strstr(said, text) && strstr(said, "127.0.0.1"), "%s", what))
		printf("#  got \"%s\", wanted \"%s\"\n", said, text);
	close_client(&c);
}

/* The same for an error of a file. It is said once, without a server, for two servers, too. */
static void refused_file(const char *what, struct engine_options options, const char *text)
{
	const char *url = options.urls ? options.urls[0] : servers[0].url;
	const char *urls[3] = { url, url };
	const char *said, *at;
	struct client c;

	options.urls = urls;
	open_client(&c, options, queue, 1);
	said = c.text[EVENT_REFUSED];
	WAIT(&c, c.seen[EVENT_REFUSED] || c.seen[EVENT_UP] || c.seen[EVENT_DOWN]);
	at = strstr(said, text);
	if (!ok(at && !strstr(at + 1, text) && !strstr(said, "127.0.0.1"), "%s", what))
		printf("#  got \"%s\", wanted \"%s\"\n", said, text);
	close_client(&c);
}

static void accepted(const char *what, struct engine_options options)
{
	struct client c;

	open_client(&c, options, queue, 1);
	WAIT(&c, c.seen[EVENT_REFUSED] || c.seen[EVENT_UP]);
	ok(c.seen[EVENT_UP], "%s", what);
	close_client(&c);
}

static void test_users(void)
{
	char url[128];
	const char *urls[2] = { url };
	struct client c;

	start_one(JETSTREAM,
		  "authorization { users: ["
		  " { user: me, password: \"it's me\" }, { nkey: " PUBLIC " } ] }\n");
	write_file("user", "me\nit's me\n");
	write_file("wrong-user", "me\nit's not\n");
	write_file("half-user", "me\n");
	write_file("empty", "");
	write_file("seed", SEED "\n");
	write_file("other-seed", OTHER_SEED "\n");
	write_file("bad-seed", "SU" OTHER_SEED "\n");
	refused("no user where one is wanted", (struct engine_options){ 0 },
		"wrong login, or the server wants one and none is given");
	refused("a wrong password", (struct engine_options){ .user_file = file("wrong-user") },
		"wrong user or password");
	refused_file("no password", (struct engine_options){ .user_file = file("half-user") },
		     "password on the second");
	refused_file("an empty file", (struct engine_options){ .user_file = file("empty") },
		     "the first line is empty");
	refused_file("no file", (struct engine_options){ .user_file = file("none") }, "No such file");
	accepted("the right password", (struct engine_options){ .user_file = file("user") });
	accepted("an NKey", (struct engine_options){ .nkey = file("seed") });
	refused("another NKey", (struct engine_options){ .nkey = file("other-seed") },
		"does not know this NKey");
	refused_file("no NKey", (struct engine_options){ .nkey = file("bad-seed") },
		     "no seed of a user's NKey");
	refused_file("no credentials", (struct engine_options){ .credentials = file("none") },
		     "No such file");
	snprintf(url, sizeof(url), "nats://me:secret@127.0.0.1:%d", servers[0].port);
	refused("a wrong password in the URL", (struct engine_options){ .urls = urls },
		"wrong login, or the server wants one");
	open_client(&c, (struct engine_options){ .urls = urls }, "refused", 1);
	WAIT(&c, c.seen[EVENT_REFUSED]);
	ok(!strstr(c.text[EVENT_REFUSED], "secret"), "no password is shown");
	close_client(&c);
	stop_server(&servers[0], SIGTERM);
}

static void test_token(void)
{
	start_one(JETSTREAM, "authorization { token: \"abc\" }\n");
	write_file("token", "abc\n");
	write_file("wrong-token", "abd\n");
	accepted("the right token", (struct engine_options){ .token_file = file("token") });
	refused("a wrong token", (struct engine_options){ .token_file = file("wrong-token") },
		"wrong token");
	stop_server(&servers[0], SIGTERM);
}

/* Makes NAME.pem, a certificate for @host that signs itself, and NAME.key. */
static void make_certificate(const char *name, const char *host)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "cd '%s' && openssl req -x509 -newkey ed25519 -nodes -days 2 -subj '/CN=%s' "
		 "-addext subjectAltName=%s -keyout %s.key -out %s.pem "
		 ">openssl.log 2>&1 || { sed 's/^/# /' openssl.log; false; }",
		 work, name, host, name, name);
	if (system(command))
		die("openssl");
}

static void test_tls(void)
{
	char more[1024], url[64];
	const char *urls[2] = { url };
	struct engine_options options = { .urls = urls };
	struct client c;

	snprintf(url, sizeof(url), "tls://127.0.0.1:%d", servers[0].port);
	start_one(JETSTREAM, "");
	refused("TLS to a server without it", options, "the server has no TLS");
	stop_server(&servers[0], SIGTERM);
	if (system("openssl version >/dev/null 2>&1")) {
		ok(true, "TLS # SKIP openssl is not installed");
		return;
	}
	make_certificate("server", "IP:127.0.0.1");
	make_certificate("other", "IP:127.0.0.1");
	snprintf(more, sizeof(more),
		 "tls { cert_file: \"%s/server.pem\", key_file: \"%s/server.key\", "
		 "ca_file: \"%s/other.pem\", verify: true }\n",
		 work, work, work);
	start_one(JETSTREAM, more);
	refused("nats:// to a server with TLS", (struct engine_options){ 0 }, "TLS: ");
	refused("the system's CAs", options, "certificate");
	options.ca = file("server.key");
	refused_file("a CA that is none", options, "no file of certificates");
	options.ca = file("other.pem");
	options.certificate = file("other.pem");
	options.key = file("other.key");
	refused("a CA that has not signed", options, "certificate");
	options.ca = file("server.pem");
	options.key = file("server.key");
	refused_file("a key of another certificate", options, "the key does not belong to it");
	options.certificate = NULL;
	options.key = NULL;
	refused("no certificate where one is wanted", options,
		"the server asks for a certificate: give --cert and --key");
	options.certificate = file("other.pem");
	options.key = file("other.key");
	accepted("the right certificates", options);
	snprintf(url, sizeof(url), "tls://localhost:%d", servers[0].port);
	open_client(&c, options, "refused", 1);
	WAIT(&c, c.seen[EVENT_REFUSED] || c.seen[EVENT_UP]);
	ok(c.seen[EVENT_REFUSED], "a certificate of another host: %s", c.text[EVENT_REFUSED]);
	close_client(&c);
	stop_server(&servers[0], SIGTERM);
}

/* Reads the first line of a server, in which it also names the other servers that it knows. */
static void read_info(const struct server *s, char *to, size_t size)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(s->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t len = 0;
	ssize_t got = 1;

	if (connect(fd, (void *)&address, sizeof(address)))
		die("connect");
	while (got > 0 && len < size - 1 && !memchr(to, '\n', len)) {
		got = read(fd, to + len, size - 1 - len);
		len += got > 0 ? got : 0;
	}
	to[len] = '\0';
	close(fd);
}

/* Waits until a server names another one to its clients. */
static void wait_named(const struct server *s, const struct server *other)
{
	uint64_t until = now_ns() + LIMIT * UINT64_C(1000000000);
	char info[4096], name[32];

	snprintf(name, sizeof(name), ":%d\"", other->port);
	do {
		if (now_ns() > until)
			die("the servers do not find each other");
		poll(NULL, 0, 10);
		read_info(s, info, sizeof(info));
	} while (!strstr(info, "connect_urls") ||
		 !strstr(strstr(info, "connect_urls"), name));
}

/*
 * A cluster of two servers. The one whose URL is given refuses the password. The other one, which
 * it names, has a certificate of another host.
 */
static void test_tls_cluster(void)
{
	char more[1024], url[64];
	const char *urls[2] = { url };

	if (system("openssl version >/dev/null 2>&1")) {
		ok(true, "TLS in a cluster # SKIP openssl is not installed");
		return;
	}
	make_certificate("0", "IP:127.0.0.1");
	make_certificate("1", "DNS:elsewhere");
	for (int i = 0; i < 2; i++) {
		snprintf(more, sizeof(more),
			 "tls { cert_file: \"%s/%d.pem\", key_file: \"%s/%d.key\" }\n"
			 "authorization { user: me, password: right }\n",
			 work, i, work, i);
		configure(&servers[i], NULL, more, true);
		start_server(&servers[i]);
	}
	wait_named(&servers[0], &servers[1]);
	snprintf(more, sizeof(more), "cd '%s' && cat 0.pem 1.pem >ca.pem", work);
	if (system(more))
		die("ca.pem");
	write_file("wrong", "me\nwrong\n");
	snprintf(url, sizeof(url), "tls://127.0.0.1:%d", servers[0].port);
	refused("a wrong password, and a server that names another one",
		(struct engine_options){ .urls = urls, .ca = file("ca.pem"),
					 .user_file = file("wrong") },
		"wrong user or password");
	stop_server(&servers[0], SIGTERM);
	stop_server(&servers[1], SIGTERM);
}

/* A server that knows its users by tokens that its operator has signed. */
static void test_credentials(void)
{
	char command[512];

	if (system("openssl version >/dev/null 2>&1")) {
		ok(true, "credentials # SKIP openssl is not installed");
		return;
	}
	snprintf(command, sizeof(command), "\"$SRC/test/nats-credentials\" '%s'", work);
	if (system(command))
		die("nats-credentials");
	start_one(JETSTREAM, "include ./operator.conf\n");
	accepted("credentials", (struct engine_options){ .credentials = file("user.creds") });
	refused("credentials of another operator",
		(struct engine_options){ .credentials = file("other.creds") },
		"the server refuses the credentials");
	refused("credentials that have expired",
		(struct engine_options){ .credentials = file("expired.creds") },
		"the server refuses the credentials");
	refused("no credentials where some are wanted", (struct engine_options){ 0 },
		"the server wants one and none is given");
	write_file("bad.creds", "no credentials\n");
	refused_file("a file without any",
		     (struct engine_options){ .credentials = file("bad.creds") },
		     "bad.creds: these are no credentials");
	stop_server(&servers[0], SIGTERM);
}

static void test_one_copy(void)
{
	struct client c;

	start_one(JETSTREAM, "");
	open_client(&c, (struct engine_options){ 0 }, "one", 1);
	wait_up(&c);
	is_number(c.seen[EVENT_WARNING], 0, "one server has one copy");
	close_client(&c);
	open_client(&c, (struct engine_options){ 0 }, "one of two", 2);
	ok(wait_up(&c) && strstr(c.text[EVENT_WARNING], "kwq-one=20of=20two has one copy"),
	   "two servers, and one copy: %s", c.text[EVENT_WARNING]);
	close_client(&c);
	open_client(&c, (struct engine_options){ 0 }, "one of two", 2);
	wait_up(&c);
	is_number(c.seen[EVENT_WARNING], 0, "told when the stream is made");
	close_client(&c);
	stop_server(&servers[0], SIGTERM);
}

static void test_no_jetstream(void)
{
	struct client c;

	start_one(NULL, "");
	open_client(&c, (struct engine_options){ .retry_ms = 10 }, "refused", 1);
	ok(is_refused(&c, "jetstream {}"), "a server without JetStream: %s",
	   c.text[EVENT_REFUSED]);
	stop_server(&servers[0], SIGTERM);
	start_one(JETSTREAM,
		  "accounts { A { users: [ { user: a, password: a } ] } }\nno_auth_user: a\n");
	ok(WAIT(&c, strstr(c.text[EVENT_REFUSED], "this account has no JetStream")),
	   "an account without it: %s", c.text[EVENT_REFUSED]);
	stop_server(&servers[0], SIGTERM);
	start_one(JETSTREAM, "");
	ok(wait_up(&c), "with JetStream the same engine goes on");
	close_client(&c);
	if (is_old_server()) {
		refused("replicas on this version", (struct engine_options){ .replicas = 3 },
			"too old for replicas");
		stop_server(&servers[0], SIGTERM);
		return;
	}
	refused("more replicas than those of a stream", (struct engine_options){ .replicas = 3 },
		"has 1 replica");
	queue = "new";
	refused("more replicas than servers", (struct engine_options){ .replicas = 3 },
		"this server is no part of a cluster, and --replicas asks for 3");
	queue = "refused";
	stop_server(&servers[0], SIGTERM);
}

/* Has the first server make, change or delete a stream, and waits until it has done so. */
static void ask(const char *subject, const char *json)
{
	natsConnection *nc = NULL;
	natsMsg *reply = NULL;

	if (natsConnection_ConnectTo(&nc, servers[0].url) ||
	    natsConnection_RequestString(&reply, nc, subject, json, 60000))
		die(subject);
	if (memmem(natsMsg_GetData(reply), natsMsg_GetDataLength(reply), "\"error\":", 8)) {
		printf("#  %s: %.*s\n", json, natsMsg_GetDataLength(reply),
		       natsMsg_GetData(reply));
		die(subject);
	}
	natsMsg_Destroy(reply);
	natsConnection_Destroy(nc);
}

static void refuses_stream(const char *what, const char *text)
{
	struct client c;

	open_client(&c, (struct engine_options){ 0 }, "wrong", 1);
	ok(is_refused(&c, text), "refused: %s", what);
	close_client(&c);
}

static void test_settings(void)
{
	static const struct {
		const char *json, *text;
	} cases[] = {
		{ "\"subjects\":[\"kwq.wrong.a.*\"]", "subjects" },
		{ "\"subjects\":[\"kwq.wrong.>\",\"more\"]", "subjects" },
		{ "\"max_msgs_per_subject\":2", "max_msgs_per_subject has to be 1" },
		{ "\"retention\":\"workqueue\"", "retention" },
		{ "\"storage\":\"memory\"", "storage" },
		{ "\"max_age\":1000000000000", "max_age" },
		{ "\"max_bytes\":1000000,\"discard\":\"old\"", "discard" },
		{ "\"max_msgs\":1000000,\"discard\":\"new\"", "max_msgs has to be -1" },
		{ "\"max_msg_size\":10000", "max_msg_size has to be -1" },
		{ "\"discard\":\"new\",\"discard_new_per_subject\":true",
		  "discard_new_per_subject" },
		{ "\"no_ack\":true", "no_ack" },
		{ "\"deny_delete\":true", "deny_delete" },
	};
	static const char other[] =
		"{\"name\":\"other\",\"subjects\":[\"kwq.wrong.a.>\"],\"num_replicas\":1,"
		"\"storage\":\"file\",\"retention\":\"limits\"}";
	char json[512];

	start_one(JETSTREAM, "");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		/* Of two members of one name the last one counts. */
		snprintf(json, sizeof(json),
			 "{\"name\":\"kwq-wrong\",\"subjects\":[\"kwq.wrong.>\"],"
			 "\"max_msgs_per_subject\":1,\"retention\":\"limits\",\"storage\":\"file\","
			 "\"num_replicas\":1,%s}",
			 cases[i].json);
		ask("$JS.API.STREAM.CREATE.kwq-wrong", json);
		refuses_stream(cases[i].json, cases[i].text);
		ask("$JS.API.STREAM.DELETE.kwq-wrong", "");
	}
	ask("$JS.API.STREAM.CREATE.other", other);
	refuses_stream("another stream's subjects", "another stream has the subjects");
	stop_server(&servers[0], SIGTERM);
}

/*
 * Publishes until a limit is met. Returns the end that met it. Adds stop before, if the limit is
 * that of the stream.
 */
static const struct ended *fill(struct client *c, bool limited)
{
	static char text[50001];
	const struct ended *end = NULL;
	bool has_room = limited;

	memset(text, 'x', sizeof(text) - 1);
	for (int i = 0; i < 100; i++) {
		if (has_room && !engine_has_room(c->engine, sizeof(text) - 1)) {
			has_room = false;
			ok(i > 2, "adds stop after %d of them", i);
		}
		engine_take_room(c->engine, sizeof(text) - 1);
		end = publish(c, subject_of(c, i), text, 0);
		if (end->result != RESULT_OK)
			break;
	}
	return end;
}

static void test_full(void)
{
	const struct ended *end;
	struct client c;
	uint64_t first;

	start_one(JETSTREAM,
		  "accounts { A { jetstream: { max_file: 1MB },"
		  " users: [ { user: a, password: a } ] } }\n"
		  "no_auth_user: a\n");
	open_client(&c, (struct engine_options){ .max_bytes = 500000 }, "full", 1);
	wait_up(&c);
	end = fill(&c, true);
	is_result(end, RESULT_FULL, "a full stream");
	ok(WAIT(&c, !engine_has_room(c.engine, 1)), "adds have no room in it");
	ok(strstr(end->text, "maximum bytes"), "with the server's text: %s", end->text);
	first = wait_end(&c, engine_read(c.engine, subject_of(&c, 0)))->seq;
	is_result(wait_end(&c, engine_erase(c.engine, first)), RESULT_OK, "an erase makes room");
	is_result(publish(&c, subject_of(&c, 200), "x", 0), RESULT_OK, "for another record");
	for (int i = 1; i < 5; i++) {
		first = wait_end(&c, engine_read(c.engine, subject_of(&c, i)))->seq;
		wait_end(&c, engine_erase(c.engine, first));
	}
	ok(WAIT(&c, engine_has_room(c.engine, 1)), "and then for adds");
	close_client(&c);
	open_client(&c, (struct engine_options){ 0 }, "full account", 1);
	wait_up(&c);
	end = fill(&c, false);
	is_result(end, RESULT_FULL, "a full account");
	ok(end->text[0], "with the server's text: %s", end->text);
	close_client(&c);
	stop_server(&servers[0], SIGTERM);
	start_one(JETSTREAM,
		  "accounts { A { jetstream: { max_file: 1MB, max_bytes_required: true,"
		  " disk_max_stream_bytes: 100K },"
		  " users: [ { user: a, password: a } ] } }\n"
		  "no_auth_user: a\n");
	open_client(&c, (struct engine_options){ .max_bytes = 400000, .may_shrink = true },
		    "less", 1);
	ok(WAIT(&c, c.seen[EVENT_REFUSED]), "a stream is not made too small");
	close_client(&c);
	stop_server(&servers[0], SIGTERM);
	start_one(JETSTREAM, "accounts { A { jetstream: { max_file: 100MB },"
			     " users: [ { user: a, password: a } ] } }\n"
			     "no_auth_user: a\n");
	open_client(&c, (struct engine_options){ .max_bytes = 1 << 30, .may_shrink = true },
		    "less", 1);
	ok(wait_up(&c), "a limit that leaves room for ends, if none is given");
	is_number(c.engine->limit, 64 << 20, "is halved until the account has room for it");
	close_client(&c);
	stop_server(&servers[0], SIGTERM);
	start_one(JETSTREAM,
		  "accounts { A { jetstream: { max_file: 1MB, max_bytes_required: true,"
		  " disk_max_stream_bytes: 100K },"
		  " users: [ { user: a, password: a } ] } }\n"
		  "no_auth_user: a\n");
	refused("an account that wants limits", (struct engine_options){ 0 }, "give --stream-bytes");
	refused("a limit above the account's", (struct engine_options){ .max_bytes = 200000 },
		"give a smaller --stream-bytes");
	stop_server(&servers[0], SIGTERM);
}

/* Somebody changes a stream in use. */
static void test_edited(void)
{
	char command[1024];
	struct client c;

	start_one(JETSTREAM, "max_payload: 65536\n");
	refused("a server that takes short messages only", (struct engine_options){ 0 },
		"max_payload is 65536");
	stop_server(&servers[0], SIGTERM);
	start_one(JETSTREAM, "");
	open_client(&c, (struct engine_options){ 0 }, "edited", 1);
	wait_up(&c);
	publish(&c, subject_of(&c, 1), "x", 0);
	stop_server(&servers[0], SIGTERM);
	WAIT(&c, !engine_is_up(c.engine));
	snprintf(command, sizeof(command), "rm -rf '%s.old' && cp -a '%s' '%s.old'",
		 servers[0].folder, servers[0].folder, servers[0].folder);
	if (system(command))
		die("cp");
	start_server(&servers[0]);
	ok(WAIT(&c, engine_is_up(c.engine)), "it goes on after a restart");
	publish(&c, subject_of(&c, 2), "x", 0);
	publish(&c, subject_of(&c, 3), "x", 0);
	stop_server(&servers[0], SIGKILL);
	WAIT(&c, !engine_is_up(c.engine));
	snprintf(command, sizeof(command), "rm -rf '%s' && mv '%s.old' '%s'", servers[0].folder,
		 servers[0].folder, servers[0].folder);
	if (system(command))
		die("mv");
	start_server(&servers[0]);
	ok(is_refused(&c, "went back from record"), "an old copy of the stream: %s",
	   c.text[EVENT_REFUSED]);
	close_client(&c);
	open_client(&c, (struct engine_options){ .check_ms = 10 }, "settings", 1);
	wait_up(&c);
	ask("$JS.API.STREAM.UPDATE.kwq-settings",
	    "{\"name\":\"kwq-settings\",\"subjects\":[\"kwq.settings.>\"],"
	    "\"max_msgs_per_subject\":1,\"retention\":\"limits\",\"storage\":\"file\","
	    "\"num_replicas\":1,\"max_age\":2000000000,\"discard\":\"new\"}");
	ok(is_refused(&c, "max_age"), "settings that are changed while it is in use: %s",
	   c.text[EVENT_REFUSED]);
	close_client(&c);
	stop_server(&servers[0], SIGTERM);
}

static void test_permissions(void)
{
	const struct ended *end;
	struct client c;

	start_one(JETSTREAM,
		  "authorization { users: ["
		  " { user: a, password: a, permissions: { publish: {"
		  " deny: [\"kwq.*.r.>\", \"$JS.API.STREAM.MSG.DELETE.>\"] } } },"
		  " { user: b, password: b, permissions: { publish: {"
		  " deny: \"$JS.API.>\" } } },"
		  " { user: c, password: c, permissions: { publish: {"
		  " deny: \"$JS.API.CONSUMER.>\" } } } ] }\n");
	write_file("a", "a\na\n");
	write_file("b", "b\nb\n");
	open_client(&c, (struct engine_options){ .user_file = file("a") }, "permissions", 1);
	wait_up(&c);
	is_result(publish(&c, subject_of(&c, 1), "x", 0), RESULT_OK, "a subject that is allowed");
	end = publish(&c, "kwq.permissions.r.x", "x", 0);
	is_result(end, RESULT_REFUSED, "a subject that is not");
	ok(strcasestr(end->text, "permissions"), "with the server's text: %s", end->text);
	is_result(wait_end(&c, engine_erase(c.engine, 1)), RESULT_REFUSED,
		  "an erase that is not allowed");
	close_client(&c);
	open_client(&c, (struct engine_options){ .user_file = file("b") }, "permissions", 1);
	ok(is_refused(&c, "may not use JetStream"), "a user without JetStream's API: %s",
	   c.text[EVENT_REFUSED]);
	close_client(&c);
	write_file("c", "c\nc\n");
	open_client(&c, (struct engine_options){ .user_file = file("c") }, "permissions", 1);
	wait_up(&c);
	engine_follow(c.engine, c.names.subjects, 1);
	ok(is_refused(&c, "cannot be read: a consumer is refused"), "a user without consumers: %s",
	   c.text[EVENT_REFUSED]);
	close_client(&c);
	stop_server(&servers[0], SIGTERM);
}

/* ---- Servers that are none ------------------------------------------------ */

static int listen_on(int port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	uint64_t until = now_ns() + LIMIT * UINT64_C(1000000000);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	/* The last server's processes may be ending. */
	while (bind(fd, (void *)&address, sizeof(address)) || listen(fd, 10)) {
		if (now_ns() > until)
			die("listen");
		poll(NULL, 0, 10);
	}
	return fd;
}

static const char *const violation = "-ERR 'Authorization Violation'\r\n";

/* The answer of a server that is none to pings. The first ping follows the login. */
static const char *pong = "PONG\r\n";

/* A login has to be signed. The first line to all clients behind the second is then this. */
static const char *later_line;

static bool is_unsigned(const char *text)
{
	return later_line && strstr(text, "CONNECT") && !strstr(text, "\"sig\"");
}

static void answer(int fd, const char *line)
{
	char text[4096];
	ssize_t got = write(fd, line, strlen(line));

	while (got > 0) {
		got = read(fd, text, sizeof(text) - 1);
		if (got <= 0)
			return;
		text[got] = '\0';
		if (is_unsigned(text))
			got = write(fd, violation, strlen(violation));
		else if (strstr(text, "PING"))
			got = write(fd, pong, strlen(pong));
	}
}

/* Says a line to each client, answers its pings, and counts the clients. */
static pid_t fake_server(const char *line, int *count)
{
	int fd = listen_on(servers[0].port), client;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid) {
		close(fd);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_IGN);
	while ((client = accept(fd, NULL, NULL)) >= 0) {
		if (__atomic_add_fetch(count, 1, __ATOMIC_RELAXED) > 2 && later_line)
			line = later_line;
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(fd);
			answer(client, line);
			_exit(0);
		}
		close(client);
	}
	_exit(0);
}

static void end_fake(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#define INFO(version)							\
	"INFO {\"server_id\":\"x\",\"version\":\"" version "\",\"proto\":1,"	\
	"\"headers\":true,\"jetstream\":true,\"max_payload\":1048576,"		\
	"\"host\":\"127.0.0.1\",\"port\":1}\r\n"

#define INFO_NONCE(nonce)						\
	"INFO {\"server_id\":\"x\",\"version\":\"2.10.27\",\"proto\":1,"		\
	"\"headers\":true,\"jetstream\":true,\"max_payload\":1048576,"		\
	"\"auth_required\":true,\"nonce\":\"" nonce "\",\"host\":\"127.0.0.1\",\"port\":1}\r\n"

/* The signature of the first nonce begins with a zero byte, and libnats 3.4.1 leaves it out. */
static void test_left_out_signature(int *count)
{
	struct client c;
	pid_t fake;

	write_file("seed", SEED "\n");
	__atomic_store_n(count, 0, __ATOMIC_RELAXED);
	later_line = INFO_NONCE("AAAAAAAAAAAAAAA");
	fake = fake_server(INFO_NONCE("n5uEOnzYdiVhFZ8"), count);
	open_client(&c, (struct engine_options){ .nkey = file("seed") }, "refused", 1);
	WAIT(&c, c.seen[EVENT_REFUSED] || c.seen[EVENT_DOWN]);
	ok(!c.seen[EVENT_REFUSED] && strstr(c.text[EVENT_DOWN], "does not answer"),
	   "a signature that libnats leaves out is asked for again");
	close_client(&c);
	end_fake(fake);
	later_line = NULL;
}

static void test_warnings(void)
{
	ok(!version_warning("2.9.10"), "no warning of 2.9.10");
	ok(version_warning("2.10.0"), "2.10.0 can lose a stream");
	ok(version_warning("2.10.22"), "so can 2.10.22");
	ok(!version_warning("2.10.23"), "2.10.23 cannot");
	ok(!version_warning("2.11.0"), "no warning of 2.11");
	ok(!version_warning("dev"), "no warning of a version that cannot be read");
}

/* An engine tells its warning before it tells that the server is silent. */
static void test_warning(int *count, const char *version, const char *info, unsigned int replicas,
			 const char *text)
{
	struct client c;
	pid_t fake;

	fake = fake_server(info, count);
	open_client(&c, (struct engine_options){ .replicas = replicas }, "refused", 1);
	ok(WAIT(&c, c.seen[EVENT_DOWN]) && strstr(c.text[EVENT_DOWN], "does not answer"),
	   "a server of %s that is silent: %s", version, c.text[EVENT_DOWN]);
	if (text)
		ok(strstr(c.text[EVENT_WARNING], text), "its warning: %s", c.text[EVENT_WARNING]);
	else
		is_number(c.seen[EVENT_WARNING], 0, "it has no warning");
	close_client(&c);
	end_fake(fake);
}

static void test_versions(int *count)
{
	pid_t fake;

	fake = fake_server(INFO("2.9.9"), count);
	refused("a server that is too old", (struct engine_options){ 0 }, "2.9.9 is too old");
	end_fake(fake);
	fake = fake_server(INFO("2.9.25"), count);
	refused("one that is too old for replicas", (struct engine_options){ .replicas = 3 },
		"too old for replicas");
	end_fake(fake);
	fake = fake_server(INFO("2.10.99"), count);
	refused("2.10 with replicas", (struct engine_options){ .replicas = 2 },
		"too old for replicas");
	end_fake(fake);
	fake = fake_server("SSH-2.0-OpenSSH\r\n", count);
	refused("another server", (struct engine_options){ 0 }, "that is no NATS server");
	end_fake(fake);
	test_warnings();
	test_warning(count, "2.10.22", INFO("2.10.22"), 1, "2.10.22 can lose a whole stream");
	test_warning(count, "2.10.27", INFO("2.10.27"), 1, NULL);
	test_warning(count, "2.11.0", INFO("2.11.0"), 3, NULL);
}

/* More attempts than libnats makes by default (60), each of which fails. */
static void test_away(int *count)
{
	struct client c;
	pid_t fake;

	open_client(&c, (struct engine_options){ .retry_ms = 1 }, "away", 1);
	ok(WAIT(&c, c.seen[EVENT_DOWN]) && strstr(c.text[EVENT_DOWN], "Connection refused"),
	   "no server: %s", c.text[EVENT_DOWN]);
	__atomic_store_n(count, 0, __ATOMIC_RELAXED);
	fake = fake_server("-ERR 'not now'\r\n", count);
	ok(WAIT(&c, __atomic_load_n(count, __ATOMIC_RELAXED) > 150), "it tries again for ever");
	end_fake(fake);
	ok(c.seen[EVENT_DOWN] + c.seen[EVENT_REFUSED] <= 3, "and says each reason once");
	start_one(JETSTREAM, "");
	ok(wait_up(&c), "until there is a server");
	stop_server(&servers[0], SIGTERM);
	WAIT(&c, !engine_is_up(c.engine));
	__atomic_store_n(count, 0, __ATOMIC_RELAXED);
	fake = fake_server("-ERR 'not now'\r\n", count);
	WAIT(&c, __atomic_load_n(count, __ATOMIC_RELAXED) > 150);
	end_fake(fake);
	start_server(&servers[0]);
	ok(wait_up(&c), "also after a connection that was lost");
	close_client(&c);
	stop_server(&servers[0], SIGTERM);
}

/* After the same error as ever it tries again soon, but a server logs each wrong password. */
static void test_pauses(int *count)
{
	enum { ROUNDS = 12 };
	struct client c;
	uint64_t begin;
	pid_t fake;

	is_number(connector_pause_ms(1000, 0), 1000, "the pause after another error");
	is_number(connector_pause_ms(1000, 1), 1000, "after a refused login");
	is_number(connector_pause_ms(1000, 2), 2000, "after two");
	is_number(connector_pause_ms(1000, 5), 16000, "after five");
	is_number(connector_pause_ms(1000, 6), 30000, "after six");
	is_number(connector_pause_ms(1000, UINT_MAX), 30000, "after very many");
	is_number(connector_pause_ms(40000, 3), 40000, "pauses that are long anyway");
	__atomic_store_n(count, 0, __ATOMIC_RELAXED);
	pong = violation;
	fake = fake_server(INFO("2.10.27"), count);
	begin = now_ns();
	open_client(&c, (struct engine_options){ .retry_ms = 1 }, "refused", 1);
	/* Each round looks at the version, and then logs in. */
	ok(WAIT(&c, __atomic_load_n(count, __ATOMIC_RELAXED) >= 2 * ROUNDS),
	   "it tries again: %s", c.text[EVENT_REFUSED]);
	ok(strstr(c.text[EVENT_REFUSED], "wrong login"), "with a login");
	/* Pauses of 1, 2, 4 ms, and so on. None is too short, however slow the machine is. */
	ok(now_ns() - begin >= ((UINT64_C(1) << (ROUNDS - 1)) - 1) * 1000000,
	   "later each time");
	close_client(&c);
	end_fake(fake);
}

static void test_arguments(void)
{
	static const char *const none[] = { NULL };
	static const char *const bad[] = { "nats://", NULL };
	struct names names;
	struct engine_options options = { .names = &names };
	struct client c;

	names_init(&names, "x");
	options.urls = none;
	ok(!engine_open(&options) && errno == EINVAL, "no URL");
	options.urls = bad;
	options.certificate = "x";
	ok(!engine_open(&options) && errno == EINVAL, "a certificate without its key");
	open_client(&c, (struct engine_options){ .urls = bad }, "x", 1);
	ok(WAIT(&c, c.seen[EVENT_REFUSED]), "a URL that is none: %s", c.text[EVENT_REFUSED]);
	close_client(&c);
	engine_close(NULL);
}

int main(void)
{
	int *count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	need_server();
	prepare();
	signal(SIGPIPE, SIG_IGN);
	test_arguments();
	test_users();
	test_token();
	test_credentials();
	test_tls();
	test_tls_cluster();
	test_one_copy();
	test_no_jetstream();
	test_settings();
	test_full();
	test_edited();
	test_permissions();
	test_left_out_signature(count);
	test_versions(count);
	test_away(count);
	test_pauses(count);
	return done_testing();
}

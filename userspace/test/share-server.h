/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Real servers for the tests of kwq share, and clients that remember all events. $NATS_SERVER
 * names another nats-server than the one in PATH. Each server gets a free port, and a folder that
 * is removed at the end.
 */
#ifndef KWQ_TEST_SHARE_SERVER_H
#define KWQ_TEST_SHARE_SERVER_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "share/engine/engine.h"
#include "tap.h"

#define SERVERS 3
/* A limit for everything, in seconds. It is reached only by what has failed. */
#define LIMIT 200

struct server {
	int port, route_port;
	pid_t pid;
	char folder[160];
	char url[64];
};

static char work[128];
static struct server servers[SERVERS];

static inline void die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(2);
}

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

/* ---- Servers -------------------------------------------------------------- */

static inline const char *server_program(void)
{
	const char *program = getenv("NATS_SERVER");

	return program ? program : "nats-server";
}

static inline bool have_server(void)
{
	char command[512];

	/* Debian's is in /usr/sbin. */
	setenv("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", 1);
	snprintf(command, sizeof(command), "'%s' --version >/dev/null 2>&1", server_program());
	return !system(command);
}

/* Whether the server is one that replicas are refused with. */
static inline bool is_old_server(void)
{
	char command[512];

	snprintf(command, sizeof(command), "'%s' --version | grep -Eq 'v2[.](9|10)[.]'",
		 server_program());
	return !system(command);
}

/* For a test program that needs servers: ends it if there are none. */
static inline void need_server(void)
{
	if (have_server())
		return;
	ok(true, "all # SKIP nats-server is not installed");
	exit(done_testing());
}

static inline bool can_bind(int port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool good = fd >= 0 && !bind(fd, (void *)&address, sizeof(address));

	close(fd);
	return good;
}

/*
 * Below the ports that Linux gives to outgoing connections. One of those might take the port before
 * the server does.
 */
static inline int free_port(void)
{
	static int next;

	if (!next)
		next = 10000 + getpid() * 37 % 20000;
	while (!can_bind(++next))
		if (next > 32000)
			next = 10000;
	return next;
}

static inline void remove_work(void)
{
	char command[256];

	for (int i = 0; i < SERVERS; i++) {
		if (servers[i].pid > 0) {
			kill(servers[i].pid, SIGKILL);
			waitpid(servers[i].pid, NULL, 0);
		}
	}
	snprintf(command, sizeof(command), "rm -rf '%s'", work);
	if (system(command))
		printf("# %s stays\n", work);
}

/* Gives the servers ports and folders. */
static inline void prepare(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(work, sizeof(work), "%s/kwq-share-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(work))
		die(work);
	atexit(remove_work);
	for (int i = 0; i < SERVERS; i++) {
		servers[i].port = free_port();
		servers[i].route_port = free_port();
		snprintf(servers[i].folder, sizeof(servers[i].folder), "%s/%d", work, i);
		snprintf(servers[i].url, sizeof(servers[i].url), "nats://127.0.0.1:%d",
			 servers[i].port);
	}
}

static inline void write_file(const char *name, const char *text)
{
	char path[256];
	FILE *to;

	snprintf(path, sizeof(path), "%s/%s", work, name);
	to = fopen(path, "we");
	if (!to || fputs(text, to) < 0 || fclose(to))
		die(path);
}

/* The configuration of JetStream, if a test has no other one. */
#define JETSTREAM "jetstream { store_dir: \"%s\" }\n"

/* Writes a configuration. JetStream's has its folder as %s, or it is NULL for none. */
static inline void configure(struct server *s, const char *jetstream, const char *more,
			     bool is_cluster)
{
	char text[8192], name[32];
	size_t len;

	len = snprintf(text, sizeof(text), "listen: \"127.0.0.1:%d\"\nserver_name: s%d\n", s->port,
		       (int)(s - servers));
	if (jetstream) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		len += snprintf(text + len, sizeof(text) - len, jetstream, s->folder);
#pragma GCC diagnostic pop
	}
	if (is_cluster) {
		len += snprintf(text + len, sizeof(text) - len,
				"cluster { name: c, listen: \"127.0.0.1:%d\", routes: ["
				"\"nats://127.0.0.1:%d\", \"nats://127.0.0.1:%d\", "
				"\"nats://127.0.0.1:%d\"] }\n",
				s->route_port, servers[0].route_port, servers[1].route_port,
				servers[2].route_port);
	}
	snprintf(text + len, sizeof(text) - len, "%s", more);
	snprintf(name, sizeof(name), "%d.conf", (int)(s - servers));
	write_file(name, text);
}

static inline bool accepts(const struct server *s)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(s->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool good = !connect(fd, (void *)&address, sizeof(address));

	close(fd);
	return good;
}

static inline void start_server(struct server *s)
{
	char config[256], log[256];
	uint64_t until = now_ns() + LIMIT * UINT64_C(1000000000);

	snprintf(config, sizeof(config), "%s/%d.conf", work, (int)(s - servers));
	snprintf(log, sizeof(log), "%s/%d.log", work, (int)(s - servers));
	fflush(stdout);
	s->pid = fork();
	if (!s->pid) {
		int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(fd, 1);
		dup2(fd, 2);
		execlp(server_program(), "nats-server", "-c", config, NULL);
		_exit(127);
	}
	while (!accepts(s)) {
		if (now_ns() > until || waitpid(s->pid, NULL, WNOHANG) == s->pid)
			die("nats-server does not start");
		poll(NULL, 0, 10);
	}
}

static inline void stop_server(struct server *s, int signal)
{
	kill(s->pid, signal);
	if (waitpid(s->pid, NULL, 0) != s->pid)
		die("waitpid");
	s->pid = 0;
}

static inline void start_one(const char *jetstream, const char *more)
{
	configure(&servers[0], jetstream, more, false);
	start_server(&servers[0]);
}

/* ---- Clients -------------------------------------------------------------- */

struct ended {
	int64_t id;
	enum engine_result result;
	uint64_t seq;
	char text[256], subject[160], data[64];
	size_t len;
};

struct entry {
	int64_t tail;
	uint64_t seq;
	char subject[160], data[64];
};

struct client {
	struct engine *engine;
	struct names names;
	const char *urls[SERVERS + 1];
	unsigned int seen[EVENT_MESSAGE + 1];
	char text[EVENT_MESSAGE + 1][1024];
	struct ended *ended;
	struct entry *entries, *messages;
	size_t nr_ended, nr_entries, nr_messages;
	uint64_t nr_ok;
	bool counts_only;
};

static inline void open_client(struct client *c, struct engine_options options, const char *queue,
			       int nr_servers)
{
	memset(c, 0, sizeof(*c));
	for (int i = 0; i < nr_servers; i++)
		c->urls[i] = servers[i].url;
	if (names_init(&c->names, queue))
		die("names_init");
	if (!options.urls)
		options.urls = c->urls;
	options.names = &c->names;
	options.client = "kwq-test";
	c->engine = engine_open(&options);
	if (!c->engine)
		die("engine_open");
}

static inline void close_client(struct client *c)
{
	engine_close(c->engine);
	free(c->ended);
	free(c->entries);
	free(c->messages);
	memset(c, 0, sizeof(*c));
}

#define COPY(to, from) snprintf(to, sizeof(to), "%s", from)

/* Makes room for one more. */
static inline void *grown(void *list, size_t nr, size_t size)
{
	if (nr & (nr - 1))
		return list;
	list = reallocarray(list, nr ? 2 * nr : 1, size);
	if (!list)
		die("memory");
	return list;
}

static inline struct entry *append_entry(struct entry **list, size_t *nr,
					 const struct engine_event *event)
{
	struct entry *entry;

	*list = grown(*list, *nr, sizeof(**list));
	entry = *list + (*nr)++;
	memset(entry, 0, sizeof(*entry));
	entry->tail = event->id;
	entry->seq = event->seq;
	COPY(entry->subject, event->subject);
	memcpy(entry->data, event->data.at,
	       event->data.len < sizeof(entry->data) ? event->data.len : sizeof(entry->data) - 1);
	return entry;
}

static inline void remember_end(struct client *c, const struct engine_event *event)
{
	struct ended *ended;

	c->ended = grown(c->ended, c->nr_ended, sizeof(*c->ended));
	ended = &c->ended[c->nr_ended++];
	memset(ended, 0, sizeof(*ended));
	ended->id = event->id;
	ended->result = event->result;
	ended->seq = event->seq;
	ended->len = event->data.len;
	COPY(ended->text, event->text);
	COPY(ended->subject, event->subject);
	memcpy(ended->data, event->data.at ? event->data.at : "",
	       event->data.len < sizeof(ended->data) ? event->data.len : sizeof(ended->data) - 1);
}

static inline void remember(struct client *c, const struct engine_event *event)
{
	static const char *const names[] = { "up", "down", "refused", "warning" };

	c->seen[event->kind]++;
	COPY(c->text[event->kind], event->text);
	c->nr_ok += event->kind == EVENT_ENDED && event->result == RESULT_OK;
	if (event->kind == EVENT_ENDED && !c->counts_only)
		remember_end(c, event);
	else if (event->kind == EVENT_ENTRY)
		append_entry(&c->entries, &c->nr_entries, event);
	else if (event->kind == EVENT_MESSAGE)
		append_entry(&c->messages, &c->nr_messages, event);
	else if (event->kind <= EVENT_WARNING)
		printf("# %s%s %s\n", names[event->kind], event->text[0] ? ":" : "",
		       event->text);
}

/* Shows why a test may have failed. */
static inline void show_logs(void)
{
	char command[256];

	snprintf(command, sizeof(command), "cd '%s' && tail -n 15 -- *.log | sed 's/^/#  /'", work);
	fflush(stdout);
	if (system(command))
		printf("# no logs\n");
}

/* Takes what is there. Waits for it at most until @until. Returns false if it is over. */
static inline bool step(struct client *c, uint64_t until)
{
	struct pollfd pollfd = { .fd = engine_fd(c->engine), .events = POLLIN };
	struct engine_event event;
	uint64_t now = now_ns();

	if (now >= until)
		return false;
	poll(&pollfd, 1, (until - now) / 1000000 + 1);
	while (engine_next(c->engine, &event))
		remember(c, &event);
	return true;
}

#define WAIT(client, condition) ({							\
	uint64_t until_ = now_ns() + LIMIT * UINT64_C(1000000000);			\
	bool good_;									\
											\
	while (!(good_ = (condition)) && step(client, until_))				\
		;									\
	if (!good_)									\
		show_logs();								\
	good_;										\
})

static inline const struct ended *find_end(const struct client *c, int64_t id)
{
	for (size_t i = c->nr_ended; i; i--)
		if (c->ended[i - 1].id == id)
			return &c->ended[i - 1];
	return NULL;
}

static inline const struct ended *wait_end(struct client *c, int64_t id)
{
	static const struct ended none = { .id = -1, .result = -1 };

	if (id <= 0) {
		printf("# not begun: %s\n", strerror(-id));
		return &none;
	}
	return WAIT(c, find_end(c, id)) ? find_end(c, id) : &none;
}

static inline const struct ended *publish(struct client *c, const char *subject, const char *text,
					  uint64_t expected)
{
	return wait_end(c, engine_publish(c->engine, subject, (struct bytes){ text, strlen(text) },
					  expected));
}

static inline void is_result(const struct ended *end, enum engine_result wanted, const char *what)
{
	if (!ok(end->result == wanted, "%s", what))
		printf("#  got %d (%s), wanted %d\n", end->result, end->text, wanted);
}

/* Subject number @nr of a queue's adds. */
static inline const char *subject_of(const struct client *c, unsigned int nr)
{
	static char subjects[4][SUBJECT_MAX];
	static int next;
	char *subject = subjects[next++ % 4];

	snprintf(subject, SUBJECT_MAX, "%s.a.%08x", c->names.root, nr);
	return subject;
}

static inline bool wait_up(struct client *c)
{
	return WAIT(c, engine_is_up(c->engine));
}
#endif

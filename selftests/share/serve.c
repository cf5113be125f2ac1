// SPDX-License-Identifier: GPL-2.0-only
/*
 * The server of a store: one process obeys the requests of all machines, in the order in which it
 * reads them. It also reads the last requests of a machine whose power was cut. See store.h for
 * the requests.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../machine/pace.h"
#include "store.h"

/* As of ../machine/within.c: the time on an idle processor of 2.9 GHz. */
#define PACE_STEPS 10000000UL
#define PACE_OUGHT 0.014

enum { PEERS_MAX = 256 };

/**
 * struct peer - a connection
 * @fd: its socket
 * @len: bytes of @line that were read
 * @line: the begin of a request
 * @claim: the run of its worker
 */
struct peer {
	int fd;
	size_t len;
	char line[STORE_LINE_MAX];
	struct claim claim;
};

/* The first is the socket that listens. */
static struct peer peers[PEERS_MAX];
static struct pollfd polled[PEERS_MAX];
static unsigned int nr_peers;
static uint32_t last_who;

/* The key of a lost connection was left: see drop(). */
static bool is_connected(uint32_t who)
{
	return who;
}

static void reply(struct peer *peer, const char *text)
{
	char line[STORE_LINE_MAX];
	int len = snprintf(line, sizeof(line), "%s\n", text);

	/* The next read finds out that the machine is gone. */
	if (send(peer->fd, line, len, MSG_NOSIGNAL) != len)
		warn("send");
}

static void reply_number(struct peer *peer, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	reply(peer, text);
}

static void begin(struct peer *peer, uint64_t number, uint64_t token, uint64_t wanted)
{
	peer->claim = (struct claim) {
		.number = number, .token = token, .wanted = wanted, .who = peer->claim.who,
		.is_known = true, .has_wish = true,
	};
	claim_begin(&peer->claim);
	reply(peer, peer->claim.is_late ? "late" : "ok");
}

/* Returns false for a line that is no request. */
static bool obey(struct peer *peer, char *line)
{
	unsigned long long a = 0, b = 0, c = 0;
	char word[16] = "", name[16] = "";
	int nr;

	if (sscanf(line, "count %15s %llu", name, &a) == 2)
		return counters_count(name, a);
	nr = sscanf(line, "%15s %llu %llu %llu", word, &a, &b, &c);
	if (!strcmp(word, "stage") && nr == 1) {
		reply_number(peer, atomic_load(&counters->stage));
	} else if (!strcmp(word, "held") && nr == 1) {
		reply_number(peer, atomic_load(&counters->is_held));
	} else if (!strcmp(word, "store") && nr == 1) {
		claim_store(&peer->claim);
		reply(peer, peer->claim.is_late ? "late" : "ok");
	} else if (!strcmp(word, "leave") && nr == 1) {
		claim_leave(&peer->claim);
		reply(peer, "ok");
	} else if (!strcmp(word, "end") && nr == 2) {
		claim_end(&peer->claim, a);
		reply(peer, "ok");
	} else if (!strcmp(word, "left") && nr == 3) {
		reply_number(peer, count_left(a, b, false));
	} else if (a >= counters->nr_keys) {
		return false;
	} else if (!strcmp(word, "want") && nr == 2) {
		reply_number(peer, atomic_fetch_add(&counters->keys[a].wanted, 1) + 1);
	} else if (!strcmp(word, "acked") && nr == 3) {
		raise_to(&counters->keys[a].acked, b);
	} else if (!strcmp(word, "begin") && nr == 4) {
		begin(peer, a, b, c);
	} else if (!strcmp(word, "seen") && nr == 3) {
		raise_to(&counters->keys[a].seen, b);
		reply(peer, "ok");
	} else {
		return false;
	}
	return true;
}

static void add_peer(int fd)
{
	if (nr_peers == PEERS_MAX)
		errx(2, "more than %d connections", PEERS_MAX);
	peers[nr_peers] = (struct peer) { .fd = fd, .claim.who = ++last_who };
	polled[nr_peers] = (struct pollfd) { .fd = fd, .events = POLLIN };
	nr_peers++;
}

static void accept_peer(void)
{
	int fd = accept4(peers[0].fd, NULL, NULL, SOCK_CLOEXEC), one = 1;

	if (fd < 0)
		err(2, "accept");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	add_peer(fd);
}

/* The last one takes the place of a lost one. */
static void drop(unsigned int i)
{
	claim_leave(&peers[i].claim);
	close(peers[i].fd);
	nr_peers--;
	peers[i] = peers[nr_peers];
	polled[i] = polled[nr_peers];
}

/* Returns false if the connection has ended. The line that it has begun was not sent as a whole. */
static bool hear(struct peer *peer)
{
	ssize_t n = read(peer->fd, peer->line + peer->len, sizeof(peer->line) - peer->len);
	char *line = peer->line, *end;

	if (n <= 0)
		return false;
	peer->len += n;
	while ((end = memchr(line, '\n', peer->line + peer->len - line))) {
		*end = '\0';
		if (!obey(peer, line))
			errx(2, "not a request: %s", line);
		line = end + 1;
	}
	peer->len -= line - peer->line;
	if (peer->len == sizeof(peer->line))
		errx(2, "a request is too long");
	memmove(peer->line, line, peer->len);
	return true;
}

static void listen_at(const char *port_file)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(at);
	char part[4096];
	FILE *file;

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, PEERS_MAX) ||
	    getsockname(fd, (struct sockaddr *)&at, &len))
		err(2, "a socket");
	add_peer(fd);
	snprintf(part, sizeof(part), "%s.part", port_file);
	file = fopen(part, "we");
	if (!file || fprintf(file, "%u\n", ntohs(at.sin_port)) < 0 || fclose(file) ||
	    rename(part, port_file))
		err(2, "%s", port_file);
}

static struct pace *open_pace(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct pace *pace;

	if (fd < 0 || ftruncate(fd, sizeof(*pace)))
		err(2, "%s", path);
	pace = mmap(NULL, sizeof(*pace), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pace == MAP_FAILED)
		err(2, "%s", path);
	close(fd);
	return pace;
}

void serve(const char *port_file, const char *pace_file)
{
	struct pace *pace = open_pace(pace_file);
	double next = 0;

	is_at_work = is_connected;
	listen_at(port_file);
	for (;;) {
		unsigned int i;

		if (pace_seconds(CLOCK_MONOTONIC) >= next) {
			pace_go_on(pace, CLOCK_MONOTONIC, PACE_STEPS, PACE_OUGHT);
			next = pace_seconds(CLOCK_MONOTONIC) + 1;
		}
		if (poll(polled, nr_peers, 1000) < 0 && errno != EINTR)
			err(2, "poll");
		/* From the last on, because a dropped one is replaced by a later one. */
		for (i = nr_peers - 1; i > 0; i--)
			if (polled[i].revents && !hear(&peers[i]))
				drop(i);
		if (polled[0].revents)
			accept_peer();
	}
}

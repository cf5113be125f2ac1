// SPDX-License-Identifier: GPL-2.0-only
/* The store's two kinds: a file, and a server. See store.h. */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "store.h"

static const char *server;
static int server_fd = -1;

static void connect_to(const char *name)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	const char *colon = strchr(name, ':');
	char address[64];
	int one = 1;

	snprintf(address, sizeof(address), "%.*s", (int)(colon - name), name);
	if (inet_pton(AF_INET, address, &to.sin_addr) != 1)
		errx(2, "%s: the server is ADDRESS:PORT", name);
	to.sin_port = htons(atoi(colon + 1));
	server_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server_fd < 0 || connect(server_fd, (struct sockaddr *)&to, sizeof(to)))
		err(2, "%s", name);
	setsockopt(server_fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

void store_open(const char *name)
{
	if (!strcmp(name, "-"))
		return;
	if (!strchr(name, ':')) {
		counters_map(name);
		return;
	}
	server = name;
	connect_to(name);
}

bool store_is_open(void)
{
	return counters || server;
}

bool store_is_remote(void)
{
	return server;
}

void store_open_again(void)
{
	if (!server)
		return;
	close(server_fd);
	connect_to(server);
}

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
	char line[STORE_LINE_MAX];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (write(server_fd, line, len) != len)
		err(2, "%s", server);
}

/* An answer is a line, and nothing follows it. */
static const char *receive(void)
{
	static char line[STORE_LINE_MAX];
	size_t len = 0;

	do {
		ssize_t n = read(server_fd, line + len, sizeof(line) - 1 - len);

		if (n <= 0)
			err(2, "%s: no answer", server);
		len += n;
	} while (line[len - 1] != '\n');
	line[len - 1] = '\0';
	return line;
}

uint64_t store_want(uint64_t number)
{
	if (!server)
		return atomic_fetch_add(&counters->keys[number].wanted, 1) + 1;
	say("want %llu\n", (unsigned long long)number);
	return strtoull(receive(), NULL, 10);
}

void store_acked(uint64_t number, uint64_t wanted)
{
	if (!server)
		raise_to(&counters->keys[number].acked, wanted);
	else
		say("acked %llu %llu\n", (unsigned long long)number, (unsigned long long)wanted);
}

void store_begin(struct claim *claim)
{
	claim->who = getpid();
	if (!server) {
		claim_begin(claim);
		return;
	}
	claim->is_late = false;
	if (!claim->is_known)
		return;
	say("begin %llu %llu %llu\n", (unsigned long long)claim->number,
	    (unsigned long long)claim->token, (unsigned long long)claim->wanted);
	claim->is_late = !strcmp(receive(), "late");
}

void store_store(struct claim *claim)
{
	if (!server) {
		claim_store(claim);
	} else if (claim->is_known) {
		say("store\n");
		claim->is_late = !strcmp(receive(), "late");
	}
}

void store_leave(struct claim *claim)
{
	if (!server) {
		claim_leave(claim);
	} else if (claim->is_known) {
		say("leave\n");
		receive();
	}
}

void store_end(struct claim *claim, bool is_accepted)
{
	if (!server) {
		claim_end(claim, is_accepted);
	} else if (claim->is_known) {
		say("end %d\n", is_accepted);
		receive();
	}
}

void store_seen(uint64_t number, uint64_t wanted)
{
	if (!server) {
		raise_to(&counters->keys[number].seen, wanted);
		return;
	}
	say("seen %llu %llu\n", (unsigned long long)number, (unsigned long long)wanted);
	receive();
}

void store_count(const char *name, uint64_t n)
{
	if (!server)
		counters_count(name, n);
	else
		say("count %s %llu\n", name, (unsigned long long)n);
}

unsigned int store_stage(void)
{
	if (!server)
		return atomic_load(&counters->stage);
	say("stage\n");
	return strtoul(receive(), NULL, 10);
}

bool store_is_held(void)
{
	if (!server)
		return counters && atomic_load(&counters->is_held);
	say("held\n");
	return strtoul(receive(), NULL, 10);
}

uint64_t store_left(uint64_t from, uint64_t to)
{
	if (!server)
		return count_left(from, to, false);
	say("left %llu %llu\n", (unsigned long long)from, (unsigned long long)to);
	return strtoull(receive(), NULL, 10);
}

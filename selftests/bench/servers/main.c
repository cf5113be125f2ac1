// SPDX-License-Identifier: GPL-2.0-only
/*
 * client beanstalkd|redis SOCKET
 *
 * Counts instructions on a machine with one processor: those of the client, the server
 * and the kernel for each cycle of add, get and done. It measures once with a round
 * trip per request, and once with the requests of 64 cycles sent at once: the adds,
 * then the gets, then the dones.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <x86intrin.h>

#include "client.h"

#define WARM_UP	8
#define SAMPLES	63

char keys[NR_KEYS][KEY_LEN + 1];

static const struct server *server;
static int fd;
static int next_key;

static char out[1 << 16], in[1 << 16];
static size_t out_len, in_pos, in_len;

void fail(const char *what, const char *detail)
{
	fprintf(stderr, "# client: %s: %s\n", what, detail);
	exit(1);
}

void request(const char *fmt, ...)
{
	size_t room = sizeof(out) - out_len;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(out + out_len, room, fmt, args);
	va_end(args);
	if (len < 0 || (size_t)len >= room)
		fail("request", "too long");
	out_len += len;
}

static void flush(void)
{
	size_t sent = 0;

	while (sent < out_len) {
		ssize_t n = write(fd, out + sent, out_len - sent);

		if (n < 0)
			fail("write", strerror(errno));
		sent += n;
	}
	out_len = 0;
}

/* Reads until there is more than before. */
static void fill(void)
{
	ssize_t n;

	flush();
	if (in_pos) {
		memmove(in, in + in_pos, in_len - in_pos);
		in_len -= in_pos;
		in_pos = 0;
	}
	if (in_len == sizeof(in))
		fail("read", "too long a reply");
	n = read(fd, in + in_len, sizeof(in) - in_len);
	if (n < 0)
		fail("read", strerror(errno));
	if (!n)
		fail("read", "the server has hung up");
	in_len += n;
}

char *read_line(void)
{
	size_t looked = 0;

	for (;;) {
		char *begin = in + in_pos;
		char *end = memchr(begin + looked, '\n', in_len - in_pos - looked);

		if (end) {
			if (end == begin || end[-1] != '\r')
				fail("reply", "a line without a CR");
			end[-1] = 0;
			in_pos = end + 1 - in;
			return begin;
		}
		looked = in_len - in_pos;
		fill();
	}
}

char *read_bytes(size_t len)
{
	char *begin;

	while (in_len - in_pos < len + 2)
		fill();
	begin = in + in_pos;
	if (memcmp(begin + len, "\r\n", 2))
		fail("reply", "bytes without an end");
	in_pos += len + 2;
	return begin;
}

char *expect(const char *begin)
{
	size_t len = strlen(begin);
	char *line = read_line();

	if (strncmp(line, begin, len))
		fail("unexpected reply", line);
	return line + len;
}

static const char *some_key(void)
{
	const char *key = keys[next_key];

	next_key = (next_key + 1) % NR_KEYS;
	return key;
}

static uint64_t sample_cycles(void)
{
	uint64_t begun = __rdtsc();

	for (int i = 0; i < BATCH; i++) {
		server->add(some_key());
		server->added();
		server->get();
		server->got(0);
		server->done(0);
		server->finished();
	}
	return __rdtsc() - begun;
}

static uint64_t sample_batch(void)
{
	uint64_t begun = __rdtsc();

	for (int i = 0; i < BATCH; i++)
		server->add(some_key());
	for (int i = 0; i < BATCH; i++)
		server->added();
	for (int i = 0; i < BATCH; i++)
		server->get();
	for (int i = 0; i < BATCH; i++)
		server->got(i);
	for (int i = 0; i < BATCH; i++)
		server->done(i);
	for (int i = 0; i < BATCH; i++)
		server->finished();
	return __rdtsc() - begun;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double measure(uint64_t (*sample)(void))
{
	uint64_t samples[SAMPLES];

	for (int i = -WARM_UP; i < SAMPLES; i++) {
		uint64_t took = sample();

		if (i >= 0)
			samples[i] = took;
	}
	qsort(samples, SAMPLES, sizeof(*samples), compare);
	return (double)samples[SAMPLES / 2] / BATCH;
}

static void connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(address.sun_path))
		fail(path, strerror(ENAMETOOLONG));
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		fail(path, strerror(errno));
}

int main(int argc, char **argv)
{
	static const struct server *const servers[] = { &beanstalkd, &redis };
	double cycle, batch;

	for (size_t i = 0; argc == 3 && i < sizeof(servers) / sizeof(*servers); i++)
		if (!strcmp(argv[1], servers[i]->name))
			server = servers[i];
	if (!server)
		fail("usage", "client beanstalkd|redis SOCKET");
	for (int i = 0; i < NR_KEYS; i++)
		snprintf(keys[i], sizeof(keys[i]), "%08d", i);
	connect_to(argv[2]);
	if (server->begin)
		server->begin();

	cycle = measure(sample_cycles);
	batch = measure(sample_batch);
	printf("peer.%s.cycle\t%.2f\tinsn\n", server->name, cycle);
	printf("peer.%s.batch64\t%.2f\tinsn\n", server->name, batch);
	return 0;
}

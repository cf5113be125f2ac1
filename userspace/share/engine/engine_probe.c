// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A server's first line, INFO {...}, has its version, and whether it has JetStream. libnats reads
 * the line and does not pass it on. So it is read here, by a connection of its own.
 */
#include "engine_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "json.h"

enum { PROBE_MS = 2000, INFO_MAX = 65536, HOST_MAX = 256 };

static bool fail(struct why *why, bool refused, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static bool fail(struct why *why, bool refused, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why->text, sizeof(why->text), format, args);
	va_end(args);
	why->refused = refused;
	return false;
}

/*
 * Returns the part behind nats:// or tls://, or NULL. Without a scheme nobody would see whether TLS
 * is used.
 */
static const char *behind_scheme(const char *url)
{
	static const char *const schemes[] = { "nats://", "tls://" };

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (!strncmp(url, schemes[i], strlen(schemes[i])))
			return url + strlen(schemes[i]);
	return NULL;
}

/* Whether this is a port, and nothing but a / behind it. */
static bool is_port(const char *text)
{
	size_t len = strspn(text, "0123456789");
	unsigned long number = strtoul(text, NULL, 10);

	return len && len < 6 && number && number < 65536 &&
	       (!text[len] || !strcmp(text + len, "/"));
}

/* Splits SCHEME://[USER[:PASSWORD]@]HOST[:PORT][/]. */
static bool split_url(const char *url, char host[HOST_MAX], char port[8])
{
	const char *at = behind_scheme(url), *user, *end;

	if (!at)
		return false;
	user = strrchr(at, '@');
	at = user ? user + 1 : at;
	if (*at == '[') {
		end = strchr(++at, ']');
		if (!end)
			return false;
	} else {
		end = at + strcspn(at, ":/");
	}
	if (end == at || end - at >= HOST_MAX)
		return false;
	snprintf(host, HOST_MAX, "%.*s", (int)(end - at), at);
	end += *end == ']';
	if (*end == ':' ? !is_port(end + 1) : *end && strcmp(end, "/"))
		return false;
	snprintf(port, 8, "%.*s", *end == ':' ? (int)strcspn(end + 1, "/") : 4,
		 *end == ':' ? end + 1 : "4222");
	return true;
}

bool engine_url_is_valid(const char *url)
{
	char host[HOST_MAX], port[8];

	return split_url(url, host, port);
}

/* Waits until a descriptor is ready. Returns 0 or a negative errno. */
static int await(int fd, short events, uint64_t until)
{
	struct pollfd pollfd = { .fd = fd, .events = events };
	uint64_t now = engine_now();
	int nr;

	if (now >= until)
		return -ETIMEDOUT;
	nr = poll(&pollfd, 1, (until - now) / MS + 1);
	if (nr < 0)
		return errno == EINTR ? await(fd, events, until) : -errno;
	return nr ? 0 : -ETIMEDOUT;
}

static int connect_to(const struct addrinfo *address, uint64_t until)
{
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;
	socklen_t len = sizeof(err);

	if (fd < 0)
		return -errno;
	err = connect(fd, address->ai_addr, address->ai_addrlen) ? -errno : 0;
	if (err == -EINPROGRESS) {
		err = await(fd, POLLOUT, until);
		if (!err) {
			getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
			err = -err;
		}
	}
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

/*
 * Connects to the first address of a host that answers. Returns a descriptor or a negative errno.
 */
static int connect_any(const struct addrinfo *addresses, uint64_t until)
{
	int fd = -EHOSTUNREACH;

	for (; addresses; addresses = addresses->ai_next) {
		fd = connect_to(addresses, until);
		if (fd >= 0)
			break;
	}
	return fd;
}

/* Reads the first line. Returns its length, or a negative errno. */
static ssize_t read_line(int fd, char *line, size_t size, uint64_t until)
{
	size_t len = 0;
	ssize_t got;
	int err;

	while (len < size) {
		err = await(fd, POLLIN, until);
		if (err)
			return err;
		got = read(fd, line + len, size - len);
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (!got)
			return -ECONNRESET;
		len += got > 0 ? got : 0;
		if (memchr(line, '\n', len))
			return len;
	}
	return -EPROTO;
}

/* A record or a promise that cannot be stored would hold up all that comes after it. */
enum { MOST_BYTES = 1 << 20 };

static bool read_facts(int fd, struct server_facts *facts, struct why *why, uint64_t until)
{
	char *line = malloc(INFO_MAX);
	ssize_t len = line ? read_line(fd, line, INFO_MAX, until) : -ENOMEM;
	struct bytes info;
	uint64_t payload;
	bool good = false;

	if (len < 0) {
		fail(why, false, "%s", strerror(-len));
	} else if (len < 5 || memcmp(line, "INFO ", 5)) {
		fail(why, true, "that is no NATS server");
	} else {
		info = (struct bytes){ line + 5, len - 5 };
		json_text(info, "version", facts->version, sizeof(facts->version));
		facts->has_jetstream = json_is_true(info, "jetstream");
		facts->wants_certificate = json_is_true(info, "tls_verify");
		payload = json_number(info, "max_payload", MOST_BYTES);
		good = payload >= MOST_BYTES ||
		       fail(why, true, "max_payload is %llu there: it has to be %d or more",
			    (unsigned long long)payload, MOST_BYTES);
	}
	free(line);
	return good;
}

bool probe_server(const char *url, struct server_facts *facts, struct why *why)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
	struct addrinfo *addresses;
	uint64_t until = engine_now() + PROBE_MS * MS;
	char host[HOST_MAX], port[8];
	bool good;
	int fd;

	if (!split_url(url, host, port))
		return fail(why, true, "that is no nats://HOST[:PORT] or tls://HOST[:PORT]");
	fd = getaddrinfo(host, port, &hints, &addresses);
	if (fd)
		return fail(why, false, "%s", gai_strerror(fd));
	fd = connect_any(addresses, until);
	freeaddrinfo(addresses);
	if (fd < 0)
		return fail(why, false, "%s", strerror(-fd));
	good = read_facts(fd, facts, why, until);
	close(fd);
	return good;
}

/* Reads MAJOR.MINOR.PATCH as one number. Returns 0 for something else. */
static unsigned long version_number(const char *version)
{
	unsigned int major, minor, patch;

	if (sscanf(version, "%u.%u.%u", &major, &minor, &patch) != 3)
		return 0;
	return major * 1000000UL + minor * 1000UL + patch;
}

/*
 * Before 2.10 a stream with replicas compares the expected sequence number with what is stored, not
 * with what is under way: two publishes that expect one number both succeed. Issue 4320 of
 * nats-server has this; test/share-three.c shows it. A stream on one server compares exactly.
 *
 * After kills and power cuts, 2.10.27 led a stream with a copy that lacked acknowledged records.
 * 2.15.1 did not in the same sequences of faults: docs/share.md.
 */
bool version_is_known_good(const char *version, unsigned int replicas, struct why *why)
{
	unsigned long number = version_number(version);

	if (number && number < 2009010)
		return fail(why, true,
			    "nats-server %s is too old: use 2.9.10 or newer, best 2.11 or newer",
			    version);
	if (number && number < 2011000 && replicas > 1)
		return fail(why, true,
			    "nats-server %s is too old for replicas, because it can lose work: use 2.11 or newer, or --replicas 1",
			    version);
	return true;
}

const char *version_warning(const char *version)
{
	unsigned long number = version_number(version);

	if (number < 2010000 || number > 2010022)
		return NULL;
	return "can lose a whole stream when the server is killed: use 2.11 or newer";
}

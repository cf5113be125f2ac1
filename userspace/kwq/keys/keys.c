// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "keys.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void keys_init(struct keys *keys, int argc, char **argv, bool null)
{
	keys->arguments = optind < argc ? argv + optind : NULL;
	keys->fd = STDIN_FILENO;
	keys->delimiter = null ? '\0' : '\n';
	keys->end = false;
	keys->error = 0;
	keys->line = 0;
	keys->at = 0;
	keys->filled = 0;
}

static int check_length(size_t len)
{
	if (!len)
		return -EINVAL;
	return len > KWQ_KEY_MAX ? -EMSGSIZE : 1;
}

static const char *find_delimiter(const struct keys *keys)
{
	return memchr(keys->buffer + keys->at, keys->delimiter,
		      keys->filled - keys->at);
}

/* As read(), but waits even if the input is non-blocking. */
static ssize_t read_some(int fd, char *to, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t got;

	for (;;) {
		got = read(fd, to, size);
		if (got >= 0)
			return got;
		if (errno == EAGAIN)
			poll(&p, 1, -1);
		else if (errno != EINTR)
			return -errno;
	}
}

/* Reads more input behind the present one. Returns false at the end. */
static bool fill(struct keys *keys)
{
	ssize_t got;

	memmove(keys->buffer, keys->buffer + keys->at, keys->filled - keys->at);
	keys->filled -= keys->at;
	keys->at = 0;
	got = read_some(keys->fd, keys->buffer + keys->filled,
			sizeof(keys->buffer) - keys->filled);
	if (got < 0)
		keys->error = got;
	if (got <= 0)
		keys->end = true;
	else
		keys->filled += got;
	return !keys->end;
}

/* Skips the rest of a key that is too long, and its delimiter. */
static void skip(struct keys *keys)
{
	const char *delimiter;

	do {
		delimiter = find_delimiter(keys);
		if (delimiter) {
			keys->at = delimiter + 1 - keys->buffer;
			return;
		}
		keys->at = keys->filled;
	} while (fill(keys));
}

static int next_line(struct keys *keys, const char **key, size_t *len)
{
	const char *delimiter;

	while (!(delimiter = find_delimiter(keys))) {
		if (keys->filled - keys->at > KWQ_KEY_MAX) {
			keys->line++;
			skip(keys);
			return -EMSGSIZE;
		}
		if (keys->end || !fill(keys))
			break;
	}
	/* The last line may lack its newline. But after a failed read it is incomplete. */
	if (!delimiter && (keys->at == keys->filled || keys->error))
		return 0;

	keys->line++;
	*key = keys->buffer + keys->at;
	*len = (delimiter ? delimiter : keys->buffer + keys->filled) - *key;
	keys->at += *len + (delimiter ? 1 : 0);
	return check_length(*len);
}

int keys_next(struct keys *keys, const char **key, size_t *len)
{
	if (!keys->arguments)
		return next_line(keys, key, len);
	if (!*keys->arguments)
		return 0;
	*key = *keys->arguments++;
	*len = strlen(*key);
	keys->line++;
	return check_length(*len);
}

bool keys_would_read(const struct keys *keys)
{
	return !keys->arguments && !keys->end && !find_delimiter(keys);
}

const char *keys_where(const struct keys *keys, char *to, size_t size)
{
	snprintf(to, size, "%s %llu", keys->arguments ? "argument" : "line",
		 keys->line);
	return to;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Reads keys from arguments, or from standard input, one per line (or per NUL).
 */
#ifndef KWQ_KEYS_H
#define KWQ_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include <kwq.h>

struct keys {
	char **arguments;	/* NULL: read @fd */
	int fd;
	char delimiter;
	bool end;		/* of @fd */
	int error;		/* of reading, a negative errno value */
	unsigned long long line;	/* or argument, of the last key; from 1 */
	size_t at, filled;	/* the unparsed part of @buffer */
	/* Room for the longest key and for further input. */
	char buffer[16 * (KWQ_KEY_MAX + 1)];
};

/* Starts at argv[optind], or at standard input if there are no arguments. */
void keys_init(struct keys *keys, int argc, char **argv, bool null);

/*
 * Reads the next key. Returns 1, 0 at the end, or -EMSGSIZE or -EINVAL for a key that
 * is too long or empty; the next call continues behind it. The key is valid until the
 * next call.
 */
int keys_next(struct keys *keys, const char **key, size_t *len);

/* Whether keys_next() would have to read, and so might block. */
bool keys_would_read(const struct keys *keys);

/* Prints "line 3" or "argument 3". */
const char *keys_where(const struct keys *keys, char *to, size_t size);

#endif /* KWQ_KEYS_H */

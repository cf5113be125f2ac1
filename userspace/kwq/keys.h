/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Where keys come from: arguments, or standard input a line (or NUL) each.
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
	size_t at, filled;	/* what of @buffer is still to be parsed */
	/* A key of the greatest length always fits, with room to read more. */
	char buffer[16 * (KWQ_KEY_MAX + 1)];
};

/* From argv[optind] on; from standard input if there are none. */
void keys_init(struct keys *keys, int argc, char **argv, bool null);

/*
 * The next key. Returns 1, or 0 at the end, or -EMSGSIZE or -EINVAL for one that
 * is too long or empty, after which it goes on. The key is valid until the next
 * call.
 */
int keys_next(struct keys *keys, const char **key, size_t *len);

/* Whether keys_next() would have to read, and so might wait. */
bool keys_would_read(const struct keys *keys);

/* "line 3" or "argument 3". */
const char *keys_where(const struct keys *keys, char *to, size_t size);

#endif /* KWQ_KEYS_H */

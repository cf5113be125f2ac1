/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Runs one operation on every key of the arguments, of standard input or of a list, in
 * batches. Shared by add, done, cancel, kick, forget and requeues.
 */
#ifndef KWQ_EACH_KEY_H
#define KWQ_EACH_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include <kwq.h>

/* The properties of one operation. */
struct key_verb {
	size_t entry_size;
	/*
	 * Makes the batch entry of a key. Returns the number of key bytes that the
	 * batch needs, or a negative errno value if the key is not valid.
	 */
	int (*fill)(void *entry, const char *key, size_t len, const void *context);
	int (*submit)(struct kwq *q, const struct kwq_batch *batch);
	/* A short text for a non-negative result. */
	const char *(*outcome)(int result);
	/* A text for an error; NULL for meaning(). */
	const char *(*refusal)(int err);
	const void *context;
	/* The name of the count, if the result is a count; else NULL. */
	const char *count;
	/*
	 * Supplies the keys instead of the arguments and standard input; NULL
	 * otherwise. Returns 1 with a key that is valid until the next call, 0 at the
	 * end, or a negative errno value that ends the command.
	 */
	int (*next)(void *list, const char **key, size_t *len);
	void *list;
};

struct key_options {
	bool null;		/* keys on standard input end with NUL */
	bool quiet;		/* print no errors of single keys */
	bool verbose;		/* print the result of each key */
	bool json;		/* print the results as JSON */
	const char *refused;	/* the file that gets the refused keys; NULL: none */
};

/* The letters of these options for getopt_long(). OPTION_JSON has no letter. */
#define KEY_LETTERS "0qv"
#define KEY_HELP \
	"  -0, --null       keys on standard input end with NUL, not with newline\n" \
	"  -q, --quiet      no errors of single keys\n" \
	"  -v, --verbose    print the result of each key\n" \
	"      --json       print the results as one JSON object per line\n" \
	"  -h, --help\n"

/* Takes one of these options. Returns false for any other. */
bool key_option(struct key_options *options, int opt);

/*
 * Prints a line for each refused key, but of very many with one reason only the first, and how many
 * more there are. Returns the exit status.
 */
int each_key(struct kwq *q, const char *queue, const struct key_verb *verb,
	     const struct key_options *options, int argc, char **argv);

#endif /* KWQ_EACH_KEY_H */

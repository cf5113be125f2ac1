/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * One operation on every key of the arguments, of standard input or of a list, in
 * batches: what add, done, remove, forget, requeues and dead have in common.
 */
#ifndef KWQ_EACH_KEY_H
#define KWQ_EACH_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include <kwq.h>

/* What differs between them. */
struct key_verb {
	size_t entry_size;
	/*
	 * Makes the batch entry of a key. Returns how many of its bytes belong in
	 * the batch, or a negative errno value if the key is no good.
	 */
	int (*fill)(void *entry, const char *key, size_t len, const void *context);
	int (*submit)(struct kwq *q, const struct kwq_batch *batch);
	/* What became of a key, in a few words. */
	const char *(*outcome)(int result);
	/* Why a key was refused; NULL for meaning(). */
	const char *(*refusal)(int err);
	const void *context;
	/* The result is a count of this name, not an outcome; NULL if it is not. */
	const char *count;
	/*
	 * The keys come from here, valid until the next call, not from arguments or
	 * standard input; NULL if they do not. Returns 1, 0 at the end, or the
	 * negative errno value that ends it all.
	 */
	int (*next)(void *list, const char **key, size_t *len);
	void *list;
};

struct key_options {
	bool null;		/* NUL behind each key on standard input */
	bool quiet;		/* say nothing of single keys */
	bool verbose;		/* tell the outcome of each */
	bool json;		/* the same as JSON */
};

/* The letters of these options, for getopt_long(); OPTION_JSON has none. */
#define KEY_LETTERS "0qv"
#define KEY_HELP \
	"  -0, --null       keys on standard input end with NUL, not with newline\n" \
	"  -q, --quiet      say nothing of single keys; the exit status tells\n" \
	"  -v, --verbose    tell what became of each key\n" \
	"      --json       the same, as a JSON object a line\n" \
	"  -h, --help\n"

/* Takes one of these options; false if it is none of them. */
bool key_option(struct key_options *options, int opt);

/* Returns the exit status. */
int each_key(struct kwq *q, const char *queue, const struct key_verb *verb,
	     const struct key_options *options, int argc, char **argv);

#endif /* KWQ_EACH_KEY_H */

/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A command with places for its keys, named as in GNU parallel. Pure.
 *
 * {} is the key, {.} the key without its extension, {/} its last part, {//} its
 * directory, {/.} its last part without the extension. {#} is the number of the job,
 * {%} the number of its slot. With several keys an argument that has a place for the key
 * is repeated for each of them.
 */
#ifndef KWQ_TEMPLATE_H
#define KWQ_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

struct template_values {
	const char *const *keys;
	size_t nr;		/* of keys: from 1 */
	unsigned long long seq;	/* from 1 */
	unsigned int slot;	/* from 1 */
};

/* Whether any part of @text comes from the key. {#} and {%} do not. */
bool template_uses_key(const char *text);

/* Whether any argument has a part that comes from the key. */
bool template_has_place(char **argv);

/*
 * Finds a script among the arguments, such as that of sh -c, with a place for the key: a key with
 * quotes or semicolons would be code there. Returns the name of its interpreter, or NULL.
 */
const char *template_script(char **argv);

/*
 * Whether the key would be an argument behind the host of ssh. It joins these words, and the shell
 * of that machine splits them anew, so that no quote of this machine protects the key.
 */
bool template_is_remote_code(char **argv);

/*
 * Makes a command with the values in their places. Without a place for the key, the keys
 * become the last arguments. The caller frees the result, which is one block. Returns
 * NULL if memory is missing.
 */
char **template_fill(char **argv, const struct template_values *values);

/*
 * How many of the keys, from the first on, fit into a command of @bound bytes; at least 1. The
 * bytes are those of the arguments, their NULs and their pointers. Returns 0 if memory is
 * missing.
 */
size_t template_fit(char **argv, const struct template_values *values, size_t bound);

#endif /* KWQ_TEMPLATE_H */

/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A command with places for the key, named as in GNU parallel. Pure.
 *
 * {} is the key, {.} the key without its extension, {/} its last part, {//} its
 * directory, {/.} its last part without the extension. {#} is the number of the job,
 * {%} the number of its slot.
 */
#ifndef KWQ_TEMPLATE_H
#define KWQ_TEMPLATE_H

#include <stdbool.h>

struct template_values {
	const char *key;
	unsigned long long seq;	/* from 1 */
	unsigned int slot;	/* from 1 */
};

/* Whether any part of @text comes from the key. {#} and {%} do not. */
bool template_uses_key(const char *text);

/* Whether any argument has a part that comes from the key. */
bool template_has_place(char **argv);

/*
 * Makes a command with the values in their places. Without a place for the key, the key
 * becomes the last argument. The caller frees the result, which is one block. Returns
 * NULL if memory is missing.
 */
char **template_fill(char **argv, const struct template_values *values);

#endif /* KWQ_TEMPLATE_H */

/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A command with {} where the key goes. Pure.
 */
#ifndef KWQ_TEMPLATE_H
#define KWQ_TEMPLATE_H

#include <stdbool.h>

/* Whether any argument contains {}. */
bool template_has_place(char **argv);

/*
 * Makes a command with the key in place of every {}. Without {}, the key becomes the
 * last argument. The caller frees the result, which is one block. Returns NULL if
 * memory is missing.
 */
char **template_fill(char **argv, const char *key);

#endif /* KWQ_TEMPLATE_H */

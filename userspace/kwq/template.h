/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A command with {} where the key goes. Pure.
 */
#ifndef KWQ_TEMPLATE_H
#define KWQ_TEMPLATE_H

#include <stdbool.h>

/* Whether any argument has {}. */
bool template_has_place(char **argv);

/*
 * The command with the key in place of every {}, or behind it as one more argument
 * if there is no {}. In one block, to be freed; NULL for want of memory.
 */
char **template_fill(char **argv, const char *key);

#endif /* KWQ_TEMPLATE_H */

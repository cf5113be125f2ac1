/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A terminal with a screen that stays in its place, and keys. Escape sequences that all terminals
 * since the VT100 know suffice, so no library of terminals is needed.
 */
#ifndef KWQ_SCREEN_H
#define KWQ_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* Whether standard output is a terminal that can move its cursor. */
bool screen_possible(void);

void screen_enter(void);

/* Restores the terminal. May be called twice. */
void screen_leave(void);

/* Whether keys can be read from standard input. */
bool screen_has_keys(void);

void screen_size(unsigned int *rows, unsigned int *columns);

#endif /* KWQ_SCREEN_H */

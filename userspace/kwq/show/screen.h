/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A terminal with a screen that stays in its place, and keys. Escape sequences that all terminals
 * since the VT100 know suffice, so no library of terminals is needed.
 */
#ifndef KWQ_SCREEN_H
#define KWQ_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* A key that was pressed: a character, or one of these. */
enum screen_key { KEY_NONE, KEY_UP = 256, KEY_DOWN, KEY_LEFT, KEY_RIGHT, KEY_PAGE_UP,
	KEY_PAGE_DOWN, KEY_HOME, KEY_END, KEY_ESCAPE };

/* Whether standard output is a terminal that can move its cursor. */
bool screen_possible(void);

void screen_enter(void);

/* Restores the terminal. May be called twice. */
void screen_leave(void);

/* Whether keys can be read from standard input. */
bool screen_has_keys(void);

void screen_size(unsigned int *rows, unsigned int *columns);

/*
 * Takes the first key out of @len bytes that were read. *used receives the number of its bytes.
 * Returns KEY_NONE for a sequence that is not known. Pure.
 */
int screen_key(const char *bytes, size_t len, size_t *used);

#endif /* KWQ_SCREEN_H */

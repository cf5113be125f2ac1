/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Prints listed items: as a row of a table, or as JSON. Shared by keys, stat and top.
 */
#ifndef KWQ_ITEM_PRINT_H
#define KWQ_ITEM_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <kwq.h>

#include "histogram.h"

/*
 * The KWQ_IS_* bit of a state's name; 0 if there is none of that name.
 */
uint32_t item_state_named(const char *name, size_t len);

/* Writes the names of all states of an item, with @separator between them. */
int item_print_states(FILE *to, const struct kwq_listed *item, const char *separator);

/* How long the item has been in the state that sorts it, in ns, or KWQ_AGE_UNKNOWN. */
uint64_t item_age(const struct kwq_listed *item);

/*
 * An age that may be KWQ_AGE_UNKNOWN: in a column of a row, as short_time(), and as a value of
 * JSON. It is "-", "-" and "null" then.
 */
enum { JSON_AGE_SIZE = 21 };
void print_age(uint64_t age);
const char *short_age(char to[SHORT_TIME_SIZE], uint64_t age);
const char *json_age(char to[JSON_AGE_SIZE], uint64_t age);

/* The header of the table, and an item's row. The group follows the key at @key. */
void item_print_header(void);
void item_print_row(const struct kwq_listed *item, const char *key);

/* Prints each line of a note below its row, further to the right. */
void item_print_note(const char *note, size_t len);

/*
 * Prints one JSON object and a newline. @with tells what was listed behind the group:
 * KWQ_LIST_VALUES, KWQ_LIST_NOTES.
 */
void item_print_json(const struct kwq_listed *item, const char *key, uint32_t with);

#endif /* KWQ_ITEM_PRINT_H */

/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Prints listed items: as a row of a table, or as JSON. Shared by keys, peek, status and
 * top.
 */
#ifndef KWQ_ITEM_PRINT_H
#define KWQ_ITEM_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <kwq.h>

/*
 * The KWQ_IS_* bit of a state's name; 0 if there is none of that name.
 */
uint32_t item_state_named(const char *name, size_t len);

/* Writes the names of all states of an item, with @separator between them. */
int item_print_states(FILE *to, const struct kwq_listed *item, const char *separator);

/* How long the item has been in the state that sorts it, in ns. */
uint64_t item_age(const struct kwq_listed *item);

/* The header of the table, and an item's row. The group follows the key at @key. */
void item_print_header(void);
void item_print_row(const struct kwq_listed *item, const char *key);

/* Prints one JSON object and a newline; with @value also the value behind the group. */
void item_print_json(const struct kwq_listed *item, const char *key, bool value);

#endif /* KWQ_ITEM_PRINT_H */

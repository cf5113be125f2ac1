/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A list of items in the order of kwq_listed_compare(), in memory.
 */
#ifndef KWQ_ITEM_SORT_H
#define KWQ_ITEM_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "queue/item_list.h"

/* For kwq_listed_compare() the item comes first. */
struct item_row {
	struct kwq_listed item;
	size_t key_at;		/* offset of its key, its group, and what else is listed */
};

/* Begin with all zero. The memory is reused by the next list. */
struct item_sorted {
	struct item_row *rows;
	size_t nr, room;
	char *keys;
	size_t keys_len, keys_room;
	size_t next;		/* the row of the next item_sorted_next() */
};

/*
 * Collects all items of a list that item_list_begin() began, and sorts them. Returns 0 or a
 * negative errno value.
 */
int item_sorted_collect(struct item_sorted *sorted, struct item_list *list);

/* Lists the items of a queue that have one of @states. Returns as item_sorted_collect(). */
int item_sorted_list(struct item_sorted *sorted, struct kwq *q, uint32_t states);

/* Supplies the keys of the rows one by one, as @next of &struct key_verb. */
int item_sorted_next(void *sorted, const char **key, size_t *len);

/* The key of a row. */
const char *item_sorted_key(const struct item_sorted *sorted, size_t row);

void item_sorted_free(struct item_sorted *sorted);

#endif /* KWQ_ITEM_SORT_H */

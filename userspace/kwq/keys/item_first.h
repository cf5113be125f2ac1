/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The first item of a queue in some state, or the item of one key.
 */
#ifndef KWQ_ITEM_FIRST_H
#define KWQ_ITEM_FIRST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "queue/item_list.h"

struct item_first {
	struct kwq_listed item;
	/* Its key and group, and its value and note if fetched, one behind the other. */
	char bytes[KWQ_KEY_MAX + KWQ_GROUP_MAX + KWQ_VALUE_MAX + KWQ_NOTE_MAX];
};

/*
 * Finds the first item, in the order of kwq_listed_compare(), that has one of @states, and fetches
 * what @with asks for: KWQ_LIST_VALUES, KWQ_LIST_NOTES. Returns 1, 0 if there is none, or a
 * negative errno value. Needs memory for one item only.
 */
int item_first(struct kwq *q, uint32_t states, uint32_t with, struct item_first *first);

/*
 * Finds the item of a key, in any state. Returns as item_first(); 0 if the queue does not
 * have the key.
 */
int item_of_key(struct kwq *q, const char *key, size_t len, uint32_t with,
		struct item_first *found);

#endif /* KWQ_ITEM_FIRST_H */

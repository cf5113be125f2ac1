// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "item_sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more item and @len bytes of it. Returns false if there is no memory. */
static bool grow(struct item_sorted *all, size_t len)
{
	size_t room;
	void *memory;

	if (all->nr == all->room) {
		room = all->room ? 2 * all->room : 1024;
		memory = reallocarray(all->rows, room, sizeof(*all->rows));
		if (!memory)
			return false;
		all->rows = memory;
		all->room = room;
	}
	if (all->keys_room - all->keys_len < len) {
		room = 2 * all->keys_room + len + KWQ_KEY_MAX;
		memory = realloc(all->keys, room);
		if (!memory)
			return false;
		all->keys = memory;
		all->keys_room = room;
	}
	return true;
}

int item_sorted_collect(struct item_sorted *sorted, struct item_list *list)
{
	const struct kwq_listed *item;
	const char *key;
	size_t len;
	int ret;

	sorted->nr = 0;
	sorted->keys_len = 0;
	sorted->next = 0;
	while ((ret = item_list_next(list, &item, &key)) > 0) {
		len = item_list_bytes(item, list->page.flags);
		if (!grow(sorted, len))
			return -ENOMEM;
		sorted->rows[sorted->nr].item = *item;
		sorted->rows[sorted->nr++].key_at = sorted->keys_len;
		memcpy(sorted->keys + sorted->keys_len, key, len);
		sorted->keys_len += len;
	}
	if (!ret && sorted->nr)
		qsort(sorted->rows, sorted->nr, sizeof(*sorted->rows), kwq_listed_compare);
	return ret;
}

int item_sorted_list(struct item_sorted *sorted, struct kwq *q, uint32_t states)
{
	static struct item_list list;	/* too large for the stack */

	item_list_begin(&list, q, states);
	return item_sorted_collect(sorted, &list);
}

int item_sorted_next(void *list, const char **key, size_t *len)
{
	struct item_sorted *sorted = list;

	if (sorted->next == sorted->nr)
		return 0;
	*key = item_sorted_key(sorted, sorted->next);
	*len = sorted->rows[sorted->next++].item.key_len;
	return 1;
}

const char *item_sorted_key(const struct item_sorted *sorted, size_t row)
{
	return sorted->keys + sorted->rows[row].key_at;
}

void item_sorted_free(struct item_sorted *sorted)
{
	free(sorted->rows);
	free(sorted->keys);
	*sorted = (struct item_sorted){ 0 };
}

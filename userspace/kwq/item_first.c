// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "item_first.h"

#include <errno.h>
#include <string.h>

#include "item_list.h"

enum { ANY_STATE = KWQ_IS_READY | KWQ_IS_PROCESSING | KWQ_IS_WAITING | KWQ_IS_DEAD |
	KWQ_IS_REMEMBERED };

static void keep(struct item_first *first, const struct kwq_listed *item, const char *bytes,
		 bool value)
{
	first->item = *item;
	memcpy(first->bytes, bytes,
	       item->key_len + item->group_len + (value ? item->value_len : 0));
}

int item_first(struct kwq *q, uint32_t states, bool value, struct item_first *first)
{
	static struct item_list list;	/* too large for the stack */
	const struct kwq_listed *item;
	const char *bytes;
	int ret, found = 0;

	item_list_begin(&list, q, states);
	if (value)
		item_list_values(&list);
	while ((ret = item_list_next(&list, &item, &bytes)) > 0) {
		if (found && kwq_listed_compare(item, &first->item) >= 0)
			continue;
		keep(first, item, bytes, value);
		found = 1;
	}
	return ret < 0 ? ret : found;
}

int item_of_key(struct kwq *q, const char *key, size_t len, bool value,
		struct item_first *found)
{
	static struct item_list list;	/* too large for the stack */
	const struct kwq_listed *item;
	const char *bytes;
	int ret;

	item_list_begin(&list, q, ANY_STATE);
	item_list_only(&list, key, len);
	if (value)
		item_list_values(&list);
	ret = item_list_next(&list, &item, &bytes);
	if (ret > 0)
		keep(found, item, bytes, value);
	return ret == -ENOENT ? 0 : ret;
}

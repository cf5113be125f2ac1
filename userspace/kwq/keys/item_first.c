// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "item_first.h"

#include <errno.h>
#include <string.h>

enum { ANY_STATE = KWQ_IS_READY | KWQ_IS_PROCESSING | KWQ_IS_WAITING | KWQ_IS_DEAD |
	KWQ_IS_REMEMBERED };

static void keep(struct item_first *first, const struct kwq_listed *item, const char *bytes,
		 uint32_t with)
{
	first->item = *item;
	memcpy(first->bytes, bytes, item_list_bytes(item, with));
}

int item_first(struct kwq *q, uint32_t states, uint32_t with, struct item_first *first)
{
	static struct item_list list;	/* too large for the stack */
	const struct kwq_listed *item;
	const char *bytes;
	int ret, found = 0;

	item_list_begin(&list, q, states);
	item_list_with(&list, with);
	while ((ret = item_list_next(&list, &item, &bytes)) > 0) {
		if (found && kwq_listed_compare(item, &first->item) >= 0)
			continue;
		keep(first, item, bytes, with);
		found = 1;
	}
	return ret < 0 ? ret : found;
}

int item_of_key(struct kwq *q, const char *key, size_t len, uint32_t with,
		struct item_first *found)
{
	static struct item_list list;	/* too large for the stack */
	const struct kwq_listed *item;
	const char *bytes;
	int ret;

	item_list_begin(&list, q, ANY_STATE);
	item_list_only(&list, key, len);
	item_list_with(&list, with);
	ret = item_list_next(&list, &item, &bytes);
	if (ret > 0)
		keep(found, item, bytes, with);
	return ret == -ENOENT ? 0 : ret;
}

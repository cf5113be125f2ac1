// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "drop.h"

#include <errno.h>

#include "queue/item_list.h"

int drop_keys(struct kwq *q)
{
	static struct item_list list;	/* too large for the stack */
	const struct kwq_listed *item;
	const char *key;
	int ret;

	item_list_begin(&list, q, KWQ_IS_READY | KWQ_IS_WAITING | KWQ_IS_PROCESSING | KWQ_IS_DEAD);
	while ((ret = item_list_next(&list, &item, &key)) > 0) {
		ret = kwq_remove(q, key, item->key_len);
		/* A worker may have been faster than the list. */
		if (ret < 0 && ret != -ENOENT)
			break;
	}
	return ret;
}

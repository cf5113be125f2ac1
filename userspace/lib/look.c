// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A look inside a queue: lists of its items, and the state of one key.
 */
#include <errno.h>

#include "internal.h"

int kwq_list_items(struct kwq *q, struct kwq_list_items_args *list)
{
	return kwq_ioctl(q->fd, KWQ_IOC_LIST_ITEMS, list);
}

int kwq_look(struct kwq *q, const void *key, size_t len, struct kwq_listed *item)
{
	char room[KWQ_KEY_MAX + KWQ_GROUP_MAX];
	struct kwq_list_items_args list = {
		.size = sizeof(list),
		.flags = KWQ_LIST_KEY,
		.states = KWQ_IS_READY | KWQ_IS_WAITING | KWQ_IS_PROCESSING | KWQ_IS_DEAD |
			  KWQ_IS_REMEMBERED,
		.key_len = len,
		.key = kwq_ptr(key),
		.batch = {
			.entries = kwq_ptr(item),
			.keys = kwq_ptr(room),
			.keys_len = sizeof(room),
			.nr = 1,
			.entry_size = sizeof(*item),
		},
	};
	int ret;

	/* The ABI's lengths have 32 bits. */
	if (len > UINT32_MAX)
		return -EMSGSIZE;
	ret = kwq_list_items(q, &list);
	return ret < 0 ? ret : 0;
}

/* The states of &kwq_listed.order_of, in the order of kwq_listed_compare(). */
static int rank(const struct kwq_listed *item)
{
	switch (item->order_of) {
	case KWQ_IS_PROCESSING:
		return 0;
	case KWQ_IS_READY:
		return 1;
	case KWQ_IS_WAITING:
		return 2;
	case KWQ_IS_DEAD:
		return 3;
	}
	return 4;
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

int kwq_listed_compare(const void *a, const void *b)
{
	const struct kwq_listed *one = a, *other = b;
	int order = rank(one) - rank(other);

	if (!order && one->order_of == KWQ_IS_READY) {
		order = (one->priority < other->priority) - (one->priority > other->priority);
		if (!order)
			order = compare(other->state & KWQ_IS_RETURNED,
					one->state & KWQ_IS_RETURNED);
	}
	return order ? order : compare(one->order, other->order);
}

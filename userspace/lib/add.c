// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Adding and removing keys; kicking and dropping dead items.
 */
#include "internal.h"

static int add(struct kwq *q, struct kwq_add_entry *entry, const void *key,
	       size_t len)
{
	entry->key_len = len;
	return kwq_one(q, KWQ_IOC_ADD, entry, sizeof(*entry), key, len);
}

int kwq_add(struct kwq *q, const void *key, size_t len)
{
	struct kwq_add_entry entry = { 0 };

	return add(q, &entry, key, len);
}

int kwq_add_after(struct kwq *q, const void *key, size_t len, uint64_t delay_ns)
{
	struct kwq_add_entry entry = { .flags = KWQ_ADD_AFTER, .time = delay_ns };

	return add(q, &entry, key, len);
}

int kwq_add_with(struct kwq *q, const void *key, size_t len,
		 const struct kwq_add_options *options)
{
	struct kwq_add_options o = { 0 };
	struct kwq_add_entry entry = { 0 };
	int ret;

	if (options) {
		ret = kwq_copy_options(&o, sizeof(o), options, options->size);
		if (ret)
			return ret;
	}
	entry.flags = o.flags;
	entry.priority = o.priority;
	entry.time = o.time;
	return add(q, &entry, key, len);
}

int kwq_add_rate_limited(struct kwq *q, const void *key, size_t len)
{
	struct kwq_add_entry entry = { .flags = KWQ_ADD_RATE_LIMITED };

	return add(q, &entry, key, len);
}

int kwq_kick(struct kwq *q, const void *key, size_t len)
{
	struct kwq_add_entry entry = { .flags = KWQ_ADD_KICK };

	return add(q, &entry, key, len);
}

int kwq_drop(struct kwq *q, const void *key, size_t len)
{
	struct kwq_remove_entry entry = { .key_len = len, .flags = KWQ_REMOVE_DEAD };

	return kwq_one(q, KWQ_IOC_REMOVE, &entry, sizeof(entry), key, len);
}

int kwq_remove(struct kwq *q, const void *key, size_t len)
{
	struct kwq_remove_entry entry = { .key_len = len };

	return kwq_one(q, KWQ_IOC_REMOVE, &entry, sizeof(entry), key, len);
}

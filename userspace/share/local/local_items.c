// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Calls for one item of a queue, and what a list says of it. */
#include "local_internal.h"

#include <errno.h>

int item_remove(struct kwq *q, const void *key, size_t len, uint32_t flags, uint64_t change)
{
	struct kwq_remove_entry entry = { .key_len = len, .flags = flags, .change = change };
	int32_t result = -EIO;
	struct kwq_batch batch = {
		.entries = kwq_ptr(&entry),
		.keys = kwq_ptr(key),
		.results = kwq_ptr(&result),
		.keys_len = len,
		.nr = 1,
		.entry_size = sizeof(entry),
	};
	int ret = kwq_remove_batch(q, &batch);

	return ret < 0 ? ret : result;
}

int item_restore(struct kwq *q, const struct kwq_restore_entry *entry,
		 const struct kwq_add_extra *extra, const void *key)
{
	int32_t result = -EIO;
	struct kwq_batch batch = {
		.entries = kwq_ptr(entry),
		.keys = kwq_ptr(key),
		.results = kwq_ptr(&result),
		.extras = kwq_ptr(extra),
		.keys_len = entry->key_len,
		.nr = 1,
		.entry_size = sizeof(*entry),
		.extra_size = sizeof(*extra),
	};
	int ret = kwq_restore_batch(q, &batch);

	return ret < 0 ? ret : result;
}

struct work item_work(const struct kwq_listed *listed, const char *bytes)
{
	const char *group = bytes + listed->key_len, *value = group + listed->group_len;

	return (struct work){
		.key = { bytes, listed->key_len },
		.group = { group, listed->group_len },
		.value = { value, listed->value_len },
		.note = { value + listed->value_len, listed->note_len },
		.has_value = listed->value_len,
		.has_group = listed->group_len,
		.priority = listed->priority,
		.requeues = listed->requeues,
		.abandoned = listed->abandoned,
	};
}

size_t item_bytes(const struct kwq_listed *listed)
{
	return item_list_bytes(listed, KWQ_LIST_VALUES | KWQ_LIST_NOTES);
}

uint64_t item_due(const struct kwq_listed *listed, uint64_t wall)
{
	return listed->state & KWQ_IS_WAITING ? wall + listed->due_in : 0;
}

bool item_is_add(const struct kwq_listed *listed)
{
	return listed->state & (KWQ_IS_READY | KWQ_IS_WAITING);
}

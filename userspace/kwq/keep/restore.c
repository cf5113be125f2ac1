// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "restore.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

void restore_begin(struct restorer *r, struct kwq *q, const char *queue)
{
	memset(r, 0, offsetof(struct restorer, entries));
	r->q = q;
	r->queue = queue;
}

unsigned char *restore_room(struct restorer *r)
{
	return r->room + r->bytes;
}

static void count(struct restorer *r, int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		if (r->results[i] == KWQ_RESTORED)
			r->restored++;
		else if (r->results[i] >= 0)
			r->there++;
		else
			r->why = r->refused++ ? r->why : r->results[i];
	}
}

int restore_end(struct restorer *r)
{
	unsigned int first = 0, i;
	size_t keys = 0;

	while (first < r->nr) {
		struct kwq_batch batch = {
			.entries = kwq_ptr(r->entries + first),
			.keys = kwq_ptr(r->keys + keys),
			.results = kwq_ptr(r->results),
			.extras = r->has_extras ? kwq_ptr(r->extras + first) : 0,
			.keys_len = r->keys_len - keys,
			.nr = r->nr - first,
			.entry_size = sizeof(r->entries[0]),
			.extra_size = r->has_extras ? sizeof(r->extras[0]) : 0,
		};
		int taken = kwq_restore_batch(r->q, &batch);

		if (taken <= 0)
			return taken ? taken : -EIO;
		count(r, taken);
		for (i = first; i < first + taken; i++)
			keys += r->entries[i].key_len;
		first += taken;
	}
	r->nr = 0;
	r->bytes = 0;
	r->keys_len = 0;
	r->has_extras = false;
	return 0;
}

int restore_item(struct restorer *r, const struct saved_item *item)
{
	unsigned char *bytes = restore_room(r);
	unsigned char *group = bytes + item->key_len, *value = group + item->group_len;
	unsigned char *note = value + item->value_len;
	bool waits = item->state & KWQ_IS_WAITING;
	struct kwq_restore_entry *entry = &r->entries[r->nr];
	struct kwq_add_extra *extra = &r->extras[r->nr];

	*entry = (struct kwq_restore_entry){
		.key_len = item->key_len,
		.flags = (item->value_len ? KWQ_ADD_VALUE : 0) |
			 (item->group_len ? KWQ_ADD_GROUP : 0) |
			 (item->note_len ? KWQ_ADD_NOTE : 0) |
			 (item->token ? KWQ_ADD_TOKEN : 0),
		.state = item->state,
		.priority = item->priority,
		.wait_priority = waits ? item->wait_priority : 0,
		.requeues = item->requeues,
		.abandoned = item->abandoned,
		.dirty_for = item->dirty_for,
		.waiting_for = waits ? item->waiting_for : 0,
		.due_in = waits ? item->due_in : 0,
		.dead_for = item->dead_for,
	};
	*extra = (struct kwq_add_extra){
		.value = item->value_len ? kwq_ptr(value) : 0,
		.group = item->group_len ? kwq_ptr(group) : 0,
		.note = item->note_len ? kwq_ptr(note) : 0,
		.value_len = item->value_len,
		.group_len = item->group_len,
		.note_len = item->note_len,
		.token = item->token,
	};
	r->has_extras |= entry->flags;
	memcpy(r->keys + r->keys_len, bytes, item->key_len);
	r->keys_len += item->key_len;
	r->bytes += saved_bytes(item);
	r->nr++;
	if (r->nr < RESTORE_BATCH && RESTORE_BYTES - r->bytes >= SAVED_BYTES_MAX)
		return 0;
	return restore_end(r);
}

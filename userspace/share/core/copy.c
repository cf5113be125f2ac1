// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <stdlib.h>
#include <string.h>

#include "copy.h"

static char *put(struct bytes *to, const struct bytes *from, char *at)
{
	if (from->len)
		memcpy(at, from->at, from->len);
	to->at = at;
	to->len = from->len;
	return at + from->len;
}

size_t work_bytes(const struct work *work)
{
	return work->key.len + work->value.len + work->group.len + work->note.len;
}

struct record *record_copy(const struct record *record)
{
	const struct work *work = &record->work;
	struct record *copy = malloc(sizeof(*copy) + work_bytes(work));
	char *at;

	if (!copy)
		return NULL;
	*copy = *record;
	copy->machine = NULL;
	copy->held = NULL;
	copy->nr_held = 0;
	at = put(&copy->work.key, &work->key, (char *)(copy + 1));
	at = put(&copy->work.value, &work->value, at);
	at = put(&copy->work.group, &work->group, at);
	put(&copy->work.note, &work->note, at);
	return copy;
}

struct record *work_copy(const struct work *work)
{
	struct record record = { .work = *work };

	return record_copy(&record);
}

bool same_hash(const struct key_hash *a, const struct key_hash *b)
{
	return !memcmp(a, b, sizeof(*a));
}

bool same_token(struct token a, struct token b)
{
	return a.epoch == b.epoch && a.number == b.number;
}

bool token_less(struct token a, struct token b)
{
	return a.epoch < b.epoch || (a.epoch == b.epoch && a.number < b.number);
}

bool same_bytes(struct bytes a, struct bytes b)
{
	return a.len == b.len && (!a.len || !memcmp(a.at, b.at, a.len));
}

bool same_work(const struct work *a, const struct work *b)
{
	return a->has_value == b->has_value && a->has_group == b->has_group &&
	       a->priority == b->priority && a->requeues == b->requeues &&
	       same_bytes(a->value, b->value) && same_bytes(a->group, b->group) &&
	       same_bytes(a->note, b->note);
}

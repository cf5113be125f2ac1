// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Adding and removing keys; kicking and dropping dead items.
 */
#include <errno.h>

#include "internal.h"

/* These flags need an extra. */
#define EXTRAS	(KWQ_ADD_VALUE | KWQ_ADD_KEEP_VALUE | KWQ_ADD_GROUP | KWQ_ADD_AT_MOST | \
		 KWQ_ADD_NOTE)

static int add(struct kwq *q, struct kwq_add_entry *entry, const void *key,
	       size_t len)
{
	entry->key_len = len;
	return kwq_one(q, KWQ_IOC_ADD, entry, sizeof(*entry), key, len);
}

/* The ABI refuses what no flag announces, and the address of zero bytes. */
static int add_with_extra(struct kwq *q, struct kwq_add_entry *entry, const void *key,
			  size_t len, const struct kwq_add_options *o)
{
	const struct kwq_add_extra extra = {
		.value = o->value_len ? kwq_ptr(o->value) : 0,
		.value_len = o->value_len,
		.group = o->group_len ? kwq_ptr(o->group) : 0,
		.group_len = o->group_len,
		.note = o->note_len ? kwq_ptr(o->note) : 0,
		.note_len = o->note_len,
		.at_most = o->at_most,
	};

	if (o->value_len > KWQ_VALUE_MAX || o->group_len > KWQ_GROUP_MAX ||
	    o->note_len > KWQ_NOTE_MAX)
		return -EMSGSIZE;
	entry->key_len = len;
	return kwq_one_with_extra(q, KWQ_IOC_ADD, entry, sizeof(*entry), key, len, &extra,
				  sizeof(extra));
}

int kwq_add_by_call(struct kwq *q, const void *key, size_t len)
{
	struct kwq_add_entry entry = { 0 };
	int ret = add(q, &entry, key, len);

	if ((ret == KWQ_COALESCED || ret == KWQ_DIRTY) &&
	    atomic_load_explicit(&q->board.until, memory_order_relaxed))
		kwq_board_note(q, len);
	return ret;
}

int kwq_add_wait(struct kwq *q, const void *key, size_t len, uint64_t deadline)
{
	struct kwq_add_entry entry = { .key_len = len };

	return kwq_one_waiting(q, &entry, key, len, 0, deadline);
}

int kwq_add_wait_within(struct kwq *q, const void *key, size_t len, uint64_t timeout_ns)
{
	struct kwq_add_entry entry = { .key_len = len };

	return kwq_one_waiting(q, &entry, key, len, KWQ_ADD_RELATIVE, timeout_ns);
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
	if (o.flags & EXTRAS || o.value_len || o.group_len || o.note_len || o.at_most)
		return add_with_extra(q, &entry, key, len, &o);
	/* Without any option it may be answered by a look at the board. */
	if (!(entry.flags || entry.priority || entry.time))
		return kwq_add(q, key, len);
	return add(q, &entry, key, len);
}

int kwq_add_debounced(struct kwq *q, const void *key, size_t len, uint64_t after_ns,
		      uint64_t at_most_ns)
{
	const struct kwq_add_options options = { .at_most = at_most_ns };
	struct kwq_add_entry entry = {
		.flags = KWQ_ADD_AFTER | KWQ_ADD_REPLACE | KWQ_ADD_AT_MOST,
		.time = after_ns,
	};

	return add_with_extra(q, &entry, key, len, &options);
}

int kwq_add_value(struct kwq *q, const void *key, size_t len, const void *value,
		  size_t value_len)
{
	const struct kwq_add_options options = { .value = value, .value_len = value_len };
	struct kwq_add_entry entry = { .flags = KWQ_ADD_VALUE };

	return add_with_extra(q, &entry, key, len, &options);
}

int kwq_add_group(struct kwq *q, const void *key, size_t len, const void *group,
		  size_t group_len)
{
	const struct kwq_add_options options = { .group = group, .group_len = group_len };
	struct kwq_add_entry entry = { .flags = KWQ_ADD_GROUP };

	return add_with_extra(q, &entry, key, len, &options);
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

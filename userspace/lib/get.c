// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Getting items, finishing them, both in one call, and extending leases.
 */
#include <errno.h>

#include "internal.h"

/* Fetches one item with @req, into which the caller may have put a done or extras. */
static int get(struct kwq *q, struct kwq_get_args *req, struct kwq_item *item,
	       void *key, size_t room)
{
	struct kwq_got got;
	int ret;

	req->size = sizeof(*req);
	req->get.entries = kwq_ptr(&got);
	/* The kernel refuses a non-zero address for a buffer of zero bytes. */
	req->get.keys = room ? kwq_ptr(key) : 0;
	req->get.keys_len = room < UINT32_MAX ? room : UINT32_MAX;
	req->get.nr = 1;
	req->get.entry_size = sizeof(got);
	ret = kwq_get_batch(q, req);
	if (ret < 0)
		return ret;

	item->ticket = got.ticket;
	item->key_len = got.key_len;
	item->priority = got.priority;
	item->abandoned = got.abandoned;
	item->requeues = got.requeues;
	item->value_len = 0;
	item->group_len = 0;
	item->token = 0;
	return 0;
}

static int get_value(struct kwq *q, struct kwq_get_args *req, struct kwq_item *item,
		     void *data, size_t room)
{
	struct kwq_got_extra extra;
	int ret;

	req->get.extras = kwq_ptr(&extra);
	req->get.extra_size = sizeof(extra);
	ret = get(q, req, item, data, room);
	if (!ret) {
		item->value_len = extra.value_len;
		item->group_len = extra.group_len;
		item->token = extra.token;
	}
	return ret;
}

int kwq_get_value(struct kwq *q, struct kwq_item *item, void *data, size_t room,
		  uint64_t deadline)
{
	struct kwq_get_args req = { .deadline = deadline };

	return get_value(q, &req, item, data, room);
}

int kwq_get_value_within(struct kwq *q, struct kwq_item *item, void *data, size_t room,
			 uint64_t timeout_ns)
{
	struct kwq_get_args req = { .flags = KWQ_GET_RELATIVE, .deadline = timeout_ns };

	return get_value(q, &req, item, data, room);
}

int kwq_try_get_value(struct kwq *q, struct kwq_item *item, void *data, size_t room)
{
	struct kwq_get_args req = { .flags = KWQ_GET_NONBLOCK };

	return get_value(q, &req, item, data, room);
}

int kwq_get(struct kwq *q, struct kwq_item *item, void *key, size_t room,
	    uint64_t deadline)
{
	struct kwq_get_args req = { .deadline = deadline };

	return get(q, &req, item, key, room);
}

int kwq_get_within(struct kwq *q, struct kwq_item *item, void *key, size_t room,
		   uint64_t timeout_ns)
{
	struct kwq_get_args req = { .flags = KWQ_GET_RELATIVE, .deadline = timeout_ns };

	return get(q, &req, item, key, room);
}

int kwq_try_get(struct kwq *q, struct kwq_item *item, void *key, size_t room)
{
	struct kwq_get_args req = { .flags = KWQ_GET_NONBLOCK };

	return get(q, &req, item, key, room);
}

static int next(struct kwq *q, uint64_t ticket, struct kwq_item *item, void *key,
		size_t room, uint32_t flags, uint64_t deadline)
{
	struct kwq_done_entry entry = { .ticket = ticket };
	__s32 result = -ECANCELED;
	struct kwq_get_args req = {
		.flags = flags,
		.deadline = deadline,
		.done = {
			.entries = kwq_ptr(&entry),
			.results = kwq_ptr(&result),
			.nr = 1,
			.entry_size = sizeof(entry),
		},
	};
	int ret;

	/* In the ABI ticket 0 means a done by key. The kernel would report EINVAL for
	 * that entry only, and go on with the get.
	 */
	if (!ticket) {
		item->done = -ECANCELED;
		return -EINVAL;
	}
	ret = get(q, &req, item, key, room);
	item->done = result;
	return ret;
}

int kwq_next(struct kwq *q, uint64_t ticket, struct kwq_item *item, void *key,
	     size_t room, uint64_t deadline)
{
	return next(q, ticket, item, key, room, 0, deadline);
}

int kwq_next_within(struct kwq *q, uint64_t ticket, struct kwq_item *item, void *key,
		    size_t room, uint64_t timeout_ns)
{
	return next(q, ticket, item, key, room, KWQ_GET_RELATIVE, timeout_ns);
}

int kwq_done(struct kwq *q, uint64_t ticket)
{
	struct kwq_done_entry entry = { .ticket = ticket };

	return kwq_one(q, KWQ_IOC_DONE, &entry, sizeof(entry), NULL, 0);
}

int kwq_done_with(struct kwq *q, uint64_t ticket, uint32_t flags)
{
	struct kwq_done_entry entry = { .ticket = ticket, .flags = flags };

	return kwq_one(q, KWQ_IOC_DONE, &entry, sizeof(entry), NULL, 0);
}

int kwq_bury(struct kwq *q, uint64_t ticket)
{
	return kwq_done_with(q, ticket, KWQ_DONE_DEAD);
}

int kwq_give_back(struct kwq *q, uint64_t ticket)
{
	return kwq_done_with(q, ticket, KWQ_DONE_RETURN);
}

int kwq_done_key(struct kwq *q, const void *key, size_t len)
{
	struct kwq_done_entry entry = { .key_len = len };

	return kwq_one(q, KWQ_IOC_DONE, &entry, sizeof(entry), key, len);
}

int kwq_extend(struct kwq *q, uint64_t ticket)
{
	struct kwq_extend_entry entry = { .ticket = ticket };

	return kwq_one(q, KWQ_IOC_EXTEND, &entry, sizeof(entry), NULL, 0);
}

int kwq_note(struct kwq *q, uint64_t ticket, const void *note, size_t len)
{
	const struct kwq_extend_entry entry = { .ticket = ticket, .flags = KWQ_EXTEND_NOTE };
	const struct kwq_add_extra extra = {
		.note = len ? kwq_ptr(note) : 0,
		.note_len = len,
	};

	if (len > KWQ_NOTE_MAX)
		return -EMSGSIZE;
	return kwq_one_with_extra(q, KWQ_IOC_EXTEND, &entry, sizeof(entry), NULL, 0, &extra,
				  sizeof(extra));
}

int kwq_extend_key(struct kwq *q, const void *key, size_t len)
{
	struct kwq_extend_entry entry = { .key_len = len };

	return kwq_one(q, KWQ_IOC_EXTEND, &entry, sizeof(entry), key, len);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Batches.
 */
#include <errno.h>

#include "internal.h"

static int op(const struct kwq *q, unsigned long request,
	      const struct kwq_batch *batch)
{
	struct kwq_batch_args req = { .size = sizeof(req), .batch = *batch };

	return kwq_ioctl(q->fd, request, &req);
}

/* The number of entries taken, or an error. */
static int add_waiting(const struct kwq *q, const struct kwq_batch *batch, uint32_t flags,
		       uint64_t deadline)
{
	struct kwq_add_args req = {
		.size = sizeof(req),
		.flags = KWQ_ADD_WAIT | flags,
		.batch = *batch,
		.deadline = deadline,
	};

	return kwq_ioctl(q->fd, KWQ_IOC_ADD, &req);
}

int kwq_one_waiting(const struct kwq *q, const struct kwq_add_entry *entry, const void *key,
		    size_t key_len, uint32_t flags, uint64_t deadline)
{
	__s32 result = -EIO;
	struct kwq_batch batch = {
		.entries = kwq_ptr(entry),
		.keys = key_len ? kwq_ptr(key) : 0,
		.results = kwq_ptr(&result),
		.keys_len = key_len,
		.nr = 1,
		.entry_size = sizeof(*entry),
	};
	int ret;

	/* As in kwq_one_with_extra(). */
	if (key_len > UINT32_MAX)
		return -EMSGSIZE;
	ret = add_waiting(q, &batch, flags, deadline);
	return ret < 0 ? ret : result;
}

int kwq_add_batch(struct kwq *q, const struct kwq_batch *batch)
{
	return op(q, KWQ_IOC_ADD, batch);
}

int kwq_add_batch_wait(struct kwq *q, const struct kwq_batch *batch, uint64_t deadline)
{
	return add_waiting(q, batch, 0, deadline);
}

int kwq_add_batch_wait_within(struct kwq *q, const struct kwq_batch *batch,
			      uint64_t timeout_ns)
{
	return add_waiting(q, batch, KWQ_ADD_RELATIVE, timeout_ns);
}

int kwq_done_batch(struct kwq *q, const struct kwq_batch *batch)
{
	return op(q, KWQ_IOC_DONE, batch);
}

int kwq_extend_batch(struct kwq *q, const struct kwq_batch *batch)
{
	return op(q, KWQ_IOC_EXTEND, batch);
}

int kwq_remove_batch(struct kwq *q, const struct kwq_batch *batch)
{
	return op(q, KWQ_IOC_REMOVE, batch);
}

int kwq_forget_batch(struct kwq *q, const struct kwq_batch *batch)
{
	return op(q, KWQ_IOC_FORGET, batch);
}

int kwq_num_requeues_batch(struct kwq *q, const struct kwq_batch *batch)
{
	return op(q, KWQ_IOC_REQUEUES, batch);
}

int kwq_restore_batch(struct kwq *q, const struct kwq_batch *batch)
{
	return op(q, KWQ_IOC_RESTORE, batch);
}

int kwq_get_batch(struct kwq *q, struct kwq_get_args *get)
{
	/* An earlier call that a signal ended may have left its deadline there. */
	get->resume = 0;
	return kwq_ioctl(q->fd, KWQ_IOC_GET, get);
}

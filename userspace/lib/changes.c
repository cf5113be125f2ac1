// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Following the changes of a queue, and waiting until they are kept.
 */
#include "internal.h"

int kwq_follow(struct kwq *q, uint64_t *number)
{
	struct kwq_follow_args req = { .size = sizeof(req) };
	int ret = kwq_ioctl(q->fd, KWQ_IOC_FOLLOW, &req);

	if (!ret)
		*number = req.number;
	return ret;
}

int kwq_changes(struct kwq *q, struct kwq_changes_args *changes)
{
	/* Left there by an earlier wait that a signal ended. */
	changes->resume = 0;
	return kwq_ioctl(q->fd, KWQ_IOC_CHANGES, changes);
}

int kwq_sync(struct kwq *q, uint64_t deadline)
{
	struct kwq_sync_args req = { .size = sizeof(req), .deadline = deadline };

	return kwq_ioctl(q->fd, KWQ_IOC_SYNC, &req);
}

int kwq_sync_within(struct kwq *q, uint64_t timeout_ns)
{
	struct kwq_sync_args req = {
		.size = sizeof(req),
		.flags = KWQ_SYNC_RELATIVE,
		.deadline = timeout_ns,
	};

	return kwq_ioctl(q->fd, KWQ_IOC_SYNC, &req);
}

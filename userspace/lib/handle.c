// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Creating, opening and closing handles. No other file of the library allocates memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

/*
 * Makes @q the owner of @fd. The queue's clock id is that of @of, another handle of the queue, or
 * is read once.
 */
static int adopt(struct kwq *q, int fd, const struct kwq *of)
{
	struct kwq_stat st = { .size = sizeof(st) };
	int ret;

	kwq_board_init(q);
	if (of) {
		q->fd = fd;
		q->clockid = of->clockid;
		return 0;
	}
	ret = kwq_ioctl(fd, KWQ_IOC_STAT, &st);
	if (ret < 0)
		return ret;
	q->fd = fd;
	q->clockid = st.clockid;
	return 0;
}

/*
 * Runs a request that returns a new descriptor, on the handle @of or, without one, on
 * /dev/kwq. The handle is allocated before the request, so that a new queue is never
 * lost for lack of memory.
 */
static int open_by(struct kwq **out, const struct kwq *of, unsigned long request, void *arg)
{
	struct kwq *q;
	int new_fd, ret;

	q = malloc(sizeof(*q));
	if (!q)
		return -ENOMEM;

	if (of)
		new_fd = kwq_ioctl(of->fd, request, arg);
	else
		new_fd = kwq_device_ioctl(request, arg);
	if (new_fd < 0) {
		ret = new_fd;
		goto free_handle;
	}

	ret = adopt(q, new_fd, of);
	if (ret)
		goto close_fd;
	*out = q;
	return 0;

close_fd:
	close(new_fd);
free_handle:
	free(q);
	return ret;
}

int kwq_check_owner(const struct kwq *q)
{
	struct kwq_stat st = { .size = sizeof(st) };
	int err = kwq_stat(q, &st);

	if (err)
		return err;
	return st.uid && st.uid != geteuid() ? -EPERM : 0;
}

/* Creates the queue, or opens one that the caller or root has created before. */
static int create_or_open(struct kwq **out, struct kwq_create_args *req)
{
	struct kwq *q;
	int ret = open_by(&q, NULL, KWQ_IOC_CREATE, req);

	if (ret)
		return ret;
	ret = kwq_check_owner(q);
	if (ret)
		kwq_close(q);
	else
		*out = q;
	return ret;
}

int kwq_create(struct kwq **q, const char *name,
	       const struct kwq_create_options *options)
{
	struct kwq_create_options o = {
		.open_flags = O_CLOEXEC,
		.mode = 0700,
		.clockid = CLOCK_MONOTONIC,
	};
	struct kwq_create_args req = { .size = sizeof(req) };
	int ret;

	if (options) {
		ret = kwq_copy_options(&o, sizeof(o), options, options->size);
		if (ret)
			return ret;
	}
	ret = kwq_copy_name(req.name, name);
	if (ret)
		return ret;

	req.flags = (o.or_open ? KWQ_CREATE_OR_OPEN : 0) |
		    (o.values ? KWQ_CREATE_VALUES : 0) |
		    (o.groups ? KWQ_CREATE_GROUPS : 0) |
		    (o.no_durations ? KWQ_CREATE_NO_DURATIONS : 0) |
		    (o.changes ? KWQ_CREATE_CHANGES : 0) |
		    (o.sync ? KWQ_CREATE_SYNC : 0) |
		    (o.outbox ? KWQ_CREATE_OUTBOX : 0);
	req.open_flags = o.open_flags;
	req.mode = name ? o.mode : 0;
	req.clockid = o.clockid;
	req.rights = o.rights ? o.rights : KWQ_RIGHTS_ALL;
	req.max_items = o.max_items;
	req.max_bytes = o.max_bytes;
	req.config = kwq_ptr(o.config);
	req.lease = o.lease;
	req.group_limit = o.group_limit;
	req.aging = o.aging;
	req.outbox = o.outbox ? o.outbox->fd : 0;
	return o.or_open ? create_or_open(q, &req) : open_by(q, NULL, KWQ_IOC_CREATE, &req);
}

int kwq_open(struct kwq **q, const char *name, unsigned int rights, int open_flags)
{
	struct kwq_open_args req = {
		.size = sizeof(req),
		.open_flags = open_flags,
		.rights = rights,
	};
	int ret;

	if (!name)
		return -EINVAL;
	ret = kwq_copy_name(req.name, name);
	return ret ? ret : open_by(q, NULL, KWQ_IOC_OPEN, &req);
}

int kwq_reopen(struct kwq **q, const struct kwq *of, unsigned int rights, int open_flags)
{
	struct kwq_open_args req = {
		.size = sizeof(req),
		.open_flags = open_flags,
		.rights = rights,
	};

	return open_by(q, of, KWQ_IOC_OPEN, &req);
}

int kwq_from_fd(struct kwq **out, int fd)
{
	struct kwq *q;
	int ret;

	q = malloc(sizeof(*q));
	if (!q)
		return -ENOMEM;
	ret = adopt(q, fd, NULL);
	if (ret) {
		free(q);
		return ret;
	}
	*out = q;
	return 0;
}

int kwq_fd(const struct kwq *q)
{
	return q->fd;
}

void kwq_close(struct kwq *q)
{
	if (!q)
		return;
	kwq_board_close(q);
	close(q->fd);
	free(q);
}

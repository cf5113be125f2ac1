// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A pipe of one page has one buffer. It is writable only once the reader has emptied that buffer,
 * so poll() tells when everything is read. A reader that went away before leaves the buffer full.
 */
#include "delivery.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/stat.h>

/* The kernel rounds this up to a page. */
enum { ONE_PAGE = 1 };

void delivery_begin(struct delivery *delivery, int fd)
{
	struct stat st;

	*delivery = (struct delivery){ .fd = -1 };
	if (fstat(fd, &st) || !S_ISFIFO(st.st_mode))
		return;
	delivery->size = fcntl(fd, F_GETPIPE_SZ);
	if (delivery->size > 0)
		delivery->fd = fd;
}

int delivery_await(const struct delivery *delivery)
{
	struct pollfd p = { .fd = delivery->fd, .events = POLLOUT };

	if (delivery->fd < 0)
		return 0;
	/*
	 * Each time, because another writer may have given the pipe its size back. If others have
	 * filled several pages, nobody can tell, and the write counts.
	 */
	if (fcntl(delivery->fd, F_SETPIPE_SZ, ONE_PAGE) < 0)
		return 0;
	while (poll(&p, 1, -1) < 0)
		if (errno != EINTR)
			return -errno;
	return p.revents & POLLOUT ? 0 : -EPIPE;
}

void delivery_end(const struct delivery *delivery)
{
	if (delivery->fd >= 0)
		fcntl(delivery->fd, F_SETPIPE_SZ, delivery->size);
}

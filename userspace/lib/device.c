// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Requests on /dev/kwq itself: module information and named queues.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

int kwq_device_ioctl(unsigned long request, void *arg)
{
	int fd, ret;

	fd = open("/dev/kwq", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		/* Requests use ENOENT for a queue that does not exist; a missing device
		 * is -ENODEV.
		 */
		return errno == ENOENT || errno == ENXIO ? -ENODEV : -errno;
	ret = kwq_ioctl(fd, request, arg);
	close(fd);
	return ret;
}

int kwq_copy_name(__u8 field[KWQ_NAME_MAX + 1], const char *name)
{
	size_t len;

	memset(field, 0, KWQ_NAME_MAX + 1);
	if (!name)
		return 0;
	len = strlen(name);
	if (!len)
		return -EINVAL;
	if (len > KWQ_NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(field, name, len);
	return 0;
}

int kwq_unlink(const char *name)
{
	struct kwq_unlink_args req = { .size = sizeof(req) };
	int ret;

	if (!name)
		return -EINVAL;
	ret = kwq_copy_name(req.name, name);
	return ret ? ret : kwq_device_ioctl(KWQ_IOC_UNLINK, &req);
}

int kwq_list(struct kwq_list_entry *entries, unsigned int nr, const char *after)
{
	struct kwq_list_args req = {
		.size = sizeof(req),
		.entries = kwq_ptr(entries),
		.nr = nr,
		.entry_size = sizeof(*entries),
	};
	int ret;

	ret = kwq_copy_name(req.after, after && *after ? after : NULL);
	return ret ? ret : kwq_device_ioctl(KWQ_IOC_LIST, &req);
}

int kwq_info(struct kwq_info *info)
{
	return kwq_device_ioctl(KWQ_IOC_INFO, info);
}

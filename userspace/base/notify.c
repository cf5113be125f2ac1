// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "number.h"

int notify_send(const char *state)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	size_t length;
	int fd, err = 1;

	if (!path)
		return 0;
	length = strlen(path);
	if ((*path != '/' && *path != '@') || length < 2)
		return -EAFNOSUPPORT;
	if (length >= sizeof(to.sun_path))
		return -E2BIG;
	memcpy(to.sun_path, path, length);
	if (*path == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* An abstract address ends with its last byte, not with a zero. */
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
		   offsetof(struct sockaddr_un, sun_path) + length) < 0)
		err = -errno;
	close(fd);
	return err;
}

int notify_reloading(void)
{
	struct timespec now;
	char state[80];

	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%llu",
		 now.tv_sec * 1000000ull + now.tv_nsec / 1000);
	return notify_send(state);
}

uint64_t notify_watchdog(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t n;

	if (pid && (parse_number(pid, 1, INT32_MAX, &n) || n != (uint64_t)getpid()))
		return 0;
	return usec && !parse_number(usec, 1, UINT64_MAX - 1, &n) ? n : 0;
}

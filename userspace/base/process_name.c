// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "process_name.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "escape.h"

char *process_name(char *to, pid_t pid)
{
	char path[40], name[16];
	ssize_t len = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, name, sizeof(name) - 1);
		close(fd);
	}
	if (len > 0 && name[len - 1] == '\n')
		len--;
	if (len <= 0)
		name[0] = '-';
	return escape_text(to, name, len > 0 ? len : 1);
}

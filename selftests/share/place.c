// SPDX-License-Identifier: GPL-2.0-only
/*
 * place MACHINE[/PART] COMMAND...: runs the command in the network namespace of that machine, and
 * in the control group MACHINE[/PART]. So everything of a machine, or of a part of it, can be
 * killed or stopped at once.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char path[256];
	int fd;

	if (argc < 3)
		errx(2, "usage: place MACHINE[/PART] COMMAND...");
	snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/cgroup.procs", argv[1]);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		err(2, "%s", path);
	close(fd);
	snprintf(path, sizeof(path), "/run/netns/%.*s", (int)strcspn(argv[1], "/"), argv[1]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		err(2, "%s", path);
	close(fd);
	execvp(argv[2], argv + 2);
	err(2, "%s", argv[2]);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "editor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/output.h"

/* The variable may hold options and quotes, too, so a shell reads it. */
static const char script[] = "eval \"exec ${VISUAL:-${EDITOR:-vi}} \\\"\\$1\\\"\"";

static int run(const char *path)
{
	pid_t pid;
	int status;

	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		execl("/bin/sh", "sh", "-c", script, "sh", path, NULL);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -ECANCELED;
}

/* An editor may have replaced the file by another one of the same name. */
static int read_back(const char *path, char *bytes, size_t room)
{
	size_t filled = 0;
	ssize_t got = 0;
	char extra;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (filled < room && (got = read(fd, bytes + filled, room - filled)) > 0)
		filled += got;
	if (got >= 0 && filled == room)
		got = read(fd, &extra, 1);
	close(fd);
	if (got < 0)
		return -errno;
	return got ? -EMSGSIZE : (int)filled;
}

int editor_run(char *bytes, size_t len, size_t room)
{
	const char *folder = getenv("TMPDIR");
	char path[4096];
	int fd, ret;

	if (snprintf(path, sizeof(path), "%s/kwq-edit-XXXXXX",
		     folder && *folder ? folder : "/tmp") >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = write_all(fd, bytes, len);
	close(fd);
	if (!ret)
		ret = run(path);
	if (!ret)
		ret = read_back(path, bytes, room);
	unlink(path);
	return ret;
}

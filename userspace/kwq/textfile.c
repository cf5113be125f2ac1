// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"

static int fill(int fd, const char *bytes, size_t len)
{
	int err = write_all(fd, bytes, len);

	if (err)
		return err;
	/* Whatever the umask: node_exporter runs as somebody else. */
	if (fchmod(fd, 0644) || fsync(fd))
		return -errno;
	return 0;
}

/* So that the new name too is there after a crash. Not every file system can. */
static void sync_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX] = ".";
	int fd;

	if (slash)
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path) + 1, path);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
}

int replace_file(const char *path, const char *bytes, size_t len)
{
	char part[PATH_MAX];
	struct stat st;
	int fd, err;

	/* rename() would take a device or a pipe away. */
	if (!lstat(path, &st) && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	/* In the same folder, as rename() wants it, and not as *.prom, which is read. */
	if (snprintf(part, sizeof(part), "%s.XXXXXX", path) >= (int)sizeof(part))
		return -ENAMETOOLONG;
	fd = mkostemp(part, O_CLOEXEC);
	if (fd < 0)
		return -errno;

	err = fill(fd, bytes, len);
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(part, path))
		err = -errno;
	if (err) {
		unlink(part);
		return err;
	}
	sync_folder(path);
	return 0;
}

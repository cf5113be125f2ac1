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

#include "base/output.h"

static int fill(int fd, const char *bytes, size_t len, enum durability durability)
{
	int err = write_all(fd, bytes, len);

	if (err)
		return err;
	/* Readable despite the umask: node_exporter runs as another user. */
	if (fchmod(fd, 0644) || (durability == FILE_IS_DURABLE && fsync(fd)))
		return -errno;
	return 0;
}

/*
 * Makes the renamed file survive a crash. Not every file system supports fsync() on a
 * folder.
 */
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

int replace_file(const char *path, const char *bytes, size_t len, enum durability durability)
{
	char part[PATH_MAX];
	struct stat st;
	int fd, err;

	/* rename() would replace a device or a pipe. */
	if (!lstat(path, &st) && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	/* rename() needs the same folder. The suffix keeps the collector from reading
	 * it: it reads *.prom.
	 */
	if (snprintf(part, sizeof(part), "%s.XXXXXX", path) >= (int)sizeof(part))
		return -ENAMETOOLONG;
	fd = mkostemp(part, O_CLOEXEC);
	if (fd < 0)
		return -errno;

	err = fill(fd, bytes, len, durability);
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(part, path))
		err = -errno;
	if (err) {
		unlink(part);
		return err;
	}
	if (durability == FILE_IS_DURABLE)
		sync_folder(path);
	return 0;
}

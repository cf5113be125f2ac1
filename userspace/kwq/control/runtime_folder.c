// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "runtime_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool runtime_folder(char to[RUNTIME_FOLDER_SIZE], unsigned int number, uid_t uid,
		    const struct runtime_environment *env)
{
	const char *folder;
	int len = -1;

	switch (number) {
	case 0:
		/* systemd sets a list with colons. */
		folder = env->runtime_directory;
		if (folder && *folder == '/')
			len = snprintf(to, RUNTIME_FOLDER_SIZE, "%.*s",
				       (int)strcspn(folder, ":"), folder);
		break;
	case 1:
		folder = env->xdg_runtime_dir;
		if (folder && *folder == '/')
			len = snprintf(to, RUNTIME_FOLDER_SIZE, "%s/kwq", folder);
		break;
	case 2:
		if (!uid)
			len = snprintf(to, RUNTIME_FOLDER_SIZE, "/run/kwq");
		break;
	case 3:
		len = snprintf(to, RUNTIME_FOLDER_SIZE, "/tmp/kwq-%u", uid);
		break;
	}
	return len > 0 && len < RUNTIME_FOLDER_SIZE;
}

int runtime_folder_open(const char *path, uid_t uid, bool create)
{
	struct stat st;
	int fd;

	if (create && mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* Anybody can make a folder in /tmp first. */
	if (!fstat(fd, &st) && st.st_uid == uid && !(st.st_mode & 0022))
		return fd;
	close(fd);
	return -EPERM;
}

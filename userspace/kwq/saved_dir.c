// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "saved_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"

static const char suffix[] = ".kwq";

/* The longest part of a queue's name that a file's name has room for. */
enum { PART_MAX = 200 };

/* FNV-1a, for names that are too long for a file. */
static unsigned long long hash(const char *s)
{
	unsigned long long h = 0xcbf29ce484222325;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3;
	return h;
}

char *saved_path(const char *dir, const char *name)
{
	char *path;
	int ret;

	if (strlen(name) <= PART_MAX)
		ret = asprintf(&path, "%s/%s%s", dir, name, suffix);
	else
		ret = asprintf(&path, "%s/%.*s-%016llx%s", dir, PART_MAX, name, hash(name), suffix);
	if (ret < 0)
		exit(complain("memory", -ENOMEM));
	return path;
}

static int is_saved(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name), end = strlen(suffix);

	return len > end && !strcmp(entry->d_name + len - end, suffix);
}

int each_saved(const char *dir, int (*fn)(const char *path, void *arg), void *arg)
{
	struct dirent **entries;
	int status = STATUS_OK, one, nr, i;
	char *path;

	nr = scandir(dir, &entries, is_saved, alphasort);
	if (nr < 0) {
		message("%s: %s", dir, strerror(errno));
		return STATUS_FAILED;
	}
	for (i = 0; i < nr; i++) {
		if (asprintf(&path, "%s/%s", dir, entries[i]->d_name) < 0)
			exit(complain("memory", -ENOMEM));
		one = fn(path, arg);
		if (one)
			status = one;
		free(path);
		free(entries[i]);
	}
	free(entries);
	return status;
}

static int remove_if_older(const char *path, void *arg)
{
	const struct timespec *time = arg;
	struct stat st;

	if (stat(path, &st))
		return STATUS_OK;
	if (st.st_mtim.tv_sec > time->tv_sec ||
	    (st.st_mtim.tv_sec == time->tv_sec && st.st_mtim.tv_nsec >= time->tv_nsec))
		return STATUS_OK;
	if (!unlink(path))
		return STATUS_OK;
	message("%s: %s", path, strerror(errno));
	return STATUS_FAILED;
}

int remove_older(const char *dir, const struct timespec *time)
{
	return each_saved(dir, remove_if_older, (void *)time);
}

char *set_aside(const char *path)
{
	unsigned int nr;
	char *aside;
	int ret, err;

	for (nr = 0;; nr++) {
		ret = nr ? asprintf(&aside, "%s.failed.%u", path, nr) :
			   asprintf(&aside, "%s.failed", path);
		if (ret < 0)
			exit(complain("memory", -ENOMEM));
		/* The keys of a file that was set aside before are nowhere else. */
		ret = renameat2(AT_FDCWD, path, AT_FDCWD, aside, RENAME_NOREPLACE);
		if (!ret)
			ret = sync_dir_of(path);
		if (!ret)
			return aside;
		err = errno;
		free(aside);
		errno = err;
		if (err != EEXIST)
			return NULL;
	}
}

int sync_dir_of(const char *path)
{
	char *copy = strdup(path);
	int fd, err;

	if (!copy)
		return -1;
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(copy);
	if (fd < 0)
		return -1;
	err = fsync(fd);
	close(fd);
	return err;
}

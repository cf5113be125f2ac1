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

#include "base/cmd.h"
#include "base/escape.h"
#include "saved.h"

static const char suffix[] = ".kwq";
static const char loading[] = ".kwq.loading";

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

/*
 * The length of a file's name without what set_aside() has added, or 0 for a file that is not
 * saved, or that has failed.
 */
static size_t base_len(const char *name)
{
	const char *aside = strstr(name, loading);
	size_t len = aside ? (size_t)(aside - name) + strlen(suffix) : strlen(name);
	size_t end = strlen(suffix);

	return len > end && !memcmp(name + len - end, suffix, end) ? len : 0;
}

static int is_saved(const struct dirent *entry)
{
	return base_len(entry->d_name) > 0;
}

bool is_set_aside(const char *path)
{
	return strstr(path, loading);
}

bool is_saved_by_kwq(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	bool is_ours = fd >= 0 && saved_has_header(fd);

	if (fd >= 0)
		close(fd);
	return is_ours;
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

struct prune {
	bool (*is_kept)(const char *path);
	bool verbose, json;
};

static int prune_one(const char *path, void *arg)
{
	const struct prune *prune = arg;

	if (is_set_aside(path) || prune->is_kept(path) || !is_saved_by_kwq(path))
		return STATUS_OK;
	if (unlink(path)) {
		message("%s: %s", path, strerror(errno));
		return STATUS_FAILED;
	}
	if (prune->json) {
		putchar('{');
		json_bytes(stdout, "file", path, strlen(path));
		puts(",\"removed\":true}");
	} else if (prune->verbose) {
		print_escaped(stdout, path, strlen(path));
		puts(": removed");
	}
	return STATUS_OK;
}

int prune_saved(const char *dir, bool (*is_kept)(const char *path), bool verbose, bool json)
{
	struct prune prune = { .is_kept = is_kept, .verbose = verbose, .json = json };

	return each_saved(dir, prune_one, &prune);
}

char *set_aside(const char *path, const char *as)
{
	size_t len = base_len(path);
	unsigned int nr;
	char *aside;
	int ret, err;

	if (!len)
		len = strlen(path);
	for (nr = 0;; nr++) {
		ret = nr ? asprintf(&aside, "%.*s.%s.%u", (int)len, path, as, nr) :
			   asprintf(&aside, "%.*s.%s", (int)len, path, as);
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

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "log_folder.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/escape.h"

#define NS_PER_DAY (86400 * NS_PER_S)

/* The day of a file's name, or -1 for another file. */
static int64_t day_of(const char *name)
{
	struct tm tm = { 0 };
	const char *end = strptime(name, "%Y-%m-%d.log", &tm);

	/* Without leading zeros it is not a name that this file makes. */
	if (!end || *end || strlen(name) != strlen("YYYY-MM-DD.log"))
		return -1;
	return timegm(&tm) / 86400;
}

int log_folder_has(const struct dirent *entry)
{
	return day_of(entry->d_name) >= 0;
}

/* A file that cannot be removed stays, and kwq log shows it. */
static void remove_old(const struct log_folder *log, uint64_t now)
{
	struct dirent **files;
	char path[PATH_MAX];
	uint64_t end;
	int i, nr;

	nr = scandir(log->path, &files, log_folder_has, alphasort);
	for (i = 0; i < nr; i++) {
		end = (day_of(files[i]->d_name) + 1) * NS_PER_DAY;
		if (end < now && now - end > log->keep &&
		    snprintf(path, sizeof(path), "%s/%s", log->path, files[i]->d_name) <
		    (int)sizeof(path))
			unlink(path);
		free(files[i]);
	}
	if (nr >= 0)
		free(files);
}

static int open_day(struct log_folder *log, uint64_t now)
{
	time_t seconds = now / NS_PER_S;
	char path[PATH_MAX], day[40];
	struct tm tm;
	int fd;

	gmtime_r(&seconds, &tm);
	strftime(day, sizeof(day), "%Y-%m-%d", &tm);
	if (snprintf(path, sizeof(path), "%s/%s.log", log->path, day) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = joblog_open(path);
	if (fd < 0)
		return fd;
	log_folder_close(log);
	log->fd = fd;
	log->day = now / NS_PER_DAY;
	remove_old(log, now);
	return 0;
}

int log_folder_open(struct log_folder *log, const char *path, uint64_t keep, uint64_t now)
{
	*log = (struct log_folder){ .path = path, .keep = keep, .fd = -1 };
	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	return open_day(log, now);
}

static void print_output(FILE *to, int stream, const struct log_output *output)
{
	const char *at = output->bytes, *end = at + output->len, *newline;

	for (; at < end; at = newline + 1) {
		newline = memchr(at, '\n', end - at);
		if (!newline)
			newline = end;
		fprintf(to, " %d\t", stream);
		print_escaped(to, at, newline - at);
		fputc('\n', to);
	}
}

int log_folder_write(struct log_folder *log, uint64_t now, const struct joblog_entry *entry,
		     const struct log_output output[2])
{
	char *text = NULL;
	size_t len = 0;
	FILE *to;
	int err;

	if ((int64_t)(now / NS_PER_DAY) != log->day) {
		err = open_day(log, now);
		if (err)
			return err;
	}
	to = open_memstream(&text, &len);
	if (!to)
		return -ENOMEM;
	joblog_print(to, entry);
	print_output(to, 1, &output[0]);
	print_output(to, 2, &output[1]);
	err = ferror(to);
	err = fclose(to) || err ? -ENOMEM : joblog_append(log->fd, text, len);
	free(text);
	return err;
}

void log_folder_close(struct log_folder *log)
{
	if (log->fd >= 0)
		close(log->fd);
	log->fd = -1;
}

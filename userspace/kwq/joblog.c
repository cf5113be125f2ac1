// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "joblog.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kwq.h>

#include "duration.h"
#include "escape.h"
#include "output.h"

static const char head[] =
	"Seq\tHost\tStarttime\tJobRuntime\tExitval\tSignal\tAttempt\tAbandoned\tKey\n";

/*
 * Writes a whole line or, on a full disk, nothing: a torn line would merge with the
 * next one. If another process has appended behind a torn line, that line stays.
 */
static int write_line(int fd, const char *line, size_t len)
{
	ssize_t written;
	struct stat st;
	off_t begin;
	int err;

	/* Only a regular file can be truncated. The write to a pipe may block. */
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return write_all(fd, line, len);
	written = write(fd, line, len);
	if (written < 0)
		written = 0;
	/* Other processes may append too, so the position is known only after a write. */
	begin = lseek(fd, 0, SEEK_CUR) - written;
	err = write_all(fd, line + written, len - written);
	if (err && written && begin >= 0 && !fstat(fd, &st) &&
	    st.st_size == lseek(fd, 0, SEEK_CUR) && ftruncate(fd, begin))
		return -errno;
	return err;
}

int joblog_open(const char *path)
{
	struct stat st;
	int fd, err = 0;

	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && !st.st_size)
		err = write_line(fd, head, sizeof(head) - 1);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

int joblog_write(int fd, const struct joblog_entry *entry)
{
	char name[HOST_NAME_MAX + 1] = "", host[ESCAPED_SIZE(HOST_NAME_MAX)];
	char key[ESCAPED_SIZE(KWQ_KEY_MAX)], line[sizeof(key) + sizeof(host) + 200];
	int len;

	gethostname(name, sizeof(name) - 1);
	escape_text(host, name, strlen(name));
	escape_text(key, entry->key, entry->key_len);
	len = snprintf(line, sizeof(line),
		       "%llu\t%s\t%" PRIu64 ".%06" PRIu64 "\t%" PRIu64 ".%06" PRIu64
		       "\t%d\t%d\t%u\t%u\t%s\n",
		       entry->seq, host,
		       entry->started / NS_PER_S, entry->started % NS_PER_S / NS_PER_US,
		       entry->runtime / NS_PER_S, entry->runtime % NS_PER_S / NS_PER_US,
		       entry->exit, entry->signal, entry->attempt, entry->abandoned, key);
	return write_line(fd, line, len);
}

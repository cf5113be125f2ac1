// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U5: the job log of kwq run on a full disk. A limit on the file size tears a write as
 * a full disk does.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "joblog.h"
#include "tap.h"

static const struct joblog_entry entry = { .attempt = 1, .key = "key", .key_len = 3 };

static void limit_files(rlim_t size)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = size;
	setrlimit(RLIMIT_FSIZE, &limit);
}

/*
 * Writes a line under a limit on file sizes. The limit must be short-lived, because TAP
 * may go to a file, too.
 */
static int write_limited(int fd, rlim_t size)
{
	int ret;

	limit_files(size);
	ret = joblog_write(fd, &entry);
	limit_files(RLIM_INFINITY);
	return ret;
}

static off_t size_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? -1 : st.st_size;
}

static char last_byte(const char *path, int fd)
{
	int again = open(path, O_RDONLY);
	char byte = 0;

	if (pread(again, &byte, 1, size_of(fd) - 1) != 1)
		byte = 0;
	close(again);
	return byte;
}

static void test_torn_line(const char *path)
{
	int fd = joblog_open(path);
	off_t whole;

	ok(fd >= 0, "a log opens");
	is_number(joblog_write(fd, &entry), 0, "a line fits");
	whole = size_of(fd);

	is_number(write_limited(fd, whole + 5), -EFBIG, "a line that does not fit is an error");
	is_number(size_of(fd), whole, "and leaves nothing behind");
	is_number(write_limited(fd, whole), -EFBIG, "nor does one of which no byte fits");
	is_number(size_of(fd), whole, "the lines before it stay");
	ok(last_byte(path, fd) == '\n', "so the line of the next run is not glued to it");
	is_number(joblog_write(fd, &entry), 0, "which it can write");
	ok(size_of(fd) > whole, "behind the others");
	close(fd);
}

static void test_torn_head(const char *path)
{
	int fd, ret;

	if (truncate(path, 0))
		exit(1);
	limit_files(5);
	ret = joblog_open(path);
	limit_files(RLIM_INFINITY);
	is_number(ret, -EFBIG, "a head that does not fit is an error");
	fd = open(path, O_RDONLY);
	is_number(size_of(fd), 0, "and leaves nothing behind");
	close(fd);
}

/* A device that has no position and cannot be truncated. */
static void test_no_file(void)
{
	int fd = open("/dev/full", O_WRONLY | O_APPEND);

	is_number(joblog_write(fd, &entry), -ENOSPC, "a device that is full");
	close(fd);
}

int main(void)
{
	char path[] = "/tmp/kwq-unit-joblog-XXXXXX";

	close(mkstemp(path));
	signal(SIGXFSZ, SIG_IGN);
	test_torn_line(path);
	test_torn_head(path);
	test_no_file();
	unlink(path);
	return done_testing();
}

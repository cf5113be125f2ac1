// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U5: a file of kwq run --log, and a full disk. A limit on the file size tears a write as a full
 * disk does.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/duration.h"
#include "kwq/job/joblog.h"
#include "tap.h"

static char *command[] = { "echo", "key", NULL };
static const struct joblog_entry entry = {
	.command = command, .attempt = 1, .key = "key", .key_len = 3,
};

static char text[5000];

static const char *read_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	ssize_t len = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[len < 0 ? 0 : len] = '\0';
	return text;
}

static int write_line(int fd, const struct joblog_entry *one)
{
	char line[5000];
	FILE *to = fmemopen(line, sizeof(line), "w");
	long len;

	joblog_print(to, one);
	len = ftell(to);
	fclose(to);
	return joblog_append(fd, line, len);
}

#define HEAD "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\t" \
	"Attempt\tAbandoned\tOutcome\tKey\n"

static void test_line(const char *path)
{
	char *words[7] = { "a'b", "", "x y", "$'\t\xff", "-o=1", "c:/d.e", NULL };
	const struct joblog_entry one = {
		.seq = 7,
		.started = 1795215300 * NS_PER_S + 42,
		.runtime = 1500 * NS_PER_MS,
		.sent = 5,
		.received = 6,
		.exit = -1,
		.signal = 9,
		.command = words,
		.attempt = 3,
		.abandoned = 2,
		.outcome = JOBLOG_RETRY,
		.key = "a\tb\n\xff",
		.key_len = 5,
	};
	char host[HOST_NAME_MAX + 1], line[1000], wanted[3000];
	int fd = joblog_open(path);

	ok(fd >= 0, "a log opens");
	is_number(write_line(fd, &one), 0, "and takes a line");
	close(fd);
	fd = joblog_open(path);
	write_line(fd, &one);
	close(fd);

	gethostname(host, sizeof(host));
	snprintf(line, sizeof(line), "7\t%s\t1795215300.000000\t1.500000\t5\t6\t-1\t9\t%s\t3\t2\t"
		 "retry\ta\\tb\\n\\xff\n", host,
		 "'a'\\''b' '' 'x y' $'$\\'\\t\\xff' '-o=1' c:/d.e");
	snprintf(wanted, sizeof(wanted), HEAD "%s%s", line, line);
	is_string(read_file(path), wanted,
		  "one head, a line a job with parallel's columns, and neither tabs nor newlines");
	is_number(joblog_open("/nonexistent/log"), -ENOENT, "a log that cannot be opened");
}

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
	ret = write_line(fd, &entry);
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
	is_number(write_line(fd, &entry), 0, "a line fits");
	whole = size_of(fd);

	is_number(write_limited(fd, whole + 5), -EFBIG, "a line that does not fit is an error");
	is_number(size_of(fd), whole, "and leaves nothing behind");
	is_number(write_limited(fd, whole), -EFBIG, "nor does one of which no byte fits");
	is_number(size_of(fd), whole, "the lines before it stay");
	ok(last_byte(path, fd) == '\n', "so the line of the next run is not glued to it");
	is_number(write_line(fd, &entry), 0, "which it can write");
	ok(size_of(fd) > whole, "behind the others");
	close(fd);
}

/* The machine stopped in the middle of a line. */
static void test_torn_before(const char *path)
{
	int fd = joblog_open(path);
	off_t whole = size_of(fd);

	if (ftruncate(fd, whole - 3))
		exit(1);
	close(fd);
	fd = joblog_open(path);
	is_number(size_of(fd), whole - 2, "a last line that is torn gets its end");
	ok(last_byte(path, fd) == '\n', "so no line is glued to it");
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

	is_number(write_line(fd, &entry), -ENOSPC, "a device that is full");
	close(fd);
}

int main(void)
{
	char path[] = "/tmp/kwq-unit-joblog-XXXXXX";

	close(mkstemp(path));
	signal(SIGXFSZ, SIG_IGN);
	test_line(path);
	unlink(path);
	test_torn_line(path);
	test_torn_before(path);
	test_torn_head(path);
	test_no_file();
	unlink(path);
	return done_testing();
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U5: the job log of kwq run, what --resume makes of it, and a full disk. A limit on the file
 * size tears a write as a full disk does.
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
#include "kwq/run/resume.h"
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

static void write_file(const char *path, const char *bytes)
{
	FILE *to = fopen(path, "w");

	if (!to || fputs(bytes, to) < 0 || fclose(to))
		exit(1);
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
	is_number(joblog_write(fd, &one), 0, "and takes a line");
	close(fd);
	fd = joblog_open(path);
	joblog_write(fd, &one);
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

#define LINE(outcome, key) "1\th\t1.0\t1.0\t0\t0\t0\t0\tc\t1\t0\t" outcome "\t" key "\n"

/* Takes a key as --resume does. Returns the name of its outcome, or "runs". */
static const char *taken(struct resume_table *table, const char *key, size_t len)
{
	enum joblog_outcome outcome;

	if (!resume_take(table, key, len, &outcome))
		return "runs";
	return outcome == JOBLOG_DONE ? "done" : outcome == JOBLOG_DEAD ? "dead" :
		outcome == JOBLOG_DROP ? "drop" : "?";
}

static void test_resume(const char *path)
{
	static const char log[] = HEAD LINE("done", "a\\tb") LINE("done", "a")
		LINE("dead", "dead") LINE("drop", "drop") LINE("retry", "again")
		LINE("return", "back") LINE("lost", "lost")
		LINE("retry", "late") LINE("done", "late")
		LINE("done", "added") LINE("retry", "added");
	struct resume_table table = { 0 };

	write_file(path, log);
	is_number(resume_read(&table, path, RESUME_SETTLED), 0, "a log is read");
	is_number(table.keys, 5, "with all that is settled");
	is_number(table.torn, 0, "and whole lines");
	is_string(taken(&table, "a\tb", 3), "done", "a key with a tab");
	is_string(taken(&table, "a", 1), "done", "a key that is its beginning");
	is_string(taken(&table, "a", 1), "runs", "the next add of a key runs");
	is_string(taken(&table, "dead", 4), "dead", "a dead letter");
	is_string(taken(&table, "drop", 4), "drop", "a dropped key");
	is_string(taken(&table, "again", 5), "runs", "a key that is to be retried");
	is_string(taken(&table, "back", 4), "runs", "a key that went back");
	is_string(taken(&table, "lost", 4), "runs", "a key that was lost");
	is_string(taken(&table, "late", 4), "done", "a retry that succeeded");
	is_string(taken(&table, "added", 5), "runs", "the last line of a key counts");
	is_number(table.keys, 0, "nothing else is in the table");
	resume_free(&table);

	is_number(resume_read(&table, path, RESUME_FAILED), 0, "--resume-failed");
	is_string(taken(&table, "dead", 4), "runs", "runs a dead letter");
	is_string(taken(&table, "drop", 4), "runs", "and a dropped key");
	is_string(taken(&table, "a", 1), "done", "and not what was done");
	resume_free(&table);
}

static void test_resume_torn(const char *path)
{
	struct resume_table table = { 0 };
	int fd;

	write_file(path, HEAD LINE("done", "a") LINE("done", "b\\q") LINE("fine", "c")
		   LINE("done", "") LINE("done", "d\te") "1\th\n\n1\th\t1");
	is_number(resume_read(&table, path, RESUME_SETTLED), 0, "a log with torn lines is read");
	is_number(table.torn, 7, "they are counted");
	is_number(table.keys, 1, "and settle no key");
	resume_free(&table);

	fd = joblog_open(path);
	joblog_write(fd, &entry);
	close(fd);
	table = (struct resume_table){ 0 };
	resume_read(&table, path, RESUME_SETTLED);
	is_number(table.torn, 7, "no line is glued to a torn one");
	is_string(taken(&table, "key", 3), "done", "so it counts");
	resume_free(&table);
}

static void test_resume_other(const char *path)
{
	struct resume_table table = { 0 };

	is_number(resume_read(&table, "/nonexistent/log", RESUME_SETTLED), 0,
		  "a log that is not there yet");
	is_number(resume_read(&table, "/", RESUME_SETTLED), -EBADMSG, "a folder");
	is_number(resume_read(&table, "/dev/null", RESUME_SETTLED), -EBADMSG, "a device");
	write_file(path, "");
	is_number(resume_read(&table, path, RESUME_SETTLED), 0, "an empty file");
	write_file(path, "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\t"
		   "Command\n");
	is_number(resume_read(&table, path, RESUME_SETTLED), -EBADMSG, "a log of GNU parallel");
	resume_free(&table);
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
	test_line(path);
	test_resume(path);
	test_resume_torn(path);
	test_resume_other(path);
	unlink(path);
	test_torn_line(path);
	test_torn_head(path);
	test_no_file();
	unlink(path);
	return done_testing();
}

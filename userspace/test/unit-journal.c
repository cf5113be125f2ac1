// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U7: what kwq run --output journal sends. The journal is a socket of this test.
 */
#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/journal.h"
#include "base/output.h"
#include "tap.h"

static const struct journal_job job = {
	.key = "a\nb\0c",
	.key_len = 5,
	.attempt = 3,
	.stream = "stdout",
};

static char datagram[100000];
static ssize_t length;

/* Finds a field of the entry: its value, or NULL. */
static const char *field(const char *name, uint64_t *len)
{
	const char *at = datagram, *end = datagram + length;
	size_t name_len;

	while (at < end) {
		const char *newline = memchr(at, '\n', end - at);

		if (!newline || newline + 1 + sizeof(*len) > end)
			break;
		name_len = newline - at;
		memcpy(len, newline + 1, sizeof(*len));
		*len = le64toh(*len);
		if (newline + 1 + sizeof(*len) + *len >= end ||
		    newline[1 + sizeof(*len) + *len] != '\n')
			break;
		if (name_len == strlen(name) && !memcmp(at, name, name_len))
			return newline + 1 + sizeof(*len);
		at = newline + 1 + sizeof(*len) + *len + 1;
	}
	return NULL;
}

static void has(const char *name, const char *wanted, size_t wanted_len)
{
	uint64_t len = 0;
	const char *value = field(name, &len);

	ok(value && len == wanted_len && !memcmp(value, wanted, len), "its %s", name);
}

static int receive(int fd)
{
	length = recv(fd, datagram, sizeof(datagram), MSG_DONTWAIT);
	return length < 0 ? -errno : 0;
}

static void test_entry(int fd)
{
	uint64_t len;

	is_number(journal_send(&job, LOG_WARNING, "one\ntwo", 7), 0, "an entry is sent");
	is_number(receive(fd), 0, "and arrives");
	has("MESSAGE", "one\ntwo", 7);
	has("PRIORITY", "4", 1);
	has("SYSLOG_IDENTIFIER", "convert", 7);
	has("KWQ_QUEUE", "jobs", 4);
	has("KWQ_KEY", "a\nb\0c", 5);
	has("KWQ_ATTEMPT", "3", 1);
	has("KWQ_STREAM", "stdout", 6);
	is_number(journal_send(&(struct journal_job){ .key = "k", .key_len = 1 }, LOG_INFO, "", 0),
		  0, "a message of kwq run itself");
	receive(fd);
	has("MESSAGE", "", 0);
	ok(!field("KWQ_STREAM", &len), "has no stream");
}

static void test_lines(int fd)
{
	is_number(journal_send_lines(&job, "first\n\n<3>third\n<9>fourth", 25), 0, "four lines");
	receive(fd);
	has("MESSAGE", "first", 5);
	has("PRIORITY", "6", 1);
	receive(fd);
	has("MESSAGE", "", 0);
	receive(fd);
	has("MESSAGE", "third", 5);
	has("PRIORITY", "3", 1);
	receive(fd);
	has("MESSAGE", "<9>fourth", 9);
	has("PRIORITY", "6", 1);
	is_number(receive(fd), -EAGAIN, "and no more");
}

/* A stream of a job: lines are entries, and the last one needs no newline. */
static void test_stream(int fd)
{
	struct stream s = { 0 };

	is_number(stream_open(&s, OUTPUT_JOURNAL, STDOUT_FILENO), 0, "a stream to the journal");
	s.journal = job;
	ok(write(s.child_fd, "one\ntwo", 7) == 7, "a job writes");
	is_number(stream_pump(&s), 0, "it is read");
	receive(fd);
	has("MESSAGE", "one", 3);
	is_number(receive(fd), -EAGAIN, "an incomplete line waits");
	is_number(stream_flush(&s, OUTPUT_JOURNAL), 0, "until the job has ended");
	receive(fd);
	has("MESSAGE", "two", 3);
	has("KWQ_KEY", "a\nb\0c", 5);
	is_number(receive(fd), -EAGAIN, "and there is no entry for the missing newline");
	stream_close(&s);
	free(s.line);
}

/* The largest entry that kwq run can send fits into a datagram. */
static void test_large(int fd)
{
	static char line[OUTPUT_LINE_MAX], key[KWQ_KEY_MAX];
	const struct journal_job large = { .key = key, .key_len = sizeof(key), .stream = "stderr" };

	memset(line, 'x', sizeof(line));
	memset(key, 'k', sizeof(key));
	is_number(journal_send_lines(&large, line, sizeof(line)), 0, "the largest entry");
	receive(fd);
	has("MESSAGE", line, sizeof(line));
	has("KWQ_KEY", key, sizeof(key));
}

static bool give_up(void *arg)
{
	++*(int *)arg;
	return false;
}

/* A journal that does not read makes kwq run wait. A second signal ends the wait. */
static void test_busy(int fd)
{
	int pair[2], calls = 0, sent = 0, err;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		abort();
	write_watch(pair[0], give_up, &calls);
	ok(write(pair[1], "x", 1) == 1, "a signal comes");
	err = journal_send(&job, LOG_INFO, "text", 4);
	while (!err && sent++ < 100000)
		err = journal_send(&job, LOG_INFO, "text", 4);
	is_number(err, -ECANCELED, "a full journal is given up");
	is_number(calls, 1, "after one question");
	write_watch(-1, NULL, NULL);
	while (!receive(fd))
		;
	is_number(journal_send(&job, LOG_INFO, "text", 4), 0, "it works again");
	close(pair[0]);
	close(pair[1]);
}

static void test_errors(int fd, const char *path)
{
	char longer[200];

	is_number(journal_open("/nowhere/socket", "x", "q"), -ENOENT, "no journal");
	memset(longer, 'a', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	is_number(journal_open(longer, "x", "q"), -ENAMETOOLONG, "a path that is too long");
	while (!receive(fd))
		;
	is_number(journal_send(&job, LOG_INFO, "text", 4), 0, "the open journal stays");
	close(fd);
	unlink(path);
	is_number(journal_send(&job, LOG_INFO, "text", 4), -ECONNREFUSED, "a journal that ended");
	journal_close();
}

int main(void)
{
	char folder[] = "/tmp/kwq-journal-XXXXXX";
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	if (!mkdtemp(folder))
		abort();
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/s", folder);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)))
		abort();
	is_number(journal_open(at.sun_path, "convert", "jobs"), 0, "the journal is there");
	test_entry(fd);
	test_lines(fd);
	test_stream(fd);
	test_large(fd);
	test_busy(fd);
	test_errors(fd, at.sun_path);
	rmdir(folder);
	return done_testing();
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U6: whether the reader of a pipe has read what was written.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kwq/job/delivery.h"
#include "tap.h"

static int ends[2];

static void begin(struct delivery *delivery)
{
	if (pipe(ends))
		exit(1);
	delivery_begin(delivery, ends[1]);
}

static void end(const struct delivery *delivery)
{
	delivery_end(delivery);
	close(ends[0]);
	close(ends[1]);
}

static void put(const char *text)
{
	if (write(ends[1], text, strlen(text)) < 0)
		perror("write");
}

static char take(void)
{
	char c = 0;

	return read(ends[0], &c, 1) == 1 ? c : '-';
}

static void test_read(void)
{
	struct delivery d;
	int size;

	begin(&d);
	size = fcntl(ends[1], F_GETPIPE_SZ);
	is_number(delivery_await(&d), 0, "U6: an empty pipe has been read");
	put("a");
	ok(take() == 'a' && !delivery_await(&d), "U6: so has one whose bytes are read");
	put("b");
	take();
	close(ends[0]);
	is_number(delivery_await(&d), 0, "U6: also if the reader has gone after that");
	delivery_end(&d);
	is_number(fcntl(ends[1], F_GETPIPE_SZ), size, "U6: the pipe has its size again");
	close(ends[1]);
}

static void test_not_read(void)
{
	struct delivery d;

	begin(&d);
	put("a\n");
	close(ends[0]);
	is_number(delivery_await(&d), -EPIPE, "U6: a reader that has gone before");
	end(&d);
	begin(&d);
	put("a\n");
	take();
	close(ends[0]);
	is_number(delivery_await(&d), -EPIPE, "U6: or after a part of it");
	end(&d);
}

/* The reader reads only once the writer waits: it is the same process, after a signal. */
static void read_it(int signal)
{
	(void)signal;
	take();
}

static void test_waits(void)
{
	struct delivery d;
	struct sigaction action = { .sa_handler = read_it };

	sigaction(SIGALRM, &action, NULL);
	begin(&d);
	put("a");
	ualarm(1000, 0);
	is_number(delivery_await(&d), 0, "U6: it waits for the reader, signals or not");
	put("b");
	is_number(take(), 'b', "U6: who has read it then");
	end(&d);
}

static void test_others(void)
{
	static const char page[8192];
	struct delivery d;
	int null = open("/dev/null", O_WRONLY);

	delivery_begin(&d, null);
	ok(d.fd == -1 && !delivery_await(&d), "U6: what is no pipe has no reader");
	delivery_end(&d);
	close(null);

	begin(&d);
	if (write(ends[1], page, sizeof(page)) != sizeof(page))
		perror("write");
	is_number(delivery_await(&d), 0, "U6: with more in it than a page nobody waits");
	end(&d);
}

int main(void)
{
	test_read();
	test_not_read();
	test_waits();
	test_others();
	return done_testing();
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * L11: kwq dead with a queue whose items die as fast as they are kicked. The test
 * replaces the kernel by wrapping ioctl() and open() (the linker's --wrap).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd.h"
#include "tap.h"
#include "wrap-open.h"

enum { DEAD = 100, PAGE = 30, FASTER = 7 };

/* The list ends after this many entries, with this error or 0; 0 entries means never. */
static unsigned int list_end;
static int list_error;
/* Of all dead items. */
static __u64 age;
/* The result of every FASTER-th item. */
static int refusal = -ENOENT;

static int fails(int err)
{
	errno = -err;
	return -1;
}

static int list(const struct kwq_list_dead_args *req)
{
	struct kwq_dead_entry *entries = (void *)(uintptr_t)req->batch.entries;
	char *keys = (void *)(uintptr_t)req->batch.keys;
	unsigned int i;

	if (list_end && req->after >= list_end)
		return list_error ? fails(list_error) : 0;
	for (i = 0; i < PAGE; i++) {
		entries[i] = (struct kwq_dead_entry){
			.number = req->after + i + 1,
			.age = age,
			.key_len = 3,
		};
		memcpy(keys + 3 * i, "key", 3);
	}
	return i;
}

/* Every FASTER-th item gets @refusal, as if somebody else were faster. */
static int each(const struct kwq_batch *batch, int result)
{
	__s32 *results = (void *)(uintptr_t)batch->results;
	static unsigned int nr;
	unsigned int i;

	for (i = 0; i < batch->nr; i++)
		results[i] = nr++ % FASTER ? result : refusal;
	return i;
}

int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	(void)fd;
	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);

	switch (request) {
	case KWQ_IOC_OPEN:
		return dup(STDIN_FILENO);
	case KWQ_IOC_STAT:
		((struct kwq_stat *)arg)->dead = DEAD;
		return 0;
	case KWQ_IOC_CONFIG:
		return 0;
	case KWQ_IOC_LIST_DEAD:
		return list(arg);
	case KWQ_IOC_ADD:
		return each(&((struct kwq_batch_args *)arg)->batch, KWQ_ADDED);
	case KWQ_IOC_REMOVE:
		return each(&((struct kwq_batch_args *)arg)->batch, KWQ_WAS_DEAD);
	default:
		return fails(-ENOTTY);
	}
}

static int open_device(int flags)
{
	return open("/dev/null", flags);
}

static char said[65536];

/* Returns the exit status, or -1 if the command did not end by itself. */
static int dead(const char *verb, char *option)
{
	char *argv[5] = { "dead", (char *)verb, option, "q", NULL };
	size_t filled = 0;
	int ends[2], status;
	ssize_t got;

	if (pipe(ends))
		exit(1);
	fflush(stdout);
	if (!fork()) {
		alarm(60);
		close(ends[0]);
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		command = &command_dead;
		exit(command_dead.main(4, argv));
	}
	close(ends[1]);
	while ((got = read(ends[0], said + filled, sizeof(said) - 1 - filled)) > 0)
		filled += got;
	said[filled] = '\0';
	close(ends[0]);
	wait(&status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int count(const char *line)
{
	const char *at = said;
	int nr = 0;

	for (; (at = strstr(at, line)); at += strlen(line))
		nr++;
	return nr;
}

static void test_endless(void)
{
	enum { GONE = (DEAD + FASTER - 1) / FASTER };

	is_number(dead("ls", "-l"), STATUS_OK, "L11: a list that grows has an end");
	is_number(count("key\n"), DEAD, "as many as were dead when it began");
	is_number(dead("kick", "-av"), STATUS_OK, "L11: what dies again is not kicked again");
	is_number(count("kicked\tkey\n"), DEAD - GONE, "as many as were dead then");
	is_number(count("gone\tkey\n"), GONE, "L11: it is no error if somebody was faster");
	is_number(dead("drop", "-av"), STATUS_OK, "L11: nor with drop");
	is_number(count("dropped\tkey\n"), DEAD - GONE, "which ends too");
	is_number(count("gone\tkey\n"), GONE, "and tells what was gone");
}

static void test_shorter(void)
{
	list_end = 2 * PAGE;
	is_number(dead("kick", "-av"), STATUS_OK, "L11: a list that gets shorter");
	is_number(count("\tkey\n"), 2 * PAGE, "ends where it ends");
	list_error = -EBADF;
	is_number(dead("drop", "-av"), STATUS_FAILED, "a list that fails");
	is_number(count("\tkey\n"), 2 * PAGE, "has been dropped as far as it went");
	is_number(count("lacks the right"), 1, "and the failure is told, once");
	is_number(dead("ls", "--json"), STATUS_FAILED, "ls of it");
	is_number(count("\"number\":"), 2 * PAGE, "has printed as much");
}

static void test_refused(void)
{
	list_end = 2 * PAGE;
	list_error = 0;
	refusal = -ENOSPC;
	is_number(dead("kick", "-a"), STATUS_FAILED, "an item that cannot be kicked");
	is_number(count("kwq: dead: q: item 8: key: the queue is full (see kwq stat)\n"), 1,
		  "is told, with its number");
}

static void test_age(void)
{
	list_end = PAGE;
	age = 61500000000;
	is_number(dead("ls", "-l"), STATUS_OK, "L11: ages");
	is_number(count("       0     0      61.500s    0 key\n"), PAGE, "in seconds");
	is_number(dead("ls", "--json"), STATUS_OK, "L11: as JSON");
	is_number(count("\"age_ns\":61500000000,"), PAGE, "in ns");
	age = KWQ_AGE_UNKNOWN;
	is_number(dead("ls", "-l"), STATUS_OK, "M1: ages that are not known");
	is_number(count("       0     0            -    0 key\n"), PAGE, "M1: are not 0");
	is_number(dead("ls", "--json"), STATUS_OK, "M1: as JSON");
	is_number(count("\"age_ns\":null,"), PAGE, "M1: they are null");
	age = 0;
}

int main(void)
{
	test_age();
	list_end = 0;
	test_endless();
	test_shorter();
	test_refused();
	return done_testing();
}

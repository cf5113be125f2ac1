// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Replaces the kernel for the command, by wrapping ioctl() and open() (the linker's
 * --wrap). The queues are lines of the file KWQ_TEST_QUEUES. The file is read anew for
 * each request, so that queues can come, change and go:
 *
 *   NAME [MEMBER=NUMBER ...]
 *
 * The lines are sorted by name, which may contain \xHH. MEMBER is a member of struct
 * kwq_stat, or a histogram's bucket such as queue_duration.3. open= and stat= make the
 * request fail with that errno.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd.h"
#include "fake-kernel.h"
#include "wrap-open.h"

/* The separators between words and behind the last word. */
static const char line_ends[] = "\n ";

struct queue {
	struct kwq_stat stat;
	int open_errno, stat_errno;
};

/* The name of the queue behind each descriptor; one process never needs more. */
enum { DESCRIPTORS = 4096 };
static char opened[DESCRIPTORS][KWQ_NAME_MAX + 1];
static int device = -1;

static const struct {
	const char *name;
	size_t offset;
} members[] = {
#define MEMBER(m) { #m, offsetof(struct kwq_stat, m) }
	MEMBER(ready), MEMBER(waiting), MEMBER(processing), MEMBER(items), MEMBER(bytes),
	MEMBER(max_items), MEMBER(max_bytes), MEMBER(adds), MEMBER(coalesced), MEMBER(gets),
	MEMBER(dones), MEMBER(abandoned), MEMBER(removed), MEMBER(dropped), MEMBER(now),
	MEMBER(retries), MEMBER(rate_limited), MEMBER(died), MEMBER(dead), MEMBER(remembered),
	MEMBER(oldest_ready), MEMBER(longest_running), MEMBER(unfinished),
	MEMBER(queue_duration.sum), MEMBER(work_duration.sum), MEMBER(lateness.sum),
	MEMBER(queue_duration), MEMBER(work_duration), MEMBER(lateness),
	MEMBER(lease), MEMBER(expired), MEMBER(dirty), MEMBER(oldest_waiting), MEMBER(oldest_dead),
	MEMBER(returned), MEMBER(posted),
#undef MEMBER
};

static void fail_test(const char *what)
{
	fprintf(stderr, "fake kernel: %s\n", what);
	abort();
}

static void set_member(struct queue *queue, const char *name, const char *value)
{
	unsigned long long number = strtoull(value, NULL, 0);
	char *stat = (char *)&queue->stat;
	size_t i, len;

	if (!strcmp(name, "open")) {
		queue->open_errno = number;
		return;
	} else if (!strcmp(name, "stat")) {
		queue->stat_errno = number;
		return;
	} else if (!strcmp(name, "size")) {
		queue->stat.size = number;
		return;
	} else if (!strcmp(name, "state")) {
		queue->stat.state = number;
		return;
	}
	for (i = 0; i < ARRAY_SIZE(members); i++) {
		len = strlen(members[i].name);
		if (!strcmp(name, members[i].name)) {
			memcpy(stat + members[i].offset, &number, sizeof(number));
			return;
		}
		/* A bucket of the histogram, by its number. */
		if (!strncmp(name, members[i].name, len) && name[len] == '.' &&
		    name[len + 1] >= '0' && name[len + 1] <= '9') {
			memcpy(stat + members[i].offset + offsetof(struct kwq_histogram, counts) +
			       8 * atoi(name + len + 1), &number, sizeof(number));
			return;
		}
	}
	fail_test(name);
}

static void set_name(struct queue *queue, const char *text)
{
	__u8 *to = queue->stat.name;
	unsigned int byte;

	while (*text) {
		if (sscanf(text, "\\x%2x", &byte) == 1) {
			*to++ = byte;
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
}

/* Reads the next queue of the file. Returns false at the end. */
static bool next(FILE *file, struct queue *queue)
{
	char line[4096], *word, *rest, *value;

	if (!fgets(line, sizeof(line), file))
		return false;
	memset(queue, 0, sizeof(*queue));
	queue->stat.size = sizeof(queue->stat);
	word = strtok_r(line, line_ends, &rest);
	if (!word)
		fail_test("an empty line");
	set_name(queue, word);
	while ((word = strtok_r(NULL, line_ends, &rest))) {
		value = strchr(word, '=');
		if (!value)
			fail_test(word);
		*value = '\0';
		set_member(queue, word, value + 1);
	}
	return true;
}

static FILE *queues(void)
{
	const char *path = getenv("KWQ_TEST_QUEUES");
	FILE *file = path ? fopen(path, "r") : NULL;

	if (!file)
		fail_test("KWQ_TEST_QUEUES names no file");
	return file;
}

static bool find(struct queue *queue, const void *name)
{
	FILE *file = queues();
	bool found;

	do {
		found = next(file, queue);
	} while (found && strcmp((char *)queue->stat.name, name));
	fclose(file);
	return found;
}

static int fail(int err)
{
	errno = err;
	return -1;
}

static int list(const struct kwq_list_args *list)
{
	struct kwq_list_entry *entries = (void *)(unsigned long)list->entries;
	FILE *file = queues();
	struct queue queue;
	unsigned int nr = 0;

	while (nr < list->nr && next(file, &queue)) {
		if (strcmp((char *)queue.stat.name, (const char *)list->after) <= 0)
			continue;
		memset(&entries[nr], 0, sizeof(entries[nr]));
		memcpy(entries[nr++].name, queue.stat.name, sizeof(queue.stat.name));
	}
	fclose(file);
	return nr;
}

static int open_named(const struct kwq_open_args *req)
{
	struct queue queue;
	int fd;

	if (!find(&queue, req->name))
		return fail(ENOENT);
	if (queue.open_errno)
		return fail(queue.open_errno);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd >= DESCRIPTORS)
		fail_test("too many descriptors");
	if (fd >= 0)
		memcpy(opened[fd], req->name, sizeof(opened[fd]));
	return fd;
}

static int stat_queue(int fd, struct kwq_stat *st)
{
	__u32 size = st->size;
	struct queue queue;

	if (!find(&queue, opened[fd]))
		return fail(EIO);	/* it went since it was opened */
	if (size != sizeof(*st))
		fail_test("the size of a stat");
	if (queue.stat_errno)
		return fail(queue.stat_errno);
	*st = queue.stat;
	return 0;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	switch (request) {
	case KWQ_IOC_LIST:
		return fd == device ? list(arg) : fail(ENOTTY);
	case KWQ_IOC_OPEN:
		return fd == device ? open_named(arg) : fail(ENOTTY);
	case KWQ_IOC_STAT:
		return fd >= 0 && fd < DESCRIPTORS && opened[fd][0] ? stat_queue(fd, arg) :
			__real_ioctl(fd, request, arg);
	default:
		return _IOC_TYPE(request) == KWQ_IOC_MAGIC ? fail(ENOTTY) :
							     __real_ioctl(fd, request, arg);
	}
}

static int open_device(int flags)
{
	if (!getenv("KWQ_TEST_QUEUES"))
		return fail(ENOENT);
	/* A single static descriptor suffices: only the exporter has threads, and only
	 * one of them opens the device.
	 */
	device = open("/dev/null", flags & ~O_ACCMODE);
	return device;
}

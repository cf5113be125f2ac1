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
 *
 * A queue may be followed, and nothing changes in it. A sync finds changes that nobody has kept.
 * The term of a queue may be set.
 *
 * Adds and restores succeed, but for the key "full", and change nothing. The ready keys of a queue
 * are key-0, key-1 and so on, and a get or a remove finds none of them. A drain ends at once, and
 * the stat after it counts the member "taken" as removed. An add that waits for room for the key
 * "full" finds none. After "restores" restores there is no memory.
 *
 * KWQ_TEST_EXEMPT makes the user exempt from quotas. KWQ_TEST_CLOCK is how far each look at the
 * monotonic clock moves it, in ns. Without it a wait until a deadline moves all clocks there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "../../selftests/device/abi_tables.h"
#include "base/cmd.h"
#include "fake-kernel.h"
#include "wrap-open.h"

/* The separators between words and behind the last word. */
static const char line_ends[] = "\n ";

struct queue {
	struct kwq_stat stat;
	int open_errno, stat_errno;
	unsigned long long taken, restores;
};

static bool drained;

/* The name of the queue behind each descriptor; one process never needs more. */
enum { DESCRIPTORS = 4096 };
static char opened[DESCRIPTORS][KWQ_NAME_MAX + 1];
static int device = -1;

static const struct {
	const char *name;
	size_t offset, size;
} members[] = {
#define MEMBER(m, size) { #m, offsetof(struct kwq_stat, m), size },
	KWQ_STAT_MEMBERS(MEMBER)
#undef MEMBER
};

static void fail_test(const char *what)
{
	fprintf(stderr, "fake kernel: %s\n", what);
	abort();
}

static void store(void *to, size_t size, unsigned long long number)
{
	if (size == sizeof(__u32))
		*(__u32 *)to = number;
	else
		*(__u64 *)to = number;
}

static void set_member(struct queue *queue, const char *name, const char *value)
{
	unsigned long long number = strtoull(value, NULL, 0);
	size_t i, len = strcspn(name, "0123456789");
	char *to;

	if (!strcmp(name, "open")) {
		queue->open_errno = number;
		return;
	} else if (!strcmp(name, "stat")) {
		queue->stat_errno = number;
		return;
	} else if (!strcmp(name, "taken")) {
		queue->taken = number;
		return;
	} else if (!strcmp(name, "restores")) {
		queue->restores = number;
		return;
	}
	for (i = 0; i < ARRAY_SIZE(members); i++) {
		to = (char *)&queue->stat + members[i].offset;
		if (!strcmp(name, members[i].name)) {
			store(to, members[i].size, number);
			return;
		}
		/* A bucket of the histogram, by its number. */
		if (name[len] && !strncmp(name, members[i].name, len) &&
		    !strcmp(members[i].name + len, "counts")) {
			store(to + 8 * atoi(name + len), sizeof(__u64), number);
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
	queue->stat.term = KWQ_NO_DEADLINE;
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

/* A descriptor that can be polled. */
static int open_as(const char *name)
{
	int fd = eventfd(0, EFD_CLOEXEC);

	if (fd >= DESCRIPTORS)
		fail_test("too many descriptors");
	if (fd >= 0)
		memcpy(opened[fd], name, sizeof(opened[fd]));
	/* The device had this number before it was closed. */
	if (fd == device)
		device = -1;
	return fd;
}

static int open_named(const struct kwq_open_args *req)
{
	struct queue queue;

	if (!find(&queue, req->name))
		return fail(ENOENT);
	if (queue.open_errno)
		return fail(queue.open_errno);
	return open_as((const char *)req->name);
}

/* Only a queue that exists. */
static int create_or_open(const struct kwq_create_args *req)
{
	struct queue queue;

	if (!find(&queue, req->name))
		return fail(EOPNOTSUPP);
	return req->flags & KWQ_CREATE_OR_OPEN ? open_as((const char *)req->name) : fail(EEXIST);
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
	if (drained)
		st->removed += queue.taken;
	return 0;
}

static int info(struct kwq_info *to)
{
	bool exempt = getenv("KWQ_TEST_EXEMPT");

	*to = (struct kwq_info){
		.size = sizeof(*to),
		.key_max = KWQ_KEY_MAX,
		.features = UINT64_MAX,
		.max_items = 16777216,
		.max_bytes = 2147483648,
		.max_queues = 1024,
		.name_max = KWQ_NAME_MAX,
		.batch_max = KWQ_BATCH_MAX,
		.priority_min = -32,
		.priority_max = 31,
		.user_queues = 3,
		.user_queues_left = exempt ? UINT32_MAX : 1021,
		.max_user_bytes = 1000000000,
		.max_total_bytes = 4000000000,
		.user_bytes = 65536,
		.user_bytes_left = exempt ? UINT64_MAX : 999934464,
	};
	return 0;
}

static unsigned int length_of(const void *entry, int result)
{
	return result == KWQ_RESTORED ? ((const struct kwq_restore_entry *)entry)->key_len :
					((const struct kwq_add_entry *)entry)->key_len;
}

/* How far waits have moved the clocks, in ns. */
static unsigned long long waited;

/*
 * A wait that ends is nearly over at once, so that a test of hours takes no time, and one that is
 * repeated for ever leaves the processor to others. Any other is left to a signal.
 */
static int wait_until(int fd, uint64_t deadline)
{
	struct timespec now;
	struct queue queue;

	if (deadline == KWQ_NO_DEADLINE)
		pause();
	usleep(100);
	if (find(&queue, opened[fd]) && !clock_gettime(queue.stat.clockid, &now) &&
	    deadline > now.tv_sec * 1000000000ULL + now.tv_nsec)
		waited += deadline - (now.tv_sec * 1000000000ULL + now.tv_nsec);
	return fail(ETIMEDOUT);
}

/* Takes all entries of a batch. The key "full" has no room. */
static int take_batch(const struct kwq_batch *batch, int result)
{
	__s32 *results = (void *)(unsigned long)batch->results;
	const char *entry = (void *)(unsigned long)batch->entries;
	const char *key = (void *)(unsigned long)batch->keys;
	unsigned int i, len;

	for (i = 0; i < batch->nr; i++, entry += batch->entry_size, key += len) {
		len = length_of(entry, result);
		results[i] = len == 4 && !memcmp(key, "full", 4) ? -ENOSPC : result;
	}
	return batch->nr;
}

static int restore(int fd, const struct kwq_batch *batch)
{
	static unsigned long long restores;
	struct queue queue;

	if (find(&queue, opened[fd]) && queue.restores && ++restores > queue.restores)
		return fail(ENOMEM);
	return take_batch(batch, KWQ_RESTORED);
}

static int add(int fd, const struct kwq_add_args *args)
{
	const char *keys = (void *)(unsigned long)args->batch.keys;

	if (args->flags & KWQ_ADD_WAIT && args->batch.keys_len == 4 && !memcmp(keys, "full", 4))
		return wait_until(fd, args->deadline);
	return take_batch(&args->batch, KWQ_ADDED);
}

/* No entry of a batch has a key that is there. */
static int find_none(const struct kwq_batch *batch)
{
	__s32 *results = (void *)(unsigned long)batch->results;
	unsigned int i;

	for (i = 0; i < batch->nr; i++)
		results[i] = -ENOENT;
	return batch->nr;
}

static int list_items(int fd, struct kwq_list_items_args *args)
{
	struct kwq_listed *entries = (void *)(unsigned long)args->batch.entries;
	char *keys = (void *)(unsigned long)args->batch.keys;
	struct queue queue;
	unsigned int nr = 0;
	int len;

	if (!find(&queue, opened[fd]))
		return fail(EIO);
	if (!(args->states & KWQ_IS_READY))
		queue.stat.ready = 0;
	for (; args->after < queue.stat.ready && nr < args->batch.nr; args->after++) {
		/* No number of a test is longer than this room of each key. */
		len = sprintf(keys, "key-%llu", (unsigned long long)args->after);
		keys += len;
		entries[nr++] = (struct kwq_listed){
			.order = args->after,
			.dirty_for = 1000000000,
			.state = KWQ_IS_READY,
			.order_of = KWQ_IS_READY,
			.key_len = len,
		};
	}
	if (args->after == queue.stat.ready)
		args->after = 0;
	return nr;
}

static int get(int fd, const struct kwq_get_args *args)
{
	struct queue queue;

	if (find(&queue, opened[fd]) && queue.stat.state & KWQ_STATE_SHUT_DOWN)
		return fail(ESHUTDOWN);
	return args->flags & KWQ_GET_NONBLOCK ? fail(EAGAIN) : wait_until(fd, args->deadline);
}

/* Only a queue that hands nothing out keeps its ready keys for ever. */
static int drain(int fd, const struct kwq_drain_args *args)
{
	struct queue queue;

	if (find(&queue, opened[fd]) && queue.stat.ready &&
	    queue.stat.state & (KWQ_STATE_PAUSED | KWQ_STATE_TERM_OVER))
		return args->flags & KWQ_DRAIN_RELATIVE ? fail(ETIMEDOUT) :
							  wait_until(fd, args->deadline);
	drained = true;
	return 0;
}

static int config(struct kwq_config *to)
{
	*to = (struct kwq_config){ .size = sizeof(*to), .dead_after = 25 };
	return 0;
}

/* Requests to a queue. */
static int ask(int fd, unsigned long request, void *arg)
{
	struct queue queue;

	switch (request) {
	case KWQ_IOC_OPEN:
		return open_as(opened[fd]);
	case KWQ_IOC_STAT:
		return stat_queue(fd, arg);
	case KWQ_IOC_LEN:
		return find(&queue, opened[fd]) ? (int)queue.stat.ready : fail(EIO);
	case KWQ_IOC_CONFIG:
		return config(arg);
	case KWQ_IOC_ADD:
		return add(fd, arg);
	case KWQ_IOC_RESTORE:
		return restore(fd, &((struct kwq_batch_args *)arg)->batch);
	case KWQ_IOC_GET:
		return get(fd, arg);
	case KWQ_IOC_LIST_ITEMS:
		return list_items(fd, arg);
	case KWQ_IOC_REMOVE:
		return find_none(&((struct kwq_batch_args *)arg)->batch);
	case KWQ_IOC_DRAIN:
		return drain(fd, arg);
	case KWQ_IOC_SHUT_DOWN:
	case KWQ_IOC_FOLLOW:
	case KWQ_IOC_TERM:
		return 0;
	case KWQ_IOC_SYNC:
		/* Nobody keeps what has changed. */
		return fail(ETIMEDOUT);
	case KWQ_IOC_CHANGES:
		return fail(EAGAIN);
	default:
		return fail(ENOTTY);
	}
}

static int answer(int fd, unsigned long request, void *arg)
{
	if (_IOC_TYPE(request) != KWQ_IOC_MAGIC)
		return __real_ioctl(fd, request, arg);
	if (fd >= 0 && fd < DESCRIPTORS && opened[fd][0])
		return ask(fd, request, arg);
	if (fd != device)
		return __real_ioctl(fd, request, arg);
	switch (request) {
	case KWQ_IOC_INFO:
		return info(arg);
	case KWQ_IOC_LIST:
		return list(arg);
	case KWQ_IOC_OPEN:
		return open_named(arg);
	case KWQ_IOC_CREATE:
		return create_or_open(arg);
	default:
		return fail(ENOTTY);
	}
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	const char *step = getenv("KWQ_TEST_CLOCK");
	static unsigned long long ns;

	if (!step || clock != CLOCK_MONOTONIC) {
		if (__real_clock_gettime(clock, now))
			return -1;
		now->tv_sec += (now->tv_nsec + waited) / 1000000000;
		now->tv_nsec = (now->tv_nsec + waited) % 1000000000;
		return 0;
	}
	ns += strtoull(step, NULL, 0);
	*now = (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
	return 0;
}

static int open_device(int flags)
{
	if (!getenv("KWQ_TEST_QUEUES"))
		return fail(ENOENT);
	/* A single static descriptor suffices: only the exporter has threads, and only
	 * one of them opens the device.
	 */
	device = open("/dev/null", flags & ~O_ACCMODE);
	/* It is not the queue that had this number, either. */
	if (device >= 0 && device < DESCRIPTORS)
		opened[device][0] = '\0';
	return device;
}

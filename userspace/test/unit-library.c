// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U4: the requests of the library, and its handling of the answers. The test wraps
 * ioctl() and open() (the linker's --wrap), and watches malloc(). test-header.sh checks
 * the properties that make the library safe for threads.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/cmd.h"
#include "kwq/job/job.h"
#include "tap.h"
#include "wrap-open.h"

/* ---- The kernel's part ---- */

static struct {
	int calls;		/* since expect() */
	int device_opens, device_errno;
	unsigned long request;
	int fd;
	/* Copies of the request, aligned as its structures are. */
	unsigned char arg[4096] __attribute__((aligned(8)));
	unsigned char entries[3][64] __attribute__((aligned(8)));	/* op; add, done */
	unsigned char keys[3][64];
	struct kwq_add_extra extra;		/* of the op */
	/* The answer. */
	int ret;		/* or a negative errno value */
	__s32 result;		/* of each entry */
	struct kwq_got got;
	struct kwq_got_extra got_extra;
	const char *got_key;	/* and its group, and its value */
	__s32 clockid;
	__u32 state, uid;
	__u64 now;
	__u64 number;		/* of the last change */
} kernel;

static void *pointer(__u64 p)
{
	return (void *)(uintptr_t)p;
}

static void take_batch(int i, const struct kwq_batch *batch)
{
	if (!batch->nr)
		return;
	memcpy(kernel.entries[i], pointer(batch->entries), batch->entry_size);
	if (batch->keys_len && batch->keys_len < 64)
		memcpy(kernel.keys[i], pointer(batch->keys), batch->keys_len);
	if (batch->extras)
		memcpy(&kernel.extra, pointer(batch->extras), batch->extra_size);
	if (batch->results && kernel.ret != -EFAULT)
		*(__s32 *)pointer(batch->results) = kernel.result;
}

static void take_get(struct kwq_get_args *get)
{
	take_batch(1, &get->add);
	take_batch(2, &get->done);
	if (get->get.nr && kernel.ret > 0) {
		memcpy(pointer(get->get.entries), &kernel.got, sizeof(kernel.got));
		memcpy(pointer(get->get.keys), kernel.got_key, kernel.got.key_len +
		       kernel.got_extra.group_len + kernel.got_extra.value_len);
		if (get->get.extras)
			memcpy(pointer(get->get.extras), &kernel.got_extra,
			       sizeof(kernel.got_extra));
	}
}

static int answer(int fd, unsigned long request, void *arg)
{
	/* Sent for every new handle; not the request under test. */
	if (request == KWQ_IOC_STAT && kernel.request != KWQ_IOC_STAT) {
		((struct kwq_stat *)arg)->clockid = kernel.clockid;
		((struct kwq_stat *)arg)->now = kernel.now;
		((struct kwq_stat *)arg)->state = kernel.state;
		((struct kwq_stat *)arg)->uid = kernel.uid;
		return 0;
	}
	kernel.calls++;
	kernel.fd = fd;
	kernel.request = request;
	if (arg)
		memcpy(kernel.arg, arg, *(const __u32 *)arg);
	switch (request) {
	case KWQ_IOC_ADD:
	case KWQ_IOC_DONE:
	case KWQ_IOC_EXTEND:
	case KWQ_IOC_REMOVE:
	case KWQ_IOC_FORGET:
	case KWQ_IOC_REQUEUES:
		take_batch(0, &((struct kwq_batch_args *)arg)->batch);
		break;
	case KWQ_IOC_GET:
		take_get(arg);
		break;
	case KWQ_IOC_FOLLOW:
		((struct kwq_follow_args *)arg)->number = kernel.number;
		break;
	}
	if (kernel.ret >= 0)
		return kernel.ret;
	errno = -kernel.ret;
	return -1;
}

static int open_device(int flags)
{
	(void)flags;
	kernel.device_opens++;
	if (kernel.device_errno) {
		errno = kernel.device_errno;
		return -1;
	}
	return dup(STDERR_FILENO);
}

static int allocations;

void *__real_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
	allocations++;
	return __real_malloc(size);
}

void *__real_calloc(size_t nr, size_t size);

void *__wrap_calloc(size_t nr, size_t size)
{
	allocations++;
	return __real_calloc(nr, size);
}

void *__real_realloc(void *p, size_t size);

void *__wrap_realloc(void *p, size_t size)
{
	allocations++;
	return __real_realloc(p, size);
}

static void expect(int ret, __s32 result)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.ret = ret;
	kernel.result = result;
	kernel.clockid = CLOCK_MONOTONIC;
}

static bool asked(unsigned long request)
{
	return kernel.calls == 1 && kernel.request == request;
}

/* ---- Handles ---- */

/* U4: kwq_create() as New; a negative errno value for each error; kwq_fd(). */
static void test_create(void)
{
	const struct kwq_config config = { .size = sizeof(config) };
	struct {
		struct kwq_create_options o;
		char later;
	} newer = {
		.o = { .size = sizeof(newer), .open_flags = O_NONBLOCK, .mode = 0644,
		       .clockid = CLOCK_BOOTTIME, .or_open = true, .max_items = 7,
		       .max_bytes = 8, .config = &config, .lease = 9,
		       .rights = KWQ_RIGHT_WRITE },
	};
	const struct kwq_create_args *arg = (void *)kernel.arg;
	struct kwq *q = NULL, *outbox;
	char longest[300];

	expect(dup(STDERR_FILENO), 0);
	is_number(kwq_create(&q, NULL, NULL), 0, "create: an unnamed queue");
	ok(asked(KWQ_IOC_CREATE) && arg->size == sizeof(*arg) && !arg->flags &&
	   arg->open_flags == O_CLOEXEC && arg->rights == KWQ_RIGHTS_ALL && !arg->mode &&
	   arg->clockid == CLOCK_MONOTONIC && !arg->max_items && !arg->max_bytes && !arg->config &&
	   !arg->lease && !arg->name[0], "create: the defaults, and no mode");
	is_number(kwq_fd(q), kernel.ret, "create: the descriptor is the kernel's answer");
	kwq_close(q);

	expect(dup(STDERR_FILENO), 0);
	is_number(kwq_create(&q, "jobs", NULL), 0, "create: a named queue");
	ok(arg->mode == 0700 && !strcmp((char *)arg->name, "jobs"), "create: with a mode");
	kwq_close(q);

	expect(dup(STDERR_FILENO), 0);
	is_number(kwq_create(&q, "jobs", &newer.o), 0,
		  "create: newer options whose rest is zero");
	ok(arg->flags == KWQ_CREATE_OR_OPEN && arg->open_flags == O_NONBLOCK &&
	   arg->rights == KWQ_RIGHT_WRITE &&
	   arg->mode == 0644 && arg->clockid == CLOCK_BOOTTIME && arg->max_items == 7 &&
	   arg->max_bytes == 8 && arg->config == kwq_ptr(&config) && arg->lease == 9,
	   "create: every option");
	kwq_close(q);

	newer.o.changes = true;
	newer.o.sync = true;
	expect(dup(STDERR_FILENO), 0);
	is_number(kwq_create(&q, "jobs", &newer.o), 0, "N8: create: a queue that may be followed");
	is_number(arg->flags, KWQ_CREATE_OR_OPEN | KWQ_CREATE_CHANGES | KWQ_CREATE_SYNC,
		  "N8: create: and whose calls wait");
	kwq_close(q);

	is_number(arg->outbox, 0, "N3: create: and without an outbox");
	expect(dup(STDERR_FILENO), 0);
	kwq_create(&outbox, NULL, NULL);
	newer.o.outbox = outbox;
	expect(dup(STDERR_FILENO), 0);
	is_number(kwq_create(&q, "jobs", &newer.o), 0, "N3: create: a queue with an outbox");
	ok(arg->outbox == kwq_fd(outbox) &&
	   arg->flags == (KWQ_CREATE_OR_OPEN | KWQ_CREATE_CHANGES | KWQ_CREATE_SYNC |
			  KWQ_CREATE_OUTBOX), "N3: create: which is that one");
	kwq_close(q);
	expect(-EBADF, 0);
	is_number(kwq_create(&q, "jobs", &newer.o), -EBADF, "N3: create: without its right");
	newer.o.size = offsetof(struct kwq_create_options, outbox);
	expect(dup(STDERR_FILENO), 0);
	is_number(kwq_create(&q, "jobs", &newer.o), 0, "create: options from before outboxes");
	ok(!arg->outbox && !(arg->flags & KWQ_CREATE_OUTBOX), "create: which have none");
	kwq_close(q);
	kwq_close(outbox);

	newer.o.size = offsetof(struct kwq_create_options, lease);
	expect(dup(STDERR_FILENO), 0);
	is_number(kwq_create(&q, "jobs", &newer.o), 0, "create: options from before leases");
	ok(!arg->lease && arg->config && arg->rights == KWQ_RIGHTS_ALL,
	   "create: which have none, and all rights");
	kwq_close(q);

	newer.o.size = offsetof(struct kwq_create_options, max_items);
	expect(dup(STDERR_FILENO), 0);
	is_number(kwq_create(&q, "jobs", &newer.o), 0, "create: older, shorter options");
	ok(!arg->max_items && !arg->max_bytes && !arg->config && arg->mode == 0644,
	   "create: what they lack is zero");
	kwq_close(q);

	newer.o.size = sizeof(newer);
	newer.later = 1;
	expect(0, 0);
	is_number(kwq_create(&q, "jobs", &newer.o), -E2BIG,
		  "create: newer options that ask for what is unknown");
	newer.o.size = 0;
	is_number(kwq_create(&q, "jobs", &newer.o), -EINVAL, "create: options without a size");
	is_number(kwq_create(&q, "", NULL), -EINVAL, "create: an empty name");
	memset(longest, 'x', sizeof(longest));
	longest[256] = '\0';
	is_number(kwq_create(&q, longest, NULL), -ENAMETOOLONG, "create: 256 bytes of name");
	is_number(kernel.calls + kernel.device_opens, 0, "create: none of them reached the kernel");
	longest[255] = '\0';
	expect(-EEXIST, 0);
	is_number(kwq_create(&q, longest, NULL), -EEXIST, "create: 255 bytes of name; errno");
	ok(!strcmp((char *)arg->name, longest), "create: all of them arrive");
}

/* U9: kwq_check_owner(), and kwq_create() of a queue that exists. */
static void test_owner(void)
{
	const struct {
		uid_t uid;
		int err;
		const char *name;
	} owners[] = {
		{ geteuid(), 0, "owner: the caller" },
		{ 0, 0, "owner: root" },
		{ geteuid() + 1, -EPERM, "owner: another user" },
	};
	struct kwq_create_options o = {
		.size = sizeof(o), .open_flags = O_CLOEXEC, .clockid = CLOCK_MONOTONIC,
	};
	struct kwq *q = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(owners); i++) {
		o.or_open = false;
		expect(dup(STDERR_FILENO), 0);
		kernel.uid = owners[i].uid;
		is_number(kwq_create(&q, "jobs", &o), 0, owners[i].name);
		is_number(kwq_check_owner(q), owners[i].err, owners[i].name);
		kwq_close(q);

		o.or_open = true;
		expect(dup(STDERR_FILENO), 0);
		kernel.uid = owners[i].uid;
		is_number(kwq_create(&q, "jobs", &o), owners[i].err, owners[i].name);
		if (!owners[i].err)
			kwq_close(q);
		is_number(fcntl(kernel.ret, F_GETFD), -1, "owner: the handle is closed");
	}
}

/* U4: kwq_open(), kwq_reopen(); negative errno values. */
static void test_open(void)
{
	const struct kwq_open_args *arg = (void *)kernel.arg;
	struct kwq *q = NULL, *second = NULL;

	expect(dup(STDERR_FILENO), 0);
	is_number(kwq_open(&q, "jobs", KWQ_RIGHT_READ, O_NONBLOCK), 0, "open: by name");
	ok(asked(KWQ_IOC_OPEN) && arg->size == sizeof(*arg) &&
	   arg->open_flags == O_NONBLOCK && arg->rights == KWQ_RIGHT_READ &&
	   !strcmp((char *)arg->name, "jobs") && kernel.device_opens == 1,
	   "open: on the device, with this right and these flags");

	expect(dup(STDERR_FILENO), 0);
	is_number(kwq_reopen(&second, q, KWQ_RIGHT_WRITE, 0), 0, "reopen: another handle");
	ok(asked(KWQ_IOC_OPEN) && kernel.fd == kwq_fd(q) && !arg->name[0] &&
	   arg->rights == KWQ_RIGHT_WRITE && !arg->open_flags && !kernel.device_opens,
	   "reopen: on the queue, without a name");
	kwq_close(second);
	kwq_close(q);
	kwq_close(NULL);

	is_number(kwq_open(&q, NULL, KWQ_RIGHTS_ALL, 0), -EINVAL, "open: no name");
	is_number(kwq_open(&q, "", KWQ_RIGHTS_ALL, 0), -EINVAL, "open: an empty name");
	expect(-ENOENT, 0);
	is_number(kwq_open(&q, "none", KWQ_RIGHTS_ALL, 0), -ENOENT, "open: no such queue");
	expect(0, 0);
	kernel.device_errno = ENOENT;
	is_number(kwq_open(&q, "jobs", KWQ_RIGHTS_ALL, 0), -ENODEV,
		  "open: no device is something else");
	kernel.device_errno = EACCES;
	is_number(kwq_open(&q, "jobs", KWQ_RIGHTS_ALL, 0), -EACCES,
		  "open: a device that is not ours");
}

/* U4: kwq_unlink(), kwq_list(), kwq_info(); negative errno values. */
static void test_names(void)
{
	const struct kwq_unlink_args *unlink_arg = (void *)kernel.arg;
	const struct kwq_list_args *list_arg = (void *)kernel.arg;
	struct kwq_info info = { .size = sizeof(info) };
	struct kwq_list_entry entries[3];

	expect(0, 0);
	is_number(kwq_unlink("jobs"), 0, "unlink");
	ok(asked(KWQ_IOC_UNLINK) && unlink_arg->size == sizeof(*unlink_arg) &&
	   !unlink_arg->flags && !strcmp((char *)unlink_arg->name, "jobs"),
	   "unlink: what the kernel is told");
	is_number(kwq_unlink(NULL), -EINVAL, "unlink: no name");
	is_number(kwq_unlink(""), -EINVAL, "unlink: an empty name");

	expect(2, 0);
	is_number(kwq_list(entries, 3, "b"), 2, "list: how many");
	ok(asked(KWQ_IOC_LIST) && list_arg->entries == kwq_ptr(entries) && list_arg->nr == 3 &&
	   list_arg->entry_size == sizeof(entries[0]) && !strcmp((char *)list_arg->after, "b"),
	   "list: what the kernel is told");
	expect(0, 0);
	is_number(kwq_list(entries, 3, NULL), 0, "list: from the beginning");
	ok(!list_arg->after[0], "list: is after no name");
	is_number(kwq_list(entries, 3, ""), 0, "list: as is after the empty one");

	expect(0, 0);
	is_number(kwq_info(&info), 0, "info");
	ok(asked(KWQ_IOC_INFO) && *(__u32 *)kernel.arg == sizeof(info), "info: with its size");
}

/* ---- Items ---- */

/*
 * U4: Add, AddAfter and the adds that client-go lacks; results and negative errno
 * values.
 */
static void test_add(struct kwq *q)
{
	const struct kwq_batch_args *arg = (void *)kernel.arg;
	const struct kwq_add_entry *entry = (void *)kernel.entries[0];
	struct kwq_add_options options = {
		.size = sizeof(options), .flags = KWQ_ADD_PRIORITY | KWQ_ADD_AT, .priority = -7,
		.time = 99,
	};

	expect(1, KWQ_DIRTIED);
	is_number(kwq_add(q, "k\0y", 3), KWQ_DIRTIED, "add: the entry's result");
	ok(asked(KWQ_IOC_ADD) && kernel.fd == kwq_fd(q) && arg->size == sizeof(*arg) &&
	   arg->batch.nr == 1 && arg->batch.entry_size == sizeof(*entry) &&
	   arg->batch.keys_len == 3 && entry->key_len == 3 && !entry->flags && !entry->time &&
	   !memcmp(kernel.keys[0], "k\0y", 3), "add: what the kernel is told");
	expect(1, -ENOSPC);
	is_number(kwq_add(q, "k", 1), -ENOSPC, "add: the entry's error");
	expect(-EFAULT, 0);
	is_number(kwq_add(q, "k", 1), -EFAULT, "add: the call's error");
	expect(0, 0);
	kernel.ret = -EFAULT;
	is_number(kwq_add(q, "k", 1), -EFAULT, "add: a result that was not written is no success");

	expect(1, KWQ_WAITING);
	is_number(kwq_add_after(q, "k", 1, 5000000000), KWQ_WAITING, "add_after");
	ok(entry->flags == KWQ_ADD_AFTER && entry->time == 5000000000, "add_after: the delay");
	expect(1, KWQ_WAITING);
	is_number(kwq_add_with(q, "k", 1, &options), KWQ_WAITING, "add_with");
	ok(entry->flags == options.flags && entry->priority == -7 && entry->time == 99,
	   "add_with: every option");
	expect(1, KWQ_ADDED);
	is_number(kwq_add_with(q, "k", 1, NULL), KWQ_ADDED, "add_with: no options");
	ok(!entry->flags && !entry->priority && !entry->time, "add_with: is an add");
	options.size = 1;
	expect(1, 0);
	is_number(kwq_add_with(q, "k", 1, &options), -EINVAL, "add_with: options without a size");
#if SIZE_MAX > UINT32_MAX
	is_number(kwq_add(q, "k", (size_t)UINT32_MAX + 2), -EMSGSIZE,
		  "add: a length beyond 32 bits does not wrap to a good one");
	is_number(kernel.calls, 0, "add: nor reach the kernel");
#endif

	expect(1, KWQ_WAS_READY | KWQ_WAS_WAITING);
	is_number(kwq_remove(q, "key", 3), KWQ_WAS_READY | KWQ_WAS_WAITING, "remove");
	ok(asked(KWQ_IOC_REMOVE) && arg->batch.entry_size == 16 &&
	   ((struct kwq_remove_entry *)kernel.entries[0])->key_len == 3,
	   "remove: what the kernel is told");
}

/* Q19: adds that wait for room. */
static void test_add_wait(struct kwq *q)
{
	const struct kwq_add_args *arg = (void *)kernel.arg;
	const struct kwq_add_entry *entry = (void *)kernel.entries[0];
	unsigned char entries[64] = { 0 };
	struct kwq_batch batch = { .entries = kwq_ptr(entries), .nr = 3, .entry_size = 16 };

	expect(1, KWQ_ADDED);
	is_number(kwq_add_wait(q, "key", 3, 77), KWQ_ADDED, "add_wait: the entry's result");
	ok(asked(KWQ_IOC_ADD) && arg->size == sizeof(*arg) && arg->flags == KWQ_ADD_WAIT &&
	   arg->deadline == 77 && !arg->resume && arg->batch.nr == 1 &&
	   arg->batch.entry_size == sizeof(*entry) && entry->key_len == 3 && !entry->flags &&
	   !memcmp(kernel.keys[0], "key", 3), "add_wait: what the kernel is told");
	expect(-ETIMEDOUT, 0);
	is_number(kwq_add_wait(q, "key", 3, 77), -ETIMEDOUT, "add_wait: the call's error");
	expect(0, 0);
	kernel.ret = -EFAULT;
	is_number(kwq_add_wait(q, "key", 3, 77), -EFAULT, "add_wait: no success without a result");
	expect(1, -ESHUTDOWN);
	is_number(kwq_add_wait_within(q, "key", 3, 5), -ESHUTDOWN, "add_wait_within");
	ok(asked(KWQ_IOC_ADD) && arg->flags == (KWQ_ADD_WAIT | KWQ_ADD_RELATIVE) &&
	   arg->deadline == 5, "add_wait_within: is relative");
#if SIZE_MAX > UINT32_MAX
	expect(1, 0);
	is_number(kwq_add_wait(q, "k", (size_t)UINT32_MAX + 2, 0), -EMSGSIZE,
		  "add_wait: a length beyond 32 bits does not wrap to a good one");
#endif
	expect(2, 0);
	is_number(kwq_add_batch_wait(q, &batch, 99), 2, "add_batch_wait");
	ok(asked(KWQ_IOC_ADD) && arg->size == sizeof(*arg) && arg->flags == KWQ_ADD_WAIT &&
	   arg->deadline == 99 && !memcmp(&arg->batch, &batch, sizeof(batch)),
	   "add_batch_wait: the batch as it is");
	expect(2, 0);
	is_number(kwq_add_batch_wait_within(q, &batch, 9), 2, "add_batch_wait_within");
	ok(arg->flags == (KWQ_ADD_WAIT | KWQ_ADD_RELATIVE) && arg->deadline == 9,
	   "add_batch_wait_within: is relative");
}

static void expect_value(void)
{
	expect(1, 0);
	kernel.got = (struct kwq_got){ .ticket = 7, .key_len = 3 };
	kernel.got_extra = (struct kwq_got_extra){ .value_len = 5, .group_len = 2, .token = 9 };
	kernel.got_key = "keyggvalue";
}

/* Q18: a key is added with a value, and comes with it. */
static void test_values(struct kwq *q)
{
	const struct kwq_batch_args *arg = (void *)kernel.arg;
	const struct kwq_get_args *get = (void *)kernel.arg;
	const struct kwq_add_entry *entry = (void *)kernel.entries[0];
	struct kwq_add_options options = {
		.size = sizeof(options), .value = "v", .value_len = 1, .priority = 3,
		.flags = KWQ_ADD_VALUE | KWQ_ADD_KEEP_VALUE | KWQ_ADD_PRIORITY,
	};
	struct kwq_item item = { .value_len = 99, .group_len = 99, .token = 99 };
	char data[16] = "";

	expect(1, KWQ_COALESCED);
	is_number(kwq_add_value(q, "key", 3, "v\0", 2), KWQ_COALESCED, "Q18: add_value");
	ok(asked(KWQ_IOC_ADD) && arg->size == sizeof(*arg) && arg->batch.nr == 1 &&
	   arg->batch.extra_size == sizeof(kernel.extra) && entry->flags == KWQ_ADD_VALUE &&
	   entry->key_len == 3 && !memcmp(kernel.keys[0], "key", 3),
	   "Q18: add_value: what the kernel is told");
	ok(kernel.extra.value_len == 2 && !memcmp(pointer(kernel.extra.value), "v\0", 2) &&
	   !kernel.extra.group && !kernel.extra.group_len && !kernel.extra.at_most,
	   "Q18: add_value: the value, and nothing else");
	expect(1, KWQ_COALESCED);
	is_number(kwq_add_value(q, "key", 3, "", 0), KWQ_COALESCED, "Q18: add_value: none");
	ok(entry->flags == KWQ_ADD_VALUE && !kernel.extra.value && !kernel.extra.value_len,
	   "Q18: add_value: none has no address");
	expect(1, KWQ_ADDED);
	is_number(kwq_add_with(q, "key", 3, &options), KWQ_ADDED, "Q18: add_with");
	ok(entry->flags == options.flags && entry->priority == 3 && kernel.extra.value_len == 1 &&
	   kernel.extra.value == kwq_ptr(options.value), "Q18: add_with: value and priority");
	options = (struct kwq_add_options){
		.size = sizeof(options), .note = "why", .note_len = 3,
		.flags = KWQ_ADD_RATE_LIMITED | KWQ_ADD_NOTE,
	};
	is_number(kwq_add_with(q, "key", 3, &options), KWQ_ADDED, "Q18: add_with: a note");
	ok(entry->flags == options.flags && kernel.extra.note_len == 3 && !kernel.extra.value &&
	   kernel.extra.note == kwq_ptr(options.note), "Q18: add_with: and nothing else");
	options.note_len = KWQ_NOTE_MAX + 1;
	is_number(kwq_add_with(q, "key", 3, &options), -EMSGSIZE, "Q18: add_with: one too long");
	expect(1, -EOPNOTSUPP);
	is_number(kwq_add_value(q, "key", 3, "v", 1), -EOPNOTSUPP, "Q18: add_value: its error");
	expect(1, 0);
	is_number(kwq_add_value(q, "key", 3, "v", KWQ_VALUE_MAX + 1), -EMSGSIZE,
		  "Q18: add_value: a value that is too long");
	is_number(kernel.calls, 0, "Q18: add_value: does not reach the kernel");
#if SIZE_MAX > UINT32_MAX
	is_number(kwq_add_value(q, "key", 3, "v", (size_t)UINT32_MAX + 2), -EMSGSIZE,
		  "Q18: add_value: a length beyond 32 bits does not wrap to a good one");
#endif

	expect_value();
	is_number(kwq_get_value(q, &item, data, sizeof(data), 99), 0, "Q18: get_value");
	ok(asked(KWQ_IOC_GET) && get->get.nr == 1 && get->deadline == 99 && !get->flags &&
	   get->get.extra_size == sizeof(struct kwq_got_extra) && get->get.keys_len == sizeof(data),
	   "Q18: get_value: what the kernel is told");
	ok(item.ticket == 7 && item.key_len == 3 && item.group_len == 2 && item.value_len == 5 &&
	   !memcmp(data, "keyggvalue", 10), "Q18: get_value: key, group and value");
	is_number(item.token, 9, "N3: get_value: the token of the manager");
	expect_value();
	is_number(kwq_get_value_within(q, &item, data, sizeof(data), 5), 0,
		  "Q18: get_value_within");
	ok(get->flags == KWQ_GET_RELATIVE && get->deadline == 5, "Q18: get_value_within: is relative");
	expect_value();
	is_number(kwq_try_get_value(q, &item, data, sizeof(data)), 0, "Q18: try_get_value");
	ok(get->flags == KWQ_GET_NONBLOCK && item.value_len == 5, "Q18: try_get_value: does not wait");
	expect(-EMSGSIZE, 0);
	is_number(kwq_try_get_value(q, &item, data, 0), -EMSGSIZE, "Q18: try_get_value: no room");
	ok(!get->get.keys && !get->get.keys_len, "Q18: try_get_value: no room has no address");
	/* A get that does not ask for values gets none. */
	expect_value();
	kernel.got_extra = (struct kwq_got_extra){ 0 };
	is_number(kwq_try_get(q, &item, data, sizeof(data)), 0, "Q18: try_get");
	ok(!get->get.extras && !get->get.extra_size && !item.value_len && !item.group_len &&
	   !item.token, "Q18: try_get: asks for no value");
}

static struct kwq_listed listed(__u32 order_of, int priority, __u32 marks, __u64 order)
{
	return (struct kwq_listed){
		.order_of = order_of,
		.state = order_of | marks,
		.priority = priority,
		.order = order,
	};
}

/* Q15: each item comes before the next one. */
static void test_compare(void)
{
	const struct kwq_listed sorted[] = {
		listed(KWQ_IS_PROCESSING, -5, KWQ_IS_DIRTY, 3),
		listed(KWQ_IS_PROCESSING, 5, KWQ_IS_WAITING, 4),
		listed(KWQ_IS_READY, 31, 0, 9), listed(KWQ_IS_READY, 0, KWQ_IS_RETURNED, 8),
		listed(KWQ_IS_READY, 0, 0, 1), listed(KWQ_IS_READY, 0, 0, UINT64_MAX),
		listed(KWQ_IS_READY, -32, KWQ_IS_RETURNED, 0), listed(KWQ_IS_READY, -32, 0, 0),
		listed(KWQ_IS_WAITING, -1, 0, 1), listed(KWQ_IS_WAITING, 9, 0, 1ULL << 40),
		listed(KWQ_IS_DEAD, 0, 0, 1), listed(KWQ_IS_DEAD, 1, 0, 2),
		listed(KWQ_IS_REMEMBERED, 0, 0, 0),
	};
	size_t i, j, wrong = 0;

	for (i = 0; i < ARRAY_SIZE(sorted); i++)
		for (j = 0; j < ARRAY_SIZE(sorted); j++) {
			int order = kwq_listed_compare(&sorted[i], &sorted[j]);

			wrong += i < j ? order >= 0 : i > j ? order <= 0 : order != 0;
		}
	is_number(wrong, 0, "listed_compare");
}

/* Q15: a list of items, and the state of one key. */
static void test_look(struct kwq *q)
{
	struct kwq_list_items_args list = { .size = sizeof(list), .after = 5 };
	const struct kwq_list_items_args *arg = (void *)kernel.arg;
	struct kwq_listed item;

	expect(2, 0);
	is_number(kwq_list_items(q, &list), 2, "list_items");
	ok(asked(KWQ_IOC_LIST_ITEMS) && !memcmp(kernel.arg, &list, sizeof(list)),
	   "list_items: as it is");
	expect(1, 0);
	is_number(kwq_look(q, "key", 3, &item), 0, "look");
	ok(asked(KWQ_IOC_LIST_ITEMS) && arg->size == sizeof(*arg) && arg->flags == KWQ_LIST_KEY &&
	   !arg->after && arg->key_len == 3 && arg->batch.nr == 1 &&
	   arg->batch.entries == kwq_ptr(&item) && arg->batch.entry_size == sizeof(item) &&
	   arg->batch.keys_len >= KWQ_KEY_MAX && arg->states & KWQ_IS_REMEMBERED,
	   "look: what the kernel is told");
	expect(-ENOENT, 0);
	is_number(kwq_look(q, "key", 3, &item), -ENOENT, "look: its error");
#if SIZE_MAX > UINT32_MAX
	expect(1, 0);
	is_number(kwq_look(q, "key", (size_t)UINT32_MAX + 4, &item), -EMSGSIZE,
		  "look: a length beyond 32 bits does not wrap to a good one");
#endif
	test_compare();
}

/* U4, L1, L8, L9, L11: AddRateLimited, Forget, NumRequeues, and dead items. */
static void test_retries(struct kwq *q)
{
	const struct kwq_batch_args *arg = (void *)kernel.arg;
	const struct kwq_add_entry *add = (void *)kernel.entries[0];
	const struct kwq_done_entry *done = (void *)kernel.entries[0];
	const struct kwq_remove_entry *remove = (void *)kernel.entries[0];
	const struct kwq_key_entry *entry = (void *)kernel.entries[0];
	struct kwq_config config = { .size = sizeof(config), .dead_after = 3 };

	expect(1, KWQ_DEAD);
	is_number(kwq_add_rate_limited(q, "k", 1), KWQ_DEAD, "add_rate_limited");
	ok(asked(KWQ_IOC_ADD) && add->flags == KWQ_ADD_RATE_LIMITED && !add->time &&
	   add->key_len == 1, "add_rate_limited: what the kernel is told");
	expect(1, KWQ_REQUEUED);
	is_number(kwq_done_with(q, 7, KWQ_DONE_FORGET), KWQ_REQUEUED, "done_with");
	ok(asked(KWQ_IOC_DONE) && done->ticket == 7 && done->flags == KWQ_DONE_FORGET,
	   "done_with: its flags");
	expect(1, KWQ_BURIED);
	is_number(kwq_bury(q, 7), KWQ_BURIED, "L11: bury");
	ok(asked(KWQ_IOC_DONE) && done->ticket == 7 && done->flags == KWQ_DONE_DEAD,
	   "bury: what the kernel is told");
	expect(1, -ESTALE);
	is_number(kwq_bury(q, 7), -ESTALE, "bury: its error");
	expect(1, KWQ_RETURNED | KWQ_STILL_WAITING);
	is_number(kwq_give_back(q, 7), KWQ_RETURNED | KWQ_STILL_WAITING, "U6: give_back");
	ok(asked(KWQ_IOC_DONE) && done->ticket == 7 && done->flags == KWQ_DONE_RETURN,
	   "give_back: what the kernel is told");
	expect(1, -ESTALE);
	is_number(kwq_give_back(q, 7), -ESTALE, "give_back: its error");

	expect(1, 12);
	is_number(kwq_forget(q, "key", 3), 12, "forget: how many they were");
	ok(asked(KWQ_IOC_FORGET) && arg->batch.entry_size == sizeof(*entry) &&
	   entry->key_len == 3 && !entry->flags, "forget: what the kernel is told");
	expect(1, 12);
	is_number(kwq_num_requeues(q, "key", 3), 12, "num_requeues");
	ok(asked(KWQ_IOC_REQUEUES) && entry->key_len == 3, "num_requeues: is no forget");
	expect(-EBADF, 0);
	is_number(kwq_forget(q, "key", 3), -EBADF, "forget: the call's error");

	expect(1, KWQ_ADDED);
	is_number(kwq_kick(q, "k", 1), KWQ_ADDED, "kick");
	ok(asked(KWQ_IOC_ADD) && add->flags == KWQ_ADD_KICK, "kick: an add of what is dead");
	expect(1, -ENOENT);
	is_number(kwq_drop(q, "k", 1), -ENOENT, "drop: the entry's error");
	ok(asked(KWQ_IOC_REMOVE) && remove->flags == KWQ_REMOVE_DEAD,
	   "drop: a remove of what is dead");

	test_look(q);
	expect(0, 0);
	is_number(kwq_configure(q, &config), 0, "configure");
	ok(asked(KWQ_IOC_CONFIGURE) && !memcmp(kernel.arg, &config, sizeof(config)),
	   "configure: as it is");
	expect(-EFAULT, 0);
	is_number(kwq_config(q, &config), -EFAULT, "config: its error");
	ok(asked(KWQ_IOC_CONFIG), "config: what the kernel is asked");
}

/* K4: a manual clock. */
static void test_manual_clock(void)
{
	const struct kwq_advance_args *arg = (void *)kernel.arg;
	struct kwq *q;

	expect(dup(STDERR_FILENO), 0);
	kernel.clockid = KWQ_CLOCK_ID_MANUAL;
	kwq_open(&q, "jobs", KWQ_RIGHTS_ALL, 0);
	expect(0, 0);
	kernel.now = 1234;
	is_number(kwq_now(q), 1234, "now: on a manual clock it is what the queue says");
	is_number(kwq_deadline(q, 6), 1240, "deadline: so too");
	is_number(kwq_advance(q, 77), 0, "advance");
	ok(asked(KWQ_IOC_ADVANCE) && arg->size == sizeof(*arg) && !arg->flags &&
	   arg->time == 77, "advance: by a time");
	expect(-EOPNOTSUPP, 0);
	is_number(kwq_advance_to(q, 78), -EOPNOTSUPP, "advance_to: its error");
	ok(arg->flags == KWQ_ADVANCE_TO && arg->time == 78, "advance_to: to a time");
	kwq_close(q);
}

/* ---- Backoff ---- */

#define MS	1000000ULL

/*
 * B1, B2, B4: the library has the kernel's arithmetic, which has thorough tests of its
 * own.
 */
static void test_backoff(void)
{
	const struct kwq_backoff backoff = {
		.duration = 10 * MS, .cap = 50 * MS, .factor = 2 * KWQ_ONE,
		.jitter = KWQ_ONE / 2, .steps = 10,
	};
	struct kwq_backoff bad = backoff, b = backoff;
	struct kwq_backoff_manager m;

	is_number(kwq_backoff_check(&backoff), 0, "backoff_check");
	bad.factor = KWQ_ONE - 1;
	is_number(kwq_backoff_check(&bad), 0, "backoff_check: a factor below 1");
	bad.pad = 1;
	is_number(kwq_backoff_check(&bad), -EINVAL, "backoff_check: padding");
	is_number(kwq_backoff_step(&b, 0), 10 * MS, "backoff_step: the duration");
	is_number(kwq_backoff_step(&b, 1U << 31), 25 * MS, "backoff_step: half of the jitter");
	is_number(kwq_backoff_step(&b, 0), 40 * MS, "backoff_step: times the factor");
	is_number(kwq_backoff_step(&b, 0), 50 * MS, "backoff_step: the cap");
	is_number(b.steps, 0, "backoff_step: which uses the steps up");
	is_number(kwq_backoff_after(&backoff, 2, 0), 40 * MS, "backoff_after");
	kwq_backoff_manager_init(&m, &backoff, 100, 1000);
	kwq_backoff_manager_step(&m, 1100, 0);
	is_number(kwq_backoff_manager_step(&m, 1200, 0), 20 * MS, "backoff_manager_step");
	is_number(kwq_backoff_manager_step(&m, 1301, 0), 10 * MS,
		  "backoff_manager_step: starts over");
	kwq_backoff_manager_init(&m, &backoff, 100, 1000);
	m.from_reset = true;
	kwq_backoff_manager_step(&m, 1100, 0);
	is_number(kwq_backoff_manager_step(&m, 1101, 0), 10 * MS,
		  "backoff_manager_step: counts from the last reset");
	is_number(kwq_backoff_manager_step(&m, 1102, 0), 20 * MS,
		  "backoff_manager_step: which it was");
	kwq_backoff_manager_init(&m, &backoff, 0, 0);
	kwq_backoff_manager_step(&m, 1, 0);
	is_number(kwq_backoff_manager_step(&m, 2, 0), 10 * MS,
		  "backoff_manager_step: starts over each time");
	kwq_backoff_manager_init(&m, &backoff, KWQ_NO_RESET, 0);
	kwq_backoff_manager_step(&m, 1, 0);
	is_number(kwq_backoff_manager_step(&m, UINT64_MAX, 0), 20 * MS,
		  "backoff_manager_step: never starts over");
}

static bool count_down(void *arg)
{
	int *left = arg;

	return --*left;
}

/* Makes the stop descriptor readable and asks to be run again. */
static bool say_stop(void *arg)
{
	return write(*(int *)arg, "", 1) == 1;
}

static uint64_t now(clockid_t clock);

/* B3. Pauses that are waited for are short; interrupted ones would last for ever. */
static void test_until(void)
{
	const struct kwq_backoff briefly = { .duration = 1000 };
	const struct kwq_backoff forever = { .duration = INT64_MAX };
	struct kwq_backoff_manager m;
	int left = 3, fds[2];
	uint64_t before;

	kwq_backoff_manager_init(&m, &briefly, KWQ_NO_RESET, 0);
	before = now(CLOCK_MONOTONIC);
	is_number(kwq_backoff_until(count_down, &left, &m, true, -1), 0,
		  "backoff_until: until it is enough");
	is_number(left, 0, "backoff_until: as often as it was asked for");
	ok(now(CLOCK_MONOTONIC) - before >= 2000, "backoff_until: with the pauses");

	kwq_backoff_manager_init(&m, &forever, KWQ_NO_RESET, 0);
	ok(!pipe(fds), "backoff_until: a pipe");
	is_number(kwq_backoff_until(say_stop, &fds[1], &m, false, fds[0]), -ECANCELED,
		  "backoff_until: ended in a pause");
	left = 3;
	is_number(kwq_backoff_until(count_down, &left, &m, false, fds[0]), -ECANCELED,
		  "backoff_until: ended before it began");
	is_number(left, 3, "backoff_until: does not run then");
	close(fds[0]);
	close(fds[1]);
}

static void answer_item(void)
{
	expect(1, KWQ_REQUEUED);
	kernel.got = (struct kwq_got){ .ticket = 42, .key_len = 3, .priority = -1, .abandoned = 2,
				       .requeues = 9 };
	kernel.got_key = "abc";
}

static bool is_answer(const struct kwq_item *item, const char *key)
{
	return item->ticket == 42 && item->key_len == 3 && item->priority == -1 &&
		item->abandoned == 2 && item->requeues == 9 && !memcmp(key, "abc", 3);
}

/* U4: Get; a signal is -EINTR, not errno. */
static void test_get(struct kwq *q)
{
	const struct kwq_get_args *arg = (void *)kernel.arg;
	const struct kwq_done_entry *done = (void *)kernel.entries[2];
	struct kwq_item item = { 0 };
	char key[10];

	answer_item();
	is_number(kwq_get(q, &item, key, sizeof(key), 12345), 0, "get");
	ok(is_answer(&item, key), "get: the item");
	ok(asked(KWQ_IOC_GET) && arg->size == sizeof(*arg) && !arg->flags &&
	   arg->deadline == 12345 && arg->get.nr == 1 && arg->get.keys_len == sizeof(key) &&
	   arg->get.entry_size == sizeof(struct kwq_got) && !arg->get.results &&
	   !arg->add.nr && !arg->done.nr, "get: what the kernel is told");
	answer_item();
	is_number(kwq_get_within(q, &item, key, sizeof(key), 99), 0, "get_within");
	ok(arg->flags == KWQ_GET_RELATIVE && arg->deadline == 99 && !arg->resume,
	   "get_within: so long from now");
	answer_item();
	is_number(kwq_try_get(q, &item, key, sizeof(key)), 0, "try_get");
	ok(arg->flags == KWQ_GET_NONBLOCK, "try_get: does not wait");
#if SIZE_MAX > UINT32_MAX
	answer_item();
	kwq_try_get(q, &item, key, SIZE_MAX);
	ok(arg->get.keys_len == UINT32_MAX, "try_get: room beyond 32 bits does not wrap");
#endif
	expect(-EINTR, 0);
	is_number(kwq_get(q, &item, key, sizeof(key), 0), -EINTR, "get: a signal");
	is_number(kernel.calls, 1, "get: and no second try");

	answer_item();
	is_number(kwq_next(q, 41, &item, key, sizeof(key), 12345), 0, "next");
	ok(is_answer(&item, key) && item.done == KWQ_REQUEUED,
	   "next: the item, and the result of the done");
	ok(asked(KWQ_IOC_GET) && arg->deadline == 12345 && arg->done.nr == 1 &&
	   done->ticket == 41 && !done->key_len && !arg->done.keys_len && arg->get.nr == 1,
	   "next: done and get in one call");
	answer_item();
	is_number(kwq_next_within(q, 41, &item, key, sizeof(key), 99), 0, "next_within");
	ok(arg->flags == KWQ_GET_RELATIVE && arg->deadline == 99 && done->ticket == 41 &&
	   !arg->resume, "next_within: so long from now");
	expect(-ETIMEDOUT, -ESTALE);
	is_number(kwq_next(q, 41, &item, key, sizeof(key), 0), -ETIMEDOUT, "next: no item");
	is_number(item.done, -ESTALE, "next: the done's own error");
	expect(-EFAULT, 0);
	is_number(kwq_next(q, 41, &item, key, sizeof(key), 0), -EFAULT, "next: a fault");
	is_number(item.done, -ECANCELED, "next: before the done");
	expect(0, 0);
	item.done = 0;
	is_number(kwq_next(q, 0, &item, key, sizeof(key), 0), -EINVAL, "next: ticket 0");
	is_number(item.done, -ECANCELED, "next: finishes nothing");
	is_number(kernel.calls, 0, "next: and gets nothing");
}

/* U4: Done, by ticket and by key. */
static void test_done(struct kwq *q)
{
	const struct kwq_batch_args *arg = (void *)kernel.arg;
	const struct kwq_done_entry *entry = (void *)kernel.entries[0];

	expect(1, KWQ_FINISHED);
	is_number(kwq_done(q, 42), KWQ_FINISHED, "done");
	ok(asked(KWQ_IOC_DONE) && entry->ticket == 42 && !entry->key_len &&
	   !arg->batch.keys_len, "done: by ticket");
	expect(1, -EPERM);
	is_number(kwq_done_key(q, "abc", 3), -EPERM, "done_key");
	ok(asked(KWQ_IOC_DONE) && !entry->ticket && entry->key_len == 3 &&
	   !memcmp(kernel.keys[0], "abc", 3), "done_key: by key");
}

/* U4, O3: the extension of a lease, by ticket and by key. */
static void test_extend(struct kwq *q)
{
	const struct kwq_batch_args *arg = (void *)kernel.arg;
	const struct kwq_extend_entry *entry = (void *)kernel.entries[0];

	expect(1, 0);
	is_number(kwq_extend(q, 42), 0, "extend");
	ok(asked(KWQ_IOC_EXTEND) && arg->batch.entry_size == sizeof(*entry) &&
	   entry->ticket == 42 && !entry->key_len && !entry->flags && !arg->batch.keys_len,
	   "extend: by ticket");
	expect(1, -ESTALE);
	is_number(kwq_extend(q, 42), -ESTALE, "extend: the entry's error");
	expect(-ENOTTY, 0);
	is_number(kwq_extend(q, 42), -ENOTTY, "U3: extend: a module without leases");
	expect(1, 0);
	is_number(kwq_note(q, 42, "why", 3), 0, "Q18: note");
	ok(asked(KWQ_IOC_EXTEND) && entry->ticket == 42 && entry->flags == KWQ_EXTEND_NOTE &&
	   kernel.extra.note_len == 3 && !memcmp(pointer(kernel.extra.note), "why", 3),
	   "Q18: note: by ticket");
	is_number(kwq_note(q, 42, NULL, 0), 0, "Q18: note: none");
	ok(entry->flags == KWQ_EXTEND_NOTE && !kernel.extra.note_len && !kernel.extra.note,
	   "Q18: note: takes it away");
	is_number(kwq_note(q, 42, "why", KWQ_NOTE_MAX + 1), -EMSGSIZE, "Q18: note: too long");
	expect(1, -ENOSPC);
	is_number(kwq_note(q, 42, "why", 3), -ENOSPC, "Q18: note: the entry's error");
	expect(1, -EPERM);
	is_number(kwq_extend_key(q, "abc", 3), -EPERM, "extend_key");
	ok(asked(KWQ_IOC_EXTEND) && !entry->ticket && entry->key_len == 3 &&
	   !memcmp(kernel.keys[0], "abc", 3), "extend_key: by key");
}

/* U4, Q13: a batch reaches the kernel unchanged, and the answer reaches the caller. */
static void test_batches(struct kwq *q)
{
	static const struct {
		const char *name;
		int (*call)(struct kwq *q, const struct kwq_batch *batch);
		unsigned long request;
	} calls[] = {
		{ "add_batch", kwq_add_batch, KWQ_IOC_ADD },
		{ "done_batch", kwq_done_batch, KWQ_IOC_DONE },
		{ "extend_batch", kwq_extend_batch, KWQ_IOC_EXTEND },
		{ "remove_batch", kwq_remove_batch, KWQ_IOC_REMOVE },
		{ "forget_batch", kwq_forget_batch, KWQ_IOC_FORGET },
		{ "num_requeues_batch", kwq_num_requeues_batch, KWQ_IOC_REQUEUES },
	};
	const struct kwq_batch_args *arg = (void *)kernel.arg;
	unsigned char entries[64] = { 0 };
	struct kwq_batch batch = { .entries = kwq_ptr(entries), .nr = 3, .entry_size = 16 };
	struct kwq_get_args get = { .size = sizeof(get), .deadline = 5 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		expect(2, 0);
		is_number(calls[i].call(q, &batch), 2, calls[i].name);
		ok(asked(calls[i].request) && arg->size == sizeof(*arg) && !arg->flags &&
		   !memcmp(&arg->batch, &batch, sizeof(batch)), "%s: the batch as it is",
		   calls[i].name);
	}
	expect(0, 0);
	is_number(kwq_get_batch(q, &get), 0, "get_batch");
	ok(asked(KWQ_IOC_GET) && !memcmp(kernel.arg, &get, sizeof(get)),
	   "get_batch: as it is");
	/* Left there by an earlier wait that a signal ended. */
	get.resume = 77;
	expect(0, 0);
	is_number(kwq_get_batch(q, &get), 0, "get_batch, once more");
	ok(asked(KWQ_IOC_GET) && !((struct kwq_get_args *)kernel.arg)->resume,
	   "get_batch: a wait of its own");
}

/* U4: Len, ShuttingDown, ShutDown, ShutDownWithDrain; negative errno values. */
static void test_queue(struct kwq *q)
{
	struct kwq_stat st = { .size = sizeof(st) };
	const struct kwq_drain_args *drain = (void *)kernel.arg;
	const struct kwq_pause_args *pause = (void *)kernel.arg;
	const struct kwq_term_args *term = (void *)kernel.arg;
	const struct kwq_bpf_args *bpf = (void *)kernel.arg;
	uint64_t token = 0;

	expect(17, 0);
	is_number(kwq_len(q), 17, "len");
	ok(asked(KWQ_IOC_LEN), "len: what the kernel is asked");
	expect(1, 0);
	is_number(kwq_shutting_down(q), 1, "shutting_down");
	ok(asked(KWQ_IOC_SHUTTING_DOWN), "shutting_down: what the kernel is asked");
	expect(0, 0);
	is_number(kwq_pause(q), 0, "pause");
	ok(asked(KWQ_IOC_PAUSE) && pause->size == sizeof(*pause) && !pause->flags && !pause->time,
	   "pause: what it is told");
	expect(0, 0);
	is_number(kwq_pause_for(q, 79), 0, "pause_for");
	ok(asked(KWQ_IOC_PAUSE) && pause->flags == KWQ_PAUSE_FOR && pause->time == 79,
	   "pause_for: what it is told");
	expect(-EOPNOTSUPP, 0);
	is_number(kwq_bpf_token(q, &token), -EOPNOTSUPP, "bpf_token");
	ok(asked(KWQ_IOC_BPF) && bpf->size == sizeof(*bpf) && !bpf->flags && !bpf->token && !token,
	   "bpf_token: what it is told");
	expect(0, 0);
	is_number(kwq_set_term(q, 80), 0, "set_term");
	ok(asked(KWQ_IOC_TERM) && term->size == sizeof(*term) && !term->flags && term->until == 80,
	   "set_term: what it is told");
	expect(-EBADF, 0);
	is_number(kwq_set_term_within(q, 81), -EBADF, "set_term_within");
	ok(asked(KWQ_IOC_TERM) && term->size == sizeof(*term) &&
	   term->flags == KWQ_TERM_RELATIVE && term->until == 81,
	   "set_term_within: what it is told");
	expect(-EBADF, 0);
	is_number(kwq_resume(q), -EBADF, "resume");
	ok(asked(KWQ_IOC_RESUME) && *(__u32 *)kernel.arg == 8, "resume: what it is told");
	expect(0, 0);
	is_number(kwq_shut_down(q), 0, "shut_down");
	ok(asked(KWQ_IOC_SHUT_DOWN) && *(__u32 *)kernel.arg == 8, "shut_down: what it is told");
	expect(-ECANCELED, 0);
	is_number(kwq_shut_down_with_drain(q, 77), -ECANCELED, "shut_down_with_drain");
	ok(asked(KWQ_IOC_DRAIN) && drain->size == sizeof(*drain) && drain->deadline == 77 &&
	   !drain->flags && !drain->resume && !drain->shut_downs,
	   "shut_down_with_drain: what it is told");
	expect(-ETIMEDOUT, 0);
	is_number(kwq_shut_down_with_drain_within(q, 78), -ETIMEDOUT, "drain_within");
	ok(asked(KWQ_IOC_DRAIN) && drain->flags == KWQ_DRAIN_RELATIVE && drain->deadline == 78 &&
	   !drain->resume && !drain->shut_downs, "drain_within: what it is told");
	expect(0, 0);
	kernel.request = KWQ_IOC_STAT;
	is_number(kwq_stat(q, &st), 0, "stat");
	ok(asked(KWQ_IOC_STAT) && *(__u32 *)kernel.arg == sizeof(st), "stat: with its size");
}

/* N8: kwq_follow(), kwq_changes() and kwq_sync(); negative errno values. */
static void test_changes(struct kwq *q)
{
	struct kwq_changes_args changes = { .size = sizeof(changes), .after = 5, .resume = 77 };
	const struct kwq_changes_args *arg = (void *)kernel.arg;
	const struct kwq_follow_args *follow = (void *)kernel.arg;
	const struct kwq_sync_args *sync = (void *)kernel.arg;
	uint64_t number = 1;

	expect(0, 0);
	kernel.number = 42;
	is_number(kwq_follow(q, &number), 0, "follow");
	ok(asked(KWQ_IOC_FOLLOW) && follow->size == sizeof(*follow) && !follow->flags &&
	   !follow->number, "follow: what the kernel is told");
	is_number(number, 42, "follow: the number of the last change");
	expect(-EBUSY, 0);
	is_number(kwq_follow(q, &number), -EBUSY, "follow: its error");
	is_number(number, 42, "follow: and no number then");
	expect(3, 0);
	is_number(kwq_changes(q, &changes), 3, "changes");
	ok(asked(KWQ_IOC_CHANGES) && arg->after == 5 && !arg->resume,
	   "changes: as they are, and a wait of their own");
	expect(-ETIMEDOUT, 0);
	is_number(kwq_changes(q, &changes), -ETIMEDOUT, "changes: their error");
	expect(0, 0);
	is_number(kwq_sync(q, 78), 0, "sync");
	ok(asked(KWQ_IOC_SYNC) && sync->size == sizeof(*sync) && sync->deadline == 78 &&
	   !sync->flags && !sync->resume, "sync: what the kernel is told");
	expect(-ETIMEDOUT, 0);
	is_number(kwq_sync_within(q, 79), -ETIMEDOUT, "sync_within");
	ok(asked(KWQ_IOC_SYNC) && sync->flags == KWQ_SYNC_RELATIVE && sync->deadline == 79 &&
	   !sync->resume, "sync_within: what the kernel is told");
}

static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* U4, D7, D8: deadlines are on the queue's clock, and saturate at its end. */
static void test_clock(void)
{
	static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME };
	uint64_t before, between, after;
	struct kwq *q;
	int i;

	/* No queue can have CLOCK_REALTIME; here it serves because it differs from the
	 * others.
	 */
	for (i = 0; i < 3; i++) {
		expect(dup(STDERR_FILENO), 0);
		kernel.clockid = clocks[i];
		kwq_open(&q, "jobs", KWQ_RIGHTS_ALL, 0);
		before = now(clocks[i]);
		between = kwq_now(q);
		after = now(clocks[i]);
		ok(before <= between && between <= after, "now: on clock %d", clocks[i]);
		between = kwq_deadline(q, 1000000000);
		ok(before + 1000000000 <= between && between <= now(clocks[i]) + 1000000000,
		   "deadline: a second later");
		ok(kwq_deadline(q, UINT64_MAX) == KWQ_NO_DEADLINE &&
		   kwq_deadline(q, UINT64_MAX - 1) == KWQ_NO_DEADLINE,
		   "deadline: beyond the clock there is none");
		kwq_close(q);
	}
}

/* ---- What kwq run does after a failure ---- */

static void test_retry(struct kwq *q)
{
	const struct kwq_add_entry *add = (void *)kernel.entries[1];
	const struct kwq_done_entry *done = (void *)kernel.entries[0];
	struct job job = { .handle = q };
	char key[] = "abc";
	struct job_item it = { .job = &job, .item = { .ticket = 42, .key_len = 3 }, .key = key };
	static struct job_note note;
	int added;

	expect(0, KWQ_REQUEUED);
	is_number(job_add_again_and_done(&it, &note, 1000, &added), KWQ_REQUEUED,
		  "retry: the result of the done");
	is_number(added, KWQ_REQUEUED, "retry: and that of the add");
	ok(kernel.calls == 2 && kernel.request == KWQ_IOC_DONE, "retry: an add, and then a done");
	ok(add->flags == KWQ_ADD_AFTER && add->time == 1000 && add->key_len == 3 &&
	   !memcmp(kernel.keys[1], "abc", 3) && done->ticket == 42,
	   "retry: this item, after this delay");
	expect(-ENOMEM, KWQ_WAITING);
	is_number(job_add_again_and_done(&it, &note, 1000, &added), -ENOMEM,
		  "retry: the call's error");

	expect(0, -ENOSPC);
	is_number(job_add_again_and_done(&it, &note, 1000, &added), -ENOSPC,
		  "retry: an add without room");
	ok(asked(KWQ_IOC_GET), "U6: retry: then the item is not finished");
	note.len = 3;
	memcpy(note.bytes, "why", 3);
	expect(0, -ENOSPC);
	is_number(job_add_again_and_done(&it, &note, 1000, &added), -ENOSPC,
		  "Q18: retry: nor is there room without its note");
	ok(kernel.calls == 2 && kernel.request == KWQ_IOC_GET && add->flags == KWQ_ADD_AFTER &&
	   kernel.extra.note_len == 3, "Q18: retry: with its note, and then without");
	expect(0, -ESHUTDOWN);
	is_number(job_add_again_and_done(&it, &note, 1000, &added), -ESHUTDOWN,
		  "retry: an outbox that is shut down");
	ok(asked(KWQ_IOC_GET), "U6: retry: the item is not finished either");
	expect(0, -ESHUTDOWN);
	kernel.state = KWQ_STATE_SHUT_DOWN;
	is_number(job_add_again_and_done(&it, &note, 1000, &added), -ESHUTDOWN,
		  "retry: a queue that is shut down");
	ok(kernel.calls == 2 && kernel.request == KWQ_IOC_DONE, "Q8: retry: it drops retries");
}

int main(void)
{
	struct kwq *q;
	int before;

	test_create();
	test_owner();
	test_open();
	test_names();
	expect(dup(STDERR_FILENO), 0);
	before = allocations;
	kwq_open(&q, "jobs", KWQ_RIGHTS_ALL, 0);
	is_number(allocations - before, 1, "U4: a handle is allocated");
	before = allocations;
	test_add(q);
	test_add_wait(q);
	test_values(q);
	test_get(q);
	test_done(q);
	test_extend(q);
	test_retries(q);
	test_batches(q);
	test_queue(q);
	test_changes(q);
	test_backoff();
	test_until();
	is_number(allocations - before, 0, "U4: and nothing else is");
	test_retry(q);
	test_clock();
	test_manual_clock();
	kwq_close(q);
	return done_testing();
}

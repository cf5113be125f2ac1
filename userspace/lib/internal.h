/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Declarations shared by the files of libkwq. Symbols are hidden by default (Makefile);
 * only those of the public header are exported.
 */
#ifndef KWQ_LIB_INTERNAL_H
#define KWQ_LIB_INTERNAL_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/ioctl.h>

#pragma GCC visibility push(default)
#include <kwq.h>
#pragma GCC visibility pop

/*
 * What a handle knows of its queue's board: see board.c.
 *
 * @looked_at: the board while the handle looks at it; else NULL
 * @map: the board; NULL until it is mapped, and constant after that
 * @looks: how many looks in vain are left before the handle stops
 * @until: how many adds have to coalesce in the kernel before the handle looks; 0 if it looks,
 *	or never will
 * @untold: adds that the board answered, and of which the kernel was not told
 */
struct kwq_board_view {
	const struct kwq_board *_Atomic looked_at;
	const struct kwq_board *_Atomic map;
	atomic_int looks;
	atomic_int until;
	atomic_uint untold;
};

/*
 * @fd and @clockid are set before the caller gets the handle and never change, so threads
 * share a handle without a lock.
 */
struct kwq {
	int fd;
	clockid_t clockid;
	struct kwq_board_view board;
};

void kwq_board_init(struct kwq *q);

/* kwq_add() without a look at the board. */
int kwq_add_by_call(struct kwq *q, const void *key, size_t len);

/* An add of a key of this length has coalesced in the kernel, and @until is not 0. */
void kwq_board_note(struct kwq *q, size_t len);

/* Tells the kernel of the adds that the board answered. */
void kwq_board_tell(const struct kwq *q);

void kwq_board_close(struct kwq *q);

/* As ioctl(2), but returns a negative errno value on failure. */
static inline int kwq_ioctl(int fd, unsigned long request, void *arg)
{
	int ret = ioctl(fd, request, arg);

	return ret < 0 ? -errno : ret;
}

/* Opens /dev/kwq, runs one request on it and closes it. */
int kwq_device_ioctl(unsigned long request, void *arg);

/*
 * Copies a name into a request. NULL becomes the empty name; an empty string is
 * -EINVAL.
 */
int kwq_copy_name(__u8 field[KWQ_NAME_MAX + 1], const char *name);

/*
 * Copies a caller's structure that begins with its own size. A shorter structure is
 * that of an older program: the missing members become zero. A longer one is that of a
 * newer program: it must be zero beyond the members that this library knows. The kernel
 * does the same.
 */
int kwq_copy_options(void *to, size_t to_size, const void *from, size_t from_size);

/*
 * A batch of one entry, with an extra for it or NULL. Returns the result of that entry. It is
 * inlined into each function that makes one call for one key, where most of it is constant.
 */
static inline int kwq_one_with_extra(const struct kwq *q, unsigned long request, const void *entry,
				     size_t entry_size, const void *key, size_t key_len,
				     const void *extra, size_t extra_size)
{
	__s32 result = -EIO;
	struct kwq_batch_args req = {
		.size = sizeof(req),
		.batch = {
			.entries = kwq_ptr(entry),
			.keys = key_len ? kwq_ptr(key) : 0,
			.results = kwq_ptr(&result),
			.extras = extra ? kwq_ptr(extra) : 0,
			.keys_len = key_len,
			.nr = 1,
			.entry_size = entry_size,
			.extra_size = extra_size,
		},
	};
	int ret;

	/* The ABI's lengths have 32 bits: a larger length must not wrap around to a valid one. */
	if (key_len > UINT32_MAX)
		return -EMSGSIZE;
	ret = kwq_ioctl(q->fd, request, &req);
	return ret < 0 ? ret : result;
}

/* The same without an extra. */
static inline int kwq_one(const struct kwq *q, unsigned long request, const void *entry,
			  size_t entry_size, const void *key, size_t key_len)
{
	return kwq_one_with_extra(q, request, entry, entry_size, key, key_len, NULL, 0);
}

/* An add that waits for room. @flags: KWQ_ADD_RELATIVE or 0. */
int kwq_one_waiting(const struct kwq *q, const struct kwq_add_entry *entry, const void *key,
		    size_t key_len, uint32_t flags, uint64_t deadline);

#endif /* KWQ_LIB_INTERNAL_H */

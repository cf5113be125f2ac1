/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Declarations shared by the files of libkwq. Symbols are hidden by default (Makefile);
 * only those of the public header are exported.
 */
#ifndef KWQ_LIB_INTERNAL_H
#define KWQ_LIB_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>

#pragma GCC visibility push(default)
#include <kwq.h>
#pragma GCC visibility pop

/*
 * What a handle knows of its queue's board: see board.c.
 *
 * @map: the board; NULL until it is mapped, and constant after that
 * @looks: how many looks in vain are left before the handle stops; 0 if it does not look
 * @coalesced: adds that coalesced in the kernel while the handle did not look
 * @untold: adds that the board answered, and of which the kernel was not told
 * @is_off: the caller does not want it
 */
struct kwq_board_view {
	_Atomic(const struct kwq_board *) map;
	atomic_int looks;
	atomic_uint coalesced;
	atomic_uint untold;
	atomic_bool is_off;
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

/* Whether the handle looks at the board, which is mapped then. */
static inline int kwq_board_looks(const struct kwq *q)
{
	return atomic_load_explicit(&q->board.looks, memory_order_acquire);
}

/* Looks for a key on the board. Returns the result of its add, or 0 if the kernel has to be asked. */
int kwq_board_add(struct kwq *q, const void *key, size_t len);

/* An add of a key of this length has coalesced in the kernel. */
void kwq_board_note(struct kwq *q, size_t len);

/* Tells the kernel of the adds that the board answered. */
void kwq_board_tell(const struct kwq *q);

void kwq_board_close(struct kwq *q);

/* As ioctl(2), but returns a negative errno value on failure. */
int kwq_ioctl(int fd, unsigned long request, void *arg);

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

/* A batch of one entry. Returns the result of that entry. */
int kwq_one(const struct kwq *q, unsigned long request, const void *entry,
	    size_t entry_size, const void *key, size_t key_len);

/* The same, with an extra for that entry, or NULL. */
int kwq_one_with_extra(const struct kwq *q, unsigned long request, const void *entry,
		       size_t entry_size, const void *key, size_t key_len, const void *extra,
		       size_t extra_size);

/* An add that waits for room. @flags: KWQ_ADD_RELATIVE or 0. */
int kwq_one_waiting(const struct kwq *q, const struct kwq_add_entry *entry, const void *key,
		    size_t key_len, uint32_t flags, uint64_t deadline);

#endif /* KWQ_LIB_INTERNAL_H */

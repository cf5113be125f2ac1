/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Declarations shared by the files of libkwq. Symbols are hidden by default (Makefile);
 * only those of the public header are exported.
 */
#ifndef KWQ_LIB_INTERNAL_H
#define KWQ_LIB_INTERNAL_H

#pragma GCC visibility push(default)
#include <kwq.h>
#pragma GCC visibility pop

/*
 * Both members are set before the caller gets the handle and never change, so threads
 * share a handle without a lock.
 */
struct kwq {
	int fd;
	clockid_t clockid;
};

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

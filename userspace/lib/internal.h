/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What the files of libkwq share. Every symbol is hidden by default (Makefile);
 * those of the public header are the exception.
 */
#ifndef KWQ_LIB_INTERNAL_H
#define KWQ_LIB_INTERNAL_H

#pragma GCC visibility push(default)
#include <kwq.h>
#pragma GCC visibility pop

/*
 * Both members are set once, before the handle is given to anybody: that is why
 * threads may share it without a lock.
 */
struct kwq {
	int fd;
	clockid_t clockid;
};

/* ioctl(2) that returns what it gives, or a negative errno value. */
int kwq_ioctl(int fd, unsigned long request, void *arg);

/* One request on /dev/kwq, which is opened for it alone. */
int kwq_device_ioctl(unsigned long request, void *arg);

/* Copies a name into a request: NULL as the empty one, else it must not be. */
int kwq_copy_name(__u8 field[KWQ_NAME_MAX + 1], const char *name);

/*
 * Copies a structure of the caller's that begins with its size: a shorter one is
 * an older program's, and what it lacks is zero; a longer one must have zeroes
 * where this library knows nothing. (The kernel does likewise.)
 */
int kwq_copy_options(void *to, size_t to_size, const void *from, size_t from_size);

/* A batch of one. Returns the entry's own result. */
int kwq_one(const struct kwq *q, unsigned long request, const void *entry,
	    size_t entry_size, const void *key, size_t key_len);

#endif /* KWQ_LIB_INTERNAL_H */

/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * open() for a test that plays the kernel (--wrap=open, --wrap=open64). Who includes it
 * says with open_device() what it is to open /dev/kwq; other files are what they are.
 */
#ifndef KWQ_TEST_WRAP_OPEN_H
#define KWQ_TEST_WRAP_OPEN_H

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

static int open_device(int flags);

int __wrap_open(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);

/* The mode is there to be passed on: with O_TMPFILE, too, it counts. */
int __wrap_open(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = va_arg(args, int);
	va_end(args);
	return strcmp(path, "/dev/kwq") ? openat(AT_FDCWD, path, flags, mode) : open_device(flags);
}

int __wrap_open64(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = va_arg(args, int);
	va_end(args);
	return __wrap_open(path, flags, mode);
}

#endif /* KWQ_TEST_WRAP_OPEN_H */

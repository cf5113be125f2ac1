/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * open() for a test that replaces the kernel (--wrap=open, --wrap=open64). The test
 * defines open_device(), which replaces open() of /dev/kwq. Other files are opened
 * normally. Such a test replaces ioctl(), too.
 */
#ifndef KWQ_TEST_WRAP_OPEN_H
#define KWQ_TEST_WRAP_OPEN_H

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

#include "wrap-ioctl.h"

static int open_device(int flags);

int __wrap_open(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);

/* The mode matters with O_TMPFILE, too, so it is always passed on. */
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

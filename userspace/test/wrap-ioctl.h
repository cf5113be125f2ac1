/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* ioctl() for a test that replaces the kernel (--wrap=ioctl). The test defines answer(). */
#ifndef KWQ_TEST_WRAP_IOCTL_H
#define KWQ_TEST_WRAP_IOCTL_H

#include <stdarg.h>

static int answer(int fd, unsigned long request, void *arg);

int __wrap_ioctl(int fd, unsigned long request, ...);

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	return answer(fd, request, arg);
}

#endif /* KWQ_TEST_WRAP_IOCTL_H */

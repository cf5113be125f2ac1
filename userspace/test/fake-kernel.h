/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The wrapped functions as the linker's --wrap names them.
 */
#ifndef KWQ_TEST_FAKE_KERNEL_H
#define KWQ_TEST_FAKE_KERNEL_H

#include <time.h>

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __real_ioctl(int fd, unsigned long request, ...);

#endif /* KWQ_TEST_FAKE_KERNEL_H */

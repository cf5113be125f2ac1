/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The wrapped function as the linker's --wrap names it.
 */
#ifndef KWQ_TEST_FAKE_KERNEL_H
#define KWQ_TEST_FAKE_KERNEL_H

int __real_ioctl(int fd, unsigned long request, ...);

#endif /* KWQ_TEST_FAKE_KERNEL_H */

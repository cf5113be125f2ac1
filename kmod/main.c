// SPDX-License-Identifier: GPL-2.0-only
#include <linux/module.h>

MODULE_DESCRIPTION("Keyed work queues for kernel code");
MODULE_LICENSE("GPL");

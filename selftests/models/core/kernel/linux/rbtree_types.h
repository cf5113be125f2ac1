/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's tools have these structures in their rbtree.h. */
#include <linux/rbtree.h>

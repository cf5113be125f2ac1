/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MODEL_LINUX_TYPES_H
#define MODEL_LINUX_TYPES_H

#include_next <linux/types.h>

typedef s64 ktime_t;

#endif /* MODEL_LINUX_TYPES_H */

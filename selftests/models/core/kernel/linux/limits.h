/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MODEL_LINUX_LIMITS_H
#define MODEL_LINUX_LIMITS_H

#include <stdint.h>
#include_next <linux/limits.h>

#define S8_MIN	INT8_MIN
#define U16_MAX	UINT16_MAX
#define U32_MAX	UINT32_MAX
#define S64_MIN	INT64_MIN
#define S64_MAX	INT64_MAX
#define U64_MAX	UINT64_MAX

#endif /* MODEL_LINUX_LIMITS_H */

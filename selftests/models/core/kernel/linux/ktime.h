/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MODEL_LINUX_KTIME_H
#define MODEL_LINUX_KTIME_H

#include <linux/limits.h>
#include <linux/time64.h>
#include <linux/types.h>

#define KTIME_MAX	S64_MAX
#define KTIME_MIN	S64_MIN

/* Of times that are not negative. */
static inline ktime_t ktime_add_safe(ktime_t a, ktime_t b)
{
	ktime_t sum;

	return __builtin_add_overflow(a, b, &sum) ? KTIME_MAX : sum;
}

#endif /* MODEL_LINUX_KTIME_H */

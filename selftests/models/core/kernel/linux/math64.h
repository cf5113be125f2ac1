/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MODEL_LINUX_MATH64_H
#define MODEL_LINUX_MATH64_H

#include <linux/types.h>

static inline u64 div_u64_rem(u64 a, u32 b, u32 *rest)
{
	*rest = a % b;
	return a / b;
}

static inline u64 div64_u64_rem(u64 a, u64 b, u64 *rest)
{
	*rest = a % b;
	return a / b;
}

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	unsigned __int128 wide = a;

	return wide * b >> shift;
}

/* As the processor's own division does, the kernel's ends with what does not fit. */
static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 c)
{
	unsigned __int128 wide = a;

	wide = wide * b / c;
	if (wide >> 64)
		__builtin_trap();
	return wide;
}

#endif /* MODEL_LINUX_MATH64_H */

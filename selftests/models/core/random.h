/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MODEL_RANDOM_H
#define MODEL_RANDOM_H

#include <linux/types.h>

/* splitmix64: returns the next number of a sequence. Any state can start one. */
static inline u64 random_next(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

#endif /* MODEL_RANDOM_H */

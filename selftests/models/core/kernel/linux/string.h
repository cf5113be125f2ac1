/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MODEL_LINUX_STRING_H
#define MODEL_LINUX_STRING_H

#include <string.h>

/* The first byte that is not @c. */
static inline void *memchr_inv(const void *start, int c, size_t size)
{
	const unsigned char *byte = start;

	for (; size; size--, byte++)
		if (*byte != (unsigned char)c)
			return (void *)byte;
	return NULL;
}

#endif /* MODEL_LINUX_STRING_H */

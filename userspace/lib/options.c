// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Caller's structures that may be older or newer than this library.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

int kwq_copy_options(void *to, size_t to_size, const void *from, size_t from_size)
{
	const unsigned char *tail = from;
	size_t i;

	/* The caller forgot to set the size member. */
	if (from_size < sizeof(size_t))
		return -EINVAL;
	for (i = to_size; i < from_size; i++)
		if (tail[i])
			return -E2BIG;

	memset(to, 0, to_size);
	memcpy(to, from, from_size < to_size ? from_size : to_size);
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "status_set.h"

#include <errno.h>

/*
 * Parses a number from 1 to 255 at *s, and moves *s behind it. Returns 0 for anything
 * else.
 */
static unsigned int parse_status(const char **s)
{
	unsigned int n = 0;

	while (**s >= '0' && **s <= '9') {
		n = n * 10 + (unsigned int)(*(*s)++ - '0');
		if (n > 255)
			return 0;
	}
	return n;
}

int status_set_parse(struct status_set *set, const char *list)
{
	struct status_set copy = *set;
	unsigned int first, last;

	do {
		first = parse_status(&list);
		last = first;
		if (*list == '-') {
			list++;
			last = parse_status(&list);
		}
		if (!first || last < first)
			return -EINVAL;
		while (first <= last)
			copy.has[first++] = true;
	} while (*list == ',' && *++list);

	/* The list has other text at its end, or ends with a comma. */
	if (*list || list[-1] == ',')
		return -EINVAL;
	*set = copy;
	return 0;
}

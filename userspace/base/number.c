// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>

#include "cmd.h"

int parse_number(const char *s, uint64_t min, uint64_t max, uint64_t *number)
{
	uint64_t n = 0;

	if (!*s)
		return -EINVAL;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return -EINVAL;
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*s - '0'), &n))
			return -ERANGE;
	}
	if (n < min || n > max)
		return -ERANGE;
	*number = n;
	return 0;
}

int parse_signed(const char *s, int min, int max, int *number)
{
	bool negative = *s == '-';
	uint64_t size;
	int64_t n;
	int err;

	err = parse_number(s + (negative || *s == '+'), 0, INT32_MAX, &size);
	if (err)
		return err;
	n = negative ? -(int64_t)size : (int64_t)size;
	if (n < min || n > max)
		return -ERANGE;
	*number = n;
	return 0;
}

uint64_t must_parse_number(const char *option, const char *s, uint64_t min,
			   uint64_t max)
{
	uint64_t n;

	switch (parse_number(s, min, max, &n)) {
	case 0:
		return n;
	case -ERANGE:
		usage("%s %s: must be from %" PRIu64 " to %" PRIu64, option, s, min, max);
	default:
		usage("%s %s: not a number", option, s);
	}
}

int must_parse_signed(const char *option, const char *s, int min, int max)
{
	int n;

	switch (parse_signed(s, min, max, &n)) {
	case 0:
		return n;
	case -ERANGE:
		usage("%s %s: must be from %d to %d", option, s, min, max);
	default:
		usage("%s %s: not a number", option, s);
	}
}

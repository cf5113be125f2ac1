// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "jobs_spec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

static int parse_percent(const char *s, size_t len, unsigned int cpus, uint64_t *jobs)
{
	uint64_t percent;
	char digits[12];
	int err;

	if (len >= sizeof(digits))
		return -ERANGE;
	snprintf(digits, sizeof(digits), "%.*s", (int)len, s);
	err = parse_number(digits, 1, INT32_MAX, &percent);
	*jobs = err ? 0 : percent * cpus / 100;
	return err;
}

static int parse_form(const char *s, unsigned int cpus, uint64_t *jobs)
{
	size_t len = strlen(s);
	int err, difference;

	if (len && s[len - 1] == '%')
		return parse_percent(s, len - 1, cpus, jobs);
	if (*s != '+' && *s != '-')
		return parse_number(s, 1, INT32_MAX, jobs);
	err = parse_signed(s, -INT32_MAX, INT32_MAX, &difference);
	*jobs = 0;
	if (!err && (int64_t)cpus + difference > 0)
		*jobs = (int64_t)cpus + difference;
	return err;
}

int jobs_spec_parse(const char *s, unsigned int cpus, unsigned int max, unsigned int *jobs)
{
	uint64_t n;
	int err;

	err = parse_form(s, cpus, &n);
	if (err)
		return err;
	if (n > max)
		return -ERANGE;
	*jobs = n ? n : 1;
	return 0;
}

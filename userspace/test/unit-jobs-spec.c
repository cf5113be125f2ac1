// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U5: the forms of kwq run -j.
 */
#include <errno.h>

#include "base/cmd.h"
#include "kwq/run/jobs_spec.h"
#include "tap.h"

enum { MAX = 4096, UNCHANGED = 77 };

static const struct {
	const char *s;
	unsigned int cpus;
	int err;
	unsigned int jobs;
} specs[] = {
	{ "1", 2, 0, 1 },
	{ "8", 2, 0, 8 },
	{ "4096", 2, 0, 4096 },
	{ "4097", 2, -ERANGE, UNCHANGED },
	{ "0", 2, -ERANGE, UNCHANGED },
	{ "100%", 6, 0, 6 },
	{ "50%", 6, 0, 3 },
	{ "50%", 3, 0, 1 },
	{ "150%", 3, 0, 4 },
	{ "1%", 2, 0, 1 },
	{ "0%", 2, -ERANGE, UNCHANGED },
	{ "2147483647%", 4096, -ERANGE, UNCHANGED },
	{ "99999999999999%", 1, -ERANGE, UNCHANGED },
	{ "+1", 2, 0, 3 },
	{ "+0", 2, 0, 2 },
	{ "+4094", 2, 0, 4096 },
	{ "+4095", 2, -ERANGE, UNCHANGED },
	{ "+2147483647", 2, -ERANGE, UNCHANGED },
	{ "-1", 4, 0, 3 },
	{ "-4", 4, 0, 1 },
	{ "-2147483647", 4, 0, 1 },
	{ "-99999999999", 4, -ERANGE, UNCHANGED },
	{ "", 2, -EINVAL, UNCHANGED },
	{ "%", 2, -EINVAL, UNCHANGED },
	{ "+", 2, -EINVAL, UNCHANGED },
	{ "-", 2, -EINVAL, UNCHANGED },
	{ "+-1", 2, -EINVAL, UNCHANGED },
	{ "+50%", 2, -EINVAL, UNCHANGED },
	{ "50%%", 2, -EINVAL, UNCHANGED },
	{ "2x", 2, -EINVAL, UNCHANGED },
	{ " 2", 2, -EINVAL, UNCHANGED },
};

int main(void)
{
	unsigned int jobs;
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(specs); i++) {
		jobs = UNCHANGED;
		err = jobs_spec_parse(specs[i].s, specs[i].cpus, MAX, &jobs);
		if (!ok(err == specs[i].err && jobs == specs[i].jobs,
			"-j \"%s\" of %u processors", specs[i].s, specs[i].cpus))
			printf("#  got %d, %u\n", err, jobs);
	}
	return done_testing();
}

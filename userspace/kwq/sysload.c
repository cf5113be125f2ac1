// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "sysload.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "number.h"

int sysload_read_running(const char *path, uint64_t *running)
{
	FILE *file = fopen(path, "re");
	int nr;

	if (!file)
		return -errno;
	nr = fscanf(file, "%*f %*f %*f %" SCNu64 "/", running);
	fclose(file);
	return nr == 1 ? 0 : -EBADMSG;
}

int sysload_read_available(const char *path, uint64_t *bytes)
{
	FILE *file = fopen(path, "re");
	char line[200];
	uint64_t kib;
	int err = -EBADMSG;

	if (!file)
		return -errno;
	while (err && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &kib) == 1)
			err = __builtin_mul_overflow(kib, UINT64_C(1024), bytes) ? -ERANGE : 0;
	fclose(file);
	return err;
}

int sysload_parse_size(const char *s, uint64_t *bytes)
{
	static const char units[] = "KMGTPkmgtp";
	enum { POWERS = (sizeof(units) - 1) / 2 };
	size_t len = strlen(s), power = 0;
	uint64_t base = 1024, n;
	const char *unit;
	char digits[24];
	int err;

	unit = len ? strchr(units, s[len - 1]) : NULL;
	if (unit) {
		len--;
		power = unit - units + 1;
	}
	if (power > POWERS) {
		power -= POWERS;
		base = 1000;
	}
	if (len >= sizeof(digits))
		return -ERANGE;
	snprintf(digits, sizeof(digits), "%.*s", (int)len, s);
	err = parse_number(digits, 0, UINT64_MAX, &n);
	for (; !err && power; power--)
		if (__builtin_mul_overflow(n, base, &n))
			err = -ERANGE;
	if (!err)
		*bytes = n;
	return err;
}

unsigned int sysload_processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

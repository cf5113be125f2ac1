/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * TAP for the unit tests: one line per check, and the plan at the end. A program that
 * dies before its plan counts as failed in run-tests.
 */
#ifndef KWQ_TEST_TAP_H
#define KWQ_TEST_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_nr, tap_failed;

static inline bool __attribute__((format(printf, 2, 3)))
ok(bool good, const char *format, ...)
{
	va_list args;

	printf("%sok %d - ", good ? "" : "not ", ++tap_nr);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	tap_failed += !good;
	return good;
}

static inline void is_number(long long got, long long wanted, const char *what)
{
	if (!ok(got == wanted, "%s", what))
		printf("#  got %lld, wanted %lld\n", got, wanted);
}

static inline void is_string(const char *got, const char *wanted, const char *what)
{
	if (!ok(!strcmp(got, wanted), "%s", what))
		printf("#  got \"%s\", wanted \"%s\"\n", got, wanted);
}

static inline int done_testing(void)
{
	printf("1..%d\n", tap_nr);
	return tap_failed != 0;
}

#endif /* KWQ_TEST_TAP_H */

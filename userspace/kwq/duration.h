/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Durations and points in time, as people write them. Pure, but for must_*().
 */
#ifndef KWQ_DURATION_H
#define KWQ_DURATION_H

#include <stdint.h>

#define NS_PER_US	UINT64_C(1000)
#define NS_PER_MS	(1000 * NS_PER_US)
#define NS_PER_S	(1000 * NS_PER_MS)

/* The longest that the kernel's clocks can hold. */
#define DURATION_MAX	((uint64_t)INT64_MAX)

/* Room for the text of any duration, with the NUL. */
enum { DURATION_SIZE = 24 };

/*
 * "1.5s", "1m30s", "500ms", "2h", "7d", "100us", "250ns"; a bare number is
 * seconds. Parts of a nanosecond are rounded up, so that nothing comes early.
 * Returns 0, -EINVAL, or -ERANGE where 64 bits of nanoseconds do not do.
 */
int parse_duration(const char *s, uint64_t *ns);

/*
 * The text that parse_duration() makes the same of, in the largest unit of which it
 * is a multiple: "1500ms", "5m". Returns @to, of DURATION_SIZE.
 */
char *print_duration(char *to, uint64_t ns);

/*
 * A point in time: "@SECONDS" since 1970 with decimals, or "[DATE ]TIME" or DATE
 * as YYYY-MM-DD and HH:MM[:SS] in local time, a T between them allowed, and a Z
 * behind for UTC; or "clock:DURATION", a time on the queue's own clock.
 * @now_real is the wall clock, @now_queue the queue's. A time that has passed is
 * one on the queue's clock, 0 at the earliest. Returns as parse_duration().
 */
int parse_instant(const char *s, uint64_t now_real, uint64_t now_queue,
		  uint64_t *at);

/* The argument of an option; ends the program where it is wrong. */
uint64_t must_parse_duration(const char *option, const char *s);
/* The same, up to DURATION_MAX. */
uint64_t must_parse_short_duration(const char *option, const char *s);
uint64_t must_parse_instant(const char *option, const char *s, uint64_t now_queue);

#endif /* KWQ_DURATION_H */

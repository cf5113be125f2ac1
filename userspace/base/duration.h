/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Durations and points in time as people write them. Pure, except for must_*().
 */
#ifndef KWQ_DURATION_H
#define KWQ_DURATION_H

#include <stdbool.h>
#include <stdint.h>

#define NS_PER_US	UINT64_C(1000)
#define NS_PER_MS	(1000 * NS_PER_US)
#define NS_PER_S	(1000 * NS_PER_MS)

/* The longest duration that the kernel's clocks can hold. */
#define DURATION_MAX	((uint64_t)INT64_MAX)

/* Room for the text of any duration, with the NUL. */
enum { DURATION_SIZE = 24 };

/*
 * Parses "1.5s", "1m30s", "500ms", "2h", "7d", "100us", "250ns"; a bare number is
 * seconds. Fractions of a nanosecond are rounded up, so that nothing happens early.
 * Returns 0, -EINVAL, or -ERANGE if the result exceeds 64 bits.
 */
int parse_duration(const char *s, uint64_t *ns);

/*
 * Prints a duration in the largest unit that divides it: "1500ms", "5m".
 * parse_duration() of that text gives @ns again. Returns @to, which has DURATION_SIZE
 * bytes.
 */
char *print_duration(char *to, uint64_t ns);

/*
 * Parses a point in time: "@SECONDS" since 1970 with decimals; "[DATE ]TIME" or DATE in
 * local time; or "clock:DURATION", a time on the queue's own clock. DATE is YYYY-MM-DD,
 * TIME is HH:MM[:SS]. A T may stand between them, and a Z behind them means UTC. A TIME
 * without DATE that is over today is one of tomorrow. @now_real is the wall clock,
 * @now_queue the queue's. A time in the past sets *is_past, and becomes a time on the
 * queue's clock, but not less than 0. Returns as parse_duration().
 */
int parse_instant(const char *s, uint64_t now_real, uint64_t now_queue,
		  uint64_t *at, bool *is_past);

/* Parses the argument of an option. Ends the program if it is wrong. */
uint64_t must_parse_duration(const char *option, const char *s);
/* As must_parse_duration(), up to DURATION_MAX. */
uint64_t must_parse_short_duration(const char *option, const char *s);
/* @if_past: what to do about a time in the past; NULL: it is allowed. */
uint64_t must_parse_instant(const char *option, const char *s, uint64_t now_queue,
			    const char *if_past);

#endif /* KWQ_DURATION_H */

/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * kwq run: how many lines about failures it prints. If a database is down, every key fails, and a
 * line for each would bury all others. Pure.
 */
#ifndef KWQ_TELL_LIMIT_H
#define KWQ_TELL_LIMIT_H

#include <stdint.h>

#include "base/duration.h"

enum { TELL_LINES = 10 };	/* in each interval, which begins with its first line */
#define TELL_INTERVAL (5 * NS_PER_S)

/* Zeroed at the start. */
struct tell_limit {
	uint64_t ends;		/* of the interval, on the caller's clock */
	unsigned int lines;
	uint64_t untold;	/* failures since the last line, for the next one to mention */
};

enum tell {
	TELL_LINE,
	TELL_LAST,	/* the line, and that the next failures of this interval get none */
	TELL_NOTHING,
};

/* Whether a failure at @now gets a line. */
static inline enum tell tell_limit_take(struct tell_limit *limit, uint64_t now)
{
	if (now >= limit->ends) {
		limit->ends = now + TELL_INTERVAL;
		limit->lines = 0;
	}
	if (limit->lines == TELL_LINES) {
		limit->untold++;
		return TELL_NOTHING;
	}
	return ++limit->lines == TELL_LINES ? TELL_LAST : TELL_LINE;
}

/* Returns how many failures had no line, and forgets them. */
static inline uint64_t tell_limit_untold(struct tell_limit *limit)
{
	uint64_t untold = limit->untold;

	limit->untold = 0;
	return untold;
}

#endif /* KWQ_TELL_LIMIT_H */

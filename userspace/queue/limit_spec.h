/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Limiters as people write them. Pure.
 *
 *	exp:BASE..MAX			base x 2^requeues, up to max
 *	fast-slow:FAST*N,SLOW		fast N times, then slow
 *	bucket:EVENTS/PERIOD:BURST	EVENTS tokens each PERIOD, up to BURST of them
 *	backoff:FIRST[*FACTOR][..CAP][,steps=N][,jitter=PART]
 *
 * A time is a duration. PERIOD is a duration, or a unit alone: s is 1s. FACTOR and
 * PART are decimal numbers, rounded to the nearest 1/KWQ_ONE. A backoff grows as
 * often as its limiter allows if steps is not given.
 */
#ifndef KWQ_LIMIT_SPEC_H
#define KWQ_LIMIT_SPEC_H

#include <stddef.h>

#include <kwq.h>

/* Room for the text of any limiter, with the NUL. */
enum { LIMIT_SPEC_SIZE = 160 };

/* Returns NULL, or an error text. */
const char *limit_spec_parse(const char *s, struct kwq_limiter *limiter);

/*
 * Prints a text from which limit_spec_parse() makes the same limiter. Two kinds of
 * limiters have no such text: a backoff whose first pause exceeds its cap, and a kind
 * unknown to this command, which is printed as "kind:NUMBER". Returns @to, which has
 * LIMIT_SPEC_SIZE bytes.
 */
char *limit_spec_print(char *to, const struct kwq_limiter *limiter);

#endif /* KWQ_LIMIT_SPEC_H */

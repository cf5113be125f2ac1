/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Numbers in arguments. Pure, except for must_*().
 */
#ifndef KWQ_NUMBER_H
#define KWQ_NUMBER_H

#include <stdint.h>

/*
 * Parses a decimal number from @min to @max, with nothing before or after it. Returns
 * 0, -EINVAL or -ERANGE.
 */
int parse_number(const char *s, uint64_t min, uint64_t max, uint64_t *number);

/* As parse_number(), with a sign. */
int parse_signed(const char *s, int min, int max, int *number);

/* Parses the argument of an option. Ends the program if it is wrong. */
uint64_t must_parse_number(const char *option, const char *s, uint64_t min,
			   uint64_t max);
int must_parse_signed(const char *option, const char *s, int min, int max);

#endif /* KWQ_NUMBER_H */

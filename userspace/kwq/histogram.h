/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What &struct kwq_histogram says, and times for people. Pure.
 */
#ifndef KWQ_HISTOGRAM_H
#define KWQ_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <kwq.h>

/* Those that have an upper bound: all but the last. */
enum { HISTOGRAM_BOUNDS = KWQ_HISTOGRAM_BUCKETS - 1 };

/* What bucket @i holds at most, in ns; UINT64_MAX for the last. */
uint64_t histogram_bound(unsigned int i);

uint64_t histogram_count(const struct kwq_histogram *h);

/* What was counted after @before, an earlier state of the same. */
void histogram_since(struct kwq_histogram *h, const struct kwq_histogram *now,
		     const struct kwq_histogram *before);

/*
 * The time within which @percent of what was counted lies, in ns: estimated evenly
 * within its bucket, as histogram_quantile() of Prometheus does, and the highest
 * bound where it is beyond. False if nothing was counted.
 */
bool histogram_percentile(const struct kwq_histogram *h, double percent, uint64_t *ns);

/* A 128-bit number in decimal. */
void print_wide(FILE *to, uint64_t high, uint64_t low);

/* The same, of ns, in seconds: exact, with no more digits than it takes. */
void print_seconds(FILE *to, uint64_t high, uint64_t low);

enum { SHORT_TIME_SIZE = 24 };

/*
 * "0", "250ns", "1.23ms", "59.9s", "12m05s", "3h07m", "12d03h": in three digits or
 * two units, cut and not rounded. @to has SHORT_TIME_SIZE bytes. Returns @to.
 */
char *short_time(char *to, uint64_t ns);

/* short_time() of a percentile, with ">" before the highest bound and "-" for none. */
char *short_percentile(char *to, const struct kwq_histogram *h, double percent);

#endif /* KWQ_HISTOGRAM_H */

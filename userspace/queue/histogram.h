/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Evaluates &struct kwq_histogram, and prints times for people. Pure.
 */
#ifndef KWQ_HISTOGRAM_H
#define KWQ_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <kwq.h>

/* The buckets with an upper bound: all but the last. */
enum { HISTOGRAM_BOUNDS = KWQ_HISTOGRAM_BUCKETS - 1 };

/* The upper bound of bucket @i in ns; UINT64_MAX for the last. */
uint64_t histogram_bound(unsigned int i);

uint64_t histogram_count(const struct kwq_histogram *h);

/* The counts since @before, an earlier state of the same histogram. */
void histogram_since(struct kwq_histogram *h, const struct kwq_histogram *now,
		     const struct kwq_histogram *before);

/*
 * The @percent percentile in ns, interpolated linearly within its bucket as
 * histogram_quantile() of Prometheus does. In the last bucket it is the highest bound.
 * Returns false if the histogram is empty.
 */
bool histogram_percentile(const struct kwq_histogram *h, double percent, uint64_t *ns);

/* Prints a 128-bit number in decimal. */
void print_wide(FILE *to, uint64_t high, uint64_t low);

/* Prints a 128-bit number of ns in seconds, exactly and without trailing zeros. */
void print_seconds(FILE *to, uint64_t high, uint64_t low);

enum { SHORT_TIME_SIZE = 24 };

/*
 * Prints "0", "250ns", "1.23ms", "59.9s", "12m05s", "3h07m", "12d03h": three digits or
 * two units, truncated. @to has SHORT_TIME_SIZE bytes. Returns @to.
 */
char *short_time(char *to, uint64_t ns);

/*
 * As short_time(), for a percentile: ">1000s" beyond the highest bound, "-" if the
 * histogram is empty.
 */
char *short_percentile(char *to, const struct kwq_histogram *h, double percent);

#endif /* KWQ_HISTOGRAM_H */

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "histogram.h"

#include <inttypes.h>
#include <string.h>

#include "base/cmd.h"
#include "base/duration.h"

uint64_t histogram_bound(unsigned int i)
{
	uint64_t bound = NS_PER_US;

	if (i >= HISTOGRAM_BOUNDS)
		return UINT64_MAX;
	while (i--)
		bound *= 10;
	return bound;
}

uint64_t histogram_count(const struct kwq_histogram *h)
{
	uint64_t count = 0;
	unsigned int i;

	for (i = 0; i < KWQ_HISTOGRAM_BUCKETS; i++)
		count += h->counts[i];
	return count;
}

void histogram_since(struct kwq_histogram *h, const struct kwq_histogram *now,
		     const struct kwq_histogram *before)
{
	unsigned int i;

	h->sum = now->sum - before->sum;
	h->sum_high = now->sum_high - before->sum_high - (now->sum < before->sum);
	for (i = 0; i < KWQ_HISTOGRAM_BUCKETS; i++)
		h->counts[i] = now->counts[i] - before->counts[i];
}

bool histogram_percentile(const struct kwq_histogram *h, double percent, uint64_t *ns)
{
	double rank = histogram_count(h) * percent / 100, below = 0;
	uint64_t lower = 0;
	unsigned int i;

	if (!histogram_count(h))
		return false;
	for (i = 0; i < HISTOGRAM_BOUNDS; i++) {
		uint64_t bound = histogram_bound(i);

		if (h->counts[i] && below + h->counts[i] >= rank) {
			*ns = lower + (bound - lower) * ((rank - below) / h->counts[i]);
			return true;
		}
		below += h->counts[i];
		lower = bound;
	}
	*ns = lower;
	return true;
}

/*
 * Divides a 128-bit number, for 32-bit compilers without such a type. pieces[0] is the
 * highest.
 */
static uint32_t divide(uint32_t pieces[4], uint32_t divisor)
{
	uint64_t rest = 0;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		rest = rest << 32 | pieces[i];
		pieces[i] = rest / divisor;
		rest %= divisor;
	}
	return rest;
}

static void print_pieces(FILE *to, uint32_t pieces[4])
{
	static const uint32_t nine_digits = 1000000000;
	uint32_t groups[5];	/* 39 digits */
	unsigned int nr = 0;

	do {
		groups[nr++] = divide(pieces, nine_digits);
	} while (pieces[0] || pieces[1] || pieces[2] || pieces[3]);

	fprintf(to, "%" PRIu32, groups[--nr]);
	while (nr)
		fprintf(to, "%09" PRIu32, groups[--nr]);
}

void print_wide(FILE *to, uint64_t high, uint64_t low)
{
	uint32_t pieces[] = { high >> 32, high, low >> 32, low };

	print_pieces(to, pieces);
}

void print_seconds(FILE *to, uint64_t high, uint64_t low)
{
	uint32_t pieces[] = { high >> 32, high, low >> 32, low };
	uint32_t ns = divide(pieces, NS_PER_S);
	int digits = 9;

	print_pieces(to, pieces);
	if (!ns)
		return;
	for (; ns % 10 == 0; ns /= 10)
		digits--;
	fprintf(to, ".%0*" PRIu32, digits, ns);
}

/*
 * Prints @ns with three digits in a unit of @unit ns. @ns must be less than 1000 units.
 */
static char *three_digits(char *to, uint64_t ns, uint64_t unit, const char *name)
{
	unsigned int whole = ns / unit, part = ns % unit * 1000 / unit;

	if (!part || whole >= 100)
		snprintf(to, SHORT_TIME_SIZE, "%u%s", whole, name);
	else if (whole >= 10)
		snprintf(to, SHORT_TIME_SIZE, "%u.%u%s", whole, part / 100, name);
	else
		snprintf(to, SHORT_TIME_SIZE, "%u.%02u%s", whole, part / 10, name);
	return to;
}

char *short_time(char *to, uint64_t ns)
{
	uint64_t s = ns / NS_PER_S;

	if (!ns)
		return memcpy(to, "0", sizeof("0"));
	if (ns < NS_PER_US)
		return three_digits(to, ns, 1, "ns");
	if (ns < NS_PER_MS)
		return three_digits(to, ns, NS_PER_US, "us");
	if (ns < NS_PER_S)
		return three_digits(to, ns, NS_PER_MS, "ms");
	if (s < 60)
		return three_digits(to, ns, NS_PER_S, "s");

	if (s < 3600)
		snprintf(to, SHORT_TIME_SIZE, "%um%02us", (unsigned int)s / 60,
			 (unsigned int)s % 60);
	else if (s < 86400)
		snprintf(to, SHORT_TIME_SIZE, "%uh%02um", (unsigned int)s / 3600,
			 (unsigned int)s / 60 % 60);
	else
		snprintf(to, SHORT_TIME_SIZE, "%ud%02uh", (unsigned int)(s / 86400),
			 (unsigned int)(s / 3600 % 24));
	return to;
}

char *short_percentile(char *to, const struct kwq_histogram *h, double percent)
{
	uint64_t ns, count = histogram_count(h);

	if (!histogram_percentile(h, percent, &ns))
		return memcpy(to, "-", sizeof("-"));
	/* The percentile is in the last bucket, which has no upper bound. */
	if (count * percent / 100 > count - h->counts[HISTOGRAM_BOUNDS])
		return memcpy(to, ">1000s", sizeof(">1000s"));
	return short_time(to, ns);
}

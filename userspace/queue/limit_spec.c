// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "limit_spec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "base/number.h"

/*
 * FIXED_DIGITS decimals identify every multiple of 1/KWQ_ONE. FIXED_DIGITS_READ
 * decimals represent any tie exactly, and fit into 64 bits.
 */
enum { FIXED_DIGITS = 5, FIXED_DIGITS_READ = 14 };

/* ---- Parts of a text ------------------------------------------------------ */

/* The rest of the text, and room for one part of it. */
struct parser {
	const char *rest;
	char part[80];
};

/*
 * Cuts the text before @mark, or all of it if @mark is NULL, off as p->part. Returns
 * false if the mark is missing, or the part is longer than any valid one.
 */
static bool cut(struct parser *p, const char *mark)
{
	const char *end = mark ? strstr(p->rest, mark) : p->rest + strlen(p->rest);
	size_t len;

	if (!end)
		return false;
	len = end - p->rest;
	if (len >= sizeof(p->part))
		return false;
	memcpy(p->part, p->rest, len);
	p->part[len] = '\0';
	p->rest = end + (mark ? strlen(mark) : 0);
	return true;
}

static const char *parse_time(const char *s, __u64 *ns)
{
	uint64_t time;
	int err;

	if (*s == '-')
		return "a time is negative";
	err = parse_duration(s, &time);
	if (err == -ERANGE || (!err && time > DURATION_MAX))
		return "a time is too long (more than 292 years)";
	if (err)
		return "a time is not a duration such as 5ms";
	*ns = time;
	return NULL;
}

/* Parses a 32-bit count. @zero is the error for 0, or NULL if 0 is allowed. */
static const char *parse_count(const char *s, const char *zero, __u32 *count)
{
	uint64_t n;

	if (parse_number(s, 0, UINT32_MAX, &n))
		return "a count is not a number from 0 to 4294967295";
	if (!n && zero)
		return zero;
	*count = n;
	return NULL;
}

/* Parses a decimal number into units of 1/KWQ_ONE, rounded to nearest. */
static bool parse_fixed(const char *s, __u32 *fixed)
{
	size_t whole = strspn(s, "0123456789"), part = 0, i;
	uint64_t n = 0, unit = 1, digits = 0;

	if (s[whole] == '.')
		part = strspn(s + whole + 1, "0123456789");
	if (!(whole + part) || strlen(s) != whole + (s[whole] == '.') + part)
		return false;
	for (i = 0; i < whole; i++) {
		n = n * 10 + (s[i] - '0');
		if (n >= KWQ_ONE)
			return false;
	}
	for (i = 0; i < part && i < FIXED_DIGITS_READ; i++) {
		digits = digits * 10 + (s[whole + 1 + i] - '0');
		unit *= 10;
	}
	n = n * KWQ_ONE + (digits * KWQ_ONE + unit / 2) / unit;
	if (n > UINT32_MAX)
		return false;
	*fixed = n;
	return true;
}

/* Prints the shortest text that parse_fixed() turns into the same number. */
static char *print_fixed(char *to, size_t size, __u32 fixed)
{
	__u32 again;
	int digits;

	for (digits = 0; digits <= FIXED_DIGITS; digits++) {
		snprintf(to, size, "%.*f", digits, (double)fixed / KWQ_ONE);
		if (parse_fixed(to, &again) && again == fixed)
			break;
	}
	return to;
}

/* ---- exp:5ms..1000s ------------------------------------------------------- */

static const char *parse_exponential(struct parser *p, struct kwq_limiter *limiter)
{
	const char *why;

	if (!cut(p, ".."))
		return "not exp:BASE..MAX, such as exp:5ms..1000s";
	why = parse_time(p->part, &limiter->u.exponential.base);
	if (!why)
		why = parse_time(p->rest, &limiter->u.exponential.max);
	if (why)
		return why;
	if (!limiter->u.exponential.base)
		return "the base is 0";
	if (limiter->u.exponential.base > limiter->u.exponential.max)
		return "the base is above the max";
	return NULL;
}

static void print_exponential(char *to, const struct kwq_limiter *limiter)
{
	char base[DURATION_SIZE], max[DURATION_SIZE];

	snprintf(to, LIMIT_SPEC_SIZE, "exp:%s..%s",
		 print_duration(base, limiter->u.exponential.base),
		 print_duration(max, limiter->u.exponential.max));
}

/* ---- fast-slow:5ms*3,10s -------------------------------------------------- */

static const char *parse_fast_slow(struct parser *p, struct kwq_limiter *limiter)
{
	static const char form[] = "not fast-slow:FAST*N,SLOW, such as fast-slow:5ms*3,10s";
	const char *why;

	if (!cut(p, "*"))
		return form;
	why = parse_time(p->part, &limiter->u.fast_slow.fast);
	if (why)
		return why;
	if (!cut(p, ","))
		return form;
	why = parse_count(p->part, NULL, &limiter->u.fast_slow.nr_fast);
	return why ? why : parse_time(p->rest, &limiter->u.fast_slow.slow);
}

static void print_fast_slow(char *to, const struct kwq_limiter *limiter)
{
	char fast[DURATION_SIZE], slow[DURATION_SIZE];

	snprintf(to, LIMIT_SPEC_SIZE, "fast-slow:%s*%u,%s",
		 print_duration(fast, limiter->u.fast_slow.fast),
		 limiter->u.fast_slow.nr_fast,
		 print_duration(slow, limiter->u.fast_slow.slow));
}

/* ---- bucket:10/s:100 ------------------------------------------------------ */

static const char *parse_period(const char *s, __u64 *ns)
{
	char one[sizeof(((struct parser *)0)->part) + 1];
	const char *why;

	/* A unit without a number means one of it. */
	snprintf(one, sizeof(one), "%s%s", *s && !strchr("0123456789.-", *s) ? "1" : "", s);
	why = parse_time(one, ns);
	if (why)
		return why;
	return *ns ? NULL : "the period is 0";
}

static const char *parse_bucket(struct parser *p, struct kwq_limiter *limiter)
{
	static const char form[] = "not bucket:EVENTS/PERIOD:BURST, such as bucket:10/s:100";
	const char *why;

	if (!cut(p, "/"))
		return form;
	why = parse_count(p->part, "the rate is 0", &limiter->u.bucket.events);
	if (why)
		return why;
	if (!cut(p, ":"))
		return form;
	why = parse_period(p->part, &limiter->u.bucket.period);
	return why ? why : parse_count(p->rest, "the burst is 0", &limiter->u.bucket.burst);
}

static void print_bucket(char *to, const struct kwq_limiter *limiter)
{
	char period[DURATION_SIZE], *shown;

	shown = print_duration(period, limiter->u.bucket.period);
	/* Print 1s as s, but 11s as 11s. */
	if (*shown == '1' && !strchr("0123456789", shown[1]))
		shown++;
	snprintf(to, LIMIT_SPEC_SIZE, "bucket:%u/%s:%u", limiter->u.bucket.events, shown,
		 limiter->u.bucket.burst);
}

/* ---- backoff:100ms*2..10s,steps=8,jitter=0.1 ------------------------------ */

static const char *parse_backoff_option(const char *s, struct kwq_backoff *backoff)
{
	static const char steps[] = "steps=", jitter[] = "jitter=";

	if (!strncmp(s, steps, strlen(steps))) {
		const char *why = parse_count(s + strlen(steps), NULL, &backoff->steps);

		if (!why && backoff->steps > KWQ_LIMITER_STEPS_MAX)
			return "more than 256 steps";
		return why;
	}
	if (strncmp(s, jitter, strlen(jitter)))
		return "only steps= and jitter= may follow the comma of a backoff";
	if (!parse_fixed(s + strlen(jitter), &backoff->jitter))
		return "the jitter is not a decimal number from 0 to 65535";
	return NULL;
}

/* FIRST[*FACTOR] */
static const char *parse_growth(struct parser *p, struct kwq_backoff *backoff)
{
	char *factor = strchr(p->part, '*');

	if (!factor)
		return parse_time(p->part, &backoff->duration);
	*factor++ = '\0';
	if (!parse_fixed(factor, &backoff->factor))
		return "the factor is not a decimal number up to 65535";
	if (!backoff->factor)
		return "the factor is 0";
	return parse_time(p->part, &backoff->duration);
}

static const char *parse_backoff(struct parser *options, struct kwq_limiter *limiter)
{
	static const char form[] =
		"not backoff:FIRST[*FACTOR][..CAP][,steps=N][,jitter=PART]";
	struct kwq_backoff *backoff = &limiter->u.backoff;
	struct parser pause;
	bool more, capped;
	const char *why;

	backoff->steps = KWQ_LIMITER_STEPS_MAX;
	more = strchr(options->rest, ',');
	if (!cut(options, more ? "," : NULL))
		return form;

	pause.rest = options->part;
	capped = strstr(pause.rest, "..");
	cut(&pause, capped ? ".." : NULL);
	why = parse_growth(&pause, backoff);
	if (!why && capped) {
		why = parse_time(pause.rest, &backoff->cap);
		if (!why && !backoff->cap)
			why = "the cap is 0";
		else if (!why && backoff->duration > backoff->cap)
			why = "the first pause is above the cap";
	}
	while (!why && more) {
		more = strchr(options->rest, ',');
		if (!cut(options, more ? "," : NULL))
			return form;
		why = parse_backoff_option(options->part, backoff);
	}
	return why;
}

static void print_backoff(char *to, const struct kwq_limiter *limiter)
{
	const struct kwq_backoff *backoff = &limiter->u.backoff;
	char duration[DURATION_SIZE], fixed[24];
	size_t len;

	len = snprintf(to, LIMIT_SPEC_SIZE, "backoff:%s",
		       print_duration(duration, backoff->duration));
	if (backoff->factor)
		len += snprintf(to + len, LIMIT_SPEC_SIZE - len, "*%s",
				print_fixed(fixed, sizeof(fixed), backoff->factor));
	if (backoff->cap)
		len += snprintf(to + len, LIMIT_SPEC_SIZE - len, "..%s",
				print_duration(duration, backoff->cap));
	if (backoff->steps != KWQ_LIMITER_STEPS_MAX)
		len += snprintf(to + len, LIMIT_SPEC_SIZE - len, ",steps=%u", backoff->steps);
	if (backoff->jitter)
		snprintf(to + len, LIMIT_SPEC_SIZE - len, ",jitter=%s",
			 print_fixed(fixed, sizeof(fixed), backoff->jitter));
}

/* ---- All of them ---------------------------------------------------------- */

static const struct kind {
	const char *prefix;
	__u32 kind;
	const char *(*parse)(struct parser *p, struct kwq_limiter *limiter);
	void (*print)(char *to, const struct kwq_limiter *limiter);
} kinds[] = {
	{ "exp:", KWQ_LIMITER_EXPONENTIAL, parse_exponential, print_exponential },
	{ "fast-slow:", KWQ_LIMITER_FAST_SLOW, parse_fast_slow, print_fast_slow },
	{ "bucket:", KWQ_LIMITER_BUCKET, parse_bucket, print_bucket },
	{ "backoff:", KWQ_LIMITER_BACKOFF, parse_backoff, print_backoff },
};

const char *limit_spec_parse(const char *s, struct kwq_limiter *limiter)
{
	struct kwq_limiter parsed;
	const char *why;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t len = strlen(kinds[i].prefix);
		struct parser p = { .rest = s + len };

		if (strncmp(s, kinds[i].prefix, len))
			continue;
		memset(&parsed, 0, sizeof(parsed));
		parsed.kind = kinds[i].kind;
		why = kinds[i].parse(&p, &parsed);
		if (!why)
			*limiter = parsed;
		return why;
	}
	return "no such limiter: must begin with exp:, fast-slow:, bucket: or backoff:";
}

char *limit_spec_print(char *to, const struct kwq_limiter *limiter)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (limiter->kind == kinds[i].kind) {
			kinds[i].print(to, limiter);
			return to;
		}
	}
	snprintf(to, LIMIT_SPEC_SIZE, "kind:%u", limiter->kind);
	return to;
}

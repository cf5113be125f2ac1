// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "duration.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cmd.h"

static const struct unit {
	const char *name;
	uint64_t ns;
} units[] = {
	/* A longer unit comes before one that is its prefix. */
	{ "ns", 1 },
	{ "us", NS_PER_US },
	{ "\xc2\xb5s", NS_PER_US },	/* U+00B5, the micro sign */
	{ "\xce\xbcs", NS_PER_US },	/* U+03BC, the letter mu */
	{ "ms", NS_PER_MS },
	{ "s", NS_PER_S },
	{ "m", 60 * NS_PER_S },
	{ "h", 3600 * NS_PER_S },
	{ "d", 86400 * NS_PER_S },
};

/* The unit at *s, or NULL. Moves *s behind it. */
static const struct unit *parse_unit(const char **s)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(units); i++) {
		size_t len = strlen(units[i].name);

		if (!strncmp(*s, units[i].name, len)) {
			*s += len;
			return &units[i];
		}
	}
	return NULL;
}

/*
 * 0.DIGITS of a unit in nanoseconds, rounded up once. The loop goes from the last digit
 * to the first: x = (digit * unit + x) / 10, rounded up. Rounding up at each step
 * equals rounding up the exact sum, because digit * unit is an integer. So the result
 * is exact for any number of digits.
 */
static uint64_t fraction_of(const char *digits, size_t nr, uint64_t unit)
{
	uint64_t x = 0;

	while (nr--)
		x = ((digits[nr] - '0') * unit + x + 9) / 10;
	return x;
}

/* Adds one NUMBER with its unit to *ns. Moves *s behind it. */
static int parse_part(const char **s, bool alone, uint64_t *ns)
{
	const char *whole = *s, *fraction;
	size_t whole_len, fraction_len = 0;
	const struct unit *unit;
	uint64_t n = 0, unit_ns;
	size_t i;

	whole_len = strspn(*s, "0123456789");
	*s += whole_len;
	fraction = *s;
	if (**s == '.') {
		fraction = ++*s;
		fraction_len = strspn(*s, "0123456789");
		*s += fraction_len;
	}
	if (!whole_len && !fraction_len)
		return -EINVAL;

	unit = parse_unit(s);
	if (!unit && !(alone && !**s))
		return -EINVAL;
	unit_ns = unit ? unit->ns : NS_PER_S;

	for (i = 0; i < whole_len; i++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(whole[i] - '0'), &n))
			return -ERANGE;
	if (__builtin_mul_overflow(n, unit_ns, &n) ||
	    __builtin_add_overflow(n, fraction_of(fraction, fraction_len, unit_ns), &n) ||
	    __builtin_add_overflow(*ns, n, ns))
		return -ERANGE;
	return 0;
}

int parse_duration(const char *s, uint64_t *ns)
{
	const char *start = s;
	uint64_t sum = 0;
	int err;

	do {
		err = parse_part(&s, s == start, &sum);
		if (err)
			return err;
	} while (*s);
	*ns = sum;
	return 0;
}

char *print_duration(char *to, uint64_t ns)
{
	const struct unit *largest = units;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(units); i++)
		if (units[i].ns > largest->ns && !(ns % units[i].ns))
			largest = &units[i];
	/* 0 is a multiple of every unit. */
	if (!ns)
		snprintf(to, DURATION_SIZE, "0s");
	else
		snprintf(to, DURATION_SIZE, "%" PRIu64 "%s", ns / largest->ns, largest->name);
	return to;
}

/* The number of two digits at @s, from 0 to @max; -1 for anything else. */
static int two_digits(const char *s, int max)
{
	int n;

	if (!isdigit((unsigned char)s[0]) || !isdigit((unsigned char)s[1]))
		return -1;
	n = (s[0] - '0') * 10 + (s[1] - '0');
	return n <= max ? n : -1;
}

/* Parses YYYY-MM-DD. Returns the text behind it, NULL if @s has no date. */
static const char *parse_date(const char *s, struct tm *tm)
{
	int century = two_digits(s, 99), month, day, year;

	if (century < 0)
		return NULL;
	year = two_digits(s + 2, 99);
	if (year < 0 || s[4] != '-')
		return NULL;
	month = two_digits(s + 5, 12);
	if (month < 1 || s[7] != '-')
		return NULL;
	day = two_digits(s + 8, 31);
	if (day < 1)
		return NULL;
	tm->tm_year = century * 100 + year - 1900;
	tm->tm_mon = month - 1;
	tm->tm_mday = day;
	return s + 10;
}

/*
 * Parses HH:MM[:SS]. *unit receives the seconds that the last part stands for. Returns the text
 * behind it, NULL if @s has no time.
 */
static const char *parse_time(const char *s, struct tm *tm, int *unit)
{
	*unit = 60;
	tm->tm_hour = two_digits(s, 23);
	if (tm->tm_hour < 0 || s[2] != ':')
		return NULL;
	tm->tm_min = two_digits(s + 3, 59);
	if (tm->tm_min < 0)
		return NULL;
	if (s[5] != ':')
		return s + 5;
	*unit = 1;
	tm->tm_sec = two_digits(s + 6, 60);
	return tm->tm_sec < 0 ? NULL : s + 8;
}

static time_t to_seconds(struct tm *tm, bool utc)
{
	return utc ? timegm(tm) : mktime(tm);
}

/*
 * Parses [DATE][TIME][Z] into nanoseconds since 1970. Without a date, it is the next such time, as
 * of at(1). The present minute, or with seconds the present second, is not over.
 */
static int parse_calendar(const char *s, uint64_t now_real, uint64_t *real, bool *is_past)
{
	time_t now = now_real / NS_PER_S, seconds;
	struct tm tm, date = { 0 };
	const char *rest;
	bool utc = *s && s[strlen(s) - 1] == 'Z';
	int day, unit = 60;

	if (utc)
		gmtime_r(&now, &tm);
	else
		localtime_r(&now, &tm);
	tm.tm_hour = 0;
	tm.tm_min = 0;
	tm.tm_sec = 0;
	tm.tm_isdst = -1;

	rest = parse_date(s, &date);
	if (rest) {
		tm.tm_year = date.tm_year;
		tm.tm_mon = date.tm_mon;
		tm.tm_mday = date.tm_mday;
		s = rest;
		if ((*s == 'T' || *s == ' ') && isdigit((unsigned char)s[1]))
			s++;
	}
	if (!rest || (*s && *s != 'Z')) {
		s = parse_time(s, &tm, &unit);
		if (!s)
			return -EINVAL;
	}
	if (strcmp(s, utc ? "Z" : ""))
		return -EINVAL;

	day = tm.tm_mday;
	seconds = to_seconds(&tm, utc);
	/* mktime() turns 30 February into a day of March. */
	if (tm.tm_mday != day)
		return -EINVAL;
	*is_past = seconds < now - now % unit;
	if (*is_past && !rest) {
		tm.tm_mday++;
		/* The clocks may be put forward or back in between. */
		tm.tm_isdst = -1;
		seconds = to_seconds(&tm, utc);
		*is_past = false;
	}
	*real = seconds > 0 ? (uint64_t)seconds * NS_PER_S : 0;
	return 0;
}

int parse_instant(const char *s, uint64_t now_real, uint64_t now_queue,
		  uint64_t *at, bool *is_past)
{
	static const char clock[] = "clock:";
	uint64_t real, ago;
	int err;

	*is_past = false;
	if (!strncmp(s, clock, strlen(clock)))
		return parse_duration(s + strlen(clock), at);

	if (*s == '@') {
		/* A bare number of seconds, without a unit. */
		if (strspn(s + 1, "0123456789.") != strlen(s + 1))
			return -EINVAL;
		err = parse_duration(s + 1, &real);
		*is_past = !err && real / NS_PER_S < now_real / NS_PER_S;
	} else {
		err = parse_calendar(s, now_real, &real, is_past);
	}
	if (err)
		return err;

	if (real >= now_real)
		return __builtin_add_overflow(now_queue, real - now_real, at) ? -ERANGE : 0;
	ago = now_real - real;
	*at = ago < now_queue ? now_queue - ago : 0;
	return 0;
}

uint64_t must_parse_duration(const char *option, const char *s)
{
	uint64_t ns;

	switch (parse_duration(s, &ns)) {
	case 0:
		return ns;
	case -ERANGE:
		usage("%s %s: too long (more than 584 years)", option, s);
	default:
		usage("%s %s: must be a duration such as 1.5s, 1m30s, 500ms", option, s);
	}
}

uint64_t must_parse_short_duration(const char *option, const char *s)
{
	uint64_t ns = must_parse_duration(option, s);

	if (ns > DURATION_MAX)
		usage("%s %s: too long (more than 292 years)", option, s);
	return ns;
}

uint64_t must_parse_instant(const char *option, const char *s, uint64_t now_queue,
			    const char *if_past)
{
	struct timespec now;
	bool is_past;
	uint64_t at;

	clock_gettime(CLOCK_REALTIME, &now);
	switch (parse_instant(s, now.tv_sec * NS_PER_S + now.tv_nsec, now_queue, &at, &is_past)) {
	case 0:
		if (is_past && if_past)
			usage("%s %s: is in the past; %s", option, s, if_past);
		return at;
	case -ERANGE:
		usage("%s %s: too far in the future", option, s);
	default:
		usage("%s %s: must be a time like 18:30, 2027-01-31T06:00, @1800000000, clock:1h",
		      option, s);
	}
}

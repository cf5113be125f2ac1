// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "tap.h"

#define S NS_PER_S

static const struct {
	const char *text;
	int err;
	uint64_t ns;
} durations[] = {
	{ "0", 0, 0 },
	{ "1", 0, S },
	{ "2.5", 0, 5 * S / 2 },
	{ "1ns", 0, 1 },
	{ "1us", 0, 1000 },
	{ "1\xc2\xb5s", 0, 1000 },
	{ "1\xce\xbcs", 0, 1000 },
	{ "1ms", 0, 1000000 },
	{ "1s", 0, S },
	{ "1m", 0, 60 * S },
	{ "1h", 0, 3600 * S },
	{ "1d", 0, 86400 * S },
	{ "1.5s", 0, 3 * S / 2 },
	{ ".5s", 0, S / 2 },
	{ "5.s", 0, 5 * S },
	{ "1m30s", 0, 90 * S },
	{ "1h2m3s4ms5us6ns", 0, 3723 * S + 4005006 },
	{ "1.5h30m", 0, 7200 * S },
	{ "0.000000001s", 0, 1 },
	{ "00000000000000000000000000001s", 0, S },
	/* Never early: a fraction of a nanosecond is rounded up. */
	{ "0.1ns", 0, 1 },
	{ "1.0000000001s", 0, S + 1 },
	{ "0.333333333333333333333333333333s", 0, 333333334 },
	{ "0.1000000000000000000000000000000s", 0, S / 10 },
	{ "0.00000000000000000000000000000000000000000001d", 0, 1 },
	{ "18446744073.709551615s", 0, UINT64_MAX },
	{ "18446744073709551615ns", 0, UINT64_MAX },
	{ "18446744073.709551616s", -ERANGE },
	{ "18446744073.7095516151s", -ERANGE },
	{ "18446744073709551616ns", -ERANGE },
	{ "213504d", -ERANGE },
	{ "99999999999999999999999999999h", -ERANGE },
	{ "18446744073709551615ns1ns", -ERANGE },
	{ "", -EINVAL },
	{ ".", -EINVAL },
	{ ".s", -EINVAL },
	{ "s", -EINVAL },
	{ "-1s", -EINVAL },
	{ "+1s", -EINVAL },
	{ " 1s", -EINVAL },
	{ "1s ", -EINVAL },
	{ "1 s", -EINVAL },
	{ "1x", -EINVAL },
	{ "1sec", -EINVAL },
	{ "1S", -EINVAL },
	{ "1e3s", -EINVAL },
	{ "0x10s", -EINVAL },
	{ "1m30", -EINVAL },
	{ "1..5s", -EINVAL },
	{ "1.5.5s", -EINVAL },
	{ "1,5s", -EINVAL },
	{ "inf", -EINVAL },
};

/* Printed in the largest unit that divides the duration. */
static const struct {
	uint64_t ns;
	const char *text;
} prints[] = {
	{ 0, "0s" },
	{ 1, "1ns" },
	{ 999, "999ns" },
	{ 1000, "1us" },
	{ 5000000, "5ms" },
	{ 1500000000, "1500ms" },
	{ S, "1s" },
	{ 90 * S, "90s" },
	{ 1000 * S, "1000s" },
	{ 300 * S, "5m" },
	{ 7200 * S, "2h" },
	{ 7 * 86400 * S, "7d" },
	{ INT64_MAX, "9223372036854775807ns" },
	{ UINT64_MAX, "18446744073709551615ns" },
};

static void test_prints(void)
{
	char text[DURATION_SIZE];
	uint64_t again;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(prints); i++) {
		is_string(print_duration(text, prints[i].ns), prints[i].text, prints[i].text);
		ok(!parse_duration(text, &again) && again == prints[i].ns,
		   "\"%s\" is read again", text);
	}
}

/* 2026-11-20T22:55:00Z; the queue's clock is at 1,000 s. */
#define NOW (1795215300ull * S)
#define QUEUE_NOW (1000 * S)
#define DAY 86400

static const struct {
	const char *text;
	int err;
	uint64_t at;
	bool is_past;
} instants[] = {
	{ "clock:0", 0, 0 },
	{ "clock:1m30s", 0, 90 * S },
	{ "clock:1500ms", 0, 1500000000 },
	{ "@1795215300", 0, QUEUE_NOW },
	{ "@1795215310.5", 0, QUEUE_NOW + 21 * S / 2 },
	{ "@1795215290", 0, QUEUE_NOW - 10 * S, true },
	{ "@1795215299.9", 0, QUEUE_NOW - S / 10, true },
	{ "@0", 0, 0, true },
	{ "22:56Z", 0, QUEUE_NOW + 60 * S },
	{ "22:55:01Z", 0, QUEUE_NOW + S },
	{ "2026-11-20T22:56Z", 0, QUEUE_NOW + 60 * S },
	{ "2026-11-20 22:56:30Z", 0, QUEUE_NOW + 90 * S },
	{ "2026-11-21Z", 0, QUEUE_NOW + 65 * 60 * S },
	{ "2028-02-29T00:00Z", 0, QUEUE_NOW + 40179900 * S },
	{ "1960-01-01T00:00Z", 0, 0, true },
	{ "2026-11-20Z", 0, 0, true },
	{ "2026-11-20T22:54Z", 0, QUEUE_NOW - 60 * S, true },
	/* A time of day that is over is one of tomorrow. */
	{ "22:55Z", 0, QUEUE_NOW },
	{ "22:54Z", 0, QUEUE_NOW + (DAY - 60) * S },
	{ "22:54:59Z", 0, QUEUE_NOW + (DAY - 1) * S },
	{ "00:00Z", 0, QUEUE_NOW + 65 * 60 * S },
	/* TZ is two hours ahead of UTC. */
	{ "2026-11-21T00:56", 0, QUEUE_NOW + 60 * S },
	{ "2026-11-21 00:56", 0, QUEUE_NOW + 60 * S },
	{ "00:56", 0, QUEUE_NOW + 60 * S },
	{ "00:54", 0, QUEUE_NOW + (DAY - 60) * S },
	{ "@99999999999999999999", -ERANGE },
	{ "clock:999999999d", -ERANGE },
	{ "", -EINVAL },
	{ "@", -EINVAL },
	{ "@1s", -EINVAL },
	{ "@-5", -EINVAL },
	{ "Z", -EINVAL },
	{ "24:00Z", -EINVAL },
	{ "12:60Z", -EINVAL },
	{ "1:00Z", -EINVAL },
	{ "12:00 Z", -EINVAL },
	{ "12:00:00:00Z", -EINVAL },
	{ "2027-02-29T00:00Z", -EINVAL },
	{ "2027-13-01Z", -EINVAL },
	{ "2027-00-01Z", -EINVAL },
	{ "2027-01-32Z", -EINVAL },
	{ "2027-01-01TZ", -EINVAL },
	{ "2027-01-01T", -EINVAL },
	{ "27-01-01", -EINVAL },
	{ "tomorrow", -EINVAL },
	{ "clock:", -EINVAL },
	{ "clock:soon", -EINVAL },
};

int main(void)
{
	bool is_past;
	uint64_t ns;
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(durations); i++) {
		ns = 12345;
		err = parse_duration(durations[i].text, &ns);
		if (!ok(err == durations[i].err &&
			ns == (err ? 12345 : durations[i].ns),
			"duration \"%s\"", durations[i].text))
			printf("#  err %d, %llu ns\n", err, (unsigned long long)ns);
	}

	test_prints();

	setenv("TZ", "KWQ-2", 1);
	tzset();
	for (i = 0; i < ARRAY_SIZE(instants); i++) {
		ns = 12345;
		err = parse_instant(instants[i].text, NOW, QUEUE_NOW, &ns, &is_past);
		if (!ok(err == instants[i].err &&
			(err || (ns == instants[i].at && is_past == instants[i].is_past)),
			"instant \"%s\"", instants[i].text))
			printf("#  err %d, %llu ns, %s\n", err, (unsigned long long)ns,
			       is_past ? "past" : "to come");
	}
	ok(!parse_instant("22:55Z", NOW + 59 * S, QUEUE_NOW, &ns, &is_past) && !is_past &&
	   ns == QUEUE_NOW - 59 * S, "the present minute is not over");
	ok(!parse_instant("22:55:59Z", NOW + 59 * S + 5, QUEUE_NOW, &ns, &is_past) && !is_past &&
	   ns == QUEUE_NOW - 5, "nor is the present second");
	ok(!parse_instant("22:55:58Z", NOW + 59 * S, QUEUE_NOW, &ns, &is_past) &&
	   ns == QUEUE_NOW + (DAY - 1) * S, "but the one before is");
	ok(parse_instant("@1795215301", NOW, UINT64_MAX - 5, &ns, &is_past) == -ERANGE,
	   "an instant beyond the queue's clock is refused, and does not wrap");
	/* Summer time begins in the night: 23 hours later it is the same time of day. */
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	ok(!parse_instant("11:59", 1806145200ull * S, QUEUE_NOW, &ns, &is_past) && !is_past &&
	   ns == QUEUE_NOW + (23 * 3600 - 60) * S, "a day of 23 hours");
	return done_testing();
}

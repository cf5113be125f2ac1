// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lateness of a waiter in userspace, on an idle machine: in kwq_get() for a delayed
 * item, and in read() of a timerfd.
 */
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "bench.h"

#define NR_WAITS	2000

/* Long enough to fall asleep, and not in step with the ticks. */
#define MIN_WAIT_NS	100000
#define SPREAD_NS	1000000

static int64_t lateness[NR_WAITS];

/* The same times in every run. */
static uint64_t some_time(unsigned int *chance)
{
	return now_ns() + MIN_WAIT_NS + rand_r(chance) % SPREAD_NS;
}

static void report_late(const char *p50, const char *p99)
{
	/* Early is an error (D5). */
	if (quantile(lateness, NR_WAITS, 0) < 0)
		fail("somebody was woken early", 0);
	report(p50, quantile(lateness, NR_WAITS, 0.5), "ns");
	report(p99, quantile(lateness, NR_WAITS, 0.99), "ns");
}

static void measure_get(void)
{
	struct kwq_add_options at = { .size = sizeof(at), .flags = KWQ_ADD_AT };
	struct kwq *q = new_queue();
	struct kwq_item item;
	unsigned int chance = 1;
	char key[8];

	for (int i = 0; i < NR_WAITS; i++) {
		at.time = some_time(&chance);
		if (must(kwq_add_with(q, keys[0], sizeof(key), &at), "kwq_add_with") != KWQ_WAITING)
			fail("the time had come already", 0);
		must(kwq_get(q, &item, key, sizeof(key), KWQ_NO_DEADLINE), "kwq_get");
		lateness[i] = now_ns() - at.time;
		must(kwq_done(q, item.ticket), "kwq_done");
	}
	end_queue(q, NR_WAITS);
	report_late("late.get.p50", "late.get.p99");
}

static void measure_timerfd(void)
{
	int fd = must_call(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), "timerfd_create");
	unsigned int chance = 1;

	for (int i = 0; i < NR_WAITS; i++) {
		uint64_t when = some_time(&chance), expirations;
		const struct itimerspec timer = {
			.it_value = { when / 1000000000, when % 1000000000 },
		};

		must_call(timerfd_settime(fd, TFD_TIMER_ABSTIME, &timer, NULL), "timerfd_settime");
		must_call(read(fd, &expirations, sizeof(expirations)), "read of a timerfd");
		lateness[i] = now_ns() - when;
	}
	close(fd);
	report_late("late.timerfd.p50", "late.timerfd.p99");
}

void bench_late(void)
{
	if (!is_wanted("late"))
		return;
	measure_get();
	measure_timerfd();
}

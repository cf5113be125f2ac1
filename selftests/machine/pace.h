/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A clock that runs as fast as the machine works, for time limits: it tells a hang from
 * a slow machine.
 *
 * Once a second it measures a piece of work of known size. If the work takes four times
 * as long as expected, the second counts as a quarter. On an idle machine the clock
 * keeps real time, so a test that sleeps for ever still meets its limit. The clock is
 * never faster than real time and never slower than PACE_SLOWEST, so every limit is
 * reached at some time.
 */
#ifndef KWQ_PACE_H
#define KWQ_PACE_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

/* The test VM's init publishes its clock here, as this structure. */
#define PACE_FILE	"/run/kwq-pace"

#define PACE_SLOWEST	(1.0 / 32)

/**
 * struct pace - the clock
 * @ms: the time on it, in ms; others may read it
 * @time: the same in seconds
 * @last: CLOCK_MONOTONIC when it was last moved on, in seconds
 * @speed: how fast the last pieces of work were done, 1 for as they should
 */
struct pace {
	_Atomic uint32_t ms;
	double time;
	double last;
	double speed;
};

static inline double pace_seconds(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/*
 * Each step needs the result of the one before, so the time is similar on all
 * processors.
 */
static inline uint64_t pace_work(unsigned long steps)
{
	uint64_t value = steps;

	while (steps--) {
		value = value * 6364136223846793005ULL + 1442695040888963407ULL;
		/* Keeps the compiler from dropping the unused result. */
		__asm__ volatile("" : "+r" (value));
	}
	return value;
}

/*
 * Starts the clock on the first call, and advances it on each later one. @clock
 * measures the work: @steps, which should take @ought seconds.
 */
static inline void pace_go_on(struct pace *pace, clockid_t clock, unsigned long steps,
			      double ought)
{
	double began = pace_seconds(clock), speed, now;

	pace_work(steps);
	speed = ought / (pace_seconds(clock) - began);
	if (!(speed < 1))
		speed = 1;
	if (speed < PACE_SLOWEST)
		speed = PACE_SLOWEST;
	now = pace_seconds(CLOCK_MONOTONIC);
	if (!pace->last) {
		pace->last = now;
		pace->speed = speed;
		return;
	}
	/* A single measurement may be lucky or unlucky. */
	pace->speed = (3 * pace->speed + speed) / 4;
	pace->time += (now - pace->last) * pace->speed;
	atomic_store(&pace->ms, (uint32_t)(pace->time * 1000));
	pace->last = now;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A clock that goes as fast as the machine works, for limits that tell a test that hangs from a
 * machine that is slow.
 *
 * A piece of work of a known size is done once a second. If it takes four times as long as it
 * should, the second counts as a quarter of one. On an idle machine the clock goes as any other,
 * so a test that sleeps for ever still meets its limit. It never goes faster than that, and never
 * slower than PACE_SLOWEST, so every limit ends at some time.
 */
#ifndef KWQ_PACE_H
#define KWQ_PACE_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

/* Where the test machine's init tells its pace: this structure. */
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

/* Each step needs the result of the one before, so that all processors take about as long. */
static inline uint64_t pace_work(unsigned long steps)
{
	uint64_t value = steps;

	while (steps--) {
		value = value * 6364136223846793005ULL + 1442695040888963407ULL;
		/* It is to be computed although nobody looks at it. */
		__asm__ volatile("" : "+r" (value));
	}
	return value;
}

/*
 * The first call begins; each later one moves the clock on. @clock measures the work: @steps that
 * ought to take @ought seconds.
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
	/* A piece of work may just have had luck, or none. */
	pace->speed = (3 * pace->speed + speed) / 4;
	pace->time += (now - pace->last) * pace->speed;
	atomic_store(&pace->ms, (uint32_t)(pace->time * 1000));
	pace->last = now;
}

#endif

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The timer is among the urgent descriptors, so a job is ended in time also while kwq run writes
 * to a reader that is slow.
 */
#include "timeouts.h"

#include <errno.h>
#include <signal.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/read_clock.h"

int timeouts_open(struct timeouts *timeouts, uint64_t limit, uint64_t grace)
{
	*timeouts = (struct timeouts){
		.fd = -1, .limit = limit, .grace = grace, .armed = UINT64_MAX,
	};
	if (!limit)
		return 0;
	timeouts->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return timeouts->fd < 0 ? -errno : 0;
}

static uint64_t later(uint64_t time, uint64_t by)
{
	/* UINT64_MAX means never. */
	return __builtin_add_overflow(time, by, &time) ? UINT64_MAX : time;
}

static void arm(struct timeouts *timeouts, uint64_t time)
{
	const struct itimerspec spec = {
		.it_value = { time / NS_PER_S, time % NS_PER_S },
	};
	const struct itimerspec none = { 0 };

	if (time == timeouts->armed)
		return;
	timerfd_settime(timeouts->fd, TFD_TIMER_ABSTIME, time == UINT64_MAX ? &none : &spec, NULL);
	timeouts->armed = time;
}

void timeouts_start(struct timeouts *timeouts, struct job *job)
{
	job->timed_out = false;
	if (timeouts->fd < 0)
		return;
	job->deadline = later(job->started, timeouts->limit);
	if (job->deadline < timeouts->armed)
		arm(timeouts, job->deadline);
}

static void end(const struct timeouts *timeouts, struct job *job, uint64_t now)
{
	if (job->timed_out) {
		job_kill(job);
		job->deadline = UINT64_MAX;
		return;
	}
	job->timed_out = true;
	job->deadline = later(now, timeouts->grace);
	job_signal(job, SIGTERM);
	/* A stopped job would take the signal only once it goes on. */
	job_signal(job, SIGCONT);
}

void timeouts_take(struct timeouts *timeouts, struct job *jobs, unsigned int nr)
{
	uint64_t times, now, first = UINT64_MAX;
	unsigned int i;

	if (timeouts->fd < 0 || read(timeouts->fd, &times, sizeof(times)) != sizeof(times))
		return;
	now = read_clock(CLOCK_MONOTONIC);
	for (i = 0; i < nr; i++) {
		if (!jobs[i].pid)
			continue;
		if (jobs[i].deadline <= now)
			end(timeouts, &jobs[i], now);
		if (jobs[i].deadline < first)
			first = jobs[i].deadline;
	}
	timeouts->armed = UINT64_MAX;
	arm(timeouts, first);
}

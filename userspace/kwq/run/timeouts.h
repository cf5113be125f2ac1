/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * kwq run --timeout: ends jobs that run for too long.
 */
#ifndef KWQ_TIMEOUTS_H
#define KWQ_TIMEOUTS_H

#include <stdint.h>

#include "kwq/job/job.h"

/* One timer for all jobs. Its descriptor becomes readable when a job is due. */
struct timeouts {
	int fd;			/* -1: jobs may run for any time */
	uint64_t limit;		/* ns from the start of a job to SIGTERM */
	uint64_t grace;		/* ns from there to SIGKILL */
	uint64_t armed;		/* the time on the monotonic clock; UINT64_MAX: not armed */
};

/* A limit of 0 is none. Returns 0 or a negative errno value. */
int timeouts_open(struct timeouts *timeouts, uint64_t limit, uint64_t grace);

/* Call when the job has started. */
void timeouts_start(struct timeouts *timeouts, struct job *job);

/* Sends signals to the jobs that are due, and sets job->timed_out. Never waits. */
void timeouts_take(struct timeouts *timeouts, struct job *jobs, unsigned int nr);

#endif /* KWQ_TIMEOUTS_H */

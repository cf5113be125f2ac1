// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run: takes keys and starts jobs for them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "cmd.h"
#include "retry.h"
#include "worker_run.h"

static struct job *free_slot(struct run *run)
{
	struct job *job = run->jobs;

	while (job->handle)
		job++;
	return job;
}

/* Takes an item into the job. Returns as kwq_try_get(). */
static int take_item(struct run *run, struct job *job)
{
	int err;

	if (!run->spare) {
		err = kwq_reopen(&run->spare, run->q, KWQ_RIGHT_READ | KWQ_RIGHT_WRITE,
				 O_CLOEXEC);
		if (err)
			return err;
	}
	err = job_fetch(job, run->spare, run->has_extras);
	if (err)
		return err;
	job->handle = run->spare;
	job->lost = false;
	job->asked = ASKED_NOTHING;
	job->outcome = JOBLOG_LOST;
	run->spare = NULL;
	lease_timer_start(&run->leases);
	return 0;
}

/* A key that cannot be an argument fails alone; other keys go on. */
static void refuse_item(struct run *run, struct job *job)
{
	job->attempt = 0;
	give_up(run, job, "has a NUL and cannot be an argument (see --stdin)");
	job_free(job);
}

/*
 * The number of failures before this attempt. With limiters the queue counts them, for
 * all workers together.
 */
static unsigned int failures_of(const struct run *run, const struct job *job)
{
	if (run->options.use_limiters)
		return job->item.requeues;
	return retry_count(&run->failures, job->key, job->item.key_len);
}

static void start_job(struct run *run, struct job *job)
{
	unsigned int failures = failures_of(run, job);
	int err;

	job->seq = ++run->seq;
	job->slot = job - run->jobs + 1;
	job->attempt = failures < UINT_MAX ? failures + 1 : UINT_MAX;
	err = job_start(job, run->options.command, &run->inherited,
			run->options.output, run->options.input);
	if (!err) {
		timeouts_start(&run->timeouts, job);
		gate_started(&run->gate, monotonic_now());
		run->counts.running++;
		err = watch_job(run, job);
		if (!err)
			return;
		unwatch_job(run, job);
		job_kill(job);
		job_reap(job);
		run->counts.running--;
	}
	/* The item is not to blame. */
	give_back(run, job);
	stop_for(run, STATUS_FAILED, "cannot start a job", strerror(-err));
	job_free(job);
}

/* Settles an item that the job log of --resume has settled before. Returns false for any other. */
static bool skip_settled(struct run *run, struct job *job)
{
	enum joblog_outcome outcome;

	if (!resume_take(&run->resume, job->key, job->item.key_len, &outcome))
		return false;
	job->attempt = 0;
	skip_item(run, job, outcome);
	job_free(job);
	return true;
}

/* Whether --delay, --load and --memfree let a job start now. */
static bool gate_is_open(struct run *run)
{
	bool open;
	int err;

	err = gate_look(&run->gate, monotonic_now(), &open);
	if (err) {
		stop_for(run, STATUS_FAILED, "cannot read how busy the machine is",
			 strerror(-err));
		return false;
	}
	run->held_back = !open;
	return open;
}

void start_jobs(struct run *run)
{
	struct job *job;
	int err;

	run->held_back = false;
	for (;;) {
		/* Starting many jobs takes time, and the leases of the others must be
		 * extended meanwhile.
		 */
		take_urgent(run);
		if (run->stopping || run->over || run->removed ||
		    run->counts.running >= run->options.jobs || !gate_is_open(run))
			return;
		job = free_slot(run);
		err = take_item(run, job);
		switch (err) {
		case 0:
			run->empty_ms = EMPTY_MS_FIRST;
			if (skip_settled(run, job))
				break;
			if (run->options.input == INPUT_KEY || job_key_is_text(job))
				start_job(run, job);
			else
				refuse_item(run, job);
			break;
		case -EAGAIN:
			return;
		case -ESHUTDOWN:
			run->over = true;
			return;
		default:
			stop_for(run, status_of(err), "get", meaning(err));
		}
	}
}

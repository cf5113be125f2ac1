// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run: takes keys and starts jobs for them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "base/cmd.h"
#include "kwq/job/retry.h"
#include "worker_run.h"

static struct job *free_slot(struct run *run)
{
	struct job *job = run->jobs;

	while (job->handle)
		job++;
	return job;
}

/* Takes items into the job. Returns as kwq_try_get(). */
static int take_items(struct run *run, struct job *job)
{
	int err;

	if (!run->spare) {
		err = kwq_reopen(&run->spare, run->q, KWQ_RIGHT_READ | KWQ_RIGHT_WRITE,
				 O_CLOEXEC);
		if (err)
			return err;
	}
	err = job_fetch(job, run->spare, run->options.keys_max, run->has_extras);
	if (err)
		return err;
	job->handle = run->spare;
	job->asked = ASKED_NOTHING;
	run->spare = NULL;
	lease_timer_start(&run->leases);
	return 0;
}

const char *key_unfitness(const struct run_options *options, const char *key, size_t len)
{
	if (options->input != INPUT_KEY)
		return memchr(key, '\0', len) ?
			"has a NUL and cannot be an argument (see --stdin)" : NULL;
	if (options->many && memchr(key, '\n', len))
		return "has a newline, which ends a key on standard input with -n";
	return NULL;
}

/*
 * The number of failures before this attempt. With limiters the queue counts them, for
 * all workers together.
 */
static unsigned int failures_of(const struct run *run, const struct job_item *it)
{
	if (run->options.use_limiters)
		return it->item.requeues;
	return retry_count(&run->failures, it->key, it->item.key_len);
}

/* Settles a key that fails alone while others go on. Returns false for any other. */
static bool settle_unrun(struct run *run, struct job_item *it)
{
	const char *why = key_unfitness(&run->options, it->key, it->item.key_len);

	if (why)
		give_up(run, it, why);
	return why;
}

static void sift_items(struct run *run, struct job *job)
{
	unsigned int i = 0;

	while (i < job->nr) {
		if (settle_unrun(run, &job->items[i]))
			job_take_out(job, i);
		else
			i++;
	}
}

/* Returns all items behind the first @nr. The first of them comes first again. */
static void keep_items(struct run *run, struct job *job, unsigned int nr)
{
	while (job->nr > nr)
		give_back(run, &job->items[--job->nr]);
}

/* An item that has failed, or ended its worker, runs alone: it may be to blame. */
static bool runs_alone(const struct run *run, const struct job_item *it)
{
	return it->item.abandoned || failures_of(run, it);
}

static unsigned int items_together(const struct run *run, const struct job *job)
{
	unsigned int nr = 1;

	if (!runs_alone(run, &job->items[0]))
		while (nr < job->nr && !runs_alone(run, &job->items[nr]))
			nr++;
	return nr;
}

/* The lowest number that no running job has. */
static unsigned int free_number(const struct run *run)
{
	static bool taken[JOBS_MAX + 1];
	unsigned int i, number = 1;

	memset(taken, false, run->slots + 1);
	for (i = 0; i < run->slots; i++)
		if (run->jobs[i].pid)
			taken[run->jobs[i].slot] = true;
	while (taken[number])
		number++;
	return number;
}

static int start_command(struct run *run, struct job *job)
{
	struct job_form form = job_form(run);
	unsigned int fit;

	keep_items(run, job, items_together(run, job));
	fit = job_items_that_fit(job, &form);
	if (!fit)
		return -ENOMEM;
	keep_items(run, job, fit);
	return job_start(job, &form);
}

static void start_job(struct run *run, struct job *job)
{
	unsigned int failures, i;
	int err;

	for (i = 0; i < job->nr; i++) {
		failures = failures_of(run, &job->items[i]);
		job->items[i].attempt = failures < UINT_MAX ? failures + 1 : UINT_MAX;
	}
	job->seq = ++run->seq;
	job->slot = free_number(run);
	err = start_command(run, job);
	if (!err) {
		timeouts_start(&run->timeouts, job);
		run->counts.running++;
		err = watch_job(run, job);
		/* A request may have come while a message about one of its items was written. */
		if (!err && job->asked)
			job_kill(job);
		if (!err)
			return;
		unwatch_job(run, job);
		job_kill(job);
		job_reap(job);
		run->counts.running--;
	}
	/* The items are not to blame. */
	give_back_all(run, job);
	stop_for(run, STATUS_FAILED, "cannot start a job", strerror(-err));
	job_free(job);
}

void start_jobs(struct run *run)
{
	struct job *job;
	int err;

	for (;;) {
		/* Starting many jobs takes time, and the leases of the others must be
		 * extended meanwhile.
		 */
		take_urgent(run);
		if (run->stopping || run->over || run->removed || !has_free_slot(run))
			return;
		job = free_slot(run);
		err = take_items(run, job);
		switch (err) {
		case 0:
			run->empty_ms = EMPTY_MS_FIRST;
			sift_items(run, job);
			if (job->nr)
				start_job(run, job);
			else
				job_free(job);
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

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run: what becomes of the key of a job that has ended.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "cmd.h"
#include "duration.h"
#include "joblog.h"
#include "retry.h"
#include "template.h"
#include "worker_run.h"

bool finish_item(struct run *run, struct job *job)
{
	int err = kwq_done_with(job->handle, job->item.ticket, run->end_flags);

	if (err < 0)
		tell_of(run, job, "done: %s",
			err == -ESTALE ? "no longer held" : meaning(err));
	return err >= 0;
}

static void succeed(struct run *run, struct job *job)
{
	retry_forget(&run->failures, job->key, job->item.key_len);
	if (finish_item(run, job))
		run->counts.done++;
	else
		run->counts.failed++;
}

void fail_job(struct run *run, struct job *job, const char *why)
{
	run->counts.failed++;
	tell_of(run, job, "%s", why);
	retry_forget(&run->failures, job->key, job->item.key_len);
}

/* Adds the item again and finishes it. *delay receives the pause, if it is known. */
static int add_again_and_done(struct run *run, struct job *job, uint64_t *delay, int *added)
{
	unsigned int failures;

	if (run->options.use_limiters)
		return job_add_rate_limited_and_done(job, added);
	failures = retry_fail(&run->failures, job->key, job->item.key_len);
	*delay = retry_delay(failures, run->options.retry_after, run->options.retry_max);
	return job_add_again_and_done(job, *delay, added);
}

static void tell_of_retry(struct run *run, const struct job *job, const char *why,
			  uint64_t delay)
{
	if (!run->options.verbose)
		return;
	if (run->options.use_limiters)
		tell_of(run, job, "%s; attempt %u after the delay of the queue's limiters", why,
			job->attempt + 1);
	else
		tell_of(run, job, "%s; attempt %u in %.3g s", why, job->attempt + 1,
			(double)delay / NS_PER_S);
}

/*
 * Handles a failure that allows a retry: adds the item again, or reports why that
 * failed.
 */
static void try_again(struct run *run, struct job *job, const char *why)
{
	uint64_t delay = 0;
	char text[160];
	int err, added;

	err = add_again_and_done(run, job, &delay, &added);
	if (err < 0) {
		/* The item was not finished, so it goes back when its handle is closed. */
		run->counts.failed++;
		tell_of(run, job, "%s; retry failed, the key goes back: %s", why, meaning(err));
		return;
	}
	if (added < 0) {
		snprintf(text, sizeof(text), "%s; cannot be retried: %s", why,
			 meaning(added));
		fail_job(run, job, text);
		return;
	}
	if (added == KWQ_DEAD) {
		run->counts.dead++;
		tell_of(run, job, "%s; dead after %u tries", why, job->attempt);
		return;
	}
	run->counts.retried++;
	tell_of_retry(run, job, why, delay);
}

static bool wants_retry(const struct run *run, int status)
{
	return WIFEXITED(status) && run->options.retry_on.has[WEXITSTATUS(status)];
}

static void settle(struct run *run, struct job *job, int status)
{
	char why[100], text[160];
	unsigned int max = run->options.attempts_max;

	describe_end(status, why, sizeof(why));
	if (WIFEXITED(status) && !WEXITSTATUS(status)) {
		run->ended_well++;
		succeed(run, job);
		return;
	}
	run->ended_badly++;
	if (!wants_retry(run, status)) {
		fail_job(run, job, why);
		finish_item(run, job);
	} else if (max && job->attempt >= max) {
		snprintf(text, sizeof(text), "%s; attempt %u was the last", why, max);
		fail_job(run, job, text);
		finish_item(run, job);
	} else {
		try_again(run, job, why);
	}
}

void log_job(struct run *run, const struct job *job, int status)
{
	struct joblog_entry entry = {
		.seq = job->seq,
		.started = job->started_real,
		.runtime = job->runtime,
		.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
		.attempt = job->attempt,
		.abandoned = job->item.abandoned,
		.key = job->key,
		.key_len = job->item.key_len,
	};
	int err;

	if (run->joblog < 0)
		return;
	err = joblog_write(run->joblog, &entry);
	if (err)
		stop_for(run, STATUS_FAILED, run->options.joblog, strerror(-err));
}

/* Whether the same command might start with another key. */
static bool is_fault_of_key(const struct run *run, int exec_error)
{
	switch (exec_error) {
	case E2BIG:
		return true;
	case EAGAIN:
	case EMFILE:
	case ENFILE:
	case ENOMEM:
		return false;
	default:
		return run->options.input != INPUT_KEY && 
			template_uses_key(run->options.command[0]);
	}
}

/* Handles a command that could not be executed. */
static void settle_no_start(struct run *run, struct job *job, int status)
{
	int err = *job->exec_error;
	char why[160];

	if (!is_fault_of_key(run, err)) {
		/* The command is wrong, not the item. The item goes back. */
		stop_for(run, err == ENOENT ? STATUS_NO_COMMAND : STATUS_CANNOT_RUN,
			 run->options.command[0], strerror(err));
		return;
	}
	/* Finish the item: otherwise it would stop one worker after the other. */
	snprintf(why, sizeof(why), "cannot be run: %s", strerror(err));
	run->ended_badly++;
	fail_job(run, job, why);
	finish_item(run, job);
	log_job(run, job, status);
}

/*
 * Whether the lease was lost and the item may be another worker's. Asked after the
 * command has ended and before its item is settled. The check cannot be left to the
 * done: the add comes before it, and would take effect.
 */
static bool is_lost(const struct run *run, struct job *job)
{
	if (run->leases.fd >= 0)
		job_extend(job);
	return job->lost;
}

/* The log says "killed", however the command ended. */
static void settle_lost(struct run *run, struct job *job, int status)
{
	char why[100];

	run->counts.failed++;
	run->ended_badly++;
	tell_of(run, job, "lease lost; %s", describe_end(status, why, sizeof(why)));
	log_job(run, job, W_EXITCODE(0, SIGKILL));
}

/*
 * Writes the output before finishing the item: an item is done only when all its output
 * is written. Otherwise the item goes back, and another worker can write the output.
 */
static void settle_with_output(struct run *run, struct job *job, int status)
{
	bool complete = write_output(run, job);

	/* The write may have taken longer than the lease. */
	if (is_lost(run, job)) {
		settle_lost(run, job, status);
		return;
	}
	if (complete)
		settle(run, job, status);
	log_job(run, job, status);
}

/*
 * kwq restart or kwq bury has killed the job, so its output is dropped. If the item cannot be
 * settled so, it goes back when its handle is closed.
 */
static void settle_asked(struct run *run, struct job *job, int status)
{
	int ret;

	if (job->asked == ASKED_RESTART) {
		run->counts.retried++;
		kwq_give_back(job->handle, job->item.ticket);
		if (run->options.verbose)
			tell_of(run, job, "killed by kwq restart");
	} else {
		ret = kwq_bury(job->handle, job->item.ticket);
		run->counts.dead += ret >= 0;
		tell_of(run, job, "killed by kwq bury%s%s", ret < 0 ? ": " : "",
			ret < 0 ? meaning(ret) : "");
	}
	log_job(run, job, status);
}

void end_job(struct run *run, struct job *job)
{
	int status;

	unwatch_job(run, job);
	status = job_reap(job);
	if (is_lost(run, job))
		settle_lost(run, job, status);
	else if (job->asked)
		settle_asked(run, job, status);
	else if (*job->exec_error)
		settle_no_start(run, job, status);
	else
		settle_with_output(run, job, status);
	/* Only now: the message for a first signal counts this job as running until
	 * here.
	 */
	run->counts.running--;
	job_free(job);
	check_halt(run);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run: what becomes of the key of a job that has ended.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cmd.h"
#include "duration.h"
#include "fate.h"
#include "joblog.h"
#include "retry.h"
#include "worker_run.h"

/*
 * Finishes the item for good and resets its count of requeues. Returns false if
 * somebody else has finished it, through the inherited descriptor.
 */
static bool finish_item(struct run *run, struct job *job)
{
	int err = kwq_done_with(job->handle, job->item.ticket, KWQ_DONE_FORGET);

	if (err < 0)
		tell_of(run, job, "done: %s",
			err == -ESTALE ? "no longer held" : meaning(err));
	return err >= 0;
}

static void succeed(struct run *run, struct job *job)
{
	retry_forget(&run->failures, job->key, job->item.key_len);
	if (finish_item(run, job)) {
		job->outcome = JOBLOG_DONE;
		run->counts.done++;
	} else {
		run->counts.failed++;
	}
}

static void drop(struct run *run, struct job *job, const char *why)
{
	run->counts.failed++;
	tell_of(run, job, "%s; dropped", why);
	retry_forget(&run->failures, job->key, job->item.key_len);
	if (finish_item(run, job))
		job->outcome = JOBLOG_DROP;
}

static void note_death(struct run *run, struct job *job, const char *why)
{
	job->outcome = JOBLOG_DEAD;
	run->counts.dead++;
	retry_forget(&run->failures, job->key, job->item.key_len);
	if (job->attempt)
		tell_of(run, job, "%s; dead after %u %s", why, job->attempt,
			job->attempt == 1 ? "try" : "tries");
	else
		tell_of(run, job, "%s; dead", why);
}

static void bury(struct run *run, struct job *job, const char *why)
{
	int ret = kwq_bury(job->handle, job->item.ticket);

	if (ret == KWQ_BURIED) {
		note_death(run, job, why);
		return;
	}
	run->counts.failed++;
	if (ret >= 0)
		job->outcome = ret == KWQ_FINISHED ? JOBLOG_LOST : JOBLOG_RETURN;
	/* A queue that is shut down keeps no dead letters. */
	tell_of(run, job, "%s; no dead letter: %s", why,
		ret == -ESTALE ? "no longer held" : ret < 0 ? meaning(ret) :
		ret == KWQ_FINISHED ? "the queue is shut down" : "added again meanwhile");
}

void give_back(struct run *run, struct job *job)
{
	int ret = kwq_give_back(job->handle, job->item.ticket);

	if (ret != -ESTALE)
		job->outcome = JOBLOG_RETURN;
	/* An item that is lost already is somebody else's. */
	if (ret < 0 && ret != -ESTALE)
		tell_of(run, job, "cannot be returned: %s", meaning(ret));
}

void give_up(struct run *run, struct job *job, const char *why)
{
	if (run->options.fate.on_fail == FATE_DROP)
		drop(run, job, why);
	else
		bury(run, job, why);
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

/* Adds the item again, or reports why that failed. */
static void try_again(struct run *run, struct job *job, const char *why)
{
	uint64_t delay = 0;
	int err, added;

	err = add_again_and_done(run, job, &delay, &added);
	if (err < 0) {
		/* The item was not finished, so it goes back when its handle is closed. */
		run->counts.failed++;
		job->outcome = err == -ESTALE ? JOBLOG_LOST : JOBLOG_RETURN;
		tell_of(run, job, "%s; retry failed, the key goes back: %s", why, meaning(err));
	} else if (added < 0) {
		/* Q8: a queue that is shut down drops retries. */
		run->counts.failed++;
		job->outcome = JOBLOG_LOST;
		tell_of(run, job, "%s; cannot be retried: %s", why, meaning(added));
	} else if (added == KWQ_DEAD) {
		note_death(run, job, why);
	} else {
		run->counts.retried++;
		job->outcome = JOBLOG_RETRY;
		tell_of_retry(run, job, why, delay);
	}
}

/*
 * The bound of the queue, if only kwq run counts: delays of its own do not raise the requeues.
 */
static unsigned int own_bound(const struct run *run)
{
	struct kwq_config config = { .size = sizeof(config) };

	if (run->options.use_limiters || kwq_config(run->q, &config))
		return 0;
	return config.dead_after;
}

static void describe(const struct run *run, const struct job *job, int status, char *to,
		     size_t size)
{
	char duration[DURATION_SIZE], how[80];

	describe_end(status, how, sizeof(how));
	if (job->timed_out)
		snprintf(to, size, "timed out after %s; %s",
			 print_duration(duration, run->options.timeout), how);
	else
		snprintf(to, size, "%s", how);
}

static void settle(struct run *run, struct job *job, int status)
{
	struct job_end end = {
		.status = status,
		.timed_out = job->timed_out,
		.attempt = job->attempt,
		.stopped_by = run->stopped_by,
	};
	enum fate fate = fate_of(&run->options.fate, &end);
	char why[160];

	/* Asks the queue only if its answer matters. */
	if (fate == FATE_RETRY) {
		end.dead_after = own_bound(run);
		fate = fate_of(&run->options.fate, &end);
	}
	describe(run, job, status, why, sizeof(why));
	run->ended_well += fate == FATE_DONE;
	run->ended_badly += fate == FATE_RETRY || fate == FATE_DEAD || fate == FATE_DROP;
	switch (fate) {
	case FATE_DONE:
		succeed(run, job);
		break;
	case FATE_RETRY:
		try_again(run, job, why);
		break;
	case FATE_DEAD:
		bury(run, job, why);
		break;
	case FATE_DROP:
		drop(run, job, why);
		break;
	case FATE_RETURN:
		if (run->options.verbose)
			tell_of(run, job, "%s, as kwq run; the key goes back", why);
		give_back(run, job);
		break;
	}
}

static uint64_t bytes_sent(const struct run *run, const struct job *job)
{
	switch (run->options.input) {
	case INPUT_KEY:
		return job->item.key_len;
	case INPUT_VALUE:
		return job->value_len;
	default:
		return 0;
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
		.outcome = job->outcome,
		.key = job->key,
		.key_len = job->item.key_len,
	};
	int err;

	if (run->joblog < 0)
		return;
	entry.sent = bytes_sent(run, job);
	entry.received = stream_bytes(&job->streams[0], run->options.output);
	entry.command = job_command(job, run->options.command, run->options.input);
	err = entry.command ? joblog_write(run->joblog, &entry) : -ENOMEM;
	if (entry.command != run->options.command)
		free(entry.command);
	if (err)
		stop_for(run, STATUS_FAILED, run->options.joblog, strerror(-err));
}

/*
 * Handles a command that could not be executed. The command is wrong, not the key, unless only
 * this key or its value is too long.
 */
static void settle_no_start(struct run *run, struct job *job, int status)
{
	const char *name = run->options.command[0];
	int err = job->exec_error;
	char why[160];

	if (err == E2BIG) {
		snprintf(why, sizeof(why), "cannot be run: %s", strerror(err));
		run->ended_badly++;
		give_up(run, job, why);
		log_job(run, job, status);
		return;
	}
	give_back(run, job);
	/* All other jobs have the same command. */
	if (run->no_start)
		return;
	run->no_start = true;
	stop_for(run, err == ENOENT ? STATUS_NO_COMMAND : STATUS_CANNOT_RUN, name,
		 strerror(err));
	if (err == ENOENT && strchr(name, ' '))
		message("%s: \"%s\" is one word: for a command line use sh -c '...' sh {}",
			run->options.queue, name);
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
 * Stores and writes the output before finishing the item: an item is done only when all its
 * output is written. Otherwise the item goes back, and another worker can write the output.
 *
 * Once a job found no room, the output of those that ran beside it may have holes, too. So they
 * are not asked for room, which may be there again: their items go back.
 */
static void settle_with_output(struct run *run, struct job *job, int status)
{
	bool complete = is_output_stored(run) && !run->no_room && write_output(run, job);

	/* The write may have taken longer than the lease. */
	if (is_lost(run, job)) {
		settle_lost(run, job, status);
		return;
	}
	if (complete)
		settle(run, job, status);
	else
		give_back(run, job);
	log_job(run, job, status);
	/*
	 * The room of this output becomes free now. If there was none while it was printed, the
	 * jobs beside this one must not overlook that.
	 */
	if (complete && (stream_has_output(&job->streams[0], run->options.output) ||
			 stream_has_output(&job->streams[1], run->options.output)))
		is_output_stored(run);
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
		give_back(run, job);
		if (run->options.verbose)
			tell_of(run, job, "killed by kwq restart");
	} else {
		ret = kwq_bury(job->handle, job->item.ticket);
		run->counts.dead += ret >= 0;
		if (ret >= 0)
			job->outcome = ret == KWQ_BURIED ? JOBLOG_DEAD : JOBLOG_RETURN;
		tell_of(run, job, "killed by kwq bury%s%s", ret < 0 ? ": " : "",
			ret < 0 ? meaning(ret) : "");
	}
	log_job(run, job, status);
}

void skip_item(struct run *run, struct job *job, enum joblog_outcome outcome)
{
	run->skipped++;
	if (outcome == JOBLOG_DEAD) {
		bury(run, job, "failed for good in the job log");
		return;
	}
	if (run->options.verbose)
		tell_of(run, job, "%s in the job log; not run",
			outcome == JOBLOG_DONE ? "done" : "dropped");
	finish_item(run, job);
}

void end_job(struct run *run, struct job *job)
{
	int status;

	unwatch_job(run, job);
	status = job_reap(job);
	/* The signal that ended the job may have come here, too. */
	take_urgent(run);
	if (is_lost(run, job))
		settle_lost(run, job, status);
	else if (job->asked)
		settle_asked(run, job, status);
	else if (job->exec_error)
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

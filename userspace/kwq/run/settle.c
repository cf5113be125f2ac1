// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run: what becomes of the key of a job that has ended.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "kwq/job/fate.h"
#include "queue/histogram.h"
#include "kwq/keys/item_first.h"
#include "kwq/job/joblog.h"
#include "base/read_clock.h"
#include "kwq/job/retry.h"
#include "worker_run.h"

/*
 * Finishes the item for good and resets its count of requeues. Returns false if
 * somebody else has finished it, through the inherited descriptor.
 */
static bool finish_item(struct run *run, struct job_item *it)
{
	int err = kwq_done_with(it->job->handle, it->item.ticket, KWQ_DONE_FORGET);

	if (err < 0)
		tell_of(run, it, "done: %s",
			err == -ESTALE ? "no longer held" : meaning(err));
	return err >= 0;
}

static void succeed(struct run *run, struct job_item *it)
{
	retry_forget(&run->failures, it->key, it->item.key_len);
	if (finish_item(run, it)) {
		it->outcome = JOBLOG_DONE;
		run->counts.done++;
	} else {
		run->counts.failed++;
	}
}

static void drop(struct run *run, struct job_item *it, const char *why)
{
	run->counts.failed++;
	tell_of(run, it, "%s; dropped", why);
	retry_forget(&run->failures, it->key, it->item.key_len);
	if (finish_item(run, it))
		it->outcome = JOBLOG_DROP;
}

static void note_death(struct run *run, struct job_item *it, const char *why)
{
	it->outcome = JOBLOG_DEAD;
	run->counts.dead++;
	retry_forget(&run->failures, it->key, it->item.key_len);
	if (it->attempt)
		tell_of(run, it, "%s; dead after %u %s", why, it->attempt,
			it->attempt == 1 ? "try" : "tries");
	else
		tell_of(run, it, "%s; dead", why);
}

/* The last lines of the job's output that a note has. */
enum { NOTE_LINES = 10, NOTE_BYTES = 1024 };

/* Where the last NOTE_LINES lines begin, of NOTE_BYTES at most. */
static const char *last_lines(const char *bytes, size_t len)
{
	const char *from = bytes + len;
	int lines = 0;

	while (from > bytes && bytes + len - from < NOTE_BYTES) {
		if (from < bytes + len && from[-1] == '\n' && ++lines == NOTE_LINES)
			break;
		from--;
	}
	return from;
}

/* Why a run has failed, and what its command, if it has run, has said last. */
static void describe_failure(const struct run *run, const struct job *job, const char *why,
			     bool has_run, struct job_note *note)
{
	char tail[OUTPUT_TAIL];
	size_t tail_len = 0;
	const char *from;
	int i;

	/* Its words on the failure, or else all that it said */
	for (i = 1; has_run && i >= 0 && !tail_len; i--)
		tail_len = stream_tail(&job->streams[i], run->options.output, tail);
	from = last_lines(tail, tail_len);
	note->len = snprintf(note->bytes, sizeof(note->bytes) - NOTE_BYTES, "%s\n", why);
	memcpy(note->bytes + note->len, from, tail + tail_len - from);
	note->len += tail + tail_len - from;
}

/*
 * Leaves a note with an item that is to be dead. It is not what the queue is for, and the end of
 * the item tells of one that is lost.
 */
static void leave_note(struct run *run, const struct job_item *it, const char *why, bool has_run)
{
	struct job_note note;
	int err;

	describe_failure(run, it->job, why, has_run, &note);
	err = kwq_note(it->job->handle, it->item.ticket, note.bytes, note.len);
	if (err && err != -EOPNOTSUPP && run->options.verbose)
		tell_of(run, it, "no note of it: %s", meaning(err));
}

static void bury(struct run *run, struct job_item *it, const char *why)
{
	int ret = kwq_bury(it->job->handle, it->item.ticket);

	if (ret == KWQ_BURIED) {
		note_death(run, it, why);
		return;
	}
	run->counts.failed++;
	if (ret >= 0)
		it->outcome = ret == KWQ_FINISHED ? JOBLOG_LOST : JOBLOG_RETURN;
	/* A queue that is shut down keeps no dead letters. */
	tell_of(run, it, "%s; no dead letter: %s", why,
		ret == -ESTALE ? "no longer held" : ret < 0 ? meaning(ret) :
		ret == KWQ_FINISHED ? "the queue is shut down" : "added again meanwhile");
}

/* kwq cancel has taken out whatever else was due for the key: its done is the last of it. */
static void cancel(struct run *run, struct job_item *it)
{
	run->counts.failed++;
	retry_forget(&run->failures, it->key, it->item.key_len);
	it->is_cancelled = finish_item(run, it);
	if (!it->is_cancelled)
		return;
	it->outcome = JOBLOG_DROP;
	tell_of(run, it, "cancelled");
}

void give_back(struct run *run, struct job_item *it)
{
	int ret;

	if (it->to_cancel) {
		cancel(run, it);
		return;
	}
	ret = kwq_give_back(it->job->handle, it->item.ticket);
	if (ret != -ESTALE)
		it->outcome = JOBLOG_RETURN;
	/* An item that is lost already is somebody else's. */
	if (ret < 0 && ret != -ESTALE)
		tell_of(run, it, "cannot be returned: %s", meaning(ret));
}

void give_back_all(struct run *run, struct job *job)
{
	unsigned int i;

	for (i = job->nr; i > 0; i--)
		give_back(run, &job->items[i - 1]);
}

void give_up(struct run *run, struct job_item *it, const char *why)
{
	if (run->options.fate.on_fail == FATE_DROP) {
		drop(run, it, why);
		return;
	}
	leave_note(run, it, why, false);
	bury(run, it, why);
}

/* Without entropy, which a machine may lack at its start, the delays are just not longer. */
static uint32_t any_number(void)
{
	uint32_t number = 0;

	return getrandom(&number, sizeof(number), GRND_NONBLOCK) == sizeof(number) ? number : 0;
}

/* Adds the item again and finishes it. *delay receives the pause, if it is known. */
static int add_again_and_done(struct run *run, struct job_item *it, const struct job_note *note,
			      uint64_t *delay, int *added)
{
	unsigned int failures;

	if (run->options.use_limiters)
		return job_add_rate_limited_and_done(it, note, added);
	failures = retry_fail(&run->failures, it->key, it->item.key_len);
	*delay = retry_jitter(retry_delay(failures, run->options.retry_after,
					  run->options.retry_max), any_number());
	return job_add_again_and_done(it, note, *delay, added);
}

/*
 * Finds out when the next try comes, if the queue's limiters have chosen. Returns false if the item
 * cannot be asked: that of a shared queue may be on another machine.
 */
static bool ask_delay(struct run *run, const struct job_item *it, uint64_t *delay)
{
	static struct item_first found;	/* too large for the stack */

	if (item_of_key(run->q, it->key, it->item.key_len, 0, &found) <= 0)
		return false;
	*delay = found.item.state & KWQ_IS_WAITING ? found.item.due_in : 0;
	return true;
}

/* Rounds to three digits, because the queue's answer lacks the moments since the add. */
static uint64_t three_digits(uint64_t ns)
{
	uint64_t unit = 1;

	while (ns / unit >= 1000)
		unit *= 10;
	return (ns + unit / 2) / unit * unit;
}

static void describe_retry(struct run *run, const struct job_item *it, uint64_t delay,
			   char *to, size_t size)
{
	char time[SHORT_TIME_SIZE];

	if (run->options.use_limiters && !ask_delay(run, it, &delay))
		snprintf(to, size, "after the delay of the queue's limiters");
	else if (delay)
		snprintf(to, size, "in %s", short_time(time, three_digits(delay)));
	else
		snprintf(to, size, "at once");
}

static void tell_of_retry(struct run *run, const struct job_item *it, const char *why,
			  uint64_t delay)
{
	enum tell tell = TELL_LINE;
	char when[60];

	if (run->options.quiet)
		return;
	/* Too many keys for one command are the failure of none of them. */
	if (it->job->exec_error && !run->options.verbose)
		return;
	if (!run->options.verbose)
		tell = tell_limit_take(&run->told, read_clock(CLOCK_MONOTONIC));
	if (tell == TELL_NOTHING)
		return;
	tell_of_untold(run);
	describe_retry(run, it, delay, when, sizeof(when));
	tell_of(run, it, "%s; attempt %u %s%s", why, it->attempt + 1, when, tell == TELL_LAST ?
		"; for a while, further failures are only counted (--verbose prints each)" : "");
}

/* Adds the item again, or reports why that failed. */
static void try_again(struct run *run, struct job_item *it, const char *why, bool has_run)
{
	struct job_note note;
	uint64_t delay = 0;
	int err, added;

	describe_failure(run, it->job, why, has_run, &note);
	err = add_again_and_done(run, it, &note, &delay, &added);
	if (err < 0) {
		/* The item was not finished, so it goes back when its handle is closed. */
		run->counts.failed++;
		it->outcome = err == -ESTALE ? JOBLOG_LOST : JOBLOG_RETURN;
		tell_of(run, it, "%s; retry failed, the key goes back: %s", why, meaning(err));
	} else if (added < 0) {
		/* Q8: a queue that is shut down drops retries. */
		run->counts.failed++;
		it->outcome = JOBLOG_LOST;
		tell_of(run, it, "%s; cannot be retried: %s", why, meaning(added));
	} else if (added == KWQ_DEAD) {
		note_death(run, it, why);
	} else {
		run->counts.retried++;
		it->outcome = JOBLOG_RETRY;
		tell_of_retry(run, it, why, delay);
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

static void describe(const struct run *run, const struct job *job, char *to, size_t size)
{
	char duration[DURATION_SIZE], how[80];

	describe_end(job->status, how, sizeof(how));
	if (job->timed_out)
		snprintf(to, size, "timed out after %s; %s",
			 print_duration(duration, run->options.timeout), how);
	else
		snprintf(to, size, "%s", how);
}

static enum fate fate_of_item(const struct run *run, const struct job_item *it)
{
	struct job_end end = {
		.status = it->job->status,
		.timed_out = it->job->timed_out,
		.attempt = it->attempt,
		.stopped_by = run->stopped_by,
		.shared = it->job->nr > 1,
	};
	enum fate fate = fate_of(&run->options.fate, &end);

	/* Asks the queue only if its answer matters. */
	if (fate != FATE_RETRY || end.shared)
		return fate;
	end.dead_after = own_bound(run);
	return fate_of(&run->options.fate, &end);
}

static void settle(struct run *run, struct job_item *it, const char *why)
{
	if (it->to_cancel) {
		cancel(run, it);
		return;
	}
	switch (fate_of_item(run, it)) {
	case FATE_DONE:
		succeed(run, it);
		break;
	case FATE_RETRY:
		try_again(run, it, why, true);
		break;
	case FATE_DEAD:
		leave_note(run, it, why, true);
		bury(run, it, why);
		break;
	case FATE_DROP:
		drop(run, it, why);
		break;
	case FATE_RETURN:
		if (run->options.verbose)
			tell_of(run, it, "%s, as kwq run; the key goes back", why);
		give_back(run, it);
		break;
	}
}

static void settle_all(struct run *run, struct job *job)
{
	char why[160];
	unsigned int i;

	describe(run, job, why, sizeof(why));
	for (i = 0; i < job->nr; i++)
		settle(run, &job->items[i], why);
}

/* For --halt. */
static void count_end(struct run *run, const struct job *job)
{
	enum fate fate = fate_of_item(run, &job->items[0]);

	run->ended_well += fate == FATE_DONE;
	run->ended_badly += fate != FATE_DONE && fate != FATE_RETURN;
}

static uint64_t bytes_sent(const struct run *run, const struct job_item *it)
{
	switch (run->options.input) {
	case INPUT_KEY:
		return it->item.key_len + run->options.many;
	case INPUT_VALUE:
		return it->job->value_len;
	default:
		return 0;
	}
}

static int log_with_output(struct run *run, const struct job *job,
			   const struct joblog_entry *entry)
{
	char tails[2][OUTPUT_TAIL];
	struct log_output output[2];
	int i;

	for (i = 0; i < 2; i++)
		output[i] = (struct log_output){
			.bytes = tails[i],
			.len = stream_tail(&job->streams[i], run->options.output, tails[i]),
		};
	return log_folder_write(&run->log, job->started_real + job->runtime, entry, output);
}

static int log_item(struct run *run, const struct job_item *it, int status)
{
	const struct job *job = it->job;
	struct job_form form = job_form(run);
	struct joblog_entry entry = {
		.seq = job->seq,
		.started = job->started_real,
		.runtime = job->runtime,
		.sent = bytes_sent(run, it),
		.received = stream_bytes(&job->streams[0], run->options.output),
		.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
		.attempt = it->attempt,
		.abandoned = it->item.abandoned,
		.outcome = it->outcome,
		.key = it->key,
		.key_len = it->item.key_len,
	};
	int err;

	entry.command = job_command(job, it, &form);
	if (!entry.command)
		return -ENOMEM;
	err = log_with_output(run, job, &entry);
	if (entry.command != form.command)
		free(entry.command);
	return err;
}

void log_job(struct run *run, const struct job *job, int status)
{
	unsigned int i;
	int err = 0;

	for (i = 0; run->options.log && i < job->nr && !err; i++)
		err = log_item(run, &job->items[i], status);
	if (err)
		stop_for(run, STATUS_FAILED, "cannot log a job", strerror(-err));
}

/* The command is too long with this key or its value, or with so many keys. */
static void settle_too_long(struct run *run, struct job *job)
{
	char why[160];
	unsigned int i;

	snprintf(why, sizeof(why), "cannot be run: %s", strerror(E2BIG));
	run->ended_badly++;
	if (job->nr == 1)
		give_up(run, &job->items[0], why);
	else
		for (i = 0; i < job->nr; i++)
			try_again(run, &job->items[i], why, false);
	log_job(run, job, job->status);
}

/*
 * Handles a command that could not be executed. The command is wrong, not the keys, unless it is
 * too long.
 */
static void settle_no_start(struct run *run, struct job *job)
{
	const char *name = run->options.command[0];
	int err = job->exec_error;

	if (err == E2BIG) {
		settle_too_long(run, job);
		return;
	}
	give_back_all(run, job);
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
 * Whether an item was revoked, or its lease was lost, and it may be another worker's. Asked after
 * the command has ended and before its items are settled. The check cannot be left to the done:
 * the add comes before it, and would take effect.
 */
static bool is_lost(const struct run *run, struct job *job)
{
	if (run->leases.fd >= 0 || job_has_losses(job))
		job_extend(job);
	return job_is_lost(job);
}

/*
 * The job was killed because an item is another worker's. Its other items go back. The log says
 * "killed", however the command ended.
 */
static void settle_lost(struct run *run, struct job *job)
{
	struct job_item *it;
	char why[100];
	unsigned int i;

	describe_end(job->status, why, sizeof(why));
	for (i = job->nr; i > 0; i--) {
		it = &job->items[i - 1];
		if (!it->lost) {
			give_back(run, it);
			continue;
		}
		run->counts.failed++;
		tell_of(run, it, "%s; %s", run->leases.fd >= 0 ? "lease lost" : "revoked", why);
	}
	run->ended_badly++;
	log_job(run, job, W_EXITCODE(0, SIGKILL));
}

/*
 * Stores and writes the output before finishing the items: an item is done only when all its
 * output is written. Otherwise the items go back, and another worker can write the output.
 *
 * Once a job found no room, the output of those that ran beside it may have holes, too. So they
 * are not asked for room, which may be there again: their items go back.
 */
static void settle_with_output(struct run *run, struct job *job)
{
	bool complete = is_output_stored(run) && !run->no_room && write_output(run, job);

	/* The write may have taken longer than the lease. */
	if (is_lost(run, job)) {
		settle_lost(run, job);
		return;
	}
	if (complete) {
		count_end(run, job);
		settle_all(run, job);
	} else {
		give_back_all(run, job);
	}
	log_job(run, job, job->status);
	/*
	 * The room of this output becomes free now. If there was none while it was printed, the
	 * jobs beside this one must not overlook that.
	 */
	if (complete && (stream_has_output(&job->streams[0], run->options.output) ||
			 stream_has_output(&job->streams[1], run->options.output)))
		is_output_stored(run);
}

/*
 * kwq kill --restart, kwq kill --bury or kwq cancel has killed the job, so its output is dropped.
 * An item that none of them is about goes back.
 */
static void settle_asked(struct run *run, struct job *job)
{
	static const char *const whose[] = {
		[ASKED_RESTART] = "kill --restart",
		[ASKED_BURY] = "kill --bury of another key",
		[ASKED_CANCEL] = "cancel of another key",
	};
	struct job_item *it;
	unsigned int i;
	int ret;

	for (i = job->nr; i > 0; i--) {
		it = &job->items[i - 1];
		if (it->to_cancel) {
			cancel(run, it);
			continue;
		}
		if (!it->to_bury) {
			run->counts.retried++;
			give_back(run, it);
			if (run->options.verbose)
				tell_of(run, it, "killed by kwq %s", whose[job->asked]);
			continue;
		}
		leave_note(run, it, "killed by kwq kill --bury", true);
		/* If this fails, it goes back when its handle is closed. */
		ret = kwq_bury(job->handle, it->item.ticket);
		run->counts.dead += ret >= 0;
		if (ret >= 0)
			it->outcome = ret == KWQ_BURIED ? JOBLOG_DEAD : JOBLOG_RETURN;
		tell_of(run, it, "killed by kwq kill --bury%s%s", ret < 0 ? ": " : "",
			ret < 0 ? meaning(ret) : "");
	}
	log_job(run, job, job->status);
}

void end_job(struct run *run, struct job *job)
{
	bool lost;

	unwatch_job(run, job);
	job->status = job_reap(job);
	/* The signal that ended the job may have come here, too. */
	take_urgent(run);
	lost = is_lost(run, job);
	if (lost)
		settle_lost(run, job);
	else if (job->asked)
		settle_asked(run, job);
	else if (job->exec_error)
		settle_no_start(run, job);
	else
		settle_with_output(run, job);
	/* Only now: the message for a first signal counts this job as running until
	 * here.
	 */
	run->counts.running--;
	job_free(job);
	check_halt(run);
}

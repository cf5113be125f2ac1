// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run: runs a command for every item.
 *
 * One thread waits in one epoll: for the queue while another job may start, for
 * signals, for the end of each job, and for job output with --output line. No item is
 * fetched before its job can start.
 *
 * In a queue with leases, kwq run extends the leases of all held items in time, also
 * while a write blocks. A lease may still expire, because this process or the machine
 * was stopped. Then another worker may already process the item, and every further
 * moment of the command is a risk. So the command gets SIGKILL at once instead of
 * SIGTERM. Its output is discarded as far as it is not written yet. Its item is neither
 * finished nor added again, because that is up to the new holder. The job counts as
 * failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "duration.h"
#include "escape.h"
#include "gate.h"
#include "job.h"
#include "job_control.h"
#include "joblog.h"
#include "lease.h"
#include "progress.h"
#include "retry.h"
#include "template.h"
#include "worker.h"

enum {
	EVENTS = 64,
	/* Descriptors per job, and all others together. */
	FDS_PER_JOB = 4,
	FDS_BESIDES = 32,
	/* The first and the longest pause before asking whether the queue is empty. */
	EMPTY_MS_FIRST = 10,
	EMPTY_MS_LAST = 1000,
};

struct run {
	struct run_options options;
	struct kwq *q;		/* for polling and inspecting; never holds an item */
	struct kwq *spare;	/* the handle of the next job, if opened already */
	struct job *jobs;	/* array of options.jobs */
	int epoll, signals, joblog;
	int urgent;		/* an epoll for signals, leases and requests, which cannot wait */
	struct control control;
	struct lease_timer leases;
	bool has_extras;	/* the module has values or groups */
	bool watching;		/* the queue is in the epoll */
	bool stopping;		/* take no more items: a signal or an error came */
	bool warned;		/* the first signal came */
	bool over;		/* shut down and empty, or empty */
	bool held_back;		/* a job may start, but not yet: see gate */
	bool halted;		/* the bound of --halt was reached */
	uint32_t end_flags;	/* flags of the done of an item that is not retried */
	int signal;		/* the second signal: the jobs get killed */
	int status;		/* the exit status of the error that ended the run */
	int empty_ms;		/* the pause before the next check_empty() */
	unsigned long long seq;
	struct progress_counts counts;
	uint64_t ended_well, ended_badly;	/* jobs that count for --halt */
	struct progress progress;
	struct retry_table failures;
	struct gate gate;
	struct child_inheritance inherited;
};

/* The cause of an event: a kind, and for some kinds the index of a job. */
enum source { SOURCE_URGENT, SOURCE_QUEUE, SOURCE_END, SOURCE_OUTPUT, SOURCE_ERRORS };

static uint64_t monotonic(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* ---- Messages ------------------------------------------------------------- */

/*
 * Handles an error that concerns no single job: nothing new starts, and running jobs
 * may end.
 */
static void stop_for(struct run *run, int status, const char *what, const char *why)
{
	progress_hide(&run->progress);
	/* After the second signal, errors are a consequence of the signal. */
	if (!run->signal)
		message("%s: %s: %s", run->options.queue, what, why);
	run->stopping = true;
	if (!run->status)
		run->status = status;
}

static void tell_of(struct run *run, const struct job *job, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void tell_of(struct run *run, const struct job *job, const char *format, ...)
{
	char key[ESCAPED_SIZE(KWQ_KEY_MAX)], text[200];
	va_list args;

	if (run->options.quiet)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	progress_hide(&run->progress);
	message("%s: %s: %s", run->options.queue,
		escape_text(key, job->key, job->item.key_len), text);
}

/* Prints "exit status 3" or "killed by signal 9 (Killed)". */
static const char *describe(int status, char *to, size_t size)
{
	if (WIFSIGNALED(status))
		snprintf(to, size, "killed by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(to, size, "exit status %d", WEXITSTATUS(status));
	return to;
}

/* ---- The epoll ------------------------------------------------------------ */

static int watch_in(int epoll, int fd, enum source source, size_t job)
{
	struct epoll_event event = {
		.events = EPOLLIN,
		.data.u64 = (uint64_t)source << 32 | job,
	};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int watch(struct run *run, int fd, enum source source, size_t job)
{
	return watch_in(run->epoll, fd, source, job);
}

/*
 * Closing @fd is not enough: the epoll watches file descriptions, and a forked child
 * has a copy until it calls exec().
 */
static void unwatch(struct run *run, int fd)
{
	epoll_ctl(run->epoll, EPOLL_CTL_DEL, fd, NULL);
}

/* Watches the queue only while another job may start. */
static void watch_queue(struct run *run)
{
	bool want = !run->stopping && !run->over && !run->held_back &&
		run->counts.running < run->options.jobs;
	int err;

	if (want == run->watching)
		return;
	if (!want) {
		unwatch(run, kwq_fd(run->q));
	} else {
		err = watch(run, kwq_fd(run->q), SOURCE_QUEUE, 0);
		if (err) {
			stop_for(run, STATUS_FAILED, "epoll_ctl", strerror(-err));
			return;
		}
	}
	run->watching = want;
}

static int watch_job(struct run *run, const struct job *job)
{
	size_t i = job - run->jobs;
	int err;

	err = watch(run, job->pidfd, SOURCE_END, i);
	if (err || run->options.output != OUTPUT_LINE)
		return err;
	err = watch(run, job->streams[0].fd, SOURCE_OUTPUT, i);
	return err ? err : watch(run, job->streams[1].fd, SOURCE_ERRORS, i);
}

static void unwatch_job(struct run *run, const struct job *job)
{
	unwatch(run, job->pidfd);
	if (run->options.output != OUTPUT_LINE)
		return;
	unwatch(run, job->streams[0].fd);
	unwatch(run, job->streams[1].fd);
}

/* ---- Ending jobs ---------------------------------------------------------- */

static void stop_for_output(struct run *run, int i, int err)
{
	stop_for(run, STATUS_FAILED, i ? "standard error" : "standard output",
		 strerror(-err));
}

/*
 * Writes the rest of the output. Returns false if any output, now or before, could not
 * be written.
 */
static bool write_output(struct run *run, struct job *job)
{
	bool complete = true;
	struct stream *s;
	int i, err;

	for (i = 0; i < 2; i++) {
		s = &job->streams[i];
		/* An error from before was already reported. */
		if (!s->err && stream_has_output(s, run->options.output)) {
			progress_hide(&run->progress);
			err = stream_flush(s, run->options.output);
			if (err)
				stop_for_output(run, i, err);
		}
		complete = complete && !s->err;
	}
	return complete;
}

/*
 * Finishes the item for good and resets its count of requeues. Returns false if
 * somebody else has finished it, through the inherited descriptor.
 */
static bool finish_item(struct run *run, struct job *job)
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

/* Counts and reports a final failure. The caller still finishes the item. */
static void fail(struct run *run, struct job *job, const char *why)
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
		fail(run, job, text);
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

	describe(status, why, sizeof(why));
	if (WIFEXITED(status) && !WEXITSTATUS(status)) {
		run->ended_well++;
		succeed(run, job);
		return;
	}
	run->ended_badly++;
	if (!wants_retry(run, status)) {
		fail(run, job, why);
		finish_item(run, job);
	} else if (max && job->attempt >= max) {
		snprintf(text, sizeof(text), "%s; attempt %u was the last", why, max);
		fail(run, job, text);
		finish_item(run, job);
	} else {
		try_again(run, job, why);
	}
}

static void log_job(struct run *run, const struct job *job, int status)
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
	fail(run, job, why);
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
	tell_of(run, job, "lease lost; %s", describe(status, why, sizeof(why)));
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

/* The number of keys in the queue that are neither done nor dead. */
static uint64_t keys_left(struct run *run)
{
	struct kwq_stat st = { .size = sizeof(st) };
	int err = kwq_stat(run->q, &st);

	if (err)
		stop_for(run, STATUS_FAILED, "stat", meaning(err));
	return st.ready + st.waiting + st.processing;
}

/* Ends the run if the bound of --halt is reached. The caller has settled the job. */
static void check_halt(struct run *run)
{
	const struct halt_spec *halt = &run->options.halt;

	if (run->halted || run->stopping ||
	    !halt_is_due(halt, run->ended_badly, run->ended_well,
			 halt->percent ? keys_left(run) : 0))
		return;
	run->halted = true;
	run->stopping = true;
	if (halt->why == HALT_FAIL && !run->status)
		run->status = STATUS_FAILED;
	if (run->options.quiet)
		return;
	progress_hide(&run->progress);
	message("%s: --halt %s: %s", run->options.queue, run->options.halt_text,
		halt->when == HALT_NOW ? "running jobs are killed, their keys go back" :
		"no more jobs start");
}

static void end_job(struct run *run, struct job *job)
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

static void pump(struct run *run, struct job *job, int i)
{
	int ret;

	progress_hide(&run->progress);
	ret = stream_pump(&job->streams[i]);
	if (ret > 0)
		unwatch(run, job->streams[i].fd);
	if (ret < 0)
		stop_for_output(run, i, ret);
}

/* ---- Starting jobs -------------------------------------------------------- */

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
	run->spare = NULL;
	lease_timer_start(&run->leases);
	return 0;
}

/* A key that cannot be an argument fails alone; other keys go on. */
static void refuse_item(struct run *run, struct job *job)
{
	fail(run, job, "has a NUL and cannot be an argument: see --stdin");
	finish_item(run, job);
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
	job->exec_error[0] = 0;
	err = job_start(job, run->options.command, &run->inherited,
			run->options.output, run->options.input);
	if (!err) {
		gate_started(&run->gate, monotonic());
		run->counts.running++;
		err = watch_job(run, job);
		if (!err)
			return;
		unwatch_job(run, job);
		job_kill(job);
		job_reap(job);
		run->counts.running--;
	}
	/* The item is not to blame: it goes back when its handle is closed. */
	stop_for(run, STATUS_FAILED, "cannot start a job", strerror(-err));
	job_free(job);
}

/* ---- Signals -------------------------------------------------------------- */

/* After the second signal or --halt now: kills the jobs. Their items go back. */
static void kill_jobs(struct run *run)
{
	unsigned int i;

	for (i = 0; i < run->options.jobs; i++)
		if (run->jobs[i].pid)
			job_kill(&run->jobs[i]);
	for (i = 0; i < run->options.jobs; i++) {
		struct job *job = &run->jobs[i];

		if (!job->pid)
			continue;
		log_job(run, job, job_reap(job));
		job_free(job);
	}
	run->counts.running = 0;
}

/* May be called from inside a blocked write, so the second signal is only recorded here. */
static void take_signal(struct run *run)
{
	struct signalfd_siginfo info;

	if (read(run->signals, &info, sizeof(info)) != sizeof(info))
		return;
	progress_hide(&run->progress);
	if (!run->warned) {
		run->warned = true;
		run->stopping = true;
		if (run->counts.running && !run->options.quiet)
			message("%s: %s: waiting for %u running; once more to kill them",
				run->options.queue, strsignal(info.ssi_signo),
				run->counts.running);
		return;
	}
	run->signal = info.ssi_signo;
}

/* An item is held until its job is freed, even after its command has ended. */
static void extend_leases(struct run *run)
{
	bool held = false;
	unsigned int i;

	if (!lease_timer_is_due(&run->leases))
		return;
	for (i = 0; i < run->options.jobs; i++) {
		if (!run->jobs[i].handle)
			continue;
		held = true;
		job_extend(&run->jobs[i]);
	}
	if (!held)
		lease_timer_stop(&run->leases);
}

static void take_urgent(struct run *run)
{
	take_signal(run);
	extend_leases(run);
	job_control_answer(&run->control, run->jobs, run->options.jobs, run->options.output);
}

static bool take_urgent_in_write(void *arg)
{
	struct run *run = arg;

	take_urgent(run);
	return !run->signal;
}

/* Whether --delay, --load and --memfree let a job start now. */
static bool gate_is_open(struct run *run)
{
	bool open;
	int err;

	err = gate_look(&run->gate, monotonic(), &open);
	if (err) {
		stop_for(run, STATUS_FAILED, "cannot read how busy the machine is",
			 strerror(-err));
		return false;
	}
	run->held_back = !open;
	return open;
}

static void start_jobs(struct run *run)
{
	struct job *job;
	int err;

	run->held_back = false;
	for (;;) {
		/* Starting many jobs takes time, and the leases of the others must be
		 * extended meanwhile.
		 */
		take_urgent(run);
		if (run->stopping || run->over ||
		    run->counts.running >= run->options.jobs || !gate_is_open(run))
			return;
		job = free_slot(run);
		err = take_item(run, job);
		switch (err) {
		case 0:
			run->empty_ms = EMPTY_MS_FIRST;
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

/*
 * Blocks the signals that end the run, and reads them from a descriptor. Signals that
 * are ignored stay ignored, as nohup and a shell's & need it.
 */
static int open_signals(struct run *run)
{
	static const int ending[] = { SIGTERM, SIGINT, SIGHUP };
	struct sigaction action;
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < ARRAY_SIZE(ending); i++)
		if (!sigaction(ending[i], NULL, &action) && action.sa_handler != SIG_IGN)
			sigaddset(&set, ending[i]);
	if (sigprocmask(SIG_BLOCK, &set, &run->inherited.mask))
		return -1;

	/* A closed standard output is an error to report, not a reason to die. */
	action = (struct sigaction){ .sa_handler = SIG_IGN };
	if (sigaction(SIGPIPE, &action, &run->inherited.sigpipe))
		return -1;
	/* With SIGCHLD ignored, as inherited from a parent, there would be no exit
	 * statuses.
	 */
	action = (struct sigaction){ .sa_handler = SIG_DFL };
	if (sigaction(SIGCHLD, &action, &run->inherited.sigchld))
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Ends the process by the signal, so that a waiting parent sees the cause. */
static void die_of(const struct run *run)
{
	signal(run->signal, SIG_DFL);
	raise(run->signal);
	sigprocmask(SIG_SETMASK, &run->inherited.mask, NULL);
}

/* ---- The loop ------------------------------------------------------------- */

/*
 * Ends the run if nothing is ready, waiting or processing anywhere. The kernel sends no
 * event when another worker finishes the last item. So kwq run polls while it has nothing
 * else to do, with growing pauses up to a second.
 */
static void check_empty(struct run *run)
{
	struct kwq_stat st = { .size = sizeof(st) };
	int err;

	err = kwq_stat(run->q, &st);
	if (err)
		stop_for(run, STATUS_FAILED, "stat", meaning(err));
	else if (!st.ready && !st.waiting && !st.processing)
		run->over = true;
}

static void draw_progress(struct run *run)
{
	struct kwq_stat st = { .size = sizeof(st) };
	uint64_t now = monotonic();

	if (!progress_due(&run->progress, now))
		return;
	if (!kwq_stat(run->q, &st)) {
		run->counts.ready = st.ready;
		run->counts.waiting = st.waiting;
	}
	progress_draw(&run->progress, &run->counts, now);
}

static bool idle_until_empty(const struct run *run)
{
	return run->options.exit_when_empty && !run->counts.running &&
		!run->stopping && !run->over;
}

/* The lesser of two timeouts. A negative one never comes. */
static int earlier(int a, int b)
{
	if (a < 0 || b < 0)
		return a < 0 ? b : a;
	return a < b ? a : b;
}

/* The timeout of epoll_wait() in milliseconds. */
static int timeout(struct run *run)
{
	int draw = progress_timeout(&run->progress, monotonic());
	int empty = -1, held = -1;

	if (run->held_back)
		held = gate_timeout(&run->gate, monotonic());
	if (idle_until_empty(run)) {
		empty = run->empty_ms;
		run->empty_ms = run->empty_ms * 2 < EMPTY_MS_LAST ?
			run->empty_ms * 2 : EMPTY_MS_LAST;
	}
	return earlier(draw, earlier(empty, held));
}

static void take_event(struct run *run, uint64_t data)
{
	struct job *job = &run->jobs[data & UINT32_MAX];

	switch ((enum source)(data >> 32)) {
	case SOURCE_URGENT:
		take_urgent(run);
		break;
	case SOURCE_QUEUE:
		/* The caller starts jobs after every round of events. */
		break;
	case SOURCE_END:
		if (job->pid)
			end_job(run, job);
		break;
	case SOURCE_OUTPUT:
	case SOURCE_ERRORS:
		/* The job's end may have been among the same events. */
		if (job->pid)
			pump(run, job, data >> 32 == SOURCE_ERRORS);
		break;
	}
}

static void wait_for_events(struct run *run)
{
	struct epoll_event events[EVENTS];
	int i, nr;

	nr = epoll_wait(run->epoll, events, EVENTS, timeout(run));
	if (nr < 0 && errno != EINTR) {
		stop_for(run, STATUS_FAILED, "epoll_wait", strerror(errno));
		return;
	}
	for (i = 0; i < nr && !run->signal; i++)
		take_event(run, events[i].data.u64);
}

static void loop(struct run *run)
{
	for (;;) {
		start_jobs(run);
		if (idle_until_empty(run))
			check_empty(run);
		watch_queue(run);
		draw_progress(run);
		/* Each of these calls may write. The write may block, and a signal may
		 * arrive meanwhile.
		 */
		if (run->signal || (run->halted && run->options.halt.when == HALT_NOW))
			kill_jobs(run);
		if (!run->counts.running && (run->stopping || run->over))
			break;
		wait_for_events(run);
	}
	progress_hide(&run->progress);
}

/* ---- Setting up ----------------------------------------------------------- */

/* Makes room for the descriptors of all jobs. The jobs get the old limit back. */
static void raise_descriptor_limit(struct run *run)
{
	rlim_t need = FDS_BESIDES + (rlim_t)FDS_PER_JOB * run->options.jobs;
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &run->inherited.descriptors);
	limit = run->inherited.descriptors;
	if (limit.rlim_cur >= need)
		return;
	if (limit.rlim_max < need)
		usage("--jobs %u: needs %llu descriptors, the limit is %llu (ulimit -Hn)",
		      run->options.jobs, (unsigned long long)need,
		      (unsigned long long)limit.rlim_max);
	limit.rlim_cur = need;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int allocate_jobs(struct run *run)
{
	unsigned int i;
	int *exec_errors;

	run->jobs = calloc(run->options.jobs, sizeof(*run->jobs));
	/* Shared memory, in which a child reports a failed exec(). */
	exec_errors = mmap(NULL, run->options.jobs * sizeof(int),
			   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!run->jobs || exec_errors == MAP_FAILED)
		return -ENOMEM;
	for (i = 0; i < run->options.jobs; i++) {
		job_init(&run->jobs[i]);
		run->jobs[i].exec_error = &exec_errors[i];
	}
	return 0;
}

static int watch_urgent(struct run *run)
{
	int err;

	err = watch_in(run->urgent, run->signals, SOURCE_URGENT, 0);
	if (!err && run->control.fd >= 0)
		err = watch_in(run->urgent, run->control.fd, SOURCE_URGENT, 0);
	if (!err && run->leases.fd >= 0)
		err = watch_in(run->urgent, run->leases.fd, SOURCE_URGENT, 0);
	return err ? err : watch(run, run->urgent, SOURCE_URGENT, 0);
}

/* Reads the length of the leases, which never changes, and opens their timer. */
static int open_leases(struct run *run)
{
	struct kwq_stat st = { .size = sizeof(st) };
	int err;

	err = kwq_stat(run->q, &st);
	return err ? err : lease_timer_open(&run->leases, st.lease);
}

static int set_up(struct run *run)
{
	int err;

	run->joblog = -1;
	if (run->options.joblog) {
		run->joblog = joblog_open(run->options.joblog);
		if (run->joblog < 0) {
			message("%s: %s", run->options.joblog, strerror(-run->joblog));
			return STATUS_FAILED;
		}
	}
	err = open_own_queue(&run->q, run->options.queue,
			     KWQ_RIGHT_READ | KWQ_RIGHT_WRITE, 0);
	if (err)
		return complain_open(run->options.queue, err);

	if (queue_has_limiters(run->q)) {
		run->end_flags = KWQ_DONE_FORGET;
	} else if (run->options.use_limiters) {
		message("%s: the kernel's kwq is too old to have limiters: use --retry-after",
			run->options.queue);
		return STATUS_FAILED;
	}

	run->has_extras = module_has(KWQ_FEATURE_VALUES | KWQ_FEATURE_GROUPS);
	run->inherited.parent = getpid();
	run->inherited.nice = run->options.nice;
	run->empty_ms = EMPTY_MS_FIRST;
	run->signals = open_signals(run);
	run->epoll = epoll_create1(EPOLL_CLOEXEC);
	run->urgent = epoll_create1(EPOLL_CLOEXEC);
	control_open(&run->control);
	err = allocate_jobs(run);
	if (!err)
		err = open_leases(run);
	if (!err)
		err = watch_urgent(run);
	if (err) {
		message("%s", strerror(-err));
		return STATUS_FAILED;
	}
	write_watch(run->urgent, take_urgent_in_write, run);
	if (!run->options.no_progress && run->options.output != OUTPUT_PASS)
		progress_init(&run->progress, monotonic());
	return STATUS_OK;
}

int work(const struct run_options *options)
{
	static struct run the_run;	/* too large for the stack */
	struct run *run = &the_run;
	int status;

	run->options = *options;
	run->gate.options = options->gate;
	raise_descriptor_limit(run);
	status = set_up(run);
	if (status)
		return status;
	loop(run);
	retry_forget_all(&run->failures);
	control_close(&run->control);
	kwq_close(run->spare);
	kwq_close(run->q);
	if (run->signal)
		die_of(run);
	if (run->status)
		return run->status;
	/* The user wanted so many successes, and has them. */
	if (run->halted && run->options.halt.why == HALT_SUCCESS)
		return STATUS_OK;
	return run->counts.failed || run->counts.dead ? STATUS_FAILED : STATUS_OK;
}

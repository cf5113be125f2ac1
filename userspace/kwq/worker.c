// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The work of kwq run: a command for every item.
 *
 * One thread and one epoll: on the queue while a job more may run, on the signals,
 * on the end of each job, and on their output where it comes line by line. No item
 * is fetched before its job can start.
 *
 * In a queue with leases those of all items that are held are extended in time, also
 * while something waits to be written. Where one is lost nevertheless - we were
 * stopped, or the machine was - the item may be with another worker. A command that
 * went on would work on it beside him, and each moment counts: so it gets SIGKILL at
 * once, not SIGTERM and time to go on with what it does. What it has done counts for
 * nothing here: its output is given up where that is still possible, and its item is
 * neither finished nor added again, which is the new holder's to decide. It is told as
 * a failure, since this worker has failed at it.
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
#include "job.h"
#include "joblog.h"
#include "lease.h"
#include "progress.h"
#include "retry.h"
#include "worker.h"

enum {
	EVENTS = 64,
	/* Descriptors: those of a job, and all others together. */
	FDS_PER_JOB = 4,
	FDS_BESIDES = 32,
	/* How soon, and at last how often, to ask whether the queue is empty. */
	EMPTY_MS_FIRST = 10,
	EMPTY_MS_LAST = 1000,
};

struct run {
	struct run_options options;
	struct kwq *q;		/* to poll and to ask; never holds an item */
	struct kwq *spare;	/* the next job's handle, once it was needed */
	struct job *jobs;	/* options.jobs of them */
	int epoll, signals, joblog;
	int urgent;		/* an epoll: the signals and the leases, which cannot wait */
	struct lease_timer leases;
	bool watching;		/* the queue is in the epoll */
	bool stopping;		/* no item more: a signal, or an error */
	bool warned;		/* the first signal came */
	bool over;		/* shut down and empty, or empty */
	uint32_t end_flags;	/* of the done of an item that is not retried */
	int signal;		/* the second one: jobs are to be killed */
	int status;		/* of an error that ended it */
	int empty_ms;		/* the next wait before asking whether it is empty */
	unsigned long long seq;
	struct progress_counts counts;
	struct progress progress;
	struct retry_table failures;
	struct child_inheritance inherited;
};

/* What an event is about: a kind, and for some the number of a job. */
enum source { SOURCE_URGENT, SOURCE_QUEUE, SOURCE_END, SOURCE_OUTPUT, SOURCE_ERRORS };

static uint64_t monotonic(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* ---- Messages ------------------------------------------------------------- */

/* An error that is no job's: nothing new is started, what runs is waited for. */
static void stop_for(struct run *run, int status, const char *what, const char *why)
{
	progress_hide(&run->progress);
	/* After the second signal things fail because of it. */
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

/* "exit status 3", "killed by signal 9 (Killed)" */
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
 * Closing would not do: a child that was forked meanwhile has a copy until it
 * calls exec(), and the epoll goes by what is open, not by numbers.
 */
static void unwatch(struct run *run, int fd)
{
	epoll_ctl(run->epoll, EPOLL_CTL_DEL, fd, NULL);
}

/* The queue is of interest only while a job more may run. */
static void watch_queue(struct run *run)
{
	bool want = !run->stopping && !run->over &&
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

/* False where some of it, now or before, could not be written. */
static bool write_output(struct run *run, struct job *job)
{
	bool complete = true;
	struct stream *s;
	int i, err;

	for (i = 0; i < 2; i++) {
		s = &job->streams[i];
		/* What failed before was told then. */
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
 * For good: its count of requeues begins again. False where somebody else has
 * finished it, through the inherited descriptor.
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

/* Failed for good; the item is to be finished all the same. */
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
		tell_of(run, job, "%s; attempt %u when the queue's limiters say", why,
			job->attempt + 1);
	else
		tell_of(run, job, "%s; attempt %u in %.3g s", why, job->attempt + 1,
			(double)delay / NS_PER_S);
}

/* Failed for now: add it again, or say why that is not possible. */
static void try_again(struct run *run, struct job *job, const char *why)
{
	uint64_t delay = 0;
	char text[160];
	int err, added;

	err = add_again_and_done(run, job, &delay, &added);
	if (err < 0) {
		/* Not finished, so it goes back when its handle is closed. */
		run->counts.failed++;
		tell_of(run, job, "%s; add again and done: %s", why, meaning(err));
		return;
	}
	if (added < 0) {
		snprintf(text, sizeof(text), "%s; not to be tried again: %s", why,
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
		succeed(run, job);
	} else if (!wants_retry(run, status)) {
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

/* Whether another key might do with the same command. */
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
		return !run->options.key_on_stdin && strstr(run->options.command[0], "{}");
	}
}

/* The command could not be executed. */
static void settle_no_start(struct run *run, struct job *job, int status)
{
	int err = *job->exec_error;
	char why[160];

	if (!is_fault_of_key(run, err)) {
		/* The command is to blame, not the item, which goes back. */
		stop_for(run, err == ENOENT ? STATUS_NO_COMMAND : STATUS_CANNOT_RUN,
			 run->options.command[0], strerror(err));
		return;
	}
	/* It would stop whoever takes it, one after the other. */
	snprintf(why, sizeof(why), "cannot be run: %s", strerror(err));
	fail(run, job, why);
	finish_item(run, job);
	log_job(run, job, status);
}

/*
 * Whether the item is another worker's. Asked once the command has ended: what follows
 * would otherwise be done for an item that is not ours, and an add of it even with
 * effect, since it comes before the done that says so.
 */
static bool is_lost(const struct run *run, struct job *job)
{
	if (run->leases.fd >= 0)
		job_extend(job);
	return job->lost;
}

/* However the command ended, for whoever reads the log it was killed. */
static void settle_lost(struct run *run, struct job *job, int status)
{
	char why[100];

	run->counts.failed++;
	tell_of(run, job, "lease lost; %s", describe(status, why, sizeof(why)));
	log_job(run, job, W_EXITCODE(0, SIGKILL));
}

/*
 * The output first: an item is done when all of it is. If some is missing the item goes
 * back, for somebody who can write it.
 */
static void settle_with_output(struct run *run, struct job *job, int status)
{
	bool complete = write_output(run, job);

	/* That may have taken its time. */
	if (is_lost(run, job)) {
		settle_lost(run, job, status);
		return;
	}
	if (complete)
		settle(run, job, status);
	log_job(run, job, status);
}

static void end_job(struct run *run, struct job *job)
{
	int status;

	unwatch_job(run, job);
	status = job_reap(job);
	if (is_lost(run, job))
		settle_lost(run, job, status);
	else if (*job->exec_error)
		settle_no_start(run, job, status);
	else
		settle_with_output(run, job, status);
	/* Not before: a signal during all that is told what is waited for. */
	run->counts.running--;
	job_free(job);
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
	err = kwq_try_get(run->spare, &job->item, job->key, KWQ_KEY_MAX);
	if (err)
		return err;
	job->key[job->item.key_len] = '\0';
	job->handle = run->spare;
	job->lost = false;
	run->spare = NULL;
	lease_timer_start(&run->leases);
	return 0;
}

/* A key that cannot be an argument is no reason to stop: it fails, alone. */
static void refuse_item(struct run *run, struct job *job)
{
	fail(run, job, "has a NUL and cannot be an argument: see --stdin");
	finish_item(run, job);
	job_free(job);
}

/* Failures before this attempt: the queue counts what it limits, whoever it was. */
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
	job->attempt = failures < UINT_MAX ? failures + 1 : UINT_MAX;
	job->exec_error[0] = 0;
	err = job_start(job, run->options.command, &run->inherited,
			run->options.output, run->options.key_on_stdin);
	if (!err) {
		run->counts.running++;
		err = watch_job(run, job);
		if (!err)
			return;
		unwatch_job(run, job);
		job_kill(job);
		job_reap(job);
		run->counts.running--;
	}
	/* Not the item's fault: its handle closes, and it goes back. */
	stop_for(run, STATUS_FAILED, "cannot start a job", strerror(-err));
	job_free(job);
}

/* ---- Signals -------------------------------------------------------------- */

/* The second signal: the jobs are killed, and their items go back. */
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

/* Comes from a write too, in the midst of anything: the second one is only noted. */
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

/* An item is held until its job is freed, also when its command has ended. */
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
}

static bool take_urgent_in_write(void *arg)
{
	struct run *run = arg;

	take_urgent(run);
	return !run->signal;
}

static void start_jobs(struct run *run)
{
	struct job *job;
	int err;

	for (;;) {
		/* To start many takes its time, and others' leases go on meanwhile. */
		take_urgent(run);
		if (run->stopping || run->over ||
		    run->counts.running >= run->options.jobs)
			return;
		job = free_slot(run);
		err = take_item(run, job);
		switch (err) {
		case 0:
			run->empty_ms = EMPTY_MS_FIRST;
			if (run->options.key_on_stdin || job_key_is_text(job))
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
 * Blocks the signals that end the run, and reads them from a descriptor. Not those
 * that are ignored, as nohup and a shell's & arrange it.
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

	/* A closed standard output is an error to report, not a death. */
	action = (struct sigaction){ .sa_handler = SIG_IGN };
	if (sigaction(SIGPIPE, &action, &run->inherited.sigpipe))
		return -1;
	/* Who ignores this one, as our parent may have, gets no exit statuses. */
	action = (struct sigaction){ .sa_handler = SIG_DFL };
	if (sigaction(SIGCHLD, &action, &run->inherited.sigchld))
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Dies of the signal, so that whoever waits for us knows. */
static void die_of(const struct run *run)
{
	signal(run->signal, SIG_DFL);
	raise(run->signal);
	sigprocmask(SIG_SETMASK, &run->inherited.mask, NULL);
}

/* ---- The loop ------------------------------------------------------------- */

/*
 * Nothing ready, waiting or processing anywhere. The kernel tells nobody when
 * another worker's last item is done, or waits no longer, so this is asked: only
 * while we have nothing to do, ever more rarely, at last once a second.
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

/* How long epoll_wait() may take, in milliseconds. */
static int timeout(struct run *run)
{
	int draw = progress_timeout(&run->progress, monotonic());
	int empty = -1;

	if (idle_until_empty(run)) {
		empty = run->empty_ms;
		run->empty_ms = run->empty_ms * 2 < EMPTY_MS_LAST ?
			run->empty_ms * 2 : EMPTY_MS_LAST;
	}
	if (draw < 0 || empty < 0)
		return draw < 0 ? empty : draw;
	return draw < empty ? draw : empty;
}

static void take_event(struct run *run, uint64_t data)
{
	struct job *job = &run->jobs[data & UINT32_MAX];

	switch ((enum source)(data >> 32)) {
	case SOURCE_URGENT:
		take_urgent(run);
		break;
	case SOURCE_QUEUE:
		/* start_jobs() comes next anyway. */
		break;
	case SOURCE_END:
		if (job->pid)
			end_job(run, job);
		break;
	case SOURCE_OUTPUT:
	case SOURCE_ERRORS:
		/* Unless its end was among the same events. */
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
		/* All of these may stop it, as what they write may wait and be interrupted. */
		if (run->signal)
			kill_jobs(run);
		if (!run->counts.running && (run->stopping || run->over))
			break;
		wait_for_events(run);
	}
	progress_hide(&run->progress);
}

/* ---- Setting up ----------------------------------------------------------- */

/* Makes room for the descriptors of all jobs, which get back what was. */
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
	/* Shared, so that a child can say there why it could not exec(). */
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
	if (!err && run->leases.fd >= 0)
		err = watch_in(run->urgent, run->leases.fd, SOURCE_URGENT, 0);
	return err ? err : watch(run, run->urgent, SOURCE_URGENT, 0);
}

/* How long a lease is was settled when the queue was made. */
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
		message("%s: the kernel's kwq is too old to have limiters: see --retry-after",
			run->options.queue);
		return STATUS_FAILED;
	}

	run->inherited.parent = getpid();
	run->empty_ms = EMPTY_MS_FIRST;
	run->signals = open_signals(run);
	run->epoll = epoll_create1(EPOLL_CLOEXEC);
	run->urgent = epoll_create1(EPOLL_CLOEXEC);
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
	raise_descriptor_limit(run);
	status = set_up(run);
	if (status)
		return status;
	loop(run);
	retry_forget_all(&run->failures);
	kwq_close(run->spare);
	kwq_close(run->q);
	if (run->signal)
		die_of(run);
	if (run->status)
		return run->status;
	return run->counts.failed || run->counts.dead ? STATUS_FAILED : STATUS_OK;
}

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
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "base/read_clock.h"
#include "kwq/job/retry.h"
#include "worker_run.h"

enum {
	EVENTS = 64,
	/* The longest pause before asking whether the queue is empty. */
	EMPTY_MS_LAST = 1000,
};

/*
 * Looks whether nothing is ready, waiting or processing anywhere. Then the run ends with
 * --exit-when-empty, and leaves a queue that was removed. It leaves that one earlier if another one
 * has its name now. The kernel sends no event when another worker finishes the last item, or when
 * the queue is removed. So kwq run polls while it has nothing else to do, with growing pauses up to
 * a second.
 */
static void check_empty(struct run *run)
{
	struct kwq_stat st = { .size = sizeof(st) };
	int err;

	err = kwq_stat(run->q, &st);
	if (err)
		stop_for(run, STATUS_FAILED, "stat", meaning(err));
	else if (st.ready || st.waiting || st.processing)
		leave_for_next_queue(run, &st);
	else if (run->options.exit_when_empty)
		run->over = true;
	else if (st.state & KWQ_STATE_UNLINKED)
		leave_queue(run);
}

static uint64_t count_held(const struct run *run)
{
	uint64_t held = 0;
	unsigned int i;

	for (i = 0; i < run->slots; i++)
		held += run->jobs[i].nr;
	return held;
}

static void draw_progress(struct run *run)
{
	struct kwq_stat st = { .size = sizeof(st) };
	uint64_t now = read_clock(CLOCK_MONOTONIC);

	if (!progress_due(&run->progress, now))
		return;
	if (!run->removed && !kwq_stat(run->q, &st)) {
		run->counts.ready = st.ready;
		run->counts.waiting = st.waiting;
	}
	run->counts.held = count_held(run);
	progress_draw(&run->progress, &run->counts, now);
}

/* Whether there is nothing to do but to look at the queue, or for it, from time to time. */
static bool is_idle(const struct run *run)
{
	return !run->counts.running && !run->stopping && !run->over &&
		(run->options.exit_when_empty || !queue_is_fd(run->options.queue));
}

static void look_around(struct run *run)
{
	if (!run->removed)
		check_empty(run);
	if (run->removed)
		find_queue(run);
}

/*
 * Says why nothing runs, once the worker has been idle for a second: a paused queue would look like
 * one without keys, and the worker like one that hangs. Asks again every second, because a pause
 * may come later.
 */
static void tell_of_idle(struct run *run)
{
	struct kwq_stat st = { .size = sizeof(st) };
	uint64_t now = read_clock(CLOCK_MONOTONIC);
	const char *why;

	if (!run->has_watcher)
		return;
	if (run->counts.running || run->removed || run->stopping || run->over) {
		run->idle_since = 0;
		return;
	}
	if (!run->idle_since)
		run->idle_since = now;
	if (now - run->idle_since < TELL_OF_WAIT_AFTER || kwq_stat(run->q, &st))
		return;
	run->idle_since = now;
	why = what_holds_back(&st);
	if (why && why != run->idle_told) {
		progress_hide(&run->progress);
		message("%s: waiting: %s", run->options.queue, why);
	}
	run->idle_told = why;
}

static int idle_timeout(const struct run *run)
{
	uint64_t now = read_clock(CLOCK_MONOTONIC), due = run->idle_since + TELL_OF_WAIT_AFTER;

	if (!run->idle_since)
		return -1;
	return due > now ? (int)((due - now + NS_PER_MS - 1) / NS_PER_MS) : 0;
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
	int draw = progress_timeout(&run->progress, read_clock(CLOCK_MONOTONIC));
	int empty = -1;

	if (is_idle(run)) {
		empty = run->empty_ms;
		run->empty_ms = run->empty_ms * 2 < EMPTY_MS_LAST ?
			run->empty_ms * 2 : EMPTY_MS_LAST;
	}
	return earlier(earlier(draw, idle_timeout(run)), empty);
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
			pump_output(run, job, data >> 32 == SOURCE_ERRORS);
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
		if (is_idle(run))
			look_around(run);
		watch_queue(run);
		draw_progress(run);
		tell_of_idle(run);
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

int work(const struct run_options *options)
{
	static struct run the_run;	/* too large for the stack */
	struct run *run = &the_run;
	int status;

	run->options = *options;
	run->command_line = *options;
	run->began = read_clock(CLOCK_MONOTONIC);
	status = set_up(run);
	if (status)
		return status;
	service_tell(run, "READY=1");
	loop(run);
	tell_of_untold(run);
	retry_forget_all(&run->failures);
	control_close(&run->control);
	kwq_close(run->spare);
	kwq_close(run->q);
	if (run->signal)
		die_of_signal(run);
	if (run->status)
		return run->status;
	/* As a shell says it of a command that the signal ended. */
	if (run->stopped_by)
		return 128 + run->stopped_by;
	/* The user wanted so many successes, and has them. */
	if (run->halted && run->options.halt.why == HALT_SUCCESS)
		return STATUS_OK;
	return run->counts.failed || run->counts.dead ? STATUS_FAILED : STATUS_OK;
}

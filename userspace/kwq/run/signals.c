// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run: what cannot wait: signals, leases and requests.
 */
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/signal_fd.h"
#include "worker_run.h"

/* The running job that began last, or NULL. */
static struct job *last_running(const struct run *run)
{
	struct job *last = NULL;
	unsigned int i;

	for (i = 0; i < run->slots; i++)
		if (run->jobs[i].pid && (!last || run->jobs[i].seq > last->seq))
			last = &run->jobs[i];
	return last;
}

void kill_jobs(struct run *run)
{
	struct job *job;
	unsigned int i;

	for (i = 0; i < run->slots; i++)
		if (run->jobs[i].pid)
			job_kill(&run->jobs[i]);
	/* Of returned items the last one comes first, so they keep their order. */
	while ((job = last_running(run))) {
		log_job(run, job, job_reap(job));
		give_back_all(run, job);
		job_free(job);
	}
	run->counts.running = 0;
}

/* Handles a signal that does not end the run. Returns false for others. */
static bool is_no_end(struct run *run, int signal)
{
	char why[SETTINGS_WHY];

	if (signal != SIGHUP || !run->options.config)
		return false;
	/* It has already said what is wrong. */
	reload(run, why);
	return true;
}

/* May be called from inside a blocked write, so the second signal is only recorded here. */
static void take_signal(struct run *run)
{
	int signal = signal_fd_take(run->signals);

	if (!signal || is_no_end(run, signal))
		return;
	progress_hide(&run->progress);
	if (!run->stopped_by) {
		run->stopped_by = signal;
		run->stopping = true;
		if (run->counts.running && !run->options.quiet)
			message("%s: %s: waiting for %u running; once more to kill them",
				run->options.queue, strsignal(signal),
				run->counts.running);
		service_tell(run, "STOPPING=1");
		return;
	}
	run->signal = signal;
}

/* An item is held until its job is freed, even after its command has ended. */
static void extend_leases(struct run *run)
{
	bool held = false;
	unsigned int i;

	if (!lease_timer_is_due(&run->leases))
		return;
	for (i = 0; i < run->slots; i++) {
		if (!run->jobs[i].handle)
			continue;
		held = true;
		job_extend(&run->jobs[i]);
	}
	if (!held)
		lease_timer_stop(&run->leases);
}

/* Kills the jobs whose items were revoked, or taken back because a lease or a term has ended. */
static void kill_lost(struct run *run)
{
	struct epoll_event events[16];
	int i, nr;

	/* Any more than these are still there the next time. */
	nr = epoll_wait(run->losses, events, ARRAY_SIZE(events), 0);
	for (i = 0; i < nr; i++)
		job_extend(&run->jobs[events[i].data.u64]);
}

void take_urgent(struct run *run)
{
	take_signal(run);
	kill_lost(run);
	extend_leases(run);
	timeouts_take(&run->timeouts, run->jobs, run->slots);
	service_take(run);
	take_requests(run);
}

bool take_urgent_in_write(void *arg)
{
	struct run *run = arg;

	take_urgent(run);
	return !run->signal;
}

/* Opens a descriptor for the signals that end or change the run. */
int open_signals(struct run *run)
{
	static const int taken[] = { SIGTERM, SIGINT, SIGHUP };
	struct sigaction action;

	/* A closed standard output and a file limit are errors to report, no reasons to die. */
	action = (struct sigaction){ .sa_handler = SIG_IGN };
	if (sigaction(SIGPIPE, &action, &run->inherited.sigpipe) ||
	    sigaction(SIGXFSZ, &action, &run->inherited.sigxfsz))
		return -1;
	/* With SIGCHLD ignored, as inherited from a parent, there would be no exit
	 * statuses.
	 */
	action = (struct sigaction){ .sa_handler = SIG_DFL };
	if (sigaction(SIGCHLD, &action, &run->inherited.sigchld))
		return -1;
	return signal_fd_open(taken, ARRAY_SIZE(taken), &run->inherited.mask);
}

void die_of_signal(const struct run *run)
{
	signal(run->signal, SIG_DFL);
	raise(run->signal);
	sigprocmask(SIG_SETMASK, &run->inherited.mask, NULL);
}

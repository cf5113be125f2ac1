// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run: what it has before its first job.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cmd.h"
#include "joblog.h"
#include "worker_run.h"

enum {
	/* Descriptors per job, and all others together. */
	FDS_PER_JOB = 4,
	FDS_BESIDES = 32,
};

void raise_descriptor_limit(struct run *run)
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

	run->jobs = calloc(run->options.jobs, sizeof(*run->jobs));
	if (!run->jobs)
		return -ENOMEM;
	for (i = 0; i < run->options.jobs; i++)
		job_init(&run->jobs[i]);
	return 0;
}

static int watch_urgent(struct run *run)
{
	int err;

	err = watch_in(run->urgent, run->signals, SOURCE_URGENT, 0);
	if (!err && run->control.fd >= 0)
		err = watch_in(run->urgent, run->control.fd, SOURCE_URGENT, 0);
	if (!err && run->timeouts.fd >= 0)
		err = watch_in(run->urgent, run->timeouts.fd, SOURCE_URGENT, 0);
	return err ? err : watch(run, run->urgent, SOURCE_URGENT, 0);
}

int attach_queue(struct run *run)
{
	struct kwq_stat st = { .size = sizeof(st) };
	int err;

	err = open_own_queue(&run->q, run->options.queue,
			     KWQ_RIGHT_READ | KWQ_RIGHT_WRITE, 0);
	if (err)
		return err;
	/* The length of the leases never changes. */
	err = kwq_stat(run->q, &st);
	if (!err)
		err = lease_timer_open(&run->leases, st.lease);
	if (!err && run->leases.fd >= 0)
		err = watch_in(run->urgent, run->leases.fd, SOURCE_URGENT, 0);
	return err;
}

int set_up(struct run *run)
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
	run->epoll = epoll_create1(EPOLL_CLOEXEC);
	run->urgent = epoll_create1(EPOLL_CLOEXEC);
	err = attach_queue(run);
	if (err)
		return complain_open(run->options.queue, err);

	if (!module_has(KWQ_FEATURE_SETTLE)) {
		message("%s: the kernel's kwq is older than this command and has no return of keys",
			run->options.queue);
		return STATUS_FAILED;
	}

	run->has_extras = module_has(KWQ_FEATURE_VALUES | KWQ_FEATURE_GROUPS);
	run->inherited.parent = getpid();
	run->inherited.nice = run->options.nice;
	run->inherited.null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (run->inherited.null < 0) {
		message("/dev/null: %s", strerror(errno));
		return STATUS_FAILED;
	}
	run->empty_ms = EMPTY_MS_FIRST;
	run->signals = open_signals(run);
	control_open(&run->control);
	err = allocate_jobs(run);
	if (!err)
		err = timeouts_open(&run->timeouts, run->options.timeout,
				    run->options.kill_after);
	if (!err)
		err = watch_urgent(run);
	if (err) {
		message("%s", strerror(-err));
		return STATUS_FAILED;
	}
	write_watch(run->urgent, take_urgent_in_write, run);
	if (!run->options.no_progress && run->options.output != OUTPUT_PASS)
		progress_init(&run->progress, monotonic_now());
	return STATUS_OK;
}

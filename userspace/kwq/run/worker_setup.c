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

#include "base/cmd.h"
#include "kwq/job/joblog.h"
#include "base/read_clock.h"
#include "worker_run.h"

/* The jobs get the old limit back. */
static void make_room(struct run *run)
{
	unsigned int jobs = run->options.jobs;

	getrlimit(RLIMIT_NOFILE, &run->inherited.descriptors);
	if (raise_descriptor_limit(jobs))
		usage("--jobs %u: needs %llu descriptors, the limit is %llu (ulimit -Hn)", jobs,
		      (unsigned long long)descriptors_for(jobs),
		      (unsigned long long)run->inherited.descriptors.rlim_max);
}

/* The identifier in the journal is the name of the command, as for any service. */
static int open_journal(const struct run *run)
{
	const char *name = strrchr(run->options.command[0], '/');
	int err;

	if (run->options.output != OUTPUT_JOURNAL)
		return STATUS_OK;
	err = journal_open(JOURNAL_SOCKET, name ? name + 1 : run->options.command[0],
			   run->options.queue);
	if (!err)
		return STATUS_OK;
	message("--output journal: %s: %s", JOURNAL_SOCKET, strerror(-err));
	return STATUS_FAILED;
}

static int read_settings(struct run *run)
{
	char why[SETTINGS_WHY];

	if (!run->options.config || !settings_read(&run->options, run->options.config, why))
		return STATUS_OK;
	message("--config: %s", why);
	return STATUS_USAGE;
}

static int watch_urgent(struct run *run)
{
	int err;

	err = watch_in(run->urgent, run->losses, SOURCE_URGENT, 0);
	if (!err)
		err = watch_in(run->urgent, run->signals, SOURCE_URGENT, 0);
	if (!err && run->control.fd >= 0)
		err = watch_in(run->urgent, run->control.fd, SOURCE_URGENT, 0);
	if (!err && run->timeouts.fd >= 0)
		err = watch_in(run->urgent, run->timeouts.fd, SOURCE_URGENT, 0);
	if (!err && run->watchdog >= 0)
		err = watch_in(run->urgent, run->watchdog, SOURCE_URGENT, 0);
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

static int open_log(struct run *run)
{
	int err;

	if (!run->options.log)
		return STATUS_OK;
	err = log_folder_open(&run->log, run->options.log, run->options.log_keep,
			      read_clock(CLOCK_REALTIME));
	if (!err)
		return STATUS_OK;
	message("--log %s: %s", run->options.log, strerror(-err));
	return STATUS_FAILED;
}

int set_up(struct run *run)
{
	int err;

	err = read_settings(run);
	if (!err)
		err = open_journal(run);
	if (err)
		return err;
	make_room(run);
	run->room = -1;
	err = open_log(run);
	if (err)
		return err;
	run->epoll = epoll_create1(EPOLL_CLOEXEC);
	run->urgent = epoll_create1(EPOLL_CLOEXEC);
	run->losses = epoll_create1(EPOLL_CLOEXEC);
	err = attach_queue(run);
	if (err)
		return complain_open(run->options.queue, err);

	if (!module_has(KWQ_FEATURE_SETTLE)) {
		message("%s: the kernel's kwq is older than this command and has no return of keys",
			run->options.queue);
		return STATUS_FAILED;
	}

	run->has_extras = !run->options.many &&
		module_has(KWQ_FEATURE_VALUES | KWQ_FEATURE_GROUPS);
	run->inherited.parent = getpid();
	run->inherited.null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (run->inherited.null < 0) {
		message("/dev/null: %s", strerror(errno));
		return STATUS_FAILED;
	}
	run->empty_ms = EMPTY_MS_FIRST;
	run->signals = open_signals(run);
	control_open(&run->control);
	err = reserve_slots(run);
	if (!err)
		err = service_open(run);
	if (!err && run->options.output == OUTPUT_GROUP) {
		run->room = output_open_room();
		err = run->room < 0 ? run->room : 0;
	}
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
	run->has_watcher = !run->options.quiet && has_watcher();
	if (!run->options.no_progress && run->options.output != OUTPUT_PASS)
		progress_init(&run->progress, read_clock(CLOCK_MONOTONIC));
	return STATUS_OK;
}

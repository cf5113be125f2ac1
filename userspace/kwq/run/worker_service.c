// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run: what the service manager is told (U7).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "base/notify.h"
#include "worker_run.h"

int service_open(struct run *run)
{
	uint64_t period = notify_watchdog() * NS_PER_US / 2;
	const struct timespec time = { period / NS_PER_S, period % NS_PER_S };
	const struct itimerspec spec = { .it_interval = time, .it_value = time };

	run->watchdog = -1;
	if (!period)
		return 0;
	run->watchdog = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (run->watchdog < 0 || timerfd_settime(run->watchdog, 0, &spec, NULL))
		return -errno;
	return 0;
}

void service_tell(struct run *run, const char *state)
{
	const struct progress_counts *counts = &run->counts;
	char text[300];
	int ret;

	snprintf(text, sizeof(text),
		 "%s\nSTATUS=%s%u of %u jobs run; %llu done, %llu retried, %llu dead, %llu failed",
		 state ? state : "", run->stopping ? "Stopping: " : "", counts->running,
		 run->options.jobs, counts->done, counts->retried, counts->dead, counts->failed);
	ret = notify_send(text);
	/* Later ones are repeated, and a service without them ends visibly. */
	if (ret < 0 && state && !strcmp(state, "READY=1"))
		message("NOTIFY_SOCKET: %s", strerror(-ret));
}

void service_reloading(void)
{
	notify_reloading();
}

void service_take(struct run *run)
{
	uint64_t times;

	if (run->watchdog >= 0 && read(run->watchdog, &times, sizeof(times)) == sizeof(times))
		service_tell(run, "WATCHDOG=1");
}

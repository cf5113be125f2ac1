// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "daemon.h"

#include <signal.h>

#include "cmd.h"
#include "duration.h"
#include "notify.h"
#include "read_clock.h"
#include "signal_fd.h"

int daemon_begin(struct daemon *daemon, clockid_t clock)
{
	static const int ending[] = { SIGHUP, SIGINT, SIGTERM };

	*daemon = (struct daemon){
		.signals = signal_fd_open(ending, ARRAY_SIZE(ending), NULL),
		.clock = clock,
		.watchdog = notify_watchdog() * NS_PER_US / 2,
	};
	return daemon->signals < 0 ? daemon->signals : 0;
}

uint64_t daemon_now(const struct daemon *daemon)
{
	return read_clock(daemon->clock);
}

bool daemon_wait(const struct daemon *daemon, struct pollfd *fds, nfds_t nr, uint64_t until)
{
	uint64_t now = daemon_now(daemon), ns;
	struct timespec timeout;

	if (daemon->watchdog && until > daemon->told_at + daemon->watchdog)
		until = daemon->told_at + daemon->watchdog;
	ns = until > now ? until - now : 0;
	timeout = (struct timespec){ .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };
	fds[0] = (struct pollfd){ .fd = daemon->signals, .events = POLLIN };
	ppoll(fds, nr, until == UINT64_MAX ? NULL : &timeout, NULL);
	return fds[0].revents;
}

bool daemon_take_signal(const struct daemon *daemon)
{
	return signal_fd_take(daemon->signals);
}

void daemon_alive(struct daemon *daemon)
{
	uint64_t now = daemon_now(daemon);

	if (!daemon->watchdog || now < daemon->told_at + daemon->watchdog)
		return;
	notify_send("WATCHDOG=1");
	daemon->told_at = now;
}

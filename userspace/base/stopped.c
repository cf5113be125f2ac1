// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "stopped.h"

#include <errno.h>
#include <poll.h>

#include "cmd.h"

atomic_bool stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = true;
}

void catch_stop(sigset_t *caught)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
	/* Without SA_RESTART. */
	struct sigaction action = { .sa_handler = stop }, old;
	size_t i;

	sigemptyset(caught);
	for (i = 0; i < ARRAY_SIZE(ending); i++) {
		if (sigaction(ending[i], NULL, &old) || old.sa_handler == SIG_IGN)
			continue;
		sigaction(ending[i], &action, NULL);
		sigaddset(caught, ending[i]);
	}
}

int await_unless_stopped(int fd, const sigset_t *caught, const struct timespec *timeout)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	sigset_t before;
	int err = 0;

	sigprocmask(SIG_BLOCK, caught, &before);
	if (!stopped && ppoll(&p, 1, timeout, &before) < 0 && errno != EINTR)
		err = -errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "signal_fd.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <unistd.h>

static bool is_ignored(int signal)
{
	struct sigaction action;

	return sigaction(signal, NULL, &action) || action.sa_handler == SIG_IGN;
}

int signal_fd_open(const int *wanted, size_t nr, sigset_t *before)
{
	sigset_t set;
	size_t i;
	int fd;

	sigemptyset(&set);
	for (i = 0; i < nr; i++)
		if (!is_ignored(wanted[i]))
			sigaddset(&set, wanted[i]);
	if (sigprocmask(SIG_BLOCK, &set, before))
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int signal_fd_take(int fd)
{
	struct signalfd_siginfo info;

	return read(fd, &info, sizeof(info)) == sizeof(info) ? (int)info.ssi_signo : 0;
}

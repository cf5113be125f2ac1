// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Signals that commands wait for. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/daemon.h"
#include "base/signal_fd.h"
#include "base/stopped.h"
#include "tap.h"

#define NS_PER_S UINT64_C(1000000000)

static void test_fd(void)
{
	static const int wanted[] = { SIGUSR1, SIGUSR2 };
	sigset_t before, now;
	int fd;

	signal(SIGUSR2, SIG_IGN);
	fd = signal_fd_open(wanted, 2, &before);
	ok(fd >= 0, "a descriptor for signals");
	ok(!sigismember(&before, SIGUSR1), "it tells what was blocked before");
	sigprocmask(SIG_BLOCK, NULL, &now);
	ok(sigismember(&now, SIGUSR1), "a signal is blocked");
	ok(!sigismember(&now, SIGUSR2), "one that is ignored is not");
	is_number(fcntl(fd, F_GETFD), FD_CLOEXEC, "no program inherits the descriptor");
	is_number(signal_fd_take(fd), 0, "there is no signal yet");
	raise(SIGUSR2);
	is_number(signal_fd_take(fd), 0, "an ignored one stays ignored");
	raise(SIGUSR1);
	is_number(signal_fd_take(fd), SIGUSR1, "the other one is read");
	is_number(signal_fd_take(fd), 0, "once");
	close(fd);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void test_daemon(void)
{
	struct pollfd fds[2] = { 0 };
	struct daemon daemon;
	int pipe_ends[2];
	uint64_t begun;

	if (pipe(pipe_ends) < 0 || daemon_begin(&daemon, CLOCK_MONOTONIC))
		exit(2);
	fds[1] = (struct pollfd){ .fd = pipe_ends[0], .events = POLLIN };
	is_number(daemon.watchdog, 0, "without a service manager there is no watchdog");
	ok(!daemon_wait(&daemon, fds, 2, 0), "a time that is over ends the wait");
	ok(!daemon_take_signal(&daemon), "without a signal");
	if (write(pipe_ends[1], "x", 1) != 1)
		exit(2);
	ok(!daemon_wait(&daemon, fds, 2, UINT64_MAX), "an event ends the wait");
	is_number(fds[1].revents, POLLIN, "and is told");
	raise(SIGTERM);
	ok(daemon_wait(&daemon, fds, 1, UINT64_MAX), "a signal ends the wait");
	ok(daemon_wait(&daemon, fds, 1, UINT64_MAX), "also the next one, until it is taken");
	ok(daemon_take_signal(&daemon), "it is taken");
	ok(!daemon_take_signal(&daemon), "once");
	ok(!daemon_wait(&daemon, fds, 1, 0), "and then does not end a wait any more");
	begun = daemon_now(&daemon);
	daemon.watchdog = 1;
	daemon.told_at = begun;
	ok(!daemon_wait(&daemon, fds, 1, begun + 3600 * NS_PER_S), "the watchdog ends the wait");
	daemon_alive(&daemon);
	ok(daemon.told_at > begun, "and is told then");
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

static void test_stopped(void)
{
	int pipe_ends[2];
	sigset_t caught;

	if (pipe(pipe_ends) < 0)
		exit(2);
	signal(SIGHUP, SIG_IGN);
	sigprocmask(SIG_SETMASK, &(sigset_t){ 0 }, NULL);
	catch_stop(&caught);
	ok(!sigismember(&caught, SIGHUP) && sigismember(&caught, SIGINT),
	   "signals that are ignored stay ignored");
	raise(SIGHUP);
	ok(!stopped, "also if they come");
	raise(SIGINT);
	ok(stopped, "another one stops the command");
	is_number(await_unless_stopped(pipe_ends[0], &caught, NULL), 0,
		  "also if it came before the wait");
	stopped = false;
	if (write(pipe_ends[1], "x", 1) != 1)
		exit(2);
	is_number(await_unless_stopped(pipe_ends[0], &caught, NULL), 0, "an event ends the wait");
	ok(!stopped, "and stops nothing");
}

int main(void)
{
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	test_fd();
	test_daemon();
	test_stopped();
	return done_testing();
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * within SECONDS COMMAND...: runs the command, and ends it after that time, by a clock
 * that runs as fast as this machine works (pace.h). 0 means no limit.
 *
 * The exit status is as of timeout(1): the command's status, 128 + N if signal N ended
 * it, or 124 at the limit. The command gets TERM first and KILL 5 s later, and stays in
 * the terminal's foreground. Signals to this program are passed on to the command.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pace.h"

/* The time on an idle processor of 2.9 GHz: four cycles per step. */
#define STEPS	10000000UL
#define OUGHT	0.014

#define GRACE_SECONDS	5

static pid_t pid;
static sigset_t awaited;

static void fail(const char *what)
{
	perror(what);
	exit(125);
}

/* Waits for up to a second. Returns true once the command has ended. */
static bool has_ended(int *status)
{
	struct timespec second = { .tv_sec = 1 };
	int signal = sigtimedwait(&awaited, NULL, &second);

	if (signal > 0 && signal != SIGCHLD)
		kill(pid, signal);
	return waitpid(pid, status, WNOHANG) == pid;
}

/* Returns true if the command ended by itself. */
static bool wait_for(double limit, int *status)
{
	struct pace pace = {};

	while (!has_ended(status)) {
		pace_go_on(&pace, CLOCK_MONOTONIC, STEPS, OUGHT);
		if (limit && pace.time > limit) {
			fprintf(stderr,
				"within: not done after %.0f s of work (the pace is %.2f)\n",
				pace.time, pace.speed);
			return false;
		}
	}
	return true;
}

static void end_it(int *status)
{
	double until = pace_seconds(CLOCK_MONOTONIC) + GRACE_SECONDS;

	kill(pid, SIGTERM);
	while (pace_seconds(CLOCK_MONOTONIC) < until)
		if (has_ended(status))
			return;
	kill(pid, SIGKILL);
	waitpid(pid, status, 0);
}

int main(int argc, char **argv)
{
	static const int passed_on[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
	sigset_t before;
	double limit;
	int status;
	char *end;

	limit = argc > 2 ? strtod(argv[1], &end) : -1;
	if (argc < 3 || *end || !(limit >= 0)) {
		fprintf(stderr, "usage: within SECONDS COMMAND...\n");
		return 125;
	}
	sigemptyset(&awaited);
	sigaddset(&awaited, SIGCHLD);
	for (unsigned int i = 0; i < sizeof(passed_on) / sizeof(*passed_on); i++)
		sigaddset(&awaited, passed_on[i]);
	if (sigprocmask(SIG_BLOCK, &awaited, &before))
		fail("sigprocmask");
	/* SIGCHLD might be ignored by the caller; then it would never arrive. */
	signal(SIGCHLD, SIG_DFL);
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (!pid) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		execvp(argv[2], argv + 2);
		fprintf(stderr, "within: %s: %m\n", argv[2]);
		_exit(errno == ENOENT ? 127 : 126);
	}
	if (!wait_for(limit, &status)) {
		end_it(&status);
		return 124;
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A key must never run twice at once, also not when kwq run is killed: its items
 * would come back at once, and another worker would start a key whose job is
 * still running, an orphan. Two things prevent that.
 *
 * - The guarantee: the job inherits the handle that holds its item, and so do
 *   its own children. The handle is gone, and the item back, only when the last
 *   of them has ended; or, where there are leases, when that is over, since nobody
 *   extends it then. (One that closes all descriptors gives up that part.)
 * - The promptness: the job is killed when kwq run dies (PR_SET_PDEATHSIG), so
 *   that in most cases "the last of them" is soon. What the job has started is
 *   not killed by that, and a set-user-id program forgets the wish; for them the
 *   first point alone holds, and the item comes back when they are done.
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

/*
 * The highest descriptor for the handle, where the job may have that many. Not as
 * many as it may: each fork() copies the table up to the highest one.
 */
enum { QUEUE_FD_MAX = 4095 };

/* The job dies with its parent; and at once if the parent was faster. */
static void die_with_parent(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		raise(SIGKILL);
}

/* Makes @fd the descriptor @as, to be inherited; the original closes at exec(). */
static int redirect(int fd, int as)
{
	if (fd < 0)
		return 0;
	return dup2(fd, as) < 0 ? -1 : 0;
}

static int redirect_input(int fd)
{
	int null, err;

	if (fd >= 0)
		return redirect(fd, STDIN_FILENO);
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0)
		return -1;
	err = redirect(null, STDIN_FILENO);
	close(null);
	return err;
}

/* Whether nothing that the job inherits is there. */
static bool is_free_for_job(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	return flags < 0 || flags & FD_CLOEXEC;
}

/*
 * The highest descriptor that the job may have. Scripts count from below, and
 * choose such as 9 or 200 for a lock: what they open must not replace this one.
 */
static int inherit_queue(int fd, rlim_t limit)
{
	int as = limit > QUEUE_FD_MAX ? QUEUE_FD_MAX : (int)limit - 1;

	for (; as > STDERR_FILENO && as != fd; as--)
		if (is_free_for_job(as) && dup2(fd, as) == as)
			return 0;
	/* It stays where it is. */
	return fcntl(fd, F_SETFD, 0);
}

static int set_number(const char *name, unsigned long long n)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", n);
	return setenv(name, text, 1);
}

static int set_environment(const struct child *child)
{
	if (child->key ? setenv("KWQ_KEY", child->key, 1) : unsetenv("KWQ_KEY"))
		return -1;
	/* That of a kwq open around us is not the job's. */
	if (unsetenv("KWQ_FD"))
		return -1;
	return set_number("KWQ_ATTEMPT", child->attempt) ||
	       set_number("KWQ_ABANDONED", child->abandoned) ||
	       set_number("KWQ_TICKET", child->ticket) ? -1 : 0;
}

static int restore(const struct child_inheritance *was)
{
	if (setrlimit(RLIMIT_NOFILE, &was->descriptors))
		return -1;
	if (sigaction(SIGPIPE, &was->sigpipe, NULL) ||
	    sigaction(SIGCHLD, &was->sigchld, NULL))
		return -1;
	return sigprocmask(SIG_SETMASK, &was->mask, NULL);
}

void child_exec(const struct child *child)
{
	/* A process group of its own, so that it can be killed with its children. */
	setpgid(0, 0);
	die_with_parent(child->inherited->parent);

	if (!redirect_input(child->input) &&
	    !redirect(child->output[0], STDOUT_FILENO) &&
	    !redirect(child->output[1], STDERR_FILENO) &&
	    !inherit_queue(child->queue, child->inherited->descriptors.rlim_cur) &&
	    !set_environment(child) &&
	    !restore(child->inherited))
		execvp(child->argv[0], child->argv);

	*child->exec_error = errno;
	_exit(127);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A key must never run twice at once, even if kwq run is killed. Otherwise its items
 * would come back at once, and another worker would start a key whose orphaned job is
 * still running. Two mechanisms prevent that.
 *
 * - The guarantee: the job and all its children inherit the handle that holds the item.
 *   The item comes back when the last of them has ended, because only then the handle
 *   is closed. In a queue with leases it comes back when the lease expires, because
 *   nobody extends the lease any more. (A job that closes all its descriptors gives up
 *   the guarantee.)
 *
 * - The speed-up: the job is killed when kwq run dies (PR_SET_PDEATHSIG), so the last
 *   holder usually ends soon. The signal does not reach children of the job, and a
 *   set-user-id program clears the setting. For those only the guarantee holds: the
 *   item comes back when they end.
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <unistd.h>

/*
 * The highest descriptor number for the inherited handle. A job's own limit may be
 * higher, but each fork() copies the descriptor table up to the highest open number. bash
 * takes 255 for its scripts.
 */
enum { QUEUE_FD_MAX = 254 };

/* Kills the job when its parent dies, also if the parent died before the prctl(). */
static void die_with_parent(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		kill(getpid(), SIGKILL);
}

/* Makes @as a copy of @fd that survives exec(). The original closes at exec(). */
static int redirect(int fd, int as)
{
	if (fd < 0)
		return 0;
	return dup2(fd, as) < 0 ? -1 : 0;
}

/* Whether @fd is closed, or open but not inherited by the job. */
static bool is_free_for_job(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	return flags < 0 || flags & FD_CLOEXEC;
}

/*
 * Moves the handle to the highest descriptor that the job may have. Scripts use low
 * numbers, such as 9 or 200 for a lock, and must not replace the handle by accident.
 */
static int inherit_queue(int fd, rlim_t limit)
{
	int as = limit > QUEUE_FD_MAX ? QUEUE_FD_MAX : (int)limit - 1;

	for (; as > STDERR_FILENO && as != fd; as--)
		if (is_free_for_job(as) && dup2(fd, as) == as)
			return 0;
	/* The descriptor stays where it is. */
	return fcntl(fd, F_SETFD, 0);
}

static int restore(const struct child_inheritance *was)
{
	if (setrlimit(RLIMIT_NOFILE, &was->descriptors))
		return -1;
	if (sigaction(SIGPIPE, &was->sigpipe, NULL) ||
	    sigaction(SIGCHLD, &was->sigchld, NULL) ||
	    sigaction(SIGXFSZ, &was->sigxfsz, NULL))
		return -1;
	return sigprocmask(SIG_SETMASK, &was->mask, NULL);
}

void child_exec(const struct child *child)
{
	/* A process group of its own allows killing the job with its children. */
	setpgid(0, 0);
	die_with_parent(child->inherited->parent);

	if (!redirect(child->input < 0 ? child->inherited->null : child->input, STDIN_FILENO) &&
	    !redirect(child->output[0], STDOUT_FILENO) &&
	    !redirect(child->output[1], STDERR_FILENO) &&
	    !inherit_queue(child->queue, child->inherited->descriptors.rlim_cur) &&
	    !restore(child->inherited))
		execvpe(child->argv[0], child->argv, child->environment);

	*child->exec_error = errno;
	_exit(127);
}

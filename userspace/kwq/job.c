// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "duration.h"
#include "template.h"

static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

void job_init(struct job *job)
{
	*job = (struct job){
		.pidfd = -1,
		.streams = {
			{ .fd = -1, .child_fd = -1 },
			{ .fd = -1, .child_fd = -1 },
		},
	};
}

bool job_key_is_text(const struct job *job)
{
	return !memchr(job->key, '\0', job->item.key_len);
}

/*
 * Makes a pipe that contains the key. A key never exceeds a page, which fits into every
 * pipe, so the write does not block.
 */
static int open_key(const struct job *job)
{
	int ends[2], err = 0;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	if (write(ends[1], job->key, job->item.key_len) != (ssize_t)job->item.key_len)
		err = errno ? -errno : -EIO;
	close(ends[1]);
	if (!err)
		return ends[0];
	close(ends[0]);
	return err;
}

static int open_streams(struct job *job, enum output_mode mode)
{
	int err;

	err = stream_open(&job->streams[0], mode, STDOUT_FILENO);
	if (!err)
		err = stream_open(&job->streams[1], mode, STDERR_FILENO);
	return err;
}

static int spawn(struct job *job, const struct child *child)
{
	pid_t pid;
	int err;

	*job->exec_error = 0;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid)
		child_exec(child);

	/* Both parent and child call setpgid(): the group exists from the earlier call
	 * on.
	 */
	setpgid(pid, pid);
	job->pid = pid;
	job->pidfd = syscall(SYS_pidfd_open, pid, 0);
	if (job->pidfd >= 0)
		return 0;

	/* Without a pidfd nobody would notice the end of the job. */
	err = -errno;
	job_kill(job);
	job_reap(job);
	return err;
}

int job_start(struct job *job, char **command, const struct child_inheritance *inherited,
	      enum output_mode mode, bool key_on_stdin)
{
	struct child child = {
		.inherited = inherited,
		.argv = command,
		.input = -1,
		.queue = kwq_fd(job->handle),
		.key = job_key_is_text(job) ? job->key : NULL,
		.attempt = job->attempt,
		.abandoned = job->item.abandoned,
		.ticket = job->item.ticket,
		.exec_error = job->exec_error,
	};
	int err;

	job->pidfd = -1;
	err = open_streams(job, mode);
	if (err)
		return err;
	child.output[0] = job->streams[0].child_fd;
	child.output[1] = job->streams[1].child_fd;

	if (key_on_stdin) {
		child.input = open_key(job);
		if (child.input < 0)
			return child.input;
	} else {
		child.argv = template_fill(command, job->key);
		if (!child.argv)
			return -ENOMEM;
	}

	job->started_real = now(CLOCK_REALTIME);
	job->started = now(CLOCK_MONOTONIC);
	err = spawn(job, &child);
	if (key_on_stdin)
		close(child.input);
	else
		free(child.argv);
	stream_started(&job->streams[0]);
	stream_started(&job->streams[1]);
	return err;
}

int job_reap(struct job *job)
{
	int status = W_EXITCODE(255, 0);	/* a failed wait must not look like success */

	/* The process has ended, or is about to: its pidfd was readable, or it was
	 * killed.
	 */
	while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR)
		;
	job->runtime = now(CLOCK_MONOTONIC) - job->started;
	job->pid = 0;
	return status;
}

void job_kill(const struct job *job)
{
	kill(-job->pid, SIGKILL);
	/* The process may have left its group. Its pid is still valid, because it is
	 * not reaped yet.
	 */
	kill(job->pid, SIGKILL);
}

void job_extend(struct job *job)
{
	/* Any error but -ESTALE may pass: the lease leaves time for another attempt. */
	if (!job->lost && kwq_extend(job->handle, job->item.ticket) != -ESTALE)
		return;
	job->lost = true;
	if (job->pid)
		job_kill(job);
}

void job_free(struct job *job)
{
	stream_close(&job->streams[0]);
	stream_close(&job->streams[1]);
	if (job->pidfd >= 0)
		close(job->pidfd);
	job->pidfd = -1;
	kwq_close(job->handle);
	job->handle = NULL;
	job->pid = 0;
}

static int add_and_done(struct job *job, uint32_t flags, uint64_t time, int *added)
{
	struct kwq_add_entry add = {
		.key_len = job->item.key_len,
		.flags = flags,
		.time = time,
	};
	struct kwq_done_entry done = { .ticket = job->item.ticket };
	__s32 add_result = -EIO, done_result = -EIO;
	struct kwq_get_args req = {
		.size = sizeof(req),
		.add = {
			.entries = kwq_ptr(&add),
			.keys = kwq_ptr(job->key),
			.results = kwq_ptr(&add_result),
			.keys_len = job->item.key_len,
			.nr = 1,
			.entry_size = sizeof(add),
		},
		.done = {
			.entries = kwq_ptr(&done),
			.results = kwq_ptr(&done_result),
			.nr = 1,
			.entry_size = sizeof(done),
		},
	};
	int err;

	err = kwq_get_batch(job->handle, &req);
	*added = add_result;
	return err < 0 ? err : done_result;
}

int job_add_again_and_done(struct job *job, uint64_t delay, int *added)
{
	return add_and_done(job, KWQ_ADD_AFTER, delay, added);
}

int job_add_rate_limited_and_done(struct job *job, int *added)
{
	return add_and_done(job, KWQ_ADD_RATE_LIMITED, 0, added);
}

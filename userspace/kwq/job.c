// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "duration.h"
#include "environment.h"
#include "job_control.h"
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
			{ .fd = -1, .child_fd = -1, .copy = -1 },
			{ .fd = -1, .child_fd = -1, .copy = -1 },
		},
	};
}

int job_fetch(struct job *job, struct kwq *handle, bool extras)
{
	/* The last byte is for the NUL behind the value. */
	static char bytes[KWQ_KEY_MAX + KWQ_GROUP_MAX + KWQ_VALUE_MAX + 1];
	struct kwq_got_extra extra = { 0 };
	struct kwq_got got;
	struct kwq_get_args req = {
		.size = sizeof(req),
		.flags = KWQ_GET_NONBLOCK,
		.get = {
			.entries = kwq_ptr(&got),
			.keys = kwq_ptr(bytes),
			.extras = extras ? kwq_ptr(&extra) : 0,
			.keys_len = sizeof(bytes) - 1,
			.nr = 1,
			.entry_size = sizeof(got),
			.extra_size = extras ? sizeof(extra) : 0,
		},
	};
	char *value;
	int ret;

	ret = kwq_get_batch(handle, &req);
	if (ret < 0)
		return ret;
	job->item = (struct kwq_item){
		.ticket = got.ticket,
		.key_len = got.key_len,
		.priority = got.priority,
		.abandoned = got.abandoned,
		.requeues = got.requeues,
	};
	memcpy(job->key, bytes, got.key_len);
	job->key[got.key_len] = '\0';
	memcpy(job->group, bytes + got.key_len, extra.group_len);
	job->group[extra.group_len] = '\0';
	job->group_len = extra.group_len;
	value = bytes + got.key_len + extra.group_len;
	value[extra.value_len] = '\0';
	job->value = value;
	job->value_len = extra.value_len;
	return 0;
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

/* A value may be longer than a pipe, so it is in a file. */
static int open_value(const struct job *job)
{
	int fd = memfd_create("kwq-value", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (pwrite(fd, job->value, job->value_len, 0) == (ssize_t)job->value_len)
		return fd;
	close(fd);
	return -ENOMEM;
}

/* For an environment variable, which cannot hold a NUL. */
static const char *text_or_null(const char *bytes, size_t len)
{
	return len && !memchr(bytes, '\0', len) ? bytes : NULL;
}

static int open_input(const struct job *job, enum job_input input)
{
	switch (input) {
	case INPUT_KEY:
		return open_key(job);
	case INPUT_VALUE:
		return open_value(job);
	default:
		return -1;
	}
}

struct journal_job job_journal(const struct job *job)
{
	return (struct journal_job){
		.key = job->key,
		.key_len = job->item.key_len,
		.attempt = job->attempt,
	};
}

static int open_streams(struct job *job, enum output_mode mode)
{
	int err, i;

	err = stream_open(&job->streams[0], mode, STDOUT_FILENO);
	if (!err)
		err = stream_open(&job->streams[1], mode, STDERR_FILENO);
	for (i = 0; i < 2; i++) {
		job->streams[i].journal = job_journal(job);
		job->streams[i].journal.stream = i ? "stderr" : "stdout";
	}
	return err;
}

static int spawn(struct job *job, const struct child *child)
{
	pid_t pid;
	int err;

	job->exec_error = 0;
	/* A fork() would copy the page tables first. */
	pid = vfork();
	if (pid < 0)
		return -errno;
	if (!pid)
		child_exec(child);

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

char **job_command(const struct job *job, char **command, enum job_input input)
{
	struct template_values values = {
		.key = job->key,
		.seq = job->seq,
		.slot = job->slot,
	};

	return input == INPUT_KEY ? command : template_fill(command, &values);
}

int job_start(struct job *job, char **command, const struct child_inheritance *inherited,
	      enum output_mode mode, enum job_input input)
{
	struct child child = {
		.inherited = inherited,
		.argv = command,
		.input = -1,
		.queue = kwq_fd(job->handle),
		.key = job_key_is_text(job) ? job->key : NULL,
		.group = text_or_null(job->group, job->group_len),
		.value = text_or_null(job->value, job->value_len),
		.attempt = job->attempt,
		.abandoned = job->item.abandoned,
		.ticket = job->item.ticket,
		.exec_error = &job->exec_error,
	};
	int err;

	job->pidfd = -1;
	err = open_streams(job, mode);
	if (err)
		return err;
	child.output[0] = job->streams[0].child_fd;
	child.output[1] = job->streams[1].child_fd;

	child.argv = job_command(job, command, input);
	if (!child.argv)
		return -ENOMEM;
	child.environment = environment_make(&child);
	if (!child.environment) {
		err = -ENOMEM;
		goto out;
	}
	child.input = open_input(job, input);
	if (child.input < 0 && input != INPUT_NOTHING) {
		err = child.input;
		goto out;
	}

	job->started_real = now(CLOCK_REALTIME);
	job->started = now(CLOCK_MONOTONIC);
	err = spawn(job, &child);
	if (child.input >= 0)
		close(child.input);
	stream_started(&job->streams[0]);
	stream_started(&job->streams[1]);
out:
	free(child.environment);
	if (child.argv != command)
		free(child.argv);
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

int job_signal(const struct job *job, int signal)
{
	/* A job that has left its group is in another one. */
	return kill(-job->pid, signal) && kill(job->pid, signal) ? -errno : 0;
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
	job_control_end(job);
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

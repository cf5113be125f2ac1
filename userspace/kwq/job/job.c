// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/duration.h"
#include "environment.h"
#include "base/escape.h"
#include "job_control.h"
#include "base/read_clock.h"
#include "template.h"

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

enum { BYTES_OF_EXTRAS = KWQ_GROUP_MAX + KWQ_VALUE_MAX };

/* Where items are fetched to. */
struct fetched {
	char *bytes;		/* room for @room keys, a group and a value, and two NULs */
	struct kwq_got *got;
	unsigned int room;
};

static bool reserve_fetched(struct fetched *f, unsigned int max)
{
	void *bytes, *got;

	if (f->room >= max)
		return true;
	bytes = malloc((size_t)max * KWQ_KEY_MAX + BYTES_OF_EXTRAS + 2);
	got = calloc(max, sizeof(*f->got));
	if (!bytes || !got) {
		free(bytes);
		free(got);
		return false;
	}
	free(f->bytes);
	free(f->got);
	*f = (struct fetched){ .bytes = bytes, .got = got, .room = max };
	return true;
}

static bool reserve_items(struct job *job, unsigned int nr, size_t bytes)
{
	struct job_item *items;

	if (job->room < nr) {
		items = realloc(job->items, nr * sizeof(*items));
		if (!items)
			return false;
		job->items = items;
		job->room = nr;
	}
	job->keys = malloc(bytes + nr);
	return job->keys;
}

/* Returns the bytes of all keys. */
static size_t bytes_of_keys(const struct fetched *f, unsigned int nr)
{
	size_t bytes = 0;
	unsigned int i;

	for (i = 0; i < nr; i++)
		bytes += f->got[i].key_len;
	return bytes;
}

static void take_items(struct job *job, const struct fetched *f, unsigned int nr)
{
	const char *from = f->bytes;
	char *to = job->keys;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		const struct kwq_got *got = &f->got[i];

		job->items[i] = (struct job_item){
			.job = job,
			.item = {
				.ticket = got->ticket,
				.key_len = got->key_len,
				.priority = got->priority,
				.abandoned = got->abandoned,
				.requeues = got->requeues,
			},
			.outcome = JOBLOG_LOST,
			.key = to,
		};
		memcpy(to, from, got->key_len);
		from += got->key_len;
		to += got->key_len;
		*to++ = '\0';
	}
	job->nr = nr;
}

/* Ends each of the two with a NUL. */
static void take_extra(struct job *job, char *group, const struct kwq_got_extra *extra)
{
	char *value = group + extra->group_len + 1;

	memmove(value, value - 1, extra->value_len);
	group[extra->group_len] = '\0';
	value[extra->value_len] = '\0';
	job->group = group;
	job->group_len = extra->group_len;
	job->value = value;
	job->value_len = extra->value_len;
	job->token = extra->token;
}

int job_fetch(struct job *job, struct kwq *handle, unsigned int max, bool extras)
{
	static struct fetched fetched;
	struct kwq_got_extra extra = { 0 };
	struct kwq_get_args req = {
		.size = sizeof(req),
		.flags = KWQ_GET_NONBLOCK,
	};
	int nr;

	if (!reserve_fetched(&fetched, max))
		return -ENOMEM;
	req.get = (struct kwq_batch){
		.entries = kwq_ptr(fetched.got),
		.keys = kwq_ptr(fetched.bytes),
		.extras = extras ? kwq_ptr(&extra) : 0,
		.keys_len = (size_t)max * KWQ_KEY_MAX + BYTES_OF_EXTRAS,
		.nr = extras ? 1 : max,
		.entry_size = sizeof(*fetched.got),
		.extra_size = extras ? sizeof(extra) : 0,
	};
	nr = kwq_get_batch(handle, &req);
	if (nr < 0)
		return nr;
	/* The handle is closed then, and the items come back. */
	if (!reserve_items(job, nr, bytes_of_keys(&fetched, nr)))
		return -ENOMEM;
	take_items(job, &fetched, nr);
	take_extra(job, fetched.bytes + bytes_of_keys(&fetched, nr), &extra);
	return 0;
}

void job_take_out(struct job *job, unsigned int i)
{
	memmove(&job->items[i], &job->items[i + 1], (--job->nr - i) * sizeof(*job->items));
}

bool job_key_is_text(const struct job_item *it)
{
	return !memchr(it->key, '\0', it->item.key_len);
}

/* The input of a job may be longer than a pipe, so it is in a file. Begins at its begin. */
static int open_bytes(const char *bytes, size_t len)
{
	int fd = memfd_create("kwq-input", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (pwrite(fd, bytes, len, 0) == (ssize_t)len)
		return fd;
	close(fd);
	return -ENOMEM;
}

/* Of several keys each one ends with a newline. */
static int open_keys(const struct job *job)
{
	size_t len = 0;
	unsigned int i;
	char *bytes;
	int fd;

	for (i = 0; i < job->nr; i++)
		len += job->items[i].item.key_len + 1;
	bytes = malloc(len);
	if (!bytes)
		return -ENOMEM;
	for (i = 0, len = 0; i < job->nr; i++) {
		memcpy(bytes + len, job->items[i].key, job->items[i].item.key_len);
		len += job->items[i].item.key_len;
		bytes[len++] = '\n';
	}
	fd = open_bytes(bytes, len);
	free(bytes);
	return fd;
}

/*
 * Makes a pipe that contains the key. A key never exceeds a page, which fits into every
 * pipe, so the write does not block.
 */
static int open_key(const struct job_item *it)
{
	int ends[2], err = 0;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	if (write(ends[1], it->key, it->item.key_len) != (ssize_t)it->item.key_len)
		err = errno ? -errno : -EIO;
	close(ends[1]);
	if (!err)
		return ends[0];
	close(ends[0]);
	return err;
}

/* For an environment variable, which cannot hold a NUL. */
static const char *text_or_null(const char *bytes, size_t len)
{
	return len && !memchr(bytes, '\0', len) ? bytes : NULL;
}

static int open_input(const struct job *job, const struct job_form *form)
{
	switch (form->input) {
	case INPUT_KEY:
		return form->many ? open_keys(job) : open_key(&job->items[0]);
	case INPUT_VALUE:
		return open_bytes(job->value, job->value_len);
	default:
		return -1;
	}
}

struct journal_job job_journal(const struct job_item *it)
{
	return (struct journal_job){
		.key = it->key,
		.key_len = it->item.key_len,
		.attempt = it->attempt,
	};
}

static int open_streams(struct job *job, const struct job_form *form)
{
	int err, i;

	err = stream_open(&job->streams[0], form->mode, STDOUT_FILENO);
	if (!err)
		err = stream_open(&job->streams[1], form->mode, STDERR_FILENO);
	for (i = 0; i < 2; i++) {
		job->streams[i].journal = job_journal(&job->items[0]);
		job->streams[i].journal.stream = i ? "stderr" : "stdout";
		job->streams[i].journal.keys = job->nr;
		job->streams[i].tag = job->tag;
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

/*
 * The values for all keys; with @it for this item alone. The caller frees values->keys. Returns
 * false if memory is missing.
 */
static bool get_values(const struct job *job, const struct job_item *it,
		       struct template_values *values)
{
	const char **keys;
	unsigned int i;

	*values = (struct template_values){
		.nr = it ? 1 : job->nr,
		.seq = job->seq,
		.slot = job->slot,
	};
	keys = malloc(values->nr * sizeof(*keys));
	for (i = 0; keys && i < values->nr; i++)
		keys[i] = it ? it->key : job->items[i].key;
	values->keys = keys;
	return keys;
}

char **job_command(const struct job *job, const struct job_item *it, const struct job_form *form)
{
	struct template_values values;
	char **filled;

	if (form->input == INPUT_KEY)
		return form->command;
	if (!get_values(job, it, &values))
		return NULL;
	filled = template_fill(form->command, &values);
	free((void *)values.keys);
	return filled;
}

unsigned int job_items_that_fit(const struct job *job, const struct job_form *form)
{
	struct template_values values;
	unsigned int nr;

	if (form->input == INPUT_KEY || job->nr == 1)
		return job->nr;
	if (!get_values(job, NULL, &values))
		return 0;
	nr = template_fit(form->command, &values, JOB_COMMAND_MAX);
	free((void *)values.keys);
	return nr;
}

/* The keys, with a blank between, without control characters: see escape_text(). */
static int make_tag(struct job *job)
{
	size_t len = 0;
	unsigned int i;

	for (i = 0; i < job->nr; i++)
		len += ESCAPED_SIZE(job->items[i].item.key_len);
	job->tag = malloc(len);
	if (!job->tag)
		return -ENOMEM;
	for (i = 0, len = 0; i < job->nr; i++) {
		if (i)
			job->tag[len++] = ' ';
		escape_text(job->tag + len, job->items[i].key, job->items[i].item.key_len);
		len += strlen(job->tag + len);
	}
	return 0;
}

/* The variables of one key are absent in a job that may have several. */
static void set_item(struct child *child, const struct job *job, bool many)
{
	const struct job_item *it = &job->items[0];

	child->attempt = it->attempt;
	child->abandoned = it->item.abandoned;
	if (many) {
		child->keys = job->nr;
		return;
	}
	child->key = job_key_is_text(it) ? it->key : NULL;
	child->group = text_or_null(job->group, job->group_len);
	child->value = text_or_null(job->value, job->value_len);
	child->ticket = it->item.ticket;
	child->token = job->token;
}

int job_start(struct job *job, const struct job_form *form)
{
	struct child child = {
		.inherited = form->inherited,
		.argv = form->command,
		.input = -1,
		.queue = kwq_fd(job->handle),
		.exec_error = &job->exec_error,
	};
	int err;

	job->pidfd = -1;
	set_item(&child, job, form->many);
	err = form->tag ? make_tag(job) : 0;
	if (!err)
		err = open_streams(job, form);
	if (err)
		return err;
	child.output[0] = job->streams[0].child_fd;
	child.output[1] = job->streams[1].child_fd;

	child.argv = job_command(job, NULL, form);
	if (!child.argv)
		return -ENOMEM;
	child.environment = environment_make(&child);
	if (!child.environment) {
		err = -ENOMEM;
		goto out;
	}
	child.input = open_input(job, form);
	if (child.input < 0 && form->input != INPUT_NOTHING) {
		err = child.input;
		goto out;
	}

	job->started_real = read_clock(CLOCK_REALTIME);
	job->started = read_clock(CLOCK_MONOTONIC);
	err = spawn(job, &child);
	if (child.input >= 0)
		close(child.input);
	stream_started(&job->streams[0]);
	stream_started(&job->streams[1]);
out:
	free(child.environment);
	if (child.argv != form->command)
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
	job->runtime = read_clock(CLOCK_MONOTONIC) - job->started;
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

bool job_has_losses(const struct job *job)
{
	struct pollfd handle = { .fd = kwq_fd(job->handle), .events = POLLPRI };

	return poll(&handle, 1, 0) > 0 && handle.revents & POLLPRI;
}

bool job_is_lost(const struct job *job)
{
	unsigned int i;

	for (i = 0; i < job->nr; i++)
		if (job->items[i].lost)
			return true;
	return false;
}

void job_extend(struct job *job)
{
	struct job_item *it;
	unsigned int i;

	for (i = 0; i < job->nr; i++) {
		it = &job->items[i];
		/* Any error but -ESTALE may pass: the lease leaves time for another attempt. */
		if (!it->lost && kwq_extend(job->handle, it->item.ticket) == -ESTALE)
			it->lost = true;
	}
	if (job->pid && job_is_lost(job))
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
	/* Only now: whoever has asked for a key looks at it again, and must not find it held. */
	job_control_end(job);
	job->pid = 0;
	job->nr = 0;
	free(job->keys);
	job->keys = NULL;
	free(job->tag);
	job->tag = NULL;
}

/* The add of a GET. In a shared queue it returns before it is stored: the end of its key waits. */
static int add_again(struct job_item *it, const struct job_note *note, uint32_t flags,
		     uint64_t time)
{
	const struct kwq_add_extra extra = {
		.note = kwq_ptr(note->bytes),
		.note_len = note->len,
	};
	struct kwq_add_entry add = {
		.key_len = it->item.key_len,
		.flags = flags | (note->len ? KWQ_ADD_NOTE : 0),
		.time = time,
	};
	__s32 result = -EIO;
	struct kwq_get_args req = {
		.size = sizeof(req),
		.add = {
			.entries = kwq_ptr(&add),
			.keys = kwq_ptr(it->key),
			.results = kwq_ptr(&result),
			.extras = note->len ? kwq_ptr(&extra) : 0,
			.keys_len = it->item.key_len,
			.nr = 1,
			.entry_size = sizeof(add),
			.extra_size = note->len ? sizeof(extra) : 0,
		},
	};
	int err = kwq_get_batch(it->job->handle, &req);

	return err < 0 ? err : result;
}

static bool is_shut_down(struct kwq *q)
{
	struct kwq_stat st = { .size = sizeof(st) };

	return !kwq_stat(q, &st) && st.state & KWQ_STATE_SHUT_DOWN;
}

static int add_and_done(struct job_item *it, const struct job_note *note, uint32_t flags,
			uint64_t time, int *added)
{
	static const struct job_note none;

	*added = add_again(it, note, flags, time);
	/* The retry matters more: a full queue has no room for a note, and others take none. */
	if (*added < 0 && *added != -ESHUTDOWN && note->len)
		*added = add_again(it, &none, flags, time);
	/* An outbox may be full, or gone. Q8: a queue that is shut down drops retries. */
	if (*added < 0 && !(*added == -ESHUTDOWN && is_shut_down(it->job->handle)))
		return *added;
	return kwq_done(it->job->handle, it->item.ticket);
}

int job_add_again_and_done(struct job_item *it, const struct job_note *note, uint64_t delay,
			   int *added)
{
	return add_and_done(it, note, KWQ_ADD_AFTER, delay, added);
}

int job_add_rate_limited_and_done(struct job_item *it, const struct job_note *note, int *added)
{
	return add_and_done(it, note, KWQ_ADD_RATE_LIMITED, 0, added);
}

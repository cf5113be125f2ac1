// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "job_control.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One command that waits for the end of the job: our end of its socket pair. */
struct follower {
	struct follower *next;
	int fd;
	const struct job_item *cancels;	/* kwq cancel; NULL: kwq follow */
};

static struct job_item *find_in(const struct job *job, const struct control_message *message)
{
	const struct control_request *request = &message->request;
	unsigned int i;

	for (i = 0; i < job->nr; i++)
		if (job->items[i].item.ticket == request->ticket &&
		    job->items[i].item.key_len == request->key_len &&
		    !memcmp(job->items[i].key, message->key, request->key_len))
			return &job->items[i];
	return NULL;
}

/* Returns the job that holds the item, or NULL. Its command may have ended. */
static struct job *find(struct job *jobs, unsigned int nr, const struct control_message *message,
			struct job_item **it)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		*it = find_in(&jobs[i], message);
		if (*it)
			return &jobs[i];
	}
	return NULL;
}

static struct follower *add_follower(struct job *job, int fd)
{
	struct follower *follower = malloc(sizeof(*follower));

	if (!follower)
		return NULL;
	*follower = (struct follower){ .next = job->followers, .fd = fd };
	job->followers = follower;
	return follower;
}

/* Opens both files again, for reading only. Returns 0 or a negative errno value. */
static int open_output(struct job *job, enum output_mode mode, int fds[2])
{
	char link[40];
	int i, fd;

	for (i = 0; i < 2; i++) {
		fd = stream_copy(&job->streams[i], mode);
		if (fd >= 0) {
			snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
			fds[i] = open(link, O_RDONLY | O_CLOEXEC);
			fd = fds[i] < 0 ? -errno : fd;
		}
		if (fd < 0) {
			if (i)
				close(fds[0]);
			return fd;
		}
	}
	return 0;
}

/* Passes the output on, and keeps @message->reply until the job has ended. */
static int follow(struct job *job, struct control_message *message, enum output_mode mode)
{
	int fds[2], err;

	err = open_output(job, mode, fds);
	if (err)
		return err;
	if (add_follower(job, message->reply))
		control_reply(message->reply, 0, fds, 2);
	else
		err = -ENOMEM;
	close(fds[0]);
	close(fds[1]);
	return err;
}

/*
 * Ends the command, and has the item done instead of what its end would mean. A command that has
 * ended may wait for its turn, or for its output to be written.
 */
static int cancel(struct job *job, struct job_item *it, int reply)
{
	struct follower *follower = add_follower(job, reply);

	if (!follower)
		return -ENOMEM;
	follower->cancels = it;
	it->to_cancel = true;
	job->asked = ASKED_CANCEL;
	if (job->pid)
		job_kill(job);
	return 0;
}

static int send_signal(const struct job *job, int signal)
{
	if (signal == SIGKILL) {
		job_kill(job);
		return 0;
	}
	return job_signal(job, signal);
}

/* Returns whether the reply comes later, when the job has ended. */
static bool takes_until_end(const struct control_message *message)
{
	return message->request.operation == CONTROL_FOLLOW ||
		message->request.operation == CONTROL_CANCEL;
}

static int do_request(struct control_message *message, struct job *job, struct job_item *it,
		      enum output_mode mode)
{
	if (message->request.operation == CONTROL_CANCEL)
		return cancel(job, it, message->reply);
	if (!job->pid)
		return -ESTALE;
	switch (message->request.operation) {
	case CONTROL_SIGNAL:
		return send_signal(job, message->request.signal);
	case CONTROL_RESTART:
		job->asked = ASKED_RESTART;
		job_kill(job);
		return 0;
	case CONTROL_BURY:
		job->asked = ASKED_BURY;
		it->to_bury = true;
		job_kill(job);
		return 0;
	case CONTROL_FOLLOW:
		return follow(job, message, mode);
	default:
		return -EPROTO;
	}
}

void job_control_answer(struct control_message *message, struct job *jobs, unsigned int nr,
			enum output_mode mode)
{
	struct job_item *it;
	struct job *job = find(jobs, nr, message, &it);
	int err = job ? do_request(message, job, it, mode) : -ESTALE;

	if (!err && takes_until_end(message))
		return;
	control_reply(message->reply, err, NULL, 0);
	close(message->reply);
}

void job_control_end(struct job *job)
{
	struct follower *follower;

	while ((follower = job->followers)) {
		job->followers = follower->next;
		if (follower->cancels)
			control_reply(follower->fd, follower->cancels->is_cancelled ? 0 : -ESTALE,
				      NULL, 0);
		close(follower->fd);
		free(follower);
	}
}

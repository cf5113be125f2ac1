// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "job_control.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One command that follows the job: our end of its socket pair. */
struct follower {
	struct follower *next;
	int fd;
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

/* Returns the job that runs for the item, or NULL. */
static struct job *find(struct job *jobs, unsigned int nr, const struct control_message *message,
			struct job_item **it)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		*it = jobs[i].pid ? find_in(&jobs[i], message) : NULL;
		if (*it)
			return &jobs[i];
	}
	return NULL;
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
static void follow(struct job *job, struct control_message *message, enum output_mode mode)
{
	struct follower *follower = malloc(sizeof(*follower));
	int fds[2], err = -ENOMEM;

	if (follower)
		err = open_output(job, mode, fds);
	if (err) {
		free(follower);
		control_reply(message->reply, err, NULL, 0);
		close(message->reply);
		return;
	}
	control_reply(message->reply, 0, fds, 2);
	close(fds[0]);
	close(fds[1]);
	follower->fd = message->reply;
	follower->next = job->followers;
	job->followers = follower;
}

static int send_signal(const struct job *job, int signal)
{
	if (signal == SIGKILL) {
		job_kill(job);
		return 0;
	}
	return job_signal(job, signal);
}

void job_control_answer(struct control_message *message, struct job *jobs, unsigned int nr,
			enum output_mode mode)
{
	struct job_item *it;
	struct job *job = find(jobs, nr, message, &it);
	int err = 0;

	if (!job) {
		err = -ESTALE;
	} else {
		switch (message->request.operation) {
		case CONTROL_SIGNAL:
			err = send_signal(job, message->request.signal);
			break;
		case CONTROL_RESTART:
			job->asked = ASKED_RESTART;
			job_kill(job);
			break;
		case CONTROL_BURY:
			job->asked = ASKED_BURY;
			it->to_bury = true;
			job_kill(job);
			break;
		case CONTROL_FOLLOW:
			follow(job, message, mode);
			return;
		default:
			err = -EPROTO;
		}
	}
	control_reply(message->reply, err, NULL, 0);
	close(message->reply);
}

void job_control_end(struct job *job)
{
	struct follower *follower;

	while ((follower = job->followers)) {
		job->followers = follower->next;
		close(follower->fd);
		free(follower);
	}
}

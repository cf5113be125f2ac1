// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq run: what its epoll watches.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/cmd.h"
#include "worker_run.h"

int watch_in(int epoll, int fd, enum source source, size_t job)
{
	struct epoll_event event = {
		.events = EPOLLIN,
		.data.u64 = (uint64_t)source << 32 | job,
	};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int watch(struct run *run, int fd, enum source source, size_t job)
{
	return watch_in(run->epoll, fd, source, job);
}

void unwatch(struct run *run, int fd)
{
	epoll_ctl(run->epoll, EPOLL_CTL_DEL, fd, NULL);
}

void watch_queue(struct run *run)
{
	bool want = !run->stopping && !run->over && !run->removed && has_free_slot(run);
	int err;

	if (want == run->watching)
		return;
	if (!want) {
		unwatch(run, kwq_fd(run->q));
	} else {
		err = watch(run, kwq_fd(run->q), SOURCE_QUEUE, 0);
		if (err) {
			stop_for(run, STATUS_FAILED, "epoll_ctl", strerror(-err));
			return;
		}
	}
	run->watching = want;
}

/* The loss of an item is urgent, because another worker may start its job: see take_urgent(). */
static int watch_losses(struct run *run, const struct job *job)
{
	struct epoll_event event = {
		.events = EPOLLPRI,
		.data.u64 = job - run->jobs,
	};

	return epoll_ctl(run->losses, EPOLL_CTL_ADD, kwq_fd(job->handle), &event) ? -errno : 0;
}

int watch_job(struct run *run, const struct job *job)
{
	size_t i = job - run->jobs;
	int err;

	err = watch_losses(run, job);
	if (!err)
		err = watch(run, job->pidfd, SOURCE_END, i);
	if (err || !output_is_piped(run->options.output))
		return err;
	err = watch(run, job->streams[0].fd, SOURCE_OUTPUT, i);
	return err ? err : watch(run, job->streams[1].fd, SOURCE_ERRORS, i);
}

void unwatch_job(struct run *run, const struct job *job)
{
	unwatch(run, job->pidfd);
	/* Processes that the job has left behind may keep the handle open. */
	epoll_ctl(run->losses, EPOLL_CTL_DEL, kwq_fd(job->handle), NULL);
	if (!output_is_piped(run->options.output))
		return;
	unwatch(run, job->streams[0].fd);
	unwatch(run, job->streams[1].fd);
}

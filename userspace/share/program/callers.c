// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "callers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <kwq.h>
#include <utlist.h>

#include "queue/shared.h"

enum { CALLERS_MAX = 64, EVENTS = 16 };

/* @is_served: its request is not answered yet */
struct caller {
	struct caller *prev, *next;
	struct callers *callers;
	int fd;
	bool is_served;
};

struct callers {
	struct machine *machine;
	uint64_t queue;
	int listener, epoll;
	struct caller *list;
	unsigned int nr;
};

/* The right that a request needs, and what the master is asked for. */
static const struct {
	unsigned int right;
	enum request_kind what;
} operations[] = {
	[SHARED_LIST] = { KWQ_RIGHT_READ },
	[SHARED_REMOVE] = { KWQ_RIGHT_MANAGE, REQUEST_REMOVE },
	[SHARED_DROP] = { KWQ_RIGHT_MANAGE, REQUEST_DROP },
	[SHARED_KICK] = { KWQ_RIGHT_WRITE, REQUEST_KICK },
	[SHARED_END_WAIT] = { KWQ_RIGHT_WRITE, REQUEST_END_WAIT },
};

struct request {
	struct shared_request head;
	char key[KWQ_KEY_MAX];
};

static int watch(const struct callers *c, int fd, void *what)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP, .data.ptr = what };

	return epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static void hang_up(struct caller *caller)
{
	struct callers *c = caller->callers;

	machine_forget_requests(c->machine, caller);
	DL_DELETE(c->list, caller);
	c->nr--;
	close(caller->fd);
	free(caller);
}

/* @list: a descriptor to pass on, or -1. A caller that takes no answer is dropped. */
static void answer(struct caller *caller, int result, int list)
{
	struct shared_answer what = { .size = sizeof(what), .result = result };
	union {
		struct cmsghdr aligned;
		char bytes[CMSG_SPACE(sizeof(int))];
	} extras = { 0 };
	struct iovec part = { &what, sizeof(what) };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	if (list >= 0) {
		header.msg_control = &extras;
		header.msg_controllen = sizeof(extras);
		extras.aligned.cmsg_level = SOL_SOCKET;
		extras.aligned.cmsg_type = SCM_RIGHTS;
		extras.aligned.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&extras.aligned), &list, sizeof(list));
	}
	caller->is_served = false;
	if (sendmsg(caller->fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		shutdown(caller->fd, SHUT_RDWR);
}

static void key_done(void *arg, int result)
{
	answer(arg, result, -1);
}

static void list_done(void *arg, int result)
{
	answer(arg, result < 0 ? result : 0, result);
	if (result >= 0)
		close(result);
}

/* An ioctl of a file system in a program could hold this one up. */
static bool is_queue(int fd)
{
	static const char wanted[] = "anon_inode:[kwq]";
	char path[40], is[sizeof(wanted)] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, is, sizeof(is)) == sizeof(wanted) - 1 &&
	       !memcmp(is, wanted, sizeof(wanted) - 1);
}

/*
 * The descriptor that came is a handle of the queue with this right, or the caller may not ask.
 * Owns it. Returns 0 or a negative errno value.
 */
static int check_right(const struct callers *c, int fd, unsigned int right)
{
	struct kwq_stat st = { .size = sizeof(st) };
	struct kwq *passed, *q;
	int err;

	if (!is_queue(fd) || kwq_from_fd(&passed, fd)) {
		close(fd);
		return -EACCES;
	}
	err = kwq_reopen(&q, passed, right, 0);
	kwq_close(passed);
	if (err)
		return err;
	err = kwq_stat(q, &st);
	kwq_close(q);
	return err ?: st.id == c->queue ? 0 : -EACCES;
}

/* Returns 0 if the answer comes later, or a negative errno value. */
static int serve(struct caller *caller, const struct request *request, size_t len, int handle)
{
	const struct shared_request *head = &request->head;
	struct machine *m = caller->callers->machine;
	struct bytes key = { request->key, head->key_len };
	int err;

	if (len < sizeof(*head) || head->size != sizeof(*head) ||
	    head->operation >= ARRAY_SIZE(operations) || len - sizeof(*head) != head->key_len ||
	    handle < 0 || (!head->key_len && head->operation != SHARED_LIST)) {
		if (handle >= 0)
			close(handle);
		return -EPROTO;
	}
	err = check_right(caller->callers, handle, operations[head->operation].right);
	if (err)
		return err;
	if (head->operation == SHARED_LIST)
		return machine_list(m, head->states, head->flags, key, list_done, caller);
	return machine_request(m, operations[head->operation].what, key, key_done, caller);
}

/* Takes the first descriptor that came, and closes the others. */
static int take_handle(struct msghdr *header)
{
	struct cmsghdr *part;
	int handle = -1, fd;
	size_t nr, i;

	for (part = CMSG_FIRSTHDR(header); part; part = CMSG_NXTHDR(header, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		nr = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < nr; i++) {
			memcpy(&fd, CMSG_DATA(part) + i * sizeof(fd), sizeof(fd));
			if (handle < 0)
				handle = fd;
			else
				close(fd);
		}
	}
	return handle;
}

/* Returns false if the caller has gone, or asks again before its answer. */
static bool take_request(struct caller *caller)
{
	union {
		struct cmsghdr aligned;
		char bytes[CMSG_SPACE(sizeof(int))];
	} extras;
	static struct request request;	/* too large for the stack */
	struct iovec part = { &request, sizeof(request) };
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &extras,
		.msg_controllen = sizeof(extras),
	};
	ssize_t got = recvmsg(caller->fd, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	int handle, err;

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	handle = take_handle(&header);
	if (!got || caller->is_served) {
		if (handle >= 0)
			close(handle);
		return false;
	}
	caller->is_served = true;
	err = serve(caller, &request, got, handle);
	if (err)
		answer(caller, err, -1);
	return true;
}

static void take_call(struct callers *c)
{
	int fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct caller *caller;

	if (fd < 0)
		return;
	caller = c->nr < CALLERS_MAX ? calloc(1, sizeof(*caller)) : NULL;
	if (!caller || watch(c, fd, caller)) {
		free(caller);
		close(fd);
		return;
	}
	caller->callers = c;
	caller->fd = fd;
	DL_APPEND(c->list, caller);
	c->nr++;
}

void callers_step(struct callers *c)
{
	struct epoll_event events[EVENTS];
	int nr = epoll_wait(c->epoll, events, EVENTS, 0), i;

	for (i = 0; i < nr; i++) {
		struct caller *caller = events[i].data.ptr;

		if (!caller)
			take_call(c);
		else if (events[i].events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP) ||
			 !take_request(caller))
			hang_up(caller);
	}
}

int callers_fd(const struct callers *c)
{
	return c->epoll;
}

static int listen_at(struct callers *c)
{
	struct sockaddr_un address;
	size_t len = shared_address(&address, c->queue);

	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	c->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->epoll < 0 || c->listener < 0 ||
	    bind(c->listener, (struct sockaddr *)&address, len) || listen(c->listener, EVENTS))
		return -errno;
	return watch(c, c->listener, NULL);
}

int callers_open(struct callers **callers, struct machine *machine, uint64_t queue)
{
	struct callers *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->machine = machine;
	c->queue = queue;
	err = listen_at(c);
	if (err)
		callers_close(c);
	else
		*callers = c;
	return err;
}

void callers_close(struct callers *c)
{
	if (!c)
		return;
	while (c->list)
		hang_up(c->list);
	if (c->listener >= 0)
		close(c->listener);
	if (c->epoll >= 0)
		close(c->epoll);
	free(c);
}

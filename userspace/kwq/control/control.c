// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "control.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control_address.h"
#include "runtime_folder.h"

/* Removes the sockets of workers that were killed: nobody answers there. */
static void sweep(int folder)
{
	struct sockaddr_un address;
	const struct dirent *entry;
	int list, fd;
	DIR *dir;

	list = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = list < 0 ? NULL : fdopendir(list);
	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, CONTROL_PREFIX, strlen(CONTROL_PREFIX)))
			continue;
		control_address(&address, folder, entry->d_name);
		fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			break;
		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) &&
		    errno == ECONNREFUSED)
			unlinkat(folder, entry->d_name, 0);
		close(fd);
	}
	if (dir)
		closedir(dir);
	else if (list >= 0)
		close(list);
}

static int open_socket(struct control *control)
{
	struct sockaddr_un address;
	int on = 1;
	int fd;

	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	sweep(control->folder);
	control_address(&address, control->folder, control->name);
	if (!setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) &&
	    !bind(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	close(fd);
	return -EIO;
}

void control_open(struct control *control)
{
	const struct runtime_environment env = {
		.runtime_directory = getenv("RUNTIME_DIRECTORY"),
		.xdg_runtime_dir = getenv("XDG_RUNTIME_DIR"),
	};
	char path[RUNTIME_FOLDER_SIZE];
	unsigned int i;

	control->fd = -1;
	snprintf(control->name, sizeof(control->name), CONTROL_PREFIX "%d", getpid());
	for (i = 0; i < RUNTIME_FOLDERS && control->fd < 0; i++) {
		if (!runtime_folder(path, i, geteuid(), &env))
			continue;
		control->folder = runtime_folder_open(path, geteuid(), true);
		if (control->folder < 0)
			continue;
		control->fd = open_socket(control);
		if (control->fd < 0)
			close(control->folder);
	}
}

/* Takes the first of the descriptors, and closes the others: padding makes room for two. */
static int take_first(const struct cmsghdr *part)
{
	size_t nr = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int), i;
	int first = -1, fd;

	for (i = 0; i < nr; i++) {
		memcpy(&fd, CMSG_DATA(part) + i * sizeof(fd), sizeof(fd));
		if (!i)
			first = fd;
		else
			close(fd);
	}
	return first;
}

/* Takes the sender and the descriptor out of a message. Returns whether it has both. */
static bool take_extras(struct msghdr *header, struct ucred *sender, int *reply)
{
	struct cmsghdr *part;
	bool known = false;

	*reply = -1;
	for (part = CMSG_FIRSTHDR(header); part; part = CMSG_NXTHDR(header, part)) {
		if (part->cmsg_level != SOL_SOCKET)
			continue;
		if (part->cmsg_type == SCM_CREDENTIALS) {
			memcpy(sender, CMSG_DATA(part), sizeof(*sender));
			known = true;
		} else if (part->cmsg_type == SCM_RIGHTS) {
			*reply = take_first(part);
		}
	}
	return known && *reply >= 0;
}

/* Root of the host is a stranger in a user namespace of somebody else. */
static bool may_ask(const struct ucred *sender)
{
	return !sender->uid || sender->uid == geteuid();
}

static bool is_whole(const struct control_message *message, size_t got)
{
	const struct control_request *request = &message->request;

	return got >= sizeof(*request) && request->size == sizeof(*request) &&
	       got - sizeof(*request) == request->key_len;
}

int control_receive(const struct control *control, struct control_message *message)
{
	union {
		struct cmsghdr aligned;
		char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
	} extras;
	struct iovec parts[] = {
		{ &message->request, sizeof(message->request) },
		{ message->key, sizeof(message->key) },
	};
	struct msghdr header = {
		.msg_iov = parts,
		.msg_iovlen = 2,
		.msg_control = &extras,
		.msg_controllen = sizeof(extras),
	};
	struct ucred sender;
	int err = -EPROTO;
	ssize_t got;

	got = recvmsg(control->fd, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (got < 0)
		return 0;
	if (take_extras(&header, &sender, &message->reply)) {
		if (!may_ask(&sender))
			err = -EPERM;
		else if (is_whole(message, got))
			return 1;
	}
	if (message->reply >= 0) {
		control_reply(message->reply, err, NULL, 0);
		close(message->reply);
	}
	return err;
}

void control_reply(int to, int err, const int *fds, size_t nr)
{
	struct control_reply reply = { .size = sizeof(reply), .err = err };
	union {
		struct cmsghdr aligned;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} extras = { 0 };
	struct iovec part = { &reply, sizeof(reply) };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	if (nr) {
		header.msg_control = &extras;
		header.msg_controllen = CMSG_SPACE(nr * sizeof(int));
		extras.aligned.cmsg_level = SOL_SOCKET;
		extras.aligned.cmsg_type = SCM_RIGHTS;
		extras.aligned.cmsg_len = CMSG_LEN(nr * sizeof(int));
		memcpy(CMSG_DATA(&extras.aligned), fds, nr * sizeof(int));
	}
	sendmsg(to, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void control_reply_with(int to, int err, const void *bytes, size_t len)
{
	struct control_reply reply = { .size = sizeof(reply), .err = err };
	struct iovec parts[] = {
		{ &reply, sizeof(reply) },
		{ (void *)bytes, len },
	};
	struct msghdr header = { .msg_iov = parts, .msg_iovlen = 2 };

	sendmsg(to, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void control_close(struct control *control)
{
	if (control->fd < 0)
		return;
	unlinkat(control->folder, control->name, 0);
	close(control->folder);
	close(control->fd);
	control->fd = -1;
}

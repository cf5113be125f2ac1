// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "worker_client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cmd.h"
#include "control_address.h"
#include "base/escape.h"
#include "queue/item_list.h"
#include "base/process_name.h"
#include "runtime_folder.h"

/* ---- Finding the key ------------------------------------------------------ */

static void take(struct running_key *running, const struct kwq_listed *item, const char *key)
{
	/* The order of items that are listed as being processed is the ticket. */
	running->ticket = item->order;
	running->pid = item->pid;
	running->key_len = item->key_len;
	memcpy(running->key, key, item->key_len);
}

int running_key_find(struct running_key *running, struct kwq *q, const char *key, size_t len)
{
	static struct item_list list;	/* too large for the stack */
	const struct kwq_listed *item;
	const char *bytes;
	int nr = 0, ret;

	item_list_begin_here(&list, q, KWQ_IS_PROCESSING);
	if (key)
		item_list_only(&list, key, len);
	while ((ret = item_list_next(&list, &item, &bytes)) > 0 && !nr++)
		take(running, item, bytes);
	if (ret < 0)
		return ret;
	return !nr ? -ESRCH : nr > 1 ? -E2BIG : 0;
}

/* ---- Finding the worker --------------------------------------------------- */

/* Reads a file of the process. Returns its length, of at most @size - 1, with a NUL behind it. */
static ssize_t read_proc(pid_t pid, const char *name, char *to, size_t size)
{
	char path[40];
	size_t filled = 0;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while ((got = read(fd, to + filled, size - 1 - filled)) > 0)
		filled += got;
	close(fd);
	to[filled] = '\0';
	return filled;
}

static const char *variable(const char *environment, size_t len, const char *name)
{
	size_t name_len = strlen(name), at;

	for (at = 0; at < len; at += strlen(environment + at) + 1)
		if (!strncmp(environment + at, name, name_len) && environment[at + name_len] == '=')
			return environment + at + name_len + 1;
	return NULL;
}

/* The number by which the process knows itself: that of its innermost pid namespace. */
static pid_t own_pid(pid_t pid)
{
	char status[4096], *line, *last;

	if (read_proc(pid, "status", status, sizeof(status)) < 0)
		return pid;
	line = strstr(status, "\nNSpid:");
	if (!line)
		return pid;
	line++;
	line[strcspn(line, "\n")] = '\0';
	last = strrchr(line, '\t');
	return last ? atoi(last + 1) : pid;
}

/* The number by which a user knows himself in the user namespace of the process. */
static uid_t own_uid(pid_t pid, uid_t uid)
{
	unsigned int inside, outside, count;
	char map[4096], *line, *rest = map;

	if (read_proc(pid, "uid_map", map, sizeof(map)) < 0)
		return uid;
	while ((line = strsep(&rest, "\n")))
		if (sscanf(line, "%u %u %u", &inside, &outside, &count) == 3 &&
		    uid >= outside && uid - outside < count)
			return inside + (uid - outside);
	return uid;
}

/* Connects to the socket in one folder of the worker, as the worker's file system has it. */
static int connect_in(int fd, pid_t pid, const char *folder, uid_t uid)
{
	char path[RUNTIME_FOLDER_SIZE + 40], name[32];
	struct sockaddr_un address;
	int dir, ret;

	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, folder);
	dir = runtime_folder_open(path, uid, false);
	if (dir < 0)
		return dir;
	snprintf(name, sizeof(name), CONTROL_PREFIX "%d", own_pid(pid));
	control_address(&address, dir, name);
	ret = connect(fd, (struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
	close(dir);
	return ret;
}

/* Returns a connected socket or a negative errno value. */
static int connect_to(pid_t pid)
{
	static char environment[1 << 20];
	char path[40], folder[RUNTIME_FOLDER_SIZE];
	struct runtime_environment env;
	struct stat st;
	ssize_t len;
	unsigned int i;
	uid_t own;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (!pid || stat(path, &st))
		return -ESRCH;
	if (geteuid() && geteuid() != st.st_uid)
		return -EPERM;
	len = read_proc(pid, "environ", environment, sizeof(environment));
	if (len < 0)
		return len == -ENOENT ? -ESRCH : len;
	env.runtime_directory = variable(environment, len, "RUNTIME_DIRECTORY");
	env.xdg_runtime_dir = variable(environment, len, "XDG_RUNTIME_DIR");

	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	own = own_uid(pid, st.st_uid);
	for (i = 0; i < RUNTIME_FOLDERS; i++)
		if (runtime_folder(folder, i, own, &env) &&
		    !connect_in(fd, pid, folder, st.st_uid))
			return fd;
	close(fd);
	return -ESRCH;
}

/* ---- Asking --------------------------------------------------------------- */

/* Connects to the worker, and makes the pair for its reply. Returns 0 or a negative errno value. */
static int begin_request(pid_t pid, int *fd, int pair[2])
{
	/* A worker that is stopped, or hangs, does not answer. */
	const struct timeval patience = { .tv_sec = 10 };
	int err;

	*fd = connect_to(pid);
	if (*fd < 0)
		return *fd;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		err = -errno;
		close(*fd);
		return err;
	}
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	return 0;
}

static int send_request(int fd, const struct running_key *running, enum control_operation operation,
			int signal, int reply)
{
	struct control_request request = {
		.size = sizeof(request),
		.operation = operation,
		.ticket = running->ticket,
		.signal = signal,
		.key_len = running->key_len,
	};
	union {
		struct cmsghdr aligned;
		char bytes[CMSG_SPACE(sizeof(int))];
	} extras = { 0 };
	struct iovec parts[] = {
		{ &request, sizeof(request) },
		{ (char *)running->key, running->key_len },
	};
	struct msghdr header = {
		.msg_iov = parts,
		.msg_iovlen = 2,
		.msg_control = &extras,
		.msg_controllen = sizeof(extras),
	};

	extras.aligned.cmsg_level = SOL_SOCKET;
	extras.aligned.cmsg_type = SCM_RIGHTS;
	extras.aligned.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&extras.aligned), &reply, sizeof(reply));
	if (sendmsg(fd, &header, MSG_NOSIGNAL) >= 0)
		return 0;
	return errno == EAGAIN ? -ETIMEDOUT : -errno;
}

static int receive_reply(int fd, int fds[2])
{
	struct control_reply reply = { 0 };
	union {
		struct cmsghdr aligned;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} extras;
	struct iovec part = { &reply, sizeof(reply) };
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &extras,
		.msg_controllen = sizeof(extras),
	};
	const struct cmsghdr *passed;
	ssize_t got;

	do {
		got = recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	/* The worker ended, and its end of the pair with it. */
	if (!got)
		return -ESTALE;
	if (got != sizeof(reply) || reply.size != sizeof(reply))
		return -EPROTO;
	passed = CMSG_FIRSTHDR(&header);
	if (fds && !reply.err) {
		if (!passed || passed->cmsg_len != CMSG_LEN(2 * sizeof(int)))
			return -EPROTO;
		memcpy(fds, CMSG_DATA(passed), 2 * sizeof(int));
	}
	return reply.err;
}

int worker_ask(const struct running_key *running, enum control_operation operation, int signal,
	       int fds[2], int *end)
{
	int pair[2], fd, err;

	err = begin_request(running->pid, &fd, pair);
	if (err)
		return err;
	err = send_request(fd, running, operation, signal, pair[1]);
	close(fd);
	close(pair[1]);
	if (!err)
		err = receive_reply(pair[0], fds);
	if (!err && end)
		*end = pair[0];
	else
		close(pair[0]);
	return err;
}

/* Receives a reply with bytes behind it. Returns as worker_command(). */
static int receive_answer(int fd, struct worker_answer *answer)
{
	struct control_reply reply = { 0 };
	struct iovec parts[] = {
		{ &reply, sizeof(reply) },
		{ answer->text, sizeof(answer->text) },
	};
	struct msghdr header = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t got;

	do {
		got = recvmsg(fd, &header, 0);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	if (!got)
		return -ESTALE;
	if (got < (ssize_t)sizeof(reply) || reply.size != sizeof(reply))
		return -EPROTO;
	answer->len = got - sizeof(reply);
	return reply.err;
}

int worker_command(pid_t pid, enum control_operation operation, const char *text,
		   struct worker_answer *answer)
{
	static struct running_key request;	/* too large for the stack */
	int pair[2], fd, err;

	request = (struct running_key){ .pid = pid, .key_len = strlen(text) };
	if (request.key_len > sizeof(request.key))
		return -EMSGSIZE;
	memcpy(request.key, text, request.key_len);
	*answer = (struct worker_answer){ 0 };
	err = begin_request(pid, &fd, pair);
	if (err)
		return err;
	err = send_request(fd, &request, operation, 0, pair[1]);
	close(fd);
	close(pair[1]);
	if (!err) {
		err = receive_answer(pair[0], answer);
		if (operation == CONTROL_STATE && !err &&
		    (answer->len != sizeof(answer->state) ||
		     answer->state.size != sizeof(answer->state)))
			err = -EPROTO;
	}
	close(pair[0]);
	return err;
}

int complain_worker(const char *queue, const struct running_key *running, int err)
{
	char key[ESCAPED_SIZE(KWQ_KEY_MAX)], name[PROCESS_NAME_SIZE];

	escape_text(key, running->key, running->key_len);
	switch (err) {
	case -ESRCH:
		if (!running->pid)
			message("%s: %s: the process that got it is gone, or not visible here",
				queue, key);
		else
			message("%s: %s: process %d (%s) has it, and is not kwq run: kill %d ends that process, and its keys go back",
				queue, key, running->pid, process_name(name, running->pid),
				running->pid);
		break;
	case -ESTALE:
		message("%s: %s: its job has just ended", queue, key);
		break;
	case -EPERM:
		message("%s: %s: its worker, process %d, is another user's", queue, key,
			running->pid);
		break;
	case -EOPNOTSUPP:
		message("%s: %s: its worker has --output pass: the output is where the worker's is",
			queue, key);
		break;
	case -ETIMEDOUT:
		message("%s: %s: its worker, process %d, does not answer: it is stopped, or busy",
			queue, key, running->pid);
		break;
	case -EPROTO:
		message("%s: %s: its worker, process %d, is another version of kwq", queue, key,
			running->pid);
		break;
	default:
		message("%s: %s: %s", queue, key, strerror(-err));
	}
	return STATUS_FAILED;
}

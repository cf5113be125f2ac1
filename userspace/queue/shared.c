// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "shared.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* The one queue that a command reaches so. */
static const struct kwq *attached;
static int fd = -1;
static const struct shared_machine *machines;
static uint32_t nr_machines;

size_t shared_address(struct sockaddr_un *address, uint64_t queue)
{
	int len;

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	/* It begins with a NUL: an abstract one. */
	len = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1,
		       "kwq-share/%" PRIu64, queue);
	return offsetof(struct sockaddr_un, sun_path) + 1 + len;
}

/* Anybody may listen there first. */
static bool is_trusted(int to, uint32_t owner)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(to, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return false;
	return !peer.uid || peer.uid == owner || peer.uid == geteuid();
}

int shared_attach(const struct kwq *q)
{
	struct kwq_stat st = { .size = sizeof(st) };
	struct sockaddr_un address;
	int err = kwq_stat(q, &st), to;
	size_t len;

	if (err)
		return err;
	len = shared_address(&address, st.id);
	to = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (to < 0)
		return -errno;
	err = connect(to, (struct sockaddr *)&address, len) ? -errno :
	      is_trusted(to, st.uid) ? 0 : -EPERM;
	if (err) {
		close(to);
		return err;
	}
	fd = to;
	attached = q;
	return 0;
}

bool shared_is_attached(const struct kwq *q)
{
	return attached && attached == q;
}

static int send_request(const struct shared_request *request, const char *key)
{
	union {
		struct cmsghdr aligned;
		char bytes[CMSG_SPACE(sizeof(int))];
	} extras = { 0 };
	struct iovec parts[] = {
		{ (void *)request, sizeof(*request) },
		{ (char *)key, request->key_len },
	};
	struct msghdr header = {
		.msg_iov = parts,
		.msg_iovlen = 2,
		.msg_control = &extras,
		.msg_controllen = sizeof(extras),
	};
	int handle = kwq_fd(attached);

	extras.aligned.cmsg_level = SOL_SOCKET;
	extras.aligned.cmsg_type = SCM_RIGHTS;
	extras.aligned.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&extras.aligned), &handle, sizeof(handle));
	return sendmsg(fd, &header, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* @list: receives the descriptor that comes with the answer, or -1 */
static int receive_answer(int *list)
{
	struct shared_answer answer = { 0 };
	union {
		struct cmsghdr aligned;
		char bytes[CMSG_SPACE(sizeof(int))];
	} extras;
	struct iovec part = { &answer, sizeof(answer) };
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &extras,
		.msg_controllen = sizeof(extras),
	};
	const struct cmsghdr *passed;
	ssize_t got;

	*list = -1;
	do {
		got = recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	/* It has ended. */
	if (!got)
		return -ECONNRESET;
	passed = CMSG_FIRSTHDR(&header);
	if (passed && passed->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(list, CMSG_DATA(passed), sizeof(*list));
	if (got != sizeof(answer) || answer.size != sizeof(answer))
		return -EPROTO;
	return answer.result;
}

static int ask(const struct shared_request *request, const char *key, int *list)
{
	int err = send_request(request, key);

	return err ? err : receive_answer(list);
}

int shared_ask(enum shared_operation operation, const char *key, size_t len)
{
	const struct shared_request request = {
		.size = sizeof(request), .operation = operation, .key_len = len,
	};
	int list, ret = ask(&request, key, &list);

	if (list >= 0)
		close(list);
	return ret;
}

const char *shared_refusal(int err)
{
	if (!attached)
		return NULL;
	switch (err) {
	case -ETIMEDOUT:
		return "nobody has answered in time: are the servers up, and is there a master? "
		       "It may be done still";
	case -EAGAIN:
		return "too much is asked of this machine: try again";
	case -ECONNRESET:
	case -EPIPE:
	case -ESHUTDOWN:
		return "kwq share has ended";
	case -EPROTO:
		return "kwq share is another version: restart it";
	case -EACCES:
		return "this needs another right to the queue";
	default:
		return NULL;
	}
}

/* Maps a list. Returns NULL if it is none. */
static const struct shared_list *map(int from, size_t *size)
{
	const struct shared_list *list;
	struct stat st;

	if (fstat(from, &st) || (size_t)st.st_size < sizeof(*list))
		return NULL;
	*size = st.st_size;
	list = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, from, 0);
	if (list == MAP_FAILED)
		return NULL;
	if (list->size != sizeof(*list) ||
	    (*size - sizeof(*list)) / sizeof(*machines) < list->nr_machines)
		return NULL;
	machines = (const void *)(list + 1);
	nr_machines = list->nr_machines;
	return list;
}

int shared_list(uint32_t states, uint32_t flags, const char *key, size_t len,
		const struct shared_list **list, size_t *size)
{
	const struct shared_request request = {
		.size = sizeof(request), .operation = SHARED_LIST, .states = states,
		.flags = flags, .key_len = len,
	};
	int from, ret = ask(&request, key, &from);

	if (!ret) {
		*list = from < 0 ? NULL : map(from, size);
		ret = *list ? 0 : -EPROTO;
	}
	if (from >= 0)
		close(from);
	return ret;
}

const char *shared_machine_name(int pid)
{
	return (uint32_t)-pid <= nr_machines ? machines[-pid - 1].name : "-";
}

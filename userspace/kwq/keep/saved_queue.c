// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "saved_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "base/read_clock.h"

int saved_queue_read(const struct kwq *q, struct saved_queue *queue)
{
	struct kwq_stat st = { .size = sizeof(st) };
	int err;

	memset(queue, 0, sizeof(*queue));
	err = kwq_stat(q, &st);
	if (err)
		return err;
	queue->config = (struct kwq_config){
		.size = sizeof(queue->config),
		.nr = ARRAY_SIZE(queue->limiters),
		.limiters = kwq_ptr(queue->limiters),
		.limiter_size = sizeof(queue->limiters[0]),
	};
	err = kwq_config(q, &queue->config);
	if (err)
		return err;
	queue->config.limiters = 0;
	queue->saved_at = read_clock(CLOCK_REALTIME);
	queue->max_items = st.max_items;
	queue->max_bytes = st.max_bytes;
	queue->lease = st.lease;
	queue->aging = st.aging;
	queue->paused_for = st.paused_for;
	queue->state = st.state & (KWQ_STATE_SHUT_DOWN | KWQ_STATE_PAUSED);
	queue->create_flags = st.create_flags;
	queue->group_limit = st.group_limit;
	queue->clockid = st.clockid;
	queue->mode = st.mode;
	queue->uid = st.uid;
	queue->gid = st.gid;
	memcpy(queue->name, st.name, sizeof(queue->name));
	return 0;
}

static __u64 at_most(const char *what, const char *name, __u64 wanted, __u64 limit)
{
	if (wanted <= limit)
		return wanted;
	message("%s: its limit of %s is lowered from %llu to the module's %llu", name, what,
		(unsigned long long)wanted, (unsigned long long)limit);
	return limit;
}

/* An outbox belongs to a manager, and no file says which queue that was. */
static __u32 without_outbox(__u32 flags, const char *name)
{
	if (flags & KWQ_CREATE_OUTBOX)
		message("%s: had an outbox, and has none now; see kwq debug create --outbox", name);
	return flags & ~KWQ_CREATE_OUTBOX;
}

static void fill_create(struct kwq_create_args *args, struct kwq_config *config,
			const struct saved_queue *queue, const char *name)
{
	struct kwq_info info = { .size = sizeof(info), .max_items = UINT64_MAX,
				 .max_bytes = UINT64_MAX };

	kwq_info(&info);
	*config = queue->config;
	config->size = sizeof(*config);
	config->limiters = kwq_ptr(queue->limiters);
	config->limiter_size = sizeof(queue->limiters[0]);
	*args = (struct kwq_create_args){
		.size = sizeof(*args),
		.flags = without_outbox(queue->create_flags, name),
		.open_flags = O_CLOEXEC,
		.mode = queue->mode,
		.clockid = queue->clockid,
		.rights = KWQ_RIGHTS_ALL,
		.max_items = at_most("items", name, queue->max_items, info.max_items),
		.max_bytes = at_most("bytes", name, queue->max_bytes, info.max_bytes),
		.config = kwq_ptr(config),
		.lease = queue->lease,
		.aging = queue->aging,
		.group_limit = queue->group_limit,
	};
	memcpy(args->name, name, strlen(name));
}

/* Creates a queue as the user who owned it. Returns a descriptor, or -1 with errno. */
static int create_as(int device, struct kwq_create_args *args, uid_t uid, gid_t gid)
{
	int fd = -1, err;

	/* Without root's rights, so that the queue counts in its owner's quota. */
	if (!setegid(gid) && !seteuid(uid))
		fd = ioctl(device, KWQ_IOC_CREATE, args);
	err = errno;
	if (seteuid(0) || setegid(getgid()))
		exit(complain("root", -errno));
	errno = err;
	return fd;
}

int saved_queue_create(struct kwq **q, const struct saved_queue *queue, const char *name)
{
	bool as_another = !geteuid() && (queue->uid || queue->gid != getegid());
	struct kwq_create_args args;
	struct kwq_config config;
	int device, fd, err;
	mode_t mask;

	if (strlen(name) > KWQ_NAME_MAX)
		return -ENAMETOOLONG;
	fill_create(&args, &config, queue, name);
	/* The owner may not be allowed to open the device. */
	device = open("/dev/kwq", O_RDWR | O_CLOEXEC);
	if (device < 0)
		return errno == ENOENT || errno == ENXIO ? -ENODEV : -errno;
	mask = umask(0);
	fd = as_another ? create_as(device, &args, queue->uid, queue->gid) :
			  ioctl(device, KWQ_IOC_CREATE, &args);
	err = fd < 0 ? -errno : kwq_from_fd(q, fd);
	umask(mask);
	close(device);
	return err;
}

int saved_queue_set_state(struct kwq *q, const struct saved_queue *queue, uint32_t state)
{
	if (!(queue->state & state))
		return 0;
	if (state == KWQ_STATE_SHUT_DOWN)
		return kwq_shut_down(q);
	return queue->paused_for == UINT64_MAX ? kwq_pause(q) : kwq_pause_for(q, queue->paused_for);
}

bool saved_queue_can_have(const struct kwq *q, uint32_t needs, const char *name)
{
	struct kwq_stat st = { .size = sizeof(st) };
	uint32_t lacks;

	if (kwq_stat(q, &st))
		return true;
	lacks = needs & ~st.create_flags;
	if (lacks)
		message("%s: the queue has no %s, but its saved keys have", name,
			lacks & KWQ_CREATE_VALUES ? "values" : "groups");
	return !lacks;
}

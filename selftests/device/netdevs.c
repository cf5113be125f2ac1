// SPDX-License-Identifier: GPL-2.0-only
/*
 * K12: a driver adds keys to the queue of a program. kmod/samples/kwq_netdevs.c adds the names of
 * network devices that change. Here devices come, flap and go, queues are closed, shut down, full
 * and unlinked meanwhile, and in the end each add of the driver is an add, a coalesced one or a
 * refused one of the queue.
 *
 * KWQ_LINK_KO is the path of a module in the folder of kwq_netdevs.ko, /kwq_link.ko by default.
 * /dummy.ko creates the devices; it is loaded if it exists, else taken as built in.
 */
#include "kwq_test.h"

#include <linux/if.h>
#include <sys/socket.h>

#define DEVICE		"/dev/kwq_netdevs"
#define FEED		_IOW('k', 1, int)
#define ADDS		"/sys/module/kwq_netdevs/parameters/adds"
#define NAMED		"kwq-netdevs-test"
/* Only a hang takes this long. */
#define HANG		(60 * SEC)

static int load(const char *path, const char *arguments)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = syscall(__NR_finit_module, fd, arguments, 0) ? -errno : 0;
	close(fd);
	return ret;
}

static int load_module(const char *arguments)
{
	const char *link = getenv("KWQ_LINK_KO") ?: "/kwq_link.ko";
	char path[4096];

	snprintf(path, sizeof(path), "%.*s/kwq_netdevs.ko", (int)(strrchr(link, '/') - link), link);
	return load(path, arguments);
}

static int unload(void)
{
	return syscall(__NR_delete_module, "kwq_netdevs", O_NONBLOCK) ? -errno : 0;
}

static long long adds(void)
{
	return read_number(ADDS);
}

FIXTURE(netdevs)
{
	int dev;
	int q;
	int feeder;
	int socket;
};

FIXTURE_SETUP(netdevs)
{
	int ret = load("/dummy.ko", "");

	ASSERT_TRUE(!ret || ret == -ENOENT || ret == -EEXIST);
	/* In a namespace of its own nothing but these tests changes a device. */
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = new_queue(self->dev);
	ASSERT_LE(0, self->q);
	/* Requests on devices are the same by every socket, and each kernel has these. */
	self->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ASSERT_LE(0, self->socket);
	unload();
	ASSERT_EQ(0, load_module(""));
	self->feeder = open(DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->feeder);
}

FIXTURE_TEARDOWN(netdevs)
{
	close(self->feeder);
	close(self->socket);
	if (self->q >= 0)
		close(self->q);
	q_unlink(self->dev, NAMED);
	close(self->dev);
	if (!access("/sys/module/kwq_netdevs", F_OK))
		EXPECT_EQ(0, unload());
}

static int feed(int feeder, int q)
{
	return ioctl(feeder, FEED, q) ? -errno : 0;
}

static void make_device(const char *name)
{
	char command[128];

	snprintf(command, sizeof(command), "ip link add name %s type dummy", name);
	REQUIRE(!system(command));
}

static void delete_device(const char *name)
{
	char command[128];

	snprintf(command, sizeof(command), "ip link del dev %s", name);
	REQUIRE(!system(command));
}

static void set_up(int socket, const char *name, bool up)
{
	struct ifreq request = { .ifr_flags = up ? IFF_UP : 0 };

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	REQUIRE(!ioctl(socket, SIOCSIFFLAGS, &request));
}

/* Waits for the next name, and finishes it. */
static void expect_device(struct __test_metadata *_metadata, int q, const char *name)
{
	struct item item;

	ASSERT_EQ(1, q_get(q, &item, 0, now_ns() + HANG));
	EXPECT_EQ(strlen(name), item.key_len);
	EXPECT_EQ(0, memcmp(name, item.key, strlen(name)));
	ASSERT_LE(0, q_done(q, item.ticket));
}

/* Each add of the driver is one of these three, once the worker has carried it out. */
static void check_events(struct __test_metadata *_metadata, int q, long long nr)
{
	__u64 begin = now_ns();
	struct kwq_stat stat;

	do {
		ASSERT_EQ(0, q_stat(q, &stat));
		ASSERT_LT(now_ns(), begin + HANG) {
			TH_LOG("%lld adds of the driver, but %llu adds, %llu coalesced, %llu refused",
			       nr, stat.adds, stat.coalesced, stat.refused);
		}
	} while (stat.adds + stat.coalesced + stat.refused != nr);
	/* It stays so. */
	poll(NULL, 0, 10);
	ASSERT_EQ(0, q_stat(q, &stat));
	EXPECT_EQ(nr, stat.adds + stat.coalesced + stat.refused);
	TH_LOG("%lld adds of the driver: %llu adds, %llu coalesced, %llu refused", nr, stat.adds,
	       stat.coalesced, stat.refused);
}

/* The names that exist come first, then those that change. */
TEST_F(netdevs, names_arrive)
{
	struct item item;

	ASSERT_EQ(0, feed(self->feeder, self->q));
	expect_device(_metadata, self->q, "lo");
	make_device("kwqn0");
	expect_device(_metadata, self->q, "kwqn0");
	set_up(self->socket, "kwqn0", true);
	expect_device(_metadata, self->q, "kwqn0");
	set_up(self->socket, "kwqn0", false);
	expect_device(_metadata, self->q, "kwqn0");
	REQUIRE(!system("ip link set dev kwqn0 name kwqn1"));
	expect_device(_metadata, self->q, "kwqn1");
	delete_device("kwqn1");
	expect_device(_metadata, self->q, "kwqn1");
	check_events(_metadata, self->q, adds());
	/* After the end of the feed nothing comes. */
	close(self->feeder);
	make_device("kwqn0");
	delete_device("kwqn0");
	while (q_try_get(self->q, &item) == 1)
		ASSERT_LE(0, q_done(self->q, item.ticket));
	self->feeder = -1;
	check_events(_metadata, self->q, adds());
}

/* A hold is no handle, and has the rights of the descriptor that gave it. */
TEST_F(netdevs, rights)
{
	int other = q_open_with(self->q, NULL, KWQ_RIGHT_READ | KWQ_RIGHT_MANAGE, O_CLOEXEC);
	struct kwq_stat stat;

	ASSERT_LE(0, other);
	EXPECT_EQ(-EBADF, feed(self->feeder, -1));
	EXPECT_EQ(-EBADF, feed(self->feeder, other));
	EXPECT_EQ(-EINVAL, feed(self->feeder, self->dev));
	EXPECT_EQ(-EINVAL, feed(self->feeder, self->feeder));
	EXPECT_EQ(0, adds());
	close(other);
	ASSERT_EQ(0, feed(self->feeder, self->q));
	EXPECT_EQ(-EBUSY, feed(self->feeder, self->q));
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(1, stat.handles);
	EXPECT_EQ(-EWOULDBLOCK, unload());
}

/* The descriptor that was given has write as its only right. */
TEST_F(netdevs, writer_gives_the_queue)
{
	int writer = q_open_with(self->q, NULL, KWQ_RIGHT_WRITE, O_CLOEXEC);

	ASSERT_LE(0, writer);
	ASSERT_EQ(0, feed(self->feeder, writer));
	close(writer);
	expect_device(_metadata, self->q, "lo");
}

#define DEVICES	8
#define FLAPS	400

static void make_devices(void)
{
	char name[16];

	for (int i = 0; i < DEVICES; i++) {
		snprintf(name, sizeof(name), "kwqn%d", i);
		make_device(name);
	}
}

/* Flaps all devices, and leaves them up. */
static void flap(int socket)
{
	char name[16];

	for (int i = 0; i < FLAPS; i++) {
		snprintf(name, sizeof(name), "kwqn%d", i % DEVICES);
		set_up(socket, name, false);
		set_up(socket, name, true);
	}
}

struct getter {
	pthread_t thread;
	int q;
	int gets;
};

static void *get_until_shut_down(void *arg)
{
	struct getter *getter = arg;
	struct item item;

	while (q_get(getter->q, &item, 0, KWQ_NO_DEADLINE) == 1) {
		REQUIRE(q_done(getter->q, item.ticket) >= 0);
		getter->gets++;
	}
	return NULL;
}

/* Each event is counted once, while a worker gets, and after the queue is shut down. */
TEST_F_TIMEOUT(netdevs, every_event_is_counted, 280)
{
	struct getter getter = { .q = self->q };
	struct kwq_stat stat;

	make_devices();
	ASSERT_EQ(0, feed(self->feeder, self->q));
	ASSERT_EQ(0, pthread_create(&getter.thread, NULL, get_until_shut_down, &getter));
	flap(self->socket);
	check_events(_metadata, self->q, adds());
	EXPECT_LT(2 * FLAPS, adds());
	ASSERT_EQ(0, q_shut_down(self->q));
	ASSERT_EQ(0, pthread_join(getter.thread, NULL));
	EXPECT_LT(0, getter.gets);
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(0, stat.refused);
	flap(self->socket);
	check_events(_metadata, self->q, adds());
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_LT(2 * FLAPS - 1, stat.refused);
}

/* A name waits in the queue once, however often its device changes. */
TEST_F_TIMEOUT(netdevs, queue_is_as_long_as_there_are_names, 280)
{
	struct kwq_stat stat;

	make_devices();
	ASSERT_EQ(0, feed(self->feeder, self->q));
	flap(self->socket);
	check_events(_metadata, self->q, adds());
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(DEVICES + 1, stat.ready);
	EXPECT_EQ(DEVICES + 1, stat.adds);
	EXPECT_EQ(0, stat.refused);
}

/* A queue with too little room refuses names, and says so. */
TEST_F_TIMEOUT(netdevs, full_queue_refuses, 280)
{
	int q = new_queue_with(self->dev, CLOCK_MONOTONIC, 3, 0);
	struct kwq_stat stat;

	ASSERT_LE(0, q);
	make_devices();
	ASSERT_EQ(0, feed(self->feeder, q));
	check_events(_metadata, q, adds());
	ASSERT_EQ(0, q_stat(q, &stat));
	EXPECT_EQ(3, stat.ready);
	EXPECT_EQ(DEVICES + 1 - 3, stat.refused);
	close(q);
}

/* The program has closed its queue, and the driver goes on. */
TEST_F_TIMEOUT(netdevs, queue_goes_under_a_running_driver, 280)
{
	make_devices();
	for (int i = 0; i < 5; i++) {
		ASSERT_EQ(0, feed(self->feeder, self->q));
		set_up(self->socket, "kwqn0", i % 2);
		close(self->q);
		flap(self->socket);
		close(self->feeder);
		self->feeder = open(DEVICE, O_RDWR | O_CLOEXEC);
		ASSERT_LE(0, self->feeder);
		self->q = new_queue(self->dev);
		ASSERT_LE(0, self->q);
	}
	/* The program ends, and with it its files. */
	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();

		ASSERT_LE(0, pid);
		if (!pid) {
			set_up(self->socket, "kwqn1", i % 2);
			_exit(feed(self->feeder, self->q) && i == 0);
		}
		flap(self->socket);
		EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	}
	expect_device(_metadata, self->q, "lo");
}

static void *enter_namespace(void *arg)
{
	int *socket_fd = arg;

	REQUIRE(!unshare(CLONE_NEWNET));
	*socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return NULL;
}

/* A program learns of the devices of its own namespace only. */
TEST_F(netdevs, other_namespace_is_not_seen)
{
	struct item item;
	pthread_t thread;
	int there;

	ASSERT_EQ(0, feed(self->feeder, self->q));
	expect_device(_metadata, self->q, "lo");
	ASSERT_EQ(0, pthread_create(&thread, NULL, enter_namespace, &there));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	ASSERT_LE(0, there);
	set_up(there, "lo", true);
	close(there);
	make_device("kwqn0");
	expect_device(_metadata, self->q, "kwqn0");
	EXPECT_EQ(-EAGAIN, q_try_get(self->q, &item));
}

/* The parameter of the module names a queue, in the namespace of whoever loads it. */
TEST_F(netdevs, queue_with_a_name)
{
	int q = q_create(self->dev, NAMED, 0, O_CLOEXEC, 0600);
	struct kwq_stat stat;

	ASSERT_LE(0, q);
	close(self->feeder);
	self->feeder = -1;
	ASSERT_EQ(0, unload());
	EXPECT_EQ(-ENOENT, load_module("queue=kwq-no-such-queue"));
	EXPECT_EQ(-EINVAL, load_module("queue=a/b"));
	ASSERT_EQ(0, load_module("queue=" NAMED));
	expect_device(_metadata, q, "lo");
	make_device("kwqn0");
	expect_device(_metadata, q, "kwqn0");
	/* Its name keeps it. */
	close(q);
	delete_device("kwqn0");
	q = q_open(self->dev, NAMED, O_CLOEXEC);
	ASSERT_LE(0, q);
	expect_device(_metadata, q, "kwqn0");
	check_events(_metadata, q, adds());
	ASSERT_EQ(0, q_stat(q, &stat));
	EXPECT_EQ(0, stat.refused);
	/* Without name and descriptor it is gone. */
	ASSERT_EQ(0, q_unlink(self->dev, NAMED));
	make_device("kwqn0");
	expect_device(_metadata, q, "kwqn0");
	close(q);
	delete_device("kwqn0");
	EXPECT_EQ(0, unload());
}

TEST_HARNESS_MAIN

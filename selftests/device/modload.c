// SPDX-License-Identifier: GPL-2.0-only
/*
 * O6: the module is loaded and unloaded under traffic, and leaves nothing behind.
 *
 * KWQ_KO is the path of the module, /kwq.ko by default. After the tests the module is
 * loaded again with its former parameters.
 */
#include "kwq_test.h"

#include <dirent.h>
#include <sys/socket.h>

#define MODULE		"/sys/module/kwq"
#define PARAMETERS	MODULE "/parameters"

static char parameters[512];

static void read_parameters(void)
{
	DIR *dir = opendir(PARAMETERS);
	struct dirent *entry;

	parameters[0] = '\0';
	while (dir && (entry = readdir(dir))) {
		char path[512], value[64];
		size_t len = strlen(parameters);

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), PARAMETERS "/%s", entry->d_name);
		REQUIRE(read_text(path, value, sizeof(value)) > 0);
		value[strcspn(value, "\n")] = '\0';
		snprintf(parameters + len, sizeof(parameters) - len, "%s=%s ", entry->d_name,
			 value);
	}
	if (dir)
		closedir(dir);
}

static int load(void)
{
	const char *path = getenv("KWQ_KO") ?: "/kwq.ko";
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = syscall(__NR_finit_module, fd, parameters, 0);
	if (ret)
		ret = -errno;
	close(fd);
	return ret;
}

static int unload(void)
{
	return syscall(__NR_delete_module, "kwq", O_NONBLOCK) ? -errno : 0;
}

static bool in_file(const char *path, const char *what)
{
	char line[512];
	FILE *file = fopen(path, "re");
	bool found = false;

	REQUIRE(file);
	while (fgets(line, sizeof(line), file))
		found |= strstr(line, what) == line || strstr(line, what) > line;
	fclose(file);
	return found;
}

FIXTURE(modload)
{
	int unused;
};

FIXTURE_SETUP(modload)
{
	if (access(MODULE "/refcnt", F_OK))
		SKIP(return, "kwq is no module here, or is not loaded");
	ASSERT_EQ(0, access(getenv("KWQ_KO") ?: "/kwq.ko", R_OK));
	read_parameters();
	/* Earlier tests have left no queue. */
	ASSERT_EQ(0, read_number(MODULE "/refcnt"));
}

FIXTURE_TEARDOWN(modload)
{
	if (access(MODULE, F_OK))
		load();
}

/* Checks that no trace of the module is left. */
static void check_gone(struct __test_metadata *_metadata)
{
	EXPECT_NE(0, access(MODULE, F_OK));
	EXPECT_NE(0, access(KWQ_DEVICE, F_OK));
	EXPECT_NE(0, access("/sys/class/misc/kwq", F_OK));
	EXPECT_NE(0, access("/sys/kernel/tracing/events/kwq", F_OK));
	EXPECT_FALSE(in_file("/proc/modules", "kwq "));
	EXPECT_FALSE(in_file("/proc/misc", " kwq\n"));
}

static void check_there(struct __test_metadata *_metadata)
{
	EXPECT_EQ(0, access(MODULE, F_OK));
	EXPECT_EQ(0, access(KWQ_DEVICE, F_OK));
	EXPECT_EQ(0, read_number(MODULE "/refcnt"));
}

static void check_unloads(struct __test_metadata *_metadata)
{
	ASSERT_EQ(0, unload());
	check_gone(_metadata);
	ASSERT_EQ(0, load());
	check_there(_metadata);
}

TEST_F(modload, unload_and_load)
{
	check_there(_metadata);
	EXPECT_EQ(-EEXIST, load());
	for (int i = 0; i < 5; i++)
		check_unloads(_metadata);
}

/* A worker frees the outbox after its queue. The unload waits for it. */
TEST_F(modload, outbox_is_freed_late)
{
	char key[16];

	for (int i = 0; i < 4; i++) {
		int dev = open_device(), outbox = new_queue(dev), q;

		ASSERT_LE(0, outbox);
		q = new_queue_with_outbox(dev, KWQ_CREATE_CHANGES, outbox);
		ASSERT_LE(0, q);
		for (int n = 0; n < (i & 1 ? 3000 : 3); n++) {
			snprintf(key, sizeof(key), "key%d", n);
			ASSERT_EQ(KWQ_ADDED, q_add(q, key));
			if (i & 2)
				ASSERT_EQ(KWQ_RESTORED, q_grant(q, key, n));
		}
		close(outbox);
		close(q);
		close(dev);
		check_unloads(_metadata);
	}
}

/*
 * A failing allocation while the module is loaded: /proc/thread-self/fail-nth makes the
 * nth one from now on fail. The kernel makes most of them itself for any module, before
 * and after kwq's own.
 */

#define FAIL_NTH	"/proc/thread-self/fail-nth"
#define DEBUGFS		"/sys/kernel/debug/"
#define MANY		1000000
#define LAST_STEPS	60

/*
 * Returns the result of load(). *left is the number of steps not reached before the
 * failing one.
 */
static int load_and_fail(int nth, int *left)
{
	char text[16];
	int ret;

	snprintf(text, sizeof(text), "%d", nth);
	REQUIRE(!write_text(FAIL_NTH, text));
	ret = load();
	/* Reading the file allocates and copies, too, and may be the step that fails. */
	*left = read_number(FAIL_NTH);
	write_text(FAIL_NTH, "0");
	return ret;
}

/* Backwards: the kernel's own steps after kwq's are optional, and no load fails at one of them. */
TEST_F_TIMEOUT(modload, load_fails_at_any_of_the_last_steps, 200)
{
	int left, steps, tried = 0, failures = 0, last = 0;

	if (access(FAIL_NTH, F_OK))
		SKIP(return, "this kernel has no fault injection");
	write_text(DEBUGFS "failslab/ignore-gfp-wait", "N");
	write_text(DEBUGFS "failslab/verbose", "0");
	write_text(DEBUGFS "fail_page_alloc/verbose", "0");
	write_text(DEBUGFS "fail_usercopy/verbose", "0");
	ASSERT_EQ(0, unload());
	ASSERT_EQ(0, load_and_fail(MANY, &left));
	steps = MANY - left;
	for (int nth = steps; nth && tried < LAST_STEPS; nth--) {
		int ret;

		ASSERT_EQ(0, unload());
		ret = load_and_fail(nth, &left);
		if (ret) {
			last = last ?: nth;
			failures++;
			EXPECT_EQ(-ENOMEM, ret);
			check_gone(_metadata);
			ASSERT_EQ(0, load());
		} else {
			/* The failed step was optional. */
			check_there(_metadata);
		}
		tried += failures > 0;
	}
	EXPECT_LT(0, failures);
	TH_LOG("%d loads failed, at step %d of %d and before", failures, last, steps);
}

/* References that hold the module: "in use" until they are gone. */

TEST_F(modload, held_by_an_open_device)
{
	int dev = open_device();

	ASSERT_LE(0, dev);
	EXPECT_EQ(-EWOULDBLOCK, unload());
	close(dev);
	check_unloads(_metadata);
}

TEST_F(modload, held_by_a_queue)
{
	int dev = open_device(), q = new_queue(dev), second = q_reopen(q);
	struct item item;

	ASSERT_LE(0, second);
	close(dev);
	EXPECT_EQ(-EWOULDBLOCK, unload());
	ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(q, "b"));
	ASSERT_EQ(KWQ_WAITING, q_add_after(q, "w", 100 * USEC));
	ASSERT_EQ(1, q_try_get(second, &item));
	close(q);
	EXPECT_EQ(-EWOULDBLOCK, unload());
	close(second);
	check_unloads(_metadata);
}

TEST_F(modload, held_by_a_name)
{
	int dev = open_device(), q;

	q = q_create(dev, "modload", 0, O_CLOEXEC, 0700);
	ASSERT_LE(0, q);
	ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
	ASSERT_EQ(KWQ_WAITING, q_add_after(q, "w", 100 * USEC));
	close(q);
	close(dev);
	/* The queue has no handle, but its items must survive. */
	EXPECT_EQ(-EWOULDBLOCK, unload());
	dev = open_device();
	q = q_open(dev, "modload", O_CLOEXEC);
	ASSERT_LE(0, q);
	EXPECT_EQ(0, q_unlink(dev, "modload"));
	close(dev);
	EXPECT_EQ(-EWOULDBLOCK, unload());
	close(q);
	check_unloads(_metadata);
}

TEST_F(modload, held_by_a_wait)
{
	int dev = open_device(), q = new_queue(dev);
	struct sleeper s;

	ASSERT_LE(0, q);
	close(dev);
	start_poll(&s, q, POLLIN);
	EXPECT_EQ(-EWOULDBLOCK, unload());
	ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
	close(q);
	sleeper_join(&s);
	check_unloads(_metadata);

	dev = open_device();
	q = new_queue(dev);
	ASSERT_LE(0, q);
	ASSERT_EQ(KWQ_WAITING, q_add_after(q, "a", 20 * MSEC));
	s = (struct sleeper){ .call = call_get, .fd = q, .deadline = KWQ_NO_DEADLINE };
	sleeper_start(&s);
	close(dev);
	EXPECT_EQ(1, sleeper_join(&s));
	close(q);
	check_unloads(_metadata);
}

TEST_F(modload, held_by_a_descriptor_on_its_way)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { };
	char byte = 0;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	int dev = open_device(), q = new_queue(dev), sockets[2];

	ASSERT_LE(0, q);
	close(dev);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &q, sizeof(q));
	ASSERT_EQ(1, sendmsg(sockets[0], &msg, 0));
	close(q);
	EXPECT_EQ(-EWOULDBLOCK, unload());
	close(sockets[0]);
	close(sockets[1]);
	check_unloads(_metadata);
}

/* Load and unload repeatedly under traffic */

#define CYCLES		40
#define TRIES		20
#define PROCESSES	3

struct traffic {
	_Atomic bool stop;
	_Atomic bool hold;
	_Atomic int holding;
	_Atomic int queues;
	_Atomic int absent;
};

/* Gives the processor to the process that loads or unloads. */
static void pause_briefly(void)
{
	poll(NULL, 0, 4);
}

/* A named queue with waiting items holds the module until it is unlinked. */
static void name_and_finish(int dev)
{
	struct item item;
	char name[32];
	int q;

	snprintf(name, sizeof(name), "modload.%d", getpid());
	q = q_create(dev, name, 0, O_CLOEXEC, 0700);
	REQUIRE(q >= 0);
	REQUIRE(q_add(q, "a") == KWQ_ADDED);
	REQUIRE(q_try_get(q, &item) == 1);
	REQUIRE(q_done(q, item.ticket) == KWQ_FINISHED);
	REQUIRE(q_add_after(q, "b", 100 * USEC) == KWQ_WAITING);
	close(q);
	REQUIRE(!q_unlink(dev, name));
}

static int peer_is_traffic(struct peer *parent, void *arg)
{
	struct traffic *t = arg;
	unsigned int turn = getpid();

	(void)parent;
	while (!atomic_load(&t->stop)) {
		struct pollfd pollfd;
		struct item item;
		int dev, q, second;

		if (atomic_load(&t->hold)) {
			atomic_fetch_add(&t->holding, 1);
			while (atomic_load(&t->hold))
				pause_briefly();
			atomic_fetch_sub(&t->holding, 1);
			continue;
		}
		dev = open_device();
		if (dev < 0) {
			REQUIRE(dev == -ENOENT || dev == -ENXIO || dev == -ENODEV);
			atomic_fetch_add(&t->absent, 1);
			pause_briefly();
			continue;
		}
		q = new_queue(dev);
		second = q_reopen(q);
		REQUIRE(q >= 0 && second >= 0);
		if (turn % 4 < 2)
			name_and_finish(dev);
		close(dev);
		/* Items that are due just before, while, and just after the queue ends. */
		for (int i = 0; i < 8; i++) {
			char key[2] = { 'a' + i };

			REQUIRE(q_add_after(q, key, 1 + (turn * 7 + i * 30) % 300 * USEC) ==
				KWQ_WAITING);
		}
		REQUIRE(q_add(q, "z") == KWQ_ADDED);
		REQUIRE(q_try_get(turn % 2 ? q : second, &item) == 1);
		pollfd = (struct pollfd){ .fd = second, .events = POLLIN };
		poll(&pollfd, 1, 0);
		if (q_get(q, &item, 0, now_ns() + turn % 4 * 50 * USEC) == 1 && turn % 8 < 4)
			REQUIRE(q_done(q, item.ticket) == KWQ_FINISHED);
		if (turn++ % 4 == 0)
			q_shut_down(q);
		close(q);
		close(second);
		atomic_fetch_add(&t->queues, 1);
		/* Leave a moment now and then in which nothing is open. */
		if (turn % 2)
			pause_briefly();
	}
	return 0;
}

/*
 * Tries to unload while users come and go. If they never leave a gap, they are paused
 * with nothing open, and then the unload must succeed.
 */
static bool unload_under_traffic(struct __test_metadata *_metadata, struct traffic *t, int tries)
{
	for (int i = 0; i < tries; i++) {
		int ret = unload();

		if (!ret)
			return true;
		ASSERT_EQ(-EWOULDBLOCK, ret);
		sched_yield();
	}
	atomic_store(&t->hold, true);
	while (atomic_load(&t->holding) < PROCESSES)
		sched_yield();
	ASSERT_EQ(0, unload());
	atomic_store(&t->hold, false);
	return false;
}

TEST_F_TIMEOUT(modload, under_traffic, 200)
{
	struct traffic *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct peer peers[PROCESSES];
	int queues = 0, won = 0;

	ASSERT_NE(MAP_FAILED, t);
	for (int i = 0; i < PROCESSES; i++)
		start_peer(&peers[i], peer_is_traffic, t);
	for (int i = 0; i < CYCLES; i++) {
		/* Wait for new traffic since the last unload. */
		while (atomic_load(&t->queues) == queues)
			sched_yield();
		/* Sometimes the unload must succeed without a pause of the traffic. */
		won += unload_under_traffic(_metadata, t, i % 8 ? TRIES : INT_MAX);
		EXPECT_NE(0, access(MODULE, F_OK));
		EXPECT_NE(0, access(KWQ_DEVICE, F_OK));
		queues = atomic_load(&t->queues);
		ASSERT_EQ(0, load());
	}
	atomic_store(&t->stop, true);
	for (int i = 0; i < PROCESSES; i++)
		EXPECT_EQ(0, end_of_peer(&peers[i]));
	TH_LOG("%d queues in %d loads, %d opens without a device, %d unloads between two opens",
	       atomic_load(&t->queues), CYCLES, atomic_load(&t->absent), won);
	EXPECT_LE(CYCLES / 8, won);
	EXPECT_EQ(0, read_number(MODULE "/refcnt"));
	check_unloads(_metadata);
}

/* The parameters are restored. */
TEST_F(modload, parameters_stay)
{
	char before[sizeof(parameters)];

	memcpy(before, parameters, sizeof(before));
	EXPECT_NE('\0', before[0]);
	check_unloads(_metadata);
	read_parameters();
	EXPECT_STREQ(before, parameters);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * O5: names belong to a net namespace, and with it to a container.
 */
#include "kwq_test.h"

#include <grp.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>

#define REFCNT	"/sys/module/kwq/refcnt"

FIXTURE(namespaces)
{
	int dev;
	char name[32];
	int q;
	pid_t container;
};

typedef FIXTURE_DATA(namespaces) namespaces_fixture;

FIXTURE_SETUP(namespaces)
{
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	snprintf(self->name, sizeof(self->name), "namespaces.%d", getpid());
	self->q = q_create(self->dev, self->name, 0, O_CLOEXEC, 0700);
	ASSERT_LE(0, self->q);
}

FIXTURE_TEARDOWN(namespaces)
{
	q_unlink(self->dev, self->name);
	close(self->q);
	close(self->dev);
}

/* The number of names beginning with this one that the caller sees. */
static int nr_listed(int dev, const char *name)
{
	size_t len = strlen(name);
	struct kwq_list_entry entry;
	struct kwq_list_args list = {
		.size = sizeof(list),
		.entries = user_ptr(&entry),
		.nr = 1,
		.entry_size = sizeof(entry),
	};
	int nr = 0;

	while (request(dev, KWQ_IOC_LIST, &list) == 1) {
		nr += !memcmp(entry.name, name, len);
		memcpy(list.after, entry.name, sizeof(list.after));
	}
	return nr;
}

static int others_are_not_seen(struct peer *parent, void *arg)
{
	namespaces_fixture *self = arg;
	struct item item;
	int q;

	(void)parent;
	REQUIRE(!unshare(CLONE_NEWNET));
	REQUIRE(q_open(self->dev, self->name, 0) == -ENOENT);
	REQUIRE(q_unlink(self->dev, self->name) == -ENOENT);
	REQUIRE(nr_listed(self->dev, self->name) == 0);

	/* The same name is another queue here. */
	q = q_create(self->dev, self->name, 0, 0, 0700);
	REQUIRE(q >= 0);
	REQUIRE(q_add(q, "here") == KWQ_ADDED);
	REQUIRE(nr_listed(self->dev, self->name) == 1);
	REQUIRE(q_try_get(q, &item) == 1 && !strcmp(item.key, "here"));
	REQUIRE(q_unlink(self->dev, self->name) == 0);
	return 0;
}

TEST_F(namespaces, others_are_not_seen)
{
	struct peer child;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "there"));
	start_peer(&child, others_are_not_seen, self);
	EXPECT_EQ(0, end_of_peer(&child));
	EXPECT_EQ(1, nr_listed(self->dev, self->name));
	EXPECT_EQ(1, q_len(self->q));
}

/* A descriptor works in every namespace, for a named and an unnamed queue. */
static int descriptors_pass(struct peer *parent, void *arg)
{
	namespaces_fixture *self = arg;

	(void)parent;
	REQUIRE(!unshare(CLONE_NEWNET));
	REQUIRE(q_add(self->q, "a") == KWQ_ADDED);
	REQUIRE(q_reopen(self->q) >= 0);
	return 0;
}

TEST_F(namespaces, descriptors_pass)
{
	struct peer child;

	start_peer(&child, descriptors_pass, self);
	EXPECT_EQ(0, end_of_peer(&child));
	expect_take(self->q, "a");
}

static int leaves_names_behind(struct peer *parent, void *arg)
{
	namespaces_fixture *self = arg;
	char name[64];

	REQUIRE(!unshare(CLONE_NEWNET));
	for (int i = 0; i < 3; i++) {
		int q;

		snprintf(name, sizeof(name), "%s.%d", self->name, i);
		q = q_create(self->dev, name, 0, 0, 0700);
		REQUIRE(q >= 0);
		REQUIRE(q_add(q, "a") == KWQ_ADDED);
		close(q);
	}
	say(parent, 1);
	hear(parent);
	return 0;
}

/*
 * Names end with their namespace: nobody could unlink them, so they must not hold the
 * module.
 */
TEST_F(namespaces, names_end_with_their_namespace)
{
	long long before = read_number(REFCNT);
	double end = limit_clock() + 20;
	struct peer child;

	start_peer(&child, leaves_names_behind, self);
	ASSERT_EQ(1, hear(&child));
	EXPECT_EQ(before + 3, read_number(REFCNT));
	say(&child, 0);
	EXPECT_EQ(0, end_of_peer(&child));
	while (read_number(REFCNT) != before && limit_clock() < end)
		usleep(1000);
	EXPECT_EQ(before, read_number(REFCNT));
}

/* Becomes root of a new user namespace: a user without privileges outside. */
static void become_root_of(int namespaces)
{
	REQUIRE(!setgroups(0, NULL) && !setgid(1000) && !setuid(1000));
	REQUIRE(!unshare(namespaces));
	/* So that it may write to its own files in /proc. */
	REQUIRE(!prctl(PR_SET_DUMPABLE, 1));
	REQUIRE(!write_text("/proc/self/setgroups", "deny"));
	REQUIRE(!write_text("/proc/self/uid_map", "0 1000 1"));
	REQUIRE(!write_text("/proc/self/gid_map", "0 1000 1"));
}

static int root_of_a_user_namespace(struct peer *parent, void *arg)
{
	namespaces_fixture *self = arg;

	(void)parent;
	become_root_of(CLONE_NEWUSER);
	REQUIRE(q_open_with(self->dev, self->name, KWQ_RIGHT_READ, 0) == -EACCES);
	REQUIRE(q_unlink(self->dev, self->name) == -EPERM);
	return 0;
}

TEST_F(namespaces, root_elsewhere_is_not_root_here)
{
	struct peer child;

	start_peer(&child, root_of_a_user_namespace, self);
	EXPECT_EQ(0, end_of_peer(&child));
}

static int root_of_a_container(struct peer *parent, void *arg)
{
	namespaces_fixture *self = arg;

	(void)parent;
	become_root_of(CLONE_NEWUSER | CLONE_NEWNET);
	REQUIRE(q_create(self->dev, self->name, 0, 0, 0) >= 0);
	/* The queue's mode grants its owner nothing. */
	REQUIRE(q_open(self->dev, self->name, 0) >= 0);
	REQUIRE(q_unlink(self->dev, self->name) == 0);
	return 0;
}

TEST_F(namespaces, root_of_a_container_is_root_there)
{
	struct peer child;

	start_peer(&child, root_of_a_container, self);
	EXPECT_EQ(0, end_of_peer(&child));
}

static int root_of_a_container_with_guests(struct peer *parent, void *arg)
{
	namespaces_fixture *self = arg;
	int q;

	become_root_of(CLONE_NEWUSER | CLONE_NEWNET);
	say(parent, 1);
	hear(parent);
	/* The queue of the host's root. */
	REQUIRE(q_open_with(self->dev, self->name, KWQ_RIGHT_READ, 0) == -EACCES);
	REQUIRE(q_open_with(self->dev, self->name, ALL_RIGHTS, 0) == -EACCES);
	REQUIRE(q_unlink(self->dev, self->name) == -EPERM);
	/* One whose owner the container knows, and one of which it does not know the group. */
	REQUIRE(q_open_with(self->dev, "own", ALL_RIGHTS, 0) >= 0);
	REQUIRE(q_open_with(self->dev, "group", ALL_RIGHTS, 0) == -EACCES);
	REQUIRE(q_unlink(self->dev, "own") == 0);
	REQUIRE(q_unlink(self->dev, "group") == 0);
	q = q_create(self->dev, "own", 0, 0, 0);
	REQUIRE(q >= 0 && q_open_with(self->dev, "own", ALL_RIGHTS, 0) >= 0);
	return 0;
}

/* Enters the child's net namespace, but not its user namespace, and leaves queues there. */
static int guest_of_a_container(struct peer *parent, void *arg)
{
	namespaces_fixture *self = arg;
	char path[64];
	int ns;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", self->container);
	ns = open(path, O_RDONLY | O_CLOEXEC);
	REQUIRE(ns >= 0 && !setns(ns, CLONE_NEWNET));
	REQUIRE(q_create(self->dev, self->name, 0, 0, 0600) >= 0);
	setfsuid(1000);
	REQUIRE(q_create(self->dev, "group", 0, 0, 0) >= 0);
	setfsgid(1000);
	REQUIRE(q_create(self->dev, "own", 0, 0, 0) >= 0);
	(void)parent;
	return 0;
}

/* O5, U9: as for a file, root of a container has no power over those whom it does not know. */
TEST_F(namespaces, root_of_a_container_is_not_root_of_its_guests)
{
	struct peer container, guest;

	start_peer(&container, root_of_a_container_with_guests, self);
	ASSERT_EQ(1, hear(&container));
	self->container = container.pid;
	start_peer(&guest, guest_of_a_container, self);
	EXPECT_EQ(0, end_of_peer(&guest));
	say(&container, 0);
	EXPECT_EQ(0, end_of_peer(&container));
}

static int leaves_a_followed_queue(struct peer *parent, void *arg)
{
	namespaces_fixture *self = arg;
	const struct kwq_create_args create = {
		.size = sizeof(create), .flags = KWQ_CREATE_CHANGES, .rights = ALL_RIGHTS,
		.clockid = CLOCK_MONOTONIC, .mode = 0700, .name = "followed",
	};

	REQUIRE(!unshare(CLONE_NEWNET));
	self->q = request(self->dev, KWQ_IOC_CREATE, &create);
	REQUIRE(self->q >= 0);
	say(parent, self->q);
	hear(parent);
	return 0;
}

/* N8: the end of its namespace takes the name away, which the follower hears. */
TEST_F(namespaces, follower_hears_that_the_name_ended)
{
	struct reader r = { .of_queue = CREATION };
	struct listed_item read[1];
	struct kwq_stat stat;
	struct peer child;
	int pid_fd, q;

	start_peer(&child, leaves_a_followed_queue, self);
	pid_fd = syscall(SYS_pidfd_open, child.pid, 0);
	ASSERT_LE(0, pid_fd);
	q = syscall(SYS_pidfd_getfd, pid_fd, hear(&child), 0);
	close(pid_fd);
	ASSERT_LE(0, q);
	ASSERT_EQ(0, q_follow(q, &r.after));
	r.kept = r.after;
	say(&child, 0);
	EXPECT_EQ(0, end_of_peer(&child));
	EXPECT_EQ(0, q_changes(q, &r, read, 1, 0, KWQ_NO_DEADLINE));
	EXPECT_LT(CREATION, r.of_queue);
	ASSERT_EQ(0, q_stat(q, &stat));
	EXPECT_TRUE(stat.state & KWQ_STATE_UNLINKED);
	close(q);
}

TEST_HARNESS_MAIN

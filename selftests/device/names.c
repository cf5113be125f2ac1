// SPDX-License-Identifier: GPL-2.0-only
/*
 * U1, O4, O6: named queues: their life, the rights to open and unlink them, and their
 * list.
 */
#include "kwq_test.h"

#include <grp.h>
#include <sys/resource.h>

FIXTURE(names)
{
	int dev;
	char name[32];	/* of this test's queue; others begin with it and a dot */
	mode_t umask;
};

FIXTURE_SETUP(names)
{
	self->umask = umask(0);
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	snprintf(self->name, sizeof(self->name), "names.%d", getpid());
}

/* Unlinks queues that a failed test has left. */
FIXTURE_TEARDOWN(names)
{
	size_t len = strlen(self->name);
	struct kwq_list_entry entry;
	struct kwq_list_args list = {
		.size = sizeof(list),
		.entries = user_ptr(&entry),
		.nr = 1,
		.entry_size = sizeof(entry),
	};

	q_unlink(self->dev, self->name);
	memcpy(list.after, self->name, len);
	while (request(self->dev, KWQ_IOC_LIST, &list) == 1 &&
	       !memcmp(entry.name, self->name, len)) {
		q_unlink(self->dev, (char *)entry.name);
		memcpy(list.after, entry.name, sizeof(list.after));
	}
	umask(self->umask);
	close(self->dev);
}

static int create_named(int dev, const char *name)
{
	return q_create(dev, name, 0, O_CLOEXEC, 0700);
}

static int open_named(int dev, const char *name)
{
	return q_open(dev, name, O_CLOEXEC);
}

/* U1 */
TEST_F(names, create_and_open)
{
	int made, opened;

	EXPECT_EQ(-ENOENT, open_named(self->dev, self->name));
	made = create_named(self->dev, self->name);
	ASSERT_LE(0, made);
	opened = open_named(self->dev, self->name);
	ASSERT_LE(0, opened);
	ASSERT_EQ(KWQ_ADDED, q_add(made, "a"));
	expect_take(opened, "a");
	close(made);
	close(opened);
	EXPECT_EQ(0, q_unlink(self->dev, self->name));
	EXPECT_EQ(-ENOENT, open_named(self->dev, self->name));
	EXPECT_EQ(-ENOENT, q_unlink(self->dev, self->name));
}

/* U1: an existing queue is not created again; KWQ_CREATE_OR_OPEN opens it. */
TEST_F(names, exists)
{
	int q, second, fd;

	q = create_named(self->dev, self->name);
	ASSERT_LE(0, q);
	fd = next_fd();
	ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
	EXPECT_EQ(-EEXIST, create_named(self->dev, self->name));
	EXPECT_EQ(fd, next_fd());
	second = q_create(self->dev, self->name, KWQ_CREATE_OR_OPEN, O_CLOEXEC, 0700);
	ASSERT_LE(0, second);
	EXPECT_EQ(1, q_len(second));
	close(second);
	close(q);
	EXPECT_EQ(0, q_unlink(self->dev, self->name));
	second = q_create(self->dev, self->name, KWQ_CREATE_OR_OPEN, O_CLOEXEC, 0700);
	ASSERT_LE(0, second);
	EXPECT_EQ(0, q_len(second));
	close(second);
	EXPECT_EQ(0, q_unlink(self->dev, self->name));
}

/* U1: STAT of a named queue. */
TEST_F(names, stat)
{
	struct kwq_create_args create = {
		.size = sizeof(create),
		.open_flags = O_CLOEXEC,
		.rights = ALL_RIGHTS,
		.mode = 0642,
		.clockid = CLOCK_BOOTTIME,
		.max_items = 10,
		.max_bytes = 100000,
	};
	struct kwq_stat stat;
	int q;

	set_name(create.name, self->name);
	q = request(self->dev, KWQ_IOC_CREATE, &create);
	ASSERT_LE(0, q);
	ASSERT_EQ(0, q_stat(q, &stat));
	EXPECT_STREQ(self->name, (char *)stat.name);
	EXPECT_EQ(0642, stat.mode);
	EXPECT_EQ(geteuid(), stat.uid);
	EXPECT_EQ(getegid(), stat.gid);
	EXPECT_EQ(CLOCK_BOOTTIME, stat.clockid);
	EXPECT_EQ(10, stat.max_items);
	EXPECT_EQ(100000, stat.max_bytes);
	EXPECT_EQ(0, stat.state);
	EXPECT_EQ(0, q_unlink(self->dev, self->name));
	ASSERT_EQ(0, q_stat(q, &stat));
	EXPECT_EQ(KWQ_STATE_UNLINKED, stat.state);
	EXPECT_STREQ(self->name, (char *)stat.name);
	close(q);
}

/* U1: invalid names, in each request that takes a name. */
static void check_name(struct __test_metadata *_metadata, int dev, int want, const __u8 *name)
{
	struct kwq_create_args create = {
		.size = sizeof(create),
		.rights = ALL_RIGHTS,
		.mode = 0700,
	};
	struct kwq_open_args arg = { .size = sizeof(arg), .rights = ALL_RIGHTS };
	struct kwq_unlink_args unlink = { .size = sizeof(unlink) };
	int fd = next_fd();

	create.clockid = CLOCK_MONOTONIC;
	memcpy(create.name, name, sizeof(create.name));
	memcpy(arg.name, name, sizeof(arg.name));
	memcpy(unlink.name, name, sizeof(unlink.name));
	EXPECT_EQ(want, request(dev, KWQ_IOC_CREATE, &create));
	create.flags = KWQ_CREATE_OR_OPEN;
	EXPECT_EQ(want, request(dev, KWQ_IOC_CREATE, &create));
	EXPECT_EQ(want, request(dev, KWQ_IOC_OPEN, &arg));
	EXPECT_EQ(want, request(dev, KWQ_IOC_UNLINK, &unlink));
	EXPECT_EQ(fd, next_fd());
}

TEST_F(names, not_a_name)
{
	static const char * const wrong[] = { ".", "..", "/", "a/b", "/a", "a/", "./a", "../a" };
	__u8 name[KWQ_NAME_MAX + 1];

	for (int i = 0; i < ARRAY_SIZE(wrong); i++) {
		set_name(name, wrong[i]);
		check_name(_metadata, self->dev, -EINVAL, name);
	}
	/* Too long: the NUL is missing. */
	memset(name, 'n', sizeof(name));
	check_name(_metadata, self->dev, -ENAMETOOLONG, name);
	memset(name, '/', sizeof(name));
	check_name(_metadata, self->dev, -ENAMETOOLONG, name);
	/* Bytes behind the NUL. */
	set_name(name, "n");
	name[KWQ_NAME_MAX] = 'n';
	check_name(_metadata, self->dev, -EINVAL, name);
	name[KWQ_NAME_MAX] = 0;
	name[2] = 'n';
	check_name(_metadata, self->dev, -EINVAL, name);

	/* An empty name where a name is needed. */
	EXPECT_EQ(-EINVAL, open_named(self->dev, ""));
	EXPECT_EQ(-EINVAL, q_unlink(self->dev, ""));
}

/* U1: an unlinked queue lives on without its name, and the name is free at once. */
TEST_F(names, unlinked)
{
	struct kwq_stat stat;
	struct sleeper s;
	struct item item;
	int q, second;

	q = create_named(self->dev, self->name);
	ASSERT_LE(0, q);
	ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
	expect_next(q, &item, "a");
	start_get(&s, q);
	ASSERT_EQ(0, q_unlink(self->dev, self->name));
	second = create_named(self->dev, self->name);
	ASSERT_LE(0, second);
	EXPECT_EQ(0, q_len(second));
	ASSERT_EQ(KWQ_ADDED, q_add(q, "b"));
	EXPECT_EQ(1, sleeper_join(&s));
	EXPECT_EQ(KWQ_FINISHED, q_done(q, item.ticket));
	check_stat(q, .processing = 1, .items = 1, .state = KWQ_STATE_UNLINKED);
	check_stat(second, .items = 0);

	/* A second handle of the old queue belongs to the old queue. */
	close(q_reopen(q));
	q = q_reopen(q);
	ASSERT_EQ(0, q_stat(q, &stat));
	EXPECT_EQ(KWQ_STATE_UNLINKED, stat.state);
	/* Unlinking goes by the name, so it affects the new queue. */
	EXPECT_EQ(0, q_unlink(self->dev, self->name));
	check_stat(second, .items = 0, .state = KWQ_STATE_UNLINKED);
	close(q);
	close(second);
}

static int peer_creates_and_leaves(struct peer *parent, void *arg)
{
	int dev = open_device();
	int q = create_named(dev, arg);

	REQUIRE(q >= 0);
	REQUIRE(q_add(q, "a") == KWQ_ADDED);
	REQUIRE(q_add_after(q, "w", HOUR) == KWQ_WAITING);
	say(parent, 0);
	hear(parent);
	return 0;
}

/* U1, O1: a named queue needs no handle, and survives its creator. */
TEST_F(names, persists)
{
	struct kwq_stat stat;
	struct peer child;
	int q;

	start_peer(&child, peer_creates_and_leaves, self->name);
	ASSERT_EQ(0, hear(&child));
	EXPECT_EQ(-SIGKILL, kill_peer(&child));
	q = open_named(self->dev, self->name);
	ASSERT_LE(0, q);
	check_stat(q, .ready = 1, .waiting = 1, .items = 2);
	ASSERT_EQ(0, q_stat(q, &stat));
	EXPECT_EQ(1, stat.handles);
	close(q);
	EXPECT_EQ(0, q_unlink(self->dev, self->name));
}

/* U1: a named queue keeps the module loaded. */
TEST_F(names, pins_the_module)
{
	long long before = read_number("/sys/module/kwq/refcnt");
	int q = create_named(self->dev, self->name);

	ASSERT_LE(1, before);
	ASSERT_LE(0, q);
	EXPECT_LT(before, read_number("/sys/module/kwq/refcnt"));
	close(q);
	EXPECT_LT(before, read_number("/sys/module/kwq/refcnt"));
	EXPECT_EQ(0, q_unlink(self->dev, self->name));
	EXPECT_EQ(before, read_number("/sys/module/kwq/refcnt"));
}

/* U1: delays end without any descriptor. */
TEST_F(names, time_goes_on)
{
	int q = create_named(self->dev, self->name);
	struct item item;

	ASSERT_LE(0, q);
	ASSERT_EQ(KWQ_WAITING, q_add_after(q, "w", MSEC));
	close(q);
	q = open_named(self->dev, self->name);
	ASSERT_LE(0, q);
	EXPECT_EQ(1, q_wait_get(q, &item));
	close(q);
	EXPECT_EQ(0, q_unlink(self->dev, self->name));
}

/* Nothing is left if the last step fails. */

static int peer_without_descriptors(struct peer *parent, void *arg)
{
	struct rlimit limit;
	int dev = open_device(), ret;

	(void)parent;
	REQUIRE(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = next_fd();
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &limit));
	ret = create_named(dev, arg);
	if (ret != -EMFILE)
		return 1;
	if (new_queue(dev) != -EMFILE)
		return 2;
	if (q_create(dev, arg, KWQ_CREATE_OR_OPEN, 0, 0700) != -EMFILE)
		return 3;
	return 0;
}

/* O6: without a free descriptor no queue is created. */
TEST_F(names, no_descriptor)
{
	long long before = read_number("/sys/module/kwq/refcnt");
	struct peer child;

	start_peer(&child, peer_without_descriptors, self->name);
	EXPECT_EQ(0, end_of_peer(&child));
	EXPECT_EQ(-ENOENT, open_named(self->dev, self->name));
	EXPECT_EQ(before, read_number("/sys/module/kwq/refcnt"));
}

/* Permissions. A child changes its user and tries. */

#define OWNER	10001
#define MEMBER	10002	/* in OWNER's group */
#define OTHER	10003
#define GROUP	20001

struct person {
	uid_t uid;
	gid_t gid;
	gid_t extra;	/* a supplementary group, 0 for none */
};

static const struct person owner = { OWNER, GROUP, 0 };
static const struct person member = { MEMBER, 20002, GROUP };
static const struct person member_too = { MEMBER, GROUP, 0 };
static const struct person other = { OTHER, 20003, 0 };

/* Changing the uid drops root's other privileges. */
static void become(const struct person *person)
{
	REQUIRE(!setgroups(person->extra ? 1 : 0, &person->extra));
	REQUIRE(!setresgid(person->gid, person->gid, person->gid));
	REQUIRE(!setresuid(person->uid, person->uid, person->uid));
}

struct attempt {
	int dev;
	const char *name;
	const struct person *person;
	mode_t mode;
	int q;
};

static int peer_creates_as(struct peer *parent, void *arg)
{
	const struct attempt *attempt = arg;
	int q;

	become(attempt->person);
	q = q_create(attempt->dev, attempt->name, 0, O_CLOEXEC, attempt->mode);
	say(parent, q);
	return 0;
}

static int peer_opens_as(struct peer *parent, void *arg)
{
	const struct attempt *attempt = arg;

	become(attempt->person);
	for (__u32 rights = 1; rights <= ALL_RIGHTS; rights++)
		say(parent, q_open_with(attempt->dev, attempt->name, rights, 0));
	say(parent, q_create(attempt->dev, attempt->name, KWQ_CREATE_OR_OPEN, 0, 0777));
	return 0;
}

static int peer_unlinks_as(struct peer *parent, void *arg)
{
	const struct attempt *attempt = arg;

	become(attempt->person);
	say(parent, q_unlink(attempt->dev, attempt->name));
	return 0;
}

static int ask_as(int (*what)(struct peer *parent, void *arg), struct attempt *attempt)
{
	struct peer child;
	int ret;

	start_peer(&child, what, attempt);
	ret = hear(&child);
	REQUIRE(end_of_peer(&child) == 0);
	return ret;
}

/*
 * Checks the rights of @person to a queue of @mode that OWNER created: the bits of one
 * class.
 */
static void check_access(struct __test_metadata *_metadata, struct attempt *attempt,
			 const struct person *person, unsigned int may)
{
	static const unsigned int wanted[] = { 1, 2, 3, 4, 5, 6, 7, 7 };
	struct peer child;

	attempt->person = person;
	start_peer(&child, peer_opens_as, attempt);
	for (int i = 0; i < ARRAY_SIZE(wanted); i++) {
		int ret = hear(&child);

		EXPECT_EQ((wanted[i] & ~may) == 0, ret >= 0) {
			TH_LOG("mode %#o, uid %d, access %u: %d", attempt->mode, person->uid,
			       wanted[i], ret);
		}
		if (ret < 0)
			EXPECT_EQ(-EACCES, ret);
	}
	EXPECT_EQ(0, end_of_peer(&child));
}

/* U1: as for a file, the first matching class decides. */
TEST_F(names, mode)
{
	static const mode_t modes[] = {
		0700, 0000, 0640, 0060, 0006, 0604, 0777, 0246, 0100, 0010, 0001, 0365,
	};
	struct attempt attempt = { .dev = self->dev, .name = self->name };

	for (int i = 0; i < ARRAY_SIZE(modes); i++) {
		struct kwq_stat stat;
		int q;

		attempt.person = &owner;
		attempt.mode = modes[i];
		ASSERT_LE(0, ask_as(peer_creates_as, &attempt));
		check_access(_metadata, &attempt, &owner, modes[i] >> 6);
		check_access(_metadata, &attempt, &member, modes[i] >> 3 & 7);
		check_access(_metadata, &attempt, &member_too, modes[i] >> 3 & 7);
		check_access(_metadata, &attempt, &other, modes[i] & 7);
		/* This process is root. */
		q = open_named(self->dev, self->name);
		ASSERT_LE(0, q);
		ASSERT_EQ(0, q_stat(q, &stat));
		EXPECT_EQ(modes[i], stat.mode);
		EXPECT_EQ(OWNER, stat.uid);
		EXPECT_EQ(GROUP, stat.gid);
		close(q);
		ASSERT_EQ(0, q_unlink(self->dev, self->name));
	}
}

/* U1: the mode is reduced by the umask. */
TEST_F(names, umask)
{
	static const mode_t masks[] = { 0, 022, 077, 0777, 0027 };
	struct kwq_stat stat;

	for (int i = 0; i < ARRAY_SIZE(masks); i++) {
		int q;

		umask(masks[i]);
		q = q_create(self->dev, self->name, 0, O_CLOEXEC, 0777);
		ASSERT_LE(0, q);
		ASSERT_EQ(0, q_stat(q, &stat));
		EXPECT_EQ(0777 & ~masks[i], stat.mode);
		close(q);
		EXPECT_EQ(0, q_unlink(self->dev, self->name));
	}
}

/* U1: the creator of a queue gets the rights it asked for, whatever the mode. */
TEST_F(names, mode_is_for_the_next)
{
	struct attempt attempt = {
		.dev = self->dev, .name = self->name, .person = &owner, .mode = 0,
	};

	EXPECT_LE(0, ask_as(peer_creates_as, &attempt));
	attempt.mode = 0700;
	EXPECT_EQ(-EEXIST, ask_as(peer_creates_as, &attempt));
	EXPECT_EQ(0, q_unlink(self->dev, self->name));
}

/*
 * U1: the owner may unlink a queue, and so may everybody who may act as the owner of a
 * file.
 */
TEST_F(names, unlink_permission)
{
	struct attempt attempt = {
		.dev = self->dev, .name = self->name, .person = &owner, .mode = 0777,
	};
	int q;

	ASSERT_LE(0, ask_as(peer_creates_as, &attempt));
	attempt.person = &member;
	EXPECT_EQ(-EPERM, ask_as(peer_unlinks_as, &attempt));
	attempt.person = &other;
	EXPECT_EQ(-EPERM, ask_as(peer_unlinks_as, &attempt));
	attempt.person = &owner;
	EXPECT_EQ(0, ask_as(peer_unlinks_as, &attempt));
	EXPECT_EQ(-ENOENT, ask_as(peer_unlinks_as, &attempt));

	/* A queue of root. */
	q = q_create(self->dev, self->name, 0, O_CLOEXEC, 0777);
	ASSERT_LE(0, q);
	EXPECT_EQ(-EPERM, ask_as(peer_unlinks_as, &attempt));
	close(q);
	EXPECT_EQ(0, q_unlink(self->dev, self->name));

	/* Root unlinks a queue of another owner. */
	ASSERT_LE(0, ask_as(peer_creates_as, &attempt));
	EXPECT_EQ(0, q_unlink(self->dev, self->name));
}

static int peer_uses_as(struct peer *parent, void *arg)
{
	const struct attempt *attempt = arg;
	struct item item;

	become(attempt->person);
	say(parent, q_add(attempt->q, "a"));
	say(parent, q_try_get(attempt->q, &item));
	say(parent, q_reopen(attempt->q));
	return 0;
}

/* U1: an open descriptor works even for a user who could not open the queue. */
TEST_F(names, descriptor_needs_no_permission)
{
	struct attempt attempt = { .dev = self->dev, .name = self->name, .person = &other };
	struct peer child;

	attempt.q = q_create(self->dev, self->name, 0, O_CLOEXEC, 0700);
	ASSERT_LE(0, attempt.q);
	start_peer(&child, peer_uses_as, &attempt);
	EXPECT_EQ(KWQ_ADDED, hear(&child));
	EXPECT_EQ(1, hear(&child));
	EXPECT_LE(0, hear(&child));
	EXPECT_EQ(0, end_of_peer(&child));
	close(attempt.q);
	EXPECT_EQ(0, q_unlink(self->dev, self->name));
}

/* Only root may use the device by default. */
TEST_F(names, device_mode)
{
	struct stat st;

	ASSERT_EQ(0, stat(KWQ_DEVICE, &st));
	EXPECT_TRUE(S_ISCHR(st.st_mode));
	EXPECT_EQ(0660, st.st_mode & 0777);
	EXPECT_EQ(0, st.st_uid);
}

/* The list */

struct listed {
	struct kwq_list_entry entries[8];
	__u8 guard[GUARD];
};

/* Lists up to @nr names after @after, and checks the entries. */
static int list_after(struct __test_metadata *_metadata, int dev, const char *after, int nr,
		      struct listed *out)
{
	struct kwq_list_args list = {
		.size = sizeof(list),
		.entries = user_ptr(out->entries),
		.nr = nr,
		.entry_size = sizeof(out->entries[0]),
	};
	int ret;

	set_name(list.after, after);
	poison(out, sizeof(*out));
	ret = request(dev, KWQ_IOC_LIST, &list);
	for (int i = 0; i < ret; i++) {
		EXPECT_EQ(0, out->entries[i].pad);
		EXPECT_TRUE(name_is_clean(out->entries[i].name));
		EXPECT_EQ(0, out->entries[i].mode & ~0777);
		/* strcmp() compares unsigned bytes. */
		EXPECT_LT(0, strcmp((char *)out->entries[i].name,
				    i ? (char *)out->entries[i - 1].name : after));
	}
	if (ret >= 0)
		EXPECT_TRUE(is_poison(&out->entries[ret],
				      sizeof(*out) - ret * sizeof(out->entries[0])));
	return ret;
}

/* U1: the list is sorted byte by byte, in pages of any size. */
TEST_F(names, list)
{
	static const char * const tails[] = {
		".1", ".10", ".2", ".A", ".a", ".aa", ".ab", ".b", ".z", ".\x7f", ".\x80", ".\xff",
	};
	const int nr = ARRAY_SIZE(tails);
	struct listed out;
	char name[64];

	for (int i = 0; i < nr; i++) {
		int q;

		/* 5 has no factor in common with 12. */
		snprintf(name, sizeof(name), "%s%s", self->name, tails[i * 5 % nr]);
		q = q_create(self->dev, name, 0, O_CLOEXEC, 0700);
		ASSERT_LE(0, q);
		close(q);
	}
	for (int piece = 1; piece <= 8; piece++) {
		int n = 0, got;

		snprintf(name, sizeof(name), "%s", self->name);
		do {
			got = list_after(_metadata, self->dev, name, piece, &out);
			ASSERT_LE(0, got);
			for (int i = 0; i < got && n < nr; i++, n++) {
				snprintf(name, sizeof(name), "%s%s", self->name, tails[n]);
				EXPECT_STREQ(name, (char *)out.entries[i].name);
				EXPECT_EQ(0700, out.entries[i].mode);
				EXPECT_EQ(geteuid(), out.entries[i].uid);
				EXPECT_EQ(getegid(), out.entries[i].gid);
			}
		} while (n < nr && got == piece);
		EXPECT_EQ(nr, n);
	}

	/* After a name that does not exist any more. */
	snprintf(name, sizeof(name), "%s.a", self->name);
	ASSERT_EQ(0, q_unlink(self->dev, name));
	ASSERT_LE(1, list_after(_metadata, self->dev, name, 1, &out));
	snprintf(name, sizeof(name), "%s.aa", self->name);
	EXPECT_STREQ(name, (char *)out.entries[0].name);
	/* After the last name, and after the end. */
	snprintf(name, sizeof(name), "%s.\xff", self->name);
	ASSERT_LE(0, list_after(_metadata, self->dev, name, 1, &out));
	EXPECT_NE(0, strncmp((char *)out.entries[0].name, self->name, strlen(self->name)));
	memset(name, 0xff, sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	EXPECT_EQ(0, list_after(_metadata, self->dev, name, 8, &out));
}

/* U1: a list from the beginning contains no unnamed queue. */
TEST_F(names, list_from_the_beginning)
{
	int q = create_named(self->dev, self->name), unnamed = new_queue(self->dev);
	struct listed out;
	char after[KWQ_NAME_MAX + 1] = "";
	bool seen = false;
	int got;

	ASSERT_LE(0, q);
	ASSERT_LE(0, unnamed);
	while ((got = list_after(_metadata, self->dev, after, 8, &out)) > 0) {
		for (int i = 0; i < got; i++) {
			EXPECT_NE('\0', out.entries[i].name[0]);
			seen |= !strcmp((char *)out.entries[i].name, self->name);
		}
		memcpy(after, out.entries[got - 1].name, sizeof(after));
	}
	EXPECT_EQ(0, got);
	EXPECT_TRUE(seen);
	close(unnamed);
	close(q);
	EXPECT_EQ(0, q_unlink(self->dev, self->name));
}

/* U1: many names in one list. */
TEST_F(names, list_of_many)
{
	const int nr = 100;
	struct kwq_list_entry *entries = calloc(KWQ_BATCH_MAX, sizeof(*entries));
	struct kwq_list_args list = {
		.size = sizeof(list),
		.entries = user_ptr(entries),
		.nr = KWQ_BATCH_MAX,
		.entry_size = sizeof(*entries),
	};
	char name[64];

	ASSERT_NE(NULL, entries);
	for (int i = 0; i < nr; i++) {
		int q;

		snprintf(name, sizeof(name), "%s.%04d", self->name, i);
		q = create_named(self->dev, name);
		ASSERT_LE(0, q);
		close(q);
	}
	set_name(list.after, self->name);
	EXPECT_LE(nr, request(self->dev, KWQ_IOC_LIST, &list));
	for (int i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "%s.%04d", self->name, i);
		EXPECT_STREQ(name, (char *)entries[i].name);
		EXPECT_EQ(0, q_unlink(self->dev, name));
	}
	free(entries);
}

/* Races */

static int call_create_and_unlink(struct sleeper *s)
{
	int won = 0;

	for (int i = 0; i < 100; i++) {
		int q = q_create(s->fd, s->arg, s->flags, O_CLOEXEC, 0700);

		if (q < 0) {
			REQUIRE(q == -EEXIST && !(s->flags & KWQ_CREATE_OR_OPEN));
			continue;
		}
		won++;
		REQUIRE(q_add(q, "a") >= 0);
		REQUIRE(q_len(q) == 1);
		q_unlink(s->fd, s->arg);
		close(q);
	}
	return won;
}

/* O6: several threads create, open and unlink one name at the same time. */
TEST_F(names, created_and_unlinked_by_many)
{
	struct sleeper s[4];

	for (int i = 0; i < 4; i++) {
		s[i] = (struct sleeper){
			.call = call_create_and_unlink,
			.fd = self->dev,
			.flags = i % 2 ? KWQ_CREATE_OR_OPEN : 0,
			.arg = self->name,
		};
		sleeper_start(&s[i]);
	}
	for (int i = 0; i < 4; i++)
		EXPECT_LE(i % 2 ? 100 : 0, sleeper_join(&s[i]));
	q_unlink(self->dev, self->name);
	EXPECT_EQ(-ENOENT, open_named(self->dev, self->name));
}

TEST_HARNESS_MAIN

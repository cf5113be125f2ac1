// SPDX-License-Identifier: GPL-2.0-only
/*
 * K12: kwq_files adds the paths of files that change to the queue of a program. Here files change
 * in every way, in a filesystem of their own, while queues are full, closed or gone, folders
 * vanish, filesystems are unmounted, and the module is unloaded. In the end each event is an add, a
 * coalesced one or a refused one.
 *
 * KWQ_FILES_KO is the path of the module, /kwq_files.ko by default. /overlay.ko is loaded if it
 * exists.
 */
#include "kwq_test.h"

#include <sys/mount.h>

#include <linux/kwq_files.h>

#define DEVICE		"/dev/kwq_files"
#define TOP		"/tmp/kwq-files"
/* Only a hang takes this long. */
#define HANG		(60 * SEC)

#define CREATED		KWQ_FILE_CREATED
#define WRITTEN		KWQ_FILE_WRITTEN
#define MOVED_FROM	KWQ_FILE_MOVED_FROM
#define MOVED_TO	KWQ_FILE_MOVED_TO
#define DELETED		KWQ_FILE_DELETED
#define ATTRIBUTES	KWQ_FILE_ATTRIBUTES
#define ALL		(CREATED | WRITTEN | MOVED_FROM | MOVED_TO | DELETED | ATTRIBUTES)

static int load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = syscall(__NR_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	return ret == -EEXIST ? 0 : ret;
}

static int load_module(void)
{
	return load(getenv("KWQ_FILES_KO") ?: "/kwq_files.ko");
}

static int unload(void)
{
	return syscall(__NR_delete_module, "kwq_files", O_NONBLOCK) ? -errno : 0;
}

FIXTURE(files)
{
	int dev;
	int q;
	int watch;
};

static int values_queue(int dev, __u64 max_items)
{
	const struct kwq_create_args create = {
		.size = sizeof(create),
		.flags = KWQ_CREATE_VALUES,
		.open_flags = O_CLOEXEC,
		.clockid = CLOCK_MONOTONIC,
		.rights = ALL_RIGHTS,
		.max_items = max_items,
	};

	return request(dev, KWQ_IOC_CREATE, (void *)&create);
}

static int watch_with(int fd, struct kwq_files_watch_args args)
{
	args.size = sizeof(args);
	return request(fd, KWQ_IOC_FILES_WATCH, &args);
}

/* Watches @folder. Returns the descriptor of the watch. */
static int watch_as(int q, const char *folder, __u32 flags, __u32 events, const char *prefix)
{
	int at = open(folder, O_PATH | O_CLOEXEC), fd = open(DEVICE, O_RDWR | O_CLOEXEC), ret;

	REQUIRE(at >= 0 && fd >= 0);
	ret = watch_with(fd, (struct kwq_files_watch_args) {
		.flags = flags,
		.queue = q,
		.folder = at,
		.events = events,
		.prefix = *prefix ? user_ptr(prefix) : 0,
		.prefix_len = strlen(prefix),
	});
	close(at);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

static int watch_all(int q, const char *folder)
{
	return watch_as(q, folder, KWQ_FILES_VALUES, ALL, "");
}

static int files_stat(int watch, struct kwq_files_stat *stat)
{
	*stat = (struct kwq_files_stat) { .size = sizeof(*stat) };
	return request(watch, KWQ_IOC_FILES_STAT, stat);
}

static bool is_gone(int watch)
{
	struct kwq_files_stat stat;

	REQUIRE(!files_stat(watch, &stat));
	return stat.state & KWQ_FILES_GONE;
}

static bool is_readable(int watch)
{
	struct pollfd p = { .fd = watch, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void write_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	REQUIRE(fd >= 0);
	REQUIRE(write(fd, "x", 1) == 1);
	close(fd);
}

FIXTURE_SETUP(files)
{
	int ret = load_module();

	if (ret == -ENOENT)
		SKIP(return, "this kernel has no fsnotify");
	ASSERT_EQ(0, ret);
	self->watch = -1;
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = values_queue(self->dev, 0);
	ASSERT_LE(0, self->q);
	/* A filesystem, in which nothing but these tests changes a file. */
	ASSERT_EQ(0, unshare(CLONE_NEWNS));
	ASSERT_EQ(0, mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
	mkdir("/tmp", 0777);
	mkdir(TOP, 0777);
	ASSERT_EQ(0, mount("files", TOP, "tmpfs", 0, ""));
	ASSERT_EQ(0, chdir(TOP));
	ASSERT_EQ(0, mkdir("dir", 0755));
	ASSERT_EQ(0, mkdir("elsewhere", 0755));
}

FIXTURE_TEARDOWN(files)
{
	if (self->watch >= 0)
		close(self->watch);
	close(self->q);
	close(self->dev);
	EXPECT_EQ(0, chdir("/"));
	EXPECT_EQ(0, umount2(TOP, MNT_DETACH));
	EXPECT_EQ(0, unload());
}

/* Gets the next key and its value, if there is one. */
static bool get_path(int q, char path[KWQ_KEY_MAX + 1], __u32 *bits)
{
	static char room[KWQ_KEY_MAX + 8];
	struct kwq_got_extra extra = {};
	struct kwq_got got = {};
	struct kwq_get_args get = {
		.size = sizeof(get),
		.flags = KWQ_GET_NONBLOCK,
		.get = {
			.entries = user_ptr(&got),
			.extras = user_ptr(&extra),
			.keys = user_ptr(room),
			.keys_len = sizeof(room),
			.nr = 1,
			.entry_size = sizeof(got),
			.extra_size = sizeof(extra),
		},
	};

	if (request(q, KWQ_IOC_GET, &get) != 1)
		return false;
	REQUIRE(extra.value_len <= 1);
	memcpy(path, room, got.key_len);
	path[got.key_len] = '\0';
	*bits = extra.value_len ? (__u8)room[got.key_len] : 0;
	REQUIRE(q_done(q, got.ticket) >= 0);
	return true;
}

/* The next key is this one. */
#define EXPECT_PATH(q, wanted, wanted_bits) ({						\
	char path_[KWQ_KEY_MAX + 1] = "";						\
	__u32 bits_ = 0;								\
											\
	EXPECT_TRUE(get_path(q, path_, &bits_));					\
	EXPECT_STREQ(wanted, path_);							\
	EXPECT_EQ(wanted_bits, bits_);							\
})

/* There are no more keys. */
#define EXPECT_NONE(q) ({								\
	char path_[KWQ_KEY_MAX + 1] = "";						\
	__u32 bits_;									\
											\
	EXPECT_FALSE(get_path(q, path_, &bits_)) {					\
		TH_LOG("a key more: %s", path_);					\
	}										\
})

/* Each event is one of these three. */
static void check_events(struct __test_metadata *_metadata, int q, int watch)
{
	struct kwq_files_stat files;
	struct kwq_stat stat;

	ASSERT_EQ(0, files_stat(watch, &files));
	ASSERT_EQ(0, q_stat(q, &stat));
	EXPECT_EQ(files.events, stat.adds + stat.coalesced + files.refused);
	TH_LOG("%llu events: %llu adds, %llu coalesced, %llu refused", files.events, stat.adds,
	       stat.coalesced, files.refused);
}

TEST_F(files, paths_tell_what_happened)
{
	self->watch = watch_all(self->q, "dir");
	ASSERT_LE(0, self->watch);
	write_file("dir/a");
	EXPECT_PATH(self->q, "a", CREATED | WRITTEN);
	write_file("dir/a");
	EXPECT_PATH(self->q, "a", WRITTEN);
	ASSERT_EQ(0, chmod("dir/a", 0640));
	EXPECT_PATH(self->q, "a", ATTRIBUTES);
	ASSERT_EQ(0, rename("dir/a", "dir/b"));
	EXPECT_PATH(self->q, "a", MOVED_FROM);
	EXPECT_PATH(self->q, "b", MOVED_TO);
	ASSERT_EQ(0, unlink("dir/b"));
	EXPECT_PATH(self->q, "b", DELETED);
	ASSERT_EQ(0, mkdir("dir/sub", 0755));
	EXPECT_PATH(self->q, "sub/", CREATED);
	ASSERT_EQ(0, mkdir("dir/sub/deep", 0755));
	EXPECT_PATH(self->q, "sub/deep/", CREATED);
	write_file("dir/sub/deep/c");
	EXPECT_PATH(self->q, "sub/deep/c", CREATED | WRITTEN);
	/* The path of a file in a folder that was moved is the new one at once. */
	ASSERT_EQ(0, rename("dir/sub", "dir/other"));
	EXPECT_PATH(self->q, "sub/", MOVED_FROM);
	EXPECT_PATH(self->q, "other/", MOVED_TO);
	write_file("dir/other/deep/c");
	EXPECT_PATH(self->q, "other/deep/c", WRITTEN);
	ASSERT_EQ(0, symlink("nowhere", "dir/link"));
	EXPECT_PATH(self->q, "link", CREATED);
	ASSERT_EQ(0, chmod("dir/other", 0700));
	EXPECT_NONE(self->q);
	check_events(_metadata, self->q, self->watch);
	/* After the end nothing comes. */
	close(self->watch);
	self->watch = -1;
	write_file("dir/a");
	EXPECT_NONE(self->q);
}

TEST_F(files, set_accumulates)
{
	struct kwq_files_stat files;
	struct kwq_stat stat;

	self->watch = watch_all(self->q, "dir");
	ASSERT_LE(0, self->watch);
	for (int i = 0; i < 100; i++)
		write_file("dir/a");
	ASSERT_EQ(0, chmod("dir/a", 0640));
	ASSERT_EQ(0, q_stat(self->q, &stat));
	EXPECT_EQ(1, stat.ready);
	EXPECT_EQ(1, stat.adds);
	EXPECT_EQ(101, stat.coalesced);
	ASSERT_EQ(0, files_stat(self->watch, &files));
	EXPECT_EQ(102, files.events);
	EXPECT_EQ(0, files.refused);
	EXPECT_PATH(self->q, "a", CREATED | WRITTEN | ATTRIBUTES);
	/* The next run has its own. */
	ASSERT_EQ(0, unlink("dir/a"));
	EXPECT_PATH(self->q, "a", DELETED);
}

/* Without values, keys are added all the same. */
TEST_F(files, queue_without_values)
{
	int q = new_queue(self->dev);

	ASSERT_LE(0, q);
	self->watch = watch_as(q, "dir", 0, ALL, "");
	ASSERT_LE(0, self->watch);
	write_file("dir/a");
	write_file("dir/a");
	EXPECT_PATH(q, "a", 0);
	EXPECT_NONE(q);
	check_events(_metadata, q, self->watch);
	close(self->watch);
	/* A watch with values adds nothing, and says so. */
	self->watch = watch_all(q, "dir");
	ASSERT_LE(0, self->watch);
	EXPECT_FALSE(is_readable(self->watch));
	write_file("dir/a");
	EXPECT_NONE(q);
	EXPECT_TRUE(is_readable(self->watch));
	close(q);
}

TEST_F(files, only_chosen_events)
{
	self->watch = watch_as(self->q, "dir", KWQ_FILES_VALUES, MOVED_TO | DELETED, "/my/dir/");
	ASSERT_LE(0, self->watch);
	write_file("dir/a");
	ASSERT_EQ(0, rename("dir/a", "dir/b"));
	EXPECT_PATH(self->q, "/my/dir/b", MOVED_TO);
	ASSERT_EQ(0, unlink("dir/b"));
	EXPECT_PATH(self->q, "/my/dir/b", DELETED);
	EXPECT_NONE(self->q);
}

TEST_F(files, elsewhere_is_not_seen)
{
	self->watch = watch_all(self->q, "dir");
	ASSERT_LE(0, self->watch);
	write_file("elsewhere/a");
	write_file("a");
	EXPECT_NONE(self->q);
	ASSERT_EQ(0, rename("elsewhere/a", "dir/in"));
	EXPECT_PATH(self->q, "in", MOVED_TO);
	ASSERT_EQ(0, rename("dir/in", "elsewhere/out"));
	EXPECT_PATH(self->q, "in", MOVED_FROM);
	ASSERT_EQ(0, mkdir("elsewhere/sub", 0755));
	write_file("elsewhere/sub/b");
	/* The files of a folder that comes have no events of their own. */
	ASSERT_EQ(0, rename("elsewhere/sub", "dir/sub"));
	EXPECT_PATH(self->q, "sub/", MOVED_TO);
	EXPECT_NONE(self->q);
	write_file("dir/sub/b");
	EXPECT_PATH(self->q, "sub/b", WRITTEN);
	EXPECT_NONE(self->q);
}

/* The root of a filesystem is a folder as others. */
TEST_F(files, whole_filesystem)
{
	self->watch = watch_all(self->q, TOP);
	ASSERT_LE(0, self->watch);
	write_file("a");
	EXPECT_PATH(self->q, "a", CREATED | WRITTEN);
	write_file("dir/a");
	EXPECT_PATH(self->q, "dir/a", CREATED | WRITTEN);
}

/* The name by which a file was opened. */
TEST_F(files, hard_links)
{
	write_file("dir/a");
	self->watch = watch_all(self->q, "dir");
	ASSERT_LE(0, self->watch);
	ASSERT_EQ(0, link("dir/a", "dir/b"));
	EXPECT_PATH(self->q, "b", CREATED);
	write_file("dir/b");
	EXPECT_PATH(self->q, "b", WRITTEN);
	write_file("dir/a");
	EXPECT_PATH(self->q, "a", WRITTEN);
	ASSERT_EQ(0, link("dir/a", "elsewhere/c"));
	write_file("elsewhere/c");
	EXPECT_NONE(self->q);
	ASSERT_EQ(0, unlink("dir/a"));
	EXPECT_PATH(self->q, "a", DELETED);
}

/* A file without a name adds none, and neither does a deleted one. */
TEST_F(files, files_without_a_name)
{
	char link_of[64];
	int fd;

	self->watch = watch_all(self->q, "dir");
	ASSERT_LE(0, self->watch);
	fd = open("dir", O_TMPFILE | O_WRONLY, 0600);
	ASSERT_LE(0, fd);
	ASSERT_EQ(1, write(fd, "x", 1));
	EXPECT_NONE(self->q);
	snprintf(link_of, sizeof(link_of), "/proc/self/fd/%d", fd);
	ASSERT_EQ(0, linkat(AT_FDCWD, link_of, AT_FDCWD, "dir/a", AT_SYMLINK_FOLLOW));
	EXPECT_PATH(self->q, "a", CREATED);
	ASSERT_EQ(0, unlink("dir/a"));
	EXPECT_PATH(self->q, "a", DELETED);
	close(fd);
	EXPECT_NONE(self->q);
}

static int make_bind(const char *from, const char *to)
{
	mkdir(to, 0755);
	return mount(from, to, NULL, MS_BIND, NULL) ? -errno : 0;
}

/* The mark of a filesystem sees a file through every mount, that of a mount through one. */
TEST_F(files, bind_mounts)
{
	int q = values_queue(self->dev, 0), mount_watch;

	ASSERT_LE(0, q);
	ASSERT_EQ(0, mkdir("dir/sub", 0755));
	ASSERT_EQ(0, make_bind("dir/sub", "bound"));
	self->watch = watch_all(self->q, "dir");
	ASSERT_LE(0, self->watch);
	mount_watch = watch_as(q, "bound", KWQ_FILES_VALUES | KWQ_FILES_MOUNT, WRITTEN, "b/");
	if (mount_watch == -EOPNOTSUPP)
		SKIP(goto out, "this kernel has no marks of mounts for modules");
	ASSERT_LE(0, mount_watch);
	write_file("bound/a");
	EXPECT_PATH(self->q, "sub/a", CREATED | WRITTEN);
	EXPECT_PATH(q, "b/a", WRITTEN);
	write_file("dir/sub/a");
	EXPECT_PATH(self->q, "sub/a", WRITTEN);
	EXPECT_NONE(q);
	EXPECT_FALSE(is_gone(mount_watch));
	ASSERT_EQ(0, umount2("bound", 0));
	EXPECT_TRUE(is_gone(mount_watch));
	EXPECT_FALSE(is_gone(self->watch));
	close(mount_watch);
out:
	close(q);
}

/* Another filesystem that is mounted below the folder is not watched. */
TEST_F(files, mount_below)
{
	ASSERT_EQ(0, mkdir("dir/below", 0755));
	ASSERT_EQ(0, mount("below", "dir/below", "tmpfs", 0, ""));
	self->watch = watch_all(self->q, "dir");
	ASSERT_LE(0, self->watch);
	write_file("dir/below/a");
	EXPECT_NONE(self->q);
	ASSERT_EQ(0, umount2("dir/below", 0));
	write_file("dir/below/a");
	EXPECT_PATH(self->q, "below/a", CREATED | WRITTEN);
}

/* Its own paths, for all that is done through it. The filesystem of its upper layer sees less. */
TEST_F(files, overlay)
{
	int q = values_queue(self->dev, 0), upper;

	ASSERT_LE(0, q);
	load("/overlay.ko");
	ASSERT_EQ(0, mkdir("lower", 0755));
	ASSERT_EQ(0, mkdir("upper", 0755));
	ASSERT_EQ(0, mkdir("work", 0755));
	ASSERT_EQ(0, mkdir("merged", 0755));
	write_file("lower/old");
	if (mount("o", "merged", "overlay", 0, "lowerdir=lower,upperdir=upper,workdir=work"))
		SKIP(goto out, "this kernel has no overlayfs");
	self->watch = watch_all(self->q, "merged");
	ASSERT_LE(0, self->watch);
	upper = watch_all(q, "upper");
	ASSERT_LE(0, upper);
	write_file("merged/old");
	EXPECT_PATH(self->q, "old", WRITTEN);
	EXPECT_NONE(self->q);
	write_file("merged/new");
	EXPECT_PATH(self->q, "new", CREATED | WRITTEN);
	ASSERT_EQ(0, unlink("merged/old"));
	EXPECT_PATH(self->q, "old", DELETED);
	EXPECT_NONE(self->q);
	close(upper);
	close(self->watch);
	self->watch = -1;
	ASSERT_EQ(0, umount2("merged", 0));
out:
	close(q);
}

static int write_in_chroot(struct peer *parent, void *arg)
{
	(void)parent;
	REQUIRE(!unshare(CLONE_NEWNS));
	REQUIRE(!chroot(arg) && !chdir("/"));
	write_file("/inside");
	return 0;
}

/* The path is that of the watch, wherever the root of the writer is. */
TEST_F(files, chroot_and_namespace)
{
	struct peer child;

	ASSERT_EQ(0, mkdir("dir/root", 0755));
	self->watch = watch_all(self->q, "dir");
	ASSERT_LE(0, self->watch);
	start_peer(&child, write_in_chroot, "dir/root");
	EXPECT_EQ(0, end_of_peer(&child));
	EXPECT_PATH(self->q, "root/inside", CREATED | WRITTEN);
}

/* A folder that is no longer what its prefix says ends the watch. */
TEST_F(files, folder_goes)
{
	struct kwq_files_stat stat;

	self->watch = watch_all(self->q, "dir");
	ASSERT_LE(0, self->watch);
	EXPECT_FALSE(is_readable(self->watch));
	ASSERT_EQ(0, rename("dir", "moved"));
	EXPECT_TRUE(is_readable(self->watch));
	EXPECT_TRUE(is_gone(self->watch));
	write_file("moved/a");
	EXPECT_NONE(self->q);
	close(self->watch);
	self->watch = watch_all(self->q, "elsewhere");
	ASSERT_LE(0, self->watch);
	ASSERT_EQ(0, rmdir("elsewhere"));
	EXPECT_TRUE(is_readable(self->watch));
	EXPECT_TRUE(is_gone(self->watch));
	ASSERT_EQ(0, files_stat(self->watch, &stat));
	EXPECT_EQ(0, stat.refused);
}

static int watch_deleted(int q)
{
	int at = open("gone", O_PATH | O_CLOEXEC), fd = open(DEVICE, O_RDWR | O_CLOEXEC), ret;

	REQUIRE(!rmdir("gone"));
	ret = watch_with(fd, (struct kwq_files_watch_args) {
		.queue = q,
		.folder = at,
		.events = WRITTEN,
	});
	close(at);
	close(fd);
	return ret;
}

TEST_F(files, folder_is_deleted_before)
{
	ASSERT_EQ(0, mkdir("gone", 0755));
	EXPECT_EQ(-ENOENT, watch_deleted(self->q));
}

/* A watch does not keep a filesystem mounted, and ends with it. */
TEST_F(files, unmount)
{
	ASSERT_EQ(0, mkdir("mnt", 0755));
	ASSERT_EQ(0, mount("mnt", "mnt", "tmpfs", 0, ""));
	self->watch = watch_all(self->q, "mnt");
	ASSERT_LE(0, self->watch);
	write_file("mnt/a");
	EXPECT_PATH(self->q, "a", CREATED | WRITTEN);
	ASSERT_EQ(0, umount2("mnt", 0));
	EXPECT_TRUE(is_readable(self->watch));
	EXPECT_TRUE(is_gone(self->watch));
}

static int watch_without_rights(struct peer *parent, void *arg)
{
	int q = *(int *)arg;

	(void)parent;
	REQUIRE(!setresuid(65534, 65534, 65534));
	REQUIRE(watch_all(q, "dir") == -EPERM);
	/* A mount of one's own in a namespace of one's own. */
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return 0;
	REQUIRE(watch_all(q, "dir") == -EPERM);
	if (mount("mine", TOP, "tmpfs", 0, ""))
		return 0;
	REQUIRE(watch_all(q, TOP) >= 0);
	return 0;
}

TEST_F(files, rights)
{
	int reader = q_open_with(self->q, NULL, KWQ_RIGHT_READ, O_CLOEXEC);
	struct peer child;

	ASSERT_LE(0, reader);
	ASSERT_EQ(0, chmod(TOP, 0777));
	EXPECT_EQ(-EBADF, watch_all(reader, "dir"));
	EXPECT_EQ(-EBADF, watch_all(-1, "dir"));
	EXPECT_EQ(-EINVAL, watch_all(self->dev, "dir"));
	start_peer(&child, watch_without_rights, &self->q);
	EXPECT_EQ(0, end_of_peer(&child));
	close(reader);
}

TEST_F(files, arguments)
{
	char prefix[KWQ_FILES_PREFIX_MAX + 1] = "x";
	int dir = open("dir", O_RDONLY | O_CLOEXEC), fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	struct kwq_files_watch_args good = {
		.queue = self->q,
		.folder = dir,
		.events = WRITTEN,
	}, args = good;
	struct kwq_files_stat stat = { .size = sizeof(stat) };
	struct {
		struct kwq_files_watch_args args;
		__u64 more;
	} grown = { .args = good };

	ASSERT_LE(0, dir);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOTTY, request(fd, KWQ_IOC_LEN, NULL));
	EXPECT_EQ(-EFAULT, request(fd, KWQ_IOC_FILES_WATCH, NULL));
	EXPECT_EQ(-ENOENT, files_stat(fd, &stat));
	args.flags = 1U << 2;
	EXPECT_EQ(-EINVAL, watch_with(fd, args));
	args = good;
	args.events = 0;
	EXPECT_EQ(-EINVAL, watch_with(fd, args));
	args.events = KWQ_FILE_FOUND;
	EXPECT_EQ(-EINVAL, watch_with(fd, args));
	args.events = WRITTEN | CREATED;
	args.flags = KWQ_FILES_MOUNT;
	EXPECT_EQ(-EINVAL, watch_with(fd, args));
	args = good;
	args.folder = -1;
	EXPECT_EQ(-EBADF, watch_with(fd, args));
	args.folder = fd;
	EXPECT_EQ(-ENOTDIR, watch_with(fd, args));
	args = good;
	args.prefix = user_ptr(prefix);
	EXPECT_EQ(-EINVAL, watch_with(fd, args));
	args.prefix_len = sizeof(prefix);
	EXPECT_EQ(-ENAMETOOLONG, watch_with(fd, args));
	args.prefix = 0;
	args.prefix_len = 1;
	EXPECT_EQ(-EFAULT, watch_with(fd, args));
	good.size = sizeof(good) - 8;
	EXPECT_EQ(-EINVAL, request(fd, KWQ_IOC_FILES_WATCH, &good));
	grown.args.size = sizeof(grown);
	grown.more = 1;
	EXPECT_EQ(-E2BIG, request(fd, KWQ_IOC_FILES_WATCH, &grown));
	grown.more = 0;
	EXPECT_EQ(0, request(fd, KWQ_IOC_FILES_WATCH, &grown));
	EXPECT_EQ(-EBUSY, watch_with(fd, good));
	stat.events = 1;
	EXPECT_EQ(-EINVAL, request(fd, KWQ_IOC_FILES_STAT, &stat));
	EXPECT_EQ(0, files_stat(fd, &stat));
	write_file("dir/a");
	EXPECT_PATH(self->q, "a", 0);
	close(fd);
	close(dir);
}

/* What does not fit is counted, and told once. */
TEST_F(files, full_queue)
{
	int q = values_queue(self->dev, 3);
	struct kwq_files_stat stat;
	char path[32];

	ASSERT_LE(0, q);
	self->watch = watch_as(q, "dir", KWQ_FILES_VALUES, WRITTEN, "");
	ASSERT_LE(0, self->watch);
	for (int i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "dir/%d", i);
		write_file(path);
	}
	/* These have room. */
	write_file("dir/0");
	EXPECT_TRUE(is_readable(self->watch));
	ASSERT_EQ(0, files_stat(self->watch, &stat));
	EXPECT_EQ(6, stat.events);
	EXPECT_EQ(2, stat.refused);
	EXPECT_FALSE(is_readable(self->watch));
	check_events(_metadata, q, self->watch);
	close(q);
	/* The queue is gone. */
	write_file("dir/0");
	EXPECT_TRUE(is_readable(self->watch));
	ASSERT_EQ(0, files_stat(self->watch, &stat));
	EXPECT_EQ(3, stat.refused);
}

TEST_F(files, keys_have_a_length)
{
	char prefix[KWQ_KEY_MAX], wanted[KWQ_KEY_MAX + 1];
	struct kwq_files_stat stat;

	memset(prefix, 'p', sizeof(prefix));
	prefix[sizeof(prefix) - 3] = '\0';
	self->watch = watch_as(self->q, "dir", KWQ_FILES_VALUES, WRITTEN, prefix);
	ASSERT_LE(0, self->watch);
	write_file("dir/abc");
	memcpy(stpcpy(wanted, prefix), "abc", 4);
	EXPECT_PATH(self->q, wanted, WRITTEN);
	EXPECT_FALSE(is_readable(self->watch));
	write_file("dir/abcd");
	EXPECT_NONE(self->q);
	EXPECT_TRUE(is_readable(self->watch));
	ASSERT_EQ(0, files_stat(self->watch, &stat));
	EXPECT_EQ(1, stat.refused);
}

#define WRITERS	3
#define NAMES	200

struct writer {
	pthread_t thread;
	int number, nr;
};

static atomic_bool stop;

/* Writes files, and renames their folder now and then. */
static void *write_until_stopped(void *arg)
{
	struct writer *w = arg;
	char path[64], from[32], to[32];
	int i = 0;

	while (!stop) {
		snprintf(path, sizeof(path), "dir/%d-%d/%d", w->number, i / NAMES % 2, i % NAMES);
		write_file(path);
		i++;
		w->nr++;
		if (i % NAMES)
			continue;
		snprintf(from, sizeof(from), "dir/%d-%d", w->number, (i / NAMES + 1) % 2);
		snprintf(to, sizeof(to), "dir/%d-%d", w->number, i / NAMES % 2);
		REQUIRE(!rename(from, to));
	}
	return NULL;
}

static void start_writers(struct __test_metadata *_metadata, struct writer writers[WRITERS])
{
	char path[32];

	stop = false;
	for (int i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer) { .number = i };
		snprintf(path, sizeof(path), "dir/%d-0", i);
		REQUIRE(!mkdir(path, 0755) || errno == EEXIST);
		ASSERT_EQ(0, pthread_create(&writers[i].thread, NULL, write_until_stopped,
					    &writers[i]));
	}
}

static int join_writers(struct writer writers[WRITERS])
{
	int nr = 0;

	stop = true;
	for (int i = 0; i < WRITERS; i++) {
		REQUIRE(!pthread_join(writers[i].thread, NULL));
		nr += writers[i].nr;
	}
	return nr;
}

/* While files and their folders change on all processors, a worker gets their paths. */
TEST_F_TIMEOUT(files, every_event_is_counted, 280)
{
	struct writer writers[WRITERS];
	char path[KWQ_KEY_MAX + 1];
	struct kwq_files_stat stat;
	int gets = 0, nr;
	__u32 bits;

	self->watch = watch_as(self->q, "dir", KWQ_FILES_VALUES, WRITTEN | MOVED_TO, "");
	ASSERT_LE(0, self->watch);
	start_writers(_metadata, writers);
	for (int i = 0; i < 2000; i++)
		if (get_path(self->q, path, &bits)) {
			/* A path that was put together while a folder was renamed is whole. */
			EXPECT_TRUE(path[1] == '-' && strchr("01", path[2]) && path[3] == '/');
			gets++;
		} else {
			sched_yield();
		}
	nr = join_writers(writers);
	check_events(_metadata, self->q, self->watch);
	ASSERT_EQ(0, files_stat(self->watch, &stat));
	EXPECT_LE(nr, stat.events);
	EXPECT_EQ(0, stat.refused);
	EXPECT_LT(0, gets);
}

/* Watches, queues, mounts and the module come and go under running events. */
TEST_F_TIMEOUT(files, ends_under_running_events, 280)
{
	struct writer writers[WRITERS];

	start_writers(_metadata, writers);
	for (int i = 0; i < 30; i++) {
		int q = values_queue(self->dev, 50), watch;

		ASSERT_LE(0, q);
		watch = watch_all(q, i % 2 ? "dir" : TOP);
		ASSERT_LE(0, watch);
		EXPECT_EQ(-EWOULDBLOCK, unload());
		usleep(5000);
		if (i % 3)
			close(q);
		usleep(1000);
		close(watch);
		if (!(i % 3))
			close(q);
		EXPECT_EQ(0, unload());
		ASSERT_EQ(0, load_module());
	}
	join_writers(writers);
}

/* A mount is detached, with writers in it, and a program that watches it is killed. */
TEST_F_TIMEOUT(files, unmount_under_running_events, 280)
{
	struct writer writers[WRITERS];

	for (int i = 0; i < 10; i++) {
		int q = values_queue(self->dev, 0), watch;

		ASSERT_LE(0, q);
		ASSERT_EQ(0, mount("again", "elsewhere", "tmpfs", 0, ""));
		ASSERT_EQ(0, chdir("elsewhere"));
		ASSERT_EQ(0, mkdir("dir", 0755));
		watch = watch_all(q, "dir");
		ASSERT_LE(0, watch);
		start_writers(_metadata, writers);
		usleep(3000);
		ASSERT_EQ(0, umount2(TOP "/elsewhere", MNT_DETACH));
		usleep(1000);
		if (i % 2)
			close(watch);
		join_writers(writers);
		ASSERT_EQ(0, chdir(TOP));
		if (!(i % 2)) {
			EXPECT_TRUE(is_gone(watch));
			close(watch);
		}
		close(q);
	}
}

TEST_HARNESS_MAIN

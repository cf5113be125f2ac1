// SPDX-License-Identifier: GPL-2.0-only
/*
 * kwq_files: adds the paths of files that change to the queue of a program. linux/kwq_files.h
 * describes the interface, and kwq_files(4) what the paths are.
 *
 * A watch is a group of fsnotify with two marks. That of a filesystem, or a mount, sees the events.
 * That of the folder keeps its inode, so that an event below the folder can be told from others by
 * comparing pointers, and ends when the folder is deleted or the filesystem unmounted. No mark
 * keeps a filesystem mounted.
 *
 * An event comes in the task that changes the file, where fsnotify may sleep: inotify and fanotify
 * allocate their events there. So the add is carried out at once, and its result is known. It is
 * short if the key is ready and has the event's bit, because then it coalesces without any memory.
 *
 *   WATCH	makes the group, then the folder's mark, then the other one
 *   event	under SRCU of fsnotify, which lasts longer than both marks
 *   close	destroys both marks; SRCU; the last reference frees the watch
 *   unmount	fsnotify destroys both marks, and the watch is GONE until it is closed
 *
 * A task that waits for the answer to a permission event of fanotify may keep a mark after the
 * close, so the watch has a reference for each mark, and exit waits for all watches.
 */
#include <linux/atomic.h>
#include <linux/cred.h>
#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/fsnotify_backend.h>
#include <linux/kref.h>
#include <linux/kwq_keys.h>
#include <linux/limits.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/wait_bit.h>
#include <uapi/linux/kwq_files.h>
#include "compat.h"
#include "path.h"

/* How often a path is looked up again because something was renamed meanwhile. */
#define TRIES	64

/**
 * struct watch - the files below a folder
 * @refs: of the open file, and of each mark
 * @group: as long as there is a mark
 * @folder_mark: the mark of the folder
 * @mark: the mark of the filesystem or the mount
 * @folder: the inode of the folder; only compared; NULL once the watch is GONE
 * @keys: the queue
 * @changed: wakes pollers
 * @flags: KWQ_FILES_* bits
 * @bits: KWQ_FILE_* bits that add a key
 * @events: events that were to add a key
 * @refused: those that did not
 * @told: @refused as the program knows it
 * @prefix_len: bytes of @prefix
 * @prefix: what stands before each path
 *
 * Without a comment a member is constant.
 */
struct watch {
	struct kref refs;
	struct fsnotify_group *group;
	struct fsnotify_mark folder_mark;
	struct fsnotify_mark mark;
	const struct inode *folder;
	struct kwq_key_queue *keys;
	wait_queue_head_t changed;
	u32 flags;
	u32 bits;
	atomic64_t events;
	atomic64_t refused;
	atomic64_t told;
	u32 prefix_len;
	char prefix[];
};

/* Watches that are not freed. */
static atomic_t nr_watches;

static void free_watch(struct kref *refs)
{
	struct watch *watch = container_of(refs, struct watch, refs);

	/* Without any mark nobody adds any more. */
	kwq_key_queue_put(watch->keys);
	kfree(watch);
	if (atomic_dec_and_test(&nr_watches))
		wake_up_var(&nr_watches);
}

static void put_watch(struct watch *watch)
{
	kref_put(&watch->refs, free_watch);
}

static bool is_gone(const struct watch *watch)
{
	return !READ_ONCE(watch->folder);
}

static void lose_folder(struct watch *watch)
{
	WRITE_ONCE(watch->folder, NULL);
	wake_up(&watch->changed);
}

/* ---- Adds ---- */

static void refuse(struct watch *watch)
{
	atomic64_inc(&watch->refused);
	wake_up(&watch->changed);
}

static void add_key(struct watch *watch, const char *key, u32 len, u8 bits)
{
	const struct kwq_key_options options = {
		.flags = watch->flags & KWQ_FILES_VALUES ? KWQ_ADD_VALUE : 0,
		.value = watch->flags & KWQ_FILES_VALUES ? &bits : NULL,
		.value_len = watch->flags & KWQ_FILES_VALUES ? sizeof(bits) : 0,
		.is_set = watch->flags & KWQ_FILES_VALUES,
		.may_sleep = true,
	};

	if (kwq_add_key(watch->keys, key, len, &options) < 0)
		refuse(watch);
}

/* ---- Paths ---- */

enum { NOT_BELOW = -1, UNKNOWN = -2 };

/* Returns how many names lead from the folder to the file, NOT_BELOW, or UNKNOWN. */
static int depth_below(const struct inode *folder, const struct dentry *dentry)
{
	const struct dentry *parent;
	int depth;

	rcu_read_lock();
	for (depth = 0; READ_ONCE(dentry->d_inode) != folder; dentry = parent, depth++) {
		parent = READ_ONCE(dentry->d_parent);
		if (parent != dentry)
			continue;
		/* A server of NFS may have opened a file by its handle, and knows no parents. */
		depth = READ_ONCE(dentry->d_flags) & DCACHE_DISCONNECTED ? UNKNOWN : NOT_BELOW;
		break;
	}
	rcu_read_unlock();
	return depth;
}

/* Most events of a filesystem are elsewhere. A file that is being renamed may be below. */
static bool is_elsewhere(const struct inode *folder, const struct dentry *dentry)
{
	unsigned int seq = read_seqbegin(&rename_lock);

	return depth_below(folder, dentry) == NOT_BELOW && !read_seqretry(&rename_lock, seq);
}

/*
 * Writes the path of the file in its filesystem to the end of @room. Returns NULL if the path is
 * too long, or changes all the time. Either may be about a file that is not below the folder.
 */
static char *find_path(const struct inode *folder, struct dentry *dentry, char *room, int *depth)
{
	unsigned int tries, seq;
	char *path;

	for (tries = 0; tries < TRIES; tries++) {
		seq = read_seqbegin(&rename_lock);
		*depth = depth_below(folder, dentry);
		path = *depth < 0 ? NULL : dentry_path_raw(dentry, room, KWQ_FILES_PATH_SIZE);
		if (!read_seqretry(&rename_lock, seq))
			return IS_ERR(path) ? NULL : path;
	}
	*depth = UNKNOWN;
	return NULL;
}

/* Adds the key of a file, or of one that has @name in the folder @dentry. */
static void add_path(struct watch *watch, const struct inode *folder, struct dentry *dentry,
		     const struct qstr *name, bool is_folder, u8 bits)
{
	struct kwq_files_key parts = {
		.name = name ? (const char *)name->name : NULL,
		.name_len = name ? name->len : 0,
		.is_folder = is_folder,
		.prefix = watch->prefix,
		.prefix_len = watch->prefix_len,
	};
	const char *key = NULL;
	int depth;
	u32 len;

	if (is_elsewhere(folder, dentry))
		return;
	parts.room = kmalloc(KWQ_FILES_ROOM, GFP_KERNEL);
	if (parts.room) {
		parts.path = find_path(folder, dentry, parts.room, &depth);
		if (depth == NOT_BELOW)
			goto free;
		parts.depth = depth;
		if (parts.path && parts.name_len <= NAME_MAX)
			key = kwq_files_put_together(&parts, &len);
	}
	atomic64_inc(&watch->events);
	if (key)
		add_key(watch, key, len, bits);
	else
		refuse(watch);
free:
	kfree(parts.room);
}

/* ---- Events ---- */

/* An event of a name in a folder. The caller holds the lock of the folder, so its name is known. */
static void add_name(struct watch *watch, const struct inode *folder, struct inode *dir,
		     const struct qstr *name, bool is_folder, u8 bits)
{
	struct dentry *dentry = d_find_any_alias(dir);

	if (!dentry) {
		atomic64_inc(&watch->events);
		refuse(watch);
		return;
	}
	add_path(watch, folder, dentry, name, is_folder, bits);
	dput(dentry);
}

static int handle_event(struct fsnotify_group *group, u32 mask, const void *data, int data_type,
			struct inode *dir, const struct qstr *name, u32 cookie,
			struct fsnotify_iter_info *iter_info)
{
	struct watch *watch = group->private;
	const struct inode *folder = READ_ONCE(watch->folder);
	u8 bits = kwq_files_bits(mask) & watch->bits;
	struct dentry *dentry;

	if (!folder)
		return 0;
	/* Its paths would be wrong from now on. */
	if (mask & FS_MOVE_SELF && fsnotify_data_inode(data, data_type) == folder)
		lose_folder(watch);
	if (!bits)
		return 0;
	if (mask & ALL_FSNOTIFY_DIRENT_EVENTS) {
		add_name(watch, folder, dir, name, mask & FS_ISDIR, bits);
		return 0;
	}
	dentry = fsnotify_data_dentry(data, data_type);
	/* Not a change of the links to a file, which has no path; nor one of a deleted file. */
	if (dentry && !d_unlinked(dentry) && !(mask & FS_ISDIR))
		add_path(watch, folder, dentry, NULL, false, bits);
	return 0;
}

static void freeing_mark(struct fsnotify_mark *mark, struct fsnotify_group *group)
{
	lose_folder(group->private);
}

/* Nothing looks at the mark, or at the watch by it, any more. */
static void free_mark(struct fsnotify_mark *mark)
{
	put_watch(mark->group->private);
}

static const struct fsnotify_ops ops = {
	.handle_event = handle_event,
	.freeing_mark = freeing_mark,
	.free_mark = free_mark,
};

/* ---- The beginning and the end ---- */

static DEFINE_MUTEX(watch_lock);

static int check_args(const struct kwq_files_watch_args *args)
{
	u32 events = args->flags & KWQ_FILES_MOUNT ? KWQ_FILE_WRITTEN : KWQ_FILES_EVENTS;

	if (args->flags & ~(KWQ_FILES_MOUNT | KWQ_FILES_VALUES))
		return -EINVAL;
	if (!args->events || args->events & ~events)
		return -EINVAL;
	if (args->prefix && !args->prefix_len)
		return -EINVAL;
	if (args->prefix_len > KWQ_FILES_PREFIX_MAX)
		return -ENAMETOOLONG;
	if (args->flags & KWQ_FILES_MOUNT && !KWQ_HAS_MOUNT_MARKS)
		return -EOPNOTSUPP;
	return 0;
}

static int check_folder(const struct path *path)
{
	if (!d_is_dir(path->dentry))
		return -ENOTDIR;
	/* As fanotify, whose marks see the same. */
	return ns_capable(path->dentry->d_sb->s_user_ns, CAP_SYS_ADMIN) ? 0 : -EPERM;
}

static struct watch *alloc_watch(const struct kwq_files_watch_args *args)
{
	struct watch *watch = kzalloc(struct_size(watch, prefix, args->prefix_len),
				      GFP_KERNEL_ACCOUNT);

	if (!watch)
		return ERR_PTR(-ENOMEM);
	if (copy_from_user(watch->prefix, u64_to_user_ptr(args->prefix), args->prefix_len)) {
		kfree(watch);
		return ERR_PTR(-EFAULT);
	}
	kref_init(&watch->refs);
	init_waitqueue_head(&watch->changed);
	watch->prefix_len = args->prefix_len;
	watch->flags = args->flags;
	watch->bits = args->events;
	watch->keys = kwq_key_queue_get(args->queue);
	if (IS_ERR(watch->keys)) {
		struct kwq_key_queue *keys = watch->keys;

		kfree(watch);
		return ERR_CAST(keys);
	}
	atomic_inc(&nr_watches);
	return watch;
}

static void init_mark(struct watch *watch, struct fsnotify_mark *mark, u32 mask)
{
	kref_get(&watch->refs);
	fsnotify_init_mark(mark, watch->group);
	mark->mask = mask;
}

/* Events may come as soon as there is the second mark. */
static int add_marks(struct watch *watch, const struct path *path)
{
	struct inode *folder = d_inode(path->dentry);
	int err;

	watch->folder = folder;
	err = fsnotify_add_inode_mark(&watch->folder_mark, folder, 0);
	if (err)
		return err;
	/* The mark of a folder that was deleted before would not tell that. */
	if (IS_DEADDIR(folder))
		return -ENOENT;
	return watch->flags & KWQ_FILES_MOUNT ?
	       kwq_add_mount_mark(&watch->mark, path->mnt) :
	       kwq_add_sb_mark(&watch->mark, path->dentry->d_sb);
}

static void end_watch(struct watch *watch)
{
	fsnotify_destroy_mark(&watch->mark, watch->group);
	fsnotify_destroy_mark(&watch->folder_mark, watch->group);
	fsnotify_put_mark(&watch->mark);
	fsnotify_put_mark(&watch->folder_mark);
	/* After it no event adds a key, and as a rule both marks are freed. */
	fsnotify_wait_marks_destroyed();
	put_watch(watch);
}

static struct watch *begin_watch(const struct kwq_files_watch_args *args, const struct path *path)
{
	struct watch *watch;
	int err = check_folder(path);

	if (err)
		return ERR_PTR(err);
	watch = alloc_watch(args);
	if (IS_ERR(watch))
		return watch;
	watch->group = fsnotify_alloc_group(&ops, FSNOTIFY_GROUP_USER);
	if (IS_ERR(watch->group)) {
		err = PTR_ERR(watch->group);
		put_watch(watch);
		return ERR_PTR(err);
	}
	watch->group->private = watch;
	init_mark(watch, &watch->folder_mark, FS_MOVE_SELF);
	init_mark(watch, &watch->mark, kwq_files_mask(watch->bits));
	/* From now on each mark keeps it. */
	fsnotify_put_group(watch->group);
	err = add_marks(watch, path);
	if (!err)
		return watch;
	end_watch(watch);
	return ERR_PTR(err);
}

static int watch_folder(struct file *file, const struct kwq_files_watch_args *args)
{
	struct file *folder;
	struct watch *watch;

	/* Also of a descriptor that has O_PATH. */
	folder = fget_raw(args->folder);
	if (!folder)
		return -EBADF;
	guard(mutex)(&watch_lock);
	watch = file->private_data ? ERR_PTR(-EBUSY) : begin_watch(args, &folder->f_path);
	fput(folder);
	if (IS_ERR(watch))
		return PTR_ERR(watch);
	/* Pairs with the acquire of watch_of(). */
	smp_store_release(&file->private_data, watch);
	return 0;
}

/* ---- The device ---- */

static struct watch *watch_of(struct file *file)
{
	return smp_load_acquire(&file->private_data); /* pairs with the release of WATCH */
}

static long files_watch(struct file *file, void __user *from, u32 size)
{
	struct kwq_files_watch_args args;
	int err = copy_struct_from_user(&args, sizeof(args), from, size);

	if (!err)
		err = check_args(&args);
	return err ?: watch_folder(file, &args);
}

static long files_stat(struct file *file, void __user *to, u32 size)
{
	struct watch *watch = watch_of(file);
	struct kwq_files_stat stat;
	int err = copy_struct_from_user(&stat, sizeof(stat), to, size);

	if (err)
		return err;
	if (stat.state || stat.events || stat.refused)
		return -EINVAL;
	if (!watch)
		return -ENOENT;
	stat.state = is_gone(watch) ? KWQ_FILES_GONE : 0;
	stat.refused = atomic64_read(&watch->refused);
	stat.events = atomic64_read(&watch->events);
	if (copy_to_user(to, &stat, sizeof(stat)))
		return -EFAULT;
	atomic64_set(&watch->told, stat.refused);
	return 0;
}

/* The first version of each structure has all members, so a program that has fewer is wrong. */
static long files_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;
	u32 size;

	if (cmd != KWQ_IOC_FILES_WATCH && cmd != KWQ_IOC_FILES_STAT)
		return -ENOTTY;
	if (get_user(size, (u32 __user *)user))
		return -EFAULT;
	if (size > PAGE_SIZE)
		return -E2BIG;
	if (cmd == KWQ_IOC_FILES_WATCH)
		return size < sizeof(struct kwq_files_watch_args) ? -EINVAL :
		       files_watch(file, user, size);
	return size < sizeof(struct kwq_files_stat) ? -EINVAL : files_stat(file, user, size);
}

static __poll_t files_poll(struct file *file, poll_table *table)
{
	struct watch *watch = watch_of(file);

	if (!watch)
		return EPOLLERR;
	poll_wait(file, &watch->changed, table);
	return is_gone(watch) || atomic64_read(&watch->refused) != atomic64_read(&watch->told) ?
	       EPOLLIN | EPOLLRDNORM : 0;
}

/* A misc device sets it, which would be taken for a watch. */
static int files_open(struct inode *inode, struct file *file)
{
	file->private_data = NULL;
	return 0;
}

static int files_release(struct inode *inode, struct file *file)
{
	if (file->private_data)
		end_watch(file->private_data);
	return 0;
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.open = files_open,
	.poll = files_poll,
	.unlocked_ioctl = files_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.release = files_release,
};

/* Anybody may open it, because each request asks for its own rights. */
static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kwq_files",
	.fops = &fops,
	.mode = 0666,
};

static int __init kwq_files_init(void)
{
	return misc_register(&device);
}

static void __exit kwq_files_exit(void)
{
	misc_deregister(&device);
	wait_var_event(&nr_watches, !atomic_read(&nr_watches));
	/* The last marks may still be in free_mark(), and their groups have the operations. */
	fsnotify_wait_marks_destroyed();
}

module_init(kwq_files_init);
module_exit(kwq_files_exit);

MODULE_DESCRIPTION("kwq: adds the paths of files that change to a program's queue");
MODULE_LICENSE("GPL");

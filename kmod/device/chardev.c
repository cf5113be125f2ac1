// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/kwq and queue descriptors. Every request has the same steps: copy in, validate,
 * call, copy out.
 */
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "batch.h"
#include "board_file.h"
#include "bpf.h"
#include "chardev.h"
#include "compat.h"
#include "core/limiter.h"
#include "keyed/keyed.h"
#include "keyed/timens.h"
#include "sizes.h"
#include "words.h"

static_assert(sizeof(struct kwq_get_args) <= KWQ_WORDS_MAX);

static unsigned int max_items = 16 << 20;
module_param(max_items, uint, 0444);
MODULE_PARM_DESC(max_items, "most items that a queue may be given");

static unsigned long max_bytes = SZ_2G;
module_param(max_bytes, ulong, 0444);
MODULE_PARM_DESC(max_bytes, "most bytes of items and keys that a queue may be given");

static const struct file_operations queue_fops;

/*
 * Copies in a structure that begins with its own size. The caller's structure has at least
 * the first published size. So that part is read at once, and any bytes behind it
 * separately. Nothing is read twice.
 */
static __always_inline int copy_in_grown(void *to, size_t size, size_t first_size,
					 const void __user *from)
{
	const u32 *usize = to;

	if (kwq_copy_from_user(to, from, first_size))
		return -EFAULT;
	if (*usize < first_size || *usize > PAGE_SIZE)
		return -EINVAL;
	if (likely(*usize == first_size)) {
		memset(to + first_size, 0, size - first_size);
		return 0;
	}
	return copy_struct_from_user(to + first_size, size - first_size,
				     from + first_size, *usize - first_size);
}

/* The same for a structure that has not grown. */
static __always_inline int copy_in(void *to, size_t size, const void __user *from)
{
	return copy_in_grown(to, size, size, from);
}

/* Copies out a structure that has @usize bytes in the caller's headers. */
static int copy_out_as(void __user *to, void *from, size_t size, u32 usize)
{
	size = min_t(size_t, size, usize);
	*(u32 *)from = size;
	if (copy_to_user(to, from, size) ||
	    clear_user(to + size, usize - size))
		return -EFAULT;
	return 0;
}

/* The same for a structure of which the caller passes only the size. */
static int copy_out(void __user *to, void *from, size_t size)
{
	u32 usize;

	if (get_user(usize, (u32 __user *)to))
		return -EFAULT;
	if (usize < size || usize > PAGE_SIZE)
		return -EINVAL;
	return copy_out_as(to, from, size, usize);
}

/* A name member holds a name, ended by a NUL and padded with NULs. */
static int check_name_member(const u8 *name)
{
	size_t len = strnlen(name, KWQ_NAME_MAX + 1);

	if (len > KWQ_NAME_MAX)
		return -ENAMETOOLONG;
	return memchr_inv(name + len, 0, KWQ_NAME_MAX + 1 - len) ? -EINVAL : 0;
}

#define ALL_RIGHTS	(KWQ_RIGHT_READ | KWQ_RIGHT_WRITE | KWQ_RIGHT_MANAGE)

static int check_opening(u32 open_flags, u32 rights)
{
	if (open_flags & ~(O_NONBLOCK | O_CLOEXEC))
		return -EINVAL;
	return !rights || rights & ~ALL_RIGHTS ? -EINVAL : 0;
}

/* File mode for other users of the file, such as fdinfo. The handle has the rights. */
static int file_access(u32 rights)
{
	if (!(rights & KWQ_RIGHT_WRITE))
		return O_RDONLY;
	return rights & KWQ_RIGHT_READ ? O_RDWR : O_WRONLY;
}

static bool has_right(const struct file *file, u32 right)
{
	const struct kwq_handle *handle = file->private_data;

	return handle->rights & right;
}

/* An open descriptor that is not yet visible. */
struct new_fd {
	struct file *file;
	int fd;
};

static int new_fd_prepare(struct new_fd *new, struct kwq_keyed *keyed,
			  u32 open_flags, u32 rights)
{
	struct kwq_handle *handle;
	int err;

	new->fd = get_unused_fd_flags(open_flags & O_CLOEXEC);
	if (new->fd < 0)
		return new->fd;

	handle = kwq_handle_open(keyed, rights);
	if (IS_ERR(handle)) {
		err = PTR_ERR(handle);
		goto put_fd;
	}
	new->file = anon_inode_getfile("[kwq]", &queue_fops, handle,
				       file_access(rights) | (open_flags & O_NONBLOCK));
	if (IS_ERR(new->file)) {
		err = PTR_ERR(new->file);
		goto close_handle;
	}
	return 0;

close_handle:
	kwq_handle_close(handle);
put_fd:
	put_unused_fd(new->fd);
	return err;
}

static int new_fd_publish(const struct new_fd *new)
{
	fd_install(new->fd, new->file);
	return new->fd;
}

static void new_fd_discard(const struct new_fd *new)
{
	fput(new->file);
	put_unused_fd(new->fd);
}

static int open_keyed(struct kwq_keyed *keyed, u32 open_flags, u32 rights)
{
	struct new_fd new;
	int err = new_fd_prepare(&new, keyed, open_flags, rights);

	return err ?: new_fd_publish(&new);
}

static int open_name(const char *name, u32 open_flags, u32 rights)
{
	struct kwq_keyed *keyed = kwq_names_find(name);
	int ret;

	if (!keyed)
		return -ENOENT;
	ret = kwq_names_permit(keyed, rights);
	if (!ret)
		ret = open_keyed(keyed, open_flags, rights);
	kwq_keyed_put(keyed);
	return ret;
}

/* The form of an array of limiters, which may be absent. */
static int check_limiters(const struct kwq_config *arg)
{
	if (!arg->nr)
		return arg->limiters || arg->limiter_size ? -EINVAL : 0;
	return arg->limiter_size < sizeof(struct kwq_limiter) ||
	       arg->limiter_size > PAGE_SIZE ? -EINVAL : 0;
}

/*
 * Copies the limiters of a configuration in, which may have another size in the caller's headers.
 * The caller frees *@config.
 */
static int copy_in_limiters(struct kwq_limiter_config **config, const struct kwq_config *arg)
{
	struct kwq_limiter_config *to;
	int err;

	if (arg->nr > KWQ_LIMITERS_MAX)
		return -EINVAL;
	err = check_limiters(arg);
	if (err)
		return err;
	to = kzalloc(sizeof(*to), GFP_KERNEL_ACCOUNT);
	if (!to)
		return -ENOMEM;
	to->flags = arg->flags;
	to->dead_after = arg->dead_after;
	to->dead_after_lost = arg->dead_after_lost;
	to->max_wait = arg->max_wait;
	to->forget_after = arg->forget_after;
	to->nr = arg->nr;
	err = kwq_copy_entries_in(to->limiters, sizeof(*to->limiters), arg->nr, arg->limiters,
				  arg->limiter_size, 0) ?:
	      kwq_limiter_config_check(to);
	if (err) {
		kfree(to);
		return err;
	}
	*config = to;
	return 0;
}

struct kwq_key_queue *kwq_key_queue_get(int fd)
{
	struct kwq_key_queue *keys = ERR_PTR(-EINVAL);
	struct file *file = fget(fd);
	struct kwq_handle *handle;

	if (!file)
		return ERR_PTR(-EBADF);
	if (file->f_op == &queue_fops) {
		handle = file->private_data;
		keys = kwq_key_queue_open(handle->keyed, handle->rights);
	}
	fput(file);
	return keys;
}
EXPORT_SYMBOL_GPL(kwq_key_queue_get);

static enum kwq_clock clock_of(s32 clockid)
{
	switch (clockid) {
	case CLOCK_BOOTTIME:
		return KWQ_CLOCK_BOOTTIME;
	case KWQ_CLOCK_ID_MANUAL:
		return KWQ_CLOCK_MANUAL;
	}
	return KWQ_CLOCK_MONOTONIC;
}

#define CREATE_FLAGS	(KWQ_CREATE_OR_OPEN | KWQ_CREATE_VALUES | KWQ_CREATE_GROUPS | \
			 KWQ_CREATE_NO_DURATIONS | KWQ_CREATE_CHANGES | KWQ_CREATE_SYNC | \
			 KWQ_CREATE_OUTBOX)

/* Lets the adds of a new queue go to that of a descriptor. */
static int set_outbox(struct kwq_keyed *keyed, int fd)
{
	struct file *file = fget(fd);
	struct kwq_handle *handle;
	int err = -EINVAL;

	if (!file)
		return -EBADF;
	if (file->f_op == &queue_fops) {
		handle = file->private_data;
		err = has_right(file, KWQ_RIGHT_WRITE) ?
		      kwq_keyed_set_outbox(keyed, handle->keyed, handle->rights) :
		      -EBADF;
	}
	fput(file);
	return err;
}

static int create_queue(const struct kwq_create_args *arg,
			const struct kwq_limiter_config *config)
{
	const struct kwq_limits limits = {
		.max_items = arg->max_items ?: max_items,
		.max_bytes = arg->max_bytes ?: max_bytes,
		.lease = arg->lease,
		.aging = arg->aging,
		.group_limit = arg->group_limit,
		.values = arg->flags & KWQ_CREATE_VALUES,
		.groups = arg->flags & KWQ_CREATE_GROUPS,
		.no_durations = arg->flags & KWQ_CREATE_NO_DURATIONS,
		.changes = arg->flags & KWQ_CREATE_CHANGES,
		.sync = arg->flags & KWQ_CREATE_SYNC,
	};
	struct kwq_keyed *keyed;
	struct new_fd new;
	int err;

	keyed = kwq_keyed_create(arg->name, clock_of(arg->clockid), &limits);
	if (IS_ERR(keyed))
		return PTR_ERR(keyed);
	err = kwq_keyed_configure(keyed, config);
	if (!err && arg->flags & KWQ_CREATE_OUTBOX)
		err = set_outbox(keyed, arg->outbox);
	if (err)
		goto put_keyed;
	keyed->mode = arg->mode & ~current_umask();

	err = new_fd_prepare(&new, keyed, arg->open_flags, arg->rights);
	if (err)
		goto put_keyed;
	/* The last step that can fail, because a name is visible at once. */
	if (*keyed->queue.name)
		err = kwq_names_add(keyed);
	if (err)
		new_fd_discard(&new);
put_keyed:
	kwq_keyed_put(keyed);
	return err ?: new_fd_publish(&new);
}

static int check_create(const struct kwq_create_args *arg)
{
	int err = check_name_member(arg->name) ?:
		  check_opening(arg->open_flags, arg->rights);

	if (err)
		return err;
	if (arg->flags & ~CREATE_FLAGS || arg->mode & ~0777)
		return -EINVAL;
	if (arg->outbox && !(arg->flags & KWQ_CREATE_OUTBOX))
		return -EINVAL;
	if (arg->group_limit && !(arg->flags & KWQ_CREATE_GROUPS))
		return -EINVAL;
	/* Both count from a time that is not known then. */
	if (arg->flags & KWQ_CREATE_NO_DURATIONS && (arg->lease || arg->aging))
		return -EINVAL;
	if (arg->flags & KWQ_CREATE_SYNC && !(arg->flags & KWQ_CREATE_CHANGES))
		return -EINVAL;
	if (arg->clockid != CLOCK_MONOTONIC && arg->clockid != CLOCK_BOOTTIME &&
	    arg->clockid != KWQ_CLOCK_ID_MANUAL)
		return -EINVAL;
	if (arg->max_items > max_items || arg->max_bytes > max_bytes ||
	    arg->lease > KTIME_MAX || arg->aging > KTIME_MAX)
		return -EINVAL;
	if (!*arg->name)
		return arg->mode || arg->flags & KWQ_CREATE_OR_OPEN ? -EINVAL : 0;
	return kwq_names_check(arg->name);
}

static int create_or_open(const struct kwq_create_args *arg,
			  const struct kwq_limiter_config *config)
{
	int ret;

	do {
		if (arg->flags & KWQ_CREATE_OR_OPEN) {
			ret = open_name(arg->name, arg->open_flags, arg->rights);
			if (ret != -ENOENT)
				return ret;
		}
		ret = create_queue(arg, config);
		if (fatal_signal_pending(current))
			break;
		cond_resched();
		/* Somebody else created it meanwhile, so open it. */
	} while (ret == -EEXIST && arg->flags & KWQ_CREATE_OR_OPEN);
	return ret;
}

static long ioctl_create(void __user *uarg)
{
	struct kwq_limiter_config *config = NULL;
	struct kwq_create_args arg;
	struct kwq_config limits;
	int ret;

	ret = copy_in(&arg, sizeof(arg), uarg) ?:
	      check_create(&arg);
	if (!ret && arg.config)
		ret = copy_in(&limits, sizeof(limits), u64_to_user_ptr(arg.config)) ?:
		      copy_in_limiters(&config, &limits);
	if (ret)
		return ret;
	ret = create_or_open(&arg, config);
	kfree(config);
	return ret;
}

static int check_open(const struct kwq_open_args *arg)
{
	return check_name_member(arg->name) ?:
	       (arg->pad ? -EINVAL : check_opening(arg->open_flags, arg->rights));
}

static long ioctl_open(void __user *uarg)
{
	struct kwq_open_args arg;
	int err = copy_in(&arg, sizeof(arg), uarg) ?:
		  check_open(&arg) ?:
		  kwq_names_check(arg.name);

	return err ?: open_name(arg.name, arg.open_flags, arg.rights);
}

static long ioctl_unlink(void __user *uarg)
{
	struct kwq_unlink_args arg;
	int err;

	err = copy_in(&arg, sizeof(arg), uarg) ?:
	      check_name_member(arg.name);
	if (err)
		return err;
	if (arg.flags)
		return -EINVAL;
	return kwq_names_check(arg.name) ?: kwq_names_unlink(arg.name);
}

static long ioctl_info(void __user *uarg)
{
	struct kwq_info arg = {
		.key_max = KWQ_KEY_MAX,
		.features = KWQ_FEATURE_DELAYS | KWQ_FEATURE_PRIORITIES |
			    KWQ_FEATURE_NAMES | KWQ_FEATURE_LIMITERS |
			    KWQ_FEATURE_DEAD | KWQ_FEATURE_METRICS |
			    KWQ_FEATURE_MANUAL_CLOCK | KWQ_FEATURE_LEASES |
			    KWQ_FEATURE_PAUSE | KWQ_FEATURE_GROUPS | KWQ_FEATURE_AGING |
			    KWQ_FEATURE_VALUES | KWQ_FEATURE_DEBOUNCE |
			    KWQ_FEATURE_WAIT_ADD | KWQ_FEATURE_LIST_ITEMS | KWQ_FEATURE_RESTORE |
			    KWQ_FEATURE_SETTLE | KWQ_FEATURE_BOARD |
			    KWQ_FEATURE_NO_DURATIONS | KWQ_FEATURE_CHANGES |
			    KWQ_FEATURE_GRANTS | KWQ_FEATURE_NOTES,
		.max_items = max_items,
		.max_bytes = max_bytes,
		.name_max = KWQ_NAME_MAX,
		.batch_max = KWQ_BATCH_MAX,
		.priority_min = KWQ_PRIORITY_MIN,
		.priority_max = KWQ_PRIORITY_MAX,
	};

	kwq_quota_read(&arg);
	return copy_out(uarg, &arg, sizeof(arg));
}

/* Number of entries that fit into a buffer of one page. */
#define LIST_CHUNK	(PAGE_SIZE / sizeof(struct kwq_list_entry))

static int check_list(const struct kwq_list_args *arg)
{
	if (arg->flags || !arg->nr || arg->nr > KWQ_BATCH_MAX ||
	    arg->entry_size < sizeof(struct kwq_list_entry) ||
	    arg->entry_size > PAGE_SIZE)
		return -EINVAL;
	return check_name_member(arg->after);
}

static long ioctl_list(void __user *uarg)
{
	struct kwq_list_entry *entries;
	struct kwq_list_args arg;
	u32 nr = 0, n, want;
	int err;

	err = copy_in(&arg, sizeof(arg), uarg) ?:
	      check_list(&arg);
	if (err)
		return err;
	entries = kmalloc_array(LIST_CHUNK, sizeof(*entries), GFP_KERNEL_ACCOUNT);
	if (!entries)
		return -ENOMEM;

	do {
		want = min_t(u32, LIST_CHUNK, arg.nr - nr);
		n = kwq_names_list(arg.after, entries, want);
		err = kwq_copy_entries_out(arg.entries, arg.entry_size, nr, entries,
					   sizeof(*entries), n);
		if (err)
			break;
		nr += n;
		if (n)
			memcpy(arg.after, entries[n - 1].name, sizeof(arg.after));
	} while (n == want && nr < arg.nr);
	kfree(entries);
	if (err)
		return err;
	return nr;
}

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *uarg = (void __user *)arg;

	/* Compare the whole number, so that another size cannot pass a seccomp filter. */
	switch (cmd) {
	case KWQ_IOC_INFO:
		return ioctl_info(uarg);
	case KWQ_IOC_CREATE:
		return ioctl_create(uarg);
	case KWQ_IOC_OPEN:
		return ioctl_open(uarg);
	case KWQ_IOC_UNLINK:
		return ioctl_unlink(uarg);
	case KWQ_IOC_LIST:
		return ioctl_list(uarg);
	}
	return -ENOTTY;
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

/*
 * Waits until the changes of @taken entries are kept, if the queue asks for it. Returns the
 * result of the request.
 */
static long finish_batch(struct kwq_handle *handle, int err, u32 taken)
{
	if (!taken)
		return err;
	if (unlikely(handle->keyed->limits.sync))
		kwq_handle_sync(handle);
	return taken;
}

static long queue_batch(struct file *file, void __user *uarg, const struct kwq_batch_kind *kind)
{
	struct kwq_handle *handle = file->private_data;
	struct kwq_batch_args arg __uninitialized;
	bool had_lost = false;
	u32 taken = 0;
	int err;

	if (kind->rights & ~handle->rights)
		return -EBADF;
	err = copy_in(&arg, sizeof(arg), uarg);
	if (err)
		return err;
	if (arg.flags || !arg.batch.nr)
		return -EINVAL;
	if (kind->by_outbox) {
		handle = kwq_handle_for_adds(handle);
		/* U9: this reaches another queue, where the outbox's descriptor counts. */
		if (kind->rights & ~handle->rights)
			return -EBADF;
	}
	err = kwq_batch_check(&arg.batch, kind->size, kind->extra_size, true);
	if (err)
		return err;
	/* Before the tickets are looked at, so that no later loss is missed. */
	if (kind->sees_losses)
		had_lost = kwq_handle_set_has_lost(handle, false);
	err = kwq_batch_execute(handle, kind, &arg.batch, &taken);
	if (had_lost && !taken)
		kwq_handle_set_has_lost(handle, true);
	if (!kind->changes_items)
		return taken ?: (long)err;
	return finish_batch(handle, err, taken);
}

/* A clone with fewer arguments (gcc's isra) would not be flattened. */
static noinline __noclone __flatten long queue_done(struct file *file, void __user *uarg)
{
	return queue_batch(file, uarg, &kwq_batch_done);
}

/*
 * Returns the deadline of a wait, on the queue's clock. A wait that continues after a
 * signal keeps its deadline.
 */
static ktime_t deadline_of(struct kwq_keyed *keyed, u64 deadline, bool relative, u64 resume)
{
	ktime_t now;

	if (resume)
		return kwq_host_time(keyed, resume);
	if (!relative)
		return kwq_host_time(keyed, deadline);
	now = kwq_queue_now(&keyed->queue);
	return ktime_add_safe(now, min_t(u64, deadline, KTIME_MAX));
}

/* Returns the value of @resume for a restarted call; never 0. */
static u64 resume_at(struct kwq_keyed *keyed, ktime_t deadline)
{
	return max(kwq_caller_time(keyed, deadline), 1);
}

/* Stores the deadline of a wait that will continue, and zeroes that of a wait that is over. */
static noinline int put_resume(u64 __user *to, struct kwq_keyed *keyed, ktime_t deadline,
			       int ret)
{
	bool goes_on = ret == -ERESTARTSYS;
	u64 resume = goes_on ? resume_at(keyed, deadline) : 0;

	if (kwq_put_user(resume, to) && goes_on)
		return -EINTR;
	return ret;
}

/* Adds that may wait for room (Q19). Only a call that took nothing is restarted. */
static noinline long add_waiting(struct file *file, struct kwq_add_args __user *uarg,
				 const struct kwq_add_args *arg, struct kwq_handle *handle)
{
	struct kwq_patience patience;
	u32 taken = 0;
	int ret;

	/* A non-zero argument that the request ignores is an error (U3). */
	if (arg->flags & ~(KWQ_ADD_WAIT | KWQ_ADD_RELATIVE) || !(arg->flags & KWQ_ADD_WAIT) ||
	    (arg->resume && !(arg->flags & KWQ_ADD_RELATIVE)))
		return -EINVAL;
	patience.deadline = deadline_of(handle->keyed, arg->deadline,
					arg->flags & KWQ_ADD_RELATIVE, arg->resume);
	patience.nonblock = file->f_flags & O_NONBLOCK;
	ret = kwq_batch_add_waiting(handle, &arg->batch, &patience, &taken);
	ret = finish_batch(handle, ret, taken);
	if (arg->flags & KWQ_ADD_RELATIVE && (arg->resume || ret == -ERESTARTSYS))
		ret = put_resume(&uarg->resume, handle->keyed, patience.deadline, ret);
	return ret;
}

static noinline __flatten long queue_add(struct file *file, void __user *uarg)
{
	struct kwq_handle *handle = kwq_handle_for_adds(file->private_data);
	struct kwq_add_args arg __uninitialized;
	u32 taken = 0;
	int err;

	if (!has_right(file, KWQ_RIGHT_WRITE))
		return -EBADF;
	err = copy_in_grown(&arg, sizeof(arg), KWQ_ADD_FIRST, uarg);
	if (err)
		return err;
	if (!arg.batch.nr)
		return -EINVAL;
	err = kwq_batch_check(&arg.batch, kwq_batch_add.size, kwq_batch_add.extra_size, true);
	if (err)
		return err;
	if (unlikely(arg.flags | arg.deadline | arg.resume))
		return add_waiting(file, uarg, &arg, handle);
	err = kwq_batch_execute(handle, &kwq_batch_add, &arg.batch, &taken);
	return finish_batch(handle, err, taken);
}

/* A non-zero argument that the request ignores is an error (U3). */
static int check_get_wait(const struct kwq_get_args *arg)
{
	if (arg->flags & ~(KWQ_GET_NONBLOCK | KWQ_GET_RELATIVE))
		return -EINVAL;
	if (!arg->get.nr)
		return arg->flags || arg->deadline || arg->resume ? -EINVAL : 0;
	if (arg->flags & KWQ_GET_NONBLOCK &&
	    (arg->flags & KWQ_GET_RELATIVE || arg->deadline))
		return -EINVAL;
	/* Only a wait without adds and dones is ever restarted. */
	if (arg->resume && (!(arg->flags & KWQ_GET_RELATIVE) || arg->add.nr || arg->done.nr))
		return -EINVAL;
	return 0;
}

static int check_get(const struct file *file, const struct kwq_get_args *arg)
{
	if (arg->nr_added || arg->nr_done || check_get_wait(arg))
		return -EINVAL;
	if (!has_right(file, KWQ_RIGHT_READ) || (arg->add.nr && !has_right(file, KWQ_RIGHT_WRITE)))
		return -EBADF;
	return kwq_batch_check(&arg->add, kwq_batch_add.size, kwq_batch_add.extra_size, true) ?:
	       kwq_batch_check(&arg->done, kwq_batch_done.size, 0, true) ?:
	       kwq_batch_check(&arg->get, sizeof(struct kwq_got), sizeof(struct kwq_got_extra),
			       false);
}

static int put_numbers(struct kwq_get_args __user *uarg, const struct kwq_get_args *arg)
{
	BUILD_BUG_ON(offsetofend(struct kwq_get_args, nr_added) !=
		     offsetof(struct kwq_get_args, nr_done));
	return kwq_copy_to_user(&uarg->nr_added, &arg->nr_added,
				 sizeof(arg->nr_added) + sizeof(arg->nr_done));
}

/*
 * Adds and finishes items, and writes the two numbers. A done that the get can finish is
 * stored in @paired instead, with @paired->present set. A done whose change has to be kept comes
 * before the get.
 */
static int add_and_finish_first(struct kwq_handle *handle, struct kwq_get_args *arg,
				struct kwq_get_args __user *uarg, struct kwq_paired_done *paired)
{
	struct kwq_handle *adder = kwq_handle_for_adds(handle);
	int ret = 0;

	/* Check that the numbers can be written, while nothing has changed yet. */
	if (put_numbers(uarg, arg))
		return -EFAULT;
	if (arg->add.nr)
		ret = kwq_batch_execute(adder, &kwq_batch_add, &arg->add,
					&arg->nr_added);
	if (!ret && arg->done.nr && !handle->keyed->limits.sync)
		ret = kwq_batch_prepare_paired_done(&arg->done, &arg->get, paired);
	if (ret > 0) {
		arg->nr_done = ret;
		ret = 0;
	} else if (!ret && arg->done.nr) {
		ret = kwq_batch_execute(handle, &kwq_batch_done, &arg->done,
					&arg->nr_done);
	}
	/* An outbox may keep adds of others for long. The end of this work waits for its own. */
	if (unlikely(adder->keyed->limits.sync) && arg->nr_added && adder == handle)
		kwq_handle_sync(adder);
	if (unlikely(handle->keyed->limits.sync) && arg->nr_done)
		kwq_handle_sync(handle);
	return put_numbers(uarg, arg) ?: ret;
}

static noinline __flatten long queue_get(struct file *file, struct kwq_get_args __user *uarg)
{
	struct kwq_handle *handle = file->private_data;
	struct kwq_paired_done paired = {};
	struct kwq_patience patience;
	struct kwq_get_args arg __uninitialized;
	int ret;

	ret = copy_in(&arg, sizeof(arg), uarg) ?:
	      check_get(file, &arg);
	if (ret)
		return ret;

	if (arg.add.nr || arg.done.nr) {
		ret = add_and_finish_first(handle, &arg, uarg, &paired);
		if (ret)
			return ret;
	}
	if (!arg.get.nr)
		return 0;

	patience.deadline = deadline_of(handle->keyed, arg.deadline,
					arg.flags & KWQ_GET_RELATIVE, arg.resume);
	patience.nonblock = file->f_flags & O_NONBLOCK ||
			    arg.flags & KWQ_GET_NONBLOCK;
	ret = kwq_batch_get(handle, &arg.get, &patience, paired.present ? &paired : NULL);
	/* A restart must not add or finish anything again. */
	if (ret == -ERESTARTSYS && (arg.nr_added || arg.nr_done))
		ret = -EINTR;
	if (arg.flags & KWQ_GET_RELATIVE && (arg.resume || ret == -ERESTARTSYS))
		ret = put_resume(&uarg->resume, handle->keyed, patience.deadline, ret);
	return ret;
}

/* The arguments of the rarer requests. Each begins with its size and its flags. */
struct queue_args {
	bool nonblock;
	union {
		struct {
			u32 size;
			u32 flags;
		};
		struct kwq_open_args open;
		struct kwq_config config;
		struct kwq_config configure;
		struct kwq_pause_args pause;
		struct kwq_resume_args resume;
		struct kwq_term_args term;
		struct kwq_shut_down_args shut_down;
		struct kwq_drain_args drain;
		struct kwq_list_items_args list_items;
		struct kwq_advance_args advance;
		struct kwq_board_args board;
		struct kwq_tell_args tell;
		struct kwq_follow_args follow;
		struct kwq_changes_args changes;
		struct kwq_sync_args sync;
		struct kwq_bpf_args bpf;
	};
};

static long queue_open(struct kwq_handle *handle, struct queue_args *args, void __user *uarg)
{
	const struct kwq_open_args *arg = &args->open;
	int err = check_open(arg);

	if (err)
		return err;
	if (*arg->name)
		return -EINVAL;
	if (arg->rights & ~handle->rights)
		return -EACCES;
	return open_keyed(handle->keyed, arg->open_flags, arg->rights);
}

static long queue_pause(struct kwq_handle *handle, struct queue_args *args, void __user *uarg)
{
	const struct kwq_pause_args *arg = &args->pause;
	struct kwq_keyed *keyed = handle->keyed;

	if (!(arg->flags & KWQ_PAUSE_FOR) && arg->time)
		return -EINVAL;
	kwq_keyed_pause(keyed, arg->flags & KWQ_PAUSE_FOR ?
			kwq_later(kwq_queue_now(&keyed->queue), arg->time) : KTIME_MAX);
	return 0;
}

static long queue_resume(struct kwq_handle *handle, struct queue_args *args, void __user *uarg)
{
	kwq_keyed_pause(handle->keyed, 0);
	return 0;
}

static long queue_term(struct kwq_handle *handle, struct queue_args *args, void __user *uarg)
{
	const struct kwq_term_args *arg = &args->term;

	return kwq_keyed_set_term(handle->keyed,
				  deadline_of(handle->keyed, arg->until,
					      arg->flags & KWQ_TERM_RELATIVE, 0));
}

static long queue_shut_down(struct kwq_handle *handle, struct queue_args *args, void __user *uarg)
{
	kwq_keyed_shut_down(handle->keyed);
	return 0;
}

static long queue_drain(struct kwq_handle *handle, struct queue_args *args, void __user *to)
{
	const struct kwq_drain_args *arg = &args->drain;
	struct kwq_drain_args __user *uarg = to;
	struct kwq_keyed *keyed = handle->keyed;
	u64 shut_downs, resume = 0, seen = 0;
	ktime_t deadline;
	int ret;

	if (arg->resume && !(arg->flags & KWQ_DRAIN_RELATIVE))
		return -EINVAL;
	deadline = deadline_of(keyed, arg->deadline, arg->flags & KWQ_DRAIN_RELATIVE, arg->resume);
	ret = kwq_keyed_drain(keyed, deadline, arg->shut_downs, &shut_downs);
	if (ret == -ERESTARTSYS) {
		seen = shut_downs;
		if (arg->flags & KWQ_DRAIN_RELATIVE)
			resume = resume_at(keyed, deadline);
	} else if (!arg->resume && !arg->shut_downs) {
		return ret;
	}
	/* Without these values a restart would begin a new wait, or miss a shut down in between. */
	if ((kwq_put_user(resume, &uarg->resume) || kwq_put_user(seen, &uarg->shut_downs)) &&
	    ret == -ERESTARTSYS)
		return -EINTR;
	return ret;
}

static long queue_configure(struct kwq_handle *handle, struct queue_args *args, void __user *uarg)
{
	struct kwq_limiter_config *config;
	int err = copy_in_limiters(&config, &args->config);

	if (err)
		return err;
	err = kwq_keyed_configure(handle->keyed, config);
	kfree(config);
	return err;
}

static long queue_config(struct kwq_handle *handle, struct queue_args *args, void __user *uarg)
{
	struct kwq_limiter_config *config;
	struct kwq_config *arg = &args->config;
	int err;

	if (arg->max_wait || arg->forget_after || arg->dead_after || arg->dead_after_lost)
		return -EINVAL;
	err = check_limiters(arg);
	if (err)
		return err;
	config = kmalloc(sizeof(*config), GFP_KERNEL_ACCOUNT);
	if (!config)
		return -ENOMEM;
	kwq_read_config(&handle->keyed->queue, config);
	err = kwq_copy_entries_out(arg->limiters, arg->limiter_size, 0, config->limiters,
				   sizeof(*config->limiters), min(arg->nr, config->nr));
	arg->flags = config->flags;
	arg->max_wait = config->max_wait;
	arg->forget_after = config->forget_after;
	arg->dead_after = config->dead_after;
	arg->dead_after_lost = config->dead_after_lost;
	arg->nr = config->nr;
	kfree(config);
	return err ?: copy_out_as(uarg, arg, sizeof(*arg), arg->size);
}

#define LISTED_STATES	(KWQ_IS_READY | KWQ_IS_WAITING | KWQ_IS_PROCESSING |	\
			 KWQ_IS_DIRTY | KWQ_IS_DEAD | KWQ_IS_REMEMBERED |	\
			 KWQ_IS_RETURNED | KWQ_IS_DYING)

/* A non-zero argument that the request ignores is an error (U3). */
static int check_list_items(const struct kwq_list_items_args *arg)
{
	if (!arg->states || arg->states & ~LISTED_STATES || !arg->batch.nr)
		return -EINVAL;
	if (arg->flags & KWQ_LIST_KEY) {
		if (arg->after || !arg->key_len)
			return -EINVAL;
		if (arg->key_len > KWQ_KEY_MAX)
			return -EMSGSIZE;
	} else if (arg->key || arg->key_len) {
		return -EINVAL;
	}
	return kwq_batch_check(&arg->batch, sizeof(struct kwq_listed), 0, false);
}

/*
 * Lists the item of one key. memdup_user() would charge the key to no cgroup. Its user may keep it
 * as long as he likes, by memory that is slow, so it counts as the rest of the call does (O9).
 */
static int list_key(struct kwq_handle *handle, const struct kwq_list_items_args *arg,
		    struct kwq_list_request *request)
{
	struct kwq_key key = { .len = arg->key_len };
	u32 counted = kwq_bytes_of_kmalloc(arg->key_len);
	struct kwq_quota *calls = kwq_calls_get(handle);
	int ret = -ENOMEM;
	void *bytes;

	if (IS_ERR(calls))
		return PTR_ERR(calls);
	kwq_quota_charge_anyway(calls, counted);
	bytes = kmalloc(arg->key_len, GFP_KERNEL_ACCOUNT);
	if (bytes)
		ret = kwq_copy_from_user(bytes, u64_to_user_ptr(arg->key), arg->key_len);
	if (!ret) {
		key.bytes = bytes;
		kwq_key_hash(&key);
		request->key = &key;
		ret = kwq_batch_list_items(handle, &arg->batch, request);
	}
	kfree(bytes);
	kwq_quota_uncharge(calls, counted);
	kwq_calls_put(handle, calls);
	return ret;
}

static long queue_list_items(struct kwq_handle *handle, struct queue_args *args, void __user *to)
{
	const struct kwq_list_items_args *arg = &args->list_items;
	struct kwq_list_items_args __user *uarg = to;
	struct kwq_list_request request = {
		.states = arg->states,
		.at = arg->after,
		.slots = (arg->flags & KWQ_LIST_VALUES ? BIT(KWQ_VALUE) : 0) |
			 (arg->flags & KWQ_LIST_NOTES ? BIT(KWQ_NOTE) : 0),
	};
	int ret = check_list_items(arg);

	if (ret)
		return ret;
	if (arg->flags & KWQ_LIST_KEY)
		ret = list_key(handle, arg, &request);
	else
		ret = kwq_batch_list_items(handle, &arg->batch, &request);
	if (ret >= 0 && kwq_put_user(request.at, &uarg->after))
		return -EFAULT;
	return ret;
}

static long queue_advance(struct kwq_handle *handle, struct queue_args *args, void __user *uarg)
{
	const struct kwq_advance_args *arg = &args->advance;

	return kwq_keyed_advance(handle->keyed, arg->time, arg->flags & KWQ_ADVANCE_TO);
}

static long queue_stat(struct kwq_keyed *keyed, void __user *uarg)
{
	struct kwq_stat arg;

	kwq_keyed_stat(keyed, &arg);
	return copy_out(uarg, &arg, sizeof(arg));
}

static long queue_board(struct kwq_handle *handle, struct queue_args *args, void __user *to)
{
	struct kwq_board_args __user *uarg = to;

	if (args->board.map_size)
		return -EINVAL;
	return kwq_board_open(handle->keyed, args->board.open_flags, &uarg->map_size);
}

static long queue_tell(struct kwq_handle *handle, struct queue_args *args, void __user *uarg)
{
	if (!args->tell.adds)
		return -EINVAL;
	kwq_keyed_tell(handle->keyed, args->tell.adds);
	return 0;
}

static long queue_bpf(struct kwq_handle *handle, struct queue_args *args, void __user *to)
{
	struct kwq_bpf_args __user *uarg = to;
	struct kwq_bpf *bpf = READ_ONCE(handle->bpf), *before = NULL;

	if (args->bpf.token)
		return -EINVAL;
	if (!bpf) {
		bpf = kwq_bpf_open(handle->keyed, handle->rights);
		if (IS_ERR(bpf))
			return PTR_ERR(bpf);
		/* Another thread may have been faster. */
		if (!try_cmpxchg(&handle->bpf, &before, bpf)) {
			kwq_bpf_close(bpf);
			bpf = before;
		}
	}
	return kwq_put_user(kwq_bpf_token(bpf), &uarg->token);
}

static long queue_follow(struct kwq_handle *handle, struct queue_args *args, void __user *to)
{
	struct kwq_follow_args __user *uarg = to;
	u64 number = args->follow.number;

	if (number)
		return -EINVAL;
	/* Check that the number can be written, while nothing has changed yet. */
	if (kwq_put_user(number, &uarg->number))
		return -EFAULT;
	/* A handle that follows cannot stop, so no fault is injected into what was checked. */
	return kwq_follow(handle, &number) ?: put_user(number, &uarg->number);
}

#define CHANGES_FLAGS	(KWQ_CHANGES_NONBLOCK | KWQ_CHANGES_RELATIVE | KWQ_CHANGES_VALUES | \
			 KWQ_CHANGES_GETTERS | KWQ_CHANGES_NOTES)

static int check_changes(const struct kwq_changes_args *arg)
{
	if (arg->kept > arg->after || !arg->batch.nr)
		return -EINVAL;
	if (arg->flags & KWQ_CHANGES_NONBLOCK &&
	    (arg->flags & KWQ_CHANGES_RELATIVE || arg->deadline))
		return -EINVAL;
	if (arg->resume && !(arg->flags & KWQ_CHANGES_RELATIVE))
		return -EINVAL;
	return kwq_batch_check(&arg->batch, sizeof(struct kwq_listed), 0, false);
}

static long queue_changes(struct kwq_handle *handle, struct queue_args *args, void __user *to)
{
	const struct kwq_changes_args *arg = &args->changes;
	struct kwq_changes_args __user *uarg = to;
	struct kwq_list_request request = { .unread = true };
	struct kwq_patience patience;
	u64 after, of_queue;
	int ret;

	ret = check_changes(arg) ?:
	      kwq_begin_reading(handle, arg->after, arg->kept, arg->flags & KWQ_CHANGES_GETTERS);
	if (ret)
		return ret;
	request.slots = (arg->flags & KWQ_CHANGES_VALUES ? BIT(KWQ_VALUE) : 0) |
			(arg->flags & KWQ_CHANGES_NOTES ? BIT(KWQ_NOTE) : 0);
	patience.deadline = deadline_of(handle->keyed, arg->deadline,
					arg->flags & KWQ_CHANGES_RELATIVE, arg->resume);
	patience.nonblock = args->nonblock || arg->flags & KWQ_CHANGES_NONBLOCK;
	ret = kwq_wait_for_changes(handle, arg->of_queue, &patience) ?:
	      kwq_batch_list_items(handle, &arg->batch, &request);
	after = kwq_end_reading(handle, &of_queue);
	if (ret >= 0 &&
	    (kwq_put_user(after, &uarg->after) || kwq_put_user(of_queue, &uarg->of_queue)))
		ret = -EFAULT;
	if (arg->flags & KWQ_CHANGES_RELATIVE && (arg->resume || ret == -ERESTARTSYS))
		ret = put_resume(&uarg->resume, handle->keyed, patience.deadline, ret);
	return ret;
}

static long queue_sync(struct kwq_handle *handle, struct queue_args *args, void __user *to)
{
	const struct kwq_sync_args *arg = &args->sync;
	struct kwq_keyed *keyed = handle->keyed, *outbox = keyed->outbox;
	struct kwq_sync_args __user *uarg = to;
	ktime_t deadline;
	int ret = 0;

	if (arg->resume && !(arg->flags & KWQ_SYNC_RELATIVE))
		return -EINVAL;
	if (!keyed->changes)
		return -EOPNOTSUPP;
	deadline = deadline_of(keyed, arg->deadline, arg->flags & KWQ_SYNC_RELATIVE, arg->resume);
	if (outbox && outbox->changes)
		ret = kwq_keyed_sync(outbox, deadline, TASK_INTERRUPTIBLE);
	if (!ret)
		ret = kwq_keyed_sync(keyed, deadline, TASK_INTERRUPTIBLE);
	if (arg->flags & KWQ_SYNC_RELATIVE && (arg->resume || ret == -ERESTARTSYS))
		ret = put_resume(&uarg->resume, keyed, deadline, ret);
	return ret;
}

/*
 * Requests that are not frequent
 * @rights: all rights that the handle needs
 * @size: the size of the arguments
 * @flags: the flags that are allowed
 */
static const struct queue_request {
	unsigned int cmd;
	u32 rights;
	u32 size;
	u32 flags;
	long (*fn)(struct kwq_handle *handle, struct queue_args *args, void __user *uarg);
} queue_requests[] = {
#define REQUEST(name, cmd, rights, flags)					\
	{ KWQ_IOC_##cmd, rights, sizeof_field(struct queue_args, name), flags, queue_##name }

	REQUEST(open, OPEN, 0, O_NONBLOCK | O_CLOEXEC),
	REQUEST(configure, CONFIGURE, KWQ_RIGHT_MANAGE, KWQ_CONFIG_COALESCE),
	REQUEST(config, CONFIG, 0, 0),
	REQUEST(pause, PAUSE, KWQ_RIGHT_MANAGE, KWQ_PAUSE_FOR),
	REQUEST(resume, RESUME, KWQ_RIGHT_MANAGE, 0),
	REQUEST(term, TERM, KWQ_RIGHT_MANAGE, KWQ_TERM_RELATIVE),
	REQUEST(shut_down, SHUT_DOWN, KWQ_RIGHT_MANAGE, 0),
	REQUEST(drain, DRAIN, KWQ_RIGHT_MANAGE, KWQ_DRAIN_RELATIVE),
	REQUEST(list_items, LIST_ITEMS, KWQ_RIGHT_READ,
		KWQ_LIST_KEY | KWQ_LIST_VALUES | KWQ_LIST_NOTES),
	REQUEST(advance, ADVANCE, KWQ_RIGHT_MANAGE, KWQ_ADVANCE_TO),
	REQUEST(board, BOARD, KWQ_RIGHT_WRITE, O_CLOEXEC),
	REQUEST(tell, TELL, KWQ_RIGHT_WRITE, 0),
	REQUEST(follow, FOLLOW, KWQ_RIGHT_READ | KWQ_RIGHT_MANAGE, 0),
	REQUEST(changes, CHANGES, 0, CHANGES_FLAGS),
	REQUEST(sync, SYNC, 0, KWQ_SYNC_RELATIVE),
	REQUEST(bpf, BPF, KWQ_RIGHT_WRITE, 0),
};

static long queue_request(struct file *file, const struct queue_request *request,
			  void __user *uarg)
{
	struct kwq_handle *handle = file->private_data;
	struct queue_args args;
	int err;

	if (request->rights & ~handle->rights)
		return -EBADF;
	args.nonblock = file->f_flags & O_NONBLOCK;
	err = copy_in(&args.size, request->size, uarg);
	if (err)
		return err;
	return args.flags & ~request->flags ? -EINVAL : request->fn(handle, &args, uarg);
}

static const struct kwq_batch_kind *const rare_kinds[] = {
	&kwq_batch_extend, &kwq_batch_remove, &kwq_batch_forget, &kwq_batch_requeues,
	&kwq_batch_restore,
};

static noinline long queue_ioctl_rare(struct file *file, unsigned int cmd, void __user *uarg)
{
	struct kwq_handle *handle = file->private_data;
	struct kwq_keyed *keyed = handle->keyed;
	int i;

	for (i = 0; i < ARRAY_SIZE(queue_requests); i++)
		if (queue_requests[i].cmd == cmd)
			return queue_request(file, &queue_requests[i], uarg);
	for (i = 0; i < ARRAY_SIZE(rare_kinds); i++)
		if (rare_kinds[i]->cmd == cmd)
			return queue_batch(file, uarg, rare_kinds[i]);

	switch (cmd) {
	case KWQ_IOC_LEN:
		return uarg ? -EINVAL : min(kwq_len(&keyed->queue), INT_MAX);
	case KWQ_IOC_STAT:
		return queue_stat(keyed, uarg);
	case KWQ_IOC_SHUTTING_DOWN:
		return uarg ? -EINVAL : kwq_shutting_down(&keyed->queue);
	}
	return -ENOTTY;
}

static long queue_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *uarg = (void __user *)arg;

	/* Compare the whole number, as in device_ioctl(). */
	switch (cmd) {
	case KWQ_IOC_ADD:
		return queue_add(file, uarg);
	case KWQ_IOC_GET:
		return queue_get(file, uarg);
	case KWQ_IOC_DONE:
		return queue_done(file, uarg);
	}
	return queue_ioctl_rare(file, cmd, uarg);
}

static __poll_t queue_poll(struct file *file, struct poll_table_struct *table)
{
	return kwq_handle_poll(file->private_data, file, table);
}

#ifdef CONFIG_PROC_FS
static void queue_show_fdinfo(struct seq_file *seq, struct file *file)
{
	kwq_handle_show(file->private_data, seq);
}
#endif

static int queue_flush(struct file *file, fl_owner_t id)
{
	kwq_handle_flush(file->private_data);
	return 0;
}

static int queue_release(struct inode *inode, struct file *file)
{
	struct kwq_handle *handle = file->private_data;

	kwq_bpf_close(handle->bpf);
	kwq_handle_close(handle);
	return 0;
}

static const struct file_operations queue_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = queue_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = queue_poll,
	.flush = queue_flush,
	.release = queue_release,
#ifdef CONFIG_PROC_FS
	.show_fdinfo = queue_show_fdinfo,
#endif
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kwq",
	.fops = &device_fops,
	.mode = 0660,
};

/**
 * kwq_chardev_register() - create /dev/kwq
 *
 * Return: 0, or the error of misc_register().
 */
int kwq_chardev_register(void)
{
	/* With as many remembered ones, they can be counted in 32 bits. */
	max_items = min_t(unsigned int, max_items, INT_MAX);
	return misc_register(&device);
}

/**
 * kwq_chardev_unregister() - remove /dev/kwq
 */
void kwq_chardev_unregister(void)
{
	misc_deregister(&device);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sample driver: tells udev which programs have stopped answering.
 *
 * A program opens /dev/kwq_alive and writes a number of milliseconds. It has to write again
 * within that time. Otherwise, the module sends a uevent with the process that opened the
 * file:
 *
 *	change /devices/virtual/misc/kwq_alive PID=212
 *
 * Writing 0 ends the watch. Closing the file does not, so a program that dies is reported,
 * too. An event that could not be sent is tried again. Unloading the module ends all watches.
 *
 * The object outlives its file. The file has one reference to it, and the queue has one while
 * the object waits or is being handled. The last put frees the object, so a close waits for
 * nothing.
 */
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/kobject.h>
#include <linux/kref.h>
#include <linux/kstrtox.h>
#include <linux/kwq.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>

/**
 * struct program - a program that is watched through one file
 * @item: the program in the queue
 * @refs: the references of the file and of the queue
 * @lock: keeps @deadline equal to the time of @item
 * @deadline: when the program has to write again; KTIME_MAX for never; under @lock
 * @pid: the process that opened the file
 */
struct program {
	struct kwq_item item;
	struct kref refs;
	struct mutex lock;	/* of @deadline */
	ktime_t deadline;
	pid_t pid;
};

static struct kwq_queue queue;
static struct miscdevice device;
static struct dentry *dir;

static unsigned int fail_every;
module_param(fail_every, uint, 0644);
MODULE_PARM_DESC(fail_every, "have one in so many uevents fail, for tests (0: none)");

/* Counters for debugfs. */
static atomic_t nr_programs, reports, retries, failures, freed_by_queue;

static void free_program(struct kref *refs)
{
	struct program *program = container_of(refs, struct program, refs);

	mutex_destroy(&program->lock);
	kfree(program);
	atomic_dec(&nr_programs);
}

/* The queue calls this under its lock when an item stops being idle. */
static void get_program(struct kwq_item *item)
{
	kref_get(&container_of(item, struct program, item)->refs);
}

/* The queue calls this without a lock when the item is idle again. */
static void put_program(struct kwq_item *item)
{
	if (kref_put(&container_of(item, struct program, item)->refs, free_program))
		atomic_inc(&freed_by_queue);
}

static const struct kwq_ref_ops ref_ops = { .get = get_program, .put = put_program };

static int tell_udev(const struct program *program)
{
	static atomic_t nr;
	unsigned int every = READ_ONCE(fail_every);
	char pid[24];
	char *env[2] = { pid };

	if (every && (unsigned int)atomic_inc_return(&nr) % every == 0)
		return -EIO;
	snprintf(pid, sizeof(pid), "PID=%d", program->pid);
	return kobject_uevent_env(&device.this_device->kobj, KOBJ_CHANGE, env);
}

static struct kwq_result report_locked(struct program *program)
{
	int err;

	lockdep_assert_held(&program->lock);
	err = tell_udev(program);
	if (err) {
		atomic_inc(&failures);
	} else {
		program->deadline = KTIME_MAX;
		atomic_inc(&reports);
	}
	return kwq_result_of(err);
}

/*
 * The handler. The program may have written meanwhile, so the handler looks at the deadline.
 * It has no reference of its own: the queue's lasts until it has returned.
 */
static struct kwq_result check_deadline(struct kwq_queue *queue, struct kwq_item *item)
{
	struct program *program = container_of(item, struct program, item);
	struct kwq_result result;

	if (kwq_num_requeues(queue, item))
		atomic_inc(&retries);
	mutex_lock(&program->lock);
	if (program->deadline == KTIME_MAX)
		result = kwq_result_done();
	else if (program->deadline > kwq_queue_now(queue))
		result = kwq_result_again_at(program->deadline);
	else
		result = report_locked(program);
	mutex_unlock(&program->lock);
	return result;
}

static int alive_open(struct inode *inode, struct file *file)
{
	struct program *program = kzalloc(sizeof(*program), GFP_KERNEL_ACCOUNT);

	if (!program)
		return -ENOMEM;
	kwq_item_init(&program->item);
	kref_init(&program->refs);
	mutex_init(&program->lock);
	program->deadline = KTIME_MAX;
	program->pid = task_tgid_nr(current);
	atomic_inc(&nr_programs);
	file->private_data = program;
	return stream_open(inode, file);
}

/* The file has a reference, so the one that the queue may drop here is not the last one. */
static void set_deadline(struct program *program, unsigned int ms)
{
	struct kwq_add_options options = { .flags = KWQ_ADD_AT | KWQ_ADD_REPLACE };

	mutex_lock(&program->lock);
	if (ms) {
		program->deadline = ktime_add_ms(kwq_queue_now(&queue), ms);
		options.time = program->deadline;
		kwq_add_with(&queue, &program->item, &options);
	} else {
		program->deadline = KTIME_MAX;
		kwq_remove(&queue, &program->item);
	}
	mutex_unlock(&program->lock);
}

static ssize_t alive_write(struct file *file, const char __user *text, size_t len, loff_t *pos)
{
	unsigned int ms;
	int err = kstrtouint_from_user(text, len, 10, &ms);

	if (err)
		return err;
	set_deadline(file->private_data, ms);
	return len;
}

/* Waits for no handler. If the program is still watched, the queue frees it later. */
static int alive_release(struct inode *inode, struct file *file)
{
	struct program *program = file->private_data;

	kref_put(&program->refs, free_program);
	return 0;
}

/* An open file keeps the module loaded. A watch without a file does not. */
static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.open = alive_open,
	.write = alive_write,
	.release = alive_release,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kwq_alive",
	.fops = &fops,
	.mode = 0600,
};

static void __init show_figures(void)
{
	dir = debugfs_create_dir("kwq_alive", NULL);
	debugfs_create_atomic_t("programs", 0444, dir, &nr_programs);
	debugfs_create_atomic_t("reports", 0444, dir, &reports);
	debugfs_create_atomic_t("retries", 0444, dir, &retries);
	debugfs_create_atomic_t("failures", 0444, dir, &failures);
	debugfs_create_atomic_t("freed_by_queue", 0444, dir, &freed_by_queue);
}

static int __init kwq_alive_init(void)
{
	const struct kwq_handler handler = {
		.handle = check_deadline,
		.max_active = 4,
		.wq_flags = WQ_UNBOUND | WQ_FREEZABLE,
	};
	int err;

	show_figures();
	kwq_queue_init(&queue, "kwq_alive", KWQ_CLOCK_MONOTONIC);
	err = kwq_queue_own_references(&queue, &ref_ops);
	if (!err)
		err = kwq_start_handler(&queue, &handler);
	if (!err)
		err = misc_register(&device);
	if (err) {
		kwq_queue_destroy(&queue);
		debugfs_remove(dir);
	}
	return err;
}

static void __exit kwq_alive_exit(void)
{
	/* No file is open. Drops the queue's references, which are the only ones now. */
	kwq_queue_destroy(&queue);
	WARN_ON(atomic_read(&nr_programs));
	misc_deregister(&device);
	debugfs_remove(dir);
}

module_init(kwq_alive_init);
module_exit(kwq_alive_exit);

MODULE_DESCRIPTION("kwq sample: tells udev which programs have stopped answering");
MODULE_LICENSE("GPL");

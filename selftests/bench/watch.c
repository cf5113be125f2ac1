// SPDX-License-Identifier: GPL-2.0-only
/*
 * The longest time with interrupts off. A timer expires in hard interrupt context every
 * few microseconds and records its greatest lateness. On a machine with one processor
 * whose clock counts instructions, that is the length of the longest section. The
 * figure may be too small by one period, and it includes the entry into the interrupt.
 *
 * A program begins a measurement by writing anything to kwq_watch in debugfs. Reading
 * that file ends it and returns the lateness in ns.
 */
#include <linux/cleanup.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <kmod/compat.h>

/* No divisor of the tick, so that the timer hits sections at every place. */
static const ktime_t period = 9973;

static DEFINE_MUTEX(lock);
static struct hrtimer watch_timer;
static s64 latest;
static struct dentry *watch_file;

static enum hrtimer_restart look(struct hrtimer *timer)
{
	ktime_t now = ktime_get();

	latest = max(latest, ktime_sub(now, hrtimer_get_expires(timer)));
	hrtimer_set_expires(timer, ktime_add(now, period));
	return HRTIMER_RESTART;
}

static void stop(void)
{
	hrtimer_cancel(&watch_timer);
}

static ssize_t watch_write(struct file *file, const char __user *from, size_t size,
			   loff_t *at)
{
	guard(mutex)(&lock);
	stop();
	latest = 0;
	hrtimer_start(&watch_timer, ktime_add(ktime_get(), period), HRTIMER_MODE_ABS_PINNED_HARD);
	return size;
}

static ssize_t watch_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	char text[24];
	int len;

	scoped_guard(mutex, &lock) {
		stop();
		len = scnprintf(text, sizeof(text), "%lld\n", latest);
	}
	return simple_read_from_buffer(to, size, at, text, len);
}

static const struct file_operations watch_fops = {
	.owner = THIS_MODULE,
	.read = watch_read,
	.write = watch_write,
};

static int __init kwq_watch_init(void)
{
	hrtimer_setup(&watch_timer, look, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	watch_file = debugfs_create_file("kwq_watch", 0600, NULL, NULL, &watch_fops);
	return PTR_ERR_OR_ZERO(watch_file);
}
module_init(kwq_watch_init);

static void __exit kwq_watch_exit(void)
{
	debugfs_remove(watch_file);
	stop();
}
module_exit(kwq_watch_exit);

MODULE_DESCRIPTION("For how long interrupts are off");
MODULE_LICENSE("GPL");

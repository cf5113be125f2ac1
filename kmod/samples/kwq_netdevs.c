// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sample driver: adds the name of each network device that changes to the queue of a program.
 *
 * A program creates a queue, opens /dev/kwq_netdevs, and gives it the queue:
 *
 *	ioctl(fd, NETDEVS_FEED, queue);
 *
 * From then on the queue gets the name of each device of the program's net namespace that is new,
 * gone or renamed, goes up or down, or gains or loses its carrier, and at first the name of each
 * that exists. The program looks at the device itself. However often a link flaps meanwhile, its
 * name is in the queue once. The feed ends when the file is closed.
 *
 * The module's parameter does the same for a queue with a name, until the module is unloaded:
 *
 *	kwq create links
 *	insmod kwq_netdevs.ko queue=links
 *	kwq run links -- ip link show {}
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/ioctl.h>
#include <linux/kwq_keys.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#define NETDEVS_FEED	_IOW('k', 1, int)

/**
 * struct feed - a queue that gets names
 * @link: in feeds; under RTNL
 * @keys: the queue
 * @net: whose names; with a reference
 */
struct feed {
	struct list_head link;
	struct kwq_key_queue *keys;
	struct net *net;
};

static LIST_HEAD(feeds);
static struct feed *named;

static char *queue = "";
module_param(queue, charp, 0444);
MODULE_PARM_DESC(queue, "name of a queue to feed (\"\": none)");

/* Adds of names, under RTNL. As many are added, coalesced or refused. */
static unsigned long adds;
module_param(adds, ulong, 0444);

/*
 * It may sleep here, but does not say so, because under RTNL the whole machine would wait with it
 * while the program's memory is short. A name that is refused counts in &kwq_stat.refused.
 */
static void feed_name(const struct feed *feed, const struct net_device *dev)
{
	ASSERT_RTNL();
	adds++;
	kwq_add_key(feed->keys, dev->name, strlen(dev->name), NULL);
}

static struct feed *begin_feed(struct kwq_key_queue *keys)
{
	struct feed *feed;

	if (IS_ERR(keys))
		return ERR_CAST(keys);
	feed = kmalloc(sizeof(*feed), GFP_KERNEL_ACCOUNT);
	if (!feed) {
		kwq_key_queue_put(keys);
		return ERR_PTR(-ENOMEM);
	}
	feed->keys = keys;
	feed->net = get_net(current->nsproxy->net_ns);
	INIT_LIST_HEAD(&feed->link);
	return feed;
}

static void join(struct feed *feed)
{
	struct net_device *dev;

	ASSERT_RTNL();
	list_add(&feed->link, &feeds);
	for_each_netdev(feed->net, dev)
		feed_name(feed, dev);
}

static void end_feed(struct feed *feed)
{
	rtnl_lock();
	list_del(&feed->link);
	rtnl_unlock();
	/* Nobody adds any more. */
	kwq_key_queue_put(feed->keys);
	put_net(feed->net);
	kfree(feed);
}

/* Called with RTNL held, by the task that changes a device. */
static int netdev_event(struct notifier_block *nb, unsigned long event, void *info)
{
	const struct net_device *dev = netdev_notifier_info_to_dev(info);
	struct feed *feed;

	switch (event) {
	case NETDEV_REGISTER:
	case NETDEV_UNREGISTER:
	case NETDEV_CHANGENAME:
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		list_for_each_entry(feed, &feeds, link)
			if (net_eq(dev_net(dev), feed->net))
				feed_name(feed, dev);
	}
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = netdev_event };

static int netdevs_open(struct inode *inode, struct file *file)
{
	file->private_data = NULL;
	return 0;
}

static long netdevs_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct feed *feed;

	if (cmd != NETDEVS_FEED)
		return -ENOTTY;
	feed = begin_feed(kwq_key_queue_get(arg));
	if (IS_ERR(feed))
		return PTR_ERR(feed);
	rtnl_lock();
	if (!file->private_data) {
		file->private_data = feed;
		join(feed);
		feed = NULL;
	}
	rtnl_unlock();
	if (!feed)
		return 0;
	end_feed(feed);
	return -EBUSY;
}

static int netdevs_release(struct inode *inode, struct file *file)
{
	if (file->private_data)
		end_feed(file->private_data);
	return 0;
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.open = netdevs_open,
	.unlocked_ioctl = netdevs_ioctl,
	.compat_ioctl = netdevs_ioctl,
	.release = netdevs_release,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kwq_netdevs",
	.fops = &fops,
};

static int __init begin_named(void)
{
	struct feed *feed;

	if (!*queue)
		return 0;
	feed = begin_feed(kwq_key_queue_get_by_name(queue));
	if (IS_ERR(feed))
		return PTR_ERR(feed);
	rtnl_lock();
	join(feed);
	rtnl_unlock();
	named = feed;
	return 0;
}

static int __init kwq_netdevs_init(void)
{
	int err;

	err = register_netdevice_notifier(&notifier);
	if (err)
		return err;
	err = begin_named();
	if (err)
		goto unregister;
	err = misc_register(&device);
	if (err)
		goto end_named;
	return 0;

end_named:
	if (named)
		end_feed(named);
unregister:
	unregister_netdevice_notifier(&notifier);
	return err;
}

static void __exit kwq_netdevs_exit(void)
{
	misc_deregister(&device);
	if (named)
		end_feed(named);
	unregister_netdevice_notifier(&notifier);
}

module_init(kwq_netdevs_init);
module_exit(kwq_netdevs_exit);

MODULE_DESCRIPTION("kwq sample: adds the names of network devices that change to a program's queue");
MODULE_LICENSE("GPL");

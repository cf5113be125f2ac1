// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sample driver: counts the network links in each state.
 *
 * A program reads the numbers of links in all net namespaces, and can poll them:
 *
 *	/sys/devices/platform/kwq_tally/up
 *	/sys/devices/platform/kwq_tally/no_carrier
 *	/sys/devices/platform/kwq_tally/down
 *
 * The numbers have one mutex. A batch handler takes it once for all links that have changed,
 * and wakes the programs that poll once. When a switch loses its power, its links change
 * together. The handler borrows a workqueue of the system.
 */
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/kwq.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/platform_device.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>

enum state { UNKNOWN, DOWN, NO_CARRIER, UP, NR_STATES };

static const char * const names[] = { NULL, "down", "no_carrier", "up" };

/**
 * struct link - state of one network device
 * @item: the device in the queue
 * @dev: the device; exists until @item is disabled
 * @node: entry in links; under RTNL
 * @state: in which state the link is counted; under tally_lock
 */
struct link {
	struct kwq_item item;
	struct net_device *dev;
	struct hlist_node node;
	enum state state;
};

static DEFINE_HASHTABLE(links, 8);
static struct kwq_queue queue;
static struct platform_device *device;

static DEFINE_MUTEX(tally_lock);
static unsigned int tally[NR_STATES];	/* under tally_lock */

static unsigned int fail_every;
module_param(fail_every, uint, 0644);
MODULE_PARM_DESC(fail_every, "have one in so many links fail, for tests (0: none)");

/* Counters for debugfs. */
static atomic_t nr_links, events, batches, handled, retries, failures;

/* The carrier of a device that is down does not count. */
static enum state state_of(const struct net_device *dev)
{
	if (!(READ_ONCE(dev->flags) & IFF_UP))
		return DOWN;
	return netif_running(dev) && netif_carrier_ok(dev) ? UP : NO_CARRIER;
}

/* Returns a mask of the states whose numbers have changed. */
static unsigned int move(struct link *link, enum state state)
{
	unsigned int changed = BIT(link->state) | BIT(state);

	lockdep_assert_held(&tally_lock);
	if (link->state == state)
		return 0;
	tally[link->state]--;
	tally[state]++;
	link->state = state;
	return changed;
}

static void wake_readers(unsigned int changed)
{
	enum state state;

	for (state = DOWN; state < NR_STATES; state++)
		if (changed & BIT(state))
			sysfs_notify(&device->dev.kobj, NULL, names[state]);
}

static int count_link(struct link *link, unsigned int *changed)
{
	static atomic_t nr;
	unsigned int every = READ_ONCE(fail_every);

	atomic_inc(&handled);
	if (kwq_num_requeues(&queue, &link->item))
		atomic_inc(&retries);
	if (every && (unsigned int)atomic_inc_return(&nr) % every == 0) {
		atomic_inc(&failures);
		return -EIO;
	}
	*changed |= move(link, state_of(link->dev));
	return 0;
}

/*
 * The handler. A link that fails is tried again by itself. The handler must not take RTNL,
 * because unwatch() holds that while it waits for the handler.
 */
static void count_links(struct kwq_queue *queue, struct kwq_item *const *items,
			struct kwq_result *results, unsigned int nr)
{
	unsigned int i, changed = 0;
	int err;

	atomic_inc(&batches);
	mutex_lock(&tally_lock);
	for (i = 0; i < nr; i++) {
		err = count_link(container_of(items[i], struct link, item), &changed);
		results[i] = kwq_result_of(err);
	}
	mutex_unlock(&tally_lock);
	wake_readers(changed);
}

static struct link *find(const struct net_device *dev)
{
	struct link *link;

	ASSERT_RTNL();
	hash_for_each_possible(links, link, node, (unsigned long)dev)
		if (link->dev == dev)
			return link;
	return NULL;
}

static void link_changed(struct link *link)
{
	atomic_inc(&events);
	kwq_add(&queue, &link->item);
}

static void unwatch(struct link *link)
{
	unsigned int changed;

	hash_del(&link->node);
	/* When this returns, no batch has the item, and none will. */
	kwq_disable_sync(&queue, &link->item);
	mutex_lock(&tally_lock);
	changed = move(link, UNKNOWN);
	tally[UNKNOWN]--;
	mutex_unlock(&tally_lock);
	wake_readers(changed);
	kfree(link);
	atomic_dec(&nr_links);
}

static int watch(struct net_device *dev)
{
	struct link *link = kzalloc(sizeof(*link), GFP_KERNEL);

	if (!link)
		return -ENOMEM;
	kwq_item_init(&link->item);
	link->dev = dev;
	hash_add(links, &link->node, (unsigned long)dev);
	mutex_lock(&tally_lock);
	tally[UNKNOWN]++;
	mutex_unlock(&tally_lock);
	atomic_inc(&nr_links);
	link_changed(link);
	return 0;
}

/* Called with RTNL held, by the task that changes a device. */
static int netdev_event(struct notifier_block *nb, unsigned long event, void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);
	struct link *link = find(dev);

	switch (event) {
	case NETDEV_REGISTER:
		return notifier_from_errno(watch(dev));
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		if (link)
			link_changed(link);
		break;
	case NETDEV_UNREGISTER:
		/* There is none if the device was refused, by this or another notifier. */
		if (link)
			unwatch(link);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = netdev_event };

static ssize_t show(char *buf, enum state state)
{
	unsigned int nr;

	mutex_lock(&tally_lock);
	nr = tally[state];
	mutex_unlock(&tally_lock);
	return sysfs_emit(buf, "%u\n", nr);
}

static ssize_t up_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return show(buf, UP);
}
static DEVICE_ATTR_RO(up);

static ssize_t no_carrier_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return show(buf, NO_CARRIER);
}
static DEVICE_ATTR_RO(no_carrier);

static ssize_t down_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return show(buf, DOWN);
}
static DEVICE_ATTR_RO(down);

static struct attribute *numbers[] = {
	&dev_attr_up.attr,
	&dev_attr_no_carrier.attr,
	&dev_attr_down.attr,
	NULL
};

static const struct attribute_group numbers_group = { .attrs = numbers };
static struct dentry *dir;

static void __init show_figures(void)
{
	dir = debugfs_create_dir("kwq_tally", NULL);
	debugfs_create_atomic_t("links", 0444, dir, &nr_links);
	debugfs_create_atomic_t("events", 0444, dir, &events);
	debugfs_create_atomic_t("batches", 0444, dir, &batches);
	debugfs_create_atomic_t("handled", 0444, dir, &handled);
	debugfs_create_atomic_t("retries", 0444, dir, &retries);
	debugfs_create_atomic_t("failures", 0444, dir, &failures);
}

static int __init kwq_tally_init(void)
{
	const struct kwq_handler handler = {
		.handle_batch = count_links,
		.max_active = 1,
		.max_batch = KWQ_HANDLER_BATCH_MAX,
		.wq = system_freezable_power_efficient_wq,
	};
	int err;

	device = platform_device_register_simple("kwq_tally", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(device))
		return PTR_ERR(device);
	err = sysfs_create_group(&device->dev.kobj, &numbers_group);
	if (err)
		goto unregister;
	show_figures();

	kwq_queue_init(&queue, "kwq_tally", KWQ_CLOCK_MONOTONIC);
	err = kwq_start_handler(&queue, &handler);
	if (err)
		goto destroy;
	/* Calls the notifier for each existing device. If that fails, unregisters them. */
	err = register_netdevice_notifier(&notifier);
	if (err)
		goto destroy;
	return 0;

destroy:
	kwq_queue_destroy(&queue);
	debugfs_remove(dir);
	sysfs_remove_group(&device->dev.kobj, &numbers_group);
unregister:
	platform_device_unregister(device);
	return err;
}

static void __exit kwq_tally_exit(void)
{
	/* Calls the notifier for each existing device, as if it were removed. */
	unregister_netdevice_notifier(&notifier);
	kwq_queue_destroy(&queue);
	debugfs_remove(dir);
	sysfs_remove_group(&device->dev.kobj, &numbers_group);
	platform_device_unregister(device);
}

module_init(kwq_tally_init);
module_exit(kwq_tally_exit);

MODULE_DESCRIPTION("kwq sample: counts the network links in each state");
MODULE_LICENSE("GPL");

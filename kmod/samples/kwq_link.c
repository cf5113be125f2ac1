// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sample driver: tells udev the state of each network link.
 *
 * The kernel sends no uevent when a network device goes up or down, or gains or loses its
 * carrier. This module sends one, from the device kwq_link:
 *
 *	change /devices/platform/kwq_link LINK=up IFINDEX=3 NETNS=4026531840
 *
 * If a link flaps quickly, events for states in between may be left out, but never the one
 * for the last state. An event that could not be sent is tried again, after 10 ms, 20 ms and so
 * on up to 10 s. The module covers all net namespaces, because one notifier reports all devices.
 * The key in the queue is the device itself, not its name or index.
 *
 * The handler only begins to send an event, as a driver begins a request to its device. The end of
 * the attempt comes in another context, here that of a function which the kernel calls for us.
 */
#include <linux/async.h>
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/kobject.h>
#include <linux/kwq.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/platform_device.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

enum state { UNKNOWN, DOWN, NO_CARRIER, UP };

static const char * const names[] = { "unknown", "down", "no-carrier", "up" };

/**
 * struct link - state of one network device
 * @item: the device in the queue
 * @dev: the device; exists until @item is cancelled
 * @node: entry in links; under RTNL
 * @told: the last state that was sent to udev; only an attempt uses it
 * @telling: the state that the present attempt sends; the same
 * @reconciling: number of attempts of this link, to show that it is at most one
 */
struct link {
	struct kwq_item item;
	struct net_device *dev;
	struct hlist_node node;
	enum state told;
	enum state telling;
	atomic_t reconciling;
};

static DEFINE_HASHTABLE(links, 8);
static struct kwq_queue queue;
static ASYNC_DOMAIN_EXCLUSIVE(attempts);
static struct platform_device *teller;

static unsigned int fail_every;
module_param(fail_every, uint, 0644);
MODULE_PARM_DESC(fail_every, "have one in so many uevents fail, for tests (0: none)");

/* Counters of events and of links, for debugfs. */
static atomic_t nr_links, events, coalesced, reconciles, retries, failures, overlaps;

/* The carrier of a device that is down does not count. */
static enum state state_of(const struct net_device *dev)
{
	if (!(READ_ONCE(dev->flags) & IFF_UP))
		return DOWN;
	return netif_running(dev) && netif_carrier_ok(dev) ? UP : NO_CARRIER;
}

static int tell_udev(const struct net_device *dev, enum state state)
{
	static atomic_t nr;
	unsigned int every = READ_ONCE(fail_every);
	char link[24], ifindex[24], netns[24];
	char *env[4] = { link, ifindex, netns };

	if (every && (unsigned int)atomic_inc_return(&nr) % every == 0)
		return -EIO;
	snprintf(link, sizeof(link), "LINK=%s", names[state]);
	snprintf(ifindex, sizeof(ifindex), "IFINDEX=%d", dev->ifindex);
	snprintf(netns, sizeof(netns), "NETNS=%u", dev_net(dev)->ns.inum);
	return kobject_uevent_env(&teller->dev.kobj, KOBJ_CHANGE, env);
}

/* Ends the attempt that reconcile() began. Afterwards, the link may be freed. */
static void tell_and_end(void *data, async_cookie_t cookie)
{
	struct link *link = data;
	int err = tell_udev(link->dev, link->telling);

	if (err)
		atomic_inc(&failures);
	else
		link->told = link->telling;
	atomic_dec(&link->reconciling);
	kwq_item_done(&queue, &link->item, kwq_result_of(err));
}

/*
 * The handler. It looks at the state of the link now, whatever the event was. It may sleep,
 * but must not take RTNL, because unwatch() holds that while it waits for the attempt's end.
 */
static struct kwq_result reconcile(struct kwq_queue *queue, struct kwq_item *item)
{
	struct link *link = container_of(item, struct link, item);

	if (atomic_inc_return(&link->reconciling) > 1)
		atomic_inc(&overlaps);
	atomic_inc(&reconciles);
	if (kwq_num_requeues(queue, item))
		atomic_inc(&retries);

	link->telling = state_of(link->dev);
	if (link->telling == link->told) {
		atomic_dec(&link->reconciling);
		return kwq_result_done();
	}
	async_schedule_domain(tell_and_end, link, &attempts);
	return kwq_result_later();
}

static const struct kwq_handler handler = {
	.handle = reconcile,
	.max_active = 4,
	.wq_flags = WQ_UNBOUND | WQ_FREEZABLE,
};

static struct link *find(const struct net_device *dev)
{
	struct link *link;

	ASSERT_RTNL();
	hash_for_each_possible(links, link, node, (unsigned long)dev)
		if (link->dev == dev)
			return link;
	return NULL;
}

static void changed(struct link *link)
{
	atomic_inc(&events);
	if (kwq_add(&queue, &link->item) != KWQ_ADDED)
		atomic_inc(&coalesced);
}

static void unwatch(struct link *link)
{
	hash_del(&link->node);
	/* When this returns, nobody processes the item, and nobody will. */
	kwq_disable_sync(&queue, &link->item);
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
	atomic_inc(&nr_links);
	changed(link);
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
			changed(link);
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
static struct dentry *dir;

static void __init show_figures(void)
{
	dir = debugfs_create_dir("kwq_link", NULL);
	debugfs_create_atomic_t("links", 0444, dir, &nr_links);
	debugfs_create_atomic_t("events", 0444, dir, &events);
	debugfs_create_atomic_t("coalesced", 0444, dir, &coalesced);
	debugfs_create_atomic_t("reconciles", 0444, dir, &reconciles);
	debugfs_create_atomic_t("retries", 0444, dir, &retries);
	debugfs_create_atomic_t("failures", 0444, dir, &failures);
	debugfs_create_atomic_t("overlaps", 0444, dir, &overlaps);
}

static void end(void)
{
	kwq_queue_destroy(&queue);
	/* All attempts have ended, but the last functions may not have returned yet. */
	async_synchronize_full_domain(&attempts);
	debugfs_remove(dir);
	platform_device_unregister(teller);
}

static int __init kwq_link_init(void)
{
	const struct kwq_limiter_config backoff = {
		.nr = 1,
		.limiters = { {
			.kind = KWQ_LIMITER_EXPONENTIAL,
			.u.exponential = { .base = 10 * NSEC_PER_MSEC, .max = 10 * NSEC_PER_SEC },
		} },
	};
	int err;

	teller = platform_device_register_simple("kwq_link", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(teller))
		return PTR_ERR(teller);
	show_figures();

	kwq_queue_init(&queue, "kwq_link", KWQ_CLOCK_MONOTONIC);
	err = kwq_configure(&queue, &backoff);
	if (!err)
		err = kwq_start_handler(&queue, &handler);
	if (err)
		goto destroy;
	/* Calls the notifier for each existing device. If that fails, unregisters them. */
	err = register_netdevice_notifier(&notifier);
	if (err)
		goto destroy;
	return 0;

destroy:
	end();
	return err;
}

static void __exit kwq_link_exit(void)
{
	/* Calls the notifier for each existing device, as if it were removed. */
	unregister_netdevice_notifier(&notifier);
	end();
}

module_init(kwq_link_init);
module_exit(kwq_link_exit);

MODULE_DESCRIPTION("kwq sample: tells udev how each network device's link is");
MODULE_LICENSE("GPL");

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module: sets up its parts at load, and ends them in reverse order.
 */
#include <linux/module.h>
#include "device/bpf.h"
#include "device/chardev.h"
#include "keyed/keyed.h"
#include "queue/queue.h"

#if IS_ENABLED(CONFIG_KWQ_DEV)
MODULE_DESCRIPTION("Keyed work queues for kernel code and, through /dev/kwq, for programs");

static int __init begin_device(void)
{
	int err;

	kwq_quota_register();
	err = kwq_items_register();
	if (err)
		return err;
	err = kwq_keyed_register();
	if (err)
		goto unregister_items;
	err = kwq_names_register();
	if (err)
		goto unregister_keyed;
	err = kwq_bpf_register();
	if (err)
		goto unregister_names;
	err = kwq_chardev_register();
	if (err)
		goto unregister_bpf;
	return 0;

unregister_bpf:
	kwq_bpf_unregister();
unregister_names:
	kwq_names_unregister();
unregister_keyed:
	kwq_keyed_unregister();
unregister_items:
	kwq_items_unregister();
	return err;
}

/* Waits for queues that are still being freed. */
static void __exit end_device(void)
{
	kwq_chardev_unregister();
	kwq_bpf_unregister();
	kwq_names_unregister();
	kwq_keyed_unregister();
	kwq_items_unregister();
}
#else
MODULE_DESCRIPTION("Keyed work queues for kernel code");

static int __init begin_device(void)
{
	return 0;
}

static void __exit end_device(void)
{
}
#endif

/* Built-in drivers may already use queues of their own. */
static int __init kwq_init(void)
{
	int err = kwq_timers_begin();

	if (err)
		return err;
	err = begin_device();
	if (err)
		kwq_timers_end();
	return err;
}

/* Each driver, open descriptor and name holds the module, so no queue has a user any more. */
static void __exit kwq_exit(void)
{
	end_device();
	kwq_timers_end();
}

module_init(kwq_init);
module_exit(kwq_exit);

MODULE_LICENSE("GPL");

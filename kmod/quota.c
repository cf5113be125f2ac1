// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many queues a user has (O4). The kernel's own per-user counters cannot be
 * extended by a module.
 */
#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/uidgid.h>
#include <linux/xarray.h>
#include "keyed.h"

unsigned int kwq_max_queues = 1024;
module_param_named(max_queues, kwq_max_queues, uint, 0644);
MODULE_PARM_DESC(max_queues, "most queues of one user; CAP_SYS_RESOURCE is exempt");

static DEFINE_MUTEX(quota_lock);
/* Counts by user, as values; a user without queues has no entry. */
static DEFINE_XARRAY(quota_counts);

static unsigned long count_of(kuid_t owner)
{
	return xa_to_value(xa_load(&quota_counts, __kuid_val(owner)));
}

/**
 * kwq_quota_charge() - count a queue
 * @owner: whose it is
 *
 * Context: process; may sleep.
 * Return: 0; -EDQUOT or -ENOMEM with nothing changed.
 */
int kwq_quota_charge(kuid_t owner)
{
	unsigned long count;

	guard(mutex)(&quota_lock);
	count = count_of(owner);
	if (count >= READ_ONCE(kwq_max_queues) && !capable(CAP_SYS_RESOURCE))
		return -EDQUOT;
	return xa_err(xa_store(&quota_counts, __kuid_val(owner),
			       xa_mk_value(count + 1), GFP_KERNEL_ACCOUNT));
}

/**
 * kwq_quota_uncharge() - count a queue no longer
 * @owner: whose it was
 *
 * Context: process; may sleep.
 */
void kwq_quota_uncharge(kuid_t owner)
{
	unsigned long count;

	guard(mutex)(&quota_lock);
	count = count_of(owner);
	/* To replace or erase what is there needs no memory. */
	if (count > 1)
		xa_store(&quota_counts, __kuid_val(owner),
			 xa_mk_value(count - 1), GFP_KERNEL);
	else
		xa_erase(&quota_counts, __kuid_val(owner));
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many queues a user has, and how much memory is in them (O4). The kernel's own
 * per-user counters cannot be extended by a module; the memory cgroup, to which all of
 * it is charged as well, is often without a limit.
 *
 * Bytes are taken and given back in steps, so that a queue whose items come and go
 * does not touch what all queues of its owner share.
 */
#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <kunit/visibility.h>
#include "keyed.h"

unsigned int kwq_max_queues = 1024;
module_param_named(max_queues, kwq_max_queues, uint, 0644);
MODULE_PARM_DESC(max_queues, "most queues of one user; CAP_SYS_RESOURCE is exempt");

unsigned long kwq_max_user_bytes;
module_param_named(max_user_bytes, kwq_max_user_bytes, ulong, 0644);
MODULE_PARM_DESC(max_user_bytes, "most bytes of items and keys in one user's queues, but for queues made with CAP_SYS_RESOURCE (a quarter of the memory)");
EXPORT_SYMBOL_IF_KUNIT(kwq_max_user_bytes);

/**
 * struct kwq_quota - what one user has
 * @node: in quotas
 * @user: who; constant
 * @nr_queues: covered by quota_lock; without queues there is none of these
 * @bytes: what these queues have taken
 */
struct kwq_quota {
	struct hlist_node node;
	kuid_t user;
	unsigned int nr_queues;
	atomic64_t bytes;
};

static DEFINE_MUTEX(quota_lock);
/* As the kernel has its own struct user_struct. */
static DEFINE_HASHTABLE(quotas, 7);

/**
 * kwq_quota_init() - choose what was not chosen when the module was loaded
 */
void __init kwq_quota_init(void)
{
	if (!kwq_max_user_bytes)
		kwq_max_user_bytes = min_t(u64, (u64)totalram_pages() * PAGE_SIZE / 4,
					   ULONG_MAX);
}

static struct kwq_quota *find_or_make(kuid_t user)
{
	struct kwq_quota *quota;

	hash_for_each_possible(quotas, quota, node, __kuid_val(user))
		if (uid_eq(quota->user, user))
			return quota;
	quota = kzalloc(sizeof(*quota), GFP_KERNEL_ACCOUNT);
	if (!quota)
		return ERR_PTR(-ENOMEM);
	quota->user = user;
	hash_add(quotas, &quota->node, __kuid_val(user));
	return quota;
}

static void free_if_unused(struct kwq_quota *quota)
{
	if (quota->nr_queues)
		return;
	hash_del(&quota->node);
	kfree(quota);
}

/**
 * kwq_quota_get() - count a queue
 * @owner: whose it is
 *
 * Context: process; may sleep.
 * Return: the owner's quota; ERR_PTR of -EDQUOT or -ENOMEM with nothing changed.
 */
struct kwq_quota *kwq_quota_get(kuid_t owner)
{
	struct kwq_quota *quota;

	guard(mutex)(&quota_lock);
	quota = find_or_make(owner);
	if (IS_ERR(quota))
		return quota;
	if (quota->nr_queues >= READ_ONCE(kwq_max_queues) &&
	    !capable(CAP_SYS_RESOURCE)) {
		free_if_unused(quota);
		return ERR_PTR(-EDQUOT);
	}
	quota->nr_queues++;
	return quota;
}

/**
 * kwq_quota_put() - count a queue no longer
 * @quota: its owner's
 *
 * Context: process; may sleep.
 */
void kwq_quota_put(struct kwq_quota *quota)
{
	guard(mutex)(&quota_lock);
	quota->nr_queues--;
	free_if_unused(quota);
}

/**
 * kwq_quota_take() - take bytes for a queue
 * @quota: its owner's
 * @bytes: how many
 * @exempt: they are counted, but not refused
 *
 * Context: any.
 * Return: true; false if the owner would have too many.
 */
bool kwq_quota_take(struct kwq_quota *quota, u64 bytes, bool exempt)
{
	s64 old = atomic64_read(&quota->bytes);

	do {
		if (!exempt && old + bytes > READ_ONCE(kwq_max_user_bytes))
			return false;
	} while (!atomic64_try_cmpxchg(&quota->bytes, &old, old + bytes));
	return true;
}

/**
 * kwq_quota_give_back() - what a queue does not need any more
 * @quota: its owner's
 * @bytes: how many of those taken
 *
 * Context: any.
 */
noinline void kwq_quota_give_back(struct kwq_quota *quota, u64 bytes)
{
	atomic64_sub(bytes, &quota->bytes);
}

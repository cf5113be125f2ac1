// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits on the queues of a user and on their memory (O4, O9). A module cannot extend the
 * kernel's own counters of a user. All memory is charged to its memory cgroup as well, but
 * a cgroup often has no limit.
 *
 * Like the kernel's ucounts, these counters belong to a user of a user namespace. Each
 * queue and byte also counts for the owner of that namespace, for the owner of the one
 * above, and so on up to the initial namespace. So a user with a range of subordinate uids
 * gets no more than any other user. The machine's counter is above all of them.
 *
 * A queue created with CAP_SYS_RESOURCE is exempt. It is counted separately, so that it can
 * be shown, but it uses up nobody's share. Otherwise a container would compete with root,
 * who often owns its namespace. The machine does not count exempt queues.
 *
 * Bytes are taken and given back in steps. A queue whose items come and go therefore rarely
 * touches the counters that it shares with other queues.
 */
#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/wait.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include <kunit/visibility.h>
#include "compat.h"
#include "keyed.h"

unsigned int kwq_max_queues = 1024;

unsigned long kwq_max_user_bytes;

unsigned long kwq_max_total_bytes;

static DEFINE_MUTEX(quota_lock);

/* Number of ends of queues that were left to a worker; protected by quota_lock. */
static u64 nr_ends_begun;

/*
 * Grows when one of these ends is over, and when a limit is changed; written under
 * quota_lock.
 */
static unsigned int change_seq;

/* Callers that wait for a change of @change_seq. */
VISIBLE_IF_KUNIT wait_queue_head_t kwq_quota_ended =
	__WAIT_QUEUE_HEAD_INITIALIZER(kwq_quota_ended);

/* The number of buckets is that of the kernel for struct user_struct. */
static DEFINE_HASHTABLE(quotas, 7);

/* A workqueue of its own. The workers that free queues may take seconds, and would delay this. */
static struct workqueue_struct *tellers;

/* The quota of the machine. */
static struct kwq_quota machine;

static u64 limit_of(const struct kwq_quota *quota)
{
	return quota == &machine ? READ_ONCE(kwq_max_total_bytes) :
				   READ_ONCE(kwq_max_user_bytes);
}

/*
 * Tells those who wait for room in queues that were refused bytes. A queue exists while it is on
 * the list or being told, see kwq_quota_end_telling().
 */
static void tell_refused(struct work_struct *work)
{
	struct kwq_quota *quota = container_of(work, struct kwq_quota, tell);
	struct kwq_keyed *keyed;
	LIST_HEAD(told);

	spin_lock_irq(&quota->lock);
	list_splice_init(&quota->refused, &told);
	while (!list_empty(&told)) {
		keyed = list_first_entry(&told, struct kwq_keyed, refused);
		list_del_init(&keyed->refused);
		atomic_inc(&keyed->being_told);
		spin_unlock_irq(&quota->lock);
		/* Without the lock, because a queue may have very many waiters (O8). */
		kwq_keyed_tell_room(keyed);
		/* The queue may be freed from here on. wake_up_var() only uses its address. */
		if (!atomic_dec_return(&keyed->being_told))
			wake_up_var(&keyed->being_told);
		cond_resched();
		spin_lock_irq(&quota->lock);
	}
	spin_unlock_irq(&quota->lock);
}

static void init_quota(struct kwq_quota *quota)
{
	atomic64_set(&quota->bytes, 0);
	atomic64_set(&quota->call_bytes, 0);
	atomic64_set(&quota->exempt_bytes, 0);
	spin_lock_init(&quota->lock);
	INIT_LIST_HEAD(&quota->ending);
	INIT_LIST_HEAD(&quota->refused);
	INIT_WORK(&quota->tell, tell_refused);
}

static void tell_if_refused(struct kwq_quota *quota)
{
	if (unlikely(!list_empty(&quota->refused)))
		queue_work(tellers, &quota->tell);
}

static void tell_change(void)
{
	lockdep_assert_held(&quota_lock);
	WRITE_ONCE(change_seq, change_seq + 1);
	wake_up(&kwq_quota_ended);
}

static void tell_all_refused(void)
{
	struct kwq_quota *quota;
	int bucket;

	lockdep_assert_held(&quota_lock);
	smp_mb(); /* writes the limit before it reads the lists, see kwq_quota_charge() */
	hash_for_each(quotas, bucket, quota, node)
		tell_if_refused(quota);
	tell_if_refused(&machine);
	tell_change();
}

/*
 * A limit was changed, so there may be room for refused queues. There are none at boot or
 * at the end of the module.
 */
static void tell_all(void)
{
	guard(mutex)(&quota_lock);
	if (tellers)
		tell_all_refused();
}

static unsigned long part_of_memory(unsigned int part)
{
	return min_t(u64, (u64)totalram_pages() * PAGE_SIZE / part, ULONG_MAX);
}

static unsigned long default_bytes(const unsigned long *limit)
{
	return part_of_memory(limit == &kwq_max_total_bytes ? 4 : 16);
}

/*
 * A limit may be set below current use. Then nothing more is granted until enough was given
 * back. Nothing is taken away.
 */
static int set_bytes(const char *text, const struct kernel_param *param)
{
	unsigned long *limit = param->arg, bytes;
	int err = kstrtoul(text, 0, &bytes);

	if (err)
		return err;
	/*
	 * At boot the size of the memory is not known yet. kwq_quota_register() sets the
	 * default later.
	 */
	WRITE_ONCE(*limit, bytes ?: default_bytes(limit));
	tell_all();
	return 0;
}

static int set_queues(const char *text, const struct kernel_param *param)
{
	unsigned int queues;
	int err = kstrtouint(text, 0, &queues);

	if (err)
		return err;
	WRITE_ONCE(*(unsigned int *)param->arg, queues);
	tell_all();
	return 0;
}

VISIBLE_IF_KUNIT const struct kernel_param_ops kwq_quota_bytes_ops = {
	.set = set_bytes,
	.get = param_get_ulong,
};

VISIBLE_IF_KUNIT const struct kernel_param_ops kwq_quota_queues_ops = {
	.set = set_queues,
	.get = param_get_uint,
};

module_param_cb(max_queues, &kwq_quota_queues_ops, &kwq_max_queues, 0644);
__MODULE_PARM_TYPE(max_queues, "uint");
MODULE_PARM_DESC(max_queues, "most queues of one user; CAP_SYS_RESOURCE is exempt");

module_param_cb(max_user_bytes, &kwq_quota_bytes_ops, &kwq_max_user_bytes, 0644);
__MODULE_PARM_TYPE(max_user_bytes, "ulong");
MODULE_PARM_DESC(max_user_bytes, "most bytes of memory in one user's queues; CAP_SYS_RESOURCE is exempt (0: a sixteenth of the memory)");

module_param_cb(max_total_bytes, &kwq_quota_bytes_ops, &kwq_max_total_bytes, 0644);
__MODULE_PARM_TYPE(max_total_bytes, "ulong");
MODULE_PARM_DESC(max_total_bytes, "most bytes of memory in all users' queues; CAP_SYS_RESOURCE is exempt and not counted (0: a quarter of the memory)");

/**
 * kwq_quota_register() - choose default limits and start workers
 *
 * Context: process; sleeps.
 * Return: 0 or -ENOMEM.
 */
int __init kwq_quota_register(void)
{
	struct workqueue_struct *wq = alloc_workqueue("kwq_room", WQ_UNBOUND, 0);

	if (!kwq_max_user_bytes)
		kwq_max_user_bytes = default_bytes(&kwq_max_user_bytes);
	if (!kwq_max_total_bytes)
		kwq_max_total_bytes = default_bytes(&kwq_max_total_bytes);
	init_quota(&machine);
	scoped_guard(mutex, &quota_lock)
		tellers = wq;
	return wq ? 0 : -ENOMEM;
}

/**
 * kwq_quota_unregister() - stop the workers; no queue is left
 *
 * The limits may still be changed for a short time.
 *
 * Context: process; sleeps.
 */
void kwq_quota_unregister(void)
{
	struct workqueue_struct *wq = tellers;

	scoped_guard(mutex, &quota_lock)
		tellers = NULL;
	destroy_workqueue(wq);
}

static u32 bucket_of(const struct user_namespace *ns, kuid_t user)
{
	return hash_ptr(ns, 32) + __kuid_val(user);
}

static struct kwq_quota *find_quota(const struct user_namespace *ns, kuid_t user)
{
	struct kwq_quota *quota;

	lockdep_assert_held(&quota_lock);
	hash_for_each_possible(quotas, quota, node, bucket_of(ns, user))
		if (quota->ns == ns && uid_eq(quota->user, user))
			return quota;
	return NULL;
}

/* Frees quotas that are not in use. Each has the next one as its parent. */
static void free_quotas(struct kwq_quota *quota)
{
	struct kwq_quota *next;

	for (; quota; quota = next) {
		next = quota->parent;
		if (quota->ns)
			put_user_ns(quota->ns);
		kfree(quota);
	}
}

VISIBLE_IF_KUNIT struct kwq_quota *kwq_new_quota(gfp_t gfp)
{
	KUNIT_STATIC_STUB_REDIRECT(kwq_new_quota, gfp);
	return kzalloc(sizeof(struct kwq_quota), gfp);
}

/*
 * Allocates the most quotas that a user of a namespace may need: one for each namespace up
 * to the initial one.
 */
static struct kwq_quota *make_quotas(const struct user_namespace *ns)
{
	struct kwq_quota *quotas_made = NULL, *quota;

	for (; ns; ns = ns->parent) {
		quota = kwq_new_quota(GFP_KERNEL_ACCOUNT);
		if (!quota) {
			free_quotas(quotas_made);
			return NULL;
		}
		init_quota(quota);
		quota->parent = quotas_made;
		quotas_made = quota;
	}
	return quotas_made;
}

/* Finds a user's quota. If it does not exist, takes it and the quotas above it from @spare. */
static struct kwq_quota *find_or_make(struct user_namespace *ns, kuid_t user,
				      struct kwq_quota **spare)
{
	struct kwq_quota *bottom, *quota, **link = &bottom;
	bool found;

	do {
		quota = find_quota(ns, user);
		found = quota;
		if (!found) {
			quota = *spare;
			*spare = quota->parent;
			quota->ns = get_user_ns(ns);
			quota->user = user;
			quota->parent = &machine;
			hash_add(quotas, &quota->node, bucket_of(ns, user));
		}
		if (link != &bottom)
			quota->refs++;
		*link = quota;
		link = &quota->parent;
		user = ns->owner;
		ns = ns->parent;
	} while (!found && ns);
	return bottom;
}

/* Drops a reference. Returns the quotas that have no reference left, unlinked. */
static struct kwq_quota *put_quota(struct kwq_quota *quota)
{
	struct kwq_quota *unused = NULL, *parent;

	for (; quota != &machine; quota = parent) {
		parent = quota->parent;
		if (--quota->refs)
			break;
		hash_del(&quota->node);
		quota->parent = unused;
		unused = quota;
	}
	return unused;
}

/* Frees unused quotas. No queue is left to refuse, but their work may be running. */
static void end_quotas(struct kwq_quota *unused)
{
	struct kwq_quota *quota;

	for (quota = unused; quota; quota = quota->parent)
		cancel_work_sync(&quota->tell);
	free_quotas(unused);
}

static bool has_all_queues(const struct kwq_quota *quota)
{
	for (; quota != &machine; quota = quota->parent)
		if (quota->nr_queues >= READ_ONCE(kwq_max_queues))
			return true;
	return false;
}

static void count_queue(struct kwq_quota *quota, bool exempt, int nr)
{
	for (; quota != &machine; quota = quota->parent)
		if (exempt)
			quota->nr_exempt += nr;
		else
			quota->nr_queues += nr;
}

/**
 * kwq_quota_get() - the quota of a user
 * @ns: a user namespace
 * @user: a user of it
 *
 * Context: process; may sleep.
 * Return: the quota, for kwq_quota_put(); or ERR_PTR(-ENOMEM).
 */
struct kwq_quota *kwq_quota_get(struct user_namespace *ns, kuid_t user)
{
	struct kwq_quota *quota, *spare;

	scoped_guard(mutex, &quota_lock) {
		quota = find_quota(ns, user);
		if (quota) {
			quota->refs++;
			return quota;
		}
	}
	/* Without the lock, which everybody shares, because an allocation may take long. */
	spare = make_quotas(ns);
	if (!spare)
		return ERR_PTR(-ENOMEM);
	scoped_guard(mutex, &quota_lock) {
		quota = find_or_make(ns, user, &spare);
		quota->refs++;
	}
	free_quotas(spare);
	return quota;
}

/**
 * kwq_quota_put() - undo kwq_quota_get()
 * @quota: the quota
 *
 * Context: process; may sleep.
 */
void kwq_quota_put(struct kwq_quota *quota)
{
	struct kwq_quota *unused;

	scoped_guard(mutex, &quota_lock)
		unused = put_quota(quota);
	end_quotas(unused);
}

/**
 * kwq_quota_add_queue() - count a new queue
 * @ns: user namespace of its owner
 * @owner: its owner
 * @exempt: count it separately, and do not refuse it
 *
 * Context: process; may sleep.
 * Return: the quota of the owner, or an ERR_PTR(): -EDQUOT or -ENOMEM with nothing changed.
 */
struct kwq_quota *kwq_quota_add_queue(struct user_namespace *ns, kuid_t owner, bool exempt)
{
	struct kwq_quota *quota;

	KUNIT_STATIC_STUB_REDIRECT(kwq_quota_add_queue, ns, owner, exempt);
	quota = kwq_quota_get(ns, owner);
	if (IS_ERR(quota))
		return quota;
	scoped_guard(mutex, &quota_lock) {
		if (exempt || !has_all_queues(quota)) {
			count_queue(quota, exempt, 1);
			return quota;
		}
	}
	kwq_quota_put(quota);
	return ERR_PTR(-EDQUOT);
}

/* The quota in the initial user namespace that counts all queues of this one. */
static struct kwq_quota *top_of(struct kwq_quota *quota)
{
	while (quota->parent != &machine)
		quota = quota->parent;
	return quota;
}

/**
 * kwq_quota_remove_queue() - stop counting a queue
 * @quota: the quota of its owner
 * @exempt: as for kwq_quota_add_queue()
 *
 * Context: process; may sleep.
 */
void kwq_quota_remove_queue(struct kwq_quota *quota, bool exempt)
{
	struct kwq_quota *unused;

	scoped_guard(mutex, &quota_lock) {
		count_queue(quota, exempt, -1);
		unused = put_quota(quota);
	}
	end_quotas(unused);
}

/**
 * kwq_quota_begin_end() - a worker is about to free a queue
 * @keyed: the queue
 *
 * The end of an exempt queue makes no room for others.
 *
 * Context: process; may sleep.
 */
void kwq_quota_begin_end(struct kwq_keyed *keyed)
{
	if (keyed->exempt)
		return;
	guard(mutex)(&quota_lock);
	keyed->end_number = ++nr_ends_begun;
	list_add_tail(&keyed->end, &top_of(keyed->quota)->ending);
}

/**
 * kwq_quota_end() - stop counting a queue that is about to be freed
 * @keyed: the queue
 *
 * Context: process; may sleep.
 */
void kwq_quota_end(struct kwq_keyed *keyed)
{
	struct kwq_quota *unused;

	/* In one hold of the lock, so that an end that is over has given its room back. */
	scoped_guard(mutex, &quota_lock) {
		count_queue(keyed->quota, keyed->exempt, -1);
		if (keyed->end_number) {
			list_del(&keyed->end);
			tell_change();
		}
		unused = put_quota(keyed->quota);
	}
	end_quotas(unused);
}

/**
 * kwq_quota_begin_wait() - begin to wait after a queue was refused
 * @ends: filled in with the ends of queues that have begun by now
 *
 * Context: process; may sleep.
 */
void kwq_quota_begin_wait(struct kwq_quota_ends *ends)
{
	guard(mutex)(&quota_lock);
	ends->begun = nr_ends_begun;
}

/**
 * kwq_quota_expect_end() - is the end of a queue worth waiting for
 * @ends: from kwq_quota_begin_wait(); the ends that are over are filled in
 * @ns: user namespace of the refused caller
 * @owner: the refused caller
 *
 * Only queues that count in the same quotas matter.
 *
 * Context: process; may sleep.
 * Return: true if one of them has not ended yet.
 */
bool kwq_quota_expect_end(struct kwq_quota_ends *ends, const struct user_namespace *ns,
			  kuid_t owner)
{
	const struct kwq_keyed *first;
	const struct kwq_quota *top;

	for (; ns->parent; ns = ns->parent)
		owner = ns->owner;
	guard(mutex)(&quota_lock);
	ends->seen = change_seq;
	top = find_quota(ns, owner);
	if (!top || list_empty(&top->ending))
		return false;
	first = list_first_entry(&top->ending, struct kwq_keyed, end);
	return first->end_number <= ends->begun;
}

/**
 * kwq_quota_wait_end() - wait until any queue ends or a limit changes
 * @ends: from kwq_quota_expect_end()
 *
 * Context: process; sleeps.
 * Return: 0; -ERESTARTSYS after a signal.
 */
int kwq_quota_wait_end(const struct kwq_quota_ends *ends)
{
	int err = wait_event_interruptible_exclusive(kwq_quota_ended,
						     READ_ONCE(change_seq) != ends->seen);

	/* O8: each waiter wakes the next one, so no hold of the lock wakes all of them. */
	wake_up(&kwq_quota_ended);
	return err;
}

static bool add_up_to(atomic64_t *count, u64 bytes, u64 limit)
{
	s64 old = atomic64_read(count);

	do {
		if (old + bytes > limit)
			return false;
	} while (!atomic64_try_cmpxchg(count, &old, old + bytes));
	return true;
}

static bool charge_here(struct kwq_quota *quota, u64 bytes)
{
	return add_up_to(&quota->bytes, bytes, limit_of(quota));
}

static void uncharge_here(struct kwq_quota *quota, u64 bytes)
{
	/* Fully ordered before the list is read: see kwq_quota_charge(). */
	atomic64_sub_return(bytes, &quota->bytes);
	tell_if_refused(quota);
}

static void uncharge_below(struct kwq_quota *quota, const struct kwq_quota *end, u64 bytes)
{
	for (; quota != end; quota = quota->parent)
		uncharge_here(quota, bytes);
}

/* Counts bytes of an exempt queue. */
static void count_exempt_bytes(struct kwq_quota *quota, s64 bytes)
{
	for (; quota != &machine; quota = quota->parent)
		atomic64_add(bytes, &quota->exempt_bytes);
}

/* Takes bytes from all quotas or from none. Returns the quota that refuses them, or NULL. */
static struct kwq_quota *charge_everywhere(struct kwq_quota *quota, u64 bytes)
{
	struct kwq_quota *at;

	for (at = quota; at; at = at->parent) {
		if (!charge_here(at, bytes)) {
			uncharge_below(quota, at, bytes);
			return at;
		}
	}
	return NULL;
}

/* Takes a queue off the list of refused queues. Its lock is held, or nobody else uses it. */
static void leave_refused(struct kwq_keyed *keyed)
{
	struct kwq_quota *quota = keyed->refused_by;
	unsigned long flags;

	if (!quota)
		return;
	spin_lock_irqsave(&quota->lock, flags);
	list_del_init(&keyed->refused);
	spin_unlock_irqrestore(&quota->lock, flags);
	keyed->refused_by = NULL;
}

/*
 * Puts a queue on the list of refused queues, so that it is told when bytes come back.
 * Returns false if it is on the list already. @refused_by is protected by the queue's lock.
 */
static bool enter_refused(struct kwq_keyed *keyed, struct kwq_quota *quota)
{
	unsigned long flags;
	bool entered;

	if (keyed->refused_by != quota)
		leave_refused(keyed);
	keyed->refused_by = quota;
	spin_lock_irqsave(&quota->lock, flags);
	entered = list_empty(&keyed->refused);
	if (entered)
		list_add_tail(&keyed->refused, &quota->refused);
	spin_unlock_irqrestore(&quota->lock, flags);
	return entered;
}

/**
 * kwq_quota_end_telling() - stop telling a queue that is about to be freed
 * @keyed: the queue; nobody else uses it
 *
 * Context: process; sleeps while a worker tells its pollers.
 */
void kwq_quota_end_telling(struct kwq_keyed *keyed)
{
	leave_refused(keyed);
	wait_var_event(&keyed->being_told, !atomic_read_acquire(&keyed->being_told));
}

/**
 * kwq_quota_charge() - charge bytes of a queue to all its quotas
 * @keyed: the queue; its lock held, or nobody else uses it
 * @bytes: number of bytes
 *
 * If a quota refuses the bytes, the queue's pollers are told once bytes come back there. No
 * return of bytes is missed:
 *
 *   taker			giver
 *   enter the list		subtract the bytes
 *   smp_mb()			fully ordered
 *   try again			is a queue on the list?
 *
 * If the giver sees an empty list, the second try sees the bytes that came back.
 *
 * Context: any.
 * Return: true; false if a quota refuses.
 */
bool kwq_quota_charge(struct kwq_keyed *keyed, u64 bytes)
{
	struct kwq_quota *refuser;

	if (keyed->exempt) {
		kwq_quota_charge_anyway(keyed, bytes);
		return true;
	}
	while ((refuser = charge_everywhere(keyed->quota, bytes))) {
		if (!enter_refused(keyed, refuser))
			return false;
		smp_mb(); /* enters the list before it reads the bytes again */
	}
	return true;
}

/**
 * kwq_quota_charge_silently() - charge bytes of a queue for which no poller waits
 * @keyed: the queue
 * @bytes: number of bytes
 *
 * Like kwq_quota_charge(), but nobody is told after a refusal.
 *
 * Context: any.
 * Return: true; false if a quota refuses.
 */
bool kwq_quota_charge_silently(struct kwq_keyed *keyed, u64 bytes)
{
	if (!keyed->exempt)
		return !charge_everywhere(keyed->quota, bytes);
	kwq_quota_charge_anyway(keyed, bytes);
	return true;
}

/**
 * kwq_quota_charge_anyway() - charge bytes of a queue, even beyond a limit
 * @keyed: the queue
 * @bytes: number of bytes
 *
 * Context: any.
 */
void kwq_quota_charge_anyway(struct kwq_keyed *keyed, u64 bytes)
{
	struct kwq_quota *quota;

	if (keyed->exempt)
		count_exempt_bytes(keyed->quota, bytes);
	else
		for (quota = keyed->quota; quota; quota = quota->parent)
			atomic64_add(bytes, &quota->bytes);
}

/**
 * kwq_quota_uncharge() - give bytes of a queue back to its quotas
 * @keyed: the queue
 * @bytes: number of bytes
 *
 * Context: any.
 */
noinline void kwq_quota_uncharge(struct kwq_keyed *keyed, u64 bytes)
{
	if (keyed->exempt)
		count_exempt_bytes(keyed->quota, -(s64)bytes);
	else
		uncharge_below(keyed->quota, NULL, bytes);
}

/**
 * kwq_quota_is_short() - is little left of a quota
 * @keyed: a queue that counts there
 *
 * The machine's quota does not matter, because others may have used it up.
 *
 * Context: any.
 * Return: true if a quota of the queue has less than a quarter of its bytes left.
 */
bool kwq_quota_is_short(const struct kwq_keyed *keyed)
{
	const struct kwq_quota *quota;

	if (keyed->exempt)
		return false;
	for (quota = keyed->quota; quota != &machine; quota = quota->parent)
		if (atomic64_read(&quota->bytes) > limit_of(quota) - limit_of(quota) / 4)
			return true;
	return false;
}

static u64 call_limit_of(const struct kwq_quota *quota)
{
	return max_t(u64, limit_of(quota) / 16, KWQ_CALL_BYTES);
}

static void uncharge_call_below(struct kwq_quota *quota, const struct kwq_quota *end, u64 bytes)
{
	for (; quota != end; quota = quota->parent)
		atomic64_sub(bytes, &quota->call_bytes);
}

/**
 * kwq_quota_charge_call() - charge memory of a call that may take long (O9)
 * @handle: the handle of the call
 * @bytes: number of bytes
 *
 * Such a call waits for room, reads a value from memory that is slow, or copies one out to such
 * memory. Its user pays, not the owner of the queue, because whoever may use a queue must not use
 * up what its owner has. All calls of a user may have a sixteenth of the limit, on top of it, and
 * at least KWQ_CALL_BYTES. They do not share the limit with items: otherwise adds that wait could
 * take all of it, and each would wait for the others.
 *
 * Context: any.
 * Return: true, and then kwq_quota_uncharge_call() follows; false if there are too many already.
 */
bool kwq_quota_charge_call(const struct kwq_handle *handle, u64 bytes)
{
	struct kwq_quota *at;

	if (handle->exempt) {
		count_exempt_bytes(handle->quota, bytes);
		return true;
	}
	for (at = handle->quota; at; at = at->parent) {
		if (!add_up_to(&at->call_bytes, bytes, call_limit_of(at))) {
			uncharge_call_below(handle->quota, at, bytes);
			return false;
		}
	}
	return true;
}

/**
 * kwq_quota_uncharge_call() - undo kwq_quota_charge_call()
 * @handle: the handle
 * @bytes: number of bytes
 *
 * Context: any.
 */
void kwq_quota_uncharge_call(const struct kwq_handle *handle, u64 bytes)
{
	if (handle->exempt)
		count_exempt_bytes(handle->quota, -(s64)bytes);
	else
		uncharge_call_below(handle->quota, NULL, bytes);
}

/**
 * kwq_quota_read() - report the caller's quota
 * @info: the limits, and the caller's queues and bytes, are filled in
 *
 * Context: process; may sleep.
 */
void kwq_quota_read(struct kwq_info *info)
{
	bool exempt = ns_capable_noaudit(&init_user_ns, CAP_SYS_RESOURCE);
	const struct user_namespace *ns = current_user_ns();
	kuid_t user = current_fsuid();
	const struct kwq_quota *quota;
	u64 bytes, left = U64_MAX;
	u32 queues, queues_left = U32_MAX;

	info->max_queues = READ_ONCE(kwq_max_queues);
	info->max_user_bytes = READ_ONCE(kwq_max_user_bytes);
	info->max_total_bytes = READ_ONCE(kwq_max_total_bytes);
	guard(mutex)(&quota_lock);
	for (; ns; user = ns->owner, ns = ns->parent) {
		quota = find_quota(ns, user);
		bytes = quota ? atomic64_read(&quota->bytes) : 0;
		queues = quota ? quota->nr_queues : 0;
		if (ns == current_user_ns()) {
			info->user_bytes = bytes;
			info->user_queues = queues;
			if (quota) {
				info->user_bytes += atomic64_read(&quota->call_bytes) +
						    atomic64_read(&quota->exempt_bytes);
				info->user_queues += quota->nr_exempt;
			}
		}
		left = min(left, info->max_user_bytes - min(bytes, info->max_user_bytes));
		queues_left = min(queues_left, info->max_queues - min(queues, info->max_queues));
	}
	bytes = atomic64_read(&machine.bytes);
	left = min(left, info->max_total_bytes - min(bytes, info->max_total_bytes));
	info->user_bytes_left = exempt ? U64_MAX : left;
	info->user_queues_left = exempt ? U32_MAX : queues_left;
}

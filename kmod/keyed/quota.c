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
 * A user has a quota of each kind. A queue created with CAP_SYS_RESOURCE, and a call of who has it,
 * is exempt. It counts in a quota without limits, so that it can be shown, but
 * it uses up nobody's share. Otherwise a container would compete with root, who often owns its
 * namespace. Memory of calls counts apart from that of queues: see kwq_quota_charge().
 *
 * Memory of a queue is charged before it is allocated, and uncharged after it was freed, but for
 * the queue itself. Both happen without the queue's lock, because an uncharge may wake many.
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
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/wait.h>
#include <kunit/visibility.h>
#include "compat.h"
#include "keyed.h"

unsigned int kwq_max_queues = 1024;

unsigned long kwq_max_user_bytes;

unsigned long kwq_max_total_bytes;

static DEFINE_MUTEX(quota_lock);

/* The number of buckets is that of the kernel for struct user_struct. */
static DEFINE_HASHTABLE(quotas, 7);

/* The quotas of the machine, which have no parent. */
static struct kwq_quota machines[KWQ_QUOTA_KINDS] = {
	[KWQ_QUOTA_QUEUES] = {
		.kind = KWQ_QUOTA_QUEUES,
		.room = __WAIT_QUEUE_HEAD_INITIALIZER(machines[KWQ_QUOTA_QUEUES].room),
	},
	[KWQ_QUOTA_CALLS] = {
		.kind = KWQ_QUOTA_CALLS,
		.room = __WAIT_QUEUE_HEAD_INITIALIZER(machines[KWQ_QUOTA_CALLS].room),
	},
	[KWQ_QUOTA_EXEMPT] = {
		.kind = KWQ_QUOTA_EXEMPT,
		.room = __WAIT_QUEUE_HEAD_INITIALIZER(machines[KWQ_QUOTA_EXEMPT].room),
	},
};

static u64 limit_of(const struct kwq_quota *quota)
{
	u64 limit;

	if (quota->kind == KWQ_QUOTA_EXEMPT)
		return S64_MAX;
	limit = quota->parent ? READ_ONCE(kwq_max_user_bytes) : READ_ONCE(kwq_max_total_bytes);
	return quota->kind == KWQ_QUOTA_QUEUES ? limit : max_t(u64, limit / 16, KWQ_CALL_BYTES);
}

static unsigned int most_queues_of(const struct kwq_quota *quota)
{
	return quota->kind == KWQ_QUOTA_QUEUES ? READ_ONCE(kwq_max_queues) : UINT_MAX;
}

/*
 * Wakes all who wait for bytes, because nobody knows who of them is still there, and which of them
 * have enough now. The others ask again, and so set @is_wanted again.
 */
static noinline void tell_waiters(struct kwq_quota *quota)
{
	WRITE_ONCE(quota->is_wanted, false);
	__wake_up(&quota->room, TASK_NORMAL, 0, poll_to_key(EPOLLOUT | EPOLLWRNORM));
}

static void tell_if_wanted(struct kwq_quota *quota)
{
	if (unlikely(READ_ONCE(quota->is_wanted)))
		tell_waiters(quota);
}

/* A limit of bytes was changed. */
static void tell_all(void)
{
	struct kwq_quota *quota;
	int bucket;

	guard(mutex)(&quota_lock);
	smp_mb(); /* writes the limit before it reads @is_wanted, see kwq_quota_refuser() */
	hash_for_each(quotas, bucket, quota, node)
		tell_if_wanted(quota);
	for (quota = machines; quota < machines + KWQ_QUOTA_KINDS; quota++)
		tell_if_wanted(quota);
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

VISIBLE_IF_KUNIT const struct kernel_param_ops kwq_quota_bytes_ops = {
	.set = set_bytes,
	.get = param_get_ulong,
};

module_param_named(max_queues, kwq_max_queues, uint, 0644);
MODULE_PARM_DESC(max_queues, "most queues of one user; CAP_SYS_RESOURCE is exempt");

module_param_cb(max_user_bytes, &kwq_quota_bytes_ops, &kwq_max_user_bytes, 0644);
__MODULE_PARM_TYPE(max_user_bytes, "ulong");
MODULE_PARM_DESC(max_user_bytes, "most bytes of memory in one user's queues; CAP_SYS_RESOURCE is exempt (0: a sixteenth of the memory)");

module_param_cb(max_total_bytes, &kwq_quota_bytes_ops, &kwq_max_total_bytes, 0644);
__MODULE_PARM_TYPE(max_total_bytes, "ulong");
MODULE_PARM_DESC(max_total_bytes, "most bytes of memory in all users' queues; CAP_SYS_RESOURCE is exempt and not counted (0: a quarter of the memory)");

/** kwq_quota_register() - choose default limits */
void __init kwq_quota_register(void)
{
	if (!kwq_max_user_bytes)
		kwq_max_user_bytes = default_bytes(&kwq_max_user_bytes);
	if (!kwq_max_total_bytes)
		kwq_max_total_bytes = default_bytes(&kwq_max_total_bytes);
}

static u32 bucket_of(const struct user_namespace *ns, kuid_t user)
{
	return hash_ptr(ns, 32) + __kuid_val(user);
}

static struct kwq_quota *find_quota(const struct user_namespace *ns, kuid_t user,
				    enum kwq_quota_kind kind)
{
	struct kwq_quota *quota;

	lockdep_assert_held(&quota_lock);
	hash_for_each_possible(quotas, quota, node, bucket_of(ns, user))
		if (quota->ns == ns && uid_eq(quota->user, user) && quota->kind == kind)
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
		init_waitqueue_head(&quota->room);
		quota->parent = quotas_made;
		quotas_made = quota;
	}
	return quotas_made;
}

/* Finds a user's quota. If it does not exist, takes it and the quotas above it from @spare. */
static struct kwq_quota *find_or_make(struct user_namespace *ns, kuid_t user,
				      enum kwq_quota_kind kind, struct kwq_quota **spare)
{
	struct kwq_quota *bottom, *quota, **link = &bottom;
	bool found;

	do {
		quota = find_quota(ns, user, kind);
		found = quota;
		if (!found) {
			quota = *spare;
			*spare = quota->parent;
			quota->ns = get_user_ns(ns);
			quota->user = user;
			quota->kind = kind;
			quota->parent = &machines[kind];
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

	for (; quota->parent; quota = parent) {
		parent = quota->parent;
		if (--quota->refs)
			break;
		hash_del(&quota->node);
		quota->parent = unused;
		unused = quota;
	}
	return unused;
}

static bool has_all_queues(const struct kwq_quota *quota)
{
	for (; quota->parent; quota = quota->parent)
		if (quota->nr_queues >= most_queues_of(quota))
			return true;
	return false;
}

static void count_queue(struct kwq_quota *quota, int nr)
{
	for (; quota; quota = quota->parent)
		quota->nr_queues += nr;
}

/**
 * kwq_quota_kind_for() - in which kind of quota the caller's queues or calls count
 * @kind: KWQ_QUOTA_QUEUES or KWQ_QUOTA_CALLS
 *
 * Context: process.
 * Return: @kind; KWQ_QUOTA_EXEMPT with CAP_SYS_RESOURCE. That is no use of the capability for
 * audit, because most callers lack it.
 */
enum kwq_quota_kind kwq_quota_kind_for(enum kwq_quota_kind kind)
{
	return ns_capable_noaudit(&init_user_ns, CAP_SYS_RESOURCE) ? KWQ_QUOTA_EXEMPT : kind;
}

/**
 * kwq_quota_get() - the quota of a user
 * @ns: a user namespace
 * @user: a user of it
 * @kind: what it counts
 *
 * Context: process; may sleep.
 * Return: the quota, for kwq_quota_put(); or ERR_PTR(-ENOMEM).
 */
struct kwq_quota *kwq_quota_get(struct user_namespace *ns, kuid_t user, enum kwq_quota_kind kind)
{
	struct kwq_quota *quota, *spare;

	scoped_guard(mutex, &quota_lock) {
		quota = find_quota(ns, user, kind);
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
		quota = find_or_make(ns, user, kind, &spare);
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
	free_quotas(unused);
}

/**
 * kwq_quota_add_queue() - count a new queue
 * @ns: user namespace of its owner
 * @owner: its owner
 * @kind: KWQ_QUOTA_QUEUES; or KWQ_QUOTA_EXEMPT, which refuses none
 *
 * Context: process; may sleep.
 * Return: the quota of the owner, or an ERR_PTR(): -EDQUOT or -ENOMEM with nothing changed.
 */
struct kwq_quota *kwq_quota_add_queue(struct user_namespace *ns, kuid_t owner,
				      enum kwq_quota_kind kind)
{
	struct kwq_quota *quota = kwq_quota_get(ns, owner, kind);

	if (IS_ERR(quota))
		return quota;
	scoped_guard(mutex, &quota_lock) {
		if (!has_all_queues(quota)) {
			count_queue(quota, 1);
			return quota;
		}
	}
	kwq_quota_put(quota);
	return ERR_PTR(-EDQUOT);
}

/**
 * kwq_quota_remove_queue() - stop counting a queue
 * @quota: the quota of its owner; the caller keeps the reference
 *
 * Context: process; may sleep.
 */
void kwq_quota_remove_queue(struct kwq_quota *quota)
{
	guard(mutex)(&quota_lock);
	count_queue(quota, -1);
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

/* Gives bytes back to quotas, up to @end, which is left out; NULL for all. */
static void uncharge(struct kwq_quota *quota, const struct kwq_quota *end, u64 bytes)
{
	for (; quota != end; quota = quota->parent) {
		/* Fully ordered before @is_wanted is read: see kwq_quota_refuser(). */
		atomic64_sub_return(bytes, &quota->bytes);
		tell_if_wanted(quota);
	}
}

/**
 * kwq_quota_charge() - charge bytes that are about to be allocated
 * @quota: the quota of the owner of a queue; or that of a call
 * @bytes: number of bytes
 *
 * A call that reads from memory that is slow, or copies to such memory, or waits for room with what
 * it has read, may take long (O9). Its user pays, not the owner of the queue, because whoever may
 * use a queue must not use up what its owner has: see &kwq_handle.quota. All calls of a user may
 * have a sixteenth of the limit, on top of it, and at least KWQ_CALL_BYTES. They do not share the
 * limit with items: otherwise adds that wait could take all of it, and each would wait for the
 * others.
 *
 * Context: any.
 * Return: true, and then kwq_quota_uncharge() follows; false with nothing changed if this quota or
 * one above it refuses.
 */
bool kwq_quota_charge(struct kwq_quota *quota, u64 bytes)
{
	struct kwq_quota *at;

	for (at = quota; at; at = at->parent) {
		if (!add_up_to(&at->bytes, bytes, limit_of(at))) {
			uncharge(quota, at, bytes);
			return false;
		}
	}
	return true;
}

/**
 * kwq_quota_charge_anyway() - charge bytes, even beyond a limit
 * @quota: the quota
 * @bytes: number of bytes
 *
 * For the little that a get, a done, a list or a configuration needs, which must not fail for it. A
 * call has at most one such buffer for each thread.
 *
 * Context: any.
 */
void kwq_quota_charge_anyway(struct kwq_quota *quota, u64 bytes)
{
	for (; quota; quota = quota->parent)
		atomic64_add(bytes, &quota->bytes);
}

/**
 * kwq_quota_uncharge() - give bytes back
 * @quota: the quota; no lock of a queue held, because this may wake any number of waiters
 * @bytes: number of bytes
 *
 * Context: any.
 */
noinline void kwq_quota_uncharge(struct kwq_quota *quota, u64 bytes)
{
	uncharge(quota, NULL, bytes);
}

static bool has_bytes(const struct kwq_quota *quota, u64 bytes)
{
	return atomic64_read(&quota->bytes) + bytes <= limit_of(quota);
}

/**
 * kwq_quota_refuser() - which quota refuses bytes of a queue
 * @quota: that of its owner
 * @bytes: number of bytes
 *
 * Adds that wait in that quota, and queues that do for their pollers, are told once bytes come
 * back. A taker that joins them, and asks again before it sleeps, misses no return of bytes:
 *
 *   taker			giver
 *   join			subtract the bytes
 *   set @is_wanted		fully ordered
 *   smp_mb()			is @is_wanted set?
 *   are there bytes?		clear it, then wake all
 *
 * If the giver does not see @is_wanted, the taker sees the bytes. If the giver clears it after the
 * taker has set it, the taker has joined before the giver wakes.
 *
 * Context: any.
 * Return: the quota; NULL if none refuses.
 */
struct kwq_quota *kwq_quota_refuser(struct kwq_quota *quota, u64 bytes)
{
	for (; quota; quota = quota->parent) {
		if (has_bytes(quota, bytes))
			continue;
		WRITE_ONCE(quota->is_wanted, true);
		smp_mb(); /* before it reads the bytes again */
		if (!has_bytes(quota, bytes))
			return quota;
	}
	return NULL;
}

/**
 * kwq_quota_tell() - wake all who wait for bytes of a quota or of those above it
 * @quota: the quota
 *
 * Context: process.
 */
void kwq_quota_tell(struct kwq_quota *quota)
{
	for (; quota; quota = quota->parent)
		tell_waiters(quota);
}

/* Tells the pollers of a queue that bytes came back. The next refusal lets it join again. */
int kwq_quota_tell_pollers(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	struct kwq_keyed *keyed = container_of(entry, struct kwq_keyed, in_quota);

	list_del_init(&entry->entry);
	__wake_up(&keyed->of_queue.pollers, TASK_NORMAL, 0, key);
	return 0;
}

/**
 * kwq_quota_unwatch() - undo kwq_quota_watch()
 * @keyed: the queue; its lock held, or nobody else uses it
 */
void kwq_quota_unwatch(struct kwq_keyed *keyed)
{
	struct kwq_quota *quota = keyed->in_quota.private;
	unsigned long flags;

	if (!quota)
		return;
	spin_lock_irqsave(&quota->room.lock, flags);
	list_del_init(&keyed->in_quota.entry);
	spin_unlock_irqrestore(&quota->room.lock, flags);
	keyed->in_quota.private = NULL;
}

/* Joins those that wait in a quota. */
static void watch(struct kwq_keyed *keyed, struct kwq_quota *quota)
{
	unsigned long flags;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	if (keyed->in_quota.private != quota)
		kwq_quota_unwatch(keyed);
	keyed->in_quota.private = quota;
	spin_lock(&quota->room.lock);
	if (list_empty(&keyed->in_quota.entry))
		__add_wait_queue_entry_tail(&quota->room, &keyed->in_quota);
	spin_unlock(&quota->room.lock);
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
}

/**
 * kwq_quota_watch() - let a queue tell its pollers once refused bytes come back (Q19)
 * @keyed: the queue
 * @bytes: number of bytes
 *
 * The queue waits in the quota, and not its pollers, because a poll by aio has only one wait queue.
 *
 * Context: process.
 * Return: true if its pollers will be told; false if no quota refuses the bytes any more.
 */
bool kwq_quota_watch(struct kwq_keyed *keyed, u64 bytes)
{
	struct kwq_quota *quota, *before = NULL;

	while ((quota = kwq_quota_refuser(keyed->quota, bytes)) && quota != before) {
		watch(keyed, quota);
		before = quota;
	}
	return quota;
}

/**
 * kwq_quota_is_short() - is little left of a quota
 * @quota: that of the owner of a queue
 *
 * The machine's quota does not matter, because others may have used it up.
 *
 * Context: any.
 * Return: true if this quota or one above it has less than a quarter of its bytes left.
 */
bool kwq_quota_is_short(const struct kwq_quota *quota)
{
	for (; quota->parent; quota = quota->parent)
		if (!has_bytes(quota, limit_of(quota) / 4))
			return true;
	return false;
}

/**
 * kwq_quota_is_wanted() - does anybody wait for bytes of a quota
 * @quota: that of the owner of a queue
 *
 * The machine's quota does not matter, as for kwq_quota_is_short().
 *
 * Context: any.
 * Return: true if this quota or one above it has refused bytes since it last got some back.
 */
bool kwq_quota_is_wanted(const struct kwq_quota *quota)
{
	for (; quota->parent; quota = quota->parent)
		if (READ_ONCE(quota->is_wanted))
			return true;
	return false;
}

/**
 * kwq_quota_missing() - how many bytes would have to come back before a charge
 * @quota: the quota to charge
 * @bytes: number of bytes to charge
 *
 * Context: any.
 * Return: the number; 0 if none are missing now; U64_MAX if the machine's quota refuses.
 */
u64 kwq_quota_missing(const struct kwq_quota *quota, u64 bytes)
{
	u64 missing = 0, wanted;

	for (; quota->parent; quota = quota->parent) {
		wanted = atomic64_read(&quota->bytes) + bytes;
		missing = max(missing, wanted - min(wanted, limit_of(quota)));
	}
	return has_bytes(quota, bytes) ? missing : U64_MAX;
}

static u64 bytes_of(const struct kwq_quota *quota)
{
	return quota ? atomic64_read(&quota->bytes) : 0;
}

static u32 queues_of(const struct kwq_quota *quota)
{
	return quota ? quota->nr_queues : 0;
}

/**
 * kwq_quota_read() - report the caller's quota
 * @info: the limits, and the caller's queues and bytes, are filled in
 *
 * Context: process; may sleep.
 */
void kwq_quota_read(struct kwq_info *info)
{
	bool exempt = kwq_quota_kind_for(KWQ_QUOTA_QUEUES) == KWQ_QUOTA_EXEMPT;
	const struct user_namespace *ns = current_user_ns();
	const struct kwq_quota *quota;
	kuid_t user = current_fsuid();
	enum kwq_quota_kind kind;
	u64 bytes, left = U64_MAX;
	u32 queues, queues_left = U32_MAX;

	info->max_queues = READ_ONCE(kwq_max_queues);
	info->max_user_bytes = READ_ONCE(kwq_max_user_bytes);
	info->max_total_bytes = READ_ONCE(kwq_max_total_bytes);
	info->user_bytes = 0;
	info->user_queues = 0;
	guard(mutex)(&quota_lock);
	for (kind = 0; kind < KWQ_QUOTA_KINDS; kind++) {
		quota = find_quota(ns, user, kind);
		info->user_bytes += bytes_of(quota);
		info->user_queues += queues_of(quota);
	}
	for (; ns; user = ns->owner, ns = ns->parent) {
		quota = find_quota(ns, user, KWQ_QUOTA_QUEUES);
		bytes = bytes_of(quota);
		queues = queues_of(quota);
		left = min(left, info->max_user_bytes - min(bytes, info->max_user_bytes));
		queues_left = min(queues_left, info->max_queues - min(queues, info->max_queues));
	}
	bytes = bytes_of(&machines[KWQ_QUOTA_QUEUES]);
	left = min(left, info->max_total_bytes - min(bytes, info->max_total_bytes));
	info->user_bytes_left = exempt ? U64_MAX : left;
	info->user_queues_left = exempt ? U32_MAX : queues_left;
}

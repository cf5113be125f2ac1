// SPDX-License-Identifier: GPL-2.0-only
/*
 * A queue of keys: what can be done with a key, and the queue's life. Each operation
 * finds the key's item, works on it and settles it; its caller has hashed the key,
 * holds the lock, and calls kwq_keyed_unlock() after the last of them.
 */
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>
#include <kunit/visibility.h>
#include "compat.h"
#include "keyed.h"

/* A queue with no more items than this is freed by whoever drops its last reference. */
#define FREED_AT_ONCE	1024

/*
 * Its workers free large queues, so that nobody else is held up: neither a process that
 * ends, nor the end of a net namespace, which all others wait for. There are few workers,
 * so that somebody with many queues does not get all processors.
 */
static struct workqueue_struct *elsewhere;

/**
 * kwq_keyed_register() - get ready to free queues
 *
 * Return: 0 or -ENOMEM.
 */
int __init kwq_keyed_register(void)
{
	elsewhere = alloc_workqueue("kwq_free", WQ_UNBOUND, 4);
	return elsewhere ? 0 : -ENOMEM;
}

/**
 * kwq_keyed_unregister() - the last reference to a queue is gone
 *
 * Waits until all queues are freed. So a queue that is being freed need not hold the
 * module. Nobody can reach a queue by now, and no timer queues more work for one that ends.
 *
 * Context: process; sleeps.
 */
void kwq_keyed_unregister(void)
{
	destroy_workqueue(elsewhere);
}

static const u8 *key_of(const struct kwq_item *item, size_t *len)
{
	const struct kwq_keyed_item *ki =
		container_of_const(item, struct kwq_keyed_item, item);

	*len = ki->key_len;
	return ki->key;
}

static void free_keyed(struct kwq_keyed *keyed)
{
	if (*keyed->name)
		kfree(keyed->name);
	kfree(keyed);
}

/* Nobody else is left. */
static void destroy(struct kwq_keyed *keyed)
{
	kwq_quota_end_telling(keyed);
	/* The timer first: it makes items ready. */
	kwq_queue_destroy(&keyed->queue);
	kwq_keyed_destroy_items(keyed);
	/* Only now: whoever finds room afterwards is to find the memory, too. */
	kwq_quota_give_back(keyed, keyed->room + keyed->own_bytes);
	kwq_quota_end(keyed);
	free_keyed(keyed);
}

VISIBLE_IF_KUNIT void kwq_keyed_free_elsewhere(struct kwq_keyed *keyed)
{
	KUNIT_STATIC_STUB_REDIRECT(kwq_keyed_free_elsewhere, keyed);
	queue_work(elsewhere, &keyed->free);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_free_elsewhere);

/* The queue's other work has no reference. It gives up early, and is waited for. */
static void free_queue(struct work_struct *work)
{
	struct kwq_keyed *keyed = container_of(work, struct kwq_keyed, free);

	cancel_work_sync(&keyed->work);
	destroy(keyed);
}

/* From now on nobody queues the queue's other work. */
static void begin_end(struct kwq_keyed *keyed)
{
	unsigned long flags;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	WRITE_ONCE(keyed->ending, true);
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
	/* The queue's name is gone, so these may take its place. */
	keyed->end_number = 0;
	INIT_WORK(&keyed->free, free_queue);
}

static void free_elsewhere(struct kwq_keyed *keyed)
{
	kwq_quota_begin_end(keyed);
	kwq_keyed_free_elsewhere(keyed);
}

static void end_queue_elsewhere(struct kref *ref)
{
	struct kwq_keyed *keyed = container_of(ref, struct kwq_keyed, ref);

	begin_end(keyed);
	free_elsewhere(keyed);
}

/* Is a worker busy with the queue, or about to be? From begin_end() on the answer holds. */
VISIBLE_IF_KUNIT bool kwq_keyed_is_worked_on(struct kwq_keyed *keyed)
{
	KUNIT_STATIC_STUB_REDIRECT(kwq_keyed_is_worked_on, keyed);
	return work_busy(&keyed->work);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_is_worked_on);

/* If a worker is busy with the queue, another worker waits for it. */
static void end_queue(struct kref *ref)
{
	struct kwq_keyed *keyed = container_of(ref, struct kwq_keyed, ref);

	begin_end(keyed);
	if (keyed->nr_items > FREED_AT_ONCE || kwq_keyed_is_worked_on(keyed))
		free_elsewhere(keyed);
	else
		destroy(keyed);
}

static void work_elsewhere(struct work_struct *work);

static int try_to_charge(struct kwq_keyed *keyed)
{
	struct kwq_quota *quota = kwq_quota_get(current_user_ns(), keyed->owner,
						keyed->exempt);

	if (IS_ERR(quota))
		return PTR_ERR(quota);
	keyed->quota = quota;
	/* The queue has no wait queue yet that could be told of room. */
	if (kwq_quota_try(keyed, keyed->own_bytes))
		return 0;
	kwq_quota_put(quota, keyed->exempt);
	return -EDQUOT;
}

/*
 * Counts the queue itself. A user who has closed a large queue may create another:
 * as long as a worker has not freed the first one it still counts, so wait for that.
 * Queues that are closed from now on are not waited for, so the wait has an end.
 *
 * No end is missed: it is known before each try which ends there have been, and whether
 * there are more to come. If a queue ends after the try has failed, the wait is over at
 * once.
 */
static int charge(struct kwq_keyed *keyed)
{
	struct kwq_quota_ends ends;
	int err = try_to_charge(keyed);
	bool more;

	if (err != -EDQUOT)
		return err;
	kwq_quota_begin_wait(&ends);
	do {
		more = kwq_quota_expect_end(&ends, current_user_ns(), keyed->owner);
		err = try_to_charge(keyed);
		if (err != -EDQUOT || !more)
			break;
		err = kwq_quota_wait_end(&ends);
	} while (!err);
	return err;
}

/**
 * kwq_keyed_create() - make a queue of keys
 * @name: its name, checked by kwq_names_check(); empty for none
 * @clock: what its times are measured on
 * @limits: how much it may hold
 *
 * The caller owns it: its quota is charged and the first reference is its.
 *
 * Context: process; may sleep.
 * Return: the queue; ERR_PTR of -ENOMEM, -EDQUOT or, after a signal, -ERESTARTSYS.
 */
struct kwq_keyed *kwq_keyed_create(const char *name, enum kwq_clock clock,
				   const struct kwq_limits *limits)
{
	struct kwq_keyed *keyed;
	int err;

	keyed = kzalloc(sizeof(*keyed), GFP_KERNEL_ACCOUNT);
	if (!keyed)
		return ERR_PTR(-ENOMEM);
	/* Not in the queue: its size is just below that of an allocation. */
	keyed->name = *name ? kstrdup(name, GFP_KERNEL_ACCOUNT) : "";
	if (!keyed->name) {
		kfree(keyed);
		return ERR_PTR(-ENOMEM);
	}
	keyed->limits = *limits;
	keyed->owner = current_fsuid();
	keyed->group = current_fsgid();
	/* To ask is no attempt to use it: most have not, and need not. */
	keyed->exempt = ns_capable_noaudit(&init_user_ns, CAP_SYS_RESOURCE);
	INIT_LIST_HEAD(&keyed->refused);
	keyed->own_bytes = kwq_keyed_own_bytes(name);
	err = charge(keyed);
	if (err)
		goto free_keyed;
	err = kwq_keyed_init_items(keyed);
	if (err)
		goto give_back;
	kref_init(&keyed->ref);
	INIT_WORK(&keyed->work, work_elsewhere);
	RB_CLEAR_NODE(&keyed->by_name);
	kwq_queue_init(&keyed->queue, keyed->name, clock);
	keyed->queue.key_of = key_of;
	kwq_lease_init(keyed);
	return keyed;

give_back:
	kwq_quota_give_back(keyed, keyed->own_bytes);
	kwq_quota_put(keyed->quota, keyed->exempt);
free_keyed:
	free_keyed(keyed);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_create);

/**
 * kwq_keyed_configure() - limit retries
 * @keyed: the queue
 * @config: how; NULL for the default
 *
 * Context: process; may sleep.
 * Return: as kwq_configure().
 */
int kwq_keyed_configure(struct kwq_keyed *keyed, const struct kwq_limiter_config *config)
{
	int err = kwq_configure(&keyed->queue, config);

	if (!err)
		kwq_keyed_count_limiters(keyed);
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_configure);

/**
 * kwq_keyed_put() - drop a reference
 * @keyed: the queue; with the last reference its items go too, either now or, if they
 *	are many, soon
 *
 * Context: process; may sleep.
 */
void kwq_keyed_put(struct kwq_keyed *keyed)
{
	kref_put(&keyed->ref, end_queue);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_put);

/**
 * kwq_keyed_put_elsewhere() - drop a reference, for callers that cannot wait
 * @keyed: the queue; after the last reference it is freed by a worker
 *
 * Context: any that may not be interrupted by the queue's timer.
 */
void kwq_keyed_put_elsewhere(struct kwq_keyed *keyed)
{
	kref_put(&keyed->ref, end_queue_elsewhere);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_put_elsewhere);

/* Adds to a key that has no item: makes one. */
static int add_new(struct kwq_keyed *keyed, const struct kwq_key *key,
		   const struct kwq_add_options *options, ktime_t now,
		   struct kwq_stock *stock)
{
	struct kwq_keyed_item *ki;
	int ret;

	keyed->expects_new = true;
	if (options->flags & KWQ_ADD_KICK)
		return -ENOENT;
	/* Also if it is full, too: a queue that is shut down says so. */
	if (keyed->queue.core.shut_down)
		return -ESHUTDOWN;
	ki = kwq_keyed_insert(keyed, key, stock);
	if (IS_ERR(ki))
		return PTR_ERR(ki);
	ret = kwq_add_locked(&keyed->queue, &ki->item, options, now);
	kwq_keyed_settle(keyed, ki, now);
	return ret;
}

/**
 * kwq_keyed_add_locked() - add a key
 * @keyed: the queue; its lock held
 * @key: the key, with its hash
 * @options: how; checked by kwq_check_add()
 * @now: the time it is
 * @stock: what its item is made of if it has none
 *
 * Return: as kwq_add_with(), and with nothing changed -EAGAIN (for kwq_stock_fill()
 * and kwq_keyed_provide()), -ENOSPC or -EDQUOT.
 */
int kwq_keyed_add_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
			 const struct kwq_add_options *options, ktime_t now,
			 struct kwq_stock *stock)
{
	struct kwq_keyed_item *ki = kwq_keyed_find(keyed, key);
	int ret;

	if (!ki)
		return add_new(keyed, key, options, now, stock);
	keyed->expects_new = false;
	ret = kwq_add_locked(&keyed->queue, &ki->item, options, now);
	kwq_keyed_settle(keyed, ki, now);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_add_locked);

/**
 * kwq_keyed_remove_locked() - take a key out (Q11)
 * @keyed: the queue; its lock held
 * @key: the key, with its hash
 * @flags: KWQ_REMOVE_* bits
 * @now: the time it is
 *
 * Return: what it was, as KWQ_WAS_* bits; -ENOENT if the queue has no such key.
 */
int kwq_keyed_remove_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
			    u32 flags, ktime_t now)
{
	struct kwq_keyed_item *ki = kwq_keyed_find(keyed, key);
	int ret;

	if (!ki)
		return -ENOENT;
	ret = kwq_remove_locked(&keyed->queue, &ki->item, flags);
	kwq_keyed_settle(keyed, ki, now);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_remove_locked);

/* Counts have 32 bits, results one less. */
static int count_result(u32 count)
{
	return min_t(u32, count, INT_MAX);
}

/**
 * kwq_keyed_forget_locked() - begin a key's requeues again at 0 (L8)
 * @keyed: the queue; its lock held
 * @key: the key, with its hash
 * @now: the time it is
 *
 * Return: how many they were, up to INT_MAX; 0 if the queue has no such key.
 */
int kwq_keyed_forget_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
			    ktime_t now)
{
	struct kwq_keyed_item *ki = kwq_keyed_find(keyed, key);
	int ret;

	if (!ki)
		return 0;
	ret = count_result(kwq_core_forget(&keyed->queue.core, &ki->item, now));
	kwq_keyed_settle(keyed, ki, now);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_forget_locked);

/**
 * kwq_keyed_num_requeues_locked() - how often a key was rate-limited (L9)
 * @keyed: the queue; its lock held
 * @key: the key, with its hash
 * @now: the time it is
 *
 * Return: the number, up to INT_MAX; 0 if the queue has no such key.
 */
int kwq_keyed_num_requeues_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
				  ktime_t now)
{
	struct kwq_keyed_item *ki = kwq_keyed_find(keyed, key);

	if (!ki)
		return 0;
	return count_result(kwq_core_num_requeues(&keyed->queue.core, &ki->item, now));
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_num_requeues_locked);

/**
 * kwq_keyed_advance() - move a manual clock on
 * @keyed: the queue
 * @time: by so many ns, or
 * @to: to that time
 *
 * Context: process; may sleep.
 * Return: 0; -EINTR if a fatal signal came; with nothing changed -EOPNOTSUPP (a real
 * clock), -EPERM (a named queue of somebody else's), -EINVAL (back).
 */
int kwq_keyed_advance(struct kwq_keyed *keyed, u64 time, bool to)
{
	struct kwq_queue *queue = &keyed->queue;
	ktime_t now;

	if (queue->clock != KWQ_CLOCK_MANUAL)
		return -EOPNOTSUPP;
	if (*keyed->name && !uid_eq(current_fsuid(), keyed->owner))
		return -EPERM;
	now = min_t(u64, time, KTIME_MAX);
	if (!to)
		now = kwq_begin_advance_by(queue, time);
	else if (now < kwq_queue_now(queue))
		return -EINVAL;
	/* Millions may be due, and at the end of time what is taken is due again. */
	while (kwq_advance_some(queue, now)) {
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_advance);

static void settle_dropped(struct kwq_queue *queue, struct kwq_item *item)
{
	/* No time: after a shut down nothing is remembered. */
	kwq_keyed_settle(container_of(queue, struct kwq_keyed, queue),
			 kwq_keyed_item_of(item), 0);
}

static bool drop_some(struct kwq_keyed *keyed)
{
	unsigned long flags;
	bool more;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	more = kwq_drop_locked(&keyed->queue, settle_dropped);
	kwq_keyed_unlock(keyed, flags);
	return more;
}

VISIBLE_IF_KUNIT void kwq_keyed_drop_elsewhere(struct kwq_keyed *keyed)
{
	KUNIT_STATIC_STUB_REDIRECT(kwq_keyed_drop_elsewhere, keyed);
	WRITE_ONCE(keyed->drops, true);
	queue_work(elsewhere, &keyed->work);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_drop_elsewhere);

/**
 * kwq_keyed_free_gone_elsewhere() - have a worker free the items that ended in this hold
 * @keyed: the queue; its lock held
 *
 * For the queue's timer, which cannot free them itself. The end of a queue frees them
 * anyway, so a queue that ends needs no worker for that.
 *
 * Context: any.
 */
void kwq_keyed_free_gone_elsewhere(struct kwq_keyed *keyed)
{
	lockdep_assert_held(&keyed->queue.lock);
	/* If it is pending already, it takes the lock after this and sees them. */
	if (!keyed->ending)
		queue_work(elsewhere, &keyed->work);
}

/*
 * Q10: what will never be handed out. After a SIGKILL the rest is dropped elsewhere, so
 * that the caller's end does not take as long as the queue is large (Q9).
 */
static void drop_all_keys(struct kwq_keyed *keyed)
{
	while (drop_some(keyed) || kwq_keyed_drop_remembered(keyed)) {
		if (fatal_signal_pending(current)) {
			kwq_keyed_drop_elsewhere(keyed);
			return;
		}
		cond_resched();
	}
}

/* The end of the queue frees what is left. No signal comes to a worker. */
static void drop_rest(struct kwq_keyed *keyed)
{
	while (!READ_ONCE(keyed->ending) &&
	       (drop_some(keyed) || kwq_keyed_drop_remembered(keyed)))
		cond_resched();
}

static void free_gone(struct kwq_keyed *keyed)
{
	unsigned long flags;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	kwq_keyed_unlock(keyed, flags);
}

/* What a timer or a killed call leaves to a worker. */
static void work_elsewhere(struct work_struct *work)
{
	struct kwq_keyed *keyed = container_of(work, struct kwq_keyed, work);

	free_gone(keyed);
	if (READ_ONCE(keyed->drops))
		drop_rest(keyed);
}

/**
 * kwq_keyed_shut_down() - refuse adds, drop what is waiting, wake everyone (Q8)
 * @keyed: the queue
 *
 * Context: process; may sleep.
 */
void kwq_keyed_shut_down(struct kwq_keyed *keyed)
{
	kwq_begin_shut_down(&keyed->queue, false, true);
	drop_all_keys(keyed);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_shut_down);

/**
 * kwq_keyed_drain() - shut down, and wait until all is done (Q9)
 * @keyed: the queue
 * @deadline: until when, on the queue's clock; KTIME_MAX for ever
 * @since: what an earlier call said in @shut_downs, to go on with its wait; or 0
 * @shut_downs: out: for a call that goes on with this wait; never 0
 *
 * A shut down that came after the earlier call began ends this one's wait as well.
 *
 * Context: process; sleeps.
 * Return: as kwq_wait_drained().
 */
int kwq_keyed_drain(struct kwq_keyed *keyed, ktime_t deadline, u64 since, u64 *shut_downs)
{
	u64 seen = kwq_begin_shut_down(&keyed->queue, true, true);

	if (since)
		seen = since - 1;
	*shut_downs = seen + 1;
	drop_all_keys(keyed);
	return kwq_wait_drained(&keyed->queue, seen, deadline);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_keyed_drain);

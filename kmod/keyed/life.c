// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of a queue of keys: it is created, configured, shut down and freed.
 *
 * The last reference releases a queue. It is then retired: it has left the tree of names, and
 * no more work is queued for it. At last it is freed, by the same task or by a worker.
 */
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>
#include <kunit/visibility.h>
#include "compat.h"
#include "core/limiter.h"
#include "hold.h"

/* A queue with at most this many items is freed by the task that drops its last reference. */
#define FREED_AT_ONCE	1024

/*
 * Workers that free large queues, so that neither the exit of a process nor the end of a
 * net namespace has to wait. Net namespaces end one after the other, so one that takes long
 * delays all others. The number of workers is small, so that a user with many queues does not
 * occupy all processors.
 */
VISIBLE_IF_KUNIT struct workqueue_struct *kwq_free_wq;

/**
 * kwq_keyed_register() - start the workers that free queues
 *
 * Return: 0 or -ENOMEM.
 */
int __init kwq_keyed_register(void)
{
	kwq_free_wq = alloc_workqueue("kwq_free", WQ_UNBOUND, 4);
	return kwq_free_wq ? 0 : -ENOMEM;
}

/**
 * kwq_keyed_unregister() - wait until all queues are freed
 *
 * The last reference to each queue is gone. The module waits here, so a queue that is being
 * freed need not hold the module. Nobody can reach a queue any more, and no timer queues
 * more work for one.
 *
 * Context: process; sleeps.
 */
void kwq_keyed_unregister(void)
{
	destroy_workqueue(kwq_free_wq);
}

static const u8 *key_of(const struct kwq_item *item, size_t *len)
{
	const struct kwq_keyed_item *ki =
		container_of_const(item, struct kwq_keyed_item, item);

	*len = ki->key_len;
	return ki->key;
}

static void free_memory(struct kwq_keyed *keyed)
{
	if (*keyed->queue.name)
		kfree(keyed->queue.name);
	kfree(keyed);
}

/* Nobody else uses the queue. */
static void free_queue(struct kwq_keyed *keyed)
{
	kwq_quota_unwatch(keyed);
	/* First stop the timer, which makes items ready. */
	kwq_queue_destroy(&keyed->queue);
	kwq_keyed_destroy_items(keyed);
	kwq_board_free(keyed->board);
	/* Last, so that a task that finds room in the quota finds the memory, too. */
	kwq_quota_uncharge(keyed->quota, keyed->nr_bytes + keyed->gone_bytes + keyed->own_bytes);
	kwq_quota_put(keyed->quota);
	free_memory(keyed);
}

VISIBLE_IF_KUNIT void kwq_keyed_free_async(struct kwq_keyed *keyed)
{
	KUNIT_STATIC_STUB_REDIRECT(kwq_keyed_free_async, keyed);
	queue_work(kwq_free_wq, &keyed->free);
}

/* The queue's other work has no reference. It stops early once @ending is set, so wait for it. */
static void free_work_fn(struct work_struct *work)
{
	struct kwq_keyed *keyed = container_of(work, struct kwq_keyed, free);

	cancel_work_sync(&keyed->work);
	free_queue(keyed);
}

/*
 * From now on the queue's other work is not queued any more. The queue and its outbox are none of
 * their users' any more, but their bytes count until they are free.
 */
static void retire_queue(struct kwq_keyed *keyed)
{
	unsigned long flags;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	WRITE_ONCE(keyed->ending, true);
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
	kwq_quota_remove_queue(keyed->quota);
	if (keyed->outbox)
		kwq_keyed_put_async(keyed->outbox);
	/* The queue has left the tree of names, so this may take the place of @by_name. */
	INIT_WORK(&keyed->free, free_work_fn);
}

static void release_queue_async(struct kref *ref)
{
	struct kwq_keyed *keyed = container_of(ref, struct kwq_keyed, ref);

	retire_queue(keyed);
	kwq_keyed_free_async(keyed);
}

/* Is a worker running for the queue, or about to? After retire_queue() the answer is final. */
VISIBLE_IF_KUNIT bool kwq_keyed_is_worked_on(struct kwq_keyed *keyed)
{
	KUNIT_STATIC_STUB_REDIRECT(kwq_keyed_is_worked_on, keyed);
	return work_busy(&keyed->work);
}

/* If a worker is running for the queue, another worker waits for it. */
static void release_queue(struct kref *ref)
{
	struct kwq_keyed *keyed = container_of(ref, struct kwq_keyed, ref);

	retire_queue(keyed);
	if (keyed->nr_items > FREED_AT_ONCE || kwq_keyed_is_worked_on(keyed))
		kwq_keyed_free_async(keyed);
	else
		free_queue(keyed);
}

static void do_left_work(struct work_struct *work);

/**
 * kwq_keyed_work_async() - let a worker free what was left to free
 * @keyed: the queue, not ending; its lock held
 */
void kwq_keyed_work_async(struct kwq_keyed *keyed)
{
	lockdep_assert_held(&keyed->queue.lock);
	queue_work(kwq_free_wq, &keyed->work);
}

static int charge_queue(struct kwq_keyed *keyed)
{
	struct kwq_quota *quota = kwq_quota_add_queue(current_user_ns(), keyed->owner,
						      kwq_quota_kind_for(KWQ_QUOTA_QUEUES));

	if (IS_ERR(quota))
		return PTR_ERR(quota);
	keyed->quota = quota;
	if (kwq_quota_charge(keyed->quota, keyed->own_bytes))
		return 0;
	kwq_quota_remove_queue(quota);
	kwq_quota_put(quota);
	return -EDQUOT;
}

/*
 * Called under the queue's lock, so it must not free anything. An item
 * that is taken back stays in the table, ready or dead. But after a shut down, an item that
 * was lost too often is removed (L12). A worker frees it. It counts until
 * then, so this must not depend on another call (O9). A queue that ends frees its items
 * anyway.
 */
static bool end_leases(struct kwq_queue *queue, ktime_t now)
{
	struct kwq_keyed *keyed = container_of(queue, struct kwq_keyed, queue);
	bool more = kwq_handouts_expire(keyed, now);

	/* A pending worker takes the lock after this hold and sees what is left to do. */
	if ((kwq_keyed_has_gone(keyed) || kwq_keyed_may_tell_adders(keyed)) && !keyed->ending)
		kwq_keyed_work_async(keyed);
	return more;
}

static void note_waited(struct kwq_queue *queue, struct kwq_item *item)
{
	kwq_note_change(container_of(queue, struct kwq_keyed, queue), kwq_keyed_item_of(item));
}

static const struct kwq_key_ops key_ops = {
	.key_of = key_of,
	.end_leases = end_leases,
};

static const struct kwq_key_ops key_ops_with_changes = {
	.key_of = key_of,
	.end_leases = end_leases,
	.waited = note_waited,
};

/**
 * kwq_keyed_create() - create a queue of keys
 * @name: name, checked by kwq_names_check(); empty for none
 * @clock: the clock of all its times
 * @limits: limits of the queue
 *
 * The caller's quota is charged. The caller gets the first reference.
 *
 * Context: process; may sleep.
 * Return: the queue, or an ERR_PTR(): -ENOMEM or -EDQUOT.
 */
struct kwq_keyed *kwq_keyed_create(const char *name, enum kwq_clock clock,
				   const struct kwq_limits *limits)
{
	struct kwq_keyed *keyed;
	int err;

	keyed = kzalloc(sizeof(*keyed), GFP_KERNEL_ACCOUNT);
	if (!keyed)
		return ERR_PTR(-ENOMEM);
	/* Allocated apart: the queue just fits into one allocation. */
	keyed->queue.name = *name ? kstrdup(name, GFP_KERNEL_ACCOUNT) : "";
	if (!keyed->queue.name) {
		kfree(keyed);
		return ERR_PTR(-ENOMEM);
	}
	keyed->limits = *limits;
	keyed->owner = current_fsuid();
	keyed->group = current_fsgid();
	keyed->own_bytes = kwq_keyed_own_bytes(name, limits);
	err = charge_queue(keyed);
	if (err)
		goto free_keyed;
	err = kwq_keyed_init_items(keyed);
	if (err)
		goto give_back;
	kref_init(&keyed->ref);
	INIT_WORK(&keyed->work, do_left_work);
	RB_CLEAR_NODE(&keyed->by_name);
	static_assert(offsetof(struct kwq_keyed, queue) - offsetof(struct kwq_keyed, of_queue) ==
		      offsetof(struct kwq_large_queue, queue));
	kwq_large_queue_init(kwq_large_of(&keyed->queue), keyed->queue.name, clock);
	if (limits->no_durations)
		kwq_queue_measure_no_durations(&keyed->queue);
	keyed->of_queue.key_ops = limits->changes ? &key_ops_with_changes : &key_ops;
	INIT_LIST_HEAD(&keyed->leases);
	keyed->term = KTIME_MAX;
	err = kwq_configure(&keyed->queue, &kwq_client_go_limits) ?:
	      kwq_keyed_init_order(keyed) ?: kwq_keyed_init_changes(keyed);
	if (err)
		goto destroy_queue;
	return keyed;

destroy_queue:
	kwq_queue_destroy(&keyed->queue);
	kwq_keyed_destroy_items(keyed);

give_back:
	kwq_quota_uncharge(keyed->quota, keyed->own_bytes);
	kwq_quota_remove_queue(keyed->quota);
	kwq_quota_put(keyed->quota);
free_keyed:
	free_memory(keyed);
	return ERR_PTR(err);
}

/**
 * kwq_keyed_set_outbox() - let the adds of a queue go to another one
 * @keyed: the queue; nobody uses it yet
 * @outbox: the other one; @keyed takes a reference
 * @rights: KWQ_RIGHT_* bits. A request that @keyed passes on has these (U9)
 *
 * Return: 0; -EINVAL if they have different clocks, or if @outbox has an outbox itself.
 */
int kwq_keyed_set_outbox(struct kwq_keyed *keyed, struct kwq_keyed *outbox, u32 rights)
{
	if (outbox->outbox || outbox->queue.clock != keyed->queue.clock)
		return -EINVAL;
	kref_get(&outbox->ref);
	keyed->outbox = outbox;
	keyed->outbox_rights = rights;
	return 0;
}

/**
 * kwq_keyed_configure() - configure how a queue limits retries
 * @keyed: the queue
 * @config: the configuration; without limiters or NULL for client-go's (L7)
 *
 * Context: process; may sleep.
 * Return: as kwq_configure().
 */
int kwq_keyed_configure(struct kwq_keyed *keyed, const struct kwq_limiter_config *config)
{
	struct kwq_limiter_config own = {};
	int err;

	if (config)
		own = *config;
	err = kwq_limiter_config_check(&own);
	if (err)
		return err;
	if (!own.nr) {
		own.nr = kwq_client_go_limits.nr;
		memcpy(own.limiters, kwq_client_go_limits.limiters, sizeof(own.limiters));
	}
	err = kwq_configure(&keyed->queue, &own);
	if (err)
		return err;
	kwq_keyed_count_limiters(keyed);
	kwq_keyed_note_change(keyed);
	return 0;
}

/**
 * kwq_keyed_pause() - hand nothing out until a time (Q14)
 * @keyed: the queue
 * @until: the time, on the queue's clock; KTIME_MAX for ever; 0 to hand items out again
 */
void kwq_keyed_pause(struct kwq_keyed *keyed, ktime_t until)
{
	kwq_pause_until(&keyed->queue, until);
	kwq_keyed_note_change(keyed);
}

/**
 * kwq_keyed_put() - drop a reference
 * @keyed: the queue; with its last reference its items are freed, at once or, if there are
 *	many, by a worker
 *
 * Context: process; may sleep.
 */
void kwq_keyed_put(struct kwq_keyed *keyed)
{
	kref_put(&keyed->ref, release_queue);
}

/**
 * kwq_keyed_put_async() - drop a reference, and leave the freeing to a worker
 * @keyed: the queue; after its last reference a worker frees it
 *
 * Does not wait until the queue is freed.
 *
 * Context: process; may sleep on the quotas' mutex.
 */
void kwq_keyed_put_async(struct kwq_keyed *keyed)
{
	kref_put(&keyed->ref, release_queue_async);
}

static bool drop_some(struct kwq_keyed *keyed)
{
	struct kwq_item *item = NULL;
	unsigned long flags;
	int n;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	for (n = 0; n < KWQ_ITEMS_PER_HOLD; n++) {
		item = kwq_core_drop(&keyed->queue.core);
		if (!item)
			break;
		/* Needs no time: nothing is remembered after a shut down. */
		kwq_keyed_settle(keyed, kwq_keyed_item_of(item), 0);
	}
	kwq_keyed_unlock(keyed, flags);
	return item;
}

VISIBLE_IF_KUNIT void kwq_keyed_drop_async(struct kwq_keyed *keyed)
{
	KUNIT_STATIC_STUB_REDIRECT(kwq_keyed_drop_async, keyed);
	WRITE_ONCE(keyed->drops, true);
	queue_work(kwq_free_wq, &keyed->work);
}

static bool drop_more(struct kwq_keyed *keyed)
{
	return drop_some(keyed) || kwq_keyed_drop_remembered(keyed, U64_MAX);
}

/*
 * Q10: drops all items that will never be handed out. After a SIGKILL a worker drops the
 * rest, so that the exit of the caller does not depend on the queue's size (Q9).
 */
static void drop_all_keys(struct kwq_keyed *keyed)
{
	while (drop_more(keyed)) {
		if (fatal_signal_pending(current)) {
			kwq_keyed_drop_async(keyed);
			return;
		}
		cond_resched();
	}
}

/* Does the work that a timer or a killed call left. */
static void do_left_work(struct work_struct *work)
{
	struct kwq_keyed *keyed = container_of(work, struct kwq_keyed, work);
	unsigned long flags;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	kwq_keyed_unlock(keyed, flags);
	/* A worker gets no signals. The end of the queue frees the rest. */
	while (READ_ONCE(keyed->drops) && !READ_ONCE(keyed->ending) && drop_more(keyed))
		cond_resched();
}

/**
 * kwq_keyed_shut_down() - refuse adds, drop waiting times and dead items, wake everyone (Q8)
 * @keyed: the queue
 *
 * Context: process; may sleep.
 */
void kwq_keyed_shut_down(struct kwq_keyed *keyed)
{
	bool was_shut_down = kwq_shutting_down(&keyed->queue);

	kwq_keyed_close_board(keyed);
	kwq_begin_shut_down(&keyed->queue, false);
	if (!was_shut_down)
		kwq_keyed_end_away(keyed);
	kwq_keyed_note_change(keyed);
	drop_all_keys(keyed);
}

/**
 * kwq_keyed_drain() - shut down, and wait until all work is done (Q9)
 * @keyed: the queue
 * @deadline: when to stop waiting, on the queue's clock; KTIME_MAX for never
 * @since: 0, or the @shut_downs of an earlier call, to continue its wait
 * @shut_downs: out: value for a call that continues this wait; never 0
 *
 * A continued wait also ends by a shut down that came after the first call.
 *
 * Context: process; sleeps.
 * Return: as kwq_wait_drained().
 */
int kwq_keyed_drain(struct kwq_keyed *keyed, ktime_t deadline, u64 since, u64 *shut_downs)
{
	bool was_shut_down = kwq_shutting_down(&keyed->queue);
	u64 seen;

	kwq_keyed_close_board(keyed);
	seen = kwq_begin_shut_down(&keyed->queue, true);
	if (since)
		seen = since - 1;
	*shut_downs = seen + 1;
	if (!was_shut_down)
		kwq_keyed_end_away(keyed);
	kwq_keyed_note_change(keyed);
	drop_all_keys(keyed);
	return kwq_wait_drained(&keyed->queue, seen, deadline);
}

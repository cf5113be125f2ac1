// SPDX-License-Identifier: GPL-2.0-only
/*
 * A queue's initialisation, configuration and end; its length and its oldest dead item.
 */
#include <linux/atomic.h>
#include <linux/export.h>
#include <linux/kcov.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "core/limiter.h"
#include "pollers.h"
#include "queue.h"
#include "timer.h"
#include "workers.h"

static void init(struct kwq_queue *queue, enum kwq_form form, const char *name,
		 enum kwq_clock clock)
{
	kwq_core_init(&queue->core, form);
	spin_lock_init(&queue->lock);
	queue->woken = 0;
	queue->woken_ends = 0;
	queue->shut_downs = 0;
	kwq_holder_init(&queue->holder);
	queue->nr_getters = 0;
	queue->nr_drainers = 0;
	queue->wake_getters = 0;
	queue->wake_drainers = 0;
	queue->woken_phase = KWQ_RUNNING;
	queue->clock = clock;
	queue->stamps = clock;
	queue->wake_at = KTIME_MAX;
	queue->paused_until = 0;
	queue->armed = KTIME_MAX;
	queue->not_before = 0;
	queue->manual_now = 0;
	kwq_join_timer(queue);
	init_waitqueue_head(&queue->getters);
	INIT_LIST_HEAD(&queue->drainers);
	queue->name = name;
	queue->workers = NULL;
	queue->refs = NULL;
}

/**
 * kwq_queue_init() - initialise a small queue (K6)
 * @queue: the queue
 * @name: name for traces; must outlive the queue
 * @clock: the clock that all times of this queue are on
 *
 * Allocates nothing. See also DEFINE_KWQ_QUEUE().
 *
 * Context: any.
 */
void kwq_queue_init(struct kwq_queue *queue, const char *name,
		    enum kwq_clock clock)
{
	init(queue, KWQ_SMALL, name, clock);
}
EXPORT_SYMBOL_GPL(kwq_queue_init);

/**
 * kwq_large_queue_init() - initialise a large queue (K6)
 * @large: the queue; its @queue is the argument of all other functions
 * @name: as for kwq_queue_init()
 * @clock: as for kwq_queue_init()
 *
 * Context: any.
 */
void kwq_large_queue_init(struct kwq_large_queue *large, const char *name,
			  enum kwq_clock clock)
{
	struct kwq_queue_bulk *bulk = &large->of_queue;
	static atomic64_t last_id;

	/* kwq_bulk_of() finds @of_core by the place of the core. */
	static_assert(offsetof(struct kwq_large_queue, queue.core) -
		      offsetof(struct kwq_large_queue, of_core) ==
		      offsetof(struct kwq_large_core, core));
	init(&large->queue, KWQ_LARGE, name, clock);
	kwq_pollers_init(bulk);
	atomic64_set(&bulk->coalesced, 0);
	bulk->lease_end = KTIME_MAX;
	bulk->key_ops = NULL;
	prandom_seed_state(&bulk->manual_random, 0);
	bulk->id = atomic64_inc_return(&last_id);
	bulk->kcov_handle = kcov_common_handle();
}
EXPORT_SYMBOL_GPL(kwq_large_queue_init);

static int set_refs_locked(struct kwq_queue *queue, const struct kwq_ref_ops *refs)
{
	if (queue->refs || kwq_core_is_used(&queue->core))
		return -EBUSY;
	queue->refs = refs;
	return 0;
}

/**
 * kwq_queue_own_references() - let a queue own a reference to each item in use (K5)
 * @queue: the queue; none of its items is in use
 * @refs: the callbacks; must outlive the queue
 *
 * Call it once, before the first add. The comment at the top of this header says who owns
 * which reference when.
 *
 * Return: 0. With nothing changed: -EINVAL (a callback is missing), -EBUSY (an item is in
 * use, or the queue owns references already).
 */
int kwq_queue_own_references(struct kwq_queue *queue, const struct kwq_ref_ops *refs)
{
	unsigned long flags;
	int err;

	if (!refs->get || !refs->put)
		return -EINVAL;
	spin_lock_irqsave(&queue->lock, flags);
	err = set_refs_locked(queue, refs);
	spin_unlock_irqrestore(&queue->lock, flags);
	return err;
}
EXPORT_SYMBOL_GPL(kwq_queue_own_references);

static struct kwq_small_limiter *small_limiter_of(struct kwq_rate_limiter *limiter)
{
	return container_of(limiter, struct kwq_small_limiter, limiter);
}

static void free_limiter(struct kwq_queue *queue)
{
	struct kwq_rate_limiter *limiter = kwq_core_limiter(&queue->core);

	if (!limiter)
		return;
	kfree(kwq_rate_limiter_take_table(limiter));
	if (kwq_is_small(queue))
		kfree(small_limiter_of(limiter));
}

/**
 * kwq_queue_destroy() - destroy a queue
 * @queue: the queue
 *
 * A queue with a handler is cancelled first, as by kwq_cancel_all_sync(). Without a handler
 * the queue forgets its items. It does not touch them unless it owns references. Then all
 * items become idle, even those that were got and not finished, and it drops its references.
 *
 * The caller makes sure that no call on this queue is running or will follow. There is one
 * exception: the kwq_done() that ended the caller's drain may not have returned yet. Its put
 * may still follow (K5), and must not use the queue. All other puts have returned.
 *
 * Context: process; may sleep. The caller must not hold a lock that is taken to process items or
 * to drop their references.
 * Return: 0; -EDEADLK in any handler of this queue, with nothing changed.
 */
int kwq_queue_destroy(struct kwq_queue *queue)
{
	unsigned long flags;
	int err;

	if (queue->workers) {
		err = kwq_cancel_all_sync(queue);
		if (err)
			return err;
		kwq_stop_handler(queue);
	} else if (queue->refs) {
		kwq_drop_references(queue);
	}
	/*
	 * Taking the lock waits until the last user has released it. After the shut down, and
	 * without a timed pause, nothing arms the timer.
	 */
	spin_lock_irqsave(&queue->lock, flags);
	queue->paused_until = 0;
	kwq_core_shut_down(&queue->core);
	kwq_unlock(queue, flags);
	kwq_leave_timer(queue);
	free_limiter(queue);
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_queue_destroy);

/**
 * kwq_first_dead() - the item that has been dead longest (L11)
 * @queue: the queue
 *
 * The item stays dead until an add revives it, or a remove, a cancel or a shut down ends
 * that. A rate-limited add does not revive it.
 *
 * Return: the item; NULL if none is dead. The caller makes sure that nobody frees the item
 * while the caller uses it.
 */
struct kwq_item *kwq_first_dead(struct kwq_queue *queue)
{
	struct kwq_item *item;
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	item = kwq_core_next_dead(&queue->core, 0);
	spin_unlock_irqrestore(&queue->lock, flags);
	return item;
}
EXPORT_SYMBOL_GPL(kwq_first_dead);

static int list_pauses_of(const struct kwq_limiter_config *config,
			  struct kwq_pauses *pauses)
{
	u32 nr = kwq_limiter_nr_pauses(config);
	u64 *table = NULL;

	if (nr) {
		table = kmalloc_array(nr, sizeof(*table), GFP_KERNEL_ACCOUNT);
		if (!table)
			return -ENOMEM;
	}
	kwq_limiter_list_pauses(config, pauses, table);
	return 0;
}

/**
 * kwq_configure() - configure how a queue limits retries
 * @queue: the queue
 * @config: the configuration; NULL for the default, with which every queue starts
 *
 * Computes the pauses of backoff limiters into a table without the lock. Adds only look
 * them up (O8). A small queue gets some 900 bytes for limiters of its own at the first call.
 *
 * Context: process; may sleep.
 * Return: 0. With nothing changed: -ENOMEM; -EINVAL, also for a @forget_after of a queue without
 * durations.
 */
int kwq_configure(struct kwq_queue *queue, const struct kwq_limiter_config *config)
{
	static const struct kwq_limiter_config standard;
	struct kwq_small_limiter *own = NULL;
	struct kwq_rate_limiter *limiter;
	struct kwq_pauses pauses;
	unsigned long flags;
	u64 *table;
	int err;

	might_sleep();
	if (!config)
		config = &standard;
	err = kwq_limiter_config_check(config);
	/* L10: without durations nobody knows when an item became idle. */
	if (config->forget_after && queue->stamps == KWQ_CLOCK_NONE)
		err = -EINVAL;
	if (!err)
		err = list_pauses_of(config, &pauses);
	if (err)
		return err;
	if (kwq_is_small(queue)) {
		own = kmalloc(sizeof(*own), GFP_KERNEL_ACCOUNT);
		if (!own) {
			kfree(pauses.table);
			return -ENOMEM;
		}
		prandom_seed_state(&own->random, 0);
	}
	spin_lock_irqsave(&queue->lock, flags);
	if (!kwq_core_limiter(&queue->core)) {
		kwq_core_own_limiter(&queue->core, &own->limiter);
		own = NULL;
	}
	limiter = kwq_core_limiter(&queue->core);
	table = kwq_rate_limiter_take_table(limiter);
	kwq_rate_limiter_configure(limiter, config, &pauses, kwq_now_locked(queue));
	kwq_unlock(queue, flags);
	kfree(table);
	kfree(own);
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_configure);

/**
 * kwq_read_config() - read how a queue limits retries
 * @queue: the queue
 * @config: filled in
 */
void kwq_read_config(struct kwq_queue *queue, struct kwq_limiter_config *config)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	*config = *kwq_core_limits(&queue->core);
	spin_unlock_irqrestore(&queue->lock, flags);
}
EXPORT_SYMBOL_GPL(kwq_read_config);

/**
 * kwq_len() - the number of ready items (Q7)
 * @queue: the queue
 *
 * Return: the number. Items that are only waiting or processing do not count.
 */
unsigned long kwq_len(struct kwq_queue *queue)
{
	unsigned long flags, nr;

	spin_lock_irqsave(&queue->lock, flags);
	nr = queue->core.nr_ready;
	spin_unlock_irqrestore(&queue->lock, flags);
	return nr;
}
EXPORT_SYMBOL_GPL(kwq_len);

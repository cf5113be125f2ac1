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
#include "queue.h"
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
	queue->woken_phase = KWQ_RUNNING;
	queue->clock = clock;
	queue->stamps = clock;
	queue->has_timer = false;
	queue->is_behind = false;
	queue->paused_until = 0;
	queue->manual_now = 0;
	init_waitqueue_head(&queue->getters);
	INIT_HLIST_HEAD(&queue->drainers);
	queue->name = name;
	queue->workers = NULL;
	queue->refs = NULL;
}

void kwq_queue_init(struct kwq_queue *queue, const char *name,
		    enum kwq_clock clock)
{
	init(queue, KWQ_SMALL, name, clock);
}
EXPORT_SYMBOL_GPL(kwq_queue_init);

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
	bulk->nr_getters = 0;
	init_waitqueue_head(&bulk->pollers);
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
	 * without a timed pause and leases, nothing starts the timer, not even the last turn.
	 */
	spin_lock_irqsave(&queue->lock, flags);
	queue->paused_until = 0;
	if (!kwq_is_small(queue))
		kwq_queue_bulk_of(queue)->lease_end = KTIME_MAX;
	kwq_core_shut_down(&queue->core);
	kwq_unlock(queue, flags);
	kwq_leave_timer(queue);
	free_limiter(queue);
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_queue_destroy);

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

void kwq_read_config(struct kwq_queue *queue, struct kwq_limiter_config *config)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	*config = *kwq_core_limits(&queue->core);
	spin_unlock_irqrestore(&queue->lock, flags);
}
EXPORT_SYMBOL_GPL(kwq_read_config);

unsigned long kwq_len(struct kwq_queue *queue)
{
	unsigned long flags, nr;

	spin_lock_irqsave(&queue->lock, flags);
	nr = queue->core.nr_ready;
	spin_unlock_irqrestore(&queue->lock, flags);
	return nr;
}
EXPORT_SYMBOL_GPL(kwq_len);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * A queue's initialisation, settings and end; the groups of its items; its length and its oldest
 * dead item.
 */
#include <linux/atomic.h>
#include <linux/export.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "core/limiter.h"
#include "queue.h"
#include "workers.h"

static void init(struct kwq_queue *queue, enum kwq_form form, const char *name,
		 enum kwq_clock clock)
{
	memset(queue, 0, sizeof(*queue));
	kwq_core_init(&queue->core, form);
	spin_lock_init(&queue->lock);
	queue->clock = clock;
	queue->stamps = clock;
	init_waitqueue_head(&queue->getters);
	queue->name = name;
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
	bulk->lease_end = KTIME_MAX;
	bulk->key_ops = NULL;
	bulk->id = atomic64_inc_return(&last_id);
}
EXPORT_SYMBOL_GPL(kwq_large_queue_init);

int kwq_queue_own_references(struct kwq_queue *queue, const struct kwq_ref_ops *refs)
{
	unsigned long flags;
	int err;

	if (!refs->get || !refs->put)
		return -EINVAL;
	spin_lock_irqsave(&queue->lock, flags);
	err = queue->refs || kwq_core_is_used(&queue->core) ? -EBUSY : 0;
	if (!err)
		queue->refs = refs;
	spin_unlock_irqrestore(&queue->lock, flags);
	return err;
}
EXPORT_SYMBOL_GPL(kwq_queue_own_references);

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
	kwq_lock(queue, &flags);
	queue->paused_until = 0;
	if (!kwq_is_small(queue))
		kwq_queue_bulk_of(queue)->lease_end = KTIME_MAX;
	kwq_end_posts_locked(queue);
	kwq_core_shut_down(&queue->core, true);
	kwq_unlock(queue, flags);
	kwq_leave_timer(queue);
	kfree(queue->core.limiter);
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_queue_destroy);

int kwq_queue_group_items(struct kwq_queue *queue, u32 limit)
{
	unsigned long flags;
	int err;

	if (kwq_is_small(queue))
		return -EINVAL;
	kwq_lock(queue, &flags);
	err = kwq_core_is_grouped(&queue->core) || kwq_core_is_used(&queue->core) ? -EBUSY : 0;
	if (!err)
		kwq_core_group_items(&queue->core, limit);
	kwq_unlock(queue, flags);
	return err;
}
EXPORT_SYMBOL_GPL(kwq_queue_group_items);

int kwq_set_group(struct kwq_queue *queue, struct kwq_item *item, struct kwq_group *group)
{
	unsigned long flags;

	if (!kwq_core_is_grouped(&queue->core))
		return -EINVAL;
	kwq_lock(queue, &flags);
	kwq_core_set_group(&queue->core, item, group);
	kwq_unlock(queue, flags);
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_set_group);

int kwq_queue_set_aging(struct kwq_queue *queue, u64 aging)
{
	unsigned long flags;

	if (kwq_is_small(queue) || queue->stamps == KWQ_CLOCK_NONE)
		return -EINVAL;
	kwq_lock(queue, &flags);
	kwq_core_set_aging(&queue->core, aging);
	kwq_unlock(queue, flags);
	return 0;
}
EXPORT_SYMBOL_GPL(kwq_queue_set_aging);

struct kwq_item *kwq_first_dead(struct kwq_queue *queue)
{
	struct kwq_item *item;
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	item = kwq_core_first_dead(&queue->core);
	spin_unlock_irqrestore(&queue->lock, flags);
	return item;
}
EXPORT_SYMBOL_GPL(kwq_first_dead);

int kwq_configure(struct kwq_queue *queue, const struct kwq_limiter_config *config)
{
	static const struct kwq_limiter_config standard;
	struct kwq_rate_limiter *limiter, *old;
	unsigned long flags;

	might_sleep();
	if (!config)
		config = &standard;
	/* L10: without durations nobody knows when an item became idle. */
	if (kwq_limiter_config_check(config) ||
	    (config->forget_after && queue->stamps == KWQ_CLOCK_NONE))
		return -EINVAL;
	limiter = kmalloc(kwq_rate_limiter_size(config), GFP_KERNEL_ACCOUNT);
	if (!limiter)
		return -ENOMEM;
	kwq_rate_limiter_init(limiter, config);
	kwq_lock(queue, &flags);
	old = queue->core.limiter;
	kwq_rate_limiter_replace(limiter, old, kwq_now_locked(queue));
	queue->core.limiter = limiter;
	kwq_unlock(queue, flags);
	kfree(old);
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

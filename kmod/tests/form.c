// SPDX-License-Identifier: GPL-2.0-only
#include <kunit/test.h>
#include <linux/kwq.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include "form.h"
#include "queue/queue.h"

enum kwq_form kwq_test_form;

int kwq_test_large(struct kunit_suite *suite)
{
	kwq_test_form = KWQ_LARGE;
	return 0;
}

int kwq_test_small(struct kunit_suite *suite)
{
	kwq_test_form = KWQ_SMALL;
	return 0;
}

/* The queue is among the members of KWQ_TEST_QUEUE, or from kwq_test_queue_alloc(). */
void kwq_test_queue_init(struct kwq_queue *queue, const char *name, enum kwq_clock clock)
{
	if (kwq_test_form == KWQ_SMALL)
		kwq_queue_init(queue, name, clock);
	else
		kwq_large_queue_init(kwq_large_of(queue), name, clock);
}

struct kwq_queue *kwq_test_queue_alloc(struct kunit *test)
{
	struct kwq_large_queue *large = kunit_kzalloc(test, sizeof(*large), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, large);
	return &large->queue;
}

unsigned long kwq_test_nr_waiting(struct kwq_queue *queue)
{
	const struct rb_node *node;
	unsigned long flags, nr = 0;

	if (!kwq_is_small(queue))
		return READ_ONCE(kwq_large_of(queue)->of_core.nr_waiting);
	spin_lock_irqsave(&queue->lock, flags);
	for (node = rb_first(&queue->core.by_time); node; node = rb_next(node))
		nr++;
	spin_unlock_irqrestore(&queue->lock, flags);
	return nr;
}

ktime_t kwq_test_next_time(struct kwq_queue *queue)
{
	unsigned long flags;
	ktime_t next;

	spin_lock_irqsave(&queue->lock, flags);
	next = kwq_next_time_locked(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
	return next;
}

bool kwq_test_is_armed(struct kwq_queue *queue)
{
	unsigned long flags;
	bool is_armed;

	/* Comes after a turn whose wake-ups have just begun. */
	spin_lock_irqsave(&queue->lock, flags);
	is_armed = queue->has_timer && hrtimer_is_queued(&queue->timer);
	spin_unlock_irqrestore(&queue->lock, flags);
	return is_armed;
}

int kwq_test_nr_drainers(struct kwq_queue *queue)
{
	const struct hlist_node *drainer;
	unsigned long flags;
	int nr = 0;

	spin_lock_irqsave(&queue->lock, flags);
	hlist_for_each(drainer, &queue->drainers)
		nr++;
	spin_unlock_irqrestore(&queue->lock, flags);
	return nr;
}

ktime_t kwq_test_due(struct kwq_queue *queue, const struct kwq_item *item)
{
	return kwq_core_due(&queue->core, item);
}

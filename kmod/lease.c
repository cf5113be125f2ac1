// SPDX-License-Identifier: GPL-2.0-only
/*
 * Leases: an item that is held for longer than its queue allows is taken back, as if
 * its handle had been closed (O3). Whoever held it learns so by his ticket, which is
 * good for that one hand-out.
 *
 * All leases of a queue are equally long. So in the order in which they were given or
 * extended they also end, and the list of them is sorted without being searched: to
 * give, extend and end one is O(1), and the queue's one timer needs to know the first
 * only (D6).
 *
 * The queue's lease_end is a lower bound of the first lease's end. A hand-out lowers it;
 * a done or an extension leaves it, and the timer that is armed for it, alone. When
 * that time comes end_leases() finds nothing due, and sets it exactly. So the timer
 * fires once in vain in the length of a lease, and get and done do not arm it.
 */
#include <linux/list.h>
#include "keyed.h"

static struct kwq_keyed *keyed_of(struct kwq_queue *queue)
{
	return container_of(queue, struct kwq_keyed, queue);
}

static struct kwq_lease *first_lease(struct kwq_keyed *keyed)
{
	return list_first_entry_or_null(&keyed->leases, struct kwq_lease, link);
}

static void give(struct kwq_keyed *keyed, struct kwq_lease *lease, ktime_t now)
{
	lease->expires = ktime_add_safe(now, keyed->limits.lease);
	list_add_tail(&lease->link, &keyed->leases);
	if (lease->expires < keyed->queue.lease_end)
		kwq_set_lease_end(&keyed->queue, lease->expires);
}

/**
 * kwq_lease_begin() - an item was handed out
 * @keyed: the queue; its lock held
 * @ki: the item
 */
noinline void kwq_lease_begin(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	lockdep_assert_held(&keyed->queue.lock);
	if (keyed->limits.lease)
		give(keyed, kwq_lease_of(ki), ki->item.since);
}

/**
 * kwq_lease_extend() - an item's lease begins again now
 * @keyed: the queue; its lock held
 * @ki: an item that is being processed
 * @now: the time it is
 */
void kwq_lease_extend(struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
		      ktime_t now)
{
	lockdep_assert_held(&keyed->queue.lock);
	if (!keyed->limits.lease)
		return;
	list_del(&kwq_lease_of(ki)->link);
	give(keyed, kwq_lease_of(ki), now);
}

/**
 * kwq_lease_end() - an item is not held any more
 * @keyed: the queue; its lock held
 * @ki: the item
 */
noinline void kwq_lease_end(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	lockdep_assert_held(&keyed->queue.lock);
	if (keyed->limits.lease)
		list_del(&kwq_lease_of(ki)->link);
}

/*
 * The queue's timer calls it, in softirq context, so nothing may be freed here. An item
 * that is taken back is ready or dead, and stays in the table. After a shut down an item
 * that was lost too often goes (L12): it is put by, and a worker frees it. Its bytes are
 * given back already, so they must not wait for a holder who does nothing (O9).
 */
static bool end_leases(struct kwq_queue *queue, ktime_t now)
{
	struct kwq_keyed *keyed = keyed_of(queue);
	struct kwq_lease *lease;
	int n;

	lockdep_assert_held(&queue->lock);
	for (n = 0; n < KWQ_ITEMS_PER_HOLD; n++) {
		lease = first_lease(keyed);
		if (!lease || lease->expires > now) {
			kwq_set_lease_end(queue, lease ? lease->expires : KTIME_MAX);
			break;
		}
		keyed->expired++;
		kwq_handle_take_back(keyed, lease->ki, now);
	}
	if (keyed->gone)
		kwq_keyed_free_gone_elsewhere(keyed);
	return n == KWQ_ITEMS_PER_HOLD;
}

/**
 * kwq_lease_init() - let a queue take back what is held for too long
 * @keyed: the queue; its limits are set
 */
void kwq_lease_init(struct kwq_keyed *keyed)
{
	INIT_LIST_HEAD(&keyed->leases);
	keyed->queue.end_leases = end_leases;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Leases: an item that is held for longer than its queue allows is taken back, as if its
 * handle had been closed (O3). The ticket is valid for that one hand-out only. So the
 * former holder finds out when it uses the ticket.
 *
 * All leases of a queue have the same length, so they end in the order in which they began
 * or were extended. The list of leases is sorted without a search. To begin, extend or end
 * a lease is O(1), and the queue's timer needs only the first one (D6).
 *
 * @lease_end of the queue is a lower bound for the end of the first lease. A hand-out may
 * lower it. A done or an extension does not change it, and does not touch the timer. When
 * that time comes, end_leases() may find nothing due, and sets the exact time. So the timer
 * fires in vain at most once per length of a lease, and get and done need not arm it.
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
 * kwq_lease_begin() - begin the lease of an item that was handed out
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
 * kwq_lease_extend() - restart the lease of an item
 * @keyed: the queue; its lock held
 * @ki: a processing item
 * @now: current time
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
 * kwq_lease_end() - end the lease of an item that is no longer held
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
 * Called by the queue's timer in softirq context, so it must not free anything. An item
 * that is taken back stays in the table, ready or dead. But after a shut down, an item that
 * was lost too often is removed (L12). A worker frees it. Its bytes were given back
 * already, so this must not depend on another call (O9).
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
 * kwq_lease_init() - set a queue up to end leases
 * @keyed: the queue, with its limits set
 */
void kwq_lease_init(struct kwq_keyed *keyed)
{
	INIT_LIST_HEAD(&keyed->leases);
	keyed->queue.end_leases = end_leases;
}

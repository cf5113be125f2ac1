// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hand-outs: which handle holds an item, under which ticket, and until when.
 *
 * Leases: an item that is held for longer than its queue allows is taken back, as if its
 * handle had been closed (O3). The ticket is valid for that one hand-out only. So the
 * former holder finds out when it uses the ticket.
 *
 * All leases of a queue have the same length, so they end in the order in which they began
 * or were extended. The list of leases is sorted without a search. To begin, extend or end
 * a lease is O(1), and the queue's timer needs only the first one (D6).
 *
 * @lease_end of the queue is a lower bound for the end of the first lease and of the term. A
 * hand-out may lower it. A done or an extension does not change it, and does not touch the
 * timer. When that time comes, kwq_handouts_expire() may find nothing due, and sets the exact
 * time. So the timer fires in vain at most once per length of a lease, and get and done need not
 * arm it.
 */
#include <linux/list.h>
#include "hold.h"

/**
 * kwq_find_held() - find an item by its ticket
 * @handle: the handle; its queue's lock held
 * @ticket: the ticket; any number
 *
 * Return: the item, or NULL if this handle does not hold it.
 */
struct kwq_keyed_item *kwq_find_held(struct kwq_handle *handle, u64 ticket)
{
	struct kwq_node *node = *kwq_table_bucket(&handle->keyed->table, kwq_ticket_hash(ticket));
	struct kwq_keyed_item *ki;

	for (; node; node = node->next) {
		ki = container_of(node, struct kwq_keyed_item, by_key);
		/* Other items have an old ticket, or something else in its place. */
		if (ki->item.state & KWQ_ITEM_PROCESSING && ki->ticket == ticket)
			return kwq_handle_of(&ki->item) == handle ? ki : NULL;
	}
	return NULL;
}

static void give_lease(struct kwq_keyed *keyed, struct kwq_lease *lease, ktime_t now)
{
	lease->expires = ktime_add_safe(now, keyed->limits.lease);
	list_add_tail(&lease->link, &keyed->leases);
	if (lease->expires < keyed->of_queue.lease_end)
		kwq_set_lease_end_locked(&keyed->queue, lease->expires);
}

/* Only queues whose items have more come here, so it stays out of the path of most. */
static noinline void begin_more(struct kwq_handle *handle, struct kwq_keyed_item *ki)
{
	struct kwq_keyed *keyed = handle->keyed;

	if (keyed->limits.lease)
		give_lease(keyed, kwq_lease_of(ki), ki->item.since);
	if (keyed->limits.groups)
		kwq_keyed_begin_run(keyed, ki);
	if (!keyed->changes)
		return;
	kwq_change_of(keyed, ki)->token = kwq_next_token(keyed, ki);
	ki->has_used_token = true;
	kwq_note_change(keyed, ki);
	kwq_forget_found_nothing(handle);
}

static noinline void end_more(struct kwq_keyed *keyed, struct kwq_keyed_item *ki)
{
	if (keyed->limits.lease)
		list_del(&kwq_lease_of(ki)->link);
	if (keyed->limits.groups)
		kwq_keyed_end_run(keyed, ki);
}

/**
 * kwq_handout_begin() - give an item that was handed out to its handle
 * @handle: the handle; its queue's lock held
 * @ki: the item
 *
 * The item gets a new ticket and, in a queue with leases, a lease.
 */
void kwq_handout_begin(struct kwq_handle *handle, struct kwq_keyed_item *ki)
{
	struct kwq_keyed *keyed = handle->keyed;

	/* It was ready and is not dirty any more. */
	kwq_board_forget(keyed, ki);
	ki->ticket = kwq_next_ticket(keyed, ki->hash);
	kwq_line_join(&handle->held, &ki->held);
	if (unlikely(keyed->items_have_more))
		begin_more(handle, ki);
}

/**
 * kwq_handout_end() - take an item from its handle
 * @handle: the handle; its queue's lock held
 * @ki: the item
 *
 * Call it before the transition that ends the processing.
 */
void kwq_handout_end(struct kwq_handle *handle, struct kwq_keyed_item *ki)
{
	struct kwq_keyed *keyed = handle->keyed;

	/* If it is dirty, it becomes ready, and an add of it has another result (Q2). */
	kwq_board_forget(keyed, ki);
	kwq_line_leave(&handle->held, &ki->held);
	if (unlikely(keyed->items_have_more))
		end_more(keyed, ki);
}

static void take_back(struct kwq_keyed *keyed, struct kwq_keyed_item *ki, ktime_t now)
{
	lockdep_assert_held(&keyed->queue.lock);
	kwq_handout_end(kwq_handle_of(&ki->item), ki);
	kwq_abandon_locked(&keyed->queue, &ki->item, now);
}

/**
 * kwq_handout_abandon() - take an item back from its holder (O1, O3, L12)
 * @keyed: the queue; its lock held
 * @ki: a processing item; do not touch it afterwards
 * @now: current time
 */
void kwq_handout_abandon(struct kwq_keyed *keyed, struct kwq_keyed_item *ki, ktime_t now)
{
	take_back(keyed, ki, now);
	kwq_keyed_settle(keyed, ki, now);
}

/**
 * kwq_handout_lose() - kwq_handout_abandon(), of which the holder has to be told
 * @keyed: the queue; its lock held
 * @ki: a processing item; do not touch it afterwards
 * @now: current time
 *
 * The caller tells pollers once for all that are lost in this hold, because each time wakes all of
 * them (O8).
 */
void kwq_handout_lose(struct kwq_keyed *keyed, struct kwq_keyed_item *ki, ktime_t now)
{
	kwq_handle_of(&ki->item)->has_lost = true;
	kwq_handout_abandon(keyed, ki, now);
}

/**
 * kwq_handout_revoke() - take an item back from its holder, for a remove
 * @keyed: the queue; its lock held
 * @ki: a processing item; the caller removes and settles it in the same hold
 * @now: current time
 *
 * The unlock tells the pollers.
 */
void kwq_handout_revoke(struct kwq_keyed *keyed, struct kwq_keyed_item *ki, ktime_t now)
{
	kwq_handle_of(&ki->item)->has_lost = true;
	keyed->owes |= KWQ_OWES_LOSSES;
	take_back(keyed, ki, now);
}

/**
 * kwq_handout_extend() - restart the lease of an item
 * @keyed: the queue; its lock held
 * @ki: a processing item
 * @now: current time
 */
void kwq_handout_extend(struct kwq_keyed *keyed, struct kwq_keyed_item *ki, ktime_t now)
{
	lockdep_assert_held(&keyed->queue.lock);
	if (!keyed->limits.lease)
		return;
	list_del(&kwq_lease_of(ki)->link);
	give_lease(keyed, kwq_lease_of(ki), now);
}

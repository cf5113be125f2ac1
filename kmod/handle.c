// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handles: who holds which items, and what becomes of them when he vanishes.
 */
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <kunit/visibility.h>
#include "keyed.h"

/**
 * kwq_handle_open() - make a handle
 * @keyed: its queue; the handle takes a reference
 * @rights: KWQ_RIGHT_* bits
 *
 * Return: the handle; ERR_PTR of -ENOMEM.
 */
struct kwq_handle *kwq_handle_open(struct kwq_keyed *keyed, u32 rights)
{
	struct kwq_handle *handle = kmalloc(sizeof(*handle), GFP_KERNEL_ACCOUNT);
	unsigned long flags;

	if (!handle)
		return ERR_PTR(-ENOMEM);
	handle->keyed = keyed;
	handle->rights = rights;
	kwq_holder_init(&handle->holder);
	INIT_HLIST_HEAD(&handle->held);
	handle->last = NULL;
	kref_get(&keyed->ref);

	spin_lock_irqsave(&keyed->queue.lock, flags);
	keyed->nr_handles++;
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
	return handle;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_handle_open);

/* By its ticket, whose hash that is, if it is held through this handle. */
static struct kwq_keyed_item *find_held(struct kwq_handle *handle, u64 ticket, u32 hash)
{
	struct kwq_node *node = *kwq_table_bucket(&handle->keyed->tickets, hash);
	struct kwq_keyed_item *ki;

	for (; node; node = node->next) {
		ki = container_of(node, struct kwq_keyed_item, by_ticket);
		if (ki->ticket == ticket)
			return ki->item.holder == &handle->holder ? ki : NULL;
	}
	return NULL;
}

static void hold(struct kwq_handle *handle, struct kwq_keyed_item *ki)
{
	struct kwq_keyed *keyed = handle->keyed;

	ki->ticket = ++keyed->last_ticket;
	kwq_table_insert(&keyed->tickets, &ki->by_ticket,
			 kwq_ticket_hash(keyed, ki->ticket));
	if (handle->last)
		hlist_add_behind(&ki->held, handle->last);
	else
		hlist_add_head(&ki->held, &handle->held);
	handle->last = &ki->held;
	if (keyed->limits.lease)
		kwq_lease_begin(keyed, ki);
}

/* An item is about to leave the handle, in whichever way. */
static void unhold(struct kwq_handle *handle, struct kwq_keyed_item *ki, u32 hash)
{
	struct kwq_keyed *keyed = handle->keyed;

	kwq_table_remove(&keyed->tickets, &ki->by_ticket, hash);
	if (handle->last == &ki->held)
		handle->last = ki->held.pprev == &handle->held.first ? NULL :
			       container_of(ki->held.pprev, struct hlist_node, next);
	__hlist_del(&ki->held);
	if (keyed->limits.lease)
		kwq_lease_end(keyed, ki);
}

/**
 * kwq_handle_take_back() - take an item back from whoever holds it (O1, O3, L12)
 * @keyed: the queue; its lock held
 * @ki: an item that is being processed; not to be touched any more
 * @now: the time it is
 */
void kwq_handle_take_back(struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
			  ktime_t now)
{
	lockdep_assert_held(&keyed->queue.lock);
	unhold(container_of(ki->item.holder, struct kwq_handle, holder), ki,
	       kwq_ticket_hash(keyed, ki->ticket));
	kwq_abandon_locked(&keyed->queue, &ki->item, now);
	kwq_keyed_settle(keyed, ki, now);
}

/**
 * kwq_handle_close() - end a handle, and give back what it holds (O1)
 * @handle: the handle; no call through it is under way
 *
 * Context: process; may sleep.
 */
void kwq_handle_close(struct kwq_handle *handle)
{
	struct kwq_keyed *keyed = handle->keyed;
	struct hlist_node *node;
	unsigned long flags;
	ktime_t now;
	int n;

	do {
		spin_lock_irqsave(&keyed->queue.lock, flags);
		now = kwq_now_locked(&keyed->queue);
		for (n = 0; n < KWQ_ITEMS_PER_HOLD; n++) {
			node = handle->held.first;
			if (!node)
				break;
			kwq_handle_take_back(keyed, hlist_entry(node, struct kwq_keyed_item,
								held), now);
		}
		if (!node) {
			keyed->nr_handles--;
			/* See kwq_handle_flush(). */
			kwq_wake_again_locked(&keyed->queue);
		}
		kwq_keyed_unlock(keyed, flags);
		cond_resched();
	} while (node);

	kfree(handle);
	kwq_keyed_put(keyed);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_handle_close);

/**
 * kwq_handle_flush() - a process has closed one of its descriptors of a handle (O7)
 * @handle: the handle; other descriptors of it may stay
 *
 * Passes on what wake-ups this process may have consumed. An item wakes one of the
 * epolls that watch with EPOLLEXCLUSIVE. If their process dies, or closes the queue,
 * before its get, the item lies ready while the others sleep (Q5). So each close of a
 * descriptor, also at a process's exit, its exec or its death, wakes once more for all
 * items that are ready.
 *
 * The closing process cannot consume that wake-up, too. ep_poll_callback() takes one for
 * EPOLLEXCLUSIVE only if a task sleeps in epoll_wait() on that epoll, and no task of a
 * dying process does so. If a process closes the queue while another of its threads
 * sleeps there, that thread may take it; then kwq_handle_close() wakes again, after
 * eventpoll_release() has taken the handle out of all epolls.
 *
 * What else there is:
 * - A getter that sleeps in its own call, or is killed there, has taken the item or
 *   passes the wake-up on: see fetch_or_wait().
 * - poll(), select() and an epoll without EPOLLEXCLUSIVE consume no wake-up: all of them
 *   are woken for every item.
 * - One epoll that several processes share wakes one of them. If that one dies before
 *   ep_send_events(), or with EPOLLET after it, the close of its own descriptor of the
 *   queue reaches the others: ep_poll_callback() wakes the next sleeper of an epoll
 *   whether or not the event is listed already.
 *
 * Not covered, since the kernel calls nobody then: a process that has closed its
 * descriptor of a shared handle and waits in an epoll that watches it all the same, so
 * that it cannot get at all (epoll(7) warns of this); a thread that ends without its
 * process; a process that shares its table of descriptors (CLONE_FILES) with another.
 *
 * Context: process; may sleep.
 */
void kwq_handle_flush(struct kwq_handle *handle)
{
	struct kwq_queue *queue = &handle->keyed->queue;
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	kwq_wake_again_locked(queue);
	kwq_unlock_and_wake(queue, flags);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_handle_flush);

/*
 * Hands out what fits. The keys are copied as well: an item may be finished, and
 * freed, by another thread of the same handle as soon as the lock is dropped.
 */
static int fetch_locked(struct kwq_handle *handle, struct kwq_fetch *fetch, ktime_t now)
{
	struct kwq_keyed *keyed = handle->keyed;
	struct kwq_keyed_item *ki;
	struct kwq_item *item;
	u32 nr;

	fetch->keys_len = 0;
	if (kwq_table_is_crowded(&keyed->tickets))
		return -ENOMEM;
	for (nr = 0; nr < fetch->max_items; nr++) {
		item = kwq_core_peek(&keyed->queue.core);
		if (!item)
			break;
		ki = kwq_keyed_item_of(item);
		if (ki->key_len > fetch->max_keys - fetch->keys_len) {
			fetch->lacking = ki->key_len;
			break;
		}

		kwq_take_locked(&keyed->queue, item, &handle->holder, now);
		hold(handle, ki);

		memcpy(fetch->keys + fetch->keys_len, ki->key, ki->key_len);
		fetch->keys_len += ki->key_len;
		fetch->got[nr] = (struct kwq_got){
			.ticket = ki->ticket,
			.key_len = ki->key_len,
			.priority = item->priority,
			.abandoned = item->abandoned,
			.requeues = item->requeues,
		};
	}
	return nr ?: -EMSGSIZE;
}

/* All but what is to be provided for it. */
static int fetch_or_wait(struct kwq_handle *handle, struct kwq_fetch *fetch,
			 const struct kwq_waiter *waiter)
{
	struct kwq_queue *queue = &handle->keyed->queue;
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&queue->lock, flags);
	do {
		if (queue->core.nr_ready)
			ret = fetch_locked(handle, fetch, kwq_now_locked(queue));
		else
			ret = kwq_wait_locked(queue, &handle->holder, waiter, &flags);
	} while (!ret);
	/*
	 * Pass the wake-up on, for this getter may have consumed it and leaves the item.
	 * A getter that comes back with more room keeps it.
	 */
	if (ret < 0 && queue->core.nr_ready && !kwq_fetch_wants_room(fetch, ret))
		kwq_pass_on_locked(queue);
	kwq_unlock_and_wake(queue, flags);
	return ret;
}

/**
 * kwq_handle_fetch() - get items, waiting for the first (Q5, Q13)
 * @handle: the handle
 * @fetch: where to put them
 * @waiter: how long to wait
 *
 * Context: process; may sleep.
 * If kwq_fetch_wants_room() says so afterwards, the caller has to fetch again at once,
 * with that room or with @fetch->longest 0: until then it keeps a wake-up that may be
 * meant for another getter.
 *
 * Return: how many were fetched, at least one; -EMSGSIZE if the first one's key
 * does not fit, -ENOMEM if it could not be found by its ticket, and what
 * kwq_wait_locked() returns.
 */
__flatten int kwq_handle_fetch(struct kwq_handle *handle, struct kwq_fetch *fetch,
			       const struct kwq_waiter *waiter)
{
	int ret;

	do {
		ret = fetch_or_wait(handle, fetch, waiter);
	} while (kwq_keyed_provide(handle->keyed) && ret == -ENOMEM);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_handle_fetch);

/**
 * kwq_handle_unfetch() - put fetched items back where they were (O2)
 * @handle: the handle
 * @got: what kwq_handle_fetch() filled in
 * @nr: how many of them, at most KWQ_ITEMS_PER_HOLD
 *
 * Those that another thread has finished meanwhile, or whose lease has ended, are
 * left alone.
 */
noinline void kwq_handle_unfetch(struct kwq_handle *handle, const struct kwq_got *got,
				 u32 nr)
{
	struct kwq_queue *queue = &handle->keyed->queue;
	struct kwq_keyed_item *ki;
	unsigned long flags;
	u32 hash;

	spin_lock_irqsave(&queue->lock, flags);
	while (nr--) {
		hash = kwq_ticket_hash(handle->keyed, got[nr].ticket);
		ki = find_held(handle, got[nr].ticket, hash);
		if (!ki)
			continue;
		unhold(handle, ki, hash);
		kwq_unget_locked(queue, &ki->item);
	}
	kwq_keyed_unlock(handle->keyed, flags);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_handle_unfetch);

static int done(struct kwq_handle *handle, struct kwq_keyed_item *ki, u32 hash,
		u32 flags, ktime_t now)
{
	struct kwq_keyed *keyed = handle->keyed;
	int ret = kwq_done_locked(&keyed->queue, &handle->holder, &ki->item, flags, now);

	if (ret < 0)
		return ret;
	unhold(handle, ki, hash);
	kwq_keyed_settle(keyed, ki, now);
	return ret;
}

/**
 * kwq_handle_done_locked() - finish an item by its ticket
 * @handle: the handle; its queue's lock held
 * @ticket: the ticket
 * @done_flags: KWQ_DONE_* bits
 * @now: the time it is
 *
 * Return: as kwq_core_done(); -ESTALE if the handle holds nothing
 * under that ticket, or no longer (O3).
 */
int kwq_handle_done_locked(struct kwq_handle *handle, u64 ticket, u32 done_flags,
			   ktime_t now)
{
	u32 hash = kwq_ticket_hash(handle->keyed, ticket);
	struct kwq_keyed_item *ki = find_held(handle, ticket, hash);

	return ki ? done(handle, ki, hash, done_flags, now) : -ESTALE;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_handle_done_locked);

/**
 * kwq_handle_done_key_locked() - finish an item by its key (Q6)
 * @handle: the handle; its queue's lock held
 * @key: the key, with its hash
 * @done_flags: KWQ_DONE_* bits
 * @now: the time it is
 *
 * Return: as kwq_core_done(); -ENOENT if no such key is being
 * processed, -EPERM if another handle holds it.
 */
int kwq_handle_done_key_locked(struct kwq_handle *handle, const struct kwq_key *key,
			       u32 done_flags, ktime_t now)
{
	struct kwq_keyed *keyed = handle->keyed;
	struct kwq_keyed_item *ki = kwq_keyed_find(keyed, key);

	if (!ki)
		return -ENOENT;
	return done(handle, ki, kwq_ticket_hash(keyed, ki->ticket), done_flags, now);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_handle_done_key_locked);

/**
 * kwq_handle_done_and_fetch() - finish an item by its ticket, and get what is ready
 * @handle: the handle
 * @ticket: the ticket
 * @done_flags: KWQ_DONE_* bits
 * @result: out: as kwq_handle_done_locked()
 * @fetch: where to put what is fetched
 *
 * All in one hold of the lock.
 *
 * Context: process; may sleep.
 * Return: how many were fetched; 0 if it takes kwq_handle_fetch(), because nothing is
 * ready or it cannot be fetched so easily.
 */
int kwq_handle_done_and_fetch(struct kwq_handle *handle, u64 ticket, u32 done_flags,
			      s32 *result, struct kwq_fetch *fetch)
{
	struct kwq_keyed *keyed = handle->keyed;
	unsigned long flags;
	int nr = 0;
	ktime_t now;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	now = kwq_now_locked(&keyed->queue);
	*result = kwq_handle_done_locked(handle, ticket, done_flags, now);
	if (keyed->queue.core.nr_ready)
		nr = fetch_locked(handle, fetch, now);
	kwq_keyed_unlock(keyed, flags);
	kwq_keyed_provide(keyed);
	return max(nr, 0);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_handle_done_and_fetch);

/**
 * kwq_handle_extend_locked() - begin the lease of an item again (O3)
 * @handle: the handle; its queue's lock held
 * @ticket: the item's ticket
 * @now: the time it is
 *
 * Where there are no leases every one is good for ever, and so is an extension.
 *
 * Return: 0; -ESTALE if the handle holds nothing under that ticket, or no longer.
 */
int kwq_handle_extend_locked(struct kwq_handle *handle, u64 ticket, ktime_t now)
{
	u32 hash = kwq_ticket_hash(handle->keyed, ticket);
	struct kwq_keyed_item *ki = find_held(handle, ticket, hash);

	if (!ki)
		return -ESTALE;
	kwq_lease_extend(handle->keyed, ki, now);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_handle_extend_locked);

/**
 * kwq_handle_extend_key_locked() - begin the lease of an item again, by its key
 * @handle: the handle; its queue's lock held
 * @key: the key, with its hash
 * @now: the time it is
 *
 * Return: 0; -ENOENT if no such key is being processed, -EPERM if another handle
 * holds it.
 */
int kwq_handle_extend_key_locked(struct kwq_handle *handle,
				 const struct kwq_key *key, ktime_t now)
{
	struct kwq_keyed_item *ki = kwq_keyed_find(handle->keyed, key);

	if (!ki || !ki->item.holder)
		return -ENOENT;
	if (ki->item.holder != &handle->holder)
		return -EPERM;
	kwq_lease_extend(handle->keyed, ki, now);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_handle_extend_key_locked);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds that wait for room (Q19). An adder is a task that sleeps because its add was refused
 * with -ENOSPC or -EDQUOT.
 *
 * Whoever makes room calls kwq_keyed_unlock(), which wakes as many adders as find room. An
 * adder leaves the lists when it is told of room. Until it has looked, its room counts as
 * taken, so nobody else is told of the same room. It looks in the hold in which it wakes up,
 * and the unlock of that hold tells the next adders. So each hold wakes a bounded number of
 * adders (O8), and no room is left while an adder sleeps that would fit:
 *
 *   - An adder joins the lists in the hold in which it was refused. So the hold that makes
 *     room sees it.
 *   - A told adder may have nothing to add any more, because of a signal or its deadline, or
 *     because its key has come another way. It takes the lock in any case, and then its room
 *     no longer counts as taken.
 *   - If the quota refuses the bytes, kwq_quota_charge() has put the queue on the list of
 *     those that are told when bytes come back.
 *
 * The adder that waits longest is the first to be told. If it lacks too much, the one is told that
 * lacks the fewest bytes, of those that need no new item or of the others. If neither fits, none
 * does. So a look takes little time, and room for a short key is not left unused while a long key
 * waits.
 *
 * An add that does not wait, or begins now, takes any room that it finds. An adder whose room
 * was taken waits again, as the first one.
 *
 * What an adder lacks is computed when it joins, and may shrink: its key gets into the queue by
 * another add, or gets a value, or its group comes into being. Such an event wakes a few of the
 * adders that have joined before it, and each of these wakes the next ones.
 *
 * Adders are drainers as well. So a shut down wakes them, and so does an advance of a manual
 * clock. An adder that waits in the outbox of the queue that it asked is also on a list of that
 * queue, whose shut down ends its wait.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include "keyed.h"

/**
 * struct kwq_adder - a task that waits for room
 * @drainer: its place among the drainers, and its task
 * @link: in &kwq_adders.list; empty once the adder was woken because of room or its key
 * @by_size: in &kwq_adders.by_size while @link is in the list
 * @by_key: in &kwq_adders.by_key while @link is in the list
 * @by_group: in &kwq_adders.by_group while @link is in the list, if @group is not NULL
 * @away: in &kwq_adders.away of the queue that was asked while @link is in the list, if the adder
 *	waits in the outbox of that queue
 * @key: the key that it adds
 * @group: the name of the new group that it lacks; NULL for none
 * @number: its number in the order of joining
 * @key_event: it was woken because of its key, as were all that joined up to this number
 * @group_event: the same because of its group
 * @bytes: the bytes for which there was no room
 * @items: 1 if it needs a new item, else 0
 * @is_told: it was woken because of room, and has not looked yet
 */
struct kwq_adder {
	struct kwq_drainer drainer;
	struct list_head link;
	struct rb_node by_size;
	struct rb_node by_key;
	struct rb_node by_group;
	struct list_head away;
	const struct kwq_key *key;
	const struct kwq_key *group;
	u64 number;
	u64 key_event;
	u64 group_event;
	u32 bytes;
	u32 items;
	bool is_told;
};

/**
 * kwq_keyed_may_find_room() - is it worth waiting after an add
 * @stock: the stock of the add
 * @result: its result
 *
 * Return: false if the add was not refused for lack of room, or if the queue can never have so
 * much room.
 */
bool kwq_keyed_may_find_room(const struct kwq_stock *stock, int result)
{
	return (result == -ENOSPC || result == -EDQUOT) && stock->refused_bytes;
}

static struct kwq_adder *adder_of_size(const struct rb_node *node)
{
	return rb_entry(node, struct kwq_adder, by_size);
}

static struct kwq_adder *adder_of_key(const struct rb_node *node)
{
	return rb_entry(node, struct kwq_adder, by_key);
}

static struct kwq_adder *adder_of_group(const struct rb_node *node)
{
	return rb_entry(node, struct kwq_adder, by_group);
}

/* Of equal sizes, the one that came first is first. */
static bool is_smaller(struct rb_node *a, const struct rb_node *b)
{
	return adder_of_size(a)->bytes < adder_of_size(b)->bytes;
}

/* Keys are in the order of their hashes. */
static bool has_lower_hash(struct rb_node *a, const struct rb_node *b)
{
	return adder_of_key(a)->key->hash < adder_of_key(b)->key->hash;
}

static bool has_lower_group(struct rb_node *a, const struct rb_node *b)
{
	return adder_of_group(a)->group->hash < adder_of_group(b)->group->hash;
}

static void join_adders(struct kwq_keyed *keyed, struct kwq_adder *adder, bool first)
{
	struct kwq_adders *adders = keyed->adders;

	if (first)
		list_add(&adder->link, &adders->list);
	else
		list_add_tail(&adder->link, &adders->list);
	adder->number = ++adders->last;
	rb_add(&adder->by_size, &adders->by_size[adder->items], is_smaller);
	rb_add(&adder->by_key, &adders->by_key, has_lower_hash);
	if (adder->group)
		rb_add(&adder->by_group, &adders->by_group, has_lower_group);
	keyed->owes |= KWQ_OWES_ADDERS;
}

static void leave_adders(struct kwq_keyed *keyed, struct kwq_adder *adder)
{
	struct kwq_adders *adders = keyed->adders;

	list_del_init(&adder->link);
	list_del_init(&adder->away);
	rb_erase(&adder->by_size, &adders->by_size[adder->items]);
	rb_erase(&adder->by_key, &adders->by_key);
	if (adder->group)
		rb_erase(&adder->by_group, &adders->by_group);
	if (list_empty(&adders->list))
		keyed->owes &= ~KWQ_OWES_ADDERS;
}

/* Is there room for an adder, besides that of which others were told? */
static bool fits(struct kwq_keyed *keyed, const struct kwq_adder *adder)
{
	const struct kwq_adders *adders = keyed->adders;

	return kwq_keyed_has_room_for(keyed, adders->items_told + adder->items,
				      adders->bytes_told + adder->bytes);
}

static struct kwq_adder *next_that_fits(struct kwq_keyed *keyed)
{
	struct kwq_adders *adders = keyed->adders;
	struct kwq_adder *adder;
	struct rb_node *node;
	int i;

	adder = list_first_entry_or_null(&adders->list, struct kwq_adder, link);
	if (!adder || fits(keyed, adder))
		return adder;
	for (i = 0; i < ARRAY_SIZE(adders->by_size); i++) {
		node = rb_first(&adders->by_size[i]);
		if (node && fits(keyed, adder_of_size(node)))
			return adder_of_size(node);
	}
	return NULL;
}

/* Room that is told counts as taken, until the adder has looked. */
static void tell_adder(struct kwq_adders *adders, struct kwq_adder *adder)
{
	adder->is_told = true;
	adders->items_told += adder->items;
	adders->bytes_told += adder->bytes;
}

static void end_telling(struct kwq_adders *adders, const struct kwq_adder *adder)
{
	if (!adder->is_told)
		return;
	adders->items_told -= adder->items;
	adders->bytes_told -= adder->bytes;
}

/* It takes the lock before it returns, so its task is still in its call. */
static void wake_adder(struct kwq_keyed *keyed, struct kwq_adder *adder)
{
	leave_adders(keyed, adder);
	wake_up_process(adder->drainer.task);
}

/**
 * kwq_tell_adders_locked() - wake adders that find room
 * @keyed: the queue; its lock held
 *
 * Wakes at most KWQ_WAKES_PER_HOLD adders. Each of them tells the next ones.
 */
void kwq_tell_adders_locked(struct kwq_keyed *keyed)
{
	struct kwq_adder *adder;
	int n;

	lockdep_assert_held(&keyed->queue.lock);
	for (n = 0; n < KWQ_WAKES_PER_HOLD; n++) {
		adder = next_that_fits(keyed);
		if (!adder)
			break;
		tell_adder(keyed->adders, adder);
		wake_adder(keyed, adder);
	}
}

static int compare_hash(const void *hash, const struct rb_node *node)
{
	u32 a = *(const u32 *)hash, b = adder_of_key(node)->key->hash;

	return a < b ? -1 : a > b;
}

static bool is_key(const struct kwq_key *a, const struct kwq_key *b)
{
	return a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

/* An adder of a key, among those that wait; NULL if there is none. */
static struct kwq_adder *find_adder(const struct kwq_keyed *keyed, const struct kwq_key *key)
{
	struct rb_node *node = rb_find_first(&key->hash, &keyed->adders->by_key, compare_hash);

	while (node && !is_key(adder_of_key(node)->key, key))
		node = rb_next_match(&key->hash, node, compare_hash);
	return node ? adder_of_key(node) : NULL;
}

static int compare_group_hash(const void *hash, const struct rb_node *node)
{
	u32 a = *(const u32 *)hash, b = adder_of_group(node)->group->hash;

	return a < b ? -1 : a > b;
}

/* The same for adders that lack a group. */
static struct kwq_adder *find_adder_of_group(const struct kwq_keyed *keyed,
					     const struct kwq_key *name)
{
	struct rb_node *node = rb_find_first(&name->hash, &keyed->adders->by_group,
					     compare_group_hash);

	while (node && !is_key(adder_of_group(node)->group, name))
		node = rb_next_match(&name->hash, node, compare_group_hash);
	return node ? adder_of_group(node) : NULL;
}

/* Adders of one key are in the order of their numbers, because the tree keeps equals in order. */
static void tell_of_key(struct kwq_keyed *keyed, const struct kwq_key *key, u64 last, int most)
{
	struct kwq_adder *adder;
	int n;

	for (n = 0; n < most; n++) {
		adder = find_adder(keyed, key);
		if (!adder || adder->number > last)
			break;
		adder->key_event = last;
		wake_adder(keyed, adder);
	}
}

static void tell_of_group(struct kwq_keyed *keyed, const struct kwq_key *name, u64 last, int most)
{
	struct kwq_adder *adder;
	int n;

	for (n = 0; n < most; n++) {
		adder = find_adder_of_group(keyed, name);
		if (!adder || adder->number > last)
			break;
		adder->group_event = last;
		wake_adder(keyed, adder);
	}
}

/**
 * kwq_tell_adders_of_key_locked() - wake adders whose key has come, or got a larger value
 * @keyed: the queue; its lock held; adders wait
 * @key: the key, with its hash
 *
 * Wakes one adder, because a hold may bring many keys. Each one that is woken wakes the next ones.
 */
noinline void kwq_tell_adders_of_key_locked(struct kwq_keyed *keyed, const struct kwq_key *key)
{
	lockdep_assert_held(&keyed->queue.lock);
	tell_of_key(keyed, key, keyed->adders->last, 1);
}

/**
 * kwq_tell_adders_of_group_locked() - wake adders whose group has come into being
 * @keyed: the queue; its lock held; adders wait
 * @name: the group's name, with its hash
 *
 * Wakes one adder, as kwq_tell_adders_of_key_locked() does.
 */
void kwq_tell_adders_of_group_locked(struct kwq_keyed *keyed, const struct kwq_key *name)
{
	lockdep_assert_held(&keyed->queue.lock);
	tell_of_group(keyed, name, keyed->adders->last, 1);
}

/**
 * kwq_keyed_end_away() - end the waits of adds to a queue in its outbox
 * @keyed: the queue, shut down
 *
 * An adder joins @away and looks for the shut down in one hold of the outbox's lock. So it is
 * either found here, or it has seen the shut down.
 *
 * Context: process; may sleep.
 */
void kwq_keyed_end_away(struct kwq_keyed *keyed)
{
	struct kwq_adders *adders = READ_ONCE(keyed->adders);
	struct kwq_keyed *outbox = keyed->outbox;
	struct kwq_adder *adder = NULL;
	unsigned long flags;
	int n;

	if (!outbox || !adders)
		return;
	do {
		spin_lock_irqsave(&outbox->queue.lock, flags);
		for (n = 0; n < KWQ_WAKES_PER_HOLD; n++) {
			adder = list_first_entry_or_null(&adders->away, struct kwq_adder, away);
			if (!adder)
				break;
			wake_adder(outbox, adder);
		}
		spin_unlock_irqrestore(&outbox->queue.lock, flags);
		cond_resched();
	} while (adder);
}

/**
 * kwq_keyed_wait_for_room_locked() - wait until a refused add is worth another try (Q19)
 * @keyed: the queue; its lock held, released while sleeping
 * @key: the key, with its hash
 * @stock: the stock of the add, which was refused
 * @wait: how long to wait
 * @flags: as spin_lock_irqsave() stored them
 *
 * Call it in the hold in which the add was refused, and try again in the hold in which it
 * returns. A return value of 0 does not promise room. kwq_keyed_provide_adders() comes before
 * all this, for both queues if the add waits in an outbox.
 *
 * Context: process; sleeps without the lock.
 * Return: 0; -EAGAIN, -ETIMEDOUT or -ERESTARTSYS; -EDQUOT if adds with too much memory wait
 * already.
 */
int kwq_keyed_wait_for_room_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
				   const struct kwq_stock *stock, struct kwq_room_wait *wait,
				   unsigned long *flags)
	__must_hold(&keyed->queue.lock)
{
	const u32 bytes = wait->bytes + kwq_stock_bytes(stock, keyed);
	struct kwq_adder adder = {
		.key = key,
		.group = stock->refused_group,
		.bytes = stock->refused_bytes,
		.items = stock->refused_item,
	};
	struct kwq_keyed *front = wait->handle->front;
	struct kwq_queue *queue = &keyed->queue;
	int err;

	lockdep_assert_held(&queue->lock);
	/* There may be room now. */
	if (kwq_keyed_free_gone_locked(keyed, flags))
		return 0;
	if (!kwq_quota_charge_call(wait->handle, bytes))
		return -EDQUOT;
	join_adders(keyed, &adder, wait->has_waited);
	INIT_LIST_HEAD(&adder.away);
	if (front)
		list_add_tail(&adder.away, &front->adders->away);
	wait->has_waited = true;
	do {
		err = kwq_why_not_wait_locked(queue, &wait->patience);
		if (err || kwq_front_is_shut_down(front))
			break;
		kwq_join_drainers_locked(queue, &adder.drainer, TASK_INTERRUPTIBLE);
		kwq_keyed_unlock_unpaid(keyed, *flags);
		kwq_sleep_until(queue, wait->patience.deadline);
		spin_lock_irqsave(&queue->lock, *flags);
		kwq_leave_drainers_locked(queue, &adder.drainer);
	} while (!list_empty(&adder.link) && !queue->core.shut_down);

	if (!list_empty(&adder.link))
		leave_adders(keyed, &adder);
	end_telling(keyed->adders, &adder);
	if (adder.key_event)
		tell_of_key(keyed, key, adder.key_event, KWQ_WAKES_PER_HOLD);
	if (adder.group_event)
		tell_of_group(keyed, adder.group, adder.group_event, KWQ_WAKES_PER_HOLD);
	kwq_quota_uncharge_call(wait->handle, bytes);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The list of a queue's items (Q15).
 *
 * A list goes through the table of keys by the places of their hashes: see kwq_table_at(). Its
 * only state is the place of the next item, which the caller keeps. A place belongs to a key, and
 * never changes. So an item that stays in the queue is listed exactly once, whatever happens to it
 * and to other items meanwhile. A sorted list could not promise that: an item moves in every order
 * that is worth sorting by. It would also need an index for each order, in every queue. So the
 * caller sorts.
 *
 * A place in the list has 64 bits. The upper ones are the place in the table. The lower ones only
 * matter if several keys have the same hash, and so the same place in the table. There they are a
 * second hash of the key. For a key that is alone they are all ones.
 */
#include <linux/limits.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include "keyed.h"
#include "timens.h"

/*
 * O8: the most buckets and items that a hold looks at, because each may cost a cache line. It also
 * finishes the bucket in which it stops.
 */
#define LISTED_LOOKS_PER_HOLD	256

/* The most items of one bucket that are listed in one hold; the next hold goes on with it. */
#define FOUND_MAX	32

/* The items of one bucket that are to be listed, by their places. */
struct found {
	struct {
		u64 place;
		struct kwq_keyed_item *ki;
	} items[FOUND_MAX];
	u32 nr;
	bool more;		/* items with higher places were left out */
};

/* The parts that all items of one hold share. */
struct look {
	struct kwq_keyed *keyed;
	struct pid_namespace *pids;
	ktime_t now;
	u32 states;
	u32 orders;		/* states by which items may be sorted */
	u8 slots;		/* list what is in these, too */
};

static u64 list_place(const struct kwq_keyed_item *ki, u32 second)
{
	return (u64)kwq_table_place(ki->hash) << 32 | second;
}

static u64 exact_list_place(const struct kwq_keyed_item *ki)
{
	return list_place(ki, kwq_key_second_hash(ki));
}

static bool share_hash(u64 place, u64 other)
{
	return !((place ^ other) >> 32);
}

/* Inserts an item. If there is no room, the item with the highest place is left out. */
static void insert_found(struct found *found, struct kwq_keyed_item *ki, u64 place)
{
	u32 i;

	for (i = 0; i < found->nr; i++) {
		if (!share_hash(found->items[i].place, place))
			continue;
		found->items[i].place = exact_list_place(found->items[i].ki);
		place = exact_list_place(ki);
	}
	if (found->nr == FOUND_MAX) {
		found->more = true;
		if (place >= found->items[FOUND_MAX - 1].place)
			return;
		found->nr--;
	}
	for (i = found->nr++; i && found->items[i - 1].place > place; i--)
		found->items[i] = found->items[i - 1];
	found->items[i].ki = ki;
	found->items[i].place = place;
}

/* The state of an item, as KWQ_IS_* bits; 0 if it is idle and has nothing to remember. */
static u32 state_of(const struct look *look, const struct kwq_item *item)
{
	u8 state = item->state;
	u32 bits = 0;

	if (state & KWQ_ITEM_WAITING)
		bits |= KWQ_IS_WAITING;
	if (state & KWQ_ITEM_PROCESSING) {
		bits |= KWQ_IS_PROCESSING;
		if (state & KWQ_ITEM_DIRTY)
			bits |= KWQ_IS_DIRTY;
		if (state & KWQ_ITEM_DEAD)
			bits |= KWQ_IS_DYING;
	} else if (state & KWQ_ITEM_DIRTY) {
		bits |= KWQ_IS_READY;
		if (item->lane == KWQ_LANE_RETURNED)
			bits |= KWQ_IS_RETURNED;
	} else if (state & KWQ_ITEM_DEAD) {
		bits |= KWQ_IS_DEAD;
	}
	if (!bits && kwq_core_num_requeues(&look->keyed->queue.core, item, look->now))
		bits = KWQ_IS_REMEMBERED;
	return bits;
}

/* The states that sort the items which a caller asked for by @states. */
static u32 orders_of(u32 states)
{
	if (states & (KWQ_IS_DIRTY | KWQ_IS_DYING))
		states |= KWQ_IS_PROCESSING;
	if (states & KWQ_IS_RETURNED)
		states |= KWQ_IS_READY;
	return states;
}

static u32 order_state(u32 states)
{
	static const u32 by_rank[] = {
		KWQ_IS_PROCESSING, KWQ_IS_READY, KWQ_IS_WAITING, KWQ_IS_DEAD
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(by_rank); i++)
		if (states & by_rank[i])
			return by_rank[i];
	return KWQ_IS_REMEMBERED;
}

static u64 order_in(const struct look *look, const struct kwq_keyed_item *ki, u32 state)
{
	const struct kwq_core *core = &look->keyed->queue.core;

	switch (state) {
	case KWQ_IS_PROCESSING:
		return ki->ticket;
	case KWQ_IS_READY:
		return ki->item.order;
	case KWQ_IS_WAITING:
		return kwq_caller_time(look->keyed, kwq_core_due(core, &ki->item));
	case KWQ_IS_DEAD:
		return ki->item.death;
	}
	return 0;
}

/* Another process may have the number of one that is gone. */
static bool is_alive(struct pid *pid)
{
	return pid && pid_has_task(pid, PIDTYPE_TGID);
}

/* A shell gets through a child that ends at once, so the process that opened the handle is next. */
static pid_t holder_pid(const struct look *look, const struct kwq_item *item)
{
	const struct kwq_handle *handle = kwq_handle_of(item);

	if (is_alive(handle->pid))
		return pid_nr_ns(handle->pid, look->pids);
	return is_alive(handle->opener) ? pid_nr_ns(handle->opener, look->pids) : 0;
}

static u32 value_len(const struct kwq_value *value)
{
	return value ? value->len : 0;
}

static void describe(const struct look *look, struct kwq_keyed_item *ki, u32 state,
		     struct kwq_listed *to)
{
	const struct kwq_core *core = &look->keyed->queue.core;
	const struct kwq_item *item = &ki->item;
	ktime_t now = look->now;

	*to = (struct kwq_listed){
		.state = state,
		.key_len = ki->key_len,
		.priority = item->priority,
		.requeues = kwq_core_num_requeues(core, item, now),
		.abandoned = item->abandoned,
	};
	to->order_of = state ? order_state(state & look->orders) : 0;
	to->order = order_in(look, ki, to->order_of);
	if (state & (KWQ_IS_READY | KWQ_IS_DIRTY))
		to->dirty_for = kwq_listed_age(kwq_core_dirty_since(item), now);
	if (state & KWQ_IS_DIRTY)
		to->next_priority = item->next_priority;
	if (state & KWQ_IS_PROCESSING) {
		to->processing_for = kwq_listed_age(item->since, now);
		to->pid = holder_pid(look, item);
		if (look->keyed->limits.lease)
			to->lease_left = kwq_span(now, kwq_lease_of(ki)->expires);
	}
	if (state & KWQ_IS_WAITING) {
		to->waiting_for = kwq_age(kwq_core_waiting_since(core, item), now);
		to->due_in = kwq_span(now, kwq_core_due(core, item));
		to->wait_priority = item->wait_priority;
	}
	if (state & KWQ_IS_DEAD)
		to->dead_for = kwq_listed_age(item->since, now);
	if (look->keyed->limits.values) {
		to->value_len = value_len(kwq_value_slot(look->keyed, ki)[KWQ_VALUE]);
		to->note_len = value_len(kwq_value_slot(look->keyed, ki)[KWQ_NOTE]);
	}
	if (look->keyed->changes) {
		to->change = kwq_change_of(look->keyed, ki)->number;
		to->token = kwq_change_of(look->keyed, ki)->token;
	}
}

/* Fills in what is listed of an item's value and note. Returns how many bytes these are. */
static u32 pick_values(const struct look *look, struct kwq_keyed_item *ki, struct kwq_value **to)
{
	struct kwq_value **slots;
	u32 bytes = 0;
	int i;

	memset(to, 0, KWQ_SLOTS * sizeof(*to));
	if (!look->keyed->limits.values)
		return 0;
	slots = kwq_value_slot(look->keyed, ki);
	for (i = 0; i < KWQ_SLOTS; i++) {
		if (!slots[i] || !(look->slots & BIT(i)))
			continue;
		to[i] = slots[i];
		bytes += slots[i]->len;
	}
	return bytes;
}

/* Lists an item. Returns false if it does not fit. */
static bool list_item(const struct look *look, struct kwq_keyed_item *ki,
		      struct kwq_list_buffer *buffer)
{
	struct kwq_list_fill *fill = &buffer->fill;
	const struct kwq_keyed_group *group = kwq_keyed_group_of(look->keyed, ki);
	u32 bytes, key_bytes = ki->key_len + (group ? group->len : 0);
	struct kwq_listed *to;

	if (fill->nr == buffer->max_items)
		return false;
	bytes = key_bytes + pick_values(look, ki, buffer->values + fill->nr * KWQ_SLOTS);
	if (key_bytes > buffer->max_key_bytes - fill->keys_len ||
	    bytes > buffer->max_bytes - fill->bytes)
		return false;
	to = &buffer->entries[fill->nr++];
	describe(look, ki, state_of(look, &ki->item), to);
	memcpy(buffer->keys + fill->keys_len, ki->key, ki->key_len);
	if (group) {
		to->group_len = group->len;
		memcpy(buffer->keys + fill->keys_len + ki->key_len, group->name, group->len);
	}
	fill->keys_len += key_bytes;
	fill->bytes += bytes;
	return true;
}

/* Takes references to what was listed, so that it can be copied without the lock. */
static void hold_values(const struct kwq_list_buffer *buffer)
{
	u32 i;

	for (i = 0; i < buffer->fill.nr * KWQ_SLOTS; i++)
		if (buffer->values[i])
			refcount_inc(&buffer->values[i]->refs);
}

/* Finds the items of a bucket whose places are not before @at. Returns how many it looked at. */
static u32 find_in(const struct look *look, struct kwq_node *node, u64 at, struct found *found)
{
	struct kwq_keyed_item *ki;
	u32 looks = 0;
	u64 place;

	found->nr = 0;
	found->more = false;
	for (; node; node = node->next, looks++) {
		ki = container_of(node, struct kwq_keyed_item, by_key);
		if (!(state_of(look, &ki->item) & look->states))
			continue;
		place = list_place(ki, U32_MAX);
		/* A page ended between keys with this hash. */
		if (lower_32_bits(at) && share_hash(place, at))
			place = exact_list_place(ki);
		if (place >= at)
			insert_found(found, ki, place);
	}
	return looks;
}

/*
 * Lists the items that were found, and moves @at behind them. Items with the same place are
 * listed in the same hold or not at all. Returns false if one does not fit.
 */
static bool list_found(const struct look *look, const struct found *found, u64 *at,
		       struct kwq_list_buffer *buffer)
{
	struct kwq_list_fill fits = buffer->fill;
	u32 i;

	for (i = 0; i < found->nr; i++) {
		if (i && found->items[i].place != found->items[i - 1].place) {
			*at = found->items[i - 1].place + 1;
			fits = buffer->fill;
		}
		if (!list_item(look, found->items[i].ki, buffer)) {
			buffer->fill = fits;
			return false;
		}
	}
	if (found->more)
		*at = found->items[found->nr - 1].place + 1;
	return true;
}

/* Lists items from @request->at on. */
static int list_from(const struct look *look, struct kwq_list_request *request,
		     struct kwq_list_buffer *buffer)
{
	struct kwq_node *node;
	struct found found;
	u32 looks = 0, last;

	do {
		node = kwq_table_at(&look->keyed->table, request->at >> 32, &last);
		looks += 1 + find_in(look, node, request->at, &found);
		if (!list_found(look, &found, &request->at, buffer))
			return buffer->fill.nr ? 0 : -EMSGSIZE;
		/* Behind the last place of all, this is 0. */
		if (!found.more)
			request->at = ((u64)last + 1) << 32;
	} while (request->at && looks < LISTED_LOOKS_PER_HOLD);
	return 0;
}

static int list_one(const struct look *look, const struct kwq_key *key,
		    struct kwq_list_buffer *buffer)
{
	struct kwq_keyed_item *ki = kwq_keyed_find(look->keyed, key);
	u32 state = ki ? state_of(look, &ki->item) : 0;

	if (!state)
		return -ENOENT;
	return state & look->states && !list_item(look, ki, buffer) ? -EMSGSIZE : 0;
}

/* Lists items that the follower has not read, and marks them as told. */
static int list_unread(const struct look *look, struct kwq_list_request *request,
		       struct kwq_list_buffer *buffer)
{
	struct kwq_changes *changes = look->keyed->changes;
	struct kwq_change *change;
	u32 looks = 0;

	request->until = request->until ?: changes->last;
	do {
		change = list_first_entry_or_null(&changes->unread, struct kwq_change, link);
		request->at = change && change->number <= request->until;
		if (!request->at)
			return 0;
		if (!list_item(look, kwq_item_of_change(look->keyed, change), buffer))
			return buffer->fill.nr ? 0 : -EMSGSIZE;
		kwq_item_of_change(look->keyed, change)->is_added = false;
		changes->last_told = change->number;
		list_move_tail(&change->link, &changes->told);
	} while (++looks < KWQ_ITEMS_PER_HOLD);
	return 0;
}

/**
 * kwq_keyed_list() - list some items (Q15)
 * @keyed: the queue
 * @request: which items; its @at is moved behind the last one
 * @buffer: buffer for at least one item
 *
 * A bounded hold of the lock: it may list nothing, though there is more to list. The caller puts
 * the references in @buffer->values, whatever this returns.
 *
 * Context: process.
 * Return: 0; -EMSGSIZE if the first item does not fit; -ENOENT if the queue has no such key.
 */
int kwq_keyed_list(struct kwq_keyed *keyed, struct kwq_list_request *request,
		   struct kwq_list_buffer *buffer)
{
	struct look look = {
		.keyed = keyed,
		.pids = task_active_pid_ns(current),
		.states = request->states,
		.orders = orders_of(request->unread ? U32_MAX : request->states),
		.slots = request->slots,
	};
	unsigned long flags;
	int ret;

	buffer->fill = (struct kwq_list_fill){};
	spin_lock_irqsave(&keyed->queue.lock, flags);
	look.now = kwq_now_locked(&keyed->queue);
	if (request->key)
		ret = list_one(&look, request->key, buffer);
	else if (request->unread)
		ret = list_unread(&look, request, buffer);
	else
		ret = list_from(&look, request, buffer);
	hold_values(buffer);
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
	return ret;
}

/* The first of the starts of the waits, or of the deaths, in a bucket and @first. */
static ktime_t earliest_in(const struct kwq_core *core, const struct kwq_node *node, u8 state,
			   ktime_t first, u32 *looks)
{
	const struct kwq_item *item;

	for (; node; node = node->next, ++*looks) {
		item = &container_of(node, struct kwq_keyed_item, by_key)->item;
		if (state == KWQ_ITEM_DEAD && kwq_item_is_dead(item) && item->since != KWQ_NO_TIME)
			first = min(first, item->since);
		else if (state & item->state & KWQ_ITEM_WAITING)
			first = min(first, kwq_core_waiting_since(core, item));
	}
	return first;
}

/**
 * kwq_keyed_oldest() - find the age of the oldest wait or death (M2)
 * @keyed: the queue
 * @state: KWQ_ITEM_WAITING or KWQ_ITEM_DEAD
 * @now: time of the age
 *
 * Looks at all items, in bounded holds of the lock. An index for this number alone would cost
 * every delayed add.
 *
 * Context: process; may sleep.
 * Return: the age, in ns; 0 if no item is in that state, or if the caller is being killed.
 */
u64 kwq_keyed_oldest(struct kwq_keyed *keyed, u8 state, ktime_t now)
{
	ktime_t first = now;
	unsigned long flags;
	u32 looks, last;
	u64 place = 0;

	do {
		looks = 0;
		spin_lock_irqsave(&keyed->queue.lock, flags);
		do {
			struct kwq_node *node = kwq_table_at(&keyed->table, place, &last);

			first = earliest_in(&keyed->queue.core, node, state, first, &looks);
			place = (u64)last + 1;
		} while (place <= U32_MAX && ++looks < LISTED_LOOKS_PER_HOLD);
		spin_unlock_irqrestore(&keyed->queue.lock, flags);
		if (fatal_signal_pending(current))
			return 0;
		cond_resched();
	} while (place <= U32_MAX);
	return kwq_age(first, now);
}

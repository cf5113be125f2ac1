// SPDX-License-Identifier: GPL-2.0-only
/*
 * A queue of keys: operations on keys. Each operation finds the key's item, works on it and
 * calls kwq_keyed_settle(). The caller hashes the key first, holds the lock, and calls
 * kwq_keyed_unlock() after the last operation.
 */
#include <linux/err.h>
#include <linux/limits.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uidgid.h>
#include "hold.h"
#include "queue/trace.h"

/*
 * L10: does an item need a place within the queue's limits? A remembered one has none. An idle one
 * that the follower has yet to read as gone has one, unless it was remembered before, which shows
 * in a queue beyond its limits.
 */
static bool needs_place(const struct kwq_keyed *keyed, const struct kwq_keyed_item *ki)
{
	if (ki->is_remembered)
		return true;
	return kwq_item_is_idle(&ki->item) &&
	       (keyed->nr_items - keyed->nr_remembered > keyed->limits.max_items ||
		keyed->nr_bytes - keyed->bytes_remembered > keyed->limits.max_bytes);
}

/* A restore that only brings the count of a key (L10, U8). */
static bool only_remembers(const struct kwq_add_options *options)
{
	return options->flags & KWQ_ADD_RESTORED && !options->restored->state;
}

/*
 * An add needs the item of a new key, the rest of a longer value or note, a new group. @ki is NULL
 * for a new key, and @extras without any.
 */
static __always_inline struct kwq_need need_of(struct kwq_keyed *keyed, const struct kwq_key *key,
					       struct kwq_keyed_item *ki,
					       const struct kwq_add_options *options,
					       const struct kwq_extras *extras)
{
	struct kwq_need need = { .all = kwq_item_bytes(keyed, key->len) };
	u32 group;

	/* Once it is added, an idle item counts towards the queue's limits again. */
	if ((!ki || needs_place(keyed, ki)) && !only_remembers(options)) {
		need.items = 1;
		need.bytes = need.all;
	}
	if (!extras)
		return need;
	if (extras->flags & KWQ_ADD_GROUP && extras->group.len) {
		group = kwq_keyed_group_bytes(extras->group.len);
		need.all += group;
		need.bytes += extras->found ? 0 : group;
	}
	if (extras->flags & KWQ_ADD_NOTE)
		kwq_keyed_need_slot(keyed, ki, KWQ_NOTE, extras->note, &need);
	if (extras->flags & KWQ_ADD_VALUE && !(ki && kwq_keyed_keeps_value(keyed, ki, extras)))
		kwq_keyed_need_slot(keyed, ki, KWQ_VALUE, extras->value, &need);
	return need;
}

/*
 * A count that is restored drops another one, which may stay until a follower has read that. So all
 * items together, of both kinds, have a limit as well.
 */
static bool is_full_of_both(const struct kwq_keyed *keyed, u32 size)
{
	return keyed->nr_items >= 2 * keyed->limits.max_items ||
	       (keyed->nr_bytes + size) / 2 > keyed->limits.max_bytes;
}

/**
 * kwq_keyed_fits_locked() - would an add find room in the queue now
 * @keyed: the queue; its lock held
 * @key: the key, with its hash
 * @extras: what the add brings, whose @found is filled in; NULL if it has none
 *
 * Return: true if so.
 */
bool kwq_keyed_fits_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
			   struct kwq_extras *extras)
{
	static const struct kwq_add_options plain;
	struct kwq_need need;

	if (extras && extras->flags & KWQ_ADD_GROUP)
		kwq_keyed_find_group(keyed, extras);
	need = need_of(keyed, key, kwq_keyed_find(keyed, key), &plain, extras);
	return kwq_keyed_has_room_for(keyed, need.items, need.bytes);
}

/* Does an entry bring a value or a note that needs memory? */
static bool brings_values(struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
			  const struct kwq_extras *extras)
{
	if (extras->flags & KWQ_ADD_NOTE && extras->note)
		return true;
	return extras->flags & KWQ_ADD_VALUE && extras->value &&
	       !(ki && kwq_keyed_keeps_value(keyed, ki, extras));
}

/* Does an add lack anything that has to be allocated or charged without the lock? */
static __always_inline bool lacks_memory(struct kwq_keyed *keyed, const struct kwq_key *key,
					 struct kwq_keyed_item *ki,
					 const struct kwq_extras *extras, struct kwq_stock *stock)
{
	bool ret = false;

	stock->wants_item = false;
	if (!ki)
		ret = kwq_keyed_lacks_item(keyed, stock, key->len);
	if (!extras)
		return ret;
	stock->wants_value = !stock->value_bytes && brings_values(keyed, ki, extras);
	ret |= stock->wants_value;
	if (extras->flags & KWQ_ADD_GROUP)
		ret |= kwq_keyed_lacks_group(keyed, extras, stock);
	return ret;
}

/* Before a lack of room, which would make an adder wait that can never succeed. */
static noinline int check_add_extras(struct kwq_keyed *keyed, struct kwq_extras *extras)
{
	if (extras->flags & (KWQ_ADD_VALUE | KWQ_ADD_NOTE) && !keyed->limits.values)
		return -EOPNOTSUPP;
	if (!(extras->flags & KWQ_ADD_GROUP))
		return 0;
	if (!keyed->limits.groups)
		return -EOPNOTSUPP;
	kwq_keyed_find_group(keyed, extras);
	return !extras->found && extras->group.len &&
	       kwq_table_is_full(kwq_table_bucket(&keyed->groups->table, extras->group.hash)) ?
	       -ENOMEM : 0;
}

/*
 * May an add go on, and is there all that it needs, so that it cannot fail any more? If not, it
 * changes nothing. @ki is NULL for a new key; else it is idle, or the add has extras.
 */
static __always_inline int prepare(struct kwq_keyed *keyed, struct kwq_node **bucket,
				   const struct kwq_key *key, struct kwq_keyed_item *ki,
				   const struct kwq_add_options *options,
				   struct kwq_extras *extras, struct kwq_stock *stock)
{
	struct kwq_need need;
	int err;

	if (options->flags & KWQ_ADD_KICK && !(ki && kwq_item_is_dead(&ki->item)))
		return -ENOENT;
	/* Before -ENOSPC: a queue that is shut down and full reports the shut down. */
	if (keyed->queue.core.shut_down)
		return -ESHUTDOWN;
	err = extras ? check_add_extras(keyed, extras) : 0;
	if (err)
		return err;
	if (!ki && kwq_table_is_full(bucket))
		return -ENOMEM;
	need = need_of(keyed, key, ki, options, extras);
	if (!ki && only_remembers(options) && is_full_of_both(keyed, need.all)) {
		stock->never_fits = false;
		return -ENOSPC;
	}
	if (unlikely(kwq_keyed_find_room(keyed, &need, stock)))
		return -ENOSPC;
	return lacks_memory(keyed, key, ki, extras, stock) ? -EAGAIN : 0;
}

/* Q16: adds an item, and moves it to a group, or out of its group. */
static int add_to_group(struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
			const struct kwq_add_options *options, const struct kwq_extras *extras,
			ktime_t now, struct kwq_stock *stock)
{
	struct kwq_group *before = kwq_member_of(ki)->group, *unused;
	struct kwq_add_options moving = *options;
	int ret;

	moving.flags |= KWQ_ADD_GROUP;
	if (extras->group.len)
		moving.group = kwq_keyed_get_group(keyed, extras, stock);
	ret = kwq_add_locked(&keyed->queue, &ki->item, &moving, now);
	/* The item uses the group to which it belongs. A refused add has not moved it. */
	unused = kwq_member_of(ki)->group == moving.group ? before : moving.group;
	if (unused)
		kwq_keyed_put_group(keyed, unused);
	return ret;
}

static noinline int add_with_extras(struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
				    const struct kwq_add_options *options,
				    struct kwq_extras *extras, ktime_t now,
				    struct kwq_stock *stock)
{
	bool joins = extras->flags & KWQ_SET_JOINS && !kwq_item_is_idle(&ki->item);
	int ret;

	if (extras->flags & KWQ_ADD_VALUE && kwq_keyed_keeps_value(keyed, ki, extras))
		extras->flags &= ~KWQ_ADD_VALUE;
	ret = extras->flags & KWQ_ADD_GROUP ?
	      add_to_group(keyed, ki, options, extras, now, stock) :
	      kwq_add_locked(&keyed->queue, &ki->item, options, now);
	if (ret < 0)
		return ret;
	if (joins)
		kwq_keyed_join_sets(keyed, ki, extras->value);
	kwq_keyed_set_values(keyed, ki, extras, stock);
	return ret;
}

/**
 * kwq_keyed_add_locked() - add a key, and what the add brings (Q16, Q18)
 * @keyed: the queue; its lock held
 * @key: the key, with its hash
 * @options: the options, checked by kwq_check_add()
 * @extras: what the add brings; NULL if it has none
 * @now: current time
 * @stock: memory for a new item and a new group
 *
 * Return: as kwq_add_with(). With nothing changed also -EAGAIN (call kwq_stock_fill() and try
 * again), -ENOMEM (too many keys or groups have a similar hash), -ENOSPC, or -EOPNOTSUPP (the queue
 * has no values or no groups).
 */
int kwq_keyed_add_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
			 const struct kwq_add_options *options, struct kwq_extras *extras,
			 ktime_t now, struct kwq_stock *stock)
{
	struct kwq_node **bucket = kwq_table_bucket(&keyed->table, key->hash);
	struct kwq_keyed_item *ki = kwq_keyed_find_in(*bucket, key);
	int ret;

	lockdep_assert_held(&keyed->queue.lock);
	keyed->expects_new = !ki;
	if (!ki || extras || unlikely(kwq_item_is_idle(&ki->item))) {
		ret = prepare(keyed, bucket, key, ki, options, extras, stock);
		if (unlikely(ret))
			return ret;
	}
	if (!ki)
		ki = kwq_keyed_insert(keyed, bucket, key, stock);
	/* Nobody was to hand it out, so its token is of a former run. The add cannot fail now. */
	if (unlikely(keyed->changes) && kwq_item_is_idle(&ki->item))
		kwq_set_token(keyed, ki, 0);
	ret = extras ? add_with_extras(keyed, ki, options, extras, now, stock) :
		       kwq_add_locked(&keyed->queue, &ki->item, options, now);
	if (ret < 0)
		return ret;
	if (extras && extras->flags & KWQ_ADD_TOKEN)
		kwq_set_token(keyed, ki, extras->token);
	if (extras || options->flags || (ret != KWQ_COALESCED && ret != KWQ_DIRTY)) {
		kwq_keyed_settle(keyed, ki, now);
		return ret;
	}
	/* An add without options that coalesced has changed nothing but a count. */
	if (unlikely(keyed->changes))
		ki->is_added = true;
	if (keyed->board)
		kwq_board_post(keyed, ki, ret);
	return ret;
}

/**
 * kwq_keyed_restore_locked() - put a key back as it was saved (U8)
 * @keyed: the queue; its lock held
 * @key: the key, with its hash
 * @restored: how it was saved
 * @extras: its value, its note, its group and its token. A key that is ready, waiting or dead keeps
 *	its own, and one that is processing keeps its note and its group
 * @now: current time
 * @stock: memory for a new item and a new group
 *
 * Return: as kwq_core_restore(), or an error of kwq_keyed_add_locked().
 */
int kwq_keyed_restore_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
			     const struct kwq_restored *restored, struct kwq_extras *extras,
			     ktime_t now, struct kwq_stock *stock)
{
	const struct kwq_add_options options = { .flags = KWQ_ADD_RESTORED, .restored = restored };
	struct kwq_keyed_item *ki = kwq_keyed_find(keyed, key);
	struct kwq_extras kept = *extras;
	int ret;

	if (extras->flags & KWQ_ADD_TOKEN && !keyed->changes)
		return -EOPNOTSUPP;
	/* Not in @extras: the caller may have to try again, when the key may have gone. */
	if (ki && !kwq_item_is_idle(&ki->item)) {
		kept.flags &= ~(KWQ_ADD_GROUP | KWQ_ADD_NOTE);
		if (!(restored->state & (KWQ_IS_READY | KWQ_IS_WAITING)))
			kept.flags &= ~(KWQ_ADD_VALUE | KWQ_ADD_TOKEN);
		else if (kwq_item_is_dead(&ki->item))
			kept.flags &= ~KWQ_ADD_VALUE;
	}
	kept.flags |= KWQ_ADD_KEEP_VALUE;
	ret = kwq_keyed_add_locked(keyed, key, &options, &kept, now, stock);
	extras->value = kept.value;
	extras->note = kept.note;
	if (ret == KWQ_RESTORED && restored->dead_for)
		keyed->has_older_dead = true;
	return ret;
}

/* Takes a processing item from its holder, and out. Returns KWQ_WAS_* bits. */
static noinline int revoke(struct kwq_keyed *keyed, struct kwq_keyed_item *ki, ktime_t now)
{
	int was = KWQ_WAS_PROCESSING;

	if (ki->item.state & KWQ_ITEM_WAITING)
		was |= KWQ_WAS_WAITING;
	if (ki->item.state & KWQ_ITEM_DIRTY)
		was |= KWQ_WAS_DIRTY;
	if (ki->item.state & KWQ_ITEM_DEAD)
		was |= KWQ_WAS_DEAD;
	kwq_handout_revoke(keyed, ki, now);
	/* After a shut down, an item that was lost too often is gone already. */
	kwq_core_remove(&keyed->queue.core, &ki->item);
	return was;
}

/*
 * Finds the item that a remove takes out, or NULL. An idle item is there for its requeues (L10), or
 * only until the follower has read that it is gone.
 */
static struct kwq_keyed_item *find_to_remove(struct kwq_keyed *keyed, const struct kwq_key *key,
					     u32 flags, ktime_t now)
{
	struct kwq_keyed_item *ki = kwq_keyed_find(keyed, key);

	if (!ki || likely(!kwq_item_is_idle(&ki->item)))
		return ki;
	if (flags & KWQ_REMOVE_DEAD)
		return NULL;
	return kwq_core_num_requeues(&keyed->queue.core, &ki->item, now) ? ki : NULL;
}

/*
 * Does the caller know all adds of an item? An add that coalesced is no change. If the caller does
 * not know of one, it becomes a change now, and the follower reads the item again. The board may
 * have answered adds of a key that is there.
 */
static noinline int check_unchanged(struct kwq_keyed *keyed, struct kwq_keyed_item *ki, u64 change)
{
	if (!keyed->changes)
		return -EOPNOTSUPP;
	if (!ki)
		return -ENOENT;
	if (kwq_change_of(keyed, ki)->number > change || kwq_change_is_unread(keyed, ki))
		return -ESTALE;
	kwq_board_forget(keyed, ki);
	if (!ki->is_added)
		return 0;
	ki->is_added = false;
	kwq_note_change(keyed, ki);
	return -ESTALE;
}

/**
 * kwq_keyed_remove_locked() - take a key out (Q11)
 * @keyed: the queue; its lock held
 * @key: the key, with its hash
 * @flags: KWQ_REMOVE_* bits
 * @change: with KWQ_REMOVE_UNCHANGED, the number of the last change that the caller knows
 * @now: current time
 *
 * Only the queue of keys knows remembered items: core and its drivers have idle ones.
 *
 * Return: KWQ_WAS_* bits of what it was; -ENOENT if the queue has no such key; -ESTALE if it has
 * changed since @change; -EOPNOTSUPP if the queue does not know that.
 */
int kwq_keyed_remove_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
			    u32 flags, u64 change, ktime_t now)
{
	struct kwq_keyed_item *ki = find_to_remove(keyed, key, flags, now);
	int ret = flags & KWQ_REMOVE_UNCHANGED ? check_unchanged(keyed, ki, change) : 0;

	if (ret)
		return ret;
	if (!ki)
		return -ENOENT;
	if (flags & KWQ_REMOVE_REVOKE && ki->item.state & KWQ_ITEM_PROCESSING) {
		ret = revoke(keyed, ki, now);
	} else if (kwq_item_is_idle(&ki->item)) {
		kwq_core_forget(&keyed->queue.core, &ki->item, now);
		ret = KWQ_WAS_REMEMBERED;
	} else if (flags & KWQ_REMOVE_DEAD && !kwq_item_is_dead(&ki->item)) {
		ret = -ENOENT;
	} else {
		ret = kwq_core_remove(&keyed->queue.core, &ki->item);
	}
	if (ret < 0)
		return ret;
	trace_kwq_remove(&keyed->queue, &ki->item, ret);
	kwq_board_forget(keyed, ki);
	kwq_keyed_settle(keyed, ki, now);
	return ret;
}

/* Counts have 32 bits, but results only 31. */
static int count_result(u32 count)
{
	return min_t(u32, count, INT_MAX);
}

/**
 * kwq_keyed_forget_locked() - reset a key's requeues to 0 (L8)
 * @keyed: the queue; its lock held
 * @key: the key, with its hash
 * @now: current time
 *
 * Return: the number of requeues before, up to INT_MAX; 0 if the queue has no such key.
 */
int kwq_keyed_forget_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
			    ktime_t now)
{
	struct kwq_keyed_item *ki = kwq_keyed_find(keyed, key);
	int ret;

	if (!ki)
		return 0;
	ret = count_result(kwq_core_forget(&keyed->queue.core, &ki->item, now));
	if (keyed->limits.values)
		kwq_keyed_drop_slot(keyed, ki, KWQ_NOTE);
	kwq_keyed_settle(keyed, ki, now);
	return ret;
}

/**
 * kwq_keyed_num_requeues_locked() - how often a key was rate-limited (L9)
 * @keyed: the queue; its lock held
 * @key: the key, with its hash
 * @now: current time
 *
 * Return: the number, up to INT_MAX; 0 if the queue has no such key.
 */
int kwq_keyed_num_requeues_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
				  ktime_t now)
{
	struct kwq_keyed_item *ki = kwq_keyed_find(keyed, key);

	if (!ki)
		return 0;
	return count_result(kwq_core_num_requeues(&keyed->queue.core, &ki->item, now));
}

/**
 * kwq_keyed_advance() - advance a manual clock
 * @keyed: the queue
 * @time: a time span or a time, in ns
 * @to: true if @time is a time, false if it is a time span
 *
 * Context: process; may sleep.
 * Return: 0; -EINTR if a fatal signal came. With nothing changed: -EOPNOTSUPP (a real
 * clock), -EPERM (a named queue of another user), -EINVAL (a time in the past).
 */
int kwq_keyed_advance(struct kwq_keyed *keyed, u64 time, bool to)
{
	struct kwq_queue *queue = &keyed->queue;
	ktime_t now;

	if (queue->clock != KWQ_CLOCK_MANUAL)
		return -EOPNOTSUPP;
	if (*keyed->queue.name && !uid_eq(current_fsuid(), keyed->owner))
		return -EPERM;
	now = min_t(u64, time, KTIME_MAX);
	if (!to)
		now = kwq_begin_advance_by(queue, time);
	else if (now < kwq_queue_now(queue))
		return -EINVAL;
	/*
	 * There may be millions of due items. At the end of time, items that are taken back
	 * are due again at once.
	 */
	while (kwq_advance_some(queue, now)) {
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

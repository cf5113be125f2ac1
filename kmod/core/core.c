// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The state machine of one queue. core.h draws it.
 */
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/rbtree.h>
#include <linux/string.h>
#include <uapi/linux/kwq.h>
#include "core.h"
#include "form.h"
#include "limiter.h"
#include "line.h"
#include "order.h"
#include "waiting.h"

void kwq_item_init(struct kwq_item *item)
{
	item->holder = NULL;
	item->dirtied = 0;
	item->since = 0;
	item->abandoned = 0;
	item->requeues = 0;
	item->state = 0;
	item->lane = KWQ_LANE_FRESH;
	item->priority = 0;
	item->next_priority = 0;
	item->wait_priority = 0;
	item->marks = 0;
	item->disabled = 0;
	item->post = NULL;
}
EXPORT_SYMBOL_GPL(kwq_item_init);

/**
 * kwq_holder_init() - make a holder that holds nothing
 * @holder: the holder
 */
void kwq_holder_init(struct kwq_holder *holder)
{
	holder->nr_held = 0;
}

static void init_bulk(struct kwq_bulk *bulk)
{
	int lane, level;

	memset(bulk, 0, sizeof(*bulk));
	/* Items at the heads of bands count down from the first order, and never reach 0. */
	bulk->last_order = U64_MAX / 2;
	kwq_waiting_init(&bulk->waiting);
	kwq_line_init(&bulk->processing);
	kwq_line_init(&bulk->order.blocked);
	kwq_group_init(&bulk->order.ungrouped);
	for (lane = 0; lane < KWQ_NR_LANES; lane++)
		for (level = 0; level < KWQ_NR_PRIORITIES; level++)
			kwq_line_init(&bulk->bands[lane][level]);
}

/**
 * kwq_core_init() - make an empty queue
 * @core: the core
 * @form: KWQ_SMALL; or KWQ_LARGE for a core in a &struct kwq_large_core
 */
void kwq_core_init(struct kwq_core *core, enum kwq_form form)
{
	*core = (struct kwq_core)KWQ_SMALL_CORE(*core);
	if (form == KWQ_SMALL)
		return;
	core->form = form;
	init_bulk(kwq_bulk_of(core));
}

/**
 * kwq_core_is_used() - is an item in a core
 * @core: the core
 *
 * Return: true if an item is ready, processing, waiting or dead.
 */
bool kwq_core_is_used(const struct kwq_core *core)
{
	return core->nr_ready || core->nr_processing || kwq_core_has_waiting(core) ||
	       kwq_core_first_dead(core);
}

/* The state may be read while it changes: see &kwq_item.state. */
static void set_state(struct kwq_item *item, u8 state)
{
	WRITE_ONCE(item->state, state);
}

/* Gives a mark of an item this colour: that of the queue, or the opposite. */
static inline void set_colour(struct kwq_item *item, u8 mark, u8 colour)
{
	item->marks = (item->marks & ~mark) | (colour & mark);
}

/* K9: an item became dirty. */
static inline void mark_dirty(const struct kwq_core *core, struct kwq_item *item)
{
	set_colour(item, KWQ_MARK_DIRTY, core->marks);
}

/* Without a flush all marks in use have the queue's colour. */
static inline bool is_from_before(const struct kwq_core *core, const struct kwq_item *item,
				  u8 mark)
{
	return unlikely((item->marks ^ core->marks) & mark);
}

/* Something has ended that a task may wait for. */
static void note_end(struct kwq_core *core)
{
	core->ended = true;
	core->changed = true;
}

static void note_end_of_flush(struct kwq_core *core)
{
	core->flushes++;
	note_end(core);
}

/* K9: one of the dirty marks and runs has ended that the flush waits for. */
static noinline void flush_one(struct kwq_core *core)
{
	if (!--core->nr_before)
		note_end_of_flush(core);
}

/* K9: an item is not dirty any more, and will not be processed for that. */
static inline void drop_dirty_mark(struct kwq_core *core, const struct kwq_item *item)
{
	if (is_from_before(core, item, KWQ_MARK_DIRTY))
		flush_one(core);
}

/* K9: a run has ended that is awaited, or that a flush waits for. */
static noinline void note_marked_run(struct kwq_core *core, struct kwq_item *item)
{
	if (item->marks & KWQ_MARK_AWAITED) {
		item->marks &= ~KWQ_MARK_AWAITED;
		note_end(core);
	}
	if (is_from_before(core, item, KWQ_MARK_RUN))
		flush_one(core);
}

/*
 * K9: an item will be dirty after its run, and what it was processed for is not done. The
 * next run counts for both. A flush waits for it if it waits for either.
 */
static void carry_run_mark(struct kwq_core *core, struct kwq_item *item)
{
	bool dirty = item->state & KWQ_ITEM_DIRTY;

	if (!is_from_before(core, item, KWQ_MARK_RUN)) {
		if (!dirty)
			mark_dirty(core, item);
		return;
	}
	if (dirty && is_from_before(core, item, KWQ_MARK_DIRTY))
		flush_one(core);
	/* The end of this run does not count. That of the next one does. */
	set_colour(item, KWQ_MARK_RUN, core->marks);
	set_colour(item, KWQ_MARK_DIRTY, ~core->marks);
}

/* Q12: an add can only raise the priority of a dirty item. */
static void raise_priority(struct kwq_core *core, struct kwq_item *item,
			   int priority)
{
	u32 readied = core->readied;

	if (priority == KWQ_PRIORITY_NONE)
		return;

	if (item->state & KWQ_ITEM_PROCESSING) {
		item->next_priority = max_t(int, item->next_priority, priority);
	} else if (priority > item->priority) {
		leave_ready(core, item);
		join_ready(core, item, item->lane, priority, false);
		/* It was ready before, so it wakes nobody. */
		core->readied = readied;
	}
}

/*
 * The priority of an add that names none (Q12). An idle item gets 0. A waiting item gets the
 * priority of the delayed add, if that named one. All other items keep their own priority.
 *
 * make_dirty() calls this before revive(), because revive() makes a dead item idle. An item
 * whose wait has just ended would count as idle here, too, so make_dirty_as_awaited() passes
 * its priority.
 */
static int priority_kept(const struct kwq_item *item)
{
	if (!item->state)
		return 0;
	if (item->state == KWQ_ITEM_WAITING &&
	    item->wait_priority != KWQ_PRIORITY_NONE)
		return item->wait_priority;
	return item->priority;
}

/* Adds an item that has just died to @dead, behind all that died before. */
static void bury(struct kwq_core *core, struct kwq_item *item, ktime_t now)
{
	item->since = now;
	if (core->dead)
		list_add(&item->link, core->dead);
	else
		INIT_LIST_HEAD(&item->link);
	core->dead = &item->link;
	count_death(core, item);
}

static void unbury(struct kwq_core *core, struct kwq_item *item)
{
	if (core->dead == &item->link)
		core->dead = list_empty(&item->link) ? NULL : item->link.prev;
	list_del(&item->link);
	uncount(core, &kwq_bulk_of(core)->nr_dead);
}

/*
 * Q8 Q10: nothing is kept after a shut down. Without @now, this function cannot note when
 * the item became idle (L10). It resets the requeues instead.
 */
static void note_drop(struct kwq_core *core, struct kwq_item *item)
{
	count(core, &kwq_bulk_of(core)->dropped);
	if (kwq_item_is_idle(item))
		item->requeues = 0;
}

static void drop_dead(struct kwq_core *core, struct kwq_item *item)
{
	set_state(item, item->state & ~KWQ_ITEM_DEAD);
	item->abandoned = 0;
	note_drop(core, item);
}

/* An item has just died. After a shut down it is dropped, not kept. */
static void bury_or_drop(struct kwq_core *core, struct kwq_item *item, ktime_t now)
{
	if (core->shut_down)
		drop_dead(core, item);
	else
		bury(core, item, now);
}

/* L11 L12: a new event revives a dead item and resets its counts. */
static void revive(struct kwq_core *core, struct kwq_item *item)
{
	if (!(item->state & KWQ_ITEM_DEAD))
		return;
	if (kwq_item_is_dead(item)) {
		unbury(core, item);
		item->abandoned = 0;
	}
	set_state(item, item->state & ~KWQ_ITEM_DEAD);
	item->requeues = 0;
}

/* L10: an item that has been idle for long enough is forgotten. */
static void forget_if_untouched(const struct kwq_core *core, struct kwq_item *item,
				ktime_t now)
{
	if (item->requeues)
		item->requeues = kwq_core_num_requeues(core, item, now);
}

/* Q2: the result of a call that found the item dirty or waiting, and left that as it was. */
static int coalesced_with(const struct kwq_item *item)
{
	return kwq_is_dirty_again(item->state) ? KWQ_DIRTY : KWQ_COALESCED;
}

/* M1: an add makes an item dirty. */
static inline void note_dirtied(struct kwq_core *core, struct kwq_item *item, ktime_t now)
{
	count(core, &kwq_bulk_of(core)->adds);
	if (!is_waiting_at_work(item))
		set_dirtied(core, item, now);
}

static int make_dirty(struct kwq_core *core, struct kwq_item *item, int priority,
		      ktime_t now)
{
	int kept = priority_kept(item);

	revive(core, item);
	if (item->state & KWQ_ITEM_DIRTY) {
		raise_priority(core, item, priority);
		count(core, &kwq_bulk_of(core)->coalesced);
		return coalesced_with(item);
	}

	if (priority == KWQ_PRIORITY_NONE)
		priority = kept;
	note_dirtied(core, item, now);
	mark_dirty(core, item);
	set_state(item, item->state | KWQ_ITEM_DIRTY);
	if (item->state & KWQ_ITEM_PROCESSING) {
		core->nr_dirty_processing++;
		item->next_priority = priority;
		return KWQ_DIRTIED;
	}
	join_ready(core, item, KWQ_LANE_FRESH, priority, false);
	return KWQ_ADDED;
}

static inline void start_waiting(struct kwq_core *core, struct kwq_item *item, ktime_t when,
				 ktime_t now)
{
	if (join_waiting(core, item, when, now))
		core->changed = true;
	set_state(item, item->state | KWQ_ITEM_WAITING);
}

/*
 * If the item is dirty while it is processing, the time when it became so was not noted. So
 * that time counts from the hand-out (M1).
 */
static inline void clear_waiting(const struct kwq_core *core, struct kwq_item *item)
{
	if (is_waiting_at_work(item))
		set_dirtied(core, item, item->since);
	set_state(item, item->state & ~KWQ_ITEM_WAITING);
}

/* The same after make_dirty(), which returned @ret. */
static inline void clear_waiting_after(const struct kwq_core *core, struct kwq_item *item, int ret,
				       ktime_t now)
{
	clear_waiting(core, item);
	if (ret == KWQ_DIRTIED)
		set_dirtied(core, item, now);
}

/*
 * The caller clears KWQ_ITEM_WAITING, but not before it has made the item dirty, if it does.
 * kwq_item_pending() looks without the lock, and must not find an item idle in between.
 */
static void stop_waiting(struct kwq_core *core, struct kwq_item *item)
{
	leave_waiting(core, item);
	core->changed = true;
}

/**
 * kwq_core_due() - the time of a waiting item
 * @core: the core
 * @item: the item; waiting, or the last result of kwq_core_expire()
 *
 * Return: the time.
 */
ktime_t kwq_core_due(const struct kwq_core *core, const struct kwq_item *item)
{
	return due_of(core, item);
}

/**
 * kwq_core_waiting_since() - when a wait began (D9)
 * @core: the core
 * @item: the item; waiting
 *
 * Return: the time of the first add of this wait. In a small core, a wait that began while the
 * item was processing counts from the hand-out.
 */
ktime_t kwq_core_waiting_since(const struct kwq_core *core, const struct kwq_item *item)
{
	return waits_since(core, item);
}

/**
 * kwq_core_dirty_since() - when an item became dirty (Q15)
 * @item: the item, of a large core; dirty
 *
 * Return: the time. Of an item that is also processing and waiting it is not known, and this is
 * the time of the hand-out.
 */
ktime_t kwq_core_dirty_since(const struct kwq_item *item)
{
	return is_waiting_at_work(item) ? item->since : item->dirtied;
}

/**
 * kwq_core_latest() - until when an add may postpone a wait (D9)
 * @core: the core
 * @item: the item
 * @at_most: the longest wait, in ns from its first add
 * @now: current time; the wait begins now if the item is not waiting
 *
 * Return: the time; KTIME_MAX if it is beyond the clock's range (D7).
 */
ktime_t kwq_core_latest(const struct kwq_core *core, const struct kwq_item *item,
			u64 at_most, ktime_t now)
{
	ktime_t since = item->state & KWQ_ITEM_WAITING ? kwq_core_waiting_since(core, item) : now;

	/* A restored item may have waited since before the clock began. */
	if (at_most >= (u64)KTIME_MAX - (u64)since)
		return KTIME_MAX;
	return (u64)since + at_most;
}

/**
 * kwq_core_has_waiting() - is an item waiting
 * @core: the core
 *
 * Return: true if so.
 */
bool kwq_core_has_waiting(const struct kwq_core *core)
{
	return has_waiting(core);
}

/* Adds an item whose time has come. Its wait has ended, or did not even begin. */
static int make_dirty_as_awaited(struct kwq_core *core, struct kwq_item *item,
				 ktime_t now)
{
	int priority = item->wait_priority, ret;

	/*
	 * Q12: an item that was dead keeps its priority, though its state is 0 now. If the item
	 * was idle, add_at() has set its priority to 0.
	 */
	if (!item->state && priority == KWQ_PRIORITY_NONE)
		priority = item->priority;
	ret = make_dirty(core, item, priority, now);
	clear_waiting_after(core, item, ret, now);
	return ret;
}

/* Slow path: see kwq_core_add(). Most added items are idle. */
static noinline int add_unusual(struct kwq_core *core, struct kwq_item *item,
				int priority, bool end_wait, ktime_t now)
{
	int ret;

	if (kwq_core_refuses(core, item))
		return -ESHUTDOWN;
	forget_if_untouched(core, item, now);
	ret = make_dirty(core, item, priority, now);
	if (end_wait && (item->state & KWQ_ITEM_WAITING)) {
		/* The delayed add ends with the wait, but its priority still counts. */
		raise_priority(core, item, item->wait_priority);
		stop_waiting(core, item);
		clear_waiting_after(core, item, ret, now);
	}
	return ret;
}

/**
 * kwq_core_add() - mark an item as in need of processing (Q1, Q2, Q4, Q12)
 * @core: the core
 * @item: the item
 * @priority: KWQ_PRIORITY_MIN to KWQ_PRIORITY_MAX, or KWQ_PRIORITY_NONE
 * @end_wait: whether to end its waiting, too (D3)
 * @now: current time
 *
 * Return: KWQ_ADDED, KWQ_COALESCED, KWQ_DIRTIED or KWQ_DIRTY; -ESHUTDOWN with
 * nothing changed if the queue is shut down or the item cancelled.
 */
int kwq_core_add(struct kwq_core *core, struct kwq_item *item, int priority,
		 bool end_wait, ktime_t now)
{
	if (unlikely(!kwq_core_adds_plainly(core, item)))
		return add_unusual(core, item, priority, end_wait, now);

	/* An idle item and a large core: the same as make_dirty(). */
	kwq_bulk_of(core)->adds++;
	item->dirtied = now;
	mark_dirty(core, item);
	set_state(item, KWQ_ITEM_DIRTY);
	if (priority == KWQ_PRIORITY_NONE)
		priority = 0;
	item->lane = KWQ_LANE_FRESH;
	item->priority = priority;
	join_band(core, item, KWQ_LANE_FRESH, priority, false);
	core->nr_ready++;
	core->readied++;
	return KWQ_ADDED;
}

static ktime_t merged_time(ktime_t old, ktime_t new, enum kwq_wait_policy policy)
{
	switch (policy) {
	case KWQ_WAIT_REPLACE:
		return new;
	case KWQ_WAIT_KEEP:
		return old;
	case KWQ_WAIT_LATER:
		return max(old, new);
	case KWQ_WAIT_EARLIER:
		break;
	}
	return min(old, new);
}

static int merged_priority(int old, int new, enum kwq_wait_policy policy)
{
	if (new == KWQ_PRIORITY_NONE)
		return old;
	if (old == KWQ_PRIORITY_NONE || policy == KWQ_WAIT_REPLACE)
		return new;
	return max(old, new);
}

/* D4: due items that have not expired yet go first if their time is earlier or equal. */
static inline bool is_due_first(const struct kwq_core *core, ktime_t when, ktime_t now)
{
	return when <= now && (!kwq_core_has_waiting(core) || when < next_time(core));
}

static inline int add_at(struct kwq_core *core, struct kwq_item *item, int priority,
			 ktime_t when, enum kwq_wait_policy policy, ktime_t now)
{
	bool waited = item->state & KWQ_ITEM_WAITING, begins_in_use = false;
	ktime_t old;

	count(core, &kwq_bulk_of(core)->retries);
	if (kwq_item_is_idle(item)) {
		/*
		 * Q12: an idle item starts from 0. The add's own priority is kept in
		 * wait_priority.
		 */
		item->priority = 0;
		item->wait_priority = priority;
		item->since = now;
	} else if (!waited) {
		revive(core, item);
		item->wait_priority = priority;
		begins_in_use = true;
	} else {
		revive(core, item);
		old = kwq_core_due(core, item);
		when = merged_time(old, when, policy);
		item->wait_priority = merged_priority(item->wait_priority,
						      priority, policy);
		/* An unchanged time keeps its place among equal times (D4). */
		if (when == old) {
			count(core, &kwq_bulk_of(core)->coalesced);
			return KWQ_COALESCED;
		}
		stop_waiting(core, item);
	}

	if (is_due_first(core, when, now))
		return make_dirty_as_awaited(core, item, now);
	if (begins_in_use)
		note_wait_began(core, item, now);
	start_waiting(core, item, when, now);
	if (!waited)
		return KWQ_WAITING;
	count(core, &kwq_bulk_of(core)->coalesced);
	return KWQ_COALESCED;
}

/**
 * kwq_core_add_at() - add an item when its time comes (D1 to D4)
 * @core: the core
 * @item: the item
 * @priority: as for kwq_core_add(), used when the time has come
 * @when: the time
 * @policy: what to do if the item has a time already
 * @now: current time
 *
 * If the time has come, the item becomes dirty at once, as by kwq_core_add(). There is one
 * exception: waiting items may be due at the same time or earlier, but not expired yet. Then
 * the item waits behind them.
 *
 * Return: KWQ_WAITING if the item waits from now on; KWQ_COALESCED if it was waiting before
 * and still is; the result of kwq_core_add() if it does not wait; -ESHUTDOWN with nothing
 * changed.
 */
int kwq_core_add_at(struct kwq_core *core, struct kwq_item *item, int priority,
		    ktime_t when, enum kwq_wait_policy policy, ktime_t now)
{
	if (kwq_core_refuses(core, item))
		return -ESHUTDOWN;
	forget_if_untouched(core, item, now);
	return add_at(core, item, priority, when, policy, now);
}

/**
 * kwq_core_coalesce() - coalesce an add if the item is dirty or waiting
 * @core: the core
 * @item: the item
 *
 * Changes neither the item's priority nor its time.
 *
 * Return: KWQ_COALESCED or KWQ_DIRTY if the add coalesced; 0 with nothing changed if the
 * item is neither dirty nor waiting; -ESHUTDOWN with nothing changed.
 */
int kwq_core_coalesce(struct kwq_core *core, struct kwq_item *item)
{
	if (kwq_core_refuses(core, item))
		return -ESHUTDOWN;
	if (!(item->state & (KWQ_ITEM_DIRTY | KWQ_ITEM_WAITING)))
		return 0;
	count(core, &kwq_bulk_of(core)->coalesced);
	return coalesced_with(item);
}

/* A call ends the wait of a waiting item before its time. */
static int end_wait_early(struct kwq_core *core, struct kwq_item *item, ktime_t now)
{
	stop_waiting(core, item);
	return make_dirty_as_awaited(core, item, now);
}

/**
 * kwq_core_expedite() - add a waiting item before its time (K9)
 * @core: the core
 * @item: the item
 * @now: current time
 *
 * The item gets the priority that it would have got at its time.
 *
 * Return: KWQ_ADDED, KWQ_COALESCED, KWQ_DIRTIED or KWQ_DIRTY; -ENOENT with nothing changed
 * if it is not waiting; -ESHUTDOWN with nothing changed.
 */
int kwq_core_expedite(struct kwq_core *core, struct kwq_item *item, ktime_t now)
{
	if (kwq_core_refuses(core, item))
		return -ESHUTDOWN;
	if (!(item->state & KWQ_ITEM_WAITING))
		return -ENOENT;
	return end_wait_early(core, item, now);
}

/*
 * The time that was @span ns ago: negative if that was before the clock began, but never as early
 * as KWQ_NO_TIME. That stands for a @span that is not known.
 */
static ktime_t ago(ktime_t now, u64 span)
{
	if (span == KWQ_AGE_UNKNOWN)
		return KWQ_NO_TIME;
	return now - (s64)min_t(u64, span, KTIME_MAX);
}

static void restore_ready(struct kwq_core *core, struct kwq_item *item,
			  const struct kwq_restored *restored, ktime_t now)
{
	enum kwq_lane lane = restored->state & KWQ_IS_RETURNED ? KWQ_LANE_RETURNED : KWQ_LANE_FRESH;

	kwq_bulk_of(core)->adds++;
	item->dirtied = ago(now, restored->dirty_for);
	mark_dirty(core, item);
	set_state(item, item->state | KWQ_ITEM_DIRTY);
	join_ready(core, item, lane, restored->priority, false);
}

static void restore_waiting(struct kwq_core *core, struct kwq_item *item,
			    const struct kwq_restored *restored, ktime_t now)
{
	item->wait_priority = restored->wait_priority;
	if (is_due_first(core, restored->due, now)) {
		make_dirty_as_awaited(core, item, now);
		return;
	}
	start_waiting(core, item, restored->due, now);
	item->since = ago(now, restored->waiting_for);
}

static void restore_dead(struct kwq_core *core, struct kwq_item *item,
			 const struct kwq_restored *restored, ktime_t now)
{
	count(core, &kwq_bulk_of(core)->died);
	set_state(item, KWQ_ITEM_DEAD);
	bury(core, item, now);
	item->since = ago(now, restored->dead_for);
}

/* U8: an item that is in use keeps its state, but the work that was saved is not lost. */
static int restore_by_add(struct kwq_core *core, struct kwq_item *item,
			  const struct kwq_restored *restored, ktime_t now)
{
	int ret = KWQ_COALESCED, waits = KWQ_COALESCED;

	if (restored->state & KWQ_IS_READY)
		ret = kwq_core_add(core, item, restored->priority, false, now);
	if (restored->state & KWQ_IS_WAITING)
		waits = kwq_core_add_at(core, item, restored->wait_priority, restored->due,
					KWQ_WAIT_EARLIER, now);
	return restored->state & KWQ_IS_READY ? ret : waits;
}

/**
 * kwq_core_restore() - put an item back as it was saved (U8)
 * @core: the core; large
 * @item: the item
 * @restored: how it was saved
 * @now: current time
 *
 * A ready item goes to the tail of the band of its lane and priority, and a dead item behind all
 * that are dead. An idle item is the only one that gets all of its saved state. Any other is
 * added, at once if the saved item was ready, and at its time if it was waiting.
 *
 * Return: KWQ_RESTORED if the item was idle. Else the result of kwq_core_add() or
 * kwq_core_add_at(); KWQ_COALESCED if there was nothing to add. -ESHUTDOWN with nothing changed.
 */
int kwq_core_restore(struct kwq_core *core, struct kwq_item *item,
		     const struct kwq_restored *restored, ktime_t now)
{
	if (kwq_core_refuses(core, item))
		return -ESHUTDOWN;
	if (!kwq_item_is_idle(item))
		return restore_by_add(core, item, restored, now);
	item->requeues = max(kwq_core_num_requeues(core, item, now), restored->requeues);
	/* A wait alone begins after a done, which has reset the count. */
	item->abandoned = restored->state & (KWQ_IS_READY | KWQ_IS_DEAD) ? restored->abandoned : 0;
	item->priority = restored->priority;
	item->since = now;
	if (restored->state & KWQ_IS_READY)
		restore_ready(core, item, restored, now);
	if (restored->state & KWQ_IS_WAITING)
		restore_waiting(core, item, restored, now);
	if (restored->state & KWQ_IS_DEAD)
		restore_dead(core, item, restored, now);
	return KWQ_RESTORED;
}

/**
 * kwq_core_limits() - how a core limits retries
 * @core: the core
 *
 * Return: the configuration.
 */
const struct kwq_limiter_config *kwq_core_limits(const struct kwq_core *core)
{
	return core->limiter ? &core->limiter->config : &kwq_default_limits;
}

/**
 * kwq_core_num_requeues() - how often an item was rate-limited (L9)
 * @core: the core
 * @item: the item
 * @now: current time
 *
 * Return: the number since it was last forgotten; 0 if it has been idle for forget_after
 * (L10).
 */
u32 kwq_core_num_requeues(const struct kwq_core *core,
			  const struct kwq_item *item, ktime_t now)
{
	u64 forget_after = kwq_core_limits(core)->forget_after;

	if (forget_after && kwq_item_is_idle(item) &&
	    kwq_span(item->since, now) >= forget_after)
		return 0;
	return item->requeues;
}

/**
 * kwq_core_forget() - reset an item's requeues to 0 (L8)
 * @core: the core
 * @item: the item
 * @now: current time
 *
 * Return: the number of requeues before.
 */
u32 kwq_core_forget(const struct kwq_core *core, struct kwq_item *item,
		    ktime_t now)
{
	u32 requeues = kwq_core_num_requeues(core, item, now);

	item->requeues = 0;
	return requeues;
}

/* L11: the item is dead, now or at its done, unless it is dirty or waiting. */
static int die_unless_needed(struct kwq_core *core, struct kwq_item *item, ktime_t now)
{
	/* An add before this failure made it dirty or gave it a time, so it gets that run. */
	if (item->state & (KWQ_ITEM_DIRTY | KWQ_ITEM_WAITING)) {
		count(core, &kwq_bulk_of(core)->coalesced);
		return coalesced_with(item);
	}
	count(core, &kwq_bulk_of(core)->died);
	set_state(item, item->state | KWQ_ITEM_DEAD);
	if (!(item->state & KWQ_ITEM_PROCESSING))
		bury(core, item, now);
	return KWQ_DEAD;
}

/**
 * kwq_core_add_rate_limited() - add an item after the limiters' delay (L1)
 * @core: the core
 * @item: the item
 * @priority: as for kwq_core_add_at()
 * @policy: as for kwq_core_add_at()
 * @now: current time
 * @random: random number for the jitter, used if @jitters of the limiters
 *
 * A delay of zero with KWQ_WAIT_EARLIER makes it kwq_core_add().
 *
 * Return: as kwq_core_add_at(), or KWQ_DEAD.
 */
int kwq_core_add_rate_limited(struct kwq_core *core, struct kwq_item *item,
			      int priority, enum kwq_wait_policy policy,
			      ktime_t now, u32 random)
{
	const struct kwq_limiter_config *config = kwq_core_limits(core);
	u64 delay;

	if (kwq_core_refuses(core, item))
		return -ESHUTDOWN;
	if (item->state & KWQ_ITEM_DEAD)
		return KWQ_DEAD;
	if (config->flags & KWQ_CONFIG_COALESCE &&
	    item->state & KWQ_ITEM_WAITING) {
		item->wait_priority = merged_priority(item->wait_priority,
						      priority, policy);
		count(core, &kwq_bulk_of(core)->coalesced);
		return KWQ_COALESCED;
	}

	forget_if_untouched(core, item, now);
	if (config->dead_after && item->requeues >= config->dead_after)
		return die_unless_needed(core, item, now);
	delay = kwq_rate_limiter_when(core->limiter, item->requeues, now, random);
	if (item->requeues < U32_MAX)
		item->requeues++;
	count(core, &kwq_bulk_of(core)->rate_limited);
	/* D1 D3: a delay of zero is an immediate add, and leaves the item's wait alone. */
	if (!delay && policy == KWQ_WAIT_EARLIER) {
		count(core, &kwq_bulk_of(core)->retries);
		/* L10: the add below must not forget the new count. */
		if (kwq_item_is_idle(item))
			item->since = now;
		return kwq_core_add(core, item, priority, false, now);
	}
	return add_at(core, item, priority, ktime_add_safe(now, delay), policy, now);
}

/**
 * kwq_core_give_up() - make an item dead, however often it was tried (L11)
 * @core: the core
 * @item: the item
 * @now: current time
 *
 * Return: KWQ_DEAD if it is dead, now or at its done; KWQ_COALESCED or KWQ_DIRTY if it is
 * dirty or waiting, and so gets another run; -ESHUTDOWN with nothing changed.
 */
int kwq_core_give_up(struct kwq_core *core, struct kwq_item *item, ktime_t now)
{
	if (kwq_core_refuses(core, item))
		return -ESHUTDOWN;
	if (item->state & KWQ_ITEM_DEAD)
		return KWQ_DEAD;
	return die_unless_needed(core, item, now);
}

/**
 * kwq_core_first_ready() - find a ready item, even of a paused queue
 * @core: the core
 *
 * O(1) (Q12): one find-last-set over the bands of both lanes.
 *
 * Return: the first item, without aging (Q17). If all groups are at their limits (Q16), an item
 * of one of them. NULL if none is ready.
 */
struct kwq_item *kwq_core_first_ready(const struct kwq_core *core)
{
	if (kwq_core_is_grouped(core))
		return kwq_groups_any(core);
	return first_ready(core);
}

static noinline struct kwq_item *peek_unusual(const struct kwq_core *core, ktime_t now)
{
	if (kwq_core_is_paused(core))
		return NULL;
	return core->form == KWQ_LARGE_ORDERED ? kwq_order_first(core, now) : first_ready(core);
}

/**
 * kwq_core_peek() - find the item that the next get will hand out
 * @core: the core
 * @now: current time
 *
 * Return: the item; NULL if none is ready, or if the groups of all ready items are at their limits
 * (Q16). Also NULL if the queue is paused (Q14), or if its term was found to be over (Q20).
 */
struct kwq_item *kwq_core_peek(const struct kwq_core *core, ktime_t now)
{
	return unlikely(core->unusual) ? peek_unusual(core, now) : first_of_bands(core);
}

/*
 * Each run has a number, so that a flush can tell it from later ones, and takes the colour of the
 * dirty mark that it ends.
 */
static inline u8 marks_of_next_run(u8 marks)
{
	u8 colour = marks & KWQ_MARK_DIRTY ? KWQ_MARK_DIRTY | KWQ_MARK_RUN : 0;

	return ((marks + KWQ_MARK_NEXT_NUMBER) & KWQ_MARK_NUMBER) | colour;
}

/**
 * kwq_core_take() - hand out a ready item (Q1, Q3, Q5)
 * @core: the core
 * @item: the item
 * @holder: its new holder
 * @now: current time
 */
void kwq_core_take(struct kwq_core *core, struct kwq_item *item,
		   struct kwq_holder *holder, ktime_t now)
{
	join_processing(core, item, now);
	/* A ready item is dirty and not processing. Both change, and no other bit does. */
	set_state(item, item->state ^ (KWQ_ITEM_DIRTY | KWQ_ITEM_PROCESSING));
	item->marks = marks_of_next_run(item->marks);
	item->holder = holder;
	if (unlikely(item->state & KWQ_ITEM_WAITING))
		note_start_of_waiting(core, item, now);
	else
		item->since = now;
	holder->nr_held++;
}

/**
 * kwq_core_get_item() - hand out this item, wherever it is in the queue (K9)
 * @core: the core
 * @item: the item
 * @holder: its new holder
 * @now: current time
 *
 * A waiting item is added first, so its wait ends. If it is ready, too, one hand-out serves
 * both. A pause does not matter, and neither does the limit of a group (Q16).
 *
 * Return: 0. With nothing changed: -EBUSY if it is being processed, -ENOENT if it is neither
 * ready nor waiting.
 */
int kwq_core_get_item(struct kwq_core *core, struct kwq_item *item,
		      struct kwq_holder *holder, ktime_t now)
{
	if (item->state & KWQ_ITEM_PROCESSING)
		return -EBUSY;
	/* Q8: a shut down ends all waiting, even if the item is not dropped yet. */
	if (item->state & KWQ_ITEM_WAITING && !core->shut_down)
		end_wait_early(core, item, now);
	if (!(item->state & KWQ_ITEM_DIRTY))
		return -ENOENT;
	kwq_core_take(core, item, holder, now);
	return 0;
}

/*
 * K3: an item of a cancelled queue does not become ready again, even if it was added while
 * it was processing. kwq_core_drop() drops its waiting time.
 */
static noinline void take_out(struct kwq_core *core, struct kwq_item *item)
{
	if (item->state & KWQ_ITEM_DIRTY)
		drop_dirty_mark(core, item);
	set_state(item, item->state & (KWQ_ITEM_DISABLED | KWQ_ITEM_WAITING));
	item->requeues = 0;
	item->abandoned = 0;
	count(core, &kwq_bulk_of(core)->removed);
}

static inline void leave_holder(struct kwq_core *core, struct kwq_item *item)
{
	item->holder->nr_held--;
	set_state(item, item->state & ~KWQ_ITEM_PROCESSING);
	core->nr_processing--;
	if (item->state & KWQ_ITEM_DIRTY)
		core->nr_dirty_processing--;
	if (is_from_before(core, item, KWQ_MARK_RUN | KWQ_MARK_AWAITED))
		note_marked_run(core, item);
	if (item->state & KWQ_ITEM_DISABLED) {
		/* It is idle now, and may be enabled later. */
		item->abandoned = 0;
		note_end(core);
	}
	if (likely(!core->unusual)) {
		end_processing(core, item);
		return;
	}
	leave_processing_unusual(core, item);
	if (unlikely(core->cancelled))
		take_out(core, item);
}

/**
 * kwq_core_hand_over() - let another holder have an item (K14)
 * @item: the item; processing
 * @holder: its new holder
 */
void kwq_core_hand_over(struct kwq_item *item, struct kwq_holder *holder)
{
	item->holder->nr_held--;
	holder->nr_held++;
	item->holder = holder;
}

/* K3: the item or the whole queue was cancelled. */
static bool stays_out(const struct kwq_core *core, const struct kwq_item *item)
{
	return core->cancelled || item->state & KWQ_ITEM_DISABLED;
}

/**
 * kwq_core_done() - finish an item (Q4, Q6)
 * @core: the core
 * @holder: the caller
 * @item: the item
 * @now: current time
 *
 * Return: KWQ_FINISHED, or one or both of these bits: KWQ_REQUEUED if it was added
 * meanwhile and is ready again, KWQ_STILL_WAITING if it is waiting for a time. With nothing
 * changed: -ENOENT if it is not being processed, -EPERM if another holder has it.
 */
int kwq_core_done(struct kwq_core *core, struct kwq_holder *holder,
		  struct kwq_item *item, ktime_t now)
{
	int ret = kwq_core_check_holder(holder, item);

	if (unlikely(ret))
		return ret;
	ret = KWQ_FINISHED;
	leave_holder(core, item);
	note_done(core, item, now);
	item->abandoned = 0;
	if (item->state & KWQ_ITEM_WAITING) {
		note_end_of_waiting(core, item);
		/* Q8: a shut down ends all waiting, even if the item is not dropped yet. */
		if (!core->shut_down)
			ret = KWQ_STILL_WAITING;
	} else {
		item->since = now;
	}
	if (item->state & KWQ_ITEM_DIRTY) {
		join_ready(core, item, KWQ_LANE_FRESH, item->next_priority, false);
		return ret | KWQ_REQUEUED;
	}
	if (kwq_item_is_dead(item))
		bury_or_drop(core, item, now);
	return ret;
}

/*
 * The priority of an item that comes back without a done. Its next run also serves an add
 * that came meanwhile, so the higher priority of the two counts.
 */
static int priority_undone(const struct kwq_item *item)
{
	if (item->state & KWQ_ITEM_DIRTY)
		return max(item->priority, item->next_priority);
	return item->priority;
}

/*
 * The item returns to where it was, the head of its band. Its group has its turn again (Q16).
 * If an add raised its priority or changed its group meanwhile, it goes to the tail there.
 *
 * Returns false if the item or the queue was cancelled, and so it does not come back.
 */
static bool put_back(struct kwq_core *core, struct kwq_item *item)
{
	int priority = priority_undone(item);
	bool moved = priority > item->priority ||
		     (kwq_core_is_grouped(core) && kwq_groups_has_moved(core, item));
	bool comes_back = !stays_out(core, item);

	note_undone(core, item);
	if (comes_back)
		carry_run_mark(core, item);
	leave_holder(core, item);
	if (item->state & KWQ_ITEM_WAITING)
		note_end_of_waiting(core, item);
	if (!comes_back)
		return false;
	set_state(item, (item->state & ~KWQ_ITEM_DEAD) | KWQ_ITEM_DIRTY);
	/* Q12: an item joins a new band at the tail. */
	join_ready(core, item, item->lane, priority, !moved);
	return true;
}

/**
 * kwq_core_unget() - undo a hand-out that did not reach its holder (O2)
 * @core: the core
 * @item: a processing item
 *
 * The item returns to where it was. Undo several hand-outs in reverse order.
 */
void kwq_core_unget(struct kwq_core *core, struct kwq_item *item)
{
	uncount(core, &kwq_bulk_of(core)->gets);
	put_back(core, item);
}

/**
 * kwq_core_give_back() - take an item back that its holder has not worked on (O2)
 * @core: the core
 * @holder: the caller
 * @item: the item
 * @now: current time
 *
 * The item returns to where it was, even after a shut down. Its requeues, its losses and its time
 * are as before. Give several items back in reverse order.
 *
 * Return: KWQ_RETURNED, and perhaps KWQ_STILL_WAITING; KWQ_FINISHED if the item or the queue was
 * cancelled. With nothing changed: the errors of kwq_core_done().
 */
noinline int kwq_core_give_back(struct kwq_core *core, struct kwq_holder *holder,
				struct kwq_item *item, ktime_t now)
{
	int ret = kwq_core_check_holder(holder, item);

	if (ret)
		return ret;
	count(core, &kwq_bulk_of(core)->returned);
	if (!put_back(core, item)) {
		if (!(item->state & KWQ_ITEM_WAITING))
			item->since = now;
		return KWQ_FINISHED;
	}
	/* Q8: a shut down ends all waiting, even if the item is not dropped yet. */
	if (item->state & KWQ_ITEM_WAITING && !core->shut_down)
		return KWQ_RETURNED | KWQ_STILL_WAITING;
	return KWQ_RETURNED;
}

/*
 * L12: did the item lose its holder too often? If it was added meanwhile, or has a time,
 * that is a new event, and it gets that run.
 */
static bool is_lost_too_often(const struct kwq_core *core, const struct kwq_item *item)
{
	u32 limit = kwq_core_limits(core)->dead_after_lost;

	return limit && item->abandoned >= limit &&
	       !(item->state & (KWQ_ITEM_DIRTY | KWQ_ITEM_WAITING));
}

/**
 * kwq_core_abandon() - take a lost item back from its holder (O1, L12)
 * @core: the core
 * @item: a processing item
 * @now: current time
 *
 * The item is ready again, even after a shut down. After the first loss it goes ahead of
 * items of its priority that were never tried. After each further loss it goes to the tail,
 * because the item itself may have killed its holders. After dead_after_lost losses without
 * a done it is dead.
 *
 * Return: KWQ_REQUEUED if it is ready again; KWQ_DEAD if it is dead (after a shut down:
 * dropped); KWQ_FINISHED if the item or the queue was cancelled.
 */
int kwq_core_abandon(struct kwq_core *core, struct kwq_item *item, ktime_t now)
{
	int priority = priority_undone(item);

	count(core, &kwq_bulk_of(core)->abandoned);
	if (stays_out(core, item)) {
		leave_holder(core, item);
		if (item->state & KWQ_ITEM_WAITING)
			note_end_of_waiting(core, item);
		else
			item->since = now;
		return KWQ_FINISHED;
	}
	if (item->abandoned < U32_MAX)
		item->abandoned++;
	if (is_lost_too_often(core, item)) {
		leave_holder(core, item);
		/* An item that was marked to die at its done is counted already (L11). */
		if (!(item->state & KWQ_ITEM_DEAD))
			count(core, &kwq_bulk_of(core)->died);
		set_state(item, KWQ_ITEM_DEAD);
		bury_or_drop(core, item, now);
		return KWQ_DEAD;
	}
	carry_run_mark(core, item);
	leave_holder(core, item);
	if (item->state & KWQ_ITEM_WAITING)
		note_end_of_waiting(core, item);
	if (!(item->state & KWQ_ITEM_DIRTY))
		set_dirtied(core, item, now);
	/* There was no done, so a mark to die at the done ends. The next run decides again. */
	set_state(item, (item->state & ~KWQ_ITEM_DEAD) | KWQ_ITEM_DIRTY);
	join_ready(core, item, item->abandoned > 1 ? KWQ_LANE_FRESH : KWQ_LANE_RETURNED,
		   priority, false);
	return KWQ_REQUEUED;
}

/**
 * kwq_core_remove() - take an item out (Q11)
 * @core: the core
 * @item: the item
 *
 * A processing item stays with its holder until its done.
 *
 * Return: KWQ_WAS_* bits of what it was; -ENOENT if it was idle.
 */
int kwq_core_remove(struct kwq_core *core, struct kwq_item *item)
{
	int was = 0;

	if (item->state & KWQ_ITEM_WAITING) {
		stop_waiting(core, item);
		clear_waiting(core, item);
		was |= KWQ_WAS_WAITING;
	}
	if (item->state & KWQ_ITEM_PROCESSING) {
		was |= KWQ_WAS_PROCESSING;
		if (item->state & KWQ_ITEM_DIRTY) {
			core->nr_dirty_processing--;
			drop_dirty_mark(core, item);
			was |= KWQ_WAS_DIRTY;
		}
	} else if (item->state & KWQ_ITEM_DIRTY) {
		leave_ready(core, item);
		drop_dirty_mark(core, item);
		item->abandoned = 0;
		was |= KWQ_WAS_READY;
	}
	if (item->state & KWQ_ITEM_DEAD) {
		if (kwq_item_is_dead(item)) {
			unbury(core, item);
			item->abandoned = 0;
		}
		was |= KWQ_WAS_DEAD;
	}
	if (!was)
		return -ENOENT;
	set_state(item, item->state & (KWQ_ITEM_PROCESSING | KWQ_ITEM_DISABLED));
	item->requeues = 0;
	count(core, &kwq_bulk_of(core)->removed);
	return was;
}

/**
 * kwq_core_disable() - take an item out, and make it refuse adds (K3, K8)
 * @core: the core
 * @item: the item
 *
 * Removes the item. It refuses adds until kwq_core_enable() was called as often as this
 * function, or until kwq_item_init(). If it is being processed, it becomes idle when that
 * ends in any way, and @ended of the core is set.
 *
 * Return: KWQ_WAS_* bits of what it was; 0 if it was idle.
 */
int kwq_core_disable(struct kwq_core *core, struct kwq_item *item)
{
	int was = max(kwq_core_remove(core, item), 0);

	set_state(item, item->state | KWQ_ITEM_DISABLED);
	if (item->disabled < U16_MAX)
		item->disabled++;
	return was;
}

/**
 * kwq_core_enable() - undo one kwq_core_disable() (K8)
 * @item: a disabled item
 *
 * An item that was disabled 65,535 times stays disabled until kwq_item_init().
 */
void kwq_core_enable(struct kwq_item *item)
{
	if (item->disabled < U16_MAX && !--item->disabled)
		set_state(item, item->state & ~KWQ_ITEM_DISABLED);
}

/**
 * kwq_core_cancel_all() - let no item become ready again after its processing (K3)
 * @core: the core; shut down
 *
 * Each processing item becomes idle when its processing ends in any way, even if it was
 * added meanwhile, and counts as removed. The caller takes out ready, waiting and dead
 * items by kwq_core_remove() and kwq_core_drop().
 *
 * O(1), however many items are processing.
 */
void kwq_core_cancel_all(struct kwq_core *core)
{
	WRITE_ONCE(core->cancelled, true);
}

/**
 * kwq_core_expire() - add the first item whose time has come (D4, D5)
 * @core: the core
 * @now: current time
 * @budget: in: how many items this may add or move among the waiting ones; out: how many are
 *	left
 *
 * Return: the item, whose time kwq_core_due() still finds; NULL if no item is due, or if
 * @budget ran out before the next due item was found.
 */
struct kwq_item *kwq_core_expire(struct kwq_core *core, ktime_t now,
				 unsigned int *budget)
{
	struct kwq_item *item;

	if (core->shut_down)
		return NULL;
	item = take_due(core, now, budget);
	if (!item)
		return NULL;
	core->changed = true;
	make_dirty_as_awaited(core, item, now);
	return item;
}

/**
 * kwq_core_next_time() - when to call kwq_core_expire() next
 * @core: the core
 *
 * Return: the earliest time, or a lower bound of it as for kwq_waiting_next(). KTIME_MAX if
 * no item is waiting, and after a shut down.
 */
ktime_t kwq_core_next_time(const struct kwq_core *core)
{
	return core->shut_down ? KTIME_MAX : next_time(core);
}

/**
 * kwq_core_pause() - hand out nothing until a resume (Q14)
 * @core: the core
 *
 * Items become ready as before. Pauses nest. A queue that was paused 16,383 times stays
 * paused.
 */
void kwq_core_pause(struct kwq_core *core)
{
	if (kwq_core_pauses(core) < KWQ_PAUSES_MAX)
		WRITE_ONCE(core->paused, core->paused + 1);
}

/**
 * kwq_core_resume() - undo one kwq_core_pause() (Q14)
 * @core: the core; paused
 *
 * Return: true if nothing is in the way of hand-outs any more. The caller wakes waiters for all
 * ready items.
 */
bool kwq_core_resume(struct kwq_core *core)
{
	if (kwq_core_pauses(core) < KWQ_PAUSES_MAX)
		WRITE_ONCE(core->paused, core->paused - 1);
	return !kwq_core_is_paused(core);
}

/**
 * kwq_core_begin_flush() - begin to count down to the end of all that is queued (K9)
 * @core: the core; @nr_before is 0
 *
 * All dirty marks and runs count, and those of later adds do not. The end of each counts
 * down @nr_before, whatever ends it. If an undone hand-out makes the item ready again, its
 * next run counts in its place. Waiting times do not count. When @nr_before is 0 again, or
 * if nothing is queued, @flushes rises and @ended is set.
 */
void kwq_core_begin_flush(struct kwq_core *core)
{
	core->nr_before = core->nr_ready + core->nr_processing + core->nr_dirty_processing;
	core->marks ^= KWQ_MARK_DIRTY | KWQ_MARK_RUN;
	if (!core->nr_before)
		note_end_of_flush(core);
}

/**
 * kwq_core_shut_down() - refuse adds from now on (Q8)
 * @core: the core
 * @drain: whether drains go on; else @shut_downs rises, and @ended is set
 *
 * No waiting item becomes ready any more. The caller drops waiting times and dead items by
 * kwq_core_drop().
 */
void kwq_core_shut_down(struct kwq_core *core, bool drain)
{
	WRITE_ONCE(core->shut_down, true);
	core->changed = true;
	if (drain)
		return;
	core->shut_downs++;
	core->ended = true;
}

/**
 * kwq_core_first_processing() - find the item that has been processing longest
 * @core: the core
 *
 * Return: the item; NULL if none is processing.
 */
struct kwq_item *kwq_core_first_processing(const struct kwq_core *core)
{
	if (!core->nr_processing)
		return NULL;
	return first_processing(core);
}

/**
 * kwq_core_first_dead() - find the first of the dead items, which died before all others (L11)
 * @core: the core
 *
 * Return: the item; NULL if none is dead.
 */
struct kwq_item *kwq_core_first_dead(const struct kwq_core *core)
{
	return core->dead ? list_entry(core->dead->next, struct kwq_item, link) : NULL;
}

/**
 * kwq_core_drop() - drop the time of one waiting item, or one dead item (Q8, Q10)
 * @core: the core; shut down
 *
 * If the item is idle afterwards, its requeues are reset, too.
 *
 * Handles one item per call, so that the caller can bound the work.
 *
 * Return: the item; NULL if none is left.
 */
struct kwq_item *kwq_core_drop(struct kwq_core *core)
{
	struct kwq_item *item = take_any_waiting(core);

	if (item) {
		core->changed = true;
		clear_waiting(core, item);
		note_drop(core, item);
		return item;
	}
	item = kwq_core_first_dead(core);
	if (item) {
		unbury(core, item);
		drop_dead(core, item);
	}
	return item;
}

/* Looks at the first item of each band. Returns the longest time that one has been dirty. */
static u64 oldest_ready(const struct kwq_core *core, ktime_t now)
{
	const struct kwq_bulk *bulk = kwq_bulk_of(core);
	const struct kwq_item *item;
	ktime_t oldest = now;
	int lane, level;
	u64 occupied;

	for (lane = 0; lane < KWQ_NR_LANES; lane++) {
		occupied = bulk->occupied[lane];
		while (occupied) {
			level = fls64(occupied) - 1;
			occupied &= ~BIT_ULL(level);
			item = kwq_first_of_band(bulk, lane, level);
			oldest = min(oldest, item->dirtied);
		}
	}
	item = kwq_first_blocked(core);
	if (item)
		oldest = min(oldest, item->dirtied);
	return kwq_age(oldest, now);
}

/*
 * The sum overflows 64 bits if a full queue's items have all been processing for 18 minutes.
 * Then it stays at the largest value.
 */
static u64 unfinished(const struct kwq_core *core, ktime_t now)
{
	const struct kwq_bulk *bulk = kwq_bulk_of(core);
	u64 low = core->nr_processing * (u64)now;
	u64 high = mul_u64_u64_shr(core->nr_processing, now, 64);

	high -= bulk->started_high + (low < bulk->started);
	return high ? U64_MAX : low - bulk->started;
}

/**
 * kwq_core_gauges() - compute the gauges (M3)
 * @core: the core; large, of a queue with durations
 * @gauges: filled in
 * @now: current time
 *
 * O(priorities in use), however many items and groups there are.
 */
void kwq_core_gauges(const struct kwq_core *core, struct kwq_gauges *gauges,
		     ktime_t now)
{
	const struct kwq_item *first = kwq_core_first_processing(core);

	gauges->oldest_ready = oldest_ready(core, now);
	gauges->longest_running = first ? kwq_age(first->since, now) : 0;
	gauges->unfinished = unfinished(core, now);
}

/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The door to the two forms of a core (K6). core.c says what happens to an item; the functions here
 * say how its form links it and what that form notes.
 *
 * Nothing is unusual (&kwq_core.unusual) in a large core without groups, most of the time. So that
 * is asked first, and the other forms are apart from the path of an add, a get and a done.
 */
#ifndef KWQ_FORM_H
#define KWQ_FORM_H

#include <linux/compiler.h>
#include "core.h"
#include "large.h"
#include "small.h"

/* Counts an event. @counter is in the bulk of the core, which a small one has not. */
static inline void count(const struct kwq_core *core, u64 *counter)
{
	if (!kwq_core_is_small(core))
		++*counter;
}

static inline void uncount(const struct kwq_core *core, u64 *counter)
{
	if (!kwq_core_is_small(core))
		--*counter;
}

/* ---- Ready items ---- */

/* Links an item to the ready ones of a large core in which something is unusual. */
static noinline void join_unusual(struct kwq_core *core, struct kwq_item *item, bool first)
{
	if (kwq_core_is_grouped(core)) {
		/* Counts in @readied, too. */
		kwq_groups_join(core, item, first);
		return;
	}
	join_band(core, item, item->lane, item->priority, first);
	core->readied++;
}

/* Links an item to the ready ones. */
static inline void join_ready(struct kwq_core *core, struct kwq_item *item,
			      enum kwq_lane lane, int priority, bool first)
{
	item->lane = lane;
	item->priority = priority;
	core->nr_ready++;
	if (likely(!core->unusual)) {
		join_band(core, item, lane, priority, first);
	} else if (kwq_core_is_small(core)) {
		join_items(core, item, first || lane == KWQ_LANE_RETURNED);
	} else {
		join_unusual(core, item, first);
		return;
	}
	core->readied++;
}

static noinline void leave_ready_unusual(struct kwq_core *core, struct kwq_item *item)
{
	if (kwq_core_is_small(core))
		leave_items(core, item);
	else if (kwq_core_is_grouped(core))
		kwq_groups_leave(core, item);
	else
		leave_band(core, item);
}

static inline void leave_ready(struct kwq_core *core, struct kwq_item *item)
{
	if (unlikely(core->unusual))
		leave_ready_unusual(core, item);
	else
		leave_band(core, item);
	core->nr_ready--;
}

/* The first ready item of a core without groups and aging. */
static inline struct kwq_item *first_ready(const struct kwq_core *core)
{
	return kwq_core_is_small(core) ? first_of_items(core) : first_of_bands(core);
}

/* ---- Processing items ---- */

static noinline void take_unusual(struct kwq_core *core, struct kwq_item *item, ktime_t now)
{
	if (kwq_core_is_grouped(core)) {
		kwq_groups_take(core, item);
		begin_processing(core, item, now);
	} else {
		take_of_bands(core, item, now);
	}
}

/* Moves an item from the ready ones to those in processing. */
static inline void join_processing(struct kwq_core *core, struct kwq_item *item, ktime_t now)
{
	if (unlikely(core->unusual) && kwq_core_is_small(core))
		take_of_items(core, item);
	else if (unlikely(core->unusual))
		take_unusual(core, item, now);
	else
		take_of_bands(core, item, now);
	core->nr_ready--;
	core->nr_processing++;
}

static noinline void leave_processing_unusual(struct kwq_core *core, struct kwq_item *item)
{
	if (kwq_core_is_small(core)) {
		list_del(&item->link);
		return;
	}
	end_processing(core, item);
	if (kwq_core_is_grouped(core))
		kwq_groups_end_run(core, item);
}

static inline struct kwq_item *first_processing(const struct kwq_core *core)
{
	if (kwq_core_is_small(core))
		return list_first_entry(&core->items, struct kwq_item, link);
	return kwq_line_first(&kwq_bulk_of(core)->processing, struct kwq_item, node);
}

/* M1: a run has ended with a done. */
static inline void note_done(struct kwq_core *core, const struct kwq_item *item, ktime_t now)
{
	if (unlikely(core->unusual) && kwq_core_is_small(core))
		return;
	observe(&kwq_bulk_of(core)->work_duration, item->since, now);
	kwq_bulk_of(core)->dones++;
}

/* ---- Waiting items ---- */

/* Returns true if no other item has an earlier time. */
static inline bool join_waiting(struct kwq_core *core, struct kwq_item *item, ktime_t when,
				ktime_t now)
{
	if (kwq_core_is_small(core)) {
		item->due = when;
		return add_by_time(core, item);
	}
	item->wait.expires = when;
	kwq_bulk_of(core)->nr_waiting++;
	return kwq_waiting_add(&kwq_bulk_of(core)->waiting, &item->wait, now);
}

static inline void leave_waiting(struct kwq_core *core, struct kwq_item *item)
{
	if (kwq_core_is_small(core)) {
		rb_erase(&item->by_time, &core->by_time);
		return;
	}
	kwq_waiting_del(&kwq_bulk_of(core)->waiting, &item->wait);
	kwq_bulk_of(core)->nr_waiting--;
}

/* Takes the first item whose time has come: see kwq_core_expire(). */
static inline struct kwq_item *take_due(struct kwq_core *core, ktime_t now, unsigned int *budget)
{
	return kwq_core_is_small(core) ? expire_by_time(core, now, budget) :
					 expire_waiting(kwq_bulk_of(core), now, budget);
}

static inline struct kwq_item *take_any_waiting(struct kwq_core *core)
{
	return kwq_core_is_small(core) ? take_by_time(core) : take_waiting(kwq_bulk_of(core));
}

static inline bool has_waiting(const struct kwq_core *core)
{
	return kwq_core_is_small(core) ? !RB_EMPTY_ROOT(&core->by_time) :
					 kwq_bulk_of(core)->nr_waiting;
}

static inline ktime_t due_of(const struct kwq_core *core, const struct kwq_item *item)
{
	return kwq_core_is_small(core) ? item->due : item->wait.expires;
}

/* The earliest time of a waiting item, or a lower bound of it; KTIME_MAX for none. */
static inline ktime_t next_time(const struct kwq_core *core)
{
	return kwq_core_is_small(core) ? first_by_time(core) :
					 kwq_waiting_next(&kwq_bulk_of(core)->waiting);
}

/* ---- The times of an item: see &struct kwq_item ---- */

/*
 * While an item of a large core is waiting and processing, @dirtied is the start of its wait.
 * Otherwise @since is. In a small core, @since is the start of the wait, or of the processing
 * if the wait began in it.
 */
static inline bool is_waiting_at_work(const struct kwq_item *item)
{
	const u8 both = KWQ_ITEM_WAITING | KWQ_ITEM_PROCESSING;

	return (item->state & both) == both;
}

static inline ktime_t waits_since(const struct kwq_core *core, const struct kwq_item *item)
{
	return is_waiting_at_work(item) && !kwq_core_is_small(core) ? item->dirtied : item->since;
}

static inline void set_dirtied(const struct kwq_core *core, struct kwq_item *item, ktime_t when)
{
	if (!kwq_core_is_small(core))
		item->dirtied = when;
}

/* Q17: an add during a run has noted its own time, but the item was dirty before. */
static inline void note_undone(const struct kwq_core *core, struct kwq_item *item)
{
	if ((item->state & (KWQ_ITEM_DIRTY | KWQ_ITEM_WAITING)) == KWQ_ITEM_DIRTY)
		set_dirtied(core, item, min(item->dirtied, item->since));
}

static inline void note_wait_began(const struct kwq_core *core, struct kwq_item *item, ktime_t now)
{
	bool small = kwq_core_is_small(core);

	if (!(item->state & KWQ_ITEM_PROCESSING) || (small && item->since == KWQ_NO_TIME))
		item->since = now;
	else if (!small)
		item->dirtied = now;
}

/* A small core keeps the start of the wait, and does without the time of the hand-out. */
static noinline void note_start_of_waiting(const struct kwq_core *core, struct kwq_item *item,
					   ktime_t now)
{
	if (kwq_core_is_small(core))
		return;
	item->dirtied = item->since;
	item->since = now;
}

/* The processing of a waiting item has ended. From now on @since is the start of its wait. */
static void note_end_of_waiting(const struct kwq_core *core, struct kwq_item *item)
{
	ktime_t handed_out = item->since;

	if (kwq_core_is_small(core))
		return;
	item->since = item->dirtied;
	item->dirtied = handed_out;
}

/* ---- Dead items ---- */

/* Q15: a list of keys shows the number of a death. */
static inline void count_death(struct kwq_core *core, struct kwq_item *item)
{
	if (kwq_core_is_small(core))
		return;
	item->death = ++kwq_bulk_of(core)->last_death;
	kwq_bulk_of(core)->nr_dead++;
}

#endif /* KWQ_FORM_H */

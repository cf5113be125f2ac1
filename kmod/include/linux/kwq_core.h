/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The state machine of one queue, and nothing else.
 *
 * For: struct kwq_queue, which puts a lock, sleepers and a timer round it, and
 * for tests, which put nothing round it.
 * Not for: drivers. They enter at <linux/kwq.h>.
 *
 * No locking is done by this code, no clock is read, nothing is allocated and
 * nothing sleeps. Whoever calls serialises the calls on one core and passes the
 * time in. What follows from a call - whom to wake, when to look again - can
 * be read from the core afterwards: @readied counts the items that were made
 * ready, @changed tells that kwq_core_next() may tell another time.
 *
 * An item needs processing while it is dirty. Dirty and not processing, it is
 * ready and linked into the band of its priority; processing, it is linked to
 * core's list of those. Whether it waits for a time is independent of both:
 *
 *              add                      get
 *     idle ------------->    ready   ---------->  processing
 *      ^   <-------------            <----------      |  ^ |
 *      |       remove         ^  unget, abandon   add |  | | done
 *      |                      |                       v  | |
 *      |                      |     done         processing|
 *      |                      `------------------ and dirty|
 *      `---------------------------------------------------'
 *
 * An item that was rate-limited, or lost its holder, too often is dead: apart from all
 * of this until an add brings it back. One that is being processed turns dead at its
 * done. An item that was cancelled is idle, once nobody processes it, and stays so.
 */
#ifndef _LINUX_KWQ_CORE_H
#define _LINUX_KWQ_CORE_H

#include <linux/ktime.h>
#include <linux/kwq_limiter.h>
#include <linux/kwq_waiting.h>
#include <linux/list.h>
#include <linux/types.h>

#define KWQ_NR_PRIORITIES	64

/* No priority is named: a new item gets 0, any other keeps what it has. */
#define KWQ_PRIORITY_NONE	S8_MIN

/**
 * struct kwq_holder - whoever is handed items
 * @nr_held:	how many of them are processing; covered by what covers the core.
 */
struct kwq_holder {
	unsigned long nr_held;
};

/**
 * struct kwq_item - the one object that stands for a key
 *
 * Embed it in the object that needs processing and initialise it with
 * kwq_item_init(). Its members belong to the queue; an item is in one queue at
 * a time.
 */
struct kwq_item {
	/* private: all covered by what covers the core */
	struct list_head link;		/* in its band, @processing or @dead */
	u8 state;			/* KWQ_ITEM_*; may be read without what covers it */
	u8 lane;			/* the lane it is or was ready in */
	s8 priority;			/* while ready and processing; kept till idle */
	s8 next_priority;		/* while processing and dirty */
	s8 wait_priority;		/* while waiting; or none was named */
	u32 requeues;			/* rate-limited since it was last forgotten */
	u32 abandoned;			/* holders lost since it was last idle, dead or done */
	struct kwq_holder *holder;	/* while KWQ_ITEM_PROCESSING */
	ktime_t dirtied;		/* while KWQ_ITEM_DIRTY: since when */
	ktime_t since;			/* when it was handed out; else, idle or dead */
	struct kwq_wait wait;		/* while KWQ_ITEM_WAITING */
};

#define KWQ_ITEM_DIRTY		0x1
#define KWQ_ITEM_PROCESSING	0x2
#define KWQ_ITEM_WAITING	0x4
#define KWQ_ITEM_DEAD		0x8	/* alone; or with PROCESSING: at its done */
#define KWQ_ITEM_CANCELLED	0x10	/* alone or with PROCESSING: never to be added */

/*
 * Items of one priority are handed out lane by lane: first what a vanished
 * holder gave back, then the others (O1). An item that lost its second holder, or one
 * after that, is among the others, at the tail: it may be what ends them (L12).
 */
enum kwq_lane {
	KWQ_LANE_RETURNED,
	KWQ_LANE_FRESH,
	KWQ_NR_LANES
};

/* What a second time does to an item that is waiting already (D2). */
enum kwq_wait_policy {
	KWQ_WAIT_EARLIER,
	KWQ_WAIT_REPLACE,
	KWQ_WAIT_KEEP,
	KWQ_WAIT_LATER,
};

/**
 * struct kwq_core - one queue's state
 * @occupied:	for each lane, a bit for each priority whose band has items.
 * @nr_ready:	items in the bands.
 * @nr_waiting:	items in @waiting.
 * @nr_processing: items in @processing.
 * @nr_dirty:	of these, the ones that are dirty, too (M1).
 * @nr_dead:	items in @dead.
 * @readied:	how often an item was made ready, since the beginning.
 * @adds:	adds that made an item dirty.
 * @coalesced:	adds of what was dirty, or had a time, already.
 * @gets:	hand-outs, less those that were undone.
 * @dones:	hand-outs that were finished.
 * @abandoned:	hand-outs whose holder vanished.
 * @removed:	items taken out by a remove.
 * @dropped:	times, and dead items, dropped by a shut down.
 * @retries:	adds with a time, or with a delay of nothing.
 * @rate_limited: adds that the limiters were asked for.
 * @died:	how often an item was found to be rate-limited too often, or lost too
 *	often, or was given up.
 * @let_go:	how often the processing of a cancelled item ended.
 * @started:	the sum of @since of what is processing; the lower 64 bits,
 * @started_high: and the upper.
 * @queue_duration: from an add to the hand-out; hand-outs that were undone are in it.
 * @work_duration: from the hand-out to its done.
 * @lateness:	from an item's time to its being ready.
 * @limiter:	of rate-limited adds.
 * @shut_down:	adds are refused.
 * @cancelled:	no item comes back when its processing ends.
 * @changed:	set when kwq_core_next() may tell another time, and with every change of
 *	@let_go and of @shut_down; for the caller to reset.
 * @processing:	items that are handed out, in the order of the hand-outs.
 * @dead:	items that are dead, in the order of their deaths.
 * @waiting:	waiting items by time; equal times in the order of their adds.
 * @bands:	the ready items.
 *
 * None of the numbers can overflow: those of items are bounded by memory, and
 * the 64-bit counters go up by one a call.
 */
struct kwq_core {
	u64 occupied[KWQ_NR_LANES];
	unsigned long nr_ready;
	unsigned long nr_waiting;
	unsigned long nr_processing;
	unsigned long nr_dirty;
	unsigned long nr_dead;
	u64 readied;
	u64 adds;
	u64 coalesced;
	u64 gets;
	u64 dones;
	u64 abandoned;
	u64 removed;
	u64 dropped;
	u64 retries;
	u64 rate_limited;
	u64 died;
	u64 let_go;
	u64 started;
	u64 started_high;
	struct kwq_histogram queue_duration;
	struct kwq_histogram work_duration;
	struct kwq_histogram lateness;
	struct kwq_rate_limiter limiter;
	bool shut_down;
	bool cancelled;
	bool changed;
	struct list_head processing;
	struct list_head dead;
	struct kwq_waiting waiting;
	struct list_head bands[KWQ_NR_LANES][KWQ_NR_PRIORITIES];
};

/**
 * struct kwq_gauges - what is computed when it is read (M3)
 * @oldest_ready: how long the item has been dirty that has been so for longest, of
 *	those next to be handed out in their bands; 0 for none
 * @longest_running: how long the item has been processing that was handed out first;
 *	0 for none
 * @unfinished: the sum over all that are processing
 *
 * All in ns.
 */
struct kwq_gauges {
	u64 oldest_ready;
	u64 longest_running;
	u64 unfinished;
};

void kwq_item_init(struct kwq_item *item);
void kwq_holder_init(struct kwq_holder *holder);
void kwq_core_init(struct kwq_core *core);

int kwq_core_add(struct kwq_core *core, struct kwq_item *item, int priority,
		 bool end_wait, ktime_t now);
int kwq_core_add_at(struct kwq_core *core, struct kwq_item *item, int priority,
		    ktime_t when, enum kwq_wait_policy policy, ktime_t now);
int kwq_core_add_rate_limited(struct kwq_core *core, struct kwq_item *item,
			      int priority, enum kwq_wait_policy policy,
			      ktime_t now, u32 random);
u32 kwq_core_num_requeues(const struct kwq_core *core,
			  const struct kwq_item *item, ktime_t now);
u32 kwq_core_forget(const struct kwq_core *core, struct kwq_item *item,
		    ktime_t now);
int kwq_core_give_up(struct kwq_core *core, struct kwq_item *item, ktime_t now);
struct kwq_item *kwq_core_peek(const struct kwq_core *core);
void kwq_core_take(struct kwq_core *core, struct kwq_item *item,
		   struct kwq_holder *holder, ktime_t now);
struct kwq_item *kwq_core_get(struct kwq_core *core, struct kwq_holder *holder,
			      ktime_t now);
int kwq_core_done(struct kwq_core *core, struct kwq_holder *holder,
		  struct kwq_item *item, ktime_t now);
void kwq_core_unget(struct kwq_core *core, struct kwq_item *item);
int kwq_core_abandon(struct kwq_core *core, struct kwq_item *item, ktime_t now);
int kwq_core_remove(struct kwq_core *core, struct kwq_item *item);
int kwq_core_cancel(struct kwq_core *core, struct kwq_item *item);
void kwq_core_cancel_all(struct kwq_core *core);
struct kwq_item *kwq_core_expire(struct kwq_core *core, ktime_t now,
				 unsigned int *budget);
ktime_t kwq_core_next(const struct kwq_core *core);
void kwq_core_shut_down(struct kwq_core *core);
struct kwq_item *kwq_core_drop(struct kwq_core *core);
void kwq_core_gauges(const struct kwq_core *core, struct kwq_gauges *gauges,
		     ktime_t now);

/**
 * kwq_item_is_idle() - does the queue have no business with this item
 * @item: the item
 *
 * Return: true if it is not ready, not processing, not waiting and not dead.
 */
static inline bool kwq_item_is_idle(const struct kwq_item *item)
{
	return !(item->state & ~KWQ_ITEM_CANCELLED);
}

/**
 * kwq_item_is_dead() - was the item rate-limited, or lost, too often (L11, L12)
 * @item: the item
 *
 * Return: true if it is dead; not yet if it will be so at its done.
 */
static inline bool kwq_item_is_dead(const struct kwq_item *item)
{
	return item->state == KWQ_ITEM_DEAD;
}

/**
 * kwq_is_dirty_again() - was an item added again while it is processed (Q2)
 * @state: its state, as it was read once
 *
 * Return: true if it is being processed, and will be ready again at its done.
 */
static inline bool kwq_is_dirty_again(u8 state)
{
	return (state & (KWQ_ITEM_DIRTY | KWQ_ITEM_PROCESSING)) ==
	       (KWQ_ITEM_DIRTY | KWQ_ITEM_PROCESSING);
}

/**
 * kwq_core_is_drained() - is everything that will ever be handed out done
 * @core: the core
 *
 * Return: true if it is shut down and nothing is ready or processing (Q9).
 */
static inline bool kwq_core_is_drained(const struct kwq_core *core)
{
	return core->shut_down && !core->nr_ready && !core->nr_processing;
}

#endif /* _LINUX_KWQ_CORE_H */

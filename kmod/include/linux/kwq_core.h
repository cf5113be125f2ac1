/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The state machine of one queue.
 *
 * struct kwq_queue adds a lock, sleepers and a timer. Tests use it bare. Drivers do not use
 * it: they enter at <linux/kwq.h>.
 *
 * This code takes no lock, reads no clock, allocates nothing and never sleeps. The caller
 * serialises all calls on one core and passes the time in. After a call it reads from the
 * core what it has to do: @readied counts the items that were made ready, for wake-ups.
 * @changed says that kwq_core_next() may return another time, for the timer.
 *
 * An item needs processing while it is dirty. While dirty and not processing it is ready,
 * and linked into the band of its priority. While processing it is linked into the core's
 * @processing list. Waiting for a time is independent of both:
 *
 *              add                        get
 *     idle ------------>   ready   --------------->   processing
 *      ^   <------------           <---------------    |   |  ^
 *      |      remove         ^      unget, abandon     |   |  |
 *      |                     |                         |  add |
 *      |                     |                         |   | remove
 *      |                     |                         |   v  |
 *      |                     |  done, unget, abandon   |  processing
 *      |                     `---------------------------  and dirty
 *      |                                               |
 *      |                    done                       |
 *      `-----------------------------------------------'
 *
 * An item that was rate-limited too often, lost too often or given up is dead. It is
 * outside this picture until an add revives it. A processing item becomes dead only at its
 * done. A cancelled item becomes idle when its processing ends, and stays idle.
 */
#ifndef _LINUX_KWQ_CORE_H
#define _LINUX_KWQ_CORE_H

#include <linux/ktime.h>
#include <linux/kwq_limiter.h>
#include <linux/kwq_waiting.h>
#include <linux/list.h>
#include <linux/types.h>

#define KWQ_NR_PRIORITIES	64

/* The add names no priority: an idle item gets 0, any other keeps its own. */
#define KWQ_PRIORITY_NONE	S8_MIN

/**
 * struct kwq_holder - a consumer that is handed items
 * @nr_held:	how many items it is processing; protected like the core.
 */
struct kwq_holder {
	unsigned long nr_held;
};

/**
 * struct kwq_item - the object that stands for a key
 *
 * Embed it in the object that needs processing, and initialise it with kwq_item_init(). Its
 * members belong to the queue. An item is in one queue at a time.
 */
struct kwq_item {
	/* private: all protected like the core */
	struct list_head link;		/* in its band, @processing or @dead */
	u8 state;			/* KWQ_ITEM_*; may be read without protection */
	u8 lane;			/* the lane in which it is or was ready */
	s8 priority;			/* while ready or processing; kept until idle */
	s8 next_priority;		/* while processing and dirty */
	s8 wait_priority;		/* while waiting; KWQ_PRIORITY_NONE if none was named */
	u32 requeues;			/* rate-limited since it was last forgotten */
	u32 abandoned;			/* holders lost since it was last idle, dead or done */
	struct kwq_holder *holder;	/* while KWQ_ITEM_PROCESSING */
	ktime_t dirtied;		/* while KWQ_ITEM_DIRTY: when it became dirty */
	ktime_t since;			/* when it was handed out, or became idle or dead */
	struct kwq_wait wait;		/* while KWQ_ITEM_WAITING */
};

#define KWQ_ITEM_DIRTY		0x1
#define KWQ_ITEM_PROCESSING	0x2
#define KWQ_ITEM_WAITING	0x4
#define KWQ_ITEM_DEAD		0x8	/* alone: dead; with PROCESSING: dead at its done */
#define KWQ_ITEM_CANCELLED	0x10	/* alone or with PROCESSING: refuses adds */

/*
 * Within a priority, items are handed out lane by lane. Items given back by a lost holder
 * come first, then all others (O1). From its second loss on, an item joins the others at
 * the tail, because the item itself may have killed its holders (L12).
 */
enum kwq_lane {
	KWQ_LANE_RETURNED,
	KWQ_LANE_FRESH,
	KWQ_NR_LANES
};

/* Effect of a second time on a waiting item (D2). */
enum kwq_wait_policy {
	KWQ_WAIT_EARLIER,
	KWQ_WAIT_REPLACE,
	KWQ_WAIT_KEEP,
	KWQ_WAIT_LATER,
};

/* The life of a queue. */
enum kwq_phase {
	KWQ_RUNNING,
	KWQ_SHUT_DOWN,		/* adds are refused, items are left */
	KWQ_DRAINED,		/* adds are refused, no item is left to hand out or to finish */
};

/**
 * struct kwq_core - one queue's state
 * @occupied:	for each lane, one bit for each priority whose band has items.
 * @nr_ready:	items in the bands.
 * @nr_waiting:	items in @waiting.
 * @nr_processing: items in @processing.
 * @nr_dirty:	items in @processing that are dirty, too (M1).
 * @nr_dead:	items in @dead.
 * @readied:	how often an item was made ready.
 * @adds:	adds that made an item dirty.
 * @coalesced:	immediate adds of dirty items, delayed adds of waiting items, times that came
 *		while the item was dirty, and deaths that a dirty or waiting item escaped.
 * @gets:	hand-outs, minus the undone ones.
 * @dones:	finished hand-outs.
 * @abandoned:	hand-outs that lost their holder.
 * @removed:	items taken out by a remove or a cancel.
 * @dropped:	waiting times and dead items that a shut down dropped.
 * @retries:	delayed adds, even by 0.
 * @rate_limited: adds for which the limiters were asked.
 * @died:	how often an item died: rate-limited too often, lost too often, or given up.
 * @cancelled_runs:	how often the processing of a cancelled item ended.
 * @started:	sum of @since of all processing items, low 64 bits.
 * @started_high: high 64 bits of that sum.
 * @queue_duration: from an add to the hand-out; includes undone hand-outs.
 * @work_duration: from a hand-out to its done.
 * @lateness:	from an item's time to when it became ready.
 * @limiter:	gives the delays of rate-limited adds.
 * @shut_down:	adds are refused.
 * @cancelled:	the whole queue is cancelled: no item becomes ready again when its
 *		processing ends.
 * @changed:	set when kwq_core_next() may return another time, and when @cancelled_runs or
 *		@shut_down changed. The caller resets it.
 * @processing:	handed-out items, in the order of their hand-outs.
 * @dead:	dead items, in the order of their deaths.
 * @waiting:	waiting items by time; equal times in the order of their adds.
 * @bands:	the ready items.
 *
 * No counter can overflow. Memory bounds the numbers of items. A 64-bit counter grows by at
 * most one per call.
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
	u64 cancelled_runs;
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
 * struct kwq_gauges - values that are computed when they are read (M3)
 * @oldest_ready: the longest time that an item has been dirty, among the first items of all
 *	bands; 0 for none
 * @longest_running: age of the oldest hand-out that is not done; 0 for none
 * @unfinished: sum of the ages of all hand-outs that are not done
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
 * kwq_item_is_idle() - is the item not in use by its queue
 * @item: the item
 *
 * Return: true if it is neither ready nor processing, waiting or dead.
 */
static inline bool kwq_item_is_idle(const struct kwq_item *item)
{
	return !(item->state & ~KWQ_ITEM_CANCELLED);
}

/**
 * kwq_item_is_dead() - is the item dead (L11, L12)
 * @item: the item
 *
 * Return: true if it is dead; false if it becomes dead only at its done.
 */
static inline bool kwq_item_is_dead(const struct kwq_item *item)
{
	return item->state == KWQ_ITEM_DEAD;
}

/**
 * kwq_is_dirty_again() - was an item added again while processing (Q2)
 * @state: the item's state, read once
 *
 * Return: true if it is processing and will be ready again at its done.
 */
static inline bool kwq_is_dirty_again(u8 state)
{
	return (state & (KWQ_ITEM_DIRTY | KWQ_ITEM_PROCESSING)) ==
	       (KWQ_ITEM_DIRTY | KWQ_ITEM_PROCESSING);
}

/**
 * kwq_core_phase() - how far has the queue come in its life
 * @core: the core
 *
 * The phases follow each other, and none comes back.
 *
 * Return: the phase.
 */
static inline enum kwq_phase kwq_core_phase(const struct kwq_core *core)
{
	if (!core->shut_down)
		return KWQ_RUNNING;
	return core->nr_ready || core->nr_processing ? KWQ_SHUT_DOWN : KWQ_DRAINED;
}

/**
 * kwq_core_is_drained() - is everything done that will ever be handed out (Q9)
 * @core: the core
 *
 * Return: true if it is shut down and nothing is ready or processing.
 */
static inline bool kwq_core_is_drained(const struct kwq_core *core)
{
	return kwq_core_phase(core) == KWQ_DRAINED;
}

#endif /* _LINUX_KWQ_CORE_H */

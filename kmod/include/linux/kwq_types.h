/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The structures of items and of the state machine. A driver embeds items and queues, so
 * they are not hidden. It includes <linux/kwq.h>, and touches none of their members.
 */
#ifndef _LINUX_KWQ_TYPES_H
#define _LINUX_KWQ_TYPES_H

#include <linux/bits.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/rbtree_types.h>
#include <linux/types.h>
#include <uapi/linux/kwq.h>

/**
 * struct kwq_line - a line: see kmod/core/line.h
 * @nodes:	its nodes, the first to join first.
 * @end:	the pointer to the node that joins next.
 */
struct kwq_line {
	struct hlist_head nodes;
	struct hlist_node **end;
};

/* Eight slots per level: the whole set fits into 4 KiB, and in practice few digits differ. */
#define KWQ_WAITING_BITS	3
#define KWQ_WAITING_SLOTS	BIT(KWQ_WAITING_BITS)
/* A ktime_t that is not negative has 63 bits. */
#define KWQ_WAITING_LEVELS	(63 / KWQ_WAITING_BITS)

/**
 * struct kwq_wait - a wait for a time
 * @node: in its slot or in @opening
 * @expires: the time; not negative
 */
struct kwq_wait {
	struct hlist_node node;
	ktime_t expires;
};

/**
 * struct kwq_slot - waits whose times have the same level and digit
 * @waits:	the waits, in the order of their adds.
 * @first:	the earliest time, or a lower bound of it if the earliest was removed from a
 *		crowded slot. Undefined if the slot is empty.
 */
struct kwq_slot {
	struct kwq_line waits;
	ktime_t first;
};

/**
 * struct kwq_waiting - a set of waits
 * @base:	not after any time in the set, and not after the last time passed to
 *		kwq_waiting_expire().
 * @levels:	one bit for each level that has an occupied slot.
 * @occupied:	for each level, one bit for each slot that is not empty.
 * @opening:	waits of an opened slot that have not been moved yet, and waits added since
 *		whose times belong there.
 * @opening_end: the last time of the opened slot.
 * @slots:	all other waits.
 */
struct kwq_waiting {
	ktime_t base;
	u32 levels;
	u8 occupied[KWQ_WAITING_LEVELS];
	struct kwq_line opening;
	ktime_t opening_end;
	struct kwq_slot slots[KWQ_WAITING_LEVELS][KWQ_WAITING_SLOTS];
};

/**
 * struct kwq_limiter_config - how a queue limits retries
 * @flags: KWQ_CONFIG_* bits
 * @dead_after: after this many requeues the next rate-limited add makes an item dead; 0 for
 *	never
 * @dead_after_lost: this many losses of its holder without a done between them make an item
 *	dead; 0 for never
 * @max_wait: longest delay of all limiters, in ns; 0 for no limit
 * @forget_after: an item that is idle for this many ns loses its requeues; 0 for never
 * @nr: number of limiters in @limiters; 0 for the default
 * @limiters: the limiters; the longest of their delays counts
 *
 * &struct kwq_config has the details.
 */
struct kwq_limiter_config {
	u32 flags;
	u32 dead_after;
	u64 max_wait;
	u64 forget_after;
	u32 dead_after_lost;
	u32 nr;
	struct kwq_limiter limiters[KWQ_LIMITERS_MAX];
};

/**
 * struct kwq_bucket - a bucket's tokens
 * @empty: when the bucket was or will be empty, in ns. Its tokens are those that arrived
 *	since then. If it is in the future, tokens are owed until then
 * @part: the rest of @empty in 1/events of a ns, less than 1 ns
 */
struct kwq_bucket {
	ktime_t empty;
	u32 part;
};

/**
 * struct kwq_rate_limiter - a queue's limiters and their state
 * @config: the configuration; has at least one limiter
 * @buckets: state of the limiters that are buckets
 * @first: for each limiter the index of its first pause in @pauses. Its last one is before the
 *	first of the next limiter
 * @jitters: true if a limiter needs a random number
 * @manual_random: the last random number for KWQ_CLOCK_MANUAL
 * @pauses: for each limiter that is a backoff the pauses after 1, 2, 3, ... steps, all without
 *	jitter. All later ones equal its last one
 */
struct kwq_rate_limiter {
	struct kwq_limiter_config config;
	struct kwq_bucket buckets[KWQ_LIMITERS_MAX];
	u16 first[KWQ_LIMITERS_MAX + 1];
	bool jitters;
	u32 manual_random;
	u64 pauses[];
};

#define KWQ_NR_PRIORITIES	64

/* In a queue without durations: the time of an add, a hand-out or a done, which is not known. */
#define KWQ_NO_TIME		KTIME_MIN

/**
 * struct kwq_holder - a consumer that is handed items
 * @nr_held:	how many items it is processing; protected like the core.
 */
struct kwq_holder {
	u32 nr_held;
};

/**
 * struct kwq_item - the object that stands for a key
 *
 * Embed it in the object that needs processing, and initialise it with kwq_item_init(). Its
 * members belong to the queue. An item is in one queue at a time.
 *
 * Its two times, by its state:
 *
 *				@since			@dirtied (large core)	@due (small)
 *	idle			it became idle		-			-
 *	ready			-			it became dirty		-
 *	waiting			begin of the wait	it became dirty, if	end of the wait
 *							it is ready as well
 *	processing		the hand-out		it became dirty, if	-
 *							it is dirty as well
 *	processing and waiting	the hand-out; in a	begin of the wait	end of the wait
 *				small core the begin of
 *				a wait that is older
 *	dead			its death		@death: its number	-
 */
struct kwq_item {
	/* private: all protected like the core */
	union {
		struct list_head link;		/* in @dead or a level of a group; small: @items */
		struct hlist_node node;		/* else in a band; while processing, in a line */
	};
	u8 state;			/* KWQ_ITEM_*; may be read without protection */
	u8 lane;			/* the lane in which it is or was ready */
	s8 priority;			/* while ready or processing; kept until idle */
	s8 next_priority;		/* while processing and dirty */
	s8 wait_priority;		/* while waiting; KWQ_PRIORITY_NONE for none */
	u8 marks;			/* KWQ_MARK_* */
	u16 disabled;			/* number of disables without an enable; saturates */
	u32 requeues;			/* rate-limited since it was last forgotten */
	u32 abandoned;			/* holders lost since it was last idle, dead or done */
	union {
		struct kwq_holder *holder;	/* while KWQ_ITEM_PROCESSING */
		u64 order;	/* large core, while ready: grows from first to last in its band */
	};
	union {
		ktime_t dirtied;	/* large core: see above */
		ktime_t due;		/* small core, while KWQ_ITEM_WAITING */
		u64 death;		/* large core, while dead: the number of its death */
	};
	ktime_t since;			/* see above */
	union {
		struct kwq_wait wait;		/* large core, while KWQ_ITEM_WAITING */
		struct rb_node by_time;		/* small core, while KWQ_ITEM_WAITING */
	};
	struct kwq_item *post;		/* atomic; the next posted item, or KWQ_POST_*: post.c */
};

#define KWQ_ITEM_DIRTY		0x1
#define KWQ_ITEM_PROCESSING	0x2
#define KWQ_ITEM_WAITING	0x4
#define KWQ_ITEM_DEAD		0x8	/* alone: dead; with PROCESSING: dead at its done */
#define KWQ_ITEM_DISABLED	0x10	/* alone or with PROCESSING: refuses adds */

/*
 * Marks of an item. The first two are the colours of a dirty mark and of a run. A flush
 * changes the colour of its queue, and waits for the items of the other colour.
 */
#define KWQ_MARK_DIRTY		0x01	/* while dirty: the queue's colour when it became so */
#define KWQ_MARK_RUN		0x02	/* while processing: the colour of what it was dirty for */
#define KWQ_MARK_AWAITED	0x04	/* while processing: a task waits for the end of that */
#define KWQ_MARK_ENDED		0x08	/* while processing: ended before its handler returned */
#define KWQ_MARK_NUMBER		0xf0	/* counts the item's runs; wraps */
#define KWQ_MARK_NEXT_NUMBER	0x10

/* Values of @post that are no item, besides NULL: nobody posts it. */
#define KWQ_POST_ADDING	((struct kwq_item *)1UL)	/* an adder claims it; it is the last one */
#define KWQ_POST_HELD	((struct kwq_item *)2UL)	/* the holder of the lock claims it */
#define KWQ_POST_AGAIN	((struct kwq_item *)3UL)	/* the same, and has to add it at the end */

/**
 * kwq_item_init() - make an item idle
 * @item: the item; in no queue
 *
 * Before its first add, and to use it again after kwq_disable_sync().
 *
 * Context: any.
 */
void kwq_item_init(struct kwq_item *item);

/**
 * kwq_item_is_idle() - is the item not in use by its queue
 * @item: the item
 *
 * Return: true if it is neither ready nor processing, waiting or dead.
 */
static inline bool kwq_item_is_idle(const struct kwq_item *item)
{
	return !(item->state & ~KWQ_ITEM_DISABLED);
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

/*
 * A band holds the ready items of one lane and one priority. Within a priority, the lane of
 * returned items is handed out before the lane of all others (O1). Only an item's first loss
 * of its holder puts it into the lane of returned items. After further losses it joins the
 * others at the tail, because the item itself may have killed its holders (L12).
 */
enum kwq_lane {
	KWQ_LANE_RETURNED,
	KWQ_LANE_FRESH,
	KWQ_NR_LANES
};

/**
 * struct kwq_group - items of which a limited number is processing at once (Q16)
 *
 * Initialise it with kwq_group_init(). Its members belong to the queue. A group is in one queue,
 * and outlives its items.
 */
struct kwq_group {
	/* private: all protected like the core */
	struct hlist_node node;		/* in the line that @place names */
	struct rb_root levels;		/* the first ready item of each priority and lane */
	u32 nr_ready;			/* ready items of this group */
	u32 nr_processing;		/* runs that began in this group and have not ended */
	u32 users;			/* for the owner of the group, not for the core */
	u8 place;			/* KWQ_GROUP_* */
	u8 lane;			/* of its band, with KWQ_GROUP_IN_BAND */
	s8 priority;			/* the same */
};

#define KWQ_GROUP_NOWHERE	0	/* no item is ready */
#define KWQ_GROUP_IN_BAND	1	/* in the band of its first item */
#define KWQ_GROUP_BLOCKED	2	/* items are ready, but the group is at its limit */

/**
 * struct kwq_member - what an item has in a queue with groups
 * @group: its group; NULL for none
 * @level: in @levels of its group while ready, if it is the first of its priority and lane; else
 *	a cleared node
 * @running_in: while processing: the group in which the run counts, even if the item has moved
 *
 * Protected like the core.
 */
struct kwq_member {
	struct kwq_group *group;
	union {
		struct rb_node level;
		struct kwq_group *running_in;
	};
};

/**
 * struct kwq_grouped_item - an item for a queue with groups (Q16)
 * @item: what all functions take
 *
 * Embed it in the object in place of a &struct kwq_item, and initialise it with
 * kwq_grouped_item_init().
 */
struct kwq_grouped_item {
	/* private: right before @item, where the core finds it */
	struct kwq_member member;
	/* public: */
	struct kwq_item item;
};

/**
 * kwq_group_init() - initialise a group (Q16)
 * @group: the group; it has no items
 *
 * Context: any.
 */
void kwq_group_init(struct kwq_group *group);

/**
 * kwq_grouped_item_init() - make an item of a queue with groups idle (Q16)
 * @grouped: the item; in no queue
 * @group: its group; NULL for none
 *
 * Context: any.
 */
void kwq_grouped_item_init(struct kwq_grouped_item *grouped, struct kwq_group *group);

/* The life of a queue. */
enum kwq_phase {
	KWQ_RUNNING,
	KWQ_SHUT_DOWN,		/* adds are refused, items are left */
	KWQ_DRAINED,		/* adds are refused, no item is left to hand out or to finish */
};

/* The form of a core (K6). */
enum kwq_form {
	KWQ_LARGE,
	KWQ_LARGE_ORDERED,	/* with groups or aging: see core/order.h */
	KWQ_SMALL,
};

/* Bits of @paused of &struct kwq_core, and the number below them. */
#define KWQ_TERM_RUNS	0x8000U		/* a term was set, and was not found to be over */
#define KWQ_TERM_OVER	0x4000U		/* a term is over, which is one more pause */
#define KWQ_PAUSES_MAX	0x3fffU

/**
 * struct kwq_core - the state of one queue, of either form
 * @items:	small: first the processing items, then the ready ones, in the order of hand-outs.
 * @first_ready: small: the first ready item in @items; @items itself without one.
 * @by_time:	small: waiting items by time; equal times in the order of their adds.
 * @dead:	the link of the item that died last, in a ring of all dead items in the order of
 *		their deaths; NULL if none is dead.
 * @limiter:	gives the delays of rate-limited adds; NULL for the default.
 * @nr_ready:	ready items.
 * @nr_processing: processing items.
 * @nr_dirty_processing: processing items that are dirty, too (M1).
 * @nr_before:	how many dirty marks and runs the present flush waits for; 0 if there is no
 *		flush.
 * @readied:	how often an item was made ready; wraps.
 * @flushes:	how many flushes have ended; wraps.
 * @shut_downs:	how many shut downs were without a drain; wraps.
 * @shut_down:	adds are refused.
 * @form:	enum kwq_form.
 * @paused:	number of pauses without a resume, up to KWQ_PAUSES_MAX, and the KWQ_TERM_* bits.
 * @unusual:	all three of these: 0 if the core is KWQ_LARGE, and nothing but adds, gets and
 *		dones happens to it.
 * @cancelled:	the whole queue is cancelled: no item becomes ready again when its
 *		processing ends. The core is shut down, too.
 * @changed:	set when kwq_core_next_time() may return another time, and with @ended and
 *		@shut_down. The queue sets it for changes of its own, too: see
 *		kwq_look_again_locked(). The queue also resets it.
 * @ended:	set when a flush, or the processing of a disabled or awaited item, has ended, and
 *		by a shut down without a drain. The queue wakes drainers, and resets it.
 * @marks:	the queue's colour: KWQ_MARK_DIRTY | KWQ_MARK_RUN, or 0.
 *
 * The rest of a large core is in &struct kwq_bulk. A queue may have up to 2^32 - 1 items in
 * use, which take 320 GiB or more.
 */
struct kwq_core {
	struct list_head items;
	struct list_head *first_ready;
	struct rb_root by_time;
	struct list_head *dead;
	struct kwq_rate_limiter *limiter;
	u32 nr_ready;
	u32 nr_processing;
	u32 nr_dirty_processing;
	u32 nr_before;
	u32 readied;
	u16 flushes;
	u16 shut_downs;
	union {
		struct {
			bool shut_down;
			u8 form;
			u16 paused;
		};
		u32 unusual;
	};
	bool cancelled;
	bool changed;
	bool ended;
	u8 marks;
};

/* An empty small core: initialises @core. */
#define KWQ_SMALL_CORE(core) {						\
	.items = LIST_HEAD_INIT((core).items),				\
	.first_ready = &(core).items,					\
	.form = KWQ_SMALL,						\
}

/**
 * struct kwq_order - the state of KWQ_LARGE_ORDERED
 * @aging:	after this time in ns a ready item counts as one priority higher, and so on; 0 if it
 *		never does (Q17).
 * @group_limit: most items of one group that are processing at once; 0 for no limit.
 * @nr_blocked:	ready items that cannot be handed out, because their groups are at their limits.
 * @grouped:	the bands have groups, which have the items (Q16). Else the bands have the items.
 * @blocked:	groups at their limits that have ready items.
 * @ungrouped:	the group of all items without a group; has no limit.
 */
struct kwq_order {
	u64 aging;
	u32 group_limit;
	u32 nr_blocked;
	bool grouped;
	struct kwq_line blocked;
	struct kwq_group ungrouped;
};

/**
 * struct kwq_bulk - what only a large core has
 * @occupied:	for each lane, one bit for each priority whose band has items.
 * @nr_waiting:	items in @waiting.
 * @nr_dead:	items in @dead of the core.
 * @adds:	adds that made an item dirty.
 * @coalesced:	immediate adds of dirty items, delayed adds of waiting items, times that came
 *		while the item was dirty, and deaths that a dirty or waiting item escaped.
 * @gets:	hand-outs, minus the undone ones.
 * @dones:	finished hand-outs.
 * @abandoned:	hand-outs that lost their holder.
 * @returned:	hand-outs that their holders gave back.
 * @removed:	items taken out by a remove or a cancel.
 * @dropped:	waiting times and dead items that a shut down dropped.
 * @retries:	delayed adds, even by 0.
 * @rate_limited: adds for which the limiters were asked.
 * @died:	how often an item was found due to die, even if an add then saved it:
 *		rate-limited too often, lost too often, given up, or buried.
 * @last_death:	number of the last death of an item in @dead.
 * @last_order: order of the last item that joined a band at its tail.
 * @started:	sum of @since of all processing items, low 64 bits.
 * @started_high: high 64 bits of that sum.
 * @queue_duration: from an add to the hand-out; includes hand-outs that were undone or given back.
 * @work_duration: from a hand-out to its done.
 * @lateness:	from an item's time to when it became ready.
 * @processing:	handed-out items, in the order of their hand-outs.
 * @waiting:	waiting items by time; equal times in the order of their adds.
 * @bands:	the ready items, or the groups of @order that have some, by lane and priority.
 * @order:	aging and groups.
 *
 * No counter can overflow. A 64-bit counter grows by at most one per call.
 */
struct kwq_bulk {
	u64 occupied[KWQ_NR_LANES];
	unsigned long nr_waiting;
	u64 nr_dead;
	u64 adds;
	u64 coalesced;
	u64 gets;
	u64 dones;
	u64 abandoned;
	u64 returned;
	u64 removed;
	u64 dropped;
	u64 retries;
	u64 rate_limited;
	u64 died;
	u64 last_death;
	u64 last_order;
	u64 started;
	u64 started_high;
	struct kwq_histogram queue_duration;
	struct kwq_histogram work_duration;
	struct kwq_histogram lateness;
	struct kwq_line processing;
	struct kwq_waiting waiting;
	struct kwq_line bands[KWQ_NR_LANES][KWQ_NR_PRIORITIES];
	struct kwq_order order;
};

/**
 * struct kwq_large_core - a large core
 * @bulk: the members that a small one has not
 * @core: the core
 */
struct kwq_large_core {
	struct kwq_bulk bulk;
	struct kwq_core core;
};

#endif /* _LINUX_KWQ_TYPES_H */

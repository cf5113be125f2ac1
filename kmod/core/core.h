/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The state machine of one queue.
 *
 * This code takes no lock, reads no clock, allocates nothing and never sleeps. The caller
 * serialises all calls on one core and passes the time in. struct kwq_queue adds a lock,
 * waiting tasks and a timer. Tests use the state machine without these.
 *
 * After a call the caller reads from the core what it has to do. @readied counts the items
 * that were made ready, for wake-ups. @changed says that kwq_core_next_time() may return
 * another time, for the timer. It also says that @ended or @shut_down changed.
 *
 * An item needs processing while it is dirty. A dirty item that is not processing is ready,
 * and linked into a band. There is one band for each lane and priority. With groups (Q16), the
 * bands have groups, and the items are linked into those: see order.h. A processing item is
 * linked into the core's @processing list:
 *
 *              add                        get
 *     idle ------------>   ready   --------------->   processing
 *      ^   <------------           <---------------    |   |  ^
 *      |      remove         ^     unget, give back,   |   |  |
 *      |                     |         abandon         |  add |
 *      |                     |                         |   | remove
 *      |                     |                         |   v  |
 *      |                     |  done, and as above     |  processing
 *      |                     `---------------------------  and dirty
 *      |                                               |
 *      |                    done                       |
 *      `-----------------------------------------------'
 *
 * In each of these states an item can also wait for a time. When the time comes, the item is
 * added.
 *
 * An item that was rate-limited too often, lost too often, given up or buried is dead, and outside
 * this picture. An add revives it, but a rate-limited add does not. A remove makes it idle,
 * and so does a drop after a shut down. A processing item becomes dead at its done, or when it
 * is lost too often. A disabled item becomes idle when its processing ends, and stays idle
 * until it is enabled.
 */
#ifndef KWQ_CORE_H
#define KWQ_CORE_H

#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/errno.h>
#include <linux/kwq_types.h>

/* Effect of a second time on a waiting item (D2). */
enum kwq_wait_policy {
	KWQ_WAIT_EARLIER,
	KWQ_WAIT_REPLACE,
	KWQ_WAIT_KEEP,
	KWQ_WAIT_LATER,
};

/**
 * struct kwq_gauges - values that are computed when they are read (M3)
 * @oldest_ready: the longest time that an item has been dirty, among the first items of all
 *	bands; 0 for none. With groups (Q16), among the first items of the first groups of all
 *	bands, and of the first group that is at its limit
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

/**
 * struct kwq_restored - an item as it was saved (U8)
 * @state: KWQ_IS_READY, perhaps with KWQ_IS_RETURNED, or KWQ_IS_WAITING, or both; KWQ_IS_DEAD
 *	alone; 0 if it is idle with requeues
 * @priority: its priority
 * @wait_priority: while waiting: the priority for its time, or KWQ_PRIORITY_NONE
 * @requeues: how often it was rate-limited
 * @abandoned: how often it lost its holder
 * @dirty_for: how long it has been ready, in ns; in a core without durations KWQ_AGE_UNKNOWN if
 * that is not known
 * @waiting_for: how long it has been waiting, in ns
 * @dead_for: how long it has been dead, in ns, or KWQ_AGE_UNKNOWN as for @dirty_for
 * @due: while waiting: its time
 */
struct kwq_restored {
	u32 state;
	s8 priority;
	s8 wait_priority;
	u32 requeues;
	u32 abandoned;
	u64 dirty_for;
	u64 waiting_for;
	u64 dead_for;
	ktime_t due;
};

/**
 * kwq_span() - the time between two times
 * @from: the first one; before the clock began if it is of a restored item (U8)
 * @to: the second one
 *
 * Times of an item may be later than the @now of a hold, but no time span is negative.
 *
 * Return: ns; 0 if @to is before @from.
 */
static inline u64 kwq_span(ktime_t from, ktime_t to)
{
	return to > from ? (u64)to - (u64)from : 0;
}

/**
 * kwq_age() - for how long something has been
 * @since: since when; KWQ_NO_TIME if that is not known
 * @now: current time
 *
 * Return: ns; 0 if it is not known.
 */
static inline u64 kwq_age(ktime_t since, ktime_t now)
{
	return since == KWQ_NO_TIME ? 0 : kwq_span(since, now);
}

void kwq_holder_init(struct kwq_holder *holder);
void kwq_core_init(struct kwq_core *core, enum kwq_form form);
bool kwq_core_is_used(const struct kwq_core *core);

/**
 * kwq_core_adds_plainly() - does an add only make an idle item ready
 * @core: the core
 * @item: the item
 *
 * Return: true for an idle item without requeues, and a large core in which nothing is unusual.
 */
static inline bool kwq_core_adds_plainly(const struct kwq_core *core, const struct kwq_item *item)
{
	return !(core->unusual || item->state || item->requeues);
}

int kwq_core_add(struct kwq_core *core, struct kwq_item *item, int priority,
		 bool end_wait, ktime_t now);
int kwq_core_add_at(struct kwq_core *core, struct kwq_item *item, int priority,
		    ktime_t when, enum kwq_wait_policy policy, ktime_t now);
int kwq_core_add_rate_limited(struct kwq_core *core, struct kwq_item *item,
			      int priority, enum kwq_wait_policy policy,
			      ktime_t now, u32 random);
int kwq_core_coalesce(struct kwq_core *core, struct kwq_item *item);
int kwq_core_expedite(struct kwq_core *core, struct kwq_item *item, ktime_t now);
int kwq_core_restore(struct kwq_core *core, struct kwq_item *item,
		     const struct kwq_restored *restored, ktime_t now);
u32 kwq_core_num_requeues(const struct kwq_core *core,
			  const struct kwq_item *item, ktime_t now);
u32 kwq_core_forget(const struct kwq_core *core, struct kwq_item *item,
		    ktime_t now);
int kwq_core_give_up(struct kwq_core *core, struct kwq_item *item, ktime_t now);
struct kwq_item *kwq_core_first_ready(const struct kwq_core *core);
struct kwq_item *kwq_core_peek(const struct kwq_core *core, ktime_t now);
void kwq_core_take(struct kwq_core *core, struct kwq_item *item,
		   struct kwq_holder *holder, ktime_t now);
int kwq_core_get_item(struct kwq_core *core, struct kwq_item *item,
		      struct kwq_holder *holder, ktime_t now);
void kwq_core_hand_over(struct kwq_item *item, struct kwq_holder *holder);
int kwq_core_done(struct kwq_core *core, struct kwq_holder *holder,
		  struct kwq_item *item, ktime_t now);
void kwq_core_unget(struct kwq_core *core, struct kwq_item *item);
int kwq_core_give_back(struct kwq_core *core, struct kwq_holder *holder,
		       struct kwq_item *item, ktime_t now);
int kwq_core_abandon(struct kwq_core *core, struct kwq_item *item, ktime_t now);
int kwq_core_remove(struct kwq_core *core, struct kwq_item *item);
int kwq_core_disable(struct kwq_core *core, struct kwq_item *item);
void kwq_core_enable(struct kwq_item *item);
void kwq_core_cancel_all(struct kwq_core *core);
struct kwq_item *kwq_core_expire(struct kwq_core *core, ktime_t now,
				 unsigned int *budget);
ktime_t kwq_core_next_time(const struct kwq_core *core);
ktime_t kwq_core_due(const struct kwq_core *core, const struct kwq_item *item);
ktime_t kwq_core_waiting_since(const struct kwq_core *core, const struct kwq_item *item);
ktime_t kwq_core_latest(const struct kwq_core *core, const struct kwq_item *item,
			u64 at_most, ktime_t now);
ktime_t kwq_core_dirty_since(const struct kwq_item *item);
bool kwq_core_has_waiting(const struct kwq_core *core);
const struct kwq_limiter_config *kwq_core_limits(const struct kwq_core *core);
void kwq_core_pause(struct kwq_core *core);
bool kwq_core_resume(struct kwq_core *core);
unsigned int kwq_core_most_gets(const struct kwq_core *core);
void kwq_core_set_aging(struct kwq_core *core, u64 aging);
bool kwq_core_ages(const struct kwq_core *core);
void kwq_core_group_items(struct kwq_core *core, u32 limit);
void kwq_core_set_group(struct kwq_core *core, struct kwq_item *item, struct kwq_group *group);
void kwq_core_begin_flush(struct kwq_core *core);
void kwq_core_shut_down(struct kwq_core *core, bool drain);
struct kwq_item *kwq_core_first_processing(const struct kwq_core *core);
struct kwq_item *kwq_core_first_dead(const struct kwq_core *core);
struct kwq_item *kwq_core_drop(struct kwq_core *core);
void kwq_core_gauges(const struct kwq_core *core, struct kwq_gauges *gauges,
		     ktime_t now);

/**
 * kwq_core_is_small() - is a core small (K6)
 * @core: the core
 *
 * Return: true if it is small, false if it is in a &struct kwq_large_core.
 */
static inline bool kwq_core_is_small(const struct kwq_core *core)
{
	return core->form >= KWQ_SMALL;
}

/**
 * kwq_bulk_of() - the members that only a large core has
 * @core: the core; large
 *
 * Return: the members.
 */
static inline struct kwq_bulk *kwq_bulk_of(const struct kwq_core *core)
{
	return &container_of(core, struct kwq_large_core, core)->bulk;
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
 * kwq_core_check_holder() - may a holder finish an item (Q6)
 * @holder: the holder
 * @item: the item
 *
 * Return: 0; -ENOENT if the item is not being processed, -EPERM if another holder has it.
 */
static inline int kwq_core_check_holder(const struct kwq_holder *holder,
					const struct kwq_item *item)
{
	if (!(item->state & KWQ_ITEM_PROCESSING))
		return -ENOENT;
	return item->holder == holder ? 0 : -EPERM;
}

/**
 * kwq_core_refuses() - does a core refuse an add of an item
 * @core: the core
 * @item: the item
 *
 * Return: true if the core is shut down or the item is disabled, so that the add returns
 * -ESHUTDOWN.
 */
static inline bool kwq_core_refuses(const struct kwq_core *core, const struct kwq_item *item)
{
	return core->shut_down || item->state & KWQ_ITEM_DISABLED;
}

/**
 * kwq_core_is_grouped() - has a core groups (Q16)
 * @core: the core
 *
 * Return: true if its bands have groups, and not items.
 */
static inline bool kwq_core_is_grouped(const struct kwq_core *core)
{
	return core->form == KWQ_LARGE_ORDERED && kwq_bulk_of(core)->order.grouped;
}

/**
 * kwq_core_nr_offered() - the number of ready items that can be handed out now (Q16)
 * @core: the core
 *
 * Does not look at a pause.
 *
 * Return: the number of ready items, without those of groups that are at their limits.
 */
static inline u32 kwq_core_nr_offered(const struct kwq_core *core)
{
	if (likely(core->form != KWQ_LARGE_ORDERED))
		return core->nr_ready;
	return core->nr_ready - kwq_bulk_of(core)->order.nr_blocked;
}

/**
 * kwq_core_pauses() - the number of pauses without a resume
 * @core: the core
 *
 * Return: the number, without a term that is over.
 */
static inline u16 kwq_core_pauses(const struct kwq_core *core)
{
	return core->paused & KWQ_PAUSES_MAX;
}

/**
 * kwq_core_is_paused() - does a core hand nothing out (Q14, Q20)
 * @core: the core
 *
 * Return: true if it is paused, or if its term was found to be over.
 */
static inline bool kwq_core_is_paused(const struct kwq_core *core)
{
	return core->paused & ~KWQ_TERM_RUNS;
}

/**
 * kwq_core_mark_term() - note how far the term is, which its owner knows (Q20)
 * @core: the core
 * @mark: KWQ_TERM_RUNS; KWQ_TERM_OVER, with which it hands nothing out; 0 without a term
 */
static inline void kwq_core_mark_term(struct kwq_core *core, u16 mark)
{
	WRITE_ONCE(core->paused, kwq_core_pauses(core) | mark);
}

/**
 * kwq_core_term_is_over() - was the term of a core found to be over (Q20)
 * @core: the core
 *
 * Return: true if so.
 */
static inline bool kwq_core_term_is_over(const struct kwq_core *core)
{
	return core->paused & KWQ_TERM_OVER;
}

bool kwq_core_can_get_unusual(const struct kwq_core *core);

/**
 * kwq_core_can_get() - will a get be handed an item
 * @core: the core
 *
 * Return: true if an item is ready whose group is not at its limit, and the queue is not paused.
 * If a term runs, the caller first looks whether it is over.
 */
static inline bool kwq_core_can_get(const struct kwq_core *core)
{
	return core->nr_ready && (likely(!core->unusual) || kwq_core_can_get_unusual(core));
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

#endif /* KWQ_CORE_H */

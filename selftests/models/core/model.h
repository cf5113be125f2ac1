/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The specification of a queue, after kwq(7): Q, D, L, O1, O2, K3, K9, M and U8. It shares no
 * ideas with core.c: there are no lists and no trees. Every order is a number, and the
 * first item is found by looking at all items. The same holds for groups.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "core/core.h"
#include "rate.h"

/* The same number of items as kmod/tests/core/core_test.c, which receives the printed cases. */
#define NR_ITEMS	5
#define NR_HOLDERS	3
/* The first one is that of all items without a group. */
#define NR_GROUPS	3

struct model_item {
	bool queued;		/* ready */
	bool dirty;
	bool processing;
	bool waiting;
	bool dead;		/* with processing: at its done */
	int disables;
	bool dirty_before;	/* the flush waits for what it is dirty for */
	bool run_before;	/* the flush waits for this run */
	bool awaited;
	bool returned;		/* by its first holder that vanished, when it last got ready */
	int holder;
	int group;
	int run_group;		/* in which this run counts */
	int priority;		/* of the run, or what was left of it for a wait */
	int next_priority;	/* of the run after this one */
	int wait_priority;
	s64 when;
	s64 wait_since;		/* the first add of this wait */
	s64 dirtied;
	s64 since;
	s64 ready_place;	/* the lower comes first, as in all places */
	s64 wait_place;
	s64 run_place;
	s64 dead_place;
	u32 abandoned;
	u32 requeues;
};

/* Q16: where a group waits for its turn. */
struct model_group {
	enum { NOWHERE, IN_BAND, BLOCKED } where;
	int priority;		/* of its band */
	bool returned;		/* the same */
	s64 turn;		/* in its band or among the blocked ones; the lower comes first */
};

struct model_histogram {
	unsigned __int128 sum;
	u64 counts[KWQ_HISTOGRAM_BUCKETS];
};

struct model {
	struct model_item item[NR_ITEMS];
	struct rate rate;
	struct model_group group[NR_GROUPS];
	bool small;		/* K6: without lanes */
	bool grouped;
	u32 group_limit;
	u64 aging;
	bool shut_down;
	bool cancelled;
	bool flushing;
	u32 pauses;
	s64 last_place;
	s64 first_place;
	u64 readied, adds, coalesced, gets, dones, abandoned, returned, removed, dropped;
	u64 retries, rate_limited, died;
	u32 flushes;
	bool ended;
	struct model_histogram queue_duration, work_duration, lateness;
};

/* Items are identified by their numbers; NOBODY is none. */
#define NOBODY	(-1)

void model_item_init(struct model_item *item);
void model_init(struct model *model);

int model_add(struct model *model, int item, int priority, bool end_wait, s64 now);
int model_add_at(struct model *model, int item, int priority, s64 when,
		 enum kwq_wait_policy policy, s64 now);
s64 model_latest(const struct model *model, int item, u64 at_most, s64 now);
int model_add_rate_limited(struct model *model, int item, int priority,
			   enum kwq_wait_policy policy, s64 now, u32 random);
int model_restore(struct model *model, int item, const struct kwq_restored *restored, s64 now);
int model_coalesce(struct model *model, int item);
int model_expedite(struct model *model, int item, s64 now);
void model_set_group(struct model *model, int item, int group);
u32 model_num_requeues(const struct model *model, int item, s64 now);
u32 model_forget(struct model *model, int item, s64 now);
int model_give_up(struct model *model, int item, s64 now);
int model_get(struct model *model, int holder, s64 now);
int model_get_item(struct model *model, int holder, int item, s64 now);
int model_done(struct model *model, int holder, int item, s64 now);
int model_bury(struct model *model, int holder, int item, s64 now);
void model_unget(struct model *model, int item);
int model_give_back(struct model *model, int holder, int item, s64 now);
int model_abandon(struct model *model, int item, s64 now);
int model_remove(struct model *model, int item);
int model_disable(struct model *model, int item);
void model_enable(struct model *model, int item);
void model_cancel_all(struct model *model);
int model_expire(struct model *model, s64 now);
void model_drop(struct model *model, int item);
void model_await(struct model *model, int item);
void model_begin_flush(struct model *model);
unsigned long model_nr_before(const struct model *model);
void model_gauges(const struct model *model, struct kwq_gauges *gauges, s64 now);

/* Q8: waiting items are dropped first, in any order. */
bool model_may_drop(const struct model *model, int item);

bool model_is_idle(const struct model_item *item);

/* The item that a get hands out at @now, if nothing is paused; NOBODY. */
int model_next(const struct model *model, s64 now);

/* The number of ready items that can be handed out. */
u32 model_nr_offered(const struct model *model);

/* The first ready item, without aging; if all groups are at their limits, one of theirs. */
int model_any_ready(const struct model *model);

/* Of the groups of one band, or of those at their limits with @where BLOCKED: the first to last. */
int model_groups(const struct model *model, int where, int priority, bool returned,
		 int order[NR_GROUPS]);

/* The numbers of the items in this state, in their order. Returns how many there are. */
int model_ready(const struct model *model, int order[NR_ITEMS]);
int model_waiting(const struct model *model, int order[NR_ITEMS]);
int model_processing(const struct model *model, int order[NR_ITEMS]);
int model_dead(const struct model *model, int order[NR_ITEMS]);

/* M1: the number of items that are being processed and dirty. */
int model_nr_dirty_processing(const struct model *model);

#endif /* MODEL_MODEL_H */

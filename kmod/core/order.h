/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The order in which KWQ_LARGE_ORDERED hands items out: by groups (Q16), by age (Q17), or both.
 * Only core.c calls these functions. They take no lock, read no clock and allocate nothing.
 *
 * Groups: a group links its ready items by priority and lane. The items of one priority and lane
 * are its level. They form a ring through their @link, without a head. Only the first item of a
 * ring is in the group's tree of levels, which so has at most 128 nodes.
 *
 *     band ---- group ------ group ------ group
 *                 |
 *              levels:   item - item - item       5, returned
 *                        item                     5, fresh
 *                        item - item              0, fresh
 *
 * A group is linked into one band, that of its first item: of its best priority, and there of the
 * better lane. A hand-out takes the first item of the first group of the best band. Then the group
 * goes to the tail of the band of its next item, so that groups take turns. No item of a better
 * priority is overtaken, because its group would be in a better band. So a hand-out costs the
 * same however many groups there are.
 *
 * A group at its limit is in no band, but in the list of blocked groups, so that nobody has to skip
 * it. The end of one of its runs links it into a band again, at the tail. A group offers as many
 * items as are ready and as its limit leaves. The core keeps the number of all ready items that
 * are not offered. Its @readied rises by as many items as a group offers more than before. So the
 * queue wakes a waiter for each offered item, and none for another.
 *
 * Aging: the first item of each band counts as one priority higher for each @aging since it became
 * dirty, up to the highest. The best of these first items is handed out. With groups, these are the
 * first items of the first groups. If the turn is a group's, the same comparison chooses among the
 * levels of that group. So neither an old item behind younger ones of its own group starves, nor an
 * old group. A hand-out looks at 128 bands and 128 levels at most.
 */
#ifndef KWQ_ORDER_H
#define KWQ_ORDER_H

#include <linux/bitops.h>
#include <linux/kwq_types.h>
#include <linux/list.h>
#include <uapi/linux/kwq.h>
#include "core.h"

static inline int kwq_level_of(int priority)
{
	return priority - KWQ_PRIORITY_MIN;
}

/**
 * kwq_best_band() - find the best band that is not empty
 * @bulk: of the core
 * @lane: out: its lane
 *
 * Return: the level of its priority; -1 if all are empty.
 */
static inline int kwq_best_band(const struct kwq_bulk *bulk, enum kwq_lane *lane)
{
	u64 returned = bulk->occupied[KWQ_LANE_RETURNED];
	int level = fls64(returned | bulk->occupied[KWQ_LANE_FRESH]) - 1;

	if (level >= 0)
		*lane = returned & BIT_ULL(level) ? KWQ_LANE_RETURNED : KWQ_LANE_FRESH;
	return level;
}

/* groups.c */
void kwq_groups_join(struct kwq_core *core, struct kwq_item *item, bool first);
void kwq_groups_leave(struct kwq_core *core, struct kwq_item *item);
void kwq_groups_take(struct kwq_core *core, struct kwq_item *item);
bool kwq_groups_has_moved(const struct kwq_core *core, const struct kwq_item *item);
void kwq_groups_end_run(struct kwq_core *core, struct kwq_item *item);
struct kwq_item *kwq_groups_any(const struct kwq_core *core);
struct kwq_item *kwq_group_first(const struct kwq_group *group);
struct kwq_item *kwq_group_next_level(const struct kwq_item *item);
struct kwq_item *kwq_first_of_band(const struct kwq_bulk *bulk, enum kwq_lane lane, int level);
struct kwq_item *kwq_first_of_bands(const struct kwq_bulk *bulk);
struct kwq_item *kwq_first_blocked(const struct kwq_core *core);

/* aging.c */
struct kwq_item *kwq_order_first(const struct kwq_core *core, ktime_t now);

#endif /* KWQ_ORDER_H */

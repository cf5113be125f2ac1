// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Aging: an item that has been dirty for long counts as of a higher priority, so that none starves
 * (Q17). order.h explains it.
 */
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include "order.h"

/**
 * kwq_core_set_aging() - let items age (Q17)
 * @core: the core; large
 * @aging: after this time in ns a ready item counts as one priority higher, and so on; 0 for never
 *
 * May be called at any time. Nothing becomes ready by it, and nobody has to be woken.
 */
void kwq_core_set_aging(struct kwq_core *core, u64 aging)
{
	struct kwq_order *order = &kwq_bulk_of(core)->order;

	order->aging = aging;
	WRITE_ONCE(core->form, aging || order->grouped ? KWQ_LARGE_ORDERED : KWQ_LARGE);
}

/**
 * kwq_core_ages() - do items age (Q17)
 * @core: the core; of either form
 *
 * Return: true if kwq_core_set_aging() has set a time.
 */
bool kwq_core_ages(const struct kwq_core *core)
{
	return core->form == KWQ_LARGE_ORDERED && kwq_bulk_of(core)->order.aging;
}

/*
 * O8: how many bands and levels a hold of the lock may look at, at some 40 instructions each. A
 * group has up to KWQ_NR_LANES * KWQ_NR_PRIORITIES levels.
 */
#define LOOKS_PER_HOLD	1024

/**
 * kwq_core_most_gets() - how many items one hold of the lock may hand out (O8)
 * @core: the core; large. It may change meanwhile, because the answer is only an estimate
 *
 * Return: the number, at least 1; UINT_MAX without aging.
 */
unsigned int kwq_core_most_gets(const struct kwq_core *core)
{
	const struct kwq_bulk *bulk = kwq_bulk_of(core);
	unsigned int looks = 1;
	int lane;

	if (!bulk->order.aging)
		return UINT_MAX;
	for (lane = 0; lane < KWQ_NR_LANES; lane++)
		looks += hweight64(READ_ONCE(bulk->occupied[lane]));
	if (bulk->order.grouped)
		looks += KWQ_NR_LANES * KWQ_NR_PRIORITIES;
	return LOOKS_PER_HOLD / looks;
}

/**
 * struct claim - an item that may be the next one
 * @item: the item; NULL for none yet
 * @level: number of the priority that it counts as
 */
struct claim {
	struct kwq_item *item;
	u64 level;
};

/*
 * If both count as the same priority, the one goes first that has been dirty longest, then the
 * returned one, then the one of the higher priority.
 */
static bool goes_before(const struct claim *a, const struct claim *b)
{
	if (!b->item || a->level != b->level)
		return !b->item || a->level > b->level;
	if (a->item->dirtied != b->item->dirtied)
		return a->item->dirtied < b->item->dirtied;
	if (a->item->lane != b->item->lane)
		return a->item->lane == KWQ_LANE_RETURNED;
	return a->item->priority > b->item->priority;
}

static void consider(struct claim *best, struct kwq_item *item, u64 aging, ktime_t now)
{
	u64 age = kwq_span(item->dirtied, now);
	struct claim claim = {
		.item = item,
		.level = min_t(u64, kwq_level_of(item->priority) + div64_u64(age, aging),
			       KWQ_NR_PRIORITIES - 1),
	};

	if (goes_before(&claim, best))
		*best = claim;
}

/* Looks at the first item of each band. */
static struct kwq_item *oldest_of_bands(const struct kwq_bulk *bulk, ktime_t now)
{
	struct claim best = {};
	int lane, level;
	u64 occupied;

	for (lane = 0; lane < KWQ_NR_LANES; lane++) {
		for (occupied = bulk->occupied[lane]; occupied; occupied &= ~BIT_ULL(level)) {
			level = fls64(occupied) - 1;
			consider(&best, kwq_first_of_band(bulk, lane, level), bulk->order.aging,
				 now);
		}
	}
	return best.item;
}

/* Looks at the first item of each level of the item's group. */
static struct kwq_item *oldest_of_levels(struct kwq_item *first, u64 aging, ktime_t now)
{
	struct claim best = {};

	for (; first; first = kwq_group_next_level(first))
		consider(&best, first, aging, now);
	return best.item;
}

/**
 * kwq_order_first() - find the item that the next get hands out
 * @core: the core; KWQ_LARGE_ORDERED
 * @now: current time
 *
 * Return: the item; NULL if none can be handed out.
 */
struct kwq_item *kwq_order_first(const struct kwq_core *core, ktime_t now)
{
	const struct kwq_bulk *bulk = kwq_bulk_of(core);
	struct kwq_item *item;

	if (!bulk->order.aging)
		return kwq_first_of_bands(bulk);
	item = oldest_of_bands(bulk, now);
	if (item && bulk->order.grouped)
		item = oldest_of_levels(item, bulk->order.aging, now);
	return item;
}

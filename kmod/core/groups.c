// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Groups: they take turns, and a limited number of items of each is processing at once (Q16).
 * order.h draws them.
 */
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include "line.h"
#include "order.h"

void kwq_group_init(struct kwq_group *group)
{
	group->levels = RB_ROOT;
	group->nr_ready = 0;
	group->nr_processing = 0;
	group->users = 0;
	group->place = KWQ_GROUP_NOWHERE;
	group->lane = 0;
	group->priority = 0;
}
EXPORT_SYMBOL_GPL(kwq_group_init);

void kwq_grouped_item_init(struct kwq_grouped_item *grouped, struct kwq_group *group)
{
	grouped->member.group = group;
	RB_CLEAR_NODE(&grouped->member.level);
	kwq_item_init(&grouped->item);
}
EXPORT_SYMBOL_GPL(kwq_grouped_item_init);

static struct kwq_member *member_of(const struct kwq_item *item)
{
	return &container_of(item, struct kwq_grouped_item, item)->member;
}

static struct kwq_item *item_of_level(const struct rb_node *node)
{
	return &container_of(node, struct kwq_grouped_item, member.level)->item;
}

static struct kwq_order *order_of(const struct kwq_core *core)
{
	return &kwq_bulk_of(core)->order;
}

static struct kwq_group *group_of(const struct kwq_core *core, const struct kwq_item *item)
{
	return member_of(item)->group ?: &order_of(core)->ungrouped;
}

/* Among the items of a group, and of the first items of groups: the highest one goes first. */
static int rank(int priority, enum kwq_lane lane)
{
	return 2 * priority + (lane == KWQ_LANE_RETURNED);
}

static int rank_of(const struct kwq_item *item)
{
	return rank(item->priority, item->lane);
}

/* The number of ready items that its limit leaves. */
static u32 nr_offered(const struct kwq_order *order, const struct kwq_group *group)
{
	u32 limit = order->group_limit;

	if (!limit || group == &order->ungrouped)
		return group->nr_ready;
	return min(group->nr_ready, limit - min(group->nr_processing, limit));
}

/* Changes the counts of a group, and those of the core that depend on them. */
static void change_counts(struct kwq_core *core, struct kwq_group *group, int ready,
			  int processing)
{
	struct kwq_order *order = order_of(core);
	u32 before = nr_offered(order, group), after;

	order->nr_blocked -= group->nr_ready - before;
	group->nr_ready += ready;
	group->nr_processing += processing;
	after = nr_offered(order, group);
	order->nr_blocked += group->nr_ready - after;
	if (after > before)
		core->readied += after - before;
}

/* Links an item into its level, at the tail or the head. */
static void join_level(struct kwq_core *core, struct kwq_group *group, struct kwq_item *item,
		       bool first)
{
	struct rb_node **link = &group->levels.rb_node, *parent = NULL;
	struct rb_node *level = &member_of(item)->level;
	struct kwq_item *head;

	item->order = ++kwq_bulk_of(core)->last_order;
	while (*link) {
		parent = *link;
		head = item_of_level(parent);
		if (rank_of(item) == rank_of(head)) {
			/* Before the head is behind the last one. */
			list_add_tail(&item->link, &head->link);
			RB_CLEAR_NODE(level);
			if (first) {
				item->order = head->order - 1;
				rb_replace_node(parent, level, &group->levels);
				RB_CLEAR_NODE(parent);
			}
			return;
		}
		link = rank_of(item) > rank_of(head) ? &parent->rb_left : &parent->rb_right;
	}
	INIT_LIST_HEAD(&item->link);
	rb_link_node(level, parent, link);
	rb_insert_color(level, &group->levels);
}

static void leave_level(struct kwq_group *group, struct kwq_item *item)
{
	struct rb_node *level = &member_of(item)->level;
	struct kwq_item *next = list_next_entry(item, link);

	if (next == item)
		rb_erase(level, &group->levels);
	else if (!RB_EMPTY_NODE(level))
		rb_replace_node(level, &member_of(next)->level, &group->levels);
	RB_CLEAR_NODE(level);
	list_del(&item->link);
}

/**
 * kwq_group_first() - the first item of a group
 * @group: the group
 *
 * Return: the first one of its best level; NULL if none is ready.
 */
struct kwq_item *kwq_group_first(const struct kwq_group *group)
{
	const struct rb_node *node = rb_first(&group->levels);

	return node ? item_of_level(node) : NULL;
}

/**
 * kwq_group_next_level() - the first item of the next level of a group
 * @item: the first item of a level
 *
 * Return: the item; NULL if that was the last level.
 */
struct kwq_item *kwq_group_next_level(const struct kwq_item *item)
{
	const struct rb_node *node = rb_next(&member_of(item)->level);

	return node ? item_of_level(node) : NULL;
}

/* The turn of a group whose place does not change. */
enum turn {
	KEEPS_TURN,	/* it stays where it is */
	TOOK_TURN,	/* it goes to the tail */
	HAS_TURN_AGAIN,	/* it goes to the head */
};

static bool is_placed_well(const struct kwq_group *group, u8 place, const struct kwq_item *first)
{
	if (group->place != place)
		return false;
	return place != KWQ_GROUP_IN_BAND ||
	       (group->lane == first->lane && group->priority == first->priority);
}

/* The line in which a group is; NULL if it is in none. */
static struct kwq_line *line_of(struct kwq_bulk *bulk, const struct kwq_group *group)
{
	switch (group->place) {
	case KWQ_GROUP_IN_BAND:
		return &bulk->bands[group->lane][kwq_level_of(group->priority)];
	case KWQ_GROUP_BLOCKED:
		return &bulk->order.blocked;
	}
	return NULL;
}

static void leave_line(struct kwq_bulk *bulk, struct kwq_group *group)
{
	struct kwq_line *line = line_of(bulk, group);

	if (!line)
		return;
	kwq_line_leave(line, &group->node);
	if (group->place == KWQ_GROUP_IN_BAND && kwq_line_is_empty(line))
		bulk->occupied[group->lane] &= ~BIT_ULL(kwq_level_of(group->priority));
}

static void join_line(struct kwq_bulk *bulk, struct kwq_group *group, u8 place,
		      const struct kwq_item *first, bool at_head)
{
	struct kwq_line *line;

	group->place = place;
	if (place == KWQ_GROUP_NOWHERE)
		return;
	if (place == KWQ_GROUP_IN_BAND) {
		group->lane = first->lane;
		group->priority = first->priority;
		bulk->occupied[first->lane] |= BIT_ULL(kwq_level_of(first->priority));
	}
	line = line_of(bulk, group);
	if (at_head)
		kwq_line_join_first(line, &group->node);
	else
		kwq_line_join(line, &group->node);
}

/* Links a group where its counts and its first item want it. */
static void place_group(struct kwq_core *core, struct kwq_group *group, enum turn turn)
{
	const struct kwq_item *first = kwq_group_first(group);
	u8 place = KWQ_GROUP_NOWHERE;

	if (first)
		place = nr_offered(order_of(core), group) ? KWQ_GROUP_IN_BAND : KWQ_GROUP_BLOCKED;
	if (turn == KEEPS_TURN && is_placed_well(group, place, first))
		return;
	leave_line(kwq_bulk_of(core), group);
	join_line(kwq_bulk_of(core), group, place, first, turn == HAS_TURN_AGAIN);
}

/* Does a group stay where it is if this item joins it? */
static bool stays_with(const struct kwq_group *group, const struct kwq_item *item)
{
	if (group->place != KWQ_GROUP_IN_BAND)
		return group->place == KWQ_GROUP_BLOCKED;
	return rank_of(item) <= rank(group->priority, group->lane);
}

/**
 * kwq_groups_join() - link a ready item into its group
 * @core: the core; grouped
 * @item: the item, with its lane and priority
 * @first: it goes to the head of its level, and its group has its turn again
 *
 * Counts what the group offers now in @core->readied.
 */
void kwq_groups_join(struct kwq_core *core, struct kwq_item *item, bool first)
{
	struct kwq_group *group = group_of(core, item);

	join_level(core, group, item, first);
	change_counts(core, group, 1, 0);
	if (first)
		place_group(core, group, HAS_TURN_AGAIN);
	else if (!stays_with(group, item))
		place_group(core, group, KEEPS_TURN);
}

/**
 * kwq_groups_leave() - undo kwq_groups_join()
 * @core: the core; grouped
 * @item: a ready item
 */
void kwq_groups_leave(struct kwq_core *core, struct kwq_item *item)
{
	struct kwq_group *group = group_of(core, item);

	leave_level(group, item);
	change_counts(core, group, -1, 0);
	place_group(core, group, KEEPS_TURN);
}

/**
 * kwq_groups_take() - hand out a ready item of a group
 * @core: the core; grouped
 * @item: the item; its group may be at its limit
 *
 * The group has taken its turn.
 */
void kwq_groups_take(struct kwq_core *core, struct kwq_item *item)
{
	struct kwq_group *group = group_of(core, item);

	leave_level(group, item);
	member_of(item)->running_in = group;
	change_counts(core, group, -1, 1);
	place_group(core, group, TOOK_TURN);
}

/**
 * kwq_groups_has_moved() - has a processing item moved to another group meanwhile
 * @core: the core; grouped
 * @item: the item
 *
 * Return: true if its next run will count in another group than this one does.
 */
bool kwq_groups_has_moved(const struct kwq_core *core, const struct kwq_item *item)
{
	return member_of(item)->running_in != group_of(core, item);
}

/**
 * kwq_groups_end_run() - the processing of an item has ended, in any way
 * @core: the core; grouped
 * @item: the item
 *
 * A group that was at its limit may offer an item again, and counts it in @core->readied.
 */
void kwq_groups_end_run(struct kwq_core *core, struct kwq_item *item)
{
	struct kwq_group *group = member_of(item)->running_in;

	change_counts(core, group, 0, -1);
	if (group->place == KWQ_GROUP_BLOCKED)
		place_group(core, group, KEEPS_TURN);
}

/**
 * kwq_core_set_group() - move an item to another group (Q16)
 * @core: the core; grouped
 * @item: the item
 * @group: its group from now on; NULL for none
 *
 * A ready item goes to the tail of its priority in the new group. The present run of a processing
 * item stays counted in the old group. An item of that group stays where it is.
 */
void kwq_core_set_group(struct kwq_core *core, struct kwq_item *item, struct kwq_group *group)
{
	struct kwq_member *member = member_of(item);
	u32 readied = core->readied, before = kwq_core_nr_offered(core), after;
	u8 ready = item->state & (KWQ_ITEM_DIRTY | KWQ_ITEM_PROCESSING);

	if (member->group == group)
		return;
	if (ready != KWQ_ITEM_DIRTY) {
		member->group = group;
		return;
	}
	kwq_groups_leave(core, item);
	member->group = group;
	kwq_groups_join(core, item, false);
	/* A move wakes a waiter only if the two groups together offer more than before. */
	after = kwq_core_nr_offered(core);
	core->readied = readied + (after > before ? after - before : 0);
}

/**
 * kwq_core_group_items() - let a core have groups (Q16)
 * @core: the core; large, and no item is in it
 * @limit: most items of one group that are processing at once; 0 for no limit
 *
 * From now on, each of its items is a &struct kwq_grouped_item.
 */
void kwq_core_group_items(struct kwq_core *core, u32 limit)
{
	order_of(core)->grouped = true;
	order_of(core)->group_limit = limit;
	WRITE_ONCE(core->form, KWQ_LARGE_ORDERED);
}

/**
 * kwq_first_of_band() - the first item of a band
 * @bulk: of a large core
 * @lane: the band's lane
 * @level: number of its priority; it is not empty
 *
 * Return: the item; with groups the first one of the band's first group.
 */
struct kwq_item *kwq_first_of_band(const struct kwq_bulk *bulk, enum kwq_lane lane, int level)
{
	const struct kwq_line *band = &bulk->bands[lane][level];

	if (!bulk->order.grouped)
		return kwq_line_first(band, struct kwq_item, node);
	return kwq_group_first(kwq_line_first(band, struct kwq_group, node));
}

/**
 * kwq_first_of_bands() - the first item of the best band
 * @bulk: of the core; large
 *
 * Return: the item; NULL if all bands are empty.
 */
struct kwq_item *kwq_first_of_bands(const struct kwq_bulk *bulk)
{
	enum kwq_lane lane;
	int level;

	level = kwq_best_band(bulk, &lane);
	return level < 0 ? NULL : kwq_first_of_band(bulk, lane, level);
}

/**
 * kwq_first_blocked() - the first item of the group that has been at its limit longest
 * @core: the core; large
 *
 * Return: the item; NULL if no group with ready items is at its limit.
 */
struct kwq_item *kwq_first_blocked(const struct kwq_core *core)
{
	const struct kwq_order *order = order_of(core);

	if (kwq_line_is_empty(&order->blocked))
		return NULL;
	return kwq_group_first(kwq_line_first(&order->blocked, struct kwq_group, node));
}

/**
 * kwq_groups_any() - find a ready item
 * @core: the core; grouped
 *
 * Return: the first item of the best band; of a group at its limit, if all are; NULL if none is
 * ready.
 */
struct kwq_item *kwq_groups_any(const struct kwq_core *core)
{
	return kwq_first_of_bands(kwq_bulk_of(core)) ?: kwq_first_blocked(core);
}

/**
 * kwq_core_can_get_unusual() - kwq_core_can_get() of a core in which something is unusual
 * @core: the core; an item is ready
 *
 * Return: true if a get will be handed an item.
 */
noinline bool kwq_core_can_get_unusual(const struct kwq_core *core)
{
	return !kwq_core_is_paused(core) && kwq_core_nr_offered(core);
}

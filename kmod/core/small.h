/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The small form of a core (K6): a list, a tree of times, and no figures. Only form.h includes it.
 *
 * The list has the processing items first, in the order of their hand-outs, and then the ready
 * ones. There are no lanes, so a returned item goes before all ready ones. The time of a waiting
 * item is where a large core notes since when it is dirty.
 */
#ifndef KWQ_SMALL_H
#define KWQ_SMALL_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include "core.h"

/* Links an item behind all ready ones, or before them. */
static void join_items(struct kwq_core *core, struct kwq_item *item, bool first)
{
	list_add_tail(&item->link, first ? core->first_ready : &core->items);
	if (first || core->first_ready == &core->items)
		core->first_ready = &item->link;
}

static void leave_items(struct kwq_core *core, struct kwq_item *item)
{
	if (core->first_ready == &item->link)
		core->first_ready = item->link.next;
	list_del(&item->link);
}

static inline struct kwq_item *first_of_items(const struct kwq_core *core)
{
	return core->nr_ready ? list_entry(core->first_ready, struct kwq_item, link) : NULL;
}

/* A processing item stays in the list, before the ready ones. */
static void take_of_items(struct kwq_core *core, struct kwq_item *item)
{
	if (core->first_ready == &item->link)
		core->first_ready = item->link.next;
	else
		list_move_tail(&item->link, core->first_ready);
}

static struct kwq_item *item_by_time(struct rb_node *node)
{
	return rb_entry_safe(node, struct kwq_item, by_time);
}

/* Adds an item to @by_time, behind all that are not later. Returns true if it is the first. */
static bool add_by_time(struct kwq_core *core, struct kwq_item *item)
{
	struct rb_node **link = &core->by_time.rb_node, *parent = NULL;
	bool first = true;

	while (*link) {
		parent = *link;
		if (item->due < item_by_time(parent)->due) {
			link = &parent->rb_left;
		} else {
			link = &parent->rb_right;
			first = false;
		}
	}
	rb_link_node(&item->by_time, parent, link);
	rb_insert_color(&item->by_time, &core->by_time);
	return first;
}

static ktime_t first_by_time(const struct kwq_core *core)
{
	const struct kwq_item *first = item_by_time(rb_first(&core->by_time));

	return first ? first->due : KTIME_MAX;
}

static struct kwq_item *expire_by_time(struct kwq_core *core, ktime_t now,
				       unsigned int *budget)
{
	struct kwq_item *item = item_by_time(rb_first(&core->by_time));

	if (!item || item->due > now || !*budget)
		return NULL;
	rb_erase(&item->by_time, &core->by_time);
	--*budget;
	return item;
}

/* Takes any waiting item. */
static struct kwq_item *take_by_time(struct kwq_core *core)
{
	struct kwq_item *item = item_by_time(core->by_time.rb_node);

	if (item)
		rb_erase(&item->by_time, &core->by_time);
	return item;
}

#endif /* KWQ_SMALL_H */

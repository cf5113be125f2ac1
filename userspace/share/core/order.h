/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The order in which keys are granted: higher priorities first (Q12), within a priority groups in
 * turns (Q16), within a group in the order in which keys became ready (Q1), but keys that come back
 * go ahead (O1). A group has at most so many keys at work. Keys without a group are one more group,
 * without a limit.
 *
 * And a heap of times.
 *
 * Pure data structures: no clock, no I/O. Functions that return int return 0, or -ENOMEM after
 * which the order is unchanged.
 */
#ifndef KWQ_SHARE_ORDER_H
#define KWQ_SHARE_ORDER_H

#include "share/wire/record.h"

enum { PRIORITY_LEVELS = 64, PRIORITY_LOWEST = -32 };

struct order_group;
struct order_line;

/*
 * Part of a key. Zero is neither ready nor at work.
 * @line: it is ready, and stands there
 * @group: it is at work, and counts there
 */
struct order_item {
	struct order_item *prev, *next;
	struct order_line *line;
	struct order_group *group;
};

/*
 * @rings: for each priority the lines of groups that may have a turn, in the order of their turns
 * @bands: a bit for each ring that is not empty
 * @limit: the most keys of a group at work, 0 for no limit
 */
struct order {
	struct order_group *groups;
	struct order_line *rings[PRIORITY_LEVELS];
	uint64_t bands;
	uint32_t limit;
	size_t ready;
};

void order_init(struct order *order, uint32_t limit);

/* Frees what the order allocated. Items are the caller's. */
void order_destroy(struct order *order);

/*
 * Makes @item, which is neither ready nor at work, ready in @group: at the tail of its line, or if
 * @ahead, first, and its group has the next turn. An empty group is none. The bytes of @group are
 * copied.
 */
int order_add(struct order *order, struct order_item *item, int priority, const struct bytes *group,
	      bool ahead);

/* Takes out @item, which is ready. */
void order_remove(struct order *order, struct order_item *item);

/*
 * Returns the item whose turn it is, or NULL if there is none, or if all groups with ready items
 * are at their limits.
 */
struct order_item *order_first(const struct order *order);

/*
 * Takes out @item, which is order_first(), passes the turn on, and counts it as at work in its
 * group.
 */
void order_take(struct order *order, struct order_item *item);

/* Counts @item, which is not ready, as at work in @group. */
int order_book(struct order *order, struct order_item *item, const struct bytes *group);

/* @item is at work no more. */
void order_finish(struct order *order, struct order_item *item);

bool order_is_ready(const struct order_item *item);
int order_priority(const struct order_item *item);

/* Whether @item, which is ready, is in that group. */
bool order_is_in(const struct order_item *item, const struct bytes *group);

/*
 * Part of what has a time.
 * @order: the earlier of two with equal times has the lower one (D4)
 * @place: in the heap, from 1; 0 if it is not there
 * @owner: the caller's
 */
struct due_item {
	uint64_t time, order;
	size_t place;
	void *owner;
};

struct due_heap {
	struct due_item **items;
	size_t nr, room;
};

/* Sets the time of @item, NEVER to take it out. Only a call that puts it in can fail. */
int due_set(struct due_heap *heap, struct due_item *item, uint64_t time, uint64_t order);

/* Returns the earliest, or NULL. */
struct due_item *due_first(const struct due_heap *heap);

void due_destroy(struct due_heap *heap);

#endif /* KWQ_SHARE_ORDER_H */

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "op.h"
#include "order.h"

/*
 * The ready items of a group in one priority.
 * @prev, @next: in the ring of the priority, if @is_in_ring
 * @sibling: another line of the group
 */
struct order_line {
	struct order_line *prev, *next, *sibling;
	struct order_group *group;
	struct order_item *items;
	int level;
	bool is_in_ring;
};

/*
 * @lines: of the group, one a priority
 * @ready, @working: the group lives as long as it has any
 */
struct order_group {
	UT_hash_handle hh;
	struct order_line *lines;
	size_t ready, working;
	size_t len;
	char name[];
};

void order_init(struct order *order, uint32_t limit)
{
	memset(order, 0, sizeof(*order));
	order->limit = limit;
}

static void free_group(struct order *order, struct order_group *group)
{
	struct order_line *line, *next;

	for (line = group->lines; line; line = next) {
		next = line->sibling;
		free(line);
	}
	HASH_DEL(order->groups, group);
	free(group);
}

void order_destroy(struct order *order)
{
	struct order_group *group, *next;

	HASH_ITER(hh, order->groups, group, next)
		free_group(order, group);
}

static struct order_group *find_group(struct order *order, const struct bytes *name)
{
	struct order_group *group;

	HASH_FIND(hh, order->groups, name->len ? name->at : "", name->len, group);
	if (group)
		return group;
	group = calloc(1, sizeof(*group) + name->len);
	if (!group)
		return NULL;
	group->len = name->len;
	if (name->len)
		memcpy(group->name, name->at, name->len);
	HASH_ADD_KEYPTR(hh, order->groups, group->name, group->len, group);
	if (HASH_HAS(group))
		return group;
	free(group);
	return NULL;
}

static void drop_unused(struct order *order, struct order_group *group)
{
	if (!group->ready && !group->working)
		free_group(order, group);
}

static struct order_line *find_line(struct order_group *group, int level)
{
	struct order_line *line;

	LL_FOREACH2(group->lines, line, sibling)
		if (line->level == level)
			return line;
	line = calloc(1, sizeof(*line));
	if (!line)
		return NULL;
	line->group = group;
	line->level = level;
	LL_PREPEND2(group->lines, line, sibling);
	return line;
}

static bool is_full(const struct order *order, const struct order_group *group)
{
	return order->limit && group->len && group->working >= order->limit;
}

static void enter_ring(struct order *order, struct order_line *line, bool first)
{
	if (first)
		DL_PREPEND(order->rings[line->level], line);
	else
		DL_APPEND(order->rings[line->level], line);
	line->is_in_ring = true;
	order->bands |= UINT64_C(1) << line->level;
}

static void leave_ring(struct order *order, struct order_line *line)
{
	if (!line->is_in_ring)
		return;
	DL_DELETE(order->rings[line->level], line);
	line->is_in_ring = false;
	if (!order->rings[line->level])
		order->bands &= ~(UINT64_C(1) << line->level);
}

int order_add(struct order *order, struct order_item *item, int priority, const struct bytes *name,
	      bool ahead)
{
	struct order_group *group = find_group(order, name);
	struct order_line *line;

	if (!group)
		return -ENOMEM;
	line = find_line(group, priority - PRIORITY_LOWEST);
	if (!line) {
		drop_unused(order, group);
		return -ENOMEM;
	}
	item->line = line;
	if (ahead) {
		DL_PREPEND(line->items, item);
		leave_ring(order, line);
	} else {
		DL_APPEND(line->items, item);
	}
	group->ready++;
	order->ready++;
	if (!line->is_in_ring && !is_full(order, group))
		enter_ring(order, line, ahead);
	return 0;
}

/* The group may be without items then. */
static struct order_group *take_out(struct order *order, struct order_item *item)
{
	struct order_line *line = item->line;

	DL_DELETE(line->items, item);
	item->line = NULL;
	if (!line->items)
		leave_ring(order, line);
	line->group->ready--;
	order->ready--;
	return line->group;
}

void order_remove(struct order *order, struct order_item *item)
{
	drop_unused(order, take_out(order, item));
}

struct order_item *order_first(const struct order *order)
{
	return order->bands ? order->rings[63 - __builtin_clzll(order->bands)]->items : NULL;
}

static void begin_work(struct order *order, struct order_item *item, struct order_group *group)
{
	struct order_line *line;

	item->group = group;
	group->working++;
	if (is_full(order, group))
		LL_FOREACH2(group->lines, line, sibling)
			leave_ring(order, line);
}

void order_take(struct order *order, struct order_item *item)
{
	struct order_line *line = item->line;
	struct order_group *group = take_out(order, item);

	if (line->is_in_ring) {
		leave_ring(order, line);
		enter_ring(order, line, false);
	}
	begin_work(order, item, group);
}

int order_book(struct order *order, struct order_item *item, const struct bytes *name)
{
	struct order_group *group = find_group(order, name);

	if (!group)
		return -ENOMEM;
	begin_work(order, item, group);
	return 0;
}

void order_finish(struct order *order, struct order_item *item)
{
	struct order_group *group = item->group;
	struct order_line *line;

	item->group = NULL;
	group->working--;
	if (!is_full(order, group))
		LL_FOREACH2(group->lines, line, sibling)
			if (line->items && !line->is_in_ring)
				enter_ring(order, line, false);
	drop_unused(order, group);
}

bool order_is_ready(const struct order_item *item)
{
	return item->line;
}

int order_priority(const struct order_item *item)
{
	return item->line->level + PRIORITY_LOWEST;
}

bool order_is_in(const struct order_item *item, const struct bytes *group)
{
	const struct order_group *its = item->line->group;

	return its->len == group->len && (!group->len || !memcmp(its->name, group->at, group->len));
}

/* A binary heap in items[0..nr), where places count from 1. */
static bool is_earlier(const struct due_item *a, const struct due_item *b)
{
	return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static void put_at(struct due_heap *heap, struct due_item *item, size_t place)
{
	heap->items[place - 1] = item;
	item->place = place;
}

static void sift_up(struct due_heap *heap, struct due_item *item, size_t place)
{
	for (; place > 1 && is_earlier(item, heap->items[place / 2 - 1]); place /= 2)
		put_at(heap, heap->items[place / 2 - 1], place);
	put_at(heap, item, place);
}

static void sift_down(struct due_heap *heap, struct due_item *item, size_t place)
{
	size_t child;

	for (child = 2 * place; child <= heap->nr; place = child, child = 2 * place) {
		if (child < heap->nr && is_earlier(heap->items[child], heap->items[child - 1]))
			child++;
		if (!is_earlier(heap->items[child - 1], item))
			break;
		put_at(heap, heap->items[child - 1], place);
	}
	put_at(heap, item, place);
}

static void settle(struct due_heap *heap, struct due_item *item, size_t place)
{
	sift_up(heap, item, place);
	sift_down(heap, item, item->place);
}

static void due_remove(struct due_heap *heap, struct due_item *item)
{
	struct due_item *last = heap->items[--heap->nr];
	size_t place = item->place;

	item->place = 0;
	if (last != item)
		settle(heap, last, place);
}

static int make_room(struct due_heap *heap)
{
	size_t room = heap->room ? 2 * heap->room : 64;
	struct due_item **items;

	if (heap->nr < heap->room)
		return 0;
	items = realloc(heap->items, room * sizeof(struct due_item *));
	if (!items)
		return -ENOMEM;
	heap->items = items;
	heap->room = room;
	return 0;
}

int due_set(struct due_heap *heap, struct due_item *item, uint64_t time, uint64_t order)
{
	if (time == NEVER) {
		if (item->place)
			due_remove(heap, item);
		return 0;
	}
	if (!item->place) {
		if (make_room(heap))
			return -ENOMEM;
		item->place = ++heap->nr;
	}
	item->time = time;
	item->order = order;
	settle(heap, item, item->place);
	return 0;
}

struct due_item *due_first(const struct due_heap *heap)
{
	return heap->nr ? heap->items[0] : NULL;
}

void due_destroy(struct due_heap *heap)
{
	free(heap->items);
	*heap = (struct due_heap){ 0 };
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The set of waiting times. waiting.h explains it. */
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include "line.h"
#include "waiting.h"

/* The most waits that a removal looks at to find the next earliest one. */
#define KWQ_SEARCH_MAX	16

/**
 * kwq_waiting_init() - make a set empty
 * @waiting: the set
 */
void kwq_waiting_init(struct kwq_waiting *waiting)
{
	int level, nr;

	waiting->base = 0;
	waiting->levels = 0;
	kwq_line_init(&waiting->opening);
	waiting->opening_end = 0;
	for (level = 0; level < KWQ_WAITING_LEVELS; level++) {
		waiting->occupied[level] = 0;
		for (nr = 0; nr < KWQ_WAITING_SLOTS; nr++)
			kwq_line_init(&waiting->slots[level][nr].waits);
	}
}

/* The level of a time: the highest digit in which it differs from the base. */
static unsigned int level_at(const struct kwq_waiting *waiting, u64 time)
{
	unsigned int bits = fls64((time ^ waiting->base) | 1);

	return (bits - 1) / KWQ_WAITING_BITS;
}

static unsigned int digit_of(u64 time, unsigned int level)
{
	return time >> level * KWQ_WAITING_BITS & (KWQ_WAITING_SLOTS - 1);
}

/*
 * No time in the set is before the base. If a clock went back, such a time would take the
 * place of the base.
 */
static u64 place_of(const struct kwq_waiting *waiting, const struct kwq_wait *wait)
{
	return max(wait->expires, waiting->base);
}

/* Puts a wait into its slot. Returns true if none in the slots is earlier. */
static inline bool place(struct kwq_waiting *waiting,
			 struct kwq_wait *wait)
{
	u64 time = place_of(waiting, wait);
	unsigned int level = level_at(waiting, time);
	unsigned int digit = digit_of(time, level);
	struct kwq_slot *slot = &waiting->slots[level][digit];
	u32 level_bit = 1U << level, digit_bit = 1U << digit;
	bool first = false;

	if (!(waiting->occupied[level] & digit_bit) || wait->expires < slot->first) {
		slot->first = wait->expires;
		waiting->occupied[level] |= digit_bit;
		waiting->levels |= level_bit;
		first = !(waiting->levels & (level_bit - 1)) &&
			!(waiting->occupied[level] & (digit_bit - 1));
	}
	kwq_line_join(&slot->waits, &wait->node);
	return first;
}

/**
 * kwq_waiting_add() - add a wait to the set
 * @waiting: the set
 * @wait: the wait, with its time; in no set
 * @now: current time
 *
 * Return: true if kwq_waiting_next() may have changed.
 */
bool kwq_waiting_add(struct kwq_waiting *waiting, struct kwq_wait *wait, ktime_t now)
{
	if (!kwq_line_is_empty(&waiting->opening)) {
		/* Goes behind its equals, which may not have been moved yet. */
		if (wait->expires <= waiting->opening_end) {
			kwq_line_join(&waiting->opening, &wait->node);
			return false;
		}
	} else if (!waiting->levels) {
		/* The set is empty, so the base may move. Times near the base get narrow slots. */
		waiting->base = now;
	}
	return place(waiting, wait);
}

/*
 * Moves waits of an opened slot to narrower slots. Stops at one whose time is the base: it
 * is the earliest, and its equals are behind it.
 */
static void move_on(struct kwq_waiting *waiting, unsigned int *budget)
{
	struct kwq_wait *wait;

	while (*budget && !kwq_line_is_empty(&waiting->opening)) {
		wait = kwq_line_first(&waiting->opening, struct kwq_wait, node);
		if (wait->expires <= waiting->base)
			return;
		kwq_line_leave(&waiting->opening, &wait->node);
		place(waiting, wait);
		--*budget;
	}
}

static void vacate(struct kwq_waiting *waiting, unsigned int level, unsigned int digit)
{
	waiting->occupied[level] &= ~(1 << digit);
	if (!waiting->occupied[level])
		waiting->levels &= ~(1U << level);
}

/* The first wait of a slot was removed. If the slot is crowded, its time stays as a lower bound. */
static void find_first(struct kwq_slot *slot)
{
	const struct kwq_wait *wait;
	ktime_t first = KTIME_MAX;
	int nr = 0;

	hlist_for_each_entry(wait, &slot->waits.nodes, node) {
		if (++nr > KWQ_SEARCH_MAX)
			return;
		first = min(first, wait->expires);
	}
	slot->first = first;
}

/*
 * The line in which a wait is: @slot or @opening. A line needs to be known only if its last one
 * leaves it.
 */
static struct kwq_line *line_of_wait(struct kwq_waiting *waiting, struct kwq_slot *slot,
				     const struct kwq_wait *wait)
{
	return waiting->opening.end == &wait->node.next ? &waiting->opening : &slot->waits;
}

/**
 * kwq_waiting_del() - remove a wait from the set
 * @waiting: the set
 * @wait: the wait; in the set
 */
void kwq_waiting_del(struct kwq_waiting *waiting, struct kwq_wait *wait)
{
	u64 time = place_of(waiting, wait);
	unsigned int level = level_at(waiting, time);
	unsigned int digit = digit_of(time, level);
	/* Its slot. If the wait is in @opening, this slot holds others, and stays the same. */
	struct kwq_slot *slot = &waiting->slots[level][digit];
	unsigned int budget = KWQ_SEARCH_MAX;

	kwq_line_leave(line_of_wait(waiting, slot, wait), &wait->node);
	if (kwq_line_is_empty(&slot->waits))
		vacate(waiting, level, digit);
	else if (wait->expires == slot->first && level)
		find_first(slot);
	move_on(waiting, &budget);
}

/* The slot with the earliest times. The set must not be empty. */
static struct kwq_slot *first_slot(const struct kwq_waiting *waiting,
				   unsigned int *level, unsigned int *digit)
{
	*level = __ffs(waiting->levels);
	*digit = __ffs(waiting->occupied[*level]);
	return (struct kwq_slot *)&waiting->slots[*level][*digit];
}

/**
 * kwq_waiting_next() - when a wait may be due
 * @waiting: the set
 *
 * Return: the earliest time; KTIME_MAX if the set is empty. A time before it if the
 * earliest is not known, because it was removed from a crowded slot or a slot is being
 * opened.
 */
ktime_t kwq_waiting_next(const struct kwq_waiting *waiting)
{
	unsigned int level, digit;

	if (unlikely(!kwq_line_is_empty(&waiting->opening)))
		return waiting->base;
	if (!waiting->levels)
		return KTIME_MAX;
	return first_slot(waiting, &level, &digit)->first;
}

/**
 * kwq_waiting_take() - remove any wait
 * @waiting: the set; its order does not matter any more
 *
 * O(1): nothing is moved or searched.
 *
 * Return: the wait; NULL if the set is empty.
 */
struct kwq_wait *kwq_waiting_take(struct kwq_waiting *waiting)
{
	unsigned int level, digit;
	struct kwq_slot *slot;
	struct kwq_wait *wait;

	if (!kwq_line_is_empty(&waiting->opening)) {
		wait = kwq_line_first(&waiting->opening, struct kwq_wait, node);
		kwq_line_leave(&waiting->opening, &wait->node);
		return wait;
	}
	if (!waiting->levels)
		return NULL;
	slot = first_slot(waiting, &level, &digit);
	wait = kwq_line_first(&slot->waits, struct kwq_wait, node);
	kwq_line_leave(&slot->waits, &wait->node);
	if (kwq_line_is_empty(&slot->waits))
		vacate(waiting, level, digit);
	return wait;
}

/* Opens the first slot. All lower levels are empty, and no other slot is being opened. */
static void open_slot(struct kwq_waiting *waiting, struct kwq_slot *slot,
		      unsigned int level, unsigned int digit)
{
	waiting->base = slot->first;
	waiting->opening_end = slot->first |
			       GENMASK_ULL(level * KWQ_WAITING_BITS - 1, 0);
	kwq_line_move(&slot->waits, &waiting->opening);
	vacate(waiting, level, digit);
}

/**
 * kwq_waiting_expire() - remove the first due wait
 * @waiting: the set
 * @now: current time; not before that of the last call
 * @budget: in: how many waits may be moved or removed; out: how many are left
 *
 * Return: the wait; NULL if none is due, or if @budget ran out before the next one was
 * found.
 */
struct kwq_wait *kwq_waiting_expire(struct kwq_waiting *waiting, ktime_t now,
				    unsigned int *budget)
{
	unsigned int level = 0, digit;
	struct kwq_slot *slot;
	struct kwq_wait *due;

	move_on(waiting, budget);
	while (*budget && kwq_line_is_empty(&waiting->opening)) {
		if (!waiting->levels)
			return NULL;
		slot = first_slot(waiting, &level, &digit);
		if (slot->first > now)
			return NULL;
		if (!level) {
			due = kwq_line_first(&slot->waits, struct kwq_wait, node);
			kwq_line_leave(&slot->waits, &due->node);
			if (kwq_line_is_empty(&slot->waits))
				vacate(waiting, level, digit);
			--*budget;
			return due;
		}
		open_slot(waiting, slot, level, digit);
		move_on(waiting, budget);
	}
	if (!*budget)
		return NULL;
	due = kwq_line_first(&waiting->opening, struct kwq_wait, node);
	kwq_line_leave(&waiting->opening, &due->node);
	--*budget;
	move_on(waiting, budget);
	return due;
}

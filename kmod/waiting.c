// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The times that are waited for. <linux/kwq_waiting.h> explains how.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/kwq_waiting.h>
#include <linux/limits.h>
#include <kunit/visibility.h>

/* The most that are looked at to find the earliest again when it was taken out. */
#define KWQ_FEW	16

/**
 * kwq_waiting_init() - make an empty set
 * @waiting: the set
 */
void kwq_waiting_init(struct kwq_waiting *waiting)
{
	int level, nr;

	waiting->base = 0;
	waiting->levels = 0;
	INIT_LIST_HEAD(&waiting->opening);
	waiting->opening_end = 0;
	for (level = 0; level < KWQ_WAITING_LEVELS; level++) {
		waiting->occupied[level] = 0;
		for (nr = 0; nr < KWQ_WAITING_SLOTS; nr++)
			INIT_LIST_HEAD(&waiting->slots[level][nr].waits);
	}
}
EXPORT_SYMBOL_IF_KUNIT(kwq_waiting_init);

/* The digit in which a time differs from the base, and by which it is placed. */
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
 * Nobody waits for what is before the base; should a clock go back, such a time counts
 * as the base's, for its place and in the order.
 */
static u64 place_of(const struct kwq_waiting *waiting, const struct kwq_wait *wait)
{
	return max(wait->expires, waiting->base);
}

/* Returns true if there is none before it now. */
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
	list_add_tail(&wait->link, &slot->waits);
	return first;
}

/**
 * kwq_waiting_add() - wait for a time
 * @waiting: the set
 * @wait: with the time; not in a set
 * @now: the time it is
 *
 * Return: true if kwq_waiting_next() may tell another time than before.
 */
bool kwq_waiting_add(struct kwq_waiting *waiting, struct kwq_wait *wait, ktime_t now)
{
	if (!list_empty(&waiting->opening)) {
		/* Behind its equals, which may not have been moved yet. */
		if (wait->expires <= waiting->opening_end) {
			list_add_tail(&wait->link, &waiting->opening);
			return false;
		}
	} else if (!waiting->levels) {
		/* The nearer the base, the narrower the slots. */
		waiting->base = now;
	}
	return place(waiting, wait);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_waiting_add);

/*
 * Moves what was in an opened slot, up to one whose time is the base: none is earlier,
 * and its equals are behind it.
 */
static void move_on(struct kwq_waiting *waiting, unsigned int *budget)
{
	struct kwq_wait *wait;

	while (*budget && !list_empty(&waiting->opening)) {
		wait = list_first_entry(&waiting->opening, struct kwq_wait, link);
		if (wait->expires <= waiting->base)
			return;
		list_del(&wait->link);
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

/* The first of a slot was taken out. In a crowd its time stays as a bound. */
static void find_first(struct kwq_slot *slot)
{
	const struct kwq_wait *wait;
	ktime_t first = KTIME_MAX;
	int nr = 0;

	list_for_each_entry(wait, &slot->waits, link) {
		if (++nr > KWQ_FEW)
			return;
		first = min(first, wait->expires);
	}
	slot->first = first;
}

/**
 * kwq_waiting_del() - wait no more
 * @waiting: the set
 * @wait: in it
 */
void kwq_waiting_del(struct kwq_waiting *waiting, struct kwq_wait *wait)
{
	u64 time = place_of(waiting, wait);
	unsigned int level = level_at(waiting, time);
	unsigned int digit = digit_of(time, level);
	/* Its own, or one that is as it was before if it is in @opening. */
	struct kwq_slot *slot = &waiting->slots[level][digit];
	unsigned int few = KWQ_FEW;

	list_del(&wait->link);
	if (list_empty(&slot->waits))
		vacate(waiting, level, digit);
	else if (wait->expires == slot->first && level)
		find_first(slot);
	move_on(waiting, &few);
}
EXPORT_SYMBOL_IF_KUNIT(kwq_waiting_del);

/* The one with the earliest times; there is one. */
static struct kwq_slot *first_slot(const struct kwq_waiting *waiting,
				   unsigned int *level, unsigned int *digit)
{
	*level = __ffs(waiting->levels);
	*digit = __ffs(waiting->occupied[*level]);
	return (struct kwq_slot *)&waiting->slots[*level][*digit];
}

/**
 * kwq_waiting_next() - when to look again
 * @waiting: the set
 *
 * Return: the earliest time; KTIME_MAX with none. Where that is not known - it was
 * taken out of a crowd, or a slot is being opened - a time before it.
 */
ktime_t kwq_waiting_next(const struct kwq_waiting *waiting)
{
	unsigned int level, digit;

	if (unlikely(!list_empty(&waiting->opening)))
		return waiting->base;
	if (!waiting->levels)
		return KTIME_MAX;
	return first_slot(waiting, &level, &digit)->first;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_waiting_next);

/**
 * kwq_waiting_take() - take one out, whichever is at hand
 * @waiting: the set, of which nobody asks any more what is next
 *
 * O(1): nothing is moved or looked for.
 *
 * Return: it; NULL with none.
 */
struct kwq_wait *kwq_waiting_take(struct kwq_waiting *waiting)
{
	unsigned int level, digit;
	struct kwq_slot *slot;
	struct kwq_wait *wait;

	wait = list_first_entry_or_null(&waiting->opening, struct kwq_wait, link);
	if (wait) {
		list_del(&wait->link);
		return wait;
	}
	if (!waiting->levels)
		return NULL;
	slot = first_slot(waiting, &level, &digit);
	wait = list_first_entry(&slot->waits, struct kwq_wait, link);
	list_del(&wait->link);
	if (list_empty(&slot->waits))
		vacate(waiting, level, digit);
	return wait;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_waiting_take);

/* All lower levels are empty. */
static void open_slot(struct kwq_waiting *waiting, struct kwq_slot *slot,
		      unsigned int level, unsigned int digit)
{
	waiting->base = slot->first;
	waiting->opening_end = slot->first |
			       GENMASK_ULL(level * KWQ_WAITING_BITS - 1, 0);
	list_splice_tail_init(&slot->waits, &waiting->opening);
	vacate(waiting, level, digit);
}

/**
 * kwq_waiting_expire() - take the first one out whose time has come
 * @waiting: the set
 * @now: the time it is; not before what was said last
 * @budget: how many may be moved or taken out; out: how many are left
 *
 * Return: it; NULL if none is due, or if @budget is 0 before it is known.
 */
struct kwq_wait *kwq_waiting_expire(struct kwq_waiting *waiting, ktime_t now,
				    unsigned int *budget)
{
	unsigned int level = 0, digit;
	struct kwq_slot *slot;
	struct kwq_wait *due;

	move_on(waiting, budget);
	while (*budget && list_empty(&waiting->opening)) {
		if (!waiting->levels)
			return NULL;
		slot = first_slot(waiting, &level, &digit);
		if (slot->first > now)
			return NULL;
		if (!level) {
			due = list_first_entry(&slot->waits, struct kwq_wait, link);
			list_del(&due->link);
			if (list_empty(&slot->waits))
				vacate(waiting, level, digit);
			--*budget;
			return due;
		}
		open_slot(waiting, slot, level, digit);
		move_on(waiting, budget);
	}
	if (!*budget)
		return NULL;
	due = list_first_entry(&waiting->opening, struct kwq_wait, link);
	list_del(&due->link);
	--*budget;
	move_on(waiting, budget);
	return due;
}
EXPORT_SYMBOL_IF_KUNIT(kwq_waiting_expire);

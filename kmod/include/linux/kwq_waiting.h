/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A set of times that are waited for: handed out in their order, equal ones in the
 * order in which they came.
 *
 * For: struct kwq_core, whose waiting items may be millions.
 * Not for: drivers. They enter at <linux/kwq.h>.
 *
 * It is a radix heap (Ahuja, Mehlhorn, Orlin, Tarjan: Faster Algorithms for the
 * Shortest Path Problem, J. ACM 37, 1990) with the digits of a timing wheel (Varghese
 * and Lauck, SOSP 1987). No time in it is before its base, and a time is in the slot
 * that the highest digit names in which it differs from the base: slots are the wider
 * the farther away they are. A slot is a list in the order of the adds. When the
 * earliest time of the first slot has come it becomes the base, and the slot is opened:
 * what it holds differs from the new base in lower digits only, and moves to narrower
 * slots. Those of the lowest level hold equal times, so nothing is ever sorted.
 *
 * So to add one costs the same however many there are, and touches little memory; each
 * is moved once for a digit at most, by who waits for it to come due.
 *
 * No locking is done by this code, and no clock is read.
 */
#ifndef _LINUX_KWQ_WAITING_H
#define _LINUX_KWQ_WAITING_H

#include <linux/bits.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/types.h>

/* Eight slots a level: all of it fits 4 KiB, and few digits differ in practice. */
#define KWQ_WAITING_BITS	3
#define KWQ_WAITING_SLOTS	BIT(KWQ_WAITING_BITS)
/* What ktime_t can hold that is not negative has 63 bits. */
#define KWQ_WAITING_LEVELS	(63 / KWQ_WAITING_BITS)

/**
 * struct kwq_wait - one that waits
 * @link: in its slot, or in @opening
 * @expires: for what time; not negative
 */
struct kwq_wait {
	struct list_head link;
	ktime_t expires;
};

/**
 * struct kwq_slot - the times that agree in all higher digits with the base, and in one
 *	with each other
 * @waits:	them, in the order of their adds.
 * @first:	no later than any of them: the earliest, unless that was taken out of a
 *	crowd. Undefined with none.
 */
struct kwq_slot {
	struct list_head waits;
	ktime_t first;
};

/**
 * struct kwq_waiting - all that wait
 * @base:	not after any of them, nor after the latest time that was asked for.
 * @levels:	a bit for each level with an occupied slot.
 * @occupied:	for each level, a bit for each slot that is not empty.
 * @opening:	what a slot held that has not been moved to lower ones yet, and what came
 *	since for one of its times.
 * @opening_end: the last of its times.
 * @slots:	the others.
 */
struct kwq_waiting {
	ktime_t base;
	u32 levels;
	u8 occupied[KWQ_WAITING_LEVELS];
	struct list_head opening;
	ktime_t opening_end;
	struct kwq_slot slots[KWQ_WAITING_LEVELS][KWQ_WAITING_SLOTS];
};

void kwq_waiting_init(struct kwq_waiting *waiting);
bool kwq_waiting_add(struct kwq_waiting *waiting, struct kwq_wait *wait,
		     ktime_t now);
void kwq_waiting_del(struct kwq_waiting *waiting, struct kwq_wait *wait);
ktime_t kwq_waiting_next(const struct kwq_waiting *waiting);
struct kwq_wait *kwq_waiting_take(struct kwq_waiting *waiting);
struct kwq_wait *kwq_waiting_expire(struct kwq_waiting *waiting, ktime_t now,
				    unsigned int *budget);

#endif /* _LINUX_KWQ_WAITING_H */

/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A set of waiting times. It hands them out in order, and equal times in the order of their
 * adds.
 *
 * struct kwq_core uses it. A queue may have millions of waiting items. Drivers do not use
 * it: they enter at <linux/kwq.h>.
 *
 * It is a radix heap (Ahuja, Mehlhorn, Orlin, Tarjan: Faster Algorithms for the Shortest
 * Path Problem, J. ACM 37, 1990) with the digits of a timing wheel (Varghese and Lauck,
 * SOSP 1987). Times are compared with a base that is not after any of them. The highest
 * octal digit in which a time differs from the base selects its level, and the value of
 * that digit its slot:
 *
 *   base 0o4213	time 0o4217	level 0, slot 7: this time only
 *		time 0o4256	level 1, slot 5: times 0o4250 to 0o4257
 *		time 0o5731	level 3, slot 5: times 0o5000 to 0o5777
 *
 * So slots are wider the farther away they are. A slot is a list in the order of the adds.
 * When the earliest time of the first slot has come, it becomes the base, and the slot is
 * opened. Its times differ from the new base in lower digits only, and move to narrower
 * slots. All times in a slot of level 0 are equal, so nothing is ever sorted.
 *
 * An add costs the same however many times there are, and touches little memory. Each time
 * moves at most once per digit. The caller that expires due times does that work.
 *
 * This code takes no lock and reads no clock.
 */
#ifndef _LINUX_KWQ_WAITING_H
#define _LINUX_KWQ_WAITING_H

#include <linux/bits.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/types.h>

/* Eight slots per level: the whole set fits into 4 KiB, and in practice few digits differ. */
#define KWQ_WAITING_BITS	3
#define KWQ_WAITING_SLOTS	BIT(KWQ_WAITING_BITS)
/* A ktime_t that is not negative has 63 bits. */
#define KWQ_WAITING_LEVELS	(63 / KWQ_WAITING_BITS)

/**
 * struct kwq_wait - a wait for a time
 * @link: in its slot or in @opening
 * @expires: the time; not negative
 */
struct kwq_wait {
	struct list_head link;
	ktime_t expires;
};

/**
 * struct kwq_slot - waits whose times have the same level and digit
 * @waits:	the waits, in the order of their adds.
 * @first:	the earliest time, or a lower bound of it if the earliest was removed from a
 *		crowded slot. Undefined if the slot is empty.
 */
struct kwq_slot {
	struct list_head waits;
	ktime_t first;
};

/**
 * struct kwq_waiting - a set of waits
 * @base:	not after any time in the set, and not after the last time passed to
 *		kwq_waiting_expire().
 * @levels:	one bit for each level that has an occupied slot.
 * @occupied:	for each level, one bit for each slot that is not empty.
 * @opening:	waits of an opened slot that have not been moved yet, and waits added since
 *		whose times belong there.
 * @opening_end: the last time of the opened slot.
 * @slots:	all other waits.
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

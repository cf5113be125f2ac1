/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A set of waiting times. It hands them out in order, and equal times in the order of their
 * adds.
 *
 * struct kwq_core uses it. A queue may have millions of waiting items.
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
#ifndef KWQ_WAITING_H
#define KWQ_WAITING_H

#include <linux/kwq_types.h>

void kwq_waiting_init(struct kwq_waiting *waiting);
bool kwq_waiting_add(struct kwq_waiting *waiting, struct kwq_wait *wait,
		     ktime_t now);
void kwq_waiting_del(struct kwq_waiting *waiting, struct kwq_wait *wait);
ktime_t kwq_waiting_next(const struct kwq_waiting *waiting);
struct kwq_wait *kwq_waiting_take(struct kwq_waiting *waiting);
struct kwq_wait *kwq_waiting_expire(struct kwq_waiting *waiting, ktime_t now,
				    unsigned int *budget);

#endif /* KWQ_WAITING_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much of one processor the timers of all queues may take (O8).
 *
 * Each queue has a timer, and the kernel calls all timers that are due in one go. A
 * bound for each queue is therefore none for the machine: sixteen queues with a backlog
 * keep tasks waiting sixteen times as long as one. So the timers of a processor share
 * one pace. They work for half of the time at most: time that they worked is a debt,
 * which the time off pays. A timer that comes while the debt is large does not
 * work, but comes again in a slot of its own.
 *
 * Slots lie one behind the other, as far apart as twice the length of a usual turn.
 * Timers that were put off do therefore not come all at once, and each finds the debt of
 * those before it paid. A timer that comes in its slot may run into more debt than a
 * new one. A timer whose slot was in vain may run into still more. So none is put off
 * for ever.
 *
 * No locking is done by this code, and no clock is read. All times are in ns.
 */
#ifndef KWQ_PACE_H
#define KWQ_PACE_H

#include <linux/time64.h>
#include <linux/types.h>

/* The debt beyond which a timer is put off: at first, and each time that it was before. */
#define KWQ_PACE_DEBT_NS	(400 * NSEC_PER_USEC)
#define KWQ_PACE_MORE_DEBT_NS	(300 * NSEC_PER_USEC)
#define KWQ_PACE_PUT_OFF_MAX	2

/* A clock that is too coarse sees no time pass, and a hypervisor lets too much pass. */
#define KWQ_PACE_SLOT_MIN_NS	(2 * NSEC_PER_USEC)
#define KWQ_PACE_REST_MIN_NS	(10 * NSEC_PER_USEC)
#define KWQ_PACE_TURN_MAX_NS	NSEC_PER_MSEC

/**
 * struct kwq_pace - the pace of one processor; all zero at first
 * @paid: when the debt is paid; in the past if there is none
 * @last: when the last slot begins that is taken; in the past if nobody waits for one
 * @spacing: from one slot to the next
 */
struct kwq_pace {
	u64 paid;
	u64 last;
	u64 spacing;
};

bool kwq_pace_may_work(const struct kwq_pace *pace, unsigned int put_off, u64 now);
bool kwq_pace_is_shared(const struct kwq_pace *pace, u64 now);
void kwq_pace_worked(struct kwq_pace *pace, u64 begun, u64 now);
void kwq_pace_learn(struct kwq_pace *pace, u64 turn);
u64 kwq_pace_reserve(struct kwq_pace *pace, u64 now);

#endif /* KWQ_PACE_H */

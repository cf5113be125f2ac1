/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits the time that the timers of all queues take of one processor (O8).
 *
 * The kernel runs all due timers of a processor in one go. A limit per timer would not be
 * enough: sixteen timers with a backlog would delay tasks sixteen times as long as one. So
 * the timers of a processor share one pace. They may work half of the time. Time that they
 * worked is a debt, and time off pays it back. If the debt is too large, a timer does not
 * work. It reserves a slot and comes again then.
 *
 * Slots follow each other at twice the length of a usual run. So timers that were put off
 * do not all come at once, and each finds the debt of the timers before it paid. A timer in
 * its slot may run up more debt than a new one. A timer that was put off again may run up
 * still more. So no timer is put off for ever.
 *
 * This code takes no lock and reads no clock. All times are in ns.
 */
#ifndef KWQ_PACE_H
#define KWQ_PACE_H

#include <linux/time64.h>
#include <linux/types.h>

/*
 * The largest debt with which a timer may work, and how much it grows each time that a
 * timer is put off.
 */
#define KWQ_PACE_DEBT_NS	(400 * NSEC_PER_USEC)
#define KWQ_PACE_MORE_DEBT_NS	(300 * NSEC_PER_USEC)
#define KWQ_PACE_PUT_OFF_MAX	2

/* While other timers wait for their slots, a run begins no turn after this time. */
#define KWQ_PACE_BRIEF_NS	(30 * NSEC_PER_USEC)

/* Limits for bad clocks: a coarse clock shows no progress, and under a hypervisor time may jump. */
#define KWQ_PACE_SLOT_MIN_NS	(2 * NSEC_PER_USEC)
#define KWQ_PACE_REST_MIN_NS	(10 * NSEC_PER_USEC)
#define KWQ_PACE_WORK_MAX_NS	NSEC_PER_MSEC

/**
 * struct kwq_pace - the pace of one processor; starts as all zeroes
 * @paid: when the debt is paid; in the past if there is none
 * @last: begin of the last reserved slot; in the past if no timer waits for one
 * @spacing: distance of slots
 */
struct kwq_pace {
	u64 paid;
	u64 last;
	u64 spacing;
};

bool kwq_pace_may_work(const struct kwq_pace *pace, unsigned int put_off, u64 now);
bool kwq_pace_is_shared(const struct kwq_pace *pace, u64 now);
bool kwq_pace_may_go_on(const struct kwq_pace *pace, u64 begun, u64 now, bool more);
void kwq_pace_worked(struct kwq_pace *pace, u64 begun, u64 now);
void kwq_pace_learn(struct kwq_pace *pace, u64 run);
u64 kwq_pace_reserve(struct kwq_pace *pace, u64 now);

#endif /* KWQ_PACE_H */

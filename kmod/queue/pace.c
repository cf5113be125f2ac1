// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits the time that the timers of all queues take of one processor. "pace.h" explains
 * how.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include "pace.h"

static u64 debt(const struct kwq_pace *pace, u64 now)
{
	return pace->paid > now ? pace->paid - now : 0;
}

/**
 * kwq_pace_may_work() - may a timer work now
 * @pace: the processor's pace
 * @put_off: how often the timer was put off since it last worked
 * @now: current time
 *
 * Return: false if it has to reserve a slot.
 */
bool kwq_pace_may_work(const struct kwq_pace *pace, unsigned int put_off, u64 now)
{
	u64 turns = min_t(unsigned int, put_off, KWQ_PACE_PUT_OFF_MAX);

	return debt(pace, now) <= KWQ_PACE_DEBT_NS + turns * KWQ_PACE_MORE_DEBT_NS;
}

/**
 * kwq_pace_is_shared() - is another timer waiting for its slot
 * @pace: the processor's pace
 * @now: current time
 *
 * Return: true if so; then kwq_pace_may_go_on() ends the caller's run early.
 */
bool kwq_pace_is_shared(const struct kwq_pace *pace, u64 now)
{
	return pace->last > now;
}

/**
 * kwq_pace_may_go_on() - may a timer work once more in the same run
 * @pace: the processor's pace
 * @begun: start of the run
 * @now: current time
 * @more: the last turn was a whole one, and left more to do
 *
 * Return: false if it has to reserve a slot for the rest.
 */
bool kwq_pace_may_go_on(const struct kwq_pace *pace, u64 begun, u64 now, bool more)
{
	if (kwq_pace_is_shared(pace, begun) && (more || now - begun >= KWQ_PACE_BRIEF_NS))
		return false;
	return kwq_pace_may_work(pace, 0, now);
}

/**
 * kwq_pace_worked() - account the work of a timer
 * @pace: the processor's pace
 * @begun: start of the work
 * @now: end of the work
 */
void kwq_pace_worked(struct kwq_pace *pace, u64 begun, u64 now)
{
	u64 turn = now > begun ? min_t(u64, now - begun, KWQ_PACE_WORK_MAX_NS) : 0;

	pace->paid = max(pace->paid, begun) + 2 * turn;
}

/**
 * kwq_pace_learn() - learn the usual length of a run
 * @pace: the processor's pace
 * @run: length of a run in a slot; of one that was not brief, the length of a turn
 *
 * The distance between slots is twice the mean of the last few runs.
 */
void kwq_pace_learn(struct kwq_pace *pace, u64 run)
{
	u64 wanted = 2 * min_t(u64, run, KWQ_PACE_WORK_MAX_NS);

	pace->spacing = max_t(u64, pace->spacing - pace->spacing / 8 + wanted / 8,
			      KWQ_PACE_SLOT_MIN_NS);
}

/**
 * kwq_pace_reserve() - reserve the next slot
 * @pace: the processor's pace
 * @now: current time
 *
 * Return: when the slot begins.
 */
u64 kwq_pace_reserve(struct kwq_pace *pace, u64 now)
{
	u64 free = pace->last + max_t(u64, pace->spacing, KWQ_PACE_SLOT_MIN_NS);

	pace->last = max3(free, pace->paid, now + KWQ_PACE_REST_MIN_NS);
	return pace->last;
}

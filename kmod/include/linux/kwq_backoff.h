/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Growing pauses: the arithmetic of &struct kwq_backoff. Kernel code and the limiters of
 * queues use it. libkwq compiles the same code; there <kwq.h> replaces this header.
 *
 * This code takes no lock, reads no clock and makes no random number. Its callers pass in
 * the time and a random number, as kwq_backoff_until() of <linux/kwq.h> does.
 */
#ifndef _LINUX_KWQ_BACKOFF_H
#define _LINUX_KWQ_BACKOFF_H

#include <linux/limits.h>
#include <linux/types.h>
#include <uapi/linux/kwq.h>

/* Reset of a manager that never starts over. */
#define KWQ_NO_RESET	U64_MAX

/**
 * struct kwq_backoff_manager - a backoff that starts over after some time
 * @initial: the backoff with which it starts
 * @backoff: its present state
 * @reset: start over if more than this time has passed since @last, in ns; 0 for each step,
 *	KWQ_NO_RESET for never
 * @last: time of the last step or of the last reset
 * @from_reset: @last is the time of the last reset, not of the last step
 */
struct kwq_backoff_manager {
	struct kwq_backoff initial;
	struct kwq_backoff backoff;
	__u64 reset;
	__u64 last;
	bool from_reset;
};

/**
 * kwq_backoff_check() - check the form of a backoff
 * @backoff: the backoff
 *
 * Return: 0, or -EINVAL.
 */
int kwq_backoff_check(const struct kwq_backoff *backoff);

/**
 * kwq_backoff_step() - take the next pause (B1)
 * @backoff: the backoff; moves on by one step
 * @random: random number for the jitter, from 0 (none) to U32_MAX (almost all)
 *
 * The pause is the duration plus its jitter. Then the duration is multiplied by the factor,
 * as long as steps are left. If it exceeds the cap, it becomes the cap, and no steps are
 * left.
 *
 * Return: the pause in ns, rounded down.
 */
__u64 kwq_backoff_step(struct kwq_backoff *backoff, __u32 random);

/**
 * kwq_backoff_after() - compute the pause after some steps
 * @backoff: the backoff
 * @steps: number of steps
 * @random: as for kwq_backoff_step()
 *
 * Stops when the backoff has no steps left, or the pause stays the same.
 *
 * Return: the pause in ns.
 */
__u64 kwq_backoff_after(const struct kwq_backoff *backoff, __u32 steps, __u32 random);

/**
 * kwq_backoff_manager_init() - initialise a manager
 * @manager: the manager
 * @backoff: the backoff with which it starts, and starts over
 * @reset: it starts over after more than this time, in ns; KWQ_NO_RESET for never, 0 for
 *	each step
 * @now: current time
 *
 * The time counts from the last step. To count it from the last reset, set
 * @manager->from_reset afterwards.
 */
void kwq_backoff_manager_init(struct kwq_backoff_manager *manager,
			      const struct kwq_backoff *backoff, __u64 reset,
			      __u64 now);

/**
 * kwq_backoff_manager_step() - take the next pause, or start over (B2)
 * @manager: the manager
 * @now: current time
 * @random: as for kwq_backoff_step()
 *
 * Return: the pause in ns.
 */
__u64 kwq_backoff_manager_step(struct kwq_backoff_manager *manager, __u64 now,
			       __u32 random);

#endif /* _LINUX_KWQ_BACKOFF_H */

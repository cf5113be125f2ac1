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

int kwq_backoff_check(const struct kwq_backoff *backoff);
__u64 kwq_backoff_step(struct kwq_backoff *backoff, __u32 random);
__u64 kwq_backoff_after(const struct kwq_backoff *backoff, __u32 steps, __u32 random);
void kwq_backoff_manager_init(struct kwq_backoff_manager *manager,
			      const struct kwq_backoff *backoff, __u64 reset,
			      __u64 now);
__u64 kwq_backoff_manager_step(struct kwq_backoff_manager *manager, __u64 now,
			       __u32 random);

#endif /* _LINUX_KWQ_BACKOFF_H */

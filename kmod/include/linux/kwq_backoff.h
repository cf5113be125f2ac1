/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Pauses that grow: the arithmetic of &struct kwq_backoff, for kernel code, for a
 * queue's limiters and, compiled once more, for libkwq (whose <kwq.h> has the same
 * functions and takes this header's place).
 *
 * No locking is done by this code, no clock is read and no chance is asked: the
 * time and a random number are passed in. kwq_backoff_until() reads both.
 */
#ifndef _LINUX_KWQ_BACKOFF_H
#define _LINUX_KWQ_BACKOFF_H

#include <linux/limits.h>
#include <linux/types.h>
#include <uapi/linux/kwq.h>

/* The reset of a manager that never starts over. */
#define KWQ_NO_RESET	U64_MAX

/**
 * struct kwq_backoff_manager - a backoff that starts over after some time
 * @initial: what it starts with
 * @backoff: what is left of it
 * @reset: starts over if more time than this passed since @last, in ns; 0 for each
 *	time, KWQ_NO_RESET for never
 * @last: when the last step was, or the last reset
 * @from_reset: the time counts from the last reset, not from the last step
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

void kwq_backoff_until(bool (*fn)(void *arg), void *arg,
		       struct kwq_backoff_manager *manager, bool sliding);

#endif /* _LINUX_KWQ_BACKOFF_H */

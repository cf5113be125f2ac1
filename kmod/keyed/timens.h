/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process in a time namespace reads clocks that are shifted against the
 * host's. The kernel's own conversion cannot be called by a module.
 */
#ifndef KWQ_TIMENS_H
#define KWQ_TIMENS_H

#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/time_namespace.h>
#include "keyed.h"

/* By how much the caller's clock is ahead of the queue's. */
static inline ktime_t kwq_time_offset(const struct kwq_keyed *keyed)
{
#ifdef CONFIG_TIME_NS
	const struct timens_offsets *offsets =
		&current->nsproxy->time_ns->offsets;

	switch (keyed->queue.clock) {
	case KWQ_CLOCK_MONOTONIC:
		return timespec64_to_ktime(offsets->monotonic);
	case KWQ_CLOCK_BOOTTIME:
		return timespec64_to_ktime(offsets->boottime);
	case KWQ_CLOCK_MANUAL:
		break;
	}
#endif
	return 0;
}

/**
 * kwq_host_time() - an absolute time of the caller on the queue's clock
 * @keyed: the queue, for its clock
 * @ns: the time, in ns, as the calling process would read it
 *
 * A time before the host's beginning is its beginning; one that the clock cannot
 * hold is its end (D7), and never comes.
 *
 * Context: process.
 * Return: the time.
 */
static inline ktime_t kwq_host_time(const struct kwq_keyed *keyed, u64 ns)
{
	ktime_t time = ns, offset;

	if (ns >= KTIME_MAX)
		return KTIME_MAX;
	offset = kwq_time_offset(keyed);
	if (offset > 0)
		return max(ktime_sub(time, offset), 0);
	return ktime_add_safe(time, -offset);
}

/**
 * kwq_caller_time() - a time on the queue's clock as the caller would read it
 * @keyed: the queue, for its clock
 * @time: the time
 *
 * Context: process.
 * Return: the time, in ns; 0 for one before the caller's clock began.
 */
static inline u64 kwq_caller_time(const struct kwq_keyed *keyed, ktime_t time)
{
	ktime_t offset = kwq_time_offset(keyed);

	if (offset < 0)
		return max(ktime_add(time, offset), 0);
	return ktime_add_safe(time, offset);
}

#endif /* KWQ_TIMENS_H */

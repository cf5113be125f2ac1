/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In a time namespace, a process reads clocks that are shifted against those of the host. A
 * module cannot call the kernel's own conversion.
 */
#ifndef KWQ_TIMENS_H
#define KWQ_TIMENS_H

#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/time_namespace.h>
#include "keyed.h"

/* Returns how far the caller's clock is ahead of the queue's clock. */
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
 * kwq_host_time() - convert an absolute time of the caller to the queue's clock
 * @keyed: the queue
 * @ns: a time in ns, on the clock as the caller sees it
 *
 * A time before the begin of the host's clock becomes that begin. A time beyond the clock's
 * range becomes KTIME_MAX, and never comes (D7).
 *
 * Context: process.
 * Return: the time on the queue's clock.
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
 * kwq_caller_time() - convert a time on the queue's clock to the caller's clock
 * @keyed: the queue
 * @time: a time on the queue's clock
 *
 * Context: process.
 * Return: the time in ns; 0 if it is before the begin of the caller's clock.
 */
static inline u64 kwq_caller_time(const struct kwq_keyed *keyed, ktime_t time)
{
	ktime_t offset = kwq_time_offset(keyed);

	if (offset < 0)
		return max(ktime_add(time, offset), 0);
	return ktime_add_safe(time, offset);
}

#endif /* KWQ_TIMENS_H */

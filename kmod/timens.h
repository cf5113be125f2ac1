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

/**
 * kwq_host_time() - an absolute time of the caller on the host's clock
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
	ktime_t time = min_t(u64, ns, KTIME_MAX);
#ifdef CONFIG_TIME_NS
	const struct timens_offsets *offsets =
		&current->nsproxy->time_ns->offsets;
	ktime_t offset = timespec64_to_ktime(keyed->queue.clock ==
					     KWQ_CLOCK_BOOTTIME ?
					     offsets->boottime :
					     offsets->monotonic);

	if (time == KTIME_MAX)
		return time;
	if (offset > 0)
		return max(ktime_sub(time, offset), 0);
	return ktime_add_safe(time, -offset);
#else
	return time;
#endif
}

#endif /* KWQ_TIMENS_H */

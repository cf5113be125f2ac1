/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
#ifndef KWQ_READ_CLOCK_H
#define KWQ_READ_CLOCK_H

#include <stdint.h>
#include <time.h>

/* The time of a clock, in ns. CLOCK_REALTIME counts from 1970, the others from some boot. */
static inline uint64_t read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

#endif /* KWQ_READ_CLOCK_H */

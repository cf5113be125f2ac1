// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The queue's clock, for deadlines.
 */
#include <time.h>

#include "internal.h"

uint64_t kwq_now(const struct kwq *q)
{
	struct timespec ts = { 0 };

	/* The clock is one that the kernel gave the queue: it cannot fail. */
	clock_gettime(q->clockid, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

uint64_t kwq_deadline(const struct kwq *q, uint64_t timeout_ns)
{
	uint64_t deadline;

	if (__builtin_add_overflow(kwq_now(q), timeout_ns, &deadline))
		return KWQ_NO_DEADLINE;
	return deadline;
}

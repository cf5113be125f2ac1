// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The queue's clock, for deadlines.
 */
#include <time.h>

#include "internal.h"

uint64_t kwq_now(const struct kwq *q)
{
	struct kwq_stat st = { .size = sizeof(st) };
	struct timespec ts = { 0 };

	if (q->clockid == KWQ_CLOCK_ID_MANUAL) {
		kwq_stat(q, &st);
		return st.now;
	}
	/* This cannot fail: the kernel accepted this clock when the queue was created. */
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

static int advance(struct kwq *q, uint32_t flags, uint64_t time)
{
	struct kwq_advance_args req = { .size = sizeof(req), .flags = flags, .time = time };

	return kwq_ioctl(q->fd, KWQ_IOC_ADVANCE, &req);
}

int kwq_advance(struct kwq *q, uint64_t ns)
{
	return advance(q, 0, ns);
}

int kwq_advance_to(struct kwq *q, uint64_t time)
{
	return advance(q, KWQ_ADVANCE_TO, time);
}

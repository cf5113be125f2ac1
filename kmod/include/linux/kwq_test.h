/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For tests of drivers: a clock that the test moves (K4).
 *
 * A queue with KWQ_CLOCK_MANUAL instead of KWQ_CLOCK_MONOTONIC starts at the time 0. Its delays and
 * deadlines come when the test advances the clock, and no sooner. So a test of a retry neither
 * sleeps nor depends on the machine's speed.
 */
#ifndef _LINUX_KWQ_TEST_H
#define _LINUX_KWQ_TEST_H

#include <linux/kwq.h>

/**
 * kwq_queue_advance() - advance a manual clock
 * @queue: a queue on KWQ_CLOCK_MANUAL; nothing happens to any other
 * @now: the new time; ignored if it is in the past
 *
 * Due items become ready, and waiters check their deadlines.
 *
 * Context: any. Takes time in proportion to the number of due items.
 */
void kwq_queue_advance(struct kwq_queue *queue, ktime_t now);

/**
 * kwq_queue_advance_by() - advance a manual clock by some time
 * @queue: a queue on KWQ_CLOCK_MANUAL; nothing happens to any other
 * @ns: by how much; saturates at KTIME_MAX
 *
 * Context: as kwq_queue_advance().
 */
void kwq_queue_advance_by(struct kwq_queue *queue, u64 ns);

#endif /* _LINUX_KWQ_TEST_H */

/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The timer by which kwq run extends the leases of its items.
 */
#ifndef KWQ_LEASE_H
#define KWQ_LEASE_H

#include <stdbool.h>
#include <stdint.h>

/* Its descriptor becomes readable when the leases have to be extended. */
struct lease_timer {
	int fd;			/* -1: the queue has no leases */
	uint64_t period;
	bool started;
};

/* Pure: the interval between extensions for a lease in ns. */
uint64_t lease_period(uint64_t lease);

/* Does nothing if @lease is 0. Returns 0 or a negative errno value. */
int lease_timer_open(struct lease_timer *timer, uint64_t lease);

/* Starts a periodic timer. A timer that runs already is left alone. */
void lease_timer_start(struct lease_timer *timer);
void lease_timer_stop(struct lease_timer *timer);

/* Whether the timer has expired since the last call. */
bool lease_timer_is_due(const struct lease_timer *timer);

#endif /* KWQ_LEASE_H */

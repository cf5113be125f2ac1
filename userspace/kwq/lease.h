/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * When kwq run extends the leases of its items.
 */
#ifndef KWQ_LEASE_H
#define KWQ_LEASE_H

#include <stdbool.h>
#include <stdint.h>

/* A timer that is readable when it is time. */
struct lease_timer {
	int fd;			/* -1: the queue has no leases */
	uint64_t period;
	bool started;
};

/* Pure: how often, for a lease in ns. */
uint64_t lease_period(uint64_t lease);

/* Does nothing where @lease is 0. Returns 0 or a negative errno value. */
int lease_timer_open(struct lease_timer *timer, uint64_t lease);

/* From now on, until it is stopped; if that is so already it stays as it is. */
void lease_timer_start(struct lease_timer *timer);
void lease_timer_stop(struct lease_timer *timer);

/* Whether it is time: true once each time. */
bool lease_timer_is_due(const struct lease_timer *timer);

#endif /* KWQ_LEASE_H */

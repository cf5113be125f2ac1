// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * One timer extends the leases of all items. So every item is extended within one period
 * after a worker took it, and once in each period from then on.
 */
#include "lease.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/duration.h"

/* A lease survives two missed extensions. */
#define PERIODS_PER_LEASE	3
/* Extending them more often would only burn processor time. */
#define PERIOD_MIN		NS_PER_MS

uint64_t lease_period(uint64_t lease)
{
	uint64_t period = lease / PERIODS_PER_LEASE;

	return period > PERIOD_MIN ? period : PERIOD_MIN;
}

int lease_timer_open(struct lease_timer *timer, uint64_t lease)
{
	*timer = (struct lease_timer){ .fd = -1 };
	if (!lease)
		return 0;
	timer->period = lease_period(lease);
	/*
	 * The timer uses real time even if the queue has a manual clock, because no
	 * timer can follow that. The time includes sleep, during which a lease may
	 * expire.
	 */
	timer->fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	return timer->fd < 0 ? -errno : 0;
}

static void set(struct lease_timer *timer, uint64_t period)
{
	const struct timespec time = { period / NS_PER_S, period % NS_PER_S };
	const struct itimerspec spec = { .it_interval = time, .it_value = time };

	timerfd_settime(timer->fd, 0, &spec, NULL);
	timer->started = period;
}

void lease_timer_start(struct lease_timer *timer)
{
	if (timer->fd >= 0 && !timer->started)
		set(timer, timer->period);
}

void lease_timer_stop(struct lease_timer *timer)
{
	if (timer->started)
		set(timer, 0);
}

bool lease_timer_is_due(const struct lease_timer *timer)
{
	uint64_t times;

	return timer->fd >= 0 && read(timer->fd, &times, sizeof(times)) == sizeof(times);
}

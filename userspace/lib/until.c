// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Backoff-until: runs a function repeatedly, with growing pauses.
 */
#include <errno.h>
#include <poll.h>
#include <sys/random.h>
#include <time.h>

#include "internal.h"

#define NS_PER_S	1000000000ULL

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* The jitter may be predictable while the kernel has no good random numbers yet. */
static uint32_t random_number(void)
{
	uint32_t number = now();

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0)
		number = now();
	return number;
}

/* Returns 0 not before @when, or -ECANCELED or -EINTR. */
static int pause_until(uint64_t when, int stop_fd)
{
	struct pollfd pollfd = { .fd = stop_fd, .events = POLLIN };

	for (;;) {
		uint64_t from = now();
		uint64_t ns = when > from ? when - from : 0;
		struct timespec timeout = {
			.tv_sec = ns / NS_PER_S,
			.tv_nsec = ns % NS_PER_S,
		};
		int ret = ppoll(&pollfd, 1, &timeout, NULL);

		if (ret > 0)
			return -ECANCELED;
		if (ret < 0)
			return -errno;
		if (now() >= when)
			return 0;
	}
}

int kwq_backoff_until(bool (*fn)(void *arg), void *arg,
		      struct kwq_backoff_manager *manager, bool sliding, int stop_fd)
{
	uint64_t from, when;
	int ret;

	ret = pause_until(0, stop_fd);
	while (!ret) {
		from = now();
		if (!fn(arg))
			return 0;
		if (sliding)
			from = now();
		if (__builtin_add_overflow(from, kwq_backoff_manager_step(manager, from,
									  random_number()),
					   &when))
			when = UINT64_MAX;
		ret = pause_until(when, stop_fd);
	}
	return ret;
}

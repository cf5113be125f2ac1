// SPDX-License-Identifier: GPL-2.0-only
/*
 * A part of User-Mode Linux that is compiled as a program of the host. It reads the
 * host's clock of the processor time of this kernel. The kernel never sleeps in a
 * benchmark, so this is the elapsed time without the host's other work.
 */
#include <time.h>

long long bench_cpu_ns(void);

long long bench_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

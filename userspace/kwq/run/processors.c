// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "processors.h"

#include <sched.h>

unsigned int processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

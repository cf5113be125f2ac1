/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The number of jobs as in GNU parallel: 8, 50%, +1 or -1. Pure.
 */
#ifndef KWQ_JOBS_SPEC_H
#define KWQ_JOBS_SPEC_H

#include <stdint.h>

/*
 * N is a number, N% a part of @cpus, +N and -N are more or less than @cpus. A result
 * below 1 is 1. Returns 0, -EINVAL if @s has none of these forms, and -ERANGE if N is
 * 0 or the result exceeds @max.
 */
int jobs_spec_parse(const char *s, unsigned int cpus, unsigned int max, unsigned int *jobs);

#endif /* KWQ_JOBS_SPEC_H */

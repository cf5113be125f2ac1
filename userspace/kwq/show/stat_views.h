/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The views of kwq stat beside the numbers of one queue. Both return the exit status.
 */
#ifndef KWQ_STAT_VIEWS_H
#define KWQ_STAT_VIEWS_H

#include <stdbool.h>

/*
 * Prints a line for each named queue that may be opened, and below it what runs: the oldest ten
 * keys, unless @all is true.
 */
int stat_all(bool all, bool json);

/*
 * Prints the quota of the user and the limits of the module, and then those of @queues, which end
 * with NULL.
 */
int stat_limits(char **queues, bool json, bool no_headings);

#endif /* KWQ_STAT_VIEWS_H */

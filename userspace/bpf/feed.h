/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* What kwq-flows and kwq-cgroups share: the queue, and the wait. */
#ifndef KWQ_BPF_FEED_H
#define KWQ_BPF_FEED_H

#include <stdint.h>

struct feed {
	const char *name;
	const char *help;
	/* Loads and attaches the program. Returns 0 or a negative errno. The exit detaches it. */
	int (*start)(uint64_t token);
};

int feed(const struct feed *feed, int argc, char **argv);

#endif

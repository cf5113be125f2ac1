/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Collects the numbers of several queues: of the queues in the arguments, or of all
 * named queues that may be opened.
 */
#ifndef KWQ_GATHER_H
#define KWQ_GATHER_H

#include <stddef.h>

#include "queue/metrics.h"

struct gather {
	char **arguments;		/* QUEUE, ...; ends with NULL */
	struct kwq **inherited;		/* one per argument: fd:N is opened once */
	/* The result of the last gather(), sorted by label. The array is reused. */
	struct metrics_queue *queues;
	size_t nr, room;
};

/* Ends the program if an argument can never name a queue. */
void gather_init(struct gather *g, char **arguments);

/*
 * Reads all queues. A queue that does not exist now, or may not be opened, is left out.
 * Each named queue is open only while it is read; nothing is taken from it. Returns 0,
 * or a negative errno value if no queue could be read.
 */
int gather(struct gather *g);

/*
 * Opens one of the queues that gather() found, as a handle of its own. Returns 0 or a negative
 * errno value.
 */
int gather_open(const struct gather *g, const struct metrics_queue *m, unsigned int rights,
		struct kwq **q);

void gather_free(struct gather *g);

#endif /* KWQ_GATHER_H */

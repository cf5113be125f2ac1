/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The numbers of several queues: of those that the arguments name, or of all named
 * queues that may be opened.
 */
#ifndef KWQ_GATHER_H
#define KWQ_GATHER_H

#include <stddef.h>

#include "metrics.h"

struct gather {
	char **arguments;		/* QUEUE, ...; ends with NULL */
	struct kwq **inherited;		/* by argument: fd:N is opened once */
	/* What was found last, by label; the room stays for the next time. */
	struct metrics_queue *queues;
	size_t nr, room;
};

/* Ends the program where an argument is no queue and cannot become one. */
void gather_init(struct gather *g, char **arguments);

/*
 * Asks all queues. One that is not there (now), or that may not be opened, is left
 * out. A handle is open only for as long as it takes, gets nothing, and waits for
 * nobody. Returns 0, or a negative errno value where none could be asked.
 */
int gather(struct gather *g);

void gather_free(struct gather *g);

#endif /* KWQ_GATHER_H */

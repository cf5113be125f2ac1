/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A wait until the changes of a queue are kept: by kwq keep, or by the engine of kwq share.
 */
#ifndef KWQ_SYNC_H
#define KWQ_SYNC_H

#include <stdint.h>

#include <kwq.h>

/* Ends the program, after a message, if nobody can ever keep the changes of this queue. */
void must_be_kept(struct kwq *q, const char *queue);

/* Waits for all changes so far, in ns at most. Returns the exit status. */
int wait_until_kept(struct kwq *q, const char *queue, uint64_t timeout);

#endif /* KWQ_SYNC_H */

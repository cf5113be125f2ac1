/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The properties of a queue that are saved, and a new queue that has them.
 */
#ifndef KWQ_SAVED_QUEUE_H
#define KWQ_SAVED_QUEUE_H

#include "saved.h"

/* All states of items, for a list of everything that is to be restored. */
#define SAVED_STATES (KWQ_IS_READY | KWQ_IS_WAITING | KWQ_IS_PROCESSING | KWQ_IS_DEAD | \
		      KWQ_IS_REMEMBERED)

/* Reads the properties of a queue. Returns 0 or a negative errno value. */
int saved_queue_read(const struct kwq *q, struct saved_queue *queue);

/*
 * Creates a queue with these properties, owned by the same user and group. Returns as
 * kwq_create().
 */
int saved_queue_create(struct kwq **q, const struct saved_queue *queue, const char *name);

/*
 * Puts a queue into the state that the saved one had, if @state is that state:
 * KWQ_STATE_PAUSED before its items come, KWQ_STATE_SHUT_DOWN after them. Returns 0 or a negative
 * errno value.
 */
int saved_queue_set_state(struct kwq *q, const struct saved_queue *queue, uint32_t state);

/*
 * Whether the queue can have everything that the saved items have, as KWQ_CREATE_* bits. Complains
 * if not.
 */
bool saved_queue_can_have(const struct kwq *q, uint32_t needs, const char *name);

#endif /* KWQ_SAVED_QUEUE_H */

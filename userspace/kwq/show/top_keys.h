/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * kwq top: the keys of one queue.
 */
#ifndef KWQ_TOP_KEYS_H
#define KWQ_TOP_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "kwq/keys/item_sort.h"

/* Begin with all zero, but for @state. */
struct top_keys {
	uint32_t state;		/* one of KWQ_IS_*: the keys that are shown */
	struct item_sorted items;
	uint64_t too_many;	/* so many keys are not listed; 0: they are */
	size_t selected, first;
};

/* Lists the keys of the state. Returns 0 or a negative errno value. */
int top_keys_list(struct top_keys *keys, struct kwq *q, const struct kwq_stat *st);

/* The state after this one: processing, ready, waiting, dead. */
uint32_t top_keys_next_state(uint32_t state);

/* Draws at most @lines lines of at most @columns columns. */
void top_keys_draw(struct top_keys *keys, size_t lines, size_t columns);

#endif /* KWQ_TOP_KEYS_H */

/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Iterates over the dead items of a queue, fetched in pages.
 */
#ifndef KWQ_DEAD_LIST_H
#define KWQ_DEAD_LIST_H

#include <stddef.h>
#include <stdint.h>

#include <kwq.h>

struct dead_list {
	struct kwq *q;
	uint64_t after;		/* the number of the last one fetched */
	uint64_t left;		/* upper bound of the items still to be returned */
	unsigned int nr, next;	/* of the page: fetched, and returned so far */
	size_t at;		/* offset of the next key in @keys */
	struct kwq_dead_entry entries[64];
	/* Room for at least one key of the greatest length. */
	char keys[16 * KWQ_KEY_MAX];
};

/*
 * Lists at most as many items as are dead now. So the listing ends even if kicked items
 * soon die again and go to its tail. Returns 0 or a negative errno value.
 */
int dead_list_begin(struct dead_list *list, struct kwq *q);

/*
 * Returns 1 with the next item, 0 at the end, or a negative errno value. *entry and
 * *key are valid until the next call.
 */
int dead_list_next(struct dead_list *list, const struct kwq_dead_entry **entry,
		   const char **key);

#endif /* KWQ_DEAD_LIST_H */

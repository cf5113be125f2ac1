/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Finds the name that a misspelt word may have meant. Pure.
 */
#ifndef KWQ_NEAR_H
#define KWQ_NEAR_H

#include <stddef.h>

struct near {
	const char *word;
	size_t len;
	const char *best;	/* NULL: no offered name is near */
	size_t best_len;
	unsigned int best_distance;
};

/* Begins a search for a name near @word, which has @len bytes. */
void near_begin(struct near *near, const char *word, size_t len);

/*
 * Offers a name. It becomes &near.best if it is nearer than the ones before. A name is
 * near if a third of its letters, rounded up, have to be added, removed, replaced or
 * exchanged with the next one.
 */
void near_offer(struct near *near, const char *name, size_t len);

#endif /* KWQ_NEAR_H */

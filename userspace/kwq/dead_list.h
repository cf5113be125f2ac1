/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The dead items of a queue, one after the other, fetched by pages.
 */
#ifndef KWQ_DEAD_LIST_H
#define KWQ_DEAD_LIST_H

#include <stddef.h>
#include <stdint.h>

#include <kwq.h>

struct dead_list {
	struct kwq *q;
	uint64_t after;		/* the number of the last one fetched */
	uint64_t left;		/* how many more to tell, at most */
	unsigned int nr, next;	/* of the page: fetched, and told so far */
	size_t at;		/* where in the page's keys the next one's is */
	struct kwq_dead_entry entries[64];
	/* A key of the greatest length always fits. */
	char keys[16 * KWQ_KEY_MAX];
};

/*
 * As many as are dead now, at most. So it ends, even where what is kicked meanwhile
 * soon dies again and goes behind the others. Returns 0 or a negative errno value.
 */
int dead_list_begin(struct dead_list *list, struct kwq *q);

/*
 * The next one; entry and key are valid until the next call. Returns 1, 0 at the
 * end, or a negative errno value.
 */
int dead_list_next(struct dead_list *list, const struct kwq_dead_entry **entry,
		   const char **key);

#endif /* KWQ_DEAD_LIST_H */

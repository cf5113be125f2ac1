/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Puts saved items back into a queue, many in one call.
 */
#ifndef KWQ_RESTORE_H
#define KWQ_RESTORE_H

#include "saved.h"

enum { RESTORE_BATCH = 256, RESTORE_BYTES = 8 * SAVED_BYTES_MAX };

struct restorer {
	struct kwq *q;
	const char *queue;
	uint64_t restored, there, refused;
	int why;		/* of the first one that was refused */

	unsigned int nr;
	size_t bytes;		/* in @room: the keys, or everything of each item */
	size_t keys_len;
	bool has_extras;
	struct kwq_restore_entry entries[RESTORE_BATCH];
	struct kwq_add_extra extras[RESTORE_BATCH];
	__s32 results[RESTORE_BATCH];
	unsigned char keys[RESTORE_BATCH * KWQ_KEY_MAX];
	unsigned char room[RESTORE_BYTES];
};

/* Begins. The restorer is too large for a stack. */
void restore_begin(struct restorer *r, struct kwq *q, const char *queue);

/* Where the caller writes the key, the group and the value of the next item. */
unsigned char *restore_room(struct restorer *r);

/*
 * Takes an item, in the order in which they are to be restored. Returns 0 or the negative errno
 * value of a call. Items that the queue refuses count in @refused.
 */
int restore_item(struct restorer *r, const struct saved_item *item);

/* Restores the items that were taken last. Returns as restore_item(). */
int restore_end(struct restorer *r);

#endif /* KWQ_RESTORE_H */

/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Iterates over the items of a queue, fetched in pages.
 */
#ifndef KWQ_ITEM_LIST_H
#define KWQ_ITEM_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kwq.h>

/*
 * @all: the items of a shared queue on all machines, if shared_attach() was called for it; they end
 *	at @all_end
 */
struct item_list {
	struct kwq *q;
	const char *all, *all_end;
	struct kwq_list_items_args page;
	bool begun;
	bool here;
	unsigned int nr, next;	/* of the page: fetched, and returned so far */
	size_t at;		/* offset of the next key in @keys */
	struct kwq_listed entries[256];
	/* Room for at least one key, group, value and note of the greatest length. */
	char keys[2 * KWQ_VALUE_MAX];
};

/*
 * Lists the items that have one of @states, KWQ_IS_* bits: of a shared queue that shared_attach()
 * was called for, those of all machines.
 */
void item_list_begin(struct item_list *list, struct kwq *q, uint32_t states);

/* Lists the values or the notes or both, too: @flags has KWQ_LIST_VALUES and KWQ_LIST_NOTES. */
void item_list_with(struct item_list *list, uint32_t flags);

/* The same, but only what this machine has. */
void item_list_begin_here(struct item_list *list, struct kwq *q, uint32_t states);

/* Lists only the item of this key, which must stay valid until the end of the list. */
void item_list_only(struct item_list *list, const char *key, size_t len);

/*
 * Returns 1 with the next item, 0 at the end, or a negative errno value. *entry and
 * *key are valid until the next call. The group, if any, follows the key, and then the
 * value and the note.
 */
int item_list_next(struct item_list *list, const struct kwq_listed **entry,
		   const char **key);

/* How many bytes there are behind *key, with what @flags asked for. */
static inline size_t item_list_bytes(const struct kwq_listed *item, uint32_t flags)
{
	return (size_t)item->key_len + item->group_len +
	       (flags & KWQ_LIST_VALUES ? item->value_len : 0) +
	       (flags & KWQ_LIST_NOTES ? item->note_len : 0);
}

#endif /* KWQ_ITEM_LIST_H */

/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Reads all items of a queue, and then its changes, and tells the queue what is kept.
 *
 * A page is the entries of one call. A page is kept when the caller has let go of all its
 * entries, and the pages before it are kept. So the caller may settle entries in any order.
 */
#ifndef KWQ_SHARE_FOLLOWER_H
#define KWQ_SHARE_FOLLOWER_H

#include <stdbool.h>
#include <stdint.h>

#include <kwq.h>

#include "queue/item_list.h"

enum {
	ALL_STATES = KWQ_IS_READY | KWQ_IS_WAITING | KWQ_IS_PROCESSING | KWQ_IS_DEAD |
		     KWQ_IS_REMEMBERED,
	/* Entries in one page, at most. */
	PAGE_ENTRIES = KWQ_BATCH_MAX,
	/* Room for their keys, groups, values and notes. */
	PAGE_BYTES = 1 << 20,
};

/*
 * @after: the last change in it
 * @open: entries that are not settled, and one while it is being read
 */
struct page {
	struct page *prev, *next;
	uint64_t after;
	unsigned int open;
};

/*
 * @args: the request; @after is the last change that was read, @kept the last that is kept
 * @lists: the items that were there before the first change are being listed
 * @pages: in order; the last one is the page that was read last
 * @nr, @next, @at: entries of the last page, and the next one with its bytes
 * @wall: the wall clock when the last item was fetched, in ns since 1970
 */
struct follower {
	struct kwq *q;
	struct kwq_changes_args args;
	struct item_list list;
	bool lists;
	struct page *pages;
	int nr, next;
	const char *at;
	uint64_t wall;
	struct kwq_listed entries[PAGE_ENTRIES];
	char bytes[PAGE_BYTES];
};

/*
 * follower_open() - begin to follow a queue
 * @f: zeroed
 * @q: a handle with all rights, which the caller closes
 *
 * Return: 0 or a negative errno value: -EBUSY if another program follows.
 */
int follower_open(struct follower *f, struct kwq *q);

/* Frees the pages. */
void follower_close(struct follower *f);

/*
 * follower_next() - the next item that has changed, or that was there at the beginning
 * @f: the follower
 * @listed: receives the item; its state is 0 if it is gone
 * @bytes: receives its key, group, value and note, valid until the next call
 *
 * The caller settles the entry later by follower_settle() with follower_page(). Each call also
 * tells the queue what is kept.
 *
 * Return: 1 with an item, 0 without, or a negative errno value.
 */
int follower_next(struct follower *f, const struct kwq_listed **listed, const char **bytes);

/* The flags of a list that shows what the follower does: KWQ_LIST_VALUES, KWQ_LIST_NOTES. */
uint32_t follower_list_flags(const struct follower *f);

/* Whether follower_next() has an item that it fetched earlier. */
bool follower_has_fetched(const struct follower *f);

/* The page of the entry that follower_next() returned last. */
struct page *follower_page(const struct follower *f);

/* An entry of the page needs nothing more. */
void follower_settle(struct follower *f, struct page *page);

#endif /* KWQ_SHARE_FOLLOWER_H */

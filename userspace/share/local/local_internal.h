/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Shared by the files of the local queues.
 */
#ifndef KWQ_SHARE_LOCAL_INTERNAL_H
#define KWQ_SHARE_LOCAL_INTERNAL_H

#include <kwq.h>

#include "follower.h"
#include "share/core/hash.h"
#include "local.h"

/*
 * A key that QUEUE has from a grant.
 *
 * @change: the last change of it that was read; 0 for none
 * @requeues, @abandoned: as it was read last
 * @is_taken: a worker has it
 */
struct granted {
	UT_hash_handle hh;
	struct key_hash hash;
	struct token token;
	uint64_t change;
	uint32_t requeues, abandoned;
	bool is_taken;
	size_t key_len;
	char key[];
};

/*
 * An end waits for one of these. There is a list of each, in the order of @after.
 *
 * WAITS_FOR_ALL: all adds that came before it, for a time.
 *
 * WAITS_FOR_OWN: the outbox's item of its own key. An add has to be stored. A count of requeues and
 * a dead key have to be read, because only then they can be removed.
 */
enum waits_for { WAITS_FOR_ALL, WAITS_FOR_OWN, WAITS };

/*
 * The end of a key that was granted, until it is told.
 *
 * @prev, @next: in the list
 * @page: of its change; NULL for none
 * @after: it is told when all changes of the outbox up to this one are kept
 * @since: when it was noted
 * @own: FOR_OWN: the change of the outbox's item of the key
 * @event: the end, as the item of QUEUE tells it
 * @state: of that item
 * @more: key, group, value and note of the outbox's item, if that one tells more; else NULL
 * @bytes: of its key, group, value and note
 */
struct ended {
	UT_hash_handle hh;
	struct ended *prev, *next;
	enum waits_for waits_for;
	struct page *page;
	uint64_t after, since, own;
	struct local_event event;
	uint32_t state;
	char *more;
	char bytes[];
};

/* @is_foreign: somebody put the item into QUEUE itself */
struct added_of {
	struct key_hash hash;
	uint8_t is_foreign;
};

/*
 * A key with an add that is not yet stored.
 *
 * @prev, @next: in &local.again, if it was read again while it was published
 * @is_published: as @change, with @bytes of key, group, value and note, and @requeues
 * @page: of that change
 * @held: of the change before it, which was stored too late: see local_adds.c
 * @later: of the last read since it was published; NULL for none
 */
struct added {
	UT_hash_handle hh;
	struct added *prev, *next;
	struct added_of of;
	struct follower *follower;
	struct page *page, *held, *later;
	bool is_published;
	uint32_t requeues;
	uint64_t change;
	size_t bytes, key_len;
	char key[];
};

/*
 * @granted: by hash
 * @ended: by hash, not yet told
 * @waiting: the same, by what they wait for. The first of a list is told first.
 * @added: by key
 * @again: of these, to be published again
 * @nr_added, @most_added: how many are published and not yet stored, and how many may be so at once
 * @added_bytes: of their keys, groups, values and notes
 * @now: what the caller said last
 * @most_held: how long ends wait for adds
 * @of_queues: the last changes of the queues themselves that an event told of, added up
 * @one: for a list of its own
 */
struct local {
	struct follower queue, outbox;
	struct granted *granted;
	struct ended *ended, *waiting[WAITS];
	struct added *added, *again;
	unsigned int nr_added, most_added;
	size_t added_bytes;
	uint64_t now, most_held, of_queues;
	struct item_list one;
};

/* ---- local_items.c: one item ------------------------------------------------ */

/* Returns KWQ_WAS_* bits or a negative errno value. */
int item_remove(struct kwq *q, const void *key, size_t len, uint32_t flags, uint64_t change);

/* Returns as kwq_restore_batch() says of an entry. */
int item_restore(struct kwq *q, const struct kwq_restore_entry *entry,
		 const struct kwq_add_extra *extra, const void *key);

/* Its bytes are @bytes. */
struct work item_work(const struct kwq_listed *listed, const char *bytes);

/* How many bytes its key, group, value and note have. */
size_t item_bytes(const struct kwq_listed *listed);

/* By the wall clock, which was @wall when the item was read; 0 if it does not wait. */
uint64_t item_due(const struct kwq_listed *listed, uint64_t wall);

bool item_is_add(const struct kwq_listed *listed);

/* ---- local_adds.c: adds ----------------------------------------------------- */

/*
 * @f has read an item of the outbox, or one of QUEUE that nobody granted. Returns 1 with an event
 * if it is an add to be published now, else 0, or a negative errno value.
 */
int added_read(struct local *l, struct follower *f, const struct key_hash *hash,
	       const struct kwq_listed *listed, const char *bytes, struct local_event *event);

/* Whether so many are not stored that no more are read. */
bool added_are_many(const struct local *l);

/* The next event of the outbox. Returns 1, 0 or a negative errno value. */
int added_next(struct local *l, struct local_event *event);

/* ---- local_grants.c: keys that were granted --------------------------------- */

struct granted *granted_find(const struct local *l, const struct key_hash *hash);
void granted_forget(struct local *l, struct granted *g);

/*
 * The outbox remembers how often a key that was granted has been requeued, because the worker's
 * calls go there. Without room it does not. Returns 0 or a negative errno value.
 */
int remember_requeues(struct local *l, const void *key, size_t len, uint32_t requeues);

/* The next event of QUEUE. Returns 1, 0 or a negative errno value. */
int granted_next(struct local *l, struct local_event *event);

/* ---- local_ends.c: ends that are not told ----------------------------------- */

struct ended *ended_find(const struct local *l, const struct key_hash *hash);

/* Takes it out of all lists. */
void ended_forget(struct local *l, struct ended *ended);
void ended_free(struct ended *ended);

/*
 * Notes an end, with a copy of the key, group, value and note. It waits for the adds up to the
 * change @after; 0 for none. Returns NULL without memory.
 */
struct ended *ended_note(struct local *l, const struct granted *g, enum outcome how,
			 const struct kwq_listed *listed, const char *bytes, uint64_t after);

/*
 * A key that was granted is neither ready nor processing any more: it has ended. Returns 0 or a
 * negative errno value.
 */
int granted_end(struct local *l, struct granted *g, const struct kwq_listed *listed,
		const char *bytes);

/*
 * This change of the outbox's item of the key is stored, or needs not be. If the end of the key
 * waits for that only, it waits for nothing.
 */
void ended_let(struct local *l, const struct key_hash *hash, uint64_t change);

/*
 * Reads the outbox's item of a key that has ended. A count of requeues that is only remembered, and
 * a dead key, are a part of the end, and leave the outbox. An add that waits there stays, and
 * brings the count. Returns KWQ_IS_* bits, 0 if the outbox has nothing, or a negative errno value.
 */
int ended_take_from_outbox(struct local *l, const void *key, size_t len,
			   const struct kwq_listed **listed, const char **bytes);

/* The next end that waits for nothing. Returns 1, 0 or a negative errno value. */
int ended_next(struct local *l, struct local_event *event);

#endif /* KWQ_SHARE_LOCAL_INTERNAL_H */

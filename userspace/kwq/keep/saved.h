/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The file of a saved queue. Written from the first byte to the last, read by offsets.
 */
#ifndef KWQ_SAVED_H
#define KWQ_SAVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <kwq.h>

/* Beside KWQ_STATE_SHUT_DOWN and KWQ_STATE_PAUSED, the queue's properties. */
struct saved_queue {
	uint64_t saved_at;	/* ns since 1970; times of items are relative to it */
	uint64_t max_items;
	uint64_t max_bytes;
	uint64_t lease;
	uint64_t aging;
	uint64_t paused_for;	/* as in struct kwq_stat */
	uint32_t state;		/* KWQ_STATE_* bits */
	uint32_t create_flags;	/* as in struct kwq_stat */
	uint32_t group_limit;
	int32_t clockid;
	uint32_t mode;
	uint32_t uid;
	uint32_t gid;
	uint32_t pad;
	struct kwq_config config;	/* @limiters is 0 */
	struct kwq_limiter limiters[KWQ_LIMITERS_MAX];
	char name[KWQ_NAME_MAX + 1];	/* empty for a queue without a name */
};

/*
 * One item. Its key, the name of its group, its value and its note follow. @dirty_for and @dead_for
 * may be KWQ_AGE_UNKNOWN.
 */
struct saved_item {
	uint64_t order;		/* as in struct kwq_listed */
	uint64_t token;
	uint64_t dirty_for;
	uint64_t waiting_for;
	uint64_t due_in;
	uint64_t dead_for;
	uint32_t state;		/* KWQ_IS_* bits */
	uint32_t order_of;
	int32_t priority;
	int32_t wait_priority;
	uint32_t requeues;
	uint32_t abandoned;
	uint32_t key_len;
	uint32_t group_len;
	uint32_t value_len;
	uint32_t note_len;
};

/* All that is listed of an item, beside its key and its group. */
#define SAVED_WITH	(KWQ_LIST_VALUES | KWQ_LIST_NOTES)

/* The most bytes of all that. */
#define SAVED_BYTES_MAX	(KWQ_KEY_MAX + KWQ_GROUP_MAX + KWQ_VALUE_MAX + KWQ_NOTE_MAX)

static inline size_t saved_bytes(const struct saved_item *item)
{
	return (size_t)item->key_len + item->group_len + item->value_len + item->note_len;
}

/* ---- Writing -------------------------------------------------------------- */

struct saved_writer {
	FILE *to;
	uint64_t sum;
	uint64_t nr;
};

/* All of these return 0 or a negative errno value. */
int saved_begin(struct saved_writer *w, FILE *to, const struct saved_queue *queue);
int saved_put(struct saved_writer *w, const struct saved_item *item, const void *bytes);
int saved_end(struct saved_writer *w);

/* The item of a list, as it will be restored. A processing item is ready, and comes first. */
struct saved_item saved_item_of(const struct kwq_listed *listed);

/* A queue and an item as they are @ns later. A queue with a manual clock does not age by itself. */
void saved_queue_pass(struct saved_queue *queue, uint64_t ns);
void saved_item_pass(const struct saved_queue *queue, struct saved_item *item, uint64_t ns);

/*
 * L12: the worker of the item has ended with the machine, which counts as a loss. After
 * @dead_after_lost losses (0: after any number not) the item is dead, as in kwq_core_abandon().
 */
void saved_item_lose(struct saved_item *item, uint32_t dead_after_lost);

/*
 * Where an item belongs in a restore. First those that were handed out, because they are ahead of
 * all others of their priority; then the ready ones, returned ones first; then the others. Items of
 * one rank are restored by their orders.
 */
uint32_t saved_rank(const struct saved_item *item);

/* Whether the file begins as one of kwq save. */
bool saved_has_header(int fd);

/* ---- Reading -------------------------------------------------------------- */

struct saved_place;

struct saved_reader {
	int fd;
	struct saved_queue queue;
	uint64_t nr;
	struct saved_place *places;	/* in the order in which items are to be restored */
	bool has_values, has_groups;	/* an item has one, or has a note */
};

/*
 * Reads and checks the whole file. Returns NULL, or what is wrong with it. Needs 40 bytes of memory
 * for each item. saved_close() frees them, in any case.
 */
const char *saved_open(struct saved_reader *r, int fd);
void saved_close(struct saved_reader *r);

/*
 * Reads item @i. @bytes has room for SAVED_BYTES_MAX bytes. Returns false if the file cannot be
 * read any more, or has changed.
 */
bool saved_get(const struct saved_reader *r, uint64_t i, struct saved_item *item, void *bytes);

#endif /* KWQ_SAVED_H */

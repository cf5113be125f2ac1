/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The SQLite file of kwq keep.
 *
 * The comment at the top of keep_file.c says what survives which failure.
 */
#ifndef KWQ_KEEP_FILE_H
#define KWQ_KEEP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "saved.h"

/* The result of a call. keep_file_why() has the words. */
enum keep_result {
	KEEP_OK,
	KEEP_LATER,	/* it may succeed later: no room, no memory, an error of the disk */
	KEEP_BROKEN,	/* it will not: the file is damaged, or not one of kwq keep */
};

/* The queue whose keys a file has. */
struct kept_queue {
	uint64_t id;		/* of the queue that the file is equal to; 0 for none yet */
	uint64_t into;		/* of a queue that gets the state of this file; else 0 */
	bool ended;		/* it was shut down, and all its keys are done */
	/* With the time that is left of a pause. A pause that is over is none. */
	struct saved_queue saved;
};

struct keep_file;

/* Loads SQLite. Returns NULL, or why that failed. */
const char *keep_file_load(void);

/*
 * Opens and locks a file, and makes an empty one if there is none. Checks the whole file. The
 * caller closes it, also after a failure, unless *@file is NULL then.
 */
enum keep_result keep_file_open(struct keep_file **file, const char *path);

/* Closes a file. One that was made and never written is removed. NULL does nothing. */
void keep_file_close(struct keep_file *file);

/* Why the last call has failed. */
const char *keep_file_why(const struct keep_file *file);

/* Whether the file has no queue yet. */
bool keep_file_is_new(const struct keep_file *file);

/*
 * A transaction. With @synced its end is on the disk when keep_file_commit() returns. A transaction
 * that failed is rolled back.
 */
enum keep_result keep_file_begin(struct keep_file *file, bool synced);
enum keep_result keep_file_commit(struct keep_file *file);
void keep_file_rollback(struct keep_file *file);

/* Writes all transactions that were committed to the disk. Not within a transaction. */
enum keep_result keep_file_sync(struct keep_file *file);

/* The queue. @now is the wall clock, in ns since 1970. */
enum keep_result keep_file_get_queue(struct keep_file *file, struct kept_queue *queue,
				     uint64_t now);
enum keep_result keep_file_put_queue(struct keep_file *file, const struct kept_queue *queue,
				     uint64_t now);

/*
 * Writes an item, or removes it. @bytes are its key, group, value and note. The ages and the time
 * until its wait ends are relative to @now, the wall clock.
 */
enum keep_result keep_file_put_item(struct keep_file *file, const struct saved_item *item,
				    const void *bytes, uint64_t now);
enum keep_result keep_file_remove_item(struct keep_file *file, const void *key, size_t len);

/*
 * Between these two, all items of the queue are written. keep_file_end_list() removes every item
 * that was not. Both belong to one transaction.
 */
enum keep_result keep_file_begin_list(struct keep_file *file);
enum keep_result keep_file_end_list(struct keep_file *file);

/*
 * Reads the items in the order in which they are to be restored. keep_file_next() sets *@end behind
 * the last one. @bytes has room for SAVED_BYTES_MAX bytes.
 */
enum keep_result keep_file_begin_items(struct keep_file *file);
enum keep_result keep_file_next(struct keep_file *file, struct saved_item *item, void *bytes,
				uint64_t now, bool *end);

/* Whether it has no items. */
enum keep_result keep_file_is_empty(struct keep_file *file, bool *empty);

/* How many items there are, and what a queue needs for them: KWQ_CREATE_* bits. */
enum keep_result keep_file_count(struct keep_file *file, uint64_t *nr, uint32_t *needs);

#endif /* KWQ_KEEP_FILE_H */

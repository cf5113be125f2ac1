/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Batches between userspace and a handle: copies entries and keys in, carries them
 * out one by one, copies results or fetched items out (Q13).
 */
#ifndef KWQ_BATCH_H
#define KWQ_BATCH_H

#include "keyed.h"

/**
 * struct kwq_batch_kind - what the entries of a batch are and do
 * @size: of an entry as this kernel knows it
 * @first_size: of an entry as it was first published
 * @key_len_at: where an entry has the length of its key
 * @makes_items: whether it takes a stock to carry them out
 * @take: carries out one entry, under the queue's lock; returns its result, or with
 *	nothing changed -EAGAIN if @stock is to be filled
 */
struct kwq_batch_kind {
	u32 size;
	u32 first_size;
	u32 key_len_at;
	bool makes_items;
	int (*take)(struct kwq_handle *handle, const void *entry,
		    const struct kwq_key *key, ktime_t now, struct kwq_stock *stock);
};

/* entries.c */
extern const struct kwq_batch_kind kwq_batch_add;
extern const struct kwq_batch_kind kwq_batch_done;
extern const struct kwq_batch_kind kwq_batch_extend;
extern const struct kwq_batch_kind kwq_batch_remove;
extern const struct kwq_batch_kind kwq_batch_forget;
extern const struct kwq_batch_kind kwq_batch_requeues;

int kwq_check_done(const struct kwq_done_entry *entry);

/* batch.c */
int kwq_batch_check(const struct kwq_batch_kind *kind,
		    const struct kwq_batch *batch);
int kwq_batch_take(struct kwq_handle *handle, const struct kwq_batch_kind *kind,
		   const struct kwq_batch *batch, u32 *taken);

/**
 * struct kwq_last - a done that shares a hold of the lock with the get behind it
 * @taken: whether there is one
 * @ticket: of what is done
 * @flags: KWQ_DONE_* bits
 * @err: why it is not to be done, or 0
 * @result: where to tell what became of it
 */
struct kwq_last {
	bool taken;
	u64 ticket;
	u32 flags;
	int err;
	s32 __user *result;
};

int kwq_batch_check_get(const struct kwq_batch *batch);
int kwq_batch_take_last(const struct kwq_batch *done, const struct kwq_batch *get,
			struct kwq_last *last);
int kwq_batch_get(struct kwq_handle *handle, const struct kwq_batch *batch,
		  const struct kwq_waiter *waiter, const struct kwq_last *last);

int kwq_batch_check_list_dead(const struct kwq_batch *batch);
int kwq_batch_list_dead(struct kwq_handle *handle, const struct kwq_batch *batch,
			u64 after);

#endif /* KWQ_BATCH_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Batches between userspace and a handle. This copies entries and keys in, carries the
 * entries out one by one, and copies results or items out (Q13).
 */
#ifndef KWQ_BATCH_H
#define KWQ_BATCH_H

#include "keyed/keyed.h"
#include "words.h"

/**
 * struct kwq_batch_kind - a kind of batch entries
 * @cmd: number of the request
 * @rights: the rights that the request needs
 * @size: size of an entry
 * @extra_size: size of an extra; 0 if this kind has no extras
 * @key_len_at: offset of the length of the key in an entry
 * @makes_items: true if @execute may need a stock. With an extra, any kind may
 * @by_outbox: in a queue with an outbox, the request concerns the outbox
 * @changes_items: the changes of the entries are kept before the request returns, if the queue has
 *	KWQ_CREATE_SYNC
 * @sees_losses: the results tell which items the handle has lost
 * @extra_flags: returns the flags of an entry that its extra serves
 * @execute: carries out one entry under the queue's lock, with what its extra brings or NULL.
 *	Returns its result. -EAGAIN with nothing changed means that @stock has to be filled
 */
struct kwq_batch_kind {
	unsigned int cmd;
	u32 rights;
	u32 size;
	u32 extra_size;
	u32 key_len_at;
	bool makes_items;
	bool by_outbox;
	bool changes_items;
	bool sees_losses;
	u32 (*extra_flags)(const void *entry);
	int (*execute)(struct kwq_handle *handle, const void *entry, struct kwq_extras *extras,
		       const struct kwq_key *key, ktime_t now, struct kwq_stock *stock);
};

/* entries.c */
extern const struct kwq_batch_kind kwq_batch_add;
extern const struct kwq_batch_kind kwq_batch_done;
extern const struct kwq_batch_kind kwq_batch_extend;
extern const struct kwq_batch_kind kwq_batch_remove;
extern const struct kwq_batch_kind kwq_batch_forget;
extern const struct kwq_batch_kind kwq_batch_requeues;
extern const struct kwq_batch_kind kwq_batch_restore;

/**
 * kwq_is_settling() - is an entry more than a plain done
 * @entry: the entry
 *
 * Return: true if it has other flags than KWQ_DONE_FORGET, or unknown ones.
 */
static inline bool kwq_is_settling(const struct kwq_done_entry *entry)
{
	return entry->flags & ~KWQ_DONE_FORGET;
}

/*
 * Q13: before an entry is taken, its result is set to unknown. This shows in time whether
 * the result can be written. If it becomes unwritable later, it reads as this error and
 * never as a success.
 */
#define KWQ_RESULT_UNKNOWN	(-EFAULT)

/* batch.c */
int kwq_copy_resized_in(void *entries, size_t size, u32 nr, const void __user *from,
			u32 size_there);
int kwq_copy_resized_out(void __user *to, u32 size_there, const void *entries, size_t size, u32 nr);

/**
 * kwq_copy_entries_in() - copy in entries that may have another size in the caller's headers
 * @entries: destination
 * @size: size of one of them
 * @nr: their number
 * @array: address of the caller's array
 * @size_there: size of an entry there, at most PAGE_SIZE
 * @first: number of the first entry there to read
 *
 * Context: process; may sleep.
 * Return: 0, -EFAULT; -E2BIG if an entry has more than this kernel knows.
 */
static __always_inline int kwq_copy_entries_in(void *entries, size_t size, u32 nr, u64 array,
					       u32 size_there, u32 first)
{
	const void __user *from = u64_to_user_ptr(array) + (size_t)first * size_there;

	return likely(size_there == size) ? kwq_copy_from_user(entries, from, nr * size) :
	       kwq_copy_resized_in(entries, size, nr, from, size_there);
}

/**
 * kwq_copy_entries_out() - copy out entries that may have another size in the caller's headers
 * @array: address of the caller's array
 * @size_there: size of an entry there
 * @first: number of the first entry there to write
 * @entries: the entries
 * @size: size of one of them
 * @nr: their number
 *
 * Context: process; may sleep.
 * Return: 0 or -EFAULT.
 */
static __always_inline int kwq_copy_entries_out(u64 array, u32 size_there, u32 first,
						const void *entries, size_t size, u32 nr)
{
	void __user *to = u64_to_user_ptr(array) + (size_t)first * size_there;

	return likely(size_there == size) ? kwq_copy_to_user(to, entries, nr * size) :
	       kwq_copy_resized_out(to, size_there, entries, size, nr);
}

int kwq_batch_check(const struct kwq_batch *batch, u32 entry_size, u32 extra_size,
		    bool has_results);
int kwq_batch_execute(struct kwq_handle *handle, const struct kwq_batch_kind *kind,
		      const struct kwq_batch *batch, u32 *taken);

int kwq_batch_add_waiting(struct kwq_handle *handle, const struct kwq_batch *batch,
			  const struct kwq_patience *patience, u32 *taken);

/**
 * struct kwq_paired_done - a done that shares a hold of the lock with the following get
 * @present: true if there is one
 * @ticket: ticket of the item
 * @flags: 0 or KWQ_DONE_FORGET
 * @err: why the item cannot be finished, or 0
 * @result: where to write its result
 */
struct kwq_paired_done {
	bool present;
	u64 ticket;
	u32 flags;
	int err;
	s32 __user *result;
};

int kwq_batch_prepare_paired_done(const struct kwq_batch *done, const struct kwq_batch *get,
				  struct kwq_paired_done *paired);
int kwq_batch_get(struct kwq_handle *handle, const struct kwq_batch *batch,
		  const struct kwq_patience *patience, const struct kwq_paired_done *paired);

int kwq_batch_list_items(struct kwq_handle *handle, const struct kwq_batch *batch,
			 struct kwq_list_request *request);

/* extras.c */

/**
 * struct kwq_extra_in - the extra of the entry that is being carried out
 * @extra: the extra
 * @extras: what it brings. The value and the note, if they are left, and @value_bytes need
 *	kwq_extra_end()
 * @value_bytes: bytes of both that are charged as memory of the call
 * @calls: the quota that is charged, unless @value_bytes is 0
 * @group: the name of its group
 */
struct kwq_extra_in {
	struct kwq_add_extra extra;
	struct kwq_extras extras;
	u32 value_bytes;
	struct kwq_quota *calls;
	u8 group[KWQ_GROUP_MAX];
};

int kwq_extra_copy_in(struct kwq_extra_in *in, const struct kwq_handle *handle,
		      const struct kwq_batch *batch, u32 i, u32 flags, s32 *result);
void kwq_extra_end(struct kwq_extra_in *in, const struct kwq_handle *handle);
int kwq_more_copy_out(const struct kwq_got_more *more, const struct kwq_batch *batch, u32 i,
		      void __user *to);
void kwq_more_end(const struct kwq_got_more *more);

#endif /* KWQ_BATCH_H */

// SPDX-License-Identifier: GPL-2.0-only
/* The entries of batches, by kind. Each entry is checked and carried out by itself. */
#include <linux/errno.h>
#include <linux/stddef.h>
#include "batch.h"
#include "keyed/timens.h"
#include "sizes.h"

/* The flags of an add that are for its extra. Without an extra they are unknown. */
#define KWQ_ADD_EXTRAS	(KWQ_ADD_VALUE | KWQ_ADD_KEEP_VALUE | KWQ_ADD_GROUP | KWQ_ADD_AT_MOST)

static u32 extra_flags_of_add(const void *data)
{
	const struct kwq_add_entry *entry = data;

	return entry->flags & KWQ_ADD_EXTRAS;
}

static int execute_add_with(struct kwq_handle *handle, const void *data,
			    struct kwq_extras *extras, const struct kwq_key *key, ktime_t now,
			    struct kwq_stock *stock)
{
	const struct kwq_add_entry *entry = data;
	struct kwq_add_options options = {
		.flags = entry->flags & ~(KWQ_ADD_VALUE | KWQ_ADD_KEEP_VALUE | KWQ_ADD_GROUP),
		.priority = entry->priority,
		.time = entry->time,
		.at_most = extras->at_most,
	};

	if (!key->len || entry->pad || kwq_check_add(&options))
		return -EINVAL;
	if (entry->flags & KWQ_ADD_AT)
		options.time = kwq_host_time(handle->keyed, entry->time);
	return kwq_keyed_add_with_locked(handle->keyed, key, &options, extras, now, stock);
}

static int execute_add(struct kwq_handle *handle, const void *data,
		       const struct kwq_key *key, ktime_t now, struct kwq_stock *stock)
{
	const struct kwq_add_entry *entry = data;
	struct kwq_add_options options = {
		.flags = entry->flags,
		.priority = entry->priority,
		.time = entry->time,
	};

	if (!key->len || entry->pad || kwq_check_add(&options))
		return -EINVAL;
	if (entry->flags & KWQ_ADD_AT)
		options.time = kwq_host_time(handle->keyed, entry->time);
	return kwq_keyed_add_locked(handle->keyed, key, &options, now, stock);
}

const struct kwq_batch_kind kwq_batch_add = {
	.size = sizeof(struct kwq_add_entry),
	.first_size = KWQ_ADD_ENTRY_FIRST,
	.key_len_at = offsetof(struct kwq_add_entry, key_len),
	.first_extra = KWQ_ADD_EXTRA_FIRST,
	.makes_items = true,
	.extra_flags = extra_flags_of_add,
	.execute_with = execute_add_with,
	.execute = execute_add,
};

/**
 * kwq_check_done() - check the form of a done
 * @entry: the entry
 *
 * Return: 0; -EINVAL, also if it has both or neither of a ticket and a key.
 */
int kwq_check_done(const struct kwq_done_entry *entry)
{
	return entry->flags & ~KWQ_DONE_FORGET || !entry->ticket == !entry->key_len ?
	       -EINVAL : 0;
}

static int execute_done(struct kwq_handle *handle, const void *data,
			const struct kwq_key *key, ktime_t now,
		     struct kwq_stock *stock)
{
	const struct kwq_done_entry *entry = data;
	int err = kwq_check_done(entry);

	if (err)
		return err;
	if (entry->ticket)
		return kwq_handle_done_locked(handle, entry->ticket, entry->flags, now);
	return kwq_handle_done_key_locked(handle, key, entry->flags, now);
}

const struct kwq_batch_kind kwq_batch_done = {
	.size = sizeof(struct kwq_done_entry),
	.first_size = KWQ_DONE_ENTRY_FIRST,
	.key_len_at = offsetof(struct kwq_done_entry, key_len),
	.execute = execute_done,
};

static int execute_extend(struct kwq_handle *handle, const void *data,
			  const struct kwq_key *key, ktime_t now,
		       struct kwq_stock *stock)
{
	const struct kwq_extend_entry *entry = data;

	/* It needs either a ticket or a key. */
	if (entry->flags || !entry->ticket == !key->len)
		return -EINVAL;
	if (entry->ticket)
		return kwq_handle_extend_locked(handle, entry->ticket, now);
	return kwq_handle_extend_key_locked(handle, key, now);
}

const struct kwq_batch_kind kwq_batch_extend = {
	.size = sizeof(struct kwq_extend_entry),
	.first_size = KWQ_EXTEND_ENTRY_FIRST,
	.key_len_at = offsetof(struct kwq_extend_entry, key_len),
	.execute = execute_extend,
};

static int execute_remove(struct kwq_handle *handle, const void *data,
			  const struct kwq_key *key, ktime_t now,
		       struct kwq_stock *stock)
{
	const struct kwq_remove_entry *entry = data;

	if (entry->flags & ~KWQ_REMOVE_DEAD || !key->len)
		return -EINVAL;
	return kwq_keyed_remove_locked(handle->keyed, key, entry->flags, now);
}

const struct kwq_batch_kind kwq_batch_remove = {
	.size = sizeof(struct kwq_remove_entry),
	.first_size = KWQ_REMOVE_ENTRY_FIRST,
	.key_len_at = offsetof(struct kwq_remove_entry, key_len),
	.execute = execute_remove,
};

static int execute_forget(struct kwq_handle *handle, const void *data,
			  const struct kwq_key *key, ktime_t now,
		       struct kwq_stock *stock)
{
	const struct kwq_key_entry *entry = data;

	if (entry->flags || !key->len)
		return -EINVAL;
	return kwq_keyed_forget_locked(handle->keyed, key, now);
}

const struct kwq_batch_kind kwq_batch_forget = {
	.size = sizeof(struct kwq_key_entry),
	.first_size = KWQ_KEY_ENTRY_FIRST,
	.key_len_at = offsetof(struct kwq_key_entry, key_len),
	.execute = execute_forget,
};

static int execute_requeues(struct kwq_handle *handle, const void *data,
			    const struct kwq_key *key, ktime_t now,
			 struct kwq_stock *stock)
{
	const struct kwq_key_entry *entry = data;

	if (entry->flags || !key->len)
		return -EINVAL;
	return kwq_keyed_num_requeues_locked(handle->keyed, key, now);
}

const struct kwq_batch_kind kwq_batch_requeues = {
	.size = sizeof(struct kwq_key_entry),
	.first_size = KWQ_KEY_ENTRY_FIRST,
	.key_len_at = offsetof(struct kwq_key_entry, key_len),
	.execute = execute_requeues,
};

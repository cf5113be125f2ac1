// SPDX-License-Identifier: GPL-2.0-only
/* The entries of batches, by kind. Each entry is checked and carried out by itself. */
#include <linux/errno.h>
#include <linux/nospec.h>
#include <linux/stddef.h>
#include "batch.h"
#include "keyed/timens.h"

/* The flags of an add that are for its extra. Without an extra they are unknown. */
#define KWQ_ADD_EXTRAS	(KWQ_ADD_VALUE | KWQ_ADD_KEEP_VALUE | KWQ_ADD_GROUP | KWQ_ADD_AT_MOST | \
			 KWQ_ADD_NOTE | KWQ_SET_JOINS)

static u32 extra_flags_of_add(const void *data)
{
	const struct kwq_add_entry *entry = data;

	return entry->flags & KWQ_ADD_EXTRAS;
}

static noinline int execute_add_as_asked(struct kwq_handle *handle,
					 const struct kwq_add_entry *entry,
					 struct kwq_extras *extras, const struct kwq_key *key,
					 ktime_t now, struct kwq_stock *stock)
{
	struct kwq_add_options options = {
		.flags = entry->flags,
		.priority = entry->priority,
		.time = entry->time,
	};

	if (extras) {
		options.flags &= ~(KWQ_ADD_VALUE | KWQ_ADD_KEEP_VALUE | KWQ_ADD_GROUP |
				   KWQ_ADD_NOTE | KWQ_SET_JOINS);
		options.at_most = extras->at_most;
	}
	if (!key->len || entry->pad || kwq_check_add(&options))
		return -EINVAL;
	if (kwq_front_is_shut_down(handle->front))
		return -ESHUTDOWN;
	if (entry->flags & KWQ_ADD_AT)
		options.time = kwq_host_time(handle->keyed, entry->time);
	return kwq_keyed_add_locked(handle->keyed, key, &options, extras, now, stock);
}

static int execute_add(struct kwq_handle *handle, const void *data, struct kwq_extras *extras,
		       const struct kwq_key *key, ktime_t now, struct kwq_stock *stock)
{
	static const struct kwq_add_options at_once;
	const struct kwq_add_entry *entry = data;

	if (unlikely(extras || entry->time || entry->flags | entry->priority | entry->pad ||
		     !key->len))
		return execute_add_as_asked(handle, entry, extras, key, now, stock);
	if (kwq_front_is_shut_down(handle->front))
		return -ESHUTDOWN;
	return kwq_keyed_add_locked(handle->keyed, key, &at_once, NULL, now, stock);
}

const struct kwq_batch_kind kwq_batch_add = {
	.cmd = KWQ_IOC_ADD,
	.rights = KWQ_RIGHT_WRITE,
	.size = sizeof(struct kwq_add_entry),
	.extra_size = sizeof(struct kwq_add_extra),
	.key_len_at = offsetof(struct kwq_add_entry, key_len),
	.makes_items = true,
	.changes_items = true,
	.extra_flags = extra_flags_of_add,
	.execute = execute_add,
};

/* A return leaves the requeues as they are, and is no death. */
static bool are_done_flags(u32 flags)
{
	if (flags & ~(KWQ_DONE_FORGET | KWQ_DONE_DEAD | KWQ_DONE_RETURN))
		return false;
	return !(flags & KWQ_DONE_RETURN) || flags == KWQ_DONE_RETURN;
}

/* A done and an extension need either a ticket or a key. */
static bool names_one(u64 ticket, const struct kwq_key *key)
{
	return !ticket != !key->len;
}

static int execute_done(struct kwq_handle *handle, const void *data, struct kwq_extras *extras,
			const struct kwq_key *key, ktime_t now, struct kwq_stock *stock)
{
	const struct kwq_done_entry *entry = data;

	if (unlikely(kwq_is_settling(entry)) && !are_done_flags(entry->flags))
		return -EINVAL;
	if (!names_one(entry->ticket, key))
		return -EINVAL;
	return kwq_handle_end_locked(handle, entry->ticket, key, entry->flags, now);
}

const struct kwq_batch_kind kwq_batch_done = {
	.cmd = KWQ_IOC_DONE,
	.rights = KWQ_RIGHT_READ,
	.size = sizeof(struct kwq_done_entry),
	.key_len_at = offsetof(struct kwq_done_entry, key_len),
	.changes_items = true,
	.execute = execute_done,
};

static u32 extra_flags_of_extend(const void *data)
{
	const struct kwq_extend_entry *entry = data;

	return entry->flags & KWQ_EXTEND_NOTE ? KWQ_ADD_NOTE : 0;
}

static int execute_extend(struct kwq_handle *handle, const void *data, struct kwq_extras *extras,
			  const struct kwq_key *key, ktime_t now, struct kwq_stock *stock)
{
	const struct kwq_extend_entry *entry = data;

	if (entry->flags & ~(extras ? KWQ_EXTEND_NOTE : 0) || !names_one(entry->ticket, key))
		return -EINVAL;
	return kwq_handle_extend_locked(handle, entry->ticket, key, extras, now, stock);
}

const struct kwq_batch_kind kwq_batch_extend = {
	.cmd = KWQ_IOC_EXTEND,
	.rights = KWQ_RIGHT_READ,
	.size = sizeof(struct kwq_extend_entry),
	.extra_size = sizeof(struct kwq_add_extra),
	.key_len_at = offsetof(struct kwq_extend_entry, key_len),
	.sees_losses = true,
	.extra_flags = extra_flags_of_extend,
	.execute = execute_extend,
};

#define REMOVE_FLAGS	(KWQ_REMOVE_DEAD | KWQ_REMOVE_REVOKE | KWQ_REMOVE_UNCHANGED)

static int execute_remove(struct kwq_handle *handle, const void *data, struct kwq_extras *extras,
			  const struct kwq_key *key, ktime_t now, struct kwq_stock *stock)
{
	const struct kwq_remove_entry *entry = data;

	if (entry->flags & ~REMOVE_FLAGS || !key->len)
		return -EINVAL;
	if (entry->change && !(entry->flags & KWQ_REMOVE_UNCHANGED))
		return -EINVAL;
	/* A dead item has no holder. */
	if (entry->flags & KWQ_REMOVE_DEAD && entry->flags & KWQ_REMOVE_REVOKE)
		return -EINVAL;
	return kwq_keyed_remove_locked(handle->keyed, key, entry->flags, entry->change, now);
}

const struct kwq_batch_kind kwq_batch_remove = {
	.cmd = KWQ_IOC_REMOVE,
	.rights = KWQ_RIGHT_MANAGE,
	.size = sizeof(struct kwq_remove_entry),
	.key_len_at = offsetof(struct kwq_remove_entry, key_len),
	.changes_items = true,
	.execute = execute_remove,
};

static int execute_forget(struct kwq_handle *handle, const void *data, struct kwq_extras *extras,
			  const struct kwq_key *key, ktime_t now, struct kwq_stock *stock)
{
	const struct kwq_key_entry *entry = data;

	if (entry->flags || !key->len)
		return -EINVAL;
	return kwq_keyed_forget_locked(handle->keyed, key, now);
}

const struct kwq_batch_kind kwq_batch_forget = {
	.cmd = KWQ_IOC_FORGET,
	.rights = KWQ_RIGHT_READ,
	.size = sizeof(struct kwq_key_entry),
	.key_len_at = offsetof(struct kwq_key_entry, key_len),
	.by_outbox = true,
	.changes_items = true,
	.execute = execute_forget,
};

static int execute_requeues(struct kwq_handle *handle, const void *data, struct kwq_extras *extras,
			    const struct kwq_key *key, ktime_t now, struct kwq_stock *stock)
{
	const struct kwq_key_entry *entry = data;

	if (entry->flags || !key->len)
		return -EINVAL;
	return kwq_keyed_num_requeues_locked(handle->keyed, key, now);
}

const struct kwq_batch_kind kwq_batch_requeues = {
	.cmd = KWQ_IOC_REQUEUES,
	.rights = KWQ_RIGHT_READ,
	.size = sizeof(struct kwq_key_entry),
	.key_len_at = offsetof(struct kwq_key_entry, key_len),
	.by_outbox = true,
	.execute = execute_requeues,
};

/* The flags of a restore are all for its extra. */
static u32 extra_flags_of_restore(const void *data)
{
	const struct kwq_restore_entry *entry = data;

	return entry->flags & (KWQ_ADD_VALUE | KWQ_ADD_GROUP | KWQ_ADD_TOKEN | KWQ_ADD_NOTE);
}

#define KWQ_IS_AT_WORK	(KWQ_IS_PROCESSING | KWQ_IS_DIRTY | KWQ_IS_DYING)
#define KWQ_IS_IN_QUEUE	(KWQ_IS_READY | KWQ_IS_RETURNED | KWQ_IS_AT_WORK)

static bool is_priority(s32 priority)
{
	return priority >= KWQ_PRIORITY_MIN && priority <= KWQ_PRIORITY_MAX;
}

/* A valid priority that is safe as an index under speculation. */
static s8 safe_priority(s32 priority)
{
	u32 level = priority - KWQ_PRIORITY_MIN;

	if (priority == KWQ_PRIORITY_NONE)
		return KWQ_PRIORITY_NONE;
	return (s32)array_index_nospec(level, KWQ_NR_PRIORITIES) + KWQ_PRIORITY_MIN;
}

static int check_restored_state(u32 state)
{
	if (state == KWQ_IS_DEAD || state == KWQ_IS_REMEMBERED)
		return 0;
	if (state & ~(KWQ_IS_IN_QUEUE | KWQ_IS_WAITING))
		return -EINVAL;
	/* An item is ready or at work or neither. */
	if (state & KWQ_IS_READY && state & KWQ_IS_AT_WORK)
		return -EINVAL;
	if (state & (KWQ_IS_DIRTY | KWQ_IS_DYING) && !(state & KWQ_IS_PROCESSING))
		return -EINVAL;
	if (state & KWQ_IS_RETURNED && !(state & KWQ_IS_READY))
		return -EINVAL;
	return state ? 0 : -EINVAL;
}

static int check_restore(const struct kwq_restore_entry *entry)
{
	if (entry->pad || check_restored_state(entry->state) || !is_priority(entry->priority))
		return -EINVAL;
	if (!(entry->state & KWQ_IS_IN_QUEUE) && entry->dirty_for)
		return -EINVAL;
	if (entry->state != KWQ_IS_DEAD && entry->dead_for)
		return -EINVAL;
	if (!(entry->state & KWQ_IS_WAITING))
		return entry->wait_priority || entry->waiting_for || entry->due_in ? -EINVAL : 0;
	return entry->wait_priority != KWQ_PRIORITY_NONE && !is_priority(entry->wait_priority) ?
	       -EINVAL : 0;
}

/* U8: an age that is not known counts from now. */
static u64 restored_age(u64 age)
{
	return age == KWQ_AGE_UNKNOWN ? 0 : age;
}

/* M1: but a queue without durations can leave it unknown, unless the age is that of a wait. */
static u64 restored_duration(const struct kwq_keyed *keyed, u64 age)
{
	return keyed->limits.no_durations ? age : restored_age(age);
}

static int execute_restore(struct kwq_handle *handle, const void *data, struct kwq_extras *extras,
			   const struct kwq_key *key, ktime_t now, struct kwq_stock *stock)
{
	const struct kwq_restore_entry *entry = data;
	struct kwq_keyed *keyed = handle->keyed;
	struct kwq_extras none = {};
	struct kwq_restored restored = {
		.priority = safe_priority(entry->priority),
		.wait_priority = safe_priority(entry->wait_priority),
		.requeues = entry->requeues,
		.abandoned = entry->abandoned,
		.dirty_for = restored_duration(keyed, entry->dirty_for),
		.waiting_for = restored_age(entry->waiting_for),
		.dead_for = restored_duration(keyed, entry->dead_for),
	};

	extras = extras ?: &none;
	if (!key->len || entry->flags != extras->flags || check_restore(entry))
		return -EINVAL;
	restored.state = entry->state & (KWQ_IS_READY | KWQ_IS_RETURNED | KWQ_IS_WAITING |
					 KWQ_IS_DEAD);
	/* O1: as if its holder had been lost, but without counting that. */
	if (entry->state & KWQ_IS_PROCESSING)
		restored.state |= KWQ_IS_READY | KWQ_IS_RETURNED;
	/* Ages and times count from now, even in a queue without durations. */
	if (now == KWQ_NO_TIME)
		now = kwq_now_locked(&keyed->queue);
	restored.due = kwq_later(now, entry->due_in);
	return kwq_keyed_restore_locked(keyed, key, &restored, extras, now, stock);
}

const struct kwq_batch_kind kwq_batch_restore = {
	.cmd = KWQ_IOC_RESTORE,
	/* It adds, and sets counts and times that the queue's work decides otherwise (U9). */
	.rights = KWQ_RIGHT_WRITE | KWQ_RIGHT_MANAGE,
	.size = sizeof(struct kwq_restore_entry),
	.extra_size = sizeof(struct kwq_add_extra),
	.key_len_at = offsetof(struct kwq_restore_entry, key_len),
	.makes_items = true,
	.changes_items = true,
	.extra_flags = extra_flags_of_restore,
	.execute = execute_restore,
};

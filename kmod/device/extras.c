// SPDX-License-Identifier: GPL-2.0-only
/*
 * Batches with extras. Their entries are carried out one by one, each in a hold of its own.
 * The copy of a value outweighs what a common hold would save. All entries before a fault
 * take effect, and no later ones do.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "batch.h"
#include "words.h"

/**
 * struct one - the entry that is being carried out
 * @entry: the entry
 * @extra: its extra
 * @extras: what the extra brings
 * @key: its key
 * @bytes: buffer for the key: @few, or allocated
 * @value_bytes: bytes of the value that are charged as memory of the call
 * @few: buffer for a short key
 * @key_offset: bytes of keys used by the entries before
 * @group: the name of its group
 */
struct one {
	u64 entry[8];
	struct kwq_add_extra extra;
	struct kwq_extras extras;
	struct kwq_key key;
	u8 *bytes;
	u32 value_bytes;
	u64 key_offset;
	u8 few[KWQ_SHORT_KEY_MAX];
	u8 group[KWQ_GROUP_MAX];
};

/* An extra has nothing that its flag does not announce. */
static int check_extra(const struct kwq_add_extra *extra, u32 flags)
{
	if (!(flags & KWQ_ADD_AT_MOST) != !extra->at_most)
		return -EINVAL;
	if (!(flags & KWQ_ADD_TOKEN) && extra->token)
		return -EINVAL;
	if (!(flags & KWQ_ADD_GROUP) && (extra->group || extra->group_len))
		return -EINVAL;
	if (extra->group_len > KWQ_GROUP_MAX)
		return -EMSGSIZE;
	if (extra->group && !extra->group_len)
		return -EINVAL;
	if (!(flags & KWQ_ADD_VALUE))
		return extra->value || extra->value_len || flags & KWQ_ADD_KEEP_VALUE ? -EINVAL : 0;
	if (extra->value_len > KWQ_VALUE_MAX)
		return -EMSGSIZE;
	/* The address would be ignored without any bytes. */
	return extra->value && !extra->value_len ? -EINVAL : 0;
}

static int copy_group_in(struct one *one)
{
	struct kwq_key *group = &one->extras.group;

	group->bytes = one->group;
	group->len = one->extra.group_len;
	if (!group->len)
		return 0;
	if (copy_from_user(one->group, u64_to_user_ptr(one->extra.group), group->len))
		return -EFAULT;
	kwq_key_hash(group);
	return 0;
}

/*
 * Copies the value in. Returns -EFAULT if that fails, or sets *@result. Until the entry is carried
 * out, the value counts as memory of the call, because the copy may take long.
 */
static int copy_value_in(struct one *one, const struct kwq_handle *handle, s32 *result)
{
	u32 len = one->extra.value_len;

	if (!len)
		return 0;
	one->extras.value = kwq_value_alloc(len);
	if (!one->extras.value) {
		*result = -ENOMEM;
		return 0;
	}
	one->value_bytes = kwq_value_bytes(one->extras.value);
	if (!kwq_quota_charge_call(handle, one->value_bytes)) {
		one->value_bytes = 0;
		*result = -EDQUOT;
		return 0;
	}
	return copy_from_user(one->extras.value->bytes, u64_to_user_ptr(one->extra.value), len) ?
	       -EFAULT : 0;
}

static int copy_entry_in(struct one *one, const struct kwq_batch_kind *kind,
			 const struct kwq_batch *batch, u32 i)
{
	const size_t frequent = sizeof(struct kwq_add_entry);

	if (batch->entry_size == frequent && kind->size == frequent)
		return kwq_copy_from_user(one->entry, u64_to_user_ptr(batch->entries) +
					   i * frequent, frequent);
	return kwq_copy_entries_in(one->entry, kind->size, 1, batch->entries, batch->entry_size,
				   i);
}

static int copy_extra_in(struct one *one, const struct kwq_batch *batch, u32 i)
{
	if (batch->extra_size == sizeof(one->extra))
		return kwq_copy_from_user(&one->extra, u64_to_user_ptr(batch->extras) +
					   i * sizeof(one->extra), sizeof(one->extra));
	return kwq_copy_entries_in(&one->extra, sizeof(one->extra), 1, batch->extras,
				   batch->extra_size, i);
}

/* Reads entry @i, its key and its value. A mistake in the entry itself is its result. */
static int copy_one_in(struct one *one, const struct kwq_handle *handle,
		       const struct kwq_batch_kind *kind, const struct kwq_batch *batch, u32 i,
		       s32 *result)
{
	u32 len;
	int err;

	err = copy_entry_in(one, kind, batch, i) ?: copy_extra_in(one, batch, i);
	if (err)
		return err;
	len = *(const u32 *)((void *)one->entry + kind->key_len_at);
	*result = kwq_check_key(batch, one->key_offset, len);
	one->extras.flags = kind->extra_flags(one->entry);
	one->extras.at_most = one->extra.at_most;
	one->extras.token = one->extra.token;
	if (!*result)
		*result = check_extra(&one->extra, one->extras.flags);
	if (!*result && len) {
		if (kwq_copy_from_user(one->bytes, u64_to_user_ptr(batch->keys) + one->key_offset,
				       len))
			return -EFAULT;
		one->key.bytes = one->bytes;
		one->key.len = len;
		kwq_key_hash(&one->key);
	}
	one->key_offset += len;
	return *result ? 0 : copy_group_in(one) ?: copy_value_in(one, handle, result);
}

/*
 * Carries out the entry. With @wait, sleeps while it lacks room (Q19), until @wait is over. Returns
 * -EAGAIN with nothing changed if it lacks memory.
 */
static s32 execute_or_wait(struct kwq_handle *handle, const struct kwq_batch_kind *kind,
			   struct one *one, struct kwq_stock *stock, struct kwq_room_wait *wait)
{
	struct kwq_keyed *keyed = handle->keyed;
	unsigned long flags;
	ktime_t now;
	s32 ret;

	now = kwq_keyed_begin(keyed, &flags);
	for (;;) {
		ret = kind->execute_with(handle, one->entry, &one->extras, &one->key, now, stock);
		if (!wait || ret == -EAGAIN)
			break;
		if (!kwq_keyed_may_find_room(stock, ret)) {
			kwq_leave_room_locked(keyed, wait);
			break;
		}
		wait->err = kwq_keyed_wait_for_room_locked(keyed, &one->key, &one->extras, stock,
							   wait, &flags);
		if (wait->err)
			break;
		now = kwq_stamp_locked(&keyed->queue);
	}
	kwq_keyed_unlock(keyed, flags);
	return ret;
}

static s32 execute_with_extra(struct kwq_handle *handle, const struct kwq_batch_kind *kind,
			      struct one *one, struct kwq_room_wait *wait)
{
	struct kwq_keyed *keyed = handle->keyed;
	struct kwq_stock stock = {};
	s32 ret;

	if (one->key.len)
		kwq_stock_begin(&stock, keyed, &one->key, &one->extras, 1);
	for (;;) {
		ret = execute_or_wait(handle, kind, one, &stock, wait);
		if (ret != -EAGAIN)
			break;
		ret = kwq_stock_fill_or_wait(&stock, keyed, &one->key, &one->extras, 1, wait);
		if (ret)
			break;
	}
	kwq_stock_empty(&stock, keyed);
	return ret;
}

/* Takes entry @i. */
static int take_one_with_extra(struct kwq_handle *handle, const struct kwq_batch_kind *kind,
			       const struct kwq_batch *batch, struct one *one, u32 i,
			       struct kwq_room_wait *wait, bool *taken)
{
	s32 __user *to = u64_to_user_ptr(batch->results);
	s32 result;
	int err;

	one->key.len = 0;
	one->extras.value = NULL;
	one->value_bytes = 0;
	err = copy_one_in(one, handle, kind, batch, i, &result);
	if (!err && kwq_put_user(KWQ_RESULT_UNKNOWN, to + i))
		err = -EFAULT;
	if (!err) {
		if (!result)
			result = execute_with_extra(handle, kind, one, wait);
		*taken = !wait || !wait->err;
		err = kwq_put_user(result, to + i);
	}
	/* The add did not take it over. */
	kvfree(one->extras.value);
	if (one->value_bytes)
		kwq_quota_uncharge_call(handle, one->value_bytes);
	return err;
}

/**
 * kwq_batch_execute_with_extras() - kwq_batch_execute() for a batch with extras
 * @handle: the handle
 * @kind: kind of its entries
 * @batch: the batch, checked
 * @wait: how long its adds wait for room; NULL if they do not
 * @taken: out: how many entries were taken, from the first on
 *
 * Context: process; may sleep.
 * Return: 0 if all were taken; else the error that stopped at the next entry.
 */
noinline int kwq_batch_execute_with_extras(struct kwq_handle *handle,
					   const struct kwq_batch_kind *kind,
					   const struct kwq_batch *batch,
					   struct kwq_room_wait *wait, u32 *taken)
{
	struct one one;
	bool was_taken;
	u32 i, size;
	int err = 0;

	one.bytes = one.few;
	if (batch->keys_len > sizeof(one.few)) {
		size = min_t(u32, batch->keys_len, KWQ_KEY_MAX);
		if (!kwq_quota_charge_call(handle, kwq_bytes_of_kmalloc(size)))
			return -EDQUOT;
		one.bytes = kmalloc(size, GFP_KERNEL_ACCOUNT);
		if (!one.bytes)
			err = -ENOMEM;
	}
	one.key_offset = 0;
	BUILD_BUG_ON(sizeof(struct kwq_add_entry) > sizeof(one.entry) ||
		     sizeof(struct kwq_restore_entry) > sizeof(one.entry));
	for (i = 0; i < batch->nr && !err; i++) {
		was_taken = false;
		err = take_one_with_extra(handle, kind, batch, &one, i, wait, &was_taken);
		*taken += was_taken;
		if (wait && wait->err)
			err = wait->err;
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
		cond_resched();
	}
	if (one.bytes != one.few) {
		kfree(one.bytes);
		kwq_quota_uncharge_call(handle, kwq_bytes_of_kmalloc(size));
	}
	return *taken < batch->nr ? err : 0;
}

/**
 * struct got_one - an item that is on its way to the caller
 * @got: the item
 * @more: its group and its value
 * @buffer: for all
 * @few: buffer for a short key and group
 * @keys: buffer for a long one, once there was one
 */
struct got_one {
	struct kwq_got got;
	struct kwq_got_more more;
	struct kwq_got_buffer buffer;
	u8 few[KWQ_SHORT_KEY_MAX];
	u8 *keys;
};

static void use_buffer(struct got_one *one, u8 *keys, u32 size, u32 room)
{
	one->buffer.keys = keys;
	one->buffer.max_key_bytes = min(size, room);
	one->buffer.longest = one->keys ? 0 : room;
}

/* Room for any key and group. */
#define MANY	(KWQ_KEY_MAX + KWQ_GROUP_MAX)

/* Gets the next item, whose key, group and value take at most @room bytes. */
static int get_one_with_extras(struct kwq_handle *handle, struct got_one *one, u32 room,
			       const struct kwq_patience *patience)
{
	int ret;

	one->more.max_bytes = room;
	use_buffer(one, one->keys ?: one->few, one->keys ? MANY : sizeof(one->few), room);
	ret = kwq_handle_get(handle, &one->buffer, patience);
	if (!kwq_wants_more_room(&one->buffer, ret))
		return ret;
	one->keys = kmalloc(MANY, GFP_KERNEL_ACCOUNT);
	if (one->keys)
		kwq_quota_count_call(handle, kwq_bytes_of_kmalloc(MANY));
	use_buffer(one, one->keys, MANY, room);
	/* Fetch without room for any key, so that another getter gets the wake-up. */
	if (!one->keys)
		use_buffer(one, NULL, 0, 0);
	ret = kwq_handle_get(handle, &one->buffer, patience);
	return ret == -EMSGSIZE && !one->keys ? -ENOMEM : ret;
}

static int copy_entry_out(const struct kwq_batch *batch, const struct kwq_got *got, u32 i)
{
	void __user *to = u64_to_user_ptr(batch->entries) + (size_t)i * sizeof(*got);

	if (likely(batch->entry_size == sizeof(*got)))
		return kwq_copy_to_user(to, got, sizeof(*got));
	return kwq_copy_entries_out(batch->entries, batch->entry_size, i, got, sizeof(*got), 1);
}

static int copy_extra_out(const struct kwq_batch *batch, const struct kwq_got_extra *extra, u32 i)
{
	void __user *to = u64_to_user_ptr(batch->extras) + (size_t)i * sizeof(*extra);

	if (likely(batch->extra_size == sizeof(*extra)))
		return kwq_copy_to_user(to, extra, sizeof(*extra));
	return kwq_copy_entries_out(batch->extras, batch->extra_size, i, extra, sizeof(*extra), 1);
}

/* O2: if this fails, the item goes back. */
static int copy_got_out(struct kwq_handle *handle, const struct kwq_batch *batch,
			const struct got_one *one, u32 i, u32 key_offset)
{
	struct kwq_value *value = one->more.value;
	const struct kwq_got_extra extra = {
		.value_len = value ? value->len : 0,
		.group_len = one->more.group_len,
		.token = one->more.token,
	};
	/* The name of the group is behind the key already. */
	u32 bytes, len = one->buffer.keys_len + extra.group_len;
	u8 __user *to = u64_to_user_ptr(batch->keys) + key_offset;
	int err;

	err = copy_entry_out(batch, &one->got, i) ?: copy_extra_out(batch, &extra, i) ?:
	      kwq_copy_to_user(to, one->buffer.keys, len);
	if (!err && value && copy_to_user(to + len, value->bytes, value->len))
		err = -EFAULT;
	if (value) {
		bytes = kwq_value_bytes(value);
		kwq_value_put(value);
		kwq_quota_uncharge_call(handle, bytes);
	}
	if (err)
		kwq_handle_unget(handle, &one->got, 1);
	return err;
}

/**
 * kwq_batch_get_with_extras() - kwq_batch_get() for a batch with extras
 * @handle: the handle
 * @batch: the batch, checked
 * @patience: how long to wait for the first item; there is no wait for further ones
 *
 * Context: process; may sleep.
 * Return: how many items were got, at least one; or an error.
 */
noinline int kwq_batch_get_with_extras(struct kwq_handle *handle, const struct kwq_batch *batch,
			      const struct kwq_patience *patience)
{
	static const struct kwq_patience at_once = { .nonblock = true };
	struct got_one one = {};
	u32 i, offset = 0;
	int ret = 0;

	one.buffer.got = &one.got;
	one.buffer.max_items = 1;
	one.buffer.more = &one.more;
	for (i = 0; i < batch->nr; i++) {
		ret = get_one_with_extras(handle, &one, batch->keys_len - offset,
					  i ? &at_once : patience);
		if (ret < 0)
			break;
		ret = copy_got_out(handle, batch, &one, i, offset);
		if (ret)
			break;
		offset += one.more.lacking;
		if (fatal_signal_pending(current)) {
			i++;
			break;
		}
		cond_resched();
	}
	if (one.keys)
		kwq_quota_uncharge_call(handle, kwq_bytes_of_kmalloc(MANY));
	kfree(one.keys);
	return i ?: ret;
}

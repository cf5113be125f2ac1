// SPDX-License-Identifier: GPL-2.0-only
/* What comes with an entry or an item beside its key: its value, note, group and token. */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/uaccess.h>
#include "batch.h"
#include "words.h"

/* Checks bytes that an extra names. */
static int check_bytes(u32 flag, u64 address, u32 len, u32 most)
{
	if (!flag && (address || len))
		return -EINVAL;
	if (len > most)
		return -EMSGSIZE;
	/* The address would be ignored without any bytes. */
	return address && !len ? -EINVAL : 0;
}

/* An extra has nothing that its flag does not announce. */
static int check_extra(const struct kwq_add_extra *extra, u32 flags)
{
	if (!(flags & KWQ_ADD_AT_MOST) != !extra->at_most || extra->pad)
		return -EINVAL;
	if (!(flags & KWQ_ADD_TOKEN) && extra->token)
		return -EINVAL;
	if (!(flags & KWQ_ADD_VALUE) && flags & (KWQ_ADD_KEEP_VALUE | KWQ_SET_JOINS))
		return -EINVAL;
	if (flags & KWQ_SET_JOINS && (!extra->value_len || flags & KWQ_ADD_KEEP_VALUE))
		return -EINVAL;
	return check_bytes(flags & KWQ_ADD_GROUP, extra->group, extra->group_len, KWQ_GROUP_MAX) ?:
	       check_bytes(flags & KWQ_ADD_NOTE, extra->note, extra->note_len, KWQ_NOTE_MAX) ?:
	       check_bytes(flags & KWQ_ADD_VALUE, extra->value, extra->value_len,
			   flags & KWQ_SET_JOINS ? KWQ_SET_MAX : KWQ_VALUE_MAX);
}

static int copy_group_in(struct kwq_extra_in *in)
{
	struct kwq_key *group = &in->extras.group;

	group->bytes = in->group;
	group->len = in->extra.group_len;
	if (!group->len)
		return 0;
	if (kwq_copy_from_user(in->group, u64_to_user_ptr(in->extra.group), group->len))
		return -EFAULT;
	kwq_key_hash(group);
	return 0;
}

/*
 * Copies a value or a note in. Returns -EFAULT if that fails, or sets *@result. Until the entry is
 * carried out, it counts as memory of the call, because the copy may take long.
 */
static int copy_value_in(struct kwq_extra_in *in, struct kwq_value **value, u64 from, u32 len,
			 const struct kwq_handle *handle, s32 *result)
{
	struct kwq_quota *calls;
	u32 bytes;

	if (!len || *result)
		return 0;
	*value = kwq_value_alloc(len);
	if (!*value) {
		*result = -ENOMEM;
		return 0;
	}
	bytes = kwq_value_bytes(*value);
	calls = in->value_bytes ? in->calls : kwq_calls_get(handle);
	if (IS_ERR(calls)) {
		*result = PTR_ERR(calls);
		return 0;
	}
	if (!kwq_quota_charge(calls, bytes)) {
		if (!in->value_bytes)
			kwq_calls_put(handle, calls);
		*result = -EDQUOT;
		return 0;
	}
	in->calls = calls;
	in->value_bytes += bytes;
	return copy_from_user((*value)->bytes, u64_to_user_ptr(from), len) ? -EFAULT : 0;
}

/**
 * kwq_extra_copy_in() - copy in the extra of an entry, and what it names
 * @in: out: the extra; kwq_extra_end() follows in any case
 * @handle: the handle
 * @batch: the batch
 * @i: number of the entry
 * @flags: the flags of the entry that are for its extra
 * @result: in and out: why the entry cannot be carried out, or 0
 *
 * Context: process; may sleep.
 * Return: 0 or an error of kwq_copy_entries_in().
 */
int kwq_extra_copy_in(struct kwq_extra_in *in, const struct kwq_handle *handle,
		      const struct kwq_batch *batch, u32 i, u32 flags, s32 *result)
{
	int err = kwq_copy_entries_in(&in->extra, sizeof(in->extra), 1, batch->extras,
				      batch->extra_size, i);

	if (err)
		return err;
	in->extras.flags = flags;
	in->extras.at_most = in->extra.at_most;
	in->extras.token = in->extra.token;
	if (!*result)
		*result = check_extra(&in->extra, flags);
	if (*result)
		return 0;
	return copy_group_in(in) ?:
	       copy_value_in(in, &in->extras.value, in->extra.value, in->extra.value_len, handle,
			     result) ?:
	       copy_value_in(in, &in->extras.note, in->extra.note, in->extra.note_len, handle,
			     result);
}

/**
 * kwq_extra_end() - free what the entry did not take over
 * @in: the extra
 * @handle: the handle
 */
void kwq_extra_end(struct kwq_extra_in *in, const struct kwq_handle *handle)
{
	kvfree(in->extras.value);
	kvfree(in->extras.note);
	if (in->value_bytes) {
		kwq_quota_uncharge(in->calls, in->value_bytes);
		kwq_calls_put(handle, in->calls);
	}
	in->extras.value = NULL;
	in->extras.note = NULL;
	in->value_bytes = 0;
}

/**
 * kwq_more_copy_out() - copy out what came with an item
 * @more: that
 * @batch: the batch
 * @i: number of the item
 * @to: where its value goes
 *
 * Context: process; may sleep.
 * Return: 0 or -EFAULT.
 */
int kwq_more_copy_out(const struct kwq_got_more *more, const struct kwq_batch *batch, u32 i,
		      void __user *to)
{
	const struct kwq_value *value = more->value;
	const struct kwq_got_extra extra = {
		.value_len = value ? value->len : 0,
		.group_len = more->group_len,
		.token = more->token,
	};
	int err = kwq_copy_entries_out(batch->extras, batch->extra_size, i, &extra, sizeof(extra),
				       1);

	if (!err && value && copy_to_user(to, value->bytes, value->len))
		err = -EFAULT;
	return err;
}

/**
 * kwq_more_end() - give back the value that came with an item
 * @more: what came with it
 */
void kwq_more_end(const struct kwq_got_more *more)
{
	u32 bytes;

	if (!more->value)
		return;
	bytes = kwq_value_bytes(more->value);
	kwq_value_put(more->value);
	kwq_quota_uncharge(more->calls, bytes);
}

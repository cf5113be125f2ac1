// SPDX-License-Identifier: GPL-2.0-only
/*
 * A batch is carried out in chunks. Each chunk passes through a buffer in the kernel. User
 * memory is never accessed under a lock, is read once, and is written before anything
 * depends on it. A chunk that meets a fault is repeated entry by entry, so that all entries
 * before the fault take effect and no later ones do.
 *
 * Entries and items with extras are taken one by one, because the copy of a value outweighs what a
 * common hold would save.
 */
#include <linux/err.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "batch.h"
#include "compat.h"
#include "keyed/hold.h"
#include "words.h"

/*
 * O8: one hold of the lock takes a chunk. The dearest entries are adds with eight limiters: 50,000
 * instructions for 32 of them. The wake-ups of the same hold take 20,000 more.
 */
#define CHUNK_ENTRIES	32
/* With that many entries, results and hashes, the buffer fits into an allocation of 16 KiB. */
#define CHUNK_KEY_BYTES	SZ_8K

/**
 * struct chunk - the kernel's buffer for a part of a batch
 * @calls: the quota that pays for @mem
 * @entries: entries or items
 * @results: their results
 * @hashes: hashes of their keys
 * @keys: their keys
 * @mem: what was allocated; NULL if all of it is a &struct single
 * @max_entries: room in @entries
 * @max_key_bytes: room in @keys
 * @size: bytes of @mem
 */
struct chunk {
	struct kwq_quota *calls;
	void *entries;
	s32 *results;
	u32 *hashes;
	u8 *keys;
	void *mem;
	u32 max_entries;
	u32 max_key_bytes;
	u32 size;
};

/*
 * Charges memory of a chunk and allocates it. Its user may keep it as long as he likes, by memory
 * that is slow (O9). Only adds can be refused.
 */
static int chunk_alloc(struct chunk *chunk, u32 size, const struct kwq_handle *handle, bool adds)
{
	u32 bytes = kwq_bytes_of_kmalloc(size);
	struct kwq_quota *calls = kwq_calls_get(handle);
	int err = -ENOMEM;

	chunk->mem = NULL;
	if (IS_ERR(calls))
		return PTR_ERR(calls);
	if (!adds) {
		kwq_quota_charge_anyway(calls, bytes);
	} else if (!kwq_quota_charge(calls, bytes)) {
		err = -EDQUOT;
		goto put;
	}
	chunk->calls = calls;
	chunk->size = size;
	chunk->mem = kmalloc(size, GFP_KERNEL_ACCOUNT);
	if (chunk->mem)
		return 0;
	kwq_quota_uncharge(calls, bytes);
put:
	kwq_calls_put(handle, calls);
	return err;
}

static int chunk_init(struct chunk *chunk, const struct kwq_batch *batch, u32 max_entries,
		      u32 entry_size, const struct kwq_handle *handle, bool adds)
{
	size_t entries, results, hashes;
	int err;

	chunk->max_entries = min(batch->nr, max_entries);
	chunk->max_key_bytes = min3(batch->keys_len, (u32)CHUNK_KEY_BYTES,
				    chunk->max_entries * (KWQ_KEY_MAX + KWQ_GROUP_MAX));
	entries = chunk->max_entries * entry_size;
	results = chunk->max_entries * sizeof(s32);
	hashes = chunk->max_key_bytes ? chunk->max_entries * sizeof(u32) : 0;
	err = chunk_alloc(chunk, entries + results + hashes + chunk->max_key_bytes, handle, adds);
	if (err)
		return err;
	chunk->entries = chunk->mem;
	chunk->results = chunk->mem + entries;
	chunk->hashes = chunk->mem + entries + results;
	chunk->keys = chunk->mem + entries + results + hashes;
	return 0;
}

static __always_inline void chunk_free(struct chunk *chunk, const struct kwq_handle *handle)
{
	if (!chunk->mem)
		return;
	kfree(chunk->mem);
	kwq_quota_uncharge(chunk->calls, kwq_bytes_of_kmalloc(chunk->size));
	kwq_calls_put(handle, chunk->calls);
}

/**
 * struct single - a chunk for one entry or item with a short key, on the stack
 * @entry: the entry or item
 * @key: its key, and the name of its group
 * @result: its result
 * @hash: hash of the key
 *
 * It needs no allocation, which would dominate the cost of most requests.
 */
struct single {
	u64 entry[8];
	u64 key[KWQ_SHORT_KEY_MAX / sizeof(u64)];
	s32 result;
	u32 hash;
};

static __always_inline void chunk_init_single(struct chunk *chunk, struct single *single)
{
	BUILD_BUG_ON(sizeof(struct kwq_restore_entry) > sizeof(single->entry));
	chunk->entries = single->entry;
	chunk->results = &single->result;
	chunk->hashes = &single->hash;
	chunk->keys = (u8 *)single->key;
	chunk->mem = NULL;
	chunk->max_entries = 1;
	chunk->max_key_bytes = KWQ_SHORT_KEY_MAX;
}

static const struct kwq_patience dont_wait = { .nonblock = true };

static const void *entry_at(const struct kwq_batch_kind *kind,
			    const struct chunk *chunk, u32 i)
{
	return chunk->entries + i * kind->size;
}

static u32 key_len(const struct kwq_batch_kind *kind, const struct chunk *chunk, u32 i)
{
	return *(const u32 *)(entry_at(kind, chunk, i) + kind->key_len_at);
}

/* Moves @key on to the key of entry @i. Call it for each entry in turn. */
static void next_key(struct kwq_key *key, const struct chunk *chunk, u32 i, u32 len)
{
	key->bytes += key->len;
	key->len = len;
	if (len)
		key->hash = chunk->hashes[i];
}

/**
 * struct run - entries that are carried out
 * @handle: the handle
 * @chunk: the entries, and their results
 * @key: the key of the next entry
 * @stock: memory for new items
 * @at: number of the next entry
 * @nr: number of entries
 *
 * Only functions that are inlined get its address. So it stays in registers, and the loops of a
 * single entry go.
 */
struct run {
	struct kwq_handle *handle;
	struct chunk *chunk;
	struct kwq_key *key;
	struct kwq_stock *stock;
	u32 at;
	u32 nr;
};

static __always_inline void end_entry(struct run *run, const struct kwq_batch_kind *kind,
				      s32 result)
{
	u32 at = run->at;

	run->chunk->results[at++] = result;
	run->at = at;
	if (at < run->nr)
		next_key(run->key, run->chunk, at, key_len(kind, run->chunk, at));
}

/*
 * Carries out entries in one hold of the lock. It stops at one that lacks memory for a new item.
 * With @wait, it sleeps at one that lacks room (Q19), but only if that is the first: what the
 * others left for the unlock must not wait as well. It stops there if @wait is over. A single entry
 * may have @extras.
 */
static __always_inline void execute_under_lock(struct run *run, const struct kwq_batch_kind *kind,
					       struct kwq_extras *extras,
					       struct kwq_room_wait *wait)
{
	struct kwq_handle *handle = run->handle;
	struct kwq_keyed *keyed = handle->keyed;
	const u32 first = run->at;
	unsigned long flags;
	ktime_t now;
	int ret;

	now = kwq_keyed_begin(keyed, &flags);
	while (run->at < run->nr) {
		ret = kind->execute(handle, entry_at(kind, run->chunk, run->at), extras, run->key,
				    now, run->stock);
		if ((kind->makes_items || extras) && ret == -EAGAIN)
			break;
		if (wait && kwq_keyed_may_find_room(run->stock, ret)) {
			if (run->at > first)
				break;
			wait->err = kwq_keyed_wait_for_room_locked(keyed, run->key, extras,
								   run->stock, wait, &flags);
			if (!wait->err) {
				now = kwq_stamp_locked(&keyed->queue);
				continue;
			}
			run->chunk->results[run->at] = ret;
			break;
		}
		if (wait)
			kwq_leave_room_locked(keyed, wait);
		end_entry(run, kind, ret);
	}
	kwq_keyed_unlock(keyed, flags);
}

/*
 * New keys need new items, which cannot be allocated under the lock. But only under the
 * lock is it known how many keys are new. So the stock is filled by a guess, and the rest
 * is freed. Returns how many entries were carried out: all, unless @wait was over before.
 */
static __always_inline u32 execute_entries(struct kwq_handle *handle,
					   const struct kwq_batch_kind *kind, struct chunk *chunk,
					   u32 nr, struct kwq_extras *extras,
					   struct kwq_room_wait *wait)
{
	struct kwq_keyed *keyed = handle->keyed;
	struct kwq_key key = { .bytes = chunk->keys };
	struct kwq_stock stock __uninitialized;
	struct run run = { .handle = handle, .chunk = chunk, .key = &key, .stock = &stock,
			   .nr = nr };
	int err;

	next_key(&key, chunk, 0, key_len(kind, chunk, 0));
	/* Other entries leave it alone. */
	if (kind->makes_items || extras)
		kwq_stock_init(&stock);
	if (kind->makes_items)
		kwq_stock_begin(&stock, keyed, &key, extras, nr);
	for (;;) {
		execute_under_lock(&run, kind, extras, wait);
		if (run.at == nr || (wait && wait->err))
			break;
		err = kwq_stock_fill_or_wait(&stock, keyed, &key, extras, nr - run.at, wait);
		if (wait && wait->err) {
			chunk->results[run.at] = err;
			break;
		}
		if (err) {
			end_entry(&run, kind, err);
			if (run.at == nr)
				break;
		}
	}
	if (kind->makes_items || extras)
		kwq_stock_empty(&stock, keyed);
	return run.at;
}

/* @extra_size: size of an extra; 0 if the request has none. */
static noinline int check_extras(const struct kwq_batch *batch, u32 extra_size)
{
	if (!batch->extras || !extra_size)
		return -EINVAL;
	return batch->extra_size < extra_size || batch->extra_size > PAGE_SIZE ? -EINVAL : 0;
}

/**
 * kwq_batch_check() - check the form of a batch
 * @batch: the batch; absent batches are valid
 * @entry_size: size of an entry
 * @extra_size: size of an extra; 0 if the request has none
 * @has_results: true if the request writes a result for each entry
 *
 * Return: 0, -EINVAL or -EMSGSIZE.
 */
int kwq_batch_check(const struct kwq_batch *batch, u32 entry_size, u32 extra_size,
		    bool has_results)
{
	if (!has_results && batch->results)
		return -EINVAL;
	if (!batch->nr)
		return batch->entries | batch->keys | batch->results | batch->extras |
		       batch->keys_len | batch->entry_size | batch->extra_size ? -EINVAL : 0;
	if (batch->nr > KWQ_BATCH_MAX)
		return -EMSGSIZE;
	if (batch->entry_size < entry_size || batch->entry_size > PAGE_SIZE)
		return -EINVAL;
	if (unlikely(batch->extras | batch->extra_size) && check_extras(batch, extra_size))
		return -EINVAL;
	/* The address would be ignored without any bytes. */
	if (batch->keys && !batch->keys_len)
		return -EINVAL;
	return 0;
}

/**
 * kwq_copy_resized_in() - kwq_copy_entries_in() of entries that have another size there
 * @entries: destination
 * @size: size of one of them
 * @nr: their number
 * @from: the first of them there
 * @size_there: size of an entry there
 *
 * Context: process; may sleep.
 * Return: as kwq_copy_entries_in().
 */
noinline int kwq_copy_resized_in(void *entries, size_t size, u32 nr, const void __user *from,
				 u32 size_there)
{
	int err = 0;

	for (; nr && !err; nr--, entries += size, from += size_there)
		err = copy_struct_from_user(entries, size, from, size_there);
	return err;
}

/* Checks the length of an entry's key before the key is read. @offset: bytes of the keys before. */
static int check_key(const struct kwq_batch *batch, u64 offset, u32 len)
{
	if (!len)
		return 0;
	if (len > KWQ_KEY_MAX)
		return -EMSGSIZE;
	return offset + len > batch->keys_len ? -EINVAL : 0;
}

/**
 * struct cursor - position in a batch
 * @taken: number of entries taken
 * @key_offset: bytes of keys used by these entries; may be beyond the end
 */
struct cursor {
	u32 taken;
	u64 key_offset;
};

/*
 * Returns how many of @nr keys can be read at once. They have to fit into the chunk. They end
 * before the first bad one, which gets a chunk of its own.
 */
static __always_inline u32 plan_keys(const struct kwq_batch_kind *kind, const struct chunk *chunk,
				     const struct kwq_batch *batch, const struct cursor *at,
				     u32 nr, u32 *bytes)
{
	/* The offset may be beyond the end. */
	u32 rest = batch->keys_len - min_t(u64, batch->keys_len, at->key_offset);
	u32 room = min(rest, chunk->max_key_bytes), used = 0, i, len;

	for (i = 0; i < nr; i++) {
		len = key_len(kind, chunk, i);
		if (len > KWQ_KEY_MAX || len > room - used)
			break;
		used += len;
	}
	*bytes = used;
	return i;
}

static __always_inline void hash_keys(const struct kwq_batch_kind *kind,
				      const struct chunk *chunk, u32 nr)
{
	struct kwq_key key = { .bytes = chunk->keys };
	u32 i;

	for (i = 0; i < nr; i++) {
		key.len = key_len(kind, chunk, i);
		if (!key.len)
			continue;
		kwq_key_hash(&key);
		chunk->hashes[i] = key.hash;
		key.bytes += key.len;
	}
}

/*
 * Takes up to @nr entries: copies them and their keys in, carries them out, and copies their
 * results out. Most callers pass constants for @nr, @extra and @wait (1, NULL, NULL), so the
 * compiler drops what only the others need.
 */
static __always_inline int take_some(struct kwq_handle *handle, const struct kwq_batch_kind *kind,
				     const struct kwq_batch *batch, struct cursor *at,
				     struct chunk *chunk, u32 nr, struct kwq_extra_in *extra,
				     struct kwq_room_wait *wait)
{
	s32 __user *results = u64_to_user_ptr(batch->results) + at->taken * sizeof(s32);
	const bool alone = __builtin_constant_p(nr) && nr == 1;
	u32 bytes, taken = 1, i;
	s32 bad = 0;
	int err;

	err = kwq_copy_entries_in(chunk->entries, kind->size, nr, batch->entries,
				  batch->entry_size, at->taken);
	if (err)
		return err;
	nr = plan_keys(kind, chunk, batch, at, nr, &bytes);
	if (!nr) {
		bytes = key_len(kind, chunk, 0);
		bad = check_key(batch, at->key_offset, bytes);
	}
	if (alone || !nr)
		nr = 1;
	if (extra) {
		err = kwq_extra_copy_in(extra, handle, batch, at->taken,
					kind->extra_flags(chunk->entries), &bad);
		if (err)
			return err;
	}
	if (bytes && !bad) {
		if (kwq_copy_from_user(chunk->keys, u64_to_user_ptr(batch->keys) + at->key_offset,
				       bytes))
			return -EFAULT;
		hash_keys(kind, chunk, nr);
	}
	for (i = 0; i < nr; i++)
		chunk->results[i] = KWQ_RESULT_UNKNOWN;
	if (kwq_copy_to_user(results, chunk->results, nr * sizeof(s32)))
		return -EFAULT;
	/* After the end of a wait it is not used any more. */
	at->key_offset += bytes;
	if (bad)
		*chunk->results = bad;
	else
		taken = execute_entries(handle, kind, chunk, nr, extra ? &extra->extras : NULL,
					wait);
	/* They were taken, even if their results cannot be written any more. */
	at->taken += taken;
	err = kwq_copy_to_user(results, chunk->results, nr * sizeof(s32));
	return wait && wait->err ? wait->err : err;
}

/* Takes all entries. With @extra they go one by one. */
static __always_inline int take_all(struct kwq_handle *handle, const struct kwq_batch_kind *kind,
				    const struct kwq_batch *batch, u32 *taken,
				    struct chunk *chunk, struct kwq_extra_in *extra,
				    struct kwq_room_wait *wait)
{
	u32 most = chunk->max_entries, before;
	struct cursor at = {};
	int err = 0;

	while (at.taken < batch->nr) {
		before = at.taken;
		if (extra)
			err = take_some(handle, kind, batch, &at, chunk, 1, extra, wait);
		else
			err = take_some(handle, kind, batch, &at, chunk,
					min(most, batch->nr - at.taken), NULL, wait);
		if (extra)
			kwq_extra_end(extra, handle);
		/*
		 * Single entries meet the fault as well, or the last results could not be
		 * written, or a wait is over.
		 */
		if (err && (most == 1 || at.taken != before || (wait && wait->err)))
			break;
		if (err)
			most = 1;
		if (fatal_signal_pending(current)) {
			err = -EINTR;
			break;
		}
		cond_resched();
	}
	*taken = at.taken;
	chunk_free(chunk, handle);
	return at.taken < batch->nr ? err : 0;
}

static noinline int execute_with_extras(struct kwq_handle *handle,
					const struct kwq_batch_kind *kind,
					const struct kwq_batch *batch, u32 *taken,
					struct kwq_room_wait *wait)
{
	struct kwq_extra_in extra __uninitialized;
	struct single single __uninitialized;
	struct chunk chunk __uninitialized;
	int err = 0;

	extra.extras.value = NULL;
	extra.extras.note = NULL;
	extra.value_bytes = 0;
	if (batch->keys_len <= KWQ_SHORT_KEY_MAX)
		chunk_init_single(&chunk, &single);
	else
		err = chunk_init(&chunk, batch, 1, kind->size, handle, kind->makes_items);
	return err ?: take_all(handle, kind, batch, taken, &chunk, &extra, wait);
}

static __always_inline int execute_many(struct kwq_handle *handle,
					const struct kwq_batch_kind *kind,
					const struct kwq_batch *batch, u32 *taken,
					struct kwq_room_wait *wait)
{
	struct chunk chunk;
	int err = chunk_init(&chunk, batch, CHUNK_ENTRIES, kind->size, handle, kind->makes_items);

	return err ?: take_all(handle, kind, batch, taken, &chunk, NULL, wait);
}

/*
 * The most frequent kinds have their own specialised loops. A clone with fewer arguments would not
 * be flattened.
 */
static noinline __noclone __flatten int add_many(struct kwq_handle *handle,
						 const struct kwq_batch *batch, u32 *taken)
{
	return execute_many(handle, &kwq_batch_add, batch, taken, NULL);
}

static noinline __noclone __flatten int finish_many(struct kwq_handle *handle,
						    const struct kwq_batch *batch, u32 *taken)
{
	return execute_many(handle, &kwq_batch_done, batch, taken, NULL);
}

static noinline int execute_any(struct kwq_handle *handle, const struct kwq_batch_kind *kind,
				const struct kwq_batch *batch, u32 *taken,
				struct kwq_room_wait *wait)
{
	return execute_many(handle, kind, batch, taken, wait);
}

static __always_inline int execute(struct kwq_handle *handle, const struct kwq_batch_kind *kind,
				   const struct kwq_batch *batch, u32 *taken,
				   struct kwq_room_wait *wait)
{
	struct single single __uninitialized;
	struct chunk chunk __uninitialized;
	struct cursor at = {};
	int err;

	*taken = 0;
	if (unlikely(batch->extras))
		return execute_with_extras(handle, kind, batch, taken, wait);
	if (batch->nr == 1 && batch->keys_len <= KWQ_SHORT_KEY_MAX) {
		chunk_init_single(&chunk, &single);
		err = take_some(handle, kind, batch, &at, &chunk, 1, NULL, wait);
		*taken = at.taken;
		return at.taken ? 0 : err;
	}
	if (kind == &kwq_batch_add && !wait)
		return add_many(handle, batch, taken);
	if (kind == &kwq_batch_done)
		return finish_many(handle, batch, taken);
	return execute_any(handle, kind, batch, taken, wait);
}

/**
 * kwq_batch_execute() - carry out the entries of a batch
 * @handle: the handle
 * @kind: kind of its entries
 * @batch: the batch, checked
 * @taken: out: how many entries were taken, from the first on
 *
 * Context: process; may sleep.
 * Return: 0 if all were taken; else the error that stopped at the next entry.
 */
int kwq_batch_execute(struct kwq_handle *handle, const struct kwq_batch_kind *kind,
		      const struct kwq_batch *batch, u32 *taken)
{
	return execute(handle, kind, batch, taken, NULL);
}

/**
 * kwq_batch_add_waiting() - carry out a batch of adds that may wait for room (Q19)
 * @handle: the handle
 * @batch: the batch, checked
 * @patience: how long to wait
 * @taken: out: how many entries were taken, from the first on
 *
 * If the wait is over, the result of the next entry is -ENOSPC or -EDQUOT, and that entry
 * does not count as taken.
 *
 * Context: process; sleeps.
 * Return: as kwq_batch_execute(). If the wait is over, the error of
 * kwq_keyed_wait_for_room_locked().
 */
noinline int kwq_batch_add_waiting(struct kwq_handle *handle, const struct kwq_batch *batch,
				   const struct kwq_patience *patience, u32 *taken)
{
	struct kwq_room_wait wait = { .patience = *patience, .handle = handle };

	return execute(handle, &kwq_batch_add, batch, taken, &wait);
}

/**
 * kwq_copy_resized_out() - kwq_copy_entries_out() of entries that have another size there
 * @to: where the first of them goes
 * @size_there: size of an entry there
 * @entries: the entries
 * @size: size of one of them
 * @nr: their number
 *
 * Context: process; may sleep.
 * Return: 0 or -EFAULT.
 */
noinline int kwq_copy_resized_out(void __user *to, u32 size_there, const void *entries, size_t size,
				  u32 nr)
{
	size_t common = min_t(size_t, size_there, size);
	u32 i;

	for (i = 0; i < nr; i++, to += size_there, entries += size)
		if (copy_to_user(to, entries, common) ||
		    clear_user(to + common, size_there - common))
			return -EFAULT;
	return 0;
}

/**
 * kwq_batch_prepare_paired_done() - read a done that can share a hold of the lock with a get
 * @done: a batch of dones, checked
 * @get: the batch for items that are got after it, checked
 * @paired: out: the done, for kwq_batch_get()
 *
 * A worker that finishes one item and wants another one asks for this.
 *
 * Return: how many entries were taken: 1, or 0 if @done has to go through kwq_batch_execute();
 * -EFAULT.
 */
int kwq_batch_prepare_paired_done(const struct kwq_batch *done, const struct kwq_batch *get,
				  struct kwq_paired_done *paired)
{
	struct kwq_done_entry entry;

	if (done->nr != 1 || done->keys_len || done->entry_size != sizeof(entry) || !get->nr ||
	    get->extras)
		return 0;
	if (kwq_copy_from_user(&entry, u64_to_user_ptr(done->entries), sizeof(entry)))
		return -EFAULT;
	if (unlikely(kwq_is_settling(&entry)))
		return 0;
	paired->present = true;
	paired->result = u64_to_user_ptr(done->results);
	if (kwq_put_user(KWQ_RESULT_UNKNOWN, paired->result))
		return -EFAULT;
	paired->ticket = entry.ticket;
	paired->flags = entry.flags;
	paired->err = check_key(done, 0, entry.key_len);
	if (!paired->err && !entry.ticket == !entry.key_len)
		paired->err = -EINVAL;
	return 1;
}

/* Finishes that item and gets a ready one. Returns 0 if there seems to be none. */
static int finish_and_get(struct kwq_handle *handle, const struct kwq_paired_done *paired,
			  struct kwq_got_buffer *buffer)
{
	s32 result = paired->err;
	int ret = 0;

	if (!result)
		ret = kwq_handle_done_and_get(handle, paired->ticket, paired->flags, &result,
					      buffer);
	/* The entry was taken, even if its result cannot be written any more. */
	kwq_put_user(result, paired->result);
	return ret;
}

/* Copies @nr items out, with @more of a single one. If that fails, they go back (O2). */
static __always_inline int copy_got_out(struct kwq_handle *handle, const struct kwq_batch *batch,
					const struct cursor *at,
					const struct kwq_got_buffer *buffer, u32 nr,
					struct kwq_got_more *more)
{
	u8 __user *keys = u64_to_user_ptr(batch->keys) + at->key_offset;
	/* The name of the group is behind the key already. */
	u32 len = buffer->keys_len + (more ? more->group_len : 0);
	int err;

	err = kwq_copy_entries_out(batch->entries, batch->entry_size, at->taken, buffer->got,
				   sizeof(*buffer->got), nr) ?:
	      kwq_copy_to_user(keys, buffer->keys, len);
	if (more) {
		err = err ?: kwq_more_copy_out(more, batch, at->taken, keys + len);
		kwq_more_end(more);
	}
	if (err)
		kwq_handle_unget(handle, buffer->got, nr);
	return err;
}

/*
 * Gets the next item with room for any key and group that fit into the batch, since there was one
 * that is not short, and copies it out. Without memory it gets without room for any key, so that
 * another getter gets the wake-up. The arguments are copies, so that those of most gets stay in
 * registers.
 */
static noinline int get_long(struct kwq_handle *handle, const struct kwq_batch *batch,
			     struct cursor at, struct kwq_got *got, struct kwq_got_more *more,
			     const struct kwq_patience *patience)
{
	u32 room = batch->keys_len - at.key_offset;
	u32 most = more ? KWQ_KEY_MAX + KWQ_GROUP_MAX : KWQ_KEY_MAX;
	struct kwq_got_buffer buffer = { .got = got, .more = more, .max_items = 1 };
	struct chunk chunk;
	int ret;

	if (!chunk_alloc(&chunk, min(room, most), handle, false)) {
		buffer.keys = chunk.mem;
		buffer.max_key_bytes = chunk.size;
	}
	ret = kwq_handle_get(handle, &buffer, patience);
	if (ret == -EMSGSIZE && !chunk.mem && buffer.lacking <= room)
		ret = -ENOMEM;
	else if (ret > 0)
		ret = copy_got_out(handle, batch, &at, &buffer, 1, more);
	chunk_free(&chunk, handle);
	return ret;
}

/* Gets up to @nr items and copies them out, with @more of a single one. */
static __always_inline int get_some(struct kwq_handle *handle, const struct kwq_batch *batch,
				    struct cursor *at, struct chunk *chunk, u32 nr,
				    struct kwq_got_more *more, const struct kwq_patience *patience,
				    const struct kwq_paired_done *paired)
{
	u32 room = batch->keys_len - at->key_offset;
	struct kwq_got_buffer buffer = {
		.got = chunk->entries,
		.more = more,
		.keys = chunk->keys,
		.max_items = nr,
		.max_key_bytes = min(chunk->max_key_bytes, room),
		.longest = chunk->mem ? 0 : room,
	};
	int ret = 0, err;

	if (more)
		more->max_bytes = room;
	if (paired)
		ret = finish_and_get(handle, paired, &buffer);
	if (!ret)
		ret = kwq_handle_get(handle, &buffer, patience);
	if (kwq_wants_more_room(&buffer, ret)) {
		err = get_long(handle, batch, *at, buffer.got, more, patience);
		buffer.keys_len = buffer.got->key_len;
		ret = 1;
	} else {
		if (ret < 0)
			return ret;
		if (__builtin_constant_p(nr))
			ret = nr;
		err = copy_got_out(handle, batch, at, &buffer, ret, more);
	}
	if (err)
		return err;
	at->taken += ret;
	at->key_offset += more ? more->lacking : buffer.keys_len;
	return 0;
}

static noinline int get_with_extras(struct kwq_handle *handle, const struct kwq_batch *batch,
				    const struct kwq_patience *patience)
{
	struct kwq_got_more more __uninitialized;
	struct single single __uninitialized;
	struct chunk chunk __uninitialized;
	struct cursor at = {};
	int err;

	more.calls = kwq_calls_get(handle);
	if (IS_ERR(more.calls))
		return PTR_ERR(more.calls);
	chunk_init_single(&chunk, &single);
	do {
		err = get_some(handle, batch, &at, &chunk, 1, &more,
			       at.taken ? &dont_wait : patience, NULL);
		cond_resched();
	} while (!err && at.taken < batch->nr && !fatal_signal_pending(current));
	kwq_calls_put(handle, more.calls);
	return at.taken ?: err;
}

/* Gets further items that are there. Returns how many were got, with those before @at. */
static noinline int get_rest(struct kwq_handle *handle, const struct kwq_batch *batch,
			     struct cursor at)
{
	struct chunk chunk;
	u32 most;
	int err;

	if (chunk_init(&chunk, batch, CHUNK_ENTRIES, sizeof(struct kwq_got), handle, false))
		return at.taken;
	most = chunk.max_entries;
	while (at.taken < batch->nr) {
		err = get_some(handle, batch, &at, &chunk, min(most, batch->nr - at.taken), NULL,
			       &dont_wait, NULL);
		if (err == -EFAULT && most > 1)
			most = 1;
		else if (err || fatal_signal_pending(current))
			break;
		cond_resched();
	}
	chunk_free(&chunk, handle);
	return at.taken;
}

/**
 * kwq_batch_get() - get items into a batch (Q5, Q13)
 * @handle: the handle
 * @batch: the batch, checked
 * @patience: how long to wait for the first item; there is no wait for further ones
 * @paired: a done of kwq_batch_prepare_paired_done(), carried out first; or NULL
 *
 * Context: process; may sleep.
 * Return: how many items were got, at least one; or an error.
 */
int kwq_batch_get(struct kwq_handle *handle, const struct kwq_batch *batch,
		  const struct kwq_patience *patience, const struct kwq_paired_done *paired)
{
	struct single single __uninitialized;
	struct chunk chunk __uninitialized;
	struct cursor at = {};
	int err;

	if (unlikely(batch->extras))
		return get_with_extras(handle, batch, patience);
	chunk_init_single(&chunk, &single);
	err = get_some(handle, batch, &at, &chunk, 1, NULL, patience, paired);
	if (err)
		return err;
	return likely(batch->nr == 1) ? 1 : get_rest(handle, batch, at);
}

/*
 * A list of few items among many returns after so many holds of the lock, even without an item.
 * So a signal need not be fatal to stop it.
 */
#define HOLDS_PER_LIST	256

/*
 * A hold lists so many bytes of keys, groups, values and notes at most: any one item, or many small
 * ones. The allocator may round the values up to the double.
 */
#define VALUES_PER_HOLD		(KWQ_VALUE_MAX + KWQ_NOTE_MAX + KWQ_KEY_MAX + KWQ_GROUP_MAX)
#define VALUE_BYTES_PER_HOLD	(2 * VALUES_PER_HOLD)

/* Copies out the keys that one hold has listed, each with its group, value and note behind it. */
static int copy_keys_and_values(const struct kwq_batch *batch, u64 offset,
				const struct kwq_list_buffer *buffer)
{
	u8 __user *to = u64_to_user_ptr(batch->keys) + offset;
	const u8 *key = buffer->keys;
	struct kwq_value *const *slots = buffer->values;
	u32 i, len, slot;

	for (i = 0; i < buffer->fill.nr; i++, slots += KWQ_SLOTS) {
		len = buffer->entries[i].key_len + buffer->entries[i].group_len;
		if (copy_to_user(to, key, len))
			return -EFAULT;
		key += len;
		to += len;
		for (slot = 0; slot < KWQ_SLOTS; slot++) {
			if (!slots[slot])
				continue;
			if (copy_to_user(to, slots[slot]->bytes, slots[slot]->len))
				return -EFAULT;
			to += slots[slot]->len;
		}
	}
	return 0;
}

/* Copies out what one hold of the lock has listed. */
static int copy_listed(const struct kwq_batch *batch, struct cursor *at,
		       const struct kwq_list_buffer *buffer)
{
	const struct kwq_list_fill *fill = &buffer->fill;
	int err;

	err = kwq_copy_entries_out(batch->entries, batch->entry_size, at->taken, buffer->entries,
				   sizeof(*buffer->entries), fill->nr);
	if (err)
		return err;
	if (fill->bytes != fill->keys_len)
		err = copy_keys_and_values(batch, at->key_offset, buffer);
	else if (copy_to_user(u64_to_user_ptr(batch->keys) + at->key_offset, buffer->keys,
			      fill->keys_len))
		err = -EFAULT;
	at->taken += fill->nr;
	at->key_offset += fill->bytes;
	return err;
}

static void put_values(const struct kwq_list_buffer *buffer)
{
	u32 i;

	for (i = 0; i < buffer->fill.nr * KWQ_SLOTS; i++)
		if (buffer->values[i])
			kwq_value_put(buffer->values[i]);
}

/**
 * kwq_batch_list_items() - list items into a batch (Q15)
 * @handle: the handle
 * @batch: the batch, checked
 * @request: which items
 *
 * Context: process; may sleep.
 * Return: how many were listed; -EDQUOT, -EFAULT, -EMSGSIZE, -ENOENT, -ENOMEM, -EINTR.
 */
int kwq_batch_list_items(struct kwq_handle *handle, const struct kwq_batch *batch,
			 struct kwq_list_request *request)
{
	struct kwq_value *values[CHUNK_ENTRIES * KWQ_SLOTS];
	struct kwq_list_buffer buffer;
	struct cursor at = {};
	struct chunk chunk;
	u32 most = batch->keys_len;
	int holds = 0, ret;

	ret = chunk_init(&chunk, batch, CHUNK_ENTRIES, sizeof(struct kwq_listed), handle, false);
	if (ret)
		return ret;
	if (request->slots) {
		most = min_t(u32, most, VALUES_PER_HOLD);
		if (!kwq_quota_charge(chunk.calls, VALUE_BYTES_PER_HOLD)) {
			chunk_free(&chunk, handle);
			return -EDQUOT;
		}
	}
	buffer.entries = chunk.entries;
	buffer.values = values;
	buffer.keys = chunk.keys;
	buffer.max_key_bytes = chunk.max_key_bytes;
	do {
		buffer.max_items = min(chunk.max_entries, batch->nr - at.taken);
		buffer.max_bytes = min_t(u64, most, batch->keys_len - at.key_offset);
		ret = kwq_keyed_list(handle->keyed, request, &buffer) ?:
		      copy_listed(batch, &at, &buffer);
		put_values(&buffer);
		if (!ret && fatal_signal_pending(current))
			ret = -EINTR;
		cond_resched();
	} while (!ret && request->at && at.taken < batch->nr && ++holds < HOLDS_PER_LIST);
	if (request->slots)
		kwq_quota_uncharge(chunk.calls, VALUE_BYTES_PER_HOLD);
	chunk_free(&chunk, handle);
	/* Items that did not fit are for the next call. */
	if (ret && !(at.taken && ret == -EMSGSIZE))
		return ret;
	return at.taken;
}

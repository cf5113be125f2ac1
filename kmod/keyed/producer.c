// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drivers that add keys (K12): see kwq_keys.h.
 *
 * An add from a context that may do nothing has two ways. If it gets the lock at once, and the key
 * is ready, it coalesces. Otherwise it is written into a ring, and a worker carries it out.
 *
 * The ring is a piece of memory that was allocated and charged when the queue was taken, so it is
 * its own limit. It has many writers, any of which an NMI may interrupt, and one reader. @head
 * counts the bytes that writers have reserved, and @tail those that the worker has taken:
 *
 *   writer				worker
 *   read @tail, then @head		while the record at @tail is ready:
 *   move @head beyond the record		carry it out
 *   write the record				clear its bytes
 *   mark it as ready				move @tail beyond it
 *   unless @is_called was set: call
 *   the worker
 *
 * Bytes between @head and @tail are 0 until they are written. So the worker stops at a record that
 * an interrupted writer has reserved, and is called once that is ready. A record that does not fit
 * into the end of the ring has a padding before it, which is reserved with it in one step.
 *
 * The worker clears @is_called before it looks, and a writer sets it after it has marked its record.
 * So one of the two sees the other.
 */
#include <linux/err.h>
#include <linux/irq_work.h>
#include <linux/memcontrol.h>
#include <linux/preempt.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include "compat.h"
#include "keyed.h"

/* With keys of 16 bytes that is room for 2,048 adds. */
#define RING_BYTES	SZ_64K

/* An add that is posted. Behind the key are its options, the group's name and the value. */
struct record {
	u32 size;
	u32 hash;
	u16 key_len;
	bool has_options;
	u8 bytes[];
};

/* Bits of @size of a record, which is a multiple of 8. */
#define IS_READY	BIT(0)
#define IS_PADDING	BIT(1)

/**
 * struct kwq_key_queue - the queue of a program, held by a driver
 * @handle: with the rights and the quotas of who gave it; not among &kwq_keyed.nr_handles
 * @memcg: the memory cgroup of who gave it; NULL for none
 * @ring: RING_BYTES of records
 * @head: bytes that were reserved so far
 * @tail: bytes that were taken so far; written by the worker
 * @is_called: the worker will look at all that is ready now
 * @call: queues @work, from a context that may not do so itself
 * @work: carries out what is posted
 */
struct kwq_key_queue {
	struct kwq_handle *handle;
	struct mem_cgroup *memcg;
	void *ring;
	unsigned long head;
	unsigned long tail;
	bool is_called;
	struct irq_work call;
	struct work_struct work;
};

static struct record *record_at(struct kwq_key_queue *keys, unsigned long at)
{
	return keys->ring + at % RING_BYTES;
}

/* Returns NULL if the ring is full. */
static struct record *reserve(struct kwq_key_queue *keys, u32 size)
{
	unsigned long head, tail, left;
	u32 padding;

	do {
		/* Pairs with the release of take(). In this order, @tail is never beyond @head. */
		tail = smp_load_acquire(&keys->tail);
		head = READ_ONCE(keys->head);
		left = RING_BYTES - head % RING_BYTES;
		padding = size > left ? left : 0;
		if (head - tail + padding + size > RING_BYTES)
			return NULL;
	} while (cmpxchg(&keys->head, head, head + padding + size) != head);
	if (padding)
		smp_store_release(&record_at(keys, head)->size, padding | IS_READY | IS_PADDING);
	return record_at(keys, head + padding);
}

/* The worker may use the record from now on. */
static void commit(struct kwq_key_queue *keys, struct record *record, u32 size)
{
	smp_store_release(&record->size, size | IS_READY);
	/* Fully ordered after it. */
	if (!xchg(&keys->is_called, true))
		irq_work_queue(&keys->call);
}

/* Gives the bytes of the first record back. */
static void take(struct kwq_key_queue *keys, struct record *record, u32 size)
{
	memset(record, 0, size);
	smp_store_release(&keys->tail, keys->tail + size);
}

static struct kwq_key_options *options_of(struct record *record)
{
	return (void *)PTR_ALIGN(record->bytes + record->key_len,
				 __alignof__(struct kwq_key_options));
}

static int post(struct kwq_key_queue *keys, const struct kwq_key *key,
		const struct kwq_key_options *options)
{
	u32 size = ALIGN(struct_size_t(struct record, bytes, key->len), 8), at = size;
	u32 more = options ? options->group_len + options->value_len : 0;
	struct kwq_key_options *to;
	struct record *record;

	if (key->len + more > KWQ_POSTED_BYTES_MAX)
		return -EMSGSIZE;
	if (options)
		size += ALIGN(sizeof(*options) + more, 8);
	record = reserve(keys, size);
	if (!record)
		return -ENOBUFS;
	record->hash = key->hash;
	record->key_len = key->len;
	record->has_options = options;
	memcpy(record->bytes, key->bytes, key->len);
	if (options) {
		to = (void *)record + at;
		*to = *options;
		memcpy(to + 1, options->group, options->group_len);
		memcpy((void *)(to + 1) + options->group_len, options->value, options->value_len);
	}
	commit(keys, record, size);
	return KWQ_POSTED;
}

/* Coalesces with a key that is ready. Returns 0 if the add has to be posted. */
static int try_coalesce(struct kwq_keyed *keyed, const struct kwq_key *key)
{
	struct kwq_keyed_item *ki;
	unsigned long flags;
	int ret = 0;

	/* Its spinlock_t is a mutex, of which not even a trylock is allowed everywhere. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && !preemptible())
		return 0;
	if (!spin_trylock_irqsave(&keyed->queue.lock, flags))
		return 0;
	ki = kwq_keyed_find(keyed, key);
	if (ki && ki->item.state & KWQ_ITEM_DIRTY) {
		ret = kwq_core_coalesce(&keyed->queue.core, &ki->item);
		ki->is_added = true;
	}
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
	return ret;
}

/* The flags that kwq_check_add() does not know. */
#define EXTRA_FLAGS	(KWQ_ADD_VALUE | KWQ_ADD_KEEP_VALUE | KWQ_ADD_GROUP)

static struct kwq_add_options add_options_of(const struct kwq_key_options *options)
{
	return (struct kwq_add_options) {
		.flags = options->flags & ~EXTRA_FLAGS,
		.priority = options->priority,
		.time = options->time,
		.at_most = options->at_most,
	};
}

static int check_options(const struct kwq_key_options *options)
{
	struct kwq_add_options checked = add_options_of(options);
	bool has_value = options->flags & KWQ_ADD_VALUE;

	if (!(options->flags & KWQ_ADD_GROUP) && options->group_len)
		return -EINVAL;
	if (!has_value && (options->value_len || options->is_set ||
			   options->flags & KWQ_ADD_KEEP_VALUE))
		return -EINVAL;
	if (options->value_len > KWQ_VALUE_MAX)
		return -EMSGSIZE;
	return kwq_check_add(&checked);
}

/*
 * The bits of the value that an item has. They may be those of a run that will fail, so they stay
 * until the item is done.
 */
static void join_sets(struct kwq_keyed *keyed, const struct kwq_key *key, struct kwq_value *value)
{
	struct kwq_keyed_item *ki = kwq_keyed_find(keyed, key);
	const struct kwq_value *old;
	u32 i;

	if (!ki || kwq_item_is_idle(&ki->item) || !keyed->limits.values)
		return;
	old = kwq_value_slot(keyed, ki)[KWQ_VALUE];
	if (!old || old->len != value->len)
		return;
	for (i = 0; i < value->len; i++)
		value->bytes[i] |= old->bytes[i];
}

static int add_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
		      const struct kwq_key_options *options, struct kwq_extras *extras, ktime_t now,
		      struct kwq_stock *stock)
{
	struct kwq_add_options add = {};

	if (!options)
		return kwq_keyed_add_locked(keyed, key, &add, now, stock);
	add = add_options_of(options);
	if (!extras->flags)
		return kwq_keyed_add_locked(keyed, key, &add, now, stock);
	if (options->is_set && extras->value)
		join_sets(keyed, key, extras->value);
	return kwq_keyed_add_with_locked(keyed, key, &add, extras, now, stock);
}

/* Adds a key, of which @nr are to come. */
static int add(struct kwq_handle *handle, const struct kwq_key *key,
	       const struct kwq_key_options *options, struct kwq_extras *extras,
	       struct kwq_stock *stock, u32 nr)
{
	struct kwq_keyed *keyed = handle->keyed;
	unsigned long flags;
	ktime_t now;
	int ret;

	do {
		now = kwq_keyed_begin(keyed, &flags);
		ret = kwq_front_is_shut_down(handle->front) ? -ESHUTDOWN :
		      add_locked(keyed, key, options, extras, now, stock);
		kwq_keyed_unlock(keyed, flags);
		if (ret != -EAGAIN)
			return ret;
		ret = kwq_stock_fill(stock, keyed, key, extras->flags ? extras : NULL, nr);
	} while (!ret);
	return ret;
}

/* Returns -EDQUOT or -ENOMEM. Until the add it counts as memory of the call that gave the queue. */
static int take_value(struct kwq_handle *handle, struct kwq_extras *extras,
		      const struct kwq_key_options *options, u32 *bytes)
{
	if (!options->value_len)
		return 0;
	extras->value = kwq_value_alloc(options->value_len);
	if (!extras->value)
		return -ENOMEM;
	if (!kwq_quota_charge_call(handle, kwq_value_bytes(extras->value)))
		return -EDQUOT;
	*bytes = kwq_value_bytes(extras->value);
	memcpy(extras->value->bytes, options->value, options->value_len);
	return 0;
}

/* Adds a key with all that it brings. */
static int add_with(struct kwq_handle *handle, const struct kwq_key *key,
		    const struct kwq_key_options *options, struct kwq_stock *stock, u32 nr)
{
	struct kwq_extras extras = {};
	u32 bytes = 0;
	int ret = 0;

	if (options) {
		extras.flags = options->flags & EXTRA_FLAGS;
		extras.at_most = options->at_most;
		extras.group.bytes = options->group;
		extras.group.len = options->group_len;
		if (options->group_len)
			kwq_key_hash(&extras.group);
		ret = take_value(handle, &extras, options, &bytes);
	}
	if (!ret)
		ret = add(handle, key, options, &extras, stock, nr);
	kvfree(extras.value);
	if (bytes)
		kwq_quota_uncharge_call(handle, bytes);
	return ret;
}

static void count_refused(struct kwq_handle *handle, int ret)
{
	if (ret < 0)
		atomic64_inc(&handle->keyed->refused);
}

/* Carries out the first record. Returns false if there is none that is ready. */
static bool carry_out_one(struct kwq_key_queue *keys, struct kwq_stock *stock)
{
	struct record *record = record_at(keys, keys->tail);
	struct kwq_handle *handle = kwq_handle_for_adds(keys->handle);
	u32 state = smp_load_acquire(&record->size); /* pairs with the release of commit() */
	u32 size = state & ~(IS_READY | IS_PADDING);
	struct kwq_key_options *options = NULL;
	struct kwq_key key;

	if (!state)
		return false;
	if (!(state & IS_PADDING)) {
		key = (struct kwq_key) {
			.bytes = record->bytes,
			.len = record->key_len,
			.hash = record->hash,
		};
		if (record->has_options) {
			options = options_of(record);
			options->group = options + 1;
			options->value = options->group + options->group_len;
		}
		count_refused(handle, add_with(handle, &key, options, stock,
					       (READ_ONCE(keys->head) - keys->tail) / size));
	}
	take(keys, record, size);
	return true;
}

static void carry_out(struct work_struct *work)
{
	struct kwq_key_queue *keys = container_of(work, struct kwq_key_queue, work);
	struct mem_cgroup *before = set_active_memcg(keys->memcg);
	struct kwq_stock stock = {};

	smp_store_mb(keys->is_called, false);
	while (carry_out_one(keys, &stock))
		cond_resched();
	kwq_stock_empty(&stock, kwq_handle_for_adds(keys->handle)->keyed);
	set_active_memcg(before);
}

static void call_worker(struct irq_work *call)
{
	queue_work(kwq_unbound_wq(), &container_of(call, struct kwq_key_queue, call)->work);
}

/* A hold counts as no handle of the queue, so @nr_handles are those of programs. */
static void count_handles(struct kwq_keyed *keyed, int nr)
{
	unsigned long flags;

	spin_lock_irqsave(&keyed->queue.lock, flags);
	keyed->nr_handles += nr;
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
}

/* data_race(): it becomes true once, at any moment. */
static bool is_gone(const struct kwq_keyed *keyed)
{
	return !data_race(keyed->nr_handles) &&
	       (!*keyed->queue.name || READ_ONCE(keyed->unlinked));
}

/**
 * kwq_key_queue_open() - let the kernel add keys to a queue
 * @keyed: the queue
 * @rights: KWQ_RIGHT_* bits of who asks for it
 *
 * Context: process; may sleep.
 * Return: as kwq_key_queue_get().
 */
struct kwq_key_queue *kwq_key_queue_open(struct kwq_keyed *keyed, u32 rights)
{
	struct kwq_key_queue *keys;
	int err = -ENOMEM;

	keys = kzalloc(sizeof(*keys), GFP_KERNEL_ACCOUNT);
	if (!keys)
		return ERR_PTR(-ENOMEM);
	keys->handle = kwq_handle_open(keyed, rights & KWQ_RIGHT_WRITE);
	if (IS_ERR(keys->handle))
		goto free_keys;
	err = -EBADF;
	if (!(kwq_handle_for_adds(keys->handle)->rights & KWQ_RIGHT_WRITE))
		goto close_handle;
	err = -EDQUOT;
	if (!kwq_quota_charge_call(keys->handle, RING_BYTES))
		goto close_handle;
	err = -ENOMEM;
	keys->ring = kvzalloc(RING_BYTES, GFP_KERNEL_ACCOUNT);
	if (!keys->ring)
		goto uncharge;
	keys->memcg = get_mem_cgroup_from_mm(current->mm);
	init_irq_work(&keys->call, call_worker);
	INIT_WORK(&keys->work, carry_out);
	count_handles(keyed, -1);
	return keys;

uncharge:
	kwq_quota_uncharge_call(keys->handle, RING_BYTES);
close_handle:
	kwq_handle_close(keys->handle);
free_keys:
	kfree(keys);
	return ERR_PTR(err);
}

struct kwq_key_queue *kwq_key_queue_get_by_name(const char *name)
{
	struct kwq_keyed *keyed;
	struct kwq_key_queue *keys;
	int err = kwq_names_check(name);

	if (err)
		return ERR_PTR(err);
	keyed = kwq_names_find(name);
	if (!keyed)
		return ERR_PTR(-ENOENT);
	err = kwq_names_permit(keyed, KWQ_RIGHT_WRITE);
	keys = err ? ERR_PTR(err) : kwq_key_queue_open(keyed, KWQ_RIGHT_WRITE);
	kwq_keyed_put(keyed);
	return keys;
}
EXPORT_SYMBOL_GPL(kwq_key_queue_get_by_name);

void kwq_key_queue_put(struct kwq_key_queue *keys)
{
	irq_work_sync(&keys->call);
	flush_work(&keys->work);
	kvfree(keys->ring);
	kwq_quota_uncharge_call(keys->handle, RING_BYTES);
	mem_cgroup_put(keys->memcg);
	count_handles(keys->handle->keyed, 1);
	kwq_handle_close(keys->handle);
	kfree(keys);
}
EXPORT_SYMBOL_GPL(kwq_key_queue_put);

static int add_key(struct kwq_key_queue *keys, struct kwq_handle *handle, struct kwq_key *key,
		   const struct kwq_key_options *options)
{
	struct kwq_stock stock = {};
	int ret;

	if (is_gone(keys->handle->keyed))
		return -ENOENT;
	if (kwq_front_is_shut_down(handle->front) || kwq_shutting_down(&handle->keyed->queue))
		return -ESHUTDOWN;
	kwq_key_hash(key);
	if (options && options->may_sleep) {
		ret = add_with(handle, key, options, &stock, 1);
		kwq_stock_empty(&stock, handle->keyed);
		return ret;
	}
	ret = options && options->flags ? 0 : try_coalesce(handle->keyed, key);
	return ret ?: post(keys, key, options);
}

int kwq_add_key(struct kwq_key_queue *keys, const void *bytes, size_t len,
		const struct kwq_key_options *options)
{
	struct kwq_handle *handle = kwq_handle_for_adds(keys->handle);
	struct kwq_key key = { .bytes = bytes, .len = len };
	int ret = options ? check_options(options) : 0;

	if (!len)
		ret = -EINVAL;
	else if (len > KWQ_KEY_MAX)
		ret = -EMSGSIZE;
	if (!ret)
		ret = add_key(keys, handle, &key, options);
	count_refused(handle, ret);
	return ret;
}
EXPORT_SYMBOL_GPL(kwq_add_key);

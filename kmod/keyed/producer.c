// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drivers that add keys (K12): see kwq_keys.h.
 *
 * An add from a context that may do nothing has two ways. If it gets the lock at once, and the key
 * is ready, and has the bits that a set brings, it coalesces. Otherwise it is written into a ring,
 * and a worker carries it out.
 *
 * The ring is a piece of memory that was allocated and charged when the queue was taken, so it is
 * its own limit. It has many writers, any of which an NMI may interrupt, and one reader. @head
 * counts the bytes that writers have reserved, and @tail those that the worker has taken:
 *
 *   writer				worker
 *   read @tail, then @head		clear @is_called
 *   move @head beyond the record	while the record at @tail is ready:
 *   write the record				carry it out
 *   mark it as ready				clear its bytes
 *   unless @is_called was set:			move @tail beyond it
 *   call the worker
 *
 * All bytes of the ring are 0 until a writer has reserved and written them. So the worker stops at
 * a record that an interrupted writer has reserved, and is called once that is ready. A writer
 * cannot be preempted meanwhile, because all others would wait for it. A record that does not fit
 * into the end of the ring has a padding before it, which is reserved with it in one step.
 *
 * The worker clears @is_called before it looks, and a writer sets it after it has marked its
 * record. So one of the two sees the other. selftests/models/spin/ring.pml searches all orders.
 */
#include <kunit/visibility.h>
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/irq_work.h>
#include <linux/memcontrol.h>
#include <linux/preempt.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include "compat.h"
#include "hold.h"
#include "queue/trace.h"

/* Of a record. With IS_PADDING it has nothing else. The size is a multiple of 8. */
#define IS_READY	BIT(0)
#define IS_PADDING	KWQ_RECORD_IS_PADDING

static struct kwq_record *record_at(struct kwq_key_queue *keys, unsigned long at)
{
	return keys->ring + at % KWQ_RING_BYTES;
}

/* Returns NULL if the ring is full. The caller cannot be preempted until kwq_record_commit(). */
VISIBLE_IF_KUNIT struct kwq_record *kwq_record_reserve(struct kwq_key_queue *keys, u32 size)
{
	unsigned long head, tail, left;
	u32 padding;

	do {
		/* Pairs with the release of take_record(). So @tail is never beyond @head. */
		tail = smp_load_acquire(&keys->tail);
		head = READ_ONCE(keys->head);
		left = KWQ_RING_BYTES - head % KWQ_RING_BYTES;
		padding = size > left ? left : 0;
		if (head - tail + padding + size > KWQ_RING_BYTES)
			return NULL;
	} while (cmpxchg(&keys->head, head, head + padding + size) != head);
	if (padding)
		/* Pairs with the acquire of carry_out_one(), as that of a record does. */
		smp_store_release(&record_at(keys, head)->size, padding | IS_READY | IS_PADDING);
	return record_at(keys, head + padding);
}

/* The worker may use the record from now on. @size is that of the reservation. */
VISIBLE_IF_KUNIT void kwq_record_commit(struct kwq_key_queue *keys, struct kwq_record *record,
					u32 size)
{
	/* After all bytes of the record. Pairs with the acquire of carry_out_one(). */
	smp_store_release(&record->size, size | IS_READY);
	/* Fully ordered after it. Pairs with the barrier of carry_out(). */
	if (!xchg(&keys->is_called, true))
		irq_work_queue(&keys->call);
}

/* Gives the bytes of the first record back. */
static void take_record(struct kwq_key_queue *keys, struct kwq_record *record, u32 size)
{
	memset(record, 0, size);
	/* After the bytes are 0. Pairs with the acquire of kwq_record_reserve(). */
	smp_store_release(&keys->tail, keys->tail + size);
}

/* The size of a record without options, and where they begin in one that has them. */
static u32 size_with_key(u32 key_len)
{
	return ALIGN(struct_size_t(struct kwq_record, bytes, key_len), 8);
}

static int write_record(struct kwq_key_queue *keys, const struct kwq_key *key,
			const struct kwq_key_options *options)
{
	u32 more = options ? options->group_len + options->value_len : 0;
	u32 size = size_with_key(key->len);
	struct kwq_key_options *to;
	struct kwq_record *record;

	if (key->len + more > KWQ_POSTED_BYTES_MAX)
		return -EMSGSIZE;
	if (options)
		size += ALIGN(sizeof(*options) + more, 8);
	record = kwq_record_reserve(keys, size);
	if (!record)
		return -ENOBUFS;
	record->key_len = key->len;
	record->has_options = options;
	memcpy(record->bytes, key->bytes, key->len);
	if (options) {
		to = (void *)record + size_with_key(key->len);
		*to = *options;
		memcpy(to + 1, options->group, options->group_len);
		memcpy((void *)(to + 1) + options->group_len, options->value, options->value_len);
	}
	kwq_record_commit(keys, record, size);
	return KWQ_POSTED;
}

static int post(struct kwq_key_queue *keys, const struct kwq_key *key,
		const struct kwq_key_options *options)
{
	int ret;

	/* Not traced, because a program on that tracepoint may be the caller. */
	preempt_disable_notrace();
	ret = write_record(keys, key, options);
	preempt_enable_notrace();
	return ret;
}

static bool may_try_lock(void)
{
	/* Its spinlock_t is a mutex, of which not even a trylock is allowed everywhere. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return preemptible();
	/* A kernel for one processor gets each lock that it tries, even if that is held. */
	return IS_ENABLED(CONFIG_SMP) || !(in_nmi() || irqs_disabled());
}

/* Would an add change nothing but a count if its key is ready and @has_set? */
static bool may_coalesce(const struct kwq_key_options *options)
{
	return !options || !options->flags ||
	       (options->flags == KWQ_ADD_VALUE && options->is_set);
}

static bool has_set(const struct kwq_keyed *keyed, struct kwq_keyed_item *ki,
		    const struct kwq_key_options *options)
{
	return !options || !options->flags ||
	       (keyed->limits.values &&
		kwq_keyed_has_set(keyed, ki, options->value, options->value_len));
}

/* Coalesces with a key that is ready. Returns 0 if more has to be done. */
static int try_coalesce(struct kwq_keyed *keyed, struct kwq_key *key,
			const struct kwq_key_options *options)
{
	struct kwq_keyed_item *ki;
	unsigned long flags;
	int ret = 0;

	if (!may_try_lock())
		return 0;
	kwq_key_hash(key);
	if (!spin_trylock_irqsave(&keyed->queue.lock, flags))
		return 0;
	ki = kwq_keyed_find(keyed, key);
	if (ki && ki->item.state & KWQ_ITEM_DIRTY && has_set(keyed, ki, options)) {
		ret = kwq_core_coalesce(&keyed->queue.core, &ki->item);
		ki->is_added |= ret > 0 && keyed->changes;
		trace_kwq_coalesce(&keyed->queue, &ki->item, ret);
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
	if (!has_value && (options->value_len || options->flags & KWQ_ADD_KEEP_VALUE))
		return -EINVAL;
	if (options->is_set && (!options->value_len || options->flags & KWQ_ADD_KEEP_VALUE))
		return -EINVAL;
	if (options->value_len > (options->is_set ? KWQ_SET_MAX : KWQ_VALUE_MAX))
		return -EMSGSIZE;
	return kwq_check_add(&checked);
}

static int add_locked(struct kwq_keyed *keyed, const struct kwq_key *key,
		      const struct kwq_key_options *options, struct kwq_extras *extras, ktime_t now,
		      struct kwq_stock *stock)
{
	struct kwq_add_options add = {};

	if (options)
		add = add_options_of(options);
	return kwq_keyed_add_locked(keyed, key, &add, extras->flags ? extras : NULL, now, stock);
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

/*
 * Until the add takes it over, the value counts as memory of the call by which the driver got the
 * queue. Returns -EDQUOT or -ENOMEM.
 */
static int take_value(struct kwq_handle *handle, struct kwq_extras *extras,
		      const struct kwq_key_options *options, u32 *bytes)
{
	if (!options->value_len)
		return 0;
	extras->value = kwq_value_alloc(options->value_len);
	if (!extras->value)
		return -ENOMEM;
	if (!kwq_quota_charge(handle->quota, kwq_value_bytes(extras->value)))
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
		if (options->is_set)
			extras.flags |= KWQ_SET_JOINS;
		extras.at_most = options->at_most;
		extras.group.bytes = options->group;
		extras.group.len = options->group_len;
		if (options->group_len)
			kwq_key_hash(&extras.group);
		ret = take_value(handle, &extras, options, &bytes);
	}
	if (!ret)
		ret = add(handle, key, options, &extras, stock, nr);
	/* What is charged for this value must not count for the next one. */
	if (stock->value_bytes)
		kwq_stock_free(stock, handle->keyed);
	kvfree(extras.value);
	if (bytes)
		kwq_quota_uncharge(handle->quota, bytes);
	return ret;
}

static bool is_gone(const struct kwq_keyed *keyed)
{
	/* data_race(): it becomes true once, at any moment. */
	return !data_race(keyed->nr_handles) &&
	       (!*keyed->queue.name || READ_ONCE(keyed->unlinked));
}

/* Why no add can succeed any more, or 0. */
static int refusal(const struct kwq_key_queue *keys, const struct kwq_handle *handle)
{
	if (is_gone(keys->handle->keyed))
		return -ENOENT;
	if (kwq_front_is_shut_down(handle->front) || kwq_shutting_down(&handle->keyed->queue))
		return -ESHUTDOWN;
	return 0;
}

static int counted(const struct kwq_handle *handle, int ret)
{
	if (ret < 0)
		atomic_long_inc(&handle->keyed->refused);
	return ret;
}

/* @nr as for add() */
static int carry_out_add(struct kwq_key_queue *keys, struct kwq_handle *handle,
			 struct kwq_record *record, struct kwq_stock *stock, u32 nr)
{
	struct kwq_key_options *options = NULL;
	struct kwq_key key = {
		.bytes = record->bytes,
		.len = record->key_len,
	};

	if (record->has_options) {
		options = (void *)record + size_with_key(record->key_len);
		options->group = options + 1;
		options->value = options->group + options->group_len;
	}
	/* Not before, because the caller's bytes may have changed until they were copied. */
	kwq_key_hash(&key);
	return refusal(keys, handle) ?: add_with(handle, &key, options, stock, nr);
}

/* Carries out the first record. Returns false if there is none that is ready. */
static bool carry_out_one(struct kwq_key_queue *keys, struct kwq_handle *handle,
			  struct kwq_stock *stock)
{
	struct kwq_record *record = record_at(keys, keys->tail);
	u32 state = smp_load_acquire(&record->size); /* pairs with the releases of its writer */
	u32 size = state & ~(IS_READY | IS_PADDING), nr;

	if (!state)
		return false;
	if (!(state & IS_PADDING)) {
		nr = (READ_ONCE(keys->head) - keys->tail) / size;
		counted(handle, carry_out_add(keys, handle, record, stock, nr));
	}
	take_record(keys, record, size);
	return true;
}

static void carry_out(struct work_struct *work)
{
	struct kwq_key_queue *keys = container_of(work, struct kwq_key_queue, work);
	struct mem_cgroup *before = set_active_memcg(keys->memcg);
	/* For all of them, because the stock is for one queue. */
	struct kwq_handle *handle = kwq_handle_for_adds(keys->handle);
	ktime_t begun = ktime_get();
	struct kwq_stock stock = {};

	/* Before the sizes of records are read. Pairs with the xchg() of kwq_record_commit(). */
	smp_store_mb(keys->is_called, false);
	while (carry_out_one(keys, handle, &stock))
		kwq_rest_if_due(&begun);
	kwq_stock_empty(&stock, handle->keyed);
	set_active_memcg(before);
}

static void call_worker(struct irq_work *call)
{
	queue_work(kwq_unbound_wq(), &container_of(call, struct kwq_key_queue, call)->work);
}

/* A hold counts as no handle of the queue and its outbox, so @nr_handles are those of programs. */
static void count_handles(const struct kwq_handle *handle, int nr)
{
	unsigned long flags;

	for (; handle; handle = handle->outbox) {
		spin_lock_irqsave(&handle->keyed->queue.lock, flags);
		handle->keyed->nr_handles += nr;
		spin_unlock_irqrestore(&handle->keyed->queue.lock, flags);
	}
}

/* U9: a queue that passes its adds on does not widen the rights of its descriptors. */
static bool may_add(const struct kwq_handle *handle)
{
	for (; handle; handle = handle->outbox)
		if (!(handle->rights & KWQ_RIGHT_WRITE))
			return false;
	return true;
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
	int err;

	might_sleep();
	keys = kzalloc(sizeof(*keys), GFP_KERNEL_ACCOUNT);
	if (!keys)
		return ERR_PTR(-ENOMEM);
	keys->handle = kwq_handle_open(keyed, rights & KWQ_RIGHT_WRITE);
	err = PTR_ERR_OR_ZERO(keys->handle);
	if (err)
		goto free_keys;
	err = -EBADF;
	if (!may_add(keys->handle))
		goto close_handle;
	err = -EDQUOT;
	if (!kwq_quota_charge(keys->handle->quota, KWQ_RING_BYTES))
		goto close_handle;
	err = -ENOMEM;
	keys->ring = kvzalloc(KWQ_RING_BYTES, GFP_KERNEL_ACCOUNT);
	if (!keys->ring)
		goto uncharge;
	keys->memcg = get_mem_cgroup_from_mm(current->mm);
	init_irq_work(&keys->call, call_worker);
	INIT_WORK(&keys->work, carry_out);
	count_handles(keys->handle, -1);
	return keys;

uncharge:
	kwq_quota_uncharge(keys->handle->quota, KWQ_RING_BYTES);
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
	might_sleep();
	irq_work_sync(&keys->call);
	flush_work(&keys->work);
	kvfree(keys->ring);
	kwq_quota_uncharge(keys->handle->quota, KWQ_RING_BYTES);
	mem_cgroup_put(keys->memcg);
	count_handles(keys->handle, 1);
	kwq_handle_close(keys->handle);
	kfree(keys);
}
EXPORT_SYMBOL_GPL(kwq_key_queue_put);

/* As an add by the worker: who is about to add pays no memory. */
static int add_now_with(struct kwq_key_queue *keys, struct kwq_handle *handle,
			struct kwq_key *key, const struct kwq_key_options *options)
{
	struct mem_cgroup *before;
	struct kwq_stock stock = {};
	int ret;

	might_sleep();
	kwq_key_hash(key);
	before = set_active_memcg(keys->memcg);
	ret = add_with(handle, key, options, &stock, 1);
	kwq_stock_empty(&stock, handle->keyed);
	set_active_memcg(before);
	return ret;
}

static int add_key(struct kwq_key_queue *keys, struct kwq_handle *handle, struct kwq_key *key,
		   const struct kwq_key_options *options)
{
	int ret = refusal(keys, handle);

	if (!ret && may_coalesce(options))
		ret = try_coalesce(handle->keyed, key, options);
	if (ret)
		return ret;
	if (options && options->may_sleep)
		return add_now_with(keys, handle, key, options);
	return post(keys, key, options);
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
	return counted(handle, ret ?: add_key(keys, handle, &key, options));
}
EXPORT_SYMBOL_GPL(kwq_add_key);

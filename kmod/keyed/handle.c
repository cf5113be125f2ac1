// SPDX-License-Identifier: GPL-2.0-only
/* Handles: the items that each handle holds, and their return when the handle is closed. */
#include <kunit/visibility.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include "compat.h"
#include "hold.h"

static struct kwq_handle *open_handle(struct kwq_keyed *keyed, struct kwq_keyed *front, u32 rights)
{
	struct kwq_handle *handle = kzalloc(sizeof(*handle), GFP_KERNEL_ACCOUNT);
	struct kwq_handle *outbox = NULL;
	unsigned long flags;

	if (!handle)
		return ERR_PTR(-ENOMEM);
	handle->quota = kwq_quota_get(current_user_ns(), current_fsuid(),
				      kwq_quota_kind_for(KWQ_QUOTA_CALLS));
	if (IS_ERR(handle->quota)) {
		kfree(handle);
		return ERR_PTR(-ENOMEM);
	}
	/* An outbox has no outbox, so this goes no deeper. */
	if (keyed->outbox)
		outbox = open_handle(keyed->outbox, keyed, keyed->outbox_rights);
	if (IS_ERR(outbox)) {
		kwq_quota_put(handle->quota);
		kfree(handle);
		return outbox;
	}
	handle->outbox = outbox;
	handle->front = front;
	handle->keyed = keyed;
	kwq_line_init(&handle->held);
	handle->rights = rights;
	handle->opener = get_pid(task_tgid(current));
	kref_get(&keyed->ref);

	spin_lock_irqsave(&keyed->queue.lock, flags);
	keyed->nr_handles++;
	spin_unlock_irqrestore(&keyed->queue.lock, flags);
	return handle;
}

/**
 * kwq_handle_open() - open a handle
 * @keyed: its queue; the handle takes a reference
 * @rights: KWQ_RIGHT_* bits
 *
 * Return: the handle, or ERR_PTR(-ENOMEM).
 */
struct kwq_handle *kwq_handle_open(struct kwq_keyed *keyed, u32 rights)
{
	return open_handle(keyed, NULL, rights);
}

/**
 * kwq_handle_close() - close a handle, and give back its items (O1)
 * @handle: the handle; no call uses it any more
 *
 * Context: process; may sleep.
 */
void kwq_handle_close(struct kwq_handle *handle)
{
	struct kwq_keyed *keyed = handle->keyed;
	struct kwq_keyed_item *ki;
	unsigned long flags;
	ktime_t now;
	bool done;
	int n;

	if (keyed->changes)
		kwq_stop_following(handle);
	do {
		spin_lock_irqsave(&keyed->queue.lock, flags);
		now = kwq_now_locked(&keyed->queue);
		for (n = 0; n < KWQ_READY_PER_HOLD; n++) {
			done = kwq_line_is_empty(&handle->held);
			if (done)
				break;
			ki = kwq_line_first(&handle->held, struct kwq_keyed_item, held);
			kwq_handout_abandon(keyed, ki, now);
		}
		if (done) {
			if (handle->has_found_nothing) {
				kwq_forget_found_nothing(handle);
				kwq_note_getter(keyed);
			}
			keyed->nr_handles--;
		}
		kwq_keyed_unlock(keyed, flags);
		cond_resched();
	} while (!done);
	/* See kwq_handle_flush(). */
	kwq_wake_again(&keyed->queue);

	if (handle->outbox)
		kwq_handle_close(handle->outbox);
	put_pid(handle->pid);
	put_pid(handle->opener);
	kwq_quota_put(handle->quota);
	kfree(handle);
	kwq_keyed_put(keyed);
}

/**
 * kwq_calls_get() - the quota that pays for memory of a call (O9)
 * @handle: the handle of the call
 *
 * That is the caller's. It is another one than that of the handle's opener if the descriptor was
 * passed on: then neither can the caller use up what the opener has, nor is it exempt because the
 * opener was.
 *
 * Context: process; may sleep.
 * Return: the quota, for kwq_calls_put(); or ERR_PTR(-ENOMEM).
 */
struct kwq_quota *kwq_calls_get(const struct kwq_handle *handle)
{
	struct kwq_quota *quota = handle->quota;

	if (likely(quota->ns == current_user_ns() && uid_eq(quota->user, current_fsuid()) &&
		   (quota->kind == KWQ_QUOTA_CALLS ||
		    kwq_quota_kind_for(KWQ_QUOTA_CALLS) == quota->kind)))
		return quota;
	return kwq_quota_get(current_user_ns(), current_fsuid(),
			     kwq_quota_kind_for(KWQ_QUOTA_CALLS));
}

/**
 * kwq_calls_put() - the end of a call that had memory
 * @handle: the handle of the call
 * @quota: the quota that kwq_calls_get() returned, or its error
 */
void kwq_calls_put(const struct kwq_handle *handle, struct kwq_quota *quota)
{
	if (!IS_ERR(quota) && quota != handle->quota)
		kwq_quota_put(quota);
}

/**
 * kwq_handle_for_adds() - the handle that an add, a forget or a query of the requeues concerns
 * @handle: the handle of the request
 *
 * Return: a handle of the outbox, if the queue has one and is not shut down; else @handle.
 */
struct kwq_handle *kwq_handle_for_adds(struct kwq_handle *handle)
{
	if (likely(!handle->outbox) || kwq_shutting_down(&handle->keyed->queue))
		return handle;
	return handle->outbox;
}

/**
 * kwq_handle_set_has_lost() - say whether a handle has losses to learn of (O3)
 * @handle: the handle
 * @has_lost: false before a call that tells which items are lost; true if it told nothing
 *
 * Return: what was true before.
 */
bool kwq_handle_set_has_lost(struct kwq_handle *handle, bool has_lost)
{
	unsigned long flags;

	spin_lock_irqsave(&handle->keyed->queue.lock, flags);
	swap(handle->has_lost, has_lost);
	/* A poller may have looked meanwhile. */
	if (handle->has_lost)
		kwq_tell_pollers_locked(&handle->keyed->queue, EPOLLPRI);
	kwq_keyed_unlock(handle->keyed, flags);
	return has_lost;
}

/**
 * kwq_handle_flush() - a process closed one of its descriptors of a handle (O7)
 * @handle: the handle; it may have other descriptors
 *
 * Wakes once more for all ready items, because the closing process may have consumed a
 * wake-up that it never used: a ready item wakes only one epoll with EPOLLEXCLUSIVE (Q5). A
 * process also closes its descriptors when it exits, is killed or calls exec.
 *
 * The closing process can consume the second wake-up, too, but only if one of its tasks sleeps
 * in epoll_wait(). No task of a dying process sleeps there. In a living process another thread
 * may. At the close of the handle's last descriptor, kwq_handle_close() therefore wakes once
 * more, after eventpoll_release() has taken the handle out of all epolls.
 *
 * Other waiters lose no wake-up:
 * - A getter takes the item or passes the wake-up on: see kwq_handle_get().
 * - poll(), select() and epolls without EPOLLEXCLUSIVE consume no wake-up.
 * - If several processes share one epoll, the woken process may die before it uses the event.
 *   Then the close of its descriptor wakes the next process: ep_poll_callback() wakes another
 *   sleeper, even if the event is listed already.
 *
 * Three cases are not covered, because the kernel calls no file operation then:
 * - A process waits in an epoll after it closed its own descriptor of a shared handle.
 *   epoll(7) warns of this.
 * - A thread ends without its process.
 * - A process ends while another shares its table of descriptors (CLONE_FILES).
 *
 * Context: process.
 */
void kwq_handle_flush(struct kwq_handle *handle)
{
	kwq_wake_again(&handle->keyed->queue);
}

/*
 * Copies the name of the group behind the key, and takes a reference to the value. Returns
 * -EMSGSIZE if they do not fit, or -EDQUOT if the user's calls have too many values.
 */
static noinline int get_more(const struct kwq_handle *handle, struct kwq_keyed_item *ki,
			     struct kwq_got_buffer *buffer)
{
	const struct kwq_keyed *keyed = handle->keyed;
	struct kwq_value *value = NULL;
	const struct kwq_keyed_group *kg = kwq_keyed_group_of(keyed, ki);
	struct kwq_got_more *more = buffer->more;

	if (keyed->limits.values)
		value = kwq_value_slot(keyed, ki)[KWQ_VALUE];
	more->group_len = kg ? kg->len : 0;
	more->lacking = ki->key_len + more->group_len + (value ? value->len : 0);
	buffer->lacking = more->lacking;
	if (more->lacking > more->max_bytes)
		return -EMSGSIZE;
	/* A longer buffer has room for every key and group. */
	if (ki->key_len + more->group_len > buffer->max_key_bytes)
		return -EMSGSIZE;
	if (value && !kwq_quota_charge(more->calls, kwq_value_bytes(value)))
		return -EDQUOT;
	if (kg)
		memcpy(buffer->keys + ki->key_len, kg->name, kg->len);
	if (value)
		refcount_inc(&value->refs);
	more->value = value;
	more->token = keyed->changes ? kwq_next_token(keyed, ki) : 0;
	return 0;
}

/*
 * Hands out the items that fit into @buffer. Copies the keys under the lock, because after the
 * unlock another thread with this handle may finish an item, which frees the key.
 */
static int get_some_locked(struct kwq_handle *handle, struct kwq_got_buffer *buffer, ktime_t now)
{
	struct kwq_keyed *keyed = handle->keyed;
	struct kwq_keyed_item *ki;
	u32 most = buffer->max_items;
	struct kwq_item *item;
	int err = -EMSGSIZE;
	u32 nr;

	/* O8 */
	if (unlikely(keyed->limits.aging))
		most = min(most, kwq_core_most_gets(&keyed->queue.core));
	buffer->keys_len = 0;
	for (nr = 0; nr < most; nr++) {
		item = kwq_core_peek(&keyed->queue.core, now);
		if (!item)
			break;
		ki = kwq_keyed_item_of(item);
		if (ki->key_len > buffer->max_key_bytes - buffer->keys_len) {
			buffer->lacking = ki->key_len;
			break;
		}
		if (unlikely(buffer->more)) {
			err = get_more(handle, ki, buffer);
			if (err)
				break;
		}

		kwq_take_locked(&keyed->queue, item, &handle->holder, now);
		kwq_handout_begin(handle, ki);

		kwq_copy_key(buffer->keys + buffer->keys_len, ki->key, ki->key_len);
		buffer->keys_len += ki->key_len;
		buffer->got[nr] = (struct kwq_got){
			.ticket = ki->ticket,
			.key_len = ki->key_len,
			.priority = item->priority,
			.abandoned = item->abandoned,
			.requeues = item->requeues,
		};
	}
	return nr ?: err;
}

/* As kwq_core_can_get(), but false after the end of the term (Q20). One test serves both. */
static inline bool can_get_locked(struct kwq_keyed *keyed)
{
	const struct kwq_core *core = &keyed->queue.core;

	if (likely(!core->unusual))
		return core->nr_ready;
	return kwq_core_can_get(core) && !kwq_term_is_over_locked(keyed);
}

/* No item can be handed out. Returns as kwq_wait_locked(). */
static noinline int wait_locked(struct kwq_handle *handle, const struct kwq_patience *patience,
				unsigned long *flags)
	__must_hold(&handle->keyed->queue.lock)
{
	int ret;

	if (handle->keyed->changes && !patience->nonblock)
		kwq_note_getter(handle->keyed);
	ret = kwq_wait_locked(&handle->keyed->queue, &handle->holder, patience, flags);
	if (handle->keyed->changes && ret == -EAGAIN)
		kwq_note_found_nothing(handle);
	else if (handle->keyed->changes && ret < 0 && !patience->nonblock)
		kwq_note_getter(handle->keyed);
	return ret;
}

/* Q15: another process than the last one gets through this handle. */
static noinline void note_getter(struct kwq_handle *handle, struct pid *pid)
{
	struct kwq_queue *queue = &handle->keyed->queue;
	unsigned long flags;

	get_pid(pid);
	spin_lock_irqsave(&queue->lock, flags);
	swap(handle->pid, pid);
	spin_unlock_irqrestore(&queue->lock, flags);
	put_pid(pid);
}

/* Most handles belong to one process, so the lock is taken once in their lives. */
static __always_inline void note_caller(struct kwq_handle *handle)
{
	/* data_race(): the value is only compared, and the present process's own pid stays. */
	if (unlikely(data_race(handle->pid) != task_tgid(current)))
		note_getter(handle, task_tgid(current));
}

/**
 * kwq_handle_get() - get items, and wait for the first one (Q5, Q13)
 * @handle: the handle
 * @buffer: buffer for the items
 * @patience: how long to wait
 *
 * If kwq_wants_more_room() returns true afterwards, the caller must get again at once, with
 * room for @buffer->lacking bytes or with 0 in @buffer->longest. Until then the caller keeps a
 * wake-up that may be meant for another getter.
 *
 * Context: process; may sleep.
 * Return: how many items were got, at least one. -EMSGSIZE if the key of the first item
 * does not fit. -EDQUOT if calls of the handle's user have too many values already. Else the error
 * of kwq_wait_locked().
 */
__flatten int kwq_handle_get(struct kwq_handle *handle, struct kwq_got_buffer *buffer,
			     const struct kwq_patience *patience)
{
	struct kwq_queue *queue = &handle->keyed->queue;
	unsigned long flags;
	int ret;

	note_caller(handle);
	spin_lock_irqsave(&queue->lock, flags);
	do {
		if (can_get_locked(handle->keyed))
			ret = get_some_locked(handle, buffer, kwq_stamp_locked(queue));
		else
			ret = wait_locked(handle, patience, &flags);
	} while (!ret);
	/*
	 * This getter may have consumed a wake-up, but leaves the item. So pass the wake-up
	 * on. A getter that will come again with more room keeps its wake-up.
	 */
	if (ret < 0 && kwq_core_nr_offered(&queue->core) && !kwq_wants_more_room(buffer, ret))
		kwq_pass_on_locked(queue);
	kwq_unlock(queue, flags);
	return ret;
}

/**
 * kwq_handle_unget() - undo hand-outs of items (O2)
 * @handle: the handle
 * @got: the items, from kwq_handle_get()
 * @nr: their number, at most KWQ_ITEMS_PER_HOLD
 *
 * Skips items that another thread has finished meanwhile, or whose lease has expired.
 */
noinline void kwq_handle_unget(struct kwq_handle *handle, const struct kwq_got *got,
			       u32 nr)
{
	struct kwq_queue *queue = &handle->keyed->queue;
	struct kwq_keyed_item *ki;
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	while (nr--) {
		ki = kwq_find_held(handle, got[nr].ticket);
		if (!ki)
			continue;
		kwq_handout_end(handle, ki);
		kwq_unget_locked(queue, &ki->item);
		if (handle->keyed->changes)
			kwq_note_change(handle->keyed, ki);
	}
	kwq_keyed_unlock(handle->keyed, flags);
}

/*
 * The item that the handle holds under a ticket, or that has a key if the ticket is 0. Or an error:
 * -ESTALE by ticket, -ENOENT or -EPERM by key (Q6, O3). At the end of the term all hand-outs have
 * ended, even if they were not taken back yet (Q20).
 */
static struct kwq_keyed_item *find_held(struct kwq_handle *handle, u64 ticket,
					const struct kwq_key *key)
{
	bool is_over = kwq_term_is_over_locked(handle->keyed);
	struct kwq_keyed_item *ki;

	if (likely(ticket)) {
		ki = is_over ? NULL : kwq_find_held(handle, ticket);
		return ki ?: ERR_PTR(-ESTALE);
	}
	ki = is_over ? NULL : kwq_keyed_find(handle->keyed, key);
	if (!ki || !(ki->item.state & KWQ_ITEM_PROCESSING))
		return ERR_PTR(-ENOENT);
	return kwq_handle_of(&ki->item) == handle ? ki : ERR_PTR(-EPERM);
}

/**
 * kwq_handle_end_locked() - end the processing of an item (Q6, L11, O2)
 * @handle: the handle; its queue's lock held
 * @ticket: the ticket; 0 to name the item by its key
 * @key: the key, with its hash; used without a ticket
 * @done_flags: 0 or KWQ_DONE_FORGET for a done; else as for kwq_settle_locked()
 * @now: current time
 *
 * Return: as kwq_core_done() or kwq_settle_locked(). With nothing changed: -ESTALE if the handle
 * holds nothing under that ticket any more (O3, Q20), -ENOENT if no such key is being processed,
 * -EPERM if another handle holds it.
 */
int kwq_handle_end_locked(struct kwq_handle *handle, u64 ticket, const struct kwq_key *key,
			  u32 done_flags, ktime_t now)
{
	struct kwq_keyed_item *ki = find_held(handle, ticket, key);
	struct kwq_keyed *keyed = handle->keyed;
	int ret;

	if (IS_ERR(ki))
		return PTR_ERR(ki);
	kwq_handout_end(handle, ki);
	if (unlikely(done_flags & KWQ_DONE_FORGET) && keyed->limits.values)
		kwq_keyed_drop_slot(keyed, ki, KWQ_NOTE);
	if (unlikely(done_flags & ~KWQ_DONE_FORGET))
		ret = kwq_settle_locked(&keyed->queue, &handle->holder, &ki->item, done_flags, now);
	else
		ret = kwq_done_locked(&keyed->queue, &handle->holder, &ki->item, done_flags, now);
	kwq_keyed_settle(keyed, ki, now);
	return ret;
}

/**
 * kwq_handle_done_and_get() - finish an item by its ticket, and get ready items
 * @handle: the handle
 * @ticket: the ticket
 * @done_flags: 0 or KWQ_DONE_FORGET
 * @result: out: the result of kwq_handle_end_locked()
 * @buffer: buffer for the items
 *
 * Both happen in one hold of the lock.
 *
 * Context: process; may sleep.
 * Return: how many items were got. 0 if no item is ready, or if the caller needs
 * kwq_handle_get() to get the first one.
 */
int kwq_handle_done_and_get(struct kwq_handle *handle, u64 ticket, u32 done_flags,
			    s32 *result, struct kwq_got_buffer *buffer)
{
	struct kwq_keyed *keyed = handle->keyed;
	unsigned long flags;
	int nr = 0;
	ktime_t now;

	note_caller(handle);
	spin_lock_irqsave(&keyed->queue.lock, flags);
	now = kwq_stamp_locked(&keyed->queue);
	*result = kwq_handle_end_locked(handle, ticket, NULL, done_flags, now);
	if (can_get_locked(keyed))
		nr = get_some_locked(handle, buffer, now);
	kwq_keyed_unlock(keyed, flags);
	return max(nr, 0);
}

/**
 * kwq_handle_extend_locked() - restart the lease of an item (O3)
 * @handle: the handle; its queue's lock held
 * @ticket: the ticket; 0 to name the item by its key
 * @key: the key, with its hash; used without a ticket
 * @extras: brings a note, with KWQ_ADD_NOTE; or NULL
 * @now: current time
 * @stock: has the charge of the note; used with @extras
 *
 * In a queue without leases this only checks the ticket or the key, and gives the item the note.
 *
 * Return: 0, or an error of kwq_handle_end_locked() or kwq_keyed_note_locked().
 */
int kwq_handle_extend_locked(struct kwq_handle *handle, u64 ticket, const struct kwq_key *key,
			     struct kwq_extras *extras, ktime_t now, struct kwq_stock *stock)
{
	struct kwq_keyed_item *ki = find_held(handle, ticket, key);
	int ret;

	if (IS_ERR(ki))
		return PTR_ERR(ki);
	if (unlikely(extras && extras->flags)) {
		ret = kwq_keyed_note_locked(handle->keyed, ki, extras, stock);
		if (ret)
			return ret;
		kwq_keyed_settle(handle->keyed, ki, now);
	}
	kwq_handout_extend(handle->keyed, ki, now);
	return 0;
}

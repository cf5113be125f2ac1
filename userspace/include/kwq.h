/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libkwq: keyed work queues of the kernel, for programs.
 *
 * A queue holds no key twice, and hands no key to two workers at once. If a key is added
 * while a worker has it, the queue hands it out once more. kwq(7) defines the terms.
 * libkwq(3) has an example for each function.
 *
 * Conventions of all functions, unless a function says otherwise:
 *
 * - Return value: zero or positive on success, else a negative errno value. The value
 *   of errno itself is unspecified after a call.
 * - Threads: any number of threads may call any function at once, on the same handle
 *   too. kwq_close() must be the last call on its handle. No function may be called
 *   from a signal handler.
 * - Memory: kwq_create(), kwq_open(), kwq_reopen() and kwq_from_fd() allocate the
 *   handle, and kwq_close() frees it. Nothing else is allocated. kwq_add() may map the
 *   board of the queue, 64 KiB for reading: see kwq_use_board().
 * - Time: nanoseconds on the clock of the queue. A delay is relative, and so is the
 *   timeout of a function whose name ends in _within. A deadline is absolute:
 *   kwq_deadline() computes one, and KWQ_NO_DEADLINE never comes.
 * - Signals: a call that a signal interrupts returns -EINTR, unless the kernel
 *   restarts it (SA_RESTART). The library retries nothing.
 * - Keys are 1 to KWQ_KEY_MAX bytes of any value.
 * - Arguments: @q is a handle with the right that KWQ_RIGHTS_ALL names for the call; a
 *   done needs the handle that holds the item. @key has @len bytes. Where a call fills in
 *   @item, @key has room for @room bytes. A call stops waiting at @deadline, or when
 *   @timeout_ns has passed. A comment names an argument only if there is more to say.
 */
#ifndef KWQ_H
#define KWQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/kwq.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct kwq - a handle of a queue
 *
 * A handle is one open file description. It holds the items that were got through it.
 * When it is closed, by kwq_close() or by the end of the last process that has it, its
 * items are lost: the queue takes them back. Each worker process needs a handle of its own.
 * Then its death gives back only its own items.
 */
struct kwq;

/**
 * define KWQ_RIGHTS_ALL - all rights that a handle may have
 *
 * KWQ_RIGHT_READ allows get, done, extend, forget, requeues and listing keys.
 * KWQ_RIGHT_WRITE allows add. KWQ_RIGHT_MANAGE allows everything that changes the queue
 * or takes keys out. A handle's rights never widen.
 */
#define KWQ_RIGHTS_ALL	(KWQ_RIGHT_READ | KWQ_RIGHT_WRITE | KWQ_RIGHT_MANAGE)

/**
 * struct kwq_create_options - properties of a new queue
 * @size:	sizeof(struct kwq_create_options).
 * @open_flags:	O_NONBLOCK and O_CLOEXEC as wanted.
 * @rights:	KWQ_RIGHT_* bits of the new handle; 0 for all.
 * @mode:	permission bits of a named queue, less the umask. An unnamed queue has
 *		none. The bits r, w and x mean KWQ_RIGHT_READ, KWQ_RIGHT_WRITE and
 *		KWQ_RIGHT_MANAGE.
 * @clockid:	CLOCK_MONOTONIC, or CLOCK_BOOTTIME for delays that include the time
 *		while the system sleeps.
 * @or_open:	if a queue of this name exists, open that queue. That queue keeps its
 *		own mode, clock, limits and lease. It must have been created by the caller's
 *		user or by root: see kwq_check_owner().
 * @max_items:	largest number of items at once; 0 for the module's maximum.
 * @max_bytes:	largest number of bytes of memory for items and keys; 0 for the module's
 *		maximum.
 * @config:	the queue's limiters and retry rules; NULL for the default. The caller
 *		sets @config->size to sizeof(struct kwq_config).
 * @lease:	how long an item may be held (the visibility timeout), in ns on the
 *		queue's clock, up to 2^63 - 1; 0 for no lease. When the lease expires, the
 *		queue takes the item back. kwq_extend() begins the lease again.
 * @values:	keys may carry values: see kwq_add_value().
 * @groups:	keys may belong to groups: see kwq_add_group().
 * @group_limit: with @groups, most items of one group that are processing at once; 0 for no
 *		limit.
 * @aging:	after this time in ns, up to 2^63 - 1, a ready item counts as one priority higher,
 *		after twice the time as two, and so on, so that none starves; 0 for never.
 * @no_durations: the queue measures neither how long a key is ready nor how long it is processed,
 *		and is faster: see KWQ_CREATE_NO_DURATIONS. Excludes @lease, @aging, and
 *		@config->forget_after.
 * @changes:	a program may follow the changes of the queue: see kwq_follow().
 * @sync:	with @changes, adds, dones, removes, forgets and restores return only when all
 *		changes so far are kept, as by kwq_sync(): see KWQ_CREATE_SYNC.
 * @outbox:	a queue to which the adds of this one go, from which its manager takes them: see
 *		KWQ_CREATE_OUTBOX. The handle needs KWQ_RIGHT_WRITE, and may be closed afterwards.
 *		The outbox has the same clock, and no outbox itself. NULL for none.
 *
 * Members that a program does not use must be zero. @clockid must always be set: 0 is
 * CLOCK_REALTIME, which no queue can have.
 */
struct kwq_create_options {
	size_t size;
	int open_flags;
	mode_t mode;
	clockid_t clockid;
	bool or_open;
	uint64_t max_items;
	uint64_t max_bytes;
	const struct kwq_config *config;
	uint64_t lease;
	unsigned int rights;
	bool values;
	bool groups;
	unsigned int group_limit;
	uint64_t aging;
	bool no_durations;
	bool changes;
	bool sync;
	const struct kwq *outbox;
};

/**
 * struct kwq_add_options - how to add
 * @size:	sizeof(struct kwq_add_options).
 * @flags:	KWQ_ADD_* bits of <linux/kwq.h>.
 * @priority:	with KWQ_ADD_PRIORITY, KWQ_PRIORITY_MIN to KWQ_PRIORITY_MAX. The queue
 *		hands out the highest priority first.
 * @time:	a delay with KWQ_ADD_AFTER, an absolute time with KWQ_ADD_AT.
 * @value:	with KWQ_ADD_VALUE, the key's value. The queue copies it.
 * @value_len:	its length in bytes, up to KWQ_VALUE_MAX; 0 takes the key's value away.
 * @at_most:	with KWQ_ADD_AT_MOST, the longest wait in ns, from its first add.
 * @group:	with KWQ_ADD_GROUP, the name of the key's group: any bytes.
 * @group_len:	its length in bytes, up to KWQ_GROUP_MAX; 0 takes the key out of its group.
 * @note:	with KWQ_ADD_NOTE, the key's note, such as why its last run failed: see kwq_note().
 * @note_len:	its length in bytes, up to KWQ_NOTE_MAX; 0 takes the key's note away.
 */
struct kwq_add_options {
	size_t size;
	uint32_t flags;
	int32_t priority;
	uint64_t time;
	const void *value;
	size_t value_len;
	uint64_t at_most;
	const void *group;
	size_t group_len;
	const void *note;
	size_t note_len;
};

/**
 * struct kwq_item - one item that was handed out
 * @ticket:	the number of this hand-out, never 0. No other hand-out of the queue has
 *		the same ticket, and later hand-outs have higher ones.
 * @key_len:	length of its key in bytes.
 * @priority:	its priority.
 * @abandoned:	how often it was lost since it was last done. An item is lost when its
 *		handle is closed or its lease expires.
 * @done:	kwq_next() only: the result of the done; see there.
 * @requeues:	how often it was rate-limited since it was last forgotten.
 * @value_len:	length of its value in bytes; 0 for none. Only kwq_get_value() and its
 *		variants fetch values.
 * @group_len:	length of the name of its group in bytes; 0 for none. Only kwq_get_value() and its
 *		variants fetch it.
 * @token:	a number that the manager of the queue gave this hand-out; 0 for none. Only
 *		kwq_get_value() and its variants fetch it. Later hand-outs of a key have higher
 *		ones, so that a store can refuse a late writer.
 */
struct kwq_item {
	uint64_t ticket;
	size_t key_len;
	int priority;
	unsigned int abandoned;
	int done;
	unsigned int requeues;
	size_t value_len;
	size_t group_len;
	uint64_t token;
};

/* ---- Handles -------------------------------------------------------------- */

/**
 * kwq_create() - create a queue and open it
 * @name:	1 to KWQ_NAME_MAX bytes without a slash, or NULL for an unnamed queue.
 *		An unnamed queue lives as long as its handles. A named queue lives until
 *		it is unlinked and its last handle is closed.
 * @options:	properties of the queue. NULL for all rights, O_CLOEXEC, mode 0700,
 *		CLOCK_MONOTONIC and the module's highest limits.
 *
 * Return: 0, or -E2BIG (@options has members that this library does not know, or @lease
 * is set and the module has no leases), -EACCES (the mode of the device, or of the
 * existing queue, forbids it), -EBADF (the handle @outbox lacks the right to add),
 * -EDQUOT (this user has too many queues, or too much memory in them), -EEXIST, -EINVAL
 * (name, flags, mode, clock, limit, lease or outbox), -EMFILE, -ENAMETOOLONG, -ENFILE,
 * -ENODEV (no /dev/kwq: the module is not loaded), -ENOMEM, -EPERM (with @or_open, the
 * queue that exists was created by a user who is neither the caller's nor root).
 */
int kwq_create(struct kwq **q, const char *name,
	       const struct kwq_create_options *options);

/**
 * kwq_open() - open a queue by its name
 * @name:	its name.
 * @rights:	KWQ_RIGHT_* bits of the new handle, at least one.
 * @open_flags:	as in &struct kwq_create_options; O_CLOEXEC is not implied.
 *
 * Return: 0, or -EACCES, -EINVAL, -EMFILE, -ENAMETOOLONG, -ENFILE, -ENODEV,
 * -ENOENT (no such queue), -ENOMEM.
 */
int kwq_open(struct kwq **q, const char *name, unsigned int rights, int open_flags);

/**
 * kwq_check_owner() - whether a queue was created by the caller's user or by root
 * @q:		the queue, open with any rights.
 *
 * Everybody who may use /dev/kwq can create a queue of a name that is free, and read, change
 * or take out what others add to it then. So a program that makes a queue unless it exists asks
 * this before it trusts one that exists. kwq_create() with @or_open does so itself, and kwq_open()
 * does not, because a program may mean the queue of another user.
 *
 * Return: 0, or -EPERM (another user created the queue).
 */
int kwq_check_owner(const struct kwq *q);

/**
 * kwq_reopen() - open a second handle of the same queue
 * @q:		receives the new handle, which holds its own items.
 * @of:		a handle of the queue.
 * @rights:	as in kwq_open(), but only rights that @of has.
 * @open_flags:	as in kwq_open().
 *
 * Return: 0, or -EACCES, -EINVAL, -EMFILE, -ENFILE, -ENOMEM.
 */
int kwq_reopen(struct kwq **q, const struct kwq *of, unsigned int rights, int open_flags);

/**
 * kwq_from_fd() - make a handle from an inherited or received descriptor
 * @fd:		descriptor of a queue. On success the handle owns the descriptor; on
 *		failure the caller still owns it.
 *
 * Return: 0, or -EBADF (not open), -ENOMEM, -ENOTTY (not a queue).
 */
int kwq_from_fd(struct kwq **q, int fd);

/**
 * kwq_fd() - the descriptor of a handle
 * @q:		the handle, which keeps the descriptor.
 *
 * poll(2) reports the descriptor as readable when kwq_get() would not wait. It reports it
 * as writable when an add of a new key would find room. It reports POLLPRI when kwq_changes()
 * would not wait. Once the queue is shut down, it also reports POLLRDHUP, and POLLERR to those that
 * wait for room. Copies made by dup(2),
 * fork(2) and SCM_RIGHTS share the handle.
 *
 * Return: the descriptor. No errors.
 */
int kwq_fd(const struct kwq *q);

/**
 * kwq_use_board() - whether adds look at the board of the queue
 * @q:		the queue; a handle with the write right
 * @use:	true to begin now, false for never
 *
 * A board has keys of ready and of dirty items, of up to 56 bytes. kwq_add(), and
 * kwq_add_with() without any option, of such a key needs no system call. By default a
 * handle maps the board after its 16th add that coalesced, and stops to look at it after 64
 * looks in vain, until adds have coalesced again. This is right for most programs. A
 * program calls this function before it gives up the system calls ioctl(2) and mmap(2), or
 * to measure.
 *
 * Return: 0. If @use is true and the handle has not mapped the board yet, also -EBADF (no write
 * right), -EDQUOT, -EMFILE, -ENFILE, -ENOMEM, -EOPNOTSUPP (this machine's caches forbid it), or
 * -ENOTTY from a module without KWQ_FEATURE_BOARD.
 */
int kwq_use_board(struct kwq *q, bool use);

/**
 * kwq_close() - close a handle and free it
 * @q:		the handle; NULL does nothing.
 *
 * If no other process or descriptor has the same handle, the items that it holds are
 * lost: the queue takes them back and counts them as abandoned.
 */
void kwq_close(struct kwq *q);

/* ---- Queues by name, and the module --------------------------------------- */

/**
 * kwq_unlink() - remove a queue's name
 * @name:	the name. Another queue may have it at once. The queue itself, with the
 *		items left in it, is freed when its last handle is closed.
 *
 * Return: 0, or -EACCES (the device), -EINVAL, -ENAMETOOLONG, -ENODEV, -ENOENT,
 * -EPERM (not the owner of the queue, no CAP_FOWNER).
 */
int kwq_unlink(const char *name);

/**
 * kwq_list() - list the named queues
 * @entries:	array to fill in, sorted by name.
 * @nr:		its length, 1 to KWQ_BATCH_MAX.
 * @after:	list only names that sort after this one; NULL to begin. Pass the last
 *		name received to continue.
 *
 * Return: the number of entries filled in, 0 at the end of the list, or
 * -EACCES, -EFAULT, -EINVAL, -ENAMETOOLONG, -ENODEV, -ENOMEM.
 */
int kwq_list(struct kwq_list_entry *entries, unsigned int nr, const char *after);

/**
 * kwq_info() - features and limits of the module
 * @info:	filled in. The caller sets @info->size to sizeof(*info) first.
 *
 * Return: 0, or -EACCES, -EFAULT, -EINVAL (size), -ENODEV.
 */
int kwq_info(struct kwq_info *info);

/* ---- Adding --------------------------------------------------------------- */

/**
 * kwq_add() - add a key
 *
 * Return: KWQ_ADDED (it is ready), KWQ_COALESCED (it was ready already), KWQ_DIRTIED
 * (it is being processed, and its done will make it ready again), KWQ_DIRTY (as
 * KWQ_DIRTIED, and it had been added again before), or -EBADF (not open for writing),
 * -EFAULT, -EINVAL (empty key), -EMSGSIZE (more than KWQ_KEY_MAX bytes), -EDQUOT (the
 * queues of its owner hold too much memory), -ENOMEM, -ENOSPC (the queue is full),
 * -ESHUTDOWN.
 */
int kwq_add(struct kwq *q, const void *key, size_t len);

/**
 * kwq_add_wait() - add a key; wait for room if the queue is full
 *
 * A key that is in the queue already needs no room. poll(2) with POLLOUT waits for room
 * without adding.
 *
 * Return: as kwq_add(), or -EAGAIN (no room, and the handle has O_NONBLOCK), -E2BIG (the
 * module cannot wait for room), -EINTR, -ETIMEDOUT. -ENOSPC means that the queue could not
 * hold the key even if it were empty. -EDQUOT means that other calls of the user have as much
 * memory as calls may have.
 */
int kwq_add_wait(struct kwq *q, const void *key, size_t len, uint64_t deadline);

/**
 * kwq_add_wait_within() - add a key; wait for room, up to a timeout
 *
 * Return: as kwq_add_wait().
 */
int kwq_add_wait_within(struct kwq *q, const void *key, size_t len, uint64_t timeout_ns);

/**
 * kwq_add_after() - add a key after a delay
 * @delay_ns:	the delay; 0 is kwq_add(). A delay beyond the end of the clock means the
 *		end of the clock. If one key gets several times, the earliest counts;
 *		kwq_add_with() has other policies.
 *
 * Return: KWQ_WAITING (it waits), KWQ_COALESCED (it was waiting already), the results
 * of kwq_add() if the time has passed already, or the errors of kwq_add().
 */
int kwq_add_after(struct kwq *q, const void *key, size_t len, uint64_t delay_ns);

/**
 * kwq_add_with() - add a key with a priority, a time, or a policy
 * @options:	how to add; NULL is kwq_add().
 *
 * Return: as kwq_add_after(), or -E2BIG (@options has members that this library does
 * not know), -EINVAL (unknown or contradictory flags, a priority out of range).
 */
int kwq_add_with(struct kwq *q, const void *key, size_t len,
		 const struct kwq_add_options *options);

/**
 * kwq_add_debounced() - add a key after the last of several events
 * @after_ns:	delay after this add; it postpones a waiting key.
 * @at_most_ns:	the longest wait, from its first add; at least 1.
 *
 * The key is ready when no such add has come for @after_ns, but at the latest @at_most_ns after
 * the first.
 *
 * Return: as kwq_add_after(), or -EINVAL (@at_most_ns is 0).
 */
int kwq_add_debounced(struct kwq *q, const void *key, size_t len, uint64_t after_ns,
		      uint64_t at_most_ns);

/**
 * kwq_add_value() - add a key with a value
 * @q:		the queue, open for writing, made with KWQ_CREATE_VALUES.
 * @value:	the value. The queue copies it.
 * @value_len:	its length in bytes, up to KWQ_VALUE_MAX; 0 takes the key's value away.
 *
 * The value takes the place of an earlier one. It stays with the key until the key is neither
 * ready, waiting, processing nor dead. A value that comes while the key is being processed is
 * for its next run. kwq_add_with() can also keep the first value, or add a delay.
 *
 * Return: as kwq_add(), or -EMSGSIZE (the value is too long), -EOPNOTSUPP (the queue has no
 * values).
 */
int kwq_add_value(struct kwq *q, const void *key, size_t len, const void *value,
		  size_t value_len);

/**
 * kwq_add_rate_limited() - add a key after the delay that the queue's limiters choose
 *
 * The key's requeues go up by one. kwq_forget() sets them to 0.
 *
 * Return: as kwq_add_after(), or KWQ_DEAD: the key was rate-limited more often than the
 * queue allows. It is a dead letter now or, while it is being processed, from its done
 * on.
 */
int kwq_add_rate_limited(struct kwq *q, const void *key, size_t len);

/* ---- Getting and finishing ------------------------------------------------ */

/**
 * kwq_get() - take the first ready item; wait for one
 * @q:		the queue, open for reading. The handle holds the item from now on.
 * @room:	its size in bytes; KWQ_KEY_MAX is always enough.
 *
 * Return: 0, or -EAGAIN (nothing ready, and the handle has O_NONBLOCK), -EBADF (not
 * open for reading), -EFAULT (the item is back in its old place), -EINTR, -EMSGSIZE
 * (the key does not fit; the item is back in its old place), -ESHUTDOWN (shut down, and
 * nothing is left to get), -ETIMEDOUT.
 */
int kwq_get(struct kwq *q, struct kwq_item *item, void *key, size_t room,
	    uint64_t deadline);

/**
 * kwq_get_within() - take the first ready item; wait for one, up to a timeout
 * @q:		the queue, open for reading. The handle holds the item from now on.
 * @room:	its size in bytes; KWQ_KEY_MAX is always enough.
 * @timeout_ns:	how long to wait, counted from the call. A timeout beyond the end of the
 *		clock, or KWQ_NO_DEADLINE, means for ever. A call that the kernel
 *		restarts after a signal keeps its first deadline.
 *
 * Return: as kwq_get().
 */
int kwq_get_within(struct kwq *q, struct kwq_item *item, void *key, size_t room,
		   uint64_t timeout_ns);

/**
 * kwq_add_group() - add a key to a group
 * @q:		the queue, open for writing, made with KWQ_CREATE_GROUPS.
 * @group:	the name of the group: any bytes. Groups need no creation.
 * @group_len:	its length in bytes, up to KWQ_GROUP_MAX; 0 takes the key out of its group.
 *
 * Within a priority, groups with ready keys take turns. At most as many keys of one group are
 * being processed at once as the queue was made to allow. The key belongs to the group until it is
 * neither ready, waiting, processing nor dead, or until an add names another group. A run counts
 * in the group in which it began. kwq_add_with() can also add a delay, a priority or a value.
 *
 * Return: as kwq_add(), or -EMSGSIZE (the name is too long), -EOPNOTSUPP (the queue has no
 * groups).
 */
int kwq_add_group(struct kwq *q, const void *key, size_t len, const void *group,
		  size_t group_len);

/**
 * kwq_get_value() - take the first ready item with its group and value; wait for one
 * @q:		the queue, open for reading. The handle holds the item from now on.
 * @item:	filled in. The name of its group begins @item->key_len bytes behind @data, and the
 *		value @item->group_len bytes behind that.
 * @data:	room for the key, the name and the value.
 * @room:	its size in bytes; KWQ_KEY_MAX + KWQ_GROUP_MAX + KWQ_VALUE_MAX is always enough.
 *
 * Return: as kwq_get(); -EMSGSIZE if they do not fit.
 */
int kwq_get_value(struct kwq *q, struct kwq_item *item, void *data, size_t room,
		  uint64_t deadline);

/**
 * kwq_get_value_within() - kwq_get_value() with a timeout
 *
 * Return: as kwq_get_value().
 */
int kwq_get_value_within(struct kwq *q, struct kwq_item *item, void *data, size_t room,
			 uint64_t timeout_ns);

/**
 * kwq_try_get_value() - kwq_get_value() that does not wait
 *
 * Return: as kwq_get_value(), with -EAGAIN if nothing is ready.
 */
int kwq_try_get_value(struct kwq *q, struct kwq_item *item, void *data, size_t room);

/**
 * kwq_try_get() - take the first ready item; do not wait
 *
 * Return: as kwq_get(), with -EAGAIN if nothing is ready.
 */
int kwq_try_get(struct kwq *q, struct kwq_item *item, void *key, size_t room);

/**
 * kwq_done() - finish an item that this handle holds
 * @ticket:	the item's ticket.
 *
 * Return: KWQ_FINISHED, or one or both of these bits: KWQ_REQUEUED (the item was added
 * meanwhile and is ready again), KWQ_STILL_WAITING (the item waits for a time); or
 * -EBADF (not open for reading), -EINVAL (ticket 0), -ENOMEM, -ESTALE (this handle does
 * not hold the hand-out of that ticket, or its lease has expired).
 */
int kwq_done(struct kwq *q, uint64_t ticket);

/**
 * kwq_done_with() - finish an item that this handle holds, with flags
 * @ticket:	the item's ticket.
 * @flags:	KWQ_DONE_FORGET also sets the item's requeues to 0, as
 *		kwq_forget() does. KWQ_DONE_DEAD is kwq_bury(), and may be combined with
 *		it. KWQ_DONE_RETURN is kwq_give_back(). 0 is kwq_done().
 *
 * Return: as kwq_done(), kwq_bury() or kwq_give_back(); -EINVAL also for unknown flags, and
 * for KWQ_DONE_RETURN with another one.
 */
int kwq_done_with(struct kwq *q, uint64_t ticket, uint32_t flags);

/**
 * kwq_bury() - finish an item that this handle holds, and make it a dead letter
 * @ticket:	the item's ticket.
 *
 * The item is dead, as if it had been tried too often, whether or not the queue has a limit
 * of tries. It can be listed, kicked and dropped, and an add brings it back. An add or a time
 * that came during the hand-out is a new event: then the item does not die, and gets that
 * run. A queue that is shut down keeps no dead items.
 *
 * Return: KWQ_BURIED if it is dead, else as kwq_done(); the errors of kwq_done(), with
 * -EINVAL also from a module without KWQ_FEATURE_SETTLE.
 */
int kwq_bury(struct kwq *q, uint64_t ticket);

/**
 * kwq_give_back() - return an item to the queue as if it had not been handed out
 * @ticket:	the item's ticket.
 *
 * A worker calls this for items that it has not begun. The item is ready at the head of its
 * priority. It keeps its requeues, and its time if it is waiting, and does not count as lost.
 * An add that came during the hand-out is served by the same run, and can raise the priority.
 * Of several items that are given back, the last one comes first.
 *
 * Return: KWQ_RETURNED, and the bit KWQ_STILL_WAITING if the item waits for a time, too; the
 * errors of kwq_done(), with -EINVAL also from a module without KWQ_FEATURE_SETTLE.
 */
int kwq_give_back(struct kwq *q, uint64_t ticket);

/**
 * kwq_done_key() - finish an item, named by its key
 *
 * Costs one look-up more than kwq_done().
 *
 * Return: as kwq_done(), or -EBADF, -EFAULT, -EINVAL, -EMSGSIZE, -ENOENT (no such
 * key is being processed), -ENOMEM, -EPERM (another handle holds it).
 */
int kwq_done_key(struct kwq *q, const void *key, size_t len);

/**
 * kwq_extend() - extend the lease of an item that this handle holds
 * @ticket:	the item's ticket.
 *
 * From now on the handle may hold the item for &kwq_create_options.lease, which kwq_stat() tells.
 * In a queue without leases the call changes nothing.
 *
 * Return: 0, or -EBADF (not open for reading), -EINVAL (ticket 0), -ENOMEM, -ENOTTY
 * (the module has no leases), -ESTALE (this handle does not hold the hand-out of that
 * ticket, or its lease has expired; another worker may have the item now).
 */
int kwq_extend(struct kwq *q, uint64_t ticket);

/**
 * kwq_note() - say something of an item that this handle holds, and extend its lease
 * @ticket:	the item's ticket.
 * @note:	any bytes; NULL if @len is 0.
 * @len:	their number, up to KWQ_NOTE_MAX; 0 takes the item's note away.
 *
 * The note takes the place of an earlier one. Lists of the queue show it (see KWQ_LIST_NOTES), so
 * a worker whose run has failed says why in this way, before it adds the key
 * again or calls kwq_bury(). The item has its note until it leaves the queue, or until its
 * requeues are forgotten, as a run that ends well does with KWQ_DONE_FORGET.
 *
 * Return: 0, or the errors of kwq_extend(), -EDQUOT, -EINVAL (a module without
 * KWQ_FEATURE_NOTES), -EMSGSIZE (@len), -ENOSPC (the queue is full), -EOPNOTSUPP (the queue has
 * no values). The lease is not extended then.
 */
int kwq_note(struct kwq *q, uint64_t ticket, const void *note, size_t len);

/**
 * kwq_extend_key() - extend the lease of an item, named by its key
 *
 * Threads that share a handle must use kwq_extend(): a key does not tell which of them
 * holds the item. An item that one thread lost may be with another thread.
 *
 * Return: 0, or -EBADF, -EFAULT, -EINVAL, -EMSGSIZE, -ENOENT (no such key is being
 * processed), -ENOMEM, -ENOTTY, -EPERM (another handle holds it).
 */
int kwq_extend_key(struct kwq *q, const void *key, size_t len);

/**
 * kwq_next() - finish one item and get the next, in one call
 * @ticket:	ticket of the item to finish.
 * @item:	filled in with the next item. It may be the structure that holds
 *		@ticket.
 * @key:	room for the next key.
 * @deadline:	when to stop waiting for the next item.
 *
 * In any case @item->done receives the result of the done: that of kwq_done(), or
 * -ECANCELED if the call failed before the done. After an error with any other
 * @item->done the item is finished already: continue with kwq_get().
 *
 * Return: as kwq_get(); also -EINVAL (ticket 0), -ENOMEM.
 */
int kwq_next(struct kwq *q, uint64_t ticket, struct kwq_item *item, void *key,
	     size_t room, uint64_t deadline);

/**
 * kwq_next_within() - finish one item and get the next, with a timeout
 * @ticket:	ticket of the item to finish.
 * @item:	filled in with the next item, as in kwq_next().
 * @key:	room for the next key.
 *
 * Return: as kwq_next().
 */
int kwq_next_within(struct kwq *q, uint64_t ticket, struct kwq_item *item, void *key,
		    size_t room, uint64_t timeout_ns);

/**
 * kwq_remove() - take a key out
 *
 * A key that is idle, and remembered for its requeues, is forgotten: KWQ_WAS_REMEMBERED.
 *
 * Return: the former state of the item, as KWQ_WAS_* bits, or -EBADF, -EFAULT, -EINVAL,
 * -EMSGSIZE, -ENOENT (the queue has no such key), -ENOMEM.
 */
int kwq_remove(struct kwq *q, const void *key, size_t len);

/* ---- Retries -------------------------------------------------------------- */

/**
 * kwq_forget() - set a key's requeues to 0, and nothing else
 *
 * An item that is being processed still needs its done.
 *
 * Return: the former requeues; 0 for a key that the queue does not know; or -EBADF,
 * -EFAULT, -EINVAL, -EMSGSIZE, -ENOMEM.
 */
int kwq_forget(struct kwq *q, const void *key, size_t len);

/**
 * kwq_num_requeues() - how often a key was rate-limited since it was last forgotten
 *
 * Return: the number; 0 for a key that the queue does not know; or -EBADF, -EFAULT,
 * -EINVAL, -EMSGSIZE, -ENOMEM.
 */
int kwq_num_requeues(struct kwq *q, const void *key, size_t len);

/**
 * kwq_configure() - set the limiters and retry rules of a queue
 * @config:	the new configuration. The caller sets @config->size to sizeof(*config).
 *
 * Return: 0, or -E2BIG (@config uses something that this module does not know), -EBADF,
 * -EFAULT, -EINVAL (a rate or burst of 0, a base above its max, a time beyond 2^63 - 1
 * ns, an unknown limiter, too many limiters), -ENOMEM.
 */
int kwq_configure(struct kwq *q, const struct kwq_config *config);

/**
 * kwq_config() - read the limiters and retry rules of a queue
 * @config:	filled in. The caller sets @config->size to sizeof(*config). To receive
 *		the limiters, the caller also sets @config->limiters,
 *		@config->limiter_size, and @config->nr to the length of the array. All
 *		other members must be zero.
 *
 * Return: 0, or -EFAULT, -EINVAL, -ENOMEM. @config->nr receives the number of limiters
 * of the queue, even if the array is shorter.
 */
int kwq_config(const struct kwq *q, struct kwq_config *config);

/**
 * kwq_kick() - bring a dead item back
 * @key:	its key.
 *
 * Return: KWQ_ADDED, or the errors of kwq_add(), or -ENOENT (no such item is dead).
 */
int kwq_kick(struct kwq *q, const void *key, size_t len);

/**
 * kwq_drop() - take a dead item out
 * @key:	its key.
 *
 * Return: KWQ_WAS_DEAD, or the errors of kwq_remove(); -ENOENT if no such item is
 * dead.
 */
int kwq_drop(struct kwq *q, const void *key, size_t len);

/* ---- Looking inside ------------------------------------------------------- */

/**
 * kwq_list_items() - list items of a queue, in pages
 * @list:	the request, as <linux/kwq.h> describes it. The caller sets
 *		@list->size to sizeof(*list), and @list->after to 0 to begin.
 *		@list->after receives the value for the next page, 0 at the end.
 *
 * The list ends when @list->after is 0. A page may be shorter than its room before that,
 * and even empty. The items come in no useful order: sort them with kwq_listed_compare().
 *
 * Return: the number of entries filled in, or -EBADF, -EFAULT, -EINTR, -EINVAL, -EMSGSIZE
 * (the first key does not fit), -ENOENT (KWQ_LIST_KEY, and the queue has no such key),
 * -ENOMEM, -ENOTTY (the module cannot list items).
 */
int kwq_list_items(struct kwq *q, struct kwq_list_items_args *list);

/**
 * kwq_look() - the state of one key
 *
 * Return: 0, or -EBADF, -EFAULT, -EINVAL (empty key), -EMSGSIZE (more than KWQ_KEY_MAX
 * bytes), -ENOENT (the queue has no such key), -ENOMEM, -ENOTTY (the module cannot list
 * items).
 */
int kwq_look(struct kwq *q, const void *key, size_t len, struct kwq_listed *item);

/**
 * kwq_listed_compare() - the order of two listed items, for qsort(3)
 * @a:		address of a &struct kwq_listed, or of a structure that begins with one.
 * @b:		address of another one, listed by a request with the same states.
 *
 * Processing items come first, the oldest hand-out before all. Then come ready items in the
 * order in which they will be handed out, waiting items by their times, dead items from the
 * oldest death on, and remembered items.
 *
 * Return: less than, equal to or greater than 0. No errors.
 */
int kwq_listed_compare(const void *a, const void *b);

/* ---- Following ------------------------------------------------------------ */

/**
 * kwq_follow() - follow the changes of a queue from now on
 * @q:		the queue, open for reading and for managing. The handle follows until it is
 *		closed.
 * @number:	receives the number of the last change, for the first kwq_changes().
 *
 * To know all items: follow, list all items with kwq_list_items(), and then read the changes again
 * and again. A queue has one follower at a time.
 *
 * Return: 0, or -EBADF, -EBUSY (the queue has a follower already), -EOPNOTSUPP (the queue was
 * created without KWQ_CREATE_CHANGES), -ENOTTY (the module cannot be followed).
 */
int kwq_follow(struct kwq *q, uint64_t *number);

/**
 * kwq_changes() - read the items that have changed, and tell which changes are kept
 * @q:		a handle that follows.
 * @changes:	the request, as <linux/kwq.h> describes it. The caller sets @changes->size to
 *		sizeof(*changes), and at first @changes->after to the number of kwq_follow().
 *		@changes->after and @changes->of_queue receive the values for the next call. Each
 *		call sets @changes->resume to 0 and so begins a new wait.
 *
 * The queue stores no changes. It stores which items have changed, each once. So a slow follower
 * sees the last state of each item. An item that is gone has the state 0. poll(2) reports the
 * descriptor with POLLPRI when the call would not wait.
 *
 * Return: the number of entries filled in, 0 if only the queue itself has changed, or -EAGAIN
 * (nothing has changed, and the call must not wait), -EBADF (the handle does not follow), -EBUSY
 * (another thread reads changes), -EFAULT, -EINTR, -EINVAL, -EMSGSIZE (the first key does not
 * fit), -ENOMEM, -ETIMEDOUT.
 */
int kwq_changes(struct kwq *q, struct kwq_changes_args *changes);

/**
 * kwq_sync() - wait until all changes so far are kept
 *
 * This is fsync(2) for a queue whose follower keeps the changes, such as kwq keep. Without a
 * follower the call waits for one.
 *
 * Return: 0, or -EINTR, -EOPNOTSUPP (the queue was created without KWQ_CREATE_CHANGES),
 * -ETIMEDOUT, -ENOTTY (the module cannot be followed).
 */
int kwq_sync(struct kwq *q, uint64_t deadline);

/**
 * kwq_sync_within() - wait until all changes so far are kept, with a timeout
 *
 * Return: as kwq_sync().
 */
int kwq_sync_within(struct kwq *q, uint64_t timeout_ns);

/* ---- Batches -------------------------------------------------------------- */

/**
 * kwq_ptr() - convert an address for a member of &struct kwq_batch
 * @p:		the address.
 */
static inline uint64_t kwq_ptr(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/**
 * kwq_add_batch() - add many keys
 * @batch:	entries of &struct kwq_add_entry, at least one.
 *
 * Each entry has its own result, as from kwq_add_with(). The result -EFAULT means that
 * the entry was taken, but its result could no longer be written. The outcome of that
 * entry is unknown.
 *
 * Return: the number of entries taken, from the first on; or, with nothing changed,
 * -E2BIG, -EBADF, -EFAULT, -EINVAL, -EMSGSIZE (more than KWQ_BATCH_MAX entries),
 * -ENOMEM.
 */
int kwq_add_batch(struct kwq *q, const struct kwq_batch *batch);

/**
 * kwq_add_batch_wait() - add many keys; wait for room where there is none
 * @batch:	as for kwq_add_batch().
 *
 * The call waits at the first key that finds no room, and goes on from there. If the
 * wait ends, the result of that key is -ENOSPC or -EDQUOT, and the call returns how many keys
 * were taken before it.
 *
 * Return: as kwq_add_batch(); with no key taken also -EAGAIN, -EINTR and -ETIMEDOUT, as
 * kwq_add_wait().
 */
int kwq_add_batch_wait(struct kwq *q, const struct kwq_batch *batch, uint64_t deadline);

/**
 * kwq_add_batch_wait_within() - add many keys; wait for room, up to a timeout
 * @batch:	as for kwq_add_batch().
 *
 * Return: as kwq_add_batch_wait().
 */
int kwq_add_batch_wait_within(struct kwq *q, const struct kwq_batch *batch,
			      uint64_t timeout_ns);

/**
 * kwq_done_batch() - finish many items
 * @batch:	entries of &struct kwq_done_entry, at least one.
 *
 * Return: as kwq_add_batch(); each result as kwq_done() and kwq_done_key().
 */
int kwq_done_batch(struct kwq *q, const struct kwq_batch *batch);

/**
 * kwq_extend_batch() - extend the leases of many items
 * @batch:	entries of &struct kwq_extend_entry, at least one.
 *
 * Return: as kwq_add_batch(), or -ENOTTY (the module has no leases); each result as
 * kwq_extend() and kwq_extend_key().
 */
int kwq_extend_batch(struct kwq *q, const struct kwq_batch *batch);

/**
 * kwq_remove_batch() - take many keys out
 * @batch:	entries of &struct kwq_remove_entry, at least one.
 *
 * Return: as kwq_add_batch(); each result as kwq_remove().
 */
int kwq_remove_batch(struct kwq *q, const struct kwq_batch *batch);

/**
 * kwq_forget_batch() - forget many keys
 * @batch:	entries of &struct kwq_key_entry, at least one.
 *
 * Return: as kwq_add_batch(); each result as kwq_forget().
 */
int kwq_forget_batch(struct kwq *q, const struct kwq_batch *batch);

/**
 * kwq_num_requeues_batch() - read the requeues of many keys
 * @batch:	entries of &struct kwq_key_entry, at least one.
 *
 * Return: as kwq_add_batch(); each result as kwq_num_requeues().
 */
int kwq_num_requeues_batch(struct kwq *q, const struct kwq_batch *batch);

/**
 * kwq_restore_batch() - put many keys back as they were saved
 * @q:		the queue, open for writing and for managing.
 * @batch:	entries of &struct kwq_restore_entry, at least one. Their members are those of
 *		&struct kwq_listed, as from kwq_list_items(). Restore the items in the order of
 *		kwq_listed_compare().
 *
 * Return: as kwq_add_batch(), or -ENOTTY (the module cannot restore items). Each result is
 * KWQ_RESTORED for a new key. For a key that the queue has, it is as from kwq_add_with().
 */
int kwq_restore_batch(struct kwq *q, const struct kwq_batch *batch);

/**
 * kwq_get_batch() - add, finish and fetch, in one call
 * @q:		the queue, open for everything that @get requests.
 * @get:	the request, as <linux/kwq.h> describes it. The caller sets @get->size
 *		to sizeof(*get). @get->nr_added and @get->nr_done receive how many
 *		entries were added and finished, even if the call fails. @get->deadline
 *		must be 0 if the request fetches nothing. Each call sets @get->resume to 0
 *		and so begins a new wait.
 *
 * Return: the number of items fetched, or the errors of kwq_get() and
 * kwq_add_batch().
 */
int kwq_get_batch(struct kwq *q, struct kwq_get_args *get);

/* ---- The queue as a whole ------------------------------------------------- */

/**
 * kwq_len() - how many items are ready
 *
 * Return: the number, without items that are waiting or being processed. No errors.
 */
int kwq_len(const struct kwq *q);

/**
 * kwq_stat() - state and counters of a queue
 * @st:		filled in. The caller sets @st->size to sizeof(*st) first.
 *
 * Return: 0, or -EFAULT, -EINVAL (size).
 */
int kwq_stat(const struct kwq *q, struct kwq_stat *st);

/**
 * kwq_pause() - hand nothing out until kwq_resume()
 *
 * kwq_get() waits. Adds and dones go on, and items become ready when their time comes. The
 * pause belongs to the queue, and stays when this process ends. It takes the place of an
 * earlier pause.
 *
 * Return: 0, or -EBADF.
 */
int kwq_pause(struct kwq *q);

/**
 * kwq_pause_for() - hand nothing out for some time
 * @time_ns:	for how long, from now. It takes the place of an earlier pause.
 *
 * Return: 0, or -EBADF.
 */
int kwq_pause_for(struct kwq *q, uint64_t time_ns);

/**
 * kwq_resume() - end a pause
 *
 * As many waiting workers wake up as items are ready. If the queue is not paused, nothing
 * happens.
 *
 * Return: 0, or -EBADF.
 */
int kwq_resume(struct kwq *q);

/**
 * kwq_bpf_token() - let BPF programs add keys
 * @q:		the queue, open for writing.
 * @token:	set to a random number, by which a program names the queue.
 *
 * The kernel's functions bpf_kwq_add() and bpf_kwq_add_value() take the token. Whoever knows it may
 * add keys, until @q is closed. All calls with one handle return the same token.
 *
 * Return: 0, or -EBADF, -EDQUOT, -ENOMEM, -EOPNOTSUPP (this kernel has not what BPF programs need,
 * or the module was built without BTF), -ENOTTY (the module knows no tokens).
 */
int kwq_bpf_token(struct kwq *q, uint64_t *token);

/**
 * kwq_set_term() - set when all hand-outs end
 * @until:	when, on the queue's clock: see kwq_now(). KWQ_NO_DEADLINE for never. A time that
 *		has passed ends them now.
 *
 * From then on the queue hands nothing out, takes back all that is handed out, and refuses later
 * dones. A later term ends that. So a manager that may be stopped calls this again and again.
 *
 * If the old or the new time has passed, all is taken back before the call returns. The term
 * belongs to the queue, and stays when this process ends.
 *
 * Return: 0, or -EBADF, -EINTR (the caller is killed), -ENOTTY (the module knows no terms).
 */
int kwq_set_term(struct kwq *q, uint64_t until);

/**
 * kwq_set_term_within() - set after which time all hand-outs end
 * @timeout_ns:	how long hand-outs go on. 0 ends them at once, KWQ_NO_DEADLINE never does.
 *
 * Return: as kwq_set_term().
 */
int kwq_set_term_within(struct kwq *q, uint64_t timeout_ns);

/**
 * kwq_shut_down() - refuse new adds, hand out the ready items
 *
 * From now on adds fail. Waiting times and dead items are dropped. The call also ends
 * the wait of every kwq_shut_down_with_drain().
 *
 * Return: 0, or -EBADF.
 */
int kwq_shut_down(struct kwq *q);

/**
 * kwq_shut_down_with_drain() - shut down, and wait until all is done
 * @deadline:	when to stop waiting. The queue stays shut down in any case.
 *
 * Return: 0 once nothing is ready and nothing is being processed, or -EBADF, -ECANCELED
 * (a kwq_shut_down() ended the wait), -EINTR, -ETIMEDOUT.
 */
int kwq_shut_down_with_drain(struct kwq *q, uint64_t deadline);

/**
 * kwq_shut_down_with_drain_within() - shut down, and wait until all is done, with a
 * timeout
 * @timeout_ns:	how long to wait, as in kwq_get_within(). The queue stays shut down in
 *		any case.
 *
 * Return: as kwq_shut_down_with_drain().
 */
int kwq_shut_down_with_drain_within(struct kwq *q, uint64_t timeout_ns);

/**
 * kwq_shutting_down() - whether the queue has been shut down
 *
 * Return: 1 or 0. No errors.
 */
int kwq_shutting_down(const struct kwq *q);

/* ---- Time ----------------------------------------------------------------- */

/**
 * kwq_now() - the time on the queue's clock
 *
 * Return: nanoseconds. No errors.
 */
uint64_t kwq_now(const struct kwq *q);

/**
 * kwq_deadline() - the time on the queue's clock after a timeout from now
 * @timeout_ns:	the timeout.
 *
 * Return: nanoseconds; KWQ_NO_DEADLINE if the time is beyond the end of the clock. No
 * errors.
 */
uint64_t kwq_deadline(const struct kwq *q, uint64_t timeout_ns);

/**
 * kwq_advance() - move a manual clock forward by a duration
 * @q:		a queue that was made with KWQ_CLOCK_ID_MANUAL, open for managing.
 * @ns:		the duration. Items that become due are ready when the call returns.
 *
 * Return: 0, or -EBADF, -EOPNOTSUPP (the queue's clock is not a manual one), -EPERM
 * (the queue has a name and another owner).
 */
int kwq_advance(struct kwq *q, uint64_t ns);

/**
 * kwq_advance_to() - move a manual clock forward to a time
 * @q:		as for kwq_advance().
 * @time:	the time.
 *
 * Return: as kwq_advance(), or -EINVAL (@time is before the present one).
 */
int kwq_advance_to(struct kwq *q, uint64_t time);

/* ---- Backoff -------------------------------------------------------------- */

/** define KWQ_NO_RESET - the reset of a manager that never starts over */
#define KWQ_NO_RESET	(~0ULL)

/**
 * struct kwq_backoff_manager - a backoff that starts over after some time
 * @initial:	the backoff at the start.
 * @backoff:	its current state.
 * @reset:	the manager starts over if more time than this has passed since @last,
 *		in ns. 0 starts over at each step, KWQ_NO_RESET never.
 * @last:	the time of the last step, or of the last reset.
 * @from_reset:	@last is the time of the last reset, not of the last step.
 */
struct kwq_backoff_manager {
	struct kwq_backoff initial;
	struct kwq_backoff backoff;
	__u64 reset;
	__u64 last;
	bool from_reset;
};

/**
 * kwq_backoff_check() - check that a backoff is valid
 * @backoff:	the backoff.
 *
 * Return: 0, or -EINVAL.
 */
int kwq_backoff_check(const struct kwq_backoff *backoff);

/**
 * kwq_backoff_step() - the next pause
 * @backoff:	the backoff, which moves on by one step.
 * @random:	chooses the jitter, evenly from 0 (none) to 2^32 - 1 (almost all).
 *
 * Return: the pause in ns. No errors.
 */
__u64 kwq_backoff_step(struct kwq_backoff *backoff, __u32 random);

/**
 * kwq_backoff_after() - the pause after some steps
 * @backoff:	the backoff, which stays as it is.
 * @steps:	the number of steps.
 * @random:	as for kwq_backoff_step().
 *
 * Return: the pause in ns. No errors.
 */
__u64 kwq_backoff_after(const struct kwq_backoff *backoff, __u32 steps, __u32 random);

/**
 * kwq_backoff_manager_init() - start a manager
 * @manager:	the manager.
 * @backoff:	the backoff at the start and after each reset.
 * @reset:	the manager starts over when more ns than this have passed. KWQ_NO_RESET
 *		means never, 0 at each step.
 * @now:	the current time, on any clock.
 *
 * The time counts from the last step. To count from the last reset, set
 * @manager->from_reset after this call.
 */
void kwq_backoff_manager_init(struct kwq_backoff_manager *manager,
			      const struct kwq_backoff *backoff, __u64 reset, __u64 now);

/**
 * kwq_backoff_manager_step() - the next pause, or the first one after a reset
 * @manager:	the manager.
 * @now:	the current time.
 * @random:	as for kwq_backoff_step().
 *
 * Return: the pause in ns. No errors.
 */
__u64 kwq_backoff_manager_step(struct kwq_backoff_manager *manager, __u64 now, __u32 random);

/**
 * kwq_backoff_until() - run a function repeatedly until it returns false
 * @fn:		the function; returns true to be run again.
 * @arg:	its argument.
 * @manager:	chooses the pauses, on CLOCK_MONOTONIC.
 * @sliding:	true to count a pause from the end of the function, false to count it
 *		from the start.
 * @stop_fd:	when this descriptor becomes readable, the call ends in a pause or
 *		before the next run; -1 for none.
 *
 * Return: 0 once @fn has returned false, -ECANCELED if @stop_fd became readable, -EINTR
 * if a signal interrupted a pause.
 */
int kwq_backoff_until(bool (*fn)(void *arg), void *arg,
		      struct kwq_backoff_manager *manager, bool sliding, int stop_fd);

#ifdef __cplusplus
}
#endif

#endif /* KWQ_H */

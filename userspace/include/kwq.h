/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libkwq: keyed work queues of the kernel, for programs.
 *
 * A queue never holds a key twice, never hands it to two consumers at once, and
 * never loses an add made while the key is being processed. kwq(7) tells what
 * the words mean, libkwq(3) has an example for each function.
 *
 * Conventions, for every function that does not say otherwise:
 *
 * - Return value: zero or positive on success, else a negative errno value.
 *   errno itself is left in an unspecified state.
 * - Threads: all functions may be called from any number of threads at once,
 *   on one handle too; only kwq_close() must be the last to use its handle.
 *   None may be called from a signal handler.
 * - Memory: nothing is allocated but the handle, by kwq_create(), kwq_open(),
 *   kwq_reopen() and kwq_from_fd(); kwq_close() frees it.
 * - Time: nanoseconds on the clock of the queue. A delay is relative, and so is the
 *   timeout of a function that ends in _within. A deadline is absolute;
 *   kwq_deadline() makes one, KWQ_NO_DEADLINE is never.
 * - Nothing is retried: a call that a signal interrupts returns -EINTR, where
 *   the kernel does not restart it (SA_RESTART).
 * - Keys are 1 to KWQ_KEY_MAX bytes of any value.
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
 * One open file description. Items belong to the handle that got them: when it
 * is gone, by kwq_close() or by the end of the last process that has it, they
 * are given back. So workers that may die one by one want a handle each.
 */
struct kwq;

/**
 * define KWQ_RIGHTS_ALL - all rights that a handle may have
 *
 * KWQ_RIGHT_READ is for get, done, extend, forget, requeues and the list of the dead,
 * KWQ_RIGHT_WRITE for adds, and KWQ_RIGHT_MANAGE for all that changes the queue or takes
 * keys out. A handle's rights never widen.
 */
#define KWQ_RIGHTS_ALL	(KWQ_RIGHT_READ | KWQ_RIGHT_WRITE | KWQ_RIGHT_MANAGE)

/**
 * struct kwq_create_options - what a new queue shall be like
 * @size:	sizeof(struct kwq_create_options).
 * @open_flags:	O_NONBLOCK and O_CLOEXEC as wanted.
 * @rights:	KWQ_RIGHT_* bits that the handle shall have; 0 for all.
 * @mode:	permission bits of a named queue, less the umask; an unnamed queue
 *		has none. r, w and x mean KWQ_RIGHT_READ, KWQ_RIGHT_WRITE and
 *		KWQ_RIGHT_MANAGE.
 * @clockid:	CLOCK_MONOTONIC, or CLOCK_BOOTTIME for delays that count the time
 *		asleep.
 * @or_open:	if the name exists, open that queue. It keeps its own mode, clock,
 *		limits and lease.
 * @max_items:	most items at once; 0 for the module's highest.
 * @max_bytes:	most bytes of memory for items and keys; 0 for the module's
 *		highest.
 * @config:	how retries are limited; NULL for the default. The caller sets
 *		@config->size to sizeof(struct kwq_config).
 * @lease:	for how long an item may be held, in ns on the queue's clock, up to
 *		2^63 - 1; then it is taken back, unless kwq_extend() came before. 0
 *		for ever.
 *
 * Members that a program does not name are to be zero. (CLOCK_MONOTONIC is not
 * zero, but CLOCK_REALTIME is, which no queue can have: name the clock.)
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
};

/**
 * struct kwq_add_options - how to add
 * @size:	sizeof(struct kwq_add_options).
 * @flags:	KWQ_ADD_* bits of <linux/kwq.h>.
 * @priority:	with KWQ_ADD_PRIORITY, KWQ_PRIORITY_MIN to KWQ_PRIORITY_MAX, the
 *		highest out first.
 * @time:	with KWQ_ADD_AFTER a delay, with KWQ_ADD_AT an absolute time.
 */
struct kwq_add_options {
	size_t size;
	uint32_t flags;
	int32_t priority;
	uint64_t time;
};

/**
 * struct kwq_item - one item that was handed out
 * @ticket:	names this hand-out; never 0, never used again in its queue. Later
 *		hand-outs have higher ones.
 * @key_len:	bytes of its key.
 * @priority:	its priority.
 * @abandoned:	how often its holder vanished, or its lease ended, since it was last
 *		done.
 * @done:	kwq_next() only: how its done went; see there.
 * @requeues:	how often it was rate-limited since it was last forgotten.
 */
struct kwq_item {
	uint64_t ticket;
	size_t key_len;
	int priority;
	unsigned int abandoned;
	int done;
	unsigned int requeues;
};

/* ---- Handles -------------------------------------------------------------- */

/**
 * kwq_create() - make a queue and open it
 * @q:		receives the handle.
 * @name:	1 to KWQ_NAME_MAX bytes without a slash; or NULL for an unnamed
 *		queue, which lives as long as its handles. A named one lives until
 *		it is unlinked and its last handle is closed.
 * @options:	NULL for all rights, O_CLOEXEC, mode 0700, CLOCK_MONOTONIC and the
 *		module's highest limits.
 *
 * Return: 0, or
 * -E2BIG (@options has members that this library or, with @lease, the module does
 * not know), -EACCES (the mode of the device, or of the queue that exists, forbids),
 * -EDQUOT (this user has too many queues), -EEXIST,
 * -EINVAL (name, flags, mode, clock, limit or lease), -EMFILE, -ENAMETOOLONG,
 * -ENFILE, -ENODEV (no /dev/kwq: the module is not loaded), -ENOMEM.
 */
int kwq_create(struct kwq **q, const char *name,
	       const struct kwq_create_options *options);

/**
 * kwq_open() - open a queue by its name
 * @q:		receives the handle.
 * @name:	its name.
 * @rights:	KWQ_RIGHT_* bits that the handle shall have, one at least.
 * @open_flags:	as in &struct kwq_create_options; O_CLOEXEC is not implied.
 *
 * Return: 0, or -EACCES, -EINVAL, -EMFILE, -ENAMETOOLONG, -ENFILE, -ENODEV,
 * -ENOENT (no such queue), -ENOMEM.
 */
int kwq_open(struct kwq **q, const char *name, unsigned int rights, int open_flags);

/**
 * kwq_reopen() - open the queue of a handle once more
 * @q:		receives the new handle, with items of its own.
 * @of:		a handle of that queue.
 * @rights:	as in kwq_open(), and none that @of lacks.
 * @open_flags:	as in kwq_open().
 *
 * Return: 0, or -EACCES, -EINVAL, -EMFILE, -ENFILE, -ENOMEM.
 */
int kwq_reopen(struct kwq **q, const struct kwq *of, unsigned int rights, int open_flags);

/**
 * kwq_from_fd() - make a handle of a descriptor that was inherited or received
 * @q:		receives the handle.
 * @fd:		descriptor of a queue. On success it belongs to the handle; on
 *		failure it stays the caller's.
 *
 * Return: 0, or -EBADF (not open), -ENOMEM, -ENOTTY (not a queue).
 */
int kwq_from_fd(struct kwq **q, int fd);

/**
 * kwq_fd() - the descriptor of a handle
 * @q:		the handle, which keeps the descriptor.
 *
 * To poll: readable when kwq_get() would not wait, writable when an add of a new
 * key would find room, POLLRDHUP once the queue is shut down. To pass on: what dup(2),
 * fork(2) and SCM_RIGHTS copy stays one and the same handle.
 *
 * Return: the descriptor. No errors.
 */
int kwq_fd(const struct kwq *q);

/**
 * kwq_close() - close a handle and free it
 * @q:		the handle; NULL does nothing.
 *
 * Unless another process or descriptor has it too, the items it holds are given
 * back and counted as abandoned.
 */
void kwq_close(struct kwq *q);

/* ---- Queues by name, and the module --------------------------------------- */

/**
 * kwq_unlink() - take a queue's name away
 * @name:	the name, free for another queue at once. The queue itself goes
 *		with its last handle, and with it the items that are left.
 *
 * Return: 0, or -EACCES (the device), -EINVAL, -ENAMETOOLONG, -ENODEV, -ENOENT,
 * -EPERM (not the owner of the queue, no CAP_FOWNER).
 */
int kwq_unlink(const char *name);

/**
 * kwq_list() - list the named queues
 * @entries:	array to fill in, sorted by name.
 * @nr:		its length, 1 to KWQ_BATCH_MAX.
 * @after:	list only names that sort after this one; NULL to begin. Pass the
 *		last name received to go on.
 *
 * Return: the number of entries filled in, 0 at the end of the list, or
 * -EACCES, -EFAULT, -EINVAL, -ENAMETOOLONG, -ENODEV, -ENOMEM.
 */
int kwq_list(struct kwq_list_entry *entries, unsigned int nr, const char *after);

/**
 * kwq_info() - what the module offers
 * @info:	filled in. The caller sets @info->size to sizeof(*info) first.
 *
 * Return: 0, or -EACCES, -EFAULT, -EINVAL (size), -ENODEV.
 */
int kwq_info(struct kwq_info *info);

/* ---- Adding --------------------------------------------------------------- */

/**
 * kwq_add() - add a key
 * @q:		the queue, open for writing.
 * @key:	the key.
 * @len:	its length in bytes.
 *
 * Return: KWQ_ADDED (it is ready), KWQ_COALESCED (it was ready already),
 * KWQ_DIRTIED (it is being processed, and will be ready again at its done),
 * KWQ_DIRTY (the same, and it had been added again already), or -EBADF (not open
 * for writing), -EFAULT, -EINVAL (no byte), -EMSGSIZE (more than KWQ_KEY_MAX bytes),
 * -EDQUOT (its owner has too much in his queues), -ENOMEM, -ENOSPC (the queue is
 * full), -ESHUTDOWN.
 */
int kwq_add(struct kwq *q, const void *key, size_t len);

/**
 * kwq_add_after() - add a key after a delay
 * @q:		the queue, open for writing.
 * @key:	the key.
 * @len:	its length in bytes.
 * @delay_ns:	the delay; 0 is kwq_add(). One beyond the end of the clock means
 *		the end of the clock. Of several times of one key the earliest
 *		counts; kwq_add_with() has other policies.
 *
 * Return: KWQ_WAITING (it waits), KWQ_COALESCED (it was waiting already), what
 * kwq_add() returns where the time has come already, or the errors of kwq_add().
 */
int kwq_add_after(struct kwq *q, const void *key, size_t len, uint64_t delay_ns);

/**
 * kwq_add_with() - add a key with a priority, a time, or a policy
 * @q:		the queue, open for writing.
 * @key:	the key.
 * @len:	its length in bytes.
 * @options:	how; NULL is kwq_add().
 *
 * Return: as kwq_add_after(), or -E2BIG (@options has members that this library
 * does not know), -EINVAL (flags that are unknown or contradict each other, a
 * priority out of range).
 */
int kwq_add_with(struct kwq *q, const void *key, size_t len,
		 const struct kwq_add_options *options);

/**
 * kwq_add_rate_limited() - add a key when the queue's limiters say
 * @q:		the queue, open for writing.
 * @key:	the key.
 * @len:	its length in bytes.
 *
 * Raises the key's count of requeues, which kwq_forget() makes 0 again.
 *
 * Return: as kwq_add_after(), or KWQ_DEAD: it was rate-limited once more than the
 * queue allows, and is dead now or at its done.
 */
int kwq_add_rate_limited(struct kwq *q, const void *key, size_t len);

/* ---- Getting and finishing ------------------------------------------------ */

/**
 * kwq_get() - take the first ready item; wait for one
 * @q:		the queue, open for reading. It holds the item from now on.
 * @item:	filled in.
 * @key:	room for the key.
 * @room:	its size in bytes; KWQ_KEY_MAX is always enough.
 * @deadline:	until when to wait.
 *
 * Return: 0, or
 * -EAGAIN (nothing ready, and the handle has O_NONBLOCK),
 * -EBADF (not open for reading), -EFAULT (the item went back where it was),
 * -EINTR, -EMSGSIZE (the key does not fit; the item went back where it was),
 * -ESHUTDOWN (shut down, and nothing is left to get), -ETIMEDOUT.
 */
int kwq_get(struct kwq *q, struct kwq_item *item, void *key, size_t room,
	    uint64_t deadline);

/**
 * kwq_get_within() - take the first ready item; wait for one for so long
 * @q:		the queue, open for reading. It holds the item from now on.
 * @item:	filled in.
 * @key:	room for the key.
 * @room:	its size in bytes; KWQ_KEY_MAX is always enough.
 * @timeout_ns:	for how long to wait, from the call on; too long for the clock, or
 *		KWQ_NO_DEADLINE, is for ever. A call that is restarted after a signal
 *		does not begin to count anew.
 *
 * Return: as kwq_get().
 */
int kwq_get_within(struct kwq *q, struct kwq_item *item, void *key, size_t room,
		   uint64_t timeout_ns);

/**
 * kwq_try_get() - take the first ready item; do not wait
 * @q:		the queue, open for reading.
 * @item:	filled in.
 * @key:	room for the key.
 * @room:	its size in bytes.
 *
 * Return: as kwq_get(), with -EAGAIN if nothing is ready.
 */
int kwq_try_get(struct kwq *q, struct kwq_item *item, void *key, size_t room);

/**
 * kwq_done() - finish an item that this handle got
 * @q:		the handle that holds it.
 * @ticket:	the item's ticket.
 *
 * Return: KWQ_FINISHED, or one or both of these bits: KWQ_REQUEUED (it was added
 * meanwhile and is ready again), KWQ_STILL_WAITING (it waits for a time); or -EBADF
 * (not open for reading), -EINVAL (ticket 0), -ENOMEM, -ESTALE (this handle holds
 * nothing under that ticket, or no longer).
 */
int kwq_done(struct kwq *q, uint64_t ticket);

/**
 * kwq_done_with() - finish an item that this handle got, in one of several ways
 * @q:		the handle that holds it.
 * @ticket:	the item's ticket.
 * @flags:	KWQ_DONE_FORGET: its count of requeues begins again at 0, as by
 *		kwq_forget(). 0 is kwq_done().
 *
 * Return: as kwq_done(); -EINVAL also for unknown flags.
 */
int kwq_done_with(struct kwq *q, uint64_t ticket, uint32_t flags);

/**
 * kwq_done_key() - finish an item, named by its key
 * @q:		the handle that holds it.
 * @key:	the key.
 * @len:	its length in bytes.
 *
 * Dearer than kwq_done() by one look-up.
 *
 * Return: as kwq_done(), or -EBADF, -EFAULT, -EINVAL, -EMSGSIZE, -ENOENT (no such
 * key is being processed), -ENOMEM, -EPERM (another handle holds it).
 */
int kwq_done_key(struct kwq *q, const void *key, size_t len);

/**
 * kwq_extend() - begin the lease of an item that this handle got again
 * @q:		the handle that holds it.
 * @ticket:	the item's ticket.
 *
 * It may be held for &kwq_create_options.lease from now on. In a queue without
 * leases it may anyway.
 *
 * Return: 0, or -EBADF (not open for reading), -EINVAL (ticket 0), -ENOMEM,
 * -ENOTTY (a module that has no leases), -ESTALE (this handle holds nothing under
 * that ticket, or no longer: somebody else may have the item now).
 */
int kwq_extend(struct kwq *q, uint64_t ticket);

/**
 * kwq_extend_key() - begin the lease of an item, named by its key, again
 * @q:		the handle that holds it.
 * @key:	the key.
 * @len:	its length in bytes.
 *
 * Where threads share a handle only kwq_extend() tells whose hand-out it is: an item
 * that one of them lost may be with another one.
 *
 * Return: 0, or -EBADF, -EFAULT, -EINVAL, -EMSGSIZE, -ENOENT (no such key is being
 * processed), -ENOMEM, -ENOTTY, -EPERM (another handle holds it).
 */
int kwq_extend_key(struct kwq *q, const void *key, size_t len);

/**
 * kwq_next() - finish one item and get the next, in one call
 * @q:		the queue, open for reading.
 * @ticket:	ticket of the item to finish.
 * @item:	filled in with the next item; may be the finished one's.
 * @key:	room for the next key.
 * @room:	its size in bytes.
 * @deadline:	until when to wait for it.
 *
 * Whatever the call returns, @item->done tells how the done went: what kwq_done()
 * returns, or -ECANCELED if the call ended before it. Unless that is the case, go on
 * with kwq_get() after an error: the item is finished already.
 *
 * Return: as kwq_get(); also -EINVAL (ticket 0), -ENOMEM.
 */
int kwq_next(struct kwq *q, uint64_t ticket, struct kwq_item *item, void *key,
	     size_t room, uint64_t deadline);

/**
 * kwq_next_within() - finish one item and get the next, waiting for it for so long
 * @q:		the queue, open for reading.
 * @ticket:	ticket of the item to finish.
 * @item:	filled in with the next item; may be the finished one's.
 * @key:	room for the next key.
 * @room:	its size in bytes.
 * @timeout_ns:	for how long to wait, as in kwq_get_within().
 *
 * Return: as kwq_next().
 */
int kwq_next_within(struct kwq *q, uint64_t ticket, struct kwq_item *item, void *key,
		    size_t room, uint64_t timeout_ns);

/**
 * kwq_remove() - take a key out
 * @q:		the queue, open for managing.
 * @key:	the key.
 * @len:	its length in bytes.
 *
 * Return: what it was, as KWQ_WAS_* bits, or -EBADF, -EFAULT, -EINVAL,
 * -EMSGSIZE, -ENOENT (the queue has no such key), -ENOMEM.
 */
int kwq_remove(struct kwq *q, const void *key, size_t len);

/* ---- Retries -------------------------------------------------------------- */

/**
 * kwq_forget() - begin a key's count of requeues again at 0, and nothing else
 * @q:		the queue, open for reading.
 * @key:	the key.
 * @len:	its length in bytes.
 *
 * Done is still owed.
 *
 * Return: what the count was; 0 for a key that the queue does not know; or -EBADF,
 * -EFAULT, -EINVAL, -EMSGSIZE, -ENOMEM.
 */
int kwq_forget(struct kwq *q, const void *key, size_t len);

/**
 * kwq_num_requeues() - how often a key was rate-limited since it was last forgotten
 * @q:		the queue, open for reading.
 * @key:	the key.
 * @len:	its length in bytes.
 *
 * Return: the number; 0 for a key that the queue does not know; or -EBADF, -EFAULT,
 * -EINVAL, -EMSGSIZE, -ENOMEM.
 */
int kwq_num_requeues(struct kwq *q, const void *key, size_t len);

/**
 * kwq_configure() - change how a queue limits retries
 * @q:		the queue, open for managing.
 * @config:	how. The caller sets @config->size to sizeof(*config).
 *
 * Return: 0, or -E2BIG (something that this module does not know), -EBADF, -EFAULT,
 * -EINVAL (a rate or burst of 0, a base above its max, a time beyond 2^63 - 1 ns, an
 * unknown limiter, too many limiters), -ENOMEM.
 */
int kwq_configure(struct kwq *q, const struct kwq_config *config);

/**
 * kwq_config() - how a queue limits retries
 * @q:		the queue.
 * @config:	filled in. The caller sets @config->size to sizeof(*config), and for
 *		the limiters @config->limiters, @config->limiter_size and in
 *		@config->nr the room there; all else to zero.
 *
 * Return: 0, or -EFAULT, -EINVAL, -ENOMEM. @config->nr is how many limiters there
 * are, also if there was no room for all.
 */
int kwq_config(const struct kwq *q, struct kwq_config *config);

/**
 * kwq_list_dead() - list dead items, those first that died first
 * @q:		the queue, open for reading.
 * @list:	as <linux/kwq.h> describes it. The caller sets @list->size to
 *		sizeof(*list).
 *
 * Return: how many entries were filled in, 0 at the end of the list, or -EBADF,
 * -EFAULT, -EINTR, -EINVAL, -EMSGSIZE (the first key does not fit), -ENOMEM.
 */
int kwq_list_dead(struct kwq *q, const struct kwq_list_dead *list);

/**
 * kwq_kick() - bring a dead item back
 * @q:		the queue, open for writing.
 * @key:	its key.
 * @len:	its length in bytes.
 *
 * Return: KWQ_ADDED, or the errors of kwq_add(), or -ENOENT (no such item is dead).
 */
int kwq_kick(struct kwq *q, const void *key, size_t len);

/**
 * kwq_drop() - take a dead item out
 * @q:		the queue, open for managing.
 * @key:	its key.
 * @len:	its length in bytes.
 *
 * Return: KWQ_WAS_DEAD, or the errors of kwq_remove(); -ENOENT if no such item is
 * dead.
 */
int kwq_drop(struct kwq *q, const void *key, size_t len);

/* ---- Batches -------------------------------------------------------------- */

/**
 * kwq_ptr() - an address as the members of &struct kwq_batch hold it
 * @p:		the address.
 */
static inline uint64_t kwq_ptr(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/**
 * kwq_add_batch() - add many keys
 * @q:		the queue, open for writing.
 * @batch:	entries of &struct kwq_add_entry, at least one.
 *
 * Each entry has its own result, as kwq_add_with() would return it. -EFAULT there means
 * that its memory could not be written any more after the entry was taken: what became
 * of the entry is not known.
 *
 * Return: how many entries were taken, from the first on, or, with nothing
 * changed, -E2BIG, -EBADF, -EFAULT, -EINVAL,
 * -EMSGSIZE (more than KWQ_BATCH_MAX entries), -ENOMEM.
 */
int kwq_add_batch(struct kwq *q, const struct kwq_batch *batch);

/**
 * kwq_done_batch() - finish many items
 * @q:		the handle that holds them.
 * @batch:	entries of &struct kwq_done_entry, at least one.
 *
 * Return: as kwq_add_batch(); each result as kwq_done() and kwq_done_key().
 */
int kwq_done_batch(struct kwq *q, const struct kwq_batch *batch);

/**
 * kwq_extend_batch() - begin the leases of many items again
 * @q:		the handle that holds them.
 * @batch:	entries of &struct kwq_extend_entry, at least one.
 *
 * Return: as kwq_add_batch(), or -ENOTTY; each result as kwq_extend() and
 * kwq_extend_key().
 */
int kwq_extend_batch(struct kwq *q, const struct kwq_batch *batch);

/**
 * kwq_remove_batch() - take many keys out
 * @q:		the queue, open for managing.
 * @batch:	entries of &struct kwq_remove_entry, at least one.
 *
 * Return: as kwq_add_batch(); each result as kwq_remove().
 */
int kwq_remove_batch(struct kwq *q, const struct kwq_batch *batch);

/**
 * kwq_forget_batch() - forget many keys
 * @q:		the queue, open for reading.
 * @batch:	entries of &struct kwq_key_entry, at least one.
 *
 * Return: as kwq_add_batch(); each result as kwq_forget().
 */
int kwq_forget_batch(struct kwq *q, const struct kwq_batch *batch);

/**
 * kwq_num_requeues_batch() - ask for the requeues of many keys
 * @q:		the queue, open for reading.
 * @batch:	entries of &struct kwq_key_entry, at least one.
 *
 * Return: as kwq_add_batch(); each result as kwq_num_requeues().
 */
int kwq_num_requeues_batch(struct kwq *q, const struct kwq_batch *batch);

/**
 * kwq_get_batch() - add, finish and fetch, in one call
 * @q:		the queue, open for what is asked.
 * @get:	what to do, as <linux/kwq.h> describes it. The caller sets
 *		@get->size to sizeof(*get). @get->nr_added and @get->nr_done tell
 *		how far the call came, also if it fails. The deadline is 0 where
 *		there is nothing to wait for. Each call begins a wait of its own, for
 *		it sets @get->resume to 0 before.
 *
 * Return: the number of items fetched, or the errors of kwq_get() and
 * kwq_add_batch().
 */
int kwq_get_batch(struct kwq *q, struct kwq_get *get);

/* ---- The queue as a whole ------------------------------------------------- */

/**
 * kwq_len() - how many items are ready
 * @q:		the queue.
 *
 * Return: the number, without those that wait or are being processed. No errors.
 */
int kwq_len(const struct kwq *q);

/**
 * kwq_stat() - state and counters of a queue
 * @q:		the queue.
 * @st:		filled in. The caller sets @st->size to sizeof(*st) first.
 *
 * Return: 0, or -EFAULT, -EINVAL (size).
 */
int kwq_stat(const struct kwq *q, struct kwq_stat *st);

/**
 * kwq_shut_down() - refuse what is new, hand out what is there
 * @q:		the queue, open for managing.
 *
 * Adds fail from now on and what waits is dropped. Also ends every
 * kwq_shut_down_with_drain().
 *
 * Return: 0, or -EBADF.
 */
int kwq_shut_down(struct kwq *q);

/**
 * kwq_shut_down_with_drain() - shut down, and wait until all is done
 * @q:		the queue, open for managing.
 * @deadline:	until when to wait. The queue stays shut down in any case.
 *
 * Return: 0 once nothing is ready and nothing is being processed, or -EBADF,
 * -ECANCELED (a kwq_shut_down() ended the wait), -EINTR, -ETIMEDOUT.
 */
int kwq_shut_down_with_drain(struct kwq *q, uint64_t deadline);

/**
 * kwq_shut_down_with_drain_within() - shut down, and wait for so long until all is done
 * @q:		the queue, open for managing.
 * @timeout_ns:	for how long to wait, as in kwq_get_within(). The queue stays shut
 *		down in any case.
 *
 * Return: as kwq_shut_down_with_drain().
 */
int kwq_shut_down_with_drain_within(struct kwq *q, uint64_t timeout_ns);

/**
 * kwq_shutting_down() - whether the queue has been shut down
 * @q:		the queue.
 *
 * Return: 1 or 0. No errors.
 */
int kwq_shutting_down(const struct kwq *q);

/* ---- Time ----------------------------------------------------------------- */

/**
 * kwq_now() - the time on the queue's clock
 * @q:		the queue.
 *
 * Return: nanoseconds. No errors.
 */
uint64_t kwq_now(const struct kwq *q);

/**
 * kwq_deadline() - the time on the queue's clock after a timeout from now
 * @q:		the queue.
 * @timeout_ns:	the timeout.
 *
 * Return: nanoseconds, KWQ_NO_DEADLINE if that is beyond them. No errors.
 */
uint64_t kwq_deadline(const struct kwq *q, uint64_t timeout_ns);

/**
 * kwq_advance() - move a manual clock on by some time
 * @q:		a queue that was made with KWQ_CLOCK_ID_MANUAL, open for managing.
 * @ns:		by how much.
 *
 * What is due then is ready when this returns.
 *
 * Return: 0, or -EBADF, -EOPNOTSUPP (the queue's clock is a real one), -EPERM (a
 * named queue of somebody else's).
 */
int kwq_advance(struct kwq *q, uint64_t ns);

/**
 * kwq_advance_to() - move a manual clock on to a time
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
 * @initial:	what it starts with.
 * @backoff:	what is left of it.
 * @reset:	starts over if more time than this passed since @last, in ns; 0 for
 *		each time, KWQ_NO_RESET for never.
 * @last:	when the last step was, or the last reset.
 * @from_reset:	the time counts from the last reset, not from the last step.
 */
struct kwq_backoff_manager {
	struct kwq_backoff initial;
	struct kwq_backoff backoff;
	__u64 reset;
	__u64 last;
	bool from_reset;
};

/**
 * kwq_backoff_check() - is a backoff well formed
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
 * @steps:	how many were made.
 * @random:	as for kwq_backoff_step().
 *
 * Return: the pause in ns. No errors.
 */
__u64 kwq_backoff_after(const struct kwq_backoff *backoff, __u32 steps, __u32 random);

/**
 * kwq_backoff_manager_init() - start a manager
 * @manager:	the manager.
 * @backoff:	what it starts with, and starts over with.
 * @reset:	it starts over when more ns than this have passed; KWQ_NO_RESET for
 *		never, and 0 for each time.
 * @now:	the time it is, on any clock.
 *
 * The time counts from the last step. Set @manager->from_reset afterwards to have it
 * count from the last reset.
 */
void kwq_backoff_manager_init(struct kwq_backoff_manager *manager,
			      const struct kwq_backoff *backoff, __u64 reset, __u64 now);

/**
 * kwq_backoff_manager_step() - the next pause, or the first again
 * @manager:	the manager.
 * @now:	the time it is.
 * @random:	as for kwq_backoff_step().
 *
 * Return: the pause in ns. No errors.
 */
__u64 kwq_backoff_manager_step(struct kwq_backoff_manager *manager, __u64 now, __u32 random);

/**
 * kwq_backoff_until() - run a function again and again until it is enough
 * @fn:		the function; returns true to be run again.
 * @arg:	what it is called with.
 * @manager:	the pauses; on CLOCK_MONOTONIC.
 * @sliding:	whether a pause is counted from the function's end, else from its
 *		start.
 * @stop_fd:	ends, in a pause or before the next run, when this becomes readable;
 *		-1 for none.
 *
 * Return: 0 once the function returned false; -ECANCELED for @stop_fd, -EINTR for a
 * signal in a pause.
 */
int kwq_backoff_until(bool (*fn)(void *arg), void *arg,
		      struct kwq_backoff_manager *manager, bool sliding, int stop_fd);

#ifdef __cplusplus
}
#endif

#endif /* KWQ_H */

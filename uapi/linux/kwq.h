/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * kwq: a keyed work queue for programs, through /dev/kwq.
 *
 * A queue never holds a key twice, never hands it to two consumers at once and
 * never loses an add made meanwhile. kwq(7) tells the semantics, kwq(4) these
 * requests.
 *
 * Three kinds of requests:
 *
 *   on /dev/kwq            INFO, CREATE, OPEN, UNLINK, LIST
 *   on a queue descriptor  OPEN, ADD, GET, DONE, REMOVE, LEN, STAT,
 *                          SHUT_DOWN, SHUTTING_DOWN, DRAIN
 *
 * Conventions:
 *
 * - Every structure begins with its own size as the caller was compiled. The
 *   kernel accepts any size from the first published one up to a page, takes
 *   what is missing as zero, and refuses bytes that it does not know with
 *   E2BIG unless they are zero. Requests are told apart by their number, not
 *   by the size that _IOC() put in.
 * - Unknown flags and padding that is not zero are EINVAL.
 * - No member is a long, an enum or a pointer: 32-bit programs work on a
 *   64-bit kernel without translation.
 * - Times are nanoseconds on the queue's clock; deadlines are absolute.
 * - Results inside batches are zero or positive, or a negative errno value.
 */
#ifndef _UAPI_LINUX_KWQ_H
#define _UAPI_LINUX_KWQ_H

#include <linux/ioctl.h>
#include <linux/types.h>

/** define KWQ_KEY_MAX - the longest key, in bytes; the shortest has one byte */
#define KWQ_KEY_MAX		4096
/** define KWQ_NAME_MAX - the longest name of a queue, in bytes, without the NUL */
#define KWQ_NAME_MAX		255
/** define KWQ_BATCH_MAX - the most entries in one batch */
#define KWQ_BATCH_MAX		1024
/** define KWQ_PRIORITY_MIN - the lowest priority, handed out last */
#define KWQ_PRIORITY_MIN	(-32)
/** define KWQ_PRIORITY_MAX - the highest priority, handed out first */
#define KWQ_PRIORITY_MAX	31
/** define KWQ_NO_DEADLINE - a deadline that never comes */
#define KWQ_NO_DEADLINE		(~(__u64)0)

/*
 * Features, in &struct kwq_info.features. What has no bit here is part of
 * every kwq that there is.
 */
#define KWQ_FEATURE_DELAYS	(1ULL << 0)	/* KWQ_ADD_AFTER, KWQ_ADD_AT */
#define KWQ_FEATURE_PRIORITIES	(1ULL << 1)	/* KWQ_ADD_PRIORITY */
#define KWQ_FEATURE_NAMES	(1ULL << 2)	/* named queues, UNLINK, LIST */

/**
 * struct kwq_info - what this module offers (KWQ_IOC_INFO)
 * @size:	sizeof(struct kwq_info) on the way in; on the way out, how many
 *		bytes the kernel filled in. Bytes beyond them are zero.
 * @key_max:	longest key, in bytes.
 * @features:	KWQ_FEATURE_* bits.
 * @max_items:	the highest &kwq_create.max_items this module grants.
 * @max_bytes:	the highest &kwq_create.max_bytes this module grants.
 * @max_queues:	how many queues one user may have at once.
 * @name_max:	longest name, in bytes.
 * @batch_max:	most entries in one batch.
 * @priority_min: lowest priority.
 * @priority_max: highest priority.
 * @pad:	zero.
 */
struct kwq_info {
	__u32 size;
	__u32 key_max;
	__u64 features;
	__u64 max_items;
	__u64 max_bytes;
	__u32 max_queues;
	__u32 name_max;
	__u32 batch_max;
	__s32 priority_min;
	__s32 priority_max;
	__u32 pad;
};

/* Flags of KWQ_IOC_CREATE. */
#define KWQ_CREATE_OR_OPEN	(1U << 0)	/* open it if the name exists */

/**
 * struct kwq_create - make a queue (KWQ_IOC_CREATE on /dev/kwq)
 * @size:	sizeof(struct kwq_create).
 * @flags:	KWQ_CREATE_* bits.
 * @open_flags:	O_RDONLY, O_WRONLY or O_RDWR, with O_NONBLOCK and O_CLOEXEC as
 *		wanted. Reading is get and done; writing is add, remove, shut
 *		down and drain.
 * @mode:	permission bits of a named queue, 0 to 0777, less the caller's
 *		umask. Zero for an unnamed one.
 * @clockid:	CLOCK_MONOTONIC, or CLOCK_BOOTTIME for delays that count the
 *		time asleep.
 * @pad:	zero.
 * @max_items:	most items at once; 0 for the module's highest.
 * @max_bytes:	most bytes of memory for items and their keys; 0 for the
 *		module's highest.
 * @name:	empty for an unnamed queue, which lives as long as its
 *		descriptors; or 1 to KWQ_NAME_MAX bytes without a slash, ended
 *		by a NUL and padded with them. A named queue lives until it is
 *		unlinked and its last descriptor is closed.
 *
 * Return: a new descriptor of the queue.
 * Errors: EACCES (KWQ_CREATE_OR_OPEN: the mode forbids), EDQUOT (the user has
 * too many queues), EEXIST, EINVAL, EMFILE, ENAMETOOLONG (no NUL), ENFILE,
 * ENOMEM.
 */
struct kwq_create {
	__u32 size;
	__u32 flags;
	__u32 open_flags;
	__u32 mode;
	__s32 clockid;
	__u32 pad;
	__u64 max_items;
	__u64 max_bytes;
	__u8  name[KWQ_NAME_MAX + 1];
};

/**
 * struct kwq_open - open a queue (KWQ_IOC_OPEN)
 * @size:	sizeof(struct kwq_open).
 * @open_flags:	as in &struct kwq_create.
 * @name:	on /dev/kwq, the name of the queue. On a queue descriptor it is
 *		empty: the request makes a second handle of the same queue, with
 *		items of its own, no wider in its access than the first.
 *
 * Descriptors that come from dup(2), fork(2) or SCM_RIGHTS are one handle: what
 * it holds is given back when the last of them is closed. Each worker that may
 * die by itself wants a handle of its own.
 *
 * Return: a new descriptor of the queue.
 * Errors: EACCES, EINVAL, EMFILE, ENAMETOOLONG, ENFILE, ENOENT, ENOMEM.
 */
struct kwq_open {
	__u32 size;
	__u32 open_flags;
	__u8  name[KWQ_NAME_MAX + 1];
};

/**
 * struct kwq_unlink - take a queue's name away (KWQ_IOC_UNLINK on /dev/kwq)
 * @size:	sizeof(struct kwq_unlink).
 * @flags:	zero.
 * @name:	the name.
 *
 * Only the owner of the queue and CAP_FOWNER may.
 *
 * Errors: EINVAL, ENAMETOOLONG, ENOENT, EPERM.
 */
struct kwq_unlink {
	__u32 size;
	__u32 flags;
	__u8  name[KWQ_NAME_MAX + 1];
};

/**
 * struct kwq_list_entry - one named queue in a list
 * @uid:	its owner, as the caller's user namespace sees it.
 * @gid:	its group, likewise.
 * @mode:	its permission bits.
 * @pad:	zero.
 * @name:	its name, ended by a NUL and padded with them.
 */
struct kwq_list_entry {
	__u32 uid;
	__u32 gid;
	__u32 mode;
	__u32 pad;
	__u8  name[KWQ_NAME_MAX + 1];
};

/**
 * struct kwq_list - list named queues by name (KWQ_IOC_LIST on /dev/kwq)
 * @size:	sizeof(struct kwq_list).
 * @flags:	zero.
 * @entries:	address of an array of &struct kwq_list_entry, filled in.
 * @nr:		length of that array, 1 to KWQ_BATCH_MAX.
 * @entry_size:	sizeof(struct kwq_list_entry).
 * @after:	list only names that sort after this one, byte by byte; empty to
 *		begin. Pass the last name received to go on.
 *
 * Return: how many entries were filled in; 0 at the end of the list.
 * Errors: EFAULT, EINVAL, ENAMETOOLONG, ENOMEM.
 */
struct kwq_list {
	__u32 size;
	__u32 flags;
	__u64 entries;
	__u32 nr;
	__u32 entry_size;
	__u8  after[KWQ_NAME_MAX + 1];
};

/**
 * struct kwq_batch - many entries in one call
 * @entries:	address of an array of entries. Which structure they are, and
 *		whether they are read or filled in, the request says.
 * @keys:	address of the entries' keys: the bytes of the first key, then at
 *		once those of the second, and so on, without any separator.
 * @results:	address of an array of __s32, one for each entry. Zero where the
 *		entries are filled in.
 * @keys_len:	bytes at @keys; on the way out of a GET the room there.
 * @nr:		number of entries, up to KWQ_BATCH_MAX. With 0 the batch is
 *		absent, and all its other members are zero.
 * @entry_size:	size of one entry as the caller was compiled; grows as
 *		structures do.
 * @pad:	zero.
 *
 * Each entry has its own result, and an error in one leaves the others as they
 * are. An entry whose key would reach beyond @keys_len gets EINVAL, as do all
 * entries after it that have a key.
 */
struct kwq_batch {
	__u64 entries;
	__u64 keys;
	__u64 results;
	__u32 keys_len;
	__u32 nr;
	__u32 entry_size;
	__u32 pad;
};

/**
 * struct kwq_op - a batch of one operation (KWQ_IOC_ADD, _DONE, _REMOVE)
 * @size:	sizeof(struct kwq_op).
 * @flags:	zero.
 * @batch:	entries of &struct kwq_add_entry, &struct kwq_done_entry or
 *		&struct kwq_remove_entry. At least one.
 *
 * Return: how many entries were taken, from the first on; each of them has its
 * result. Fewer than asked where the memory of a later one could not be read
 * or its result not be written.
 * Errors, with nothing changed: E2BIG, EBADF (the descriptor's access mode
 * forbids), EFAULT (with the first entries), EINVAL, EMSGSIZE (more than
 * KWQ_BATCH_MAX entries), ENOMEM.
 */
struct kwq_op {
	__u32 size;
	__u32 flags;
	struct kwq_batch batch;
};

/* Flags of an add. */
#define KWQ_ADD_PRIORITY	(1U << 0)	/* @priority is given */
#define KWQ_ADD_AFTER		(1U << 1)	/* @time is a delay */
#define KWQ_ADD_AT		(1U << 2)	/* @time is absolute */
#define KWQ_ADD_REPLACE		(1U << 3)	/* waiting already: the new time */
#define KWQ_ADD_KEEP		(1U << 4)	/* waiting already: the first time */
#define KWQ_ADD_LATER		(1U << 5)	/* waiting already: the later time */
#define KWQ_ADD_END_WAIT	(1U << 6)	/* an add now also ends the waiting */

/**
 * struct kwq_add_entry - one add
 * @key_len:	bytes of its key, 1 to KWQ_KEY_MAX.
 * @flags:	KWQ_ADD_* bits. At most one of AFTER and AT. At most one of
 *		REPLACE, KEEP and LATER, and only with AFTER or AT; with none of
 *		them a waiting item keeps the earlier time. END_WAIT only without
 *		AFTER and AT.
 * @priority:	KWQ_PRIORITY_MIN to KWQ_PRIORITY_MAX with KWQ_ADD_PRIORITY, else
 *		0.
 * @pad:	zero.
 * @time:	ns, with AFTER a delay (0: now; too long for the clock: the end of
 *		time), with AT a time on the queue's clock (past: now), else 0.
 *
 * Results: KWQ_ADDED, KWQ_COALESCED, KWQ_DIRTIED, KWQ_WAITING.
 * Errors: EINVAL (flags, padding, priority, key of no byte, key beyond
 * @keys_len), EMSGSIZE (key too long), ENOMEM, ENOSPC (the queue is full),
 * ESHUTDOWN.
 */
struct kwq_add_entry {
	__u32 key_len;
	__u32 flags;
	__s32 priority;
	__u32 pad;
	__u64 time;
};

#define KWQ_ADDED	0	/* it is ready now */
#define KWQ_COALESCED	1	/* it was dirty (or, with a time, waiting) already */
#define KWQ_DIRTIED	2	/* it is being processed; ready again at its Done */
#define KWQ_WAITING	3	/* it waits for its time */

/**
 * struct kwq_done_entry - one done
 * @ticket:	the ticket that Get gave, or 0 to name the item by its key.
 * @key_len:	bytes of its key, 1 to KWQ_KEY_MAX; 0 with a ticket.
 * @flags:	zero.
 *
 * Results: KWQ_FINISHED, KWQ_REQUEUED.
 * Errors: EINVAL, EMSGSIZE (key too long), ENOENT (no such key is being
 * processed), EPERM (another handle holds it), ESTALE (this handle holds
 * nothing under that ticket, or no longer).
 */
struct kwq_done_entry {
	__u64 ticket;
	__u32 key_len;
	__u32 flags;
};

#define KWQ_FINISHED	0	/* nothing more to do for now */
#define KWQ_REQUEUED	1	/* it had been added meanwhile, and is ready again */

/**
 * struct kwq_remove_entry - one remove
 * @key_len:	bytes of its key, 1 to KWQ_KEY_MAX.
 * @flags:	zero.
 *
 * Results: what it was, as KWQ_WAS_* bits, never none of them.
 * Errors: EINVAL, EMSGSIZE (key too long), ENOENT (the queue has no such key).
 */
struct kwq_remove_entry {
	__u32 key_len;
	__u32 flags;
};

#define KWQ_WAS_READY		(1 << 0)	/* in the queue; now gone */
#define KWQ_WAS_WAITING		(1 << 1)	/* its time was dropped */
#define KWQ_WAS_PROCESSING	(1 << 2)	/* being processed; its Done ends it */
#define KWQ_WAS_DIRTY		(1 << 3)	/* added meanwhile; mark dropped */

/**
 * struct kwq_got - one item that was handed out
 * @ticket:	names this hand-out, never 0 and never used again in this queue.
 * @key_len:	bytes of its key.
 * @priority:	its priority.
 * @abandoned:	how often its holder vanished since it was last done.
 * @pad:	zero.
 */
struct kwq_got {
	__u64 ticket;
	__u32 key_len;
	__s32 priority;
	__u32 abandoned;
	__u32 pad;
};

/* Flags of KWQ_IOC_GET. */
#define KWQ_GET_NONBLOCK	(1U << 0)	/* as if the handle had O_NONBLOCK */

/**
 * struct kwq_get - add, finish and fetch in one call (KWQ_IOC_GET)
 * @size:	sizeof(struct kwq_get).
 * @flags:	KWQ_GET_* bits.
 * @deadline:	until when to wait for the first item: absolute ns on the queue's
 *		clock, or KWQ_NO_DEADLINE.
 * @add:	entries of &struct kwq_add_entry, taken first; may be absent.
 * @done:	entries of &struct kwq_done_entry, taken next; may be absent.
 * @get:	entries of &struct kwq_got, filled in last; may be absent. Their
 *		keys are packed at @get.keys.
 * @nr_added:	zero; on the way out: entries of @add that were taken.
 * @nr_done:	zero; on the way out: entries of @done that were taken.
 *
 * The wait ends with the first item; what else is ready then comes along, up to
 * @get.nr items and as long as their keys fit. What could not be copied out
 * goes back where it was. Once something was added or finished, a fault or a
 * missing item ends the call with that error and @nr_added and @nr_done tell how
 * far it came.
 *
 * Return: the number of items fetched.
 * Errors: EAGAIN (nothing ready and not to wait), EINTR, EMSGSIZE (the first
 * key does not fit, or a batch is longer than KWQ_BATCH_MAX), ESHUTDOWN (shut
 * down and empty), ETIMEDOUT, and those of &struct kwq_op.
 */
struct kwq_get {
	__u32 size;
	__u32 flags;
	__u64 deadline;
	struct kwq_batch add;
	struct kwq_batch done;
	struct kwq_batch get;
	__u32 nr_added;
	__u32 nr_done;
};

/**
 * struct kwq_shut_down - shut a queue down (KWQ_IOC_SHUT_DOWN)
 * @size:	sizeof(struct kwq_shut_down).
 * @flags:	zero.
 *
 * Adds are refused from now on and what waits is dropped. Get goes on handing
 * out what is ready and what turns ready at a Done. Ends every drain's wait.
 *
 * Errors: EBADF, EINVAL.
 */
struct kwq_shut_down {
	__u32 size;
	__u32 flags;
};

/**
 * struct kwq_drain - shut a queue down and wait until it is empty
 *	(KWQ_IOC_DRAIN)
 * @size:	sizeof(struct kwq_drain).
 * @flags:	zero.
 * @deadline:	absolute ns on the queue's clock, or KWQ_NO_DEADLINE.
 *
 * Returns once nothing is ready and nothing is being processed. The queue stays
 * shut down whatever ends the wait.
 *
 * Errors: EBADF, ECANCELED (a SHUT_DOWN ended the wait), EINTR, EINVAL,
 * ETIMEDOUT.
 */
struct kwq_drain {
	__u32 size;
	__u32 flags;
	__u64 deadline;
};

/* Bits of &struct kwq_stat.state. */
#define KWQ_STATE_SHUT_DOWN	(1U << 0)
#define KWQ_STATE_UNLINKED	(1U << 1)	/* named once, no longer */

/**
 * struct kwq_stat - a queue's state and counters (KWQ_IOC_STAT)
 * @size:	sizeof(struct kwq_stat) on the way in; on the way out, how many
 *		bytes the kernel filled in. Bytes beyond them are zero.
 * @state:	KWQ_STATE_* bits.
 * @ready:	items that Get may hand out.
 * @waiting:	items with a time at which they will be added.
 * @processing:	items handed out and not yet done.
 * @items:	items in all; one may be waiting and processing at once.
 * @bytes:	memory that items and their keys take up.
 * @max_items:	limit of @items.
 * @max_bytes:	limit of @bytes.
 * @adds:	adds that made an item dirty, since the queue was made; at once
 *		or when their time came.
 * @coalesced:	adds of items that were dirty, or waiting, already; likewise.
 * @gets:	hand-outs.
 * @dones:	hand-outs that were finished.
 * @abandoned:	hand-outs that ended because the handle was closed.
 * @removed:	items taken out by remove.
 * @dropped:	waiting times dropped by a shut down.
 * @uid:	the owner, as the caller's user namespace sees it.
 * @gid:	the group, likewise.
 * @mode:	permission bits; zero for an unnamed queue.
 * @clockid:	the queue's clock.
 * @handles:	open handles.
 * @pad:	zero.
 * @name:	the name, ended by a NUL and padded with them.
 */
struct kwq_stat {
	__u32 size;
	__u32 state;
	__u64 ready;
	__u64 waiting;
	__u64 processing;
	__u64 items;
	__u64 bytes;
	__u64 max_items;
	__u64 max_bytes;
	__u64 adds;
	__u64 coalesced;
	__u64 gets;
	__u64 dones;
	__u64 abandoned;
	__u64 removed;
	__u64 dropped;
	__u32 uid;
	__u32 gid;
	__u32 mode;
	__s32 clockid;
	__u32 handles;
	__u32 pad;
	__u8  name[KWQ_NAME_MAX + 1];
};

#define KWQ_IOC_MAGIC		0xBB

#define KWQ_IOC_INFO		_IOWR(KWQ_IOC_MAGIC, 0x00, struct kwq_info)
#define KWQ_IOC_CREATE		_IOW(KWQ_IOC_MAGIC, 0x01, struct kwq_create)
#define KWQ_IOC_OPEN		_IOW(KWQ_IOC_MAGIC, 0x02, struct kwq_open)
#define KWQ_IOC_UNLINK		_IOW(KWQ_IOC_MAGIC, 0x03, struct kwq_unlink)
#define KWQ_IOC_LIST		_IOW(KWQ_IOC_MAGIC, 0x04, struct kwq_list)
#define KWQ_IOC_ADD		_IOW(KWQ_IOC_MAGIC, 0x10, struct kwq_op)
#define KWQ_IOC_GET		_IOWR(KWQ_IOC_MAGIC, 0x11, struct kwq_get)
#define KWQ_IOC_DONE		_IOW(KWQ_IOC_MAGIC, 0x12, struct kwq_op)
#define KWQ_IOC_REMOVE		_IOW(KWQ_IOC_MAGIC, 0x13, struct kwq_op)
/* Number of ready items; no argument. */
#define KWQ_IOC_LEN		_IO(KWQ_IOC_MAGIC, 0x14)
#define KWQ_IOC_STAT		_IOWR(KWQ_IOC_MAGIC, 0x15, struct kwq_stat)
#define KWQ_IOC_SHUT_DOWN	_IOW(KWQ_IOC_MAGIC, 0x16, struct kwq_shut_down)
/* 1 once the queue is shut down, else 0; no argument. */
#define KWQ_IOC_SHUTTING_DOWN	_IO(KWQ_IOC_MAGIC, 0x17)
#define KWQ_IOC_DRAIN		_IOW(KWQ_IOC_MAGIC, 0x18, struct kwq_drain)

#endif /* _UAPI_LINUX_KWQ_H */

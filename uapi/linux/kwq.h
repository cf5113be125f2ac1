/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * kwq: a keyed work queue for programs, through /dev/kwq.
 *
 * A queue never holds a key twice, never hands it to two consumers at once and
 * never loses an add made meanwhile. kwq(7) tells the semantics, kwq(4) these
 * requests.
 *
 * Two kinds of requests:
 *
 *   on /dev/kwq            INFO, CREATE, OPEN, UNLINK, LIST
 *   on a queue descriptor  OPEN, ADD, GET, DONE, EXTEND, REMOVE, FORGET, REQUEUES,
 *                          LIST_DEAD, CONFIGURE, CONFIG, LEN, STAT, SHUT_DOWN,
 *                          SHUTTING_DOWN, DRAIN, ADVANCE
 *
 * Conventions:
 *
 * - Every structure begins with its own size as the caller was compiled. The
 *   kernel accepts any size from the first published one up to a page, takes
 *   what is missing as zero, and refuses bytes that it does not know with
 *   E2BIG unless they are zero. The number of a request does not change when
 *   its structure grows.
 * - Unknown flags and padding that is not zero are EINVAL. So is any other argument
 *   that is not zero though the request would not look at it.
 * - No member is a long, an enum or a pointer: 32-bit programs work on a
 *   64-bit kernel without translation.
 * - Numbers are in the machine's byte order. A key is bytes, which are compared and
 *   never read as a number.
 * - Times are nanoseconds on the queue's clock. A deadline is absolute, or with a
 *   flag it is so long from now.
 * - A call that waits goes on after a signal whose handler restarts system calls,
 *   and after a stop and continue, with the deadline that it had. What the kernel
 *   needs for that it writes into the structure.
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
#define KWQ_FEATURE_LIMITERS	(1ULL << 3)	/* KWQ_ADD_RATE_LIMITED, CONFIGURE, FORGET ... */
#define KWQ_FEATURE_DEAD	(1ULL << 4)	/* dead items: DEAD, KWQ_ADD_KICK ... */
#define KWQ_FEATURE_METRICS	(1ULL << 5)	/* &struct kwq_stat from @now on */
#define KWQ_FEATURE_MANUAL_CLOCK (1ULL << 6)	/* KWQ_CLOCK_ID_MANUAL, ADVANCE */
#define KWQ_FEATURE_LEASES	(1ULL << 7)	/* &kwq_create.lease, EXTEND */

/**
 * struct kwq_info - what this module offers (KWQ_IOC_INFO)
 * @size:	sizeof(struct kwq_info) on the way in; on the way out, how many
 *		bytes the kernel filled in. Bytes beyond them are zero.
 * @key_max:	longest key, in bytes.
 * @features:	KWQ_FEATURE_* bits.
 * @max_items:	the highest &kwq_create.max_items this module grants.
 * @max_bytes:	the highest &kwq_create.max_bytes this module grants.
 * @max_queues:	how many queues one user may have at once. A user is one of a user
 *		namespace; each queue and byte counts for the owner of that namespace,
 *		too, and for the owners of those above it.
 * @name_max:	longest name, in bytes.
 * @batch_max:	most entries in one batch.
 * @priority_min: lowest priority.
 * @priority_max: highest priority.
 * @user_queues: how many queues the caller has, with those of the user namespaces that it
 *		owns, and with exempt ones. A queue is exempt if its creator had
 *		CAP_SYS_RESOURCE in the initial user namespace: it has no limit, and takes
 *		nothing from what other queues may have.
 * @user_queues_left: how many more it may have; 2^32 - 1 if they would be exempt.
 * @pad:	zero.
 * @max_user_bytes: how many bytes of memory the queues of one user may take.
 * @max_total_bytes: how many those of all users may take. Exempt queues do not count.
 * @user_bytes:	how many the queues of @user_queues have taken, in steps of 16 KiB for
 *		each queue.
 * @user_bytes_left: how many more those that are not exempt may take now. It is the least
 *		that is left to the caller, to the owners of the user namespaces above, and
 *		to all users together; 2^64 - 1 if the caller's queues would be exempt.
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
	__u32 user_queues;
	__u32 user_queues_left;
	__u32 pad;
	__u64 max_user_bytes;
	__u64 max_total_bytes;
	__u64 user_bytes;
	__u64 user_bytes_left;
};

/* One, in the fixed point of factors and parts. */
#define KWQ_ONE			65536U

/**
 * struct kwq_backoff - pauses that grow
 * @duration:	the first pause, in ns, up to 2^63 - 1.
 * @cap:	no pause grows beyond this, in ns; 0 for no cap.
 * @factor:	by which each pause is multiplied to get the next, in 1/KWQ_ONE. 0 is
 *		as KWQ_ONE: the pauses stay as they are. Below KWQ_ONE they shrink.
 * @jitter:	largest part of a pause that chance adds to it, in 1/KWQ_ONE. 0 for
 *		none.
 * @steps:	how often it is multiplied. Once they are used up, by that or by
 *		reaching the cap, the pause stays as it is.
 * @pad:	zero.
 *
 * The Backoff of k8s.io/apimachinery/pkg/util/wait, in integers. A product is
 * rounded down to a ns, and what 63 bits cannot hold is 2^63 - 1.
 */
struct kwq_backoff {
	__u64 duration;
	__u64 cap;
	__u32 factor;
	__u32 jitter;
	__u32 steps;
	__u32 pad;
};

/** define KWQ_LIMITERS_MAX - most limiters of one queue */
#define KWQ_LIMITERS_MAX	8
/** define KWQ_LIMITER_STEPS_MAX - most steps of a limiter that is a backoff */
#define KWQ_LIMITER_STEPS_MAX	256

/* Kinds of limiters. */
#define KWQ_LIMITER_EXPONENTIAL	1	/* client-go's ItemExponentialFailure */
#define KWQ_LIMITER_FAST_SLOW	2	/* its ItemFastSlow */
#define KWQ_LIMITER_BUCKET	3	/* its Bucket: golang.org/x/time/rate */
#define KWQ_LIMITER_BACKOFF	4

/**
 * struct kwq_limiter - how long an item waits for its next try
 * @kind:	KWQ_LIMITER_*; says which member of the union is meant.
 * @pad:	zero.
 * @u:		by @kind.
 * @u.exponential: base x 2^requeues, but at most max; in ns.
 * @u.exponential.base: 1 to max.
 * @u.exponential.max: up to 2^63 - 1.
 * @u.fast_slow:	fast, for the first nr_fast requeues of an item, then slow; in ns.
 * @u.fast_slow.fast: 0 to 2^63 - 1.
 * @u.fast_slow.slow: 0 to 2^63 - 1.
 * @u.fast_slow.nr_fast: 0 for slow from the first on.
 * @u.fast_slow.pad: zero.
 * @u.bucket:	holds up to burst tokens, full at first; gets events of them each
 *		period. Whatever is added takes one, and waits for it if need be. It
 *		holds no more than come in 2^63 - 1 ns, and owes no more than come
 *		until the clock ends.
 * @u.bucket.period: in ns, 1 to 2^63 - 1.
 * @u.bucket.events: at least 1.
 * @u.bucket.burst: at least 1.
 * @u.backoff:	the pause after as many steps as the item has requeues; with a cap
 *		that is not below the duration, and KWQ_LIMITER_STEPS_MAX steps at
 *		most.
 * @u.space:	zero but for the member that is meant.
 */
struct kwq_limiter {
	__u32 kind;
	__u32 pad;
	union {
		struct {
			__u64 base;
			__u64 max;
		} exponential;
		struct {
			__u64 fast;
			__u64 slow;
			__u32 nr_fast;
			__u32 pad;
		} fast_slow;
		struct {
			__u64 period;
			__u32 events;
			__u32 burst;
		} bucket;
		struct kwq_backoff backoff;
		__u64 space[4];
	} u;
};

/* Flags of a configuration. */
#define KWQ_CONFIG_COALESCE	(1U << 0)	/* a rate-limited add of what waits is free */

/**
 * struct kwq_config - how a queue limits retries (KWQ_IOC_CONFIGURE,
 *	KWQ_IOC_CONFIG, &kwq_create.config)
 * @size:	sizeof(struct kwq_config).
 * @flags:	KWQ_CONFIG_* bits. With COALESCE a rate-limited add of an item that
 *		is waiting already takes no token and raises no count.
 * @max_wait:	no limiter makes an item wait longer, in ns; 0 for no such limit.
 * @forget_after: an item that nobody touched for so many ns - it is not ready,
 *		not waiting, not being processed - loses its count of requeues; 0
 *		for never.
 * @dead_after:	how often an item may be requeued; the next rate-limited add makes
 *		it dead. 0 for never.
 * @nr:		limiters at @limiters, up to KWQ_LIMITERS_MAX. The longest delay
 *		that any of them gives counts, and each is asked each time. 0 for
 *		client-go's default: exponential from 5 ms to 1000 s, and a bucket
 *		of 10 a second with a burst of 100.
 * @limiters:	address of an array of &struct kwq_limiter; 0 if @nr is.
 * @limiter_size: sizeof(struct kwq_limiter); 0 if @nr is.
 * @dead_after_lost: how many losses of its holder - the handle is closed, or the lease
 *		over - without a Done between them make an item dead. An add that was
 *		made meanwhile, or a time, gives it another run. 0 for never.
 *
 * A new configuration holds for rate-limited adds from then on; times that were
 * given before stay. A bucket in the place of another takes over its tokens, as
 * SetLimit of golang.org/x/time/rate does; any other new bucket is full.
 *
 * CONFIG tells the configuration: @nr and @limiter_size are the room at @limiters
 * on the way in, and on the way out @nr is the number of limiters, of which those
 * that fit are filled in.
 *
 * Errors: EBADF (CONFIGURE: the descriptor has no right to), EFAULT, EINVAL
 * (rate or burst 0, base above max, a time beyond 2^63 - 1, an unknown kind, too
 * many limiters), ENOMEM.
 */
struct kwq_config {
	__u32 size;
	__u32 flags;
	__u64 max_wait;
	__u64 forget_after;
	__u32 dead_after;
	__u32 nr;
	__u64 limiters;
	__u32 limiter_size;
	__u32 dead_after_lost;
};

/*
 * The clock of a queue that goes on only when KWQ_IOC_ADVANCE says so. It begins
 * at 0.
 */
#define KWQ_CLOCK_ID_MANUAL	(-1)

/*
 * Rights of a descriptor, which never widen: not by dup(2), fork(2) or SCM_RIGHTS, and
 * not by KWQ_IOC_OPEN on it. The r, w and x bits of a queue's mode mean these.
 */
#define KWQ_RIGHT_READ		(1U << 2)	/* get, done, extend, forget, requeues, list dead */
#define KWQ_RIGHT_WRITE		(1U << 1)	/* add */
#define KWQ_RIGHT_MANAGE	(1U << 0)	/* remove, configure, shut down, drain, advance */

/* Flags of KWQ_IOC_CREATE. */
#define KWQ_CREATE_OR_OPEN	(1U << 0)	/* open it, as it is, if the name exists */

/**
 * struct kwq_create - make a queue (KWQ_IOC_CREATE on /dev/kwq)
 * @size:	sizeof(struct kwq_create).
 * @flags:	KWQ_CREATE_* bits.
 * @open_flags:	O_NONBLOCK and O_CLOEXEC as wanted.
 * @mode:	permission bits of a named queue, 0 to 0777, less the caller's
 *		umask. Zero for an unnamed one.
 * @clockid:	CLOCK_MONOTONIC, or CLOCK_BOOTTIME for delays that count the
 *		time asleep, or KWQ_CLOCK_ID_MANUAL for tests that need no sleeping.
 * @rights:	KWQ_RIGHT_* bits that the descriptor is to have, one at least. Whoever
 *		makes a queue may have all of them, whatever its mode.
 * @max_items:	most items at once; 0 for the module's highest.
 * @max_bytes:	most bytes of memory for items and their keys; 0 for the
 *		module's highest.
 * @name:	empty for an unnamed queue, which lives as long as its
 *		descriptors; or 1 to KWQ_NAME_MAX bytes without a slash, ended
 *		by a NUL and padded with them. A named queue lives until it is
 *		unlinked and its last descriptor is closed.
 * @config:	address of a &struct kwq_config, or 0 for the default.
 * @lease:	for how long an item may be held, in ns on the queue's clock, up to
 *		2^63 - 1; 0 for ever. Then it is taken back as if its handle had been
 *		closed, and its ticket is stale. KWQ_IOC_EXTEND begins it again.
 *
 * Return: a new descriptor of the queue.
 * Errors: EACCES (KWQ_CREATE_OR_OPEN: the mode forbids), EDQUOT (the user has
 * too many queues, or too much memory in them; see &struct kwq_info), EEXIST,
 * EINTR (it waited for queues of the user that are being freed), EINVAL, EMFILE,
 * ENAMETOOLONG (no NUL), ENFILE, ENOMEM.
 */
struct kwq_create {
	__u32 size;
	__u32 flags;
	__u32 open_flags;
	__u32 mode;
	__s32 clockid;
	__u32 rights;
	__u64 max_items;
	__u64 max_bytes;
	__u8  name[KWQ_NAME_MAX + 1];
	__u64 config;
	__u64 lease;
};

/**
 * struct kwq_open - open a queue (KWQ_IOC_OPEN)
 * @size:	sizeof(struct kwq_open).
 * @open_flags:	as in &struct kwq_create.
 * @rights:	KWQ_RIGHT_* bits that the descriptor is to have, one at least.
 * @pad:	zero.
 * @name:	on /dev/kwq, the name of the queue. On a queue descriptor it is
 *		empty: the request makes a second handle of the same queue, with
 *		items of its own, and with no right that the first lacks.
 *
 * Descriptors that come from dup(2), fork(2) or SCM_RIGHTS are one handle: what
 * it holds is given back when the last of them is closed. Each worker that may
 * die by itself wants a handle of its own.
 *
 * A named queue's mode decides as a file's does. The first class that the caller is in
 * counts: the owner, the group, others. CAP_DAC_OVERRIDE has every right, and
 * CAP_DAC_READ_SEARCH may read.
 *
 * Return: a new descriptor of the queue.
 * Errors: EACCES, EINVAL, EMFILE, ENAMETOOLONG, ENFILE, ENOENT, ENOMEM.
 */
struct kwq_open {
	__u32 size;
	__u32 open_flags;
	__u32 rights;
	__u32 pad;
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
 *		once those of the second, and so on, without any separator. Zero if
 *		@keys_len is.
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
 * are. EFAULT means that the memory of the result became unwritable during the
 * call: what became of the entry is not known. An entry whose key would reach
 * beyond @keys_len gets EINVAL, as do all entries after it that have a key.
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
 * struct kwq_op - a batch of one operation (KWQ_IOC_ADD, _DONE, _EXTEND, _REMOVE,
 *	_FORGET, _REQUEUES)
 * @size:	sizeof(struct kwq_op).
 * @flags:	zero.
 * @batch:	entries of &struct kwq_add_entry, &struct kwq_done_entry, &struct
 *		kwq_extend_entry, &struct kwq_remove_entry or, for FORGET and REQUEUES, &struct
 *		kwq_key_entry. At least one.
 *
 * Return: how many entries were taken, from the first on; each of them has its
 * result. Fewer than asked where the memory of a later one could not be read
 * or its result not be written.
 * Errors, with nothing changed: E2BIG, EBADF (the descriptor lacks the right),
 * EFAULT (with the first entries), EINVAL, EMSGSIZE (more than KWQ_BATCH_MAX
 * entries), ENOMEM.
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
#define KWQ_ADD_RATE_LIMITED	(1U << 7)	/* when the queue's limiter says */
#define KWQ_ADD_KICK		(1U << 8)	/* only if it is dead */

/**
 * struct kwq_add_entry - one add
 * @key_len:	bytes of its key, 1 to KWQ_KEY_MAX.
 * @flags:	KWQ_ADD_* bits. At most one of AFTER, AT and RATE_LIMITED. At most
 *		one of REPLACE, KEEP and LATER, and only with one of those; with
 *		none of them a waiting item keeps the earlier time. END_WAIT only
 *		without those. KICK not with RATE_LIMITED.
 * @priority:	KWQ_PRIORITY_MIN to KWQ_PRIORITY_MAX with KWQ_ADD_PRIORITY, else
 *		0.
 * @pad:	zero.
 * @time:	ns, with AFTER a delay (0: now; too long for the clock: the end of
 *		time), with AT a time on the queue's clock (past: now), else 0.
 *
 * A rate-limited add raises the item's count of requeues. An item that is dead
 * is brought back by any other add, with a count of 0.
 *
 * Results: KWQ_ADDED, KWQ_COALESCED, KWQ_DIRTIED, KWQ_WAITING, KWQ_DEAD, KWQ_DIRTY.
 * Errors: EDQUOT (the queue's owner has too much memory in queues), EINVAL (flags,
 * padding, priority, key of no byte, key beyond @keys_len), EMSGSIZE (key too
 * long), ENOENT (KICK: it is not dead), ENOMEM, ENOSPC (the queue is full),
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
#define KWQ_COALESCED	1	/* it was ready (or, with a time, waiting) already */
#define KWQ_DIRTIED	2	/* it is being processed; ready again at its Done */
#define KWQ_WAITING	3	/* it waits for its time */
#define KWQ_DEAD	4	/* rate-limited too often: it is dead, or will be at its Done */
#define KWQ_DIRTY	5	/* it is being processed, and was added again already */

/* Flags of a done. */
#define KWQ_DONE_FORGET	(1U << 0)	/* its count of requeues begins again at 0 */

/**
 * struct kwq_done_entry - one done
 * @ticket:	the ticket that Get gave, or 0 to name the item by its key.
 * @key_len:	bytes of its key, 1 to KWQ_KEY_MAX; 0 with a ticket.
 * @flags:	KWQ_DONE_* bits.
 *
 * Results: KWQ_FINISHED, or KWQ_REQUEUED and KWQ_STILL_WAITING bits.
 * Errors: EINVAL, EMSGSIZE (key too long), ENOENT (no such key is being
 * processed), EPERM (another handle holds it), ESTALE (this handle holds
 * nothing under that ticket, or no longer).
 *
 * In a queue with leases name the ticket: a handle that lost an item and got it again,
 * for another of its threads, cannot tell the two hand-outs apart by the key.
 */
struct kwq_done_entry {
	__u64 ticket;
	__u32 key_len;
	__u32 flags;
};

#define KWQ_FINISHED		0		/* nothing is left of it to do */
#define KWQ_REQUEUED		(1 << 0)	/* it was added meanwhile, and is ready again */
#define KWQ_STILL_WAITING	(1 << 1)	/* it waits for a time */

/**
 * struct kwq_extend_entry - one extension of a lease
 * @ticket:	the ticket that Get gave, or 0 to name the item by its key.
 * @key_len:	bytes of its key, 1 to KWQ_KEY_MAX; 0 with a ticket.
 * @flags:	zero.
 *
 * The item may be held for &kwq_create.lease from now on. In a queue without leases
 * it may anyway, and only the ticket or the key is looked at.
 *
 * Results: 0.
 * Errors: as of &struct kwq_done_entry.
 */
struct kwq_extend_entry {
	__u64 ticket;
	__u32 key_len;
	__u32 flags;
};

/* Flags of a remove. */
#define KWQ_REMOVE_DEAD	(1U << 0)	/* only if it is dead */

/**
 * struct kwq_remove_entry - one remove
 * @key_len:	bytes of its key, 1 to KWQ_KEY_MAX.
 * @flags:	KWQ_REMOVE_* bits.
 *
 * The count of requeues goes too.
 *
 * Results: what it was, as KWQ_WAS_* bits, never none of them.
 * Errors: EINVAL, EMSGSIZE (key too long), ENOENT (the queue has no such key, or
 * with KWQ_REMOVE_DEAD no such dead one).
 */
struct kwq_remove_entry {
	__u32 key_len;
	__u32 flags;
};

#define KWQ_WAS_READY		(1 << 0)	/* in the queue; now gone */
#define KWQ_WAS_WAITING		(1 << 1)	/* its time was dropped */
#define KWQ_WAS_PROCESSING	(1 << 2)	/* being processed; its Done ends it */
#define KWQ_WAS_DIRTY		(1 << 3)	/* added meanwhile; mark dropped */
#define KWQ_WAS_DEAD		(1 << 4)	/* dead, or to be so at its Done */

/**
 * struct kwq_key_entry - one forget, or one question for the requeues
 * @key_len:	bytes of its key, 1 to KWQ_KEY_MAX.
 * @flags:	zero.
 *
 * Results: how often the item was rate-limited since it was last forgotten, up to
 * 2^31 - 1; 0 for a key that the queue does not know. FORGET makes it 0, and
 * nothing else: Done is still owed.
 * Errors: EINVAL, EMSGSIZE (key too long).
 */
struct kwq_key_entry {
	__u32 key_len;
	__u32 flags;
};

/**
 * struct kwq_dead_entry - one dead item
 * @number:	goes up with each death in this queue.
 * @age:	for how many ns it has been dead, on the queue's clock.
 * @key_len:	bytes of its key.
 * @priority:	its priority.
 * @requeues:	how often it was requeued.
 * @abandoned:	how often its holder vanished, or its lease ended, without a Done since. It
 *		is 0 for an item that died at its Done, or while nobody held it.
 */
struct kwq_dead_entry {
	__u64 number;
	__u64 age;
	__u32 key_len;
	__s32 priority;
	__u32 requeues;
	__u32 abandoned;
};

/**
 * struct kwq_list_dead - list dead items, those first that died first
 *	(KWQ_IOC_LIST_DEAD)
 * @size:	sizeof(struct kwq_list_dead).
 * @flags:	zero.
 * @after:	only deaths with a higher number than this; 0 to begin. Pass the
 *		last number received to go on.
 * @batch:	entries of &struct kwq_dead_entry, filled in, with their keys packed
 *		at @batch.keys as far as they fit. At least one.
 *
 * Return: how many were filled in; 0 at the end of the list.
 * Errors: EBADF, EFAULT, EINVAL, EMSGSIZE (the first key does not fit), ENOMEM.
 */
struct kwq_list_dead {
	__u32 size;
	__u32 flags;
	__u64 after;
	struct kwq_batch batch;
};

/* Flags of KWQ_IOC_ADVANCE. */
#define KWQ_ADVANCE_TO	(1U << 0)	/* to a time, else by a time */

/**
 * struct kwq_advance - move a manual clock on (KWQ_IOC_ADVANCE)
 * @size:	sizeof(struct kwq_advance).
 * @flags:	KWQ_ADVANCE_* bits.
 * @time:	ns; what the clock cannot hold is its end, 2^63 - 1.
 *
 * What is due then is ready when the call returns, and whoever waits until a
 * deadline that has come has been woken.
 *
 * Errors: EBADF (the descriptor has no right to), EINVAL (also a time before
 * the present one), EOPNOTSUPP (the queue's clock is a real one), EPERM (a named
 * queue of somebody else's).
 */
struct kwq_advance {
	__u32 size;
	__u32 flags;
	__u64 time;
};

/**
 * struct kwq_got - one item that was handed out
 * @ticket:	names this hand-out, never 0 and never used again in this queue.
 * @key_len:	bytes of its key.
 * @priority:	its priority.
 * @abandoned:	how often its holder vanished, or its lease ended, since it was last
 *		done, or dead.
 * @requeues:	how often it was rate-limited since it was last forgotten.
 */
struct kwq_got {
	__u64 ticket;
	__u32 key_len;
	__s32 priority;
	__u32 abandoned;
	__u32 requeues;
};

/* Flags of KWQ_IOC_GET. */
#define KWQ_GET_NONBLOCK	(1U << 0)	/* as if the handle had O_NONBLOCK */
#define KWQ_GET_RELATIVE	(1U << 1)	/* @deadline is from now on */

/**
 * struct kwq_get - add, finish and fetch in one call (KWQ_IOC_GET)
 * @size:	sizeof(struct kwq_get).
 * @flags:	KWQ_GET_* bits, not both at once. Zero without @get.
 * @deadline:	until when to wait for the first item: absolute ns on the queue's
 *		clock, with KWQ_GET_RELATIVE ns from now on; or KWQ_NO_DEADLINE. Zero
 *		with KWQ_GET_NONBLOCK, and without @get. A descriptor with O_NONBLOCK
 *		may have any deadline, and does not wait for it.
 * @add:	entries of &struct kwq_add_entry, taken first; may be absent.
 * @done:	entries of &struct kwq_done_entry, taken next; may be absent.
 * @get:	entries of &struct kwq_got, filled in last; may be absent. Their
 *		keys are packed at @get.keys.
 * @nr_added:	zero; on the way out: entries of @add that were taken.
 * @nr_done:	zero; on the way out: entries of @done that were taken.
 * @resume:	zero in a call that begins to wait. If a signal interrupts a wait with
 *		KWQ_GET_RELATIVE the kernel writes the absolute deadline here, and a call
 *		that finds it here goes on with that wait, whatever its @deadline says.
 *		Once the wait is over it is zero again. After EINTR it is not: whoever
 *		uses the structure for another wait sets it to zero first. It is always
 *		zero with @add or @done, for such a call is not restarted.
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
	__u64 resume;
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

/* Flags of KWQ_IOC_DRAIN. */
#define KWQ_DRAIN_RELATIVE	(1U << 0)	/* @deadline is from now on */

/**
 * struct kwq_drain - shut a queue down and wait until it is empty
 *	(KWQ_IOC_DRAIN)
 * @size:	sizeof(struct kwq_drain).
 * @flags:	KWQ_DRAIN_* bits.
 * @deadline:	absolute ns on the queue's clock, with KWQ_DRAIN_RELATIVE ns from now
 *		on; or KWQ_NO_DEADLINE.
 * @resume:	as in &struct kwq_get.
 * @shut_downs:	zero in a call that begins to wait. If a signal interrupts the wait the
 *		kernel writes here what it needs to know of earlier shut downs, and a
 *		call that finds it here goes on with that wait. Once the wait is over it
 *		is zero again. After EINTR it is not, as @resume.
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
	__u64 resume;
	__u64 shut_downs;
};

/** define KWQ_HISTOGRAM_BUCKETS - number of &kwq_histogram.counts */
#define KWQ_HISTOGRAM_BUCKETS	11

/**
 * struct kwq_histogram - how long something took, how often
 * @sum:	of all, in ns; the lower 64 bits,
 * @sum_high:	and the upper.
 * @counts:	how often at most 1 us, more than that and at most 10 us, and so on
 *		by tens to at most 1000 s; and longer.
 */
struct kwq_histogram {
	__u64 sum;
	__u64 sum_high;
	__u64 counts[KWQ_HISTOGRAM_BUCKETS];
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
 * @bytes:	memory that items and their keys take, with what the allocator rounds
 *		up.
 * @max_items:	limit of @items.
 * @max_bytes:	limit of @bytes.
 * @adds:	adds that made an item dirty, since the queue was made; at once
 *		or when their time came.
 * @coalesced:	adds of items that were dirty, or waiting, already; likewise.
 * @gets:	hand-outs.
 * @dones:	hand-outs that were finished.
 * @abandoned:	hand-outs that ended because the handle was closed, or the lease over.
 * @removed:	items taken out by remove.
 * @dropped:	waiting times, and dead items, dropped by a shut down.
 * @uid:	the owner, as the caller's user namespace sees it.
 * @gid:	the group, likewise.
 * @mode:	permission bits; zero for an unnamed queue.
 * @clockid:	the queue's clock.
 * @handles:	open handles.
 * @pad:	zero.
 * @name:	the name, ended by a NUL and padded with them.
 * @now:	the time on the queue's clock, as the caller would read it.
 * @retries:	adds after a delay, be it 0, at a time or rate-limited (client-go's
 *		workqueue_retries_total).
 * @rate_limited: of these, the rate-limited ones that the limiters were asked for.
 * @died:	how often an item was rate-limited, or lost its holder, too often.
 * @dead:	items that are dead now.
 * @remembered:	idle items that are kept for their count of requeues.
 * @oldest_ready: since when the item has been ready that waited longest of those
 *		that are next in their priorities, in ns before @now; 0 for none.
 * @longest_running: since when the item is being processed that was handed out
 *		first, in ns before @now; 0 for none.
 * @unfinished:	the sum of the times since which items are being processed, in ns;
 *		2^64 - 1 if it is more.
 * @queue_duration: from an add to the hand-out.
 * @work_duration: from a hand-out to its Done.
 * @lateness:	from the time that an item waited for to its being ready.
 * @lease:	for how long an item may be held, in ns; 0 for ever.
 * @expired:	of @abandoned, those whose lease was over.
 * @dirty:	of @processing, the items that are dirty, too: they are ready again at
 *		their Done. @ready and @dirty together are client-go's workqueue_depth.
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
	__u64 now;
	__u64 retries;
	__u64 rate_limited;
	__u64 died;
	__u64 dead;
	__u64 remembered;
	__u64 oldest_ready;
	__u64 longest_running;
	__u64 unfinished;
	struct kwq_histogram queue_duration;
	struct kwq_histogram work_duration;
	struct kwq_histogram lateness;
	__u64 lease;
	__u64 expired;
	__u64 dirty;
};

#define KWQ_IOC_MAGIC		0xBB

/*
 * The numbers of the requests, each with the structure that it takes. The size in a
 * number is that of the structure's first member, @size, so a number stays what it is
 * when its structure grows, and a filter of system calls can name it. The kernel looks
 * at the whole number: with any other size or direction it is ENOTTY.
 */
#define KWQ_IOC_INFO		_IOWR(KWQ_IOC_MAGIC, 0x00, __u32)	/* struct kwq_info */
#define KWQ_IOC_CREATE		_IOW(KWQ_IOC_MAGIC, 0x01, __u32)	/* struct kwq_create */
#define KWQ_IOC_OPEN		_IOW(KWQ_IOC_MAGIC, 0x02, __u32)	/* struct kwq_open */
#define KWQ_IOC_UNLINK		_IOW(KWQ_IOC_MAGIC, 0x03, __u32)	/* struct kwq_unlink */
#define KWQ_IOC_LIST		_IOW(KWQ_IOC_MAGIC, 0x04, __u32)	/* struct kwq_list */
#define KWQ_IOC_ADD		_IOW(KWQ_IOC_MAGIC, 0x10, __u32)	/* struct kwq_op */
#define KWQ_IOC_GET		_IOWR(KWQ_IOC_MAGIC, 0x11, __u32)	/* struct kwq_get */
#define KWQ_IOC_DONE		_IOW(KWQ_IOC_MAGIC, 0x12, __u32)	/* struct kwq_op */
#define KWQ_IOC_REMOVE		_IOW(KWQ_IOC_MAGIC, 0x13, __u32)	/* struct kwq_op */
/* Number of ready items; the argument is 0. */
#define KWQ_IOC_LEN		_IO(KWQ_IOC_MAGIC, 0x14)
#define KWQ_IOC_STAT		_IOWR(KWQ_IOC_MAGIC, 0x15, __u32)	/* struct kwq_stat */
#define KWQ_IOC_SHUT_DOWN	_IOW(KWQ_IOC_MAGIC, 0x16, __u32)	/* struct kwq_shut_down */
/* 1 once the queue is shut down, else 0; the argument is 0. */
#define KWQ_IOC_SHUTTING_DOWN	_IO(KWQ_IOC_MAGIC, 0x17)
#define KWQ_IOC_DRAIN		_IOWR(KWQ_IOC_MAGIC, 0x18, __u32)	/* struct kwq_drain */
#define KWQ_IOC_FORGET		_IOW(KWQ_IOC_MAGIC, 0x19, __u32)	/* struct kwq_op */
#define KWQ_IOC_REQUEUES	_IOW(KWQ_IOC_MAGIC, 0x1a, __u32)	/* struct kwq_op */
#define KWQ_IOC_CONFIGURE	_IOW(KWQ_IOC_MAGIC, 0x1b, __u32)	/* struct kwq_config */
#define KWQ_IOC_CONFIG		_IOWR(KWQ_IOC_MAGIC, 0x1c, __u32)	/* struct kwq_config */
#define KWQ_IOC_LIST_DEAD	_IOW(KWQ_IOC_MAGIC, 0x1d, __u32)	/* struct kwq_list_dead */
#define KWQ_IOC_ADVANCE		_IOW(KWQ_IOC_MAGIC, 0x1e, __u32)	/* struct kwq_advance */
#define KWQ_IOC_EXTEND		_IOW(KWQ_IOC_MAGIC, 0x1f, __u32)	/* struct kwq_op */

#endif /* _UAPI_LINUX_KWQ_H */

/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * kwq: a keyed work queue for programs, through /dev/kwq.
 *
 * A queue never holds a key twice and never hands it to two consumers at once. An add of a
 * key that is being processed is never lost. kwq(7) describes the semantics and kwq(4) the
 * requests.
 *
 * The requests:
 *
 *   on /dev/kwq            INFO, CREATE, OPEN, UNLINK, LIST
 *   on a queue descriptor  OPEN, ADD, GET, DONE, EXTEND, REMOVE, FORGET, REQUEUES,
 *                          LIST_ITEMS, CONFIGURE, CONFIG, LEN, STAT, PAUSE, RESUME,
 *                          SHUT_DOWN, SHUTTING_DOWN, DRAIN, ADVANCE, RESTORE, BOARD,
 *                          TELL, FOLLOW, CHANGES, SYNC, TERM, BPF
 *
 * Conventions:
 *
 * - The argument of a request, if it has one, is a structure that begins with its own size,
 *   as the caller was compiled. The size of an array's entries or limiters stands beside the
 *   address of the array. The kernel accepts any size from the first published one up to a
 *   page. It takes missing members as zero. Bytes beyond the members that it knows must be
 *   zero, else it returns E2BIG. A request keeps its number when its structure grows.
 * - Unknown flags and non-zero padding are EINVAL. An argument that the request ignores
 *   must be zero, too.
 * - No member is a long, an enum or a pointer, so 32-bit programs work on a 64-bit kernel
 *   without translation.
 * - Numbers are in the machine's byte order. A key is a string of bytes. It is only ever
 *   compared.
 * - Times are nanoseconds on the queue's clock. Deadlines are absolute, unless a flag makes
 *   them relative to now.
 * - A wait survives stop and continue, and signals whose handler restarts system calls. It
 *   keeps its original deadline. The kernel saves the state of the wait in the structure.
 * - Each result in a batch is zero or positive, or a negative errno value.
 * - A request with a structure may return EFAULT and EINVAL. All of these but INFO and STAT
 *   may return E2BIG. An unknown request number is ENOTTY. A request's list of errors omits
 *   these four, unless it has more to say about them.
 */
#ifndef _UAPI_LINUX_KWQ_H
#define _UAPI_LINUX_KWQ_H

#include <linux/ioctl.h>
#include <linux/types.h>

/** define KWQ_KEY_MAX - the longest key, in bytes; the shortest is 1 byte */
#define KWQ_KEY_MAX		4096
/** define KWQ_NAME_MAX - the longest name of a queue, in bytes, without the NUL */
#define KWQ_NAME_MAX		255
/** define KWQ_BATCH_MAX - the most entries in one batch */
#define KWQ_BATCH_MAX		1024
/** define KWQ_VALUE_MAX - the longest value of a key, in bytes */
#define KWQ_VALUE_MAX		65536
/* The longest note, in bytes. */
#define KWQ_NOTE_MAX		4096
/** define KWQ_GROUP_MAX - the longest name of a group, in bytes */
#define KWQ_GROUP_MAX		255
/** define KWQ_PRIORITY_MIN - the lowest priority, handed out last */
#define KWQ_PRIORITY_MIN	(-32)
/** define KWQ_PRIORITY_MAX - the highest priority, handed out first */
#define KWQ_PRIORITY_MAX	31
/** define KWQ_NO_DEADLINE - a deadline that never comes */
#define KWQ_NO_DEADLINE		(~(__u64)0)
/** define KWQ_AGE_UNKNOWN - an age that a queue with KWQ_CREATE_NO_DURATIONS does not know */
#define KWQ_AGE_UNKNOWN		(~(__u64)0)

/*
 * Features, in &struct kwq_info.features. Every version has the requests and flags that no
 * bit covers. LIMITERS also covers FORGET, REQUEUES, KWQ_DONE_FORGET and
 * &kwq_create_args.config.
 */
#define KWQ_FEATURE_DELAYS	(1ULL << 0)	/* KWQ_ADD_AFTER, KWQ_ADD_AT */
#define KWQ_FEATURE_PRIORITIES	(1ULL << 1)	/* KWQ_ADD_PRIORITY */
#define KWQ_FEATURE_NAMES	(1ULL << 2)	/* named queues, UNLINK, LIST */
#define KWQ_FEATURE_LIMITERS	(1ULL << 3)	/* KWQ_ADD_RATE_LIMITED, CONFIGURE, CONFIG */
#define KWQ_FEATURE_DEAD	(1ULL << 4)	/* KWQ_ADD_KICK, KWQ_REMOVE_DEAD */
#define KWQ_FEATURE_METRICS	(1ULL << 5)	/* &struct kwq_stat: @now and all after it */
#define KWQ_FEATURE_MANUAL_CLOCK (1ULL << 6)	/* KWQ_CLOCK_ID_MANUAL, ADVANCE */
#define KWQ_FEATURE_LEASES	(1ULL << 7)	/* &kwq_create_args.lease, EXTEND */
#define KWQ_FEATURE_PAUSE	(1ULL << 8)	/* PAUSE, RESUME */
/* LIST_ITEMS, &kwq_stat.oldest_waiting, &kwq_stat.oldest_dead */
#define KWQ_FEATURE_LIST_ITEMS	(1ULL << 9)
#define KWQ_FEATURE_GROUPS	(1ULL << 10)	/* KWQ_CREATE_GROUPS, KWQ_ADD_GROUP */
#define KWQ_FEATURE_AGING	(1ULL << 11)	/* &kwq_create_args.aging */
#define KWQ_FEATURE_VALUES	(1ULL << 12)	/* KWQ_CREATE_VALUES, KWQ_ADD_VALUE */
#define KWQ_FEATURE_DEBOUNCE	(1ULL << 13)	/* KWQ_ADD_AT_MOST */
#define KWQ_FEATURE_WAIT_ADD	(1ULL << 14)	/* KWQ_ADD_WAIT */
#define KWQ_FEATURE_RESTORE	(1ULL << 15)	/* RESTORE */
/* KWQ_DONE_DEAD, KWQ_DONE_RETURN, &kwq_stat.returned */
#define KWQ_FEATURE_SETTLE	(1ULL << 16)
#define KWQ_FEATURE_BOARD	(1ULL << 17)	/* BOARD, TELL, &kwq_stat.posted */
#define KWQ_FEATURE_NO_DURATIONS (1ULL << 18)	/* KWQ_CREATE_NO_DURATIONS */
/* KWQ_CREATE_CHANGES, KWQ_CREATE_SYNC, FOLLOW, CHANGES, SYNC */
#define KWQ_FEATURE_CHANGES	(1ULL << 19)
/* KWQ_CREATE_OUTBOX, KWQ_ADD_TOKEN, KWQ_REMOVE_REVOKE, KWQ_REMOVE_UNCHANGED, TERM */
#define KWQ_FEATURE_GRANTS	(1ULL << 20)
#define KWQ_FEATURE_NOTES	(1ULL << 21)	/* KWQ_EXTEND_NOTE, KWQ_ADD_NOTE */

/**
 * struct kwq_info - what this module offers (KWQ_IOC_INFO)
 * @size:	sizeof(struct kwq_info). The kernel replaces it with the number of bytes
 *		that it filled in, and zeroes the rest.
 * @key_max:	longest key, in bytes.
 * @features:	KWQ_FEATURE_* bits.
 * @max_items:	highest &kwq_create_args.max_items that this module grants.
 * @max_bytes:	highest &kwq_create_args.max_bytes that this module grants.
 * @max_queues:	most queues that one user may have at once. A user belongs to one user
 *		namespace. Each queue and byte also counts for the owner of that namespace
 *		and for the owners of all namespaces above it.
 * @name_max:	longest name, in bytes.
 * @batch_max:	most entries in one batch.
 * @priority_min: lowest priority.
 * @priority_max: highest priority.
 * @user_queues: queues that the caller has now. This includes exempt queues, and queues in
 *		user namespaces that the caller owns. A queue is exempt if its creator had
 *		CAP_SYS_RESOURCE in the initial user namespace. Exempt queues have no limit
 *		and use up no other queue's share.
 * @user_queues_left: how many more queues the caller may have; 2^32 - 1 if they would be
 *		exempt.
 * @pad:	zero.
 * @max_user_bytes: most bytes of memory that the queues of one user may take.
 * @max_total_bytes: most bytes that the queues of all users may take. Exempt queues do not
 *		count.
 * @user_bytes:	bytes that the queues counted in @user_queues have taken. Also memory of the
 *		caller's calls, on anybody's queues: their buffers, and values that are copied.
 *		Calls may take another sixteenth of @max_user_bytes, or 1 MiB if that is more.
 *		Beyond that, adds and reads of values are refused with EDQUOT.
 * @user_bytes_left: how many more bytes the caller's queues may take now. This is the least
 *		of what is left to the caller, to the owners of the user namespaces above,
 *		and to all users together. 2^64 - 1 if the caller's queues would be exempt.
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

/* 1.0 in the fixed-point numbers of factors and jitter. */
#define KWQ_ONE			65536U

/**
 * struct kwq_backoff - pauses that grow
 * @duration:	the first pause, in ns, up to 2^63 - 1.
 * @cap:	no pause grows beyond this, in ns; 0 for no cap.
 * @factor:	each pause is the one before, multiplied by this, in 1/KWQ_ONE. 0 means
 *		KWQ_ONE: the pauses stay the same. Below KWQ_ONE they shrink.
 * @jitter:	the largest random part that is added to a pause, relative to the pause, in
 *		1/KWQ_ONE. 0 for none.
 * @steps:	how many times the pause is multiplied. After the last step, or once it
 *		reaches the cap, the pause stays the same.
 * @pad:	zero.
 *
 * This is the Backoff of k8s.io/apimachinery/pkg/util/wait, in integers. Products are
 * rounded down to a ns and saturate at 2^63 - 1.
 */
struct kwq_backoff {
	__u64 duration;
	__u64 cap;
	__u32 factor;
	__u32 jitter;
	__u32 steps;
	__u32 pad;
};

/** define KWQ_LIMITERS_MAX - the most limiters in one queue */
#define KWQ_LIMITERS_MAX	8
/** define KWQ_LIMITER_STEPS_MAX - the most steps of a backoff limiter */
#define KWQ_LIMITER_STEPS_MAX	256

/* Kinds of limiters. */
#define KWQ_LIMITER_EXPONENTIAL	1	/* client-go's ItemExponentialFailure */
#define KWQ_LIMITER_FAST_SLOW	2	/* client-go's ItemFastSlow */
#define KWQ_LIMITER_BUCKET	3	/* client-go's Bucket: golang.org/x/time/rate */
#define KWQ_LIMITER_BACKOFF	4

/**
 * struct kwq_limiter - how long an item waits for its next try
 * @kind:	KWQ_LIMITER_*; selects the member of the union.
 * @pad:	zero.
 * @u:		parameters, by @kind.
 * @u.exponential: the delay is base x 2^requeues ns, at most max.
 * @u.exponential.base: 1 to max.
 * @u.exponential.max: up to 2^63 - 1.
 * @u.fast_slow: the delay is fast for the first nr_fast requeues of an item, then slow, in
 *		ns.
 * @u.fast_slow.fast: 0 to 2^63 - 1.
 * @u.fast_slow.slow: 0 to 2^63 - 1.
 * @u.fast_slow.nr_fast: 0 to use slow at once.
 * @u.fast_slow.pad: zero.
 * @u.bucket:	a bucket holds up to burst tokens and starts full. Each period adds events
 *		tokens. Each rate-limited add takes a token, and waits for one if the bucket
 *		is empty. The bucket holds at most the tokens of 2^63 - 1 ns. Its debt is at
 *		most the tokens that arrive before the clock ends.
 * @u.bucket.period: in ns, 1 to 2^63 - 1.
 * @u.bucket.events: at least 1.
 * @u.bucket.burst: at least 1.
 * @u.backoff:	the delay is the pause after as many steps as the item has requeues. The cap
 *		must not be below the duration. At most KWQ_LIMITER_STEPS_MAX steps.
 * @u.space:	must be zero outside the selected member.
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
#define KWQ_CONFIG_COALESCE	(1U << 0)	/* rate-limited adds of waiting items are free */

/**
 * struct kwq_config - how a queue limits retries (KWQ_IOC_CONFIGURE,
 *	KWQ_IOC_CONFIG, &kwq_create_args.config)
 * @size:	sizeof(struct kwq_config).
 * @flags:	KWQ_CONFIG_* bits. With COALESCE, a rate-limited add of a waiting item takes
 *		no token and raises no count.
 * @max_wait:	the longest delay that the limiters may give, in ns; 0 for no limit.
 * @forget_after: an item that is idle for this many ns loses its count of requeues. Idle
 *		means not ready, not waiting and not being processed. 0 for never.
 * @dead_after:	how often an item may be requeued. The next rate-limited add makes it dead, unless
 *		it is dirty or waiting. 0 for never.
 * @nr:		number of limiters at @limiters, up to KWQ_LIMITERS_MAX. Each rate-limited
 *		add asks all of them and uses the longest delay. 0 for client-go's default:
 *		exponential from 5 ms to 1000 s, with a bucket of 10 per second and a burst
 *		of 100.
 * @limiters:	address of an array of &struct kwq_limiter; 0 if @nr is 0.
 * @limiter_size: sizeof(struct kwq_limiter); 0 if @nr is 0.
 * @dead_after_lost: how many losses without a Done between them make an item dead. An item
 *		is lost when its handle is closed or its lease expires. If it was added
 *		while processing, or has a waiting time, it gets another run. 0 for never.
 *
 * A new configuration applies to rate-limited adds from then on. Waiting items keep their
 * times. A bucket that replaces another at the same position takes over its tokens, like
 * SetLimit of golang.org/x/time/rate. Any other new bucket starts full.
 *
 * CONFIG reads the configuration. On entry, @nr and @limiter_size describe the room at
 * @limiters. On return, @nr is the number of limiters of the queue. Limiters that fit are
 * filled in.
 *
 * Errors: ENOMEM, and
 *
 * - EBADF: CONFIGURE without the manage right
 * - EINVAL: also a rate or burst of 0, a base above max, a time beyond 2^63 - 1, an unknown
 *   kind, too many limiters, a @forget_after of a queue with KWQ_CREATE_NO_DURATIONS
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

/* A clock for tests. It starts at 0 and moves only by KWQ_IOC_ADVANCE. */
#define KWQ_CLOCK_ID_MANUAL	(-1)

/*
 * Rights of a descriptor. They never widen: not by dup(2), fork(2) or SCM_RIGHTS, and not
 * by KWQ_IOC_OPEN on the descriptor. The r, w and x bits of a queue's mode stand for them.
 * OPEN, CONFIG, LEN, STAT and SHUTTING_DOWN need no right.
 */
#define KWQ_RIGHT_READ		(1U << 2)	/* get, done, extend, forget, requeues, list */
#define KWQ_RIGHT_WRITE		(1U << 1)	/* add */
/* remove, configure, pause, resume, term, shut down, drain, advance */
#define KWQ_RIGHT_MANAGE	(1U << 0)

/* Flags of KWQ_IOC_CREATE. */
#define KWQ_CREATE_OR_OPEN	(1U << 0)	/* if the name exists, open that queue unchanged */
#define KWQ_CREATE_VALUES	(1U << 1)	/* a key may carry a value and a note */
#define KWQ_CREATE_GROUPS	(1U << 2)	/* keys may belong to groups, which take turns */
/*
 * The queue reads no clock for adds without options, hand-outs and dones. So it does not know for
 * how long a key was ready or processing. These are 0 then: &kwq_stat.oldest_ready,
 * @longest_running, @unfinished, @queue_duration and @work_duration; @oldest_dead leaves out items
 * that died at their done. These are KWQ_AGE_UNKNOWN: &kwq_listed.dirty_for of an item that an add
 * without options made dirty, @processing_for, and @dead_for of an item that died at its done. All
 * else is as without the flag. It excludes a lease, aging, and &kwq_config.forget_after.
 */
#define KWQ_CREATE_NO_DURATIONS	(1U << 3)
#define KWQ_CREATE_CHANGES	(1U << 4)	/* programs may follow the changes: see FOLLOW */
/*
 * With CHANGES: ADD, DONE, REMOVE, FORGET, RESTORE and a GET with adds or dones return only when
 * all changes so far are kept, as by KWQ_IOC_SYNC without a deadline. They wait even if the
 * descriptor has O_NONBLOCK, as for a file with O_SYNC. While they wait only a signal that kills
 * the caller ends the call, and its changes remain. Calls on the handle that follows never wait.
 * In a queue with KWQ_CREATE_OUTBOX the adds of a GET never wait, because the outbox may keep adds
 * of others for long. The end of the caller's work waits for its own. Such a queue has no board.
 */
#define KWQ_CREATE_SYNC		(1U << 5)
/*
 * ADD, FORGET and REQUEUES concern another queue, the outbox, and so do the adds of a GET, EPOLLOUT
 * and &kwq_add_args.deadline. So a manager decides what comes into this queue: it takes keys from
 * the outbox, and puts them here by RESTORE, perhaps with a token. The outbox checks no mode:
 * whoever may add to this queue may add to it. But a request to the outbox has only the rights of
 * the descriptor &kwq_create_args.outbox, so FORGET and REQUEUES need the right to read of that
 * one, too. Once this queue is shut down, adds are refused, also those that wait in the outbox. It
 * has no board.
 */
#define KWQ_CREATE_OUTBOX	(1U << 6)

/**
 * struct kwq_create_args - make a queue (KWQ_IOC_CREATE on /dev/kwq)
 * @size:	sizeof(struct kwq_create_args).
 * @flags:	KWQ_CREATE_* bits.
 * @open_flags:	any of O_NONBLOCK and O_CLOEXEC.
 * @mode:	permission bits of a named queue, 0 to 0777, minus the caller's umask. Zero
 *		for an unnamed queue.
 * @clockid:	CLOCK_MONOTONIC; CLOCK_BOOTTIME to count time asleep in delays; or
 *		KWQ_CLOCK_ID_MANUAL for tests.
 * @rights:	KWQ_RIGHT_* bits of the new descriptor, at least one. The creator may ask
 *		for all of them, whatever the mode.
 * @max_items:	most items at once, at most the module's limit, and 0 for that. Remembered items
 *		do not count, because they have a limit of their own, which is as high.
 * @max_bytes:	most bytes of memory for items and their keys; 0 for the module's limit. The same
 *		holds for remembered items.
 * @name:	empty for an unnamed queue, which lives as long as its descriptors.
 *		Otherwise 1 to KWQ_NAME_MAX bytes without a slash, ended by a NUL and padded
 *		with NULs, but neither "." nor "..". A named queue lives until it is unlinked and
 *		its last descriptor is closed.
 * @config:	address of a &struct kwq_config, or 0 for the default.
 * @lease:	how long an item may be held, in ns on the queue's clock, up to 2^63 - 1; 0
 *		for ever. When a lease expires, the item is taken back as if its handle had
 *		been closed, and its ticket becomes stale. KWQ_IOC_EXTEND restarts the
 *		lease.
 * @aging:	after this time in ns, up to 2^63 - 1, an item that is ready counts as one priority
 *		higher, after twice the time as two, and so on up to KWQ_PRIORITY_MAX; 0 for never.
 *		The time counts from the moment when the item became dirty. The item keeps its
 *		own priority.
 * @group_limit: with KWQ_CREATE_GROUPS, most items of one group that are processing at once; 0
 *		for no limit. Zero without KWQ_CREATE_GROUPS.
 * @outbox:	with KWQ_CREATE_OUTBOX, a descriptor of the outbox, with the right to add. It may be
 *		closed afterwards. The outbox has the same clock, and no outbox. Zero without
 *		KWQ_CREATE_OUTBOX.
 *
 * The owner and the group of the queue are the file-system user and group IDs of the caller. With
 * KWQ_CREATE_OR_OPEN, which is not for unnamed queues, a queue that exists keeps its mode, clock,
 * limits, configuration and lease. The bytes of a closed queue count in the quota until they are
 * free, which takes a moment if the queue is large.
 *
 * Return: a new descriptor of the queue.
 * Errors: EEXIST, EMFILE, ENFILE, ENOMEM, and
 *
 * - EACCES: KWQ_CREATE_OR_OPEN, and the mode forbids it
 * - EBADF: @outbox is no descriptor, or lacks the right to add
 * - EDQUOT: the user has too many queues, or too much memory in them; see &struct kwq_info
 * - EINVAL: also an @outbox that is no queue, or is not as it has to be
 * - ENAMETOOLONG: the name has no NUL
 */
struct kwq_create_args {
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
	__u64 aging;
	__u32 group_limit;
	__s32 outbox;
};

/**
 * struct kwq_open_args - open a queue (KWQ_IOC_OPEN)
 * @size:	sizeof(struct kwq_open_args).
 * @open_flags:	as in &struct kwq_create_args.
 * @rights:	KWQ_RIGHT_* bits of the new descriptor, at least one.
 * @pad:	zero.
 * @name:	the name of the queue, on /dev/kwq. Empty on a queue descriptor: there the
 *		request makes a second handle of the same queue. That handle holds its own
 *		items and has no right that the first lacks.
 *
 * Descriptors that come from dup(2), fork(2) or SCM_RIGHTS share one handle. The items that
 * it holds are given back when the last of them is closed. So each worker process needs its
 * own handle.
 *
 * The mode of a named queue works like that of a file. The first class that matches the
 * caller decides: the owner, the group, others. CAP_DAC_OVERRIDE grants every right, and
 * CAP_DAC_READ_SEARCH the right to read.
 *
 * Return: a new descriptor of the queue.
 * Errors: EACCES, EMFILE, ENAMETOOLONG, ENFILE, ENOENT, ENOMEM.
 */
struct kwq_open_args {
	__u32 size;
	__u32 open_flags;
	__u32 rights;
	__u32 pad;
	__u8  name[KWQ_NAME_MAX + 1];
};

/**
 * struct kwq_unlink_args - remove a queue's name (KWQ_IOC_UNLINK on /dev/kwq)
 * @size:	sizeof(struct kwq_unlink_args).
 * @flags:	zero.
 * @name:	the name.
 *
 * The caller must own the queue or have CAP_FOWNER. Another queue may have the name at once. The
 * queue itself goes with its last descriptor.
 *
 * Errors: ENAMETOOLONG, ENOENT, EPERM.
 */
struct kwq_unlink_args {
	__u32 size;
	__u32 flags;
	__u8  name[KWQ_NAME_MAX + 1];
};

/**
 * struct kwq_list_entry - one named queue in a list
 * @uid:	owner, in the caller's user namespace.
 * @gid:	group, in the caller's user namespace.
 * @mode:	permission bits.
 * @pad:	zero.
 * @name:	the name, ended by a NUL and padded with NULs.
 */
struct kwq_list_entry {
	__u32 uid;
	__u32 gid;
	__u32 mode;
	__u32 pad;
	__u8  name[KWQ_NAME_MAX + 1];
};

/**
 * struct kwq_list_args - list named queues by name (KWQ_IOC_LIST on /dev/kwq)
 * @size:	sizeof(struct kwq_list_args).
 * @flags:	zero.
 * @entries:	address of an array of &struct kwq_list_entry, filled in.
 * @nr:		length of that array, 1 to KWQ_BATCH_MAX.
 * @entry_size:	sizeof(struct kwq_list_entry).
 * @after:	list only names that sort after this one, byte by byte; empty to begin. Pass
 *		the last name of a call to the next one.
 *
 * The list has all names of the caller's network namespace, whether it may open the queues or not.
 *
 * Return: how many entries were filled in; 0 at the end of the list.
 * Errors: ENAMETOOLONG, ENOMEM.
 */
struct kwq_list_args {
	__u32 size;
	__u32 flags;
	__u64 entries;
	__u32 nr;
	__u32 entry_size;
	__u8  after[KWQ_NAME_MAX + 1];
};

/**
 * struct kwq_batch - many entries in one call
 * @entries:	address of an array of entries. The request defines their structure, and
 *		whether it reads them or fills them in.
 * @keys:	address of the entries' keys, packed one after the other without a
 *		separator. Zero if @keys_len is 0.
 * @results:	address of an array of __s32, one for each entry. Zero where the entries are
 *		filled in.
 * @extras:	address of an array with a further structure for each entry, if the request
 *		names one; else 0.
 * @keys_len:	number of bytes at @keys; for GET and LIST_ITEMS the room there.
 * @nr:		number of entries, up to KWQ_BATCH_MAX. With 0 the batch is absent and all
 *		its other members must be zero.
 * @entry_size:	size of one entry, as the caller was compiled. Entries grow as structures
 *		do.
 * @extra_size:	size of one of @extras, as the caller was compiled; 0 without them.
 *
 * Each entry has its own result. An error in one leaves the others unaffected. A result of
 * EFAULT means that the outcome of the entry is unknown, because the memory of the result
 * became unwritable during the call. If a key would reach beyond @keys_len, its entry gets
 * EINVAL, and so do all later entries that have a key.
 */
struct kwq_batch {
	__u64 entries;
	__u64 keys;
	__u64 results;
	__u64 extras;
	__u32 keys_len;
	__u32 nr;
	__u32 entry_size;
	__u32 extra_size;
};

/**
 * struct kwq_batch_args - a batch of one operation: ADD, DONE, EXTEND, REMOVE, FORGET, REQUEUES,
 *	RESTORE
 * @size:	sizeof(struct kwq_batch_args).
 * @flags:	zero.
 * @batch:	entries of &struct kwq_add_entry, &struct kwq_done_entry, &struct
 *		kwq_extend_entry, &struct kwq_remove_entry, &struct kwq_restore_entry or, for
 *		FORGET and REQUEUES, &struct kwq_key_entry. At least one. ADD, EXTEND and RESTORE
 *		may have extras of &struct kwq_add_extra. An ADD that waits for room needs &struct
 *		kwq_add_args.
 *
 * Return: how many entries were taken, from the first on. Each of them has its result. The
 * number is less than @nr if a later entry could not be read, its result could not be written, or
 * the caller is being killed. The rest of the results is undefined then.
 * Errors, with nothing changed: ENOMEM, and
 *
 * - EBADF: the descriptor lacks the right
 * - EDQUOT: adds, and calls of the caller's user have too much memory
 * - EFAULT: the first entries could not be read, or their results not be written
 * - EMSGSIZE: the batch has more than KWQ_BATCH_MAX entries
 */
struct kwq_batch_args {
	__u32 size;
	__u32 flags;
	struct kwq_batch batch;
};

/* Flags of KWQ_IOC_ADD. */
#define KWQ_ADD_WAIT		(1U << 0)	/* wait for room */
#define KWQ_ADD_RELATIVE	(1U << 1)	/* @deadline is relative to now */

/**
 * struct kwq_add_args - add keys, and wait for room if necessary (KWQ_IOC_ADD)
 * @size:	sizeof(struct kwq_add_args).
 * @flags:	KWQ_ADD_WAIT and KWQ_ADD_RELATIVE. RELATIVE needs WAIT.
 * @batch:	entries of &struct kwq_add_entry, at least one.
 * @deadline:	when to stop waiting for room: absolute ns on the queue's clock, or
 *		KWQ_NO_DEADLINE. With KWQ_ADD_RELATIVE ns from now. Zero without KWQ_ADD_WAIT.
 * @resume:	as in &struct kwq_get_args. Only a call that took no entry is continued.
 *
 * This is &struct kwq_batch_args with two more members. Without KWQ_ADD_WAIT a caller may pass
 * that structure.
 *
 * Without KWQ_ADD_WAIT, an entry without room has the result ENOSPC or EDQUOT, and the call
 * goes on with the next one. With it, the call waits at such an entry, with all entries before
 * it done. It goes on when there is room, and does not wait for an entry whose key is in the
 * queue, or gets there meanwhile. If the item is larger than the queue may ever be, ENOSPC is
 * final, and the call goes on. A shut down ends the wait: then the results are ESHUTDOWN.
 *
 * If the wait ends by its deadline or a signal, the call returns how many entries were taken.
 * The next entry has the result ENOSPC or EDQUOT and does not count as taken. Results of later
 * entries are undefined. If no entry was taken, the call fails with ETIMEDOUT or EINTR.
 *
 * A descriptor with O_NONBLOCK never waits, as for write(2): a call with KWQ_ADD_WAIT then
 * returns how many entries were taken before the first one without room, or EAGAIN if none was.
 *
 * Adds that wait go on in the order in which they began to wait. A short key may go before a
 * long one that still lacks bytes. An add that finds room never waits.
 *
 * Return: as for &struct kwq_batch_args.
 * Errors: those of &struct kwq_batch_args, and with KWQ_ADD_WAIT, if no entry was taken:
 *
 * - EAGAIN: there is no room, and the descriptor has O_NONBLOCK
 * - EINTR: a signal
 * - ETIMEDOUT: the deadline passed
 */
struct kwq_add_args {
	__u32 size;
	__u32 flags;
	struct kwq_batch batch;
	__u64 deadline;
	__u64 resume;
};

/* Flags of an entry of an add. */
#define KWQ_ADD_PRIORITY	(1U << 0)	/* @priority is given */
#define KWQ_ADD_AFTER		(1U << 1)	/* @time is a delay */
#define KWQ_ADD_AT		(1U << 2)	/* @time is absolute */
#define KWQ_ADD_REPLACE		(1U << 3)	/* if it is waiting: the new time */
#define KWQ_ADD_KEEP		(1U << 4)	/* if it is waiting: the first time */
#define KWQ_ADD_LATER		(1U << 5)	/* if it is waiting: the later time */
#define KWQ_ADD_END_WAIT	(1U << 6)	/* an immediate add also ends the waiting */
#define KWQ_ADD_RATE_LIMITED	(1U << 7)	/* after the limiters' delay */
#define KWQ_ADD_KICK		(1U << 8)	/* only if it is dead */
#define KWQ_ADD_VALUE		(1U << 9)	/* it gets &kwq_add_extra.value */
#define KWQ_ADD_KEEP_VALUE	(1U << 10)	/* with VALUE: its next run keeps its value */
#define KWQ_ADD_GROUP		(1U << 11)	/* moves it to a group, or out of its group */
#define KWQ_ADD_AT_MOST		(1U << 12)	/* AFTER, REPLACE: see &kwq_add_extra.at_most */
#define KWQ_ADD_TOKEN		(1U << 13)	/* RESTORE only: it gets &kwq_add_extra.token */
#define KWQ_ADD_NOTE		(1U << 14)	/* it gets &kwq_add_extra.note */

/**
 * struct kwq_add_entry - one add (KWQ_IOC_ADD)
 * @key_len:	bytes of its key, 1 to KWQ_KEY_MAX.
 * @flags:	KWQ_ADD_* bits. AFTER, AT or RATE_LIMITED, at most one of them, makes it a
 *		delayed add. A delayed add may have one of REPLACE, KEEP and LATER. With
 *		none of these a waiting item keeps the earlier time. END_WAIT is for
 *		immediate adds only. KICK excludes RATE_LIMITED. AT_MOST is for adds with both
 *		AFTER and REPLACE. VALUE, GROUP, NOTE and AT_MOST need an extra. So does
 *		KWQ_SET_JOINS, which is for adds with VALUE and without KEEP_VALUE.
 * @priority:	KWQ_PRIORITY_MIN to KWQ_PRIORITY_MAX with KWQ_ADD_PRIORITY, else
 *		0.
 * @pad:	zero.
 * @time:	ns. With AFTER a delay: 0 is an immediate add, except with REPLACE, KEEP and LATER,
 *		for which it is a time like any other, and a delay beyond the clock's range
 *		saturates. With AT a time on the queue's clock: if it has passed, the item is ready
 *		at once, behind items that were due earlier. Else 0.
 *
 * An add with END_WAIT also gives the item the priority that was named for its time, if that is
 * higher. A rate-limited add raises the item's count of requeues. Any other add revives a dead
 * item, with a count of 0.
 *
 * Results: KWQ_ADDED, KWQ_COALESCED, KWQ_DIRTIED, KWQ_WAITING, KWQ_DEAD, KWQ_DIRTY.
 * Errors: ENOMEM (also if more than 128 keys have the same place in the queue's table, which does
 * not happen by chance), ESHUTDOWN, and
 *
 * - EDQUOT: the queue's owner has too much memory in queues, or the calls of the user that opened
 *   the descriptor have too much
 * - EINVAL: flags, padding, priority, an empty key, or a key beyond @keys_len
 * - EMSGSIZE: the key is too long
 * - ENOENT: KICK, but the item is not dead
 * - ENOSPC: the queue has as many items as it may, or no room for the bytes of the item, its value
 *   or its group
 * - EOPNOTSUPP: VALUE or NOTE, but the queue was created without KWQ_CREATE_VALUES; or GROUP
 *   without KWQ_CREATE_GROUPS
 */
struct kwq_add_entry {
	__u32 key_len;
	__u32 flags;
	__s32 priority;
	__u32 pad;
	__u64 time;
};

/**
 * struct kwq_add_extra - what else an add may have (&kwq_batch.extras)
 * @value:	with KWQ_ADD_VALUE, the address of the value; else 0.
 * @group:	with KWQ_ADD_GROUP, the address of the name of a group: any bytes; else 0.
 * @note:	with KWQ_ADD_NOTE or KWQ_EXTEND_NOTE, the address of the note; else 0.
 * @at_most:	with KWQ_ADD_AT_MOST, at least 1; else 0. However often the item's waiting time
 *		is replaced, it is at most this many ns after the first add of that wait. So
 *		the add waits for a quiet time of &kwq_add_entry.time, but not for ever
 *		(debounce).
 * @value_len:	with KWQ_ADD_VALUE, bytes of the value, up to KWQ_VALUE_MAX. 0 takes the
 *		item's value away. Without KWQ_ADD_VALUE 0.
 * @group_len:	with KWQ_ADD_GROUP, bytes of that name, up to KWQ_GROUP_MAX. 0 takes the item out
 *		of its group. Without KWQ_ADD_GROUP 0.
 * @note_len:	with a note, its bytes, up to KWQ_NOTE_MAX. 0 takes the item's note away. Else 0.
 * @pad:	zero.
 * @token:	with KWQ_ADD_TOKEN, a number that GET returns with the item; else 0. It belongs to
 *		the next hand-out, like a value. Each further hand-out of the item, without a new
 *		token, has the next number. So a store can refuse a holder that has lost the item.
 *		The number stays when its lowest 14 bits are all set. A manager begins with zeros
 *		there, and sets a new token in time. It needs a queue with KWQ_CREATE_CHANGES.
 *
 * A value belongs to its item until the item is neither ready, waiting, processing nor dead.
 * A later value replaces it. A GET returns the value as of the hand-out. A value that is set
 * while the item is being processed is for its next run. An add without a value leaves the
 * value as it is. With KWQ_ADD_KEEP_VALUE an item that is ready, waiting, or added again
 * while it is processing keeps the value that it has.
 *
 * With KWQ_SET_JOINS the value is a set of bits, in 1 to KWQ_SET_MAX bytes. If the item has a value
 * of the same length, the new one gets its bits, too. A run that has begun leaves them there, in
 * case it fails, until it is done.
 *
 * An item belongs to its group as long. Groups need no creation. Within a priority, groups with
 * ready items take turns. A group has at most &kwq_create_args.group_limit items processing. Items
 * without a group are one more group, without a limit. An add that names another group moves the
 * item: a ready one to the tail of its priority there. A run counts in the group in which it
 * began.
 *
 * A note is what a worker says of an item: why its last run failed, for example. An add brings one
 * for the item as it is, even while it is being processed, and so does &struct kwq_extend_entry. It
 * belongs to the item as long as a value does, but a done or a FORGET that resets the count of
 * requeues ends it before. Items of a queue with KWQ_CREATE_VALUES may have notes.
 *
 * Values, notes and groups count for &kwq_stat.bytes and the quota. If there is no room for them,
 * the whole entry is refused, with nothing changed.
 *
 * Errors of an entry with an extra: those of the add, and EMSGSIZE (the value, the note or the
 * group's name is too long).
 */
struct kwq_add_extra {
	__u64 value;
	__u64 group;
	__u64 note;
	__u64 at_most;
	__u32 value_len;
	__u32 group_len;
	__u32 note_len;
	__u32 pad;
	__u64 token;
};

/* Results of an add. */
#define KWQ_ADDED	0	/* ready now */
#define KWQ_COALESCED	1	/* was ready already (a delayed add: was waiting already) */
#define KWQ_DIRTIED	2	/* being processed; ready again at its Done */
#define KWQ_WAITING	3	/* waiting for its time */
#define KWQ_DEAD	4	/* a rate-limited add: the item is dead, now or at its Done */
#define KWQ_DIRTY	5	/* being processed, and had been added again already */
#define KWQ_RESTORED	6	/* RESTORE: the item is as it was */

/* Flags of a done. */
#define KWQ_DONE_FORGET	(1U << 0)	/* reset its count of requeues to 0 */
#define KWQ_DONE_DEAD	(1U << 1)	/* it is dead, as if it had been tried too often */
#define KWQ_DONE_RETURN	(1U << 2)	/* it is ready again, as if it had not been handed out */

/**
 * struct kwq_done_entry - one done (KWQ_IOC_DONE)
 * @ticket:	ticket of the hand-out, or 0 to name the item by its key.
 * @key_len:	bytes of its key, 1 to KWQ_KEY_MAX; 0 with a ticket.
 * @flags:	KWQ_DONE_* bits.
 *
 * Results: KWQ_FINISHED, or KWQ_REQUEUED and KWQ_STILL_WAITING bits. With KWQ_DONE_DEAD
 * KWQ_BURIED alone, or one of these. With KWQ_DONE_RETURN KWQ_RETURNED, perhaps with
 * KWQ_STILL_WAITING.
 *
 * KWQ_DONE_DEAD makes the item dead, whether or not the queue has &kwq_config.dead_after. An add or
 * a time that came while it was being processed is a new event: then the item does not die, and the
 * results are those of a plain done. A queue that is shut down keeps no dead items.
 *
 * With KWQ_DONE_RETURN the item goes back to the head of its priority. Its count of requeues, its
 * losses and its time stay as they are. An add that came meanwhile is served by the same run. If it
 * had a higher priority, the item goes to the tail of that one. Of several returned items the last
 * one comes first. KWQ_DONE_RETURN excludes the other flags.
 *
 * Errors: EINVAL, and
 *
 * - EMSGSIZE: the key is too long
 * - ENOENT: no such key is being processed
 * - EPERM: another handle holds it
 * - ESTALE: this handle holds nothing under that ticket any more
 *
 * Use the ticket in a queue with leases. A handle may lose an item and get it again for
 * another of its threads. The key does not tell these two hand-outs apart.
 */
struct kwq_done_entry {
	__u64 ticket;
	__u32 key_len;
	__u32 flags;
};

/* Results of a done. */
#define KWQ_FINISHED		0		/* nothing is left to do */
#define KWQ_REQUEUED		(1 << 0)	/* had been added meanwhile; ready again */
#define KWQ_STILL_WAITING	(1 << 1)	/* still waiting for a time */
#define KWQ_BURIED		(1 << 2)	/* dead now */
#define KWQ_RETURNED		(1 << 3)	/* ready again, as before the hand-out */

/* Flags of an extension. */
#define KWQ_EXTEND_NOTE	(1U << 0)	/* it gets &kwq_add_extra.note */

/**
 * struct kwq_extend_entry - one extension of a lease (KWQ_IOC_EXTEND)
 * @ticket:	ticket of the hand-out, or 0 to name the item by its key.
 * @key_len:	bytes of its key, 1 to KWQ_KEY_MAX; 0 with a ticket.
 * @flags:	KWQ_EXTEND_* bits. NOTE needs an extra.
 *
 * The item's lease starts again and lasts &kwq_create_args.lease from now. In a queue without
 * leases the request only checks the ticket or the key.
 *
 * When an item is taken from a handle, because its lease ended or it was revoked, the handle's
 * descriptors poll EPOLLPRI (POLLPRI) until the next EXTEND. So a holder need not ask in vain: it
 * then extends all that it holds, and learns which tickets are stale.
 *
 * With KWQ_EXTEND_NOTE the item also gets a note, which takes the place of an earlier one. A worker
 * whose run has failed says why in this way, before it adds the item again or lets it be dead.
 *
 * Results: 0.
 * Errors: those of &struct kwq_done_entry, and with KWQ_EXTEND_NOTE, with nothing changed:
 *
 * - EDQUOT, ENOMEM, ENOSPC: as for an add; the lease is not extended
 * - EMSGSIZE: the note is too long
 * - EOPNOTSUPP: the queue was created without KWQ_CREATE_VALUES
 */
struct kwq_extend_entry {
	__u64 ticket;
	__u32 key_len;
	__u32 flags;
};

/* Flags of a remove. */
#define KWQ_REMOVE_DEAD	(1U << 0)	/* only if it is dead */
#define KWQ_REMOVE_REVOKE	(1U << 1)	/* also take it from its holder */
#define KWQ_REMOVE_UNCHANGED	(1U << 2)	/* only if it has not changed since @change */

/**
 * struct kwq_remove_entry - one remove (KWQ_IOC_REMOVE)
 * @key_len:	bytes of its key, 1 to KWQ_KEY_MAX.
 * @flags:	KWQ_REMOVE_* bits.
 * @change:	with KWQ_REMOVE_UNCHANGED, &kwq_listed.change of the item, as the follower has read
 *		it by CHANGES or, before its first CHANGES, by LIST_ITEMS; else 0.
 *
 * A remove also resets the item's count of requeues. If the item is only remembered for its count,
 * the remove forgets it. Then &kwq_stat.removed does not count it, because it was done before.
 *
 * With KWQ_REMOVE_REVOKE a processing item is gone at once, as if its lease had ended before the
 * remove. Its holder's ticket is stale from then on, and EPOLLPRI tells the holder.
 *
 * Results: what the item was, as KWQ_WAS_* bits, at least one.
 * Errors: EINVAL, EMSGSIZE (key too long), ENOENT (the queue has no such key; with
 * KWQ_REMOVE_DEAD, no such dead item), and
 *
 * - EOPNOTSUPP: KWQ_REMOVE_UNCHANGED, but the queue was created without KWQ_CREATE_CHANGES
 * - ESTALE: KWQ_REMOVE_UNCHANGED, and the item has changed since @change, or an add has coalesced
 *   since the follower read it, or the board may have answered one. CHANGES reads it again.
 */
struct kwq_remove_entry {
	__u32 key_len;
	__u32 flags;
	__u64 change;
};

/* Results of a remove. */
#define KWQ_WAS_READY		(1 << 0)	/* was in the queue; is gone */
#define KWQ_WAS_WAITING		(1 << 1)	/* was waiting; its time is dropped */
#define KWQ_WAS_PROCESSING	(1 << 2)	/* is being processed; its Done ends it */
#define KWQ_WAS_DIRTY		(1 << 3)	/* was added meanwhile; the mark is dropped */
#define KWQ_WAS_DEAD		(1 << 4)	/* was dead, or due to be dead at its Done */
#define KWQ_WAS_REMEMBERED	(1 << 5)	/* was only remembered; is forgotten */

/**
 * struct kwq_key_entry - one forget, or one query of the requeues (KWQ_IOC_FORGET,
 *	KWQ_IOC_REQUEUES)
 * @key_len:	bytes of its key, 1 to KWQ_KEY_MAX.
 * @flags:	zero.
 *
 * Results: how often the item was rate-limited since it was last forgotten, up to 2^31 - 1;
 * 0 for an unknown key. FORGET then resets the count to 0 and does nothing else: a holder of
 * the key still has to call DONE.
 * Errors: EINVAL, EMSGSIZE (key too long).
 */
struct kwq_key_entry {
	__u32 key_len;
	__u32 flags;
};

/* States of an item. The first six have the values of KWQ_WAS_*. */
#define KWQ_IS_READY		(1U << 0)	/* in the queue: GET can hand it out */
#define KWQ_IS_WAITING		(1U << 1)	/* has a time at which it will be added */
#define KWQ_IS_PROCESSING	(1U << 2)	/* handed out, and not yet done */
#define KWQ_IS_DIRTY		(1U << 3)	/* was added while processing; ready at its Done */
#define KWQ_IS_DEAD		(1U << 4)	/* set aside after too many failures */
#define KWQ_IS_REMEMBERED	(1U << 5)	/* idle, and kept for its count of requeues */
#define KWQ_IS_RETURNED		(1U << 6)	/* ready, and ahead: it lost its holder */
#define KWQ_IS_DYING		(1U << 7)	/* processing, and due to be dead at its Done */

/** define KWQ_PRIORITY_NONE - the priority of an add that names none */
#define KWQ_PRIORITY_NONE	(-128)

/**
 * struct kwq_listed - one item in a list (KWQ_IOC_LIST_ITEMS)
 * @order:	sorts the items of one state, that of @order_of. Ready items with equal
 *		priorities, all with or all without KWQ_IS_RETURNED: the order in which they
 *		will be handed out, unless groups take turns or items age. Processing items: the
 *		ticket. Waiting items: the time, on the queue's clock as the caller's time
 *		namespace shows it. Dead items: the number of the death. Remembered items: 0.
 * @dirty_for:	how long it has been ready, or dirty while processing, in ns. If it is also
 *		waiting while it is processing and dirty, this is @processing_for. Else 0.
 *		KWQ_AGE_UNKNOWN if the queue does not know it; so are the next one and @dead_for.
 * @processing_for: how long it has been processing, in ns; else 0.
 * @waiting_for: how long it has been waiting, since the first add of this wait, in ns; else 0.
 * @due_in:	the time until its wait ends, in ns; 0 if it is due or not waiting.
 * @dead_for:	how long it has been dead, in ns; else 0.
 * @lease_left:	the time until its lease expires, in ns; 0 if the lease is over, without a
 *		lease, or if it is not processing.
 * @state:	KWQ_IS_* bits.
 * @order_of:	the state that @order sorts: the first of KWQ_IS_PROCESSING, KWQ_IS_READY,
 *		KWQ_IS_WAITING, KWQ_IS_DEAD and KWQ_IS_REMEMBERED that is in @state and that
 *		the request asked for. DIRTY and DYING ask for PROCESSING, and RETURNED for
 *		READY. CHANGES asks for all. 0 for an item that is gone.
 * @key_len:	bytes of its key.
 * @group_len:	bytes of the name of its group, which stands behind its key; 0 for none.
 * @value_len:	bytes of its value; 0 for none. While it is processing, the value may be one for
 *		its next run.
 * @note_len:	bytes of its note; 0 for none.
 * @priority:	its priority.
 * @next_priority: the priority of its next run, if it is dirty while processing; else 0.
 * @wait_priority: the priority that it will be added with at its time, if it is waiting.
 *		KWQ_PRIORITY_NONE if no add named one. Else 0.
 * @requeues:	how often it was rate-limited since it was last forgotten.
 * @abandoned:	how often it lost its holder, or its lease expired, since it was last done
 *		or dead.
 * @pid:	the process that last called GET on the handle that holds it or, if that is gone,
 *		the one that opened the handle, in the caller's pid namespace. 0 if the item is
 *		not processing, if both are gone, or if it is not visible in that namespace.
 * @change:	number of its first change that the follower has not read. If it has read all, or if
 *		there is no follower, that of its last change. 0 without KWQ_CREATE_CHANGES.
 * @token:	its token: see &kwq_add_extra.token. An item that is gone has that of its last run.
 */
struct kwq_listed {
	__u64 order;
	__u64 dirty_for;
	__u64 processing_for;
	__u64 waiting_for;
	__u64 due_in;
	__u64 dead_for;
	__u64 lease_left;
	__u32 state;
	__u32 order_of;
	__u32 key_len;
	__u32 group_len;
	__u32 value_len;
	__u32 note_len;
	__s32 priority;
	__s32 next_priority;
	__s32 wait_priority;
	__u32 requeues;
	__u32 abandoned;
	__s32 pid;
	__u64 change;
	__u64 token;
};

/* Flags of KWQ_IOC_LIST_ITEMS. */
#define KWQ_LIST_KEY	(1U << 0)	/* only the item of the key at @key */
#define KWQ_LIST_VALUES	(1U << 1)	/* the values, too */
#define KWQ_LIST_NOTES	(1U << 2)	/* the notes, too */

/**
 * struct kwq_list_items_args - list the items of a queue (KWQ_IOC_LIST_ITEMS)
 * @size:	sizeof(struct kwq_list_items_args).
 * @flags:	KWQ_LIST_* bits.
 * @after:	zero to begin; on return, the value to pass to the next call, or 0 at the end of
 *		the list. Zero with KWQ_LIST_KEY.
 * @states:	KWQ_IS_* bits, at least one. Items that have none of them are left out.
 * @key_len:	bytes of the key at @key, 1 to KWQ_KEY_MAX; zero without KWQ_LIST_KEY.
 * @key:	address of the key; zero without KWQ_LIST_KEY.
 * @batch:	entries of &struct kwq_listed, filled in, at least one. Their keys are packed at
 *		@batch.keys. The name of its group follows each key, and then, with
 *		KWQ_LIST_VALUES, its value, and then, with KWQ_LIST_NOTES, its note.
 *
 * The list is in no useful order: sort it by &kwq_listed.order. A page may have fewer entries
 * than there is room for, and even none, before the end. So go on until @after is 0.
 *
 * The queue goes on working meanwhile. Each entry is right at the moment when it is made. An
 * item is listed exactly once if it has one of @states during the whole listing, even if it
 * changes its state. No key is listed twice.
 *
 * Return: how many entries were filled in.
 * Errors: ENOMEM, and
 *
 * - EBADF: the descriptor lacks the right to read
 * - EDQUOT: VALUES or NOTES, and other calls of the caller's user copy too many values or wait with
 *   too much memory
 * - EINTR: the caller is being killed
 * - EINVAL: also an empty key
 * - EMSGSIZE: the first key, with its group, value and note, does not fit, @key is too long, or
 *   a batch has more than KWQ_BATCH_MAX entries
 * - ENOENT: KWQ_LIST_KEY, and the queue has no such key
 */
struct kwq_list_items_args {
	__u32 size;
	__u32 flags;
	__u64 after;
	__u32 states;
	__u32 key_len;
	__u64 key;
	struct kwq_batch batch;
};

/**
 * struct kwq_restore_entry - one item that is put back as it was (KWQ_IOC_RESTORE)
 * @key_len:	bytes of its key, 1 to KWQ_KEY_MAX.
 * @flags:	KWQ_ADD_VALUE, KWQ_ADD_GROUP, KWQ_ADD_NOTE and KWQ_ADD_TOKEN, if the entry's extra
 *		has them.
 * @state:	KWQ_IS_* bits: READY or WAITING or both, or DEAD alone, or REMEMBERED alone.
 *		RETURNED may come with READY. PROCESSING, with DIRTY and DYING or not, is taken
 *		as READY and RETURNED.
 * @priority:	its priority; KWQ_PRIORITY_MIN to KWQ_PRIORITY_MAX.
 * @wait_priority: with WAITING, the priority for its time, or KWQ_PRIORITY_NONE; else 0.
 * @requeues:	how often it was rate-limited since it was last forgotten.
 * @abandoned:	how often it lost its holder since it was last done or dead.
 * @pad:	zero.
 * @dirty_for:	how long it has been ready, in ns; else 0.
 * @waiting_for: how long it has been waiting, in ns; else 0.
 * @due_in:	the time until its wait ends, in ns; else 0.
 * @dead_for:	how long it has been dead, in ns; else 0.
 *
 * &struct kwq_listed has these members, too. Time spans beyond the clock's range saturate. An age
 * that is KWQ_AGE_UNKNOWN counts from the restore. But in a queue with KWQ_CREATE_NO_DURATIONS,
 * such a @dirty_for or @dead_for stays unknown.
 *
 * A ready item goes behind the items of its priority, and with RETURNED behind the returned ones
 * of its priority. So restore ready items in the order in which they are to be handed out, and
 * dead items in the order of their deaths.
 *
 * If the queue has the key already, and not only for its count of requeues, the item keeps its
 * state, its group, its value and its note. It is only added: by READY at once, with the priority
 * of the entry, and by WAITING at its time, if that is earlier. A processing item gets the value of
 * the entry for its next run, unless it has one for that. So it gets the token. DEAD and
 * REMEMBERED change nothing.
 *
 * Results: KWQ_RESTORED for a new key. For a key that the queue has, the result of that add:
 * KWQ_ADDED, KWQ_COALESCED, KWQ_DIRTIED, KWQ_DIRTY or KWQ_WAITING.
 * Errors: those of &struct kwq_add_entry but ENOENT, and
 *
 * - EINVAL: also a state, or a member that the state does not have
 * - EOPNOTSUPP: also KWQ_ADD_TOKEN, but the queue was created without KWQ_CREATE_CHANGES
 */
struct kwq_restore_entry {
	__u32 key_len;
	__u32 flags;
	__u32 state;
	__s32 priority;
	__s32 wait_priority;
	__u32 requeues;
	__u32 abandoned;
	__u32 pad;
	__u64 dirty_for;
	__u64 waiting_for;
	__u64 due_in;
	__u64 dead_for;
};

/* Flags of KWQ_IOC_ADVANCE. */
#define KWQ_ADVANCE_TO	(1U << 0)	/* @time is absolute, else relative */

/**
 * struct kwq_advance_args - move a manual clock on (KWQ_IOC_ADVANCE)
 * @size:	sizeof(struct kwq_advance_args).
 * @flags:	KWQ_ADVANCE_* bits.
 * @time:	ns; beyond the clock's range it saturates at 2^63 - 1.
 *
 * When the call returns, due items are ready, and waiters whose deadline has passed have
 * been woken.
 *
 * Errors:
 *
 * - EBADF: the descriptor lacks the manage right
 * - EINVAL: also a time in the past
 * - EOPNOTSUPP: the queue's clock is a real one
 * - EPERM: a named queue of another user
 */
struct kwq_advance_args {
	__u32 size;
	__u32 flags;
	__u64 time;
};

/**
 * struct kwq_got - one item that was handed out (KWQ_IOC_GET)
 * @ticket:	identifies this hand-out; never 0. It is higher than all before it in this queue,
 *		until tickets start over after 2^40 hand-outs.
 * @key_len:	bytes of its key.
 * @priority:	its priority.
 * @abandoned:	how often it lost its holder, or its lease expired, since it was last done
 *		or dead.
 * @requeues:	how often it was rate-limited since it was last forgotten.
 */
struct kwq_got {
	__u64 ticket;
	__u32 key_len;
	__s32 priority;
	__u32 abandoned;
	__u32 requeues;
};

/**
 * struct kwq_got_extra - what else came with an item (&kwq_batch.extras of a GET)
 * @value_len:	bytes of its value, which stands behind its key and its group; 0 for none.
 * @group_len:	bytes of the name of its group, which stands behind its key; 0 for none.
 * @token:	its token: see &kwq_add_extra.token; 0 for none.
 */
struct kwq_got_extra {
	__u32 value_len;
	__u32 group_len;
	__u64 token;
};

/* Flags of KWQ_IOC_GET. */
#define KWQ_GET_NONBLOCK	(1U << 0)	/* as if the handle had O_NONBLOCK */
#define KWQ_GET_RELATIVE	(1U << 1)	/* @deadline is relative to now */

/**
 * struct kwq_get_args - add, finish and fetch in one call (KWQ_IOC_GET)
 * @size:	sizeof(struct kwq_get_args).
 * @flags:	KWQ_GET_* bits, not both at once. Zero without @get.
 * @deadline:	when to stop waiting for the first item: absolute ns on the queue's clock,
 *		or KWQ_NO_DEADLINE. With KWQ_GET_RELATIVE ns from now. Zero with
 *		KWQ_GET_NONBLOCK and without @get. A descriptor with O_NONBLOCK never waits,
 *		whatever the deadline.
 * @add:	entries of &struct kwq_add_entry, taken first. May be absent.
 * @done:	entries of &struct kwq_done_entry, taken next. May be absent.
 * @get:	entries of &struct kwq_got, filled in last, with their keys packed at
 *		@get.keys. May be absent. With extras of &struct kwq_got_extra the items bring
 *		the names of their groups and their values, each behind its key.
 * @nr_added:	zero on entry; on return, how many entries of @add were taken.
 * @nr_done:	zero on entry; on return, how many entries of @done were taken.
 * @resume:	zero to begin a wait. If a signal interrupts a wait with KWQ_GET_RELATIVE,
 *		the kernel stores the absolute deadline here. A call with a non-zero @resume
 *		continues that wait and ignores @deadline. The kernel zeroes it at the end
 *		of the wait, but not after EINTR. Zero it before you use the structure for
 *		another wait. It is always zero with @add or @done, because such a call is
 *		never restarted.
 *
 * The wait ends with the first item. Other ready items come along, up to @get.nr items and
 * as long as their keys fit. Items that could not be copied out return to where they were, unless
 * an add has raised their priority meanwhile: then they are at the tail of that one.
 * A fault or a missing item may end the call after something was added or finished. Then
 * the call fails with that error, and @nr_added and @nr_done tell how far it got.
 *
 * Return: the number of items fetched.
 * Errors: EINTR, ETIMEDOUT, those of &struct kwq_batch_args, and
 *
 * - EDQUOT: with extras, and other calls of the caller's user copy too many values or wait with too
 *   much memory
 * - EAGAIN: nothing is ready, and the call must not wait
 * - EMSGSIZE: the first key, with its group and value if extras are wanted, does not fit; or a
 *   batch has more than KWQ_BATCH_MAX entries
 * - ESHUTDOWN: the queue is shut down and empty
 */
struct kwq_get_args {
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

/* Flags of KWQ_IOC_PAUSE. */
#define KWQ_PAUSE_FOR	(1U << 0)	/* for @time, else until RESUME */

/**
 * struct kwq_pause_args - hand nothing out (KWQ_IOC_PAUSE)
 * @size:	sizeof(struct kwq_pause_args).
 * @flags:	KWQ_PAUSE_* bits.
 * @time:	with KWQ_PAUSE_FOR for how long, in ns on the queue's clock. It saturates. Else
 *		0.
 *
 * GET waits, and the queue is not readable. Adds and dones go on, and items become ready when
 * their time comes. Items that are handed out already stay so. A pause belongs to the queue,
 * not to a process. Pauses do not add up: a second one takes the place of the first. A shut
 * down does not end a pause, so a drain waits for the end of it while items are ready.
 *
 * Errors: EBADF.
 */
struct kwq_pause_args {
	__u32 size;
	__u32 flags;
	__u64 time;
};

/**
 * struct kwq_resume_args - end a pause (KWQ_IOC_RESUME)
 * @size:	sizeof(struct kwq_resume_args).
 * @flags:	zero.
 *
 * Wakes as many waiters as items are ready. Does nothing if the queue is not paused.
 *
 * Errors: EBADF.
 */
struct kwq_resume_args {
	__u32 size;
	__u32 flags;
};

/**
 * struct kwq_shut_down_args - shut a queue down (KWQ_IOC_SHUT_DOWN)
 * @size:	sizeof(struct kwq_shut_down_args).
 * @flags:	zero.
 *
 * Refuses all later adds, drops waiting times and dead items, and ends every drain's wait.
 * Get continues to hand out ready items, and items that become ready at a Done.
 *
 * Errors: EBADF.
 */
struct kwq_shut_down_args {
	__u32 size;
	__u32 flags;
};

/* Flags of KWQ_IOC_DRAIN. */
#define KWQ_DRAIN_RELATIVE	(1U << 0)	/* @deadline is relative to now */

/**
 * struct kwq_drain_args - shut a queue down and wait until it is empty
 *	(KWQ_IOC_DRAIN)
 * @size:	sizeof(struct kwq_drain_args).
 * @flags:	KWQ_DRAIN_* bits.
 * @deadline:	absolute ns on the queue's clock, or KWQ_NO_DEADLINE. With
 *		KWQ_DRAIN_RELATIVE ns from now.
 * @resume:	as in &struct kwq_get_args.
 * @shut_downs:	zero to begin a wait. If a signal interrupts the wait, the kernel stores
 *		here which shut downs came before it. A call with a non-zero value continues
 *		that wait. The kernel zeroes it at the end of the wait, but not after EINTR.
 *
 * The call returns once nothing is ready and nothing is being processed. The queue stays
 * shut down, however the wait ends.
 *
 * Errors: EBADF, ECANCELED (a SHUT_DOWN ended the wait), EINTR, ETIMEDOUT.
 */
struct kwq_drain_args {
	__u32 size;
	__u32 flags;
	__u64 deadline;
	__u64 resume;
	__u64 shut_downs;
};

/** define KWQ_HISTOGRAM_BUCKETS - number of &kwq_histogram.counts */
#define KWQ_HISTOGRAM_BUCKETS	11

/**
 * struct kwq_histogram - counts of durations
 * @sum:	sum of all durations in ns, low 64 bits.
 * @sum_high:	high 64 bits of the sum.
 * @counts:	the first counts durations up to 1 us. Each following one ends at ten times
 *		the limit before, up to 1000 s. The last counts longer durations.
 */
struct kwq_histogram {
	__u64 sum;
	__u64 sum_high;
	__u64 counts[KWQ_HISTOGRAM_BUCKETS];
};

/* Bits of &struct kwq_stat.state. */
#define KWQ_STATE_SHUT_DOWN	(1U << 0)
#define KWQ_STATE_UNLINKED	(1U << 1)	/* had a name, which was removed */
#define KWQ_STATE_PAUSED	(1U << 2)	/* hands nothing out */
#define KWQ_STATE_TERM_OVER	(1U << 3)	/* hands nothing out, as its term is over */

/**
 * struct kwq_stat - a queue's state and counters (KWQ_IOC_STAT)
 * @size:	sizeof(struct kwq_stat). The kernel replaces it with the number of bytes
 *		that it filled in, and zeroes the rest.
 * @state:	KWQ_STATE_* bits.
 * @ready:	items that Get may hand out.
 * @waiting:	items with a time at which they will be added.
 * @processing:	items handed out and not yet done.
 * @items:	all items of the queue. An item may be waiting and processing at once.
 * @bytes:	memory of items and their keys, including what the allocator rounds up. The queue
 *		itself and the tables that find its items count for the user only.
 * @max_items:	limit of @items without @remembered, and limit of @remembered.
 * @max_bytes:	the same limit of their bytes.
 * @adds:	adds that made an item dirty since the queue was created. Delayed adds count
 *		when their time comes.
 * @coalesced:	immediate adds of dirty items, delayed adds of waiting items, times that came
 *		while the item was dirty, and deaths that a dirty or waiting item escaped.
 * @gets:	hand-outs, without those that did not reach their reader: the sum of @dones,
 *		@abandoned, @returned and @processing.
 * @dones:	hand-outs that were finished.
 * @abandoned:	hand-outs that ended by a close of the handle or the end of the lease or term.
 * @removed:	items taken out by remove.
 * @dropped:	waiting times and dead items that a shut down dropped.
 * @uid:	owner, in the caller's user namespace.
 * @gid:	group, in the caller's user namespace.
 * @mode:	permission bits; zero for an unnamed queue.
 * @clockid:	the queue's clock.
 * @handles:	open handles.
 * @create_flags: the KWQ_CREATE_* bits of the queue, without KWQ_CREATE_OR_OPEN.
 * @name:	the name, ended by a NUL and padded with NULs.
 * @now:	the time on the queue's clock, as the caller's time namespace shows it.
 * @retries:	delayed adds: after a delay (even 0), at a time, or rate-limited. This is
 *		client-go's workqueue_retries_total.
 * @rate_limited: rate-limited adds for which the limiters were asked; part of @retries.
 * @died:	how often an item died: rate-limited too often, lost too often, or by KWQ_DONE_DEAD.
 * @dead:	items that are dead now.
 * @remembered:	idle items that are kept for their count of requeues.
 * @oldest_ready: age of the oldest item among the first ready items of all priorities, in
 *		ns before @now; 0 for none.
 * @longest_running: age of the oldest hand-out that is not done, in ns before @now; 0 for
 *		none.
 * @unfinished:	sum of the ages of all hand-outs that are not done, in ns; saturates at 2^64
 *		- 1.
 * @queue_duration: durations from an add to the hand-out. The next hand-out of a returned item
 *		counts from its add, too.
 * @work_duration: durations from a hand-out to its Done.
 * @lateness:	how long after its time each waiting item became ready.
 * @lease:	how long an item may be held, in ns; 0 for ever.
 * @expired:	hand-outs whose lease expired; part of @abandoned.
 * @dirty:	processing items that are dirty, and will be ready again at their Done; part
 *		of @processing. @ready + @dirty is client-go's workqueue_depth.
 * @values:	items that have a value.
 * @paused_for:	how long the queue is still paused, in ns; 2^64 - 1 until it is resumed, 0 if
 *		it is not paused.
 * @aging:	&kwq_create_args.aging of the queue.
 * @groups:	groups to which an item belongs, or in which a run counts.
 * @blocked:	ready items that GET does not hand out now, because their groups are at their
 *		limits; part of @ready.
 * @group_limit: &kwq_create_args.group_limit of the queue.
 * @oldest_waiting: age of the oldest wait, since the first add of that wait, in ns before @now;
 *		0 for none. STAT looks at all items of a queue with waiting ones, and gives up
 *		the queue's lock in between. So this number is not of the same moment as the
 *		others.
 * @oldest_dead: for how long the item has been dead that died first, in ns before @now; 0 for
 *		none.
 * @returned:	hand-outs that ended by KWQ_DONE_RETURN. They count in @gets, but neither in @dones
 *		nor in @abandoned.
 * @posted:	adds that programs answered by a look at the board, as far as they have told them by
 *		TELL; not in @coalesced. The kernel believes what it is told. With libkwq, a child
 *		of fork() also tells what its parent had not told yet. The count stays at 2^64 - 1.
 * @id:		a random number, different in each queue of this and of all other boots. This, and
 *		all up to @followers, are 0 without KWQ_CREATE_CHANGES.
 * @last_change: number of the last change. The creation of the queue is change 1.
 * @kept:	all changes up to this number are kept: see &kwq_changes_args.kept.
 * @unread:	changed items that the follower has not read, or may read again. Items among them
 *		that are gone count in @items.
 * @followers:	1 if a handle follows, else 0.
 * @getters:	GETs that wait now. With KWQ_CREATE_CHANGES also handles whose last GET returned
 *		EAGAIN, or that were polled for EPOLLIN without success, until they get an item
 *		or are closed. So workers that have nothing to do are counted.
 * @term:	when all hand-outs end or have ended, on the queue's clock; KWQ_NO_DEADLINE for
 *		never: see TERM.
 * @refused:	adds of drivers that were refused, at once or later: see the kernel's kwq_add_key().
 *		Errors of ADD do not count here, because each program learns of its own.
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
	__u32 create_flags;
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
	__u64 values;
	__u64 paused_for;
	__u64 aging;
	__u64 groups;
	__u64 blocked;
	__u64 group_limit;
	__u64 oldest_waiting;
	__u64 oldest_dead;
	__u64 returned;
	__u64 posted;
	__u64 id;
	__u64 last_change;
	__u64 kept;
	__u64 unread;
	__u32 followers;
	__u32 getters;
	__u64 term;
	__u64 refused;
};

/** define KWQ_BOARD_KEY_MAX - the longest key on a board, in bytes */
#define KWQ_BOARD_KEY_MAX	56

/**
 * struct kwq_board_slot - a slot of a board
 * @seq:	odd while the slot has no key, or is being written. Each write of a key changes it.
 * @len:	length of the key in bytes; 0 for none.
 * @result:	what an add of this key results in: KWQ_COALESCED or KWQ_DIRTY.
 * @key:	the bytes of the key, padded with zeroes.
 */
struct kwq_board_slot {
	__u32 seq;
	__u16 len;
	__u16 result;
	__u64 key[KWQ_BOARD_KEY_MAX / 8];
};

/**
 * struct kwq_board - the board of a queue, which programs map and never write
 * @seed:	for the hash of keys; constant.
 * @nr_slots:	number of slots; constant.
 * @closed:	not 0 once a shut down has begun. Then no slot counts.
 * @pad:	zero, so that the first slot has a cache line of its own.
 *
 * The slots follow, each a &struct kwq_board_slot. A board has keys of items that need
 * processing. An add of such a key changes nothing but a count, if it has no flags. So a program
 * that finds the key on the board need not call the kernel, and the result of the add is @result
 * of the slot. A program that does not find the key calls ADD. An add that coalesces there puts
 * its key on the board. If both slots of the key are in use, it takes the place of another key.
 *
 * Each key has two slots, and is in one of them at most. With all arithmetic modulo 2^64, and the
 * words of &kwq_board_slot.key as the machine reads them:
 *
 *	h = seed ^ len
 *	for each word that has a byte of the key:
 *		h = (h ^ word) * 0x9e3779b97f4a7c15
 *		h = h ^ (h >> 32)
 *	h = h * 0x9e3779b97f4a7c15
 *	number of the first slot = ((h >> 32) * nr_slots) >> 32
 *	number of the second slot = ((h mod 2^32) * nr_slots) >> 32
 *
 * A program looks in these steps, and each step comes after the one before. Steps 2 to 4 are for
 * each slot:
 *
 * 1. A full memory barrier. The process that gets the key sees all that the program wrote before.
 * 2. Read @seq. If it is odd, the key is not there.
 * 3. Compare @len and the words of the key, and read @result.
 * 4. Read @seq again. If it has changed, the key is not there.
 * 5. Read @closed. If it is not 0, the key is not there.
 */
struct kwq_board {
	__u64 seed;
	__u32 nr_slots;
	__u32 closed;
	__u64 pad[6];
};

/**
 * struct kwq_board_args - get a descriptor of the queue's board (KWQ_IOC_BOARD)
 * @size:	sizeof(struct kwq_board_args).
 * @open_flags:	0 or O_CLOEXEC.
 * @map_size:	zero. On return, the number of bytes to map: a &struct kwq_board and its slots, in
 *		whole pages.
 *
 * The new descriptor can only be mapped: at offset 0, with @map_size, MAP_SHARED and PROT_READ. It
 * can be closed after that. A queue has one board, which the first request makes. Its 64 KiB count
 * as the queue's memory. A mapping or a descriptor of the board keeps the memory of the queue until
 * it is gone, but neither the queue's name nor what a handle holds.
 *
 * A handle that may add sees keys here that others have added.
 *
 * Return: the descriptor.
 * Errors: EMFILE, ENFILE, ENOMEM, and
 *
 * - EBADF: the handle lacks the write right
 * - EDQUOT: the owner of the queue has too much memory in queues
 * - EOPNOTSUPP: this machine's caches show a mapping late, or the queue has KWQ_CREATE_SYNC or
 *   KWQ_CREATE_OUTBOX
 */
struct kwq_board_args {
	__u32 size;
	__u32 open_flags;
	__u64 map_size;
};

/**
 * struct kwq_tell_args - tell the kernel of adds that the board answered (KWQ_IOC_TELL)
 * @size:	sizeof(struct kwq_tell_args).
 * @flags:	zero.
 * @adds:	how many such adds there were since the last TELL; at least 1.
 *
 * They count in &kwq_stat.posted, and there is a tracepoint, kwq_tell.
 *
 * Errors: EBADF.
 */
struct kwq_tell_args {
	__u32 size;
	__u32 flags;
	__u64 adds;
};

/**
 * struct kwq_follow_args - follow the changes of a queue from now on (KWQ_IOC_FOLLOW)
 * @size:	sizeof(struct kwq_follow_args).
 * @flags:	zero.
 * @number:	zero; on return, the number of the last change.
 *
 * A change is whatever changes an item: an add, a hand-out, a done, the end of a wait, a loss of
 * the holder, a remove. The queue does not store changes. It stores which items have changed since
 * the follower read them, each of them once. So a slow follower costs no memory, and sees the last
 * state of each item.
 *
 * To know all items: FOLLOW, then LIST_ITEMS to the end, then CHANGES again and again. An item that
 * changes during the list comes again. A handle follows until it is closed. The next follower lists
 * all items again.
 *
 * An item that is gone, or is not remembered any more, stays in the queue, and counts for
 * @max_items, @max_bytes and the quota, until the follower has read that it is gone. So a
 * follower that does not read makes the queue full, and no more.
 *
 * A follower may keep the changes somewhere else, and tells by &kwq_changes_args.kept how far it
 * has come. SYNC waits for that.
 *
 * The descriptor polls EPOLLPRI (POLLPRI) when CHANGES would not wait.
 *
 * Errors:
 *
 * - EBADF: the handle lacks the right to read or that to manage
 * - EBUSY: the queue has a follower already, perhaps this handle
 * - EOPNOTSUPP: the queue was created without KWQ_CREATE_CHANGES
 */
struct kwq_follow_args {
	__u32 size;
	__u32 flags;
	__u64 number;
};

/* Flags of KWQ_IOC_CHANGES. */
#define KWQ_CHANGES_NONBLOCK	(1U << 0)	/* as if the handle had O_NONBLOCK */
#define KWQ_CHANGES_RELATIVE	(1U << 1)	/* @deadline is relative to now */
#define KWQ_CHANGES_VALUES	(1U << 2)	/* the values, too */
#define KWQ_CHANGES_GETTERS	(1U << 3)	/* &kwq_stat.getters counts as a change, too */
#define KWQ_CHANGES_NOTES	(1U << 4)	/* the notes, too */

/**
 * struct kwq_changes_args - read the items that have changed (KWQ_IOC_CHANGES)
 * @size:	sizeof(struct kwq_changes_args).
 * @flags:	KWQ_CHANGES_* bits; not both NONBLOCK and RELATIVE.
 * @after:	the caller has read all changes up to this number, and does not need them again. At
 *		first &kwq_follow_args.number. On return, the value for the next call.
 * @kept:	all changes up to this number are safely kept; at most @after. Each SYNC, and each
 *		call on a queue with KWQ_CREATE_SYNC, returns that waits for no later one. A lower
 *		number than before changes nothing.
 * @of_queue:	zero at first. On return, the number of the last change of the queue itself: its
 *		creation, a configuration, a pause, a resume, a shut down, or the removal of its
 *		name. If it differs from what the caller passed, CONFIG and STAT tell more. The
 *		call does not wait then. The end of a timed pause is no change. If the last call
 *		had KWQ_CHANGES_GETTERS, a change of &kwq_stat.getters is one of the queue, too,
 *		unless an item changes with it. A manager that grants keys hears by that of
 *		workers that wait, and of those that go.
 * @deadline:	when to stop waiting for a change: absolute ns on the queue's clock, or
 *		KWQ_NO_DEADLINE. With KWQ_CHANGES_RELATIVE ns from now. Zero with
 *		KWQ_CHANGES_NONBLOCK.
 * @resume:	as in &struct kwq_get_args.
 * @batch:	entries of &struct kwq_listed, filled in, at least one. Their keys, groups and
 *		values and notes are packed at @batch.keys as by LIST_ITEMS. &kwq_listed.state is 0
 *		for an item that is gone.
 *
 * Items come in the order in which they changed first since they were read, and each at most once
 * in a call. A call with the same @after as the last one reads the same items again, or what has
 * become of them.
 *
 * Return: how many entries were filled in; 0 if only @of_queue has changed.
 * Errors: EINTR, ENOMEM, ETIMEDOUT, and
 *
 * - EAGAIN: nothing has changed, and the call must not wait
 * - EBADF: the handle does not follow
 * - EBUSY: another thread reads changes by this handle
 * - EDQUOT: VALUES or NOTES, as for LIST_ITEMS
 * - EINVAL: also an @after that no call returned, or a @kept above @after
 * - EMSGSIZE: the first key, with its group and value, does not fit, or a batch has more than
 *   KWQ_BATCH_MAX entries
 */
struct kwq_changes_args {
	__u32 size;
	__u32 flags;
	__u64 after;
	__u64 kept;
	__u64 of_queue;
	__u64 deadline;
	__u64 resume;
	struct kwq_batch batch;
};

/* Flags of KWQ_IOC_TERM. */
#define KWQ_TERM_RELATIVE	(1U << 0)	/* @until is relative to now */

/**
 * struct kwq_term_args - set when all hand-outs end (KWQ_IOC_TERM)
 * @size:	sizeof(struct kwq_term_args).
 * @flags:	KWQ_TERM_* bits.
 * @until:	absolute ns on the queue's clock, or KWQ_NO_DEADLINE for never, as at first. With
 *		KWQ_TERM_RELATIVE ns from now. If the time has passed, they end now.
 *
 * A manager that grants keys for some time sets this, and sets a later time again and again. If the
 * manager is stopped or dies, the queue ends all work by itself.
 *
 * From that time on, until TERM sets a later one:
 *
 * - GET waits, and the queue is not readable, as during a pause. Adds go on.
 * - All that is handed out is taken back, as at the end of a lease: the items are ready again, and
 *   EPOLLPRI tells the handles that have lost some. The queue needs no lease for that.
 * - A DONE or EXTEND with a ticket from before is ESTALE, with a key ENOENT.
 *
 * No hand-out and no done is late, even if the kernel comes to take the items back later. Only that
 * may take some time. But TERM itself returns when all is taken back, if the old or the new time
 * has passed. So a later time that comes too late saves nothing of what was handed out.
 *
 * A term belongs to the queue, not to a process. A shut down does not end it, so a drain waits for
 * a later term while items are ready. The term is no change that CHANGES tells of, so neither kwq
 * save nor kwq keep stores it.
 *
 * Errors: EBADF, and
 *
 * - EINTR: the caller is killed, and the term may be the old one
 */
struct kwq_term_args {
	__u32 size;
	__u32 flags;
	__u64 until;
};

/**
 * struct kwq_bpf_args - let BPF programs add keys (KWQ_IOC_BPF)
 * @size:	sizeof(struct kwq_bpf_args).
 * @flags:	zero.
 * @token:	zero; set to the token.
 *
 * A BPF program names the queue by the token, a random number, which it may have in a map or in a
 * constant. Whoever knows the token may add keys, with the rights of this handle, and nothing else.
 * All calls with one handle return the same token. It ends when the handle's last descriptor is
 * closed, and then the program's adds fail with ENOENT.
 *
 * The adds count in the quotas of the queue's owner and of the caller, and in the caller's memory
 * cgroup. &kwq_stat.refused counts those that were refused.
 *
 * Errors: EBADF, and
 *
 * - EDQUOT, ENOMEM: there is no memory for 64 KiB of adds that are posted
 * - EOPNOTSUPP: this kernel is older than 6.12 or has no BPF, or the module was built without BTF
 */
struct kwq_bpf_args {
	__u32 size;
	__u32 flags;
	__u64 token;
};

/* What an add of the kernel returns that a worker carries out soon. */
#define KWQ_POSTED		64

/* Most bytes of a value that is a set. */
#define KWQ_SET_MAX		256

/* Flag of an entry of an add, and of &struct bpf_kwq_options, beside the others. */
#define KWQ_SET_JOINS		(1U << 31)	/* the value is a set: its bits are added */

/**
 * struct bpf_kwq_options - how a BPF program adds a key
 * @token:	the queue's token.
 * @flags:	KWQ_ADD_* bits, in the combinations that &struct kwq_add_entry allows, without
 *		GROUP, NOTE and TOKEN; and KWQ_SET_JOINS.
 * @priority:	as &kwq_add_entry.priority.
 * @time:	as &kwq_add_entry.time. An absolute time is as the first time namespace shows it.
 * @at_most:	as &kwq_add_extra.at_most.
 */
struct bpf_kwq_options {
	__u64 token;
	__u32 flags;
	__s32 priority;
	__u64 time;
	__u64 at_most;
};

/* Flags of KWQ_IOC_SYNC. */
#define KWQ_SYNC_RELATIVE	(1U << 0)	/* @deadline is relative to now */

/**
 * struct kwq_sync_args - wait until all changes so far are kept (KWQ_IOC_SYNC)
 * @size:	sizeof(struct kwq_sync_args).
 * @flags:	KWQ_SYNC_* bits.
 * @deadline:	when to stop waiting: absolute ns on the queue's clock, or KWQ_NO_DEADLINE. With
 *		KWQ_SYNC_RELATIVE ns from now.
 * @resume:	as in &struct kwq_get_args.
 *
 * In a queue with KWQ_CREATE_OUTBOX the call first waits until all changes so far of the outbox are
 * kept, if that has KWQ_CREATE_CHANGES.
 *
 * This is fsync(2) for a queue whose follower keeps the changes. Without a follower the call waits
 * for one. A call that goes on after a signal waits for all changes up to then.
 *
 * Errors: EINTR, ETIMEDOUT, and
 *
 * - EOPNOTSUPP: the queue was created without KWQ_CREATE_CHANGES
 */
struct kwq_sync_args {
	__u32 size;
	__u32 flags;
	__u64 deadline;
	__u64 resume;
};

#define KWQ_IOC_MAGIC		0xBB

/*
 * Request numbers, each with the structure of its argument. The size in a number is that of
 * the structure's first member, @size. So the number stays the same when the structure
 * grows, and a system call filter can name it. The kernel compares the whole number. Any
 * other size or direction is ENOTTY.
 */
#define KWQ_IOC_INFO		_IOWR(KWQ_IOC_MAGIC, 0x00, __u32) /* struct kwq_info */
#define KWQ_IOC_CREATE		_IOW(KWQ_IOC_MAGIC, 0x01, __u32) /* struct kwq_create_args */
#define KWQ_IOC_OPEN		_IOW(KWQ_IOC_MAGIC, 0x02, __u32) /* struct kwq_open_args */
#define KWQ_IOC_UNLINK		_IOW(KWQ_IOC_MAGIC, 0x03, __u32) /* struct kwq_unlink_args */
#define KWQ_IOC_LIST		_IOW(KWQ_IOC_MAGIC, 0x04, __u32) /* struct kwq_list_args */
#define KWQ_IOC_ADD		_IOWR(KWQ_IOC_MAGIC, 0x10, __u32) /* struct kwq_add_args */
#define KWQ_IOC_GET		_IOWR(KWQ_IOC_MAGIC, 0x11, __u32) /* struct kwq_get_args */
#define KWQ_IOC_DONE		_IOW(KWQ_IOC_MAGIC, 0x12, __u32) /* struct kwq_batch_args */
#define KWQ_IOC_REMOVE		_IOW(KWQ_IOC_MAGIC, 0x13, __u32) /* struct kwq_batch_args */
/* Returns the number of ready items; the argument is 0. */
#define KWQ_IOC_LEN		_IO(KWQ_IOC_MAGIC, 0x14)
#define KWQ_IOC_STAT		_IOWR(KWQ_IOC_MAGIC, 0x15, __u32) /* struct kwq_stat */
#define KWQ_IOC_SHUT_DOWN	_IOW(KWQ_IOC_MAGIC, 0x16, __u32) /* struct kwq_shut_down_args */
/* Returns 1 once the queue is shut down, else 0; the argument is 0. */
#define KWQ_IOC_SHUTTING_DOWN	_IO(KWQ_IOC_MAGIC, 0x17)
#define KWQ_IOC_DRAIN		_IOWR(KWQ_IOC_MAGIC, 0x18, __u32) /* struct kwq_drain_args */
#define KWQ_IOC_FORGET		_IOW(KWQ_IOC_MAGIC, 0x19, __u32) /* struct kwq_batch_args */
#define KWQ_IOC_REQUEUES	_IOW(KWQ_IOC_MAGIC, 0x1a, __u32) /* struct kwq_batch_args */
#define KWQ_IOC_CONFIGURE	_IOW(KWQ_IOC_MAGIC, 0x1b, __u32) /* struct kwq_config */
#define KWQ_IOC_CONFIG		_IOWR(KWQ_IOC_MAGIC, 0x1c, __u32) /* struct kwq_config */
#define KWQ_IOC_ADVANCE		_IOW(KWQ_IOC_MAGIC, 0x1e, __u32) /* struct kwq_advance_args */
#define KWQ_IOC_EXTEND		_IOW(KWQ_IOC_MAGIC, 0x1f, __u32) /* struct kwq_batch_args */
#define KWQ_IOC_PAUSE		_IOW(KWQ_IOC_MAGIC, 0x20, __u32) /* struct kwq_pause_args */
#define KWQ_IOC_RESUME		_IOW(KWQ_IOC_MAGIC, 0x21, __u32) /* struct kwq_resume_args */
#define KWQ_IOC_LIST_ITEMS	_IOWR(KWQ_IOC_MAGIC, 0x22, __u32) /* struct kwq_list_items_args */
#define KWQ_IOC_RESTORE		_IOW(KWQ_IOC_MAGIC, 0x23, __u32) /* struct kwq_batch_args */
#define KWQ_IOC_BOARD		_IOWR(KWQ_IOC_MAGIC, 0x24, __u32) /* struct kwq_board_args */
#define KWQ_IOC_TELL		_IOW(KWQ_IOC_MAGIC, 0x25, __u32) /* struct kwq_tell_args */
#define KWQ_IOC_FOLLOW		_IOWR(KWQ_IOC_MAGIC, 0x26, __u32) /* struct kwq_follow_args */
#define KWQ_IOC_CHANGES		_IOWR(KWQ_IOC_MAGIC, 0x27, __u32) /* struct kwq_changes_args */
#define KWQ_IOC_SYNC		_IOWR(KWQ_IOC_MAGIC, 0x28, __u32) /* struct kwq_sync_args */
#define KWQ_IOC_TERM		_IOW(KWQ_IOC_MAGIC, 0x29, __u32) /* struct kwq_term_args */
#define KWQ_IOC_BPF		_IOWR(KWQ_IOC_MAGIC, 0x2a, __u32) /* struct kwq_bpf_args */

#endif /* _UAPI_LINUX_KWQ_H */

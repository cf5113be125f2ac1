/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kwq_keys: a driver adds keys to the queue of a program (K12).
 *
 * A driver that sees events, and a program that works on them, meet in a queue of keys. The queue
 * has a key once, however many events come meanwhile, so it cannot overflow by repetition, and
 * nothing has to be thrown away in userspace.
 *
 *	keys = kwq_key_queue_get(fd);				the program's ioctl
 *	kwq_add_key(keys, name, strlen(name), NULL);		interrupt, or anywhere
 *	kwq_key_queue_put(keys);				the end of the program, or exit
 *
 * An add of a key that is ready coalesces at once, unless it brings more than a set of bits that
 * the key's value has already. Any other add is posted, and carried out by a worker soon
 * afterwards, because it needs memory and wakes a getter, which not every context may. A caller
 * that may sleep says so by @may_sleep, and then has the result of the add itself.
 *
 * What is posted has 64 KiB of memory, of which an add may use KWQ_POSTED_BYTES_MAX and a little.
 * So a driver that posts more adds than the worker can take meanwhile is refused with -ENOBUFS.
 * Refusals of both kinds, those that the driver was told of and those of the worker, count in
 * &kwq_stat.refused of the queue. So calls without a delay are as many as the queue's adds,
 * coalesced adds and refused adds together, and none is lost unseen.
 *
 * No add waits until it is kept, even if the queue has KWQ_CREATE_SYNC.
 */
#ifndef _LINUX_KWQ_KEYS_H
#define _LINUX_KWQ_KEYS_H

#include <linux/types.h>
#include <uapi/linux/kwq.h>

struct kwq_key_queue;

/** define KWQ_POSTED_BYTES_MAX - most bytes of key, group and value together of a posted add */
#define KWQ_POSTED_BYTES_MAX	8192

/**
 * struct kwq_key_options - options of kwq_add_key()
 * @flags: KWQ_ADD_* bits, in the combinations that &struct kwq_add_entry allows, without
 *	KWQ_ADD_NOTE and KWQ_ADD_TOKEN
 * @priority: with KWQ_ADD_PRIORITY, KWQ_PRIORITY_MIN to KWQ_PRIORITY_MAX; else 0
 * @time: ns; with KWQ_ADD_AFTER a delay, with KWQ_ADD_AT a time on the queue's clock, as the first
 *	time namespace shows it; else 0
 * @at_most: with KWQ_ADD_AT_MOST, ns from the first add of this wait; else 0
 * @value: with KWQ_ADD_VALUE, the value
 * @group: with KWQ_ADD_GROUP, the name of the group
 * @value_len: bytes of @value, up to KWQ_VALUE_MAX. 0 takes the key's value away
 * @group_len: bytes of @group, up to KWQ_GROUP_MAX. 0 takes the key out of its group
 * @is_set: the value is a set of bits, in 1 to KWQ_SET_MAX bytes, and without KWQ_ADD_KEEP_VALUE.
 *	If the key has a value of the same length, the new one gets its bits, too. A run that has
 *	begun leaves them there, in case it fails, until it is done
 * @may_sleep: the caller is a process that may sleep, and wants the result of the add. The add
 *	overtakes those that are posted
 */
struct kwq_key_options {
	u32 flags;
	s32 priority;
	u64 time;
	u64 at_most;
	const void *value;
	const void *group;
	u32 value_len;
	u8 group_len;
	bool is_set;
	bool may_sleep;
};

/**
 * kwq_key_queue_get() - hold the queue of a descriptor, to add keys
 * @fd: a descriptor of the calling process, with the write right
 *
 * The driver's adds have the rights of the descriptor, and their memory counts as that of any add:
 * for the owner of the queue, and in the memory cgroup of the caller of this function. What is
 * posted counts for the caller's user. Unlike a descriptor the hold does not keep the queue in use:
 * once no program has it open, and it has no name, adds are refused. But its memory is free only
 * after kwq_key_queue_put().
 *
 * Context: process; may sleep.
 * Return: the queue, for kwq_key_queue_put(); or an ERR_PTR(): -EBADF (no descriptor, or without
 * that right), -EINVAL (of something else), -EDQUOT or -ENOMEM.
 */
struct kwq_key_queue *kwq_key_queue_get(int fd);

/**
 * kwq_key_queue_get_by_name() - kwq_key_queue_get() of a queue with a name
 * @name: its name, in the calling process's net namespace
 *
 * Context: process; may sleep.
 * Return: the queue, for kwq_key_queue_put(); or an ERR_PTR(): -EINVAL (no name of a queue),
 * -ENOENT, -EACCES (the caller may not write to it), -EDQUOT or -ENOMEM.
 */
struct kwq_key_queue *kwq_key_queue_get_by_name(const char *name);

/**
 * kwq_key_queue_put() - undo kwq_key_queue_get()
 * @keys: the queue; nobody adds any more
 *
 * What was posted is carried out before.
 *
 * Context: process; may sleep.
 */
void kwq_key_queue_put(struct kwq_key_queue *keys);

/**
 * kwq_add_key() - add a key to the queue of a program
 * @keys: the queue
 * @key: the bytes of the key
 * @len: their number, 1 to KWQ_KEY_MAX
 * @options: the options; NULL for none
 *
 * Without @may_sleep it never sleeps, spins, allocates, wakes or starts a timer.
 *
 * Context: any, even an NMI, or with the scheduler's or this queue's lock held.
 * Return: KWQ_POSTED; without options, or with a set alone, also KWQ_COALESCED or KWQ_DIRTY. With
 * @may_sleep, the result of the add. With nothing changed:
 * - -EINVAL: the options or the length are wrong.
 * - -EMSGSIZE: key, group or value are too long.
 * - -ENOENT: the queue is gone.
 * - -ESHUTDOWN: it is shut down.
 * - -ENOBUFS: too much is posted already.
 * - With @may_sleep, as the result of an entry of ADD: -EOPNOTSUPP, -ENOSPC, -EDQUOT or -ENOMEM.
 */
int kwq_add_key(struct kwq_key_queue *keys, const void *key, size_t len,
		const struct kwq_key_options *options);

#endif /* _LINUX_KWQ_KEYS_H */

/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * kwq_files: adds the paths of files that change to a queue, through /dev/kwq_files.
 *
 * A program opens the device, and asks by KWQ_IOC_FILES_WATCH for the changes of all files below a
 * folder. The kernel adds the path of each of them to the program's queue, which has it once,
 * however often the file changes. So nothing overflows by repetition, and no folder needs a watch
 * of its own. The watch ends when the last descriptor of the open file is closed.
 *
 * A key is the watch's prefix and the path below the folder. If a folder was created, moved or
 * deleted, its path ends with a slash, and the files in it add no keys: a program that needs them
 * lists the folder.
 *
 * The conventions are those of linux/kwq.h.
 */
#ifndef _UAPI_LINUX_KWQ_FILES_H
#define _UAPI_LINUX_KWQ_FILES_H

#include <linux/ioctl.h>
#include <linux/kwq.h>
#include <linux/types.h>

/* What has happened to a file: bits of a watch's events, and of the value of a key. */
#define KWQ_FILE_CREATED	(1U << 0)	/* created, or linked */
#define KWQ_FILE_WRITTEN	(1U << 1)	/* closed after it was open for writing */
#define KWQ_FILE_MOVED_FROM	(1U << 2)	/* renamed; the path is the old one */
#define KWQ_FILE_MOVED_TO	(1U << 3)	/* renamed; the path is the new one */
#define KWQ_FILE_DELETED	(1U << 4)
#define KWQ_FILE_ATTRIBUTES	(1U << 5)	/* mode, owner, times or extended attributes */
#define KWQ_FILE_FOUND		(1U << 6)	/* set by programs that have listed a folder */

/** define KWQ_FILES_PREFIX_MAX - the longest prefix, in bytes */
#define KWQ_FILES_PREFIX_MAX	4096

/* Flags of a watch. */
#define KWQ_FILES_MOUNT		(1U << 0)	/* only changes through the mount of the folder */
#define KWQ_FILES_VALUES	(1U << 1)	/* each key has a value: its KWQ_FILE_* bits */

/**
 * struct kwq_files_watch_args - watch the files below a folder (KWQ_IOC_FILES_WATCH)
 * @size:	sizeof(struct kwq_files_watch_args).
 * @flags:	KWQ_FILES_* bits.
 * @queue:	a descriptor of the queue, with the write right.
 * @folder:	a descriptor of the folder, which O_PATH suffices for.
 * @events:	the KWQ_FILE_* bits that add a key, without FOUND. With KWQ_FILES_MOUNT only
 *		WRITTEN, because the kernel knows for no other event through which mount it came.
 * @prefix_len:	bytes of the prefix.
 * @prefix:	the address of what stands before each path, such as the folder's own path and a
 *		slash; 0 for none.
 *
 * The kernel watches the whole filesystem of the folder, or the mount, and ignores what is not
 * below the folder. A filesystem that is mounted below the folder needs a watch of its own. The
 * watch does not keep the filesystem mounted.
 *
 * With KWQ_FILES_VALUES the queue needs KWQ_CREATE_VALUES. The value is one byte, and a set: as
 * long as a key waits, each event adds its bit (KWQ_SET_JOINS).
 *
 * Adds have the rights of the descriptor of the queue, and their memory counts as for an add of the
 * caller.
 *
 * Errors: those of &struct kwq_files_stat, and
 *
 * - EBADF: no such descriptor, or @queue has no right to write
 * - EBUSY: this open file of the device has a watch already
 * - EDQUOT, ENOMEM: there is no memory
 * - EINVAL: @queue is no queue; or there are no events
 * - ENAMETOOLONG: the prefix has more than KWQ_FILES_PREFIX_MAX bytes
 * - ENOENT: the folder is deleted
 * - ENOTDIR: @folder is no folder
 * - EOPNOTSUPP: KWQ_FILES_MOUNT, and this kernel is older than 6.10
 * - EPERM: the caller lacks CAP_SYS_ADMIN in the user namespace that owns the filesystem
 */
struct kwq_files_watch_args {
	__u32 size;
	__u32 flags;
	__s32 queue;
	__s32 folder;
	__u32 events;
	__u32 prefix_len;
	__u64 prefix;
};

/* States of a watch. */
#define KWQ_FILES_GONE		(1U << 0)	/* the folder was deleted, moved or unmounted */

/**
 * struct kwq_files_stat - what a watch has seen (KWQ_IOC_FILES_STAT)
 * @size:	sizeof(struct kwq_files_stat).
 * @state:	zero; set to KWQ_FILES_* bits. A watch that is GONE adds nothing any more.
 * @events:	zero; set to the number of events that were to add a key.
 * @refused:	zero; set to how many of these did not: the queue is full, shut down or gone, there
 *		is no memory, or the key would be longer than KWQ_KEY_MAX.
 *
 * Each event is one of the queue's adds, coalesced adds, or @refused. After a refusal the program
 * has to list the folder if it needs every change.
 *
 * The device is readable for poll when events were refused since the last call, or the watch is
 * GONE.
 *
 * Errors: E2BIG, EFAULT, and
 *
 * - EINVAL: a size, flag or member is wrong
 * - ENOENT: nothing is watched
 */
struct kwq_files_stat {
	__u32 size;
	__u32 state;
	__u64 events;
	__u64 refused;
};

/* Request numbers of /dev/kwq_files, as in linux/kwq.h. */
#define KWQ_IOC_FILES_WATCH	_IOW(KWQ_IOC_MAGIC, 0x80, __u32) /* struct kwq_files_watch_args */
#define KWQ_IOC_FILES_STAT	_IOWR(KWQ_IOC_MAGIC, 0x81, __u32) /* struct kwq_files_stat */

#endif /* _UAPI_LINUX_KWQ_FILES_H */

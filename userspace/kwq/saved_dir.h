/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A directory of saved queues, one file each.
 */
#ifndef KWQ_SAVED_DIR_H
#define KWQ_SAVED_DIR_H

#include <stdbool.h>
#include <time.h>

/* The path of the file of a queue. The caller frees it. */
char *saved_path(const char *dir, const char *name);

/*
 * Calls @fn with the path of each file of a queue in @dir, sorted by name. Returns the status of
 * the last call that failed, or STATUS_OK.
 */
int each_saved(const char *dir, int (*fn)(const char *path, void *arg), void *arg);

/* Removes the files of queues that are older than @time. Returns an exit status. */
int remove_older(const char *dir, const struct timespec *time);

/*
 * Renames a file to FILE.failed, or to FILE.failed.1 and so on if that name is taken. Returns the
 * new path, which the caller frees, or NULL with errno.
 */
char *set_aside(const char *path);

/*
 * Writes the directory of a file to the disk, so that the file's name is there after a crash.
 * Returns 0, or -1 with errno.
 */
int sync_dir_of(const char *path);

#endif /* KWQ_SAVED_DIR_H */

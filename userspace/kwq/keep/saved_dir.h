/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A directory of saved queues, one file each.
 */
#ifndef KWQ_SAVED_DIR_H
#define KWQ_SAVED_DIR_H

#include <stdbool.h>

/* The path of the file of a queue. The caller frees it. */
char *saved_path(const char *dir, const char *name);

/*
 * Calls @fn with the path of each file of a queue in @dir, also of those whose load did not come to
 * its end, sorted by name. Returns the status of
 * the last call that failed, or STATUS_OK.
 */
int each_saved(const char *dir, int (*fn)(const char *path, void *arg), void *arg);

/* Whether kwq save has written the file, by its first bytes. */
bool is_saved_by_kwq(const char *path);

/*
 * Removes the files of kwq save in @dir but those that @is_kept names. Files that are set aside
 * stay. With @verbose or @json prints what was removed. Returns an exit status.
 */
int prune_saved(const char *dir, bool (*is_kept)(const char *path), bool verbose, bool json);

/*
 * Renames FILE, also one that is set aside, to FILE.AS, or to FILE.AS.1 and so on if that name is
 * taken. Returns the new path, which the caller frees, or NULL with errno.
 */
char *set_aside(const char *path, const char *as);

/* Whether a load has set the file aside, and has not come to its end. */
bool is_set_aside(const char *path);

/*
 * Writes the directory of a file to the disk, so that the file's name is there after a crash.
 * Returns 0, or -1 with errno.
 */
int sync_dir_of(const char *path);

#endif /* KWQ_SAVED_DIR_H */

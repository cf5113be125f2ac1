/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Watches folders and everything below them with inotify(7), and reports files that changed.
 *
 * A folder is watched before its content is listed, and its listed files are reported. So no
 * change is missed, and one may be reported twice. After an overflow of inotify's queue
 * everything is listed and reported again.
 */
#ifndef KWQ_WATCH_TREE_H
#define KWQ_WATCH_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Events to report, beside those that the watch itself needs. */
enum {
	WATCH_WRITTEN = 1 << 0,		/* closed after it was open for writing */
	WATCH_MOVED = 1 << 1,		/* got this name by a rename */
	WATCH_CREATED = 1 << 2,		/* created, or linked */
	WATCH_ATTRIBUTES = 1 << 3,	/* mode, owner, times */
	WATCH_DELETED = 1 << 4,		/* deleted, or renamed to another name */
};

struct watch_tree_options {
	char **folders;		/* end with NULL; absolute paths */
	uint32_t events;	/* WATCH_* bits */
	bool initial;		/* report all files at the begin, too */
	void *arg;		/* of the functions below */
	/* Whether to look into a folder; @path is below that of number @folder. */
	bool (*wants_folder)(void *arg, size_t folder, const char *path);
	/*
	 * Reports a file by its path: that of folder number @folder, and the one below it; and
	 * what has happened to it, as KWQ_FILE_* bits. A result other than 0 ends the present
	 * call, which returns it.
	 */
	int (*changed)(void *arg, size_t folder, const char *path, uint32_t bits);
	/* Tells of something that goes wrong, and does not end the watch. */
	void (*warn)(void *arg, size_t folder, const char *path, const char *why);
};

struct watch_tree;

/* Begins. Returns 0, or a negative errno value as watch_tree_read(). */
int watch_tree_open(struct watch_tree **tree, const struct watch_tree_options *options);

/* The descriptor to poll for reading. It may be another one after each call. */
int watch_tree_fd(const struct watch_tree *tree);

/*
 * Handles the events that are there. Returns 0, the result of @changed, or a negative errno
 * value: -ENOSPC if the user may not have so many watches, -EMFILE if not so many inotify
 * descriptors, -ENOENT once all folders are gone.
 */
int watch_tree_read(struct watch_tree *tree);

/* How many folders are watched, and how often inotify's queue overflowed. */
size_t watch_tree_size(const struct watch_tree *tree);
unsigned long long watch_tree_overflows(const struct watch_tree *tree);

void watch_tree_close(struct watch_tree *tree);

#endif /* KWQ_WATCH_TREE_H */

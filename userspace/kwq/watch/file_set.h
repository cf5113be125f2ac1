/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The files that exist, so that the deletion of a file can be noticed after the event for it
 * was lost, or when its folder was moved away. Pure.
 */
#ifndef KWQ_FILE_SET_H
#define KWQ_FILE_SET_H

#include <stdbool.h>
#include <stddef.h>

/* Begin with all zero. */
struct file_set {
	void *root;		/* of tsearch(3) */
	unsigned int round;	/* of file_set_begin() */
};

/* Called for each file that is taken out. A result other than 0 is returned at the end. */
typedef int (*file_gone)(void *arg, const char *path);

/* Adds a file, or notes that it was seen in this round. Returns false without memory. */
bool file_set_add(struct file_set *set, const char *path);

/* Takes a file out. Returns whether it was there. */
bool file_set_remove(struct file_set *set, const char *path);

/* Takes out all files below a folder. Returns 0, or -ENOMEM with nothing changed. */
int file_set_remove_below(struct file_set *set, const char *folder, file_gone gone, void *arg);

/* Begins a round, in which each file that exists is added again. */
void file_set_begin(struct file_set *set);

/* Takes out all files that were not seen in this round. Returns as file_set_remove_below(). */
int file_set_end(struct file_set *set, file_gone gone, void *arg);

void file_set_free(struct file_set *set);

#endif /* KWQ_FILE_SET_H */

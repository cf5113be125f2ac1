/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Watches folders and everything below them by one mark for each, with the module kwq_files, and
 * reports files that changed. It has the options and the reports of watch_tree.h.
 *
 * The kernel adds the paths to a queue of this process alone. There they wait once, however often a
 * file changes, until they are reported. What the kernel could not add is found by listing the
 * folders.
 */
#ifndef KWQ_FILE_MARKS_H
#define KWQ_FILE_MARKS_H

#include <stdbool.h>

#include "watch_tree.h"

struct file_marks;

/*
 * Begins, with marks of filesystems, or of @mounts, which report WATCH_WRITTEN only. Returns 0, the
 * result of @changed, or a negative errno value: -EBADF after @warn, -ENXIO if there is no module,
 * -EPERM, -EOPNOTSUPP if this kernel has no marks of mounts, or one of kwq_create().
 */
int file_marks_open(struct file_marks **marks, const struct watch_tree_options *options,
		    bool mounts);

/* The descriptor to poll for reading. */
int file_marks_fd(const struct file_marks *marks);

/*
 * Reports what has changed. Returns 0, the result of @changed, or a negative errno value: -ENOENT
 * once all folders are gone.
 */
int file_marks_read(struct file_marks *marks);

/*
 * What was reported is in safety, and need not be reported again. Until then a file that changes
 * again is not reported. Returns 0 or a negative errno value.
 */
int file_marks_reported(struct file_marks *marks);

/* How often changes could not be added, so that all files were reported. */
unsigned long long file_marks_refused(const struct file_marks *marks);

void file_marks_close(struct file_marks *marks);

#endif /* KWQ_FILE_MARKS_H */

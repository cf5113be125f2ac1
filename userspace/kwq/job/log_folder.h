/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The folder of kwq run --log. It has a file for each day (of UTC), so that old jobs can go with
 * their file. A file is a job log whose lines are followed by the last output of their jobs: each
 * line of output begins with a blank, the number of the stream (1 or 2) and a tab, and is escaped
 * as keys are.
 */
#ifndef KWQ_LOG_FOLDER_H
#define KWQ_LOG_FOLDER_H

#include <stddef.h>
#include <stdint.h>

#include "joblog.h"

struct log_folder {
	const char *path;
	uint64_t keep;		/* ns that a job stays at least */
	int fd;			/* of the file of @day; -1: none yet */
	int64_t day;		/* since 1970 */
};

/* The last output of a job on one stream. */
struct log_output {
	const char *bytes;
	size_t len;
};

/*
 * Makes the folder, if it is missing, for its owner only: output may be secret. Opens the file of
 * the day of @now, in ns since 1970. Returns 0 or a negative errno value.
 */
int log_folder_open(struct log_folder *log, const char *path, uint64_t keep, uint64_t now);

/*
 * Appends a job. The first one of a day begins a file, and removes the files that are too old.
 * Returns 0 or a negative errno value.
 */
int log_folder_write(struct log_folder *log, uint64_t now, const struct joblog_entry *entry,
		     const struct log_output output[2]);

void log_folder_close(struct log_folder *log);

struct dirent;

/* For scandir(): whether a file of a folder is one of these. */
int log_folder_has(const struct dirent *entry);

#endif /* KWQ_LOG_FOLDER_H */

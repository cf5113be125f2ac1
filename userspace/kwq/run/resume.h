/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * kwq run --resume and --resume-failed: the keys that a job log has settled already.
 */
#ifndef KWQ_RESUME_H
#define KWQ_RESUME_H

#include <stdbool.h>
#include <stddef.h>

#include "kwq/job/joblog.h"

enum resume_mode {
	RESUME_NOT,
	RESUME_SETTLED,		/* skip what was done, dead or dropped */
	RESUME_FAILED,		/* skip what was done */
};

/* Begin with all zero. */
struct resume_table {
	void *root;		/* of tsearch(3) */
	size_t keys;
	size_t torn;		/* lines that were not whole; their keys run again */
};

/*
 * Reads the log. The last line of a key counts. A log that does not exist is empty. Returns 0,
 * -EBADMSG if the file is not a job log of kwq run, or another negative errno value.
 */
int resume_read(struct resume_table *table, const char *path, enum resume_mode mode);

/*
 * Takes a key out of the table, so that the next add of the key runs. Returns false if it was not
 * there. *outcome receives its last outcome in the log.
 */
bool resume_take(struct resume_table *table, const char *key, size_t len,
		 enum joblog_outcome *outcome);

void resume_free(struct resume_table *table);

#endif /* KWQ_RESUME_H */

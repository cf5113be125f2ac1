/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * kwq run: what becomes of the key of a job that has ended (U6). Pure.
 */
#ifndef KWQ_FATE_H
#define KWQ_FATE_H

#include <stdbool.h>

#include "status_set.h"

enum fate {
	FATE_RETRY,	/* the default for a failure, so it is 0 */
	FATE_DEAD,	/* a dead letter */
	FATE_DROP,
	FATE_DONE,
	FATE_RETURN,	/* back to the queue, as if it had not been handed out */
};

struct fate_options {
	enum fate on_fail;		/* FATE_RETRY, FATE_DEAD or FATE_DROP */
	unsigned int attempts_max;	/* 0: any number */
	struct status_set drop_on, dead_on;
};

/* How a job has ended. */
struct job_end {
	int status;		/* as of wait(2) */
	bool timed_out;		/* --timeout was over before */
	unsigned int attempt;	/* from 1 */
	int stopped_by;		/* the signal that stops kwq run; 0: none */
	/*
	 * The bound of the queue, if kwq run itself has to mind it; 0: none. An attempt above it
	 * is the last.
	 */
	unsigned int dead_after;
	/* The job had several keys, so nobody knows which of them made it fail. */
	bool shared;
};

/* Parses retry, dead or drop. Returns 0 or -EINVAL. */
int fate_parse_on_fail(const char *s, enum fate *fate);

enum fate fate_of(const struct fate_options *options, const struct job_end *end);

#endif /* KWQ_FATE_H */

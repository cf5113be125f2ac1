/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Keeps a queue and a file equal: what kwq keep does between its signals.
 */
#ifndef KWQ_KEEPER_H
#define KWQ_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include <kwq.h>

/*
 * @queue: the name of the queue
 * @path: the file
 * @create: for a new queue
 * @sync: each change is on the disk before the next ones are read
 * @interval: else, how often the file is written to the disk, in ns
 * @verbose: say what was restored
 */
struct keeper_options {
	const char *queue, *path;
	struct kwq_create_options create;
	bool sync, verbose;
	uint64_t interval;
};

struct keeper;

/* The work of a step. */
enum keeper_step {
	KEEPER_IDLE,	/* nothing is to be done before the next change, or keeper_due() */
	KEEPER_MORE,	/* there may be more to do now */
	KEEPER_LATER,	/* the file could not be written: try again in a second */
	KEEPER_ENDED,	/* the queue is gone, or shut down and empty */
	KEEPER_FAILED,	/* after a message */
};

/* Loads what is needed. Returns NULL, or why that failed. */
const char *keeper_load(void);

/*
 * Opens the file and the queue, creates what is missing, and restores what the queue lacks. Returns
 * an exit status, after a message if it is not STATUS_OK. The caller closes *@keeper in any case.
 */
int keeper_start(struct keeper **keeper, const struct keeper_options *options);

/*
 * Writes what has changed to the file, and tells the queue what is kept. Never waits for a change.
 * @now is the monotonic clock, in ns.
 */
enum keeper_step keeper_step(struct keeper *keeper, uint64_t now);

/* Whether the file is equal to the queue, but for changes to come. */
bool keeper_is_ready(const struct keeper *keeper);

/* The descriptor that has POLLPRI when there are changes. */
int keeper_fd(const struct keeper *keeper);

/* When a step is due even without a change, on the monotonic clock; UINT64_MAX for never. */
uint64_t keeper_due(const struct keeper *keeper);

/* Writes everything to the disk, tells the queue, and ends. Returns an exit status. */
int keeper_finish(struct keeper *keeper, uint64_t now);

/* Frees it without a last step. NULL does nothing. */
void keeper_close(struct keeper *keeper);

#endif /* KWQ_KEEPER_H */

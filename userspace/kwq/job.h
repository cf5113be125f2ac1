/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * One running command: its process, its item and its output.
 */
#ifndef KWQ_JOB_H
#define KWQ_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <kwq.h>

#include "child.h"
#include "output.h"

struct job {
	pid_t pid;		/* 0: this slot is free */
	int pidfd;
	/*
	 * A handle for this item alone: the process tree that inherits it may
	 * outlive the job, and must not keep the next job's item.
	 */
	struct kwq *handle;
	struct kwq_item item;
	bool lost;		/* its lease was: the item is no longer ours */
	unsigned long long seq;
	unsigned int attempt;
	uint64_t started_real, started;	/* ns since 1970, ns monotonic */
	uint64_t runtime;
	struct stream streams[2];
	int *exec_error;
	char key[KWQ_KEY_MAX + 1];	/* with a NUL behind it */
};

/* A free slot. */
void job_init(struct job *job);

/* Whether the key can be an argument, and in the environment. */
bool job_key_is_text(const struct job *job);

/*
 * Starts the command for job->item. @key_on_stdin: the key is its standard input,
 * and its arguments stay as they are. Returns 0 or a negative errno value; the
 * item stays held in any case.
 */
int job_start(struct job *job, char **command, const struct child_inheritance *inherited,
	      enum output_mode mode, bool key_on_stdin);

/* Waits for the process, and returns its status as wait(2) tells it. */
int job_reap(struct job *job);

/* Kills it, and its process group. */
void job_kill(const struct job *job);

/*
 * Begins the lease of its item again, or finds that it is lost. Then the process is
 * killed, if it still runs: whoever has the item now may have begun with it.
 */
void job_extend(struct job *job);

/* Frees the slot. The handle is closed: what it still holds is given back. */
void job_free(struct job *job);

/*
 * Adds the item again after @delay and finishes it, in one call and in that order,
 * so that it is never neither in the queue nor held. *added receives the result
 * of the add. Returns as kwq_done().
 */
int job_add_again_and_done(struct job *job, uint64_t delay, int *added);

/* The same, but the queue's limiters choose the delay. */
int job_add_rate_limited_and_done(struct job *job, int *added);

#endif /* KWQ_JOB_H */

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
#include "joblog.h"
#include "output.h"

/* The standard input of a command. */
enum job_input { INPUT_NOTHING, INPUT_KEY, INPUT_VALUE };

struct job {
	pid_t pid;		/* 0: this slot is free */
	int pidfd;
	/*
	 * A handle for this item alone. The processes that inherit it may outlive the
	 * job, and must not keep the item of the next job held.
	 */
	struct kwq *handle;
	struct kwq_item item;
	bool lost;		/* the lease was lost: the item is not ours */
	/* By kwq restart, kwq bury. */
	enum { ASKED_NOTHING, ASKED_RESTART, ASKED_BURY } asked;
	struct follower *followers;	/* of job_control.h */
	unsigned long long seq;
	unsigned int slot;	/* from 1 */
	unsigned int attempt;
	uint64_t started_real, started;	/* ns since 1970, ns monotonic */
	uint64_t runtime;
	uint64_t deadline;	/* of timeouts.h: ns monotonic; UINT64_MAX: none */
	bool timed_out;
	enum joblog_outcome outcome;	/* LOST until the item is settled */
	struct stream streams[2];
	int exec_error;		/* why the command could not be executed, or 0 */
	char key[KWQ_KEY_MAX + 1];	/* with a NUL at its end */
	char group[KWQ_GROUP_MAX + 1];	/* the same */
	size_t group_len;
	/* With a NUL at its end. Valid until job_fetch() is called for another job. */
	const char *value;
	size_t value_len;
};

/* Makes the slot free. */
void job_init(struct job *job);

/*
 * Fetches an item through @handle; with @extras also its group and its value. Returns as
 * kwq_try_get().
 */
int job_fetch(struct job *job, struct kwq *handle, bool extras);

/* Whether the key can be an argument and an environment variable. */
bool job_key_is_text(const struct job *job);

/*
 * Starts the command for job->item. With INPUT_KEY the arguments stay unchanged. Returns 0
 * or a negative errno value. The item stays held in any case.
 */
int job_start(struct job *job, char **command, const struct child_inheritance *inherited,
	      enum output_mode mode, enum job_input input);

/* The fields of the journal's entries about this job. Valid while the job has its key. */
struct journal_job job_journal(const struct job *job);

/*
 * The command with the key in its places. With INPUT_KEY that is @command itself; otherwise the
 * caller frees it. Returns NULL if memory is missing.
 */
char **job_command(const struct job *job, char **command, enum job_input input);

/* Waits for the process. Returns its status as wait(2) does. */
int job_reap(struct job *job);

/* Sends a signal to the process group. Returns 0 or a negative errno value. */
int job_signal(const struct job *job, int signal);

/* Kills the process and its process group. */
void job_kill(const struct job *job);

/*
 * Extends the lease of the item. If the lease was lost, kills the process if it still
 * runs: another worker may already process the item.
 */
void job_extend(struct job *job);

/*
 * Frees the slot and closes the handle. If the handle still holds the item, the item
 * comes back.
 */
void job_free(struct job *job);

/*
 * Adds the item again after @delay and finishes it, in one call. The add comes first, so
 * the key is never absent from the queue. *added receives the result of the add. Returns
 * as kwq_done().
 */
int job_add_again_and_done(struct job *job, uint64_t delay, int *added);

/* As job_add_again_and_done(), with the delay that the queue's limiters choose. */
int job_add_rate_limited_and_done(struct job *job, int *added);

#endif /* KWQ_JOB_H */

/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * One running command: its process, its items and its output.
 */
#ifndef KWQ_JOB_H
#define KWQ_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <kwq.h>

#include "child.h"
#include "joblog.h"
#include "base/output.h"

/* The standard input of a command. */
enum job_input { INPUT_NOTHING, INPUT_KEY, INPUT_VALUE };

/* The most bytes of a command with several keys, as of xargs(1). See template_fit(). */
enum { JOB_COMMAND_MAX = 128 * 1024 };

struct job;

/* An item that a job holds. */
struct job_item {
	const struct job *job;
	struct kwq_item item;
	bool lost;		/* taken back: the item is not ours */
	bool to_bury;		/* by kwq kill --bury */
	bool to_cancel;		/* by kwq cancel */
	bool is_cancelled;	/* and is done */
	unsigned int attempt;
	enum joblog_outcome outcome;	/* LOST until the item is settled */
	char *key;		/* with a NUL at its end */
};

/* For an item whose run has failed: why, and the last lines of its output. */
struct job_note {
	size_t len;
	char bytes[KWQ_NOTE_MAX];
};

struct job {
	pid_t pid;		/* 0: this slot is free, or its command has ended */
	int pidfd;
	/*
	 * A handle for the items of this job alone. The processes that inherit it may outlive
	 * the job, and must not keep the items of the next job held.
	 */
	struct kwq *handle;	/* NULL: this slot is free */
	struct job_item *items;	/* array of @room, of which @nr are held: one without -n */
	unsigned int nr, room;
	char *keys;		/* the bytes of their keys */
	uint64_t token;		/* of the one key; 0: none */
	/* By kwq kill --restart, kwq kill --bury, kwq cancel. */
	enum { ASKED_NOTHING, ASKED_RESTART, ASKED_BURY, ASKED_CANCEL } asked;
	struct follower *followers;	/* of job_control.h */
	unsigned long long seq;
	unsigned int slot;	/* from 1 */
	uint64_t started_real, started;	/* ns since 1970, ns monotonic */
	uint64_t runtime;
	uint64_t deadline;	/* of timeouts.h: ns monotonic; UINT64_MAX: none */
	bool timed_out;
	int status;		/* then: as of wait(2) */
	char *tag;		/* of --tag; NULL: none */
	struct stream streams[2];
	int exec_error;		/* why the command could not be executed, or 0 */
	/* With a NUL at the end of each. Valid until job_fetch() is called for another job. */
	const char *group, *value;
	size_t group_len, value_len;
};

/* How a job is started. */
struct job_form {
	char **command;
	const struct child_inheritance *inherited;
	enum output_mode mode;
	enum job_input input;
	bool many;		/* a job may have several keys */
	bool tag;		/* the keys stand before each line of output */
};

/* Makes the slot free. */
void job_init(struct job *job);

/*
 * Fetches up to @max items through @handle. With @extras fetches one, with its group and its
 * value. Returns 0, or as kwq_try_get().
 */
int job_fetch(struct job *job, struct kwq *handle, unsigned int max, bool extras);

/* Takes item @i out of the job. The caller has settled it. */
void job_take_out(struct job *job, unsigned int i);

/* How many of the items, from the first on, fit into one command. 0 if memory is missing. */
unsigned int job_items_that_fit(const struct job *job, const struct job_form *form);

/* Whether the key can be an argument and an environment variable. */
bool job_key_is_text(const struct job_item *it);

/*
 * Starts the command. With INPUT_KEY the arguments stay unchanged. Returns 0 or a negative errno
 * value. The items stay held in any case.
 */
int job_start(struct job *job, const struct job_form *form);

/* The fields of the journal's entries about an item. Valid while the job has it. */
struct journal_job job_journal(const struct job_item *it);

/*
 * The command with the keys in their places; with @it for this item alone. With INPUT_KEY that is
 * form->command itself; otherwise the caller frees it. Returns NULL if memory is missing.
 */
char **job_command(const struct job *job, const struct job_item *it, const struct job_form *form);

/* Waits for the process. Returns its status as wait(2) does. */
int job_reap(struct job *job);

/* Sends a signal to the process group. Returns 0 or a negative errno value. */
int job_signal(const struct job *job, int signal);

/* Kills the process and its process group. */
void job_kill(const struct job *job);

/*
 * Extends the leases of the items. If one of them was taken back, kills the process if it still
 * runs: another worker may already process the item.
 */
void job_extend(struct job *job);

/* Whether the queue has taken items back since job_extend(). */
bool job_has_losses(const struct job *job);

/* Whether job_extend() has found an item lost. */
bool job_is_lost(const struct job *job);

/*
 * Frees the slot and closes the handle. If the handle still holds items, they come back.
 */
void job_free(struct job *job);

/*
 * Adds the item again after @delay, and then finishes it. So the key is never absent from the
 * queue. If the add is refused, the item is not finished, unless the queue is shut down. *added
 * receives the result of the add. Returns as kwq_done(), or the error of the add.
 */
int job_add_again_and_done(struct job_item *it, const struct job_note *note, uint64_t delay,
			   int *added);

/* As job_add_again_and_done(), with the delay that the queue's limiters choose. */
int job_add_rate_limited_and_done(struct job_item *it, const struct job_note *note, int *added);

#endif /* KWQ_JOB_H */

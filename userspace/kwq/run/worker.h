/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The main part of kwq run.
 */
#ifndef KWQ_WORKER_H
#define KWQ_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "kwq/job/fate.h"
#include "halt.h"
#include "kwq/job/job.h"
#include "base/output.h"

enum { JOBS_MAX = 4096 };

struct run_options {
	const char *queue;
	char **command;
	unsigned int jobs;
	unsigned int keys_max;	/* of one job, from 1 to KWQ_BATCH_MAX */
	bool many;		/* -n: the command expects several keys */
	bool dry_run;
	bool tag;
	bool exit_when_empty;
	enum job_input input;
	bool quiet, verbose;
	bool no_progress;
	enum output_mode output;
	bool use_limiters;	/* the queue's; otherwise the members below */
	uint64_t retry_after, retry_max;
	struct fate_options fate;
	uint64_t timeout, kill_after;	/* ns that a job may run, and then has to end */
	const char *log;	/* the folder of --log; NULL: none */
	uint64_t log_keep;	/* ns */
	struct halt_spec halt;
	const char *halt_text;	/* as the user wrote it */
	const char *config;	/* the file of --config; NULL: none */
};

/* Returns why the key cannot be given to a command, or NULL. */
const char *key_unfitness(const struct run_options *options, const char *key, size_t len);

/* Prints the commands for the keys that are ready, and takes none. Returns the exit status. */
int print_commands(const struct run_options *options);

/* Runs the command for every item until the end. Returns the exit status. */
int work(const struct run_options *options);

#endif /* KWQ_WORKER_H */

/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The main part of kwq run.
 */
#ifndef KWQ_WORKER_H
#define KWQ_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "fate.h"
#include "gate.h"
#include "halt.h"
#include "job.h"
#include "output.h"
#include "progress.h"
#include "resume.h"

enum { JOBS_MAX = 4096 };

struct run_options {
	const char *queue;
	char **command;
	unsigned int jobs;
	bool exit_when_empty;
	enum job_input input;
	bool quiet, verbose;
	bool shebang;		/* only until the script is read */
	bool no_progress;
	enum progress_style progress;
	enum output_mode output;
	bool use_limiters;	/* the queue's; otherwise the members below */
	uint64_t retry_after, retry_max;
	struct fate_options fate;
	uint64_t timeout, kill_after;	/* ns that a job may run, and then has to end */
	const char *joblog;
	enum resume_mode resume;
	struct gate_options gate;
	struct halt_spec halt;
	const char *halt_text;	/* as the user wrote it */
	int nice;		/* from 0 to 19 */
	const char *config;	/* the file of --config; NULL: none */
};

/* Runs the command for every item until the end. Returns the exit status. */
int work(const struct run_options *options);

#endif /* KWQ_WORKER_H */

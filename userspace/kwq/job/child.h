/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Setting up a job's process between vfork() and exec(). Until then it has our memory, and we
 * stand still: so it changes nothing there but @exec_error.
 */
#ifndef KWQ_CHILD_H
#define KWQ_CHILD_H

#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/output.h"

/*
 * State that kwq run changed for itself, and each job gets back as it was.
 */
struct child_inheritance {
	pid_t parent;
	sigset_t mask;
	struct sigaction sigpipe, sigchld, sigxfsz;
	struct rlimit descriptors;
	int null;		/* /dev/null */
};

struct child {
	const struct child_inheritance *inherited;
	char **argv;
	char **environment;	/* of environment_make() */
	int input;		/* its standard input; -1 for /dev/null */
	int queue;		/* the handle that holds the items */
	int output[2];		/* its standard output and error; -1 for ours */
	const char *key;	/* for KWQ_KEY; NULL: none, or it has a NUL */
	const char *group, *value;	/* likewise; also NULL if there is none */
	unsigned int attempt, abandoned;
	uint64_t ticket, token;	/* of the one key; no token: 0 */
	unsigned int keys;	/* for KWQ_KEYS; 0: a job has one key */
	int *exec_error;	/* out: the error of exec() */
};

void child_exec(const struct child *child) __attribute__((noreturn));

#endif /* KWQ_CHILD_H */

/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Asks the worker that processes a key, through its control socket.
 */
#ifndef KWQ_WORKER_CLIENT_H
#define KWQ_WORKER_CLIENT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <kwq.h>

#include "control.h"

/* A key that is being processed. */
struct running_key {
	uint64_t ticket;
	pid_t pid;		/* of its holder; 0: not visible here */
	size_t key_len;
	char key[KWQ_KEY_MAX];
};

/*
 * Finds a key that is being processed, or with @key NULL the only one. Returns 0, -ENOENT if the
 * queue does not have the key, -ESRCH if the key is not being processed (or none is), -E2BIG if
 * there are several, or another negative errno value.
 */
int running_key_find(struct running_key *running, struct kwq *q, const char *key, size_t len);

/*
 * Sends a request to the worker, and waits for the reply. For CONTROL_FOLLOW fds[0] and fds[1]
 * receive the files, and *end a descriptor that becomes readable when the job has ended. Returns 0
 * or a negative errno value: -ESRCH if the process is no worker that can be asked, -ESTALE if its
 * job has just ended, -EPERM if it is another user's, -EOPNOTSUPP if it does not collect output,
 * -ETIMEDOUT if it does not answer. After CONTROL_CANCEL the key is done if 0 is returned, and the
 * job has ended then.
 */
int worker_ask(const struct running_key *running, enum control_operation operation, int signal,
	       int fds[2], int *end);

/* The reply of a worker that was asked about itself. */
struct worker_answer {
	size_t len;		/* of what follows */
	union {
		struct control_state state;
		char text[CONTROL_TEXT];	/* of an error; not ended by a NUL */
	};
};

/*
 * Asks a worker about itself: CONTROL_STATE, CONTROL_JOBS or CONTROL_RELOAD with its text.
 * Returns 0 or a negative errno value: -ESRCH if the process is no worker that can be asked,
 * -EPERM if it is another user's, -EPROTO if it is another version, -ETIMEDOUT if it does not
 * answer, -ESTALE if it has just ended. If answer->len is not 0, the worker has refused, and
 * the text says why.
 */
int worker_command(pid_t pid, enum control_operation operation, const char *text,
		   struct worker_answer *answer);

/* Prints why a request failed. Returns the exit status. */
int complain_worker(const char *queue, const struct running_key *running, int err);

#endif /* KWQ_WORKER_CLIENT_H */

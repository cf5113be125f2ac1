/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The control socket of kwq run: kwq kill, restart, bury, cancel and follow ask the worker through
 * it.
 *
 * The socket run-PID lies in the folder of runtime_folder(). A request is one datagram, which
 * carries one end of a socket pair. The reply comes through that pair. For follow the worker
 * keeps the end until the job has ended. Only the user of the worker, and root, may ask.
 */
#ifndef KWQ_CONTROL_H
#define KWQ_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include <kwq.h>

enum control_operation {
	CONTROL_SIGNAL,		/* send a signal to the job */
	CONTROL_RESTART,	/* kill the job; its key comes back as if it had not run */
	CONTROL_BURY,		/* kill the job; its key is dead */
	CONTROL_CANCEL,		/* kill the job; its key is done: the reply comes after that */
	CONTROL_FOLLOW,		/* pass the files with the job's output on */
	CONTROL_STATE,		/* the worker's own state: struct control_state follows */
	CONTROL_JOBS,		/* run so many jobs at once; the key is the text of --jobs */
	CONTROL_RELOAD,		/* read the file of --config again */
};

/*
 * The key follows; nothing in requests about the worker itself. Both sides are the same version or
 * refuse: @size is compared.
 */
struct control_request {
	uint32_t size;
	uint32_t operation;
	uint64_t ticket;	/* of the hand-out */
	int32_t signal;
	uint32_t key_len;
};

/*
 * For CONTROL_FOLLOW two descriptors come with it: standard output and standard error. Behind it
 * is struct control_state, or the text of an error of CONTROL_JOBS and CONTROL_RELOAD.
 */
struct control_reply {
	uint32_t size;
	int32_t err;		/* 0 or a negative errno value */
};

/* A worker. */
struct control_state {
	uint32_t size;
	uint32_t jobs;		/* so many may run at once */
	uint32_t running;
	uint32_t stopping;	/* whether no more jobs start */
	uint64_t done, failed, retried, dead;
	uint64_t age;		/* ns since the worker began */
	char queue[KWQ_NAME_MAX + 16];	/* QUEUE as in its command line */
};

/* The longest text of an error, with the NUL. */
enum { CONTROL_TEXT = 512 };

/* A request that has arrived. */
struct control_message {
	struct control_request request;
	char key[KWQ_KEY_MAX];
	int reply;		/* where to send the reply; owned by the receiver */
};

struct control {
	int fd;			/* poll it for reading; -1: none */
	int folder;
	char name[32];
};

/*
 * Opens the socket. Without any usable folder there is none, and jobs of this worker cannot be
 * asked for: @control->fd is -1.
 */
void control_open(struct control *control);

/*
 * Receives a request. Returns 1, 0 if there is none, or a negative errno value if a message was
 * not a request that may be answered.
 */
int control_receive(const struct control *control, struct control_message *message);

/* Sends a reply, with @nr descriptors. Never waits. */
void control_reply(int to, int err, const int *fds, size_t nr);

/* Sends a reply with bytes behind it. Never waits. */
void control_reply_with(int to, int err, const void *bytes, size_t len);

/* Closes the socket and removes its name. */
void control_close(struct control *control);

#endif /* KWQ_CONTROL_H */

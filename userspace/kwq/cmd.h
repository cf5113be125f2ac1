/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What the files of the command share: its subcommands, exit statuses, messages
 * and the QUEUE argument. Everything else has a header of its own.
 */
#ifndef KWQ_CMD_H
#define KWQ_CMD_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <kwq.h>

/* Exit statuses; kwq(1) lists them. */
enum status {
	STATUS_OK = 0,
	STATUS_FAILED = 1,		/* something, or one of several, failed */
	STATUS_USAGE = 2,
	STATUS_NOT_FOUND = 3,		/* no such queue */
	STATUS_NOT_READY = 4,		/* nothing in time */
	STATUS_SHUT_DOWN = 5,
	STATUS_NO_KWQ = 6,		/* no /dev/kwq */
	STATUS_CANNOT_RUN = 126,	/* as env(1) and sh(1) have it */
	STATUS_NO_COMMAND = 127,
};

struct command {
	const char *name;
	const char *arguments;
	const char *summary;
	const char *options;	/* the rest of --help */
	int (*main)(int argc, char **argv);
};

extern const struct command command_create, command_open, command_ls,
	command_stat, command_add, command_get, command_done, command_remove,
	command_len, command_shutdown, command_drain, command_rm, command_run,
	command_configure, command_forget, command_requeues, command_dead,
	command_extend, command_advance, command_top, command_exporter;

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Every subcommand's struct option array ends with these; option_common() is for them. */
#define OPTION_HELP	{ "help", no_argument, NULL, 'h' }
#define OPTION_END	{ NULL, 0, NULL, 0 }

/* Options that several have. */
#define OPTION_NULL	{ "null", no_argument, NULL, '0' }
#define OPTION_QUIET	{ "quiet", no_argument, NULL, 'q' }
#define OPTION_VERBOSE	{ "verbose", no_argument, NULL, 'v' }
#define OPTION_JSON	{ "json", no_argument, NULL, OPT_JSON }

/* Values of options that have no letter; each subcommand goes on from OPT_FIRST. */
enum { OPT_JSON = 256, OPT_FIRST };

/* The subcommand that runs, for messages and --help. */
extern const struct command *command;

/* --help, and what getopt_long() did not know. Ends the program. */
void option_common(int opt) __attribute__((noreturn));

/* "kwq: add: ..." on standard error. */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, and the hint to --help; ends the program with STATUS_USAGE. */
void usage(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/*
 * "kwq: add: QUEUE: meaning of the negative errno value". Returns the exit
 * status for it.
 */
int complain(const char *queue, int err);

/* What a negative errno value means to someone who uses queues. */
const char *meaning(int err);

/* Exit status for a negative errno value. */
int status_of(int err);

/* Flushes standard output. False, after a message, where that fails. */
bool flush_output(void);

/* The argument after the options, which must be the only one. */
const char *only_argument(int argc, char **argv, const char *what);

/*
 * Opens a QUEUE argument: NAME, name:NAME or fd:N. @rights hold for names only; a
 * descriptor has those that it has. Returns 0 or a negative errno value.
 */
int open_queue(struct kwq **q, const char *argument, unsigned int rights);

/*
 * The same, but through a descriptor too the handle is a new one, which holds
 * nothing; the descriptor is closed.
 */
int open_own_queue(struct kwq **q, const char *argument, unsigned int rights,
		   int open_flags);

/* complain() of an open_queue() that failed. */
int complain_open(const char *argument, int err);

/* open_queue() that complains and ends the program where it fails. */
struct kwq *must_open_queue(const char *argument, unsigned int rights);

/* To look at a queue any right will do. Returns as open_queue(). */
int open_to_look(struct kwq **q, const char *argument);

/* The same to look at a queue, for which any right will do. */
struct kwq *must_open_to_look(const char *argument);

/* Whether the module has a KWQ_FEATURE_*; true also where it cannot be asked. */
bool module_has(uint64_t feature);

/* Whether the queue's module has limiters, dead items and manual clocks. */
bool queue_has_limiters(const struct kwq *q);

/* Complains and ends the program if not. */
void must_have_limiters(const struct kwq *q, const char *queue);

/* The same of leases. */
void must_have_leases(const struct kwq *q, const char *queue);

bool queue_is_fd(const char *argument);

/* The NAME in a QUEUE argument that cannot be a descriptor. */
const char *must_be_name(const char *argument);

/* Runs argv with the handle as its descriptor KWQ_FD; returns only on failure. */
int exec_with_queue(struct kwq *q, char **argv);

#endif /* KWQ_CMD_H */

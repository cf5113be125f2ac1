/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Shared by all files of the command: subcommands, exit statuses, messages and the
 * QUEUE argument. Everything else has a header of its own.
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
	STATUS_FAILED = 1,		/* the operation, or one of several, failed */
	STATUS_USAGE = 2,
	STATUS_NOT_FOUND = 3,		/* no such queue */
	STATUS_NOT_READY = 4,		/* no item in time */
	STATUS_SHUT_DOWN = 5,
	STATUS_NO_KWQ = 6,		/* no /dev/kwq */
	STATUS_WAS_RUNNING = 7,		/* of kwq cancel: a job was ended */
	STATUS_WAS_DEAD = 8,		/* of kwq cancel: a key was a dead letter */
	STATUS_CANNOT_RUN = 126,	/* as in env(1) and sh(1) */
	STATUS_NO_COMMAND = 127,
};

struct command {
	const char *name;
	const char *arguments;
	const char *summary;
	const char *options;	/* all of them, for --help=all */
	const char *brief;	/* for --help, if all of them do not fit 24 lines */
	const char *examples;	/* two, unless the options end with them */
	const struct option *table;	/* what getopt_long() takes; see command_table() */
	/* So many options at the begin of the table are those of kwq debug alone. */
	unsigned int nr_debug;
	const char *debug_options;	/* for --help of kwq debug */
	int (*main)(int argc, char **argv);
};

extern const struct command command_create, command_open, command_ls, command_stat, command_add,
	command_get, command_done, command_drain, command_rm, command_run, command_configure,
	command_pause, command_resume, command_top, command_exporter, command_keys, command_save,
	command_load, command_kick, command_edit, command_watch_files, command_kill,
	command_follow, command_run_ctl, command_keep, command_share, command_cancel, command_log;

/* Those of kwq debug. */
extern const struct command command_advance, command_forget, command_requeues, command_term,
	command_sync;

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/*
 * Every subcommand's struct option array ends with these two; option_common() handles
 * them.
 */
#define OPTION_HELP	{ "help", optional_argument, NULL, 'h' }
#define OPTION_END	{ NULL, 0, NULL, 0 }

/* Options of several subcommands. */
#define OPTION_NULL	{ "null", no_argument, NULL, '0' }
#define OPTION_QUIET	{ "quiet", no_argument, NULL, 'q' }
#define OPTION_VERBOSE	{ "verbose", no_argument, NULL, 'v' }
#define OPTION_NO_HEADINGS { "no-headings", no_argument, NULL, 'H' }
#define OPTION_JSON	{ "json", no_argument, NULL, OPT_JSON }

/*
 * Values of options without a letter. Each subcommand numbers its own from OPT_FIRST.
 */
enum { OPT_JSON = 256, OPT_FIRST };

/* The running subcommand and its arguments, for messages and --help. */
extern const struct command *command;
extern char **command_argv;

/* Whether kwq debug runs it, and what stands before its name then: "debug ", otherwise "". */
extern bool debugging;
const char *command_prefix(void);

/* The options that the running subcommand takes now. */
const struct option *command_table(void);

/*
 * Whether -- stands before argv[optind]. Then what follows are arguments, also if they look like
 * options: a second getopt_long() would go back to them.
 */
bool options_have_ended(char **argv);

/* Handles --help and options that getopt_long() refused. Ends the program. */
void option_common(int opt) __attribute__((noreturn));

/* The subject of all messages, such as a queue: "kwq: share: QUEUE: ..."; or NULL. */
extern const char *message_about;

/* Prints "kwq: add: ..." on standard error. */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* As message(), with a hint to --help. Ends the program with STATUS_USAGE. */
void usage(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/*
 * Prints "kwq: add: QUEUE: " and the meaning of a negative errno value. Returns the
 * exit status for that value.
 */
int complain(const char *queue, int err);

/* As complain(), for a call that got no key, or waited in vain until all were done. */
int complain_no_key(struct kwq *q, const char *queue, int err);

/* Why a queue hands out nothing of what it has, for people; NULL if it does. */
const char *what_holds_back(const struct kwq_stat *st);

/*
 * Whether a queue was removed, and has nothing left that it will hand out. Nobody can open it again
 * to resume it or to add to it, so a command that has it by its name would wait for ever. A wait is
 * interrupted each LOOK_EVERY ns to ask this, because no event tells of a removed name.
 */
bool is_left_behind(const struct kwq *q);
#define LOOK_EVERY UINT64_C(1000000000)

/*
 * Whether a wait without a word would be taken for a hang: the user is at a terminal. Such a wait
 * is interrupted after this time, in ns, and tell_of_wait() says what the command waits for.
 */
bool has_watcher(void);
#define TELL_OF_WAIT_AFTER LOOK_EVERY

/* Says that the command waits for @what, and why that may last. */
void tell_of_wait(const struct kwq *q, const char *queue, const char *what);

/* As complain(), for a call with one key: -EINVAL means an empty one. */
int complain_key(const char *queue, int err);

/* The meaning of a negative errno value, in the words of a user of queues. */
const char *meaning(int err);

/* The exit status for a negative errno value. */
int status_of(int err);

/* Flushes standard output. Returns false, after a message, if that fails. */
bool flush_output(void);

/*
 * Returns the single argument after the options. Ends the program if there is none, or
 * more than one.
 */
const char *only_argument(int argc, char **argv, const char *what);

/*
 * Opens a QUEUE argument: NAME, name:NAME or fd:N. @rights apply to names only; a
 * descriptor keeps its own rights. Returns 0 or a negative errno value.
 */
int open_queue(struct kwq **q, const char *argument, unsigned int rights);

/*
 * As open_queue(), but fd:N too gets a new handle, which holds no items. The descriptor
 * itself is closed.
 */
int open_own_queue(struct kwq **q, const char *argument, unsigned int rights,
		   int open_flags);

/* As complain(), for a failed open_queue(). */
int complain_open(const char *argument, int err);

/*
 * Returns the name of a queue that is this machine's part of a shared one (see kwq share): most
 * keys of it are elsewhere. Returns NULL for any other queue, and if the queue cannot be asked. The
 * name is escaped, and valid until the next call.
 */
const char *shared_queue(const struct kwq *q);

/* Commands for people say this beside the numbers of such a queue. */
#define KEYS_OF_A_SHARED_QUEUE "keys of this machine only"

/*
 * Says that a queue has nobody who keeps it, and who that may be. A wait for changes to be kept
 * lasts until then.
 */
void tell_nobody_keeps(const char *name, const struct kwq_stat *st);

/* The same, if calls of the queue wait until what they did is kept, and nobody keeps it. */
void warn_of_wait(const struct kwq *q, const char *name);

/*
 * U9: as kwq_check_owner(), for a queue that a command has opened where it would have made one.
 * Returns an exit status, after a message that names the owner.
 */
int check_owner(const struct kwq *q, const char *name);

/* As open_queue(), but complains and ends the program on failure. */
struct kwq *must_open_queue(const char *argument, unsigned int rights);

/*
 * Opens a queue to inspect it, with any right that the caller has. Returns as
 * open_queue().
 */
int open_to_look(struct kwq **q, const char *argument);

/* As open_to_look(), but complains and ends the program on failure. */
struct kwq *must_open_to_look(const char *argument);

/* Whether the module has a KWQ_FEATURE_*. True also if the module cannot be asked. */
bool module_has(uint64_t feature);

/* Whether the queue's module has limiters, dead items and manual clocks. */
bool queue_has_limiters(const struct kwq *q);

/*
 * As queue_has_limiters(), but complains and ends the program if the module has none.
 */
void must_have_limiters(const struct kwq *q, const char *queue);

/* Complains and ends the program if the queue's module has no leases. */
void must_have_leases(const struct kwq *q, const char *queue);

/* Complains and ends the program if the queue's module cannot list items. */
void must_list_items(const struct kwq *q, const char *queue);

/*
 * The command is about the keys of all machines: reaches kwq share, if the queue is a shared one.
 * Returns whether it is. Ends the program, after a message, if kwq share does not run here.
 */
bool must_reach_all(const struct kwq *q, const char *queue);

bool queue_is_fd(const char *argument);

/* The name in a QUEUE argument. Ends the program if the argument is a descriptor. */
const char *must_be_name(const char *argument);

/*
 * Runs argv, which inherits the handle as the descriptor KWQ_FD. Returns only on
 * failure.
 */
int exec_with_queue(struct kwq *q, char **argv);

#endif /* KWQ_CMD_H */

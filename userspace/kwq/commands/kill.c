// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq kill: asks the worker that runs a key's job.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "base/escape.h"
#include "base/number.h"
#include "kwq/control/worker_client.h"

enum { OPT_RESTART = OPT_FIRST, OPT_BURY };

static const struct option kill_options[] = {
	{ "signal", required_argument, NULL, 's' },
	{ "restart", no_argument, NULL, OPT_RESTART },
	{ "bury", no_argument, NULL, OPT_BURY },
	OPTION_HELP, OPTION_END
};

/* A number, or a name with or without SIG. */
static int parse_signal(const char *text)
{
	const char *name = strncmp(text, "SIG", 3) ? text : text + 3;
	uint64_t number;
	int i;

	if (!parse_number(text, 1, SIGRTMAX, &number))
		return number;
	for (i = 1; i < NSIG; i++)
		if (sigabbrev_np(i) && !strcmp(name, sigabbrev_np(i)))
			return i;
	usage("--signal %s: must be a name, such as TERM, or a number", text);
}

static int refuse(const char *queue, const char *key, const char *why)
{
	char text[ESCAPED_SIZE(KWQ_KEY_MAX)];

	message("%s: %s: %s", queue, escape_text(text, key, strlen(key)), why);
	return STATUS_FAILED;
}

/* ---- kill and restart ----------------------------------------------------- */

static int end_job_of(struct kwq *q, const char *queue, const char *key,
		      enum control_operation operation, int signal)
{
	struct running_key running;
	int err;

	err = running_key_find(&running, q, key, strlen(key));
	if (err == -ENOENT)
		return refuse(queue, key, "the queue has no such key");
	if (err == -ESRCH)
		return refuse(queue, key, operation != CONTROL_RESTART ? "is not being processed" :
			      "is not being processed (kwq kick makes a dead or waiting key ready)");
	if (err)
		return complain_key(queue, err);
	err = worker_ask(&running, operation, signal, NULL, NULL);
	return err ? complain_worker(queue, &running, err) : STATUS_OK;
}

/* ---- bury ----------------------------------------------------------------- */

/*
 * The kernel buries at the done of an item only. There is no get of one key, so a key that is
 * ready or waiting cannot be taken out and buried without others running it in between.
 */
static int bury_key(struct kwq *q, const char *queue, const char *key)
{
	struct running_key running;
	struct kwq_listed item;
	int err;

	err = kwq_look(q, key, strlen(key), &item);
	if (err && err != -ENOENT)
		return complain_key(queue, err);
	if (err || item.state == KWQ_IS_REMEMBERED)
		return refuse(queue, key, "the queue has no such key");
	if (item.state & KWQ_IS_DEAD)
		return refuse(queue, key, "is dead already");
	if (!(item.state & KWQ_IS_PROCESSING))
		return refuse(queue, key, item.state & KWQ_IS_READY ?
			      "is ready: only a running key can be buried "
			      "(kwq cancel takes it out)" :
			      "is waiting: only a running key can be buried (kwq cancel takes it out)");
	err = running_key_find(&running, q, key, strlen(key));
	if (!err)
		err = worker_ask(&running, CONTROL_BURY, 0, NULL, NULL);
	return err ? complain_worker(queue, &running, err) : STATUS_OK;
}

/* ---- The command ---------------------------------------------------------- */

/* Returns the exit status. */
static int act(struct kwq *q, const char *queue, const char *key, int verb, int signal)
{
	switch (verb) {
	case OPT_RESTART:
		return end_job_of(q, queue, key, CONTROL_RESTART, 0);
	case OPT_BURY:
		return bury_key(q, queue, key);
	default:
		return end_job_of(q, queue, key, CONTROL_SIGNAL, signal);
	}
}

static int kill_main(int argc, char **argv)
{
	int opt, verb = 0, signal = SIGKILL, status = STATUS_OK, one;
	const char *queue;
	struct kwq *q;

	while ((opt = getopt_long(argc, argv, "s:h", kill_options, NULL)) != -1) {
		if (opt != 's' && opt != OPT_RESTART && opt != OPT_BURY)
			option_common(opt);
		if (opt == 's')
			signal = parse_signal(optarg);
		if (verb && verb != opt)
			usage("--signal, --restart and --bury exclude each other");
		verb = opt;
	}
	if (optind == argc)
		usage("QUEUE is missing");
	queue = argv[optind++];
	if (optind == argc)
		usage("KEY is missing");
	q = must_open_queue(queue, KWQ_RIGHT_READ);
	must_list_items(q, queue);
	if (verb == OPT_BURY && !module_has(KWQ_FEATURE_SETTLE)) {
		message("%s: the kernel's kwq is older than this command", queue);
		return STATUS_FAILED;
	}
	for (; optind < argc; optind++) {
		one = act(q, queue, argv[optind], verb, signal);
		if (one)
			status = one;
	}
	return status;
}

const struct command command_kill = {
	.name = "kill",
	.arguments = "[OPTION...] QUEUE KEY...",
	.summary = "Kill the jobs that kwq run runs for these keys",
	.options =
	"  -s, --signal SIGNAL  send this signal, by name or number (KILL)\n"
	"      --restart        run the keys again at once, from their begin\n"
	"      --bury           set the keys aside as dead letters\n"
	"  -h, --help\n"
	"\n"
	"The worker is asked, which must be kwq run of the same user. A job that dies\n"
	"has failed: its key is retried, dropped or made dead as its worker is told. With\n"
	"--restart it has not. A job that handles a signal and exits with 0 is done.\n"
	"kwq cancel takes a key out of the queue, in any state.\n",
	.examples =
	"  kwq kill -s HUP jobs log                 send it SIGHUP\n"
	"  kwq kill --bury jobs report-7            do not try it again\n",
	.table = kill_options,
	.main = kill_main,
};

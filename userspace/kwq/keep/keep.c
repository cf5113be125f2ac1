// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq keep
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/cmd.h"
#include "base/daemon.h"
#include "base/duration.h"
#include "base/escape.h"
#include "keeper.h"
#include "base/notify.h"
#include "queue/queue_options.h"

enum { OPT_INTERVAL = OPT_FIRST };

static const struct option keep_options[] = {
	{ "interval", required_argument, NULL, OPT_INTERVAL },
	OPTION_MODE, OPTION_MAX_ITEMS, OPTION_MAX_BYTES, OPTION_CLOCK, OPTION_LEASE, OPTION_GROUPS,
	OPTION_GROUP_LIMIT, OPTION_AGING, OPTION_NO_VALUES, OPTION_NO_DURATIONS, OPTION_SYNC,
	OPTION_RETRY, OPTION_MAX_WAIT, OPTION_DEAD_AFTER, OPTION_DEAD_AFTER_LOST,
	OPTION_FORGET_AFTER,
	OPTION_VERBOSE, OPTION_HELP, OPTION_END
};

/* How long to wait before the file is tried again. */
#define RETRY NS_PER_S

struct loop {
	struct keeper *keeper;
	const struct keeper_options *options;
	struct daemon daemon;
	bool is_ready;
};

/* Waits for a change, for a signal, or until @until. Returns whether to end. */
static bool wait_until(struct loop *loop, uint64_t until, bool for_changes)
{
	struct pollfd fds[] = {
		{ 0 },
		{ .fd = keeper_fd(loop->keeper), .events = POLLPRI },
	};

	return daemon_wait(&loop->daemon, fds, for_changes ? 2 : 1, until);
}

/* Tells the service manager, and with --verbose the user, how things are. */
static void tell(struct loop *loop)
{
	if (!loop->is_ready && keeper_is_ready(loop->keeper)) {
		loop->is_ready = true;
		notify_send("READY=1");
		if (loop->options->verbose) {
			print_escaped(stdout, loop->options->queue, strlen(loop->options->queue));
			fputs(": kept in ", stdout);
			print_escaped(stdout, loop->options->path, strlen(loop->options->path));
			putchar('\n');
			flush_output();
		}
	}
	daemon_alive(&loop->daemon);
}

/* Returns an exit status. */
static int keep(struct loop *loop)
{
	bool stop = false;

	while (!stop) {
		switch (keeper_step(loop->keeper, daemon_now(&loop->daemon))) {
		case KEEPER_IDLE:
			stop = wait_until(loop, keeper_due(loop->keeper), true);
			break;
		case KEEPER_MORE:
			stop = wait_until(loop, 0, false);
			break;
		case KEEPER_LATER:
			stop = wait_until(loop, daemon_now(&loop->daemon) + RETRY, false);
			break;
		case KEEPER_ENDED:
			return STATUS_OK;
		case KEEPER_FAILED:
			return STATUS_FAILED;
		}
		tell(loop);
	}
	notify_send("STOPPING=1");
	return keeper_finish(loop->keeper, daemon_now(&loop->daemon));
}

static void parse_options(struct keeper_options *o, struct queue_options *queue, int argc,
			  char **argv)
{
	int opt;

	queue_options_init(queue);
	while ((opt = getopt_long(argc, argv, "m:vh", keep_options, NULL)) != -1) {
		if (opt == OPT_INTERVAL)
			o->interval = must_parse_short_duration("--interval", optarg);
		else if (opt == 'v')
			o->verbose = true;
		else if (!queue_option(queue, opt))
			option_common(opt);
	}
	if (optind == argc)
		usage("QUEUE is missing");
	o->queue = must_be_name(argv[optind++]);
	o->path = only_argument(argc, argv, "FILE");
	if (!strcmp(o->path, "-"))
		usage("a queue is kept in a file, not on standard output: name a FILE");
	queue->queue.changes = true;
	must_have_queue_options(queue);
	o->create = queue->queue;
	o->sync = queue->queue.sync;
}

static int keep_main(int argc, char **argv)
{
	struct keeper_options options = { .interval = NS_PER_S };
	struct queue_options queue;
	struct loop loop = { .options = &options };
	const char *why;
	int status, err;

	parse_options(&options, &queue, argc, argv);
	why = keeper_load();
	if (why) {
		message("needs SQLite: %s", why);
		return STATUS_FAILED;
	}
	err = daemon_begin(&loop.daemon, CLOCK_MONOTONIC);
	if (err)
		return complain("signals", err);
	status = keeper_start(&loop.keeper, &options);
	if (!status)
		status = keep(&loop);
	keeper_close(loop.keeper);
	return status;
}

const struct command command_keep = {
	.name = "keep",
	.arguments = "[OPTION...] QUEUE FILE",
	.summary = "Keep a queue in a file, so that it survives a crash",
	.options =
	"      --sync             write each change to the disk at once; a new queue\n"
	"                         makes adds and dones wait for that\n"
	"      --interval DURATION\n"
	"                         without --sync, write to the disk at most so often (1s)\n"
	"  -v, --verbose          say what was restored, and when the file is up to date\n"
	"  -h, --help\n"
	"\n"
	"Runs until SIGTERM, SIGINT or SIGHUP, or until the queue is shut down and\n"
	"empty. The queue is restored from FILE if it does not exist. Options of a new\n"
	"queue, if neither it nor FILE exists:\n"
	QUEUE_HELP,
	.brief =
	"      --sync             write each change to the disk at once; a new queue\n"
	"                         makes adds and dones wait for that\n"
	"      --interval DURATION\n"
	"                         without --sync, write to the disk at most so often (1s)\n"
	"  -m, --mode MODE        and other options of kwq create, for a new queue\n"
	"  -v, --verbose          say what was restored, and when the file is up to date\n"
	"      --help=all         all options\n"
	"\n"
	"Runs until SIGTERM, SIGINT or SIGHUP, or until the queue is shut down and\n"
	"empty. The queue is restored from FILE if it does not exist.\n",
	.examples =
	"  kwq keep mail /var/lib/kwq/mail.kwqdb      as kwq-keep@mail.service does\n"
	"  kwq keep --sync mail ./mail.kwqdb          nothing acknowledged is ever lost\n",
	.table = keep_options,
	.main = keep_main,
};

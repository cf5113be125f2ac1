// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq shutdown, kwq drain and kwq rm: the end of a queue.
 */
#include <fcntl.h>

#include "cmd.h"
#include "duration.h"

enum { OPT_TIMEOUT = OPT_FIRST };

static const struct option no_options[] = {
	OPTION_HELP, OPTION_END
};

static const struct option drain_options[] = {
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	OPTION_HELP, OPTION_END
};

static int shutdown_main(int argc, char **argv)
{
	const char *queue;
	int opt, err;

	while ((opt = getopt_long(argc, argv, "h", no_options, NULL)) != -1)
		option_common(opt);
	queue = only_argument(argc, argv, "QUEUE");
	err = kwq_shut_down(must_open_queue(queue, KWQ_RIGHT_MANAGE));
	return err ? complain(queue, err) : STATUS_OK;
}

static int drain_main(int argc, char **argv)
{
	const char *queue, *timeout = NULL;
	uint64_t timeout_ns = KWQ_NO_DEADLINE;
	int opt, err;

	while ((opt = getopt_long(argc, argv, "h", drain_options, NULL)) != -1) {
		if (opt != OPT_TIMEOUT)
			option_common(opt);
		timeout = optarg;
	}
	queue = only_argument(argc, argv, "QUEUE");
	if (timeout)
		timeout_ns = must_parse_duration("--timeout", timeout);

	err = kwq_shut_down_with_drain_within(must_open_queue(queue, KWQ_RIGHT_MANAGE),
					      timeout_ns);
	return err ? complain(queue, err) : STATUS_OK;
}

static int rm_main(int argc, char **argv)
{
	int opt, err, status = STATUS_OK;

	while ((opt = getopt_long(argc, argv, "h", no_options, NULL)) != -1)
		option_common(opt);
	if (optind == argc)
		usage("NAME is missing");
	for (; optind < argc; optind++) {
		err = kwq_unlink(must_be_name(argv[optind]));
		if (err)
			status = complain_open(argv[optind], err);
	}
	return status;
}

const struct command command_shutdown = {
	.name = "shutdown",
	.arguments = "QUEUE",
	.summary = "Refuse new keys; ready keys are still handed out",
	.options = "  -h, --help\n",
	.main = shutdown_main,
};

const struct command command_drain = {
	.name = "drain",
	.arguments = "[--timeout DURATION] QUEUE",
	.summary = "Shut down, and wait until all is done",
	.options =
	"      --timeout DURATION  wait no longer than that; the queue stays shut down\n"
	"  -h, --help\n",
	.main = drain_main,
};

const struct command command_rm = {
	.name = "rm",
	.arguments = "NAME...",
	.summary = "Remove the names of queues; a queue ends with its last handle",
	.options = "  -h, --help\n",
	.main = rm_main,
};

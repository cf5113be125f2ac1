// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq debug advance: moves the clock of a queue that was created with --clock manual.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/cmd.h"
#include "base/duration.h"

enum { OPT_TO = OPT_FIRST };

static const struct option advance_options[] = {
	{ "to", required_argument, NULL, OPT_TO },
	OPTION_HELP, OPTION_END
};

static int complain_advance(const char *queue, int err)
{
	switch (err) {
	case -EOPNOTSUPP:
		message("%s: this queue has no manual clock (see kwq debug create --clock manual)",
			queue);
		return STATUS_FAILED;
	case -EINVAL:
		message("%s: --to is in the past of the queue's clock", queue);
		return STATUS_FAILED;
	default:
		return complain(queue, err);
	}
}

static int advance_main(int argc, char **argv)
{
	const char *queue, *to = NULL;
	uint64_t time;
	struct kwq *q;
	int opt, err;

	while ((opt = getopt_long(argc, argv, "h", advance_options, NULL)) != -1) {
		if (opt != OPT_TO)
			option_common(opt);
		to = optarg;
	}
	if (optind == argc)
		usage("QUEUE is missing");
	queue = argv[optind++];
	if (to && optind < argc)
		usage("DURATION and --to cannot be combined");
	if (to)
		time = must_parse_short_duration("--to", to);
	else
		time = must_parse_short_duration("DURATION", only_argument(argc, argv, "DURATION"));

	q = must_open_queue(queue, KWQ_RIGHT_MANAGE);
	must_have_limiters(q, queue);
	err = to ? kwq_advance_to(q, time) : kwq_advance(q, time);
	return err ? complain_advance(queue, err) : STATUS_OK;
}

const struct command command_advance = {
	.name = "advance",
	.arguments = "QUEUE DURATION | --to DURATION QUEUE",
	.summary = "Move a manual clock forward and make due keys ready",
	.options =
	"      --to DURATION   move it to this time since its start, not by this time\n"
	"  -h, --help\n",
	.examples =
	"  kwq debug advance test 10s               10 s later\n"
	"  kwq debug advance --to 1h test           1 h after the clock's start\n",
	.table = advance_options,
	.main = advance_main,
};

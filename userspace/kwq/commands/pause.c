// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq pause and kwq resume
 */
#include "base/cmd.h"
#include "base/duration.h"

enum { OPT_FOR = OPT_FIRST };

static const struct option pause_options[] = {
	{ "for", required_argument, NULL, OPT_FOR },
	OPTION_HELP, OPTION_END
};

static const struct option resume_options[] = {
	OPTION_HELP, OPTION_END
};

/* Opens each QUEUE that is left, and pauses or resumes it. Returns the exit status. */
static int each_queue(int argc, char **argv, bool pauses, const uint64_t *time)
{
	int err, status = STATUS_OK;
	struct kwq *q;

	if (optind == argc)
		usage("QUEUE is missing");
	for (; optind < argc; optind++) {
		err = open_queue(&q, argv[optind], KWQ_RIGHT_MANAGE);
		if (err) {
			status = complain_open(argv[optind], err);
			continue;
		}
		err = !pauses ? kwq_resume(q) : time ? kwq_pause_for(q, *time) : kwq_pause(q);
		if (err)
			status = complain(argv[optind], err);
		kwq_close(q);
	}
	return status;
}

static int pause_main(int argc, char **argv)
{
	const char *time = NULL;
	uint64_t time_ns;
	int opt;

	while ((opt = getopt_long(argc, argv, "h", pause_options, NULL)) != -1) {
		if (opt != OPT_FOR)
			option_common(opt);
		time = optarg;
	}
	if (time)
		time_ns = must_parse_duration("--for", time);
	return each_queue(argc, argv, true, time ? &time_ns : NULL);
}

static int resume_main(int argc, char **argv)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "h", resume_options, NULL)) != -1)
		option_common(opt);
	return each_queue(argc, argv, false, NULL);
}

const struct command command_pause = {
	.name = "pause",
	.arguments = "[--for DURATION] QUEUE...",
	.summary = "Hand nothing out; keys are still added and finished",
	.options =
	"      --for DURATION  resume after DURATION; else kwq resume ends the pause\n"
	"  -h, --help\n",
	.examples =
	"  kwq pause jobs                           until kwq resume jobs\n"
	"  kwq pause --for 10m jobs mails           two queues, for 10 minutes\n",
	.table = pause_options,
	.main = pause_main,
};

const struct command command_resume = {
	.name = "resume",
	.arguments = "QUEUE...",
	.summary = "End the pause of queues",
	.options = "  -h, --help\n",
	.examples =
	"  kwq resume jobs                          hand out keys again\n"
	"  kwq resume jobs mails                    the same for two queues\n",
	.table = resume_options,
	.main = resume_main,
};

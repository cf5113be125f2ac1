// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq debug term
 */
#include <string.h>

#include "base/cmd.h"
#include "base/duration.h"

static const struct option term_options[] = {
	OPTION_HELP, OPTION_END
};

/* Sets the term of an open queue. */
static int set_term(struct kwq *q, const char *when, uint64_t time)
{
	if (!strcmp(when, "none"))
		return kwq_set_term(q, KWQ_NO_DEADLINE);
	return kwq_set_term_within(q, time);
}

static int term_main(int argc, char **argv)
{
	const char *queue, *when;
	uint64_t time = 0;
	struct kwq *q;
	int err, opt;

	while ((opt = getopt_long(argc, argv, "h", term_options, NULL)) != -1)
		option_common(opt);
	if (optind == argc)
		usage("QUEUE is missing");
	queue = argv[optind++];
	when = only_argument(argc, argv, "a DURATION, none or now");
	if (strcmp(when, "none") && strcmp(when, "now"))
		time = must_parse_short_duration("DURATION", when);
	err = open_queue(&q, queue, KWQ_RIGHT_MANAGE);
	if (err)
		return complain_open(queue, err);
	err = set_term(q, when, time);
	kwq_close(q);
	return err ? complain(queue, err) : STATUS_OK;
}

const struct command command_term = {
	.name = "term",
	.arguments = "QUEUE DURATION|none|now",
	.summary = "End all work of a queue after a time, unless called again",
	.options =
	"  DURATION         then hand nothing out, and take all back that is handed out\n"
	"  none             never do that; hand keys out again\n"
	"  now              do that now\n"
	"  -h, --help\n",
	.examples =
	"  kwq debug term jobs 10s                  end all work in 10 s\n"
	"  while alive; do kwq debug term jobs 10s; sleep 3; done\n",
	.table = term_options,
	.main = term_main,
};

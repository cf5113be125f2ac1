// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq debug forget, and kwq debug requeues: reset and show the requeue counts of keys.
 */
#include <fcntl.h>

#include "base/cmd.h"
#include "kwq/keys/each_key.h"

static const struct option forget_options[] = {
	OPTION_NULL, OPTION_QUIET, OPTION_VERBOSE, OPTION_JSON, OPTION_HELP, OPTION_END
};

static const struct option requeues_options[] = {
	OPTION_NULL, OPTION_QUIET, OPTION_JSON, OPTION_HELP, OPTION_END
};

static int fill(void *entry, const char *key, size_t len, const void *context)
{
	(void)key;
	(void)context;
	*(struct kwq_key_entry *)entry = (struct kwq_key_entry){ .key_len = len };
	return len;
}

static int forget_main(int argc, char **argv)
{
	static const struct key_verb verb = {
		.entry_size = sizeof(struct kwq_key_entry),
		.fill = fill,
		.submit = kwq_forget_batch,
		.count = "requeues",
	};
	struct key_options options = { 0 };
	const char *queue;
	struct kwq *q;
	int opt;

	while ((opt = getopt_long(argc, argv, KEY_LETTERS "h", forget_options, NULL)) != -1)
		if (!key_option(&options, opt))
			option_common(opt);
	if (optind == argc)
		usage("QUEUE is missing");
	queue = argv[optind++];
	q = must_open_queue(queue, KWQ_RIGHT_READ);
	must_have_limiters(q, queue);
	return each_key(q, queue, &verb, &options, argc, argv);
}

static int requeues_main(int argc, char **argv)
{
	static const struct key_verb verb = {
		.entry_size = sizeof(struct kwq_key_entry),
		.fill = fill,
		.submit = kwq_num_requeues_batch,
		.count = "requeues",
	};
	/* The counts are the purpose of this command. */
	struct key_options options = { .verbose = true };
	const char *queue;
	struct kwq *q;
	int opt;

	while ((opt = getopt_long(argc, argv, "0qh", requeues_options, NULL)) != -1)
		if (!key_option(&options, opt))
			option_common(opt);
	if (optind == argc)
		usage("QUEUE is missing");
	queue = argv[optind++];
	q = must_open_queue(queue, KWQ_RIGHT_READ);
	must_have_limiters(q, queue);
	return each_key(q, queue, &verb, &options, argc, argv);
}

const struct command command_forget = {
	.name = "forget",
	.arguments = "[OPTION...] QUEUE [KEY...]",
	.summary = "Reset the requeue counts of keys to 0",
	.options =
	KEY_HELP
	"\n"
	"The result of a key is its former count.\n",
	.examples =
	"  kwq debug forget jobs report-7           its next failure is the first\n"
	"  kwq debug forget -v jobs a b             and print the old counts\n",
	.table = forget_options,
	.main = forget_main,
};

const struct command command_requeues = {
	.name = "requeues",
	.arguments = "[OPTION...] QUEUE [KEY...]",
	.summary = "Print how often keys were rate-limited since they were forgotten",
	.options =
	"  -0, --null       keys on standard input end with NUL, not with newline\n"
	"  -q, --quiet      print no errors of single keys; see the exit status\n"
	"      --json       print one JSON object per line\n"
	"  -h, --help\n",
	.examples =
	"  kwq debug requeues jobs report-7         how often has it failed?\n"
	"  kwq debug requeues --json jobs a b       as JSON\n",
	.table = requeues_options,
	.main = requeues_main,
};

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq remove
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cmd.h"
#include "key_filter.h"
#include "was.h"

static const struct option remove_options[] = {
	OPTION_FILTER_ALL, OPTION_FILTER_STATE, OPTION_FILTER_GROUP, OPTION_FILTER_GLOB,
	OPTION_NULL, OPTION_QUIET, OPTION_VERBOSE, OPTION_JSON, OPTION_HELP, OPTION_END
};

static struct key_filter filter;	/* too large for the stack */
static uint64_t still_held;

/* A key that is listed as dead may be added again before it is removed. */
static int fill(void *entry, const char *key, size_t len, const void *context)
{
	(void)key;
	(void)context;
	*(struct kwq_remove_entry *)entry = (struct kwq_remove_entry){
		.key_len = len,
		.flags = filter.states == KWQ_IS_DEAD ? KWQ_REMOVE_DEAD : 0,
	};
	return len;
}

static int submit(struct kwq *q, const struct kwq_batch *batch)
{
	const __s32 *results = (void *)(uintptr_t)batch->results;
	int taken = kwq_remove_batch(q, batch), i;

	for (i = 0; i < taken; i++)
		still_held += results[i] > 0 && results[i] & KWQ_WAS_PROCESSING;
	key_filter_excuse(&filter, batch, taken);
	return taken;
}

static const char *refusal(int err)
{
	return err == -ENOENT ? "no such key" : NULL;
}

/* The key may be in the engine, from where nothing but a worker takes it. */
static const char *refusal_of_shared(int err)
{
	return err == -ENOENT ?
		"not on this machine; other keys cannot be removed (see kwq share --list)" :
		NULL;
}

/* A key that a worker holds is not gone, so success would be a lie. */
static int check_held(const char *queue, const struct key_options *options, int status)
{
	if (!still_held || status)
		return status;
	if (!options->quiet)
		message("%s: %llu being processed: gone once done, but back if a job fails: kwq cancel ends the jobs, too",
			queue, (unsigned long long)still_held);
	return STATUS_FAILED;
}

static int remove_main(int argc, char **argv)
{
	struct key_verb verb = {
		.entry_size = sizeof(struct kwq_remove_entry),
		.fill = fill,
		.submit = submit,
		.outcome = was,
		.refusal = refusal,
	};
	struct key_options options = { 0 };
	const char *queue;
	struct kwq *q;
	int opt;

	while ((opt = getopt_long(argc, argv, KEY_LETTERS "ah", remove_options, NULL)) != -1)
		if (!key_option(&options, opt) && !key_filter_option(&filter, opt))
			option_common(opt);
	if (optind == argc)
		usage("QUEUE is missing");
	queue = argv[optind++];
	/* A list needs the right to read. */
	q = must_open_queue(queue, filter.all ? KWQ_RIGHT_READ | KWQ_RIGHT_MANAGE :
						KWQ_RIGHT_MANAGE);
	key_filter_apply(&filter, q, queue, &verb, &options, argc, argv);
	if (shared_queue(q))
		verb.refusal = refusal_of_shared;
	return check_held(queue, &options, each_key(q, queue, &verb, &options, argc, argv));
}

const struct command command_remove = {
	.name = "remove",
	.arguments = "[OPTION...] QUEUE [KEY...]",
	.summary = "Take keys out of a queue, but leave running jobs alone",
	.options =
	FILTER_HELP
	KEY_HELP
	"\n"
	"A key whose job runs is gone once it is done, but a failure brings it back: that\n"
	"is exit status 1. kwq cancel ends the job, too.\n",
	.examples =
	"  kwq remove jobs report-7                 report-7 need not be done\n"
	"  kwq remove --all --state waiting jobs    nor does any key that waits\n",
	.table = remove_options,
	.main = remove_main,
};

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq remove
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cmd.h"
#include "each_key.h"

enum { OPT_REVOKE = OPT_FIRST };

static const struct option remove_options[] = {
	{ "revoke", no_argument, NULL, OPT_REVOKE },
	OPTION_NULL, OPTION_QUIET, OPTION_VERBOSE, OPTION_JSON, OPTION_HELP, OPTION_END
};

static const struct {
	int bit;
	const char *name;
} states[] = {
	{ KWQ_WAS_READY, "ready" },
	{ KWQ_WAS_WAITING, "waiting" },
	{ KWQ_WAS_PROCESSING, "processing" },
	{ KWQ_WAS_DIRTY, "dirty" },
	{ KWQ_WAS_DEAD, "dead" },
	{ KWQ_WAS_REMEMBERED, "remembered" },
};

static int fill(void *entry, const char *key, size_t len, const void *context)
{
	const uint32_t *flags = context;

	(void)key;
	*(struct kwq_remove_entry *)entry = (struct kwq_remove_entry){
		.key_len = len,
		.flags = *flags,
	};
	return len;
}

/* The former state: "ready", "waiting,processing", ... */
static const char *outcome(int result)
{
	static char text[64];
	size_t i;

	text[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		if (!(result & states[i].bit))
			continue;
		if (text[0])
			strcat(text, ",");
		strcat(text, states[i].name);
	}
	return text;
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

static int remove_main(int argc, char **argv)
{
	static uint32_t flags;
	struct key_verb verb = {
		.context = &flags,
		.entry_size = sizeof(struct kwq_remove_entry),
		.fill = fill,
		.submit = kwq_remove_batch,
		.outcome = outcome,
		.refusal = refusal,
	};
	struct key_options options = { 0 };
	const char *queue;
	struct kwq *q;
	int opt;

	while ((opt = getopt_long(argc, argv, KEY_LETTERS "h", remove_options, NULL)) != -1) {
		if (opt == OPT_REVOKE)
			flags |= KWQ_REMOVE_REVOKE;
		else if (!key_option(&options, opt))
			option_common(opt);
	}
	if (flags && !module_has(KWQ_FEATURE_GRANTS)) {
		message("--revoke: the kernel's kwq is older than this command");
		return STATUS_FAILED;
	}
	if (optind == argc)
		usage("QUEUE is missing");
	queue = argv[optind++];
	q = must_open_queue(queue, KWQ_RIGHT_MANAGE);
	if (shared_queue(q))
		verb.refusal = refusal_of_shared;
	return each_key(q, queue, &verb, &options, argc, argv);
}

const struct command command_remove = {
	.name = "remove",
	.arguments = "[OPTION...] QUEUE [KEY...]",
	.summary = "Take keys out of a queue",
	.options =
	"      --revoke             take them from their workers, too: kwq run kills the\n"
	"                           jobs, and a done comes too late\n"
	KEY_HELP,
	.examples =
	"  kwq remove jobs report-7                 report-7 need not be done\n"
	"  kwq keys -0 --state waiting jobs | kwq remove -0 jobs\n",
	.main = remove_main,
};

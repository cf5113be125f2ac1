// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq done
 */
#include <errno.h>
#include <fcntl.h>

#include "cmd.h"
#include "each_key.h"
#include "number.h"

static const struct option done_options[] = {
	{ "ticket", no_argument, NULL, 't' },
	OPTION_NULL, OPTION_QUIET, OPTION_VERBOSE, OPTION_JSON, OPTION_HELP, OPTION_END
};

static int fill_key(void *entry, const char *key, size_t len, const void *context)
{
	(void)key;
	(void)context;
	*(struct kwq_done_entry *)entry = (struct kwq_done_entry){ .key_len = len };
	return len;
}

static int fill_ticket(void *entry, const char *key, size_t len, const void *context)
{
	char text[24];
	uint64_t ticket;

	(void)context;
	/* Keys that come from standard input end with no NUL. */
	if (snprintf(text, sizeof(text), "%.*s", (int)len, key) >= (int)sizeof(text) ||
	    parse_number(text, 1, UINT64_MAX, &ticket))
		return -EDOM;
	*(struct kwq_done_entry *)entry = (struct kwq_done_entry){ .ticket = ticket };
	return 0;
}

static const char *outcome(int result)
{
	return result == KWQ_REQUEUED ? "requeued" : "finished";
}

static const char *refusal(int err)
{
	switch (err) {
	case -EDOM:
		return "not a ticket";
	case -ENOENT:
		return "not being processed";
	case -EPERM:
		return "held by another handle (see kwq open)";
	case -ESTALE:
		return "not held, or no longer, under this ticket by this handle (see kwq open)";
	default:
		return NULL;
	}
}

static int done_main(int argc, char **argv)
{
	struct key_options options = { 0 };
	struct key_verb verb = {
		.entry_size = sizeof(struct kwq_done_entry),
		.fill = fill_key,
		.submit = kwq_done_batch,
		.outcome = outcome,
		.refusal = refusal,
	};
	const char *queue;
	int opt;

	while ((opt = getopt_long(argc, argv, KEY_LETTERS "th", done_options, NULL)) != -1) {
		if (opt == 't')
			verb.fill = fill_ticket;
		else if (!key_option(&options, opt))
			option_common(opt);
	}
	if (optind == argc)
		usage("QUEUE is missing");
	queue = argv[optind++];
	return each_key(must_open_queue(queue, O_RDONLY), queue, &verb, &options,
			argc, argv);
}

const struct command command_done = {
	.name = "done",
	.arguments = "[OPTION...] fd:N [KEY...]",
	.summary = "Finish items that the descriptor N holds",
	.options =
	"  -t, --ticket     the arguments are tickets, as kwq get --json tells them\n"
	KEY_HELP,
	.main = done_main,
};

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq done: finishes items that a descriptor holds, or extends their leases.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "kwq/keys/each_key.h"
#include "base/number.h"

enum { OPT_FORGET = OPT_FIRST, OPT_DEAD, OPT_RETURN, OPT_EXTEND, OPT_NOTE };

static const struct option done_options[] = {
	{ "forget", no_argument, NULL, OPT_FORGET },
	{ "dead", no_argument, NULL, OPT_DEAD },
	{ "return", no_argument, NULL, OPT_RETURN },
	{ "extend", no_argument, NULL, OPT_EXTEND },
	{ "note", required_argument, NULL, OPT_NOTE },
	{ "ticket", no_argument, NULL, 't' },
	OPTION_NULL, OPTION_QUIET, OPTION_VERBOSE, OPTION_JSON, OPTION_HELP, OPTION_END
};

/* Copies the text first: keys from standard input do not end with a NUL. */
static int parse_ticket(const char *key, size_t len, uint64_t *ticket)
{
	char text[24];

	if (snprintf(text, sizeof(text), "%.*s", (int)len, key) >= (int)sizeof(text) ||
	    parse_number(text, 1, UINT64_MAX, ticket))
		return -EDOM;
	return 0;
}

static int fill_done_key(void *entry, const char *key, size_t len, const void *context)
{
	(void)key;
	*(struct kwq_done_entry *)entry = (struct kwq_done_entry){
		.key_len = len,
		.flags = *(const uint32_t *)context,
	};
	return len;
}

static int fill_done_ticket(void *entry, const char *key, size_t len, const void *context)
{
	uint64_t ticket;
	int err = parse_ticket(key, len, &ticket);

	if (err)
		return err;
	*(struct kwq_done_entry *)entry = (struct kwq_done_entry){
		.ticket = ticket,
		.flags = *(const uint32_t *)context,
	};
	return 0;
}

/* The note of --note, and the flag of each entry then. */
static struct kwq_add_extra noted;
static uint32_t extend_flags;

static int fill_extend_key(void *entry, const char *key, size_t len, const void *context)
{
	(void)key;
	(void)context;
	*(struct kwq_extend_entry *)entry = (struct kwq_extend_entry){
		.key_len = len,
		.flags = extend_flags,
	};
	return len;
}

static int fill_extend_ticket(void *entry, const char *key, size_t len, const void *context)
{
	uint64_t ticket;
	int err = parse_ticket(key, len, &ticket);

	(void)context;
	if (err)
		return err;
	*(struct kwq_extend_entry *)entry = (struct kwq_extend_entry){
		.ticket = ticket,
		.flags = extend_flags,
	};
	return 0;
}

static const char *done_outcome(int result)
{
	switch (result) {
	case KWQ_FINISHED:
		return "finished";
	case KWQ_REQUEUED:
		return "requeued";
	case KWQ_STILL_WAITING:
		return "waiting";
	case KWQ_REQUEUED | KWQ_STILL_WAITING:
		return "requeued, waiting";
	case KWQ_BURIED:
		return "dead";
	case KWQ_RETURNED:
		return "returned";
	case KWQ_RETURNED | KWQ_STILL_WAITING:
		return "returned, waiting";
	default:
		return "done";
	}
}

static const char *extend_outcome(int result)
{
	(void)result;
	return "extended";
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
		return "this handle does not hold that ticket, or lost it (see kwq open)";
	default:
		return NULL;
	}
}

/* Refuses flags that exclude each other, or that an older module would refuse. */
static void check_flags(uint32_t flags)
{
	if (flags & KWQ_DONE_RETURN && flags & KWQ_DONE_DEAD)
		usage("--return and --dead exclude each other");
	if (flags & KWQ_DONE_RETURN && flags & KWQ_DONE_FORGET)
		usage("--return keeps the counts of requeues, so it excludes --forget");
	if (flags & (KWQ_DONE_RETURN | KWQ_DONE_DEAD) && !module_has(KWQ_FEATURE_SETTLE)) {
		message("the kernel's kwq is older than this command and has no %s",
			flags & KWQ_DONE_RETURN ? "--return" : "--dead");
		exit(STATUS_FAILED);
	}
}

static int submit_with_note(struct kwq *q, const struct kwq_batch *batch)
{
	static struct kwq_add_extra extras[KWQ_BATCH_MAX];
	struct kwq_batch with = *batch;
	unsigned int i;

	for (i = 0; i < batch->nr; i++)
		extras[i] = noted;
	with.extras = kwq_ptr(extras);
	with.extra_size = sizeof(extras[0]);
	return kwq_extend_batch(q, &with);
}

static void take_note(const char *text)
{
	size_t len = strlen(text);

	if (len > KWQ_NOTE_MAX)
		usage("--note: a note has at most %d bytes", KWQ_NOTE_MAX);
	noted.note = len ? kwq_ptr(text) : 0;
	noted.note_len = len;
	extend_flags = KWQ_EXTEND_NOTE;
}

static const char *extend_refusal(int err)
{
	return err == -EOPNOTSUPP ? "the queue was created with --no-values, so it has no notes" :
				    refusal(err);
}

struct done_options {
	uint32_t flags;		/* KWQ_DONE_* */
	bool extend, note, ticket;
	struct key_options key;
};

static void parse_option(struct done_options *o, int opt)
{
	switch (opt) {
	case 't':
		o->ticket = true;
		break;
	case OPT_FORGET:
		o->flags |= KWQ_DONE_FORGET;
		break;
	case OPT_DEAD:
		o->flags |= KWQ_DONE_DEAD;
		break;
	case OPT_RETURN:
		o->flags |= KWQ_DONE_RETURN;
		break;
	case OPT_EXTEND:
		o->extend = true;
		break;
	case OPT_NOTE:
		o->note = true;
		take_note(optarg);
		break;
	default:
		if (!key_option(&o->key, opt))
			option_common(opt);
	}
}

/* The keys stay with the descriptor. Returns the exit status. */
static int extend(struct kwq *q, const char *queue, const struct done_options *o, int argc,
		  char **argv)
{
	struct key_verb verb = {
		.entry_size = sizeof(struct kwq_extend_entry),
		.fill = o->ticket ? fill_extend_ticket : fill_extend_key,
		.submit = o->note ? submit_with_note : kwq_extend_batch,
		.outcome = extend_outcome,
		.refusal = extend_refusal,
	};

	must_have_leases(q, queue);
	if (o->note && !module_has(KWQ_FEATURE_NOTES)) {
		message("the kernel's kwq is older than this command and has no notes");
		return STATUS_FAILED;
	}
	return each_key(q, queue, &verb, &o->key, argc, argv);
}

static int finish(struct kwq *q, const char *queue, const struct done_options *o, int argc,
		  char **argv)
{
	struct key_verb verb = {
		.entry_size = sizeof(struct kwq_done_entry),
		.fill = o->ticket ? fill_done_ticket : fill_done_key,
		.submit = kwq_done_batch,
		.outcome = done_outcome,
		.refusal = refusal,
		.context = &o->flags,
	};

	if (o->flags & KWQ_DONE_FORGET)
		must_have_limiters(q, queue);
	warn_of_wait(q, queue);
	return each_key(q, queue, &verb, &o->key, argc, argv);
}

static int done_main(int argc, char **argv)
{
	struct done_options o = { 0 };
	const char *queue;
	struct kwq *q;
	int opt;

	while ((opt = getopt_long(argc, argv, KEY_LETTERS "th", done_options, NULL)) != -1)
		parse_option(&o, opt);
	if (optind == argc)
		usage("QUEUE is missing");
	if (o.extend && o.flags)
		usage("--extend keeps the keys, so it excludes --forget, --dead and --return");
	if (o.note && !o.extend)
		usage("--note needs --extend");
	check_flags(o.flags);
	queue = argv[optind++];
	q = must_open_queue(queue, KWQ_RIGHT_READ);
	return o.extend ? extend(q, queue, &o, argc, argv) : finish(q, queue, &o, argc, argv);
}

const struct command command_done = {
	.name = "done",
	.arguments = "[OPTION...] fd:N [KEY...]",
	.summary = "Finish keys that the descriptor N holds, or extend their leases",
	.options =
	"  -t, --ticket     the arguments are tickets, as kwq get --json prints them\n"
	"      --forget     the keys succeeded: reset their counts of requeues to 0\n"
	"      --dead       set the keys aside as dead letters (see kwq keys --dead)\n"
	"      --return     put the keys back, as if they had not been handed out\n"
	"      --extend     keep the keys, and begin their leases anew\n"
	"      --note TEXT  with --extend: leave a note with the keys, such as why they\n"
	"                   failed, for kwq keys -l\n"
	KEY_HELP,
	.examples =
	"  kwq done --forget fd:$KWQ_FD invoice-17     it is done, and has succeeded\n"
	"  kwq done --extend fd:$KWQ_FD invoice-17     it takes longer than the lease\n",
	.table = done_options,
	.main = done_main,
};

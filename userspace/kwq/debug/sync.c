// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq debug sync, and what kwq add --sync waits for.
 */
#include "sync.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cmd.h"
#include "base/duration.h"

enum { OPT_TIMEOUT = OPT_FIRST };

static const struct option sync_options[] = {
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	OPTION_HELP, OPTION_END
};

/* kwq share knows why the engine does not answer, and says so where it runs. */
static void tell_not_kept(const struct kwq *q, const char *queue, const struct kwq_stat *st)
{
	const char *shared = st->followers ? shared_queue(q) : NULL;

	if (shared)
		message("%s: the engine has not acknowledged all changes yet: kwq share says why (journalctl -u kwq-share@%s)",
			queue, shared);
	else
		message("%s: not all changes are kept yet", queue);
}

void must_be_kept(struct kwq *q, const char *queue)
{
	struct kwq_stat st = { .size = sizeof(st) };
	int err = kwq_stat(q, &st);

	if (err)
		exit(complain(queue, err));
	if (st.create_flags & KWQ_CREATE_CHANGES)
		return;
	message("%s: this queue cannot be kept: see kwq keep, and kwq create --changes", queue);
	exit(STATUS_FAILED);
}

/* On a terminal it says after a second what it waits for: a disk may be full for hours. */
static int sync_and_tell(struct kwq *q, const char *queue, const struct kwq_stat *st,
			 uint64_t timeout)
{
	int err;

	if (!st->followers || timeout <= LOOK_EVERY || !has_watcher())
		return kwq_sync_within(q, timeout);
	err = kwq_sync_within(q, LOOK_EVERY);
	if (err != -ETIMEDOUT)
		return err;
	if (shared_queue(q))
		message("%s: waiting until the engine has acknowledged the changes", queue);
	else
		message("%s: waiting until kwq keep has the changes on the disk; if that is full, kwq keep says so where it runs",
			queue);
	return kwq_sync_within(q, timeout == KWQ_NO_DEADLINE ? timeout : timeout - LOOK_EVERY);
}

int wait_until_kept(struct kwq *q, const char *queue, uint64_t timeout)
{
	struct kwq_stat st = { .size = sizeof(st) };
	int err;

	/* This one does not wait. It tells whether anything is left to be kept. */
	err = kwq_sync_within(q, 0);
	if (err == -ETIMEDOUT) {
		err = kwq_stat(q, &st);
		if (!err && timeout && !st.followers)
			tell_nobody_keeps(queue, &st);
		if (!err)
			err = sync_and_tell(q, queue, &st, timeout);
	}
	if (err == -ETIMEDOUT) {
		tell_not_kept(q, queue, &st);
		return STATUS_NOT_READY;
	}
	return err ? complain(queue, err) : STATUS_OK;
}

static int sync_main(int argc, char **argv)
{
	uint64_t timeout = KWQ_NO_DEADLINE;
	const char *queue;
	struct kwq *q;
	int opt;

	while ((opt = getopt_long(argc, argv, "h", sync_options, NULL)) != -1) {
		if (opt != OPT_TIMEOUT)
			option_common(opt);
		timeout = must_parse_duration("--timeout", optarg);
	}
	queue = only_argument(argc, argv, "QUEUE");
	q = must_open_to_look(queue);
	must_be_kept(q, queue);
	return wait_until_kept(q, queue, timeout);
}

const struct command command_sync = {
	.name = "sync",
	.arguments = "[--timeout DURATION] QUEUE",
	.summary = "Wait until all changes so far are on the disk, or in the engine",
	.options =
	"      --timeout DURATION  wait no longer than that\n"
	"  -h, --help\n"
	"\n"
	"kwq keep has written the changes to the disk then. In a queue of kwq share, the\n"
	"engine has acknowledged them: they survive the end of this machine. kwq add\n"
	"--sync waits for the same.\n",
	.examples =
	"  kwq debug sync mail                      wait for what others have added\n"
	"  kwq debug sync --timeout 5s mail         wait no longer than 5 s\n",
	.table = sync_options,
	.main = sync_main,
};

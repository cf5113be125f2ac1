// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq follow: shows the output of a running job.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/escape.h"
#include "base/output.h"
#include "worker_client.h"

static const struct option follow_options[] = {
	OPTION_HELP, OPTION_END
};

/* If inotify has no watch left, look at the files as often as this. */
enum { LOOK_MS = 200 };

/* A pread() keeps the place of this command apart from that of the worker. */
static int copy_new(int from, int to, off_t *at)
{
	char buffer[65536];
	ssize_t got;
	int err;

	while ((got = pread(from, buffer, sizeof(buffer), *at)) > 0) {
		err = write_all(to, buffer, got);
		if (err)
			return err;
		*at += got;
	}
	return got < 0 ? -errno : 0;
}

/* An inotify that sees writes to both files. Returns a negative errno value if there is none. */
static int watch(const int fds[2])
{
	char link[40];
	int notify, i;

	notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	for (i = 0; i < 2 && notify >= 0; i++) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fds[i]);
		if (inotify_add_watch(notify, link, IN_MODIFY) < 0) {
			close(notify);
			notify = -1;
		}
	}
	return notify;
}

/* Shows all output until the job has ended. Returns 0 or a negative errno value of a write. */
static int show(const int fds[2], int end)
{
	int notify = watch(fds), err, i;
	struct pollfd p[] = {
		{ .fd = end, .events = POLLIN },
		{ .fd = notify, .events = POLLIN },
	};
	off_t at[2] = { 0, 0 };
	char events[4096];
	bool ended = false;

	for (;;) {
		for (i = 0; i < 2; i++) {
			err = copy_new(fds[i], i ? STDERR_FILENO : STDOUT_FILENO, &at[i]);
			if (err)
				return err;
		}
		/* The last look comes after the end. */
		if (ended)
			return 0;
		if (poll(p, 2, notify < 0 ? LOOK_MS : -1) < 0 && errno != EINTR)
			return -errno;
		ended = p[0].revents;
		while (notify >= 0 && read(notify, events, sizeof(events)) > 0)
			;
	}
}

static int complain_find(struct kwq *q, const char *queue, const char *key, int err)
{
	struct kwq_listed item;
	char text[ESCAPED_SIZE(KWQ_KEY_MAX)];

	if (!key && err == -ESRCH)
		message("%s: no key is being processed", queue);
	else if (err == -E2BIG)
		message("%s: several keys are being processed: see kwq stat", queue);
	else if (err == -ESRCH || err == -ENOENT)
		message("%s: %s: %s", queue, escape_text(text, key, strlen(key)),
			kwq_look(q, key, strlen(key), &item) ? "the queue has no such key" :
			"is not being processed");
	else
		return complain_key(queue, err);
	return err == -ESRCH && !key ? STATUS_NOT_READY : STATUS_FAILED;
}

static int follow_main(int argc, char **argv)
{
	struct running_key running;
	int opt, err, fds[2], end;
	const char *queue, *key;
	struct kwq *q;

	while ((opt = getopt_long(argc, argv, "h", follow_options, NULL)) != -1)
		option_common(opt);
	if (optind == argc)
		usage("QUEUE is missing");
	queue = argv[optind++];
	key = argv[optind];
	if (key && optind + 1 < argc)
		usage("\"%s\" is one argument too many", argv[optind + 1]);

	q = must_open_queue(queue, KWQ_RIGHT_READ);
	must_list_items(q, queue);
	err = running_key_find(&running, q, key, key ? strlen(key) : 0);
	if (err)
		return complain_find(q, queue, key, err);
	err = worker_ask(&running, CONTROL_FOLLOW, 0, fds, &end);
	if (err)
		return complain_worker(queue, &running, err);
	err = show(fds, end);
	if (!err)
		return STATUS_OK;
	message("output: %s", strerror(-err));
	return STATUS_FAILED;
}

const struct command command_follow = {
	.name = "follow",
	.arguments = "QUEUE [KEY]",
	.summary = "Show the output of a running job, until it ends",
	.options =
	"  -h, --help\n"
	"\n"
	"Without KEY: the only job that runs. The job must run below kwq run of the same\n"
	"user. With kwq run --output group all of its output is shown, with --output line\n"
	"the output from now on. With --output pass it goes where the worker's goes.\n"
	"\n"
	"  kwq follow jobs report-7              what does report-7 print?\n"
	"  kwq follow jobs 2>/dev/null | tail -1 its last line in the end\n",
	.table = follow_options,
	.main = follow_main,
};

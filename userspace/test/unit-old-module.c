// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U3: the messages of the command with the first version of the module, which has no
 * limiters, no leases and no lists of keys. The test replaces that module by wrapping ioctl()
 * and open() (the linker's --wrap).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cmd.h"
#include "tap.h"
#include "wrap-open.h"

#define OLD_FEATURES (KWQ_FEATURE_DELAYS | KWQ_FEATURE_PRIORITIES | KWQ_FEATURE_NAMES)

/* The child reports here its requests on the queue. */
static int report = -1;

static void note(const char *what)
{
	if (write(report, what, strlen(what)) < 0)
		_exit(99);
}

static int fails(int err)
{
	errno = err;
	return -1;
}

/* A queue with one item. The queue is shut down after the hand-out. */
static int take_get(struct kwq_get_args *req)
{
	static bool got;
	struct kwq_done_entry entry;

	if (req->add.nr) {
		note("[add]");
		*(__s32 *)(uintptr_t)req->add.results = KWQ_WAITING;
	}
	if (req->done.nr) {
		memcpy(&entry, (void *)(uintptr_t)req->done.entries, sizeof(entry));
		note(entry.flags ? "[done with flags]" : "[done]");
		*(__s32 *)(uintptr_t)req->done.results = KWQ_FINISHED;
	}
	if (!req->get.nr)
		return 0;
	if (got)
		return fails(ESHUTDOWN);
	got = true;
	*(struct kwq_got *)(uintptr_t)req->get.entries = (struct kwq_got){
		.ticket = 1,
		.key_len = 1,
	};
	*(char *)(uintptr_t)req->get.keys = 'k';
	return 1;
}

static int take_done(struct kwq_batch_args *req)
{
	struct kwq_done_entry entry;

	memcpy(&entry, (void *)(uintptr_t)req->batch.entries, sizeof(entry));
	note(entry.flags ? "[done with flags]" : "[done]");
	*(__s32 *)(uintptr_t)req->batch.results = entry.flags ? -EINVAL : KWQ_FINISHED;
	return 1;
}

static int answer(int fd, unsigned long request, void *arg)
{
	(void)fd;
	switch (request) {
	case KWQ_IOC_INFO:
		((struct kwq_info *)arg)->features = OLD_FEATURES;
		return 0;
	case KWQ_IOC_OPEN:
		/* Any descriptor that epoll accepts. */
		return dup(STDIN_FILENO);
	case KWQ_IOC_STAT:
		((struct kwq_stat *)arg)->size = offsetof(struct kwq_stat, now);
		return 0;
	case KWQ_IOC_GET:
		return take_get(arg);
	case KWQ_IOC_DONE:
		return take_done(arg);
	case KWQ_IOC_CREATE:
	case KWQ_IOC_ADD:
	case KWQ_IOC_REMOVE:
		note("[another request]");
		return fails(EINVAL);
	default:
		return fails(ENOTTY);
	}
}

static int open_device(int flags)
{
	return open("/dev/null", flags);
}

/* Returns the output and the requests of the command, followed by its exit status. */
static const char *says(const struct command *which, bool debug, char **argv)
{
	static char text[4096];
	size_t filled = 0;
	int ends[2], input[2], status, argc = 0;
	ssize_t got;

	while (argv[argc])
		argc++;
	if (pipe(ends) || pipe(input))
		exit(1);
	fflush(stdout);
	if (!fork()) {
		report = ends[1];
		close(input[1]);
		dup2(input[0], STDIN_FILENO);
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		command = which;
		debugging = debug;
		optind = 1;
		exit(which->main(argc, argv));
	}
	close(ends[1]);
	close(input[0]);
	close(input[1]);
	while ((got = read(ends[0], text + filled, sizeof(text) - filled - 20)) > 0)
		filled += got;
	close(ends[0]);
	wait(&status);
	sprintf(text + filled, "%d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return text;
}

#define OLD	"the kernel's kwq is older than this command and has no "
#define LACKS	"q: " OLD "limiters\n1"

/* Not const: getopt_long() reorders the arguments. */
static struct {
	const struct command *command;
	char *argv[8];
	const char *said;
	bool debug;	/* behind kwq debug */
} cases[] = {
	{ &command_create, { "create", "q" },
	  "[another request]kwq: create: q: not a valid name\n1" },
	{ &command_create, { "create", "--retry", "exp:1s..2s", "q" },
	  "kwq: create: " OLD "limiters\n1" },
	{ &command_create, { "create", "--dead-after", "3", "q" },
	  "kwq: create: " OLD "limiters\n1" },
	{ &command_create, { "create", "--clock", "manual", "q" },
	  "kwq: debug create: " OLD "manual clock\n1", true },
	{ &command_create, { "create", "--lease", "1s", "q" },
	  "kwq: create: " OLD "leases\n1" },
	{ &command_create, { "create", "--outbox", "out", "q" },
	  "kwq: debug create: " OLD "outboxes\n1", true },
	{ &command_done, { "done", "--extend", "q", "k" }, "kwq: done: q: " OLD "leases\n1" },
	{ &command_configure, { "configure", "q" }, "kwq: configure: " LACKS },
	{ &command_configure, { "configure", "--coalesce", "q" },
	  "kwq: debug configure: " LACKS, true },
	{ &command_add, { "add", "--rate-limited", "q", "k" }, "kwq: add: " LACKS },
	{ &command_done, { "done", "--forget", "q", "k" }, "kwq: done: " LACKS },
	{ &command_done, { "done", "--dead", "q", "k" }, "kwq: done: " OLD "--dead\n1" },
	{ &command_done, { "done", "--return", "q", "k" }, "kwq: done: " OLD "--return\n1" },
	{ &command_done, { "done", "q", "k" }, "[done]0" },
	{ &command_forget, { "forget", "q", "k" }, "kwq: debug forget: " LACKS, true },
	{ &command_requeues, { "requeues", "q", "k" }, "kwq: debug requeues: " LACKS, true },
	{ &command_keys, { "keys", "q" }, "kwq: keys: q: " OLD "lists of keys\n1" },
	{ &command_kick, { "kick", "--dead", "q", "k" }, "kwq: kick: " LACKS },
	{ &command_advance, { "advance", "q", "1s" }, "kwq: debug advance: " LACKS, true },
	{ &command_run, { "run", "q", "--", "true" },
	  "kwq: run: q: " OLD "return of keys\n1" },
};

int main(void)
{
	char what[100];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(what, sizeof(what), "U3: an old module, kwq %s %s",
			 cases[i].argv[0], cases[i].argv[1]);
		is_string(says(cases[i].command, cases[i].debug, cases[i].argv), cases[i].said,
			  what);
	}
	return done_testing();
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U5: kwq top on a terminal: its keys, what they do to a queue, and the terminal afterwards. The
 * test replaces the kernel by wrapping ioctl() and open() (the linker's --wrap).
 */
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/cmd.h"
#include "kwq/show/screen.h"
#include "tap.h"
#include "wrap-open.h"

/* ---- The kernel: two queues, in the process of the command ---------------- */

static struct {
	const char *name;
	bool paused, refuses;
	struct kwq_listed items[3];
	const char *keys[3];
} queues[] = {
	{ "jobs", false, false, {
		{ .state = KWQ_IS_PROCESSING, .order_of = KWQ_IS_PROCESSING, .key_len = 7,
		  .processing_for = 3000000000, .pid = 1 },
		{ .state = KWQ_IS_DEAD, .order_of = KWQ_IS_DEAD, .order = 1, .key_len = 5 },
		{ .state = KWQ_IS_DEAD, .order_of = KWQ_IS_DEAD, .order = 2, .key_len = 6 },
	}, { "running", "first", "second" } },
	{ "other", false, true, { { 0 } }, { NULL } },
};

/* The queue of each descriptor. */
static int queue_of[256];

static int fails(int err)
{
	errno = err;
	return -1;
}

static int open_queue_named(const struct kwq_open_args *req)
{
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(queues); i++) {
		if (strcmp((const char *)req->name, queues[i].name))
			continue;
		if (queues[i].refuses && req->rights & KWQ_RIGHT_MANAGE)
			return fails(EACCES);
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		queue_of[fd] = i;
		return fd;
	}
	return fails(ENOENT);
}

static int fill_stat(int number, struct kwq_stat *st)
{
	size_t i;

	memset(st, 0, sizeof(*st));
	st->size = sizeof(*st);
	snprintf((char *)st->name, sizeof(st->name), "%s", queues[number].name);
	st->state = queues[number].paused ? KWQ_STATE_PAUSED : 0;
	st->ready = number ? 5 : 0;
	for (i = 0; i < 3; i++) {
		st->processing += queues[number].items[i].state == KWQ_IS_PROCESSING;
		st->dead += queues[number].items[i].state == KWQ_IS_DEAD;
		st->ready += queues[number].items[i].state == KWQ_IS_READY;
	}
	return 0;
}

static int list(int number, const struct kwq_list_items_args *req)
{
	struct kwq_listed *entries = (void *)(uintptr_t)req->batch.entries;
	char *keys = (void *)(uintptr_t)req->batch.keys;
	size_t i, nr = 0;

	for (i = 0; i < 3; i++) {
		if (!(queues[number].items[i].state & req->states))
			continue;
		entries[nr++] = queues[number].items[i];
		memcpy(keys, queues[number].keys[i], queues[number].items[i].key_len);
		keys += queues[number].items[i].key_len;
	}
	return nr;
}

static int kick(int number, const struct kwq_add_args *req)
{
	const struct kwq_add_entry *add = (void *)(uintptr_t)req->batch.entries;
	const char *key = (void *)(uintptr_t)req->batch.keys;
	__s32 *result = (void *)(uintptr_t)req->batch.results;
	size_t i;

	*result = -ENOENT;
	for (i = 0; i < 3; i++) {
		struct kwq_listed *item = &queues[number].items[i];

		if (item->key_len != add->key_len || item->state != KWQ_IS_DEAD ||
		    memcmp(queues[number].keys[i], key, add->key_len))
			continue;
		item->state = KWQ_IS_READY;
		item->order_of = KWQ_IS_READY;
		*result = KWQ_ADDED;
	}
	return 1;
}

int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	switch (request) {
	case KWQ_IOC_OPEN:
		return open_queue_named(arg);
	case KWQ_IOC_STAT:
		return fill_stat(queue_of[fd], arg);
	case KWQ_IOC_LIST_ITEMS:
		((struct kwq_list_items_args *)arg)->after = 0;
		return list(queue_of[fd], arg);
	case KWQ_IOC_ADD:
		return kick(queue_of[fd], arg);
	case KWQ_IOC_PAUSE:
	case KWQ_IOC_RESUME:
		queues[queue_of[fd]].paused = request == KWQ_IOC_PAUSE;
		return 0;
	default:
		/* The size of the terminal is not known. */
		return fails(ENOTTY);
	}
}

static int open_device(int flags)
{
	return open("/dev/null", flags);
}

/* ---- The terminal --------------------------------------------------------- */

static int terminal, own_side;
static pid_t top;
static char screen[1 << 20];
static size_t filled;

/* Starts kwq top, which shows a new table only after a key. @before: the terminal as it was. */
static void start(struct termios *before)
{
	char *argv[8] = { "top", "--interval", "1h", "--sort", "name", "jobs", "other" };

	if (openpty(&terminal, &own_side, NULL, NULL, NULL))
		exit(1);
	tcgetattr(own_side, before);
	fflush(stdout);
	filled = 0;
	top = fork();
	if (top)
		return;
	alarm(60);
	setsid();
	dup2(own_side, STDIN_FILENO);
	dup2(own_side, STDOUT_FILENO);
	dup2(own_side, STDERR_FILENO);
	close(terminal);
	setenv("TERM", "xterm", 1);
	command = &command_top;
	optind = 1;
	exit(command_top.main(7, argv));
}

/* Sends keys, and waits until the screen that comes has the text. */
static void shows(const char *keys, const char *text, const char *what)
{
	ssize_t got = 1;

	if (*keys)
		filled = 0;
	if (write(terminal, keys, strlen(keys)) != (ssize_t)strlen(keys))
		exit(1);
	screen[filled] = '\0';
	while (!strstr(screen, text) && filled < sizeof(screen) - 1) {
		got = read(terminal, screen + filled, sizeof(screen) - 1 - filled);
		if (got <= 0)
			break;
		filled += got;
		screen[filled] = '\0';
	}
	ok(strstr(screen, text), "%s", what);
}

/* The exit status of the command. The terminal has to be as it was. */
static int finish(const struct termios *before)
{
	struct termios after;
	int status;

	waitpid(top, &status, 0);
	tcgetattr(own_side, &after);
	ok(!memcmp(&after.c_lflag, &before->c_lflag, sizeof(after.c_lflag)),
	   "the terminal is as it was");
	close(own_side);
	close(terminal);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_keys(void)
{
	struct termios before;

	start(&before);
	shows("", "other", "the queues");
	ok(strstr(screen, "\033[7m"), "one is selected");
	shows("p", "jobs (paused)", "p pauses the selected one");
	shows("r", "jobs: resumed", "r resumes it");
	shows("\r", "running", "Enter shows its keys");
	ok(strstr(screen, "processing keys"), "those that are being processed");
	shows("K", "only dead and waiting keys can be kicked", "one cannot be kicked");
	shows("\t", "ready keys", "Tab shows those of the next state");
	shows("\t\t", "first", "and so on");
	shows("\033[B", "\033[7m", "the next one is selected");
	shows("K", "jobs: kicked", "K kicks the selected one");
	ok(strstr(screen, "first") && !strstr(screen, "second"), "and no other");
	shows("\033", "2 queues", "Escape shows the queues again");
	shows("K", "jobs: kicked", "K kicks all dead keys");
	shows("\r", "dead keys", "of that queue");
	ok(!strstr(screen, "first"), "none is left");
	shows("\033", "2 queues", "back");
	shows("jp", "other: paused: permission denied", "an error is shown");
	shows("s", "sorted by ready", "s sorts by the next column");
	shows("x", "2 queues", "any other key does nothing");
	shows("q", "\033[?1049l", "q leaves the screen");
	is_number(finish(&before), STATUS_OK, "and ends");
}

static void test_signals(void)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
	struct termios before;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signals); i++) {
		start(&before);
		shows("", "other", "a screen");
		kill(top, signals[i]);
		shows("", "\033[?1049l", "a signal leaves the screen");
		is_number(finish(&before), STATUS_OK, "and ends");
	}
}

static void test_sequences(void)
{
	static const struct {
		const char *bytes;
		int key;
		size_t used;
	} keys[] = {
		{ "q", 'q', 1 }, { "\033", KEY_ESCAPE, 1 }, { "\033[A", KEY_UP, 3 },
		{ "\033OB", KEY_DOWN, 3 }, { "\033[5~x", KEY_PAGE_UP, 4 },
		{ "\033[1;5Cq", KEY_NONE, 6 }, { "\033[200", KEY_NONE, 5 },
		{ "\033x", KEY_NONE, 2 },
		{ "\xff", 255, 1 },
	};
	size_t i, used;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		int key = screen_key(keys[i].bytes, strlen(keys[i].bytes), &used);

		ok(key == keys[i].key && used == keys[i].used, "sequence %zu", i);
	}
}

int main(void)
{
	alarm(120);
	test_sequences();
	test_keys();
	test_signals();
	return done_testing();
}

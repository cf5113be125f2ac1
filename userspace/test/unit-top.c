// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * U5: kwq top on a terminal: its keys, and the terminal afterwards. The
 * test replaces the kernel by wrapping ioctl() and open() (the linker's --wrap).
 */
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/cmd.h"
#include "tap.h"
#include "wrap-open.h"

/* ---- The kernel: two queues, in the process of the command ---------------- */

static const struct {
	const char *name;
	uint64_t ready, dead;
	uint32_t state;
} queues[] = {
	{ "jobs", 0, 2, KWQ_STATE_PAUSED },
	{ "other", 5, 0, 0 },
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
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		queue_of[fd] = i;
		return fd;
	}
	return fails(ENOENT);
}

static int fill_stat(int number, struct kwq_stat *st)
{
	memset(st, 0, sizeof(*st));
	st->size = sizeof(*st);
	snprintf((char *)st->name, sizeof(st->name), "%s", queues[number].name);
	st->state = queues[number].state;
	st->ready = queues[number].ready;
	st->dead = queues[number].dead;
	return 0;
}

static int answer(int fd, unsigned long request, void *arg)
{
	switch (request) {
	case KWQ_IOC_OPEN:
		return open_queue_named(arg);
	case KWQ_IOC_STAT:
		return fill_stat(queue_of[fd], arg);
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
	ok(strstr(screen, "jobs (paused)"), "and that one is paused");
	ok(strstr(screen, "2 queues by name"), "with the column that sorts them");
	shows("s", "by ready", "s sorts by the next column");
	ok(strstr(screen, "other") < strstr(screen, "jobs"), "the most ready keys first");
	shows("x", "by ready", "any other key does nothing");
	shows("\033[A", "by ready", "nor does one that sends several bytes");
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

int main(void)
{
	alarm(120);
	test_keys();
	test_signals();
	return done_testing();
}

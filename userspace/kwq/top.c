// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq top
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "duration.h"
#include "gather.h"
#include "histogram.h"
#include "table.h"

#define SORT_COLUMNS "ready, waiting, processing, dead, adds, done, retries, oldest, " \
	"longest, queue-p99, work-p99 or name"

enum { OPT_INTERVAL = OPT_FIRST, OPT_ONCE, OPT_SORT };

static const struct option top_options[] = {
	{ "interval", required_argument, NULL, OPT_INTERVAL },
	{ "once", no_argument, NULL, OPT_ONCE },
	{ "sort", required_argument, NULL, OPT_SORT },
	OPTION_HELP, OPTION_END
};

struct top {
	uint64_t interval;
	bool once;
	enum column sort;
	struct gather gather;
	/* The result of the gather() before. */
	struct metrics_queue *before;
	size_t nr_before, room_before;
	uint64_t gathered;		/* when; 0 for not yet */
	struct table_row *rows;
	size_t rows_room;
};

static uint64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void parse_options(struct top *top, int argc, char **argv)
{
	int opt;

	top->interval = NS_PER_S;
	top->sort = COLUMN_READY;
	while ((opt = getopt_long(argc, argv, "h", top_options, NULL)) != -1) {
		switch (opt) {
		case OPT_INTERVAL:
			top->interval = must_parse_duration("--interval", optarg);
			if (!top->interval)
				usage("--interval %s: must be longer than 0", optarg);
			break;
		case OPT_ONCE:
			top->once = true;
			break;
		case OPT_SORT:
			top->sort = column_named(optarg);
			if (top->sort == NR_COLUMNS)
				usage("--sort %s: must be " SORT_COLUMNS, optarg);
			break;
		default:
			option_common(opt);
		}
	}
}

/* Reads the queues and makes the rows. Returns 0 or a negative errno value. */
static int sample(struct top *top)
{
	struct gather *g = &top->gather;
	struct metrics_queue *queues = g->queues;
	size_t nr = g->nr, room = g->room;
	uint64_t now;
	int err;

	/* The present sample becomes the old one, and the old one's memory is reused. */
	g->queues = top->before;
	g->room = top->room_before;
	top->before = queues;
	top->nr_before = nr;
	top->room_before = room;

	err = gather(g);
	if (err)
		return err;
	if (g->nr > top->rows_room) {
		struct table_row *rows = reallocarray(top->rows, g->nr, sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		top->rows = rows;
		top->rows_room = g->nr;
	}
	now = clock_now();
	table_fill(top->rows, g->queues, g->nr, top->before, top->gathered ? top->nr_before : 0,
		   now - top->gathered);
	table_sort(top->rows, g->nr, top->sort);
	top->gathered = now;
	return 0;
}

/* The rest of the interval, for ppoll(). */
static struct timespec until_next(const struct top *top)
{
	uint64_t passed = clock_now() - top->gathered;
	uint64_t left = passed < top->interval ? top->interval - passed : 0;

	return (struct timespec){ .tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S };
}

/* ---- One table after the other ---- */

static int print_tables(struct top *top)
{
	struct timespec pause;
	bool first = true;
	int err;

	for (;;) {
		err = sample(top);
		if (err)
			return complain("/dev/kwq", err);
		/* --once skips the first sample: its table has no rates. */
		if (!top->once || !first) {
			table_write(stdout, top->rows, top->gather.nr, 0, 0, "\n");
			if (!top->once)
				putchar('\n');
			if (!flush_output())
				return STATUS_FAILED;
			if (top->once)
				return STATUS_OK;
		}
		first = false;
		pause = until_next(top);
		while (nanosleep(&pause, &pause) && errno == EINTR)
			;
	}
}

/* ---- A table that stays in its place ---- */

static struct termios terminal_before;
static bool terminal_has_keys;

static void enter_screen(void)
{
	struct termios keys;

	/* Keys arrive one by one and are not echoed. Ctrl-C still sends a signal. */
	terminal_has_keys = !tcgetattr(STDIN_FILENO, &terminal_before);
	if (terminal_has_keys) {
		keys = terminal_before;
		keys.c_lflag &= ~(ICANON | ECHO);
		keys.c_cc[VMIN] = 1;
		keys.c_cc[VTIME] = 0;
		tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
	}
	/* Use the alternate screen, hide the cursor, and turn line wrapping off. */
	fputs("\033[?1049h\033[?25l\033[?7l", stdout);
}

static void leave_screen(void)
{
	fputs("\033[?7h\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	if (terminal_has_keys)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal_before);
}

static bool draw(const struct top *top)
{
	char interval[SHORT_TIME_SIZE];
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
		size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
	/* Each line ends with an escape that erases the rest of the old line. */
	printf("\033[Hkwq top: %zu queue%s, every %s; q quits\033[K", top->gather.nr,
	       top->gather.nr == 1 ? "" : "s", short_time(interval, top->interval));
	if (size.ws_row > 2) {
		fputs("\r\n\033[K\r\n", stdout);
		/* On a screen of 3 lines the table is the last one: a newline would scroll. */
		table_write(stdout, top->rows, top->gather.nr,
			    size.ws_row > 3 ? size.ws_row - 3 : 1, size.ws_col,
			    size.ws_row > 3 ? "\033[K\r\n" : "\033[K");
	}
	fputs("\033[J", stdout);
	return !fflush(stdout);
}

static int open_signals(void)
{
	static const int wanted[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP };
	sigset_t set;
	size_t i;
	int fd;

	sigemptyset(&set);
	for (i = 0; i < ARRAY_SIZE(wanted); i++)
		sigaddset(&set, wanted[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Handles a signal. Returns whether to continue. */
static bool take_signal(struct top *top, int signals)
{
	struct signalfd_siginfo info;

	if (read(signals, &info, sizeof(info)) != sizeof(info))
		return errno == EINTR;
	switch (info.ssi_signo) {
	case SIGWINCH:
		return draw(top);
	case SIGTSTP:
		leave_screen();
		raise(SIGSTOP);
		enter_screen();
		return draw(top);
	default:
		return false;
	}
}

static bool take_key(void)
{
	char key;
	ssize_t got = read(STDIN_FILENO, &key, 1);

	if (got < 0)
		return errno == EINTR || errno == EAGAIN;
	return got && key != 'q' && key != 'Q' && key != 4 /* Ctrl-D */;
}

/* Waits until the next sample is due. Returns whether to continue. */
static bool wait_on_screen(struct top *top, int signals)
{
	struct pollfd p[] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = terminal_has_keys ? STDIN_FILENO : -1, .events = POLLIN },
	};

	for (;;) {
		struct timespec left = until_next(top);
		int nr = ppoll(p, ARRAY_SIZE(p), &left, NULL);

		if (!nr)
			return true;
		if (nr < 0) {
			if (errno != EINTR)
				return false;
			continue;
		}
		if (p[0].revents && !take_signal(top, signals))
			return false;
		if (p[1].revents && !take_key())
			return false;
	}
}

static int show_screen(struct top *top)
{
	int signals, err;

	/* Report a first error before switching screens, where it stays visible. */
	err = sample(top);
	if (err)
		return complain("/dev/kwq", err);
	signals = open_signals();
	if (signals < 0)
		return complain("signals", signals);
	enter_screen();
	while (!err && draw(top) && wait_on_screen(top, signals))
		err = sample(top);
	leave_screen();
	close(signals);
	return err ? complain("/dev/kwq", err) : STATUS_OK;
}

static int top_main(int argc, char **argv)
{
	const char *term = getenv("TERM");
	struct top top = {};
	int status;

	parse_options(&top, argc, argv);
	gather_init(&top.gather, argv + optind);
	if (!top.once && isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb"))
		status = show_screen(&top);
	else
		status = print_tables(&top);
	gather_free(&top.gather);
	free(top.before);
	free(top.rows);
	return status;
}

const struct command command_top = {
	.name = "top",
	.arguments = "[OPTION...] [QUEUE...]",
	.summary = "Show a live table of queues",
	.options =
	"      --interval DURATION  time between two tables (1s)\n"
	"      --once               print one table, after one interval\n"
	"      --sort COLUMN        ready (the default), waiting, processing, dead,\n"
	"                           adds, done, retries, oldest, longest, queue-p99,\n"
	"                           work-p99, name\n"
	"  -h, --help\n"
	"\n"
	"Without QUEUE: all named queues that may be opened. q or Ctrl-C quits.\n",
	.main = top_main,
};

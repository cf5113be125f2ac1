// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq top
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "kwq/keys/gather.h"
#include "queue/histogram.h"
#include "base/read_clock.h"
#include "screen.h"
#include "base/signal_fd.h"
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
	now = read_clock(CLOCK_MONOTONIC);
	table_fill(top->rows, g->queues, g->nr, top->before, top->gathered ? top->nr_before : 0,
		   now - top->gathered);
	table_sort(top->rows, g->nr, top->sort);
	top->gathered = now;
	return 0;
}

/* The rest of the interval, for ppoll(). */
static struct timespec until_next(const struct top *top)
{
	uint64_t passed = read_clock(CLOCK_MONOTONIC) - top->gathered;
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

static void make_title(const struct top *top, char *to, size_t size)
{
	char interval[SHORT_TIME_SIZE];

	snprintf(to, size, "kwq top: %zu queue%s by %s, every %s; %s", top->gather.nr,
		 top->gather.nr == 1 ? "" : "s", column_name(top->sort),
		 short_time(interval, top->interval),
		 screen_has_keys() ? "s sort, q quit" : "Ctrl-C quits");
}

static bool draw(const struct top *top)
{
	unsigned int rows, columns;
	char title[200];

	screen_size(&rows, &columns);
	make_title(top, title, sizeof(title));
	fputs("\033[H", stdout);
	table_write_cut(stdout, title, columns);
	/* Each line ends with an escape that erases the rest of the old line. */
	fputs("\033[K", stdout);
	if (rows > 3) {
		fputs("\r\n\033[K\r\n", stdout);
		/* A newline behind the last line of the screen would scroll. */
		table_write(stdout, top->rows, top->gather.nr, rows - 3, columns, "\033[K\r\n");
	}
	/* Erase what is left of a longer table. */
	fputs("\033[J", stdout);
	return !fflush(stdout);
}

/* Handles the keys that were pressed. Returns whether to continue. */
static bool take_keys(struct top *top)
{
	char keys[64];
	ssize_t got = read(STDIN_FILENO, keys, sizeof(keys)), i;

	if (got < 0)
		return errno == EINTR || errno == EAGAIN;
	for (i = 0; i < got; i++) {
		/* or Ctrl-D */
		if (keys[i] == 'q' || keys[i] == 'Q' || keys[i] == 4)
			return false;
		if (keys[i] == 's')
			top->sort = (top->sort + 1) % NR_COLUMNS;
	}
	table_sort(top->rows, top->gather.nr, top->sort);
	return got && draw(top);
}

/* ---- Signals ---- */

/* Opens a descriptor for the signals that end or change the screen. */
static int open_signals(void)
{
	static const int wanted[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP };

	return signal_fd_open(wanted, ARRAY_SIZE(wanted), NULL);
}

/* Handles a signal. Returns whether to continue. */
static bool take_signal(struct top *top, int signals)
{
	switch (signal_fd_take(signals)) {
	case 0:
		return true;
	case SIGWINCH:
		return draw(top);
	case SIGTSTP:
		screen_leave();
		raise(SIGSTOP);
		screen_enter();
		return draw(top);
	default:
		return false;
	}
}

/* Waits until the next sample is due. Returns whether to continue. */
static bool wait_on_screen(struct top *top, int signals)
{
	struct pollfd p[] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = screen_has_keys() ? STDIN_FILENO : -1, .events = POLLIN },
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
		if (p[1].revents && !take_keys(top))
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
	screen_enter();
	while (!err && draw(top) && wait_on_screen(top, signals))
		err = sample(top);
	screen_leave();
	close(signals);
	return err ? complain("/dev/kwq", err) : STATUS_OK;
}

static int top_main(int argc, char **argv)
{
	struct top top = { 0 };
	int status;

	parse_options(&top, argc, argv);
	gather_init(&top.gather, argv + optind);
	if (!top.once && screen_possible())
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
	"Without QUEUE: all named queues that may be opened. s sorts by the next column,\n"
	"and q quits. For the keys of a queue see kwq stat and kwq keys.\n"
	"\n"
	"  kwq top                      all queues, until q\n"
	"  kwq top --once --sort dead   one table, the most dead keys first\n",
	.table = top_options,
	.main = top_main,
};

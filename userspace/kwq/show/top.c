// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq top
 */
#include <errno.h>
#include <limits.h>
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
#include "top_keys.h"

#define SORT_COLUMNS "ready, waiting, processing, dead, adds, done, retries, oldest, " \
	"longest, queue-p99, work-p99 or name"

enum { OPT_INTERVAL = OPT_FIRST, OPT_ONCE, OPT_SORT };

static const struct option top_options[] = {
	{ "interval", required_argument, NULL, OPT_INTERVAL },
	{ "once", no_argument, NULL, OPT_ONCE },
	{ "sort", required_argument, NULL, OPT_SORT },
	OPTION_JSON, OPTION_HELP, OPTION_END
};

struct top {
	uint64_t interval;
	bool once, json;
	enum column sort;
	struct gather gather;
	/* The result of the gather() before. */
	struct metrics_queue *before;
	size_t nr_before, room_before;
	uint64_t gathered;		/* when; 0 for not yet */
	struct table_row *rows;
	size_t rows_room;
	/* The screen. */
	char selected[sizeof(((struct metrics_queue *)0)->label)];
	size_t first_row;
	bool shows_keys;
	struct top_keys keys;		/* of the selected queue */
	char message[sizeof(((struct metrics_queue *)0)->label) + 200];	/* until the next table */
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
		case OPT_JSON:
			top->json = true;
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

static void print_sample(const struct top *top)
{
	struct timespec now;

	if (top->json) {
		clock_gettime(CLOCK_REALTIME, &now);
		table_write_json(stdout, top->rows, top->gather.nr,
				 now.tv_sec * NS_PER_S + now.tv_nsec);
		return;
	}
	table_write(stdout, top->rows, top->gather.nr, 0, 0, "\n");
	if (!top->once)
		putchar('\n');
}

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
			print_sample(top);
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

/* The selected row. Sorting moves rows, so the queue is found by its label. */
static size_t selected_row(struct top *top)
{
	size_t i;

	for (i = 0; i < top->gather.nr; i++)
		if (!strcmp(top->rows[i].label, top->selected))
			return i;
	return 0;
}

static void select_row(struct top *top, size_t row)
{
	top->selected[0] = '\0';
	if (row < top->gather.nr)
		snprintf(top->selected, sizeof(top->selected), "%s", top->rows[row].label);
}

/* The queue of the selected row; NULL if there is none. */
static struct metrics_queue *selected_queue(struct top *top)
{
	size_t i;

	for (i = 0; i < top->gather.nr; i++)
		if (!strcmp(top->gather.queues[i].label, top->selected))
			return &top->gather.queues[i];
	return NULL;
}

static void say(struct top *top, const char *what, int err)
{
	snprintf(top->message, sizeof(top->message), "%s: %.100s%s%s", top->selected, what,
		 err < 0 ? ": " : "", err < 0 ? meaning(err) : "");
}

static void draw_queues(struct top *top, size_t lines, size_t columns)
{
	size_t row = selected_row(top), i;

	select_row(top, row);
	if (!lines--)
		return;
	table_write_header(stdout, columns);
	fputs("\033[K\r\n", stdout);
	if (row < top->first_row)
		top->first_row = row;
	if (lines && row >= top->first_row + lines)
		top->first_row = row - lines + 1;
	for (i = top->first_row; i < top->gather.nr && lines--; i++) {
		if (i == row && screen_has_keys())
			fputs("\033[7m", stdout);
		table_write_row(stdout, &top->rows[i], columns);
		fputs("\033[K\033[m\r\n", stdout);
	}
}

static const char *state_name(uint32_t state)
{
	return state == KWQ_IS_PROCESSING ? "processing" : state == KWQ_IS_READY ? "ready" :
		state == KWQ_IS_WAITING ? "waiting" : "dead";
}

static void make_title(const struct top *top, char *to, size_t size)
{
	char interval[SHORT_TIME_SIZE];

	short_time(interval, top->interval);
	if (top->message[0])
		snprintf(to, size, "%s", top->message);
	else if (top->shows_keys)
		snprintf(to, size, "kwq top: %.300s: %s keys, every %s; Tab state, K kick, p pause, "
			 "r resume, Esc back, q quit", top->selected, state_name(top->keys.state),
			 interval);
	else if (screen_has_keys())
		snprintf(to, size, "kwq top: %zu queue%s, every %s; Enter keys, s sort, K kick, "
			 "p pause, r resume, q quit", top->gather.nr,
			 top->gather.nr == 1 ? "" : "s", interval);
	else
		snprintf(to, size, "kwq top: %zu queue%s, every %s; Ctrl-C quits", top->gather.nr,
			 top->gather.nr == 1 ? "" : "s", interval);
}

static bool draw(struct top *top)
{
	unsigned int rows, columns;
	char title[sizeof(top->message) + 200];

	screen_size(&rows, &columns);
	make_title(top, title, sizeof(title));
	fputs("\033[H", stdout);
	table_write_cut(stdout, title, columns);
	/* Each line ends with an escape that erases the rest of the old line. */
	fputs("\033[K", stdout);
	if (rows > 3) {
		fputs("\r\n\033[K\r\n", stdout);
		/* A newline behind the last line of the screen would scroll. */
		if (top->shows_keys)
			top_keys_draw(&top->keys, rows - 3, columns);
		else
			draw_queues(top, rows - 3, columns);
	}
	/* Erase what is left of a longer table. */
	fputs("\033[J", stdout);
	return !fflush(stdout);
}

/* ---- Keys ---- */

/* Lists the keys of the selected queue. If it is gone, shows the queues again. */
static void list_keys(struct top *top)
{
	const struct metrics_queue *m = selected_queue(top);
	struct kwq *q;
	int err = -ENOENT;

	if (m)
		err = gather_open(&top->gather, m, KWQ_RIGHT_READ, &q);
	if (!err) {
		err = top_keys_list(&top->keys, q, &m->stat);
		kwq_close(q);
	}
	if (!err)
		return;
	say(top, "keys", err);
	top->shows_keys = false;
}

static int pause_queue(struct kwq *q, const struct top *top)
{
	(void)top;
	return kwq_pause(q);
}

static int resume_queue(struct kwq *q, const struct top *top)
{
	(void)top;
	return kwq_resume(q);
}

/* Makes the selected key ready if it is dead or waiting. */
static int kick_key(struct kwq *q, const struct top *top)
{
	struct kwq_add_options options = { .size = sizeof(options), .flags = KWQ_ADD_END_WAIT };
	const struct top_keys *keys = &top->keys;
	const char *key;
	size_t len;

	if (!keys->items.nr || !(keys->state & (KWQ_IS_DEAD | KWQ_IS_WAITING)))
		return -ENOKEY;
	key = item_sorted_key(&keys->items, keys->selected);
	len = keys->items.rows[keys->selected].item.key_len;
	return keys->state == KWQ_IS_DEAD ? kwq_kick(q, key, len) :
		kwq_add_with(q, key, len, &options);
}

static int kick_queue(struct kwq *q, const struct top *top)
{
	struct item_sorted dead = { 0 };
	int err, ret;
	size_t i;

	if (top->shows_keys)
		return kick_key(q, top);
	err = item_sorted_list(&dead, q, KWQ_IS_DEAD);
	for (i = 0; !err && i < dead.nr; i++) {
		ret = kwq_kick(q, item_sorted_key(&dead, i), dead.rows[i].item.key_len);
		/* Somebody else may be faster. */
		if (ret < 0 && ret != -ENOENT)
			err = ret;
	}
	item_sorted_free(&dead);
	return err;
}

static void act(struct top *top, const char *what, unsigned int rights,
		int (*action)(struct kwq *q, const struct top *top))
{
	struct metrics_queue *m = selected_queue(top);
	struct kwq_stat st = { .size = sizeof(st) };
	struct kwq *q;
	int err;

	if (!m)
		return;
	err = gather_open(&top->gather, m, rights, &q);
	if (!err) {
		err = action(q, top);
		/* The row shows the result at once. */
		if (!kwq_stat(q, &st))
			m->stat = st;
		kwq_close(q);
	}
	if (err == -ENOKEY)
		say(top, "only dead and waiting keys can be kicked", 0);
	else if (err == -ENOENT && top->shows_keys)
		say(top, "the key is not dead any more", 0);
	else
		say(top, what, err);
}

static void move(struct top *top, long by)
{
	size_t nr = top->shows_keys ? top->keys.items.nr : top->gather.nr;
	size_t row = top->shows_keys ? top->keys.selected : selected_row(top);

	if (by < 0)
		row = row > (size_t)-by ? row + by : 0;
	else
		row = nr - row > (size_t)by ? row + by : nr ? nr - 1 : 0;
	if (top->shows_keys)
		top->keys.selected = row;
	else
		select_row(top, row);
}

/* Handles one key. Returns whether to continue. */
static bool take_one(struct top *top, int key)
{
	unsigned int rows, columns;

	screen_size(&rows, &columns);
	top->message[0] = '\0';
	switch (key) {
	case 'q':
	case 'Q':
	case 4:	/* Ctrl-D */
		return false;
	case KEY_UP:
	case 'k':
		move(top, -1);
		break;
	case KEY_DOWN:
	case 'j':
		move(top, 1);
		break;
	case KEY_PAGE_UP:
		move(top, -(long)rows);
		break;
	case KEY_PAGE_DOWN:
		move(top, rows);
		break;
	case KEY_HOME:
		move(top, LONG_MIN + 1);
		break;
	case KEY_END:
		move(top, LONG_MAX);
		break;
	case '\n':
	case '\r':
	case KEY_RIGHT:
		if (top->shows_keys || !selected_queue(top))
			break;
		top->shows_keys = true;
		top->keys.selected = 0;
		list_keys(top);
		break;
	case KEY_ESCAPE:
	case KEY_LEFT:
		top->shows_keys = false;
		break;
	case '\t':
		if (!top->shows_keys)
			break;
		top->keys.state = top_keys_next_state(top->keys.state);
		top->keys.selected = 0;
		list_keys(top);
		break;
	case 's':
		top->sort = (top->sort + 1) % NR_COLUMNS;
		table_sort(top->rows, top->gather.nr, top->sort);
		snprintf(top->message, sizeof(top->message), "sorted by %s",
			 column_name(top->sort));
		break;
	case 'p':
		act(top, "paused", KWQ_RIGHT_MANAGE, pause_queue);
		break;
	case 'r':
		act(top, "resumed", KWQ_RIGHT_MANAGE, resume_queue);
		break;
	case 'K':
		act(top, "kicked", KWQ_RIGHT_READ | KWQ_RIGHT_WRITE, kick_queue);
		if (top->shows_keys)
			list_keys(top);
		break;
	}
	return true;
}

/* Handles the keys that were pressed. Returns whether to continue. */
static bool take_keys(struct top *top)
{
	char bytes[64];
	ssize_t got = read(STDIN_FILENO, bytes, sizeof(bytes));
	size_t at, used;

	if (got < 0)
		return errno == EINTR || errno == EAGAIN;
	for (at = 0; at < (size_t)got; at += used)
		if (!take_one(top, screen_key(bytes + at, got - at, &used)))
			return false;
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
	while (!err && draw(top) && wait_on_screen(top, signals)) {
		err = sample(top);
		top->message[0] = '\0';
		if (!err && top->shows_keys)
			list_keys(top);
	}
	screen_leave();
	close(signals);
	return err ? complain("/dev/kwq", err) : STATUS_OK;
}

static int top_main(int argc, char **argv)
{
	struct top top = { .keys.state = KWQ_IS_PROCESSING };
	int status;

	parse_options(&top, argc, argv);
	gather_init(&top.gather, argv + optind);
	if (!top.once && !top.json && screen_possible())
		status = show_screen(&top);
	else
		status = print_tables(&top);
	gather_free(&top.gather);
	free(top.before);
	free(top.rows);
	item_sorted_free(&top.keys.items);
	return status;
}

const struct command command_top = {
	.name = "top",
	.arguments = "[OPTION...] [QUEUE...]",
	.summary = "Show a live table of queues, and the keys of one",
	.options =
	"      --interval DURATION  time between two tables (1s)\n"
	"      --once               print one table, after one interval\n"
	"      --json               print one JSON object per line for each queue, at\n"
	"                           each interval\n"
	"      --sort COLUMN        ready (the default), waiting, processing, dead,\n"
	"                           adds, done, retries, oldest, longest, queue-p99,\n"
	"                           work-p99, name\n"
	"  -h, --help\n"
	"\n"
	"Without QUEUE: all named queues that may be opened. Keys: up, down, Enter (the\n"
	"keys of the queue, and who has them), Tab (in which state), Esc, s (sort by the\n"
	"next column), p (pause), r (resume), K (kick all dead keys, or this), q (quit).\n"
	"\n"
	"  kwq top                      all queues, until q\n"
	"  kwq top --once --sort dead   one table, the most dead keys first\n",
	.table = top_options,
	.main = top_main,
};

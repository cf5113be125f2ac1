// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "base/escape.h"
#include "queue/histogram.h"
#include "queue/item_print.h"

static const struct {
	const char *sort;
	const char *title;
	int width;
} columns_known[NR_COLUMNS] = {
	[COLUMN_READY] = { "ready", "READY", 7 },
	[COLUMN_WAITING] = { "waiting", "WAITING", 7 },
	[COLUMN_PROCESSING] = { "processing", "PROC", 6 },
	[COLUMN_DEAD] = { "dead", "DEAD", 6 },
	[COLUMN_ADDS] = { "adds", "ADDS/s", 7 },
	[COLUMN_DONES] = { "done", "DONE/s", 7 },
	[COLUMN_RETRIES] = { "retries", "RETRY/s", 7 },
	[COLUMN_OLDEST] = { "oldest", "OLDEST", 7 },
	[COLUMN_LONGEST] = { "longest", "LONGEST", 7 },
	[COLUMN_QUEUE_P99] = { "queue-p99", "QUEUE99", 7 },
	[COLUMN_WORK_P99] = { "work-p99", "WORK99", 7 },
	[COLUMN_NAME] = { "name", "NAME", 0 },
};

/* behind the name */
#define PAUSED		" (paused)"
#define TERM_OVER	" (term over)"

enum { CELL_SIZE = SHORT_TIME_SIZE, LINE_SIZE = 160, NAME_ROOM = 18 };

enum column column_named(const char *name)
{
	unsigned int i;

	for (i = 0; i < NR_COLUMNS; i++)
		if (!strcmp(name, columns_known[i].sort))
			break;
	return i;
}

const char *column_name(enum column column)
{
	return columns_known[column].sort;
}

/* ---- Filling ---- */

static const struct kwq_stat *find(const struct metrics_queue *queues, size_t nr, const char *label)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(label, queues[middle].label);

		if (!order)
			return &queues[middle].stat;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static bool went_on(const struct kwq_stat *now, const struct kwq_stat *before)
{
	return now->adds >= before->adds && now->dones >= before->dones &&
	       now->retries >= before->retries && now->gets >= before->gets;
}

/* An older kernel does not fill in all members. */
static void clear_unknown(struct table_row *row)
{
	if (row->stat->size >= sizeof(*row->stat))
		return;
	memset(&row->queue_duration, 0, sizeof(row->queue_duration));
	memset(&row->work_duration, 0, sizeof(row->work_duration));
}

void table_fill(struct table_row *rows, const struct metrics_queue *now, size_t nr,
		const struct metrics_queue *before, size_t nr_before, uint64_t interval)
{
	double seconds = interval / 1e9;
	size_t i;

	memset(rows, 0, nr * sizeof(*rows));
	for (i = 0; i < nr; i++) {
		const struct kwq_stat *st = &now[i].stat;
		const struct kwq_stat *old = find(before, nr_before, now[i].label);
		struct table_row *row = &rows[i];

		row->label = now[i].label;
		row->exact = now[i].exact;
		row->stat = st;
		if (!old || !went_on(st, old) || !interval)
			continue;
		row->has_rates = true;
		row->adds = (st->adds - old->adds) / seconds;
		row->dones = (st->dones - old->dones) / seconds;
		row->retries = (st->retries - old->retries) / seconds;
		histogram_since(&row->queue_duration, &st->queue_duration, &old->queue_duration);
		histogram_since(&row->work_duration, &st->work_duration, &old->work_duration);
		clear_unknown(row);
	}
}

/* ---- Sorting ---- */

static double percentile(const struct kwq_histogram *h)
{
	uint64_t ns;

	return histogram_percentile(h, 99, &ns) ? (double)ns : -1;
}

static double sort_value(const struct table_row *row, enum column by)
{
	switch (by) {
	case COLUMN_READY:
		return row->stat->ready;
	case COLUMN_WAITING:
		return row->stat->waiting;
	case COLUMN_PROCESSING:
		return row->stat->processing;
	case COLUMN_DEAD:
		return row->stat->dead;
	case COLUMN_ADDS:
		return row->adds;
	case COLUMN_DONES:
		return row->dones;
	case COLUMN_RETRIES:
		return row->retries;
	case COLUMN_OLDEST:
		return row->stat->oldest_ready;
	case COLUMN_LONGEST:
		return row->stat->longest_running;
	case COLUMN_QUEUE_P99:
		return percentile(&row->queue_duration);
	case COLUMN_WORK_P99:
		return percentile(&row->work_duration);
	default:
		return 0;
	}
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct table_row *one = a, *other = b;
	enum column by = *(enum column *)arg;
	double x = sort_value(one, by), y = sort_value(other, by);

	if (x != y)
		return x < y ? 1 : -1;
	return strcmp(one->label, other->label);
}

void table_sort(struct table_row *rows, size_t nr, enum column by)
{
	if (nr)
		qsort_r(rows, nr, sizeof(*rows), compare, &by);
}

/* ---- Writing ---- */

/* Prints at most six columns: 99999, 123k, 12.3M. */
static char *short_number(char *to, double number, bool is_rate)
{
	static const char units[] = "kMGTPE";
	const char *unit = units;

	if (is_rate && number < 1000) {
		snprintf(to, CELL_SIZE, "%.1f", number);
	} else if (number < 100000) {
		snprintf(to, CELL_SIZE, "%.0f", number);
	} else {
		for (number /= 1000; number >= 999.5; number /= 1000)
			unit++;
		snprintf(to, CELL_SIZE, number < 99.95 ? "%.1f%c" : "%.0f%c", number, *unit);
	}
	return to;
}

static const char *rate(char *to, const struct table_row *row, double number)
{
	return row->has_rates ? short_number(to, number, true) : "-";
}

static const char *cell(char *to, const struct table_row *row, enum column column)
{
	const struct kwq_stat *st = row->stat;

	switch (column) {
	case COLUMN_READY:
		return short_number(to, st->ready, false);
	case COLUMN_WAITING:
		return short_number(to, st->waiting, false);
	case COLUMN_PROCESSING:
		return short_number(to, st->processing, false);
	case COLUMN_DEAD:
		return short_number(to, st->dead, false);
	case COLUMN_ADDS:
		return rate(to, row, row->adds);
	case COLUMN_DONES:
		return rate(to, row, row->dones);
	case COLUMN_RETRIES:
		return rate(to, row, row->retries);
	case COLUMN_OLDEST:
		return st->oldest_ready ? short_time(to, st->oldest_ready) : "-";
	case COLUMN_LONGEST:
		return st->longest_running ? short_time(to, st->longest_running) : "-";
	case COLUMN_QUEUE_P99:
		return short_percentile(to, &row->queue_duration, 99);
	case COLUMN_WORK_P99:
		return short_percentile(to, &row->work_duration, 99);
	default:
		return "";
	}
}

void table_write_cut(FILE *to, const char *text, size_t columns)
{
	size_t left = strlen(text), step;

	for (; left && columns; columns--) {
		step = utf8_length(text, left);
		fwrite(text, 1, step ? step : 1, to);
		text += step ? step : 1;
		left -= step ? step : 1;
	}
}

/*
 * On a narrow screen the name matters more than these, and the first of them least. 80 columns have
 * room for all but three, and 40 for what is ready, being processed or dead.
 */
static bool is_left_out(enum column column, size_t columns)
{
	static const enum column dispensable[] = {
		COLUMN_RETRIES, COLUMN_QUEUE_P99, COLUMN_WORK_P99, COLUMN_ADDS, COLUMN_DONES,
		COLUMN_LONGEST, COLUMN_WAITING, COLUMN_OLDEST, COLUMN_DEAD, COLUMN_PROCESSING,
	};
	size_t needed = NAME_ROOM, i;

	for (i = 0; i < COLUMN_NAME; i++)
		needed += columns_known[i].width + 1;
	for (i = 0; columns && needed > columns && i < ARRAY_SIZE(dispensable); i++) {
		if (dispensable[i] == column)
			return true;
		needed -= columns_known[dispensable[i]].width + 1;
	}
	return false;
}

/* Writes a line of the table; the header if @row is NULL. */
static void write_line(FILE *to, const struct table_row *row, size_t columns)
{
	char line[LINE_SIZE + ESCAPED_SIZE(KWQ_NAME_MAX)], text[CELL_SIZE];
	uint32_t state = row ? row->stat->state : 0;
	size_t len = 0;
	unsigned int i;

	for (i = 0; i < COLUMN_NAME; i++)
		if (!is_left_out(i, columns))
			len += snprintf(line + len, sizeof(line) - len, "%*s ",
					columns_known[i].width, row ? cell(text, row, i) :
					columns_known[i].title);
	if (row && row->exact)
		escape_text(line + len, row->label, strlen(row->label));
	else
		snprintf(line + len, sizeof(line) - len, "%s",
			 row ? row->label : columns_known[COLUMN_NAME].title);
	if (state & KWQ_STATE_TERM_OVER)
		strcat(line, TERM_OVER);
	else if (state & KWQ_STATE_PAUSED)
		strcat(line, PAUSED);
	table_write_cut(to, line, columns ? columns : SIZE_MAX);
}

void table_write(FILE *to, const struct table_row *rows, size_t nr, size_t lines,
		 size_t columns, const char *newline)
{
	size_t i;

	if (!lines || lines > nr + 1)
		lines = nr + 1;
	for (i = 0; i < lines; i++) {
		write_line(to, i ? &rows[i - 1] : NULL, columns);
		fputs(newline, to);
	}
}

/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The table of kwq top. Pure.
 */
#ifndef KWQ_TABLE_H
#define KWQ_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "queue/metrics.h"

enum column {
	COLUMN_READY, COLUMN_WAITING, COLUMN_PROCESSING, COLUMN_DEAD,
	COLUMN_ADDS, COLUMN_DONES, COLUMN_RETRIES,
	COLUMN_OLDEST, COLUMN_LONGEST,
	COLUMN_QUEUE_P99, COLUMN_WORK_P99,
	COLUMN_NAME,
	NR_COLUMNS,
};

/* The column of a --sort argument; NR_COLUMNS if there is none of that name. */
enum column column_named(const char *name);

/* The --sort argument of a column. */
const char *column_name(enum column column);

/* One queue. */
struct table_row {
	const char *label;
	bool exact;		/* the label is the name, not escaped yet */
	const struct kwq_stat *stat;
	bool has_rates;		/* the queue existed at the start of the interval */
	double adds, dones, retries;	/* per second */
	struct kwq_histogram queue_duration, work_duration;	/* of the interval */
};

/*
 * Makes a row of each queue in @now. @before has the queues as they were @interval ns
 * ago, and may be empty. Both are sorted by label, as metrics_unique() does. If a
 * counter went back, the name now belongs to another queue. The rows point into @now.
 */
void table_fill(struct table_row *rows, const struct metrics_queue *now, size_t nr,
		const struct metrics_queue *before, size_t nr_before, uint64_t interval);

/* Sorts names ascending, other columns descending. Equal rows are sorted by name. */
void table_sort(struct table_row *rows, size_t nr, enum column by);

/*
 * Writes the header and the rows, each ended by @newline: at most @lines lines, cut to
 * @columns columns. 0 means no limit.
 */
void table_write(FILE *to, const struct table_row *rows, size_t nr, size_t lines,
		 size_t columns, const char *newline);

/* Writes as much of a text as fits. Each character counts as one column. */
void table_write_cut(FILE *to, const char *text, size_t columns);

#endif /* KWQ_TABLE_H */

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

#include "metrics.h"

enum column {
	COLUMN_READY, COLUMN_WAITING, COLUMN_PROCESSING, COLUMN_DEAD,
	COLUMN_ADDS, COLUMN_DONES, COLUMN_RETRIES,
	COLUMN_OLDEST, COLUMN_LONGEST,
	COLUMN_QUEUE_P99, COLUMN_WORK_P99,
	COLUMN_NAME,
	NR_COLUMNS,
};

/* The column of a name as --sort has it; NR_COLUMNS for none. */
enum column column_named(const char *name);

/* One queue. */
struct table_row {
	const char *label;
	bool exact;		/* and not escaped yet */
	const struct kwq_stat *stat;
	bool has_rates;		/* it was there at the beginning of the interval */
	double adds, dones, retries;	/* a second */
	struct kwq_histogram queue_duration, work_duration;	/* of the interval */
};

/*
 * Makes a row of each queue; @before are the queues as they were @interval ns ago, of
 * which there may be none. Both are sorted by label, as metrics_unique() does. A
 * counter that went back is that of another queue with the same name. The rows point
 * into @now.
 */
void table_fill(struct table_row *rows, const struct metrics_queue *now, size_t nr,
		const struct metrics_queue *before, size_t nr_before, uint64_t interval);

/* Names upwards, all else downwards; what is equal by name. */
void table_sort(struct table_row *rows, size_t nr, enum column by);

/*
 * Writes the head line and the rows, each line ended by @newline: @lines of them at
 * most, cut to @columns, 0 for all.
 */
void table_write(FILE *to, const struct table_row *rows, size_t nr, size_t lines,
		 size_t columns, const char *newline);

#endif /* KWQ_TABLE_H */

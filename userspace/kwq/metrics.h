/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Queues' numbers in the text format of Prometheus. Pure.
 *
 * https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4.
 */
#ifndef KWQ_METRICS_H
#define KWQ_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <kwq.h>

#include "escape.h"

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct metrics_queue {
	struct kwq_stat stat;
	bool exact;				/* the label is the name itself */
	char label[ESCAPED_SIZE(KWQ_NAME_MAX)];	/* UTF-8 in any case */
};

/*
 * The label of a queue: its name, which has at most KWQ_NAME_MAX bytes. A name that
 * is not UTF-8, which no label may hold, is escaped as a whole, as escape_text()
 * does; else one such name would fail the scrape of all queues.
 */
void metrics_label(struct metrics_queue *q, const char *name);

/*
 * Sorts by label, and leaves one queue of each: Prometheus refuses all where a
 * series comes twice. An escaped name gives way to one that is so by itself.
 * Returns how many are left.
 */
size_t metrics_unique(struct metrics_queue *queues, size_t nr);

/*
 * Writes all families of all queues; nothing where there is no queue. What a queue's
 * kernel does not know, which &kwq_stat.size tells, is left out.
 */
void metrics_write(FILE *to, const struct metrics_queue *queues, size_t nr);

#endif /* KWQ_METRICS_H */

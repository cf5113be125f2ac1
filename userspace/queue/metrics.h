/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Writes the numbers of queues in the text format of Prometheus. Pure.
 *
 * https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4.
 */
#ifndef KWQ_METRICS_H
#define KWQ_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <kwq.h>

#include "base/escape.h"

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct metrics_queue {
	struct kwq_stat stat;
	bool exact;				/* the label is the name itself */
	char label[ESCAPED_SIZE(KWQ_NAME_MAX)];	/* always UTF-8 */
};

/*
 * Sets the label to the queue's name of at most KWQ_NAME_MAX bytes. A name that is not
 * UTF-8 is escaped as escape_text() does: no label may hold it, and it would break the
 * scrape of all queues.
 */
void metrics_label(struct metrics_queue *q, const char *name);

/* Writes name="label" of a sample's labels, escaped as the format demands. */
void metrics_pair(FILE *to, const char *name, const struct metrics_queue *q);

/* M1: an age of @st; KWQ_AGE_UNKNOWN without durations, because 0 would be wrong. */
static inline uint64_t metrics_age(const struct kwq_stat *st, uint64_t age)
{
	return st->create_flags & KWQ_CREATE_NO_DURATIONS ? KWQ_AGE_UNKNOWN : age;
}

/*
 * Sorts by label and removes duplicates: Prometheus rejects a scrape with a repeated
 * series. A queue whose name equals the label wins over one whose name was escaped.
 * Returns the number of queues left.
 */
size_t metrics_unique(struct metrics_queue *queues, size_t nr);

/*
 * Writes all families of all queues; nothing if there are no queues. Members beyond
 * &kwq_stat.size are left out: the queue's kernel does not know them. With @controller
 * all have the label controller beside name, and those that controller-runtime has are
 * written by its names, too.
 */
void metrics_write(FILE *to, const struct metrics_queue *queues, size_t nr, bool controller);

#endif /* KWQ_METRICS_H */

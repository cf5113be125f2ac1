/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The progress line of kwq run on a terminal.
 */
#ifndef KWQ_PROGRESS_H
#define KWQ_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress_counts {
	unsigned long long done, failed, retried, dead;
	unsigned int running;	/* jobs */
	uint64_t held;		/* the keys of these jobs */
	uint64_t ready, waiting;	/* in the queue, for all workers */
};

enum { PROGRESS_SAMPLES = 10 };

struct progress {
	bool on;
	bool shown;
	bool color;
	uint64_t started;
	uint64_t due;		/* the time of the next draw */
	/* The number of finished jobs at the end of each of the last seconds, for the
	 * rate.
	 */
	unsigned long long samples[PROGRESS_SAMPLES];
	uint64_t sampled;	/* the number of sampled seconds */
};

/* Enables the line only if standard error is a terminal that can move its cursor. */
void progress_init(struct progress *p, uint64_t now);

/* Milliseconds until the next draw; -1 for never. */
int progress_timeout(const struct progress *p, uint64_t now);

bool progress_due(const struct progress *p, uint64_t now);
void progress_draw(struct progress *p, const struct progress_counts *counts,
		   uint64_t now);

/* Erases the line. Call before any other output. */
void progress_hide(struct progress *p);

/* Pure: the line for a terminal of @width columns, without cursor movements. */
void progress_format(char *to, size_t size, unsigned int width, bool color,
		     const struct progress_counts *counts, double rate, uint64_t elapsed);

#endif /* KWQ_PROGRESS_H */

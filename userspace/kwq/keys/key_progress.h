/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The progress line of a command that goes through many keys, such as kwq add with a pipe.
 *
 * It appears after a second, and only if standard error is a terminal on which the command runs in
 * the foreground.
 */
#ifndef KWQ_KEY_PROGRESS_H
#define KWQ_KEY_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/progress.h"

struct key_progress {
	struct progress line;
	const char *queue, *word;
	uint64_t nr, all;
};

/* @word is what has become of the keys, such as " saved". @all is 0 if it is not known. */
void key_progress_begin(struct key_progress *p, bool wanted, const char *queue,
			const char *word, uint64_t all);

/* So many more keys are through. */
void key_progress_add(struct key_progress *p, uint64_t nr);

/* Erases the line. Call before any other output, and at the end. */
void key_progress_hide(struct key_progress *p);

/* Pure: the line, for a terminal of @width columns. */
void key_progress_format(char *to, size_t size, unsigned int width,
			 const struct key_progress *p, double rate, uint64_t elapsed);

#endif /* KWQ_KEY_PROGRESS_H */

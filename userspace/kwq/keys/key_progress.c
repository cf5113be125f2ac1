// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "key_progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <kwq.h>

#include "base/duration.h"
#include "base/escape.h"
#include "base/read_clock.h"

/* A short command has no line. */
#define DRAW_AFTER NS_PER_S

enum { LINE_SIZE = 512, NAME_SIZE = 41 };

/* Cuts a text to so many columns. Each character counts as one. */
static void cut(char *text, unsigned int columns)
{
	size_t left = strlen(text), step;

	for (; *text && columns; columns--) {
		step = utf8_length(text, left);
		text += step ? step : 1;
		left -= step ? step : 1;
	}
	*text = '\0';
}

static void format_time(char *to, size_t size, double ns)
{
	/* A hundred years; more would overflow. */
	uint64_t seconds = ns / NS_PER_S < 3.2e9 ? (uint64_t)(ns / NS_PER_S) : 3200000000u;

	snprintf(to, size, "%" PRIu64 ":%02u:%02u", seconds / 3600,
		 (unsigned int)(seconds / 60 % 60), (unsigned int)(seconds % 60));
}

void key_progress_format(char *to, size_t size, unsigned int width,
			 const struct key_progress *p, double rate, uint64_t elapsed)
{
	char name[ESCAPED_SIZE(KWQ_NAME_MAX)], time[32];
	size_t len = strnlen(p->queue, KWQ_NAME_MAX);

	escape_text(name, p->queue, len);
	/* The numbers matter more than a long name. */
	cut(name, NAME_SIZE - 1);
	/* Keys may come while they are saved. */
	if (p->all && p->nr <= p->all) {
		format_time(time, sizeof(time),
			    p->nr ? (double)elapsed / p->nr * (p->all - p->nr) : 0);
		snprintf(to, size, "%s: %u%%, %" PRIu64 " of %" PRIu64 " keys%s, %.0f/s, %s left",
			 name, (unsigned int)((double)p->nr / p->all * 100), p->nr, p->all, p->word,
			 rate, p->nr ? time : "?");
	} else {
		format_time(time, sizeof(time), elapsed);
		snprintf(to, size, "%s: %" PRIu64 " keys%s, %.0f/s, %s", name, p->nr, p->word,
			 rate, time);
	}
	cut(to, width);
}

void key_progress_begin(struct key_progress *p, bool wanted, const char *queue,
			const char *word, uint64_t all)
{
	uint64_t now = read_clock(CLOCK_MONOTONIC);

	*p = (struct key_progress){ .queue = queue, .word = word, .all = all };
	progress_init(&p->line, now);
	p->line.due = now + DRAW_AFTER;
	p->line.on = p->line.on && wanted;
}

void key_progress_add(struct key_progress *p, uint64_t nr)
{
	char text[LINE_SIZE];
	uint64_t now;

	p->nr += nr;
	if (!p->line.on)
		return;
	now = read_clock(CLOCK_MONOTONIC);
	if (!progress_due(&p->line, now))
		return;
	key_progress_format(text, sizeof(text), progress_width(), p,
			    progress_rate(&p->line, p->nr, now), now - p->line.started);
	progress_show(&p->line, text, now);
}

void key_progress_hide(struct key_progress *p)
{
	bool shown = p->line.shown;
	uint64_t due = p->line.due;

	progress_hide(&p->line);
	/* One message after the other must not make it flicker. */
	if (shown)
		p->line.due = due;
}

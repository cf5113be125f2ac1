// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "progress.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "duration.h"
#include "output.h"

enum { BAR = 20, LINE_SIZE = 512, WIDTH_UNKNOWN = 80 };

#define DRAW_EVERY (NS_PER_S / 5)

/* A line under construction. It never gets wider than the terminal. */
struct line {
	char *to;
	size_t room;
	unsigned int columns;	/* left */
	bool color;
};

static void put(struct line *line, const char *bytes, size_t len)
{
	if (len >= line->room)
		return;
	memcpy(line->to, bytes, len);
	line->to += len;
	line->room -= len;
	*line->to = '\0';
}

/* ASCII only: a byte is a column. If a field does not fit, the line ends before it. */
static void put_field(struct line *line, const char *color, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void put_field(struct line *line, const char *color, const char *format, ...)
{
	char text[64];
	va_list args;
	size_t len;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	len = strlen(text);
	if (len > line->columns) {
		line->columns = 0;
		return;
	}
	line->columns -= len;
	if (line->color && color)
		put(line, color, strlen(color));
	put(line, text, len);
	if (line->color && color)
		put(line, "\033[0m", 4);
}

static unsigned long long ended(const struct progress_counts *counts)
{
	return counts->done + counts->failed + counts->dead;
}

static unsigned long long left(const struct progress_counts *counts)
{
	return counts->held + counts->ready + counts->waiting;
}

/* The part of all keys that has ended. */
static void put_bar(struct line *line, const struct progress_counts *counts)
{
	double all = (double)ended(counts) + left(counts);
	int full = all > 0 ? ended(counts) / all * BAR : 0;

	put_field(line, NULL, " [%.*s%.*s]", full, "####################", BAR - full,
		  "....................");
}

/* As 1:02:05. */
static void put_seconds(struct line *line, const char *before, uint64_t seconds)
{
	put_field(line, NULL, "%s%" PRIu64 ":%02u:%02u", before, seconds / 3600,
		  (unsigned int)(seconds / 60 % 60), (unsigned int)(seconds % 60));
}

static void put_counts(struct line *line, const struct progress_counts *counts, double rate,
		       uint64_t elapsed)
{
	put_field(line, "\033[32m", "%llu done", counts->done);
	put_field(line, counts->failed ? "\033[31m" : NULL, " %llu failed", counts->failed);
	/* Most queues never have dead items. */
	if (counts->dead)
		put_field(line, "\033[31m", " %llu dead", counts->dead);
	put_field(line, counts->retried ? "\033[33m" : NULL, " %llu retried", counts->retried);
	put_field(line, NULL, " %u running", counts->running);
	put_field(line, NULL, " %" PRIu64 " ready", counts->ready);
	put_field(line, NULL, " %" PRIu64 " waiting", counts->waiting);
	put_field(line, NULL, " %.1f/s", rate);
	put_seconds(line, " ", elapsed / NS_PER_S);
	put_bar(line, counts);
}

void progress_format(char *to, size_t size, unsigned int width, bool color,
		     const struct progress_counts *counts, double rate, uint64_t elapsed)
{
	struct line line = { .to = to, .room = size, .columns = width, .color = color };

	*to = '\0';
	put_counts(&line, counts, rate, elapsed);
}

void progress_init(struct progress *p, uint64_t now)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	p->on = isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb");
	p->color = !no_color || !*no_color;
	p->started = now;
	p->due = now;
}

bool progress_due(const struct progress *p, uint64_t now)
{
	return p->on && now >= p->due;
}

int progress_timeout(const struct progress *p, uint64_t now)
{
	if (!p->on)
		return -1;
	return now >= p->due ? 0 : (int)((p->due - now + NS_PER_MS - 1) / NS_PER_MS);
}

/* Leaves the last column free: some terminals wrap the line there. */
static unsigned int terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return WIDTH_UNKNOWN - 1;
	return size.ws_col - 1;
}

/*
 * A shell may put the process into the background at any moment. The terminal belongs to another
 * one then, and may stop a process that writes. Without a shell there is no other one.
 */
static bool in_foreground(void)
{
	pid_t foreground = tcgetpgrp(STDERR_FILENO);

	return foreground < 0 || foreground == getpgrp();
}

/*
 * Jobs per second over the last PROGRESS_SAMPLES seconds, or over the whole time if
 * that is shorter.
 */
static double rate_of(struct progress *p, unsigned long long nr, uint64_t now)
{
	uint64_t elapsed = now - p->started, seconds = elapsed / NS_PER_S;
	uint64_t since;
	unsigned long long before;

	/* If the process was stopped, it missed any number of seconds. */
	if (seconds > p->sampled + PROGRESS_SAMPLES)
		p->sampled = seconds - PROGRESS_SAMPLES;
	while (p->sampled < seconds)
		p->samples[p->sampled++ % PROGRESS_SAMPLES] = nr;

	if (seconds < PROGRESS_SAMPLES)
		return elapsed ? (double)nr * NS_PER_S / elapsed : 0;
	/* The oldest sample is the next one to be overwritten. */
	before = p->samples[p->sampled % PROGRESS_SAMPLES];
	since = p->started + (p->sampled - PROGRESS_SAMPLES + 1) * NS_PER_S;
	return (double)(nr - before) * NS_PER_S / (now - since);
}

static void show(struct progress *p, const char *line, uint64_t now)
{
	char text[LINE_SIZE + 16];
	int len;

	p->due = now + DRAW_EVERY;
	if (!in_foreground())
		return;
	len = snprintf(text, sizeof(text), "\r%.*s\033[K", LINE_SIZE - 1, line);
	write_all(STDERR_FILENO, text, len);
	p->shown = true;
}

void progress_draw(struct progress *p, const struct progress_counts *counts,
		   uint64_t now)
{
	char line[LINE_SIZE];
	double rate = rate_of(p, ended(counts), now);

	progress_format(line, sizeof(line), terminal_width(), p->color, counts, rate,
			now - p->started);
	show(p, line, now);
}

void progress_hide(struct progress *p)
{
	static const char erase[] = "\r\033[K";

	if (!p->shown)
		return;
	write_all(STDERR_FILENO, erase, sizeof(erase) - 1);
	p->shown = false;
	p->due = 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Lines of the kernel's trace_pipe with kwq's tracepoints, to JSON. Pure.
 */
#ifndef KWQ_TRACE_LINE_H
#define KWQ_TRACE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The kernel shows at most so many bytes of a name or a key. */
enum { TRACE_TEXT_MAX = 31 };

struct trace_line {
	enum { TRACE_EVENT, TRACE_LOST, TRACE_OTHER } kind;
	int cpu;
	uint64_t lost;		/* TRACE_LOST: how many events; 0 if the kernel does not say */
	/* TRACE_EVENT: */
	int pid;		/* of the thread */
	uint64_t time_us;	/* of the trace clock */
	const char *event;	/* without kwq_ */
	size_t event_len;
	const char *fields;	/* name=value, with spaces between them, to the end of the line */
};

/* Takes a line apart, which has no newline. The result points into it. */
void trace_line_parse(struct trace_line *to, const char *line);

/* A field of an event. Returns its length, or -1 if the event does not have it. */
int trace_line_field(const struct trace_line *line, const char *name, const char **value);

/* Writes the JSON object of a line, and a newline. */
void trace_line_json(FILE *to, const struct trace_line *line, const char *text);

/* Writes the name of a queue as its events have it. @to has TRACE_TEXT_MAX + 1 bytes. */
void trace_text(char *to, const char *name);

#endif /* KWQ_TRACE_LINE_H */

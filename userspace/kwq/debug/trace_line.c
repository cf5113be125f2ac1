// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A line begins with the name of the thread, which may be any bytes but a NUL. So the line is
 * read from the name of the event backwards. Behind that name the kernel prints only what it
 * has made safe: texts without spaces.
 *
 *     <...>-1234    [001] d..1.  5678.123456: kwq_add: queue=1 name=jobs key=a prio=0 result=0
 */
#include "trace_line.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <kwq.h>

#include "queue/add_result.h"
#include "base/cmd.h"
#include "base/escape.h"
#include "queue/was.h"

static const char mark[] = ": kwq_";

static void parse_lost(struct trace_line *to, const char *line)
{
	unsigned long long lost;
	int cpu;

	if (sscanf(line, "CPU:%d [LOST %llu EVENTS]", &cpu, &lost) == 2)
		to->lost = lost;
	else if (sscanf(line, "CPU:%d [LOST", &cpu) != 1 || !strstr(line, "EVENTS]"))
		return;
	to->kind = TRACE_LOST;
	to->cpu = cpu;
}

/* The last place of a character in the first @len bytes; NULL if it is not there. */
static const char *last(const char *s, size_t len, char c)
{
	return memrchr(s, c, len);
}

static const char *last_mark(const char *line)
{
	const char *found = NULL, *at = line;

	while ((at = strstr(at, mark)))
		found = at++;
	return found;
}

/* Parses the thread, the processor and the time, which end at @end. */
static bool parse_head(struct trace_line *to, const char *line, const char *end)
{
	const char *time = last(line, end - line, ' ');
	const char *bracket, *dash;
	unsigned long long seconds;
	unsigned int us;

	if (!time || sscanf(time, " %llu.%6u:", &seconds, &us) != 2)
		return false;
	bracket = last(line, time - line, '[');
	if (!bracket || sscanf(bracket, "[%d]", &to->cpu) != 1)
		return false;
	dash = last(line, bracket - line, '-');
	if (!dash || sscanf(dash, "-%d ", &to->pid) != 1)
		return false;
	to->time_us = seconds * 1000000 + us;
	return true;
}

void trace_line_parse(struct trace_line *to, const char *line)
{
	const char *end = last_mark(line), *colon;

	*to = (struct trace_line){ .kind = TRACE_OTHER };
	if (!end) {
		parse_lost(to, line);
		return;
	}
	to->event = end + strlen(mark);
	colon = strchr(to->event, ':');
	if (!colon || !parse_head(to, line, end))
		return;
	to->event_len = colon - to->event;
	to->fields = colon + 1;
	to->kind = TRACE_EVENT;
}

int trace_line_field(const struct trace_line *line, const char *name, const char **value)
{
	size_t len = strlen(name);
	const char *at;

	for (at = line->fields; at && *at; at = strchr(at, ' ')) {
		at++;
		if (strncmp(at, name, len) || at[len] != '=')
			continue;
		*value = at + len + 1;
		return strcspn(*value, " ");
	}
	return -1;
}

/* ---- JSON ----------------------------------------------------------------- */

static bool is_event(const struct trace_line *line, const char *name)
{
	return line->event_len == strlen(name) && !memcmp(line->event, name, line->event_len);
}

static void write_number(FILE *to, const struct trace_line *line, const char *field,
			 const char *name)
{
	const char *value;

	if (trace_line_field(line, field, &value) >= 0)
		fprintf(to, ",\"%s\":%lld", name, strtoll(value, NULL, 10));
}

static void write_text(FILE *to, const struct trace_line *line, const char *field,
		       const char *name)
{
	const char *value;
	int len;

	len = trace_line_field(line, field, &value);
	if (len <= 0)
		return;
	fputc(',', to);
	json_bytes(to, name, value, len);
	if (len == TRACE_TEXT_MAX)
		fprintf(to, ",\"%s_cut\":true", name);
}

/* The bits of a done's result, as "requeued+waiting". */
static void write_done(FILE *to, int result)
{
	static const struct {
		int bit;
		const char *name;
	} bits[] = {
		{ KWQ_REQUEUED, "requeued" },
		{ KWQ_STILL_WAITING, "waiting" },
		{ KWQ_BURIED, "buried" },
		{ KWQ_RETURNED, "returned" },
	};
	const char *separator = "";
	size_t i;

	fputs(",\"result\":\"", to);
	if (!result)
		fputs("finished", to);
	for (i = 0; i < ARRAY_SIZE(bits); i++) {
		if (!(result & bits[i].bit))
			continue;
		fprintf(to, "%s%s", separator, bits[i].name);
		separator = "+";
	}
	fputc('"', to);
}

static void write_result(FILE *to, const struct trace_line *line)
{
	const char *value;
	int result;

	if (trace_line_field(line, "result", &value) < 0)
		return;
	result = atoi(value);
	if (is_event(line, "get"))
		fprintf(to, ",\"abandoned\":%d", result);
	else if (result < 0)
		fprintf(to, ",\"error\":%d", -result);
	else if (is_event(line, "done"))
		write_done(to, result);
	else if (is_event(line, "remove"))
		fprintf(to, ",\"result\":\"%s\"", was(result));
	else
		fprintf(to, ",\"result\":\"%s\"", add_result(result));
}

/* A pause or a term until a time, or without an end, or the end of either. */
static void write_pause(FILE *to, const struct trace_line *line)
{
	const char *value;
	long long until;

	if (trace_line_field(line, "until", &value) < 0)
		return;
	until = strtoll(value, NULL, 10);
	if (is_event(line, "term"))
		fprintf(to, ",\"term_over\":%s", until ? "false" : "true");
	else
		fprintf(to, ",\"paused\":%s", until ? "true" : "false");
	if (until && until != INT64_MAX)
		fprintf(to, ",\"until_ns\":%lld", until);
}

static void write_event(FILE *to, const struct trace_line *line)
{
	const char *value;

	fprintf(to, "{\"event\":\"%.*s\",\"time_us\":%" PRIu64, (int)line->event_len, line->event,
		line->time_us);
	write_text(to, line, "name", "queue");
	write_number(to, line, "queue", "queue_id");
	write_text(to, line, "key", "key");
	write_number(to, line, "prio", "priority");
	write_number(to, line, "requeues", "requeues");
	write_result(to, line);
	write_number(to, line, "due", "due_ns");
	write_number(to, line, "late", "late_ns");
	write_pause(to, line);
	if (trace_line_field(line, "drain", &value) >= 0)
		fprintf(to, ",\"drain\":%s", *value == '1' ? "true" : "false");
	fprintf(to, ",\"thread\":%d,\"cpu\":%d}\n", line->pid, line->cpu);
}

void trace_line_json(FILE *to, const struct trace_line *line, const char *text)
{
	switch (line->kind) {
	case TRACE_EVENT:
		write_event(to, line);
		break;
	case TRACE_LOST:
		fprintf(to, "{\"event\":\"lost\",\"cpu\":%d", line->cpu);
		if (line->lost)
			fprintf(to, ",\"count\":%" PRIu64, line->lost);
		fputs("}\n", to);
		break;
	case TRACE_OTHER:
		fputs("{\"event\":\"other\",", to);
		json_bytes(to, "text", text, strlen(text));
		fputs("}\n", to);
		break;
	}
}

void trace_text(char *to, const char *name)
{
	size_t i;

	for (i = 0; name[i] && i < TRACE_TEXT_MAX; i++)
		to[i] = name[i] > ' ' && name[i] < 0x7f ? name[i] : '.';
	to[i] = '\0';
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * M5: lines of trace_pipe to JSON.
 */
#include <stdlib.h>

#include "base/cmd.h"
#include "tap.h"
#include "kwq/debug/trace_line.h"

#define HEAD "           <...>-1234    [001] d..1.  5678.123456: "
#define TAIL ",\"thread\":1234,\"cpu\":1}\n"

static const struct {
	const char *line, *json, *what;
} lines[] = {
	{ HEAD "kwq_add: queue=7 name=jobs key=a prio=-3 result=0",
	  "{\"event\":\"add\",\"time_us\":5678123456,\"queue\":\"jobs\",\"queue_id\":7,\"key\":\"a\","
	  "\"priority\":-3,\"result\":\"added\"" TAIL, "an add" },
	{ HEAD "kwq_get: queue=7 name=jobs key=a prio=0 result=2",
	  "{\"event\":\"get\",\"time_us\":5678123456,\"queue\":\"jobs\",\"queue_id\":7,\"key\":\"a\","
	  "\"priority\":0,\"abandoned\":2" TAIL, "a get" },
	{ HEAD "kwq_done: queue=7 name=jobs key=a prio=0 result=0",
	  "{\"event\":\"done\",\"time_us\":5678123456,\"queue\":\"jobs\",\"queue_id\":7,\"key\":\"a\","
	  "\"priority\":0,\"result\":\"finished\"" TAIL, "a done" },
	{ HEAD "kwq_done: queue=7 name=jobs key=a prio=0 result=3",
	  "{\"event\":\"done\",\"time_us\":5678123456,\"queue\":\"jobs\",\"queue_id\":7,\"key\":\"a\","
	  "\"priority\":0,\"result\":\"requeued+waiting\"" TAIL, "of a key that comes again" },
	{ HEAD "kwq_requeue: queue=7 name=jobs key=a prio=0 requeues=4294967295 result=-108",
	  "{\"event\":\"requeue\",\"time_us\":5678123456,\"queue\":\"jobs\",\"queue_id\":7,\"key\":\"a\","
	  "\"priority\":0,\"requeues\":4294967295,\"error\":108" TAIL, "a requeue that fails" },
	{ HEAD "kwq_remove: queue=7 name=jobs key=a prio=0 result=3",
	  "{\"event\":\"remove\",\"time_us\":5678123456,\"queue\":\"jobs\",\"queue_id\":7,\"key\":\"a\","
	  "\"priority\":0,\"result\":\"ready,waiting\"" TAIL, "a remove" },
	{ HEAD "kwq_ready: queue=7 name=jobs key=a prio=0 due=100 late=-1",
	  "{\"event\":\"ready\",\"time_us\":5678123456,\"queue\":\"jobs\",\"queue_id\":7,\"key\":\"a\","
	  "\"priority\":0,\"due_ns\":100,\"late_ns\":-1" TAIL, "ready" },
	{ HEAD "kwq_pause: queue=7 name=jobs until=9223372036854775807",
	  "{\"event\":\"pause\",\"time_us\":5678123456,\"queue\":\"jobs\",\"queue_id\":7,\"paused\":true"
	  TAIL, "a pause" },
	{ HEAD "kwq_pause: queue=7 name=jobs until=5",
	  "{\"event\":\"pause\",\"time_us\":5678123456,\"queue\":\"jobs\",\"queue_id\":7,\"paused\":true,"
	  "\"until_ns\":5" TAIL, "until a time" },
	{ HEAD "kwq_pause: queue=7 name=jobs until=0",
	  "{\"event\":\"pause\",\"time_us\":5678123456,\"queue\":\"jobs\",\"queue_id\":7,\"paused\":false"
	  TAIL, "its end" },
	{ HEAD "kwq_term: queue=7 name=jobs until=5",
	  "{\"event\":\"term\",\"time_us\":5678123456,\"queue\":\"jobs\",\"queue_id\":7,"
	  "\"term_over\":false,\"until_ns\":5" TAIL, "a term" },
	{ HEAD "kwq_term: queue=7 name=jobs until=9223372036854775807",
	  "{\"event\":\"term\",\"time_us\":5678123456,\"queue\":\"jobs\",\"queue_id\":7,"
	  "\"term_over\":false" TAIL, "no term any more" },
	{ HEAD "kwq_term: queue=7 name=jobs until=0",
	  "{\"event\":\"term\",\"time_us\":5678123456,\"queue\":\"jobs\",\"queue_id\":7,"
	  "\"term_over\":true" TAIL, "a term that is over" },
	{ HEAD "kwq_shut_down: queue=0 name= drain=1",
	  "{\"event\":\"shut_down\",\"time_us\":5678123456,\"queue_id\":0,\"drain\":true" TAIL,
	  "a queue without a name" },
	{ HEAD "kwq_add: queue=7 name=key=x key=1234567890123456789012345678901 prio=0 result=0",
	  "{\"event\":\"add\",\"time_us\":5678123456,\"queue\":\"key=x\",\"queue_id\":7,"
	  "\"key\":\"1234567890123456789012345678901\",\"key_cut\":true,\"priority\":0,"
	  "\"result\":\"added\"" TAIL, "a name like a field, and a long key" },
	{ "a [007] -9 1.0: -1234    [001] d..1.  5678.123456: "
	  "kwq_add: queue=7 name=j key=a prio=0 result=0",
	  "{\"event\":\"add\",\"time_us\":5678123456,\"queue\":\"j\",\"queue_id\":7,\"key\":\"a\","
	  "\"priority\":0,\"result\":\"added\"" TAIL, "a thread with an evil name" },
	{ " : kwq_x: a=1-1234    [001] d..1.  5678.123456: "
	  "kwq_add: queue=7 name=j key=a prio=0 result=0",
	  "{\"event\":\"add\",\"time_us\":5678123456,\"queue\":\"j\",\"queue_id\":7,\"key\":\"a\","
	  "\"priority\":0,\"result\":\"added\"" TAIL, "or another one" },
	{ "CPU:3 [LOST 12 EVENTS]", "{\"event\":\"lost\",\"cpu\":3,\"count\":12}\n",
	  "lost events" },
	{ "CPU:3 [LOST EVENTS]", "{\"event\":\"lost\",\"cpu\":3}\n", "nobody knows how many" },
	{ "some\ttext", "{\"event\":\"other\",\"text\":\"some\\u0009text\"}\n", "any other line" },
	{ ": kwq_add: queue=7", "{\"event\":\"other\",\"text\":\": kwq_add: queue=7\"}\n",
	  "a line without its head" },
	{ "", "{\"event\":\"other\",\"text\":\"\"}\n", "an empty line" },
};

int main(void)
{
	struct trace_line line;
	char *text, name[TRACE_TEXT_MAX + 1];
	size_t i, len;
	FILE *to;

	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		to = open_memstream(&text, &len);
		trace_line_parse(&line, lines[i].line);
		trace_line_json(to, &line, lines[i].line);
		fclose(to);
		is_string(text, lines[i].json, lines[i].what);
		free(text);
	}
	trace_text(name, "a b\n\xc3\xa4");
	is_string(name, "a.b...", "a name as the kernel shows it");
	trace_text(name, "1234567890123456789012345678901234");
	is_string(name, "1234567890123456789012345678901", "cut");
	return done_testing();
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq debug events: the events of kwq's tracepoints as JSON lines.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/number.h"
#include "base/stopped.h"
#include "trace_instance.h"
#include "trace_line.h"

enum { OPT_BUFFER = OPT_FIRST };

static const struct option events_options[] = {
	{ "count", required_argument, NULL, 'n' },
	{ "buffer", required_argument, NULL, OPT_BUFFER },
	OPTION_VERBOSE, OPTION_JSON, OPTION_HELP, OPTION_END
};

struct events {
	uint64_t count, left;		/* of -n; 0: no limit */
	unsigned long buffer_kb;
	bool verbose;
	char **queues;			/* end with NULL */
	struct trace_instance instance;
	size_t filled;
	char buffer[65536];
};

/* ---- Which events --------------------------------------------------------- */

/* Whether a filter of the kernel can have this text between quotes. */
static bool is_plain(const char *text)
{
	return !text[strcspn(text, "\"'\\*?")];
}

/*
 * Makes a filter of the kernel for the queues, so that others do not fill the buffer. Returns
 * NULL if there is none: then only this program chooses.
 */
static char *make_filter(char **queues)
{
	char text[TRACE_TEXT_MAX + 1], *filter = NULL;
	size_t len = 0;
	FILE *to;

	if (!*queues)
		return NULL;
	to = open_memstream(&filter, &len);
	if (!to)
		return NULL;
	for (; *queues; queues++) {
		trace_text(text, must_be_name(*queues));
		if (!is_plain(text)) {
			fclose(to);
			free(filter);
			return NULL;
		}
		fprintf(to, "%sname == \"%s\"", ftell(to) ? " || " : "", text);
	}
	if (!fclose(to))
		return filter;
	free(filter);
	return NULL;
}

static bool is_wanted(const struct events *e, const struct trace_line *line)
{
	char text[TRACE_TEXT_MAX + 1], **queue;
	const char *name;
	int len;

	if (line->kind != TRACE_EVENT || !*e->queues)
		return true;
	len = trace_line_field(line, "name", &name);
	for (queue = e->queues; *queue; queue++) {
		trace_text(text, must_be_name(*queue));
		if (len >= 0 && strlen(text) == (size_t)len && !memcmp(text, name, len))
			return true;
	}
	return false;
}

/* ---- Reading -------------------------------------------------------------- */

/* Prints a line. Returns false after the last one that is wanted. */
static bool take_line(struct events *e, const char *text)
{
	struct trace_line line;

	trace_line_parse(&line, text);
	if (!is_wanted(e, &line))
		return true;
	trace_line_json(stdout, &line, text);
	return !e->count || line.kind != TRACE_EVENT || --e->left;
}

/* Prints all complete lines. An event longer than the buffer does not exist. */
static bool take_lines(struct events *e)
{
	char *line = e->buffer, *newline;
	bool more = true;

	while (more && (newline = memchr(line, '\n', e->buffer + e->filled - line))) {
		*newline = '\0';
		more = take_line(e, line);
		line = newline + 1;
	}
	e->filled -= line - e->buffer;
	memmove(e->buffer, line, e->filled);
	return more;
}

/* Reads until nothing is left for now. Returns 1 to go on, 0 at the end, or a negative errno. */
static int read_events(struct events *e)
{
	ssize_t got;

	for (;;) {
		got = read(e->instance.pipe, e->buffer + e->filled, sizeof(e->buffer) - e->filled);
		if (got < 0)
			return errno == EAGAIN || errno == EINTR ? 1 : -errno;
		/* Only after the tracepoints were switched off. */
		if (!got)
			return 1;
		e->filled += got;
		if (!take_lines(e))
			return 0;
		if (stopped)
			return 1;
	}
}

/* Returns the exit status. */
static int print_events(struct events *e, const sigset_t *caught)
{
	int ret = 1;

	while (ret > 0 && !stopped) {
		ret = await_unless_stopped(e->instance.pipe, caught);
		if (!ret)
			ret = read_events(e);
		if (!flush_output())
			return STATUS_FAILED;
	}
	if (!ret)
		return STATUS_OK;
	trace_instance_stop(&e->instance);
	/* The events until the signal. */
	if (ret > 0)
		read_events(e);
	if (ret < 0)
		message("trace_pipe: %s", strerror(-ret));
	return flush_output() && ret > 0 ? STATUS_OK : STATUS_FAILED;
}

/* ---- The command ---------------------------------------------------------- */

static int complain_trace(int err)
{
	switch (err) {
	case -EACCES:
	case -EPERM:
		message("only root may trace (tracefs): run it with sudo");
		break;
	case -ENODEV:
		message("tracefs is not mounted: mount -t tracefs nodev /sys/kernel/tracing");
		break;
	case -ENXIO:
		message("there are no tracepoints of kwq: is the module kwq loaded?");
		return STATUS_NO_KWQ;
	default:
		message("tracefs: %s", strerror(-err));
	}
	return STATUS_FAILED;
}

static int events_main(int argc, char **argv)
{
	static struct events e;		/* too large for the stack */
	char **queue, *filter;
	sigset_t caught;
	int opt, err, status;

	while ((opt = getopt_long(argc, argv, "n:vh", events_options, NULL)) != -1) {
		switch (opt) {
		case 'n':
			e.count = must_parse_number("-n", optarg, 1, UINT64_MAX);
			break;
		case OPT_BUFFER:
			e.buffer_kb = must_parse_number("--buffer", optarg, 1, 1 << 22);
			break;
		case 'v':
			e.verbose = true;
			break;
		case OPT_JSON:
			/* There is no other format. */
			break;
		default:
			option_common(opt);
		}
	}
	e.queues = argv + optind;
	e.left = e.count;
	for (queue = e.queues; *queue; queue++)
		must_be_name(*queue);

	/* A reader that went away is an error to report. The instance has to be removed. */
	signal(SIGPIPE, SIG_IGN);
	catch_stop(&caught);
	filter = make_filter(e.queues);
	err = trace_instance_open(&e.instance, filter, e.buffer_kb);
	free(filter);
	if (err)
		return complain_trace(err);
	err = trace_instance_begin(&e.instance);
	if (!err && e.verbose)
		message("tracing");
	status = err ? complain_trace(err) : print_events(&e, &caught);
	trace_instance_close(&e.instance);
	return status;
}

const struct command command_events = {
	.name = "events",
	.arguments = "[OPTION...] [QUEUE...]",
	.summary = "Print each event of queues as a JSON line",
	.options =
	"  -n, --count N    end after N events\n"
	"      --buffer N   keep N KiB of events for each processor (the kernel's size)\n"
	"  -v, --verbose    say on standard error when the events begin\n"
	"      --json       the only format, with or without this option\n"
	"  -h, --help\n"
	"\n"
	"Needs root. Events are add, coalesce, get, done, requeue, ready, pause, term and\n"
	"shut_down; lost says that the buffer was full. Without QUEUE: of all queues,\n"
	"also those of drivers and of other namespaces. kwq(1) has the members.\n"
	"\n"
	"  kwq debug events jobs                     what happens in jobs?\n"
	"  kwq debug events | grep '\"event\":\"shut_down\"'   which queue is shut down?\n",
	.table = events_options,
	.main = events_main,
};

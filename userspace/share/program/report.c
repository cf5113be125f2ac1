// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "base/escape.h"
#include "base/notify.h"
#include "queue/textfile.h"

/* ---- The file ------------------------------------------------------------- */

static uint64_t is_up(const struct machine_state *s)
{
	return s->is_up;
}

static uint64_t has_lease(const struct machine_state *s)
{
	return s->has_lease;
}

/*
 * A master that still waits for promises hands nothing out, and knows only a part of the keys. One
 * that does not reach the engine hands nothing out either, and another one may have been elected.
 */
static uint64_t is_master(const struct machine_state *s)
{
	return s->is_up && s->is_master && s->is_serving;
}

static uint64_t epoch(const struct machine_state *s)
{
	return s->epoch;
}

static uint64_t held(const struct machine_state *s)
{
	return s->held;
}

static uint64_t adds(const struct machine_state *s)
{
	return s->adds;
}

static uint64_t ready(const struct machine_state *s)
{
	return s->queue.ready;
}

static uint64_t waiting(const struct machine_state *s)
{
	return s->queue.waiting;
}

static uint64_t booked(const struct machine_state *s)
{
	return s->queue.booked;
}

static uint64_t dead(const struct machine_state *s)
{
	return s->queue.dead;
}

static uint64_t machines(const struct machine_state *s)
{
	return s->queue.machines;
}

/* @of_master: only the master knows it */
static const struct {
	const char *name, *help;
	uint64_t (*value)(const struct machine_state *s);
	bool of_master;
} gauges[] = {
	{ "up", "Whether this machine reaches the engine", is_up, false },
	{ "lease", "Whether this machine may work on keys", has_lease, false },
	{ "master", "Whether this machine hands keys out to all machines", is_master, false },
	{ "epoch", "How often a master was elected, as far as this machine knows", epoch, false },
	{ "held", "Keys that this machine has", held, false },
	{ "adds", "Adds of this machine that the engine has not stored: the length of its outbox",
	  adds, false },
	{ "ready", "Keys that no machine has, and that are due", ready, true },
	{ "waiting", "Keys with a time that has not come", waiting, true },
	{ "booked", "Keys that machines have", booked, true },
	{ "dead", "Keys that were retried or lost too often and are kept apart", dead, true },
	{ "machines", "Machines that take part", machines, true },
};

/*
 * The time of the wall clock. A file whose program was killed stays, and Prometheus takes its
 * samples for new ones. So its rules compare this with the time.
 */
static void write_heartbeat(FILE *to, const struct report *report)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	fputs("# HELP kwq_share_heartbeat_seconds When this was written, as Unix time\n"
	      "# TYPE kwq_share_heartbeat_seconds gauge\nkwq_share_heartbeat_seconds{", to);
	metrics_pair(to, "name", &report->label);
	fprintf(to, "} %lld.%03ld\n", (long long)now.tv_sec, now.tv_nsec / 1000000);
}

/* Returns the text, which the caller frees, or NULL without memory. */
static char *make_text(const struct report *report, size_t *len)
{
	const struct machine_state *s = &report->state;
	char *text = NULL;
	FILE *to = open_memstream(&text, len);
	size_t i;

	if (!to)
		return NULL;
	write_heartbeat(to, report);
	for (i = 0; i < ARRAY_SIZE(gauges); i++) {
		if (gauges[i].of_master && !is_master(s))
			continue;
		fprintf(to, "# HELP kwq_share_%s %s\n# TYPE kwq_share_%s gauge\nkwq_share_%s{",
			gauges[i].name, gauges[i].help, gauges[i].name, gauges[i].name);
		metrics_pair(to, "name", &report->label);
		fprintf(to, "} %" PRIu64 "\n", gauges[i].value(s));
	}
	if (!fclose(to))
		return text;
	free(text);
	return NULL;
}

/*
 * Does not wait for the disk: meanwhile the lease would end. The next start replaces the file
 * that a power cut leaves.
 */
static int write_file(struct report *report, uint64_t now)
{
	size_t len;
	char *text = make_text(report, &len);
	int err = -ENOMEM;

	if (text)
		err = replace_file(report->metrics, text, len, FILE_IS_FLEETING);
	free(text);
	report->written = report->state;
	report->written_at = now;
	return err;
}

static bool same_state(const struct machine_state *a, const struct machine_state *b)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(gauges); i++)
		if (gauges[i].value(a) != gauges[i].value(b))
			return false;
	return true;
}

/* A write that failed is tried again, at the same pace. */
static bool is_behind(const struct report *report)
{
	return report->err || !same_state(&report->state, &report->written);
}

uint64_t report_due(const struct report *report)
{
	if (!report->metrics)
		return UINT64_MAX;
	return report->written_at + (is_behind(report) ? NS_PER_S : report->every);
}

static void bring_up_to_date(struct report *report, uint64_t now)
{
	int err;

	if (report_due(report) > now)
		return;
	err = write_file(report, now);
	if (err && err != report->err)
		message("%s: %s", report->metrics, strerror(-err));
	report->err = err;
}

/* ---- Texts ---------------------------------------------------------------- */

/* It waits for nobody but itself. */
static bool is_reading(const struct machine_state *s)
{
	return s->is_master && !s->is_serving && s->queue.machines <= 1;
}

/* The first machine joins until it hands keys out. */
static bool is_joining(const struct report *report, const struct machine_state *s)
{
	return !s->has_lease || !s->epoch || (is_reading(s) && !report->has_taken_part);
}

static void describe(const struct report *report, const struct machine_state *s, char *text,
		     size_t size)
{
	if (s->is_leaving)
		snprintf(text, size, "leaves");
	else if (s->cause[0])
		snprintf(text, size, "no engine: %.*s; adds wait here, and no keys are handed out",
			 COMPLAINT_MAX, s->cause);
	else if (!s->is_up)
		snprintf(text, size, "connects to %s", report->urls);
	else if (is_joining(report, s))
		snprintf(text, size, "joins");
	else if (is_reading(s))
		snprintf(text, size, "master, reads all keys");
	else if (s->is_master && s->is_serving)
		snprintf(text, size, "master of %zu machine%s", s->queue.machines,
			 s->queue.machines == 1 ? "" : "s");
	else if (s->is_master)
		snprintf(text, size, "master, waits for the promises of other machines");
	else
		snprintf(text, size, "takes part");
}

int report_begin(struct report *report, uint64_t now)
{
	metrics_label(&report->label, report->queue);
	return report->metrics ? write_file(report, now) : 0;
}

static void print(struct report *report, const char *text)
{
	snprintf(report->printed, sizeof(report->printed), "%s", text);
	print_escaped(stdout, report->queue, strlen(report->queue));
	fputs(": ", stdout);
	print_visible(stdout, text, strlen(text));
	putchar('\n');
	flush_output();
}

static void notify(const char *text)
{
	char status[COMPLAINT_MAX + 256 + 16], *newline;

	snprintf(status, sizeof(status), "STATUS=%s", text);
	/* A line of its own would be another assignment. */
	while ((newline = strchr(status, '\n')))
		*newline = ' ';
	notify_send(status);
}

/* A machine that joins anew does not know the epoch. The last one that it knew stays. */
static void keep_state(struct report *report, const struct machine_state *state)
{
	uint64_t epoch = state->epoch ? state->epoch : report->state.epoch;

	report->state = *state;
	report->state.epoch = epoch;
	report->state.cause = "";
	report->has_taken_part = state->has_lease && state->epoch &&
				 (report->has_taken_part || !state->is_master);
}

void report_tell(struct report *report, const struct machine_state *state, uint64_t now)
{
	char text[sizeof(report->told)];

	keep_state(report, state);
	bring_up_to_date(report, now);
	describe(report, state, text, sizeof(text));
	if (strcmp(text, report->told)) {
		memcpy(report->told, text, sizeof(text));
		notify(text);
	}
	if (!report->verbose || !strcmp(text, report->printed))
		return;
	/* An engine that comes and goes would fill the journal. */
	if (!state->cause[0] || complaints_may_say(&report->complaints, text, now))
		print(report, text);
}

void report_left(struct report *report)
{
	size_t keys = report->state.given_back;
	char text[64];

	snprintf(text, sizeof(text), "left; %zu key%s given back", keys,
		 keys == 1 ? " was" : "s were");
	notify(text);
	if (report->verbose)
		print(report, text);
}

void report_end(const struct report *report)
{
	if (report->metrics)
		unlink(report->metrics);
}

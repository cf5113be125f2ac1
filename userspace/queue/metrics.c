// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "histogram.h"

/* How a member of struct kwq_stat is printed. */
enum kind {
	COUNTER,
	GAUGE,		/* a number */
	DEPTH,		/* a gauge: ready + dirty; the member is dirty */
	SECONDS,	/* a gauge, in ns */
	SHUT_DOWN,	/* a gauge, 0 or 1 */
	PAUSED,		/* a gauge, 0 or 1 */
	TERM_OVER,	/* a gauge, 0 or 1 */
	SHORT_GAUGE,	/* a number of 32 bits */
	HISTOGRAM,
};

#define UNFINISHED_HELP "How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases."

struct family {
	const char *name;
	const char *help;
	enum kind kind;
	size_t offset;
};

static const struct family families[] = {
#define FAMILY(_name, _kind, _member, _help)				\
	{ .name = "workqueue_" _name, .help = _help, .kind = _kind,	\
	  .offset = offsetof(struct kwq_stat, _member) }
	/* M1: the metrics of client-go, with its help texts, which Prometheus keeps as
	 * metadata.
	 */
	FAMILY("depth", DEPTH, dirty, "Current depth of workqueue"),
	FAMILY("adds_total", COUNTER, adds, "Total number of adds handled by workqueue"),
	FAMILY("queue_duration_seconds", HISTOGRAM, queue_duration,
	       "How long in seconds an item stays in workqueue before being requested."),
	FAMILY("work_duration_seconds", HISTOGRAM, work_duration,
	       "How long in seconds processing an item from workqueue takes."),
	FAMILY("unfinished_work_seconds", SECONDS, unfinished,
	       UNFINISHED_HELP),
	FAMILY("longest_running_processor_seconds", SECONDS, longest_running,
	       "How many seconds has the longest running processor for workqueue been running."),
	FAMILY("retries_total", COUNTER, retries,
	       "Total number of retries handled by workqueue"),
	/* M2: metrics that client-go lacks. */
	FAMILY("waiting", GAUGE, waiting, "Items with a time at which they will be added"),
	FAMILY("processing", GAUGE, processing, "Items handed out and not yet done"),
	FAMILY("dead", GAUGE, dead, "Items that were retried or lost too often and are kept apart"),
	FAMILY("remembered", GAUGE, remembered,
	       "Idle items kept for their count of requeues"),
	FAMILY("oldest_ready_seconds", SECONDS, oldest_ready,
	       "For how long the oldest of the items next in their priorities has been ready"),
	FAMILY("oldest_waiting_seconds", SECONDS, oldest_waiting,
	       "For how long the item has been waiting that has waited longest"),
	FAMILY("oldest_dead_seconds", SECONDS, oldest_dead,
	       "For how long the item has been dead that died first"),
	FAMILY("lateness_seconds", HISTOGRAM, lateness,
	       "By how much delayed items became ready after their time"),
	FAMILY("coalesced_adds_total", COUNTER, coalesced,
	       "Adds of items that were dirty, or waiting, already"),
	FAMILY("rate_limited_total", COUNTER, rate_limited,
	       "Rate-limited adds for which the limiters were asked"),
	FAMILY("posted_adds_total", COUNTER, posted,
	       "Adds that the board answered, as far as programs have told"),
	FAMILY("refused_adds_total", COUNTER, refused, "Adds of drivers that were refused"),
	FAMILY("abandoned_total", COUNTER, abandoned,
	       "Hand-outs that ended because their holder was gone, or their lease or term over"),
	FAMILY("returned_total", COUNTER, returned,
	       "Hand-outs that ended because their holder gave the item back"),
	FAMILY("lease_expired_total", COUNTER, expired,
	       "Hand-outs that ended because their lease was over"),
	FAMILY("died_total", COUNTER, died, "How often an item became dead"),
	FAMILY("removed_total", COUNTER, removed, "Items taken out by remove"),
	FAMILY("dropped_total", COUNTER, dropped,
	       "Waiting times, and dead items, dropped by a shut down"),
	FAMILY("items", GAUGE, items, "Items in all"),
	FAMILY("items_limit", GAUGE, max_items, "Most items at once"),
	FAMILY("memory_bytes", GAUGE, bytes, "Memory that items and their keys take up"),
	FAMILY("memory_limit_bytes", GAUGE, max_bytes, "Most memory for items and their keys"),
	FAMILY("values", GAUGE, values, "Items that have a value"),
	FAMILY("groups", GAUGE, groups, "Groups of items"),
	FAMILY("blocked", GAUGE, blocked, "Ready items whose groups are at their limits"),
	/* Of queues that may be followed. Only these have an id. */
	FAMILY("changes_total", COUNTER, last_change, "Changes of items"),
	FAMILY("kept_changes_total", COUNTER, kept, "Changes that the follower has kept"),
	FAMILY("unread", GAUGE, unread, "Changed items that the follower has not read"),
	FAMILY("followers", SHORT_GAUGE, followers, "Programs that follow the changes: 0 or 1"),
	FAMILY("getters", SHORT_GAUGE, getters, "Getters that wait for an item"),
	FAMILY("paused", PAUSED, paused_for, "Whether the queue is paused"),
	FAMILY("term_over", TERM_OVER, term, "Whether the term of the queue is over"),
	FAMILY("shut_down", SHUT_DOWN, state, "Whether the queue is shut down"),
#undef FAMILY
};

/* The same numbers by the names of controller-runtime, as far as a queue knows them. */
static const struct family controller_families[] = {
#define FAMILY(_name, _kind, _member, _help)				\
	{ .name = "controller_runtime_" _name, .help = _help, .kind = _kind, \
	  .offset = offsetof(struct kwq_stat, _member) }
	FAMILY("reconcile_total", COUNTER, dones, "Total number of reconciliations per controller"),
	FAMILY("reconcile_errors_total", COUNTER, rate_limited,
	       "Total number of reconciliation errors per controller"),
	FAMILY("reconcile_time_seconds", HISTOGRAM, work_duration,
	       "Length of time per reconciliation per controller"),
	FAMILY("active_workers", GAUGE, processing,
	       "Number of currently used workers per controller"),
#undef FAMILY
};

static size_t size_of(const struct family *family)
{
	switch (family->kind) {
	case HISTOGRAM:
		return sizeof(struct kwq_histogram);
	case SHUT_DOWN:
	case SHORT_GAUGE:
		return sizeof(__u32);
	default:
		return sizeof(__u64);
	}
}

static const char *type_of(const struct family *family)
{
	switch (family->kind) {
	case COUNTER:
		return "counter";
	case HISTOGRAM:
		return "histogram";
	default:
		return "gauge";
	}
}

/*
 * The bounds exactly as client-go's library prints them, because dashboards select by
 * them.
 */
static const char *const bounds[KWQ_HISTOGRAM_BUCKETS] = {
	"1e-06", "1e-05", "0.0001", "0.001", "0.01", "0.1", "1", "10", "100", "1000", "+Inf",
};

void metrics_label(struct metrics_queue *q, const char *name)
{
	size_t len = strlen(name), i, step;

	q->exact = true;
	for (i = 0; i < len; i += step) {
		step = utf8_length(name + i, len - i);
		if (!step) {
			q->exact = false;
			break;
		}
	}
	if (q->exact)
		memcpy(q->label, name, len + 1);
	else
		escape_text(q->label, name, len);
}

static int compare(const void *a, const void *b)
{
	const struct metrics_queue *one = a, *other = b;
	int order = strcmp(one->label, other->label);

	return order ? order : other->exact - one->exact;
}

size_t metrics_unique(struct metrics_queue *queues, size_t nr)
{
	size_t left = 0, i;

	if (nr)
		qsort(queues, nr, sizeof(*queues), compare);
	for (i = 0; i < nr; i++) {
		if (left && !strcmp(queues[left - 1].label, queues[i].label))
			continue;
		if (left != i)
			queues[left] = queues[i];
		left++;
	}
	return left;
}

void metrics_pair(FILE *to, const char *name, const struct metrics_queue *q)
{
	const char *c;

	fprintf(to, "%s=\"", name);
	for (c = q->label; *c; c++) {
		if (*c == '\n')
			fputs("\\n", to);
		else if (*c == '"' || *c == '\\')
			fprintf(to, "\\%c", *c);
		else
			fputc(*c, to);
	}
	fputc('"', to);
}

/* Writes the labels, without the brace behind them. */
static void write_label(FILE *to, const struct metrics_queue *q, bool controller)
{
	fputc('{', to);
	metrics_pair(to, "name", q);
	if (!controller)
		return;
	fputc(',', to);
	metrics_pair(to, "controller", q);
}

static void write_histogram(FILE *to, const char *name, const struct metrics_queue *q,
			    const struct kwq_histogram *h, bool controller)
{
	uint64_t count = 0;
	unsigned int i;

	for (i = 0; i < KWQ_HISTOGRAM_BUCKETS; i++) {
		count += h->counts[i];
		fprintf(to, "%s_bucket", name);
		write_label(to, q, controller);
		fprintf(to, ",le=\"%s\"} %" PRIu64 "\n", bounds[i], count);
	}
	fprintf(to, "%s_sum", name);
	write_label(to, q, controller);
	fputs("} ", to);
	print_seconds(to, h->sum_high, h->sum);
	fprintf(to, "\n%s_count", name);
	write_label(to, q, controller);
	fprintf(to, "} %" PRIu64 "\n", count);
}

/*
 * M1: a queue without durations has no such sample, because 0 would be a wrong one. So has a queue
 * that nobody may follow.
 */
static bool is_off(const struct family *family, const struct metrics_queue *q)
{
	switch (family->offset) {
	case offsetof(struct kwq_stat, last_change):
	case offsetof(struct kwq_stat, kept):
	case offsetof(struct kwq_stat, unread):
	case offsetof(struct kwq_stat, followers):
		return !q->stat.id;
	case offsetof(struct kwq_stat, queue_duration):
	case offsetof(struct kwq_stat, work_duration):
	case offsetof(struct kwq_stat, unfinished):
	case offsetof(struct kwq_stat, longest_running):
	case offsetof(struct kwq_stat, oldest_ready):
		return q->stat.create_flags & KWQ_CREATE_NO_DURATIONS;
	}
	return false;
}

static void write_samples(FILE *to, const struct family *family,
			  const struct metrics_queue *q, bool controller)
{
	const void *member = (const char *)&q->stat + family->offset;
	__u64 value;
	__u32 number;

	if (family->kind == HISTOGRAM) {
		write_histogram(to, family->name, q, member, controller);
		return;
	}
	fputs(family->name, to);
	write_label(to, q, controller);
	fputs("} ", to);
	if (family->kind == PAUSED) {
		fputc(q->stat.state & KWQ_STATE_PAUSED ? '1' : '0', to);
	} else if (family->kind == TERM_OVER) {
		fputc(q->stat.state & KWQ_STATE_TERM_OVER ? '1' : '0', to);
	} else if (family->kind == SHORT_GAUGE) {
		memcpy(&number, member, sizeof(number));
		fprintf(to, "%" PRIu32, (uint32_t)number);
	} else if (family->kind == SHUT_DOWN) {
		fputc(q->stat.state & KWQ_STATE_SHUT_DOWN ? '1' : '0', to);
	} else {
		memcpy(&value, member, sizeof(value));
		/* M1: client-go counts an item that is dirty while it is processed in
		 * the depth.
		 */
		if (family->kind == DEPTH)
			value += q->stat.ready;
		if (family->kind == SECONDS)
			print_seconds(to, 0, value);
		else
			fprintf(to, "%" PRIu64, (uint64_t)value);
	}
	fputc('\n', to);
}

static void write_family(FILE *to, const struct family *family,
			 const struct metrics_queue *queues, size_t nr, bool controller)
{
	bool begun = false;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (queues[i].stat.size < family->offset + size_of(family) ||
		    is_off(family, &queues[i]))
			continue;
		if (!begun)
			fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", family->name,
				family->help, family->name, type_of(family));
		begun = true;
		write_samples(to, family, &queues[i], controller);
	}
}

void metrics_write(FILE *to, const struct metrics_queue *queues, size_t nr, bool controller)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(families); i++)
		write_family(to, &families[i], queues, nr, controller);
	if (!controller)
		return;
	for (i = 0; i < ARRAY_SIZE(controller_families); i++)
		write_family(to, &controller_families[i], queues, nr, true);
}

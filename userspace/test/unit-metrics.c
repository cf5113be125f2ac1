// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The text format of Prometheus (M1, M2), histograms, and the table of kwq top.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/cmd.h"
#include "queue/histogram.h"
#include "queue/metrics.h"
#include "kwq/show/table.h"
#include "tap.h"

static char *text;
static size_t text_len;

static FILE *begin(void)
{
	free(text);
	text = NULL;
	return open_memstream(&text, &text_len);
}

static const char *written(const struct metrics_queue *queues, size_t nr)
{
	FILE *to = begin();

	metrics_write(to, queues, nr, false);
	fclose(to);
	return text;
}

/* The lines of one metric family, including its header. */
static const char *family_of(const struct metrics_queue *queues, size_t nr, const char *name)
{
	static char lines[8192];
	char head[128], *start, *end;

	written(queues, nr);
	snprintf(head, sizeof(head), "# HELP %s ", name);
	start = strstr(text, head);
	if (!start)
		return "";
	end = strstr(start + 1, "# HELP ");
	snprintf(lines, sizeof(lines), "%.*s", end ? (int)(end - start) : 8191, start);
	return lines;
}

static void add_queue(struct metrics_queue *q, const char *name)
{
	memset(q, 0, sizeof(*q));
	q->stat.size = sizeof(q->stat);
	metrics_label(q, name);
}

static unsigned int occurrences(const char *of)
{
	const char *at = text;
	unsigned int nr = 0;

	while ((at = strstr(at, of))) {
		at++;
		nr++;
	}
	return nr;
}

static void test_families(void)
{
	static const char *const client_go[] = {
		"workqueue_depth gauge", "workqueue_adds_total counter",
		"workqueue_queue_duration_seconds histogram",
		"workqueue_work_duration_seconds histogram",
		"workqueue_unfinished_work_seconds gauge",
		"workqueue_longest_running_processor_seconds gauge",
		"workqueue_retries_total counter",
	}, *const ours[] = {
		"workqueue_waiting gauge", "workqueue_processing gauge",
		"workqueue_coalesced_adds_total counter", "workqueue_posted_adds_total counter",
		"workqueue_refused_adds_total counter",
		"workqueue_abandoned_total counter",
		"workqueue_returned_total counter", "workqueue_lease_expired_total counter",
		"workqueue_dead gauge", "workqueue_died_total counter",
		"workqueue_lateness_seconds histogram", "workqueue_oldest_ready_seconds gauge",
		"workqueue_oldest_waiting_seconds gauge", "workqueue_oldest_dead_seconds gauge",
	};
	struct metrics_queue q[2];
	char line[128];
	size_t i;

	add_queue(&q[0], "a");
	add_queue(&q[1], "b");
	q[0].stat.ready = 3;
	q[1].stat.ready = UINT64_MAX - 2;
	q[1].stat.dirty = 2;
	is_string(family_of(q, 2, "workqueue_depth"),
		  "# HELP workqueue_depth Current depth of workqueue\n"
		  "# TYPE workqueue_depth gauge\n"
		  "workqueue_depth{name=\"a\"} 3\n"
		  "workqueue_depth{name=\"b\"} 18446744073709551615\n",
		  "M1: a family once, all queues under it");
	for (i = 0; i < ARRAY_SIZE(client_go); i++) {
		snprintf(line, sizeof(line), "# TYPE %s\n", client_go[i]);
		ok(occurrences(line) == 1, "M1: %s, once", client_go[i]);
	}
	for (i = 0; i < ARRAY_SIZE(ours); i++) {
		snprintf(line, sizeof(line), "# TYPE %s\n", ours[i]);
		ok(occurrences(line) == 1, "M2: %s, once", ours[i]);
	}
	is_string(written(q, 0), "", "no queue, no text");
}

/* N8: only a queue that may be followed has these, and each has its own number. */
static void test_changes(void)
{
	struct metrics_queue q;

	add_queue(&q, "q");
	is_number(strlen(family_of(&q, 1, "workqueue_changes_total")), 0,
		  "N8: no changes of a queue that cannot be followed");
	q.stat.id = 1;
	q.stat.last_change = 31;
	q.stat.kept = 32;
	q.stat.unread = 33;
	q.stat.followers = 1;
	ok(strstr(family_of(&q, 1, "workqueue_changes_total"), "{name=\"q\"} 31\n"), "N8: changes");
	ok(strstr(family_of(&q, 1, "workqueue_kept_changes_total"), "{name=\"q\"} 32\n"), "N8: kept");
	ok(strstr(family_of(&q, 1, "workqueue_unread"), "{name=\"q\"} 33\n"), "N8: unread");
	ok(strstr(family_of(&q, 1, "workqueue_followers"),
		  "gauge\nworkqueue_followers{name=\"q\"} 1\n"), "N8: followers");
	q.stat.getters = 34;
	ok(strstr(family_of(&q, 1, "workqueue_getters"),
		  "gauge\nworkqueue_getters{name=\"q\"} 34\n"), "N6: getters");
	q.stat.size = offsetof(struct kwq_stat, getters);
	is_number(strlen(family_of(&q, 1, "workqueue_getters")), 0, "U3: not from an older module");
	q.stat.size = offsetof(struct kwq_stat, followers);
	is_number(strlen(family_of(&q, 1, "workqueue_followers")), 0, "U3: not from an older module");
}

/* Each number has a value of its own, so that mixed-up members are noticed. */
static void test_members(void)
{
	static const char *const lines[] = {
		"depth{name=\"q\"} 26\n", "waiting{name=\"q\"} 2\n", "processing{name=\"q\"} 3\n",
		"items{name=\"q\"} 4\n", "memory_bytes{name=\"q\"} 5\n",
		"items_limit{name=\"q\"} 6\n", "memory_limit_bytes{name=\"q\"} 7\n",
		"adds_total{name=\"q\"} 8\n", "coalesced_adds_total{name=\"q\"} 9\n",
		"abandoned_total{name=\"q\"} 10\n", "removed_total{name=\"q\"} 11\n",
		"dropped_total{name=\"q\"} 12\n", "retries_total{name=\"q\"} 13\n",
		"rate_limited_total{name=\"q\"} 14\n", "died_total{name=\"q\"} 15\n",
		"dead{name=\"q\"} 16\n", "remembered{name=\"q\"} 17\n",
		"oldest_ready_seconds{name=\"q\"} 0.000000018\n",
		"longest_running_processor_seconds{name=\"q\"} 0.000000019\n",
		"unfinished_work_seconds{name=\"q\"} 0.00000002\n",
		"queue_duration_seconds_sum{name=\"q\"} 0.000000021\n",
		"work_duration_seconds_sum{name=\"q\"} 0.000000022\n",
		"lateness_seconds_sum{name=\"q\"} 0.000000023\n",
		"lease_expired_total{name=\"q\"} 24\n", "returned_total{name=\"q\"} 33\n",
		"refused_adds_total{name=\"q\"} 34\n",
		"values{name=\"q\"} 27\n", "groups{name=\"q\"} 31\n",
		"blocked{name=\"q\"} 32\n", "paused{name=\"q\"} 1\n", "term_over{name=\"q\"} 0\n",
		"oldest_waiting_seconds{name=\"q\"} 0.000000029\n",
		"oldest_dead_seconds{name=\"q\"} 0.00000003\n",
		"shut_down{name=\"q\"} 1\n",
	};
	struct metrics_queue q;
	char line[128];
	size_t i;

	add_queue(&q, "q");
	q.stat.state = KWQ_STATE_SHUT_DOWN | KWQ_STATE_PAUSED;
	q.stat.paused_for = 28;
	q.stat.values = 27;
	q.stat.groups = 31;
	q.stat.blocked = 32;
	q.stat.ready = 1;
	q.stat.waiting = 2;
	q.stat.processing = 3;
	q.stat.items = 4;
	q.stat.bytes = 5;
	q.stat.max_items = 6;
	q.stat.max_bytes = 7;
	q.stat.adds = 8;
	q.stat.coalesced = 9;
	q.stat.abandoned = 10;
	q.stat.removed = 11;
	q.stat.dropped = 12;
	q.stat.retries = 13;
	q.stat.rate_limited = 14;
	q.stat.died = 15;
	q.stat.dead = 16;
	q.stat.remembered = 17;
	q.stat.oldest_ready = 18;
	q.stat.longest_running = 19;
	q.stat.unfinished = 20;
	q.stat.queue_duration.sum = 21;
	q.stat.work_duration.sum = 22;
	q.stat.lateness.sum = 23;
	q.stat.oldest_waiting = 29;
	q.stat.oldest_dead = 30;
	q.stat.expired = 24;
	q.stat.returned = 33;
	q.stat.refused = 34;
	q.stat.dirty = 25;
	written(&q, 1);
	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		snprintf(line, sizeof(line), "\nworkqueue_%s", lines[i]);
		ok(occurrences(line) == 1, "M1, M2: workqueue_%.*s", (int)strlen(lines[i]) - 1,
		   lines[i]);
	}

	q.stat.state = KWQ_STATE_TERM_OVER;
	ok(strstr(family_of(&q, 1, "workqueue_term_over"),
		  "gauge\nworkqueue_term_over{name=\"q\"} 1\n"), "Q20: a term that is over");
	ok(strstr(family_of(&q, 1, "workqueue_paused"), "{name=\"q\"} 0\n"), "Q20: is no pause");
	q.stat.size = offsetof(struct kwq_stat, term);
	is_number(strlen(family_of(&q, 1, "workqueue_term_over")), 0, "U3: not from an older module");

	/* The size that a kernel without metrics fills in. */
	q.stat.size = offsetof(struct kwq_stat, now);
	written(&q, 1);
	is_number(occurrences("workqueue_adds_total{"), 1, "U3: an older kernel has adds");
	is_number(occurrences("workqueue_depth"), 0, "U3: it cannot tell the depth");
	is_number(occurrences("workqueue_lease_expired_total"), 0, "U3: no leases");
	is_number(occurrences("workqueue_retries_total") + occurrences("_bucket"), 0,
		  "U3: and no false zeros");
}

static void test_histogram_text(void)
{
	struct metrics_queue q;
	unsigned int i;

	add_queue(&q, "h");
	for (i = 0; i < KWQ_HISTOGRAM_BUCKETS; i++)
		q.stat.work_duration.counts[i] = i + 1;
	q.stat.work_duration.sum = 1500000000;
	is_string(family_of(&q, 1, "workqueue_work_duration_seconds"),
		  "# HELP workqueue_work_duration_seconds How long in seconds processing an item from workqueue takes.\n"
		  "# TYPE workqueue_work_duration_seconds histogram\n"
		  "workqueue_work_duration_seconds_bucket{name=\"h\",le=\"1e-06\"} 1\n"
		  "workqueue_work_duration_seconds_bucket{name=\"h\",le=\"1e-05\"} 3\n"
		  "workqueue_work_duration_seconds_bucket{name=\"h\",le=\"0.0001\"} 6\n"
		  "workqueue_work_duration_seconds_bucket{name=\"h\",le=\"0.001\"} 10\n"
		  "workqueue_work_duration_seconds_bucket{name=\"h\",le=\"0.01\"} 15\n"
		  "workqueue_work_duration_seconds_bucket{name=\"h\",le=\"0.1\"} 21\n"
		  "workqueue_work_duration_seconds_bucket{name=\"h\",le=\"1\"} 28\n"
		  "workqueue_work_duration_seconds_bucket{name=\"h\",le=\"10\"} 36\n"
		  "workqueue_work_duration_seconds_bucket{name=\"h\",le=\"100\"} 45\n"
		  "workqueue_work_duration_seconds_bucket{name=\"h\",le=\"1000\"} 55\n"
		  "workqueue_work_duration_seconds_bucket{name=\"h\",le=\"+Inf\"} 66\n"
		  "workqueue_work_duration_seconds_sum{name=\"h\"} 1.5\n"
		  "workqueue_work_duration_seconds_count{name=\"h\"} 66\n",
		  "M1: a histogram, cumulative, by tens from 1 us to 1000 s");
}

static void is_label(const char *name, const char *wanted, const char *what)
{
	static struct metrics_queue q;
	char line[1024];

	add_queue(&q, name);
	snprintf(line, sizeof(line), "workqueue_dead{name=\"%s\"} 0\n", wanted);
	written(&q, 1);
	if (!ok(occurrences(line) == 1, "M1: %s", what))
		printf("#  wanted %s", line);
}

/* M1: a queue without durations has no samples of them, and the others have theirs. */
static void test_no_durations(void)
{
	static const char *const off[] = {
		"workqueue_queue_duration_seconds", "workqueue_work_duration_seconds",
		"workqueue_unfinished_work_seconds", "workqueue_longest_running_processor_seconds",
		"workqueue_oldest_ready_seconds",
	};
	struct metrics_queue queues[2];

	add_queue(&queues[0], "off");
	add_queue(&queues[1], "on");
	queues[0].stat.create_flags = KWQ_CREATE_NO_DURATIONS;
	for (size_t i = 0; i < sizeof(off) / sizeof(*off); i++) {
		is_string(family_of(&queues[0], 1, off[i]), "", "without durations: no family");
		ok(strstr(family_of(queues, 2, off[i]), "name=\"on\"") &&
		   !strstr(family_of(queues, 2, off[i]), "name=\"off\""),
		   "without durations: only the samples of others");
	}
	ok(strstr(family_of(&queues[0], 1, "workqueue_lateness_seconds"), "name=\"off\"") &&
	   strstr(family_of(&queues[0], 1, "workqueue_oldest_waiting_seconds"), "name=\"off\""),
	   "without durations: the times of delays");
}

static void test_labels(void)
{
	static struct metrics_queue q[4];
	char name[KWQ_NAME_MAX + 1];

	is_label("plain name", "plain name", "a name");
	is_label("a\\b\"c\nd", "a\\\\b\\\"c\\nd", "backslash, quote and newline are escaped");
	is_label("\xc3\xa4\t{}", "\xc3\xa4\t{}", "nothing else is");
	is_label("a\xff\\", "a\\\\xff\\\\\\\\", "a name that is not UTF-8, escaped as kwq ls does");
	memset(name, 0xff, KWQ_NAME_MAX);
	name[KWQ_NAME_MAX] = '\0';
	add_queue(&q[0], name);
	is_number(strlen(q[0].label), 4 * KWQ_NAME_MAX, "the longest such name");

	add_queue(&q[0], "b");
	add_queue(&q[1], "a\xff");
	add_queue(&q[2], "a\\xff");
	add_queue(&q[3], "b");
	q[1].stat.ready = 1;
	q[2].stat.ready = 2;
	is_number(metrics_unique(q, 4), 2, "M1: no label twice");
	is_string(q[0].label, "a\\xff", "sorted by label");
	is_number(q[0].stat.ready, 2, "what is called so by itself comes first");
	is_string(q[1].label, "b", "and the other");
	is_number(metrics_unique(NULL, 0), 0, "of no queues none is left");
}

static void is_seconds(uint64_t high, uint64_t low, const char *wanted)
{
	FILE *to = begin();

	print_seconds(to, high, low);
	fclose(to);
	is_string(text, wanted, wanted);
}

static void test_numbers(void)
{
	FILE *to;

	is_seconds(0, 0, "0");
	is_seconds(0, 1, "0.000000001");
	is_seconds(0, 100, "0.0000001");
	is_seconds(0, 999999999, "0.999999999");
	is_seconds(0, 1000000000, "1");
	is_seconds(0, 1100000000, "1.1");
	is_seconds(0, UINT64_MAX, "18446744073.709551615");
	is_seconds(1, 0, "18446744073.709551616");
	is_seconds(UINT64_MAX, UINT64_MAX, "340282366920938463463374607431.768211455");
	/* 10^27 ns: all groups of digits except the first are 0. */
	is_seconds(54210108, 11515845246265065472ULL, "1000000000000000000");

	to = begin();
	print_wide(to, UINT64_MAX, UINT64_MAX);
	fputc(' ', to);
	print_wide(to, 0, 0);
	fclose(to);
	is_string(text, "340282366920938463463374607431768211455 0", "128 bits in decimal");
}

static void is_time(uint64_t ns, const char *wanted)
{
	char to[SHORT_TIME_SIZE];

	is_string(short_time(to, ns), wanted, wanted);
}

static void test_times(void)
{
	is_time(0, "0");
	is_time(1, "1ns");
	is_time(999, "999ns");
	is_time(1000, "1us");
	is_time(1239, "1.23us");
	is_time(12390, "12.3us");
	is_time(123900, "123us");
	is_time(999999, "999us");
	is_time(1000000, "1ms");
	is_time(59999999999, "59.9s");
	is_time(60000000000, "1m00s");
	is_time(3599999999999, "59m59s");
	is_time(3600000000000, "1h00m");
	is_time(86399999999999, "23h59m");
	is_time(86400000000000, "1d00h");
	is_time(UINT64_MAX, "213503d23h");
}

static void is_percentile(const struct kwq_histogram *h, double percent, uint64_t wanted,
			  const char *what)
{
	uint64_t ns = 0;

	ok(histogram_percentile(h, percent, &ns) && ns == wanted, "%s (%" PRIu64 ")", what, ns);
}

static void test_percentiles(void)
{
	struct kwq_histogram h = {}, before = {}, since;
	char to[SHORT_TIME_SIZE];
	uint64_t ns;

	ok(!histogram_percentile(&h, 50, &ns), "nothing counted, no percentile");
	is_string(short_percentile(to, &h, 50), "-", "which is -");
	h.counts[1] = 100;
	is_percentile(&h, 50, 5500, "half way from 1 us to 10 us");
	is_percentile(&h, 100, 10000, "and at its end");
	h.counts[0] = 100;
	is_percentile(&h, 25, 500, "the first bucket begins at 0");
	is_percentile(&h, 75, 5500, "the second behind it");
	is_string(short_percentile(to, &h, 75), "5.50us", "as text");
	h.counts[10] = 100;
	is_percentile(&h, 99, 1000000000000, "what has no bound: the highest bound");
	is_string(short_percentile(to, &h, 99), ">1000s", "which is longer");
	is_string(short_percentile(to, &h, 66), "9.82us", "below it is known");

	is_number(histogram_bound(0), 1000, "the first bound");
	is_number(histogram_bound(9), 1000000000000, "the last bound");
	ok(histogram_bound(10) == UINT64_MAX, "no bound");
	is_number(histogram_count(&h), 300, "how many there are");

	before = h;
	before.sum = UINT64_MAX;
	h.sum = 1;
	h.sum_high = 1;
	h.counts[3]++;
	histogram_since(&since, &h, &before);
	ok(since.sum == 2 && !since.sum_high, "a difference of sums borrows");
	is_number(since.counts[3], 1, "what is new");
	is_number(histogram_count(&since), 1, "and nothing else");
}

static const char *table(struct table_row *rows, size_t nr, size_t lines, size_t columns)
{
	FILE *to = begin();

	table_write(to, rows, nr, lines, columns, "\n");
	fclose(to);
	return text;
}

#define HEAD "  READY WAITING   PROC   DEAD  ADDS/s  DONE/s RETRY/s  OLDEST LONGEST QUEUE99  WORK99 NAME\n"

static void test_table(void)
{
	static struct metrics_queue before[3], now[3];
	struct table_row rows[3];

	add_queue(&now[0], "a\n");
	add_queue(&now[1], "b\xff");
	add_queue(&now[2], "c");
	now[0].stat.ready = 99999;
	now[1].stat.ready = 100000;
	now[1].stat.waiting = 123456789;
	now[0].stat.oldest_ready = 1500000000;
	now[0].stat.longest_running = 2000000;
	memcpy(before, now, sizeof(now));
	now[0].stat.adds = 5;
	now[0].stat.dones = 4000;
	now[0].stat.retries = 1;
	now[0].stat.queue_duration.counts[1] = 100;
	before[0].stat.work_duration.counts[1] = 7;
	now[0].stat.work_duration.counts[1] = 7;
	now[0].stat.work_duration.counts[10] = 1;
	/* A lower counter: another queue now has this name. */
	before[2].stat.adds = 1;

	table_fill(rows, now, 3, before, 3, 2000000000);
	table_sort(rows, 3, COLUMN_READY);
	is_string(table(rows, 3, 0, 0), HEAD
		  "   100k    123M      0      0     0.0     0.0     0.0       -       -       -       - b\\xff\n"
		  "  99999       0      0      0     2.5    2000     0.5   1.50s     2ms  9.91us  >1000s a\\n\n"
		  "      0       0      0      0       -       -       -       -       -       -       - c\n",
		  "the table, by ready, of what came in the interval");
	now[2].stat.state = KWQ_STATE_PAUSED;
	is_string(table(rows + 2, 1, 0, 0), HEAD
		  "      0       0      0      0       -       -       -       -       -       -       - c (paused)\n",
		  "Q14: a paused queue says so");
	now[2].stat.state |= KWQ_STATE_TERM_OVER;
	is_string(table(rows + 2, 1, 0, 0), HEAD
		  "      0       0      0      0       -       -       -       -       -       -       - c (term over)\n",
		  "Q20: and so does one whose term is over");
	table_sort(rows, 3, COLUMN_NAME);
	ok(rows[0].label == now[0].label && rows[2].label == now[2].label, "by name");
	table_sort(rows, 3, COLUMN_WAITING);
	ok(rows[0].label == now[1].label && rows[1].label == now[0].label, "equal ones by name");
	is_string(table(rows, 3, 1, 7), "  READY\n", "no more lines and columns than there are");
	is_string(table(rows + 2, 1, 0, 80),
		  "  READY WAITING   PROC   DEAD  ADDS/s  DONE/s  OLDEST LONGEST NAME\n"
		  "      0       0      0      0       -       -       -       - c (term over)\n",
		  "U5: 80 columns have room for the name");
	is_string(table(rows + 2, 1, 0, 40),
		  "  READY   PROC   DEAD NAME\n      0      0      0 c (term over)\n",
		  "U5: and so have 40");
	is_string(table(rows + 2, 1, 0, 25), "  READY NAME\n      0 c (term over)\n",
		  "U5: nothing else is left on less");
	table_fill(rows, now, 3, NULL, 0, 2000000000);
	ok(!rows[0].has_rates && !histogram_count(&rows[0].queue_duration),
	   "no rates without a table before");
	is_string(table(rows, 0, 0, 0), HEAD, "no queues");
	is_number(column_named("work-p99"), COLUMN_WORK_P99, "a column by name");
	is_number(column_named("work"), NR_COLUMNS, "no such column");
}

int main(void)
{
	test_families();
	test_changes();
	test_members();
	test_histogram_text();
	test_no_durations();
	test_labels();
	test_numbers();
	test_times();
	test_percentiles();
	test_table();
	free(text);
	return done_testing();
}

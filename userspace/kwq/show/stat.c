// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq stat: the numbers of one queue. stat_all.c and stat_limits.c have the other views.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "base/escape.h"
#include "kwq/keys/gather.h"
#include "queue/histogram.h"
#include "stat_views.h"

enum { NAME_WIDTH = 15, BAR_WIDTH = 40 };

enum { OPT_LIMITS = OPT_FIRST };

static const struct option stat_options[] = {
	{ "all", no_argument, NULL, 'a' },
	{ "limits", no_argument, NULL, OPT_LIMITS },
	OPTION_NO_HEADINGS, OPTION_JSON, OPTION_HELP, OPTION_END
};

struct stat_options {
	bool all, limits, no_headings, json;
};

/* The numbers in the order of both output formats. */
static const struct number {
	const char *name;
	size_t offset;
	enum { IS_COUNT, IS_TIME, IS_DURATION, IS_SETTING } kind;
} numbers[] = {
#define NUMBER(member) { #member, offsetof(struct kwq_stat, member), IS_COUNT }
#define TIME(member) { #member, offsetof(struct kwq_stat, member), IS_TIME }
/* A time that a queue without durations does not know. */
#define DURATION(member) { #member, offsetof(struct kwq_stat, member), IS_DURATION }
/* A time from the configuration, printed exactly. */
#define SETTING(member) { #member, offsetof(struct kwq_stat, member), IS_SETTING }
	NUMBER(ready), NUMBER(waiting), NUMBER(processing), NUMBER(dirty),
	NUMBER(items), NUMBER(max_items), NUMBER(bytes), NUMBER(max_bytes),
	NUMBER(adds), NUMBER(coalesced), NUMBER(posted), NUMBER(refused),
	NUMBER(gets), NUMBER(dones),
	NUMBER(abandoned), NUMBER(returned), NUMBER(expired), NUMBER(removed), NUMBER(dropped),
	NUMBER(retries), NUMBER(rate_limited), NUMBER(died), NUMBER(dead),
	NUMBER(remembered), NUMBER(values), NUMBER(groups), NUMBER(blocked),
	NUMBER(group_limit), NUMBER(last_change), NUMBER(kept), NUMBER(unread),
	DURATION(oldest_ready), TIME(oldest_waiting), TIME(oldest_dead),
	DURATION(longest_running), DURATION(unfinished),
	SETTING(lease), SETTING(aging),
#undef NUMBER
#undef TIME
#undef DURATION
#undef SETTING
};

static const struct member {
	const char *name;
	size_t offset;
	bool is_duration;
} histograms[] = {
#define HISTOGRAM(member, duration) { #member, offsetof(struct kwq_stat, member), duration }
	HISTOGRAM(queue_duration, true), HISTOGRAM(work_duration, true),
	HISTOGRAM(lateness, false),
#undef HISTOGRAM
};

/* A member that an older kernel does not fill in is absent. */
static bool has(const struct kwq_stat *st, size_t offset, size_t size)
{
	return st->size >= offset + size;
}

static bool durations_are_off(const struct kwq_stat *st)
{
	return st->create_flags & KWQ_CREATE_NO_DURATIONS;
}

static unsigned long long value(const struct kwq_stat *st, const struct number *n)
{
	__u64 v;

	memcpy(&v, (const char *)st + n->offset, sizeof(v));
	return v;
}

static const struct kwq_histogram *histogram(const struct kwq_stat *st, const struct member *m)
{
	return (const void *)((const char *)st + m->offset);
}

static const char *clock_name(const struct kwq_stat *st)
{
	switch (st->clockid) {
	case KWQ_CLOCK_ID_MANUAL:
		return "manual";
	case CLOCK_BOOTTIME:
		return "boottime";
	default:
		return "monotonic";
	}
}

/* Floating point is exact enough for a mean printed with three digits. */
static uint64_t mean(const struct kwq_histogram *h)
{
	return (h->sum + h->sum_high * 18446744073709551616.0) / histogram_count(h);
}

static const char *const bounds[HISTOGRAM_BOUNDS] = {
	"1us", "10us", "100us", "1ms", "10ms", "100ms", "1s", "10s", "100s", "1000s",
};

/* Prints one line per bucket, from the first to the last that is not empty. */
static void print_buckets(const struct kwq_histogram *h)
{
	unsigned int first = 0, last = HISTOGRAM_BOUNDS, i;
	uint64_t most = 0;

	while (!h->counts[first])
		first++;
	while (!h->counts[last])
		last--;
	for (i = first; i <= last; i++)
		if (h->counts[i] > most)
			most = h->counts[i];
	for (i = first; i <= last; i++) {
		/* Rounded up, so that a small count still has a bar. */
		int bar = (h->counts[i] * (double)BAR_WIDTH + most - 1) / most;

		if (i < HISTOGRAM_BOUNDS)
			printf("  <= %5s", bounds[i]);
		else
			printf("  >  %5s", bounds[i - 1]);
		printf(" %12llu%s%.*s\n", (unsigned long long)h->counts[i], bar ? "  " : "", bar,
		       "########################################");
	}
}

static void print_histogram(const char *name, const struct kwq_histogram *h, bool off)
{
	char text[3][SHORT_TIME_SIZE];

	if (off) {
		printf("%-*s off\n", NAME_WIDTH, name);
		return;
	}
	if (!histogram_count(h)) {
		printf("%-*s none\n", NAME_WIDTH, name);
		return;
	}
	printf("%-*s %llu, mean %s, p50 %s, p99 %s\n", NAME_WIDTH, name,
	       (unsigned long long)histogram_count(h), short_time(text[0], mean(h)),
	       short_percentile(text[1], h, 50), short_percentile(text[2], h, 99));
	print_buckets(h);
}

static void print_number(const struct kwq_stat *st, const struct number *n)
{
	char time[SHORT_TIME_SIZE], duration[DURATION_SIZE];
	unsigned long long v = value(st, n);

	if (n->kind == IS_DURATION && durations_are_off(st))
		puts("off");
	else if (n->kind == IS_COUNT)
		printf("%llu\n", v);
	else
		puts(n->kind != IS_SETTING ? short_time(time, v) :
		     v ? print_duration(duration, v) : "none");
}

static const struct number *number_named(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (!strcmp(numbers[i].name, name))
			return &numbers[i];
	usage("%s: no number of a queue: kwq stat QUEUE has all", name);
}

/* Prints these numbers alone, for a script. Returns false if an old module lacks one. */
static bool print_numbers(const struct kwq_stat *st, const char *queue, char **names)
{
	const struct number *n;

	for (; *names; names++) {
		n = number_named(*names);
		if (!has(st, n->offset, sizeof(__u64))) {
			message("%s: the kernel's kwq is older than this command and has no %s",
				queue, n->name);
			return false;
		}
		print_number(st, n);
	}
	return true;
}

static void print_pause(const struct kwq_stat *st)
{
	char time[SHORT_TIME_SIZE];

	if (!(st->state & KWQ_STATE_PAUSED))
		return;
	fputs(", paused", stdout);
	if (st->paused_for != UINT64_MAX)
		printf(" for %s", short_time(time, st->paused_for));
}

static bool has_term(const struct kwq_stat *st)
{
	return has(st, offsetof(struct kwq_stat, term), sizeof(st->term)) &&
	       st->term != KWQ_NO_DEADLINE;
}

/* How long until the end of the term; 0 if it is over. */
static uint64_t term_in(const struct kwq_stat *st)
{
	return st->term > st->now ? st->term - st->now : 0;
}

static void print_term(const struct kwq_stat *st)
{
	char time[SHORT_TIME_SIZE];

	if (st->state & KWQ_STATE_TERM_OVER)
		fputs(", term over", stdout);
	else if (has_term(st))
		printf(", term over in %s", short_time(time, term_in(st)));
}

static void print_text(const struct kwq_stat *st)
{
	const char *name = (const char *)st->name;
	size_t i;

	printf("%-*s ", NAME_WIDTH, "name");
	print_escaped(stdout, name, strlen(name));
	printf("\n%-*s %s%s", NAME_WIDTH, "state",
	       st->state & KWQ_STATE_SHUT_DOWN ? "shut down" : "open",
	       st->state & KWQ_STATE_UNLINKED ? ", unlinked" : "");
	print_pause(st);
	print_term(st);
	putchar('\n');
	if (st->create_flags & KWQ_CREATE_OUTBOX)
		printf("%-*s %s\n", NAME_WIDTH, "shared", KEYS_OF_A_SHARED_QUEUE);
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (has(st, numbers[i].offset, sizeof(__u64))) {
			printf("%-*s ", NAME_WIDTH, numbers[i].name);
			print_number(st, &numbers[i]);
		}
	if (has(st, offsetof(struct kwq_stat, followers), sizeof(st->followers)))
		printf("%-*s %u\n", NAME_WIDTH, "followers", st->followers);
	if (has(st, offsetof(struct kwq_stat, getters), sizeof(st->getters)))
		printf("%-*s %u\n", NAME_WIDTH, "getters", st->getters);
	printf("%-*s %u\n", NAME_WIDTH, "handles", st->handles);
	printf("%-*s %u\n%-*s %u\n%-*s %04o\n", NAME_WIDTH, "uid", st->uid, NAME_WIDTH, "gid",
	       st->gid, NAME_WIDTH, "mode", st->mode);
	printf("%-*s %s\n", NAME_WIDTH, "clock", clock_name(st));
	for (i = 0; i < ARRAY_SIZE(histograms); i++)
		if (has(st, histograms[i].offset, sizeof(struct kwq_histogram)))
			print_histogram(histograms[i].name, histogram(st, &histograms[i]),
					histograms[i].is_duration && durations_are_off(st));
}

static void print_json_percentile(const char *name, const struct kwq_histogram *h,
				  double percent)
{
	uint64_t ns;

	if (histogram_percentile(h, percent, &ns))
		printf(",\"%s\":%llu", name, (unsigned long long)ns);
	else
		printf(",\"%s\":null", name);
}

/* counts has one element more than bounds: the last counts the times above all bounds. */
static void print_json_histogram(const char *name, const struct kwq_histogram *h)
{
	unsigned int i;

	printf(",\"%s\":{\"count\":%llu,\"sum\":", name, (unsigned long long)histogram_count(h));
	print_wide(stdout, h->sum_high, h->sum);
	for (i = 0; i < HISTOGRAM_BOUNDS; i++)
		printf("%s%llu", i ? "," : ",\"bounds\":[",
		       (unsigned long long)histogram_bound(i));
	for (i = 0; i < KWQ_HISTOGRAM_BUCKETS; i++)
		printf("%s%llu", i ? "," : "],\"counts\":[", (unsigned long long)h->counts[i]);
	putchar(']');
	print_json_percentile("p50", h, 50);
	print_json_percentile("p99", h, 99);
	putchar('}');
}

static void print_json(const struct kwq_stat *st)
{
	size_t i;

	putchar('{');
	json_bytes(stdout, "name", (const char *)st->name, strlen((const char *)st->name));
	printf(",\"shut_down\":%s,\"unlinked\":%s,\"paused\":%s",
	       st->state & KWQ_STATE_SHUT_DOWN ? "true" : "false",
	       st->state & KWQ_STATE_UNLINKED ? "true" : "false",
	       st->state & KWQ_STATE_PAUSED ? "true" : "false");
	if (st->state & KWQ_STATE_PAUSED && st->paused_for == UINT64_MAX)
		fputs(",\"paused_for\":null", stdout);
	else if (st->state & KWQ_STATE_PAUSED)
		printf(",\"paused_for\":%llu", (unsigned long long)st->paused_for);
	printf(",\"term_over\":%s", st->state & KWQ_STATE_TERM_OVER ? "true" : "false");
	if (has_term(st))
		printf(",\"term_in\":%llu", (unsigned long long)term_in(st));
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (!has(st, numbers[i].offset, sizeof(__u64)))
			continue;
		if (numbers[i].kind == IS_DURATION && durations_are_off(st))
			printf(",\"%s\":null", numbers[i].name);
		else
			printf(",\"%s\":%llu", numbers[i].name, value(st, &numbers[i]));
	}
	if (has(st, offsetof(struct kwq_stat, followers), sizeof(st->followers)))
		printf(",\"followers\":%u", st->followers);
	if (has(st, offsetof(struct kwq_stat, getters), sizeof(st->getters)))
		printf(",\"getters\":%u", st->getters);
	printf(",\"handles\":%u,\"uid\":%u,\"gid\":%u,\"mode\":\"%04o\",\"clock\":\"%s\"",
	       st->handles, st->uid, st->gid, st->mode, clock_name(st));
	if (has(st, offsetof(struct kwq_stat, now), sizeof(st->now)))
		printf(",\"now\":%llu", (unsigned long long)st->now);
	for (i = 0; i < ARRAY_SIZE(histograms); i++) {
		if (has(st, histograms[i].offset, sizeof(struct kwq_histogram)) &&
		    !(histograms[i].is_duration && durations_are_off(st)))
			print_json_histogram(histograms[i].name, histogram(st, &histograms[i]));
	}
	puts("}");
}

/* Returns the exit status. */
static int stat_queue(const char *queue, char **names, bool json)
{
	struct kwq_stat st = { .size = sizeof(st) };
	struct kwq *q;
	int err;

	q = must_open_to_look(queue);
	err = kwq_stat(q, &st);
	if (err)
		return complain(queue, err);
	if (json)
		print_json(&st);
	else if (!*names)
		print_text(&st);
	else if (!print_numbers(&st, queue, names))
		return STATUS_FAILED;
	/* A script gets the numbers alone. */
	else if (isatty(STDOUT_FILENO) && shared_queue(q))
		message("%s: shared: %s", queue, KEYS_OF_A_SHARED_QUEUE);
	return flush_output() ? STATUS_OK : STATUS_FAILED;
}

static void check_options(const struct stat_options *o, char **arguments)
{
	size_t i;

	if (o->json && o->no_headings)
		usage("--json and --no-headings cannot be combined: JSON has no headings");
	if (o->no_headings && !o->limits)
		usage("--no-headings needs --limits: nothing else has a header");
	if (o->all && (o->limits || *arguments))
		usage("--all is about what runs in all queues, so it excludes QUEUE and --limits");
	if (o->limits || !*arguments)
		return;
	if (o->json && arguments[1])
		usage("--json has all numbers, so it excludes \"%s\"", arguments[1]);
	for (i = 1; arguments[i]; i++)
		number_named(arguments[i]);
}

static int stat_main(int argc, char **argv)
{
	struct stat_options o = { 0 };
	int opt;

	while ((opt = getopt_long(argc, argv, "aHh", stat_options, NULL)) != -1) {
		if (opt == 'a')
			o.all = true;
		else if (opt == 'H')
			o.no_headings = true;
		else if (opt == OPT_LIMITS)
			o.limits = true;
		else if (opt == OPT_JSON)
			o.json = true;
		else
			option_common(opt);
	}
	argv += optind;
	check_options(&o, argv);
	if (o.limits)
		return stat_limits(argv, o.json, o.no_headings);
	return *argv ? stat_queue(*argv, argv + 1, o.json) : stat_all(o.all, o.json);
}

const struct command command_stat = {
	.name = "stat",
	.arguments = "[OPTION...] [QUEUE [NUMBER...]] | --limits [QUEUE...]",
	.summary = "Show all queues and what runs, or the numbers of one queue",
	.options =
	"  -a, --all          all that runs, not the ten oldest keys of each queue\n"
	"      --limits       your quota, the limits of each QUEUE, and what is left\n"
	"  -H, --no-headings  with --limits: no header line\n"
	"      --json         print a JSON object for each queue\n"
	"  -h, --help\n"
	"\n"
	"Without QUEUE, each line below a queue is about a key that is worked on: its\n"
	"age, the process that has it, and the key. With NUMBER, such as ready, it prints\n"
	"that alone. LEFT of --limits is less than MAX - USED if others share the limit,\n"
	"and unlimited if your queues are exempt, as those of root are.\n",
	.examples =
	"  kwq stat                                 what is there, and what runs?\n"
	"  test \"$(kwq stat jobs ready)\" -lt 100    are less than 100 keys ready?\n",
	.table = stat_options,
	.main = stat_main,
};

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * kwq stat without QUEUE: one screen over all queues, with what runs.
 */
#include "stat_views.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "base/escape.h"
#include "kwq/keys/gather.h"
#include "queue/histogram.h"
#include "queue/item_print.h"
#include "kwq/keys/item_sort.h"
#include "base/process_name.h"

/* Without --all, so many running keys of each queue are shown: the oldest ones. */
enum { SHOWN = 10 };

/* The name of a queue as it is printed. An exact label is not escaped yet. */
static void print_label(const struct metrics_queue *m)
{
	if (m->exact)
		print_escaped(stdout, m->label, strlen(m->label));
	else
		fputs(m->label, stdout);
}

/* Why a queue hands out nothing, or takes no adds: the strongest reason last. */
static const struct condition {
	uint32_t bit;
	const char *text;
} conditions[] = {
	{ KWQ_STATE_PAUSED, "paused" },
	{ KWQ_STATE_TERM_OVER, "term over" },
	{ KWQ_STATE_SHUT_DOWN, "shut down" },
};

/* ---- Text ----------------------------------------------------------------- */

static void print_running(const struct item_sorted *running, bool all)
{
	char age[SHORT_TIME_SIZE], name[PROCESS_NAME_SIZE];
	size_t i;

	for (i = 0; i < running->nr; i++) {
		const struct kwq_listed *item = &running->rows[i].item;

		if (i == SHOWN && !all) {
			printf("    and %zu more (--all)\n", running->nr - i);
			return;
		}
		printf("    %7s  ", short_age(age, item->processing_for));
		if (item->pid)
			printf("%7d %-15s  ", item->pid, process_name(name, item->pid));
		else
			printf("%7s %-15s  ", "-", "-");
		print_escaped(stdout, item_sorted_key(running, i), item->key_len);
		putchar('\n');
	}
}

/* All of them: who ends one has to know of the others. */
static void print_conditions(const struct kwq_stat *st)
{
	const char *before = "; ";
	size_t i;

	for (i = 0; i < ARRAY_SIZE(conditions); i++) {
		if (!(st->state & conditions[i].bit))
			continue;
		printf("%s%s", before, conditions[i].text);
		before = ", ";
	}
}

static void print_text(const struct metrics_queue *m, const struct item_sorted *running,
		       bool all)
{
	const struct kwq_stat *st = &m->stat;
	char age[SHORT_TIME_SIZE];

	print_label(m);
	printf(": %" PRIu64 " ready, %" PRIu64 " waiting, %" PRIu64 " running, %" PRIu64 " dead",
	       (uint64_t)st->ready, (uint64_t)st->waiting, (uint64_t)st->processing,
	       (uint64_t)st->dead);
	if (st->oldest_ready)
		printf("; the first has been ready for %s", short_time(age, st->oldest_ready));
	print_conditions(st);
	if (st->create_flags & KWQ_CREATE_OUTBOX)
		printf("; shared: %s", KEYS_OF_A_SHARED_QUEUE);
	putchar('\n');
	print_running(running, all);
}

/* ---- JSON ----------------------------------------------------------------- */

static const char *strongest(const struct kwq_stat *st)
{
	const char *text = "open";
	size_t i;

	for (i = 0; i < ARRAY_SIZE(conditions); i++)
		if (st->state & conditions[i].bit)
			text = conditions[i].text;
	return text;
}

static void print_json(const struct metrics_queue *m, const struct item_sorted *running)
{
	const struct kwq_stat *st = &m->stat;
	char age[JSON_AGE_SIZE];
	size_t i;

	putchar('{');
	json_bytes(stdout, "queue", m->label, strlen(m->label));
	printf(",\"state\":\"%s\",\"paused\":%s,\"ready\":%" PRIu64 ",\"waiting\":%" PRIu64
	       ",\"processing\":%" PRIu64 ",\"dead\":%" PRIu64 ",\"oldest_ready_ns\":%s"
	       ",\"running\":[", strongest(st),
	       st->state & KWQ_STATE_PAUSED ? "true" : "false", (uint64_t)st->ready,
	       (uint64_t)st->waiting, (uint64_t)st->processing, (uint64_t)st->dead,
	       json_age(age, metrics_age(st, st->oldest_ready)));
	for (i = 0; i < running->nr; i++) {
		const struct kwq_listed *item = &running->rows[i].item;

		printf("%s{\"processing_for_ns\":%s,\"pid\":%d,", i ? "," : "",
		       json_age(age, item->processing_for), item->pid);
		json_bytes(stdout, "key", item_sorted_key(running, i), item->key_len);
		putchar('}');
	}
	puts("]}");
}

/* ---- The command ---------------------------------------------------------- */

/* Lists what runs. A queue that may not be read, or is gone, has an empty list. */
static int list_running(const struct gather *g, const struct metrics_queue *m,
			struct item_sorted *running)
{
	struct kwq *q;
	int err;

	running->nr = 0;
	if (!m->stat.processing || gather_open(g, m, KWQ_RIGHT_READ, &q))
		return 0;
	err = item_sorted_list(running, q, KWQ_IS_PROCESSING);
	kwq_close(q);
	if (err)
		running->nr = 0;
	return err == -ENOMEM ? err : 0;
}

static int print_all(const struct gather *g, bool all, bool json)
{
	struct item_sorted running = { 0 };
	size_t i;
	int err = 0;

	for (i = 0; i < g->nr && !err; i++) {
		err = list_running(g, &g->queues[i], &running);
		if (!err && json)
			print_json(&g->queues[i], &running);
		else if (!err)
			print_text(&g->queues[i], &running, all);
	}
	item_sorted_free(&running);
	return err;
}

int stat_all(bool all, bool json)
{
	char *none[1] = { NULL };
	struct gather g;
	int err;

	gather_init(&g, none);
	err = gather(&g);
	if (!err)
		err = print_all(&g, all, json);
	gather_free(&g);
	if (err)
		return complain("/dev/kwq", err);
	return flush_output() ? STATUS_OK : STATUS_FAILED;
}

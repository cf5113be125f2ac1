// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Lists the keys of a shared queue. A tail brings the records from the first one to the end. Then
 * the records of each key are one line.
 *
 * The stream does not say which keys machines have: that is between them and the master. So a key
 * that is due is "pending": it is ready, or a machine works on it.
 */
#include "list.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "base/escape.h"
#include "queue/item_print.h"
#include "base/read_clock.h"
#include "share/core/copy.h"
#include "share/core/hash.h"
#include "share/core/op.h"
#include "share/core/timed.h"

/* How long nothing may come. A tail without an answer tries again for ever, and does not tell. */
#define PATIENCE (15 * NS_PER_S)

/* The kinds of records that a key has: the first ones of enum record_kind. */
#define KINDS (RECORD_RETRY + 1)

/* @records: the last of each kind, by enum record_kind, or NULL */
struct listed {
	UT_hash_handle hh;
	struct key_hash hash;
	struct record *records[KINDS];
};

/*
 * @keys: in the order in which they were met
 * @tail: the engine's, or 0
 * @url: of the server that has the tail
 * @heard_at: when something came last, on CLOCK_BOOTTIME
 * @is_complete: all records have come
 * @status: an exit status
 */
struct list {
	const struct share_options *options;
	struct engine *engine;
	struct record_memory memory;
	struct listed *keys;
	int64_t tail;
	char url[ENGINE_URL_MAX];
	uint64_t heard_at;
	bool is_complete;
	int status;
};

/* ---- Keys ----------------------------------------------------------------- */

enum {
	IS_PENDING = 1 << 0,
	IS_WAITING = 1 << 1,
	IS_RETRY = 1 << 2,
	IS_DEAD = 1 << 3,
	IS_REMEMBERED = 1 << 4,
};

/* In the order of the bits. */
static const char *const state_names[] = { "pending", "waiting", "retry", "dead", "remembered" };

/*
 * A line of the list.
 *
 * @states: IS_* bits
 * @due: when the first wait of the key ends, in ns since 1970, or NEVER
 */
struct line {
	unsigned int states;
	uint64_t due;
	int priority;
	uint32_t requeues;
	struct bytes key, group, note;
};

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* A time that has come makes the key pending. Another one is waited for. */
static void take_time(struct line *line, unsigned int state, uint64_t time, uint64_t wall)
{
	if (time == NEVER)
		return;
	if (time <= wall) {
		line->states |= IS_PENDING;
	} else {
		line->states |= state;
		line->due = earlier(line->due, time);
	}
}

static void take_states(struct line *line, const struct listed *listed, uint64_t wall)
{
	const struct record *timed = listed->records[RECORD_TIMED];
	const struct record *retry = listed->records[RECORD_RETRY];

	line->due = NEVER;
	if (listed->records[RECORD_ADD])
		line->states |= IS_PENDING;
	if (timed) {
		take_time(line, IS_WAITING, timed_owed(timed, 0), wall);
		take_time(line, IS_WAITING, timed_next(timed, 0), wall);
	}
	if (retry && retry->state == RETRY_WAITING)
		take_time(line, IS_RETRY, retry->due, wall);
	/* A key that is added again is not dead any more. */
	if (retry && retry->state == RETRY_DEAD && !(line->states & IS_PENDING))
		line->states |= IS_DEAD;
	if (retry && retry->state == RETRY_REMEMBERED && !line->states)
		line->states |= IS_REMEMBERED;
}

/*
 * The highest priority and count of all records, the group of the last add, and the last note. A
 * key without a priority is handed out with priority 0.
 */
static void take_work(struct line *line, const struct listed *listed)
{
	int kind, highest = KWQ_PRIORITY_NONE;
	uint64_t version, group = 0, note = 0;

	for (kind = 0; kind < KINDS; kind++) {
		const struct record *record = listed->records[kind];

		if (!record)
			continue;
		line->key = record->work.key;
		if (record->work.priority > highest)
			highest = record->work.priority;
		if (record->work.requeues > line->requeues)
			line->requeues = record->work.requeues;
		version = value_version(record);
		if (record->work.has_group && (!line->group.len || version > group)) {
			line->group = record->work.group;
			group = version;
		}
		if (note_version(record) > note) {
			line->note = record->work.note;
			note = note_version(record);
		}
	}
	line->priority = highest == KWQ_PRIORITY_NONE ? 0 : highest;
}

/* ---- Printing ------------------------------------------------------------- */

static int print_states(const struct line *line, const char *separator)
{
	const char *before = "";
	int printed = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(state_names); i++) {
		if (!(line->states & 1U << i))
			continue;
		printed += printf("%s%s", before, state_names[i]);
		before = separator;
	}
	return printed;
}

static void print_row(const struct line *line, uint64_t wall)
{
	char group[ESCAPED_SIZE(KWQ_GROUP_MAX)];
	int width = 21 - print_states(line, "+");

	printf("%*s %4d", width > 0 ? width : 0, "", line->priority);
	print_age(line->due == NEVER ? KWQ_AGE_UNKNOWN : line->due - wall);
	escape_text(group, line->group.at, line->group.len);
	printf(" %8u %-8s ", line->requeues, line->group.len ? group : "-");
	print_escaped(stdout, line->key.at, line->key.len);
	putchar('\n');
}

static void print_json(const struct line *line, uint64_t wall)
{
	fputs("{\"states\":[\"", stdout);
	print_states(line, "\",\"");
	printf("\"],\"priority\":%d,\"requeues\":%u", line->priority, line->requeues);
	if (line->due != NEVER)
		printf(",\"due_in_ns\":%llu", (unsigned long long)(line->due - wall));
	putchar(',');
	json_bytes(stdout, "key", line->key.at, line->key.len);
	if (line->group.len) {
		putchar(',');
		json_bytes(stdout, "group", line->group.at, line->group.len);
	}
	if (line->note.len) {
		putchar(',');
		json_bytes(stdout, "note", line->note.at, line->note.len);
	}
	puts("}");
}

static void print_all(const struct list *list)
{
	const struct share_options *o = list->options;
	const struct listed *listed;
	uint64_t wall = engine_wall(list->engine);

	if (!o->json && !o->no_headings)
		printf("%-21s %4s %12s %8s %-8s %s\n", "STATE", "PRIO", "LEFT", "REQUEUES", "GROUP",
		       "KEY");
	for (listed = list->keys; listed; listed = listed->hh.next) {
		struct line line = { 0 };

		take_states(&line, listed, wall);
		take_work(&line, listed);
		if (o->only_dead && !(line.states & IS_DEAD))
			continue;
		if (o->json)
			print_json(&line, wall);
		else
			print_row(&line, wall);
		/* Why it is dead. A list of all keys has one line for each. */
		if (o->only_dead && !o->json && line.note.len)
			item_print_note(line.note.at, line.note.len);
	}
}

/* ---- Records -------------------------------------------------------------- */

static void fail(struct list *list, int status)
{
	list->status = status;
}

static struct listed *get_key(struct list *list, const struct key_hash *hash)
{
	struct listed *listed;

	HASH_FIND(hh, list->keys, hash, sizeof(*hash), listed);
	if (listed)
		return listed;
	listed = calloc(1, sizeof(*listed));
	if (!listed)
		return NULL;
	listed->hash = *hash;
	HASH_ADD(hh, list->keys, hash, sizeof(listed->hash), listed);
	if (HASH_HAS(listed))
		return listed;
	free(listed);
	return NULL;
}

static void keep(struct list *list, const struct record *record)
{
	struct listed *listed = get_key(list, &record->hash);
	struct record *copy = listed ? record_copy(record) : NULL;

	if (!copy) {
		fail(list, complain("memory", -ENOMEM));
		return;
	}
	free(listed->records[record->kind]);
	listed->records[record->kind] = copy;
}

/* A record that nobody can read is told of, and the others are listed. */
static void on_entry(struct list *list, const struct engine_event *event)
{
	char shown[SUBJECT_MAX];
	struct record record;
	int err = record_decode(&record, &list->memory, &list->options->names, event->subject,
				event->seq, event->data);
	const char *fault = record_fault(err);

	if (!err && record.kind < KINDS) {
		keep(list, &record);
	} else if (fault) {
		message("%s: record %llu %s", subject_shown(shown, event->subject),
			(unsigned long long)event->seq, fault);
		fail(list, STATUS_FAILED);
	} else if (err) {
		fail(list, complain(subject_shown(shown, event->subject), err));
	}
}

/* Returns whether to go on. */
static bool on_event(struct list *list, const struct engine_event *event)
{
	switch (event->kind) {
	case EVENT_UP:
		snprintf(list->url, sizeof(list->url), "%s", event->text);
		if (!list->tail)
			list->tail = engine_follow(list->engine,
						   list->options->names.subjects, 1);
		if (list->tail > 0)
			return true;
		fail(list, complain("memory", list->tail));
		return false;
	case EVENT_DOWN:
	case EVENT_REFUSED:
		message("%s", event->text);
		fail(list, event->result == RESULT_NONE ? STATUS_NOT_FOUND : STATUS_FAILED);
		return false;
	case EVENT_WARNING:
		message("%s", event->text);
		return true;
	case EVENT_ENTRY:
		on_entry(list, event);
		return true;
	case EVENT_CAUGHT_UP:
		list->is_complete = true;
		return false;
	default:
		return true;
	}
}

/*
 * Waits for events. Returns false after a message if none came for too long. Without a tail the
 * engine itself says why it does not get on.
 */
static bool await_event(const struct list *list)
{
	struct pollfd fd = { .fd = engine_fd(list->engine), .events = POLLIN };
	uint64_t silent = read_clock(CLOCK_BOOTTIME) - list->heard_at;

	if (!list->tail) {
		poll(&fd, 1, -1);
		return true;
	}
	if (silent < PATIENCE) {
		poll(&fd, 1, (PATIENCE - silent) / NS_PER_MS + 1);
		return true;
	}
	message("%s: JetStream does not answer: is a majority of the servers up?", list->url);
	return false;
}

/* Takes events until all records have come, or nothing more will. */
static void collect(struct list *list)
{
	struct engine_event event;

	do {
		while (engine_next(list->engine, &event)) {
			if (!on_event(list, &event))
				return;
			list->heard_at = read_clock(CLOCK_BOOTTIME);
		}
	} while (await_event(list));
	fail(list, STATUS_FAILED);
}

int share_list(const struct share_options *options)
{
	struct list list = { .options = options, .engine = engine_open(&options->engine) };
	struct listed *listed, *next;
	int kind;

	if (!list.engine)
		return complain("libnats", -errno);
	collect(&list);
	if (list.is_complete) {
		print_all(&list);
		if (!flush_output())
			list.status = STATUS_FAILED;
	}
	HASH_ITER(hh, list.keys, listed, next) {
		HASH_DEL(list.keys, listed);
		for (kind = 0; kind < KINDS; kind++)
			free(listed->records[kind]);
		free(listed);
	}
	record_memory_free(&list.memory);
	engine_close(list.engine);
	return list.status;
}

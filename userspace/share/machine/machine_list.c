// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Lists of the whole queue. A tail brings the records from the first one to the end. Then the
 * records of each key are one item, as the kernel lists those of a local queue.
 *
 * Heartbeats tell which keys workers have. A key that waits on a machine for a worker is ready, as
 * one that waits for a grant.
 */
#include "machine_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/kwq.h>

#include "base/duration.h"
#include "queue/shared.h"
#include "share/core/copy.h"
#include "share/core/timed.h"

/* How long nothing may come. */
#define PATIENCE (15 * NS_PER_S)

/* The kinds of records that a key has: the first ones of enum record_kind. */
#define KINDS (RECORD_RETRY + 1)

/*
 * @records: the last of each kind, or NULL
 * @stored: when they were stored, by the clock of the servers
 * @held: by the worker of a machine
 */
struct listed {
	UT_hash_handle hh;
	struct key_hash hash;
	struct record *records[KINDS];
	uint64_t stored[KINDS];
	int machine;
	struct held held;
};

/* A machine, and the keys that its last heartbeat lists. */
struct lister {
	UT_hash_handle hh;
	uint64_t ttl, heard;
	bool is_dead;
	struct held *held;
	size_t nr_held;
	char name[MACHINE_MAX];
};

/*
 * @tail: the engine's
 * @heard_at: when something came last
 * @states, @flags, @hash, @is_of_key: what is listed
 */
struct list {
	struct list *prev, *next;
	struct machine *machine;
	int64_t tail;
	uint64_t heard_at;
	uint32_t states, flags;
	struct key_hash hash;
	bool is_of_key;
	struct listed *keys;
	struct lister *machines;
	char master[MACHINE_MAX];
	void (*done)(void *arg, int result);
	void *arg;
};

/* ---- Life ----------------------------------------------------------------- */

static void list_free(struct list *list)
{
	struct listed *listed, *next_key;
	struct lister *lister, *next;
	int kind;

	engine_unfollow(list->machine->engine, list->tail);
	DL_DELETE(list->machine->lists, list);
	HASH_ITER(hh, list->keys, listed, next_key) {
		HASH_DEL(list->keys, listed);
		for (kind = 0; kind < KINDS; kind++)
			free(listed->records[kind]);
		free(listed);
	}
	HASH_ITER(hh, list->machines, lister, next) {
		HASH_DEL(list->machines, lister);
		free(lister->held);
		free(lister);
	}
	free(list);
}

static void finish(struct list *list, int result)
{
	list->done(list->arg, result);
	list_free(list);
}

int machine_list(struct machine *m, uint32_t states, uint32_t flags, struct bytes key,
		 void (*done)(void *arg, int result), void *arg)
{
	struct list *list = calloc(1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	*list = (struct list){
		.machine = m, .states = states, .flags = flags, .is_of_key = key.len,
		.heard_at = machine_clock(), .done = done, .arg = arg,
	};
	if (key.len && key_hash_of(&list->hash, key)) {
		free(list);
		return -EIO;
	}
	list->tail = engine_follow(m->engine, m->options.names->subjects, 1);
	if (list->tail < 0) {
		free(list);
		return -ENOMEM;
	}
	DL_APPEND(m->lists, list);
	return 0;
}

void lists_forget(struct machine *m, const void *arg)
{
	struct list *list, *next;

	DL_FOREACH_SAFE(m->lists, list, next)
		if (list->arg == arg)
			list_free(list);
}

void lists_free(struct machine *m)
{
	while (m->lists)
		list_free(m->lists);
}

void lists_tick(struct machine *m)
{
	struct list *list, *next;

	DL_FOREACH_SAFE(m->lists, list, next)
		if (machine_clock() - list->heard_at >= PATIENCE)
			finish(list, -ETIMEDOUT);
}

uint64_t lists_due(const struct machine *m)
{
	const struct list *list;
	uint64_t due = NEVER;

	DL_FOREACH(m->lists, list)
		if (list->heard_at + PATIENCE < due)
			due = list->heard_at + PATIENCE;
	return due;
}

static struct list *list_of(const struct machine *m, int64_t tail)
{
	struct list *list;

	DL_FOREACH(m->lists, list)
		if (list->tail == tail)
			break;
	return list;
}

/* ---- Records -------------------------------------------------------------- */

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

static struct lister *get_machine(struct list *list, const char *name)
{
	struct lister *lister;

	HASH_FIND_STR(list->machines, name, lister);
	if (lister)
		return lister;
	lister = calloc(1, sizeof(*lister));
	if (!lister)
		return NULL;
	snprintf(lister->name, sizeof(lister->name), "%s", name);
	HASH_ADD_STR(list->machines, name, lister);
	if (HASH_HAS(lister))
		return lister;
	free(lister);
	return NULL;
}

static int keep_key(struct list *list, const struct record *record, uint64_t time)
{
	struct record *copy;
	struct listed *listed;

	if (list->is_of_key && !same_hash(&record->hash, &list->hash))
		return 0;
	listed = get_key(list, &record->hash);
	copy = listed ? record_copy(record) : NULL;
	if (!copy)
		return -ENOMEM;
	free(listed->records[record->kind]);
	listed->records[record->kind] = copy;
	listed->stored[record->kind] = time;
	return 0;
}

static int keep_beat(struct lister *lister, const struct record *record, uint64_t time)
{
	size_t size = record->nr_held * sizeof(*record->held);

	lister->heard = time;
	lister->is_dead = record->is_dead;
	free(lister->held);
	lister->nr_held = 0;
	lister->held = malloc(size + 1);
	if (!lister->held)
		return -ENOMEM;
	if (size)
		memcpy(lister->held, record->held, size);
	lister->nr_held = record->nr_held;
	return 0;
}

static int keep(struct list *list, const struct record *record, uint64_t time)
{
	struct lister *lister;

	if (record->kind < KINDS)
		return keep_key(list, record, time);
	if (record->kind == RECORD_EPOCH) {
		snprintf(list->master, sizeof(list->master), "%s", record->machine);
		return 0;
	}
	lister = get_machine(list, record->machine);
	if (!lister)
		return -ENOMEM;
	if (record->kind == RECORD_BEAT)
		return keep_beat(lister, record, time);
	lister->ttl = record->ttl;
	return 0;
}

/* A record that nobody can read is told of by the tail of the machine itself. */
bool list_entry(struct machine *m, const struct engine_event *event)
{
	struct list *list = list_of(m, event->id);
	struct record record;
	int err;

	if (!list)
		return false;
	list->heard_at = machine_clock();
	err = record_decode(&record, &m->memory, m->options.names, event->subject, event->seq,
			    event->data);
	if (!err)
		err = keep(list, &record, event->time);
	if (err == -ENOMEM)
		finish(list, err);
	return true;
}

/* ---- Items ---------------------------------------------------------------- */

static const struct record *fresh(const struct listed *listed, enum record_kind kind)
{
	const struct versions *v = &listed->held.versions;
	const struct record *record = listed->records[kind];
	uint64_t granted = kind == RECORD_ADD ? v->add : v->retry;

	return record && (!listed->machine || record->seq > granted) ? record : NULL;
}

/* Whether a version of the run is still there: its end is not in the stream. */
static bool is_unfinished(const struct listed *listed, const struct held *held)
{
	const uint64_t versions[] = { held->versions.add, held->versions.timed,
				      held->versions.retry };
	int kind;

	for (kind = 0; kind < KINDS; kind++)
		if (listed->records[kind] && listed->records[kind]->seq == versions[kind])
			return true;
	return false;
}

static uint64_t since(uint64_t time, uint64_t wall)
{
	return time < wall ? wall - time : 0;
}

static void take_reason(struct kwq_listed *item, uint64_t time, uint64_t stored, uint64_t wall)
{
	uint64_t left;

	if (time == NEVER)
		return;
	if (time <= wall) {
		item->state |= KWQ_IS_READY;
		if (item->dirty_for < since(time, wall))
			item->dirty_for = since(time, wall);
		return;
	}
	left = time - wall;
	if (!(item->state & KWQ_IS_WAITING) || left < item->due_in) {
		item->due_in = left;
		item->waiting_for = since(stored, wall);
	}
	item->state |= KWQ_IS_WAITING;
}

static void take_states(struct kwq_listed *item, const struct listed *listed, uint64_t wall)
{
	const struct record *timed = listed->records[RECORD_TIMED];
	const struct record *add = fresh(listed, RECORD_ADD);
	const struct record *retry = fresh(listed, RECORD_RETRY);
	uint64_t granted = listed->machine ? listed->held.versions.timed : 0;

	if (add)
		take_reason(item, listed->stored[RECORD_ADD], 0, wall);
	if (timed) {
		take_reason(item, timed_owed(timed, granted), listed->stored[RECORD_TIMED], wall);
		take_reason(item, timed_next(timed, granted), listed->stored[RECORD_TIMED], wall);
	}
	if (retry && retry->state == RETRY_WAITING)
		take_reason(item, retry->due, listed->stored[RECORD_RETRY], wall);
	if (listed->machine) {
		item->state |= KWQ_IS_PROCESSING;
		item->processing_for = KWQ_AGE_UNKNOWN;
		if (item->state & KWQ_IS_READY)
			item->state ^= KWQ_IS_READY | KWQ_IS_DIRTY;
		return;
	}
	/* A key that is added again is not dead any more. */
	if (retry && retry->state == RETRY_DEAD && !(item->state & KWQ_IS_READY)) {
		item->state |= KWQ_IS_DEAD;
		item->dead_for = since(listed->stored[RECORD_RETRY], wall);
	}
	if (retry && retry->state == RETRY_REMEMBERED && !item->state)
		item->state |= KWQ_IS_REMEMBERED;
}

/* The highest priority and counts of all records, and the last value, group and note. */
static void take_work(struct kwq_listed *item, struct work *work, const struct listed *listed)
{
	uint64_t value = 0, group = 0, note = 0;
	int kind;

	item->priority = KWQ_PRIORITY_NONE;
	for (kind = 0; kind < KINDS; kind++) {
		const struct record *record = listed->records[kind];

		if (!record)
			continue;
		work->key = record->work.key;
		if (record->work.priority > item->priority)
			item->priority = record->work.priority;
		if (record->work.requeues > item->requeues)
			item->requeues = record->work.requeues;
		if (record->work.abandoned > item->abandoned)
			item->abandoned = record->work.abandoned;
		if (record->work.has_value && value_version(record) >= value) {
			work->value = record->work.value;
			value = value_version(record);
		}
		if (record->work.has_group && value_version(record) >= group) {
			work->group = record->work.group;
			group = value_version(record);
		}
		if (note_version(record) > note) {
			work->note = record->work.note;
			note = note_version(record);
		}
	}
	if (item->priority == KWQ_PRIORITY_NONE)
		item->priority = 0;
	item->wait_priority = item->state & KWQ_IS_WAITING ? item->priority : 0;
	item->next_priority = item->state & KWQ_IS_DIRTY ? item->priority : 0;
}

/* Sets the number that sorts it: see &kwq_listed.order_of. */
static void take_order(struct kwq_listed *item, const struct listed *listed, uint32_t asked,
		       uint64_t wall)
{
	static const uint32_t states[] = {
		KWQ_IS_PROCESSING, KWQ_IS_READY, KWQ_IS_WAITING, KWQ_IS_DEAD, KWQ_IS_REMEMBERED,
	};
	const struct record *add = listed->records[RECORD_ADD];
	const struct record *retry = listed->records[RECORD_RETRY];
	size_t i;

	if (asked & (KWQ_IS_DIRTY | KWQ_IS_DYING))
		asked |= KWQ_IS_PROCESSING;
	for (i = 0; i < ARRAY_SIZE(states) && !item->order_of; i++)
		item->order_of = item->state & asked & states[i];
	if (item->order_of == KWQ_IS_PROCESSING)
		item->order = item->token;
	else if (item->order_of == KWQ_IS_WAITING)
		item->order = wall + item->due_in;
	else if (item->order_of == KWQ_IS_READY && add)
		item->order = add->seq;
	else if (item->order_of == KWQ_IS_DEAD && retry)
		item->order = retry->seq;
}

static void write_bytes(FILE *to, struct bytes bytes)
{
	if (bytes.len)
		fwrite(bytes.at, 1, bytes.len, to);
}

/* Returns whether it is one of those that were asked for. */
static bool write_item(const struct list *list, FILE *to, const struct listed *listed,
		       uint64_t wall)
{
	struct kwq_listed item = { .pid = -listed->machine };
	struct work work = { 0 };

	take_states(&item, listed, wall);
	take_work(&item, &work, listed);
	if (listed->machine)
		item.token = local_token(listed->held.token);
	if (!(item.state & list->states))
		return false;
	take_order(&item, listed, list->states, wall);
	item.key_len = work.key.len;
	item.group_len = work.group.len;
	item.value_len = work.value.len;
	item.note_len = work.note.len;
	fwrite(&item, 1, sizeof(item), to);
	write_bytes(to, work.key);
	write_bytes(to, work.group);
	if (list->flags & KWQ_LIST_VALUES)
		write_bytes(to, work.value);
	if (list->flags & KWQ_LIST_NOTES)
		write_bytes(to, work.note);
	return true;
}

/* Marks the keys that the workers of a machine have. @nr: its number, from 1 on */
static void mark_held(struct list *list, const struct lister *lister, int nr)
{
	struct listed *listed;
	size_t i;

	for (i = 0; i < lister->nr_held; i++) {
		HASH_FIND(hh, list->keys, &lister->held[i].hash, sizeof(listed->hash), listed);
		if (!listed || !is_unfinished(listed, &lister->held[i]))
			continue;
		listed->machine = nr;
		listed->held = lister->held[i];
	}
}

static void write_machine(const struct list *list, FILE *to, const struct lister *lister,
			  uint64_t wall)
{
	struct shared_machine machine = {
		.heard = since(lister->heard, wall),
		.ttl = lister->ttl,
		.keys = lister->nr_held,
		.is_master = !strcmp(lister->name, list->master),
	};

	snprintf(machine.name, sizeof(machine.name), "%s", lister->name);
	fwrite(&machine, 1, sizeof(machine), to);
}

static void write_all(struct list *list, FILE *to)
{
	uint64_t wall = engine_wall(list->machine->engine);
	struct shared_list head = { .size = sizeof(head) };
	const struct listed *listed;
	const struct lister *lister;

	fwrite(&head, 1, sizeof(head), to);
	for (lister = list->machines; lister; lister = lister->hh.next) {
		if (lister->is_dead || !lister->heard)
			continue;
		write_machine(list, to, lister, wall);
		mark_held(list, lister, ++head.nr_machines);
	}
	for (listed = list->keys; listed; listed = listed->hh.next)
		head.nr_items += write_item(list, to, listed, wall);
	rewind(to);
	fwrite(&head, 1, sizeof(head), to);
}

/* Returns a descriptor, or a negative errno value. */
static int make_file(struct list *list)
{
	int fd = memfd_create("kwq-share", MFD_CLOEXEC);
	int kept = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	FILE *to = kept < 0 ? NULL : fdopen(fd, "w");
	bool failed;

	if (!to) {
		if (fd >= 0)
			close(fd);
		if (kept >= 0)
			close(kept);
		return -ENOMEM;
	}
	write_all(list, to);
	failed = ferror(to);
	if (!fclose(to) && !failed)
		return kept;
	close(kept);
	return -ENOSPC;
}

bool list_caught_up(struct machine *m, const struct engine_event *event)
{
	struct list *list = list_of(m, event->id);

	if (list)
		finish(list, make_file(list));
	return list;
}

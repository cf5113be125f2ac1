// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <stdlib.h>
#include <string.h>

#include <linux/kwq.h>

#include "master_state.h"

uint64_t *version_of(struct versions *versions, enum record_kind kind)
{
	if (kind == RECORD_ADD)
		return &versions->add;
	return kind == RECORD_TIMED ? &versions->timed : &versions->retry;
}

struct master_key *key_find(struct master *master, const struct key_hash *hash)
{
	struct master_key *key;

	HASH_FIND(hh, master->keys, hash, sizeof(*hash), key);
	return key;
}

struct master_key *key_get(struct master *master, const struct key_hash *hash)
{
	struct master_key *key = key_find(master, hash);

	if (key)
		return key;
	key = calloc(1, sizeof(*key));
	if (!key) {
		master_fail(master);
		return NULL;
	}
	key->hash = *hash;
	key->op.key = key;
	key->due[RECORD_TIMED].owner = key;
	key->due[RECORD_RETRY].owner = key;
	key->rest.owner = key;
	HASH_ADD(hh, master->keys, hash, sizeof(key->hash), key);
	if (HASH_HAS(key))
		return key;
	free(key);
	master_fail(master);
	return NULL;
}

void key_free(struct master *master, struct master_key *key)
{
	int kind;

	op_forget(master, &key->op);
	requests_forget(key);
	stay_forget(master, key);
	rest_end(master, key);
	if (key->is_booked)
		key_unbook(master, key);
	if (order_is_ready(&key->order))
		order_remove(&master->order, &key->order);
	for (kind = 0; kind < KEY_RECORDS; kind++) {
		due_set(&master->due, &key->due[kind], NEVER, 0);
		free(key->records[kind]);
	}
	HASH_DEL(master->keys, key);
	free(key);
}

const struct record *key_fresh(const struct master_key *key, enum record_kind kind)
{
	struct versions granted = key->granted;
	const struct record *record = key->records[kind];

	return record && record->seq > *version_of(&granted, kind) ? record : NULL;
}

/* A key that is dead or remembered is no reason to grant it. */
static uint64_t retry_time(const struct master_key *key)
{
	const struct record *retry = key_fresh(key, RECORD_RETRY);

	return retry && retry->state == RETRY_WAITING ? retry->due : NEVER;
}

static uint64_t timed_time(const struct master_key *key)
{
	const struct record *timed = key->records[RECORD_TIMED];
	uint64_t owed, next;

	if (!timed)
		return NEVER;
	owed = timed_owed(timed, key->granted.timed);
	next = timed_next(timed, key->granted.timed);
	return owed < next ? owed : next;
}

static bool is_dirty(const struct master *master, const struct master_key *key)
{
	if (key->rest.place)
		return false;
	return key_fresh(key, RECORD_ADD) || timed_time(key) <= master->now.wall ||
	       retry_time(key) <= master->now.wall;
}

struct versions key_covered(const struct master *master, const struct master_key *key)
{
	const struct record *add = key_fresh(key, RECORD_ADD);
	const struct record *timed = key->records[RECORD_TIMED];
	const struct record *retry = key_fresh(key, RECORD_RETRY);
	struct versions covered = { 0 };

	if (!is_dirty(master, key))
		return covered;
	if (add)
		covered.add = add->seq;
	if (timed)
		covered.timed = timed_covered(timed, key->granted.timed, master->now.wall);
	if (retry && (retry->state != RETRY_WAITING || retry->due <= master->now.wall))
		covered.retry = retry->seq;
	return covered;
}

uint64_t key_value_version(const struct master_key *key)
{
	uint64_t version, last = 0;
	int i;

	for (i = 0; i < KEY_RECORDS; i++) {
		const struct record *record = key->records[i];

		version = record ? value_version(record) : 0;
		if (version > last)
			last = version;
	}
	return last;
}

/* Before the end the note belongs to the run, whose grant may have to be repeated. */
bool key_ends_note(const struct master_key *key, const struct record *record)
{
	return key->booking.stage != STAGE_NONE && note_version(record) <= key->booking.noted;
}

static const struct record *newest_note(const struct master_key *key)
{
	const struct record *newest = NULL;
	uint64_t last = 0;
	int i;

	for (i = 0; i < KEY_RECORDS; i++) {
		const struct record *record = key->records[i];

		if (!record || note_version(record) <= last || key_ends_note(key, record))
			continue;
		newest = record;
		last = note_version(record);
	}
	return newest;
}

uint64_t key_note_version(const struct master_key *key)
{
	const struct record *newest = newest_note(key);

	return newest ? note_version(newest) : 0;
}

/*
 * The value of the last add wins, and the group of the last one, whatever becomes of their records.
 */
static void take_values(struct work *work, const struct master_key *key)
{
	uint64_t value = 0, group = 0;
	int i;

	for (i = 0; i < KEY_RECORDS; i++) {
		const struct record *record = key->records[i];
		uint64_t version = record ? value_version(record) : 0;

		if (!record)
			continue;
		work->key = record->work.key;
		if (record->work.has_value && (!work->has_value || version > value)) {
			work->value = record->work.value;
			work->has_value = true;
			value = version;
		}
		if (record->work.has_group && (!work->has_group || version > group)) {
			work->group = record->work.group;
			work->has_group = true;
			group = version;
		}
	}
}

/* The highest priority and count of requeues. A worker's AddRateLimited brings its count. */
static void take_counts(struct work *work, const struct record *record, bool *is_set)
{
	if (!*is_set || record->work.priority > work->priority)
		work->priority = record->work.priority;
	if (record->work.requeues > work->requeues)
		work->requeues = record->work.requeues;
	*is_set = true;
}

struct work key_work(const struct master_key *key, const struct versions *versions)
{
	const struct record *retry = key->records[RECORD_RETRY];
	const struct record *note = newest_note(key);
	struct work work = { .abandoned = key_losses(key) };
	bool is_set = false;

	take_values(&work, key);
	if (note)
		work.note = note->work.note;
	if (versions->add && key->records[RECORD_ADD])
		take_counts(&work, key->records[RECORD_ADD], &is_set);
	if (versions->timed && key->records[RECORD_TIMED])
		take_counts(&work, key->records[RECORD_TIMED], &is_set);
	if (versions->retry && retry && retry->state == RETRY_WAITING)
		take_counts(&work, retry, &is_set);
	if (work.priority == KWQ_PRIORITY_NONE)
		work.priority = 0;
	/* L11: an add that revives a dead key resets its count. */
	if (retry && retry->state != RETRY_DEAD && retry->work.requeues > work.requeues)
		work.requeues = retry->work.requeues;
	return work;
}

static void count(struct master *master, struct master_key *key)
{
	const struct record *retry = key_fresh(key, RECORD_RETRY);
	unsigned int counted = 0;
	int i;

	counted |= (unsigned int)order_is_ready(&key->order) << COUNT_READY;
	counted |= (unsigned int)(key->due[RECORD_TIMED].place || key->due[RECORD_RETRY].place ||
				  key->rest.place) << COUNT_WAITING;
	counted |= (unsigned int)key->is_booked << COUNT_BOOKED;
	counted |= (unsigned int)(retry && retry->state == RETRY_DEAD) << COUNT_DEAD;
	counted |= (unsigned int)(retry && retry->state == RETRY_REMEMBERED) << COUNT_REMEMBERED;
	for (i = 0; i < COUNTS; i++)
		master->counts[i] += (size_t)(counted >> i & 1) - (size_t)(key->counted >> i & 1);
	key->counted = counted;
}

static void set_time(struct master *master, struct master_key *key, enum record_kind kind,
		     uint64_t time)
{
	const struct record *record = key->records[kind];

	if (time <= master->now.wall)
		time = NEVER;
	if (due_set(&master->due, &key->due[kind], time, record ? record->seq : 0))
		master_fail(master);
}

static void make_ready(struct master *master, struct master_key *key)
{
	struct versions covered = key_covered(master, key);
	struct work work = key_work(key, &covered);

	if (order_is_ready(&key->order)) {
		if (work.priority <= order_priority(&key->order) &&
		    order_is_in(&key->order, &work.group))
			return;
		order_remove(&master->order, &key->order);
	}
	if (order_add(&master->order, &key->order, work.priority, &work.group, key->is_ahead))
		master_fail(master);
	key->is_ahead = false;
}

static bool is_known(const struct master_key *key)
{
	return key->is_booked || key->op.id || key->op.is_late || key->requests ||
	       key->records[RECORD_ADD] || key->records[RECORD_TIMED] || key->records[RECORD_RETRY];
}

void key_settle(struct master *master, struct master_key *key)
{
	if (key->requests && !key->is_booked)
		request_begin(master, key);
	set_time(master, key, RECORD_TIMED, timed_time(key));
	set_time(master, key, RECORD_RETRY, retry_time(key));
	if (!is_dirty(master, key)) {
		if (order_is_ready(&key->order))
			order_remove(&master->order, &key->order);
	} else if (key->is_booked) {
		recall_to_coalesce(master, key);
	} else {
		make_ready(master, key);
	}
	count(master, key);
	if (!is_known(key))
		key_free(master, key);
}

void key_record(struct master *master, const struct record *record)
{
	struct master_key *key = key_get(master, &record->hash);
	struct record *copy;

	if (!key)
		return;
	if (key->records[record->kind] && record->seq <= key->records[record->kind]->seq)
		return;
	copy = record_copy(record);
	if (!copy) {
		master_fail(master);
		return;
	}
	free(key->records[record->kind]);
	key->records[record->kind] = copy;
	/* As locally, an add does not wait for the end of a backoff. */
	if (record->kind == RECORD_ADD)
		rest_end(master, key);
	if (key->booking.written)
		done_record_received(master, key);
	else
		key_settle(master, key);
}

static void raise(uint64_t *version, uint64_t to)
{
	if (*version < to)
		*version = to;
}

/*
 * The version of the value, or of the note, that an older master has granted. This one knows the
 * versions of the grant, and those of their records that were not replaced.
 */
static uint64_t granted_before(const struct master_key *key, struct versions versions,
			       uint64_t (*version_in)(const struct record *record))
{
	uint64_t last = 0;
	int i;

	for (i = 0; i < KEY_RECORDS; i++) {
		const struct record *record = key->records[i];
		uint64_t version = *version_of(&versions, i);

		if (record && record->seq == version)
			version = version_in(record);
		else if (i == RECORD_RETRY)
			version = 0;
		if (version > last)
			last = version;
	}
	return last;
}

void key_book(struct master *master, struct master_key *key, struct peer *holder,
	      struct token token, const struct versions *versions)
{
	bool is_own = token.epoch == master->options.epoch;

	key->booking = (struct booking){
		.holder = holder,
		.token = token,
		.versions = *versions,
		.valued = is_own ? key_value_version(key) :
				   granted_before(key, *versions, value_version),
		.noted = is_own ? key_note_version(key) :
				  granted_before(key, *versions, note_version),
		.priority = key_work(key, versions).priority,
	};
	key->is_booked = true;
	DL_APPEND2(holder->bookings, key, booking.prev, booking.next);
	holder->nr_bookings++;
	raise(&key->granted.add, versions->add);
	raise(&key->granted.timed, versions->timed);
	raise(&key->granted.retry, versions->retry);
	key_settle(master, key);
}

static void leave_bookings(struct peer *holder, struct master_key *key)
{
	DL_DELETE2(holder->bookings, key, booking.prev, booking.next);
	holder->nr_bookings--;
}

void key_begin_end(struct master_key *key)
{
	struct peer *holder = key->booking.holder;

	leave_bookings(holder, key);
	DL_APPEND2(holder->ending, key, booking.prev, booking.next);
	key->booking.stage = STAGE_RETRY;
}

void key_unbook(struct master *master, struct master_key *key)
{
	struct peer *holder = key->booking.holder;

	recall_forget(master, key);
	if (holder && key->booking.stage == STAGE_NONE)
		leave_bookings(holder, key);
	else if (holder)
		DL_DELETE2(holder->ending, key, booking.prev, booking.next);
	free(key->booking.result);
	key->booking = (struct booking){ 0 };
	key->is_booked = false;
	if (key->order.group)
		order_finish(&master->order, &key->order);
}

static void lower(uint64_t *granted, uint64_t booked)
{
	if (booked)
		*granted = booked - 1;
}

void key_take_back(struct master *master, struct master_key *key, bool ahead)
{
	lower(&key->granted.add, key->booking.versions.add);
	lower(&key->granted.timed, key->booking.versions.timed);
	lower(&key->granted.retry, key->booking.versions.retry);
	key_unbook(master, key);
	key->is_ahead = ahead;
	key_settle(master, key);
}

void keys_tick(struct master *master)
{
	struct due_item *due;
	unsigned int left = MASTER_DUE_MAX;

	rests_tick(master);
	while (left-- && !master->has_failed && (due = due_first(&master->due)) &&
	       due->time <= master->now.wall)
		key_settle(master, due->owner);
}

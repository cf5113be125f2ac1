// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The rules that must hold, by counters outside of the queue.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/core/copy.h"
#include "share/core/hash.h"
#include "sim.h"

/* How long a message and what it leads to may take when nothing is wrong. */
#define SLACK (200 * MS)
#define TTL (12 * SECOND)

struct key_hash hash_of(int key)
{
	static struct key_hash hashes[MOST_KEYS];
	static bool is_named[MOST_KEYS];
	char name[16];

	if (!is_named[key]) {
		snprintf(name, sizeof(name), "key %d", key);
		name_key(&hashes[key], name, key);
		is_named[key] = true;
	}
	return hashes[key];
}

/* Returns -1 for none. */
int key_of(const struct key_hash *hash)
{
	int key;

	for (key = 0; key < MOST_KEYS; key++) {
		const struct key_hash of_key = hash_of(key);

		if (same_hash(hash, &of_key))
			return key;
	}
	return -1;
}

/* Whether it may be stored once more. */
static bool is_open(const struct checked_add *add, uint64_t wall)
{
	return !add->acked || add->copies || add->late_until + WALL_AT_START >= wall;
}

/* D2: the earlier of two times counts, if it has not come. */
static void coalesce(struct checked_add *a, struct checked_add *b, uint64_t wall)
{
	if (!a->due || (!is_open(a, wall) && a->due + SLACK < wall))
		return;
	if (a->served_from < b->served_from)
		b->served_from = a->served_from;
	else
		a->served_from = b->served_from;
}

struct bytes note_text(char text[16], int note)
{
	return (struct bytes){ text, note ? snprintf(text, 16, "note %d", note) : 0 };
}

/* Returns its number, or 0 if there is none. */
static int give_note(struct sim *sim, struct checked_key *key)
{
	if (key->nr_notes + 1 == MOST_NOTES)
		return 0;
	key->notes[++key->nr_notes] = (struct checked_note){ .given = sim->now };
	return key->nr_notes;
}

struct checked_add *check_add(struct machine *machine, int key, int priority, uint64_t due)
{
	struct sim *sim = machine->sim;
	struct checked_key *checked = &sim->keys[key];
	struct checked_add *add = &checked->adds[checked->nr_adds++];
	uint64_t wall = sim->now + WALL_AT_START;
	bool has_value = !sim_chance(sim, 2000);
	bool keeps = has_value && sim_chance(sim, 1000);
	int i;

	checked->active_at = sim->now;
	if (sim->now <= checked->unsure_until)
		checked->excused = checked->world + 1;
	*add = (struct checked_add){
		.invoked = sim->now,
		.due = due,
		.served_from = due ? due : wall,
		.value = ++checked->world,
		.priority = priority,
		.keeps = keeps,
		.has_value = has_value,
		.is_removed = sim->now <= checked->unsure_until,
	};
	/* As a worker's retry. Of adds that are published twice nobody knows the last one. */
	if (sim->mode == MODE_CALM && add->value % 4 == 0)
		add->note = give_note(sim, checked);
	for (i = 0; due && i < checked->nr_adds - 1; i++)
		coalesce(&checked->adds[i], add, wall);
	sim_trace(sim, "%s %d of key %d note %d priority %d due in %lld ms",
		  !has_value ? "add without value" : keeps ? "keep" : "add",
		  add->value, key, add->note, priority, due ? (long long)((due - wall) / MS) : 0LL);
	return add;
}

/* Workers see no sequence number. */
static struct token seen_by_workers(struct token token)
{
	token.epoch = epoch_count(token.epoch);
	return token;
}

/* N3: an older token never comes after a newer one, and nobody else is at work. */
static void check_exclusive(struct machine *machine, const struct local *local)
{
	struct sim *sim = machine->sim;
	struct checked_key *key = &sim->keys[local->key];
	struct token token = seen_by_workers(local->token);

	if (key->running++)
		sim_fail(sim, "overlap: key %d is at work twice", local->key);
	/* The kernel numbers the hand-outs of a key that came back. */
	if (!token_less(key->last, token) && !(local->came_back && same_token(key->last, token)))
		sim_fail(sim, "token: key %d has %llu.%llu after %llu.%llu", local->key,
			 (unsigned long long)token.epoch, (unsigned long long)token.number,
			 (unsigned long long)key->last.epoch, (unsigned long long)key->last.number);
	key->last = token;
}

/*
 * D5: each run has a reason that is due. Faults may repeat a run, but none of them may serve what
 * is not due.
 */
static void check_reasons(struct machine *machine, struct checked_key *key,
			  const struct local *local)
{
	struct sim *sim = machine->sim;
	uint64_t wall = sim->now + WALL_AT_START;
	uint64_t granted = local->since + WALL_AT_START - SLACK;
	/* A worker died with it. */
	bool has_reason = key->came_back;
	int i;

	key->came_back = false;
	for (i = 0; i < 8; i++) {
		has_reason |= key->retries[i] && key->retries[i] <= wall;
		if (key->retries[i] <= granted)
			key->retries[i] = 0;
	}
	for (i = 0; i < key->nr_adds; i++) {
		struct checked_add *add = &key->adds[i];

		if (add->is_served || add->served_from > wall)
			continue;
		has_reason = true;
		/*
		 * One that was not acknowledged may come once more, and one with an earlier time of
		 * others may not have it.
		 */
		add->is_served = add->acked && add->acked + SLACK < local->since &&
				 add->due <= granted;
	}
	if (has_reason)
		return;
	if (sim->mode == MODE_DEATHS && key->removed_at && key->removed_at < local->since &&
	    key->active_at < key->asked_at)
		sim_fail(sim, "N9: key %d was removed %llu ms ago", local->key,
			 (unsigned long long)((sim->now - key->removed_at) / MS));
	sim->extra_runs++;
	if (sim->mode == MODE_CALM)
		sim_fail(sim, "early or without a reason: key %d", local->key);
}

/*
 * An add that keeps the value keeps that of its own kind, timed or not: so it may bring an older
 * one back.
 */
static bool is_overwritten(const struct checked_key *key, const struct checked_add *add,
			   uint64_t by)
{
	int i;

	for (i = 0; i < key->nr_adds; i++)
		if (key->adds[i].keeps && key->adds[i].invoked > add->invoked)
			return false;
	for (i = 0; i < key->nr_adds; i++) {
		const struct checked_add *later = &key->adds[i];

		if (!later->has_value || later->keeps || !later->acked || later->is_removed)
			continue;
		if (later->acked + SLACK < by && add->acked && add->acked < later->invoked)
			return true;
	}
	return false;
}

/* A run without a value. A retry had one, or an add since the last run. */
static bool has_lost_value(const struct checked_key *key, uint64_t granted)
{
	int i;

	if (key->retry_has_value)
		return true;

	for (i = 0; i < key->nr_adds; i++) {
		const struct checked_add *add = &key->adds[i];

		if (add->has_value && !add->is_removed && add->invoked > key->last_start &&
		    add->acked && add->acked + SLACK < granted)
			return true;
	}
	return false;
}

static bool is_stored(const struct checked_note *note, uint64_t by)
{
	return note->acked && note->acked + SLACK < by;
}

/*
 * The last note counts until a run ends well. It goes with a key that is done, too, unless that is
 * added meanwhile. @since: when the key was granted
 */
static void check_note(struct sim *sim, int nr, struct bytes note, uint64_t since)
{
	const struct checked_key *key = &sim->keys[nr];
	char text[16] = "";
	int got = 0, i;

	if (note.len < sizeof(text))
		memcpy(text, note.at, note.len);
	if (note.len && (sscanf(text, "note %d", &got) != 1 || got < 1 || got > key->nr_notes)) {
		sim_fail(sim, "note: key %d has \"%s\"", nr, text);
		return;
	}
	if (sim->mode == MODE_FAULTS)
		return;
	if (got && is_stored(&key->notes[got], key->well_since))
		sim_fail(sim, "note: key %d has %d, and a run has ended well since", nr, got);
	for (i = got + 1; i <= key->nr_notes; i++) {
		const struct checked_note *later = &key->notes[i];

		if (!is_stored(later, since) || key->over_at >= later->given)
			continue;
		if (!got || (key->notes[got].acked && key->notes[got].acked < later->given))
			sim_fail(sim, "note: key %d has %d, not %d", nr, got, i);
	}
}

/* Q18, Q12 */
static void check_work(struct machine *machine, struct checked_key *key, const struct local *local)
{
	struct sim *sim = machine->sim;
	const struct work *work = &local->work->work;
	char name[16], value[16] = "";
	int nr, i;

	snprintf(name, sizeof(name), "key %d", local->key);
	if (work->key.len != strlen(name) || memcmp(work->key.at, name, work->key.len))
		sim_fail(sim, "key %d has another name", local->key);
	if (work->has_value && work->value.len < sizeof(value))
		memcpy(value, work->value.at, work->value.len);
	nr = atoi(value);
	if (work->has_value ? nr < 1 || nr > key->nr_adds || !key->adds[nr - 1].has_value : nr) {
		sim_fail(sim, "value: key %d has \"%s\"", local->key, value);
		return;
	}
	if (work->has_group != key->has_group)
		sim_fail(sim, "group: key %d lost or found one", local->key);
	if (sim->mode == MODE_FAULTS)
		return;
	if (!nr && has_lost_value(key, local->since))
		sim_fail(sim, "value: key %d has lost it", local->key);
	if (nr && is_overwritten(key, &key->adds[nr - 1], local->since))
		sim_fail(sim, "value: key %d has %d, which was replaced", local->key, nr);
	for (i = 0; i < key->nr_adds; i++) {
		const struct checked_add *add = &key->adds[i];

		if (!add->due && !add->is_removed && add->acked &&
		    add->acked + SLACK < local->since && add->invoked > key->last_start &&
		    add->priority > work->priority)
			sim_fail(sim, "priority: key %d has %d, not %d", local->key, work->priority,
				 add->priority);
	}
}

/* N4 */
static void check_requeues(struct machine *machine, struct checked_key *key,
			   const struct local *local)
{
	struct sim *sim = machine->sim;
	uint32_t requeues = local->work->work.requeues;
	int i, known = sim->mode == MODE_CALM ? 1 : ENDS;

	if ((key->nr_ends < known || sim->has_requests) && !requeues)
		return;
	for (i = 0; i < known && i < key->nr_ends; i++)
		if (key->requeues[(key->nr_ends - 1 - i) % ENDS] == requeues)
			return;
	sim_fail(sim, "requeues: key %d has %u", local->key, requeues);
}

/*
 * N5: the key of a dead machine is not handed out in time, although a worker sleeps. While all are
 * busy it may wait behind others.
 */
static bool is_late(const struct sim *sim, const struct checked_key *key)
{
	return sim->mode == MODE_DEATHS && key->owed_at &&
	       sim->now > key->owed_at + TTL + 2 * SECOND && sim->now > sim->busy_at + 500 * MS;
}

void check_granted(struct machine *machine, int nr)
{
	struct sim *sim = machine->sim;
	struct checked_key *key = &sim->keys[nr];

	sim->moved += key->owed_at != 0;
	if (is_late(sim, key))
		sim_fail(sim, "N5: key %d moved after %llu ms", nr,
			 (unsigned long long)((sim->now - key->owed_at) / MS));
	key->owed_at = 0;
}

/* Q16 */
static void check_group(struct sim *sim, int key)
{
	uint32_t working = 0;
	int i;

	for (i = key % 3; i < sim->nr_keys; i += 3)
		working += sim->keys[i].has_group ? sim->keys[i].running : 0;
	if (sim->mode == MODE_CALM && sim->group_limit && working > sim->group_limit)
		sim_fail(sim, "group: %u keys are at work", working);
}

void check_start(struct machine *machine, struct local *local)
{
	struct sim *sim = machine->sim;
	struct checked_key *key = &sim->keys[local->key];

	sim_trace(sim, "machine %d starts key %d, %llu.%llu, value %.*s, %.*s", machine->index,
		  local->key, (unsigned long long)local->token.epoch,
		  (unsigned long long)local->token.number, (int)local->work->work.value.len,
		  (const char *)local->work->work.value.at, (int)local->work->work.note.len,
		  (const char *)local->work->work.note.at);
	sim->runs++;
	local->saw = key->world;
	check_exclusive(machine, local);
	check_work(machine, key, local);
	check_note(sim, local->key, local->work->work.note, local->since);
	check_requeues(machine, key, local);
	check_reasons(machine, key, local);
	check_group(sim, local->key);
	key->last_start = sim->now;
}

static void note_retry(const struct sim *sim, struct checked_key *key, uint64_t due)
{
	int i = key->nr_retries++ % 8;

	key->retries[i] = due;
	key->retried[i] = sim->now;
	key->active_at = sim->now;
}

/* Adds and retries up to now may be gone. */
static void excuse_all(struct sim *sim, struct checked_key *key)
{
	int i;

	for (i = 0; i < key->nr_adds; i++)
		key->adds[i].is_removed = true;
	key->excused = key->world;
	key->retry_has_value = false;
	key->over_at = sim->now;
	key->owed_at = 0;
}

/* It may be done from now on. */
void check_requested(struct sim *sim, const struct checked_request *request)
{
	struct checked_key *key = &sim->keys[request->key];

	sim_trace(sim, "machine %d: request %d of key %d", request->machine->index, request->what,
		  request->key);
	if (request->what != REQUEST_KICK)
		excuse_all(sim, key);
	if (request->what == REQUEST_KICK || request->what == REQUEST_END_WAIT)
		note_retry(sim, key, sim->now + WALL_AT_START);
}

/* N9: what was there before the request is no reason to run any more. */
static void check_gone(struct checked_key *key, uint64_t sent)
{
	int i;

	for (i = 0; i < key->nr_adds; i++) {
		struct checked_add *add = &key->adds[i];

		if (add->acked && add->acked < sent && !add->copies && add->late_until < sent)
			add->is_served = true;
	}
	for (i = 0; i < 8; i++)
		if (key->retried[i] < sent)
			key->retries[i] = 0;
}

void check_replied(struct sim *sim, struct checked_request *request, uint32_t was)
{
	struct checked_key *key = &sim->keys[request->key];

	sim_trace(sim, "machine %d: request %d of key %d is done: %x", request->machine->index,
		  request->what, request->key, was);
	request->done = sim->now;
	if (request->what != REQUEST_KICK)
		excuse_all(sim, key);
	if (request->what != REQUEST_REMOVE)
		return;
	check_gone(key, request->sent);
	key->removed_at = sim->now;
	key->asked_at = request->sent;
}

void check_unanswered(struct sim *sim, struct checked_request *request)
{
	request->done = sim->now;
	excuse_all(sim, &sim->keys[request->key]);
	sim->keys[request->key].unsure_until = sim->now + 30 * SECOND;
}

int check_end(struct machine *machine, struct local *local, const struct member_end *end)
{
	struct sim *sim = machine->sim;
	struct checked_key *key = &sim->keys[local->key];
	bool fails = end->outcome == OUTCOME_RETRY || end->outcome == OUTCOME_DEAD;
	int64_t due_in = end->due ? end->due - sim->now - WALL_AT_START : 0;

	sim_trace(sim, "machine %d ends key %d: %d, due in %lld ms", machine->index, local->key,
		  end->outcome, (long long)(due_in / (int64_t)MS));
	key->retry_has_value = end->outcome == OUTCOME_RETRY && local->work->work.has_value;
	key->requeues[key->nr_ends++ % ENDS] = end->outcome == OUTCOME_DEAD ? 0 : end->requeues;
	if (end->outcome == OUTCOME_RETRY)
		note_retry(sim, key, end->due);
	else if (local->saw > key->seen)
		key->seen = local->saw;
	if (!fails)
		key->over_at = sim->now;
	key->ending.machine = machine->index;
	key->ending.is_well = end->outcome == OUTCOME_DONE;
	key->ending.since = local->since;
	key->ending.note = fails && key->nr_ends % 3 ? give_note(sim, key) : 0;
	return key->ending.note;
}

void check_confirmed(struct machine *machine, int nr)
{
	struct sim *sim = machine->sim;
	struct checked_key *key = &sim->keys[nr];

	if (key->ending.machine != machine->index)
		return;
	if (key->ending.note && !key->notes[key->ending.note].acked)
		key->notes[key->ending.note].acked = sim->now;
	/* A later master does not know of notes that wait beside what was granted. */
	if (key->ending.is_well && sim->elected_at < key->ending.since)
		key->well_since = key->ending.since;
	key->ending.note = 0;
	key->ending.is_well = false;
}

static bool has_sleeper(const struct sim *sim)
{
	int i;

	for (i = 0; i < sim->nr_machines; i++)
		if (sim->machines[i].process && machine_sleepers(&sim->machines[i]))
			return true;
	return false;
}

/* N6: a worker sleeps here, and a key waits for a worker there. */
static bool is_unfair(struct sim *sim)
{
	bool waits = false;
	int i;

	for (i = 0; i < sim->nr_machines; i++) {
		const struct machine *machine = &sim->machines[i];
		const struct local *local;

		DL_FOREACH(machine->locals, local)
			waits |= !local->worker;
		if (machine->master)
			waits |= !sim->group_limit && master_status(machine->master).ready;
	}
	return waits && has_sleeper(sim);
}

void check_often(struct sim *sim)
{
	int i;

	for (i = 0; i < sim->nr_machines; i++) {
		const struct machine *machine = &sim->machines[i];

		if (machine->member && member_status(machine->member).surprises)
			sim_fail(sim, "a grant of a key at work");
	}
	/* An election takes its time. */
	if (sim->now < sim->elected_at + 2 * SECOND || !is_unfair(sim))
		sim->hungry_since = sim->now;
	else if (sim->mode == MODE_CALM && sim->now > 5 * SECOND &&
		 sim->now - sim->hungry_since > 500 * MS)
		sim_fail(sim, "N6: a worker sleeps for %llu ms",
			 (unsigned long long)((sim->now - sim->hungry_since) / MS));
	if (!has_sleeper(sim))
		sim->busy_at = sim->now;
	for (i = 0; i < sim->nr_keys; i++)
		if (is_late(sim, &sim->keys[i]))
			sim_fail(sim, "N5: key %d was not moved", i);
}

static void check_adds(struct sim *sim, int nr, struct checked_key *key)
{
	int i;

	if (key->seen != key->world && key->excused < key->world)
		sim_fail(sim, "lost: key %d has seen %d of %d adds", nr, key->seen, key->world);
	for (i = 0; i < key->nr_adds; i++) {
		const struct checked_add *add = &key->adds[i];

		if (add->acked && !add->is_removed &&
		    add->served_from > key->last_start + WALL_AT_START)
			sim_fail(sim, "early: key %d never ran after the time of add %d", nr,
				 add->value);
	}
}

void check_quiet(struct sim *sim)
{
	struct master_status status = { 0 };
	size_t dead = 0, remembered = 0;
	const struct stored *stored;
	uint64_t highest = 0;
	int i;

	for (i = 0; i < sim->nr_keys; i++)
		check_adds(sim, i, &sim->keys[i]);
	for (i = 0; i < sim->nr_requests; i++)
		if (!sim->requests[i].done)
			sim_fail(sim, "N9: request %d of key %d was never answered", i,
				 sim->requests[i].key);
	/* A grant may overtake another one. Then the other key may count as the one at work. */
	if (sim->killed > MOST_LOSSES + 1)
		sim_fail(sim, "losses: a key has ended %llu machines",
			 (unsigned long long)sim->killed);
	for (i = 0; i < sim->nr_machines; i++) {
		const struct machine *machine = &sim->machines[i];
		struct member_status member;

		if (!machine->process) {
			sim_fail(sim, "machine %d is away", i);
			continue;
		}
		member = member_status(machine->member);
		if (member.held || member.adds || !member.lease_until || machine->locals)
			sim_fail(sim, "machine %d holds %zu keys and %zu adds, lease %llu", i,
				 member.held, member.adds, (unsigned long long)member.lease_until);
		if (machine->master && machine->epoch > highest) {
			highest = machine->epoch;
			status = master_status(machine->master);
		}
	}
	DL_FOREACH(sim->stored, stored) {
		const struct record *record = stored->record;

		if (record->kind < RECORD_RETRY ||
		    (record->kind == RECORD_RETRY && record->state == RETRY_WAITING))
			sim_fail(sim, "left in the stream: kind %d of key %d", record->kind,
				 key_of(&record->hash));
		if (record->kind == RECORD_RETRY && record->state == RETRY_DEAD)
			check_note(sim, key_of(&record->hash), record->work.note, sim->now);
		else if (record->work.note.len)
			sim_fail(sim, "note: one is left of key %d", key_of(&record->hash));
		dead += record->kind == RECORD_RETRY && record->state == RETRY_DEAD;
		remembered += record->kind == RECORD_RETRY && record->state == RETRY_REMEMBERED;
	}
	if (!status.is_serving || status.ready || status.waiting || status.booked || status.missing)
		sim_fail(sim, "the master is not quiet: serving %d ready %zu waiting %zu booked %zu missing %zu",
			 status.is_serving, status.ready, status.waiting, status.booked,
			 status.missing);
	/* A deposed master may erase the record of a dead key after the last one has read it. */
	if (sim->mode == MODE_FAULTS && status.dead > dead)
		status.dead = dead;
	if (status.dead != dead || status.remembered != remembered ||
	    status.machines != (size_t)sim->nr_machines)
		sim_fail(sim, "the master counts %zu dead, %zu remembered, %zu machines, not %zu, %zu, %d",
			 status.dead, status.remembered, status.machines, dead, remembered,
			 sim->nr_machines);
}

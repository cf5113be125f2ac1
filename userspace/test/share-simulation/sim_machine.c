// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A machine: its daemon, its kernel with the local queue and the term, and its workers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/core/copy.h"
#include "share/core/hash.h"
#include "sim.h"

#define TTL (12 * SECOND)

/* The lease of each life is between one and two of these, except where N5 is measured. */
static const struct member_options member_options = {
	.ttl = TTL, .beat = 3 * SECOND, .repeat = 500 * MS, .is_candidate = true,
};

static const struct window narrow = {
	.size = 1, .least = 1, .usual = 1, .most = 2, .fast = 50 * MS, .slow = 200 * MS,
};

static const struct master_options master_options = {
	.margin = SECOND, .repeat = 500 * MS, .recall = 100 * MS, .clean = 2 * TTL,
	.rest = 5 * MS, .longest_rest = 1000 * SECOND,
};

struct instant machine_now(const struct machine *machine)
{
	uint64_t now = machine->sim->now;

	return (struct instant){ .boot = now + machine->boot_offset, .wall = now + WALL_AT_START };
}

struct machine *machine_named(struct sim *sim, const char *name)
{
	int i;

	for (i = 0; i < sim->nr_machines; i++)
		if (sim->machines[i].process && !strcmp(sim->machines[i].name, name))
			return &sim->machines[i];
	return NULL;
}

struct machine *machine_of_epoch(struct sim *sim, uint64_t epoch)
{
	int i;

	for (i = 0; i < sim->nr_machines; i++)
		if (sim->machines[i].master && sim->machines[i].epoch == epoch)
			return &sim->machines[i];
	return NULL;
}

static struct event *machine_after(struct machine *machine, uint64_t delay, bool is_daemon,
				   void (*run)(struct sim *, struct event *))
{
	struct event *event = sim_after(machine->sim, delay, run);

	event->machine = machine;
	event->process = machine->process;
	event->is_daemon = is_daemon;
	return event;
}

static bool is_paused(const struct machine *machine)
{
	return machine->paused_until > machine->sim->now;
}

int machine_sleepers(const struct machine *machine)
{
	int sleepers = machine->workers - machine->dead_workers - machine->busy;

	return is_paused(machine) || sleepers < 0 ? 0 : sleepers;
}

static void tell_slots(struct machine *machine)
{
	bool has_workers = machine->dead_workers < machine->workers || machine->busy;
	int slots = machine->sim->prefetch ?: machine->workers * 2;

	if (machine->member)
		member_set_slots(machine->member, has_workers && !is_paused(machine) ? slots : 0,
				 machine_sleepers(machine), machine_now(machine));
}

static void free_local(struct machine *machine, struct local *local)
{
	struct checked_key *key = &machine->sim->keys[local->key];

	if (local->worker) {
		machine->busy--;
		key->running--;
	}
	DL_DELETE(machine->locals, local);
	free(local->work);
	free(local);
}

static void drop_locals(struct machine *machine)
{
	struct local *local, *next;

	DL_FOREACH_SAFE(machine->locals, local, next)
		free_local(machine, local);
}

static struct local *find_local(struct machine *machine, int key, struct token token)
{
	struct local *local;

	DL_FOREACH(machine->locals, local)
		if (local->key == key && same_token(local->token, token))
			return local;
	return NULL;
}

/* Local events reach the daemon later, and later still if it is stopped. */
static void slots_event(struct sim *sim, struct event *event)
{
	(void)sim;
	tell_slots(event->machine);
	machine_rearm(event->machine);
}

static void taken_event(struct sim *sim, struct event *event)
{
	struct machine *machine = event->machine;

	(void)sim;
	member_taken(machine->member, &event->hash, event->token, true, machine_now(machine));
	tell_slots(machine);
	machine_rearm(machine);
}

static void ended_event(struct sim *sim, struct event *event)
{
	struct machine *machine = event->machine;
	char note[16];
	const struct local_event told = {
		.kind = LOCAL_ENDED,
		.outcome = event->id,
		.due = event->seq,
		.work = {
			.requeues = event->op,
			.priority = (int)event->expected,
			.abandoned = event->losses,
			.note = note_text(note, event->tail),
		},
	};
	const struct member_end end = convert_end(&told, 0);

	(void)sim;
	member_ended(machine->member, &event->hash, event->token, &end, machine_now(machine));
	tell_slots(machine);
	machine_rearm(machine);
}

static struct member_end choose_end(struct machine *machine, const struct local *local)
{
	struct sim *sim = machine->sim;
	const struct work *work = &local->work->work;
	struct member_end end = { .outcome = OUTCOME_DONE, .priority = work->priority };
	bool may_fail = sim->now < sim->adds_until;
	uint64_t what = sim_random(sim, 100);

	if (!may_fail || what >= 40)
		return end;
	if (what < 25 && work->requeues < 5) {
		end.outcome = OUTCOME_RETRY;
		end.requeues = work->requeues + 1;
		end.due = sim->now + WALL_AT_START +
			  sim_random(sim, sim_chance(sim, 2000) ? 30 * SECOND : SECOND);
	} else if (what < 35) {
		end.outcome = OUTCOME_REMEMBERED;
		end.requeues = work->requeues;
	} else {
		end.outcome = OUTCOME_DEAD;
		end.requeues = work->requeues;
	}
	return end;
}

static void work_next(struct machine *machine);

static void job_ends(struct sim *sim, struct event *event)
{
	struct machine *machine = event->machine;
	struct local *local = find_local(machine, key_of(&event->hash), event->token);
	struct member_end end;
	struct event *report;
	int note;

	/* The term has ended it, or its worker has died. */
	if (!local || !local->worker || local->hand_outs != (int)event->seq)
		return;
	end = choose_end(machine, local);
	note = check_end(machine, local, &end);
	report = machine_after(machine, sim_random(sim, MS), true, ended_event);
	report->hash = event->hash;
	report->token = event->token;
	report->id = end.outcome;
	report->seq = end.due;
	report->op = end.requeues;
	report->tail = note;
	report->expected = (uint64_t)(int64_t)end.priority;
	free_local(machine, local);
	work_next(machine);
}

/* Some jobs take long: fewer if all is calm, none if machines die. */
static uint64_t job_length(struct sim *sim)
{
	static const unsigned int long_ones[MODES] = { [MODE_CALM] = 300, [MODE_FAULTS] = 2500 };
	bool is_long = long_ones[sim->mode] && sim_chance(sim, long_ones[sim->mode]);

	return sim_random(sim, is_long ? 20 * SECOND : 300 * MS);
}

static void killed_event(struct sim *sim, struct event *event)
{
	if (event->process != event->machine->process)
		return;
	sim->killed++;
	machine_kill(event->machine);
}

static bool is_killer(const struct sim *sim, int key)
{
	return sim->mode == MODE_KILLER && !key;
}

static void begin_job(struct machine *machine, struct local *local)
{
	struct sim *sim = machine->sim;
	uint64_t length = job_length(sim);
	struct event *event;

	local->worker = 1;
	local->hand_outs++;
	machine->busy++;
	check_start(machine, local);
	if (is_killer(sim, local->key)) {
		/* Its machine has had the time to tell. */
		machine_after(machine, SECOND + length, false, killed_event);
	} else {
		event = machine_after(machine, length, false, job_ends);
		event->seq = local->hand_outs;
		event->hash = hash_of(local->key);
		event->token = local->token;
	}
	event = machine_after(machine, sim_random(sim, MS), true, taken_event);
	event->hash = hash_of(local->key);
	event->token = local->token;
}

/* The kernel hands out as long as the term lasts, whatever the daemon does. */
static void work_next(struct machine *machine)
{
	struct local *local;

	DL_FOREACH(machine->locals, local) {
		if (!machine_sleepers(machine) ||
		    (machine->term && machine->term <= machine->sim->now))
			break;
		if (!local->worker)
			begin_job(machine, local);
	}
	if (machine->process)
		machine_after(machine, 0, true, slots_event);
}

static void work_event(struct sim *sim, struct event *event)
{
	(void)sim;
	work_next(event->machine);
}

/* The daemon reads the last state of a key. */
static void untaken_event(struct sim *sim, struct event *event)
{
	struct machine *machine = event->machine;
	struct local *local = find_local(machine, key_of(&event->hash), event->token);

	(void)sim;
	if (!local || local->worker)
		return;
	member_taken(machine->member, &event->hash, event->token, false, machine_now(machine));
	tell_slots(machine);
	machine_rearm(machine);
}

static void worker_event(struct sim *sim, struct event *event)
{
	(void)sim;
	event->machine->dead_workers--;
	work_next(event->machine);
}

/* A worker of the machine, which has a key if any of them has one. */
void machine_worker_dies(struct machine *machine)
{
	struct sim *sim = machine->sim;
	struct local *local;
	struct event *event;

	if (!machine->process || machine->dead_workers >= machine->workers)
		return;
	machine->dead_workers++;
	event = sim_after(sim, sim_random(sim, sim_chance(sim, 5000) ? SECOND : 20 * SECOND),
			  worker_event);
	event->machine = machine;
	DL_FOREACH(machine->locals, local)
		if (local->worker)
			break;
	if (!local) {
		machine_after(machine, MS, true, slots_event);
		return;
	}
	sim_trace(sim, "machine %d: a worker dies with key %d", machine->index, local->key);
	local->worker = 0;
	local->came_back = true;
	local->losses++;
	sim->keys[local->key].came_back = true;
	sim->keys[local->key].running--;
	machine->busy--;
	event = machine_after(machine, MS, true, untaken_event);
	event->hash = hash_of(local->key);
	event->token = local->token;
	machine_after(machine, 0, false, work_event);
}

void machine_pause(struct machine *machine, uint64_t length)
{
	sim_trace(machine->sim, "machine %d: paused", machine->index);
	machine->paused_until = machine->sim->now + length;
	if (machine->process)
		machine_after(machine, sim_random(machine->sim, MS), true, slots_event);
	sim_after(machine->sim, length, work_event)->machine = machine;
}

static void term_ends(struct sim *sim, struct event *event)
{
	struct machine *machine = event->machine;

	if (machine->term == event->seq && machine->term <= sim->now) {
		sim_trace(sim, "machine %d: term over", machine->index);
		drop_locals(machine);
	}
}

/* Callbacks of the member */
static void send_to_master(void *arg, const struct message *message)
{
	network_send(arg, NULL, message);
}

static void member_publish(void *arg, uint64_t op, const struct record *record, uint64_t expected)
{
	stream_publish(arg, false, op, record, expected);
}

static void member_read_op(void *arg, uint64_t op, enum record_kind kind,
			   const struct key_hash *hash)
{
	stream_read(arg, false, op, kind, hash);
}

static void read_join(void *arg, uint64_t op)
{
	struct machine *machine = arg;

	stream_read_of_machine(machine, false, op, RECORD_JOIN, machine->name);
}

static void follow(void *arg, uint64_t tail)
{
	stream_follow(arg, false, tail);
}

static void lease_until(void *arg, uint64_t boot)
{
	struct machine *machine = arg;
	struct sim *sim = machine->sim;
	struct event *end;

	machine->term = boot - machine->boot_offset;
	if (machine->term <= sim->now)
		return;
	end = machine_after(machine, machine->term - sim->now, false, term_ends);
	end->seq = machine->term;
}

static void join_event(struct sim *sim, struct event *event)
{
	struct machine *machine = event->machine;

	if (machine->is_leaving)
		return;
	snprintf(machine->name, sizeof(machine->name), "m%d-%llu", machine->index,
		 (unsigned long long)sim_random(sim, UINT64_MAX));
	sim_trace(sim, "machine %d joins as %s", machine->index, machine->name);
	member_join(machine->member, machine->name, machine_now(machine));
	machine_rearm(machine);
}

static void lease_lost(void *arg)
{
	struct machine *machine = arg;

	sim_trace(machine->sim, "machine %d: lease lost", machine->index);
	drop_locals(machine);
	machine->term = 0;
	machine_after(machine, MS, true, join_event);
}

/* As the kernel: nobody gets a key with so many losses. */
static void end_lost(struct machine *machine, struct local *local)
{
	struct sim *sim = machine->sim;
	struct member_end end = { .outcome = OUTCOME_DEAD };
	struct event *event;

	if (local->key)
		sim_fail(sim, "losses: key %d is innocent", local->key);
	local->saw = sim->keys[local->key].world;
	event = machine_after(machine, 0, true, ended_event);
	event->hash = hash_of(local->key);
	event->token = local->token;
	event->id = end.outcome;
	event->tail = check_end(machine, local, &end);
	free_local(machine, local);
}

static void start(void *arg, const struct key_hash *hash, const struct work *work,
		  struct token token)
{
	struct machine *machine = arg;
	struct sim *sim = machine->sim;
	const struct record record = { .work = *work };
	struct local *local = calloc(1, sizeof(*local));

	local->key = key_of(hash);
	local->token = token;
	local->work = copy_of_record(&record);
	local->since = sim->now;
	check_granted(machine, local->key);
	DL_APPEND(machine->locals, local);
	if (sim->mode == MODE_KILLER && work->abandoned >= MOST_LOSSES)
		end_lost(machine, local);
	else
		machine_after(machine, sim_random(sim, MS), false, work_event);
}

static void take_back(void *arg, const struct key_hash *hash, struct token token)
{
	struct machine *machine = arg;
	struct local *local = find_local(machine, key_of(hash), token);
	struct event *event;

	if (!local || local->worker)
		return;
	event = machine_after(machine, 0, true, ended_event);
	event->losses = local->work->work.abandoned + local->losses;
	free_local(machine, local);
	event->hash = *hash;
	event->token = token;
	event->id = OUTCOME_RETURNED;
}

/* The kernel takes the key from its worker, whose job is killed. */
static void revoke(void *arg, const struct key_hash *hash, struct token token)
{
	struct machine *machine = arg;
	struct local *local = find_local(machine, key_of(hash), token);
	struct event *event;

	if (!local)
		return;
	sim_trace(machine->sim, "machine %d: key %d is revoked", machine->index, local->key);
	event = machine_after(machine, 0, true, ended_event);
	event->hash = *hash;
	event->token = token;
	event->id = local->worker ? OUTCOME_DONE : OUTCOME_RETURNED;
	event->losses = local->worker ? 0 : local->work->work.abandoned + local->losses;
	free_local(machine, local);
	work_next(machine);
}

static void replied(void *arg, uint64_t id, uint32_t was, bool is_sure)
{
	struct machine *machine = arg;

	(void)is_sure;
	check_replied(machine->sim, &machine->sim->requests[id], was);
}

static void added(void *arg, uint64_t id)
{
	struct machine *machine = arg;
	struct sim *sim = machine->sim;
	struct checked_add *add = &sim->keys[id % MOST_KEYS].adds[id / MOST_KEYS];

	add->copies &= ~(1U << machine->index);
	if (!add->acked)
		add->acked = sim->now;
	if (add->note && !sim->keys[id % MOST_KEYS].notes[add->note].acked)
		sim->keys[id % MOST_KEYS].notes[add->note].acked = sim->now;
}

static void send_to_machine(void *arg, const char *to, const struct message *message)
{
	network_send(arg, to, message);
}

static void master_publish(void *arg, uint64_t op, const struct record *record, uint64_t expected)
{
	stream_publish(arg, true, op, record, expected);
}

static void master_erase(void *arg, uint64_t op, uint64_t seq)
{
	stream_erase(arg, op, seq);
}

static void master_read_op(void *arg, uint64_t op, enum record_kind kind,
			   const struct key_hash *hash)
{
	stream_read(arg, true, op, kind, hash);
}

static void master_read_beat(void *arg, uint64_t op, const char *name)
{
	stream_read_of_machine(arg, true, op, RECORD_BEAT, name);
}

static void deposed_event(struct sim *sim, struct event *event)
{
	struct machine *machine = event->machine;

	(void)sim;
	if (machine->master_process != event->tail)
		return;
	master_free(machine->master);
	machine->master = NULL;
}

static void deposed(void *arg)
{
	struct machine *machine = arg;

	sim_trace(machine->sim, "machine %d is master no more", machine->index);
	machine_after(machine, 0, true, deposed_event)->tail = machine->master_process;
}

static void renew_event(struct sim *sim, struct event *event)
{
	(void)sim;
	member_elect(event->machine->member, machine_now(event->machine));
	machine_rearm(event->machine);
}

static void renew(void *arg)
{
	machine_after(arg, 0, true, renew_event);
}

static const struct master_ops master_ops = {
	.send = send_to_machine,
	.publish = master_publish,
	.erase = master_erase,
	.read = master_read_op,
	.read_beat = master_read_beat,
	.deposed = deposed,
	.renew = renew,
};

static void heard(void *arg, const char *name, uint64_t seq, uint64_t boot)
{
	struct machine *machine = arg;

	master_heard(machine->master, name, seq, boot);
}

static void elected_event(struct sim *sim, struct event *event)
{
	struct machine *machine = event->machine;
	struct master_options options = master_options;

	master_free(machine->master);
	options.epoch = event->id;
	options.elected = event->seq;
	options.group_limit = sim->group_limit;
	options.numbers = sim->numbers;
	options.window = sim->is_narrow ? narrow : window_for(TTL);
	machine->epoch = event->id;
	machine->elected_by = event->seq;
	machine->master_process = ++sim->last_process;
	machine->master = master_new(&options, &master_ops, machine);
	sim->elections++;
	sim->elected_at = sim->now;
	if (!machine->master) {
		machine_kill(machine);
		return;
	}
	sim_trace(sim, "machine %d is master %llu", machine->index, (unsigned long long)event->id);
	member_each_heard(machine->member, heard, machine);
	stream_follow(machine, true, machine->master_process);
	machine_rearm(machine);
}

static void elected(void *arg, uint64_t epoch, uint64_t seq)
{
	struct event *event = machine_after(arg, 0, true, elected_event);

	event->id = epoch;
	event->seq = seq;
}

static void confirmed(void *arg, const struct key_hash *hash)
{
	check_confirmed(arg, key_of(hash));
}

static void submit_later(struct sim *sim, int key, int add);

static void submit(struct machine *machine, int key, struct checked_add *check)
{
	struct sim *sim = machine->sim;
	char name[16], value[16], group[16], note[16];
	struct local_event told = {
		.kind = LOCAL_ADD,
		.hash = hash_of(key),
		.is_ready = !check->due,
		.is_waiting = check->due,
		.wait_priority = check->priority,
		.due = check->due,
	};
	struct member_add add;

	check->copies |= 1U << machine->index;
	snprintf(name, sizeof(name), "key %d", key);
	snprintf(value, sizeof(value), "%d", check->value);
	snprintf(group, sizeof(group), "group %d", key % 3);
	told.work = (struct work){
		.key = { name, strlen(name) },
		.value = { value, check->has_value ? strlen(value) : 0 },
		.note = note_text(note, check->note),
		.has_value = check->has_value,
		.priority = check->due ? 0 : check->priority,
	};
	if (sim->keys[key].has_group) {
		told.work.group = (struct bytes){ group, strlen(group) };
		told.work.has_group = true;
	}
	add = convert_add(&told, told.is_waiting, 0);
	add.policy = check->keeps ? VALUE_KEEP : VALUE_REPLACE;
	member_add(machine->member, (uint64_t)(check - sim->keys[key].adds) * MOST_KEYS + key, &add,
		   machine_now(machine));
	machine_rearm(machine);
}

static bool can_add(const struct machine *machine)
{
	return machine->process && machine->stopped_until <= machine->sim->now;
}

/* An adder goes on until its add is acknowledged, elsewhere if its machine died. */
static void add_again(struct sim *sim, struct event *event)
{
	struct machine *machine = &sim->machines[sim_random(sim, sim->nr_machines)];
	struct checked_add *check = &sim->keys[event->op].adds[event->id];

	if (can_add(machine)) {
		submit(machine, event->op, check);
		return;
	}
	submit_later(sim, event->op, event->id);
}

static void submit_later(struct sim *sim, int key, int add)
{
	struct event *event = sim_after(sim, sim_random(sim, SECOND), add_again);

	event->op = key;
	event->id = add;
}

static void submit_elsewhere(struct machine *machine)
{
	struct sim *sim = machine->sim;
	int key, i;

	for (key = 0; key < sim->nr_keys; key++) {
		for (i = 0; i < sim->keys[key].nr_adds; i++) {
			struct checked_add *add = &sim->keys[key].adds[i];

			if (!(add->copies & 1U << machine->index))
				continue;
			add->copies &= ~(1U << machine->index);
			add->late_until = sim->now + 10 * SECOND;
			if (!add->acked)
				submit_later(sim, key, i);
		}
	}
}

/* Nobody learns what became of them. */
static void forget_requests(struct machine *machine)
{
	struct sim *sim = machine->sim;
	int i;

	for (i = 0; i < sim->nr_requests; i++) {
		struct checked_request *request = &sim->requests[i];

		if (request->machine == machine && request->process == machine->process &&
		    !request->done)
			check_unanswered(sim, request);
	}
}

static void end_process(struct machine *machine)
{
	member_free(machine->member);
	master_free(machine->master);
	machine->member = NULL;
	machine->master = NULL;
	forget_requests(machine);
	machine->process = 0;
	drop_locals(machine);
	submit_elsewhere(machine);
}

static void start_event(struct sim *sim, struct event *event)
{
	(void)sim;
	if (!event->machine->process)
		machine_start(event->machine);
}

static void left_event(struct sim *sim, struct event *event)
{
	struct machine *machine = event->machine;

	sim_trace(sim, "machine %d has left", machine->index);
	end_process(machine);
	sim_after(sim, sim_random(sim, 5 * SECOND), start_event)->machine = machine;
}

static void left(void *arg)
{
	machine_after(arg, 0, true, left_event);
}

static const struct member_ops member_ops = {
	.send = send_to_master,
	.publish = member_publish,
	.read = member_read_op,
	.read_join = read_join,
	.follow = follow,
	.lease_until = lease_until,
	.lease_lost = lease_lost,
	.start = start,
	.take_back = take_back,
	.revoke = revoke,
	.replied = replied,
	.confirmed = confirmed,
	.added = added,
	.elected = elected,
	.left = left,
};

void machine_start(struct machine *machine)
{
	struct member_options options = member_options;
	struct sim *sim = machine->sim;

	machine->process = ++sim->last_process;
	machine->boot_offset = sim_random(sim, 1000 * SECOND);
	machine->is_leaving = false;
	machine->term = 0;
	machine->busy = 0;
	machine->tick_at = NEVER;
	machine->stopped_until = 0;
	if (sim->mode != MODE_DEATHS)
		options.ttl += sim_random(sim, TTL);
	machine->member = member_new(&options, &member_ops, machine);
	machine_after(machine, 0, true, join_event);
	machine_after(machine, 0, true, slots_event);
}

void machine_kill(struct machine *machine)
{
	struct sim *sim = machine->sim;
	struct local *local;

	if (!machine->process)
		return;
	sim_trace(sim, "machine %d dies", machine->index);
	DL_FOREACH(machine->locals, local)
		sim->keys[local->key].owed_at = sim->now;
	sim->deaths++;
	end_process(machine);
	sim_after(sim, sim_random(sim, 40 * SECOND), start_event)->machine = machine;
}

void machine_stop(struct machine *machine, uint64_t until)
{
	if (!machine->process || machine->stopped_until > machine->sim->now)
		return;
	sim_trace(machine->sim, "machine %d stops until %llu ms", machine->index,
		  (unsigned long long)(until / MS));
	machine->stopped_until = until;
}

void machine_leave(struct machine *machine)
{
	struct instant now = machine_now(machine);

	if (!machine->process || machine->is_leaving || machine->stopped_until > machine->sim->now)
		return;
	sim_trace(machine->sim, "machine %d leaves", machine->index);
	machine->is_leaving = true;
	member_leave(machine->member, now.boot + sim_random(machine->sim, 20 * SECOND), now);
	machine_rearm(machine);
}

static void tick_event(struct sim *sim, struct event *event)
{
	struct machine *machine = event->machine;

	if (event->id != machine->tick_at)
		return;
	machine->tick_at = NEVER;
	if (machine->master && sim_chance(sim, 5000))
		master_tick(machine->master, machine_now(machine));
	member_tick(machine->member, machine_now(machine));
	if (machine->master)
		master_tick(machine->master, machine_now(machine));
	machine_rearm(machine);
}

/* Sets the timer of the daemon. */
void machine_rearm(struct machine *machine)
{
	struct sim *sim = machine->sim;
	struct instant now = machine_now(machine);
	struct instant next = { NEVER, NEVER };
	uint64_t delay = NEVER, until_wall, boot;

	if (!machine->member)
		return;
	if (machine->master)
		next = master_next_due(machine->master);
	boot = member_next_due(machine->member);
	if (next.boot < boot)
		boot = next.boot;
	if (boot != NEVER)
		delay = boot > now.boot ? boot - now.boot : 0;
	if (next.wall != NEVER) {
		until_wall = next.wall > now.wall ? next.wall - now.wall : 0;
		if (until_wall < delay)
			delay = until_wall;
	}
	if (delay == NEVER || sim->now + delay >= machine->tick_at)
		return;
	machine->tick_at = sim->now + delay;
	machine_after(machine, delay, true, tick_event)->id = machine->tick_at;
}

void machine_add(struct machine *machine, int key, int priority, uint64_t delay)
{
	struct sim *sim = machine->sim;
	uint64_t due = delay ? sim->now + WALL_AT_START + delay : 0;
	struct checked_add *add;

	if (!can_add(machine) || sim->keys[key].nr_adds >= MOST_ADDS)
		return;
	add = check_add(machine, key, priority, due);
	submit(machine, key, add);
}

void machine_request(struct machine *machine, int key, enum request_kind what)
{
	struct sim *sim = machine->sim;
	const struct key_hash hash = hash_of(key);
	struct checked_request *request = &sim->requests[sim->nr_requests];

	if (!can_add(machine) || machine->is_leaving || sim->nr_requests == MOST_REQUESTS)
		return;
	*request = (struct checked_request){
		.machine = machine, .process = machine->process, .sent = sim->now, .what = what,
		.key = key,
	};
	if (!member_request(machine->member, sim->nr_requests, what, &hash, machine_now(machine)))
		return;
	sim->nr_requests++;
	check_requested(sim, request);
	machine_rearm(machine);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The fake engine: a stream that keeps the last message of each subject, and a network between
 * machines.
 */
#include <stdlib.h>
#include <string.h>

#include "share/core/copy.h"
#include "share/core/hash.h"
#include "sim.h"

/* An operation without an answer is given up after this time. */
#define OP_TIMEOUT (2 * SECOND)

struct record *copy_of_record(const struct record *record)
{
	struct sim *memory = sim_of_memory;
	struct record *copy;

	sim_of_memory = NULL;
	copy = record_copy(record);
	sim_of_memory = memory;
	if (record->machine)
		copy->machine = strdup(record->machine);
	if (record->nr_held) {
		struct held *held = calloc(record->nr_held, sizeof(*held));

		memcpy(held, record->held, record->nr_held * sizeof(*held));
		copy->held = held;
		copy->nr_held = record->nr_held;
	}
	return copy;
}

void free_record(struct record *record)
{
	if (!record)
		return;
	free((void *)record->machine);
	free((void *)record->held);
	free(record);
}

/* Its work is in a record, whose block begins before the key. */
struct message *copy_of_message(const struct message *message)
{
	const struct record record = { .work = message->work };
	struct message *copy = malloc(sizeof(*copy));

	*copy = *message;
	copy->work = copy_of_record(&record)->work;
	if (message->machine)
		copy->machine = strdup(message->machine);
	return copy;
}

void free_message(struct message *message)
{
	if (!message)
		return;
	free((struct record *)message->work.key.at - 1);
	free((void *)message->machine);
	free(message);
}

static bool is_control(enum record_kind kind)
{
	return kind >= RECORD_EPOCH;
}

static bool same_subject(const struct record *a, const struct record *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == RECORD_EPOCH)
		return true;
	if (is_control(a->kind))
		return !strcmp(a->machine, b->machine);
	return same_hash(&a->hash, &b->hash);
}

static struct stored *find_stored(struct sim *sim, const struct record *record)
{
	struct stored *stored;

	DL_FOREACH(sim->stored, stored)
		if (same_subject(stored->record, record))
			return stored;
	return NULL;
}

static void forget_stored(struct sim *sim, struct stored *stored)
{
	DL_DELETE(sim->stored, stored);
	free_record(stored->record);
	free(stored);
}

static uint64_t net_delay(struct sim *sim)
{
	uint64_t delay = MS / 10 + sim_random(sim, 5 * MS);

	if (sim->mode == MODE_FAULTS && sim->now < sim->faults_until && sim_chance(sim, sim->slow))
		delay += sim_random(sim, 4 * SECOND);
	return delay;
}

static bool is_faulty(struct sim *sim, unsigned int of_10000)
{
	return sim->mode == MODE_FAULTS && sim->now < sim->faults_until &&
	       sim_chance(sim, of_10000);
}

static void deliver(struct sim *sim, struct event *event);

static void pump(struct sim *sim, struct event *event)
{
	struct tail *tail = (struct tail *)(uintptr_t)event->id;
	struct machine *machine = tail->machine;
	struct stored *stored;
	struct event *delivery;
	uint64_t at;

	tail->is_woken = false;
	if (tail->process != machine->process ||
	    (tail->is_master && tail->number != machine->master_process))
		return;
	if (machine->no_answer > sim->now || machine->slow_tail > sim->now) {
		tail->is_woken = true;
		sim_after(sim, 50 * MS, pump)->id = event->id;
		return;
	}
	DL_FOREACH(sim->stored, stored)
		if (stored->record->seq >= tail->next &&
		    (tail->is_master || is_control(stored->record->kind)))
			break;
	if (!stored)
		return;
	tail->next = stored->record->seq + 1;
	at = sim->now + net_delay(sim);
	if (at < tail->last_delivery)
		at = tail->last_delivery;
	tail->last_delivery = at;
	delivery = sim_after(sim, at - sim->now, deliver);
	delivery->machine = machine;
	delivery->process = machine->process;
	delivery->is_daemon = true;
	delivery->is_master = tail->is_master;
	delivery->tail = tail->number;
	delivery->record = copy_of_record(stored->record);
	tail->is_woken = true;
	sim_after(sim, sim_random(sim, MS), pump)->id = event->id;
}

static void deliver(struct sim *sim, struct event *event)
{
	struct machine *machine = event->machine;

	(void)sim;
	if (event->is_master) {
		if (machine->master && machine->master_process == event->tail)
			master_record(machine->master, event->record, machine_now(machine));
	} else {
		member_record(machine->member, event->tail, event->record, machine_now(machine));
	}
	machine_rearm(machine);
}

static void wake(struct sim *sim, struct tail *tail)
{
	if (tail->is_woken)
		return;
	tail->is_woken = true;
	sim_after(sim, sim_random(sim, MS), pump)->id = (uintptr_t)tail;
}

void stream_follow(struct machine *machine, bool is_master, uint64_t number)
{
	struct sim *sim = machine->sim;
	struct tail *tail = calloc(1, sizeof(*tail));

	*tail = (struct tail){
		.sim = sim,
		.machine = machine,
		.process = machine->process,
		.number = number,
		.is_master = is_master,
		.next = 1,
	};
	LL_PREPEND2(sim->tails, tail, link);
	wake(sim, tail);
}

static void store(struct sim *sim, const struct record *record)
{
	struct stored *stored = find_stored(sim, record);
	struct tail *tail;

	if (stored)
		forget_stored(sim, stored);
	stored = calloc(1, sizeof(*stored));
	stored->record = copy_of_record(record);
	stored->record->seq = ++sim->seq;
	if (record->kind == RECORD_EPOCH)
		stored->record->epoch = epoch_of(epoch_count(record->epoch), sim->seq);
	DL_APPEND(sim->stored, stored);
	LL_FOREACH2(sim->tails, tail, link)
		wake(sim, tail);
}

static void answer(struct sim *sim, struct event *event)
{
	struct machine *machine = event->machine;
	enum op_result result = convert_result(event->result);
	struct instant now = machine_now(machine);
	bool is_read = event->kind != RECORD_BEAT;

	(void)sim;
	if (event->is_master && (!machine->master || machine->master_process != event->tail))
		return;
	if (event->is_master && is_read)
		master_read(machine->master, event->op, result, event->record, now);
	else if (event->is_master)
		master_result(machine->master, event->op, result, event->seq, now);
	else if (is_read)
		member_read(machine->member, event->op, result, event->record, now);
	else
		member_result(machine->member, event->op, result, event->seq, now);
	machine_rearm(machine);
}

/* RECORD_BEAT stands for an operation that is no read. */
static void answer_request(struct event *request, uint64_t delay, enum engine_result result,
			   uint64_t seq, const struct record *record)
{
	struct machine *machine = request->machine;
	struct event *event = sim_after(machine->sim, delay, answer);

	event->machine = machine;
	event->process = request->process;
	event->is_daemon = true;
	event->is_master = request->is_master;
	event->tail = request->tail;
	event->op = request->op;
	event->result = result;
	event->seq = seq;
	event->kind = request->kind;
	if (record)
		event->record = copy_of_record(record);
}

static void acknowledge(struct sim *sim, struct event *request, enum engine_result result,
			uint64_t seq, const struct record *record)
{
	if (request->machine->process == request->process &&
	    request->machine->no_answer <= sim->now && !is_faulty(sim, sim->lost_acks))
		answer_request(request, net_delay(sim), result, seq, record);
}

/* During a gap the engine has no leader. Requests wait. */
static bool in_gap(struct sim *sim, struct event *event)
{
	struct event *again;

	if (sim->gap_until <= sim->now)
		return false;
	again = sim_after(sim, sim->gap_until - sim->now + sim_random(sim, 10 * MS), event->run);
	again->machine = event->machine;
	again->process = event->process;
	again->op = event->op;
	again->expected = event->expected;
	again->tail = event->tail;
	again->is_master = event->is_master;
	again->kind = event->kind;
	again->hash = event->hash;
	again->record = event->record;
	event->record = NULL;
	return true;
}

static void lost(struct sim *sim, struct event *event)
{
	(void)sim;
	(void)event;
}

static void trace_stored(struct sim *sim, const struct record *record)
{
	const struct bytes *value = &record->work.value, *note = &record->work.note;

	if (is_control(record->kind)) {
		sim_trace(sim, "stored %llu kind %d machine %s dead %d epoch %llu",
			  (unsigned long long)sim->seq, record->kind, record->machine,
			  record->is_dead, (unsigned long long)record->epoch);
		return;
	}
	sim_trace(sim, "stored %llu kind %d key %d, value %.*s, %.*s of %llu, due %lld past %lld through %llu",
		  (unsigned long long)sim->seq, record->kind, key_of(&record->hash),
		  (int)value->len, (const char *)value->at, (int)note->len, (const char *)note->at,
		  (unsigned long long)record->noted,
		  (long long)(record->due - WALL_AT_START) / (long long)MS,
		  (long long)(record->past - WALL_AT_START) / (long long)MS,
		  (unsigned long long)record->through);
}

static void publish(struct sim *sim, struct event *event)
{
	struct stored *stored;
	uint64_t last;

	if (in_gap(sim, event))
		return;
	stored = find_stored(sim, event->record);
	last = stored ? stored->record->seq : 0;
	if (event->expected != EXPECT_ANY && event->expected != last) {
		acknowledge(sim, event, RESULT_WRONG_SEQUENCE, 0, NULL);
		return;
	}
	store(sim, event->record);
	trace_stored(sim, event->record);
	acknowledge(sim, event, RESULT_OK, sim->seq, NULL);
}

static void erase(struct sim *sim, struct event *event)
{
	struct stored *stored;

	if (in_gap(sim, event))
		return;
	DL_FOREACH(sim->stored, stored)
		if (stored->record->seq == event->expected)
			break;
	sim_trace(sim, "%s %llu", stored ? "erased" : "did not find",
		  (unsigned long long)event->expected);
	if (stored)
		forget_stored(sim, stored);
	acknowledge(sim, event, stored ? RESULT_OK : RESULT_GONE, 0, NULL);
}

static void read(struct sim *sim, struct event *event)
{
	struct record what = { .kind = event->kind, .hash = event->hash };
	struct stored *stored;

	if (in_gap(sim, event))
		return;
	stored = find_stored(sim, event->record ? event->record : &what);
	if (stored)
		acknowledge(sim, event, RESULT_OK, stored->record->seq, stored->record);
	else
		acknowledge(sim, event, RESULT_NONE, 0, NULL);
}

/*
 * An operation that is not answered in time is given up. It may happen later all the same. A
 * request arrives even if its sender dies.
 */
static struct event *request(struct machine *machine, bool is_master, uint64_t op,
			     enum record_kind kind,
			     void (*run)(struct sim *sim, struct event *event))
{
	struct sim *sim = machine->sim;
	bool is_late = machine->no_request > sim->now || is_faulty(sim, sim->loss);
	struct event *event;
	uint64_t delay;

	if (is_late)
		delay = OP_TIMEOUT + sim_random(sim, 6 * SECOND);
	else
		delay = net_delay(sim);
	event = sim_after(sim, delay, run);
	event->machine = machine;
	event->is_master = is_master;
	event->tail = machine->master_process;
	event->op = op;
	event->kind = kind;
	event->process = machine->process;
	answer_request(event, OP_TIMEOUT, RESULT_UNKNOWN, 0, NULL);
	if (is_late && sim_chance(sim, 5000))
		event->run = lost;
	return event;
}

void stream_publish(struct machine *machine, bool is_master, uint64_t op,
		    const struct record *record, uint64_t expected)
{
	struct event *event = request(machine, is_master, op, RECORD_BEAT, publish);

	event->record = sent_record(record);
	event->expected = expected;
}

void stream_erase(struct machine *machine, uint64_t op, uint64_t seq)
{
	request(machine, true, op, RECORD_BEAT, erase)->expected = seq;
}

void stream_read(struct machine *machine, bool is_master, uint64_t op, enum record_kind kind,
		 const struct key_hash *hash)
{
	request(machine, is_master, op, kind, read)->hash = *hash;
}

void stream_read_of_machine(struct machine *machine, bool is_master, uint64_t op,
			    enum record_kind kind, const char *name)
{
	const struct record record = { .kind = kind, .machine = name };

	request(machine, is_master, op, kind, read)->record = copy_of_record(&record);
}

static void receive(struct sim *sim, struct event *event)
{
	struct message *message = event->message;
	struct machine *machine = event->machine;
	bool to_master = message->kind == MESSAGE_ASK || message->kind == MESSAGE_DONE ||
			 message->kind == MESSAGE_REQUEST;

	if (machine->no_receive > sim->now)
		return;
	if (to_master) {
		if (machine->master && machine->epoch == message->epoch)
			master_message(machine->master, message, machine_now(machine));
	} else {
		member_message(machine->member, message, machine_now(machine));
	}
	machine_rearm(machine);
}

/* Messages of a calm network keep their order, as those of one connection to NATS do. */
static uint64_t message_delay(struct machine *from, const struct machine *to)
{
	struct sim *sim = from->sim;
	uint64_t arrives = sim->now + net_delay(sim), *last = &from->last_arrival[to->index];

	if (sim->mode == MODE_CALM && arrives < *last)
		arrives = *last;
	*last = arrives;
	return arrives - sim->now;
}

static void send_once(struct machine *from, struct machine *to, const struct message *message)
{
	struct sim *sim = from->sim;
	struct event *event;

	if (!to->process || from->no_send > sim->now || is_faulty(sim, sim->loss))
		return;
	event = sim_after(sim, message_delay(from, to), receive);
	event->machine = to;
	event->process = to->process;
	event->is_daemon = true;
	event->message = sent_message(message);
}

/* @to: a machine, or NULL for the master of the message's epoch */
void network_send(struct machine *from, const char *to, const struct message *message)
{
	struct sim *sim = from->sim;
	struct machine *machine;

	if (to)
		machine = machine_named(sim, to);
	else
		machine = machine_of_epoch(sim, message->epoch);
	if (!machine)
		return;
	if (message->kind == MESSAGE_RECALL)
		sim->recalls++;
	sim_trace(sim, "machine %d sends %d to %s: slot %u number %llu hungry %d untaken %u key %d",
		  from->index, message->kind, to ? to : "the master", message->slot,
		  (unsigned long long)message->number, message->is_hungry, message->untaken,
		  key_of(&message->hash));
	send_once(from, machine, message);
	if (is_faulty(sim, sim->twice))
		send_once(from, machine, message);
}

void stream_free(struct sim *sim)
{
	struct tail *tail, *next_tail;
	struct stored *stored, *next;

	DL_FOREACH_SAFE(sim->stored, stored, next)
		forget_stored(sim, stored);
	LL_FOREACH_SAFE2(sim->tails, tail, next_tail, link)
		free(tail);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

/* Faults end, and then all has to be quiet. */
#define ADDS_UNTIL	(60 * SECOND)
#define QUIET_AT	(220 * SECOND)

/* SplitMix64 */
uint64_t sim_random(struct sim *sim, uint64_t below)
{
	uint64_t z = (sim->random += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	return below ? z % below : 0;
}

bool sim_chance(struct sim *sim, unsigned int of_10000)
{
	return sim_random(sim, 10000) < of_10000;
}

void sim_fail(struct sim *sim, const char *format, ...)
{
	va_list args;

	if (sim->failure)
		return;
	va_start(args, format);
	vsnprintf(sim->text, sizeof(sim->text), format, args);
	va_end(args);
	sim->failure = sim->text;
	sim_trace(sim, "FAILED: %s", sim->text);
}

void sim_trace(struct sim *sim, const char *format, ...)
{
	va_list args;

	if (!sim->trace)
		return;
	va_start(args, format);
	printf("# %llu.%06llu ", (unsigned long long)(sim->now / MS),
	       (unsigned long long)(sim->now % MS));
	vprintf(format, args);
	putchar('\n');
	va_end(args);
}

struct sim *sim_of_memory;

static bool lacks_memory(void)
{
	struct sim *sim = sim_of_memory;

	if (!sim || !sim->memory || sim->now > sim->faults_until || sim_random(sim, sim->memory))
		return false;
	sim->failures++;
	return true;
}

/* The linker puts these in the place of the C library's: --wrap. */
void *__wrap_malloc(size_t size)
{
	return lacks_memory() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t nr, size_t size)
{
	return lacks_memory() ? NULL : __real_calloc(nr, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return lacks_memory() ? NULL : __real_realloc(old, size);
}

static void push(struct sim *sim, struct event *event, uint64_t at)
{
	struct sim *memory = sim_of_memory;

	sim_of_memory = NULL;
	if (due_set(&sim->heap, &event->due, at, ++sim->order))
		abort();
	sim_of_memory = memory;
}

struct event *sim_after(struct sim *sim, uint64_t delay,
			void (*run)(struct sim *sim, struct event *event))
{
	struct event *event = calloc(1, sizeof(*event));

	event->run = run;
	event->due.owner = event;
	push(sim, event, sim->now + delay);
	return event;
}

static void free_event(struct event *event)
{
	free_record(event->record);
	free_message(event->message);
	free(event);
}

/* A daemon whose core has no memory ends, and its machine starts it anew. */
static bool has_failed(const struct machine *machine)
{
	return machine->process && (!machine->member || member_has_failed(machine->member) ||
				    (machine->master && master_has_failed(machine->master)));
}

static void run_event(struct sim *sim, struct event *event)
{
	struct machine *machine = event->machine;

	if (event->is_daemon && event->process != machine->process) {
		free_event(event);
		return;
	}
	if (event->is_daemon && machine->stopped_until > sim->now) {
		push(sim, event, machine->stopped_until);
		return;
	}
	sim->events++;
	if (!event->is_daemon || machine->member)
		event->run(sim, event);
	if (event->is_daemon && has_failed(machine))
		machine_kill(machine);
	free_event(event);
}

static struct machine *any_machine(struct sim *sim)
{
	return &sim->machines[sim_random(sim, sim->nr_machines)];
}

static void add_event(struct sim *sim, struct event *event)
{
	static const int priorities[] = { 0, 0, 0, 5, -3, 31, -32 };
	uint64_t delay = 0;
	int priority, key;

	(void)event;
	if (sim->now > sim->adds_until)
		return;
	if (sim_chance(sim, 3000))
		delay = 1 + sim_random(sim, sim_chance(sim, 3000) ? 40 * SECOND : 2 * SECOND);
	/* Not within the call: compilers differ in the order, and a seed has to mean the same. */
	priority = priorities[sim_random(sim, ARRAY_SIZE(priorities))];
	key = sim_random(sim, sim->nr_keys);
	/* The killer is added once. The simulation hands out by age, and the kernel by priority. */
	if (sim->mode == MODE_KILLER)
		priority = 0;
	if (sim->mode == MODE_KILLER && !key && sim->keys[key].nr_adds)
		key = 1;
	machine_add(any_machine(sim), key, priority, delay);
	sim_after(sim, sim_random(sim, sim_chance(sim, 500) ? 5 * SECOND : 300 * MS), add_event);
}

/* A person removes keys, and makes others ready. */
static void request_event(struct sim *sim, struct event *event)
{
	static const enum request_kind kinds[] = {
		REQUEST_REMOVE, REQUEST_REMOVE, REQUEST_REMOVE, REQUEST_DROP, REQUEST_KICK,
		REQUEST_END_WAIT,
	};
	enum request_kind what = kinds[sim_random(sim, ARRAY_SIZE(kinds))];
	int key = sim_random(sim, sim->nr_keys);

	(void)event;
	if (sim->now > sim->adds_until)
		return;
	machine_request(any_machine(sim), key, what);
	sim_after(sim, sim_random(sim, SECOND), request_event);
}

static void cut(struct sim *sim, uint64_t *until)
{
	*until = sim->now + sim_random(sim, sim_chance(sim, 5000) ? 2 * SECOND : 25 * SECOND);
}

static void fault_event(struct sim *sim, struct event *event)
{
	struct machine *machine = any_machine(sim);
	uint64_t length = sim_random(sim, sim_chance(sim, 5000) ? 3 * SECOND : 30 * SECOND);
	uint64_t until = sim->now + length;

	(void)event;
	if (sim->now > sim->faults_until)
		return;
	switch (sim_random(sim, 11)) {
	case 0: case 1:
		machine_kill(machine);
		break;
	case 2: case 3:
		machine_stop(machine, until < sim->faults_until ? until : sim->faults_until);
		break;
	case 4:
		cut(sim, &machine->no_send);
		break;
	case 5:
		cut(sim, &machine->no_receive);
		break;
	case 6:
		cut(sim, &machine->no_request);
		break;
	case 7:
		cut(sim, &machine->no_answer);
		break;
	case 8:
		cut(sim, &machine->slow_tail);
		break;
	case 9:
		machine_leave(machine);
		break;
	case 10:
		sim->gap_until = sim->now + sim_random(sim, 8 * SECOND);
		break;
	}
	sim_after(sim, sim_random(sim, 6 * SECOND), fault_event);
}

/* One machine at a time, and the next after the dust has settled. */
static void death_event(struct sim *sim, struct event *event)
{
	(void)event;
	if (sim->now > sim->faults_until)
		return;
	if (sim_chance(sim, 3000))
		machine_leave(any_machine(sim));
	else
		machine_kill(any_machine(sim));
	sim_after(sim, 60 * SECOND, death_event);
}

/* Workers that die, and queues that are paused. */
static void local_fault_event(struct sim *sim, struct event *event)
{
	(void)event;
	if (sim->now > sim->faults_until)
		return;
	if (sim_chance(sim, 6000))
		machine_worker_dies(any_machine(sim));
	else
		machine_pause(any_machine(sim),
			      sim_random(sim, sim_chance(sim, 5000) ? SECOND : 15 * SECOND));
	sim_after(sim, sim_random(sim, 4 * SECOND), local_fault_event);
}

static void often_event(struct sim *sim, struct event *event)
{
	(void)event;
	check_often(sim);
	sim_after(sim, 50 * MS, often_event);
}

/* All cuts are whole again. */
static void heal_event(struct sim *sim, struct event *event)
{
	int i;

	(void)event;
	for (i = 0; i < sim->nr_machines; i++) {
		struct machine *machine = &sim->machines[i];

		machine->no_send = 0;
		machine->no_receive = 0;
		machine->no_request = 0;
		machine->no_answer = 0;
		machine->slow_tail = 0;
	}
}

/* Half of the seeds lack a fault. */
static unsigned int fault_rate(struct sim *sim, unsigned int below)
{
	bool happens = sim_random(sim, 2);
	unsigned int rate = sim_random(sim, below);

	return happens ? rate : 0;
}

static void set_up(struct sim *sim)
{
	int i;

	sim->nr_machines = 2 + sim_random(sim, 3);
	sim->nr_keys = 1 + sim_random(sim, sim_chance(sim, 5000) ? 3 : MOST_KEYS);
	if (sim->mode == MODE_KILLER && sim->nr_keys < 2)
		sim->nr_keys = 2;
	sim->group_limit = sim->mode == MODE_DEATHS ? 0 : sim_random(sim, 3);
	sim->prefetch = sim_random(sim, 2);
	sim->numbers = sim_chance(sim, 3000) ? 5 + sim_random(sim, 50) : UINT32_MAX;
	/* Each renewal waits for the burial of a dead machine, and then for higher priorities. */
	if (sim->mode == MODE_DEATHS || sim->mode == MODE_KILLER)
		sim->numbers = UINT32_MAX;
	sim->loss = fault_rate(sim, 2000);
	sim->twice = fault_rate(sim, 3000);
	sim->slow = fault_rate(sim, 1000);
	sim->lost_acks = fault_rate(sim, 1000);
	if (sim->mode == MODE_FAULTS && sim_chance(sim, 2000))
		sim->memory = 100 + sim_random(sim, 3000);
	sim->is_narrow = sim->nr_keys % 2 == 0;
	sim->adds_until = ADDS_UNTIL;
	sim->faults_until = ADDS_UNTIL;
	for (i = 0; i < sim->nr_keys; i++)
		sim->keys[i].has_group = sim_chance(sim, 5000);
	for (i = 0; i < sim->nr_machines; i++) {
		struct machine *machine = &sim->machines[i];

		machine->sim = sim;
		machine->index = i;
		machine->workers = 1 + sim_random(sim, MOST_WORKERS);
		machine_start(machine);
	}
	sim_after(sim, 0, add_event);
	sim_after(sim, 0, often_event);
	if (sim->mode != MODE_DEATHS && sim_chance(sim, 5000))
		sim_after(sim, sim_random(sim, 3 * SECOND), local_fault_event);
	if (sim->mode == MODE_FAULTS)
		sim_after(sim, sim_random(sim, 10 * SECOND), fault_event);
	else if (sim->mode == MODE_DEATHS)
		sim_after(sim, 20 * SECOND + sim_random(sim, 10 * SECOND), death_event);
	sim_after(sim, sim->faults_until + MS, heal_event);
	sim->has_requests = sim->mode != MODE_KILLER && sim->seed % 16 >= 4 && sim->seed % 16 < 8;
	if (sim->has_requests)
		sim_after(sim, SECOND, request_event);
}

const char *sim_run(struct sim *sim, uint64_t seed, enum mode mode)
{
	struct due_item *due;

	sim->seed = seed;
	sim->random = seed;
	sim->mode = mode;
	set_up(sim);
	while (!sim->failure && (due = due_first(&sim->heap)) && due->time < QUIET_AT) {
		struct event *event = due->owner;

		sim->now = due->time;
		due_set(&sim->heap, &event->due, NEVER, 0);
		sim_of_memory = sim;
		run_event(sim, event);
		sim_of_memory = NULL;
	}
	if (!sim->failure)
		check_quiet(sim);
	return sim->failure;
}

void sim_end(struct sim *sim)
{
	struct due_item *due;
	int i;

	for (i = 0; i < sim->nr_machines; i++) {
		struct machine *machine = &sim->machines[i];

		member_free(machine->member);
		master_free(machine->master);
		while (machine->locals) {
			struct local *local = machine->locals;

			machine->locals = local->next;
			free(local->work);
			free(local);
		}
	}
	while ((due = due_first(&sim->heap))) {
		struct event *event = due->owner;

		due_set(&sim->heap, &event->due, NEVER, 0);
		free_event(event);
	}
	due_destroy(&sim->heap);
	stream_free(sim);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The loop of one machine: see machine.h.
 */
#include "machine_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "base/read_clock.h"

enum { EVENTS_PER_STEP = 256 };

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t machine_clock(void)
{
	return read_clock(CLOCK_BOOTTIME);
}

struct instant machine_now(const struct machine *m)
{
	return (struct instant){
		.boot = machine_clock(),
		.wall = engine_wall(m->engine),
	};
}

void machine_fail(struct machine *m, int err)
{
	if (!m->has_failed)
		message("%s", meaning(err));
	m->has_failed = true;
}

void machine_complain(struct machine *m, const char *text)
{
	if (complaints_may_say(&m->complaints, text, machine_clock()))
		message("%s", text);
}

void look_at_queue(struct machine *m)
{
	struct local_state state;
	int err = local_state(m->local, &state);

	if (err) {
		machine_fail(m, err);
		return;
	}
	m->group_limit = state.group_limit;
	m->getters = state.getters;
	m->has_workers = state.getters || state.processing;
	m->is_open = !state.is_paused && !state.is_shut_down && !state.is_unlinked;
	m->opens_at = state.is_paused && state.paused_for != UINT64_MAX ?
		      machine_clock() + state.paused_for : NEVER;
	if (state.is_shut_down || state.is_unlinked)
		m->is_over = true;
}

/* ---- Steps ---------------------------------------------------------------- */

/* Orders that a core gave while it was called. */
static void do_shall(struct machine *m)
{
	while (m->shall && !m->has_failed) {
		unsigned int shall = m->shall;

		m->shall = 0;
		if (shall & SHALL_DEPOSE)
			end_master(m);
		if (shall & SHALL_SERVE)
			begin_master(m);
		if (shall & SHALL_ELECT)
			member_elect(m->member, machine_now(m));
		if (shall & SHALL_JOIN && !m->has_left)
			machine_join(m);
	}
}

/*
 * A new master reads the whole stream. So a step takes a bounded number of events: heartbeats go
 * out meanwhile, and workers are served.
 */
static void take_engine_events(struct machine *m)
{
	struct engine_event event;
	unsigned int left = EVENTS_PER_STEP;
	const char *text;

	while (!m->has_failed && left && engine_next(m->engine, &event)) {
		on_engine(m, &event);
		text = complaints_due(&m->complaints, machine_clock());
		if (text)
			message("%s", text);
		do_shall(m);
		left--;
	}
	text = complaints_due(&m->complaints, machine_clock());
	if (text)
		message("%s", text);
	m->has_more = !left;
}

static void take_local_events(struct machine *m)
{
	unsigned int left = EVENTS_PER_STEP;
	struct local_event event;
	bool has_changed = false;
	int ret = 0;

	local_limit_adds(m->local, member_status(m->member).window);
	local_hold_ends(m->local, machine_lacks_room(m) ? 0 : m->options.ttl);
	while (!m->has_failed && left &&
	       (ret = local_next(m->local, &event, machine_clock())) > 0) {
		left--;
		on_local(m, &event);
		do_shall(m);
		has_changed = true;
	}
	m->has_more |= !left;
	/* A worker that has begun with a key waits no more. The end of a pause is no event. */
	if (has_changed || m->opens_at <= machine_clock())
		look_at_queue(m);
	if (ret < 0 && ret != -EINTR)
		machine_fail(m, ret);
}

/* Keys are asked for as long as the queue hands them out, and there are workers. */
static void set_slots(struct machine *m)
{
	bool is_full = m->full_until && machine_clock() < m->full_until;
	unsigned int slots = m->is_open && m->has_workers && !is_full ? m->options.slots : 0;

	if (!is_full)
		m->full_until = 0;
	member_set_slots(m->member, slots, slots ? m->getters : 0, machine_now(m));
}

enum machine_step machine_step(struct machine *m)
{
	take_engine_events(m);
	take_local_events(m);
	errands_answer_refused(m);
	give_returned_back(m);
	if (m->is_over && !m->is_leaving) {
		message("the queue was shut down or removed: this machine leaves");
		machine_leave(m, NEVER);
	}
	set_slots(m);
	asked_tick(m);
	lists_tick(m);
	member_tick(m->member, machine_now(m));
	if (m->master)
		master_tick(m->master, machine_now(m));
	do_shall(m);
	if (member_has_failed(m->member) || (m->master && master_has_failed(m->master)))
		machine_fail(m, -ENOMEM);
	if (m->has_failed)
		return MACHINE_FAILED;
	return m->has_left ? MACHINE_LEFT : MACHINE_GOES_ON;
}

uint64_t machine_due(const struct machine *m)
{
	uint64_t due = earlier(member_next_due(m->member), m->full_until ?: NEVER), wall;
	struct instant of_master, at = machine_now(m);

	due = earlier(earlier(due, local_next_due(m->local)), m->opens_at);
	due = earlier(due, earlier(asked_due(m), lists_due(m)));
	if (m->refused || m->shall || m->returned || m->has_more)
		return 0;
	if (!m->master)
		return due;
	of_master = master_next_due(m->master);
	due = earlier(due, of_master.boot);
	if (of_master.wall == NEVER)
		return due;
	wall = of_master.wall > at.wall ? of_master.wall - at.wall : 0;
	return earlier(due, at.boot + wall);
}

/*
 * A master serves until its machine has left: others cannot work without it, and elect nobody
 * while its machine lives. The end of the name tells them.
 */
void machine_leave(struct machine *m, uint64_t deadline)
{
	m->is_leaving = true;
	member_leave(m->member, deadline, machine_now(m));
}

/* A machine asks the engine something at least four times in a lease. */
static bool is_silent(const struct machine *m)
{
	return machine_clock() - m->answered_at > m->options.ttl / 2;
}

/* Why the engine is away. "" if it is there, or if this is the first attempt to connect. */
static const char *cause(const struct machine *m)
{
	if (!m->is_up)
		return m->complaints.state;
	return is_silent(m) ? "it does not answer: are the servers and the network there?" : "";
}

void machine_state(const struct machine *m, struct machine_state *state)
{
	struct member_status member = member_status(m->member);
	struct master_status master = { 0 };

	if (m->master)
		master = master_status(m->master);
	*state = (struct machine_state){
		.is_up = m->is_up && !is_silent(m),
		.has_lease = m->has_lease,
		.is_master = m->master,
		.is_serving = master.is_serving,
		.is_over = m->is_over,
		.is_leaving = m->is_leaving,
		.cause = cause(m),
		.given_back = m->given_back,
		.epoch = epoch_count(member.epoch),
		.held = member.held,
		.adds = member.adds,
		.queue = {
			.ready = master.ready,
			.waiting = master.waiting,
			.booked = master.booked,
			.dead = master.dead,
			.machines = master.machines,
		},
	};
}

/* ---- Begin and end -------------------------------------------------------- */

struct machine *machine_new(const struct machine_options *options, struct engine *engine,
			    struct local *local)
{
	const struct member_options of_member = {
		.ttl = options->ttl,
		.beat = options->ttl / BEATS_PER_TTL,
		.repeat = repeat_of(options->ttl),
		.is_candidate = options->is_candidate,
	};
	struct machine *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->options = *options;
	m->engine = engine;
	m->local = local;
	m->shall = SHALL_JOIN;
	m->member = member_new(&of_member, &machine_member_ops, m);
	if (!m->member) {
		free(m);
		return NULL;
	}
	look_at_queue(m);
	return m;
}

void machine_free(struct machine *m)
{
	struct ended *ended, *next_ended;
	struct add *add, *next_add;
	struct returned *returned, *next_returned;

	if (!m)
		return;
	end_master(m);
	lists_free(m);
	asked_free(m);
	member_free(m->member);
	errands_free(m);
	HASH_ITER(hh, m->ended, ended, next_ended)
		forget_ended(m, ended);
	DL_FOREACH_SAFE(m->adds, add, next_add)
		free(add);
	DL_FOREACH_SAFE(m->returned, returned, next_returned)
		free(returned);
	free(m->buffer.bytes);
	record_memory_free(&m->memory);
	free(m);
}

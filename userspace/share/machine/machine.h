/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * One machine of a shared queue: puts the cores, the engine and the local queues together.
 *
 * The cores decide (member.h, master.h). The engine is the stream (engine.h), and the two queues
 * are those of this machine (local.h). This file's code only passes on what one of them says to the
 * others. One thread calls everything.
 */
#ifndef KWQ_SHARE_MACHINE_H
#define KWQ_SHARE_MACHINE_H

#include "share/engine/engine.h"
#include "share/local/local.h"

struct machine;

/*
 * @host: the beginning of its names
 * @names: of the queue in the engine
 * @ttl: how long a machine may be silent before its keys go to others, in ns
 * @slots: how many keys wait here for a worker
 * @is_candidate: it may become the master
 */
struct machine_options {
	const char *host;
	const struct names *names;
	uint64_t ttl;
	unsigned int slots;
	bool is_candidate;
};

/*
 * For users.
 *
 * @is_up: the engine is there
 * @is_over: the local queue was shut down or removed
 * @is_leaving: machine_leave() was called
 * @is_serving: as the master, it hands keys out
 * @cause: why the engine is away; "" if it is there, or if this is the first attempt to connect.
 *	Valid until the next step.
 * @given_back: keys that no worker had taken when this machine left
 * @held: keys that this machine has
 * @adds: adds that this machine has read and that are not yet in the stream
 * @queue: of the whole queue, if this machine is the master
 */
struct machine_state {
	bool is_up, has_lease, is_master, is_serving, is_over, is_leaving;
	const char *cause;
	uint64_t epoch;
	size_t held, adds, given_back;
	struct {
		size_t ready, waiting, booked, dead, machines;
	} queue;
};

enum machine_step {
	MACHINE_GOES_ON,
	MACHINE_LEFT,	/* after machine_leave() */
	MACHINE_FAILED,	/* after a message */
};

/**
 * machine_new() - take part in a shared queue
 * @options: is copied; what it points to has to stay
 * @engine: belongs to the caller
 * @local: likewise
 *
 * Return: the machine, or NULL without memory.
 */
struct machine *machine_new(const struct machine_options *options, struct engine *engine,
			    struct local *local);

/* Frees it. Keys that it holds stay in the local queue until the term of that ends. */
void machine_free(struct machine *machine);

/**
 * machine_step() - do what is to be done now
 * @machine: the machine
 *
 * Never waits. Call it when a descriptor of the engine or of the local queues is ready, and at
 * machine_due().
 */
enum machine_step machine_step(struct machine *machine);

/* When a step is due without an event: CLOCK_BOOTTIME in ns; UINT64_MAX for never. */
uint64_t machine_due(const struct machine *machine);

/*
 * Ends in good order: asks for no more keys, and lets workers finish until @deadline,
 * CLOCK_BOOTTIME in ns. machine_step() returns MACHINE_LEFT then.
 */
void machine_leave(struct machine *machine, uint64_t deadline);

/**
 * machine_request() - have the master do something with a key
 * @done: gets the result once, not within this call: what the key was, KWQ_WAS_* bits; -ENOENT if
 *	it was not there, or not so; -ESTALE if that may be because an older master has done it;
 *	-ETIMEDOUT
 * @arg: its first argument
 *
 * Return: 0, or a negative errno value: -EAGAIN if REQUESTS_MAX are not done yet, -ESHUTDOWN while
 * this machine leaves.
 */
int machine_request(struct machine *machine, enum request_kind what, struct bytes key,
		    void (*done)(void *arg, int result), void *arg);

/**
 * machine_list() - list the keys on all machines
 * @states, @flags: as in &struct kwq_list_items_args
 * @key: of one key, or empty
 * @done: gets the result once, not within this call: a descriptor of a file as shared.h has it,
 *	which it closes, or a negative errno value
 *
 * Return: 0, or a negative errno value.
 */
int machine_list(struct machine *machine, uint32_t states, uint32_t flags, struct bytes key,
		 void (*done)(void *arg, int result), void *arg);

/* No done() has this @arg any more. */
void machine_forget_requests(struct machine *machine, const void *arg);

void machine_state(const struct machine *machine, struct machine_state *state);

#endif /* KWQ_SHARE_MACHINE_H */

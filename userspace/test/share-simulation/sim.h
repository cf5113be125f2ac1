/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Many machines with their masters in one process, on a virtual clock, over a fake stream and a
 * fake network. All that happens follows from a seed.
 */
#ifndef KWQ_TEST_SHARE_SIM_H
#define KWQ_TEST_SHARE_SIM_H

#include "share/machine/convert.h"
#include "share/master/master.h"
#include "share/core/order.h"

#include <stdlib.h>

/* The cores' allocations may fail. Those of the simulation never do. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t nr, size_t size);
void *__real_realloc(void *old, size_t size);
#define malloc __real_malloc
#define calloc __real_calloc

#define MS	UINT64_C(1000000)
#define SECOND	(1000 * MS)
/* 2026-11-26, so that wall time and boot time are not mixed up unnoticed */
#define WALL_AT_START (UINT64_C(1795651200) * SECOND)

enum {
	MOST_MACHINES = 5,
	MOST_KEYS = 24,
	MOST_WORKERS = 4,
	MOST_RUNS = 4000,
	MOST_ADDS = 400,
	MOST_NOTES = 400,
	MOST_REQUESTS = 200,
	NAME_SIZE = 32,
	ENDS = 32,
	MOST_LOSSES = 3	/* as --dead-after-lost */
};

/* The faults that may happen. */
enum mode {
	MODE_CALM,	/* nothing: all checks are exact */
	MODE_DEATHS,	/* machines die or leave, one at a time */
	MODE_FAULTS,	/* all of it */
	MODE_KILLER,	/* the first key ends each machine that works on it */
	MODES,
};

struct sim;

/*
 * @process: of its machine. It is dropped if that has died. 0: the event is nobody's.
 * @is_daemon: it waits while the daemon is stopped
 */
struct event {
	struct due_item due;
	void (*run)(struct sim *sim, struct event *event);
	struct machine *machine;
	uint64_t process, op, seq, expected, tail, id;
	uint32_t losses;
	bool is_daemon, is_master;
	enum engine_result result;
	enum record_kind kind;
	struct key_hash hash;
	struct token token;
	struct record *record;
	struct message *message;
	struct local *local;
};

/* A message in the stream. */
struct stored {
	struct stored *prev, *next;
	struct record *record;
};

/*
 * A consumer. It picks messages in order, and delivers them in order, later.
 *
 * @number: of the member's tail, or of the master
 */
struct tail {
	struct sim *sim;
	struct machine *machine;
	uint64_t process, number, next, last_delivery;
	bool is_master, is_woken;
	struct tail *link;
};

/*
 * A key in the local queue of a machine.
 *
 * @worker: 0 if nobody has taken it
 * @came_back: from a worker that has died
 * @losses: of workers here
 */
struct local {
	struct local *prev, *next;
	int key;
	struct token token;
	struct record *work;
	uint64_t since, run;
	int worker, saw, hand_outs;
	uint32_t losses;
	bool is_reported, came_back;
};

struct machine {
	struct sim *sim;
	int index;
	uint64_t process, stopped_until, term, boot_offset, last_add;
	struct member *member;
	struct master *master;
	uint64_t master_process, epoch, elected_by;
	struct local *locals;
	int workers, busy, dead_workers;
	uint64_t paused_until, last_arrival[MOST_MACHINES];
	bool is_leaving, shall_renew;
	uint64_t start_at;
	/* Until when the network swallows what goes in these directions. */
	uint64_t no_send, no_receive, no_request, no_answer, slow_tail;
	char name[NAME_SIZE];
	uint64_t tick_at;
};

/*
 * An add, for the checks.
 *
 * @acked: 0 if it is not in the stream, as far as the adder knows
 * @copies: a bit for each machine that adds it still
 * @late_until: a machine that died may have sent it until then
 * @served_from: the first time at which a run serves it
 * @note: the number of its note, 0 for none
 * @is_removed: a person has removed it, or may have, or has ended its wait
 */
struct checked_add {
	uint64_t invoked, acked, late_until, due, served_from;
	unsigned int copies;
	int value, priority, note;
	bool is_served, keeps, has_value, is_removed;
};

/*
 * A note of a key, which has a number. @acked: 0 if it is not in the stream, as far as its machine
 * knows.
 */
struct checked_note {
	uint64_t given, acked;
};

/*
 * A person asked a machine for this. @done: 0 until it has told
 */
struct checked_request {
	struct machine *machine;
	uint64_t process, sent, done;
	enum request_kind what;
	int key;
};

/*
 * @world: goes up before each add
 * @seen: @world at the start of the last job that ended well
 * @running: how many jobs are at work
 * @notes: from number 1 on
 * @ending: the last end, until @machine knows that it is stored: its note, and whether it ended
 *	well the run that was granted at @since
 * @well_since: when the last run was granted that has ended well, as its machine knows
 * @over_at: when the last job ended without a failure
 * @excused: the last add that a person may have removed
 * @unsure_until: the machine that was asked to remove it has died, so it may be removed until then
 * @removed_at, @asked_at: the last removal, and when it was asked for
 * @active_at: when somebody has added or retried it last, or has asked for something
 * @retried: when @retries were told
 */
struct checked_key {
	int world, seen, running;
	struct token last;
	struct checked_add adds[MOST_ADDS];
	int nr_adds;
	int excused;
	uint64_t unsure_until, removed_at, asked_at, active_at, retried[8];
	uint64_t last_start, retries[8];
	int nr_retries;
	uint32_t requeues[ENDS];
	int nr_ends, last_priority;
	struct checked_note notes[MOST_NOTES];
	int nr_notes;
	struct {
		int machine, note;
		bool is_well;
		uint64_t since;
	} ending;
	uint64_t well_since, over_at;
	bool has_group, retry_has_value, came_back;
	/* A machine died with it. */
	uint64_t owed_at;
};

struct sim {
	uint64_t seed, random, now, seq, last_op, events, last_process, last_add;
	enum mode mode;
	struct due_heap heap;
	uint64_t order;
	struct stored *stored;
	struct tail *tails;
	struct machine machines[MOST_MACHINES];
	int nr_machines, nr_keys;
	struct checked_key keys[MOST_KEYS];
	struct checked_request requests[MOST_REQUESTS];
	int nr_requests;
	bool has_requests;
	uint64_t faults_until, adds_until, gap_until, end;
	uint32_t group_limit;
	/* 0 for twice the workers */
	int prefetch;
	uint64_t numbers;
	/* Masters hold back most of their operations */
	bool is_narrow;
	/* Of 10000 */
	unsigned int loss, twice, slow, lost_acks;
	/* One of so many allocations of the cores fails; 0 for none */
	uint64_t memory;
	uint64_t failures;
	uint64_t runs, extra_runs, elections, deaths, killed, moved, recalls, longest_wait;
	uint64_t hungry_since, elected_at, busy_at;
	const char *failure;
	char text[200];
	bool trace;
};

/* sim.c */
uint64_t sim_random(struct sim *sim, uint64_t below);
bool sim_chance(struct sim *sim, unsigned int of_10000);
struct event *sim_after(struct sim *sim, uint64_t delay,
			void (*run)(struct sim *sim, struct event *event));
void __attribute__((format(printf, 2, 3))) sim_fail(struct sim *sim, const char *format, ...);
void __attribute__((format(printf, 2, 3))) sim_trace(struct sim *sim, const char *format, ...);

/* Runs one seed. Returns NULL, or what went wrong. */
const char *sim_run(struct sim *sim, uint64_t seed, enum mode mode);
void sim_end(struct sim *sim);

/*
 * The simulation whose allocations may fail, or NULL while it uses a function of the cores itself.
 */
extern struct sim *sim_of_memory;

/*
 * Each program has its own: what arrives of a record or a message that is sent, and the name of a
 * key in the stream.
 */
struct record *sent_record(const struct record *record);
struct message *sent_message(const struct message *message);
void name_key(struct key_hash *hash, const char *name, int key);

/* stream.c: also the network */
struct record *copy_of_record(const struct record *record);
void free_record(struct record *record);
struct message *copy_of_message(const struct message *message);
void free_message(struct message *message);
void stream_publish(struct machine *machine, bool is_master, uint64_t op,
		    const struct record *record, uint64_t expected);
void stream_erase(struct machine *machine, uint64_t op, uint64_t seq);
void stream_read_of_machine(struct machine *machine, bool is_master, uint64_t op,
			    enum record_kind kind, const char *name);
void stream_read(struct machine *machine, bool is_master, uint64_t op, enum record_kind kind,
		 const struct key_hash *hash);
void stream_follow(struct machine *machine, bool is_master, uint64_t number);
void network_send(struct machine *from, const char *to, const struct message *message);
void stream_free(struct sim *sim);

/* machine.c */
void machine_start(struct machine *machine);
void machine_kill(struct machine *machine);
void machine_stop(struct machine *machine, uint64_t until);
void machine_leave(struct machine *machine);
void machine_worker_dies(struct machine *machine);
void machine_pause(struct machine *machine, uint64_t length);
int machine_sleepers(const struct machine *machine);
void machine_rearm(struct machine *machine);
void machine_add(struct machine *machine, int key, int priority, uint64_t delay);
void machine_request(struct machine *machine, int key, enum request_kind what);
struct machine *machine_named(struct sim *sim, const char *name);
struct machine *machine_of_epoch(struct sim *sim, uint64_t epoch);
struct instant machine_now(const struct machine *machine);

/* check.c */
struct key_hash hash_of(int key);
int key_of(const struct key_hash *hash);
struct bytes note_text(char text[16], int note);
struct checked_add *check_add(struct machine *machine, int key, int priority, uint64_t due);
void check_granted(struct machine *machine, int key);
void check_start(struct machine *machine, struct local *local);
/* Returns the number of the note that the end brings, or 0. */
int check_end(struct machine *machine, struct local *local, const struct member_end *end);
void check_confirmed(struct machine *machine, int key);
void check_requested(struct sim *sim, const struct checked_request *request);
void check_replied(struct sim *sim, struct checked_request *request, uint32_t was);
void check_unanswered(struct sim *sim, struct checked_request *request);
void check_often(struct sim *sim);
void check_quiet(struct sim *sim);
#endif /* KWQ_TEST_SHARE_SIM_H */

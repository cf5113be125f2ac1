/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Shared by the files of the machine: the loop (machine.c), what comes in (machine_events.c), and
 * what the cores order (machine_errands.c, machine_member.c, machine_master.c).
 */
#ifndef KWQ_SHARE_MACHINE_INTERNAL_H
#define KWQ_SHARE_MACHINE_INTERNAL_H

#include "base/duration.h"
#include "complaints.h"
#include "convert.h"
#include "share/core/hash.h"
#include "machine.h"
#include "share/master/master.h"

/* Parts of the lease. */
enum { BEATS_PER_TTL = 4, REPEATS_PER_TTL = 12, MARGINS_PER_TTL = 20, TTLS_UNTIL_CLEAN = 4 };

/* The longest pause before something is tried again. A long lease is no reason to wait. */
#define REPEAT_MAX NS_PER_S

static inline uint64_t repeat_of(uint64_t ttl)
{
	return ttl / REPEATS_PER_TTL < REPEAT_MAX ? ttl / REPEATS_PER_TTL : REPEAT_MAX;
}

enum owner { OWNER_MEMBER, OWNER_MASTER };

/*
 * An operation of a core that the engine carries out.
 *
 * @id: of the engine
 * @op: of the core
 * @epoch: of the master that ordered it
 */
struct errand {
	UT_hash_handle hh;
	struct errand *prev, *next;
	int64_t id;
	enum owner owner;
	uint64_t op, epoch;
	bool is_read;
};

/* A key whose end was told by the local queue, and is not yet confirmed. */
struct ended {
	UT_hash_handle hh;
	struct key_hash hash;
	uint64_t id;
};

/* A grant that the local queue did not take. */
struct returned {
	struct returned *prev, *next;
	struct key_hash hash;
	struct token token;
	struct member_end end;
};

/*
 * An add of the local queue. One that is ready and waits for a time is two records. The member
 * knows the first by the address, and the second by the address and 1.
 *
 * @local: its number in the local queue
 * @left: records that are not yet in the stream
 */
struct add {
	struct add *prev, *next;
	uint64_t local;
	unsigned int left;
};

/*
 * A request of a person. The member knows it by its address.
 *
 * @until: when the person waits no more
 */
struct asked {
	struct asked *prev, *next;
	struct machine *machine;
	uint64_t until;
	void (*done)(void *arg, int result);
	void *arg;
};

/* Work for outside of the callbacks of the cores. */
enum {
	SHALL_JOIN = 1 << 0,
	SHALL_DEPOSE = 1 << 1,
	SHALL_ELECT = 1 << 2,
	SHALL_SERVE = 1 << 3,
};

/*
 * @errands: under way, by @id
 * @refused: errands that the engine did not take; their result is unknown
 * @returned: grants that the local queue did not take, and that go back after the step
 * @full_until: until when nothing is asked for, because the local queue is full
 * @damage_told_at: when a damaged record was told of last, or 0
 * @no_room_since, @no_room_at: when the engine began to have no room for adds, and when it said so
 *	last; 0 if it always had some
 * @member_tail, @tail: the tail of the engine, and its number for the member
 * @own, @asks: listeners for messages to this machine, and to its master
 * @shall: SHALL_* bits
 * @elected, @elected_by: the epoch of the master that SHALL_SERVE means, and its record
 * @answered_at: when the engine answered or delivered something
 * @getters: workers that wait for a key here, as the last step saw it
 * @has_workers: there are some, who wait or work
 * @is_open: the local queue hands keys out
 * @opens_at: when a pause of it ends that has an end, else NEVER
 * @is_over: it was shut down or removed
 * @join_op: the operation of the member that reads the own join
 * @lacks_join: it has ended, and there is no join
 * @is_leaving: machine_leave() was called
 * @given_back: keys that no worker had taken when it left
 * @complaints: what was printed of the engine, so that it is not repeated
 */
struct machine {
	struct machine_options options;
	struct engine *engine;
	struct local *local;
	struct member *member;
	struct master *master;
	uint64_t epoch, elected, elected_by, join_op;
	struct errand *errands, *refused;
	struct ended *ended;
	struct returned *returned;
	struct add *adds;
	struct asked *asked;
	struct list *lists;
	int64_t member_tail, master_tail, own, asks;
	uint64_t tail, answered_at, full_until, opens_at, no_room_since, no_room_at, damage_told_at;
	unsigned int shall;
	uint32_t group_limit, getters;
	bool has_left, has_failed, has_lease, has_workers, has_more;
	bool is_up, is_open, is_over, is_leaving, lacks_join;
	char name[MACHINE_MAX];
	size_t given_back;
	struct complaints complaints;
	struct buffer buffer;
	struct record_memory memory;
};

/* machine.c */

/* CLOCK_BOOTTIME in ns. */
uint64_t machine_clock(void);

/* The same, and the time of the servers, which due times go by. */
struct instant machine_now(const struct machine *m);

/* Prints what @err means. The next step returns MACHINE_FAILED. */
void machine_fail(struct machine *m, int err);

/* A message about the engine, unless it was printed within the last minute. */
void machine_complain(struct machine *m, const char *text);

/* Whether the queue is paused, shut down or removed, and how many workers wait. */
void look_at_queue(struct machine *m);

/* machine_events.c */

void on_engine(struct machine *m, const struct engine_event *event);
void on_local(struct machine *m, const struct local_event *event);

/* machine_errands.c */

/* The engine has no room for an add, or refuses it for another reason. */
void machine_note_no_room(struct machine *m);

/* Whether it has had none for a while. */
bool machine_lacks_room(const struct machine *m);

/* Orders a publish for a core. */
void errand_publish(struct machine *m, enum owner by, uint64_t op, const struct record *record,
		    uint64_t expected);

/* Orders a read of the last record with the subject of @like. */
void errand_read(struct machine *m, enum owner by, uint64_t op, const struct record *like);

/* Notes an errand. @id is what the engine answered: its number, or a negative errno value. */
void errand_note(struct machine *m, enum owner by, uint64_t op, bool is_read, int64_t id);

/* An answer of the engine goes to the core that ordered it. */
void errand_answer(struct machine *m, const struct errand *errand, enum op_result result,
		   uint64_t seq, const struct record *record);

/* The engine did not take some errands. The cores repeat them later. */
void errands_answer_refused(struct machine *m);

void errands_free(struct machine *m);

/* Sends a message of a core. It may be lost. The cores repeat it. */
void errand_say(struct machine *m, const char *subject, const struct message *message);

/* machine_member.c */

extern const struct member_ops machine_member_ops;

/* Joins under a new name. */
void machine_join(struct machine *m);

void forget_ended(struct machine *m, struct ended *ended);

/* Grants that the local queue did not take go back to the master. */
void give_returned_back(struct machine *m);

/* machine_requests.c */

void asked_replied(uint64_t id, uint32_t was, bool is_sure);
void asked_tick(struct machine *m);
uint64_t asked_due(const struct machine *m);
void asked_free(struct machine *m);

/* machine_list.c */

/* Return whether the event is of a list. */
bool list_entry(struct machine *m, const struct engine_event *event);
bool list_caught_up(struct machine *m, const struct engine_event *event);
void lists_tick(struct machine *m);
uint64_t lists_due(const struct machine *m);
void lists_forget(struct machine *m, const void *arg);
void lists_free(struct machine *m);

/* machine_master.c */

/* This machine was elected. */
void begin_master(struct machine *m);
void end_master(struct machine *m);

#endif /* KWQ_SHARE_MACHINE_INTERNAL_H */

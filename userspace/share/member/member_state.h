/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Shared by the files of the member.
 */
#ifndef KWQ_SHARE_MEMBER_STATE_H
#define KWQ_SHARE_MEMBER_STATE_H

#include "share/core/copy.h"
#include "share/core/hash.h"
#include "member.h"
#include "share/core/window.h"

enum phase {
	PHASE_OUT,		/* without a name */
	PHASE_JOINING,		/* its join is being published */
	PHASE_READING,		/* it reads from the beginning, up to its join */
	PHASE_IN,
	PHASE_LEAVING,		/* it asks no more, and waits for its jobs */
	PHASE_GIVING_UP,	/* it writes that its name is dead */
	PHASE_LEFT,
};

/*
 * An operation that is on its way.
 *
 * @life: which name it belongs to. Results of an earlier one are ignored. 0: an add, which needs no
 *	name.
 * @sent_at: when it was ordered, boot time
 * @epoch: what the machine obeyed then
 */
struct member_op {
	UT_hash_handle hh;
	uint64_t id, life, sent_at, epoch;
	void (*finish)(struct member *member, struct member_op *op, enum op_result result,
		       uint64_t seq, const struct record *record);
	struct add *add;
};

/*
 * An ask that is open has a number, and is repeated until a grant answers it.
 *
 * @told_hungry: the master was told that a worker sleeps for it
 */
struct slot {
	uint64_t number, send_at;
	bool is_open, is_hungry, told_hungry;
};

enum holding_state { UNTAKEN, TAKEN, ENDED };

/*
 * A key of this machine.
 *
 * @prev, @next, @send_at: if ENDED, among the dones to repeat, in the order of @send_at
 * @work: what was granted
 * @came_back: a worker had it, and did not end it
 */
struct holding {
	UT_hash_handle hh;
	struct holding *prev, *next;
	uint64_t send_at;
	struct key_hash hash;
	struct token token;
	struct versions versions;
	enum holding_state state;
	bool came_back;
	struct record *work;
	struct member_end end;
};

/*
 * A request that is open has a number, and is repeated until a reply answers it.
 *
 * @epoch: of the master that it was sent to first, 0 for none
 */
struct member_request {
	uint64_t id, number, send_at, epoch;
	bool is_open, is_sure;
	enum request_kind what;
	struct key_hash hash;
};

/*
 * An add that is not in the stream yet.
 *
 * @prev, @next, @again_at: among those to begin again, if @is_late
 * @record: what is added
 * @merged: the same with what was there already
 * @is_awaited: the machine leaves when this is in the stream
 */
struct add {
	UT_hash_handle hh;
	struct add *prev, *next;
	uint64_t id, again_at;
	bool is_late, is_awaited;
	enum value_policy policy;
	struct record *record, *merged;
};

/*
 * A machine whose join or heartbeat was received.
 *
 * @ttl: how long it may be silent, as its join says
 * @seq, @at: of its last heartbeat, 0 for none
 */
struct heard {
	UT_hash_handle hh;
	uint64_t ttl, seq, at;
	char name[];
};

/*
 * @life: counts names
 * @tail: the tail that counts
 * @epoch: the master that it obeys
 * @seen: the highest epoch in this tail
 * @lease_until: 0 without a lease
 * @beaten_at: when the last heartbeat was sent
 * @promised: the sequence number of a heartbeat with @epoch, 0 if none is acknowledged
 * @outdated: that of the last one with an older epoch that the tail delivered since then
 * @owes_promise: there is a newer epoch since the first heartbeat was sent
 * @phase_until: READING: when it gives up; LEAVING: when it kills jobs
 * @again_at: JOINING, GIVING_UP: when to publish again, NEVER if that is on its way
 * @look_at: when to look for the own join, NEVER if that is on its way
 * @known: the sequence number of the last election, 0 if there is none
 * @known_epoch: the highest epoch ever seen, also in heartbeats
 * @expects_others: machines may be at work that no election tells of
 * @in_since: when it began to take part
 * @window: of its adds
 * @own_epoch: the last one that this machine is the master of, or 0
 * @master_ttl: how long the master's machine may be silent
 * @elect_at: no election before
 */
struct member {
	struct member_options options;
	const struct member_ops *ops;
	void *arg;
	struct instant now;
	bool has_failed, owes_promise;

	char *name;
	enum phase phase;
	uint64_t life, tail, epoch, promised, outdated, seen;
	uint64_t lease_until, beat_at, beaten_at, phase_until, again_at, look_at;

	uint64_t last_op;
	struct member_op *member_ops;

	struct slot *slots;
	size_t room, nr_open;
	uint32_t wanted, hungry;
	uint64_t asks_at;
	struct holding *holdings, *dones;
	size_t nr_untaken, nr_ended, surprises;
	bool some_came_back;
	struct member_request requests[REQUESTS_MAX];

	struct add *adds, *late_adds;
	struct window window;
	size_t nr_awaited;

	struct heard *heard;
	uint64_t known, known_epoch, elected, own_epoch;
	uint64_t master_heard_at, master_ttl, elect_at;
	char *master_name;
	uint64_t in_since;
	bool master_is_dead, shall_elect, is_electing, expects_others;
};

/* member.c */

void member_fail(struct member *member);

/* Makes an operation, whose number the engine gets. Returns NULL if memory has run out. */
struct member_op *member_op(struct member *member, uint64_t life,
			    void (*end)(struct member *, struct member_op *, enum op_result,
					uint64_t, const struct record *));

/* An election that is in the stream. */
void member_epoch(struct member *member, const struct record *record);

/* Sends a heartbeat before its time, but not too many. */
void beat_soon(struct member *member);

/* Whether it may work on shared keys now. */
bool has_lease(const struct member *member);

/* member_keys.c */

/* Asks for as much as is wanted, and sends what is due. */
void asks_refresh(struct member *member);

/* A new master: asks and dones begin anew. */
void keys_obey(struct member *member);

/* All keys are gone. */
void keys_drop(struct member *member);

/* Returns what nobody has taken. */
void keys_leave(struct member *member);

void dones_tick(struct member *member);

/*
 * Keys of masters older than @epoch, for a promise, in an array that the caller frees. Returns
 * false if memory has run out.
 */
bool keys_held(struct member *member, struct held **held, size_t *nr);

/* Whether it may ask its master for something. */
bool may_ask(const struct member *member);

/* member_requests.c */

void requests_tick(struct member *member);

/* A new master: they are sent again. */
void requests_obey(struct member *member);
uint64_t requests_next_due(const struct member *member);
void take_reply(struct member *member, const struct message *message);

/* member_adds.c */

void adds_tick(struct member *member);
void adds_leave(struct member *member);
void adds_free(struct member *member);

/* member_election.c */

void joined_record(struct member *member, const struct record *record);
void heard_record(struct member *member, const struct record *record);
void epoch_seen(struct member *member, const struct record *record);
void election_tick(struct member *member);

/* The stream has lost what this machine knows of elections. The epochs still grow. */
void election_forget(struct member *member);
uint64_t election_next_due(const struct member *member);
void election_free(struct member *member);

#endif /* KWQ_SHARE_MEMBER_STATE_H */

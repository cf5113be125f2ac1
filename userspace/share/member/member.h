/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * One machine of a shared queue: its lease, its promises, the keys that it holds, and its adds. It
 * can also be a candidate.
 *
 * A pure core: it reads no clock, does no I/O and has no thread. The owner passes records of
 * the election and of the machines in, in their order; messages of masters; results of operations;
 * local events; and time. Orders go out through struct member_ops. Those callbacks must not call
 * the member, but for what is said there.
 *
 * All that is passed in stays the caller's, and may be freed after the call. All that a callback
 * gets is the member's, and ends with the callback.
 *
 * If memory runs out, member_has_failed() is true from then on, and the member does nothing more:
 * it joins no more, and its lease ends by itself. The caller should end its process. Adds that were
 * not reported as added are the caller's to repeat, so nothing is lost.
 */
#ifndef KWQ_SHARE_MEMBER_H
#define KWQ_SHARE_MEMBER_H

#include "share/core/op.h"
#include "share/wire/record.h"
#include "share/core/timed.h"

struct member;

/*
 * @arg: the first argument of each
 * @send: sends a message to the master of @message->epoch. It may be lost.
 * @publish: publishes @record if @expected is the last sequence number of its subject; 0: if there
 *	is none; EXPECT_ANY: in any case
 * @read: reads the last record of a subject of a key, or of the election
 * @read_join: reads the join of the own name
 * @follow: follows the election and the machines (c.>) from the first message on, anew. Records
 *	of it come by member_record() with the number @tail.
 * @lease_until: shared keys may be worked on until @boot, boot time in ns. The kernel must know.
 * @lease_lost: no shared key may be worked on. When this returns, none is: their jobs are killed,
 *	and the queue is without shared keys. The caller then joins with a new name, by
 *	member_join(), later.
 * @start: a key may be worked on here. The token is for stores. The key may be here already: it
 *	replaces that one, which has ended.
 * @take_back: if no worker has taken the key, the caller removes it and calls member_ended() with
 *	OUTCOME_RETURNED, later. Else it does nothing.
 * @confirmed: the end of this key is in the stream
 * @revoke: the key goes back even from a worker, whose job ends. The caller calls member_ended()
 *	later, with OUTCOME_DONE, or OUTCOME_RETURNED if no worker had it. If the key has ended
 *	already, it does nothing.
 * @added: the add of this number is in the stream
 * @replied: the request of this number was done. @was: what its key was, KWQ_WAS_* bits; 0 if it
 *	was not there, or not so. @is_sure: 0 is true; otherwise an older master may have done it.
 * @elected: this machine is the master of @epoch, by the record @seq. The caller makes one, and
 *	ends the one of an older epoch.
 * @left: the name is given up, after member_leave()
 */
struct member_ops {
	void (*send)(void *arg, const struct message *message);
	void (*publish)(void *arg, uint64_t op, const struct record *record, uint64_t expected);
	void (*read)(void *arg, uint64_t op, enum record_kind kind, const struct key_hash *hash);
	void (*read_join)(void *arg, uint64_t op);
	void (*follow)(void *arg, uint64_t tail);
	void (*lease_until)(void *arg, uint64_t boot);
	void (*lease_lost)(void *arg);
	void (*start)(void *arg, const struct key_hash *hash, const struct work *work,
		      struct token token);
	void (*take_back)(void *arg, const struct key_hash *hash, struct token token);
	void (*revoke)(void *arg, const struct key_hash *hash, struct token token);
	void (*confirmed)(void *arg, const struct key_hash *hash);
	void (*replied)(void *arg, uint64_t request, uint32_t was, bool is_sure);
	void (*added)(void *arg, uint64_t add);
	void (*elected)(void *arg, uint64_t epoch, uint64_t seq);
	void (*left)(void *arg);
};

/*
 * Times are in ns.
 *
 * @ttl: how long an acknowledged heartbeat lasts
 * @beat: between two heartbeats
 * @repeat: what was not answered is repeated after this time
 * @is_candidate: it may be elected
 */
struct member_options {
	uint64_t ttl, beat, repeat;
	bool is_candidate;
};

/*
 * @epoch: the master that it obeys, or 0
 * @lease_until: boot time, or 0 without a lease
 * @held: keys that it has, and among them those that nobody has taken, and those whose end is not
 *	confirmed
 * @asks: that wait for an answer
 * @adds: that are not in the stream yet
 * @window: how many adds may be under way, so that the engine has time for what workers need
 * @surprises: grants of a key at work here, which no correct master sends
 */
struct member_status {
	const char *machine;
	uint64_t epoch, lease_until;
	size_t held, untaken, unconfirmed, asks, adds, window, surprises;
};

/*
 * How a job has ended. @due: wall time in ns, for OUTCOME_RETRY. @requeues, @priority: of the next
 * run. @abandoned: how many workers have died with the key, for OUTCOME_RETURNED. @note: what its
 * worker said, for a RETRY and a DEAD key; if it is empty, the note of the key stays.
 */
struct member_end {
	enum outcome outcome;
	uint64_t due;
	uint32_t requeues, abandoned;
	int priority;
	struct bytes note;
};

/*
 * An add. @due: wall time in ns, or 0 for an add without a time.
 */
struct member_add {
	struct key_hash hash;
	struct work work;
	uint64_t due;
	enum value_policy policy;
};

/* Returns a machine without a name, or NULL without memory. @ops and @arg must outlive it. */
struct member *member_new(const struct member_options *options, const struct member_ops *ops,
			  void *arg);

/* Frees it. NULL does nothing. */
void member_free(struct member *member);

/*
 * Takes part as @name, which must never have been used before: host name and 64 random bits. Only
 * at the beginning, and after
 * @lease_lost.
 */
void member_join(struct member *member, const char *name, struct instant now);

/*
 * The stream was there before. If it has no election, somebody has removed that, and machines may
 * be at work. So this one elects itself after a TTL at the earliest.
 */
void member_expect_others(struct member *member);

/*
 * Leaves in good order: asks for nothing more, returns keys that nobody has taken, and waits for
 * those at work and for the adds so far. At @deadline, boot time in ns, jobs that are left are
 * killed by @lease_lost. Then it gives up its name, so that others need not wait for its lease.
 */
void member_leave(struct member *member, uint64_t deadline, struct instant now);

/* How many keys this machine wants to have ready for its workers, and how many workers sleep. */
void member_set_slots(struct member *member, uint32_t slots, uint32_t hungry, struct instant now);

/* A record of c.>, from the tail with this number. Records of older tails are ignored. */
void member_record(struct member *member, uint64_t tail, const struct record *record,
		   struct instant now);

/* A message of a master: GRANT, CONFIRM, RECALL or REPLY. */
void member_message(struct member *member, const struct message *message, struct instant now);

/* The result of publish. @seq: the sequence number of what was published. */
void member_result(struct member *member, uint64_t op, enum op_result result, uint64_t seq,
		   struct instant now);

/*
 * The result of read and read_join: OP_OK with @record, OP_DAMAGED with one that has a sequence
 * number only, OP_NOT_FOUND or OP_UNKNOWN.
 */
void member_read(struct member *member, uint64_t op, enum op_result result,
		 const struct record *record, struct instant now);

/* A worker has taken the key, or it has given it up without an end. Ignored if the token is old. */
void member_taken(struct member *member, const struct key_hash *hash, struct token token,
		  bool is_taken, struct instant now);

/* A job has ended, or with OUTCOME_RETURNED was never begun. Ignored if the token is old. */
void member_ended(struct member *member, const struct key_hash *hash, struct token token,
		  const struct member_end *end, struct instant now);

/* Adds a key. @id: a number that is not in use. Repeats until it is in the stream, lease or not. */
void member_add(struct member *member, uint64_t id, const struct member_add *add,
		struct instant now);

/*
 * A person wants something of a key, which may be anywhere. @id: a number that is not in use.
 * Repeats it until a master has done it. Returns false if REQUESTS_MAX are not done yet.
 */
bool member_request(struct member *member, uint64_t id, enum request_kind what,
		    const struct key_hash *hash, struct instant now);

/* Nobody waits for the request any more. It may be done still. */
void member_forget_request(struct member *member, uint64_t id);

/* Elects this machine again, when its epoch has no numbers left. */
void member_elect(struct member *member, struct instant now);

/*
 * Calls @heard for each machine whose heartbeat was received: its sequence number and boot time in
 * ns. For master_heard().
 */
void member_each_heard(const struct member *member,
		       void (*heard)(void *arg, const char *machine, uint64_t seq, uint64_t boot),
		       void *arg);

/* Does what is due. */
void member_tick(struct member *member, struct instant now);

/* When member_tick() has something to do next, boot time in ns; NEVER for never. */
uint64_t member_next_due(const struct member *member);

struct member_status member_status(const struct member *member);
bool member_has_failed(const struct member *member);

#endif /* KWQ_SHARE_MEMBER_H */

/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The master of a shared queue: what it knows, and what it does.
 *
 * A pure core: it reads no clock, does no I/O and has no thread. The owner passes records of
 * the stream in, in their order, from the first one on; messages of machines; results of
 * operations; and time. Orders go out through struct master_ops. Those callbacks must not call the
 * master.
 *
 * All that is passed in stays the caller's, and may be freed after the call. All that a callback
 * gets is the master's, and ends with the callback.
 *
 * If memory runs out, master_has_failed() is true from then on, and the master does nothing more.
 * The stream has all that counts, so another master can begin.
 */
#ifndef KWQ_SHARE_MASTER_H
#define KWQ_SHARE_MASTER_H

#include "share/core/op.h"
#include "share/wire/record.h"
#include "share/core/window.h"

struct master;

enum {
	/* Keys whose times have come and that one call makes ready, at most. */
	MASTER_DUE_MAX = 1024,
};

/*
 * @arg: the first argument of each
 * @send: sends a message to a machine. It may be lost.
 * @publish: publishes @record if @expected is the last sequence number of its subject; 0: if there
 *	is none
 * @erase: deletes the message with this sequence number
 * @read: reads the last record of a subject of a key
 * @read_beat: reads the last heartbeat of a machine
 * @deposed: there is a newer master. This one does nothing more.
 * @renew: this epoch grants no more, because its numbers are used up. This machine shall elect
 *	itself again.
 */
struct master_ops {
	void (*send)(void *arg, const char *machine, const struct message *message);
	void (*publish)(void *arg, uint64_t op, const struct record *record, uint64_t expected);
	void (*erase)(void *arg, uint64_t op, uint64_t seq);
	void (*read)(void *arg, uint64_t op, enum record_kind kind, const struct key_hash *hash);
	void (*read_beat)(void *arg, uint64_t op, const char *machine);
	void (*deposed)(void *arg);
	void (*renew)(void *arg);
};

/*
 * Times are in ns.
 *
 * @epoch: of its election: epochs are counted
 * @elected: the sequence number of its election
 * @margin: a machine is buried so long after its lease, for clocks that differ
 * @repeat: an operation without an answer is ordered again after this time
 * @recall: a key is recalled again after this time, at the earliest
 * @clean: the name of a dead machine is erased after this time
 * @rest, @longest_rest: a key whose machine or worker died is granted again after this time, which
 *	doubles with each death
 * @group_limit: the most keys of a group at work, 0 for no limit
 * @numbers: the last number of a token
 * @window: of operations on records of keys, at first
 */
struct master_options {
	uint64_t epoch, elected, margin, repeat, recall, clean, rest, longest_rest;
	uint32_t group_limit;
	uint64_t numbers;
	struct window window;
};

/*
 * @ready: keys that could be granted, or will be when their group is below its limit
 * @waiting: keys with a time that has not come
 * @booked: keys that machines have
 * @machines: that take part and are not known as dead
 * @missing: machines whose promise or burial is waited for
 * @hungry: asks of sleeping workers that wait
 * @window: how many operations on records of keys may be under way
 * @is_serving: the promises are complete
 */
struct master_status {
	uint64_t epoch;
	size_t ready, waiting, booked, dead, remembered, machines, missing, hungry, window;
	bool is_serving;
};

/* Returns a master with an empty memory, or NULL without memory. @ops and @arg must outlive it. */
struct master *master_new(const struct master_options *options, const struct master_ops *ops,
			  void *arg);

/*
 * Frees it. Operations that are on their way have no effect on anything of this process. NULL does
 * nothing.
 */
void master_free(struct master *master);

/*
 * Before the first record: this machine, as a candidate, has received the heartbeat @seq of
 * @machine at @boot, boot time in ns. So the master need not count its silence anew.
 */
void master_heard(struct master *master, const char *machine, uint64_t seq, uint64_t boot);

/*
 * The tail: a record. Records come in the order of the stream, from its first message on. A tail
 * that is made anew, from any place before a gap, may repeat records.
 */
void master_record(struct master *master, const struct record *record, struct instant now);

/* A message of a machine: ASK, DONE or REQUEST. Others are ignored, and so are other epochs. */
void master_message(struct master *master, const struct message *message, struct instant now);

/* The result of publish or erase. @seq: the sequence number of what was published. */
void master_result(struct master *master, uint64_t op, enum op_result result, uint64_t seq,
		   struct instant now);

/*
 * The result of read: OP_OK with @record, OP_DAMAGED with one that has a sequence number only,
 * OP_NOT_FOUND or OP_UNKNOWN.
 */
void master_read(struct master *master, uint64_t op, enum op_result result,
		 const struct record *record, struct instant now);

/* Does what is due. */
void master_tick(struct master *master, struct instant now);

/* When master_tick() has something to do next, on each clock; NEVER for never. */
struct instant master_next_due(const struct master *master);

struct master_status master_status(const struct master *master);
bool master_has_failed(const struct master *master);

#endif /* KWQ_SHARE_MASTER_H */

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The name and the lease of a machine, and what it promises.
 */
#include <stdlib.h>
#include <string.h>

#include "member_state.h"

/* A machine that has not read its own join after so many leases begins with a new name. */
enum { READING_LEASES = 4 };

/* Part of the time of a repeat, which is 1 s at a TTL of 12 s. */
enum { SOON = 10 };

void member_fail(struct member *member)
{
	member->has_failed = true;
}

struct member *member_new(const struct member_options *options, const struct member_ops *ops,
			  void *arg)
{
	struct member *member = calloc(1, sizeof(*member));

	if (!member)
		return NULL;
	member->options = *options;
	member->ops = ops;
	member->arg = arg;
	member->window = window_for(options->ttl);
	member->asks_at = NEVER;
	member->again_at = NEVER;
	member->beat_at = NEVER;
	member->phase_until = NEVER;
	member->look_at = NEVER;
	return member;
}

static void free_op(struct member *member, struct member_op *op)
{
	HASH_DEL(member->member_ops, op);
	free(op);
}

void member_free(struct member *member)
{
	struct member_op *op, *next;

	if (!member)
		return;
	HASH_ITER(hh, member->member_ops, op, next)
		free_op(member, op);
	keys_drop(member);
	adds_free(member);
	election_free(member);
	free(member->slots);
	free(member->name);
	free(member);
}

struct member_op *member_op(struct member *member, uint64_t life,
			    void (*end)(struct member *, struct member_op *, enum op_result,
					uint64_t, const struct record *))
{
	struct member_op *op = calloc(1, sizeof(*op));

	if (!op) {
		member_fail(member);
		return NULL;
	}
	op->id = ++member->last_op;
	op->life = life;
	op->sent_at = member->now.boot;
	op->epoch = member->epoch;
	op->finish = end;
	HASH_ADD(hh, member->member_ops, id, sizeof(op->id), op);
	if (HASH_HAS(op))
		return op;
	free(op);
	member_fail(member);
	return NULL;
}

bool has_lease(const struct member *member)
{
	return member->lease_until > member->now.boot;
}

static bool is_in(const struct member *member)
{
	return member->phase == PHASE_IN || member->phase == PHASE_LEAVING;
}

static void enter(struct member *member, enum phase phase)
{
	member->phase = phase;
	member->again_at = NEVER;
	member->phase_until = NEVER;
}

static void forget_name(struct member *member)
{
	keys_drop(member);
	member->life++;
	member->epoch = 0;
	member->lease_until = 0;
	member->beat_at = NEVER;
	member->look_at = NEVER;
	member->is_electing = false;
}

static void leave_for_good(struct member *member)
{
	enter(member, PHASE_LEFT);
	member->ops->left(member->arg);
}

/* Whether that arrives does not matter: a master would find out by itself, later. */
static void nothing_follows(struct member *member, struct member_op *op, enum op_result result,
			    uint64_t seq, const struct record *record)
{
	(void)member;
	(void)op;
	(void)result;
	(void)seq;
	(void)record;
}

/* A name that is given up is dead at once, so that nobody waits for its promise or its lease. */
static void publish_burial(struct member *member,
			   void (*end)(struct member *, struct member_op *, enum op_result,
				       uint64_t, const struct record *))
{
	struct record record = {
		.kind = RECORD_BEAT,
		.machine = member->name,
		.is_dead = true,
		.epoch = member->known_epoch,
	};
	struct member_op *op = member_op(member, member->life, end);

	member->again_at = NEVER;
	if (op)
		member->ops->publish(member->arg, op->id, &record, EXPECT_ANY);
}

static void lose(struct member *member)
{
	bool is_leaving = member->phase == PHASE_LEAVING;

	forget_name(member);
	enter(member, PHASE_OUT);
	member->ops->lease_lost(member->arg);
	publish_burial(member, nothing_follows);
	if (is_leaving)
		leave_for_good(member);
}

static void beat(struct member *member);

/* An older heartbeat was stored behind the promise, and has replaced it. The master waits. */
static void promise_again(struct member *member)
{
	if (!member->promised || member->outdated <= member->promised)
		return;
	member->outdated = 0;
	beat(member);
}

static void note_promise(struct member *member, const struct member_op *op, uint64_t seq)
{
	if (op->epoch != member->epoch || seq < member->promised)
		return;
	member->promised = seq;
	promise_again(member);
}

/* A lease that is over stays over, whatever is acknowledged late. */
static void beat_was_published(struct member *member, struct member_op *op, enum op_result result,
			       uint64_t seq, const struct record *record)
{
	uint64_t until = op->sent_at + member->options.ttl;

	(void)record;
	if (!is_in(member))
		return;
	if (result == OP_OK)
		note_promise(member, op, seq);
	if (result == OP_UNKNOWN && member->beat_at > member->now.boot + member->options.repeat)
		member->beat_at = member->now.boot + member->options.repeat;
	if (result != OP_OK || until <= member->lease_until)
		return;
	member->lease_until = until;
	member->ops->lease_until(member->arg, until);
	asks_refresh(member);
}

static void publish_beat(struct member *member, uint64_t expected,
			 void (*end)(struct member *, struct member_op *, enum op_result, uint64_t,
				     const struct record *))
{
	struct record record = {
		.kind = RECORD_BEAT,
		.machine = member->name,
		.epoch = member->epoch,
	};
	struct member_op *op;
	struct held *held;

	member->beat_at = member->now.boot + member->options.beat;
	member->beaten_at = member->now.boot;
	if (!keys_held(member, &held, &record.nr_held))
		return;
	record.held = held;
	op = member_op(member, member->life, end);
	if (op)
		member->ops->publish(member->arg, op->id, &record, expected);
	free(held);
}

static void beat(struct member *member)
{
	publish_beat(member, EXPECT_ANY, beat_was_published);
}

void beat_soon(struct member *member)
{
	uint64_t at = member->beaten_at + member->options.repeat / SOON;

	if (at < member->beat_at && member->beat_at != NEVER)
		member->beat_at = at;
}

/* The first heartbeat must not be overtaken. The promise follows when it is acknowledged. */
static void promise(struct member *member)
{
	if (member->lease_until)
		beat(member);
	else
		member->owes_promise = true;
}

static void obey(struct member *member, uint64_t epoch)
{
	member->epoch = epoch;
	member->promised = 0;
	member->outdated = 0;
	keys_obey(member);
	requests_obey(member);
}

/*
 * The first heartbeat is by compare and set. So it does not hide the burial of a name that took too
 * long to join: such a machine would ask in vain.
 */
static void first_beat_was_published(struct member *member, struct member_op *op,
				     enum op_result result, uint64_t seq,
				     const struct record *record)
{
	if (result != OP_OK || op->sent_at + member->options.ttl <= member->now.boot) {
		lose(member);
		return;
	}
	member->beat_at = member->now.boot + member->options.beat;
	beat_was_published(member, op, result, seq, record);
	if (member->owes_promise)
		beat(member);
}

static void look_later(struct member *member)
{
	member->look_at = member->now.boot + member->options.ttl;
}

/*
 * Somebody has purged the stream, or has damaged the join. Masters to come do not know this
 * machine, so it must not work under this name.
 */
static void join_was_read(struct member *member, struct member_op *op, enum op_result result,
			  uint64_t seq, const struct record *record)
{
	(void)op;
	(void)seq;
	(void)record;
	if (!is_in(member))
		return;
	if (result == OP_NOT_FOUND || result == OP_DAMAGED) {
		election_forget(member);
		lose(member);
		return;
	}
	look_later(member);
}

static void look_for_join(struct member *member)
{
	struct member_op *op = member_op(member, member->life, join_was_read);

	member->look_at = NEVER;
	if (op)
		member->ops->read_join(member->arg, op->id);
}

static void begin_lease(struct member *member)
{
	enter(member, PHASE_IN);
	member->in_since = member->now.boot;
	look_later(member);
	if (member->seen)
		obey(member, member->seen);
	member->owes_promise = false;
	publish_beat(member, 0, first_beat_was_published);
	member->beat_at = NEVER;
}

static void join_was_published(struct member *member, struct member_op *op, enum op_result result,
			       uint64_t seq, const struct record *record)
{
	(void)op;
	(void)seq;
	(void)record;
	if (member->phase != PHASE_JOINING)
		return;
	if (result == OP_UNKNOWN) {
		member->again_at = member->now.boot + member->options.repeat;
		return;
	}
	/* Another sequence number: an earlier try was stored. */
	enter(member, PHASE_READING);
	member->phase_until = member->now.boot + READING_LEASES * member->options.ttl;
	member->tail++;
	member->seen = 0;
	member->ops->follow(member->arg, member->tail);
}

static void publish_join(struct member *member)
{
	struct record record = {
		.kind = RECORD_JOIN,
		.machine = member->name,
		.ttl = member->options.ttl,
	};
	struct member_op *op = member_op(member, member->life, join_was_published);

	member->again_at = NEVER;
	if (op)
		member->ops->publish(member->arg, op->id, &record, 0);
}

void member_join(struct member *member, const char *name, struct instant now)
{
	if (member->has_failed || member->phase != PHASE_OUT)
		return;
	member->now = now;
	free(member->name);
	member->name = strdup(name);
	if (!member->name) {
		member_fail(member);
		return;
	}
	member->life++;
	enter(member, PHASE_JOINING);
	publish_join(member);
}

static void burial_was_published(struct member *member, struct member_op *op, enum op_result result,
				 uint64_t seq, const struct record *record)
{
	(void)op;
	(void)seq;
	(void)record;
	if (member->phase != PHASE_GIVING_UP)
		return;
	if (result == OP_OK)
		leave_for_good(member);
	else
		member->again_at = member->now.boot + member->options.repeat;
}

/* If the burial is not stored by the end of the lease, others bury the name. */
static void give_up(struct member *member)
{
	bool had_keys = member->holdings;
	uint64_t until = member->lease_until;

	forget_name(member);
	enter(member, PHASE_GIVING_UP);
	member->phase_until = until;
	if (had_keys)
		member->ops->lease_lost(member->arg);
	publish_burial(member, burial_was_published);
}

void member_leave(struct member *member, uint64_t deadline, struct instant now)
{
	if (member->has_failed)
		return;
	if (member->phase >= PHASE_LEAVING) {
		if (deadline < member->phase_until)
			member->phase_until = deadline;
		member_tick(member, now);
		return;
	}
	/* The lease may have ended since the last tick. */
	member_tick(member, now);
	if (member->phase != PHASE_IN || !has_lease(member)) {
		if (member->phase != PHASE_OUT)
			publish_burial(member, nothing_follows);
		forget_name(member);
		leave_for_good(member);
		return;
	}
	enter(member, PHASE_LEAVING);
	member->phase_until = deadline;
	keys_leave(member);
	adds_leave(member);
	member_tick(member, now);
}

void member_epoch(struct member *member, const struct record *record)
{
	epoch_seen(member, record);
	if (record->epoch > member->seen)
		member->seen = record->epoch;
	if (is_in(member) && member->seen > member->epoch) {
		obey(member, member->seen);
		promise(member);
	}
}

static bool is_own_beat(const struct member *member, const struct record *record)
{
	return record->kind == RECORD_BEAT && member->phase >= PHASE_READING &&
	       member->phase < PHASE_GIVING_UP && !strcmp(record->machine, member->name);
}

void member_record(struct member *member, uint64_t tail, const struct record *record,
		   struct instant now)
{
	if (member->has_failed || tail != member->tail)
		return;
	member->now = now;
	if (record->kind == RECORD_BEAT)
		heard_record(member, record);
	else if (record->kind == RECORD_JOIN)
		joined_record(member, record);
	/* Somebody has found this name dead, or it was cleaned up. */
	if (is_own_beat(member, record) && record->is_dead) {
		lose(member);
		return;
	}
	if (is_own_beat(member, record) && record->epoch < member->epoch) {
		member->outdated = record->seq;
		promise_again(member);
	}
	if (record->kind == RECORD_JOIN && member->phase == PHASE_READING &&
	    !strcmp(record->machine, member->name))
		begin_lease(member);
	if (record->kind == RECORD_EPOCH)
		member_epoch(member, record);
}

static void finish(struct member *member, uint64_t id, enum op_result result, uint64_t seq,
		   const struct record *record, struct instant now)
{
	struct member_op *op;

	if (member->has_failed)
		return;
	/* The lease may have ended since the last tick. */
	member_tick(member, now);
	HASH_FIND(hh, member->member_ops, &id, sizeof(id), op);
	if (!op)
		return;
	if (!op->life || op->life == member->life)
		op->finish(member, op, result, seq, record);
	free_op(member, op);
}

void member_result(struct member *member, uint64_t op, enum op_result result, uint64_t seq,
		   struct instant now)
{
	finish(member, op, result, seq, NULL, now);
}

void member_read(struct member *member, uint64_t op, enum op_result result,
		 const struct record *record, struct instant now)
{
	bool is_there = result == OP_OK || result == OP_DAMAGED;

	finish(member, op, result, is_there ? record->seq : 0, record, now);
}

static void lease_tick(struct member *member)
{
	uint64_t now = member->now.boot;

	if (member->lease_until && member->lease_until <= now)
		lose(member);
	else if (member->phase == PHASE_READING && member->phase_until <= now)
		lose(member);
	else if (member->phase == PHASE_LEAVING &&
		 ((!member->holdings && !member->nr_awaited) || member->phase_until <= now))
		give_up(member);
	else if (member->phase == PHASE_JOINING && member->again_at <= now)
		publish_join(member);
	else if (member->phase == PHASE_GIVING_UP && member->phase_until <= now)
		leave_for_good(member);
	else if (member->phase == PHASE_GIVING_UP && member->again_at <= now)
		publish_burial(member, burial_was_published);
	if (member->beat_at <= now)
		beat(member);
	if (member->look_at <= now)
		look_for_join(member);
}

void member_tick(struct member *member, struct instant now)
{
	if (member->has_failed)
		return;
	member->now = now;
	lease_tick(member);
	asks_refresh(member);
	dones_tick(member);
	requests_tick(member);
	adds_tick(member);
	election_tick(member);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t member_next_due(const struct member *member)
{
	uint64_t next = earlier(member->beat_at, earlier(member->again_at, member->phase_until));

	if (member->has_failed)
		return NEVER;
	next = earlier(next, member->look_at);
	if (member->lease_until)
		next = earlier(next, member->lease_until);
	if (member->dones)
		next = earlier(next, member->dones->send_at);
	if (member->late_adds)
		next = earlier(next, member->late_adds->again_at);
	next = earlier(next, requests_next_due(member));
	return earlier(earlier(next, member->asks_at), election_next_due(member));
}

struct member_status member_status(const struct member *member)
{
	return (struct member_status){
		.machine = member->name,
		.epoch = member->epoch,
		.lease_until = member->lease_until,
		.held = HASH_COUNT(member->holdings),
		.untaken = member->nr_untaken,
		.unconfirmed = member->nr_ended,
		.asks = member->nr_open,
		.adds = HASH_COUNT(member->adds),
		.window = member->window.size,
		.surprises = member->surprises,
	};
}

bool member_has_failed(const struct member *member)
{
	return member->has_failed;
}

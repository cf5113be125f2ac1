// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The errands of the member, and the name of the machine.
 */
#include "machine_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/cmd.h"
#include "base/duration.h"
#include "share/core/copy.h"

/* A queue that has no room is asked again after this time. */
#define FULL_PAUSE NS_PER_S

static void member_send(void *arg, const struct message *message)
{
	struct machine *m = arg;
	char subject[SUBJECT_MAX];

	master_subject(subject, m->options.names, message->epoch);
	errand_say(m, subject, message);
}

static bool is_add(enum record_kind kind)
{
	return kind == RECORD_ADD || kind == RECORD_TIMED;
}

/*
 * Adds leave room for heartbeats, unless a key that makes room waits for its add. The core repeats
 * one that was not taken.
 */
static bool has_room(struct machine *m, const struct key_hash *hash, size_t bytes)
{
	if (engine_has_room(m->engine, bytes) || local_end_needs_add(m->local, hash))
		return true;
	machine_complain(m, "the stream is nearly full: adds wait here; raise its max_bytes");
	machine_note_no_room(m);
	return false;
}

/* A token has so many bits for elections. */
static bool has_epochs(struct machine *m, const struct record *record)
{
	if (record->kind != RECORD_EPOCH || epoch_count(record->epoch) <= RECORD_ELECTIONS_MAX)
		return true;
	message("no master can be elected: the queue has had %llu elections, and tokens count no more; when it is empty, delete the stream and start all kwq share anew",
		(unsigned long long)RECORD_ELECTIONS_MAX);
	m->has_failed = true;
	return false;
}

static void member_publish(void *arg, uint64_t op, const struct record *record, uint64_t expected)
{
	struct machine *m = arg;

	if (!has_epochs(m, record))
		return;
	if (is_add(record->kind)) {
		if (!has_room(m, &record->hash, work_bytes(&record->work))) {
			errand_note(m, OWNER_MEMBER, op, false, -ENOSPC);
			return;
		}
		engine_take_room(m->engine, work_bytes(&record->work));
	}
	errand_publish(m, OWNER_MEMBER, op, record, expected);
}

static void member_read_last(void *arg, uint64_t op, enum record_kind kind,
			     const struct key_hash *hash)
{
	/* An add that is tried again begins with this. There may be very many, and no room. */
	if (is_add(kind) && !has_room(arg, hash, 0))
		errand_note(arg, OWNER_MEMBER, op, true, -ENOSPC);
	else
		errand_read(arg, OWNER_MEMBER, op, &(struct record){ .kind = kind, .hash = *hash });
}

static void member_read_join(void *arg, uint64_t op)
{
	struct machine *m = arg;
	const struct record join = { .kind = RECORD_JOIN, .machine = m->name };

	m->join_op = op;
	errand_read(m, OWNER_MEMBER, op, &join);
}

static void member_follow(void *arg, uint64_t tail)
{
	struct machine *m = arg;

	if (m->member_tail)
		engine_unfollow(m->engine, m->member_tail);
	m->tail = tail;
	m->member_tail = engine_follow(m->engine, m->options.names->control, 1);
	if (m->member_tail < 0)
		machine_fail(m, m->member_tail);
}

static void member_lease_until(void *arg, uint64_t boot)
{
	struct machine *m = arg;
	int err = local_set_term(m->local, boot);

	m->has_lease = true;
	if (err)
		machine_fail(m, err);
}

void forget_ended(struct machine *m, struct ended *ended)
{
	local_confirmed(m->local, ended->id);
	HASH_DEL(m->ended, ended);
	free(ended);
}

static void member_lease_lost(void *arg)
{
	struct machine *m = arg;
	struct ended *ended, *next;
	int err = local_set_term(m->local, 0);

	if (!err)
		err = local_revoke_all(m->local);
	if (err)
		machine_fail(m, err);
	/* They run again elsewhere. */
	HASH_ITER(hh, m->ended, ended, next)
		forget_ended(m, ended);
	if (m->is_leaving)
		message("workers have lost their keys: these run again on other machines");
	else if (m->has_lease && m->lacks_join)
		message("the stream was purged or has lost records: the keys that it had are lost, and this machine joins again");
	else if (m->has_lease)
		message("the lease is over: the keys of this machine are taken back, and run again on one that reaches the engine");
	m->has_lease = false;
	m->shall |= SHALL_JOIN;
}

/* The local queue did not take a key. It goes back to the master after this step. */
static void note_returned(struct machine *m, const struct key_hash *hash, const struct work *work,
			  struct token token, int err)
{
	struct returned *returned = calloc(1, sizeof(*returned));

	if (!returned) {
		machine_fail(m, -ENOMEM);
		return;
	}
	*returned = (struct returned){
		.hash = *hash,
		.token = token,
		.end = {
			.outcome = OUTCOME_RETURNED,
			.requeues = work->requeues,
			.abandoned = work->abandoned,
			.priority = work->priority,
		},
	};
	DL_APPEND(m->returned, returned);
	m->full_until = machine_clock() + FULL_PAUSE;
	if (err != -ESHUTDOWN)
		machine_complain(m, "the queue or its outbox is full: keys go back to other machines");
}

static void member_start(void *arg, const struct key_hash *hash, const struct work *work,
			 struct token token)
{
	struct machine *m = arg;
	int err = local_start(m->local, hash, work, token);

	/* After a shut down this machine leaves. */
	if (err == -ENOSPC || err == -EDQUOT || err == -ESHUTDOWN)
		note_returned(m, hash, work, token, err);
	else if (err)
		machine_fail(m, err);
}

static void member_take_back(void *arg, const struct key_hash *hash, struct token token)
{
	struct machine *m = arg;
	int err = local_take_back(m->local, hash, token);

	if (m->is_leaving && !err)
		m->given_back++;
	/* A worker has it, or will tell. */
	if (err && err != -EBUSY && err != -ENOENT)
		machine_fail(m, err);
}

/* If it has just ended, its end is told anyway. */
static void member_revoke(void *arg, const struct key_hash *hash, struct token token)
{
	struct machine *m = arg;
	int err = local_revoke(m->local, hash, token);

	if (err && err != -EBUSY && err != -ENOENT)
		machine_fail(m, err);
}

static void member_replied(void *arg, uint64_t id, uint32_t was, bool is_sure)
{
	(void)arg;
	asked_replied(id, was, is_sure);
}

static void free_add(struct machine *m, struct add *add)
{
	DL_DELETE(m->adds, add);
	free(add);
}

static void member_added(void *arg, uint64_t id)
{
	struct add *add = (struct add *)(uintptr_t)(id & ~1ULL);
	struct machine *m = arg;
	int err;

	if (--add->left)
		return;
	err = local_stored(m->local, add->local);
	free_add(m, add);
	if (err)
		machine_fail(m, err);
}

/* The end is in the stream, and local_event.id of it is of no more use. */
static void member_confirmed(void *arg, const struct key_hash *hash)
{
	struct machine *m = arg;
	struct ended *ended;

	HASH_FIND(hh, m->ended, hash, sizeof(*hash), ended);
	if (ended)
		forget_ended(m, ended);
}

static void member_elected(void *arg, uint64_t epoch, uint64_t seq)
{
	struct machine *m = arg;

	m->elected = epoch;
	m->elected_by = seq;
	m->shall |= SHALL_SERVE;
}

static void member_left(void *arg)
{
	struct machine *m = arg;

	m->has_left = true;
}

const struct member_ops machine_member_ops = {
	.send = member_send,
	.publish = member_publish,
	.read = member_read_last,
	.read_join = member_read_join,
	.follow = member_follow,
	.lease_until = member_lease_until,
	.lease_lost = member_lease_lost,
	.start = member_start,
	.take_back = member_take_back,
	.revoke = member_revoke,
	.replied = member_replied,
	.confirmed = member_confirmed,
	.added = member_added,
	.elected = member_elected,
	.left = member_left,
};

/* A name lives once. */
static int make_name(struct machine *m)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	snprintf(m->name, sizeof(m->name), "%.*s-%016llx", MACHINE_MAX - 18, m->options.host,
		 (unsigned long long)number);
	return 0;
}

void machine_join(struct machine *m)
{
	char subject[SUBJECT_MAX];
	int err = make_name(m);

	if (!err)
		err = machine_subject(subject, m->options.names, m->name);
	if (err) {
		machine_fail(m, err);
		return;
	}
	if (m->own > 0)
		engine_unlisten(m->engine, m->own);
	m->own = engine_listen(m->engine, subject);
	if (m->own < 0)
		machine_fail(m, m->own);
	else
		member_join(m->member, m->name, machine_now(m));
}

void give_returned_back(struct machine *m)
{
	struct returned *returned, *next;

	DL_FOREACH_SAFE(m->returned, returned, next) {
		DL_DELETE(m->returned, returned);
		member_ended(m->member, &returned->hash, returned->token, &returned->end,
			     machine_now(m));
		free(returned);
	}
}

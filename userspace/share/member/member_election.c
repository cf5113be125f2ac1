// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A candidate: it listens to the machine of the master, and elects its own if that is silent. No
 * rule of safety depends on when: the election is by compare and set, and a wrong one costs a
 * pause.
 */
#include <stdlib.h>
#include <string.h>

#include "member_state.h"

void election_free(struct member *member)
{
	struct heard *heard, *next;

	HASH_ITER(hh, member->heard, heard, next) {
		HASH_DEL(member->heard, heard);
		free(heard);
	}
	free(member->master_name);
}

static struct heard *heard_get(struct member *member, const char *name)
{
	struct heard *heard;
	size_t size = strlen(name) + 1;

	HASH_FIND_STR(member->heard, name, heard);
	if (heard)
		return heard;
	heard = calloc(1, sizeof(*heard) + size);
	if (!heard) {
		member_fail(member);
		return NULL;
	}
	memcpy(heard->name, name, size);
	HASH_ADD_STR(member->heard, name, heard);
	if (HASH_HAS(heard))
		return heard;
	free(heard);
	member_fail(member);
	return NULL;
}

static void forget_heard(struct member *member, const char *name)
{
	struct heard *heard;

	HASH_FIND_STR(member->heard, name, heard);
	if (!heard)
		return;
	HASH_DEL(member->heard, heard);
	free(heard);
}

static bool is_master(const struct member *member, const char *name)
{
	return member->master_name && !strcmp(member->master_name, name);
}

static void know_epoch(struct member *member, uint64_t epoch)
{
	if (epoch > member->known_epoch)
		member->known_epoch = epoch;
}

/* Its join comes before it can be elected. */
void joined_record(struct member *member, const struct record *record)
{
	struct heard *heard = heard_get(member, record->machine);

	if (heard)
		heard->ttl = record->ttl;
}

/* A tail that is made anew repeats heartbeats. The time of the first reception counts. */
void heard_record(struct member *member, const struct record *record)
{
	struct heard *heard;

	if (record->is_dead) {
		forget_heard(member, record->machine);
		if (is_master(member, record->machine))
			member->master_is_dead = true;
		return;
	}
	know_epoch(member, record->epoch);
	heard = heard_get(member, record->machine);
	if (!heard || record->seq <= heard->seq)
		return;
	heard->seq = record->seq;
	heard->at = member->now.boot;
	if (is_master(member, record->machine))
		member->master_heard_at = member->now.boot;
}

static void tell_elected(struct member *member, const struct record *record)
{
	bool is_in = member->phase == PHASE_IN || member->phase == PHASE_LEAVING;

	if (!is_in || record->seq <= member->elected || strcmp(record->machine, member->name))
		return;
	member->elected = record->seq;
	member->own_epoch = record->epoch;
	member->ops->elected(member->arg, record->epoch, record->seq);
}

void epoch_seen(struct member *member, const struct record *record)
{
	struct heard *heard;
	char *name;

	tell_elected(member, record);
	if (record->seq <= member->known)
		return;
	name = strdup(record->machine);
	if (!name) {
		member_fail(member);
		return;
	}
	HASH_FIND_STR(member->heard, name, heard);
	free(member->master_name);
	member->master_name = name;
	member->master_ttl = heard ? heard->ttl : 0;
	member->known = record->seq;
	know_epoch(member, record->epoch);
	member->master_heard_at = member->now.boot;
	member->master_is_dead = false;
	member->shall_elect = false;
}

void member_expect_others(struct member *member)
{
	member->expects_others = true;
}

void election_forget(struct member *member)
{
	member->known = 0;
	member->expects_others = true;
}

/* All that works without an election has lost its lease after that, or has been heard of. */
static uint64_t elect_first_at(const struct member *member)
{
	uint64_t at = member->in_since + member->options.ttl;

	return member->expects_others && at > member->elect_at ? at : member->elect_at;
}

uint64_t election_next_due(const struct member *member)
{
	uint64_t ttl = member->options.ttl > member->master_ttl ? member->options.ttl :
		       member->master_ttl;
	uint64_t silent_at = member->master_heard_at + ttl;

	if (!member->options.is_candidate || member->phase != PHASE_IN || !member->lease_until ||
	    member->is_electing)
		return NEVER;
	if (!member->known)
		return elect_first_at(member);
	if (member->master_is_dead || member->shall_elect || silent_at < member->elect_at)
		return member->elect_at;
	return silent_at;
}

static void may_elect_later(struct member *member)
{
	member->is_electing = false;
	member->elect_at = member->now.boot + member->options.repeat;
}

/*
 * The tail tells neither of a damaged election, nor of one that somebody has removed.
 */
static void election_was_read(struct member *member, struct member_op *op, enum op_result result,
			      uint64_t seq, const struct record *record)
{
	(void)op;
	if (result == OP_OK)
		member_epoch(member, record);
	else if (result == OP_DAMAGED)
		member->known = seq;
	else if (result == OP_NOT_FOUND)
		member->known = 0;
	may_elect_later(member);
}

static void read_election(struct member *member)
{
	static const struct key_hash none;
	struct member_op *op = member_op(member, member->life, election_was_read);

	if (op)
		member->ops->read(member->arg, op->id, RECORD_EPOCH, &none);
}

/* Whether it was elected is learnt from the stream, in any case. */
static void election_was_published(struct member *member, struct member_op *op,
				   enum op_result result, uint64_t seq, const struct record *record)
{
	(void)op;
	(void)seq;
	(void)record;
	if (result == OP_WRONG_SEQUENCE)
		read_election(member);
	else
		may_elect_later(member);
}

#define HOUR (3600 * UINT64_C(1000000000))
/* The first second of 2026, in hours since 1970. */
#define FIRST_HOUR UINT64_C(490896)

/*
 * Stores keep the highest tokens, also when somebody has made the stream anew. So a new stream does
 * not begin at 1, but where the hours are. A clock that is a century ahead must not use up the
 * counts.
 */
static uint64_t next_count(const struct member *member)
{
	uint64_t next = epoch_count(member->known_epoch) + 1, hour = member->now.wall / HOUR;
	uint64_t since = hour > FIRST_HOUR ? hour - FIRST_HOUR : 0;

	return since > next && since <= RECORD_ELECTIONS_MAX / 2 ? since : next;
}

void election_tick(struct member *member)
{
	struct record record = {
		.kind = RECORD_EPOCH,
		.machine = member->name,
		.epoch = epoch_of(next_count(member), 0),
	};
	struct member_op *op;

	if (election_next_due(member) > member->now.boot)
		return;
	op = member_op(member, member->life, election_was_published);
	if (!op)
		return;
	member->is_electing = true;
	member->ops->publish(member->arg, op->id, &record, member->known);
}

void member_elect(struct member *member, struct instant now)
{
	member->shall_elect = true;
	member_tick(member, now);
}

void member_each_heard(const struct member *member,
		       void (*heard)(void *arg, const char *machine, uint64_t seq, uint64_t boot),
		       void *arg)
{
	const struct heard *one;

	for (one = member->heard; one; one = one->hh.next)
		if (one->seq)
			heard(arg, one->name, one->seq, one->at);
}

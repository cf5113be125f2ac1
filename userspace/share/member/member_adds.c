// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Adds: by compare and set, and merged with what is there. They are always published, even if
 * nothing changes: the version that is there may have been granted.
 */
#include <stdlib.h>

#include "member_state.h"

static void add_was_published(struct member *member, struct member_op *op, enum op_result result,
			      uint64_t seq, const struct record *record);
static void add_was_read(struct member *member, struct member_op *op, enum op_result result,
			 uint64_t seq, const struct record *record);

static void free_add(struct member *member, struct add *add)
{
	if (add->is_late)
		DL_DELETE(member->late_adds, add);
	member->nr_awaited -= add->is_awaited;
	HASH_DEL(member->adds, add);
	free(add->record);
	free(add->merged);
	free(add);
}

void adds_free(struct member *member)
{
	struct add *add, *next;

	HASH_ITER(hh, member->adds, add, next)
		free_add(member, add);
}

/* Adds that come later are not waited for: there may be no end of them. */
void adds_leave(struct member *member)
{
	struct add *add;

	for (add = member->adds; add; add = add->hh.next)
		add->is_awaited = true;
	member->nr_awaited = HASH_COUNT(member->adds);
}

static void publish_add(struct member *member, struct add *add, uint64_t expected)
{
	struct member_op *op = member_op(member, 0, add_was_published);

	if (!op)
		return;
	op->add = add;
	member->ops->publish(member->arg, op->id, add->merged ? add->merged : add->record,
			     expected);
}

static void read_add(struct member *member, struct add *add)
{
	struct member_op *op = member_op(member, 0, add_was_read);

	if (!op)
		return;
	op->add = add;
	member->ops->read(member->arg, op->id, add->record->kind, &add->record->hash);
}

/* The list is in the order of the times, because all wait equally long. */
static void again_later(struct member *member, struct add *add)
{
	add->again_at = member->now.boot + member->options.repeat;
	add->is_late = true;
	DL_APPEND(member->late_adds, add);
}

void adds_tick(struct member *member)
{
	struct add *add;

	while (!member->has_failed && (add = member->late_adds) &&
	       add->again_at <= member->now.boot) {
		DL_DELETE(member->late_adds, add);
		add->is_late = false;
		read_add(member, add);
	}
}

static void add_was_published(struct member *member, struct member_op *op, enum op_result result,
			      uint64_t seq, const struct record *record)
{
	struct add *add = op->add;
	uint64_t id = add->id;

	(void)seq;
	(void)record;
	window_answer(&member->window, HASH_COUNT(member->adds), op->sent_at, member->now.boot,
		      result != OP_UNKNOWN);
	if (result == OP_OK) {
		free_add(member, add);
		member->ops->added(member->arg, id);
	} else if (result == OP_WRONG_SEQUENCE) {
		read_add(member, add);
	} else {
		again_later(member, add);
	}
}

/*
 * Whether this machine was granted @old, which can only be for its due time. A job that adds its
 * own key for later has a clock that may be behind the master's.
 */
static bool is_granted_here(const struct member *member, const struct record *old)
{
	const struct holding *holding;

	HASH_FIND(hh, member->holdings, &old->hash, sizeof(old->hash), holding);
	return holding && holding->versions.timed >= old->seq;
}

static bool merge(struct member *member, struct add *add, const struct record *old)
{
	uint64_t wall = is_granted_here(member, old) ? NEVER : member->now.wall;
	struct record merged = *add->record;

	merge_work(&merged, old, add->policy);
	if (merged.kind == RECORD_TIMED)
		merge_times(&merged, old, wall);
	add->merged = record_copy(&merged);
	if (!add->merged)
		member_fail(member);
	return add->merged;
}

static void add_was_read(struct member *member, struct member_op *op, enum op_result result,
			 uint64_t seq, const struct record *record)
{
	struct add *add = op->add;

	/* An add replaces a damaged record. */
	if (result == OP_UNKNOWN) {
		again_later(member, add);
		return;
	}
	free(add->merged);
	add->merged = NULL;
	if (result == OP_OK && !merge(member, add, record))
		return;
	publish_add(member, add, seq);
}

static struct add *make_add(const struct member_add *what)
{
	struct record record = {
		.kind = what->due ? RECORD_TIMED : RECORD_ADD,
		.hash = what->hash,
		.work = what->work,
		.due = what->due,
		.past = NEVER,
	};
	struct add *add = calloc(1, sizeof(*add));

	if (!add)
		return NULL;
	add->policy = what->policy;
	add->record = record_copy(&record);
	if (add->record)
		return add;
	free(add);
	return NULL;
}

void member_add(struct member *member, uint64_t id, const struct member_add *what,
		struct instant now)
{
	struct add *add;

	if (member->has_failed)
		return;
	member->now = now;
	add = make_add(what);
	if (!add) {
		member_fail(member);
		return;
	}
	add->id = id;
	HASH_ADD(hh, member->adds, id, sizeof(add->id), add);
	if (HASH_HAS(add)) {
		publish_add(member, add, 0);
		return;
	}
	free(add->record);
	free(add);
	member_fail(member);
}

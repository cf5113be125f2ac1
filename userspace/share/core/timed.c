// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include "op.h"
#include "timed.h"

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t value_version(const struct record *record)
{
	return record->valued || record->kind == RECORD_RETRY ? record->valued : record->seq;
}

uint64_t note_version(const struct record *record)
{
	if (!record->work.note.len)
		return 0;
	return record->noted ?: record->seq;
}

void merge_work(struct record *record, const struct record *there, enum value_policy policy)
{
	struct work *new = &record->work;
	const struct work *old = &there->work;

	if (old->priority > new->priority)
		new->priority = old->priority;
	if (old->has_value && (policy == VALUE_KEEP || !new->has_value)) {
		new->value = old->value;
		new->has_value = true;
		record->valued = value_version(there);
	}
	if (old->has_group && !new->has_group) {
		new->group = old->group;
		new->has_group = true;
	}
	if (old->note.len && !new->note.len) {
		new->note = old->note;
		record->noted = note_version(there);
	}
	if (old->requeues > new->requeues)
		new->requeues = old->requeues;
	if (old->abandoned > new->abandoned)
		new->abandoned = old->abandoned;
}

void merge_times(struct record *new, const struct record *old, uint64_t wall)
{
	if (old->due > wall) {
		new->due = earlier(old->due, new->due);
		new->past = old->past;
		new->through = old->through;
	} else {
		new->past = earlier(old->through ? old->past : NEVER, old->due);
		new->through = old->seq;
	}
}

uint64_t timed_owed(const struct record *record, uint64_t granted)
{
	return granted < record->through ? record->past : NEVER;
}

uint64_t timed_next(const struct record *record, uint64_t granted)
{
	return granted < record->seq ? record->due : NEVER;
}

/*
 * A debt is granted under its own version. The due time stays, even for a master that knows
 * of this grant only.
 */
uint64_t timed_covered(const struct record *record, uint64_t granted, uint64_t wall)
{
	if (timed_next(record, granted) <= wall)
		return record->seq;
	return timed_owed(record, granted) <= wall ? record->through : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Merging an add with the record that its subject has already. An adder reads the record,
 * merges, and publishes by compare and set.
 *
 * A timed record has two times. @due is the next one. @past is a time that an adder has found to be
 * over: a run is owed for it unless version @through of the record, or a later one, was granted. So
 * an add that meets a key at work neither runs early nor swallows the run that was due.
 */
#ifndef KWQ_SHARE_TIMED_H
#define KWQ_SHARE_TIMED_H

#include "share/wire/record.h"

/* How an add treats a value that is there already. */
enum value_policy {
	VALUE_REPLACE,
	VALUE_KEEP,
};

/*
 * Merges @old, what is there, with its sequence number, into @new, what is added: the higher
 * priority, the later value, group and note, the counts of what is there. @new points into @old's
 * bytes afterwards where it took them.
 */
void merge_work(struct record *new, const struct record *old, enum value_policy policy);

/*
 * The version of the add whose value @record has, 0 if that is unknown. The highest one is the
 * value of the key.
 */
uint64_t value_version(const struct record *record);

/*
 * The version of the record that brought the note of @record, 0 if it has none. The highest one is
 * the note of the key.
 */
uint64_t note_version(const struct record *record);

/*
 * Merges the times of @old, a timed record with its sequence number, into @new, whose due time is
 * the one that is added.
 * @wall: now, in ns since 1970.
 */
void merge_times(struct record *new, const struct record *old, uint64_t wall);

/*
 * The time of what @record owes beside its due time, in ns since 1970, or NEVER. @granted: the
 * highest version of the record that was granted.
 */
uint64_t timed_owed(const struct record *record, uint64_t granted);

/* The due time of @record, or NEVER if that version was granted. */
uint64_t timed_next(const struct record *record, uint64_t granted);

/* The version that a grant covers at @wall: the record, what it owes, or 0 if neither is due. */
uint64_t timed_covered(const struct record *record, uint64_t granted, uint64_t wall);

#endif /* KWQ_SHARE_TIMED_H */

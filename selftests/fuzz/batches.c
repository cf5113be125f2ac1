// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random batches: entries, with their keys, extras and results.
 */
#include "fuzz.h"

static __u32 any_add_flags(struct fuzzer *f, __u64 *time)
{
	static const __u32 policies[] = { 0, KWQ_ADD_REPLACE, KWQ_ADD_KEEP, KWQ_ADD_LATER };

	*time = 0;
	if (wants(f, WANT_LIMITED))
		return KWQ_ADD_RATE_LIMITED;
	switch (any(f, 10)) {
	case 0:
		return KWQ_ADD_END_WAIT;
	case 1:
		*time = any_time(f);
		return KWQ_ADD_AT | policies[any(f, 4)];
	case 2:
	case 3:
		*time = any_time(f);
		return KWQ_ADD_AFTER | policies[any(f, 4)];
	case 4:
	case 5:
		return KWQ_ADD_RATE_LIMITED | policies[any(f, 4)];
	case 6:
		return KWQ_ADD_KICK;
	default:
		return 0;
	}
}

static void any_add(struct fuzzer *f, struct kwq_add_entry *entry, __u32 key_len)
{
	*entry = (struct kwq_add_entry){ .key_len = key_len };
	entry->flags = any_add_flags(f, &entry->time);
	if (one_in(f, 4)) {
		entry->flags |= KWQ_ADD_PRIORITY;
		entry->priority = (int)any(f, 64) - 32;
	}
}

/* Also those that exclude each other. */
static __u32 any_done_flags(struct fuzzer *f)
{
	__u32 flags = 0;

	if (wants(f, WANT_LIMITED))
		return 0;
	if (one_in(f, 3))
		flags |= KWQ_DONE_FORGET;
	if (one_in(f, 5))
		flags |= KWQ_DONE_DEAD;
	if (one_in(f, 5))
		flags |= KWQ_DONE_RETURN;
	return flags;
}

/* A batch may finish all that was fetched, in the order in which it was fetched or against it. */
static __u64 any_ticket(struct fuzzer *f, __u32 i)
{
	__u32 nr = f->nr_tickets < KWQ_BATCH_MAX ? f->nr_tickets : KWQ_BATCH_MAX;

	if (!nr)
		return any(f, 3);
	if (wants(f, WANT_LARGE))
		return f->tickets[(f->nr_tickets - 1 - i % nr) % KWQ_BATCH_MAX];
	return f->tickets[any(f, nr < 32 || one_in(f, 8) ? nr : 32)];
}

static void any_done(struct fuzzer *f, struct kwq_done_entry *entry, __u32 key_len, __u32 i)
{
	*entry = (struct kwq_done_entry){
		.ticket = key_len ? 0 : any_ticket(f, i),
		.key_len = key_len,
		.flags = any_done_flags(f),
	};
}

static void any_extension(struct fuzzer *f, struct kwq_extend_entry *entry, __u32 key_len, __u32 i)
{
	*entry = (struct kwq_extend_entry){
		.ticket = key_len ? 0 : any_ticket(f, i),
		.key_len = key_len,
	};
}

static void any_restore(struct fuzzer *f, struct kwq_restore_entry *entry, __u32 key_len)
{
	static const __u32 states[] = {
		KWQ_IS_READY, KWQ_IS_READY | KWQ_IS_RETURNED, KWQ_IS_READY | KWQ_IS_WAITING,
		KWQ_IS_WAITING, KWQ_IS_DEAD, KWQ_IS_REMEMBERED, KWQ_IS_PROCESSING,
		KWQ_IS_PROCESSING | KWQ_IS_DIRTY, KWQ_IS_PROCESSING | KWQ_IS_WAITING,
	};
	bool waits;

	entry->key_len = key_len;
	if (wants(f, WANT_REMEMBERED)) {
		entry->state = KWQ_IS_REMEMBERED;
		entry->requeues = 1 + any(f, 3);
		return;
	}
	entry->state = one_in(f, 32) ? 1U << any(f, 9) : states[any(f, 9)];
	waits = entry->state & KWQ_IS_WAITING;
	entry->priority = one_in(f, 2) ? 0 : (int)any(f, 64) - 32;
	entry->requeues = any(f, 3);
	entry->abandoned = any(f, 3);
	if (waits) {
		entry->wait_priority = one_in(f, 2) ? KWQ_PRIORITY_NONE : 0;
		entry->due_in = any_time(f);
		entry->waiting_for = any_age(f);
	}
	if (entry->state & (KWQ_IS_READY | KWQ_IS_PROCESSING))
		entry->dirty_for = any_age(f);
	if (entry->state == KWQ_IS_DEAD)
		entry->dead_for = any_age(f);
}

/* Mostly a number that the kernel has told, and that only one handle can have. */
__u64 any_change(struct fuzzer *f)
{
	return one_in(f, 4) ? any(f, 100) : f->after;
}

static void any_remove(struct fuzzer *f, struct kwq_remove_entry *entry, __u32 key_len)
{
	static const __u32 flags[] = {
		0, 0, KWQ_REMOVE_DEAD, KWQ_REMOVE_REVOKE, KWQ_REMOVE_UNCHANGED,
		KWQ_REMOVE_UNCHANGED | KWQ_REMOVE_REVOKE,
	};

	entry->key_len = key_len;
	entry->flags = one_in(f, 32) ? any(f, 8) : flags[any(f, ARRAY_SIZE(flags))];
	if (wants(f, WANT_UNCHANGED))
		entry->flags |= KWQ_REMOVE_UNCHANGED;
	if (entry->flags & KWQ_REMOVE_UNCHANGED)
		entry->change = any_change(f);
}

static size_t entry_size_of(enum kind kind)
{
	switch (kind) {
	case ADD:
		return sizeof(struct kwq_add_entry);
	case DONE:
		return sizeof(struct kwq_done_entry);
	case EXTEND:
		return sizeof(struct kwq_extend_entry);
	case REMOVE:
		return sizeof(struct kwq_remove_entry);
	case RESTORE:
		return sizeof(struct kwq_restore_entry);
	case GET:
		return sizeof(struct kwq_got);
	case LIST_ITEMS:
	case CHANGES:
		return sizeof(struct kwq_listed);
	default:
		return sizeof(struct kwq_key_entry);
	}
}

static __u32 any_number_of_entries(struct fuzzer *f, size_t entry_size)
{
	__u32 most = f->area / entry_size;

	if (most > KWQ_BATCH_MAX)
		most = KWQ_BATCH_MAX;
	if (wants(f, WANT_LARGE))
		return most - any(f, one_in(f, 2) ? 2 : most);
	switch (any(f, 16)) {
	case 0:
		return 1 + any(f, most);
	case 1:
		return 1 + any(f, most < 80 ? most : 80);
	default:
		return 1 + any(f, 4);
	}
}

/* The extras are in the second half of the area of results. */
static void *extras_of(struct fuzzer *f, struct kwq_batch *b, int area, size_t size)
{
	if (b->nr > f->area / 2 / size)
		return NULL;
	b->extras = address(f, area + 2) + f->area / 2;
	b->extra_size = size;
	return memset(area_of(f, area + 2) + f->area / 2, 0, b->nr * size);
}

/* Q16 Q18 D9: an extra for each add. */
static void add_extras(struct fuzzer *f, struct kwq_batch *b, int area)
{
	struct kwq_add_extra *extra = extras_of(f, b, area, sizeof(*extra));
	struct kwq_add_entry *entry;

	for (__u32 i = 0; extra && i < b->nr; i++, extra++) {
		entry = (void *)(area_of(f, area) + i * b->entry_size);
		if (entry->flags & KWQ_ADD_AFTER && entry->flags & KWQ_ADD_REPLACE &&
		    !one_in(f, 4)) {
			entry->flags |= KWQ_ADD_AT_MOST;
			extra->at_most = any_time(f);
		}
		if (one_in(f, 4)) {
			entry->flags |= KWQ_ADD_GROUP;
			any_group(f, extra);
		}
		if (one_in(f, 4)) {
			entry->flags |= KWQ_ADD_NOTE;
			any_note(f, extra);
		}
		if (!wants(f, WANT_VALUES) && one_in(f, 2))
			continue;
		entry->flags |= KWQ_ADD_VALUE | (one_in(f, 4) ? KWQ_ADD_KEEP_VALUE : 0) |
				(one_in(f, 4) ? KWQ_SET_JOINS : 0);
		any_value(f, extra);
	}
}

/* N3: the same for restores, which may have tokens. */
static void restore_extras(struct fuzzer *f, struct kwq_batch *b, int area)
{
	struct kwq_add_extra *extra = extras_of(f, b, area, sizeof(*extra));
	struct kwq_restore_entry *entry;

	for (__u32 i = 0; extra && i < b->nr; i++, extra++) {
		entry = (void *)(area_of(f, area) + i * b->entry_size);
		if (!one_in(f, 4)) {
			entry->flags |= KWQ_ADD_TOKEN;
			extra->token = any_time(f);
		}
		if (one_in(f, 4)) {
			entry->flags |= KWQ_ADD_VALUE;
			any_value(f, extra);
		}
		if (one_in(f, 4)) {
			entry->flags |= KWQ_ADD_NOTE;
			any_note(f, extra);
		}
		if (one_in(f, 8)) {
			entry->flags |= KWQ_ADD_GROUP;
			any_group(f, extra);
		}
	}
}

/* Q18: notes of what is held. */
static void extension_extras(struct fuzzer *f, struct kwq_batch *b, int area)
{
	struct kwq_add_extra *extra = extras_of(f, b, area, sizeof(*extra));
	struct kwq_extend_entry *entry;

	for (__u32 i = 0; extra && i < b->nr; i++, extra++) {
		if (one_in(f, 8))
			continue;
		entry = (void *)(area_of(f, area) + i * b->entry_size);
		entry->flags |= KWQ_EXTEND_NOTE;
		any_note(f, extra);
	}
}

static void any_entry(struct fuzzer *f, void *entry, __u32 key_len, __u32 i, enum kind kind)
{
	switch (kind) {
	case ADD:
		any_add(f, entry, key_len);
		break;
	case DONE:
		any_done(f, entry, key_len, i);
		break;
	case EXTEND:
		any_extension(f, entry, key_len, i);
		break;
	case RESTORE:
		any_restore(f, entry, key_len);
		break;
	case REMOVE:
		any_remove(f, entry, key_len);
		break;
	default:
		*(struct kwq_key_entry *)entry = (struct kwq_key_entry){ .key_len = key_len };
		break;
	}
}

/* A batch of entries to be read, in the areas of @place. */
void fill_in(struct fuzzer *f, struct kwq_batch *b, int place, enum kind kind)
{
	int area = BATCHES + place * 3;
	__u8 *entries = area_of(f, area), *keys = area_of(f, area + 1);
	size_t size = entry_size_of(kind);
	__u32 nr, used = 0;

	/* A program newer than the kernel that uses no new members. */
	if (one_in(f, 16))
		size += 8 * (1 + any(f, 3));
	nr = any_number_of_entries(f, size);
	memset(entries, 0, nr * size);
	for (__u32 i = 0; i < nr; i++) {
		bool by_ticket = (kind == DONE || kind == EXTEND) &&
				 (f->call.want & WANT_LARGE || !one_in(f, 4));
		__u32 len = by_ticket ? 0 : any_key(f, keys + used, f->area - used);

		/* Of a large batch without room for more keys all are valid. */
		if (!len && !by_ticket && f->call.want & WANT_LARGE) {
			nr = i;
			break;
		}
		any_entry(f, entries + i * size, len, i, kind);
		used += len;
	}
	*b = (struct kwq_batch){
		.entries = address(f, area),
		.keys = used || one_in(f, 16) ? address(f, area + 1) : 0,
		.results = address(f, area + 2),
		.keys_len = used,
		.nr = nr,
		.entry_size = size,
	};
	if (kind == ADD && (wants(f, WANT_VALUES) || one_in(f, 4)))
		add_extras(f, b, area);
	if (kind == RESTORE && !(f->call.want & WANT_REMEMBERED) && one_in(f, 2))
		restore_extras(f, b, area);
	if (kind == EXTEND && one_in(f, 2))
		extension_extras(f, b, area);
}

/* A batch of entries to be filled in. */
void leave_room(struct fuzzer *f, struct kwq_batch *b, int place, enum kind kind)
{
	int area = BATCHES + place * 3;
	__u32 room = one_in(f, 4) && !wants(f, WANT_LARGE) ? any(f, 64) : f->area;
	size_t size = entry_size_of(kind);

	if (one_in(f, 16))
		size += 8 * (1 + any(f, 3));
	*b = (struct kwq_batch){
		.entries = address(f, area),
		.keys = room || one_in(f, 16) ? address(f, area + 1) : 0,
		.keys_len = room,
		.nr = any_number_of_entries(f, size),
		.entry_size = size,
	};
	/* Values and groups come behind the keys. */
	if (kind == GET && one_in(f, 3))
		extras_of(f, b, area, sizeof(struct kwq_got_extra));
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random requests: built as valid ones, then some of them are spoiled.
 */
#include "fuzz.h"

const char *const kind_names[KINDS] = {
	[INFO] = "INFO", [CREATE] = "CREATE", [OPEN] = "OPEN", [UNLINK] = "UNLINK",
	[LIST] = "LIST", [ADD] = "ADD", [GET] = "GET", [DONE] = "DONE", [REMOVE] = "REMOVE",
	[LEN] = "LEN", [STAT] = "STAT", [SHUT_DOWN] = "SHUT_DOWN",
	[SHUTTING_DOWN] = "SHUTTING_DOWN", [DRAIN] = "DRAIN", [FORGET] = "FORGET",
	[REQUEUES] = "REQUEUES", [CONFIGURE] = "CONFIGURE", [CONFIG] = "CONFIG",
	[LIST_DEAD] = "LIST_DEAD", [ADVANCE] = "ADVANCE", [EXTEND] = "EXTEND",
	[LIST_ITEMS] = "LIST_ITEMS",
	[PAUSE] = "PAUSE", [RESUME] = "RESUME", [RESTORE] = "RESTORE",
	[BOARD] = "BOARD", [TELL] = "TELL", [FOLLOW] = "FOLLOW", [CHANGES] = "CHANGES",
	[SYNC] = "SYNC", [TERM] = "TERM",
	[UNKNOWN] = "an unknown request",
};

/* The kernel's view of an address in the room. */
static __u64 address(struct fuzzer *f, int page)
{
	return user_ptr(f->call.torn ? f->torn : f->room) + page * PAGE;
}

static __u64 any_time(struct fuzzer *f)
{
	switch (any(f, 12)) {
	case 0:
		return 0;
	case 1:
		return TIME_MAX - any(f, 2);
	case 2:
		return ~0ULL - any(f, 2);
	case 3:
		return HOUR;
	case 4:
		return now_ns() + any(f, MSEC);
	case 5:
		return any(f, 20) * MSEC;
	default:
		return any(f, 100 * USEC);
	}
}

/* Names that several processes share. */
static void any_name(struct fuzzer *f, __u8 to[KWQ_NAME_MAX + 1])
{
	static const char *const names[] = { "fuzz-a", "fuzz-b", "fuzz-c", "fuzz-\xff d" };

	if (one_in(f, 24))
		memset(to, 'x', KWQ_NAME_MAX + any(f, 2));
	else if (one_in(f, 24))
		set_name(to, one_in(f, 2) ? "fuzz/a" : "..");
	else
		set_name(to, names[any(f, ARRAY_SIZE(names))]);
}

/* Keys that several processes share. Each has a fixed length; the last ones are long. */
static __u32 any_key(struct fuzzer *f, __u8 *to, __u32 room)
{
	static const __u32 long_ones[] = { 100, 1000, KWQ_KEY_MAX };
	__u32 number = any(f, 25 + one_in(f, 8) * ARRAY_SIZE(long_ones));
	__u32 len = number < 25 ? 1 + number % 5 : long_ones[number - 25];

	if (len > room)
		return 0;
	memset(to, 'a' + number, len);
	return len;
}

static __u32 any_add_flags(struct fuzzer *f, __u64 *time)
{
	static const __u32 policies[] = { 0, KWQ_ADD_REPLACE, KWQ_ADD_KEEP, KWQ_ADD_LATER };

	*time = 0;
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
	__u32 flags = one_in(f, 3) ? KWQ_DONE_FORGET : 0;

	if (one_in(f, 5))
		flags |= KWQ_DONE_DEAD;
	if (one_in(f, 5))
		flags |= KWQ_DONE_RETURN;
	return flags;
}

static void any_done(struct fuzzer *f, struct kwq_done_entry *entry, __u32 key_len)
{
	*entry = (struct kwq_done_entry){
		.ticket = key_len ? 0 : f->tickets[any(f, ARRAY_SIZE(f->tickets))],
		.key_len = key_len,
		.flags = any_done_flags(f),
	};
}

static void any_extension(struct fuzzer *f, struct kwq_extend_entry *entry, __u32 key_len)
{
	*entry = (struct kwq_extend_entry){
		.ticket = key_len ? 0 : f->tickets[any(f, ARRAY_SIZE(f->tickets))],
		.key_len = key_len,
	};
}

/* How long an item has been in a state. */
static __u64 any_age(struct fuzzer *f)
{
	if (one_in(f, 2))
		return 0;
	return one_in(f, 8) ? KWQ_AGE_UNKNOWN : any_time(f);
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
static __u64 any_change(struct fuzzer *f)
{
	return one_in(f, 4) ? any(f, 100) : f->after;
}

static void any_remove(struct fuzzer *f, struct kwq_remove_entry *entry)
{
	static const __u32 flags[] = {
		0, 0, KWQ_REMOVE_DEAD, KWQ_REMOVE_REVOKE, KWQ_REMOVE_UNCHANGED,
		KWQ_REMOVE_UNCHANGED | KWQ_REMOVE_REVOKE,
	};

	entry->flags = one_in(f, 32) ? any(f, 8) : flags[any(f, ARRAY_SIZE(flags))];
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
	case LIST_DEAD:
		return sizeof(struct kwq_dead_entry);
	case LIST_ITEMS:
	case CHANGES:
		return sizeof(struct kwq_listed);
	default:
		return sizeof(struct kwq_key_entry);
	}
}

static __u32 any_number_of_entries(struct fuzzer *f, size_t entry_size)
{
	__u32 most = PAGE / entry_size;

	switch (any(f, 16)) {
	case 0:
		return 1 + any(f, most);
	case 1:
		return 1 + any(f, most < 80 ? most : 80);
	default:
		return 1 + any(f, 4);
	}
}

/*
 * Q18 D9: an extra for each add, in the second half of the page of results. The values are in
 * the page of keys.
 */
static void add_extras(struct fuzzer *f, struct kwq_batch *b, int page)
{
	struct kwq_add_extra *extra = (void *)(page_of(f, page + 2) + PAGE / 2);
	struct kwq_add_entry *entry;

	if (b->nr > PAGE / 2 / sizeof(*extra))
		return;
	memset(extra, 0, b->nr * sizeof(*extra));
	for (__u32 i = 0; i < b->nr; i++, extra++) {
		entry = (void *)(page_of(f, page) + i * b->entry_size);
		if (entry->flags & KWQ_ADD_AFTER && entry->flags & KWQ_ADD_REPLACE &&
		    !one_in(f, 4)) {
			entry->flags |= KWQ_ADD_AT_MOST;
			extra->at_most = any_time(f);
		}
		if (one_in(f, 2))
			continue;
		entry->flags |= KWQ_ADD_VALUE | (one_in(f, 4) ? KWQ_ADD_KEEP_VALUE : 0);
		extra->value_len = one_in(f, 4) ? 0 : any(f, PAGE);
		if (extra->value_len)
			extra->value = address(f, page + 1);
	}
	b->extras = address(f, page + 2) + PAGE / 2;
	b->extra_size = sizeof(*extra);
}

/* N3: the same for restores, which may have tokens. */
static void restore_extras(struct fuzzer *f, struct kwq_batch *b, int page)
{
	struct kwq_add_extra *extra = (void *)(page_of(f, page + 2) + PAGE / 2);
	struct kwq_restore_entry *entry;

	if (b->nr > PAGE / 2 / sizeof(*extra))
		return;
	memset(extra, 0, b->nr * sizeof(*extra));
	for (__u32 i = 0; i < b->nr; i++, extra++) {
		entry = (void *)(page_of(f, page) + i * b->entry_size);
		if (one_in(f, 4))
			continue;
		entry->flags |= KWQ_ADD_TOKEN;
		extra->token = any_time(f);
	}
	b->extras = address(f, page + 2) + PAGE / 2;
	b->extra_size = sizeof(*extra);
}

/* A batch of entries to be read, in the pages of @place. */
static void fill_in(struct fuzzer *f, struct kwq_batch *b, int place, enum kind kind)
{
	int page = BATCHES + place * 3;
	__u8 *entries = page_of(f, page), *keys = page_of(f, page + 1);
	size_t known = entry_size_of(kind), size = known;
	__u32 nr, used = 0;

	/* A program newer than the kernel that uses no new members. */
	if (one_in(f, 16))
		size += 8 * (1 + any(f, 3));
	nr = any_number_of_entries(f, size);
	memset(entries, 0, nr * size);
	for (__u32 i = 0; i < nr; i++) {
		bool by_ticket = (kind == DONE || kind == EXTEND) && !one_in(f, 4);
		__u32 len = by_ticket ? 0 : any_key(f, keys + used, PAGE - used);
		struct kwq_key_entry *entry = (void *)(entries + i * size);

		used += len;
		if (kind == ADD)
			any_add(f, (void *)entry, len);
		else if (kind == DONE)
			any_done(f, (void *)entry, len);
		else if (kind == EXTEND)
			any_extension(f, (void *)entry, len);
		else if (kind == RESTORE)
			any_restore(f, (void *)entry, len);
		else
			entry->key_len = len;
		if (kind == REMOVE)
			any_remove(f, (void *)entry);
	}
	*b = (struct kwq_batch){
		.entries = address(f, page),
		.keys = used || one_in(f, 16) ? address(f, page + 1) : 0,
		.results = address(f, page + 2),
		.keys_len = used,
		.nr = nr,
		.entry_size = size,
	};
	if (kind == ADD && one_in(f, 4))
		add_extras(f, b, page);
	if (kind == RESTORE && one_in(f, 2))
		restore_extras(f, b, page);
}

/* A batch of entries to be filled in. */
static void leave_room(struct fuzzer *f, struct kwq_batch *b, int place, enum kind kind)
{
	int page = BATCHES + place * 3;
	__u32 room = one_in(f, 4) ? any(f, 64) : PAGE;
	size_t size = entry_size_of(kind);

	if (one_in(f, 16))
		size += 8 * (1 + any(f, 3));
	*b = (struct kwq_batch){
		.entries = address(f, page),
		.keys = room || one_in(f, 16) ? address(f, page + 1) : 0,
		.keys_len = room,
		.nr = any_number_of_entries(f, size),
		.entry_size = size,
	};
}

static void any_limiter(struct fuzzer *f, struct kwq_limiter *l)
{
	memset(l, 0, sizeof(*l));
	l->kind = 1 + any(f, 4);
	switch (l->kind) {
	case KWQ_LIMITER_EXPONENTIAL:
		l->u.exponential.base = 1 + any(f, 1000);
		l->u.exponential.max = MSEC << any(f, 20);
		break;
	case KWQ_LIMITER_FAST_SLOW:
		l->u.fast_slow.fast = any(f, 1000);
		l->u.fast_slow.slow = any(f, MSEC);
		l->u.fast_slow.nr_fast = any(f, 4);
		break;
	case KWQ_LIMITER_BUCKET:
		l->u.bucket.period = 1 + any(f, MSEC);
		l->u.bucket.events = 1 + any(f, 4);
		l->u.bucket.burst = 1 + any(f, 100);
		break;
	default:
		l->u.backoff.duration = any(f, 1000);
		l->u.backoff.cap = one_in(f, 2) ? 0 : MSEC;
		l->u.backoff.factor = one_in(f, 4) ? 0 : any(f, 3 * KWQ_ONE);
		l->u.backoff.jitter = any(f, 2 * KWQ_ONE);
		l->u.backoff.steps = any(f, 30);
		break;
	}
	if (one_in(f, 32))
		l->u.space[any(f, 4)] = any_time(f);
}

/* The limiters are in the second half of the page EXTRA, which has room for 32. */
static void any_config(struct fuzzer *f, struct kwq_config *config)
{
	struct kwq_limiter *limiters = (void *)(page_of(f, EXTRA) + PAGE / 2);

	*config = (struct kwq_config){
		.size = sizeof(*config),
		.flags = one_in(f, 4) ? KWQ_CONFIG_COALESCE : 0,
		.max_wait = one_in(f, 2) ? 0 : any_time(f),
		.forget_after = one_in(f, 2) ? 0 : any_time(f),
		.dead_after = one_in(f, 3) ? 0 : 1 + any(f, 3),
		.dead_after_lost = one_in(f, 3) ? 0 : 1 + any(f, 3),
		.nr = one_in(f, 4) ? 0 : any(f, 4 + one_in(f, 8) * 6),
	};
	for (__u32 i = 0; i < config->nr; i++)
		any_limiter(f, &limiters[i]);
	if (config->nr) {
		config->limiters = address(f, EXTRA) + PAGE / 2;
		config->limiter_size = sizeof(*limiters);
	}
}

static __u32 any_open_flags(struct fuzzer *f)
{
	return (one_in(f, 3) ? O_NONBLOCK : 0) | O_CLOEXEC;
}

static __u32 any_rights(struct fuzzer *f)
{
	return one_in(f, 2) ? ALL_RIGHTS : any(f, ALL_RIGHTS + 1);
}

static void build_create(struct fuzzer *f, struct kwq_create_args *create)
{
	static const __s32 clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME, KWQ_CLOCK_ID_MANUAL };

	create->open_flags = any_open_flags(f);
	create->rights = any_rights(f);
	create->flags = one_in(f, 3) ? KWQ_CREATE_VALUES : 0;
	create->clockid = clocks[any(f, 3)];
	create->lease = one_in(f, 2) ? 0 : any_time(f);
	/* M1: durations are needed for a lease, but the kernel has to say so. */
	if (one_in(f, create->lease ? 32 : 3))
		create->flags |= KWQ_CREATE_NO_DURATIONS;
	if (one_in(f, 3))
		create->flags |= KWQ_CREATE_CHANGES;
	/* It needs KWQ_CREATE_CHANGES. Rarely, because calls then wait for a follower. */
	if (one_in(f, 32))
		create->flags |= KWQ_CREATE_SYNC;
	/* The kernel has to find out whether it is fit. */
	if (one_in(f, 4)) {
		create->flags |= KWQ_CREATE_OUTBOX;
		create->outbox = slot_fd(f, any(f, SLOTS));
	}
	create->max_items = one_in(f, 2) ? 0 : 1 + any(f, 40);
	create->max_bytes = one_in(f, 2) ? 0 : 1 + any(f, 20000);
	if (one_in(f, 2)) {
		create->flags |= one_in(f, 4) ? 0 : KWQ_CREATE_OR_OPEN;
		create->mode = one_in(f, 2) ? 0666 : any(f, 01000);
		any_name(f, create->name);
	}
	if (one_in(f, 2)) {
		any_config(f, (void *)page_of(f, EXTRA));
		create->config = address(f, EXTRA);
	}
}

static __u64 any_deadline(struct fuzzer *f)
{
	if (one_in(f, 16))
		return KWQ_NO_DEADLINE;
	return one_in(f, 2) ? any_time(f) : now_ns() + any(f, MSEC);
}

static void build_get(struct fuzzer *f, struct kwq_get_args *get)
{
	bool waits = one_in(f, 6) && !f->call.failing;

	if (one_in(f, 3))
		fill_in(f, &get->add, 0, ADD);
	if (one_in(f, 3))
		fill_in(f, &get->done, 1, DONE);
	if (one_in(f, 16))
		return;
	/* A get that does not wait sometimes has a deadline nonetheless. */
	get->flags = waits ? 0 : KWQ_GET_NONBLOCK;
	get->deadline = waits || one_in(f, 32) ? any_deadline(f) : 0;
	if (waits ? one_in(f, 3) : one_in(f, 32)) {
		get->flags |= KWQ_GET_RELATIVE;
		get->deadline = any_time(f);
		/* Continues a wait that a signal interrupted. */
		get->resume = one_in(f, 4) ? any_deadline(f) : 0;
	}
	if (!one_in(f, 64))
		leave_room(f, &get->get, 2, GET);
}

static void build_list_items(struct fuzzer *f, struct kwq_list_items_args *list)
{
	list->states = one_in(f, 2) ? 0xff : 1U << any(f, 8);
	if (one_in(f, 4))
		list->flags = KWQ_LIST_VALUES;
	if (one_in(f, 4)) {
		list->flags |= KWQ_LIST_KEY;
		list->key = address(f, EXTRA);
		list->key_len = any_key(f, page_of(f, EXTRA), PAGE);
	} else if (one_in(f, 2)) {
		list->after = (__u64)any(f, 1 << 30) << 34 | any(f, 2);
	}
	leave_room(f, &list->batch, 0, LIST_ITEMS);
}

static void build_changes(struct fuzzer *f, struct kwq_changes_args *changes)
{
	bool waits = one_in(f, 6) && !f->call.failing;

	changes->flags = waits ? 0 : KWQ_CHANGES_NONBLOCK;
	changes->deadline = waits || one_in(f, 32) ? any_deadline(f) : 0;
	if (waits ? one_in(f, 3) : one_in(f, 32)) {
		changes->flags |= KWQ_CHANGES_RELATIVE;
		changes->deadline = any_time(f);
		changes->resume = one_in(f, 4) ? any_deadline(f) : 0;
	}
	if (one_in(f, 4))
		changes->flags |= KWQ_CHANGES_VALUES;
	if (one_in(f, 2))
		changes->flags |= KWQ_CHANGES_GETTERS;
	changes->after = any_change(f);
	changes->kept = one_in(f, 2) ? any(f, changes->after + 1) : changes->after;
	changes->of_queue = any_change(f);
	leave_room(f, &changes->batch, 0, CHANGES);
}

static void build_sync(struct fuzzer *f, struct kwq_sync_args *sync)
{
	sync->deadline = any_deadline(f);
	sync->number = one_in(f, 4) ? 0 : 1 + any(f, one_in(f, 2) ? 2 : 100);
	if (one_in(f, 3)) {
		sync->flags = KWQ_SYNC_RELATIVE;
		sync->deadline = any_time(f);
		sync->resume = one_in(f, 4) ? any_deadline(f) : 0;
	}
}

/* Builds valid arguments, except for their sizes. */
static void build(struct fuzzer *f)
{
	void *arg = page_of(f, ARG);
	struct kwq_open_args *open = arg;
	struct kwq_unlink_args *unlink = arg;
	struct kwq_list_args *list = arg;
	struct kwq_batch_args *op = arg;
	struct kwq_add_args *add = arg;
	struct kwq_drain_args *drain = arg;
	struct kwq_config *config = arg;
	struct kwq_list_dead_args *list_dead = arg;
	struct kwq_advance_args *advance = arg;
	struct kwq_pause_args *pause = arg;
	struct kwq_term_args *term = arg;
	struct kwq_board_args *board = arg;
	struct kwq_tell_args *tell = arg;

	switch (f->call.kind) {
	case CREATE:
		build_create(f, arg);
		break;
	case OPEN:
		open->open_flags = any_open_flags(f);
		open->rights = any_rights(f);
		if (one_in(f, 2))
			any_name(f, open->name);
		break;
	case UNLINK:
		any_name(f, unlink->name);
		break;
	case LIST:
		list->entries = address(f, BATCHES);
		list->nr = 1 + any(f, 9 * PAGE / sizeof(struct kwq_list_entry));
		list->entry_size = sizeof(struct kwq_list_entry);
		if (one_in(f, 2))
			any_name(f, list->after);
		break;
	case ADD:
		fill_in(f, &add->batch, any(f, 3), ADD);
		if (one_in(f, 4)) {
			add->flags = KWQ_ADD_WAIT;
			add->deadline = any_deadline(f);
		}
		if (one_in(f, add->flags ? 3 : 32)) {
			add->flags |= KWQ_ADD_RELATIVE;
			add->deadline = any_time(f);
			add->resume = one_in(f, 4) ? any_deadline(f) : 0;
		}
		break;
	case DONE:
	case EXTEND:
	case REMOVE:
	case FORGET:
	case REQUEUES:
	case RESTORE:
		fill_in(f, &op->batch, any(f, 3), f->call.kind);
		break;
	case GET:
		build_get(f, arg);
		break;
	case DRAIN:
		drain->deadline = any_deadline(f);
		drain->shut_downs = one_in(f, 4) ? any(f, 3) : 0;
		if (one_in(f, 3)) {
			drain->flags = KWQ_DRAIN_RELATIVE;
			drain->deadline = any_time(f);
			drain->resume = one_in(f, 4) ? any_deadline(f) : 0;
		}
		break;
	case CONFIGURE:
		any_config(f, config);
		break;
	case CONFIG:
		config->nr = any(f, 10);
		if (config->nr) {
			config->limiters = address(f, EXTRA);
			config->limiter_size = sizeof(struct kwq_limiter) + 8 * any(f, 2);
		}
		break;
	case LIST_DEAD:
		list_dead->after = one_in(f, 2) ? 0 : any(f, 100);
		leave_room(f, &list_dead->batch, 0, LIST_DEAD);
		break;
	case LIST_ITEMS:
		build_list_items(f, arg);
		break;
	case ADVANCE:
		advance->flags = one_in(f, 4) ? KWQ_ADVANCE_TO : 0;
		/* Rarely to its end, because little happens afterwards. */
		advance->time = one_in(f, 64) ? any_time(f) : any(f, 2 * MSEC);
		break;
	case PAUSE:
		/* Rarely a long one, because little happens meanwhile. */
		if (one_in(f, 8))
			break;
		pause->flags = KWQ_PAUSE_FOR;
		pause->time = one_in(f, 16) ? any_time(f) : any(f, 2 * MSEC);
		break;
	case BOARD:
		board->open_flags = one_in(f, 2) ? O_CLOEXEC : 0;
		break;
	case TELL:
		tell->adds = one_in(f, 64) ? any_time(f) : 1 + any(f, 1000);
		break;
	case CHANGES:
		build_changes(f, arg);
		break;
	case SYNC:
		build_sync(f, arg);
		break;
	case TERM:
		/* Mostly none, because little happens after the end of one. */
		term->until = KWQ_NO_DEADLINE;
		if (!one_in(f, 4))
			break;
		term->flags = one_in(f, 4) ? 0 : KWQ_TERM_RELATIVE;
		term->until = one_in(f, 8) ? any_time(f) : any(f, 2 * MSEC);
		break;
	default:
		break;
	}
}

/* Each request, and its share in percent. */
static const struct {
	unsigned long cmd;
	size_t size;
	int weight;
} kinds[KINDS] = {
	[INFO] = { KWQ_IOC_INFO, sizeof(struct kwq_info), 1 },
	[CREATE] = { KWQ_IOC_CREATE, sizeof(struct kwq_create_args), 5 },
	[OPEN] = { KWQ_IOC_OPEN, sizeof(struct kwq_open_args), 4 },
	[UNLINK] = { KWQ_IOC_UNLINK, sizeof(struct kwq_unlink_args), 2 },
	[LIST] = { KWQ_IOC_LIST, sizeof(struct kwq_list_args), 2 },
	[ADD] = { KWQ_IOC_ADD, sizeof(struct kwq_add_args), 17 },
	[GET] = { KWQ_IOC_GET, sizeof(struct kwq_get_args), 15 },
	[DONE] = { KWQ_IOC_DONE, sizeof(struct kwq_batch_args), 8 },
	[REMOVE] = { KWQ_IOC_REMOVE, sizeof(struct kwq_batch_args), 4 },
	[LEN] = { KWQ_IOC_LEN, 0, 1 },
	[STAT] = { KWQ_IOC_STAT, sizeof(struct kwq_stat), 4 },
	[SHUT_DOWN] = { KWQ_IOC_SHUT_DOWN, sizeof(struct kwq_shut_down_args), 0 },
	[SHUTTING_DOWN] = { KWQ_IOC_SHUTTING_DOWN, 0, 1 },
	[DRAIN] = { KWQ_IOC_DRAIN, sizeof(struct kwq_drain_args), 0 },
	[FORGET] = { KWQ_IOC_FORGET, sizeof(struct kwq_batch_args), 2 },
	[REQUEUES] = { KWQ_IOC_REQUEUES, sizeof(struct kwq_batch_args), 2 },
	[CONFIGURE] = { KWQ_IOC_CONFIGURE, sizeof(struct kwq_config), 3 },
	[CONFIG] = { KWQ_IOC_CONFIG, sizeof(struct kwq_config), 2 },
	[LIST_DEAD] = { KWQ_IOC_LIST_DEAD, sizeof(struct kwq_list_dead_args), 2 },
	[LIST_ITEMS] = { KWQ_IOC_LIST_ITEMS, sizeof(struct kwq_list_items_args), 2 },
	[ADVANCE] = { KWQ_IOC_ADVANCE, sizeof(struct kwq_advance_args), 3 },
	[EXTEND] = { KWQ_IOC_EXTEND, sizeof(struct kwq_batch_args), 2 },
	[PAUSE] = { KWQ_IOC_PAUSE, sizeof(struct kwq_pause_args), 1 },
	[RESUME] = { KWQ_IOC_RESUME, sizeof(struct kwq_resume_args), 1 },
	[RESTORE] = { KWQ_IOC_RESTORE, sizeof(struct kwq_batch_args), 3 },
	[BOARD] = { KWQ_IOC_BOARD, sizeof(struct kwq_board_args), 2 },
	[TELL] = { KWQ_IOC_TELL, sizeof(struct kwq_tell_args), 1 },
	[FOLLOW] = { KWQ_IOC_FOLLOW, sizeof(struct kwq_follow_args), 2 },
	[CHANGES] = { KWQ_IOC_CHANGES, sizeof(struct kwq_changes_args), 5 },
	[SYNC] = { KWQ_IOC_SYNC, sizeof(struct kwq_sync_args), 2 },
	[TERM] = { KWQ_IOC_TERM, sizeof(struct kwq_term_args), 2 },
	[UNKNOWN] = { _IO(KWQ_IOC_MAGIC, 0x7f), 0, 1 },
};

static enum kind any_kind(struct fuzzer *f)
{
	int r = any(f, 100);

	/* Later the handle is gone, or others have read by it. */
	if (f->eager && one_in(f, 2)) {
		f->eager--;
		return one_in(f, 3) ? SYNC : CHANGES;
	}
	/* After these, little can be done with a queue. */
	if (one_in(f, 100))
		return one_in(f, 2) ? SHUT_DOWN : DRAIN;
	for (enum kind kind = 0; kind < KINDS; kind++) {
		r -= kinds[kind].weight;
		if (r < 0)
			return kind;
	}
	return GET;
}

/* An address that is not readable, or readable only up to the end of its page. */
static __u64 bad_address(struct fuzzer *f)
{
	switch (any(f, 7)) {
	case 0:
		return 0;
	case 1:
		return 0xffff888000000000ULL + any(f, 1 << 20);
	case 2:
		return 0x8000000000000000ULL >> any(f, 3);
	case 3:
		return ~0ULL - any(f, 16);
	case 4:
		return address(f, PAGES) - any(f, 64);
	default:
		return address(f, 0) + any(f, ROOM - PAGE);
	}
}

/*
 * Whether this is an address in a structure. Everything else may be changed at random:
 * the judge knows how much is written, and a gap follows the room. But a half-correct
 * address could point to other memory.
 */
static bool is_address(enum kind kind, size_t at)
{
	size_t batch = ~0UL;

	switch (kind) {
	case CREATE:
		return at >= offsetof(struct kwq_create_args, config) &&
		       at < offsetof(struct kwq_create_args, lease);
	case LIST:
		return at >= 8 && at < 16;
	case CONFIGURE:
	case CONFIG:
		return at >= 32 && at < 40;
	case ADD:
	case DONE:
	case EXTEND:
	case RESTORE:
	case REMOVE:
	case FORGET:
	case REQUEUES:
		batch = at - offsetof(struct kwq_batch_args, batch);
		break;
	case LIST_DEAD:
		batch = at - offsetof(struct kwq_list_dead_args, batch);
		break;
	case LIST_ITEMS:
		if (at >= offsetof(struct kwq_list_items_args, key) &&
		    at < offsetof(struct kwq_list_items_args, batch))
			return true;
		batch = at - offsetof(struct kwq_list_items_args, batch);
		break;
	case CHANGES:
		batch = at - offsetof(struct kwq_changes_args, batch);
		break;
	case GET:
		if (at < offsetof(struct kwq_get_args, add) ||
		    at >= offsetof(struct kwq_get_args, nr_added))
			break;
		batch = (at - offsetof(struct kwq_get_args, add)) % sizeof(struct kwq_batch);
		break;
	default:
		break;
	}
	return batch < offsetof(struct kwq_batch, keys_len);
}

static __u32 odd_number(struct fuzzer *f)
{
	switch (any(f, 5)) {
	case 0:
		return 0;
	case 1:
		return ~0U - any(f, 4);
	case 2:
		return 1U << any(f, 32);
	case 3:
		return PAGE + any(f, 3) - 1;
	default:
		return any(f, 2 * KWQ_BATCH_MAX);
	}
}

/* Changes one member of the structure. */
static void spoil_member(struct fuzzer *f, size_t size)
{
	__u8 *arg = page_of(f, ARG);
	size_t at = any(f, size / 4) * 4;
	__u64 address;
	__u32 number;

	if (is_address(f->call.kind, at)) {
		address = bad_address(f);
		memcpy(arg + at / 8 * 8, &address, sizeof(address));
		return;
	}
	memcpy(&number, arg + at, sizeof(number));
	number = one_in(f, 2) ? number ^ 1U << any(f, 32) : odd_number(f);
	memcpy(arg + at, &number, sizeof(number));
}

/* Flips a bit of an entry or of a limiter. */
static void spoil_entry(struct fuzzer *f)
{
	int page = one_in(f, 8) ? EXTRA : BATCHES + any(f, 3) * 3;
	size_t at = any(f, one_in(f, 2) ? 64 : PAGE);

	/* The address of the limiters is here. */
	if (page == EXTRA && f->call.kind == CREATE && at / 8 == 4)
		return;
	page_of(f, page)[at] ^= 1 << any(f, 8);
}

static void spoil(struct fuzzer *f, size_t size)
{
	__u32 *usize = (__u32 *)page_of(f, ARG);

	switch (any(f, 8)) {
	case 0:
		*usize = one_in(f, 2) ? odd_number(f) : size - 4 - any(f, size);
		f->call.wild = true;
		break;
	case 1:
		/* Newer than the kernel, with or without unknown content. */
		*usize = size + 8 * (1 + any(f, 8));
		if (one_in(f, 2))
			page_of(f, ARG)[size + any(f, 8)] = 1;
		else if (f->call.kind != INFO && f->call.kind != STAT)
			memset(page_of(f, ARG) + size, 0, *usize - size);
		break;
	case 2:
		f->call.arg = bad_address(f);
		f->call.wild = true;
		break;
	case 3:
	case 4:
		spoil_entry(f);
		/* If batches are adjacent, the page may belong to another one. */
		f->call.wild = true;
		break;
	default:
		spoil_member(f, size);
		f->call.wild = true;
		break;
	}
}

/* Poisons the room, so that every write is visible. */
static void poison_room(struct fuzzer *f)
{
	size_t size = kinds[f->call.kind].size;

	poison(f->room, ROOM);
	if (!size)
		return;
	/* Unset members are zero. These two requests read only the size. */
	if (f->call.kind != INFO && f->call.kind != STAT)
		memset(page_of(f, ARG), 0, size);
	*(__u32 *)page_of(f, ARG) = size;
}

/* Lets the nth allocation or copy fail. It must not be that of a signal frame. */
static void arm(struct fuzzer *f, const sigset_t *alarm)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", 1 + any(f, one_in(f, 4) ? 60 : 8));

	REQUIRE(!pthread_sigmask(SIG_BLOCK, alarm, NULL));
	REQUIRE(pwrite(f->nth, text, len, 0) == len);
}

/* Asking for a failure and disarming copy, too, and may be the step that fails. */
static void disarm(struct fuzzer *f, const sigset_t *alarm)
{
	char text[16] = "";
	ssize_t n = pread(f->nth, text, sizeof(text) - 1, 0);

	if (n > 0 && !atoi(text))
		atomic_fetch_add(&f->world->faults, 1);
	if (pwrite(f->nth, "0", 1, 0) != 1) {
		REQUIRE(errno == EFAULT);
		REQUIRE(pwrite(f->nth, "0", 1, 0) == 1);
	}
	REQUIRE(!pthread_sigmask(SIG_UNBLOCK, alarm, NULL));
}

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem))
		REQUIRE(errno == EINTR);
}

/* Makes the call. The other thread tears the arguments if there is something to tear. */
static void carry_out(struct fuzzer *f, int fd)
{
	struct call *c = &f->call;
	bool disturbed = c->torn || c->scribbled;
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	if (disturbed) {
		atomic_store(&f->calling, true);
		REQUIRE(!sem_post(&f->begin));
		wait_for(&f->begun);
	}
	if (c->failing)
		arm(f, &alarm);
	c->ret = ioctl(fd, c->cmd, c->arg);
	if (c->ret < 0)
		c->ret = -errno;
	if (c->failing)
		disarm(f, &alarm);
	if (disturbed) {
		atomic_store(&f->calling, false);
		REQUIRE(!sem_post(&f->end));
		wait_for(&f->ended);
	}
}

/* Mostly a descriptor of the kind that the request needs. */
static int any_fd(struct fuzzer *f)
{
	enum kind kind = f->call.kind;
	bool on_device = kind <= LIST &&
			 (kind != OPEN || page_of(f, ARG)[offsetof(struct kwq_open_args, name)]);
	int slot = any(f, SLOTS);

	f->slot = -1;
	if ((kind == CHANGES || kind == SYNC) && !one_in(f, 4))
		slot = f->followed;
	if (on_device != one_in(f, 32))
		return f->world->dev;
	/* The others shall get such a queue, too, but not all of them. */
	if ((kind == SHUT_DOWN || kind == DRAIN) && !one_in(f, 4))
		put_slot(f, slot, new_queue(f->world->dev));
	f->slot = slot;
	return slot_fd(f, slot);
}

void make_request(struct fuzzer *f)
{
	struct call *c = &f->call;
	size_t size;
	int fd;

	*c = (struct call){ .kind = any_kind(f) };
	size = kinds[c->kind].size;
	c->cmd = kinds[c->kind].cmd;
	switch (any(f, 8)) {
	case 0:
		c->torn = size;
		break;
	case 1:
		c->scribbled = size;
		break;
	case 2:
		c->failing = f->nth >= 0 && c->kind != DRAIN;
		break;
	}
	c->arg = address(f, ARG);
	if ((c->kind == LEN || c->kind == SHUTTING_DOWN) && !one_in(f, 4))
		c->arg = 0;
	poison_room(f);
	build(f);
	if (size && one_in(f, 4))
		spoil(f, size);
	fd = any_fd(f);
	/* Of all numbers with these parts only one is the request. */
	if (one_in(f, 32)) {
		c->cmd = _IOC(any(f, 4), KWQ_IOC_MAGIC, _IOC_NR(c->cmd), any(f, 12));
		if (c->cmd != kinds[c->kind].cmd)
			c->kind = UNKNOWN;
	}
	memcpy(f->before, f->room, ROOM);

	carry_out(f, fd);
	judge(f);
	if (c->ret >= 0 && (c->kind == CREATE || c->kind == OPEN))
		put_slot(f, any(f, SLOTS), c->ret);
	if (!c->ret && c->kind == FOLLOW && f->slot >= 0) {
		f->followed = f->slot;
		f->eager = 8;
	}
	if (c->ret >= 0 && c->kind == BOARD)
		judge_board(f, c->ret);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The permitted results of a request, whatever its arguments were.
 */
#include <stdarg.h>

#include "fuzz.h"

/*
 * Prints the fault in one line, which no other process interleaves, and ends the
 * process.
 */
void wrong(const struct fuzzer *f, const char *fmt, ...)
{
	const struct call *c = &f->call;
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	dprintf(STDERR_FILENO, "# %s: %s (returned %d%s%s%s%s)\n",
		kinds[c->kind].name, text, c->ret, c->torn ? ", torn" : "",
		c->scribbled ? ", scribbled" : "", c->failing ? ", failing" : "",
		c->wild ? ", wild" : "");
	abort();
}

/*
 * Each request: its share in percent, the rights that the handle needs, and the errors that are
 * documented. In addition, every argument may be invalid, every descriptor may be closed or
 * replaced by now, and memory may be missing where failures are injected. After the two without
 * a share little can be done with a queue, so any_kind() chooses them rarely.
 */
#define READ	KWQ_RIGHT_READ
#define WRITE	KWQ_RIGHT_WRITE
#define MANAGE	KWQ_RIGHT_MANAGE
const struct rule rules[KINDS] = {
	[INFO] = { 1, 0, { 0 } },
	[CREATE] = { 5, 0,
			{ E2BIG, EACCES, EDQUOT, EEXIST, EINTR, EMFILE, ENAMETOOLONG, ENFILE } },
	[OPEN] = { 4, 0, { E2BIG, EACCES, EMFILE, ENAMETOOLONG, ENFILE, ENOENT } },
	[UNLINK] = { 2, 0, { E2BIG, ENAMETOOLONG, ENOENT, EPERM } },
	[LIST] = { 2, 0, { E2BIG, ENAMETOOLONG } },
	[ADD] = { 16, WRITE, { E2BIG, EMSGSIZE, EAGAIN, EDQUOT, EINTR, ESHUTDOWN, ETIMEDOUT } },
	[GET] = { 15, READ, { E2BIG, EMSGSIZE, EAGAIN, EDQUOT, EINTR, ESHUTDOWN, ETIMEDOUT } },
	[DONE] = { 8, READ, { E2BIG, EMSGSIZE } },
	[REMOVE] = { 4, MANAGE, { E2BIG, EMSGSIZE } },
	[LEN] = { 1, 0, { 0 } },
	[STAT] = { 4, 0, { 0 } },
	[SHUT_DOWN] = { 0, MANAGE, { E2BIG } },
	[SHUTTING_DOWN] = { 1, 0, { 0 } },
	[DRAIN] = { 0, MANAGE, { E2BIG, ECANCELED, EINTR, ETIMEDOUT } },
	[FORGET] = { 2, READ, { E2BIG, EMSGSIZE } },
	[REQUEUES] = { 2, READ, { E2BIG, EMSGSIZE } },
	[CONFIGURE] = { 3, MANAGE, { E2BIG } },
	[CONFIG] = { 2, 0, { E2BIG } },
	[ADVANCE] = { 3, MANAGE, { E2BIG, EOPNOTSUPP, EPERM } },
	[EXTEND] = { 2, READ, { E2BIG, EMSGSIZE } },
	[PAUSE] = { 1, MANAGE, { E2BIG } },
	[RESUME] = { 1, MANAGE, { E2BIG } },
	[LIST_ITEMS] = { 2, READ, { E2BIG, EDQUOT, EMSGSIZE, ENOENT } },
	[RESTORE] = { 3, MANAGE | WRITE, { E2BIG, EMSGSIZE } },
	[BOARD] = { 2, WRITE, { E2BIG, EDQUOT, EMFILE, ENFILE, EOPNOTSUPP } },
	[TELL] = { 1, WRITE, { E2BIG } },
	[FOLLOW] = { 2, READ | MANAGE, { E2BIG, EBUSY, EOPNOTSUPP } },
	[CHANGES] = { 5, READ | MANAGE,
			{ E2BIG, EAGAIN, EBUSY, EDQUOT, EINTR, EMSGSIZE, ETIMEDOUT } },
	[SYNC] = { 2, 0, { E2BIG, EINTR, EOPNOTSUPP, ETIMEDOUT } },
	[TERM] = { 2, MANAGE, { E2BIG, EINTR } },
	[BPF] = { 1, WRITE, { E2BIG, EDQUOT, EOPNOTSUPP } },
	[UNKNOWN] = { 1, 0, { 0 } },
};

static bool takes_argument(enum kind kind)
{
	return kind != LEN && kind != SHUTTING_DOWN && kind != UNKNOWN;
}

static void judge_errno(struct fuzzer *f)
{
	const struct call *c = &f->call;
	int err = -c->ret;

	if (c->kind == UNKNOWN && err != EBADF && err != ENOTTY)
		wrong(f, "there is no request %#lx", c->cmd);
	if (err <= 0 || err == EBADF || err == ENOTTY)
		return;
	if ((err == EFAULT || err == EINVAL) && takes_argument(c->kind))
		return;
	if (err == EINVAL && c->arg)
		return;
	if (err == ENOMEM && c->failing)
		return;
	for (int i = 0; i < ARRAY_SIZE(rules[0].errors); i++)
		if (err == rules[c->kind].errors[i])
			return;
	wrong(f, "%s is not documented", strerror(err));
}

/*
 * Returns the offset of an address in the room in @offset. Returns false for any other
 * address.
 */
static bool in_room(struct fuzzer *f, __u64 address, __u64 *offset)
{
	__u64 room = user_ptr(f->call.torn ? f->torn : f->room);

	*offset = address - room;
	return address >= room && address < room + room_of(f);
}

static void may_write(struct fuzzer *f, __u64 address, __u64 len)
{
	__u64 offset;

	if (in_room(f, address, &offset))
		memset(f->may + offset, 1, len < room_of(f) - offset ? len : room_of(f) - offset);
}

/* The structure as the kernel received it. */
const void *told(struct fuzzer *f)
{
	__u64 offset;

	if (!in_room(f, f->call.arg, &offset) || offset > room_of(f) - PAGE)
		return NULL;
	return f->before + offset;
}

/*
 * The number of entries that may be written: the returned number, or after a fault any
 * number.
 */
static __u32 entries_written(const struct call *c, __u32 nr)
{
	if (nr > KWQ_BATCH_MAX)
		return 0;
	if (!is_plain(c) || c->ret == -EFAULT)
		return nr;
	return c->ret < 0 ? 0 : c->ret;
}

static __u32 min_nr(__u32 nr)
{
	return nr < KWQ_BATCH_MAX ? nr : KWQ_BATCH_MAX;
}

static void may_write_results(struct fuzzer *f, const struct kwq_batch *b, __u32 nr)
{
	may_write(f, b->results, (__u64)nr * sizeof(__s32));
}

/* The group and the value that came with the item of a GET. */
static __u32 bytes_of_extra(struct fuzzer *f, const struct kwq_batch *b, __u32 i)
{
	struct kwq_got_extra extra;
	__u64 offset;

	if (!b->extras || !in_room(f, b->extras + i * b->extra_size, &offset))
		return 0;
	memcpy(&extra, f->room + offset, sizeof(extra));
	if (extra.value_len > KWQ_VALUE_MAX || extra.group_len > KWQ_GROUP_MAX)
		wrong(f, "a value of %u bytes, a group of %u", extra.value_len, extra.group_len);
	return extra.value_len + extra.group_len;
}

/*
 * Keys are packed according to the entries. After a fault the entries may contain
 * rubbish.
 */
static void may_fill(struct fuzzer *f, const struct kwq_batch *b, size_t entry_size, bool values,
		     bool notes)
{
	__u32 nr = entries_written(&f->call, b->nr), keys = nr ? b->keys_len : 0;
	__u64 offset;

	may_write(f, b->entries, (__u64)nr * b->entry_size);
	may_write(f, b->extras, (__u64)nr * b->extra_size);
	if (is_plain(&f->call) && f->call.ret > 0 && in_room(f, b->entries, &offset)) {
		keys = 0;
		for (__u32 i = 0; i < nr; i++) {
			const struct kwq_got *got = (void *)(f->room + offset + i * b->entry_size);
			const struct kwq_listed *listed = (const void *)got;

			if (entry_size == sizeof(*listed))
				keys += listed->key_len + listed->group_len +
					(values ? listed->value_len : 0) +
					(notes ? listed->note_len : 0);
			else
				keys += got->key_len;
			keys += bytes_of_extra(f, b, i);
		}
		if (keys > b->keys_len)
			wrong(f, "keys of %u bytes in a room of %u", keys, b->keys_len);
	}
	may_write(f, b->keys, keys);
}

/* As the request was built by build_plain(). */
static void may_write_plain(struct fuzzer *f, const __u8 *arg)
{
	enum kind kind = f->call.kind;

	may_write(f, f->call.arg, kinds[kind].size);
	for (const struct addresses *a = addresses; a->length; a++)
		for (size_t at = a->offset; at < a->offset + a->length; at += sizeof(__u64))
			if (a->kind == kind)
				may_write(f, *(const __u64 *)(arg + at), f->area);
}

static void mark_what_may_be_written(struct fuzzer *f)
{
	const struct call *c = &f->call;
	const void *arg = told(f);
	const struct kwq_get_args *get = arg;
	const struct kwq_batch_args *op = arg;
	const struct kwq_add_args *add = arg;
	const struct kwq_list_args *list = arg;
	const struct kwq_config *config = arg;
	const struct kwq_list_items_args *items = arg;
	const struct kwq_changes_args *changes = arg;
	__u32 size, nr;

	memset(f->may, 0, room_of(f));
	if (!arg)
		return;
	memcpy(&size, arg, sizeof(size));
	switch (c->kind) {
	case INFO:
	case STAT:
		if (size <= PAGE && (!c->ret || c->ret == -EFAULT))
			may_write(f, c->arg, size);
		break;
	case LIST:
		if (list->nr <= KWQ_BATCH_MAX)
			may_write(f, list->entries,
				  (__u64)entries_written(c, list->nr) * list->entry_size);
		break;
	case ADD:
		/* The end of a wait leaves results of entries that were not taken. */
		may_write_results(f, &add->batch, add->flags ? min_nr(add->batch.nr) :
						  entries_written(c, add->batch.nr));
		if (add->flags & KWQ_ADD_RELATIVE)
			may_write(f, c->arg + offsetof(struct kwq_add_args, resume), 8);
		break;
	case DONE:
	case EXTEND:
	case RESTORE:
	case REMOVE:
	case FORGET:
	case REQUEUES:
		may_write_results(f, &op->batch, entries_written(c, op->batch.nr));
		break;
	case GET:
		if (c->ret >= 0 || get->add.nr || get->done.nr) {
			if (get->add.nr <= KWQ_BATCH_MAX)
				may_write_results(f, &get->add, get->add.nr);
			if (get->done.nr <= KWQ_BATCH_MAX)
				may_write_results(f, &get->done, get->done.nr);
			may_write(f, c->arg + offsetof(struct kwq_get_args, nr_added), 8);
		}
		if (get->flags & KWQ_GET_RELATIVE)
			may_write(f, c->arg + offsetof(struct kwq_get_args, resume), 8);
		may_fill(f, &get->get, sizeof(struct kwq_got), false, false);
		break;
	case DRAIN:
		may_write(f, c->arg + offsetof(struct kwq_drain_args, resume), 16);
		break;
	case CONFIG:
		if (c->ret && c->ret != -EFAULT)
			break;
		nr = config->nr < KWQ_LIMITERS_MAX ? config->nr : KWQ_LIMITERS_MAX;
		may_write(f, config->limiters, (__u64)nr * config->limiter_size);
		may_write(f, c->arg, size);
		break;
	case LIST_ITEMS:
		may_fill(f, &items->batch, sizeof(struct kwq_listed),
			 items->flags & KWQ_LIST_VALUES, items->flags & KWQ_LIST_NOTES);
		if (c->ret >= 0)
			may_write(f, c->arg + offsetof(struct kwq_list_items_args, after), 8);
		break;
	case FOLLOW:
		may_write(f, c->arg + offsetof(struct kwq_follow_args, number), 8);
		break;
	case CHANGES:
		may_fill(f, &changes->batch, sizeof(struct kwq_listed),
			 changes->flags & KWQ_CHANGES_VALUES,
			 changes->flags & KWQ_CHANGES_NOTES);
		if (changes->flags & KWQ_CHANGES_RELATIVE)
			may_write(f, c->arg + offsetof(struct kwq_changes_args, resume), 8);
		if (c->ret < 0 && c->ret != -EFAULT)
			break;
		may_write(f, c->arg + offsetof(struct kwq_changes_args, after), 8);
		may_write(f, c->arg + offsetof(struct kwq_changes_args, of_queue), 8);
		break;
	case SYNC:
		may_write(f, c->arg + offsetof(struct kwq_sync_args, resume), 8);
		break;
	case BPF:
		may_write(f, c->arg + offsetof(struct kwq_bpf_args, token), 8);
		break;
	case BOARD:
		may_write(f, c->arg + offsetof(struct kwq_board_args, map_size), 8);
		break;
	default:
		if (_IOC_DIR(c->cmd) & _IOC_READ)
			may_write_plain(f, arg);
		break;
	}
}

static void judge_writes(struct fuzzer *f)
{
	if (f->call.scribbled)
		return;
	mark_what_may_be_written(f);
	if (!memcmp(f->room, f->before, room_of(f)))
		return;
	for (size_t i = 0; i < room_of(f); i++)
		if (f->room[i] != f->before[i] && !f->may[i])
			wrong(f, "byte %zu of area %zu was written", i % f->area, i / f->area);
}

/*
 * Whether a word looks like an address of kernel memory, text or modules. No value of
 * userspace does.
 */
static bool is_kernel_pointer(__u64 word)
{
	return (word >= 0xffff000000000000 && word < 0xffffff0000000000) ||
	       (word >= 0xffffffff80000000 && word < 0xfffffffffffff000);
}

static void no_pointers(struct fuzzer *f, __u64 address, __u64 len)
{
	__u64 offset, word;

	if (!in_room(f, address, &offset))
		return;
	for (__u64 at = 0; at + 8 <= len && offset + at + 8 <= room_of(f); at += 8) {
		memcpy(&word, f->room + offset + at, 8);
		if (is_kernel_pointer(word))
			wrong(f, "%#llx at %llu was shown", word, at);
	}
}

/* The results of a done that are none of its errors. */
static bool is_end(__s32 result)
{
	switch (result) {
	case KWQ_FINISHED:
	case KWQ_REQUEUED:
	case KWQ_STILL_WAITING:
	case KWQ_REQUEUED | KWQ_STILL_WAITING:
	case KWQ_BURIED:
	case KWQ_RETURNED:
	case KWQ_RETURNED | KWQ_STILL_WAITING:
		return true;
	default:
		return false;
	}
}

static void judge_results(struct fuzzer *f, const struct kwq_batch *b, enum kind kind, int nr)
{
	static const int refused[KINDS][6] = {
		[ADD] = { EDQUOT, ENOENT, ENOSPC, EOPNOTSUPP, ESHUTDOWN },
		[DONE] = { ENOENT, EPERM, ESTALE },
		[EXTEND] = { EDQUOT, ENOENT, ENOSPC, EOPNOTSUPP, EPERM, ESTALE },
		[RESTORE] = { EDQUOT, ENOSPC, EOPNOTSUPP, ESHUTDOWN },
		[REMOVE] = { ENOENT, EOPNOTSUPP, ESTALE },
	};
	static const int most[KINDS] = {
		[ADD] = KWQ_DIRTY,
		[RESTORE] = KWQ_RESTORED,
		[DONE] = KWQ_RETURNED | KWQ_STILL_WAITING,
		/* A remembered item has no other state. */
		[REMOVE] = KWQ_WAS_REMEMBERED,
		[FORGET] = INT_MAX,
		[REQUEUES] = INT_MAX,
	};
	__u64 offset;

	if (nr <= 0 || !in_room(f, b->results, &offset))
		return;
	for (int i = 0; i < nr; i++) {
		__s32 result;
		bool known;

		memcpy(&result, f->room + offset + i * sizeof(result), sizeof(result));
		known = result <= most[kind] && result >= (kind == REMOVE);
		if (kind == DONE && result >= 0)
			known = is_end(result);
		known = known || result == -EINVAL || result == -EMSGSIZE;
		/* The memory of the result disappeared meanwhile. */
		known = known || (!is_plain(&f->call) && result == -EFAULT);
		for (int j = 0; j < ARRAY_SIZE(refused[0]) && refused[kind][j]; j++)
			known = known || result == -refused[kind][j];
		if (!known)
			wrong(f, "result %d of entry %d is not documented", result, i);
		if (kind == REMOVE && result == -EOPNOTSUPP && f->call.own &&
		    f->call.own->flags & KWQ_CREATE_CHANGES)
			wrong(f, "entry %d: a queue with changes cannot compare them", i);
	}
}

/*
 * Checks the fetched items: they are as described, and the tickets increase. Keeps the
 * tickets for a Done.
 */
static void judge_got(struct fuzzer *f, const struct kwq_batch *b)
{
	__u64 offset, last = 0;

	if (!in_room(f, b->entries, &offset))
		return;
	if (f->call.ret > (int)b->nr)
		wrong(f, "there was room for %u", b->nr);
	for (int i = 0; i < f->call.ret; i++) {
		struct kwq_got got;

		memcpy(&got, f->room + offset + i * b->entry_size, sizeof(got));
		if (got.ticket <= last || !got.key_len || got.key_len > KWQ_KEY_MAX ||
		    got.priority < KWQ_PRIORITY_MIN || got.priority > KWQ_PRIORITY_MAX)
			wrong(f, "ticket %llu after %llu, a key of %u bytes, priority %d",
			      got.ticket, last, got.key_len, got.priority);
		last = got.ticket;
		f->tickets[f->nr_tickets++ % ARRAY_SIZE(f->tickets)] = got.ticket;
	}
}

static void judge_info(struct fuzzer *f)
{
	struct kwq_info i = { 0 };
	__u32 size;

	memcpy(&size, f->before, sizeof(size));
	memcpy(&i, f->room, size < sizeof(i) ? size : sizeof(i));
	if (i.size > size || i.pad)
		wrong(f, "size %u of %u, padding %u", i.size, size, i.pad);
	if ((i.user_bytes_left > i.max_user_bytes && ~i.user_bytes_left) ||
	    (i.user_queues_left > i.max_queues && ~i.user_queues_left))
		wrong(f, "%llu of %llu bytes left, %u of %u queues", i.user_bytes_left,
		      i.max_user_bytes, i.user_queues_left, i.max_queues);
}

static void judge_stat(struct fuzzer *f)
{
	struct kwq_stat s = { 0 };
	bool measures;
	__u32 size;

	memcpy(&size, f->before, sizeof(size));
	memcpy(&s, f->room, size < sizeof(s) ? size : sizeof(s));
	if (s.size > size || s.create_flags & ~(KWQ_ALL_CREATE & ~KWQ_CREATE_OR_OPEN) ||
	    !name_is_clean(s.name))
		wrong(f, "size %u of %u, flags %u", s.size, size, s.create_flags);
	if (s.ready + s.processing > s.items || s.waiting > s.items ||
	    s.dead + s.remembered > s.items || !s.items != !s.bytes)
		wrong(f, "%llu items: %llu ready, %llu processing, %llu waiting, %llu dead",
		      s.items, s.ready, s.processing, s.waiting, s.dead);
	/*
	 * L10: remembered items have limits of their own, which are as large. Of a queue that is
	 * followed, some that are no more so may have yet to be read.
	 */
	if (s.items - s.remembered > (s.unread ? 2 : 1) * s.max_items ||
	    s.remembered > s.max_items || s.items > 2 * s.max_items ||
	    s.bytes / 2 > s.max_bytes)
		wrong(f, "%llu of %llu items, %llu of %llu bytes, %llu remembered, %llu unread, state %#x",
		      s.items, s.max_items, s.bytes, s.max_bytes, s.remembered, s.unread, s.state);
	if (s.gets != s.dones + s.abandoned + s.returned + s.processing ||
	    s.gets > s.adds + s.abandoned + s.returned)
		wrong(f, "%llu adds, %llu gets, %llu dones, %llu lost, %llu returned, %llu held",
		      s.adds, s.gets, s.dones, s.abandoned, s.returned, s.processing);
	/* The members after those of the first version are there as a whole, or not at
	 * all.
	 */
	if (size < sizeof(s))
		return;
	/* The end of an item may not have been read. */
	if (s.items > s.ready + s.processing + s.waiting + s.dead + s.remembered + s.unread)
		wrong(f, "%llu items, of which some are nowhere", s.items);
	if (!s.paused_for != !(s.state & KWQ_STATE_PAUSED))
		wrong(f, "state %#x, paused for %llu ns", s.state, s.paused_for);
	if (s.state & KWQ_STATE_TERM_OVER && s.term > s.now)
		wrong(f, "the term of %llu is over at %llu", s.term, s.now);
	if (s.dirty > s.processing)
		wrong(f, "%llu items are dirty of %llu that are processed", s.dirty,
		      s.processing);
	if (s.expired > s.abandoned || (s.expired && !s.lease))
		wrong(f, "%llu leases of %llu ns are over, %llu hand-outs abandoned",
		      s.expired, s.lease, s.abandoned);
	/* M1: a queue without durations has none. */
	measures = !(s.create_flags & KWQ_CREATE_NO_DURATIONS);
	if (!measures && (s.lease || s.aging || number_in(&s.queue_duration)))
		wrong(f, "no durations, but a lease of %llu, aging of %llu or %llu durations",
		      s.lease, s.aging, number_in(&s.queue_duration));
	if (!s.id != !(s.create_flags & KWQ_CREATE_CHANGES) || s.unread > s.items ||
	    s.kept > s.last_change || s.followers > 1)
		wrong(f, "%llu changes of %llu, %llu kept, %llu unread, %u followers",
		      s.last_change, s.id, s.kept, s.unread, s.followers);
	if (s.dead > s.died || s.rate_limited > s.retries ||
	    (measures ? s.dones : 0) != number_in(&s.work_duration) ||
	    (measures ? s.gets : 0) > number_in(&s.queue_duration))
		wrong(f, "%llu dead of %llu, %llu rate-limited of %llu, %llu dones of %llu",
		      s.dead, s.died, s.rate_limited, s.retries, s.dones,
		      number_in(&s.work_duration));
}

static bool has_keys_of_no_bytes(const struct kwq_batch *b)
{
	return b->keys && !b->keys_len;
}

/* U3: whether the get has an argument that the kernel would not use. */
static bool is_in_vain(const struct kwq_get_args *get)
{
	if (has_keys_of_no_bytes(&get->add) || has_keys_of_no_bytes(&get->done) ||
	    has_keys_of_no_bytes(&get->get))
		return true;
	if (!get->get.nr)
		return get->flags || get->deadline || get->resume;
	if (get->flags & KWQ_GET_NONBLOCK)
		return get->flags & KWQ_GET_RELATIVE || get->deadline || get->resume;
	return get->resume &&
	       (!(get->flags & KWQ_GET_RELATIVE) || get->add.nr || get->done.nr);
}

/* Checks what a follower has read: numbers of changes grow, up to the one that it is told. */
static void judge_changes(struct fuzzer *f, const struct kwq_changes_args *changes)
{
	const struct kwq_changes_args *now = (const void *)f->room;
	const struct kwq_batch *b = &changes->batch;
	__u64 last = changes->after;

	if (f->call.ret < 0)
		return;
	if (has_keys_of_no_bytes(b) || changes->kept > changes->after)
		wrong(f, "keys of no bytes, or %llu kept of %llu, were taken", changes->kept,
		      changes->after);
	for (int i = 0; i < f->call.ret; i++) {
		struct kwq_listed listed;
		__u64 offset;

		if (!in_room(f, b->entries, &offset))
			return;
		memcpy(&listed, f->room + offset + i * b->entry_size, sizeof(listed));
		if (listed.change <= last || listed.state > KWQ_ALL_IS || !listed.key_len)
			wrong(f, "change %llu after %llu, state %#x", listed.change, last,
			      listed.state);
		last = listed.change;
	}
	if (now->after < last || (!f->call.ret && now->of_queue == changes->of_queue))
		wrong(f, "%d items up to %llu, told up to %llu", f->call.ret, last, now->after);
	f->after = now->after;
}

/* Judges the result of a call without any fault that changes its meaning. */
static void judge_answer(struct fuzzer *f)
{
	const struct call *c = &f->call;
	const struct kwq_get_args *get = told(f);
	const struct kwq_batch_args *op = told(f);
	const struct kwq_list_args *list = told(f);
	const struct kwq_list_items_args *items = told(f);
	const struct kwq_get_args *now = (const void *)f->room;

	switch (c->kind) {
	case INFO:
		if (c->ret)
			break;
		judge_info(f);
		no_pointers(f, c->arg, sizeof(struct kwq_info));
		break;
	case STAT:
		if (c->ret)
			break;
		judge_stat(f);
		/* The members behind these are sums, which may be any number. */
		no_pointers(f, c->arg, offsetof(struct kwq_stat, unfinished));
		break;
	case LIST:
		for (int i = 0; i < c->ret; i++)
			no_pointers(f, list->entries + i * list->entry_size,
				    sizeof(struct kwq_list_entry));
		break;
	case ADD:
	case DONE:
	case EXTEND:
	case RESTORE:
	case REMOVE:
	case FORGET:
	case REQUEUES:
		if (c->ret > (int)op->batch.nr)
			wrong(f, "%d of %u entries were taken", c->ret, op->batch.nr);
		if (c->ret > 0 && has_keys_of_no_bytes(&op->batch))
			wrong(f, "keys of no bytes were taken");
		judge_results(f, &op->batch, c->kind, c->ret);
		break;
	case GET:
		if (c->ret == -EBADF || c->ret == -ENOTTY || c->ret == -EINVAL ||
		    c->ret == -E2BIG)
			break;
		if (c->ret >= 0 && is_in_vain(get))
			wrong(f, "flags %#x, deadline %llu and resume %llu were taken",
			      get->flags, get->deadline, get->resume);
		if (now->nr_added > get->add.nr || now->nr_done > get->done.nr)
			wrong(f, "%u of %u were added, %u of %u done", now->nr_added, get->add.nr,
			      now->nr_done, get->done.nr);
		judge_results(f, &get->add, ADD, now->nr_added);
		judge_results(f, &get->done, DONE, now->nr_done);
		judge_got(f, &get->get);
		for (int i = 0; i < c->ret; i++)
			no_pointers(f, get->get.entries + i * get->get.entry_size,
				    sizeof(struct kwq_got));
		break;
	case CONFIG:
		if (!c->ret)
			no_pointers(f, c->arg, sizeof(struct kwq_config) - 24);
		break;
	case LIST_ITEMS:
		if (c->ret >= 0 && has_keys_of_no_bytes(&items->batch))
			wrong(f, "keys of no bytes were taken");
		if (c->ret >= 0 && (!items->states || items->states > KWQ_ALL_IS))
			wrong(f, "the states %#x were taken", items->states);
		/* The order may be any number. */
		for (int i = 0; i < c->ret; i++)
			no_pointers(f, items->batch.entries + i * items->batch.entry_size +
				    offsetof(struct kwq_listed, dirty_for),
				    sizeof(struct kwq_listed) -
				    offsetof(struct kwq_listed, dirty_for));
		break;
	case FOLLOW:
		if (!c->ret)
			f->after = ((const struct kwq_follow_args *)f->room)->number;
		break;
	case CHANGES:
		judge_changes(f, told(f));
		break;
	case LEN:
	case SHUTTING_DOWN:
		if (c->ret >= 0 && c->arg)
			wrong(f, "an argument was taken");
		if (c->kind == SHUTTING_DOWN && c->ret > 1)
			wrong(f, "that is no answer");
		break;
	default:
		if (c->ret > 1 && c->kind != CREATE && c->kind != OPEN && c->kind != BOARD)
			wrong(f, "that is no answer");
		break;
	}
}

void judge(struct fuzzer *f)
{
	const struct call *c = &f->call;

	judge_errno(f);
	judge_rights(f);
	judge_writes(f);
	if (is_plain(c))
		judge_answer(f);
	if (c->ret == -EFAULT || c->ret == -EINTR)
		atomic_fetch_add(&f->world->faults, 1);
	if (c->ret < 0)
		atomic_fetch_add(&f->world->refused[c->kind], 1);
	else
		atomic_fetch_add(&f->world->succeeded[c->kind], 1);
}

#define BOARD_BYTES	(1 << 16)	/* in whole pages */

/* Every whole slot has one key, an answer, and nothing else. Others change the board meanwhile. */
void judge_board(struct fuzzer *f, int fd)
{
	const struct kwq_board *board = mmap(NULL, BOARD_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	const struct kwq_board_slot *slot = (const void *)(board + 1);

	close(fd);
	if (board == MAP_FAILED)
		return;
	if (sizeof(*board) + board->nr_slots * sizeof(*slot) > BOARD_BYTES || !board->nr_slots ||
	    !is_zero(board->pad, sizeof(board->pad)))
		wrong(f, "a board of %u slots", board->nr_slots);
	for (__u32 i = 0; i < board->nr_slots; i++, slot++) {
		__u32 seq = __atomic_load_n(&slot->seq, __ATOMIC_ACQUIRE);
		struct kwq_board_slot copy = *slot;

		atomic_thread_fence(memory_order_acquire);
		if (seq & 1 || __atomic_load_n(&slot->seq, __ATOMIC_RELAXED) != seq)
			continue;
		if (copy.len > sizeof(copy.key) ||
		    !is_zero((__u8 *)copy.key + copy.len, sizeof(copy.key) - copy.len))
			wrong(f, "slot %u has a key of %u bytes", i, copy.len);
		if (copy.result != (copy.len ? KWQ_COALESCED : 0) && copy.result != KWQ_DIRTY)
			wrong(f, "slot %u has the result %u", i, copy.result);
	}
	munmap((void *)board, BOARD_BYTES);
}

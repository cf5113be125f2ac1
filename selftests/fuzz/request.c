// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random requests: built as valid ones, then some of them are spoiled and disturbed.
 */
#include "fuzz.h"

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
	list->states = one_in(f, 2) ? KWQ_ALL_IS : 1U << any(f, 8);
	if (one_in(f, 4))
		list->flags = KWQ_LIST_VALUES;
	if (one_in(f, 4))
		list->flags |= KWQ_LIST_NOTES;
	if (one_in(f, 4)) {
		list->flags |= KWQ_LIST_KEY;
		list->key = address(f, EXTRA);
		list->key_len = any_key(f, area_of(f, EXTRA), PAGE);
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
	if (one_in(f, 4))
		changes->flags |= KWQ_CHANGES_NOTES;
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
	if (one_in(f, 3)) {
		sync->flags = KWQ_SYNC_RELATIVE;
		sync->deadline = any_time(f);
		sync->resume = one_in(f, 4) ? any_deadline(f) : 0;
	}
}

#define ADDRESS(name, offset, length) { name, offset, length },
const struct addresses addresses[] = { KWQ_ADDRESSES(ADDRESS) { 0 } };

/*
 * Whether this is an address in a structure. Everything else may be changed at random:
 * the judge knows how much is written, and a gap follows the room. But a half-correct
 * address could point to other memory.
 */
static bool is_address(enum kind kind, size_t at)
{
	for (const struct addresses *a = addresses; a->length; a++)
		if (a->kind == kind && at - a->offset < a->length)
			return true;
	return false;
}

/*
 * Builds the argument of a request of which nothing more is known: addresses lead to room, and
 * the other members behind the flags are numbers, of which many are zero.
 */
static void build_plain(struct fuzzer *f, __u8 *arg)
{
	enum kind kind = f->call.kind;

	for (size_t at = 8; at < kinds[kind].size; at += sizeof(__u64)) {
		if (is_address(kind, at))
			*(__u64 *)(arg + at) = address(f, EXTRA);
		else if (one_in(f, 2))
			*(__u32 *)(arg + at) = any(f, f->area);
	}
}

/* Builds valid arguments, except for their sizes. */
static void build(struct fuzzer *f)
{
	void *arg = area_of(f, ARG);
	struct kwq_open_args *open = arg;
	struct kwq_unlink_args *unlink = arg;
	struct kwq_list_args *list = arg;
	struct kwq_batch_args *op = arg;
	struct kwq_add_args *add = arg;
	struct kwq_drain_args *drain = arg;
	struct kwq_config *config = arg;
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
		open->rights = f->call.want & WANT_CHANGES ? ALL_RIGHTS : any_rights(f);
		if (f->call.want ? wants(f, WANT_NAME) : one_in(f, 2))
			any_name(f, open->name);
		break;
	case UNLINK:
		any_name(f, unlink->name);
		break;
	case LIST:
		list->entries = address(f, BATCHES);
		list->nr = 1 + any(f, 9 * f->area / sizeof(struct kwq_list_entry));
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
	case INFO:
	case STAT:
	case FOLLOW:
	case BPF:
		break;
	default:
		build_plain(f, arg);
		break;
	}
}

#define REQUEST(name, size) { #name, KWQ_IOC_##name, size },
const struct request kinds[KINDS] = {
	KWQ_REQUESTS(REQUEST)
	{ "an unknown request", _IO(KWQ_IOC_MAGIC, 0x7f), 0 },
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
		r -= rules[kind].share;
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
		return address(f, AREAS) - any(f, 64);
	default:
		return address(f, 0) + any(f, room_of(f) - PAGE);
	}
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
	__u8 *arg = area_of(f, ARG);
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
	int area = one_in(f, 8) ? EXTRA : BATCHES + any(f, 3) * 3;
	size_t at = any(f, one_in(f, 2) ? 64 : f->area);

	/* The address of the limiters is here. */
	if (area == EXTRA && f->call.kind == CREATE && at / 8 == 4)
		return;
	area_of(f, area)[at] ^= 1 << any(f, 8);
}

static void spoil(struct fuzzer *f, size_t size)
{
	__u32 *usize = (__u32 *)area_of(f, ARG);

	switch (any(f, 8)) {
	case 0:
		*usize = one_in(f, 2) ? odd_number(f) : size - 4 - any(f, size);
		f->call.wild = true;
		break;
	case 1:
		/* Newer than the kernel, with or without unknown content. */
		*usize = size + 8 * (1 + any(f, 8));
		if (one_in(f, 2))
			area_of(f, ARG)[size + any(f, 8)] = 1;
		else if (f->call.kind != INFO && f->call.kind != STAT)
			memset(area_of(f, ARG) + size, 0, *usize - size);
		break;
	case 2:
		f->call.arg = bad_address(f);
		f->call.wild = true;
		break;
	case 3:
	case 4:
		spoil_entry(f);
		/* If batches are adjacent, the area may belong to another one. */
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

	poison(f->room, room_of(f));
	if (!size)
		return;
	/* Unset members are zero. These two requests read only the size. */
	if (f->call.kind != INFO && f->call.kind != STAT)
		memset(area_of(f, ARG), 0, size);
	*(__u32 *)area_of(f, ARG) = size;
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

/* An own handle, if this one has some. It is certain what an own handle may do. */
static const struct handle *any_own(struct fuzzer *f)
{
	const struct handle *h = &f->own[any(f, OWN)];

	return h->fd >= 0 ? h : NULL;
}

/* An OPEN opens a name on the device, and without a name its queue again on a handle. */
static bool is_on_device(struct fuzzer *f)
{
	const struct kwq_open_args *open = (const void *)area_of(f, ARG);

	return f->call.kind <= LIST && (f->call.kind != OPEN || open->name[0]);
}

/* Mostly a descriptor of the kind that the request needs. */
static int any_fd(struct fuzzer *f)
{
	enum kind kind = f->call.kind;
	int slot = any(f, SLOTS);

	f->slot = -1;
	if (is_on_device(f) != one_in(f, 32))
		return f->world->dev;
	if ((kind == CHANGES || kind == SYNC) && !one_in(f, 4))
		slot = f->followed;
	else if (one_in(f, 2))
		f->call.own = any_own(f);
	if (f->call.own)
		return f->call.own->fd;
	/* The others shall get such a queue, too, but not all of them. */
	if ((kind == SHUT_DOWN || kind == DRAIN) && !one_in(f, 4))
		put_slot(f, slot, new_queue(f->world->dev));
	f->slot = slot;
	return slot_fd(f, slot);
}

/* The room of a call ends where the largest one would, so that the gap follows it. */
static void choose_room(struct fuzzer *f)
{
	f->area = wants(f, WANT_LARGE) || one_in(f, 32) ? AREA_LARGE : AREA_SMALL;
	f->room = f->space + ROOM_MAX - room_of(f);
	f->torn = f->torn_space + ROOM_MAX - room_of(f);
}

static void choose_disturbance(struct fuzzer *f, size_t size)
{
	struct call *c = &f->call;

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
}

static void prepare(struct fuzzer *f)
{
	struct call *c = &f->call;
	size_t size = kinds[c->kind].size;
	bool calm = c->want & WANT_CALM;

	c->cmd = kinds[c->kind].cmd;
	choose_room(f);
	if (!calm)
		choose_disturbance(f, size);
	c->arg = address(f, ARG);
	if ((c->kind == LEN || c->kind == SHUTTING_DOWN) && !one_in(f, 4))
		c->arg = 0;
	poison_room(f);
	build(f);
	if (size && !calm && one_in(f, 4))
		spoil(f, size);
}

/* Of all numbers with these parts only one is the request. */
static void change_number(struct call *c, struct fuzzer *f)
{
	c->cmd = _IOC(any(f, 4), KWQ_IOC_MAGIC, _IOC_NR(c->cmd), any(f, 12));
	if (c->cmd != kinds[c->kind].cmd)
		c->kind = UNKNOWN;
}

static void call_and_judge(struct fuzzer *f, int fd, struct handle *to)
{
	struct call *c = &f->call;

	memcpy(f->before, f->room, room_of(f));
	carry_out(f, fd);
	judge(f);
	if (c->ret >= 0 && (c->kind == CREATE || c->kind == OPEN))
		keep_handle(f, to);
	if (!c->ret && c->kind == FOLLOW && f->slot >= 0) {
		f->followed = f->slot;
		f->eager = 8;
	}
	if (c->ret >= 0 && c->kind == BOARD)
		judge_board(f, c->ret);
}

void make_request(struct fuzzer *f)
{
	int fd;

	f->call = (struct call){ .kind = any_kind(f) };
	prepare(f);
	fd = any_fd(f);
	if (one_in(f, 32))
		change_number(&f->call, f);
	call_and_judge(f, fd, NULL);
}

/*
 * Makes a request of a plan, on an own handle or on the device. A new descriptor takes the place
 * of @to.
 */
void request_of(struct fuzzer *f, __u32 want, struct handle *on, struct handle *to,
		enum kind kind)
{
	f->call = (struct call){ .kind = kind, .want = want };
	prepare(f);
	f->slot = -1;
	if (is_on_device(f)) {
		call_and_judge(f, f->world->dev, to);
	} else if (on->fd >= 0) {
		f->call.own = on;
		call_and_judge(f, on->fd, to);
	}
}

/* Makes an add on a descriptor of another thread, which may close it any time. */
void request_at(struct fuzzer *f, int fd, __u32 want)
{
	f->call = (struct call){ .kind = one_in(f, 8) ? any_kind(f) : ADD, .want = want };
	prepare(f);
	f->slot = -1;
	call_and_judge(f, fd, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plans: sequences of requests that belong together.
 *
 * A random request rarely comes at a moment when it matters, because a queue has to be full of
 * something first. So a thread sometimes makes a queue of its own, fills it, and then does what
 * meets there. The arguments stay random, and the thread's descriptors are in the slots of its
 * process, too, where the others use them.
 */
#include "fuzz.h"

/* Steps that are no request. */
enum {
	MEET = KINDS,		/* the other threads shall come, too */
	LEAVE,			/* the own handle is closed */
	AWAIT,			/* adds wait for a shut down */
	END,
};

/**
 * struct step - one step of a plan
 * @what: a request, or one of the above
 * @most: how often it comes at most; at least once
 * @on: the own handle of the request
 * @to: the own handle that a CREATE or an OPEN replaces
 * @want: WANT_* bits
 */
struct step {
	int what;
	__u8 most;
	__u8 on;
	__u8 to;
	__u32 want;
};

#define NEW_QUEUE	(WANT_LIMITED | WANT_FULL | WANT_CALM)
#define MANY_KEYS	(WANT_FRESH | WANT_LARGE)
#define MANY_SHORT_KEYS	(MANY_KEYS | WANT_SHORT)
#define LARGE_VALUES	(WANT_FRESH | WANT_LARGE | WANT_VALUES)

/* L10: items that are remembered, and then adds that lack room. */
static const struct step remembered[] = {
	{ CREATE, 1, .to = 0, .want = NEW_QUEUE | WANT_VALUES },
	{ RESTORE, 2, .on = 0, .want = MANY_KEYS | WANT_REMEMBERED },
	{ ADD, 4, .on = 0, .want = LARGE_VALUES },
	{ STAT, 1, .on = 0, .want = WANT_CALM },
	{ END },
};

/* The same by those that may not restore. */
static const struct step tried_again[] = {
	{ CREATE, 1, .to = 0, .want = NEW_QUEUE | WANT_VALUES },
	{ ADD, 2, .on = 0, .want = MANY_KEYS | WANT_LIMITED },
	{ GET, 2, .on = 0, .want = WANT_LARGE },
	{ DONE, 3, .on = 0, .want = WANT_LARGE | WANT_LIMITED },
	{ ADD, 2, .on = 0, .want = MANY_KEYS | WANT_LIMITED },
	{ GET, 2, .on = 0, .want = WANT_LARGE },
	{ DONE, 3, .on = 0, .want = WANT_LARGE | WANT_LIMITED },
	{ ADD, 4, .on = 0, .want = LARGE_VALUES },
	{ STAT, 1, .on = 0, .want = WANT_CALM },
	{ END },
};

/* N8: a follower goes that has not read all, while others add. */
static const struct step follower_goes[] = {
	{ CREATE, 1, .to = 0, .want = NEW_QUEUE | WANT_VALUES | WANT_CHANGES },
	{ OPEN, 1, .on = 0, .to = 1, .want = WANT_CALM | WANT_CHANGES },
	{ FOLLOW, 1, .on = 1, .want = WANT_CALM },
	{ RESTORE, 3, .on = 0, .want = MANY_SHORT_KEYS | WANT_REMEMBERED },
	{ MEET, 1, .on = 0, .want = LARGE_VALUES },
	{ LEAVE, 1, .on = 1 },
	{ ADD, 2, .on = 0, .want = LARGE_VALUES },
	{ STAT, 1, .on = 0, .want = WANT_CALM },
	{ END },
};

/* The same with items that others may have, and that the follower has read in part. */
static const struct step follower_reads[] = {
	{ CREATE, 1, .to = 0, .want = NEW_QUEUE | WANT_VALUES | WANT_CHANGES },
	{ OPEN, 1, .on = 0, .to = 1, .want = WANT_CALM | WANT_CHANGES },
	{ FOLLOW, 1, .on = 1, .want = WANT_CALM },
	{ ADD, 2, .on = 0, .want = MANY_SHORT_KEYS | WANT_LIMITED },
	{ GET, 2, .on = 0, .want = WANT_LARGE },
	{ CHANGES, 3, .on = 1, .want = WANT_LARGE },
	{ DONE, 3, .on = 0, .want = WANT_LARGE | WANT_LIMITED },
	{ CHANGES, 2, .on = 1, .want = WANT_LARGE },
	{ MEET, 1, .on = 0, .want = LARGE_VALUES },
	{ LEAVE, 1, .on = 1 },
	{ ADD, 2, .on = 0, .want = LARGE_VALUES },
	{ END },
};

/* U9: a queue whose outbox is a handle with some rights. */
static const struct step outbox[] = {
	{ CREATE, 1, .to = 0, .want = WANT_LIMITED | WANT_CALM },
	{ OPEN, 2, .on = 0, .to = 1, .want = WANT_CALM },
	{ CREATE, 2, .to = 2, .want = WANT_OUTBOX | WANT_CALM },
	{ ADD, 2, .on = 2, .want = WANT_LIMITED },
	{ GET, 2, .on = 0 },
	{ DONE, 1, .on = 0, .want = WANT_LIMITED },
	{ REQUEUES, 2, .on = 2 },
	{ FORGET, 2, .on = 2 },
	{ GET, 2, .on = 2 },
	{ RESTORE, 1, .on = 2 },
	{ SYNC, 1, .on = 2 },
	{ END },
};

/* The same with the queue of another user. */
static const struct step outbox_of_others[] = {
	{ CREATE, 1, .to = 0, .want = WANT_NAME | WANT_CALM },
	{ OPEN, 2, .to = 1, .want = WANT_NAME | WANT_CALM },
	{ CREATE, 2, .to = 2, .want = WANT_OUTBOX | WANT_CALM },
	{ ADD, 3, .on = 2, .want = WANT_LIMITED },
	{ REQUEUES, 2, .on = 2 },
	{ FORGET, 2, .on = 2 },
	{ GET, 2, .on = 2 },
	{ REQUEUES, 1, .on = 1 },
	{ END },
};

/* A board answers adds, and a manager removes what has not changed. */
static const struct step board[] = {
	{ CREATE, 1, .to = 0, .want = WANT_CHANGES | WANT_CALM },
	{ OPEN, 1, .on = 0, .to = 1, .want = WANT_CHANGES | WANT_CALM },
	{ FOLLOW, 1, .on = 1, .want = WANT_CALM },
	{ SYNC, 2, .on = 0, .want = WANT_CALM },
	{ OPEN, 1, .on = 0, .to = 2, .want = WANT_CALM },
	{ BOARD, 2, .on = 2 },
	{ ADD, 3, .on = 2 },
	{ CHANGES, 2, .on = 1 },
	{ REMOVE, 2, .on = 1, .want = WANT_UNCHANGED },
	{ TELL, 1, .on = 2 },
	{ END },
};

/* Q8: a shut down of a queue that others use. */
static const struct step shut_down[] = {
	{ CREATE, 1, .to = 0, .want = NEW_QUEUE | WANT_VALUES },
	{ ADD, 3, .on = 0, .want = MANY_KEYS },
	{ GET, 1, .on = 0, .want = WANT_LARGE },
	{ MEET, 1, .on = 0, .want = LARGE_VALUES },
	{ SHUT_DOWN, 1, .on = 0, .want = WANT_CALM },
	{ DONE, 2, .on = 0, .want = WANT_LARGE },
	{ GET, 2, .on = 0, .want = WANT_LARGE },
	{ STAT, 1, .on = 0, .want = WANT_CALM },
	{ END },
};

static const struct step waits[] = {
	{ AWAIT, 1 },
	{ END },
};

static const struct step *const plans[] = {
	remembered, tried_again, follower_goes, follower_goes, follower_goes, follower_reads,
	outbox, outbox_of_others, board, shut_down, waits,
};

static void enter_step(struct fuzzer *f, const struct step *step)
{
	f->plan = step->what == END ? NULL : step;
	f->again = f->plan ? 1 + any(f, step->most) : 0;
}

void begin_plan(struct fuzzer *f)
{
	atomic_fetch_add(&f->world->plans, 1);
	enter_step(f, plans[any(f, ARRAY_SIZE(plans))]);
}

#define LOOKS	100	/* for another thread, which may sleep in a call */

/*
 * Calls the other threads of the process to a descriptor, and waits until one of them is there. So
 * what this thread does next happens while the other one is in its requests.
 */
static void meet(struct fuzzer *f, int fd, __u32 want)
{
	_Atomic int *meeting = &f->process->meeting;
	int mine = fd;

	atomic_store(&f->process->meeting_want, want);
	atomic_store(meeting, fd);
	for (int i = 0; i < LOOKS && atomic_load(meeting) == fd; i++)
		usleep(100);
	atomic_compare_exchange_strong(meeting, &mine, -1);
	usleep(any(f, 1000));
}

bool is_called(struct fuzzer *f)
{
	int fd;

	if (f->visits)
		return true;
	if (atomic_load_explicit(&f->process->meeting, memory_order_relaxed) < 0)
		return false;
	fd = atomic_exchange(&f->process->meeting, -1);
	if (fd < 0)
		return false;
	f->guest = fd;
	f->guest_want = atomic_load(&f->process->meeting_want);
	f->visits = 4 + any(f, 12);
	return true;
}

#define TRIES	200	/* of an add that is refused */

/*
 * Adds a key with a value again and again, until there is room. So an add meets whatever the other
 * thread does, however short that is. The descriptor may be another one, or none, at any time.
 */
static void insist(struct fuzzer *f)
{
	struct kwq_add_extra extra = { .value = user_ptr(f->before) };
	struct kwq_add_entry entry = { .flags = KWQ_ADD_VALUE };
	__u8 key[KWQ_KEY_MAX];
	__s32 result = -ENOSPC;
	struct kwq_add_args add = {
		.size = sizeof(add),
		.batch = {
			.entries = user_ptr(&entry),
			.keys = user_ptr(key),
			.results = user_ptr(&result),
			.extras = user_ptr(&extra),
			.nr = 1,
			.entry_size = sizeof(entry),
			.extra_size = sizeof(extra),
		},
	};

	f->call = (struct call){ .kind = ADD, .want = WANT_FRESH };
	extra.value_len = 1 + any_size(f, KWQ_VALUE_MAX - 1);
	if (one_in(f, 2))
		extra.value_len = 8192 << any(f, 3);
	entry.key_len = any_key(f, key, sizeof(key));
	add.batch.keys_len = entry.key_len;
	for (int i = 0; i < TRIES && (result == -ENOSPC || result == -EDQUOT); i++)
		if (request(f->guest, KWQ_IOC_ADD, &add) < 0)
			break;
	f->call.ret = result;
	if (result > KWQ_DIRTY || (result < 0 && result != -ENOSPC && result != -EDQUOT &&
				   result != -ESHUTDOWN && result != -EOPNOTSUPP))
		wrong(f, "that is no result of an add");
}

void visit(struct fuzzer *f)
{
	f->visits--;
	if (one_in(f, 4))
		request_at(f, f->guest, f->guest_want);
	else
		insist(f);
}

static void leave(struct handle *h)
{
	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
}

void go_on_with_plan(struct fuzzer *f)
{
	const struct step *step = f->plan;
	struct handle *on = &f->own[step->on];

	switch (step->what) {
	case MEET:
		meet(f, on->fd, step->want);
		break;
	case LEAVE:
		leave(on);
		break;
	case AWAIT:
		wait_for_a_shut_down(f);
		break;
	default:
		request_of(f, step->want, on, &f->own[step->to], step->what);
		break;
	}
	if (!--f->again)
		enter_step(f, step + 1);
}

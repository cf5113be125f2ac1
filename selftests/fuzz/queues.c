// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random queues and configurations, and the handles that a thread has of them.
 */
#include "fuzz.h"

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

/* A limiter that delays nothing, so that items come back at once and are remembered at last. */
static void limit_nothing(struct kwq_config *config, struct kwq_limiter *l)
{
	config->nr = 1;
	config->dead_after = 0;
	config->forget_after = 0;
	*l = (struct kwq_limiter)FAST_SLOW(0, 0, 0);
}

/* The limiters are in the second half of the first page of EXTRA, which has room for 32. */
void any_config(struct fuzzer *f, struct kwq_config *config)
{
	struct kwq_limiter *limiters = (void *)(area_of(f, EXTRA) + PAGE / 2);

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
	if (wants(f, WANT_LIMITED))
		limit_nothing(config, limiters);
	if (config->nr) {
		config->limiters = address(f, EXTRA) + PAGE / 2;
		config->limiter_size = sizeof(*limiters);
	}
}

__u32 any_open_flags(struct fuzzer *f)
{
	return (one_in(f, 3) ? O_NONBLOCK : 0) | O_CLOEXEC;
}

__u32 any_rights(struct fuzzer *f)
{
	return one_in(f, 2) ? ALL_RIGHTS : any(f, ALL_RIGHTS + 1);
}

/* An own handle that may become an outbox, or NULL. */
static const struct handle *any_outbox(struct fuzzer *f)
{
	const struct handle *h;

	for (int tries = 0; tries < OWN; tries++) {
		h = &f->own[any(f, OWN)];
		if (h->fd >= 0 && h->rights & KWQ_RIGHT_WRITE && !(h->flags & KWQ_CREATE_OUTBOX))
			return h;
	}
	return NULL;
}

/* The kernel has to find out whether it is fit. */
static void choose_outbox(struct fuzzer *f, struct kwq_create_args *create)
{
	const struct handle *outbox = NULL;

	if (wants(f, WANT_OUTBOX) || one_in(f, 2))
		outbox = any_outbox(f);
	create->flags |= KWQ_CREATE_OUTBOX;
	create->outbox = outbox ? outbox->fd : slot_fd(f, any(f, SLOTS));
	f->call.outbox = outbox;
}

static __u32 any_create_flags(struct fuzzer *f, const struct kwq_create_args *create)
{
	__u32 flags = 0;

	if (wants(f, WANT_VALUES) || one_in(f, 3))
		flags |= KWQ_CREATE_VALUES;
	/* M1: durations are needed for a lease, but the kernel has to say so. */
	if (one_in(f, create->lease || create->aging ? 32 : 3))
		flags |= KWQ_CREATE_NO_DURATIONS;
	if (wants(f, WANT_CHANGES) || one_in(f, 3))
		flags |= KWQ_CREATE_CHANGES;
	if (one_in(f, 4))
		flags |= KWQ_CREATE_GROUPS;
	/* It needs KWQ_CREATE_CHANGES. Rarely, because calls then wait for a follower. */
	if (one_in(f, 32))
		flags |= KWQ_CREATE_SYNC;
	return flags;
}

void build_create(struct fuzzer *f, struct kwq_create_args *create)
{
	static const __s32 clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME, KWQ_CLOCK_ID_MANUAL };
	bool planned = f->call.want & WANT_CALM;

	create->open_flags = any_open_flags(f);
	create->rights = planned && !one_in(f, 4) ? ALL_RIGHTS : any_rights(f);
	/* An outbox has to have the same clock. */
	create->clockid = clocks[planned && !one_in(f, 8) ? 0 : any(f, 3)];
	create->lease = one_in(f, planned ? 8 : 2) ? any_time(f) : 0;
	create->aging = one_in(f, 8) ? any_time(f) : 0;
	create->flags = any_create_flags(f, create);
	if (wants(f, WANT_OUTBOX) || (!planned && one_in(f, 4)))
		choose_outbox(f, create);
	create->max_items = any_max_items(f);
	create->max_bytes = any_max_bytes(f);
	if (wants(f, WANT_NAME) || (!planned && one_in(f, 2))) {
		create->flags |= one_in(f, 4) ? 0 : KWQ_CREATE_OR_OPEN;
		create->mode = one_in(f, 2) ? 0666 : any(f, 01000);
		any_name(f, create->name);
	} else if (create->flags & KWQ_CREATE_GROUPS) {
		/* At the end, an item that a limit holds back could not be told from a loss. */
		create->group_limit = any(f, 4);
	}
	if (f->call.want & WANT_LIMITED || one_in(f, 2)) {
		any_config(f, (void *)area_of(f, EXTRA));
		create->config = address(f, EXTRA);
	}
}

static __u32 flags_of(int q)
{
	struct kwq_stat stat = { .size = sizeof(stat) };

	REQUIRE(!request(q, KWQ_IOC_STAT, &stat));
	return stat.create_flags;
}

static struct handle new_handle(struct fuzzer *f)
{
	const struct call *c = &f->call;
	const struct kwq_create_args *create = told(f);
	const struct kwq_open_args *open = told(f);
	struct handle new = { .fd = c->ret, .flags = flags_of(c->ret), .through = ALL_RIGHTS };

	if (c->kind == OPEN) {
		new.rights = open->rights;
		if (c->own)
			new.through = c->own->through;
		return new;
	}
	new.rights = create->rights;
	/* Otherwise this may be an older queue of that name. */
	if (c->outbox && !(create->flags & KWQ_CREATE_OR_OPEN))
		new.through = c->outbox->rights;
	return new;
}

/* Keeps the descriptor of a call as an own one, in place of @to, or in a slot. */
void keep_handle(struct fuzzer *f, struct handle *to)
{
	struct handle new;

	if (!is_plain(&f->call) || (!to && one_in(f, 2))) {
		put_slot(f, any(f, SLOTS), f->call.ret);
		return;
	}
	if (!to)
		to = &f->own[any(f, OWN)];
	new = new_handle(f);
	if (to->fd >= 0)
		close(to->fd);
	*to = new;
	/* The others shall meet there, too. */
	if (one_in(f, 2))
		put_slot(f, any(f, SLOTS), dup(new.fd));
}

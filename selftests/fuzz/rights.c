// SPDX-License-Identifier: GPL-2.0-only
/*
 * U9: what a handle of known rights may do.
 *
 * Only calls on own handles are judged, because another thread may put a different descriptor in
 * the place of any other one. The arguments do not matter, because none of them gives a right.
 */
#include "fuzz.h"

static __u32 needed_by(struct fuzzer *f)
{
	const struct call *c = &f->call;
	const struct kwq_get_args *get = told(f);

	if (c->kind == GET && is_plain(c) && get->add.nr)
		return KWQ_RIGHT_READ | KWQ_RIGHT_WRITE;
	return rules[c->kind].rights;
}

/* Does the request concern the outbox? Adds do, too, but whoever has an outbox may add to it. */
static bool concerns_the_outbox(const struct call *c)
{
	return (c->kind == FORGET || c->kind == REQUEUES) && c->own->flags & KWQ_CREATE_OUTBOX;
}

/*
 * The outbox keeps the counts, and whoever may only add to it may neither see nor change them. A
 * queue that is shut down answers itself, and stays so: then the call may have met that.
 */
static void judge_way_through_the_outbox(struct fuzzer *f)
{
	const struct handle *h = f->call.own;

	if (!(h->through & KWQ_RIGHT_READ) && f->call.ret >= 0 && !q_shutting_down(h->fd))
		wrong(f, "the outbox was given with the rights %#x", h->through);
}

/* A second handle has no right that the first one lacks. */
static void judge_second_handle(struct fuzzer *f)
{
	const struct kwq_open_args *open = told(f);

	if (is_plain(&f->call) && f->call.ret >= 0 && open->rights & ~f->call.own->rights)
		wrong(f, "a handle with the rights %#x made one with %#x", f->call.own->rights,
		      open->rights);
}

void judge_rights(struct fuzzer *f)
{
	const struct call *c = &f->call;
	__u32 lacks;

	if (!c->own || c->kind == UNKNOWN)
		return;
	lacks = needed_by(f) & ~c->own->rights;
	if (lacks && c->ret >= 0)
		wrong(f, "the handle has the rights %#x, and lacks %#x", c->own->rights, lacks);
	if (c->kind == OPEN)
		judge_second_handle(f);
	/* It may be unknown with which rights the outbox was given, so a refusal may be right. */
	if (concerns_the_outbox(c)) {
		judge_way_through_the_outbox(f);
		return;
	}
	/* CHANGES is for the handle that follows. A wild request may be any. */
	if (!lacks && c->ret == -EBADF && is_plain(c) && c->kind != CHANGES && c->kind > LIST)
		wrong(f, "the handle has the rights %#x, which suffice", c->own->rights);
}

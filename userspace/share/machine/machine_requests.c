// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * People ask this machine to remove or to kick a key, wherever it is.
 */
#include "machine_internal.h"

#include <errno.h>
#include <stdlib.h>

/* A machine that died has to be buried first. */
enum { PATIENCE_TTLS = 3 };

int machine_request(struct machine *m, enum request_kind what, struct bytes key,
		    void (*done)(void *arg, int result), void *arg)
{
	struct asked *asked;
	struct key_hash hash;

	if (m->is_leaving)
		return -ESHUTDOWN;
	if (key_hash_of(&hash, key))
		return -EIO;
	asked = calloc(1, sizeof(*asked));
	if (!asked)
		return -ENOMEM;
	asked->machine = m;
	asked->done = done;
	asked->arg = arg;
	asked->until = machine_clock() + PATIENCE_TTLS * m->options.ttl;
	if (!member_request(m->member, (uintptr_t)asked, what, &hash, machine_now(m))) {
		free(asked);
		return -EAGAIN;
	}
	DL_APPEND(m->asked, asked);
	return 0;
}

static void finish(struct asked *asked, int result)
{
	DL_DELETE(asked->machine->asked, asked);
	asked->done(asked->arg, result);
	free(asked);
}

void asked_replied(uint64_t id, uint32_t was, bool is_sure)
{
	struct asked *asked = (struct asked *)(uintptr_t)id;

	finish(asked, was ? (int)was : is_sure ? -ENOENT : -ESTALE);
}

void machine_forget_requests(struct machine *m, const void *arg)
{
	struct asked *asked, *next;

	DL_FOREACH_SAFE(m->asked, asked, next) {
		if (asked->arg != arg)
			continue;
		member_forget_request(m->member, (uintptr_t)asked);
		DL_DELETE(m->asked, asked);
		free(asked);
	}
	lists_forget(m, arg);
}

/* All have the same patience, so the first one is the first that is over. */
void asked_tick(struct machine *m)
{
	struct asked *asked;

	while ((asked = m->asked) && asked->until <= machine_clock()) {
		member_forget_request(m->member, (uintptr_t)asked);
		finish(asked, -ETIMEDOUT);
	}
}

uint64_t asked_due(const struct machine *m)
{
	return m->asked ? m->asked->until : NEVER;
}

void asked_free(struct machine *m)
{
	struct asked *asked, *next;

	DL_FOREACH_SAFE(m->asked, asked, next)
		free(asked);
}

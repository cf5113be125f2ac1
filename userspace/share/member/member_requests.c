// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Requests of people on this machine, which the master carries out wherever the key is.
 */
#include "member_state.h"

bool member_request(struct member *member, uint64_t id, enum request_kind what,
		    const struct key_hash *hash, struct instant now)
{
	struct member_request *request = member->requests;

	while (request < member->requests + REQUESTS_MAX && request->is_open)
		request++;
	if (request == member->requests + REQUESTS_MAX)
		return false;
	*request = (struct member_request){
		.id = id,
		.number = request->number + 1,
		.is_open = true,
		.is_sure = true,
		.what = what,
		.hash = *hash,
	};
	member_tick(member, now);
	return true;
}

void member_forget_request(struct member *member, uint64_t id)
{
	int i;

	for (i = 0; i < REQUESTS_MAX; i++)
		if (member->requests[i].id == id)
			member->requests[i].is_open = false;
}

/* A newer master does not know what an older one has done. */
static void send(struct member *member, struct member_request *request)
{
	struct message message = {
		.kind = MESSAGE_REQUEST,
		.epoch = member->epoch,
		.machine = member->name,
		.slot = request - member->requests,
		.number = request->number,
		.hash = request->hash,
		.request = request->what,
	};

	if (!request->epoch)
		request->epoch = member->epoch;
	request->is_sure = request->epoch == member->epoch;
	request->send_at = member->now.boot + member->options.repeat;
	member->ops->send(member->arg, &message);
}

void requests_tick(struct member *member)
{
	int i;

	for (i = 0; may_ask(member) && i < REQUESTS_MAX; i++)
		if (member->requests[i].is_open && member->requests[i].send_at <= member->now.boot)
			send(member, &member->requests[i]);
}

void requests_obey(struct member *member)
{
	int i;

	for (i = 0; i < REQUESTS_MAX; i++)
		member->requests[i].send_at = member->now.boot;
	requests_tick(member);
}

uint64_t requests_next_due(const struct member *member)
{
	uint64_t next = NEVER;
	int i;

	for (i = 0; may_ask(member) && i < REQUESTS_MAX; i++)
		if (member->requests[i].is_open && member->requests[i].send_at < next)
			next = member->requests[i].send_at;
	return next;
}

void take_reply(struct member *member, const struct message *message)
{
	struct member_request *request;

	if (message->slot >= REQUESTS_MAX)
		return;
	request = &member->requests[message->slot];
	if (!request->is_open || request->number != message->number)
		return;
	request->is_open = false;
	member->ops->replied(member->arg, request->id, message->was, request->is_sure);
}

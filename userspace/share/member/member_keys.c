// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Asks, keys and dones of a machine.
 */
#include <stdlib.h>
#include <string.h>

#include "member_state.h"

/*
 * A machine asks for nothing while so many ends are not confirmed: its workers are faster than the
 * engine. If the machine dies, these keys run once more.
 */
enum { UNCONFIRMED_MAX = 1000 };

bool may_ask(const struct member *member)
{
	return member->phase == PHASE_IN && member->epoch && has_lease(member);
}

static size_t without(size_t a, size_t b)
{
	return a > b ? a - b : 0;
}

static size_t lower(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t asks_wanted(const struct member *member)
{
	size_t wanted = without(member->wanted > member->hungry ? member->wanted : member->hungry,
				member->nr_untaken);
	size_t room = lower(without(HELD_MAX, HASH_COUNT(member->holdings)),
			    without(UNCONFIRMED_MAX, member->nr_ended));

	return may_ask(member) ? lower(wanted, room) : 0;
}

static bool make_slots(struct member *member, size_t wanted)
{
	struct slot *slots;

	if (wanted <= member->room)
		return true;
	slots = realloc(member->slots, wanted * sizeof(*slots));
	if (!slots) {
		member_fail(member);
		return false;
	}
	memset(slots + member->room, 0, (wanted - member->room) * sizeof(*slots));
	member->slots = slots;
	member->room = wanted;
	return true;
}

/* An ask that is open stays open until it is answered: its grant may be on its way. */
static void open_asks(struct member *member)
{
	size_t wanted = asks_wanted(member), i;

	if (!make_slots(member, wanted))
		return;
	for (i = 0; i < member->room && member->nr_open < wanted; i++) {
		struct slot *slot = &member->slots[i];

		if (slot->is_open)
			continue;
		slot->is_open = true;
		slot->is_hungry = false;
		slot->told_hungry = false;
		slot->number++;
		slot->send_at = member->now.boot;
		member->nr_open++;
	}
}

static void mark_hungry(struct member *member)
{
	size_t hungry = lower(without(member->hungry, member->nr_untaken), asks_wanted(member)), i;

	for (i = 0; i < member->room; i++) {
		struct slot *slot = &member->slots[i];
		bool is_hungry = slot->is_open && hungry;

		if (slot->is_hungry != is_hungry)
			slot->send_at = member->now.boot;
		slot->is_hungry = is_hungry;
		hungry -= is_hungry;
	}
}

static void send_ask(struct member *member, struct slot *slot)
{
	struct message message = {
		.kind = MESSAGE_ASK,
		.epoch = member->epoch,
		.machine = member->name,
		.slot = slot - member->slots,
		.number = slot->number,
		.is_hungry = slot->is_hungry,
		.untaken = member->nr_untaken,
	};

	slot->send_at = member->now.boot + member->options.repeat;
	slot->told_hungry = slot->is_hungry;
	member->ops->send(member->arg, &message);
}

void asks_refresh(struct member *member)
{
	size_t i, left;

	member->asks_at = NEVER;
	if (member->has_failed || !may_ask(member))
		return;
	open_asks(member);
	mark_hungry(member);
	left = asks_wanted(member);
	for (i = 0; i < member->room; i++) {
		struct slot *slot = &member->slots[i];

		if (!slot->is_open)
			continue;
		/*
		 * Its grant may be on its way. The master forgets an ask that is not repeated. It
		 * hears at once that no worker sleeps for this ask any more.
		 */
		if (!left) {
			if (slot->told_hungry)
				send_ask(member, slot);
			continue;
		}
		left--;
		if (slot->send_at <= member->now.boot)
			send_ask(member, slot);
		if (slot->send_at < member->asks_at)
			member->asks_at = slot->send_at;
	}
}

static void close_slot(struct member *member, struct slot *slot)
{
	slot->is_open = false;
	slot->is_hungry = false;
	member->nr_open--;
}

static void close_slots(struct member *member)
{
	size_t i;

	for (i = 0; i < member->room; i++)
		if (member->slots[i].is_open)
			close_slot(member, &member->slots[i]);
}

static struct holding *find_holding(struct member *member, const struct key_hash *hash)
{
	struct holding *holding;

	HASH_FIND(hh, member->holdings, hash, sizeof(*hash), holding);
	return holding;
}

/* Counts and lists it by its new state. */
static void set_state(struct member *member, struct holding *holding, enum holding_state state)
{
	if (holding->state == ENDED)
		DL_DELETE(member->dones, holding);
	member->nr_untaken -= holding->state == UNTAKEN;
	member->nr_ended -= holding->state == ENDED;
	holding->state = state;
	member->nr_untaken += state == UNTAKEN;
	member->nr_ended += state == ENDED;
	if (state == ENDED)
		DL_APPEND(member->dones, holding);
}

static void drop(struct member *member, struct holding *holding)
{
	set_state(member, holding, TAKEN);
	HASH_DEL(member->holdings, holding);
	free(holding->work);
	free(holding);
}

void keys_drop(struct member *member)
{
	struct holding *holding, *next;

	HASH_ITER(hh, member->holdings, holding, next)
		drop(member, holding);
	close_slots(member);
	member->asks_at = NEVER;
}

/* If the machine of the master dies, nobody else knows what it worked on. */
static bool is_masters(const struct member *member)
{
	return member->epoch && member->epoch == member->own_epoch;
}

/* A promise lists all keys of older masters, and each heartbeat those that workers have. */
static bool is_listed(const struct member *member, const struct holding *holding)
{
	return holding->token.epoch < member->epoch || holding->state == TAKEN;
}

bool keys_held(struct member *member, struct held **held, size_t *nr)
{
	const struct holding *holding;
	struct held *list = calloc(HASH_COUNT(member->holdings) + 1, sizeof(*list));

	*held = list;
	*nr = 0;
	if (!list) {
		member_fail(member);
		return false;
	}
	for (holding = member->holdings; holding; holding = holding->hh.next) {
		if (!is_listed(member, holding))
			continue;
		list[*nr] = (struct held){ holding->hash, holding->token, holding->versions };
		++*nr;
	}
	return true;
}

static void send_done(struct member *member, const struct holding *holding)
{
	const struct member_end *end = &holding->end;
	struct message message = {
		.kind = MESSAGE_DONE,
		.epoch = member->epoch,
		.machine = member->name,
		.hash = holding->hash,
		.token = holding->token,
		.versions = holding->versions,
		.outcome = end->outcome,
		.due = end->due,
		.untaken = member->nr_untaken,
	};

	if (end->outcome == OUTCOME_RETURNED) {
		message.work.abandoned = end->abandoned;
	} else if (end->outcome != OUTCOME_DONE) {
		message.work = holding->work->work;
		message.work.requeues = end->requeues;
		message.work.priority = end->priority;
		message.work.note = end->note;
	}
	member->ops->send(member->arg, &message);
}

/* The list is in the order of the times, because all wait equally long. */
static void repeat_done(struct member *member, struct holding *holding)
{
	DL_DELETE(member->dones, holding);
	DL_APPEND(member->dones, holding);
	holding->send_at = member->now.boot + member->options.repeat;
	send_done(member, holding);
}

void dones_tick(struct member *member)
{
	while (member->epoch && member->dones && member->dones->send_at <= member->now.boot)
		repeat_done(member, member->dones);
}

void keys_obey(struct member *member)
{
	struct holding *holding;

	close_slots(member);
	DL_FOREACH(member->dones, holding)
		holding->send_at = member->now.boot;
	asks_refresh(member);
	dones_tick(member);
}

/*
 * The note of @how does not outlive the call, so it goes to where the one of the grant is. That one
 * is no news to the master, which may have got a newer one beside the run.
 */
static bool take_note(struct member *member, struct holding *holding, const struct member_end *how)
{
	struct work work = holding->work->work;
	struct record *copy;

	holding->end.note.len = 0;
	if (!how->note.len || same_bytes(how->note, work.note))
		return true;
	work.note = how->note;
	copy = work_copy(&work);
	if (!copy) {
		member_fail(member);
		return false;
	}
	free(holding->work);
	holding->work = copy;
	holding->end.note = copy->work.note;
	return true;
}

static void end(struct member *member, struct holding *holding, const struct member_end *how)
{
	holding->end = *how;
	if (!take_note(member, holding, how))
		return;
	set_state(member, holding, ENDED);
	repeat_done(member, holding);
}

void keys_leave(struct member *member)
{
	struct holding *holding, *next;

	HASH_ITER(hh, member->holdings, holding, next)
		if (holding->state == UNTAKEN)
			member->ops->take_back(member->arg, &holding->hash, holding->token);
}

static struct holding *make_holding(struct member *member, const struct key_hash *hash)
{
	struct holding *holding = calloc(1, sizeof(*holding));

	if (!holding) {
		member_fail(member);
		return NULL;
	}
	holding->hash = *hash;
	holding->state = TAKEN;
	HASH_ADD(hh, member->holdings, hash, sizeof(holding->hash), holding);
	if (HASH_HAS(holding))
		return holding;
	free(holding);
	member_fail(member);
	return NULL;
}

static bool fill(struct member *member, struct holding *holding, const struct message *message)
{
	struct record *work = work_copy(&message->work);

	if (!work) {
		member_fail(member);
		return false;
	}
	free(holding->work);
	holding->work = work;
	holding->token = message->token;
	holding->versions = message->versions;
	return true;
}

/*
 * A machine has asked, so it gets keys still when it leaves, and when its workers have gone or its
 * queue is paused.
 */
static bool wants_none(const struct member *member)
{
	return member->phase == PHASE_LEAVING || (!member->wanted && !member->hungry);
}

static void take(struct member *member, struct holding *holding, const struct message *message)
{
	static const struct member_end returned = { .outcome = OUTCOME_RETURNED };

	if (!fill(member, holding, message))
		return;
	if (wants_none(member)) {
		end(member, holding, &returned);
		return;
	}
	set_state(member, holding, UNTAKEN);
	holding->came_back = false;
	member->ops->start(member->arg, &holding->hash, &holding->work->work, holding->token);
	asks_refresh(member);
}

/* A grant of a key whose end is not confirmed overtook the confirmation, and is one. */
static void take_grant(struct member *member, const struct message *message)
{
	struct slot *slot = message->slot < member->room ? &member->slots[message->slot] : NULL;
	struct holding *holding;

	if (!slot || !slot->is_open || slot->number != message->number || !has_lease(member))
		return;
	close_slot(member, slot);
	holding = find_holding(member, &message->hash);
	if (holding && holding->state != ENDED) {
		member->surprises++;
		return;
	}
	if (holding)
		member->ops->confirmed(member->arg, &holding->hash);
	else
		holding = make_holding(member, &message->hash);
	if (holding)
		take(member, holding, message);
}

static void take_confirm(struct member *member, const struct message *message)
{
	struct holding *holding = find_holding(member, &message->hash);

	if (holding && holding->state == ENDED && same_token(holding->token, message->token)) {
		member->ops->confirmed(member->arg, &holding->hash);
		drop(member, holding);
	}
	member_tick(member, member->now);
}

/*
 * The master repeats its answers. A machine that needs no keys by now repeats no asks otherwise. If
 * many grants are lost at once, the first recall is enough.
 */
static void repeat_open_asks(struct member *member)
{
	uint64_t recent = member->options.repeat / 8;
	size_t i;

	if (!may_ask(member))
		return;
	for (i = 0; i < member->room; i++) {
		struct slot *slot = &member->slots[i];

		if (slot->is_open &&
		    slot->send_at + recent <= member->now.boot + member->options.repeat)
			send_ask(member, slot);
	}
}

/* A key that is unknown here was granted, and the grant was lost. */
static void take_recall(struct member *member, const struct message *message)
{
	struct holding *holding = find_holding(member, &message->hash);

	if (!holding)
		repeat_open_asks(member);
	else if (message->revokes && holding->state != ENDED &&
		 same_token(holding->token, message->token))
		member->ops->revoke(member->arg, &holding->hash, holding->token);
	else if (holding->state == UNTAKEN && same_token(holding->token, message->token))
		member->ops->take_back(member->arg, &holding->hash, holding->token);
}

static void (*const message_functions[])(struct member *member, const struct message *message) = {
	[MESSAGE_GRANT] = take_grant,
	[MESSAGE_CONFIRM] = take_confirm,
	[MESSAGE_RECALL] = take_recall,
	[MESSAGE_REPLY] = take_reply,
};

void member_message(struct member *member, const struct message *message, struct instant now)
{
	if (member->has_failed)
		return;
	member_tick(member, now);
	if (!member->epoch || message->epoch != member->epoch)
		return;
	if (message->kind < ARRAY_SIZE(message_functions) && message_functions[message->kind])
		message_functions[message->kind](member, message);
}

/*
 * A key came back from a worker that has died, or has given it back. If no worker sleeps here, one
 * may sleep elsewhere.
 */
static void give_up_returned(struct member *member)
{
	struct holding *holding, *next;

	member->some_came_back = false;
	HASH_ITER(hh, member->holdings, holding, next)
		if (holding->state == UNTAKEN && holding->came_back)
			member->ops->take_back(member->arg, &holding->hash, holding->token);
}

void member_set_slots(struct member *member, uint32_t slots, uint32_t hungry, struct instant now)
{
	member->wanted = slots;
	member->hungry = hungry;
	member_tick(member, now);
	if (!hungry && member->some_came_back && !member->has_failed)
		give_up_returned(member);
}

static struct holding *find_at_work(struct member *member, const struct key_hash *hash,
				    struct token token)
{
	struct holding *holding = find_holding(member, hash);

	if (!holding || holding->state == ENDED || !same_token(holding->token, token))
		return NULL;
	return holding;
}

void member_taken(struct member *member, const struct key_hash *hash, struct token token,
		  bool is_taken, struct instant now)
{
	struct holding *holding;

	member_tick(member, now);
	holding = find_at_work(member, hash, token);
	if (!holding || member->has_failed)
		return;
	set_state(member, holding, is_taken ? TAKEN : UNTAKEN);
	if (is_taken && is_masters(member))
		beat_soon(member);
	holding->came_back = !is_taken;
	member->some_came_back |= holding->came_back;
	asks_refresh(member);
}

void member_ended(struct member *member, const struct key_hash *hash, struct token token,
		  const struct member_end *how, struct instant now)
{
	struct holding *holding;

	member_tick(member, now);
	holding = find_at_work(member, hash, token);
	if (!holding || member->has_failed)
		return;
	end(member, holding, how);
	asks_refresh(member);
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Ends of keys, which wait for adds that came before them: see local_hold_ends(). */
#include "local_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct ended *ended_find(const struct local *l, const struct key_hash *hash)
{
	struct ended *ended;

	HASH_FIND(hh, l->ended, hash, sizeof(*hash), ended);
	return ended;
}

static void wait_for(struct local *l, struct ended *ended, enum waits_for what)
{
	ended->waits_for = what;
	DL_APPEND(l->waiting[what], ended);
}

/* It waits for nothing, and comes first. */
static void let_go(struct local *l, struct ended *ended)
{
	ended->after = 0;
	ended->waits_for = WAITS_FOR_ALL;
	DL_PREPEND(l->waiting[WAITS_FOR_ALL], ended);
}

static void wait_no_more(struct local *l, struct ended *ended)
{
	DL_DELETE(l->waiting[ended->waits_for], ended);
}

void ended_forget(struct local *l, struct ended *ended)
{
	HASH_DEL(l->ended, ended);
	wait_no_more(l, ended);
}

void ended_free(struct ended *ended)
{
	free(ended->more);
	free(ended);
}

void ended_let(struct local *l, const struct key_hash *hash, uint64_t change)
{
	struct ended *ended = ended_find(l, hash);

	if (!ended || ended->waits_for == WAITS_FOR_ALL || ended->own > change)
		return;
	wait_no_more(l, ended);
	let_go(l, ended);
}

bool local_end_needs_add(const struct local *l, const struct key_hash *hash)
{
	const struct ended *ended = ended_find(l, hash);

	return ended && ended->waits_for != WAITS_FOR_ALL;
}

int ended_take_from_outbox(struct local *l, const void *key, size_t len,
			   const struct kwq_listed **listed, const char **bytes)
{
	int ret;

	item_list_begin(&l->one, l->outbox.q, ALL_STATES);
	item_list_with(&l->one, follower_list_flags(&l->outbox));
	item_list_only(&l->one, key, len);
	ret = item_list_next(&l->one, listed, bytes);
	if (ret <= 0)
		return ret == -ENOENT ? 0 : ret;
	ret = (*listed)->state;
	if (ret & (KWQ_IS_REMEMBERED | KWQ_IS_DEAD)) {
		int err = ret & KWQ_IS_DEAD ?
			  item_remove(l->outbox.q, key, len, KWQ_REMOVE_DEAD, 0) :
			  item_remove(l->outbox.q, key, len, KWQ_REMOVE_UNCHANGED,
				      (*listed)->change);

		/* A worker's add or forget came meanwhile, and ended what was remembered. */
		if (err == -ESTALE || err == -ENOENT)
			return 0;
		ret = err < 0 ? err : ret;
	}
	return ret;
}

struct ended *ended_note(struct local *l, const struct granted *g, enum outcome how,
			 const struct kwq_listed *listed, const char *bytes, uint64_t after)
{
	struct ended *ended = malloc(sizeof(*ended) + item_bytes(listed));

	if (!ended)
		return NULL;
	*ended = (struct ended){
		.after = after,
		.since = l->now,
		.state = listed->state,
		.event = {
			.kind = LOCAL_ENDED,
			.hash = g->hash,
			.work = item_work(listed, ended->bytes),
			.id = (uintptr_t)ended,
			.token = g->token,
			.outcome = how,
			.due = item_due(listed, l->queue.wall),
		},
	};
	memcpy(ended->bytes, bytes, item_bytes(listed));
	HASH_ADD(hh, l->ended, event.hash, sizeof(ended->event.hash), ended);
	if (!HASH_HAS(ended)) {
		free(ended);
		return NULL;
	}
	if (after)
		wait_for(l, ended, WAITS_FOR_ALL);
	else
		let_go(l, ended);
	return ended;
}

/* The outbox tells more of the end: its counts, value, group and note count. */
static int take_more(struct ended *ended, const struct kwq_listed *listed, const char *bytes)
{
	ended->more = malloc(item_bytes(listed));
	if (!ended->more)
		return -ENOMEM;
	memcpy(ended->more, bytes, item_bytes(listed));
	ended->event.work = item_work(listed, ended->more);
	return 0;
}

/* Completes an end that waits for nothing. Returns 0 or a negative errno value. */
static int complete_end(struct local *l, struct ended *ended)
{
	const struct bytes *key = &ended->event.work.key;
	const struct kwq_listed *listed;
	const char *bytes;
	int state = ended_take_from_outbox(l, key->at, key->len, &listed, &bytes);

	if (state < 0)
		return state;
	if (ended->event.outcome != OUTCOME_DONE)
		return 0;
	if (state & KWQ_IS_DEAD) {
		ended->event.outcome = OUTCOME_DEAD;
		return take_more(ended, listed, bytes);
	}
	/* A key that QUEUE does not remember was forgotten by its done. */
	if (!(state & KWQ_IS_REMEMBERED) || !ended->state)
		return 0;
	ended->event.outcome = OUTCOME_REMEMBERED;
	return take_more(ended, listed, bytes);
}

static enum outcome outcome_of(uint32_t state)
{
	if (state & KWQ_IS_WAITING)
		return OUTCOME_RETRY;
	return state & KWQ_IS_DEAD ? OUTCOME_DEAD : OUTCOME_DONE;
}

/* Returns 0, 1 if the key has changed again, and so comes again, or a negative errno value. */
static int remove_ended(struct local *l, const struct kwq_listed *listed, const char *bytes)
{
	int ret;

	if (!listed->state)
		return 0;
	ret = item_remove(l->queue.q, bytes, listed->key_len, KWQ_REMOVE_UNCHANGED, listed->change);
	if (ret == -ESTALE || ret == -ENOENT)
		return 1;
	return ret < 0 ? ret : 0;
}

/*
 * A key that was granted is neither ready nor processing any more. It is removed first, so that no
 * worker gets it again. Its end waits for all adds that the outbox has by now. So the retry of a
 * key is safe before the key is done.
 *
 * After an error the end is lost. The caller ends, and the key is granted once more.
 */
int granted_end(struct local *l, struct granted *g, const struct kwq_listed *listed,
		const char *bytes)
{
	struct page *page = follower_page(&l->queue);
	struct kwq_stat st = { .size = sizeof(st) };
	struct ended *ended;
	int ret = remove_ended(l, listed, bytes);

	if (ret > 0) {
		follower_settle(&l->queue, page);
		return 0;
	}
	if (!ret)
		ret = kwq_stat(l->outbox.q, &st);
	if (ret)
		return ret;
	ended = ended_note(l, g, outcome_of(listed->state), listed, bytes, st.last_change);
	if (!ended)
		return -ENOMEM;
	ended->page = page;
	granted_forget(l, g);
	return 0;
}

void local_confirmed(struct local *l, uint64_t id)
{
	struct ended *ended = (struct ended *)(uintptr_t)id;

	if (ended->page)
		follower_settle(&l->queue, ended->page);
	ended_free(ended);
}

static int tell_end(struct local *l, struct ended *ended, struct local_event *event)
{
	int err = complete_end(l, ended);

	if (err)
		return err;
	ended_forget(l, ended);
	*event = ended->event;
	return 1;
}

/* An item that was read and is no add is a part of the end. */
static bool may_take(const struct local *l, const struct kwq_listed *listed)
{
	return !item_is_add(listed) && listed->change <= l->outbox.args.after;
}

/*
 * The end of a key waits no longer for adds of other keys. If the outbox has an add of this key,
 * which may be its retry, it waits for that. So the add is stored before the key is done. Returns 1
 * with an event, 0 without, or a negative errno value.
 */
static int wait_for_own(struct local *l, struct ended *ended, struct local_event *event)
{
	const struct bytes *key = &ended->event.work.key;
	const struct kwq_listed *listed;
	const char *bytes;
	int ret;

	item_list_begin(&l->one, l->outbox.q, ALL_STATES);
	item_list_only(&l->one, key->at, key->len);
	ret = item_list_next(&l->one, &listed, &bytes);
	if (ret < 0 && ret != -ENOENT)
		return ret;
	if (ret <= 0 || may_take(l, listed))
		return tell_end(l, ended, event);
	wait_no_more(l, ended);
	ended->own = listed->change;
	wait_for(l, ended, WAITS_FOR_OWN);
	return 0;
}

int ended_next(struct local *l, struct local_event *event)
{
	struct ended *ended;
	int ret = 0, i;

	for (i = 0; i < WAITS; i++)
		if (l->waiting[i] && l->waiting[i]->after <= l->outbox.args.kept)
			return tell_end(l, l->waiting[i], event);
	while (!ret && (ended = l->waiting[WAITS_FOR_ALL]) &&
	       l->now - ended->since >= l->most_held)
		ret = wait_for_own(l, ended, event);
	return ret;
}

void local_hold_ends(struct local *l, uint64_t most)
{
	l->most_held = most;
}

uint64_t local_next_due(const struct local *l)
{
	const struct ended *first = l->waiting[WAITS_FOR_ALL];

	if (!first || l->most_held > UINT64_MAX - first->since)
		return UINT64_MAX;
	return first->since + l->most_held;
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Keys that this machine was granted, until their ends. */
#include "local_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * The token of workers is epoch, number and hand-out. The kernel counts the hand-outs: the next
 * worker has the next token. A key that was handed out half as often as fits is taken back, and the
 * next grant has a higher number.
 */
enum { NUMBER_BITS = 30, HAND_OUT_BITS = 12, MOST_HAND_OUTS = 1 << (HAND_OUT_BITS - 1) };

struct granted *granted_find(const struct local *l, const struct key_hash *hash)
{
	struct granted *g;

	HASH_FIND(hh, l->granted, hash, sizeof(*hash), g);
	return g;
}

void granted_forget(struct local *l, struct granted *g)
{
	HASH_DEL(l->granted, g);
	free(g);
}

int remember_requeues(struct local *l, const void *key, size_t len, uint32_t requeues)
{
	struct kwq_restore_entry entry = {
		.key_len = len,
		.state = KWQ_IS_REMEMBERED,
		.requeues = requeues,
	};
	struct kwq_add_extra extra = {};
	int ret = requeues ? item_restore(l->outbox.q, &entry, &extra, key) : 0;

	/* Work makes room. Without the count a retry begins with a short delay. */
	return ret < 0 && ret != -ENOSPC && ret != -EDQUOT ? ret : 0;
}

/*
 * The outbox is to have the count of the grant. It may have a dead item of an earlier life of this
 * program, which this run must not be taken for. And it may have the count of an earlier grant that
 * was revoked, if that was not read since.
 */
static int prepare_outbox(struct local *l, const struct work *work)
{
	int ret = item_remove(l->outbox.q, work->key.at, work->key.len, KWQ_REMOVE_DEAD, 0);
	struct kwq_listed left = {};

	if (ret < 0 && ret != -ENOENT)
		return ret;
	ret = kwq_look(l->outbox.q, work->key.at, work->key.len, &left);
	if (!ret && left.state == KWQ_IS_REMEMBERED)
		ret = kwq_forget(l->outbox.q, work->key.at, work->key.len);
	if (ret < 0 && ret != -ENOENT)
		return ret;
	return remember_requeues(l, work->key.at, work->key.len, work->requeues);
}

/*
 * L12: a key that ends machines, not only workers, never lives to its last loss on one of them. So
 * a machine that is granted such a key does not hand it out, but lets it die.
 */
static bool is_lost_too_often(const struct local *l, const struct work *work)
{
	struct kwq_config config = { .size = sizeof(config) };

	return work->abandoned && !kwq_config(l->queue.q, &config) && config.dead_after_lost &&
	       work->abandoned >= config.dead_after_lost;
}

static int restore_work(struct local *l, const struct work *work, uint64_t token)
{
	struct kwq_restore_entry entry = {
		.key_len = work->key.len,
		.flags = KWQ_ADD_TOKEN | (work->value.len ? KWQ_ADD_VALUE : 0) |
			 (work->group.len ? KWQ_ADD_GROUP : 0) |
			 (work->note.len ? KWQ_ADD_NOTE : 0),
		.state = is_lost_too_often(l, work) ? KWQ_IS_DEAD : KWQ_IS_READY,
		.priority = work->priority,
		.requeues = work->requeues,
		.abandoned = work->abandoned,
	};
	struct kwq_add_extra extra = {
		.value = work->value.len ? kwq_ptr(work->value.at) : 0,
		.group = work->group.len ? kwq_ptr(work->group.at) : 0,
		.note = work->note.len ? kwq_ptr(work->note.at) : 0,
		.value_len = work->value.len,
		.group_len = work->group.len,
		.note_len = work->note.len,
		.token = token,
	};
	int ret = item_restore(l->queue.q, &entry, &extra, work->key.at);

	/* The work matters more: a full queue has no room for a note, and others take none. */
	if (ret < 0 && work->note.len) {
		entry.flags &= ~KWQ_ADD_NOTE;
		extra.note = 0;
		extra.note_len = 0;
		ret = item_restore(l->queue.q, &entry, &extra, work->key.at);
	}
	return ret;
}

uint64_t local_token(struct token token)
{
	return (epoch_count(token.epoch) << NUMBER_BITS | token.number) << HAND_OUT_BITS;
}

int local_start(struct local *l, const struct key_hash *hash, const struct work *work,
		struct token token)
{
	struct granted *g;
	int ret;

	if (token.number > LOCAL_NUMBER_MAX || epoch_count(token.epoch) > RECORD_ELECTIONS_MAX)
		return -EOVERFLOW;
	g = malloc(sizeof(*g) + work->key.len);
	if (!g)
		return -ENOMEM;
	*g = (struct granted){
		.hash = *hash,
		.token = token,
		.requeues = work->requeues,
		.abandoned = work->abandoned,
		.key_len = work->key.len,
	};
	memcpy(g->key, work->key.at, work->key.len);
	HASH_ADD(hh, l->granted, hash, sizeof(g->hash), g);
	if (!HASH_HAS(g)) {
		free(g);
		return -ENOMEM;
	}
	ret = prepare_outbox(l, work);
	if (!ret)
		ret = restore_work(l, work, local_token(token));
	if (ret < 0) {
		granted_forget(l, g);
		return ret;
	}
	return 0;
}

int local_revoke_all(struct local *l)
{
	const struct kwq_listed *listed;
	const char *bytes;
	struct granted *g, *next_granted;
	struct ended *ended, *next_ended;
	int ret, err = 0;

	HASH_ITER(hh, l->granted, g, next_granted) {
		ret = item_remove(l->queue.q, g->key, g->key_len, KWQ_REMOVE_REVOKE, 0);
		if (ret < 0 && ret != -ENOENT)
			err = ret;
		ret = ended_take_from_outbox(l, g->key, g->key_len, &listed, &bytes);
		if (ret < 0)
			err = ret;
		granted_forget(l, g);
	}
	HASH_ITER(hh, l->ended, ended, next_ended) {
		const struct bytes *key = &ended->event.work.key;

		ret = ended_take_from_outbox(l, key->at, key->len, &listed, &bytes);
		if (ret < 0)
			err = ret;
		ended_forget(l, ended);
		if (ended->page)
			follower_settle(&l->queue, ended->page);
		ended_free(ended);
	}
	return err;
}

int local_take_back(struct local *l, const struct key_hash *hash, struct token token)
{
	struct granted *g = granted_find(l, hash);
	struct kwq_listed listed;
	int ret;

	if (!g || g->token.epoch != token.epoch || g->token.number != token.number)
		return -ENOENT;
	if (g->is_taken || !g->change)
		return -EBUSY;
	ret = item_remove(l->queue.q, g->key, g->key_len, KWQ_REMOVE_UNCHANGED, g->change);
	if (ret < 0)
		return ret == -ESTALE || ret == -ENOENT ? -EBUSY : ret;
	listed = (struct kwq_listed){
		.key_len = g->key_len,
		.requeues = g->requeues,
		.abandoned = g->abandoned,
	};
	if (!ended_note(l, g, OUTCOME_RETURNED, &listed, g->key, 0))
		return -ENOMEM;
	granted_forget(l, g);
	return 0;
}

/* As locally, what the job has added before is stored before its end. */
int local_revoke(struct local *l, const struct key_hash *hash, struct token token)
{
	int ret = local_take_back(l, hash, token);
	struct kwq_stat st = { .size = sizeof(st) };
	struct kwq_listed listed;
	struct granted *g;

	if (ret != -EBUSY)
		return ret;
	g = granted_find(l, hash);
	ret = kwq_stat(l->outbox.q, &st);
	if (!ret)
		ret = item_remove(l->queue.q, g->key, g->key_len, KWQ_REMOVE_REVOKE, 0);
	if (ret < 0)
		return ret == -ENOENT ? -EBUSY : ret;
	listed = (struct kwq_listed){
		.key_len = g->key_len,
		.requeues = g->requeues,
		.abandoned = g->abandoned,
	};
	if (!ended_note(l, g, ret & KWQ_WAS_PROCESSING ? OUTCOME_DONE : OUTCOME_RETURNED, &listed,
			g->key, st.last_change))
		return -ENOMEM;
	granted_forget(l, g);
	return 0;
}

/* Returns 1 with an event, 0 if the change needs none, or a negative errno value. */
static int change_granted(struct local *l, struct granted *g, const struct kwq_listed *listed,
			  const char *bytes, struct local_event *event)
{
	bool was_taken = g->is_taken;
	int ret;

	if (!(listed->state & (KWQ_IS_PROCESSING | KWQ_IS_READY)))
		return granted_end(l, g, listed, bytes);
	g->is_taken = listed->state & KWQ_IS_PROCESSING;
	g->change = listed->change;
	g->requeues = listed->requeues;
	g->abandoned = listed->abandoned;
	follower_settle(&l->queue, follower_page(&l->queue));
	if (!g->is_taken && listed->token - local_token(g->token) >= MOST_HAND_OUTS - 1) {
		/* A worker may be faster. Then its change comes. */
		ret = local_take_back(l, &g->hash, g->token);
		return ret == -EBUSY ? 0 : ret;
	}
	if (was_taken == g->is_taken)
		return 0;
	*event = (struct local_event){
		.kind = g->is_taken ? LOCAL_TAKEN : LOCAL_UNTAKEN,
		.work = item_work(listed, bytes),
		.hash = g->hash,
		.token = g->token,
	};
	return 1;
}

/*
 * The page was read before the grant was revoked, or before the key was granted once more. Nobody
 * needs to hear of that grant.
 */
static bool is_of_former_grant(const struct granted *g, const struct kwq_listed *listed)
{
	uint64_t grant = listed->token >> HAND_OUT_BITS;

	return listed->token && (!g || grant != local_token(g->token) >> HAND_OUT_BITS);
}

int granted_next(struct local *l, struct local_event *event)
{
	const struct kwq_listed *listed;
	struct key_hash hash;
	struct granted *g;
	const char *bytes;
	int ret;

	do {
		ret = follower_next(&l->queue, &listed, &bytes);
		if (ret <= 0)
			return ret;
		ret = key_hash_of(&hash, (struct bytes){ bytes, listed->key_len });
		if (ret)
			return ret;
		g = granted_find(l, &hash);
		if (is_of_former_grant(g, listed))
			follower_settle(&l->queue, follower_page(&l->queue));
		else if (g)
			ret = change_granted(l, g, listed, bytes, event);
		else
			ret = added_read(l, &l->queue, &hash, listed, bytes, event);
	} while (!ret);
	return ret;
}

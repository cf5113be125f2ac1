// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Adds that are published, and forgotten by the outbox when they are stored. */
#include "local_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int added_read(struct local *l, struct follower *f, const struct key_hash *hash,
	       const struct kwq_listed *listed, const char *bytes, struct local_event *event)
{
	struct added *added;

	if (!item_is_add(listed)) {
		follower_settle(f, follower_page(f));
		if (f == &l->outbox)
			ended_let(l, hash, listed->change);
		return 0;
	}
	added = malloc(sizeof(*added) + listed->key_len);
	if (!added)
		return -ENOMEM;
	*added = (struct added){
		.hash = *hash,
		.follower = f,
		.page = follower_page(f),
		.change = listed->change,
		.bytes = item_bytes(listed),
		.key_len = listed->key_len,
	};
	memcpy(added->key, bytes, listed->key_len);
	DL_APPEND(l->added, added);
	l->nr_added++;
	l->added_bytes += added->bytes;
	*event = (struct local_event){
		.kind = LOCAL_ADD,
		.work = item_work(listed, bytes),
		.hash = *hash,
		.id = (uintptr_t)added,
		.is_ready = listed->state & KWQ_IS_READY,
		.is_waiting = listed->state & KWQ_IS_WAITING,
		.wait_priority = listed->wait_priority,
		.due = item_due(listed),
	};
	return 1;
}

int local_stored(struct local *l, uint64_t id)
{
	struct added *added = (struct added *)(uintptr_t)id;
	int ret = item_remove(added->follower->q, added->key, added->key_len, KWQ_REMOVE_UNCHANGED,
			      added->change);

	follower_settle(added->follower, added->page);
	if (added->follower == &l->outbox)
		ended_let(l, &added->hash, added->change);
	DL_DELETE(l->added, added);
	l->nr_added--;
	l->added_bytes -= added->bytes;
	free(added);
	/* An item that has changed comes again. One that is gone was removed by somebody. */
	return ret < 0 && ret != -ESTALE && ret != -ENOENT ? ret : 0;
}

/*
 * Nobody needs a count of requeues without a grant, and without an end that is not told: the stream
 * has it, too. It is left behind by a grant that was revoked, or by an earlier life of the program.
 * Returns 0 or an error.
 */
static int change_remembered(struct local *l, const struct key_hash *hash,
			     const struct kwq_listed *listed, const char *bytes)
{
	int ret = 0;

	if (!granted_find(l, hash) && !ended_find(l, hash))
		ret = item_remove(l->outbox.q, bytes, listed->key_len, KWQ_REMOVE_UNCHANGED,
				  listed->change);
	follower_settle(&l->outbox, follower_page(&l->outbox));
	ended_let(l, hash, listed->change);
	/* After another change it comes again. */
	return ret < 0 && ret != -ESTALE && ret != -ENOENT ? ret : 0;
}

/*
 * In a full stream adds are not stored, so that those behind them would never be read. But a key
 * that has ended makes room when its own add is stored. So many more are read until that comes.
 */
bool added_are_many(const struct local *l)
{
	bool looks_ahead = !l->most_held && l->waiting[WAITS_FOR_OWN] &&
			   l->added_bytes < LOCAL_BYTES_AHEAD;

	return l->nr_added >= (looks_ahead ? LOCAL_ADDS_AHEAD : l->most_added);
}

int added_next(struct local *l, struct local_event *event)
{
	const struct kwq_listed *listed;
	struct key_hash hash;
	const char *bytes;
	int ret;

	do {
		if (added_are_many(l))
			return 0;
		ret = follower_next(&l->outbox, &listed, &bytes);
		if (ret <= 0)
			return ret;
		ret = key_hash_of(&hash, (struct bytes){ bytes, listed->key_len });
		if (ret)
			return ret;
		if (listed->state == KWQ_IS_REMEMBERED)
			ret = change_remembered(l, &hash, listed, bytes);
		else
			ret = added_read(l, &l->outbox, &hash, listed, bytes, event);
	} while (!ret);
	return ret;
}

void local_limit_adds(struct local *l, unsigned int most)
{
	l->most_added = most < LOCAL_ADDS_MAX ? most : LOCAL_ADDS_MAX;
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Adds that are published, and forgotten by the outbox when they are stored. */
#include "local_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/read_clock.h"

static struct added *added_find(const struct local *l, const struct follower *f,
				const struct key_hash *hash)
{
	const struct added_of of = { .hash = *hash, .is_foreign = f == &l->queue };
	struct added *added;

	HASH_FIND(hh, l->added, &of, sizeof(of), added);
	return added;
}

/* Returns NULL without memory. */
static struct added *added_new(struct local *l, struct follower *f, const struct key_hash *hash,
			       const void *key, size_t len)
{
	struct added *added = malloc(sizeof(*added) + len);

	if (!added)
		return NULL;
	*added = (struct added){
		.of = { .hash = *hash, .is_foreign = f == &l->queue },
		.follower = f,
		.key_len = len,
	};
	memcpy(added->key, key, len);
	HASH_ADD(hh, l->added, of, sizeof(added->of), added);
	if (HASH_HAS(added))
		return added;
	free(added);
	return NULL;
}

static void settle(struct follower *f, struct page *page)
{
	if (page)
		follower_settle(f, page);
}

/* Nothing of it is to be published any more. */
static void added_forget(struct local *l, struct added *added)
{
	settle(added->follower, added->held);
	settle(added->follower, added->page);
	settle(added->follower, added->later);
	HASH_DEL(l->added, added);
	free(added);
}

static bool belongs_to_grant(const struct local *l, const struct key_hash *hash)
{
	return granted_find(l, hash) || ended_find(l, hash);
}

/*
 * A dead key of a grant is a part of its end. Any other dead key was loaded, or is left from an
 * earlier life of the program. It runs again, so that it is not lost.
 */
static bool is_to_publish(const struct local *l, const struct key_hash *hash,
			  const struct kwq_listed *listed)
{
	return item_is_add(listed) ||
	       (listed->state & KWQ_IS_DEAD && !belongs_to_grant(l, hash));
}

/*
 * An item that was read by its key may have a change that was not read yet. Further adds may
 * coalesce under the same number. So that change does not count as published, and comes once more.
 */
static uint64_t published_change(const struct follower *f, const struct kwq_listed *listed)
{
	return listed->change < f->args.after ? listed->change : f->args.after;
}

static void publish(struct local *l, struct added *added, const struct kwq_listed *listed,
		    const char *bytes, uint64_t wall, struct local_event *event)
{
	added->is_published = true;
	added->change = published_change(added->follower, listed);
	added->requeues = listed->requeues;
	added->bytes = item_bytes(listed);
	l->nr_added++;
	l->added_bytes += added->bytes;
	*event = (struct local_event){
		.kind = LOCAL_ADD,
		.work = item_work(listed, bytes),
		.hash = added->of.hash,
		.id = (uintptr_t)added,
		.is_ready = listed->state & (KWQ_IS_READY | KWQ_IS_DEAD),
		.is_waiting = listed->state & KWQ_IS_WAITING,
		.wait_priority = listed->wait_priority,
		.due = item_due(listed, wall),
	};
}

/*
 * The outbox has an item that is not to be published. Nobody needs a count of requeues without a
 * grant, and without an end that is not told: the stream has it, too. It is left behind by a grant
 * that was revoked, or by an earlier life of the program. Returns 0 or an error.
 */
static int read_of_end(struct local *l, const struct key_hash *hash,
		       const struct kwq_listed *listed, const char *bytes)
{
	int ret = 0;

	if (listed->state == KWQ_IS_REMEMBERED && !belongs_to_grant(l, hash))
		ret = item_remove(l->outbox.q, bytes, listed->key_len, KWQ_REMOVE_UNCHANGED,
				  listed->change);
	ended_let(l, hash, published_change(&l->outbox, listed));
	/* After another change it comes again. */
	return ret < 0 && ret != -ESTALE && ret != -ENOENT ? ret : 0;
}

int added_read(struct local *l, struct follower *f, const struct key_hash *hash,
	       const struct kwq_listed *listed, const char *bytes, struct local_event *event)
{
	struct added *added = added_find(l, f, hash);
	struct page *page = follower_page(f);

	/* A key is published once at a time. So an older value never comes after a newer one. */
	if (added && (added->is_published || added->later)) {
		settle(f, added->later);
		added->later = page;
		return 0;
	}
	if (!is_to_publish(l, hash, listed)) {
		follower_settle(f, page);
		if (added)
			added_forget(l, added);
		return f == &l->outbox ? read_of_end(l, hash, listed, bytes) : 0;
	}
	if (!added)
		added = added_new(l, f, hash, bytes, listed->key_len);
	if (!added)
		return -ENOMEM;
	added->page = page;
	publish(l, added, listed, bytes, f->wall, event);
	return 1;
}

/*
 * The item has changed since it was published. If that was read already, it is read once more by
 * its key; else it comes.
 *
 * An add that coalesces is no change. A sync or an end that waits for it waits for the last change,
 * which may be the one that was published. So the page of that stays open until the item is stored
 * once more, and an end that waits for that change waits on.
 */
static void publish_again(struct local *l, struct added *added)
{
	added->held = added->page;
	added->page = NULL;
	if (added->later)
		DL_APPEND(l->again, added);
	if (added->follower == &l->outbox)
		ended_let(l, &added->of.hash, added->change - 1);
}

int local_stored(struct local *l, uint64_t id)
{
	struct added *added = (struct added *)(uintptr_t)id;
	const struct key_hash hash = added->of.hash;
	bool is_of_outbox = added->follower == &l->outbox;
	int ret = item_remove(added->follower->q, added->key, added->key_len, KWQ_REMOVE_UNCHANGED,
			      added->change);

	l->nr_added--;
	l->added_bytes -= added->bytes;
	added->is_published = false;
	settle(added->follower, added->held);
	added->held = NULL;
	if (ret == -ESTALE) {
		publish_again(l, added);
		return 0;
	}
	/* An item that is gone has no later change. */
	if (is_of_outbox)
		ended_let(l, &hash, ret == -ENOENT ? UINT64_MAX : added->change);
	/* The remove took the count that the worker's calls concern. */
	if (ret >= 0 && is_of_outbox && granted_find(l, &hash))
		ret = remember_requeues(l, added->key, added->key_len, added->requeues);
	added_forget(l, added);
	/* Somebody may have removed the item. A queue that is shut down needs no counts. */
	return ret < 0 && ret != -ENOENT && ret != -ESHUTDOWN ? ret : 0;
}

/* Reads an item that has changed while it was published. Returns as added_read(). */
static int read_again(struct local *l, struct added *added, struct local_event *event)
{
	const struct key_hash hash = added->of.hash;
	bool is_of_outbox = added->follower == &l->outbox;
	const struct kwq_listed *listed;
	const char *bytes;
	int ret;

	item_list_begin(&l->one, added->follower->q, ALL_STATES);
	item_list_with(&l->one, follower_list_flags(added->follower));
	item_list_only(&l->one, added->key, added->key_len);
	ret = item_list_next(&l->one, &listed, &bytes);
	if (ret < 0 && ret != -ENOENT)
		return ret;
	if (ret > 0 && is_to_publish(l, &hash, listed)) {
		added->page = added->later;
		added->later = NULL;
		publish(l, added, listed, bytes, read_clock(CLOCK_REALTIME), event);
		return 1;
	}
	added_forget(l, added);
	if (!is_of_outbox)
		return 0;
	if (ret > 0)
		return read_of_end(l, &hash, listed, bytes);
	ended_let(l, &hash, UINT64_MAX);
	return 0;
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
	struct added *again;
	const char *bytes;
	int ret;

	do {
		if (added_are_many(l))
			return 0;
		again = l->again;
		/* Entries that were fetched before are older, and come first. */
		if (again && !follower_has_fetched(again->follower)) {
			DL_DELETE(l->again, again);
			ret = read_again(l, again, event);
			continue;
		}
		ret = follower_next(&l->outbox, &listed, &bytes);
		if (ret <= 0)
			return ret;
		ret = key_hash_of(&hash, (struct bytes){ bytes, listed->key_len });
		if (ret)
			return ret;
		ret = added_read(l, &l->outbox, &hash, listed, bytes, event);
	} while (!ret);
	return ret;
}

void local_limit_adds(struct local *l, unsigned int most)
{
	l->most_added = most < LOCAL_ADDS_MAX ? most : LOCAL_ADDS_MAX;
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The two queues of a shared queue on this machine: see local.h.
 */
#include "local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <kwq.h>

#include "follower.h"
#include "hash.h"

/*
 * The token of workers is epoch, number and hand-out. The kernel counts the hand-outs: the next
 * worker has the next token. A key that was handed out half as often as fits is taken back, and the
 * next grant has a higher number.
 */
enum { NUMBER_BITS = 28, HAND_OUT_BITS = 14, MOST_HAND_OUTS = 1 << (HAND_OUT_BITS - 1) };

/*
 * A key that QUEUE has from a grant.
 *
 * @change: the last change of it that was read; 0 for none
 * @requeues, @abandoned: as it was read last
 * @is_taken: a worker has it
 */
struct granted {
	UT_hash_handle hh;
	struct key_hash hash;
	struct token token;
	uint64_t change;
	uint32_t requeues, abandoned;
	bool is_taken;
	size_t key_len;
	char key[];
};

/*
 * The end of a key that was granted.
 *
 * @prev, @next: among those that are not told
 * @hash: of the key, while it is among them
 * @page: of its change; NULL for none
 * @after: it is told when all changes of the outbox up to this one are kept
 * @since: when it was noted
 * @event: the end, as the item of QUEUE tells it
 * @state: of that item
 * @more: key, group and value of the outbox's item, if that one tells more; else NULL
 * @bytes: of its key, group and value
 */
struct ended {
	UT_hash_handle hh;
	struct ended *prev, *next;
	struct key_hash hash;
	struct page *page;
	uint64_t after, since;
	struct local_event event;
	uint32_t state;
	char *more;
	char bytes[];
};

/* An add that is not yet stored. */
struct added {
	struct follower *follower;
	struct page *page;
	uint64_t change;
	size_t key_len;
	char key[];
};

/*
 * @granted: by hash
 * @ended: not yet told. The first one is told first.
 * @ended_by_hash: the same
 * @nr_added, @most_added: adds that are not yet stored, and how many may be so at once
 * @now: what the caller said last
 * @most_held: how long ends wait for adds
 * @of_queue: the last change of QUEUE itself that an event told of
 * @one: for a list of its own
 */
struct local {
	struct follower queue, outbox;
	struct granted *granted;
	struct ended *ended, *ended_by_hash;
	unsigned int nr_added, most_added;
	uint64_t now, most_held, of_queue;
	struct item_list one;
};

static uint64_t wall_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- Calls for one key ---------------------------------------------------- */

static int remove_key(struct kwq *q, const void *key, size_t len, uint32_t flags, uint64_t change)
{
	struct kwq_remove_entry entry = { .key_len = len, .flags = flags, .change = change };
	int32_t result = -EIO;
	struct kwq_batch batch = {
		.entries = kwq_ptr(&entry),
		.keys = kwq_ptr(key),
		.results = kwq_ptr(&result),
		.keys_len = len,
		.nr = 1,
		.entry_size = sizeof(entry),
	};
	int ret = kwq_remove_batch(q, &batch);

	return ret < 0 ? ret : result;
}

static int restore_key(struct kwq *q, const struct kwq_restore_entry *entry,
		       const struct kwq_add_extra *extra, const void *key)
{
	int32_t result = -EIO;
	struct kwq_batch batch = {
		.entries = kwq_ptr(entry),
		.keys = kwq_ptr(key),
		.results = kwq_ptr(&result),
		.extras = kwq_ptr(extra),
		.keys_len = entry->key_len,
		.nr = 1,
		.entry_size = sizeof(*entry),
		.extra_size = sizeof(*extra),
	};
	int ret = kwq_restore_batch(q, &batch);

	return ret < 0 ? ret : result;
}

/* ---- Adds ----------------------------------------------------------------- */

static struct work work_of(const struct kwq_listed *listed, const char *bytes)
{
	return (struct work){
		.key = { bytes, listed->key_len },
		.group = { bytes + listed->key_len, listed->group_len },
		.value = { bytes + listed->key_len + listed->group_len, listed->value_len },
		.has_value = listed->value_len,
		.has_group = listed->group_len,
		.priority = listed->priority,
		.requeues = listed->requeues,
		.abandoned = listed->abandoned,
	};
}

static size_t bytes_of(const struct kwq_listed *listed)
{
	return (size_t)listed->key_len + listed->group_len + listed->value_len;
}

static uint64_t due_of(const struct kwq_listed *listed)
{
	return listed->state & KWQ_IS_WAITING ? wall_clock() + listed->due_in : 0;
}

/*
 * The last item that was read is one that nobody granted: it is in the outbox, or somebody put it
 * into QUEUE. Returns 1 with an event if it is an add, else 0, or a negative errno value.
 */
static int add(struct local *l, struct follower *f, const struct kwq_listed *listed,
	       const char *bytes, struct local_event *event)
{
	struct added *added;

	if (!(listed->state & (KWQ_IS_READY | KWQ_IS_WAITING))) {
		follower_settle(f, follower_page(f));
		return 0;
	}
	added = malloc(sizeof(*added) + listed->key_len);
	if (!added)
		return -ENOMEM;
	*added = (struct added){
		.follower = f,
		.page = follower_page(f),
		.change = listed->change,
		.key_len = listed->key_len,
	};
	memcpy(added->key, bytes, listed->key_len);
	*event = (struct local_event){
		.kind = LOCAL_ADD,
		.work = work_of(listed, bytes),
		.id = (uintptr_t)added,
		.is_ready = listed->state & KWQ_IS_READY,
		.is_waiting = listed->state & KWQ_IS_WAITING,
		.wait_priority = listed->wait_priority,
		.due = due_of(listed),
	};
	l->nr_added++;
	return 1;
}

int local_stored(struct local *l, uint64_t id)
{
	struct added *added = (struct added *)(uintptr_t)id;
	int ret = remove_key(added->follower->q, added->key, added->key_len, KWQ_REMOVE_UNCHANGED,
			     added->change);

	l->nr_added--;
	follower_settle(added->follower, added->page);
	free(added);
	/* An item that has changed comes again. One that is gone was removed by somebody. */
	return ret < 0 && ret != -ESTALE && ret != -ENOENT ? ret : 0;
}

/* ---- Grants --------------------------------------------------------------- */

static struct granted *find_granted(const struct local *l, const struct key_hash *hash)
{
	struct granted *g;

	HASH_FIND(hh, l->granted, hash, sizeof(*hash), g);
	return g;
}

static void forget_granted(struct local *l, struct granted *g)
{
	HASH_DEL(l->granted, g);
	free(g);
}

/* The worker's calls that concern the count of requeues go to the outbox. */
static int remember_requeues(struct local *l, const struct work *work)
{
	struct kwq_restore_entry entry = {
		.key_len = work->key.len,
		.state = KWQ_IS_REMEMBERED,
		.requeues = work->requeues,
	};
	struct kwq_add_extra extra = {};

	return work->requeues ? restore_key(l->outbox.q, &entry, &extra, work->key.at) : 0;
}

static int restore_work(struct local *l, const struct work *work, uint64_t token)
{
	struct kwq_restore_entry entry = {
		.key_len = work->key.len,
		.flags = KWQ_ADD_TOKEN | (work->value.len ? KWQ_ADD_VALUE : 0) |
			 (work->group.len ? KWQ_ADD_GROUP : 0),
		.state = KWQ_IS_READY,
		.priority = work->priority,
		.requeues = work->requeues,
		.abandoned = work->abandoned,
	};
	struct kwq_add_extra extra = {
		.value = work->value.len ? kwq_ptr(work->value.at) : 0,
		.group = work->group.len ? kwq_ptr(work->group.at) : 0,
		.value_len = work->value.len,
		.group_len = work->group.len,
		.token = token,
	};

	return restore_key(l->queue.q, &entry, &extra, work->key.at);
}

static uint64_t token_of_workers(struct token token)
{
	return (token.epoch << NUMBER_BITS | token.number) << HAND_OUT_BITS;
}

int local_start(struct local *l, const struct key_hash *hash, const struct work *work,
		struct token token)
{
	struct granted *g;
	int ret;

	if (token.number > LOCAL_NUMBER_MAX || token.epoch > LOCAL_EPOCH_MAX)
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
	ret = remember_requeues(l, work);
	if (ret >= 0)
		ret = restore_work(l, work, token_of_workers(token));
	if (ret < 0) {
		forget_granted(l, g);
		return ret;
	}
	return 0;
}

/*
 * Reads the outbox's item of a key that has ended. A count of requeues that is only remembered, and
 * a dead key, are a part of the end, and leave the outbox. An add that waits there stays, and
 * brings the count. Returns KWQ_IS_* bits, 0 if the outbox has nothing, or a negative errno value.
 */
static int take_from_outbox(struct local *l, const void *key, size_t len,
			    const struct kwq_listed **listed, const char **bytes)
{
	int ret;

	item_list_begin(&l->one, l->outbox.q, ALL_STATES);
	item_list_values(&l->one);
	item_list_only(&l->one, key, len);
	ret = item_list_next(&l->one, listed, bytes);
	if (ret <= 0)
		return ret == -ENOENT ? 0 : ret;
	ret = (*listed)->state;
	if (ret & (KWQ_IS_REMEMBERED | KWQ_IS_DEAD)) {
		int err = remove_key(l->outbox.q, key, len, KWQ_REMOVE_UNCHANGED,
				     (*listed)->change);

		/* A worker's add or forget came meanwhile, and ended what was remembered. */
		if (err == -ESTALE || err == -ENOENT)
			return 0;
		ret = err < 0 ? err : ret;
	}
	return ret;
}

/* Ends that wait for adds are in the order of those, and of their times. */
static bool list_ended(struct local *l, struct ended *ended)
{
	HASH_ADD(hh, l->ended_by_hash, hash, sizeof(ended->hash), ended);
	if (!HASH_HAS(ended))
		return false;
	if (ended->after)
		DL_APPEND(l->ended, ended);
	else
		DL_PREPEND(l->ended, ended);
	return true;
}

static void unlist_ended(struct local *l, struct ended *ended)
{
	HASH_DEL(l->ended_by_hash, ended);
	DL_DELETE(l->ended, ended);
}

static void free_ended(struct ended *ended)
{
	free(ended->more);
	free(ended);
}

int local_revoke_all(struct local *l)
{
	const struct kwq_listed *listed;
	const char *bytes;
	struct granted *g, *next_granted;
	struct ended *ended, *next_ended;
	int ret, err = 0;

	HASH_ITER(hh, l->granted, g, next_granted) {
		ret = remove_key(l->queue.q, g->key, g->key_len, KWQ_REMOVE_REVOKE, 0);
		if (ret < 0 && ret != -ENOENT)
			err = ret;
		ret = take_from_outbox(l, g->key, g->key_len, &listed, &bytes);
		if (ret < 0)
			err = ret;
		forget_granted(l, g);
	}
	DL_FOREACH_SAFE(l->ended, ended, next_ended) {
		unlist_ended(l, ended);
		if (ended->page)
			follower_settle(&l->queue, ended->page);
		free_ended(ended);
	}
	return err;
}

/* ---- Ends ----------------------------------------------------------------- */

/*
 * Notes an end, with a copy of the key, group and value. It waits for the adds up to the change
 * @after. Returns NULL without memory.
 */
static struct ended *note_end(struct local *l, const struct granted *g, enum outcome how,
			      const struct kwq_listed *listed, const char *bytes, uint64_t after)
{
	struct ended *ended = malloc(sizeof(*ended) + bytes_of(listed));

	if (!ended)
		return NULL;
	*ended = (struct ended){
		.hash = g->hash,
		.after = after,
		.since = l->now,
		.state = listed->state,
		.event = {
			.kind = LOCAL_ENDED,
			.work = work_of(listed, ended->bytes),
			.id = (uintptr_t)ended,
			.token = g->token,
			.outcome = how,
			.due = due_of(listed),
		},
	};
	memcpy(ended->bytes, bytes, bytes_of(listed));
	if (list_ended(l, ended))
		return ended;
	free(ended);
	return NULL;
}

/* The outbox tells more of the end: its counts, value and group count. */
static int take_more(struct ended *ended, const struct kwq_listed *listed, const char *bytes)
{
	ended->more = malloc(bytes_of(listed));
	if (!ended->more)
		return -ENOMEM;
	memcpy(ended->more, bytes, bytes_of(listed));
	ended->event.work = work_of(listed, ended->more);
	return 0;
}

static bool is_held(const struct local *l, const struct ended *ended)
{
	return ended->after > l->outbox.args.kept;
}

/* The outbox has an add of the key, which is not stored. */
static void retry_for_add(struct ended *ended, const struct kwq_listed *listed)
{
	ended->event.outcome = OUTCOME_RETRY;
	ended->event.due = listed->state & KWQ_IS_READY ? wall_clock() : due_of(listed);
	ended->event.work.requeues = listed->requeues;
}

/*
 * Completes an end. The follower of the outbox has read all that came before it, unless the end
 * waits no longer. Returns 0 or a negative errno value.
 */
static int complete_end(struct local *l, struct ended *ended)
{
	const struct bytes *key = &ended->event.work.key;
	const struct kwq_listed *listed;
	const char *bytes;
	int state = take_from_outbox(l, key->at, key->len, &listed, &bytes);

	if (state < 0)
		return state;
	if (ended->event.outcome != OUTCOME_DONE)
		return 0;
	if (state & (KWQ_IS_READY | KWQ_IS_WAITING) && is_held(l, ended)) {
		retry_for_add(ended, listed);
		return 0;
	}
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
	ret = remove_key(l->queue.q, bytes, listed->key_len, KWQ_REMOVE_UNCHANGED, listed->change);
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
static int end_granted(struct local *l, struct granted *g, const struct kwq_listed *listed,
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
	ended = note_end(l, g, outcome_of(listed->state), listed, bytes, st.last_change);
	if (!ended)
		return -ENOMEM;
	ended->page = page;
	forget_granted(l, g);
	return 0;
}

int local_take_back(struct local *l, const struct key_hash *hash, struct token token)
{
	struct granted *g = find_granted(l, hash);
	struct kwq_listed listed;
	int ret;

	if (!g || g->token.epoch != token.epoch || g->token.number != token.number)
		return -ENOENT;
	if (g->is_taken || !g->change)
		return -EBUSY;
	ret = remove_key(l->queue.q, g->key, g->key_len, KWQ_REMOVE_UNCHANGED, g->change);
	if (ret < 0)
		return ret == -ESTALE || ret == -ENOENT ? -EBUSY : ret;
	listed = (struct kwq_listed){
		.key_len = g->key_len,
		.requeues = g->requeues,
		.abandoned = g->abandoned,
	};
	if (!note_end(l, g, OUTCOME_RETURNED, &listed, g->key, 0))
		return -ENOMEM;
	forget_granted(l, g);
	return 0;
}

void local_confirmed(struct local *l, uint64_t id)
{
	struct ended *ended = (struct ended *)(uintptr_t)id;

	if (ended->page)
		follower_settle(&l->queue, ended->page);
	free_ended(ended);
}

/* ---- Events --------------------------------------------------------------- */

/* Returns 1 with an event, 0 if the change needs none, or a negative errno value. */
static int change_granted(struct local *l, struct granted *g, const struct kwq_listed *listed,
			  const char *bytes, struct local_event *event)
{
	bool was_taken = g->is_taken;
	int ret;

	if (!(listed->state & (KWQ_IS_PROCESSING | KWQ_IS_READY)))
		return end_granted(l, g, listed, bytes);
	g->is_taken = listed->state & KWQ_IS_PROCESSING;
	g->change = listed->change;
	g->requeues = listed->requeues;
	g->abandoned = listed->abandoned;
	follower_settle(&l->queue, follower_page(&l->queue));
	if (!g->is_taken && listed->token - token_of_workers(g->token) >= MOST_HAND_OUTS - 1) {
		/* A worker may be faster. Then its change comes. */
		ret = local_take_back(l, &g->hash, g->token);
		return ret == -EBUSY ? 0 : ret;
	}
	if (was_taken == g->is_taken)
		return 0;
	*event = (struct local_event){
		.kind = g->is_taken ? LOCAL_TAKEN : LOCAL_UNTAKEN,
		.work = work_of(listed, bytes),
		.token = g->token,
	};
	return 1;
}

static int next_of_queue(struct local *l, struct local_event *event)
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
		g = find_granted(l, &hash);
		if (g)
			ret = change_granted(l, g, listed, bytes, event);
		else
			ret = add(l, &l->queue, listed, bytes, event);
	} while (!ret);
	return ret;
}

/* Whether a count that the outbox remembers belongs to a grant, or to an end that is not told. */
static bool is_counted(const struct local *l, const struct key_hash *hash)
{
	const struct ended *ended;

	HASH_FIND(hh, l->ended_by_hash, hash, sizeof(*hash), ended);
	return ended || find_granted(l, hash);
}

/*
 * Nobody needs a count of requeues without a grant: the stream has it, too. It is left behind by
 * a grant that was revoked, or by an earlier life of the program. Returns 0 or an error.
 */
static int change_remembered(struct local *l, const struct kwq_listed *listed, const char *bytes)
{
	struct bytes key = { bytes, listed->key_len };
	struct key_hash hash;
	int ret = key_hash_of(&hash, key);

	if (!ret && !is_counted(l, &hash))
		ret = remove_key(l->outbox.q, key.at, key.len, KWQ_REMOVE_UNCHANGED,
				 listed->change);
	follower_settle(&l->outbox, follower_page(&l->outbox));
	/* After another change it comes again. */
	return ret < 0 && ret != -ESTALE && ret != -ENOENT ? ret : 0;
}

static int next_of_outbox(struct local *l, struct local_event *event)
{
	const struct kwq_listed *listed;
	const char *bytes;
	int ret;

	do {
		if (l->nr_added >= l->most_added)
			return 0;
		ret = follower_next(&l->outbox, &listed, &bytes);
		if (ret <= 0)
			return ret;
		if (listed->state == KWQ_IS_REMEMBERED)
			ret = change_remembered(l, listed, bytes);
		else
			ret = add(l, &l->outbox, listed, bytes, event);
	} while (!ret);
	return ret;
}

static bool may_tell(const struct local *l, const struct ended *ended)
{
	return !is_held(l, ended) || l->now - ended->since >= l->most_held;
}

static int next_ended(struct local *l, struct local_event *event)
{
	struct ended *ended = l->ended;
	int err;

	if (!ended || !may_tell(l, ended))
		return 0;
	err = complete_end(l, ended);
	if (err)
		return err;
	unlist_ended(l, ended);
	*event = ended->event;
	return 1;
}

static bool next_of_queue_itself(struct local *l, struct local_event *event)
{
	if (l->of_queue == l->queue.args.of_queue)
		return false;
	l->of_queue = l->queue.args.of_queue;
	*event = (struct local_event){ .kind = LOCAL_QUEUE };
	return true;
}

void local_hold_ends(struct local *l, uint64_t most)
{
	l->most_held = most;
}

void local_limit_adds(struct local *l, unsigned int most)
{
	l->most_added = most < LOCAL_ADDS_MAX ? most : LOCAL_ADDS_MAX;
}

int local_next(struct local *l, struct local_event *event, uint64_t now)
{
	int ret;

	l->now = now;
	ret = next_of_queue(l, event);
	if (!ret)
		ret = next_of_queue_itself(l, event);
	if (!ret)
		ret = next_of_outbox(l, event);
	if (!ret)
		ret = next_ended(l, event);
	return ret;
}

uint64_t local_next_due(const struct local *l)
{
	if (!l->ended || l->most_held > UINT64_MAX - l->ended->since)
		return UINT64_MAX;
	return l->ended->since + l->most_held;
}

/* ---- The queues ----------------------------------------------------------- */

/* Takes out what QUEUE was granted in an earlier life. An item without a token is no grant. */
static int revoke_former(struct local *l)
{
	const struct kwq_listed *listed;
	const char *bytes;
	int ret;

	item_list_begin(&l->one, l->queue.q, ALL_STATES);
	while ((ret = item_list_next(&l->one, &listed, &bytes)) > 0) {
		if (!listed->token)
			continue;
		ret = remove_key(l->queue.q, bytes, listed->key_len, KWQ_REMOVE_REVOKE, 0);
		if (ret < 0 && ret != -ENOENT)
			return ret;
	}
	return ret;
}

int local_open(struct local **local, struct kwq *queue, struct kwq *outbox)
{
	struct local *l = calloc(1, sizeof(*l));
	int err;

	*local = NULL;
	if (!l)
		return -ENOMEM;
	err = follower_open(&l->outbox, outbox);
	if (!err)
		err = follower_open(&l->queue, queue);
	l->queue.args.flags |= KWQ_CHANGES_GETTERS;
	if (!err)
		err = revoke_former(l);
	if (err) {
		follower_close(&l->queue);
		follower_close(&l->outbox);
		free(l);
		return err;
	}
	l->most_added = LOCAL_ADDS_MAX;
	l->most_held = UINT64_MAX;
	*local = l;
	return 0;
}

void local_close(struct local *l)
{
	struct granted *g, *next_granted;
	struct ended *ended, *next_ended;

	if (!l)
		return;
	HASH_ITER(hh, l->granted, g, next_granted)
		forget_granted(l, g);
	DL_FOREACH_SAFE(l->ended, ended, next_ended)
		free_ended(ended);
	follower_close(&l->queue);
	follower_close(&l->outbox);
	kwq_close(l->queue.q);
	kwq_close(l->outbox.q);
	free(l);
}

int local_queue_fd(const struct local *l)
{
	return kwq_fd(l->queue.q);
}

int local_outbox_fd(const struct local *l)
{
	/* It would be ready all the time, while nothing is read. */
	if (l->nr_added >= l->most_added)
		return -1;
	return kwq_fd(l->outbox.q);
}

int local_set_term(struct local *l, uint64_t boot)
{
	return kwq_set_term(l->queue.q, boot);
}

int local_state(struct local *l, struct local_state *state)
{
	struct kwq_stat of_queue = { .size = sizeof(of_queue) };
	struct kwq_stat of_outbox = { .size = sizeof(of_outbox) };
	int err = kwq_stat(l->queue.q, &of_queue);

	if (!err)
		err = kwq_stat(l->outbox.q, &of_outbox);
	if (err)
		return err;
	*state = (struct local_state){
		.is_paused = of_queue.state & KWQ_STATE_PAUSED,
		.is_shut_down = (of_queue.state | of_outbox.state) & KWQ_STATE_SHUT_DOWN,
		.is_unlinked = (of_queue.state | of_outbox.state) & KWQ_STATE_UNLINKED,
		.group_limit = of_queue.group_limit,
		.getters = of_queue.getters,
		.ready = of_queue.ready,
		.processing = of_queue.processing,
		.outbox = of_outbox.ready + of_outbox.waiting,
	};
	return 0;
}

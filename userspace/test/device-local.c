// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * N1 to N6: the two queues of a shared queue on one machine, with real queues. Needs /dev/kwq and
 * the right to manage queues. A manual clock, so that no test sleeps.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>

#include <kwq.h>

#include "share/local/follower.h"
#include "share/local/local.h"
#include "base/read_clock.h"
#include "tap.h"

#define MS 1000000ULL

/*
 * @q, @outbox: handles of the manager, which belong to @local
 * @user: the handle of a program
 */
static struct kwq *q, *outbox, *user;
static struct local *l;
static struct local_event event;
static uint64_t got_token;	/* of the last get() */
static uint64_t now;		/* the time of the next local_next() */
static unsigned int outbox_items;	/* the next outbox has room for so many; 0 for any */
static uint64_t most_bytes;	/* the next queues have room for so many; 0 for any */
static bool has_no_values;	/* the next queues have none */

static const struct kwq_limiter limiter = {
	.kind = KWQ_LIMITER_EXPONENTIAL,
	.u.exponential = { .base = 100 * MS, .max = 1000 * MS },
};

static struct kwq *create(const struct kwq *to)
{
	const struct kwq_config config = {
		.size = sizeof(config), .nr = 1, .dead_after = 4, .dead_after_lost = 3,
		.limiters = kwq_ptr(&limiter), .limiter_size = sizeof(limiter),
	};
	const struct kwq_create_options options = {
		.size = sizeof(options), .open_flags = O_CLOEXEC, .clockid = KWQ_CLOCK_ID_MANUAL,
		.config = &config, .lease = 1000000 * MS, .values = !has_no_values, .groups = true,
		.changes = true, .outbox = to, .max_items = to ? 0 : outbox_items,
		.max_bytes = most_bytes,
	};
	struct kwq *made = NULL;

	if (!ok(!kwq_create(&made, NULL, &options), "a queue"))
		exit(1);
	return made;
}

static void begin(void)
{
	outbox = create(NULL);
	q = create(outbox);
	ok(!kwq_reopen(&user, q, KWQ_RIGHTS_ALL, O_CLOEXEC | O_NONBLOCK), "a program's handle");
	is_number(local_open(&l, q, outbox), 0, "local_open()");
	/* It lists what is there before it tells of changes, which come in order. */
	while (local_next(l, &event, now) == 1)
		;
}

static void end(void)
{
	local_close(l);
	kwq_close(user);
}

/* The next event of a key is of this kind, and of this key. */
static bool next_is(enum local_event_kind kind, const char *key)
{
	int ret;

	do {
		ret = local_next(l, &event, now);
	} while (ret == 1 && event.kind == LOCAL_QUEUE);

	if (ret == 1 && event.kind == kind && event.work.key.len == strlen(key) &&
	    !memcmp(event.work.key.at, key, strlen(key)))
		return true;
	printf("#  %d: event %d, key \"%.*s\"\n", ret, event.kind, (int)event.work.key.len,
	       (const char *)event.work.key.at);
	return false;
}

/* The queue itself may have changed, or a worker may wait. No other event is there. */
static bool is_quiet(void)
{
	int ret;

	while ((ret = local_next(l, &event, now)) == 1 && event.kind == LOCAL_QUEUE)
		;
	if (ret == 1)
		printf("#  event %d of %.*s\n", event.kind, (int)event.work.key.len,
		       (const char *)event.work.key.at);
	return !ret;
}

static bool is_bytes(struct bytes bytes, const char *text)
{
	return bytes.len == strlen(text) && !memcmp(bytes.at, text, bytes.len);
}

/* Good enough for the keys of this test. The real one is a matter of the stream. */
int key_hash_of(struct key_hash *hash, struct bytes key)
{
	memset(hash, 0, sizeof(*hash));
	memcpy(hash, key.at, key.len < HASH_LEN ? key.len : HASH_LEN);
	return 0;
}

static struct key_hash hash_of(const char *key)
{
	struct key_hash hash;

	key_hash_of(&hash, (struct bytes){ key, strlen(key) });
	return hash;
}

static int start_lost(const char *key, uint32_t requeues, uint64_t number, uint32_t abandoned)
{
	const struct work work = {
		.key = { key, strlen(key) }, .value = { "v", 1 }, .group = { "g", 1 },
		.has_value = true, .has_group = true, .priority = 3, .requeues = requeues,
		.abandoned = abandoned,
	};
	const struct key_hash hash = hash_of(key);

	return local_start(l, &hash, &work, (struct token){ epoch_of(2, 9), number });
}

static int start(const char *key, uint32_t requeues, uint64_t number)
{
	return start_lost(key, requeues, number, 0);
}

/* A worker gets the key. Returns the ticket, or 0. */
static uint64_t get(const char *key)
{
	struct kwq_item item;
	char data[64];
	int err = kwq_try_get_value(user, &item, data, sizeof(data));

	if (err || item.key_len != strlen(key) || memcmp(data, key, item.key_len))
		return 0;
	got_token = item.token;
	return got_token >> 42 == 2 ? item.ticket : 0;
}

/* N1, N2, N4: adds come with all that they carry, stay until they are stored, and coalesce. */
static void test_adds(void)
{
	struct kwq_add_options options = {
		.size = sizeof(options), .priority = 7, .value = "value", .value_len = 5,
		.group = "team", .group_len = 4,
		.flags = KWQ_ADD_PRIORITY | KWQ_ADD_VALUE | KWQ_ADD_GROUP,
	};
	uint64_t id, wall;

	begin();
	ok(is_quiet(), "nothing to publish");
	is_number(kwq_add_with(user, "a", 1, &options), KWQ_ADDED, "a program adds");
	ok(next_is(LOCAL_ADD, "a") && event.is_ready && !event.is_waiting, "N1: an add");
	ok(event.work.priority == 7 && is_bytes(event.work.value, "value") &&
	   is_bytes(event.work.group, "team") && event.work.has_value && event.work.has_group,
	   "N4: with priority, value and group");
	id = event.id;
	ok(is_quiet(), "and once");
	is_number(kwq_sync_within(user, 0), -ETIMEDOUT, "N1: it is not stored yet");
	is_number(kwq_len(outbox), 1, "N1: it stays in the outbox");
	is_number(local_stored(l, id), 0, "it is stored");
	is_number(kwq_len(outbox), 0, "the outbox has it no more");
	ok(is_quiet(), "and nothing else happens");
	is_number(kwq_sync_within(user, 0), 0, "N1: a sync knows");

	kwq_add(user, "b", 1);
	ok(next_is(LOCAL_ADD, "b"), "an add");
	id = event.id;
	is_number(kwq_add(user, "b", 1), KWQ_COALESCED, "N2: and another one of the key");
	is_number(local_stored(l, id), 0, "the first is stored");
	ok(next_is(LOCAL_ADD, "b"), "N1: the second comes");
	is_number(kwq_sync_within(user, 0), -ETIMEDOUT, "N1: and is not stored yet");
	is_number(local_stored(l, event.id), 0, "it is stored");
	ok(is_quiet(), "that is read");
	is_number(kwq_sync_within(user, 0), 0, "N1: a sync knows");
	ok(is_quiet() && !kwq_len(outbox), "and that is all");

	is_number(kwq_add_after(user, "c", 1, 500 * MS), KWQ_WAITING, "a delayed add");
	ok(next_is(LOCAL_ADD, "c") && !event.is_ready && event.is_waiting, "N4: comes at once");
	wall = read_clock(CLOCK_REALTIME);
	ok(event.due <= wall + 500 * MS && event.due > wall - 10000 * MS,
	   "N4: with its time by the wall clock");
	local_stored(l, event.id);
	is_number(kwq_add_rate_limited(user, "d", 1), KWQ_WAITING, "a rate-limited add");
	ok(next_is(LOCAL_ADD, "d") && event.work.requeues == 1, "N4: with its count");
	local_stored(l, event.id);
	ok(is_quiet(), "nothing else");
	end();
}

/* Whether a sync would return that has waited since this change of the outbox. */
static bool sync_returns(uint64_t change)
{
	struct kwq_stat st = { .size = sizeof(st) };

	return !kwq_stat(outbox, &st) && st.kept >= change;
}

static uint64_t last_change(void)
{
	struct kwq_stat st = { .size = sizeof(st) };

	return kwq_stat(outbox, &st) ? 0 : st.last_change;
}

static int add_value(const char *key, const char *value)
{
	const struct kwq_add_options options = {
		.size = sizeof(options), .flags = KWQ_ADD_VALUE, .value = value,
		.value_len = strlen(value),
	};

	return kwq_add_with(user, key, strlen(key), &options);
}

/* Q18, N1: adds of a key are published one after the other, and a sync waits for the last. */
static void test_one_after_the_other(void)
{
	uint64_t id, both;

	begin();
	add_value("k", "1");
	ok(next_is(LOCAL_ADD, "k") && is_bytes(event.work.value, "1"), "an add of a key");
	id = event.id;
	add_value("k", "2");
	ok(is_quiet(), "Q18: the next one waits");
	add_value("k", "3");
	ok(is_quiet(), "and one more");
	local_stored(l, id);
	ok(next_is(LOCAL_ADD, "k") && is_bytes(event.work.value, "3"), "then the last comes");
	id = event.id;
	ok(is_quiet(), "and once");
	is_number(kwq_sync_within(user, 0), -ETIMEDOUT, "N1: it is not stored yet");
	add_value("k", "4");
	local_stored(l, id);
	ok(next_is(LOCAL_ADD, "k") && is_bytes(event.work.value, "4"), "one that was not read");
	id = event.id;
	add_value("k", "5");
	ok(is_quiet(), "and one more");
	kwq_remove(outbox, "k", 1);
	local_stored(l, id);
	ok(is_quiet(), "one that is removed meanwhile is not published");

	add_value("k", "6");
	ok(next_is(LOCAL_ADD, "k"), "the next add");
	id = event.id;
	add_value("k", "7");
	ok(is_quiet(), "and one that waits");
	add_value("k", "8");
	local_stored(l, id);
	kwq_remove(outbox, "k", 1);
	ok(is_quiet(), "and is removed before it is read again");
	is_number(kwq_sync_within(user, 0), 0, "N1: nothing more is to be stored");

	kwq_add(user, "m", 1);
	ok(next_is(LOCAL_ADD, "m"), "an add of another key");
	id = event.id;
	is_number(kwq_add(user, "m", 1), KWQ_COALESCED, "and one that coalesces");
	both = last_change();
	local_stored(l, id);
	ok(next_is(LOCAL_ADD, "m"), "the second comes");
	id = event.id;
	ok(is_quiet() && !sync_returns(both), "N1: a sync that waits for both goes on");
	local_stored(l, id);
	ok(is_quiet() && sync_returns(both), "N1: until both are stored");

	add_value("l", "1");
	ok(next_is(LOCAL_ADD, "l"), "an add of another key");
	id = event.id;
	add_value("l", "2");
	ok(is_quiet(), "and one that waits");
	add_value("l", "3");
	local_stored(l, id);
	ok(next_is(LOCAL_ADD, "l") && is_bytes(event.work.value, "3"), "one more is unread");
	id = event.id;
	is_number(kwq_add(user, "l", 1), KWQ_COALESCED, "and another one coalesces with it");
	ok(is_quiet(), "both are read");
	local_stored(l, id);
	ok(next_is(LOCAL_ADD, "l"), "N1: and published again");
	local_stored(l, event.id);
	ok(is_quiet(), "nothing else");

	add_value("k", "9");
	ok(next_is(LOCAL_ADD, "k"), "the next add");
	id = event.id;
	add_value("k", "10");
	local_stored(l, id);
	kwq_remove(outbox, "k", 1);
	ok(is_quiet(), "one that is removed before it is read");
	is_number(kwq_sync_within(user, 0), 0, "N1: nothing more is to be stored");
	end();
}

/* D1, N4: an add that was fetched long ago is not late. */
static void test_due(void)
{
	uint64_t until;

	begin();
	local_limit_adds(l, 1);
	kwq_add_after(user, "a", 1, 500 * MS);
	kwq_add_after(user, "b", 1, 500 * MS);
	ok(next_is(LOCAL_ADD, "a"), "one of two adds");
	until = read_clock(CLOCK_REALTIME) + 500 * MS;
	while (read_clock(CLOCK_REALTIME) < until - 499 * MS)
		;
	local_stored(l, event.id);
	ok(next_is(LOCAL_ADD, "b") && event.due <= until, "D1: the other is due when it was added");
	local_stored(l, event.id);
	end();
}

/* N3: a new manager removes earlier grants, and publishes what somebody else put into the queue. */
static void test_start(void)
{
	const struct kwq_restore_entry entry = { .key_len = 1, .state = KWQ_IS_READY };
	const struct kwq_add_extra extra = {};
	int32_t result = 0;
	const struct kwq_batch batch = {
		.entries = kwq_ptr(&entry), .keys = kwq_ptr("f"), .results = kwq_ptr(&result),
		.extras = kwq_ptr(&extra), .keys_len = 1, .nr = 1, .entry_size = sizeof(entry),
		.extra_size = sizeof(extra),
	};
	uint64_t ticket;

	begin();
	is_number(start("held", 0, 1), 0, "a grant");
	ticket = get("held");
	ok(ticket, "a worker has it");
	is_number(start("left", 3, 2), 0, "another grant");
	kwq_add(user, "early", 5);
	is_number(kwq_restore_batch(user, &batch), 1, "somebody restores a key");
	is_number(result, KWQ_RESTORED, "and it is there");
	/* The manager dies. Another one begins. */
	ok(!kwq_reopen(&q, user, KWQ_RIGHTS_ALL, O_CLOEXEC), "a new manager's handle");
	ok(!kwq_reopen(&outbox, outbox, KWQ_RIGHTS_ALL, O_CLOEXEC), "and of the outbox");
	local_close(l);
	is_number(local_open(&l, q, outbox), 0, "local_open()");
	is_number(kwq_done(user, ticket), -ESTALE, "N3: the former worker has lost its key");
	is_number(kwq_len(q), 1, "N3: what was granted before is gone");
	ok(next_is(LOCAL_ADD, "f"), "what somebody restored is an add");
	local_stored(l, event.id);
	ok(local_next(l, &event, now) == 1 && event.kind == LOCAL_QUEUE, "the queue was created");
	ok(next_is(LOCAL_ADD, "early"), "N1: an early add comes");
	local_stored(l, event.id);
	ok(is_quiet(), "nothing else");
	is_number(kwq_len(q) + kwq_len(outbox), 0, "both queues are empty");
	is_number(kwq_num_requeues(user, "left", 4), 0, "N4: and remember nothing");
	end();
}

/* N1: an item that changes while a new manager lists the outbox still keeps its sync waiting. */
static void test_change_amid_the_list(void)
{
	uint64_t first, id;

	begin();
	kwq_add(user, "a", 1);
	first = last_change();
	ok(!kwq_reopen(&q, user, KWQ_RIGHTS_ALL, O_CLOEXEC), "a new manager's handle");
	ok(!kwq_reopen(&outbox, outbox, KWQ_RIGHTS_ALL, O_CLOEXEC), "and of the outbox");
	local_close(l);
	is_number(local_open(&l, q, outbox), 0, "local_open()");
	is_number(kwq_add_after(user, "a", 1, 500 * MS), KWQ_WAITING, "the item changes");
	ok(next_is(LOCAL_ADD, "a"), "it is listed");
	id = event.id;
	ok(is_quiet() && !sync_returns(first), "N1: a sync that began before goes on");
	local_stored(l, id);
	while (local_next(l, &event, now) == 1)
		if (event.kind == LOCAL_ADD)
			local_stored(l, event.id);
	ok(sync_returns(first), "N1: until it is stored");
	end();
}

/* N2, N4: how keys end. */
static void test_ends(void)
{
	uint64_t ticket, id;

	begin();
	is_number(start("a", 0, 1), 0, "a grant");
	ok(is_quiet(), "nobody has it");
	ticket = get("a");
	ok(ticket, "a worker gets it, with its token");
	ok(next_is(LOCAL_TAKEN, "a") && event.token.epoch == epoch_of(2, 9) &&
	   event.token.number == 1, "it is taken");
	is_number(kwq_add(user, "a", 1), KWQ_ADDED, "N2: an add meanwhile");
	is_number(kwq_done(user, ticket), 0, "done");
	ok(next_is(LOCAL_ADD, "a"), "N2: the add meanwhile is published");
	id = event.id;
	ok(is_quiet(), "the end waits for it");
	local_stored(l, id);
	ok(next_is(LOCAL_ENDED, "a") && event.outcome == OUTCOME_DONE && event.token.number == 1,
	   "then it has ended");
	is_number(kwq_sync_within(user, 0), -ETIMEDOUT, "N1: the end is not stored yet");
	id = event.id;
	ok(is_quiet(), "nothing else");
	local_confirmed(l, id);
	ok(is_quiet(), "and nothing then");
	is_number(kwq_sync_within(user, 0), 0, "N1: all is stored");

	start("b", 2, 2);
	ticket = get("b");
	is_number(kwq_num_requeues(user, "b", 1), 2, "N4: a worker sees the requeues");
	kwq_done(user, ticket);
	ok(next_is(LOCAL_ENDED, "b") && event.outcome == OUTCOME_REMEMBERED &&
	   event.work.requeues == 2, "N4: a done without a forget remembers them");
	local_confirmed(l, event.id);
	is_number(kwq_num_requeues(user, "b", 1), 0, "and the outbox has them no more");

	start("d", 2, 4);
	ticket = get("d");
	is_number(kwq_forget(user, "d", 1), 2, "a worker forgets");
	kwq_done(user, ticket);
	ok(next_is(LOCAL_ENDED, "d") && event.outcome == OUTCOME_DONE, "N4: and nothing remembers");
	local_confirmed(l, event.id);

	start("e", 2, 5);
	ticket = get("e");
	is_number(kwq_done_with(user, ticket, KWQ_DONE_FORGET), 0, "a done that forgets");
	ok(next_is(LOCAL_ENDED, "e") && event.outcome == OUTCOME_DONE, "N4: nothing remembers");
	local_confirmed(l, event.id);
	is_number(kwq_num_requeues(user, "e", 1), 0, "not the outbox either");

	start("f", 2, 6);
	ticket = get("f");
	is_number(kwq_add_rate_limited(user, "f", 1), KWQ_WAITING, "client-go's way to retry");
	kwq_done(user, ticket);
	ok(next_is(LOCAL_ADD, "f") && event.is_waiting && event.work.requeues == 3,
	   "N4: the add waits, and counts on");
	id = event.id;
	ok(is_quiet(), "N4: the end is not told before the add is stored");
	local_stored(l, id);
	ok(next_is(LOCAL_ENDED, "f") && event.outcome == OUTCOME_DONE, "then it is");
	local_confirmed(l, event.id);

	start("h", 4, 8);
	ticket = get("h");
	is_number(kwq_add_rate_limited(user, "h", 1), KWQ_DEAD, "L11: a retry too many");
	kwq_done(user, ticket);
	ok(next_is(LOCAL_ENDED, "h") && event.outcome == OUTCOME_DEAD && event.work.requeues == 4,
	   "L11: the key is dead");
	local_confirmed(l, event.id);
	is_number(kwq_len(outbox), 0, "and the outbox is empty");

	start("i", 2, 9);
	ticket = get("i");
	ok(next_is(LOCAL_TAKEN, "i"), "a worker has a key");
	kwq_add(user, "i", 1);
	ok(next_is(LOCAL_ADD, "i") && event.work.requeues == 2, "an add during the work");
	local_stored(l, event.id);
	is_number(kwq_num_requeues(user, "i", 1), 2, "L1: leaves the count");
	kwq_done(user, ticket);
	ok(next_is(LOCAL_ENDED, "i") && event.outcome == OUTCOME_REMEMBERED &&
	   event.work.requeues == 2, "N4: and the end has it");
	local_confirmed(l, event.id);

	start("g", 0, 7);
	ticket = get("g");
	is_number(kwq_bury(user, ticket), KWQ_BURIED, "a worker buries");
	ok(next_is(LOCAL_ENDED, "g") && event.outcome == OUTCOME_DEAD, "L11: it is dead");
	local_confirmed(l, event.id);
	ok(is_quiet(), "nothing else");
	end();
}

static const struct key_hash *hashed(const char *key)
{
	static struct key_hash hash;

	hash = hash_of(key);
	return &hash;
}

static int start_noted(const char *key, const char *note, uint64_t number)
{
	const struct work work = {
		.key = { key, strlen(key) }, .note = { note, strlen(note) }, .requeues = 4,
	};

	return local_start(l, hashed(key), &work, (struct token){ epoch_of(2, 9), number });
}

/* The add of a worker that tries its key again. */
static int add_note(const char *key, const char *note, uint32_t flags)
{
	const struct kwq_add_extra extra = { .note = kwq_ptr(note), .note_len = strlen(note) };
	const struct kwq_add_entry entry = {
		.key_len = strlen(key), .flags = KWQ_ADD_NOTE | flags,
		.time = flags & KWQ_ADD_AFTER ? 500 * MS : 0,
	};
	int32_t result = -EIO;
	const struct kwq_batch batch = {
		.entries = kwq_ptr(&entry), .keys = kwq_ptr(key), .results = kwq_ptr(&result),
		.extras = kwq_ptr(&extra), .keys_len = strlen(key), .nr = 1,
		.entry_size = sizeof(entry), .extra_size = sizeof(extra),
	};
	int err = kwq_add_batch(user, &batch);

	return err < 0 ? err : result;
}

/* Whether a list of QUEUE shows this as the note of the key. */
static bool is_noted(const char *key, const char *note)
{
	static struct item_list list;
	const struct kwq_listed *listed;
	const char *bytes;

	item_list_begin(&list, q, ALL_STATES);
	item_list_with(&list, KWQ_LIST_NOTES);
	item_list_only(&list, key, strlen(key));
	return item_list_next(&list, &listed, &bytes) > 0 && listed->note_len == strlen(note) &&
	       !memcmp(bytes + listed->key_len + listed->group_len, note, listed->note_len);
}

/* Q18: what workers say of their failures. */
static void test_notes(void)
{
	uint64_t ticket, id;

	begin();
	is_number(start_noted("a", "old", 1), 0, "a key with a note is granted");
	ok(is_noted("a", "old"), "Q18: its worker may read that");
	ticket = get("a");
	is_number(add_note("a", "again", KWQ_ADD_AFTER), KWQ_WAITING, "the worker tries again");
	ok(next_is(LOCAL_TAKEN, "a") && is_bytes(event.work.note, "old"), "the key is at work");
	ok(next_is(LOCAL_ADD, "a") && event.is_waiting && is_bytes(event.work.note, "again"),
	   "Q18: its add says why");
	id = event.id;
	add_note("a", "once more", KWQ_ADD_AFTER);
	is_number(local_stored(l, id), 0, "and another one, before that is stored");
	ok(next_is(LOCAL_ADD, "a") && is_bytes(event.work.note, "once more"),
	   "Q18: the last note comes");
	local_stored(l, event.id);
	kwq_done(user, ticket);
	ok(next_is(LOCAL_ENDED, "a"), "then the key has ended");
	local_confirmed(l, event.id);

	start_noted("b", "old", 2);
	ticket = get("b");
	is_number(kwq_note(user, ticket, "hopeless", 8), 0, "a worker leaves a note");
	kwq_bury(user, ticket);
	ok(next_is(LOCAL_ENDED, "b") && event.outcome == OUTCOME_DEAD &&
	   is_bytes(event.work.note, "hopeless"), "Q18: the dead key has it");
	local_confirmed(l, event.id);

	start_noted("c", "old", 3);
	kwq_bury(user, get("c"));
	ok(next_is(LOCAL_ENDED, "c") && event.outcome == OUTCOME_DEAD &&
	   is_bytes(event.work.note, "old"), "Q18: or the note that it had");
	local_confirmed(l, event.id);

	start_noted("d", "old", 4);
	ticket = get("d");
	is_number(add_note("d", "too often", KWQ_ADD_RATE_LIMITED), KWQ_DEAD, "a retry too many");
	kwq_done(user, ticket);
	ok(next_is(LOCAL_ENDED, "d") && event.outcome == OUTCOME_DEAD &&
	   is_bytes(event.work.note, "too often"), "Q18: the note of that add counts");
	local_confirmed(l, event.id);
	ok(is_quiet() && !kwq_len(outbox), "nothing else");
	end();
}

/* Queues without values, and ones that are full, take the work without its note. */
static void test_no_notes(void)
{
	static const char longest[KWQ_NOTE_MAX];
	const struct work work = { .key = { "a", 1 }, .note = { longest, sizeof(longest) } };

	has_no_values = true;
	begin();
	is_number(start_noted("a", "old", 1), 0, "Q18: a queue without values takes the key");
	ok(is_noted("a", ""), "and no note");
	kwq_bury(user, get("a"));
	ok(next_is(LOCAL_ENDED, "a") && event.outcome == OUTCOME_DEAD && !event.work.note.len,
	   "its end has none");
	local_confirmed(l, event.id);
	kwq_add(user, "b", 1);
	ok(next_is(LOCAL_ADD, "b") && !event.work.note.len, "and adds have none");
	end();
	has_no_values = false;

	most_bytes = KWQ_NOTE_MAX;
	begin();
	is_number(local_start(l, hashed("a"), &work, (struct token){ epoch_of(2, 9), 1 }), 0,
		  "Q18: a full queue takes the key");
	ok(is_noted("a", "") && get("a"), "without the note that has no room");
	end();
	most_bytes = 0;
}

/* L12: the deaths of machines count, too. */
static void test_lost_machines(void)
{
	uint64_t ticket;

	begin();
	start_lost("a", 0, 1, 2);
	ticket = get("a");
	ok(ticket && next_is(LOCAL_TAKEN, "a"), "L12: a key that two machines lost is tried again");
	kwq_close(user);
	ok(next_is(LOCAL_ENDED, "a") && event.outcome == OUTCOME_DEAD,
	   "L12: it is dead after the loss of a worker");
	local_confirmed(l, event.id);
	ok(!kwq_reopen(&user, q, KWQ_RIGHTS_ALL, O_CLOEXEC | O_NONBLOCK), "another program's handle");
	start_lost("b", 0, 2, 3);
	is_number(get("b"), 0, "L12: a key that three machines lost gets no worker");
	ok(next_is(LOCAL_ENDED, "b") && event.outcome == OUTCOME_DEAD && event.work.abandoned == 3,
	   "L12: it is dead");
	local_confirmed(l, event.id);
	ok(is_quiet(), "nothing else");
	end();
}

/* A worker gets a key, adds @added, and is done. */
static void work_and_add(const char *key, uint64_t number, const char *added)
{
	uint64_t ticket;

	start(key, 0, number);
	ticket = get(key);
	ok(ticket && kwq_add(user, added, strlen(added)) >= 0 && !kwq_done(user, ticket),
	   "a worker adds a key, and is done with another");
}

/* N7: the engine has no room for adds. Ends make some. */
static void test_no_room(void)
{
	uint64_t add;

	begin();
	work_and_add("a", 1, "other");
	ok(next_is(LOCAL_ADD, "other"), "the add comes");
	add = event.id;
	ok(is_quiet(), "the end waits for it");
	local_hold_ends(l, 0);
	ok(next_is(LOCAL_ENDED, "a") && event.outcome == OUTCOME_DONE,
	   "N7: but not while there is no room");
	local_confirmed(l, event.id);

	local_hold_ends(l, 1000);
	start("d", 0, 4);
	is_number(kwq_done(user, get("d")), 0, "another end");
	ok(is_quiet(), "with room, ends wait again");
	local_stored(l, add);
	ok(next_is(LOCAL_ENDED, "d") && event.outcome == OUTCOME_DONE, "until the adds are stored");
	local_confirmed(l, event.id);
	ok(is_quiet(), "nothing else");
	end();
}

/* N2, N4, N7: an end does not wait for adds of other keys, but for one of its own. */
static void test_own_add(void)
{
	const struct key_hash hash = hash_of("b"), other = hash_of("c");
	uint64_t adds[3], ticket, due;

	begin();
	local_hold_ends(l, 0);
	start("b", 3, 2);
	ticket = get("b");
	kwq_add_rate_limited(user, "b", 1);
	kwq_done(user, ticket);
	ok(next_is(LOCAL_ADD, "b") && event.is_waiting && event.work.requeues == 4, "a retry comes");
	adds[0] = event.id;
	due = event.due;
	ok(is_quiet(), "N4: the end waits for it, though there is no room");
	ok(local_end_needs_add(l, &hash), "N7: the stream has to take that add");
	ok(!local_end_needs_add(l, &other), "and no other one");
	kwq_add(user, "b", 1);
	ok(is_quiet(), "another add of the key waits");
	local_stored(l, adds[0]);
	ok(next_is(LOCAL_ADD, "b") && event.is_ready && event.is_waiting &&
	   event.due < due + 10000 * MS && event.due + 10000 * MS > due, "then it comes");
	adds[1] = event.id;
	ok(is_quiet(), "N2: the end waits for that, too: it might have coalesced with the first");
	kwq_add_rate_limited(user, "b", 1);
	ok(is_quiet(), "a third one waits");
	local_stored(l, adds[1]);
	ok(next_is(LOCAL_ADD, "b"), "then it comes");
	adds[1] = event.id;
	ok(next_is(LOCAL_ENDED, "b") && event.outcome == OUTCOME_DONE,
	   "and the end waits no longer");
	ok(!local_end_needs_add(l, &hash), "and needs none any more");
	local_confirmed(l, event.id);
	local_stored(l, adds[1]);

	start("g", 0, 6);
	ticket = get("g");
	kwq_add(user, "g", 1);
	ok(next_is(LOCAL_TAKEN, "g") && next_is(LOCAL_ADD, "g"), "an add during the work");
	adds[0] = event.id;
	is_number(kwq_add(user, "g", 1), KWQ_COALESCED, "and one that coalesces with it");
	kwq_done(user, ticket);
	ok(is_quiet(), "the end waits");
	local_stored(l, adds[0]);
	ok(next_is(LOCAL_ADD, "g"), "the second add comes");
	adds[0] = event.id;
	ok(is_quiet(), "N2: and the end waits for it");
	local_stored(l, adds[0]);
	ok(next_is(LOCAL_ENDED, "g") && event.outcome == OUTCOME_DONE, "then it is told");
	local_confirmed(l, event.id);

	local_limit_adds(l, 1);
	kwq_add(user, "first", 5);
	kwq_add(user, "second", 6);
	ok(next_is(LOCAL_ADD, "first"), "an add that is stored much later");
	adds[0] = event.id;
	local_hold_ends(l, 1000);
	work_and_add("c", 3, "c");
	ok(is_quiet(), "an end waits");
	now = 1000;
	ok(is_quiet(), "N7: with room, it waits until the turn of its add comes");
	is_number(local_next_due(l), UINT64_MAX, "however long");
	local_hold_ends(l, 0);
	ok(next_is(LOCAL_ADD, "second"), "N7: without room, adds are read ahead");
	adds[1] = event.id;
	ok(next_is(LOCAL_ADD, "c"), "N7: up to that one");
	adds[2] = event.id;
	ok(is_quiet(), "the end waits for it");
	local_stored(l, adds[2]);
	ok(next_is(LOCAL_ENDED, "c") && event.outcome == OUTCOME_DONE, "N7: and for no other");
	local_confirmed(l, event.id);
	kwq_add(user, "third", 5);
	ok(is_quiet(), "then nothing more is read");
	is_number(kwq_sync_within(user, 0), -ETIMEDOUT, "N1: others are not stored");
	local_stored(l, adds[0]);
	local_stored(l, adds[1]);
	ok(next_is(LOCAL_ADD, "third"), "until they are");
	adds[0] = event.id;

	work_and_add("e", 4, "e");
	local_hold_ends(l, 1000);
	ok(is_quiet(), "another end");
	now = 3000;
	ok(is_quiet(), "waits for its own add");
	kwq_remove(outbox, "e", 1);
	local_stored(l, adds[0]);
	ok(next_is(LOCAL_ENDED, "e"), "an add that was removed is not waited for");
	local_confirmed(l, event.id);
	ok(is_quiet(), "nothing else");
	is_number(kwq_sync_within(user, 0), 0, "N1: all is stored");
	now = 0;

	local_hold_ends(l, 0);
	work_and_add("f", 5, "f");
	ok(next_is(LOCAL_ADD, "f"), "an end that waits for its own add");
	is_number(local_revoke_all(l), 0, "N3: and the lease ends");
	local_stored(l, event.id);
	ok(is_quiet(), "N3: that end is not told");
	end();
}

/* N7: adds that are read ahead have a bound in bytes. */
static void test_bytes_ahead(void)
{
	static const char value[KWQ_VALUE_MAX];
	enum { MOST = LOCAL_BYTES_AHEAD / sizeof(value) + 1 };
	const struct kwq_add_options options = {
		.size = sizeof(options), .flags = KWQ_ADD_VALUE, .value = value,
		.value_len = sizeof(value),
	};
	static uint64_t ids[MOST];
	unsigned int i, nr = 0;
	char key[8];

	begin();
	local_limit_adds(l, 1);
	local_hold_ends(l, 0);
	for (i = 0; i < MOST + 2; i++)
		kwq_add_with(user, key, snprintf(key, sizeof(key), "%u", i), &options);
	work_and_add("a", 1, "a");
	ok(next_is(LOCAL_ADD, "0"), "an add that is stored much later");
	ids[nr++] = event.id;
	ok(is_quiet(), "an end that waits for its own add");
	while (local_next(l, &event, now) == 1)
		if (event.kind == LOCAL_ADD && nr < MOST)
			ids[nr++] = event.id;
	is_number(nr, MOST - 1, "N7: large adds are not read as far ahead");
	while (nr)
		local_stored(l, ids[--nr]);
	for (; local_next(l, &event, now) == 1; nr += event.kind == LOCAL_ADD)
		if (event.kind == LOCAL_ADD)
			local_stored(l, event.id);
	is_number(nr, 4, "the others come later");
	end();
}

/* N6: ends do not wait for ever for adds that came before them. */
static void test_backlog(void)
{
	const struct key_hash hash = hash_of("c");
	uint64_t add;

	begin();
	is_quiet();
	is_number(local_next_due(l), UINT64_MAX, "no end waits");
	local_hold_ends(l, 1000);
	local_limit_adds(l, 1);
	work_and_add("a", 1, "other");
	now = 5000;
	ok(next_is(LOCAL_ADD, "other"), "the add comes");
	add = event.id;
	ok(is_quiet(), "the end waits for it");
	is_number(local_next_due(l), 6000, "for a time");

	start("b", 0, 2);
	is_number(kwq_done(user, get("b")), 0, "another end");
	work_and_add("d", 4, "d");
	start("e", 2, 5);
	is_number(kwq_done(user, get("e")), 0, "and one with a count of requeues");
	now = 5400;
	start("c", 0, 3);
	ok(is_quiet(), "waits, too; and a key that nobody has");
	local_take_back(l, &hash, (struct token){ epoch_of(2, 9), 3 });
	ok(next_is(LOCAL_ENDED, "c") && event.outcome == OUTCOME_RETURNED,
	   "N6: is returned before ends that wait");
	local_confirmed(l, event.id);

	now = 5999;
	ok(is_quiet(), "both ends wait");
	now = 6000;
	ok(next_is(LOCAL_ENDED, "a") && event.outcome == OUTCOME_DONE, "N6: the first is told");
	local_confirmed(l, event.id);
	ok(is_quiet(), "the second waits on");
	is_number(local_next_due(l), 6400, "as long as the first");
	now = 6400;
	ok(next_is(LOCAL_ENDED, "b") && event.outcome == OUTCOME_DONE, "N6: then it is told");
	local_confirmed(l, event.id);
	ok(is_quiet(), "N2: a key with an add of its own waits for that");
	is_number(local_next_due(l), UINT64_MAX, "however long");
	local_stored(l, add);
	ok(next_is(LOCAL_ADD, "d"), "which comes in its turn");
	local_stored(l, event.id);
	ok(next_is(LOCAL_ENDED, "e") && event.outcome == OUTCOME_REMEMBERED &&
	   event.work.requeues == 2, "N4: a count that was not read is waited for, too");
	local_confirmed(l, event.id);
	ok(next_is(LOCAL_ENDED, "d") && event.outcome == OUTCOME_DONE, "then the end is told");
	local_confirmed(l, event.id);
	is_number(kwq_num_requeues(user, "e", 1), 0, "and leaves the outbox");
	ok(is_quiet(), "nothing is left");
	now = 0;
	end();
}

/* N6: a key that no worker has can be taken back. */
static void test_take_back(void)
{
	const struct key_hash hash = hash_of("a"), other = hash_of("x");
	const struct token wrong = { epoch_of(2, 9), 9 };
	struct token token = { epoch_of(2, 9), 1 };
	uint64_t ticket;

	begin();
	start("a", 1, 1);
	is_number(local_take_back(l, &hash, token), -EBUSY, "its change has not come yet");
	ok(is_quiet(), "it comes");
	is_number(local_take_back(l, &other, token), -ENOENT, "a key that was not granted");
	is_number(local_take_back(l, &hash, wrong), -ENOENT, "by another token");
	is_number(local_take_back(l, &hash, token), 0, "N6: a key that nobody has");
	ok(!get("a"), "no worker gets it");
	ok(next_is(LOCAL_ENDED, "a") && event.outcome == OUTCOME_RETURNED &&
	   event.work.requeues == 1 && event.token.number == 1, "N6: it is returned");
	local_confirmed(l, event.id);
	ok(is_quiet(), "nothing else");

	start("a", 0, 2);
	token.number = 2;
	ok(is_quiet(), "granted again");
	ticket = get("a");
	is_number(local_take_back(l, &hash, token), -EBUSY, "a worker was faster");
	ok(next_is(LOCAL_TAKEN, "a"), "it is taken");
	is_number(local_take_back(l, &hash, token), -EBUSY, "a worker has it");
	kwq_give_back(user, ticket);
	ok(next_is(LOCAL_UNTAKEN, "a"), "the worker gives it back");
	is_number(local_take_back(l, &hash, token), 0, "N6: now it can be taken back");
	end();
}

/* N3: the lease is over. */
static void test_revoke(void)
{
	struct pollfd fd;
	uint64_t ticket;

	begin();
	start("a", 2, 1);
	ticket = get("a");
	start("b", 3, 2);
	ok(next_is(LOCAL_TAKEN, "a"), "a worker has a key");
	ok(is_quiet(), "all changes are read");
	start("c", 4, 3);
	is_number(local_revoke_all(l), 0, "local_revoke_all()");
	fd = (struct pollfd){ .fd = kwq_fd(user), .events = POLLPRI };
	ok(poll(&fd, 1, 0) == 1 && fd.revents & POLLPRI, "N3: the worker is told");
	is_number(kwq_done(user, ticket), -ESTALE, "N3: its done is refused");
	ok(!get("b"), "N3: nobody gets the other key");
	ok(is_quiet(), "no end is told");
	ok(!kwq_num_requeues(user, "a", 1) && !kwq_num_requeues(user, "b", 1),
	   "N4: their counts leave the outbox");
	is_number(kwq_num_requeues(user, "c", 1), 0, "N4: and one whose change was not read");
	is_number(start("a", 0, 4), 0, "it may be granted again");
	ok(get("a"), "and taken");
	end();
}

/* N2: several keys at work, and the lease ends while their changes are being told. */
static void test_revoke_amid_changes(void)
{
	uint64_t ticket, other;

	begin();
	start("a", 0, 1);
	start("b", 0, 2);
	ok(get("a") && get("b"), "two keys at work");
	ok(next_is(LOCAL_TAKEN, "a") && next_is(LOCAL_TAKEN, "b") && is_quiet(), "that is told");
	is_number(local_set_term(l, 0), 0, "the kernel takes both back");
	ok(next_is(LOCAL_UNTAKEN, "a"), "the first is told");
	is_number(local_revoke_all(l), 0, "then the lease is lost");
	ok(is_quiet(), "N2: the other is no add");
	is_number(kwq_len(outbox), 0, "and the outbox is empty");

	is_number(local_set_term(l, UINT64_MAX), 0, "the next lease");
	start("c", 0, 3);
	ticket = get("c");
	start("d", 0, 4);
	other = get("d");
	ok(next_is(LOCAL_TAKEN, "c") && next_is(LOCAL_TAKEN, "d"), "a worker has two keys");
	kwq_give_back(user, ticket);
	is_number(kwq_done(user, other), 0, "it gives one back, and is done with the other");
	ok(next_is(LOCAL_UNTAKEN, "c"), "the first is told");
	is_number(local_revoke_all(l), 0, "then that lease is lost");
	start("d", 0, 5);
	ok(is_quiet(), "N1: what was read before does not end the next grant");
	is_number(kwq_done(user, get("d")), 0, "a worker gets it, and is done");
	ok(next_is(LOCAL_ENDED, "d") && event.token.number == 5, "then it has ended");
	local_confirmed(l, event.id);
	end();
}

static int restore_dead(const char *key)
{
	const struct kwq_restore_entry entry = {
		.key_len = strlen(key), .state = KWQ_IS_DEAD, .requeues = 4,
	};
	const struct kwq_add_extra extra = {};
	int32_t result = -EIO;
	const struct kwq_batch batch = {
		.entries = kwq_ptr(&entry), .keys = kwq_ptr(key), .results = kwq_ptr(&result),
		.extras = kwq_ptr(&extra), .keys_len = strlen(key), .nr = 1,
		.entry_size = sizeof(entry), .extra_size = sizeof(extra),
	};

	kwq_restore_batch(outbox, &batch);
	return result;
}

/* A worker retries @key once too often, and is done. */
static void dies(const char *key, uint64_t number)
{
	uint64_t ticket;

	start(key, 4, number);
	ticket = get(key);
	is_number(kwq_add_rate_limited(user, key, strlen(key)), KWQ_DEAD, "a retry too many");
	is_number(kwq_done(user, ticket), 0, "and the worker is done");
}

/* The key is granted, and its job succeeds. */
static void succeeds(const char *key, uint64_t number)
{
	uint64_t ticket;

	is_number(start(key, 0, number), 0, "the key is granted again");
	ticket = get(key);
	is_number(kwq_done(user, ticket), 0, "and its job is done");
	ok(next_is(LOCAL_ENDED, key) && event.outcome == OUTCOME_DONE,
	   "L11: no earlier run makes it dead");
	local_confirmed(l, event.id);
	is_number(kwq_len(outbox), 0, "and nothing is left");
}

/* L11: the lease ends before the death of a key is told, or this program does. */
static void test_untold_death(void)
{
	uint64_t other;

	begin();
	kwq_add(user, "other", 5);
	ok(next_is(LOCAL_ADD, "other"), "an add");
	other = event.id;
	dies("h", 1);
	start("r", 2, 6);
	is_number(kwq_done(user, get("r")), 0, "a done without a forget");
	ok(is_quiet(), "the ends wait for the add");
	is_number(local_revoke_all(l), 0, "the lease ends");
	is_number(kwq_num_requeues(user, "r", 1), 0, "N4: the count of an untold end is forgotten");
	local_stored(l, other);
	succeeds("h", 2);

	dies("h", 3);
	is_number(local_revoke_all(l), 0, "the lease ends before anything is read");
	ok(is_quiet(), "nothing is told");
	succeeds("h", 4);

	is_number(restore_dead("h"), KWQ_RESTORED, "an earlier life has left a dead key");
	succeeds("h", 5);
	ok(is_quiet(), "it is no add either");

	is_number(restore_dead("loaded"), KWQ_RESTORED, "somebody loads a dead key");
	ok(next_is(LOCAL_ADD, "loaded") && event.is_ready && event.work.requeues == 4,
	   "it is added");
	local_stored(l, event.id);
	is_number(kwq_len(outbox), 0, "and leaves the outbox");
	end();
}

/* N7: work goes on while the outbox is full. */
static void test_full_outbox(void)
{
	outbox_items = 1;
	begin();
	outbox_items = 0;
	is_number(kwq_add(user, "other", 5), KWQ_ADDED, "an add fills the outbox");
	is_number(kwq_add(user, "more", 4), -ENOSPC, "another one does not fit");
	is_number(start("a", 3, 1), 0, "N7: a key with a count of requeues can start");
	is_number(kwq_done(user, get("a")), 0, "and end");
	end();
}

/* N6: workers that wait are told, and counted. */
static void test_getters(void)
{
	struct local_state state;

	begin();
	is_quiet();
	ok(!get("a"), "a worker finds nothing");
	ok(local_next(l, &event, now) == 1 && event.kind == LOCAL_QUEUE, "N6: that is told");
	local_state(l, &state);
	is_number(state.getters, 1, "N6: and counted");
	ok(is_quiet(), "once");
	start("a", 0, 1);
	ok(get("a"), "it gets a key");
	ok(next_is(LOCAL_TAKEN, "a"), "that is told, too");
	local_state(l, &state);
	is_number(state.getters, 0, "N6: and it waits no more");
	end();
}

/* N3: each worker that gets a key has a higher token, and the master gives new ones in time. */
static void test_hand_outs(void)
{
	uint64_t before = 0, ticket;
	unsigned int nr = 0;
	bool grows = true;
	int ret = 0;

	begin();
	is_quiet();
	start("a", 0, 7);
	for (;;) {
		ticket = get("a");
		if (!ticket)
			break;
		grows &= got_token > before;
		before = got_token;
		nr++;
		kwq_give_back(user, ticket);
		do {
			ret = local_next(l, &event, now);
		} while (ret == 1 && event.kind != LOCAL_ENDED);
	}
	ok(grows, "N3: each hand-out has a higher token");
	ok(before >> 12 == (2ULL << 30 | 7), "all are below the next grant's");
	is_number(nr, 1 << 11, "a key that is handed out again and again is taken back");
	ok(ret == 1 && event.kind == LOCAL_ENDED && event.outcome == OUTCOME_RETURNED,
	   "and returned to the master");
	end();
}

/* Adds that cannot be stored wait in the outbox. */
static void test_many(void)
{
	static uint64_t ids[LOCAL_ADDS_MAX];
	unsigned int i, nr = 0;
	char key[8];

	begin();
	for (i = 0; i < LOCAL_ADDS_MAX + 10; i++)
		kwq_add(user, key, snprintf(key, sizeof(key), "%u", i));
	while (local_next(l, &event, now) == 1)
		if (event.kind == LOCAL_ADD && nr < LOCAL_ADDS_MAX)
			ids[nr++] = event.id;
	is_number(nr, LOCAL_ADDS_MAX, "N7: adds that are not stored have a bound");
	is_number(local_outbox_fd(l), -1, "and nobody is woken for more");
	for (i = LOCAL_ADDS_MAX; i--;)
		local_stored(l, ids[i]);
	for (nr = 0; local_next(l, &event, now) == 1; nr++)
		local_stored(l, event.id);
	is_number(nr, 10, "the others come later");
	ok(local_outbox_fd(l) >= 0, "and wake again");
	is_number(kwq_len(outbox), 0, "and none is left");
	is_number(kwq_sync_within(user, 0), 0, "all are kept, in whatever order they were stored");
	end();
}

static void test_errors(void)
{
	const struct token epoch = { epoch_of(1 << 21, 9), 1 };
	const struct token number = { epoch_of(1, 9), 1ULL << 30 };
	const struct work work = { .key = { "k", 1 } };
	const struct key_hash hash = hash_of("k");
	struct local *second;
	struct kwq *plain = NULL;
	const struct kwq_create_options options = {
		.size = sizeof(options), .open_flags = O_CLOEXEC, .clockid = KWQ_CLOCK_ID_MANUAL,
	};
	struct local_state state;

	begin();
	is_number(local_open(&second, q, outbox), -EBUSY, "a second manager");
	is_number(local_start(l, &hash, &work, epoch), -EOVERFLOW, "an epoch after too many elections");
	is_number(local_start(l, &hash, &work, number), -EOVERFLOW, "a number that does not fit");
	ok(!kwq_create(&plain, NULL, &options), "a queue without changes");
	is_number(local_open(&second, plain, plain), -EOPNOTSUPP, "cannot be shared");
	kwq_close(plain);
	is_number(local_state(l, &state), 0, "local_state()");
	ok(!state.is_paused && !state.is_shut_down && !state.ready && !state.outbox,
	   "of an idle queue");
	is_quiet();
	kwq_pause(user);
	kwq_add(user, "a", 1);
	ok(local_next(l, &event, now) == 1 && event.kind == LOCAL_QUEUE, "a pause is told");
	local_state(l, &state);
	ok(state.is_paused && state.paused_for == UINT64_MAX && state.outbox == 1, "and seen");
	ok(next_is(LOCAL_ADD, "a") && is_quiet(), "adds come all the same");
	kwq_pause_for(user, 5 * MS);
	ok(local_next(l, &event, now) == 1 && event.kind == LOCAL_QUEUE, "one for a time, too");
	local_state(l, &state);
	ok(state.is_paused && state.paused_for == 5 * MS, "with that time");
	kwq_shut_down(outbox);
	ok(local_next(l, &event, now) == 1 && event.kind == LOCAL_QUEUE,
	   "so is a shut down of the outbox");
	local_state(l, &state);
	ok(state.is_shut_down, "and seen");
	end();

	begin();
	start("k", 2, 1);
	ok(get("k") && next_is(LOCAL_TAKEN, "k"), "a key at work");
	kwq_add(user, "k", 1);
	ok(next_is(LOCAL_ADD, "k"), "an add meanwhile");
	kwq_shut_down(outbox);
	is_number(local_stored(l, event.id), 0, "it is stored after a shut down of the outbox");
	end();
}

int main(void)
{
	test_adds();
	test_one_after_the_other();
	test_due();
	test_start();
	test_change_amid_the_list();
	test_ends();
	test_notes();
	test_no_notes();
	test_lost_machines();
	test_no_room();
	test_own_add();
	test_bytes_ahead();
	test_backlog();
	test_take_back();
	test_revoke();
	test_revoke_amid_changes();
	test_untold_death();
	test_full_outbox();
	test_getters();
	test_hand_outs();
	test_many();
	test_errors();
	return done_testing();
}

// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * N1 to N7: random use of the two local queues of a shared queue, on the module. Needs /dev/kwq and
 * the right to manage queues. A manual clock, so that no test sleeps.
 *
 * One thread plays both sides. Programs add, get, finish and die. The engine stores adds and ends
 * late and in any order, and grants, takes back and revokes keys. Now and then it dies, too. In the
 * end all is stored, and both queues are empty.
 *
 * Adds have numbers. The value of an add is its number, unless it has none. The test sees all that
 * local reads of the outbox. So it knows which adds a published one covers. A key may be published
 * more often than it needs to be.
 *
 *	KWQ_SEED=N	another run than the usual one, 1
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "share/local/local_internal.h"
#include "base/read_clock.h"
#include "tap.h"

#define MS 1000000ULL
#define FOR_EACH(key) for (key = keys; key < keys + KEYS; key++)

enum {
	ROUNDS = 60,
	STEPS = 400,
	KEYS = 6,
	PROGRAMS = 3,
	NAME_LEN = 2,
	DEAD_AFTER = 4,
	LOG_LINES = 100,
	IS_ADD = KWQ_IS_READY | KWQ_IS_WAITING,
};

/*
 * An item of the outbox as it was read.
 *
 * @value: the number that is its value; 0 for none
 * @covers: the number of the last add by then
 * @wall: the wall clock
 */
struct seen {
	struct kwq_listed item;
	unsigned int value, covers;
	uint64_t wall;
};

/*
 * @now, @before: the item of the outbox now, and one step ago
 * @paged, @asked: as local read it last with others; and by its key, in this step
 * @add_id, @covers: of the add that was told and is not stored; @add_id is 0 for none
 * @stored: all adds of the key up to this number are stored
 * @newest: the highest value that was published
 * @token, @value, @requeues, @abandoned: of the last grant
 * @worked: the token that a worker saw last
 * @holder: the program that has the key, or -1; with @ticket
 * @is_taken: an event has told that a worker has it
 * @has_ended: the grant has an end that is not told
 * @end_id: that is told and not confirmed; else 0
 * @outcome: how QUEUE tells the end
 * @is_remembered: QUEUE kept a count of requeues at the end
 * @end_after: the number of the last add before the end
 * @ended_at, @least_hold: when it ended, and the shortest time since then that ends had to wait
 */
struct key {
	char name[NAME_LEN];
	struct seen now, before, paged, asked;
	uint64_t add_id;
	unsigned int covers, stored, newest;

	struct token token;
	unsigned int value, requeues, abandoned;
	uint64_t worked, ticket;
	int holder;
	bool is_granted, is_taken, has_ended, is_remembered;
	enum outcome outcome;
	unsigned int end_after;
	uint64_t end_id, ended_at, least_hold;
};

/*
 * The adds of a round by their numbers, which begin with 1.
 *
 * @key: NULL if the add made its key dead. That is a part of an end, and not stored.
 * @change: a sync that began after the add waits for this change of the outbox
 */
static struct {
	struct key *key;
	uint64_t change;
} adds[STEPS + 1];

static struct key keys[KEYS];
static unsigned int nr_adds, nr_told;

/*
 * @q, @outbox: handles of the manager, which belong to @l
 * @clock_now: what local_next() is told
 * @hold, @most_adds: what the manager set
 * @is_tight: the outbox is small, so that it refuses adds and counts at times
 * @is_looking: the test itself reads the outbox
 */
static struct kwq *q, *outbox, *programs[PROGRAMS];
static struct local *l;
static uint64_t clock_now, hold, grants;
static unsigned int most_adds;
static bool is_tight, is_looking;

static uint64_t seed, random_state;
static int round_nr, step_nr, nr_blocks;
static char log_lines[LOG_LINES][100];
static unsigned int nr_log;

/* ---- The log, which a failure prints, and chance ------------------------------ */

static void __attribute__((format(printf, 1, 2))) note(const char *format, ...)
{
	char *line = log_lines[nr_log++ % LOG_LINES];
	int len = snprintf(line, sizeof(*log_lines), "%d: ", step_nr);
	va_list args;

	va_start(args, format);
	vsnprintf(line + len, sizeof(*log_lines) - len, format, args);
	va_end(args);
}

static void check(bool good, const struct key *key, const char *what)
{
	unsigned int i;

	if (good)
		return;
	for (i = nr_log > LOG_LINES ? nr_log - LOG_LINES : 0; i < nr_log; i++)
		printf("# %s\n", log_lines[i % LOG_LINES]);
	if (key)
		printf("# %.2s in the outbox: state %x, requeues %u, value %u; before %x, %u, %u\n",
		       key->name, key->now.item.state, key->now.item.requeues, key->now.value,
		       key->before.item.state, key->before.item.requeues, key->before.value);
	printf("# KWQ_SEED=%llu, round %d, step %d\n", (unsigned long long)seed, round_nr, step_nr);
	ok(false, "%s", what);
	done_testing();
	exit(1);
}

static unsigned int any(unsigned int below)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % below;
}

/* ---- Calls that the linker's --wrap leads here -------------------------------- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t nr, size_t size);
void __real_free(void *at);
int __real_kwq_changes(struct kwq *from, struct kwq_changes_args *args);
int __real_kwq_list_items(struct kwq *from, struct kwq_list_items_args *args);

void *__wrap_malloc(size_t size)
{
	nr_blocks++;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t nr, size_t size)
{
	nr_blocks++;
	return __real_calloc(nr, size);
}

void __wrap_free(void *at)
{
	nr_blocks -= !!at;
	__real_free(at);
}

static struct key *find(const char *name)
{
	check(name[0] == 'k' && name[1] >= 'a' && name[1] < 'a' + KEYS, NULL, "an unknown key");
	return &keys[name[1] - 'a'];
}

static unsigned int number_of(const void *value, size_t len)
{
	unsigned int number = 0;

	if (len == sizeof(number))
		memcpy(&number, value, len);
	return number;
}

/* @where: the member of &struct key */
static void see(const struct kwq_batch *batch, int nr, bool has_notes, size_t where)
{
	const struct kwq_listed *item = (const void *)(uintptr_t)batch->entries;
	const char *at = (const void *)(uintptr_t)batch->keys;

	for (; nr-- > 0; item++) {
		struct seen *seen = (void *)((char *)find(at) + where);

		at += item->key_len + item->group_len;
		*seen = (struct seen){
			.item = *item, .value = number_of(at, item->value_len), .covers = nr_adds,
			.wall = read_clock(CLOCK_REALTIME),
		};
		at += item->value_len + (has_notes ? item->note_len : 0);
	}
}

int __wrap_kwq_changes(struct kwq *from, struct kwq_changes_args *args)
{
	int nr = __real_kwq_changes(from, args);

	if (from == outbox)
		see(&args->batch, nr, args->flags & KWQ_CHANGES_NOTES, offsetof(struct key, paged));
	return nr;
}

int __wrap_kwq_list_items(struct kwq *from, struct kwq_list_items_args *args)
{
	int nr = __real_kwq_list_items(from, args);

	if (from == outbox && args->flags & KWQ_LIST_VALUES)
		see(&args->batch, nr, args->flags & KWQ_LIST_NOTES,
		    is_looking ? offsetof(struct key, now) :
		    args->flags & KWQ_LIST_KEY ? offsetof(struct key, asked) :
		    offsetof(struct key, paged));
	return nr;
}

/* ---- The model ------------------------------------------------------------------ */

/* Good enough for the keys of this test. The real one is a matter of the stream. */
int key_hash_of(struct key_hash *hash, struct bytes key)
{
	memset(hash, 0, sizeof(*hash));
	memcpy(hash, key.at, key.len);
	return 0;
}

/* Has an add up to @number not been stored? NULL is any key. */
static bool lacks_store(const struct key *key, unsigned int number)
{
	unsigned int i;

	for (i = 1; i <= number; i++)
		if (adds[i].key && (!key || adds[i].key == key) && adds[i].key->stored < i)
			return true;
	return false;
}

/* Each step ends with this. */
static void look(void)
{
	static struct item_list list;
	const struct kwq_listed *listed;
	const char *bytes;
	struct key *key;

	FOR_EACH(key) {
		key->before = key->now;
		key->now = (struct seen){};
		key->asked = (struct seen){};
	}
	is_looking = true;
	item_list_begin(&list, outbox, ALL_STATES);
	item_list_with(&list, KWQ_LIST_VALUES);
	while (item_list_next(&list, &listed, &bytes) > 0)
		;
	is_looking = false;
	FOR_EACH(key)
		check(key->now.item.state & IS_ADD || !lacks_store(key, nr_adds), key,
		      "N1: the outbox loses an add that is not stored");
}

/* The step was local's. It leaves the counts of requeues of keys that were granted. */
static void check_count(const struct key *key)
{
	check(is_tight || key->now.item.requeues == key->before.item.requeues, key,
	      "N4: the outbox has another count of requeues");
}

static bool is_free(const struct key *key)
{
	return !key->is_granted && !key->has_ended;
}

static void model_end(struct key *key, enum outcome outcome, bool is_remembered)
{
	key->is_granted = false;
	key->has_ended = true;
	key->holder = -1;
	key->outcome = outcome;
	key->is_remembered = is_remembered;
	key->end_after = nr_adds;
	key->ended_at = clock_now;
	key->least_hold = hold;
}

/* ---- Programs -------------------------------------------------------------------- */

static void add(struct key *key, uint32_t flags)
{
	unsigned int number = nr_adds + 1;
	struct kwq_add_options options = { .size = sizeof(options), .flags = flags };
	struct kwq_stat st = { .size = sizeof(st) };
	int ret;

	if (nr_adds == STEPS)
		return;
	if (flags & KWQ_ADD_AFTER)
		options.time = (1 + any(900)) * MS;
	if (any(2)) {
		options.flags |= KWQ_ADD_VALUE | KWQ_ADD_GROUP;
		options.value = &number;
		options.value_len = sizeof(number);
		options.group = &"abc"[number % 3];
		options.group_len = 1;
	}
	ret = kwq_add_with(programs[any(PROGRAMS)], key->name, NAME_LEN, &options);
	note("add %u of %.2s, flags %x: %d", number, key->name, options.flags, ret);
	if (is_tight && ret == -ENOSPC)
		return;
	check(ret >= 0 && !kwq_stat(outbox, &st), key, "an add fails");
	nr_adds = number;
	adds[number].key = ret == KWQ_DEAD ? NULL : key;
	adds[number].change = st.last_change;
}

static void forget(struct key *key, uint32_t unused)
{
	note("forget %.2s", key->name);
	check(kwq_forget(programs[any(PROGRAMS)], key->name, NAME_LEN) >= 0, key, "a forget fails");
}

/* An add that a program removes need not be stored. */
static void remove_add(struct key *key, uint32_t unused)
{
	note("remove %.2s: %d", key->name, kwq_remove(outbox, key->name, NAME_LEN));
	key->stored = nr_adds;
}

static void get(struct key *key, uint32_t unused)
{
	int program = any(PROGRAMS), ret;
	struct kwq_item item;
	char data[64];

	ret = kwq_try_get_value(programs[program], &item, data, sizeof(data));
	if (ret) {
		check(ret == -EAGAIN, NULL, "a get fails");
		FOR_EACH(key)
			check(!key->is_granted || key->holder >= 0, key, "nobody gets a key");
		return;
	}
	key = find(data);
	note("program %d gets %.2s, token %llx", program, key->name,
	     (unsigned long long)item.token);
	check(key->is_granted, key, "N3: a key that was not granted, or has ended");
	check(key->holder < 0, key, "N3: a key is at work twice");
	check(item.token >> 12 == (epoch_count(key->token.epoch) << 30 | key->token.number) &&
	      item.token > key->worked, key, "N3: a wrong token");
	check(number_of(data + NAME_LEN + item.group_len, item.value_len) == key->value, key,
	      "N4: a wrong value");
	check(item.requeues == key->requeues && item.abandoned == key->abandoned, key,
	      "N4: wrong counts");
	key->worked = item.token;
	key->holder = program;
	key->ticket = item.ticket;
}

/* The worker that has the key finishes it, if there is one. */
static void finish(struct key *key, uint32_t flags)
{
	if (key->holder < 0)
		return;
	note("done of %.2s, flags %x", key->name, flags);
	check(kwq_done_with(programs[key->holder], key->ticket, flags) >= 0, key, "a done fails");
	if (flags & KWQ_DONE_RETURN)
		key->holder = -1;
	else if (flags & KWQ_DONE_DEAD)
		model_end(key, OUTCOME_DEAD, true);
	else
		model_end(key, OUTCOME_DONE, key->requeues && !(flags & KWQ_DONE_FORGET));
}

/* client-go's way to retry, or another add of the key by its worker. */
static void add_and_finish(struct key *key, uint32_t flags)
{
	if (key->holder < 0)
		return;
	add(key, any(3) ? flags : 0);
	finish(key, 0);
}

static int restore(struct kwq *to, const struct key *key, uint32_t state)
{
	const struct kwq_restore_entry entry = { .key_len = NAME_LEN, .state = state };
	const struct kwq_add_extra extra = {};

	return item_restore(to, &entry, &extra, key->name);
}

/* Somebody restores a key that was buried, before local has removed it. The grant goes on. */
static void revive(struct key *key, uint32_t unused)
{
	struct kwq_listed item;

	if (!key->has_ended || key->outcome != OUTCOME_DEAD ||
	    kwq_look(q, key->name, NAME_LEN, &item))
		return;
	note("revive %.2s", key->name);
	check(restore(q, key, KWQ_IS_READY) == KWQ_ADDED, key, "a restore fails");
	key->has_ended = false;
	key->is_granted = true;
	key->requeues = 0;
	key->abandoned = 0;
}

/* L11: somebody loads a dead key. */
static void load(struct key *key, uint32_t unused)
{
	if (is_free(key) && !key->now.item.state)
		note("load %.2s: %d", key->name, restore(outbox, key, KWQ_IS_DEAD));
}

static void die(struct key *key, uint32_t unused)
{
	int program = any(PROGRAMS);

	note("program %d dies", program);
	kwq_close(programs[program]);
	check(!kwq_reopen(&programs[program], q, KWQ_RIGHTS_ALL, O_CLOEXEC | O_NONBLOCK), NULL,
	      "a program's handle");
	FOR_EACH(key) {
		if (key->holder != program)
			continue;
		key->holder = -1;
		key->abandoned++;
	}
}

/* ---- The engine: what local_next() tells ------------------------------------------ */

static void hear_add(struct key *key, const struct local_event *event, const struct seen *seen)
{
	unsigned int value = number_of(event->work.value.at, event->work.value.len);
	uint32_t state = seen->item.state;

	note("event: add of %.2s, value %u, covers %u, ready %d, waiting %d, requeues %u",
	     key->name, value, seen->covers, event->is_ready, event->is_waiting,
	     event->work.requeues);
	check(!key->add_id, key, "Q18: a key is published twice at a time");
	check(nr_told < most_adds || !hold, key, "N7: more adds than the limit");
	check(value == seen->value, key, "N4: a wrong value");
	if (value)
		check(event->work.group.len == 1 &&
		      *(const char *)event->work.group.at == "abc"[value % 3], key,
		      "N4: a wrong group");
	check(!value || value >= key->newest, key, "N4: an older value comes later");
	check(event->is_ready == !!(state & (KWQ_IS_READY | KWQ_IS_DEAD)) &&
	      event->is_waiting == !!(state & KWQ_IS_WAITING) &&
	      event->work.requeues == seen->item.requeues, key, "N4: another add");
	if (event->is_waiting)
		check(event->due >= seen->wall + seen->item.due_in &&
		      event->due <= read_clock(CLOCK_REALTIME) + seen->item.due_in, key, "N4: a wrong time");
	if (value)
		key->newest = value;
	key->covers = seen->covers;
	key->add_id = event->id;
	nr_told++;
}

static void hear_end(struct key *key, const struct local_event *event)
{
	const struct seen *seen = &key->before;
	unsigned int value = key->value, requeues = key->requeues;
	enum outcome wanted = key->outcome;
	bool is_dead, is_remembered;

	note("event: end of %.2s, outcome %d, requeues %u", key->name, event->outcome,
	     event->work.requeues);
	check(key->has_ended, key, "an end that is none, or is told twice");
	is_dead = seen->item.state & KWQ_IS_DEAD;
	is_remembered = seen->item.state == KWQ_IS_REMEMBERED && key->is_remembered;
	if (wanted == OUTCOME_DONE && (is_dead || is_remembered)) {
		wanted = is_dead ? OUTCOME_DEAD : OUTCOME_REMEMBERED;
		value = seen->value;
		requeues = seen->item.requeues;
	}
	check(event->outcome == wanted, key, "N4: another outcome");
	check(event->outcome == OUTCOME_DONE || event->work.requeues == requeues, key,
	      "N4: an end with another count of requeues");
	check(event->outcome != OUTCOME_DEAD ||
	      number_of(event->work.value.at, event->work.value.len) == value, key,
	      "L11: a dead key with another value");
	check(event->outcome != OUTCOME_RETURNED || event->work.abandoned == key->abandoned, key,
	      "L12: a key comes back with another count of losses");
	if (wanted != OUTCOME_RETURNED) {
		check(!lacks_store(key, key->end_after), key,
		      "N2: an end before an add of its key is stored");
		check(clock_now - key->ended_at >= key->least_hold ||
		      !lacks_store(NULL, key->end_after), key,
		      "N1: an end before the adds that came before it are stored");
	}
	key->has_ended = false;
	key->end_id = event->id;
}

/* There is no event. */
static void check_quiet(void)
{
	struct key *key;

	check(local_next_due(l) > clock_now, NULL, "N6: an end is due, and not told");
	FOR_EACH(key) {
		check(nr_told >= most_adds || key->add_id || !lacks_store(key, nr_adds), key,
		      "N1: an add is not published");
		check(!key->is_granted || key->is_taken == (key->holder >= 0), key,
		      "N6: a take is not told");
		check(!key->has_ended || (nr_told && (hold || key->add_id || key->now.item.state)),
		      key, "N7: an end is lost, or waits for nothing");
	}
}

/* Returns whether there was an event. */
static bool hear(void)
{
	struct local_event event;
	int ret = local_next(l, &event, clock_now);
	struct key *key = NULL;
	struct seen seen = {};

	check(ret >= 0, NULL, "local_next() fails");
	if (ret && event.kind != LOCAL_QUEUE) {
		key = find(event.work.key.at);
		seen = key->asked.covers ? key->asked : key->paged;
		if (event.kind != LOCAL_ADD)
			check(event.token.epoch == key->token.epoch &&
			      event.token.number == key->token.number, key, "N3: another token");
	}
	look();
	if (!ret)
		check_quiet();
	else if (event.kind == LOCAL_ADD)
		hear_add(key, &event, &seen);
	else if (event.kind == LOCAL_ENDED)
		hear_end(key, &event);
	else if (event.kind != LOCAL_QUEUE)
		key->is_taken = event.kind == LOCAL_TAKEN;
	FOR_EACH(key)
		if (!is_free(key))
			check_count(key);
	return ret;
}

static void hear_some(struct key *key, uint32_t most)
{
	while (most-- && hear())
		;
}

/* ---- The engine: what it does ------------------------------------------------------- */

/* The stream has the add. The outbox forgets it, unless the item has changed meanwhile. */
static void store(struct key *key, uint32_t unused)
{
	uint64_t id = key->add_id;

	if (!id)
		return;
	note("an add of %.2s is stored, up to %u", key->name, key->covers);
	if (key->stored < key->covers)
		key->stored = key->covers;
	key->add_id = 0;
	nr_told--;
	check(!local_stored(l, id), key, "local_stored() fails");
	look();
	if (key->is_granted)
		check_count(key);
}

static void confirm(struct key *key, uint32_t unused)
{
	if (!key->end_id)
		return;
	note("the end of %.2s is confirmed", key->name);
	local_confirmed(l, key->end_id);
	key->end_id = 0;
}

static void grant(struct key *key, uint32_t unused)
{
	const struct token token = { epoch_of(1 + grants / 50, grants), grants + 1 };
	const unsigned int value = 1 + any(1000);
	const struct work work = {
		.key = { key->name, NAME_LEN }, .value = { &value, sizeof(value) },
		.group = { "g", 1 }, .has_value = true, .has_group = true, .priority = any(3),
		.requeues = any(2) ? any(DEAD_AFTER + 1) : 0, .abandoned = any(3),
	};
	struct key_hash hash;
	int err;

	/* The member grants no key again before it has confirmed the end. */
	if (!is_free(key) || key->end_id)
		return;
	key_hash_of(&hash, work.key);
	err = local_start(l, &hash, &work, token);
	note("grant of %.2s, value %u, requeues %u", key->name, value, work.requeues);
	check(!err, key, "local_start() fails");
	grants++;
	look();
	check(!(key->now.item.state & KWQ_IS_DEAD), key, "L11: an earlier run makes the key dead");
	check(is_tight || key->now.item.state & IS_ADD || key->now.item.requeues == work.requeues,
	      key, "N4: the outbox has another count than the grant");
	key->is_granted = true;
	key->is_taken = false;
	key->token = token;
	key->value = value;
	key->requeues = work.requeues;
	key->abandoned = work.abandoned;
}

static void take_back(struct key *key, uint32_t unused)
{
	struct token token = key->token;
	bool is_wrong = !any(4);
	struct key_hash hash;
	int ret;

	token.number += is_wrong;
	key_hash_of(&hash, (struct bytes){ key->name, NAME_LEN });
	ret = local_take_back(l, &hash, token);
	note("take %.2s back: %d", key->name, ret);
	if (ret) {
		check(ret == -EBUSY || ret == -ENOENT, key, "a key cannot be taken back");
		return;
	}
	check(!is_wrong && key->is_granted && key->holder < 0, key,
	      "N6: a key is taken back that a worker has, or that has ended");
	model_end(key, OUTCOME_RETURNED, false);
}

static void pass_time(struct key *key, uint32_t unused)
{
	static const uint64_t times[] = { 0, 1000, UINT64_MAX };
	uint64_t ns = any(300) * MS;

	check(!kwq_advance(q, ns) && !kwq_advance(outbox, ns), NULL, "a clock moves on");
	clock_now += any(800);
	if (!any(3))
		hold = times[any(3)];
	if (!any(3))
		most_adds = any(2) ? LOCAL_ADDS_MAX : 1 + any(4);
	note("%llu ms pass, it is %llu, hold ends for %lld, at most %u adds",
	     (unsigned long long)(ns / MS), (unsigned long long)clock_now, (long long)hold,
	     most_adds);
	local_hold_ends(l, hold);
	local_limit_adds(l, most_adds);
	FOR_EACH(key)
		if (key->least_hold > hold)
			key->least_hold = hold;
}

static void confirm_all(void)
{
	struct key *key;

	FOR_EACH(key)
		confirm(key, 0);
}

static void lose_grants(void)
{
	struct key *key;

	FOR_EACH(key) {
		check(key->holder < 0 ||
		      kwq_done(programs[key->holder], key->ticket) == -ESTALE, key,
		      "N3: a worker that lost its key is done with it");
		key->holder = -1;
		key->is_granted = false;
		key->has_ended = false;
	}
}

/* The lease is over. At times the kernel is faster than the engine. */
static void end_lease(struct key *key, uint32_t unused)
{
	bool is_over = any(2);

	note("revoke, the term is over: %d", is_over);
	confirm_all();
	check(!is_over || !local_set_term(l, 0), NULL, "a term ends");
	check(!local_revoke_all(l), NULL, "a revoke fails");
	lose_grants();
	check(!local_set_term(l, KWQ_NO_DEADLINE), NULL, "a term begins");
}

static void begin(void)
{
	struct key *key;

	check(!local_open(&l, q, outbox), NULL, "local_open() fails");
	nr_told = 0;
	hold = UINT64_MAX;
	most_adds = LOCAL_ADDS_MAX;
	FOR_EACH(key)
		key->add_id = 0;
}

/* The manager dies, and another one begins. */
static void restart(struct key *key, uint32_t unused)
{
	note("restart");
	confirm_all();
	check(!kwq_reopen(&q, q, KWQ_RIGHTS_ALL, O_CLOEXEC) &&
	      !kwq_reopen(&outbox, outbox, KWQ_RIGHTS_ALL, O_CLOEXEC), NULL, "other handles");
	local_close(l);
	begin();
	lose_grants();
}

/* N1: a sync returns when all adds and ends before it are stored, and not before. */
static void check_syncs(unsigned int number)
{
	bool lacks = lacks_store(NULL, nr_adds);
	struct kwq_stat stat = { .size = sizeof(stat) };
	struct key *key;

	FOR_EACH(key)
		lacks |= (key->has_ended || key->end_id) && key->outcome != OUTCOME_RETURNED;
	check(!lacks || kwq_sync_within(programs[0], 0) == -ETIMEDOUT, NULL,
	      "N1: a sync returns too early");
	check(!kwq_stat(outbox, &stat), NULL, "kwq_stat() fails");
	check(!lacks_store(NULL, number) || stat.kept < adds[number].change, NULL,
	      "N1: a sync that began earlier returns too early");
}

/* ---- Rounds --------------------------------------------------------------------------- */

/* How often each comes, of a thousand or so. */
static const struct {
	void (*call)(struct key *key, uint32_t flags);
	uint32_t flags;
	unsigned int weight;
} steps[] = {
	{ add, 0, 130 }, { add, KWQ_ADD_AFTER, 30 }, { add, KWQ_ADD_RATE_LIMITED, 40 },
	{ forget, 0, 20 }, { remove_add, 0, 8 }, { load, 0, 8 }, { get, 0, 100 },
	{ finish, 0, 80 }, { finish, KWQ_DONE_FORGET, 40 },
	{ finish, KWQ_DONE_DEAD, 20 }, { finish, KWQ_DONE_RETURN, 20 }, { revive, 0, 150 },
	{ add_and_finish, KWQ_ADD_RATE_LIMITED, 60 }, { die, 0, 12 }, { pass_time, 0, 60 },
	{ hear_some, 1, 200 }, { hear_some, UINT32_MAX, 25 }, { store, 0, 300 },
	{ confirm, 0, 120 }, { grant, 0, 120 }, { take_back, 0, 50 }, { end_lease, 0, 4 },
	{ restart, 0, 4 },
};

static void step(void)
{
	unsigned int i, sum = 0;

	for (i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		sum += steps[i].weight;
	sum = any(sum);
	for (i = 0; sum >= steps[i].weight; i++)
		sum -= steps[i].weight;
	steps[i].call(&keys[any(KEYS)], steps[i].flags);
	look();
	if (nr_adds && !any(2))
		check_syncs(1 + any(nr_adds));
}

/* Workers finish all that they can get, and the engine stores all. */
static void drain(void)
{
	struct kwq_stat st = { .size = sizeof(st) };
	struct key *key;
	int i;

	for (i = 0; i < 4 * KEYS; i++) {
		get(NULL, 0);
		FOR_EACH(key)
			finish(key, 0);
		look();
		hear_some(NULL, UINT32_MAX);
		FOR_EACH(key)
			store(key, 0);
		confirm_all();
	}
	hear_some(NULL, UINT32_MAX);
	FOR_EACH(key)
		check(is_free(key), key, "an end is lost");
	check(!kwq_sync_within(programs[0], 0), NULL, "N1: a sync does not return");
	check(!kwq_stat(outbox, &st) && !st.items, NULL, "something is left in the outbox");
	check(!kwq_stat(q, &st) && !st.items, NULL, "something is left in QUEUE");
}

static struct kwq *create(const struct kwq *to)
{
	const struct kwq_limiter limiter = {
		.kind = KWQ_LIMITER_EXPONENTIAL,
		.u.exponential = { .base = 100 * MS, .max = 1000000 * MS },
	};
	const struct kwq_config config = {
		.size = sizeof(config), .nr = 1, .dead_after = DEAD_AFTER,
		.limiters = kwq_ptr(&limiter), .limiter_size = sizeof(limiter),
	};
	const struct kwq_create_options options = {
		.size = sizeof(options), .open_flags = O_CLOEXEC, .clockid = KWQ_CLOCK_ID_MANUAL,
		.config = &config, .lease = UINT64_MAX >> 1, .values = true, .groups = true,
		.changes = true, .outbox = to, .max_items = !to && is_tight ? KEYS - 2 : 0,
	};
	struct kwq *made = NULL;

	check(!kwq_create(&made, NULL, &options), NULL, "a queue is made");
	return made;
}

static void play_round(void)
{
	int i;

	for (i = 0; i < KEYS; i++)
		keys[i] = (struct key){ .name = { 'k', 'a' + i }, .holder = -1 };
	nr_adds = 0;
	nr_log = 0;
	clock_now = 0;
	grants = 0;
	is_tight = !any(4);
	outbox = create(NULL);
	q = create(outbox);
	for (i = 0; i < PROGRAMS; i++)
		check(!kwq_reopen(&programs[i], q, KWQ_RIGHTS_ALL, O_CLOEXEC | O_NONBLOCK), NULL,
		      "a program's handle");
	begin();
	for (step_nr = 0; step_nr < STEPS; step_nr++)
		step();
	drain();
	local_close(l);
	for (i = 0; i < PROGRAMS; i++)
		kwq_close(programs[i]);
}

int main(void)
{
	const char *text = getenv("KWQ_SEED");
	int blocks = 0, file = 0, free_file;

	seed = text ? strtoull(text, NULL, 0) : 1;
	random_state = seed;
	printf("# KWQ_SEED=%llu\n", (unsigned long long)seed);
	for (round_nr = 0; round_nr < ROUNDS; round_nr++) {
		play_round();
		free_file = dup(STDOUT_FILENO);
		close(free_file);
		/* The first round also makes what the C library keeps. */
		check(!round_nr || nr_blocks == blocks, NULL, "memory leaks");
		check(!round_nr || free_file == file, NULL, "a handle leaks");
		blocks = nr_blocks;
		file = free_file;
	}
	ok(true, "N1 N2 N3 N4 N6 N7: %d rounds of %d steps", ROUNDS, STEPS);
	return done_testing();
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * O1, Q3, Q4, Q5, Q9: processes that work on a queue or add to it are killed at random
 * moments. Shared memory shows whether an item ran twice at once and whether an add was
 * lost.
 *
 *	KWQ_KILLS=10000   the number of kills; a few hundred by default
 *	KWQ_SEED=         repeats the choices of the run that printed this seed,
 *	                  but not its timing, which is the scheduler's
 */
#include "kwq_test.h"

#define KEYS		64
#define ADDERS		2
#define SLOTS		8	/* processes at once; the first ones add */
#define MOST		6	/* items that a worker holds at once */

/*
 * Only a hang exceeds this time for one kill, or this time for the rest of the work at
 * the end.
 */
#define KILL_MSEC	1000
#define END_SECONDS	60

/*
 * An adder raises @wanted, and after its add @added. A worker that gets the item reads
 * @wanted, and raises @seen to that value before its done. So once @seen has reached
 * @added, each add that returned was followed by a hand-out.
 */
struct key_state {
	_Atomic __u64 wanted;
	_Atomic __u64 added;
	_Atomic __u64 seen;
	_Atomic __u32 runner;		/* 0 for nobody, else a life */
};

struct world {
	struct key_state keys[KEYS];
	/* The life in each slot; 0 while a killed process is replaced. */
	_Atomic __u32 life[SLOTS];
	_Atomic __u64 gets;
	_Atomic __u64 calls;
	_Atomic __u64 twice;
	_Atomic bool hush;		/* adders pause */
	_Atomic bool stop;
	__u64 seed;
	int q;
};

struct life {
	struct world *w;
	__u32 number;			/* n * SLOTS + slot, n from 1 on */
	__u64 random;
	int q;				/* a handle of its own */
};

/* Gives the processor to others. */
static void pause_briefly(void)
{
	poll(NULL, 0, 1);
}

static bool is_alive(struct world *w, __u32 number)
{
	return atomic_load(&w->life[number % SLOTS]) == number;
}

static struct key_state *state_of(struct world *w, const struct item *item)
{
	int n = atoi(item->key + 1);

	REQUIRE(item->key[0] == 'k' && n >= 0 && n < KEYS);
	return &w->keys[n];
}

/*
 * Q3: the item's last runner is nobody, or was killed while it held the item. Then the
 * hand-out reports the loss.
 */
static void run_begins(struct life *me, const struct item *item)
{
	_Atomic __u32 *runner = &state_of(me->w, item)->runner;
	__u32 was = 0;

	if (atomic_compare_exchange_strong(runner, &was, me->number))
		return;
	if (is_alive(me->w, was) || !item->abandoned ||
	    !atomic_compare_exchange_strong(runner, &was, me->number))
		atomic_fetch_add(&me->w->twice, 1);
}

static void run_ends(struct life *me, const struct item *item, __u64 wanted)
{
	struct key_state *state = state_of(me->w, item);
	__u32 was = me->number;

	raise_to(&state->seen, wanted);
	if (!atomic_compare_exchange_strong(&state->runner, &was, 0))
		atomic_fetch_add(&me->w->twice, 1);
}

static void add_some(struct life *me)
{
	__u32 r = next_random(&me->random), n = r % KEYS;
	struct key_state *state = &me->w->keys[n];
	__u64 wanted, time = 0;
	__u32 flags = 0;
	int ret, priority = 0;
	char key[16];

	snprintf(key, sizeof(key), "k%d", n);
	if (r / KEYS % 4 == 0) {
		flags = KWQ_ADD_AFTER;
		time = r / KEYS % MSEC;
	}
	if (r / KEYS / 4 % 4 == 0) {
		flags |= KWQ_ADD_PRIORITY;
		priority = (int)(r / KEYS / 16 % 8) - 4;
	}
	wanted = atomic_fetch_add(&state->wanted, 1) + 1;
	ret = q_add_with(me->q, key, flags, priority, time);
	/* At the end the drain begins while workers still add. */
	if (ret == -ESHUTDOWN && atomic_load(&me->w->stop))
		return;
	REQUIRE(ret >= 0);
	raise_to(&state->added, wanted);
	atomic_fetch_add(&me->w->calls, 1);
}

/* Adds at full speed, or when the workers sleep because no item is left. */
static int add(struct life *me)
{
	while (!atomic_load(&me->w->stop)) {
		__u32 r = next_random(&me->random);

		for (int i = r % 16; i >= 0; i--)
			add_some(me);
		while (atomic_load(&me->w->hush) || (r / 16 % 4 == 0 && q_len(me->q)))
			pause_briefly();
	}
	return 0;
}

static void run(struct life *me, const struct item *items, int nr)
{
	struct world *w = me->w;
	__u64 wanted[MOST];

	for (int i = 0; i < nr; i++) {
		run_begins(me, &items[i]);
		wanted[i] = atomic_load(&state_of(w, &items[i])->wanted);
		atomic_fetch_add(&w->gets, 1);
	}
	/* Q4: adds keys that are being processed. */
	if (next_random(&me->random) % 8 == 0)
		add_some(me);
	if (next_random(&me->random) % 4 == 0)
		sched_yield();
	for (int i = 0; i < nr; i++)
		run_ends(me, &items[i], wanted[i]);
}

static void finish_one_by_one(struct life *me, const struct item *items, int nr)
{
	for (int i = 0; i < nr; i++) {
		int ret;

		if (next_random(&me->random) % 2)
			ret = q_done(me->q, items[i].ticket);
		else
			ret = q_done_key(me->q, items[i].key);
		REQUIRE(!(ret & ~(KWQ_REQUEUED | KWQ_STILL_WAITING)));
		atomic_fetch_add(&me->w->calls, 1);
	}
}

static void finish_together(struct life *me, const struct item *items, int nr)
{
	static struct batch b;

	batch_begin(&b);
	for (int i = 0; i < nr; i++)
		batch_done(&b, items[i].ticket);
	REQUIRE(batch_run(me->q, KWQ_IOC_DONE, &b) == nr);
	for (int i = 0; i < nr; i++)
		REQUIRE(b.results[i] >= 0);
	atomic_fetch_add(&me->w->calls, 1);
}

/* Finishes @nr_done items and gets up to @nr items in one call. */
static int get_next(struct life *me, struct item *items, int nr_done, int nr)
{
	static struct batch b;
	struct kwq_got got[MOST];
	char keys[MOST * KEY_ROOM], *key = keys;
	struct kwq_get_args get = GET_ARGS(got, user_ptr(keys), sizeof(keys), nr,
					   .deadline = KWQ_NO_DEADLINE);
	int ret;

	batch_begin(&b);
	for (int i = 0; i < nr_done; i++)
		batch_done(&b, items[i].ticket);
	if (nr_done)
		get.done = batch_of(KWQ_IOC_DONE, &b);
	ret = q_get_raw(me->q, &get);
	REQUIRE(get.nr_done == nr_done);
	for (int i = 0; i < nr_done; i++)
		REQUIRE(b.results[i] >= 0);
	for (int i = 0; i < ret; i++) {
		items[i] = (struct item){ .ticket = got[i].ticket, .abandoned = got[i].abandoned };
		memcpy(items[i].key, key, got[i].key_len);
		key += got[i].key_len;
	}
	return ret;
}

/*
 * The getters have no deadline: a wake-up that was lost with a killed process is not
 * repaired by a timeout.
 */
static int work(struct life *me)
{
	__u32 kind = next_random(&me->random) % 3;
	struct item items[MOST];
	int nr_done = 0, nr;

	for (;;) {
		nr = kind ? 1 + next_random(&me->random) % MOST : 1;
		if (kind == 2)
			nr = get_next(me, items, nr_done, nr);
		else
			nr = q_get_many(me->q, items, nr, 0, KWQ_NO_DEADLINE);
		if (nr == -ESHUTDOWN)
			return 0;
		REQUIRE(nr > 0);
		atomic_fetch_add(&me->w->calls, 1);
		run(me, items, nr);
		if (kind == 0)
			finish_one_by_one(me, items, nr);
		else if (kind == 1)
			finish_together(me, items, nr);
		else
			nr_done = nr;
	}
}

static int peer_lives(struct peer *parent, void *arg)
{
	struct life *me = arg;

	(void)parent;
	me->q = q_reopen(me->w->q);
	REQUIRE(me->q >= 0);
	return me->number % SLOTS < ADDERS ? add(me) : work(me);
}

static void begin_life(struct world *w, struct peer *peer, __u32 number)
{
	struct life life = { .w = w, .number = number, .random = w->seed + number };

	atomic_store(&w->life[number % SLOTS], number);
	start_peer(peer, peer_lives, &life);
}

static void end_life(struct __test_metadata *_metadata, struct world *w, struct peer *peer,
		     int slot)
{
	atomic_store(&w->life[slot], 0);
	ASSERT_EQ(-SIGKILL, kill_peer(peer)) {
		TH_LOG("somebody died before the kill");
	}
}

static void wait_until_empty(struct __test_metadata *_metadata, int q)
{
	struct kwq_stat stat;

	for (;;) {
		ASSERT_EQ(0, q_stat(q, &stat));
		if (!stat.items)
			return;
		pause_briefly();
	}
}

/*
 * Q5: all workers sleep, an item is added, and one worker is killed at once. This may
 * be the worker that was woken. The others must process the item before a new worker
 * starts.
 */
static void kill_a_sleeper(struct __test_metadata *_metadata, struct world *w,
			   struct peer *peer, struct life *me, int slot)
{
	atomic_store(&w->hush, true);
	wait_until_empty(_metadata, w->q);
	add_some(me);
	end_life(_metadata, w, peer, slot);
	wait_until_empty(_metadata, w->q);
	atomic_store(&w->hush, false);
}

/* Processes that were stopped or drained end by themselves. */
static void end_all(struct __test_metadata *_metadata, struct world *w, struct peer *peers)
{
	atomic_store(&w->stop, true);
	for (int i = 0; i < ADDERS; i++)
		EXPECT_EQ(0, end_of_peer(&peers[i]));
	/* The shut down would drop waiting items. */
	wait_until_empty(_metadata, w->q);
	EXPECT_EQ(0, q_drain(w->q, KWQ_NO_DEADLINE));
	for (int i = ADDERS; i < SLOTS; i++)
		EXPECT_EQ(0, end_of_peer(&peers[i]));
}

static int count_lost(struct __test_metadata *_metadata, struct world *w)
{
	int lost = 0;

	for (int n = 0; n < KEYS; n++) {
		struct key_state *state = &w->keys[n];

		if (state->added <= state->seen && !state->runner)
			continue;
		lost++;
		TH_LOG("key %d: %llu adds, of which %llu were seen; life %u had it last", n,
		       state->added, state->seen, state->runner);
	}
	return lost;
}

FIXTURE(kill)
{
	int dev;
	struct world *w;
};

FIXTURE_SETUP(kill)
{
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->w = shared(sizeof(*self->w));
	self->w->seed = number_from("KWQ_SEED", now_ns() ^ getpid());
	self->w->q = new_queue(self->dev);
	ASSERT_LE(0, self->w->q);
}

FIXTURE_TEARDOWN(kill)
{
	close(self->w->q);
	close(self->dev);
}

#define KILLS	number_from("KWQ_KILLS", 200)

/* O1, Q3, Q4, Q5, Q9 */
TEST_F_TIMEOUT(kill, nothing_lost_and_nothing_twice,
	       soak_seconds() + KILLS * KILL_MSEC / 1000 + END_SECONDS)
{
	unsigned long least = soak_seconds() ? 0 : KILLS, kills = 0;
	__u64 until = now_ns() + soak_seconds() * SEC;
	struct world *w = self->w;
	struct life me = { .w = w, .random = w->seed, .q = w->q };
	struct peer peers[SLOTS];
	struct kwq_stat stat;
	__u32 lives = 1;
	int lost;

	TH_LOG("seed %llu", w->seed);
	for (int i = 0; i < SLOTS; i++)
		begin_life(w, &peers[i], SLOTS * lives + i);
	for (lives++; kills < least || now_ns() < until; lives++, kills++) {
		__u64 gets = atomic_load(&w->gets) + next_random(&me.random) % 32;
		int slot = next_random(&me.random) % SLOTS;

		while (atomic_load(&w->gets) < gets)
			pause_briefly();
		if (slot >= ADDERS && next_random(&me.random) % 4 == 0)
			kill_a_sleeper(_metadata, w, &peers[slot], &me, slot);
		else
			end_life(_metadata, w, &peers[slot], slot);
		begin_life(w, &peers[slot], SLOTS * lives + slot);
	}
	end_all(_metadata, w, peers);

	lost = count_lost(_metadata, w);
	EXPECT_EQ(0, lost);
	EXPECT_EQ(0, w->twice);
	check_stat(w->q, .items = 0, .state = KWQ_STATE_SHUT_DOWN);
	ASSERT_EQ(0, q_stat(w->q, &stat));
	EXPECT_EQ(1, stat.handles);
	EXPECT_LT(0, stat.abandoned);
	TH_LOG("%llu adds, %llu coalesced, %llu handed out, %llu abandoned", stat.adds,
	       stat.coalesced, stat.gets, stat.abandoned);
	TH_LOG("%lu kills, %d keys lost, %llu run twice at once", kills, lost, w->twice);
	tell_soak(w->calls, kills);
}

TEST_HARNESS_MAIN

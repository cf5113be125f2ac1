// SPDX-License-Identifier: GPL-2.0-only
/*
 * L1 to L10, B4: rate-limited adds, forget, requeues, and the configuration of a queue.
 *
 * All queues have manual clocks: nothing waits for time to pass, and every delay is
 * known to the nanosecond.
 */
#include "kwq_test.h"

FIXTURE(limiter)
{
	int dev;
	int q;	/* of the test's own limiters, see limit() */
};

typedef FIXTURE_DATA(limiter) limiter_fixture;

FIXTURE_SETUP(limiter)
{
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = -1;
}

FIXTURE_TEARDOWN(limiter)
{
	close(self->q);
	close(self->dev);
}

/* Replaces the test's queue by one with this configuration. */
#define limit(self, config)							\
	do {									\
		limiter_fixture *self_ = (self);				\
		const struct kwq_config config_ = (config);			\
										\
		self_->q = new_manual_queue(self_->dev, &config_);		\
		ASSERT_LE(0, self_->q);						\
	} while (0)

/* A rate-limited add makes @key wait for exactly @delay. Then the key is finished. */
#define expect_delay(q, key, delay)						\
	do {									\
		const __u64 delay_ = (delay);					\
		const char *key_ = (key);					\
		const int d_ = (q);						\
										\
		EXPECT_EQ(delay_ ? KWQ_WAITING : KWQ_ADDED,			\
			  q_add_rate_limited(d_, key_));			\
		if (delay_) {							\
			EXPECT_EQ(0, q_advance(d_, delay_ - 1));		\
			EXPECT_EQ(0, q_len(d_));				\
			EXPECT_EQ(0, q_advance(d_, 1));				\
		}								\
		expect_take(d_, key_);						\
	} while (0)

/* Nothing is ready a nanosecond before @time, and only @key is ready at it. */
#define expect_due(q, key, time)						\
	do {									\
		const __u64 time_ = (time);					\
		const int d_ = (q);						\
										\
		EXPECT_EQ(0, q_advance_to(d_, time_ - 1));			\
		EXPECT_EQ(0, q_len(d_));					\
		EXPECT_EQ(0, q_advance_to(d_, time_));				\
		EXPECT_EQ(1, q_len(d_));					\
		expect_take(d_, key);						\
	} while (0)

static __u64 rate_limited(int q)
{
	struct kwq_stat stat;

	REQUIRE(!q_stat(q, &stat));
	return stat.rate_limited;
}

/* L2 to L5, B1: each kind arrives with its members. limiter_test.c has what they mean. */
TEST_F(limiter, kinds)
{
	static const struct {
		struct kwq_limiter limiter;
		__u64 delays[4];
	} kinds[] = {
		{ EXPONENTIAL(10, 35), { 10, 20, 35, 35 } },
		{ FAST_SLOW(5, 70, 2), { 5, 5, 70, 70 } },
		{ BUCKET(1, 100, 2), { 0, 0, 100, 100 } },
		{ BACKOFF(.duration = 10, .factor = 2 * KWQ_ONE, .steps = 2), { 10, 20, 40, 40 } },
		{ BACKOFF(.duration = 10, .factor = 2 * KWQ_ONE, .steps = 9, .cap = 20),
		  { 10, 20, 20, 20 } },
	};
	struct kwq_limiter eight[KWQ_LIMITERS_MAX];
	struct kwq_config config;

	for (int i = 0; i < ARRAY_SIZE(kinds); i++) {
		config = (struct kwq_config){
			.size = sizeof(config),
			.nr = 1,
			.limiters = user_ptr(&kinds[i].limiter),
			.limiter_size = sizeof(struct kwq_limiter),
		};
		close(self->q);
		limit(self, config);
		for (int n = 0; n < 4; n++)
			expect_delay(self->q, "a", kinds[i].delays[n]);
		EXPECT_EQ(4, q_forget(self->q, "a"));
		EXPECT_EQ(0, q_requeues(self->q, "a"));
	}

	/* The largest number of them: the longest delay counts. */
	for (int i = 0; i < KWQ_LIMITERS_MAX; i++)
		eight[i] = (struct kwq_limiter)FAST_SLOW(i, 10 + i, 1);
	close(self->q);
	limit(self, config_of(eight));
	expect_delay(self->q, "a", KWQ_LIMITERS_MAX - 1);
	expect_delay(self->q, "a", KWQ_LIMITERS_MAX + 9);
}

/* L7: the longer delay of the two, for no configuration and for one without limiters. */
TEST_F(limiter, default_limiters)
{
	const struct kwq_config standard = default_config();
	char key[16];

	for (int round = 0; round < 2; round++) {
		int q = new_manual_queue(self->dev, round ? &standard : NULL);

		ASSERT_LE(0, q);
		/* The bucket never delays here: it is full. */
		for (int n = 0; n < 18; n++)
			expect_delay(q, "a", (5 * MSEC) << n);
		/* 2^18 x 5 ms is more than 1000 s. */
		expect_delay(q, "a", 1000 * SEC);
		expect_delay(q, "a", 1000 * SEC);
		close(q);

		q = new_manual_queue(self->dev, round ? &standard : NULL);
		ASSERT_LE(0, q);
		for (int n = 0; n < 103; n++) {
			snprintf(key, sizeof(key), "%d", n);
			EXPECT_EQ(KWQ_WAITING, q_add_rate_limited(q, key));
		}
		EXPECT_EQ(0, q_advance(q, 5 * MSEC - 1));
		check_stat(q, .waiting = 103, .items = 103);
		EXPECT_EQ(0, q_advance(q, 1));
		check_stat(q, .ready = 100, .waiting = 3, .items = 103);
		EXPECT_EQ(0, q_advance_to(q, 100 * MSEC - 1));
		EXPECT_EQ(100, q_len(q));
		EXPECT_EQ(0, q_advance_to(q, 100 * MSEC));
		EXPECT_EQ(101, q_len(q));
		EXPECT_EQ(0, q_advance_to(q, 200 * MSEC));
		EXPECT_EQ(102, q_len(q));
		EXPECT_EQ(0, q_advance_to(q, 300 * MSEC));
		EXPECT_EQ(103, q_len(q));
		close(q);
	}
}

/* L9: each hand-out reports the count. A removed item has none. */
TEST_F(limiter, get_tells_requeues)
{
	static const struct kwq_limiter exponential[] = { EXPONENTIAL(MSEC, MSEC) };
	struct item items[3];

	limit(self, config_of(exponential));
	for (__u32 n = 0; n < 5; n++) {
		EXPECT_EQ(KWQ_WAITING, q_add_rate_limited(self->q, "a"));
		EXPECT_EQ(KWQ_ADDED, q_add(self->q, "b"));
		EXPECT_EQ(0, q_advance(self->q, MSEC));
		ASSERT_EQ(2, q_get_many(self->q, items, 3, KWQ_GET_NONBLOCK, 0));
		EXPECT_STREQ("b", items[0].key);
		EXPECT_EQ(0, items[0].requeues);
		EXPECT_STREQ("a", items[1].key);
		EXPECT_EQ(n + 1, items[1].requeues);
		EXPECT_EQ(KWQ_FINISHED, q_done(self->q, items[0].ticket));
		EXPECT_EQ(KWQ_FINISHED, q_done(self->q, items[1].ticket));
	}
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_WAS_READY, q_remove(self->q, "a"));
	EXPECT_EQ(0, q_requeues(self->q, "a"));
	check_stat(self->q, .items = 0);
}

/*
 * L8: KWQ_DONE_FORGET, by ticket and by key, with a done that succeeds and one that
 * fails.
 */
TEST_F(limiter, done_forgets)
{
	static const struct kwq_limiter at_once[] = { FAST_SLOW(0, 0, 0) };
	struct item item;
	int other;

	limit(self, config_of(at_once));
	EXPECT_EQ(KWQ_ADDED, q_add_rate_limited(self->q, "a"));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	EXPECT_EQ(1, q_requeues(self->q, "a"));
	check_stat(self->q, .items = 1);

	EXPECT_EQ(KWQ_ADDED, q_add_rate_limited(self->q, "a"));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(2, item.requeues);
	EXPECT_EQ(KWQ_FINISHED, q_done_with(self->q, item.ticket, KWQ_DONE_FORGET));
	EXPECT_EQ(0, q_requeues(self->q, "a"));
	check_stat(self->q, .items = 0);

	EXPECT_EQ(KWQ_ADDED, q_add_rate_limited(self->q, "a"));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(KWQ_DIRTIED, q_add_rate_limited(self->q, "a"));
	EXPECT_EQ(KWQ_REQUEUED, q_done_key_with(self->q, "a", KWQ_DONE_FORGET));
	expect_next(self->q, &item, "a");
	EXPECT_EQ(0, item.requeues);
	EXPECT_EQ(KWQ_DIRTIED, q_add_rate_limited(self->q, "a"));

	/* A refused done forgets nothing. */
	other = q_reopen(self->q);
	ASSERT_LE(0, other);
	EXPECT_EQ(-EPERM, q_done_key_with(other, "a", KWQ_DONE_FORGET));
	EXPECT_EQ(-ESTALE, q_done_with(other, item.ticket, KWQ_DONE_FORGET));
	EXPECT_EQ(-ENOENT, q_done_key_with(self->q, "b", KWQ_DONE_FORGET));
	EXPECT_EQ(1, q_requeues(self->q, "a"));
	close(other);
}

/* Q13: batches of each, with a result for each entry. */
TEST_F(limiter, batches)
{
	static const struct kwq_limiter both[] = {
		EXPONENTIAL(MSEC, SEC), BUCKET(1, SEC, 2),
	};
	struct batch *b = new_batch();

	limit(self, config_of(both));
	batch_add_with(b, "a", KWQ_ADD_RATE_LIMITED, 0, 0);
	batch_add_with(b, "b", KWQ_ADD_RATE_LIMITED, 0, 0);
	batch_add_with(b, "x", KWQ_ADD_RATE_LIMITED, 0, 1);
	batch_add_with(b, "c", KWQ_ADD_RATE_LIMITED, 0, 0);
	batch_add_with(b, "a", KWQ_ADD_RATE_LIMITED, 0, 0);
	ASSERT_EQ(5, batch_run(self->q, KWQ_IOC_ADD, b));
	EXPECT_EQ(KWQ_WAITING, b->results[0]);
	EXPECT_EQ(KWQ_WAITING, b->results[1]);
	EXPECT_EQ(-EINVAL, b->results[2]);
	EXPECT_EQ(KWQ_WAITING, b->results[3]);
	EXPECT_EQ(KWQ_COALESCED, b->results[4]);
	EXPECT_EQ(4, rate_limited(self->q));

	for (int round = 0; round < 2; round++) {
		memset(b, 0, sizeof(*b));
		batch_ask(b, "a");
		batch_ask(b, "unknown");
		b->nr++;			/* a key of no byte */
		batch_ask(b, "b");
		b->key[b->nr++] = (struct kwq_key_entry){ .key_len = KWQ_KEY_MAX + 1 };
		ASSERT_EQ(5, batch_run(self->q, round ? KWQ_IOC_FORGET : KWQ_IOC_REQUEUES, b));
		EXPECT_EQ(2, b->results[0]);
		EXPECT_EQ(0, b->results[1]);
		EXPECT_EQ(-EINVAL, b->results[2]);
		EXPECT_EQ(1, b->results[3]);
		EXPECT_EQ(-EMSGSIZE, b->results[4]);
	}
	EXPECT_EQ(0, q_requeues(self->q, "a"));
	EXPECT_EQ(0, q_requeues(self->q, "b"));
	EXPECT_EQ(1, q_requeues(self->q, "c"));
	EXPECT_EQ(0, q_advance(self->q, MSEC));
	expect_take(self->q, "a");
	expect_take(self->q, "b");
	expect_due(self->q, "c", SEC);
	free(b);
}

/* Q13: a worker's whole turn in one call: retry one item, done, get the next item. */
TEST_F(limiter, one_call_a_turn)
{
	static const struct kwq_limiter exponential[] = { EXPONENTIAL(MSEC, SEC) };
	struct batch *adds = new_batch(), *dones = new_batch();
	struct kwq_got got;
	__u8 key[8];
	struct kwq_get_args get = GET_ARGS(&got, user_ptr(key), sizeof(key), 1,
					   .flags = KWQ_GET_NONBLOCK);
	struct item items[2];

	limit(self, config_of(exponential));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "c"));
	ASSERT_EQ(2, q_get_many(self->q, items, 2, KWQ_GET_NONBLOCK, 0));
	EXPECT_EQ(KWQ_WAITING, q_add_rate_limited(self->q, "b"));
	batch_add_with(adds, "a", KWQ_ADD_RATE_LIMITED, 0, 0);
	batch_done(dones, items[0].ticket);
	batch_done(dones, items[1].ticket);
	dones->done[1].flags = KWQ_DONE_FORGET;
	get.add = batch_of(KWQ_IOC_ADD, adds);
	get.done = batch_of(KWQ_IOC_DONE, dones);
	ASSERT_EQ(1, q_get_raw(self->q, &get));
	EXPECT_EQ(KWQ_WAITING, adds->results[0]);
	EXPECT_EQ(KWQ_STILL_WAITING, dones->results[0]);
	EXPECT_EQ(KWQ_STILL_WAITING, dones->results[1]);
	EXPECT_EQ('c', key[0]);
	EXPECT_EQ(0, got.requeues);
	EXPECT_EQ(1, q_requeues(self->q, "a"));
	EXPECT_EQ(0, q_requeues(self->q, "b"));
	check_stat(self->q, .waiting = 2, .processing = 1, .items = 3);
	free(dones);
	free(adds);
}

static int peer_takes_tokens(struct peer *parent, void *arg)
{
	int q = q_reopen(*(int *)arg);

	say(parent, q_add_rate_limited(q, "a"));
	hear(parent);
	say(parent, q_add_rate_limited(q, "c"));
	hear(parent);
	return 0;
}

/* L4: the bucket belongs to the queue, for all adders. */
TEST_F(limiter, two_processes_share_a_bucket)
{
	static const struct kwq_limiter bucket[] = { BUCKET(1, SEC, 1) };
	struct peer child;

	limit(self, config_of(bucket));
	start_peer(&child, peer_takes_tokens, &self->q);
	EXPECT_EQ(KWQ_ADDED, hear(&child));
	EXPECT_EQ(KWQ_WAITING, q_add_rate_limited(self->q, "b"));
	say(&child, 0);
	EXPECT_EQ(KWQ_WAITING, hear(&child));
	/* The end of one adder does not change it. */
	EXPECT_EQ(-SIGKILL, kill_peer(&child));
	EXPECT_EQ(KWQ_WAITING, q_add_rate_limited(self->q, "d"));
	expect_take(self->q, "a");
	expect_due(self->q, "b", 1 * SEC);
	expect_due(self->q, "c", 2 * SEC);
	expect_due(self->q, "d", 3 * SEC);
}

static int peer_holds(struct peer *parent, void *arg)
{
	int q = q_reopen(*(int *)arg);
	struct item item;

	REQUIRE(q_try_get(q, &item) == 1);
	REQUIRE(q_add_rate_limited(q, item.key) == KWQ_WAITING);
	say(parent, item.requeues);
	hear(parent);
	return 0;
}

/* O1, L9: the death of a worker does not change counts. */
TEST_F(limiter, counts_survive_a_killed_worker)
{
	static const struct kwq_limiter exponential[] = { EXPONENTIAL(MSEC, SEC) };
	struct peer child;
	struct item item;

	limit(self, config_of(exponential));
	expect_delay(self->q, "a", 1 * MSEC);
	EXPECT_EQ(KWQ_WAITING, q_add_rate_limited(self->q, "a"));
	EXPECT_EQ(0, q_advance(self->q, 2 * MSEC));
	start_peer(&child, peer_holds, &self->q);
	EXPECT_EQ(2, hear(&child));
	EXPECT_EQ(-SIGKILL, kill_peer(&child));
	EXPECT_EQ(3, q_requeues(self->q, "a"));
	check_stat(self->q, .ready = 1, .waiting = 1, .items = 1);
	expect_next(self->q, &item, "a");
	EXPECT_EQ(3, item.requeues);
	EXPECT_EQ(1, item.abandoned);
	EXPECT_EQ(KWQ_STILL_WAITING, q_done(self->q, item.ticket));
	EXPECT_EQ(0, q_advance(self->q, 4 * MSEC));
	expect_take(self->q, "a");
	expect_delay(self->q, "a", 8 * MSEC);
}

/* Q19: an add of a key that has only a count waits for room as well. */
TEST_F(limiter, key_with_a_count_waits_for_room)
{
	static const struct kwq_limiter at_once[] = { FAST_SLOW(0, 0, 0) };
	const struct kwq_config config = config_of(at_once);
	struct sleeper s;

	self->q = new_queue_with(self->dev, CLOCK_MONOTONIC, 1, &config);
	ASSERT_LE(0, self->q);
	expect_delay(self->q, "a", 0);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	start_add(&s, self->q, "a");
	expect_take(self->q, "b");
	EXPECT_EQ(KWQ_ADDED, sleeper_join(&s));
	EXPECT_EQ(1, q_requeues(self->q, "a"));
	check_stat(self->q, .ready = 1, .items = 1);
}

/* Q10: a queue that is shut down remembers no counts and refuses rate-limited adds. */
TEST_F(limiter, shut_down)
{
	static const struct kwq_limiter exponential[] = { EXPONENTIAL(MSEC, SEC) };
	const struct kwq_config config = config_of(exponential);
	struct item item;

	limit(self, config);
	expect_delay(self->q, "a", 1 * MSEC);
	expect_delay(self->q, "b", 1 * MSEC);
	EXPECT_EQ(KWQ_WAITING, q_add_rate_limited(self->q, "b"));
	EXPECT_EQ(KWQ_WAITING, q_add_rate_limited(self->q, "h"));
	EXPECT_EQ(0, q_advance(self->q, MSEC));
	expect_next(self->q, &item, "h");
	ASSERT_EQ(0, q_shut_down(self->q));
	check_stat(self->q, .processing = 1, .items = 1, .state = KWQ_STATE_SHUT_DOWN);
	EXPECT_EQ(-ESHUTDOWN, q_add_rate_limited(self->q, "a"));
	EXPECT_EQ(-ESHUTDOWN, q_add_rate_limited(self->q, "h"));
	EXPECT_EQ(1, q_requeues(self->q, "h"));
	EXPECT_EQ(0, q_requeues(self->q, "a"));
	EXPECT_EQ(0, q_forget(self->q, "a"));
	EXPECT_EQ(0, q_configure(self->q, &config));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	check_stat(self->q, .items = 0, .state = KWQ_STATE_SHUT_DOWN);
}

/* One limiter of each kind. */
static const struct kwq_limiter of_all_kinds[] = {
	BUCKET(7, 3 * SEC, 5),
	EXPONENTIAL(3, 1000),
	FAST_SLOW(1, 2, 3),
	{
		.kind = KWQ_LIMITER_BACKOFF,
		.u.backoff = {
			.duration = 11, .cap = 99, .factor = 3 * KWQ_ONE, .jitter = 17, .steps = 4,
		},
	},
};

/* The configuration that is read equals the one that was written. */
TEST_F(limiter, config)
{
	static const struct kwq_limiter standard[] = {
		EXPONENTIAL(5 * MSEC, 1000 * SEC), BUCKET(10, SEC, 100),
	};
	struct kwq_limiter limiters[20];
	struct kwq_config config = config_of(of_all_kinds), told;

	config.flags = KWQ_CONFIG_COALESCE;
	config.max_wait = TIME_MAX;
	config.forget_after = TIME_MAX - 1;
	config.dead_after = ~0U;
	config.dead_after_lost = ~0U - 1;
	limit(self, config);
	for (int room = 4; room <= 20; room += 8) {
		ASSERT_EQ(0, q_config(self->q, &told, limiters, room));
		EXPECT_EQ(KWQ_CONFIG_COALESCE, told.flags);
		EXPECT_EQ(TIME_MAX, told.max_wait);
		EXPECT_EQ(TIME_MAX - 1, told.forget_after);
		EXPECT_EQ(~0U, told.dead_after);
		EXPECT_EQ(~0U - 1, told.dead_after_lost);
		EXPECT_EQ(4, told.nr);
		EXPECT_EQ(sizeof(limiters[0]), told.limiter_size);
		EXPECT_EQ(0, memcmp(of_all_kinds, limiters, sizeof(of_all_kinds)));
	}
	/* Less room for limiters, and none. */
	for (int room = 3; room >= 0; room--) {
		poison(limiters, sizeof(limiters));
		ASSERT_EQ(0, q_config(self->q, &told, limiters, room));
		EXPECT_EQ(4, told.nr);
		EXPECT_EQ(0, memcmp(of_all_kinds, limiters, room * sizeof(limiters[0])));
	}

	config = default_config();
	ASSERT_EQ(0, q_configure(self->q, &config));
	ASSERT_EQ(0, q_config(self->q, &told, limiters, 20));
	EXPECT_EQ(0, told.flags);
	EXPECT_EQ(0, told.max_wait);
	EXPECT_EQ(0, told.forget_after);
	EXPECT_EQ(0, told.dead_after);
	EXPECT_EQ(0, told.dead_after_lost);
	ASSERT_EQ(2, told.nr);
	EXPECT_EQ(0, memcmp(standard, limiters, sizeof(standard)));
}

/* U3: a program with longer or shorter limiter structures. */
TEST_F(limiter, limiter_size)
{
	const size_t size = sizeof(struct kwq_limiter);
	const struct kwq_limiter one = EXPONENTIAL(1, 2);
	struct kwq_config config = default_config(), told = default_config();
	__u8 array[2 * 4096];

	limit(self, default_config());
	config.nr = 2;
	config.limiters = user_ptr(array);
	told.nr = 2;
	told.limiters = user_ptr(array);
	for (size_t longer = size; longer <= 4096; longer += longer == size ? 8 : 4096 - size - 8) {
		struct kwq_config out = told;

		memset(array, 0, sizeof(array));
		memcpy(array, &one, size);
		memcpy(array + longer, &of_all_kinds[0], size);
		config.limiter_size = longer;
		EXPECT_EQ(0, q_configure(self->q, &config));

		poison(array, sizeof(array));
		out.limiter_size = longer;
		ASSERT_EQ(0, request(self->q, KWQ_IOC_CONFIG, &out));
		EXPECT_EQ(2, out.nr);
		for (int i = 0; i < 2; i++) {
			__u8 *at = array + i * longer;

			EXPECT_EQ(0, memcmp(at, i ? &of_all_kinds[0] : &one, size));
			EXPECT_TRUE(is_zero(at + size, longer - size));
		}
		EXPECT_TRUE(is_poison(array + 2 * longer, sizeof(array) - 2 * longer));

		if (longer == size)
			continue;
		memset(array, 0, sizeof(array));
		memcpy(array, &one, size);
		memcpy(array + longer, &one, size);
		array[2 * longer - 1] = 1;
		EXPECT_EQ(-E2BIG, q_configure(self->q, &config));
		array[2 * longer - 1] = 0;
		array[size] = 1;
		EXPECT_EQ(-E2BIG, q_configure(self->q, &config));
	}
	for (__u32 wrong = 0; wrong < size; wrong++) {
		config.limiter_size = wrong;
		EXPECT_EQ(-EINVAL, q_configure(self->q, &config));
		told.limiter_size = wrong;
		EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_CONFIG, &told));
	}
	config.limiter_size = 4097;
	EXPECT_EQ(-EINVAL, q_configure(self->q, &config));
	config.limiter_size = ~0U;
	EXPECT_EQ(-EINVAL, q_configure(self->q, &config));
	told.limiter_size = 4097;
	EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_CONFIG, &told));
	told.limiter_size = ~0U;
	EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_CONFIG, &told));

	/* The refused requests changed nothing. */
	ASSERT_EQ(0, q_config(self->q, &told, (struct kwq_limiter *)array, 8));
	ASSERT_EQ(2, told.nr);
	EXPECT_EQ(0, memcmp(array, &one, size));
	EXPECT_EQ(0, memcmp(array + size, &of_all_kinds[0], size));
}

/* Bad input */

#define BEYOND	(TIME_MAX + 1)

static const struct kwq_limiter bad_limiters[] = {
	{ .kind = 0 },
	{ .kind = KWQ_LIMITER_BACKOFF + 1 },
	{ .kind = ~0U },
	{ .kind = KWQ_LIMITER_FAST_SLOW, .pad = 1 },
	EXPONENTIAL(0, 1),
	EXPONENTIAL(0, 0),
	EXPONENTIAL(2, 1),
	EXPONENTIAL(1, BEYOND),
	EXPONENTIAL(BEYOND, BEYOND),
	EXPONENTIAL(1, ~0ULL),
	FAST_SLOW(BEYOND, 0, 0),
	FAST_SLOW(0, BEYOND, 0),
	FAST_SLOW(~0ULL, ~0ULL, 0),
	{ .kind = KWQ_LIMITER_FAST_SLOW, .u.fast_slow.pad = 1 },
	BUCKET(0, SEC, 1),
	BUCKET(1, SEC, 0),
	BUCKET(1, 0, 1),
	BUCKET(1, BEYOND, 1),
	BUCKET(1, ~0ULL, 1),
	BACKOFF(.duration = BEYOND),
	BACKOFF(.cap = BEYOND),
	BACKOFF(.steps = KWQ_LIMITER_STEPS_MAX + 1),
	BACKOFF(.steps = ~0U),
	BACKOFF(.pad = 1),
};

static const struct kwq_limiter edges[] = {
	EXPONENTIAL(1, 1),
	EXPONENTIAL(TIME_MAX, TIME_MAX),
	FAST_SLOW(0, 0, 0),
	FAST_SLOW(TIME_MAX, TIME_MAX, ~0U),
	BUCKET(1, 1, 1),
	BUCKET(~0U, TIME_MAX, ~0U),
	BACKOFF(.duration = 0),
	BACKOFF(.duration = 1, .factor = 1, .steps = 1),
	BACKOFF(.duration = SEC, .factor = KWQ_ONE - 1, .steps = KWQ_LIMITER_STEPS_MAX),
	BACKOFF(.duration = TIME_MAX, .cap = TIME_MAX, .factor = ~0U, .jitter = ~0U,
		.steps = KWQ_LIMITER_STEPS_MAX),
};

#define NR_EDGES ((int)ARRAY_SIZE(edges))

/* CONFIGURE refuses this and changes nothing; CREATE refuses it and creates nothing. */
static void check_refused(struct __test_metadata *_metadata, limiter_fixture *self, int err,
			  const struct kwq_config *config)
{
	struct kwq_limiter before[KWQ_LIMITERS_MAX], after[KWQ_LIMITERS_MAX];
	struct kwq_config told_before, told_after;
	struct kwq_create_args create = {
		.size = sizeof(create),
		.open_flags = O_CLOEXEC,
		.rights = ALL_RIGHTS,
		.mode = 0700,
		.clockid = KWQ_CLOCK_ID_MANUAL,
		.config = user_ptr(config),
	};
	int fd;

	memset(before, 0, sizeof(before));
	memset(after, 0, sizeof(after));
	ASSERT_EQ(0, q_config(self->q, &told_before, before, KWQ_LIMITERS_MAX));
	EXPECT_EQ(err, q_configure(self->q, config));
	ASSERT_EQ(0, q_config(self->q, &told_after, after, KWQ_LIMITERS_MAX));
	told_after.limiters = told_before.limiters;
	EXPECT_EQ(0, memcmp(&told_before, &told_after, sizeof(told_after)));
	EXPECT_EQ(0, memcmp(before, after, sizeof(after)));

	set_name(create.name, "limiter.bad");
	fd = next_fd();
	EXPECT_EQ(err, request(self->dev, KWQ_IOC_CREATE, &create));
	EXPECT_EQ(fd, next_fd());
	EXPECT_EQ(-ENOENT, q_open(self->dev, "limiter.bad", 0));
}

TEST_F(limiter, bad_limiters)
{
	struct kwq_limiter some[KWQ_LIMITERS_MAX];
	struct kwq_config config;

	limit(self, config_of(of_all_kinds));
	for (int i = 0; i < ARRAY_SIZE(bad_limiters); i++) {
		for (int nr = 1; nr <= KWQ_LIMITERS_MAX; nr += KWQ_LIMITERS_MAX - 1) {
			for (int n = 0; n < KWQ_LIMITERS_MAX; n++)
				some[n] = edges[n];
			/* The bad limiter alone, and as the last one behind good ones. */
			some[nr - 1] = bad_limiters[i];
			config = config_of(some);
			config.nr = nr;
			check_refused(_metadata, self, -EINVAL, &config);
			if (!_metadata->exit_code)
				continue;
			TH_LOG("limiter %d, one of %d", i, nr);
			return;
		}
	}
	/* Values at the valid side of the edges work, in the largest configuration. */
	for (int first = 0; first <= NR_EDGES - KWQ_LIMITERS_MAX; first++) {
		int q = new_manual_queue(self->dev, NULL);

		ASSERT_LE(0, q);
		for (int n = 0; n < KWQ_LIMITERS_MAX; n++)
			some[n] = edges[first + n];
		config = config_of(some);
		EXPECT_EQ(0, q_configure(q, &config));
		EXPECT_EQ(KWQ_WAITING, q_add_rate_limited(q, "a"));
		expect_due(q, "a", TIME_MAX);
		close(q);
	}
}

/* U3: the bytes behind the used member of the union must be zero. */
TEST_F(limiter, nothing_behind_a_limiter)
{
	static const size_t used[] = { 24, 24, 32, 40 };	/* in of_all_kinds */

	limit(self, default_config());
	for (int i = 0; i < ARRAY_SIZE(of_all_kinds); i++) {
		for (size_t at = used[i]; at < sizeof(struct kwq_limiter); at++) {
			struct kwq_limiter one[] = { of_all_kinds[i] };
			const struct kwq_config config = config_of(one);

			((__u8 *)one)[at] = 1;
			EXPECT_EQ(-EINVAL, q_configure(self->q, &config)) {
				TH_LOG("kind %u, byte %zu", one->kind, at);
			}
		}
	}
}

TEST_F(limiter, bad_config)
{
	struct kwq_limiter nine[KWQ_LIMITERS_MAX + 1];
	const struct kwq_config right = config_of(of_all_kinds);
	struct kwq_config config;

	limit(self, config_of(of_all_kinds));
	for (int bit = 0; bit < 32; bit++) {
		config = right;
		config.flags = 1U << bit;
		if (config.flags != KWQ_CONFIG_COALESCE)
			check_refused(_metadata, self, -EINVAL, &config);
	}
	config = right;
	config.max_wait = BEYOND;
	check_refused(_metadata, self, -EINVAL, &config);
	config.max_wait = ~0ULL;
	check_refused(_metadata, self, -EINVAL, &config);
	config = right;
	config.forget_after = BEYOND;
	check_refused(_metadata, self, -EINVAL, &config);

	for (int i = 0; i < ARRAY_SIZE(nine); i++)
		nine[i] = (struct kwq_limiter)FAST_SLOW(0, 0, 0);
	config = config_of(nine);
	check_refused(_metadata, self, -EINVAL, &config);
	config.nr = ~0U;
	check_refused(_metadata, self, -EINVAL, &config);

	/* Without limiters, the address must be zero. */
	config = default_config();
	config.limiters = user_ptr(nine);
	check_refused(_metadata, self, -EINVAL, &config);
	config = default_config();
	config.limiter_size = sizeof(nine[0]);
	check_refused(_metadata, self, -EINVAL, &config);
}

/* Members that are filled in must be zero on entry. */
TEST_F(limiter, bad_config_out)
{
	struct kwq_limiter one;
	const struct kwq_config right = {
		.size = sizeof(right),
		.nr = 1,
		.limiters = user_ptr(&one),
		.limiter_size = sizeof(one),
	};
	struct kwq_config wrong[9];

	limit(self, config_of(of_all_kinds));
	for (int i = 0; i < ARRAY_SIZE(wrong); i++)
		wrong[i] = right;
	wrong[0].flags = KWQ_CONFIG_COALESCE;
	wrong[1].max_wait = 1;
	wrong[2].forget_after = 1;
	wrong[3].dead_after = 1;
	wrong[4].dead_after_lost = 1;
	wrong[5].nr = 0;
	wrong[6].nr = 0;
	wrong[6].limiters = 0;
	wrong[7].nr = 0;
	wrong[7].limiter_size = 0;
	wrong[8].limiter_size = 0;
	poison(&one, sizeof(one));
	for (int i = 0; i < ARRAY_SIZE(wrong); i++) {
		EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_CONFIG, &wrong[i])) {
			TH_LOG("config %d", i);
		}
	}
	EXPECT_TRUE(is_poison(&one, sizeof(one)));
}

/* An existing queue is opened unchanged, but the given configuration is still validated. */
TEST_F(limiter, create_or_open)
{
	static const struct kwq_limiter bad[] = { BUCKET(0, SEC, 1) };
	struct kwq_config config = config_of(of_all_kinds), told;
	struct kwq_create_args create = {
		.size = sizeof(create),
		.flags = KWQ_CREATE_OR_OPEN,
		.open_flags = O_CLOEXEC,
		.rights = ALL_RIGHTS,
		.mode = 0700,
		.clockid = KWQ_CLOCK_ID_MANUAL,
		.config = user_ptr(&config),
	};
	char name[32];
	int again;

	snprintf(name, sizeof(name), "limiter.%d", getpid());
	set_name(create.name, name);
	self->q = request(self->dev, KWQ_IOC_CREATE, &create);
	ASSERT_LE(0, self->q);
	config = default_config();
	again = request(self->dev, KWQ_IOC_CREATE, &create);
	EXPECT_LE(0, again);
	close(again);
	ASSERT_EQ(0, q_config(self->q, &told, NULL, 0));
	EXPECT_EQ(ARRAY_SIZE(of_all_kinds), told.nr);
	config = config_of(bad);
	EXPECT_EQ(-EINVAL, request(self->dev, KWQ_IOC_CREATE, &create));
	EXPECT_EQ(0, q_unlink(self->dev, name));
}

TEST_HARNESS_MAIN

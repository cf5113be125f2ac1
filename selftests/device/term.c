// SPDX-License-Identifier: GPL-2.0-only
/*
 * Q20: the term of a queue, from the view of its programs. kmod/tests/keyed/term_test.c tests what
 * a late timer must not let through.
 */
#include "kwq_test.h"

FIXTURE(term)
{
	int dev;
	int q;		/* of the manager, on a manual clock */
	int worker;	/* a second handle of the same queue */
};

FIXTURE_SETUP(term)
{
	self->dev = open_device();
	ASSERT_LE(0, self->dev);
	self->q = new_queue_with(self->dev, KWQ_CLOCK_ID_MANUAL, 0, NULL);
	ASSERT_LE(0, self->q);
	self->worker = q_reopen(self->q);
	ASSERT_LE(0, self->worker);
}

FIXTURE_TEARDOWN(term)
{
	close(self->worker);
	close(self->q);
	close(self->dev);
}

static short events_of(int q)
{
	struct pollfd pollfd = { .fd = q, .events = POLLIN | POLLOUT | POLLPRI };

	return poll(&pollfd, 1, 0) < 0 ? -1 : pollfd.revents;
}

#define EXPECT_TERM(q, when, over) ({					\
	struct kwq_stat stat_;						\
									\
	EXPECT_EQ(0, q_stat(q, &stat_));				\
	EXPECT_EQ((over) ? KWQ_STATE_TERM_OVER : 0, stat_.state);	\
	EXPECT_EQ(when, stat_.term);					\
})

/* What the statistics and poll show of a term, and what a late worker is told. */
TEST_F(term, ends_all_hand_outs)
{
	struct item held, item;

	EXPECT_TERM(self->q, KWQ_NO_DEADLINE, false);
	EXPECT_EQ(0, q_advance(self->q, 5));
	EXPECT_EQ(0, q_term_with(self->q, KWQ_TERM_RELATIVE, 10));
	EXPECT_TERM(self->worker, 15, false);
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "held"));
	EXPECT_EQ(1, q_try_get(self->worker, &held));
	EXPECT_EQ(0, q_advance(self->q, 10));
	EXPECT_TERM(self->worker, 15, true);
	EXPECT_EQ(-EAGAIN, q_try_get(self->worker, &item));
	EXPECT_EQ(-ETIMEDOUT, q_get(self->worker, &item, 0, 15));
	EXPECT_EQ(POLLOUT | POLLPRI, events_of(self->worker));
	EXPECT_EQ(POLLOUT, events_of(self->q));
	EXPECT_EQ(-ESTALE, q_done(self->worker, held.ticket));
	EXPECT_EQ(-ENOENT, q_extend_key(self->worker, "held"));
	EXPECT_EQ(-ESTALE, q_extend(self->worker, held.ticket));
	EXPECT_EQ(POLLOUT, events_of(self->worker));
	EXPECT_EQ(0, q_term(self->q, KWQ_NO_DEADLINE));
	EXPECT_TERM(self->worker, KWQ_NO_DEADLINE, false);
	EXPECT_EQ(POLLIN | POLLOUT, events_of(self->worker));
	expect_take(self->worker, "held");
}

/* On a real clock, with nobody who calls at that time: the timer takes the item back. */
TEST_F(term, timer_takes_back)
{
	const __u32 clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME };

	for (int i = 0; i < ARRAY_SIZE(clocks); i++) {
		int q = new_queue_with(self->dev, clocks[i], 0, NULL);
		int worker = q_reopen(q);
		struct sleeper poller, getter;
		struct item item;

		ASSERT_LE(0, worker);
		EXPECT_EQ(KWQ_ADDED, q_add(q, "a"));
		EXPECT_EQ(1, q_try_get(worker, &item));
		start_poll(&poller, worker, POLLPRI);
		EXPECT_EQ(0, q_term_with(q, KWQ_TERM_RELATIVE, 1000000));
		EXPECT_EQ(POLLPRI, sleeper_join(&poller));
		EXPECT_EQ(-ESTALE, q_done(worker, item.ticket));
		EXPECT_EQ(-EAGAIN, q_try_get(worker, &item));
		start_get(&getter, worker);
		EXPECT_FALSE(atomic_load(&getter.ended));
		start_poll(&poller, q, POLLIN);
		EXPECT_EQ(0, q_term_with(q, KWQ_TERM_RELATIVE, HOUR));
		EXPECT_EQ(1, sleeper_join(&getter));
		EXPECT_EQ(0, q_term(q, 1));
		EXPECT_EQ(0, q_term(q, KWQ_NO_DEADLINE));
		EXPECT_EQ(POLLIN, sleeper_join(&poller));
		close(worker);
		close(q);
	}
}

/* A get hands nothing out, be it alone, with a done, or a batch. */
TEST_F(term, in_one_call_with_a_done)
{
	struct kwq_done_entry done = {};
	struct kwq_got got = {};
	__s32 result = 99;
	struct kwq_get_args get = GET_ARGS(&got, 0, 0, 1, .flags = KWQ_GET_NONBLOCK,
					   GET_DONE(&done, &result));
	struct item items[2];
	char key[8];

	get.get.keys = user_ptr(key);
	get.get.keys_len = sizeof(key);
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	EXPECT_EQ(1, q_try_get(self->q, items));
	EXPECT_EQ(0, q_term(self->q, 0));
	done.ticket = items[0].ticket;
	EXPECT_EQ(-EAGAIN, request(self->q, KWQ_IOC_GET, &get));
	EXPECT_EQ(-ESTALE, result);
	EXPECT_EQ(-EAGAIN, q_get_many(self->q, items, 2, KWQ_GET_NONBLOCK, 0));
	EXPECT_EQ(0, q_term(self->q, 1));
	EXPECT_EQ(2, q_get_many(self->q, items, 2, KWQ_GET_NONBLOCK, 0));
}

/* A term belongs to the queue. The death of the manager changes nothing. */
TEST_F(term, outlives_the_manager)
{
	struct item item;

	EXPECT_EQ(0, q_term(self->q, 10));
	close(self->q);
	self->q = q_reopen(self->worker);
	ASSERT_LE(0, self->q);
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(1, q_try_get(self->worker, &item));
	EXPECT_EQ(0, q_advance(self->q, 10));
	EXPECT_EQ(-ESTALE, q_done(self->worker, item.ticket));
}

/* N8: a follower need not keep the term. It sees that the items are ready again. */
TEST_F(term, is_no_change_of_the_queue)
{
	int q = new_flagged_queue(self->dev, KWQ_CREATE_CHANGES);
	struct kwq_stat before, after;
	struct item item;

	ASSERT_LE(0, q);
	EXPECT_EQ(KWQ_ADDED, q_add(q, "a"));
	EXPECT_EQ(1, q_try_get(q, &item));
	EXPECT_EQ(0, q_stat(q, &before));
	EXPECT_EQ(0, q_term_with(q, KWQ_TERM_RELATIVE, HOUR));
	EXPECT_EQ(0, q_stat(q, &after));
	EXPECT_EQ(before.last_change, after.last_change);
	EXPECT_EQ(0, q_term(q, 0));
	EXPECT_EQ(0, q_stat(q, &after));
	EXPECT_EQ(before.last_change + 1, after.last_change);
	close(q);
}

TEST_HARNESS_MAIN

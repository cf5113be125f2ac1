// SPDX-License-Identifier: GPL-2.0-only
/*
 * The term of a queue (Q20): term.c, and what other files do about it, on a manual clock. The clock
 * stands, or passes with or without a turn of the timer.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include "keyed_ops.h"
#include "tests/form.h"
#include "tests/thread.h"

#define TERM		1000
#define LEASE		300
#define NR_MANY		(2 * KWQ_READY_PER_HOLD + 1)

struct term_test {
	KWQ_TEST_HANDLES;
	struct kwq_got got[NR_MANY];
	u8 keys[NR_MANY * sizeof(u32)];
	struct kwq_stat stat;
	struct kwq_test_thread thread;
	int result;
};

static int term_test_init(struct kunit *test)
{
	static const struct kwq_limits limits = { U32_MAX, U32_MAX };

	return kwq_test_begin(test, sizeof(struct term_test), &limits, KWQ_RIGHT_READ);
}

static int add(struct term_test *t, const struct kwq_key *key)
{
	return kwq_keyed_add(t->keyed, key, &(struct kwq_add_options){});
}

static void add_many(struct term_test *t)
{
	struct kwq_key key;
	u32 i;

	key = (struct kwq_key){ (u8 *)&i, sizeof(i) };
	for (i = 0; i < NR_MANY; i++)
		add(t, &key);
}

/* Time passes, and the timer has its turn. */
static void advance(struct term_test *t, u64 ns)
{
	kwq_queue_advance_by(&t->keyed->queue, ns);
}

/* Time passes, and the timer is late. */
static void pass(struct term_test *t, u64 ns)
{
	kwq_begin_advance_by(&t->keyed->queue, ns);
}

static int get_some_of(struct term_test *t, struct kwq_handle *handle, u32 nr,
		       const struct kwq_patience *patience)
{
	struct kwq_got_buffer buffer = {
		.got = t->got,
		.keys = t->keys,
		.max_items = nr,
		.max_key_bytes = sizeof(t->keys),
	};

	return kwq_handle_get(handle, &buffer, patience);
}

static int get_some(struct term_test *t, struct kwq_handle *handle, u32 nr)
{
	return get_some_of(t, handle, nr, &at_once);
}

/* Gets one item. Returns its ticket; 0 if none is handed out. */
static u64 get(struct term_test *t, struct kwq_handle *handle)
{
	return get_some(t, handle, 1) == 1 ? t->got[0].ticket : 0;
}

static int done(struct kwq_handle *handle, u64 ticket)
{
	return kwq_handle_done(handle, ticket, 0);
}

static int set_term(struct term_test *t, ktime_t term)
{
	return kwq_keyed_set_term(t->keyed, term);
}

static u32 nr_held(const struct term_test *t)
{
	return t->keyed->queue.core.nr_processing;
}

/* Does a poll of a handle find the queue readable? It asks as queue_poll() does. */
static bool is_readable(struct term_test *t, struct kwq_handle *handle)
{
	struct kwq_queue *q = &t->keyed->queue;
	unsigned long flags;
	bool ret;

	spin_lock_irqsave(&q->lock, flags);
	kwq_term_is_over_locked(t->keyed);
	ret = !kwq_get_would_wait_locked(q, &handle->holder);
	spin_unlock_irqrestore(&q->lock, flags);
	return ret;
}

static void term_ends_all_hand_outs(struct kunit *test)
{
	struct term_test *t = test->priv;
	u64 a;

	/* Q20 D5 */
	KUNIT_EXPECT_EQ(test, set_term(t, TERM), 0);
	add(t, KEY("a"));
	add(t, KEY("b"));
	advance(t, TERM - 1);
	a = get(t, t->x);
	KUNIT_EXPECT_NE(test, a, 0);
	KUNIT_EXPECT_TRUE(test, is_readable(t, t->y));

	advance(t, 1);
	KUNIT_EXPECT_EQ(test, nr_held(t), 0);
	KUNIT_EXPECT_EQ(test, kwq_len(&t->keyed->queue), 2);
	KUNIT_EXPECT_FALSE(test, is_readable(t, t->y));
	KUNIT_EXPECT_EQ(test, get_some(t, t->y, 2), -EAGAIN);
	KUNIT_EXPECT_TRUE(test, t->x->has_lost);
	KUNIT_EXPECT_FALSE(test, t->y->has_lost);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.abandoned, 1);
	KUNIT_EXPECT_EQ(test, t->keyed->expired, 0);
	KUNIT_EXPECT_EQ(test, done(t->x, a), -ESTALE);
	KUNIT_EXPECT_EQ(test, kwq_handle_extend(t->x, a), -ESTALE);
	/* D6: nothing is left to do. */
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(&t->keyed->queue), KTIME_MAX);

	/* Adds go on. */
	KUNIT_EXPECT_EQ(test, add(t, KEY("a")), KWQ_COALESCED);
	KUNIT_EXPECT_EQ(test, add(t, KEY("c")), KWQ_ADDED);
	KUNIT_EXPECT_EQ(test, get(t, t->y), 0);

	KUNIT_EXPECT_EQ(test, set_term(t, 2 * TERM), 0);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(&t->keyed->queue), 2 * TERM);
	KUNIT_EXPECT_TRUE(test, is_readable(t, t->y));
	KUNIT_EXPECT_EQ(test, get_some(t, t->y, NR_MANY), 3);
	/* O1: the lost one comes first. */
	KUNIT_EXPECT_EQ(test, t->keys[0], 'a');
	KUNIT_EXPECT_EQ(test, t->got[0].abandoned, 1);
	KUNIT_EXPECT_EQ(test, t->got[1].abandoned, 0);
	KUNIT_EXPECT_EQ(test, done(t->x, a), -ESTALE);
	KUNIT_EXPECT_EQ(test, done(t->y, t->got[0].ticket), KWQ_FINISHED);
}

static void nothing_is_handed_out_before_the_late_timer(struct kunit *test)
{
	struct term_test *t = test->priv;

	/* Q20 */
	set_term(t, TERM);
	add(t, KEY("a"));
	pass(t, TERM);
	KUNIT_EXPECT_EQ(test, get(t, t->x), 0);
	KUNIT_EXPECT_TRUE(test, kwq_core_term_is_over(&t->keyed->queue.core));
	KUNIT_EXPECT_EQ(test, get(t, t->x), 0);
	/* Nobody asked before, so the poller looks at the clock itself. */
	set_term(t, 2 * TERM);
	KUNIT_EXPECT_TRUE(test, is_readable(t, t->x));
	pass(t, TERM);
	KUNIT_EXPECT_FALSE(test, is_readable(t, t->x));
}

/* Everything that its holder may do with an item, by ticket and by key. */
static void late_calls_change_nothing(struct kunit *test)
{
	struct term_test *t = test->priv;
	int call, ret;
	u64 ticket;

	/* Q20 O3: the first call after the end, and the second, before a turn of the timer */
	for (call = 0; call < 14; call++) {
		set_term(t, kwq_queue_now(&t->keyed->queue) + TERM);
		add(t, KEY("a"));
		ticket = get(t, t->x);
		KUNIT_ASSERT_NE(test, ticket, 0);
		pass(t, TERM);
		if (call % 2)
			KUNIT_EXPECT_EQ(test, done(t->x, ticket), -ESTALE);
		switch (call / 2) {
		case 0:
			ret = done(t->x, ticket);
			break;
		case 1:
			ret = kwq_handle_extend(t->x, ticket);
			break;
		case 2:
			ret = kwq_handle_done(t->x, ticket, KWQ_DONE_DEAD);
			break;
		case 3:
			ret = kwq_handle_done(t->x, ticket, KWQ_DONE_RETURN);
			break;
		case 4:
			ret = kwq_handle_done_key(t->x, KEY("a"), 0);
			break;
		case 5:
			ret = kwq_handle_extend_key(t->x, KEY("a"));
			break;
		case 6:
			ret = kwq_handle_done_key(t->x, KEY("a"), KWQ_DONE_RETURN);
			break;
		}
		KUNIT_EXPECT_EQ(test, ret, call / 2 < 4 ? -ESTALE : -ENOENT);
		KUNIT_EXPECT_EQ(test, nr_held(t), 1);
		/* The timer comes, and all is as if the call had not been made. */
		advance(t, 0);
		KUNIT_EXPECT_EQ(test, kwq_len(&t->keyed->queue), 1);
		KUNIT_EXPECT_EQ(test, nr_held(t), 0);
		KUNIT_EXPECT_EQ(test, t->keyed->of_core.abandoned, call + 1);
	}
}

static void late_done_and_get_does_neither(struct kunit *test)
{
	struct term_test *t = test->priv;
	struct kwq_got_buffer buffer = {
		.got = t->got,
		.keys = t->keys,
		.max_items = 1,
		.max_key_bytes = sizeof(t->keys),
	};
	u64 ticket;
	s32 result;

	set_term(t, TERM);
	add(t, KEY("a"));
	add(t, KEY("b"));
	ticket = get(t, t->x);
	KUNIT_EXPECT_EQ(test, kwq_handle_done_and_get(t->x, ticket, 0, &result, &buffer), 1);
	KUNIT_EXPECT_EQ(test, result, KWQ_FINISHED);
	ticket = t->got[0].ticket;
	add(t, KEY("c"));
	pass(t, TERM);
	KUNIT_EXPECT_EQ(test, kwq_handle_done_and_get(t->x, ticket, 0, &result, &buffer), 0);
	KUNIT_EXPECT_EQ(test, result, -ESTALE);
	KUNIT_EXPECT_EQ(test, nr_held(t), 1);
}

static void new_term_wakes(struct kunit *test)
{
	struct term_test *t = test->priv;

	/* Q20 Q5: the pause that is over at last, of both kinds */
	add(t, KEY("a"));
	set_term(t, 0);
	kwq_keyed_pause(t->keyed, KTIME_MAX);
	KUNIT_EXPECT_EQ(test, set_term(t, TERM), 0);
	KUNIT_EXPECT_EQ(test, get(t, t->x), 0);
	kwq_keyed_resume(t->keyed);
	KUNIT_EXPECT_NE(test, get(t, t->x), 0);
	set_term(t, 0);
	kwq_keyed_pause(t->keyed, KTIME_MAX);
	kwq_keyed_resume(t->keyed);
	KUNIT_EXPECT_EQ(test, get(t, t->x), 0);
	set_term(t, KTIME_MAX);
	KUNIT_EXPECT_NE(test, get(t, t->x), 0);
	KUNIT_EXPECT_EQ(test, t->keyed->queue.core.unusual, 0);
}

static void wait_for_an_item(void *data)
{
	struct term_test *t = data;

	WRITE_ONCE(t->result, get_some_of(t, t->x, 1, &for_ever));
}

static void new_term_wakes_a_getter(struct kunit *test)
{
	struct term_test *t = test->priv;
	wait_queue_head_t *getters = &t->keyed->queue.getters;

	/* Q20 Q5 */
	add(t, KEY("a"));
	set_term(t, 0);
	kwq_test_thread_start(test, &t->thread, wait_for_an_item, t);
	kwq_test_wait_until(test, kwq_test_nr_sleepers(getters) == 1);
	/* One more item, another pause, a term that is over: nobody is woken. */
	add(t, KEY("b"));
	kwq_keyed_pause(t->keyed, KTIME_MAX);
	kwq_keyed_resume(t->keyed);
	set_term(t, 0);
	KUNIT_EXPECT_EQ(test, kwq_test_nr_sleepers(getters), 1);
	set_term(t, TERM);
	kwq_test_thread_join(test, &t->thread);
	KUNIT_EXPECT_EQ(test, t->result, 1);
}

static void timed_pause_and_term(struct kunit *test)
{
	struct term_test *t = test->priv;
	struct kwq_queue *q = &t->keyed->queue;

	/* Q14 Q20: the timer ends the pause of a queue whose term runs, or is not over any more. */
	add(t, KEY("a"));
	set_term(t, TERM);
	kwq_keyed_pause(t->keyed, TERM / 2);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), TERM / 2);
	set_term(t, 0);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), KTIME_MAX);
	set_term(t, TERM);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(q), TERM / 2);
	advance(t, TERM / 2);
	KUNIT_EXPECT_NE(test, get(t, t->x), 0);
}

static void term_that_has_passed_ends_all_now(struct kunit *test)
{
	struct term_test *t = test->priv;

	/* Q20: all is taken back when the call returns, however much it is. */
	advance(t, 10);
	add_many(t);
	KUNIT_ASSERT_EQ(test, get_some(t, t->x, NR_MANY - 1), NR_MANY - 1);
	KUNIT_ASSERT_NE(test, get(t, t->y), 0);
	KUNIT_EXPECT_EQ(test, set_term(t, 10), 0);
	KUNIT_EXPECT_EQ(test, nr_held(t), 0);
	KUNIT_EXPECT_EQ(test, kwq_len(&t->keyed->queue), NR_MANY);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(&t->keyed->queue), KTIME_MAX);
	/* Once more, with nothing to take back. */
	KUNIT_EXPECT_EQ(test, set_term(t, 5), 0);
	KUNIT_EXPECT_EQ(test, get(t, t->x), 0);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.abandoned, NR_MANY);
}

static void term_that_is_set_too_late_saves_nothing(struct kunit *test)
{
	struct term_test *t = test->priv;

	/* Q20: with a later term, and with none */
	add_many(t);
	set_term(t, TERM);
	KUNIT_ASSERT_EQ(test, get_some(t, t->x, NR_MANY), NR_MANY);
	pass(t, TERM);
	KUNIT_EXPECT_EQ(test, set_term(t, 2 * TERM), 0);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.abandoned, NR_MANY);
	KUNIT_ASSERT_EQ(test, get_some(t, t->x, NR_MANY), NR_MANY);
	pass(t, TERM);
	KUNIT_EXPECT_EQ(test, set_term(t, KTIME_MAX), 0);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.abandoned, 2 * NR_MANY);
	KUNIT_EXPECT_EQ(test, nr_held(t), 0);
	KUNIT_ASSERT_EQ(test, get_some(t, t->x, NR_MANY), NR_MANY);
	advance(t, KTIME_MAX);
	KUNIT_EXPECT_EQ(test, nr_held(t), NR_MANY);
}

static void term_that_is_set_in_time_loses_nothing(struct kunit *test)
{
	struct term_test *t = test->priv;
	u64 ticket;
	int i;

	/* Q20 D6: a manager that is alive */
	add(t, KEY("a"));
	set_term(t, TERM);
	ticket = get(t, t->x);
	for (i = 1; i < 10; i++) {
		advance(t, TERM - 1);
		KUNIT_EXPECT_EQ(test, set_term(t, t->keyed->queue.manual_now + TERM), 0);
		KUNIT_EXPECT_LE(test, kwq_test_next_time(&t->keyed->queue), t->keyed->term);
	}
	/* An earlier term holds, too. */
	set_term(t, t->keyed->queue.manual_now + 1);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(&t->keyed->queue), t->keyed->queue.manual_now + 1);
	KUNIT_EXPECT_EQ(test, done(t->x, ticket), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.abandoned, 0);
}

static void many_are_taken_back_in_pieces(struct kunit *test)
{
	struct term_test *t = test->priv;
	struct kwq_queue *q = &t->keyed->queue;

	/* Q20 O8: nothing is handed out or done meanwhile. */
	add_many(t);
	set_term(t, TERM);
	KUNIT_ASSERT_EQ(test, get_some(t, t->x, NR_MANY), NR_MANY);
	KUNIT_EXPECT_TRUE(test, kwq_advance_some(q, TERM));
	KUNIT_EXPECT_EQ(test, kwq_len(q), KWQ_READY_PER_HOLD);
	KUNIT_EXPECT_EQ(test, get_some(t, t->y, 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, done(t->x, t->got[NR_MANY - 1].ticket), -ESTALE);
	KUNIT_EXPECT_TRUE(test, kwq_advance_some(q, TERM));
	KUNIT_EXPECT_EQ(test, kwq_len(q), 2 * KWQ_READY_PER_HOLD);
	KUNIT_EXPECT_FALSE(test, kwq_advance_some(q, TERM));
	KUNIT_EXPECT_EQ(test, kwq_len(q), NR_MANY);
}

static void term_and_leases(struct kunit *test)
{
	static const struct kwq_limits limits = { U32_MAX, U32_MAX, LEASE };
	struct term_test *t = test->priv;
	u64 a, b;

	/* Q20 O3: each ends at its own time, and an extended lease ends at the end of the term. */
	kwq_test_open_again(test, &limits, KWQ_RIGHT_READ);
	set_term(t, TERM);
	add(t, KEY("a"));
	add(t, KEY("b"));
	a = get(t, t->x);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(&t->keyed->queue), LEASE);
	advance(t, LEASE);
	KUNIT_EXPECT_EQ(test, t->keyed->expired, 1);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(&t->keyed->queue), TERM);
	KUNIT_EXPECT_EQ(test, done(t->x, a), -ESTALE);
	KUNIT_ASSERT_EQ(test, get_some(t, t->x, 2), 2);
	a = t->got[0].ticket;
	b = t->got[1].ticket;
	advance(t, LEASE - 1);
	KUNIT_EXPECT_EQ(test, kwq_handle_extend(t->x, a), 0);
	KUNIT_EXPECT_EQ(test, kwq_handle_extend(t->x, b), 0);
	advance(t, LEASE - 1);
	KUNIT_EXPECT_EQ(test, kwq_handle_extend(t->x, a), 0);
	KUNIT_EXPECT_EQ(test, kwq_handle_extend(t->x, b), 0);
	KUNIT_EXPECT_EQ(test, t->keyed->expired, 1);
	advance(t, TERM - 3 * LEASE + 2);
	KUNIT_EXPECT_EQ(test, nr_held(t), 0);
	KUNIT_EXPECT_EQ(test, t->keyed->expired, 1);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.abandoned, 3);
	KUNIT_EXPECT_TRUE(test, list_empty(&t->keyed->leases));
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(&t->keyed->queue), KTIME_MAX);
}

static void lost_too_often_by_the_term(struct kunit *test)
{
	static const struct kwq_limits limits = { U32_MAX, U32_MAX, LEASE };
	struct term_test *t = test->priv;

	/* L12 O9: as by a lease. After a shut down, the item is gone, and a worker frees it. */
	kwq_test_open_again(test, &limits, KWQ_RIGHT_READ);
	kwq_configure(&t->keyed->queue, &(struct kwq_limiter_config){ .dead_after_lost = 1 });
	add(t, KEY("a"));
	add(t, KEY("a key that is too long for a small item"));
	KUNIT_EXPECT_NE(test, get(t, t->x), 0);
	set_term(t, 0);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.nr_dead, 1);
	set_term(t, TERM);
	KUNIT_EXPECT_NE(test, get(t, t->x), 0);
	kwq_keyed_shut_down(t->keyed);
	advance(t, TERM);
	KUNIT_EXPECT_EQ(test, t->keyed->nr_items, 0);
	KUNIT_EXPECT_TRUE(test, kwq_core_is_drained(&t->keyed->queue.core));
	kwq_test_wait_until(test, !READ_ONCE(t->keyed->gone));
}

static void term_after_a_shut_down(struct kunit *test)
{
	struct term_test *t = test->priv;

	/* Q20 Q8: as for a pause. Ready items wait, and an empty queue is drained. */
	add(t, KEY("a"));
	add(t, KEY("b"));
	KUNIT_EXPECT_NE(test, get(t, t->x), 0);
	set_term(t, TERM);
	kwq_keyed_shut_down(t->keyed);
	advance(t, TERM);
	KUNIT_EXPECT_FALSE(test, is_readable(t, t->x));
	KUNIT_EXPECT_EQ(test, get_some(t, t->x, 2), -EAGAIN);
	KUNIT_EXPECT_FALSE(test, kwq_core_is_drained(&t->keyed->queue.core));
	KUNIT_EXPECT_EQ(test, set_term(t, 2 * TERM), 0);
	KUNIT_ASSERT_EQ(test, get_some(t, t->x, 2), 2);
	KUNIT_EXPECT_EQ(test, done(t->x, t->got[0].ticket), KWQ_FINISHED);
	KUNIT_EXPECT_EQ(test, done(t->x, t->got[1].ticket), KWQ_FINISHED);
	set_term(t, 0);
	KUNIT_EXPECT_EQ(test, get_some(t, t->x, 2), -ESHUTDOWN);
}

static void term_of_a_queue_without_durations(struct kunit *test)
{
	static const struct kwq_limits limits = { U32_MAX, U32_MAX, .no_durations = true };
	struct term_test *t = test->priv;
	u64 ticket;

	/* Q20 M1: such a queue reads the clock for its term all the same. */
	kwq_test_open_again(test, &limits, KWQ_RIGHT_READ);
	set_term(t, TERM);
	add(t, KEY("a"));
	add(t, KEY("b"));
	ticket = get(t, t->x);
	KUNIT_EXPECT_NE(test, ticket, 0);
	pass(t, TERM);
	KUNIT_EXPECT_EQ(test, done(t->x, ticket), -ESTALE);
	KUNIT_EXPECT_EQ(test, get(t, t->y), 0);
	advance(t, 0);
	KUNIT_EXPECT_EQ(test, nr_held(t), 0);
}

static void undone_hand_out_after_the_term(struct kunit *test)
{
	struct term_test *t = test->priv;

	/* O2: it did not reach its reader, so nothing is lost. */
	set_term(t, TERM);
	add(t, KEY("a"));
	KUNIT_EXPECT_NE(test, get(t, t->x), 0);
	pass(t, TERM);
	kwq_handle_unget(t->x, t->got, 1);
	advance(t, 0);
	KUNIT_EXPECT_EQ(test, kwq_len(&t->keyed->queue), 1);
	KUNIT_EXPECT_EQ(test, t->keyed->of_core.abandoned, 0);
}

static void stat_of_a_term(struct kunit *test)
{
	struct term_test *t = test->priv;
	struct kwq_stat *s = &t->stat;

	kwq_keyed_stat(t->keyed, s);
	KUNIT_EXPECT_EQ(test, s->term, KWQ_NO_DEADLINE);
	KUNIT_EXPECT_EQ(test, s->state, 0);
	set_term(t, TERM);
	kwq_keyed_stat(t->keyed, s);
	KUNIT_EXPECT_EQ(test, s->term, TERM);
	KUNIT_EXPECT_EQ(test, s->state, 0);
	/* Nobody else has noticed. */
	pass(t, TERM);
	kwq_keyed_stat(t->keyed, s);
	KUNIT_EXPECT_EQ(test, s->term, TERM);
	KUNIT_EXPECT_EQ(test, s->state, KWQ_STATE_TERM_OVER);
	kwq_keyed_pause(t->keyed, KTIME_MAX);
	kwq_keyed_stat(t->keyed, s);
	KUNIT_EXPECT_EQ(test, s->state, KWQ_STATE_TERM_OVER | KWQ_STATE_PAUSED);
	set_term(t, KTIME_MAX);
	kwq_keyed_stat(t->keyed, s);
	KUNIT_EXPECT_EQ(test, s->term, KWQ_NO_DEADLINE);
	KUNIT_EXPECT_EQ(test, s->state, KWQ_STATE_PAUSED);
}

static void set_when_killed(void *data)
{
	struct term_test *t = data;

	/* From now on the thread takes signals. */
	WRITE_ONCE(t->result, 1);
	while (!fatal_signal_pending(current))
		schedule_timeout_uninterruptible(1);
	WRITE_ONCE(t->result, set_term(t, 0));
}

static void killed_caller_leaves_the_rest(struct kunit *test)
{
	struct term_test *t = test->priv;

	/* Q9 Q20: the term is over at once. Only the work of taking back is left. */
	add_many(t);
	KUNIT_ASSERT_EQ(test, get_some(t, t->x, NR_MANY), NR_MANY);
	kwq_test_thread_start(test, &t->thread, set_when_killed, t);
	kwq_test_wait_until(test, READ_ONCE(t->result));
	kwq_test_thread_signal(&t->thread);
	kwq_test_thread_join(test, &t->thread);
	KUNIT_EXPECT_EQ(test, t->result, -EINTR);
	KUNIT_EXPECT_GT(test, nr_held(t), 0);
	KUNIT_EXPECT_EQ(test, done(t->x, t->got[NR_MANY - 1].ticket), -ESTALE);
	KUNIT_EXPECT_EQ(test, kwq_test_next_time(&t->keyed->queue), 0);
	advance(t, 0);
	KUNIT_EXPECT_EQ(test, nr_held(t), 0);
}

static struct kunit_case term_cases[] = {
	KUNIT_CASE(term_ends_all_hand_outs),
	KUNIT_CASE(nothing_is_handed_out_before_the_late_timer),
	KUNIT_CASE(late_calls_change_nothing),
	KUNIT_CASE(late_done_and_get_does_neither),
	KUNIT_CASE(new_term_wakes),
	KUNIT_CASE(new_term_wakes_a_getter),
	KUNIT_CASE(timed_pause_and_term),
	KUNIT_CASE(term_that_has_passed_ends_all_now),
	KUNIT_CASE(term_that_is_set_too_late_saves_nothing),
	KUNIT_CASE(term_that_is_set_in_time_loses_nothing),
	KUNIT_CASE(many_are_taken_back_in_pieces),
	KUNIT_CASE(term_and_leases),
	KUNIT_CASE(lost_too_often_by_the_term),
	KUNIT_CASE(term_after_a_shut_down),
	KUNIT_CASE(term_of_a_queue_without_durations),
	KUNIT_CASE(undone_hand_out_after_the_term),
	KUNIT_CASE(stat_of_a_term),
	KUNIT_CASE(killed_caller_leaves_the_rest),
	{}
};

static struct kunit_suite term_suite = {
	.name = "kwq-term",
	.init = term_test_init,
	.exit = kwq_test_close,
	.test_cases = term_cases,
};

kunit_test_suite(term_suite);

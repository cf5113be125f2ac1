// SPDX-License-Identifier: GPL-2.0-only
/*
 * Q14: a paused queue hands nothing out. D9: debounce. All times are those of a manual clock.
 */
#include "kwq_test.h"

#include <sys/epoll.h>

TWO_HANDLES_FIXTURE(pause, new_queue_with(self->dev, KWQ_CLOCK_ID_MANUAL, 0, NULL))

static short events_of(int q)
{
	struct pollfd pollfd = { .fd = q, .events = POLLIN | POLLOUT };

	return poll(&pollfd, 1, 0) < 0 ? -1 : pollfd.revents;
}

#define EXPECT_PAUSED(q, time) ({					\
	__u64 time_ = (time);						\
	struct kwq_stat stat_;						\
									\
	EXPECT_EQ(0, q_stat(q, &stat_));				\
	EXPECT_EQ(time_ ? KWQ_STATE_PAUSED : 0, stat_.state);		\
	EXPECT_EQ(time_, stat_.paused_for);				\
})

/* What the statistics and poll show of a pause. */
TEST_F(pause, hands_nothing_out)
{
	struct item item;

	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(0, q_pause(self->q));
	EXPECT_PAUSED(self->q, ~0ULL);
	EXPECT_EQ(-EAGAIN, q_try_get(self->q, &item));
	EXPECT_EQ(-ETIMEDOUT, q_get(self->q, &item, 0, 0));
	EXPECT_EQ(POLLOUT, events_of(self->q));
	EXPECT_EQ(0, q_resume(self->other));
	EXPECT_PAUSED(self->q, 0);
	EXPECT_EQ(POLLIN | POLLOUT, events_of(self->q));
	EXPECT_EQ(0, q_resume(self->q));

	EXPECT_EQ(0, q_pause_for(self->q, 100));
	EXPECT_EQ(0, q_advance(self->q, 99));
	EXPECT_PAUSED(self->q, 1);
	EXPECT_EQ(0, q_advance(self->q, 1));
	EXPECT_PAUSED(self->q, 0);
	EXPECT_EQ(0, q_pause_for(self->q, 100));
	EXPECT_EQ(0, q_pause_for(self->q, 10));
	EXPECT_PAUSED(self->q, 10);
	EXPECT_EQ(0, q_pause_for(self->q, 0));
	EXPECT_PAUSED(self->q, 0);
	expect_take(self->q, "a");
}

/* Neither alone nor with a done, nor as a batch. */
TEST_F(pause, in_one_call_with_a_done)
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
	EXPECT_EQ(0, q_pause(self->q));
	done.ticket = items[0].ticket;
	EXPECT_EQ(-EAGAIN, request(self->q, KWQ_IOC_GET, &get));
	EXPECT_EQ(KWQ_FINISHED, result);
	EXPECT_EQ(-EAGAIN, q_get_many(self->q, items, 2, KWQ_GET_NONBLOCK, 0));
	EXPECT_EQ(0, q_resume(self->q));
	expect_take(self->q, "b");
}

/* D7: neither wraps, and at the end of time a pause without an end still holds. */
TEST_F(pause, at_the_end_of_time)
{
	struct item item;

	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(0, q_pause_for(self->q, ~0ULL));
	EXPECT_EQ(-EAGAIN, q_try_get(self->q, &item));
	EXPECT_EQ(0, q_pause(self->q));
	EXPECT_EQ(0, q_advance(self->q, ~0ULL));
	EXPECT_EQ(-EAGAIN, q_try_get(self->q, &item));
	EXPECT_EQ(0, q_resume(self->q));
	EXPECT_EQ(1, q_try_get(self->q, &item));
}

/* Q5: as many getters wake up as items are ready, also those of an exclusive epoll. */
TEST_F(pause, end_wakes_getters)
{
	enum { NR = 20 };
	struct sleeper getters[NR];
	char key[8];

	EXPECT_EQ(0, q_pause(self->q));
	for (int i = 0; i < NR; i++) {
		start_get(&getters[i], self->other);
		sprintf(key, "%d", i);
		EXPECT_EQ(KWQ_ADDED, q_add(self->q, key));
	}
	for (int i = 0; i < NR; i++)
		EXPECT_FALSE(atomic_load(&getters[i].ended));
	EXPECT_EQ(0, q_resume(self->q));
	for (int i = 0; i < NR; i++)
		EXPECT_EQ(1, sleeper_join(&getters[i]));
	EXPECT_EQ(0, q_len(self->q));
}

TEST_F(pause, end_by_time_wakes_getters)
{
	struct sleeper getter;

	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(0, q_pause_for(self->q, 100));
	start_get(&getter, self->other);
	EXPECT_EQ(0, q_advance(self->q, 100));
	EXPECT_EQ(1, sleeper_join(&getter));
}

TEST_F(pause, end_tells_pollers)
{
	struct sleeper poller;

	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(0, q_pause(self->q));
	start_poll(&poller, self->other, POLLIN);
	EXPECT_EQ(0, q_resume(self->q));
	EXPECT_EQ(POLLIN, sleeper_join(&poller));
}

/* The pause belongs to the queue. */
TEST_F(pause, outlives_its_process)
{
	struct item item;
	int status;
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid)
		_exit(q_pause(self->q) ? 1 : 0);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(-EAGAIN, q_try_get(self->q, &item));
}

/* Q9: a drain waits for the end of the pause. */
TEST_F(pause, of_a_queue_that_is_drained)
{
	struct sleeper drain;

	EXPECT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(0, q_pause(self->q));
	start_drain(&drain, self->q);
	EXPECT_FALSE(atomic_load(&drain.ended));
	EXPECT_EQ(0, q_resume(self->q));
	expect_take(self->other, "a");
	EXPECT_EQ(0, sleeper_join(&drain));
}

TEST_F(pause, needs_the_right_to_manage)
{
	int q = q_open_with(self->q, NULL, KWQ_RIGHT_READ | KWQ_RIGHT_WRITE, O_CLOEXEC);
	struct kwq_pause_args args = { .size = sizeof(args), .time = 1 };

	ASSERT_LE(0, q);
	EXPECT_EQ(-EBADF, q_pause(q));
	EXPECT_EQ(-EBADF, q_resume(q));
	/* A time without its flag. */
	EXPECT_EQ(-EINVAL, request(self->q, KWQ_IOC_PAUSE, &args));
	EXPECT_PAUSED(self->q, 0);
	close(q);
}

/* D9 */

static int debounce(int q, const char *key, __u64 after, __u64 at_most, __u32 flags)
{
	const struct kwq_add_entry entry = {
		.key_len = strlen(key),
		.flags = flags,
		.time = after,
	};
	const struct kwq_add_extra extra = { .at_most = at_most };
	__s32 result = -EIO;
	const struct kwq_batch_args args = BATCH_ARGS(&entry, key, strlen(key), &result, &extra);
	int ret = request(q, KWQ_IOC_ADD, (void *)&args);

	return ret == 1 ? result : ret;
}

#define DEBOUNCE	(KWQ_ADD_AFTER | KWQ_ADD_REPLACE | KWQ_ADD_AT_MOST)

static void advance_to(int q, __u64 time)
{
	REQUIRE(!q_advance_to(q, time));
}

QUEUE_FIXTURE(debounce, new_queue_with(self->dev, KWQ_CLOCK_ID_MANUAL, 0, NULL))

TEST_F(debounce, postpones_but_not_for_ever)
{
	struct item item;

	advance_to(self->q, 1000);
	EXPECT_EQ(KWQ_WAITING, debounce(self->q, "a", 10, 25, DEBOUNCE));
	advance_to(self->q, 1009);
	EXPECT_EQ(KWQ_COALESCED, debounce(self->q, "a", 10, 25, DEBOUNCE));
	advance_to(self->q, 1018);
	EXPECT_EQ(-EAGAIN, q_try_get(self->q, &item));
	EXPECT_EQ(KWQ_COALESCED, debounce(self->q, "a", 10, 25, DEBOUNCE));
	advance_to(self->q, 1024);
	EXPECT_EQ(-EAGAIN, q_try_get(self->q, &item));
	advance_to(self->q, 1025);
	expect_take(self->q, "a");
	/* The next wait has its own bound. */
	EXPECT_EQ(KWQ_WAITING, debounce(self->q, "a", 10, 25, DEBOUNCE));
	advance_to(self->q, 1034);
	EXPECT_EQ(-EAGAIN, q_try_get(self->q, &item));
	advance_to(self->q, 1035);
	expect_take(self->q, "a");
}

TEST_F(debounce, needs_after_and_replace)
{
	EXPECT_EQ(-EINVAL, debounce(self->q, "a", 10, 0, DEBOUNCE));
	EXPECT_EQ(-EINVAL, debounce(self->q, "a", 10, 25, KWQ_ADD_AFTER | KWQ_ADD_REPLACE));
	EXPECT_EQ(-EINVAL, debounce(self->q, "a", 10, 25, KWQ_ADD_AFTER | KWQ_ADD_AT_MOST));
	EXPECT_EQ(-EINVAL, debounce(self->q, "a", 10, 25,
				    KWQ_ADD_AFTER | KWQ_ADD_LATER | KWQ_ADD_AT_MOST));
	EXPECT_EQ(-EINVAL, debounce(self->q, "a", 10, 25,
				    KWQ_ADD_AT | KWQ_ADD_REPLACE | KWQ_ADD_AT_MOST));
	EXPECT_EQ(-EINVAL, debounce(self->q, "a", 0, 25,
				    KWQ_ADD_RATE_LIMITED | KWQ_ADD_REPLACE | KWQ_ADD_AT_MOST));
	EXPECT_EQ(-EINVAL, q_add_with(self->q, "a", DEBOUNCE, 0, 10));
	EXPECT_EQ(0, q_len(self->q));
}

TEST_HARNESS_MAIN

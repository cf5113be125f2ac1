// SPDX-License-Identifier: GPL-2.0-only
/*
 * Q8 to Q10: shut down, and shut down with drain.
 */
#include "kwq_test.h"

#define SHUT_DOWN	KWQ_STATE_SHUT_DOWN

TWO_HANDLES_FIXTURE(shutdown, new_queue(self->dev))

/* Q8 */
TEST_F(shutdown, refuses_adds)
{
	struct batch *b = new_batch();

	EXPECT_EQ(0, q_shutting_down(self->q));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "ready"));
	ASSERT_EQ(0, q_shut_down(self->q));
	EXPECT_EQ(1, q_shutting_down(self->q));
	EXPECT_EQ(1, q_shutting_down(self->other));
	EXPECT_EQ(-ESHUTDOWN, q_add(self->q, "a"));
	EXPECT_EQ(-ESHUTDOWN, q_add(self->other, "ready"));
	EXPECT_EQ(-ESHUTDOWN, q_add_priority(self->q, "ready", 5));
	EXPECT_EQ(-ESHUTDOWN, q_add_after(self->q, "a", HOUR));
	EXPECT_EQ(-ESHUTDOWN, q_add_at(self->q, "a", 1));
	EXPECT_EQ(-ESHUTDOWN, q_add_with(self->q, "ready", KWQ_ADD_END_WAIT, 0, 0));
	batch_add(b, "a");
	batch_add(b, "b");
	ASSERT_EQ(2, batch_run(self->q, KWQ_IOC_ADD, b));
	EXPECT_EQ(-ESHUTDOWN, b->results[0]);
	EXPECT_EQ(-ESHUTDOWN, b->results[1]);
	check_stat(self->q, .ready = 1, .items = 1, .state = SHUT_DOWN);
	check_counts(self->q, .adds = 1);

	/* A second shut down is no error and changes nothing. */
	EXPECT_EQ(0, q_shut_down(self->other));
	check_stat(self->q, .ready = 1, .items = 1, .state = SHUT_DOWN);
	free(b);
}

/* Q8: waiting items are dropped, and only those. */
TEST_F(shutdown, drops_the_waiting)
{
	struct item item;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "out"));
	expect_next(self->q, &item, "out");
	ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "out", HOUR));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "ready"));
	ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "ready", HOUR));
	ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "waiting", HOUR));
	ASSERT_EQ(KWQ_WAITING, q_add_after(self->q, "soon", 1 * MSEC));
	while (q_len(self->q) < 2)
		sched_yield();
	ASSERT_EQ(0, q_shut_down(self->q));
	check_stat(self->q, .ready = 2, .processing = 1, .items = 3, .state = SHUT_DOWN);
	check_counts(self->q, .adds = 3, .gets = 1, .dropped = 3);
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	expect_take(self->q, "ready");
	expect_take(self->q, "soon");
	EXPECT_EQ(-ESHUTDOWN, q_try_get(self->q, &item));
	check_stat(self->q, .items = 0, .state = SHUT_DOWN);
}

/* Drain */

#define expect_asleep(s, cmd)						\
	do {								\
		struct sleeper *s_ = (s);				\
									\
		wait_until_asleep(s_->tid, __NR_ioctl, cmd);		\
		EXPECT_FALSE(atomic_load(&s_->ended));			\
	} while (0)

#define DRAINERS	8

/*
 * Q9: a shut down by anyone ends the wait of every present drain, but not of a later
 * one.
 */
TEST_F(shutdown, shut_down_ends_drains)
{
	struct sleeper s[DRAINERS], later;
	struct item item;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	expect_next(self->q, &item, "a");
	for (int i = 0; i < DRAINERS; i++)
		start_drain(&s[i], i % 2 ? self->q : self->other);
	/* Another drain does not end them. */
	EXPECT_EQ(-ETIMEDOUT, q_drain(self->q, 1));
	for (int i = 0; i < DRAINERS; i++)
		expect_asleep(&s[i], KWQ_IOC_DRAIN);
	ASSERT_EQ(0, q_shut_down(self->other));
	for (int i = 0; i < DRAINERS; i++)
		EXPECT_EQ(-ECANCELED, sleeper_join(&s[i]));
	check_stat(self->q, .processing = 1, .items = 1, .state = SHUT_DOWN);

	start_drain(&later, self->other);
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	EXPECT_EQ(0, sleeper_join(&later));
}

/* Q9 */
TEST_F(shutdown, drain_until_its_deadline)
{
	__u64 deadline;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	EXPECT_EQ(-ETIMEDOUT, q_drain(self->q, 0));
	EXPECT_EQ(-ETIMEDOUT, q_drain(self->q, 1));
	deadline = now_ns() + 5 * MSEC;
	EXPECT_EQ(-ETIMEDOUT, q_drain(self->q, deadline));
	EXPECT_LE(deadline, now_ns());
	/* The queue stays shut down. */
	check_stat(self->q, .ready = 1, .items = 1, .state = SHUT_DOWN);
	EXPECT_EQ(-ESHUTDOWN, q_add(self->q, "b"));
	expect_take(self->q, "a");
	EXPECT_EQ(0, q_drain(self->q, 1));
}

/* Q9, D7 */
TEST_F(shutdown, drain_until_beyond_the_clock)
{
	static const __u64 far[] = { ~0ULL - 1, 1ULL << 63, (1ULL << 63) - 1 };
	struct sleeper s[ARRAY_SIZE(far)];

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	for (int i = 0; i < ARRAY_SIZE(far); i++) {
		s[i] = (struct sleeper){ .call = call_drain, .fd = self->q, .deadline = far[i] };
		sleeper_start(&s[i]);
		wait_until_asleep(s[i].tid, __NR_ioctl, KWQ_IOC_DRAIN);
	}
	expect_take(self->q, "a");
	for (int i = 0; i < ARRAY_SIZE(far); i++)
		EXPECT_EQ(0, sleeper_join(&s[i]));
}

static int call_drain_raw(struct sleeper *s)
{
	return request(s->fd, KWQ_IOC_DRAIN, s->arg);
}

/* Starts @drain, which waits for an item that this handle holds. */
static void start_drain_raw(struct sleeper *s, int q, struct kwq_drain_args *drain)
{
	*s = (struct sleeper){ .call = call_drain_raw, .fd = q, .arg = drain };
	sleeper_start(s);
	wait_until_asleep(s->tid, __NR_ioctl, KWQ_IOC_DRAIN);
}

static void send_signal(struct sleeper *s)
{
	int before = signals;

	REQUIRE(!pthread_kill(s->thread, SIGUSR1));
	while (signals == before)
		sched_yield();
}

/* Q9: a signal without SA_RESTART ends the wait. */
TEST_F(shutdown, signal_ends_a_drain)
{
	struct kwq_drain_args drain = { .size = sizeof(drain), .deadline = KWQ_NO_DEADLINE };
	struct item item;
	struct sleeper s;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	expect_next(self->q, &item, "a");
	catch_signal(0);
	start_drain_raw(&s, self->q, &drain);
	send_signal(&s);
	EXPECT_EQ(-EINTR, sleeper_join(&s));
	/* A call with the same structure continues that wait. */
	EXPECT_NE(0, drain.shut_downs);
	EXPECT_EQ(0, drain.resume);
	start_drain_raw(&s, self->q, &drain);
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	EXPECT_EQ(0, sleeper_join(&s));
	EXPECT_EQ(0, drain.shut_downs);
}

/* Q9: a signal with SA_RESTART does not end the wait, however often it comes, as in Go. */
TEST_F(shutdown, signal_restarts_a_drain)
{
	static const __u32 flags[] = { 0, KWQ_DRAIN_RELATIVE };

	for (int i = 0; i < ARRAY_SIZE(flags); i++) {
		int q = new_manual_queue(self->dev, NULL);
		struct kwq_drain_args drain = {
			.size = sizeof(drain), .flags = flags[i], .deadline = 10 * SEC,
		};
		struct item item;
		struct sleeper s;

		ASSERT_LE(0, q);
		ASSERT_EQ(0, q_advance(q, 5 * SEC));
		ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
		expect_next(q, &item, "a");
		catch_signal(SA_RESTART);
		start_drain_raw(&s, q, &drain);
		for (int n = 0; n < 3; n++) {
			send_signal(&s);
			wait_until_asleep(s.tid, __NR_ioctl, KWQ_IOC_DRAIN);
			/* The first deadline stays, although time passes. */
			EXPECT_EQ(flags[i] ? 15 * SEC : 0, drain.resume);
			EXPECT_NE(0, drain.shut_downs);
			ASSERT_EQ(0, q_advance(q, SEC));
		}
		EXPECT_FALSE(s.ended);
		ASSERT_EQ(0, q_advance_to(q, (flags[i] ? 15 : 10) * SEC));
		EXPECT_EQ(-ETIMEDOUT, sleeper_join(&s));
		EXPECT_EQ(0, drain.resume);
		EXPECT_EQ(0, drain.shut_downs);
		EXPECT_EQ(KWQ_FINISHED, q_done(q, item.ticket));
		close(q);
	}
}

static void wait_in_handler(int sig)
{
	(void)sig;
	atomic_fetch_add(&signals, 1);
	/* Returns when the test has shut the queue down. */
	while (atomic_load(&signals) < 2)
		;
}

/* Q9: a shut down during the signal handler still ends the wait. */
TEST_F(shutdown, shut_down_while_a_drain_is_interrupted)
{
	struct sigaction action = { .sa_handler = wait_in_handler, .sa_flags = SA_RESTART };
	struct kwq_drain_args drain = {
		.size = sizeof(drain), .flags = KWQ_DRAIN_RELATIVE, .deadline = HOUR,
	};
	struct item item;
	struct sleeper s;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	expect_next(self->q, &item, "a");
	atomic_store(&signals, 0);
	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	start_drain_raw(&s, self->q, &drain);
	ASSERT_EQ(0, pthread_kill(s.thread, SIGUSR1));
	while (!atomic_load(&signals))
		sched_yield();
	ASSERT_EQ(0, q_shut_down(self->q));
	atomic_fetch_add(&signals, 1);
	EXPECT_EQ(-ECANCELED, sleeper_join(&s));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
}

static int peer_drains_relatively(struct peer *parent, void *arg)
{
	struct kwq_drain_args *drain = arg;
	int q = hear(parent);

	say(parent, 0);
	return request(q, KWQ_IOC_DRAIN, drain) ? 1 : 0;
}

/* Q9: stopping and continuing the process does not change the wait. */
TEST_F(shutdown, drain_goes_on_after_a_stop)
{
	struct kwq_drain_args *drain = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int q = new_manual_queue(self->dev, NULL), status;
	struct peer child;
	struct item item;

	ASSERT_NE(MAP_FAILED, drain);
	ASSERT_LE(0, q);
	*drain = (struct kwq_drain_args){
		.size = sizeof(*drain), .flags = KWQ_DRAIN_RELATIVE, .deadline = HOUR,
	};
	ASSERT_EQ(KWQ_ADDED, q_add(q, "a"));
	expect_next(q, &item, "a");
	start_peer(&child, peer_drains_relatively, drain);
	say(&child, q);
	ASSERT_EQ(0, hear(&child));
	for (int n = 0; n < 3; n++) {
		wait_until_asleep(child.pid, __NR_ioctl, KWQ_IOC_DRAIN);
		ASSERT_EQ(0, kill(child.pid, SIGSTOP));
		ASSERT_EQ(child.pid, waitpid(child.pid, &status, WUNTRACED));
		ASSERT_TRUE(WIFSTOPPED(status));
		EXPECT_EQ(HOUR, drain->resume);
		ASSERT_EQ(0, q_advance(q, SEC));
		ASSERT_EQ(0, kill(child.pid, SIGCONT));
	}
	wait_until_asleep(child.pid, __NR_ioctl, KWQ_IOC_DRAIN);
	EXPECT_EQ(KWQ_FINISHED, q_done(q, item.ticket));
	EXPECT_EQ(0, end_of_peer(&child));
	EXPECT_EQ(0, drain->resume);
	munmap(drain, 4096);
	close(q);
}

/* Q9: a call that cannot store its state cannot be restarted. */
TEST_F(shutdown, drain_that_cannot_note_its_deadline)
{
	struct kwq_drain_args *drain = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct item item;
	struct sleeper s;

	ASSERT_NE(MAP_FAILED, drain);
	*drain = (struct kwq_drain_args){
		.size = sizeof(*drain), .flags = KWQ_DRAIN_RELATIVE, .deadline = HOUR,
	};
	ASSERT_EQ(0, mprotect(drain, 4096, PROT_READ));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	expect_next(self->q, &item, "a");
	catch_signal(SA_RESTART);
	start_drain_raw(&s, self->q, drain);
	send_signal(&s);
	EXPECT_EQ(-EINTR, sleeper_join(&s));
	EXPECT_EQ(KWQ_FINISHED, q_done(self->q, item.ticket));
	munmap(drain, 4096);
}

/* D7: a timeout beyond the clock means for ever; a timeout of 0 returns at once. */
TEST_F(shutdown, drain_relatively)
{
	static const __u64 long_ones[] = { TIME_MAX, TIME_MAX - 1, KWQ_NO_DEADLINE };
	struct kwq_drain_args drain = { .size = sizeof(drain), .flags = KWQ_DRAIN_RELATIVE };
	struct item item;
	struct sleeper s;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "c"));
	EXPECT_EQ(-ETIMEDOUT, call_drain_raw(&(struct sleeper){ .fd = self->q, .arg = &drain }));
	drain.deadline = 1;
	EXPECT_EQ(-ETIMEDOUT, call_drain_raw(&(struct sleeper){ .fd = self->q, .arg = &drain }));
	for (int i = 0; i < ARRAY_SIZE(long_ones); i++) {
		drain.deadline = long_ones[i];
		start_drain_raw(&s, self->q, &drain);
		ASSERT_EQ(0, q_shut_down(self->q));
		EXPECT_EQ(-ECANCELED, sleeper_join(&s));
	}
	/* This member is for relative deadlines only. */
	drain.flags = 0;
	drain.resume = 1;
	EXPECT_EQ(-EINVAL, call_drain_raw(&(struct sleeper){ .fd = self->q, .arg = &drain }));
	expect_next(self->q, &item, "a");
}

static int peer_drains(struct peer *parent, void *arg)
{
	say(parent, 0);
	return q_drain(*(int *)arg, KWQ_NO_DEADLINE) ? 1 : 0;
}

/* Q9: killing a drain does not end other drains. */
TEST_F(shutdown, kill_a_drain)
{
	struct peer child;
	struct sleeper s;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	start_drain(&s, self->q);
	start_peer(&child, peer_drains, &self->other);
	ASSERT_EQ(0, hear(&child));
	wait_until_asleep(child.pid, __NR_ioctl, KWQ_IOC_DRAIN);
	EXPECT_EQ(-SIGKILL, kill_peer(&child));
	expect_asleep(&s, KWQ_IOC_DRAIN);
	expect_take(self->q, "a");
	EXPECT_EQ(0, sleeper_join(&s));
}

/* Q9: the descriptor is closed during the drain. */
TEST_F(shutdown, close_while_draining)
{
	struct sleeper s;

	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	start_drain(&s, self->other);
	ASSERT_EQ(0, close(self->other));
	self->other = -1;
	expect_take(self->q, "a");
	EXPECT_EQ(0, sleeper_join(&s));

	/* The last descriptor: the queue lives until the call returns. */
	ASSERT_EQ(0, close(self->q));
	self->q = new_queue(self->dev);
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "a"));
	ASSERT_EQ(KWQ_ADDED, q_add(self->q, "b"));
	ASSERT_EQ(1, q_try_get(self->q, &s.item));
	catch_signal(0);
	start_drain(&s, self->q);
	ASSERT_EQ(0, close(self->q));
	self->q = -1;
	ASSERT_EQ(0, pthread_kill(s.thread, SIGUSR1));
	EXPECT_EQ(-EINTR, sleeper_join(&s));
}

static int call_work(struct sleeper *s)
{
	int n = 0, ret;

	while ((ret = q_wait_get(s->fd, &s->item)) == 1) {
		n++;
		/* Add every item once more while it is handed out. */
		if (s->item.key[0] == 'a') {
			ret = q_add(s->fd, s->item.key);
			REQUIRE(ret == KWQ_DIRTIED || ret == -ESHUTDOWN);
		}
		ret = q_done(s->fd, s->item.ticket);
		REQUIRE(ret == KWQ_FINISHED || ret == KWQ_REQUEUED);
	}
	return ret == -ESHUTDOWN ? n : ret;
}

/* Q8, Q9: workers finish, and then a drain returns. */
TEST_F(shutdown, workers_and_a_drain)
{
	struct sleeper s[4];
	struct kwq_stat stat;
	int total = 0;
	char key[16];

	for (int round = 0; round < 20; round++) {
		int q = new_queue(self->dev);

		ASSERT_LE(0, q);
		total = 0;
		for (int i = 0; i < 4; i++) {
			s[i] = (struct sleeper){ .call = call_work, .fd = q_reopen(q) };
			sleeper_start(&s[i]);
		}
		for (int i = 0; i < 20; i++) {
			snprintf(key, sizeof(key), "%c%d", 'a' + i % 2, i);
			ASSERT_EQ(KWQ_ADDED, q_add(q, key));
		}
		ASSERT_EQ(0, q_drain(q, KWQ_NO_DEADLINE));
		check_stat(q, .items = 0, .state = SHUT_DOWN);
		for (int i = 0; i < 4; i++) {
			int n = sleeper_join(&s[i]);

			ASSERT_LE(0, n);
			total += n;
			close(s[i].fd);
		}
		ASSERT_EQ(0, q_stat(q, &stat));
		EXPECT_EQ(stat.gets, total);
		EXPECT_EQ(stat.adds, total);
		EXPECT_LE(20, total);
		close(q);
	}
}

TEST_HARNESS_MAIN
